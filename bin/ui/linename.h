/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache_id that a line of an input shard gives. */
#ifndef CACHEX_UI_LINENAME_H
#define CACHEX_UI_LINENAME_H

#include "fill/inputs.h"

/** How; one of both is set. */
struct linename {
	const char *field;   /* of JSONL: the member whose text, or integer, it is */
	const char *pattern; /* of a list of files: what the path fills in */
};

/** Does it fit the shards? Reports; an exit status. */
int linename_check(const struct linename *how, const struct lc__inputs_shard *shards,
    size_t n);

/** For lc__inputs_fill.name, with a struct linename. */
lc_status linename_append(const struct linename *how,
    const struct lc__inputs_shard *shard, const struct lc__line *line,
    struct lc__buf *out);

#endif
