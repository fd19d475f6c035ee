/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of JSON objects that come from a file: checked, with messages that name
 * the file and the member. What is absent or null leaves the result as it was. */
#ifndef LC_FORMAT_MEMBERS_H
#define LC_FORMAT_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_tree.h"
#include "lmdbcache.h"

/** An object, and what messages call it. */
struct lc__members {
	const char *name; /* of the file */
	const char *of;   /* what the object is, "runs" or "" */
	size_t place;     /* in an array of that name, from 1; 0 if it is in none */
	const struct lc__json *json; /* the object */
};

/** Parse a text whose top is an object, or null: then *out, which is borrowed from
 *  @p tree, is NULL. The tree is to be freed whatever is returned. */
LC_CHECKED lc_status lc__members_load(const char *text, const char *name,
    struct lc__json_tree *tree, const struct lc__json **out);
/** "FILE: runs[3]: KEY WHAT", LC_CORRUPT. */
lc_status lc__member_bad(const struct lc__members *members, const char *key,
    const char *what);
bool lc__member_has(const struct lc__members *members, const char *key);

LC_CHECKED lc_status lc__member_number(const struct lc__members *members, const char *key,
    uint64_t limit, uint64_t *out);
/** The same of a member that is known already. */
LC_CHECKED lc_status lc__member_number_of(const struct lc__members *members,
    const struct lc__json *member, uint64_t limit, uint64_t *out);
/** From 0 to 1. */
LC_CHECKED lc_status lc__member_share(const struct lc__members *members, const char *key,
    double *out);
/** malloc'ed; what *out pointed to is not freed. */
LC_CHECKED lc_status lc__member_text(const struct lc__members *members, const char *key,
    char **out);
/** 64 lower-case hex digits. */
LC_CHECKED lc_status lc__member_sha256(const struct lc__members *members, const char *key,
    char out[65]);
/** An object's member that is an array (or object) is *out, borrowed. */
LC_CHECKED lc_status lc__member_array(const struct lc__members *members, const char *key,
    const struct lc__json **out);
LC_CHECKED lc_status lc__member_object(const struct lc__members *members, const char *key,
    const struct lc__json **out);

#endif
