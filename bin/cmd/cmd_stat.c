/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex stat: facts of modules, or of their values. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_number.h"
#include "base/team.h"
#include "cmd/module_settings.h"
#include "cmd/samples.h"
#include "cmd/schema.h"
#include "cmd/stream_sources.h"
#include "cmd/watch.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/screen.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "value/dtype.h"
#include "value/moments.h"

static int values;
static const char *field;
static const char *axis_text;
static uint64_t threads;
static int watch;
static uint64_t interval = 1;
static uint64_t count = OPT_UNSET;

static struct opt options[] = {
	{ "", "values", OPT_FLAG, &values,
	    .help = "mean, deviation and extremes of all values, by channel" },
	{ "", "field", OPT_TEXT, &field, .value = "PATH",
	    .help = "with --values: a part of each record; for samples image or boxes" },
	{ "", "axis", OPT_TEXT, &axis_text, .value = "N|none",
	    .help =
		"with --values: the dimension of the channels, negative from the end; "
		"default the first of three" },
	{ "j", "threads", OPT_COUNT, &threads, .value = "N", .most = 1024,
	    .help = "with --values: run N threads; default the number of processors" },
	{ "", "watch", OPT_FLAG, &watch,
	    .help = "show the activity of a module at regular intervals" },
	{ "i", "interval", OPT_COUNT, &interval, .value = "SECONDS", .most = 86400,
	    .help = "with --watch: time between two updates; default 1" },
	{ "n", "count", OPT_COUNT, &count, .value = "N", .least = 1,
	    .help = "with --watch: end after N updates; default: run until stopped" },
	{ .kind = OPT_END },
};

/* The kind of a row, which decides how it is printed. */
enum unit { NUMBER, BYTES, AT_MOST };

struct row {
	const char *label;
	const char *key;
	enum unit unit;
	uint64_t value;
};

static void
show_rows(const struct row *rows, size_t n, struct json *json)
{
	char size[SIZE_TEXT];

	for (size_t i = 0; i < n; i++) {
		if (json != NULL)
			jw_count(json, rows[i].key, rows[i].value);
		else if (rows[i].unit == BYTES)
			printf("  %-16s %12s\n", rows[i].label,
			    size_human((double)rows[i].value, size, sizeof(size)));
		else if (rows[i].unit == AT_MOST && rows[i].value == 0)
			printf("  %-16s %12s\n", rows[i].label, "-");
		else if (rows[i].unit == AT_MOST)
			printf("  %-13s <= %9.3f ms\n", rows[i].label,
			    (double)rows[i].value / 1000);
		else
			printf("  %-16s %12llu\n", rows[i].label,
			    (unsigned long long)rows[i].value);
	}
}

static void
show_numbers(const lc_stats *stats, struct json *json)
{
	const struct row rows[] = {
		{ "format", "format", NUMBER, stats->format },
		{ "commits", "generation", NUMBER, stats->generation },
		{ "records", "records", NUMBER, stats->records },
		{ "dead records", "dead_records", NUMBER, stats->dead_records },
		{ "schemas", "schemas", NUMBER, stats->schemas },
		{ "chunks", "chunks", NUMBER, stats->chunks },
		{ "live data", "live_bytes", BYTES, stats->live_bytes },
		{ "dead data", "dead_bytes", BYTES, stats->dead_bytes },
		{ "index", "index_bytes", BYTES, stats->index_bytes },
		{ "index runs", "index_runs", NUMBER, stats->index_runs },
		{ "file", "file_bytes", BYTES, stats->file_bytes },
		{ "free in file", "free_bytes", BYTES, stats->free_bytes },
		{ "map", "map_bytes", BYTES, stats->map_bytes },
		{ "readers", "readers", NUMBER, stats->readers },
		{ "reader slots", "max_readers", NUMBER, stats->max_readers },
	};

	show_rows(rows, sizeof(rows) / sizeof(rows[0]), json);
}

static void
show_counters(const lc_counters *counters, struct json *json)
{
	const struct row rows[] = {
		{ "writers' hits", "hits", NUMBER, counters->hits },
		{ "writers' misses", "misses", NUMBER, counters->misses },
		{ "puts", "puts", NUMBER, counters->puts },
		{ "deletes", "deletes", NUMBER, counters->deletes },
		{ "put data", "put_bytes", BYTES, counters->put_bytes },
		{ "commits of data", "commits", NUMBER, counters->commits },
		{ "commit p50", "flush_us_p50", AT_MOST, counters->flush_us[0] },
		{ "commit p90", "flush_us_p90", AT_MOST, counters->flush_us[1] },
		{ "commit p99", "flush_us_p99", AT_MOST, counters->flush_us[2] },
		{ "commit max", "flush_us_max", AT_MOST, counters->flush_us[3] },
		{ "evicted", "evicted_records", NUMBER, counters->evicted_records },
		{ "evicted data", "evicted_bytes", BYTES, counters->evicted_bytes },
	};

	show_rows(rows, sizeof(rows) / sizeof(rows[0]), json);
}

/* Omitted for a module of plain puts. */
static void
show_fill(const lc_fill *fill, struct json *json)
{
	const struct row rows[] = {
		{ "inputs", "declared", NUMBER, fill->inputs },
		{ "inputs finished", "finished", NUMBER, fill->finished },
		{ "inputs held", "held", NUMBER, fill->held },
		{ "chunks committed", "committed", NUMBER, fill->committed },
		{ "chunks in order", "published", NUMBER, fill->published },
		{ "records in order", "records", NUMBER, fill->records },
		{ "length in order", "length", NUMBER, fill->length },
	};

	if (fill->inputs == 0)
		return;
	if (json != NULL)
		jw_open(json, "inputs", '{');
	show_rows(rows, sizeof(rows) / sizeof(rows[0]), json);
	if (json != NULL) {
		jw_flag(json, "final", fill->final);
		jw_close(json, '}');
	} else {
		printf("  %-16s %12s\n", "order", fill->final ? "final" : "growing");
	}
}

/* What the library says of a module. */
struct facts {
	lc_stats stats;
	lc_counters counters;
	struct module_settings set;
	lc_fill fill;
};

static lc_status
show_json(const char *module, lc_cache *cache, const struct facts *facts,
    const char *uuid)
{
	struct json json = { stdout, false };
	lc_status status;

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_text(&json, "uuid", uuid);
	jw_count(&json, "created_ms", facts->stats.created_ms);
	show_numbers(&facts->stats, &json);
	show_counters(&facts->counters, &json);
	show_fill(&facts->fill, &json);
	jw_open(&json, "settings", '{');
	module_settings_json(&facts->set, &json);
	jw_close(&json, '}');
	status = schemas_json(cache, &json, "structures");
	jw_end_line(&json);
	return status;
}

static lc_status
show(const char *module, lc_cache *cache, const struct facts *facts)
{
	char uuid[37], date[DATE_TEXT], text[MODULE_SETTING_TEXT];

	for (int i = 0, at = 0; i < 16; i++)
		at += sprintf(uuid + at, "%s%02x",
		    i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
		    facts->stats.uuid[i]);
	date_text(facts->stats.created_ms, date);
	if (settings.json)
		return show_json(module, cache, facts, uuid);
	printf("%s%s%s\n", report_bold(stdout), module, report_plain(stdout));
	printf("  %-16s %s\n", "uuid", uuid);
	printf("  %-16s %s\n", "made", date);
	show_numbers(&facts->stats, NULL);
	show_counters(&facts->counters, NULL);
	show_fill(&facts->fill, NULL);
	for (size_t i = 0; module_setting_name(i) != NULL; i++)
		printf("  %-16s %12s\n", module_setting_name(i),
		    module_setting_value(&facts->set, i, text, sizeof(text)));
	return schemas_text(cache, "  ");
}

static int
show_module(const char *module)
{
	struct facts facts = {
		.stats.struct_size = sizeof(facts.stats),
		.counters.struct_size = sizeof(facts.counters),
		.fill.struct_size = sizeof(facts.fill),
	};
	lc_cache *cache;
	lc_status read;
	int status = module_open(module, &cache);

	if (status != EXIT_DONE)
		return status;
	read = lc_stat(cache, &facts.stats);
	if (read == LC_OK)
		read = lc_counters_get(cache, &facts.counters);
	if (read == LC_OK)
		read = lc_fill_get(cache, &facts.fill);
	if (read == LC_OK)
		status = module_settings_read(module, cache, &facts.set);
	if (read == LC_OK && status == EXIT_DONE)
		read = show(module, cache, &facts);
	if (read != LC_OK)
		status = report_status(read);
	return module_close(cache, status);
}

/* ---- --watch ----------------------------------------------------------------------------- */

#define SECOND UINT64_C(1000000000)

/* Lines that are redrawn in place. */
static void
draw_watched(const char *module, const struct watch_sample *now,
    const struct watch_change *change)
{
	const lc_counters *counters = &now->counters;
	const struct {
		const char *label;
		uint64_t total, new;
	} counts[] = {
		{ "puts", counters->puts, change->puts },
		{ "deletes", counters->deletes, change->deletes },
		{ "lookups", counters->hits + counters->misses, change->lookups },
		{ "commits", counters->commits, change->commits },
	};
	char size[SIZE_TEXT], rate[SIZE_TEXT];

	screen_begin();
	screen_line(true, "%s", module);
	screen_line(false, "  %-10s %12llu", "records",
	    (unsigned long long)now->stats.records);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		screen_line(false, "  %-10s %12llu %12.0f/s", counts[i].label,
		    (unsigned long long)counts[i].total,
		    watch_rate(change, counts[i].new));
	screen_line(false, "  %-10s %12s %12s/s", "put data",
	    size_human((double)counters->put_bytes, size, sizeof(size)),
	    size_human(watch_rate(change, change->put_bytes), rate, sizeof(rate)));
	screen_line(false, "  %-10s %12llu", "chunks",
	    (unsigned long long)now->stats.chunks);
	screen_line(false, "  %-10s %12s", "file",
	    size_human((double)now->stats.file_bytes, size, sizeof(size)));
	screen_line(false, "  %-10s %11u%%", "dead data", watch_dead_share(now));
	screen_line(false, "  %-10s %12u", "readers", now->stats.readers);
	if (now->fill.inputs > 0)
		screen_line(false, "  %-10s %12u of %u finished, %u held", "inputs",
		    now->fill.finished, now->fill.inputs, now->fill.held);
	screen_end();
}

static void
print_watched(const struct watch_sample *now, const struct watch_change *change,
    bool first)
{
	char file[SIZE_TEXT], rate[SIZE_TEXT];

	if (first)
		printf("%8s %7s %7s %7s %10s %6s %7s %8s %4s %4s\n", "RECORDS", "PUTS/S",
		    "DELS/S", "GETS/S", "DATA/S", "COMM/S", "CHUNKS", "FILE", "DEAD",
		    "READ");
	printf("%8llu %7.0f %7.0f %7.0f %8s/s %6.0f %7llu %8s %3u%% %4u\n",
	    (unsigned long long)now->stats.records, watch_rate(change, change->puts),
	    watch_rate(change, change->deletes), watch_rate(change, change->lookups),
	    size_human(watch_rate(change, change->put_bytes), rate, sizeof(rate)),
	    watch_rate(change, change->commits), (unsigned long long)now->stats.chunks,
	    size_human((double)now->stats.file_bytes, file, sizeof(file)),
	    watch_dead_share(now), now->stats.readers);
	fflush(stdout);
}

static void
show_watched(const char *module, const struct watch_sample *before,
    const struct watch_sample *now)
{
	const struct watch_change change = watch_between(before, now);
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "module", module);
		watch_json(&json, before, now);
		jw_end_line(&json);
		fflush(stdout);
	} else if (screen_is_terminal()) {
		draw_watched(module, now, &change);
	} else {
		print_watched(now, &change, before == NULL);
	}
}

/* Wait for the next look; an exit status that ends the watch, or -1. */
static int
wait_watched(const char *module, const struct watch_sample *before,
    const struct watch_sample *now)
{
	for (;;) {
		const int event = screen_wait(interval * SECOND);

		if (event == 'q')
			return EXIT_DONE;
		if (event == SCREEN_STOPPED)
			return interrupt_status();
		if (event == SCREEN_TIME || event == ' ')
			return -1;
		if (event == SCREEN_RESIZED)
			show_watched(module, before, now);
	}
}

static int
watch_module(const char *module)
{
	struct watch_sample samples[2];
	uint64_t looks = 0;
	int status = module_must_exist(settings.root, module);

	if (status != EXIT_DONE)
		return status;
	screen_open(false);
	for (;;) {
		struct watch_sample *now = &samples[looks % 2];
		const struct watch_sample *before = looks > 0 ? &samples[(looks + 1) % 2]
							      : NULL;
		const lc_status taken = watch_take(module, now);

		if (taken != LC_OK) {
			screen_close();
			return taken == LC_NO_FILE ? module_missing(settings.root, module)
						   : report_status(taken);
		}
		show_watched(module, before, now);
		if (++looks == count || report_output_failed())
			break;
		status = wait_watched(module, before, now);
		if (status >= 0)
			break;
		status = EXIT_DONE;
	}
	screen_close();
	return status;
}

/* ---- --values: mean, deviation and extremes ----------------------------------------- */

/*
 * Records are read in rounds: the threads make the moments of each record, and then one
 * thread merges them in the order of the records. So the result has the same bits for
 * any number of threads.
 */
#define ROUND 256                      /* records, at most */
#define ROUND_BYTES ((size_t)64 << 20) /* of moments */
#define MOST_CHANNELS ((uint64_t)1 << 20)

enum outcome { COUNTED, SKIPPED, DAMAGED, GONE };

/* A record of a round, and its result. */
struct record {
	void *id; /* of a module's record */
	size_t id_size;
	enum outcome outcome;
	char *why; /* of one that is not counted */
	bool integers;
	struct lc__moments *channels;
	size_t n;
};

struct work {
	const char *name;
	lc_cache *cache; /* or */
	struct samples samples;
	uint64_t first; /* the number of the round's first sample */
	struct record records[ROUND];
	struct lc__moments *channels; /* of all */
	size_t n, room;
	bool integers, complex;
	uint64_t counted, skipped, damaged;
};

/* The dimension of the channels; without a name it is the first of three. */
static struct {
	bool whole;   /* one channel for all elements */
	bool named;   /* axis says which dimension it is, */
	int64_t axis; /* from the end if below 0 */
} channels;

/* A number of a dimension, counted from the end below 0, or none. */
static bool
take_axis(void)
{
	char *end;
	long n;

	channels.whole = axis_text != NULL && strcmp(axis_text, "none") == 0;
	if (axis_text == NULL || channels.whole)
		return true;
	errno = 0;
	n = strtol(axis_text, &end, 10);
	if (errno != 0 || end == axis_text || *end != '\0' || n < -LC_MAX_NDIM ||
	    n >= LC_MAX_NDIM) {
		report_usage("--axis %s: not the number of a dimension, or none",
		    axis_text);
		return false;
	}
	channels.named = true;
	channels.axis = n;
	return true;
}

/* ---- one record -------------------------------------------------------------- */

/* LC_UNSUPPORTED if the tensor has no such dimension. */
static lc_status
find_axis(const lc_tensor *tensor, bool boxes, uint32_t *out)
{
	const int64_t ndim = tensor->ndim;
	const int64_t axis = channels.axis < 0 ? channels.axis + ndim : channels.axis;

	*out = LC__MOMENTS_WHOLE;
	if (channels.whole || (!channels.named && !boxes && ndim != 3))
		return LC_OK;
	if (!channels.named) {
		*out = boxes ? 1 : 0;
		return LC_OK;
	}
	if (axis < 0 || axis >= ndim)
		return lc__error(LC_UNSUPPORTED, 0,
		    "has %" PRId64 " dimensions, no axis %" PRId64, ndim, channels.axis);
	*out = (uint32_t)axis;
	return LC_OK;
}

static lc_status
take_tensor(const lc_tensor *tensor, bool boxes, struct record *r)
{
	uint64_t n;
	uint32_t axis;

	return_if_error(lc__dtype_need_numbers(tensor->dtype));
	return_if_error(find_axis(tensor, boxes, &axis));
	n = lc__moments_channels(tensor, axis);
	if (n > MOST_CHANNELS)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%" PRIu64
		    " channels are too many; choose another dimension with --axis",
		    n);
	r->channels = calloc(n > 0 ? n : 1, sizeof(*r->channels));
	if (r->channels == NULL)
		return lc__no_memory(NULL);
	r->n = n;
	r->integers = tensor->dtype <= LC_I64;
	lc__moments_tensor(r->channels, tensor, axis);
	return LC_OK;
}

static lc_status
take_view(lc_view *view, struct record *r)
{
	const lc_value *value;
	lc_tensor tensor;
	lc_status status;

	if (field == NULL && view->kind == LC_TENSOR)
		return take_tensor(&view->tensor, false, r);
	if (field == NULL)
		return lc__error(LC_UNSUPPORTED, 0,
		    "is not a tensor but a %s; choose a part with --field",
		    lc_kind_name(view->kind));
	status = lc_view_value(view, field, &value);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_UNSUPPORTED, 0, "has no part %s", field);
	return_if_error(status);
	if (lc_value_kind(value) != LC_TENSOR)
		return lc__error(LC_UNSUPPORTED, 0, "part %s is not a tensor but a %s",
		    field, lc_kind_name(lc_value_kind(value)));
	return_if_error(lc_value_as_tensor(value, &tensor));
	return take_tensor(&tensor, false, r);
}

/* Rows of boxes that are there. */
static lc_status
take_boxes(const lc_sample *sample, struct record *r)
{
	struct lc__moments there = { 0 };
	lc_tensor boxes = sample->boxes;

	if (boxes.ndim != 2)
		return lc__error(LC_UNSUPPORTED, 0, "has no boxes");
	lc__moments_add(&there, sample->mask.dtype, sample->mask.data,
	    sample->mask.ndim == 1 ? sample->mask.shape[0] : 0,
	    lc_dtype_size(sample->mask.dtype));
	boxes.nbytes = boxes.shape[0] == 0
	    ? 0
	    : boxes.nbytes / boxes.shape[0] * (size_t)there.sum.high;
	boxes.shape[0] = (uint64_t)there.sum.high;
	return take_tensor(&boxes, true, r);
}

static lc_status
read_sample(struct work *w, uint64_t i, struct record *r)
{
	lc_sample sample = { 0 };
	lc_status status;

	return_if_error(samples_get(&w->samples, w->first + i, &sample));
	if (field != NULL && strcmp(field, "boxes") == 0)
		status = take_boxes(&sample, r);
	else
		status = take_tensor(&sample.image, false, r);
	samples_release(&w->samples, &sample);
	return status;
}

static lc_status
read_record(struct work *w, struct record *r)
{
	lc_view view;
	lc_status status = lc_get(w->cache, r->id, r->id_size, &view);

	if (status == LC_NOT_FOUND) {
		r->outcome = GONE; /* deleted since the round began */
		return LC_OK;
	}
	return_if_error(status);
	status = take_view(&view, r);
	lc_view_release(&view);
	return status;
}

/* A damaged record, or one of another form, does not stop the others. */
static lc_status
job(struct lc__team *team, unsigned thread, uint64_t i)
{
	struct work *w = team->ctx;
	struct record *r = &w->records[i];
	const lc_status status = w->cache != NULL ? read_record(w, r)
						  : read_sample(w, i, r);

	(void)thread;
	if (status == LC_OK)
		return LC_OK;
	if (status != LC_UNSUPPORTED && status != LC_CORRUPT && status != LC_NOT_MODULE)
		return status;
	r->outcome = status == LC_UNSUPPORTED ? SKIPPED : DAMAGED;
	r->why = strdup(lc_last_error()->text);
	return r->why != NULL ? LC_OK : lc__no_memory(NULL);
}

/* ---- a round ------------------------------------------------------------------ */

static void
forget(struct work *w)
{
	for (size_t i = 0; i < ROUND; i++) {
		free(w->records[i].id);
		free(w->records[i].why);
		free(w->records[i].channels);
	}
	memset(w->records, 0, sizeof(w->records));
}

static lc_status
merge_moments(struct work *w, const struct record *r)
{
	if (r->n > w->n) {
		return_if_error(lc__array_reserve(&w->channels, &w->room, r->n, NULL));
		memset(w->channels + w->n, 0, (r->n - w->n) * sizeof(*w->channels));
		w->n = r->n;
	}
	for (size_t c = 0; c < r->n; c++)
		lc__moments_merge(&w->channels[c], &r->channels[c]);
	w->integers = r->integers && (w->integers || w->counted == 0);
	w->counted++;
	return LC_OK;
}

/* Report the first ten records that are not counted. */
static void
tell(struct work *w, const struct record *r, uint64_t number)
{
	const uint64_t reported = w->skipped + w->damaged;

	if (r->outcome == SKIPPED)
		w->skipped++;
	else
		w->damaged++;
	if (reported >= 10)
		return;
	progress_clear();
	if (r->id != NULL)
		report_error(EXIT_DATA, "%s: %s: %s%s", w->name,
		    lc__quote_id(r->id, r->id_size), r->why,
		    reported == 9 ? "; further ones are only counted" : "");
	else
		report_error(EXIT_DATA, "%s: sample %" PRIu64 ": %s%s", w->name, number,
		    r->why, reported == 9 ? "; further ones are only counted" : "");
}

static lc_status
do_round(struct work *w, size_t n)
{
	struct lc__team team = {
		.work = job,
		.ctx = w,
		.jobs = n,
		.threads = (unsigned)threads,
	};
	lc_status status = lc__team_run(&team);

	for (size_t i = 0; i < n && status == LC_OK; i++) {
		const struct record *r = &w->records[i];
		if (r->outcome == COUNTED)
			status = merge_moments(w, r);
		else if (r->outcome != GONE)
			tell(w, r, w->first + i);
	}
	forget(w);
	return status;
}

/* The number of records whose moments fit into the memory for them. */
static size_t
round_size(const struct work *w)
{
	const size_t bytes = (w->n > 0 ? w->n : 4096) * sizeof(struct lc__moments);
	const size_t n = ROUND_BYTES / bytes;

	return n < 1 ? 1 : n > ROUND ? ROUND : n;
}

static lc_status
go_on(uint64_t done, uint64_t total)
{
	progress_items(done, total);
	return progress_step(NULL, 0, 0) == 0 ? LC_OK
					      : lc__error(LC_CANCELLED, 0, "stopped");
}

static lc_status
read_samples(struct work *w)
{
	for (uint64_t n; w->first < w->samples.count; w->first += n) {
		n = round_size(w);
		if (n > w->samples.count - w->first)
			n = w->samples.count - w->first;
		return_if_error(do_round(w, n));
		return_if_error(go_on(w->first + n, w->samples.count));
	}
	return LC_OK;
}

static lc_status
read_module(struct work *w)
{
	lc_iter *iter;
	lc_item item;
	lc_status status;
	uint64_t total = 0, done = 0;
	size_t n = 0;

	return_if_error(lc_count(w->cache, &total));
	return_if_error(
	    lc_iter_open(w->cache, LC_BY_KEY | LC_ITER_LISTED, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		struct record *r = &w->records[n++];

		r->id = malloc(item.id.size > 0 ? item.id.size : 1);
		if (r->id == NULL) {
			status = lc__no_memory(NULL);
			break;
		}
		memcpy(r->id, item.id.data, item.id.size);
		r->id_size = item.id.size;
		if (n >= round_size(w)) {
			done += n;
			status = do_round(w, n);
			n = 0;
			if (status == LC_OK)
				status = go_on(done, total);
		}
		if (status != LC_OK)
			break;
	}
	if (status == LC_END)
		status = do_round(w, n);
	lc_iter_close(iter);
	forget(w);
	return status;
}

/* ---- the result ---------------------------------------------------------------- */

/* A number that may be NaN or infinite. An integer has all its digits. */
static void
number_text(struct lc__double2 x, bool integer, char *out, size_t room)
{
	char text[LC__SHORTEST];

	if (isnan(x.high) || isinf(x.high)) {
		snprintf(out, room, "%s",
		    isnan(x.high)    ? "nan"
			: x.high > 0 ? "inf"
				     : "-inf");
	} else if (integer && x.high >= 0x1p63) {
		/* Up to 2^64 - 1, which is a pair of 2^64 and a negative number. */
		const uint64_t high = (uint64_t)(x.high - 0x1p63) + (UINT64_C(1) << 63);
		snprintf(out, room, "%" PRIu64, high + (uint64_t)(int64_t)x.low);
	} else if (integer) {
		snprintf(out, room, "%" PRId64, (int64_t)x.high + (int64_t)x.low);
	} else {
		lc__shortest(x.high, text);
		snprintf(out, room, "%s", text);
	}
}

static struct lc__double2
one(double x)
{
	return (struct lc__double2){ x, 0 };
}

/* JSON has no numbers for NaN, which is null here, and for infinity. */
static void
put_number(struct json *json, const char *key, struct lc__double2 x, bool integer)
{
	char text[40];

	number_text(x, integer, text, sizeof(text));
	jw_key(json, key);
	fputs(isnan(x.high)      ? "null"
		: !isinf(x.high) ? text
		: x.high > 0     ? "\"Infinity\""
				 : "\"-Infinity\"",
	    json->out);
}

static void
values_json(const struct work *w)
{
	const struct lc__double2 none = one((double)NAN);
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, w->cache != NULL ? "module" : "path", w->name);
	if (field != NULL)
		jw_text(&json, "field", field);
	jw_count(&json, "records", w->counted);
	jw_count(&json, "skipped", w->skipped);
	jw_count(&json, "damaged", w->damaged);
	jw_open(&json, "channels", '[');
	for (size_t c = 0; c < w->n; c++) {
		const struct lc__moments *m = &w->channels[c];
		jw_open(&json, NULL, '{');
		jw_count(&json, "channel", c);
		jw_count(&json, "values", m->count);
		jw_count(&json, "nan", m->nan);
		jw_count(&json, "infinite", m->plus + m->minus);
		put_number(&json, "mean", one(lc__moments_mean(m)), false);
		put_number(&json, "deviation", one(lc__moments_deviation(m)), false);
		put_number(&json, "min", m->count > 0 ? m->min : none, w->integers);
		put_number(&json, "max", m->count > 0 ? m->max : none, w->integers);
		jw_close(&json, '}');
	}
	jw_close(&json, ']');
	jw_end_line(&json);
}

static void
values_text(const struct work *w)
{
	char text[SIZE_TEXT];

	printf("%s%s%s: %s", report_bold(stdout), w->name, report_plain(stdout),
	    count_human(w->counted, "record", text, sizeof(text)));
	printf(", %s", count_human(w->n, "channel", text, sizeof(text)));
	if (w->skipped > 0)
		printf("; %" PRIu64 " records left out", w->skipped);
	if (w->damaged > 0)
		printf("; %" PRIu64 " damaged", w->damaged);
	printf("\n  %7s %14s %9s %22s %22s %22s %22s\n", "channel", "values", "NaN",
	    "mean", "deviation", "min", "max");
	for (size_t c = 0; c < w->n; c++) {
		const struct lc__moments *m = &w->channels[c];
		char mean[40], deviation[40], min[40] = "-", max[40] = "-";
		number_text(one(lc__moments_mean(m)), false, mean, sizeof(mean));
		number_text(one(lc__moments_deviation(m)), false, deviation,
		    sizeof(deviation));
		if (m->count > 0) {
			number_text(m->min, w->integers, min, sizeof(min));
			number_text(m->max, w->integers, max, sizeof(max));
		}
		printf("  %7zu %14" PRIu64 " %9" PRIu64 " %22s %22s %22s %22s\n", c,
		    m->count, m->nan, m->count > 0 ? mean : "-",
		    m->count > 0 ? deviation : "-", min, max);
	}
}

static int
read_all(struct work *w)
{
	lc_status status;

	progress_begin("stat");
	status = w->cache != NULL ? read_module(w) : read_samples(w);
	progress_end();
	if (status != LC_OK)
		return report_status(status);
	if (settings.json)
		values_json(w);
	else
		values_text(w);
	return w->damaged > 0 ? EXIT_DATA : w->skipped > 0 ? EXIT_NO : EXIT_DONE;
}

/* A module that is there, or else a path. */
static int
open_operand(struct work *w)
{
	int status = EXIT_DONE;

	if (!stream_name_is_path(w->name)) {
		status = module_open_if_there(settings.root, w->name, false, &w->cache);
		if (status != EXIT_DONE || w->cache != NULL)
			return status;
		if (access(w->name, F_OK) != 0)
			return module_open(w->name, &w->cache);
	}
	if (field != NULL && strcmp(field, "image") != 0 && strcmp(field, "boxes") != 0)
		return report_usage("--field %s: samples have image and boxes", field);
	return samples_open(w->name, true, &w->samples);
}

static int
show_values(const char *operand)
{
	struct work *w = calloc(1, sizeof(*w));
	int status;

	if (w == NULL)
		return report_status(lc__no_memory(NULL));
	w->name = operand;
	status = open_operand(w);
	if (status == EXIT_DONE)
		status = read_all(w);
	free(w->channels);
	samples_close(&w->samples);
	status = module_close(w->cache, status);
	free(w);
	return status;
}

/* ---- the command ------------------------------------------------------------------- */

static int
run_stat(int argc, char **argv)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);
	struct list modules = { 0 };
	int status = EXIT_DONE;

	if (!values && (field != NULL || axis_text != NULL || threads > 0))
		return report_usage("--field, --axis and --threads need --values");
	if (values && !take_axis())
		return EXIT_USAGE;
	if (watch && values)
		return report_usage("--watch and --values exclude each other");
	if (!watch && count != OPT_UNSET)
		return report_usage("--count needs --watch");
	if (watch && argc != 1)
		return report_usage("--watch needs one module; cachex top shows all");
	if (watch)
		return watch_module(argv[0]);
	if (threads == 0)
		threads = online > 0 ? (uint64_t)online : 1;
	/* Operands of --values may be paths. */
	for (int i = 0; i < argc && values; i++)
		status = report_worse(status, show_values(argv[i]));
	if (argc > 0 && values)
		return status;
	status = module_list(&modules, argc, argv);
	for (size_t i = 0; i < modules.count; i++) {
		const char *module = modules.items[i].data;

		status = report_worse(status,
		    values ? show_values(module) : show_module(module));
	}
	list_free(&modules);
	return status;
}

const struct command cmd_stat = {
	.name = "stat",
	.operands = "[MODULE...]",
	.summary = "print sizes, counters and settings of modules",
	.text =
	    "Prints what a module holds, its size on disk, its counters since it was "
	    "created, its settings, and the sizes and codecs of every structure; without "
	    "MODULE, for every module. With --json it writes one object per line for each "
	    "module.\n"
	    "--watch shows what is put, looked up and committed per second, from the "
	    "module's own counters, which hold what every process has committed. On a "
	    "terminal it draws again every second, space updates at once and q ends it; in a "
	    "pipe it prints a line per look.\n"
	    "--values reads all tensors and prints mean, deviation, minimum and maximum of "
	    "each channel, for a module or a path of a warehouse, a directory of shards or "
	    "a shard.",
	.examples = "cachex stat faces\n"
		    "cachex stat --json | jq '[.module, .records]'\n"
		    "cachex stat --watch faces\n"
		    "cachex stat --values vae_latents",
	.completes = "m",
	.resume = INTERRUPT_AGAIN,
	.least = 0,
	.most = -1,
	.options = options,
	.run = run_stat,
};
