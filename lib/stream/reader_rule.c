/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "stream/source.h"

#define MOST_THREADS 1024u
#define MOST_AHEAD 65536u

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

static lc_status
check_fields(const lc_reader_options *o)
{
	if (o->fields == NULL)
		return o->n_fields == 0 ? LC_OK : invalid("fields without names");
	for (size_t i = 0; i < o->n_fields; i++)
		if (o->fields[i] == NULL)
			return lc__error(LC_INVALID, 0, "reader: field %zu has no "
			    "name", i);
	return LC_OK;
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
	return_if_error(check_fields(&o));
	if (o.threads > MOST_THREADS || o.ahead > MOST_AHEAD)
		return invalid("at most 1024 threads and 65536 batches ahead");
	if (o.threads > 0 && o.ahead == 0)
		return invalid("threads that may not read ahead");
	*out = o;
	return LC_OK;
}

/* ---- what they make --------------------------------------------------------------- */

static lc_status
check_window(const struct lc__reader_rule *rule)
{
	if (rule->window > 0 && rule->views)
		return invalid("windows cannot be had as views");
	if (rule->window == 0 && rule->documents)
		return invalid("documents are told of windows only");
	return LC_OK;
}

static lc_status
copy_names(const char *const *from, size_t n, char ***out)
{
	char **names = calloc(n, sizeof(*names));
	bool failed = names == NULL;

	for (size_t i = 0; !failed && i < n; i++) {
		names[i] = strdup(from[i]);
		failed = names[i] == NULL;
	}
	for (size_t i = 0; failed && names != NULL && i < n; i++)
		free(names[i]);
	if (failed) {
		free(names);
		return lc__no_memory("reader");
	}
	*out = names;
	return LC_OK;
}

static lc_status
take_names(struct lc__reader_rule *rule, const char *const *from, size_t n)
{
	char **names;

	return_if_error(copy_names(from, n, &names));
	lc__reader_rule_name(rule, names, n);
	return LC_OK;
}

/* Of windows over a length field, that is the default. */
static lc_status
take_fields(struct lc__reader_rule *rule, const lc_reader_options *o)
{
	const char *length_field =
	    lc__source_length_field(rule->stream->sources[0]);

	if (o->fields != NULL)
		return take_names(rule, o->fields, o->n_fields);
	if (rule->window > 0 && rule->has_lengths)
		return take_names(rule, &length_field, 1);
	return LC_OK;
}

static bool
verifies_any(const lc_stream *stream)
{
	for (uint32_t i = 0; i < stream->n; i++)
		if (lc__source_verifies(stream->sources[i]))
			return true;
	return false;
}

lc_status
lc__reader_rule_begin(struct lc__reader_rule *rule, lc_stream *stream,
    const lc_reader_options *o)
{
	struct lc__standing *standing;

	pthread_mutex_init(&rule->lock, NULL);
	rule->stream = stream;
	rule->share = (struct lc__share){ o->split, o->reader, o->readers,
		stream->options.batch };
	rule->rows = (size_t)lc__share_rows(&rule->share);
	rule->window = stream->options.window;
	rule->views = o->views != 0;
	rule->documents = o->documents != 0;
	rule->heads = rule->views && !verifies_any(stream);
	return_if_error(check_window(rule));
	standing = lc__stream_standing(stream);
	rule->has_lengths =
	    lc__layout_info(standing->sequences[0]->layout)->has_lengths != 0;
	lc__standing_drop(standing);
	return take_fields(rule, o);
}

static void
free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

void
lc__reader_rule_end(struct lc__reader_rule *rule)
{
	free_names(rule->names, rule->n_fields);
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
		atomic_store_explicit(&rule->named, true,
		    memory_order_release);
	}
	pthread_mutex_unlock(&rule->lock);
	if (names != NULL)
		free_names(names, n);
}
