/* SPDX-License-Identifier: BSD-2-Clause */
/* Cursors over shards: samples in the map. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "format/twh1_row.h"
#include "store/get.h"
#include "stream/cursor.h"
#include "stream/record_reader.h"
#include "stream/source_shards.h"
#include "value/tensor.h"
#include "warehouse/read.h"

/* Bytes of the field run_id. */
#define RUN_ROOM 256

/** Shards of a large set that are kept open, each once. */
struct taken {
	struct lc__wshard **item; /* malloc'ed */
	size_t n, room;
};

struct shards_cursor {
	struct lc__cursor base;
	struct lc__shards_source *s;
	struct lc__wshard *shard; /* the present one */
	struct taken taken;       /* what was read since begin() is in them */
	struct lc__chunk_row row; /* of it */
	struct lc__hints hints;
	uint32_t page_size;         /* of the system */
	uint64_t touched;           /* bytes of samples that were read */
	struct lc__block_list meta; /* fields from metadata rows */
};

/** Keeps the maps of the shards, and the fields that are stored elsewhere. */
struct shards_pin {
	struct lc__pin pin;
	lc_source *source; /* held */
	struct taken taken;
	struct lc__block_list meta;
};

static struct shards_cursor *
of(struct lc__cursor *cursor)
{
	return (struct shards_cursor *)cursor;
}

static const struct shards_cursor *
of_const(const struct lc__cursor *cursor)
{
	return (const struct shards_cursor *)cursor;
}

/* ---- shards that are kept open ------------------------------------------------------- */

/* Give back all but this one, which may be NULL. */
static void
give_but(struct lc__shardset *set, struct taken *taken, struct lc__wshard *but)
{
	size_t n = 0;

	for (size_t i = 0; i < taken->n; i++)
		if (taken->item[i] == but)
			taken->item[n++] = but;
		else
			lc__shardset_give(set, taken->item[i]);
	taken->n = n;
}

static void
give_all(struct lc__shardset *set, struct taken *taken)
{
	give_but(set, taken, NULL);
	free(taken->item);
	memset(taken, 0, sizeof(*taken));
}

/* A shard of a large set: one that is taken already, or a new one. */
static lc_status
take(struct shards_cursor *c, size_t i, struct lc__wshard **out)
{
	struct taken *taken = &c->taken;

	for (size_t k = taken->n; k > 0; k--)
		if (taken->item[k - 1]->number == i) {
			*out = taken->item[k - 1];
			return LC_OK;
		}
	return_if_error(
	    lc__array_reserve(&taken->item, &taken->room, taken->n + 1, "read"));
	return_if_error(lc__shardset_take(c->s->set, i, out));
	taken->item[taken->n++] = *out;
	return LC_OK;
}

/* ---- on a commit: the shards stay while the source is open ---------------------------- */

static lc_status
begin(struct lc__cursor *cursor)
{
	(void)cursor;
	return LC_OK;
}

static void
end(struct lc__cursor *cursor)
{
	struct shards_cursor *c = of(cursor);

	lc__block_list_drop(&c->meta);
	give_but(c->s->set, &c->taken, NULL);
	if (c->s->set->shards == NULL)
		c->shard = NULL;
}

static void
forget(struct lc__cursor *cursor)
{
	struct shards_cursor *c = of(cursor);

	lc__block_list_drop(&c->meta);
	give_but(c->s->set, &c->taken, c->shard);
}

static void
drop_pin(struct lc__pin *pin)
{
	struct shards_pin *p = (struct shards_pin *)pin;

	lc__block_list_free(&p->meta);
	give_all(lc__shards_source_of(p->source)->set, &p->taken);
	lc_source_close(p->source);
	free(p);
}

static lc_status
pin(struct lc__cursor *cursor, struct lc__pin **out)
{
	struct shards_cursor *c = of(cursor);
	struct shards_pin *p = malloc(sizeof(*p));

	if (p == NULL) {
		end(cursor);
		return lc__no_memory("read");
	}
	*p = (struct shards_pin){
		.pin = { drop_pin, sizeof(*p) + lc__block_list_bytes(&c->meta) },
		.source = lc__source_hold(cursor->source),
		.taken = c->taken,
		.meta = c->meta,
	};
	memset(&c->taken, 0, sizeof(c->taken));
	memset(&c->meta, 0, sizeof(c->meta));
	*out = &p->pin;
	return LC_OK;
}

static lc_status
go(struct lc__cursor *cursor, uint64_t position)
{
	struct shards_cursor *c = of(cursor);
	struct lc__shardset *set = c->s->set;

	return_if_error(lc__layout_row(cursor->layout, position, &c->row));
	if (set->shards != NULL)
		c->shard = &set->shards[c->row.id];
	else
		return_if_error(take(c, (size_t)c->row.id, &c->shard));
	cursor->hits++;
	return LC_OK;
}

/* ---- in the shard ------------------------------------------------------------------- */

static uint64_t
units(const struct lc__cursor *cursor, uint64_t record)
{
	const uint64_t length = of_const(cursor)->s->length;

	(void)record;
	return length ? length : 1;
}

static lc_status
find(struct lc__cursor *cursor, uint64_t unit, uint64_t *record, uint64_t *before)
{
	const uint64_t each = units(cursor, 0);

	if (unit >= of(cursor)->row.units)
		return lc__error(LC_NOT_FOUND, 0, "%s: has no unit %llu",
		    of(cursor)->shard->path, (unsigned long long)unit);
	*record = unit / each;
	*before = *record * each;
	return LC_OK;
}

static uint64_t
stored(const struct lc__cursor *cursor, uint64_t record)
{
	const struct lc__twh1_sizes *sizes = &of_const(cursor)->shard->twh1.sizes;

	(void)record;
	return sizes->image + sizes->boxes + sizes->mask;
}

static const unsigned char *
image_of(const struct shards_cursor *c, uint64_t record)
{
	const struct lc__twh1 *t = &c->shard->twh1;

	return t->file + t->info.image_offset + record * t->sizes.image;
}

static void
willneed(struct lc__cursor *cursor, uint64_t first, uint64_t n)
{
	struct shards_cursor *c = of(cursor);

	if (n > c->row.records - first)
		n = c->row.records - first;
	if (n > 0 &&
	    lc__hints_worth(&c->hints, image_of(c, first), n * stored(cursor, first),
		c->page_size))
		lc__ahead_ask(c->s->set, c->s->set->said.first[c->row.id] + first, n);
}

static const unsigned char *
address(const struct lc__cursor *cursor, uint64_t record)
{
	return image_of(of_const(cursor), record);
}

/* ---- samples -------------------------------------------------------------------------- */

/* Shards without boxes have only the first one. */
static const char *const names_of_fields[] = { "image", "boxes", "mask" };

static size_t
count_fields(const struct shards_cursor *c)
{
	return c->shard->twh1.info.max_boxes > 0 ? 3 : 1;
}

/* ---- fields from the metadata row --------------------------------------------------- */

static lc_status
no_field(const struct shards_cursor *c, uint64_t record, const char *field)
{
	return lc__error(LC_SCHEMA, 0, "%s: sample %llu has no %s", c->shard->path,
	    (unsigned long long)record, field);
}

/* A metadata row, and the memory of its tensors. */
struct meta {
	const lc_sample *sample;
	uint64_t record;
	lc_sample_origin origin;
	int64_t *class_ids; /* max_boxes of them */
};

static lc_status
take_numbers(struct shards_cursor *c, const int64_t *numbers, uint32_t ndim, uint64_t n,
    lc_tensor *out)
{
	struct lc__block *block = lc__block_list_new(&c->meta, n * sizeof(*numbers));

	if (block == NULL)
		return lc__no_memory("read");
	memcpy(block->data, numbers, n * sizeof(*numbers));
	return lc_tensor_init(out, LC_I64, ndim, &n, block->data);
}

static lc_status
take_run(struct shards_cursor *c, const struct meta *meta, lc_tensor *out)
{
	const uint64_t room = RUN_ROOM;
	const lc_id run = meta->origin.run_id;
	struct lc__block *block;

	if (run.size > RUN_ROOM)
		return lc__error(LC_SCHEMA, 0,
		    "%s: sample %llu: its run_id has %zu "
		    "bytes, and the field run_id %d at most",
		    c->shard->path, (unsigned long long)meta->record, run.size, RUN_ROOM);
	block = lc__block_list_new(&c->meta, RUN_ROOM);
	if (block == NULL)
		return lc__no_memory("read");
	memset(block->data, 0, RUN_ROOM);
	if (run.size > 0)
		memcpy(block->data, run.data, run.size);
	return lc_tensor_init(out, LC_U8, 1, &room, block->data);
}

/* A value that is missing in the row is -1, 0 or empty. The row is decoded for the first
 * field that needs it. */
static lc_status
take_row_field(struct shards_cursor *c, struct meta *meta, const char *field,
    lc_tensor *out)
{
	const lc_sample_origin *origin = &meta->origin;
	const uint64_t boxes = c->shard->twh1.info.max_boxes;

	if (meta->sample->meta.size == 0)
		return no_field(c, meta->record, field);
	if (meta->class_ids == NULL) {
		struct lc__block *block = lc__block_list_new(&c->meta,
		    (size_t)(boxes + 1) * sizeof(int64_t));
		bool has_total;

		if (block == NULL)
			return lc__no_memory("read");
		meta->class_ids = (int64_t *)(void *)block->data;
		for (uint32_t i = 0; i < boxes; i++)
			meta->class_ids[i] = -1;
		if (!lc__twh1_row_origin(meta->sample->meta, &meta->origin, &has_total,
			meta->class_ids, (uint32_t)boxes))
			return lc__wshard_bad_row(c->shard, meta->record);
	}
	if (strcmp(field, "class_ids") == 0 && boxes > 0)
		return lc_tensor_init(out, LC_I64, 1, &boxes, meta->class_ids);
	if (strcmp(field, "frame_id") == 0) {
		const int64_t id = origin->has_frame_id ? (int64_t)origin->frame_id : -1;

		return take_numbers(c, &id, 0, 1, out);
	}
	if (strcmp(field, "original_size") == 0) {
		const int64_t size[2] = { origin->original_width,
			origin->original_height };

		return take_numbers(c, size, 1, 2, out);
	}
	return strcmp(field, "run_id") == 0 ? take_run(c, meta, out)
					    : no_field(c, meta->record, field);
}

static lc_status
read_sample(struct lc__cursor *cursor, uint64_t record, const char *const *fields,
    size_t n, const struct lc__row_span *rows, struct lc__copier *copier,
    lc_tensor *tensors, lc_id *id)
{
	struct shards_cursor *c = of(cursor);
	const bool has_boxes = count_fields(c) > 1;
	lc_sample sample;
	struct meta meta = { .sample = &sample, .record = record };

	if (rows != NULL && rows->done > 0)
		return LC_OK;
	if (record >= c->row.records)
		return lc__error(LC_NOT_FOUND, 0, "%s: no sample %llu", c->shard->path,
		    (unsigned long long)record);
	return_if_error(lc__wshard_sample(c->shard, record, &c->s->set->cost, &sample));
	c->touched += stored(cursor, record);
	*id = sample.id;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(fields[i], "image") == 0 || strcmp(fields[i], ".") == 0) {
			tensors[i] = sample.image;
			/* Windows are cut from tensors of one axis. */
			if (c->s->length > 0) {
				tensors[i].ndim = 1;
				tensors[i].shape[0] = c->s->length;
			}
		} else if (has_boxes && strcmp(fields[i], "boxes") == 0) {
			tensors[i] = sample.boxes;
		} else if (has_boxes && strcmp(fields[i], "mask") == 0) {
			tensors[i] = sample.mask;
		} else {
			return_if_error(take_row_field(c, &meta, fields[i], &tensors[i]));
		}
	}
	return copier != NULL ? lc__copier_copy(copier, tensors, n) : LC_OK;
}

static void
drop_source(void *source)
{
	lc_source_close(source);
}

static void
drop_view(void *pin)
{
	drop_pin(pin);
}

/* A sample without boxes is a tensor, one with boxes a map; both point into the shard,
 * which is kept open. */
static lc_status
view(struct lc__cursor *cursor, uint64_t record, lc_view *out)
{
	struct shards_cursor *c = of(cursor);
	struct lc__pin *pinned;
	lc_sample sample;
	lc_value *value;
	lc_status status;

	status = lc__wshard_sample(c->shard, record, &c->s->set->cost, &sample);
	if (status != LC_OK) {
		end(cursor);
		return status;
	}
	if (count_fields(c) == 1) {
		value = lc_value_tensor(&sample.image);
	} else {
		value = lc_value_map();
		lc_value_set(value, "image", lc_value_tensor(&sample.image));
		lc_value_set(value, "boxes", lc_value_tensor(&sample.boxes));
		lc_value_set(value, "mask", lc_value_tensor(&sample.mask));
	}
	if (c->s->set->shards != NULL)
		return lc__view_value(value, drop_source, lc__source_hold(cursor->source),
		    out);
	status = pin(cursor, &pinned);
	if (status == LC_OK)
		return lc__view_value(value, drop_view, pinned, out);
	lc_value_free(value);
	return status;
}

static uint64_t
touched(const struct lc__cursor *cursor)
{
	return of_const(cursor)->touched;
}

/* A sample is verified as a whole. */
static lc_status
extents(struct lc__cursor *cursor, uint64_t record, const char *const *fields, size_t n,
    const struct lc__row_span *rows, struct lc__extents *out)
{
	const struct shards_cursor *c = of(cursor);
	const struct lc__twh1 *t = &c->shard->twh1;

	(void)fields;
	(void)n;
	if (rows != NULL && rows->done > 0)
		return LC_OK;
	return_if_error(lc__extents_add(out, image_of(c, record), t->sizes.image));
	return_if_error(lc__extents_add(out,
	    t->file + t->info.boxes_offset + record * t->sizes.boxes, t->sizes.boxes));
	return lc__extents_add(out,
	    t->file + t->info.mask_offset + record * t->sizes.mask, t->sizes.mask);
}

static lc_status
fields_of(struct lc__cursor *cursor, uint64_t record, char ***names, size_t *n)
{
	(void)record;
	return lc__field_names_copy(names_of_fields, count_fields(of(cursor)), names, n);
}

/* In the sample's metadata row. */
static lc_status
name_of(struct lc__cursor *cursor, uint64_t record, lc_id *id, lc_id *run)
{
	const struct shards_cursor *c = of(cursor);
	const struct lc__twh1 *t = &c->shard->twh1;
	struct lc__twh1_row row = { .ndim = 0 };
	lc_sample_origin origin;
	lc_sample sample;
	bool has_total;
	lc_id bytes;

	*id = *run = (lc_id){ NULL, 0 };
	if (record >= c->row.records)
		return lc__error(LC_NOT_FOUND, 0, "%s: no sample %llu", c->shard->path,
		    (unsigned long long)record);
	if (t->rows == NULL)
		return LC_OK;
	/* Its bytes may not have been read yet. */
	if (c->shard->ranged)
		return_if_error(
		    lc__wshard_sample(c->shard, record, &c->s->set->cost, &sample));
	if (!lc__twh1_row_at(t, record, &bytes) || !lc__twh1_row_decode(bytes, &row) ||
	    !lc__twh1_row_origin(bytes, &origin, &has_total, NULL, 0))
		return lc__wshard_bad_row(c->shard, record);
	*id = row.cache_id;
	*run = origin.run_id;
	return LC_OK;
}

static void
free_cursor(struct lc__cursor *cursor)
{
	struct shards_cursor *c = of(cursor);

	lc__block_list_free(&c->meta);
	give_all(c->s->set, &c->taken);
	free(c);
}

static const struct lc__cursor_kind shards_cursor_kind = {
	.begin = begin,
	.end = end,
	.pin = pin,
	.go = go,
	.find = find,
	.units = units,
	.willneed = willneed,
	.address = address,
	.stored = stored,
	.read = read_sample,
	.fields = fields_of,
	.view = view,
	.forget = forget,
	.free = free_cursor,
	.name = name_of,
	.touched = touched,
	.extents = extents,
};

lc_status
lc__shards_cursor_new(lc_source *source, struct lc__cursor **out)
{
	struct shards_cursor *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return lc__no_memory("read");
	c->base.kind = &shards_cursor_kind;
	c->s = lc__shards_source_of(source);
	c->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	*out = &c->base;
	return LC_OK;
}
