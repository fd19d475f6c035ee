/* SPDX-License-Identifier: BSD-2-Clause */
/* XML from S3: listings of objects (ListObjectsV2), errors, keys of a role; and the times
 * in them. */
#ifndef LC_S3_LISTING_H
#define LC_S3_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "s3/sign.h"

/** A page of a listing. */
struct lc__s3_listing {
	struct lc__s3_listed {
		char *key;       /* not encoded */
		uint64_t size;   /* bytes */
		uint64_t time_s; /* since 1970 */
	} * all;                 /* malloc'ed, with the keys */
	size_t n, room;
	char *next; /* the token of the next page, malloc'ed; NULL after the last one */
};

/** LC_OK; LC_IO for text that is not a page of a listing; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__s3_listing_parse(const void *text, size_t size,
    struct lc__s3_listing *out);
void lc__s3_listing_free(struct lc__s3_listing *listing);

#define LC__S3_UPLOAD_ID 1024 /* bytes of an id, and a terminator */

/** The id of an upload in parts that was begun. LC_IO for anything else; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__s3_upload_parse(const void *text, size_t size,
    char id[LC__S3_UPLOAD_ID]);
/** The ETag of a part that was copied, with its quotes. LC_IO for anything else, such as a
 *  failure; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__s3_copied_parse(const void *text, size_t size, char *etag,
    size_t room);

/** Uploads in parts that are not completed: a page of a listing. */
struct lc__s3_uploads {
	struct lc__s3_unfinished {
		char *key, *id;  /* malloc'ed */
		uint64_t time_s; /* when it was begun, since 1970 */
	} * all;
	size_t n, room;
	char *next_key, *next_id; /* where the next page begins, malloc'ed; NULL after the
	                             last one */
};

/** LC_OK; LC_IO for what is not a page of such a listing; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__s3_uploads_parse(const void *text, size_t size,
    struct lc__s3_uploads *out);
void lc__s3_uploads_free(struct lc__s3_uploads *uploads);

/** An error response: "NoSuchKey", "The key does not exist". */
struct lc__s3_error {
	char code[64], message[200]; /* printable ASCII; "" if it is missing */
};

/** LC_OK, also for another response: then both are "". LC_NO_MEMORY; LC_IO if expat
 *  cannot be loaded. */
LC_CHECKED lc_status lc__s3_error_parse(const void *text, size_t size,
    struct lc__s3_error *out);

/** The response of STS to AssumeRoleWithWebIdentity, and when the keys expire, in seconds
 *  since 1970. LC_IO for anything else. */
LC_CHECKED lc_status lc__s3_role_parse(const void *text, size_t size,
    struct lc__s3_keys *keys, uint64_t *expires_s);

/** "2009-10-12T17:50:30.000Z" in seconds since 1970; false for anything else, other time
 *  zones among it. */
bool lc__s3_time_parse(const char *text, uint64_t *seconds);

/** Copy text for a message: bytes that are not printable ASCII become '?', and long text
 *  is cut. */
void lc__s3_printable(const char *text, char *out, size_t room);

#endif
