/* SPDX-License-Identifier: BSD-2-Clause */
/* The sources that a command line names, and a stream over them. */
#ifndef CACHEX_CMD_STREAM_SOURCES_H
#define CACHEX_CMD_STREAM_SOURCES_H

#include <stdbool.h>

#include "cmd/warehouse.h"
#include "lmdbcache.h"
#include "ui/opt.h"

struct stream_order {
	uint64_t batch; /* examples per batch, over all readers */
	/* Units; window 0: examples are records; stride 0: as `window`. */
	uint64_t window, stride;
	int drop_short;              /* leave out a last window that is not full */
	uint64_t idealised;          /* R*; 0 for the flat order */
	int shuffle;                 /* lc_shuffle */
	uint64_t block, spread;      /* parameters of the orders block and era */
	uint64_t shares;             /* C of the order block; 0: none */
	uint64_t era_first, era_max; /* parameter of the order era */
	uint64_t seed;
	/* A number or "inf"; NULL: the default of the order. */
	const char *epochs;
	uint64_t limit; /* the most examples in all; 0: no limit */
	/* Path of the length field; NULL: the one that the module names. */
	const char *length;
	int missing;              /* lc_missing, for joins */
	const char *split, *part; /* a split and the part that is read, or NULL */
	int split_by;             /* 1: split by run */
	uint64_t split_seed;
	struct opt_list mix;    /* sources after the first, as "SOURCE[=WEIGHT]" */
	uint64_t weight;        /* weight of the first source */
	uint64_t mixture_block; /* number of examples in which the shares are exact */
	/* Lc_warehouse_sources: how to compare a warehouse with its sources. */
	int sources;
	const char *dataset;   /* new root of the sources; NULL: the old one */
	int ignore_thresholds; /* read a warehouse even if it exceeds its limits */
	uint64_t open_shards;  /* most shards that are open at a time */
};

/** The defaults, with @p b examples a batch. */
/* clang-format off */
#define STREAM_ORDER_DEFAULT(b) { .batch = (b), .block = 256, .spread = 16, \
	.era_first = 65536, .era_max = 1048576, .weight = 1, .mixture_block = 1024, \
	.open_shards = 1024 }

/** Rows of options for the order of one source; they set members of @p o. */
#define STREAM_ORDER_OPTIONS(o) \
	{ "b", "batch", OPT_COUNT, &(o).batch, .value = "N", .least = 1, \
	    .help = "examples in a batch, over all readers" }, \
	{ "w", "window", OPT_COUNT, &(o).window, .value = "S", \
	    .help = "an example is S units of the length field, or S records if " \
	    "there is no such field; 0: an example is a record" }, \
	{ "", "stride", OPT_COUNT, &(o).stride, .value = "T", \
	    .help = "units from the start of one window to the next; 0: S" }, \
	{ "", "drop-short", OPT_FLAG, &(o).drop_short, \
	    .help = "leave out a last window that is not full" }, \
	{ "", "length", OPT_TEXT, &(o).length, .value = "PATH", \
	    .help = "tensor with the length of a record as first dimension, instead of " \
	    "the module's length field" }, \
	{ "", "idealised", OPT_COUNT, &(o).idealised, .value = "R", .most = 65536, \
	    .help = "the order of R idealised readers, without end; 0: the flat order" }, \
	{ "", "shuffle", OPT_CHOICE, &(o).shuffle, .value = "none|full|block|era", \
	    .help = "shuffle each epoch: all of it, adjacent blocks, or blocks in eras " \
	    "that double" }, \
	{ "", "block", OPT_COUNT, &(o).block, .value = "B", .least = 1, \
	    .help = "examples in a block of the shuffle" }, \
	{ "", "spread", OPT_COUNT, &(o).spread, .value = "W", .least = 1, \
	    .help = "blocks in a window of the shuffle" }, \
	{ "", "era-first", OPT_COUNT, &(o).era_first, .value = "N", .least = 1, \
	    .help = "examples in the first era" }, \
	{ "", "era-max", OPT_COUNT, &(o).era_max, .value = "N", .least = 1, \
	    .help = "examples in the largest era" }, \
	{ "", "seed", OPT_COUNT, &(o).seed, .value = "N", \
	    .help = "seed of the shuffle" }, \
	{ "", "epochs", OPT_TEXT, &(o).epochs, .value = "N|inf", \
	    .help = "number of epochs; default 1, or inf with --idealised and --mix" }, \
	{ "", "limit", OPT_COUNT, &(o).limit, .value = "N", \
	    .help = "total number of examples; 0 for no limit" }

/** Options for orders of shares, each of which stays with its reader. */
#define STREAM_SHARES_OPTIONS(o) \
	{ "", "shares", OPT_COUNT, &(o).shares, .value = "C", .most = 65536, \
	    .help = "with --shuffle block: deal the chunks into C shares that stay with their " \
	    "readers; a block is then a chunk; 0: no shares" }

/** Options for joins: several modules as one source. */
#define STREAM_JOIN_OPTIONS(o) \
	{ "", "missing", OPT_CHOICE, &(o).missing, .value = "refuse|drop", \
	    .help = "records of a join without a partner: refuse them as an error, or " \
	    "drop and count them" }

/** Options for one part of a split. */
#define STREAM_PART_OPTIONS(o) \
	{ "", "part", OPT_TEXT, &(o).part, .value = "NAME", \
	    .help = "read only this part of the split" }, \
	{ "", "split", OPT_TEXT, &(o).split, .value = "NAME=SHARE,...", \
	    .help = "parts by a hash of the cache_id, train=0.9,val=0.1; default: the " \
	    "split of the warehouse" }, \
	{ "", "split-by", OPT_CHOICE, &(o).split_by, .value = "id|run", \
	    .help = "hash the cache_id or, for shards, the run of the sample" }, \
	{ "", "split-seed", OPT_COUNT, &(o).split_seed, .value = "N", \
	    .help = "seed of the hash" }

/** Options for mixtures of several sources. */
#define STREAM_MIX_OPTIONS(o) \
	{ "", "mix", OPT_LIST, &(o).mix, .value = "SOURCE[=WEIGHT]", \
	    .help = "mix in this source, by weight; a,b is a list; may be repeated" }, \
	{ "", "weight", OPT_COUNT, &(o).weight, .value = "N", .least = 1, \
	    .help = "weight of SOURCE in a mixture" }, \
	{ "", "mixture-block", OPT_COUNT, &(o).mixture_block, .value = "N", \
	    .least = 1, .help = "examples in which the shares of a mixture are exact" }

/** Options for which warehouses may be read. */
#define STREAM_WAREHOUSE_OPTIONS(o) \
	{ "", "sources", OPT_CHOICE, &(o).sources, .value = WAREHOUSE_SOURCES, \
	    .help = "source files of a warehouse: compare sizes and times, compare the " \
	    "contents, or do not check them" }, \
	{ "", "dataset", OPT_DIR, &(o).dataset, .value = "DIR", \
	    .help = "where the source files are now" }, \
	{ "", "ignore-thresholds", OPT_FLAG, &(o).ignore_thresholds, \
	    .help = "read a warehouse even if it exceeds its validation limits" }, \
	{ "", "open-shards", OPT_COUNT, &(o).open_shards, .value = "N", .least = 1, \
	    .most = UINT32_MAX, \
	    .help = "shards that are open at a time; in a larger set each is opened when " \
	    "needed" }
/* clang-format on */

/**
 * Fill @p out with this order; the caller sets weights and follow. Reports errors;
 * returns an exit status.
 */
int stream_order_fill(const struct stream_order *opts, lc_stream_options *out);

/** The form in which batches are written. */
enum read_form {
	READ_LIST,   /* a line for each example, or JSON */
	READ_IDS,    /* cache_ids only */
	READ_SUM,    /* a line with a hash for each batch */
	READ_FRAMES, /* tensors as frames, to a pipe */
	READ_NPY     /* tensors as .npy files */
};

struct read_options {
	int ids, null; /* only cache_ids, each ended by a newline or a NUL */
	int sum, frames;
	uint64_t shared;        /* descriptor of the memory for frames, or OPT_UNSET */
	const char *npy;        /* directory for .npy files, or NULL */
	int bits;               /* write dtypes that .npy lacks as raw bits */
	int force;              /* replace files; write frames to a terminal */
	struct opt_list fields; /* names of the tensors to read */
	int documents;          /* number the documents in windows */
	uint64_t threads, ahead, memory;
	int verify;
	uint64_t timeout; /* seconds to wait for new data; OPT_UNSET: no limit */
	int wait;         /* wait for a source that grows even if it has no writer */
	const char *token_file;
	uint64_t token_every; /* most batches to read */
	int restart;          /* ignore the position in the token file */
	int keep_going;       /* skip damaged batches */
	int stats;            /* print the cost at the end */
	const char *metrics;  /* file of metrics for Prometheus, or NULL */
};

/** The defaults, with @p j threads. */
/* clang-format off */
#define READ_OPTIONS_DEFAULT(j) { .threads = (j), .ahead = 8, .memory = 256ull << 20, \
	.shared = OPT_UNSET, .verify = LC_VERIFY_ONCE, .timeout = OPT_UNSET, .token_every = 1 }

/** Rows of options for the output; they set members of @p o. */
#define READ_FORM_OPTIONS(o) \
	{ "1", "ids", OPT_FLAG, &(o).ids, \
	    .help = "print only cache_ids, one per line" }, \
	{ "z", "null", OPT_FLAG, &(o).null, \
	    .help = "print only cache_ids, each followed by a NUL byte" }, \
	{ "", "sum", OPT_FLAG, &(o).sum, \
	    .help = "one line per batch: its number, its examples, and a hash of them " \
	    "that adds up over readers" }, \
	{ "", "frames", OPT_FLAG, &(o).frames, \
	    .help = "write the tensors as a stream of frames, not to a terminal" }

/** Rows of options for how to read and where to resume. */
#define READ_READER_OPTIONS(o) \
	{ "", "field", OPT_LIST, &(o).fields, .value = "PATH", \
	    .help = "read this tensor; may be repeated; default all of the first record, " \
	    "for windows the length field" }, \
	{ "", "documents", OPT_FLAG, &(o).documents, \
	    .help = "give each unit of a window its document and its position in it" }, \
	{ "j", "threads", OPT_COUNT, &(o).threads, .value = "N", .most = 1024, \
	    .help = "threads that read ahead; 0 for none" }, \
	{ "", "ahead", OPT_COUNT, &(o).ahead, .value = "N", .least = 1, .most = 65536, \
	    .help = "maximum number of batches read ahead" }, \
	{ "", "memory", OPT_SIZE, &(o).memory, .value = "SIZE", .least = 1, \
	    .help = "memory for batches read ahead" }, \
	{ "", "verify", OPT_CHOICE, &(o).verify, .value = "never|always|once", \
	    .help = "when to compare checksums; default once, when a record is first read" }, \
	{ "", "timeout", OPT_COUNT, &(o).timeout, .value = "SECONDS", \
	    .help = "longest wait for new data; default no limit" }, \
	{ "", "wait", OPT_FLAG, &(o).wait, \
	    .help = "also wait if unfinished inputs have no writer" }, \
	{ "", "token-file", OPT_FILE, &(o).token_file, .value = "FILE", \
	    .help = "continue at the position in FILE, and keep it up to date" }, \
	{ "", "token-every", OPT_COUNT, &(o).token_every, .value = "N", .least = 1, \
	    .help = "write FILE every N batches, and at the end" }, \
	{ "", "restart", OPT_FLAG, &(o).restart, \
	    .help = "start from the beginning, ignore the token file" }, \
	{ "k", "keep-going", OPT_FLAG, &(o).keep_going, \
	    .help = "skip batches that cannot be read" }, \
	{ "", "stats", OPT_FLAG, &(o).stats, \
	    .help = "print the cost of reading at the end" }, \
	{ "", "metrics", OPT_FILE, &(o).metrics, .value = "FILE", \
	    .help = "write counts for Prometheus; the file is replaced while reading" }, \
	{ "f", "force", OPT_FLAG, &(o).force, \
	    .help = "replace files of batches; write frames even to a terminal" }
/* clang-format on */

/** The form that the options ask for. Reports options that exclude each other; returns
 *  an exit status. */
int read_options_form(const struct read_options *opts, enum read_form *out);

/** Fill @p out, except reader and readers. To list cache_ids no tensor is read. */
void read_options_fill(const struct read_options *opts, enum read_form form,
    lc_reader_options *out);

/** A source and what it was opened from. */
struct stream_source {
	char *name; /* name, as it was given */
	/* Module of the source, of a join the first; NULL for shards. */
	lc_cache *cache;
	lc_cache **partners; /* handles of a join's other modules */
	size_t n_partners;
	struct stream_source *members; /* members of a list; else NULL */
	size_t n_members;
	lc_source *source;
};

struct stream_sources {
	size_t n;
	struct stream_source *all;
	uint64_t *weights; /* weight of each source */
};

/** Whether the name can only be a path, not a module. */
bool stream_name_is_path(const char *name);

/** Whether the name is a join, "a+b", and not a file's. */
bool stream_name_is_join(const char *name);

/** Whether the name is a list, "a,b", and not a file's. */
bool stream_name_is_list(const char *name);

/** Open the modules of the join s->name as s->source. Prints how many records are left
 *  out. Reports errors; returns an exit status. Close it also after a failure. */
int stream_source_open_join(struct stream_source *s, const lc_source_options *how,
    lc_missing missing);

/** Close the source, its modules and members, and free its name. Returns the worse exit
 *  status. */
int stream_source_close(struct stream_source *s, int status);

/**
 * Open the first source and those that --mix names. The first one has @p n names: several
 * are a list of sources, and so is "a,b". A name with a slash is a path, of shards or of a
 * directory of them; others are modules, and paths where there is no such module; "a+b+c"
 * is a join of modules. Reports; an exit status.
 */
int stream_sources_open(struct stream_sources *out, char *const *names, size_t n,
    const struct stream_order *opts, lc_verify_mode verify);

/** Open a stream over the sources. */
LC_CHECKED lc_status stream_sources_start(const struct stream_sources *sources,
    lc_stream_options *how, lc_stream **out);

/** Close all sources. Returns the worse exit status. */
int stream_sources_close(struct stream_sources *sources, int status);

#endif
