/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a stream from batch to batch and writing it out: what read and follow do. */
#ifndef CACHEX_CMD_READING_H
#define CACHEX_CMD_READING_H

#include <stdbool.h>

#include "cmd/streamout.h"
#include "lmdbcache.h"

struct reading {
	const char *source;            /* its name, for messages */
	const struct readopts *opts;
	const struct streamopts *order;
	uint32_t reader, readers;      /* r of R */
	lc_split split;
	bool follow;                   /* the source may grow */
	uint64_t first, last;          /* batches; UINT64_MAX: from where the token is, all */
	uint64_t count;                /* batches at most */
	/** Tells how far the source is, whenever nothing is left to read; may be
	 *  NULL. */
	void (*idle)(struct streaming *streaming);
};

/** Read from the opened sources what is asked for; reports; an exit status. */
int reading_run(const struct reading *reading, struct streaming *streaming);

#endif
