/* SPDX-License-Identifier: BSD-2-Clause */

#ifndef CACHEX_UI_INPUT_H
#define CACHEX_UI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** Append a whole file, or standard input for "-"; reports; an exit status. */
int input_read(const char *path, struct lc__buf *out);

/** "standard input" for "-", else the path. */
const char *input_name(const char *path);

struct list {
	lc_id *items;  /* each is followed by a NUL byte */
	size_t count;  /* how many */
	size_t room;   /* how many fit */
	void **blocks; /* memory that the items lie in, freed with the list */
	size_t n_blocks, blocks_room;
};

/** Append bytes that stay where they are; returns an exit status. */
int list_add(struct list *list, const void *data, size_t size);

/** Append a copy. */
int list_add_copy(struct list *list, const char *text);

/**
 * Append the items of a file ("-": standard input), one a line or, with
 * @p null, each ended by a NUL byte. Empty ones are skipped.
 */
int list_read(struct list *list, const char *path, bool null);

/**
 * The cache_ids of a command line: the operands, and the list on standard
 * input if @p from_stdin is set or an operand is "-". Checks their sizes.
 */
int list_ids(struct list *list, int argc, char **argv, bool *from_stdin, bool null);

/** Reports a cache_id that is empty or too long; an exit status. */
int list_check_id(lc_id id);

void list_free(struct list *list);

/** A tensor and its memory, in one or both of these. */
struct decoded {
	lc_tensor tensor;
	struct lc__buf file; /* the file's bytes */
	void *owned;         /* malloc'ed; NULL if the tensor lies in `file` */
};

void decoded_free(struct decoded *decoded);

/** Do the bytes begin like a .npy file? */
bool npy_is(const struct lc__buf *file);

/**
 * Fill out->tensor from out->file. @p dtype is an lc_dtype that the file must
 * have, which also names raw bits, or -1. The error names the file.
 */
LC_CHECKED lc_status npy_decode(struct decoded *out, const char *name, int dtype);

/**
 * Write a tensor as .npy; reports a dtype that it lacks; an exit status. With
 * @p bits dtypes that .npy cannot name are written as raw bits.
 */
int npy_write(FILE *out, const lc_tensor *tensor, bool bits);

#endif
