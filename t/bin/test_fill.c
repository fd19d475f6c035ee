/* SPDX-License-Identifier: BSD-2-Clause */
/* Filling a module with what a list names: what is asked for, stored, done and not. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "fake_produce.h"
#include "fill/fill.h"
#include "need.h"
#include "sample.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))
#define F32 "f32[4]"

/* ---- values --------------------------------------------------------------------- */

static lc_value *
tensor_value(lc_dtype dtype, uint32_t ndim, const uint64_t *shape, const void *data)
{
	lc_tensor tensor;
	lc_value *value, *copy;

	need_ok(lc_tensor_init(&tensor, dtype, ndim, shape, data));
	value = lc_value_tensor(&tensor);
	copy = lc_value_copy(value);
	lc_value_free(value);
	need(copy != NULL);
	return copy;
}

/* f32[n] of first, first + 1 ... */
static lc_value *
floats(uint64_t n, float first)
{
	float data[64];

	for (uint64_t i = 0; i < n; i++)
		data[i] = first + (float)i;
	return tensor_value(LC_F32, 1, &n, data);
}

static lc_value *
map_of(const char *name, lc_value *value)
{
	lc_value *map = lc_value_map();

	lc_value_set(map, name, value);
	return map;
}

static void
put(lc_cache *cache, const char *id, lc_value *value)
{
	assert_ok(lc_put_value(cache, id, strlen(id), value));
	lc_value_free(value);
}

/* ---- a run ------------------------------------------------------------------------ */

/* A list that is filled from, and what was heard of it. */
struct list {
	const char *const *ids;   /* or NULL: "0", "1" ... */
	uint64_t n, at;
	char text[32];
	uint64_t asked, over, failed, there, back;
	uint64_t idles, stop_idle; /* LC_CANCELLED at so many calls; 0: never */
	uint64_t largest;          /* batch */
};

static lc_status
next(void *ctx, struct lc__item *out)
{
	struct list *list = ctx;

	if (list->at == list->n)
		return LC_END;
	if (list->ids != NULL)
		out->id = lc_id_of(list->ids[list->at]);
	else
		out->id = (lc_id){ list->text, (size_t)snprintf(list->text,
		    sizeof(list->text), "%llu", (unsigned long long)list->at) };
	/* The payload is known by its id, too. */
	out->key = "text";
	out->payload = out->id;
	out->tag = list->at++;
	return LC_OK;
}

static lc_status
over(void *ctx, const struct lc__item *item)
{
	struct list *list = ctx;

	list->over++;
	list->failed += item->outcome == LC__ITEM_FAILED;
	list->there += item->outcome == LC__ITEM_OPEN;
	return LC_OK;
}

static lc_status
idle(void *ctx, const struct lc__filled *so_far)
{
	struct list *list = ctx;

	(void)so_far;
	return ++list->idles == list->stop_idle ?
	    lc__error(LC_CANCELLED, 0, "stopped") : LC_OK;
}

static void
back(void *ctx, const struct lc__items *batch)
{
	((struct list *)ctx)->back += batch->count;
}

static void
given(void *ctx, const struct lc__items *batch)
{
	struct list *list = ctx;

	list->asked += batch->count;
	if (batch->count > list->largest)
		list->largest = batch->count;
	for (size_t i = 0; i < batch->count; i++) {
		ck_assert_uint_eq(batch->items[i].id.size,
		    batch->items[i].payload.size);
		ck_assert_int_eq(memcmp(batch->items[i].id.data,
		    batch->items[i].payload.data, batch->items[i].id.size), 0);
		ck_assert_str_eq(batch->items[i].key, "text");
	}
}

static const struct lc__producers producers = { .children = 3, .ahead = 2 };

static lc_status
fill(lc_cache *cache, struct list *list, const struct lc__demands *demands,
    struct lc__filled *out)
{
	const struct lc__fill how = {
		.cache = cache, .producers = &producers,
		.demands = demands != NULL ? *demands : (struct lc__demands){ 0 },
		.next = next, .over = over, .idle = idle, .back = back, .ctx = list,
		.batch = 16, .batch_bytes = 1 << 20
	};

	fake_produce.given = given;
	fake_produce.ctx = list;
	return lc__fill_run(&how, out);
}

static void
start(void)
{
	memset(&fake_produce, 0, sizeof(fake_produce));
}

/* The record is fake_value() of its id as id and payload. */
static void
check_record(lc_cache *cache, const char *id)
{
	struct lc__item item = { .id = lc_id_of(id), .payload = lc_id_of(id) };
	lc_value *want = fake_value(&item);
	const lc_value *got;
	lc_view view;

	assert_ok(lc_get(cache, id, strlen(id), &view));
	assert_ok(lc_view_value(&view, NULL, &got));
	ck_assert(lc_value_equal(got, want));
	lc_view_release(&view);
	lc_value_free(want);
}

static lc_cache *
open_new(void)
{
	const lc_options options = sample_options();

	return sample_open(run_scratch(), "m", &options);
}

/* ---- what is asked for ------------------------------------------------------------- */

START_TEST(only_what_is_missing)
{
	lc_cache *cache = open_new();
	struct list list = { .n = 1000 };
	struct lc__filled filled;
	uint64_t count;
	char id[32];

	start();
	fake_produce.seed = run_seed();
	for (unsigned i = 0; i < 1000; i += 3) {
		snprintf(id, sizeof(id), "%u", i);
		put(cache, id, floats(2, 0));
	}
	assert_ok(fill(cache, &list, NULL, &filled));
	ck_assert_uint_eq(filled.items, 1000);
	ck_assert_uint_eq(filled.there, 334);
	ck_assert_uint_eq(filled.stored, 666);
	ck_assert_uint_eq(filled.wrong + filled.failed, 0);
	ck_assert_uint_eq(list.asked, 666);
	ck_assert_uint_eq(list.back, 666);
	ck_assert_uint_eq(list.over, 1000);
	ck_assert_uint_eq(list.there, 334);
	ck_assert_uint_eq(list.largest, 16);
	ck_assert_uint_eq(fake_produce.most_out, 9);
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, 1000);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(again_and_durable)
{
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", NULL);
	struct list list = { .n = 500 }, again = { .n = 600 };
	struct lc__filled filled;
	char id[32];

	start();
	fake_produce.seed = run_seed();
	assert_ok(fill(cache, &list, NULL, &filled));
	ck_assert_uint_eq(filled.stored, 500);
	/* Nothing of it was left to the handle's end. */
	lc_discard(cache);
	cache = sample_open(root, "m", NULL);
	for (unsigned i = 0; i < 500; i++) {
		snprintf(id, sizeof(id), "%u", i);
		check_record(cache, id);
	}
	assert_ok(fill(cache, &again, NULL, &filled));
	ck_assert_uint_eq(filled.there, 500);
	ck_assert_uint_eq(again.asked, 100);
	assert_ok(lc_close(cache));
}
END_TEST

/* An id that comes again is asked for once, whatever became of it by then. */
static const struct {
	unsigned distance; /* from the first time to the next */
	bool fails;
} repeats[] = {
	{ 1, false }, { 15, false }, { 300, false }, { 5000, false },
	{ 1, true }, { 300, true }, { 5000, true }
};

static lc_value *
fail_all(void *ctx, const struct lc__item *item, const char **why)
{
	(void)ctx;
	(void)item;
	*why = "cannot";
	return NULL;
}

START_TEST(repeated)
{
	const unsigned d = repeats[_i].distance;
	const char **ids = calloc(2 * d, sizeof(*ids));
	char (*text)[16] = calloc(d, sizeof(*text));
	lc_cache *cache = open_new();
	struct list list = { .ids = ids, .n = 2 * d };
	struct lc__filled filled;

	start();
	fake_produce.seed = run_seed();
	if (repeats[_i].fails)
		fake_produce.make = fail_all;
	for (unsigned i = 0; i < d; i++) {
		snprintf(text[i], sizeof(text[i]), "id%u", i);
		ids[i] = ids[d + i] = text[i];
	}
	assert_ok(fill(cache, &list, NULL, &filled));
	ck_assert_uint_eq(list.asked, d);
	ck_assert_uint_eq(filled.items, 2 * d);
	ck_assert_uint_eq(filled.there, d);
	ck_assert_uint_eq(filled.stored, repeats[_i].fails ? 0 : d);
	ck_assert_uint_eq(filled.failed, repeats[_i].fails ? d : 0);
	ck_assert_uint_eq(list.over, 2 * d);
	assert_ok(lc_close(cache));
	free(ids);
	free(text);
}
END_TEST

START_TEST(batches_by_bytes)
{
	static const char *const ids[] = { "aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc",
		"dd", "ee", "ffffffffffffffffffffffffffffff", "gg" };
	lc_cache *cache = open_new();
	struct list list = { .ids = ids, .n = ROWS(ids) };
	const struct lc__fill how = {
		.cache = cache, .producers = &producers, .next = next, .ctx = &list,
		.batch = 100, .batch_bytes = 22
	};
	struct lc__filled filled;

	start();
	fake_produce.given = given;
	fake_produce.ctx = &list;
	assert_ok(lc__fill_run(&how, &filled));
	ck_assert_uint_eq(filled.stored, 7);
	/* a+b, c+d+e, f, g */
	ck_assert_uint_eq(filled.produced.batches, 4);
	ck_assert_uint_eq(list.largest, 3);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- what is done -------------------------------------------------------------------- */

/* What is stored under "x", and what is demanded of it. */
struct demand {
	const char *name;
	lc_value *(*make)(void);
	const char *expect;       /* NULL for none */
	bool deep, nan;
	lc_codec codec;
	enum lc__stored want;
};

static lc_value *
f4(void)
{
	return floats(4, 1);
}

static lc_value *
f5(void)
{
	return floats(5, 1);
}

static lc_value *
in_map(void)
{
	return map_of("a", floats(4, 1));
}

static lc_value *
text(void)
{
	return lc_value_str("text");
}

static lc_value *
list_of(void)
{
	lc_value *list = lc_value_list();

	lc_value_append(list, floats(4, 1));
	lc_value_append(list, floats(5, 1));
	return list;
}

static lc_value *
with_nan(void)
{
	const float data[4] = { 1, 2, __builtin_nanf(""), 4 };
	const uint64_t n = 4;

	return tensor_value(LC_F32, 1, &n, data);
}

static lc_value *
zeros(void)
{
	static const float data[4096];
	const uint64_t n = 4096;

	return tensor_value(LC_F32, 1, &n, data);
}

static const struct demand demands[] = {
	{ "nothing is demanded", f4, NULL, false, false, LC_CODEC_NONE, LC__STORED_DONE },
	{ "as demanded", f4, F32, false, false, LC_CODEC_NONE, LC__STORED_DONE },
	{ "another shape", f5, F32, false, false, LC_CODEC_NONE, LC__STORED_WRONG },
	{ "another dtype", f4, "f16[4]", false, false, LC_CODEC_NONE, LC__STORED_WRONG },
	{ "no tensor", in_map, F32, false, false, LC_CODEC_NONE, LC__STORED_WRONG },
	{ "a part", in_map, "a=f32[4]", false, false, LC_CODEC_NONE, LC__STORED_DONE },
	{ "a wrong part", in_map, "a=f32[5]", false, false, LC_CODEC_NONE,
	    LC__STORED_WRONG },
	{ "no such part", in_map, "b=f32[4]", false, false, LC_CODEC_NONE,
	    LC__STORED_WRONG },
	{ "plain data", text, F32, false, false, LC_CODEC_NONE, LC__STORED_WRONG },
	{ "in a list", list_of, "1=f32[5]", false, false, LC_CODEC_NONE,
	    LC__STORED_DONE },
	{ "coded", zeros, "f32[4096]", false, false, LC_CODEC_LZ4, LC__STORED_DONE },
	{ "coded, wrong", zeros, "f32[4095]", false, false, LC_CODEC_LZ4,
	    LC__STORED_WRONG },
	{ "coded, deep", zeros, "f32[4096]", true, false, LC_CODEC_LZ4,
	    LC__STORED_DONE },
	{ "NaN is not seen", with_nan, F32, false, false, LC_CODEC_NONE,
	    LC__STORED_DONE },
	{ "NaN", with_nan, F32, true, false, LC_CODEC_NONE, LC__STORED_WRONG },
	{ "NaN that may be", with_nan, F32, true, true, LC_CODEC_NONE,
	    LC__STORED_DONE },
	{ "NaN, nothing else demanded", with_nan, NULL, true, false, LC_CODEC_NONE,
	    LC__STORED_WRONG },
};

START_TEST(done)
{
	const struct demand *d = &demands[_i];
	const struct lc__item items[2] = { { .id = lc_id_of("x") },
		{ .id = lc_id_of("y") } };
	lc_cache *cache = open_new();
	lc_value *value = d->make();
	struct lc__expect expect;
	struct lc__demands want = { .deep = d->deep, .finite = { .nan = d->nan } };
	enum lc__stored got[2];

	if (d->expect != NULL) {
		assert_ok(lc__expect_parse(d->expect, &expect));
		want.expect = &expect;
		want.n_expect = 1;
	}
	assert_ok(lc_put_coded(cache, "x", 1, value, d->codec, 0));
	lc_value_free(value);
	assert_ok(lc_flush(cache));
	assert_ok(lc__done_look(cache, &want, NULL, NULL, items, 2, got));
	ck_assert_msg(got[0] == d->want, "%s: %d", d->name, (int)got[0]);
	ck_assert_int_eq(got[1], LC__STORED_MISSING);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(strict_modules)
{
	const struct lc__item items[3] = { { .id = lc_id_of("a") },
		{ .id = lc_id_of("b") }, { .id = lc_id_of("c") } };
	const struct lc__demands none = { 0 };
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_cache *cache = open_new();
	enum lc__stored got[3];
	lc_value *value;

	put(cache, "a", floats(4, 1));
	put(cache, "b", in_map());
	put(cache, "c", floats(9, 1));
	assert_ok(lc_flush(cache));
	assert_ok(lc__done_look(cache, &none, NULL, NULL, items, 3, got));
	ck_assert_int_eq(got[1], LC__STORED_DONE);
	assert_ok(lc_settings_get(cache, &settings));
	settings.policy = LC_STRICT;
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(lc__done_look(cache, &none, NULL, NULL, items, 3, got));
	ck_assert_int_eq(got[0], LC__STORED_DONE);
	ck_assert_int_eq(got[1], LC__STORED_WRONG);
	ck_assert_int_eq(got[2], LC__STORED_DONE);
	value = in_map();
	assert_status(lc__demands_value(cache, &none, value), LC_SCHEMA);
	ck_assert_str_eq(lc_last_error()->text,
	    "the module is strict and holds f32[*], not {a: f32[*]}");
	lc_value_free(value);
	value = floats(2, 0);
	assert_ok(lc__demands_value(cache, &none, value));
	lc_value_free(value);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- damage --------------------------------------------------------------------------- */

/* Flip a byte of the file where this text stands. */
static void
damage(const char *root, const char *what, size_t size, size_t offset)
{
	struct lc__buf file = { 0 };
	unsigned char *at;
	char path[4300];
	FILE *out;

	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	assert_ok(lc__read_file(path, 1 << 30, &file));
	at = memmem(file.data, file.size, what, size);
	ck_assert_ptr_nonnull(at);
	at[offset] ^= 0x55;
	out = fopen(path, "r+");
	ck_assert_ptr_nonnull(out);
	ck_assert_uint_eq(fwrite(file.data, 1, file.size, out), file.size);
	ck_assert_int_eq(fclose(out), 0);
	lc__buf_free(&file);
}

static const struct {
	bool parts, deep;
	const char *what; /* is damaged */
	bool seen;
} damages[] = {
	{ false, false, "DATADATA", false }, { false, true, "DATADATA", true },
	{ true, false, "DATADATA", false }, { true, true, "DATADATA", true },
	{ true, false, "plain data", true }, { true, true, "plain data", true }
};

START_TEST(damaged_is_made_anew)
{
	const char *root = run_scratch();
	const lc_tensor bytes = sample_bytes("DATADATA", 8);
	const struct lc__demands demand = { .deep = damages[_i].deep };
	static const char *const ids[] = { "x", "y" };
	struct list list = { .ids = ids, .n = 2 };
	lc_cache *cache = sample_open(root, "m", NULL);
	lc_value *map = lc_value_map();
	struct lc__filled filled;

	start();
	lc_value_set(map, "t", lc_value_tensor(&bytes));
	lc_value_set(map, "p", lc_value_str("plain data"));
	if (damages[_i].parts)
		assert_ok(lc_put_value(cache, "x", 1, map));
	else
		assert_ok(lc_put(cache, "x", 1, &bytes));
	lc_value_free(map);
	put(cache, "y", floats(4, 0));
	assert_ok(lc_close(cache));
	damage(root, damages[_i].what, strlen(damages[_i].what), 3);
	cache = sample_open(root, "m", NULL);
	assert_ok(fill(cache, &list, &demand, &filled));
	ck_assert_uint_eq(filled.wrong, damages[_i].seen);
	ck_assert_uint_eq(filled.stored, damages[_i].seen);
	ck_assert_uint_eq(filled.there, 2 - damages[_i].seen);
	if (damages[_i].seen)
		check_record(cache, "x");
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- what comes back -------------------------------------------------------------------- */

/* Every third item is wrong in another way. */
static lc_value *
make_some(void *ctx, const struct lc__item *item, const char **why)
{
	(void)ctx;
	switch (item->tag % 4) {
	case 0:
		return floats(4, (float)item->tag);
	case 1:
		return with_nan();
	case 2:
		return floats(5, 0);
	default:
		*why = "cannot do this one";
		return NULL;
	}
}

START_TEST(bad_values_fail)
{
	static const char *const whys[4] = { NULL, "NaN at [2]",
		"is f32[5], not f32[4]", "cannot do this one" };
	lc_cache *cache = open_new();
	struct list list = { .n = 100 }, again = { .n = 100 };
	struct lc__expect expect;
	const struct lc__demands demand = { .expect = &expect, .n_expect = 1 };
	struct lc__failures *failures;
	struct lc__buf text = { 0 };
	struct lc__filled filled;
	char path[4300];
	const struct lc__fill how = {
		.cache = cache, .producers = &producers, .demands = demand,
		.next = next, .over = over, .ctx = &list, .batch = 7,
		.batch_bytes = 1 << 20, .failures = NULL
	};
	struct lc__fill with = how;
	const char *at;

	start();
	fake_produce.make = make_some;
	assert_ok(lc__expect_parse(F32, &expect));
	snprintf(path, sizeof(path), "%s/failures", run_scratch());
	assert_ok(lc__failures_open(path, false, &failures));
	with.failures = failures;
	assert_ok(lc__fill_run(&with, &filled));
	ck_assert_uint_eq(lc__failures_count(failures), 75);
	assert_ok(lc__failures_close(failures));
	ck_assert_uint_eq(filled.stored, 25);
	ck_assert_uint_eq(filled.bytes, 25 * 16);
	ck_assert_uint_eq(filled.failed, 75);
	ck_assert_uint_eq(list.failed, 75);
	assert_ok(lc__read_file(path, 1 << 20, &text));
	lc__buf_append(&text, "", 1);
	at = (const char *)text.data;
	for (unsigned i = 0; i < 100; i++) {
		char want[100];

		if (whys[i % 4] == NULL)
			continue;
		snprintf(want, sizeof(want), "{\"id\":\"%u\",\"why\":\"%s\","
		    "\"attempts\":1,\"at\":\"", i, whys[i % 4]);
		ck_assert_msg(strncmp(at, want, strlen(want)) == 0, "%.100s", at);
		at = strchr(at, '\n') + 1;
	}
	ck_assert_str_eq(at, "");
	lc__buf_free(&text);
	/* What failed is missing still, and asked for again. */
	assert_ok(fill(cache, &again, &demand, &filled));
	ck_assert_uint_eq(filled.there, 25);
	ck_assert_uint_eq(again.asked, 75);
	assert_ok(lc_close(cache));
}
END_TEST

static lc_status
refuse_fives(void *ctx, const struct lc__item *item, const lc_value *value)
{
	(void)ctx;
	ck_assert_int_eq(lc_value_kind(value), LC_TENSOR);
	return ((const char *)item->id.data)[item->id.size - 1] == '5' ?
	    lc__error(LC_INVALID, 0, "no fives") : LC_OK;
}

/* The maker's own demands hold for new and for stored values. */
START_TEST(own_demands)
{
	static const char *const ids[] = { "1", "5", "25", "6" };
	lc_cache *cache = open_new();
	struct list list = { .ids = ids, .n = 4 };
	const struct lc__fill how = {
		.cache = cache, .producers = &producers, .next = next, .over = over,
		.check = refuse_fives, .ctx = &list, .batch = 2,
		.batch_bytes = 1 << 20
	};
	struct lc__filled filled;

	start();
	put(cache, "1", floats(4, 0));
	put(cache, "5", floats(4, 0));
	assert_ok(lc__fill_run(&how, &filled));
	ck_assert_uint_eq(filled.there, 1);
	ck_assert_uint_eq(filled.wrong, 1);
	ck_assert_uint_eq(filled.failed, 2);
	ck_assert_uint_eq(filled.stored, 1);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(ids_that_are_none)
{
	static char long_id[LC_MAX_ID + 2];
	const char *const ids[] = { "a", "", long_id, "b" };
	lc_cache *cache = open_new();
	struct list list = { .ids = ids, .n = 4 };
	struct lc__filled filled;

	start();
	memset(long_id, 'x', LC_MAX_ID + 1);
	assert_ok(fill(cache, &list, NULL, &filled));
	ck_assert_uint_eq(filled.stored, 2);
	ck_assert_uint_eq(filled.failed, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- stopping ----------------------------------------------------------------------------- */

START_TEST(what_came_back_is_stored)
{
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", NULL);
	struct list list = { .n = 1000 }, rest = { .n = 1000 };
	struct lc__filled filled;

	start();
	fake_produce.seed = run_seed();
	list.stop_idle = 30;
	assert_status(fill(cache, &list, NULL, &filled), LC_CANCELLED);
	ck_assert_str_eq(lc_last_error()->text, "stopped");
	ck_assert_uint_gt(filled.stored, 0);
	ck_assert_uint_lt(filled.stored, 1000);
	/* At most what was out is lost. */
	ck_assert_uint_le(list.asked - filled.stored, 9 * 16);
	lc_discard(cache);
	cache = sample_open(root, "m", NULL);
	assert_ok(fill(cache, &rest, NULL, &filled));
	ck_assert_uint_eq(filled.there + filled.stored, 1000);
	ck_assert_uint_le(rest.asked + list.back, 1000);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(dry_runs)
{
	lc_cache *cache = open_new();
	struct list list = { .n = 700 }, nowhere = { .n = 700 };
	struct lc__expect expect;
	struct lc__fill how = {
		.cache = cache, .producers = &producers,
		.demands = { .expect = &expect, .n_expect = 1 }, .next = next,
		.ctx = &list, .batch = 7, .batch_bytes = 1 << 20, .dry_run = true
	};
	struct lc__filled filled;

	start();
	fake_produce.given = given;
	fake_produce.ctx = &list;
	assert_ok(lc__expect_parse(F32, &expect));
	put(cache, "5", floats(4, 0));
	put(cache, "6", floats(4, 0));
	put(cache, "7", floats(5, 0));
	put(cache, "701", floats(5, 0));
	assert_ok(lc_flush(cache));
	assert_ok(lc__fill_run(&how, &filled));
	ck_assert_uint_eq(filled.items, 700);
	ck_assert_uint_eq(filled.there, 2);
	ck_assert_uint_eq(filled.wrong, 1);
	ck_assert_uint_eq(filled.stored + filled.failed + list.asked, 0);
	how.cache = NULL;
	how.ctx = &nowhere;
	assert_ok(lc__fill_run(&how, &filled));
	ck_assert_uint_eq(filled.items, 700);
	ck_assert_uint_eq(filled.there + filled.wrong, 0);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fill");
	TCase *tcase = tcase_create("fill");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, only_what_is_missing);
	tcase_add_test(tcase, again_and_durable);
	tcase_add_loop_test(tcase, repeated, 0, ROWS(repeats));
	tcase_add_test(tcase, batches_by_bytes);
	tcase_add_loop_test(tcase, done, 0, ROWS(demands));
	tcase_add_test(tcase, strict_modules);
	tcase_add_loop_test(tcase, damaged_is_made_anew, 0, ROWS(damages));
	tcase_add_test(tcase, bad_values_fail);
	tcase_add_test(tcase, own_demands);
	tcase_add_test(tcase, ids_that_are_none);
	tcase_add_test(tcase, what_came_back_is_stored);
	tcase_add_test(tcase, dry_runs);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
