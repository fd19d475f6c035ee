/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "command.h"
#include "copying.h"
#include "module.h"
#include "report.h"
#include "settings.h"

static const char *from_root;
static const char *to_root;
static const char *prefix;
static int conflict = LC_FAIL;
static int dry_run;

static struct opt options[] = {
	{ "", "from-root", OPT_DIR, &from_root, .value = "DIR",
	    .help = "SRC is a module there, not under --root" },
	{ "", "to-root", OPT_DIR, &to_root, .value = "DIR",
	    .help = "DST is a module there, not under --root" },
	{ "", "prefix", OPT_TEXT, &prefix, .value = "TEXT",
	    .help = "only records whose cache_id starts so" },
	{ "", "conflict", OPT_CHOICE, &conflict, .value = CONFLICT_WORDS,
	    .help = "where DST has the cache_id: keep its record, replace it, stop unless "
	    "both are the same, or fail" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "say what would be copied, write nothing" },
	{ .kind = OPT_END }
};

static int
run(int argc, char **argv)
{
	struct copying copying = {
		.verb = "copy",
		.from_root = from_root ? from_root : settings.root,
		.to_root = to_root ? to_root : settings.root,
		.prefix = prefix,
		.conflict = (lc_conflict)conflict,
		.dry_run = dry_run
	};
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
	if (status == EXIT_DONE || status == EXIT_NO)
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
	    "records of SRC are named and passed over; then the exit status is 1.",
	.examples =
	    "cachex copy faces faces-2 --prefix img-0000\n"
	    "cachex copy faces faces --to-root /backup --conflict replace",
	.completes = "mm",
	.least = 2,
	.most = 2,
	.options = options,
	.run = run
};
