/* SPDX-License-Identifier: BSD-2-Clause */
/* The help texts, written from the commands' rows; with --json, one object. All return
   EXIT_DONE. */
#ifndef CACHEX_CMD_USAGE_H
#define CACHEX_CMD_USAGE_H

#include "ui/command.h"

/** The tool: its commands and global options. */
int usage_overview(void);

/** -h: synopsis and options. */
int usage_short(const struct command *command);

/** --help: everything. */
int usage_full(const struct command *command);

/** --version. */
int usage_version(void);

#endif
