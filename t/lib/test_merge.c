/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of one list of inputs in several modules, merged into one. */
#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "by_name.h"
#include "filling.h"
#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define MOST_INPUTS 24
#define MOST_PARTS 5

/* A list, and how many chunks each input has. */
struct list {
	unsigned inputs;
	unsigned chunks[MOST_INPUTS];
};

static lc_cache *
open_fast(const char *root, const char *module)
{
	lc_options options = sample_options();

	options.durability = LC_DURABLE_RELAXED;
	return sample_open(root, module, &options);
}

/* Fill an input; the last chunks of half of them come before they are finished. */
static void
fill_input(lc_cache *cache, const struct list *list, unsigned input)
{
	lc_writer *writer;

	need_ok(filling_open(cache, input, &writer));
	for (unsigned k = 0; k < list->chunks[input]; k++)
		need_ok(filling_commit(writer,
		    k + 1 == list->chunks[input] && input % 2 == 0));
	if (!lc_writer_info(writer)->finished)
		need_ok(lc_writer_finish(writer, "end", 3));
	lc_writer_close(writer);
}

/* The module of part i of n, or of all with n = 1. */
static void
fill_part(const char *root, const char *module, const struct list *list, unsigned i,
    unsigned n)
{
	lc_cache *cache = open_fast(root, module);

	need_ok(filling_declare(cache, list->inputs));
	for (unsigned input = i; input < list->inputs; input += n)
		fill_input(cache, list, input);
	need_ok(lc_close(cache));
}

static struct list
make_list(uint64_t *random)
{
	struct list list = { .inputs = 1 + (unsigned)(run_random(random) % MOST_INPUTS) };

	for (unsigned i = 0; i < list.inputs; i++)
		list.chunks[i] = (unsigned)(run_random(random) % 8);
	return list;
}

/* The directories of modules "part-0" ... under a root. */
struct paths {
	char text[MOST_PARTS][600];
	const char *list[MOST_PARTS];
};

static void
make_paths(struct paths *paths, const char *root)
{
	for (unsigned i = 0; i < MOST_PARTS; i++) {
		need(snprintf(paths->text[i], 600, "%s/part-%u", root, i) < 600);
		paths->list[i] = paths->text[i];
	}
}

static void
fill_parts(const char *root, const struct list *list, unsigned n)
{
	char name[16];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "part-%u", i);
		fill_part(root, name, list, i, n);
	}
}

/* ---- comparing ------------------------------------------------------------- */

static void
expect_same_fill(lc_cache *a, lc_cache *b)
{
	const lc_fill x = filling_state(a), y = filling_state(b);

	ck_assert_mem_eq(&x, &y, sizeof(x));
}

/* What lc_inputs() says, a line each. */
static int
add_line(void *ctx, const lc_input_info *info)
{
	char *text = ctx;

	sprintf(text + strlen(text), "%u %s %.*s %.*s %u %u %u %d %d\n", info->index,
	    info->name, (int)info->fingerprint.size,
	    (const char *)info->fingerprint.data, (int)info->cursor.size,
	    (const char *)info->cursor.data, (unsigned)info->chunks,
	    (unsigned)info->records, (unsigned)info->length, info->finished, info->held);
	return 0;
}

static void
expect_same_inputs(lc_cache *a, lc_cache *b)
{
	char x[MOST_INPUTS * 100] = "", y[MOST_INPUTS * 100] = "";

	assert_ok(lc_inputs(a, add_line, x));
	assert_ok(lc_inputs(b, add_line, y));
	ck_assert_str_eq(x, y);
}

/* The same records in the same order, in all walks that do not show who wrote when. */
static void
expect_same_walk(lc_cache *a, lc_cache *b, unsigned flags)
{
	lc_status x, y;
	lc_item p, q;
	lc_iter *i, *j;

	assert_ok(lc_iter_open(a, flags, NULL, 0, &i));
	assert_ok(lc_iter_open(b, flags, NULL, 0, &j));
	do {
		x = lc_iter_next(i, &p);
		y = lc_iter_next(j, &q);
		ck_assert_int_eq(x, y);
		if (x != LC_OK)
			break;
		ck_assert_uint_eq(p.id.size, q.id.size);
		ck_assert_mem_eq(p.id.data, q.id.data, p.id.size);
		ck_assert(sample_same(&p.tensor, &q.tensor));
		ck_assert_uint_eq(p.stored_size, q.stored_size);
		ck_assert_int_eq(p.codec, q.codec);
	} while (true);
	ck_assert_int_eq(x, LC_END);
	lc_iter_close(i);
	lc_iter_close(j);
}

static void
expect_same_stats(lc_cache *a, lc_cache *b)
{
	lc_stats x = { .struct_size = sizeof(x) }, y = { .struct_size = sizeof(y) };

	assert_ok(lc_stat(a, &x));
	assert_ok(lc_stat(b, &y));
	ck_assert_uint_eq(x.records, y.records);
	ck_assert_uint_eq(x.live_bytes, y.live_bytes);
	ck_assert_uint_eq(x.chunks, y.chunks);
}

/* A reader of a module, from a token on. */
struct reading {
	lc_source *source;
	lc_stream *stream;
	lc_reader *reader;
};

static void
open_reading(struct reading *r, lc_cache *cache, const void *token)
{
	static const char *const none[] = { NULL };
	lc_stream_options options;
	lc_reader_options how;

	lc_stream_options_init(&options);
	options.shuffle = LC_SHUFFLE_BLOCK;
	options.block = 3;
	options.spread = 2;
	options.seed = 7;
	options.batch = 4;
	options.token = token;
	assert_ok(lc_source_open_module(cache, NULL, &r->source));
	assert_ok(lc_stream_open(&r->source, 1, &options, &r->stream));
	lc_reader_options_init(&how);
	how.fields = none;
	how.threads = 0;
	assert_ok(lc_reader_open(r->stream, &how, &r->reader));
}

static void
close_reading(struct reading *r)
{
	lc_reader_close(r->reader);
	lc_stream_close(r->stream);
	lc_source_close(r->source);
}

static void
expect_same_batch(const lc_batch *a, const lc_batch *b)
{
	ck_assert_uint_eq(a->number, b->number);
	ck_assert_uint_eq(a->filled, b->filled);
	for (size_t i = 0; i < a->rows; i++) {
		ck_assert_uint_eq(a->ids[i].size, b->ids[i].size);
		if (a->ids[i].size > 0)
			ck_assert_mem_eq(a->ids[i].data, b->ids[i].data,
			    a->ids[i].size);
	}
}

/* The batches of one, each also read from the other by the token of the first, which is the
 * token of both. */
static void
expect_same_stream(lc_cache *a, lc_cache *b)
{
	unsigned char token[LC_TOKEN_SIZE], other[LC_TOKEN_SIZE];
	const lc_batch *ours, *theirs;
	struct reading p, q;
	lc_status status;

	if (filling_state(a).records == 0)
		return;
	open_reading(&p, a, NULL);
	do {
		assert_ok(lc_reader_token(p.reader, token));
		open_reading(&q, b, token);
		assert_ok(lc_reader_token(q.reader, other));
		ck_assert_mem_eq(token, other, sizeof(token));
		status = lc_reader_next(p.reader, &ours);
		ck_assert_int_eq(lc_reader_next(q.reader, &theirs), status);
		if (status == LC_OK) {
			expect_same_batch(ours, theirs);
			lc_batch_release(ours);
			lc_batch_release(theirs);
		}
		close_reading(&q);
	} while (status == LC_OK);
	ck_assert_int_eq(status, LC_END);
	close_reading(&p);
}

static void
expect_same(lc_cache *a, lc_cache *b)
{
	lc_verify_result result;

	assert_ok(lc_verify(b, NULL, &result));
	expect_same_fill(a, b);
	expect_same_inputs(a, b);
	expect_same_stats(a, b);
	expect_same_walk(a, b, LC_BY_ORDER);
	expect_same_walk(a, b, LC_BY_INPUT);
	expect_same_walk(a, b, LC_BY_KEY);
	expect_same_stream(a, b);
	expect_same_stream(b, a);
}

static uint64_t
generation(lc_cache *cache)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	assert_ok(lc_stat(cache, &stats));
	return stats.generation;
}

/* Bytes of the file that are in use. */
static uint64_t
used(lc_cache *cache)
{
	const lc_stats stats = stats_of(cache);

	return stats.file_bytes - stats.free_bytes;
}

/* ---- as one machine ---------------------------------------------------------- */

START_TEST(is_one_machines)
{
	uint64_t random = run_seed() + (unsigned)_i;
	const struct list list = make_list(&random);
	const unsigned parts = 1 + (unsigned)(run_random(&random) % MOST_PARTS);
	const char *root = run_scratch();
	lc_merge_result result, again;
	struct paths paths;
	lc_cache *one, *all;
	uint64_t before;

	make_paths(&paths, root);
	fill_part(root, "one", &list, 0, 1);
	fill_parts(root, &list, parts);
	one = open_fast(root, "one");
	all = open_fast(root, "all");
	assert_ok(lc_inputs_merge(all, parts, paths.list, NULL, &result));
	expect_same(one, all);
	ck_assert_uint_eq(result.inputs, list.inputs);
	ck_assert_uint_eq(result.there, 0);
	ck_assert_uint_eq(result.chunks, filling_state(all).published);
	ck_assert_uint_eq(result.records, filling_state(all).records);
	before = generation(all);
	assert_ok(lc_inputs_merge(all, parts, paths.list, NULL, &again));
	ck_assert_uint_eq(generation(all), before);
	ck_assert_uint_eq(again.inputs, 0);
	ck_assert_uint_eq(again.there, list.inputs);
	ck_assert_uint_eq(again.chunks + again.records + again.bytes, 0);
	assert_ok(lc_close(one));
	assert_ok(lc_close(all));
}
END_TEST

/* Many chunks of few records take about the space of those of a module filled at once. */
START_TEST(small_chunks)
{
	enum { chunks = 1000 };
	const char *root = run_scratch();
	lc_settings settings = { .struct_size = sizeof(settings) };
	struct paths paths;
	lc_cache *one, *all;

	make_paths(&paths, root);
	one = open_fast(root, "part-0");
	assert_ok(lc_settings_get(one, &settings));
	settings.auto_compact = _i;
	assert_ok(lc_settings_set(one, &settings));
	assert_ok(filling_declare(one, 2));
	for (unsigned input = 0; input < 2; input++) {
		lc_writer *writer;

		assert_ok(filling_open(one, input, &writer));
		for (unsigned k = 0; k < chunks; k++)
			assert_ok(filling_commit(writer, k + 1 == chunks));
		lc_writer_close(writer);
	}
	all = open_fast(root, "all");
	assert_ok(lc_inputs_merge(all, 1, paths.list, NULL, NULL));
	expect_same(one, all);
	if (_i == 1)
		ck_assert_uint_le(used(all), used(one) + used(one) / 8);
	else
		ck_assert_uint_ge(used(all), 2 * chunks * 4096);
	assert_ok(lc_close(one));
	assert_ok(lc_close(all));
}
END_TEST

/* The target may be one of the parts; another one may have some of its inputs, too. */
START_TEST(into_a_part)
{
	const struct list list = { 5, { 3, 0, 2, 4, 1 } };
	const char *root = run_scratch();
	lc_merge_result result;
	struct paths paths;
	lc_cache *one, *all;

	make_paths(&paths, root);
	fill_part(root, "one", &list, 0, 1);
	fill_parts(root, &list, 2);
	fill_part(root, "part-2", &list, 3, 5);
	one = open_fast(root, "one");
	all = open_fast(root, "part-1");
	paths.list[1] = paths.list[2];
	assert_ok(lc_inputs_merge(all, 2, paths.list, NULL, &result));
	ck_assert_uint_eq(result.there, 2);
	ck_assert_uint_eq(result.inputs, 3);
	ck_assert_uint_eq(result.chunks, 6);
	expect_same(one, all);
	assert_ok(lc_close(one));
	assert_ok(lc_close(all));
}
END_TEST

/* Records that are coded, of several structures, which each module numbers as they came. */
static void
put_structured(lc_cache *cache, unsigned input, unsigned chunks)
{
	static const lc_dtype dtypes[] = { LC_U8, LC_F32, LC_I64 };
	static unsigned char data[4096];
	lc_writer *writer;

	need_ok(filling_open(cache, input, &writer));
	for (unsigned k = 0; k < chunks; k++) {
		for (unsigned i = 0; i < 3; i++) {
			const uint64_t shape[] = { 8 + k, 4 };
			lc_tensor tensor;

			memset(data, (int)(input + i), sizeof(data));
			need_ok(lc_tensor_init(&tensor, dtypes[(input + i) % 3],
			    1 + (input + k) % 2, shape, data));
			need_ok(lc_writer_put(writer, NULL, 0, &tensor));
		}
		need_ok(lc_writer_commit(writer, NULL, 0));
	}
	need_ok(lc_writer_finish(writer, NULL, 0));
	lc_writer_close(writer);
}

START_TEST(takes_settings_and_structures)
{
	const char *root = run_scratch();
	lc_settings settings = { .struct_size = sizeof(settings) };
	struct paths paths;
	lc_cache *one = open_fast(root, "one"), *all;

	make_paths(&paths, root);
	assert_ok(lc_settings_get(one, &settings));
	settings.codec = LC_CODEC_SHUFFLE_LZ4;
	strcpy(settings.length_field, ".");
	assert_ok(lc_settings_set(one, &settings));
	assert_ok(filling_declare(one, 4));
	for (unsigned i = 0; i < 4; i++)
		put_structured(one, i, 3 + i);
	for (unsigned i = 0; i < 4; i++) {
		lc_cache *part = open_fast(root, paths.list[i] + strlen(root) + 1);

		assert_ok(lc_settings_set(part, &settings));
		assert_ok(filling_declare(part, 4));
		put_structured(part, 3 - i, 3 + 3 - i);
		assert_ok(lc_close(part));
	}
	all = open_fast(root, "all");
	assert_ok(lc_inputs_merge(all, 4, paths.list, NULL, NULL));
	ck_assert_uint_gt(filling_state(all).length, 0);
	expect_same(one, all);
	memset(&settings, 0, sizeof(settings));
	settings.struct_size = sizeof(settings);
	assert_ok(lc_settings_get(all, &settings));
	ck_assert_int_eq(settings.codec, LC_CODEC_SHUFFLE_LZ4);
	ck_assert_str_eq(settings.length_field, ".");
	assert_ok(lc_close(one));
	assert_ok(lc_close(all));
}
END_TEST

/* ---- what is refused ------------------------------------------------------------ */

/* Merge parts 0 and 1 into "all": refused, and nothing is written. */
static const char *
refused(const char *root, lc_status status)
{
	lc_cache *all = open_fast(root, "all");
	const uint64_t before = generation(all);
	struct paths paths;

	make_paths(&paths, root);
	assert_status(lc_inputs_merge(all, 2, paths.list, NULL, NULL), status);
	ck_assert_uint_eq(generation(all), before);
	assert_ok(lc_close(all));
	return lc_last_error()->text;
}

/* @p want has %s for the root, twice or less. */
static void
expect_text(const char *got, const char *want, const char *root)
{
	char text[3000];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), want, root, root);
#pragma GCC diagnostic pop
	ck_assert_str_eq(got, text);
}

static lc_cache *
open_declared(const char *root, const char *module, unsigned inputs)
{
	lc_cache *cache = open_fast(root, module);

	need_ok(filling_declare(cache, inputs));
	return cache;
}

static void
add_damage(void *ctx, const char *line)
{
	char *text = ctx;

	sprintf(text + strlen(text), "%s\n", line);
}

START_TEST(unfinished)
{
	const struct list list = { 3, { 2, 2, 2 } };
	const char *root = run_scratch();
	char lines[4000] = "";
	lc_merge_options options;
	struct paths paths;
	lc_writer *writer;
	lc_cache *cache;

	make_paths(&paths, root);
	fill_part(root, "part-0", &list, 0, 3);
	cache = open_declared(root, "part-1", 3);
	need_ok(filling_open(cache, 2, &writer));
	need_ok(filling_commit(writer, 0));
	lc_writer_close(writer);
	assert_ok(lc_close(cache));
	expect_text(refused(root, LC_NOT_FOUND),
	    "merge: none of the modules has finished 2 of 3 inputs, such as in1, which "
	    "has 0 chunks in %s/part-0", root);
	lc_merge_options_init(&options);
	options.dry_run = 1;
	options.progress.damage = add_damage;
	options.progress.ctx = lines;
	assert_status(lc_inputs_merge(NULL, 2, paths.list, &options, NULL), LC_NOT_FOUND);
	expect_text(lines,
	    "input in1 is not finished: it has 0 chunks in %s/part-0\n"
	    "input in2 is not finished: it has 1 chunks in %s/part-1\n", root);
}
END_TEST

START_TEST(other_lists)
{
	const struct list list = { 2, { 1, 1 } };
	const lc_input swapped[] = { { "in1", { NULL, 0 } }, { "in0", { NULL, 0 } } };
	const char *root = run_scratch();
	lc_cache *cache;

	fill_part(root, "part-0", &list, 0, 1);
	assert_ok(lc_close(open_declared(root, "part-1", 3)));
	expect_text(refused(root, LC_INVALID),
	    "merge: %s/part-1 has 3 inputs, and %s/part-0 has 2", root);
	assert_ok(lc_drop(root, "part-1"));
	cache = open_fast(root, "part-1");
	assert_ok(lc_inputs_declare(cache, 2, swapped));
	assert_ok(lc_close(cache));
	expect_text(refused(root, LC_INVALID),
	    "merge: input 0 is 'in1' in %s/part-1, and in0 in %s/part-0", root);
	assert_ok(lc_drop(root, "part-1"));
	assert_ok(lc_close(open_fast(root, "part-1")));
	expect_text(refused(root, LC_INVALID), "merge: %s/part-1 has no inputs", root);
	/* So too the target. */
	assert_ok(lc_drop(root, "part-1"));
	fill_part(root, "part-1", &list, 0, 1);
	cache = open_fast(root, "all");
	assert_ok(lc_inputs_declare(cache, 2, swapped));
	assert_ok(lc_close(cache));
	expect_text(refused(root, LC_INVALID),
	    "merge: input 0 is 'in0' in %s/part-0, and in1 in %s/all", root);
	assert_ok(lc_drop(root, "all"));
	cache = open_fast(root, "all");
	assert_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	assert_ok(lc_close(cache));
	expect_text(refused(root, LC_INVALID), "merge: %s/all holds records of plain puts",
	    root);
}
END_TEST

START_TEST(other_fingerprints)
{
	const lc_input unknown[] = { { "in0", { NULL, 0 } }, { "in1", { NULL, 0 } } };
	const lc_input other[] = { { "in0", { NULL, 0 } }, { "in1", { "FP1", 3 } } };
	const struct list list = { 2, { 1, 1 } };
	const char *root = run_scratch();
	struct paths paths;
	lc_cache *cache;

	make_paths(&paths, root);
	fill_part(root, "part-0", &list, 0, 1);
	cache = open_fast(root, "part-1");
	assert_ok(lc_inputs_declare(cache, 2, other));
	assert_ok(lc_close(cache));
	expect_text(refused(root, LC_STALE),
	    "merge: input in1 has another fingerprint in %s/part-1 than in %s/part-0", root);
	/* One that is not known contradicts none. */
	assert_ok(lc_drop(root, "part-1"));
	cache = open_fast(root, "part-1");
	assert_ok(lc_inputs_declare(cache, 2, unknown));
	fill_input(cache, &list, 1);
	assert_ok(lc_close(cache));
	fill_part(root, "one", &list, 0, 1);
	paths.list[2] = paths.list[0];
	cache = open_fast(root, "all");
	assert_ok(lc_inputs_merge(cache, 2, paths.list + 1, NULL, NULL));
	expect_same_inputs(cache, cache);
	assert_ok(lc_close(cache));
	cache = open_fast(root, "one");
	assert_ok(lc_close(cache));
}
END_TEST

/* Two modules have finished an input: the same, or not. */
START_TEST(two_contents)
{
	const struct list list = { 2, { 3, 2 } }, more = { 2, { 4, 2 } };
	const char *root = run_scratch();
	struct paths paths;
	lc_cache *cache;

	make_paths(&paths, root);
	fill_part(root, "part-0", &list, 0, 1);
	fill_part(root, "part-1", &more, 0, 1);
	expect_text(refused(root, LC_INVALID),
	    "merge: input in0 has one content in %s/part-0 and another one in %s/part-1",
	    root);
	/* So too the target, if that is finished or only begun. */
	for (int finished = 0; finished < 2; finished++) {
		const struct list begun = { 2, { 5, 0 } };
		lc_writer *writer;

		assert_ok(lc_drop(root, "part-1"));
		fill_part(root, "part-1", &list, 0, 1);
		cache = open_declared(root, "all", 2);
		if (finished) {
			fill_input(cache, &begun, 0);
		} else {
			need_ok(filling_open(cache, 1, &writer));
			need_ok(lc_writer_put(writer, "x", 1,
			    &(lc_tensor){ .dtype = LC_U8, .ndim = 0, .nbytes = 1,
				.data = "" }));
			need_ok(lc_writer_commit(writer, NULL, 0));
			lc_writer_close(writer);
		}
		assert_ok(lc_close(cache));
		expect_text(refused(root, LC_INVALID),
		    finished
			? "merge: input in0 has one content in %s/all and another one in "
			  "%s/part-0"
			: "merge: input in1 has one content in %s/all and another one in "
			  "%s/part-0",
		    root);
		assert_ok(lc_drop(root, "all"));
	}
}
END_TEST

static void
put_key(lc_cache *cache, unsigned input, const char *key, uint32_t ndim)
{
	const uint64_t shape[] = { 1, 1 };
	lc_writer *writer;
	lc_tensor tensor;

	need_ok(lc_tensor_init(&tensor, LC_U8, ndim, shape, "x"));
	need_ok(filling_open(cache, input, &writer));
	need_ok(lc_writer_put(writer, key, strlen(key), &tensor));
	need_ok(lc_writer_finish(writer, NULL, 0));
	lc_writer_close(writer);
}

/* A key may be in one input only: in a commit of its own, or in one of several inputs. */
START_TEST(keys_twice)
{
	const char *root = run_scratch();
	struct paths paths;
	lc_cache *cache;

	make_paths(&paths, root);
	cache = open_declared(root, "part-0", 3);
	put_key(cache, 0, "a", 1);
	put_key(cache, 1, "b", 1);
	assert_ok(lc_close(cache));
	cache = open_declared(root, "part-1", 3);
	put_key(cache, 2, "b", 1);
	assert_ok(lc_close(cache));
	cache = open_fast(root, "all");
	assert_status(lc_inputs_merge(cache, 2, paths.list, NULL, NULL), LC_EXISTS);
	ck_assert_str_eq(lc_last_error()->text,
	    "merge: key 'b' is in input in1 and in input in2");
	ck_assert_uint_eq(filling_state(cache).published, 0);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(other_structures)
{
	const char *root = run_scratch();
	lc_settings settings = { .struct_size = sizeof(settings) };
	struct paths paths;
	lc_cache *cache;

	make_paths(&paths, root);
	for (unsigned i = 0; i < 2; i++) {
		cache = open_declared(root, paths.list[i] + strlen(root) + 1, 2);
		put_key(cache, i, i == 0 ? "a" : "b", 1 + i);
		assert_ok(lc_settings_get(cache, &settings));
		settings.policy = LC_STRICT;
		assert_ok(lc_settings_set(cache, &settings));
		assert_ok(lc_close(cache));
	}
	expect_text(refused(root, LC_SCHEMA),
	    "merge: %s/part-1 holds u8[*,*], not u8[*] like the others, and the target is "
	    "strict", root);
	/* Whoever lets structures differ gets both. */
	cache = open_fast(root, "all");
	assert_ok(lc_settings_get(cache, &settings));
	settings.policy = LC_EVOLVE;
	settings.codec = LC_CODEC_LZ4;
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(lc_inputs_merge(cache, 2, paths.list, NULL, NULL));
	assert_ok(lc_close(cache));
	/* Lengths are those of one field. */
	assert_ok(lc_drop(root, "all"));
	cache = open_fast(root, "all");
	sample_set_length(cache, "a.b");
	assert_ok(lc_close(cache));
	expect_text(refused(root, LC_INVALID),
	    "merge: the length field is '' in %s/part-0 and 'a.b' in %s/all", root);
}
END_TEST

START_TEST(bad_calls)
{
	const struct list list = { 2, { 1, 1 } };
	const char *root = run_scratch();
	const char *const none[] = { NULL }, *const empty[] = { "" };
	lc_merge_options options;
	struct paths paths;
	lc_writer *writer;
	lc_cache *all;

	make_paths(&paths, root);
	fill_part(root, "part-0", &list, 0, 1);
	all = open_fast(root, "all");
	lc_merge_options_init(&options);
	assert_status(lc_inputs_merge(all, 0, paths.list, NULL, NULL), LC_INVALID);
	assert_status(lc_inputs_merge(all, 1, NULL, NULL, NULL), LC_INVALID);
	assert_status(lc_inputs_merge(all, 1, none, NULL, NULL), LC_INVALID);
	assert_status(lc_inputs_merge(all, 1, empty, NULL, NULL), LC_INVALID);
	assert_status(lc_inputs_merge(NULL, 1, paths.list, NULL, NULL), LC_INVALID);
	options.flags = LC_CREATE;
	assert_status(lc_inputs_merge(all, 1, paths.list, &options, NULL), LC_INVALID);
	options.struct_size = 0;
	assert_status(lc_inputs_merge(all, 1, paths.list, &options, NULL), LC_INVALID);
	assert_status(lc_inputs_merge(all, 2, paths.list, NULL, NULL), LC_NO_FILE);
	assert_ok(lc_close(all));

	all = open_fast(root, "part-0");
	assert_status(lc_inputs_merge(all, 1, paths.list, NULL, NULL), LC_INVALID);
	expect_text(lc_last_error()->text, "merge: %s/part-0 is both source and target", root);
	assert_ok(lc_close(all));

	all = open_declared(root, "all", 2);
	assert_ok(filling_open(all, 0, &writer));
	assert_status(lc_inputs_merge(all, 1, paths.list, NULL, NULL), LC_BUSY);
	lc_writer_close(writer);
	/* A slash at the end does no harm. */
	strcat(paths.text[0], "//");
	assert_ok(lc_inputs_merge(all, 1, paths.list, NULL, NULL));
	assert_ok(lc_close(all));
}
END_TEST

/* ---- what breaks off ------------------------------------------------------------- */

/* Large enough for many commits of a small handle. */
#define MANY 300

static const struct list many = { 4, { MANY, MANY, MANY, MANY } };

static lc_cache *
open_small(const char *root)
{
	lc_options options = sample_options();

	options.durability = LC_DURABLE_RELAXED;
	options.chunk_bytes = 64 << 10;
	return sample_open(root, "all", &options);
}

static int
stop_soon(void *ctx, uint64_t done, uint64_t total)
{
	ck_assert_uint_le(done, total);
	return --*(int *)ctx == 0;
}

/* Nobody goes on with what is there in part, but a merge. */
START_TEST(goes_on)
{
	const char *root = run_scratch();
	lc_merge_result result;
	lc_merge_options options;
	struct paths paths;
	lc_verify_result verified;
	lc_writer *writer;
	lc_cache *all, *one;
	int steps = MANY + 290;
	lc_fill fill;

	make_paths(&paths, root);
	fill_part(root, "one", &many, 0, 1);
	fill_parts(root, &many, 2);
	one = open_fast(root, "one");
	all = open_small(root);
	lc_merge_options_init(&options);
	options.progress.step = stop_soon;
	options.progress.ctx = &steps;
	assert_status(lc_inputs_merge(all, 2, paths.list, &options, NULL), LC_CANCELLED);
	fill = filling_state(all);
	ck_assert_uint_gt(fill.committed, MANY);
	ck_assert_uint_lt(fill.committed, MANY + 290);
	ck_assert_uint_eq(fill.published, 0);
	ck_assert_uint_eq(fill.finished, 1);
	assert_ok(lc_verify(all, NULL, &verified));
	assert_status(filling_open(all, 1, &writer), LC_INVALID);
	expect_text(lc_last_error()->text,
	    "%s/all: input in1 is incomplete, from a merge that was interrupted: merge again",
	    root);
	assert_status(lc_inputs_finish(all), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "merge again"));
	assert_ok(lc_inputs_merge(all, 2, paths.list, NULL, &result));
	ck_assert_uint_eq(result.chunks + fill.committed, 4 * MANY);
	ck_assert_uint_eq(result.there, 1);
	expect_same(one, all);
	assert_ok(lc_close(all));
	assert_ok(lc_close(one));
}
END_TEST

/* Flip a bit of a record, wherever the file has it: what LMDB does not use may have it, too.
 * A second time mends it. */
static void
flip(int fd, const void *bytes, size_t size)
{
	const unsigned char *from, *at;
	struct stat st;
	char *file;
	size_t left;

	need(fstat(fd, &st) == 0);
	left = (size_t)st.st_size;
	file = malloc(left);
	need(file != NULL && pread(fd, file, left, 0) == st.st_size);
	from = (const unsigned char *)file;
	while ((at = memmem(from, left, bytes, size)) != NULL) {
		const unsigned char flipped = at[size - 1] ^ 1;

		need(pwrite(fd, &flipped, 1, (const char *)at - file + (off_t)size - 1) ==
		    1);
		left -= (size_t)(at + size - from);
		from = at + size;
	}
	free(file);
}

/* The first record of the input whose bytes are its own: eight bytes are the same in all.
 * Its chunk. */
static unsigned
find_record(unsigned input, lc_tensor *out)
{
	for (unsigned k = 0;; k++) {
		char id[64];
		const size_t size = (size_t)snprintf(id, sizeof(id), "in%u:%u:0", input,
		    k);

		sample_make(out, id, size, 1, (struct sample_range){ 8, 120 });
		if (out->nbytes > 16)
			return k;
		sample_free(out);
	}
}

/* A damaged record anywhere: nothing is published. Once it is mended, the merge goes on. */
START_TEST(damaged)
{
	const struct list list = { 4, { 3, 3, 3, 3 } };
	const char *root = run_scratch();
	struct paths paths;
	lc_cache *all, *one;

	make_paths(&paths, root);
	fill_part(root, "one", &list, 0, 1);
	fill_parts(root, &list, 2);
	one = open_fast(root, "one");
	for (unsigned input = 0; input < 4; input++) {
		char path[700], want[1000];
		lc_tensor record;
		const unsigned chunk = find_record(input, &record);
		int fd;

		snprintf(path, sizeof(path), "%s/data.mdb", paths.list[input % 2]);
		fd = open(path, O_RDWR | O_CLOEXEC);
		need(fd != -1);
		flip(fd, record.data, record.nbytes);
		all = open_fast(root, "all");
		assert_status(lc_inputs_merge(all, 2, paths.list, NULL, NULL), LC_CORRUPT);
		snprintf(want, sizeof(want),
		    "merge: %s: chunk %u of input in%u: a record is damaged",
		    paths.list[input % 2], chunk, input);
		ck_assert_str_eq(lc_last_error()->text, want);
		ck_assert_uint_eq(filling_state(all).published, 0);
		((unsigned char *)record.data)[record.nbytes - 1] ^= 1;
		flip(fd, record.data, record.nbytes);
		sample_free(&record);
		close(fd);
		assert_ok(lc_inputs_merge(all, 2, paths.list, NULL, NULL));
		expect_same(one, all);
		assert_ok(lc_close(all));
		assert_ok(lc_drop(root, "all"));
	}
	assert_ok(lc_close(one));
}
END_TEST

/* A disk that is full: what was stored is whole, and with room the rest follows. */
static void
fill_disk(void *given)
{
	struct rlimit limit = { 1 << 20, RLIM_INFINITY };
	const char *root = given;
	lc_verify_result verified;
	struct paths paths;
	lc_cache *all, *one;

	make_paths(&paths, root);
	all = open_small(root);
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	need_status(lc_inputs_merge(all, 2, paths.list, NULL, NULL), LC_NO_SPACE);
	need(filling_state(all).committed > 0);
	need(filling_state(all).published == 0);
	need_ok(lc_verify(all, NULL, &verified));
	limit.rlim_cur = RLIM_INFINITY;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	need_ok(lc_inputs_merge(all, 2, paths.list, NULL, NULL));
	one = open_fast(root, "one");
	need(filling_state(all).prefix_hash == filling_state(one).prefix_hash);
	need(filling_state(all).final);
	need_ok(lc_verify(all, NULL, &verified));
	need_ok(lc_close(one));
	need_ok(lc_close(all));
}

START_TEST(full_disk)
{
	const char *root = run_scratch();

	fill_part(root, "one", &many, 0, 1);
	fill_parts(root, &many, 2);
	ck_assert_int_eq(child_run(fill_disk, (void *)(uintptr_t)root), 0);
}
END_TEST

/* Killed at any moment, again and again: what is there is whole, and in the end all is. */
START_TEST(killed)
{
	const unsigned rounds = sample_times(20);
	const char *root = run_scratch();
	uint64_t random = run_seed();
	lc_verify_result verified;
	struct paths paths;
	lc_cache *all, *one;
	unsigned midway = 0;

	make_paths(&paths, root);
	fill_part(root, "one", &many, 0, 1);
	fill_parts(root, &many, 3);
	one = open_fast(root, "one");
	for (unsigned i = 0; i < rounds; i++) {
		const pid_t pid = fork();
		lc_fill fill;

		need(pid != -1);
		if (pid == 0) {
			all = open_small(root);
			need_ok(lc_inputs_merge(all, 3, paths.list, NULL, NULL));
			pause();
		}
		usleep((useconds_t)(run_random(&random) % 150000));
		need(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
		all = open_small(root);
		assert_ok(lc_verify(all, NULL, &verified));
		fill = filling_state(all);
		midway += fill.committed > 0 && fill.finished < many.inputs;
		if (i % 4 == 3 || fill.finished == many.inputs) {
			assert_ok(lc_inputs_merge(all, 3, paths.list, NULL, NULL));
			expect_same(one, all);
			assert_ok(lc_close(all));
			assert_ok(lc_drop(root, "all"));
		} else {
			assert_ok(lc_close(all));
		}
	}
	printf("# killed midway %u times of %u\n", midway, rounds);
	assert_ok(lc_close(one));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("merge");
	TCase *tc = tcase_create("merge");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, is_one_machines, 0, 30);
	tcase_add_loop_test(tc, small_chunks, 0, 2);
	tcase_add_test(tc, into_a_part);
	tcase_add_test(tc, takes_settings_and_structures);
	tcase_add_test(tc, unfinished);
	tcase_add_test(tc, other_lists);
	tcase_add_test(tc, other_fingerprints);
	tcase_add_test(tc, two_contents);
	tcase_add_test(tc, keys_twice);
	tcase_add_test(tc, other_structures);
	tcase_add_test(tc, bad_calls);
	tcase_add_test(tc, goes_on);
	tcase_add_test(tc, damaged);
	tcase_add_test(tc, full_disk);
	tcase_add_test(tc, killed);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
