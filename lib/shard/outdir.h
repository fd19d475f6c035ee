/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory of shards, with subdirectories for shards of one size each: its files, and
 * a lock for one writer at a time. */
#ifndef LC_SHARD_OUTDIR_H
#define LC_SHARD_OUTDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

#define LC__MANIFEST_NAME "manifest.json"
#define LC__STATE_NAME ".export-state.json"
#define LC__SHARD_SUFFIX ".twh1"

/** The kind of a file in the directory, by its name. */
enum lc__outkind {
	LC__OUT_SHARD, /* shard-000000.twh1 */
	LC__OUT_OTHER, /* another *.twh1 */
	LC__OUT_TMP,   /* left by an export that was killed */
	LC__OUT_EXPORT /* manifest.json or state file of a subdirectory */
};

/** One file in the directory. */
struct lc__outfile {
	char *name;            /* path from the directory */
	size_t base;           /* where its last component starts in name */
	enum lc__outkind kind; /* by its name */
	uint64_t number;       /* of LC__OUT_SHARD */
	uint64_t size;         /* size in bytes */
	uint64_t disk;         /* bytes that removing it frees */
};

/** The directory. Files of other kinds are not listed. */
struct lc__outdir {
	const char *path;          /* borrowed */
	int fd;                    /* holds the lock; -1 if there is none */
	char **subs;               /* names of the subdirectories to list */
	size_t n_subs, subs_room;  /* how many; allocated */
	struct lc__outfile *files; /* in no order */
	size_t n, room;            /* how many; allocated */
};

/** The name of shard @p number, "shard-000000.twh1", into @p out. */
char *lc__shard_name(uint64_t number, char out[40]);

/** Create the directory if it is missing, and lock it; LC_BUSY if another process has
 *  locked it. */
LC_CHECKED lc_status lc__outdir_lock(const char *path, struct lc__outdir *out);
/** Add the subdirectory in this path of a shard, if the path has exactly one. */
LC_CHECKED lc_status lc__outdir_know(struct lc__outdir *dir, const char *relative_path);
/** List the files of a directory, locked or not, and of its known subdirectories. A
 *  symbolic link to a subdirectory is not followed. */
LC_CHECKED lc_status lc__outdir_scan(struct lc__outdir *dir);
/** Remove a file; a missing file is not an error. */
LC_CHECKED lc_status lc__outdir_remove(const struct lc__outdir *dir, const char *name);
/** Remove a subdirectory if it is empty. */
LC_CHECKED lc_status lc__outdir_remove_sub(const struct lc__outdir *dir,
    const char *name);
/** Rename a file of the directory. */
LC_CHECKED lc_status lc__outdir_rename(const struct lc__outdir *dir, const char *from,
    const char *to);
/** Read a file of the directory; LC_NO_FILE if it is missing. */
LC_CHECKED lc_status lc__outdir_read(const struct lc__outdir *dir, const char *name,
    struct lc__buf *out);
/** Replace a file of the directory atomically. */
LC_CHECKED lc_status lc__outdir_write(const struct lc__outdir *dir, const char *name,
    const struct lc__buf *bytes);
/** Append to a file of the directory, and sync it. LC_NO_FILE if it is missing. */
LC_CHECKED lc_status lc__outdir_append(const struct lc__outdir *dir, const char *name,
    const void *bytes, size_t size);
/** Unlock and free. */
void lc__outdir_close(struct lc__outdir *dir);

#endif
