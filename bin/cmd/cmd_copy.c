/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "ui/command.h"
#include "cmd/copying.h"
#include "ui/interrupt.h"
#include "ui/module.h"
#include "ui/report.h"

static int
run(int argc, char **argv)
{
	struct copying copying = copying_asked("copy");
	lc_cache *to;
	int status;

	(void)argc;
	if (strcmp(argv[0], argv[1]) == 0 &&
	    strcmp(copying.from_root, copying.to_root) == 0)
		return report_usage("%s is both source and target", argv[0]);
	status = module_must_exist(copying.from_root, argv[0]);
	if (status == EXIT_DONE)
		status = copying_open(&copying, argv[1], &to);
	if (status != EXIT_DONE)
		return status;
	status = module_close(to, copying_add(&copying, argv[0], to));
	if (status == EXIT_DONE || (status == EXIT_DATA && !copying.stopped))
		copying_show(&copying, argv[1]);
	return status;
}

const struct command cmd_copy = {
	.name = "copy",
	.operands = "SRC DST",
	.summary = "copy records into another module",
	.text =
	    "Copies the records of module SRC into module DST, which is made if it "
	    "does not exist. Tensors stay coded as they are. --conflict says what "
	    "happens to cache_ids that DST has already; with fail, the default, and "
	    "same a conflict stops the command before anything is written. Damaged "
	    "records of SRC are named and left out; then the exit status is 3.",
	.examples =
	    "cachex copy faces faces-2 --prefix img-0000\n"
	    "cachex copy faces faces --to-root /backup --conflict replace",
	.completes = "mm",
	.resume = "what it copied stays; with --conflict keep the same command goes on",
	.least = 2,
	.most = 2,
	.options = copying_options,
	.run = run
};
