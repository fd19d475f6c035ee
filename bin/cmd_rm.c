/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static int force;
static int dry_run;
static int from_stdin;
static int null;

static struct opt options[] = {
	{ "f", "force", OPT_FLAG, &force,
	    .help = "do not ask" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "say what would be forgotten, change nothing" },
	{ "", "stdin", OPT_FLAG, &from_stdin,
	    .help = "read cache_ids from standard input too, one a line" },
	{ "z", "null", OPT_FLAG, &null,
	    .help = "the list on standard input ends its items with a NUL byte" },
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

const struct command cmd_rm = {
	.name = "rm",
	.operands = "MODULE CACHE_ID...",
	.summary = "forget cache_ids",
	.text =
	    "Forgets the records under these cache_ids. On a terminal it asks "
	    "first; elsewhere, and with a list on standard input, it needs -f. "
	    "Exit status 1 says that one or more were not there; the others are "
	    "forgotten all the same. A single - for CACHE_ID is the same as "
	    "--stdin.",
	.examples =
	    "cachex rm faces img-000001\n"
	    "cachex ls faces tmp/ -z | cachex rm faces -f -z --stdin",
	.completes = "mi",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run
};
