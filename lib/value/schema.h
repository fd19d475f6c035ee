/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structure of a value, which the records of a module share: the tree with its names,
 * and the dtype and rank of each tensor. A module stores it once, as MessagePack
 * (lmdbcache(5)). A group other than a map that contains no tensor is one leaf of plain
 * data, so that the length of a list and the keys of pairs are data and not structure.
 */
#ifndef LC_VALUE_SCHEMA_H
#define LC_VALUE_SCHEMA_H

#include <stdbool.h>

#include "lmdbcache.h"

/** lc__schema_node.kind of a leaf of plain data; else an lc_kind. */
#define LC__PLAIN 255

/** The most nodes, the most tensors, and the largest sum of their ranks. */
#define LC__MAX_NODES 1048576
/** The most bytes of all names. */
#define LC__MAX_NAMES ((size_t)32 << 20)
#define LC__MAX_TENSORS 65535
#define LC__MAX_DIMS 65535

/** One node. Children follow their parent, each with all of its descendants. */
struct lc__schema_node {
	uint16_t dtype;        /* of a tensor: lc_dtype */
	uint8_t kind;          /* LC_TENSOR, LC__PLAIN or a kind that has children */
	uint8_t ndim;          /* of a tensor: rank */
	uint8_t depth;         /* levels of nesting, this one included: 1 for the root */
	uint32_t children;     /* number of children */
	uint32_t end;          /* position after the last descendant */
	uint32_t first_tensor; /* tensors in nodes before this one */
	uint32_t first_dim;    /* sum of their ranks */
	uint32_t first_plain;  /* leaves of plain data before this one */
	const char *name;      /* of a child of a map or tagged value; else NULL */
};

/** Immutable once created. */
struct lc__schema {
	uint32_t nodes;   /* at least 1; node[0] is the root */
	uint32_t tensors; /* in the whole tree, at most 65535 */
	uint32_t dims;    /* sum of their ranks, at most 65535 */
	uint32_t plains;  /* leaves of plain data */
	struct lc__schema_node *node;
	const unsigned char *bytes; /* MessagePack; equal structures have equal bytes */
	size_t size;                /* of bytes */
	uint64_t hash;              /* XXH3-64 of bytes */
};

/** The structure of a value; LC_INVALID if it exceeds a limit. Free it with
 *  lc__schema_free(). */
LC_CHECKED lc_status lc__schema_infer(const lc_value *value, struct lc__schema **out);

/** Is it the structure of a value that lc_value_check() has accepted? */
bool lc__schema_fits(const struct lc__schema *schema, const lc_value *value);

/** The structure of a single tensor. */
LC_CHECKED lc_status lc__schema_of_tensor(lc_dtype dtype, uint32_t ndim,
    struct lc__schema **out);

/**
 * Read an encoded structure.
 * @return LC_OK; LC_CORRUPT if it is malformed; LC_UNSUPPORTED if it needs more opaque
 * dtypes than a process can have; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__schema_decode(const void *bytes, size_t size,
    struct lc__schema **out);

/** NULL is allowed. */
void lc__schema_free(struct lc__schema *schema);

/** Are they the same, including the order of a map's names? */
bool lc__schema_equal(const struct lc__schema *a, const struct lc__schema *b);

/** Are they the same, apart from the order of a map's names? */
bool lc__schema_alike(const struct lc__schema *a, const struct lc__schema *b);

/** The node at a path as for lc_value_find(); false if it does not exist. */
bool lc__schema_find(const struct lc__schema *schema, const char *path, uint32_t *node);

/**
 * Follow a path as far as the schema goes: either @p rest becomes NULL, or @p node is a
 * leaf of plain data and @p rest is the path within it.
 */
bool lc__schema_walk(const struct lc__schema *schema, const char *path, uint32_t *node,
    const char **rest);

/** The text of lc_schema_stats.structure, cut to fit with "..." at its end. */
void lc__schema_describe(const struct lc__schema *schema, char *out, size_t room);

/** Tensors at and below a node. */
static inline uint32_t
lc__schema_tensors(const struct lc__schema *schema, uint32_t node)
{
	const uint32_t end = schema->node[node].end;

	return (end == schema->nodes ? schema->tensors : schema->node[end].first_tensor) -
	    schema->node[node].first_tensor;
}

/** Is it the structure of a single tensor? */
static inline bool
lc__schema_is_tensor(const struct lc__schema *schema)
{
	return schema->node[0].kind == LC_TENSOR;
}

#endif
