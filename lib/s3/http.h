/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HTTP requests, any number of threads at once, through libcurl, which only http.c
 * includes. Servers are not trusted: a response must have its stated length, headers and
 * texts are limited, and redirections are returned like other responses. A request is
 * sent once: the caller retries. Proxies from the environment are used, as in libcurl.
 */
#ifndef LC_S3_HTTP_H
#define LC_S3_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"
#include "s3/sign.h"

/** Most bytes in a response's headers. */
#define LC__HTTP_HEADERS ((size_t)64 << 10)

/** Connections, kept for later requests. */
struct lc__http;

struct lc__http_options {
	const char
	    *ca_file; /* certificates of authorities, PEM; NULL: those of the system */
	uint32_t connect_ms; /* to connect */
	uint32_t stall_s;    /* a transfer of less than 1 KiB/s for this long is ended */
	int (*cancelled)(void *ctx); /* as in lc_store_options; or NULL */
	void *cancelled_ctx;
};

/** A server's response. Zero it before the first use. */
struct lc__http_answer {
	long status; /* 200; 0 without a response */
	struct lc__buf
	    headers; /* each "name: value" with a terminator, names in lower case */
	struct lc__buf text;     /* the body, unless it went to write() */
	uint64_t sent, received; /* bytes of bodies, also after a failure */
	bool again;   /* after a failure of the network: another try may succeed */
	bool stopped; /* a callback returned the failure */
};

struct lc__http_request {
	const char *method, *url;
	const struct lc__s3_pair *headers;
	size_t n_headers;
	/** The body, NULL for none: like that of struct lc__body (objects/objects.h). */
	lc_status (*read)(void *ctx, uint64_t offset, void *out, size_t size);
	uint64_t size;
	void *read_ctx;
	/** Called with the headers of a response with status 2xx, then with its body. A
	 *  status other than LC_OK ends the request with that status. NULL: the body is
	 *  text. */
	lc_status (*head)(void *ctx, const struct lc__http_answer *answer);
	lc_status (*write)(void *ctx, const void *data, size_t size);
	void *write_ctx;
	/** Called about once a second, whatever arrives; likewise. NULL: not called. */
	lc_status (*waits)(void *ctx);
	void *waits_ctx;
	size_t text_limit; /* most bytes of a text; more is an error */
	uint32_t limit_ms; /* for the whole request; 0: no limit, as long as it does not
	                    * stall */
	bool direct;       /* without a proxy */
	bool expect;       /* send the body when the server says "100 Continue" */
};

/** LC_NO_MEMORY; LC_IO if libcurl cannot be loaded. */
LC_CHECKED lc_status lc__http_open(const struct lc__http_options *options,
    struct lc__http **out);

/**
 * Send a request and receive the response.
 * @param answer  is emptied first; free it with lc__http_answer_free(), also on failure
 * @return LC_OK for any complete response, whatever its status; LC_IO with answer->again;
 * LC_IO if another try would not help; LC_NO_MEMORY; LC_CANCELLED; the status of a
 * callback.
 */
LC_CHECKED lc_status lc__http_send(struct lc__http *http,
    const struct lc__http_request *request, struct lc__http_answer *answer);

/** The value of a header, by its name in lower case; NULL if it is missing. */
const char *lc__http_header(const struct lc__http_answer *answer, const char *name);
/** A header as a decimal number; false if it is anything else. */
bool lc__http_number(const struct lc__http_answer *answer, const char *name,
    uint64_t *out);
/** A header as a date, in seconds since 1970; false if it is anything else. */
bool lc__http_date(const struct lc__http_answer *answer, const char *name, uint64_t *out);
/** Add a line from a server, if it is a valid header. False if the limit is exceeded. */
bool lc__http_add_line(struct lc__http_answer *answer, const char *line, size_t size);
void lc__http_answer_free(struct lc__http_answer *answer);

/** Close it; no request may be in progress. NULL is allowed. */
void lc__http_close(struct lc__http *http);

#endif
