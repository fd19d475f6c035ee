/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Directories: entry by entry, or as a sorted list of names. The entries never include
 * "." and "..". A failure of readdir(3) is an error that names the directory, not the end
 * of the list.
 */
#ifndef LC_BASE_LISTDIR_H
#define LC_BASE_LISTDIR_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lmdbcache.h"

/* ---- entry by entry --------------------------------------------------------------- */

/** A directory that is being read. One thread uses it at a time. */
struct lc__dir {
	DIR *stream;      /* NULL if closed */
	const char *path; /* for errors; borrowed until it is closed */
	int fd;           /* of the directory, for fstatat(2) and unlinkat(2) */
};

/**
 * Open a directory; a symbolic link is followed.
 * @return LC_OK, or the error of open(2), "PATH: open: ...": then there is nothing to
 * close.
 */
LC_CHECKED lc_status lc__dir_open(const char *path, struct lc__dir *out);
/** The same from a descriptor of the directory, which is closed with it, or at once on
 *  failure. @p fd may be -1 with errno set: then that is the error. */
LC_CHECKED lc_status lc__dir_of(int fd, const char *path, struct lc__dir *out);

/**
 * Get the next entry, in no particular order, or NULL at the end; valid until the next
 * call.
 * @return LC_OK, or the error of readdir(3), "PATH: read: ...".
 */
LC_CHECKED lc_status lc__dir_next(struct lc__dir *dir, const struct dirent **out);

/**
 * Return the type of an entry as in struct stat: S_IFDIR, S_IFREG, S_IFLNK and so on.
 * With @p follow, the type of the target of a link. Calls stat only if the entry does not
 * tell.
 * @return the type, or 0 with errno set; ENOENT for a link without a target.
 */
mode_t lc__dir_type(const struct lc__dir *dir, const struct dirent *entry, bool follow);

/** Close it; may be called twice. Keeps errno and the last error. */
void lc__dir_close(struct lc__dir *dir);

/* ---- sorted ----------------------------------------------------------------------- */

struct lc__dir_entry {
	char *name;
	mode_t type; /* S_IFDIR, S_IFLNK and so on; 0 if the directory does not tell it */
};

/** The entries of a directory, sorted by the bytes of their names. All zero is empty. */
struct lc__dir_list {
	struct lc__dir_entry *entries;
	size_t n, room;
};

/**
 * List a directory into @p out, which must be empty; free it with lc__dir_list_free(),
 * also after a failure. Names that begin with a dot are listed only with @p hidden.
 * @return LC_OK; as lc__dir_open() and lc__dir_next(); LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__listdir(const char *path, bool hidden, struct lc__dir_list *out);

/** Append a copy of an entry; call lc__dir_list_sort() after the last. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__dir_list_add(struct lc__dir_list *list,
    const struct dirent *entry);
void lc__dir_list_sort(struct lc__dir_list *list);
/** The entry of that name in a sorted list; NULL if there is none. */
const struct lc__dir_entry *lc__dir_list_find(const struct lc__dir_list *list,
    const char *name);
void lc__dir_list_free(struct lc__dir_list *list);

#endif
