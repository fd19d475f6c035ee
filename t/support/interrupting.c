/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded by tool_stopped.sh: SIGINT comes at a call that is counted, so that a command
 * can be stopped at each of its steps and no test depends on time. CACHEX_TEST_INTERRUPT
 * has the number; counted are the calls that look at the clock, that sync and that rename.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_long left; /* calls to the signal, 0: no more */

/* Programs that the command starts are none of this. */
static void __attribute__((constructor))
begin(void)
{
	const char *wanted = getenv("CACHEX_TEST_INTERRUPT");

	if (wanted != NULL)
		atomic_store(&left, strtol(wanted, NULL, 10));
	unsetenv("CACHEX_TEST_INTERRUPT");
	unsetenv("LD_PRELOAD");
}

static void
count(void)
{
	if (atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1)
		raise(SIGINT);
}

#define REAL(name) \
	static __typeof__(&name) real; \
	count(); \
	if (real == NULL) \
		*(void **)&real = dlsym(RTLD_NEXT, #name)

int
clock_gettime(clockid_t clock, struct timespec *out)
{
	REAL(clock_gettime);
	return real(clock, out);
}

int
fsync(int fd)
{
	REAL(fsync);
	return real(fd);
}

int
fdatasync(int fd)
{
	REAL(fdatasync);
	return real(fd);
}

int
rename(const char *from, const char *to)
{
	REAL(rename);
	return real(from, to);
}
