/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/header.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "image/transform.h"

/* Most headers are within the first of these; those of JPEG and PNG are within the second.
 * TIFF and WebP may have theirs, or a part of it, at the end of the file. */
#define HEAD ((size_t)256 << 10)
#define LONG_HEAD ((size_t)16 << 20)
#define ALL ((size_t)1 << 30)

static lc_status
read_head(const struct lc__infile *file, size_t size, struct lc__buf *buf,
    struct lc__header *out)
{
	size_t got = 0;
	void *place;

	buf->size = 0;
	place = lc__buf_append(buf, NULL, size);
	if (place == NULL)
		return lc__no_memory(file->path);
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
	struct lc__transformed seen;
	enum lc__image_type type;
	lc_status status;
	size_t most;
	bool turned;

	for (size_t size = end < HEAD ? end : HEAD;; size = most) {
		return_if_error(read_head(file, size, buf, out));
		status = lc__image_probe(buf->data, buf->size, file->path, &seen);
		type = lc__image_sniff(buf->data, buf->size);
		most = type == LC__IMAGE_TIFF || type == LC__IMAGE_WEBP ? ALL : LONG_HEAD;
		most = end < most ? end : most;
		if (status == LC_OK || size >= most)
			break;
	}
	if (status != LC_OK)
		return status;
	turned = seen.orientation > 4 && !out->ignore_orientation;
	out->width = turned ? seen.stored_height : seen.stored_width;
	out->height = turned ? seen.stored_width : seen.stored_height;
	return LC_OK;
}
