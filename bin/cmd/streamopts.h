/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that say what is streamed in which order: of read, plan and follow. */
#ifndef CACHEX_CMD_STREAMOPTS_H
#define CACHEX_CMD_STREAMOPTS_H

#include "lmdbcache.h"
#include "ui/opt.h"
#include "cmd/warehouse_sources.h"

struct streamopts {
	uint64_t batch;         /* examples a batch, over all readers */
	uint64_t window, stride; /* units; 0 window: records; 0 stride: the window */
	int drop_short;         /* leave out a last window that is not full */
	uint64_t idealised;     /* R*, 0 for the flat order */
	int shuffle;            /* lc_shuffle */
	uint64_t block, spread; /* of block and era */
	uint64_t era_first, era_max; /* of era */
	uint64_t seed;
	const char *epochs;     /* a number or "inf"; NULL: what the order has */
	uint64_t limit;         /* examples in all, 0 for no limit */
	const char *length;     /* path of the length field; NULL: the module's own */
	int missing;            /* lc_missing, of joins */
	const char *split, *part; /* a split, and the part of it that is read; or NULL */
	int split_by;           /* 1: by run */
	uint64_t split_seed;
	struct opt_list mix;    /* "SOURCE[=WEIGHT]" behind the first source */
	uint64_t weight;        /* of the first source */
	uint64_t mixture_block; /* examples in which the shares are exact */
	int sources;            /* lc_warehouse_sources: what a warehouse was made of */
	const char *dataset;    /* where that stands now; NULL: where it stood */
	int ignore_thresholds;  /* read a warehouse that exceeds its limits */
};

/** What they are where nobody has decided, @p b examples a batch. */
#define STREAMOPTS_DEFAULT(b) { .batch = (b), .block = 256, .spread = 16, \
	.era_first = 65536, .era_max = 1048576, .weight = 1, .mixture_block = 1024 }

/** The order of one source, rows of a table whose values go to @p o. */
#define STREAMOPTS_ORDER(o) \
	{ "b", "batch", OPT_COUNT, &(o).batch, .value = "N", .least = 1, \
	    .help = "examples a batch, over all readers" }, \
	{ "w", "window", OPT_COUNT, &(o).window, .value = "S", \
	    .help = "an example is S units of the length field, or S records where " \
	    "there is none; 0: an example is a record" }, \
	{ "", "stride", OPT_COUNT, &(o).stride, .value = "T", \
	    .help = "units from one window to the next; 0: the window" }, \
	{ "", "drop-short", OPT_FLAG, &(o).drop_short, \
	    .help = "leave out a last window that is not full" }, \
	{ "", "length", OPT_TEXT, &(o).length, .value = "PATH", \
	    .help = "the tensor whose first axis is a record's length, where it is not " \
	    "the module's own" }, \
	{ "", "idealised", OPT_COUNT, &(o).idealised, .value = "R", .most = 65536, \
	    .help = "the order of R idealised readers, which goes on for ever; 0: the " \
	    "flat order" }, \
	{ "", "shuffle", OPT_CHOICE, &(o).shuffle, .value = "none|full|block|era", \
	    .help = "shuffle each epoch: all of it, blocks and what is near them, or " \
	    "eras that double" }, \
	{ "", "block", OPT_COUNT, &(o).block, .value = "B", .least = 1, \
	    .help = "examples a block of the shuffle" }, \
	{ "", "spread", OPT_COUNT, &(o).spread, .value = "W", .least = 1, \
	    .help = "blocks among which the examples are shuffled" }, \
	{ "", "era-first", OPT_COUNT, &(o).era_first, .value = "N", .least = 1, \
	    .help = "examples of the first era" }, \
	{ "", "era-max", OPT_COUNT, &(o).era_max, .value = "N", .least = 1, \
	    .help = "examples of the largest era" }, \
	{ "", "seed", OPT_COUNT, &(o).seed, .value = "N", \
	    .help = "of the shuffle" }, \
	{ "", "epochs", OPT_TEXT, &(o).epochs, .value = "N|inf", \
	    .help = "times over the data; 1 unless said otherwise, for ever with " \
	    "--idealised and --mix" }, \
	{ "", "limit", OPT_COUNT, &(o).limit, .value = "N", \
	    .help = "examples in all; 0 for no limit" }

/** Several modules as one. */
#define STREAMOPTS_JOIN(o) \
	{ "", "missing", OPT_CHOICE, &(o).missing, .value = "refuse|drop", \
	    .help = "what becomes of records that lack a partner in a join: an error, or " \
	    "they are left out and counted" }

/** One part of a split. */
#define STREAMOPTS_PART(o) \
	{ "", "part", OPT_TEXT, &(o).part, .value = "NAME", \
	    .help = "only this part of the split" }, \
	{ "", "split", OPT_TEXT, &(o).split, .value = "NAME=SHARE,...", \
	    .help = "parts by a hash of the cache_id, train=0.9,val=0.1; default: those " \
	    "that the warehouse was built with" }, \
	{ "", "split-by", OPT_CHOICE, &(o).split_by, .value = "id|run", \
	    .help = "what is hashed: the cache_id, or of shards the sample's run" }, \
	{ "", "split-seed", OPT_COUNT, &(o).split_seed, .value = "N", \
	    .help = "of the hash" }

/** Mixtures of several sources. */
#define STREAMOPTS_MIX(o) \
	{ "", "mix", OPT_LIST, &(o).mix, .value = "SOURCE[=WEIGHT]", \
	    .help = "mix this source in, by weight; given again, one more" }, \
	{ "", "weight", OPT_COUNT, &(o).weight, .value = "N", .least = 1, \
	    .help = "weight of SOURCE in a mixture" }, \
	{ "", "mixture-block", OPT_COUNT, &(o).mixture_block, .value = "N", \
	    .least = 1, .help = "examples in which the shares of a mixture are exact" }

/** Which warehouses are read. */
#define STREAMOPTS_WAREHOUSE(o) \
	{ "", "sources", OPT_CHOICE, &(o).sources, .value = WAREHOUSE_SOURCES, \
	    .help = "of a warehouse: compare sizes and times of what it was made of, or " \
	    "read it all, or do not look at it" }, \
	{ "", "dataset", OPT_DIR, &(o).dataset, .value = "DIR", \
	    .help = "where that stands now" }, \
	{ "", "ignore-thresholds", OPT_FLAG, &(o).ignore_thresholds, \
	    .help = "read a warehouse although it exceeds its validation limits" }

/**
 * Fill @p out with the order that is asked for; weights and follow are the caller's.
 * Reports; an exit status.
 */
int streamopts_fill(const struct streamopts *opts, lc_stream_options *out);

#endif
