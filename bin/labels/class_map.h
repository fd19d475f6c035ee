/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which classes of a dataset become which: the file of `build --classes`.
 *
 * A line is a new class, with ids from 0 in the order of the lines: its name, or its
 * name, a colon and the names or ids of the dataset's classes that become it, with
 * commas between them. Classes that no line has are dropped, unless a line is `*`,
 * which keeps each under its name after those of the lines, or `NAME: *`. A name may
 * be in quotes; two of them in it are one. Lines that begin with # are comments.
 */
#ifndef CACHEX_LABELS_CLASS_MAP_H
#define CACHEX_LABELS_CLASS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "labels/strings.h"
#include "lmdbcache.h"

/** A line of the file: a new class. */
struct lc__class_line {
	char *name;              /* malloc'ed */
	struct lc__strings from; /* names or ids of the dataset's classes, as written */
	size_t line;             /* number of the line, from 1 */
	/* Classes that are in no other line become this one, too. */
	bool rest;
};

struct lc__class_map {
	char *path; /* path of the file, for messages; malloc'ed */
	struct lc__class_line *lines;
	size_t n, room;
	size_t rest;    /* number of the line with `*`; 0 if none has it */
	bool keep_rest; /* that line is only `*`: each class keeps its name */
};

/**
 * Read the file. Free @p out also after a failure.
 * @return LC_OK; LC_INVALID, naming the file and the line, for an invalid list or a
 * duplicate class; LC_NO_FILE, LC_PERMISSION, LC_IO, LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__class_map_read(const char *path, struct lc__class_map *out);
void lc__class_map_free(struct lc__class_map *map);

/** Append the map as JSON: [["NEW","OLD",...],...], null for `*`. Comments and blanks
 *  are left out, so equal maps give equal texts. */
LC_CHECKED lc_status lc__class_map_format(const struct lc__class_map *map,
    struct lc__buf *out);

/** A class of the dataset and its new class. */
struct lc__class_pair {
	int64_t from, to;
};

/** A map applied to one dataset. All zero: no map. */
struct lc__mapping {
	bool on;
	/* Sorted by `from`, without duplicates; malloc'ed. */
	struct lc__class_pair *pairs;
	size_t n, room;
	bool rest; /* keep boxes without a class */
	/* New class of classes that are in no pair; -1 drops their boxes. */
	int64_t rest_to;
	struct lc__strings names; /* names of the new classes, by id */
};

/**
 * Apply a map to the classes of a dataset.
 * @param names  of the dataset's classes by id, NULL for an id without one
 * @param n      0: names are not known, and the map has to have ids
 * @param has    whether the dataset has a class of this id that has no name; NULL: it has
 *               none, where names are known
 * @return LC_OK; LC_INVALID, naming the file and the line, for a class that the dataset
 * does not have; LC_NO_MEMORY. Free with lc__mapping_free() in any case.
 */
LC_CHECKED lc_status lc__mapping_make(const struct lc__class_map *map, char *const *names,
    size_t n, bool (*has)(const void *ctx, int64_t id), const void *ctx,
    struct lc__mapping *out);
/** The new class of a box, -1 for none. False if the map drops the box. */
bool lc__mapping_find(const struct lc__mapping *mapping, int64_t id, int64_t *out);
void lc__mapping_free(struct lc__mapping *mapping);

#endif
