/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signatures of requests to S3 and compatible servers: AWS Signature Version 4, in
 * headers, as described in "Authenticating Requests (AWS Signature Version 4)" of the
 * Amazon S3 API Reference. Works on bytes only: no clock, no network.
 */
#ifndef LC_S3_SIGN_H
#define LC_S3_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** "20130524T000000Z" and a terminator. */
#define LC__S3_DATE 17

/** The SHA-256 of no bytes. */
#define LC__S3_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/** Keys to sign with, with room for those of any service. */
struct lc__s3_keys {
	char id[256];
	char secret[1024];
	char token[8192]; /* for a session; "" for keys of a user */
};

/** A header, or a parameter of a query. */
struct lc__s3_pair {
	const char *name, *value;
};

/** A request. */
struct lc__s3_signing {
	const char *method;
	const char *path;                /* begins with a slash; not encoded */
	const struct lc__s3_pair *query; /* not encoded, in any order */
	size_t n_query;
	const struct lc__s3_pair *headers; /* all headers to be signed: names in lower
	                                    * case, in any order, including "host" and
	                                    * "x-amz-date" */
	size_t n_headers;
	const char *sha256; /* of the body, in hex; or another value that the service
	                     * defines */
	const char *date;   /* that of "x-amz-date" */
	const char *region, *service;
};

/** Append text in URL encoding: %XX for each byte except letters, digits, "-._~" and,
 *  with @p slash, "/". */
void lc__s3_encode(struct lc__buf *out, const char *text, bool slash);

/** Append a query in the form that is signed and sent, without "?": sorted and encoded.
 *  LC_NO_MEMORY. */
LC_CHECKED lc_status lc__s3_query(struct lc__buf *out, const struct lc__s3_pair *query,
    size_t n);

/** A time in seconds since 1970, in the form for signing. */
void lc__s3_date(uint64_t seconds, char out[LC__S3_DATE]);

/** Append the value of the header "Authorization". LC_NO_MEMORY; LC_UNSUPPORTED without
 *  libcrypto. */
LC_CHECKED lc_status lc__s3_sign(const struct lc__s3_signing *signing,
    const struct lc__s3_keys *keys, struct lc__buf *out);

/** Append the canonical request, from which a signature is computed, for tests and
 *  messages. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__s3_canonical(const struct lc__s3_signing *signing,
    struct lc__buf *out);

#endif
