/* SPDX-License-Identifier: BSD-2-Clause */
/* The public functions of streams: options, opening, sizes, waiting, and the positions of
 * examples. */
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/words.h"
#include "order/shuffle.h"
#include "stream/source.h"

/* ---- words ---------------------------------------------------------------------- */

static const char *const shuffles[] = {
	[LC_SHUFFLE_NONE] = "none",
	[LC_SHUFFLE_FULL] = "full",
	[LC_SHUFFLE_BLOCK] = "block",
	[LC_SHUFFLE_ERA] = "era",
	NULL,
};

const char *
lc_shuffle_name(lc_shuffle shuffle)
{
	return lc__word(shuffles, (unsigned)shuffle);
}

lc_status
lc_shuffle_parse(const char *name, lc_shuffle *out)
{
	unsigned i;

	return_if_error(lc__word_parse("shuffle", shuffles, name, &i));
	*out = (lc_shuffle)i;
	return LC_OK;
}

/* ---- options ------------------------------------------------------------------ */

void
lc_stream_options_init(lc_stream_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->block = 256;
	options->spread = 16;
	options->era_first = 65536;
	options->era_max = 1048576;
	options->epochs = 1;
	options->mixture_block = 1024;
	options->batch = 256;
}

static lc_status
contradiction(const char *what)
{
	return lc__error(LC_INVALID, 0, "stream: %s", what);
}

static lc_status
check_shuffle(const lc_stream_options *o)
{
	uint64_t product;

	if (lc_shuffle_name(o->shuffle) == NULL)
		return lc__error(LC_INVALID, 0, "stream: no shuffle %d", (int)o->shuffle);
	if (o->shuffle != LC_SHUFFLE_BLOCK && o->shuffle != LC_SHUFFLE_ERA)
		return LC_OK;
	if (o->block == 0 || o->spread == 0)
		return contradiction("block and spread are at least 1");
	if (o->shares > 0) /* a block is a chunk */
		return LC_OK;
	if (!lc__mul64(o->block, o->spread, &product) || product > INT64_MAX)
		return contradiction("block times spread is above 2^63 - 1");
	if (o->shuffle == LC_SHUFFLE_ERA &&
	    (o->era_first == 0 || o->era_first > o->era_max))
		return contradiction("the first era has at least one example and no "
				     "more than the largest");
	if (o->shuffle == LC_SHUFFLE_ERA && o->era_max > INT64_MAX)
		return contradiction("the largest era is above 2^63 - 1");
	return LC_OK;
}

static lc_status
check_shares(const lc_stream_options *o, size_t sources)
{
	if (o->shares == 0)
		return LC_OK;
	if (o->shares > LC__MOST_SHARES)
		return contradiction("at most 65536 shares");
	if (o->shuffle != LC_SHUFFLE_BLOCK)
		return contradiction("shares need the shuffle in blocks");
	if (sources > 1)
		return contradiction("shares need a single source, not a mixture");
	if (o->batch % o->shares != 0)
		return lc__error(LC_INVALID, 0,
		    "stream: a batch of %llu examples is not a multiple of %lu shares",
		    (unsigned long long)o->batch, (unsigned long)o->shares);
	return LC_OK;
}

static lc_status
check_mixture(const lc_stream_options *o, size_t sources)
{
	for (size_t i = 0; o->weights != NULL && i < sources; i++)
		if (o->weights[i] == 0 || o->weights[i] > LC__MOST_WEIGHT)
			return lc__error(LC_INVALID, 0,
			    "stream: weight %zu is not 1 to 4294967296", i);
	if (sources == 1)
		return LC_OK;
	if (o->epochs != 0)
		return contradiction("a mixture runs for ever: epochs is 0");
	if (o->follow)
		return contradiction("a mixture does not follow its sources");
	if (o->mixture_block < sources)
		return contradiction("a block of the mixture has fewer examples than "
				     "there are sources");
	return LC_OK;
}

/* Check options for this many sources, and fill in the defaults. */
static lc_status
take_options(const lc_stream_options *given, size_t sources, lc_stream_options *out)
{
	lc_stream_options o;

	lc_stream_options_init(&o);
	if (given != NULL)
		o = *given;
	if (o.struct_size != sizeof(o))
		return contradiction("options were not made by lc_stream_options_init()");
	if (sources == 0 || sources > UINT32_MAX)
		return contradiction("no sources");
	if (o.batch == 0 || o.batch > UINT32_MAX)
		return contradiction("a batch has 1 to 4294967295 examples");

	if (o.window > UINT32_MAX)
		return contradiction("a window has at most 4294967295 units");
	if (o.window == 0 && o.stride != 0)
		return contradiction("a stride without a window");
	if (o.window == 0 && o.drop_short)
		return contradiction("no short window to drop without a window");
	if (o.stride > INT64_MAX)
		return contradiction("the stride is above 2^63 - 1");

	return_if_error(check_shuffle(&o));
	if (o.idealised > LC__MOST_IDEALISED)
		return contradiction("at most 65536 idealised readers");
	if (o.idealised > 0 && o.shuffle != LC_SHUFFLE_NONE)
		return contradiction("idealised readers do not shuffle");
	if (o.idealised > 0 && o.epochs != 0)
		return contradiction("idealised readers run for ever: epochs is 0");

	return_if_error(check_shares(&o, sources));
	return_if_error(check_mixture(&o, sources));
	if (o.follow && (o.shuffle == LC_SHUFFLE_FULL || o.shuffle == LC_SHUFFLE_BLOCK))
		return contradiction("a shuffle that needs to know the end does not "
				     "follow: shuffle in eras");
	if (o.stride == 0)
		o.stride = o.window;
	*out = o;
	return LC_OK;
}

/* ---- opening ------------------------------------------------------------------- */

static lc_status
take_sources(lc_stream *stream, lc_source *const *sources, size_t n)
{
	stream->sources = calloc(n, sizeof(sources[0]));
	stream->weights = calloc(n, sizeof(stream->weights[0]));
	if (stream->sources == NULL || stream->weights == NULL)
		return lc__no_memory("stream");
	stream->n = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		if (sources[i] == NULL)
			return lc__error(LC_INVALID, 0, "stream: source %zu is NULL", i);
		stream->sources[i] = lc__source_hold(sources[i]);
		stream->weights[i] = stream->options.weights != NULL
		    ? stream->options.weights[i]
		    : 1;
	}
	stream->options.weights = stream->weights;
	return LC_OK;
}

/* A source with images of several sizes counts as one source for each size: no batch has
 * images of two sizes. */
static lc_status
choose_sources(lc_stream *stream, lc_source *const *sources, size_t n)
{
	lc_stream_options *o = &stream->options;
	lc_source *mixed = NULL;
	uint32_t series = 1;

	for (size_t i = 0; i < n && series == 1 && sources[i] != NULL; i++) {
		struct lc__layout *layout = lc__source_layout(sources[i]);

		series = lc__layout_series(layout);
		mixed = sources[i];
		lc__layout_drop(layout);
	}
	if (series == 1)
		return take_sources(stream, sources, n);
	if (n > 1 || o->window > 0 || o->idealised > 0 || o->shares > 0)
		return lc__error(LC_INVALID, 0,
		    "%s: has images of %u sizes, and a "
		    "batch is of one size: no %s; open the directory of one size",
		    lc__source_name(mixed), series,
		    n > 1               ? "mixtures"
			: o->window > 0 ? "windows"
			: o->shares > 0 ? "shares"
					: "idealised readers");
	stream->series = true;
	stream->sources = calloc(series, sizeof(lc_source *));
	stream->weights = calloc(series, sizeof(stream->weights[0]));
	stream->first_chunk = calloc(series, sizeof(stream->first_chunk[0]));
	if (stream->sources == NULL || stream->weights == NULL ||
	    stream->first_chunk == NULL)
		return lc__no_memory("stream");
	for (uint32_t i = 0; i < series; i++) {
		stream->sources[i] = lc__source_hold(mixed);
		stream->weights[i] = 1;
	}
	stream->n = series;
	o->weights = stream->weights;
	o->follow = 0; /* shards are final */
	return LC_OK;
}

static lc_status
make_rule(lc_stream *stream)
{
	const lc_stream_options *o = &stream->options;

	if (stream->n > 1 && !stream->series)
		return_if_error(lc__mixture_new(o->weights, stream->n, o->mixture_block,
		    o->seed, &stream->mixture));
	stream->rule = (struct lc__stream_rule){
		.sequence = {
			.windows = { .size = o->window, .stride = o->stride },
			.drop_short = o->drop_short != 0,
			.idealised = o->idealised,
			.shares = o->shares,
			.shuffle = { o->shuffle, o->block, o->spread, o->era_first,
			    o->era_max, o->seed },
			.epochs = o->epochs,
		},
		.mixture = stream->mixture,
		.limit = o->limit,
		.follow = o->follow != 0,
		.series = stream->series,
		.batch = o->batch,
		.sources = stream->sources,
		.n = stream->n,
	};
	return LC_OK;
}

/* The hash of everything that determines the order, in the words and the sequence that
 * lmdbcache_stream(3) lists; it is in each token. Options without an effect count as
 * 0. */
static lc_status
hash_order(lc_stream *stream)
{
	const lc_stream_options *o = &stream->options;
	const bool eras = o->shuffle == LC_SHUFFLE_ERA;
	const bool blocks = eras || o->shuffle == LC_SHUFFLE_BLOCK;
	const bool mixture = stream->n > 1;
	struct lc__buf buf = { 0 };
	bool failed;

	lc__buf_append64(&buf, o->window);
	lc__buf_append64(&buf, o->stride);
	lc__buf_append64(&buf, o->drop_short && o->idealised == 0);
	lc__buf_append64(&buf, o->idealised);
	lc__buf_append64(&buf, o->shuffle);
	lc__buf_append64(&buf, blocks && o->shares == 0 ? o->block : 0);
	lc__buf_append64(&buf, blocks ? o->spread : 0);
	lc__buf_append64(&buf, eras ? o->era_first : 0);
	lc__buf_append64(&buf, eras ? o->era_max : 0);
	lc__buf_append64(&buf, stream->n);
	lc__buf_append64(&buf, mixture ? o->mixture_block : 0);
	for (uint32_t i = 0; i < stream->n; i++) {
		const char *field = o->window == 0
		    ? ""
		    : lc__source_length_field(stream->sources[i]);

		lc__buf_append64(&buf, mixture ? o->weights[i] : 1);
		lc__buf_append64(&buf, strlen(field));
		lc__buf_append(&buf, field, strlen(field));
	}
	if (o->shares > 0)
		lc__buf_append64(&buf, o->shares);
	failed = buf.failed;
	if (!failed)
		stream->order_hash = lc__hash64(buf.data, buf.size);
	lc__buf_free(&buf);
	if (failed)
		return lc__no_memory("stream");
	/* With series, the batch size decides which examples are batched together. */
	if (stream->series) {
		const uint64_t words[] = { stream->order_hash, o->batch };

		stream->order_hash = lc__key(words, 2);
	}
	return LC_OK;
}

static lc_status
make_state(lc_stream *stream, const struct lc__stream_token *token)
{
	struct lc__layout **layouts = calloc(stream->n, sizeof(*layouts));
	lc_status status;

	if (layouts == NULL)
		return lc__no_memory("stream");
	status = lc__stream_layouts(stream, token, layouts);
	/* A window counts the same units in all sources. */
	for (uint32_t i = 1;
	     status == LC_OK && stream->options.window > 0 && i < stream->n; i++)
		if (lc__layout_info(layouts[i])->has_lengths !=
		    lc__layout_info(layouts[0])->has_lengths)
			status = lc__error(LC_INVALID, 0,
			    "stream: of %s and %s only one has a length field",
			    lc__source_name(stream->sources[0]),
			    lc__source_name(stream->sources[i]));
	if (status == LC_OK)
		status = lc__stream_state_new(&stream->rule, layouts, &stream->state);
	for (uint32_t i = 0; i < stream->n; i++)
		lc__layout_drop(layouts[i]);
	free(layouts);
	return status;
}

static lc_status
make(lc_stream *stream, lc_source *const *sources, size_t n, const void *token_bytes)
{
	struct lc__stream_token token;

	if (token_bytes != NULL)
		return_if_error(lc__stream_token_decode(token_bytes, &token));
	return_if_error(choose_sources(stream, sources, n));
	return_if_error(make_rule(stream));
	return_if_error(hash_order(stream));
	return_if_error(make_state(stream, token_bytes != NULL ? &token : NULL));
	return token_bytes != NULL ? lc__stream_resume(stream, &token) : LC_OK;
}

lc_status
lc_stream_open(lc_source *const *sources, size_t n, const lc_stream_options *options,
    lc_stream **out)
{
	lc_stream_options taken;
	lc_stream *stream;
	lc_status status;

	return_if_error(take_options(options, n, &taken));
	stream = calloc(1, sizeof(*stream));
	if (stream == NULL)
		return lc__no_memory("stream");
	pthread_mutex_init(&stream->replace_lock, NULL);
	pthread_mutex_init(&stream->lock, NULL);
	atomic_init(&stream->refs, 1);
	stream->options = taken;
	stream->options.token = NULL;
	status = make(stream, sources, n, taken.token);
	if (status == LC_OK)
		*out = stream;
	else
		lc_stream_close(stream);
	return status;
}

lc_stream *
lc__stream_hold(lc_stream *stream)
{
	atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
	return stream;
}

void
lc_stream_close(lc_stream *stream)
{
	if (stream == NULL ||
	    atomic_fetch_sub_explicit(&stream->refs, 1, memory_order_acq_rel) > 1)
		return;
	lc__stream_state_drop(stream->state);
	lc__mixture_free(stream->mixture);
	pthread_mutex_destroy(&stream->lock);
	pthread_mutex_destroy(&stream->replace_lock);
	free(stream->first_chunk);
	free(stream->weights);
	for (uint32_t i = 0; i < stream->n && stream->sources != NULL; i++)
		lc_source_close(stream->sources[i]);
	free(stream->sources);
	free(stream);
}

/* ---- sizes --------------------------------------------------------------------- */

lc_status
lc_stream_info_get(const lc_stream *stream, lc_stream_info *out)
{
	const uint64_t batch = stream->options.batch;
	struct lc__stream_state *state;
	const struct lc__sequence *first;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0,
		    "stream: struct_size of the info is not set");
	/* A const stream may be locked: that does not change its value. */
	state = lc__stream_state_now((lc_stream *)stream);
	first = state->sequences[0];
	out->batches = out->examples = UINT64_MAX;
	if (state->complete) {
		out->examples = lc__stream_state_examples(state, state->total);
		if (state->total != UINT64_MAX)
			out->batches = state->total / batch + (state->total % batch != 0);
	}
	out->epoch_examples = stream->series    ? lc__series_examples(state->series)
	    : stream->n == 1 && first->complete ? first->n
						: 0;
	out->known = state->complete ? out->examples : state->known;
	out->first_batch = stream->first_batch;
	out->batch = stream->options.batch;
	out->order_hash = stream->order_hash;
	lc__stream_state_drop(state);
	return LC_OK;
}

/* ---- waiting -------------------------------------------------------------------------- */

static lc_status
lacks_example(const lc_stream *stream, const struct lc__stream_state *state,
    uint64_t example)
{
	const uint64_t limit = stream->rule.limit;

	return lc__stream_lacks(stream, state, "example", example,
	    limit > 0 && example >= limit);
}

/* Are so many examples known? If not, LC_TIMEOUT or LC_END with its error. Also returns
 * how many records the source has in the state. */
static lc_status
has_examples(lc_stream *stream, uint64_t examples, uint64_t *records)
{
	struct lc__stream_state *state = lc__stream_state_now(stream);
	lc_status status = LC_OK;

	if (examples > state->known)
		status = lacks_example(stream, state, examples - 1);
	*records = lc__layout_info(state->sequences[0]->layout)->records;
	lc__stream_state_drop(state);
	return status;
}

/* A final source ends the wait, whatever it has. */
lc_status
lc_stream_wait(lc_stream *stream, uint64_t examples, uint64_t timeout_ms)
{
	const uint64_t deadline = lc__clock_deadline(timeout_ms);
	uint64_t records;
	lc_status status, waited;

	for (;;) {
		const uint64_t now = lc__clock_ns();
		uint64_t ms = 0; /* until the deadline */

		status = has_examples(stream, examples, &records);
		if (status != LC_TIMEOUT)
			return status;
		if (deadline == UINT64_MAX)
			ms = UINT64_MAX;
		else if (now < deadline)
			ms = (deadline - now + 999999) / 1000000;
		waited = lc_source_wait(stream->sources[0], records + 1, ms);
		if (waited != LC_OK && waited != LC_END && waited != LC_TIMEOUT)
			return waited;
		return_if_error(lc__stream_follow(stream));
		if (waited != LC_OK)
			return has_examples(stream, examples, &records);
	}
}

/* ---- where an example is ---------------------------------------------------------- */

static lc_status
list_pieces(struct lc__sequence_cursor *cursor, struct lc__sequence_position position,
    uint32_t source, uint64_t before, lc_piece *pieces, size_t room, size_t *n)
{
	struct lc__piece piece;

	for (*n = 0; position.left > 0; ++*n) {
		return_if_error(lc__sequence_next(cursor, &position, &piece));
		if (*n < room)
			pieces[*n] = (lc_piece){ source, piece.epoch,
				before + piece.position, piece.chunk_id, piece.first,
				piece.units };
	}
	return LC_OK;
}

/* With series, a number after the end of a short batch is not an example. */
static bool
has_example(const lc_stream *stream, const struct lc__stream_state *state,
    uint64_t example)
{
	const uint64_t batch = example / stream->options.batch;
	uint64_t first, end;

	if (example >= state->known || state->series == NULL)
		return example < state->known;
	return lc__stream_batch(stream, state, batch, &first, &end) == LC_OK &&
	    example < end;
}

static lc_status
locate_index(const lc_stream *stream, struct lc__sequence_cursor *cursor, uint32_t source,
    uint64_t index, lc_piece *pieces, size_t room, size_t *n)
{
	struct lc__sequence_position position;
	uint64_t before = 0;

	return_if_error(lc__sequence_seek(cursor, index, &position));
	/* For the caller all sizes of image are one source. */
	if (stream->series) {
		before = stream->first_chunk[source];
		source = 0;
	}
	return_if_error(list_pieces(cursor, position, source, before, NULL, 0, n));
	if (*n > room)
		return LC_OK;
	return list_pieces(cursor, position, source, before, pieces, room, n);
}

static lc_status
locate(const lc_stream *stream, struct lc__stream_state *state, uint64_t example,
    lc_piece *pieces, size_t room, size_t *n)
{
	struct lc__sequence_cursor *cursor;
	uint64_t index;
	uint32_t source;
	lc_status status;

	lc__stream_state_find(state, example, &source, &index);
	return_if_error(lc__stream_state_cursor(state, source, &cursor));
	status = locate_index(stream, cursor, source, index, pieces, room, n);
	lc__stream_state_put_back(state, cursor);
	if (status == LC_OK && *n > room)
		status = lc__error(LC_INVALID, 0,
		    "stream: example %llu has %zu parts, there is room for %zu",
		    (unsigned long long)example, *n, room);
	return status;
}

lc_status
lc_stream_locate(lc_stream *stream, uint64_t example, lc_piece *pieces, size_t room,
    size_t *n)
{
	struct lc__stream_state *state = lc__stream_state_now(stream);
	const lc_status status = has_example(stream, state, example)
	    ? locate(stream, state, example, pieces, room, n)
	    : lacks_example(stream, state, example);

	lc__stream_state_drop(state);
	return status;
}

/* ---- which chunks a reader has ---------------------------------------------------- */

lc_status
lc__stream_check_readers(const lc_stream *stream, uint32_t reader, uint32_t readers)
{
	const uint32_t shares = stream->options.shares;

	if (reader >= readers)
		return lc__error(LC_INVALID, 0, "reader: there is no reader %u of %u",
		    reader, readers);
	if (shares % readers != 0)
		return lc__error(LC_INVALID, 0,
		    "reader: %u shares are not a multiple of %u readers", shares,
		    readers);
	return LC_OK;
}

lc_status
lc_stream_share_chunks(lc_stream *stream, uint32_t reader, uint32_t readers,
    uint64_t *chunks, size_t room, size_t *n)
{
	struct lc__stream_state *state;
	uint64_t *list = NULL, found = 0;
	lc_status status;

	if (stream->options.shares == 0)
		return contradiction("it has no shares");
	return_if_error(lc__stream_check_readers(stream, reader, readers));
	state = lc__stream_state_now(stream);
	status = lc__shares_chunks(state->sequences[0]->shares, reader, readers, &list,
	    &found);
	lc__stream_state_drop(state);
	return_if_error(status);
	*n = found;
	if (found <= room)
		memcpy(chunks, list, found * sizeof(*chunks));
	else
		status = lc__error(LC_INVALID, 0,
		    "stream: reader %u of %u has %llu chunks, there is room for %zu",
		    reader, readers, (unsigned long long)found, room);
	free(list);
	return status;
}
