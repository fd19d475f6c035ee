/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the env module, and by nothing else. */
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
	char *path;             /* the same from the root: for a reopening elsewhere */
	dev_t device;           /* of data.mdb */
	ino_t inode;            /* of data.mdb */
	bool read_only;         /* opened with MDB_RDONLY */
	uint64_t map_size;      /* asked for */
	bool mends;             /* a copy that is mended: of the module row too */
	enum lc__mended mended; /* what became of that */

	MDB_env *mdb;
	MDB_dbi main_table; /* of the tables' names */
	MDB_dbi tables[LC__TABLES];
	uint32_t page_size;
	bool reads_rows; /* of read transactions, with lc__row_find(); else LMDB does */
	struct lc__module_row module;

	pthread_mutex_t
	    turn_lock; /* held while waiting for write_lock: the holder is next */
	pthread_mutex_t write_lock; /* one write transaction, or one move of the map */
	uint64_t
	    readers_checked_ns; /* when dead readers were looked for; with write_lock */
	uint64_t readers_checked_page;  /* last page of the file then; with write_lock */
	atomic_bool checked;            /* all that LMDB walks to write or compact */
	_Atomic uint64_t pages_checked; /* tree pages that checks looked at */
	pthread_mutex_t lock;           /* guards what follows */
	pthread_cond_t changed;         /* active, pinned or moving changed */
	unsigned active;                /* read transactions that hold a snapshot */
	unsigned pinned;                /* of them, those that views or iterators hold */
	unsigned held;                  /* lc__env_hold() without lc__env_let_go() */
	bool lingers;                   /* what is pinned and held has one of refs */
	bool moving;                    /* the map is about to move: nobody may begin */
	bool stale;           /* reopen before the next use: forked, or failed */
	bool forked;          /* mdb belongs to the parent: never close it */
	uint32_t map_version; /* moves so far */
	uint32_t attached;    /* times that mdb was opened */
	bool inherited;       /* views of a parent process point into it */

	const struct lc__env_guest *guest_kind;
	void *guest; /* lives as long as this, NULL before lc__env_invite() */
};

struct lc__txn {
	struct lc__env *env;
	MDB_txn *mdb;
	bool write;        /* holds write_lock */
	const void *base;  /* where page 0 is mapped; of a write transaction */
	size_t map_size;   /* and how much from there */
	bool active;       /* a read transaction that counts in env->active */
	uint32_t attached; /* env->attached when mdb was begun: else mdb is void */

	/* Of a read transaction, valid for one commit in one map: */
	uint64_t commit;      /* that commit */
	uint32_t map_version; /* that map */
	unsigned known;       /* tables whose tree is known, a bit each */
	struct lc__pages_tree trees[LC__TABLES];
	bool placed;                /* place is that of a row: */
	enum lc__table place_table; /* of this table */
	uint64_t place_key;         /* with this key */
	struct lc__row_place place;
};

/** Begin a read transaction, or renew the one in *txn, on the newest commit; an LMDB
 *  code. LMDB's own functions may show the trees of a later commit than their number. */
int lc__mdb_begin_read(MDB_env *mdb, MDB_txn **txn);

/** Turn an LMDB code into a status and an error "PATH: what: text". */
lc_status lc__mdb_error(const char *path, int rc, const char *what);
/** Turn an LMDB code into a status and an error "DIR: what: text". */
lc_status lc__env_error(const struct lc__env *env, int rc, const char *what);

/** As lc__env_open(), by the holder of the directory's lock; LC_BUSY if this
 *  process has the environment open already. */
LC_CHECKED lc_status lc__env_open_alone(const char *dir, const lc_options *options,
    struct lc__env **out);

/** Give @p fd, which is @p path, the owner and the mode of another file. Without the
 *  right to change the owner it stays. */
LC_CHECKED lc_status lc__copy_owner(const struct stat *of, int fd, const char *path);

/** Does this process have the environment in this data file open? */
bool lc__env_is_open(const struct stat *data);
/** The same with the lock of the registry held. */
bool lc__env_is_open_locked(const struct stat *data);

/**
 * With the lock of the registry held: look at data.mdb before LMDB maps it, and make it if
 * the options say so. On overlayfs opening the file for writing copies it up, and a map of
 * the lower file would miss later commits. A file that was not finished is emptied.
 * @param st         the file
 * @param read_only  whether LMDB can only read it
 * @return LC_OK; LC_NOT_MODULE for what LMDB must not open; LC_BUSY; LC_TIMEOUT if
 * another process is opening it; LC_NO_FILE, LC_IO …
 */
LC_CHECKED lc_status lc__datafile_prepare_locked(const char *dir,
    const lc_options *options, struct stat *st, bool *read_only);
/** With the lock of the registry held, and that of the directory exclusively: remove data
 *  and lock file if the data holds nothing and nobody uses it. */
void lc__datafile_remove_unfinished_locked(const char *data, const char *lock);

/** Open env->mdb on env->dir, check that it is a module; unless @p first_rows is NULL
 *  make it if it is empty. If another process opens it: @p wait, or LC_TIMEOUT. */
LC_CHECKED lc_status lc__env_attach(struct lc__env *env, lc__first_rows *first_rows,
    bool wait);

/** Names, flags and key sizes of the tables. */
extern const struct lc__pages_table lc__env_tables[LC__TABLES];

/** Open a table in a transaction. @return LMDB's code. */
int lc__env_open_table(MDB_txn *txn, enum lc__table table, unsigned flags, MDB_dbi *out);
/** Open all tables into env->tables; if one does not open, *failed gets its name.
 *  @return LMDB's code. */
int lc__env_open_tables(struct lc__env *env, MDB_txn *txn, unsigned flags,
    const char **failed);

/** Forget what a read transaction knows of another commit, or of another map. */
void lc__txn_look_anew(struct lc__txn *txn);

/** Check all pages that LMDB may walk when it writes or compacts, unless that was done:
 *  opening leaves out large tables. Within any transaction. */
LC_CHECKED lc_status lc__env_check_to_write(struct lc__env *env);

/** The pages in the free list of the newest commit. Within a read transaction. */
LC_CHECKED lc_status lc__env_free_pages(struct lc__env *env, uint64_t *out);

/** Check the pages and the module row of an environment that LMDB has open, and open its
 *  tables. Unless @p first_rows is NULL make an empty environment a module. */
LC_CHECKED lc_status lc__env_open_module(struct lc__env *env, lc__first_rows *first_rows);

/** Close env->mdb, or abandon it if it belongs to the parent process. */
void lc__env_detach(struct lc__env *env);

/** Wait until no transaction of this process is active, then call @p move with write_lock and
 *  the lock of the environment held. */
LC_CHECKED lc_status lc__env_move(struct lc__env *env,
    lc_status (*move)(struct lc__env *env));

/** Take over the size that another process gave the map. */
LC_CHECKED lc_status lc__env_adopt(struct lc__env *env);

/** Detach and attach again; a move for lc__env_move(). */
LC_CHECKED lc_status lc__env_reattach_locked(struct lc__env *env);

/** Take write_lock, after those threads that wait for it already. */
void lc__env_lock_writing(struct lc__env *env);

/** Initialise, or after a fork initialise again, the locks. */
void lc__env_init_locks(struct lc__env *env);

#endif
