/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static int skip_existing;
static int dry_run;

static struct opt options[] = {
	{ "", "skip-existing", OPT_FLAG, &skip_existing,
	    .help = "pass over cache_ids that are stored already" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "read and check everything, store nothing" },
	{ .kind = OPT_END }
};

/*BODY*/
static int
run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return EXIT_USAGE;
}

const struct command cmd_load = {
	.name = "load",
	.operands = "MODULE [FILE]",
	.summary = "store the records of a dump",
	.text =
	    "Stores what cachex dump wrote, from FILE or standard input. A bad "
	    "line ends it with exit status 3. A file is checked to its end "
	    "before anything is stored; from a pipe, the records before the bad "
	    "line are stored.",
	.examples =
	    "cachex load faces faces.jsonl\n"
	    "xzcat faces.jsonl.xz | cachex load faces --skip-existing",
	.completes = "mf",
	.least = 1,
	.most = 2,
	.options = options,
	.run = run
};
