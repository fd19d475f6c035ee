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
	need(status < 2 || status == 128 + SIGKILL || run->job->flags & JOB_ONCE);
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
	static struct torture_case cases[JOBS_MAX + 2] = {
		{ "writers", writers_round, 3 },
	};
	static const struct torture attack = {
		.name = "kills", .cases = cases,
		.counts = { "kills", "changes acknowledged", "commands finished" }
	};

	for (unsigned i = 0; jobs[i].name != NULL; i++)
		cases[i + 1] = (struct torture_case){ jobs[i].name, job_round, 1 };
	return torture_run(&attack);
}
