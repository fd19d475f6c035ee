/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing an input: put -> pending writes -> commit as its next chunk. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "index/run_build.h"
#include "store/chunk_order.h"
#include "store/commit.h"
#include "store/inputs.h"
#include "store/put.h"
#include "store/record.h"

/* A location has 24 bits for a record's position in its chunk; this limit respects
 * that. */
#define CHUNK_LIMIT ((size_t)512 << 20)

/* Memory for records that is kept from one chunk to the next. */
#define KEPT_ROOM ((size_t)32 << 20)

struct lc_writer {
	struct lc_cache *cache; /* kept open */
	uint32_t epoch;         /* number of the process that opened it */
	lc_input_info info;     /* points into the arrays that follow */
	char name[LC_INPUT_NAME_MAX + 1];
	unsigned char fingerprint[LC_INPUT_FINGERPRINT_MAX];
	unsigned char cursor[LC_INPUT_CURSOR_MAX];
	struct lc__pending pending; /* the records of the next chunk */
	uint64_t digest;            /* digest of the records in `pending` */
};

/* ---- opening -------------------------------------------------------------- */

/* Read the input's row. */
static lc_status
find(struct lc_writer *w, const char *name)
{
	struct lc__input_row row;
	struct lc__snapshot *s;
	uint32_t index = 0;
	bool merging = false;
	lc_status status;

	return_if_error(lc__snapshot_take(w->cache->env, &s));
	status = lc__input_find(s, name, &index, &row);
	if (status == LC_OK) {
		memcpy(w->name, row.name.data, row.name.size);
		memcpy(w->fingerprint, row.fingerprint.data, row.fingerprint.size);
		memcpy(w->cursor, row.cursor.data, row.cursor.size);
		merging = row.merging;
		w->info = (lc_input_info){
			.index = index,
			.name = w->name,
			.fingerprint = { w->fingerprint, row.fingerprint.size },
			.cursor = { w->cursor, row.cursor.size },
			.chunks = row.chunks,
			.records = row.records,
			.length = row.length,
			.finished = row.finished,
			.held = 1,
		};
	}
	lc__snapshot_give(s, 0);
	if (merging)
		return lc__error(LC_INVALID, 0,
		    "%s: input %s is incomplete, from a merge that was interrupted: "
		    "merge again",
		    lc__env_dir(w->cache->env), w->name);
	return status != LC_NOT_FOUND
	    ? status
	    : lc__error(LC_NOT_FOUND, 0, "%s: input %s is not declared",
		  lc__env_dir(w->cache->env), lc__quote_id(name, strlen(name)));
}

/* Lock the input, then read it again: its last holder may have committed since. */
static lc_status
lock_input(struct lc_writer *w, const char *name)
{
	struct lc__txn *txn;
	uint32_t index;
	lc_status status;

	return_if_error(find(w, name));
	index = w->info.index;
	return_if_error(lc__input_lock(w->cache->env, index, name));
	/* A writer that was killed during its commit may have stored it without informing
	 * LMDB's readers. The next write transaction of any process does that. */
	status = lc__txn_begin_write(w->cache->env, LC_DURABLE_FULL, &txn);
	if (status == LC_OK) {
		lc__txn_abort(txn);
		status = find(w, name);
	}
	if (status == LC_OK && w->info.index != index)
		status = lc__error(LC_BUSY, 0, "%s: inputs are being declared",
		    lc__env_dir(w->cache->env));
	if (status != LC_OK)
		lc__input_unlock(w->cache->env, index);
	return status;
}

lc_status
lc_writer_open(lc_cache *cache, const char *name, lc_writer **out)
{
	struct lc_writer *w;
	lc_status status;

	return_if_error(lc__check_writable(cache, "writer"));
	if (name == NULL)
		return lc__error(LC_INVALID, 0, "writer: no name");
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return lc__no_memory("writer");
	w->cache = cache;
	w->epoch = lc__env_epoch();
	status = lock_input(w, name);
	if (status != LC_OK) {
		free(w);
		return status;
	}
	lc__cache_keep_open(cache);
	*out = w;
	return LC_OK;
}

const lc_input_info *
lc_writer_info(const lc_writer *writer)
{
	return &writer->info;
}

/* ---- putting -------------------------------------------------------------- */

static lc_status
check_usable(const struct lc_writer *w)
{
	if (w->epoch != lc__env_epoch())
		return lc__error(LC_INVALID, 0,
		    "writer: %s is written by the process that this one was forked from",
		    w->name);
	if (w->info.finished)
		return lc__error(LC_INVALID, 0, "writer: %s is finished", w->name);
	return LC_OK;
}

static lc_status
add(void *ctx, const struct lc__draft *draft, struct lc__known *known)
{
	struct lc_writer *w = ctx;
	const uint64_t hash = lc__run_hash(lc__env_seed(w->cache->env), draft->id.data,
	    draft->id.size);
	const size_t size = lc__record_size(draft);
	size_t room = w->pending.room ? w->pending.room : (size_t)1 << 20;

	if (lc__pending_find(&w->pending, hash, draft->id.data, draft->id.size) != NULL)
		return lc__error(LC_EXISTS, 0, "put: %s: the chunk has it already",
		    lc__quote_id(draft->id.data, draft->id.size));
	if (size == 0 || size >= CHUNK_LIMIT || w->pending.used + size >= CHUNK_LIMIT)
		return lc__error(LC_INVALID, 0,
		    "the chunk would take 512 MiB: commit before");
	while (room < w->pending.used + size)
		room *= 2;
	return_if_error(lc__pending_reserve(&w->pending, room));
	return_if_error(lc__pending_add(&w->pending, hash, draft, size, known));
	w->digest = lc__digest_add(w->digest, lc__digest(draft));
	return LC_OK;
}

/* INPUT:CHUNK:RECORD, unless the caller gives a cache_id. */
static lc_status
choose_id(const struct lc_writer *w, const void *id, size_t id_size,
    char text[LC_INPUT_NAME_MAX + 48], lc_id *out)
{
	*out = (lc_id){ id, id_size };
	if (id != NULL || id_size != 0)
		return lc__check_id("put", id, id_size);
	out->data = text;
	out->size = (size_t)sprintf(text, "%s:%" PRIu64 ":%" PRIu32, w->name,
	    w->info.chunks, w->pending.count);
	return LC_OK;
}

lc_status
lc_writer_put(lc_writer *writer, const void *id, size_t id_size, const lc_tensor *tensor)
{
	char text[LC_INPUT_NAME_MAX + 48];
	lc_id chosen;

	return_if_error(check_usable(writer));
	return_if_error(choose_id(writer, id, id_size, text, &chosen));
	return lc__put_tensor_to(writer->cache, &chosen, tensor, add, writer);
}

lc_status
lc_writer_put_value(lc_writer *writer, const void *id, size_t id_size,
    const lc_value *value)
{
	char text[LC_INPUT_NAME_MAX + 48];
	lc_id chosen;

	return_if_error(check_usable(writer));
	return_if_error(choose_id(writer, id, id_size, text, &chosen));
	return lc__put_value_to(writer->cache, &chosen, value, add, writer);
}

void
lc_writer_pending(const lc_writer *writer, uint64_t *records, uint64_t *bytes)
{
	if (records != NULL)
		*records = writer->pending.count;
	if (bytes != NULL)
		*bytes = writer->pending.used;
}

void
lc_writer_forget(lc_writer *writer)
{
	lc__pending_clear(&writer->pending, KEPT_ROOM, NULL);
	writer->digest = 0;
}

/* ---- committing ----------------------------------------------------------- */

static lc_status
commit(struct lc_writer *w, const void *cursor, size_t size, bool finish)
{
	struct lc__input_step step = {
		.index = w->info.index,
		.name = w->name,
		.chunks = w->info.chunks,
		.cursor = { cursor, size },
		.finish = finish,
		.digest = w->digest,
	};

	return_if_error(check_usable(w));
	if (size > LC_INPUT_CURSOR_MAX || (size > 0 && cursor == NULL))
		return lc__error(LC_INVALID, 0,
		    "writer: %s: the cursor must be at most %d bytes", w->name,
		    LC_INPUT_CURSOR_MAX);
	return_if_error(
	    lc__commit(w->cache->env, &w->pending, w->cache->options.durability, &step));
	lc_writer_forget(w);
	if (size > 0)
		memmove(w->cursor, cursor, size);
	w->info.cursor.size = size;
	w->info.chunks = step.after.chunks;
	w->info.records = step.after.records;
	w->info.length = step.after.length;
	w->info.finished = step.after.finished;
	return LC_OK;
}

lc_status
lc_writer_commit(lc_writer *writer, const void *cursor, size_t cursor_size)
{
	return commit(writer, cursor, cursor_size, false);
}

lc_status
lc_writer_finish(lc_writer *writer, const void *cursor, size_t cursor_size)
{
	return commit(writer, cursor, cursor_size, true);
}

void
lc_writer_close(lc_writer *writer)
{
	if (writer == NULL)
		return;
	if (writer->epoch == lc__env_epoch())
		lc__input_unlock(writer->cache->env, writer->info.index);
	lc__pending_free_parts(&writer->pending);
	lc__cache_let_close(writer->cache);
	free(writer);
}
