/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A preloaded object that records the calls which change files, see record_io.h.
 *
 * A descriptor is looked up in /proc at each call: nothing goes wrong with copies of
 * it. A lock is held across each call and its record, so that the log has the calls in
 * their real order. The bytes of a stream of stdio are taken from the file when it is
 * flushed or closed. What it does not know of (sendfile, copy_file_range) is found by the
 * comparison of the files with those that the log gives.
 */
#undef _FORTIFY_SOURCE
#include "record_io.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The function that this one stands before. */
#define NEXT(fn) __extension__({ \
		static __typeof__(&fn) next_; \
		if (next_ == NULL) \
			next_ = (__typeof__(&fn))dlsym(RTLD_NEXT, #fn); \
		next_; \
	})

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_size;
static int log_fd = -1;
static unsigned long die_at;  /* the record that is this process's last; 0: none */
static bool die_halfway;      /* after half of it, if it is a write */
static unsigned long records; /* so far, after the start */

/* ---- the log ---------------------------------------------------------------- */

static void
die(const char *what)
{
	dprintf(STDERR_FILENO, "# record_io: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static void
die_now(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static void
add_names(struct record *head, struct iovec *out, const char *name, const char *name2)
{
	out[0].iov_base = (void *)(uintptr_t)name;
	out[0].iov_len = name != NULL ? strlen(name) + 1 : 0;
	out[1].iov_base = (void *)(uintptr_t)name2;
	out[1].iov_len = name2 != NULL ? strlen(name2) + 1 : 0;
	head->names = (uint32_t)(out[0].iov_len + out[1].iov_len);
}

/* Append a record, with the first head.size bytes of the pieces: by one call, as the
 * processes of a command share the log, and nothing may come between its parts. */
static void
append(struct record head, const char *name, const char *name2,
    const struct iovec *data, int pieces)
{
	struct iovec all[IOV_MAX];
	uint64_t left = head.size;
	int n = 3;

	all[0].iov_base = &head;
	all[0].iov_len = sizeof(head);
	add_names(&head, all + 1, name, name2);
	for (int i = 0; i < pieces && left > 0; i++, n++) {
		if (n == IOV_MAX)
			die("log");
		all[n] = data[i];
		if (all[n].iov_len > left)
			all[n].iov_len = (size_t)left;
		left -= all[n].iov_len;
	}
	if (NEXT(writev)(log_fd, all, n) !=
	    (ssize_t)(sizeof(head) + head.names + head.size - left))
		die("log");
	if (++records == die_at)
		die_now();
}

static void
note(enum record_kind kind, uint64_t file, uint64_t offset)
{
	const struct record head = { .kind = kind, .file = file, .offset = offset };

	append(head, NULL, NULL, NULL, 0);
}

void
record_io_mark(enum record_kind kind, const void *data, size_t size)
{
	const struct record head = { .kind = kind, .size = size };
	const struct iovec piece = { (void *)(uintptr_t)data, size };

	pthread_mutex_lock(&lock);
	if (log_fd != -1)
		append(head, NULL, NULL, &piece, 1);
	pthread_mutex_unlock(&lock);
}

/* ---- what is there at the start --------------------------------------------------- */

/* The bytes of a file that has them already, as one write. */
static void
note_content(const char *path, uint64_t file)
{
	struct stat st;
	struct record head = { .kind = RECORD_WRITE, .file = file };
	struct iovec all;
	const int fd = NEXT(openat64)(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	if (fd == -1 || fstat(fd, &st) == -1)
		die(path);
	all.iov_base = malloc((size_t)st.st_size + 1);
	all.iov_len = (size_t)st.st_size;
	if (all.iov_base == NULL ||
	    read(fd, all.iov_base, all.iov_len) != (ssize_t)all.iov_len)
		die(path);
	head.size = all.iov_len;
	append(head, NULL, NULL, &all, 1);
	free(all.iov_base);
	close(fd);
}

static int
note_present(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct record head = { .kind = type == FTW_D ? RECORD_MKDIR :
		type == FTW_SL ? RECORD_SYMLINK : RECORD_CREATE, .file = st->st_ino };
	char *parent, target[PATH_MAX];
	struct iovec data = { target, 0 };
	struct stat dir;

	if (ftw->level == 0)
		return 0;
	parent = strndup(path, (size_t)ftw->base - 1);
	if (parent == NULL || stat(parent, &dir) == -1)
		die(path);
	head.dir = dir.st_ino;
	if (type == FTW_SL) {
		const ssize_t n = readlink(path, target, sizeof(target));

		if (n == -1)
			die(path);
		head.size = data.iov_len = (size_t)n;
	}
	append(head, path + ftw->base, NULL, &data, 1);
	if (type == FTW_F)
		note_content(path, head.file);
	free(parent);
	return 0;
}

/* The first process of a recording notes them. */
static void
note_start(ino_t inode)
{
	struct stat st;

	if (fstat(log_fd, &st) == -1)
		die("log");
	if (!S_ISREG(st.st_mode))
		return;
	note(RECORD_ROOT, inode, 0);
	if (st.st_size > 0)
		return;
	if (nftw(root, note_present, 16, FTW_PHYS) != 0)
		die(root);
	note(RECORD_START, 0, 0);
}

static void __attribute__((constructor))
start(void)
{
	const char *dir = getenv("RECORD_IO_ROOT"), *log = getenv("RECORD_IO_LOG");
	const char *kill_at = getenv("RECORD_IO_KILL");
	struct stat st;
	int fd;

	if (dir == NULL || log == NULL)
		return;
	if (realpath(dir, root) == NULL || stat(root, &st) == -1)
		die(dir);
	root_size = strlen(root);
	fd = NEXT(openat64)(AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
	    0666);
	/* Out of the way of the program's own numbers. */
	log_fd = fd == -1 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 500);
	if (log_fd == -1)
		die(log);
	close(fd);
	note_start(st.st_ino);
	records = 0;
	die_at = kill_at != NULL ? strtoul(kill_at, NULL, 10) : 0;
	die_halfway = getenv("RECORD_IO_HALFWAY") != NULL;
}

/* ---- what is below the root --------------------------------------------------- */

static bool
inside(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	if (log_fd == -1 || fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	/* A file without a name is nothing to anybody after a loss of power. */
	if (n > 10 && strcmp(path + n - 10, " (deleted)") == 0)
		return false;
	return strncmp(path, root, root_size) == 0 &&
	    (path[root_size] == '/' || path[root_size] == '\0');
}

static uint64_t
inode(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		die("fstat");
	return st.st_ino;
}

/* A name in a directory below the root. */
struct place {
	int fd;
	uint64_t dir;
	char name[NAME_MAX + 1];
};

/* errno stays: what follows is the caller's own call. */
static bool
locate(int dirfd, const char *path, struct place *out)
{
	const int kept = errno;
	char parent[PATH_MAX];
	char *slash;

	if (log_fd == -1 || path == NULL || strlen(path) + 3 > sizeof(parent))
		return false;
	snprintf(parent, sizeof(parent), "%s%s", path[0] == '/' ? "" : "./", path);
	slash = strrchr(parent, '/');
	snprintf(out->name, sizeof(out->name), "%.*s", NAME_MAX, slash + 1);
	slash[slash == parent] = '\0';
	out->fd = NEXT(openat64)(dirfd, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (out->fd != -1 && inside(out->fd)) {
		out->dir = inode(out->fd);
		return true;
	}
	if (out->fd != -1)
		close(out->fd);
	errno = kept;
	return false;
}

/* The inode of a place, 0 if there is nothing. */
static uint64_t
inode_at(const struct place *place)
{
	struct stat st;

	return fstatat(place->fd, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 ?
	    st.st_ino : 0;
}

static void
note_name(enum record_kind kind, const struct place *place, uint64_t file)
{
	const struct record head = { .kind = kind, .file = file, .dir = place->dir };

	append(head, place->name, NULL, NULL, 0);
}

static void
note_symlink(const struct place *place, const char *target)
{
	const struct record head = { .kind = RECORD_SYMLINK, .file = inode_at(place),
		.dir = place->dir, .size = strlen(target) };
	const struct iovec data = { (void *)(uintptr_t)target, head.size };

	append(head, place->name, NULL, &data, 1);
}

/* End a call that began with the lock: errno is the call's. */
static int
end(int rc, int sys)
{
	pthread_mutex_unlock(&lock);
	errno = sys;
	return rc;
}

/* ---- making files --------------------------------------------------------------- */

static int
open_noted(int dirfd, const char *path, int flags, mode_t mode)
{
	struct place place;
	uint64_t before;
	int fd, sys;

	if (!(flags & (O_CREAT | O_TRUNC)) || !locate(dirfd, path, &place))
		return NEXT(openat64)(dirfd, path, flags, mode);
	pthread_mutex_lock(&lock);
	before = inode_at(&place);
	fd = NEXT(openat64)(dirfd, path, flags, mode);
	sys = errno;
	if (fd != -1 && before == 0)
		note_name(RECORD_CREATE, &place, inode(fd));
	else if (fd != -1 && (flags & O_TRUNC))
		note(RECORD_RESIZE, inode(fd), 0);
	close(place.fd);
	return end(fd, sys);
}

static mode_t
mode_of(int flags, va_list ap)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

#define DEFINE_OPEN(fn) \
	int \
	fn(const char *path, int flags, ...) \
	{ \
		va_list ap; \
		mode_t mode; \
		va_start(ap, flags); \
		mode = mode_of(flags, ap); \
		va_end(ap); \
		return open_noted(AT_FDCWD, path, flags, mode); \
	}
#define DEFINE_OPENAT(fn) \
	int \
	fn(int dirfd, const char *path, int flags, ...) \
	{ \
		va_list ap; \
		mode_t mode; \
		va_start(ap, flags); \
		mode = mode_of(flags, ap); \
		va_end(ap); \
		return open_noted(dirfd, path, flags, mode); \
	}
/* What they are called when compiled with _FORTIFY_SOURCE. */
#define DEFINE_OPEN_2(fn) \
	int fn(const char *path, int flags); \
	int \
	fn(const char *path, int flags) \
	{ \
		return open_noted(AT_FDCWD, path, flags, 0); \
	}

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)

int
creat(const char *path, mode_t mode)
{
	return open_noted(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

int
mkostemp(char *path, int flags)
{
	struct place place;
	int fd, sys;

	pthread_mutex_lock(&lock);
	fd = NEXT(mkostemp)(path, flags);
	sys = errno;
	if (fd != -1 && locate(AT_FDCWD, path, &place)) {
		note_name(RECORD_CREATE, &place, inode(fd));
		close(place.fd);
	}
	return end(fd, sys);
}

int
mkstemp(char *path)
{
	return mkostemp(path, 0);
}

char *
mkdtemp(char *path)
{
	struct place place;
	char *made;
	int sys;

	pthread_mutex_lock(&lock);
	made = NEXT(mkdtemp)(path);
	sys = errno;
	if (made != NULL && locate(AT_FDCWD, path, &place)) {
		note_name(RECORD_MKDIR, &place, inode_at(&place));
		close(place.fd);
	}
	end(0, sys);
	return made;
}

int
mkdirat(int dirfd, const char *path, mode_t mode)
{
	struct place place;
	int rc, sys;

	if (!locate(dirfd, path, &place))
		return NEXT(mkdirat)(dirfd, path, mode);
	pthread_mutex_lock(&lock);
	rc = NEXT(mkdirat)(dirfd, path, mode);
	sys = errno;
	if (rc == 0)
		note_name(RECORD_MKDIR, &place, inode_at(&place));
	close(place.fd);
	return end(rc, sys);
}

int
mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

int
symlinkat(const char *target, int dirfd, const char *path)
{
	struct place place;
	int rc, sys;

	if (!locate(dirfd, path, &place))
		return NEXT(symlinkat)(target, dirfd, path);
	pthread_mutex_lock(&lock);
	rc = NEXT(symlinkat)(target, dirfd, path);
	sys = errno;
	if (rc == 0)
		note_symlink(&place, target);
	close(place.fd);
	return end(rc, sys);
}

int
symlink(const char *target, const char *path)
{
	return symlinkat(target, AT_FDCWD, path);
}

/* ---- names ------------------------------------------------------------------------ */

int
linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	struct place place;
	int rc, sys;

	if (!locate(to_fd, to, &place))
		return NEXT(linkat)(from_fd, from, to_fd, to, flags);
	pthread_mutex_lock(&lock);
	rc = NEXT(linkat)(from_fd, from, to_fd, to, flags);
	sys = errno;
	if (rc == 0)
		note_name(RECORD_LINK, &place, inode_at(&place));
	close(place.fd);
	return end(rc, sys);
}

int
link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
unlinkat(int dirfd, const char *path, int flags)
{
	struct place place;
	int rc, sys;

	if (!locate(dirfd, path, &place))
		return NEXT(unlinkat)(dirfd, path, flags);
	pthread_mutex_lock(&lock);
	rc = NEXT(unlinkat)(dirfd, path, flags);
	sys = errno;
	if (rc == 0)
		note_name(RECORD_REMOVE, &place, 0);
	close(place.fd);
	return end(rc, sys);
}

int
unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int
rmdir(const char *path)
{
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

/* Both names must be below the root: the rest is told apart by the comparison. */
int
renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	struct place a, b;
	int rc, sys;

	if (!locate(from_fd, from, &a))
		return NEXT(renameat2)(from_fd, from, to_fd, to, flags);
	if (!locate(to_fd, to, &b)) {
		close(a.fd);
		return NEXT(renameat2)(from_fd, from, to_fd, to, flags);
	}
	pthread_mutex_lock(&lock);
	rc = NEXT(renameat2)(from_fd, from, to_fd, to, flags);
	sys = errno;
	if (rc == 0)
		append((struct record){ .kind = flags & RENAME_EXCHANGE ?
		    RECORD_EXCHANGE : RECORD_RENAME, .file = inode_at(&b),
		    .offset = flags & RENAME_EXCHANGE ? inode_at(&a) : 0,
		    .dir = a.dir, .dir2 = b.dir }, a.name, b.name, NULL, 0);
	close(a.fd);
	close(b.fd);
	return end(rc, sys);
}

int
renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return renameat2(from_fd, from, to_fd, to, 0);
}

int
rename(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- bytes -------------------------------------------------------------------------- */

/* Note n bytes that were written at an offset; -1 where the descriptor stood. */
static void
note_write(int fd, off64_t offset, const struct iovec *data, int pieces, ssize_t n)
{
	const int kept = errno;
	struct record head = { .kind = RECORD_WRITE };

	if (n > 0) {
		head.file = inode(fd);
		head.size = (uint64_t)n;
		head.offset = (uint64_t)(offset >= 0 ? offset :
		    lseek64(fd, 0, SEEK_CUR) - n);
		append(head, NULL, NULL, data, pieces);
		if (fcntl(fd, F_GETFL) & O_DSYNC)
			note(RECORD_WRITTEN, head.file, 0);
	}
	errno = kept;
}

/* The last record of this process is half of a write. */
static void
write_half(int fd, off64_t offset, const struct iovec *data, int pieces)
{
	if (!die_halfway || records + 1 != die_at || pieces == 0)
		return;
	if (offset >= 0)
		syscall(SYS_pwrite64, fd, data->iov_base, data->iov_len / 2, offset);
	else
		syscall(SYS_write, fd, data->iov_base, data->iov_len / 2);
	die_now();
}

/* The last argument: the pieces of data and their number. */
#define DEFINE_WRITE(fn, params, args, offset, ...) \
	ssize_t \
	fn params \
	{ \
		ssize_t n; \
		if (!inside(fd)) \
			return NEXT(fn) args; \
		pthread_mutex_lock(&lock); \
		write_half(fd, offset, __VA_ARGS__); \
		n = NEXT(fn) args; \
		note_write(fd, offset, __VA_ARGS__, n); \
		pthread_mutex_unlock(&lock); \
		return n; \
	}
#define ONE (&(const struct iovec){ (void *)(uintptr_t)data, size }), 1

DEFINE_WRITE(write, (int fd, const void *data, size_t size), (fd, data, size), -1, ONE)
DEFINE_WRITE(pwrite, (int fd, const void *data, size_t size, off_t at),
    (fd, data, size, at), at, ONE)
DEFINE_WRITE(pwrite64, (int fd, const void *data, size_t size, off64_t at),
    (fd, data, size, at), at, ONE)
DEFINE_WRITE(writev, (int fd, const struct iovec *data, int n_data),
    (fd, data, n_data), -1, data, n_data)
DEFINE_WRITE(pwritev, (int fd, const struct iovec *data, int n_data, off_t at),
    (fd, data, n_data, at), at, data, n_data)
DEFINE_WRITE(pwritev64, (int fd, const struct iovec *data, int n_data, off64_t at),
    (fd, data, n_data, at), at, data, n_data)

/* A call on a descriptor that is noted with the file's size after it. */
#define DEFINE_RESIZE(fn, params, args) \
	int \
	fn params \
	{ \
		int rc, sys; \
		struct stat st; \
		if (!inside(fd)) \
			return NEXT(fn) args; \
		pthread_mutex_lock(&lock); \
		rc = NEXT(fn) args; \
		sys = errno; \
		if (rc == 0 && fstat(fd, &st) == 0) \
			note(RECORD_RESIZE, st.st_ino, (uint64_t)st.st_size); \
		return end(rc, sys); \
	}
DEFINE_RESIZE(ftruncate, (int fd, off_t size), (fd, size))
DEFINE_RESIZE(ftruncate64, (int fd, off64_t size), (fd, size))
DEFINE_RESIZE(fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
DEFINE_RESIZE(fallocate64, (int fd, int mode, off64_t at, off64_t size),
    (fd, mode, at, size))
DEFINE_RESIZE(posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size))
DEFINE_RESIZE(posix_fallocate64, (int fd, off64_t at, off64_t size), (fd, at, size))

#define DEFINE_SYNC(fn) \
	int \
	fn(int fd) \
	{ \
		int rc, sys; \
		if (!inside(fd)) \
			return NEXT(fn)(fd); \
		pthread_mutex_lock(&lock); \
		rc = NEXT(fn)(fd); \
		sys = errno; \
		if (rc == 0) \
			note(RECORD_SYNC, inode(fd), 0); \
		return end(rc, sys); \
	}
DEFINE_SYNC(fsync)
DEFINE_SYNC(fdatasync)

int
syncfs(int fd)
{
	int rc, sys;

	if (!inside(fd))
		return NEXT(syncfs)(fd);
	pthread_mutex_lock(&lock);
	rc = NEXT(syncfs)(fd);
	sys = errno;
	if (rc == 0)
		note(RECORD_SYNC_ALL, 0, 0);
	return end(rc, sys);
}

/* ---- streams of stdio -------------------------------------------------------------- */

static FILE *
open_stream(FILE *(*next)(const char *, const char *), const char *path, const char *mode)
{
	struct place place;
	uint64_t before;
	FILE *file;
	int sys;

	if (strchr("wa", mode[0]) == NULL || !locate(AT_FDCWD, path, &place))
		return next(path, mode);
	pthread_mutex_lock(&lock);
	before = inode_at(&place);
	file = next(path, mode);
	sys = errno;
	if (file != NULL && before == 0)
		note_name(RECORD_CREATE, &place, inode(fileno(file)));
	else if (file != NULL && mode[0] == 'w')
		note(RECORD_RESIZE, inode(fileno(file)), 0);
	close(place.fd);
	end(0, sys);
	return file;
}

FILE *
fopen(const char *path, const char *mode)
{
	return open_stream(NEXT(fopen), path, mode);
}

FILE *
fopen64(const char *path, const char *mode)
{
	return open_stream(NEXT(fopen64), path, mode);
}

/* A stream's bytes have gone to its file: they count as one write. */
static void
note_stream(FILE *file)
{
	const int fd = fileno(file), kept = errno;
	char link[64];

	if (fd == -1 || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY || !inside(fd))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	pthread_mutex_lock(&lock);
	note_content(link, inode(fd));
	pthread_mutex_unlock(&lock);
	errno = kept;
}

int
fflush(FILE *file)
{
	const bool writes = file != NULL && __fpending(file) > 0;
	const int rc = NEXT(fflush)(file);

	if (writes && rc == 0)
		note_stream(file);
	return rc;
}

int
fclose(FILE *file)
{
	(void)fflush(file);
	return NEXT(fclose)(file);
}

/* ---- maps ---------------------------------------------------------------------------- */

static void
note_map(int fd, int protection, int flags)
{
	if (!(flags & MAP_SHARED) || (flags & MAP_ANONYMOUS) ||
	    !(protection & PROT_WRITE) || !inside(fd))
		return;
	pthread_mutex_lock(&lock);
	note(RECORD_MAPPED, inode(fd), 0);
	pthread_mutex_unlock(&lock);
}

void *
mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	note_map(fd, protection, flags);
	return NEXT(mmap)(at, size, protection, flags, fd, offset);
}

void *
mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
	note_map(fd, protection, flags);
	return NEXT(mmap64)(at, size, protection, flags, fd, offset);
}
