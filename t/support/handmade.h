/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of a module made by hand from the description of the format: what the
 * engine's are compared with, and modules that the engine has never seen. */
#ifndef T_HANDMADE_H
#define T_HANDMADE_H

#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

#define HAND_MAX 16 /* rows of one table, entries of one commit */

/** One put, or a delete if there is no tensor. */
struct hand_op {
	lc_id id;
	const lc_tensor *tensor;
};

/** Where a record stands. */
struct hand_place {
	lc_id id;
	uint64_t chunk;  /* its id; 0 if this slot is unused or the record dead */
	uint64_t offset; /* from the chunk's start */
	uint64_t size;   /* of the record */
};

/** The facts of a chunk that its ledger row holds. */
struct hand_ledger {
	uint64_t records, live, bytes, live_bytes, ordinal, checksum, time_ms;
	uint64_t dead[HAND_MAX]; /* checksums of those that die in this commit */
	unsigned n_dead;
};

/** The facts of an index run. */
struct hand_run {
	uint64_t entries;
	uint32_t level, buckets;
};

/** What the chunks hold under a schema. */
struct hand_usage {
	uint64_t records, bytes; /* of tensors; none is coded */
};

struct hand_module {
	uint8_t uuid[16];
	uint64_t created_ms;
	uint64_t generation;
	struct lc__buf schemas[HAND_MAX];
	struct lc__buf chunks[HAND_MAX];
	struct lc__buf runs[HAND_MAX];
	struct hand_ledger ledgers[HAND_MAX];
	struct hand_run run_facts[HAND_MAX];
	struct hand_usage usage[HAND_MAX]; /* by schema */
	struct hand_place places[HAND_MAX * HAND_MAX];
	uint32_t n_schemas;
	uint64_t n_chunks, n_runs;
};

/** The first ids of each kind. */
#define HAND_FIRST_CHUNK 1
#define HAND_FIRST_RUN 1
#define HAND_FIRST_SCHEMA 0

/** One commit of these writes, ids all different, its index run with @p buckets. */
void hand_commit(struct hand_module *m, const struct hand_op *ops, unsigned n,
    uint32_t buckets, uint64_t time_ms);

/** The value of meta "module". */
void hand_module_row(struct lc__buf *out, const struct hand_module *m,
    unsigned format);
/** The value of meta "settings" of a module as it is made: all defaults. */
void hand_settings_row(struct lc__buf *out);
/** The value of meta "usage". */
void hand_usage_row(struct lc__buf *out, const struct hand_module *m);
/** The value of meta "state". */
void hand_state_row(struct lc__buf *out, const struct hand_module *m);
/** The ledger's row of chunk number @p i, counted from 0. */
void hand_ledger_row(struct lc__buf *out, const struct hand_module *m, uint64_t i);

/** Compute the checksums again after a change of the bytes. */
void hand_seal_tail(struct lc__buf *row, uint64_t key); /* schema, ledger */
void hand_seal_header(struct lc__buf *chunk_or_run);
void hand_seal_record(struct lc__buf *chunk, uint64_t offset);
void hand_seal_bucket(struct lc__buf *run, uint32_t bucket);

/** Write all rows as a new LMDB environment. */
void hand_store(const struct hand_module *m, const char *dir, unsigned format);

void hand_free(struct hand_module *m);

#endif
