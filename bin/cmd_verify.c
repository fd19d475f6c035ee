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

const struct command cmd_verify = {
	.name = "verify",
	.operands = "[MODULE...]",
	.summary = "read everything and report damage",
	.text =
	    "Reads all pages, records, indexes and counters of the modules, of "
	    "all if none is named, compares them with their checksums and with "
	    "one another, and prints a line for each damage and one for each "
	    "module. Nothing is changed. Exit status 1 says that damage was "
	    "found.",
	.examples =
	    "cachex verify\n"
	    "cachex verify faces || echo damaged",
	.completes = "m",
	.least = 0,
	.most = -1,
	.options = options,
	.run = run
};
