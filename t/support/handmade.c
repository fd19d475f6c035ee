/* SPDX-License-Identifier: BSD-2-Clause */
#include "handmade.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "need.h"

#define HEADER 48
#define ROWS_OF_BLOCK 64

static void
add16(struct lc__buf *out, unsigned v)
{
	unsigned char bytes[2];

	lc__set16(bytes, (uint16_t)v);
	lc__buf_append(out, bytes, 2);
}

static void
add32(struct lc__buf *out, uint64_t v)
{
	unsigned char bytes[4];

	lc__set32(bytes, (uint32_t)v);
	lc__buf_append(out, bytes, 4);
}

static void
add64(struct lc__buf *out, uint64_t v)
{
	unsigned char bytes[8];

	lc__set64(bytes, v);
	lc__buf_append(out, bytes, 8);
}

/* ---- meta, schema ---------------------------------------------------------- */

/* Every row ends with a checksum that is seeded with its key. */
static void
add_sum(struct lc__buf *row, uint64_t key)
{
	add64(row, lc__hash64_seed(row->data, row->size, key));
}

static void
add_named_sum(struct lc__buf *row, const char *name)
{
	add_sum(row, lc__hash64(name, strlen(name)));
}

void
hand_module_row(struct lc__buf *out, const struct hand_module *m, unsigned format)
{
	unsigned char created[8];
	const uint64_t be = htobe64(m->created_ms);

	memcpy(created, &be, 8);
	lc__buf_append(out, "\x83\xa6" "format", 8);
	lc__buf_append(out, &(unsigned char){ (unsigned char)format }, 1);
	lc__buf_append(out, "\xa4" "uuid\xc4\x10", 7);
	lc__buf_append(out, m->uuid, 16);
	lc__buf_append(out, "\xaa" "created_ms\xcf", 12);
	lc__buf_append(out, created, 8);
	add_named_sum(out, "module");
}

void
hand_settings_row(struct lc__buf *out)
{
	/* No codec, any structure, the oldest chunks first, no budget, no lengths. */
	for (int i = 0; i < 3; i++)
		add64(out, 0);
	add_named_sum(out, "settings");
}

/* Nothing has happened yet. */
static void
counters_row(struct lc__buf *out)
{
	for (int i = 0; i < 136; i++)
		add64(out, 0);
	add_named_sum(out, "counters");
}

void
hand_usage_row(struct lc__buf *out, const struct hand_module *m)
{
	for (uint32_t i = 0; i < m->n_schemas; i++) {
		add64(out, m->usage[i].records);
		add64(out, m->usage[i].bytes);
		add64(out, m->usage[i].bytes);
		add64(out, m->usage[i].records);
		for (int codec = 1; codec <= 4; codec++)
			add64(out, 0);
	}
	add_named_sum(out, "usage");
}

static void
schema_node(struct lc__buf *out, const lc_tensor *tensor)
{
	const char *name = lc_dtype_name(tensor->dtype);

	lc__buf_append(out, "\x81\xa6" "tensor\x82\xa5" "dtype", 15);
	lc__buf_append(out, &(unsigned char){ (unsigned char)(0xa0 | strlen(name)) }, 1);
	lc__buf_append(out, name, strlen(name));
	lc__buf_append(out, "\xa4" "ndim", 5);
	lc__buf_append(out, &(unsigned char){ (unsigned char)tensor->ndim }, 1);
}

static uint32_t
schema_of(struct hand_module *m, const lc_tensor *tensor)
{
	struct lc__buf row = { 0 };

	schema_node(&row, tensor);
	for (uint32_t i = 0; i < m->n_schemas; i++)
		if (m->schemas[i].size == row.size + 8 &&
		    memcmp(m->schemas[i].data, row.data, row.size) == 0) {
			lc__buf_free(&row);
			return HAND_FIRST_SCHEMA + i;
		}
	add_sum(&row, HAND_FIRST_SCHEMA + m->n_schemas);
	m->schemas[m->n_schemas] = row;
	return HAND_FIRST_SCHEMA + m->n_schemas++;
}

/* ---- chunk, ledger ------------------------------------------------------------ */

static void
record(struct lc__buf *chunk, uint32_t schema, const struct hand_op *op)
{
	const uint64_t head = lc__round_up(32 + 8 * op->tensor->ndim + op->id.size, 64);
	const uint64_t size = head + lc__round_up(op->tensor->nbytes, 64);
	const uint64_t offset = chunk->size;

	add64(chunk, 0);
	add32(chunk, size / 64);
	add32(chunk, schema);
	add16(chunk, (unsigned)op->id.size - 1);
	add16(chunk, 0);
	add16(chunk, op->tensor->ndim);
	add16(chunk, 0);
	add64(chunk, 0);
	for (uint32_t i = 0; i < op->tensor->ndim; i++)
		add64(chunk, op->tensor->shape[i]);
	lc__buf_append(chunk, op->id.data, op->id.size);
	while ((chunk->size - offset) % 64 != 0)
		lc__buf_append(chunk, "", 1);
	need(chunk->size == offset + head);
	lc__buf_append(chunk, op->tensor->data, op->tensor->nbytes);
	while ((chunk->size - offset) % 64 != 0)
		lc__buf_append(chunk, "", 1);
	hand_seal_record(chunk, offset);
}

/* The live place of an id, or an unused slot. */
static struct hand_place *
place_of(struct hand_module *m, const lc_id *id)
{
	struct hand_place *p = m->places;

	for (; p->id.size != 0; p++)
		if (p->id.size == id->size &&
		    memcmp(p->id.data, id->data, id->size) == 0)
			break;
	return p;
}

static void
forget(struct hand_module *m, struct hand_place *p)
{
	struct hand_ledger *ledger;

	if (p->chunk == 0)
		return;
	ledger = &m->ledgers[p->chunk - HAND_FIRST_CHUNK];
	ledger->live--;
	ledger->live_bytes -= p->size;
	ledger->dead[ledger->n_dead++] = lc__get64(
	    m->chunks[p->chunk - HAND_FIRST_CHUNK].data + p->offset);
	p->chunk = 0;
}

static int
by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The ordinals go on with the records that died. */
static void
bury(struct hand_module *m)
{
	for (uint64_t i = 0; i < m->n_chunks; i++) {
		struct hand_ledger *l = &m->ledgers[i];

		qsort(l->dead, l->n_dead, sizeof(*l->dead), by_number);
		for (unsigned j = 0; j < l->n_dead; j++) {
			unsigned char checksum[8];

			lc__set64(checksum, l->dead[j]);
			l->ordinal = lc__hash64_seed(checksum, 8, l->ordinal);
		}
		l->n_dead = 0;
	}
}

static void
add_record(struct hand_module *m, const struct hand_op *op)
{
	const uint64_t id = HAND_FIRST_CHUNK + m->n_chunks;
	struct lc__buf *chunk = &m->chunks[m->n_chunks];
	struct hand_ledger *ledger = &m->ledgers[m->n_chunks];
	struct hand_place *place = place_of(m, &op->id);
	const uint64_t offset = chunk->size;
	const uint32_t schema = schema_of(m, op->tensor);

	forget(m, place);
	record(chunk, schema, op);
	m->usage[schema - HAND_FIRST_SCHEMA].records++;
	m->usage[schema - HAND_FIRST_SCHEMA].bytes += op->tensor->nbytes;
	*place = (struct hand_place){ op->id, id, offset, chunk->size - offset };
	/* A chain: each record's checksum, seeded with the one so far. */
	ledger->checksum = lc__hash64_seed(chunk->data + offset, 8,
	    ledger->checksum);
	ledger->records++;
	ledger->live++;
	ledger->bytes += place->size;
	ledger->live_bytes += place->size;
}

/* Where the records stand, unless they are all of one size. */
static void
add_directory(struct lc__buf *chunk, uint64_t id, uint64_t records)
{
	const size_t end = chunk->size;
	struct lc__buf offsets = { 0 };
	bool alike = true;
	size_t at = HEADER;

	for (; at < end; at += (size_t)lc__get32(chunk->data + at + 8) * 64) {
		alike &= lc__get32(chunk->data + at + 8) ==
		    lc__get32(chunk->data + HEADER + 8);
		add32(&offsets, (at - HEADER) / 64);
	}
	lc__set32(chunk->data + 32, alike ? 1 : 3);
	if (!alike) {
		if (records % 2 != 0)
			add32(&offsets, 0);
		lc__buf_append(chunk, "LCCD", 4);
		add32(chunk, 3);
		add64(chunk, records);
		lc__buf_append(chunk, offsets.data, offsets.size);
		add64(chunk, lc__hash64_seed(chunk->data + end, chunk->size - end,
		    id));
	}
	lc__buf_free(&offsets);
}

static void
add_chunk(struct hand_module *m, const struct hand_op *ops, unsigned n,
    uint64_t time_ms)
{
	struct lc__buf *chunk = &m->chunks[m->n_chunks];
	struct hand_ledger *ledger = &m->ledgers[m->n_chunks];

	ledger->time_ms = time_ms;
	lc__buf_append(chunk, "LCCK", 4);
	add16(chunk, 1);
	add16(chunk, HEADER);
	add64(chunk, HAND_FIRST_CHUNK + m->n_chunks);
	for (int i = 0; i < 4; i++)
		add64(chunk, 0);
	for (unsigned i = 0; i < n; i++)
		if (ops[i].tensor != NULL)
			add_record(m, &ops[i]);
	ledger->ordinal = ledger->checksum;
	lc__set64(chunk->data + 16, ledger->records);
	lc__set64(chunk->data + 24, ledger->bytes);
	add_directory(chunk, HAND_FIRST_CHUNK + m->n_chunks, ledger->records);
	hand_seal_header(chunk);
	while (chunk->size < 2048)
		lc__buf_append(chunk, "", 1);
	m->n_chunks++;
}

void
hand_ledger_row(struct lc__buf *out, const struct hand_module *m, uint64_t i)
{
	const struct hand_ledger *l = &m->ledgers[i];

	add64(out, l->records);
	add64(out, l->live);
	add64(out, l->bytes);
	add64(out, l->live_bytes);
	add64(out, 0);
	add64(out, l->ordinal);
	add64(out, l->checksum);
	add64(out, l->time_ms);
	add64(out, 0);
	add64(out, 0);
	add_sum(out, HAND_FIRST_CHUNK + i);
}

/* ---- index run ------------------------------------------------------------------ */

struct entry {
	lc_id id;
	uint64_t location, offset; /* offset: in the key section */
};

static int
compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const size_t size = x->id.size < y->id.size ? x->id.size : y->id.size;
	const int order = memcmp(x->id.data, y->id.data, size);

	return order != 0 ? order :
	    (x->id.size > y->id.size) - (x->id.size < y->id.size);
}

/* One block, as a commit made by hand has few entries. */
static void
key_section(struct lc__buf *out, struct entry *entries, unsigned n)
{
	need(n > 0 && n <= ROWS_OF_BLOCK);
	for (int i = 0; i < 4; i++)
		add32(out, 0);
	for (unsigned i = 0; i < n; i++) {
		entries[i].offset = out->size;
		if (entries[i].location >> 63)
			entries[i].location |= out->size;
		add64(out, entries[i].location);
		add16(out, (unsigned)entries[i].id.size - 1);
		lc__buf_append(out, entries[i].id.data, entries[i].id.size);
	}
	lc__set32(out->data, (uint32_t)out->size);
	lc__set32(out->data + 4, n);
	/* The seed of a block's checksum: its number, 0, and its entries. */
	lc__set64(out->data + 8, lc__hash64_seed(out->data + 16, out->size - 16, n));
	add32(out, 0);
	add32(out, 1);
}

static void
add_slot(unsigned char *table, uint32_t buckets, uint64_t hash, uint64_t location)
{
	uint32_t at = (uint32_t)(((unsigned __int128)hash * buckets) >> 64);
	unsigned char *bucket = table + (size_t)at * 64;
	int slot = 0;

	while (lc__get64(bucket + slot * 12) != UINT64_MAX) {
		if (++slot < 5)
			continue;
		bucket[63] = 0x80;
		at = (at + 1) % buckets;
		bucket = table + (size_t)at * 64;
		slot = 0;
	}
	lc__set64(bucket + slot * 12, location);
	lc__set32(bucket + slot * 12 + 8, (uint32_t)hash);
}

static void
hash_table(struct hand_module *m, struct lc__buf *run, const struct entry *entries,
    unsigned n, uint32_t buckets)
{
	const size_t start = run->size;

	for (uint32_t i = 0; i < buckets; i++) {
		for (int slot = 0; slot < 5; slot++) {
			add64(run, UINT64_MAX);
			add32(run, UINT32_MAX);
		}
		add32(run, 0);
	}
	for (unsigned i = 0; i < n; i++)
		add_slot(run->data + start, buckets, lc__hash64_seed(entries[i].id.data,
		    entries[i].id.size, lc__get64(m->uuid)), entries[i].location);
	for (uint32_t i = 0; i < buckets; i++)
		hand_seal_bucket(run, i);
}

static void
add_run(struct hand_module *m, struct entry *entries, unsigned n, uint32_t buckets)
{
	struct lc__buf *run = &m->runs[m->n_runs], keys = { 0 };

	qsort(entries, n, sizeof(entries[0]), compare_entries);
	key_section(&keys, entries, n);
	lc__buf_append(run, "LCIX", 4);
	add16(run, 1);
	add16(run, HEADER);
	add64(run, HAND_FIRST_RUN + m->n_runs);
	add64(run, n);
	add32(run, buckets);
	add32(run, 0);
	add64(run, keys.size);
	add64(run, 0);
	hand_seal_header(run);
	hash_table(m, run, entries, n, buckets);
	lc__buf_append(run, keys.data, keys.size);
	lc__buf_free(&keys);
	m->run_facts[m->n_runs++] = (struct hand_run){ n, 0, buckets };
}

void
hand_commit(struct hand_module *m, const struct hand_op *ops, unsigned n,
    uint32_t buckets, uint64_t time_ms)
{
	struct entry entries[HAND_MAX];
	struct hand_place *place;
	unsigned puts = 0;

	for (unsigned i = 0; i < n; i++)
		puts += ops[i].tensor != NULL;
	if (puts > 0)
		add_chunk(m, ops, n, time_ms);
	for (unsigned i = 0; i < n; i++) {
		place = place_of(m, &ops[i].id);
		if (ops[i].tensor == NULL)
			forget(m, place);
		entries[i].id = ops[i].id;
		entries[i].location = ops[i].tensor == NULL ? UINT64_C(1) << 63 :
		    place->chunk << 24 | (place->offset - HEADER) / 64;
	}
	bury(m);
	add_run(m, entries, n, buckets);
	m->generation++;
}

/* ---- state ----------------------------------------------------------------------- */

void
hand_state_row(struct lc__buf *out, const struct hand_module *m)
{
	struct hand_ledger sum = { 0 };

	for (uint64_t i = 0; i < m->n_chunks; i++) {
		sum.records += m->ledgers[i].records;
		sum.live += m->ledgers[i].live;
		sum.bytes += m->ledgers[i].bytes;
		sum.live_bytes += m->ledgers[i].live_bytes;
	}
	add64(out, m->generation);
	add64(out, sum.live);
	add64(out, sum.records);
	add64(out, sum.live_bytes);
	add64(out, sum.bytes);
	add64(out, HAND_FIRST_CHUNK + m->n_chunks);
	add64(out, HAND_FIRST_RUN + m->n_runs);
	add32(out, m->n_runs);
	add32(out, HAND_FIRST_SCHEMA + m->n_schemas);
	for (uint64_t i = 0; i < m->n_runs; i++) {
		add64(out, HAND_FIRST_RUN + i);
		add64(out, m->run_facts[i].entries);
		add64(out, m->runs[i].size);
		add32(out, m->run_facts[i].level);
		add32(out, 0);
	}
	add_named_sum(out, "state");
}

/* ---- checksums ------------------------------------------------------------------- */

void
hand_seal_tail(struct lc__buf *row, uint64_t key)
{
	row->size -= 8;
	add_sum(row, key);
}

void
hand_seal_header(struct lc__buf *chunk_or_run)
{
	lc__set64(chunk_or_run->data + 40, lc__hash64(chunk_or_run->data, 40));
}

void
hand_seal_record(struct lc__buf *chunk, uint64_t offset)
{
	unsigned char *at = chunk->data + offset;
	const uint64_t size = (uint64_t)lc__get32(at + 8) * 64;

	need(offset + size <= chunk->size);
	lc__set64(at, lc__hash64(at + 8, size - 8));
}

void
hand_seal_bucket(struct lc__buf *run, uint32_t bucket)
{
	unsigned char *at = run->data + HEADER + (size_t)bucket * 64;
	const uint32_t overflow = lc__get32(at + 60) & 0x80000000u;
	const uint64_t seed = (uint64_t)bucket << 32 | overflow;

	lc__set32(at + 60, overflow |
	    (lc__hash64_seed(at, 60, seed) & 0x7fffffff));
}

/* ---- LMDB -------------------------------------------------------------------------- */

static void
store_row(MDB_txn *txn, MDB_dbi dbi, const void *key, size_t key_size,
    const struct lc__buf *row)
{
	MDB_val k = { key_size, (void *)(uintptr_t)key }, v = { row->size, row->data };

	/* What a forgery emptied is missing. */
	if (row->size == 0)
		return;
	need(mdb_put(txn, dbi, &k, &v, 0) == 0);
}

static MDB_dbi
table(MDB_txn *txn, const char *name, unsigned flags)
{
	MDB_dbi dbi;

	need(mdb_dbi_open(txn, name, flags | MDB_CREATE, &dbi) == 0);
	return dbi;
}

static void
store_tables(const struct hand_module *m, MDB_txn *txn)
{
	const MDB_dbi schema = table(txn, "schema", MDB_INTEGERKEY);
	const MDB_dbi chunk = table(txn, "chunk", MDB_INTEGERKEY);
	const MDB_dbi ledger = table(txn, "ledger", MDB_INTEGERKEY);
	const MDB_dbi index = table(txn, "index", MDB_INTEGERKEY);
	uint64_t id;
	uint32_t schema_id;

	for (uint32_t i = 0; i < m->n_schemas; i++) {
		schema_id = HAND_FIRST_SCHEMA + i;
		store_row(txn, schema, &schema_id, 4, &m->schemas[i]);
	}
	for (uint64_t i = 0; i < m->n_chunks; i++) {
		struct lc__buf row = { 0 };

		id = HAND_FIRST_CHUNK + i;
		store_row(txn, chunk, &id, 8, &m->chunks[i]);
		hand_ledger_row(&row, m, i);
		store_row(txn, ledger, &id, 8, &row);
		lc__buf_free(&row);
	}
	for (uint64_t i = 0; i < m->n_runs; i++) {
		id = HAND_FIRST_RUN + i;
		store_row(txn, index, &id, 8, &m->runs[i]);
	}
	(void)table(txn, "input", MDB_INTEGERKEY);
	(void)table(txn, "order", MDB_INTEGERKEY);
}

void
hand_store(const struct hand_module *m, const char *dir, unsigned format)
{
	struct lc__buf module = { 0 }, state = { 0 }, settings = { 0 }, counters = { 0 },
	    usage = { 0 };
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi meta;

	need(mkdir(dir, 0755) == 0);
	need(mdb_env_create(&env) == 0);
	need(mdb_env_set_maxdbs(env, 8) == 0 && mdb_env_set_mapsize(env, 8 << 20) == 0);
	need(mdb_env_open(env, dir, 0, 0644) == 0);
	need(mdb_txn_begin(env, NULL, 0, &txn) == 0);
	meta = table(txn, "meta", 0);
	hand_module_row(&module, m, format);
	store_row(txn, meta, "module", 6, &module);
	hand_state_row(&state, m);
	store_row(txn, meta, "state", 5, &state);
	hand_settings_row(&settings);
	store_row(txn, meta, "settings", 8, &settings);
	counters_row(&counters);
	store_row(txn, meta, "counters", 8, &counters);
	hand_usage_row(&usage, m);
	store_row(txn, meta, "usage", 5, &usage);
	store_tables(m, txn);
	need(mdb_txn_commit(txn) == 0);
	mdb_env_close(env);
	lc__buf_free(&module);
	lc__buf_free(&state);
	lc__buf_free(&settings);
	lc__buf_free(&counters);
	lc__buf_free(&usage);
}

void
hand_free(struct hand_module *m)
{
	for (int i = 0; i < HAND_MAX; i++) {
		lc__buf_free(&m->schemas[i]);
		lc__buf_free(&m->chunks[i]);
		lc__buf_free(&m->runs[i]);
	}
}
