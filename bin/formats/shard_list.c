/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/shard_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/image_name.h"
#include "base/listdir.h"

#define GROUP "bucket_"

static bool
ends_with(const char *name, const char *const suffixes[])
{
	const size_t size = strlen(name);

	for (size_t i = 0; suffixes[i] != NULL; i++) {
		const size_t n = strlen(suffixes[i]);

		if (size > n && strcasecmp(name + size - n, suffixes[i]) == 0)
			return true;
	}
	return false;
}

bool
lc__is_tar_name(const char *name)
{
	static const char *const suffixes[] = { ".tar", ".tgz", ".tar.gz", ".tar.xz",
		".txz", ".tar.bz2", ".tbz2", ".tar.zst", ".tzst", NULL };

	return ends_with(name, suffixes);
}

/* Takes @p path over. */
static lc_status
append(struct lc__shard_list *list, char *path)
{
	const lc_status status = path == NULL
	    ? lc__no_memory(NULL)
	    : lc__array_reserve(&list->paths, &list->room, list->count + 1, NULL);

	if (status == LC_OK)
		list->paths[list->count++] = path;
	else
		free(path);
	return status;
}

/* The path of an entry if it is a directory, or is not one, as @p want says; else NULL.
 * An entry that no longer exists, or is a dangling link, counts as both: it was listed,
 * and the code that opens it reports the error. */
static lc_status
path_of_kind(const char *dir, const char *name, bool want, char **out)
{
	char *path = lc__path_join(dir, name);
	lc_status status = LC_OK;
	struct stat st;

	*out = NULL;
	if (path == NULL)
		return lc__no_memory(dir);
	if (stat(path, &st) == -1) {
		if (errno == ENOENT || errno == ELOOP)
			st.st_mode = want ? S_IFDIR : S_IFREG;
		else
			status = lc__error_sys(errno, "%s: stat", path);
	}
	if (status == LC_OK && S_ISDIR(st.st_mode) == want)
		*out = path;
	else
		free(path);
	return status;
}

static lc_status
add_archives(struct lc__shard_list *list, const char *dir,
    const struct lc__dir_list *entries)
{
	for (size_t i = 0; i < entries->n; i++) {
		const char *name = entries->entries[i].name;
		char *path;

		if (!lc__is_tar_name(name))
			continue;
		return_if_error(path_of_kind(dir, name, false, &path));
		if (path != NULL)
			return_if_error(append(list, path));
	}
	return LC_OK;
}

static lc_status read_directory(struct lc__shard_list *list, const char *dir,
    bool groups);

static lc_status
add_groups(struct lc__shard_list *list, const char *dir,
    const struct lc__dir_list *entries)
{
	lc_status status = LC_OK;

	for (size_t i = 0; i < entries->n && status == LC_OK; i++) {
		const char *name = entries->entries[i].name;
		char *path;

		if (strncmp(name, GROUP, strlen(GROUP)) != 0)
			continue;
		return_if_error(path_of_kind(dir, name, true, &path));
		if (path == NULL)
			continue;
		status = read_directory(list, path, false);
		/* It is added to the list itself, to be reported together with its
		 * archives. */
		if (status == LC_NO_FILE)
			status = append(list, path);
		else
			free(path);
	}
	return status;
}

static lc_status
read_directory(struct lc__shard_list *list, const char *dir, bool groups)
{
	struct lc__dir_list entries = { 0 };
	lc_status status = lc__listdir(dir, false, &entries);

	if (status == LC_OK)
		status = add_archives(list, dir, &entries);
	if (status == LC_OK && groups)
		status = add_groups(list, dir, &entries);
	lc__dir_list_free(&entries);
	return status;
}

lc_status
lc__shard_list_read(const char *path, struct lc__shard_list *out)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return lc__error_sys(errno, "%s: open", path);
	out->named = !S_ISDIR(st.st_mode);
	return out->named ? append(out, strdup(path)) : read_directory(out, path, true);
}

/* If the directory also has files that are records, the archive among them is not a
 * shard. */
static lc_status
has_single_files(const char *path, bool *out)
{
	static const char *const suffixes[] = { ".npy", NULL };
	const struct dirent *entry;
	struct lc__dir dir;
	lc_status status = LC_OK;

	return_if_error(lc__dir_open(path, &dir));
	*out = false;
	while (!*out && (status = lc__dir_next(&dir, &entry)) == LC_OK && entry != NULL)
		*out = entry->d_name[0] != '.' &&
		    (ends_with(entry->d_name, suffixes) ||
			lc__is_image_name(entry->d_name, strlen(entry->d_name)));
	lc__dir_close(&dir);
	return status;
}

lc_status
lc__shard_list_is(const char *path, bool *is)
{
	struct lc__shard_list list = { 0 };
	bool single = false;
	lc_status status;

	/* The first file is enough, even of a million. */
	return_if_error(has_single_files(path, &single));
	*is = false;
	if (single)
		return LC_OK;
	status = lc__shard_list_read(path, &list);
	*is = status == LC_OK && list.count > 0;
	lc__shard_list_free(&list);
	return status;
}

void
lc__shard_list_free(struct lc__shard_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->paths[i]);
	free(list->paths);
	memset(list, 0, sizeof(*list));
}
