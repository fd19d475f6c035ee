/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile in the files of AWS's tools: keys and values of its section in
 * ~/.aws/credentials and ~/.aws/config, or in the files that AWS_SHARED_CREDENTIALS_FILE
 * and AWS_CONFIG_FILE name. A missing file is not an error.
 */
#ifndef LC_S3_PROFILE_H
#define LC_S3_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

struct lc__s3_profile {
	char *name; /* malloc'ed */
	bool found; /* a file has such a section */
	struct lc__s3_setting {
		char *key, *value; /* malloc'ed */
	} * settings;              /* malloc'ed; those of the credentials file first */
	size_t n, room;
};

/** Read a profile; with @p name NULL the one that AWS_PROFILE names, or "default". LC_OK;
 *  LC_INVALID for a file that is too large; LC_PERMISSION, LC_IO, LC_NO_MEMORY. */
LC_CHECKED lc_status lc__s3_profile_read(const char *name, struct lc__s3_profile *out);

/** The value of a key; NULL if there is none. */
const char *lc__s3_profile_get(const struct lc__s3_profile *profile, const char *key);

void lc__s3_profile_free(struct lc__s3_profile *profile);

/** The value of an environment variable; NULL if it is unset or empty. */
const char *lc__s3_env(const char *name);

#endif
