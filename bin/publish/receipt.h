/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two texts of a run, as in cachex-store(5): the recipe, which lists the parts and
 * how they are computed, and a part's receipt, which states that it is done. Both are
 * JSON with sorted names; equal contents have equal bytes. This file only converts them;
 * it does not read or write files.
 */
#ifndef CACHEX_PUBLISH_RECEIPT_H
#define CACHEX_PUBLISH_RECEIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"
#include "objects/names.h"

/** Most bytes of either text. */
#define LC__RECIPE_LIMIT ((uint64_t)256 << 20)
#define LC__RECEIPT_LIMIT ((uint64_t)16 << 20)

/** A run. Strings are malloc'ed. */
struct lc__parts_recipe {
	char *producer; /* how the parts are computed, in the user's words; may be empty
	                 * */
	char *options;  /* JSON text: how shards are made from them */
	char **parts;   /* their names; a part's number is its index */
	size_t n, room;
	char sha256[65];     /* of the recipe's text */
	char id[LC__RUN_ID]; /* its beginning */
};

/** Append the recipe's text, and set sha256 and id. LC_INVALID for a text that is not
 *  UTF-8. */
LC_CHECKED lc_status lc__parts_recipe_format(struct lc__parts_recipe *recipe,
    struct lc__buf *out);

/** Read a recipe. @p name is for messages. LC_CORRUPT; LC_VERSION; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__parts_recipe_parse(const void *text, size_t size,
    const char *name, struct lc__parts_recipe *out);

/** Add a part. */
LC_CHECKED lc_status lc__parts_recipe_add(struct lc__parts_recipe *recipe,
    const char *name);
void lc__parts_recipe_free(struct lc__parts_recipe *recipe);

/** A manifest of a part's shards, of which it may have several. */
struct lc__receipt_file {
	char sha256[65];
	uint64_t bytes; /* of the text */
};

/** The result for a part. Strings are malloc'ed. */
struct lc__receipt {
	char run[65]; /* SHA-256 of the recipe */
	char *part;   /* its name */
	uint64_t index;
	char *fingerprint;               /* of the input, hex; "" if it is not known */
	bool has_lines;                  /* lines is valid: */
	uint64_t lines;                  /* of the input, including those without a record
	                                  * */
	uint64_t samples, shards, bytes; /* samples, shards and bytes of the part */
	struct lc__receipt_file *files;
	size_t n, room;
};

LC_CHECKED lc_status lc__receipt_format(const struct lc__receipt *receipt,
    struct lc__buf *out);
LC_CHECKED lc_status lc__receipt_parse(const void *text, size_t size, const char *name,
    struct lc__receipt *out);
void lc__receipt_free(struct lc__receipt *receipt);

#endif
