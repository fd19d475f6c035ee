/* SPDX-License-Identifier: BSD-2-Clause */
/* How compact rewrites chunks: which neighbours become one chunk, and how it is
 * written. */
#include "life/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/codec.h"
#include "life/decoded.h"
#include "store/lookup.h"
#include "store/packing.h"
#include "store/record.h"

/* ---- which chunks --------------------------------------------------------- */

/* Add a chunk if it should be rewritten or joined with its neighbours, and fits. */
static bool
add_to_group(struct lc__chunk_group *group, uint64_t id, const struct lc__ledger_row *row,
    const lc_compact_options *options)
{
	const bool recode = options->recode != LC_CODEC_DEFAULT;
	const bool sparse = recode || row->live == 0 ||
	    (double)row->live_bytes < options->live_ratio * (double)row->bytes;

	/* Two chunks that are not small do not fit into one. */
	if (!sparse && row->live_bytes > options->chunk_bytes / 2)
		return false;
	if (group->count > 0 &&
	    (group->count == LC__GROUP_CHUNKS || group->source != 0 || row->source != 0 ||
		group->live_bytes + row->live_bytes > options->chunk_bytes ||
		group->bytes + row->bytes > LC__GROUP_BYTES))
		return false;
	/* A chunk of an input may only be recoded, alone and with all of its records. */
	if (row->source != 0 &&
	    (group->count > 0 || row->live != row->records || !recode))
		return false;
	group->ids[group->count++] = id;
	group->sparse |= sparse;
	group->source = row->source;
	group->records += row->records;
	group->live += row->live;
	group->bytes += row->bytes;
	group->live_bytes += row->live_bytes;
	return true;
}

/* Would rewriting the group improve anything? */
static bool
is_worth_it(const struct lc__chunk_group *group)
{
	return group->sparse || group->count > 1;
}

lc_status
lc__chunk_group_next(struct lc__snapshot *s, const lc_compact_options *options,
    uint64_t *next, uint64_t *looked, struct lc__chunk_group *out)
{
	struct lc__ledger_row row;
	lc_status status;
	bool intact;
	uint64_t id = 0;

	memset(out, 0, sizeof(*out));
	while ((status = lc__ledger_seek(s, *next, &id, &row, &intact)) == LC_OK) {
		if (!intact || !add_to_group(out, id, &row, options)) {
			if (is_worth_it(out))
				return LC_OK;
			/* It may be the first of another group. */
			memset(out, 0, sizeof(*out));
			if (intact)
				(void)add_to_group(out, id, &row, options);
		}
		*looked += row.bytes;
		/* A larger id is not that of a chunk, and is the last. */
		if (id > LC__CHUNK_ID_MAX)
			return LC_END;
		*next = id + 1;
	}
	return status == LC_END && is_worth_it(out) ? LC_OK : status;
}

/* ---- the chunks in the transaction ----------------------------------------------- */

/* One rewrite within a transaction. */
struct work {
	struct lc__change *change;
	struct lc__rewrite *rewrite;
	struct lc__chunk_group found; /* the chunks of the group that still exist */
	struct lc__ledger_row rows[LC__GROUP_CHUNKS]; /* ledger rows of these chunks */
	struct lc__packing packing;                   /* of their live records */
	unsigned char *
	    *recoded; /* by record: its new bytes, NULL if the old ones stay; malloc'ed,
	              * all */
	struct lc__new_entry *entries; /* of records that move; malloc'ed */
	uint32_t nentries;
};

/* Read a chunk of the group; *taken is false if it no longer belongs to it. */
static lc_status
take_chunk(struct work *w, uint64_t id, bool *taken)
{
	struct lc__snapshot *s = &w->change->snapshot;
	const uint32_t count = w->packing.live.count;
	const uint64_t bytes = w->packing.live.bytes;
	struct lc__ledger_row row;
	uint64_t found;
	bool intact;
	const lc_status status = lc__ledger_seek(s, id, &found, &row, &intact);

	*taken = true;
	if (status == LC_END || (status == LC_OK && found != id))
		return LC_OK; /* another process dropped it */
	return_if_error(status);
	if (!intact)
		return lc__error(LC_CORRUPT, 0,
		    "%s: the ledger row of chunk %llu is damaged", lc__env_dir(s->env),
		    (unsigned long long)id);
	return_if_error(lc__live_add(&w->packing.live, s, id, &row, true));
	*taken = add_to_group(&w->found, id, &row, w->rewrite->options);
	if (*taken) {
		w->rows[w->found.count - 1] = row;
	} else {
		w->packing.live.count = count;
		w->packing.live.bytes = bytes;
	}
	return LC_OK;
}

static lc_status
take_chunks(struct work *w)
{
	const struct lc__chunk_group *group = w->rewrite->group;

	for (unsigned i = 0; i < group->count; i++) {
		bool taken = false;
		const lc_status status = take_chunk(w, group->ids[i], &taken);

		w->rewrite->next = group->ids[i] + 1;
		if (status == LC_CORRUPT && w->found.count == 0)
			return status;
		if (status != LC_OK && status != LC_CORRUPT)
			return status;
		if ((status == LC_CORRUPT || !taken) && w->found.count > 0) {
			w->rewrite->next = group->ids[i];
			break;
		}
	}
	w->rewrite->needless = !is_worth_it(&w->found);
	return LC_OK;
}

/* ---- another codec -------------------------------------------------------- */

/* Write a record that fits its schema with another codec. *out gets the whole record,
 * malloc'ed, and *size its size; NULL if it would be too large. */
static lc_status
recode_record(const struct lc__record *record, const struct lc__schema *schema,
    const lc_compact_options *options, unsigned char **out, size_t *size)
{
	struct lc__decoded decoded;
	lc_status status = lc__decode(record, schema, &decoded);
	const uint32_t n = decoded.count;
	struct lc__record_part *coded = calloc((size_t)n + 1, sizeof(*coded));
	struct lc__buf *bufs = calloc((size_t)n + 1, sizeof(*bufs)); /* of the coded */
	const struct lc__draft draft = {
		.id = record->id,
		.schema = schema,
		.tensors = decoded.pointers,
		.parts = coded,
		.plain = record->plain,
		.plain_size = record->plain_size,
	};

	*out = NULL;
	if (status == LC_OK && (coded == NULL || bufs == NULL))
		status = lc__no_memory("compact");
	for (uint32_t i = 0; i < n && status == LC_OK && options->recode != LC_CODEC_NONE;
	     i++)
		status = lc__part_code(&coded[i], options->recode, options->level,
		    &decoded.tensors[i], &bufs[i]);
	if (status == LC_OK) {
		*size = lc__record_size(&draft);
		*out = *size > 0 ? malloc(*size) : NULL;
		if (*out == NULL && *size > 0)
			status = lc__no_memory("compact");
	}
	if (*out != NULL) {
		lc__record_encode(*out, *size, &draft);
		lc__record_seal(*out, record->schema);
	}
	for (uint32_t i = 0; i < n && bufs != NULL; i++)
		lc__buf_free(&bufs[i]);
	free(bufs);
	free(coded);
	lc__decoded_free(&decoded);
	return status;
}

/* The largest offset of a record in a chunk: locations have 24 bits for it. */
#define MAX_BYTES ((uint64_t)512 << 20)

/* Recode record i, unless that gives the same bytes, or too many. */
static lc_status
recode_one(struct work *w, uint32_t i, bool *changed)
{
	struct lc__live_record *live = &w->packing.live.records[i];
	struct lc__record record;
	struct lc__known *known;
	unsigned char *bytes = NULL;
	size_t size = 0;

	(void)lc__record_parse(live->bytes, live->size, &record);
	return_if_error(lc__snapshot_schema(&w->change->snapshot, record.schema, &known));
	if (!lc__record_fits(&record, known->schema))
		return lc__error(LC_CORRUPT, 0, "key %s: shape and size disagree",
		    lc__quote_id(record.id.data, record.id.size));
	return_if_error(
	    recode_record(&record, known->schema, w->rewrite->options, &bytes, &size));
	if (bytes == NULL || w->packing.live.bytes - live->size + size > MAX_BYTES ||
	    (size == live->size && memcmp(bytes, live->bytes, size) == 0)) {
		free(bytes);
		return LC_OK;
	}
	w->packing.live.bytes += size;
	w->packing.live.bytes -= live->size;
	w->recoded[i] = bytes;
	live->bytes = bytes;
	live->size = size;
	*changed = true;
	return LC_OK;
}

/* Recode all records; the rewrite is needless if neither this nor anything else changes
 * the chunk. */
static lc_status
recode(struct work *w)
{
	bool changed = w->found.count > 1 || w->packing.live.count < w->found.records;

	if (w->rewrite->options->recode == LC_CODEC_DEFAULT)
		return LC_OK;
	w->recoded = calloc(w->packing.live.count + 1, sizeof(unsigned char *));
	if (w->recoded == NULL)
		return lc__no_memory("compact");
	for (uint32_t i = 0; i < w->packing.live.count; i++)
		return_if_error(recode_one(w, i, &changed));
	w->rewrite->needless = !changed;
	return LC_OK;
}

/* ---- the new chunk -------------------------------------------------------- */

static lc_status
write_chunk(struct work *w)
{
	const uint64_t id = w->found.ids[0];
	struct lc__packing *p = &w->packing;

	if (p->live.count == 0)
		return LC_OK;
	return_if_error(lc__packing_write(p, id, w->entries, &w->nentries));
	/* Live records of other chunks are appended to those of the first one. */
	if (p->row.live != w->rows[0].live)
		lc__ledger_name_records(&p->row);
	return_if_error(lc__change_put_ledger(w->change, id, &p->row));
	if (w->nentries == 0)
		return LC_OK;
	return lc__change_add_run(w->change, w->entries, w->nentries);
}

static lc_status
replace_chunks(struct work *w)
{
	struct lc__packing *p = &w->packing;

	w->entries = malloc((p->live.count + 1) * sizeof(*w->entries));
	if (w->entries == NULL)
		return lc__no_memory("compact");
	return_if_error(lc__packing_lay_out(p, &w->rows[0]));
	for (unsigned i = 0; i < w->found.count; i++) {
		if (w->rows[i].read_ms > p->row.read_ms)
			p->row.read_ms = w->rows[i].read_ms;
		return_if_error(
		    lc__change_drop_chunk(w->change, w->found.ids[i], &w->rows[i]));
	}
	return_if_error(write_chunk(w));
	w->rewrite->rewritten = w->found.count;
	w->rewrite->moved = p->live.count;
	w->rewrite->dropped = w->found.records - p->live.count;
	return LC_OK;
}

/* The body of a change. A needless rewrite fails with LC_CANCELLED, so that the change is
 * not committed. */
static lc_status
rewrite_within(struct lc__change *change, void *rewrite)
{
	struct work *w = calloc(1, sizeof(*w));
	lc_status status;

	if (w == NULL)
		return lc__no_memory("compact");
	w->change = w->packing.change = change;
	w->rewrite = rewrite;
	w->rewrite->needless = false;
	status = take_chunks(w);
	if (status == LC_OK && !w->rewrite->needless)
		status = recode(w);
	if (status == LC_OK)
		status = w->rewrite->needless ? LC_CANCELLED : replace_chunks(w);
	for (uint32_t i = 0; w->recoded != NULL && i < w->packing.live.count; i++)
		free(w->recoded[i]);
	free(w->recoded);
	lc__packing_free(&w->packing);
	free(w->entries);
	free(w);
	return status;
}

lc_status
lc__rewrite(struct lc__env *env, lc_durability durability, struct lc__rewrite *rewrite)
{
	const lc_status status = lc__change_run(env, durability, rewrite_within, rewrite);

	return rewrite->needless && status == LC_CANCELLED ? LC_OK : status;
}
