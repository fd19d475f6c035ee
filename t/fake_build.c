/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_build.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "run.h"

lc_status
fake_row(void *ctx, uint64_t i, struct lc__twh1_row *out)
{
	static _Thread_local char id[32];

	(void)ctx;
	memset(out, 0, sizeof(*out));
	snprintf(id, sizeof(id), "sample-%llu", (unsigned long long)i * i);
	out->cache_id = lc_id_of(id);
	out->has_shape = true;
	out->ndim = 2;
	out->shape[0] = 1000;
	out->shape[1] = 3;
	return LC_OK;
}

/* ctx is NULL, or the number of a sample that is damaged. */
lc_status
fake_image(void *ctx, uint64_t i, void *room, const void **out)
{
	static _Thread_local unsigned char image[FAKE_IMAGE];
	const uint64_t *damaged = ctx;
	uint64_t seed = i;

	(void)room;
	if (damaged != NULL && *damaged == i)
		return lc__error(LC_CORRUPT, 0, "key 'x': checksum mismatch");
	for (size_t k = 0; k < FAKE_IMAGE; k++)
		image[k] = (unsigned char)run_random(&seed);
	*out = image;
	return LC_OK;
}

lc_status
fake_build(const char *dir, const struct fake_variant *v, lc_export_result *out)
{
	const lc_shard_info form = { .version = 2, .dtype = LC_U8,
		.channels = 1, .height = 1000, .width = 3 };
	const struct lc__shard_source source = { .ctx = v->damaged,
		.row = fake_row, .image = fake_image };
	const struct lc__series series = { "", &form, &source,
		v->samples ? v->samples : 100 };
	const struct lc__manifest about = { .dataset_root = (char *)"fake",
		.transform = (char *)"null", .code_version = (char *)"test",
		.thresholds = (char *)"{}", .summary = (char *)"{}" };
	const struct lc__build b = { .dir = dir, .series = &series, .n_series = 1,
		.metadata = true, .shard_bytes = FAKE_SHARD_BYTES, .threads = v->threads ? v->threads : 1,
		.dry_run = v->dry_run, .progress = &v->progress, .about = &about,
		.recipe = "{}", .state = v->state ? v->state : "same" };

	return lc__build_run(&b, out);
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
