/* SPDX-License-Identifier: BSD-2-Clause */
/* Index runs: look-ups, walks and merges against a sorted array; damage. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/chunk.h"
#include "index/run.h"
#include "index/run_build.h"
#include "index/run_layout.h"

#define SEED 12345u

/* One key of the model. */
struct key {
	char text[24];
	uint64_t location;
};

static int
by_text(const void *a, const void *b)
{
	return strcmp(((const struct key *)a)->text, ((const struct key *)b)->text);
}

static uint64_t
hash_of(const char *text)
{
	return lc__run_hash(SEED, text, strlen(text));
}

/* n keys "kNNN" with distinct numbers, sorted; every fifth a tombstone if asked. */
static struct key *
make_keys(uint64_t *random, uint32_t n, uint64_t chunk, int tombstones)
{
	struct key *keys = calloc(n, sizeof(*keys));

	for (uint32_t i = 0; i < n; i++) {
		snprintf(keys[i].text, sizeof(keys[i].text), "k%08x%x",
		    (unsigned)(run_random(random) >> 40), i);
		keys[i].location = tombstones && i % 5 == 0 ? LC__TOMBSTONE :
		    lc__location(chunk, i);
	}
	qsort(keys, n, sizeof(*keys), by_text);
	return keys;
}

static struct lc__run
build(struct lc__run_builder *builder, const struct key *keys, uint32_t n,
    uint64_t id)
{
	struct lc__run run;

	ck_assert_int_eq(lc__run_build_start(builder, SEED, n, n * 24), LC_OK);
	for (uint32_t i = 0; i < n; i++)
		lc__run_build_add(builder, hash_of(keys[i].text),
		    keys[i].location, keys[i].text, strlen(keys[i].text));
	lc__run_build_finish(builder, id, 3);
	ck_assert(lc__run_parse(builder->bytes, builder->used, id, &run));
	ck_assert_uint_eq(run.entries, n);
	ck_assert_uint_eq(run.level, 3);
	return run;
}

/* The location under a key, as a look-up finds it; UINT64_MAX for none. */
static uint64_t
find(const struct lc__run *run, const char *text)
{
	struct lc__run_probe probe;
	struct lc__run_entry entry;
	uint64_t location;

	lc__run_probe_start(&probe, run, hash_of(text), true);
	while (lc__run_probe_next(&probe, &location) == LC__RUN_MATCH) {
		if (!(location & LC__TOMBSTONE))
			return location;
		ck_assert(lc__run_tombstone(run, location, &entry));
		if (entry.id_size == strlen(text) &&
		    memcmp(entry.id, text, entry.id_size) == 0)
			return LC__TOMBSTONE;
	}
	return UINT64_MAX;
}

static const uint32_t sizes[] = { 0, 1, 2, 5, 63, 64, 65, 128, 1000, 20000 };

START_TEST(finds_every_key_and_no_other)
{
	uint64_t random = run_seed();
	const uint32_t n = sizes[_i];
	struct key *keys = make_keys(&random, n, 7, 1);
	struct lc__run_builder builder;
	const struct lc__run run = build(&builder, keys, n, 42);

	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(find(&run, keys[i].text), keys[i].location);
	for (uint32_t i = 0; i < n; i++) {
		char other[32];

		snprintf(other, sizeof(other), "%s.", keys[i].text);
		ck_assert_uint_eq(find(&run, other), UINT64_MAX);
	}
	ck_assert(lc__run_table_intact(&run));
	lc__run_build_free(&builder);
	free(keys);
}
END_TEST

START_TEST(walks_in_order_from_anywhere)
{
	uint64_t random = run_seed();
	const uint32_t n = sizes[_i];
	struct key *keys = make_keys(&random, n, 7, 0);
	struct lc__run_builder builder;
	const struct lc__run run = build(&builder, keys, n, 42);
	const uint32_t step = n / 50 + 1;

	for (uint32_t from = 0; from <= n; from += step) {
		struct lc__run_cursor cursor;
		const char *id = from < n ? keys[from].text : "l";
		bool more = lc__run_seek(&cursor, &run, id, strlen(id));

		for (uint32_t i = from; i < n && i < from + 200; i++) {
			ck_assert(more);
			ck_assert_uint_eq(cursor.entry.location, keys[i].location);
			ck_assert_mem_eq(cursor.entry.id, keys[i].text,
			    cursor.entry.id_size);
			more = lc__run_next(&cursor);
		}
		if (from + 200 >= n)
			ck_assert(!more);
		ck_assert(!cursor.damaged);
	}
	lc__run_build_free(&builder);
	free(keys);
}
END_TEST

/* Three runs of the same key space: the newest entry of each key wins. */
START_TEST(merge_keeps_the_newest)
{
	enum { n = 3000, runs = 3 };
	struct lc__run_builder builders[runs], merged;
	struct lc__run run[runs], all;
	uint64_t expected[n], live = 0, random = run_seed();
	char text[24];

	memset(expected, 0xff, sizeof(expected));
	for (int r = 0; r < runs; r++) {
		struct key *keys = calloc(n, sizeof(*keys));
		uint32_t used = 0;

		for (uint32_t i = 0; i < n; i++) {
			const uint64_t dice = run_random(&random) % 4;

			if (dice == 0)
				continue;
			snprintf(keys[used].text, sizeof(keys->text), "%06u", i);
			expected[i] = keys[used++].location = dice == 1 ?
			    LC__TOMBSTONE : lc__location((uint64_t)r + 1, i);
		}
		run[r] = build(&builders[r], keys, used, (uint64_t)r);
		free(keys);
	}
	ck_assert_int_eq(lc__run_build_start(&merged, SEED, n * runs, n * runs * 24),
	    LC_OK);
	ck_assert_int_eq(lc__run_build_merged(&merged, run, runs, true), LC_OK);
	lc__run_build_finish(&merged, 9, 1);
	ck_assert(lc__run_parse(merged.bytes, merged.used, 9, &all));
	for (uint32_t i = 0; i < n; i++) {
		const bool gone = expected[i] == UINT64_MAX ||
		    expected[i] == LC__TOMBSTONE;

		snprintf(text, sizeof(text), "%06u", i);
		ck_assert_uint_eq(find(&all, text), gone ? UINT64_MAX : expected[i]);
		live += !gone;
	}
	ck_assert_uint_eq(all.entries, live);
	ck_assert(lc__run_table_intact(&all));
	for (int r = 0; r < runs; r++)
		lc__run_build_free(&builders[r]);
	lc__run_build_free(&merged);
}
END_TEST

/* A header that says less than the blocks hold: what a merge made room for is its
 * limit. */
START_TEST(forged_number_of_entries)
{
	enum { n = 128, said = 65 };
	struct key *keys = calloc(n, sizeof(*keys));
	struct lc__run_builder builder, merged;
	struct lc__run run;

	for (uint32_t i = 0; i < n; i++) {
		snprintf(keys[i].text, sizeof(keys->text), "%06u", i);
		keys[i].location = lc__location(1, i);
	}
	build(&builder, keys, n, 1);
	lc__set64(builder.bytes + run_at_entries, said);
	lc__set64(builder.bytes + run_at_checksum,
	    lc__hash64(builder.bytes, run_at_checksum));
	ck_assert(lc__run_parse(builder.bytes, builder.used, 1, &run));
	ck_assert_int_eq(lc__run_build_start(&merged, SEED, said, run.keys_size),
	    LC_OK);
	ck_assert_int_eq(lc__run_build_merged(&merged, &run, 1, true), LC_CORRUPT);
	ck_assert_uint_eq(merged.entries, said);
	lc__run_build_free(&merged);
	/* No block, and a number that wraps around to none. */
	lc__run_build_free(&builder);
	build(&builder, keys, 0, 1);
	lc__set64(builder.bytes + run_at_entries, UINT64_MAX);
	lc__set64(builder.bytes + run_at_checksum,
	    lc__hash64(builder.bytes, run_at_checksum));
	ck_assert(!lc__run_parse(builder.bytes, builder.used, 1, &run));
	lc__run_build_free(&builder);
	free(keys);
}
END_TEST

/* Any flipped bit is seen by a look-up of the keys or by a walk: or harmless. */
START_TEST(damage_is_seen_or_harmless)
{
	enum { n = 150 };
	uint64_t random = run_seed();
	struct key *keys = make_keys(&random, n, 7, 1);
	struct lc__run_builder builder;

	(void)build(&builder, keys, n, 42);
	for (size_t bit = 0; bit < builder.used * 8; bit++) {
		struct lc__run_cursor cursor;
		struct lc__run run;
		uint32_t walked = 0;

		builder.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		if (lc__run_parse(builder.bytes, builder.used, 42, &run)) {
			for (uint32_t i = 0; i < n; i++) {
				struct lc__run_probe probe;
				uint64_t location = 0;
				enum lc__run_found found;

				lc__run_probe_start(&probe, &run,
				    hash_of(keys[i].text), true);
				found = lc__run_probe_next(&probe, &location);
				ck_assert_int_ne(found, LC__RUN_END);
			}
			bool more = lc__run_seek(&cursor, &run, NULL, 0);
			for (; more; more = lc__run_next(&cursor)) {
				ck_assert_uint_lt(walked, n);
				ck_assert_mem_eq(cursor.entry.id,
				    keys[walked].text, cursor.entry.id_size);
				walked++;
			}
			ck_assert(cursor.damaged || walked == n);
		}
		builder.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	lc__run_build_free(&builder);
	free(keys);
}
END_TEST

START_TEST(compares_like_memcmp_shorter_first)
{
	ck_assert_int_lt(lc__id_compare("a", 1, "ab", 2), 0);
	ck_assert_int_gt(lc__id_compare("b", 1, "ab", 2), 0);
	ck_assert_int_eq(lc__id_compare("ab", 2, "ab", 2), 0);
	ck_assert_int_gt(lc__id_compare("\xff", 1, "a", 1), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("run");
	TCase *tc = tcase_create("run");
	const int n = sizeof(sizes) / sizeof(sizes[0]);

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, finds_every_key_and_no_other, 0, n);
	tcase_add_loop_test(tc, walks_in_order_from_anywhere, 0, n);
	tcase_add_test(tc, merge_keeps_the_newest);
	tcase_add_test(tc, forged_number_of_entries);
	tcase_add_test(tc, damage_is_seen_or_harmless);
	tcase_add_test(tc, compares_like_memcmp_shorter_first);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
