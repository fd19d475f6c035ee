/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of a dataset, opened safely, and the headers of images. */
#include "build/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "build/sample.h"
#include "image/transform.h"
#include "warehouse/sources.h"

/** A file with a time more recent than this when it is read may change again without a
 *  change of its time: some file systems have time stamps as coarse as this. */
#define LC__SETTLED_NS INT64_C(2000000000)

static int64_t
now(void)
{
	struct timespec at = { 0, 0 };

	clock_gettime(CLOCK_REALTIME, &at);
	return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static enum lc__infile_fate
bad(struct lc__infile *file, const char *why)
{
	snprintf(file->detail, sizeof(file->detail), "%s: %s", file->path, why);
	return LC__INFILE_BAD;
}

/* The system's error for a name, a file, or all files. */
static enum lc__infile_fate
refused(struct lc__infile *file, int sys)
{
	char text[128];

	bad(file, strerror_r(sys, text, sizeof(text)));
	switch (sys) {
	case ENOENT:
	case ENOTDIR:
	case ENAMETOOLONG:
	case ELOOP: return LC__INFILE_MISSING;
	case ENXIO:
	case ENODEV:
	case EISDIR: return LC__INFILE_BAD;
	case ENOMEM:
	case EMFILE:
	case ENFILE: (void)lc__error_sys(sys, "%s", file->path); return LC__INFILE_FATAL;
	default: (void)lc__error_sys(sys, "%s", file->path); return LC__INFILE_REFUSED;
	}
}

static enum lc__infile_fate
look(struct lc__infile *file)
{
	if (fstat(file->fd, &file->st) == -1)
		return refused(file, errno);
	if (!S_ISREG(file->st.st_mode))
		return bad(file, "is not a regular file");
	return LC__INFILE_GOOD;
}

enum lc__infile_fate
lc__infile_open(struct lc__infile *file, int root, const char *path, uint64_t limit)
{
	char why[64];
	enum lc__infile_fate fate;

	*file = (struct lc__infile){ .path = path };
	file->fd = lc__openat(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (file->fd == -1)
		return refused(file, errno);
	fate = look(file);
	if (fate != LC__INFILE_GOOD || (uint64_t)file->st.st_size <= limit)
		return fate;
	snprintf(why, sizeof(why), "larger than %llu bytes", (unsigned long long)limit);
	return bad(file, why);
}

/* One byte more than expected is requested, to notice a file that grew. */
static enum lc__infile_fate
read_once(struct lc__infile *file, struct lc__buf *out, bool *steady)
{
	const size_t start = out->size, size = (size_t)file->st.st_size;
	const struct stat before = file->st;
	enum lc__infile_fate fate;
	size_t got = 0;
	char *place = lc__buf_append(out, NULL, size + 1);

	if (place == NULL)
		return refused(file, ENOMEM);
	if (lseek(file->fd, 0, SEEK_SET) == -1)
		return refused(file, errno);
	if (lc__read_full(file->fd, place, size + 1, &got, file->path) != LC_OK)
		return refused(file, lc_last_error()->sys);
	out->size = start + (got < size ? got : size);
	fate = look(file);
	*steady = got == size && file->st.st_size == before.st_size &&
	    lc__sources_mtime(&file->st) == lc__sources_mtime(&before);
	return fate;
}

enum lc__infile_fate
lc__infile_read(struct lc__infile *file, struct lc__buf *out,
    struct lc__source_note *note)
{
	const size_t start = out->size;
	enum lc__infile_fate fate = LC__INFILE_GOOD;
	int64_t at = 0;
	bool steady = false;

	/* It may be being copied there right now: try again once, then give up. */
	for (int i = 0; i < 2 && !steady && fate == LC__INFILE_GOOD; i++) {
		out->size = start;
		at = now();
		fate = read_once(file, out, &steady);
	}
	if (fate != LC__INFILE_GOOD)
		return fate;
	if (!steady)
		return bad(file, "changes while it is read");
	note->path = file->path;
	note->size = out->size - start;
	note->mtime_ns = lc__sources_mtime(&file->st);
	note->settled = note->mtime_ns <= at - LC__SETTLED_NS;
	lc__hash128(out->data + start, note->size, note->hash);
	return LC__INFILE_GOOD;
}

void
lc__infile_close(struct lc__infile *file)
{
	if (file->fd != -1)
		close(file->fd);
	file->fd = -1;
}

/* ---- headers of images ------------------------------------------------------------- */

/* Most headers are within the first of these sizes; those of JPEG and PNG are within the
 * second. TIFF and WebP may have theirs, or part of it, at the end of the file. */
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
