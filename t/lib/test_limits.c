/* SPDX-License-Identifier: BSD-2-Clause */
/* What is above a limit is refused when it is put, and nothing else suffers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lmdbcache.h"
#include "need.h"
#include "run.h"
#include "sample.h"

/* ---- structures ----------------------------------------------------------- */

#define STRUCTURES 4096

/* A value whose only name is data: each number is another structure. */
static lc_status
put_number(lc_cache *cache, unsigned number)
{
	lc_value *value = lc_value_map();
	char name[16], id[16];
	lc_status status;

	snprintf(name, sizeof(name), "n%u", number);
	snprintf(id, sizeof(id), "%u", number);
	lc_value_set(value, name, lc_value_unsigned(number));
	status = lc_put_value(cache, id, strlen(id), value);
	lc_value_free(value);
	return status;
}

static lc_status
get_number(lc_cache *cache, unsigned number)
{
	const lc_value *value;
	char name[16], id[16];
	uint64_t got = 0;
	lc_status status;
	lc_view view;

	snprintf(name, sizeof(name), "n%u", number);
	snprintf(id, sizeof(id), "%u", number);
	status = lc_get(cache, id, strlen(id), &view);
	if (status == LC_OK)
		status = lc_view_value(&view, name, &value);
	if (status == LC_OK)
		status = lc_value_as_unsigned(value, &got);
	lc_view_release(&view);
	return status == LC_OK && got != number ? LC_CORRUPT : status;
}

static lc_cache *
open_rank(const char *root, int rank)
{
	lc_options options = sample_options();

	options.rank = rank;
	options.writer_rank = 0;
	return sample_open(root, "m", &options);
}

/* Put numbers in a process of its own: this one meets none of them. */
struct span {
	const char *root;
	unsigned from, end;
};

static void
put_span(void *ctx)
{
	const struct span *span = ctx;
	lc_cache *cache = open_rank(span->root, 0);

	for (unsigned i = span->from; i < span->end; i++)
		need_ok(put_number(cache, i));
	need_ok(lc_close(cache));
}

static void
put_elsewhere(const char *root, unsigned from, unsigned end)
{
	struct span span = { root, from, end };

	ck_assert_int_eq(child_run(put_span, &span), 0);
}

START_TEST(one_structure_too_many_is_refused)
{
	const char *root = run_scratch();
	lc_cache *cache = open_rank(root, 0);

	for (unsigned i = 0; i < STRUCTURES; i++)
		assert_ok(put_number(cache, i));
	assert_status(put_number(cache, STRUCTURES), LC_SCHEMA);
	assert_ok(put_number(cache, 7));
	assert_ok(lc_flush(cache));
	assert_status(put_number(cache, STRUCTURES), LC_SCHEMA);
	assert_ok(put_number(cache, 8));
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(a_full_module_takes_what_it_knows)
{
	const char *root = run_scratch();
	lc_cache *cache;

	put_elsewhere(root, 0, STRUCTURES);
	cache = open_rank(root, 0);
	assert_status(put_number(cache, STRUCTURES), LC_SCHEMA);
	assert_ok(put_number(cache, STRUCTURES - 1));
	assert_ok(lc_flush(cache));
	for (unsigned i = 0; i < STRUCTURES; i++)
		assert_ok(get_number(cache, i));
	assert_ok(lc_close(cache));
}
END_TEST

/* Two processes that each take a last one do not block each other. */
START_TEST(a_race_for_the_last_structure_blocks_nobody)
{
	const char *root = run_scratch();
	lc_cache *cache;

	put_elsewhere(root, 0, STRUCTURES - 1);
	cache = open_rank(root, 0);
	assert_ok(put_number(cache, STRUCTURES - 1));
	put_elsewhere(root, STRUCTURES, STRUCTURES + 1);
	assert_ok(lc_flush(cache));
	for (unsigned i = 0; i <= STRUCTURES; i++)
		assert_ok(get_number(cache, i));
	assert_status(put_number(cache, STRUCTURES + 1), LC_SCHEMA);
	assert_ok(lc_verify(cache, NULL, &(lc_verify_result){ 0 }));
	assert_ok(lc_close(cache));
}
END_TEST

/* What this process met and never stored takes no place from what is stored. */
START_TEST(what_is_not_stored_hides_nothing)
{
	const char *root = run_scratch();
	lc_cache *cache, *reader;

	put_elsewhere(root, 0, 1);
	reader = open_rank(root, 1);
	for (unsigned i = 0; i < 10; i++)
		assert_ok(put_number(reader, STRUCTURES + i));
	put_elsewhere(root, 1, STRUCTURES);
	for (unsigned i = 0; i < STRUCTURES; i++)
		assert_ok(get_number(reader, i));
	cache = open_rank(root, 0);
	assert_ok(put_number(cache, STRUCTURES - 1));
	assert_ok(lc_close(cache));
	assert_ok(lc_close(reader));
}
END_TEST

static void
make_strict(lc_cache *cache)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	assert_ok(lc_settings_get(cache, &settings));
	settings.policy = LC_STRICT;
	assert_ok(lc_settings_set(cache, &settings));
}

START_TEST(refused_structures_are_not_counted)
{
	const char *root = run_scratch();
	lc_cache *cache = open_rank(root, 0);

	make_strict(cache);
	assert_ok(put_number(cache, 0));
	for (unsigned i = 1; i <= STRUCTURES; i++)
		assert_status(put_number(cache, i), LC_SCHEMA);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "strict"));
	assert_ok(put_number(cache, 0));
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- sizes ---------------------------------------------------------------- */

START_TEST(a_tensor_that_could_not_be_read_is_not_put)
{
	const uint64_t shape[1] = { ((uint64_t)1 << 34) + 1 };
	lc_cache *cache = open_rank(run_scratch(), 0);
	void *zeros = mmap(NULL, shape[0], PROT_READ,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	lc_value *value;
	lc_tensor tensor;

	ck_assert_ptr_ne(zeros, MAP_FAILED);
	assert_ok(lc_tensor_init(&tensor, LC_U8, 1, shape, zeros));
	value = lc_value_tensor(&tensor);
	assert_status(lc_put_coded(cache, "a", 1, value, LC_CODEC_LZ4, 0),
	    LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "limit"));
	lc_value_free(value);
	assert_ok(lc_close(cache));
	ck_assert_int_eq(munmap(zeros, shape[0]), 0);
}
END_TEST

START_TEST(another_rank_is_told_of_a_record_too_large)
{
	const uint64_t shape[1] = { (uint64_t)1 << 31 };
	lc_cache *other = open_rank(run_scratch(), 1);
	lc_tensor tensor;

	assert_ok(lc_tensor_init(&tensor, LC_U8, 1, shape, shape));
	assert_status(lc_put(other, "a", 1, &tensor), LC_INVALID);
	assert_ok(lc_close(other));
}
END_TEST

/* Coded tensors take the memory of their bytes, not that of the room for them. */
static void
put_most_tensors(void *ctx)
{
	static const float values[16];
	const uint64_t shape[1] = { 16 };
	const struct rlimit limit = { (rlim_t)1 << 31, (rlim_t)1 << 31 };
	lc_options options = sample_options();
	lc_value *list = lc_value_list();
	const lc_value *got;
	lc_tensor tensor;
	lc_cache *cache;
	lc_view view;

	need(setrlimit(RLIMIT_AS, &limit) == 0);
	options.map_size = (uint64_t)1 << 28;
	cache = sample_open(ctx, "m", &options);
	need_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, values));
	for (unsigned i = 0; i < 65535; i++)
		lc_value_append(list, lc_value_tensor(&tensor));
	need_ok(lc_put_coded(cache, "a", 1, list, LC_CODEC_LZ4, 0));
	need_ok(lc_flush(cache));
	need_ok(lc_get(cache, "a", 1, &view));
	need_ok(lc_view_value(&view, NULL, &got));
	need(lc_value_equal(got, list));
	lc_view_release(&view);
	lc_value_free(list);
	need_ok(lc_close(cache));
}

#ifdef __SANITIZE_ADDRESS__
static const bool address_space_is_taken = true;
#else
static const bool address_space_is_taken = false;
#endif

START_TEST(most_tensors_are_coded_in_little_memory)
{
	ck_assert_int_eq(child_run(put_most_tensors,
	    (void *)(uintptr_t)run_scratch()), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("limits");
	TCase *structures = tcase_create("structures");
	TCase *sizes = tcase_create("sizes");

	tcase_set_timeout(structures, 60);
	tcase_add_test(structures, one_structure_too_many_is_refused);
	tcase_add_test(structures, a_full_module_takes_what_it_knows);
	tcase_add_test(structures, a_race_for_the_last_structure_blocks_nobody);
	tcase_add_test(structures, what_is_not_stored_hides_nothing);
	tcase_add_test(structures, refused_structures_are_not_counted);
	suite_add_tcase(suite, structures);
	tcase_set_timeout(sizes, 60);
	tcase_add_test(sizes, a_tensor_that_could_not_be_read_is_not_put);
	tcase_add_test(sizes, another_rank_is_told_of_a_record_too_large);
	/* ASan and valgrind take all address space. */
	if (!address_space_is_taken && getenv("T_SLOW") == NULL)
		tcase_add_test(sizes, most_tensors_are_coded_in_little_memory);
	suite_add_tcase(suite, sizes);
	return run_suite(suite);
}
