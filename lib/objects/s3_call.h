/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to a server of S3: signed, retried until there is a final response. Only for
 * the files of the back end (s3.h).
 */
#ifndef LC_OBJECTS_S3_CALL_H
#define LC_OBJECTS_S3_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"
#include "s3/credentials.h"
#include "s3/http.h"
#include "s3/listing.h"
#include "s3/profile.h"
#include "s3/sign.h"

#define LC__S3_SMALL_MS 60000u /* for a request without a long body */
#define LC__S3_NONCE 33        /* hex digits of a put, and a terminator */
/* Longer bodies are not sent only to be refused. */
#define LC__S3_LONG ((uint64_t)1 << 20)

/* What a put says of itself. */
#define LC__S3_META_SHA256 "x-amz-meta-sha256"
#define LC__S3_META_PUT "x-amz-meta-put"

struct lc__s3 {
	struct lc__objects objects;
	struct lc__http *http;
	struct lc__s3_credentials *credentials;
	struct lc__s3_profile profile;
	char *url;      /* of objects */
	char *region;   /* all malloc'ed */
	char *endpoint; /* "https://HOST", without a slash at its end */
	char *host;     /* of the endpoint */
	char *bucket;
	char *base; /* the path before a key: "/BUCKET/", or "/" where the host has it */
	char *prefix;      /* of keys: "", or with a slash at its end */
	unsigned tries;    /* of a request, at least */
	uint64_t retry_ns; /* for so long at least, once the server has answered */
	_Atomic bool answered;
	uint64_t single, part;       /* bytes: as lc__s3_limit() */
	bool alone;                  /* no conditions: one process at a time puts */
	_Atomic bool accepts;        /* the last request with a long body was accepted */
	_Atomic unsigned absent;     /* put_new() of so many long objects in a row did not
	                              * find the object */
	int (*cancelled)(void *ctx); /* or NULL */
	void *cancelled_ctx;
	_Atomic int64_t skew_s; /* the server's clock less ours */
};

/** A request with everything but its signature. */
struct lc__s3_call {
	const char *method;
	const char *name; /* of the object; NULL: the bucket itself */
	const struct lc__s3_pair *query;
	size_t n_query;
	struct lc__s3_pair headers[8]; /* more of them */
	size_t n_headers;
	const struct lc__body *body;
	const char *sha256; /* of the body */
	lc_status (*head)(void *ctx, const struct lc__http_answer *answer);
	lc_status (*write)(void *ctx, const void *data, size_t size);
	void *ctx;
	/** As that of struct lc__object_sink, with a context of its own; or NULL. */
	lc_status (*waits)(void *ctx);
	void *waits_ctx;
	size_t text_limit;
	uint32_t limit_ms;
	/* State over the tries of the call. */
	unsigned tried;      /* since there was progress */
	uint64_t failing_ns; /* since when it fails, by lc__clock_ns(); 0: it does not */
	unsigned sent;       /* in all */
	bool renewed, timed; /* other keys, the server's clock were tried */
	uint64_t number;     /* of the keys */
};

/** The properties of an object on the server. */
struct lc__s3_head {
	struct lc__object about;
	char etag[200];           /* "" if it has none, or a strange one */
	char sha256[65];          /* LC__S3_META_SHA256, or "" */
	char nonce[LC__S3_NONCE]; /* LC__S3_META_PUT, or "" */
};

/** Add one to headers that have room for it. Both texts are borrowed. */
void lc__s3_add_header(struct lc__s3_pair *headers, size_t *n, const char *name,
    const char *value);

/**
 * Send a request, and retry it, until there is a final response.
 * @return LC_OK for a status of 2xx; LC_NO_FILE, LC_PERMISSION, LC_EXISTS (412),
 * LC_UNSUPPORTED, LC_NO_SPACE, LC_IO for others, with the response; the status of a
 * callback.
 */
LC_CHECKED lc_status lc__s3_perform(struct lc__s3 *s3, struct lc__s3_call *call,
    struct lc__http_answer *answer);

/** HEAD: LC_NO_FILE if there is no such object. */
LC_CHECKED lc_status lc__s3_find(struct lc__s3 *s3, const char *name,
    struct lc__s3_head *out);
/** The properties in the headers of a response, without the size. */
void lc__s3_read_head(const struct lc__http_answer *answer, struct lc__s3_head *out);

/** Make the error name the object and the request. */
lc_status lc__s3_name_it(const struct lc__s3 *s3, const struct lc__s3_call *call);

/* ---- for tries of another kind than those of lc__s3_perform() ---------------------------- */

/** Send it once: any answer is LC_OK. */
LC_CHECKED lc_status lc__s3_send_once(struct lc__s3 *s3, struct lc__s3_call *call,
    struct lc__http_answer *answer);
/** It has failed, with this answer: may it be tried again?
 *  @param wrong  the answer is not one to the request, which more time does not mend */
bool lc__s3_tries_on(const struct lc__s3 *s3, struct lc__s3_call *call,
    const struct lc__http_answer *answer, bool wrong);
/** Wait for a random time, up to twice as long as before, unless that takes longer than it
 *  may be tried. LC_CANCELLED; what call->waits() returns. */
LC_CHECKED lc_status lc__s3_wait(struct lc__s3 *s3, const struct lc__s3_call *call);
/** Does the answer say that this request may succeed a little later? */
bool lc__s3_may_pass(long status, const char *code);
/** Use the server's clock, once, if it refuses ours. */
bool lc__s3_take_clock(struct lc__s3 *s3, struct lc__s3_call *call,
    const struct lc__http_answer *answer);
/** Use other keys, once, if it refuses these. The response to HEAD has no text. */
bool lc__s3_take_keys(struct lc__s3 *s3, struct lc__s3_call *call,
    const struct lc__http_answer *answer, const char *code);
/** The failure described by the response. */
lc_status lc__s3_refused(const struct lc__s3 *s3, const struct lc__s3_call *call,
    const struct lc__http_answer *answer, const struct lc__s3_error *error);
/** Text of libcurl or of a server in the error, so that it is one printable line. */
lc_status lc__s3_failed(const struct lc__s3 *s3, const struct lc__s3_call *call);

/* ---- objects in parts: s3_parts.c -------------------------------------------------------- */

/** Put an object of more than s3->single bytes: as one PUT, with the condition when its parts
 *  are joined. LC_CHANGED if its bytes do not have this SHA-256. */
LC_CHECKED lc_status lc__s3_put_parts(struct lc__s3 *s3, const char *name,
    const struct lc__body *body, const char *sha256, const char *nonce, bool is_new);
/** Copy such an object onto itself, so that its time becomes now. LC_EXISTS if it was
 *  replaced.
 *  @param source  its path with the bucket, encoded */
LC_CHECKED lc_status lc__s3_copy_parts(struct lc__s3 *s3, const char *name,
    const char *source, const struct lc__s3_head *head);
/** Abort an upload and remove its parts; LC_OK also if there is none. */
lc_status lc__s3_abort(struct lc__s3 *s3, const char *name, const char *id);

/* ---- the functions of struct lc__objects ------------------------------------------------- */

/* s3_read.c */
lc_status lc__s3_get_range(struct lc__objects *objects, const char *name, uint64_t offset,
    void *out, size_t size, size_t *got, struct lc__object *about);
lc_status lc__s3_get(struct lc__objects *objects, const char *name, uint64_t offset,
    const struct lc__object_sink *sink, struct lc__object *about);
/* s3_put.c */
lc_status lc__s3_put_new(struct lc__objects *objects, const char *name,
    const struct lc__body *body);
lc_status lc__s3_put(struct lc__objects *objects, const char *name,
    const struct lc__body *body);
lc_status lc__s3_touch(struct lc__objects *objects, const char *name);
lc_status lc__s3_remove(struct lc__objects *objects, const char *name);
/* s3_list.c */
lc_status lc__s3_list(struct lc__objects *objects, const char *prefix,
    lc_status (*fn)(void *ctx, const struct lc__object *object), void *ctx);
lc_status lc__s3_sweep(struct lc__objects *objects, const char *prefix,
    uint64_t before_ms, bool dry, uint64_t *files, uint64_t *bytes);

#endif
