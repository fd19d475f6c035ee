/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static struct opt options[] = { { .kind = OPT_END } };

/*BODY*/
static int
run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return EXIT_USAGE;
}

const struct command cmd_stat = {
	.name = "stat",
	.operands = "[MODULE...]",
	.summary = "show facts and sizes of modules",
	.text =
	    "Shows what a module holds and what it takes on disk; without "
	    "MODULE, of every module. With --json it writes one object a line "
	    "for each module.",
	.examples =
	    "cachex stat faces\n"
	    "cachex stat --json | jq '[.module, .records]'",
	.completes = "m",
	.least = 0,
	.most = -1,
	.options = options,
	.run = run
};
