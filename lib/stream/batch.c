/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/batch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/populate.h"

#define ALIGN 64u

/* ---- arrays with an element for each row ----------------------------------------- */

#define ROW_BYTES (sizeof(lc_id) + 3 * sizeof(uint64_t) + sizeof(uint32_t) + 1)

/* The arrays in one block, those with the widest elements first, so that all are aligned.
 * With a window, documents and positions too. */
static lc_status
make_rows(struct lc__batch *batch, size_t rows, uint64_t window)
{
	unsigned char *at;
	uint64_t bytes;

	if (rows > SIZE_MAX / 2 / ROW_BYTES)
		return lc__no_memory("reader");
	at = malloc(rows * ROW_BYTES + 1);
	if (at == NULL)
		return lc__no_memory("reader");
	batch->rows = rows;
	batch->ids = (lc_id *)(void *)at;
	at += rows * sizeof(lc_id);
	batch->examples = (uint64_t *)(void *)at;
	batch->epochs = batch->examples + rows;
	batch->lengths = batch->epochs + rows;
	batch->sources = (uint32_t *)(void *)(batch->lengths + rows);
	batch->mask = (uint8_t *)(void *)(batch->sources + rows);
	if (window == 0)
		return LC_OK;

	if (!lc__mul64(rows, window, &bytes) ||
	    !lc__mul64(bytes, sizeof(uint32_t), &bytes) || bytes > SIZE_MAX / 2)
		return lc__no_memory("reader");
	batch->documents = malloc((size_t)bytes + 1);
	batch->positions = malloc((size_t)bytes + 1);
	if (batch->documents == NULL || batch->positions == NULL)
		return lc__no_memory("reader");
	batch->window = window;
	return LC_OK;
}

/* ---- creating and freeing -------------------------------------------------------- */

static void *
heap_alloc(void *ctx, size_t size)
{
	void *memory;

	(void)ctx;
	/* A page fault for each small page of a large array costs more than the copy into
	 * it. */
	if (size < 2 * LC__HUGE_PAGE)
		return aligned_alloc(ALIGN, size);
	/* Unlike aligned_alloc() it accepts sizes that are not a multiple of the
	 * alignment. */
	if (posix_memalign(&memory, LC__HUGE_PAGE, size) != 0)
		return NULL;
	(void)madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}

static void
heap_free(void *ctx, void *memory, size_t size)
{
	(void)ctx;
	(void)size;
	free(memory);
}

lc_status
lc__batch_make(size_t rows, uint64_t window, uint32_t sources,
    const struct lc__batch_memory *memory, struct lc__batch **out)
{
	static const struct lc__batch_memory heap = { heap_alloc, heap_free, NULL };
	struct lc__batch *batch = calloc(1, sizeof(*batch));
	lc_status status;

	if (batch == NULL)
		return lc__no_memory("reader");
	batch->memory = memory->alloc != NULL ? *memory : heap;
	status = make_rows(batch, rows, window);
	if (status == LC_OK) {
		batch->pins = calloc(sources, sizeof(*batch->pins));
		if (batch->pins == NULL)
			status = lc__no_memory("reader");
	}
	if (status != LC_OK) {
		lc__batch_end(batch);
		return status;
	}
	batch->n_pins = sources;
	*out = batch;
	return LC_OK;
}

static void
free_data(struct lc__batch *batch, struct lc__batch_room *room)
{
	if (room->data != NULL)
		batch->memory.free(batch->memory.ctx, room->data, room->room);
	room->data = NULL;
	room->room = 0;
}

uint64_t
lc__batch_clear(struct lc__batch *batch)
{
	const uint64_t before = lc__batch_bytes(batch);

	for (uint32_t i = 0; i < batch->n_pins; i++) {
		lc__pin_drop(batch->pins[i]);
		batch->pins[i] = NULL;
	}
	if (batch->id_bytes.failed)
		lc__buf_free(&batch->id_bytes);
	batch->id_bytes.size = 0;
	return before - lc__batch_bytes(batch);
}

void
lc__batch_end(struct lc__batch *batch)
{
	if (batch == NULL)
		return;
	lc__batch_clear(batch);
	for (size_t i = 0; i < batch->n_fields; i++) {
		free_data(batch, &batch->rooms[i]);
		free(batch->rooms[i].offsets);
		free(batch->rooms[i].rows);
	}
	lc__field_names_free(batch->names, batch->n_fields);
	free(batch->rooms);
	free(batch->fields);
	free(batch->pins);
	free(batch->documents);
	free(batch->positions);
	lc__buf_free(&batch->id_bytes);
	free(batch->ids);
	free(batch);
}

uint64_t
lc__batch_bytes(const struct lc__batch *batch)
{
	uint64_t bytes = sizeof(*batch) + batch->rows * ROW_BYTES + batch->id_bytes.room;

	bytes += 2 * batch->rows * batch->window * sizeof(uint32_t);
	for (uint32_t i = 0; i < batch->n_pins; i++)
		bytes += lc__pin_bytes(batch->pins[i]);
	for (size_t i = 0; i < batch->n_fields; i++) {
		const struct lc__batch_room *room = &batch->rooms[i];

		bytes += room->room + sizeof(*room) + sizeof(lc_batch_field);
		if (room->offsets != NULL)
			bytes += (batch->rows + 1) * sizeof(*room->offsets);
		if (room->rows != NULL)
			bytes += batch->rows * sizeof(*room->rows);
	}
	return bytes;
}

/* ---- ids --------------------------------------------------------------------------- */

lc_status
lc__batch_set_id(struct lc__batch *batch, size_t row, lc_id id)
{
	batch->ids[row].data = (const void *)(uintptr_t)batch->id_bytes.size;
	batch->ids[row].size = id.size;
	if (id.size > 0)
		lc__buf_append(&batch->id_bytes, id.data, id.size);
	return batch->id_bytes.failed ? lc__no_memory("reader") : LC_OK;
}

void
lc__batch_end_ids(struct lc__batch *batch, size_t filled)
{
	for (size_t row = 0; row < batch->rows; row++) {
		lc_id *id = &batch->ids[row];

		if (row >= filled || id->size == 0)
			*id = (lc_id){ NULL, 0 };
		else
			id->data = batch->id_bytes.data + (uintptr_t)id->data;
	}
}

/* ---- fields -------------------------------------------------------------------------- */

/* Both arrays are allocated or none: after a failure the batch may be reused. */
lc_status
lc__batch_set_fields(struct lc__batch *batch, const char *const *names, size_t n)
{
	if (batch->fields == NULL) {
		lc_batch_field *fields = calloc(n + 1, sizeof(*fields));
		struct lc__batch_room *rooms = calloc(n + 1, sizeof(*rooms));

		if (fields == NULL || rooms == NULL) {
			free(fields);
			free(rooms);
			return lc__no_memory("reader");
		}
		batch->fields = fields;
		batch->rooms = rooms;
		batch->n_fields = n;
	}
	for (size_t i = 0; i < n; i++) {
		memset(&batch->fields[i], 0, sizeof(batch->fields[i]));
		batch->fields[i].name = names[i];
	}
	return LC_OK;
}

lc_status
lc__batch_own_names(struct lc__batch *batch, const char *const *names)
{
	size_t n;

	return_if_error(lc__field_names_copy(names, batch->n_fields, &batch->names, &n));
	for (size_t i = 0; i < n; i++)
		batch->fields[i].name = batch->names[i];
	return LC_OK;
}

static lc_status
need_data(struct lc__batch *batch, struct lc__batch_room *room, uint64_t bytes)
{
	size_t size;

	if (room->data != NULL && room->room >= bytes)
		return LC_OK;
	if (bytes > SIZE_MAX / 2)
		return lc__no_memory("reader");
	free_data(batch, room);
	size = (size_t)lc__round_up(bytes > 0 ? bytes : 1, ALIGN);
	room->data = batch->memory.alloc(batch->memory.ctx, size);
	if (room->data == NULL)
		return lc__no_memory("reader");
	room->room = size;
	if ((uintptr_t)room->data % ALIGN == 0)
		return LC_OK;
	free_data(batch, room);
	return lc__error(LC_INVALID, 0,
	    "reader: the function alloc returned memory that is not aligned to %u bytes",
	    ALIGN);
}

lc_status
lc__batch_shape(struct lc__batch *batch, size_t i, const uint64_t *first,
    uint32_t n_first, const lc_tensor *form, uint32_t skip, bool views)
{
	struct lc__batch_room *room = &batch->rooms[i];
	lc_batch_field *field = &batch->fields[i];
	uint64_t bytes = lc_dtype_size(form->dtype);
	bool empty = false, fits = true;

	if (n_first + form->ndim - skip > LC_MAX_NDIM + 1)
		return lc__error(LC_SCHEMA, 0,
		    "reader: field '%s': windows of records with %u axes have too many",
		    field->name, form->ndim);
	field->dtype = form->dtype;
	field->ndim = n_first + form->ndim - skip;
	memcpy(field->shape, first, n_first * sizeof(*first));
	memcpy(field->shape + n_first, form->shape + skip,
	    (form->ndim - skip) * sizeof(*form->shape));
	/* An axis of 0 makes it empty, even if the product of the other axes
	 * overflows. */
	for (uint32_t axis = 0; axis < field->ndim; axis++) {
		empty = empty || field->shape[axis] == 0;
		fits = fits && lc__mul64(bytes, field->shape[axis], &bytes);
	}
	if (!empty && !fits)
		return lc__no_memory("reader");
	field->nbytes = empty ? 0 : bytes;
	field->offsets = NULL;
	field->data = NULL;
	field->rows = NULL;
	if (!views) {
		return_if_error(need_data(batch, room, field->nbytes));
		field->data = room->data;
		return LC_OK;
	}
	if (room->rows == NULL)
		room->rows = malloc((batch->rows + 1) * sizeof(*room->rows));
	if (room->rows == NULL)
		return lc__no_memory("reader");
	field->rows = room->rows;
	return LC_OK;
}

lc_status
lc__batch_offsets(struct lc__batch *batch, size_t i)
{
	struct lc__batch_room *room = &batch->rooms[i];

	if (room->offsets == NULL)
		room->offsets = malloc((batch->rows + 1) * sizeof(*room->offsets));
	if (room->offsets == NULL)
		return lc__no_memory("reader");
	batch->fields[i].offsets = room->offsets;
	return LC_OK;
}
