/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which chunks a reader needs, and when: what a cache fetches first and evicts last.
 *
 * A visit says that the examples of some batches are read from a chunk. The batches are
 * those of a whole window of a shuffle, as within it any example may be next: so a chunk of
 * the window may be needed in each of them. In an epoch a chunk has one visit, or several:
 * if blocks are smaller than chunks, or if a reader has two shares with parts of it.
 *
 * Visits are numbered over all epochs, in the order of their first batches. Each knows
 * the next visit of its chunk: the chunk whose next visit is last is the one to evict
 * (Belady, "A study of replacement algorithms for a virtual-storage computer", 1966).
 */
#ifndef LC_STREAM_VISITS_H
#define LC_STREAM_VISITS_H

#include "lmdbcache.h"

struct lc__layout;
struct lc__sequence;

#define LC__NO_VISIT UINT64_MAX

struct lc__visit {
	uint64_t chunk;      /* position in the layout */
	uint32_t place;      /* of it among the chunks visited so far, from 0 */
	uint64_t first, end; /* batches */
	uint64_t next;       /* number of the next visit of the chunk; LC__NO_VISIT */
};

struct lc__visits;

/**
 * The visits of reader @p reader of @p readers from batch @p from on: visit 0 is the first
 * that has not ended by then.
 * @param sequence  complete; must stay until lc__visits_free()
 * @param batch     examples of a batch, of all readers
 * @return LC_OK; LC_UNSUPPORTED for the R* order; LC_NO_MEMORY; as lc__layout_row().
 */
LC_CHECKED lc_status lc__visits_new(const struct lc__sequence *sequence, uint64_t batch,
    uint32_t reader, uint32_t readers, uint64_t from, struct lc__visits **out);
/** The same of a stream of one source as it is now, which may be closed before.
 *  LC_UNSUPPORTED also of a mixture, and of images of several sizes. */
LC_CHECKED lc_status lc__visits_of_stream(lc_stream *stream, uint32_t reader,
    uint32_t readers, uint64_t from, struct lc__visits **out);
/** The layout that they are of, valid as long as they are. */
struct lc__layout *lc__visits_layout(const struct lc__visits *visits);
/** NULL is harmless. */
void lc__visits_free(struct lc__visits *visits);

/**
 * Visit @p k. One thread at a time. The visits of two epochs are kept, 40 bytes each, until
 * they are forgotten.
 * @return LC_OK; LC_END after the last one, without an error; LC_NO_MEMORY; as
 * lc__layout_row().
 */
LC_CHECKED lc_status lc__visits_get(struct lc__visits *visits, uint64_t k,
    struct lc__visit *out);

/** The number of the first visit of a chunk; LC__NO_VISIT if it has none. LC_NO_MEMORY; as
 *  lc__layout_row(). */
LC_CHECKED lc_status lc__visits_first(struct lc__visits *visits, uint64_t chunk,
    uint64_t *k);

/** Visits before @p k will not be asked for again. */
void lc__visits_forget(struct lc__visits *visits, uint64_t k);

#endif
