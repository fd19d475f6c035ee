/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of a line that a user typed. Blanks separate them. Between single quotes every
 * byte counts as it is; between double quotes a backslash escapes ", \, $ and `; elsewhere
 * it escapes any byte. # at the beginning of a word begins a comment.
 */
#ifndef CACHEX_SHELL_WORDS_H
#define CACHEX_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct word {
	char *text;   /* owned, without its quotes */
	size_t start; /* where it begins in the line */
	bool bare;    /* its first byte is neither quoted nor escaped */
};

/** Zero-initialised is empty. */
struct words {
	struct word *items;
	size_t n, room;
	char quote;     /* ' or " if the line ends between them, 0 if not */
	bool continues; /* the line ends with a backslash: the next line belongs to it */
	bool open;      /* the line ends in or right after the last word */
	bool comment;   /* a comment comes after the words */
	char
	    unsupported; /* the first byte of a bare word that begins with one of | < > ; &,
	                     which mean something in other shells; 0 if there is none */
};

/** Split a line into @p out, which is empty before. False without memory. */
bool words_split(const char *line, struct words *out);

/**
 * Quote @p text so that words_split() reads it back: what comes after an opened @p quote (' or
 * "), without closing it, or with backslashes if @p quote is 0. Free it; NULL without memory.
 */
char *words_quote(const char *text, char quote);

void words_free(struct words *words);

#endif
