/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/layout.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/chunk_order.h"

/* Rows that are read and kept together. */
#define SEGMENT 512

/* Segments are in blocks, each twice as large as the one before. Blocks never move, so
 * that readers need no lock. */
#define FIRST_BLOCK 256
#define BLOCKS 48

/** Consecutive rows. */
struct segment {
	_Atomic(struct lc__chunk_row *) rows; /* NULL: none is read. malloc'ed */
	atomic_uint n;                        /* number of rows that were read */
	atomic_bool has_first; /* the sums below are known, even if the rows are not */
	uint64_t first_record; /* before the segment */
	uint64_t first_unit;
};

/** How much of the order is known. */
struct extent {
	uint64_t n;          /* rows */
	uint64_t last_chunk; /* of the last of them */
	uint64_t last_hash;
};

struct order_rows {
	struct lc__rows rows;
	struct lc__env *env;
	bool lengths;
	pthread_mutex_t lock; /* held while rows are read. A thread takes its snapshot
	                       * before the lock, and never waits for one while holding it
	                       * */
	struct extent known;  /* guarded by the lock */
	_Atomic(struct segment *) blocks[BLOCKS];
};

static struct order_rows *
of(struct lc__rows *rows)
{
	return (struct order_rows *)rows;
}

/* ---- segments -------------------------------------------------------------------- */

/* NULL without memory. */
static struct segment *
segment_of(struct order_rows *r, uint64_t number)
{
	/* The blocks have FIRST_BLOCK segments, 2 * FIRST_BLOCK, 4 * FIRST_BLOCK... */
	const unsigned b = 63 - (unsigned)__builtin_clzll(number / FIRST_BLOCK + 1);
	const uint64_t at = number - FIRST_BLOCK * (((uint64_t)1 << b) - 1);
	struct segment *none = NULL,
		       *block = atomic_load_explicit(&r->blocks[b], memory_order_acquire);

	if (block == NULL) {
		struct segment *mine = calloc((size_t)FIRST_BLOCK << b, sizeof(*mine));

		if (mine == NULL)
			return NULL;
		if (atomic_compare_exchange_strong(&r->blocks[b], &none, mine))
			return &mine[at];
		free(mine);
		block = none;
	}
	return &block[at];
}

static void
free_rows(struct lc__rows *rows)
{
	struct order_rows *r = of(rows);

	for (unsigned b = 0; b < BLOCKS; b++) {
		struct segment *block = atomic_load(&r->blocks[b]);

		if (block == NULL)
			continue;
		for (size_t i = 0; i < (size_t)FIRST_BLOCK << b; i++)
			free(atomic_load(&block[i].rows));
		free(block);
	}
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* ---- reading rows ------------------------------------------------------------------ */

static lc_status
damaged(const struct order_rows *r, uint64_t position)
{
	return lc__error(LC_CORRUPT, 0, "%s: order row %llu contradicts others",
	    lc__env_dir(r->env), (unsigned long long)position);
}

/* Does the order of a snapshot begin with what is known? */
static lc_status
check_known(const struct extent *known, struct lc__snapshot *s, bool *same)
{
	struct lc__order_row row;
	lc_status status;

	*same = true;
	if (known->n == 0)
		return LC_OK;
	status = lc__order_get(s, known->n - 1, &row);
	*same = status == LC_OK && row.chunk == known->last_chunk &&
	    row.prefix_hash == known->last_hash;
	return status == LC_NOT_FOUND ? LC_OK : status;
}

/* Read row @p position, which the order has. */
static lc_status
get_row(const struct order_rows *r, struct lc__snapshot *s, uint64_t position,
    struct lc__chunk_row *out)
{
	struct lc__order_row row;
	const lc_status status = lc__order_get(s, position, &row);
	uint64_t end;

	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: order row %llu is missing",
		    lc__env_dir(r->env), (unsigned long long)position);
	return_if_error(status);
	*out = (struct lc__chunk_row){
		.id = row.chunk,
		.first_record = row.first_record,
		.records = row.records,
		.first_unit = r->lengths ? row.first_unit : row.first_record,
		.units = r->lengths ? row.length : row.records,
		.prefix_hash = row.prefix_hash,
		.ordinal = row.ordinal,
	};
	if (row.records == 0 || !lc__add64(out->first_record, out->records, &end) ||
	    !lc__add64(out->first_unit, out->units, &end))
		return damaged(r, position);
	return LC_OK;
}

static void
note_first(struct segment *segment, const struct lc__chunk_row *row)
{
	segment->first_record = row->first_record;
	segment->first_unit = row->first_unit;
	atomic_store_explicit(&segment->has_first, true, memory_order_release);
}

/* How many of the first n rows are in a segment. */
static unsigned
rows_in(uint64_t n, uint64_t number)
{
	const uint64_t rest = n - number * SEGMENT;

	return rest < SEGMENT ? (unsigned)rest : SEGMENT;
}

/* Read the rows of a segment that the order has and that were not read yet. */
static lc_status
read_rows_locked(struct order_rows *r, struct lc__snapshot *s, uint64_t known,
    uint64_t number, struct segment *segment)
{
	const uint64_t first = number * SEGMENT;
	const unsigned n = rows_in(known, number);
	unsigned i = atomic_load_explicit(&segment->n, memory_order_relaxed);
	struct lc__chunk_row *rows = atomic_load_explicit(&segment->rows,
	    memory_order_relaxed);

	if (rows == NULL) {
		rows = malloc(SEGMENT * sizeof(*rows));
		if (rows == NULL)
			return lc__no_memory("source");
		atomic_store_explicit(&segment->rows, rows, memory_order_release);
	}
	for (; i < n; i++) {
		return_if_error(get_row(r, s, first + i, &rows[i]));
		if (i > 0 &&
		    (rows[i].first_record != lc__row_end(&rows[i - 1], false) ||
			rows[i].first_unit != lc__row_end(&rows[i - 1], true)))
			return damaged(r, first + i);
	}
	if (!atomic_load_explicit(&segment->has_first, memory_order_relaxed))
		note_first(segment, &rows[0]);
	/* Another thread may know more rows, and have read more, by now. */
	if (i > atomic_load_explicit(&segment->n, memory_order_relaxed))
		atomic_store_explicit(&segment->n, i, memory_order_release);
	return LC_OK;
}

static lc_status
read_first_locked(struct order_rows *r, struct lc__snapshot *s, uint64_t number,
    struct segment *segment)
{
	struct lc__chunk_row row;

	if (atomic_load_explicit(&segment->has_first, memory_order_relaxed))
		return LC_OK;
	return_if_error(get_row(r, s, number * SEGMENT, &row));
	note_first(segment, &row);
	return LC_OK;
}

/* Read the rows of a segment, or only its first one, in a new snapshot. Its order must
 * begin with the known rows. More rows may be known when the lock is taken again. */
static lc_status
read_segment(struct order_rows *r, uint64_t number, struct segment *segment, bool all)
{
	struct extent known;
	struct lc__snapshot *s;
	lc_status status;
	bool same = false;

	pthread_mutex_lock(&r->lock);
	known = r->known;
	pthread_mutex_unlock(&r->lock);
	return_if_error(lc__snapshot_take(r->env, &s));
	pthread_mutex_lock(&r->lock);
	status = check_known(&known, s, &same);
	if (status == LC_OK && !same)
		status = lc__error(LC_CHANGED, 0,
		    "%s: the order of its chunks has changed since it was read",
		    lc__env_dir(r->env));
	else if (status == LC_OK)
		status = all ? read_rows_locked(r, s, known.n, number, segment)
			     : read_first_locked(r, s, number, segment);
	pthread_mutex_unlock(&r->lock);
	lc__snapshot_give(s, 0);
	return status;
}

/* ---- looking up ----------------------------------------------------------------------- */

/* A segment with its first @p n rows read. */
static lc_status
need_rows(struct order_rows *r, uint64_t number, unsigned n,
    const struct lc__chunk_row **out)
{
	struct segment *segment = segment_of(r, number);

	if (segment == NULL)
		return lc__no_memory("source");
	if (atomic_load_explicit(&segment->n, memory_order_acquire) < n)
		return_if_error(read_segment(r, number, segment, true));
	*out = atomic_load_explicit(&segment->rows, memory_order_acquire);
	return LC_OK;
}

static lc_status
get(struct lc__rows *rows, uint64_t n, uint64_t position, struct lc__chunk_row *out)
{
	const struct lc__chunk_row *row;

	(void)n;
	return_if_error(need_rows(of(rows), position / SEGMENT,
	    (unsigned)(position % SEGMENT) + 1, &row));
	*out = row[position % SEGMENT];
	return LC_OK;
}

/* The last segment that begins at or before record or unit i. */
static lc_status
find_segment(struct order_rows *r, uint64_t n, bool units, uint64_t i, uint64_t *out)
{
	uint64_t low = 0, high = (n - 1) / SEGMENT;

	while (low < high) {
		const uint64_t middle = high - (high - low) / 2;
		struct segment *segment = segment_of(r, middle);

		if (segment == NULL)
			return lc__no_memory("source");
		if (!atomic_load_explicit(&segment->has_first, memory_order_acquire))
			return_if_error(read_segment(r, middle, segment, false));
		if ((units ? segment->first_unit : segment->first_record) <= i)
			low = middle;
		else
			high = middle - 1;
	}
	*out = low;
	return LC_OK;
}

static lc_status
find(struct lc__rows *rows, uint64_t n, bool units, uint64_t i, uint64_t *position,
    struct lc__chunk_row *out)
{
	const struct lc__chunk_row *row;
	uint64_t number = 0, at;

	return_if_error(find_segment(of(rows), n, units, i, &number));
	return_if_error(need_rows(of(rows), number, rows_in(n, number), &row));
	at = lc__row_search(row, rows_in(n, number), units, i);
	/* The first rows of segments may contradict the rows in them. */
	if (i < lc__row_first(&row[at], units) || i >= lc__row_end(&row[at], units))
		return damaged(of(rows), number * SEGMENT + at);
	*position = number * SEGMENT + at;
	*out = row[at];
	return LC_OK;
}

static const struct lc__rows_kind order_kind = {
	.get = get,
	.find = find,
	.free = free_rows,
};

/* ---- making ----------------------------------------------------------------------------- */

lc_status
lc__order_rows_new(struct lc__env *env, bool lengths, struct lc__rows **out)
{
	struct order_rows *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return lc__no_memory("source");
	r->rows.kind = &order_kind;
	atomic_init(&r->rows.refs, 1);
	r->env = env;
	r->lengths = lengths;
	pthread_mutex_init(&r->lock, NULL);
	*out = &r->rows;
	return LC_OK;
}

bool
lc__is_order_rows(const struct lc__rows *rows)
{
	return rows->kind == &order_kind;
}

static lc_status
extend_locked(struct order_rows *r, struct lc__snapshot *s, uint64_t n, bool *same)
{
	struct lc__order_row last;
	lc_status status;

	return_if_error(check_known(&r->known, s, same));
	if (!*same || n <= r->known.n)
		return LC_OK;
	status = lc__order_get(s, n - 1, &last);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: order row %llu is missing",
		    lc__env_dir(r->env), (unsigned long long)(n - 1));
	return_if_error(status);
	r->known = (struct extent){ n, last.chunk, last.prefix_hash };
	return LC_OK;
}

lc_status
lc__order_rows_extend(struct lc__rows *rows, struct lc__snapshot *snapshot, uint64_t n,
    bool *same)
{
	struct order_rows *r = of(rows);
	lc_status status;

	pthread_mutex_lock(&r->lock);
	status = extend_locked(r, snapshot, n, same);
	pthread_mutex_unlock(&r->lock);
	return status;
}
