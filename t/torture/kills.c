/* SPDX-License-Identifier: BSD-2-Clause */
/* kill -9 of everything that writes: what was acknowledged is there, the rest whole or
 * absent, and the same command ends the work. */
#include "torture.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../sample.h"
#include "jobs.h"

enum { KILLS, ACKNOWLEDGED, FINISHED };

static const struct sample_range sizes = { 8, 6000 };

/* ---- writers of one module ---------------------------------------------------------- */

#define WRITERS 3
#define KEYS 60u /* a writer; nobody else writes them */
#define OPS 12u  /* a batch */

/* One that puts and deletes its own keys; a key's version 0 is a delete. */
struct writer {
	const char *root;
	unsigned number;
	uint64_t seed;
	_Atomic uint64_t done;   /* batches that were acknowledged */
	uint64_t checked;        /* batches that are in `versions` */
	uint64_t versions[KEYS]; /* at the last look; 0: absent */
	lc_options options;
};

struct op {
	unsigned key;
	uint64_t version;
};

/* The changes of a batch follow from its number. */
static void
batch_ops(const struct writer *w, uint64_t batch, struct op ops[OPS])
{
	uint64_t random = w->seed ^ batch * 0x9E3779B97F4A7C15u;

	for (unsigned i = 0; i < OPS; i++) {
		ops[i].key = (unsigned)(run_random(&random) % KEYS);
		ops[i].version = run_random(&random) % 4 == 0 ? 0 : batch * OPS + i + 1;
	}
}

static size_t
key_id(const struct writer *w, unsigned key, char id[SAMPLE_ID_ROOM])
{
	return sample_id(id, w->number * KEYS + key);
}

static void
write_batches(void *ctx)
{
	struct writer *w = ctx;
	lc_cache *cache = sample_open(w->root, "m", &w->options);
	struct op ops[OPS];
	char id[SAMPLE_ID_ROOM];

	for (;;) {
		const uint64_t batch = w->done;

		batch_ops(w, batch, ops);
		for (unsigned i = 0; i < OPS; i++) {
			const size_t size = key_id(w, ops[i].key, id);

			if (ops[i].version != 0)
				need_ok(sample_put(cache, id, size, ops[i].version, sizes));
			else
				need(lc_delete(cache, id, size) != LC_CORRUPT);
		}
		need_ok(lc_flush(cache));
		w->done = batch + 1;
	}
}

/* The keys have these versions. */
static bool
keys_are(const struct writer *w, lc_cache *cache, const uint64_t versions[KEYS])
{
	char id[SAMPLE_ID_ROOM];

	for (unsigned key = 0; key < KEYS; key++) {
		const size_t size = key_id(w, key, id);
		lc_view view;
		const lc_status status = lc_get(cache, id, size, &view);
		bool same = versions[key] == 0;

		need(status == LC_OK || status == LC_NOT_FOUND);
		if (status == LC_OK) {
			same = versions[key] != 0 && sample_is(&view.tensor, id, size,
			    versions[key], sizes);
			lc_view_release(&view);
		}
		if (!same)
			return false;
	}
	return true;
}

/* All batches that were acknowledged are there, of the next one the changes up to one.
 * @return how many keys there are */
static uint64_t
check_keys(struct writer *w, lc_cache *cache)
{
	struct op ops[OPS];
	uint64_t live = 0;
	unsigned n = 0;

	for (; w->checked < w->done; w->checked++) {
		batch_ops(w, w->checked, ops);
		for (unsigned i = 0; i < OPS; i++)
			w->versions[ops[i].key] = ops[i].version;
	}
	batch_ops(w, w->done, ops);
	for (; n < OPS && !keys_are(w, cache, w->versions); n++)
		w->versions[ops[n].key] = ops[n].version;
	need(keys_are(w, cache, w->versions));
	for (unsigned key = 0; key < KEYS; key++)
		live += w->versions[key] != 0;
	return live;
}

static void
writers_round(uint64_t seed, const char *dir)
{
	struct writer *w = torture_shared(WRITERS * sizeof(*w));
	uint64_t random = seed, count, live, after, before = 0;
	lc_verify_result result;
	lc_cache *cache;

	for (unsigned i = 0; i < WRITERS; i++) {
		w[i].root = dir;
		w[i].number = i;
		w[i].seed = run_random(&random);
		w[i].options = sample_options();
		w[i].options.flush_every = run_random(&random) % 2 == 0 ? 100000 : 5;
		if (run_random(&random) % 4 == 0)
			w[i].options.durability = LC_DURABLE_RELAXED;
	}
	for (unsigned kills = 0; kills < 6; kills++) {
		pid_t pids[WRITERS];

		for (unsigned i = 0; i < WRITERS; i++)
			pids[i] = child_start(write_batches, &w[i]);
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
			live += check_keys(&w[i], cache);
		}
		need_ok(lc_count(cache, &count));
		need(count == live);
		need_ok(lc_close(cache));
		torture_count(ACKNOWLEDGED, (after - before) * OPS);
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
