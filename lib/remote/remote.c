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
#include "objects/names.h"
#include "remote/ahead.h"
#include "remote/copies.h"
#include "remote/generations.h"
#include "stream/forecast.h"
#include "stream/source_shards.h"

#define DIR "manifest"
#define SOON 16u /* batches: shards that are needed by then stay open */

struct lc__remote {
	struct lc__supplier supplier;
	struct lc__objects *objects;
	struct lc__remote_options how;
	uint64_t generation;
	char *dir;  /* that the paths in the manifest start from */
	char *name; /* of the manifest, for messages */
	struct lc__copies *copies;
	pid_t pid;             /* a child has no reader's threads */
	pthread_rwlock_t lock; /* guards what follows; held while a shard is opened */
	struct lc__forecast *forecast; /* or NULL */
	struct lc__ahead *ahead;       /* or NULL */
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
find(void *ctx, uint64_t shard, struct lc__wanted *out)
{
	const struct lc__setparts *parts =
	    &((struct lc__remote *)ctx)->supplier.set->said;
	struct lc__said said;

	return_if_error(lc__setparts_said(parts, (size_t)shard, &said));
	if (strlen(said.shard.relative_path) >= sizeof(out->name))
		return lc__error(LC_CORRUPT, 0, "%s: not a name of a shard in a store",
		    said.shard.relative_path);
	strcpy(out->name, said.shard.relative_path);
	out->size = said.shard.bytes;
	out->part = lc__setparts_name(parts, (size_t)shard);
	out->when = 0;
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

static lc_status
take_copy(struct lc__remote *r, size_t i, const struct lc__wanted *wanted,
    struct lc__copy *out)
{
	lc_status status;

	if (r->pid != getpid())
		return lc__copies_take(r->copies, wanted, out);
	pthread_rwlock_rdlock(&r->lock);
	status = r->ahead != NULL ? lc__ahead_take(r->ahead, i, out)
				  : lc__copies_take(r->copies, wanted, out);
	pthread_rwlock_unlock(&r->lock);
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
next(void *ctx, uint64_t now, uint64_t k, uint64_t *shard, uint64_t *batch)
{
	return lc__forecast_next(((struct lc__remote *)ctx)->forecast, now, k, shard,
	    batch);
}

static uint64_t
when(void *ctx, uint64_t shard, uint64_t now)
{
	return lc__forecast_when(((struct lc__remote *)ctx)->forecast, shard, now);
}

/* What is needed at once, and fetched ahead. */
static lc_status
measure(struct lc__remote *r, uint64_t from, uint64_t *least)
{
	uint64_t shard, batch, more = 0, sum = 0;
	struct lc__wanted wanted;

	for (uint64_t k = 0; more < r->how.ahead; k++) {
		if (!lc__forecast_next(r->forecast, from, k, &shard, &batch))
			break;
		more += batch > from;
		return_if_error(find(r, shard, &wanted));
		sum += lc__roster_blocks(wanted.size);
		/* It makes no difference how far it is below. */
		if (sum > r->how.limit)
			break;
	}
	*least = sum;
	return LC_OK;
}

/* The forecast before, if any, has ended. */
static void
forget(struct lc__remote *r)
{
	lc__ahead_close(r->ahead);
	lc__forecast_free(r->forecast);
	r->ahead = NULL;
	r->forecast = NULL;
}

static lc_status
foresee(void *ctx, struct lc__visits *visits, uint64_t from)
{
	struct lc__remote *r = ctx;
	const struct lc__future future = { next, when, find, r };
	struct lc__forecast *forecast = NULL;
	uint64_t least;
	lc_status status;

	return_if_error(lc__forecast_new(visits, r->supplier.set->n, &forecast));
	pthread_rwlock_wrlock(&r->lock);
	forget(r);
	r->forecast = forecast;
	atomic_store(&r->reached, from);
	atomic_store(&r->turn, 0);
	status = measure(r, from, &least);
	if (status == LC_OK) {
		atomic_store(&r->least, least);
		atomic_store(&r->ranged, r->how.ranges || least > r->how.limit);
		if (!atomic_load(&r->ranged))
			status = lc__ahead_open(r->copies, &future, from, r->how.ahead,
			    r->how.threads, &r->ahead);
	}
	if (status != LC_OK)
		forget(r);
	pthread_rwlock_unlock(&r->lock);
	return status;
}

static bool
is_wanted(void *ctx, size_t i)
{
	struct lc__remote *r = ctx;
	const uint64_t now = atomic_load(&r->reached);
	const uint64_t batch = lc__forecast_when(r->forecast, i, now);

	return batch != LC__NO_BATCH && batch <= now + SOON;
}

/* Is there room for all that is needed at once and fetched ahead? Then shards that are not
 * needed soon stay open, and pinned: one that is opened again is mapped and verified again. */
static bool
has_room(struct lc__remote *r)
{
	const lc_error before = *lc_last_error();
	uint64_t room;

	if (lc__copies_room(r->copies, &room) == LC_OK)
		return room >= atomic_load(&r->least);
	(void)lc__error_raise(&before);
	return false;
}

static void
reach(void *ctx, uint64_t batch)
{
	struct lc__remote *r = ctx;

	/* Whoever opens a shard meanwhile may take long: the next batch does as well. */
	if (pthread_rwlock_tryrdlock(&r->lock) != 0)
		return;
	if (r->ahead != NULL && batch > atomic_load(&r->reached)) {
		atomic_store(&r->reached, batch);
		lc__ahead_move(r->ahead, batch);
		if (batch >= atomic_load(&r->turn) &&
		    (has_room(r) || lc__shardset_shut(r->supplier.set, is_wanted, r)))
			atomic_store(&r->turn, lc__forecast_turn(r->forecast, batch));
	}
	pthread_rwlock_unlock(&r->lock);
}

/* ---- opening and closing ----------------------------------------------------------------- */

static void
stop(void *ctx)
{
	struct lc__remote *r = ctx;

	/* In a child, threads of its parent had locks of these. */
	if (r->pid == getpid())
		forget(r);
}

static void
close_remote(struct lc__remote *r)
{
	lc__copies_close(r->copies);
	pthread_rwlock_destroy(&r->lock);
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

static lc_status
open_source(struct lc__remote *r, const lc_source_options *options, lc_source **out)
{
	struct lc__manifest manifest = { 0 };
	char name[LC__OBJECT_NAME];
	struct lc__buf text = { 0 };
	lc_status status;

	return_if_error(choose_generation(r));
	lc__name_generation(r->generation, name);
	r->name = lc__path_join(r->objects->url, name);
	if (r->name == NULL)
		return lc__no_memory(r->objects->url);
	return_if_error(lc__copies_open(r->how.cache, r->how.limit, r->how.shared,
	    r->objects, &r->copies));
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

		status = lc__source_open_text(&at, options, &fetch, r, out);
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
	pthread_rwlock_init(&r->lock, NULL);
	r->dir = lc__path_join(how->cache, DIR);
	status = r->dir != NULL ? open_source(r, options, out)
				: lc__no_memory(how->cache);
	if (status != LC_OK)
		close_remote(r);
	return status;
}

struct lc__remote *
lc__remote_of(const lc_source *source)
{
	return lc__shards_fetched_by(source, &fetch);
}

void
lc__remote_stats(struct lc__remote *r, lc_fetch_stats *out)
{
	const struct lc__copies_stats *c = lc__copies_stats(r->copies);

	*out = (lc_fetch_stats){
		.struct_size = sizeof(*out),
		.generation = r->generation,
		.least_bytes = r->least,
		.ranges = r->ranged,
		.hits = r->hits,
		.misses = r->misses,
		.fetched = c->fetched,
		.fetched_bytes = c->bytes,
		.range_requests = c->ranges,
		.evicted = c->evicted,
		.refetched = c->again,
		.resumed = c->resumed,
		.mended = c->mended,
		.failed = c->failed,
		.stall_ns = r->stall_ns,
		.requests = r->objects->traffic.requests,
		.retries = r->objects->traffic.retries,
		.retry_wait_ns = r->objects->traffic.waited_ns,
	};
}
