/* SPDX-License-Identifier: BSD-2-Clause */
/* A command of the tool: its row holds all that the rest of the tool knows. */
#ifndef BIN_COMMAND_H
#define BIN_COMMAND_H

#include "opt.h"

struct command {
	const char *name;      /* "put" */
	const char *operands;  /* "MODULE CACHE_ID [FILE]" */
	const char *summary;   /* one phrase */
	const char *text;      /* the --help text: paragraphs, one line each */
	const char *examples;  /* lines of shell */
	const char *completes; /* kinds of operands: m module, i cache_id, f file,
	                          d directory, c command, s word of shard,
	                          n setting of a module; the last one repeats */
	int least, most;       /* how many operands; most -1: any number */
	struct opt *options;   /* its own options, ended by OPT_END */
	int (*run)(int argc, char **argv); /* with the operands; an exit status */
};

extern const struct command
    cmd_put, cmd_get, cmd_has, cmd_rm, cmd_ls, cmd_stat, cmd_schema, cmd_set,
    cmd_verify, cmd_backup, cmd_copy, cmd_merge, cmd_compact, cmd_clear,
    cmd_recover, cmd_import, cmd_export, cmd_shard, cmd_dump, cmd_load, cmd_config,
    cmd_help, cmd_complete;

/** Every command, NULL at the end; cmd_complete is not listed. */
extern const struct command *const commands[];

/** The command of this name, NULL if there is none. */
const struct command *command_by_name(const char *name);

/** The error for a name that is no command, with what was meant. */
void command_unknown(const char *name);

#endif
