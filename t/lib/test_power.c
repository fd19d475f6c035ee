/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The power fails: what was acknowledged is there, the rest whole or absent.
 *
 * Each workload runs once, under record_io, in a process of its own. Then every state
 * that the disk may be left in is built from the recording and looked at: the module
 * opens, holds what was promised and nothing else, verifies, and can be written to.
 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "need.h"
#include "power.h"

static const char *program; /* this one */

/* ---- workloads --------------------------------------------------------------------- */

/* Enough flushes for runs of the index to be merged, and a second session. */
static void
write_flushes(const char *dir, lc_durability durability)
{
	lc_options options = sample_options();
	struct power p;

	options.durability = durability;
	for (int session = 0; session < 2; session++) {
		power_open(&p, dir, 0, &options);
		for (int i = 0; i < 6; i++) {
			power_change(&p, 8, SAMPLE_SMALL);
			power_flush(&p);
		}
		power_change(&p, 3, SAMPLE_SMALL);
		power_put(&p, 0, SAMPLE_SMALL);
		power_flush(&p);
		power_close(&p);
	}
}

static void
flushes(const char *dir)
{
	write_flushes(dir, LC_DURABLE_FULL);
}

static void
flushes_relaxed(const char *dir)
{
	write_flushes(dir, LC_DURABLE_RELAXED);
}

/* Commits that nobody asked for. */
static void
write_by_count(const char *dir, lc_durability durability)
{
	lc_options options = sample_options();
	struct power p;

	options.durability = durability;
	options.flush_every = 5;
	power_open(&p, dir, 0, &options);
	power_change(&p, 60, SAMPLE_SMALL);
	power_flush(&p);
	power_change(&p, 12, SAMPLE_SMALL);
	power_close(&p);
}

static void
by_count(const char *dir)
{
	write_by_count(dir, LC_DURABLE_FULL);
}

static void
by_count_relaxed(const char *dir)
{
	write_by_count(dir, LC_DURABLE_RELAXED);
}

/* A flush that is several commits; records as large as a chunk and larger. */
static void
many_chunks(const char *dir)
{
	lc_options options = sample_options();
	struct power p;

	options.chunk_bytes = 64 << 10;
	power_open(&p, dir, 0, &options);
	for (int i = 0; i < 3; i++) {
		power_change(&p, 20, (struct sample_range){ 8, 30000 });
		power_put(&p, 7, (struct sample_range){ 200000, 300000 });
		power_flush(&p);
	}
	power_close(&p);
}

static lc_stats
stat_of(lc_cache *cache)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	need_ok(lc_stat(cache, &stats));
	return stats;
}

/* One record of each chunk lives: commits rewrite chunks without the others. */
static void
dead_chunks(const char *dir)
{
	lc_options options = sample_options();
	struct power p;

	power_open(&p, dir, 0, &options);
	for (unsigned i = 0; i < 6; i++) {
		for (unsigned key = i; key < POWER_KEYS; key++)
			power_put(&p, key, (struct sample_range){ 8000, 16000 });
		power_flush(&p);
	}
	need(stat_of(p.cache).dead_bytes < 1 << 20);
	power_close(&p);
}

/* Commits of one small record, whose chunks come to share a row; then some of them die. */
static void
folds(const char *dir)
{
	lc_options options = sample_options();
	struct power p;

	power_open(&p, dir, 0, &options);
	for (unsigned i = 0; i < 66; i++) {
		power_put(&p, i % POWER_KEYS, (struct sample_range){ 8, 400 });
		power_flush(&p);
	}
	power_change(&p, 5, (struct sample_range){ 8, 400 });
	power_flush(&p);
	power_close(&p);
}

/* The map is too small again and again. */
static void
map_grows(const char *dir)
{
	lc_options options = sample_options();
	struct power p;

	options.map_size = 1 << 20;
	power_open(&p, dir, 0, &options);
	for (int i = 0; i < 5; i++) {
		power_change(&p, 10, (struct sample_range){ 50000, 80000 });
		power_flush(&p);
	}
	power_close(&p);
}

/* What a full flush promises holds for the relaxed commits before it. */
static void
both_levels(const char *dir)
{
	lc_options options = sample_options();
	struct power full, relaxed;

	power_open(&full, dir, 0, &options);
	options.durability = LC_DURABLE_RELAXED;
	power_open(&relaxed, dir, 0, &options);
	for (int i = 0; i < 5; i++) {
		power_change(&relaxed, 5, SAMPLE_SMALL);
		power_flush(&relaxed);
		power_change(&relaxed, 5, SAMPLE_SMALL);
		power_flush(&relaxed);
		power_put(&full, 1, SAMPLE_SMALL);
		power_flush(&full);
	}
	power_close(&relaxed);
	power_close(&full);
}

static void
several_modules(const char *dir)
{
	const lc_options options = sample_options();
	struct power p[3];

	for (unsigned i = 0; i < 3; i++) {
		power_open(&p[i], dir, i, &options);
		power_change(&p[i], 6, SAMPLE_SMALL);
		power_flush(&p[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		power_change(&p[i], 6, SAMPLE_SMALL);
		power_close(&p[i]);
	}
}

static void
backups(const char *dir)
{
	const lc_options options = sample_options();
	struct power p, copy;

	power_open(&p, dir, 0, &options);
	for (unsigned i = 1; i < 3; i++) {
		power_change(&p, 10, SAMPLE_SMALL);
		power_flush(&p);
		power_change(&p, 10, SAMPLE_SMALL);
		power_backup(&p, i, i == 1 ? 0 : LC_BACKUP_COMPACT);
		power_change(&p, 10, SAMPLE_SMALL);
		power_flush(&p);
	}
	power_open(&copy, dir, 1, &options);
	power_change(&copy, 10, SAMPLE_SMALL);
	power_close(&copy);
	power_close(&p);
}

/* A commit here is a change of the setting: the relaxed ones around it, too. */
static void
settings(const char *dir)
{
	lc_options options = sample_options();
	struct power p;

	options.durability = LC_DURABLE_RELAXED;
	power_open(&p, dir, 0, &options);
	for (int i = 1; i < 4; i++) {
		power_change(&p, 5, SAMPLE_SMALL);
		power_flush(&p);
		power_set(&p, i);
	}
	power_close(&p);
}

static void
write_and_clear(const char *dir, lc_durability durability)
{
	lc_options options = sample_options();
	struct power p;

	options.durability = durability;
	power_open(&p, dir, 0, &options);
	for (int i = 0; i < 3; i++) {
		power_change(&p, 20, SAMPLE_SMALL);
		power_flush(&p);
		power_change(&p, 5, SAMPLE_SMALL);
		power_flush(&p);
		power_clear(&p);
	}
	power_close(&p);
}

static void
clears(const char *dir)
{
	write_and_clear(dir, LC_DURABLE_FULL);
}

static void
clears_relaxed(const char *dir)
{
	write_and_clear(dir, LC_DURABLE_RELAXED);
}

/* Chunks move, then the file does, and it goes on. */
static void
write_and_compact(const char *dir, lc_durability durability)
{
	lc_options options = sample_options();
	struct power p;

	options.durability = durability;
	for (int session = 0; session < 2; session++) {
		power_open(&p, dir, 0, &options);
		for (int i = 0; i < 4; i++) {
			power_change(&p, 15, SAMPLE_SMALL);
			power_flush(&p);
		}
		power_compact(&p);
		power_change(&p, 15, SAMPLE_SMALL);
		power_flush(&p);
		power_close(&p);
		power_shrink(&p);
	}
}

static void
compacts(const char *dir)
{
	write_and_compact(dir, LC_DURABLE_FULL);
}

static void
compacts_relaxed(const char *dir)
{
	write_and_compact(dir, LC_DURABLE_RELAXED);
}

/* Chunks of two inputs: what is published and what waits. */
static void
write_inputs(const char *dir, lc_durability durability)
{
	static const char *const turns[] = { "a", "a", "b", "a", "b", "b", "b", "a" };
	lc_options options = sample_options();
	struct power p;

	options.durability = durability;
	power_open(&p, dir, 0, &options);
	power_declare(&p);
	for (unsigned i = 0; i < sizeof(turns) / sizeof(*turns); i++)
		power_fill(&p, turns[i], i * 4, 4,
		    (struct sample_range){ 8, 6000 });
	power_close(&p);
}

static void
inputs(const char *dir)
{
	write_inputs(dir, LC_DURABLE_FULL);
}

static void
inputs_relaxed(const char *dir)
{
	write_inputs(dir, LC_DURABLE_RELAXED);
}

static const struct workload {
	const char *name;
	void (*run)(const char *dir);
} workloads[] = {
	{ "flushes", flushes },
	{ "flushes-relaxed", flushes_relaxed },
	{ "by-count", by_count },
	{ "by-count-relaxed", by_count_relaxed },
	{ "many-chunks", many_chunks },
	{ "dead-chunks", dead_chunks },
	{ "folds", folds },
	{ "map-grows", map_grows },
	{ "both-levels", both_levels },
	{ "several-modules", several_modules },
	{ "backups", backups },
	{ "settings", settings },
	{ "clears", clears },
	{ "clears-relaxed", clears_relaxed },
	{ "compacts", compacts },
	{ "compacts-relaxed", compacts_relaxed },
	{ "inputs", inputs },
	{ "inputs-relaxed", inputs_relaxed },
	{ "export", power_export },
};

#define WORKLOADS (sizeof(workloads) / sizeof(workloads[0]))

static const struct workload *
find_workload(const char *name)
{
	for (size_t i = 0; i < WORKLOADS; i++)
		if (strcmp(workloads[i].name, name) == 0)
			return &workloads[i];
	need(!"a workload");
	return NULL;
}

/* ---- recording ------------------------------------------------------------------------ */

struct recording {
	const struct workload *workload;
	char dir[4096], log[4096 + 8];
};

static void
append_env(const char *name, const char *value)
{
	const char *old = getenv(name);
	char *both;

	need(asprintf(&both, "%s%s%s", old != NULL ? old : "",
	    old != NULL ? ":" : "", value) > 0);
	need(setenv(name, both, 1) == 0);
	free(both);
}

static void
exec_workload(void *ctx)
{
	const struct recording *rec = ctx;
	const char *builddir = getenv("builddir");
	char object[4096], seed[32];

	snprintf(object, sizeof(object), "%s/.libs/record_io.so",
	    builddir != NULL ? builddir : ".");
	need(access(object, R_OK) == 0);
	append_env("LD_PRELOAD", object);
	/* A sanitizer would rather be the first object. */
	append_env("ASAN_OPTIONS", "verify_asan_link_order=0");
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)run_seed());
	need(setenv("T_SEED", seed, 1) == 0);
	need(setenv("RECORD_IO_ROOT", rec->dir, 1) == 0);
	need(setenv("RECORD_IO_LOG", rec->log, 1) == 0);
	execl(program, program, "--run", rec->workload->name, rec->dir, NULL);
	need(!"exec");
}

/* Run a workload; the log must explain all that is in the directory afterwards. */
static void
record(struct recording *rec, const struct workload *workload,
    struct replay_log *log)
{
	char *bad;

	rec->workload = workload;
	snprintf(rec->dir, sizeof(rec->dir), "%s", run_scratch());
	snprintf(rec->log, sizeof(rec->log), "%s.log", rec->dir);
	ck_assert_int_eq(child_run(exec_workload, rec), 0);
	replay_log_read(log, rec->log);
	bad = replay_compare(log, rec->dir);
	ck_assert_msg(bad == NULL, "%s is not as recorded", bad);
}

/* ---- replaying ------------------------------------------------------------------------ */

/* What the process that looks at the states tells the test, whatever happens to it. */
struct verdict {
	size_t states;
	char what[2000]; /* the state it was at */
	char why[1500];  /* what is wrong with it; empty if nothing was found */
};

struct look {
	const char *until; /* a finding with these words ends it */
	const struct replay_log *log;
	struct replay_plan plan;
	struct power_model *model;
	struct verdict *verdict;
};

static bool
look_at(void *ctx, const struct replay_state *state)
{
	struct look *look = ctx;
	const char *why;

	snprintf(look->verdict->what, sizeof(look->verdict->what), "%s", state->what);
	why = power_model_check(look->model, state);
	look->verdict->states++;
	if (why == NULL || strstr(why, look->until) == NULL)
		return true;
	snprintf(look->verdict->why, sizeof(look->verdict->why), "%s", why);
	return false;
}

static void
look_at_all(void *ctx)
{
	struct look *look = ctx;

	look->model = power_model_new(look->log);
	replay_states(look->log, &look->plan, look_at, look);
	power_model_free(look->model);
}

/* How thorough: a second a workload, or some ten. */
static struct replay_plan
short_plan(void)
{
	struct replay_plan plan = { .dir = run_scratch(), .all_of = 6, .random = 6,
		.torn = 4, .seed = run_seed() };

	if (getenv("T_SLOW") != NULL)
		plan.all_of = plan.random = plan.torn = 1;
	return plan;
}

static struct replay_plan
plan(void)
{
	struct replay_plan plan = short_plan();

	if (getenv("T_LONG") != NULL) {
		plan.all_of = 10;
		plan.random = 400;
		plan.torn = 200;
	}
	return plan;
}

/* All states until one is wrong in these words; the exit status of who looked. */
static int
replay(const struct replay_log *log, struct replay_plan plan, const char *until,
    struct verdict *out)
{
	struct verdict *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct look look = { .until = until, .log = log, .plan = plan,
		.verdict = shared };
	int status;

	ck_assert(shared != MAP_FAILED);
	status = child_run(look_at_all, &look);
	*out = *shared;
	munmap(shared, sizeof(*shared));
	return status;
}

START_TEST(every_state)
{
	struct recording rec;
	struct replay_log log;
	struct verdict verdict;
	int status;

	record(&rec, &workloads[_i], &log);
	status = replay(&log, plan(), "", &verdict);
	printf("# %s: %zu states of %zu events\n", workloads[_i].name,
	    verdict.states, log.count);
	fflush(stdout);
	ck_assert_msg(status == 0 && verdict.why[0] == '\0', "%s: %s (exit status "
	    "%d): %s", workloads[_i].name, verdict.why, status, verdict.what);
	ck_assert_uint_gt(verdict.states, log.count / 10);
	replay_log_free(&log);
}
END_TEST

/* The first waits twice a commit, the second once. */
START_TEST(relaxed_waits_once)
{
	struct recording rec;
	struct replay_log log;
	size_t written[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		record(&rec, find_workload(i == 0 ? "flushes" : "flushes-relaxed"),
		    &log);
		for (size_t j = 0; j < log.count; j++)
			written[i] += log.events[j].kind == RECORD_WRITTEN;
		replay_log_free(&log);
	}
	ck_assert_uint_gt(written[0], 10);
	/* A module is made for good. */
	ck_assert_uint_eq(written[1], 1);
}
END_TEST

/* ---- the test can fail -------------------------------------------------------------------- */

/* What goes wrong without some of the syncs. */
static const struct {
	unsigned forgets;
	const char *found;
} forgotten[] = {
	{ REPLAY_FORGET_FILES, "were promised" },
	{ REPLAY_FORGET_WRITTEN, "were promised" },
	{ REPLAY_FORGET_DIRS, "No such file or directory" },
};

START_TEST(forgotten_syncs_are_found)
{
	struct replay_plan how;
	struct recording rec;
	struct replay_log log;
	struct verdict verdict;
	int status;

	record(&rec, &workloads[0], &log);
	how = plan();
	how.forgets = forgotten[_i].forgets;
	status = replay(&log, how, forgotten[_i].found, &verdict);
	ck_assert_msg(verdict.why[0] != '\0', "nothing of '%s' was found in %zu "
	    "states, exit status %d", forgotten[_i].found, verdict.states, status);
	printf("# state %zu: %s\n", verdict.states, verdict.why);
	fflush(stdout);
	replay_log_free(&log);
}
END_TEST

/* Nothing is promised on a disk that keeps no sync; but what is read was put. */
START_TEST(no_other_bytes_from_a_disk_that_lies)
{
	struct replay_plan how = plan();
	struct recording rec;
	struct replay_log log;
	struct verdict verdict;

	record(&rec, &workloads[_i], &log);
	how.forgets = REPLAY_FORGET_FILES | REPLAY_FORGET_WRITTEN;
	ck_assert_int_eq(replay(&log, how, "never put", &verdict), 0);
	ck_assert_msg(verdict.why[0] == '\0', "%s: %s", verdict.why, verdict.what);
	replay_log_free(&log);
}
END_TEST

/* Each sync of a file alone. (A new directory is synced into its parent twice.) */
START_TEST(every_sync_is_needed)
{
	struct replay_plan how = short_plan();
	struct recording rec;
	struct replay_log log;
	struct verdict verdict;
	int status;

	/* It ends with the first state that is wrong. */
	how.all_of = 6;
	record(&rec, &workloads[_i], &log);
	for (size_t i = 0; i < log.count; i++) {
		const struct replay_event *event = &log.events[i];

		if (event->kind != RECORD_WRITTEN && (event->kind != RECORD_SYNC ||
		    log.files[event->file].is_dir))
			continue;
		how.forgets_one = i + 1;
		status = replay(&log, how, "", &verdict);
		ck_assert_msg(status != 0 || verdict.why[0] != '\0',
		    "the sync that is event %zu is not missed", i + 1);
	}
	replay_log_free(&log);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *suite;
	TCase *tc;

	program = argv[0];
	if (argc == 4 && strcmp(argv[1], "--run") == 0)
		return find_workload(argv[2])->run(argv[3]), EXIT_SUCCESS;
	/* Thousands of states, each synced: in memory, if that is possible. */
	if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	run_seed();
	suite = suite_create("power");
	tc = tcase_create("power");
	tcase_set_timeout(tc, 3600);
	tcase_add_loop_test(tc, every_state, 0, (int)WORKLOADS);
	tcase_add_test(tc, relaxed_waits_once);
	tcase_add_loop_test(tc, forgotten_syncs_are_found, 0,
	    (int)(sizeof(forgotten) / sizeof(forgotten[0])));
	tcase_add_loop_test(tc, no_other_bytes_from_a_disk_that_lies, 0, 2);
	tcase_add_loop_test(tc, every_sync_is_needed, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
