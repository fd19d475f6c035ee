/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout of an lc_value. A node is one of three structs, by its kind: a leaf of plain
 * data, a tensor, or a group (map, list, tuple, tagged value or pairs). A node that the
 * user built is an allocation of its own. A tree that was copied or restored is one
 * allocation, an arena, which starts with its root; nodes can be added to such a tree,
 * which then has both sorts.
 */
#ifndef LC_VALUE_NODE_H
#define LC_VALUE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "value/names.h"

/** Why a tree cannot be put. */
enum lc__flaw {
	LC__SOUND,
	LC__FLAW_MEMORY,   /* an allocation failed, or a child was NULL */
	LC__FLAW_TWICE,    /* a name that the map already has */
	LC__FLAW_NAME,     /* an empty name, or none */
	LC__FLAW_NAMELESS, /* lc_value_append() to a map */
	LC__FLAW_NAMED,    /* lc_value_set() on something other than a map */
	LC__FLAW_APPENDED, /* lc_value_append() to a tagged value or pairs */
	LC__FLAW_PAIRED,   /* lc_value_pair() on something other than pairs */
	LC__FLAW_KEY,      /* a key that is a map or holds a tensor */
	LC__FLAW_LEAF,     /* a child of a leaf */
	LC__FLAW_TAKEN,    /* a child that already has a parent */
	LC__FLAW_CYCLE,    /* a child that contains the parent */
	LC__FLAW_DEPTH,    /* nested too deeply */
	LC__FLAW_COUNT,    /* too many children */
	LC__FLAW_SIZE,     /* a string or bytes of more than 4 GiB */
	LC__FLAW_CONTENT,  /* made of NULL */
	LC__FLAW_TENSOR    /* an invalid tensor */
};

/* lc_value.flags */
#define LC__HAS_TENSOR 0x01 /* the value is a tensor or contains one */
#define LC__NEGATIVE 0x02   /* an integer below 0 */
#define LC__ARENA_ROOT 0x04 /* first node of an arena; freeing it frees the arena */
#define LC__IN_ARENA 0x08   /* another node of an arena */
#define LC__CHANGED 0x10    /* it or a node in it has memory outside of the arena */
#define LC__OWN_NAME 0x20   /* the name is an allocation of its own */
#define LC__OWN_CHILD 0x40  /* the array of children is an allocation of its own */
#define LC__OWN_INDEX 0x80  /* the index of the children's names is one, too */
#define LC__KEY 0x100       /* a key of pairs: must not contain a tensor */

struct lc_value {
	uint8_t kind;     /* lc_kind */
	uint8_t height;   /* levels of nesting, this one included */
	uint8_t flaw;     /* enum lc__flaw: the first in this node or below it */
	uint8_t own_flaw; /* the first in this node itself */
	uint16_t flags;
	struct lc_value *parent;
	const char *name; /* name of a child of a map; tag of a tagged value */
	union {
		uint64_t bits; /* truth, or an integer in two's complement */
		double number; /* a float */
		struct {
			const char *bytes; /* a NUL follows them */
			size_t size;
		} text; /* a string or bytes */
	} of;
};

struct lc__tensor_node {
	struct lc_value base;
	lc_tensor tensor;
};

struct lc__group {
	struct lc_value base;
	lc_value **child;
	uint32_t count, room;   /* children, and room for them */
	struct lc__names names; /* of a map with more than a few */
	char *bad_name;         /* the repeated name; may be NULL */
};

static inline bool
lc__is_group(const lc_value *value)
{
	return (value->kind >= LC_MAP && value->kind <= LC_TUPLE) ||
	    value->kind >= LC_TAGGED;
}

/** Do the children of this kind have names? A tagged value is like a map of one. */
static inline bool
lc__has_names(unsigned kind)
{
	return kind == LC_MAP || kind == LC_TAGGED;
}

/** A tagged value has one child, pairs have an even number. */
static inline bool
lc__count_fits(unsigned kind, uint32_t count)
{
	return kind == LC_TAGGED ? count == 1 : kind != LC_PAIRS || count % 2 == 0;
}

/** Is it a leaf that is not a tensor, or a group other than a map that contains no
 *  tensor? */
static inline bool
lc__is_plain(const lc_value *value)
{
	return value->kind != LC_MAP && (value->flags & LC__HAS_TENSOR) == 0;
}

static inline struct lc__group *
lc__group_of(lc_value *value)
{
	return (struct lc__group *)value;
}

static inline const struct lc__group *
lc__const_group_of(const lc_value *value)
{
	return (const struct lc__group *)value;
}

static inline const lc_tensor *
lc__tensor_of(const lc_value *value)
{
	return &((const struct lc__tensor_node *)value)->tensor;
}

/** The child of that name of a map, or NULL. */
lc_value *lc__group_find(const struct lc__group *map, const char *name, size_t size);

/** Append a child; there must be room for it and its name. */
void lc__group_link(struct lc__group *group, lc_value *child, const char *name);

#endif
