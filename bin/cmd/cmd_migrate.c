/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/words.h"
#include "formats/json_elements.h"
#include "migrate/stage2.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/task.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static const char *out_dir;
static const char *field = "dinov3_embedding";
static const char *dtype = "f32";
static const char *shape = "1024";
static struct opt_list modules;
static struct opt_list passes;
static struct opt_list encoders;
static struct opt_list expects;
static const char *images;
static const char *backup;
static uint64_t children = 1;
static uint64_t batch = 4;
static uint64_t timeout = 600;
static uint64_t start_timeout = 600;
static uint64_t limit;
static int verify;
static int repair;
static int rollback;
static int force;
static int dry_run;
static struct job_task task;

static struct opt options[] = {
	{ "o", "out", OPT_DIR, &out_dir, .value = "DIR",
	    .help = "the root of the modules; required" },
	{ "", "field", OPT_TEXT, &field, .value = "NAME",
	    .help = "the member with the array" },
	{ "", "dtype", OPT_TEXT, &dtype, .value = "DTYPE",
	    .help = "dtype of the array in the module" },
	{ "", "shape", OPT_TEXT, &shape, .value = "N,N,...",
	    .help = "shape that the array must have" },
	{ "", "module", OPT_LIST, &modules, .value = "[PASS=]MODULE",
	    .help = "the module of a pass, without PASS= of dinov3; default dinov3, "
		    "vae_latents, t5_hidden" },
	{ "", "pass", OPT_LIST, &passes, .value = "PASS",
	    .help = "run only this pass: dinov3, vae, t5, migrate; may be repeated" },
	{ "", "encoder", OPT_LIST, &encoders, .value = "PASS=COMMAND",
	    .help = "a producer that computes the missing tensors of a pass" },
	{ "", "expect", OPT_LIST, &expects, .value = "PASS=DTYPE[DIMS]",
	    .help = "required type of the tensors of a pass" },
	{ "", "images", OPT_DIR, &images, .value = "DIR",
	    .help = "look for images in DIR if height or width is missing" },
	{ "", "backup", OPT_FILE, &backup, .value = "FILE",
	    .help = "keep the original in FILE; default RECORDS.stage1.backup" },
	{ "j", "children", OPT_COUNT, &children, .value = "N", .least = 1, .most = 1024,
	    .help = "run N producers at a time" },
	{ "b", "batch", OPT_COUNT, &batch, .value = "N", .least = 1, .most = 1u << 20,
	    .help = "give a producer N records at a time" },
	{ "t", "timeout", OPT_COUNT, &timeout, .value = "SECONDS", .most = 1u << 24,
	    .help = "kill a producer that takes longer for a batch; 0 for never" },
	{ "", "start-timeout", OPT_COUNT, &start_timeout, .value = "SECONDS",
	    .most = 1u << 24, .help = "the same for a producer's first batch" },
	{ "", "verify", OPT_FLAG, &verify,
	    .help = "change nothing: list what is missing, of another shape, not finite, "
		    "damaged or bad" },
	{ "", "repair", OPT_FLAG, &repair,
	    .help = "migrate, repair what --verify finds, and verify" },
	{ "", "rollback", OPT_FLAG, &rollback,
	    .help = "put the arrays back into the lines" },
	TASK_OPTION,
	{ "", "limit", OPT_COUNT, &limit, .value = "N", .least = 1, .most = UINT64_MAX,
	    .help = "migrate N records, and leave the others to later runs" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "replace tensors that differ, and image_ids of other programs; "
		    "continue with another file" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "count, and estimate the required space; change nothing" },
	{ .kind = OPT_END },
};

/* ---- what it reports ------------------------------------------------------------- */

#define SECOND 1000000000ull
#define LISTED 10 /* lines and findings, unless the output is JSON */

static struct {
	const struct lc__stage2 *how;
	const char *what; /* "verify", NULL for migrating, which counts records */
	bool terminal, shown;
	uint64_t start, next;   /* ns: begun, time of the next line */
	uint64_t before;        /* records of interrupted runs */
	bool begun;             /* before is known */
	uint64_t bad, findings; /* how many were listed, or would have been */
} report;

static uint64_t
total_of(const struct lc__stage2_counts *counts)
{
	return counts->migrated + counts->enriched + counts->extracted + counts->skipped;
}

/* ---- the line of progress ---------------------------------------------------------- */

/* Signals are deferred until end_work(). @p what is the work whose progress is counted in
 * bytes, "verify"; NULL for a migration, which counts records. */
static void
begin_work(const struct lc__stage2 *how, const char *what)
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

static void
end_work(void)
{
	clear_progress();
	interrupt_defer(false);
}

/* Is it time to print a line? */
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

static void
end_line(void)
{
	report.shown = report.terminal;
	if (!report.terminal)
		fputc('\n', stderr);
}

static int
on_progress(void *ctx, const struct lc__stage2_counts *counts, uint64_t done,
    uint64_t total)
{
	char now[SIZE_TEXT], all[SIZE_TEXT];

	(void)ctx;
	if (!report.begun)
		report.before = total_of(counts);
	report.begun = true;
	if (is_due()) {
		clear_progress();
		if (report.what != NULL)
			fprintf(stderr, "%s: %s of %s", report.what,
			    size_human((double)done, now, sizeof(now)),
			    size_human((double)total, all, sizeof(all)));
		else
			print_counts(stderr, counts);
		end_line();
	}
	return interrupt_pending();
}

static int
on_filling(void *ctx, enum lc__stage2_pass pass, const struct lc__filled *so_far)
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

/* ---- bad lines and records ------------------------------------------------------- */

static void
on_bad(void *ctx, uint64_t number, uint64_t column, const char *why)
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

/* How many more than the ten that are listed. */
static void
show_more(uint64_t listed, const char *noun)
{
	char text[SIZE_TEXT];

	if (!settings.json && listed > LISTED)
		printf("... and %s more; --json lists all\n",
		    count_human(listed - LISTED, noun, text, sizeof(text)));
}

static void
on_warning(void *ctx, const char *text)
{
	(void)ctx;
	clear_progress();
	report_note("%s", text);
}

static void
on_finding(void *ctx, uint64_t number, const char *id, const char *what)
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
	char text[SIZE_TEXT];

	if (task.of > 1)
		printf("task %u/%u of the lines\n", (unsigned)task.number,
		    (unsigned)task.of);
	print_counts(stdout, counts);
	putchar('\n');
	show_count(counts->bad, "bad line",
	    report.bad > LISTED
		? "unchanged, the first ten of them listed; --json lists all"
		: "unchanged");
	show_count(counts->left, "line", "left to later runs: --limit is reached");
	show_count(done->restored, "tensor", "restored from the original lines");
	show_count(counts->newer, "record", "of a newer version, unchanged");
	show_count(counts->foreign, "record",
	    report.how->force
		? "with an image_id that did not come from image_path, replaced"
		: "with an image_id that does not come from image_path, unchanged");
	show_count(counts->shared, "record",
	    "with a longer image_id: other records have the shorter ones");
	show_count(counts->extreme, "record", "with a ratio outside of 0.4 to 2.5");
	if (done->rewritten)
		printf("the original is %s\n", done->backup);

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

static void
show_json(const struct lc__stage2_done *done)
{
	const struct lc__stage2_counts *counts = &done->counts;
	struct json json = { stdout, false };
	char key[64];

	jw_open(&json, NULL, '{');
	jw_text(&json, "file", report.how->file);
	if (task.of > 1) {
		jw_count(&json, "task", task.number);
		jw_count(&json, "tasks", task.of);
	}
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
	jw_open(&json, "encoders", '{');
	for (int p = 0; p < LC__PASS_MODULES; p++) {
		const struct lc__filled *f = &done->filled[p];

		if (!has_encoder(p) || report.how->dry_run)
			continue;
		jw_open(&json, lc__stage2_passes[p], '{');
		jw_text(&json, "module", report.how->module[p]);
		jw_count(&json, "stored", f->stored);
		jw_count(&json, "again", f->wrong);
		jw_count(&json, "there", f->there);
		jw_count(&json, "failed", f->failed);
		jw_close(&json, '}');
	}
	jw_close(&json, '}');
	jw_open(&json, "needs", '{');
	jw_count(&json, "records", done->needs.records);
	jw_count(&json, "lines_bytes", done->needs.lines);
	for (int p = 0; p < LC__PASS_MODULES; p++) {
		snprintf(key, sizeof(key), "%s_bytes", lc__stage2_passes[p]);
		jw_count(&json, key, done->needs.modules[p]);
	}
	jw_close(&json, '}');
	jw_end_line(&json);
}

static void
show_done(const struct lc__stage2_done *done)
{
	clear_progress();
	if (settings.json)
		show_json(done);
	else if (!settings.quiet)
		show_text(done);
}

static void
show_verified(const struct lc__stage2_verified *v)
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

static void
show_rolled(const struct lc__stage2_rolled *r)
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
		       " left unchanged, %" PRIu64 " not of version 2\n",
		    r->without, r->kept, r->other);
		if (r->rewritten)
			printf("the previous file is %s\n", r->backup);
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

/* ---- options ---------------------------------------------------------------------- */

static const char *const default_modules[LC__PASS_MODULES] = { "dinov3", "vae_latents",
	"t5_hidden" };
static const char *const default_expects[LC__PASS_MODULES] = { NULL, "f16[16,*,*]",
	"f16[77,1024]" };

/* "vae=TEXT": the pass and its text. False after a message. */
static bool
split(const char *option, const char *text, unsigned *pass, const char **rest)
{
	const char *equals = strchr(text, '=');
	char name[16] = "";

	if (equals != NULL && (size_t)(equals - text) < sizeof(name))
		memcpy(name, text, (size_t)(equals - text));
	if (*name == '\0' ||
	    lc__word_parse("pass", lc__stage2_passes, name, pass) != LC_OK ||
	    *pass >= LC__PASS_MODULES) {
		report_usage("--%s %s: not dinov3=, vae= or t5= with a value", option,
		    text);
		return false;
	}
	*rest = equals + 1;
	return true;
}

static bool
take_modules(struct lc__stage2 *how)
{
	for (int p = 0; p < LC__PASS_MODULES; p++)
		how->module[p] = default_modules[p];
	for (size_t i = 0; i < modules.count; i++) {
		const char *name = modules.items[i];
		unsigned pass = LC__PASS_DINOV3;
		if (strchr(name, '=') != NULL && !split("module", name, &pass, &name))
			return false;
		how->module[pass] = name;
	}
	for (int p = 0; p < LC__PASS_MODULES; p++)
		for (int q = 0; q < LC__PASS_MODULES; q++)
			if (strcmp(how->module[p], "stage2") == 0 ||
			    (p != q && strcmp(how->module[p], how->module[q]) == 0)) {
				report_usage("--module: %s is used twice, or is stage2",
				    how->module[p]);
				return false;
			}
	return true;
}

/* Find the encoders, and the passes that are requested, or else all that are possible; a
 * verification, with which --repair ends, chooses for itself. */
static bool
take_passes(struct lc__stage2 *how)
{
	for (size_t i = 0; i < encoders.count; i++) {
		const char *command;
		unsigned pass;

		if (!split("encoder", encoders.items[i], &pass, &command))
			return false;
		how->encoder[pass] = command;
	}
	for (size_t i = 0; i < passes.count; i++) {
		unsigned pass;
		if (lc__word_parse("pass", lc__stage2_passes, passes.items[i], &pass) !=
		    LC_OK) {
			report_usage("--pass %s: not dinov3, vae, t5 or migrate",
			    passes.items[i]);
			return false;
		}
		if ((pass == LC__PASS_VAE || pass == LC__PASS_T5) && !verify && !repair &&
		    how->encoder[pass] == NULL) {
			report_usage("--pass %s needs --encoder %s=COMMAND",
			    passes.items[i], passes.items[i]);
			return false;
		}
		how->pass[pass] = true;
	}
	how->named = passes.count > 0;
	for (int p = 0; p < LC__PASSES && passes.count == 0; p++)
		how->pass[p] = verify || p == LC__PASS_DINOV3 || p == LC__PASS_MIGRATE ||
		    how->encoder[p] != NULL;
	return true;
}

static bool
take_expect(struct lc__stage2 *how, unsigned pass, const char *text)
{
	if (lc__expect_parse(text, &how->expect[pass]) == LC_OK &&
	    how->expect[pass].path_size == 0)
		return true;
	report_usage("--expect %s=%s: not a DTYPE[DIMS] of a tensor",
	    lc__stage2_passes[pass], text);
	return false;
}

static bool
take_expects(struct lc__stage2 *how)
{
	for (unsigned p = LC__PASS_VAE; p < LC__PASS_MODULES; p++)
		if (!take_expect(how, p, default_expects[p]))
			return false;
	for (size_t i = 0; i < expects.count; i++) {
		const char *text;
		unsigned pass;
		if (!split("expect", expects.items[i], &pass, &text))
			return false;
		if (!take_expect(how, pass, text))
			return false;
	}
	return true;
}

/* What the array is is what its module is expected to hold. */
static bool
take_array(struct lc__stage2 *how, uint64_t dims[LC_MAX_NDIM])
{
	struct lc__expect *expect = &how->expect[LC__PASS_DINOV3];
	lc_tensor tensor;

	if (lc_dtype_parse(dtype, &how->dtype) != LC_OK ||
	    !lc__json_has_dtype(how->dtype)) {
		report_usage("--dtype %s: not a dtype of numbers", dtype);
		return false;
	}
	if (shape_parse(shape, &how->ndim, dims) != LC_OK || how->ndim == 0 ||
	    lc_tensor_init(&tensor, how->dtype, how->ndim, dims, NULL) != LC_OK) {
		report_usage("--shape %s: not a shape of an array", shape);
		return false;
	}
	how->shape = dims;
	*expect = (struct lc__expect){
		.path = "",
		.dtype = how->dtype,
		.ndim = how->ndim,
		.ellipsis = UINT32_MAX,
	};
	memcpy(expect->shape, dims, sizeof(expect->shape));
	return true;
}

static void
producer_line(void *ctx, unsigned child, const char *text)
{
	char line[700];

	(void)ctx;
	if (!settings.verbose)
		return;
	snprintf(line, sizeof(line), "producer %u: %s", child, text);
	on_warning(NULL, line);
}

static struct lc__stage2
make_how(const char *file)
{
	return (struct lc__stage2){
		.file = file, .dir = out_dir, .field = field, .images = images,
		.backup = backup, .batch = batch, .force = force, .dry_run = dry_run,
		.repair = repair, .limit = limit,
		.task = task.number, .tasks = task.of > 1 ? task.of : 0,
		.producers = {
			.children = (unsigned)children, .ahead = 1, .retries = 1,
			.give_up = 10, .timeout_ms = timeout * 1000,
			.start_timeout_ms = start_timeout * 1000,
			.frame_max = (uint64_t)1 << 30, .isolate = true,
			.line = producer_line,
		},
		.bad = on_bad, .warn = on_warning,
		.finding = on_finding, .step = on_progress,
		.filling = on_filling,
	};
}

/* ---- running ----------------------------------------------------------------------------- */

static int
stopped(lc_status status)
{
	return status == LC_CANCELLED ? interrupt_status() : report_status(status);
}

static int
verify_stage2(const struct lc__stage2 *how)
{
	struct lc__stage2_verified verified;
	const lc_status status = lc__stage2_verify(how, &verified);

	end_work();
	if (status != LC_OK)
		return stopped(status);
	show_verified(&verified);
	return verified.findings > 0 ? EXIT_NO : EXIT_DONE;
}

static int
migrate_stage2_file(const struct lc__stage2 *how)
{
	struct lc__stage2_done done;
	lc_status status = lc__stage2_run(how, &done);
	int result = EXIT_DONE;

	end_work();
	if (status != LC_OK)
		result = stopped(status);
	if (status == LC_OK || status == LC_CANCELLED || status == LC_FAILED)
		show_done(&done);
	for (int p = 0; p < LC__PASS_MODULES; p++)
		if (done.filled[p].failed > 0)
			result = report_worse(result, EXIT_NO);
	if (done.counts.bad > 0 || done.counts.newer > 0 ||
	    (done.counts.foreign > 0 && !how->force))
		result = report_worse(result, EXIT_DATA);
	return result;
}

static int
rollback_stage2(const struct lc__stage2 *how)
{
	struct lc__stage2_rolled rolled;
	const lc_status status = lc__stage2_rollback(how, &rolled);

	end_work();
	if (status != LC_OK)
		return stopped(status);
	show_rolled(&rolled);
	return rolled.without > 0 || rolled.kept > 0 ? EXIT_NO : EXIT_DONE;
}

static int
run_migrate_stage2(int argc, char **argv)
{
	uint64_t dims[LC_MAX_NDIM];
	struct lc__stage2 how;
	const int modes = verify + repair + rollback;
	int status = task_take(options, "migrate stage2", &task);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	how = make_how(argv[0]);
	if (out_dir == NULL)
		return report_usage("stage2 needs --out DIR");
	if (modes > 1)
		return report_usage(
		    "--verify, --repair and --rollback exclude each other");
	if (modes > 0 && limit > 0)
		return report_usage("--limit excludes --verify, --repair and --rollback");
	if (modes > 0 && task_option != NULL)
		return report_usage("--shard excludes --verify, --repair and --rollback");
	if (limit > 0 && task_option != NULL)
		return report_usage("--shard and --limit exclude each other");
	if (repair && dry_run)
		return report_usage(
		    "--repair has no --dry-run; use --verify to list the findings");
	if (!take_modules(&how) || !take_passes(&how) || !take_array(&how, dims) ||
	    !take_expects(&how))
		return EXIT_USAGE;
	if (task_option != NULL &&
	    (how.pass[LC__PASS_MIGRATE] || how.pass[LC__PASS_DINOV3]))
		return report_usage(
		    "--shard works only with --pass vae and --pass t5; the "
		    "other passes assign image_ids in the order of the lines");

	if (verify || rollback || dry_run)
		interrupt_resume(INTERRUPT_AGAIN);
	begin_work(&how, verify ? "verify" : rollback ? "rollback" : NULL);
	if (verify)
		return verify_stage2(&how);
	if (rollback)
		return rollback_stage2(&how);
	status = migrate_stage2_file(&how);
	if (!repair || (status != EXIT_DONE && status != EXIT_NO && status != EXIT_DATA))
		return status;

	/* After a repair, list what is still wrong. */
	for (int p = 0; p < LC__PASSES && !how.named; p++)
		how.pass[p] = true;
	interrupt_resume(INTERRUPT_AGAIN);
	begin_work(&how, "verify");
	return report_worse(status, verify_stage2(&how));
}

static const struct command migrate_stage2 = {
	.name = "migrate stage2",
	.operands = "RECORDS --out DIR",
	.summary = "move arrays from a file of JSON lines into modules",
	.text =
	    "RECORDS is a file with one JSON object per line. Its arrays, the member "
	    "dinov3_embedding or that of --field, go into the module dinov3 below DIR, and "
	    "each line gets image_id, aspect_bucket and format_version 2. The rest of the "
	    "line does not change, byte for byte. The original is kept as "
	    "RECORDS.stage1.backup.\n"
	    "With --encoder, producers (cachex-producer(5)) compute the missing tensors of "
	    "the modules vae_latents and t5_hidden, or dinov3. With --shard I/N the passes "
	    "vae and t5 encode line P, counted from 0, if P modulo N is I, into a DIR of "
	    "that task.\n"
	    "Run the same command to continue a run that was killed. Bad lines do not "
	    "change, and the exit status is 3; it is 1 if encoders failed on records, or "
	    "--verify has findings. --rollback puts the arrays back.",
	.examples =
	    "cachex migrate stage2 records.jsonl --out derived -n\n"
	    "cachex migrate stage2 records.jsonl --out derived\n"
	    "cachex migrate stage2 records.jsonl --out derived --verify --pass dinov3 "
	    "--pass migrate",
	.completes = "f",
	.resume = "run the same command to continue",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_migrate_stage2,
};

static struct opt no_options[] = { { .kind = OPT_END } };

static const struct command *const subcommands[] = { &migrate_stage2, NULL };

const struct command cmd_migrate = {
	.name = "migrate",
	.operands = "stage2 RECORDS --out DIR",
	.summary = "move data sets of other layouts into modules",
	.text = "stage2 moves arrays from a file of JSON lines into modules.",
	.examples = "cachex migrate stage2 records.jsonl --out derived",
	.completes = "",
	.least = 1,
	.most = -1,
	.subcommands = subcommands,
	.options = no_options,
};
