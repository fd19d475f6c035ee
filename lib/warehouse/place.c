/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "shard/outdir.h"

#define HASH_DIGITS 12
#define DAY_DIGITS 8
#define LAST_MS 253402300799999u /* of the year 9999 */
#define TEMPORARY "." LC__WAREHOUSE_CURRENT "."
#define TRIES 3 /* how often to try to replace the link */

/* ---- names ----------------------------------------------------------------- */

lc_status
lc__version_name(const char version[65], const char fingerprint[65], uint64_t ms,
    char out[LC__VERSION_NAME])
{
	const time_t seconds = (time_t)(ms / 1000);
	char text[64 + 1 + 64 + 1], hash[65];
	struct tm day;

	if (ms > LAST_MS || gmtime_r(&seconds, &day) == NULL)
		return lc__error(LC_INVALID, 0, "version: %llu ms is not a date",
		    (unsigned long long)ms);
	snprintf(text, sizeof(text), "%s:%s", version, fingerprint);
	return_if_error(lc__sha256_of(text, strlen(text), hash));
	snprintf(out, LC__VERSION_NAME, "v%04d%02d%02d-%.*s", day.tm_year + 1900,
	    day.tm_mon + 1, day.tm_mday, HASH_DIGITS, hash);
	return LC_OK;
}

static bool
is_version_name(const char *name)
{
	if (name[0] != 'v' || strspn(name + 1, "0123456789") != DAY_DIGITS ||
	    name[1 + DAY_DIGITS] != '-')
		return false;
	name += 1 + DAY_DIGITS + 1;
	return strlen(name) == HASH_DIGITS &&
	    strspn(name, "0123456789abcdef") == HASH_DIGITS;
}

/* A single component, so that it stays in its directory. */
static bool
is_plain_name(const char *name)
{
	return *name != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
	    strcmp(name, "..") != 0;
}

/* ---- finding --------------------------------------------------------------- */

static lc_status
look_for_manifest(const char *dir, bool *found)
{
	char *path = lc__path_join(dir, LC__MANIFEST_NAME);
	struct stat st;
	lc_status status = LC_OK;

	if (path == NULL)
		return lc__no_memory(dir);
	*found = stat(path, &st) == 0;
	if (*found)
		*found = S_ISREG(st.st_mode);
	else if (errno != ENOENT && errno != ENOTDIR)
		status = lc__error_sys(errno, "%s", path);
	free(path);
	return status;
}

/* The target of the link, if it is one plain name. */
static lc_status
read_link(const char *link, char target[NAME_MAX + 1])
{
	const ssize_t n = readlink(link, target, NAME_MAX + 1);

	if (n == -1 && errno == EINVAL)
		return lc__error(LC_CORRUPT, 0, "%s: is not a symbolic link", link);
	if (n == -1)
		return lc__error_sys(errno, "%s: readlink", link);
	if (n > NAME_MAX)
		return lc__error(LC_CORRUPT, 0, "%s: leads outside", link);
	target[n] = '\0';
	if (!is_plain_name(target))
		return lc__error(LC_CORRUPT, 0, "%s: leads outside, to %s", link,
		    lc__quote_id(target, (size_t)n));
	return LC_OK;
}

/* @p dir is the target of the link. */
static lc_status
check_version(const char *link, const char *target, const char *dir)
{
	struct stat st;
	bool found;

	if (stat(dir, &st) == -1)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
		    ? lc__error(LC_CORRUPT, errno, "%s: leads to %s", link, target)
		    : lc__error_sys(errno, "%s", dir);
	return_if_error(look_for_manifest(dir, &found));
	return found ? LC_OK
		     : lc__error(LC_CORRUPT, 0, "%s: leads to %s, which has no %s", link,
			   target, LC__MANIFEST_NAME);
}

/* The version that WAREHOUSE/current names. */
static lc_status
follow(const char *warehouse, const char *link, char **out)
{
	char target[NAME_MAX + 1], *dir;
	lc_status status;

	return_if_error(read_link(link, target));
	dir = lc__path_join(warehouse, target);
	if (dir == NULL)
		return lc__no_memory(link);
	status = check_version(link, target, dir);
	if (status == LC_OK)
		*out = dir;
	else
		free(dir);
	return status;
}

static bool
is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* @p path without slashes at its end is "current" or ends in "/current". */
static lc_status
find_by_link(const char *path, char **out)
{
	const char *slash = strrchr(path, '/');
	char *warehouse = slash == NULL
	    ? strdup(".")
	    : strndup(path, slash == path ? 1 : (size_t)(slash - path));
	lc_status status;

	if (warehouse == NULL)
		return lc__no_memory(path);
	status = follow(warehouse, path, out);
	free(warehouse);
	return status;
}

static lc_status
find_in_warehouse(const char *path, char **out)
{
	char *link = lc__path_join(path, LC__WAREHOUSE_CURRENT);
	struct stat st;
	lc_status status;

	if (link == NULL)
		return lc__no_memory(path);
	if (lstat(link, &st) == 0)
		status = follow(path, link, out);
	else if (errno != ENOENT && errno != ENOTDIR)
		status = lc__error_sys(errno, "%s", link);
	else
		status = lc__error(LC_NOT_MODULE, 0,
		    "%s: not a warehouse: it has neither %s nor %s", path,
		    LC__MANIFEST_NAME, LC__WAREHOUSE_CURRENT);
	free(link);
	return status;
}

/* WAREHOUSE itself, or a version. */
static lc_status
find_in_dir(const char *path, char **out)
{
	bool found;

	return_if_error(look_for_manifest(path, &found));
	if (!found)
		return find_in_warehouse(path, out);
	*out = strdup(path);
	return *out != NULL ? LC_OK : lc__no_memory(path);
}

static bool
names_current(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash != NULL ? slash + 1 : path, LC__WAREHOUSE_CURRENT) == 0;
}

lc_status
lc__version_find(const char *path, char **out)
{
	size_t n = strlen(path);
	struct stat st;
	char *bare;
	lc_status status;

	while (n > 1 && path[n - 1] == '/')
		n--;
	bare = strndup(path, n);
	if (bare == NULL)
		return lc__no_memory(path);
	if (names_current(bare) && is_link(bare))
		status = find_by_link(bare, out);
	else if (stat(bare, &st) == -1)
		status = lc__error_sys(errno, "%s", bare);
	else
		status = find_in_dir(bare, out);
	free(bare);
	return status;
}

/* ---- listing --------------------------------------------------------------- */

static lc_status
add_versions(struct lc__dir *dir, struct lc__dir_list *out)
{
	const struct dirent *entry;
	struct stat st;

	for (;;) {
		return_if_error(lc__dir_next(dir, &entry));
		if (entry == NULL)
			return LC_OK;
		if (!is_version_name(entry->d_name))
			continue;
		/* A dangling link is not a version; one that cannot be read may be. */
		if (fstatat(dir->fd, entry->d_name, &st, 0) == -1) {
			if (errno != ENOENT && errno != ELOOP)
				return lc__error_sys(errno, "%s", entry->d_name);
		} else if (S_ISDIR(st.st_mode)) {
			return_if_error(lc__dir_list_add(out, entry));
		}
	}
}

lc_status
lc__version_list(const char *warehouse, struct lc__dir_list *out)
{
	struct lc__dir dir;
	lc_status status;

	return_if_error(lc__dir_open(warehouse, &dir));
	status = add_versions(&dir, out);
	lc__dir_close(&dir);
	if (status == LC_OK)
		lc__dir_list_sort(out);
	else
		lc__dir_list_free(out);
	return status;
}

/* ---- switching ------------------------------------------------------------- */

/* ".current.4711": made by a switch, which may have been killed. */
static bool
is_temporary(const char *name)
{
	const size_t n = strlen(TEMPORARY);

	return strncmp(name, TEMPORARY, n) == 0 && name[n] != '\0' &&
	    strspn(name + n, "0123456789") == strlen(name + n);
}

/* A file that cannot be removed is harmless. */
static lc_status
remove_leftovers(const char *warehouse)
{
	const struct dirent *entry;
	struct lc__dir dir;
	lc_status status;

	return_if_error(lc__dir_open(warehouse, &dir));
	while ((status = lc__dir_next(&dir, &entry)) == LC_OK && entry != NULL)
		if (is_temporary(entry->d_name) &&
		    lc__dir_type(&dir, entry, false) == S_IFLNK)
			(void)unlinkat(dir.fd, entry->d_name, 0);
	lc__dir_close(&dir);
	return status;
}

static lc_status
replace_link(const char *temporary, const char *link, const char *name)
{
	lc_status status;

	/* Another process that switches now may remove it as a leftover. */
	for (int left = TRIES; left > 0; left--) {
		if (symlink(name, temporary) == -1)
			return lc__error_sys(errno, "%s: symlink", temporary);
		if (rename(temporary, link) == 0)
			return LC_OK;
		if (errno != ENOENT)
			break;
	}
	status = lc__error_sys(errno, "%s: rename", link);
	unlink(temporary);
	return status;
}

lc_status
lc__version_switch(const char *warehouse, const char *name)
{
	char *link = NULL, *temporary = NULL;
	char text[40];
	lc_status status;

	if (!is_plain_name(name))
		return lc__error(LC_INVALID, 0, "%s: is not the name of a version",
		    lc__quote_id(name, strlen(name)));
	return_if_error(remove_leftovers(warehouse));
	snprintf(text, sizeof(text), TEMPORARY "%ld", (long)getpid());
	link = lc__path_join(warehouse, LC__WAREHOUSE_CURRENT);
	temporary = lc__path_join(warehouse, text);
	if (link == NULL || temporary == NULL)
		status = lc__no_memory(warehouse);
	else
		status = replace_link(temporary, link, name);
	if (status == LC_OK)
		status = lc__sync_dir(warehouse);
	free(temporary);
	free(link);
	return status;
}
