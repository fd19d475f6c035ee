/* SPDX-License-Identifier: BSD-2-Clause */
/* Copying records from one module into another. */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "witness.h"

static lc_cache *
open_fast(const char *root, const char *module)
{
	lc_options options = sample_options();

	options.durability = LC_DURABLE_RELAXED;
	options.flush_every = 20;
	return sample_open(root, module, &options);
}

static lc_copy_options
with(lc_conflict conflict)
{
	lc_copy_options options;

	lc_copy_options_init(&options);
	options.conflict = conflict;
	return options;
}

static uint64_t
generation(lc_cache *cache)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	assert_ok(lc_stat(cache, &stats));
	return stats.generation;
}

/* ---- names ---------------------------------------------------------------- */

START_TEST(names)
{
	static const char *const words[] = { "keep", "replace", "same", "fail" };
	lc_conflict got = LC_KEEP;

	for (int i = 0; i < 4; i++) {
		ck_assert_str_eq(lc_conflict_name((lc_conflict)i), words[i]);
		assert_ok(lc_conflict_parse(words[i], &got));
		ck_assert_int_eq((int)got, i);
	}
	ck_assert_ptr_null(lc_conflict_name((lc_conflict)4));
	ck_assert_ptr_null(lc_conflict_name((lc_conflict)-1));
	assert_status(lc_conflict_parse("KEEP", &got), LC_INVALID);
	assert_status(lc_conflict_parse("", &got), LC_INVALID);
	assert_status(lc_conflict_parse(NULL, &got), LC_INVALID);
}
END_TEST

/* ---- conflicts ------------------------------------------------------------ */

#define SHARED 30 /* keys that both modules have */

/* Source: keys 0 to 99. Target: keys 70 to 199. What both have is equal if asked. */
struct pair {
	struct witness source, target;
	lc_cache *from, *to;
};

static void
make_pair(struct pair *p, bool equal)
{
	const char *root = run_scratch();

	*p = (struct pair){ .source.range = SAMPLE_SMALL };
	p->target.range = SAMPLE_SMALL;
	p->from = open_fast(root, "from");
	p->to = open_fast(root, "to");
	if (!equal)
		p->target.puts = 1000;
	for (unsigned i = 0; i < 100; i++)
		witness_put(&p->source, p->from, i);
	if (equal)
		p->target.puts = 70;
	for (unsigned i = 70; i < 200; i++)
		witness_put(&p->target, p->to, i);
	witness_check(&p->source, p->from);
	witness_check(&p->target, p->to);
}

static void
close_pair(struct pair *p)
{
	witness_check(&p->source, p->from);
	witness_check(&p->target, p->to);
	assert_ok(lc_close(p->from));
	assert_ok(lc_close(p->to));
}

/* What the target holds after it took these keys of the source. */
static void
take_over(struct pair *p, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++) {
		p->target.versions[i] = p->source.versions[i];
		p->target.order[i] = 100000 + i;
	}
}

START_TEST(conflicts)
{
	const lc_conflict conflict = (lc_conflict)(_i % 4);
	const bool equal = _i >= 4, dry = _i >= 8;
	lc_copy_options options = with(conflict);
	lc_copy_result result = { 0 };
	uint64_t before;
	struct pair p;

	make_pair(&p, equal);
	before = generation(p.to);
	options.dry_run = dry;
	if (conflict == LC_FAIL || (conflict == LC_SAME && !equal)) {
		assert_status(lc_copy(p.from, p.to, &options, &result), LC_INVALID);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "key "));
		ck_assert_uint_eq(generation(p.to), before);
		close_pair(&p);
		return;
	}
	assert_ok(lc_copy(p.from, p.to, &options, &result));
	ck_assert_uint_eq(result.copied, 100 - SHARED);
	ck_assert_uint_eq(result.replaced, conflict == LC_REPLACE ? SHARED : 0);
	ck_assert_uint_eq(result.kept, conflict == LC_REPLACE ? 0 : SHARED);
	ck_assert_uint_eq(result.damaged, 0);
	ck_assert_uint_gt(result.bytes, 0);
	if (dry)
		ck_assert_uint_eq(generation(p.to), before);
	else
		take_over(&p, 0, conflict == LC_REPLACE ? 100 : 70);
	close_pair(&p);
}
END_TEST

START_TEST(bad_calls)
{
	const char *root = run_scratch();
	lc_cache *a = open_fast(root, "a"), *again = open_fast(root, "a");
	lc_cache *b = open_fast(root, "b");
	lc_copy_options options = with(LC_KEEP);
	lc_copy_result result;

	assert_status(lc_copy(a, a, &options, &result), LC_INVALID);
	assert_status(lc_copy(a, again, &options, &result), LC_INVALID);
	options.conflict = (lc_conflict)9;
	assert_status(lc_copy(a, b, &options, &result), LC_INVALID);
	options = with(LC_KEEP);
	options.struct_size--;
	assert_status(lc_copy(a, b, &options, &result), LC_INVALID);
	options = with(LC_KEEP);
	options.prefix_size = 3;
	assert_status(lc_copy(a, b, &options, &result), LC_INVALID);
	assert_ok(lc_close(a));
	assert_ok(lc_close(again));
	assert_ok(lc_close(b));
}
END_TEST

/* From a read-only handle into the module of the same name elsewhere, not back. */
START_TEST(read_only_source)
{
	struct witness w = { .range = SAMPLE_SMALL };
	const char *root = run_scratch(), *other = run_scratch();
	lc_options read_only = sample_options();
	lc_cache *from = open_fast(root, "m"), *to;
	lc_copy_result result;

	read_only.flags = LC_RDONLY;
	for (unsigned i = 0; i < 150; i++)
		witness_put(&w, from, i);
	witness_delete(&w, from, 3);
	assert_ok(lc_close(from));
	from = sample_open(root, "m", &read_only);
	to = open_fast(other, "m");
	assert_ok(lc_copy(from, to, NULL, &result));
	ck_assert_uint_eq(result.copied, 149);
	witness_check(&w, to);
	assert_status(lc_copy(to, from, NULL, &result), LC_READONLY);
	assert_ok(lc_close(from));
	assert_ok(lc_close(to));
}
END_TEST

START_TEST(prefix)
{
	struct pair p;
	lc_copy_options options = with(LC_KEEP);
	lc_copy_result result;
	unsigned n = 0;

	make_pair(&p, false);
	options.prefix = "//////////////////////////////";
	options.prefix_size = 30;
	assert_ok(lc_copy(p.from, p.to, &options, &result));
	for (unsigned i = 2; i < 70; i += 8, n++)
		take_over(&p, i, i + 1);
	ck_assert_uint_eq(result.copied, n);
	close_pair(&p);
}
END_TEST

static int
stop_at_third(void *ctx, uint64_t done, uint64_t total)
{
	ck_assert_uint_le(done, total);
	return ++*(unsigned *)ctx == 3;
}

/* What was copied so far stands, or will: it is pending. */
START_TEST(cancelled)
{
	struct pair p;
	lc_copy_options options = with(LC_KEEP);
	lc_copy_result result = { .copied = 77 };
	unsigned calls = 0;

	make_pair(&p, false);
	options.progress.step = stop_at_third;
	options.progress.ctx = &calls;
	assert_status(lc_copy(p.from, p.to, &options, &result), LC_CANCELLED);
	ck_assert_uint_eq(calls, 3);
	ck_assert_uint_eq(result.copied, 77);
	take_over(&p, 0, 3);
	close_pair(&p);
}
END_TEST

/* ---- values --------------------------------------------------------------- */

static lc_value *
make_value(unsigned i, const lc_tensor *tensor)
{
	lc_value *map = lc_value_map();
	lc_value *list = lc_value_set(map, "list", lc_value_list());

	lc_value_set(map, "n", lc_value_integer((int64_t)i));
	lc_value_set(map, "name", lc_value_str("x"));
	lc_value_append(list, lc_value_tensor(tensor));
	lc_value_append(list, lc_value_tensor(tensor));
	return map;
}

/* Structures get other ids in the target; coded tensors stay as they are stored. */
START_TEST(values)
{
	const char *root = run_scratch();
	lc_cache *from = open_fast(root, "from"), *to = open_fast(root, "to");
	static const float zeros[4096];
	const uint64_t shape[2] = { 64, 64 };
	lc_tensor tensor;
	lc_copy_result result;
	lc_verify_result verified;
	lc_iter *iter;
	lc_item item;
	unsigned n = 0;

	assert_ok(lc_tensor_init(&tensor, LC_F32, 2, shape, zeros));
	/* So that ids differ. */
	assert_ok(sample_put(to, "first", 5, 1, SAMPLE_SMALL));
	assert_ok(lc_flush(to));
	for (unsigned i = 0; i < 20; i++) {
		lc_value *value = make_value(i, &tensor);

		assert_ok(lc_put_coded(from, &i, sizeof(i), value,
		    i % 2 ? LC_CODEC_LZ4 : LC_CODEC_NONE, 0));
		lc_value_free(value);
	}
	assert_ok(lc_copy(from, to, NULL, &result));
	ck_assert_uint_eq(result.copied, 20);
	assert_ok(lc_iter_open(to, LC_BY_COMMIT, NULL, 0, &iter));
	assert_ok(lc_iter_next(iter, &item));
	for (; lc_iter_next(iter, &item) == LC_OK; n++) {
		lc_value *want = make_value(n, &tensor);
		const lc_value *got;

		ck_assert_int_eq(item.codec, n % 2 ? LC_CODEC_LZ4 : LC_CODEC_NONE);
		assert_ok(lc_iter_value(iter, NULL, &got));
		ck_assert(lc_value_equal(got, want));
		lc_value_free(want);
	}
	ck_assert_uint_eq(n, 20);
	lc_iter_close(iter);
	assert_ok(lc_verify(to, NULL, &verified));
	assert_ok(lc_close(from));
	assert_ok(lc_close(to));
}
END_TEST

/* Equal is what has equal values, however they are coded. */
START_TEST(same_value_other_codec)
{
	const char *root = run_scratch();
	lc_cache *from = open_fast(root, "from"), *to = open_fast(root, "to");
	const lc_copy_options options = with(LC_SAME);
	static float data[4096];
	const uint64_t shape[1] = { 4096 };
	lc_copy_result result;
	lc_tensor tensor;
	lc_value *value;

	assert_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, data));
	value = make_value(1, &tensor);
	assert_ok(lc_put_coded(from, "k", 1, value, LC_CODEC_LZ4, 0));
	assert_ok(lc_put_coded(to, "k", 1, value, LC_CODEC_NONE, 0));
	assert_ok(lc_copy(from, to, &options, &result));
	ck_assert_uint_eq(result.kept, 1);
	lc_value_free(value);
	data[4095] = -0.0f;
	value = make_value(1, &tensor);
	assert_ok(lc_put_coded(from, "k", 1, value, LC_CODEC_LZ4, 0));
	assert_status(lc_copy(from, to, &options, &result), LC_INVALID);
	lc_value_free(value);
	assert_ok(lc_close(from));
	assert_ok(lc_close(to));
}
END_TEST

START_TEST(strict_target)
{
	const char *root = run_scratch();
	lc_cache *from = open_fast(root, "from"), *to = open_fast(root, "to");
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_copy_result result;
	lc_tensor tensor = sample_bytes("abc", 3);
	uint64_t count;

	assert_ok(lc_settings_get(to, &settings));
	settings.policy = LC_STRICT;
	assert_ok(lc_settings_set(to, &settings));
	assert_ok(lc_put(to, "a", 1, &tensor));
	assert_ok(lc_put(from, "b", 1, &tensor));
	tensor.dtype = LC_I8;
	assert_ok(lc_put(from, "c", 1, &tensor));
	assert_status(lc_copy(from, to, NULL, &result), LC_SCHEMA);
	assert_ok(lc_flush(to));
	assert_ok(lc_count(to, &count));
	ck_assert_uint_eq(count, 2);
	assert_ok(lc_close(from));
	assert_ok(lc_close(to));
}
END_TEST

/* ---- damage --------------------------------------------------------------- */

/* Flip a bit of the only place where these bytes stand in the file. */
static void
flip(const char *root, const void *bytes, size_t size)
{
	static unsigned char file[1 << 20];
	char path[4200];
	ssize_t length;
	unsigned char *at;
	int fd;

	snprintf(path, sizeof(path), "%s/from/data.mdb", root);
	fd = open(path, O_RDWR);
	length = pread(fd, file, sizeof(file), 0);
	ck_assert_int_gt(length, 0);
	at = memmem(file, (size_t)length, bytes, size);
	ck_assert_ptr_nonnull(at);
	*at ^= 1;
	ck_assert_int_eq(pwrite(fd, at, 1, at - file), 1);
	close(fd);
}

static void
count_line(void *ctx, const char *line)
{
	ck_assert_uint_gt(strlen(line), 0);
	++*(unsigned *)ctx;
}

START_TEST(damaged_source)
{
	const char *root = run_scratch();
	lc_cache *from = open_fast(root, "from"), *to = open_fast(root, "to");
	struct witness w = { .range = { 64, 300 } };
	lc_copy_options options = with(LC_FAIL);
	lc_copy_result result = { 0 };
	lc_options no_verify = sample_options();
	unsigned lines = 0;
	lc_tensor tensor;
	char id[SAMPLE_ID_ROOM];

	for (unsigned i = 0; i < 50; i++)
		witness_put(&w, from, i);
	assert_ok(lc_close(from));
	sample_make(&tensor, id, sample_id(id, 11), w.versions[11], w.range);
	flip(root, tensor.data, tensor.nbytes);
	sample_free(&tensor);
	/* Also if the handle trusts what it reads. */
	no_verify.verify = _i;
	from = sample_open(root, "from", &no_verify);
	options.progress.damage = count_line;
	options.progress.ctx = &lines;
	assert_status(lc_copy(from, to, &options, &result), LC_CORRUPT);
	ck_assert_uint_eq(lines, 1);
	ck_assert_uint_eq(result.damaged, 1);
	ck_assert_uint_eq(result.copied, 49);
	w.versions[11] = 0;
	witness_check(&w, to);
	lc_discard(from);
	assert_ok(lc_close(to));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("copy");
	TCase *tc = tcase_create("copy");

	run_seed();
	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, names);
	tcase_add_loop_test(tc, conflicts, 0, 12);
	tcase_add_test(tc, bad_calls);
	tcase_add_test(tc, read_only_source);
	tcase_add_test(tc, prefix);
	tcase_add_test(tc, cancelled);
	tcase_add_test(tc, values);
	tcase_add_test(tc, same_value_other_codec);
	tcase_add_test(tc, strict_target);
	tcase_add_loop_test(tc, damaged_source, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
