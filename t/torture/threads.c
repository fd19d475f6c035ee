/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads over one handle and over several of one process: whatever they do beside each
 * other, every look finds what it may. Also run under ThreadSanitizer. */
#include "torture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"
#include "owned.h"

enum { CHANGES, LOOKS, WALKS, BATCHES };

#define WRITERS 3 /* on handle 0, on handle 1, and one that opens its own */
#define VIEWS 16

struct scene {
	const char *dir;
	lc_options options;
	lc_cache *handles[2];
	struct owned *owned;
	unsigned steps;        /* of each thread */
	pthread_mutex_t lock;  /* of what follows */
	lc_view *given[8];     /* views that another thread is to release */
	unsigned n_given;
};

struct actor {
	struct scene *scene;
	void (*step)(struct actor *);
	unsigned number;
	uint64_t random;
	pthread_t thread;
};

static lc_cache *
any_handle(struct actor *a)
{
	return a->scene->handles[run_random(&a->random) % 2];
}

/* ---- what they do ----------------------------------------------------------------------- */

static void
write_keys(struct actor *a)
{
	struct owned *o = a->scene->owned;
	lc_cache *cache = a->scene->handles[a->number];

	for (unsigned i = 0; i < 20; i++) {
		const unsigned key = (unsigned)(run_random(&a->random) % OWNED_KEYS);

		owned_change(o, a->number, cache, &a->random);
		owned_look(o, a->number, key, cache);
	}
	if (run_random(&a->random) % 2 == 0)
		owned_flush(o, a->number, cache);
	torture_count(CHANGES, 20);
}

static void
open_and_write(struct actor *a)
{
	struct owned *o = a->scene->owned;
	lc_cache *cache = sample_open(a->scene->dir, "m", &a->scene->options);

	for (unsigned i = 0; i < 20; i++)
		owned_change(o, 2, cache, &a->random);
	owned_close(o, 2, cache);
	torture_count(CHANGES, 20);
}

static void
look(struct actor *a)
{
	for (unsigned i = 0; i < 60; i++)
		owned_look(a->scene->owned,
		    (unsigned)(run_random(&a->random) % WRITERS),
		    (unsigned)(run_random(&a->random) % OWNED_KEYS), any_handle(a));
	torture_count(LOOKS, 60);
}

/* The views of a batch, for another thread to release, unless enough wait. */
static void
look_and_give(struct actor *a)
{
	struct scene *s = a->scene;
	lc_view *views = calloc(VIEWS, sizeof(*views));

	need(views != NULL);
	owned_look_batch(s->owned, any_handle(a), VIEWS, views, &a->random);
	pthread_mutex_lock(&s->lock);
	if (s->n_given < 8) {
		s->given[s->n_given++] = views;
		views = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	if (views != NULL)
		lc_views_release(views, VIEWS);
	free(views);
	torture_count(LOOKS, VIEWS);
}

static void
release_given(struct actor *a)
{
	struct scene *s = a->scene;
	lc_view *views = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->n_given > 0)
		views = s->given[--s->n_given];
	pthread_mutex_unlock(&s->lock);
	if (views == NULL)
		return;
	lc_views_release(views, VIEWS);
	free(views);
}

static void
compute(struct actor *a)
{
	owned_compute(any_handle(a), &a->random);
	torture_count(LOOKS, 8);
}

static void
walk(struct actor *a)
{
	owned_walk(a->scene->owned, any_handle(a),
	    run_random(&a->random) % 2 == 0 ? LC_BY_KEY : LC_BY_COMMIT);
	torture_count(WALKS, 1);
}

static void
stream(struct actor *a)
{
	torture_count(BATCHES, owned_stream(a->scene->owned, any_handle(a),
	    (unsigned)(run_random(&a->random) % 3), run_random(&a->random)));
}

static void
tidy(struct actor *a)
{
	lc_compact_options compact;
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_counters counters = { .struct_size = sizeof(counters) };
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_cache *cache = any_handle(a);
	lc_verify_result result;
	uint64_t n;

	switch (run_random(&a->random) % 6) {
	case 0:
		lc_compact_options_init(&compact);
		compact.live_ratio = 0.8;
		need_ok(lc_compact(cache, &compact, NULL));
		break;
	case 1:
		need_ok(lc_verify(cache, NULL, &result));
		need(result.damaged == 0);
		break;
	case 2:
		need_ok(lc_stat(cache, &stats));
		break;
	case 3:
		need_ok(lc_counters_get(cache, &counters));
		break;
	case 4:
		need_ok(lc_settings_get(cache, &settings));
		break;
	default:
		need_ok(lc_count(cache, &n));
		break;
	}
}

/* ---- a round ------------------------------------------------------------------------------ */

static void *
act(void *actor)
{
	struct actor *a = actor;

	for (unsigned i = 0; i < a->scene->steps; i++)
		a->step(a);
	return NULL;
}

static void
set_budget(lc_cache *cache, uint64_t max_bytes, uint64_t random)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	need_ok(lc_settings_get(cache, &settings));
	settings.max_bytes = max_bytes;
	settings.evict = random % 2 == 0 ? LC_EVICT_OLDEST : LC_EVICT_UNREAD;
	settings.codec = random / 2 % 2 == 0 ? LC_CODEC_LZ4 : LC_CODEC_NONE;
	need_ok(lc_settings_set(cache, &settings));
}

static void
play(uint64_t seed, const char *dir, uint64_t budget)
{
	static void (*const steps[])(struct actor *) = {
		write_keys, write_keys, open_and_write, look, look, look_and_give,
		look_and_give, release_given, compute, compute, walk, stream, tidy
	};
	enum { ACTORS = sizeof(steps) / sizeof(*steps) };
	struct scene scene = { .dir = dir, .steps = 50,
		.owned = torture_shared(owned_size(WRITERS)),
		.lock = PTHREAD_MUTEX_INITIALIZER };
	struct actor actors[ACTORS] = { 0 }, last = { .scene = &scene };
	uint64_t random = seed;
	lc_verify_result result;

	scene.owned->writers = WRITERS;
	scene.owned->may_leave = budget > 0;
	scene.options = sample_options();
	scene.options.durability = LC_DURABLE_RELAXED;
	scene.options.flush_every = 1 + run_random(&random) % 50;
	scene.options.flush_interval_ms = run_random(&random) % 20;
	scene.options.lru_bytes = run_random(&random) % 2 * 20000;
	for (unsigned i = 0; i < 2; i++)
		scene.handles[i] = sample_open(dir, "m", &scene.options);
	set_budget(scene.handles[0], budget, run_random(&random));
	for (unsigned i = 0; i < ACTORS; i++) {
		actors[i] = (struct actor){ .scene = &scene, .step = steps[i],
			.number = i, .random = run_random(&random) };
		need(pthread_create(&actors[i].thread, NULL, act, &actors[i]) == 0);
	}
	for (unsigned i = 0; i < ACTORS; i++)
		need(pthread_join(actors[i].thread, NULL) == 0);
	while (scene.n_given > 0)
		release_given(&last);
	for (unsigned i = 0; i < 2; i++)
		owned_flush(scene.owned, i, scene.handles[i]);
	owned_walk(scene.owned, scene.handles[0], LC_BY_KEY);
	need_ok(lc_verify(scene.handles[1], NULL, &result));
	for (unsigned i = 0; i < 2; i++)
		need_ok(lc_close(scene.handles[i]));
}

static void
plain_round(uint64_t seed, const char *dir)
{
	play(seed, dir, 0);
}

static void
budget_round(uint64_t seed, const char *dir)
{
	play(seed, dir, 100000);
}

int
main(void)
{
	static const struct torture_case cases[] = {
		{ "plain", plain_round, 3 },
		{ "budget", budget_round, 3 },
		{ NULL, NULL, 0 }
	};
	static const struct torture attack = {
		.name = "threads", .cases = cases,
		.counts = { "changes", "looks", "walks", "batches" }
	};

	return torture_run(&attack);
}
