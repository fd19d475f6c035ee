/* SPDX-License-Identifier: BSD-2-Clause */
#include "owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torture.h"

#define DELETES(version) ((version) % 4 == 0)
#define WORDS_MAX 400
#define BATCH 32
#define NOBODY 999u /* "writer" of computed keys, all of version 1 */

size_t
owned_size(unsigned writers)
{
	const struct owned *o = NULL;

	return sizeof(*o) + writers * sizeof(o->writer[0]);
}

/* ---- records ------------------------------------------------------------------------- */

struct name {
	char text[32];
	size_t size;
};

static struct name
name_of(unsigned writer, unsigned key)
{
	struct name name;

	name.size = (size_t)snprintf(name.text, sizeof(name.text), "w%u.k%u", writer,
	    key);
	return name;
}

/* False for ids that are nobody's. */
static bool
parse_name(lc_id id, unsigned *writer, unsigned *key)
{
	char text[32];

	need(id.size < sizeof(text));
	memcpy(text, id.data, id.size);
	text[id.size] = '\0';
	need(sscanf(text, "w%u.k%u", writer, key) == 2);
	return *writer != NOBODY;
}

static uint64_t
word_of(unsigned writer, unsigned key, uint64_t version, uint64_t i)
{
	uint64_t state = ((uint64_t)writer << 32 | key) ^ version << 44 ^ i;

	return i == 0 ? version : run_random(&state);
}

static uint64_t
words_of(unsigned writer, unsigned key, uint64_t version)
{
	return 2 + word_of(writer, key, version, WORDS_MAX) % (WORDS_MAX - 2);
}

static void
make(unsigned writer, unsigned key, uint64_t version, uint64_t words[WORDS_MAX],
    lc_tensor *out)
{
	const uint64_t n = words_of(writer, key, version);

	for (uint64_t i = 0; i < n; i++)
		words[i] = word_of(writer, key, version, i);
	need_ok(lc_tensor_init(out, LC_U64, 1, &n, words));
}

/* The bytes are one version of that key. @return which */
static uint64_t
version_of(unsigned writer, unsigned key, const uint64_t *words, uint64_t n)
{
	const uint64_t version = words[0];

	need(n == words_of(writer, key, version));
	for (uint64_t i = 1; i < n; i++)
		need(words[i] == word_of(writer, key, version, i));
	return version;
}

static void
expect_version(const struct owned *o, unsigned writer, unsigned key, uint64_t version,
    uint64_t least)
{
	need(writer < o->writers && key < OWNED_KEYS);
	need(!DELETES(version));
	need(version >= least);
	need(version <= o->writer[writer].begun[key]);
}

/* It was not found: was there a delete, or no put, among what it may have been? */
static void
expect_absent(const struct owned *o, unsigned writer, unsigned key, uint64_t least)
{
	const uint64_t most = o->writer[writer].begun[key];

	need(o->may_leave || most - most % 4 >= least);
}

/* ---- writing --------------------------------------------------------------------------- */

void
owned_change(struct owned *o, unsigned writer, lc_cache *cache, uint64_t *random)
{
	const unsigned key = (unsigned)(run_random(random) % OWNED_KEYS);
	const uint64_t version = o->writer[writer].begun[key] + 1;
	const struct name name = name_of(writer, key);
	uint64_t words[WORDS_MAX];
	lc_tensor tensor;

	o->writer[writer].begun[key] = version;
	if (DELETES(version)) {
		const lc_status status = lc_delete(cache, name.text, name.size);

		need(status == LC_OK || (status == LC_NOT_FOUND && o->may_leave));
		return;
	}
	make(writer, key, version, words, &tensor);
	need_ok(lc_put(cache, name.text, name.size, &tensor));
}

static void
acknowledge(struct owned *o, unsigned writer)
{
	for (unsigned key = 0; key < OWNED_KEYS; key++)
		o->writer[writer].acknowledged[key] = o->writer[writer].begun[key];
}

void
owned_flush(struct owned *o, unsigned writer, lc_cache *cache)
{
	need_ok(lc_flush(cache));
	acknowledge(o, writer);
}

void
owned_close(struct owned *o, unsigned writer, lc_cache *cache)
{
	need_ok(lc_close(cache));
	acknowledge(o, writer);
}

/* ---- looking ----------------------------------------------------------------------------- */

static void
expect_view(const struct owned *o, unsigned writer, unsigned key, const lc_view *view,
    uint64_t least)
{
	if (view->status == LC_NOT_FOUND)
		expect_absent(o, writer, key, least);
	else
		expect_version(o, writer, key, version_of(writer, key,
		    view->tensor.data, view->tensor.shape[0]), least);
}

bool
owned_look(struct owned *o, unsigned writer, unsigned key, lc_cache *cache)
{
	const uint64_t least = o->writer[writer].acknowledged[key];
	const struct name name = name_of(writer, key);
	lc_view view;
	const lc_status status = lc_get(cache, name.text, name.size, &view);

	if (status != LC_NOT_FOUND)
		need_ok(status);
	expect_view(o, writer, key, &view, least);
	lc_view_release(&view);
	return status == LC_OK;
}

void
owned_look_batch(struct owned *o, lc_cache *cache, size_t n, lc_view *views,
    uint64_t *random)
{
	struct {
		struct name name;
		unsigned writer, key;
		uint64_t least;
	} items[BATCH];
	lc_id ids[BATCH];

	need(n <= BATCH);
	for (size_t i = 0; i < n; i++) {
		items[i].writer = (unsigned)(run_random(random) % o->writers);
		items[i].key = (unsigned)(run_random(random) % OWNED_KEYS);
		items[i].least =
		    o->writer[items[i].writer].acknowledged[items[i].key];
		items[i].name = name_of(items[i].writer, items[i].key);
		ids[i] = (lc_id){ items[i].name.text, items[i].name.size };
	}
	need_ok(lc_get_batch(cache, n, ids, views, NULL, NULL));
	for (size_t i = 0; i < n; i++)
		expect_view(o, items[i].writer, items[i].key, &views[i],
		    items[i].least);
}

/* ---- all keys ------------------------------------------------------------------------------ */

/* Every key once. */
struct census {
	uint64_t least[OWNED_KEYS];
	bool seen[OWNED_KEYS];
};

static struct census *
begin_census(const struct owned *o)
{
	struct census *c = calloc(o->writers, sizeof(*c));

	need(c != NULL);
	for (unsigned w = 0; w < o->writers; w++)
		for (unsigned key = 0; key < OWNED_KEYS; key++)
			c[w].least[key] = o->writer[w].acknowledged[key];
	return c;
}

static void
count_record(const struct owned *o, struct census *c, lc_id id, const uint64_t *words,
    uint64_t n)
{
	unsigned writer = 0, key = 0;

	if (!parse_name(id, &writer, &key)) {
		need(version_of(writer, key, words, n) == 1);
		return;
	}
	expect_version(o, writer, key, version_of(writer, key, words, n),
	    c[writer].least[key]);
	need(!c[writer].seen[key]);
	c[writer].seen[key] = true;
}

/* With @p whole, what was not met is not there. @return how many were met */
static uint64_t
end_census(const struct owned *o, struct census *c, bool whole)
{
	uint64_t n = 0;

	for (unsigned w = 0; w < o->writers; w++)
		for (unsigned key = 0; key < OWNED_KEYS; key++) {
			if (whole && !c[w].seen[key])
				expect_absent(o, w, key, c[w].least[key]);
			n += c[w].seen[key];
		}
	free(c);
	return n;
}

uint64_t
owned_walk(struct owned *o, lc_cache *cache, unsigned flags)
{
	struct census *c = begin_census(o);
	lc_status status;
	lc_iter *iter;
	lc_item item;

	need_ok(lc_iter_open(cache, flags, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK)
		count_record(o, c, item.id, item.tensor.data, item.tensor.shape[0]);
	need_status(status, LC_END);
	lc_iter_close(iter);
	return end_census(o, c, true);
}

static void
count_batch(const struct owned *o, struct census *c, const lc_batch *batch)
{
	const lc_batch_field *field = &batch->fields[0];

	for (size_t row = 0; row < batch->filled; row++) {
		const uint64_t *words = field->data;
		const uint64_t n = field->offsets == NULL ? field->shape[1] :
		    field->offsets[row + 1] - field->offsets[row];

		words += field->offsets == NULL ? row * n : field->offsets[row];
		count_record(o, c, batch->ids[row], words, n);
	}
}

static uint64_t
read_stream(struct owned *o, lc_stream *stream, unsigned threads, struct census *c)
{
	lc_reader_options options;
	const lc_batch *batch;
	lc_reader *reader;
	uint64_t batches = 0;
	lc_status status;

	lc_reader_options_init(&options);
	options.threads = threads;
	options.ahead = 4;
	need_ok(lc_reader_open(stream, &options, &reader));
	while ((status = lc_reader_next(reader, &batch)) == LC_OK) {
		count_batch(o, c, batch);
		lc_batch_release(batch);
		batches++;
	}
	need(status == LC_END || status == LC_CHANGED);
	lc_reader_close(reader);
	end_census(o, c, status == LC_END);
	return batches;
}

uint64_t
owned_stream(struct owned *o, lc_cache *cache, unsigned threads, uint64_t seed)
{
	struct census *c = begin_census(o);
	lc_source *source = NULL;
	lc_stream *stream = NULL;
	lc_stream_options options;
	uint64_t batches = 0;
	lc_status status;

	lc_stream_options_init(&options);
	options.batch = 16;
	options.seed = seed;
	options.shuffle = (lc_shuffle)(seed % 4);
	options.block = 4;
	need_ok(lc_source_open_module(cache, NULL, &source));
	status = lc_stream_open(&source, 1, &options, &stream);
	if (status == LC_OK)
		batches = read_stream(o, stream, threads, c);
	else
		end_census(o, c, true);
	/* An empty module has no order. */
	need(status == LC_OK || status == LC_INVALID);
	lc_stream_close(stream);
	lc_source_close(source);
	return batches;
}

/* ---- computing --------------------------------------------------------------------------------- */

static lc_status
compute(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	(void)ctx;
	for (size_t j = 0; j < n; j++) {
		uint64_t words[WORDS_MAX];
		unsigned writer = 0, key = 0;
		lc_tensor tensor;

		need(!parse_name(keys[missing[j]], &writer, &key));
		make(NOBODY, key, 1, words, &tensor);
		need_ok(lc_result_tensor(results, j, &tensor));
	}
	return LC_OK;
}

void
owned_compute(lc_cache *cache, uint64_t *random)
{
	struct name names[8];
	unsigned keys[8];
	lc_view views[8];
	lc_id ids[8];

	for (unsigned i = 0; i < 8; i++) {
		keys[i] = (unsigned)(run_random(random) % OWNED_KEYS);
		names[i] = name_of(NOBODY, keys[i]);
		ids[i] = (lc_id){ names[i].text, names[i].size };
	}
	need_ok(lc_get_or_compute(cache, ids, 8, compute, NULL, views));
	for (unsigned i = 0; i < 8; i++)
		need(version_of(NOBODY, keys[i], views[i].tensor.data,
		    views[i].tensor.shape[0]) == 1);
	lc_views_release(views, 8);
}
