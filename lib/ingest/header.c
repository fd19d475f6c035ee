/* SPDX-License-Identifier: BSD-2-Clause */
#include "ingest/header.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "etl/transform.h"

/* Most headers stand within the first of these; all do within the second. */
#define HEAD ((size_t)256 << 10)
#define LONG_HEAD ((size_t)16 << 20)

static lc_status
read_head(const struct lc__infile *file, size_t size, struct lc__buf *buf,
    struct lc__header *out)
{
	size_t got = 0;
	void *place;

	buf->size = 0;
	place = lc__buf_append(buf, NULL, size);
	if (place == NULL)
		return lc__error(LC_NO_MEMORY, 0, "%s: out of memory", file->path);
	if (lseek(file->fd, 0, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", file->path);
	return_if_error(lc__read_full(file->fd, place, size, &got, file->path));
	buf->size = got;
	out->bytes_read += got;
	return LC_OK;
}

lc_status
lc__header_read(const struct lc__infile *file, struct lc__buf *buf,
    struct lc__header *out)
{
	const size_t end = (size_t)file->st.st_size;
	const size_t all = end < LONG_HEAD ? end : LONG_HEAD;
	struct lc__transformed seen;
	lc_status status;
	bool turned;

	for (size_t size = all < HEAD ? all : HEAD;; size = all) {
		return_if_error(read_head(file, size, buf, out));
		status = lc__image_probe(buf->data, buf->size, file->path, &seen);
		if (status == LC_OK || size == all)
			break;
	}
	if (status != LC_OK)
		return status;
	turned = seen.orientation > 4 && !out->ignore_orientation;
	out->width = turned ? seen.stored_height : seen.stored_width;
	out->height = turned ? seen.stored_width : seen.stored_height;
	return LC_OK;
}
