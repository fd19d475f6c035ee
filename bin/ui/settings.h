/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that every command has. */
#ifndef CACHEX_UI_SETTINGS_H
#define CACHEX_UI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/opt.h"

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct settings {
	const char *root;        /* directory of the modules */
	int quiet;               /* errors only */
	int verbose;             /* print more messages */
	int json;                /* JSON lines instead of text */
	int color;               /* enum color_choice */
	int progress;            /* 1 always, 0 never, -1 on a terminal */
	uint64_t rank;           /* of this process, OPT_UNSET: as the library determines
	                          * it */
	const char *writer_rank; /* the rank that writes, or "any"; NULL: the default */
	uint64_t lru_bytes;      /* memory for decoded tensors */
	int force_fs;            /* accept network and FUSE file systems */
	int short_help;          /* -h */
	int help;                /* --help */
	int version;             /* --version */
};

extern struct settings settings;

extern struct opt global_options[];

/** True for --help and its like, which no variable or file can set. */
bool settings_is_action(const struct opt *opt);

/** False with @p why if SOURCE_DATE_EPOCH, which fixes all dates, is not a time. */
bool settings_check_epoch(char *why, size_t room);

/**
 * The rank that writes, LC_RANK_ANY if any does. False with @p why if the setting
 * is wrong.
 */
bool settings_writer_rank(int *out, char *why, size_t room);

/** True if the root was named, by an option, the environment or the configuration. */
bool settings_names_root(void);

/** Choose the default root unless one is named. False with @p why if HOME is not set. */
bool settings_default_root(char *why, size_t room);

#endif
