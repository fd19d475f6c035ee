/* SPDX-License-Identifier: BSD-2-Clause */
/* Lengths of records: which field a module may have, and that the ledger sums them
 * whatever happens to the records. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "sample.h"
#include "store/cache.h"
#include "store/change.h"

/* ---- the field ------------------------------------------------------------ */

static const struct {
	const char *field;
	bool good;
} fields[] = {
	{ "", true }, { ".", true }, { "tokens", true }, { "a.b.0", true },
	{ "a\\.b", true }, { "a\\\\", true }, { "none", true },
	{ "..", false }, { "a.", false }, { ".a", false }, { "a..b", false },
	{ "a\\", false }, { "a\\b", false },
};

static lc_settings
settings_of(lc_cache *cache)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	assert_ok(lc_settings_get(cache, &settings));
	return settings;
}

/* Give the module a length field; keeps all other settings. */
static lc_status
set_field(lc_cache *cache, const char *field)
{
	lc_settings settings = settings_of(cache);

	memset(settings.length_field, 'x', sizeof(settings.length_field));
	strcpy(settings.length_field, field);
	return lc_settings_set(cache, &settings);
}

START_TEST(paths)
{
	const lc_options options = sample_options();
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", &options);
	const bool good = fields[_i].good;

	assert_status(set_field(cache, fields[_i].field), good ? LC_OK :
	    LC_INVALID);
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	ck_assert_str_eq(settings_of(cache).length_field, good ?
	    fields[_i].field : "");
	assert_ok(lc_close(cache));
}
END_TEST

/* 255 bytes are a path, 256 are none. */
START_TEST(longest)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_settings settings = settings_of(cache);

	memset(settings.length_field, 'p', sizeof(settings.length_field));
	assert_status(lc_settings_set(cache, &settings), LC_INVALID);
	settings.length_field[LC_LENGTH_FIELD_MAX] = '\0';
	assert_ok(lc_settings_set(cache, &settings));
	ck_assert_str_eq(settings_of(cache).length_field, settings.length_field);
	ck_assert_uint_eq(strlen(settings.length_field), LC_LENGTH_FIELD_MAX);
	assert_ok(lc_close(cache));
}
END_TEST

static lc_status
put_bytes(lc_cache *cache, const char *id, size_t n)
{
	static const unsigned char bytes[4000];
	const lc_tensor tensor = sample_bytes(bytes, n);
	const lc_status status = lc_put(cache, id, strlen(id), &tensor);

	return status == LC_OK ? lc_flush(cache) : status;
}

/* The sums of the ledger: of one chunk, or with id 0 of all. */
static uint64_t
ledger_length(lc_cache *cache, uint64_t chunk)
{
	struct lc__ledger_row row;
	struct lc__snapshot *s;
	uint64_t id = 0, sum = 0;
	bool intact;

	assert_ok(lc__snapshot_take(cache->env, &s));
	while (lc__ledger_seek(s, id + 1, &id, &row, &intact) == LC_OK) {
		ck_assert(intact);
		if (chunk == 0 || id == chunk)
			sum += row.length;
	}
	lc__snapshot_give(s, 0);
	return sum;
}

/* While there are records, live or dead, the field stays what it is. */
START_TEST(fixed_by_records)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_compact_options all;
	lc_settings settings;

	lc_compact_options_init(&all);
	all.live_ratio = 1;
	assert_ok(put_bytes(cache, "a", 10));
	ck_assert_uint_eq(ledger_length(cache, 0), 0);
	assert_status(set_field(cache, "."), LC_INVALID);
	assert_ok(set_field(cache, ""));
	settings = settings_of(cache);
	settings.auto_compact = 0; /* dead records stay */
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(lc_delete(cache, "a", 1));
	assert_ok(lc_flush(cache));
	assert_status(set_field(cache, "."), LC_INVALID);
	assert_ok(lc_compact(cache, &all, NULL));
	assert_ok(set_field(cache, "."));
	assert_ok(put_bytes(cache, "b", 11));
	ck_assert_uint_eq(ledger_length(cache, 0), 11);
	assert_status(set_field(cache, ""), LC_INVALID);
	settings = settings_of(cache);
	settings.max_bytes = 1 << 20;
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(lc_clear(cache));
	assert_ok(set_field(cache, ""));
	assert_ok(lc_close(cache));
}
END_TEST

/* What one process sets, the next commit of another follows; and what another has
 * stored is seen when the field is to be set. */
struct other {
	const char *root;
	bool puts;
};

static void
do_other(void *ctx)
{
	const struct other *other = ctx;
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(other->root, "m", &options);
	lc_settings settings = { .struct_size = sizeof(settings) };

	if (other->puts) {
		need_ok(put_bytes(cache, "theirs", 5));
	} else {
		need_ok(lc_settings_get(cache, &settings));
		strcpy(settings.length_field, ".");
		need_ok(lc_settings_set(cache, &settings));
	}
	need_ok(lc_close(cache));
}

START_TEST(two_processes)
{
	const lc_options options = sample_options();
	struct other other = { run_scratch(), _i == 1 };
	const lc_tensor tensor = sample_bytes("seven b", 7);
	lc_cache *cache;

	/* The child opens its own: an environment must not cross a fork. */
	assert_ok(lc_close(sample_open(other.root, "m", &options)));
	if (_i == 1) {
		ck_assert_int_eq(child_run(do_other, &other), 0);
		cache = sample_open(other.root, "m", &options);
		assert_status(set_field(cache, "."), LC_INVALID);
	} else {
		cache = sample_open(other.root, "m", &options);
		assert_ok(lc_put(cache, "mine", 4, &tensor));
		ck_assert_int_eq(child_run(do_other, &other), 0);
		assert_ok(lc_flush(cache));
		ck_assert_uint_eq(ledger_length(cache, 1), 7);
	}
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- lengths of records --------------------------------------------------- */

static const struct {
	const char *field;
	uint64_t map, tensor, scalar, empty, odd; /* lengths of these records */
} cases[] = {
	{ "", 0, 0, 0, 0, 0 },
	{ ".", 0, 12, 1, 0, 0 },
	{ "ids", 5, 0, 0, 0, 0 },
	{ "more", 0, 0, 0, 0, 0 },
	{ "more.1", 3, 0, 0, 0, 0 },
	{ "more.0", 1, 0, 0, 0, 0 },
	{ "name", 0, 0, 0, 0, 0 },
	{ "more.7", 0, 0, 0, 0, 0 },
	{ "odd\\.name", 2, 0, 0, 0, 0 },
};

static lc_value *
a_map(void)
{
	static const unsigned char bytes[100];
	const lc_tensor ids = { LC_U8, 1, { 5 }, bytes, 5 };
	const lc_tensor grid = { LC_U8, 3, { 3, 2, 7 }, bytes, 42 };
	const lc_tensor two = { LC_U8, 2, { 2, 1 }, bytes, 2 };
	const lc_tensor one = { LC_U8, 0, { 0 }, bytes, 1 };
	lc_value *map = lc_value_map(), *list;

	lc_value_set(map, "name", lc_value_str("text"));
	lc_value_set(map, "ids", lc_value_tensor(&ids));
	list = lc_value_set(map, "more", lc_value_list());
	lc_value_append(list, lc_value_tensor(&one));
	lc_value_append(list, lc_value_tensor(&grid));
	lc_value_set(map, "odd.name", lc_value_tensor(&two));
	return map;
}

static uint64_t
length_of_last(lc_cache *cache)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	assert_ok(lc_stat(cache, &stats));
	return ledger_length(cache, stats.chunks);
}

START_TEST(by_structure)
{
	static const unsigned char bytes[100];
	const lc_tensor tensor = { LC_F32, 2, { 12, 1 }, bytes, 48 };
	const lc_tensor scalar = { LC_U8, 0, { 0 }, bytes, 1 };
	const lc_tensor empty = { LC_I64, 2, { 0, 9 }, NULL, 0 };
	/* Longer than any tensor with elements. */
	const lc_tensor odd = { LC_U8, 2, { UINT64_C(1) << 62, 0 }, NULL, 0 };
	const lc_tensor *const tensors[] = { &tensor, &scalar, &empty, &odd };
	const uint64_t want[] = { cases[_i].tensor, cases[_i].scalar,
		cases[_i].empty, cases[_i].odd };
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_value *map = a_map();
	lc_verify_result result;

	assert_ok(set_field(cache, cases[_i].field));
	assert_ok(lc_put_value(cache, "map", 3, map));
	lc_value_free(map);
	assert_ok(lc_flush(cache));
	ck_assert_uint_eq(length_of_last(cache), cases[_i].map);
	for (size_t i = 0; i < 4; i++) {
		assert_ok(lc_put(cache, &i, sizeof(i), tensors[i]));
		assert_ok(lc_flush(cache));
		ck_assert_uint_eq(length_of_last(cache), want[i]);
	}
	assert_ok(lc_verify(cache, NULL, &result));
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- everything that happens to records ----------------------------------- */

#define KEYS 300

struct model {
	uint64_t random;
	const char *root;
	const char *field;
	lc_options options;
	lc_cache *cache;
	uint64_t lengths[KEYS]; /* of what is stored */
	bool stored[KEYS];
	bool evicts;            /* something may have left by itself */
};

static uint64_t
below(struct model *m, uint64_t n)
{
	return run_random(&m->random) % n;
}

/* A map with the field in it, or without; or a tensor. */
static void
do_put(struct model *m)
{
	static const unsigned char bytes[9000];
	static const lc_codec codecs[] = {
		LC_CODEC_NONE, LC_CODEC_LZ4, LC_CODEC_SHUFFLE_LZ4
	};
	const uint64_t key = below(m, KEYS), n = below(m, 60);
	const uint64_t width = 1 + below(m, 3);
	const lc_tensor tokens = { LC_U16, 2, { n, width }, bytes,
		(size_t)(n * width * 2) };
	const bool alone = below(m, 4) == 0, with = below(m, 5) > 0;
	lc_value *map = lc_value_map();
	lc_value *text = lc_value_set(map, "text", lc_value_map());
	lc_value *tensor = lc_value_tensor(&tokens);

	lc_value_set(map, "n", lc_value_unsigned(n));
	if (alone)
		assert_ok(lc_put_value(m->cache, &key, sizeof(key), tensor));
	lc_value_set(text, with ? "tokens" : "other", tensor);
	if (!alone)
		assert_ok(lc_put_coded(m->cache, &key, sizeof(key), map,
		    codecs[below(m, 3)], 0));
	lc_value_free(map);
	m->stored[key] = true;
	m->lengths[key] = strcmp(m->field, ".") == 0 ? (alone ? n : 0) :
	    *m->field != '\0' && !alone && with ? n : 0;
}

static void
do_delete(struct model *m)
{
	const uint64_t key = below(m, KEYS);
	const lc_status status = lc_delete(m->cache, &key, sizeof(key));

	ck_assert(status == LC_OK || status == LC_NOT_FOUND);
	m->stored[key] = false;
}

static void
do_compact(struct model *m)
{
	lc_compact_options options;

	lc_compact_options_init(&options);
	options.live_ratio = (double)below(m, 11) / 10;
	options.chunk_bytes = 65536 + below(m, 65536);
	if (below(m, 3) == 0)
		options.recode = LC_CODEC_LZ4;
	assert_ok(lc_compact(m->cache, &options, NULL));
}

static void
do_reopen(struct model *m)
{
	lc_recover_result result;

	assert_ok(lc_close(m->cache));
	if (below(m, 2) == 0) {
		assert_ok(lc_recover(m->root, "m", 0, NULL, &result));
		ck_assert_uint_eq(result.rows + result.lost, 0);
	}
	m->cache = sample_open(m->root, "m", &m->options);
}

static void
do_budget(struct model *m)
{
	lc_settings settings = settings_of(m->cache);

	settings.max_bytes = below(m, 2) == 0 ? 0 : 20000 + below(m, 100000);
	m->evicts |= settings.max_bytes > 0;
	assert_ok(lc_settings_set(m->cache, &settings));
}

static void
do_clear(struct model *m)
{
	assert_ok(lc_clear(m->cache));
	memset(m->stored, 0, sizeof(m->stored));
}

/* Who was evicted is no longer counted. */
static uint64_t
expected_length(struct model *m)
{
	uint64_t sum = 0;

	for (uint64_t key = 0; key < KEYS; key++) {
		const lc_status status = lc_contains(m->cache, &key, sizeof(key));

		ck_assert(status == LC_OK || status == LC_NOT_FOUND);
		ck_assert(m->stored[key] == (status == LC_OK) ||
		    (m->evicts && m->stored[key]));
		m->stored[key] = status == LC_OK;
		if (m->stored[key])
			sum += m->lengths[key];
	}
	return sum;
}

static void
check_all(struct model *m)
{
	lc_verify_result result;

	assert_ok(lc_flush(m->cache));
	ck_assert_uint_eq(ledger_length(m->cache, 0), expected_length(m));
	assert_ok(lc_verify(m->cache, NULL, &result));
}

static void
step(struct model *m)
{
	const uint64_t what = below(m, 1000);

	if (what < 700)
		do_put(m);
	else if (what < 900)
		do_delete(m);
	else if (what < 940)
		assert_ok(lc_flush(m->cache));
	else if (what < 960)
		do_compact(m);
	else if (what < 975)
		do_reopen(m);
	else if (what < 985)
		do_budget(m);
	else if (what < 987)
		do_clear(m);
	else
		check_all(m);
}

START_TEST(model)
{
	static const char *const field[] = { "text.tokens", ".", "" };
	struct model m = { .random = run_seed() + (uint64_t)_i,
		.root = run_scratch(), .field = field[_i],
		.options = sample_options() };

	m.options.flush_every = 1 + below(&m, 40);
	m.options.durability = LC_DURABLE_RELAXED;
	m.cache = sample_open(m.root, "m", &m.options);
	assert_ok(set_field(m.cache, m.field));
	for (unsigned i = 0; i < sample_times(4000); i++)
		step(&m);
	check_all(&m);
	assert_ok(lc_close(m.cache));
}
END_TEST

/* ---- damage --------------------------------------------------------------- */

/* A sum that is wrong is told by verify and mended by recovery. */
static lc_status
change_sum(struct lc__change *change, void *ctx)
{
	struct lc__ledger_row row;
	uint64_t id;
	bool intact;

	(void)ctx;
	assert_ok(lc__ledger_seek(&change->snapshot, 1, &id, &row, &intact));
	row.length++;
	return lc__change_put_ledger(change, id, &row);
}

START_TEST(wrong_sum)
{
	const lc_options options = sample_options();
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_recover_result recovered;
	lc_verify_result result;

	assert_ok(set_field(cache, "."));
	assert_ok(put_bytes(cache, "a", 10));
	assert_ok(lc__change_run(cache->env, LC_DURABLE_FULL, change_sum, NULL));
	ck_assert_uint_eq(ledger_length(cache, 0), 11);
	assert_status(lc_verify(cache, NULL, &result), LC_CORRUPT);
	assert_ok(lc_close(cache));
	assert_ok(lc_recover(root, "m", 0, NULL, &recovered));
	ck_assert_uint_eq(recovered.rows, 1);
	cache = sample_open(root, "m", &options);
	ck_assert_uint_eq(ledger_length(cache, 0), 10);
	assert_ok(lc_verify(cache, NULL, &result));
	assert_ok(lc_close(cache));
}
END_TEST

/* One wrong byte of the settings: the field and the sums stay. With two the field is
 * lost, and the sums with it. */
static unsigned wrong_bytes;

static lc_status
damage_settings(struct lc__change *change, void *ctx)
{
	unsigned char copy[300];
	struct lc__slice row;

	(void)ctx;
	assert_ok(lc__txn_get_meta(change->snapshot.txn, "settings", &row));
	memcpy(copy, row.data, row.size);
	for (unsigned i = 0; i < wrong_bytes; i++)
		copy[24 + i] ^= 0x11;
	return lc__txn_put_meta(change->snapshot.txn, "settings", copy, row.size);
}

START_TEST(lost_settings)
{
	const lc_options options = sample_options();
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_recover_result recovered;
	lc_verify_result result;
	lc_value *map = a_map();

	wrong_bytes = (unsigned)_i;
	assert_ok(set_field(cache, "ids"));
	assert_ok(lc_put_value(cache, "map", 3, map));
	lc_value_free(map);
	assert_ok(lc_flush(cache));
	assert_ok(lc__change_run(cache->env, LC_DURABLE_FULL, damage_settings,
	    NULL));
	assert_status(lc_verify(cache, NULL, &result), LC_CORRUPT);
	assert_ok(lc_close(cache));
	assert_ok(lc_recover(root, "m", 0, NULL, &recovered));
	cache = sample_open(root, "m", &options);
	ck_assert_str_eq(settings_of(cache).length_field, _i == 1 ? "ids" : "");
	ck_assert_uint_eq(ledger_length(cache, 0), _i == 1 ? 5 : 0);
	assert_ok(lc_verify(cache, NULL, &result));
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("lengths");
	TCase *tcase = tcase_create("lengths");

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, paths, 0,
	    (int)(sizeof(fields) / sizeof(fields[0])));
	tcase_add_test(tcase, longest);
	tcase_add_test(tcase, fixed_by_records);
	tcase_add_loop_test(tcase, two_processes, 0, 2);
	tcase_add_loop_test(tcase, by_structure, 0,
	    (int)(sizeof(cases) / sizeof(cases[0])));
	tcase_add_loop_test(tcase, model, 0, 3);
	tcase_add_test(tcase, wrong_sum);
	tcase_add_loop_test(tcase, lost_settings, 1, 3);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
