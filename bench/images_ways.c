/* SPDX-License-Identifier: BSD-2-Clause */
#include "images_ways.h"

#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "image/transform.h"
#include "harness.h"

#define MOST_THREADS 64
#define PASSES 2 /* over the set: threads do not end at the same time */

/* ---- the library's --------------------------------------------------------------- */

struct transforming {
	struct lc__transform transform;
	struct lc__workspace *workspace;
	struct image_file file;
	uint8_t *planes;
	uint16_t *halves;
};

static void *
begin(void)
{
	struct transforming *t = calloc(1, sizeof(*t));

	if (t == NULL)
		err(1, NULL);
	t->transform = (struct lc__transform){ .fit = LC__FIT_LETTERBOX,
		.width = IMAGES_SIDE, .height = IMAGES_SIDE };
	t->workspace = lc__workspace_new();
	t->planes = aligned_alloc(64, 3 * IMAGES_PLANE);
	t->halves = aligned_alloc(64, 3 * IMAGES_PLANE * sizeof(uint16_t));
	if (t->workspace == NULL || t->planes == NULL || t->halves == NULL)
		err(1, NULL);
	return t;
}

static void *
begin_scaled(void)
{
	struct transforming *t = begin();

	t->transform.dct_scale = true;
	return t;
}

static void
end(void *state)
{
	struct transforming *t = state;

	lc__workspace_free(t->workspace);
	free(t->file.bytes);
	free(t->planes);
	free(t->halves);
	free(t);
}

static const uint16_t *
image(void *state, const char *path)
{
	struct transforming *t = state;
	struct lc__transformed done;

	image_file_read(&t->file, path);
	if (lc__transform_image(&t->transform, t->file.bytes, t->file.size, path,
	    t->workspace, t->planes, &done) != LC_OK ||
	    lc__planes_convert(t->planes, 3 * IMAGES_PLANE, LC_F16, t->halves) !=
	    LC_OK)
		errx(1, "%s", lc_last_error()->text);
	return t->halves;
}

const struct images_way images_transform = { "transform", begin, end, image };
const struct images_way images_transform_scaled = {
	"transform, DCT scaling", begin_scaled, end, image
};

/* ---- threads ---------------------------------------------------------------------- */

struct run {
	const struct image_set *set;
	const struct images_way *way;
	atomic_uint next;
};

static void *
labour(void *arg)
{
	struct run *run = arg;
	void *state = run->way->begin();
	unsigned i;

	while ((i = atomic_fetch_add(&run->next, 1)) < PASSES * run->set->n)
		run->way->image(state, run->set->paths[i % run->set->n]);
	run->way->end(state);
	return NULL;
}

double
images_rate(const struct image_set *set, const struct images_way *way,
    unsigned threads)
{
	struct run run = { .set = set, .way = way };
	const double start = bench_seconds();
	pthread_t ids[MOST_THREADS];

	if (threads > MOST_THREADS)
		threads = MOST_THREADS;
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, labour, &run) != 0)
			errx(1, "no thread can be started");
	for (unsigned i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return PASSES * set->n / (bench_seconds() - start);
}

void
images_compare(const struct image_set *set, const struct images_way *one,
    const struct images_way *other)
{
	void *a = one->begin(), *b = other->begin();

	for (unsigned i = 0; i < set->distinct; i++)
		if (memcmp(one->image(a, set->paths[i]), other->image(b, set->paths[i]),
		    3 * IMAGES_PLANE * sizeof(uint16_t)) != 0)
			errx(1, "%s: %s makes other bytes than %s", set->paths[i],
			    other->name, one->name);
	one->end(a);
	other->end(b);
}
