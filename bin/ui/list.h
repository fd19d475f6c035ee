/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of cache_ids or paths, from operands and from files. */
#ifndef CACHEX_UI_LIST_H
#define CACHEX_UI_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

struct list {
	lc_id *items;    /* each is followed by a NUL byte */
	size_t count;    /* how many */
	size_t room;     /* how many fit */
	void **blocks;   /* memory that the items lie in, freed with the list */
	size_t n_blocks, blocks_room;
};

/** Append bytes that stay where they are; an exit status. */
int list_add(struct list *list, const void *data, size_t size);
/** Append a copy. */
int list_add_copy(struct list *list, const char *text);
/**
 * Append the items of a file ("-": standard input), one a line or, with
 * @p null, each ended by a NUL byte. Empty lines are passed over.
 */
int list_read(struct list *list, const char *path, bool null);
/**
 * The cache_ids of a command line: the operands, and the list on standard
 * input if @p from_stdin is set or an operand is "-". Checks their sizes.
 */
int list_ids(struct list *list, int argc, char **argv, bool *from_stdin,
    bool null);
/** Reports a cache_id that is empty or too long; an exit status. */
int list_check_id(lc_id id);
void list_free(struct list *list);

#endif
