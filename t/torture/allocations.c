/* SPDX-License-Identifier: BSD-2-Clause */
/* Every allocation of every command fails, once and for ever. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "failing.h"
#include "faulted.h"
#include "torture.h"

static void
run_program(char *const *argv, const char *const streams[3], const struct faulted_fault *fault,
    struct faulted_run *out)
{
	char name[] = "/tmp/cachex-failing.XXXXXX";
	const int fd = mkstemp(name);
	struct failing *state;
	pid_t pid;

	need(fd != -1 && ftruncate(fd, sizeof(*state)) == 0);
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(state != MAP_FAILED);
	close(fd);
	state->at = fault->at;
	state->and_on = fault->and_on;
	pid = fork();
	need(pid != -1);
	if (pid == 0) {
		faulted_streams(streams);
		setenv("LD_PRELOAD", getenv("FAILING"), 1);
		setenv(FAILING_STATE, name, 1);
		execv(argv[0], argv);
		_exit(126);
	}
	out->status = faulted_wait(pid);
	out->points = state->points;
	out->by_archive = state->by_archive;
	if (state->hits > 0)
		snprintf(out->fault, sizeof(out->fault), "%zu bytes refused%s", state->size,
		    fault->and_on ? ", and all after" : "");
	munmap(state, sizeof(*state));
	unlink(name);
}

static const struct faulted_engine engine = {
	.name = "allocations", .variants = 1, .memory = true, .run = run_program
};
#include "faulted_main.h"
