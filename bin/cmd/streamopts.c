/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/streamopts.h"

#include <string.h>

#include "ui/report.h"
#include "ui/size.h"

/* Of a mixture and of R* streams there is no end to count. */
static int
read_epochs(const struct streamopts *opts, uint64_t *out)
{
	const bool endless = opts->mix.count > 0 || opts->idealised > 0;

	if (opts->epochs == NULL) {
		*out = !endless;
		return EXIT_DONE;
	}
	*out = 0;
	if (strcmp(opts->epochs, "inf") == 0)
		return EXIT_DONE;
	if (!count_parse(opts->epochs, out) || *out == 0)
		return report_usage("--epochs: '%s' is neither a number from 1 nor inf",
		    opts->epochs);
	if (endless)
		return report_usage("--epochs: %s runs for ever; --limit says how many "
		    "examples to read", opts->mix.count > 0 ? "a mixture" :
		    "an order of idealised readers");
	return EXIT_DONE;
}

int
streamopts_fill(const struct streamopts *opts, lc_stream_options *out)
{
	lc_stream_options_init(out);
	out->batch = opts->batch;
	out->window = opts->window;
	out->stride = opts->stride;
	out->drop_short = opts->drop_short;
	out->idealised = (uint32_t)opts->idealised;
	out->shuffle = (lc_shuffle)opts->shuffle;
	out->block = opts->block;
	out->spread = opts->spread;
	out->era_first = opts->era_first;
	out->era_max = opts->era_max;
	out->seed = opts->seed;
	out->limit = opts->limit;
	out->mixture_block = opts->mixture_block;
	return read_epochs(opts, &out->epochs);
}
