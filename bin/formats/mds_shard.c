/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/mds_shard.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/fileio.h"
#include "formats/spill.h"
#include "formats/archive.h"

#define STEP ((size_t)1 << 20) /* bytes read at once */

static lc_status
read_at(int fd, uint64_t at, void *out, size_t size, const char *path)
{
	size_t got;

	if (lseek(fd, (off_t)at, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", path);
	return_if_error(lc__read_full(fd, out, size, &got, path));
	return got == size ? LC_OK : lc__error(LC_CORRUPT, 0, "%s: ends early", path);
}

/* ---- checksums ----------------------------------------------------------------- */

static lc_status
sum_file(int fd, struct lc__checksum *sum, const char *path)
{
	unsigned char *bytes = malloc(STEP);
	size_t got = STEP;
	lc_status status = bytes != NULL ? LC_OK : lc__no_memory(path);

	if (status == LC_OK && lseek(fd, 0, SEEK_SET) == -1)
		status = lc__error_sys(errno, "%s: seek", path);
	while (status == LC_OK && got == STEP) {
		status = lc__read_full(fd, bytes, STEP, &got, path);
		if (status == LC_OK)
			status = lc__checksum_update(sum, bytes, got);
	}
	free(bytes);
	return status;
}

/* A checksum of an unknown kind is not checked. */
static lc_status
check_hash(int fd, const struct lc__mds_hash *hash, const char *path)
{
	char hex[LC__CHECKSUM_HEX];
	struct lc__checksum *sum;
	lc_status status = lc__checksum_new(hash->algorithm, &sum);

	if (status != LC_OK)
		return status == LC_UNSUPPORTED ? LC_OK : status;
	status = sum_file(fd, sum, path);
	if (status == LC_OK)
		status = lc__checksum_hex(sum, hex);
	if (status == LC_OK && strcasecmp(hex, hash->hex) != 0)
		status = lc__error(LC_CORRUPT, 0,
		    "%s: %s is %s, not %s as the index has it", path, hash->algorithm,
		    hex, hash->hex);
	lc__checksum_free(sum);
	return status;
}

static lc_status
check_file(int fd, const struct lc__mds_file *file, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	if ((uint64_t)st.st_size != file->bytes)
		return lc__error(LC_CORRUPT, 0,
		    "%s: %jd bytes, of which the index has %" PRIu64, path,
		    (intmax_t)st.st_size, file->bytes);
	for (size_t i = 0; i < file->hashes; i++)
		return_if_error(check_hash(fd, &file->hash[i], path));
	return LC_OK;
}

/* ---- compressed ones ----------------------------------------------------------- */

/* Up to the bytes that the index has, and some more to know of more. */
static lc_status
inflate_into(struct lc__spill *spill, struct lc__archive *archive, uint64_t limit)
{
	struct lc__buf bytes = { 0 };
	struct lc__archive_member member;
	lc_status status = lc__archive_next(archive, &member);

	if (status == LC_END)
		status = lc__error(LC_CORRUPT, 0, "nothing in it");
	bytes.size = STEP;
	while (status == LC_OK && bytes.size == STEP && spill->size <= limit) {
		bytes.size = 0;
		status = lc__archive_read_some(archive, STEP, &bytes);
		if (status == LC_OK)
			status = lc__spill_write(spill, bytes.data, bytes.size);
	}
	lc__buf_free(&bytes);
	if (status == LC_OK && spill->size != limit)
		status = lc__error(LC_CORRUPT, 0,
		    "inflated it is not of the %" PRIu64 " bytes that the index has",
		    limit);
	return status == LC_OK ? lc__spill_flush(spill) : status;
}

static lc_status
check_compression(const struct lc__mds_shard *shard, const char *path)
{
	static const char *const known[] = { "gz", "bz2", "zstd" };
	const size_t size = strcspn(shard->compression,
	    ":"); /* the level comes after it */

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i]) == size &&
		    memcmp(known[i], shard->compression, size) == 0)
			return LC_OK;
	return lc__error(LC_UNSUPPORTED, 0,
	    "%s: compressed by %s, which is not read here", path,
	    lc__quote_id(shard->compression, strlen(shard->compression)));
}

static lc_status
check_zip(const char *path, const struct lc__mds_file *file)
{
	lc_status status;
	int fd;

	return_if_error(lc__open_regular(path, &fd));
	status = check_file(fd, file, path);
	close(fd);
	return status;
}

static lc_status
inflate(const struct lc__mds_shard *shard, struct lc__mds_shard_file *file)
{
	struct lc__spill spill = LC__SPILL_NONE;
	struct lc__archive *archive;
	lc_status status;

	return_if_error(check_compression(shard, file->path));
	return_if_error(check_zip(file->path, &shard->zip));
	status = lc__archive_open_file(LC__ARCHIVE_RAW, file->path, &archive);
	if (status != LC_OK)
		return lc__error_prefix("%s", file->path);
	status = lc__spill_open(NULL, &spill);
	if (status == LC_OK)
		status = inflate_into(&spill, archive, shard->raw.bytes);
	lc__archive_close(archive);
	if (status == LC_OK) {
		file->fd = spill.fd;
		spill.fd = -1;
	}
	lc__spill_close(&spill);
	return status == LC_OK ? LC_OK : lc__error_prefix("%s", file->path);
}

/* ---- opening ------------------------------------------------------------------- */

/* As it is if it is there, or else compressed. */
static lc_status
open_either(const char *dir, const struct lc__mds_shard *shard,
    struct lc__mds_shard_file *file)
{
	lc_status status;

	file->path = lc__path_join(dir, shard->raw.name);
	if (file->path == NULL)
		return lc__no_memory(dir);
	status = lc__open_regular(file->path, &file->fd);
	if (status != LC_NO_FILE || shard->compression == NULL)
		return status;
	free(file->path);
	file->path = lc__path_join(dir, shard->zip.name);
	return file->path != NULL ? inflate(shard, file) : lc__no_memory(dir);
}

static lc_status
read_head(const struct lc__mds_shard *shard, struct lc__mds_shard_file *file)
{
	const uint64_t size = lc__mds_head_size(shard->samples);

	if (size > shard->raw.bytes)
		return lc__error(LC_CORRUPT, 0,
		    "%s: %" PRIu64 " bytes cannot have %" PRIu32 " samples", file->path,
		    shard->raw.bytes, shard->samples);
	file->samples = shard->samples;
	file->head = malloc(size);
	if (file->head == NULL)
		return lc__no_memory(file->path);
	return_if_error(read_at(file->fd, 0, file->head, size, file->path));
	if (lc__mds_check_head(file->head, shard->samples, shard->raw.bytes) != LC_OK)
		return lc__error_prefix("%s", file->path);
	return LC_OK;
}

lc_status
lc__mds_shard_open(const char *dir, const struct lc__mds_shard *shard,
    struct lc__mds_shard_file *out)
{
	struct lc__mds_shard_file file = LC__MDS_FILE_NONE;
	lc_status status = open_either(dir, shard, &file);

	if (status == LC_OK)
		status = check_file(file.fd, &shard->raw, file.path);
	if (status == LC_OK)
		status = read_head(shard, &file);
	if (status == LC_OK)
		*out = file;
	else
		lc__mds_shard_close(&file);
	return status;
}

uint64_t
lc__mds_shard_size(const struct lc__mds_shard_file *file, uint32_t sample)
{
	uint64_t begin, end;

	lc__mds_place(file->head, sample, &begin, &end);
	return end - begin;
}

lc_status
lc__mds_shard_read(const struct lc__mds_shard_file *file, uint32_t sample, uint64_t at,
    void *out, size_t size)
{
	uint64_t begin, end;

	lc__mds_place(file->head, sample, &begin, &end);
	return read_at(file->fd, begin + at, out, size, file->path);
}

void
lc__mds_shard_close(struct lc__mds_shard_file *file)
{
	if (file->fd != -1)
		close(file->fd);
	free(file->path);
	free(file->head);
	*file = (struct lc__mds_shard_file)LC__MDS_FILE_NONE;
}
