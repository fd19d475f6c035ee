/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that say how a stream is read and what is written: of read and follow. */
#ifndef CACHEX_CMD_READOPTS_H
#define CACHEX_CMD_READOPTS_H

#include "lmdbcache.h"
#include "ui/opt.h"

/** What is written of a batch. */
enum read_form {
	READ_LIST,   /* a line an example, or JSON */
	READ_IDS,    /* cache_ids only */
	READ_SUM,    /* a line a batch with a hash */
	READ_FRAMES, /* the tensors, to a pipe */
	READ_NPY     /* the tensors, to files */
};

struct readopts {
	int ids, null;          /* cache_ids only: a line each, NUL-ended */
	int sum, frames;
	const char *npy;        /* directory, or NULL */
	int bits;               /* bf16 and f8 in .npy as raw bits */
	int force;              /* replace files; frames to a terminal */
	struct opt_list fields; /* tensors to read */
	int documents;          /* tell where documents begin in windows */
	uint64_t threads, ahead, memory;
	int verify;
	uint64_t timeout;       /* seconds without anything new; OPT_UNSET: for ever */
	int wait;               /* for a source that grows, also while nobody writes it */
	const char *token_file;
	uint64_t token_every;   /* batches */
	int restart;            /* do not look at what the token file says */
	int keep_going;         /* pass over batches that are damaged */
	int stats;              /* say at the end what it cost */
};

/** What they are where nobody has decided, @p j threads. */
#define READOPTS_DEFAULT(j) { .threads = (j), .ahead = 8, .memory = 256ull << 20, \
	.verify = 1, .timeout = OPT_UNSET, .token_every = 1 }

/** What is written, rows of a table whose values go to @p o. */
#define READOPTS_FORM(o) \
	{ "1", "ids", OPT_FLAG, &(o).ids, \
	    .help = "cache_ids only, one a line" }, \
	{ "z", "null", OPT_FLAG, &(o).null, \
	    .help = "cache_ids only, each ended by a NUL byte" }, \
	{ "", "sum", OPT_FLAG, &(o).sum, \
	    .help = "a line a batch: its number, its examples, and a hash of them that " \
	    "adds up over readers" }, \
	{ "", "frames", OPT_FLAG, &(o).frames, \
	    .help = "the tensors as a stream of frames, not to a terminal" }

/** How it is read, and where to go on. */
#define READOPTS_READER(o) \
	{ "", "field", OPT_LIST, &(o).fields, .value = "PATH", \
	    .help = "read this tensor; given again, one more; all of the first record " \
	    "unless said otherwise, of windows the length field" }, \
	{ "", "documents", OPT_FLAG, &(o).documents, \
	    .help = "tell of each unit of a window its document and its place there" }, \
	{ "j", "threads", OPT_COUNT, &(o).threads, .value = "N", .most = 1024, \
	    .help = "that read ahead; 0 for none" }, \
	{ "", "ahead", OPT_COUNT, &(o).ahead, .value = "N", .least = 1, .most = 65536, \
	    .help = "batches read ahead at most" }, \
	{ "", "memory", OPT_SIZE, &(o).memory, .value = "SIZE", .least = 1, \
	    .help = "for batches read ahead" }, \
	{ "", "verify", OPT_FLAG, &(o).verify, \
	    .help = "do not compare checksums" }, \
	{ "", "timeout", OPT_COUNT, &(o).timeout, .value = "SECONDS", \
	    .help = "wait so long for something new; for ever unless said otherwise" }, \
	{ "", "wait", OPT_FLAG, &(o).wait, \
	    .help = "wait also while nobody writes" }, \
	{ "", "token-file", OPT_FILE, &(o).token_file, .value = "FILE", \
	    .help = "go on where it says, and keep it up to date" }, \
	{ "", "token-every", OPT_COUNT, &(o).token_every, .value = "N", .least = 1, \
	    .help = "write it every N batches, and at the end" }, \
	{ "", "restart", OPT_FLAG, &(o).restart, \
	    .help = "begin anew whatever the token file says" }, \
	{ "k", "keep-going", OPT_FLAG, &(o).keep_going, \
	    .help = "pass over batches that cannot be read" }, \
	{ "", "stats", OPT_FLAG, &(o).stats, \
	    .help = "say at the end what reading cost" }, \
	{ "f", "force", OPT_FLAG, &(o).force, \
	    .help = "replace files of batches; frames also to a terminal" }

/** Which form was asked for; reports those that exclude one another; an exit status. */
int readopts_form(const struct readopts *opts, enum read_form *out);

/** Fill @p out but for reader and readers. Cache_ids are listed without reading a
 *  tensor. */
void readopts_fill(const struct readopts *opts, enum read_form form,
    lc_reader_options *out);

#endif
