/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Photographs to samples of 3 x 640 x 640 halves: the transform beside a plain loop
 * over libjpeg, whole builds, and other programs that decode and resize.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "choice.h"
#include "harness.h"
#include "images_build.h"
#include "images_peers.h"
#include "images_set.h"
#include "images_ways.h"
#include "scratch.h"

#define PHOTOGRAPHS "/usr/share/backgrounds"
#define ROUNDS 5
#define PEER_ROUNDS 3 /* at most: they are slow */
#define ROOM ((uint64_t)4 << 30)

struct images_case {
	const char *name;
	const char *builds, *programs; /* names of its other tables, NULL for none */
	enum image_size size;
	unsigned files, quick; /* how many; in a quick run */
};

static const struct images_case cases[] = {
	{ "0.5 MP", "0.5 MP, builds", "0.5 MP, programs", IMAGES_HALF, 200, 40 },
	{ "12 MP", "12 MP, builds", "12 MP, programs", IMAGES_12, 24, 8 },
	{ "12 MP, progressive", NULL, NULL, IMAGES_12_AS_STORED, 12, 4 },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* Decoders may shrink these. Of progressive files all scans are read before that. */
static bool
may_shrink(const struct images_case *c)
{
	return c->size == IMAGES_12;
}

/* By the number of threads; 0: what the program takes by itself. */
static const char *const metrics[] = { "its default", "one thread", "two threads" };

/* ---- measuring ------------------------------------------------------------------- */

/* What a measurement needs. */
struct stand {
	struct bench *bench;
	const struct choice *choice;
	const struct images_case *c;
	struct image_set set;
	unsigned round;
};

static const struct images_way *const ways[] = {
	&images_plain, &images_transform, &images_transform_scaled
};

static void
run_way(const struct stand *stand, unsigned which, unsigned threads)
{
	const struct images_way *way = ways[which];

	if (choice_has_contender(stand->choice, way->name) &&
	    (way != &images_transform_scaled || may_shrink(stand->c)))
		bench_run(stand->bench, stand->c->name, way->name, metrics[threads],
		    "1/s", images_rate(&stand->set, way, threads));
}

static bool
has_builds(const struct stand *stand)
{
	return stand->c->builds != NULL &&
	    choice_has_contender(stand->choice, "build");
}

static void
run_build(const struct stand *stand, unsigned which, unsigned threads)
{
	static const struct {
		const char *name;
		lc_dtype dtype;
		enum images_build_kind kind;
	} builds[] = {
		{ "new", LC_F16, BUILD_NEW },
		{ "nothing changed", LC_F16, BUILD_UNCHANGED },
		{ "another dtype", LC_U8, BUILD_CONVERTED },
	};
	struct images_build build;

	(void)which;
	if (!has_builds(stand))
		return;
	images_build_begin(&build, &stand->set, threads);
	for (unsigned i = 0; i < sizeof(builds) / sizeof(builds[0]); i++)
		bench_run(stand->bench, stand->c->builds, builds[i].name,
		    metrics[threads], "1/s", images_build_rate(&build,
		    builds[i].dtype, builds[i].kind));
}

static void
run_peer(const struct stand *stand, unsigned which, unsigned threads)
{
	const struct images_peer *peer = &images_peers[which];

	if (peer->program != NULL && stand->c->programs != NULL &&
	    stand->round < PEER_ROUNDS)
		bench_run(stand->bench, stand->c->programs, peer->name,
		    metrics[threads], "1/s",
		    images_peer_rate(peer, &stand->set, threads));
}

static const struct {
	void (*run)(const struct stand *stand, unsigned which, unsigned threads);
	unsigned which, threads;
} steps[] = {
	{ run_way, 0, 1 }, { run_way, 1, 1 }, { run_way, 0, 2 }, { run_way, 1, 2 },
	{ run_way, 2, 1 }, { run_way, 2, 2 }, { run_build, 0, 1 }, { run_build, 0, 2 },
	{ run_peer, 0, 1 }, { run_peer, 0, 0 }, { run_peer, 1, 1 },
	{ run_peer, 2, 1 }, { run_peer, 2, 0 }, { run_peer, 3, 1 }, { run_peer, 3, 0 },
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static void
describe(const struct stand *stand)
{
	const struct image_set *set = &stand->set;

	printf("\n%s: %u files, %u different ones, %.2f MP and %.0f kB each\n",
	    stand->c->name, set->n, set->distinct, (double)set->pixels / set->n / 1e6,
	    (double)set->bytes / set->n / 1e3);
}

static void
measure_case(struct bench *bench, const struct images_case *c,
    const struct choice *choice, const char *root)
{
	const char *photographs = getenv("BENCH_PHOTOGRAPHS");
	struct stand stand = { .bench = bench, .choice = choice, .c = c };
	char dir[4200];

	snprintf(dir, sizeof(dir), "%s/%u", root, (unsigned)c->size);
	image_set_make(&stand.set, c->size, photographs ? photographs : PHOTOGRAPHS,
	    dir, choice->quick ? c->quick : c->files);
	if (stand.set.n == 0) {
		printf("%s: no photographs for it\n", c->name);
		image_set_free(&stand.set);
		return;
	}
	describe(&stand);
	images_compare(&stand.set, &images_plain, &images_transform);
	if (has_builds(&stand))
		images_build_first(&stand.set);
	for (; stand.round < choice->rounds; stand.round++)
		for (unsigned i = 0; i < STEPS; i++) {
			const unsigned s = (i + stand.round) % STEPS;
			steps[s].run(&stand, steps[s].which, steps[s].threads);
		}
	image_set_free(&stand.set);
	bench_print(bench, c->name);
	if (c->builds != NULL)
		bench_print(bench, c->builds);
	if (c->programs != NULL)
		bench_print(bench, c->programs);
}

/* ---- ratios ------------------------------------------------------------------------ */

static double
rate(const struct bench *bench, const struct images_case *c,
    const struct images_way *way, unsigned threads)
{
	return bench_median(bench, c->name, way->name, metrics[threads]);
}

/* Of those that do, or do not, let the decoder shrink. */
static const struct images_peer *
fastest(const struct bench *bench, const struct images_case *c, bool scaled,
    unsigned threads, double *best)
{
	const struct images_peer *out = NULL;

	*best = NAN;
	for (unsigned i = 0; i < IMAGES_PEERS && c->programs != NULL; i++) {
		const struct images_peer *peer = &images_peers[i];
		const double found = bench_median(bench, c->programs, peer->name,
		    metrics[threads]);
		if ((may_shrink(c) && peer->scales) != scaled || isnan(found) ||
		    (out != NULL && found <= *best))
			continue;
		*best = found;
		out = peer;
	}
	return out;
}

/* A way beside the fastest program that does the same. */
static void
state_fastest(struct bench *bench, const struct images_case *c,
    const struct images_way *way, unsigned threads)
{
	double best;
	const struct images_peer *peer = fastest(bench, c,
	    way == &images_transform_scaled, threads == 1 ? 1 : 0, &best);

	if (peer != NULL)
		bench_ratio(bench, rate(bench, c, way, threads) / best, ">=", 2,
		    "%s: %s, %s, over %s%s", c->name, way->name, metrics[threads],
		    peer->name, threads == 1 ? "" : ", its default");
}

static void
state_ratios(struct bench *bench, const struct images_case *c)
{
	for (unsigned threads = 1; threads <= 2; threads++)
		bench_ratio(bench, rate(bench, c, &images_transform, threads) /
		    rate(bench, c, &images_plain, threads), ">=", 0.9,
		    "%s: transform over plain loop, %s", c->name, metrics[threads]);
	bench_ratio(bench, rate(bench, c, &images_transform, 2) /
	    rate(bench, c, &images_transform, 1), ">=", 1.8,
	    "%s: transform, two threads over one", c->name);
	for (unsigned threads = 1; threads <= 2; threads++) {
		state_fastest(bench, c, &images_transform, threads);
		state_fastest(bench, c, &images_transform_scaled, threads);
	}
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse_contenders(argc, argv, ROUNDS);
	struct bench *bench = bench_start("images", choice.results);
	const char *root = scratch_make(ROOM);

	printf("data on %s\n", scratch_filesystem());
	for (unsigned i = 0; i < IMAGES_PEERS; i++)
		if (choice_has_contender(&choice, images_peers[i].name))
			images_peer_find(&images_peers[i]);
	for (unsigned i = 0; i < CASES; i++)
		if (choice_has(&choice, cases[i].name, i == 0))
			measure_case(bench, &cases[i], &choice, root);
	for (unsigned i = 0; i < CASES; i++)
		state_ratios(bench, &cases[i]);
	bench_finish(bench);
	scratch_end();
	return 0;
}
