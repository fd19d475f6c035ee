/* SPDX-License-Identifier: BSD-2-Clause */
/* Input shards of text for tests, and what a module must be that is filled from them. */
#ifndef T_FILL_SET_H
#define T_FILL_SET_H

#include "fill/inputs.h"

#define FILL_SET_MAX 40

/** Shards in a directory of their own. */
struct fill_set {
	const char *dir;
	size_t n;
	char paths[FILL_SET_MAX][80]; /* "s0.txt" ..., below dir */
	unsigned lines[FILL_SET_MAX];
	struct lc__inputs_shard shards[FILL_SET_MAX];
};

/** Make them, and make their directory the working directory. Of every second one the
 *  last line has no newline. */
void fill_set_make(struct fill_set *set, size_t n, const unsigned *lines);
/** Write a file. */
void fill_set_write(const char *path, const void *data, size_t size);

/** The record of a line is there: u8 of its id and its text. */
void fill_set_check_line(lc_cache *cache, const struct fill_set *set, size_t shard,
    unsigned line);
/** All are, and nothing else. */
void fill_set_check(lc_cache *cache, const struct fill_set *set);
/** Chunks have @p chunk records, but for the last one of each shard, in the order of the
 *  lines. */
void fill_set_check_order(lc_cache *cache, const struct fill_set *set, uint64_t chunk);

#endif
