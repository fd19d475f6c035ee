/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of a batch, which is reused from batch to batch. */
#ifndef LC_STREAM_BATCH_H
#define LC_STREAM_BATCH_H

#include <stdbool.h>

#include "base/buf.h"
#include "stream/cursor.h"

/** Where the data of fields is allocated: the functions of lc_reader_options. */
struct lc__batch_memory {
	void *(*alloc)(void *ctx, size_t size);
	void (*free)(void *ctx, void *memory, size_t size);
	void *ctx;
};

/** The memory of one field. */
struct lc__batch_room {
	unsigned char *data; /* of batch->memory; bytes of room */
	size_t room;
	uint64_t *offsets; /* rows + 1 elements; NULL until the field was ragged once */
	const void **rows; /* NULL until there were views */
};

struct lc__batch {
	lc_batch seen;          /* the part that the caller sees */
	lc_reader *reader;      /* the ring to which it belongs; NULL: detached */
	struct lc__batch *next; /* in a list */
	bool counted;           /* handed out by lc_reader_next() */
	struct lc__batch_memory memory;
	size_t rows; /* room for this many rows; the next six are in one block */
	uint8_t *mask;
	uint64_t *examples, *epochs, *lengths;
	uint32_t *sources;
	lc_id *ids; /* while the batch is filled, data is an offset into id_bytes */
	struct lc__buf id_bytes;
	uint64_t window; /* units of a row in documents and positions */
	uint32_t *documents, *positions;
	size_t n_fields; /* of fields and rooms */
	lc_batch_field *fields;
	char **names; /* its own copies of the names, if it is detached; else NULL */
	struct lc__batch_room *rooms;
	struct lc__pin **pins; /* for each source; NULL where there is none */
	uint32_t n_pins;
};

/**
 * Allocate for this many rows and sources.
 * @param window  units of a row if documents are listed; else 0
 * @param memory  for the data of fields; without functions, the heap
 */
LC_CHECKED lc_status lc__batch_make(size_t rows, uint64_t window, uint32_t sources,
    const struct lc__batch_memory *memory, struct lc__batch **out);
/** Free it. Calls functions of the caller: do not hold a lock. NULL is allowed. */
void lc__batch_end(struct lc__batch *batch);

/** Prepare it for new content: release its pins, and keep its own memory.
 *  @return by how many bytes it shrinks */
uint64_t lc__batch_clear(struct lc__batch *batch);

/** Its size, with that of the memory that its pins keep. */
uint64_t lc__batch_bytes(const struct lc__batch *batch);

/** Set the fields and their names, which must outlive the batch. */
LC_CHECKED lc_status lc__batch_set_fields(struct lc__batch *batch,
    const char *const *names, size_t n);

/** Copy the names of the fields, so that the originals are no longer needed. */
LC_CHECKED lc_status lc__batch_own_names(struct lc__batch *batch,
    const char *const *names);

/** Set the cache_id of a row. */
LC_CHECKED lc_status lc__batch_set_id(struct lc__batch *batch, size_t row, lc_id id);

/** After the ids of the first @p filled rows were set: turn all offsets into pointers. */
void lc__batch_end_ids(struct lc__batch *batch, size_t filled);

/**
 * Set dtype and shape of a field, [@p first, rest...], and make room for it. The content
 * of the memory stays.
 * @param form   has the dtype and the rest of the shape, after its first @p skip axes
 * @param views  room for a pointer for each row instead of memory
 */
LC_CHECKED lc_status lc__batch_shape(struct lc__batch *batch, size_t field,
    const uint64_t *first, uint32_t n_first, const lc_tensor *form, uint32_t skip,
    bool views);

/** Make room for the offsets of a ragged field. */
LC_CHECKED lc_status lc__batch_offsets(struct lc__batch *batch, size_t field);

#endif
