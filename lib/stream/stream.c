/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "order/mix.h"
#include "stream/source.h"

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
check_windows(const lc_stream_options *o)
{
	if (o->window > UINT32_MAX)
		return contradiction("a window has at most 4294967295 units");
	if (o->window == 0 && o->stride != 0)
		return contradiction("a stride without a window");
	if (o->window == 0 && o->drop_short)
		return contradiction("no short window to drop without a window");
	if (o->stride > INT64_MAX)
		return contradiction("the stride is above 2^63 - 1");
	return LC_OK;
}

static lc_status
check_shuffle(const lc_stream_options *o)
{
	uint64_t product;

	if (lc_shuffle_name(o->shuffle) == NULL)
		return lc__error(LC_INVALID, 0, "stream: no shuffle %d",
		    (int)o->shuffle);
	if (o->shuffle != LC_SHUFFLE_BLOCK && o->shuffle != LC_SHUFFLE_ERA)
		return LC_OK;
	if (o->block == 0 || o->spread == 0)
		return contradiction("block and spread are at least 1");
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
check_idealised(const lc_stream_options *o)
{
	if (o->idealised == 0)
		return LC_OK;
	if (o->idealised > LC__MOST_IDEALISED)
		return contradiction("at most 65536 idealised readers");
	if (o->shuffle != LC_SHUFFLE_NONE)
		return contradiction("idealised readers do not shuffle");
	if (o->epochs != 0)
		return contradiction("idealised readers run for ever: epochs is 0");
	return LC_OK;
}

static lc_status
check_mixture(const lc_stream_options *o, size_t sources)
{
	for (size_t i = 0; o->weights != NULL && i < sources; i++)
		if (o->weights[i] == 0 || o->weights[i] > LC__MOST_WEIGHT)
			return lc__error(LC_INVALID, 0, "stream: weight %zu is not "
			    "1 to 4294967296", i);
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

static lc_status
check(const lc_stream_options *o, size_t sources)
{
	if (o->struct_size != sizeof(*o))
		return contradiction("options were not made by "
		    "lc_stream_options_init()");
	if (sources == 0 || sources > UINT32_MAX)
		return contradiction("no sources");
	if (o->batch == 0 || o->batch > UINT32_MAX)
		return contradiction("a batch has 1 to 4294967295 examples");
	return_if_error(check_windows(o));
	return_if_error(check_shuffle(o));
	return_if_error(check_idealised(o));
	return_if_error(check_mixture(o, sources));
	if (o->follow && (o->shuffle == LC_SHUFFLE_FULL ||
	    o->shuffle == LC_SHUFFLE_BLOCK))
		return contradiction("a shuffle that needs to know the end does not "
		    "follow: shuffle in eras");
	return LC_OK;
}

lc_status
lc__stream_options_take(const lc_stream_options *given, size_t sources,
    lc_stream_options *out)
{
	lc_stream_options o;

	lc_stream_options_init(&o);
	if (given != NULL)
		o = *given;
	return_if_error(check(&o, sources));
	if (o.stride == 0)
		o.stride = o.window;
	*out = o;
	return LC_OK;
}

/* ---- what the order depends on ----------------------------------------------- */

static void
add_shuffle(struct lc__buf *buf, const lc_stream_options *o)
{
	const int blocks = o->shuffle == LC_SHUFFLE_BLOCK ||
	    o->shuffle == LC_SHUFFLE_ERA;
	const int eras = o->shuffle == LC_SHUFFLE_ERA;

	lc__buf_append64(buf, o->shuffle);
	lc__buf_append64(buf, blocks ? o->block : 0);
	lc__buf_append64(buf, blocks ? o->spread : 0);
	lc__buf_append64(buf, eras ? o->era_first : 0);
	lc__buf_append64(buf, eras ? o->era_max : 0);
}

/* One source alone has no weight. */
static void
add_sources(struct lc__buf *buf, const lc_stream_options *o, size_t sources,
    const char *const *length_fields)
{
	lc__buf_append64(buf, sources);
	lc__buf_append64(buf, sources > 1 ? o->mixture_block : 0);
	for (size_t i = 0; i < sources; i++) {
		const char *field = o->window > 0 ? length_fields[i] : "";

		lc__buf_append64(buf, sources > 1 && o->weights != NULL ?
		    o->weights[i] : 1);
		lc__buf_append64(buf, strlen(field));
		lc__buf_append(buf, field, strlen(field));
	}
}

lc_status
lc__stream_order_hash(const lc_stream_options *o, size_t sources,
    const char *const *length_fields, uint64_t *out)
{
	struct lc__buf buf = { 0 };
	bool failed;

	lc__buf_append64(&buf, o->window);
	lc__buf_append64(&buf, o->stride);
	lc__buf_append64(&buf, o->drop_short && o->idealised == 0);
	lc__buf_append64(&buf, o->idealised);
	add_shuffle(&buf, o);
	add_sources(&buf, o, sources, length_fields);
	failed = buf.failed;
	if (!failed)
		*out = lc__hash64(buf.data, buf.size);
	lc__buf_free(&buf);
	return failed ? lc__no_memory("stream") :
	    LC_OK;
}

/* ---- making it ----------------------------------------------------------------- */

static lc_status
take_sources(lc_stream *stream, lc_source *const *sources, size_t n)
{
	stream->sources = calloc(n, sizeof(sources[0]));
	stream->weights = calloc(n, sizeof(stream->weights[0]));
	if (stream->sources == NULL || stream->weights == NULL)
		return lc__no_memory("stream");
	for (size_t i = 0; i < n; i++) {
		if (sources[i] == NULL)
			return lc__error(LC_INVALID, 0, "stream: source %zu is none",
			    i);
		stream->sources[i] = sources[i];
		stream->weights[i] = stream->options.weights != NULL ?
		    stream->options.weights[i] : 1;
	}
	stream->n = (uint32_t)n;
	stream->options.weights = stream->weights;
	return LC_OK;
}

/* A source with images of several sizes: one of each size, of which batches are made
 * apart. */
static lc_status
take_series(lc_stream *stream, lc_source *const *sources, size_t n)
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
	if (n > 1 || o->window > 0 || o->idealised > 0)
		return lc__error(LC_INVALID, 0, "%s: has images of %u sizes, and a "
		    "batch is of one size: no %s; open the directory of one size",
		    lc__source_name(mixed), series, n > 1 ? "mixtures" :
		    o->window > 0 ? "windows" : "idealised readers");
	stream->series = true;
	stream->sources = calloc(series, sizeof(lc_source *));
	stream->weights = calloc(series, sizeof(stream->weights[0]));
	stream->first_chunk = calloc(series, sizeof(stream->first_chunk[0]));
	if (stream->sources == NULL || stream->weights == NULL ||
	    stream->first_chunk == NULL)
		return lc__no_memory("stream");
	for (uint32_t i = 0; i < series; i++) {
		stream->sources[i] = mixed;
		stream->weights[i] = 1;
	}
	stream->n = series;
	o->weights = stream->weights;
	o->follow = 0; /* shards are final */
	return LC_OK;
}

static lc_status
make_mixture(lc_stream *stream)
{
	const lc_stream_options *o = &stream->options;

	if (stream->n == 1 || stream->series)
		return LC_OK;
	return lc__mixture_new(o->weights, stream->n, o->mixture_block, o->seed,
	    &stream->mixture);
}

static void
make_rule(lc_stream *stream)
{
	const lc_stream_options *o = &stream->options;
	const struct lc__standing_rule rule = {
		.sequence = {
			.windows = { .size = o->window, .stride = o->stride },
			.drop_short = o->drop_short != 0,
			.idealised = o->idealised,
			.shuffle = { o->shuffle, o->block, o->spread, o->era_first,
			    o->era_max, o->seed },
			.epochs = o->epochs
		},
		.mixture = stream->mixture,
		.limit = o->limit,
		.follow = o->follow != 0,
		.series = stream->series,
		.batch = o->batch,
		.sources = stream->sources,
		.n = stream->n
	};

	stream->rule = rule;
}

static lc_status
hash_order(lc_stream *stream)
{
	const char **fields = calloc(stream->n, sizeof(*fields));
	lc_status status;

	if (fields == NULL)
		return lc__no_memory("stream");
	for (uint32_t i = 0; i < stream->n; i++)
		fields[i] = lc__source_length_field(stream->sources[i]);
	status = lc__stream_order_hash(&stream->options, stream->n, fields,
	    &stream->order_hash);
	free(fields);
	/* Which examples are in a batch together depends on how many are. */
	if (status == LC_OK && stream->series) {
		const uint64_t words[] = { stream->order_hash,
			stream->options.batch };

		stream->order_hash = lc__key(words, 2);
	}
	return status;
}

/* Windows count in the same units everywhere. */
static lc_status
check_units(const lc_stream *stream, struct lc__layout *const *layouts)
{
	const int first = lc__layout_info(layouts[0])->has_lengths;

	for (uint32_t i = 1; stream->options.window > 0 && i < stream->n; i++)
		if (lc__layout_info(layouts[i])->has_lengths != first)
			return lc__error(LC_INVALID, 0, "stream: of %s and %s only one "
			    "has a length field", lc__source_name(stream->sources[0]),
			    lc__source_name(stream->sources[i]));
	return LC_OK;
}

static lc_status
stand(lc_stream *stream, const struct lc__token *token)
{
	struct lc__layout **layouts = calloc(stream->n, sizeof(*layouts));
	lc_status status;

	if (layouts == NULL)
		return lc__no_memory("stream");
	status = lc__stream_layouts(stream, token, layouts);
	if (status == LC_OK)
		status = check_units(stream, layouts);
	if (status == LC_OK)
		status = lc__standing_new(&stream->rule, layouts,
		    &stream->standing);
	for (uint32_t i = 0; i < stream->n; i++)
		lc__layout_drop(layouts[i]);
	free(layouts);
	return status;
}

static lc_status
make(lc_stream *stream, lc_source *const *sources, size_t n,
    const void *token_bytes)
{
	struct lc__token token;

	if (token_bytes != NULL)
		return_if_error(lc__token_decode(token_bytes, &token));
	return_if_error(take_series(stream, sources, n));
	return_if_error(make_mixture(stream));
	make_rule(stream);
	return_if_error(hash_order(stream));
	return_if_error(stand(stream, token_bytes != NULL ? &token : NULL));
	return token_bytes != NULL ? lc__stream_resume(stream, &token) : LC_OK;
}

lc_status
lc_stream_open(lc_source *const *sources, size_t n,
    const lc_stream_options *options, lc_stream **out)
{
	lc_stream_options taken;
	lc_stream *stream;
	lc_status status;

	return_if_error(lc__stream_options_take(options, n, &taken));
	stream = calloc(1, sizeof(*stream));
	if (stream == NULL)
		return lc__no_memory("stream");
	pthread_mutex_init(&stream->replacing, NULL);
	pthread_mutex_init(&stream->lock, NULL);
	stream->options = taken;
	stream->options.token = NULL;
	status = make(stream, sources, n, taken.token);
	if (status == LC_OK)
		*out = stream;
	else
		lc_stream_close(stream);
	return status;
}

void
lc_stream_close(lc_stream *stream)
{
	if (stream == NULL)
		return;
	lc__standing_drop(stream->standing);
	lc__mixture_free(stream->mixture);
	pthread_mutex_destroy(&stream->lock);
	pthread_mutex_destroy(&stream->replacing);
	free(stream->first_chunk);
	free(stream->weights);
	free(stream->sources);
	free(stream);
}

/* ---- what it stands on ------------------------------------------------------------ */

struct lc__standing *
lc__stream_standing(lc_stream *stream)
{
	struct lc__standing *standing;

	pthread_mutex_lock(&stream->lock);
	standing = lc__standing_hold(stream->standing);
	pthread_mutex_unlock(&stream->lock);
	return standing;
}

static void
replace(lc_stream *stream, struct lc__standing *standing)
{
	struct lc__standing *old;

	pthread_mutex_lock(&stream->lock);
	old = stream->standing;
	stream->standing = standing;
	pthread_mutex_unlock(&stream->lock);
	lc__standing_drop(old);
}

/* Only the one who replaces it changes it, and we are that one. A source that turns out
 * to be empty is the end. */
static lc_status
go_on(lc_stream *stream, struct lc__layout *layout)
{
	const lc_source_info *now = lc__layout_info(layout), *old =
	    lc__layout_info(stream->standing->sequences[0]->layout);
	struct lc__standing_rule rule = stream->rule;
	struct lc__standing *standing;

	if (stream->standing->complete || (now->chunks == old->chunks &&
	    now->final == old->final))
		return LC_OK;
	rule.sequence.may_be_empty = true;
	return_if_error(lc__standing_new(&rule, &layout, &standing));
	replace(stream, standing);
	return LC_OK;
}

lc_status
lc__stream_go_on(lc_stream *stream)
{
	struct lc__layout *layout;
	lc_status status;

	if (!stream->options.follow)
		return LC_OK;
	pthread_mutex_lock(&stream->replacing);
	layout = lc__source_layout(stream->sources[0]);
	status = go_on(stream, layout);
	lc__layout_drop(layout);
	pthread_mutex_unlock(&stream->replacing);
	return status;
}

/* ---- numbers ------------------------------------------------------------------------ */

static uint64_t
batches_of(const lc_stream *stream, uint64_t examples)
{
	const uint64_t batch = stream->options.batch;

	if (examples == UINT64_MAX)
		return UINT64_MAX;
	return examples / batch + (examples % batch != 0);
}

lc_status
lc_stream_info_get(const lc_stream *stream, lc_stream_info *out)
{
	struct lc__standing *standing;
	const struct lc__sequence *first;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0, "stream: struct_size of the info is "
		    "not set");
	/* The lock is not what a const stream is about. */
	standing = lc__stream_standing((lc_stream *)stream);
	first = standing->sequences[0];
	out->batches = batches_of(stream, standing->complete ? standing->total :
	    UINT64_MAX);
	out->examples = standing->complete ?
	    lc__standing_examples(standing, standing->total) : UINT64_MAX;
	out->epoch_examples = stream->series ?
	    lc__series_examples(standing->series) :
	    stream->n == 1 && first->complete ? first->n : 0;
	out->known = standing->complete ? out->examples : standing->known;
	out->first_batch = stream->first_batch;
	out->batch = stream->options.batch;
	out->order_hash = stream->order_hash;
	lc__standing_drop(standing);
	return LC_OK;
}

lc_status
lc__stream_lacks(const lc_stream *stream, const struct lc__standing *standing,
    const char *what, uint64_t number, bool never)
{
	if (never && !standing->complete && stream->rule.limit > 0)
		return lc__error(LC_END, 0, "stream: there is no %s %llu: it "
		    "is limited to %llu examples", what,
		    (unsigned long long)number,
		    (unsigned long long)stream->rule.limit);
	if (never || standing->complete)
		return lc__error(LC_END, 0, "stream: there is no %s %llu: it "
		    "has %llu examples", what, (unsigned long long)number,
		    (unsigned long long)lc__standing_examples(standing,
		    standing->known));
	return lc__error(LC_TIMEOUT, 0, "stream: %s %llu is not there yet, %llu "
	    "examples are", what, (unsigned long long)number,
	    (unsigned long long)standing->known);
}

lc_status
lc__stream_batch(const lc_stream *stream, const struct lc__standing *standing,
    uint64_t batch, uint64_t *first, uint64_t *end)
{
	const uint64_t size = stream->options.batch, limit = stream->rule.limit;

	if (batch >= UINT64_MAX / size ||
	    (limit > 0 && batch * size >= limit))
		return LC_END;
	*first = batch * size;
	*end = *first + size;
	if (limit > 0 && *end > limit)
		*end = limit;
	if (standing->series != NULL && *first < standing->known) {
		uint64_t at, n;
		uint32_t which;

		lc__series_at(standing->series, batch, &which, &at, &n);
		if (*end > *first + n)
			*end = *first + n;
	}
	if (*end <= standing->known)
		return LC_OK;
	if (!standing->complete)
		return LC_TIMEOUT;
	if (*first >= standing->known)
		return LC_END;
	*end = standing->known;
	return LC_OK;
}

/* ---- waiting -------------------------------------------------------------------------- */

static lc_status
lacks_example(const lc_stream *stream, const struct lc__standing *standing,
    uint64_t example)
{
	const uint64_t limit = stream->rule.limit;

	return lc__stream_lacks(stream, standing, "example", example,
	    limit > 0 && example >= limit);
}

/* LC_OK if so many examples are known; what else there is to say otherwise, and how
 * many records the standing has. */
static lc_status
has_examples(lc_stream *stream, uint64_t examples, uint64_t *records)
{
	struct lc__standing *standing = lc__stream_standing(stream);
	lc_status status = LC_OK;

	if (examples > standing->known)
		status = lacks_example(stream, standing, examples - 1);
	*records = lc__layout_info(standing->sequences[0]->layout)->records;
	lc__standing_drop(standing);
	return status;
}

static uint64_t
ms_until(uint64_t deadline)
{
	const uint64_t now = lc__clock_ns();

	if (deadline == UINT64_MAX)
		return UINT64_MAX;
	return now < deadline ? (deadline - now + 999999) / 1000000 : 0;
}

/* A source that is final is waited for no longer, whatever it has. */
lc_status
lc_stream_wait(lc_stream *stream, uint64_t examples, uint64_t timeout_ms)
{
	const uint64_t deadline = lc__clock_deadline(timeout_ms);
	uint64_t records;
	lc_status status, waited;

	for (;;) {
		status = has_examples(stream, examples, &records);
		if (status != LC_TIMEOUT)
			return status;
		waited = lc_source_wait(stream->sources[0], records + 1,
		    ms_until(deadline));
		if (waited != LC_OK && waited != LC_END &&
		    waited != LC_TIMEOUT)
			return waited;
		return_if_error(lc__stream_go_on(stream));
		if (waited != LC_OK)
			return has_examples(stream, examples, &records);
	}
}

/* ---- the parts of an example ------------------------------------------------------------ */

static lc_status
list_parts(struct lc__walk *walk, struct lc__spot spot, uint32_t source,
    uint64_t before, lc_piece *pieces, size_t room, size_t *n)
{
	struct lc__example_part part;

	*n = 0;
	while (spot.left > 0) {
		return_if_error(lc__walk_part(walk, &spot, &part));
		if (*n < room)
			pieces[*n] = (lc_piece){ source, part.epoch,
			    before + part.position,
			    part.chunk_id, part.first, part.units };
		++*n;
	}
	return LC_OK;
}

/* Numbers behind a short batch are no examples. */
static bool
has_example(const lc_stream *stream, const struct lc__standing *standing,
    uint64_t example)
{
	const uint64_t batch = example / stream->options.batch;
	uint64_t first, end;

	if (example >= standing->known || standing->series == NULL)
		return example < standing->known;
	return lc__stream_batch(stream, standing, batch, &first, &end) == LC_OK &&
	    example < end;
}

static lc_status
locate(const lc_stream *stream, const struct lc__standing *standing,
    uint64_t example, lc_piece *pieces, size_t room, size_t *n)
{
	uint64_t before = 0;
	struct lc__walk walk;
	struct lc__spot spot;
	uint32_t source;
	uint64_t index;

	lc__standing_find(standing, example, &source, &index);
	lc__walk_init(&walk, standing->sequences[source]);
	lc__walk_example(&walk, index, &spot);
	/* The sizes are parts of one source. */
	if (stream->series) {
		before = stream->first_chunk[source];
		source = 0;
	}
	return_if_error(list_parts(&walk, spot, source, before, NULL, 0, n));
	if (*n > room)
		return lc__error(LC_INVALID, 0, "stream: example %llu has %zu parts, "
		    "there is room for %zu", (unsigned long long)example, *n, room);
	return list_parts(&walk, spot, source, before, pieces, room, n);
}

lc_status
lc_stream_locate(lc_stream *stream, uint64_t example, lc_piece *pieces,
    size_t room, size_t *n)
{
	struct lc__standing *standing = lc__stream_standing(stream);
	const lc_status status = has_example(stream, standing, example) ?
	    locate(stream, standing, example, pieces, room, n) :
	    lacks_example(stream, standing, example);

	lc__standing_drop(standing);
	return status;
}
