/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of cache_ids that is read as it is needed, however long it is. */
#ifndef CACHEX_CMD_FILL_IDS_H
#define CACHEX_CMD_FILL_IDS_H

#include <stdbool.h>

#include "base/buf.h"
#include "fill/inputs.h"
#include "lmdbcache.h"

struct idlist {
	const char *name; /* for messages */
	int fd;           /* -1: not open */
	bool null;        /* items end with a NUL byte, else with a newline */
	bool ended;       /* there is nothing more to read */
	uint64_t line;    /* items so far, empty ones included */
	struct lc__buf buf;
	size_t at; /* what of it was given out */
};

/** Open a file, or standard input for "-"; reports; an exit status. */
int idlist_open(struct idlist *list, const char *path, bool null);

/** How many there are, as far as a file tells before it is read; 0: not known. */
uint64_t idlist_count(const struct idlist *list);

/**
 * The next item that is not empty, valid until the next call.
 * @return LC_OK; LC_END at the end; LC_BUSY if none can be read now; LC_INVALID for
 * one that is too long; LC_CANCELLED after a signal; LC_IO, LC_NO_MEMORY.
 */
lc_status idlist_next(struct idlist *list, lc_id *out);

/** Harmless on one that is not open. */
void idlist_close(struct idlist *list);

/** How; one of both is set. */
struct linename {
	const char *field;   /* of JSONL: the member whose text, or integer, it is */
	const char *pattern; /* of a list of files: what the path fills in */
};

/** Does it fit the shards? Reports; an exit status. */
int linename_check(const struct linename *how, const struct lc__inputs_shard *shards,
    size_t n);

/** For lc__inputs_fill.name, with a struct linename. */
lc_status linename_append(const struct linename *how,
    const struct lc__inputs_shard *shard, const struct lc__line *line,
    struct lc__buf *out);

#endif
