/* SPDX-License-Identifier: BSD-2-Clause */
#include "made_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "run.h"

#define MOST_BOXES 12
#define SIDE 640

static const char recipe[] =
    "{\"dataset_root\":\"data/captures <filtered> & more\","
    "\"target_size\":[640,640],\"resize_mode\":\"Letterbox\",\"max_boxes\":16,"
    "\"skip_empty\":true,\"code_version\":\"0.1.0\",\"dtype\":\"u8\"}";

/* 0 to 1 */
static double
real(uint64_t *seed)
{
	return (double)(run_random(seed) >> 11) * 0x1p-53;
}

static void
make_box(uint64_t *seed, double shift, struct lc__box *box)
{
	const double side = 0.04 + 0.4 * real(seed) * real(seed) * (1 - shift);
	const double aspect = 0.6 + real(seed);
	const double x = side + (1 - 2 * side) * (0.3 + 0.4 * (real(seed) +
	    real(seed) - 0.5 - shift));
	const double y = side + (1 - 2 * side) * real(seed);

	box->x0 = x - side * aspect / 2;
	box->y0 = y - side / 2;
	box->x1 = x + side * aspect / 2;
	box->y1 = y + side / 2;
	box->class_id = (int64_t)(run_random(seed) % 7 *
	    (run_random(seed) % 2)) - 1;
}

struct lc__observation
made_observation(const struct lc__box *boxes, uint32_t n)
{
	const struct lc__observation observation = {
		.width = SIDE, .height = SIDE, .n = n, .boxes = boxes
	};

	return observation;
}

static void
make_samples(const struct made_report *how, struct lc__facts *out)
{
	static const uint32_t widths[] = { 640, 1280, 1920, 4032 };
	static const uint32_t heights[] = { 480, 720, 1080, 3024 };
	uint64_t seed = how->seed;

	for (uint64_t i = 0; i < how->samples; i++) {
		struct lc__box boxes[MOST_BOXES];
		const uint32_t n = 1 + (uint32_t)(run_random(&seed) % 4 *
		    (run_random(&seed) % 4));
		struct lc__observation seen = made_observation(boxes, n);
		const size_t size = run_random(&seed) % 8 / 3;
		for (uint32_t k = 0; k < n; k++)
			make_box(&seed, how->shift, &boxes[k]);
		seen.sample = i;
		seen.origin.original_width = widths[size];
		seen.origin.original_height = heights[size];
		seen.lit = i % 4 == 0;
		seen.brightness = (real(&seed) + real(&seed)) / 2 *
		    (1 - how->shift);
		seen.contrast = 0.1 + 0.2 * real(&seed);
		ck_assert_int_eq(lc__distributions_add(&out->seen, &seen), LC_OK);
	}
}

static void
make_run(const struct made_report *how, unsigned i, struct lc__run_summary *run)
{
	const uint64_t good = how->samples / how->runs +
	    (i < how->samples % how->runs);

	if (i == 0 && how->run_name != NULL)
		run->run_id = strdup(how->run_name);
	else
		ck_assert_int_gt(asprintf(&run->run_id, "run-%03u", i), 0);
	run->counts = (struct lc__counts){ .non_empty = good, .empty = i % 3,
		.missing_image = i % 2, .missing_file = 1, .invalid = i % 5 };
	run->counts.total = good + i % 3 + i % 2 + 1 + i % 5;
}

static void
add_counts(struct lc__counts *sum, const struct lc__counts *counts)
{
	sum->total += counts->total;
	sum->non_empty += counts->non_empty;
	sum->empty += counts->empty;
	sum->missing_image += counts->missing_image;
	sum->missing_file += counts->missing_file;
	sum->invalid += counts->invalid;
}

static void
make_summary(const struct made_report *how, struct lc__facts *out)
{
	static const char *const names[] = { "blank_image", "no_file",
		"no_labels", "out_of_range" };
	struct lc__summary *summary = &out->summary;
	const struct lc__counts *totals = &summary->totals;

	summary->runs = calloc(how->runs, sizeof(*summary->runs));
	summary->n_runs = how->runs;
	for (unsigned i = 0; i < how->runs; i++) {
		make_run(how, i, &summary->runs[i]);
		add_counts(&summary->totals, &summary->runs[i].counts);
		lc__distributions_add_run(&out->seen,
		    summary->runs[i].counts.total);
	}
	summary->written = totals->non_empty;
	summary->boxes = out->seen.boxes;
	summary->clipped = 17;
	summary->dropped = 3;
	summary->reasons = calloc(4, sizeof(*summary->reasons));
	summary->n_reasons = 4;
	for (size_t i = 0; i < 4; i++)
		summary->reasons[i].name = strdup(names[i]);
	summary->reasons[0].count = totals->missing_image;
	summary->reasons[1].count = totals->missing_file;
	summary->reasons[2].count = totals->empty;
	summary->reasons[3].count = totals->invalid;
}

static void
make_shards(struct lc__facts *out)
{
	out->n_shards = 3;
	out->shards = calloc(3, sizeof(*out->shards));
	for (size_t i = 0; i < 3; i++) {
		struct lc__manifest_shard *shard = &out->shards[i];
		ck_assert_int_gt(asprintf(&shard->relative_path,
		    "shard-%06zu.twh1", i), 0);
		shard->samples = out->info->samples / 3;
		shard->width = shard->height = SIDE;
		shard->has_bytes = true;
		shard->bytes = 201326592 + i;
		memset(shard->sha256, 'a' + (int)i, 64);
	}
}

static void
make_rejects(const struct made_report *how, struct lc__facts *out)
{
	static const char text[] =
	    "{\"run\":\"run-000\",\"name\":\"<b>f1</b>\",\"label\":null,"
	    "\"image\":\"run-000/f1.jpg\",\"reason\":\"no_file\",\"detail\":\"run-000/\\\"f1\\\".jpg: No such file or directory\"}\n"
	    "{\"run\":\"run-001\",\"name\":\"f2\",\"reason\":\"out_of_range\","
	    "\"detail\":\"run-001/labels/f2.json: labels[0].bbox_norm: 1.25 is "
	    "outside of 0 to 1\"}\n";
	char *path = lc__path_join(how->dir, "rejected.jsonl");

	ck_assert_int_eq(lc__write_file_atomic(path, text, sizeof(text) - 1), LC_OK);
	free(path);
	ck_assert_int_eq(lc__fields_read("{\"run\":\"run-000\","
	    "\"name\":\"<b>f1</b>\",\"reason\":\"no_file\",\"detail\":"
	    "\"run-000/\\\"f1\\\".jpg: No such file or directory\"}",
	    &out->rejects[0]), LC_OK);
	out->n_rejects = 1;
}

static void
make_info(const struct made_report *how, struct lc__facts *out)
{
	lc_warehouse_info *info = calloc(1, sizeof(*info));

	info->path = how->dir;
	info->version = "d806bacbd88511e2140686725f7f7173"
	    "c5a0e864dd312d1eee4128d411da8029";
	info->fingerprint = "0123456789abcdef0123456789abcdef"
	    "0123456789abcdef0123456789abcdef";
	info->recipe = recipe;
	info->dataset_root = "data/captures <filtered> & more";
	info->summary = info->thresholds = info->transform = "{}";
	info->created_at_ms = 1700000000000;
	info->samples = how->samples;
	info->shards = 3;
	info->bytes = 603979779;
	info->series = 2;
	info->max_boxes = 16;
	info->dtype = LC_U8;
	info->boxes_dtype = LC_F32;
	out->info = info;
	out->series = calloc(2, sizeof(*out->series));
	out->series[0] = (lc_series_info){ 3, SIDE, SIDE, 0, how->samples / 2 };
	out->series[1] = (lc_series_info){ 3, 2 * SIDE, SIDE, how->samples / 2,
		how->samples - how->samples / 2 };
}

void
made_report(const struct made_report *how, struct lc__facts *out)
{
	memset(out, 0, sizeof(*out));
	lc__distributions_init(&out->seen);
	make_info(how, out);
	ck_assert_int_eq(lc__fields_read(recipe, &out->recipe), LC_OK);
	make_samples(how, out);
	make_summary(how, out);
	make_shards(out);
	make_rejects(how, out);
	out->thresholds = (struct lc__thresholds){
		.invalid = { .has_ratio = true, .ratio = 0.001 },
		.missing = { .has_count = true, .count = 1000000 }
	};
}

void
made_report_free(struct lc__facts *facts)
{
	free((lc_warehouse_info *)facts->info);
	lc__facts_free(facts);
}
