/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* Make room for size more bytes. */
static bool
reserve(struct lc__buf *buf, size_t size)
{
	size_t room = buf->room ? buf->room : 256;
	unsigned char *data;

	if (buf->failed)
		return false;
	/* Allocate even for no bytes: NULL means that an allocation failed. */
	if (buf->data != NULL && size <= buf->room - buf->size)
		return true;
	while (room - buf->size < size) {
		if (room > SIZE_MAX / 2) {
			buf->failed = true;
			return false;
		}
		room *= 2;
	}
	data = realloc(buf->data, room);
	if (data == NULL) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->room = room;
	return true;
}

void *
lc__buf_append(struct lc__buf *buf, const void *data, size_t size)
{
	unsigned char *place;

	if (!reserve(buf, size))
		return NULL;
	place = buf->data + buf->size;
	if (data != NULL && size > 0)
		memcpy(place, data, size);
	buf->size += size;
	return place;
}

void
lc__buf_append64(struct lc__buf *buf, uint64_t number)
{
	unsigned char bytes[8];

	lc__set64(bytes, number);
	lc__buf_append(buf, bytes, sizeof(bytes));
}

void
lc__buf_printf(struct lc__buf *buf, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || !reserve(buf, (size_t)n + 1)) {
		buf->failed = true;
		return;
	}
	va_start(args, format);
	vsnprintf((char *)buf->data + buf->size, (size_t)n + 1, format, args);
	va_end(args);
	buf->size += (size_t)n;
}

void
lc__buf_name_byte(struct lc__buf *buf, char byte, bool first)
{
	if ((byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
	    (byte >= 'a' && byte <= 'z') || byte == '_' || byte == '-' ||
	    (byte == '.' && !first))
		lc__buf_append(buf, &byte, 1);
	else
		lc__buf_printf(buf, "%%%02X", (unsigned char)byte);
}

static ssize_t
stream_write(void *ctx, const char *data, size_t size)
{
	if (lc__buf_append(ctx, data, size) != NULL)
		return (ssize_t)size;
	errno = ENOMEM;
	return 0;
}

FILE *
lc__buf_stream(struct lc__buf *out)
{
	FILE *stream = fopencookie(out, "w",
	    (cookie_io_functions_t){ .write = stream_write });

	if (stream == NULL)
		out->failed = true;
	return stream;
}

bool
lc__buf_stream_end(FILE *stream, struct lc__buf *out)
{
	const bool bad = stream == NULL || ferror(stream);

	if ((stream != NULL && fclose(stream) != 0) || bad)
		out->failed = true;
	if (lc__buf_append(out, "", 1) != NULL)
		out->size--;
	return !out->failed;
}

void
lc__buf_free(struct lc__buf *buf)
{
	free(buf->data);
	memset(buf, 0, sizeof(*buf));
}
