/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/stream_stats.h"

#include <stdio.h>

#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static void
show_json(const lc_reader_stats *stats, double seconds)
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

	fprintf(stderr, "  %-18s %s\n", name, size_human((double)bytes, text,
	    sizeof(text)));
}

static void
show_text(const lc_reader_stats *stats, double seconds)
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
	fprintf(stderr, "  %-18s %.3f s\n", "waited", (double)stats->wait_ns / 1e9);
	fprintf(stderr, "  %-18s %.3f s\n", "worked", (double)stats->work_ns / 1e9);
	fprintf(stderr, "  %-18s %.3f s, %.0f examples/s, %s/s\n", "took", seconds,
	    (double)stats->examples / seconds,
	    size_human((double)stats->bytes / seconds, text, sizeof(text)));
}

int
stream_stats_show(const lc_reader *reader, uint64_t ns)
{
	lc_reader_stats stats = { .struct_size = sizeof(stats) };
	const double seconds = (double)(ns > 0 ? ns : 1) / 1e9;
	const lc_status got = lc_reader_stat(reader, &stats);

	if (got != LC_OK)
		return report_status(got);
	fflush(stdout);
	if (settings.json)
		show_json(&stats, seconds);
	else
		show_text(&stats, seconds);
	return EXIT_DONE;
}
