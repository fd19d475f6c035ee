/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands whose standard descriptors are closed, that have others open, or that may have
 * few: a command does its work, or ends with status 4 and a message. What it prints never
 * lands in a file, modules verify, and nothing half-made is left.
 */
#include "torture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jobs.h"

enum { RUNS, FAILED };

#define PLACES 13         /* descriptors 0 to 12 */
#define LEAST 4           /* 3 and a program's libraries cannot be opened */
#define MOST 64           /* enough for each job */
#define LIMITS_A_SLICE 2

/* What a command begins with. */
struct descriptors {
	unsigned closed; /* bits of 0 to 12; the others are open */
	unsigned limit;  /* RLIMIT_NOFILE, 0: as it is */
};

static void
set_up(void *ctx)
{
	const struct descriptors *d = ctx;
	const struct rlimit limit = { d->limit, d->limit };
	const int null = open("/dev/null", O_RDWR);
	int high;

	need(null != -1);
	high = fcntl(null, F_DUPFD, PLACES);
	need(high != -1 && close_range(3, (unsigned)high - 1, 0) == 0);
	for (int fd = 0; fd < PLACES; fd++) {
		if (d->closed & 1u << fd)
			close(fd);
		else if (fd > 2)
			need(dup2(high, fd) == fd);
	}
	need(close_range((unsigned)high, ~0u, 0) == 0);
	if (d->limit > 0 && setrlimit(RLIMIT_NOFILE, &limit) != 0)
		_exit(126);
}

/* True if the command did its work. */
static bool
try(struct job_run *run, struct descriptors d)
{
	int status;

	job_reset(run);
	run->begin = set_up;
	run->ctx = &d;
	status = job_command(run, 0, false);
	run->begin = NULL;
	torture_count(RUNS, 1);
	if (status == run->status) {
		job_check(run, "state", JOB_DONE);
		return true;
	}
	torture_count(FAILED, 1);
	if (status != 4 || (!(d.closed & 1u << 2) && !job_has_message(run))) {
		fprintf(stderr, "# %s: descriptors %#x closed, %u at most: status %d\n",
		    run->job->name, d.closed, d.limit, status);
		need(!"status 4 and a message");
	}
	job_check(run, "state", JOB_FAILED);
	job_finish(run);
	return false;
}

/* In a slice some of all, else all. */
static void
job_round(uint64_t seed, const char *dir)
{
	const bool all = getenv("TORTURE_SECONDS") != NULL;
	uint64_t random = seed;
	struct job_run run;
	bool done = false;

	job_start(&run, job_find(torture_case_name()), dir, seed);
	for (unsigned subset = 1; subset < 8; subset++)
		if (all || subset == 1 + random % 7)
			(void)try(&run, (struct descriptors){ subset | 0x1ff8, 0 });
	for (unsigned i = 0; i < (all ? 4 : 1); i++)
		(void)try(&run, (struct descriptors){
		    (unsigned)run_random(&random) & ((1u << PLACES) - 1), 0 });
	for (unsigned limit = LEAST; !done && limit < MOST; limit++)
		if (all || run_random(&random) % 10 < LIMITS_A_SLICE)
			done = try(&run, (struct descriptors){ 0x1ff8, limit });
	need(done);
	job_end(&run);
}

int
main(void)
{
	static struct torture_case cases[JOBS_MAX + 1];
	static const struct torture attack = {
		.name = "fds", .cases = cases, .seconds = 120, .counts = { "runs", "refused" }
	};

	for (unsigned i = 0; jobs[i].name != NULL; i++)
		cases[i] = (struct torture_case){ jobs[i].name, job_round, 1 };
	return torture_run(&attack);
}
