/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record reader: reads tensors of the records of a module, by their paths. It verifies
 * what it reads, decodes it, and remembers the positions of the fields.
 */
#ifndef LC_STREAM_RECORD_READER_H
#define LC_STREAM_RECORD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/lru.h"
#include "store/once.h"
#include "store/snapshot.h"
#include "stream/cursor.h"

/** The memory of decoded tensors. */
struct lc__block_list {
	struct lc__block **block; /* malloc'ed; held */
	size_t n, room;
};

/** A new block of the list; NULL without memory. */
struct lc__block *lc__block_list_new(struct lc__block_list *blocks, size_t size);
/** Free all blocks; the list itself can be reused. */
void lc__block_list_drop(struct lc__block_list *blocks);
void lc__block_list_free(struct lc__block_list *blocks);
/** The size of their memory. */
uint64_t lc__block_list_bytes(const struct lc__block_list *blocks);

/* Structures whose plans a reader remembers: a power of two. */
#define LC__FIELD_PLANS 16

/** The positions of the fields in records of one structure. */
struct lc__field_plan {
	uint32_t id;                     /* of the schema */
	const struct lc__schema *schema; /* NULL: the plan is empty */
	const char *const *fields;       /* their paths */
	size_t n, room;                  /* of them; that node has room for */
	uint32_t *node;                  /* of each; malloc'ed */
	bool alone;                      /* one field: the record itself */
	bool all;                        /* all tensors of the record */
};

/** Reads records; used by one thread at a time. */
struct lc__record_reader {
	lc_verify_mode verify;
	struct lc__once_seen
	    seen;         /* for the chunk of the next record, set by the caller to verify
	                   * once */
	uint64_t touched; /* bytes read or verified */
	struct lc__block_list decoded; /* since the last lc__block_list_drop() */
	struct lc__field_plan plans[LC__FIELD_PLANS]; /* by schema id */
};

/** As lc__cursor_read(), for a record that was parsed and not verified. */
LC_CHECKED lc_status lc__record_read(struct lc__record_reader *reader,
    struct lc__snapshot *snapshot, const struct lc__record *record,
    const char *const *fields, size_t n, const struct lc__row_span *rows,
    struct lc__copier *copier, lc_tensor *tensors);

/** As lc__cursor_extents(), for such a record. */
LC_CHECKED lc_status lc__record_extents(struct lc__record_reader *reader,
    struct lc__snapshot *snapshot, const struct lc__record *record,
    const char *const *fields, size_t n, const struct lc__row_span *rows,
    struct lc__extents *out);

/** Does lc__record_read() touch every byte of a record of @p stored bytes? If all records
 *  of the snapshot have one structure, that is known without examining one. */
bool lc__record_reads_all(struct lc__record_reader *reader, struct lc__snapshot *snapshot,
    uint64_t stored, const char *const *fields, size_t n,
    const struct lc__row_span *rows);

/** As lc__cursor_fields(). */
LC_CHECKED lc_status lc__record_fields(const struct lc__record_reader *reader,
    struct lc__snapshot *snapshot, const struct lc__record *record, char ***names,
    size_t *n);

void lc__record_reader_free(struct lc__record_reader *reader);

#endif
