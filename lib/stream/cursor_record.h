/* SPDX-License-Identifier: BSD-2-Clause */
/* Tensors out of records of a module, by paths. */
#ifndef LC_STREAM_CURSOR_RECORD_H
#define LC_STREAM_CURSOR_RECORD_H

#include "store/block.h"
#include "store/snapshot.h"
#include "stream/cursor.h"
#include "stream/verified.h"

/** Blocks of decoded tensors. */
struct lc__blocks {
	struct lc__block **block; /* malloc'ed; held */
	size_t n, room;
};

/** A new block of the list; NULL without memory. */
struct lc__block *lc__blocks_new(struct lc__blocks *blocks, size_t size);
/** Drop all; what the list takes stays for the next. */
void lc__blocks_drop(struct lc__blocks *blocks);
void lc__blocks_free(struct lc__blocks *blocks);
/** Memory that they take. */
uint64_t lc__blocks_bytes(const struct lc__blocks *blocks);

/* Structures that a reader remembers: a power of two. */
#define LC__FIELD_PLANS 16

/** Where the fields are in records of one structure. */
struct lc__field_plan {
	uint32_t id;                /* of the schema */
	const struct lc__schema *schema; /* NULL: nothing is known */
	const char *const *fields;  /* that it is about */
	size_t n, room;             /* of them; that node has room for */
	uint32_t *node;             /* of each; malloc'ed */
	bool alone;                 /* one field: the record itself */
	bool all;                   /* all tensors of the record */
};

/** Reads records; used by one thread at a time. */
struct lc__record_reader {
	bool verify;
	struct lc__verified verified; /* what needs not be compared again */
	uint64_t touched;           /* bytes that were read or verified */
	struct lc__blocks decoded;  /* since the last lc__blocks_drop() */
	struct lc__field_plan plans[LC__FIELD_PLANS]; /* by schema id */
};

/** As lc__cursor_read(), of a record that was taken apart and not verified. */
LC_CHECKED lc_status lc__record_read(struct lc__record_reader *reader,
    struct lc__snapshot *snapshot, const struct lc__record *record,
    const char *const *fields, size_t n, const struct lc__row_span *rows,
    lc_tensor *tensors);

/** As lc__cursor_extents(), of such a record. */
LC_CHECKED lc_status lc__record_extents(struct lc__record_reader *reader,
    struct lc__snapshot *snapshot, const struct lc__record *record,
    const char *const *fields, size_t n, const struct lc__row_span *rows,
    struct lc__extents *out);

/** Does lc__record_read() touch each byte of any record of a snapshot that takes
 *  @p stored bytes? It is known without a look at one where all have one structure. */
bool lc__record_reads_all(struct lc__record_reader *reader,
    struct lc__snapshot *snapshot, uint64_t stored, const char *const *fields,
    size_t n, const struct lc__row_span *rows);

/** As lc__cursor_fields(). */
LC_CHECKED lc_status lc__record_fields(const struct lc__record_reader *reader,
    struct lc__snapshot *snapshot, const struct lc__record *record,
    char ***names, size_t *n);

void lc__record_reader_free(struct lc__record_reader *reader);

#endif
