/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

static char scratch_root[4096];
static pid_t owner;

static void
remove_scratch(void)
{
	const char *args[] = { "rm", "-rf", scratch_root, NULL };
	pid_t pid;

	if (scratch_root[0] == '\0' || getpid() != owner)
		return;
	pid = fork();
	if (pid == 0) {
		execvp("rm", (char *const *)args);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* Made before any test forks, so that only the first process removes it. */
static void
make_scratch_root(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(scratch_root, sizeof(scratch_root), "%s/cachex-test.XXXXXX",
	    tmp && *tmp ? tmp : "/tmp");
	if (mkdtemp(scratch_root) == NULL) {
		perror(scratch_root);
		exit(99);
	}
	owner = getpid();
	atexit(remove_scratch);
}

const char *
run_scratch(void)
{
	/* Kept here for the leak checker, to whom they are not lost then. */
	static char *dirs[1000];
	static size_t n;

	if (n == sizeof(dirs) / sizeof(dirs[0]) ||
	    asprintf(&dirs[n], "%s/XXXXXX", scratch_root) < 0)
		abort();
	if (mkdtemp(dirs[n]) == NULL) {
		perror(dirs[n]);
		abort();
	}
	return dirs[n++];
}

uint64_t
run_seed(void)
{
	static uint64_t seed;
	const char *given = getenv("T_SEED");

	if (seed != 0)
		return seed;
	if (given != NULL)
		seed = strtoull(given, NULL, 0);
	else if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (uint64_t)getpid();
	seed |= seed == 0;
	printf("# T_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

uint64_t
run_random(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

int
run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	make_scratch_root();
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
