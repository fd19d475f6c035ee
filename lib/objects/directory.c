/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "base/newfile.h"

#define PIECE ((size_t)1 << 20) /* of a body that are written at once */
#define DEPTH 16                /* how deep a listing goes into directories */

struct directory {
	struct lc__objects objects;
	char *path;
	char url[]; /* of objects */
};

/* The path of an object, malloc'ed. */
static lc_status
path_of(const struct lc__objects *objects, const char *name, char **out)
{
	const struct directory *dir = (const struct directory *)objects;

	return_if_error(lc__object_check_name(objects, name));
	*out = lc__path_join(dir->path, name);
	return *out != NULL ? LC_OK : lc__no_memory(name);
}

static uint64_t
time_of(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000 +
	    (uint64_t)st->st_mtim.tv_nsec / 1000000;
}

/* ---- reading ------------------------------------------------------------------------ */

static lc_status
read_at(int fd, uint64_t offset, void *out, size_t size, size_t *got, const char *path)
{
	if (size == 0) {
		*got = 0;
		return LC_OK;
	}
	if (offset > INT64_MAX)
		return lc__error(LC_INVALID, 0, "%s: no byte %llu", path,
		    (unsigned long long)offset);
	if (lseek(fd, (off_t)offset, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", path);
	return lc__read_full(fd, out, size, got, path);
}

static lc_status
get_range(struct lc__objects *objects, const char *name, uint64_t offset, void *out,
    size_t size, size_t *got, struct lc__object *about)
{
	struct stat st;
	char *path;
	int fd = -1;
	lc_status status;

	return_if_error(path_of(objects, name, &path));
	status = lc__open_regular(path, &fd);
	if (status == LC_OK && fstat(fd, &st) == -1)
		status = lc__error_sys(errno, "%s: stat", path);
	if (status == LC_OK)
		status = read_at(fd, offset, out, size, got, path);
	if (status == LC_OK && about != NULL)
		*about = (struct lc__object){ NULL, (uint64_t)st.st_size, time_of(&st) };
	if (fd != -1)
		close(fd);
	free(path);
	return status;
}

/* ---- putting ------------------------------------------------------------------------ */

/* A file that will be renamed. */
struct putting {
	const struct lc__objects *objects;
	char *path;      /* its final name */
	char *temporary; /* its present name */
	int fd;
};

/* Directories are created on the way; a process that removes an empty one may do so again
 * before there is a file in it. */
static lc_status
begin(struct putting *p)
{
	const size_t dir = (size_t)(strrchr(p->path, '/') - p->path);

	if (asprintf(&p->temporary, "%s" LC__NEWFILE_END, p->path) < 0) {
		p->temporary = NULL;
		return lc__no_memory(p->path);
	}
	for (int i = 0; i < 10 && p->fd == -1; i++) {
		p->fd = lc__make_temporary(p->temporary, 0666);
		if (p->fd == -1 && errno == ENOENT) {
			p->path[dir] = '\0';
			const lc_status made = lc__make_dirs(p->path);
			p->path[dir] = '/';
			return_if_error(made);
			errno = ENOENT;
		} else if (p->fd == -1) {
			break;
		}
	}
	if (p->fd == -1)
		return lc__error_sys(errno, "%s: create", p->path);
	/* For sweep(), where the file system has such locks. */
	(void)flock(p->fd, LOCK_EX | LOCK_NB);
	return LC_OK;
}

static lc_status
write_body(const struct putting *p, const struct lc__body *body)
{
	unsigned char *room = malloc(PIECE);
	uint64_t begun = 0, at = 0;
	lc_status status = room != NULL ? LC_OK : lc__no_memory(p->path);

	/* An empty body is read too, because its reader may return an error. */
	do {
		const uint64_t left = body->size - at;
		const size_t n = left < PIECE ? (size_t)left : PIECE;

		if (status == LC_OK)
			status = body->read(body->ctx, at, room, n);
		if (status == LC_OK)
			status = lc__write_full(p->fd, room, n, p->path);
		at += n;
		if (status == LC_OK)
			lc__write_behind(p->fd, &begun, at);
	} while (status == LC_OK && at < body->size);
	free(room);
	if (status == LC_OK && fsync(p->fd) == -1)
		status = lc__error_sys(errno, "%s: fsync", p->path);
	return status;
}

/* Sync its directory, and its parents up to that of the store: another process may have
 * created them and died before it did so. */
static lc_status
sync_name(const struct putting *p)
{
	const struct directory *dir = (const struct directory *)p->objects;
	const size_t root = strlen(dir->path);
	lc_status status = lc__sync_parent(p->path);
	char *end = strrchr(p->path, '/'), *above;

	for (; status == LC_OK && end > p->path + root; end = above) {
		*end = '\0';
		status = lc__sync_parent(p->path);
		above = strrchr(p->path, '/');
		*end = '/';
	}
	return status;
}

/* If it is another user's file, which this process may not write, it is left alone:
 * cachex-store(5). */
static lc_status
set_time(const char *path)
{
	if (utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) == -1 &&
	    errno != EACCES && errno != EPERM)
		return lc__error_sys(errno, "%s: set its time", path);
	return LC_OK;
}

/* Set its time to now, and make it survive a power failure as if it were put now. */
static lc_status
exists(const struct putting *p)
{
	return_if_error(set_time(p->path));
	return_if_error(sync_name(p));
	return lc__error(LC_EXISTS, 0, "%s: is there already", p->path);
}

static lc_status
give_name(const struct putting *p)
{
	struct stat st;
	int sys;

	if (link(p->temporary, p->path) == 0)
		return LC_OK;
	sys = errno;
	/* A server may have done it for an earlier request whose reply was lost. */
	if (sys == EEXIST && fstat(p->fd, &st) == 0 && st.st_nlink == 2)
		return LC_OK;
	if (sys == EEXIST)
		return exists(p);
	if (sys == EPERM || sys == EOPNOTSUPP || sys == ENOSYS || sys == EMLINK ||
	    sys == EXDEV)
		return lc__error(LC_UNSUPPORTED, sys,
		    "%s: its file system cannot link files, and a store needs that; "
		    "choose another directory",
		    p->objects->url);
	return lc__error_sys(sys, "%s: link", p->path);
}

static lc_status
put_object(struct lc__objects *objects, const char *name, const struct lc__body *body,
    bool replace)
{
	struct putting p = { .objects = objects, .fd = -1 };
	struct stat st;
	lc_status status;

	return_if_error(path_of(objects, name, &p.path));
	/* Check first, to avoid writing in vain; link(2) decides. */
	if (!replace && lstat(p.path, &st) == 0)
		status = exists(&p);
	else
		status = begin(&p);
	if (status == LC_OK)
		status = write_body(&p, body);
	if (status == LC_OK && !replace)
		status = give_name(&p);
	else if (status == LC_OK && rename(p.temporary, p.path) == -1)
		status = lc__error_sys(errno, "%s: rename", p.path);
	if (p.fd != -1 && !(status == LC_OK && replace))
		(void)unlink(p.temporary);
	if (p.fd != -1)
		close(p.fd);
	if (status == LC_OK)
		status = sync_name(&p);
	free(p.temporary);
	free(p.path);
	return status;
}

static lc_status
put_new(struct lc__objects *objects, const char *name, const struct lc__body *body)
{
	return put_object(objects, name, body, false);
}

static lc_status
touch(struct lc__objects *objects, const char *name)
{
	char *path;
	lc_status status;

	return_if_error(path_of(objects, name, &path));
	status = set_time(path);
	free(path);
	return status;
}

static lc_status
put(struct lc__objects *objects, const char *name, const struct lc__body *body)
{
	return put_object(objects, name, body, true);
}

static lc_status
remove_object(struct lc__objects *objects, const char *name)
{
	char *path;
	lc_status status = LC_OK;

	return_if_error(path_of(objects, name, &path));
	if (unlink(path) == -1 && errno != ENOENT && errno != ENOTDIR) {
		status = lc__error_sys(errno, "%s: remove", path);
	} else {
		/* A directory that has become empty is removed too. */
		*strrchr(path, '/') = '\0';
		(void)rmdir(path);
	}
	free(path);
	return status;
}

/* ---- listing ------------------------------------------------------------------------ */

/* Is it the file of a killed put? */
static bool
is_temporary(const char *name)
{
	const size_t size = strlen(name), end = strlen(LC__NEWFILE_END);

	return size > end && strncmp(name + size - end, ".tmp.", 5) == 0;
}

/* A walk over the files. */
struct walk {
	const char *prefix; /* of the objects' names */
	bool temporaries;   /* instead of objects */
	lc_status (*fn)(void *ctx, const struct lc__object *object);
	void *ctx;
};

static lc_status walk_into(const struct walk *walk, const char *path, const char *name,
    int depth);

/* Could a directory of this name hold objects that begin with the prefix? */
static bool
leads_to(const char *name, const char *prefix)
{
	const size_t n = strlen(name), m = strlen(prefix);

	return n < m ? strncmp(name, prefix, n) == 0 && prefix[n] == '/'
		     : strncmp(name, prefix, m) == 0;
}

static lc_status
visit(const struct walk *walk, const char *path, const char *name, int depth)
{
	const size_t prefix = strlen(walk->prefix);
	struct lc__object object;
	struct stat st;

	/* It may have been removed since the directory was read. */
	if (lstat(path, &st) == -1)
		return errno == ENOENT ? LC_OK : lc__error_sys(errno, "%s: stat", path);
	if (S_ISDIR(st.st_mode) && leads_to(name, walk->prefix))
		return walk_into(walk, path, name, depth + 1);
	if (!S_ISREG(st.st_mode) || is_temporary(name) != walk->temporaries ||
	    strncmp(name, walk->prefix, prefix) != 0)
		return LC_OK;
	object = (struct lc__object){ name, (uint64_t)st.st_size, time_of(&st) };
	return walk->fn(walk->ctx, &object);
}

static lc_status
walk_into(const struct walk *walk, const char *path, const char *name, int depth)
{
	struct lc__dir_list list = { 0 };
	lc_status status = lc__listdir(path, false, &list);

	if (status == LC_NO_FILE || depth > DEPTH)
		status = LC_OK;
	for (size_t i = 0; i < list.n && status == LC_OK; i++) {
		const char *entry = list.entries[i].name;
		char *below = lc__path_join(path, entry);
		char *full = *name == '\0' ? strdup(entry) : lc__path_join(name, entry);

		if (below == NULL || full == NULL)
			status = lc__no_memory(path);
		else if (lc__object_name_ok(full))
			status = visit(walk, below, full, depth);
		free(below);
		free(full);
	}
	lc__dir_list_free(&list);
	return status;
}

static lc_status
list(struct lc__objects *objects, const char *prefix,
    lc_status (*fn)(void *ctx, const struct lc__object *object), void *ctx)
{
	const struct directory *dir = (const struct directory *)objects;
	const struct walk walk = { prefix, false, fn, ctx };

	return walk_into(&walk, dir->path, "", 0);
}

/* ---- files left by killed puts --------------------------------------------------- */

struct sweeping {
	const struct directory *dir;
	uint64_t before_ms;
	bool dry;
	uint64_t files, bytes;
};

/* Has its maker ended? Without locks only the time tells. */
static bool
is_abandoned(const char *path)
{
	const int fd = lc__open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	bool held;

	if (fd == -1)
		return false;
	held = flock(fd, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK;
	close(fd);
	return !held;
}

static lc_status
sweep_file(void *ctx, const struct lc__object *object)
{
	struct sweeping *s = ctx;
	char *path;
	lc_status status = LC_OK;

	if (object->time_ms >= s->before_ms)
		return LC_OK;
	path = lc__path_join(s->dir->path, object->name);
	if (path == NULL)
		return lc__no_memory(object->name);
	if (is_abandoned(path)) {
		s->files++;
		s->bytes += object->size;
		if (!s->dry && unlink(path) == -1 && errno != ENOENT)
			status = lc__error_sys(errno, "%s: remove", path);
	}
	free(path);
	return status;
}

static lc_status
sweep(struct lc__objects *objects, const char *prefix, uint64_t before_ms, bool dry,
    uint64_t *files, uint64_t *bytes)
{
	struct sweeping s = { (const struct directory *)objects, before_ms, dry, 0, 0 };
	const struct walk walk = { prefix, true, sweep_file, &s };

	return_if_error(walk_into(&walk, s.dir->path, "", 0));
	*files = s.files;
	*bytes = s.bytes;
	return LC_OK;
}

/* ---- the store ------------------------------------------------------------------------ */

static void
close_directory(struct lc__objects *objects)
{
	free(((struct directory *)objects)->path);
	free(objects);
}

lc_status
lc__directory_open(const char *path, const char *url, struct lc__objects **out)
{
	struct directory *dir;
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return lc__error(LC_INVALID, 0, "%s: not a directory", url);
	dir = calloc(1, sizeof(*dir) + strlen(url) + 1);
	if (dir == NULL || (dir->path = strdup(path)) == NULL) {
		free(dir);
		return lc__no_memory(url);
	}
	strcpy(dir->url, url);
	dir->objects = (struct lc__objects){
		.url = dir->url,
		.advice = "choose another store",
		.get_range = get_range,
		.get = lc__object_get,
		.put_new = put_new,
		.touch = touch,
		.put = put,
		.list = list,
		.remove = remove_object,
		.sweep = sweep,
		.close = close_directory,
	};
	*out = &dir->objects;
	return LC_OK;
}
