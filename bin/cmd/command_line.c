/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/command_line.h"

#include <string.h>
#include <unistd.h>

#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/report.h"
#include "ui/settings.h"

/* A command line being read: operands are moved to the front of argv. */
struct line {
	const struct command *command; /* NULL until it is found */
	char **operands;
	int count;
};

static int
take_command(struct line *line, const char *word)
{
	line->command = strcmp(cmd_complete.name, word) == 0 ? &cmd_complete
							     : command_in(commands, word);
	if (line->command == NULL)
		return command_unknown(word);
	report_command(line->command->name);
	return EXIT_DONE;
}

static int
take_subcommand(struct line *line, const char *word)
{
	const struct command *found = command_in(line->command->subcommands, word);

	if (found == NULL)
		return command_unknown_word(line->command, word);
	line->command = found;
	return EXIT_DONE;
}

static int
take_word(struct line *line, char *word)
{
	if (line->command == NULL)
		return take_command(line, word);
	if (line->command->subcommands != NULL)
		return take_subcommand(line, word);
	line->operands[line->count++] = word;
	return EXIT_DONE;
}

/* Options may be anywhere before "--"; only global ones before the command. */
static int
read_line(int argc, char **argv, struct line *line)
{
	char why[OPT_TEXT_ROOM];
	bool options = true;

	for (int at = 1; at < argc;) {
		char *word = argv[at];
		struct opt *tables[] = { global_options,
			line->command ? line->command->options : NULL, NULL };
		if (options && strcmp(word, "--") == 0) {
			options = false;
			at++;
		} else if (options && word[0] == '-' && word[1] != '\0') {
			if (!opt_parse(tables, argc, argv, &at, why, sizeof(why)))
				return report_usage("%s", why);
		} else {
			at++;
			if (take_word(line, word) != EXIT_DONE)
				return EXIT_USAGE;
		}
		if (line->command == &cmd_complete)
			options = false;
	}
	return EXIT_DONE;
}

/* A shell runs commands in forks, each of which reads the file itself. So the values of
 * lists must not be in their rows yet. */
static int
read_surroundings(const struct command *command)
{
	char why[OPT_TEXT_ROOM];
	int rank;

	if (!opt_environment(global_options, NULL, why, sizeof(why)) ||
	    !opt_environment(command->options, command->name, why, sizeof(why)) ||
	    !config_read(command == &cmd_shell ? command : NULL, why, sizeof(why)) ||
	    !settings_check_epoch(why, sizeof(why)) ||
	    !settings_writer_rank(&rank, why, sizeof(why)) ||
	    !settings_default_root(why, sizeof(why)))
		return report_usage("%s", why);
	return EXIT_DONE;
}

static int
check_count(const struct line *line)
{
	const struct command *command = line->command;

	if (line->count < command->least)
		return report_usage("an operand is missing: cachex %s %s", command->name,
		    command->operands);
	if (command->most >= 0 && line->count > command->most)
		return report_usage("too many operands: %s",
		    line->operands[command->most]);
	return EXIT_DONE;
}

static int
run_command(const struct line *line)
{
	interrupt_resume(line->command->resume);
	return interrupt_tell(line->command->run(line->count, line->operands));
}

static int
run_line(struct line *line)
{
	int status;

	if (settings.version)
		return usage_version();
	if (line->command == NULL && (settings.help || settings.short_help))
		return usage_overview();
	if (line->command == NULL && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
		line->command = &cmd_shell;
		report_command(cmd_shell.name);
	}
	if (line->command == NULL)
		return report_usage("a command is missing; cachex help lists them");
	if (settings.help)
		return usage_full(line->command);
	if (settings.short_help)
		return usage_short(line->command);
	status = read_surroundings(line->command);
	if (status == EXIT_DONE)
		status = check_count(line);
	if (status == EXIT_DONE)
		status = run_command(line);
	return status;
}

/* Does the line ask for JSON? Then errors in the line itself are JSON too. */
static bool
asks_for_json(int argc, char **argv)
{
	for (int at = 1; at < argc && strcmp(argv[at], "--") != 0; at++)
		if (strcmp(argv[at], "--json") == 0)
			return true;
	return false;
}

int
command_line_run(int argc, char **argv)
{
	struct line line = { .operands = argv };
	int status;

	report_as_json(asks_for_json(argc, argv));
	status = read_line(argc, argv, &line);
	report_as_json(false);
	if (status == EXIT_DONE)
		status = run_line(&line);
	return report_finish(status);
}
