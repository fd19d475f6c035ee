/* SPDX-License-Identifier: BSD-2-Clause */
/* The last error of the calling thread. */
#ifndef LC_BASE_ERROR_H
#define LC_BASE_ERROR_H

#include "lmdbcache.h"

/** Return from the calling function if @p expr is not LC_OK. */
#define return_if_error(expr) \
	do { \
		const lc_status status_ = (expr); \
		if (status_ != LC_OK) \
			return status_; \
	} while (0)

/**
 * Record a failure and return @p status, so that a caller can write
 * `return lc__error(LC_INVALID, 0, "put: empty cache_id")`. With a non-zero
 * @p sys (an errno) its text is appended.
 */
lc_status lc__error(lc_status status, int sys, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The same with the status that fits the errno value @p sys. */
lc_status lc__error_sys(int sys, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Record LC_NO_MEMORY, "WHAT: out of memory", and return it. @p what is the file or the
 * operation; NULL where a caller adds it.
 */
lc_status lc__no_memory(const char *what);

/** Put "what: " before the text of the current error; returns its status. */
lc_status lc__error_prefix(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Record that the current error belongs to item @p item of a batch; returns its
 *  status. */
lc_status lc__error_item(size_t item);

/** Change the status of the current error and return the new one; its text stays. */
lc_status lc__error_as(lc_status status);

/** Make a copy the current error: this carries a failure from one thread to another. */
lc_status lc__error_raise(const lc_error *error);

/**
 * A cache_id for messages: quoted, unprintable bytes as \xNN, cut after 80 bytes
 * with "…". Points into one of a few per-thread buffers.
 */
const char *lc__quote_id(const void *id, size_t size);

#endif
