/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Libraries of others that are loaded when they are first used, so that a program does not
 * wait at its start for what it may never need. One file of ours a library:
 *
 *     #define CALLS(X) X(archive_read_new) X(archive_read_free)
 *     LC__LAZY(lib, "libarchive", LIBARCHIVE_FILE, CALLS)
 *     ...
 *     return_if_error(lib_load());
 *     a = lib.archive_read_new();
 *
 * The prototypes are those of the library's header. configure finds the names of the files;
 * with --disable-lazy-loading the libraries are linked as usual and lib_load() is LC_OK.
 */
#ifndef LC_BASE_LAZY_H
#define LC_BASE_LAZY_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

struct lc__lazy {
	const char *name;         /* "libarchive", for messages */
	const char *file;         /* "libarchive.so.13" */
	const char *const *calls; /* names of functions, as many as pointers */
	void *pointers;           /* to functions, one after another: they are set */
	size_t n;
	bool loaded;
};

/**
 * Load the library and look up all of its functions, unless that is done. Any thread may
 * call it. LC_IO if it cannot be loaded or a function is missing, LC_NO_MEMORY; the next
 * call tries again. The library is never unloaded.
 */
LC_CHECKED lc_status lc__lazy_load(struct lc__lazy *lazy);

#define LC__LAZY_MEMBER(call) __typeof__(call) *call;
#define LC__LAZY_NAME(call) #call,
#define LC__LAZY_ADDRESS(call) call,

/* Define the struct @p var with a pointer for each of @p CALLS, and var_load(). */
#ifdef LAZY_LOADING
#define LC__LAZY(var, name_, file_, CALLS) \
	static struct { \
		CALLS(LC__LAZY_MEMBER) \
	} var; \
	static lc_status var##_load(void) \
	{ \
		static const char *const calls_[] = { CALLS(LC__LAZY_NAME) }; \
		static struct lc__lazy lazy_ = { name_, file_, calls_, &var, \
			sizeof(calls_) / sizeof(calls_[0]), false }; \
		return lc__lazy_load(&lazy_); \
	}
#else
#define LC__LAZY(var, name_, file_, CALLS) \
	static const struct { \
		CALLS(LC__LAZY_MEMBER) \
	} var = { CALLS(LC__LAZY_ADDRESS) }; \
	static lc_status var##_load(void) { return LC_OK; }
#endif

#endif
