/* SPDX-License-Identifier: BSD-2-Clause */
/* Many threads on one handle, many processes on one module. */
#include "run.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define WRITERS 2
#define READERS 4
#define KEYS 200  /* that both writers write */
#define GROUP 6   /* keys of one writer that each of its commits writes together */

/* What the processes of one test share. */
struct shared {
	const char *root;
	uint64_t seed;
	unsigned commits;            /* of each writer */
	atomic_uint number;          /* given to each process */
	atomic_uint opened;          /* readers that have opened the module */
	atomic_uint written;         /* writers that are done */
	atomic_uint reads[READERS];  /* of each reader */
};

static struct shared *
make_shared(unsigned commits)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert(shared != MAP_FAILED);
	shared->root = run_scratch();
	shared->seed = run_seed();
	shared->commits = commits;
	return shared;
}

static size_t
group_id(char *id, unsigned writer, int i)
{
	return (size_t)sprintf(id, "group-%u-%d", writer, i);
}

/* Versions of a writer rise, and say whose they are. */
static void
writer(void *ctx)
{
	struct shared *shared = ctx;
	const unsigned me = atomic_fetch_add(&shared->number, 1);
	const struct sample_range range = { 8, 3000 };
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(shared->root, "m", &options);
	uint64_t random = shared->seed + me, version = me;
	char id[SAMPLE_ID_ROOM];
	size_t size;

	for (unsigned i = 0; i < shared->commits; i++) {
		for (uint64_t n = run_random(&random) % 20; n > 0; n--) {
			size = sample_id(id, run_random(&random) % KEYS);
			version += WRITERS;
			need_ok(sample_put(cache, id, size, version, range));
			size = sample_id(id, run_random(&random) % KEYS);
			if (n % 4 == 0 && lc_contains(cache, id, size) == LC_OK) {
				lc_status gone = lc_delete(cache, id, size);
				need(gone == LC_OK || gone == LC_NOT_FOUND);
			}
		}
		for (int k = 0; k < GROUP; k++) {
			size = group_id(id, me, k);
			need_ok(sample_put(cache, id, size, i, SAMPLE_SMALL));
		}
		need_ok(lc_flush(cache));
	}
	need_ok(lc_close(cache));
	atomic_fetch_add(&shared->written, 1);
}

/* A value is one that was put under this key, and a writer's never get older. */
static void
check_value(const lc_tensor *tensor, const char *id, size_t size,
    uint64_t seen[WRITERS])
{
	const struct sample_range range = { 8, 3000 };
	const uint64_t version = sample_version(tensor);

	need(sample_is(tensor, id, size, version, range));
	need(version >= seen[version % WRITERS]);
	seen[version % WRITERS] = version;
}

static void
read_one(lc_cache *cache, uint64_t *random, uint64_t seen[KEYS][WRITERS])
{
	const uint64_t key = run_random(random) % KEYS;
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, key);
	lc_view view;
	const lc_status status = lc_get(cache, id, size, &view);

	need(status == LC_OK || status == LC_NOT_FOUND);
	if (status != LC_OK)
		return;
	check_value(&view.tensor, id, size, seen[key]);
	lc_view_release(&view);
}

/* A batch reads one snapshot: the keys of a group have one version. */
static void
read_group(lc_cache *cache, unsigned of, uint64_t *seen)
{
	char text[GROUP][40];
	lc_id ids[GROUP];
	lc_view views[GROUP];
	size_t n_missing;

	for (int i = 0; i < GROUP; i++)
		ids[i] = (lc_id){ text[i], group_id(text[i], of, i) };
	need_ok(lc_get_batch(cache, GROUP, ids, views, NULL, &n_missing));
	need(n_missing == 0 || (n_missing == GROUP && *seen == 0));
	for (int i = 0; n_missing == 0 && i < GROUP; i++) {
		const uint64_t version = sample_version(&views[i].tensor);

		need(sample_is(&views[i].tensor, ids[i].data, ids[i].size, version,
		    SAMPLE_SMALL));
		need(i == 0 ? version >= *seen : version == *seen);
		*seen = version;
	}
	lc_views_release(views, GROUP);
}

/* A walk shows one snapshot too, each key once. */
static void
walk(lc_cache *cache)
{
	unsigned groups[WRITERS] = { 0 };
	uint64_t version[WRITERS] = { 0 };
	lc_iter *iter;
	lc_item item;
	lc_status status;
	unsigned of;

	need_ok(lc_iter_open(cache, LC_BY_KEY, "group-", 6, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		of = (unsigned)((const char *)item.id.data)[6] - '0';
		need(of < WRITERS);
		need(groups[of]++ == 0 ||
		    version[of] == sample_version(&item.tensor));
		version[of] = sample_version(&item.tensor);
		need(sample_is(&item.tensor, item.id.data, item.id.size,
		    version[of], SAMPLE_SMALL));
	}
	need(status == LC_END);
	for (of = 0; of < WRITERS; of++)
		need(groups[of] == 0 || groups[of] == GROUP);
	lc_iter_close(iter);
}

static void
reader(void *ctx)
{
	struct shared *shared = ctx;
	const unsigned me = atomic_fetch_add(&shared->number, 1);
	lc_options options = sample_options();
	uint64_t random = shared->seed + 100 + me;
	uint64_t seen[KEYS][WRITERS] = { { 0 } }, group_seen[WRITERS] = { 0 };
	lc_cache *cache;
	bool last;

	options.flags = me % 2 ? LC_RDONLY : 0;
	cache = sample_open(shared->root, "m", &options);
	atomic_fetch_add(&shared->opened, 1);
	do {
		last = atomic_load(&shared->written) == WRITERS;
		for (int i = 0; i < 50; i++)
			read_one(cache, &random, seen);
		for (unsigned of = 0; of < WRITERS; of++)
			read_group(cache, of, &group_seen[of]);
		walk(cache);
		atomic_fetch_add(&shared->reads[me], 1);
	} while (!last);
	/* What the writers did last is there. */
	for (unsigned of = 0; of < WRITERS; of++)
		need(group_seen[of] == shared->commits - 1);
	need_ok(lc_close(cache));
}

START_TEST(writing_and_reading_processes)
{
	struct shared *shared = make_shared(sample_times(300));
	pid_t pids[READERS + WRITERS];

	assert_ok(lc_close(sample_open(shared->root, "m", NULL)));
	for (int i = 0; i < READERS; i++)
		pids[i] = child_start(reader, shared);
	while (atomic_load(&shared->opened) < READERS && kill(pids[0], 0) == 0)
		usleep(1000);
	atomic_store(&shared->number, 0);
	for (int i = READERS; i < READERS + WRITERS; i++)
		pids[i] = child_start(writer, shared);
	for (int i = READERS + WRITERS - 1; i >= 0; i--)
		ck_assert_int_eq(child_wait(pids[i]), 0);
	for (int i = 0; i < READERS; i++)
		ck_assert_uint_gt(atomic_load(&shared->reads[i]), 0);
}
END_TEST

/* ---- the next get sees a commit ------------------------------------------- */

struct pair {
	const char *root;
	int to_reader[2], to_writer[2];
	unsigned times;
};

static void
tell(const int fds[2])
{
	need(write(fds[1], "x", 1) == 1);
}

static void
hear(const int fds[2])
{
	char byte;

	need(read(fds[0], &byte, 1) == 1);
}

static void
opened_before(void *ctx)
{
	struct pair *pair = ctx;
	lc_cache *cache = sample_open(pair->root, "m", NULL);
	lc_view view;

	need_status(lc_get(cache, "k", 1, &view), LC_NOT_FOUND);
	tell(pair->to_writer);
	for (uint64_t version = 0; version < pair->times; version++) {
		hear(pair->to_reader);
		need_ok(lc_get(cache, "k", 1, &view));
		need(sample_is(&view.tensor, "k", 1, version, SAMPLE_SMALL));
		lc_view_release(&view);
		tell(pair->to_writer);
	}
	need_ok(lc_close(cache));
}

START_TEST(next_get_sees_a_commit)
{
	struct pair pair = { .root = run_scratch(), .times = sample_times(200) };
	lc_cache *cache;
	pid_t pid;

	ck_assert_int_eq(pipe(pair.to_reader), 0);
	ck_assert_int_eq(pipe(pair.to_writer), 0);
	pid = child_start(opened_before, &pair);
	close(pair.to_writer[1]);
	hear(pair.to_writer);
	cache = sample_open(pair.root, "m", NULL);
	for (uint64_t version = 0; version < pair.times; version++) {
		assert_ok(sample_put(cache, "k", 1, version, SAMPLE_SMALL));
		assert_ok(lc_flush(cache));
		tell(pair.to_reader);
		hear(pair.to_writer);
	}
	ck_assert_int_eq(child_wait(pid), 0);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- threads ------------------------------------------------------------ */

#define THREADS 8
#define OWN 60

struct worker {
	pthread_t thread;
	lc_cache *cache;
	unsigned number;
	uint64_t random;
	uint64_t versions[OWN]; /* 0: not stored */
};

static size_t
own_id(char *id, unsigned worker, unsigned i)
{
	return (size_t)sprintf(id, "worker %u key %u", worker, i);
}

static void
check_own(lc_cache *cache, const struct worker *w, unsigned i)
{
	const struct sample_range range = { 0, 3000 };
	char id[40];
	const size_t size = own_id(id, w->number, i);
	lc_view view;

	if (w->versions[i] == 0) {
		need_status(lc_get(cache, id, size, &view), LC_NOT_FOUND);
		return;
	}
	need_ok(lc_get(cache, id, size, &view));
	need(sample_is(&view.tensor, id, size, w->versions[i], range));
	lc_view_release(&view);
}

static void
check_shared(lc_cache *cache, uint64_t i)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, i);
	lc_tensor copy;

	need_ok(lc_get_copy(cache, id, size, &copy));
	need(sample_is(&copy, id, size, 1, SAMPLE_SMALL));
	lc_tensor_free(&copy);
}

static void
work_once(struct worker *w)
{
	const struct sample_range range = { 0, 3000 };
	const unsigned i = (unsigned)(run_random(&w->random) % OWN);
	const unsigned op = (unsigned)(run_random(&w->random) % 100);
	char id[40];
	const size_t size = own_id(id, w->number, i);

	if (op < 40) {
		w->versions[i]++;
		w->versions[i] += run_random(&w->random) % 1000;
		need_ok(sample_put(w->cache, id, size, w->versions[i], range));
	} else if (op < 50) {
		need_status(lc_delete(w->cache, id, size),
		    w->versions[i] ? LC_OK : LC_NOT_FOUND);
		w->versions[i] = 0;
	} else if (op < 98) {
		check_own(w->cache, w, i);
		check_shared(w->cache, run_random(&w->random) % KEYS);
	} else {
		need_ok(lc_flush(w->cache));
	}
}

static void *
work(void *ctx)
{
	struct worker *w = ctx;

	for (unsigned n = sample_times(2000); n > 0; n--)
		work_once(w);
	for (unsigned i = 0; i < OWN; i++)
		check_own(w->cache, w, i);
	return NULL;
}

static void
put_shared(lc_cache *cache)
{
	char id[SAMPLE_ID_ROOM];

	for (uint64_t i = 0; i < KEYS; i++) {
		const size_t size = sample_id(id, i);

		assert_ok(sample_put(cache, id, size, 1, SAMPLE_SMALL));
	}
}

static const uint64_t flush_sizes[] = { 1, 7, 500 };

START_TEST(threads_on_one_handle)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	struct worker *workers = calloc(THREADS, sizeof(*workers));
	lc_cache *cache;
	lc_verify_result result;

	options.flush_every = flush_sizes[_i];
	options.flush_interval_ms = 2;
	options.durability = LC_DURABLE_RELAXED;
	cache = sample_open(root, "m", &options);
	put_shared(cache);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].cache = cache;
		workers[i].number = i;
		workers[i].random = run_seed() + i;
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work,
		    &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	for (unsigned w = 0; w < THREADS; w++)
		for (unsigned i = 0; i < OWN; i++)
			check_own(cache, &workers[w], i);
	assert_ok(lc_verify(cache, NULL, &result));
	free(workers);
	assert_ok(lc_close(cache));
}
END_TEST

/* Handles of one module come and go in all threads. */
static void *
open_and_close(void *ctx)
{
	struct worker *w = ctx;
	char id[40];
	lc_cache *cache;

	for (unsigned i = 0; i < OWN; i++) {
		const size_t size = own_id(id, w->number, i);

		cache = sample_open((const char *)w->cache, "m", NULL);
		w->versions[i] = 1 + i;
		need_ok(sample_put(cache, id, size, 1 + i,
		    (struct sample_range){ 0, 3000 }));
		need_ok(lc_close(cache));
		cache = sample_open((const char *)w->cache, "m", NULL);
		check_own(cache, w, i);
		lc_discard(cache);
	}
	return NULL;
}

START_TEST(threads_that_open_and_close)
{
	const char *root = run_scratch();
	struct worker *workers = calloc(THREADS, sizeof(*workers));
	lc_cache *cache;
	uint64_t count;

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].cache = (lc_cache *)(uintptr_t)root;
		workers[i].number = i;
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL,
		    open_and_close, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
	cache = sample_open(root, "m", NULL);
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, THREADS * OWN);
	free(workers);
	assert_ok(lc_close(cache));
}
END_TEST

static void *
fail_elsewhere(void *cache)
{
	lc_view view;

	need_status(lc_get(cache, "", 0, &view), LC_INVALID);
	need(lc_last_error()->status == LC_INVALID);
	return NULL;
}

START_TEST(errors_belong_to_a_thread)
{
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	pthread_t thread;
	lc_error before;
	lc_view view;

	assert_status(lc_get(cache, "absent", 6, &view), LC_NOT_FOUND);
	assert_status(lc_delete(cache, NULL, LC_MAX_ID + 1), LC_INVALID);
	before = *lc_last_error();
	ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, cache), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(lc_last_error()->status, before.status);
	ck_assert_str_eq(lc_last_error()->text, before.text);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- views --------------------------------------------------------------- */

static void *
release(void *view)
{
	lc_view_release(view);
	return NULL;
}

static void
overwrite_elsewhere(void *ctx)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(ctx, "m", &options);
	char id[SAMPLE_ID_ROOM];

	for (uint64_t version = 500; version < 520; version++) {
		for (uint64_t i = 0; i < KEYS; i++) {
			const size_t size = sample_id(id, i);

			need_ok(sample_put(cache, id, size, version, SAMPLE_SMALL));
		}
		need_ok(lc_flush(cache));
	}
	need_ok(lc_close(cache));
}

/* Half of the views are taken before the first flush and stand on pending records. */
START_TEST(views_outlive_commits)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_view *views = calloc(KEYS, sizeof(*views));
	char id[SAMPLE_ID_ROOM];
	pthread_t thread;

	put_shared(cache);
	for (uint64_t i = 0; i < KEYS; i++) {
		const size_t size = sample_id(id, i);

		if (i == KEYS / 2)
			assert_ok(lc_flush(cache));
		assert_ok(lc_get(cache, id, size, &views[i]));
	}
	for (uint64_t version = 2; version < 30; version++) {
		for (uint64_t i = 0; i < KEYS; i++) {
			const size_t size = sample_id(id, i);

			assert_ok(sample_put(cache, id, size, version, SAMPLE_SMALL));
			if ((i + version) % 9 == 0)
				assert_ok(lc_delete(cache, id, size));
		}
		assert_ok(lc_flush(cache));
	}
	ck_assert_int_eq(child_run(overwrite_elsewhere, (void *)(uintptr_t)root), 0);
	for (uint64_t i = 0; i < KEYS; i++) {
		const size_t size = sample_id(id, i);

		ck_assert(sample_is(&views[i].tensor, id, size, 1, SAMPLE_SMALL));
		if (i % 20 != 0) {
			lc_view_release(&views[i]);
			continue;
		}
		ck_assert_int_eq(pthread_create(&thread, NULL, release, &views[i]), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	free(views);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- readers that died ------------------------------------------------------ */

static void
die_with_a_view(void *root)
{
	lc_cache *cache = sample_open(root, "m", NULL);
	lc_view view;

	need_ok(lc_get(cache, "k", 1, &view));
	raise(SIGKILL);
}

START_TEST(dead_readers_are_cleared)
{
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", NULL);
	lc_stats stats = { .struct_size = sizeof(stats) };

	assert_ok(sample_put(cache, "k", 1, 1, SAMPLE_SMALL));
	assert_ok(lc_close(cache));
	for (int i = 0; i < 30; i++)
		ck_assert_int_eq(child_run(die_with_a_view, (void *)(uintptr_t)root),
		    128 + SIGKILL);
	cache = sample_open(root, "m", NULL);
	assert_ok(lc_stat(cache, &stats));
	ck_assert_uint_le(stats.readers, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* As many views at once as there are reader slots, then LC_BUSY or more views. */
START_TEST(more_views_than_reader_slots)
{
	enum { N = 3000 };
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	lc_view *views = calloc(N, sizeof(*views));
	lc_status status = LC_OK;
	size_t held = 0;
	lc_view last;

	assert_ok(sample_put(cache, "k", 1, 1, SAMPLE_SMALL));
	for (uint64_t i = 0; i < N && status == LC_OK; i++) {
		/* A new commit for each, so that no snapshot can be shared. */
		if (i % 16 == 0) {
			assert_ok(sample_put(cache, "other", 5, i, SAMPLE_SMALL));
			status = lc_flush(cache);
			ck_assert(status == LC_OK || status == LC_BUSY);
		}
		status = lc_get(cache, "k", 1, &views[held]);
		held += status == LC_OK;
	}
	ck_assert(status == LC_OK || status == LC_BUSY);
	ck_assert_uint_ge(held, 500);
	for (size_t i = 0; i < held; i++)
		ck_assert(sample_is(&views[i].tensor, "k", 1, 1, SAMPLE_SMALL));
	lc_views_release(views, held);
	assert_ok(lc_get(cache, "k", 1, &last));
	lc_view_release(&last);
	free(views);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("concurrency");
	TCase *tc = tcase_create("concurrency");

	run_seed();
	tcase_set_timeout(tc, 1200);
	tcase_add_test(tc, writing_and_reading_processes);
	tcase_add_test(tc, next_get_sees_a_commit);
	tcase_add_loop_test(tc, threads_on_one_handle, 0, 3);
	tcase_add_test(tc, threads_that_open_and_close);
	tcase_add_test(tc, errors_belong_to_a_thread);
	if (!RUN_THREAD_SANITIZER)
		tcase_add_test(tc, views_outlive_commits);
	tcase_add_test(tc, dead_readers_are_cleared);
	tcase_add_test(tc, more_views_than_reader_slots);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
