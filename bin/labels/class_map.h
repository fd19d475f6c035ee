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

/** A new class. */
struct lc__class_line {
	char *name;              /* malloc'ed */
	struct lc__strings from; /* names or ids of the dataset, as written */
	size_t line;             /* its number in the file, from 1 */
	bool rest;               /* all classes in no other line become it, too */
};

struct lc__class_map {
	char *path; /* of the file, for messages; malloc'ed */
	struct lc__class_line *lines;
	size_t n, room;
	size_t rest;    /* number of the line that is `*` or ends with it; else 0 */
	bool keep_rest; /* the line is just `*`: each class keeps its name */
};

/**
 * Read the file. @p out is to be freed in any case.
 * @return LC_OK; LC_INVALID, naming the file and the line, for an invalid list, and
 * for a duplicate class; LC_NO_FILE, LC_PERMISSION, LC_IO, LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__class_map_read(const char *path, struct lc__class_map *out);
void lc__class_map_free(struct lc__class_map *map);

/** Append it as JSON: [["NEW","OLD",...],...], null for `*`; without comments and
 *  blanks, so that the same map is the same text. */
LC_CHECKED lc_status lc__class_map_format(const struct lc__class_map *map,
    struct lc__buf *out);

/** A class of the dataset and its new class. */
struct lc__class_pair {
	int64_t from, to;
};

/** A map applied to one dataset. All zeros: none. */
struct lc__mapping {
	bool on;
	struct lc__class_pair *pairs; /* sorted by `from`, each once; malloc'ed */
	size_t n, room;
	bool rest;       /* boxes without a class are kept */
	int64_t rest_to; /* the new class of classes that are in no pair; -1: dropped */
	struct lc__strings names; /* of the new classes, by id */
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
/** The new class of a box, -1 for none; false if the box is dropped. */
bool lc__mapping_find(const struct lc__mapping *mapping, int64_t id, int64_t *out);
void lc__mapping_free(struct lc__mapping *mapping);

#endif
