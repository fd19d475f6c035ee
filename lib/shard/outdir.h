/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory of shards and those in it that hold shards of one size each: what
 * stands there, and one writer at a time. */
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

/** What a file in the directory is, by its name. */
enum lc__outkind {
	LC__OUT_SHARD, /* shard-000000.twh1 */
	LC__OUT_OTHER, /* another *.twh1 */
	LC__OUT_TMP,   /* left by an export that was killed */
	LC__OUT_EXPORT /* manifest.json or state file of a subdirectory's own */
};

/** One file in the directory. */
struct lc__outfile {
	char *name;            /* path from the directory */
	size_t base;           /* where its last component starts in name */
	enum lc__outkind kind; /* by its name */
	uint64_t number;       /* of LC__OUT_SHARD */
	uint64_t size;         /* bytes */
	uint64_t disk;         /* bytes that removing it frees */
};

/** The directory. Files of no kind are not listed. */
struct lc__outdir {
	const char *path;          /* borrowed */
	int fd;                    /* holds the lock; -1 if there is none */
	char **subs;               /* names of the subdirectories to look into */
	size_t n_subs, subs_room;  /* how many; allocated */
	struct lc__outfile *files; /* in no order */
	size_t n, room;            /* how many; allocated */
};

/** The name of shard @p number, "shard-000000.twh1", into @p out. */
char *lc__shard_name(uint64_t number, char out[40]);

/** Make the directory if it is missing and lock it; LC_BUSY if someone has. */
LC_CHECKED lc_status lc__outdir_lock(const char *path, struct lc__outdir *out);
/** Have the subdirectory looked into that this path of a shard leads through, if
 *  there is exactly one. */
LC_CHECKED lc_status lc__outdir_know(struct lc__outdir *dir, const char *relative_path);
/** List the files of a directory, locked or not, and of the known subdirectories
 *  that are there. A symbolic link is not followed to one. */
LC_CHECKED lc_status lc__outdir_scan(struct lc__outdir *dir);
/** Remove a file; it is fine if it is not there. */
LC_CHECKED lc_status lc__outdir_remove(const struct lc__outdir *dir, const char *name);
/** Remove a subdirectory if nothing is left in it. */
LC_CHECKED lc_status lc__outdir_remove_sub(const struct lc__outdir *dir,
    const char *name);
/** Rename a file of the directory. */
LC_CHECKED lc_status lc__outdir_rename(const struct lc__outdir *dir, const char *from,
    const char *to);
/** Read a file of the directory, LC_NO_FILE if it is not there. */
LC_CHECKED lc_status lc__outdir_read(const struct lc__outdir *dir, const char *name,
    struct lc__buf *out);
/** Replace a file of the directory atomically. */
LC_CHECKED lc_status lc__outdir_write(const struct lc__outdir *dir, const char *name,
    const struct lc__buf *bytes);
/** Unlock and free. */
void lc__outdir_close(struct lc__outdir *dir);

#endif
