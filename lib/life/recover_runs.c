/* SPDX-License-Identifier: BSD-2-Clause */
/* The index of a damaged module: every entry that can be read, and the gaps. */
#include "base/error.h"
#include "base/array.h"
#include "index/run_build.h"
#include "life/recovery.h"

/* A run as it is read. */
struct reader {
	struct lc__recovery *r;
	uint32_t position;
	uint64_t entries;    /* read so far */
	bool in_gap;         /* the block before was damaged */
	struct lc__run_entry last; /* id NULL before the first */
};

static lc_status
open_gap(struct reader *reader)
{
	struct lc__recovery *r = reader->r;

	if (reader->in_gap)
		return LC_OK;
	return_if_error(lc__array_reserve(&r->gaps, &r->gaps_room,
	    r->ngaps + 1, "recover"));
	r->gaps[r->ngaps++] = (struct lc__gap) {
		.run = reader->position, .after = reader->last
	};
	reader->in_gap = true;
	return LC_OK;
}

static lc_status
add_entry(struct reader *reader, const struct lc__run_entry *entry)
{
	struct lc__recovery *r = reader->r;
	const lc_id id = { entry->id, entry->id_size };

	return_if_error(lc__array_reserve(&r->claims, &r->claims_room,
	    r->nclaims + 1, "recover"));
	r->claims[r->nclaims++] = (struct lc__claim) {
		.prefix = lc__sort_prefix(&id), .id = entry->id,
		.id_size = (uint32_t)entry->id_size, .run = reader->position,
		.location = entry->location & LC__TOMBSTONE ? LC__TOMBSTONE :
		    entry->location
	};
	if (reader->in_gap)
		r->gaps[r->ngaps - 1].before = *entry;
	reader->in_gap = false;
	reader->last = *entry;
	reader->entries++;
	return LC_OK;
}

/* The entries of a block; *whole becomes false if anything of them is damaged. */
static lc_status
read_block(struct reader *reader, const struct lc__run *run, uint32_t block,
    bool *whole)
{
	const uint64_t seed = lc__env_seed(reader->r->change->snapshot.env);
	struct lc__run_cursor cursor;
	const struct lc__run_entry *entry = &cursor.entry;
	bool more = lc__run_enter(&cursor, run, block);

	while (more && cursor.left > 0) {
		more = lc__run_next(&cursor);
		if (!more)
			break;
		return_if_error(add_entry(reader, entry));
		*whole &= lc__run_has(run, lc__run_hash(seed, entry->id,
		    entry->id_size), entry->location);
	}
	*whole &= more;
	return more ? LC_OK : open_gap(reader);
}

static lc_status
read_blocks(struct reader *reader, const struct lc__run *run, bool *whole)
{
	*whole = lc__run_table_intact(run);
	for (uint32_t i = 0; i < run->blocks; i++)
		return_if_error(read_block(reader, run, i, whole));
	*whole &= reader->entries == run->entries;
	return LC_OK;
}

static lc_status
read_run(struct lc__recovery *r, uint32_t position)
{
	struct lc__snapshot *s = &r->change->snapshot;
	const struct lc__run_row *row = &s->state.runs[position];
	struct reader reader = { .r = r, .position = position };
	struct lc__run *run = &r->runs[position];
	struct lc__slice value;
	const lc_status status = lc__txn_get(s->txn, LC__INDEX, row->id, &value);
	bool whole = false;

	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;
	if (status == LC_OK && value.size == row->bytes && lc__run_parse(
	    value.data, value.size, row->id, run) &&
	    run->entries == row->entries)
		return_if_error(read_blocks(&reader, run, &whole));
	else
		return_if_error(open_gap(&reader));
	if (whole)
		return LC_OK;
	r->result.runs++;
	r->index_damaged = true;
	lc__found_tell(r->progress, "index run %llu: damaged, %llu of %llu entries read",
	    (unsigned long long)row->id, (unsigned long long)reader.entries,
	    (unsigned long long)row->entries);
	return LC_OK;
}

lc_status
lc__recovery_read_runs(struct lc__recovery *r)
{
	const uint32_t n = r->change->snapshot.state.nruns;

	for (uint32_t i = 0; i < n; i++) {
		return_if_error(lc__array_reserve(&r->runs, &r->runs_room,
		    r->nruns + 1, "recover"));
		r->runs[r->nruns++] = (struct lc__run) { .entries = 0 };
		return_if_error(read_run(r, i));
	}
	return LC_OK;
}
