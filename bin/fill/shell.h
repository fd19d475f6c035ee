/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands as the shell is given them. */
#ifndef CACHEX_FILL_SHELL_H
#define CACHEX_FILL_SHELL_H

#include "base/buf.h"

/**
 * Append what /bin/sh is to run, with a NUL: the command, with "exec" in front of it if
 * it is a single one. Many shells stay around such a command otherwise: the process that
 * the system kills with us, and whose end and pipes we watch, would be the shell.
 */
void lc__shell_script(const char *command, struct lc__buf *out);

#endif
