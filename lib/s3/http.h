/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HTTP requests, one after another on as many threads as call: libcurl, which only http.c
 * includes. What comes from a server is not trusted: answers are as long as they say, headers
 * and texts have limits, and redirections are answers like others.
 *
 * A request is sent once: the caller tries again. A proxy of the environment is used as
 * libcurl does.
 */
#ifndef LC_S3_HTTP_H
#define LC_S3_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"
#include "s3/sign.h"

/** Most bytes of an answer's headers. */
#define LC__HTTP_HEADERS ((size_t)64 << 10)

/** Connections, kept for later requests. */
struct lc__http;

struct lc__http_options {
	const char
	    *ca_file; /* certificates of authorities, PEM; NULL: those of the system */
	uint32_t connect_ms; /* to connect */
	uint32_t stall_s;    /* a transfer of less than 1 KiB/s for so long is ended */
	int (*cancelled)(void *ctx); /* as in lc_store_options; or NULL */
	void *cancelled_ctx;
};

/** What a server answered. Zero before the first use. */
struct lc__http_answer {
	long status; /* 200; 0 if no answer came */
	struct lc__buf
	    headers; /* each "name: value" with a terminator, names in lower case */
	struct lc__buf text;     /* the body, unless write() got it */
	uint64_t sent, received; /* bytes of bodies, also after a failure */
	bool again; /* with a failure: of the network, so that another try may succeed */
	bool stopped; /* with a failure: a callback has returned it */
};

struct lc__http_request {
	const char *method, *url;
	const struct lc__s3_pair *headers;
	size_t n_headers;
	/** The body, NULL for none: as that of struct lc__body (objects/objects.h). */
	lc_status (*read)(void *ctx, uint64_t offset, void *out, size_t size);
	uint64_t size;
	void *read_ctx;
	/** The headers of an answer of status 2xx are complete; then its body. What they
	 *  return but LC_OK ends the request with that status. NULL: the body is text. */
	lc_status (*head)(void *ctx, const struct lc__http_answer *answer);
	lc_status (*write)(void *ctx, const void *data, size_t size);
	void *write_ctx;
	/** Asked about once a second, whatever comes: likewise. NULL: it is not asked. */
	lc_status (*waits)(void *ctx);
	void *waits_ctx;
	size_t text_limit; /* most bytes of a text; more is a failure */
	uint32_t limit_ms; /* for the whole request; 0: as long as it does not stall */
	bool direct;       /* through no proxy */
};

/** LC_NO_MEMORY; LC_IO if libcurl cannot be loaded. */
LC_CHECKED lc_status lc__http_open(const struct lc__http_options *options,
    struct lc__http **out);

/**
 * Send a request and take the answer.
 * @param answer  is emptied first; to be freed by lc__http_answer_free(), also on failure
 * @return LC_OK for any answer that is whole, of whatever status; LC_IO with answer->again;
 * LC_IO for what another try does not help; LC_NO_MEMORY; LC_CANCELLED; what a callback
 * returned.
 */
LC_CHECKED lc_status lc__http_send(struct lc__http *http,
    const struct lc__http_request *request, struct lc__http_answer *answer);

/** The value of a header, by its name in lower case; NULL if there is none. */
const char *lc__http_header(const struct lc__http_answer *answer, const char *name);
/** A header that is a number of decimal digits alone; false for anything else. */
bool lc__http_number(const struct lc__http_answer *answer, const char *name,
    uint64_t *out);
/** A header that is a date, in seconds since 1970; false for anything else. */
bool lc__http_date(const struct lc__http_answer *answer, const char *name, uint64_t *out);
/** Add a line as a server sent it, as far as it is a header. False if it is too much. */
bool lc__http_add_line(struct lc__http_answer *answer, const char *line, size_t size);
void lc__http_answer_free(struct lc__http_answer *answer);

/** Close. No request is under way. NULL is harmless. */
void lc__http_close(struct lc__http *http);

#endif
