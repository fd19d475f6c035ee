/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static int from_stdin;
static int null;

static struct opt options[] = {
	{ "", "stdin", OPT_FLAG, &from_stdin,
	    .help = "read cache_ids from standard input too, one a line" },
	{ "z", "null", OPT_FLAG, &null,
	    .help = "lists on standard input and output end their items with a NUL byte" },
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

const struct command cmd_has = {
	.name = "has",
	.operands = "MODULE CACHE_ID...",
	.summary = "tell whether cache_ids are stored",
	.text =
	    "Exit status 0 says that every CACHE_ID is stored, 1 that at least "
	    "one is not. With -v the missing ones are printed, one a line; with "
	    "--json a line for every one. A single - for CACHE_ID is the same "
	    "as --stdin.",
	.examples =
	    "cachex has faces img-000001 && echo there\n"
	    "cachex has -v faces --stdin <wanted.txt >missing.txt",
	.completes = "mi",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run
};
