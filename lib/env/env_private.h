/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of lib/env only. */
#ifndef LC_ENV_ENV_PRIVATE_H
#define LC_ENV_ENV_PRIVATE_H

#include <lmdb.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "env/env.h"
#include "pages/pages.h"
#include "pages/row_reader.h"

struct lc__env {
	struct lc__env *next;   /* in the registry */
	unsigned refs;          /* handles, and one more while it lingers */
	char *dir;              /* the module's directory, for messages */
	char *path;             /* the same as an absolute path, to reopen it after
	                         * chdir() */
	dev_t device;           /* of data.mdb */
	ino_t inode;            /* of data.mdb */
	bool read_only;         /* opened with MDB_RDONLY */
	uint64_t map_size;      /* asked for */
	bool mends;             /* a copy under repair: repair the module row too */
	enum lc__mended mended; /* the result of that */

	MDB_env *mdb;
	MDB_dbi main_table; /* of the tables' names */
	MDB_dbi tables[LC__TABLES];
	uint32_t page_size;
	bool reads_rows; /* read transactions use lc__row_find(); else LMDB's functions */
	struct lc__module_row module;

	pthread_mutex_t
	    turn_lock; /* held while waiting for write_lock: its holder is next */
	pthread_mutex_t write_lock;  /* held by one write transaction, or one move of the
	                             * map */
	uint64_t readers_checked_ns; /* when dead readers were last looked for; guarded by
	                         * write_lock */
	uint64_t readers_checked_page;  /* last page of the file then; guarded by
	                                 * write_lock */
	atomic_bool checked;            /* everything that LMDB walks to write or compact
	                                 * was checked */
	_Atomic uint64_t pages_checked; /* tree pages that checks visited */
	pthread_mutex_t lock;           /* guards the members below */
	pthread_cond_t changed;         /* signals changes of active, pinned or moving */
	unsigned active;                /* read transactions that hold a snapshot */
	/* Read transactions held by views or iterators. */
	unsigned pinned;
	unsigned held;        /* lc__env_hold() not yet matched by
	                                 * lc__env_let_go() */
	bool lingers;         /* pins and holds count as one of refs */
	bool moving;          /* the map is about to move: no transaction may
	                                 * begin */
	bool stale;           /* reopen before the next use: after a fork, or a failure */
	bool forked;          /* mdb belongs to the parent: never close it */
	uint32_t map_version; /* moves of the map so far */
	uint32_t attached;    /* number of times that mdb was opened */
	bool inherited;       /* a parent process's views point into it */

	const struct lc__env_guest *guest_kind;
	void *guest; /* lives as long as this; NULL before lc__env_invite() */
};

struct lc__txn {
	struct lc__env *env;
	MDB_txn *mdb;
	bool write;        /* holds write_lock */
	const void *base;  /* address of page 0; for a write transaction */
	size_t map_size;   /* size of the map from `base` on */
	size_t put_bytes;  /* of the values that it has put */
	bool active;       /* a read transaction counted in env->active */
	uint32_t attached; /* env->attached when mdb was begun; if that changed, mdb is
	                    * invalid */

	/* Of a read transaction, valid for one commit in one map: */
	uint64_t commit;      /* that commit */
	uint32_t map_version; /* that map */
	unsigned known;       /* a bit for each table whose tree is known */
	struct lc__pages_tree trees[LC__TABLES];
	bool placed;                /* place is the position of a row: */
	enum lc__table place_table; /* of this table */
	uint64_t place_key;         /* with this key */
	struct lc__row_place place;
};

/** Begin a read transaction, or renew the one in *txn, on the newest commit; returns an
 *  LMDB code. LMDB's own functions may return the trees of a later commit than their
 *  number says. */
int lc__mdb_begin_read(MDB_env *mdb, MDB_txn **txn);

/** Turn an LMDB code into a status and an error "PATH: what: text". */
lc_status lc__mdb_error(const char *path, int rc, const char *what);
/** Turn an LMDB code into a status and an error "DIR: what: text". */
lc_status lc__env_error(const struct lc__env *env, int rc, const char *what);

/** As lc__env_open(), called by the holder of the directory's lock; LC_BUSY if this
 *  process has the environment open already. */
LC_CHECKED lc_status lc__env_open_alone(const char *dir, const lc_options *options,
    struct lc__env **out);

/** Give @p fd, which is @p path, the owner and mode of another file. Without the right to
 *  change the owner, it is left. */
LC_CHECKED lc_status lc__copy_owner(const struct stat *of, int fd, const char *path);

/** Does this process have the environment in this data file open? */
bool lc__env_is_open(const struct stat *data);
/** The same with the registry's lock held. */
bool lc__env_is_open_locked(const struct stat *data);

/**
 * With the registry's lock held: check data.mdb before LMDB maps it, and create it if the
 * options say so. On overlayfs, opening the file for writing copies it up, and a map of
 * the lower file would miss later commits. An incomplete file is emptied.
 * @param st         the file
 * @param read_only  whether LMDB can only read it
 * @return LC_OK; LC_NOT_MODULE for a file that LMDB must not open; LC_BUSY; LC_TIMEOUT if
 * another process is opening it; LC_NO_FILE, LC_IO ...
 */
LC_CHECKED lc_status lc__datafile_prepare_locked(const char *dir,
    const lc_options *options, struct stat *st, bool *read_only);
/** With the registry's lock held, and that of the directory exclusively: remove data file
 *  and lock file if the data file is empty and no process uses it. */
void lc__datafile_remove_unfinished_locked(const char *data, const char *lock);

/** Open env->mdb on env->dir and check that it is a module; if it is empty, make it one
 *  unless @p first_rows is NULL. If another process is opening it: @p wait, or
 *  LC_TIMEOUT. */
LC_CHECKED lc_status lc__env_attach(struct lc__env *env, lc__first_rows *first_rows,
    bool wait);

/** Names, flags and key sizes of the tables. */
extern const struct lc__pages_table lc__env_tables[LC__TABLES];

/** Open a table in a transaction. @return LMDB's code. */
int lc__env_open_table(MDB_txn *txn, enum lc__table table, unsigned flags, MDB_dbi *out);
/** Open all tables into env->tables; *failed is the name of one that does not open.
 *  @return LMDB's code. */
int lc__env_open_tables(struct lc__env *env, MDB_txn *txn, unsigned flags,
    const char **failed);

/** Drop what a read transaction knows about another commit or another map. */
void lc__txn_look_anew(struct lc__txn *txn);

/** Check all pages that LMDB may walk when it writes or compacts, unless that was done:
 *  opening skips large tables. Within any transaction. */
LC_CHECKED lc_status lc__env_check_to_write(struct lc__env *env);

/** The number of pages in the free list of the newest commit. Within a read
 *  transaction. */
LC_CHECKED lc_status lc__env_free_pages(struct lc__env *env, uint64_t *out);

/** Check the pages and the module row of an environment that LMDB has open, and open its
 *  tables. Turn an empty environment into a module, unless @p first_rows is NULL. */
LC_CHECKED lc_status lc__env_open_module(struct lc__env *env, lc__first_rows *first_rows);

/** Close env->mdb, or abandon it if it belongs to the parent process. */
void lc__env_detach(struct lc__env *env);

/** Wait until no transaction of this process is active, then call @p move with write_lock
 *  and the lock of the environment held. */
LC_CHECKED lc_status lc__env_move(struct lc__env *env,
    lc_status (*move)(struct lc__env *env));

/** Adopt the size that another process gave the map. */
LC_CHECKED lc_status lc__env_adopt(struct lc__env *env);

/** Detach and attach again; a move for lc__env_move(). */
LC_CHECKED lc_status lc__env_reattach_locked(struct lc__env *env);

/** Take write_lock, in turn after the threads that already wait for it. */
void lc__env_lock_writing(struct lc__env *env);

/** Initialise the locks, or initialise them again after a fork. */
void lc__env_init_locks(struct lc__env *env);

#endif
