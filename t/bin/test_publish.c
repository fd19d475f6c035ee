/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores under attack: processes that are killed at each step, calls that fail, tasks that
 * run twice, listings that lag behind. Nothing that is named is ever missing, and the same
 * commands end with the bytes that one undisturbed machine makes.
 */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "dying.h"
#include "fail_io.h"
#include "need.h"
#include "objects/directory.h"
#include "outdir_files.h"
#include "publish/collect.h"
#include "publish/named.h"
#include "publish/publish.h"
#include "publish/pull.h"
#include "publish/push.h"
#include "sample.h"

#define INPUTS 3

/* Where there are many steps, of one to the next: all of the first sixteen are tried, and
 * then fewer and fewer. */
#define NEXT(step) ((step) + 1 + (step) / 16)

static const char *root; /* of the module m */
static char whole[4000]; /* a store that nobody disturbed, published */
static char set[4000];   /* what was pulled of it */

static void
remove_tree(const char *dir)
{
	char command[5000];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	need(system(command) == 0);
}

static struct lc__objects *
open_at(const char *dir)
{
	struct lc__objects *store;

	need_ok(lc__directory_open(dir, "store", &store));
	return store;
}

static void
remove_generations(const char *store)
{
	char *dir = outdir_join(store, "manifest");

	remove_tree(dir);
	free(dir);
}

/* ---- what is done to a store ---------------------------------------------------------- */

struct job {
	const char *store;   /* its directory */
	const char *staging; /* of a push */
	const char *dir;     /* of a pull */
	bool check;          /* of a push */
	unsigned die_at;
	bool halfway;
};

static void
tell_nobody(void *ctx, size_t part, enum lc__pushed what)
{
	(void)ctx, (void)part, (void)what;
}

static lc_status
push(const struct job *job, struct lc__push_result *result)
{
	struct lc__push_source source;
	struct lc__push p = {
		.store = open_at(job->store),
		.source = &source,
		.producer = "test",
		.check = job->check,
		.threads = 1,
		.told = tell_nobody,
	};
	lc_options options = sample_options();
	lc_export_options how;
	lc_cache *cache;
	lc_status status;

	options.flags = LC_RDONLY;
	lc_export_options_init(&how);
	how.shard_bytes = 4096;
	how.threads = 1;
	status = lc_open(root, "m", &options, &cache);
	if (status == LC_OK) {
		status = lc__push_module(cache, &how, job->staging, &source);
		if (status == LC_OK) {
			lc_error kept;

			status = lc__push_run(&p, result);
			kept = *lc_last_error();
			lc__push_source_close(&source);
			if (status != LC_OK)
				(void)lc__error_raise(&kept);
		}
		need(lc_close(cache) == LC_OK || fail_io_hits() > 0);
	}
	lc__objects_close(p.store);
	return status;
}

static lc_status
publish(const struct job *job, struct lc__published *out)
{
	struct lc__objects *store = open_at(job->store);
	char run[LC__RUN_ID];
	lc_status status = lc__run_find(store, NULL, run);

	memset(out, 0, sizeof(*out));
	if (status == LC_OK)
		status = lc__publish_run(store, run, out);
	lc__published_free(out);
	lc__objects_close(store);
	return status;
}

static lc_status
pull(const struct job *job, uint64_t generation, struct lc__pulled *out)
{
	struct lc__objects *store = open_at(job->store);
	const lc_status status = lc__pull(store, generation, job->dir, 1, NULL, out);

	lc__objects_close(store);
	return status;
}

static lc_status
collect(const struct job *job, struct lc__collected *out)
{
	struct lc__objects *store = open_at(job->store);
	const lc_status status = lc__collect(store, 1, 0, false, out);

	lc__objects_close(store);
	return status;
}

/* All that is named is there, and right. */
static void
check_named(const char *dir)
{
	struct lc__stock parts = { .n = 0 }, shards = { .n = 0 };
	struct lc__generations generations = { .n = 0 };
	struct lc__run_list runs = { .n = 0 };
	struct lc__naming naming = { .store = open_at(dir), .parts = &parts,
		.shards = &shards, .deep = true, .threads = 1 };

	assert_ok(lc__generations_list(naming.store, &generations));
	assert_ok(lc__runs_list(naming.store, &runs));
	assert_ok(lc__stock_list(naming.store, true, &parts));
	assert_ok(lc__stock_list(naming.store, false, &shards));
	for (size_t i = 0; i < generations.n; i++)
		assert_ok(lc__name_by_generation(&naming, generations.all[i].number));
	for (size_t i = 0; i < runs.n; i++)
		assert_ok(lc__name_by_run(&naming, runs.all[i].id));
	free(generations.all);
	free(runs.all);
	free(parts.all);
	free(shards.all);
	lc__objects_close(naming.store);
}

/* The store is, but for what killed ones left, what one machine makes. */
static void
check_whole(const char *dir)
{
	struct lc__objects *store = open_at(dir);
	uint64_t files, bytes;

	assert_ok(store->sweep(store, "", UINT64_MAX, false, &files, &bytes));
	lc__objects_close(store);
	check_named(dir);
	for (const char *const *sub = (const char *const[]){ "obj", "part", "run",
	    "manifest", NULL }; *sub != NULL; sub++) {
		char *a = outdir_join(whole, *sub), *b = outdir_join(dir, *sub);

		outdir_assert_same_dirs(a, b);
		free(a);
		free(b);
	}
}

/* ---- the fixture ---------------------------------------------------------------------- */

static void
fill_module(void)
{
	const lc_input inputs[INPUTS] = { { "a", { "1", 1 } }, { "b/c", { "", 0 } },
		{ "empty", { "", 0 } } };
	lc_cache *cache = sample_open(root, "m", NULL);

	need_ok(lc_inputs_declare(cache, INPUTS, inputs));
	for (unsigned i = 0; i < INPUTS; i++) {
		lc_writer *writer;
		unsigned char data[600];

		need_ok(lc_writer_open(cache, inputs[i].name, &writer));
		for (unsigned k = 0; i < 2 && k < 8 + 3 * i; k++) {
			lc_tensor tensor;

			sample_fill(data, sizeof(data), 100 * i + k);
			tensor = sample_bytes(data, sizeof(data));
			need_ok(lc_writer_put(writer, NULL, 0, &tensor));
		}
		need_ok(lc_writer_finish(writer, NULL, 0));
		lc_writer_close(writer);
	}
	need_ok(lc_close(cache));
}

static void
make_whole(void)
{
	char staging[4100];
	struct job job = { .store = whole, .staging = staging, .dir = set };
	struct lc__push_result pushed;
	struct lc__published published;
	struct lc__pulled pulled;

	root = run_scratch();
	snprintf(whole, sizeof(whole), "%s/.whole", root);
	snprintf(set, sizeof(set), "%s/.set", root);
	snprintf(staging, sizeof(staging), "%s/.staging", root);
	fill_module();
	need_ok(push(&job, &pushed));
	need(pushed.parts[LC__PUSHED_PUT] == INPUTS);
	need(pushed.objects > 3);
	need_ok(publish(&job, &published));
	need(published.generation == 1 && published.parts == INPUTS);
	need_ok(pull(&job, 0, &pulled));
	need(pulled.samples == 8 + 11);
}

static const char *
path_in(const char *name)
{
	static char paths[8][4100];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

/* ---- kills ----------------------------------------------------------------------------- */

static void
push_and_die(void *ctx)
{
	const struct job *job = ctx;
	struct lc__push_result result;

	dying_begin(job->die_at, job->halfway, DYING_FILES);
	need_ok(push(job, &result));
	dying_end();
}

/* After some of the kills nobody cleans up before the next one comes. */
START_TEST(a_killed_pusher)
{
	struct job job = { .store = path_in(".st"), .staging = path_in(".sg"),
		.die_at = 1 };
	struct lc__push_result result;
	struct lc__published published;
	int status = -1;

	for (; status != 0; job.halfway = !job.halfway) {
		lc_status early;

		if (job.die_at % 3 != 0)
			remove_tree(job.store);
		if (job.die_at % 5 != 0)
			remove_tree(job.staging);
		status = child_run(push_and_die, &job);
		ck_assert(status == 0 || status == 128 + 9);
		check_named(job.store);
		early = publish(&job, &published);
		if (early == LC_OK) {
			check_whole(job.store);
			remove_tree(job.store);
		} else {
			ck_assert_int_eq(early, LC_NOT_FOUND);
		}
		if (job.die_at % 4 == 0 || status == 0) {
			assert_ok(push(&job, &result));
			assert_ok(publish(&job, &published));
			check_whole(job.store);
			ck_assert_int_ne(access(job.staging, F_OK), 0);
			remove_tree(job.store);
		}
		job.die_at = job.halfway ? NEXT(job.die_at) : job.die_at;
	}
	ck_assert_uint_gt(job.die_at, 50);
}
END_TEST

static void
publish_and_die(void *ctx)
{
	const struct job *job = ctx;
	struct lc__published result;

	dying_begin(job->die_at, job->halfway, DYING_FILES);
	need_ok(publish(job, &result));
	dying_end();
}

START_TEST(a_killed_publisher)
{
	struct job job = { .store = path_in(".st"), .staging = path_in(".sg"),
		.die_at = 1 };
	struct lc__push_result result;
	struct lc__published published;
	int status = -1;

	assert_ok(push(&job, &result));
	for (; status != 0; job.halfway = !job.halfway) {
		status = child_run(publish_and_die, &job);
		ck_assert(status == 0 || status == 128 + 9);
		check_named(job.store);
		assert_ok(publish(&job, &published));
		ck_assert_uint_eq(published.generation, 1);
		check_whole(job.store);
		remove_generations(job.store);
		job.die_at += job.halfway;
	}
	ck_assert_uint_gt(job.die_at, 3);
}
END_TEST

static void
pull_and_die(void *ctx)
{
	const struct job *job = ctx;
	struct lc__pulled result;

	dying_begin(job->die_at, job->halfway, DYING_FILES);
	need_ok(pull(job, 0, &result));
	dying_end();
}

START_TEST(a_killed_puller)
{
	struct job job = { .store = whole, .dir = path_in(".out"), .die_at = 1 };
	struct lc__pulled pulled;
	int status = -1;

	for (; status != 0; job.halfway = !job.halfway) {
		status = child_run(pull_and_die, &job);
		ck_assert(status == 0 || status == 128 + 9);
		if (outdir_exists(job.dir, "manifest.json"))
			assert_ok(lc_manifest_verify(job.dir, NULL));
		assert_ok(pull(&job, 0, &pulled));
		ck_assert_uint_eq(pulled.kept + pulled.fetched, pulled.shards);
		assert_ok(lc_manifest_verify(job.dir, NULL));
		outdir_assert_same_dirs(set, job.dir);
		remove_tree(job.dir);
		job.die_at += job.halfway;
	}
	ck_assert_uint_gt(job.die_at, 10);
}
END_TEST

/* ---- calls that fail --------------------------------------------------------------------- */

static void
start_failing(long n, int error)
{
	fail_io(n, error, n % 2 == 0);
}

static bool
stop_failing(void)
{
	const bool failed = fail_io_hits() > 0;

	fail_io(0, 0, false);
	return failed;
}

START_TEST(every_call_of_a_push_fails)
{
	static const int errors[] = { ENOSPC, EIO };
	struct job job = { .store = path_in(".st"), .staging = path_in(".sg") };
	struct lc__push_result result;
	struct lc__published published;
	bool failed = true;
	long n;

	for (n = 1; failed; n = NEXT(n)) {
		lc_status status;

		remove_tree(job.store);
		remove_tree(job.staging);
		start_failing(n, errors[_i]);
		status = push(&job, &result);
		failed = stop_failing();
		ck_assert(status == LC_OK || failed);
		if (status != LC_OK)
			ck_assert_str_ne(lc_last_error()->text, "");
		check_named(job.store);
		assert_ok(push(&job, &result));
		assert_ok(publish(&job, &published));
		check_whole(job.store);
	}
	ck_assert_int_gt(n, 100);
}
END_TEST

START_TEST(every_call_of_a_publication_fails)
{
	struct job job = { .store = path_in(".st"), .staging = path_in(".sg") };
	struct lc__push_result result;
	struct lc__published published;
	bool failed = true;

	assert_ok(push(&job, &result));
	for (long n = 1; failed; n = NEXT(n)) {
		lc_status status;

		start_failing(n, ENOSPC);
		status = publish(&job, &published);
		failed = stop_failing();
		ck_assert(status == LC_OK || failed);
		check_named(job.store);
		assert_ok(publish(&job, &published));
		ck_assert_uint_eq(published.generation, 1);
		check_whole(job.store);
		remove_generations(job.store);
	}
}
END_TEST

/* A full disk among them. */
START_TEST(every_call_of_a_pull_fails)
{
	struct job job = { .store = whole, .dir = path_in(".out") };
	struct lc__pulled pulled;
	bool failed = true;

	for (long n = 1; failed; n = NEXT(n)) {
		lc_status status;

		start_failing(n, ENOSPC);
		status = pull(&job, 0, &pulled);
		failed = stop_failing();
		ck_assert(status == LC_OK || failed);
		if (outdir_exists(job.dir, "manifest.json"))
			assert_ok(lc_manifest_verify(job.dir, NULL));
		assert_ok(pull(&job, 0, &pulled));
		outdir_assert_same_dirs(set, job.dir);
		remove_tree(job.dir);
	}
}
END_TEST

/* The old manifest is known to be gone before anything else changes. */
START_TEST(a_manifest_is_removed_for_good)
{
	struct job job = { .store = whole, .dir = path_in(".out") };
	struct lc__pulled pulled;

	assert_ok(pull(&job, 0, &pulled));
	fail_io(1, EIO, false);
	fail_io_only("fsync");
	assert_status(pull(&job, 0, &pulled), LC_IO);
	fail_io(0, 0, false);
	fail_io_only(NULL);
	ck_assert(!outdir_exists(job.dir, "manifest.json"));
	ck_assert_uint_eq(pulled.shards, 0);
}
END_TEST

/* Whatever is removed before the call that fails: nothing that stays is named and missing. */
START_TEST(every_call_of_a_collection_fails)
{
	struct job job = { .store = path_in(".st"), .staging = path_in(".sg") };
	struct lc__collected collected;
	struct lc__push_result result;
	struct lc__published published;
	bool failed = true;

	assert_ok(push(&job, &result));
	assert_ok(publish(&job, &published));
	for (long n = 1; failed; n = NEXT(n)) {
		lc_status status;

		outdir_put_file(job.store, "obj/x.tmp.abcdef", "left");
		start_failing(n, EIO);
		status = collect(&job, &collected);
		failed = stop_failing();
		ck_assert(status == LC_OK || failed);
		check_whole(job.store);
	}
}
END_TEST

START_TEST(a_store_without_links)
{
	struct job job = { .store = path_in(".st"), .staging = path_in(".sg") };
	struct lc__push_result result;

	fail_io(1, EOPNOTSUPP, true);
	fail_io_only("link");
	assert_status(push(&job, &result), LC_UNSUPPORTED);
	fail_io(0, 0, false);
	fail_io_only(NULL);
	ck_assert_str_eq(lc_last_error()->text,
	    "store: its file system cannot link files, and a store needs that; choose "
	    "another directory: Operation not supported");
	ck_assert(!outdir_exists(job.store, "obj"));
	ck_assert(!outdir_exists(job.store, "run"));
	ck_assert_int_ne(access(job.staging, F_OK), 0);
}
END_TEST

/* ---- many at once ------------------------------------------------------------------------- */

static void
push_and_count(void *ctx)
{
	struct lc__push_result result;

	need_ok(push(ctx, &result));
	need(result.parts[LC__PUSHED_PUT] + result.parts[LC__PUSHED_THERE] == INPUTS);
	_exit(100 + (int)result.parts[LC__PUSHED_PUT]);
}

static void
publish_and_count(void *ctx)
{
	struct lc__published result;

	need_ok(publish(ctx, &result));
	need(result.generation == 1);
	_exit(100 + !result.there);
}

/* Of tasks that run twice one puts each receipt, and of two who publish one does. */
START_TEST(racing)
{
	enum { TASKS = 4 };

	for (unsigned round = 0; round < 5; round++) {
		struct job jobs[TASKS];
		pid_t pids[TASKS];
		int put = 0, published = 0;

		for (unsigned i = 0; i < TASKS; i++) {
			static char staging[TASKS][4100];

			snprintf(staging[i], sizeof(staging[i]), "%s/.sg%u", root, i);
			jobs[i] = (struct job){ .store = path_in(".st"),
				.staging = staging[i] };
			pids[i] = child_start(push_and_count, &jobs[i]);
		}
		for (unsigned i = 0; i < TASKS; i++)
			put += child_wait(pids[i]) - 100;
		ck_assert_int_eq(put, INPUTS);
		for (unsigned i = 0; i < TASKS; i++)
			pids[i] = child_start(publish_and_count, &jobs[i]);
		for (unsigned i = 0; i < TASKS; i++)
			published += child_wait(pids[i]) - 100;
		ck_assert_int_eq(published, 1);
		check_whole(path_in(".st"));
		remove_tree(path_in(".st"));
	}
}
END_TEST

/* ---- listings that lag behind ---------------------------------------------------------------- */

static lc_status (*list_of)(struct lc__objects *, const char *,
    lc_status (*)(void *, const struct lc__object *), void *);

struct lagging {
	lc_status (*fn)(void *, const struct lc__object *);
	void *ctx;
};

/* Neither shards nor any generation but the first are listed yet. */
static lc_status
hide(void *ctx, const struct lc__object *object)
{
	const struct lagging *lagging = ctx;

	if (strncmp(object->name, "obj/", 4) == 0 ||
	    (strncmp(object->name, "manifest/", 9) == 0 &&
		strcmp(object->name, "manifest/0000000001.json") != 0))
		return LC_OK;
	return lagging->fn(lagging->ctx, object);
}

static lc_status
list_late(struct lc__objects *objects, const char *prefix,
    lc_status (*fn)(void *, const struct lc__object *), void *ctx)
{
	struct lagging lagging = { fn, ctx };

	return list_of(objects, prefix, hide, &lagging);
}

START_TEST(listings_lag_behind)
{
	struct job job = { .store = path_in(".st"), .staging = path_in(".sg") };
	struct lc__push_result result;
	struct lc__published published;
	struct lc__pulled pulled;
	struct lc__objects *store;
	char run[LC__RUN_ID];

	assert_ok(push(&job, &result));
	strcpy(run, result.run);
	store = open_at(job.store);
	/* Another content is the first generation. */
	assert_ok(lc__object_add(store, "manifest/0000000001.json", "other", 5));
	list_of = store->list;
	store->list = list_late;
	assert_ok(lc__publish_run(store, run, &published));
	ck_assert_uint_eq(published.generation, 2);
	lc__published_free(&published);
	assert_ok(lc__publish_run(store, run, &published));
	ck_assert_uint_eq(published.generation, 2);
	ck_assert(published.there);
	lc__published_free(&published);
	assert_ok(lc__pull(store, 0, path_in(".out"), 2, NULL, &pulled));
	ck_assert_uint_eq(pulled.generation, 2);
	outdir_assert_same_dirs(set, path_in(".out"));
	lc__objects_close(store);
}
END_TEST

/* ---- collections ------------------------------------------------------------------------------ */

/* Publish another run: the first of the shards, as a set of its own. */
static void
publish_few(const char *store_dir)
{
	const char *dir = path_in(".few");
	struct lc__buf text = outdir_get_file(set, "manifest.json"), again = { 0 };
	struct lc__push_source source;
	struct lc__push few = { .store = open_at(store_dir), .source = &source,
		.producer = "", .threads = 1, .told = tell_nobody };
	struct lc__manifest m;
	struct lc__push_result result;
	struct lc__published published;
	char command[9000];
	size_t n;

	assert_ok(lc__manifest_parse(text.data, text.size, "m", &m));
	n = m.n;
	m.n = 1;
	assert_ok(lc__manifest_format(&m, &again));
	m.n = n;
	snprintf(command, sizeof(command), "cp -r '%s' '%s'", set, dir);
	ck_assert_int_eq(system(command), 0);
	lc__buf_append(&again, "", 1);
	outdir_put_file(dir, "manifest.json", (char *)again.data);
	assert_ok(lc__push_shards(dir, &source));
	assert_ok(lc__push_run(&few, &result));
	lc__push_source_close(&source);
	assert_ok(lc__publish_run(few.store, result.run, &published));
	ck_assert_uint_eq(published.shards, 1);
	lc__published_free(&published);
	lc__objects_close(few.store);
	lc__manifest_free(&m);
	lc__buf_free(&text);
	lc__buf_free(&again);
	remove_tree(dir);
}

static void
make_old(const char *dir)
{
	char command[5000];

	snprintf(command, sizeof(command),
	    "find '%s' -type f -exec touch -d '30 days ago' {} +", dir);
	ck_assert_int_eq(system(command), 0);
}

#define DAY ((uint64_t)86400000)

/* Generation 1 of the run of the module, and then another one of few shards; all is old. */
static void
make_two_runs(const struct job *job, char run[LC__RUN_ID])
{
	struct lc__push_result result;
	struct lc__published published;

	assert_ok(push(job, &result));
	strcpy(run, result.run);
	assert_ok(publish(job, &published));
	publish_few(job->store);
	make_old(job->store);
}

/* Somebody comes to a store while it is collected: before the @p at-th call of the collection
 * there. */
static struct {
	struct lc__objects own; /* the functions of the store */
	void (*come)(const struct job *job);
	const struct job *job;
	bool removals; /* only removals count */
	unsigned at, calls;
	bool came, at_removal;
	unsigned removed; /* before it came */
	lc_status status;
	char run[LC__RUN_ID];
} rival;

static void
rival_counts(const char *name, bool removal)
{
	/* The clock's object is not one of those. */
	if (strncmp(name, LC__PROBES, strlen(LC__PROBES)) == 0 || (rival.removals && !removal) ||
	    ++rival.calls != rival.at)
		return;
	rival.came = true;
	rival.at_removal = removal;
	rival.come(rival.job);
}

static lc_status
rival_get(struct lc__objects *objects, const char *name, uint64_t offset, void *out,
    size_t size, size_t *got, struct lc__object *about)
{
	rival_counts(name, false);
	return rival.own.get_range(objects, name, offset, out, size, got, about);
}

static lc_status
rival_list(struct lc__objects *objects, const char *prefix,
    lc_status (*fn)(void *, const struct lc__object *), void *ctx)
{
	rival_counts(prefix, false);
	return rival.own.list(objects, prefix, fn, ctx);
}

static lc_status
rival_remove(struct lc__objects *objects, const char *name)
{
	rival_counts(name, true);
	rival.removed += !rival.came && strncmp(name, LC__PROBES, strlen(LC__PROBES)) != 0;
	return rival.own.remove(objects, name);
}

/* Collect what is older than a day while the rival comes. */
static void
collect_with_rival(const struct job *job)
{
	struct lc__collected collected;
	struct lc__objects *store = open_at(job->store);

	rival.job = job;
	rival.own = *store;
	rival.calls = rival.removed = 0;
	rival.came = rival.at_removal = false;
	store->get_range = rival_get;
	store->list = rival_list;
	store->remove = rival_remove;
	assert_ok(lc__collect(store, 1, DAY, false, &collected));
	lc__objects_close(store);
}

static void
come_to_publish(const struct job *job)
{
	struct lc__objects *store = open_at(job->store);
	struct lc__published published;

	rival.status = lc__publish_run(store, rival.run, &published);
	lc__published_free(&published);
	lc__objects_close(store);
}

/* The run whose only generation goes is published again meanwhile, at each step: it fails, or
 * what it has published is whole. */
START_TEST(a_run_is_published_while_it_goes)
{
	unsigned failed = 0;

	rival.come = come_to_publish;
	rival.removals = true;
	for (rival.at = 1; rival.at == 1 || rival.came; rival.at++) {
		struct job job = { .store = path_in(".st"), .staging = path_in(".sg") };

		make_two_runs(&job, rival.run);
		collect_with_rival(&job);
		check_named(job.store);
		remove_tree(job.store);
		failed += rival.came && rival.status != LC_OK;
	}
	ck_assert_uint_gt(rival.at, 10);
	ck_assert_uint_gt(failed, 5);
}
END_TEST

static void
come_to_push(const struct job *job)
{
	struct lc__push_result result;

	rival.status = push(job, &result);
}

static lc_status
publish_pushed(const struct job *job)
{
	struct lc__objects *store = open_at(job->store);
	struct lc__published published;
	const lc_status status = lc__publish_run(store, rival.run, &published);

	if (status == LC_OK)
		ck_assert_uint_eq(published.samples, 8 + 11);
	lc__published_free(&published);
	lc__objects_close(store);
	return status;
}

/* It is pushed again meanwhile, at each step. If that comes between the look at an object and
 * its removal, this object alone may be missing, which a publication finds, and a push that
 * checks puts it again. */
START_TEST(a_run_is_pushed_while_it_goes)
{
	unsigned kept = 0;

	rival.come = come_to_push;
	rival.removals = false;
	for (rival.at = 1; rival.at == 1 || rival.came; rival.at++) {
		struct job job = { .store = path_in(".st"), .staging = path_in(".sg") };
		lc_status status;

		make_two_runs(&job, rival.run);
		collect_with_rival(&job);
		assert_ok(rival.status);
		if (rival.came && !rival.at_removal && rival.removed == 0)
			ck_assert(outdir_exists(job.store, "manifest/0000000001.json"));
		status = publish_pushed(&job);
		if (status != LC_OK && rival.came) {
			ck_assert(rival.at_removal);
			ck_assert(status == LC_NO_FILE || status == LC_NOT_FOUND ||
			    status == LC_CORRUPT);
			job.check = true;
			come_to_push(&job);
			assert_ok(rival.status);
			assert_ok(publish_pushed(&job));
		}
		kept += status == LC_OK;
		check_named(job.store);
		remove_tree(job.store);
	}
	ck_assert_uint_gt(kept, 40);
}
END_TEST

/* What is in a store, a line each. */
static char *
list_of_files(const char *dir)
{
	char command[5000];
	struct lc__buf out = { 0 };
	char piece[4096];
	FILE *pipe;

	snprintf(command, sizeof(command), "cd '%s' && find . -type f | LC_ALL=C sort",
	    dir);
	pipe = popen(command, "r");
	need(pipe != NULL);
	for (size_t n; (n = fread(piece, 1, sizeof(piece), pipe)) > 0;)
		lc__buf_append(&out, piece, n);
	lc__buf_append(&out, "", 1);
	need(pclose(pipe) == 0 && !out.failed);
	return (char *)out.data;
}

static void
collect_and_die(void *ctx)
{
	const struct job *job = ctx;
	struct lc__collected result;

	dying_begin(job->die_at, job->halfway, DYING_FILES);
	need_ok(collect(job, &result));
	dying_end();
}

/* The next collection removes what a killed one has left. */
START_TEST(a_killed_collector)
{
	unsigned die_at = 0;
	struct lc__collected collected;
	char *expected = NULL, run[LC__RUN_ID];
	int status = -1;

	for (; status != 0; die_at++) {
		struct job job = { .store = path_in(".st"), .staging = path_in(".sg"),
			.die_at = die_at };
		char *files;

		make_two_runs(&job, run);
		/* The first one is not killed: it shows what is left. */
		status = child_run(collect_and_die, &job);
		ck_assert(status == 0 || (status == 128 + 9 && die_at > 0));
		check_named(job.store);
		assert_ok(collect(&job, &collected));
		check_named(job.store);
		files = list_of_files(job.store);
		ck_assert_ptr_null(strstr(files, run));
		ck_assert_ptr_null(strstr(files, "manifest/0000000001.json"));
		ck_assert_ptr_nonnull(strstr(files, "manifest/0000000002.json"));
		if (expected == NULL)
			expected = files;
		else
			ck_assert_str_eq(files, expected);
		if (files != expected)
			free(files);
		remove_tree(job.store);
		if (die_at == 0)
			status = -1;
	}
	free(expected);
	ck_assert_uint_gt(die_at, 10);
}
END_TEST

/* The generation of a run that was pushed again stays with it, and goes with it later. */
START_TEST(a_run_that_is_young_keeps_its_generation)
{
	struct job job = { .store = path_in(".st"), .staging = path_in(".sg") };
	struct lc__objects *store;
	struct lc__collected collected;
	struct lc__push_result result;
	char run[LC__RUN_ID];
	char *files;

	make_two_runs(&job, run);
	assert_ok(push(&job, &result));
	store = open_at(job.store);
	assert_ok(lc__collect(store, 1, DAY, false, &collected));
	ck_assert_uint_eq(collected.generations + collected.runs + collected.shards, 0);
	check_named(job.store);
	make_old(job.store);
	assert_ok(lc__collect(store, 1, DAY, true, &collected));
	ck_assert_uint_eq(collected.generations, 1);
	ck_assert_uint_eq(collected.runs, 1);
	assert_ok(lc__collect(store, 1, DAY, false, &collected));
	ck_assert_uint_eq(collected.generations, 1);
	ck_assert_uint_eq(collected.runs, 1);
	lc__objects_close(store);
	files = list_of_files(job.store);
	ck_assert_ptr_null(strstr(files, run));
	free(files);
	check_named(job.store);
}
END_TEST

/* A reader pins its generation: what is published later does not change it. */
START_TEST(a_generation_is_pinned)
{
	struct job job = { .store = path_in(".st"), .staging = path_in(".sg"),
		.dir = path_in(".out") };
	struct lc__objects *store;
	struct lc__push_result result;
	struct lc__published published;
	struct lc__pulled pulled;

	assert_ok(push(&job, &result));
	assert_ok(publish(&job, &published));
	store = open_at(job.store);
	assert_ok(lc__object_add(store, "manifest/0000000002.json", "newer", 5));
	lc__objects_close(store);
	assert_ok(pull(&job, 1, &pulled));
	outdir_assert_same_dirs(set, job.dir);
	assert_status(pull(&job, 2, &pulled), LC_CORRUPT);
	assert_status(pull(&job, 3, &pulled), LC_NOT_FOUND);
}
END_TEST

/* ---- large parts -------------------------------------------------------------------------------- */

/* A part of more shards than a manifest takes, all of them equal: one object. */
START_TEST(a_part_of_many_shards)
{
	enum { SHARDS = 5000 };
	const char *dir = path_in(".many"), *st = path_in(".st"), *out = path_in(".out");
	struct lc__buf text = outdir_get_file(set, "manifest.json"), again = { 0 };
	struct lc__push_source source;
	struct lc__push push_set = { .store = open_at(st), .source = &source,
		.producer = "", .threads = 1, .told = tell_nobody };
	struct lc__manifest m, all;
	struct lc__manifest_shard *shards = calloc(SHARDS, sizeof(*shards));
	struct lc__push_result result;
	struct lc__published published;
	struct lc__pulled pulled;
	char command[9000];

	assert_ok(lc__manifest_parse(text.data, text.size, "m", &m));
	all = m;
	for (unsigned i = 0; i < SHARDS; i++)
		shards[i] = m.shards[0];
	all.n = SHARDS;
	all.shards = shards;
	assert_ok(lc__manifest_format(&all, &again));
	snprintf(command, sizeof(command), "cp -r '%s' '%s'", set, dir);
	ck_assert_int_eq(system(command), 0);
	lc__buf_append(&again, "", 1);
	outdir_put_file(dir, "manifest.json", (char *)again.data);

	assert_ok(lc__push_shards(dir, &source));
	ck_assert_uint_eq(source.n, 1);
	assert_ok(lc__push_run(&push_set, &result));
	ck_assert_uint_eq(result.parts[LC__PUSHED_PUT], 1);
	ck_assert_uint_eq(result.objects, 1);
	lc__push_source_close(&source);
	assert_ok(lc__publish_run(push_set.store, result.run, &published));
	ck_assert_uint_eq(published.shards, SHARDS);
	ck_assert_uint_eq(published.samples, SHARDS * m.shards[0].samples);
	lc__published_free(&published);
	assert_ok(lc__pull(push_set.store, 0, out, 2, NULL, &pulled));
	ck_assert_uint_eq(pulled.shards, SHARDS);
	lc__objects_close(push_set.store);

	/* The manifest names two parts, whose paths start from its own directory. */
	lc__buf_free(&text);
	text = outdir_get_file(out, "manifest.json");
	lc__manifest_free(&m);
	assert_ok(lc__manifest_parse_any(text.data, text.size, "m", &m));
	ck_assert_uint_eq(m.n_parts, 2);
	ck_assert_uint_eq(m.parts[0].shards, LC__MANIFEST_PART_MOST);
	ck_assert_uint_eq(m.parts[1].shards, SHARDS - LC__MANIFEST_PART_MOST);
	ck_assert_str_eq(m.parts[0].base, ".");
	/* It can be pushed, and makes the same part of the same shards. */
	assert_ok(lc__push_shards(out, &source));
	ck_assert_uint_eq(source.n, 1);
	ck_assert_str_eq(source.parts[0].name, ".");
	push_set.store = open_at(path_in(".st2"));
	assert_ok(lc__push_run(&push_set, &result));
	ck_assert_uint_eq(result.parts[LC__PUSHED_PUT], 1);
	ck_assert_uint_eq(result.objects, 1);
	lc__push_source_close(&source);
	assert_ok(lc__publish_run(push_set.store, result.run, &published));
	ck_assert_uint_eq(published.shards, SHARDS);
	lc__published_free(&published);
	lc__objects_close(push_set.store);
	for (unsigned i = 0; i < 2; i++)
		ck_assert(outdir_exists(path_in(".st2"), m.parts[i].relative_path));
	for (unsigned i = 0; i < 2; i++) {
		char sha256[65];

		ck_assert(lc__part_of_name(m.parts[i].relative_path, sha256));
		ck_assert_str_eq(sha256, m.parts[i].sha256);
		ck_assert(outdir_exists(out, m.parts[i].relative_path));
	}
	lc__manifest_free(&m);
	lc__buf_free(&text);
	lc__buf_free(&again);
	free(shards);
}
END_TEST

/* A set of the shards of the pulled one, which say that they have so many samples: a series
 * each, or one. */
static void
make_lying_set(const char *dir, bool series)
{
	struct lc__buf text = outdir_get_file(set, "manifest.json"), again = { 0 };
	struct lc__manifest m;
	char command[9000];

	remove_tree(dir);
	snprintf(command, sizeof(command), "cp -r '%s' '%s'", set, dir);
	ck_assert_int_eq(system(command), 0);
	assert_ok(lc__manifest_parse(text.data, text.size, "m", &m));
	for (size_t i = 0; i < m.n; i++) {
		m.shards[i].samples = INT64_MAX / 2;
		if (!series)
			continue;
		snprintf(command, sizeof(command), "mkdir '%s/%zu' && mv '%s/%s' '%s/%zu'",
		    dir, i, dir, m.shards[i].relative_path, dir, i);
		ck_assert_int_eq(system(command), 0);
		snprintf(command, sizeof(command), "%zu%s", i,
		    strrchr(m.shards[i].relative_path, '/'));
		free(m.shards[i].relative_path);
		m.shards[i].relative_path = strdup(command);
	}
	assert_ok(lc__manifest_format(&m, &again));
	lc__buf_append(&again, "", 1);
	outdir_put_file(dir, "manifest.json", (char *)again.data);
	lc__manifest_free(&m);
	lc__buf_free(&text);
	lc__buf_free(&again);
}

/* Shards that say they have so many samples that those of all parts are more than a manifest
 * can say. */
START_TEST(a_generation_that_nobody_could_read)
{
	const char *dir = path_in(".many"), *st = path_in(".st");
	struct lc__push_source source;
	struct lc__push push_set = { .store = open_at(st), .source = &source,
		.producer = "", .threads = 1, .told = tell_nobody };
	struct lc__push_result result;
	struct lc__published published;
	char expected[200];

	make_lying_set(dir, true);
	assert_ok(lc__push_shards(dir, &source));
	ck_assert_uint_gt(source.n, 2);
	assert_ok(lc__push_run(&push_set, &result));
	lc__push_source_close(&source);
	assert_status(lc__publish_run(push_set.store, result.run, &published), LC_INVALID);
	snprintf(expected, sizeof(expected),
	    "run %s: readers could not open it: its generation: ", result.run);
	ck_assert_msg(strncmp(lc_last_error()->text, expected, strlen(expected)) == 0, "%s",
	    lc_last_error()->text);
	ck_assert(!outdir_exists(st, "manifest"));
	lc__published_free(&published);
	lc__objects_close(push_set.store);
}
END_TEST

/* Of a part, more than a receipt can say; or more than can be counted. */
START_TEST(a_receipt_that_nobody_could_read)
{
	const char *dir = path_in(".many"), *st = path_in(".st");
	struct lc__push_source source;
	struct lc__push push_set = { .store = open_at(st), .source = &source,
		.producer = "", .threads = 1, .told = tell_nobody };
	struct lc__push_result result;
	struct lc__manifest m;
	struct lc__buf text, again = { 0 };

	make_lying_set(dir, false);
	text = outdir_get_file(dir, "manifest.json");
	assert_ok(lc__manifest_parse(text.data, text.size, "m", &m));
	ck_assert_uint_gt(m.n, 4);
	assert_status(lc__push_shards(dir, &source), LC_INVALID);
	for (size_t i = 3; i < m.n; i++)
		m.shards[i].samples = 1;
	assert_ok(lc__manifest_format(&m, &again));
	lc__buf_append(&again, "", 1);
	outdir_put_file(dir, "manifest.json", (char *)again.data);
	assert_ok(lc__push_shards(dir, &source));
	assert_status(lc__push_run(&push_set, &result), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "part .: has too many samples");
	ck_assert(!outdir_exists(st, "part"));
	lc__push_source_close(&source);
	lc__objects_close(push_set.store);
	lc__manifest_free(&m);
	lc__buf_free(&text);
	lc__buf_free(&again);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("publish");
	TCase *tc = tcase_create("store");

	/* Thousands of files are synced; where they lie does not matter here. */
	if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	tcase_add_checked_fixture(tc, make_whole, NULL);
	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, a_killed_pusher);
	tcase_add_test(tc, a_killed_publisher);
	tcase_add_test(tc, a_killed_puller);
	tcase_add_loop_test(tc, every_call_of_a_push_fails, 0, 2);
	tcase_add_test(tc, every_call_of_a_publication_fails);
	tcase_add_test(tc, every_call_of_a_pull_fails);
	tcase_add_test(tc, a_manifest_is_removed_for_good);
	tcase_add_test(tc, every_call_of_a_collection_fails);
	tcase_add_test(tc, a_store_without_links);
	tcase_add_test(tc, racing);
	tcase_add_test(tc, listings_lag_behind);
	tcase_add_test(tc, a_killed_collector);
	tcase_add_test(tc, a_run_is_published_while_it_goes);
	tcase_add_test(tc, a_run_is_pushed_while_it_goes);
	tcase_add_test(tc, a_run_that_is_young_keeps_its_generation);
	tcase_add_test(tc, a_generation_is_pinned);
	tcase_add_test(tc, a_part_of_many_shards);
	tcase_add_test(tc, a_generation_that_nobody_could_read);
	tcase_add_test(tc, a_receipt_that_nobody_could_read);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
