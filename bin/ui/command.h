/* SPDX-License-Identifier: BSD-2-Clause */
/* A command of the tool: its row is all that the rest of the tool knows of it. */
#ifndef CACHEX_UI_COMMAND_H
#define CACHEX_UI_COMMAND_H

#include "ui/opt.h"

/* ---- A command of the tool: its row holds all that the rest of the tool knows ------ */

struct command {
	const char *name;      /* "put"; of a subcommand "shard verify" */
	const char *operands;  /* "MODULE CACHE_ID [FILE]" */
	const char *summary;   /* one phrase */
	const char *text;      /* the --help text: paragraphs, one line each */
	const char *examples;  /* lines of shell */
	const char *completes; /* kinds of operands: m module, i cache_id, f file,
	                          d directory, s module or path, c command, w word
	                          of that command, n setting of a module; the last
	                          one repeats */
	const char
	    *resume;     /* how to continue after a signal, see interrupt_resume(); NULL
	                          unless it may take long */
	int least, most; /* least and most operands; most -1: any number */
	/** Its subcommands, NULL at the end, or NULL. If there are any, the first operand
	 *  is the name of one, which runs with its own options. */
	const struct command *const *subcommands;
	struct opt *options;               /* its own options, ended by OPT_END */
	int (*run)(int argc, char **argv); /* with the operands; an exit status */
};

extern const struct command cmd_put, cmd_get, cmd_has, cmd_rm, cmd_ls, cmd_stat,
    cmd_schema, cmd_set, cmd_verify, cmd_backup, cmd_copy, cmd_merge, cmd_compact,
    cmd_clear, cmd_drop, cmd_rename, cmd_recover, cmd_import, cmd_export, cmd_shard,
    cmd_dump, cmd_load, cmd_fill, cmd_buckets, cmd_migrate, cmd_build, cmd_warehouse,
    cmd_view, cmd_read, cmd_plan, cmd_follow, cmd_push, cmd_publish, cmd_pull, cmd_gc,
    cmd_shell, cmd_top, cmd_report, cmd_config, cmd_help, cmd_complete;

/** Every command, NULL at the end; cmd_complete is not listed. */
extern const struct command *const commands[];

/** Command @p i of all, subcommands after their command; NULL after the last. */
const struct command *command_at(size_t i);

/** The command of this whole name, "put" or "shard verify"; NULL if there is none. */
const struct command *command_by_name(const char *name);

/** The last word of its name, "verify" of "shard verify". */
const char *command_word(const struct command *command);

/** The one in a NULL-ended list that this word names, or NULL. */
const struct command *command_in(const struct command *const *list, const char *word);

/** The error for an unknown command, with the one that was probably meant; EXIT_USAGE. */
int command_unknown(const char *name);
/** The same for an unknown subcommand. */
int command_unknown_word(const struct command *command, const char *word);

/* ---- The help texts, written from the commands' rows; with --json, one object. All return EXIT_DONE - */

/** The tool: its commands and global options. */
int usage_overview(void);

/** -h: synopsis and options. */
int usage_short(const struct command *command);

/** --help: everything. */
int usage_full(const struct command *command);

/** --version. */
int usage_version(void);

/**
 * Apply the lines of the configuration file; a missing file has none. With @p only those of
 * this command and of no command; the others are checked. False with the file and the line in
 * @p why.
 */
bool config_read(const struct command *only, char *why, size_t room);

#endif
