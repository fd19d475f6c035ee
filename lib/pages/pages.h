/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structure of LMDB's data file, checked as untrusted bytes before liblmdb walks it:
 * liblmdb trusts its file, and one flipped bit can make it divide by zero, read outside
 * its map or abort.
 *
 * At open: lc__pages_check_header(), mdb_env_open(), mdb_txn_begin(MDB_RDONLY),
 * lc__pages_check() of a limited number of pages while that transaction pins the
 * snapshot, and only then the first mdb_dbi_open(). Pages that this leaves out are read
 * without liblmdb, by code that checks them on the way (row_reader.h); before liblmdb
 * writes, all pages are checked. Values are not checked here: they have checksums of
 * their own.
 */
#ifndef LC_PAGES_PAGES_H
#define LC_PAGES_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** The record of one B-tree. */
struct lc__pages_tree {
	uint32_t pad;            /**< unused; in the free list's record the page size */
	uint16_t flags;          /**< MDB_INTEGERKEY … */
	uint16_t depth;          /**< levels, 0 if empty */
	uint64_t branch_pages;   /**< inner pages */
	uint64_t leaf_pages;     /**< leaf pages */
	uint64_t overflow_pages; /**< pages of large values */
	uint64_t entries;        /**< keys */
	uint64_t root;           /**< page number, all ones if empty */
};

/** The newer of the two meta pages: one snapshot of the file. */
struct lc__pages_meta {
	uint32_t page_size; /** bytes of a page */
	uint64_t txnid;     /**< the transaction that wrote it, 0 if none */
	uint64_t last_page; /**< the highest page number in use */
	uint64_t map_size;  /** bytes of address space that its writer requested */
	struct lc__pages_tree free_tree; /**< the free list */
	struct lc__pages_tree main_tree; /**< the names of the tables */
};

/** A table that must exist, unless the environment is empty. */
struct lc__pages_table {
	const char *name; /**< its name */
	unsigned flags;   /**< its persistent flags, MDB_INTEGERKEY or 0 */
	unsigned
	    key_size; /**< size of its integer keys; ignored without MDB_INTEGERKEY */
};

/** What to check. All zero: every tree page, no free list. */
struct lc__pages_options {
	bool
	    thorough; /**< also overflow page headers and exact counts; implies free_list;
	                         max_pages is ignored */
	bool free_list; /** also the free list: needed before anything writes */
	bool main_only; /** a file of other software: check its main table only, not named
	                 * tables, nor which commit should be the newest */
	uint64_t max_pages; /** check at most this many tree pages: skip each tree that
	                     * counts more than are left. 0: no limit. liblmdb may fail on
	                     * a page that was not checked */
	const struct lc__pages_table *tables; /**< expected tables, may be NULL */
	size_t table_count;                   /**< how many, at most 64 */
	/** Called for every damaged table; may be NULL: then the check ends at the
	 *  first. */
	void (*damage)(void *ctx, const char *line);
	void *damage_ctx; /**< its first argument */
};

/** The result. */
struct lc__pages_report {
	struct lc__pages_meta meta; /**< the snapshot that was checked */
	uint64_t tree_pages;        /** branch and leaf pages checked, in all tables */
	uint64_t overflow_pages;    /**< pages of large values */
	uint64_t free_pages;        /**< in the free list, if it was checked */
	uint64_t leaked_pages; /** neither used nor free: lost until the environment is
	                        * compacted, harmless. Only counted by thorough checks */
	bool complete;         /** false if max_pages excluded any tree, or a part */
	bool main_complete;    /** false if it excluded a part of the main table */
};

/**
 * Check both meta pages of the open file @p fd, before mdb_env_open(). Other processes
 * may commit meanwhile: wrong bytes are read again before they are reported.
 * @return LC_OK with the newer page in *out; LC_NOT_FOUND if the file is empty, so not
 * initialised yet; LC_NOT_MODULE if it is not an LMDB file for this kind of machine;
 * LC_VERSION for another data version; LC_CORRUPT; LC_IO.
 */
LC_CHECKED lc_status lc__pages_check_header(int fd, const char *path,
    struct lc__pages_meta *out);

/** Make both meta pages of a file that holds this snapshot only: the older one shows it
 *  too, with the previous number. The transaction must be above 0.
 *  @param pages  room for two */
void lc__pages_put_metas(const struct lc__pages_meta *meta, unsigned char *pages);

/**
 * Check the newest snapshot of the open file @p fd through a separate map. Call it inside
 * a read transaction begun before, which keeps the pages of that snapshot and of all
 * later ones from being reused. If another process truncates the file meanwhile, this
 * raises SIGBUS, as in liblmdb.
 * @return LC_OK with *out filled; LC_CORRUPT with the page number and the damage in the
 * error; LC_NO_MEMORY, LC_IO.
 */
LC_CHECKED lc_status lc__pages_check(int fd, const char *path,
    const struct lc__pages_options *options, struct lc__pages_report *out);

/** As lc__pages_check(), on @p size bytes of a data file in memory. */
LC_CHECKED lc_status lc__pages_check_map(const void *map, uint64_t size, const char *path,
    const struct lc__pages_options *options, struct lc__pages_report *out);

/**
 * Check the header of the overflow pages of a value that mdb_get() returned. When a value
 * is deleted or replaced, liblmdb frees as many pages as that header says, and the fast
 * check does not read it: call this first. Values on leaf pages always pass. Only for
 * values that were written once: a value that was replaced by a smaller one in the
 * transaction that put it keeps its pages, which is refused here.
 * @param base  where page 0 is mapped, see lc__pages_base()
 */
LC_CHECKED lc_status lc__pages_check_value(const void *base, uint32_t page_size,
    const void *value, size_t size);

/**
 * The address where liblmdb mapped page 0, derived from a value on a leaf page that was
 * checked. (mdb_env_info() has the address only of a fixed map.)
 */
const void *lc__pages_base(const void *leaf_value, uint32_t page_size);

#endif
