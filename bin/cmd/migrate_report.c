/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/migrate_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

#define SECOND 1000000000ull
#define LISTED 10 /* lines and findings, unless the output is JSON */

static struct {
	const struct lc__stage2 *how;
	const char *what; /* "verify", NULL for migrating, which counts records */
	bool terminal, shown;
	uint64_t start, next;   /* ns: begun, time of the next line */
	uint64_t before;        /* records of interrupted runs */
	bool begun;             /* before is known */
	uint64_t bad, findings; /* so many were listed, or would have been */
} report;

static uint64_t
total_of(const struct lc__stage2_counts *counts)
{
	return counts->migrated + counts->enriched + counts->extracted + counts->skipped;
}

/* ---- the line of progress ---------------------------------------------------------- */

void
migrate_report_begin(const struct lc__stage2 *how, const char *what)
{
	report.how = how;
	report.what = what;
	report.bad = report.findings = 0;
	report.terminal = isatty(STDERR_FILENO);
	report.start = lc__clock_ns();
	report.next = report.start + SECOND;
	interrupt_defer(true);
}

static void
clear_progress(void)
{
	if (report.shown)
		fputs("\r\033[K", stderr);
	report.shown = false;
}

void
migrate_report_end(void)
{
	clear_progress();
	interrupt_defer(false);
}

/* Is a line due? */
static bool
is_due(void)
{
	const uint64_t now = lc__clock_ns();

	if (settings.quiet || settings.progress == 0 ||
	    (settings.progress != 1 && !report.terminal) || now < report.next)
		return false;
	report.next = now + (report.terminal ? SECOND / 8 : 5 * SECOND);
	return true;
}

static void
print_counts(FILE *out, const struct lc__stage2_counts *counts)
{
	const uint64_t total = total_of(counts), now = total - report.before;
	const double seconds = (double)(lc__clock_ns() - report.start) / (double)SECOND;

	fprintf(out,
	    "progress: %" PRIu64 " migrated, %" PRIu64 " enriched, %" PRIu64
	    " extracted, %" PRIu64 " skipped (total: %" PRIu64 ") rate=%.1f/s",
	    counts->migrated, counts->enriched, counts->extracted, counts->skipped, total,
	    seconds > 0 ? (double)now / seconds : 0);
}

/* "verify: 12.0 MiB of 34.0 MiB" */
static void
print_bytes(uint64_t done, uint64_t total)
{
	char now[SIZE_TEXT], all[SIZE_TEXT];

	fprintf(stderr, "%s: %s of %s", report.what,
	    size_human((double)done, now, sizeof(now)),
	    size_human((double)total, all, sizeof(all)));
}

static void
end_line(void)
{
	report.shown = report.terminal;
	if (!report.terminal)
		fputc('\n', stderr);
}

int
migrate_report_progress(void *ctx, const struct lc__stage2_counts *counts, uint64_t done,
    uint64_t total)
{
	(void)ctx;
	if (!report.begun)
		report.before = total_of(counts);
	report.begun = true;
	if (is_due()) {
		clear_progress();
		if (report.what != NULL)
			print_bytes(done, total);
		else
			print_counts(stderr, counts);
		end_line();
	}
	return interrupt_pending();
}

int
migrate_report_filling(void *ctx, enum lc__stage2_pass pass,
    const struct lc__filled *so_far)
{
	(void)ctx;
	if (is_due()) {
		clear_progress();
		fprintf(stderr,
		    "%s: %" PRIu64 " stored, %" PRIu64 " there, %" PRIu64 " failed",
		    report.how->module[pass], so_far->stored, so_far->there,
		    so_far->failed);
		end_line();
	}
	return interrupt_pending();
}

/* ---- lines and records that something is wrong with --------------------------------- */

void
migrate_report_bad(void *ctx, uint64_t number, uint64_t column, const char *why)
{
	struct json json = { stdout, false };

	(void)ctx;
	clear_progress();
	report.bad++;
	if (!settings.json && report.bad > LISTED)
		return;
	if (!settings.json) {
		report_error(EXIT_DATA, "%s:%" PRIu64 ":%" PRIu64 ": %s",
		    report.how->file, number, column, why);
		return;
	}
	jw_open(&json, NULL, '{');
	jw_text(&json, "file", report.how->file);
	jw_count(&json, "line", number);
	jw_count(&json, "column", column);
	jw_text(&json, "bad", why);
	jw_end_line(&json);
}

/* How many a list of ten leaves out. */
static void
show_more(uint64_t listed, const char *noun)
{
	char text[SIZE_TEXT];

	if (!settings.json && listed > LISTED)
		printf("... and %s more; --json lists all\n",
		    count_human(listed - LISTED, noun, text, sizeof(text)));
}

void
migrate_report_warning(void *ctx, const char *text)
{
	(void)ctx;
	clear_progress();
	report_note("%s", text);
}

void
migrate_report_finding(void *ctx, uint64_t number, const char *id, const char *what)
{
	struct json json = { stdout, false };

	(void)ctx;
	clear_progress();
	report.findings++;
	if (!settings.json && report.findings > LISTED)
		return;
	if (!settings.json) {
		printf("%s:%" PRIu64 ": %s%s%s\n", report.how->file, number, id,
		    *id != '\0' ? ": " : "", what);
		return;
	}
	jw_open(&json, NULL, '{');
	jw_text(&json, "file", report.how->file);
	jw_count(&json, "line", number);
	jw_text(&json, "image_id", id);
	jw_text(&json, "finding", what);
	jw_end_line(&json);
}

/* ---- the result ----------------------------------------------------------------------- */

static bool
has_encoder(int pass)
{
	return report.how->pass[pass] && report.how->encoder[pass] != NULL;
}

static void
show_encoders(const struct lc__stage2_done *done)
{
	char text[SIZE_TEXT];

	for (int p = 0; p < LC__PASS_MODULES; p++) {
		const struct lc__filled *f = &done->filled[p];
		if (has_encoder(p) && !report.how->dry_run)
			printf("%s: %" PRIu64 " stored, %" PRIu64
			       " of them again, %" PRIu64 " there, %" PRIu64 " failed\n",
			    report.how->module[p], f->stored, f->wrong, f->there,
			    f->failed);
	}
	if (!report.how->dry_run)
		return;
	printf("about %" PRIu64 " records need %s", done->needs.records,
	    size_human((double)done->needs.lines, text, sizeof(text)));
	for (int p = 0; p < LC__PASS_MODULES; p++)
		if (done->needs.modules[p] > 0)
			printf(", %s for %s",
			    size_human((double)done->needs.modules[p], text,
				sizeof(text)),
			    report.how->module[p]);
	putchar('\n');
}

/* "2 bad lines, unchanged" */
static void
show_count(uint64_t count, const char *noun, const char *what)
{
	char text[SIZE_TEXT];

	if (count > 0)
		printf("%s, %s\n", count_human(count, noun, text, sizeof(text)), what);
}

static void
show_text(const struct lc__stage2_done *done)
{
	const struct lc__stage2_counts *counts = &done->counts;

	print_counts(stdout, counts);
	putchar('\n');
	show_count(counts->bad, "bad line",
	    report.bad > LISTED
		? "unchanged, the first ten of them listed; --json lists all"
		: "unchanged");
	show_count(counts->left, "line", "left to later runs, as --limit is reached");
	show_count(done->restored, "tensor", "restored from the original lines");
	show_count(counts->newer, "record", "of a newer version, unchanged");
	show_count(counts->foreign, "record",
	    report.how->force
		? "with an image_id that was not of their image_path, replaced"
		: "with an image_id that is not of their image_path, unchanged");
	show_count(counts->shared, "record",
	    "with a longer image_id, as simpler ones are those of others");
	show_count(counts->extreme, "record", "with a ratio outside of 0.4 to 2.5");
	if (done->rewritten)
		printf("the original is %s\n", done->backup);
	show_encoders(done);
}

static void
json_encoders(struct json *json, const struct lc__stage2_done *done)
{
	jw_open(json, "encoders", '{');
	for (int p = 0; p < LC__PASS_MODULES; p++) {
		const struct lc__filled *f = &done->filled[p];
		if (!has_encoder(p) || report.how->dry_run)
			continue;
		jw_open(json, lc__stage2_passes[p], '{');
		jw_text(json, "module", report.how->module[p]);
		jw_count(json, "stored", f->stored);
		jw_count(json, "again", f->wrong);
		jw_count(json, "there", f->there);
		jw_count(json, "failed", f->failed);
		jw_close(json, '}');
	}
	jw_close(json, '}');
}

static void
json_needs(struct json *json, const struct lc__stage2_needs *needs)
{
	jw_open(json, "needs", '{');
	jw_count(json, "records", needs->records);
	jw_count(json, "lines_bytes", needs->lines);
	for (int p = 0; p < LC__PASS_MODULES; p++) {
		char key[64];
		snprintf(key, sizeof(key), "%s_bytes", lc__stage2_passes[p]);
		jw_count(json, key, needs->modules[p]);
	}
	jw_close(json, '}');
}

static void
show_json(const struct lc__stage2_done *done)
{
	const struct lc__stage2_counts *counts = &done->counts;
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "file", report.how->file);
	jw_count(&json, "migrated_new", counts->migrated);
	jw_count(&json, "enriched", counts->enriched);
	jw_count(&json, "extracted", counts->extracted);
	jw_count(&json, "skipped", counts->skipped);
	jw_count(&json, "total", done->total);
	jw_count(&json, "bad", counts->bad);
	jw_count(&json, "blank", counts->blank);
	jw_count(&json, "newer", counts->newer);
	jw_count(&json, "foreign_ids", counts->foreign);
	jw_count(&json, "left", counts->left);
	jw_count(&json, "restored", done->restored);
	jw_count(&json, "longer_ids", counts->shared);
	jw_count(&json, "extreme_ratios", counts->extreme);
	jw_flag(&json, "resumed", done->resumed);
	jw_flag(&json, "rewritten", done->rewritten);
	if (*done->backup != '\0')
		jw_text(&json, "backup", done->backup);
	json_encoders(&json, done);
	json_needs(&json, &done->needs);
	jw_end_line(&json);
}

void
migrate_report_done(const struct lc__stage2_done *done)
{
	clear_progress();
	if (settings.json)
		show_json(done);
	else if (!settings.quiet)
		show_text(done);
}

void
migrate_report_verified(const struct lc__stage2_verified *v)
{
	struct json json = { stdout, false };
	char text[SIZE_TEXT];

	clear_progress();
	show_more(report.findings, "finding");
	if (!settings.json) {
		printf("%s: %s", report.how->file,
		    count_human(v->records, "record", text, sizeof(text)));
		for (int p = 0; p < LC__PASS_MODULES; p++)
			if (v->asked[p])
				printf(", %" PRIu64 " good in %s", v->tensors[p],
				    report.how->module[p]);
		printf("; %s", count_human(v->bad, "bad line", text, sizeof(text)));
		printf(", %s\n", count_human(v->findings, "finding", text, sizeof(text)));
		return;
	}
	jw_open(&json, NULL, '{');
	jw_text(&json, "file", report.how->file);
	jw_count(&json, "records", v->records);
	jw_count(&json, "bad", v->bad);
	for (int p = 0; p < LC__PASS_MODULES; p++)
		if (v->asked[p])
			jw_count(&json, lc__stage2_passes[p], v->tensors[p]);
	jw_count(&json, "findings", v->findings);
	jw_flag(&json, "ok", v->findings == 0);
	jw_end_line(&json);
}

void
migrate_report_rolled(const struct lc__stage2_rolled *r)
{
	struct json json = { stdout, false };
	char text[SIZE_TEXT];

	clear_progress();
	show_more(report.findings, "finding");
	if (settings.quiet && !settings.json)
		return;
	if (!settings.json) {
		printf("%s: %s rolled back", report.how->file,
		    count_human(r->back, "line", text, sizeof(text)));
		printf(", %" PRIu64 " without an array, %" PRIu64
		       " left as they are, %" PRIu64 " not of version 2\n",
		    r->without, r->kept, r->other);
		if (r->rewritten)
			printf("the file as it was is %s\n", r->backup);
		return;
	}
	jw_open(&json, NULL, '{');
	jw_text(&json, "file", report.how->file);
	jw_count(&json, "rolled_back", r->back);
	jw_count(&json, "without_array", r->without);
	jw_count(&json, "kept", r->kept);
	jw_count(&json, "other", r->other);
	jw_count(&json, "blank", r->blank);
	jw_flag(&json, "rewritten", r->rewritten);
	if (*r->backup != '\0')
		jw_text(&json, "backup", r->backup);
	jw_end_line(&json);
}
