/* SPDX-License-Identifier: BSD-2-Clause */
/* Generations of a store read through a cache: the same batches as from the shards in a
 * directory, whatever the cache's size, and whatever happens to it and to the store. */
#include "config.h"

#include "run.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "fake_build.h"
#include "need.h"
#include "objects/directory.h"
#include "objects/url.h"
#include "odd_store.h"
#include "outdir_files.h"
#include "publish/publish.h"
#include "publish/pull.h"
#include "publish/push.h"
#include "remote/remote.h"
#include "serving.h"
#include "stream/cache_model.h"
#include "stream/stream.h"

#define SHARDS 40u
#define PER_SHARD 20u
#define KIB ((uint64_t)1 << 10)

static const char *scratch;
static char cache[4000];
static char pulled[2][4000]; /* what is in the stores, by cachex pull */
static struct odd_store store, second;
static lc_cache *joined[2]; /* modules; or NULL */
static uint64_t shard_size; /* of each, in blocks */
static uint64_t part_size;  /* of the manifest of the part */

static void
tell_nobody(void *ctx, size_t part, enum lc__pushed what)
{
	(void)ctx, (void)part, (void)what;
}

static lc_status
note_size(void *ctx, const struct lc__object *object)
{
	*(uint64_t *)ctx = lc__roster_blocks(object->size);
	return LC_OK;
}

/* A store with one generation of samples from a number on, and what cachex pull makes of
 * it. */
static void
make_generation(struct odd_store *out, const char *below, uint64_t first, char copy[4000])
{
	static uint64_t numbers[SHARDS * PER_SHARD];
	const struct fake_variant v = { .samples = SHARDS * PER_SHARD,
		.numbers = numbers };
	char dir[4000], built[4000];
	struct lc__push_source source;
	struct lc__push push = {
		.source = &source,
		.producer = "test",
		.threads = 1,
		.told = tell_nobody,
	};
	struct lc__push_result pushed;
	struct lc__published published = { .generation = 0 };
	struct lc__pulled result;
	lc_export_result exported;

	for (uint64_t i = 0; i < SHARDS * PER_SHARD; i++)
		numbers[i] = first + i;
	snprintf(dir, sizeof(dir), "%s/%s", scratch, below);
	snprintf(built, sizeof(built), "%s/built%llu", scratch,
	    (unsigned long long)first);
	snprintf(copy, 4000, "%s/pulled%llu", scratch, (unsigned long long)first);
	snprintf(cache, sizeof(cache), "%s/cache", scratch);
	assert_ok(fake_build(built, &v, &exported));
	odd_store_make(out, dir, 0, 0, 0, 1);
	push.store = out->real;
	assert_ok(lc__push_shards(built, &source));
	assert_ok(lc__push_run(&push, &pushed));
	lc__push_source_close(&source);
	assert_ok(lc__publish_run(out->real, pushed.run, &published));
	lc__published_free(&published);
	assert_ok(lc__pull(out->real, 0, copy, 1, NULL, &result));
	assert_ok(out->real->list(out->real, "obj/", note_size, &shard_size));
	assert_ok(out->real->list(out->real, "part/", note_size, &part_size));
}

static void
setup(void)
{
	scratch = run_scratch();
	make_generation(&store, "store", 0, pulled[0]);
}

/* Where the server keeps s3://bucket/store. */
static void
setup_served(void)
{
	char path[4100];

	scratch = run_scratch();
	snprintf(path, sizeof(path), "%s/s3/bucket", scratch);
	need_ok(lc__make_dirs(path));
	make_generation(&store, "s3/bucket/store", 0, pulled[0]);
}

/* With a second one. */
static void
setup_two(void)
{
	setup();
	make_generation(&second, "second", 5000, pulled[1]);
}

static void
teardown_two(void)
{
	for (int i = 0; i < 2; i++)
		need_ok(lc_close(joined[i]));
	odd_store_free(&store);
	odd_store_free(&second);
}

static void
teardown(void)
{
	odd_store_free(&store);
}

/* ---- reading ------------------------------------------------------------------------------ */

static lc_status
open_remote(uint64_t limit, lc_source **source)
{
	const struct lc__remote_options how = {
		.cache = cache,
		.limit = limit,
		.ahead = 2,
		.threads = 2,
	};
	lc_source_options options;

	lc_source_options_init(&options);
	return lc__remote_source(&store.objects, &how, &options, source);
}

static lc_source *
open_local(void)
{
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	need_ok(lc_source_open_shards(pulled[0], &options, &source));
	return source;
}

/* Two shares of windows of two shards. */
static lc_stream *
open_stream(lc_source *source, uint64_t epochs, uint64_t seed)
{
	lc_stream_options options;
	lc_stream *stream;

	lc_stream_options_init(&options);
	options.shuffle = LC_SHUFFLE_BLOCK;
	options.shares = 2;
	options.spread = 2;
	options.batch = 8;
	options.epochs = epochs;
	options.seed = seed;
	need_ok(lc_stream_open(&source, 1, &options, &stream));
	return stream;
}

static lc_reader *
open_reader(lc_stream *stream, unsigned threads)
{
	lc_reader_options options;
	lc_reader *reader;

	lc_reader_options_init(&options);
	options.threads = threads;
	need_ok(lc_reader_open(stream, &options, &reader));
	return reader;
}

/* Without bytes there need not be an address. */
static bool
same_bytes(const void *a, const void *b, size_t size)
{
	return size == 0 || memcmp(a, b, size) == 0;
}

static bool
same_batch(const lc_batch *a, const lc_batch *b)
{
	bool same = a->number == b->number && a->rows == b->rows &&
	    a->n_fields == b->n_fields &&
	    same_bytes(a->examples, b->examples, a->rows * sizeof(*a->examples));

	for (size_t i = 0; same && i < a->rows; i++)
		same = a->ids[i].size == b->ids[i].size &&
		    same_bytes(a->ids[i].data, b->ids[i].data, a->ids[i].size);
	for (size_t i = 0; same && i < a->n_fields; i++)
		same = a->fields[i].nbytes == b->fields[i].nbytes &&
		    same_bytes(a->fields[i].data, b->fields[i].data,
			a->fields[i].nbytes);
	return same;
}

/* All batches of so many epochs are what they are from the directory. @p fn is called before
 * each. */
static void
compare(lc_source *source, uint64_t epochs, unsigned threads, void (*fn)(uint64_t))
{
	const uint64_t seed = run_seed();
	lc_source *local = open_local();
	lc_stream *ours = open_stream(source, epochs, seed);
	lc_stream *theirs = open_stream(local, epochs, seed);
	lc_reader *a = open_reader(ours, threads), *b = open_reader(theirs, 0);
	const lc_batch *x, *y;
	uint64_t n = 0;

	for (;; n++) {
		const lc_status status = lc_reader_next(b, &y);

		if (fn != NULL)
			fn(n);
		need_status(lc_reader_next(a, &x), status);
		if (status == LC_END)
			break;
		need(same_batch(x, y));
		lc_batch_release(x);
		lc_batch_release(y);
	}
	need(n == SHARDS * PER_SHARD * epochs / 8);
	lc_reader_close(a);
	lc_reader_close(b);
	lc_stream_close(ours);
	lc_stream_close(theirs);
	lc_source_close(local);
}

static lc_fetch_stats
stats_of(const lc_source *source)
{
	lc_fetch_stats stats;

	stats.struct_size = sizeof(stats);
	assert_ok(lc_source_fetch_stats(source, &stats));
	return stats;
}

/* ---- sizes of the cache -------------------------------------------------------------------- */

START_TEST(all_fits)
{
	lc_source *source;

	assert_ok(open_remote(100 * shard_size, &source));
	ck_assert_uint_eq(stats_of(source).fetched, 0);
	compare(source, 3, 2, NULL);
	/* Each shard once, and the manifest of the part. */
	ck_assert_uint_eq(stats_of(source).fetched, SHARDS + 1);
	ck_assert_uint_eq(stats_of(source).evicted, 0);
	ck_assert_uint_eq(stats_of(source).range_requests, 0);
	ck_assert_uint_eq(stats_of(source).generation, 1);
	lc_source_close(source);
	/* Warm: each shard is opened once, as there is room for the others. */
	assert_ok(open_remote(100 * shard_size, &source));
	compare(source, 3, 0, NULL);
	ck_assert_uint_eq(stats_of(source).fetched, 0);
	ck_assert_uint_eq(stats_of(source).misses, 0);
	ck_assert_uint_eq(stats_of(source).hits, SHARDS);
	lc_source_close(source);
}
END_TEST

/* Fetches of a model of Belady's rule over the visits of the reader. */
static uint64_t
model(uint64_t epochs, uint64_t room, enum lc__evict evict)
{
	static uint64_t sizes[SHARDS];
	lc_source *local = open_local();
	lc_stream *stream = open_stream(local, epochs, run_seed());
	struct lc__cache_model *m;
	struct lc__visits *visits;
	struct lc__visit visit;
	uint64_t fetches, at = 0;
	bool fetched;

	for (size_t i = 0; i < SHARDS; i++)
		sizes[i] = 1;
	assert_ok(lc__visits_of_stream(stream, (struct lc__ranks){ 0, 1, 1 }, 0, NULL, 0,
	    &visits));
	assert_ok(lc__cache_model_new(evict, room, sizes, &m));
	for (uint64_t k = 0; lc__visits_next(visits, &at, &visit) == LC_OK; k++)
		assert_ok(lc__cache_model_visit(m, k, &visit, &fetched));
	fetches = lc__cache_model_counts(m)->fetches;
	lc__cache_model_free(m);
	lc__visits_free(visits);
	lc_stream_close(stream);
	lc_source_close(local);
	return fetches;
}

START_TEST(some_fit)
{
	for (uint64_t room = 12; room <= 36; room += 8) {
		const uint64_t best = model(4, room, LC__EVICT_FARTHEST);
		const uint64_t oldest = model(4, room, LC__EVICT_OLDEST);
		lc_fetch_stats stats;
		lc_source *source;
		char command[5000];

		/* The manifest of the part has to fit as well. */
		assert_ok(open_remote(room * shard_size + part_size, &source));
		compare(source, 4, 0, NULL);
		stats = stats_of(source);
		printf("# room for %llu of %u: %llu fetched, Belady %llu, LRU %llu; "
		       "%llu of %llu missed, %llu ranges\n",
		    (unsigned long long)room, SHARDS, (unsigned long long)stats.fetched,
		    (unsigned long long)best, (unsigned long long)oldest,
		    (unsigned long long)stats.misses,
		    (unsigned long long)(stats.hits + stats.misses),
		    (unsigned long long)stats.range_requests);
		ck_assert(!stats.ranges);
		/* Besides the manifest. */
		ck_assert_uint_le(100 * (stats.fetched - 1), 103 * best + 100);
		ck_assert_uint_le(odd_disk(cache), room * shard_size + part_size);
		lc_source_close(source);
		snprintf(command, sizeof(command), "rm -rf '%s'", cache);
		ck_assert_int_eq(system(command), 0);
	}
}
END_TEST

START_TEST(too_little)
{
	lc_fetch_stats stats;
	lc_source *source;

	assert_ok(open_remote(3 * shard_size, &source));
	compare(source, 2, 2, NULL);
	stats = stats_of(source);
	ck_assert(stats.ranges && stats.least_bytes > 3 * shard_size);
	ck_assert_uint_eq(stats.fetched, 1);
	ck_assert_uint_gt(stats.range_requests, SHARDS * 2);
	lc_source_close(source);
}
END_TEST

/* Without a reader's forecast, and with fewer places than are wanted at once. */
START_TEST(unforeseen)
{
	lc_source_options options;
	lc_source *source;
	const struct lc__remote_options how = { .cache = cache,
		.limit = 5 * shard_size + 64 * KIB };

	lc_source_options_init(&options);
	options.open_shards = 3;
	assert_ok(lc__remote_source(&store.objects, &how, &options, &source));
	for (uint64_t i = 0; i < SHARDS * PER_SHARD; i += 7) {
		lc_view view;

		assert_ok(lc_source_get(source, i, &view));
		lc_view_release(&view);
	}
	ck_assert_uint_ge(stats_of(source).fetched, SHARDS);
	lc_source_close(source);
}
END_TEST

/* ---- faults ---------------------------------------------------------------------------------- */

static void
flip_some(uint64_t batch)
{
	static uint64_t seed;
	char command[5000];

	if (batch % 40 != 20)
		return;
	seed += batch;
	/* A byte of the first image of each copy, or of its header. */
	snprintf(command, sizeof(command),
	    "cd '%s/obj' && for f in */*.twh1; do printf x | dd of=$f bs=1 seek=%llu "
	    "conv=notrunc 2>/dev/null; done",
	    cache, (unsigned long long)(4096 + run_random(&seed) % 50000));
	need(system(command) == 0);
}

START_TEST(damaged_at_rest)
{
	lc_source *source;
	char command[5000];

	assert_ok(open_remote(100 * shard_size, &source));
	compare(source, 2, 0, NULL);
	lc_source_close(source);
	/* Blocks, in a source that reads them for the first time. */
	flip_some(20);
	assert_ok(open_remote(100 * shard_size, &source));
	compare(source, 1, 2, NULL);
	/* Two threads may find the same. */
	ck_assert_uint_ge(stats_of(source).mended, SHARDS);
	ck_assert_uint_eq(stats_of(source).fetched, 0);
	lc_source_close(source);
	/* Headers, and the manifest of the part. */
	snprintf(command, sizeof(command),
	    "cd '%s' && for f in obj/*/*.twh1 part/*/*.json; do printf x | dd of=$f bs=1 "
	    "seek=9 conv=notrunc 2>/dev/null; done",
	    cache);
	ck_assert_int_eq(system(command), 0);
	assert_ok(open_remote(100 * shard_size, &source));
	compare(source, 1, 2, NULL);
	ck_assert_uint_eq(stats_of(source).fetched, SHARDS + 1);
	lc_source_close(source);
}
END_TEST

static void
remove_cache(uint64_t batch)
{
	char command[5000];

	snprintf(command, sizeof(command), "rm -rf '%s' 2>/dev/null", cache);
	/* What is fetched meanwhile may stay. */
	if (batch % 50 == 25)
		need(system(command) != -1);
}

START_TEST(cache_removed)
{
	lc_source *source;

	assert_ok(open_remote(14 * shard_size, &source));
	compare(source, 3, 2, remove_cache);
	lc_source_close(source);
}
END_TEST

static void
break_something(uint64_t batch)
{
	const int64_t calls = (int64_t)atomic_load(&store.shared->calls);

	/* Not the second try of what was damaged before. */
	if (batch % 7 == 3 && calls > atomic_load(&store.shared->flip_at) + 8)
		atomic_store(&store.shared->flip_at, calls + 1);
}

START_TEST(damaged_on_the_way)
{
	for (uint64_t room = 3; room <= 14; room += 11) {
		lc_source *source;

		assert_ok(open_remote(room * shard_size, &source));
		compare(source, 3, 2, break_something);
		lc_source_close(source);
	}
}
END_TEST

static lc_status
read_through(lc_source *source)
{
	lc_stream *stream = open_stream(source, 1, 7);
	lc_reader *reader = open_reader(stream, 0);
	const lc_batch *batch;
	lc_error kept;
	lc_status status;

	while ((status = lc_reader_next(reader, &batch)) == LC_OK)
		lc_batch_release(batch);
	kept = *lc_last_error();
	lc_reader_close(reader);
	lc_stream_close(stream);
	return status == LC_END ? LC_OK : lc__error_raise(&kept);
}

static char victim[LC__OBJECT_NAME];

static lc_status
note_name(void *ctx, const struct lc__object *object)
{
	(void)ctx;
	strcpy(victim, object->name);
	return LC_OK;
}

START_TEST(lost_or_replaced)
{
	struct lc__buf other = { 0 };
	char name[LC__OBJECT_NAME];
	lc_source *source;

	assert_ok(store.real->list(store.real, "obj/", note_name, NULL));
	strcpy(name, victim);
	assert_ok(store.real->remove(store.real, name));
	for (uint64_t room = 3; room <= 14; room += 11) {
		assert_ok(open_remote(room * shard_size, &source));
		assert_status(read_through(source), LC_CORRUPT);
		ck_assert_msg(strstr(lc_last_error()->text, name) != NULL &&
		    strstr(lc_last_error()->text, "missing") != NULL, "%s",
		    lc_last_error()->text);
		lc_source_close(source);
	}
	/* Another good one. */
	assert_ok(store.real->list(store.real, "obj/", note_name, NULL));
	assert_ok(lc__object_read(store.real, victim, UINT64_MAX, &other));
	assert_ok(lc__object_add(store.real, name, other.data, other.size));
	lc__buf_free(&other);
	for (uint64_t room = 3; room <= 14; room += 11) {
		assert_ok(open_remote(room * shard_size, &source));
		assert_status(read_through(source), LC_CORRUPT);
		ck_assert_msg(strstr(lc_last_error()->text, name) != NULL, "%s",
		    lc_last_error()->text);
		lc_source_close(source);
	}
}
END_TEST

START_TEST(no_generation)
{
	const struct lc__remote_options how = { .cache = cache, .limit = 1 << 20,
		.generation = 2 };
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	assert_status(lc__remote_source(&store.objects, &how, &options, &source),
	    LC_NO_FILE);
}
END_TEST

/* ---- jumps, ranks ----------------------------------------------------------------------------- */

START_TEST(seek)
{
	uint64_t seed = run_seed();
	lc_source *source, *local = open_local();
	lc_stream *ours, *theirs;
	const lc_batch *x, *y;
	lc_reader *a, *b;

	assert_ok(open_remote(14 * shard_size, &source));
	ours = open_stream(source, 5, 3);
	theirs = open_stream(local, 5, 3);
	a = open_reader(ours, 2);
	b = open_reader(theirs, 0);
	for (int i = 0; i < 20; i++) {
		const uint64_t to = run_random(&seed) % 480;

		assert_ok(lc_reader_seek(a, to));
		assert_ok(lc_reader_seek(b, to));
		for (int k = 0; k < 6; k++) {
			assert_ok(lc_reader_next(a, &x));
			assert_ok(lc_reader_next(b, &y));
			ck_assert(same_batch(x, y));
			lc_batch_release(x);
			lc_batch_release(y);
		}
	}
	lc_reader_close(a);
	lc_reader_close(b);
	lc_stream_close(ours);
	lc_stream_close(theirs);
	lc_source_close(source);
	lc_source_close(local);
}
END_TEST

static void
read_in_child(void *ctx)
{
	lc_source *source;

	(void)ctx;
	need_ok(open_remote(24 * shard_size, &source));
	compare(source, 2, 1, NULL);
	lc_source_close(source);
}

START_TEST(ranks)
{
	const uint64_t before = atomic_load(&store.shared->calls);
	pid_t child[3];

	for (int i = 0; i < 3; i++)
		child[i] = child_start(read_in_child, NULL);
	while (atomic_load(&store.shared->calls) < before + 20)
		usleep(1000);
	kill(child[0], SIGKILL);
	for (int i = 0; i < 3; i++) {
		const int status = child_wait(child[i]);

		ck_assert(status == 0 || (i == 0 && status == 128 + SIGKILL));
	}
	ck_assert_uint_le(odd_disk(cache), 24 * shard_size);
}
END_TEST

/* ---- a server that is gone -------------------------------------------------------------------- */

#define SLICE_NS ((uint64_t)200000000) /* of a wait before a request is repeated */

/* The store of setup(), on S3 through a proxy. */
static lc_source *
open_served(struct serving *proxy, struct lc__objects **objects, bool ranges)
{
	const struct lc__remote_options how = {
		.cache = cache,
		.limit = 100 * shard_size,
		.ahead = 0,
		.threads = 0,
		.ranges = ranges,
	};
	static struct serving server;
	lc_source_options options;
	lc_store_options with;
	lc_source *source;

	serving_s3(&server, scratch);
	serving_faults(proxy, scratch, &server);
	serving_environment(proxy->port);
	lc_store_options_init(&with);
	with.retry_s = 86400; /* a day: whoever waits for the retries is stopped by the test */
	need_ok(lc__objects_open("s3://bucket/store", &with, false, objects));
	lc_source_options_init(&options);
	need_ok(lc__remote_source(*objects, &how, &options, &source));
	return source;
}

/* Closing a reader ends the retries of its workers, with whole shards and with ranges. */
START_TEST(closed_while_retrying)
{
	lc_source *source;
	struct lc__objects *objects;
	struct serving proxy;
	const lc_batch *batch;
	lc_stream *stream;
	lc_reader *reader;
	uint64_t waited;

	source = open_served(&proxy, &objects, _i == 1);
	stream = open_stream(source, 1, 7);
	reader = open_reader(stream, 2);
	/* The server has answered. */
	assert_ok(lc_reader_next(reader, &batch));
	lc_batch_release(batch);
	serving_does(&proxy, "--fault '503 key=obj/ times=0'");
	/* Windows have 10 batches, and shards of their own. A seek does not wait for workers. */
	for (uint64_t n = 0; objects->traffic.retries < 4; n++) {
		assert_ok(lc_reader_seek(reader, 20 + n / 16 * 10 % 80));
		usleep(1000);
	}
	waited = objects->traffic.waited_ns;
	lc_reader_close(reader);
	/* Each worker ends the slice of its wait that it is in. */
	waited = objects->traffic.waited_ns - waited;
	ck_assert_msg(waited <= 3 * SLICE_NS, "%llu ns", (unsigned long long)waited);
	lc_stream_close(stream);
	lc_source_close(source);
}
END_TEST

/* ---- several sources in one stream ------------------------------------------------------------- */

/* What a stream is of; of stores, and of the same as directories. */
enum composed { LIST, LIST_OF_LOCAL, LIST_OF_JOIN, LIST_TWICE, PART, LIST_OF_PART, MIXTURE,
	COMPOSED };

static const struct {
	const char *name;
	uint64_t manifests; /* of parts, fetched by the reader */
} composed[] = {
	{ "a list", 2 },
	{ "a list with a directory", 1 },
	{ "a list with a join", 1 },
	{ "a list of one store twice", 1 },
	{ "a part of a split", 0 },
	{ "a list with a part", 1 },
	{ "a mixture", 2 },
};

struct sources {
	lc_source *all[2], *member[2];
	size_t n;
};

static lc_source *
open_one(int which, bool remote, const char *part, uint64_t limit, uint32_t ahead)
{
	const struct lc__remote_options how = {
		.cache = cache,
		.limit = limit,
		.ahead = ahead,
		.threads = 2,
	};
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	options.split = part != NULL ? "a=0.6,b=0.4" : NULL;
	options.part = part;
	need_ok(remote ? lc__remote_source(which == 0 ? &store.objects : &second.objects, &how,
			     &options, &source)
		       : lc_source_open_shards(pulled[which], &options, &source));
	return source;
}

/* Two modules with the same keys. */
static lc_source *
open_join(void)
{
	lc_join modules[2] = { { .name = "a" }, { .name = "b" } };
	const uint64_t shape = 4;
	unsigned char bytes[4] = "abc";
	lc_tensor tensor;
	lc_source *source;

	need_ok(lc_tensor_init(&tensor, LC_U8, 1, &shape, bytes));
	for (int m = 0; m < 2; m++) {
		if (joined[m] == NULL) {
			need_ok(lc_open(scratch, modules[m].name, NULL, &joined[m]));
			for (int i = 0; i < 100; i++) {
				char id[20];

				snprintf(id, sizeof(id), "r%d", i);
				need_ok(lc_put(joined[m], id, strlen(id), &tensor));
				if (i % 30 == 29)
					need_ok(lc_flush(joined[m]));
			}
			need_ok(lc_flush(joined[m]));
		}
		modules[m].cache = joined[m];
	}
	need_ok(lc_source_open_join(modules, 2, LC_MISSING_REFUSE, NULL, &source));
	return source;
}

static struct sources
open_composed(enum composed kind, bool remote, uint64_t limit, uint32_t ahead)
{
	const char *part = kind == PART || kind == LIST_OF_PART ? "a" : NULL;
	struct sources s = { .n = 1 };

	s.member[0] = kind == LIST_OF_JOIN
	    ? open_join()
	    : open_one(0, remote && kind != LIST_OF_LOCAL, part, limit, ahead);
	if (kind == LIST_TWICE)
		s.member[1] = open_one(0, remote, NULL, limit, ahead);
	else if (kind != PART)
		s.member[1] = open_one(1, remote, NULL, limit, ahead);
	if (kind == MIXTURE) {
		s.n = 2;
		s.all[0] = s.member[0];
		s.all[1] = s.member[1];
		return s;
	}
	need_ok(lc_source_open_list(s.member, kind == PART ? 1 : 2, &s.all[0]));
	lc_source_close(s.member[0]);
	lc_source_close(s.member[1]);
	return s;
}

static lc_stream *
stream_of(const struct sources *s, enum composed kind)
{
	static const uint64_t weights[] = { 3, 2 };
	lc_stream_options options;
	lc_stream *stream;

	lc_stream_options_init(&options);
	options.shuffle = LC_SHUFFLE_BLOCK;
	options.shares = 2;
	options.spread = 3;
	options.batch = 8;
	options.epochs = 4;
	options.seed = run_seed();
	if (kind == MIXTURE) {
		options.shuffle = LC_SHUFFLE_NONE;
		options.shares = 0;
		options.epochs = 0;
		options.limit = 4 * 2 * SHARDS * PER_SHARD;
		options.mixture_block = 40;
		options.weights = weights;
	}
	need_ok(lc_stream_open(s->all, s->n, &options, &stream));
	return stream;
}

static void
close_composed(struct sources *s)
{
	for (size_t i = 0; i < s->n; i++)
		lc_source_close(s->all[i]);
}

/* Fetches of a model over the visits to the shards that are in stores. */
static uint64_t
model_of(enum composed kind, uint64_t room, enum lc__evict evict)
{
	struct lc__chunk_range range = { kind == LIST_OF_LOCAL ? SHARDS : 0, 0 };
	lc_source_info info = { .struct_size = sizeof(info) };
	static uint64_t sizes[2 * SHARDS];
	struct sources local = open_composed(kind, false, 0, 0);
	lc_stream *stream = stream_of(&local, kind);
	uint64_t at[2] = { 0, 0 }, fetches;
	struct lc__cache_model *m;
	struct lc__visits *visits;
	struct lc__visit visit;
	bool fetched;

	for (size_t i = 0; i < 2 * SHARDS; i++)
		sizes[i] = 1;
	for (size_t i = 0; i < local.n; i++) {
		assert_ok(lc_source_info_get(local.all[i], &info));
		range.end += info.chunks;
	}
	if (kind == LIST_OF_JOIN)
		range.first = info.chunks - SHARDS;
	assert_ok(lc__visits_of_stream(stream, (struct lc__ranks){ 0, 1, 1 }, 0, &range, 1,
	    &visits));
	assert_ok(lc__cache_model_new(evict, room, sizes, &m));
	for (uint64_t k = 0; lc__visits_next(visits, at, &visit) == LC_OK; k++)
		assert_ok(lc__cache_model_visit(m, k, &visit, &fetched));
	ck_assert_uint_eq(lc__cache_model_counts(m)->too_large, 0);
	fetches = lc__cache_model_counts(m)->fetches;
	lc__cache_model_free(m);
	lc__visits_free(visits);
	lc_stream_close(stream);
	close_composed(&local);
	return fetches;
}

static lc_fetch_stats
stats_of_all(const struct sources *s)
{
	lc_fetch_stats sum = stats_of(s->all[0]), one;

	for (size_t i = 1; i < s->n; i++) {
		one = stats_of(s->all[i]);
		sum.fetched += one.fetched;
		sum.fetched_bytes += one.fetched_bytes;
		sum.range_requests += one.range_requests;
		sum.ranges |= one.ranges;
	}
	return sum;
}

/* Records of a join and of shards have no fields in common. */
static lc_reader *
open_composed_reader(lc_stream *stream, enum composed kind)
{
	static const char *const none[] = { NULL };
	lc_reader_options options;
	lc_reader *reader;

	lc_reader_options_init(&options);
	options.threads = 0;
	options.fields = kind == LIST_OF_JOIN ? none : NULL;
	need_ok(lc_reader_open(stream, &options, &reader));
	return reader;
}

/* The batches of stores are those of the directories; returns what was fetched. */
static lc_fetch_stats
read_composed(enum composed kind, uint64_t limit, uint32_t ahead)
{
	struct sources ours = open_composed(kind, true, limit, ahead);
	struct sources theirs = open_composed(kind, false, 0, 0);
	lc_stream *x = stream_of(&ours, kind), *y = stream_of(&theirs, kind);
	lc_reader *a, *b = open_composed_reader(y, kind);
	lc_fetch_stats before = stats_of_all(&ours), stats;
	const lc_batch *p, *q;
	lc_status status;

	a = open_composed_reader(x, kind);
	do {
		status = lc_reader_next(b, &q);
		need_status(lc_reader_next(a, &p), status);
		if (status == LC_OK) {
			need(same_batch(p, q));
			lc_batch_release(p);
			lc_batch_release(q);
		}
	} while (status == LC_OK);
	need(status == LC_END);
	stats = stats_of_all(&ours);
	/* A part of a split has read the names of its samples when it was opened. */
	stats.fetched_bytes -= before.fetched_bytes;
	stats.fetched -= before.fetched;
	stats.range_requests -= before.range_requests;
	need(odd_disk(cache) <= limit);
	lc_reader_close(a);
	lc_reader_close(b);
	lc_stream_close(x);
	lc_stream_close(y);
	close_composed(&ours);
	close_composed(&theirs);
	return stats;
}

/* Sources that share a directory share its room, as one source would. */
START_TEST(as_one_source)
{
	const enum composed kind = (enum composed)_i;

	for (uint64_t room = 24; room <= 36; room += 12) {
		const uint64_t best = model_of(kind, room, LC__EVICT_FARTHEST);
		const uint64_t oldest = model_of(kind, room, LC__EVICT_OLDEST);
		char command[5000];

		ck_assert_uint_gt(oldest, best);
		for (uint32_t ahead = 0; ahead < 4; ahead += 3) {
			const lc_fetch_stats stats = read_composed(kind,
			    room * shard_size + 2 * part_size, ahead);

			printf("# %s, room for %llu, %u ahead: %llu and %llu bytes "
			       "fetched; Belady %llu, LRU %llu; %llu ranges\n",
			    composed[kind].name, (unsigned long long)room, ahead,
			    (unsigned long long)stats.fetched,
			    (unsigned long long)stats.fetched_bytes,
			    (unsigned long long)best, (unsigned long long)oldest,
			    (unsigned long long)stats.range_requests);
			ck_assert(!stats.ranges);
			ck_assert_uint_eq(stats.range_requests, 0);
			/* Objects that two chunks are need to be there once. */
			if (kind == LIST_TWICE)
				ck_assert_uint_lt(stats.fetched, best);
			else if (ahead == 0)
				ck_assert_uint_eq(stats.fetched,
				    best + composed[kind].manifests);
			else
				ck_assert_uint_le(
				    100 * (stats.fetched - composed[kind].manifests),
				    103 * best);
			snprintf(command, sizeof(command), "rm -rf '%s'", cache);
			ck_assert_int_eq(system(command), 0);
		}
	}
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("remote");
	TCase *one = tcase_create("one");
	TCase *two = tcase_create("two");
	TCase *served = tcase_create("served");

	tcase_add_checked_fixture(one, setup, teardown);
	tcase_set_timeout(one, 120);
	tcase_add_test(one, all_fits);
	tcase_add_test(one, some_fit);
	tcase_add_test(one, too_little);
	tcase_add_test(one, unforeseen);
	tcase_add_test(one, damaged_at_rest);
	tcase_add_test(one, cache_removed);
	tcase_add_test(one, damaged_on_the_way);
	tcase_add_test(one, lost_or_replaced);
	tcase_add_test(one, no_generation);
	tcase_add_test(one, seek);
	tcase_add_test(one, ranks);
	suite_add_tcase(s, one);
	tcase_add_checked_fixture(two, setup_two, teardown_two);
	tcase_set_timeout(two, 240);
	tcase_add_loop_test(two, as_one_source, 0, COMPOSED);
	suite_add_tcase(s, two);
	tcase_add_checked_fixture(served, setup_served, teardown);
	tcase_set_timeout(served, 60);
#ifdef HAVE_S3
	if (serving_possible())
		tcase_add_loop_test(served, closed_while_retrying, 0, 2);
	else
		printf("# skipped what needs python3\n");
#endif
	suite_add_tcase(s, served);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
