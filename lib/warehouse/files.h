/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are read again and again, of which only some are open at a time: a
 * warehouse may have more shards than a process may have descriptors.
 */
#ifndef LC_WAREHOUSE_FILES_H
#define LC_WAREHOUSE_FILES_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "lmdbcache.h"
#include "warehouse/trylock.h"

#define LC__WFILES_OPEN 64

/** One file. */
struct lc__wfile {
	dev_t device; /* what was opened first: another file is refused */
	ino_t inode;
	uint64_t size;
	int slot; /* where it is open, -1 */
};

/** A place for an open one. */
struct lc__wslot {
	struct lc__wfile *file; /* NULL: free */
	int fd;
	_Atomic unsigned users; /* between take and give; grows under the lock only */
	uint64_t used;          /* when, by the clock below */
};

struct lc__wfiles {
	struct lc__trylock lock; /* guards slots, clock and the files' slot */
	uint64_t clock;
	struct lc__wslot slots[LC__WFILES_OPEN];
};

/** A descriptor until lc__wfiles_give(). */
struct lc__wtaken {
	int fd;
	int slot; /* -1: this one is the caller's alone */
};

/** Look at a file for the first time: open it, and note which one it is. */
LC_CHECKED lc_status lc__wfile_open(const char *path, struct lc__wfile *file, int *fd);

/** LC_CORRUPT if another file is at @p path by now. */
LC_CHECKED lc_status lc__wfiles_take(struct lc__wfiles *files, struct lc__wfile *file,
    const char *path, struct lc__wtaken *out);
void lc__wfiles_give(struct lc__wfiles *files, struct lc__wtaken *taken);
void lc__wfiles_close(struct lc__wfiles *files);

#endif
