/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/readopts.h"

#include <unistd.h>

#include "ui/report.h"
#include "ui/settings.h"

int
readopts_form(const struct readopts *opts, enum read_form *out)
{
	const bool ids = opts->ids || opts->null;

	if (ids + opts->sum + opts->frames + (opts->npy != NULL) > 1)
		return report_usage("only one of --ids or --null, --sum, --frames and "
		    "--npy says what is written");
	if (opts->bits && opts->npy == NULL)
		return report_usage("--bits is for --npy");
	if (opts->restart && opts->token_file == NULL)
		return report_usage("--restart is for --token-file");
	if (opts->frames && !opts->force && isatty(STDOUT_FILENO))
		return report_usage("standard output is a terminal; --frames needs a "
		    "pipe, a file, or -f");
	*out = opts->npy != NULL ? READ_NPY : opts->frames ? READ_FRAMES :
	    opts->sum ? READ_SUM : ids && !settings.json ? READ_IDS : READ_LIST;
	return EXIT_DONE;
}

void
readopts_fill(const struct readopts *opts, enum read_form form,
    lc_reader_options *out)
{
	static const char *const none[] = { NULL };

	lc_reader_options_init(out);
	out->fields = opts->fields.items;
	out->n_fields = opts->fields.count;
	if (out->n_fields == 0 && (form == READ_LIST || form == READ_IDS))
		out->fields = none;
	out->documents = opts->documents;
	out->threads = (unsigned)opts->threads;
	out->ahead = (unsigned)opts->ahead;
	out->memory = opts->memory;
}
