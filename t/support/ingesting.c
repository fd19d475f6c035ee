/* SPDX-License-Identifier: BSD-2-Clause */
#include "ingesting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/manifest.h"
#include "need.h"
#include "outdir_files.h"
#include "run.h"

static int
step(void *ctx, const struct lc__ingest_state *state)
{
	struct ingesting *in = ctx;
	uint64_t rejected = 0;

	for (int i = 0; i < LC__REJECTS; i++)
		rejected += state->rejected[i];
	need(state->frames_done == state->samples + rejected);
	need(state->frames_done <= state->frames);
	if (in->steps < 0 || in->steps-- > 0)
		return 0;
	return in->stop != NULL ? in->stop() : 1;
}

static void
rejected(void *ctx, const struct lc__frame *frame, enum lc__reject reason,
    const char *detail)
{
	struct ingesting *in = ctx;

	in->rejected++;
	snprintf(in->last, sizeof(in->last), "%s/%s: %s: %s", frame->run,
	    frame->name, lc__reject_name(reason), detail);
}

static void
warn(void *ctx, const char *line)
{
	struct ingesting *in = ctx;

	in->warned++;
	snprintf(in->last, sizeof(in->last), "%s", line);
}

void
ingesting_init(struct ingesting *in, const char *dataset, const char *warehouse)
{
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
	memset(in, 0, sizeof(*in));
	in->steps = -1;
	lc__recipe_init(&in->recipe);
	in->recipe.dataset_root = "set";
	in->recipe.layout = LC__LAYOUT_AUTO;
	in->recipe.transform.width = 48;
	in->recipe.transform.height = 32;
	in->recipe.dtype = LC_U8;
	in->recipe.max_boxes = 2;
	in->recipe.shard_bytes = 32 << 10;
	in->watch = (struct lc__ingest_watch){ in, step, rejected, warn };
	in->ingest = (struct lc__ingest){ .dataset = dataset,
		.warehouse = warehouse, .recipe = &in->recipe, .threads = 2,
		.no_sync = true, .watch = &in->watch };
}

void
ingesting_run(struct ingesting *in, lc_status want,
    struct lc__ingest_result *out)
{
	struct lc__ingest_result result;

	need_status(lc__ingest_run(&in->ingest, &result), want);
	if (out != NULL)
		*out = result;
	else
		lc__ingest_result_free(&result);
}

const char *
ingesting_reference(const char *dataset)
{
	const char *warehouse = run_scratch();
	struct ingesting in;

	ingesting_init(&in, dataset, warehouse);
	ingesting_run(&in, LC_OK, NULL);
	return warehouse;
}

static char *
turn_buffer(void)
{
	static char buffers[4][4096];
	static unsigned turn;

	return buffers[turn++ % 4];
}

const char *
ingesting_path(const char *warehouse, const char *name)
{
	char *path = turn_buffer();

	snprintf(path, 4096, "%s/current%s%s", warehouse, *name ? "/" : "", name);
	return path;
}

const char *
ingesting_current(const char *warehouse)
{
	char *name = turn_buffer();
	const ssize_t n = readlink(ingesting_path(warehouse, ""), name, 4095);

	need(n > 0);
	name[n] = '\0';
	return name;
}

void
ingesting_assert_same(const char *a, const char *b)
{
	ck_assert_str_eq(ingesting_current(a), ingesting_current(b));
	outdir_assert_same_dirs(ingesting_path(a, ""), ingesting_path(b, ""));
}

static struct lc__manifest
read_manifest(const char *dir)
{
	struct lc__buf text = outdir_get_file(dir, "manifest.json");
	struct lc__manifest manifest;

	assert_ok(lc__manifest_parse(text.data, text.size, dir, &manifest));
	lc__buf_free(&text);
	return manifest;
}

uint64_t
ingesting_common_shards(const char *warehouse, const char *other)
{
	char *dir = outdir_join(warehouse, other);
	struct lc__manifest now = read_manifest(ingesting_path(warehouse, ""));
	struct lc__manifest then = read_manifest(dir);
	uint64_t common = 0;

	for (size_t i = 0; i < now.n; i++)
		for (size_t k = 0; k < then.n; k++)
			common += strcmp(now.shards[i].samples_hash,
			    then.shards[k].samples_hash) == 0;
	lc__manifest_free(&now);
	lc__manifest_free(&then);
	free(dir);
	return common;
}

static uint64_t
add_up(const struct lc__counts *c)
{
	return c->non_empty + c->empty + c->missing_image + c->missing_file +
	    c->invalid;
}

static void
check_summary(const struct lc__summary *summary, uint64_t samples)
{
	uint64_t runs = 0, reasons = 0;

	ck_assert_uint_eq(summary->totals.total, add_up(&summary->totals));
	for (size_t i = 0; i < summary->n_runs; i++) {
		const struct lc__counts *run = &summary->runs[i].counts;
		ck_assert_uint_eq(run->total, add_up(run));
		runs += run->total;
	}
	ck_assert_uint_eq(runs, summary->totals.total);
	for (size_t i = 0; i < summary->n_reasons; i++)
		reasons += summary->reasons[i].count;
	ck_assert_uint_eq(reasons + summary->written, summary->totals.total);
	ck_assert_uint_eq(summary->written, samples);
}

static uint64_t
count_lines(const struct lc__buf *text)
{
	uint64_t n = 0;

	for (size_t i = 0; i < text->size; i++)
		n += text->data[i] == '\n';
	return n;
}

void
ingesting_assert_good(const char *warehouse)
{
	const char *dir = ingesting_path(warehouse, "");
	struct lc__buf lines = outdir_get_file(dir, "rejected.jsonl");
	struct lc__manifest manifest = read_manifest(dir);
	struct lc__summary summary;
	uint64_t samples = 0;

	assert_ok(lc_manifest_verify(dir, NULL));
	assert_ok(lc__summary_parse(manifest.summary, dir, &summary));
	for (size_t i = 0; i < manifest.n; i++)
		samples += manifest.shards[i].samples;
	check_summary(&summary, samples);
	ck_assert_uint_eq(count_lines(&lines), summary.totals.total - samples);
	lc__summary_free(&summary);
	lc__manifest_free(&manifest);
	lc__buf_free(&lines);
}
