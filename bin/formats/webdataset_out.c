/* SPDX-License-Identifier: BSD-2-Clause */
/* Tar archives of WebDataset to export: one file, or in a directory a series
 * GROUP/shard-000000.tar for each group of records. Each archive appears whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "formats/archive.h"
#include "formats/formats.h"
#include "formats/outfile.h"
#include "formats/shard_list.h"
#include "formats/webdataset_layout.h"

#define SUFFIX ".tar"
#define BLOCK 512 /* bytes that a member's header has, and a multiple of which its data */
/* The most archives that are open at once. If more groups come, the one that was idle
 * longest ends its archive. */
#define MOST_OPEN 64

/* The archives of one group; the last may be open. */
struct group {
	char *name;                         /* "" for none */
	uint64_t next;                      /* number of the next archive */
	uint64_t turn;                      /* when it got its last record */
	uint64_t records, bytes;            /* in the archive that is open */
	struct lc__archive_writer *archive; /* NULL if none is */
	struct lc__out_file file;
};

struct tar_series {
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
find_group(const struct tar_series *series, const char *name)
{
	for (size_t i = 0; i < series->count; i++)
		if (strcmp(series->groups[i]->name, name) == 0)
			return series->groups[i];
	return NULL;
}

static struct group *
add_group(struct tar_series *series, const char *name)
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
open_archive(struct tar_series *series, struct group *group)
{
	char *name = NULL;
	lc_status status;

	if (series->path != NULL) {
		status = lc__out_file_open(series->path, &series->how, &group->file);
	} else {
		if (asprintf(&name, "%s%sshard-%06llu" SUFFIX, group->name,
			*group->name != '\0' ? "/" : "",
			(unsigned long long)group->next) < 0)
			return lc__no_memory(NULL);
		status = lc__out_tree_open(&series->tree, name, &group->file);
		free(name);
	}
	return_if_error(status);
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
close_archive(struct tar_series *series, struct group *group)
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

/* The archive that the next record of a group goes into, which takes @p bytes of it. */
static lc_status
series_at(struct tar_series *series, const char *name, uint64_t bytes,
    struct lc__archive_writer **out)
{
	const struct lc__outgoing_how *how = &series->how;
	struct group *group = find_group(series, name), *oldest = NULL;

	if (group == NULL)
		group = add_group(series, name);
	if (group == NULL)
		return lc__no_memory(NULL);
	if (group->archive != NULL && series->path == NULL && group->records > 0 &&
	    ((how->shard_records > 0 && group->records >= how->shard_records) ||
		group->bytes > how->shard_bytes ||
		bytes > how->shard_bytes - group->bytes))
		return_if_error(close_archive(series, group));
	/* If more groups than these alternate, their archives are shorter than usual. */
	if (group->archive == NULL && series->open == MOST_OPEN) {
		for (size_t i = 0; i < series->count; i++)
			if (series->groups[i]->archive != NULL &&
			    (oldest == NULL || series->groups[i]->turn < oldest->turn))
				oldest = series->groups[i];
		if (oldest != NULL)
			return_if_error(close_archive(series, oldest));
	}
	if (group->archive == NULL)
		return_if_error(open_archive(series, group));
	group->records++;
	group->bytes += bytes;
	group->turn = series->turns++;
	*out = group->archive;
	return LC_OK;
}

/* ---- beginning and ending --------------------------------------------------------- */

/* Archives in place stay. */
static void
series_discard(struct tar_series *series)
{
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
}

/* Begin one archive if the path ends with .tar, otherwise a directory. The series is to be
 * discarded also after a failure. */
static lc_status
series_begin(struct tar_series *series, const char *path,
    const struct lc__outgoing_how *how)
{
	const size_t size = strlen(path), n = strlen(SUFFIX);
	struct group *group;

	series->how = *how;
	if (!lc__out_is_stdout(path) &&
	    (size <= n || strcmp(path + size - n, SUFFIX) != 0))
		return lc__out_tree_begin(path, how, &series->tree);
	if (how->group != NULL || how->shard_records != 0)
		return lc__error(LC_INVALID, 0,
		    "%s: a series of archives needs a directory, not %s", path,
		    lc__out_is_stdout(path) ? "standard output" : "one file");
	series->path = strdup(path);
	group = add_group(series, "");
	if (series->path == NULL || group == NULL)
		return lc__no_memory(NULL);
	/* A single archive exists even without records. */
	return open_archive(series, group);
}

/* Does the name have the form of an archive of a series, but not belong to this
 * series? */
static bool
is_left(const struct tar_series *series, const char *path)
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

/* Remove archives of an earlier series that was longer or had other groups: readers would
 * take them for part of this one. */
static lc_status
remove_left(const struct tar_series *series)
{
	const size_t top = strlen(series->tree.path);
	struct lc__shard_list list = { 0 };
	struct stat st;
	lc_status status = lc__shard_list_read(series->tree.path, &list);

	for (size_t i = 0; i < list.count && status == LC_OK; i++) {
		char *path = list.paths[i], *slash = strrchr(path, '/');
		bool below, elsewhere;

		if (!is_left(series, path))
			continue;
		/* Do not follow symbolic links: they lead out of the tree. */
		*slash = '\0';
		below = strlen(path) > top;
		elsewhere = below && (lstat(path, &st) == -1 || S_ISLNK(st.st_mode));
		*slash = '/';
		if (elsewhere)
			continue;
		if (unlink(path) == -1)
			status = lc__error_sys(errno, "%s: remove", path);
		/* The directory of the group goes too, once it is empty. */
		*slash = '\0';
		if (below)
			(void)rmdir(path);
	}
	lc__shard_list_free(&list);
	return status;
}

static lc_status
series_finish(struct tar_series *series, uint64_t *bytes)
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

/* ---- records ------------------------------------------------------------------------- */

struct wds_out {
	struct tar_series series;
	struct lc__wds_files files; /* of the record that is written */
	struct lc__buf heads;       /* what comes before their data */
	struct content *contents;   /* of each file */
	size_t room;
};

/* The bytes of a file. */
struct content {
	size_t head, head_size; /* place in the heads */
	const void *data;       /* what follows */
	size_t size;
};

static void
discard(void *ctx)
{
	struct wds_out *out = ctx;

	series_discard(&out->series);
	lc__wds_files_free(&out->files);
	lc__buf_free(&out->heads);
	free(out->contents);
	free(out);
}

static lc_status
begin(const char *path, const struct lc__outgoing_how *how, void **result)
{
	struct wds_out *out = calloc(1, sizeof(*out));
	lc_status status;

	if (out == NULL)
		return lc__no_memory(path);
	status = series_begin(&out->series, path, how);
	if (status == LC_OK)
		*result = out;
	else
		discard(out);
	return status;
}

/* Encode the whole record before writing any of it. */
static lc_status
collect(struct wds_out *out, uint64_t *bytes)
{
	const struct lc__outgoing_how *how = &out->series.how;

	return_if_error(
	    lc__array_reserve(&out->contents, &out->room, out->files.count, NULL));
	out->heads.size = 0;
	*bytes = 0;
	if (lc__buf_append(&out->heads, NULL, 0) == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < out->files.count; i++) {
		struct content *content = &out->contents[i];

		content->head = out->heads.size;
		if (lc__wds_file_bytes(&out->files.files[i], how->bits, &out->heads,
			&content->data, &content->size) != LC_OK) {
			const char *name = lc__wds_file_name(&out->files, i);
			return lc__error_prefix("%s", lc__quote_id(name, strlen(name)));
		}
		content->head_size = out->heads.size - content->head;
		*bytes += BLOCK + lc__round_up(content->head_size + content->size, BLOCK);
	}
	return LC_OK;
}

static lc_status
put(void *ctx, lc_id id, const lc_value *value)
{
	struct wds_out *out = ctx;
	const struct lc__outgoing_how *how = &out->series.how;
	struct lc__archive_writer *archive = NULL;
	const char *group = "";
	uint64_t bytes = 0;

	return_if_error(lc__wds_layout(id, value, &out->files));
	return_if_error(collect(out, &bytes));
	if (how->group != NULL)
		return_if_error(how->group(how->group_ctx, id, value, &group));
	return_if_error(series_at(&out->series, group, bytes, &archive));
	for (size_t i = 0; i < out->files.count; i++) {
		const struct content *content = &out->contents[i];

		return_if_error(
		    lc__archive_add(archive, lc__wds_file_name(&out->files, i),
			content->head_size + content->size));
		return_if_error(lc__archive_append(archive,
		    out->heads.data + content->head, content->head_size));
		return_if_error(
		    lc__archive_append(archive, content->data, content->size));
	}
	return LC_OK;
}

static lc_status
finish(void *ctx, uint64_t *bytes)
{
	struct wds_out *out = ctx;
	const lc_status status = series_finish(&out->series, bytes);

	discard(out);
	return status;
}

const struct lc__outgoing_format lc__outgoing_webdataset = {
	.name = "webdataset",
	.suffix = ".tar",
	.what = "one tar archive of WebDataset, or a directory of them",
	.streams = true,
	.begin = begin,
	.put = put,
	.finish = finish,
	.discard = discard,
};
