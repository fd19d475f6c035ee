/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/image_name.h"
#include "base/listdir.h"
#include "ui/pattern.h"
#include "ui/report.h"

/* Takes @p path over, also when it fails. */
static int
append(struct sources *sources, char *path, size_t below, bool named)
{
	if (path == NULL ||
	    lc__array_reserve(&sources->items, &sources->room, sources->count + 1,
		NULL) != LC_OK) {
		free(path);
		return report_no_memory();
	}
	sources->items[sources->count] = (struct source){
		.path = path,
		.below = below,
		.named = named,
		.order = sources->count,
	};
	sources->count++;
	return EXIT_DONE;
}

static bool
is_known(const char *name)
{
	const char *dot = strrchr(name, '.');

	return lc__is_image_name(name, strlen(name)) ||
	    (dot != NULL && strcasecmp(dot, ".npy") == 0);
}

static int add_directory(struct sources *sources, const char *dir, size_t below);

/* By errno. */
static int
unreadable(struct sources *sources, const char *path)
{
	const bool all = errno == ENOMEM || errno == EMFILE || errno == ENFILE;
	const int status = report_errno(path);

	sources->unreadable += !all;
	return sources->keep_going && !all ? EXIT_DONE : status;
}

/*
 * Directories that a symbolic link leads to are not entered, as that may never end. Every
 * entry with one of the names is read, and refused then unless it is a regular file.
 */
static int
add_entry(struct sources *sources, const char *dir, const struct lc__dir_entry *entry,
    size_t below)
{
	const char *name = entry->name;
	char *path = lc__path_join(dir, name);
	struct stat st;
	int status = EXIT_DONE;

	if (path == NULL)
		return report_no_memory();
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		status = add_directory(sources, path, below);
	else if (is_known(name) && (stat(path, &st) == -1 || !S_ISDIR(st.st_mode)))
		return append(sources, path, below, false);
	else if (!is_known(name) && lstat(path, &st) == -1 &&
	    (errno != ENOENT || entry->type == S_IFDIR))
		status = unreadable(sources, path);
	else
		(void)lc__images_ignored_add(&sources->ignored, name);
	free(path);
	return status;
}

static int
add_directory(struct sources *sources, const char *dir, size_t below)
{
	struct lc__dir_list entries = { 0 };
	int status = EXIT_DONE;

	if (lc__listdir(dir, false, &entries) == LC_OK) {
		for (size_t i = 0; i < entries.n && status == EXIT_DONE; i++)
			status = add_entry(sources, dir, &entries.entries[i], below);
	} else {
		errno = lc_last_error()->sys != 0 ? lc_last_error()->sys : ENOMEM;
		status = unreadable(sources, dir);
	}
	lc__dir_list_free(&entries);
	return status;
}

int
sources_add(struct sources *sources, const char *path)
{
	const size_t size = strlen(path);
	struct stat st;

	if (stat(path, &st) == -1)
		return report_errno(path);
	if (!S_ISDIR(st.st_mode))
		return append(sources, strdup(path), 0, true);
	return add_directory(sources, path, size + (path[size - 1] != '/'));
}

static int
name_source(struct source *source, const char *pattern)
{
	source->id = pattern_fill(pattern, source->path + source->below);
	if (source->id == NULL)
		return report_no_memory();
	source->id_size = strlen(source->id);
	if (source->id_size > 0 && source->id_size <= LC_MAX_ID)
		return EXIT_DONE;
	return report_error(EXIT_DATA, "%s: its cache_id is %s", source->path,
	    source->id_size ? "too long" : "empty");
}

#define MOST_SAME 10 /* files with the cache_id of another that are named */

static int
by_id(const void *a, const void *b)
{
	const struct source *const *x = a, *const *y = b;
	const int order = strcmp((*x)->id, (*y)->id);

	if (order != 0)
		return order;
	return ((*x)->order > (*y)->order) - ((*x)->order < (*y)->order);
}

static int
check_duplicates(const struct sources *sources)
{
	const struct source **sorted = calloc(sources->count + 1,
	    sizeof(const struct source *));
	size_t same = 0;

	if (sorted == NULL)
		return report_no_memory();
	for (size_t i = 0; i < sources->count; i++)
		sorted[i] = &sources->items[i];
	qsort(sorted, sources->count, sizeof(const struct source *), by_id);
	for (size_t i = 1; i < sources->count; i++) {
		if (strcmp(sorted[i]->id, sorted[i - 1]->id) != 0)
			continue;
		if (++same > MOST_SAME)
			continue;
		report_error(EXIT_DATA, "%s: same cache_id %s as %s", sorted[i]->path,
		    lc__quote_id(sorted[i]->id, sorted[i]->id_size), sorted[i - 1]->path);
	}
	free(sorted);
	if (same > 0)
		report_error(EXIT_DATA,
		    "%zu %s a cache_id that another one has%s; --id "
		    "'{path}' makes it of the whole path",
		    same, same == 1 ? "file has" : "files have",
		    same > MOST_SAME ? ", of which ten are named" : "");
	return same > 0 ? EXIT_DATA : EXIT_DONE;
}

int
sources_name(struct sources *sources, const char *pattern)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < sources->count && status != EXIT_SYSTEM; i++)
		status = report_worse(status, name_source(&sources->items[i], pattern));
	return status == EXIT_DONE ? check_duplicates(sources) : status;
}

static void
free_source(struct source *source)
{
	free(source->path);
	free(source->id);
}

size_t
sources_drop(struct sources *sources, bool (*fn)(void *ctx, const struct source *source),
    void *ctx)
{
	const size_t before = sources->count;
	size_t kept = 0;

	for (size_t i = 0; i < before; i++) {
		if (fn(ctx, &sources->items[i]))
			free_source(&sources->items[i]);
		else
			sources->items[kept++] = sources->items[i];
	}
	sources->count = kept;
	return before - kept;
}

void
sources_free(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++)
		free_source(&sources->items[i]);
	free(sources->items);
	memset(sources, 0, sizeof(*sources));
}
