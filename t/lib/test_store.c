/* SPDX-License-Identifier: BSD-2-Clause */
/* What is put comes out bit for bit: every dtype, rank, size and cache_id. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

/* Every way to read one record gives this tensor, on a 64-byte boundary. */
static void
expect(lc_cache *cache, const void *id, size_t id_size, const lc_tensor *want)
{
	const lc_id ids[1] = { { id, id_size } };
	unsigned char *room = malloc(want->nbytes + 1);
	lc_tensor copy, into;
	lc_view view = { .status = LC_IO };
	lc_view views[1];
	size_t n_missing = 9;

	assert_ok(lc_contains(cache, id, id_size));
	assert_ok(lc_get(cache, id, id_size, &view));
	ck_assert_int_eq(view.status, LC_OK);
	ck_assert_uint_eq((uintptr_t)view.tensor.data % 64, 0);
	ck_assert(sample_same(&view.tensor, want));
	lc_view_release(&view);
	assert_ok(lc_get_copy(cache, id, id_size, &copy));
	ck_assert_uint_eq((uintptr_t)copy.data % 64, 0);
	ck_assert(sample_same(&copy, want));
	lc_tensor_free(&copy);
	room[want->nbytes] = 0x5a;
	assert_ok(lc_get_into(cache, id, id_size, room, want->nbytes, &into));
	ck_assert(sample_same(&into, want));
	ck_assert(want->nbytes == 0 || into.data == room);
	ck_assert_uint_eq(room[want->nbytes], 0x5a);
	assert_ok(lc_get_batch(cache, 1, ids, views, NULL, &n_missing));
	ck_assert_uint_eq(n_missing, 0);
	ck_assert_uint_eq((uintptr_t)views[0].tensor.data % 64, 0);
	ck_assert(sample_same(&views[0].tensor, want));
	lc_views_release(views, 1);
	free(room);
}

/* A tensor of a rank whose dims are small, with a zero at one of them or none. */
static void
make_shaped(lc_tensor *out, lc_dtype dtype, uint32_t ndim, int zero_at)
{
	uint64_t shape[LC_MAX_NDIM] = { 0 };
	void *data;

	for (uint32_t i = 0; i < ndim; i++)
		shape[i] = i == (uint32_t)zero_at ? 0 : 1 + (i % 5 == 1) + (i % 7 == 2);
	assert_ok(lc_tensor_init(out, dtype, ndim, shape, NULL));
	data = malloc(out->nbytes + 1);
	sample_fill(data, out->nbytes, (uint64_t)dtype * 1000 + ndim);
	if (dtype == LC_BOOL)
		for (size_t i = 0; i < out->nbytes; i++)
			((unsigned char *)data)[i] &= 1;
	out->data = data;
}

static void
each_shape(lc_cache *cache, lc_dtype dtype,
    void (*visit)(lc_cache *cache, const char *id, const lc_tensor *tensor))
{
	lc_tensor tensor;
	char id[64];

	for (uint32_t ndim = 0; ndim <= LC_MAX_NDIM; ndim++)
		for (int zero_at = -1; zero_at < (int)ndim; zero_at++) {
			make_shaped(&tensor, dtype, ndim, zero_at);
			snprintf(id, sizeof(id), "%s/%u/%d", lc_dtype_name(dtype),
			    ndim, zero_at);
			visit(cache, id, &tensor);
			sample_free(&tensor);
		}
}

static void
put_one(lc_cache *cache, const char *id, const lc_tensor *tensor)
{
	assert_ok(lc_put(cache, id, strlen(id), tensor));
}

static void
expect_one(lc_cache *cache, const char *id, const lc_tensor *tensor)
{
	expect(cache, id, strlen(id), tensor);
}

START_TEST(every_dtype_and_shape)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	const lc_dtype dtype = (lc_dtype)_i;
	lc_cache *cache = sample_open(root, "m", &options);
	uint64_t count = 0;

	each_shape(cache, dtype, put_one);
	each_shape(cache, dtype, expect_one);
	assert_ok(lc_flush(cache));
	each_shape(cache, dtype, expect_one);
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	each_shape(cache, dtype, expect_one);
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, 17 + 16 * 17 / 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* The nearest sizes on both sides of what the format and LMDB make steps of:
 * record headers and padding, pages, LMDB's limit for inline values, chunk_bytes. */
static const uint64_t steps[] = { 0, 64, 128, 1024, 1940, 2038, 2048, 4032, 4096,
	8192, 12288, 16 * 4096, 65536 - 128, 65536 - 64, 65536, 65536 + 64, 131072,
	1 << 20, 4 << 20, 9 << 20 };

static void
each_size(lc_cache *cache, uint64_t step,
    void (*visit)(lc_cache *cache, const char *id, const lc_tensor *tensor))
{
	unsigned char *data = malloc(step + 32);
	lc_tensor tensor;
	char id[64];

	for (int off = -17; off <= 17; off++) {
		if (step < 17 && off < -(int)step)
			continue;
		if (step >= 1 << 20 && off % 17 != 0)
			continue;
		tensor = sample_bytes(data, step + (uint64_t)off);
		sample_fill(data, tensor.nbytes, tensor.nbytes);
		snprintf(id, sizeof(id), "size %zu", tensor.nbytes);
		visit(cache, id, &tensor);
	}
	free(data);
}

static void
put_alone(lc_cache *cache, const char *id, const lc_tensor *tensor)
{
	char alone[80];

	snprintf(alone, sizeof(alone), "alone %s", id);
	put_one(cache, alone, tensor);
	assert_ok(lc_flush(cache));
}

static void
expect_both(lc_cache *cache, const char *id, const lc_tensor *tensor)
{
	char alone[80];

	snprintf(alone, sizeof(alone), "alone %s", id);
	expect(cache, id, strlen(id), tensor);
	expect(cache, alone, strlen(alone), tensor);
}

START_TEST(sizes_around_the_steps)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache;

	options.chunk_bytes = 65536;
	options.durability = LC_DURABLE_RELAXED;
	cache = sample_open(root, "m", &options);
	each_size(cache, steps[_i], put_one);
	each_size(cache, steps[_i], put_alone);
	each_size(cache, steps[_i], expect_both);
	assert_ok(lc_close(cache));
	options.flags = LC_RDONLY;
	cache = sample_open(root, "m", &options);
	each_size(cache, steps[_i], expect_both);
	assert_ok(lc_close(cache));
}
END_TEST

static const size_t id_sizes[] = { 1, 2, 3, 15, 16, 17, 30, 31, 32, 33, 63, 64, 65,
	255, 256, 490, 509, 510, 511, 512, 513, 1024, 4095, 4096, 4097, 32768, 65535,
	LC_MAX_ID };
#define N_ID_SIZES (sizeof(id_sizes) / sizeof(id_sizes[0]))

/* All ids are prefixes of one another, and so are those of the other bytes. */
static void
id_of_size(char *id, char byte, size_t i)
{
	memset(id, byte, id_sizes[i]);
}

static void
expect_ids(lc_cache *cache, char *id)
{
	lc_tensor want;

	for (int byte = 0; byte < 3; byte++)
		for (size_t i = 0; i < N_ID_SIZES; i++) {
			id_of_size(id, "\0k\xff"[byte], i);
			sample_make(&want, id, id_sizes[i], 1, SAMPLE_SMALL);
			expect(cache, id, id_sizes[i], &want);
			sample_free(&want);
		}
	/* What lies between two sizes, or differs in its last byte, is not there. */
	for (size_t i = 0; i < N_ID_SIZES; i++) {
		id_of_size(id, 'k', i);
		id[id_sizes[i] - 1] = 'l';
		assert_status(lc_contains(cache, id, id_sizes[i]), LC_NOT_FOUND);
	}
	memset(id, 'k', LC_MAX_ID);
	assert_status(lc_contains(cache, id, 18), LC_NOT_FOUND);
	assert_status(lc_contains(cache, id, LC_MAX_ID - 2), LC_NOT_FOUND);
}

START_TEST(ids_of_every_size)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	char *id = malloc(LC_MAX_ID);

	for (int byte = 0; byte < 3; byte++)
		for (size_t i = 0; i < N_ID_SIZES; i++) {
			id_of_size(id, "\0k\xff"[byte], i);
			assert_ok(sample_put(cache, id, id_sizes[i], 1,
			    SAMPLE_SMALL));
		}
	expect_ids(cache, id);
	assert_ok(lc_flush(cache));
	expect_ids(cache, id);
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	expect_ids(cache, id);
	free(id);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(bad_ids)
{
	const size_t size = _i == 0 ? 0 : LC_MAX_ID + 1;
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	char *id = calloc(1, LC_MAX_ID + 1);
	const lc_id ids[2] = { { id, size }, { "b", 1 } };
	const lc_tensor tensors[2] = { sample_bytes("x", 1), sample_bytes("y", 1) };
	lc_status statuses[2];
	lc_tensor copy;
	lc_view view, views[2];
	size_t missing[2], n_missing;
	uint64_t count;

	assert_status(lc_put(cache, id, size, tensors), LC_INVALID);
	assert_status(lc_delete(cache, id, size), LC_INVALID);
	assert_status(lc_get(cache, id, size, &view), LC_INVALID);
	assert_status(lc_get_copy(cache, id, size, &copy), LC_INVALID);
	assert_status(lc_get_into(cache, id, size, id, 1, &copy), LC_INVALID);
	assert_status(lc_contains(cache, id, size), LC_INVALID);
	assert_ok(lc_prefetch(cache, 2, ids));
	assert_status(lc_put_batch(cache, 2, ids, tensors, statuses), LC_INVALID);
	ck_assert_int_eq(statuses[0], LC_INVALID);
	ck_assert_int_eq(statuses[1], LC_OK);
	assert_status(lc_get_batch(cache, 2, ids, views, missing, &n_missing),
	    LC_INVALID);
	ck_assert_int_eq(views[0].status, LC_INVALID);
	ck_assert_int_eq(views[1].status, LC_OK);
	ck_assert(sample_same(&views[1].tensor, &tensors[1]));
	ck_assert_uint_eq(n_missing, 0);
	lc_views_release(views, 2);
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, 1);
	free(id);
	assert_ok(lc_close(cache));
}
END_TEST

/* The caller's memory may go away or change as soon as put has returned. */
START_TEST(put_copies)
{
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	char id[] = "id", data[] = "data";
	const lc_tensor tensor = sample_bytes(data, 4);
	const lc_tensor want = sample_bytes("data", 4);

	assert_ok(lc_put(cache, id, 2, &tensor));
	memset(data, 'x', 4);
	memset(id, 'x', 2);
	expect(cache, "id", 2, &want);
	assert_ok(lc_flush(cache));
	expect(cache, "id", 2, &want);
	assert_ok(lc_close(cache));
}
END_TEST

/* Data need not be aligned to its elements. */
START_TEST(unaligned_input)
{
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	char *data = malloc(4 * 16 + 1);
	const uint64_t shape[1] = { 4 };
	lc_tensor tensor;

	sample_fill(data, 65, 1);
	assert_ok(lc_tensor_init(&tensor, LC_C128, 1, shape, data + 1));
	assert_ok(lc_put(cache, "k", 1, &tensor));
	expect(cache, "k", 1, &tensor);
	assert_ok(lc_flush(cache));
	expect(cache, "k", 1, &tensor);
	free(data);
	assert_ok(lc_close(cache));
}
END_TEST

/* One cache_id takes any dtype, rank and size in turn. */
START_TEST(overwrite_with_another_type)
{
	const struct sample_range range = { 0, 9000 };
	const lc_options options = sample_options();
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_tensor want = { .data = NULL };
	uint64_t count;

	for (uint64_t version = 0; version < 60; version++) {
		sample_free(&want);
		sample_make(&want, "k", 1, version, range);
		assert_ok(lc_put(cache, "k", 1, &want));
		expect(cache, "k", 1, &want);
		if (version % 3 == 0)
			assert_ok(lc_flush(cache));
		expect(cache, "k", 1, &want);
	}
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	expect(cache, "k", 1, &want);
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, 1);
	sample_free(&want);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("store");
	TCase *tc = tcase_create("round trips");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, every_dtype_and_shape, 0, LC_DTYPE_COUNT);
	tcase_add_loop_test(tc, sizes_around_the_steps, 0,
	    sizeof(steps) / sizeof(steps[0]));
	tcase_add_test(tc, ids_of_every_size);
	tcase_add_loop_test(tc, bad_ids, 0, 2);
	tcase_add_test(tc, put_copies);
	tcase_add_test(tc, unaligned_input);
	tcase_add_test(tc, overwrite_with_another_type);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
