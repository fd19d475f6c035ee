/* SPDX-License-Identifier: BSD-2-Clause */
/* The module in which samples are stored, and which of them are used again. */
#include "build/store.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "build/ingest.h"
#include "build/frame_job.h"
#include "build/sample.h"
#include "lmdbcache.h"
#include "warehouse/place.h"
#include "warehouse/sources.h"

/* A kill loses pending samples: up to a second's worth. */
#define FLUSH_MS 1000
/* Samples of a megabyte are committed by the dozen, so that they share the wait for the
 * disk. */
#define CHUNK_BYTES ((uint64_t)16 << 20)
/* Less than this is not worth rewriting. */
#define TIDY_BYTES ((uint64_t)64 << 20)

#define SEEN_MARK ".seen"

lc_status
lc__store_open(struct lc__store *store, const struct lc__ingest *ingest,
    const char sample_key[65])
{
	lc_options options;

	snprintf(store->prefix, sizeof(store->prefix), "%.12s", sample_key);
	lc_options_init(&options);
	options.flags |= ingest->force_fs ? LC_FORCE_FS : 0;
	options.durability = ingest->no_sync ? LC_DURABLE_RELAXED : LC_DURABLE_FULL;
	options.flush_interval_ms = FLUSH_MS;
	options.chunk_bytes = CHUNK_BYTES;
	if (ingest->flush_every > 0)
		options.flush_every = ingest->flush_every;
	options.lru_bytes = 0;
	options.rank = 0;
	options.writer_rank = LC_RANK_ANY;
	return lc_open(ingest->warehouse, LC__WAREHOUSE_MODULE, &options, &store->cache);
}

/* Samples with other options or of another dataset have other keys: none would be found,
 * and all would be computed again. */
static lc_status
check_other(const struct lc__store *store, lc_cache *cache, const char *warehouse)
{
	struct lc__store other = { .cache = cache };
	uint64_t found, records;

	memcpy(other.prefix, store->prefix, sizeof(other.prefix));
	return_if_error(lc__store_count(&other, &found));
	return_if_error(lc_count(cache, &records));
	return found > 0 || records == 0
	    ? LC_OK
	    : lc__error(LC_INVALID, 0,
		  "%s: its samples have other options, or are of another dataset",
		  warehouse);
}

lc_status
lc__store_open_others(struct lc__store *store, const struct lc__ingest *ingest)
{
	lc_options options;

	store->others = calloc(ingest->n_samples_from + 1, sizeof(lc_cache *));
	if (store->others == NULL)
		return lc__no_memory("build");
	lc_options_init(&options);
	options.flags = LC_RDONLY | (ingest->force_fs ? LC_FORCE_FS : 0);
	options.lru_bytes = 0;
	for (size_t i = 0; i < ingest->n_samples_from; i++) {
		lc_cache **cache = &store->others[store->n_others];
		const lc_status status = lc_open(ingest->samples_from[i],
		    LC__WAREHOUSE_MODULE, &options, cache);

		if (status == LC_NO_FILE)
			return lc__error(status, 0, "%s: has no samples",
			    ingest->samples_from[i]);
		return_if_error(status);
		store->n_others++;
		return_if_error(check_other(store, *cache, ingest->samples_from[i]));
	}
	return LC_OK;
}

lc_status
lc__store_close(struct lc__store *store)
{
	lc_cache *cache = store->cache;
	lc_status status = LC_OK;

	for (size_t i = 0; i < store->n_others; i++) {
		const lc_status closed = lc_close(store->others[i]);

		if (status == LC_OK)
			status = closed;
	}
	free(store->others);
	store->others = NULL;
	store->n_others = 0;
	store->cache = NULL;
	/* Stored samples count. */
	return_if_error(lc_close(cache));
	return status;
}

bool
lc__store_key(const struct lc__store *store, const char *run, const char *name,
    struct lc__buf *out)
{
	out->size = 0;
	lc__buf_printf(out, "%s/%s%s%s", store->prefix, run, *run != '\0' ? "/" : "",
	    name);
	lc__buf_append(out, "", 1);
	return !out->failed;
}

/* ---- samples --------------------------------------------------------------- */

lc_status
lc__store_view(const struct lc__store *store, const char *key, lc_view *view,
    lc_cache **from)
{
	const size_t size = strlen(key);
	lc_status status = LC_NOT_FOUND;

	*from = store->cache;
	if (*from != NULL)
		status = lc_get(*from, key, size, view);
	for (size_t i = 0; i < store->n_others; i++) {
		if (status != LC_NOT_FOUND && status != LC_CORRUPT)
			break;
		*from = store->others[i];
		status = lc_get(*from, key, size, view);
	}
	return status;
}

/* Takes ownership of the view of a record, whose status is @p status. */
static lc_status
copy_part(lc_status status, lc_view *view, const char *path, lc_value **out)
{
	const lc_value *part;

	*out = NULL;
	if (status == LC_NOT_FOUND || status == LC_CORRUPT)
		return LC_OK;
	return_if_error(status);
	/* A damaged or foreign record is treated as missing: its frame is processed
	 * again. */
	status = lc_view_value(view, path, &part);
	if (status == LC_OK) {
		*out = lc_value_copy(part);
		status = *out != NULL ? LC_OK : lc__no_memory("build");
	} else if (status == LC_CORRUPT || status == LC_NOT_FOUND) {
		status = LC_OK;
	}
	lc_view_release(view);
	return status;
}

lc_status
lc__store_get(const struct lc__store *store, const char *key, lc_cache **from,
    lc_value **out)
{
	lc_view view;

	return copy_part(lc__store_view(store, key, &view, from), &view, LC__SAMPLE_ABOUT,
	    out);
}

lc_status
lc__store_pixels(lc_cache *from, const char *key, lc_dtype dtype, size_t size, void *out,
    bool *found)
{
	const lc_value *part;
	lc_tensor tensor;
	lc_view view;
	lc_status status = lc_get(from, key, strlen(key), &view);

	*found = false;
	if (status == LC_NOT_FOUND || status == LC_CORRUPT)
		return LC_OK;
	return_if_error(status);
	status = lc_view_value(&view, LC__SAMPLE_PIXELS, &part);
	if (status == LC_OK && lc_value_as_tensor(part, &tensor) == LC_OK &&
	    tensor.dtype == dtype && tensor.nbytes == size) {
		memcpy(out, tensor.data, size);
		*found = true;
	}
	lc_view_release(&view);
	return status == LC_CORRUPT || status == LC_NOT_FOUND ? LC_OK : status;
}

lc_status
lc__store_put(const struct lc__store *store, const char *key,
    const struct lc__sample *sample)
{
	lc_value *value = lc__sample_value(sample);
	const lc_status status = lc_put_value(store->cache, key, strlen(key), value);

	lc_value_free(value);
	return status;
}

/* ---- times ----------------------------------------------------------------- */

/* "0123456789ab.seen/RUN/NAME" */
static bool
seen_key(const struct lc__store *store, const char *key, struct lc__buf *out)
{
	const size_t prefix = strlen(store->prefix);

	lc__buf_printf(out, "%s" SEEN_MARK "%s", store->prefix, key + prefix);
	lc__buf_append(out, "", 1);
	return !out->failed;
}

/* In the module that has the record: another module's times belong to another record. */
static lc_status
store_seen(const struct lc__store *store, lc_cache *from, const char *key,
    struct lc__seen *out)
{
	struct lc__buf id = { 0 };
	lc_view view;
	lc_value *value = NULL;
	lc_status status = LC_OK;

	*out = (struct lc__seen){ .any = false };
	if (!seen_key(store, key, &id))
		status = lc__no_memory("build");
	if (status == LC_OK)
		status = copy_part(lc_get(from, id.data, id.size - 1, &view), &view, NULL,
		    &value);
	out->any = value != NULL &&
	    lc_value_as_integer(lc_value_find(value, "label_ns"), &out->label_ns) ==
		LC_OK &&
	    lc_value_as_integer(lc_value_find(value, "image_ns"), &out->image_ns) ==
		LC_OK;
	lc_value_free(value);
	lc__buf_free(&id);
	return status;
}

lc_status
lc__store_note_seen(const struct lc__store *store, const char *key,
    const struct lc__seen *seen)
{
	struct lc__buf id = { 0 };
	lc_value *value = lc_value_map();
	lc_status status;

	lc_value_set(value, "label_ns", lc_value_integer(seen->label_ns));
	lc_value_set(value, "image_ns", lc_value_integer(seen->image_ns));
	status = seen_key(store, key, &id)
	    ? lc_put_value(store->cache, id.data, id.size - 1, value)
	    : lc__no_memory("build");
	lc_value_free(value);
	lc__buf_free(&id);
	return status;
}

/* ---- all of them ----------------------------------------------------------- */

/* A walk over one kind of records with this sample key. */
struct walk {
	const struct lc__store *store;
	const char *prefix; /* including the slash */
	bool (*keeps)(void *ctx, const char *name, size_t size);
	void *ctx;
	uint64_t gone, all;
};

static lc_status
walk_all(struct walk *walk)
{
	const size_t prefix = strlen(walk->prefix);
	lc_iter *iter;
	lc_item item;
	lc_status status;

	if (walk->store->cache == NULL)
		return LC_OK;
	return_if_error(lc_iter_open(walk->store->cache, LC_BY_KEY | LC_ITER_LISTED,
	    walk->prefix, prefix, &iter));
	do {
		status = lc_iter_next(iter, &item);
		if (status == LC_CORRUPT) {
			status = LC_OK;
			continue;
		}
		if (status != LC_OK)
			break;
		walk->all++;
		if (walk->keeps != NULL &&
		    !walk->keeps(walk->ctx, (const char *)item.id.data + prefix,
			item.id.size - prefix)) {
			walk->gone++;
			status = lc_delete(walk->store->cache, item.id.data,
			    item.id.size);
		}
	} while (status == LC_OK);
	lc_iter_close(iter);
	return status == LC_END ? LC_OK : status;
}

lc_status
lc__store_sweep(const struct lc__store *store,
    bool (*keeps)(void *ctx, const char *name, size_t size), void *ctx, uint64_t *gone)
{
	char samples[sizeof(store->prefix) + 1];
	char seen[sizeof(store->prefix) + sizeof(SEEN_MARK)];
	struct walk walk = {
		.store = store,
		.keeps = keeps,
		.ctx = ctx,
		.prefix = seen,
	};

	snprintf(samples, sizeof(samples), "%s/", store->prefix);
	snprintf(seen, sizeof(seen), "%s" SEEN_MARK "/", store->prefix);
	return_if_error(walk_all(&walk));
	walk.prefix = samples;
	walk.gone = 0;
	return_if_error(walk_all(&walk));
	*gone = walk.gone;
	return LC_OK;
}

lc_status
lc__store_count(const struct lc__store *store, uint64_t *out)
{
	char samples[sizeof(store->prefix) + 1];
	struct walk walk = { .store = store, .prefix = samples };

	snprintf(samples, sizeof(samples), "%s/", store->prefix);
	return_if_error(walk_all(&walk));
	*out = walk.all;
	for (size_t i = 0; i < store->n_others; i++) {
		struct lc__store other = { .cache = store->others[i] };
		uint64_t frames;

		memcpy(other.prefix, store->prefix, sizeof(other.prefix));
		return_if_error(lc__store_count(&other, &frames));
		*out += frames;
	}
	return LC_OK;
}

lc_status
lc__store_room(const struct lc__store *store, uint64_t *out)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	return_if_error(lc_stat(store->cache, &stats));
	*out = stats.free_bytes;
	return LC_OK;
}

lc_status
lc__store_tidy(const struct lc__store *store)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	return_if_error(lc_stat(store->cache, &stats));
	if (stats.dead_bytes < TIDY_BYTES || stats.dead_bytes < stats.live_bytes)
		return LC_OK;
	return lc_compact(store->cache, NULL, NULL);
}

/* ---- unchanged frames ------------------------------------------------------------ */

/* Does the described file exist with the same content? *seen_ns is a later time at which
 * it did, 0 for none; it becomes the present one if the file was read. */
static lc_status
is_unchanged(struct lc__frame_worker *worker, struct lc__frame_job *job,
    struct lc__source_note *note, int64_t *seen_ns, bool *same)
{
	const uint64_t size = note->size, hash[2] = { note->hash[0], note->hash[1] };
	enum lc__infile_fate fate;
	struct stat st;
	int64_t mtime;
	lc_status status;

	*same = fstatat(worker->how->root, note->path, &st, 0) == 0 &&
	    S_ISREG(st.st_mode) && (uint64_t)st.st_size == note->size;
	if (!*same)
		return LC_OK;
	mtime = lc__sources_mtime(&st);
	if (!worker->how->rehash &&
	    ((note->settled && mtime == note->mtime_ns) ||
		(*seen_ns != 0 && mtime == *seen_ns))) {
		note->mtime_ns = mtime;
		note->settled = true;
		return LC_OK;
	}
	/* The description gets the file's new time. */
	status = lc__frame_worker_read(worker, job, note->path, size, note, &fate);
	lc__frame_worker_let_go(worker);
	return_if_error(status);
	*same = fate == LC__INFILE_GOOD && note->size == size &&
	    note->hash[0] == hash[0] && note->hash[1] == hash[1];
	if (*same && note->settled && *seen_ns != note->mtime_ns) {
		/* Another warehouse's times are not stored here. */
		job->touched = job->kept.from == worker->how->store->cache;
		*seen_ns = note->mtime_ns;
	}
	return LC_OK;
}

lc_status
lc__reused_image(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const char *path, bool *same)
{
	struct lc__reused *kept = &job->kept;

	*same = kept->any && kept->sample.image.path != NULL &&
	    strcmp(kept->sample.image.path, path) == 0;
	if (!*same)
		return LC_OK;
	if (!kept->image_looked)
		return_if_error(is_unchanged(worker, job, &kept->sample.image,
		    &kept->seen.image_ns, &kept->image_same));
	kept->image_looked = true;
	*same = kept->image_same;
	return LC_OK;
}

lc_status
lc__reused_find(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame)
{
	const struct lc__store *store = worker->how->store;
	const char *key = (const char *)job->key.data;
	struct lc__reused *kept = &job->kept;
	struct lc__source_note *label = &kept->sample.label;
	const char *image;
	bool same;

	return_if_error(lc__store_get(store, key, &kept->from, &kept->about));
	kept->any = kept->about != NULL && lc__sample_read(kept->about, &kept->sample) &&
	    !lc__sample_is_passing(&kept->sample);
	if (!kept->any)
		return LC_OK;
	return_if_error(store_seen(store, kept->from, key, &kept->seen));
	/* The label is at the same path, with the same content. */
	same = kept->sample.label_hash == frame->label_hash &&
	    (label->path != NULL) == (frame->label_path != NULL) &&
	    (label->path == NULL || strcmp(label->path, frame->label_path) == 0);
	if (same && label->path != NULL)
		return_if_error(
		    is_unchanged(worker, job, label, &kept->seen.label_ns, &same));
	/* So is the image, as far as the label does not decide that, and as far as it
	 * mattered. */
	image = kept->sample.image.path;
	if (same && image != NULL)
		return_if_error(lc__reused_image(worker, job,
		    frame->image_path != NULL ? frame->image_path : image, &same));
	job->reused = same;
	if (same)
		job->sample = kept->sample;
	return LC_OK;
}
