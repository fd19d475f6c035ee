/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes what reading in an order costs, without reading the chunks. */
#ifndef CACHEX_CMD_PLAN_H
#define CACHEX_CMD_PLAN_H

#include "cmd/stream_sources.h"
#include "stream/cursor.h"
#include "stream/visits.h"
#include "ui/size.h"

/** The chunks of all sources, numbered from one source to the next. */
struct plan_chunks {
	uint64_t n;      /* number of chunks */
	uint64_t *first; /* number of the first chunk of each source */
	double *bytes;   /* bytes of the records in each chunk */
	size_t room;     /* elements allocated for `bytes` */
	double units;    /* units in all chunks */
	double records;  /* records in all chunks */
	/* Units are elements of the first axis, not records. */
	bool has_lengths;
	struct lc__cursor **cursors; /* of each source: finds the chunk of a record */
	size_t n_sources;
};

/**
 * Read the sizes of chunks from the ledgers; all chunks of a shard are taken as equal.
 * A snapshot of each module is held until plan_chunks_free(), so the sizes stay valid.
 * @param files  the size of a shard is that of its file, if its manifest has it, not
 *               that of its records; shards of a store always use the file
 */
LC_CHECKED lc_status plan_chunks_load(const struct stream_sources *sources, bool files,
    struct plan_chunks *out);
void plan_chunks_free(struct plan_chunks *chunks);

/** The readers, and what is asked about them. */
struct plan {
	const struct stream_sources *sources;
	const struct plan_chunks *chunks;
	uint32_t readers;
	lc_split split;
	bool windows; /* examples are windows, not records */
	/* The n_fields fields that are read; NULL: the default of lc_reader_options. */
	const char *const *fields;
	size_t n_fields;
	uint64_t batch; /* examples per batch, of all readers together */
	uint64_t over;  /* the most batches to examine */
	/* K: a chunk is read again if it comes within so many batches. */
	uint64_t within;
	uint64_t kept; /* M: chunks that a cache holds */
};

/** What one reader reads per batch, on average. */
struct plan_reader {
	double chunks, bytes;
};

/** What an order costs. Means are per batch. */
struct plan_cost {
	uint64_t batches;        /* batches examined */
	uint64_t examples;       /* examples in these batches */
	double chunks;           /* chunks that a batch touches, over all readers */
	uint64_t p50, p99, most; /* percentiles and maximum of `chunks` */
	double runs;             /* contiguous runs of units that are read */
	double bytes;            /* bytes of the records that its examples need */
	double all_bytes;        /* `bytes` of all examined batches together */
	/* Examples that a batch takes from a chunk it touches. */
	double visit;
	/* Share of the chunks that were touched within the last K batches. */
	double again;
	double whole;  /* bytes read per byte needed, if whole chunks are read */
	double cached; /* `whole`, if the last M chunks are cached */
	/* Batches per epoch; 0 for a mixture, which has no epochs. */
	double epoch_batches;
	struct plan_reader *readers; /* plan.readers elements */
};

/**
 * Examine a stream of @p batches; UINT64_MAX: it has no end.
 * @return LC_OK; LC_CANCELLED; an error of the stream.
 */
LC_CHECKED lc_status plan_cost(const struct plan *plan, lc_stream *stream,
    uint64_t batches, struct plan_cost *out);
void plan_cost_free(struct plan_cost *cost);

/** The pieces of an example. `items` grows as needed; the caller frees it. */
struct plan_pieces {
	lc_piece *items;
	size_t count, room;
};
LC_CHECKED lc_status plan_locate(lc_stream *stream, uint64_t example,
    struct plan_pieces *pieces);

/** How readers of an order of shares read. */
struct plan_nodes {
	uint64_t shares, spread; /* C, W */
	uint32_t together;       /* readers that share a cache */
	uint64_t ahead;          /* chunks that a reader fetches before it needs them */
	uint64_t cache;          /* bytes of each cache; 0: unknown */
	uint64_t epochs;         /* 0: without end */
	double rate;             /* examples per second of one reader; 0: unknown */
	/* The store: 10^6 bytes per second for each cache (0: unknown), and seconds per
	 * request. */
	double mbps, latency;
};

/** What a cache fetches in all epochs together. */
struct plan_fetched {
	double lru, belady; /* bytes fetched with each policy of eviction */
	double best;        /* least bytes that any policy fetches with this cache */
	uint64_t requests;  /* requests with Belady's policy */
	double seconds;     /* seconds of reading without stalls; 0 if unknown */
	double stalled;     /* seconds that readers wait for the store */
};

/** The counts of the readers of one cache, or the sum over all caches. A chunk that several
 *  readers of a cache have counts once. */
struct plan_node {
	uint64_t chunks;
	double bytes, least;
	bool enough; /* the cache has at least `least` bytes */
	struct plan_fetched fetched;
};

/** What the counts of all readers are computed from. */
struct plan_counting {
	const struct plan *plan;
	const struct plan_nodes *how;
	lc_stream *stream;
	uint64_t batches; /* batches in all epochs */
	uint64_t *sizes;  /* bytes of each chunk */
	uint64_t largest;
	double batch; /* seconds that a reader takes for a batch; 0 if unknown */
	/* Ring buffer: when the readers came to the last visits, 1 more than the chunks
	 * that they fetch ahead. */
	double *came;
};

/** The number of caches. */
uint32_t plan_caches(const struct plan_counting *counting);

/** The readers of a cache: "3", or "4-7". */
const char *plan_readers_name(const struct plan_counting *counting, uint32_t cache,
    char out[SIZE_TEXT]);

/**
 * Print what the readers of each cache have, need and fetch, for an order of shares.
 * @param all  receives the counts of plan_caches() caches; may be NULL
 */
LC_CHECKED lc_status plan_nodes(struct plan_counting *counting, struct plan_node *all,
    struct plan_node *sum);

/** Prepare to count. Close @p out also after a failure. */
LC_CHECKED lc_status plan_counting_open(const struct plan *plan,
    const struct plan_nodes *how, lc_stream *stream, struct plan_counting *out);
void plan_counting_close(struct plan_counting *counting);

/**
 * Count what a cache fetches for its readers.
 * @param seen  called for each visit; @p fetched tells whether Belady's policy fetches
 *              the chunk; may be NULL
 */
LC_CHECKED lc_status plan_count(const struct plan_counting *counting, uint32_t cache,
    lc_status (*seen)(void *ctx, uint64_t k, const struct lc__visit *visit, bool fetched),
    void *ctx, struct plan_fetched *out);

/** The MB per second that the readers of a cache need; 0 if unknown. */
double plan_needed_mbps(const struct plan_fetched *fetched);

/** Write a page with charts of the counts that plan_nodes() prints. */
LC_CHECKED lc_status plan_report(const struct plan_counting *counting,
    const struct plan_node *nodes, const struct plan_node *sum, FILE *out);

/** Write a duration in words; hundredths of a second only for short ones. */
const char *plan_seconds(double seconds, char out[SIZE_TEXT]);

/** Print the chunks that each reader reads for batches @p first to @p last. Returns an
 *  exit status. */
int plan_show(const struct plan *plan, lc_stream *stream, uint64_t first, uint64_t last);

#endif
