/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/remote.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/idset.h"
#include "objects/names.h"
#include "remote/ahead.h"
#include "remote/copies.h"
#include "remote/generations.h"
#include "stream/forecast.h"
#include "stream/source_shards.h"
#include "stream/visits.h"

#define DIR "manifest"
#define SOON 16u /* batches: shards that are needed by then stay open */

/*
 * The sources of a stream that share a directory of copies, and what its reader will need of
 * them. Chunks are numbered over all sources of the stream. The threads that fetch end when a
 * reader begins that replaces it for one of the sources, or when one of them is closed; then
 * the others fetch on request.
 */
struct group {
	atomic_uint refs; /* each member, and who uses it */
	struct lc__forecast *forecast;
	struct lc__ahead *ahead; /* NULL: by ranges */
	size_t n;
	struct member {
		struct lc__remote *remote;
		uint64_t first, end; /* chunks */
	} members[];
};

struct lc__remote {
	struct lc__supplier supplier;
	struct lc__objects *objects;
	struct lc__remote_options how;
	uint64_t generation;
	char *dir;  /* that the paths in the manifest start from */
	char *name; /* of the manifest, for messages */
	struct lc__copies *copies;
	dev_t dev; /* of the directory of copies */
	ino_t ino;
	uint64_t *chunk_of,
	    *shard_of;        /* in its layout; NULL: the same numbers. Malloc'ed */
	pid_t pid;            /* a child has no reader's threads */
	pthread_mutex_t lock; /* guards `group`; held for a moment */
	struct group *group;  /* or NULL */
	bool opening;         /* the source is being opened */
	_Atomic uint64_t least;
	_Atomic bool ranged;
	_Atomic uint64_t turn; /* the batch at which shards are to be closed */
	_Atomic uint64_t reached, hits, misses, stall_ns;
};

static struct lc__remote *
of(struct lc__supplier *supplier)
{
	return (struct lc__remote *)supplier;
}

/* ---- names --------------------------------------------------------------------------- */

/* A shard's name in the store is its path in the manifest of its part. */
static lc_status
find(struct lc__remote *r, uint64_t shard, struct lc__wanted *out)
{
	const struct lc__setparts *parts = &r->supplier.set->said;
	struct lc__said said;

	return_if_error(lc__setparts_said(parts, (size_t)shard, &said));
	if (strlen(said.shard.relative_path) >= sizeof(out->name))
		return lc__error(LC_CORRUPT, 0, "%s: not a name of a shard in a store",
		    said.shard.relative_path);
	strcpy(out->name, said.shard.relative_path);
	out->size = said.shard.bytes;
	out->part = lc__setparts_name(parts, (size_t)shard);
	out->when = out->now = 0;
	return LC_OK;
}

/* ---- what a set asks for --------------------------------------------------------------- */

static lc_status
part(struct lc__supplier *supplier, const struct lc__manifest_part *said, bool again)
{
	struct lc__remote *r = of(supplier);
	struct lc__wanted wanted = { .part = NULL };
	enum lc__row_state state;
	char name[LC__OBJECT_NAME];
	struct lc__object about;
	struct lc__copy copy;
	lc_status status;

	lc__name_part(said->sha256, name);
	strcpy(wanted.name, name);
	/* The path to it leads through this directory. */
	if (mkdir(r->dir, 0700) == -1 && errno != EEXIST && errno != ENOENT)
		return lc__error_sys(errno, "%s: make", r->dir);
	if (again)
		return_if_error(lc__copies_drop(r->copies, name, NULL));
	return_if_error(lc__copies_look(r->copies, name, &state));
	if (state == LC__ROW_THERE)
		return LC_OK;
	status = lc__object_find(r->objects, name, &about);
	if (status == LC_NO_FILE)
		return lc__error(LC_CORRUPT, 0, "%s/%s: is missing", r->objects->url,
		    name);
	return_if_error(status);
	wanted.size = about.size;
	return_if_error(lc__copies_take(r->copies, &wanted, &copy));
	lc__copies_give(r->copies, &copy);
	/* All of the directory may have been removed before. */
	if (mkdir(r->dir, 0700) == -1 && errno != EEXIST)
		return lc__error_sys(errno, "%s: make", r->dir);
	return LC_OK;
}

/* ---- groups ---------------------------------------------------------------------------- */

static void
group_drop(struct group *g)
{
	if (g == NULL ||
	    atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1)
		return;
	lc__ahead_close(g->ahead);
	lc__forecast_free(g->forecast);
	free(g);
}

/* Its group, held. */
static struct group *
group_of(struct lc__remote *r)
{
	struct group *g;

	pthread_mutex_lock(&r->lock);
	g = r->group;
	if (g != NULL)
		atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
	pthread_mutex_unlock(&r->lock);
	return g;
}

/* Make the source one of another group, or of none; the group before has ended. */
static void
set_group(struct lc__remote *r, struct group *g)
{
	struct group *before;

	if (g != NULL)
		atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
	pthread_mutex_lock(&r->lock);
	before = r->group;
	r->group = g;
	pthread_mutex_unlock(&r->lock);
	if (before != NULL && before != g && before->ahead != NULL)
		lc__ahead_end(before->ahead);
	group_drop(before);
}

/* The number of the chunk that is a shard, for one that was a chunk. */
static uint64_t
chunk_of(const struct lc__remote *r, uint64_t shard)
{
	return r->chunk_of != NULL ? r->chunk_of[shard] : shard;
}

static lc_status
take_copy(struct lc__remote *r, size_t i, const struct lc__wanted *wanted,
    struct lc__copy *out)
{
	struct group *g;
	size_t k = 0;
	lc_status status;

	if (r->pid != getpid())
		return lc__copies_take(r->copies, wanted, out);
	g = group_of(r);
	if (g == NULL || g->ahead == NULL) {
		status = lc__copies_take(r->copies, wanted, out);
	} else {
		while (g->members[k].remote != r)
			k++;
		status = lc__ahead_take(g->ahead, g->members[k].first + chunk_of(r, i),
		    out);
	}
	group_drop(g);
	return status;
}

static lc_status
take(struct lc__supplier *supplier, size_t i, char **path, void **taken)
{
	struct lc__remote *r = of(supplier);
	const uint64_t start = lc__clock_ns();
	enum lc__row_state state = LC__ROW_FREE;
	struct lc__wanted wanted;
	struct lc__copy copy;
	lc_status status;

	if (atomic_load(&r->ranged)) {
		atomic_fetch_add(&r->misses, 1);
		return LC_NO_SPACE;
	}
	return_if_error(find(r, i, &wanted));
	return_if_error(lc__copies_look(r->copies, wanted.name, &state));
	/* A part of a split needs the names of all records, and not yet their data. */
	if (r->opening && state != LC__ROW_THERE)
		return LC_NO_SPACE;
	status = take_copy(r, i, &wanted, &copy);
	/* Another process fetches it, and does not get on: the store may be well. */
	if (status == LC_TIMEOUT)
		status = lc__error_as(LC_NO_SPACE);
	if (state != LC__ROW_THERE)
		atomic_fetch_add(&r->stall_ns, lc__clock_ns() - start);
	atomic_fetch_add(state == LC__ROW_THERE ? &r->hits : &r->misses, 1);
	return_if_error(status);
	*path = strdup(copy.path);
	*taken = malloc(sizeof(copy));
	if (*path == NULL || *taken == NULL) {
		lc__copies_give(r->copies, &copy);
		free(*path);
		free(*taken);
		*taken = NULL;
		return lc__no_memory(wanted.name);
	}
	memcpy(*taken, &copy, sizeof(copy));
	return LC_OK;
}

static void
give(struct lc__supplier *supplier, void *taken)
{
	lc__copies_give(of(supplier)->copies, taken);
	free(taken);
}

static lc_status
read_range(struct lc__supplier *supplier, size_t i, uint64_t from, size_t size, void *out)
{
	struct lc__wanted wanted;

	return_if_error(find(of(supplier), i, &wanted));
	return lc__copies_read(of(supplier)->copies, &wanted, from, size, out);
}

/* A file that cannot be mended is damaged as before, and whoever reads it says so. */
static void
mend(struct lc__supplier *supplier, void *taken, uint64_t from, const void *bytes,
    size_t size)
{
	const lc_error before = *lc_last_error();
	struct lc__remote *r = of(supplier);
	const struct lc__copy *copy = taken;
	lc_status status;

	status = bytes != NULL
	    ? lc__copies_mend(r->copies, copy, from, bytes, size)
	    : lc__copies_drop(r->copies, copy->path + strlen(r->dir) - strlen(DIR), copy);
	if (status != LC_OK)
		(void)lc__error_raise(&before);
}

/* ---- what a reader tells ----------------------------------------------------------------- */

static bool
next(void *ctx, uint64_t now, uint64_t k, uint64_t *chunk, uint64_t *batch)
{
	return lc__forecast_next(((struct group *)ctx)->forecast, now, k, chunk, batch);
}

static uint64_t
when(void *ctx, uint64_t chunk, uint64_t now)
{
	return lc__forecast_when(((struct group *)ctx)->forecast, chunk, now);
}

static lc_status
find_chunk(void *ctx, uint64_t chunk, struct lc__wanted *out, struct lc__copies **copies)
{
	const struct group *g = ctx;
	size_t low = 0, high = g->n - 1;
	struct lc__remote *r;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (g->members[middle].end <= chunk)
			low = middle + 1;
		else
			high = middle;
	}
	r = g->members[low].remote;
	chunk -= g->members[low].first;
	*copies = r->copies;
	return find(r, r->shard_of != NULL ? r->shard_of[chunk] : chunk, out);
}

/* Its limit, the largest if the members differ. */
static uint64_t
limit_of(const struct group *g)
{
	uint64_t most = 0;

	for (size_t i = 0; i < g->n; i++)
		if (g->members[i].remote->how.limit > most)
			most = g->members[i].remote->how.limit;
	return most;
}

/* The bytes of what is needed from batch @p from to @p until, and fetched ahead then; an object
 * that several chunks are counts once.
 * @param lacking  only of objects that the directory does not have */
static lc_status
measure(struct group *g, uint64_t from, uint64_t until, bool lacking, uint64_t *out)
{
	const uint64_t limit = limit_of(g), ahead = g->members[0].remote->how.ahead;
	uint64_t chunk, batch, more = 0, sum = 0;
	struct lc__idset seen = { 0 };
	lc_status status = LC_OK;

	/* It makes no difference how far it is below. */
	for (uint64_t k = 0; sum <= limit; k++) {
		enum lc__row_state state = LC__ROW_FREE;
		struct lc__copies *copies;
		struct lc__wanted wanted;
		bool added = false;

		if (!lc__forecast_next(g->forecast, from, k, &chunk, &batch))
			break;
		if (batch > until && more++ == ahead)
			break;
		status = find_chunk(g, chunk, &wanted, &copies);
		if (status == LC_OK && lacking)
			status = lc__copies_look(copies, wanted.name, &state);
		if (status == LC_OK && state != LC__ROW_THERE)
			status = lc__idset_add(&seen,
			    (lc_id){ wanted.name, strlen(wanted.name) }, 0, &added, NULL);
		if (status != LC_OK)
			break;
		if (added)
			sum += lc__roster_blocks(wanted.size);
	}
	lc__idset_free(&seen);
	*out = sum;
	return status;
}

/* Do two sources share the room? */
static bool
is_same_cache(const struct lc__remote *a, const struct lc__remote *b)
{
	return a->how.ranges == b->how.ranges &&
	    ((a->dev == b->dev && a->ino == b->ino) || strcmp(a->dir, b->dir) == 0);
}

/* The numbers of chunks, where shards without samples are none. */
static lc_status
number_chunks(struct lc__remote *r, const struct lc__fetched *f)
{
	const size_t shards = r->supplier.set->n;
	struct lc__layout *layout;
	lc_status status = LC_OK;
	struct lc__chunk_row row;

	if (f->chunks == shards || r->chunk_of != NULL)
		return LC_OK;
	r->shard_of = calloc(f->chunks + 1, sizeof(*r->shard_of));
	r->chunk_of = calloc(shards + 1, sizeof(*r->chunk_of));
	if (r->shard_of == NULL || r->chunk_of == NULL)
		return lc__no_memory(r->name);
	layout = lc__source_layout(f->source);
	for (uint64_t i = 0; i < f->chunks && status == LC_OK; i++) {
		status = lc__layout_row(layout, i, &row);
		if (status != LC_OK)
			break;
		r->shard_of[i] = row.id;
		r->chunk_of[row.id] = i;
	}
	lc__layout_drop(layout);
	return status;
}

static struct lc__remote *
remote_of(const struct lc__fetched *f)
{
	return lc__shards_source_of(f->source)->ctx;
}

/* Begin to fetch what the members of a group need. */
static lc_status
start_group(struct group *g, uint64_t from)
{
	const struct lc__future future = { next, when, find_chunk, g };
	const struct lc__remote *first = g->members[0].remote;
	bool ranged = true;
	uint64_t least;

	return_if_error(measure(g, from, from, false, &least));
	for (size_t i = 0; i < g->n; i++) {
		struct lc__remote *r = g->members[i].remote;

		atomic_store(&r->reached, from);
		atomic_store(&r->turn, 0);
		atomic_store(&r->least, least);
		atomic_store(&r->ranged, r->how.ranges || least > r->how.limit);
		ranged = ranged && atomic_load(&r->ranged);
	}
	return ranged ? LC_OK
		      : lc__ahead_open(first->copies, &future, from, first->how.ahead,
			    first->how.threads, &g->ahead);
}

/* Those of all[k] on that share its cache, which are marked as done. */
static lc_status
make_group(lc_stream *stream, struct lc__ranks ranks, uint64_t from,
    const struct lc__fetched *all, size_t n, size_t k, bool *done)
{
	struct lc__chunk_range *ranges = calloc(n, sizeof(*ranges));
	struct group *g = calloc(1, sizeof(*g) + n * sizeof(g->members[0]));
	struct lc__visits *visits = NULL;
	lc_status status = LC_OK;

	if (ranges == NULL || g == NULL) {
		free(ranges);
		free(g);
		return lc__no_memory("prefetch");
	}
	atomic_init(&g->refs, 1);
	for (size_t i = k; i < n && status == LC_OK; i++) {
		struct lc__remote *r = remote_of(&all[i]);

		if (done[i] || !is_same_cache(remote_of(&all[k]), r))
			continue;
		done[i] = true;
		ranges[g->n] = (struct lc__chunk_range){ all[i].first,
			all[i].first + all[i].chunks };
		g->members[g->n++] = (struct member){ r, all[i].first,
			all[i].first + all[i].chunks };
		set_group(r, NULL);
		status = number_chunks(r, &all[i]);
	}
	if (status == LC_OK)
		status = lc__visits_of_stream(stream, ranks, from, ranges, g->n, &visits);
	free(ranges);
	if (status == LC_OK)
		status = lc__forecast_new(visits, &g->forecast);
	if (status == LC_OK)
		status = start_group(g, from);
	for (size_t i = 0; i < g->n && status == LC_OK; i++)
		set_group(g->members[i].remote, g);
	group_drop(g);
	return status;
}

static lc_status
foresee(lc_stream *stream, struct lc__ranks ranks, uint64_t from,
    const struct lc__fetched *all, size_t n)
{
	bool *done = calloc(n, sizeof(*done));
	lc_status status = LC_OK;

	if (done == NULL)
		return lc__no_memory("prefetch");
	for (size_t i = 0; i < n && status == LC_OK; i++)
		if (!done[i])
			status = make_group(stream, ranks, from, all, n, i, done);
	free(done);
	return status;
}

struct reaching {
	const struct lc__remote *remote;
	const struct group *group;
	uint64_t batch;
	bool all; /* shards are wanted, as there is room */
};

static bool
is_wanted(void *ctx, size_t shard)
{
	const struct reaching *at = ctx;

	if (at->all)
		return true;
	for (size_t i = 0; i < at->group->n; i++) {
		const struct member *m = &at->group->members[i];
		uint64_t batch;

		if (m->remote != at->remote)
			continue;
		batch = lc__forecast_when(at->group->forecast,
		    m->first + chunk_of(at->remote, shard), at->batch);
		if (batch != LC__NO_BATCH && batch <= at->batch + SOON)
			return true;
	}
	return false;
}

/* Is there room for all that will be fetched until batch @p turn? Then no copy has to go before
 * it, and shards that are not needed soon stay open, and pinned: one that is opened again is
 * mapped and verified again. */
static bool
has_room(struct lc__remote *r, struct group *g, uint64_t batch, uint64_t turn)
{
	const lc_error before = *lc_last_error();
	uint64_t room, more;

	if (measure(g, batch, turn, true, &more) == LC_OK &&
	    lc__copies_room(r->copies, &room) == LC_OK)
		return more <= room;
	(void)lc__error_raise(&before);
	return false;
}

static void
reach(void *ctx, uint64_t batch)
{
	struct lc__remote *r = ctx;
	struct group *g = group_of(r);
	struct reaching at = { r, g, batch, false };

	if (g != NULL && g->ahead != NULL && batch > atomic_load(&r->reached)) {
		atomic_store(&r->reached, batch);
		lc__ahead_move(g->ahead, batch);
		if (batch >= atomic_load(&r->turn)) {
			const uint64_t turn = lc__forecast_turn(g->forecast, batch);

			at.all = has_room(r, g, batch, turn);
			if (lc__shardset_shut(r->supplier.set, is_wanted, &at))
				atomic_store(&r->turn, turn);
		}
	}
	group_drop(g);
}

/* ---- opening and closing ----------------------------------------------------------------- */

static void
stop(void *ctx)
{
	struct lc__remote *r = ctx;

	/* In a child, threads of its parent had locks of these. */
	if (r->pid == getpid())
		set_group(r, NULL);
}

static void
close_remote(struct lc__remote *r)
{
	lc__copies_close(r->copies);
	pthread_mutex_destroy(&r->lock);
	free(r->chunk_of);
	free(r->shard_of);
	free(r->name);
	free(r->dir);
	free(r);
}

/* With its store, when the source is gone. */
static void
end(void *ctx)
{
	struct lc__remote *r = ctx;
	struct lc__objects *objects = r->objects;

	close_remote(r);
	lc__objects_close(objects);
}

static lc_status
choose_generation(struct lc__remote *r)
{
	struct lc__generations list = { .n = 0 };

	r->generation = r->how.generation;
	if (r->generation != 0)
		return LC_OK;
	return_if_error(lc__generations_list(r->objects, &list));
	if (list.n > 0)
		r->generation = list.all[list.n - 1].number;
	free(list.all);
	return list.n > 0
	    ? LC_OK
	    : lc__error(LC_NO_FILE, 0, "%s: has no generation yet", r->objects->url);
}

static const struct lc__shards_fetch fetch = { foresee, reach, stop, end };

static bool
is_none(void *ctx, size_t i)
{
	(void)ctx, (void)i;
	return false;
}

static lc_status
open_source(struct lc__remote *r, const lc_source_options *options, lc_source **out)
{
	struct lc__manifest manifest = { 0 };
	char name[LC__OBJECT_NAME];
	struct lc__buf text = { 0 };
	struct stat st;
	lc_status status;

	return_if_error(choose_generation(r));
	lc__name_generation(r->generation, name);
	r->name = lc__path_join(r->objects->url, name);
	if (r->name == NULL)
		return lc__no_memory(r->objects->url);
	return_if_error(lc__copies_open(r->how.cache, r->how.limit, r->how.shared,
	    r->objects, &r->copies));
	if (stat(r->how.cache, &st) == -1)
		return lc__error_sys(errno, "%s: stat", r->how.cache);
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	status = lc__generation_read(r->objects, r->generation, &text, &manifest);
	if (status == LC_NO_FILE)
		status = lc__error(LC_NO_FILE, 0, "%s: has no generation %llu",
		    r->objects->url, (unsigned long long)r->generation);
	lc__manifest_free(&manifest);
	if (status == LC_OK) {
		const struct lc__warehouse_text at = {
			.dir = r->dir,
			.name = r->name,
			.text = text.data,
			.size = text.size,
			.supplier = &r->supplier,
		};

		r->opening = true;
		status = lc__source_open_text(&at, options, &fetch, r, out);
		r->opening = false;
		/* Shards that were read by ranges are opened anew. */
		if (status == LC_OK)
			(void)lc__shardset_shut(r->supplier.set, is_none, NULL);
	}
	lc__buf_free(&text);
	return status;
}

lc_status
lc__remote_source(struct lc__objects *objects, const struct lc__remote_options *how,
    const lc_source_options *options, lc_source **out)
{
	struct lc__remote *r = calloc(1, sizeof(*r));
	lc_status status;

	if (r == NULL)
		return lc__no_memory("source");
	r->supplier = (struct lc__supplier){
		.url = objects->url,
		.part = part,
		.take = take,
		.give = give,
		.read = read_range,
		.mend = mend,
	};
	r->objects = objects;
	r->how = *how;
	atomic_init(&r->ranged, how->ranges);
	r->pid = getpid();
	pthread_mutex_init(&r->lock, NULL);
	r->dir = lc__path_join(how->cache, DIR);
	status = r->dir != NULL ? open_source(r, options, out)
				: lc__no_memory(how->cache);
	if (status != LC_OK)
		close_remote(r);
	return status;
}

static void
add_stats(const struct lc__remote *r, lc_fetch_stats *out)
{
	const struct lc__copies_stats *c = lc__copies_stats(r->copies);

	if (out->generation == 0)
		out->generation = r->generation;
	/* Sources that share a cache have one least cache. */
	if (r->least > out->least_bytes)
		out->least_bytes = r->least;
	out->ranges |= r->ranged;
	out->hits += r->hits;
	out->misses += r->misses;
	out->fetched += c->fetched;
	out->fetched_bytes += c->bytes;
	out->range_requests += c->ranges;
	out->evicted += c->evicted;
	out->refetched += c->again;
	out->resumed += c->resumed;
	out->mended += c->mended;
	out->failed += c->failed;
	out->stall_ns += r->stall_ns;
	out->requests += r->objects->traffic.requests;
	out->retries += r->objects->traffic.retries;
	out->retry_wait_ns += r->objects->traffic.waited_ns;
}

lc_status
lc__remote_stats(const lc_source *source, lc_fetch_stats *out)
{
	/* A const source may be locked: that does not change its value. */
	struct lc__layout *layout = lc__source_layout((lc_source *)source);
	struct lc__fetched_list list = { .n = 0 };
	lc_status status = lc__source_fetched((lc_source *)source, layout, 0, &list);

	lc__layout_drop(layout);
	if (status == LC_OK && list.n == 0)
		status = lc__error(LC_UNSUPPORTED, 0, "the source is not of a store");
	if (status == LC_OK)
		*out = (lc_fetch_stats){ .struct_size = sizeof(*out) };
	for (size_t i = 0; i < list.n && status == LC_OK; i++) {
		bool before = false;

		/* A source may be in a list several times. */
		for (size_t k = 0; k < i && !before; k++)
			before = list.all[k].source == list.all[i].source;
		if (!before)
			add_stats(remote_of(&list.all[i]), out);
	}
	free(list.all);
	return status;
}
