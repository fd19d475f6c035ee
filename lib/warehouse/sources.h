/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of files from which a warehouse was built, and whether they are unchanged.
 * Text, one line for each file, sorted by path: lmdbcache_warehouse(5).
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
	const char *path; /* relative to the root, or absolute; "" is the root itself.
	                   * UTF-8 or any bytes but NUL; no "." or ".." */
	bool directory;   /* a directory: its hash covers the relevant names in it */
	bool missing;     /* a file that was looked for and missing: it matters if it
	                   * appears. It has no other members */
	uint64_t size;    /* 0 for a directory */
	int64_t mtime_ns; /* lc__sources_mtime() from before it was read */
	uint64_t hash[2]; /* XXH3-128 of its content, by lc__hash128() */
};

/** A list being built or read. */
struct lc__sources {
	int64_t since_ns; /* wall clock before the first file was examined: for files
	                   * modified later, or just before, the time does not prove that
	                   * they are unchanged. 0: do not trust times */
	struct lc__source_file *files; /* paths are owned or point into the text */
	size_t n, room;
	struct lc__buf text; /* the parsed text, into which paths point */
	char **owned;        /* paths that were added */
	size_t n_owned, room_owned;
};

/** Add a copy. LC_INVALID for a path that is not allowed in a list. */
LC_CHECKED lc_status lc__sources_add(struct lc__sources *sources,
    const struct lc__source_file *file);
/** Sort by path, and remove duplicates: of a file that was added with different content
 *  keep the older entry, so that the file counts as changed. */
void lc__sources_sort(struct lc__sources *sources);
/** Are two sorted lists equal, apart from times? */
bool lc__sources_equal(const struct lc__sources *a, const struct lc__sources *b);
/** Append the text of a sorted list. */
LC_CHECKED lc_status lc__sources_format(const struct lc__sources *sources,
    struct lc__buf *out);
/** Take ownership of the text, also on failure; it is modified. LC_CORRUPT names the
 *  line; LC_VERSION. */
LC_CHECKED lc_status lc__sources_parse(struct lc__buf *text, const char *name,
    struct lc__sources *out);
/** SHA-256 in hex over paths, sizes and hashes of the files, sorted; no times and no
 *  directories: the same content has the same fingerprint everywhere. A file outside of
 *  the root counts by its name only. */
LC_CHECKED lc_status lc__sources_fingerprint(const struct lc__sources *sources,
    char out[65]);
void lc__sources_free(struct lc__sources *sources);

/** Time of the last change in ns since 1970; limited to the range of the type. */
int64_t lc__sources_mtime(const struct stat *st);

/** XXH3-128 of the sorted names in a directory that a dataset may use: files with an
 *  image's or a label's extension, and subdirectories; no dot files. */
LC_CHECKED lc_status lc__sources_hash_dir(const char *path, uint64_t hash[2]);
/** XXH3-128 of a whole file, read in pieces. */
LC_CHECKED lc_status lc__sources_hash_file(const char *path, uint64_t hash[2],
    uint64_t *size);

/* ---- for the files of lib/warehouse/sources*.c ---------------------------------------- */

/** May a list contain it? It must stay below the root, or be an absolute path. */
bool lc__sources_path_ok(const char *path, bool directory);
/** Append a path in the form of the text: one line, whatever its bytes. */
void lc__sources_put_path(const char *path, struct lc__buf *out);
/** lc__sources_hash_file(), with @p path from directory @p dir. */
LC_CHECKED lc_status lc__sources_hash_at(int dir, const char *path, uint64_t hash[2],
    uint64_t *size);

/* ---- comparing ----------------------------------------------------------------------- */

/** How much to check. */
enum lc__sources_look {
	LC__LOOK_STAT,   /* content is read only where size or time differ */
	LC__LOOK_CONTENT /* everything is read */
};

/**
 * Compare with the files below @p root. Each difference goes to progress->damage:
 * "runs/a/labels/f1.json: changed", ": removed", ": added". A file that was touched or
 * copied but has the same content is not a difference. A directory is "changed" if it is
 * unknown which of its names are new.
 * @return LC_OK; LC_INVALID if anything differs, naming the first difference and the
 * number of others; LC_NO_FILE if @p root does not exist; LC_CANCELLED, LC_PERMISSION,
 * LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__sources_compare(const struct lc__sources *sources,
    const char *root, enum lc__sources_look look, const lc_progress *progress);

#endif
