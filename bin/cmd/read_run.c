/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a stream from batch to batch and writing it out: what read and follow do. */
#include "cmd/read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "lmdbcache.h"
#include "order/token.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/metrics.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

struct tokenfile {
	const char *path; /* path of the token file; NULL: none is kept */
	uint64_t every;   /* batches between two saves */
	uint64_t since;   /* batches delivered since the last save */
	bool loaded;      /* `bytes` are those in the file */
	unsigned char bytes[LC_TOKEN_SIZE];
};

/* ---- the token file: where to resume ----------------------------------------------- */

#define REMEDY "; --restart starts again"

/* Whether the text is a token. Opening the stream finds out whether it is its own. */
static int
check_token(struct tokenfile *file, const struct lc__buf *bytes)
{
	struct lc__stream_token token;
	lc_status status = LC_CORRUPT;

	if (bytes->size == LC_TOKEN_SIZE)
		status = lc__stream_token_decode(bytes->data, &token);
	if (status == LC_VERSION)
		return report_error(EXIT_DATA, "%s: a token of a newer version" REMEDY,
		    file->path);
	if (status != LC_OK)
		return report_error(EXIT_DATA, "%s: is not a token, or is damaged" REMEDY,
		    file->path);
	memcpy(file->bytes, bytes->data, LC_TOKEN_SIZE);
	file->loaded = true;
	return EXIT_DONE;
}

/* Saving replaces the file by a new one, so its directory must be writable. */
static int
tokenfile_check(const struct tokenfile *file)
{
	const char *slash = strrchr(file->path, '/');
	char *dir = slash == NULL ? strdup(".")
				  : strndup(file->path, (size_t)(slash - file->path) + 1);
	const int status = dir != NULL && access(dir, W_OK | X_OK) == 0
	    ? EXIT_DONE
	    : report_errno(file->path);

	free(dir);
	return status;
}

/* Read the token file if it exists. Reports a damaged one; returns an exit status. */
static int
tokenfile_load(struct tokenfile *file)
{
	struct lc__buf bytes = { 0 };
	lc_status read;
	int status;

	if (access(file->path, F_OK) == -1 && errno == ENOENT)
		return EXIT_DONE;
	read = lc__read_regular(file->path, 4096, &bytes);
	if (read == LC_OK || read == LC_INVALID)
		status = check_token(file, &bytes);
	else
		status = report_status(read);
	lc__buf_free(&bytes);
	return status;
}

/* The message for a token that lc_stream_open() of @p source refused with
 *  @p status; an exit status. */
static int
tokenfile_refused(const struct tokenfile *file, lc_status status, const char *source)
{
	static const char prefix[] = "token: ";
	const char *text = lc_last_error()->text;

	switch (status) {
	case LC_OTHER_CACHE:
		return report_error(EXIT_DATA,
		    "%s: does not belong to %s; give its own source" REMEDY, file->path,
		    source);
	case LC_OTHER_ORDER:
		return report_error(EXIT_DATA,
		    "%s: is %s; give the options that it was written with" REMEDY,
		    file->path,
		    strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix)
							       : text);
	case LC_CHANGED:
		return report_error(EXIT_NO,
		    "%s: records that were read have changed in %s since" REMEDY,
		    file->path, source);
	case LC_INVALID: return report_error(EXIT_USAGE, "%s: %s", file->path, text);
	default: return report_status(status);
	}
}

/* Before a token is saved, the data that it counts as delivered must be on disk. */
static int
sync_output(void)
{
	struct stat st;

	if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
	    fdatasync(STDOUT_FILENO) == -1)
		return report_errno("standard output");
	return EXIT_DONE;
}

static int
save_token(struct tokenfile *file, lc_stream *stream, uint64_t next)
{
	const int status = sync_output();
	lc_status saved;

	if (status != EXIT_DONE)
		return status;
	saved = lc_stream_token(stream, next, file->bytes);
	if (saved == LC_OK)
		saved = lc__write_file_atomic(file->path, file->bytes, LC_TOKEN_SIZE);
	file->since = 0;
	return saved == LC_OK ? EXIT_DONE : report_status(saved);
}

/*
 * A batch was delivered; @p next is the one to begin with later. Saves every so often;
 * reports; an exit status.
 */
static int
tokenfile_step(struct tokenfile *file, lc_stream *stream, uint64_t next)
{
	if (file->path == NULL || ++file->since < file->every)
		return EXIT_DONE;
	return save_token(file, stream, next);
}

/* Save a token if batches were delivered since the last save. */
static int
tokenfile_finish(struct tokenfile *file, lc_stream *stream, uint64_t next)
{
	if (file->path == NULL || file->since == 0)
		return EXIT_DONE;
	return save_token(file, stream, next);
}

/* ---- what reading cost ------------------------------------------------------------- */

static void
show_fetch_json(const lc_fetch_stats *fetch, struct json *json)
{
	jw_open(json, "store", '{');
	jw_count(json, "generation", fetch->generation);
	jw_count(json, "least_cache", fetch->least_bytes);
	jw_flag(json, "by_ranges", fetch->ranges);
	jw_count(json, "hits", fetch->hits);
	jw_count(json, "misses", fetch->misses);
	jw_count(json, "fetched", fetch->fetched);
	jw_count(json, "fetched_bytes", fetch->fetched_bytes);
	jw_count(json, "range_requests", fetch->range_requests);
	jw_count(json, "evicted", fetch->evicted);
	jw_count(json, "refetched", fetch->refetched);
	jw_count(json, "resumed", fetch->resumed);
	jw_count(json, "mended", fetch->mended);
	jw_count(json, "failed", fetch->failed);
	jw_count(json, "stall_ns", fetch->stall_ns);
	jw_count(json, "requests", fetch->requests);
	jw_count(json, "retries", fetch->retries);
	jw_count(json, "retry_wait_ns", fetch->retry_wait_ns);
	jw_close(json, '}');
}

/* @p fetch is what fetching cost, or NULL. */
static void
show_json(const lc_reader_stats *stats, const lc_fetch_stats *fetch, double seconds)
{
	struct json json = { stderr, false };

	jw_open(&json, NULL, '{');
	jw_count(&json, "batches", stats->batches);
	jw_count(&json, "examples", stats->examples);
	jw_count(&json, "bytes", stats->bytes);
	jw_count(&json, "stored_bytes", stats->stored_bytes);
	jw_count(&json, "reads", stats->reads);
	jw_count(&json, "runs", stats->runs);
	jw_count(&json, "chunks", stats->chunks);
	jw_count(&json, "directory_hits", stats->directory_hits);
	jw_count(&json, "directory_misses", stats->directory_misses);
	jw_count(&json, "wait_ns", stats->wait_ns);
	jw_count(&json, "work_ns", stats->work_ns);
	jw_count(&json, "buffer_bytes", stats->buffer_bytes);
	jw_real(&json, "seconds", seconds);
	if (fetch != NULL)
		show_fetch_json(fetch, &json);
	jw_end_line(&json);
}

static void
line(const char *name, uint64_t number)
{
	fprintf(stderr, "  %-18s %llu\n", name, (unsigned long long)number);
}

static void
show_bytes(const char *name, uint64_t bytes)
{
	char text[SIZE_TEXT];

	fprintf(stderr, "  %-18s %s\n", name,
	    size_human((double)bytes, text, sizeof(text)));
}

static void
show_fetch_text(const lc_fetch_stats *fetch)
{
	line("generation", fetch->generation);
	if (fetch->least_bytes > 0)
		show_bytes("least cache", fetch->least_bytes);
	line("shards there", fetch->hits);
	line("shards waited for", fetch->misses);
	line("objects fetched", fetch->fetched);
	show_bytes("bytes fetched", fetch->fetched_bytes);
	line("ranges", fetch->range_requests);
	line("evicted", fetch->evicted);
	line("requests", fetch->requests);
	line("retries", fetch->retries);
	if (fetch->retry_wait_ns > 0)
		fprintf(stderr, "  %-18s %.3f s\n", "waited to retry",
		    (double)fetch->retry_wait_ns / 1e9);
	if (fetch->refetched + fetch->mended + fetch->failed > 0) {
		line("fetched again", fetch->refetched);
		line("blocks mended", fetch->mended);
		line("fetches failed", fetch->failed);
	}
	fprintf(stderr, "  %-18s %.3f s\n", "stalled", (double)fetch->stall_ns / 1e9);
}

/* @p fetch is what fetching cost, or NULL. */
static void
show_text(const lc_reader_stats *stats, const lc_fetch_stats *fetch, double seconds)
{
	char text[SIZE_TEXT];

	line("batches", stats->batches);
	line("examples", stats->examples);
	show_bytes("bytes", stats->bytes);
	show_bytes("stored bytes", stats->stored_bytes);
	line("reads", stats->reads);
	line("runs", stats->runs);
	line("chunks", stats->chunks);
	line("directory hits", stats->directory_hits);
	line("directory misses", stats->directory_misses);
	show_bytes("buffers", stats->buffer_bytes);
	if (fetch != NULL)
		show_fetch_text(fetch);
	fprintf(stderr, "  %-18s %.3f s\n", "waited", (double)stats->wait_ns / 1e9);
	fprintf(stderr, "  %-18s %.3f s\n", "worked", (double)stats->work_ns / 1e9);
	fprintf(stderr, "  %-18s %.3f s, %.0f examples/s, %s/s\n", "took", seconds,
	    (double)stats->examples / seconds,
	    size_human((double)stats->bytes / seconds, text, sizeof(text)));
}

/* Add what fetching for a source has cost. False if it is not in a store. */
static bool
add_fetched(const struct stream_source *s, lc_fetch_stats *sum)
{
	lc_fetch_stats one = { .struct_size = sizeof(one) };

	if (s->source == NULL || lc_source_fetch_stats(s->source, &one) != LC_OK)
		return false;
	if (sum->generation == 0)
		sum->generation = one.generation;
	/* All stores share one directory of copies, so the largest minimum counts. */
	if (sum->least_bytes < one.least_bytes)
		sum->least_bytes = one.least_bytes;
	sum->ranges |= one.ranges;
	sum->hits += one.hits;
	sum->misses += one.misses;
	sum->fetched += one.fetched;
	sum->fetched_bytes += one.fetched_bytes;
	sum->range_requests += one.range_requests;
	sum->evicted += one.evicted;
	sum->refetched += one.refetched;
	sum->resumed += one.resumed;
	sum->mended += one.mended;
	sum->failed += one.failed;
	sum->stall_ns += one.stall_ns;
	sum->requests += one.requests;
	sum->retries += one.retries;
	sum->retry_wait_ns += one.retry_wait_ns;
	return true;
}

/* Sum the costs of all stores that are read. False if there is none. */
static bool
sum_fetched(const struct stream_sources *sources, lc_fetch_stats *sum)
{
	bool any = false;

	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < sources->n; i++)
		any |= add_fetched(&sources->all[i], sum);
	return any;
}

/* Report the costs after @p ns nanoseconds. Returns an exit status. */
static int
stream_stats_show(const lc_reader *reader, const struct stream_sources *sources,
    uint64_t ns)
{
	lc_reader_stats stats = { .struct_size = sizeof(stats) };
	lc_fetch_stats counted;
	const lc_fetch_stats *fetch = sum_fetched(sources, &counted) ? &counted : NULL;
	const double seconds = (double)(ns > 0 ? ns : 1) / 1e9;
	const lc_status got = lc_reader_stat(reader, &stats);

	if (got != LC_OK)
		return report_status(got);
	fflush(stdout);
	if (settings.json)
		show_json(&stats, fetch, seconds);
	else
		show_text(&stats, fetch, seconds);
	return EXIT_DONE;
}

/* ---- the read ---------------------------------------------------------------------- */

/* The interval at which a wait is interrupted, to notice signals and to report how far
 * the source is. */
#define SLICE_MS 100

/* The state of a run. */
struct read_run {
	const struct read_job *job;
	struct stream_sources *sources;
	lc_stream *stream;
	lc_reader *reader;
	struct tokenfile token;
	struct read_output out;
	read_output_fn *write;
	uint64_t next, end;       /* the next batch; the batch to stop before */
	uint64_t begin;           /* the batch that was the first */
	uint64_t examples, bytes; /* batches delivered */
	bool ended;               /* all batches are out */
	/* Standard output and the progress line use the same terminal. */
	bool on_terminal;
	struct metrics metrics;
};

/* ---- metrics ------------------------------------------------------------------------ */

static void
put_fetched(struct metrics *m, const lc_fetch_stats *fetch)
{
	const struct {
		const char *name, *type, *help;
		uint64_t count;
	} rows[] = {
		{ "store_generation", "gauge", "Generation that is read.",
		    fetch->generation },
		{ "store_least_cache_bytes", "gauge", "The smallest cache of the reader.",
		    fetch->least_bytes },
		{ "store_by_ranges", "gauge",
		    "Whether rows are read by ranges, as the cache is smaller.",
		    fetch->ranges != 0 },
		{ "store_hits_total", "counter", "Shards opened that the cache had.",
		    fetch->hits },
		{ "store_misses_total", "counter",
		    "Shards opened that the cache did not have.", fetch->misses },
		{ "store_fetched_total", "counter", "Objects fetched whole.",
		    fetch->fetched },
		{ "store_fetched_bytes_total", "counter", "Bytes from the store.",
		    fetch->fetched_bytes },
		{ "store_range_requests_total", "counter", "Ranges of shards asked for.",
		    fetch->range_requests },
		{ "store_evicted_total", "counter", "Copies removed to make room.",
		    fetch->evicted },
		{ "store_refetched_total", "counter",
		    "Objects fetched again because they arrived damaged.",
		    fetch->refetched },
		{ "store_resumed_total", "counter",
		    "Transfers resumed where one had stopped.", fetch->resumed },
		{ "store_mended_total", "counter", "Blocks of copies repaired.",
		    fetch->mended },
		{ "store_failed_total", "counter", "Fetches that failed.",
		    fetch->failed },
		{ "store_requests_total", "counter", "Requests to the store.",
		    fetch->requests },
		{ "store_retries_total", "counter", "Requests that were sent again.",
		    fetch->retries },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		metrics_head(m, rows[i].name, rows[i].type, rows[i].help);
		metrics_count(m, rows[i].name, NULL, NULL, rows[i].count);
	}
	metrics_head(m, "store_stall_seconds_total", "counter",
	    "Time that reading waited for shards.");
	metrics_seconds(m, "store_stall_seconds_total", NULL, NULL, fetch->stall_ns);
	metrics_head(m, "store_retry_wait_seconds_total", "counter",
	    "Time that requests waited before they were sent again.");
	metrics_seconds(m, "store_retry_wait_seconds_total", NULL, NULL,
	    fetch->retry_wait_ns);
}

/* Replace the file. */
static lc_status
write_metrics(struct read_run *r, bool ended, bool success)
{
	lc_reader_stats stats = { .struct_size = sizeof(stats) };
	struct metrics *m = &r->metrics;
	lc_fetch_stats fetch;

	return_if_error(lc_reader_stat(r->reader, &stats));
	return_if_error(metrics_begin(m));
	metrics_head(m, "running", "gauge", "Whether reading is running.");
	metrics_count(m, "running", NULL, NULL, !ended);
	metrics_head(m, "batches_total", "counter", "Batches delivered.");
	metrics_count(m, "batches_total", NULL, NULL, stats.batches);
	metrics_head(m, "examples_total", "counter", "Examples in them.");
	metrics_count(m, "examples_total", NULL, NULL, stats.examples);
	metrics_head(m, "bytes_total", "counter", "Bytes moved.");
	metrics_count(m, "bytes_total", "kind", "delivered", stats.bytes);
	metrics_count(m, "bytes_total", "kind", "stored", stats.stored_bytes);
	metrics_head(m, "wait_seconds_total", "counter",
	    "Time spent waiting for batches.");
	metrics_seconds(m, "wait_seconds_total", NULL, NULL, stats.wait_ns);
	metrics_head(m, "work_seconds_total", "counter",
	    "Time spent on batches, of all threads.");
	metrics_seconds(m, "work_seconds_total", NULL, NULL, stats.work_ns);
	if (sum_fetched(r->sources, &fetch))
		put_fetched(m, &fetch);
	if (ended)
		metrics_outcome(m, success);
	return metrics_end(m);
}

/* ---- waiting ---------------------------------------------------------------------- */

/* Whether the reader should wait on. Reports how far the source is. */
static bool
may_wait(const struct read_run *r, lc_status status, uint64_t since)
{
	const uint64_t seconds = r->job->opts->timeout;

	if (status != LC_TIMEOUT && !(status == LC_ABANDONED && r->job->opts->wait))
		return false;
	if (r->job->idle != NULL)
		r->job->idle(r->sources);
	return seconds == OPT_UNSET || (lc__clock_ns() - since) / 1000000000 < seconds;
}

/* Get the next batch. Waits in slices, so that a signal is noticed. */
static lc_status
next_batch(struct read_run *r, const lc_batch **out)
{
	const struct timespec slice = { 0, SLICE_MS * 1000000l };
	const uint64_t since = lc__clock_ns();
	lc_status status;

	while ((status = lc_reader_next(r->reader, out)) != LC_OK) {
		if (interrupt_pending())
			return LC_CANCELLED;
		if (!may_wait(r, status, since))
			return status;
		if (status == LC_ABANDONED)
			nanosleep(&slice, NULL);
		/* Ignore a failure: if writing still fails at the end, that reports
		 * it. */
		if (metrics_due(&r->metrics))
			(void)write_metrics(r, false, false);
	}
	return LC_OK;
}

/* ---- one batch after another -------------------------------------------------------- */

static void
show_progress(const struct read_run *r)
{
	const uint64_t all = r->end != UINT64_MAX ? r->end - r->begin : 0;

	progress_items(r->next - r->begin, all);
	progress_rate("examples", r->examples);
	progress_step(NULL, r->bytes, 0);
}

static int
deliver(struct read_run *r, const lc_batch *batch)
{
	int status;

	if (r->on_terminal)
		progress_clear();
	status = r->write(&r->out, batch);
	if (status == EXIT_DONE)
		status = report_finish(EXIT_DONE);
	if (status != EXIT_DONE)
		return status;
	r->next = batch->number + 1;
	r->examples += batch->filled;
	for (size_t i = 0; i < batch->n_fields; i++)
		r->bytes += batch->fields[i].nbytes;
	return tokenfile_step(&r->token, r->stream, r->next);
}

/* With --keep-going, skip a damaged batch: note its status in *worst and continue. */
static int
leave_out(struct read_run *r, lc_status failed, int *worst)
{
	int status = EXIT_DONE;

	if (failed == LC_NO_MEMORY && r->out.shared != NULL)
		status = read_shared_failed(r->out.shared);
	if (status == EXIT_DONE)
		status = report_status(failed);
	if (!r->job->opts->keep_going || failed != LC_CORRUPT)
		return status;
	*worst = report_worse(*worst, status);
	r->next++;
	if (lc_reader_seek(r->reader, r->next) != LC_OK)
		return report_status(LC_IO);
	return tokenfile_step(&r->token, r->stream, r->next);
}

/* This reader gets no more batches. */
static int
conclude(struct read_run *r, lc_status status)
{
	switch (status) {
	case LC_END: r->ended = true; return EXIT_DONE;
	case LC_CANCELLED: return interrupt_status();
	case LC_TIMEOUT:
		return report_error(EXIT_NO, "%s: no new data in %llu s", r->job->source,
		    (unsigned long long)r->job->opts->timeout);
	case LC_ABANDONED:
		return report_error(EXIT_NO,
		    "%s: its inputs are not finished and have no "
		    "writer; --wait waits for one",
		    r->job->source);
	default: return -1;
	}
}

static int
read_batches(struct read_run *r)
{
	int status = EXIT_DONE, step;
	const lc_batch *batch;
	lc_status got;

	while (r->next < r->end) {
		got = interrupt_pending() ? LC_CANCELLED : next_batch(r, &batch);
		if (got == LC_OK) {
			step = deliver(r, batch);
			if (r->out.shared == NULL)
				lc_batch_release(batch);
			else
				step = report_worse(step,
				    read_shared_hold(r->out.shared, batch));
			show_progress(r);
			if (metrics_due(&r->metrics))
				(void)write_metrics(r, false, false);
		} else if (got == LC_BUSY) {
			step = read_shared_wait(r->out.shared);
		} else {
			step = conclude(r, got);
			if (step != -1)
				return report_worse(status, step);
			step = leave_out(r, got, &status);
		}
		if (step != EXIT_DONE)
			return report_worse(status, step);
	}
	r->ended = true;
	return status;
}

/* ---- before and after ----------------------------------------------------------------- */

static int
open_stream(struct read_run *r)
{
	lc_stream_options how;
	int status = stream_order_fill(r->job->order, &how);
	lc_status opened;

	if (status != EXIT_DONE)
		return status;
	how.follow = r->job->follow;
	how.token = r->token.loaded ? r->token.bytes : NULL;
	opened = stream_sources_start(r->sources, &how, &r->stream);
	if (opened != LC_OK && r->token.loaded)
		return tokenfile_refused(&r->token, opened, r->job->source);
	if (opened != LC_OK)
		return report_argument(opened);
	r->out.info.struct_size = sizeof(r->out.info);
	opened = lc_stream_info_get(r->stream, &r->out.info);
	return opened == LC_OK ? EXIT_DONE : report_status(opened);
}

static int
open_reader(struct read_run *r, enum read_form form)
{
	lc_reader_options how;
	lc_status opened;

	read_options_fill(r->job->opts, form, &how);
	how.reader = r->job->reader;
	how.readers = r->job->readers;
	how.split = r->job->split;
	how.timeout_ms = r->job->opts->timeout == 0 ? 0 : SLICE_MS;
	if (r->out.shared != NULL)
		read_shared_fill(r->out.shared, &how);
	opened = lc_reader_open(r->stream, &how, &r->reader);
	if (opened == LC_OK && r->next != r->out.info.first_batch)
		opened = lc_reader_seek(r->reader, r->next);
	return opened == LC_OK ? EXIT_DONE : report_argument(opened);
}

/* Choose the range of batches, from the token or --batches. */
static int
find_range(struct read_run *r)
{
	const uint64_t all = r->out.info.batches;
	const uint64_t first = r->job->first;

	r->next = first == UINT64_MAX ? r->out.info.first_batch : first;
	r->end = r->job->last == UINT64_MAX ? UINT64_MAX : r->job->last + 1;
	if (r->job->count < UINT64_MAX - r->next && r->next + r->job->count < r->end)
		r->end = r->next + r->job->count;
	if (r->end > all)
		r->end = all;
	r->begin = r->next;
	if (first != UINT64_MAX && all == 0)
		return report_error(EXIT_NO, "no batch %llu; %s has none",
		    (unsigned long long)first, r->job->source);
	if (first != UINT64_MAX && first >= all)
		return report_error(EXIT_NO, "no batch %llu; the last of %s is %llu",
		    (unsigned long long)first, r->job->source,
		    (unsigned long long)all - 1);
	return EXIT_DONE;
}

/* Describe the position of the token in words. */
static bool
tell_of_token(const struct read_run *r)
{
	if (!r->token.loaded)
		return true;
	if (r->next >= r->out.info.batches) {
		report_note("%s: all %llu batches have been read; --restart starts again",
		    r->token.path, (unsigned long long)r->out.info.batches);
		return false;
	}
	report_note("%s: continuing with batch %llu", r->token.path,
	    (unsigned long long)r->next);
	return true;
}

static int
set_up(struct read_run *r)
{
	static read_output_fn *const forms[] = {
		[READ_LIST] = read_list,
		[READ_IDS] = read_ids,
		[READ_SUM] = read_sum,
		[READ_FRAMES] = read_frames,
		[READ_NPY] = read_npy_files,
	};
	enum read_form form;
	int status = read_options_form(r->job->opts, &form);

	if (status != EXIT_DONE)
		return status;
	r->write = forms[form];
	if (r->token.path != NULL)
		status = tokenfile_check(&r->token);
	if (r->token.path != NULL && status == EXIT_DONE && !r->job->opts->restart)
		status = tokenfile_load(&r->token);
	if (status == EXIT_DONE)
		status = open_stream(r);
	if (status == EXIT_DONE)
		status = find_range(r);
	if (status != EXIT_DONE || !tell_of_token(r))
		return status;
	read_list_begin(&r->out);
	if (form == READ_NPY && lc__make_dirs(r->job->opts->npy) != LC_OK)
		return report_status(LC_IO);
	return open_reader(r, form);
}

/* Rows that do not fit into a cache below the least size are fetched by requests of
 * their own. */
static void
tell_ranges(const struct read_run *r)
{
	lc_fetch_stats fetch;

	if (sum_fetched(r->sources, &fetch) && fetch.ranges)
		report_note(
		    "%s: the cache is smaller than what a reader needs at once, so "
		    "rows are read by ranges; cachex plan prints the least cache",
		    r->job->source);
}

static int
read_all(struct read_run *r)
{
	const uint64_t begun = lc__clock_ns();
	int status;

	tell_ranges(r);
	if (metrics_due(&r->metrics) && write_metrics(r, false, false) != LC_OK)
		return report_status(lc_last_error()->status);
	progress_begin("read");
	r->on_terminal = isatty(STDOUT_FILENO);
	status = read_batches(r);
	if (r->write == read_frames && r->ended && status == EXIT_DONE)
		status = report_worse(read_frames_end(), report_finish(EXIT_DONE));
	if (r->out.shared != NULL && r->ended && status == EXIT_DONE)
		status = read_shared_finish(r->out.shared);
	status = report_worse(status, tokenfile_finish(&r->token, r->stream, r->next));
	progress_end();
	if (r->job->opts->stats)
		status = report_worse(status,
		    stream_stats_show(r->reader, r->sources, lc__clock_ns() - begun));
	if (r->metrics.path != NULL &&
	    write_metrics(r, true, status == EXIT_DONE) != LC_OK)
		status = report_worse(status, report_status(lc_last_error()->status));
	return status;
}

int
read_run(const struct read_job *job, struct stream_sources *sources)
{
	const struct stream_order *order = job->order;
	struct read_run r = {
		.job = job, .sources = sources,
		.token = { .path = job->opts->token_file,
		    .every = job->opts->token_every, },
		.out = { .opts = job->opts, .sources = sources,
		    .windows = order->window > 0, .window = order->window,
		    .shared = job->shared, },
		.metrics = { .path = job->opts->metrics, .command = "read",
		    .label = "source", .subject = job->source, },
	};
	int status;

	r.out.resumed = r.token.path != NULL;
	status = set_up(&r);
	r.out.stream = r.stream;
	if (r.reader != NULL && status == EXIT_DONE)
		status = read_all(&r);
	else if (status == EXIT_DONE && r.write == read_frames)
		status = report_worse(read_frames_end(), report_finish(EXIT_DONE));
	if (r.out.shared != NULL)
		read_shared_release(r.out.shared);
	lc_reader_close(r.reader);
	lc_stream_close(r.stream);
	return status;
}
