/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/utf8.h"
#include "s3/credentials.h"
#include "s3/http.h"
#include "s3/listing.h"
#include "s3/profile.h"
#include "s3/sign.h"

#define SMALL_MS 60000u               /* for a request without a long body */
#define COPY_MS 600000u               /* for the server to copy an object */
#define TEXT_LIMIT ((size_t)64 << 10) /* of an error */
#define LIST_LIMIT ((size_t)16 << 20) /* of a page of a listing */
#define ASK_FIRST ((uint64_t)1 << 20) /* a longer body is not sent only to be refused */
#define PROGRESS ((uint64_t)1 << 20)  /* after so many bytes tries are counted anew */
#define PIECE ((size_t)1 << 20)       /* that is hashed at once */
#define RETRY_MS 100u                 /* the first wait, at most */
#define RETRY_MOST_MS 10000u          /* the longest one */
#define WAIT_MS 200u                  /* at once, before it is asked whether to go on */
#define SKEW_S 300                    /* between two clocks, that servers accept */
#define EMPTY_PAGES 100               /* of a listing, one after another */
#define KEY_MOST 1024                 /* bytes */
#define NONCE 33                      /* hex digits of a put, and a terminator */

/* What a put says of itself. */
#define META_SHA256 "x-amz-meta-sha256"
#define META_PUT "x-amz-meta-put"

struct s3 {
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
	char *prefix; /* of keys: "", or with a slash at its end */
	unsigned tries;
	bool alone;                  /* no conditions: one process at a time puts */
	int (*cancelled)(void *ctx); /* or NULL */
	void *cancelled_ctx;
	_Atomic int64_t skew_s; /* the server's clock less ours */
};

/* ---- one request -------------------------------------------------------------------------- */

/* What a request needs beside its signature. */
struct call {
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
	size_t text_limit;
	uint32_t limit_ms;
	/* What has happened so far, in the tries of the call. */
	unsigned tried;      /* since there was progress */
	unsigned sent;       /* in all */
	bool renewed, timed; /* other keys, the server's clock were tried */
	uint64_t number;     /* of the keys */
};

static uint64_t
now_s(const struct s3 *s3)
{
	struct timespec now;

	/* Not lc__clock_wall_ms(), which SOURCE_DATE_EPOCH fixes. */
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)((int64_t)now.tv_sec + s3->skew_s);
}

/* Have the error name the object and the request. */
static lc_status
name_it(const struct s3 *s3, const struct call *call)
{
	return lc__error_prefix("%s%s%s: %s", s3->url, call->name != NULL ? "/" : "",
	    call->name != NULL ? call->name : "", call->method);
}

/* The path of a request, not encoded. */
static lc_status
path_of(const struct s3 *s3, const struct call *call, struct lc__buf *out)
{
	lc__buf_printf(out, "%s", s3->base);
	if (call->name != NULL)
		lc__buf_printf(out, "%s%s", s3->prefix, call->name);
	else if (out->size > 1)
		out->size--; /* "/BUCKET", as the servers have it */
	lc__buf_append(out, "", 1);
	return out->failed ? lc__no_memory(s3->url) : LC_OK;
}

static void
add_header(struct lc__s3_pair *headers, size_t *n, const char *name, const char *value)
{
	headers[(*n)++] = (struct lc__s3_pair){ name, value };
}

static lc_status
sign_and_send(struct s3 *s3, struct call *call, const struct lc__s3_keys *keys,
    const char *path, struct lc__http_answer *answer)
{
	const struct lc__body *body = call->body;
	struct lc__s3_pair headers[16];
	struct lc__buf url = { 0 }, authorization = { 0 };
	struct lc__s3_signing signing = {
		.method = call->method,
		.path = path,
		.query = call->query,
		.n_query = call->n_query,
		.headers = headers,
		.sha256 = call->sha256 != NULL ? call->sha256 : LC__S3_EMPTY,
		.region = s3->region,
		.service = "s3",
	};
	char date[LC__S3_DATE];
	size_t n = 0;
	lc_status status;

	lc__s3_date(now_s(s3), date);
	signing.date = date;
	add_header(headers, &n, "host", s3->host);
	add_header(headers, &n, "x-amz-date", date);
	add_header(headers, &n, "x-amz-content-sha256", signing.sha256);
	if (keys->token[0] != '\0')
		add_header(headers, &n, "x-amz-security-token", keys->token);
	for (size_t i = 0; i < call->n_headers; i++)
		headers[n++] = call->headers[i];
	signing.n_headers = n;
	status = lc__s3_sign(&signing, keys, &authorization);
	lc__buf_append(&authorization, "", 1);
	add_header(headers, &n, "Authorization", (char *)authorization.data);
	lc__buf_printf(&url, "%s", s3->endpoint);
	lc__s3_encode(&url, path, true);
	if (call->n_query > 0)
		lc__buf_append(&url, "?", 1);
	if (status == LC_OK)
		status = lc__s3_query(&url, call->query, call->n_query);
	lc__buf_append(&url, "", 1);
	if (status == LC_OK && (url.failed || authorization.failed))
		status = lc__no_memory(s3->url);
	if (status == LC_OK)
		status = lc__http_send(s3->http,
		    &(struct lc__http_request){
			.method = call->method,
			.url = (char *)url.data,
			.headers = headers,
			.n_headers = n,
			.read = body != NULL ? body->read : NULL,
			.size = body != NULL ? body->size : 0,
			.read_ctx = body != NULL ? body->ctx : NULL,
			.head = call->head,
			.write = call->write,
			.write_ctx = call->ctx,
			.text_limit = call->text_limit > 0 ? call->text_limit
							   : TEXT_LIMIT,
			.limit_ms = call->limit_ms,
		    },
		    answer);
	lc__buf_free(&url);
	lc__buf_free(&authorization);
	return status;
}

static lc_status
send_once(struct s3 *s3, struct call *call, struct lc__http_answer *answer)
{
	struct lc__traffic *traffic = &s3->objects.traffic;
	struct lc__s3_keys *keys = malloc(sizeof(*keys));
	struct lc__buf path = { 0 };
	lc_status status;

	answer->again = answer->stopped = false;
	answer->status = 0;
	if (keys == NULL)
		return lc__no_memory(s3->url);
	status = lc__s3_credentials_get(s3->credentials, keys, &call->number);
	if (status == LC_OK)
		status = path_of(s3, call, &path);
	if (status == LC_OK) {
		traffic->requests++;
		traffic->retries += call->sent > 0;
		call->sent++;
		status = sign_and_send(s3, call, keys, (char *)path.data, answer);
		traffic->received += answer->received;
		traffic->sent += answer->sent;
	}
	lc__buf_free(&path);
	explicit_bzero(keys, sizeof(*keys));
	free(keys);
	return status;
}

/* ---- tries -------------------------------------------------------------------------------- */

/* Wait for a random time, up to twice as long as before. */
static lc_status
wait_for_next(const struct s3 *s3, unsigned tried)
{
	uint64_t most = RETRY_MS, random = 0;

	while (tried-- > 1 && most < RETRY_MOST_MS)
		most *= 2;
	if (most > RETRY_MOST_MS)
		most = RETRY_MOST_MS;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint64_t)time(NULL);
	random %= most;
	for (uint64_t ms; random > 0; random -= ms) {
		struct timespec left = { 0 };

		ms = random < WAIT_MS ? random : WAIT_MS;
		left.tv_nsec = (long)ms * 1000000;
		if (s3->cancelled != NULL && s3->cancelled(s3->cancelled_ctx) != 0)
			return lc__error(LC_CANCELLED, 0, "%s: was cancelled", s3->url);
		while (nanosleep(&left, &left) == -1 && errno == EINTR)
			;
	}
	return LC_OK;
}

/* Does the answer say that this request may succeed a little later? */
static bool
may_pass(long status, const char *code)
{
	return status == 429 || status == 409 || status == 408 ||
	    (status >= 500 && status != 501 && status != 505 && status != 507) ||
	    strcmp(code, "SlowDown") == 0 || strcmp(code, "RequestTimeout") == 0 ||
	    strcmp(code, "BadDigest") == 0 ||
	    strcmp(code, "XAmzContentSHA256Mismatch") == 0 ||
	    strcmp(code, "IncompleteBody") == 0;
}

/* The server's clock, once, where it refuses ours. */
static bool
take_clock(struct s3 *s3, struct call *call, const struct lc__http_answer *answer)
{
	const int64_t skew_s = s3->skew_s;
	const uint64_t ours = now_s(s3);
	uint64_t theirs;

	if (call->timed || answer->status != 403 ||
	    !lc__http_date(answer, "date", &theirs) ||
	    (theirs < ours + SKEW_S && ours < theirs + SKEW_S))
		return false;
	call->timed = true;
	s3->skew_s = skew_s + (int64_t)theirs - (int64_t)ours;
	return true;
}

/* Other keys, once, where it refuses these. The answer to HEAD has no text. */
static bool
take_keys(struct s3 *s3, struct call *call, const struct lc__http_answer *answer,
    const char *code)
{
	const bool certain = strcmp(code, "ExpiredToken") == 0 ||
	    strcmp(code, "InvalidToken") == 0 ||
	    strcmp(code, "TokenRefreshRequired") == 0;

	if (call->renewed ||
	    (!certain &&
		(*code != '\0' || (answer->status != 400 && answer->status != 403))))
		return false;
	call->renewed = true;
	return lc__s3_credentials_refused(s3->credentials, call->number, certain);
}

static lc_status
status_of(long status, const char *code)
{
	switch (status) {
	case 404: return LC_NO_FILE;
	case 401:
	case 403: return LC_PERMISSION;
	case 412: return LC_EXISTS;
	case 501: return LC_UNSUPPORTED;
	case 507: return LC_NO_SPACE;
	default: break;
	}
	return strstr(code, "Quota") != NULL || strcmp(code, "EntityTooLarge") == 0
	    ? LC_NO_SPACE
	    : LC_IO;
}

/* The failure that an answer says. */
static lc_status
refused(const struct s3 *s3, const struct call *call,
    const struct lc__http_answer *answer, const struct lc__s3_error *error)
{
	const char *region = lc__http_header(answer, "x-amz-bucket-region");
	char where[40] = "";

	if (region != NULL && strcmp(region, s3->region) != 0 &&
	    (answer->status / 100 == 3 || answer->status == 400))
		lc__s3_printable(region, where, sizeof(where));
	(void)lc__error(status_of(answer->status, error->code), 0,
	    "HTTP status %ld%s%s%s%s%s%s%s", answer->status,
	    error->code[0] != '\0' ? " " : "", error->code,
	    error->message[0] != '\0' ? ": " : "", error->message,
	    where[0] != '\0' ? "; the bucket is in region " : "", where,
	    call->tried > 1 ? "; it was tried several times" : "");
	return name_it(s3, call);
}

/* Text of libcurl or of a server in the error, so that it is one printable line. */
static lc_status
failed(const struct s3 *s3, const struct call *call)
{
	const lc_error *error = lc_last_error();
	char text[600];

	lc__s3_printable(error->text, text, sizeof(text));
	if (call->tried > 1)
		(void)lc__error(error->status, 0, "%s; it was tried %u times", text,
		    call->tried);
	else
		(void)lc__error(error->status, 0, "%s", text);
	return name_it(s3, call);
}

/*
 * Send a request until it is answered in a way that counts.
 * @return LC_OK for a status of 2xx; what status_of() makes of others, with the answer; the
 * failure of a callback as it is.
 */
static lc_status
perform(struct s3 *s3, struct call *call, struct lc__http_answer *answer)
{
	struct lc__s3_error error;
	lc_status status;

	for (call->tried = 1;; call->tried++) {
		status = send_once(s3, call, answer);
		if (status != LC_OK) {
			if (answer->again && call->tried < s3->tries) {
				return_if_error(wait_for_next(s3, call->tried));
				continue;
			}
			return answer->stopped ? status : failed(s3, call);
		}
		if (answer->status >= 200 && answer->status < 300)
			return LC_OK;
		return_if_error(
		    lc__s3_error_parse(answer->text.data, answer->text.size, &error));
		if (take_clock(s3, call, answer) ||
		    take_keys(s3, call, answer, error.code))
			continue;
		if (!may_pass(answer->status, error.code) || call->tried >= s3->tries)
			return refused(s3, call, answer, &error);
		return_if_error(wait_for_next(s3, call->tried));
	}
}

/* ---- names and heads ---------------------------------------------------------------------- */

static bool
is_hex(const char *text, size_t n)
{
	return text != NULL && strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

/* What the server says of an object. */
struct head {
	struct lc__object about;
	char etag[200];    /* "" if it has none, or a strange one */
	char sha256[65];   /* META_SHA256, or "" */
	char nonce[NONCE]; /* META_PUT, or "" */
};

static void
copy_if(bool good, const char *from, char *to, size_t room)
{
	snprintf(to, room, "%s", good ? from : "");
}

static void
read_head(const struct lc__http_answer *answer, struct head *out)
{
	const char *etag = lc__http_header(answer, "etag");
	const char *sha256 = lc__http_header(answer, META_SHA256);
	const char *nonce = lc__http_header(answer, META_PUT);
	size_t n = 0;
	uint64_t time_s;

	out->about = (struct lc__object){ NULL, 0, 0 };
	if (lc__http_date(answer, "last-modified", &time_s) && time_s < UINT64_MAX / 1000)
		out->about.time_ms = time_s * 1000;
	/* They may be sent back in headers. */
	while (etag != NULL && etag[n] > 0x20 && etag[n] < 0x7f)
		n++;
	copy_if(etag != NULL && etag[n] == '\0' && n < sizeof(out->etag), etag, out->etag,
	    sizeof(out->etag));
	copy_if(is_hex(sha256, 64), sha256, out->sha256, sizeof(out->sha256));
	copy_if(is_hex(nonce, NONCE - 1), nonce, out->nonce, sizeof(out->nonce));
}

static lc_status
find(struct s3 *s3, const char *name, struct head *out)
{
	struct call call = { .method = "HEAD", .name = name, .limit_ms = SMALL_MS };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status = perform(s3, &call, &answer);

	if (status == LC_OK) {
		read_head(&answer, out);
		if (!lc__http_number(&answer, "content-length", &out->about.size)) {
			(void)lc__error(LC_IO, 0, "the answer has no size");
			status = name_it(s3, &call);
		}
	}
	lc__http_answer_free(&answer);
	return status;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Bytes of an object on their way to a sink. */
struct reading {
	struct s3 *s3;
	struct call *call;
	const struct lc__object_sink *sink;
	struct lc__object *about; /* or NULL */
	bool told;                /* of what it is about */
	uint64_t at;              /* the next byte */
	uint64_t end;      /* of what was asked for; UINT64_MAX: that of the object */
	uint64_t stop;     /* of what this answer has */
	uint64_t good;     /* the byte at which tries were counted anew */
	bool ranged;       /* this try asks for a range */
	struct head first; /* of the first answer: size, time and tag */
	bool wrong;        /* the answer is not what was asked for: another try */
	bool at_once;      /* that need not wait */
};

/* "bytes 0-99/1000" */
static bool
parse_range(const char *text, uint64_t *first, uint64_t *last, uint64_t *size)
{
	unsigned long long a, b, c;
	int n = -1;

	/* Twenty digits may be too much for the number, which the caller's comparisons
	 * find: sscanf() then gives the greatest one. */
	if (text == NULL ||
	    sscanf(text, "bytes %20llu-%20llu/%20llu%n", &a, &b, &c, &n) != 3 || n < 0 ||
	    text[n] != '\0' || strchr(text, '+') != NULL ||
	    strchr(text + 6, ' ') != NULL || a > b || b >= c)
		return false;
	*first = a;
	*last = b;
	*size = c;
	return true;
}

static lc_status
wrong_answer(struct reading *r, const char *why)
{
	r->wrong = true;
	return lc__error(LC_IO, 0, "bytes from %llu: %s", (unsigned long long)r->at, why);
}

/* The headers: are these the bytes that were asked for, of the object that was begun? */
static lc_status
begin_answer(void *ctx, const struct lc__http_answer *answer)
{
	struct reading *r = ctx;
	struct head head;
	uint64_t first = 0, last, size, length, end;

	read_head(answer, &head);
	if (!lc__http_number(answer, "content-length", &length))
		return wrong_answer(r, "the answer does not say how long it is");
	if (r->ranged) {
		if (answer->status != 206 ||
		    !parse_range(lc__http_header(answer, "content-range"), &first, &last,
			&size))
			return wrong_answer(r, "the answer is no range");
		end = r->end < size ? r->end : size;
		if (first != r->at || last + 1 != end || length != end - first)
			return wrong_answer(r, "the answer is another range");
	} else {
		if (answer->status != 200)
			return wrong_answer(r, "the answer is not the whole object");
		size = end = length;
	}
	head.about.size = size;
	if (!r->told)
		r->first = head;
	else if (strcmp(head.etag, r->first.etag) != 0 || size != r->first.about.size ||
	    (head.etag[0] == '\0' && head.about.time_ms != r->first.about.time_ms))
		return lc__error(LC_CHANGED, 0,
		    "%s/%s: became another one while it was read", r->s3->url,
		    r->call->name);
	r->stop = end;
	r->told = true;
	if (r->about != NULL)
		*r->about = head.about;
	return LC_OK;
}

static lc_status
take_bytes(void *ctx, const void *data, size_t size)
{
	struct reading *r = ctx;

	if (size > r->stop - r->at)
		return wrong_answer(r, "the answer is longer than it says");
	return_if_error(r->sink->write(r->sink->ctx, data, size));
	r->at += size;
	return LC_OK;
}

/* One try, from where the last one ended. */
static lc_status
read_on(struct reading *r, struct lc__http_answer *answer)
{
	struct call *call = r->call;
	char range[60];

	call->n_headers = 0;
	r->ranged = r->at > 0 || r->end != UINT64_MAX;
	if (r->end != UINT64_MAX)
		snprintf(range, sizeof(range), "bytes=%llu-%llu",
		    (unsigned long long)r->at, (unsigned long long)r->end - 1);
	else
		snprintf(range, sizeof(range), "bytes=%llu-", (unsigned long long)r->at);
	if (r->ranged)
		add_header(call->headers, &call->n_headers, "range", range);
	if (r->told && r->first.etag[0] != '\0')
		add_header(call->headers, &call->n_headers, "if-match", r->first.etag);
	r->wrong = false;
	r->stop = r->at;
	return send_once(r->s3, call, answer);
}

/* An answer of another status than 2xx. */
static lc_status
read_refused(struct reading *r, struct lc__http_answer *answer, bool *again)
{
	struct call *call = r->call;
	struct lc__s3_error error;
	struct head head;

	return_if_error(lc__s3_error_parse(answer->text.data, answer->text.size, &error));
	*again = r->at_once = take_clock(r->s3, call, answer) ||
	    take_keys(r->s3, call, answer, error.code);
	if (answer->status == 412 && r->told)
		return lc__error(LC_CHANGED, 0,
		    "%s/%s: became another one while it was read", r->s3->url,
		    call->name);
	if (answer->status == 416 && !r->told) {
		/* There is no byte from there on, if it says so. */
		return_if_error(find(r->s3, call->name, &head));
		if (r->at < head.about.size) {
			*again = true;
			(void)wrong_answer(r, "the answer is that there are none");
			return failed(r->s3, call);
		}
		if (r->about != NULL)
			*r->about = head.about;
		return LC_OK;
	}
	*again |= may_pass(answer->status, error.code);
	return refused(r->s3, call, answer, &error);
}

/* Has the sink got all that was asked for? */
static bool
is_done(const struct reading *r)
{
	const uint64_t size = r->first.about.size;

	return r->told && r->at == (r->end < size ? r->end : size);
}

/* One try. With a failure: might another one succeed? */
static lc_status
read_once(struct reading *r, struct lc__http_answer *answer, bool *again)
{
	lc_status status = read_on(r, answer);

	r->at_once = false;
	*again = r->wrong || answer->again;
	if (status == LC_OK && answer->status / 100 != 2)
		return read_refused(r, answer, again);
	/* All of the bytes may be there, whatever happened to the connection then. */
	if (is_done(r) && (status == LC_OK || answer->again))
		return LC_OK;
	if (status == LC_OK) {
		*again = true;
		status = wrong_answer(r, "the answer is too short");
	}
	return *again || !answer->stopped ? failed(r->s3, r->call) : status;
}

/* Hand bytes from r->at to r->end to the sink. */
static lc_status
read_bytes(struct reading *r)
{
	struct lc__http_answer answer = { .status = 0 };
	struct call *call = r->call;
	lc_status status;
	bool again;

	for (call->tried = 1;; call->tried++) {
		status = read_once(r, &answer, &again);
		if (status == LC_OK || !again)
			break;
		if (r->at_once)
			continue;
		if (r->at >= r->good + PROGRESS) {
			r->good = r->at;
			call->tried = 1;
		}
		if (call->tried >= r->s3->tries)
			break;
		status = wait_for_next(r->s3, call->tried);
		if (status != LC_OK)
			break;
	}
	lc__http_answer_free(&answer);
	return status;
}

static lc_status
get(struct lc__objects *objects, const char *name, uint64_t offset,
    const struct lc__object_sink *sink, struct lc__object *about)
{
	struct call call = { .method = "GET",
		.name = name,
		.head = begin_answer,
		.write = take_bytes };
	struct reading r = { .s3 = (struct s3 *)objects,
		.call = &call,
		.sink = sink,
		.about = about,
		.at = offset,
		.good = offset,
		.end = UINT64_MAX };

	call.ctx = &r;
	return_if_error(lc__object_check_name(objects, name));
	return read_bytes(&r);
}

/* Memory that is filled. */
struct filling {
	unsigned char *out;
	size_t got, size;
};

static lc_status
fill(void *ctx, const void *data, size_t size)
{
	struct filling *f = ctx;

	if (size > f->size - f->got)
		return lc__error(LC_IO, 0, "the answer is too long");
	memcpy(f->out + f->got, data, size);
	f->got += size;
	return LC_OK;
}

static lc_status
get_range(struct lc__objects *objects, const char *name, uint64_t offset, void *out,
    size_t size, size_t *got, struct lc__object *about)
{
	struct s3 *s3 = (struct s3 *)objects;
	struct filling filling = { out, 0, size };
	const struct lc__object_sink sink = { fill, &filling };
	struct call call = { .method = "GET",
		.name = name,
		.head = begin_answer,
		.write = take_bytes };
	struct reading r = { .s3 = s3,
		.call = &call,
		.sink = &sink,
		.about = about,
		.at = offset,
		.good = offset };
	struct head head;

	return_if_error(lc__object_check_name(objects, name));
	if (size == 0) {
		return_if_error(find(s3, name, &head));
		if (about != NULL)
			*about = head.about;
		*got = 0;
		return LC_OK;
	}
	if (offset > INT64_MAX)
		return lc__error(LC_INVALID, 0, "%s/%s: no byte %llu", objects->url, name,
		    (unsigned long long)offset);
	r.end = offset + size;
	call.ctx = &r;
	return_if_error(read_bytes(&r));
	*got = filling.got;
	return LC_OK;
}

/* ---- putting ------------------------------------------------------------------------------ */

/* The SHA-256 of a body that does not say its own. */
static lc_status
hash_body(const struct lc__body *body, char sha256[65])
{
	unsigned char *room = malloc(PIECE);
	struct lc__checksum *sum = NULL;
	uint64_t at = 0;
	lc_status status = room != NULL ? lc__checksum_new("sha256", &sum)
					: lc__no_memory("put");

	/* An empty one is read too, as its reader may have something to say. */
	do {
		const uint64_t left = body->size - at;
		const size_t n = left < PIECE ? (size_t)left : PIECE;

		if (status == LC_OK)
			status = body->read(body->ctx, at, room, n);
		if (status == LC_OK)
			status = lc__checksum_update(sum, room, n);
		at += n;
	} while (status == LC_OK && at < body->size);
	if (status == LC_OK)
		status = lc__checksum_hex(sum, sha256);
	lc__checksum_free(sum);
	free(room);
	return status;
}

static lc_status
make_nonce(char out[NONCE])
{
	unsigned char bytes[(NONCE - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return lc__error(LC_IO, 0, "the system has no random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return LC_OK;
}

/* One PUT, on the condition that there is no such object or on none. */
static lc_status
put_body(struct s3 *s3, const char *name, const struct lc__body *body, const char *sha256,
    const char *nonce, bool is_new)
{
	struct call call = { .method = "PUT",
		.name = name,
		.body = body,
		.sha256 = sha256,
		.limit_ms = body->size < ASK_FIRST ? SMALL_MS : 0 };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status;

	add_header(call.headers, &call.n_headers, META_SHA256, sha256);
	add_header(call.headers, &call.n_headers, META_PUT, nonce);
	if (is_new)
		add_header(call.headers, &call.n_headers, "if-none-match", "*");
	status = perform(s3, &call, &answer);
	lc__http_answer_free(&answer);
	return status;
}

static lc_status
read_nothing(void *ctx, uint64_t offset, void *out, size_t size)
{
	(void)ctx, (void)offset, (void)out, (void)size;
	return LC_OK;
}

/* Copy an object onto itself: its time is that of the copy. */
static lc_status
copy_onto_itself(struct s3 *s3, const char *name, const struct head *head)
{
	struct call call = { .method = "PUT",
		.name = name,
		.limit_ms = COPY_MS,
		.body = &(const struct lc__body){ .size = 0, .read = read_nothing } };
	struct lc__http_answer answer = { .status = 0 };
	struct lc__s3_error error;
	struct lc__buf source = { 0 };
	lc_status status;

	lc__s3_encode(&source, "/", true);
	lc__s3_encode(&source, s3->bucket, true);
	lc__s3_encode(&source, "/", true);
	lc__s3_encode(&source, s3->prefix, true);
	lc__s3_encode(&source, name, true);
	lc__buf_append(&source, "", 1);
	if (source.failed) {
		lc__buf_free(&source);
		return lc__no_memory(name);
	}
	add_header(call.headers, &call.n_headers, "x-amz-copy-source",
	    (char *)source.data);
	add_header(call.headers, &call.n_headers, "x-amz-metadata-directive", "REPLACE");
	if (head->etag[0] != '\0')
		add_header(call.headers, &call.n_headers, "x-amz-copy-source-if-match",
		    head->etag);
	if (head->sha256[0] != '\0')
		add_header(call.headers, &call.n_headers, META_SHA256, head->sha256);
	if (head->nonce[0] != '\0')
		add_header(call.headers, &call.n_headers, META_PUT, head->nonce);
	status = perform(s3, &call, &answer);
	/* A copy that fails after it began is answered by 200, and a text that says so. */
	if (status == LC_OK)
		status = lc__s3_error_parse(answer.text.data, answer.text.size, &error);
	if (status == LC_OK && error.code[0] != '\0') {
		(void)lc__error(LC_IO, 0, "%s: %s", error.code, error.message);
		status = name_it(s3, &call);
	}
	lc__http_answer_free(&answer);
	lc__buf_free(&source);
	return status;
}

/* @p head of the object is known. One that is replaced meanwhile is young. */
static lc_status
renew(struct s3 *s3, const char *name, const struct head *head)
{
	const lc_status status = copy_onto_itself(s3, name, head);

	return status == LC_EXISTS ? LC_OK : status;
}

static lc_status
touch(struct lc__objects *objects, const char *name)
{
	struct s3 *s3 = (struct s3 *)objects;
	struct head head;

	return_if_error(lc__object_check_name(objects, name));
	return_if_error(find(s3, name, &head));
	return renew(s3, name, &head);
}

/* It is there, and not by us. */
static lc_status
exists(struct s3 *s3, const char *name, const struct head *head)
{
	return_if_error(renew(s3, name, head));
	return lc__error(LC_EXISTS, 0, "%s/%s: is there already", s3->url, name);
}

static lc_status
check_put(const struct s3 *s3, const char *name, const struct lc__body *body,
    char sha256[65], char nonce[NONCE])
{
	return_if_error(lc__object_check_name(&s3->objects, name));
	if (body->size > LC__S3_OBJECT)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s/%s: has %llu bytes, and one PUT takes %llu (5 GiB) at most; make "
		    "smaller shards",
		    s3->url, name, (unsigned long long)body->size,
		    (unsigned long long)LC__S3_OBJECT);
	return_if_error(make_nonce(nonce));
	if (body->sha256 == NULL || body->size == 0)
		return hash_body(body, sha256);
	snprintf(sha256, 65, "%s", body->sha256);
	return LC_OK;
}

static lc_status
put_new(struct lc__objects *objects, const char *name, const struct lc__body *body)
{
	struct s3 *s3 = (struct s3 *)objects;
	char sha256[65], nonce[NONCE];
	struct head head;
	lc_status status = LC_NO_FILE;

	return_if_error(check_put(s3, name, body, sha256, nonce));
	if (s3->alone || body->size >= ASK_FIRST)
		status = find(s3, name, &head);
	if (status == LC_OK)
		return exists(s3, name, &head);
	if (status != LC_NO_FILE)
		return status;
	/* Whoever removes it while this finds it may do so a few times. */
	for (int i = 0; i < 10; i++) {
		status = put_body(s3, name, body, sha256, nonce, !s3->alone);
		if (status == LC_UNSUPPORTED)
			return lc__error(LC_UNSUPPORTED, 0,
			    "%s: the server cannot put on a condition (If-None-Match): parts "
			    "that two machines push would be lost; %s",
			    s3->url, objects->advice);
		if (status != LC_EXISTS)
			return status;
		status = find(s3, name, &head);
		/* The answer to an earlier try of ours may have been lost. */
		if (status == LC_OK && strcmp(head.nonce, nonce) == 0)
			return LC_OK;
		if (status == LC_OK)
			return exists(s3, name, &head);
		if (status != LC_NO_FILE)
			return status;
	}
	return status;
}

static lc_status
put(struct lc__objects *objects, const char *name, const struct lc__body *body)
{
	struct s3 *s3 = (struct s3 *)objects;
	char sha256[65], nonce[NONCE];

	return_if_error(check_put(s3, name, body, sha256, nonce));
	return put_body(s3, name, body, sha256, nonce, false);
}

static lc_status
remove_object(struct lc__objects *objects, const char *name)
{
	struct call call = { .method = "DELETE", .name = name, .limit_ms = SMALL_MS };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status;

	return_if_error(lc__object_check_name(objects, name));
	status = perform((struct s3 *)objects, &call, &answer);
	lc__http_answer_free(&answer);
	return status == LC_NO_FILE ? LC_OK : status;
}

/* ---- listing ------------------------------------------------------------------------------ */

/* A listing under way. */
struct walk {
	struct s3 *s3;
	char *prefix; /* of keys: that of the store, and of names */
	lc_status (*fn)(void *ctx, const struct lc__object *object);
	void *ctx;
};

static lc_status
hand_out(const struct walk *walk, const struct lc__s3_listing *page)
{
	const size_t begin = strlen(walk->s3->prefix), all = strlen(walk->prefix);

	for (size_t i = 0; i < page->n; i++) {
		const struct lc__s3_listed *listed = &page->all[i];
		struct lc__object object;

		/* Others may have keys there that are no objects of ours. */
		if (strncmp(listed->key, walk->prefix, all) != 0 ||
		    !lc__object_name_ok(listed->key + begin))
			continue;
		object = (struct lc__object){ listed->key + begin, listed->size,
			listed->time_s * 1000 };
		return_if_error(walk->fn(walk->ctx, &object));
	}
	return LC_OK;
}

/* Ask for the page of a token, or for the first one. */
static lc_status
list_page(const struct walk *walk, const char *token, struct lc__s3_listing *out)
{
	const struct lc__s3_pair query[] = {
		{ "list-type", "2" },
		{ "encoding-type", "url" },
		{ "prefix", walk->prefix },
		{ "continuation-token", token },
	};
	struct call call = { .method = "GET",
		.query = query,
		.n_query = token != NULL ? 4 : 3,
		.text_limit = LIST_LIMIT,
		.limit_ms = SMALL_MS };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status = perform(walk->s3, &call, &answer);

	if (status == LC_OK) {
		status = lc__s3_listing_parse(answer.text.data, answer.text.size, out);
		if (status != LC_OK)
			(void)name_it(walk->s3, &call);
	}
	lc__http_answer_free(&answer);
	return status;
}

static lc_status
list(struct lc__objects *objects, const char *prefix,
    lc_status (*fn)(void *ctx, const struct lc__object *object), void *ctx)
{
	struct walk walk = { .s3 = (struct s3 *)objects, .fn = fn, .ctx = ctx };
	char *token = NULL;
	unsigned empty = 0;
	bool more = true;
	lc_status status = LC_OK;

	if (asprintf(&walk.prefix, "%s%s", walk.s3->prefix, prefix) < 0)
		return lc__no_memory(objects->url);
	while (more && status == LC_OK) {
		struct lc__s3_listing page = { .n = 0 };

		status = list_page(&walk, token, &page);
		if (status == LC_OK)
			status = hand_out(&walk, &page);
		empty = page.n == 0 ? empty + 1 : 0;
		more = page.next != NULL;
		if (status == LC_OK && more &&
		    (empty > EMPTY_PAGES ||
			(token != NULL && strcmp(token, page.next) == 0)))
			status = lc__error(LC_IO, 0,
			    "%s: the server's listing has no end", objects->url);
		free(token);
		token = page.next;
		page.next = NULL;
		lc__s3_listing_free(&page);
	}
	free(token);
	free(walk.prefix);
	return status;
}

/* A PUT leaves nothing that is unfinished. */
static lc_status
sweep(struct lc__objects *objects, const char *prefix, uint64_t before_ms, bool dry,
    uint64_t *files, uint64_t *bytes)
{
	(void)objects, (void)prefix, (void)before_ms, (void)dry;
	*files = *bytes = 0;
	return LC_OK;
}

/* ---- the store ---------------------------------------------------------------------------- */

static void
close_s3(struct lc__objects *objects)
{
	struct s3 *s3 = (struct s3 *)objects;

	lc__s3_credentials_free(s3->credentials);
	lc__http_close(s3->http);
	lc__s3_profile_free(&s3->profile);
	free(s3->url);
	free(s3->region);
	free(s3->endpoint);
	free(s3->host);
	free(s3->bucket);
	free(s3->base);
	free(s3->prefix);
	free(s3);
}

/* A component that a path may have. */
static bool
is_component(const char *text, size_t n)
{
	return n > 0 && !(n == 1 && text[0] == '.') &&
	    !(n == 2 && text[0] == '.' && text[1] == '.');
}

/* "s3://BUCKET/PREFIX" in its two parts. */
static lc_status
split_url(struct s3 *s3, const char *url)
{
	const char *bucket = url + strlen("s3://");
	const size_t n = strcspn(bucket, "/");
	const char *at = bucket + n;
	size_t end = strlen(bucket);

	if (n < 3 || n > 63 ||
	    strspn(bucket,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789.-_") < n ||
	    bucket[0] == '.' || strncmp(bucket, "..", 2) == 0)
		return lc__error(LC_INVALID, 0,
		    "%s: names no bucket: s3://BUCKET/PREFIX, where BUCKET has 3 to 63 "
		    "letters, digits, '-', '.' and '_'",
		    url);
	while (end > n && bucket[end - 1] == '/')
		end--;
	at += *at == '/';
	if (bucket + end > at) {
		if (asprintf(&s3->prefix, "%.*s/", (int)(bucket + end - at), at) < 0)
			s3->prefix = NULL;
	} else {
		s3->prefix = strdup("");
	}
	s3->bucket = strndup(bucket, n);
	if (asprintf(&s3->url, "%.*s", (int)(strlen("s3://") + (end < n ? n : end)),
		url) < 0)
		s3->url = NULL;
	if (s3->prefix == NULL || s3->bucket == NULL || s3->url == NULL)
		return lc__no_memory(url);
	if (strlen(s3->prefix) + LC__OBJECT_NAME > KEY_MOST ||
	    !lc__utf8_valid(s3->prefix, strlen(s3->prefix)))
		return lc__error(LC_INVALID, 0,
		    "%s: the prefix is longer than %d bytes, or is not UTF-8", url,
		    KEY_MOST - LC__OBJECT_NAME);
	for (at = s3->prefix; *at != '\0'; at += strcspn(at, "/") + 1)
		if (!is_component(at, strcspn(at, "/")))
			return lc__error(LC_INVALID, 0,
			    "%s: the prefix has an empty component, '.' or '..'", url);
	for (at = s3->prefix; *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return lc__error(LC_INVALID, 0,
			    "%s: the prefix has a control character", url);
	return LC_OK;
}

static const char *
first_of(const char *a, const char *b, const char *c)
{
	return a != NULL && *a != '\0' ? a : b != NULL && *b != '\0' ? b : c;
}

/* "http://HOST:PORT" or "https://...", and nothing more. */
static lc_status
check_endpoint(struct s3 *s3)
{
	char *end = s3->endpoint + strlen(s3->endpoint);
	const char *host = strstr(s3->endpoint, "://");

	while (end > s3->endpoint && end[-1] == '/')
		*--end = '\0';
	if ((strncasecmp(s3->endpoint, "http://", 7) != 0 &&
		strncasecmp(s3->endpoint, "https://", 8) != 0) ||
	    host[3] == '\0' ||
	    strspn(host + 3,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789.-_:[]") != strlen(host + 3))
		return lc__error(LC_INVALID, 0,
		    "endpoint %s: is not http://HOST:PORT or https://HOST",
		    lc__quote_id(s3->endpoint, strlen(s3->endpoint)));
	return LC_OK;
}

/* Where requests go: with an endpoint the bucket is in the path, unless the caller says
 * otherwise; at Amazon it is in the name of the host, if that can be one. */
static lc_status
choose_host(struct s3 *s3, const lc_store_options *options)
{
	const char *given = first_of(options->endpoint, lc__s3_env("AWS_ENDPOINT_URL_S3"),
	    first_of(lc__s3_env("AWS_ENDPOINT_URL"),
		lc__s3_profile_get(&s3->profile, "endpoint_url"), NULL));
	bool in_path = options->path_style == LC_PATH_STYLE_YES;
	const char *scheme;
	int n;

	if (options->path_style == LC_PATH_STYLE_AUTO)
		in_path = given != NULL ||
		    strspn(s3->bucket,
			"abcdefghijklmnopqrstuvwxyz"
			"0123456789-") != strlen(s3->bucket);
	if (given != NULL)
		n = asprintf(&s3->endpoint, "%s", given);
	else
		n = asprintf(&s3->endpoint, "https://s3.%s.amazonaws.com%s", s3->region,
		    strncmp(s3->region, "cn-", 3) == 0 ? ".cn" : "");
	if (n < 0) {
		s3->endpoint = NULL;
		return lc__no_memory(s3->url);
	}
	return_if_error(check_endpoint(s3));
	scheme = strstr(s3->endpoint, "://") + 3;
	if (asprintf(&s3->host, "%s%s%s", in_path ? "" : s3->bucket, in_path ? "" : ".",
		scheme) < 0)
		s3->host = NULL;
	if (asprintf(&s3->base, "/%s%s", in_path ? s3->bucket : "", in_path ? "/" : "") <
	    0)
		s3->base = NULL;
	if (s3->host != NULL && !in_path) {
		char *whole = NULL;

		if (asprintf(&whole, "%.*s%s", (int)(scheme - s3->endpoint), s3->endpoint,
			s3->host) < 0)
			whole = NULL;
		free(s3->endpoint);
		s3->endpoint = whole;
	}
	return s3->host != NULL && s3->base != NULL && s3->endpoint != NULL
	    ? LC_OK
	    : lc__no_memory(s3->url);
}

static lc_status
configure(struct s3 *s3, const char *url, const lc_store_options *options)
{
	const char *ca, *region;
	struct lc__http_options http = { 0 };

	return_if_error(split_url(s3, url));
	return_if_error(lc__s3_profile_read(options->profile, &s3->profile));
	if (options->profile != NULL && !s3->profile.found)
		return lc__error(LC_INVALID, 0, "there is no profile %s",
		    lc__quote_id(options->profile, strlen(options->profile)));
	region = first_of(options->region, lc__s3_env("AWS_REGION"),
	    first_of(lc__s3_env("AWS_DEFAULT_REGION"),
		lc__s3_profile_get(&s3->profile, "region"), "us-east-1"));
	if (strlen(region) > 60 ||
	    strspn(region,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789-_") != strlen(region))
		return lc__error(LC_INVALID, 0, "region %s: is no name of one",
		    lc__quote_id(region, strlen(region)));
	s3->region = strdup(region);
	if (s3->region == NULL)
		return lc__no_memory(url);
	return_if_error(choose_host(s3, options));
	ca = first_of(options->ca_file, lc__s3_env("AWS_CA_BUNDLE"),
	    lc__s3_profile_get(&s3->profile, "ca_bundle"));
	http.ca_file = ca;
	http.connect_ms = options->connect_ms;
	http.stall_s = options->stall_s;
	http.cancelled = s3->cancelled = options->cancelled;
	http.cancelled_ctx = s3->cancelled_ctx = options->cancelled_ctx;
	return_if_error(lc__http_open(&http, &s3->http));
	return lc__s3_credentials_new(s3->http, &s3->profile, options->profile != NULL,
	    s3->region, &s3->credentials);
}

lc_status
lc__s3_open(const char *url, const lc_store_options *options, struct lc__objects **out)
{
	struct s3 *s3 = calloc(1, sizeof(*s3));
	lc_status status;

	if (s3 == NULL)
		return lc__no_memory(url);
	s3->tries = options->tries;
	s3->alone = options->single_publisher != 0;
	status = configure(s3, url, options);
	s3->objects.url = s3->url;
	s3->objects.advice =
	    "choose another store, or say --single-publisher if one process "
	    "at a time pushes and publishes";
	s3->objects.get_range = get_range;
	s3->objects.get = get;
	s3->objects.put_new = put_new;
	s3->objects.touch = touch;
	s3->objects.put = put;
	s3->objects.list = list;
	s3->objects.remove = remove_object;
	s3->objects.sweep = sweep;
	s3->objects.close = close_s3;
	if (status == LC_OK)
		*out = &s3->objects;
	else
		close_s3(&s3->objects);
	return status;
}
