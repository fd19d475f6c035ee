/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes in the file against the description of the format, in both directions. */
#include "run.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "env/rows.h"
#include "handmade.h"
#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define EPOCH "1700000000"
#define EPOCH_MS 1700000000000u

/* ---- what is stored ------------------------------------------------------------ */

static unsigned char noise[4000];
static char long_id[600];

static const lc_tensor vector = { LC_F32, 1, { 3 }, noise, 12 };
static const lc_tensor scalar = { LC_U8, 0, { 0 }, noise + 7, 1 };
static const lc_tensor nothing = { LC_I64, 3, { 2, 0, 5 }, NULL, 0 };
static const lc_tensor matrix = { LC_F16, 2, { 40, 50 }, noise, 4000 };
static const lc_tensor other = { LC_F32, 1, { 16 }, noise + 64, 64 };
static const lc_tensor deep = { LC_C128, 16,
	{ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2 }, noise + 100, 32 };

/* Commits: put order is not key order; ids of all lengths around the padding. */
static const struct hand_op first[] = {
	{ { "b", 1 }, &vector }, { { "a", 1 }, &scalar }, { { long_id, 600 }, &nothing },
	{ { "a\0z", 3 }, &matrix }, { { "0123456789abcdef01234567", 24 }, &vector },
	{ { "0123456789abcdef012345678", 25 }, &vector }, { { "deep", 4 }, &deep },
};
static const struct hand_op second[] = {
	{ { "a", 1 }, &other }, { { "a\0z", 3 }, NULL }, { { "new", 3 }, &scalar },
};
static const struct hand_op third[] = { { { "b", 1 }, NULL } };

static const struct {
	const struct hand_op *ops;
	unsigned n;
} commits[] = { { first, 7 }, { second, 3 }, { third, 1 } };
#define COMMITS 3

static void
set_up(void)
{
	sample_fill(noise, sizeof(noise), 12);
	memset(long_id, 'L', sizeof(long_id));
	setenv("SOURCE_DATE_EPOCH", EPOCH, 1);
}

/* A map that LMDB alone can open anywhere: it takes the size from the file. */
static lc_options
small_options(void)
{
	lc_options options = sample_options();

	options.map_size = 16 << 20;
	return options;
}

static void
put_ops(lc_cache *cache, const struct hand_op *ops, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (ops[i].tensor == NULL)
			assert_ok(lc_delete(cache, ops[i].id.data, ops[i].id.size));
		else
			assert_ok(lc_put(cache, ops[i].id.data, ops[i].id.size,
			    ops[i].tensor));
	assert_ok(lc_flush(cache));
}

/* The last of these writes of an id, or NULL if it was deleted or never there. */
static const lc_tensor *
expected(const lc_id *id, unsigned n_commits)
{
	const lc_tensor *tensor = NULL;

	for (unsigned c = 0; c < n_commits; c++)
		for (unsigned i = 0; i < commits[c].n; i++)
			if (commits[c].ops[i].id.size == id->size &&
			    memcmp(commits[c].ops[i].id.data, id->data, id->size) == 0)
				tensor = commits[c].ops[i].tensor;
	return tensor;
}

static void
expect_all(lc_cache *cache)
{
	for (unsigned c = 0; c < COMMITS; c++)
		for (unsigned i = 0; i < commits[c].n; i++) {
			const lc_id *id = &commits[c].ops[i].id;
			const lc_tensor *want = expected(id, COMMITS);
			lc_view view;

			assert_status(lc_get(cache, id->data, id->size, &view),
			    want != NULL ? LC_OK : LC_NOT_FOUND);
			if (want == NULL)
				continue;
			ck_assert(sample_same(&view.tensor, want));
			lc_view_release(&view);
		}
}

/* ---- the engine's bytes ----------------------------------------------------------- */

struct rows {
	unsigned n;
	uint64_t keys[HAND_MAX];      /* of the integer tables */
	struct lc__buf values[HAND_MAX];
};

static void
read_table(MDB_txn *txn, const char *name, size_t key_size, struct rows *rows)
{
	MDB_cursor *cursor;
	MDB_dbi dbi;
	MDB_val key, value;

	ck_assert_int_eq(mdb_dbi_open(txn, name, key_size ? MDB_INTEGERKEY : 0, &dbi), 0);
	ck_assert_int_eq(mdb_cursor_open(txn, dbi, &cursor), 0);
	for (rows->n = 0; mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0; rows->n++) {
		ck_assert_uint_lt(rows->n, HAND_MAX);
		if (key_size != 0)
			ck_assert_uint_eq(key.mv_size, key_size);
		memcpy(&rows->keys[rows->n], key.mv_data, key_size);
		lc__buf_append(&rows->values[rows->n], value.mv_data, value.mv_size);
	}
	mdb_cursor_close(cursor);
}

struct tables {
	struct rows meta, schema, chunk, ledger, index;
};

static struct tables *
read_tables(const char *root)
{
	struct tables *t = calloc(1, sizeof(*t));
	char dir[5000];
	MDB_env *env;
	MDB_txn *txn;

	snprintf(dir, sizeof(dir), "%s/m", root);
	ck_assert_int_eq(mdb_env_create(&env), 0);
	ck_assert_int_eq(mdb_env_set_maxdbs(env, 8), 0);
	ck_assert_int_eq(mdb_env_open(env, dir, MDB_RDONLY, 0), 0);
	ck_assert_int_eq(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
	read_table(txn, "meta", 0, &t->meta);
	read_table(txn, "schema", 4, &t->schema);
	read_table(txn, "chunk", 8, &t->chunk);
	read_table(txn, "ledger", 8, &t->ledger);
	read_table(txn, "index", 8, &t->index);
	mdb_txn_abort(txn);
	mdb_env_close(env);
	return t;
}

static void
free_tables(struct tables *t)
{
	struct rows *all[] = { &t->meta, &t->schema, &t->chunk, &t->ledger, &t->index };

	for (int i = 0; i < 5; i++)
		for (int row = 0; row < HAND_MAX; row++)
			lc__buf_free(&all[i]->values[row]);
	free(t);
}

static void
same_bytes(const char *what, unsigned i, const struct lc__buf *got,
    const struct lc__buf *want)
{
	size_t at = 0;

	while (at < got->size && at < want->size && got->data[at] == want->data[at])
		at++;
	ck_assert_msg(at == got->size && at == want->size,
	    "%s %u: %zu bytes, expected %zu; byte %zu is %02x, expected %02x", what, i,
	    got->size, want->size, at, at < got->size ? got->data[at] : 0u,
	    at < want->size ? want->data[at] : 0u);
}

static void
same_rows(const char *what, const struct rows *got, const struct lc__buf *want,
    uint64_t n, uint64_t first_key)
{
	ck_assert_msg(got->n == n, "%s: %u rows, expected %u", what, got->n, (unsigned)n);
	for (unsigned i = 0; i < n; i++) {
		ck_assert_msg(got->keys[i] == first_key + i, "%s %u has id %u", what, i,
		    (unsigned)got->keys[i]);
		same_bytes(what, i, &got->values[i], &want[i]);
	}
}

static uint64_t
number_at(const struct lc__buf *row, size_t i)
{
	ck_assert_uint_le(i * 8 + 8, row->size);
	return lc__get64(row->data + i * 8);
}

static void
whole_sum(const struct lc__buf *row, const char *name)
{
	ck_assert_uint_ge(row->size, 8);
	ck_assert_uint_eq(lc__get64(row->data + row->size - 8),
	    lc__hash64_seed(row->data, row->size - 8, lc__hash64(name, strlen(name))));
}

/* Records put, bytes put and commits; 136 numbers with the durations. */
static void
check_counters(const struct lc__buf *row, const struct hand_module *m)
{
	uint64_t records = 0, bytes = 0, durations = 0;

	for (uint64_t i = 0; i < m->n_chunks; i++) {
		records += m->ledgers[i].records;
		bytes += m->ledgers[i].bytes;
	}
	ck_assert_uint_eq(row->size, 136 * 8 + 8);
	whole_sum(row, "counters");
	ck_assert_uint_eq(number_at(row, 2), records);
	ck_assert_uint_eq(number_at(row, 4), bytes);
	ck_assert_uint_eq(number_at(row, 5), m->generation);
	for (size_t i = 8; i < 136; i++)
		durations += number_at(row, i);
	ck_assert_uint_eq(durations, m->generation);
}

static void
same_meta(const struct tables *t, const struct hand_module *m)
{
	struct lc__buf module = { 0 }, settings = { 0 }, state = { 0 }, usage = { 0 };

	ck_assert_uint_eq(t->meta.n, 5);
	check_counters(&t->meta.values[0], m);
	hand_module_row(&module, m, 1);
	same_bytes("meta module", 1, &t->meta.values[1], &module);
	hand_settings_row(&settings);
	same_bytes("meta settings", 2, &t->meta.values[2], &settings);
	hand_state_row(&state, m);
	same_bytes("meta state", 3, &t->meta.values[3], &state);
	hand_usage_row(&usage, m);
	same_bytes("meta usage", 4, &t->meta.values[4], &usage);
	lc__buf_free(&module);
	lc__buf_free(&settings);
	lc__buf_free(&usage);
	lc__buf_free(&state);
}

static void
same_ledger(const struct tables *t, const struct hand_module *m)
{
	struct lc__buf rows[HAND_MAX] = { { 0 } };

	for (uint64_t i = 0; i < m->n_chunks; i++)
		hand_ledger_row(&rows[i], m, i);
	same_rows("ledger", &t->ledger, rows, m->n_chunks, HAND_FIRST_CHUNK);
	for (uint64_t i = 0; i < m->n_chunks; i++)
		lc__buf_free(&rows[i]);
}

/* Every byte of every row after one, two and three commits. */
START_TEST(engine_writes_the_format)
{
	const char *root = run_scratch();
	const lc_options options = small_options();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_stats stats = { .struct_size = sizeof(stats) };
	struct hand_module m = { .created_ms = EPOCH_MS };
	struct tables *t;

	assert_ok(lc_stat(cache, &stats));
	memcpy(m.uuid, stats.uuid, 16);
	for (int c = 0; c <= _i; c++)
		put_ops(cache, commits[c].ops, commits[c].n);
	assert_ok(lc_close(cache));
	t = read_tables(root);
	ck_assert_uint_eq(t->index.n, (unsigned)_i + 1);
	/* How many buckets is the engine's choice: some room must be left. */
	for (int c = 0; c <= _i; c++) {
		const uint32_t buckets = lc__get32(t->index.values[c].data + 24);

		ck_assert_uint_gt(buckets * 5, commits[c].n);
		hand_commit(&m, commits[c].ops, commits[c].n, buckets, EPOCH_MS);
	}
	same_rows("schema", &t->schema, m.schemas, m.n_schemas, HAND_FIRST_SCHEMA);
	same_rows("chunk", &t->chunk, m.chunks, m.n_chunks, HAND_FIRST_CHUNK);
	same_ledger(t, &m);
	same_rows("index", &t->index, m.runs, m.n_runs, HAND_FIRST_RUN);
	same_meta(t, &m);
	free_tables(t);
	hand_free(&m);
}
END_TEST

/* Eight runs of a level become one of the next, of all their live entries. */
START_TEST(eight_runs_merge)
{
	const char *root = run_scratch();
	const lc_options options = small_options();
	lc_cache *cache = sample_open(root, "m", &options);
	struct tables *t;
	char id[3] = "k0";

	for (int i = 0; i < 8; i++) {
		id[1] = (char)('0' + i);
		assert_ok(lc_put(cache, id, 2, &vector));
		assert_ok(lc_flush(cache));
	}
	assert_ok(lc_close(cache));
	t = read_tables(root);
	ck_assert_uint_eq(t->index.n, 1);
	ck_assert_uint_eq(lc__get64(t->index.values[0].data + 16), 8);
	ck_assert_uint_eq(lc__get32(t->index.values[0].data + 28), 1);
	ck_assert_uint_eq(t->chunk.n, 8);
	free_tables(t);
}
END_TEST

/* ---- modules made by hand ------------------------------------------------------------ */

static void
make_by_hand(struct hand_module *m, uint32_t buckets)
{
	*m = (struct hand_module){ .created_ms = EPOCH_MS, .uuid = "0123456789abcde" };
	for (int c = 0; c < COMMITS; c++)
		hand_commit(m, commits[c].ops, commits[c].n, buckets, EPOCH_MS);
}

/* A new root that holds the module as "m". */
static const char *
stored(const struct hand_module *m, unsigned format)
{
	const char *root = run_scratch();
	char dir[5000];

	snprintf(dir, sizeof(dir), "%s/m", root);
	hand_store(m, dir, format);
	return root;
}

START_TEST(engine_reads_the_format)
{
	/* With two buckets and seven entries some overflow into the next. */
	static const uint32_t buckets[] = { 2, 3, 7, 100 };
	const lc_options options = sample_options();
	struct hand_module m;
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_verify_result result;
	const char *root;
	lc_cache *cache;

	make_by_hand(&m, buckets[_i]);
	root = stored(&m, 1);
	cache = sample_open(root, "m", &options);
	expect_all(cache);
	assert_ok(lc_verify(cache, NULL, &result));
	ck_assert_uint_eq(result.live, 6);
	ck_assert_uint_eq(result.records, 9);
	assert_ok(lc_stat(cache, &stats));
	ck_assert_mem_eq(stats.uuid, "0123456789abcde", 16);
	ck_assert_uint_eq(stats.created_ms, EPOCH_MS);
	ck_assert_uint_eq(stats.generation, 3);
	ck_assert_uint_eq(stats.records, 6);
	ck_assert_uint_eq(stats.dead_records, 3);
	ck_assert_uint_eq(stats.schemas, m.n_schemas);
	/* And goes on writing. */
	for (int i = 0; i < 20; i++) {
		assert_ok(lc_put(cache, "b", 1, &matrix));
		assert_ok(lc_flush(cache));
		assert_ok(lc_delete(cache, "b", 1));
		assert_ok(lc_flush(cache));
	}
	expect_all(cache);
	assert_ok(lc_verify(cache, NULL, &result));
	assert_ok(lc_close(cache));
	hand_free(&m);
}
END_TEST

START_TEST(newer_format)
{
	static const unsigned flags[] = { LC_RDONLY, 0, LC_CREATE };
	lc_options options = sample_options();
	lc_cache *cache = NULL;
	struct hand_module m;
	const char *root;

	make_by_hand(&m, 3);
	root = stored(&m, 2);
	options.flags = flags[_i];
	assert_status(lc_open(root, "m", &options, &cache), LC_VERSION);
	ck_assert_ptr_null(cache);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "/m: format 2 is newer than this library's 1"));
	hand_free(&m);
}
END_TEST

/* An environment of LMDB that is somebody else's. */
START_TEST(somebody_elses_environment)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache = NULL;
	char dir[5000];
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	MDB_val value = { 5, (void *)(uintptr_t)"hello" };

	snprintf(dir, sizeof(dir), "%s/m", root);
	ck_assert_int_eq(mkdir(dir, 0755), 0);
	ck_assert_int_eq(mdb_env_create(&env), 0);
	ck_assert_int_eq(mdb_env_set_maxdbs(env, 8), 0);
	ck_assert_int_eq(mdb_env_open(env, dir, 0, 0644), 0);
	ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
	ck_assert_int_eq(mdb_dbi_open(txn, _i ? "meta" : NULL, _i ? MDB_CREATE : 0,
	    &dbi), 0);
	ck_assert_int_eq(mdb_put(txn, dbi, &value, &value, 0), 0);
	ck_assert_int_eq(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
	assert_status(lc_open(root, "m", &options, &cache), LC_NOT_MODULE);
	options.flags = LC_RDONLY;
	assert_status(lc_open(root, "m", &options, &cache), LC_NOT_MODULE);
	ck_assert_ptr_null(cache);
}
END_TEST

/* ---- forgeries: wrong fields under right checksums -------------------------------------- */

/* The record of "deep", last of the first chunk; of "a" in the second. */
static struct hand_place *
place(struct hand_module *m, const char *id)
{
	for (int i = 0; i < HAND_MAX; i++)
		if (m->places[i].id.size == strlen(id) &&
		    memcmp(m->places[i].id.data, id, strlen(id)) == 0)
			return &m->places[i];
	ck_abort_msg("no record of %s", id);
	return NULL;
}

static unsigned char *
deep_record(struct hand_module *m)
{
	return m->chunks[0].data + place(m, "deep")->offset;
}

static void
seal_deep(struct hand_module *m)
{
	hand_seal_record(&m->chunks[0], place(m, "deep")->offset);
}

static void
forge_id(struct hand_module *m)
{
	deep_record(m)[32 + 16 * 8] = 'D';
	seal_deep(m);
}

static void
forge_dim(struct hand_module *m)
{
	lc__set64(deep_record(m) + 32, 3);
	seal_deep(m);
}

static void
forge_huge_dim(struct hand_module *m)
{
	lc__set64(deep_record(m) + 32, UINT64_MAX);
	seal_deep(m);
}

static void
forge_zero_dim(struct hand_module *m)
{
	lc__set64(deep_record(m) + 32, 0);
	seal_deep(m);
}

static void
forge_ndim(struct hand_module *m)
{
	lc__set16(deep_record(m) + 20, 15);
	seal_deep(m);
}

static void
forge_many_dims(struct hand_module *m)
{
	lc__set16(deep_record(m) + 20, 65535);
	seal_deep(m);
}

static void
forge_schema(struct hand_module *m)
{
	lc__set32(deep_record(m) + 12, HAND_FIRST_SCHEMA);
	seal_deep(m);
}

static void
forge_no_schema(struct hand_module *m)
{
	lc__set32(deep_record(m) + 12, 12345678);
	seal_deep(m);
}

static void
forge_id_size(struct hand_module *m)
{
	lc__set16(deep_record(m) + 16, 65535);
	seal_deep(m);
}

static void
forge_record_size(struct hand_module *m)
{
	lc__set32(deep_record(m) + 8, UINT32_MAX);
}

static void
forge_no_record_size(struct hand_module *m)
{
	lc__set32(deep_record(m) + 8, 0);
}

static void
forge_codec(struct hand_module *m)
{
	deep_record(m)[18] = 77;
	seal_deep(m);
}

static void
forge_plain_size(struct hand_module *m)
{
	lc__set32(deep_record(m) + 24, UINT32_MAX);
	seal_deep(m);
}

static void
forge_chunk_id(struct hand_module *m)
{
	lc__set64(m->chunks[0].data + 8, 99);
	hand_seal_header(&m->chunks[0]);
}

static void
forge_chunk_magic(struct hand_module *m)
{
	m->chunks[0].data[0] = 'l';
	hand_seal_header(&m->chunks[0]);
}

static void
forge_chunk_cut(struct hand_module *m)
{
	m->chunks[0].size = place(m, "deep")->offset + 64;
}

static void
forge_chunk_records(struct hand_module *m)
{
	lc__set64(m->chunks[0].data + 16, 1);
	hand_seal_header(&m->chunks[0]);
}

static void
forge_ledger(struct hand_module *m)
{
	m->ledgers[0].live--;
	m->ledgers[1].live++;
}

static void
forge_ledger_checksum(struct hand_module *m)
{
	m->ledgers[0].checksum++;
}

/* The last 8 bytes of every run are one block's offset and the number of blocks. */
static void
forge_block_offset(struct hand_module *m)
{
	lc__set32(m->runs[0].data + m->runs[0].size - 8, 0x7fffffff);
}

static void
forge_blocks(struct hand_module *m)
{
	lc__set32(m->runs[0].data + m->runs[0].size - 4, UINT32_MAX);
}

static void
forge_no_blocks(struct hand_module *m)
{
	lc__set32(m->runs[0].data + m->runs[0].size - 4, 0);
}

static unsigned char *
key_block(struct hand_module *m)
{
	return m->runs[0].data + 48 + (size_t)m->run_facts[0].buckets * 64;
}

static void
seal_block(struct hand_module *m)
{
	unsigned char *block = key_block(m);

	lc__set64(block + 8, lc__hash64_seed(block + 16, lc__get32(block) - 16,
	    lc__get32(block + 4)));
}

static void
forge_block_size(struct hand_module *m)
{
	lc__set32(key_block(m), UINT32_MAX);
}

static void
forge_block_entries(struct hand_module *m)
{
	lc__set32(key_block(m) + 4, 1);
}

/* "0123456789abcdef01234567" and the id after it, which is longer by one byte. */
static void
forge_key_order(struct hand_module *m)
{
	key_block(m)[16 + 10] = 'z';
	seal_block(m);
}

static void
forge_key_location(struct hand_module *m)
{
	lc__set64(key_block(m) + 16, UINT64_C(0x7fffffffff) << 24);
	seal_block(m);
}

static void
forge_run_entries(struct hand_module *m)
{
	lc__set64(m->runs[0].data + 16, 6);
	hand_seal_header(&m->runs[0]);
}

static void
forge_run_buckets(struct hand_module *m)
{
	lc__set32(m->runs[0].data + 24, UINT32_MAX);
	hand_seal_header(&m->runs[0]);
}

static void
forge_no_buckets(struct hand_module *m)
{
	lc__set32(m->runs[0].data + 24, 0);
	hand_seal_header(&m->runs[0]);
}

static void
forge_run_id(struct hand_module *m)
{
	lc__set64(m->runs[0].data + 8, 77);
	hand_seal_header(&m->runs[0]);
}

/* All locations of the hash table: into a chunk there is not, or behind the chunk's end. */
static void
forge_locations(struct hand_module *m, uint64_t location)
{
	for (uint32_t b = 0; b < m->run_facts[0].buckets; b++) {
		for (int slot = 0; slot < 5; slot++) {
			unsigned char *at = m->runs[0].data + 48 + b * 64 + slot * 12;

			if (lc__get64(at) != UINT64_MAX)
				lc__set64(at, location);
		}
		hand_seal_bucket(&m->runs[0], b);
	}
}

static void
forge_location_chunk(struct hand_module *m)
{
	forge_locations(m, UINT64_C(0x7ffffff) << 24);
}

static void
forge_location_offset(struct hand_module *m)
{
	forge_locations(m, (uint64_t)HAND_FIRST_CHUNK << 24 | 0xffffff);
}

static void
forge_tombstones(struct hand_module *m)
{
	forge_locations(m, UINT64_C(1) << 63 | 0x7fffffff);
}

static void
forge_missing_chunk(struct hand_module *m)
{
	m->chunks[0].size = 0; /* which is not stored */
}

static void
forge_no_run(struct hand_module *m)
{
	m->runs[0].size = 0;
}

static void
forge_schema_row(struct hand_module *m)
{
	for (uint32_t i = 0; i < m->n_schemas; i++) {
		m->schemas[i].data[0] = 0xc1;
		hand_seal_tail(&m->schemas[i], HAND_FIRST_SCHEMA + i);
	}
}

/* Each whole, under the other one's key. */
static void
forge_schemas_exchanged(struct hand_module *m)
{
	const struct lc__buf kept = m->schemas[0];

	ck_assert_uint_ge(m->n_schemas, 2);
	for (uint32_t i = 0; i + 1 < m->n_schemas; i++)
		m->schemas[i] = m->schemas[i + 1];
	m->schemas[m->n_schemas - 1] = kept;
}

static void
forge_schema_checksum(struct hand_module *m)
{
	for (uint32_t i = 0; i < m->n_schemas; i++)
		m->schemas[i].data[m->schemas[i].size - 1] ^= 1;
}

static const struct {
	const char *name;
	void (*forge)(struct hand_module *m);
	bool read; /* "deep" must be refused when read; else verify alone need see it */
} forgeries[] = {
	{ "id", forge_id, true }, { "dim", forge_dim, true },
	{ "huge dim", forge_huge_dim, true }, { "zero dim", forge_zero_dim, true },
	{ "ndim", forge_ndim, true }, { "many dims", forge_many_dims, true },
	{ "schema", forge_schema, true }, { "no schema", forge_no_schema, true },
	{ "id size", forge_id_size, true }, { "record size", forge_record_size, true },
	{ "no record size", forge_no_record_size, true }, { "codec", forge_codec, true },
	{ "plain size", forge_plain_size, true }, { "chunk id", forge_chunk_id, false },
	{ "chunk magic", forge_chunk_magic, false },
	{ "chunk cut", forge_chunk_cut, true },
	{ "chunk records", forge_chunk_records, false },
	{ "ledger", forge_ledger, false },
	{ "ledger checksum", forge_ledger_checksum, false },
	{ "block offset", forge_block_offset, false }, { "blocks", forge_blocks, false },
	{ "no blocks", forge_no_blocks, false },
	{ "block size", forge_block_size, false },
	{ "block entries", forge_block_entries, false },
	{ "key order", forge_key_order, false },
	{ "key location", forge_key_location, false },
	{ "run entries", forge_run_entries, false },
	{ "run buckets", forge_run_buckets, true }, { "no buckets", forge_no_buckets, true },
	{ "run id", forge_run_id, false },
	{ "location chunk", forge_location_chunk, true },
	{ "location offset", forge_location_offset, true },
	{ "tombstones", forge_tombstones, true },
	{ "missing chunk", forge_missing_chunk, true }, { "no run", forge_no_run, true },
	{ "schema row", forge_schema_row, true },
	{ "schema checksum", forge_schema_checksum, true },
	{ "schemas exchanged", forge_schemas_exchanged, true },
};

/* A walk comes to its end; one by key passes over nothing in silence. (By commit, a record
 * with a forged id is not the one that the index names: it is dead.) */
static void
walk_all(lc_cache *cache, unsigned flags)
{
	unsigned corrupt = 0, shown = 0, steps = 0;
	lc_iter *iter = NULL;
	lc_item item;
	lc_status status = lc_iter_open(cache, flags, NULL, 0, &iter);

	while ((status == LC_OK || status == LC_CORRUPT) && steps++ < 1000) {
		corrupt += status == LC_CORRUPT;
		if (iter == NULL)
			break;
		status = lc_iter_next(iter, &item);
		shown += status == LC_OK;
	}
	ck_assert_uint_lt(steps, 1000);
	ck_assert(status == LC_END || status == LC_CORRUPT);
	ck_assert(corrupt > 0 || shown == 6 || (flags & LC_BY_COMMIT));
	lc_iter_close(iter);
}

START_TEST(forged)
{
	const lc_options options = sample_options();
	struct hand_module m;
	lc_verify_result result;
	lc_cache *cache = NULL;
	lc_status status;
	lc_view view;

	make_by_hand(&m, 3);
	forgeries[_i].forge(&m);
	status = lc_open(stored(&m, 1), "m", &options, &cache);
	hand_free(&m);
	if (status == LC_CORRUPT)
		return;
	assert_ok(status);
	status = lc_get(cache, "deep", 4, &view);
	if (status == LC_OK) {
		ck_assert(!forgeries[_i].read);
		ck_assert(sample_same(&view.tensor, &deep));
		lc_view_release(&view);
	} else {
		ck_assert_msg(status == LC_CORRUPT, "%s: %s", forgeries[_i].name,
		    lc_last_error()->text);
	}
	walk_all(cache, LC_BY_KEY);
	walk_all(cache, LC_BY_COMMIT);
	walk_all(cache, LC_BY_KEY | LC_ITER_LISTED);
	status = lc_verify(cache, NULL, &result);
	ck_assert_msg(status == LC_CORRUPT, "%s: verify finds nothing",
	    forgeries[_i].name);
	lc_discard(cache);
}
END_TEST

#define MEMBERS "\xa6" "format\1\xa4" "uuid\xc4\x10" "0123456789abcdef\xaa" "created_ms\7"
#define COUNTED(text) { text, sizeof(text) - 1, LC_CORRUPT }

/* Counts in the module's row are not believed before the members are seen: a few bytes
 * may claim four thousand million. */
static const struct {
	const char *bytes;
	size_t size;
	lc_status status;
} module_rows[] = {
	{ "\x83" MEMBERS, sizeof(MEMBERS), LC_OK },
	{ "\x84\xa1x\x91\xc0" MEMBERS, sizeof(MEMBERS) + 4, LC_OK },
	{ "\xdf\0\0\0\3" MEMBERS, sizeof(MEMBERS) + 4, LC_OK },
	COUNTED("\xdf\xff\xff\xff\xff" MEMBERS),
	COUNTED("\x84" MEMBERS "\xa1x\xdd\xff\xff\xff\xff"),
	COUNTED("\x84" MEMBERS),
	COUNTED("\x82" MEMBERS),
	COUNTED("\x83" MEMBERS "\xc0"),
	COUNTED("\xc0"),
};

START_TEST(module_row_members)
{
	struct lc__module_row out = { 0 };
	struct lc__buf row = { 0 };

	lc__buf_append(&row, module_rows[_i].bytes, module_rows[_i].size);
	lc__buf_append64(&row, lc__hash64_seed(row.data, row.size, lc__hash64("module", 6)));
	ck_assert_int_eq(lc__module_decode(row.data, row.size, &out), module_rows[_i].status);
	if (module_rows[_i].status == LC_OK) {
		ck_assert_uint_eq(out.format, 1);
		ck_assert_mem_eq(out.uuid, "0123456789abcdef", 16);
		ck_assert_uint_eq(out.created_ms, 7);
	} else {
		ck_assert_str_eq(lc_last_error()->text, "fields are missing");
	}
	lc__buf_free(&row);
}
END_TEST

#define FORMAT(n) "\x83\xa6" "format" n "\xa4" "uuid\xc0\xa1x\7", 16 + sizeof(n)

/* The row of a later format: of its other members nothing is known. A format that is not
 * a number above 0 is damage. */
static const struct {
	const char *bytes;
	size_t size;
	lc_status status;
	const char *text;
} module_formats[] = {
	{ FORMAT("\2"), LC_VERSION, "format 2 is newer than this library's 1" },
	{ FORMAT("\xcd\1\1"), LC_VERSION, "format 257 is newer than this library's 1" },
	{ FORMAT("\xcf\1\0\0\0\0\0\0\0"), LC_VERSION,
	    "format 4294967295 is newer than this library's 1" },
	{ FORMAT("\1"), LC_CORRUPT, "fields are missing" },
	{ FORMAT("\0"), LC_CORRUPT, "fields are missing" },
	{ FORMAT("\xc0"), LC_CORRUPT, "fields are missing" },
};

START_TEST(module_row_formats)
{
	struct lc__module_row out = { 0 };
	struct lc__buf row = { 0 };

	lc__buf_append(&row, module_formats[_i].bytes, module_formats[_i].size);
	lc__buf_append64(&row, lc__hash64_seed(row.data, row.size, lc__hash64("module", 6)));
	ck_assert_int_eq(lc__module_decode(row.data, row.size, &out),
	    module_formats[_i].status);
	ck_assert_str_eq(lc_last_error()->text, module_formats[_i].text);
	lc__buf_free(&row);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("bytes");
	TCase *tc = tcase_create("bytes");

	set_up();
	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, engine_writes_the_format, 0, COMMITS);
	tcase_add_test(tc, eight_runs_merge);
	tcase_add_loop_test(tc, engine_reads_the_format, 0, 4);
	tcase_add_loop_test(tc, newer_format, 0, 3);
	tcase_add_loop_test(tc, module_row_formats, 0,
	    sizeof(module_formats) / sizeof(module_formats[0]));
	tcase_add_loop_test(tc, module_row_members, 0,
	    sizeof(module_rows) / sizeof(module_rows[0]));
	tcase_add_loop_test(tc, somebody_elses_environment, 0, 2);
	tcase_add_loop_test(tc, forged, 0, sizeof(forgeries) / sizeof(forgeries[0]));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
