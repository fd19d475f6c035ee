/* SPDX-License-Identifier: BSD-2-Clause */
/* The destination of a command's data: standard output, or a file that appears whole. */
#ifndef CACHEX_UI_OUTPUT_H
#define CACHEX_UI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
	FILE *stream;    /* write here */
	char *path;      /* the file, NULL for standard output */
	char *temporary; /* written first; NULL if the target is a device */
	bool force;      /* may replace an existing file */
	int sys;         /* errno of the first failed write, 0 if none */
};

/** The name for messages: @p path, or "standard output". */
const char *output_name(const char *path);
/** Begin; @p path NULL or "-" is standard output. A device or a pipe is written as it
 *  is. Anything else that has this name is replaced by a new file with @p force and
 *  refused without. Reports; an exit status, EXIT_USAGE for what exists. */
int output_open(struct output *output, const char *path, bool force);
/** The same for a file whose name the user did not choose: an existing one is never
 *  written to, even if it is a device. */
int output_add(struct output *output, const char *path, bool force);
/** True if a write has failed; call it right after writing, since errno is kept. */
bool output_failed(struct output *output);
/** Put the file in place, on disk. Reports; an exit status. Ends it. */
int output_commit(struct output *output);
/** Discard; the old file stays. Ends it. */
void output_discard(struct output *output);
/** Commit if @p status is EXIT_DONE, else discard; the exit status of both. */
int output_end(struct output *output, int status);
/** True if it is a terminal. */
bool output_is_terminal(const struct output *output);

#endif
