/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which chunks a reader needs, and when: what a cache fetches first and evicts last. The
 * chunks of all sources of a stream are numbered on, from one source to the next.
 *
 * A visit says that the examples of some batches are read from a chunk. The batches are
 * those of a whole window of a shuffle, as within it any example may be next: so a chunk of
 * the window may be needed in each of them. In an epoch a chunk has one visit, or several:
 * if blocks are smaller than chunks, or if a reader has two shares with parts of it.
 *
 * The visits of a source are numbered over all epochs, in the order of their first batches.
 * Each knows the next visit of its chunk: the chunk whose next visit is last is the one to
 * evict (Belady, "A study of replacement algorithms for a virtual-storage computer", 1966).
 *
 * In a mixture each source has its own epochs and numbers. Within a block of the mixture any
 * example may be of any source, so a visit has the batches of whole blocks.
 */
#ifndef LC_STREAM_VISITS_H
#define LC_STREAM_VISITS_H

#include "lmdbcache.h"

struct lc__layout;
struct lc__sequence;

#define LC__NO_VISIT UINT64_MAX

struct lc__visit {
	uint64_t chunk;  /* its number: the position in the layout of its source, after
	                      * the chunks of the sources before */
	uint32_t place;  /* of it among the chunks visited so far, from 0 */
	uint32_t source; /* of the chunk, in the stream */
	uint64_t first, end; /* batches */
	uint64_t next;       /* number of the next visit of the chunk; LC__NO_VISIT */
	uint64_t again; /* the same for comparing visits of all sources: its number, or
	                      * in a mixture its first batch */
};

/** Readers @p first to @p first + @p n - 1, of @p of, which share a cache. */
struct lc__ranks {
	uint32_t first, n, of;
};

/** The chunks [first, end). */
struct lc__chunk_range {
	uint64_t first, end;
};

struct lc__visits;

/**
 * The visits of readers from batch @p from on: visit 0 is the first that has not ended by
 * then.
 * @param sequence  complete; must stay until lc__visits_free()
 * @param batch     examples of a batch, of all readers
 * @return LC_OK; LC_UNSUPPORTED for the R* order; LC_NO_MEMORY; as lc__layout_row().
 */
LC_CHECKED lc_status lc__visits_new(const struct lc__sequence *sequence, uint64_t batch,
    struct lc__ranks ranks, uint64_t from, struct lc__visits **out);
/**
 * The same of a stream as it is now, which may be closed before. LC_UNSUPPORTED also of
 * images of several sizes.
 * @param only  visits of these chunks alone, n of them in ascending order, copied; NULL: of
 *              all
 */
LC_CHECKED lc_status lc__visits_of_stream(lc_stream *stream, struct lc__ranks ranks,
    uint64_t from, const struct lc__chunk_range *only, size_t n, struct lc__visits **out);
/** Sources; the source of a chunk; and the chunks of all sources. */
uint32_t lc__visits_sources(const struct lc__visits *visits);
uint32_t lc__visits_source(const struct lc__visits *visits, uint64_t chunk);
uint64_t lc__visits_chunks(const struct lc__visits *visits);
/** NULL is harmless. */
void lc__visits_free(struct lc__visits *visits);

/**
 * Visit @p k of a source. One thread at a time. The visits of two epochs are kept, 56 bytes
 * each, until they are forgotten.
 * @return LC_OK; LC_END after the last one, without an error; LC_NO_MEMORY; as
 * lc__layout_row().
 */
LC_CHECKED lc_status lc__visits_get(struct lc__visits *visits, uint32_t source,
    uint64_t k, struct lc__visit *out);

/** The next visit of all sources, in the order of their first batches; LC_END.
 *  @param at  for each source the number of its next visit, 0 at first */
LC_CHECKED lc_status lc__visits_next(struct lc__visits *visits, uint64_t *at,
    struct lc__visit *out);

/** The number of the first visit of a chunk; LC__NO_VISIT if it has none. LC_NO_MEMORY; as
 *  lc__layout_row(). */
LC_CHECKED lc_status lc__visits_first(struct lc__visits *visits, uint64_t chunk,
    uint64_t *k);

/** Visits before @p k of a source will not be asked for again. */
void lc__visits_forget(struct lc__visits *visits, uint32_t source, uint64_t k);

#endif
