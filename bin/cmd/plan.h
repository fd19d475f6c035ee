/* SPDX-License-Identifier: BSD-2-Clause */
/* What reading in an order asks of the chunks, found without reading them. */
#ifndef CACHEX_CMD_PLAN_H
#define CACHEX_CMD_PLAN_H

#include "cmd/stream_sources.h"
#include "stream/cursor.h"
#include "stream/visits.h"
#include "ui/size.h"

/** Every chunk of all sources, numbered on from one source to the next. */
struct plan_chunks {
	uint64_t n;                  /* how many */
	uint64_t *first;             /* of each source, the number of its first chunk */
	double *bytes;               /* of each chunk's records */
	size_t room;                 /* of bytes */
	double units;                /* of all chunks of all sources */
	double records;              /* likewise */
	bool has_lengths;            /* a unit is one of the first axis, not a record */
	struct lc__cursor **cursors; /* of each source: where records are in its chunks */
	size_t n_sources;
};

/** Learn them from the ledgers; a shard's are alike. They stay as they were until
 *  plan_chunks_free(): a snapshot of each module is held.
 *  @param files  a shard has the bytes of its file, where its manifest says them, and not
 *                those of its records alone; that of a store always has */
LC_CHECKED lc_status plan_chunks_load(const struct stream_sources *sources, bool files,
    struct plan_chunks *out);
void plan_chunks_free(struct plan_chunks *chunks);

/** The readers, and the questions. */
struct plan {
	const struct stream_sources *sources;
	const struct plan_chunks *chunks;
	uint32_t readers;
	lc_split split;
	bool windows;              /* examples are windows, not records */
	const char *const *fields; /* that are read, n_fields of them; NULL: as */
	size_t n_fields;           /* lc_reader_options says */
	uint64_t batch;            /* examples, over all readers */
	uint64_t over;             /* batches that are looked at, at most */
	uint64_t within;           /* K: batches in which a chunk comes again */
	uint64_t kept;             /* M: chunks in memory */
};

/** What one reader reads a batch, on average. */
struct plan_reader {
	double chunks, bytes;
};

/** What an order costs. Means are of a batch. */
struct plan_cost {
	uint64_t batches;        /* looked at */
	uint64_t examples;       /* in them */
	double chunks;           /* touched by a batch, over all readers */
	uint64_t p50, p99, most; /* of the same */
	double runs;             /* places gone to */
	double bytes;            /* of records, that are read for its examples */
	double all_bytes;        /* the same of all batches looked at */
	double visit;            /* examples a chunk that a batch touches */
	double again;  /* share of the chunks that were touched within K batches */
	double whole;  /* bytes read for each byte needed, if whole chunks are read */
	double cached; /* the same if the last M chunks are still there */
	double epoch_batches; /* batches an epoch; 0 for a mixture, which has none */
	struct plan_reader *readers; /* plan.readers of them */
};

/**
 * Look at a stream of @p batches, UINT64_MAX without an end.
 * @return LC_OK; LC_CANCELLED; what the stream returns.
 */
LC_CHECKED lc_status plan_cost(const struct plan *plan, lc_stream *stream,
    uint64_t batches, struct plan_cost *out);
void plan_cost_free(struct plan_cost *cost);

/** Where an example is; *pieces grows as needed, and the caller frees it. */
struct plan_pieces {
	lc_piece *items;
	size_t count, room;
};
LC_CHECKED lc_status plan_locate(lc_stream *stream, uint64_t example,
    struct plan_pieces *pieces);

/** How readers of shares read. */
struct plan_nodes {
	uint64_t shares, spread; /* C, W */
	uint64_t ahead;          /* chunks fetched before they are needed */
	uint64_t cache;          /* bytes of a reader's cache; 0: not known */
	uint64_t epochs;         /* 0: for ever */
	double rate;             /* examples a second of a reader; 0: not known */
	double mbps, latency;    /* of the store, 10^6 bytes a second for a reader and
	                            seconds a request; 0 mbps: not known */
};

/** What readers fetch in all epochs. */
struct plan_fetched {
	double lru, belady; /* bytes */
	double best;        /* bytes that no cache of this size can do without */
	uint64_t requests;  /* by Belady */
	double seconds;     /* that the reading takes without stalls; 0 if not known */
	double stalled;     /* seconds that the reader waits for the store */
};

/** A reader, or the sum of all. */
struct plan_node {
	uint64_t chunks;
	double bytes, least;
	bool enough; /* the cache has the least */
	struct plan_fetched fetched;
};

/** What all readers are counted with. */
struct plan_counting {
	const struct plan *plan;
	const struct plan_nodes *how;
	lc_stream *stream;
	uint64_t batches; /* of all epochs */
	uint64_t *sizes;  /* bytes of each chunk */
	uint64_t largest;
	double batch; /* seconds that a reader takes for a batch; 0 if not known */
	double
	    *came; /* a ring: when the reader came to the last visits, one more than are
	                 ahead */
};

/**
 * Print what each reader of a stream of shares has, needs and fetches.
 * @param all  gets them, plan->readers of them, if it is not NULL
 */
LC_CHECKED lc_status plan_nodes(struct plan_counting *counting, struct plan_node *all,
    struct plan_node *sum);

/** Have all that is counted with, to be freed in any case. */
LC_CHECKED lc_status plan_counting_open(const struct plan *plan,
    const struct plan_nodes *how, lc_stream *stream, struct plan_counting *out);
void plan_counting_close(struct plan_counting *counting);

/**
 * Count what a reader fetches.
 * @param seen  called for each visit, if it is not NULL; @p fetched by Belady
 */
LC_CHECKED lc_status plan_count(const struct plan_counting *counting, uint32_t reader,
    lc_status (*seen)(void *ctx, uint64_t k, const struct lc__visit *visit, bool fetched),
    void *ctx, struct plan_fetched *out);

/** MB a second that a reader needs; 0 if not known. */
double plan_needed_mbps(const struct plan_fetched *fetched);

/** Write a page that draws what plan_nodes() has printed. */
LC_CHECKED lc_status plan_report(const struct plan_counting *counting,
    const struct plan_node *nodes, const struct plan_node *sum, FILE *out);

/** Seconds in words; hundredths count only where there are few. */
const char *plan_seconds(double seconds, char out[SIZE_TEXT]);

/** Print what batches @p first to @p last ask of each reader; an exit status. */
int plan_show(const struct plan *plan, lc_stream *stream, uint64_t first, uint64_t last);

#endif
