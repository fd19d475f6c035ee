/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/building.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "format/twh1.h"
#include "shard/digest.h"
#include "shard/outdir.h"

#define BUFFER ((size_t)256 << 10)

/* Stable: of equal ones the first in the manifest comes first. */
static int
by_samples(const void *a, const void *b)
{
	const struct lc__manifest_shard *const *one = a, *const *other = b;
	const int order = strcmp((*one)->samples_hash, (*other)->samples_hash);

	return order != 0 ? order : (*one > *other) - (*one < *other);
}

static lc_status
sort_shards(struct lc__reuse *older)
{
	const struct lc__manifest *m = &older->manifest;

	older->sorted = calloc(m->n + 1, sizeof(*older->sorted));
	if (older->sorted == NULL)
		return lc__no_memory(older->dir);
	for (size_t i = 0; i < m->n; i++)
		if (m->shards[i].samples_hash[0] != '\0')
			older->sorted[older->n++] = &m->shards[i];
	qsort(older->sorted, older->n, sizeof(*older->sorted), by_samples);
	return LC_OK;
}

lc_status
lc__reuse_open(const char *dir, struct lc__reuse *out)
{
	const struct lc__outdir older = { .path = dir, .fd = -1 };
	struct lc__buf text = { 0 };
	lc_status status = lc__outdir_read(&older, LC__MANIFEST_NAME, &text);

	out->dir = dir;
	if (status == LC_OK)
		status = lc__manifest_parse(text.data, text.size, LC__MANIFEST_NAME,
		    &out->manifest);
	lc__buf_free(&text);
	if (status == LC_OK)
		status = sort_shards(out);
	return status == LC_NO_MEMORY ? status : LC_OK;
}

void
lc__reuse_close(struct lc__reuse *older)
{
	free(older->sorted);
	lc__manifest_free(&older->manifest);
}

static bool
same_form(const struct lc__manifest_shard *a, const struct lc__manifest_shard *b)
{
	return a->shard_version == b->shard_version && a->samples == b->samples &&
	    a->width == b->width && a->height == b->height &&
	    a->channels == b->channels && a->max_boxes == b->max_boxes &&
	    a->dtype == b->dtype && a->boxes_dtype == b->boxes_dtype && !a->big_endian &&
	    a->has_bytes && a->bytes == b->bytes;
}

const struct lc__manifest_shard *
lc__reuse_find(const struct lc__reuse *older, const struct lc__manifest_shard *wanted,
    bool no_sha256)
{
	size_t first = 0, end = older->n;

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (strcmp(older->sorted[middle]->samples_hash, wanted->samples_hash) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	for (; first < older->n; first++) {
		const struct lc__manifest_shard *shard = older->sorted[first];

		if (strcmp(shard->samples_hash, wanted->samples_hash) != 0)
			break;
		if (same_form(shard, wanted) &&
		    (no_sha256 ? shard->xxh3 : shard->sha256)[0] != '\0')
			return shard;
	}
	return NULL;
}

bool
lc__reuse_links(const char *from, const char *dir)
{
	struct stat a, b;

	return from != NULL && stat(from, &a) == 0 && stat(dir, &b) == 0 &&
	    a.st_dev == b.st_dev;
}

/* Opening it also checks the checksum section against its own checksum, and the header
 * against the section. */
bool
lc__reuse_looks_whole(const char *path, const lc_shard_info *info)
{
	unsigned char want[LC__TWH1_HEADER], have[LC__TWH1_HEADER];
	lc_shard *shard;
	bool same;

	if (lc_shard_open(path, &shard) != LC_OK)
		return false;
	lc__twh1_put_header(info, want);
	lc__twh1_put_header(lc_shard_info_of(shard), have);
	same = memcmp(want, have, sizeof(want)) == 0 &&
	    lc_shard_info_of(shard)->file_size == info->file_size;
	lc_shard_close(shard);
	return same;
}

static lc_status
copy_bytes(int from, int to, const char *path, unsigned char *buf, struct lc__team *team,
    struct lc__digest *digest)
{
	size_t got;

	do {
		return_if_error(lc__read_full(from, buf, BUFFER, &got, path));
		return_if_error(lc__digest_update(digest, buf, got));
		return_if_error(lc__write_full(to, buf, got, path));
		return_if_error(lc__team_step(team, got));
	} while (got == BUFFER);
	return LC_OK;
}

static lc_status
copy_file(int from, int to, const char *path, const struct lc__manifest_shard *shard,
    bool no_sha256, struct lc__team *team, bool *same)
{
	struct lc__digest digest = { NULL, NULL, NULL };
	struct lc__digest_text text;
	unsigned char *buf = malloc(BUFFER);
	lc_status status = lc__digest_begin(&digest, no_sha256);

	if (buf == NULL && status == LC_OK)
		status = lc__no_memory(path);
	if (status == LC_OK)
		status = copy_bytes(from, to, path, buf, team, &digest);
	if (status == LC_OK)
		status = lc__digest_end(&digest, &text);
	if (status == LC_OK)
		*same = no_sha256 ? strcmp(text.xxh3, shard->xxh3) == 0
				  : strcmp(text.sha256, shard->sha256) == 0;
	free(buf);
	lc__digest_free(&digest);
	return status;
}

static lc_status
copy_shard(int from, const struct lc__manifest_shard *shard, const char *path,
    struct lc__team *team, bool *taken)
{
	struct lc__newfile file;
	lc_status status;

	return_if_error(lc__newfile_open(path, 0666, &file));
	status = copy_file(from, file.fd, path, shard, shard->sha256[0] == '\0', team,
	    taken);
	if (status == LC_OK && *taken)
		status = lc__newfile_replace(&file);
	lc__newfile_discard(&file);
	return status;
}

/* The new link is checked, not the older file: the link cannot change if the older build
 * is modified meanwhile. */
static lc_status
check_link(const char *path, const lc_shard_info *info, struct lc__team *team,
    bool *taken)
{
	lc_status status = LC_OK;
	int fd;

	*taken = lc__reuse_looks_whole(path, info);
	if (!*taken)
		return unlink(path) == 0 ? LC_OK
					 : lc__error_sys(errno, "%s: remove", path);
	/* The older build may have been written without waiting for the disk. */
	fd = lc__open(path, O_RDONLY | O_NONBLOCK);
	if (fd == -1 || fdatasync(fd) == -1)
		status = lc__error_sys(errno, "%s: fdatasync", path);
	if (fd != -1)
		close(fd);
	return status == LC_OK ? lc__team_step(team, info->file_size) : status;
}

static lc_status
link_or_copy(const char *file, const struct lc__manifest_shard *shard,
    const lc_shard_info *info, const char *path, struct lc__team *team, bool *taken)
{
	lc_status status = LC_OK;
	int fd;

	if (linkat(AT_FDCWD, file, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
		return check_link(path, info, team, taken);
	switch (errno) {
	case ENOENT:
	case ELOOP: return LC_OK;
	/* Another file system, the limit of links, or links are not supported or not
	 * allowed. */
	case EXDEV:
	case EMLINK:
	case EPERM:
	case EOPNOTSUPP:
	case ENOSYS: break;
	default: return lc__error_sys(errno, "%s: link to %s", path, file);
	}
	fd = lc__open(file, O_RDONLY | O_NONBLOCK);
	if (fd == -1 || !lc__reuse_looks_whole(file, info))
		*taken = false;
	else
		status = copy_shard(fd, shard, path, team, taken);
	if (fd != -1)
		close(fd);
	return status;
}

lc_status
lc__reuse_take(const char *from, const struct lc__manifest_shard *shard,
    const lc_shard_info *info, const char *path, struct lc__team *team, bool *taken)
{
	char *file = lc__path_join(from, shard->relative_path);
	lc_status status;

	*taken = false;
	if (file == NULL)
		return lc__no_memory(path);
	/* Renaming one link of a file over another would leave both. */
	if (unlink(path) == -1 && errno != ENOENT)
		status = lc__error_sys(errno, "%s: remove", path);
	else
		status = link_or_copy(file, shard, info, path, team, taken);
	free(file);
	return status;
}
