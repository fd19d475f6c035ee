/* SPDX-License-Identifier: BSD-2-Clause */
/* Writers of inputs where room runs out: the map's, a file size limit's, memory. */
#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fail_malloc.h"
#include "filling.h"
#include "need.h"
#include "sample.h"

static lc_options
small_map(void)
{
	lc_options options = sample_options();

	options.map_size = 1 << 20;
	return options;
}

/* A chunk of records of 300 KB each, so that some of them fill the map. */
static void
put_large(lc_writer *writer)
{
	static unsigned char data[300000];
	const lc_tensor tensor = sample_bytes(data, sizeof(data));

	memset(data, (int)lc_writer_info(writer)->chunks, sizeof(data));
	need_ok(lc_writer_put(writer, NULL, 0, &tensor));
}

static void
check_large(lc_cache *cache, uint64_t chunks)
{
	lc_verify_result result;
	char id[64];

	for (uint64_t k = 0; k < chunks; k++) {
		const size_t size = (size_t)snprintf(id, sizeof(id), "in0:%llu:0",
		    (unsigned long long)k);
		lc_view view;

		need_ok(lc_get(cache, id, size, &view));
		need(view.tensor.nbytes == 300000);
		need(((const unsigned char *)view.tensor.data)[299999] ==
		    (unsigned char)k);
		lc_view_release(&view);
	}
	need_ok(lc_verify(cache, NULL, &result));
	need(result.live == chunks);
	need(filling_state(cache).published == chunks);
}

/* ---- the map -------------------------------------------------------------- */

START_TEST(map_grows)
{
	const lc_options options = small_map();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_writer *writer;

	assert_ok(filling_declare(cache, 1));
	assert_ok(filling_open(cache, 0, &writer));
	for (unsigned i = 0; i < 40; i++) {
		put_large(writer);
		assert_ok(lc_writer_commit(writer, NULL, 0));
	}
	lc_writer_close(writer);
	check_large(cache, 40);
	assert_ok(lc_close(cache));
}
END_TEST

/* A view forbids it until it is released; then the same commit is stored, once. */
START_TEST(views_hold_the_map)
{
	const lc_options options = small_map();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_status status = LC_OK;
	uint64_t records, chunks = 0;
	lc_writer *writer;
	lc_view view;

	assert_ok(filling_declare(cache, 1));
	assert_ok(filling_open(cache, 0, &writer));
	put_large(writer);
	assert_ok(lc_writer_commit(writer, NULL, 0));
	assert_ok(lc_get(cache, "in0:0:0", 7, &view));
	while (status == LC_OK && ++chunks < 20) {
		put_large(writer);
		status = lc_writer_commit(writer, "c", 1);
	}
	assert_status(status, LC_MAP_FULL);
	lc_writer_pending(writer, &records, NULL);
	ck_assert_uint_eq(records, 1);
	ck_assert_uint_eq(lc_writer_info(writer)->chunks, chunks);
	assert_status(lc_writer_commit(writer, "c", 1), LC_MAP_FULL);
	lc_view_release(&view);
	assert_ok(lc_writer_commit(writer, "c", 1));
	ck_assert_uint_eq(lc_writer_info(writer)->chunks, chunks + 1);
	assert_ok(lc_writer_finish(writer, NULL, 0));
	lc_writer_close(writer);
	check_large(cache, chunks + 1);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- the disk ------------------------------------------------------------- */

static void
limit_files(rlim_t bytes)
{
	const struct rlimit limit = { bytes, RLIM_INFINITY };

	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* What does not fit stays pending, and is stored once there is room. */
static void
fill_disk(void *root)
{
	lc_cache *cache;
	lc_writer *writer;
	lc_status status = LC_OK;
	uint64_t chunks = 0, records;

	limit_files(3 << 20);
	cache = sample_open(root, "m", NULL);
	need_ok(filling_declare(cache, 1));
	need_ok(filling_open(cache, 0, &writer));
	while (status == LC_OK && chunks < 100) {
		put_large(writer);
		status = lc_writer_commit(writer, "c", 1);
		chunks += status == LC_OK;
	}
	need_status(status, LC_NO_SPACE);
	need(chunks > 2);
	lc_writer_pending(writer, &records, NULL);
	need(records == 1);
	need_status(lc_writer_finish(writer, NULL, 0), LC_NO_SPACE);
	need(!lc_writer_info(writer)->finished);
	check_large(cache, chunks);
	limit_files(RLIM_INFINITY);
	need_ok(lc_writer_finish(writer, NULL, 0));
	lc_writer_close(writer);
	check_large(cache, chunks + 1);
	need(filling_state(cache).final);
	need_ok(lc_close(cache));
}

START_TEST(full_disk)
{
	ck_assert_int_eq(child_run(fill_disk,
	    (void *)(uintptr_t)run_scratch()), 0);
}
END_TEST

/* ---- memory --------------------------------------------------------------- */

/* One pass over the calls; each is tried again until there is memory. */
struct pass {
	lc_cache *cache;
	lc_writer *writer;
	unsigned puts; /* done */
};

static const unsigned char bytes[1000];

static lc_status
do_declare(struct pass *p)
{
	const lc_input inputs[] = { { "in0", { "x", 1 } }, { "in1", { NULL, 0 } } };

	return lc_inputs_declare(p->cache, 2, inputs);
}

/* What was not known is. */
static lc_status
do_declare_again(struct pass *p)
{
	const lc_input inputs[] = { { "in0", { NULL, 0 } }, { "in1", { "y", 1 } } };

	return lc_inputs_declare(p->cache, 2, inputs);
}

static lc_status
do_open(struct pass *p)
{
	return lc_writer_open(p->cache, "in0", &p->writer);
}

static lc_status
do_put(struct pass *p)
{
	const lc_tensor tensor = sample_bytes(bytes, sizeof(bytes));
	lc_status status = LC_OK;

	for (; p->puts < 300 && status == LC_OK; p->puts += status == LC_OK)
		status = lc_writer_put(p->writer, NULL, 0, &tensor);
	return status;
}

static lc_status
do_commit(struct pass *p)
{
	return lc_writer_commit(p->writer, "cursor", 6);
}

static lc_status
do_finish(struct pass *p)
{
	const lc_status status = lc_writer_finish(p->writer, NULL, 0);

	if (status == LC_OK) {
		lc_writer_close(p->writer);
		p->writer = NULL;
	}
	return status;
}

static int
count_inputs(void *ctx, const lc_input_info *info)
{
	++*(unsigned *)ctx;
	need(info->chunks == (info->index == 0));
	return 0;
}

static lc_status
do_list(struct pass *p)
{
	unsigned n = 0;
	const lc_status status = lc_inputs(p->cache, count_inputs, &n);

	need(status != LC_OK || n == 2);
	return status;
}

static lc_status
do_fill(struct pass *p)
{
	lc_fill fill = { .struct_size = sizeof(fill) };
	const lc_status status = lc_fill_get(p->cache, &fill);

	need(status != LC_OK || (fill.committed == 1 && fill.held == 0));
	return status;
}

static lc_status
do_finish_all(struct pass *p)
{
	return lc_inputs_finish(p->cache);
}

static void
tell(void *ctx, const char *line)
{
	(void)ctx;
	printf("# %s\n", line);
}

static lc_status
do_verify(struct pass *p)
{
	lc_verify_result result;

	const lc_progress progress = { .damage = tell };

	return lc_verify(p->cache, &progress, &result);
}

static lc_status
do_clear(struct pass *p)
{
	return lc_clear(p->cache);
}

static const struct {
	const char *name;
	lc_status (*run)(struct pass *p);
} steps[] = {
	{ "declare", do_declare }, { "declare again", do_declare_again },
	{ "open", do_open }, { "put", do_put },
	{ "commit", do_commit }, { "finish", do_finish }, { "list", do_list },
	{ "fill", do_fill }, { "finish all", do_finish_all },
	{ "verify", do_verify }, { "clear", do_clear },
};

/* Each step with each of its allocations failing once; 0 when none fails any more. */
START_TEST(no_memory)
{
	const size_t n_steps = sizeof(steps) / sizeof(*steps);
	const char *root = run_scratch();
	lc_options options = sample_options();
	long failed = 1;

	options.durability = LC_DURABLE_RELAXED;

	for (long n = 1; failed > 0; n++) {
		struct pass p = { .puts = 0 };
		char name[20];

		snprintf(name, sizeof(name), "m%ld", n);
		p.cache = sample_open(root, name, &options);
		failed = 0;
		for (size_t i = 0; i < n_steps; i++) {
			lc_status status;
			long hits;

			fail_malloc(n, false);
			status = steps[i].run(&p);
			hits = fail_malloc_hits();
			fail_malloc(0, false);
			failed += hits;
			if (status != LC_OK) {
				ck_assert_int_gt(hits, 0);
				ck_assert_msg(status == LC_NO_MEMORY ||
				    status == LC_IO, "%s: %s: %s", steps[i].name,
				    lc_status_name(status),
				    lc_last_error()->text);
				assert_ok(steps[i].run(&p));
			}
		}
		assert_ok(lc_close(p.cache));
		ck_assert_int_lt(n, 2000);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("inputs_space");
	TCase *tcase = tcase_create("inputs_space");

	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, map_grows);
	tcase_add_test(tcase, views_hold_the_map);
	tcase_add_test(tcase, full_disk);
	tcase_add_test(tcase, no_memory);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
