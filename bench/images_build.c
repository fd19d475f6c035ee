/* SPDX-License-Identifier: BSD-2-Clause */
#include "images_build.h"

#include <err.h>
#include <stdio.h>
#include <unistd.h>

#include "harness.h"
#include "images_ways.h"
#include "scratch.h"

void
images_build_begin(struct images_build *build, const struct image_set *set,
    unsigned threads)
{
	build->set = set;
	build->threads = threads;
	snprintf(build->warehouse, sizeof(build->warehouse), "%s.warehouse", set->root);
	scratch_remove(build->warehouse);
}

static void
check(const struct images_build *build, const struct lc__ingest_result *result,
    enum images_build_kind kind)
{
	const uint64_t n = build->set->n;

	if (result->state.samples != n || result->up_to_date != (kind ==
	    BUILD_UNCHANGED) || result->state.reused != (kind == BUILD_NEW ? 0 : n))
		errx(1, "%s: %llu of %llu frames are samples, %llu were reused",
		    build->warehouse, (unsigned long long)result->state.samples,
		    (unsigned long long)n, (unsigned long long)result->state.reused);
}

double
images_build_rate(const struct images_build *build, lc_dtype dtype,
    enum images_build_kind kind)
{
	struct lc__recipe recipe;
	const struct lc__ingest ingest = { .dataset = build->set->root,
		.warehouse = build->warehouse, .recipe = &recipe,
		.threads = build->threads };
	struct lc__ingest_result result;
	double start, seconds;

	lc__recipe_init(&recipe);
	recipe.dataset_root = build->set->root;
	recipe.transform.width = recipe.transform.height = IMAGES_SIDE;
	recipe.dtype = dtype;
	sync();
	start = bench_seconds();
	if (lc__ingest_run(&ingest, &result) != LC_OK)
		errx(1, "%s", lc_last_error()->text);
	seconds = bench_seconds() - start;
	check(build, &result, kind);
	lc__ingest_result_free(&result);
	return build->set->n / seconds;
}

void
images_build_first(const struct image_set *set)
{
	struct images_build build;

	images_build_begin(&build, set, 0);
	(void)images_build_rate(&build, LC_F16, BUILD_NEW);
	(void)images_build_rate(&build, LC_U8, BUILD_CONVERTED);
}
