/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads that use a module for long in every way: what was acknowledged
 * stays, and memory, descriptors, reader slots and the file stay within bounds. */
#include "torture.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sample.h"
#include "owned.h"

enum { CHANGES, LOOKS, WALKS, BATCHES, FORKS, TIDIED };

#define PROCESSES 3
#define THREADS 3     /* of each: one writes, one looks, one walks and streams */
#define GENERATIONS 2 /* of processes, in a round */

/* Bounds. All live records are below 1 MiB. */
#define FILE_MOST ((uint64_t)2 << 30) /* with what a slow reader keeps on a busy machine */
#define USED_MOST ((uint64_t)8 << 20) /* of the file when nobody reads */
#define SHRUNK_MOST ((uint64_t)4 << 20)
#define MEMORY_GROWTH ((uint64_t)16 << 20)
#define FDS_GROWTH 24
#define READERS_MOST (PROCESSES * (THREADS + 4) * 4)

struct scene {
	const char *dir;
	struct owned *owned;
	lc_options options;
	unsigned generation;
	unsigned number;     /* of the process */
	unsigned steps;      /* of each thread, without an end */
	time_t end;          /* or 0 */
	uint64_t seed;
	lc_cache *cache;     /* of the process */
};

struct actor {
	struct scene *scene;
	unsigned number;
	uint64_t random;
	pthread_t thread;
};

/* ---- measuring ---------------------------------------------------------------------------- */

/* Memory that is not of files, in bytes. */
static uint64_t
memory_now(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long long kib = 0;
	char line[256];

	need(file != NULL);
	while (kib == 0 && fgets(line, sizeof(line), file) != NULL)
		sscanf(line, "RssAnon: %llu", &kib);
	fclose(file);
	need(kib > 0);
	return kib * 1024;
}

static unsigned
fds_now(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	need(dir != NULL);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static uint64_t
file_now(const char *dir)
{
	char path[4300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/m/data.mdb", dir);
	need(stat(path, &st) == 0);
	return (uint64_t)st.st_size;
}

static void
check_bounds(const struct scene *s)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	need_ok(lc_stat(s->cache, &stats));
	need(stats.readers <= READERS_MOST);
	need(file_now(s->dir) <= FILE_MOST);
}

/* ---- what they do --------------------------------------------------------------------------- */

static void
write_keys(struct actor *a)
{
	struct scene *s = a->scene;

	for (unsigned i = 0; i < 20; i++)
		owned_change(s->owned, s->number, s->cache, &a->random);
	if (run_random(&a->random) % 3 == 0)
		owned_flush(s->owned, s->number, s->cache);
	torture_count(CHANGES, 20);
}

static void
look(struct actor *a)
{
	struct scene *s = a->scene;
	lc_view views[16];

	for (unsigned i = 0; i < 20; i++)
		owned_look(s->owned, (unsigned)(run_random(&a->random) % PROCESSES),
		    (unsigned)(run_random(&a->random) % OWNED_KEYS), s->cache);
	owned_look_batch(s->owned, s->cache, 16, views, &a->random);
	lc_views_release(views, 16);
	owned_compute(s->cache, &a->random);
	torture_count(LOOKS, 44);
}

static void
look_in_child(void *actor)
{
	struct actor *a = actor;

	look(a);
	owned_walk(a->scene->owned, a->scene->cache, LC_BY_KEY);
}

static void
back_up(struct actor *a)
{
	struct scene *s = a->scene;
	char root[4300];
	lc_verify_result result;
	lc_cache *copy;

	snprintf(root, sizeof(root), "%s/copy-%u-%u", s->dir, s->number, a->number);
	need_ok(lc_backup(s->cache, root,
	    run_random(&a->random) % 2 == 0 ? LC_BACKUP_COMPACT : 0));
	copy = sample_open(root, "m", NULL);
	need_ok(lc_verify(copy, NULL, &result));
	need(result.damaged == 0);
	need_ok(lc_close(copy));
	torture_remove(root);
}

static void
tidy(struct actor *a)
{
	struct scene *s = a->scene;
	lc_compact_options compact;
	lc_verify_result result;
	lc_status status;

	switch (run_random(&a->random) % 6) {
	case 0:
		back_up(a);
		break;
	case 1:
		need_ok(lc_verify(s->cache, NULL, &result));
		need(result.damaged == 0);
		break;
	case 2: /* we have it open */
		status = lc_shrink(s->dir, "m", NULL, NULL);
		need_status(status, LC_BUSY);
		break;
	case 3:
		if (s->owned->may_leave && run_random(&a->random) % 4 == 0) {
			need_ok(lc_clear(s->cache));
			break;
		}
		/* fall through */
	default:
		lc_compact_options_init(&compact);
		compact.live_ratio = 0.7;
		compact.recode = run_random(&a->random) % 4 == 0 ? LC_CODEC_LZ4 :
		    LC_CODEC_DEFAULT;
		need_ok(lc_compact(s->cache, &compact, NULL));
		break;
	}
	torture_count(TIDIED, 1);
}

static void
step(struct actor *a)
{
	struct scene *s = a->scene;

	switch (a->number) {
	case 0:
		write_keys(a);
		break;
	case 1:
		look(a);
		if (run_random(&a->random) % 40 == 0) {
			need(child_run(look_in_child, a) == 0);
			torture_count(FORKS, 1);
		}
		break;
	default:
		owned_walk(s->owned, s->cache, run_random(&a->random) % 2 == 0 ?
		    LC_BY_KEY : LC_BY_COMMIT);
		torture_count(WALKS, 1);
		torture_count(BATCHES, owned_stream(s->owned, s->cache,
		    (unsigned)(run_random(&a->random) % 3), run_random(&a->random)));
		if (run_random(&a->random) % 3 == 0)
			tidy(a);
		check_bounds(s);
		break;
	}
}

/* ---- processes --------------------------------------------------------------------------------- */

static bool
goes_on(const struct scene *s, unsigned i)
{
	return s->end == 0 ? i < s->steps : time(NULL) < s->end;
}

static void *
act(void *actor)
{
	struct actor *a = actor;

	for (unsigned i = 0; goes_on(a->scene, i); i++)
		step(a);
	return NULL;
}

static void
run_threads(struct scene *s, const struct scene *times, uint64_t *random)
{
	struct actor actors[THREADS];
	struct scene now = *s;

	now.steps = times->steps;
	now.end = times->end;
	for (unsigned i = 0; i < THREADS; i++) {
		actors[i] = (struct actor){ .scene = &now, .number = i,
			.random = run_random(random) };
		need(pthread_create(&actors[i].thread, NULL, act, &actors[i]) == 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		need(pthread_join(actors[i].thread, NULL) == 0);
}

/* Memory and descriptors are compared with those after a while of the same work. */
static void
run_process(void *scene)
{
	struct scene *s = scene, warm = *s;
	uint64_t random = s->seed + s->number * 7 + s->generation * 1000, memory;
	unsigned fds;

	s->cache = sample_open(s->dir, "m", &s->options);
	warm.steps = s->steps / 3;
	if (s->end != 0)
		warm.end = time(NULL) + (s->end - time(NULL)) / 3;
	run_threads(s, &warm, &random);
	memory = memory_now();
	fds = fds_now();
	run_threads(s, s, &random);
	need(memory_now() <= memory + MEMORY_GROWTH);
	need(fds_now() <= fds + FDS_GROWTH);
	owned_close(s->owned, s->number, s->cache);
}

static void
run_generation(struct scene *s)
{
	pid_t pids[PROCESSES];

	for (s->number = 0; s->number < PROCESSES; s->number++)
		pids[s->number] = child_start(run_process, s);
	for (unsigned i = 0; i < PROCESSES; i++)
		need(child_wait(pids[i]) == 0);
}

/* Nobody is there: all that was acknowledged is, and the file shrinks to it. */
static void
look_after(struct scene *s)
{
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_verify_result result;

	s->cache = sample_open(s->dir, "m", &s->options);
	owned_walk(s->owned, s->cache, LC_BY_KEY);
	need_ok(lc_compact(s->cache, NULL, NULL));
	need_ok(lc_verify(s->cache, NULL, &result));
	need_ok(lc_stat(s->cache, &stats));
	need(stats.readers <= 4);
	need(stats.file_bytes - stats.free_bytes <= USED_MOST);
	need_ok(lc_close(s->cache));
	need_ok(lc_shrink(s->dir, "m", NULL, NULL));
	need(file_now(s->dir) <= SHRUNK_MOST);
	s->cache = sample_open(s->dir, "m", &s->options);
	owned_walk(s->owned, s->cache, LC_BY_COMMIT);
	need_ok(lc_verify(s->cache, NULL, &result));
	need_ok(lc_close(s->cache));
}

/* Seconds of a generation; 0 in a slice. */
static unsigned
generation_seconds(void)
{
	const char *text = getenv("TORTURE_SECONDS");
	const unsigned long all = text != NULL ? strtoul(text, NULL, 10) : 0;

	return all == 0 ? 0 : all > 240 ? 60 : (unsigned)all / 4 + 1;
}

static void
play(uint64_t seed, const char *dir, uint64_t budget)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	struct scene s = { .dir = dir, .seed = seed, .steps = 90,
		.owned = torture_shared(owned_size(PROCESSES)) };
	const unsigned seconds = generation_seconds();
	uint64_t random = seed;

	s.owned->writers = PROCESSES;
	s.owned->may_leave = budget > 0;
	s.options = sample_options();
	s.options.durability = LC_DURABLE_RELAXED;
	s.options.flush_every = 20 + run_random(&random) % 200;
	s.options.flush_interval_ms = run_random(&random) % 2 * 50;
	s.options.lru_bytes = 200000;
	s.cache = sample_open(dir, "m", &s.options);
	need_ok(lc_settings_get(s.cache, &settings));
	settings.max_bytes = budget;
	settings.evict = run_random(&random) % 2 == 0 ? LC_EVICT_OLDEST :
	    LC_EVICT_UNREAD;
	need_ok(lc_settings_set(s.cache, &settings));
	need_ok(lc_close(s.cache));
	for (s.generation = 0; s.generation < GENERATIONS; s.generation++) {
		s.end = seconds > 0 ? time(NULL) + (time_t)seconds : 0;
		run_generation(&s);
		look_after(&s);
	}
}

static void
plain_round(uint64_t seed, const char *dir)
{
	play(seed, dir, 0);
}

static void
budget_round(uint64_t seed, const char *dir)
{
	play(seed, dir, 300000);
}

int
main(void)
{
	static const struct torture_case cases[] = {
		{ "plain", plain_round, 1 },
		{ "budget", budget_round, 1 },
		{ NULL, NULL, 0 }
	};
	static const struct torture attack = {
		.name = "soak", .cases = cases, .seconds = 300,
		.counts = { "changes", "looks", "walks", "batches", "forks",
		    "backups, verifications and compactions" }
	};

	return torture_run(&attack);
}
