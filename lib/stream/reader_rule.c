/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a reader, and what all of its batches share. */
#include "stream/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/words.h"
#include "stream/source.h"

#define MOST_THREADS 1024u
#define MOST_AHEAD 65536u

/* ---- words ---------------------------------------------------------------------- */

static const char *const splits[] = {
	[LC_SPLIT_STRIDED] = "strided",
	[LC_SPLIT_CONTIGUOUS] = "contiguous",
	NULL,
};

const char *
lc_split_name(lc_split split)
{
	return lc__word(splits, (unsigned)split);
}

lc_status
lc_split_parse(const char *name, lc_split *out)
{
	unsigned i;

	return_if_error(lc__word_parse("split", splits, name, &i));
	*out = (lc_split)i;
	return LC_OK;
}

/* ---- options -------------------------------------------------------------------- */

void
lc_reader_options_init(lc_reader_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->readers = 1;
	options->threads = 2;
	options->ahead = 8;
	options->memory = (uint64_t)256 << 20;
	options->timeout_ms = UINT64_MAX;
}

static lc_status
invalid(const char *what)
{
	return lc__error(LC_INVALID, 0, "reader: %s", what);
}

lc_status
lc__reader_options_take(const lc_reader_options *given, lc_reader_options *out)
{
	lc_reader_options o;

	lc_reader_options_init(&o);
	if (given != NULL)
		o = *given;
	if (o.struct_size != sizeof(o))
		return invalid("options were not made by lc_reader_options_init()");
	if (o.reader >= o.readers)
		return lc__error(LC_INVALID, 0, "reader: there is no reader %u of %u",
		    o.reader, o.readers);
	if (lc_split_name(o.split) == NULL)
		return lc__error(LC_INVALID, 0, "reader: no split %d", (int)o.split);
	if (o.fields == NULL && o.n_fields > 0)
		return invalid("fields without names");
	for (size_t i = 0; i < o.n_fields; i++)
		if (o.fields[i] == NULL)
			return lc__error(LC_INVALID, 0, "reader: field %zu has no name",
			    i);
	if (o.threads > MOST_THREADS || o.ahead > MOST_AHEAD)
		return invalid("at most 1024 threads and 65536 batches ahead");
	if ((o.alloc == NULL) != (o.free == NULL))
		return invalid("alloc and free go together: set both or neither");
	if (o.threads > 0 && o.ahead == 0)
		return invalid("threads that may not read ahead");
	*out = o;
	return LC_OK;
}

/* ---- from options to rules ------------------------------------------------------- */

lc_status
lc__reader_rule_begin(struct lc__reader_rule *rule, lc_stream *stream,
    const lc_reader_options *o)
{
	const char *length_field = lc__source_length_field(stream->sources[0]);
	const char *const *fields = o->fields;
	size_t n = o->n_fields;
	struct lc__stream_state *state;
	bool verifies = false;
	char **names;

	pthread_mutex_init(&rule->lock, NULL);
	rule->stream = lc__stream_hold(stream);
	rule->share = (struct lc__share){ o->split, o->reader, o->readers,
		stream->options.batch };
	rule->rows = (size_t)lc__share_rows(&rule->share);
	rule->window = stream->options.window;
	rule->views = o->views != 0;
	rule->documents = o->documents != 0;
	rule->memory = (struct lc__batch_memory){ o->alloc, o->free, o->alloc_ctx };
	for (uint32_t i = 0; i < stream->n; i++)
		verifies = verifies || lc__source_verifies(stream->sources[i]);
	rule->heads = rule->views && !verifies;
	return_if_error(lc__stream_check_readers(stream, o->reader, o->readers));
	if (stream->options.shares > 0 && o->split != LC_SPLIT_STRIDED)
		return invalid("a reader of shares has every R'th one: split is strided");
	if (rule->window > 0 && rule->views)
		return invalid("windows are not available as views");
	if (rule->window == 0 && rule->documents)
		return invalid("documents are listed for windows only");
	state = lc__stream_state_now(stream);
	rule->has_lengths = lc__layout_info(state->sequences[0]->layout)->has_lengths !=
	    0;
	lc__stream_state_drop(state);

	/* Windows based on a length field have that field, unless the caller names
	 * others. Otherwise the first batch defines the fields. */
	if (fields == NULL && rule->window > 0 && rule->has_lengths) {
		fields = &length_field;
		n = 1;
	}
	if (fields == NULL)
		return LC_OK;
	return_if_error(lc__field_names_copy(fields, n, &names, &n));
	lc__reader_rule_name(rule, names, n);
	return LC_OK;
}

void
lc__reader_rule_end(struct lc__reader_rule *rule)
{
	lc__field_names_free(rule->names, rule->n_fields);
	lc_stream_close(rule->stream);
	pthread_mutex_destroy(&rule->lock);
}

void
lc__reader_rule_name(struct lc__reader_rule *rule, char **names, size_t n)
{
	pthread_mutex_lock(&rule->lock);
	if (!lc__reader_rule_named(rule)) {
		rule->names = names;
		rule->n_fields = n;
		names = NULL;
		atomic_store_explicit(&rule->named, true, memory_order_release);
	}
	pthread_mutex_unlock(&rule->lock);
	if (names != NULL)
		lc__field_names_free(names, n);
}
