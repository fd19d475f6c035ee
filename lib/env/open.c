/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening environments: LMDB's part, the registry of open environments, file systems. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "env/env_private.h"
#include "env/locks.h"

/* ---- LMDB opens and closes one -------------------------------------------- */

#define MIN_MAP ((uint64_t)1 << 20)

/* Open with as much address space as the system allows. */
static lc_status
open_env(struct lc__env *env)
{
	const unsigned flags = MDB_NOTLS | MDB_NORDAHEAD |
	    (env->read_only ? MDB_RDONLY : 0);
	uint64_t map_size = env->map_size;
	int rc;

	do {
		rc = mdb_env_create(&env->mdb);
		if (rc == 0) {
			mdb_env_set_maxreaders(env->mdb, LC__MAX_READERS);
			mdb_env_set_maxdbs(env->mdb, LC__TABLES + 8);
			mdb_env_set_mapsize(env->mdb, (size_t)map_size);
			lc__fds_hold();
			rc = mdb_env_open(env->mdb, env->path, flags, 0666);
			lc__fds_release();
			if (rc == 0)
				return LC_OK;
			mdb_env_close(env->mdb);
			env->mdb = NULL;
		}
		map_size /= 2;
		/* EINVAL: from valgrind for a map that is too large for it. */
	} while ((rc == ENOMEM || rc == EINVAL) && map_size >= MIN_MAP);
	return lc__env_error(env, rc, "open");
}

static lc_status
open_one_at_a_time(struct lc__env *env, bool wait)
{
	char *path = lc__path_join(env->path, "data.mdb");
	const int fd = path != NULL ? lc__open(path, O_RDONLY) : -1;
	lc_status status = LC_OK;

	free(path);
	if (fd != -1)
		status = lc__lock_opening(fd, env->dir, wait);
	if (status == LC_OK) {
		/* This process has no lock on lock.mdb that closing the file could
		 * release. */
		lc__lockfile_wait_for_dying(env->path);
		status = open_env(env);
		if (fd != -1)
			lc__unlock_opening(fd);
	}
	if (fd != -1)
		close(fd);
	return status;
}

/* Is data.mdb still the file that the registry has for this environment? Not if the
 * module was deleted, and perhaps created again, since. */
static lc_status
check_same_file(const struct lc__env *env)
{
	char *path = lc__path_join(env->path, "data.mdb");
	struct stat st;
	int rc;

	if (path == NULL)
		return lc__no_memory(env->dir);
	rc = lstat(path, &st) == 0 ? 0 : errno;
	free(path);
	if (rc != 0)
		return lc__error_sys(rc, "%s: data.mdb was removed after it was opened",
		    env->dir);
	if (st.st_dev != env->device || st.st_ino != env->inode)
		return lc__error(LC_IO, 0,
		    "%s: data.mdb was replaced after it was opened", env->dir);
	return LC_OK;
}

/*
 * LMDB opens both files by their names, even if they changed since they were checked. If
 * data.mdb has become another file, that is noticed, and nothing is written to it. LMDB
 * does not tell which lock file it opened: a user who may rename files in the directory
 * at that moment can make LMDB write the header of a lock file over another file of this
 * user.
 */
lc_status
lc__env_attach(struct lc__env *env, lc__first_rows *first_rows, bool wait)
{
	struct stat st;
	lc_status status;
	int fd;

	return_if_error(check_same_file(env));
	return_if_error(lc__lockfile_prepare_in(env->path, env->dir));
	return_if_error(open_one_at_a_time(env, wait));
	/* Did LMDB open that file? Not if it was replaced just before. */
	if (mdb_env_get_fd(env->mdb, &fd) != 0 || fstat(fd, &st) == -1)
		status = lc__error_sys(errno, "%s: stat", env->dir);
	else if (st.st_dev != env->device || st.st_ino != env->inode)
		status = lc__error(LC_BUSY, 0, "%s: data.mdb is being replaced",
		    env->dir);
	else
		status = lc__env_open_module(env, first_rows);
	if (status != LC_OK) {
		mdb_env_close(env->mdb);
		env->mdb = NULL;
	}
	return status;
}

/* Environments of parent processes: closing one would free the parent's reader slots. The
 * list is only for leak checkers. */
static struct abandoned {
	struct abandoned *next;
	MDB_env *mdb;
} * abandoned;

void
lc__env_detach(struct lc__env *env)
{
	if (env->mdb != NULL && env->forked) {
		struct abandoned *node = malloc(sizeof(*node));

		if (node != NULL) {
			node->mdb = env->mdb;
			node->next = abandoned;
			abandoned = node;
		}
	} else if (env->mdb != NULL) {
		mdb_env_close(env->mdb);
	}
	env->mdb = NULL;
	env->forked = false;
}

/* ---- the registry --------------------------------------------------------- */

/* The environments that are open in this process. LMDB's lock file breaks if it is opened
 * twice or if its descriptor is closed, so each is opened once. */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lc__env *registry;
/* Closed ones into which a parent's views point; only for leak checkers. */
static struct lc__env *inherited;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- fork ----------------------------------------------------------------- */

static uint32_t epoch; /* number of forks so far */

uint32_t
lc__env_epoch(void)
{
	return epoch;
}

static void
before_fork(void)
{
	pthread_mutex_lock(&registry_lock);
	for (struct lc__env *env = registry; env != NULL; env = env->next) {
		pthread_mutex_lock(&env->lock);
		if (env->guest != NULL)
			env->guest_kind->before_fork(env->guest);
	}
}

static void
after_fork_parent(void)
{
	for (struct lc__env *env = registry; env != NULL; env = env->next) {
		if (env->guest != NULL)
			env->guest_kind->after_fork_parent(env->guest);
		pthread_mutex_unlock(&env->lock);
	}
	pthread_mutex_unlock(&registry_lock);
}

/* The child has no other threads, and these may have held any lock; their transactions
 * live on in the parent. The environment is reopened on its next use. */
static void
reset_in_child(struct lc__env *env)
{
	lc__env_init_locks(env);
	env->inherited = env->inherited || env->pinned > 0 || env->held > 0;
	env->refs -= env->lingers;
	env->lingers = false;
	env->active = 0;
	env->pinned = 0;
	env->held = 0;
	env->moving = false;
	env->stale = true;
	env->forked = true;
	if (env->guest != NULL)
		env->guest_kind->after_fork_child(env->guest);
}

static void
after_fork_child(void)
{
	struct lc__env **link = &registry, *env;

	pthread_mutex_init(&registry_lock, NULL);
	epoch++;
	while ((env = *link) != NULL) {
		reset_in_child(env);
		if (env->refs > 0) {
			link = &env->next;
			continue;
		}
		/* It was open for views only. LMDB's part belongs to the parent and
		 * stays. */
		*link = env->next;
		env->next = inherited;
		inherited = env;
	}
}

static void
watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- opening -------------------------------------------------------------- */

static struct lc__env *
find_open_locked(const struct stat *st)
{
	struct lc__env *env = registry;

	while (env != NULL && (env->device != st->st_dev || env->inode != st->st_ino))
		env = env->next;
	return env;
}

bool
lc__env_is_open_locked(const struct stat *data)
{
	return find_open_locked(data) != NULL;
}

bool
lc__env_is_open(const struct stat *data)
{
	bool open;

	pthread_mutex_lock(&registry_lock);
	open = find_open_locked(data) != NULL;
	pthread_mutex_unlock(&registry_lock);
	return open;
}

static void
free_env(struct lc__env *env)
{
	if (env->inherited) {
		pthread_mutex_lock(&env->lock);
		if (env->guest != NULL && !env->forked)
			env->guest_kind->before_close(env->guest);
		pthread_mutex_unlock(&env->lock);
		lc__env_detach(env);
		env->next = inherited;
		inherited = env;
		return;
	}
	if (env->guest != NULL)
		env->guest_kind->free(env->guest);
	lc__env_detach(env);
	pthread_mutex_destroy(&env->lock);
	pthread_mutex_destroy(&env->write_lock);
	pthread_mutex_destroy(&env->turn_lock);
	pthread_cond_destroy(&env->changed);
	free(env->path);
	free(env->dir);
	free(env);
}

/* How an environment is to be opened. */
struct how {
	const lc_options *options;
	lc__first_rows *first_rows; /* of a new module */
	bool mends;                 /* see lc__env_open_to_mend() */
	bool alone;                 /* return LC_BUSY if this process has it open */
};

static bool
creates(const struct how *how)
{
	return !(how->options->flags & LC_RDONLY) && (how->options->flags & LC_CREATE) &&
	    how->first_rows != NULL;
}

static lc_status
new_env_locked(const char *dir, const struct how *how, const struct stat *st,
    bool read_only, struct lc__env **out)
{
	struct lc__env *env = calloc(1, sizeof(*env));
	lc_status status;

	if (env == NULL)
		return lc__no_memory(dir);
	lc__env_init_locks(env);
	env->dir = strdup(dir);
	env->device = st->st_dev;
	env->inode = st->st_ino;
	env->read_only = read_only;
	env->map_size = how->options->map_size;
	env->mends = how->mends;
	env->refs = 1;
	env->path = realpath(dir, NULL);
	if (env->path == NULL)
		status = lc__error_sys(errno, "%s: open", dir);
	else if (env->dir == NULL)
		status = lc__no_memory(dir);
	else
		status = lc__env_attach(env, creates(how) ? how->first_rows : NULL,
		    false);
	if (status != LC_OK) {
		free_env(env);
		return status;
	}
	env->next = registry;
	registry = env;
	*out = env;
	return LC_OK;
}

static lc_status
reopen_to_write_locked(struct lc__env *env)
{
	lc_status status;

	env->read_only = false;
	env->stale = true;
	status = lc__env_reattach_locked(env);
	/* Its other handles need only what they had. */
	if (status != LC_OK)
		env->read_only = true;
	return status;
}

static lc_status
open_locked(const char *dir, const struct how *how, struct lc__env **out)
{
	struct lc__env *env;
	struct stat st;
	bool read_only = false;

	return_if_error(lc__datafile_prepare_locked(dir, how->options, &st, &read_only));
	env = find_open_locked(&st);
	if (env == NULL)
		return new_env_locked(dir, how, &st, read_only, out);
	/* Another handle may use it at any time. */
	if (how->alone)
		return lc__error(LC_BUSY, 0, "%s: this process has the module open", dir);
	/* It was opened read-only and must now be writable. */
	if (env->read_only && !read_only)
		return_if_error(lc__env_move(env, reopen_to_write_locked));
	env->refs++;
	*out = env;
	return LC_OK;
}

static const struct {
	unsigned long magic; /* statfs f_type */
	const char *name;
} remote_systems[] = {
	{ 0x6969, "NFS" },
	{ 0xff534d42, "CIFS" },
	{ 0xfe534d42, "SMB" },
	{ 0x65735546, "FUSE" },
	{ 0x01021997, "9p" },
	{ 0x00c36400, "Ceph" },
	{ 0x5346414f, "AFS" },
	{ 0x0bd00bd0, "Lustre" },
	{ 0x47504653, "GPFS" },
};

/* Locks and shared maps are not coherent on these file systems. */
static lc_status
check_filesystem(const char *dir)
{
	struct statfs fs;

	if (statfs(dir, &fs) == -1)
		return lc__error_sys(errno, "%s: statfs", dir);
	for (size_t i = 0; i < sizeof(remote_systems) / sizeof(*remote_systems); i++)
		if ((unsigned long)fs.f_type == remote_systems[i].magic)
			return lc__error(LC_FILESYSTEM, 0,
			    "%s: on %s, where several writers would damage the module; "
			    "LC_FORCE_FS overrides",
			    dir, remote_systems[i].name);
	return LC_OK;
}

/* Names that a directory without data.mdb may contain: of a module being created, or of
 * one that was removed. */
static bool
is_ours(const char *name)
{
	static const char *const ours[] = { "data.mdb", "lock.mdb", "inputs.lock",
		"backup.part", "data.mdb.tmp.??????", "lock.mdb.tmp.??????" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (fnmatch(ours[i], name, 0) == 0)
			return true;
	return false;
}

/* LC_NOT_MODULE if the directory contains anything but files of modules. */
static lc_status
check_only_ours(const char *dir)
{
	const struct dirent *entry;
	struct lc__dir handle;
	lc_status status;

	return_if_error(lc__dir_open(dir, &handle));
	while ((status = lc__dir_next(&handle, &entry)) == LC_OK && entry != NULL &&
	    is_ours(entry->d_name))
		;
	if (status == LC_OK && entry != NULL)
		status = lc__error(LC_NOT_MODULE, 0,
		    "%s: contains '%s' but no data.mdb: not a module", dir,
		    entry->d_name);
	lc__dir_close(&handle);
	return status;
}

/* What opening a module created. */
struct making {
	bool dir, data; /* was not there before */
};

static lc_status
prepare_directory(const char *dir, const lc_options *options, struct making *making)
{
	const bool create = !(options->flags & LC_RDONLY) && (options->flags & LC_CREATE);
	struct stat st;
	char *data;
	int found;

	making->dir = stat(dir, &st) == -1;
	if (create)
		return_if_error(lc__make_dirs(dir));
	else if (making->dir)
		return lc__error_sys(errno, "%s: open", dir);
	if (!(options->flags & (LC_RDONLY | LC_FORCE_FS)))
		return_if_error(check_filesystem(dir));
	data = lc__path_join(dir, "data.mdb");
	if (data == NULL)
		return lc__no_memory(dir);
	found = lstat(data, &st);
	free(data);
	making->data = found == -1;
	return found == 0 ? LC_OK : check_only_ours(dir);
}

/* Remove what was created of a module that could not be completed, for example on a full
 * disk. The last error stays. */
static void
take_away(const char *dir, const struct making *making)
{
	const lc_error error = *lc_last_error();
	char *data = lc__path_join(dir, "data.mdb");
	char *lock = lc__path_join(dir, "lock.mdb");
	int fd = -1;

	if (data != NULL && lock != NULL && lc__lock_directory(dir, &fd) == LC_OK) {
		pthread_mutex_lock(&registry_lock);
		lc__datafile_remove_unfinished_locked(data, lock);
		if (making->dir)
			(void)rmdir(dir);
		pthread_mutex_unlock(&registry_lock);
		lc__unlock_directory(fd);
	}
	free(data);
	free(lock);
	(void)lc__error_raise(&error);
}

/* Other threads may use the registry while this waits for another process. */
static lc_status
open_until(const char *dir, const struct how *how, uint64_t deadline,
    struct lc__env **out)
{
	for (;;) {
		lc_status status;

		pthread_mutex_lock(&registry_lock);
		status = open_locked(dir, how, out);
		pthread_mutex_unlock(&registry_lock);
		if (status != LC_TIMEOUT)
			return status;
		return_if_error(lc__lock_pause(dir, deadline));
	}
}

static lc_status
open_how(const char *dir, const struct how *how, struct lc__env **out)
{
	const uint64_t deadline = lc__clock_deadline(how->options->timeout_ms);
	struct making making;
	int lock = -1;
	lc_status status;

	pthread_once(&fork_once, watch_forks);
	return_if_error(prepare_directory(dir, how->options, &making));
	return_if_error(lc__lock_directory_shared(dir, deadline, &lock));
	/* Another process may have dropped the module in between. */
	for (int i = 0; i < 100 && lock == -1 && creates(how) &&
	     access(dir, F_OK) == -1 && errno == ENOENT;
	     i++) {
		return_if_error(prepare_directory(dir, how->options, &making));
		return_if_error(lc__lock_directory_shared(dir, deadline, &lock));
	}
	status = open_until(dir, how, deadline, out);
	lc__unlock_directory(lock);
	if (status != LC_OK && making.data)
		take_away(dir, &making);
	return status;
}

lc_status
lc__env_open(const char *dir, const lc_options *options, lc__first_rows *first_rows,
    struct lc__env **out)
{
	const struct how how = { .options = options, .first_rows = first_rows };

	return open_how(dir, &how, out);
}

lc_status
lc__env_open_to_mend(const char *dir, const lc_options *options, enum lc__mended *module,
    struct lc__env **out)
{
	const struct how how = { .options = options, .mends = true };

	return_if_error(open_how(dir, &how, out));
	*module = (*out)->mended;
	return LC_OK;
}

lc_status
lc__env_open_alone(const char *dir, const lc_options *options, struct lc__env **out)
{
	const struct how how = { .options = options, .alone = true };
	struct making making;

	pthread_once(&fork_once, watch_forks);
	return_if_error(prepare_directory(dir, options, &making));
	return open_until(dir, &how, lc__clock_deadline(options->timeout_ms), out);
}

void
lc__env_close(struct lc__env *env)
{
	struct lc__env **link = &registry;
	bool last;

	if (env == NULL)
		return;
	pthread_mutex_lock(&registry_lock);
	pthread_mutex_lock(&env->lock);
	if (env->refs == 1 && (env->pinned > 0 || env->held > 0))
		env->lingers = true;
	else
		env->refs--;
	last = env->refs == 0;
	pthread_mutex_unlock(&env->lock);
	if (last) {
		while (*link != env)
			link = &(*link)->next;
		*link = env->next;
		/* Inside the lock: another open of the same file must come after. */
		free_env(env);
	}
	pthread_mutex_unlock(&registry_lock);
}

uint64_t
lc__env_seed(const struct lc__env *env)
{
	return lc__get64(env->module.uuid);
}
