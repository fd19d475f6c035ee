/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening environments: the registry of those open, forks, new modules. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "store/env_private.h"
#include "pages/pages.h"
#include "store/snapshot.h"

#define MAX_READERS 1024
#define MIN_MAP ((uint64_t)1 << 20)

/* The environments open in this process. LMDB's lock file breaks if one is
 * opened twice or if its descriptor is closed, so there is one of each. */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lc__env *registry;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- fork ----------------------------------------------------------------- */

static void
before_fork(void)
{
	pthread_mutex_lock(&registry_lock);
	for (struct lc__env *env = registry; env != NULL; env = env->next)
		pthread_mutex_lock(&env->lock);
}

static void
after_fork_parent(void)
{
	for (struct lc__env *env = registry; env != NULL; env = env->next)
		pthread_mutex_unlock(&env->lock);
	pthread_mutex_unlock(&registry_lock);
}

/* Other threads are gone and may have held any lock; their transactions live on
 * in the parent. The environment is reopened on its next use. */
static void
after_fork_child(void)
{
	pthread_mutex_init(&registry_lock, NULL);
	for (struct lc__env *env = registry; env != NULL; env = env->next) {
		lc__env_init_locks(env);
		env->active = 0;
		env->pinned = 0;
		env->moving = false;
		env->stale = true;
		env->forked = true;
		env->epoch++;
		lc__pool_after_fork(env->pool);
	}
}

static void
watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- attaching ------------------------------------------------------------ */

static const struct {
	unsigned long magic; /* statfs f_type */
	const char *name;
} remote_systems[] = {
	{ 0x6969, "NFS" }, { 0xff534d42, "CIFS" }, { 0xfe534d42, "SMB" },
	{ 0x65735546, "FUSE" }, { 0x01021997, "9p" }, { 0x00c36400, "Ceph" },
	{ 0x5346414f, "AFS" }, { 0x0bd00bd0, "Lustre" }, { 0x47504653, "GPFS" },
};

/* Locks and shared maps are not coherent on these. */
static lc_status
check_filesystem(const char *dir)
{
	struct statfs fs;

	if (statfs(dir, &fs) == -1)
		return lc__error_sys(errno, "%s: statfs", dir);
	for (size_t i = 0; i < sizeof(remote_systems) / sizeof(*remote_systems);
	    i++)
		if ((unsigned long)fs.f_type == remote_systems[i].magic)
			return lc__error(LC_FILESYSTEM, 0, "%s: on %s, where "
			    "several writers would damage it; "
			    "LC_FORCE_FS overrides", dir,
			    remote_systems[i].name);
	return LC_OK;
}

/* LMDB files aside, is the directory empty? */
static lc_status
check_only_ours(const char *dir)
{
	DIR *handle = opendir(dir);
	struct dirent *entry;
	lc_status status = LC_OK;

	if (handle == NULL)
		return lc__error_sys(errno, "%s: open", dir);
	while (status == LC_OK && (entry = readdir(handle)) != NULL) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		    strcmp(name, "data.mdb") != 0 && strcmp(name, "lock.mdb") != 0)
			status = lc__error(LC_NOT_MODULE, 0, "%s: holds '%s' "
			    "and no data.mdb: not a module", dir, name);
	}
	closedir(handle);
	return status;
}

static lc_status
try_open_env(struct lc__env *env, uint64_t map_size, int *rc)
{
	const unsigned flags = MDB_NOTLS | MDB_NORDAHEAD |
	    (env->read_only ? MDB_RDONLY : 0);

	*rc = mdb_env_create(&env->mdb);
	if (*rc != 0)
		return lc__env_error(env, *rc, "open");
	mdb_env_set_maxreaders(env->mdb, MAX_READERS);
	mdb_env_set_maxdbs(env->mdb, LC__TABLES + 8);
	mdb_env_set_mapsize(env->mdb, (size_t)map_size);
	*rc = mdb_env_open(env->mdb, env->path, flags, 0666);
	if (*rc == 0)
		return LC_OK;
	mdb_env_close(env->mdb);
	env->mdb = NULL;
	return lc__env_error(env, *rc, "open");
}

/* Open with as much address space as the system grants. */
static lc_status
open_env(struct lc__env *env)
{
	uint64_t map_size = env->map_size;
	lc_status status;
	int rc;

	do {
		status = try_open_env(env, map_size, &rc);
		map_size /= 2;
		/* EINVAL: valgrind's answer to a map that it has no room for. */
	} while ((rc == ENOMEM || rc == EINVAL) && map_size >= MIN_MAP);
	return status;
}

static const char *const table_names[LC__TABLES] = {
	[LC__META] = "meta", [LC__SCHEMA] = "schema", [LC__CHUNK] = "chunk",
	[LC__LEDGER] = "ledger", [LC__INDEX] = "index",
};

static int
open_tables(struct lc__env *env, MDB_txn *txn, unsigned flags)
{
	int rc = 0;

	for (int i = 0; i < LC__TABLES && rc == 0; i++) {
		const unsigned kind = i == LC__META ? 0 : MDB_INTEGERKEY;
		unsigned stored;

		rc = mdb_dbi_open(txn, table_names[i], flags | kind,
		    &env->tables[i]);
		if (rc == 0)
			rc = mdb_dbi_flags(txn, env->tables[i], &stored);
		/* LMDB goes by the stored flags, whatever it was told. */
		if (rc == 0 && stored != kind)
			rc = MDB_CORRUPTED;
	}
	return rc;
}

/* The structure that LMDB relies on: checked before it walks the file. */
static lc_status
check_pages(struct lc__env *env, const struct lc__pages_options *options)
{
	char *path = lc__path_join(env->path, "data.mdb");
	struct lc__pages_report report;
	lc_status status;
	int fd;

	if (path == NULL)
		return lc__error(LC_NO_MEMORY, 0, "%s: out of memory", env->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		status = lc__error_sys(errno, "%s: open", path);
	else
		status = lc__pages_check(fd, path, options, &report);
	if (fd != -1)
		close(fd);
	free(path);
	return status;
}

/* What a module's tables look like, for the check. */
static const struct lc__pages_table page_tables[LC__TABLES] = {
	{ "meta", 0, 0 }, { "schema", MDB_INTEGERKEY, 4 },
	{ "chunk", MDB_INTEGERKEY, 8 }, { "ledger", MDB_INTEGERKEY, 8 },
	{ "index", MDB_INTEGERKEY, 8 },
};

/* Enough for a module of some 100 GB in chunks of 4 MiB; beyond, opening would
 * take longer than its users wait. `cachex verify` looks at all. */
#define CHECKED_PAGES 8192

static lc_status
check_pages_at_open(struct lc__env *env)
{
	const struct lc__pages_options options = {
		.free_list = !env->read_only, .max_pages = CHECKED_PAGES
	};

	return check_pages(env, &options);
}

lc_status
lc__env_check_pages(struct lc__env *env, void (*damage)(void *, const char *),
    void *ctx)
{
	const struct lc__pages_options options = {
		.thorough = true, .tables = page_tables,
		.table_count = LC__TABLES, .damage = damage, .damage_ctx = ctx
	};

	return check_pages(env, &options);
}

/* Begin a transaction; another process may have let the file grow since the
 * environment was opened. */
static int
begin(struct lc__env *env, unsigned flags, MDB_txn **txn)
{
	int rc = mdb_txn_begin(env->mdb, NULL, flags, txn);

	for (int i = 0; i < 8 && rc == MDB_MAP_RESIZED; i++) {
		rc = mdb_env_set_mapsize(env->mdb, 0);
		if (rc == 0)
			rc = mdb_txn_begin(env->mdb, NULL, flags, txn);
	}
	return rc;
}

static lc_status
put_first_rows(struct lc__env *env, MDB_txn *txn)
{
	const struct lc__state state = { .next_chunk = 1, .next_run = 1 };
	struct lc__module_row described = {
		.format = LC__FORMAT, .created_ms = lc__clock_wall_ms()
	};
	struct lc__txn wrapped = { .env = env, .mdb = txn };
	struct lc__buf module = { 0 }, row = { 0 };
	lc_status status;

	if (getrandom(described.uuid, sizeof(described.uuid), 0) !=
	    sizeof(described.uuid))
		return lc__error_sys(errno, "%s: random uuid", env->dir);
	lc__module_encode(&described, &module);
	if (!lc__state_encode(&state, &row) || module.failed)
		status = lc__error(LC_NO_MEMORY, 0, "%s: out of memory", env->dir);
	else
		status = lc__txn_put_meta(&wrapped, "module", module.data,
		    module.size);
	if (status == LC_OK)
		status = lc__txn_put_meta(&wrapped, "state", row.data, row.size);
	lc__buf_free(&module);
	lc__buf_free(&row);
	return status;
}

/* Make an empty environment a module, unless another process just did. */
static lc_status
make_module(struct lc__env *env)
{
	MDB_txn *txn;
	MDB_stat stat;
	lc_status status = LC_OK;
	int rc = begin(env, 0, &txn);

	if (rc != 0)
		return lc__env_error(env, rc, "make");
	rc = open_tables(env, txn, MDB_CREATE);
	if (rc == 0)
		rc = mdb_stat(txn, env->tables[LC__META], &stat);
	if (rc != 0)
		status = lc__env_error(env, rc, "make");
	else if (stat.ms_entries == 0)
		status = put_first_rows(env, txn);
	/* Before the commit: whoever finds a module may rely on its directory. */
	if (status == LC_OK)
		status = lc__sync_dir(env->path);
	if (status == LC_OK)
		status = lc__sync_parent(env->path);
	if (status != LC_OK) {
		mdb_txn_abort(txn);
		return status;
	}
	rc = mdb_txn_commit(txn);
	return rc == 0 ? LC_OK : lc__env_error(env, rc, "make");
}

static lc_status
read_module_row(struct lc__env *env, MDB_txn *txn)
{
	struct lc__txn wrapped = { .env = env, .mdb = txn };
	struct lc__module_row module;
	struct lc__slice row;

	if (lc__txn_get_meta(&wrapped, "module", &row) != LC_OK)
		return lc__error(LC_CORRUPT, 0,
		    "%s: the module's description is missing", env->dir);
	if (lc__module_decode(row.data, row.size, &module) != LC_OK)
		return lc__error_prefix("%s: the module's description", env->dir);
	if (module.format > LC__FORMAT)
		return lc__error(LC_VERSION, 0, "%s: format %u is newer than "
		    "this library's %u", env->dir, module.format, LC__FORMAT);
	/* Read without a lock: written by the first opening only. */
	if (env->module.format == 0)
		env->module = module;
	return LC_OK;
}

/* Open the tables; *empty says that there is nothing at all yet. */
static lc_status
open_module(struct lc__env *env, bool *empty)
{
	MDB_txn *txn;
	MDB_dbi main_table;
	MDB_stat stat;
	lc_status status;
	int rc = begin(env, MDB_RDONLY, &txn);

	*empty = false;
	if (rc != 0)
		return lc__env_error(env, rc, "open");
	status = check_pages_at_open(env);
	if (status != LC_OK) {
		mdb_txn_abort(txn);
		return status;
	}
	rc = mdb_dbi_open(txn, NULL, 0, &main_table);
	if (rc == 0)
		rc = mdb_stat(txn, main_table, &stat);
	if (rc == 0 && stat.ms_entries == 0) {
		*empty = true;
		mdb_txn_abort(txn);
		return LC_OK;
	}
	if (rc == 0)
		rc = open_tables(env, txn, 0);
	if (rc == MDB_NOTFOUND || rc == MDB_INCOMPATIBLE)
		status = lc__error(LC_NOT_MODULE, rc,
		    "%s: an LMDB environment, but not a module", env->dir);
	else if (rc != 0)
		status = lc__env_error(env, rc, "open");
	else
		status = read_module_row(env, txn);
	if (status != LC_OK) {
		mdb_txn_abort(txn);
		return status;
	}
	/* A commit keeps the table handles, an abort would close them. */
	rc = mdb_txn_commit(txn);
	return rc == 0 ? LC_OK : lc__env_error(env, rc, "open");
}

static lc_status
attach_tables(struct lc__env *env, bool create)
{
	MDB_stat stat;
	bool empty;
	int dead;

	mdb_env_stat(env->mdb, &stat);
	/* Read without a lock: written by the first opening only. */
	if (env->page_size == 0)
		env->page_size = stat.ms_psize;
	mdb_reader_check(env->mdb, &dead);
	return_if_error(open_module(env, &empty));
	if (!empty)
		return LC_OK;
	if (!create)
		return lc__error(LC_NOT_MODULE, 0,
		    "%s: an empty LMDB environment, not a module", env->dir);
	return_if_error(make_module(env));
	return open_module(env, &empty);
}

/* Is data.mdb still the file that the registry knows this environment by? Not
 * if somebody deleted the module and perhaps made a new one since. */
static lc_status
check_same_file(const struct lc__env *env)
{
	char *path = lc__path_join(env->path, "data.mdb");
	struct stat st;
	int rc;

	if (path == NULL)
		return lc__error(LC_NO_MEMORY, 0, "%s: out of memory", env->dir);
	rc = stat(path, &st) == 0 ? 0 : errno;
	free(path);
	if (rc != 0)
		return lc__error_sys(rc, "%s: data.mdb is gone since it was "
		    "opened", env->dir);
	if (st.st_dev != env->device || st.st_ino != env->inode)
		return lc__error(LC_IO, 0, "%s: data.mdb is another file than "
		    "when it was opened", env->dir);
	return LC_OK;
}

lc_status
lc__env_attach(struct lc__env *env, bool create)
{
	lc_status status;

	return_if_error(check_same_file(env));
	return_if_error(open_env(env));
	status = attach_tables(env, create);
	if (status != LC_OK) {
		mdb_env_close(env->mdb);
		env->mdb = NULL;
	}
	return status;
}

/* Environments of parent processes: closing one would free the parent's reader
 * slots. They are kept in sight only for the sake of leak checkers. */
static struct abandoned {
	struct abandoned *next;
	MDB_env *mdb;
} *abandoned;

static void
abandon(struct lc__env *env)
{
	struct abandoned *node = malloc(sizeof(*node));

	if (node == NULL)
		return;
	node->mdb = env->mdb;
	node->next = abandoned;
	abandoned = node;
}

void
lc__env_detach(struct lc__env *env)
{
	if (env->mdb != NULL && env->forked)
		abandon(env);
	else if (env->mdb != NULL)
		mdb_env_close(env->mdb);
	env->mdb = NULL;
	env->forked = false;
}

/* ---- opening -------------------------------------------------------------- */

/*
 * Touch data.mdb before anyone maps it: on overlayfs, opening it for writing
 * copies it up, and a map of the lower file would miss later commits.
 */
static lc_status
touch_data(const char *dir, const lc_options *options, struct stat *st,
    bool *read_only)
{
	const bool want_write = !(options->flags & LC_RDONLY);
	const bool create = want_write && (options->flags & LC_CREATE);
	char *path = lc__path_join(dir, "data.mdb");
	struct lc__pages_meta meta;
	lc_status status;
	int fd;

	if (path == NULL)
		return lc__error(LC_NO_MEMORY, 0, "%s: out of memory", dir);
	fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0666);
	*read_only = false;
	if (fd == -1 && !want_write && (errno == EACCES || errno == EROFS ||
	    errno == EPERM)) {
		*read_only = true;
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd == -1 || fstat(fd, st) == -1)
		status = lc__error_sys(errno, "%s: open", path);
	else if (!S_ISREG(st->st_mode))
		status = lc__error(LC_NOT_MODULE, 0, "%s: not a file", path);
	else
		status = lc__pages_check_header(fd, path, &meta);
	if (fd != -1 && status == LC_NOT_FOUND)
		status = create ? LC_OK : lc__error(LC_NOT_MODULE, 0,
		    "%s: an empty file, not a module", path);
	if (fd != -1)
		close(fd);
	free(path);
	return status;
}

static struct lc__env *
find_open(const struct stat *st)
{
	struct lc__env *env = registry;

	while (env != NULL &&
	    (env->device != st->st_dev || env->inode != st->st_ino))
		env = env->next;
	return env;
}

static void
free_env(struct lc__env *env)
{
	lc__pool_free(env->pool);
	lc__env_detach(env);
	pthread_mutex_destroy(&env->lock);
	pthread_mutex_destroy(&env->write_lock);
	pthread_cond_destroy(&env->changed);
	free(env->path);
	free(env->dir);
	free(env);
}

static lc_status
new_env(const char *dir, const lc_options *options, const struct stat *st,
    bool read_only, struct lc__env **out)
{
	struct lc__env *env = calloc(1, sizeof(*env));
	lc_status status;

	if (env == NULL)
		return lc__error(LC_NO_MEMORY, 0, "%s: out of memory", dir);
	lc__env_init_locks(env);
	env->dir = strdup(dir);
	env->device = st->st_dev;
	env->inode = st->st_ino;
	env->read_only = read_only;
	env->map_size = options->map_size;
	env->refs = 1;
	env->pool = lc__pool_new(env);
	env->path = realpath(dir, NULL);
	if (env->path == NULL)
		status = lc__error_sys(errno, "%s: open", dir);
	else if (env->dir == NULL || env->pool == NULL)
		status = lc__error(LC_NO_MEMORY, 0, "%s: out of memory", dir);
	else
		status = lc__env_attach(env, !(options->flags & LC_RDONLY) &&
		    (options->flags & LC_CREATE));
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
reopen_to_write(struct lc__env *env)
{
	lc_status status;

	env->read_only = false;
	env->stale = true;
	status = lc__env_reattach(env);
	/* Its other handles need no more than they had. */
	if (status != LC_OK)
		env->read_only = true;
	return status;
}

/* Use an open environment again; one opened read-only is reopened to write. */
static lc_status
share_env(struct lc__env *env, bool read_only, struct lc__env **out)
{
	if (env->read_only && !read_only)
		return_if_error(lc__env_move(env, reopen_to_write));
	env->refs++;
	*out = env;
	return LC_OK;
}

static lc_status
open_locked(const char *dir, const lc_options *options, struct lc__env **out)
{
	struct lc__env *env;
	struct stat st;
	bool read_only = false;

	return_if_error(touch_data(dir, options, &st, &read_only));
	env = find_open(&st);
	if (env != NULL)
		return share_env(env, read_only, out);
	return new_env(dir, options, &st, read_only, out);
}

static lc_status
prepare_directory(const char *dir, const lc_options *options)
{
	const bool create = !(options->flags & LC_RDONLY) &&
	    (options->flags & LC_CREATE);
	struct stat st;
	char *data;
	int found;

	if (create)
		return_if_error(lc__make_dirs(dir));
	else if (stat(dir, &st) == -1)
		return lc__error_sys(errno, "%s: open", dir);
	if (!(options->flags & (LC_RDONLY | LC_FORCE_FS)))
		return_if_error(check_filesystem(dir));
	data = lc__path_join(dir, "data.mdb");
	if (data == NULL)
		return lc__error(LC_NO_MEMORY, 0, "%s: out of memory", dir);
	found = stat(data, &st);
	free(data);
	return found == 0 ? LC_OK : check_only_ours(dir);
}

lc_status
lc__env_open(const char *dir, const lc_options *options, struct lc__env **out)
{
	lc_status status;

	pthread_once(&fork_once, watch_forks);
	return_if_error(prepare_directory(dir, options));
	pthread_mutex_lock(&registry_lock);
	status = open_locked(dir, options, out);
	pthread_mutex_unlock(&registry_lock);
	return status;
}

void
lc__env_close(struct lc__env *env)
{
	struct lc__env **link = &registry;

	if (env == NULL)
		return;
	pthread_mutex_lock(&registry_lock);
	if (--env->refs > 0) {
		pthread_mutex_unlock(&registry_lock);
		return;
	}
	while (*link != env)
		link = &(*link)->next;
	*link = env->next;
	/* Within the lock: another open of the same file must come after. */
	free_env(env);
	pthread_mutex_unlock(&registry_lock);
}

uint64_t
lc__env_seed(const struct lc__env *env)
{
	return lc__get64(env->module.uuid);
}
