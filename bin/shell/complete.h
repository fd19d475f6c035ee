/* SPDX-License-Identifier: BSD-2-Clause */
/* What can come at the end of a line that is being typed. */
#ifndef CACHEX_SHELL_COMPLETE_H
#define CACHEX_SHELL_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "shell/child.h"
#include "shell/words.h"

struct candidate {
	char *word;    /* without quotes; a directory ends with / */
	char *meaning; /* one phrase, or "" */
};

struct completion {
	struct candidate *items; /* sorted as the commands have them, files by name */
	size_t n, room;
	size_t
	    start;  /* where the last word of the line begins; its length for a new one */
	char quote; /* ' or " if the line ends between them, 0 if not */
	bool home;  /* the word begins with ~/, and so do all of the candidates */
	size_t common; /* bytes at the beginning of all words that are the same */
};

/** Replaces @ and ~ at the beginning of a bare word; reports; an exit status. */
typedef int shell_expand(void *ctx, struct word *word);

struct completer {
	shell_command *run;   /* for "cachex __complete WORD..." */
	shell_expand *expand; /* NULL: words stay as they are */
	void *ctx;
	/** The commands of the shell itself, ".use" and so on, with a name of NULL at the end;
	 *  argument is what `completes` of a command's row has for a first operand: m, c, f, d,
	 *  o for on and off, or 0. */
	const struct shell_dot *dots;
};

struct shell_dot {
	const char *name;     /* ".use" */
	const char *operands; /* "[MODULE]" */
	const char *summary;
	char argument;
	int least, most; /* operands */
	int (*run)(void *ctx, int argc, char **argv);
};

/** Find what can complete @p line into @p out, which shell_completion_free() frees; nothing
 *  if that fails. */
void shell_complete(const struct completer *completer, const char *line,
    struct completion *out);

/**
 * What replaces line[out->start...]: the common beginning of all candidates, quoted, and, if
 * there is just one that is complete, what ends it. Free it; NULL without memory.
 */
char *shell_completion_text(const struct completion *completion);

void shell_completion_free(struct completion *completion);

#endif
