/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/command.h"
#include "ui/report.h"
#include "cmd/usage.h"

static struct opt options[] = { { .kind = OPT_END } };

static int
help_word(const struct command *command, const char *word)
{
	const struct command *found;

	if (command->subcommands == NULL)
		return report_usage("too many operands: %s", word);
	found = command_in(command->subcommands, word);
	if (found != NULL)
		return usage_full(found);
	return command_unknown_word(command, word);
}

static int
run(int argc, char **argv)
{
	const struct command *command;

	if (argc == 0)
		return usage_overview();
	command = command_in(commands, argv[0]);
	if (command == NULL)
		return command_unknown(argv[0]);
	return argc == 1 ? usage_full(command) : help_word(command, argv[1]);
}

const struct command cmd_help = {
	.name = "help",
	.operands = "[COMMAND [WORD]]",
	.summary = "explain a command",
	.text =
	    "Explains COMMAND, or its subcommand WORD; without them, lists the "
	    "commands.",
	.examples =
	    "cachex help put\n"
	    "cachex help shard extract",
	.completes = "cw",
	.least = 0,
	.most = 2,
	.options = options,
	.run = run
};
