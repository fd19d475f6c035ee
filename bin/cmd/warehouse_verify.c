/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex warehouse verify: reads everything, and reports what is wrong. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "cmd/warehouse.h"
#include "format/manifest.h"
#include "format/summary.h"
#include "lmdbcache.h"
#include "objects/url.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "value/dtype.h"
#include "warehouse/about.h"
#include "warehouse/place.h"
#include "warehouse/tool.h"

static const char *dataset;
static int sources;

static struct opt options[] = { WAREHOUSE_SOURCES_OPTIONS(sources, dataset),
	STORE_LOOK_OPTIONS, { .kind = OPT_END } };

/* ---- boxes and masks --------------------------------------------------------------- */

#define NO_BOX UINT64_MAX
#define MOST_FINDINGS 20 /* of one shard; more say no more */

/* Element @p i of a tensor. */
static double
element_at(const lc_tensor *tensor, uint64_t i)
{
	return lc__element_real(tensor->dtype,
	    (const char *)tensor->data + i * lc_dtype_size(tensor->dtype));
}

/* The number of ones at the beginning of a mask; -1 if anything but zeros follows. */
static int64_t
count_mask(const lc_tensor *mask)
{
	const uint64_t n = mask->shape[0];
	uint64_t ones = 0;

	while (ones < n && element_at(mask, ones) == 1)
		ones++;
	for (uint64_t i = ones; i < n; i++)
		if (element_at(mask, i) != 0)
			return -1;
	return (int64_t)ones;
}

/* The fault of a sample, NULL without one, and the box that has it; NO_BOX for its mask. */
static const char *
check_sample(const lc_sample *sample, uint64_t *box, uint64_t *ones)
{
	const lc_tensor *boxes = &sample->boxes;
	const int64_t n = count_mask(&sample->mask);

	if (n < 0) {
		*box = NO_BOX;
		return "the mask is not ones and then zeros";
	}
	for (*box = 0; *box < sample->mask.shape[0]; ++*box) {
		const double x0 = element_at(boxes, 4 * *box);
		const double y0 = element_at(boxes, 4 * *box + 1);
		const double x1 = element_at(boxes, 4 * *box + 2);
		const double y1 = element_at(boxes, 4 * *box + 3);

		/* Written so that a NaN fails each comparison. */
		if (*box >= (uint64_t)n && !(x0 == 0 && y0 == 0 && x1 == 0 && y1 == 0))
			return "is not 0 where the mask is";
		if (*box >= (uint64_t)n)
			continue;
		if (!(x0 >= 0 && y0 >= 0 && x1 <= 1 && y1 <= 1))
			return "is not within 0 to 1";
		if (!(x0 < x1 && y0 < y1))
			return "is empty";
	}
	*ones += (uint64_t)n;
	return NULL;
}

/* Look at a sample; a line to progress->damage if it is wrong: false then. */
static bool
check_sample_boxes(const lc_sample *sample, uint64_t i, const char *path,
    const lc_progress *progress, uint64_t *boxes)
{
	uint64_t box;
	const char *wrong = check_sample(sample, &box, boxes);
	char line[1000];

	if (wrong == NULL)
		return true;
	if (box == NO_BOX)
		snprintf(line, sizeof(line), "%s: sample %llu: %s", path,
		    (unsigned long long)i, wrong);
	else
		snprintf(line, sizeof(line), "%s: sample %llu: box %llu %s", path,
		    (unsigned long long)i, (unsigned long long)box, wrong);
	progress->damage(progress->ctx, line);
	return false;
}

/*
 * Look at every sample; a line to progress->damage for each that is wrong.
 * @param boxes  how many there are is added to it
 * @return LC_OK whatever is found; LC_CANCELLED if progress->step or a signal asks.
 */
static lc_status
check_boxes(const lc_shard *shard, const char *path, const lc_progress *progress,
    uint64_t *boxes)
{
	const lc_shard_info *info = lc_shard_info_of(shard);
	unsigned findings = 0;
	lc_sample sample;

	if (info->max_boxes == 0)
		return LC_OK;
	for (uint64_t i = 0; i < info->samples && findings < MOST_FINDINGS; i++) {
		if (interrupt_pending())
			return LC_CANCELLED;
		if (lc_shard_sample(shard, i, &sample) != LC_OK)
			continue; /* the check of rows reports it */
		findings += !check_sample_boxes(&sample, i, path, progress, boxes);
	}
	return LC_OK;
}

/* ---- the check --------------------------------------------------------------------- */

/* The state of a verification. */
struct check {
	lc_warehouse *warehouse; /* its manifest only, unless that is of parts */
	uint64_t number;         /* of the shard that is checked, of one of parts */
	const char *dir;         /* of these, all borrowed from it */
	const struct lc__manifest *manifest;
	const struct lc__warehouse_about *about; /* NULL of an export */
	lc_progress progress;                    /* its callbacks; the context is this */
	unsigned findings;
	bool refusing; /* findings are reasons for readers to refuse it, not damage */
	int status;    /* an exit status for the findings */
	bool stale;
	uint64_t samples, boxes; /* found in the shards */
	bool counted;            /* in all of them */
};

/* ---- findings ----------------------------------------------------------------- */

static void
show_finding(void *ctx, const char *line)
{
	struct check *c = ctx;
	struct json json = { stdout, false };

	c->findings++;
	c->status = report_worse(c->status, c->refusing ? EXIT_NO : EXIT_DATA);
	progress_clear();
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "warehouse", c->dir);
		jw_text(&json, "finding", line);
		jw_end_line(&json);
	} else {
		printf("%s\n", line);
	}
}

/* Is it a fault of the warehouse? Without memory or permission that is unknown. */
static bool
is_fault(lc_status status)
{
	return status != LC_OK && status != LC_NO_MEMORY && status != LC_PERMISSION &&
	    status != LC_IO && status != LC_CANCELLED;
}

/* The end of a step: a fault is a finding, any other failure ends the check. */
static lc_status
find(struct check *c, lc_status status)
{
	if (!is_fault(status))
		return status;
	show_finding(c, lc_last_error()->text);
	return LC_OK;
}

/* The same for steps that have reported their findings. */
static lc_status
found(lc_status status)
{
	return status == LC_CORRUPT || status == LC_UNSUPPORTED ? LC_OK : status;
}

/* ---- shards ------------------------------------------------------------------- */

/* Block checksums and rows; boxes only where those are good, or there are none. With
 * @p damaged the shards' checksums had findings, and this shard may be one of them. */
static lc_status
check_shard(struct check *c, const struct lc__manifest_shard *said, bool damaged)
{
	const lc_progress quiet = { .damage = show_finding, .ctx = c };
	const unsigned before = c->findings;
	char *path = lc__path_join(c->dir, said->relative_path);
	lc_shard *shard = NULL;
	lc_status status = path != NULL ? lc_shard_open(path, &shard)
					: lc__no_memory(NULL);

	if (shard == NULL) {
		c->counted = false;
		status = damaged && is_fault(status) ? LC_OK : find(c, status);
	} else {
		status = found(lc_shard_verify(shard, &quiet));
		if (status == LC_OK && c->findings != before) {
			c->counted = false;
		} else if (status == LC_OK) {
			c->samples += lc_shard_info_of(shard)->samples;
			status = check_boxes(shard, path, &quiet, &c->boxes);
		}
		lc_shard_close(shard);
	}
	free(path);
	return status;
}

static lc_status
check_shards(struct check *c)
{
	const struct lc__manifest *m = c->manifest;
	lc_status status = found(lc_manifest_verify(c->dir, &c->progress));
	const bool damaged = c->findings > 0;

	c->counted = true;
	for (size_t i = 0; i < m->n && status == LC_OK; i++) {
		if (interrupt_pending())
			return LC_CANCELLED;
		status = check_shard(c, &m->shards[i], damaged);
	}
	return status;
}

/* ---- what the manifest says ---------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
say(struct check *c, const char *format, ...)
{
	char line[1024], text[800];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(line, sizeof(line), "%s: %s", lc__warehouse_manifest_path(c->warehouse),
	    text);
	show_finding(c, line);
}

static void
compare_count(struct check *c, const char *what, uint64_t said, uint64_t has)
{
	if (said != has)
		say(c, "%s is %llu, but the shards have %llu", what,
		    (unsigned long long)said, (unsigned long long)has);
}

/* The list has a line for each frame that was left out. The check of checksums reports a
 * list that cannot be read. */
static void
check_rejected(struct check *c, const struct lc__summary *summary)
{
	char *path = lc__path_join(c->dir, LC__WAREHOUSE_REJECTED);
	FILE *file = path ? fopen(path, "re") : NULL;
	uint64_t lines = 0;
	int byte;

	while (file != NULL && (byte = getc(file)) != EOF)
		lines += byte == '\n';
	if (file != NULL && lines != summary->totals.total - summary->written)
		say(c, "%llu frames were left out, but %s has %llu",
		    (unsigned long long)(summary->totals.total - summary->written),
		    LC__WAREHOUSE_REJECTED, (unsigned long long)lines);
	if (file != NULL)
		fclose(file);
	free(path);
}

/* Series and sums of a build; an export has none. */
static lc_status
check_sums(struct check *c)
{
	struct lc__summary summary;
	uint64_t samples = 0;
	lc_status status;

	if (c->about == NULL || !c->counted)
		return LC_OK;
	for (size_t i = 0; i < c->about->n_series; i++)
		samples += c->about->series[i].samples;
	compare_count(c, "samples of all series", samples, c->samples);
	status = lc__summary_parse(c->manifest->summary,
	    lc__warehouse_manifest_path(c->warehouse), &summary);
	if (status != LC_OK)
		return find(c, status);
	compare_count(c, "written", summary.written, c->samples);
	compare_count(c, "boxes", summary.boxes, c->boxes);
	check_rejected(c, &summary);
	lc__summary_free(&summary);
	return LC_OK;
}

/* A version that was copied to a name of another one. The first part of the name is
 * a day: only the part after it says which version it is. */
static lc_status
check_name(struct check *c)
{
	const char *slash = strrchr(c->dir, '/');
	const char *name = slash ? slash + 1 : c->dir;
	const char *has = strrchr(name, '-');
	char wanted[LC__VERSION_NAME];
	lc_status status;

	if (c->about == NULL || name[0] != 'v' || has == NULL ||
	    strlen(c->manifest->version) != 64)
		return LC_OK;
	status = lc__version_name(c->manifest->version, c->about->fingerprint,
	    c->manifest->created_at_ms, wanted);
	if (status == LC_OK && strcmp(strrchr(wanted, '-'), has) != 0)
		say(c, "is that of %s, not of %s", wanted, name);
	return find(c, status);
}

/* ---- sources ------------------------------------------------------------------ */

static lc_status
check_sources(struct check *c)
{
	struct warehouse_sources seen;
	lc_warehouse_options how;
	lc_status status;

	lc_warehouse_options_init(&how);
	how.dataset = dataset;
	how.sources = (lc_warehouse_sources)sources;
	how.progress = c->progress;
	c->refusing = true;
	status = warehouse_sources_look(c->warehouse, &how, &seen);
	c->stale = seen.found == LC_STALE;
	c->refusing = seen.found != LC_CORRUPT;
	if (status == LC_OK && seen.found != LC_OK && seen.found != LC_STALE)
		show_finding(c, seen.text);
	c->refusing = false;
	if (status == LC_OK)
		status = find(c, lc__admit_texts(c->warehouse, &how));
	if (status == LC_OK && !seen.seen && seen.found == LC_OK && seen.listed &&
	    sources != LC_SOURCES_IGNORE)
		report_note("%s: the sources are not on this machine; not compared",
		    c->dir);
	return status;
}

/* ---- shards of stores, and of other manifests ---------------------------------- */

/* Every sample of a shard, whose blocks are compared with their checksums on the way. */
static lc_status
check_samples(struct check *c, const struct lc__manifest_shard *said, const char *path,
    uint64_t first, uint64_t *done)
{
	const lc_progress quiet = { .damage = show_finding, .ctx = c };
	const lc_warehouse_info *all = lc_warehouse_info_of(c->warehouse);
	unsigned findings = 0;
	lc_shard_info info;
	lc_sample sample;
	lc_status status = lc__warehouse_shard_info(c->warehouse, c->number, &info);

	if (status != LC_OK)
		return find(c, status);
	for (uint64_t i = 0; i < said->samples && findings < MOST_FINDINGS; i++) {
		if (interrupt_pending() ||
		    progress_step(NULL, *done += said->bytes / said->samples,
			all->bytes) != 0)
			return LC_CANCELLED;
		status = lc_warehouse_sample(c->warehouse, first + i, &sample);
		if (status != LC_OK) {
			findings++;
			return_if_error(find(c, status));
			continue;
		}
		c->samples++;
		if (info.max_boxes > 0)
			findings += !check_sample_boxes(&sample, i, path, &quiet,
			    &c->boxes);
		lc_warehouse_release(c->warehouse, &sample);
	}
	return LC_OK;
}

static lc_status
check_all(struct check *c)
{
	const uint64_t n = lc_warehouse_info_of(c->warehouse)->shards;
	uint64_t first = 0, done = 0;

	for (c->number = 0; c->number < n; c->number++) {
		struct lc__manifest_shard said;
		lc_status status = lc__warehouse_shard(c->warehouse, c->number, &said);
		char *path;

		/* The shards of a part are not known if its manifest cannot be read. */
		if (status != LC_OK)
			return find(c, status);
		path = lc__is_store_url(c->dir)
		    ? lc__path_join(c->dir, said.relative_path)
		    : strdup(said.relative_path);
		status = path != NULL ? check_samples(c, &said, path, first, &done)
				      : lc__no_memory(c->dir);
		first += said.samples;
		free(said.relative_path);
		free(path);
		return_if_error(status);
	}
	return LC_OK;
}

/* ---- the command --------------------------------------------------------------- */

/* A directory that is not of parts. */
static lc_status
verify_version(struct check *c)
{
	c->dir = lc__warehouse_dir(c->warehouse);
	c->manifest = lc__warehouse_manifest(c->warehouse);
	c->about = lc__warehouse_about(c->warehouse);
	return_if_error(check_shards(c));
	c->refusing = true;
	return_if_error(find(c, lc__admit_thresholds(c->warehouse)));
	c->refusing = false;
	return_if_error(check_name(c));
	return_if_error(check_sums(c));
	return check_sources(c);
}

static lc_status
verify_parts(struct check *c, const char *name, struct warehouse_look *opened)
{
	return_if_error(warehouse_look(name, LC_VERIFY_ONCE, opened));
	c->warehouse = opened->warehouse;
	c->dir = lc_warehouse_info_of(c->warehouse)->path;
	if (opened->store.source == NULL)
		return_if_error(found(lc_manifest_verify(c->dir, &c->progress)));
	return check_all(c);
}

static int
verify(const char *path)
{
	struct warehouse_look opened = { .warehouse = NULL };
	struct json json = { stdout, false };
	struct check c = { 0 };
	char text[SIZE_TEXT];
	lc_status status = LC_UNSUPPORTED;

	c.progress = (lc_progress){
		.step = progress_step,
		.damage = show_finding,
		.ctx = &c,
	};
	progress_begin("verify");
	if (!lc__is_store_url(path))
		status = warehouse_hint(path,
		    lc__warehouse_read(path, &opened.warehouse));
	if (status == LC_UNSUPPORTED) {
		status = verify_parts(&c, path, &opened);
	} else if (status == LC_OK) {
		c.warehouse = opened.warehouse;
		status = verify_version(&c);
	}
	progress_end();

	if (status == LC_OK && settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "warehouse", c.dir);
		jw_flag(&json, "ok", c.findings == 0);
		jw_flag(&json, "stale", c.stale);
		jw_count(&json, "findings", c.findings);
		jw_count(&json, "samples", c.samples);
		jw_count(&json, "boxes", c.boxes);
		jw_end_line(&json);
	} else if (status == LC_OK && c.findings > 0) {
		printf("%s: %s\n", c.dir,
		    count_human(c.findings, "finding", text, sizeof(text)));
	} else if (status == LC_OK && !settings.quiet) {
		printf("%s: good, %s\n", c.dir,
		    count_human(c.samples, "sample", text, sizeof(text)));
	}
	warehouse_look_end(&opened);
	return status == LC_OK ? c.status : report_status(status);
}

static int
run_warehouse_verify(int argc, char **argv)
{
	int status = EXIT_DONE;

	for (int i = 0; i < argc; i++)
		status = report_worse(status,
		    interrupt_pending() ? interrupt_status() : verify(argv[i]));
	return status;
}

const struct command warehouse_verify = {
	.name = "warehouse verify",
	.operands = "WAREHOUSE...",
	.summary = "read everything and report all findings",
	.text =
	    "Compares every shard with its size, header and SHA-256 in the manifest "
	    "and with its block checksums; reads every metadata row, and boxes and "
	    "mask: boxes are within 0 to 1 and not empty, the mask is 1 for the "
	    "first of them and 0 after them, where boxes are 0. The sums and thresholds "
	    "of the manifest are compared with the shards, and the sources with their "
	    "state at the build. Each finding is a line; exit status 3 means damage, 1 that "
	    "readers would refuse it because of its sources or thresholds.\n"
	    "Sources that are not on this machine are skipped unless "
	    "--sources=content is given. For a store, which has none of these lists, the "
	    "shards are read through the cache.",
	.examples = "cachex warehouse verify warehouse\n"
		    "cachex warehouse verify warehouse --sources content --dataset "
		    "/mnt/captures",
	.completes = "d",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_warehouse_verify,
};
