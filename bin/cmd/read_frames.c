/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches as frames on standard output; cachex-read(1) has the bytes: a prefix, a
 * MessagePack map, and the arrays that it describes.
 */
#include <stdio.h>

#include "base/bytes.h"
#include "base/mpack.h"
#include "cmd/read.h"
#include "ui/report.h"

#define MAGIC "CXF1"
#define ALIGN 64

/* An array of the payload. */
struct array {
	const char *name;
	const char *dtype;
	const uint64_t *shape;
	uint32_t ndim;
	const void *data;
	uint64_t nbytes;
	bool shared; /* the data is in the shared memory, not in the payload */
};

/* A frame while it is built: the arrays of its map, and its payload so far. */
struct frame {
	struct lc__buf map;
	struct lc__buf id_bytes; /* strings of all rows, one after another */
	/* For each row, a u64: where its string ends in `bytes`. */
	struct lc__buf id_ends;
	uint64_t at;                /* size of the payload that the map describes */
	struct read_shared *memory; /* bytes of the arrays in shared memory */
};

/* ---- the map ---------------------------------------------------------------------- */

static void
tell(struct frame *frame, const struct array *array)
{
	struct lc__buf *map = &frame->map;

	lc__mpack_map(map, array->shared ? 6 : 5);
	lc__mpack_str(map, "name");
	lc__mpack_str(map, array->name);
	lc__mpack_str(map, "dtype");
	lc__mpack_str(map, array->dtype);
	lc__mpack_str(map, "shape");
	lc__mpack_array(map, array->ndim);
	for (uint32_t i = 0; i < array->ndim; i++)
		lc__mpack_uint(map, array->shape[i]);
	lc__mpack_str(map, "offset");
	lc__mpack_uint(map,
	    array->shared ? read_shared_offset(frame->memory, array->data) : frame->at);
	lc__mpack_str(map, "nbytes");
	lc__mpack_uint(map, array->nbytes);
	if (array->shared) {
		lc__mpack_str(map, "shared");
		lc__mpack_boolean(map, true);
	} else {
		frame->at = lc__round_up(frame->at + array->nbytes, ALIGN);
	}
}

static void
put(struct frame *frame, const struct array *array)
{
	static const char zeros[ALIGN];

	(void)frame;
	if (array->shared)
		return;
	fwrite(array->data, 1, array->nbytes, stdout);
	fwrite(zeros, 1, lc__round_up(array->nbytes, ALIGN) - array->nbytes, stdout);
}

/* ---- the arrays of a batch ---------------------------------------------------------- */

static uint32_t
count_row_arrays(const lc_batch *batch)
{
	return batch->documents != NULL ? 9 : 7;
}

/* Add the arrays with data about each row of the batch. */
static void
each_row_array(struct frame *frame, const lc_batch *batch, uint64_t window,
    void (*use)(struct frame *frame, const struct array *array))
{
	const uint64_t shape[2] = { batch->rows, window };
	const uint64_t n = batch->rows, id_bytes = frame->id_bytes.size;
	const struct array arrays[] = {
		{ "mask", "u8", shape, 1, batch->mask, n, false },
		{ "examples", "u64", shape, 1, batch->examples, 8 * n, false },
		{ "epochs", "u64", shape, 1, batch->epochs, 8 * n, false },
		{ "sources", "u32", shape, 1, batch->sources, 4 * n, false },
		{ "lengths", "u64", shape, 1, batch->lengths, 8 * n, false },
		{ "id_bytes", "u8", &id_bytes, 1, frame->id_bytes.data, id_bytes, false },
		{ "id_ends", "u64", shape, 1, frame->id_ends.data, 8 * n, false },
		{ "documents", "u32", shape, 2, batch->documents, 4 * n * window, false },
		{ "positions", "u32", shape, 2, batch->positions, 4 * n * window, false },
	};

	for (size_t i = 0; i < count_row_arrays(batch); i++)
		use(frame, &arrays[i]);
}

static void
each_field(struct frame *frame, const lc_batch *batch,
    void (*use)(struct frame *frame, const struct array *array))
{
	for (size_t i = 0; i < batch->n_fields; i++) {
		const lc_batch_field *field = &batch->fields[i];
		const struct array array = { field->name, lc_dtype_name(field->dtype),
			field->shape, field->ndim, field->data, field->nbytes,
			frame->memory != NULL };
		use(frame, &array);
	}
}

/* Add where the rows of ragged fields begin, by the name of the field. */
static void
each_offsets(struct frame *frame, const lc_batch *batch,
    void (*use)(struct frame *frame, const struct array *array))
{
	const uint64_t n = batch->rows + 1;

	for (size_t i = 0; i < batch->n_fields; i++) {
		const lc_batch_field *field = &batch->fields[i];
		const struct array array = { field->name, "u64", &n, 1, field->offsets,
			8 * n, false };
		if (field->offsets != NULL)
			use(frame, &array);
	}
}

static uint32_t
count_ragged(const lc_batch *batch)
{
	uint32_t n = 0;

	for (size_t i = 0; i < batch->n_fields; i++)
		n += batch->fields[i].offsets != NULL;
	return n;
}

/* ---- frames ------------------------------------------------------------------------- */

/* Two arrays are faster to read than a list of byte strings, which must be taken apart
 * one by one. */
static void
gather_ids(struct frame *frame, const lc_batch *batch)
{
	for (size_t row = 0; row < batch->rows; row++) {
		const lc_id *id = &batch->ids[row];
		uint64_t end;

		if (id->size > 0)
			lc__buf_append(&frame->id_bytes, id->data, id->size);
		end = frame->id_bytes.size;
		lc__buf_append(&frame->id_ends, &end, sizeof(end));
	}
}

static void
tell_number(struct lc__buf *map, const char *key, uint64_t number)
{
	lc__mpack_str(map, key);
	lc__mpack_uint(map, number);
}

static void
tell_batch(struct frame *frame, const lc_batch *batch, const void *token, uint64_t window)
{
	struct lc__buf *map = &frame->map;

	lc__mpack_map(map, 8);
	tell_number(map, "batch", batch->number);
	tell_number(map, "first", batch->first);
	tell_number(map, "rows", batch->rows);
	tell_number(map, "filled", batch->filled);
	lc__mpack_str(map, "token");
	lc__mpack_bin(map, token, LC_TOKEN_SIZE);
	lc__mpack_str(map, "index");
	lc__mpack_array(map, count_row_arrays(batch));
	each_row_array(frame, batch, window, tell);
	lc__mpack_str(map, "fields");
	lc__mpack_array(map, (uint32_t)batch->n_fields);
	each_field(frame, batch, tell);
	lc__mpack_str(map, "offsets");
	lc__mpack_array(map, count_ragged(batch));
	each_offsets(frame, batch, tell);
}

/* Write the prefix and the map; the payload follows. */
static int
put_map(const struct frame *frame)
{
	unsigned char prefix[16] = MAGIC;

	if (frame->map.failed || frame->id_bytes.failed || frame->id_ends.failed)
		return report_no_memory();
	lc__set32(prefix + 4, (uint32_t)frame->map.size);
	lc__set64(prefix + 8, frame->at);
	fwrite(prefix, 1, sizeof(prefix), stdout);
	fwrite(frame->map.data, 1, frame->map.size, stdout);
	return EXIT_DONE;
}

int
read_frames(struct read_output *out, const lc_batch *batch)
{
	const uint64_t window = out->windows ? out->window : 0;
	unsigned char token[LC_TOKEN_SIZE];
	struct frame frame = { .memory = out->shared };
	const lc_status got = lc_stream_token(out->stream, batch->number + 1, token);
	int status;

	if (got != LC_OK)
		return report_status(got);
	gather_ids(&frame, batch);
	tell_batch(&frame, batch, token, window);
	status = put_map(&frame);
	if (status == EXIT_DONE) {
		each_row_array(&frame, batch, window, put);
		each_field(&frame, batch, put);
		each_offsets(&frame, batch, put);
	}
	lc__buf_free(&frame.map);
	lc__buf_free(&frame.id_bytes);
	lc__buf_free(&frame.id_ends);
	return status;
}

int
read_frames_end(void)
{
	struct frame frame = { 0 };
	int status;

	lc__mpack_map(&frame.map, 1);
	lc__mpack_str(&frame.map, "end");
	lc__mpack_boolean(&frame.map, true);
	status = put_map(&frame);
	lc__buf_free(&frame.map);
	return status;
}
