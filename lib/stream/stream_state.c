/* SPDX-License-Identifier: BSD-2-Clause */
/* What a stream can read now: a sequence for each source, and the batches from them. */
#include "stream/stream.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "order/shuffle.h"
#include "stream/source.h"

/* Each source of a mixture is shuffled with its own seed. */
static lc_status
make_sequences(const struct lc__stream_rule *rule, struct lc__layout *const *layouts,
    struct lc__stream_state *state)
{
	for (uint32_t i = 0; i < rule->n; i++) {
		const bool complete = !rule->follow || lc__layout_info(layouts[i])->final;
		struct lc__sequence_rule own = rule->sequence;
		const uint64_t words[] = { own.shuffle.seed, 0, LC__TAG_SOURCE, i };

		own.may_be_empty = own.may_be_empty || rule->series;
		if (rule->n > 1)
			own.shuffle.seed = lc__key(words, 4);
		return_if_error(lc__sequence_new(&own, layouts[i], complete,
		    lc__source_name(rule->sources[i]), &state->sequences[i]));
	}
	return LC_OK;
}

/* Images of several sizes: a batch has images of one size, and each size is shuffled
 * separately. Batches are numbered over all epochs. */
static lc_status
make_series(const struct lc__stream_rule *rule, struct lc__stream_state *state)
{
	const bool in_order = rule->sequence.shuffle.kind == LC_SHUFFLE_NONE;
	uint64_t numbers = UINT64_MAX, *examples = calloc(rule->n, sizeof(*examples));
	lc_status status;

	if (examples == NULL)
		return lc__no_memory("stream");
	for (uint32_t i = 0; i < rule->n; i++)
		examples[i] = state->sequences[i]->n;
	status = lc__series_new(examples, rule->n, rule->batch, in_order,
	    rule->sequence.shuffle.seed, &state->series);
	free(examples);
	if (status == LC_INVALID)
		lc__error_prefix("%s", lc__source_name(rule->sources[0]));
	return_if_error(status);
	if (rule->sequence.epochs > 0 &&
	    (!lc__mul64(lc__series_batches(state->series), rule->batch, &numbers) ||
		!lc__mul64(numbers, rule->sequence.epochs, &numbers)))
		return lc__error(LC_INVALID, 0,
		    "%s: %llu epochs have more examples than can be numbered",
		    lc__source_name(rule->sources[0]),
		    (unsigned long long)rule->sequence.epochs);
	state->batch = rule->batch;
	state->complete = true;
	if (rule->limit > 0 && rule->limit < numbers)
		numbers = rule->limit;
	state->total = state->known = numbers;
	return LC_OK;
}

/* Only a stream of one source ends. */
static void
count(const struct lc__stream_rule *rule, struct lc__stream_state *state)
{
	const struct lc__sequence *only = state->sequences[0];

	state->complete = only->complete;
	state->total = rule->n == 1 ? only->total : UINT64_MAX;
	state->known = rule->n == 1 ? only->known : UINT64_MAX;
	if (rule->limit == 0)
		return;
	if (state->known > rule->limit)
		state->known = rule->limit;
	if (state->known == rule->limit)
		state->complete = true;
	if (state->complete)
		state->total = state->known;
}

lc_status
lc__stream_state_new(const struct lc__stream_rule *rule,
    struct lc__layout *const *layouts, struct lc__stream_state **out)
{
	struct lc__stream_state *state = calloc(1,
	    sizeof(*state) + rule->n * sizeof(state->sequences[0]));
	lc_status status;

	if (state == NULL)
		return lc__no_memory("stream");
	atomic_init(&state->refs, 1);
	state->mixture = rule->mixture;
	state->n = rule->n;
	status = make_sequences(rule, layouts, state);
	if (status == LC_OK && rule->series)
		status = make_series(rule, state);
	else if (status == LC_OK)
		count(rule, state);
	if (status == LC_OK)
		*out = state;
	else
		lc__stream_state_drop(state);
	return status;
}

struct lc__stream_state *
lc__stream_state_hold(struct lc__stream_state *state)
{
	atomic_fetch_add_explicit(&state->refs, 1, memory_order_relaxed);
	return state;
}

void
lc__stream_state_drop(struct lc__stream_state *state)
{
	if (state == NULL ||
	    atomic_fetch_sub_explicit(&state->refs, 1, memory_order_acq_rel) != 1)
		return;
	lc__stream_state_put_back(state, NULL);
	for (uint32_t i = 0; i < state->n; i++)
		lc__sequence_free(state->sequences[i]);
	lc__series_free(state->series);
	free(state);
}

/* ---- the cursor that it keeps ------------------------------------------------------ */

lc_status
lc__stream_state_cursor(struct lc__stream_state *state, uint32_t source,
    struct lc__sequence_cursor **out)
{
	struct lc__sequence_cursor *cursor = atomic_exchange(&state->idle, NULL);

	if (cursor == NULL)
		cursor = calloc(1, sizeof(*cursor));
	if (cursor == NULL)
		return lc__no_memory("stream");
	if (cursor->sequence != state->sequences[source]) {
		lc__sequence_cursor_end(cursor);
		lc__sequence_cursor_init(cursor, state->sequences[source]);
	}
	*out = cursor;
	return LC_OK;
}

void
lc__stream_state_put_back(struct lc__stream_state *state,
    struct lc__sequence_cursor *cursor)
{
	cursor = atomic_exchange(&state->idle, cursor);
	if (cursor != NULL)
		lc__sequence_cursor_end(cursor);
	free(cursor);
}

/* ---- of a stream ----------------------------------------------------------------- */

struct lc__stream_state *
lc__stream_state_now(lc_stream *stream)
{
	struct lc__stream_state *state;

	pthread_mutex_lock(&stream->lock);
	state = lc__stream_state_hold(stream->state);
	pthread_mutex_unlock(&stream->lock);
	return state;
}

/* With replace_lock held: stream->state is read without its own lock, since no other
 * thread replaces it. A source that turns out to be empty ends the stream. */
static lc_status
follow_locked(lc_stream *stream, struct lc__layout *layout)
{
	const lc_source_info *now = lc__layout_info(layout),
			     *old = lc__layout_info(stream->state->sequences[0]->layout);
	struct lc__stream_rule rule = stream->rule;
	struct lc__stream_state *state, *before;

	if (stream->state->complete ||
	    (now->chunks == old->chunks && now->final == old->final))
		return LC_OK;
	rule.sequence.may_be_empty = true;
	return_if_error(lc__stream_state_new(&rule, &layout, &state));
	pthread_mutex_lock(&stream->lock);
	before = stream->state;
	stream->state = state;
	pthread_mutex_unlock(&stream->lock);
	lc__stream_state_drop(before);
	return LC_OK;
}

lc_status
lc__stream_follow(lc_stream *stream)
{
	struct lc__layout *layout;
	lc_status status;

	if (!stream->options.follow)
		return LC_OK;
	pthread_mutex_lock(&stream->replace_lock);
	layout = lc__source_layout(stream->sources[0]);
	status = follow_locked(stream, layout);
	lc__layout_drop(layout);
	pthread_mutex_unlock(&stream->replace_lock);
	return status;
}

/* ---- batches --------------------------------------------------------------------- */

lc_status
lc__stream_lacks(const lc_stream *stream, const struct lc__stream_state *state,
    const char *what, uint64_t number, bool never)
{
	if (never && !state->complete && stream->rule.limit > 0)
		return lc__error(LC_END, 0,
		    "stream: no %s %llu; it is limited to %llu examples", what,
		    (unsigned long long)number, (unsigned long long)stream->rule.limit);
	if (never || state->complete)
		return lc__error(LC_END, 0, "stream: no %s %llu; it has %llu examples",
		    what, (unsigned long long)number,
		    (unsigned long long)lc__stream_state_examples(state, state->known));
	return lc__error(LC_TIMEOUT, 0,
	    "stream: %s %llu is not available yet; %llu examples are", what,
	    (unsigned long long)number, (unsigned long long)state->known);
}

lc_status
lc__stream_batch(const lc_stream *stream, const struct lc__stream_state *state,
    uint64_t batch, uint64_t *first, uint64_t *end)
{
	const uint64_t size = stream->options.batch, limit = stream->rule.limit;

	if (batch >= UINT64_MAX / size || (limit > 0 && batch * size >= limit))
		return LC_END;
	*first = batch * size;
	*end = *first + size;
	if (limit > 0 && *end > limit)
		*end = limit;
	if (state->series != NULL && *first < state->known) {
		uint64_t at, n;
		uint32_t which;

		lc__series_at(state->series, batch, &which, &at, &n);
		if (*end > *first + n)
			*end = *first + n;
	}
	if (*end <= state->known)
		return LC_OK;
	if (!state->complete)
		return LC_TIMEOUT;
	if (*first >= state->known)
		return LC_END;
	*end = state->known;
	return LC_OK;
}
