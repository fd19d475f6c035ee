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

const struct command cmd_complete = {
	.name = "__complete",
	.operands = "",
	.summary = "list words for completion",
	.text =
	    "Prints the words that can stand last on the command line given, "
	    "for the shells' completions.",
	.examples =
	    "cachex complete -- ls ''",
	.completes = "",
	.least = 0,
	.most = -1,
	.options = options,
	.run = run
};
