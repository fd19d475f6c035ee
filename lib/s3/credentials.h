/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys to sign requests with, from the first of these that has some:
 *
 *	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *	AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or those of the profile: from STS
 *	the profile: aws_access_key_id, ..., or the program that credential_process names
 *	AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI: from the container's host
 *	the instance's metadata service (IMDSv2), unless AWS_EC2_METADATA_DISABLED is true
 *
 * With a profile that the caller names, the keys of the environment do not count. Keys that
 * expire are renewed five minutes before they do.
 */
#ifndef LC_S3_CREDENTIALS_H
#define LC_S3_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "s3/http.h"
#include "s3/profile.h"
#include "s3/sign.h"

/** The provider of keys. Any number of threads use it at once. */
struct lc__s3_credentials;

/**
 * @param http     for the services that hand out keys; borrowed
 * @param profile  borrowed
 * @param named    the caller has named the profile
 * @param region   of STS; borrowed
 */
LC_CHECKED lc_status lc__s3_credentials_new(struct lc__http *http,
    const struct lc__s3_profile *profile, bool named, const char *region,
    struct lc__s3_credentials **out);

/**
 * Get keys that have not expired.
 * @param number  identifies these keys for lc__s3_credentials_refused()
 * @return LC_OK; LC_PERMISSION if no provider has keys; the error lists those that were
 * tried; LC_INVALID for a wrong setting; LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__s3_credentials_get(struct lc__s3_credentials *credentials,
    struct lc__s3_keys *out, uint64_t *number);

/**
 * A server has refused keys: get others next time, unless that happened since they were
 * returned.
 * @param certain  the server says that they expired; else keys that are older than a
 *                 minute or never expire are kept
 * @return whether to try again.
 */
bool lc__s3_credentials_refused(struct lc__s3_credentials *credentials, uint64_t number,
    bool certain);

/** NULL is allowed. */
void lc__s3_credentials_free(struct lc__s3_credentials *credentials);

#endif
