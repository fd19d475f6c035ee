/* SPDX-License-Identifier: BSD-2-Clause */
#include "fail_malloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail_count.h"

static struct fail_count allocations;

void
fail_malloc(long n, bool and_on)
{
	fail_count_start(&allocations, n, and_on);
}

long
fail_malloc_hits(void)
{
	return atomic_load(&allocations.hits);
}

static bool
fails(void)
{
	if (fail_count_next(&allocations) == 0)
		return false;
	errno = ENOMEM;
	return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t unit, size_t size);
int __real_posix_memalign(void **out, size_t unit, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
int __real_vasprintf(char **out, const char *format, va_list ap)
    __attribute__((format(printf, 2, 0)));

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t unit, size_t size);
int __wrap_posix_memalign(void **out, size_t unit, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_vasprintf(char **out, const char *format, va_list ap)
    __attribute__((format(printf, 2, 0)));
int __wrap_asprintf(char **out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What they are called where the C library checks formats (_FORTIFY_SOURCE). */
int __wrap___vasprintf_chk(char **out, int flag, const char *format, va_list ap)
    __attribute__((format(printf, 3, 0)));
int __wrap___asprintf_chk(char **out, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void *
__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

void *
__wrap_aligned_alloc(size_t unit, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(unit, size);
}

int
__wrap_posix_memalign(void **out, size_t unit, size_t size)
{
	return fails() ? ENOMEM : __real_posix_memalign(out, unit, size);
}

char *
__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

void *
__wrap_reallocarray(void *old, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, n, size);
}

char *
__wrap_strndup(const char *text, size_t size)
{
	return fails() ? NULL : __real_strndup(text, size);
}

int
__wrap_vasprintf(char **out, const char *format, va_list ap)
{
	return fails() ? -1 : __real_vasprintf(out, format, ap);
}

int
__wrap_asprintf(char **out, const char *format, ...)
{
	va_list ap;
	int size;

	va_start(ap, format);
	size = __wrap_vasprintf(out, format, ap);
	va_end(ap);
	return size;
}

int
__wrap___vasprintf_chk(char **out, int flag, const char *format, va_list ap)
{
	(void)flag;
	return __wrap_vasprintf(out, format, ap);
}

int
__wrap___asprintf_chk(char **out, int flag, const char *format, ...)
{
	va_list ap;
	int size;

	(void)flag;
	va_start(ap, format);
	size = __wrap_vasprintf(out, format, ap);
	va_end(ap);
	return size;
}
