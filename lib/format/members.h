/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of JSON objects that come from a file: checked, with messages that name the
 * file and the member. A member that is absent or null leaves the result unchanged. */
#ifndef LC_FORMAT_MEMBERS_H
#define LC_FORMAT_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_tree.h"
#include "lmdbcache.h"

/** An object, and its name in messages. */
struct lc__members {
	const char *name; /* of the file */
	const char *of;   /* name of the object, "runs" or "" */
	size_t place;     /* index in an array of that name, from 1; 0 if it is not in one
	                   * */
	const struct lc__json *json; /* the object */
};

/** Parse a text that is an object or null; then *out, which is borrowed from @p tree, is
 *  NULL. Free the tree in any case. */
LC_CHECKED lc_status lc__members_load(const char *text, const char *name,
    struct lc__json_tree *tree, const struct lc__json **out);
/** "FILE: runs[3]: KEY WHAT", LC_CORRUPT. */
lc_status lc__member_bad(const struct lc__members *members, const char *key,
    const char *what);
bool lc__member_has(const struct lc__members *members, const char *key);

LC_CHECKED lc_status lc__member_number(const struct lc__members *members, const char *key,
    uint64_t limit, uint64_t *out);
/** The same for a member that was looked up already. */
LC_CHECKED lc_status lc__member_number_of(const struct lc__members *members,
    const struct lc__json *member, uint64_t limit, uint64_t *out);
/** From 0 to 1. */
LC_CHECKED lc_status lc__member_share(const struct lc__members *members, const char *key,
    double *out);
/** malloc'ed; the previous value of *out is not freed. */
LC_CHECKED lc_status lc__member_text(const struct lc__members *members, const char *key,
    char **out);
/** 64 lower-case hex digits. */
LC_CHECKED lc_status lc__member_sha256(const struct lc__members *members, const char *key,
    char out[65]);
/** Set *out to a member that is an array (or object), borrowed. */
LC_CHECKED lc_status lc__member_array(const struct lc__members *members, const char *key,
    const struct lc__json **out);
LC_CHECKED lc_status lc__member_object(const struct lc__members *members, const char *key,
    const struct lc__json **out);

#endif
