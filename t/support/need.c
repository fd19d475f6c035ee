/* SPDX-License-Identifier: BSD-2-Clause */
#include "need.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef COVERAGE
void __gcov_dump(void);
#endif

void
need_true(bool cond, const char *file, int line, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "# %s:%d: failed: %s (last error: %s)\n", file, line, what,
	    lc_last_error()->text);
	_exit(1);
}

void
need_same_status(lc_status got, lc_status want, const char *file, int line,
    const char *what)
{
	if (got == want)
		return;
	fprintf(stderr, "# %s:%d: %s is '%s' (%s), expected '%s'\n", file, line,
	    what, lc_status_name(got), lc_last_error()->text,
	    lc_status_name(want));
	_exit(1);
}

pid_t
child_start(void (*fn)(void *ctx), void *ctx)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	need(pid >= 0);
	if (pid > 0)
		return pid;
	/* check's own handler would kill the whole test. */
	signal(SIGALRM, SIG_DFL);
	fn(ctx);
#ifdef COVERAGE
	__gcov_dump(); /* which exit() would call, but not _exit() */
#endif
	_exit(0);
}

int
child_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		need(errno == EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int
child_run(void (*fn)(void *ctx), void *ctx)
{
	return child_wait(child_start(fn, ctx));
}
