/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads shards: maps a file, checks it, compares it with its manifest, and returns its
 * samples in place. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd.h"
#include "format/twh1_row.h"
#include "format/twh1.h"
#include "shard/reader.h"

struct lc_shard {
	struct lc__twh1 twh1; /* the bytes are those of the map */
	char *path;           /* for messages */
};

/* ---- opening --------------------------------------------------------------- */

static lc_status
map_file(int fd, const char *path, const void **map, uint64_t *size)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return lc__error(LC_NOT_MODULE, 0, "%s: not a TWH1 shard", path);
	*size = (uint64_t)st.st_size;
	*map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (*map == MAP_FAILED)
		return lc__error_sys(errno, "%s: map", path);
	return LC_OK;
}

static lc_status
new_shard(const char *path, const void *map, uint64_t size, lc_shard **out)
{
	lc_shard *shard = calloc(1, sizeof(*shard));
	lc_status status;

	if (shard == NULL || (shard->path = strdup(path)) == NULL) {
		free(shard);
		return lc__no_memory(path);
	}
	status = lc__twh1_parse(map, size, path, &shard->twh1);
	if (status != LC_OK) {
		free(shard->path);
		free(shard);
		return status;
	}
	*out = shard;
	return LC_OK;
}

lc_status
lc_shard_open(const char *path, lc_shard **out)
{
	/* O_NONBLOCK: refuse a FIFO instead of waiting for it. */
	const int fd = lc__open(path, O_RDONLY | O_NONBLOCK);
	const void *map = NULL;
	uint64_t size = 0;
	lc_status status;

	if (fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	status = map_file(fd, path, &map, &size);
	close(fd);
	return_if_error(status);
	status = new_shard(path, map, size, out);
	if (status != LC_OK)
		munmap((void *)map, size);
	return status;
}

void
lc_shard_close(lc_shard *shard)
{
	if (shard == NULL)
		return;
	munmap((void *)shard->twh1.file, shard->twh1.info.file_size);
	free(shard->path);
	free(shard);
}

const lc_shard_info *
lc_shard_info_of(const lc_shard *shard)
{
	return &shard->twh1.info;
}

const struct lc__twh1 *
lc__shard_twh1(const lc_shard *shard)
{
	return &shard->twh1;
}

/* ---- samples --------------------------------------------------------------- */

static lc_status
no_such_sample(const lc_shard *shard, uint64_t i)
{
	return lc__error(LC_NOT_FOUND, 0, "%s: no sample %llu; there are %llu samples",
	    shard->path, (unsigned long long)i,
	    (unsigned long long)shard->twh1.info.samples);
}

lc_status
lc_shard_sample(const lc_shard *shard, uint64_t i, lc_sample *out)
{
	if (i >= shard->twh1.info.samples)
		return no_such_sample(shard, i);
	return lc__twh1_sample(&shard->twh1, shard->path, i, out);
}

/* ---- verifying ------------------------------------------------------------- */

static lc_status
no_checksums(const lc_shard *shard)
{
	return lc__error(LC_UNSUPPORTED, 0, "%s: the shard has no checksums",
	    shard->path);
}

static lc_status
check_block(const lc_shard *shard, uint64_t b)
{
	if (lc__twh1_block_good(&shard->twh1, b))
		return LC_OK;
	return lc__error(LC_CORRUPT, 0,
	    "%s: bytes %llu to %llu do not match their checksum", shard->path,
	    (unsigned long long)(b * shard->twh1.block),
	    (unsigned long long)((b + 1) * shard->twh1.block - 1));
}

/* The blocks that cover size bytes at an address in the map. */
static lc_status
check_range(const lc_shard *shard, const void *data, uint64_t size)
{
	uint64_t from;

	if (size == 0)
		return LC_OK;
	from = (uint64_t)((const unsigned char *)data - shard->twh1.file);
	for (uint64_t b = from / shard->twh1.block;
	     b <= (from + size - 1) / shard->twh1.block; b++)
		return_if_error(check_block(shard, b));
	return LC_OK;
}

lc_status
lc_shard_verify_sample(const lc_shard *shard, uint64_t i)
{
	lc_sample sample;

	if (i >= shard->twh1.info.samples)
		return no_such_sample(shard, i);
	if (shard->twh1.table == NULL)
		return no_checksums(shard);
	if (shard->twh1.rows != NULL)
		return_if_error(check_range(shard, shard->twh1.offsets + 8 * i, 16));
	return_if_error(lc_shard_sample(shard, i, &sample));
	return_if_error(check_range(shard, sample.image.data, sample.image.nbytes));
	return_if_error(check_range(shard, sample.boxes.data, sample.boxes.nbytes));
	return_if_error(check_range(shard, sample.mask.data, sample.mask.nbytes));
	return check_range(shard, sample.meta.data, sample.meta.size);
}

/* Report damage; the first one is kept as the result. */
static void
note_damage(const lc_progress *progress, lc_error *first)
{
	if (first->status == LC_OK)
		*first = *lc_last_error();
	if (progress != NULL && progress->damage != NULL)
		progress->damage(progress->ctx, lc_last_error()->text);
}

static lc_status
verify_blocks(const lc_shard *shard, const lc_progress *progress, lc_error *first)
{
	const struct lc__twh1 *t = &shard->twh1;

	for (uint64_t b = 0; b < t->blocks; b++) {
		if (check_block(shard, b) != LC_OK)
			note_damage(progress, first);
		if (progress != NULL && progress->step != NULL && b % 64 == 0 &&
		    progress->step(progress->ctx, b * t->block, t->info.file_size) != 0)
			return lc__error(LC_CANCELLED, 0, "%s: verify cancelled",
			    shard->path);
	}
	return LC_OK;
}

static lc_status
bad_row(const lc_shard *shard, uint64_t i)
{
	return lc__error(LC_CORRUPT, 0, "%s: metadata of sample %llu is damaged",
	    shard->path, (unsigned long long)i);
}

static lc_status
check_row(const lc_shard *shard, uint64_t i)
{
	lc_sample_origin origin;
	lc_sample sample;

	return_if_error(lc_shard_sample(shard, i, &sample));
	return lc_sample_read_origin(&sample, &origin, NULL, 0) == LC_OK
	    ? LC_OK
	    : bad_row(shard, i);
}

lc_status
lc_shard_verify(const lc_shard *shard, const lc_progress *progress)
{
	lc_error first = { .status = LC_OK };

	return_if_error(verify_blocks(shard, progress, &first));
	for (uint64_t i = 0; shard->twh1.rows != NULL && i < shard->twh1.info.samples;
	     i++)
		if (check_row(shard, i) != LC_OK)
			note_damage(progress, &first);
	if (first.status != LC_OK)
		return lc__error_raise(&first);
	return shard->twh1.table != NULL ? LC_OK : no_checksums(shard);
}

/* ---- a shard and its manifest ------------------------------------------------------ */

static lc_status
differs(const char *path, const char *what, uint64_t has, uint64_t said)
{
	return lc__error(LC_CORRUPT, 0, "%s: %s is %llu, the manifest says %llu", path,
	    what, (unsigned long long)has, (unsigned long long)said);
}

static lc_status
dtype_differs(const char *path, const char *what, lc_dtype has, lc_dtype said)
{
	return lc__error(LC_CORRUPT, 0, "%s: %s is %s, the manifest says %s", path, what,
	    lc_dtype_name(has), lc_dtype_name(said));
}

lc_status
lc__shard_compare(const char *path, const struct lc__twh1 *shard,
    const struct lc__manifest_shard *said)
{
	const lc_shard_info *has = &shard->info;
	char section[17];
	const struct {
		const char *what;
		uint64_t has, said;
	} rows[] = {
		{ "file size", has->file_size,
		    said->has_bytes ? said->bytes : has->file_size },
		{ "shard_version", has->version, said->shard_version },
		{ "samples", has->samples, said->samples },
		{ "width", has->width, said->width },
		{ "height", has->height, said->height },
		{ "channels", has->channels, said->channels },
		{ "max_boxes", has->max_boxes, said->max_boxes },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].has != rows[i].said)
			return differs(path, rows[i].what, rows[i].has, rows[i].said);
	if (has->dtype != said->dtype)
		return dtype_differs(path, "dtype", has->dtype, said->dtype);
	if (has->boxes_dtype != said->boxes_dtype && has->max_boxes > 0)
		return dtype_differs(path, "boxes_dtype", has->boxes_dtype,
		    said->boxes_dtype);
	lc__twh1_section_xxh3(shard, section);
	if (said->section_xxh3[0] && strcmp(section, said->section_xxh3) != 0)
		return lc__error(LC_CORRUPT, 0,
		    "%s: its checksum section ends in %s, the manifest says %s", path,
		    section[0] ? section : "nothing", said->section_xxh3);
	if (said->big_endian)
		return lc__error(LC_CORRUPT, 0,
		    "%s: is little-endian, the manifest says Big", path);
	return LC_OK;
}

/* ---- the origin of a sample ------------------------------------------------------ */

/* Count the elements of a mask that are not 0, of any dtype. */
static uint64_t
count_marked(const lc_tensor *mask)
{
	const size_t size = lc_dtype_size(mask->dtype);
	const unsigned char *p = mask->data;
	uint64_t marked = 0;

	for (size_t at = 0; p != NULL && at < mask->nbytes; at += size) {
		unsigned char bits = 0;
		for (size_t k = 0; k < size; k++)
			bits |= p[at + k];
		marked += bits != 0;
	}
	return marked;
}

lc_status
lc_sample_read_origin(const lc_sample *sample, lc_sample_origin *out, int64_t *class_ids,
    size_t room)
{
	lc_sample_origin origin = { .has_frame_id = 0 };
	bool has_total = false;

	if (sample->meta.size > 0 &&
	    !lc__twh1_row_origin(sample->meta, &origin, &has_total, class_ids, room))
		return lc__error(LC_CORRUPT, 0, "the metadata of sample %s is damaged",
		    lc__quote_id(sample->id.data, sample->id.size));
	/* A row has the number of boxes only if some were not written. */
	if (sample->meta.size > 0 && !has_total)
		origin.boxes_total = count_marked(&sample->mask);
	*out = origin;
	return LC_OK;
}
