/* SPDX-License-Identifier: BSD-2-Clause */
/* kill -9 of everything that writes: what was acknowledged is there, the rest whole or
 * absent, and the same command ends the work. */
#include "torture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs.h"
#include "writers.h"

enum { KILLS, ACKNOWLEDGED, FINISHED };

#define WRITERS 3

/* ---- writers of one module --------------------------------------------------- */

static void
writers_round(uint64_t seed, const char *dir)
{
	struct writer *w = torture_shared(WRITERS * sizeof(*w));
	uint64_t random = seed, count, live, after, before = 0;
	lc_verify_result result;
	lc_cache *cache;

	for (unsigned i = 0; i < WRITERS; i++)
		writer_init(&w[i], dir, i, &random);
	for (unsigned kills = 0; kills < 6; kills++) {
		pid_t pids[WRITERS];

		for (unsigned i = 0; i < WRITERS; i++)
			pids[i] = child_start(writer_run, &w[i]);
		/* The last one goes on a little beside the dead. */
		for (unsigned i = 0; i < WRITERS; i++) {
			const uint64_t enough = w[i].done + run_random(&random) % 4;

			/* The others may keep the lock for long. */
			for (unsigned n = 0; n < 2000 && w[i].done < enough; n++)
				usleep(100);
			torture_sleep(&random, 3000);
			need(torture_kill(pids[i]));
			torture_count(KILLS, 1);
		}
		cache = sample_open(dir, "m", NULL);
		need_ok(lc_verify(cache, NULL, &result));
		after = live = 0;
		for (unsigned i = 0; i < WRITERS; i++) {
			after += w[i].done;
			live += writer_check(&w[i], cache);
		}
		need_ok(lc_count(cache, &count));
		need(count == live);
		need_ok(lc_close(cache));
		torture_count(ACKNOWLEDGED, (after - before) * WRITER_OPS);
		before = after;
	}
}

/* ---- a budget ----------------------------------------------------------------------- */

#define BUDGET ((uint64_t)64 << 10)
#define BATCH 8u /* records of a commit: r0 ... of batch 0, and so on */

struct spender {
	const char *root;
	_Atomic uint64_t done; /* batches that were acknowledged */
};

static void
spend(void *ctx)
{
	struct spender *s = ctx;
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_options options = sample_options();
	char id[SAMPLE_ID_ROOM];
	lc_cache *cache;

	options.flush_every = 100000;
	cache = sample_open(s->root, "m", &options);
	need_ok(lc_settings_get(cache, &settings));
	settings.max_bytes = BUDGET;
	need_ok(lc_settings_set(cache, &settings));
	for (;;) {
		for (unsigned i = 0; i < BATCH; i++) {
			const uint64_t n = s->done * BATCH + i;

			need_ok(sample_put(cache, id, sample_id(id, n), n + 1, SAMPLE_SMALL));
		}
		need_ok(lc_flush(cache));
		s->done++;
	}
}

/* The newest commit is there, older ones may be; each record is right. */
static void
check_spent(const struct spender *s)
{
	lc_cache *cache = sample_open(s->root, "m", NULL);
	lc_verify_result result;
	uint64_t count, found = 0;

	need_ok(lc_verify(cache, NULL, &result));
	for (uint64_t n = 0; n < (s->done + 1) * BATCH; n++) {
		char id[SAMPLE_ID_ROOM];
		const size_t size = sample_id(id, n);
		lc_view view;
		const lc_status status = lc_get(cache, id, size, &view);

		need(status == LC_OK || (status == LC_NOT_FOUND && n / BATCH + 1 != s->done));
		if (status != LC_OK)
			continue;
		need(sample_is(&view.tensor, id, size, n + 1, SAMPLE_SMALL));
		lc_view_release(&view);
		found++;
	}
	need_ok(lc_count(cache, &count));
	need(count == found);
	need_ok(lc_close(cache));
}

static void
budget_round(uint64_t seed, const char *dir)
{
	struct spender *s = torture_shared(sizeof(*s));

	s->root = dir;
	for (unsigned kills = 0; kills < 6; kills++) {
		const pid_t pid = child_start(spend, s);

		torture_sleep(&seed, 60000);
		need(torture_kill(pid));
		torture_count(KILLS, 1);
		check_spent(s);
	}
	torture_count(ACKNOWLEDGED, s->done * BATCH);
}

/* ---- commands ----------------------------------------------------------------------- */

#define KILLS_A_JOB 6

static void
exec_job(void *ctx)
{
	job_exec(ctx, 0, false);
}

/* Kill the command at a step or at a moment. False if it had ended before. */
static bool
kill_job(struct job_run *run, uint64_t *random)
{
	/* Threads and timers make runs differ. */
	const uint64_t step = 1 + run_random(random) % (run->steps + run->steps / 8 + 1);
	const uint64_t dice = run_random(random) % 8;
	int status;

	if (dice < 2) {
		const pid_t pid = child_start(exec_job, run);

		torture_sleep(random, 60000);
		kill(pid, SIGKILL);
		status = child_wait(pid);
	} else {
		status = job_command(run, step, dice % 2 == 0);
	}
	/* Killed before, it may have done everything: see JOB_ONCE. */
	need(status < 2 || status == run->status || status == 128 + SIGKILL || run->job->flags & JOB_ONCE);
	torture_count(KILLS, status == 128 + SIGKILL);
	return status == 128 + SIGKILL;
}

/* The command is killed, once or several times, and then ends its work. */
static void
job_round(uint64_t seed, const char *dir)
{
	const struct job *job = job_find(torture_case_name());
	uint64_t random = seed;
	struct job_run run;

	job_start(&run, job, dir, seed);
	for (unsigned i = 0; i < KILLS_A_JOB; i++) {
		job_reset(&run);
		do {
			const bool killed = kill_job(&run, &random);

			job_copy("state", "look");
			job_check(&run, "look", killed ? JOB_KILLED : JOB_DONE);
			torture_remove("look");
		} while (run_random(&random) % 3 == 0);
		job_finish(&run);
		torture_count(FINISHED, 1);
	}
	job_end(&run);
}

int
main(void)
{
	static struct torture_case cases[JOBS_MAX + 3] = {
		{ "writers", writers_round, 3 },
		{ "budget", budget_round, 1 },
	};
	static const struct torture attack = {
		.name = "kills", .cases = cases,
		.counts = { "kills", "changes acknowledged", "commands finished" }
	};

	for (unsigned i = 0; jobs[i].name != NULL; i++)
		cases[i + 2] = (struct torture_case){ jobs[i].name, job_round, 1 };
	return torture_run(&attack);
}
