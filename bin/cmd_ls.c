/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static int longer;
static int ids_only;
static int null;
static int order;

static struct opt options[] = {
	{ "l", "long", OPT_FLAG, &longer,
	    .help = "say also the chunk and the bytes on disk; for modules, more of "
	    "their sizes" },
	{ "1", "ids", OPT_FLAG, &ids_only,
	    .help = "cache_ids only, one a line" },
	{ "z", "null", OPT_FLAG, &null,
	    .help = "cache_ids only, each ended by a NUL byte" },
	{ "", "order", OPT_CHOICE, &order, .value = "key|commit",
	    .help = "order of the records: by cache_id, or as they were written" },
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

const struct command cmd_ls = {
	.name = "ls",
	.operands = "[MODULE [PREFIX]]",
	.summary = "list modules, or the records of one",
	.text =
	    "Without MODULE it lists the modules with their records and sizes. "
	    "With MODULE it lists its records: cache_id, dtype with shape, and "
	    "size; with PREFIX, those whose cache_id starts so. The data itself "
	    "is not read and not checked: that is what verify is for.\n"
	    "With --json it writes one object a line. A cache_id that is not "
	    "UTF-8 stands in id_base64 and not in id. Without --json, -1 and -z "
	    "control characters are written as \\xNN; -1 writes them as they "
	    "are, but not to a terminal.",
	.examples =
	    "cachex ls\n"
	    "cachex ls faces img-0000\n"
	    "cachex ls faces --json | jq -r .id\n"
	    "cachex ls faces -z | xargs -0 -n 1 printf '%s\\n'",
	.completes = "mi",
	.least = 0,
	.most = 2,
	.options = options,
	.run = run
};
