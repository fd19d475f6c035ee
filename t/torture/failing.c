/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded by allocations: the N-th allocation of the program fails, those of the
 * libraries that it uses included. Counting begins at the first call of sigaction(), in main().
 */
#include "failing.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct failing *state;

/* glibc's own, which need no look-up by name. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t unit, size_t size);

static bool
fails(size_t size, const void *caller)
{
	Dl_info by;
	uint64_t now;

	if (state == NULL)
		return false;
	now = atomic_fetch_add(&state->points, 1) + 1;
	if (state->at == 0 || now < state->at || (now > state->at && !state->and_on))
		return false;
	if (atomic_fetch_add(&state->hits, 1) == 0) {
		state->size = size;
		if (dladdr(caller, &by) != 0 && by.dli_fname != NULL)
			state->by_archive = strstr(by.dli_fname, "libarchive") != NULL;
	}
	if (getenv("FAULT_ABORT") != NULL)
		abort();
	errno = ENOMEM;
	return true;
}

/* The program's first own call, in main(). Programs that it starts are not attacked. */
int
sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	static int (*real)(int, const struct sigaction *, struct sigaction *);
	const char *name = getenv(FAILING_STATE);
	void *at;
	int fd;

	if (real == NULL) {
		*(void **)&real = dlsym(RTLD_NEXT, "sigaction");
		fd = name != NULL ? open(name, O_RDWR | O_CLOEXEC) : -1;
		unsetenv(FAILING_STATE);
		unsetenv("LD_PRELOAD");
		if (fd != -1) {
			at = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			close(fd);
			if (at != MAP_FAILED)
				state = at;
		}
	}
	return real(number, action, old);
}

void *
malloc(size_t size)
{
	return fails(size, __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	return fails(n * size, __builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *old, size_t size)
{
	return fails(size, __builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

void *
reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

void *
memalign(size_t unit, size_t size)
{
	return fails(size, __builtin_return_address(0)) ? NULL : __libc_memalign(unit, size);
}

void *
aligned_alloc(size_t unit, size_t size)
{
	return memalign(unit, size);
}

int
posix_memalign(void **out, size_t unit, size_t size)
{
	void *at = memalign(unit, size);

	if (at == NULL)
		return ENOMEM;
	*out = at;
	return 0;
}
