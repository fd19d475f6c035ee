/* SPDX-License-Identifier: BSD-2-Clause */
/* A byte buffer that grows. Zero-initialised is empty; failure is sticky. */
#ifndef LC_BASE_BUF_H
#define LC_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lc__buf {
	unsigned char *data; /* malloc'ed; may be NULL while size is 0 */
	size_t size;         /* bytes used */
	size_t room;         /* bytes allocated */
	bool failed;         /* an allocation failed; appends do nothing since */
};

/** Append; with @p data NULL the bytes are left for the caller to fill. */
void *lc__buf_append(struct lc__buf *buf, const void *data, size_t size);

/** Append a number, little-endian. */
void lc__buf_append64(struct lc__buf *buf, uint64_t number);

/** Append formatted text without a terminator. */
void lc__buf_printf(struct lc__buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void lc__buf_free(struct lc__buf *buf);

#endif
