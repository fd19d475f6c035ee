/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that write to one module, each its own keys, and what they acknowledged. */
#ifndef T_TORTURE_WRITERS_H
#define T_TORTURE_WRITERS_H

#include <stdatomic.h>

#include "sample.h"

#define WRITER_KEYS 60u /* of a writer; nobody else writes them */
#define WRITER_OPS 12u  /* puts and deletes of a batch, which ends with a flush */

/** In memory that the processes share: see torture_shared(). */
struct writer {
	const char *root; /* of the module "m" */
	unsigned number;
	uint64_t seed;
	_Atomic uint64_t done;          /* batches that were acknowledged */
	_Atomic uint64_t begun;         /* times that the next one was begun */
	uint64_t checked;               /* batches that are in `versions` */
	uint64_t versions[WRITER_KEYS]; /* at the last look; 0: absent */
	lc_options options;
};

void writer_init(struct writer *w, const char *root, unsigned number, uint64_t *random);

/** Write until killed; for child_start(). */
void writer_run(void *writer);

/** All batches that were acknowledged are in the module, of the next one the changes up
 *  to some one. If several processes began the next one and were killed, each may have
 *  come to another one: then each key has the version of before or one of that batch.
 *  @return how many of the keys there are */
uint64_t writer_check(struct writer *w, lc_cache *cache);

/** A record that somebody reads is one that a writer of the @p n ones put, at any time. */
bool writer_knows(const struct writer *w, unsigned n, const lc_id *id,
    const lc_tensor *tensor);

#endif
