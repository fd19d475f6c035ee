/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"
#include "usage.h"

static struct opt options[] = { { .kind = OPT_END } };

static int
run(int argc, char **argv)
{
	const struct command *command;

	if (argc == 0)
		return usage_overview();
	command = command_by_name(argv[0]);
	if (command != NULL)
		return usage_full(command);
	command_unknown(argv[0]);
	return EXIT_USAGE;
}

const struct command cmd_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "explain a command",
	.text =
	    "Explains COMMAND; without it, lists the commands.",
	.examples =
	    "cachex help put",
	.completes = "c",
	.least = 0,
	.most = 1,
	.options = options,
	.run = run
};
