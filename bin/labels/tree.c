/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/image_name.h"
#include "base/listdir.h"
#include "labels/names.h"

static int
compare_entries(const void *a, const void *b)
{
	const struct lc__entry *x = a, *y = b;

	return lc__order_names(x->name, y->name);
}

/* Whether a dataset may use a file with this name. */
static bool
is_known_file(const char *name)
{
	return lc__is_any_image_name(name) || lc__name_has(name, ".json") ||
	    lc__name_has(name, ".txt") || lc__name_has(name, ".xml");
}

/* Report why an entry cannot be examined. The status is never LC_NO_FILE, which would
 * mean that the directory is missing. */
static lc_status
lost(const char *dir, const char *name, int sys)
{
	char *path = lc__path_join(dir, name);
	lc_status status;

	if (path == NULL)
		return lc__no_memory(dir);
	status = lc__no_lost_link(path);
	if (status == LC_OK)
		status = lc__error_sys(sys, "%s", path);
	free(path);
	return status == LC_NO_FILE ? lc__error_as(LC_IO) : status;
}

/* An entry that cannot be examined counts as a file if its name is that of one: then
 * its frame lacks the file. With any other name it might be the directory of a whole
 * run. A FIFO is refused when it is read. */
static lc_status
read_entries(struct lc__dir *entries, struct lc__listing *out)
{
	const struct dirent *found;
	struct lc__entry *entry;

	for (;;) {
		mode_t type;
		return_if_error(lc__dir_next(entries, &found));
		if (found == NULL)
			return LC_OK;
		if (found->d_name[0] == '.')
			continue;
		type = lc__dir_type(entries, found, true);
		if (type == 0 && !is_known_file(found->d_name))
			return lost(entries->path, found->d_name, errno);
		return_if_error(lc__array_reserve(&out->entries, &out->room, out->n + 1,
		    entries->path));
		entry = &out->entries[out->n];
		*entry = (struct lc__entry){ strdup(found->d_name), type == S_IFDIR };
		if (entry->name == NULL)
			return lc__no_memory(entries->path);
		out->n++;
	}
}

lc_status
lc__listing_read(const char *root, const char *dir, struct lc__listing *out)
{
	char *path = *dir != '\0' ? lc__path_join(root, dir) : strdup(root);
	struct lc__dir entries;
	lc_status status;

	memset(out, 0, sizeof(*out));
	if (path == NULL)
		return lc__no_memory(dir);
	if (lc__dir_open(path, &entries) == LC_OK) {
		status = read_entries(&entries, out);
		lc__dir_close(&entries);
	} else {
		status = lc__error_sys(lc_last_error()->sys, "%s", path);
	}
	free(path);
	if (out->n > 0)
		qsort(out->entries, out->n, sizeof(*out->entries), compare_entries);
	return status;
}

void
lc__listing_free(struct lc__listing *listing)
{
	for (size_t i = 0; i < listing->n; i++)
		free(listing->entries[i].name);
	free(listing->entries);
	memset(listing, 0, sizeof(*listing));
}

const struct lc__entry *
lc__listing_find(const struct lc__listing *listing, const char *name)
{
	const struct lc__entry key = { .name = (char *)name };

	if (listing->n == 0)
		return NULL;
	return bsearch(&key, listing->entries, listing->n, sizeof(*listing->entries),
	    compare_entries);
}

/* The type is 0 if the entry does not exist. An entry that may not be examined does
 * exist. */
static lc_status
type_of(const char *root, const char *name, mode_t *out)
{
	const int fd = lc__open(root, O_PATH | O_DIRECTORY);
	lc_status status = LC_OK;
	struct stat st;

	*out = 0;
	if (fd != -1 && fstatat(fd, *name != '\0' ? name : ".", &st, 0) == 0)
		*out = st.st_mode & S_IFMT;
	else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP &&
	    errno != ENAMETOOLONG)
		status = lc__error_sys(errno, "%s/%s: stat", root, name);
	if (fd != -1)
		close(fd);
	return status;
}

lc_status
lc__tree_is_dir(const char *root, const char *dir, bool *out)
{
	mode_t type;
	const lc_status status = type_of(root, dir, &type);

	*out = type == S_IFDIR;
	return status;
}

lc_status
lc__tree_is_file(const char *root, const char *path, bool *out)
{
	mode_t type;
	const lc_status status = type_of(root, path, &type);

	*out = type == S_IFREG;
	return status;
}

/* ---- walking ---------------------------------------------------------------- */

/* A directory on the way down, and its parents. */
struct level {
	const struct level *parent;
	dev_t dev;
	ino_t ino;
	unsigned depth;
};

struct walk {
	const char *root;
	lc__tree_visit visit;
	void *ctx;
};

/* Identify the directory. LC_INVALID if it is nested too deep. */
static lc_status
identify(const char *root, const char *dir, struct level *level)
{
	char *path = *dir != '\0' ? lc__path_join(root, dir) : strdup(root);
	lc_status status = LC_OK;
	struct stat st;

	if (path == NULL)
		return lc__no_memory(dir);
	if (stat(path, &st) == -1)
		status = lc__error_sys(errno, "%s", path);
	else if (level->depth > LC__TREE_DEPTH)
		status = lc__error(LC_INVALID, 0, "%s: directories nested deeper than %d",
		    path, LC__TREE_DEPTH);
	free(path);
	if (status == LC_OK) {
		level->dev = st.st_dev;
		level->ino = st.st_ino;
	}
	return status;
}

static lc_status
walk_dir(const struct walk *w, const char *dir, const struct level *parent)
{
	struct level level = {
		.parent = parent,
		.depth = parent != NULL ? parent->depth + 1 : 0,
	};
	struct lc__listing listing;
	lc_status status;

	return_if_error(identify(w->root, dir, &level));
	for (const struct level *l = parent; l != NULL; l = l->parent)
		if (l->dev == level.dev && l->ino == level.ino)
			return LC_OK;
	status = lc__listing_read(w->root, dir, &listing);
	if (status == LC_OK)
		status = w->visit(w->ctx, dir, &listing);
	for (size_t i = 0; i < listing.n && status == LC_OK; i++) {
		const struct lc__entry *entry = &listing.entries[i];
		char *below;
		if (!entry->dir)
			continue;
		below = lc__name_join(dir, entry->name);
		status = below != NULL ? walk_dir(w, below, &level) : lc__no_memory(dir);
		free(below);
	}
	lc__listing_free(&listing);
	return status;
}

lc_status
lc__tree_walk(const char *root, lc__tree_visit visit, void *ctx)
{
	const struct walk w = { root, visit, ctx };

	return walk_dir(&w, "", NULL);
}
