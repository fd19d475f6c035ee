/* SPDX-License-Identifier: BSD-2-Clause */
/* A command line: finds the command, reads its options, runs it. */
#ifndef CACHEX_CMD_COMMAND_LINE_H
#define CACHEX_CMD_COMMAND_LINE_H

/**
 * Run "cachex WORD..."; @p argv as main() has it, reordered. Options and commands keep their
 * values in variables of the program: once in a process. An exit status; standard output is
 * flushed.
 */
int command_line_run(int argc, char **argv);

#endif
