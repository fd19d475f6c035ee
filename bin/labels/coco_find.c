/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds COCO's file and the directory of its images. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "labels/coco.h"
#include "labels/label.h"
#include "labels/names.h"

/* ---- the file ------------------------------------------------------------------ */

static const char *
skip_blanks(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* Whether the file is an object whose first member is one of COCO's. */
static bool
begins_as_coco(const char *text)
{
	static const char *const names[] = { "info", "licenses", "images", "annotations",
		"categories", "type" };
	const char *p = skip_blanks(text + lc__utf8_mark(text, strlen(text)));

	if (*p++ != '{')
		return false;
	p = skip_blanks(p);
	if (*p++ != '"')
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const size_t n = strlen(names[i]);
		if (strncmp(p, names[i], n) == 0 && p[n] == '"')
			return true;
	}
	return false;
}

/* COCO's file must be a regular file; a dangling link is none. A file that cannot be
 * read might be one: if it were ignored, the dataset might be taken for another
 * layout. */
static lc_status
looks_like_coco(const char *path, bool *out)
{
	char text[4096];
	size_t got = 0;
	lc_status status;
	int fd;

	*out = false;
	status = lc__open_regular(path, &fd);
	if (status == LC_NO_FILE || status == LC_INVALID ||
	    (status == LC_IO && lc_last_error()->sys == ELOOP))
		return LC_OK;
	return_if_error(status);
	status = lc__read_full(fd, text, sizeof(text) - 1, &got, path);
	close(fd);
	text[got] = '\0';
	*out = status == LC_OK && begins_as_coco(text);
	return status;
}

static lc_status
look_in(const char *root, const char *dir, struct lc__strings *out)
{
	struct lc__listing listing;
	lc_status status = lc__listing_read(root, dir, &listing);

	for (size_t i = 0; i < listing.n && status == LC_OK; i++) {
		const char *name = listing.entries[i].name;
		char *path, *full = NULL;
		bool is = false;
		if (listing.entries[i].dir || !lc__name_has(name, ".json"))
			continue;
		path = lc__name_join(dir, name);
		if (path != NULL)
			full = lc__path_join(root, path);
		status = full != NULL ? looks_like_coco(full, &is) : lc__no_memory(dir);
		if (is)
			status = lc__strings_add(out, path);
		free(path);
		free(full);
	}
	lc__listing_free(&listing);
	return status;
}

/* Candidates for the file, relative to the root. */
static lc_status
candidates(const char *root, struct lc__strings *out)
{
	bool is;

	return_if_error(lc__tree_is_dir(root, "annotations", &is));
	if (is)
		return_if_error(look_in(root, "annotations", out));
	return look_in(root, "", out);
}

lc_status
lc__coco_first(const char *root, char **out)
{
	struct lc__strings found = { 0 };
	lc_status status = candidates(root, &found);

	if (status == LC_OK && found.n > 0) {
		*out = found.items[0];
		found.items[0] = NULL;
	}
	lc__strings_free(&found);
	return status;
}

lc_status
lc__coco_find(struct lc__dataset *dataset, const char *labels, struct lc__coco *coco)
{
	const char *root = dataset->root;
	struct lc__strings found = { 0 };
	struct lc__buf text = { 0 };
	lc_status status = LC_OK;

	if (labels == NULL)
		status = candidates(root, &found);
	if (labels == NULL && status == LC_OK && found.n == 0)
		status = lc__error(LC_INVALID, 0,
		    "%s: no COCO file among the JSON "
		    "files of the root and of annotations",
		    root);
	for (size_t i = 0; i < found.n; i++)
		lc__buf_printf(&text, "%s%s", i > 0 ? ", " : "", found.items[i]);
	if (status == LC_OK && found.n > 1)
		status = lc__error(LC_INVALID, 0,
		    "%s: more than one COCO file: %.*s; choose one with --labels", root,
		    (int)text.size, (char *)text.data);
	lc__buf_free(&text);
	if (labels == NULL && status == LC_OK)
		labels = found.items[0];

	if (status == LC_OK) {
		coco->path = *labels == '/' ? strdup(labels)
					    : lc__path_join(root, labels);
		status = coco->path != NULL ? lc__strings_add(&dataset->shared, labels)
					    : lc__no_memory(labels);
	}
	if (status == LC_OK) {
		coco->name = dataset->shared.items[dataset->shared.n - 1];
		status = lc__open_regular(coco->path, &coco->fd);
	}
	lc__strings_free(&found);
	return status;
}

/* ---- the images ---------------------------------------------------------------- */

/* List the subdirectories of a directory. */
static lc_status
add_dirs(struct lc__dataset *dataset, const char *dir, struct lc__strings *out)
{
	struct lc__listing listing;
	lc_status status = lc__dataset_list(dataset, dir, &listing);

	for (size_t i = 0; i < listing.n && status == LC_OK; i++) {
		char *path;
		if (!listing.entries[i].dir)
			continue;
		path = lc__name_join(dir, listing.entries[i].name);
		status = path != NULL ? lc__strings_add(out, path) : lc__no_memory(dir);
		free(path);
	}
	lc__listing_free(&listing);
	return status;
}

/* The first of @p dirs that contains the file, or NULL. */
static lc_status
base_of(const char *root, const struct lc__strings *dirs, const char *name,
    const char **out)
{
	lc_status status = LC_OK;

	for (size_t i = 0; status == LC_OK && *out == NULL && i < dirs->n; i++) {
		bool inside, is = false;
		char *path = lc__path_below(dirs->items[i], name, &inside);
		if (path == NULL)
			return lc__no_memory(root);
		if (inside)
			status = lc__tree_is_file(root, path, &is);
		if (is)
			*out = dirs->items[i];
		free(path);
	}
	return status;
}

/* List the directories to which file names may be relative. */
static lc_status
bases(struct lc__dataset *dataset, const struct lc__coco *coco, struct lc__strings *out)
{
	/* SPLIT of "annotations/instances_SPLIT.json", such as "train2017", and the
	 * directory. */
	char *stem = lc__name_stem(coco->name), *dir = lc__name_dir(coco->name);
	const char *split = stem != NULL ? strrchr(stem, '_') : NULL;
	char *below = stem != NULL && dir != NULL
	    ? lc__name_join("images", split != NULL ? split + 1 : stem)
	    : NULL;
	lc_status status = below != NULL ? LC_OK : lc__no_memory(coco->name);
	bool is = false;

	if (status == LC_OK)
		status = lc__strings_add(out, "");
	if (status == LC_OK)
		status = lc__strings_add(out, "images");
	if (status == LC_OK && *coco->name != '/')
		status = lc__strings_add(out, dir);
	if (status == LC_OK)
		status = lc__strings_add(out, below + strlen("images/"));
	if (status == LC_OK)
		status = lc__strings_add(out, below);
	if (status == LC_OK)
		status = add_dirs(dataset, "", out);
	if (status == LC_OK)
		status = lc__tree_is_dir(dataset->root, "images", &is);
	if (is)
		status = add_dirs(dataset, "images", out);
	free(stem);
	free(dir);
	free(below);
	return status;
}

lc_status
lc__coco_base(struct lc__dataset *dataset, const struct lc__coco *coco,
    lc__coco_names next, void *ctx, char **out)
{
	enum { tried = 16 };
	struct lc__strings dirs = { 0 };
	const char *found = NULL, *name;
	lc_status status = bases(dataset, coco, &dirs);

	for (int i = 0;
	     status == LC_OK && found == NULL && i < tried && (name = next(ctx)) != NULL;
	     i++)
		status = base_of(dataset->root, &dirs, name, &found);
	if (status == LC_OK) {
		*out = strdup(found != NULL ? found : "");
		if (*out == NULL)
			status = lc__no_memory(coco->name);
	}
	lc__strings_free(&dirs);
	return status;
}
