/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits: which part a cache_id is in, against thresholds worked out another way; and
 * sources of one part against the whole module, filtered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "made_stream.h"
#include "need.h"
#include "run.h"

/* ---- the formula ------------------------------------------------------------------ */

/* The part by its upper bound among the hashes, 2^64 s / W rounded up. */
static size_t
part_of(const uint64_t *shares, size_t n, uint64_t seed, const void *key, size_t size)
{
	const unsigned __int128 hash = lc__hash64_seed(key, size, seed);
	unsigned __int128 sum = 0, end = 0;

	for (size_t i = 0; i < n; i++)
		sum += shares[i];
	for (size_t i = 0; i < n; i++) {
		end += shares[i];
		if (hash < ((end << 64) + sum - 1) / sum)
			return i;
	}
	return n;
}

START_TEST(the_formula)
{
	static const struct {
		const char *text;
		uint64_t shares[4];
		size_t n;
	} splits[] = {
		{ "train=0.9,val=0.1", { 9, 1 }, 2 },
		{ "train=0.90,val=0.10", { 90, 10 }, 2 },
		{ "train=9,val=1", { 9, 1 }, 2 },
		{ "a=0.333333333,b=0.333333333,c=0.333333334",
		    { 333333333, 333333333, 333333334 }, 3 },
		{ "a=1,b=1,c=1", { 1, 1, 1 }, 3 },
		{ "all=1", { 1 }, 1 },
		{ "x=0.000000001,rest=0.999999999", { 1, 999999999 }, 2 },
		{ "a=7,b=999999999,c=2,d=123", { 7, 999999999, 2, 123 }, 4 }
	};
	uint64_t state = run_seed();

	for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++)
		for (int k = 0; k < 3000; k++) {
			const uint64_t seed = run_random(&state) % 3;
			uint64_t key[4];
			size_t part;
			const size_t size = 1 + run_random(&state) % 32;

			for (int w = 0; w < 4; w++)
				key[w] = run_random(&state);
			assert_ok(lc_split_part(splits[i].text, seed, key, size,
			    &part));
			ck_assert_uint_eq(part, part_of(splits[i].shares,
			    splits[i].n, seed, key, size));
		}
}
END_TEST

/* So that other programs can be compared: XXH3-64 with the seed 0, 9 of 10. */
START_TEST(known_parts)
{
	static const struct {
		const char *id;
		uint64_t hash;
	} known[] = {
		{ "a", UINT64_C(0xe6c632b61e964e1f) },
		{ "abc", UINT64_C(0x78af5f94892f3950) }
	};

	for (size_t i = 0; i < 2; i++) {
		size_t part;

		ck_assert_uint_eq(lc__hash64(known[i].id, strlen(known[i].id)),
		    known[i].hash);
		assert_ok(lc_split_part("train=0.9,val=0.1", 0, known[i].id,
		    strlen(known[i].id), &part));
		ck_assert_uint_eq(part, (double)known[i].hash / 18446744073709551616.0 >=
		    0.9);
	}
}
END_TEST

static const struct {
	const char *text, *why;
} bad[] = {
	{ "", "not NAME=SHARE,NAME=SHARE, as in train=0.9,val=0.1" },
	{ "train", "not NAME=SHARE,NAME=SHARE, as in train=0.9,val=0.1" },
	{ "train=0.9,", "not NAME=SHARE,NAME=SHARE, as in train=0.9,val=0.1" },
	{ "tr ain=1", "not NAME=SHARE,NAME=SHARE, as in train=0.9,val=0.1" },
	{ "train=0.9,train=0.1", "a part is named twice" },
	{ "train=x", "a share is a number, with up to nine digits before and after "
	    "its point" },
	{ "train=-1", "a share is a number, with up to nine digits before and after "
	    "its point" },
	{ "train=1e3", "a share is a number, with up to nine digits before and after "
	    "its point" },
	{ "train=0.1234567891", "a share is a number, with up to nine digits before "
	    "and after its point" },
	{ "train=1,val=0", "a share is above 0" },
	{ "train=0.9,val=0.2", "the shares sum to 1, or are whole numbers" },
	{ "train=90.5,val=9.5", "the shares sum to 1, or are whole numbers" }
};

START_TEST(bad_splits)
{
	char wanted[300];
	size_t part;

	assert_status(lc_split_part(bad[_i].text, 0, "a", 1, &part), LC_INVALID);
	snprintf(wanted, sizeof(wanted), "split: '%s': %s", bad[_i].text, bad[_i].why);
	ck_assert_str_eq(lc_last_error()->text, wanted);
}
END_TEST

START_TEST(too_many_parts)
{
	char text[400] = "p0=1";
	size_t part;

	for (int i = 1; i < 64; i++)
		sprintf(text + strlen(text), ",p%d=1", i);
	assert_ok(lc_split_part(text, 0, "a", 1, &part));
	strcat(text, ",q=1");
	assert_status(lc_split_part(text, 0, "a", 1, &part), LC_INVALID);
}
END_TEST

/* ---- sources ------------------------------------------------------------------------ */

static const char *const names[] = { "train", "val", "test" };
static const uint64_t shares[] = { 5, 3, 2 };
#define SPLIT "train=0.5,val=0.3,test=0.2"

static lc_source *
open_part(lc_cache *cache, const char *part, uint64_t seed)
{
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	options.split = SPLIT;
	options.part = part;
	options.split_seed = seed;
	need_ok(lc_source_open_module(cache, &options, &source));
	return source;
}

static size_t
id_of(const struct made_stream *m, uint64_t record, char out[64])
{
	return (size_t)snprintf(out, 64, "%u-%llu", m->tag,
	    (unsigned long long)m->keys[record]);
}

/* All examples of a part: those of the module that are in it, in its order. */
static void
expect_part(const struct made_stream *m, lc_source *source, size_t part,
    uint64_t seed)
{
	lc_source_info info = { .struct_size = sizeof(info) };
	lc_stream_options options;
	const lc_batch *batch;
	uint64_t record = 0, n = 0;
	lc_stream *stream;
	lc_reader *reader;
	char id[64];

	for (uint64_t i = 0; i < m->records; i++)
		n += part_of(shares, 3, seed, id, id_of(m, i, id)) == part;
	assert_ok(lc_source_info_get(source, &info));
	ck_assert_uint_eq(info.records, n);
	ck_assert_uint_eq(info.dropped, 0);
	lc_stream_options_init(&options);
	options.batch = 3;
	if (n == 0) {
		assert_status(lc_stream_open(&source, 1, &options, &stream),
		    LC_INVALID);
		return;
	}
	assert_ok(lc_stream_open(&source, 1, &options, &stream));
	assert_ok(lc_reader_open(stream, NULL, &reader));
	while (lc_reader_next(reader, &batch) == LC_OK) {
		for (size_t row = 0; row < batch->filled; row++, record++) {
			size_t size = id_of(m, record, id);

			while (part_of(shares, 3, seed, id, size) != part)
				size = id_of(m, ++record, id);
			ck_assert_uint_eq(batch->ids[row].size, size);
			ck_assert_mem_eq(batch->ids[row].data, id, size);
			n--;
		}
		ck_assert_str_eq(batch->fields[0].name, m->plain ? "." : "tokens");
		lc_batch_release(batch);
	}
	ck_assert_uint_eq(n, 0);
	lc_reader_close(reader);
	lc_stream_close(stream);
}

static void
add_chunk(uint64_t *state, struct made_stream *m)
{
	uint64_t lengths[20];
	const size_t n = 1 + run_random(state) % 20;

	for (size_t k = 0; k < n; k++)
		lengths[k] = 3;
	made_stream_chunk(m, lengths, n);
}

START_TEST(parts_of_a_module)
{
	uint64_t state = run_seed();

	for (int round = 0; round < 6; round++) {
		const uint64_t seed = run_random(&state) % 5;
		unsigned char token[LC_TOKEN_SIZE];
		lc_source *source, *other;
		lc_stream_options options;
		struct made_stream m;
		lc_stream *stream;

		made_stream_new(&m, 3, round % 2, run_random(&state) % 2);
		for (int i = 0; i < 5; i++)
			add_chunk(&state, &m);
		for (size_t part = 0; part < 3; part++) {
			source = open_part(m.cache, names[part], seed);
			expect_part(&m, source, part, seed);
			lc_source_close(source);
		}
		source = open_part(m.cache, "train", seed);
		lc_stream_options_init(&options);
		options.batch = 1;
		if (lc_stream_open(&source, 1, &options, &stream) != LC_OK) {
			lc_source_close(source);
			made_stream_close(&m);
			continue;
		}
		assert_ok(lc_stream_token(stream, 1, token));
		lc_stream_close(stream);
		/* What is added changes no part: a token stays good, of that part. */
		add_chunk(&state, &m);
		options.token = token;
		other = open_part(m.cache, "train", seed);
		expect_part(&m, other, 0, seed);
		assert_ok(lc_stream_open(&other, 1, &options, &stream));
		lc_stream_close(stream);
		lc_source_close(other);
		other = open_part(m.cache, "val", seed);
		assert_status(lc_stream_open(&other, 1, &options, &stream),
		    LC_OTHER_CACHE);
		lc_source_close(other);
		other = open_part(m.cache, "train", seed + 1);
		assert_status(lc_stream_open(&other, 1, &options, &stream),
		    LC_OTHER_CACHE);
		lc_source_close(other);
		lc_source_close(source);
		made_stream_close(&m);
	}
}
END_TEST

START_TEST(parts_of_a_join)
{
	const uint64_t lengths[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	lc_source_options options;
	lc_source_info info = { .struct_size = sizeof(info) };
	uint64_t records = 0;
	struct made_stream m;
	lc_join modules[2];
	lc_source *source;

	made_stream_new(&m, 3, true, false);
	made_stream_chunk(&m, lengths, 12);
	modules[0] = (lc_join){ "a", m.cache };
	modules[1] = (lc_join){ "b", m.cache };
	lc_source_options_init(&options);
	options.split = SPLIT;
	for (size_t part = 0; part < 3; part++) {
		options.part = names[part];
		assert_ok(lc_source_open_join(modules, 2, LC_MISSING_REFUSE, &options,
		    &source));
		assert_ok(lc_source_info_get(source, &info));
		records += info.records;
		lc_source_close(source);
	}
	ck_assert_uint_eq(records, 12);
	made_stream_close(&m);
}
END_TEST

START_TEST(what_cannot_be_split)
{
	lc_source_options options;
	struct made_stream m;
	const uint64_t one = 1;
	lc_source *source;

	made_stream_new(&m, 3, true, false);
	made_stream_chunk(&m, &one, 1);
	lc_source_options_init(&options);
	options.part = "train";
	assert_status(lc_source_open_module(m.cache, &options, &source), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    ": part 'train' needs a split"));
	options.split = SPLIT;
	options.part = "tests";
	assert_status(lc_source_open_module(m.cache, &options, &source), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "split: there is no part 'tests', "
	    "only train, val, test");
	options.part = "test";
	options.split_by_run = 1;
	assert_status(lc_source_open_module(m.cache, &options, &source), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    ": a record has no run to split by"));
	made_stream_close(&m);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("parts");
	TCase *tc = tcase_create("parts");

	tcase_add_test(tc, the_formula);
	tcase_add_test(tc, known_parts);
	tcase_add_loop_test(tc, bad_splits, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tc, too_many_parts);
	tcase_add_test(tc, parts_of_a_module);
	tcase_add_test(tc, parts_of_a_join);
	tcase_add_test(tc, what_cannot_be_split);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
