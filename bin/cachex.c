/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex: finds the command, reads its options, runs it. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "configfile.h"
#include "interrupt.h"
#include "report.h"
#include "settings.h"
#include "suggest.h"
#include "usage.h"

const struct command *const commands[] = {
	&cmd_put, &cmd_get, &cmd_has, &cmd_rm, &cmd_ls, &cmd_stat, &cmd_schema,
	&cmd_set, &cmd_verify, &cmd_backup, &cmd_copy, &cmd_merge, &cmd_compact,
	&cmd_clear, &cmd_recover, &cmd_import, &cmd_export, &cmd_shard, &cmd_dump,
	&cmd_load, &cmd_config, &cmd_help, NULL
};

const struct command *
command_by_name(const char *name)
{
	for (const struct command *const *c = commands; *c != NULL; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return strcmp(cmd_complete.name, name) == 0 ? &cmd_complete : NULL;
}

void
command_unknown(const char *name)
{
	struct suggest suggest;

	suggest_start(&suggest, name);
	for (const struct command *const *c = commands; *c != NULL; c++)
		suggest_word(&suggest, (*c)->name);
	if (suggest_best(&suggest) != NULL)
		report_error("unknown command %s; did you mean %s?", name,
		    suggest_best(&suggest));
	else
		report_error("unknown command %s; cachex help lists them", name);
}

/* A command line on its way: operands are gathered at the front of argv. */
struct line {
	const struct command *command; /* NULL until it is found */
	char **operands;
	int count;
};

static int
take_word(struct line *line, char *word)
{
	if (line->command != NULL) {
		line->operands[line->count++] = word;
		return EXIT_DONE;
	}
	line->command = command_by_name(word);
	if (line->command == NULL) {
		command_unknown(word);
		return EXIT_USAGE;
	}
	report_command(line->command->name);
	return EXIT_DONE;
}

/* Options stand anywhere before "--"; only global ones before the command. */
static int
read_line(int argc, char **argv, struct line *line)
{
	char why[OPT_TEXT_ROOM];
	bool options = true;

	for (int at = 1; at < argc;) {
		char *word = argv[at];
		struct opt *tables[] = { global_options, line->command ?
		    line->command->options : NULL, NULL };
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

static int
read_surroundings(const struct command *command)
{
	char why[OPT_TEXT_ROOM];
	int rank;

	if (!opt_environment(global_options, NULL, why, sizeof(why)) ||
	    !opt_environment(command->options, command->name, why, sizeof(why)) ||
	    !config_read(why, sizeof(why)) ||
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
		return report_usage("an operand is missing: cachex %s %s",
		    command->name, command->operands);
	if (command->most >= 0 && line->count > command->most)
		return report_usage("too many operands: %s",
		    line->operands[command->most]);
	return EXIT_DONE;
}

static int
run_line(const struct line *line)
{
	int status;

	if (settings.version)
		return usage_version();
	if (line->command == NULL && (settings.help || settings.short_help))
		return usage_overview();
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
		status = line->command->run(line->count, line->operands);
	return status;
}

int
main(int argc, char **argv)
{
	struct line line = { .operands = argv };
	int status;

	interrupt_install();
	status = read_line(argc, argv, &line);
	if (status == EXIT_DONE)
		status = run_line(&line);
	return report_finish(status);
}
