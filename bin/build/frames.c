/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes all frames of the dataset into the module of samples, and counts the
 * results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "build/frame_job.h"
#include "build/disk.h"
#include "build/ingesting.h"
#include "labels/label.h"
#include "shard/packed.h"

/* How often free space is checked, and what must stay free: for the engine's last
 * commits, and for starting shards. */
#define SPACE_STEP ((uint64_t)64 << 20)
#define SPACE_RESERVE ((uint64_t)96 << 20)
/* Size of a record without its pixels. */
#define RECORD_BYTES 1024

/* ---- free space ------------------------------------------------------------------ */

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

/* Checked before anything is written: room for samples that are not stored yet, and for
 * shards. */
static lc_status
check_space(const struct lc__ingesting *b)
{
	const uint64_t frames = b->state->frames;
	const bool exports = b->ingest->tasks == 0;
	struct lc__built_version built = { .dir = NULL };
	uint64_t stored = 0, room = 0, packed = 0, pixels, shard, shards, have = 0,
		 needed;
	char *dir = lc__path_join(b->ingest->warehouse, LC__WAREHOUSE_PACKED);
	char what[64];
	lc_status status = dir != NULL ? lc__packed_bytes(dir, &packed)
				       : lc__no_memory("build");

	free(dir);
	return_if_error(status);
	return_if_error(lc__store_count(&b->store, &stored));
	return_if_error(lc__store_room(&b->store, &room));
	pixels = planes_bytes(b->recipe, &shard) + RECORD_BYTES;
	if (!lc__mul64(frames, shard, &shards) ||
	    !lc__mul64(frames > stored ? frames - stored : 0, pixels, &needed))
		return lc__error(LC_INVALID, 0, "build: sizes overflow");
	/* Shards that `current` has, or that are packed, may be linked. */
	if (!b->rebuild &&
	    lc__built_version_current(b->ingest->warehouse, &built) == LC_OK)
		have = lc__built_version_bytes(&built);
	lc__built_version_free(&built);
	have += packed;
	needed -= needed < room ? needed : room;
	needed += exports && shards > have ? shards - have : 0;
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

/* Add a file to the sources of the version. */
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

static lc_status
count(struct lc__ingesting *b, const struct lc__frame_job *job)
{
	const struct lc__ingest_watch *watch = b->ingest->watch;
	const struct lc__sample *s = &job->sample;
	const struct lc__source_file missing = { .path = s->wanted, .missing = true };
	const enum lc__reject fate = lc__counting_fate(b->recipe, s);
	struct lc__frame frame;
	struct lc__label label;

	lc__dataset_frame(b->dataset, job->number, &frame);
	return_if_error(lc__counting_add(&b->counting, frame.run, s));
	return_if_error(add_source(b, &s->label));
	return_if_error(add_source(b, &s->image));
	/* That an image was missing is also a fact on which the version depends. */
	if (s->reason == LC__REJECT_NO_FILE && s->wanted != NULL)
		return_if_error(lc__sources_add(&b->sources, &missing));
	b->state->frames_done++;
	b->state->reused += job->reused;
	if (fate != LC__REJECT_NONE) {
		b->state->rejected[fate]++;
		if (watch != NULL && watch->rejected != NULL)
			watch->rejected(watch->ctx, &frame, fate,
			    lc__counting_detail(s, &label));
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
	const char *key = (const char *)job->key.data;
	uint64_t start;
	lc_status status = LC_OK;

	for (int phase = 0; phase < LC__PHASES; phase++)
		b->state->ns[phase] += job->ns[phase];
	b->state->bytes_read += job->bytes_read;
	if (b->store.cache != NULL) {
		start = lc__clock_ns();
		if (job->put)
			status = lc__store_put(&b->store, key, &job->sample);
		if (status == LC_OK && job->touched)
			status = lc__store_note_seen(&b->store, key, &job->kept.seen);
		if (job->put && job->sample.planes != NULL)
			b->state->bytes_stored += lc__sample_planes(&job->sample);
		lc__ingesting_spent(b, LC__PHASE_STORE, &start);
		return_if_error(status);
		return_if_error(watch_space(b));
	}
	return_if_error(count(b, job));
	return lc__ingesting_step(b);
}

static lc_status
idle(void *ctx)
{
	return lc__ingesting_step(ctx);
}

/* ---- frames that no longer exist ------------------------------------------------- */

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

/* ---- all of them ------------------------------------------------------------------ */

lc_status
lc__ingesting_forget(struct lc__ingesting *b)
{
	struct names names = { NULL, 0 };
	uint64_t start = lc__clock_ns();
	lc_status status = LC_OK;

	if (b->store.cache != NULL)
		status = hash_names(b, &names);
	if (b->store.cache != NULL && status == LC_OK)
		status = lc__store_sweep(&b->store, is_frame, &names, &b->out->forgotten);
	free(names.hashes);
	if (b->store.cache != NULL && status == LC_OK)
		status = lc_flush(b->store.cache);
	lc__ingesting_spent(b, LC__PHASE_STORE, &start);
	return status;
}

lc_status
lc__ingesting_frames(struct lc__ingesting *b)
{
	uint64_t shard_bytes, start;
	lc_status status = LC_OK;
	struct lc__frame_team pool = { .how = { .recipe = b->recipe,
		.dataset = b->dataset, .store = &b->store, .root = b->root,
		.rehash = b->ingest->rehash,
		.keep_going = b->ingest->keep_going, .stored_only = b->ingest->packs > 0, },
		.work = lc__frame_job_run, .threads = b->threads,
		.first = b->ingest->task, .step = b->ingest->tasks,
		.slot_bytes = planes_bytes(b->recipe, &shard_bytes),
		.take = take, .idle = idle, .ctx = b, };

	if (b->store.cache != NULL)
		return_if_error(check_space(b));
	b->state->phase = LC__PHASE_STORE;
	b->space_next = SPACE_STEP;
	return_if_error(lc__frame_team_walk(&pool));
	return_if_error(lc__counting_end(&b->counting));
	start = lc__clock_ns();
	if (b->store.cache != NULL)
		status = lc_flush(b->store.cache);
	lc__ingesting_spent(b, LC__PHASE_STORE, &start);
	return status;
}

/* ---- counts ---------------------------------------------------------------------- */

enum lc__reject
lc__counting_fate(const struct lc__recipe *recipe, const struct lc__sample *sample)
{
	if (sample->reason == LC__REJECT_NONE && sample->n == 0 && recipe->skip_empty)
		return LC__REJECT_NO_LABELS;
	return sample->reason;
}

const char *
lc__counting_detail(const struct lc__sample *sample, struct lc__label *label)
{
	const char *file = sample->label.path != NULL ? sample->label.path
						      : sample->image.path;

	if (sample->reason != LC__REJECT_NONE || file == NULL)
		return sample->detail;
	*label = (struct lc__label){ .n = 0 };
	if (sample->boxes_total == 0)
		(void)lc__label_reject(label, LC__REJECT_NO_LABELS, file, "has no boxes");
	else if (sample->filtered == sample->boxes_total)
		(void)lc__label_reject(label, LC__REJECT_NO_LABELS, file,
		    "has no boxes of the classes that are kept, but %llu of others",
		    (unsigned long long)sample->filtered);
	else
		(void)lc__label_reject(label, LC__REJECT_NO_LABELS, file,
		    "of its boxes, %llu, none is left in the frame",
		    (unsigned long long)sample->boxes_total);
	return label->detail;
}

/* The counts of a run, which is the last one or a new one. */
static struct lc__counts *
counts_of(struct lc__summary *summary, const char *run)
{
	const size_t n = summary->n_runs;
	struct lc__run_summary *new;

	if (n > 0 && strcmp(summary->runs[n - 1].run_id, run) == 0)
		return &summary->runs[n - 1].counts;
	if (lc__array_reserve(&summary->runs, &summary->runs_room, n + 1, "build") !=
	    LC_OK)
		return NULL;
	new = &summary->runs[n];
	*new = (struct lc__run_summary){ .run_id = strdup(run) };
	if (new->run_id == NULL)
		return NULL;
	summary->n_runs++;
	return &new->counts;
}

static void
count_frame(struct lc__counts *counts, const struct lc__sample *sample)
{
	counts->total++;
	if (sample->reason != LC__REJECT_NONE)
		++*lc__reject_counter(counts, sample->reason);
	else if (sample->n > 0)
		counts->non_empty++;
	else
		counts->empty++;
}

lc_status
lc__counting_add(struct lc__counting *counting, const char *run,
    const struct lc__sample *sample)
{
	const enum lc__reject fate = lc__counting_fate(counting->recipe, sample);
	struct lc__summary *summary = counting->summary;
	struct lc__counts *counts = counts_of(summary, run);
	const uint64_t most = counting->recipe->max_boxes;
	const uint8_t *cut = sample->clipped.data;

	if (counts == NULL)
		return lc__no_memory("build");
	/* Also count frames without other boxes, which are left out. */
	summary->filtered += sample->filtered;
	count_frame(&summary->totals, sample);
	count_frame(counts, sample);
	if (fate != LC__REJECT_NONE) {
		counting->reasons[fate]++;
		return LC_OK;
	}

	summary->written++;
	summary->boxes += sample->n < most ? sample->n : most;
	for (uint64_t i = 0; i < sample->clipped.size && i < most; i++)
		summary->clipped += cut[i];
	summary->dropped += sample->dropped;
	if (sample->n > most) {
		summary->overflow_boxes += sample->n - most;
		summary->overflow_samples++;
	}
	return LC_OK;
}

static int
by_name(const void *a, const void *b)
{
	const struct lc__tally *one = a, *other = b;

	return strcmp(one->name, other->name);
}

lc_status
lc__counting_end(struct lc__counting *counting)
{
	struct lc__summary *summary = counting->summary;

	summary->reasons = calloc(LC__REJECTS, sizeof(*summary->reasons));
	if (summary->reasons == NULL)
		return lc__no_memory("build");
	for (int i = LC__REJECT_NONE + 1; i < LC__REJECTS; i++) {
		struct lc__tally *tally = &summary->reasons[summary->n_reasons];
		if (counting->reasons[i] == 0)
			continue;
		tally->name = strdup(lc__reject_name((enum lc__reject)i));
		if (tally->name == NULL)
			return lc__no_memory("build");
		tally->count = counting->reasons[i];
		summary->n_reasons++;
	}
	qsort(summary->reasons, summary->n_reasons, sizeof(*summary->reasons), by_name);
	return LC_OK;
}
