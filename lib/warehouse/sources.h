/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of files that a warehouse was made of, and whether they are still the
 * same. Text, one line a file, sorted by path: lmdbcache_warehouse(5).
 */
#ifndef LC_WAREHOUSE_SOURCES_H
#define LC_WAREHOUSE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "lmdbcache.h"

#define LC__SOURCES_NAME "sources.txt"

/** One file or directory. */
struct lc__source_file {
	const char *path; /* from the root, or of a file absolute; "" is the root
	                      itself. UTF-8 or any bytes but NUL; no "." or ".." */
	bool directory;   /* its hash is of the names in it that matter */
	bool missing;     /* a file that was looked for and was not there: it matters
	                      if it comes. It has nothing else */
	uint64_t size;    /* 0 for a directory */
	int64_t mtime_ns; /* lc__sources_mtime() of before it was read */
	uint64_t hash[2]; /* XXH3-128 of its content, as of lc__hash128() */
};

/** A list being made or read. */
struct lc__sources {
	int64_t since_ns; /* real time before the first file was looked at: what
	                      changed later, or just before, is not known by its time. 0:
	                      no time is trusted */
	struct lc__source_file *files; /* paths are owned or in the text */
	size_t n, room;
	struct lc__buf text; /* what was parsed; paths lead into it */
	char **owned;        /* paths that were added */
	size_t n_owned, room_owned;
};

/** Add a copy. LC_INVALID for a path that no list may have. */
LC_CHECKED lc_status lc__sources_add(struct lc__sources *sources,
    const struct lc__source_file *file);
/** Sort by path, and leave one line of each: of a file that was added with other
 *  content the older one, so that it is found to have changed. */
void lc__sources_sort(struct lc__sources *sources);
/** Whether two sorted lists differ in nothing but times. */
bool lc__sources_equal(const struct lc__sources *a, const struct lc__sources *b);
/** Append the text of a sorted list. */
LC_CHECKED lc_status lc__sources_format(const struct lc__sources *sources,
    struct lc__buf *out);
/** Take the text over, also on failure; it is changed. LC_CORRUPT names the line;
 *  LC_VERSION. */
LC_CHECKED lc_status lc__sources_parse(struct lc__buf *text, const char *name,
    struct lc__sources *out);
/** SHA-256 in hex over paths, sizes and hashes of the files, sorted; no times and
 *  no directories: the same content anywhere has the same fingerprint. A file
 *  outside of the root counts by its name alone. */
LC_CHECKED lc_status lc__sources_fingerprint(const struct lc__sources *sources,
    char out[65]);
void lc__sources_free(struct lc__sources *sources);

/** Time of the last change in ns since 1970; the first or last that there is room
 *  for if it is beyond. */
int64_t lc__sources_mtime(const struct stat *st);

/** XXH3-128 of the sorted names in a directory that a dataset may take: files
 *  with an image's or a label's extension, and subdirectories; no dot files. */
LC_CHECKED lc_status lc__sources_hash_dir(const char *path, uint64_t hash[2]);
/** XXH3-128 of a whole file, read in pieces. */
LC_CHECKED lc_status lc__sources_hash_file(const char *path, uint64_t hash[2],
    uint64_t *size);

/* ---- for the files of lib/warehouse/sources*.c ---------------------------------------- */

/** Whether a list may have it: it stays below the root, or is an absolute file. */
bool lc__sources_path_ok(const char *path, bool directory);
/** Append a path as the text has it: one line, whatever is in it. */
void lc__sources_put_path(const char *path, struct lc__buf *out);
/** lc__sources_hash_file(), with @p path from directory @p dir. */
LC_CHECKED lc_status lc__sources_hash_at(int dir, const char *path, uint64_t hash[2],
    uint64_t *size);

/* ---- comparing ----------------------------------------------------------------------- */

/** How far to look. */
enum lc__sources_look {
	LC__LOOK_STAT,   /* content is read only where size or time differ */
	LC__LOOK_CONTENT /* everything is read */
};

/**
 * Compare with the files below @p root. Each difference goes to
 * progress->damage, "runs/a/labels/f1.json: changed", ": removed", ": added".
 * A file that was touched or copied, but has its content, is not a difference.
 * A directory has "changed" where it cannot be told which of its names are new.
 * @return LC_OK; LC_INVALID if anything differs, naming the first and how many;
 * LC_NO_FILE if there is no @p root at all; LC_CANCELLED, LC_PERMISSION, LC_IO,
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__sources_compare(const struct lc__sources *sources,
    const char *root, enum lc__sources_look look, const lc_progress *progress);

#endif
