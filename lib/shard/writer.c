/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes pass through buffers that stay in the second-level cache: they are copied in or
 * converted there, hashed and written in one call while they are hot. This was measured
 * to be faster than writing straight from the map, and block checksums come at no extra
 * cost. SHA-256 takes longer than everything else: while a thread hashes one buffer, the
 * other one is filled.
 */
#include "shard/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "base/newfile.h"
#include "format/twh1.h"

#define SINK_BYTES ((size_t)4 * LC__TWH1_BLOCK)
#define BEHIND ((uint64_t)4 << 20) /* size from which a thread pays */

/* The file being written. */
struct sink {
	const struct lc__shard_job *job;
	const char *path; /* for messages */
	int fd;
	unsigned char *room;      /* two buffers of SINK_BYTES */
	unsigned char *buf;       /* the one being filled */
	size_t used;              /* bytes in buf */
	uint64_t offset;          /* bytes written before buf */
	uint64_t begun;           /* the part of them passed to lc__write_behind() */
	struct lc__digest digest; /* of everything written */
	unsigned char *table;     /* the checksum section, or NULL */
	uint64_t blocks;          /* checksums in it so far */
};

static lc_status
flush(struct sink *sink)
{
	const struct lc__shard_job *job = sink->job;
	const size_t size = sink->used;

	if (size == 0)
		return LC_OK;
	/* Only the section itself, the last flush, is not in a block. */
	for (size_t at = 0;
	     sink->table != NULL && sink->offset < job->info.checksum_offset && at < size;
	     at += LC__TWH1_BLOCK) {
		const size_t left = size - at;

		lc__set64(sink->table + LC__TWH1_TABLE_HEADER + 8 * sink->blocks++,
		    lc__hash64(sink->buf + at,
			left < LC__TWH1_BLOCK ? left : LC__TWH1_BLOCK));
	}
	return_if_error(lc__digest_hand(&sink->digest, sink->buf, size));
	return_if_error(lc__write_full(sink->fd, sink->buf, size, sink->path));
	sink->buf = sink->buf == sink->room ? sink->room + SINK_BYTES : sink->room;
	sink->offset += size;
	sink->used = 0;
	lc__write_behind(sink->fd, &sink->begun, sink->offset);
	return job->step != NULL ? job->step(job->step_ctx, size) : LC_OK;
}

/* Append bytes, or zeros with data NULL. */
static lc_status
put(struct sink *sink, const void *data, uint64_t size)
{
	const unsigned char *from = data;

	while (size > 0) {
		const size_t room = SINK_BYTES - sink->used;
		const size_t n = size < room ? (size_t)size : room;
		if (from != NULL) {
			memcpy(sink->buf + sink->used, from, n);
			from += n;
		} else {
			memset(sink->buf + sink->used, 0, n);
		}
		sink->used += n;
		size -= n;
		if (sink->used == SINK_BYTES)
			return_if_error(flush(sink));
	}
	return LC_OK;
}

/* Append an image; its elements are computed directly in the buffer from which they are
 * hashed and written. */
static lc_status
put_converted(struct sink *sink, const uint8_t *image, uint64_t size)
{
	const struct lc__shard_source *source = sink->job->source;
	const size_t element = lc_dtype_size(sink->job->info.dtype);

	while (size > 0) {
		const size_t room = SINK_BYTES - sink->used;
		const size_t bytes = size < room ? (size_t)size : room;

		return_if_error(source->convert(source->ctx, image, bytes / element,
		    sink->buf + sink->used));
		image += bytes / element;
		sink->used += bytes;
		size -= bytes;
		if (sink->used == SINK_BYTES)
			return_if_error(flush(sink));
	}
	return LC_OK;
}

static lc_status
pad_to(struct sink *sink, uint64_t offset)
{
	return put(sink, NULL, offset - sink->offset - sink->used);
}

static lc_status
put_images(struct sink *sink, uint64_t size)
{
	const struct lc__shard_job *job = sink->job;
	const struct lc__shard_source *source = job->source;
	/* Its pages are used only by a source that computes images. */
	void *room = malloc(size + 1);
	const void *image = NULL;
	lc_status status = pad_to(sink, job->info.image_offset);

	if (room == NULL)
		status = lc__no_memory("export");
	for (uint64_t i = 0; i < job->info.samples && status == LC_OK; i++) {
		status = source->image(source->ctx, job->first + i, room, &image);
		if (status == LC_OK)
			status = source->convert != NULL
			    ? put_converted(sink, image, size)
			    : put(sink, image, size);
	}
	free(room);
	return status;
}

/* All boxes, then, in a second pass, all masks. */
static lc_status
put_boxes(struct sink *sink, const struct lc__twh1_sizes *sizes)
{
	const struct lc__shard_job *job = sink->job;

	for (int masks = 0; masks < 2; masks++) {
		return_if_error(
		    pad_to(sink, masks ? job->info.mask_offset : job->info.boxes_offset));
		for (uint64_t i = 0; sizes->mask > 0 && i < job->info.samples; i++) {
			const void *boxes = NULL, *mask = NULL;
			return_if_error(job->source->boxes(job->source->ctx,
			    job->first + i, &boxes, &mask));
			return_if_error(put(sink, masks ? mask : boxes,
			    masks ? sizes->mask : sizes->boxes));
		}
	}
	return LC_OK;
}

/* The offsets of the rows, then the rows. */
static lc_status
put_rows(struct sink *sink, struct lc__buf *rows)
{
	const struct lc__shard_job *job = sink->job;
	unsigned char header[LC__TWH1_META_HEADER], offset[8] = { 0 };
	struct lc__twh1_row row;

	return_if_error(pad_to(sink, job->info.meta_offset));
	lc__twh1_put_meta_header(job->info.samples, job->row_bytes, header);
	return_if_error(put(sink, header, sizeof(header)));
	return_if_error(put(sink, offset, sizeof(offset)));
	for (uint64_t i = 0; i < job->info.samples; i++) {
		return_if_error(job->source->row(job->source->ctx, job->first + i, &row));
		lc__twh1_row_encode(&row, rows);
		lc__set64(offset, rows->size);
		return_if_error(put(sink, offset, sizeof(offset)));
	}
	if (rows->failed)
		return lc__no_memory(sink->path);
	if (rows->size != job->row_bytes)
		return lc__error(LC_CORRUPT, 0,
		    "%s: metadata changed while it was exported", sink->path);
	return put(sink, rows->data, rows->size);
}

static lc_status
put_all(struct sink *sink)
{
	const lc_shard_info *info = &sink->job->info;
	unsigned char header[LC__TWH1_HEADER];
	struct lc__twh1_sizes sizes;
	struct lc__buf rows = { 0 };
	lc_status status;

	if (!lc__twh1_sizes_of(info, &sizes))
		return lc__error(LC_INVALID, 0, "%s: sizes overflow", sink->path);
	lc__twh1_put_header(info, header);
	return_if_error(put(sink, header, sizeof(header)));
	return_if_error(put_images(sink, sizes.image));
	return_if_error(put_boxes(sink, &sizes));
	if (info->meta_offset != 0) {
		status = put_rows(sink, &rows);
		lc__buf_free(&rows);
		return_if_error(status);
	}
	if (info->checksum_offset != 0) {
		/* The blocks end before the section: flush what they cover first. */
		return_if_error(pad_to(sink, info->checksum_offset));
		return_if_error(flush(sink));
		lc__twh1_seal_table(header, sink->blocks, sink->table);
		return_if_error(
		    put(sink, sink->table, lc__twh1_table_size(sink->blocks)));
	}
	return flush(sink);
}

static lc_status
write_shard(struct sink *sink)
{
	const lc_shard_info *info = &sink->job->info;

	return_if_error(lc__digest_begin(&sink->digest, sink->job->no_sha256));
	if (info->file_size >= BEHIND)
		lc__digest_behind(&sink->digest);
	sink->room = sink->buf = aligned_alloc(4096, 2 * SINK_BYTES);
	if (info->checksum_offset != 0)
		sink->table = malloc(lc__twh1_table_size(
		    lc__twh1_blocks(info->checksum_offset, LC__TWH1_BLOCK)));
	if (sink->room == NULL || (info->checksum_offset != 0 && sink->table == NULL))
		return lc__no_memory(sink->path);
	/* Allocate the space now, so that a full disk shows before the work. Not with
	 * posix_fallocate(), which writes zeros where the file system cannot allocate. */
	if (fallocate(sink->fd, 0, 0, (off_t)info->file_size) == -1 &&
	    errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
		return lc__error_sys(errno, "%s: allocate %llu bytes", sink->path,
		    (unsigned long long)info->file_size);
	return put_all(sink);
}

lc_status
lc__shard_write_to(const struct lc__shard_job *job, const struct lc__newfile *file,
    struct lc__digest_text *out)
{
	struct sink sink = { .job = job, .path = job->path, .fd = file->fd };
	lc_status status = write_shard(&sink);

	if (status == LC_OK)
		status = lc__digest_end(&sink.digest, out);
	lc__digest_free(&sink.digest);
	free(sink.table);
	free(sink.room);
	return status;
}

lc_status
lc__shard_write(const struct lc__shard_job *job, struct lc__digest_text *out)
{
	struct lc__newfile file;
	struct lc__digest_text text;
	lc_status status;

	return_if_error(lc__newfile_open(job->path, 0666, &file));
	status = lc__shard_write_to(job, &file, &text);
	if (status == LC_OK)
		status = lc__newfile_replace(&file);
	if (status == LC_OK)
		*out = text;
	lc__newfile_discard(&file);
	return status;
}
