/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/verify_inputs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "store/change.h"
#include "store/chunk_order.h"
#include "store/inputs.h"

struct check {
	struct lc__snapshot *s;
	const struct lc__verify_ask *ask;
	struct lc__fill_row fill;      /* as stored */
	struct lc__fill_row found;     /* as computed from other rows */
	struct lc__round_input *turns; /* of the inputs; malloc'ed */
	uint64_t *left;                /* chunks not published, by input; malloc'ed */
	uint64_t rows;                 /* rows expected in the table `order` */
	enum lc__turn turn;            /* expected end of the order */
};

__attribute__((format(printf, 2, 3))) static void
damage(const struct check *c, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	c->ask->damage(c->ask->ctx, line);
}

static void
compare(const struct check *c, const char *what, uint64_t stored, uint64_t found)
{
	if (stored != found)
		damage(c, "fill row: %s is %llu, found %llu", what,
		    (unsigned long long)stored, (unsigned long long)found);
}

/* ---- rows ----------------------------------------------------------------- */

static lc_status
check_inputs(struct check *c)
{
	uint64_t rows = 0;

	for (uint32_t i = 0; i < c->fill.inputs; i++) {
		struct lc__input_row row;
		const lc_status status = lc__input_get(c->s, i, &row);

		if (status == LC_CORRUPT || status == LC_NOT_FOUND) {
			damage(c, "%s", lc_last_error()->text);
			continue;
		}
		return_if_error(status);
		c->turns[i] = (struct lc__round_input){ row.chunks, row.finished };
		c->left[i] = row.chunks;
		c->found.finished += row.finished;
		c->found.committed += row.chunks;
	}
	return_if_error(lc__txn_count(c->s->txn, LC__INPUT, &rows));
	if (rows != c->fill.inputs)
		damage(c, "the table of inputs has %llu rows for %llu inputs",
		    (unsigned long long)rows, (unsigned long long)c->fill.inputs);
	return LC_OK;
}

/* An order row must describe the same chunk as the ledger and the records. */
static lc_status
check_chunk(const struct check *c, const struct lc__order_row *row)
{
	const unsigned long long chunk = row->chunk;
	struct lc__ledger_row ledger;
	struct lc__slice value;
	const lc_status status = lc__txn_get(c->s->txn, LC__LEDGER, row->chunk, &value);

	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;
	if (status == LC_NOT_FOUND || row->chunk >= c->s->state.next_chunk) {
		damage(c, "order: chunk %llu of input %u is missing", chunk, row->input);
		return LC_OK;
	}
	/* If it is damaged, that was already reported. */
	if (!lc__ledger_decode(value.data, value.size, row->chunk, &ledger))
		return LC_OK;
	if (ledger.source != (uint64_t)row->input + 1 || ledger.ordinal != row->ordinal)
		damage(c, "order: chunk %llu is not chunk %llu of input %u in the ledger",
		    chunk, (unsigned long long)row->ordinal, row->input);
	if (ledger.records != row->records || ledger.length != row->length ||
	    ledger.live != ledger.records)
		damage(c,
		    "order: chunk %llu does not have the records that were committed",
		    chunk);
	else if (c->ask->digest(c->ask->ctx, row->chunk) != row->digest)
		damage(c,
		    "order: the records of chunk %llu differ from those "
		    "committed",
		    chunk);
	return LC_OK;
}

/* Has recovery recorded that a chunk is lost? */
static lc_status
is_lost(struct check *c, uint32_t input, uint64_t ordinal, bool *lost)
{
	struct lc__order_row row;
	const lc_status status = lc__order_get_waiting(c->s, input, ordinal, &row);

	*lost = status == LC_OK && row.chunk == LC__ORDER_LOST;
	c->rows += *lost;
	c->found.committed -= *lost;
	return status == LC_NOT_FOUND || status == LC_CORRUPT ? LC_OK : status;
}

/* ---- the published order -------------------------------------------------- */

static void
check_sums(struct check *c, const struct lc__order_row *row)
{
	struct lc__fill_row *found = &c->found;

	if (row->first_record != found->records || row->first_unit != found->length)
		damage(c,
		    "order row %llu: its sums do not continue those of the row before",
		    (unsigned long long)found->published);
	if (row->prefix_hash != lc__order_chain(found->prefix_hash, row))
		damage(c,
		    "order row %llu: its hash does not continue that of the row before",
		    (unsigned long long)found->published);
	found->records = row->first_record + row->records;
	found->length = row->first_unit + row->length;
	found->prefix_hash = row->prefix_hash;
	found->published++;
}

static struct lc__round_input
turn_of(void *ctx, uint32_t input)
{
	return ((struct check *)ctx)->turns[input];
}

/* Check the row of the next position. */
static lc_status
check_place(struct check *c, uint32_t input, uint64_t ordinal, bool *missing)
{
	const unsigned long long place = c->found.published;
	struct lc__order_row row;
	const lc_status status = lc__order_get(c->s, place, &row);

	*missing = status == LC_CORRUPT || status == LC_NOT_FOUND;
	if (*missing) {
		damage(c, "order row %llu: %s", place,
		    status == LC_CORRUPT ? "damaged" : "missing");
		return LC_OK;
	}
	return_if_error(status);
	if (row.input != input || row.ordinal != ordinal)
		damage(c,
		    "order row %llu: is chunk %llu of input %u, must be "
		    "chunk %llu of input %u",
		    place, (unsigned long long)row.ordinal, row.input,
		    (unsigned long long)ordinal, input);
	return_if_error(check_chunk(c, &row));
	check_sums(c, &row);
	c->rows++;
	return LC_OK;
}

/* The rows are exactly the stable prefix of the round. */
static lc_status
check_published(struct check *c)
{
	struct lc__round_robin *rounds = &c->found.rounds;
	uint64_t ordinal = 0;
	uint32_t input = 0;
	bool missing = false, lost = false;

	while (!missing &&
	    (c->turn = lc__round_robin_next(rounds, (uint32_t)c->fill.inputs, turn_of, c,
		 &input, &ordinal)) == LC__TURN_CHUNK) {
		return_if_error(is_lost(c, input, ordinal, &lost));
		if (!lost)
			return_if_error(check_place(c, input, ordinal, &missing));
		c->left[input]--;
	}
	return LC_OK;
}

static lc_status
check_waiting_one(struct check *c, uint32_t input, uint64_t ordinal, bool *missing)
{
	struct lc__order_row row;
	const lc_status status = lc__order_get_waiting(c->s, input, ordinal, &row);

	*missing = status == LC_CORRUPT || status == LC_NOT_FOUND;
	if (*missing) {
		damage(c, "order row of chunk %llu of input %u: %s",
		    (unsigned long long)ordinal, input,
		    status == LC_CORRUPT ? "damaged" : "missing");
		return LC_OK;
	}
	return_if_error(status);
	c->rows++;
	if (row.input != input || row.ordinal != ordinal)
		damage(c, "order row of chunk %llu of input %u is another one's",
		    (unsigned long long)ordinal, input);
	if (row.chunk != LC__ORDER_LOST)
		return check_chunk(c, &row);
	c->found.committed--;
	return LC_OK;
}

static lc_status
check_waiting(struct check *c, uint32_t input)
{
	const uint64_t chunks = c->turns[input].chunks;
	bool missing = false;

	for (uint64_t i = chunks - c->left[input]; i < chunks && !missing; i++)
		return_if_error(check_waiting_one(c, input, i, &missing));
	return LC_OK;
}

/* ---- all ------------------------------------------------------------------ */

/* Chunks that came from inputs according to the ledger. */
static lc_status
count_sourced(const struct check *c, uint64_t *out)
{
	struct lc__ledger_row row;
	lc_status status;
	uint64_t id = 0;
	bool intact;

	while ((status = lc__ledger_after(c->s, id, &id, &row, &intact)) == LC_OK) {
		*out += row.source > 0;
		if (row.source == 0 && row.live > 0 && c->fill.inputs > 0)
			damage(c, "ledger of chunk %llu: it does not belong to an input",
			    (unsigned long long)id);
	}
	return status == LC_END ? LC_OK : status;
}

static lc_status
check_counts(const struct check *c)
{
	uint64_t rows = 0, sourced = 0;

	return_if_error(lc__txn_count(c->s->txn, LC__ORDER, &rows));
	if (rows != c->rows)
		damage(c, "the table of the order has %llu rows, not %llu",
		    (unsigned long long)rows, (unsigned long long)c->rows);
	return_if_error(count_sourced(c, &sourced));
	if (sourced != c->found.committed)
		damage(c, "the ledger has %llu chunks of inputs, which have %llu",
		    (unsigned long long)sourced, (unsigned long long)c->found.committed);
	return LC_OK;
}

static lc_status
check_filled(struct check *c)
{
	c->turns = calloc(c->fill.inputs, sizeof(*c->turns));
	c->left = calloc(c->fill.inputs, sizeof(*c->left));
	if (c->turns == NULL || c->left == NULL)
		return lc__no_memory("verify");
	return_if_error(check_inputs(c));
	return_if_error(check_published(c));
	for (uint32_t i = 0; i < c->fill.inputs; i++)
		return_if_error(check_waiting(c, i));
	compare(c, "finished", c->fill.finished, c->found.finished);
	compare(c, "committed", c->fill.committed, c->found.committed);
	compare(c, "published", c->fill.published, c->found.published);
	compare(c, "records", c->fill.records, c->found.records);
	compare(c, "length", c->fill.length, c->found.length);
	compare(c, "hash", c->fill.prefix_hash, c->found.prefix_hash);
	/* After the end of all inputs no input has a turn. */
	if (c->turn == LC__TURN_WAIT) {
		compare(c, "ordinal whose turn it is", c->fill.rounds.round,
		    c->found.rounds.round);
		compare(c, "input whose turn it is", c->fill.rounds.input,
		    c->found.rounds.input);
	}
	return check_counts(c);
}

lc_status
lc__verify_inputs(struct lc__snapshot *snapshot, const struct lc__verify_ask *ask)
{
	struct check c = { .s = snapshot, .ask = ask };
	lc_status status = lc__fill_get(snapshot, &c.fill);
	uint64_t rows = 0;

	if (status == LC_CORRUPT) {
		damage(&c, "fill row: damaged");
		return LC_OK;
	}
	if (status == LC_OK) {
		status = check_filled(&c);
	} else if (status == LC_NOT_FOUND) {
		return_if_error(lc__txn_count(snapshot->txn, LC__INPUT, &rows));
		if (rows > 0)
			damage(&c, "fill row: missing");
		status = check_counts(&c);
	}
	free(c.turns);
	free(c.left);
	return status;
}
