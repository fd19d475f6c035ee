/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that make schemas share. */
#ifndef LC_VALUE_SCHEMA_PRIVATE_H
#define LC_VALUE_SCHEMA_PRIVATE_H

#include "base/mpack.h"
#include "value/schema.h"

/* A schema being made, node by node. */
struct lc__schema_build {
	struct lc__schema *schema;
	uint32_t room;     /* for nodes */
	char *names;       /* where the next name goes */
	const char *limit; /* the limit that it is above, or NULL */
};

/**
 * Room for so many nodes and bytes of names, their terminators included.
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__schema_begin(struct lc__schema_build *build, uint32_t nodes,
    size_t names);

/** The next node, with the name copied; NULL above a limit, which it notes. */
struct lc__schema_node *lc__schema_add(struct lc__schema_build *build, unsigned kind,
    unsigned depth, const char *name, size_t name_size);

/** Count a tensor in; false above a limit, which it notes. */
bool lc__schema_count_tensor(struct lc__schema_build *build, struct lc__schema_node *node,
    lc_dtype dtype, uint32_t ndim);

/** Make bytes and hash of the nodes; frees the schema if that fails. */
LC_CHECKED lc_status lc__schema_finish(struct lc__schema_build *build,
    struct lc__schema **out);

#endif
