/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command line of cachex in a child of the shell, a copy of this process that has run no
 * command yet. Options and commands keep their values in variables of the program; a signal
 * may end a command at any place. In a child neither concerns the next command.
 */
#ifndef CACHEX_SHELL_CHILD_H
#define CACHEX_SHELL_CHILD_H

/** Runs a command line, argv as main() has it; an exit status. */
typedef int shell_command(int argc, char **argv);

struct shell_child {
	shell_command *run;
	int argc;
	char **argv;       /* the caller's, from argv[0] "cachex" to a NULL */
	const char *place; /* "FILE:LINE: " before its errors, or NULL */
	int input;         /* a descriptor for its standard input, -1: as the shell's */
	int output;        /* for its standard output, -1: as the shell's */
	int errors;        /* for its standard error, -1: as the shell's */
};

/**
 * Run it to its end. While it runs the shell ignores SIGINT, which the terminal sends to both,
 * and passes SIGTERM on. Reports a child that cannot be started or that a signal ended.
 * @return its exit status; 128 + the signal's number
 */
int shell_child_run(const struct shell_child *child);

/** SIGTERM or SIGHUP that arrived while a child ran; 0 if neither. */
int shell_child_signal(void);

#endif
