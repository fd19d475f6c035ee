/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The LMDB environment of a module; only this directory includes lmdb.h. A process opens
 * an environment once, however many handles use it. Read transactions are counted, so
 * that the map can be moved while none is active.
 */
#ifndef LC_ENV_ENV_H
#define LC_ENV_ENV_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "env/rows.h"

enum lc__table {
	LC__META,   /* name -> row */
	LC__SCHEMA, /* u32 -> schema */
	LC__CHUNK,  /* u64 -> chunk */
	LC__LEDGER, /* u64 chunk id -> ledger row */
	LC__INDEX,  /* u64 -> index run */
	LC__INPUT,  /* u64 -> input row */
	LC__ORDER,  /* u64 -> order row */
	LC__TABLES
};

/** Bytes in the map or from the caller. */
struct lc__slice {
	const unsigned char *data;
	size_t size;
};

struct lc__env;
struct lc__txn;

/** Puts the rows of meta that lib/store needs into a new module, in the transaction that
 *  creates it. */
typedef lc_status lc__first_rows(struct lc__txn *txn);

/**
 * Open or share the environment in directory @p dir; LC_CREATE creates it if it is
 * missing. Close it with lc__env_close().
 */
LC_CHECKED lc_status lc__env_open(const char *dir, const lc_options *options,
    lc__first_rows *first_rows, struct lc__env **out);

/** What happened to a damaged row. */
enum lc__mended {
	LC__MENDED_NONE, /* it was intact */
	LC__MENDED,      /* its content was restored */
	LC__MENDED_LOST  /* its content is lost and was replaced */
};

/** As lc__env_open() for a copy under repair: a damaged or missing module row is
 *  repaired, or written anew with another uuid. *module tells which. */
LC_CHECKED lc_status lc__env_open_to_mend(const char *dir, const lc_options *options,
    enum lc__mended *module, struct lc__env **out);
/** NULL is allowed. Pinned snapshots stay valid, see lc__env_hold(). */
void lc__env_close(struct lc__env *env);

/**
 * Replace data.mdb in @p dir by a copy without free pages; durable on LC_OK.
 * @return LC_OK with the sizes of the file; LC_BUSY if any process has it open.
 */
LC_CHECKED lc_status lc__env_shrink(const char *dir, const lc_options *options,
    uint64_t *bytes_before, uint64_t *bytes_after);

struct stat;
/**
 * LC_OK if no process has the environment in @p dir open, whose data file is @p data.
 * Creates no file and opens no data. LC_BUSY; if it cannot be determined, LC_OK.
 */
LC_CHECKED lc_status lc__env_check_idle(const char *dir, const struct stat *data);

/**
 * Remove the directory @p dir with its files. It disappears at once: first it is renamed
 * to a name that modules cannot have.
 * @return LC_OK; LC_NO_FILE; LC_BUSY if a process has the module open; LC_NOT_MODULE if
 * it is not a module or contains directories; LC_PERMISSION, LC_IO.
 */
LC_CHECKED lc_status lc__env_remove(const char *dir);
/** Rename the directory within its root; durable on LC_OK. Statuses as lc__env_remove(),
 *  and LC_EXISTS if the name is taken. */
LC_CHECKED lc_status lc__env_rename(const char *dir, const char *to);

const char *lc__env_dir(const struct lc__env *env);
const struct lc__module_row *lc__env_module(const struct lc__env *env);
/** The absolute path of the directory, for files next to data.mdb. */
const char *lc__env_path(const struct lc__env *env);
uint32_t lc__env_page_size(const struct lc__env *env);
/**
 * Prefetch a part of the map in one request. The map is opened without read-ahead:
 * otherwise each page is a separate disk access.
 */
void lc__env_willneed(const struct lc__env *env, const void *start, size_t size);
/** Seed of the module's hash of cache_ids. */
uint64_t lc__env_seed(const struct lc__env *env);

/* Transactions. A read transaction belongs to one thread at a time. */

/** Start a write transaction; waits for other writers of any process. */
LC_CHECKED lc_status lc__txn_begin_write(struct lc__env *env, lc_durability durability,
    struct lc__txn **out);
/** Commit and free, whatever the result. */
LC_CHECKED lc_status lc__txn_commit(struct lc__txn *txn);
/** Free without a commit. NULL is allowed. */
void lc__txn_abort(struct lc__txn *txn);

/* The lock of an environment guards the count of its active read transactions, and the
 * data that its users attach to it. Functions whose names end in _locked are called with
 * it held. It is never held while LMDB waits. */
void lc__env_lock(struct lc__env *env);
void lc__env_unlock(struct lc__env *env);

/**
 * Pins and holds keep the environment open after the last lc__env_close(). A hold, unlike
 * a pin, lets the map move. Releasing the last one frees the environment.
 */
void lc__env_hold(struct lc__env *env);
/** End a hold, in the process that began it. */
void lc__env_let_go(struct lc__env *env);
/** lc__env_unlock() after a pin was removed, which may have been the last. */
void lc__env_unlock_let_go(struct lc__env *env);

/**
 * Count a read transaction before it begins or is renewed. Waits while the map moves,
 * with the lock released.
 */
LC_CHECKED lc_status lc__env_enter_locked(struct lc__env *env);
/** Uncount one. */
void lc__env_leave_locked(struct lc__env *env);
/** Count one pinned snapshot more (+1) or less (-1). The map cannot move while there is
 *  one. */
void lc__env_count_pins_locked(struct lc__env *env, int change);

/** Start a read transaction that was counted; uncounts it on failure. */
LC_CHECKED lc_status lc__txn_begin_read(struct lc__env *env, struct lc__txn **out);
/** Renew it on the newest commit after a reset; as lc__txn_begin_read(). */
LC_CHECKED lc_status lc__txn_renew(struct lc__txn *txn);
/** Release the snapshot, keep the reader's slot, and uncount. */
void lc__txn_reset_locked(struct lc__txn *txn);
/** The commit that the transaction sees. */
uint64_t lc__txn_id(const struct lc__txn *txn);
/** The newest commit of the environment. */
uint64_t lc__env_last_txn(struct lc__env *env);
/** Changes whenever the map moved: pointers kept across a reset are then stale. */
uint32_t lc__env_map_version(const struct lc__env *env);

/**
 * Enlarge the map for a transaction that met LC_MAP_FULL, or adopt the size that another
 * process gave it. The caller must not have a transaction.
 * @return LC_OK, or LC_MAP_FULL if pinned snapshots prevent it for 100 ms.
 */
LC_CHECKED lc_status lc__env_grow(struct lc__env *env);

/* Rows. In tables with integer keys the key is passed as a number. */
LC_CHECKED lc_status lc__txn_get(struct lc__txn *txn, enum lc__table table, uint64_t key,
    struct lc__slice *out);
LC_CHECKED lc_status lc__txn_put(struct lc__txn *txn, enum lc__table table, uint64_t key,
    const void *data, size_t size);
/** Append a value at the end of a table; the caller fills it before any other call. */
LC_CHECKED lc_status lc__txn_append(struct lc__txn *txn, enum lc__table table,
    uint64_t key, size_t size, unsigned char **out);
/** As lc__txn_append(), with any key that the table does not have. */
LC_CHECKED lc_status lc__txn_insert(struct lc__txn *txn, enum lc__table table,
    uint64_t key, size_t size, unsigned char **out);
LC_CHECKED lc_status lc__txn_delete(struct lc__txn *txn, enum lc__table table,
    uint64_t key);
/** Delete all rows of a table. */
LC_CHECKED lc_status lc__txn_clear(struct lc__txn *txn, enum lc__table table);
LC_CHECKED lc_status lc__txn_get_meta(struct lc__txn *txn, const char *name,
    struct lc__slice *out);
LC_CHECKED lc_status lc__txn_put_meta(struct lc__txn *txn, const char *name,
    const void *data, size_t size);
/** Delete a row, if it exists. */
LC_CHECKED lc_status lc__txn_delete_meta(struct lc__txn *txn, const char *name);
/** Row number @p n of meta by name, from 0; LC_END after the last. */
LC_CHECKED lc_status lc__txn_nth_meta(struct lc__txn *txn, uint64_t n,
    struct lc__slice *name, struct lc__slice *row);
/** Rename a row; if a row with the new name exists, the two exchange names. With @p to
 *  NULL delete it. */
LC_CHECKED lc_status lc__txn_rename_meta(struct lc__txn *txn,
    const struct lc__slice *from, const char *to);
/** The first row with a key >= @p key; LC_END after the last. */
LC_CHECKED lc_status lc__txn_seek(struct lc__txn *txn, enum lc__table table, uint64_t key,
    uint64_t *found, struct lc__slice *out);
/** The first row with a key > @p key, which may be the largest possible key. */
LC_CHECKED lc_status lc__txn_seek_after(struct lc__txn *txn, enum lc__table table,
    uint64_t key, uint64_t *found, struct lc__slice *out);
/** The last row with a key <= @p key; LC_END if there is none. */
LC_CHECKED lc_status lc__txn_seek_back(struct lc__txn *txn, enum lc__table table,
    uint64_t key, uint64_t *found, struct lc__slice *out);
/** Rows in a table. */
LC_CHECKED lc_status lc__txn_count(struct lc__txn *txn, enum lc__table table,
    uint64_t *out);

/** The size of the file as of the newest commit; later commits never make it smaller. */
uint64_t lc__env_file_bytes(struct lc__env *env);

/** The environment's part of lc_stat(). */
struct lc__env_stats {
	uint64_t file_bytes, free_bytes, map_bytes;
	uint32_t readers, max_readers;
};
/** Within a read transaction. */
LC_CHECKED lc_status lc__env_stat(struct lc__env *env, struct lc__env_stats *out);

/** Number of tree pages that checks of whole tables visited since the environment was
 *  opened. */
uint64_t lc__env_pages_checked(const struct lc__env *env);
/** Number of tree pages that a read transaction visited since it was first begun. */
uint64_t lc__txn_pages_read(const struct lc__txn *txn);

/**
 * Check every page that LMDB uses, within a read transaction. Damage is reported to @p
 * damage.
 * @return LC_OK; LC_CORRUPT; LC_IO; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__env_check_pages(struct lc__env *env,
    void (*damage)(void *ctx, const char *line), void *ctx);

/** Write a copy of the newest commit to the new file @p fd, which is @p path; without
 *  free pages if @p compact. Neither waits for writers nor makes them wait. */
LC_CHECKED lc_status lc__env_copy(struct lc__env *env, int fd, const char *path,
    bool compact);

/** An object with the lifetime of an environment, created by its users. */
struct lc__env_guest {
	void *(*make)(struct lc__env *env); /* NULL without memory */
	void (*free)(void *guest);
	void (*before_close)(void *guest); /* called with the lock held and nothing
	                                    * active: LMDB is about to close, so the
	                                    * guest's transactions must end */
	/* Called around a fork, with the lock held: take the guest's locks; release them;
	 * in the child, initialise them again: what the guest holds belongs to the
	 * parent. */
	void (*before_fork)(void *guest);
	void (*after_fork_parent)(void *guest);
	void (*after_fork_child)(void *guest);
};

/** Create the guest, unless there is one already. */
LC_CHECKED lc_status lc__env_invite(struct lc__env *env,
    const struct lc__env_guest *kind);
/** The guest, NULL if there is none. */
void *lc__env_guest_of(const struct lc__env *env);

/** The number of this process, different in a forked child: objects created under another
 *  number belong to the parent. */
uint32_t lc__env_epoch(void);

#endif
