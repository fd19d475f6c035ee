/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration file, $XDG_CONFIG_HOME/cachex/config or
 * ~/.config/cachex/config: lines `key = value`, where the key is an option's
 * name ("root") or a command's and an option's ("put.dtype"); # begins a comment.
 */
#ifndef CACHEX_CMD_CONFIGFILE_H
#define CACHEX_CMD_CONFIGFILE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Apply every line of the file; a missing file is an empty one. False names the
 * file and the line in @p why.
 */
bool config_read(char *why, size_t room);

/** Where the file is looked for, NULL if there is no place for it. */
const char *config_path(void);

#endif
