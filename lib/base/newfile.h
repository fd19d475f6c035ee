/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that appear whole: a file is written under a name of its own beside its place,
 * synced and renamed. The name is random and the file is new, so nobody can make this write
 * through a link or into another file. What is in the place is replaced, also a link or one
 * of several names of a file. The mode is what open(2) gives: umask(2), which would change
 * the whole process, is not called. A process that is killed leaves PATH.tmp.XXXXXX, with a
 * shorter PATH where the name would be too long, which does no harm. The maker holds
 * flock(2) on it, so that others can tell which makers have died.
 */
#ifndef LC_BASE_NEWFILE_H
#define LC_BASE_NEWFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "lmdbcache.h"

/** A file on its way. LC__NEWFILE_NONE is closed. */
struct lc__newfile {
	char *path;      /* where it will be */
	char *temporary; /* where it is */
	int fd;          /* open to read and write; -1 if closed */
	bool unsynced;   /* set by the caller: nobody misses it after a loss of power */
};

#define LC__NEWFILE_NONE \
	{ \
		.fd = -1 \
	}

/** The end of the names of unfinished files, as for mkstemp(3). */
#define LC__NEWFILE_END ".tmp.XXXXXX"

/** Begin. The mode is 0666 or, for a file that only its owner may see until its maker
 *  says otherwise, 0600; less what the umask takes. */
LC_CHECKED lc_status lc__newfile_open(const char *path, mode_t mode,
    struct lc__newfile *out);
/** Have another place for it, in the same directory: one whose name follows from its bytes.
 *  LC_NO_MEMORY leaves the old one. */
LC_CHECKED lc_status lc__newfile_move(struct lc__newfile *file, const char *path);
/** On disk, put in the place of whatever is there. Closes it, also on failure. */
LC_CHECKED lc_status lc__newfile_replace(struct lc__newfile *file);
/** The same, but what is there stays: LC_EXISTS. After any failure nothing was added. */
LC_CHECKED lc_status lc__newfile_add(struct lc__newfile *file);
/** Give up; what was there stays. Harmless on a closed one. */
void lc__newfile_discard(struct lc__newfile *file);

/** Remove unfinished files for @p path whose makers have died, as far as possible. */
void lc__newfile_tidy(const char *path);

/** Give the last six characters of a path other random letters and digits. */
void lc__random_name(char *path);
/** As mkstemp(3), but with a mode, less what the umask takes. */
int lc__make_temporary(char *path, mode_t mode);

/**
 * Open a file to write that the user named and that is written bit by bit. A device or
 * a pipe is opened as it is, also by a link such as /dev/stdout. A file, or a link to
 * one, is replaced by a new file; with @p append a file is kept and a link refused.
 * @return a descriptor, or -1 with errno.
 */
int lc__open_to_write(const char *path, int append);
/** Is it a device, a pipe or a descriptor, which are written as they are? */
int lc__is_special(const char *path);

#endif
