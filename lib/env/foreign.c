/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/foreign.h"

#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "env/env_private.h"
#include "env/locks.h"
#include "pages/page_layout.h"
#include "pages/pages.h"

#define ATTEMPTS 16 /* how often to try while a writer interferes */

struct lc__foreign {
	char *path;                 /* as given, for messages */
	char *place;                /* the path that LMDB opens: a directory, or a data
	                             * file */
	bool file;                  /* it is a data file */
	bool locked;                /* writers see this reader in the lock file */
	struct lc__pages_meta meta; /* of the snapshot that was checked */
	MDB_env *mdb;
	MDB_txn *txn;
	MDB_cursor *cursor;
};

/* ---- finding -------------------------------------------------------------------- */

bool
lc__foreign_is(const void *first, size_t size)
{
	const unsigned char *bytes = first;
	uint32_t magic;

	if (size < META_VERSION + sizeof(magic))
		return false;
	magic = lc__native32(bytes + META_MAGIC);
	/* With 4-byte pointers the header of a page was 12 bytes. */
	return magic == PAGE_MAGIC || magic == bswap_32(PAGE_MAGIC) ||
	    lc__native32(bytes + META_MAGIC - 4) == PAGE_MAGIC;
}

static bool
has_lock(const char *dir)
{
	char *path = lc__path_join(dir, "lock.mdb");
	struct stat st;
	const bool has = path != NULL && stat(path, &st) == 0;

	free(path);
	return has;
}

lc_status
lc__foreign_is_dir(const char *path, bool *out)
{
	unsigned char first[META_END];
	char *data = lc__path_join(path, "data.mdb");
	lc_status status = LC_OK;
	ssize_t got = 0;
	struct stat st;
	int fd;

	*out = false;
	if (data == NULL)
		return lc__no_memory(path);
	fd = lc__open(data, O_RDONLY | O_NONBLOCK);
	if (fd == -1) {
		if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP &&
		    errno != ENXIO)
			status = lc__error_sys(errno, "%s: open", data);
		else
			status = lc__no_lost_link(data);
		*out = status == LC_OK && has_lock(path);
	} else if (fstat(fd, &st) == -1) {
		status = lc__error_sys(errno, "%s: stat", data);
	} else if (S_ISREG(st.st_mode)) {
		got = read(fd, first, sizeof(first));
		if (got == -1)
			status = lc__error_sys(errno, "%s: read", data);
		else
			*out = got > 0 && lc__foreign_is(first, (size_t)got);
	}
	if (fd != -1)
		close(fd);
	free(data);
	return status;
}

/* The directory of a path that ends in data.mdb: the lock file there has LMDB's usual
 * name. */
static char *
strip_data_file(const char *path)
{
	static const char name[] = "data.mdb";
	const size_t size = strlen(path), skip = sizeof(name) - 1;

	if (size < skip || strcmp(path + size - skip, name) != 0)
		return NULL;
	if (size == skip)
		return strdup(".");
	return path[size - skip - 1] == '/' ? strndup(path, size - skip) : NULL;
}

/* ---- opening -------------------------------------------------------------------- */

static int
try_open(struct lc__foreign *f)
{
	const unsigned flags = MDB_RDONLY | MDB_NOTLS | (f->file ? MDB_NOSUBDIR : 0) |
	    (f->locked ? 0 : MDB_NOLOCK);
	int rc = mdb_env_create(&f->mdb);

	if (rc != 0)
		return rc;
	mdb_env_set_maxdbs(f->mdb, LC__TABLES + 1);
	mdb_env_set_mapsize(f->mdb,
	    (size_t)((f->meta.last_page + 1) * f->meta.page_size));
	lc__fds_hold();
	rc = mdb_env_open(f->mdb, f->place, flags, 0666);
	lc__fds_release();
	if (rc != 0) {
		mdb_env_close(f->mdb);
		f->mdb = NULL;
	}
	return rc;
}

/* An unusable lock file (another system's, or damaged) is left alone. */
static lc_status
open_env(struct lc__foreign *f)
{
	struct lc__buf name = { 0 };
	int rc;

	/* Is there a lock file in which writers can see a reader? None is created, and
	 * one that would need more disk space than there is is not used. */
	lc__buf_printf(&name, "%s%s", f->place, f->file ? "-lock" : "/lock.mdb");
	lc__buf_append(&name, "", 1);
	f->locked = !name.failed && access((const char *)name.data, R_OK | W_OK) == 0 &&
	    lc__lockfile_prepare((const char *)name.data, false) == LC_OK;
	lc__buf_free(&name);

	rc = try_open(f);
	if (rc != 0 && f->locked) {
		f->locked = false;
		rc = try_open(f);
	}
	return rc == 0 ? LC_OK : lc__mdb_error(f->path, rc, "open");
}

/* Begin to read the newest commit; the map grows and readers die while others write. */
static lc_status
begin(struct lc__foreign *f)
{
	int dead, rc;

	for (int i = 0; i < ATTEMPTS; i++) {
		rc = lc__mdb_begin_read(f->mdb, &f->txn);
		if (rc == MDB_MAP_RESIZED)
			rc = mdb_env_set_mapsize(f->mdb, 0);
		else if (rc == MDB_READERS_FULL && i == 0)
			rc = mdb_reader_check(f->mdb, &dead);
		else
			return rc == 0 ? LC_OK
				       : lc__mdb_error(f->path, rc, "begin to read");
		if (rc != 0)
			return lc__mdb_error(f->path, rc, "begin to read");
	}
	return lc__error(LC_BUSY, 0, "%s: the map keeps being resized", f->path);
}

/* Check the snapshot that will be read: a later one has other pages. */
static lc_status
check_pages(struct lc__foreign *f, int fd)
{
	const struct lc__pages_options options = { .main_only = true };
	struct lc__pages_report report;

	for (int i = 0; i < ATTEMPTS; i++) {
		return_if_error(begin(f));
		return_if_error(lc__pages_check(fd, f->path, &options, &report));
		f->meta = report.meta;
		if (report.meta.txnid == mdb_txn_id(f->txn))
			return LC_OK;
		mdb_txn_reset(f->txn);
	}
	return lc__error(LC_BUSY, 0, "%s: other processes write too fast to check it",
	    f->path);
}

static lc_status
is_module(const struct lc__foreign *f)
{
	return lc__error(LC_INVALID, 0,
	    "%s: a module of cachex: `cachex copy` copies its records", f->path);
}

static lc_status
open_checked(struct lc__foreign *f, int fd)
{
	lc_status status = lc__pages_check_header(fd, f->path, &f->meta);
	const unsigned flags = f->meta.main_tree.flags;
	bool module = true;
	MDB_dbi dbi;
	int rc;

	if (status == LC_NOT_FOUND)
		return lc__error(LC_NOT_MODULE, 0,
		    "%s: an empty file, not an LMDB environment", f->path);
	return_if_error(status);
	if (flags & MDB_DUPSORT)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: keys with several values (MDB_DUPSORT) are not supported",
		    f->path);
	if (flags != 0)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: keys that are integers, or in "
		    "reverse order (flags 0x%x), are not supported",
		    f->path, flags);
	return_if_error(open_env(f));
	return_if_error(check_pages(f, fd));
	for (int i = 0; i < LC__TABLES && module; i++)
		module = lc__env_open_table(f->txn, (enum lc__table)i, 0, &dbi) == 0;
	if (module)
		return is_module(f);
	rc = mdb_dbi_open(f->txn, NULL, 0, &dbi);
	if (rc == 0)
		rc = mdb_cursor_open(f->txn, dbi, &f->cursor);
	return rc == 0 ? LC_OK : lc__mdb_error(f->path, rc, "read");
}

/* LMDB must not open a file that this process has open: the locks would be lost. */
static lc_status
open_data(struct lc__foreign *f)
{
	char *data = f->file ? strdup(f->place) : lc__path_join(f->place, "data.mdb");
	struct stat st;
	lc_status status;
	int fd;

	if (data == NULL)
		return lc__no_memory(f->path);
	fd = lc__open(data, O_RDONLY | O_NONBLOCK);
	free(data);
	if (fd == -1 || fstat(fd, &st) == -1)
		status = lc__error_sys(errno, "%s: open", f->path);
	else if (!S_ISREG(st.st_mode))
		status = lc__error(LC_NOT_MODULE, 0, "%s: not a file", f->path);
	else if (lc__env_is_open(&st))
		status = is_module(f);
	else
		status = open_checked(f, fd);
	if (fd != -1)
		close(fd);
	return status;
}

lc_status
lc__foreign_open(const char *path, struct lc__foreign **out)
{
	struct lc__foreign *f = calloc(1, sizeof(*f));
	struct stat st;
	lc_status status;

	if (f == NULL)
		return lc__no_memory(path);
	f->path = strdup(path);
	f->place = strip_data_file(path);
	if (f->place == NULL)
		f->place = strdup(path);
	if (f->path == NULL || f->place == NULL) {
		status = lc__no_memory(path);
	} else if (stat(f->place, &st) == -1) {
		status = lc__error_sys(errno, "%s: open", path);
	} else {
		f->file = !S_ISDIR(st.st_mode);
		status = open_data(f);
	}
	if (status != LC_OK)
		lc__foreign_close(f);
	else
		*out = f;
	return status;
}

void
lc__foreign_close(struct lc__foreign *f)
{
	if (f == NULL)
		return;
	if (f->cursor != NULL)
		mdb_cursor_close(f->cursor);
	if (f->txn != NULL)
		mdb_txn_abort(f->txn);
	if (f->mdb != NULL)
		mdb_env_close(f->mdb);
	free(f->place);
	free(f->path);
	free(f);
}

/* ---- reading -------------------------------------------------------------------- */

uint64_t
lc__foreign_count(const struct lc__foreign *f)
{
	return f->meta.main_tree.entries;
}

lc_status
lc__foreign_check(const struct lc__foreign *f)
{
	MDB_envinfo info;

	if (f->locked)
		return LC_OK;
	/* The second commit after the one that is read may reuse its pages; the first one
	 * is noticed here before that. */
	mdb_env_info(f->mdb, &info);
	return info.me_last_txnid == f->meta.txnid
	    ? LC_OK
	    : lc__error(LC_CHANGED, 0,
		  "%s: another process wrote to it while it was read without a lock file",
		  f->path);
}

/* A key that names a table has the table's record as its value; LMDB tells the two apart
 * only when it opens the table. */
static bool
names_table(const struct lc__foreign *f, const MDB_val *key, const MDB_val *value)
{
	char name[NODE_KEY_MAX + 1];
	MDB_dbi dbi;

	if (value->mv_size != TREE_RECORD || key->mv_size >= sizeof(name) ||
	    memchr(key->mv_data, '\0', key->mv_size) != NULL)
		return false;
	memcpy(name, key->mv_data, key->mv_size);
	name[key->mv_size] = '\0';
	if (mdb_dbi_open(f->txn, name, 0, &dbi) != 0)
		return false;
	mdb_dbi_close(f->mdb, dbi);
	return true;
}

lc_status
lc__foreign_next(struct lc__foreign *f, struct lc__foreign_entry *out)
{
	MDB_val key, value;
	int rc;

	return_if_error(lc__foreign_check(f));
	rc = mdb_cursor_get(f->cursor, &key, &value, MDB_NEXT);
	if (rc == MDB_NOTFOUND)
		return LC_END;
	if (rc != 0)
		return lc__mdb_error(f->path, rc, "read");
	out->key = (lc_id){ key.mv_data, key.mv_size };
	out->value = (struct lc__slice){ value.mv_data, value.mv_size };
	out->table = names_table(f, &key, &value);
	return LC_OK;
}

/* ---- writing -------------------------------------------------------------------- */

#define MAP ((uint64_t)1 << 30)    /* the first map */
#define BATCH ((uint64_t)64 << 20) /* bytes of values in a transaction */
#define PAGES 12                   /* changed in the tree by one put, at most */
#define MAX_VALUE ((uint64_t)1 << 31)

struct lc__foreign_writer {
	char *path; /* for messages */
	MDB_env *mdb;
	MDB_txn *txn; /* NULL between two transactions */
	MDB_dbi table;
	uint64_t page;  /* its size */
	uint64_t map;   /* bytes mapped */
	uint64_t room;  /* in the map that the transaction may use */
	uint64_t used;  /* upper bound of the bytes of `room` in use */
	uint64_t batch; /* bytes of values in the transaction */
};

static lc_status
write_failed(const struct lc__foreign_writer *w, int rc, const char *what)
{
	return lc__mdb_error(w->path, rc, what);
}

static lc_status
commit(struct lc__foreign_writer *w)
{
	MDB_txn *txn = w->txn;
	int rc;

	w->txn = NULL;
	rc = txn == NULL ? 0 : mdb_txn_commit(txn);
	return rc == 0 ? LC_OK : write_failed(w, rc, "commit");
}

/* Begin a transaction with room for this many bytes. The map grows between transactions,
 * before LMDB finds it full: then a transaction would have to be repeated. */
static lc_status
begin_write(struct lc__foreign_writer *w, uint64_t need)
{
	MDB_envinfo info;
	uint64_t size;
	int rc = mdb_env_info(w->mdb, &info);

	if (rc != 0)
		return write_failed(w, rc, "look at");
	size = ((uint64_t)info.me_last_pgno + 1) * w->page;
	if (size + need > w->map) {
		w->map = (2 * (size + need) + MAP - 1) / MAP * MAP;
		rc = mdb_env_set_mapsize(w->mdb, (size_t)w->map);
	}
	if (rc == 0)
		rc = mdb_txn_begin(w->mdb, NULL, 0, &w->txn);
	if (rc == 0)
		rc = mdb_dbi_open(w->txn, NULL, 0, &w->table);
	if (rc != 0)
		return write_failed(w, rc, "begin to write");
	w->room = w->map - size;
	w->used = w->batch = 0;
	return LC_OK;
}

static lc_status
open_file(struct lc__foreign_writer *w, const char *file)
{
	MDB_stat stat;
	int rc = mdb_env_create(&w->mdb);

	if (rc != 0)
		return write_failed(w, rc, "open");
	w->map = MAP;
	mdb_env_set_mapsize(w->mdb, (size_t)w->map);
	lc__fds_hold();
	rc = mdb_env_open(w->mdb, file,
	    MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NOTLS, 0666);
	lc__fds_release();
	if (rc == 0)
		rc = mdb_env_stat(w->mdb, &stat);
	if (rc != 0)
		return write_failed(w, rc, "open");
	w->page = stat.ms_psize;
	return begin_write(w, (uint64_t)PAGES * w->page);
}

lc_status
lc__foreign_create(const char *file, const char *path, struct lc__foreign_writer **out)
{
	struct lc__foreign_writer *w = calloc(1, sizeof(*w));
	lc_status status = LC_OK;

	if (w != NULL)
		w->path = strdup(path);
	if (w == NULL || w->path == NULL)
		status = lc__no_memory(path);
	if (status == LC_OK)
		status = open_file(w, file);
	if (status == LC_OK)
		*out = w;
	else
		lc__foreign_discard(w);
	return status;
}

lc_status
lc__foreign_put(struct lc__foreign_writer *w, lc_id key, lc_id head, lc_id body)
{
	MDB_val name = { key.size, (void *)(uintptr_t)key.data };
	MDB_val value = { head.size + body.size, NULL };
	uint64_t need;
	int rc;

	if (body.size >= MAX_VALUE || value.mv_size >= MAX_VALUE)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%zu bytes; a value of LMDB has less than 2 GiB", body.size);
	need = value.mv_size + (uint64_t)PAGES * w->page;
	if (w->used + need > w->room || w->batch >= BATCH) {
		return_if_error(commit(w));
		return_if_error(begin_write(w, need));
	}
	w->used += need;
	w->batch += value.mv_size;
	rc = mdb_put(w->txn, w->table, &name, &value, MDB_NOOVERWRITE | MDB_RESERVE);
	if (rc != 0)
		return write_failed(w, rc, "write");
	if (head.size > 0)
		memcpy(value.mv_data, head.data, head.size);
	if (body.size > 0)
		memcpy((char *)value.mv_data + head.size, body.data, body.size);
	return LC_OK;
}

lc_status
lc__foreign_finish(struct lc__foreign_writer *w)
{
	const lc_status status = commit(w);

	lc__foreign_discard(w);
	return status;
}

void
lc__foreign_discard(struct lc__foreign_writer *w)
{
	if (w == NULL)
		return;
	if (w->txn != NULL)
		mdb_txn_abort(w->txn);
	if (w->mdb != NULL)
		mdb_env_close(w->mdb);
	free(w->path);
	free(w);
}
