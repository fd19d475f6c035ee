/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/tar_series.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "formats/outtree.h"
#include "formats/shard_list.h"
#include "formats/archive.h"

#define SUFFIX ".tar"

/* The archives of one group; the last may be open. */
struct group {
	char *name;                         /* "" for none */
	uint64_t next;                      /* number of the next archive */
	uint64_t turn;                      /* when it got its last record */
	uint64_t records, bytes;            /* in the archive that is open */
	struct lc__archive_writer *archive; /* NULL if none is */
	struct lc__out_file file;
};

struct lc__tar_series {
	struct lc__outgoing_how how;
	char *path;               /* of a single archive; NULL for a directory */
	struct lc__out_tree tree; /* of a directory */
	struct group **groups;
	size_t count, room;
	size_t open; /* groups with an open archive */
	uint64_t turns;
	uint64_t bytes; /* in archives that are in place */
};

/* ---- groups --------------------------------------------------------------------- */

static struct group *
find_group(const struct lc__tar_series *series, const char *name)
{
	for (size_t i = 0; i < series->count; i++)
		if (strcmp(series->groups[i]->name, name) == 0)
			return series->groups[i];
	return NULL;
}

static struct group *
add_group(struct lc__tar_series *series, const char *name)
{
	struct group *group;

	if (lc__array_reserve(&series->groups, &series->room, series->count + 1, NULL) !=
	    LC_OK)
		return NULL;
	group = calloc(1, sizeof(*group));
	if (group != NULL)
		group->name = strdup(name);
	if (group == NULL || group->name == NULL) {
		free(group);
		return NULL;
	}
	group->file = (struct lc__out_file)LC__OUT_FILE_NONE;
	series->groups[series->count++] = group;
	return group;
}

/* ---- archives ------------------------------------------------------------------- */

static lc_status
take(void *file, const void *data, size_t size)
{
	return lc__out_file_write(file, data, size);
}

static lc_status
open_file(struct lc__tar_series *series, struct group *group)
{
	char *name = NULL;
	lc_status status;

	if (series->path != NULL)
		return lc__out_file_open(series->path, &series->how, &group->file);
	if (asprintf(&name, "%s%sshard-%06llu" SUFFIX, group->name,
		*group->name != '\0' ? "/" : "", (unsigned long long)group->next) < 0)
		return lc__no_memory(NULL);
	status = lc__out_tree_open(&series->tree, name, &group->file);
	free(name);
	return status;
}

static lc_status
open_archive(struct lc__tar_series *series, struct group *group)
{
	return_if_error(open_file(series, group));
	if (lc__archive_create(LC__ARCHIVE_TAR, take, &group->file, &group->archive) !=
	    LC_OK) {
		lc__out_file_discard(&group->file);
		return lc_last_error()->status;
	}
	group->next++;
	group->records = group->bytes = 0;
	series->open++;
	return LC_OK;
}

static lc_status
close_archive(struct lc__tar_series *series, struct group *group)
{
	struct lc__archive_writer *archive = group->archive;
	lc_status status;
	uint64_t size;

	group->archive = NULL;
	series->open--;
	status = lc__archive_finish(archive);
	size = group->file.size;
	if (status == LC_OK)
		status = lc__out_file_finish(&group->file);
	if (status == LC_OK)
		series->bytes += size;
	lc__out_file_discard(&group->file);
	return status;
}

/* Where more groups than this alternate, each has its archives cut short. */
static lc_status
close_oldest(struct lc__tar_series *series)
{
	struct group *oldest = NULL;

	for (size_t i = 0; i < series->count; i++) {
		struct group *group = series->groups[i];

		if (group->archive != NULL &&
		    (oldest == NULL || group->turn < oldest->turn))
			oldest = group;
	}
	return oldest != NULL ? close_archive(series, oldest) : LC_OK;
}

static bool
is_full(const struct lc__tar_series *series, const struct group *group, uint64_t bytes)
{
	const struct lc__outgoing_how *how = &series->how;

	if (series->path != NULL || group->records == 0)
		return false;
	return (how->shard_records > 0 && group->records >= how->shard_records) ||
	    group->bytes > how->shard_bytes || bytes > how->shard_bytes - group->bytes;
}

lc_status
lc__tar_series_at(struct lc__tar_series *series, const char *name, uint64_t bytes,
    struct lc__archive_writer **out)
{
	struct group *group = find_group(series, name);

	if (group == NULL)
		group = add_group(series, name);
	if (group == NULL)
		return lc__no_memory(NULL);
	if (group->archive != NULL && is_full(series, group, bytes))
		return_if_error(close_archive(series, group));
	if (group->archive == NULL && series->open == LC__TAR_OPEN)
		return_if_error(close_oldest(series));
	if (group->archive == NULL)
		return_if_error(open_archive(series, group));
	group->records++;
	group->bytes += bytes;
	group->turn = series->turns++;
	*out = group->archive;
	return LC_OK;
}

/* ---- beginning and ending --------------------------------------------------------- */

static bool
is_single(const char *path)
{
	const size_t size = strlen(path), n = strlen(SUFFIX);

	return lc__out_is_stdout(path) ||
	    (size > n && strcmp(path + size - n, SUFFIX) == 0);
}

/* A single archive is there also without records. */
static lc_status
begin_single(struct lc__tar_series *series, const char *path)
{
	struct group *group;

	if (series->how.group != NULL || series->how.shard_records != 0)
		return lc__error(LC_INVALID, 0,
		    "%s: a series of archives needs a directory, not %s", path,
		    lc__out_is_stdout(path) ? "standard output" : "one file");
	series->path = strdup(path);
	group = add_group(series, "");
	if (series->path == NULL || group == NULL)
		return lc__no_memory(NULL);
	return open_archive(series, group);
}

lc_status
lc__tar_series_begin(const char *path, const struct lc__outgoing_how *how,
    struct lc__tar_series **out)
{
	struct lc__tar_series *series = calloc(1, sizeof(*series));
	lc_status status;

	if (series == NULL)
		return lc__no_memory(NULL);
	series->how = *how;
	status = is_single(path) ? begin_single(series, path)
				 : lc__out_tree_begin(path, how, &series->tree);
	if (status == LC_OK)
		*out = series;
	else
		lc__tar_series_discard(series);
	return status;
}

/* Is it an archive of a series as those here are named, but not one of this series? */
static bool
is_left(const struct lc__tar_series *series, const char *path)
{
	const char *below = path + strlen(series->tree.path);
	const char *base = strrchr(path, '/') + 1;
	const struct group *group;
	char *name, again[48];
	unsigned long long number;

	below += strspn(below, "/");
	if (sscanf(base, "shard-%llu", &number) != 1)
		return false;
	snprintf(again, sizeof(again), "shard-%06llu" SUFFIX, number);
	if (strcmp(base, again) != 0)
		return false;
	name = base > below ? strndup(below, (size_t)(base - below - 1)) : strdup("");
	group = name != NULL ? find_group(series, name) : NULL;
	free(name);
	return name != NULL && (group == NULL || number >= group->next);
}

/* Is it in a directory below the tree that is a symbolic link? */
static bool
is_elsewhere(const struct lc__tar_series *series, const char *path)
{
	const size_t size = (size_t)(strrchr(path, '/') - path);
	char *dir = strndup(path, size);
	struct stat st;
	const bool is = size > strlen(series->tree.path) &&
	    (dir == NULL || lstat(dir, &st) == -1 || S_ISLNK(st.st_mode));

	free(dir);
	return is;
}

/* Of a series that was longer, or had other groups: they would be read as of this one. */
static lc_status
remove_left(const struct lc__tar_series *series)
{
	struct lc__shard_list list = { 0 };
	lc_status status = lc__shard_list_read(series->tree.path, &list);

	for (size_t i = 0; i < list.count && status == LC_OK; i++) {
		char *path = list.paths[i];

		if (!is_left(series, path) || is_elsewhere(series, path))
			continue;
		if (unlink(path) == -1)
			status = lc__error_sys(errno, "%s: remove", path);
		*strrchr(path, '/') = '\0';
		/* The directory of the group goes too, once it is empty. */
		if (strlen(path) > strlen(series->tree.path))
			(void)rmdir(path);
	}
	lc__shard_list_free(&list);
	return status;
}

static lc_status
finish(struct lc__tar_series *series, uint64_t *bytes)
{
	uint64_t counted;

	for (size_t i = 0; i < series->count; i++)
		if (series->groups[i]->archive != NULL)
			return_if_error(close_archive(series, series->groups[i]));
	if (series->path == NULL) {
		if (series->how.force && !series->how.dry_run)
			return_if_error(remove_left(series));
		return_if_error(lc__out_tree_finish(&series->tree, &counted));
	}
	*bytes = series->bytes;
	return LC_OK;
}

lc_status
lc__tar_series_finish(struct lc__tar_series *series, uint64_t *bytes)
{
	const lc_status status = finish(series, bytes);

	lc__tar_series_discard(series);
	return status;
}

void
lc__tar_series_discard(struct lc__tar_series *series)
{
	if (series == NULL)
		return;
	for (size_t i = 0; i < series->count; i++) {
		struct group *group = series->groups[i];

		lc__archive_discard(group->archive);
		lc__out_file_discard(&group->file);
		free(group->name);
		free(group);
	}
	lc__out_tree_discard(&series->tree);
	free(series->groups);
	free(series->path);
	free(series);
}
