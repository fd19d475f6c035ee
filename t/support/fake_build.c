/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_build.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "run.h"

#define BOXES 2u /* rows of them, with several series */

const char *const fake_paths[FAKE_SERIES] = { "a", "10x300", "c" };

static uint64_t
number_of(const struct fake_variant *v, uint64_t i)
{
	return v != NULL && v->numbers != NULL ? v->numbers[i] : i;
}

lc_status
fake_row(void *ctx, uint64_t i, struct lc__twh1_row *out)
{
	static _Thread_local char id[32];
	const struct fake_variant *v = ctx;
	const unsigned long long number = number_of(v, i);

	memset(out, 0, sizeof(*out));
	snprintf(id, sizeof(id), "sample-%llu", number * number);
	out->cache_id = lc_id_of(id);
	if (v != NULL && v->series > 0)
		return LC_OK;
	out->has_shape = true;
	out->ndim = 2;
	out->shape[0] = 1000;
	out->shape[1] = 3;
	return LC_OK;
}

lc_status
fake_image(void *ctx, uint64_t i, void *room, const void **out)
{
	static _Thread_local unsigned char image[FAKE_IMAGE];
	const struct fake_variant *v = ctx;
	uint64_t seed = number_of(v, i);

	(void)room;
	if (v != NULL && v->damaged != NULL && *v->damaged == i)
		return lc__error(LC_CORRUPT, 0, "key 'x': checksum mismatch");
	for (size_t k = 0; k < FAKE_IMAGE; k++)
		image[k] = (unsigned char)run_random(&seed);
	*out = image;
	return LC_OK;
}

static lc_status
fake_boxes(void *ctx, uint64_t i, const void **boxes, const void **mask)
{
	static _Thread_local float room[BOXES * 4];
	static const float marks[BOXES] = { 1, 0 };
	const uint64_t number = number_of(ctx, i);

	for (unsigned k = 0; k < 4; k++)
		room[k] = (float)(number + k) / 4096;
	*boxes = room;
	*mask = marks;
	return LC_OK;
}

static lc_status
fake_hash(void *ctx, uint64_t i, uint64_t hash[2])
{
	const uint64_t number = number_of(ctx, i);

	hash[0] = lc__hash64(&number, sizeof(number));
	hash[1] = number;
	return LC_OK;
}

static void
fill_series(const struct fake_variant *v, const struct lc__shard_source *source,
    lc_shard_info *forms, struct lc__shard_series *series)
{
	for (size_t i = 0; i < FAKE_SERIES; i++) {
		forms[i] = (lc_shard_info){ .version = 2, .dtype = LC_U8,
			.channels = 1, .height = 1000, .width = 3 };
		if (v->series > 0) {
			forms[i].height = i == 1 ? 10 : 1;
			forms[i].width = i == 1 ? 300 : 3000;
			forms[i].max_boxes = BOXES;
			forms[i].boxes_dtype = LC_F32;
		}
		series[i] = (struct lc__shard_series){ v->series ? fake_paths[i] : "",
			&forms[i], source, v->samples ? v->samples : 100 };
	}
}

lc_status
fake_build(const char *dir, const struct fake_variant *v, lc_export_result *out)
{
	const struct lc__shard_source source = { .ctx = (void *)v,
		.row = fake_row, .image = fake_image, .boxes = fake_boxes,
		.hash = v->hashed ? fake_hash : NULL };
	const struct lc__manifest about = { .dataset_root = (char *)"fake",
		.transform = (char *)"null", .code_version = (char *)"test",
		.thresholds = (char *)"{}", .summary = (char *)"{}" };
	lc_shard_info forms[FAKE_SERIES];
	struct lc__shard_series series[FAKE_SERIES];
	const struct lc__build b = { .dir = dir, .series = series,
		.n_series = v->series ? v->series : 1, .metadata = true,
		.no_sha256 = v->no_sha256, .shard_bytes = FAKE_SHARD_BYTES,
		.threads = v->threads ? v->threads : 1, .dry_run = v->dry_run,
		.progress = &v->progress, .about = v->about ? v->about : &about,
		.recipe = "{}", .state = v->state ? v->state : "same",
		.reuse = v->reuse, .packed = v->packed, .reread = v->reread };

	fill_series(v, &source, forms, series);
	return v->tasks > 0 ? lc__build_pack(&b, v->task, v->tasks, out) :
	    lc__build_run(&b, out);
}

const char *
fake_reference(uint64_t samples)
{
	const char *dir = run_scratch();
	const struct fake_variant v = { .samples = samples };
	lc_export_result result;

	ck_assert_int_eq(fake_build(dir, &v, &result), LC_OK);
	return dir;
}

int
fake_stop_at(void *ctx, uint64_t done, uint64_t total)
{
	int *steps = ctx;

	ck_assert_uint_le(done, total);
	return (*steps)-- == 0;
}
