/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "base/newfile.h"
#include "shard/outdir.h"

#define SAMPLES_DIGITS (LC__HASH128_HEX - 1)
#define SHA256_DIGITS 64

static bool
are_digits(const char *text, size_t n)
{
	return strspn(text, "0123456789abcdef") == n;
}

/* SAMPLES_HASH-SHA256.twh1 */
static bool
is_shard(const char *name)
{
	return are_digits(name, SAMPLES_DIGITS) && name[SAMPLES_DIGITS] == '-' &&
	    are_digits(name + SAMPLES_DIGITS + 1, SHA256_DIGITS) &&
	    strcmp(name + SAMPLES_DIGITS + 1 + SHA256_DIGITS, LC__SHARD_SUFFIX) == 0;
}

/* SAMPLES_HASH.twh1.tmp.XXXXXX */
static bool
is_unfinished(const char *name)
{
	const char *end = LC__SHARD_SUFFIX LC__NEWFILE_END;

	return are_digits(name, SAMPLES_DIGITS) &&
	    strlen(name) == SAMPLES_DIGITS + strlen(end) &&
	    strncmp(name + SAMPLES_DIGITS, end, strcspn(end, "X")) == 0;
}

/* The files with names of this kind, sorted. */
static lc_status
list(const char *path, bool (*takes)(const char *name), struct lc__dir_list *out)
{
	const struct dirent *entry;
	struct lc__dir dir;
	lc_status status = lc__dir_open(path, &dir);

	if (status != LC_OK)
		return status == LC_NO_FILE ? LC_OK : status;
	while ((status = lc__dir_next(&dir, &entry)) == LC_OK && entry != NULL)
		if (takes(entry->d_name)) {
			status = lc__dir_list_add(out, entry);
			if (status != LC_OK)
				break;
		}
	lc__dir_close(&dir);
	lc__dir_list_sort(out);
	return status;
}

lc_status
lc__packed_open(const char *dir, struct lc__packed *out)
{
	struct lc__packed packed = { .dir = dir };
	lc_status status = list(dir, is_shard, &packed.shards);

	for (size_t i = 1; i < packed.shards.n && status == LC_OK; i++) {
		const char *one = packed.shards.entries[i - 1].name;
		const char *other = packed.shards.entries[i].name;

		if (strncmp(one, other, SAMPLES_DIGITS) == 0)
			status = lc__error(LC_CORRUPT, 0,
			    "%s: %s and %s are of the same samples and differ: remove "
			    "both",
			    dir, one, other);
	}
	if (status == LC_OK)
		*out = packed;
	else
		lc__packed_close(&packed);
	return status;
}

void
lc__packed_close(struct lc__packed *packed)
{
	lc__dir_list_free(&packed->shards);
}

static int
by_samples(const void *key, const void *entry)
{
	return strncmp(key, ((const struct lc__dir_entry *)entry)->name, SAMPLES_DIGITS);
}

const char *
lc__packed_find(const struct lc__packed *packed, const char *samples_hash,
    char sha256[65])
{
	const struct lc__dir_list *shards = &packed->shards;
	const struct lc__dir_entry *found = NULL;

	if (shards->n > 0 && *samples_hash != '\0')
		found = bsearch(samples_hash, shards->entries, shards->n,
		    sizeof(*shards->entries), by_samples);
	if (found == NULL)
		return NULL;
	if (sha256 != NULL)
		sprintf(sha256, "%.64s", found->name + SAMPLES_DIGITS + 1);
	return found->name;
}

char *
lc__packed_path(const char *dir, const char *samples_hash, const char *sha256)
{
	char *path;

	if (asprintf(&path, "%s/%s%s%s" LC__SHARD_SUFFIX, dir, samples_hash,
		*sha256 != '\0' ? "-" : "", sha256) < 0)
		return NULL;
	return path;
}

lc_status
lc__packed_bytes(const char *dir, uint64_t *out)
{
	struct lc__dir_list shards = { .n = 0 };
	lc_status status = list(dir, is_shard, &shards);
	uint64_t bytes = 0;

	for (size_t i = 0; i < shards.n && status == LC_OK; i++) {
		char *path = lc__path_join(dir, shards.entries[i].name);
		struct stat st;

		if (path == NULL)
			status = lc__no_memory(dir);
		else if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
		free(path);
	}
	lc__dir_list_free(&shards);
	if (status == LC_OK)
		*out = bytes;
	return status;
}

static lc_status
remove_unfinished(const char *dir)
{
	struct lc__dir_list names = { .n = 0 };
	lc_status status = list(dir, is_unfinished, &names);

	for (size_t i = 0; i < names.n && status == LC_OK; i++) {
		char *name = names.entries[i].name, *path;

		name[SAMPLES_DIGITS] = '\0';
		path = lc__packed_path(dir, name, "");
		if (path == NULL)
			status = lc__no_memory(dir);
		else
			lc__newfile_tidy(path);
		free(path);
	}
	lc__dir_list_free(&names);
	return status;
}

lc_status
lc__packed_remove(const char *dir)
{
	struct lc__dir_list shards = { .n = 0 };
	lc_status status = list(dir, is_shard, &shards);

	for (size_t i = 0; i < shards.n && status == LC_OK; i++) {
		char *path = lc__path_join(dir, shards.entries[i].name);

		if (path == NULL)
			status = lc__no_memory(dir);
		else if (unlink(path) == -1 && errno != ENOENT)
			status = lc__error_sys(errno, "%s: remove", path);
		free(path);
	}
	lc__dir_list_free(&shards);
	if (status == LC_OK)
		status = remove_unfinished(dir);
	/* Other files stay, and so does the directory then. */
	if (status == LC_OK && rmdir(dir) == -1 && errno != ENOENT &&
	    errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
		status = lc__error_sys(errno, "%s: remove", dir);
	return status;
}
