/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that appear whole: a file is written under a temporary name in the directory of
 * its final path, synced, and renamed. The temporary name is random and the file is new,
 * so the write cannot be redirected by a link or into another file. Whatever is at the
 * final path is replaced, including a link or one of several names of a file. The mode is
 * that of open(2): umask(2) is not called, since it would affect the whole process.
 *
 * A process that is killed leaves PATH.tmp.XXXXXX (with PATH shortened if the name would
 * be too long), which is harmless. The maker holds flock(2) on it, so that others can see
 * which makers have died.
 */
#ifndef LC_BASE_NEWFILE_H
#define LC_BASE_NEWFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "lmdbcache.h"

/** A file on its way. LC__NEWFILE_NONE is closed. */
struct lc__newfile {
	char *path;      /* its final path */
	char *temporary; /* its present path */
	int fd;          /* open to read and write; -1 if closed */
	bool unsynced;   /* set by the caller: it may be lost in a power failure */
};

#define LC__NEWFILE_NONE \
	{ \
		.fd = -1 \
	}

/** The end of the names of unfinished files, as for mkstemp(3). */
#define LC__NEWFILE_END ".tmp.XXXXXX"

/** Create the file. The mode is 0666, or 0600 for a file that only its owner may read
 *  until its maker changes that; less the umask. */
LC_CHECKED lc_status lc__newfile_open(const char *path, mode_t mode,
    struct lc__newfile *out);
/** Change the final path within the same directory, for a name that depends on the bytes
 *  written. On LC_NO_MEMORY the old path stays. */
LC_CHECKED lc_status lc__newfile_move(struct lc__newfile *file, const char *path);
/** Sync it and rename it over whatever is at the path. Closes it, also on failure. */
LC_CHECKED lc_status lc__newfile_replace(struct lc__newfile *file);
/** The same, but an existing file stays: LC_EXISTS. After any failure nothing was
 *  added. */
LC_CHECKED lc_status lc__newfile_add(struct lc__newfile *file);
/** Remove it; an existing file at the path stays. May be called on a closed one. */
void lc__newfile_discard(struct lc__newfile *file);

/** Remove temporary files of @p path whose makers have died, as far as possible. */
void lc__newfile_tidy(const char *path);

/** Replace the last six characters of a path by random letters and digits. */
void lc__random_name(char *path);
/** As mkstemp(3), but with a mode, less the umask. */
int lc__make_temporary(char *path, mode_t mode);

/**
 * Open a file that the user named, to write it piece by piece. A device or a pipe is
 * opened as it is, also through a link such as /dev/stdout. A file, or a link to one, is
 * replaced by a new file; with @p append a file is kept and a link is refused.
 * @return a descriptor, or -1 with errno set.
 */
int lc__open_to_write(const char *path, int append);
/** Is it a device, a pipe or a descriptor, which are written in place? */
int lc__is_special(const char *path);

#endif
