/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether sources are still what a list says.
 *
 * Size and time of a file say that it is the same, unless the time is so late
 * that the file may have changed again at the same time after it was read: then,
 * and where size or time differ, its content decides.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "warehouse/dir_names.h"
#include "warehouse/sources_private.h"

/* No file system's time is coarser. */
#define TICK_NS 2000000000

/* Only each nth look is reported: most of them take a microsecond. */
#define STEP 256

/* A comparison on its way. */
struct comparison {
	const struct lc__sources *sources;
	int root; /* the directory */
	enum lc__sources_look look;
	const lc_progress *progress;
	uint64_t done, total; /* bytes of files */
	uint64_t differences;
	struct lc__buf first; /* what differed first */
};

/* ---- telling --------------------------------------------------------------- */

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

/* Does the time alone say that it is the same? */
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
compare_content(struct comparison *c, const struct lc__source_file *f)
{
	uint64_t hash[2], size;
	const lc_status status = lc__sources_hash_at(c->root, f->path, hash, &size);

	if (status == LC_NO_FILE)
		return tell(c, f->path, "", "removed");
	return_if_error(status);
	if (size != f->size || memcmp(hash, f->hash, sizeof(hash)) != 0)
		return_if_error(tell(c, f->path, "", "changed"));
	return step(c);
}

static lc_status
compare_file(struct comparison *c, const struct lc__source_file *f)
{
	enum presence presence;
	struct stat st;

	return_if_error(look_at(c, f, &st, &presence));
	c->done += f->size;
	if (f->missing)
		return presence == GONE ? LC_OK : tell(c, f->path, "", "added");
	if (presence == GONE)
		return tell(c, f->path, "", "removed");
	if (presence == ODD || (uint64_t)st.st_size != f->size)
		return tell(c, f->path, "", "changed");
	return is_known(c, f, &st) ? LC_OK : compare_content(c, f);
}

/* ---- directories ----------------------------------------------------------- */

/* What the list has below directory @p dir, "" for all: [*begin, *end). */
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

/* What the list knows of the names in a directory. */
struct known {
	struct lc__dir_names names;  /* that were there */
	struct lc__dir_names absent; /* that were looked for; they tell of themselves */
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
		/* Of an absolute path this is nothing, which is no name. */
		if (f->missing && name[n] == '/')
			continue;
		return_if_error(
		    lc__dir_names_add(f->missing ? &known->absent : &known->names, name,
			n, f->directory || name[n] == '/'));
	}
	lc__dir_names_sort(&known->names);
	lc__dir_names_sort(&known->absent);
	return LC_OK;
}

/* Add those that are there now and were not absent. */
static lc_status
add_present(const struct lc__dir_names *now, struct known *known)
{
	for (size_t i = 0; i < now->n; i++) {
		const char *name = now->names[i];
		const size_t n = strcspn(name, "/");
		if (!lc__dir_names_has(&known->absent, name))
			return_if_error(
			    lc__dir_names_add(&known->names, name, n, name[n] == '/'));
	}
	lc__dir_names_sort(&known->names);
	return LC_OK;
}

static lc_status
has_hash(const struct lc__dir_names *names, const uint64_t want[2], bool *out)
{
	uint64_t hash[2];

	return_if_error(lc__dir_names_hash(names, hash));
	*out = memcmp(hash, want, sizeof(hash)) == 0;
	return LC_OK;
}

static lc_status
tell_added(struct comparison *c, const struct lc__source_file *dir,
    const struct lc__dir_names *now, const struct known *known)
{
	for (size_t i = 0; i < now->n; i++)
		if (!lc__dir_names_has(&known->names, now->names[i]) &&
		    !lc__dir_names_has(&known->absent, now->names[i]))
			return_if_error(tell(c, dir->path, now->names[i], "added"));
	return LC_OK;
}

/*
 * The hash was of names that the list has, and maybe of others. If it had all,
 * what it has not is new. If what it has and what is there now make it, names
 * only went, and their own lines say so. Else it is not known which are new.
 */
static lc_status
tell_names(struct comparison *c, const struct lc__source_file *dir,
    const struct lc__dir_names *now, struct known *known)
{
	bool same;

	return_if_error(know(c->sources, dir->path, known));
	return_if_error(has_hash(&known->names, dir->hash, &same));
	if (same)
		return tell_added(c, dir, now, known);
	return_if_error(add_present(now, known));
	return_if_error(has_hash(&known->names, dir->hash, &same));
	return same ? LC_OK : tell(c, dir->path, "", "changed");
}

static lc_status
compare_names(struct comparison *c, const struct lc__source_file *dir,
    const struct lc__dir_names *now)
{
	struct known known = { 0 };
	bool same = false;
	lc_status status;

	return_if_error(has_hash(now, dir->hash, &same));
	if (same)
		return LC_OK;
	status = tell_names(c, dir, now, &known);
	lc__dir_names_free(&known.names);
	lc__dir_names_free(&known.absent);
	return status;
}

/* Lines of files say by themselves that they are gone. */
static bool
has_files_below(const struct lc__sources *s, const char *dir)
{
	size_t i, end;

	for (find_below(s, dir, &i, &end); i < end; i++)
		if (!s->files[i].directory && !s->files[i].missing)
			return true;
	return false;
}

static lc_status
tell_gone_dir(struct comparison *c, const struct lc__source_file *dir)
{
	return has_files_below(c->sources, dir->path) ? LC_OK
						      : tell(c, dir->path, "", "removed");
}

static lc_status
compare_dir(struct comparison *c, const struct lc__source_file *dir)
{
	struct lc__dir_names now = { 0 };
	enum presence presence;
	struct stat st;
	lc_status status;

	return_if_error(look_at(c, dir, &st, &presence));
	if (presence != THERE)
		return tell_gone_dir(c, dir);
	if (is_known(c, dir, &st))
		return LC_OK;
	status = lc__dir_names_read(c->root, path_of(dir), &now);
	lc__dir_names_sort(&now);
	if (status == LC_OK)
		status = compare_names(c, dir, &now);
	else if (status == LC_NO_FILE) /* it went since it was looked at */
		status = tell_gone_dir(c, dir);
	lc__dir_names_free(&now);
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

static lc_status
conclude(const struct comparison *c)
{
	if (c->differences == 0)
		return LC_OK;
	if (c->differences == 1)
		return lc__error(LC_INVALID, 0, "%s", (const char *)c->first.data);
	return lc__error(LC_INVALID, 0, "%s, and %llu more", (const char *)c->first.data,
	    (unsigned long long)c->differences - 1);
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
	if (status == LC_OK)
		status = conclude(&c);
	lc__buf_free(&c.first);
	return status;
}
