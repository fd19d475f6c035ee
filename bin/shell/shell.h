/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of commands, typed at a terminal or in a file. */
#ifndef CACHEX_SHELL_SHELL_H
#define CACHEX_SHELL_SHELL_H

#include <stdbool.h>

#include "shell/child.h"

struct shell_start {
	shell_command *run; /* runs a command line of cachex */
	const char *file; /* a file of lines, "-" for standard input; NULL: a terminal */
	bool bail;        /* a file ends at the first command that fails */
	bool echo;        /* print each line before it runs */
	bool keep_history;
};

/**
 * Read and run lines to their end. Reports.
 * @return at a terminal EXIT_DONE; of a file the status of the first command that failed if
 * that ended it, else the worst of all; 128 + the number of a signal that ended it
 */
int shell_run(const struct shell_start *start);

#endif
