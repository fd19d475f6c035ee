/* SPDX-License-Identifier: BSD-2-Clause */
/* All that is below a directory: files by their bytes, modules by their records. */
#ifndef T_TORTURE_TREE_H
#define T_TORTURE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tree_kind { TREE_DIR, TREE_FILE, TREE_LINK, TREE_MODULE };

struct tree_record {
	uint64_t id, value; /* hashes */
};

struct tree_entry {
	char *path; /* below the directory */
	enum tree_kind kind;
	char *target;                /* of a link; NULL for others */
	uint64_t hash;               /* of a file's bytes, a link's target, all records */
	struct tree_record *records; /* of a module, by id */
	size_t n;
};

struct tree {
	struct tree_entry *entries; /* by path */
	size_t n;
};

/**
 * Read all below @p dir. Each module that can be opened is verified, and read; a
 * directory of one that was cut off while it was made is a TREE_DIR. Ends the process if
 * a module is damaged or cannot be opened.
 * @param damaged  the path of one that may be: a TREE_DIR then; or NULL
 */
void tree_read(const char *dir, const char *damaged, struct tree *out);
void tree_free(struct tree *tree);
/** NULL if there is no such path. */
const struct tree_entry *tree_find(const struct tree *tree, const char *path);
/** Same kind, bytes, records. */
bool tree_same(const struct tree_entry *a, const struct tree_entry *b);

#endif
