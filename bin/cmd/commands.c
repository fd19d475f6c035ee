/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of commands, and finding one in it. */
#include <string.h>
#include <strings.h>

#include "ui/command.h"
#include "ui/report.h"
#include "ui/suggest.h"

const struct command *const commands[] = { &cmd_put, &cmd_get, &cmd_has, &cmd_rm, &cmd_ls,
	&cmd_stat, &cmd_top, &cmd_report, &cmd_schema, &cmd_set, &cmd_verify, &cmd_backup,
	&cmd_copy, &cmd_merge, &cmd_compact, &cmd_clear, &cmd_drop, &cmd_rename,
	&cmd_recover, &cmd_import, &cmd_export, &cmd_shard, &cmd_dump, &cmd_load,
	&cmd_fill, &cmd_buckets, &cmd_migrate, &cmd_build, &cmd_warehouse, &cmd_view,
	&cmd_read, &cmd_plan, &cmd_follow, &cmd_push, &cmd_publish, &cmd_pull, &cmd_gc,
	&cmd_shell, &cmd_config, &cmd_help, NULL };

const struct command *
command_at(size_t i)
{
	for (const struct command *const *c = commands; *c != NULL; c++) {
		if (i-- == 0)
			return *c;
		for (const struct command *const *s = (*c)->subcommands;
		     s != NULL && *s != NULL; s++)
			if (i-- == 0)
				return *s;
	}
	return NULL;
}

const struct command *
command_by_name(const char *name)
{
	const struct command *command;

	for (size_t i = 0; (command = command_at(i)) != NULL; i++)
		if (strcmp(command->name, name) == 0)
			return command;
	return strcmp(cmd_complete.name, name) == 0 ? &cmd_complete : NULL;
}

const char *
command_word(const struct command *command)
{
	const char *blank = strrchr(command->name, ' ');

	return blank != NULL ? blank + 1 : command->name;
}

const struct command *
command_in(const struct command *const *list, const char *word)
{
	for (; *list != NULL; list++)
		if (strcmp(command_word(*list), word) == 0)
			return *list;
	return NULL;
}

/* Words that other programs use for a command of ours. */
static const struct {
	const char *word;
	const char *command;
} synonyms[] = {
	{ "add", "put" },
	{ "cat", "get" },
	{ "check", "verify" },
	{ "cp", "copy" },
	{ "del", "rm" },
	{ "delete", "rm" },
	{ "destroy", "drop" },
	{ "df", "stat" },
	{ "diff", "compare" },
	{ "dir", "ls" },
	{ "du", "stat" },
	{ "exists", "has" },
	{ "fetch", "pull" },
	{ "fsck", "verify" },
	{ "info", "stat" },
	{ "join", "merge" },
	{ "list", "ls" },
	{ "man", "help" },
	{ "move", "rename" },
	{ "mv", "rename" },
	{ "remove", "rm" },
	{ "repair", "recover" },
	{ "restore", "load" },
	{ "rmdir", "drop" },
	{ "save", "backup" },
	{ "show", "stat" },
	{ "stats", "stat" },
	{ "store", "put" },
	{ "tail", "follow" },
	{ "monitor", "top" },
	{ "truncate", "clear" },
	{ "vacuum", "compact" },
	{ "watch", "follow" },
};

/* The command that another program calls by this word, if it is in this list. */
static const char *
synonym(const struct command *const *list, const char *word)
{
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
		if (strcasecmp(synonyms[i].word, word) == 0 &&
		    command_in(list, synonyms[i].command) != NULL)
			return synonyms[i].command;
	return NULL;
}

/* The word of a list that is most like this one; in @p suggest of the caller. */
static const char *
nearest(struct suggest *suggest, const struct command *const *list, const char *word)
{
	const char *meant = synonym(list, word);

	if (meant != NULL)
		return meant;
	suggest_start(suggest, word);
	for (; *list != NULL; list++)
		suggest_word(suggest, command_word(*list));
	return suggest_best(suggest);
}

int
command_unknown(const char *name)
{
	struct suggest suggest;
	const char *best = nearest(&suggest, commands, name);

	if (best != NULL)
		return report_usage("unknown command %s; did you mean %s?", name, best);
	return report_usage("unknown command %s; cachex help lists them", name);
}

/* "inspect, verify or extract" */
static void
enumerate(const struct command *const *list, char *out, size_t room)
{
	size_t size = 0;

	for (; *list != NULL && size < room; list++)
		size += (size_t)snprintf(out + size, room - size, "%s%s",
		    command_word(*list),
		    list[1] == NULL       ? ""
			: list[2] == NULL ? " or "
					  : ", ");
}

int
command_unknown_word(const struct command *command, const char *word)
{
	struct suggest suggest;
	const char *best = nearest(&suggest, command->subcommands, word);
	char all[200] = "";

	enumerate(command->subcommands, all, sizeof(all));
	if (best != NULL)
		return report_usage("unknown subcommand %s; did you mean %s?", word,
		    best);
	return report_usage("unknown subcommand %s; use %s", word, all);
}
