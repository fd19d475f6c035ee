/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of sources: what they refuse, their tokens, errors that name a member, members that
 * grow, many members. t/lib/test_list_model compares their batches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_warehouse.h"
#include "need.h"
#include "run.h"
#include "sample.h"
#include "store/cache.h"

#define WIDTH 3

/* ---- members ------------------------------------------------------------------------- */

static lc_cache *
new_module(void)
{
	lc_options options = sample_options();

	options.durability = LC_DURABLE_RELAXED;
	options.flush_every = 1000000;
	return sample_open(run_scratch(), "m", &options);
}

/* A chunk of @p n records: "PREFIX0" of floats 0, "PREFIX1" of floats 1 ... */
static void
put_rows(lc_cache *cache, const char *prefix, unsigned first, unsigned n)
{
	const uint64_t shape[] = { WIDTH };

	for (unsigned i = first; i < first + n; i++) {
		const float row[WIDTH] = { (float)i, (float)i, (float)i };
		lc_tensor tensor;
		char id[32];

		need_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, row));
		need_ok(lc_put(cache, id, (size_t)sprintf(id, "%s%u", prefix, i),
		    &tensor));
	}
	need_ok(lc_flush(cache));
}

static lc_cache *
module_of(const char *prefix, unsigned n)
{
	lc_cache *cache = new_module();

	put_rows(cache, prefix, 0, n);
	return cache;
}

static lc_source *
source_of(lc_cache *cache)
{
	lc_source *source;

	need_ok(lc_source_open_module(cache, NULL, &source));
	return source;
}

static lc_source *
list_of(lc_cache *a, lc_cache *b)
{
	lc_source *members[] = { source_of(a), source_of(b) }, *list;

	assert_ok(lc_source_open_list(members, 2, &list));
	lc_source_close(members[0]);
	lc_source_close(members[1]);
	return list;
}

static lc_source_info
info_of(const lc_source *source)
{
	lc_source_info info = { .struct_size = sizeof(info) };

	assert_ok(lc_source_info_get(source, &info));
	return info;
}

static void
expect_id(lc_source *source, uint64_t ordinal, const char *want)
{
	char id[64];
	size_t size;

	assert_ok(lc_source_id(source, ordinal, id, sizeof(id), &size));
	ck_assert_uint_eq(size, strlen(want));
	ck_assert_mem_eq(id, want, size);
}

/* The error begins with the directory of the module, and has this text. */
static void
expect_error(const lc_cache *cache, const char *text)
{
	const char *error = lc_last_error()->text, *dir = lc__env_dir(cache->env);

	ck_assert_msg(strncmp(error, dir, strlen(dir)) == 0, "%s", error);
	ck_assert_msg(strstr(error, text) != NULL, "%s", error);
}

/* ---- opening ------------------------------------------------------------------------- */

START_TEST(refused)
{
	lc_cache *a = module_of("a", 3), *b = new_module();
	const lc_input input = { .name = "in" };
	struct made_variant variant = { 0 };
	struct made made = made_warehouse(&variant);
	lc_source *members[3] = { source_of(a), NULL, NULL }, *list = NULL;
	lc_source_options options;
	char want[300];

	assert_status(lc_source_open_list(members, 0, &list), LC_INVALID);
	assert_status(lc_source_open_list(members, 65537, &list), LC_INVALID);
	assert_status(lc_source_open_list(members, 2, &list), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "list: source 1 is NULL");

	/* Images of several sizes. */
	assert_ok(lc_source_open_shards(made.warehouse, NULL, &members[1]));
	assert_status(lc_source_open_list(members, 2, &list), LC_INVALID);
	snprintf(want, sizeof(want), "list: %s has images of 2 sizes; open the directory "
	    "of one size", made.warehouse);
	ck_assert_str_eq(lc_last_error()->text, want);
	lc_source_close(members[1]);

	/* Another length field. */
	lc_source_options_init(&options);
	options.length_field = ".";
	assert_ok(lc_source_open_module(a, &options, &members[1]));
	assert_status(lc_source_open_list(members, 2, &list), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "the length field of"));
	lc_source_close(members[1]);

	/* Inputs that are not finished, but for the last member. */
	assert_ok(lc_inputs_declare(b, 1, &input));
	members[1] = members[0];
	members[0] = source_of(b);
	assert_status(lc_source_open_list(members, 2, &list), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, lc__env_dir(b->env)));
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "is not finished, and only the "
	    "last of a list may grow"));
	members[2] = members[0];
	assert_ok(lc_source_open_list(members + 1, 2, &list));
	ck_assert_int_eq(info_of(list).final, 0);

	/* A list of lists. */
	members[0] = list;
	assert_status(lc_source_open_list(members, 2, &list), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "is a list: name its members"));
	for (int i = 0; i < 3; i++)
		lc_source_close(members[i]);

	/* At a generation it does not grow. */
	options.length_field = NULL;
	options.generation = 0;
	assert_ok(lc_source_open_module(b, &options, &members[0]));
	members[1] = source_of(a);
	assert_ok(lc_source_open_list(members, 2, &list));
	ck_assert_uint_eq(info_of(list).records, 3);
	lc_source_close(list);
	lc_source_close(members[0]);
	lc_source_close(members[1]);
	need_ok(lc_close(a));
	need_ok(lc_close(b));
}
END_TEST

START_TEST(one_is_itself)
{
	lc_cache *a = module_of("a", 3);
	lc_source *source = source_of(a), *list;

	assert_ok(lc_source_open_list(&source, 1, &list));
	ck_assert_ptr_eq(list, source);
	lc_source_close(source);
	expect_id(list, 2, "a2");
	lc_source_close(list);
	need_ok(lc_close(a));
}
END_TEST

/* ---- growing ------------------------------------------------------------------------- */

START_TEST(only_the_last_grows)
{
	lc_cache *a = module_of("a", 3), *b = module_of("b", 2);
	lc_source *list = list_of(a, b);
	lc_source_info before = info_of(list), after;

	ck_assert_uint_eq(before.records, 5);
	ck_assert_uint_eq(before.generation, 2);
	put_rows(a, "a", 3, 4);
	assert_ok(lc_source_refresh(list));
	ck_assert_uint_eq(info_of(list).records, 5);
	assert_status(lc_source_wait(list, 6, 0), LC_TIMEOUT);
	put_rows(b, "b", 2, 4);
	assert_ok(lc_source_wait(list, 9, 0));
	after = info_of(list);
	ck_assert_uint_eq(after.records, 9);
	ck_assert_uint_eq(after.generation, 3);
	ck_assert_mem_eq(after.uuid, before.uuid, 16);
	ck_assert_uint_ne(after.prefix_hash, before.prefix_hash);
	expect_id(list, 2, "a2");
	expect_id(list, 3, "b0");
	expect_id(list, 8, "b5");

	/* What was known of the last one is gone: the source stays as it is. */
	assert_ok(lc_delete(b, "b0", 2));
	assert_ok(lc_flush(b));
	assert_status(lc_source_refresh(list), LC_CHANGED);
	expect_error(b, "chunks that were read have changed");
	ck_assert_uint_eq(info_of(list).records, 9);
	lc_source_close(list);
	need_ok(lc_close(a));
	need_ok(lc_close(b));
}
END_TEST

/* ---- tokens -------------------------------------------------------------------------- */

static void
take_token(lc_source *source, uint64_t batch, unsigned char *token)
{
	lc_stream_options options;
	lc_stream *stream;

	lc_stream_options_init(&options);
	options.batch = 2;
	assert_ok(lc_stream_open(&source, 1, &options, &stream));
	assert_ok(lc_stream_token(stream, batch, token));
	lc_stream_close(stream);
}

static lc_status
go_on(lc_source *source, const unsigned char *token, uint64_t *examples)
{
	lc_stream_info info = { .struct_size = sizeof(info) };
	lc_stream_options options;
	lc_stream *stream;
	lc_status status;

	lc_stream_options_init(&options);
	options.batch = 2;
	options.token = token;
	status = lc_stream_open(&source, 1, &options, &stream);
	if (status != LC_OK)
		return status;
	assert_ok(lc_stream_info_get(stream, &info));
	ck_assert_uint_eq(info.first_batch, 1);
	*examples = info.examples;
	lc_stream_close(stream);
	return LC_OK;
}

START_TEST(tokens)
{
	lc_cache *a = module_of("a", 3), *b = module_of("b", 2);
	lc_source *list = list_of(a, b), *other = list_of(b, a);
	unsigned char token[LC_TOKEN_SIZE];
	lc_source_options options;
	lc_source *members[2];
	uint64_t n, generation;

	take_token(list, 1, token);
	assert_ok(go_on(list, token, &n));
	ck_assert_uint_eq(n, 5);
	assert_status(go_on(other, token, &n), LC_OTHER_CACHE);
	lc_source_close(other);
	lc_source_close(list);

	/* The last one has grown: the stream is what it was. */
	put_rows(b, "b", 2, 4);
	list = list_of(a, b);
	assert_ok(go_on(list, token, &n));
	ck_assert_uint_eq(n, 5);
	lc_source_close(list);

	/* Another one has; it can be opened as it was. */
	members[0] = source_of(a);
	generation = info_of(members[0]).generation;
	lc_source_close(members[0]);
	put_rows(a, "a", 3, 1);
	list = list_of(a, b);
	assert_status(go_on(list, token, &n), LC_CHANGED);
	lc_source_close(list);
	lc_source_options_init(&options);
	options.generation = generation;
	assert_ok(lc_source_open_module(a, &options, &members[0]));
	members[1] = source_of(b);
	assert_ok(lc_source_open_list(members, 2, &list));
	lc_source_close(members[0]);
	lc_source_close(members[1]);
	assert_ok(go_on(list, token, &n));
	ck_assert_uint_eq(n, 5);
	lc_source_close(list);

	/* A record of it is another one. */
	put_rows(a, "a", 0, 1);
	list = list_of(a, b);
	assert_status(go_on(list, token, &n), LC_CHANGED);
	lc_source_close(list);
	need_ok(lc_close(a));
	need_ok(lc_close(b));
}
END_TEST

/* The hash of a chunk covers the members before it, which have as many chunks as before. */
START_TEST(tokens_cover_all_members)
{
	lc_cache *a = module_of("a", 3), *b = module_of("b", 2);
	lc_source *list = list_of(a, b);
	const lc_source_info before = info_of(list);
	unsigned char token[LC_TOKEN_SIZE];
	uint64_t n;

	take_token(list, 1, token);
	lc_source_close(list);
	assert_ok(lc_delete(a, "a1", 2));
	assert_ok(lc_flush(a));
	list = list_of(a, b);
	ck_assert_uint_eq(info_of(list).generation, before.generation);
	ck_assert_uint_ne(info_of(list).prefix_hash, before.prefix_hash);
	assert_status(go_on(list, token, &n), LC_CHANGED);
	lc_source_close(list);
	need_ok(lc_close(a));
	need_ok(lc_close(b));
}
END_TEST

/* ---- errors name the member ---------------------------------------------------------- */

static lc_status
read_batch(lc_source *source, bool views, uint64_t window)
{
	lc_stream_options options;
	lc_reader_options how;
	lc_stream *stream;
	lc_reader *reader;
	const lc_batch *batch;
	lc_status status;

	lc_stream_options_init(&options);
	options.window = window;
	assert_ok(lc_stream_open(&source, 1, &options, &stream));
	lc_reader_options_init(&how);
	how.views = views;
	how.threads = 0;
	assert_ok(lc_reader_open(stream, &how, &reader));
	status = lc_reader_next(reader, &batch);
	if (status == LC_OK)
		lc_batch_release(batch);
	lc_reader_close(reader);
	lc_stream_close(stream);
	return status;
}

START_TEST(changed)
{
	lc_cache *a = module_of("a", 3), *b = module_of("b", 2);
	lc_source *list = list_of(a, b);
	lc_view view;

	assert_ok(lc_delete(a, "a1", 2));
	assert_ok(lc_flush(a));
	assert_status(read_batch(list, _i, 0), LC_CHANGED);
	expect_error(a, "has other records now");
	assert_status(lc_source_get(list, 0, &view), LC_CHANGED);
	expect_error(a, "has other records now");
	assert_ok(lc_source_get(list, 4, &view));
	lc_view_release(&view);
	lc_source_close(list);
	need_ok(lc_close(a));
	need_ok(lc_close(b));
}
END_TEST

START_TEST(other_fields)
{
	lc_cache *a = module_of("a", 3), *b = new_module(), *c = new_module();
	const uint64_t shape[] = { WIDTH }, ordinals[] = { 0, 3 };
	const int32_t words[WIDTH] = { 1, 2, 3 };
	lc_tensor tensor, row;
	lc_source *list;
	float rows[2 * WIDTH];
	lc_value *value = lc_value_map();

	need_ok(lc_tensor_init(&tensor, LC_I32, 1, shape, words));
	need_ok(lc_put(b, "b0", 2, &tensor));
	list = list_of(a, b);
	assert_status(read_batch(list, _i == 1, _i == 2 ? 4 : 0), LC_SCHEMA);
	expect_error(b, "field '.' is i32[3], and f32[3] in other records");
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "'b0'"));
	assert_ok(lc_source_gather_row(list, 0, ".", &row));
	assert_status(lc_source_gather(list, 2, ordinals, ".", &row, rows, sizeof(rows), 1,
	    NULL), LC_SCHEMA);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, lc__env_dir(b->env)));
	lc_source_close(list);

	lc_value_set(value, "x", lc_value_tensor(&tensor));
	need_ok(lc_put_value(c, "c0", 2, value));
	lc_value_free(value);
	list = list_of(a, c);
	assert_status(read_batch(list, _i == 1, 0), LC_SCHEMA);
	expect_error(c, "c0");
	lc_source_close(list);
	need_ok(lc_close(a));
	need_ok(lc_close(b));
	need_ok(lc_close(c));
}
END_TEST

/* ---- by cache_id --------------------------------------------------------------------- */

START_TEST(found)
{
	lc_cache *a = module_of("a", 3), *b = module_of("b", 2);
	const lc_id ids[] = { { "b1", 2 }, { "a2", 2 }, { "c0", 2 }, { "a0", 2 } };
	uint64_t ordinals[4];
	lc_source *list;

	put_rows(b, "a", 0, 3); /* the records of the first come first */
	list = list_of(a, b);
	assert_ok(lc_source_find(list, 4, ids, ordinals));
	ck_assert_uint_eq(ordinals[0], 4);
	ck_assert_uint_eq(ordinals[1], 2);
	ck_assert_uint_eq(ordinals[2], UINT64_MAX);
	ck_assert_uint_eq(ordinals[3], 0);
	lc_source_close(list);
	need_ok(lc_close(a));
	need_ok(lc_close(b));
}
END_TEST

/* ---- many members -------------------------------------------------------------------- */

/* More than a cursor keeps between batches, some of them of nothing. */
START_TEST(many)
{
	enum { N = 1000, BATCH = 700 };
	lc_cache *a = module_of("a", 3), *none = new_module();
	lc_source *members[N], *list;
	lc_stream_options options;
	lc_reader_options how;
	const lc_batch *batch;
	lc_stream *stream;
	lc_reader *reader;
	uint64_t read = 0;
	char dir[400];

	snprintf(dir, sizeof(dir), "%s/shards", run_scratch());
	need_ok(lc_export(a, dir, NULL, NULL));
	for (int i = 0; i < N; i++)
		if (i % 10 == 9)
			members[i] = source_of(none);
		else
			need_ok(lc_source_open_shards(dir, NULL, &members[i]));
	assert_ok(lc_source_open_list(members, N, &list));
	for (int i = 0; i < N; i++)
		lc_source_close(members[i]);
	ck_assert_uint_eq(info_of(list).records, N / 10 * 27);

	lc_stream_options_init(&options);
	options.batch = BATCH;
	options.shuffle = LC_SHUFFLE_FULL;
	assert_ok(lc_stream_open(&list, 1, &options, &stream));
	lc_source_close(list);
	lc_reader_options_init(&how);
	how.views = _i;
	assert_ok(lc_reader_open(stream, &how, &reader));
	while (lc_reader_next(reader, &batch) == LC_OK) {
		for (size_t i = 0; i < batch->filled; i++) {
			const float *row = _i ? batch->fields[0].rows[i]
					      : (const float *)batch->fields[0].data +
				WIDTH * i;
			char id[16];

			need((size_t)sprintf(id, "a%.0f", (double)row[0]) ==
			    batch->ids[i].size);
			ck_assert_mem_eq(id, batch->ids[i].data, batch->ids[i].size);
			read++;
		}
		lc_batch_release(batch);
	}
	ck_assert_int_eq(lc_last_error()->status, LC_END);
	ck_assert_uint_eq(read, N / 10 * 27);
	lc_reader_close(reader);
	lc_stream_close(stream);
	need_ok(lc_close(a));
	need_ok(lc_close(none));
}
END_TEST

START_TEST(most)
{
	const lc_id unknown = { "b", 1 };
	lc_cache *a = module_of("a", 3);
	lc_source **members = calloc(65537, sizeof(*members)), *list;
	uint64_t ordinal;

	members[0] = source_of(a);
	for (int i = 1; i < 65537; i++)
		members[i] = members[0];
	assert_status(lc_source_open_list(members, 65537, &list), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "list: 65537 sources, not 1 to 65536");
	assert_ok(lc_source_open_list(members, 65536, &list));
	lc_source_close(members[0]);
	free(members);
	ck_assert_uint_eq(info_of(list).records, 3 * 65536);
	expect_id(list, 3 * 65536 - 1, "a2");
	assert_ok(lc_source_find(list, 1, &unknown, &ordinal));
	ck_assert_uint_eq(ordinal, UINT64_MAX);
	lc_source_close(list);
	need_ok(lc_close(a));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("list");
	TCase *tc = tcase_create("list");

	tcase_add_test(tc, refused);
	tcase_add_test(tc, one_is_itself);
	tcase_add_test(tc, only_the_last_grows);
	tcase_add_test(tc, tokens);
	tcase_add_test(tc, tokens_cover_all_members);
	tcase_add_loop_test(tc, changed, 0, 2);
	tcase_add_loop_test(tc, other_fields, 0, 3);
	tcase_add_test(tc, found);
	tcase_add_loop_test(tc, many, 0, 2);
	tcase_add_test(tc, most);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
