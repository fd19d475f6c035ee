/* SPDX-License-Identifier: BSD-2-Clause */
/* An export into a format of another system. */
#include "cmd/export.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "formats/outfile.h"
#include "formats/formats.h"
#include "lmdbcache.h"
#include "stream/join_records.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

/* ---- records of several modules put together ---------------------------------------- */

struct export_join {
	const struct stream_source *opened;
	struct lc__join_records *records; /* of the partners */
	bool drop;                        /* leave out records that lack a partner */
	char *text;                       /* the names, cut apart */
	const char **names;               /* of the modules */
};

int
export_join_new(const struct stream_source *source, lc_missing missing,
    struct export_join **out)
{
	const size_t n = source->n_partners;
	struct export_join *join = calloc(1, sizeof(*join));
	char *rest;

	if (join != NULL) {
		join->opened = source;
		join->drop = missing == LC_MISSING_DROP;
		join->text = rest = strdup(source->name);
		join->names = calloc(n + 1, sizeof(*join->names));
	}
	if (join == NULL || join->text == NULL || join->names == NULL ||
	    lc__join_records_new(source->source, source->partners, n, &join->records) !=
		LC_OK) {
		export_join_free(join);
		return report_no_memory();
	}
	for (size_t i = 0; i <= n; i++)
		join->names[i] = strsep(&rest, "+");
	*out = join;
	return EXIT_DONE;
}

void
export_join_free(struct export_join *join)
{
	if (join == NULL)
		return;
	lc__join_records_free(join->records);
	free(join->names);
	free(join->text);
	free(join);
}

/* Data for tensors of which only the type is known; it is never read, but a value needs a
 * pointer. */
static unsigned char untouched[64];

/* A value of a tensor, also of one without data; NULL without memory. */
static lc_value *
tensor_value(const lc_tensor *given)
{
	lc_tensor tensor = *given;

	if (tensor.data == NULL)
		tensor.data = untouched;
	return lc_value_tensor(&tensor);
}

/* Copy the nodes, because a node has only one parent; tensors are not copied. NULL
 * without memory; lc_value_check() reports failures further down. */
static lc_value *
reference(const lc_value *value)
{
	lc_value *out = NULL;
	const void *data;
	const char *text;
	lc_tensor tensor;
	uint64_t number;
	int64_t integer;
	double real;
	size_t size;
	int truth;

	switch (lc_value_kind(value)) {
	case LC_TENSOR:
		return lc_value_as_tensor(value, &tensor) == LC_OK ? tensor_value(&tensor)
								   : NULL;
	case LC_NIL: return lc_value_nil();
	case LC_BOOLEAN:
		return lc_value_as_boolean(value, &truth) == LC_OK
		    ? lc_value_boolean(truth)
		    : NULL;
	case LC_INTEGER:
		if (lc_value_as_integer(value, &integer) == LC_OK)
			return lc_value_integer(integer);
		return lc_value_as_unsigned(value, &number) == LC_OK
		    ? lc_value_unsigned(number)
		    : NULL;
	case LC_FLOAT:
		return lc_value_as_float(value, &real) == LC_OK ? lc_value_float(real)
								: NULL;
	case LC_STRING:
		return lc_value_as_str(value, &text, &size) == LC_OK
		    ? lc_value_strn(text, size)
		    : NULL;
	case LC_BYTES:
		return lc_value_as_bytes(value, &data, &size) == LC_OK
		    ? lc_value_bytes(data, size)
		    : NULL;
	case LC_MAP: out = lc_value_map(); break;
	case LC_LIST: out = lc_value_list(); break;
	case LC_TUPLE: out = lc_value_tuple(); break;
	case LC_TAGGED:
		return lc_value_tagged(lc_value_name(value, 0),
		    reference(lc_value_at(value, 0)));
	case LC_PAIRS:
		out = lc_value_pairs();
		for (size_t i = 0; out != NULL && i < lc_value_count(value); i += 2)
			lc_value_pair(out, reference(lc_value_at(value, i)),
			    reference(lc_value_at(value, i + 1)));
		return out;
	}
	for (size_t i = 0; out != NULL && i < lc_value_count(value); i++) {
		lc_value *child = reference(lc_value_at(value, i));

		if (lc_value_kind(value) == LC_MAP)
			lc_value_set(out, lc_value_name(value, i), child);
		else
			lc_value_append(out, child);
	}
	return out;
}

/*
 * A map with the first module's record, @p first, and the partners' records of this
 * cache_id, each under the name of its module. Tensors stay where they are, in memory
 * of @p first and of the modules, until the next call.
 * @param listed  tensors have no data
 * @param out     gets NULL if a partner is missing and that was asked to be left out;
 *                else a value of the caller's
 * @return LC_OK; LC_CHANGED if one is missing that was there; LC_CORRUPT, LC_NO_MEMORY.
 */
static lc_status
join_record(struct export_join *join, lc_id id, const lc_value *first, bool listed,
    lc_value **out)
{
	lc_value *map = lc_value_map();
	lc_status status = LC_OK;

	lc__join_records_end(join->records);
	lc_value_set(map, join->names[0], reference(first));
	for (size_t i = 0; i < join->opened->n_partners && status == LC_OK; i++) {
		const lc_value *value;

		status = lc__join_records_read(join->records, i, id, listed, &value);
		if (status == LC_OK)
			lc_value_set(map, join->names[i + 1], reference(value));
	}
	if (status == LC_OK)
		status = lc_value_check(map);
	if (status == LC_OK) {
		*out = map;
		return LC_OK;
	}
	lc_value_free(map);
	if (status != LC_NOT_FOUND)
		return status;
	*out = NULL;
	return join->drop
	    ? LC_OK
	    : lc__error(LC_CHANGED, 0, "%s: %s was added while the modules were joined",
		  join->opened->name, lc__quote_id(id.data, id.size));
}

struct bucket_of_record {
	lc_iter *iter;          /* at the record */
	const lc_value *record; /* of a join; NULL: the iterator has it */
	const char *field;      /* the part that names the bucket; or NULL */
	uint64_t scale; /* pixels for each element of a side: the sides tell; 0 for what
	                      the record says, and else 1 */
	char name[64];  /* of the directory */
};

/* ---- the directory of a record's bucket -------------------------------------------- */

/* The first tensor, in depth, that has two axes. */
static bool
find_sides(const lc_value *value, uint64_t *height, uint64_t *width)
{
	lc_tensor tensor;

	if (lc_value_as_tensor(value, &tensor) == LC_OK && tensor.ndim >= 2) {
		*height = tensor.shape[tensor.ndim - 2];
		*width = tensor.shape[tensor.ndim - 1];
		return true;
	}
	for (size_t i = 0; i < lc_value_count(value); i++)
		if (find_sides(lc_value_at(value, i), height, width))
			return true;
	return false;
}

static lc_status
name_nearest(struct bucket_of_record *bucket, lc_id id, uint64_t width, uint64_t height,
    uint64_t scale)
{
	const lc_bucket *buckets;
	size_t n, i;

	if (height == 0 || width == 0 || height > UINT32_MAX / scale ||
	    width > UINT32_MAX / scale)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: no bucket for dimensions %llu and %llu",
		    lc__quote_id(id.data, id.size), (unsigned long long)height,
		    (unsigned long long)width);
	buckets = lc_buckets_default(&n);
	i = lc_bucket_nearest(buckets, n, (uint32_t)(width * scale),
	    (uint32_t)(height * scale));
	snprintf(bucket->name, sizeof(bucket->name), "bucket_%ux%u", buckets[i].width,
	    buckets[i].height);
	return LC_OK;
}

/* WIDTHxHEIGHT and nothing else, because it becomes the name of a directory. */
static bool
is_size(const char *text, size_t size)
{
	const size_t width = strspn(text, "0123456789");
	size_t height;

	if (width == 0 || width > 9 || text[width] != 'x')
		return false;
	height = strspn(text + width + 1, "0123456789");
	return height > 0 && height <= 9 && width + 1 + height == size;
}

/* A part of the whole record, LC_NOT_FOUND without one. */
static lc_status
find_record(const struct bucket_of_record *bucket, const char *path, const lc_value **out)
{
	if (bucket->record == NULL)
		return lc_iter_value(bucket->iter, path, out);
	*out = path == NULL ? bucket->record : lc_value_find(bucket->record, path);
	return *out != NULL ? LC_OK : LC_NOT_FOUND;
}

static lc_status
name_by_text(struct bucket_of_record *bucket, lc_id id, const lc_value *part,
    const char *what)
{
	const char *text;
	size_t size;

	if (lc_value_as_str(part, &text, &size) != LC_OK || !is_size(text, size))
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: %s is not the size of a bucket, such as \"1024x1024\"",
		    lc__quote_id(id.data, id.size), what);
	snprintf(bucket->name, sizeof(bucket->name), "bucket_%s", text);
	return LC_OK;
}

static const lc_value *
member(const lc_value *map, const char *name)
{
	for (size_t i = 0; lc_value_kind(map) == LC_MAP && i < lc_value_count(map); i++)
		if (strcmp(lc_value_name(map, i), name) == 0)
			return lc_value_at(map, i);
	return NULL;
}

static bool
find_pixels(const lc_value *map, uint64_t *width, uint64_t *height)
{
	const lc_value *w = member(map, "width"), *h = member(map, "height");

	return w != NULL && h != NULL && lc_value_as_unsigned(w, width) == LC_OK &&
	    lc_value_as_unsigned(h, height) == LC_OK;
}

/* The size that a record itself states, or in a join the record of one of the modules. */
static lc_status
name_by_record(struct bucket_of_record *bucket, lc_id id, bool *named)
{
	const lc_value *record = NULL, *part;
	uint64_t width, height;
	lc_status status;

	*named = false;
	status = find_record(bucket, NULL, &record);
	if (status != LC_OK || lc_value_kind(record) != LC_MAP)
		return status;
	*named = true;
	part = member(record, "aspect_bucket");
	for (size_t i = 0;
	     bucket->record != NULL && part == NULL && i < lc_value_count(record); i++)
		part = member(lc_value_at(record, i), "aspect_bucket");
	if (part != NULL)
		return name_by_text(bucket, id, part, "aspect_bucket");
	if (find_pixels(record, &width, &height))
		return name_nearest(bucket, id, width, height, 1);
	for (size_t i = 0; bucket->record != NULL && i < lc_value_count(record); i++)
		if (find_pixels(lc_value_at(record, i), &width, &height))
			return name_nearest(bucket, id, width, height, 1);
	*named = false;
	return LC_OK;
}

/* lc__outgoing_how.group, with a struct export_bucket. */
static lc_status
name_bucket(void *bucket_, lc_id id, const lc_value *value, const char **out)
{
	struct bucket_of_record *bucket = bucket_;
	const lc_value *part = NULL;
	uint64_t height, width;
	bool named = bucket->field != NULL;
	lc_status status = LC_OK;

	if (named) {
		status = find_record(bucket, bucket->field, &part);
		if (status == LC_OK || status == LC_NOT_FOUND)
			status = name_by_text(bucket, id, part, bucket->field);
	} else if (bucket->scale == 0) {
		status = name_by_record(bucket, id, &named);
	}
	if (status == LC_OK && !named)
		status = find_sides(value, &height, &width)
		    ? name_nearest(bucket, id, width, height,
			  bucket->scale > 0 ? bucket->scale : 1)
		    : lc__error(LC_UNSUPPORTED, 0,
			  "%s has no tensor with two dimensions, so no bucket",
			  lc__quote_id(id.data, id.size));
	if (status == LC_OK)
		*out = bucket->name;
	return status;
}

/* ---- the export -------------------------------------------------------------------- */

/* The records that a walk visited. */
struct walked {
	uint64_t records;
	uint64_t hash; /* of their cache_ids, in order */
};

struct exporting {
	const struct export_choice *choice;
	lc_cache *cache;
	void *file; /* that records are put into */
	struct bucket_of_record bucket;
	uint64_t total;      /* bytes of all records, as they are stored */
	struct walked first; /* by the walk that plans */
	struct walked last;  /* by the one that writes */
};

typedef lc_status (*put_fn)(void *file, lc_id id, const lc_value *value);

/* The part of a record that is exported; a tensor that is read already is not
 * verified a second time: *own is a value around it, to be freed. */
static lc_status
find_part(const struct exporting *exporting, lc_iter *iter, const lc_item *item,
    lc_value **own, const lc_value **out)
{
	const char *field = exporting->choice->field;
	lc_status status;

	if (field == NULL && item->kind == LC_TENSOR) {
		*out = *own = tensor_value(&item->tensor);
		return *own ? LC_OK : lc__no_memory(NULL);
	}
	status = lc_iter_value(iter, field, out);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_UNSUPPORTED, 0, "%s has no part %s",
		    lc__quote_id(item->id.data, item->id.size), field);
	return status;
}

/* Of a join: the record with its partners, or the part of it. *out stays NULL for a
 * record that is left out. */
static lc_status
find_joined(struct exporting *exporting, lc_iter *iter, const lc_item *item, bool listed,
    lc_value **own, const lc_value **out)
{
	const char *field = exporting->choice->field;
	lc_value *alone = NULL;
	const lc_value *first;
	lc_status status = LC_OK;

	*own = NULL;
	if (item->kind == LC_TENSOR)
		first = alone = tensor_value(&item->tensor);
	else
		status = lc_iter_value(iter, NULL, &first);
	if (status == LC_OK)
		status = join_record(exporting->choice->join, item->id, first, listed,
		    own);
	lc_value_free(alone);
	exporting->bucket.record = *own;
	*out = field == NULL || *own == NULL ? *own : lc_value_find(*own, field);
	if (status == LC_OK && *own != NULL && *out == NULL)
		return lc__error(LC_UNSUPPORTED, 0, "%s has no part %s",
		    lc__quote_id(item->id.data, item->id.size), field);
	return status;
}

static lc_status
walk(struct exporting *exporting, unsigned flags, put_fn put, struct walked *walked)
{
	uint64_t done = 0;
	lc_status status;
	lc_iter *iter;
	lc_item item;

	return_if_error(lc_iter_open(exporting->cache, exporting->choice->order | flags,
	    NULL, 0, &iter));
	exporting->bucket.iter = iter;
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		const bool listed = (flags & LC_ITER_LISTED) != 0;
		const lc_value *value = NULL;
		lc_value *own = NULL;
		status = exporting->choice->join != NULL
		    ? find_joined(exporting, iter, &item, listed, &own, &value)
		    : find_part(exporting, iter, &item, &own, &value);
		if (status == LC_OK && value != NULL) {
			walked->records++;
			walked->hash = lc__hash64_seed(item.id.data, item.id.size,
			    walked->hash);
			status = put(exporting->file, item.id, value);
		}
		lc_value_free(own);
		done += item.stored_size;
		if (status == LC_OK &&
		    progress_step(NULL, flags & LC_ITER_LISTED ? 0 : done,
			exporting->total) != 0)
			status = LC_CANCELLED;
		if (status != LC_OK)
			break;
	}
	lc_iter_close(iter);
	return status == LC_END ? LC_OK : status;
}

/* Formats with a plan read all records twice, each time in a snapshot. If these differ,
 * the file would be wrong. */
static lc_status
write_records(struct exporting *exporting)
{
	const struct lc__outgoing_format *format = exporting->choice->format;

	progress_phase(NULL, format->plan != NULL ? "plan" : "write");
	if (format->plan != NULL) {
		return_if_error(
		    walk(exporting, LC_ITER_LISTED, format->plan, &exporting->first));
		progress_phase(NULL, "write");
	}
	return_if_error(walk(exporting, 0, format->put, &exporting->last));
	if (format->plan != NULL &&
	    (exporting->first.records != exporting->last.records ||
		exporting->first.hash != exporting->last.hash))
		return lc__error(LC_CHANGED, 0,
		    "the module was changed while it was exported");
	return LC_OK;
}

static void
show(const struct exporting *exporting, const char *target, uint64_t bytes,
    double seconds)
{
	const bool dry_run = exporting->choice->how.dry_run;
	struct json json = { stdout, false };
	char records[SIZE_TEXT], size[SIZE_TEXT];

	/* The export itself is on standard output. */
	if (lc__out_is_stdout(target) && !dry_run) {
		count_human(exporting->last.records, "record", records, sizeof(records));
		report_note("%s on standard output, %s", records,
		    size_human((double)bytes, size, sizeof(size)));
		return;
	}
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "target", target);
		jw_text(&json, "format", exporting->choice->format->name);
		jw_count(&json, "records", exporting->last.records);
		jw_count(&json, "bytes", bytes);
		jw_real(&json, "seconds", seconds);
		jw_flag(&json, "dry_run", dry_run);
		jw_end_line(&json);
		return;
	}
	if (settings.quiet)
		return;
	printf("%s%s in %s, %s", dry_run ? "would write " : "",
	    count_human(exporting->last.records, "record", records, sizeof(records)),
	    target, size_human((double)bytes, size, sizeof(size)));
	if (!dry_run)
		printf(", %s/s", size_human((double)bytes / seconds, size, sizeof(size)));
	putchar('\n');
}

/* LC_CORRUPT means damage in the module; a record that the format cannot hold is bad
 * data. */
static int
export_all(struct exporting *exporting, const char *target)
{
	const struct lc__outgoing_format *format = exporting->choice->format;
	uint64_t bytes = 0;
	lc_status status;
	double seconds;

	status = write_records(exporting);
	if (status == LC_OK)
		progress_phase(NULL, "finish");
	if (status == LC_OK)
		status = format->finish(exporting->file, &bytes);
	else
		format->discard(exporting->file);
	seconds = progress_end();
	if (status != LC_OK)
		return report_status(status);
	show(exporting, target, bytes, seconds);
	return EXIT_DONE;
}

int
export_records(lc_cache *cache, const char *target, const struct export_choice *choice)
{
	struct exporting exporting = {
		.choice = choice,
		.cache = cache,
		.bucket = { .field = choice->bucket_field,
		    .scale = choice->bucket_scale, },
	};
	struct lc__outgoing_how how = choice->how;
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_status status = lc_stat(cache, &stats);

	if (status != LC_OK)
		return report_status(status);
	exporting.total = stats.live_bytes;
	if (choice->by_bucket) {
		how.group = name_bucket;
		how.group_ctx = &exporting.bucket;
	}
	/* From here on signals are only recorded, because a file may have to be
	 * removed. */
	progress_begin("export");
	status = choice->format->begin(target, &how, &exporting.file);
	if (status == LC_OK)
		return export_all(&exporting, target);
	progress_end();
	if (status == LC_EXISTS)
		return report_usage("%s; -f replaces it", lc_last_error()->text);
	return status == LC_INVALID ? report_usage("%s", lc_last_error()->text)
				    : report_status(status);
}
