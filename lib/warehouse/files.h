/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of shards. They are read again and again, and only some are open at a time: a
 * warehouse may have more shards than a process may have descriptors.
 */
#ifndef LC_WAREHOUSE_FILES_H
#define LC_WAREHOUSE_FILES_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/team.h"
#include "lmdbcache.h"

/* ---- a lock --------------------------------------------------------------------------- */

#define LC__TRYLOCK_TRIES 200 /* far longer than any thread holds it */

/** A lock for which no thread waits long: a thread that does not get it continues
 *  without. So a child that was forked while another thread held it is slower, but not
 *  stuck. */
struct lc__trylock {
	_Atomic bool held;
};

static inline bool
lc__trylock(struct lc__trylock *lock)
{
	for (int i = 0; i < LC__TRYLOCK_TRIES; i++) {
		if (!atomic_load_explicit(&lock->held, memory_order_relaxed) &&
		    !atomic_exchange_explicit(&lock->held, true, memory_order_acquire))
			return true;
		sched_yield();
	}
	return false;
}

static inline void
lc__tryunlock(struct lc__trylock *lock)
{
	atomic_store_explicit(&lock->held, false, memory_order_release);
}

/* ---- files, some of which are open ----------------------------------------------- */

#define LC__WFILES_OPEN 64

/** One file. */
struct lc__wfile {
	dev_t device; /* identity at the first opening: another file is refused */
	ino_t inode;
	uint64_t size;
	int slot; /* slot where it is open, -1 if it is not */
};

/** A slot for an open file. */
struct lc__wslot {
	struct lc__wfile *file; /* NULL: free */
	int fd;
	_Atomic unsigned users; /* takes not yet given back; only grows with the lock held
	                         * */
	uint64_t used;          /* time of last use, by the clock below */
};

struct lc__wfiles {
	struct lc__trylock lock; /* guards slots, clock and the files' slot */
	uint64_t clock;
	struct lc__wslot slots[LC__WFILES_OPEN];
};

/** A descriptor, valid until lc__wfiles_give(). */
struct lc__wtaken {
	int fd;
	int slot; /* -1: this descriptor is the caller's alone */
};

/** Open a file for the first time, and record its identity. */
LC_CHECKED lc_status lc__wfile_open(const char *path, struct lc__wfile *file, int *fd);

/** LC_CORRUPT if @p path has become another file. */
LC_CHECKED lc_status lc__wfiles_take(struct lc__wfiles *files, struct lc__wfile *file,
    const char *path, struct lc__wtaken *out);
void lc__wfiles_give(struct lc__wfiles *files, struct lc__wtaken *taken);
/** Close a file that is not taken and will no longer be used. False if it stays open: a
 *  process was forked while a thread held the lock. */
bool lc__wfiles_forget(struct lc__wfiles *files, struct lc__wfile *file);
void lc__wfiles_close(struct lc__wfiles *files);

/* ---- into memory: a whole shard, or only its sections ---------------------------- */

/**
 * Memory of a shard's size with its header, its row offsets (with the whole blocks that
 * contain them) and its block checksums, each in its place; all other bytes are zero and
 * use no memory. The file is untrusted.
 */
LC_CHECKED lc_status lc__load_sections(int fd, const char *path, uint64_t size,
    unsigned char **memory);

/** The same with a function that reads the bytes: exactly this range, or an error. */
LC_CHECKED lc_status lc__load_sections_by(lc_status (*read)(void *ctx, uint64_t from,
					      uint64_t size, void *out),
    void *ctx, const char *path, uint64_t size, unsigned char **memory);

/** All bytes, in huge pages where possible. Counts steps of the work. */
LC_CHECKED lc_status lc__load_all(int fd, const char *path, uint64_t size,
    struct lc__team *team, unsigned char **memory);

/** Free this memory of @p size bytes. */
void lc__load_free(unsigned char *memory, uint64_t size);

/** Read exactly this range of a file; LC_CORRUPT if the file ends before. */
LC_CHECKED lc_status lc__load_range(int fd, const char *path, uint64_t from,
    uint64_t size, void *out);

#endif
