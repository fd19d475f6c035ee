/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The power fails while a command of the tool writes, or after it has ended: what it had
 * said is there, names and bytes, the rest is as before or as a whole, and the same
 * command ends the work. t/lib/test_power.c does this to the engine's commits.
 */
#include "torture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay_io.h"
#include "jobs.h"

enum { STATES, FINISHED };

/* States of a command that are looked at, about. */
#define STATES_A_ROUND 24

struct look {
	struct job_run *run;
	size_t events;
	uint64_t random;
};

/* What the state is, for who looks at the directory of a failing round. */
static void
note_state(const struct job_run *run, const struct replay_state *state)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/what", run->dir);
	file = fopen(path, "w");
	need(file != NULL && fprintf(file, "%s\n", state->what) > 0 && fclose(file) == 0);
}

static bool
look_at(void *ctx, const struct replay_state *state)
{
	struct look *look = ctx;

	note_state(look->run, state);
	job_copy("state", "look");
	job_check(look->run, "look", state->cut == look->events ? JOB_DONE : JOB_CUT);
	torture_remove("look");
	torture_count(STATES, 1);
	if (run_random(&look->random) % 2 == 0) {
		job_finish(look->run);
		torture_count(FINISHED, 1);
	}
	return true;
}

static void
job_round(uint64_t seed, const char *dir)
{
	struct replay_plan plan = { .dir = dir, .all_of = 4, .random = 3, .torn = 2,
		.seed = seed };
	struct replay_log log;
	struct job_run run;
	struct look look = { .run = &run, .random = seed };
	char *bad;

	job_start(&run, job_find(torture_case_name()), dir, seed);
	replay_log_read(&log, "log");
	bad = replay_compare(&log, "state");
	if (bad != NULL)
		fprintf(stderr, "# %s is not as recorded\n", bad);
	need(bad == NULL);
	torture_remove("state");
	look.events = log.count;
	plan.one_in = (unsigned)(run.steps * 8 / STATES_A_ROUND) + 1;
	need(replay_states(&log, &plan, look_at, &look) > 0);
	replay_log_free(&log);
	job_end(&run);
}

int
main(void)
{
	static struct torture_case cases[JOBS_MAX + 1];
	static const struct torture attack = {
		.name = "power", .cases = cases, .seconds = 120,
		.counts = { "states", "commands finished" }
	};

	for (unsigned i = 0; jobs[i].name != NULL; i++)
		cases[i] = (struct torture_case){ jobs[i].name, job_round, 1 };
	return torture_run(&attack);
}
