/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares sources with a list. A file with the same size and time is unchanged, unless
 * the time is so late that it may have changed again at the same time after it was read:
 * then, and if size or time differ, its content decides.
 */
#include "warehouse/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/image_name.h"
#include "base/listdir.h"

/* ---- the names in a directory ------------------------------------------------------- */

/* Names that a dataset may use: files with an image's or a label's extension, and
 * subdirectories, which end in "/". No dot files. */
struct dir_names {
	char **names; /* malloc'ed */
	size_t n, room;
};

static const char *const extensions[] = { ".json", ".txt", ".xml", ".yaml", ".yml" };

static bool
matters(const char *name, size_t size, bool directory)
{
	if (size == 0 || name[0] == '.')
		return false;
	if (directory || lc__is_image_name(name, size))
		return true;
	for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		const size_t n = strlen(extensions[i]);
		if (size > n && strncasecmp(name + size - n, extensions[i], n) == 0)
			return true;
	}
	return false;
}

/* Add a name of @p size bytes, if a dataset may use it. */
static lc_status
names_add(struct dir_names *names, const char *name, size_t size, bool directory)
{
	char *copy;

	if (!matters(name, size, directory))
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&names->names, &names->room, names->n + 1, "sources"));
	copy = malloc(size + 2);
	if (copy == NULL)
		return lc__no_memory("sources");
	memcpy(copy, name, size);
	strcpy(copy + size, directory ? "/" : "");
	names->names[names->n++] = copy;
	return LC_OK;
}

/* Add the names in directory @p path, relative to @p dir. A link counts as its target; a
 * dangling one as a file. */
static lc_status
names_read(int dir, const char *path, struct dir_names *names)
{
	const struct dirent *entry;
	struct lc__dir entries;
	lc_status status;

	return_if_error(
	    lc__dir_of(lc__openat(dir, path, O_RDONLY | O_DIRECTORY), path, &entries));
	while ((status = lc__dir_next(&entries, &entry)) == LC_OK && entry != NULL) {
		if (entry->d_name[0] != '.')
			status = names_add(names, entry->d_name, strlen(entry->d_name),
			    lc__dir_type(&entries, entry, true) == S_IFDIR);
		if (status != LC_OK)
			break;
	}
	lc__dir_close(&entries);
	return status;
}

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sort, and remove duplicates. */
static void
names_sort(struct dir_names *names)
{
	size_t kept = 0;

	if (names->n == 0)
		return;
	qsort(names->names, names->n, sizeof(*names->names), by_bytes);
	for (size_t i = 1; i < names->n; i++)
		if (strcmp(names->names[i], names->names[kept]) == 0)
			free(names->names[i]);
		else
			names->names[++kept] = names->names[i];
	names->n = kept + 1;
}

/* XXH3-128 of the sorted names, each with a NUL at its end. */
static lc_status
names_hash(const struct dir_names *names, uint64_t hash[2])
{
	struct lc__hash128 *state = lc__hash128_new();

	if (state == NULL)
		return lc__no_memory("sources");
	for (size_t i = 0; i < names->n; i++)
		lc__hash128_update(state, names->names[i], strlen(names->names[i]) + 1);
	lc__hash128_end(state, hash);
	lc__hash128_free(state);
	return LC_OK;
}

/* Is this name among the sorted ones, with its "/" if it is a directory? */
static bool
names_has(const struct dir_names *names, const char *name)
{
	return names->n > 0 &&
	    bsearch(&name, names->names, names->n, sizeof(*names->names), by_bytes) !=
	    NULL;
}

static void
names_free(struct dir_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->names[i]);
	free(names->names);
	memset(names, 0, sizeof(*names));
}

lc_status
lc__sources_hash_dir(const char *path, uint64_t hash[2])
{
	struct dir_names names = { 0 };
	lc_status status = names_read(AT_FDCWD, path, &names);

	names_sort(&names);
	if (status == LC_OK)
		status = names_hash(&names, hash);
	names_free(&names);
	return status;
}

/* ---- a comparison in progress ---------------------------------------------------- */

/* The coarsest time of any file system. */
#define TICK_NS 2000000000

/* Report only every nth check: most of them take a microsecond. */
#define STEP 256

struct comparison {
	const struct lc__sources *sources;
	int root; /* the directory */
	enum lc__sources_look look;
	const lc_progress *progress;
	uint64_t done, total; /* bytes of files */
	uint64_t differences;
	struct lc__buf first; /* the first difference */
};

/* ---- reporting ------------------------------------------------------------------- */

static lc_status
tell(struct comparison *c, const char *dir, const char *name, const char *what)
{
	struct lc__buf line = { 0 };

	if (*dir != '\0') {
		lc__sources_put_path(dir, &line);
		lc__buf_append(&line, "/", *name != '\0' ? 1 : 0);
	}
	if (*name != '\0' || *dir == '\0')
		lc__sources_put_path(name, &line);
	lc__buf_printf(&line, ": %s", what);
	lc__buf_append(&line, "", 1);
	if (line.failed) {
		lc__buf_free(&line);
		return lc__no_memory("sources");
	}
	if (c->progress != NULL && c->progress->damage != NULL)
		c->progress->damage(c->progress->ctx, (const char *)line.data);
	if (c->differences++ == 0)
		c->first = line;
	else
		lc__buf_free(&line);
	return LC_OK;
}

static lc_status
step(struct comparison *c)
{
	if (c->progress != NULL && c->progress->step != NULL &&
	    c->progress->step(c->progress->ctx, c->done, c->total) != 0)
		return lc__error(LC_CANCELLED, 0, "sources: cancelled");
	return LC_OK;
}

/* ---- one path -------------------------------------------------------------- */

static const char *
path_of(const struct lc__source_file *f)
{
	return *f->path != '\0' ? f->path : ".";
}

enum presence { THERE, GONE, ODD };

/* ODD is of another kind than it was. */
static lc_status
look_at(const struct comparison *c, const struct lc__source_file *f, struct stat *st,
    enum presence *out)
{
	if (fstatat(c->root, path_of(f), st, 0) == 0) {
		*out = (f->directory ? S_ISDIR(st->st_mode) : S_ISREG(st->st_mode))
		    ? THERE
		    : ODD;
		return LC_OK;
	}
	if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		return lc__error_sys(errno, "%s", path_of(f));
	*out = GONE;
	return LC_OK;
}

/* Does the time alone prove that it is unchanged? */
static bool
is_known(const struct comparison *c, const struct lc__source_file *f,
    const struct stat *st)
{
	int64_t later;

	return c->look == LC__LOOK_STAT && lc__sources_mtime(st) == f->mtime_ns &&
	    !__builtin_add_overflow(f->mtime_ns, TICK_NS, &later) &&
	    later < c->sources->since_ns;
}

static lc_status
compare_file(struct comparison *c, const struct lc__source_file *f)
{
	enum presence presence;
	uint64_t hash[2], size;
	struct stat st;
	lc_status status;

	return_if_error(look_at(c, f, &st, &presence));
	c->done += f->size;
	if (f->missing)
		return presence == GONE ? LC_OK : tell(c, f->path, "", "added");
	if (presence == GONE)
		return tell(c, f->path, "", "removed");
	if (presence == ODD || (uint64_t)st.st_size != f->size)
		return tell(c, f->path, "", "changed");
	if (is_known(c, f, &st))
		return LC_OK;
	status = lc__sources_hash_at(c->root, f->path, hash, &size);
	if (status == LC_NO_FILE)
		return tell(c, f->path, "", "removed");
	return_if_error(status);
	if (size != f->size || memcmp(hash, f->hash, sizeof(hash)) != 0)
		return_if_error(tell(c, f->path, "", "changed"));
	return step(c);
}

/* ---- directories ----------------------------------------------------------- */

/* The entries below directory @p dir, "" for all: [*begin, *end). */
static void
find_below(const struct lc__sources *s, const char *dir, size_t *begin, size_t *end)
{
	const size_t n = strlen(dir);
	size_t low = 0, high = s->n;

	*begin = 0;
	*end = s->n;
	if (n == 0)
		return;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const char *path = s->files[middle].path;
		const int order = strncmp(path, dir, n);
		if (order < 0 || (order == 0 && (unsigned char)path[n] < '/'))
			low = middle + 1;
		else
			high = middle;
	}
	for (*begin = *end = low; *end < s->n; ++*end) {
		const char *path = s->files[*end].path;
		if (strncmp(path, dir, n) != 0 || path[n] != '/')
			break;
	}
}

/* The names in a directory, as far as the list has them. */
struct known {
	struct dir_names names;  /* that were present */
	struct dir_names absent; /* that were looked for and missing; they have entries of
	                          * their own */
};

static lc_status
know(const struct lc__sources *s, const char *dir, struct known *known)
{
	const size_t skip = *dir != '\0' ? strlen(dir) + 1 : 0;
	size_t i, end;

	for (find_below(s, dir, &i, &end); i < end; i++) {
		const struct lc__source_file *f = &s->files[i];
		const char *name = f->path + skip;
		const size_t n = strcspn(name, "/");
		/* For an absolute path this is empty, which is not a name. */
		if (f->missing && name[n] == '/')
			continue;
		return_if_error(names_add(f->missing ? &known->absent : &known->names,
		    name, n, f->directory || name[n] == '/'));
	}
	names_sort(&known->names);
	names_sort(&known->absent);
	return LC_OK;
}

static lc_status
has_hash(const struct dir_names *names, const uint64_t want[2], bool *out)
{
	uint64_t hash[2];

	return_if_error(names_hash(names, hash));
	*out = memcmp(hash, want, sizeof(hash)) == 0;
	return LC_OK;
}

/*
 * Report which names of a directory differ. Its hash covers names in the list, and
 * possibly others. If the list has all of them, a name that it does not have is new. If
 * the names of the list and those present together give that hash, names were only
 * removed, and their own entries report that. Otherwise it is unknown which are new.
 */
static lc_status
tell_names(struct comparison *c, const struct lc__source_file *dir,
    const struct dir_names *now, struct known *known)
{
	bool same;

	return_if_error(know(c->sources, dir->path, known));
	return_if_error(has_hash(&known->names, dir->hash, &same));
	for (size_t i = 0; same && i < now->n; i++)
		if (!names_has(&known->names, now->names[i]) &&
		    !names_has(&known->absent, now->names[i]))
			return_if_error(tell(c, dir->path, now->names[i], "added"));
	if (same)
		return LC_OK;

	for (size_t i = 0; i < now->n; i++) {
		const char *name = now->names[i];
		const size_t n = strcspn(name, "/");

		if (!names_has(&known->absent, name))
			return_if_error(
			    names_add(&known->names, name, n, name[n] == '/'));
	}
	names_sort(&known->names);
	return_if_error(has_hash(&known->names, dir->hash, &same));
	return same ? LC_OK : tell(c, dir->path, "", "changed");
}

static lc_status
compare_names(struct comparison *c, const struct lc__source_file *dir,
    const struct dir_names *now)
{
	struct known known = { 0 };
	bool same = false;
	lc_status status;

	return_if_error(has_hash(now, dir->hash, &same));
	if (same)
		return LC_OK;
	status = tell_names(c, dir, now, &known);
	names_free(&known.names);
	names_free(&known.absent);
	return status;
}

/* If the list has files below it, their own entries report that they were removed. */
static lc_status
tell_gone_dir(struct comparison *c, const struct lc__source_file *dir)
{
	const struct lc__sources *s = c->sources;
	size_t i, end;

	for (find_below(s, dir->path, &i, &end); i < end; i++)
		if (!s->files[i].directory && !s->files[i].missing)
			return LC_OK;
	return tell(c, dir->path, "", "removed");
}

static lc_status
compare_dir(struct comparison *c, const struct lc__source_file *dir)
{
	struct dir_names now = { 0 };
	enum presence presence;
	struct stat st;
	lc_status status;

	return_if_error(look_at(c, dir, &st, &presence));
	if (presence != THERE)
		return tell_gone_dir(c, dir);
	if (is_known(c, dir, &st))
		return LC_OK;
	status = names_read(c->root, path_of(dir), &now);
	names_sort(&now);
	if (status == LC_OK)
		status = compare_names(c, dir, &now);
	else if (status == LC_NO_FILE) /* it was removed since it was examined */
		status = tell_gone_dir(c, dir);
	names_free(&now);
	return status;
}

/* ---- all ------------------------------------------------------------------- */

static lc_status
compare_all(struct comparison *c)
{
	const struct lc__sources *s = c->sources;

	for (size_t i = 0; i < s->n; i++)
		if (__builtin_add_overflow(c->total, s->files[i].size, &c->total))
			c->total = UINT64_MAX;
	for (size_t i = 0; i < s->n; i++) {
		return_if_error(s->files[i].directory ? compare_dir(c, &s->files[i])
						      : compare_file(c, &s->files[i]));
		if (i % STEP == 0)
			return_if_error(step(c));
	}
	return step(c);
}

lc_status
lc__sources_compare(const struct lc__sources *sources, const char *root,
    enum lc__sources_look look, const lc_progress *progress)
{
	struct comparison c = {
		.sources = sources,
		.look = look,
		.progress = progress,
	};
	lc_status status;

	c.root = lc__open(root, O_RDONLY | O_DIRECTORY);
	if (c.root == -1)
		return lc__error_sys(errno, "%s", root);
	status = compare_all(&c);
	close(c.root);
	if (status == LC_OK && c.differences == 1)
		status = lc__error(LC_INVALID, 0, "%s", (const char *)c.first.data);
	else if (status == LC_OK && c.differences > 1)
		status = lc__error(LC_INVALID, 0, "%s, and %llu more",
		    (const char *)c.first.data, (unsigned long long)c.differences - 1);
	lc__buf_free(&c.first);
	return status;
}
