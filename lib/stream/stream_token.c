/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens of a stream, and resuming from a token. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "stream/source.h"
#include "stream/stream.h"

/* ---- several sources as one ------------------------------------------------------- */

static lc_status
mix_sources(struct lc__layout *const *layouts, uint32_t n, struct lc__stream_token *out)
{
	struct lc__buf uuids = { 0 }, prefixes = { 0 };
	uint64_t hash[2];
	bool failed;

	for (uint32_t i = 0; i < n; i++) {
		const lc_source_info *info = lc__layout_info(layouts[i]);

		lc__buf_append(&uuids, info->uuid, sizeof(info->uuid));
		lc__buf_append64(&prefixes, info->generation);
		lc__buf_append64(&prefixes, info->prefix_hash);
	}
	failed = uuids.failed || prefixes.failed;
	if (!failed) {
		lc__hash128(uuids.data, uuids.size, hash);
		lc__set64(out->uuid, hash[0]);
		lc__set64(out->uuid + 8, hash[1]);
		out->prefix_hash = lc__hash64(prefixes.data, prefixes.size);
		out->generation = 0;
	}
	lc__buf_free(&uuids);
	lc__buf_free(&prefixes);
	return failed ? lc__no_memory("stream") : LC_OK;
}

/* ---- checking one ------------------------------------------------------------------- */

static lc_status
check_order(const lc_stream *stream, const struct lc__stream_token *token)
{
	const lc_stream_options *o = &stream->options;

	if (token->shares != o->shares)
		return lc__error(LC_OTHER_ORDER, 0,
		    "token: of %llu shares, the stream has %lu",
		    (unsigned long long)token->shares, (unsigned long)o->shares);
	if (token->shares > 0 && token->spread != o->spread)
		return lc__error(LC_OTHER_ORDER, 0,
		    "token: of shares in windows of %llu chunks, the stream's are of %llu",
		    (unsigned long long)token->spread, (unsigned long long)o->spread);
	if (token->order_hash != stream->order_hash)
		return lc__error(LC_OTHER_ORDER, 0,
		    "token: made for another order than this stream's");
	if (token->seed != stream->options.seed)
		return lc__error(LC_OTHER_ORDER, 0,
		    "token: made for seed %llu; the stream has %llu",
		    (unsigned long long)token->seed,
		    (unsigned long long)stream->options.seed);
	/* Its generation is what was needed so far: a stream that does not follow would
	 * end there. */
	if (token->following && !stream->options.follow)
		return lc__error(LC_OTHER_ORDER, 0,
		    "token: made by a stream that follows its source; this one does not");
	return LC_OK;
}

/* The token of a mixture does not have the generations of its sources. */
static lc_status
check_mixture(const lc_stream *stream, const struct lc__stream_token *token,
    struct lc__layout *const *layouts)
{
	struct lc__stream_token now;

	return_if_error(mix_sources(layouts, stream->n, &now));
	if (memcmp(token->uuid, now.uuid, sizeof(now.uuid)) != 0)
		return stream->series ? lc__error(LC_OTHER_CACHE, 0, "token: not of %s",
					    lc__source_name(stream->sources[0]))
				      : lc__error(LC_OTHER_CACHE, 0,
					    "token: of other sources than "
					    "this mixture's");
	return_if_error(check_order(stream, token));
	if (token->prefix_hash == now.prefix_hash)
		return LC_OK;
	return lc__error(LC_CHANGED, 0,
	    "token: the sources of the mixture are not "
	    "what they were; those that grew can be opened at the generation that "
	    "they had");
}

/* A token of a stream that did not follow, for one that does. For the first, the end of
 * the source was final: from its last short window and last era on, its examples differ
 * from those of a stream that follows. */
static lc_status
check_settled(const lc_stream *stream, const struct lc__stream_token *token,
    struct lc__layout *then)
{
	const char *name = lc__source_name(stream->sources[0]);
	struct lc__sequence *sequence;
	uint64_t known;

	if (token->example == 0 || lc__layout_info(then)->final)
		return LC_OK;
	return_if_error(
	    lc__sequence_new(&stream->rule.sequence, then, false, name, &sequence));
	known = sequence->known;
	lc__sequence_free(sequence);
	if (token->example <= known)
		return LC_OK;
	return lc__error(LC_OTHER_ORDER, 0,
	    "token: made by a stream that did not follow "
	    "%s: of its %llu examples the first %llu are the same",
	    name, (unsigned long long)token->example, (unsigned long long)known);
}

/* A stream that does not follow gets the layout for which the token was made. */
static lc_status
check_one(const lc_stream *stream, const struct lc__stream_token *token,
    struct lc__layout **layout)
{
	lc_source *source = stream->sources[0];
	struct lc__layout *then = NULL;
	lc_status status;

	if (memcmp(token->uuid, lc__layout_info(*layout)->uuid, sizeof(token->uuid)) != 0)
		return lc__error(LC_OTHER_CACHE, 0, "token: not of %s",
		    lc__source_name(source));
	return_if_error(check_order(stream, token));
	return_if_error(lc__source_layout_at(source, token->generation, &then));
	if (lc__layout_info(then)->prefix_hash != token->prefix_hash)
		status = lc__error(LC_CHANGED, 0,
		    "token: what was read of %s has changed since",
		    lc__source_name(source));
	else
		status = stream->options.follow ? check_settled(stream, token, then)
						: LC_OK;
	if (!stream->options.follow) {
		lc__layout_drop(*layout);
		*layout = then;
	} else {
		lc__layout_drop(then);
	}
	return status;
}

lc_status
lc__stream_layouts(const lc_stream *stream, const struct lc__stream_token *token,
    struct lc__layout **layouts)
{
	for (uint32_t i = 0; i < stream->n; i++) {
		struct lc__layout *all = lc__source_layout(stream->sources[i]);
		lc_status status;

		if (!stream->series) {
			layouts[i] = all;
			continue;
		}
		status = lc__layout_of_series(all, i, &stream->first_chunk[i],
		    &layouts[i]);
		lc__layout_drop(all);
		return_if_error(status);
	}
	if (token == NULL)
		return LC_OK;
	if (stream->n > 1)
		return check_mixture(stream, token, layouts);
	return check_one(stream, token, &layouts[0]);
}

/* The last batch may be short: a token at the end need not be a multiple of the batch
 * size. */
lc_status
lc__stream_resume(lc_stream *stream, const struct lc__stream_token *token)
{
	const uint64_t batch = stream->options.batch;
	const struct lc__stream_state *state = stream->state;
	const bool at_end = state->complete && token->example >= state->known;

	if (token->example % batch != 0 && !at_end)
		return lc__error(LC_INVALID, 0,
		    "token: no batch of %llu examples begins with example %llu",
		    (unsigned long long)batch, (unsigned long long)token->example);
	stream->first_batch = token->example / batch + (token->example % batch != 0);
	return LC_OK;
}

/* ---- making one ----------------------------------------------------------------------- */

/* The epoch of an example, of its own source. */
static lc_status
epoch_of(const struct lc__stream_state *state, uint64_t example, uint64_t *out)
{
	struct lc__sequence_position position;
	struct lc__sequence_cursor cursor;
	uint32_t source;
	uint64_t index;

	lc__stream_state_find(state, example, &source, &index);
	if (state->sequences[source]->shares != NULL) {
		*out = index / state->sequences[source]->n;
		return LC_OK;
	}
	lc__sequence_cursor_init(&cursor, state->sequences[source]);
	return_if_error(lc__sequence_seek(&cursor, index, &position));
	*out = position.epoch;
	return LC_OK;
}

/* Two readers of a growing source may have read the same and know more or less of it. So
 * the token has the generation that was needed to read so far, and the epoch of the
 * previous example. */
static lc_status
fill_following(const struct lc__stream_state *state, struct lc__stream_token *token)
{
	const struct lc__sequence *s = state->sequences[0];
	const lc_source_info *info = lc__layout_info(s->layout);
	struct lc__chunk_row row;
	uint64_t chunks;

	return_if_error(lc__sequence_needs(s, token->example, &chunks));
	token->generation = 0;
	token->prefix_hash = 0;
	token->epoch = 0;
	token->following = 1;
	if (token->example == 0 || chunks == 0)
		return LC_OK;
	return_if_error(lc__layout_row(s->layout, chunks - 1, &row));
	/* Without inputs a generation is the id of the last chunk, and ids may have
	 * gaps. */
	token->generation = info->generation == info->chunks ? chunks : row.id;
	token->prefix_hash = row.prefix_hash;
	return epoch_of(state, token->example - 1, &token->epoch);
}

static lc_status
fill_mixture(const lc_stream *stream, const struct lc__stream_state *state,
    struct lc__stream_token *token)
{
	struct lc__layout **layouts = calloc(stream->n, sizeof(*layouts));
	lc_status status;

	if (layouts == NULL)
		return lc__no_memory("stream");
	for (uint32_t i = 0; i < stream->n; i++)
		layouts[i] = state->sequences[i]->layout;
	status = mix_sources(layouts, stream->n, token);
	free(layouts);
	return_if_error(status);
	return epoch_of(state, token->example, &token->epoch);
}

static lc_status
make_token(const lc_stream *stream, const struct lc__stream_state *state, uint64_t batch,
    void *out)
{
	const lc_source_info *info = lc__layout_info(state->sequences[0]->layout);
	const uint64_t size = stream->options.batch;
	struct lc__stream_token token = {
		.order_hash = stream->order_hash,
		.seed = stream->options.seed,
		.shares = stream->options.shares,
		.spread = stream->options.shares > 0 ? stream->options.spread : 0,
	};

	if (!lc__mul64(batch, size, &token.example) || token.example > state->known) {
		if (!state->complete)
			return lc__stream_lacks(stream, state, "batch", batch, false);
		token.example = state->known;
	}
	if (stream->n > 1) {
		return_if_error(fill_mixture(stream, state, &token));
	} else {
		memcpy(token.uuid, info->uuid, sizeof(token.uuid));
		if (stream->options.follow) {
			return_if_error(fill_following(state, &token));
		} else {
			return_if_error(epoch_of(state, token.example, &token.epoch));
			token.generation = info->generation;
			token.prefix_hash = info->prefix_hash;
		}
	}
	lc__stream_token_encode(&token, out);
	return LC_OK;
}

lc_status
lc_stream_token(lc_stream *stream, uint64_t batch, void *out)
{
	struct lc__stream_state *state = lc__stream_state_now(stream);
	const lc_status status = make_token(stream, state, batch, out);

	lc__stream_state_drop(state);
	return status;
}
