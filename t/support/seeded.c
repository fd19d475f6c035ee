/* SPDX-License-Identifier: BSD-2-Clause */
#include "seeded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "rawdb.h"
#include "sample.h"

#define CHUNK_HEADER 48

void
seeded_expect(lc_cache *cache, const char *id, size_t size, uint64_t seed)
{
	unsigned char *want = malloc(size + 1);
	lc_view view;

	need(want != NULL);
	sample_fill(want, size, seed);
	need_ok(lc_get(cache, id, strlen(id), &view));
	need(view.kind == LC_TENSOR && view.tensor.dtype == LC_U8);
	need(view.tensor.ndim == 1 && view.tensor.shape[0] == size);
	need(view.tensor.nbytes == size);
	need(size == 0 || memcmp(view.tensor.data, want, size) == 0);
	lc_view_release(&view);
	free(want);
}

lc_stats
seeded_stats(lc_cache *cache)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	need_ok(lc_stat(cache, &stats));
	return stats;
}

void
seeded_intact(lc_cache *cache, uint64_t records)
{
	lc_verify_result result;
	uint64_t count;

	need_ok(lc_count(cache, &count));
	need(count == records);
	need_ok(lc_verify(cache, NULL, &result));
	need(result.damaged == 0);
}

unsigned char *
seeded_last_record(const char *root, const char *module, size_t *size)
{
	unsigned char *record;
	MDB_cursor *cursor;
	MDB_val key, value;
	char dir[600];
	MDB_env *env;
	MDB_txn *txn;

	snprintf(dir, sizeof(dir), "%s/%s", root, module);
	env = rawdb_open_env(dir, MDB_RDONLY);
	txn = rawdb_begin(env, MDB_RDONLY);
	rawdb_must(mdb_cursor_open(txn, rawdb_table(txn, "chunk", 0), &cursor));
	rawdb_must(mdb_cursor_get(cursor, &key, &value, MDB_LAST));
	*size = value.mv_size - CHUNK_HEADER;
	record = malloc(*size);
	need(record != NULL);
	memcpy(record, (unsigned char *)value.mv_data + CHUNK_HEADER, *size);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	mdb_env_close(env);
	return record;
}
