/* SPDX-License-Identifier: BSD-2-Clause */
/* A byte buffer that grows. Zero-initialised is empty; failure is sticky. */
#ifndef LC_BASE_BUF_H
#define LC_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct lc__buf {
	unsigned char *data; /* malloc'ed; may be NULL while size is 0 */
	size_t size;         /* bytes used */
	size_t room;         /* bytes allocated */
	bool failed;         /* an allocation failed; later appends do nothing */
};

/** Append; with @p data NULL the bytes are left for the caller to fill. */
void *lc__buf_append(struct lc__buf *buf, const void *data, size_t size);

/** Append a number, little-endian. */
void lc__buf_append64(struct lc__buf *buf, uint64_t number);

/** Append formatted text without a terminator. */
void lc__buf_printf(struct lc__buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Append a byte of the name of a file or directory: as %XX unless it is an ASCII letter,
 *  a digit, '-', '_', or a dot that is not the @p first byte of the name. */
void lc__buf_name_byte(struct lc__buf *buf, char byte, bool first);

/**
 * Return a stream that appends all writes to @p out, or NULL without memory. Unlike a
 * stream of open_memstream(), it reports an error where memory runs out.
 */
FILE *lc__buf_stream(struct lc__buf *out);
/** Close the stream and append a byte 0 that size does not count. Return false, and set
 *  out->failed, if any of the text is missing. @p stream may be NULL, which counts as
 *  missing. */
bool lc__buf_stream_end(FILE *stream, struct lc__buf *out);

void lc__buf_free(struct lc__buf *buf);

#endif
