/* SPDX-License-Identifier: BSD-2-Clause */
/* All frames of the dataset to the module of samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "build/frame_team.h"
#include "build/ingesting.h"
#include "build/space.h"

/* How often the disk is looked at, and what is left free on it: the engine's last
 * commits, and shards' beginnings. */
#define SPACE_STEP ((uint64_t)64 << 20)
#define SPACE_RESERVE ((uint64_t)96 << 20)
/* Of a record, beside its pixels. */
#define RECORD_BYTES 1024

/* ---- room ---------------------------------------------------------------------- */

/* The largest sample's pixels. */
static uint64_t
planes_bytes(const struct lc__recipe *recipe, uint64_t *shard_bytes)
{
	uint32_t width = recipe->transform.width, height = recipe->transform.height;
	uint64_t most = recipe->n_buckets > 0 ? 0 : (uint64_t)width * height;

	for (size_t i = 0; i < recipe->n_buckets; i++) {
		const lc_bucket *bucket = &recipe->buckets[i];
		const uint64_t area = (uint64_t)bucket->width * bucket->height;
		if (area > most) {
			width = bucket->width;
			height = bucket->height;
			most = area;
		}
	}
	*shard_bytes = lc__samples_bytes(recipe, width, height);
	return 3 * most * lc_dtype_size(lc__recipe_stored(recipe));
}

/* Bytes of the shards that `current` has: they may be linked. */
static uint64_t
standing_bytes(const struct lc__ingesting *b)
{
	struct lc__built_version standing = { .dir = NULL };
	uint64_t bytes = 0;

	if (b->rebuild ||
	    lc__built_version_current(b->ingest->warehouse, &standing) != LC_OK)
		return 0;
	bytes = lc__built_version_bytes(&standing);
	lc__built_version_free(&standing);
	return bytes;
}

/* Before anything is written: for samples that are not stored yet, and shards. */
static lc_status
check_space(const struct lc__ingesting *b)
{
	const uint64_t frames = b->state->frames;
	uint64_t stored = 0, room = 0, pixels, shard, shards, have, needed;
	char what[64];

	return_if_error(lc__store_count(&b->store, &stored));
	return_if_error(lc__store_room(&b->store, &room));
	pixels = planes_bytes(b->recipe, &shard) + RECORD_BYTES;
	if (!lc__mul64(frames, shard, &shards) ||
	    !lc__mul64(frames > stored ? frames - stored : 0, pixels, &needed))
		return lc__error(LC_INVALID, 0, "build: sizes overflow");
	have = standing_bytes(b);
	needed -= needed < room ? needed : room;
	needed += shards > have ? shards - have : 0;
	snprintf(what, sizeof(what), "%llu frames", (unsigned long long)frames);
	return lc__space_check(b->ingest->warehouse, needed, what);
}

static lc_status
watch_space(struct lc__ingesting *b)
{
	uint64_t left = 0;

	if (b->state->bytes_stored < b->space_next)
		return LC_OK;
	b->space_next = b->state->bytes_stored + SPACE_STEP;
	return_if_error(lc__space_left(b->ingest->warehouse, &left));
	if (left >= SPACE_RESERVE)
		return LC_OK;
	return lc__error(LC_NO_SPACE, 0,
	    "%s: stopped before the disk is full: %llu bytes are free, %llu "
	    "samples are stored",
	    b->ingest->warehouse, (unsigned long long)left,
	    (unsigned long long)b->state->samples);
}

/* ---- one frame ------------------------------------------------------------------ */

static lc_status
add_source(struct lc__ingesting *b, const struct lc__source_note *note)
{
	const struct lc__source_file file = {
		.path = note->path,
		.size = note->size,
		.mtime_ns = note->mtime_ns,
		.hash = { note->hash[0], note->hash[1] },
	};

	return note->path != NULL ? lc__sources_add(&b->sources, &file) : LC_OK;
}

/* What a version is made of: also that an image was not there. */
static lc_status
add_sources(struct lc__ingesting *b, const struct lc__sample *s)
{
	const struct lc__source_file missing = {
		.path = s->wanted,
		.missing = true,
	};

	return_if_error(add_source(b, &s->label));
	return_if_error(add_source(b, &s->image));
	return s->reason == LC__REJECT_NO_FILE && s->wanted != NULL
	    ? lc__sources_add(&b->sources, &missing)
	    : LC_OK;
}

static lc_status
store(struct lc__ingesting *b, const struct lc__frame_job *job)
{
	const char *key = (const char *)job->key.data;
	uint64_t start = lc__clock_ns();
	lc_status status = LC_OK;

	if (b->store.cache == NULL)
		return LC_OK;
	if (job->put)
		status = lc__store_put(&b->store, key, &job->sample);
	if (status == LC_OK && job->touched)
		status = lc__store_note_seen(&b->store, key, &job->kept.seen);
	if (job->put && job->sample.planes != NULL)
		b->state->bytes_stored += lc__sample_planes(&job->sample);
	lc__ingesting_spent(b, LC__PHASE_STORE, &start);
	return_if_error(status);
	return watch_space(b);
}

static void
tell_rejected(struct lc__ingesting *b, const struct lc__frame *frame,
    enum lc__reject reason, const char *detail)
{
	const struct lc__ingest_watch *watch = b->ingest->watch;

	b->state->rejected[reason]++;
	if (watch != NULL && watch->rejected != NULL)
		watch->rejected(watch->ctx, frame, reason, detail);
}

static lc_status
count(struct lc__ingesting *b, const struct lc__frame_job *job)
{
	const struct lc__sample *s = &job->sample;
	const enum lc__reject fate = lc__counting_fate(b->recipe, s);
	struct lc__frame frame;
	struct lc__label label;

	lc__dataset_frame(b->dataset, job->number, &frame);
	return_if_error(lc__counting_add(&b->counting, frame.run, s));
	return_if_error(add_sources(b, s));
	b->state->frames_done++;
	b->state->reused += job->reused;
	if (fate != LC__REJECT_NONE) {
		tell_rejected(b, &frame, fate, lc__counting_detail(s, &label));
		return LC_OK;
	}
	b->state->samples++;
	b->state->reduced += s->deep;
	return lc__samples_add(&b->samples, job->number, s);
}

static lc_status
take(void *ctx, struct lc__frame_job *job)
{
	struct lc__ingesting *b = ctx;

	for (int phase = 0; phase < LC__PHASES; phase++)
		b->state->ns[phase] += job->ns[phase];
	b->state->bytes_read += job->bytes_read;
	return_if_error(store(b, job));
	return_if_error(count(b, job));
	return lc__ingesting_step(b);
}

static lc_status
idle(void *ctx)
{
	return lc__ingesting_step(ctx);
}

/* ---- what is no frame any more --------------------------------------------------- */

/* Hashes of all frames' names, sorted. */
struct names {
	uint64_t *hashes;
	uint64_t n;
};

static int
by_number(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

static bool
is_frame(void *ctx, const char *name, size_t size)
{
	const struct names *names = ctx;
	const uint64_t hash = lc__hash64(name, size);

	return bsearch(&hash, names->hashes, names->n, sizeof(hash), by_number) != NULL;
}

static lc_status
hash_names(const struct lc__ingesting *b, struct names *names)
{
	struct lc__buf key = { 0 };
	struct lc__frame frame;

	names->n = b->state->frames;
	names->hashes = malloc(names->n * sizeof(*names->hashes) + 1);
	for (uint64_t i = 0; names->hashes != NULL && i < names->n; i++) {
		const size_t prefix = strlen(b->store.prefix) + 1;
		lc__dataset_frame(b->dataset, i, &frame);
		if (!lc__store_key(&b->store, frame.run, frame.name, &key))
			break;
		names->hashes[i] = lc__hash64(key.data + prefix, key.size - 1 - prefix);
	}
	const bool failed = names->hashes == NULL || key.failed;
	lc__buf_free(&key);
	if (failed)
		return lc__no_memory("build");
	qsort(names->hashes, names->n, sizeof(*names->hashes), by_number);
	return LC_OK;
}

/* Of frames that the dataset no longer has. */
static lc_status
forget_gone(struct lc__ingesting *b)
{
	struct names names = { NULL, 0 };
	lc_status status = hash_names(b, &names);

	if (status == LC_OK)
		status = lc__store_sweep(&b->store, is_frame, &names, &b->out->forgotten);
	free(names.hashes);
	return status;
}

/* ---- all of them ------------------------------------------------------------------ */

static lc_status
finish(struct lc__ingesting *b)
{
	uint64_t start = lc__clock_ns();
	lc_status status = LC_OK;

	if (b->store.cache != NULL)
		status = lc_flush(b->store.cache);
	lc__ingesting_spent(b, LC__PHASE_STORE, &start);
	return status;
}

lc_status
lc__ingesting_forget(struct lc__ingesting *b)
{
	uint64_t start = lc__clock_ns();
	lc_status status = LC_OK;

	if (b->store.cache != NULL)
		status = forget_gone(b);
	if (b->store.cache != NULL && status == LC_OK)
		status = lc_flush(b->store.cache);
	lc__ingesting_spent(b, LC__PHASE_STORE, &start);
	return status;
}

lc_status
lc__ingesting_frames(struct lc__ingesting *b)
{
	uint64_t shard_bytes;
	struct lc__frame_team pool = { .how = { .recipe = b->recipe,
		.dataset = b->dataset, .store = &b->store, .root = b->root,
		.rehash = b->ingest->rehash,
		.keep_going = b->ingest->keep_going, }, .work = lc__frame_job_run,
		.threads = b->threads,
		.slot_bytes = planes_bytes(b->recipe, &shard_bytes),
		.take = take, .idle = idle, .ctx = b, };

	if (b->store.cache != NULL)
		return_if_error(check_space(b));
	b->state->phase = LC__PHASE_STORE;
	b->space_next = SPACE_STEP;
	return_if_error(lc__frame_team_walk(&pool));
	return_if_error(lc__counting_end(&b->counting));
	return finish(b);
}
