/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/s3_call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"

#define TEXT_LIMIT ((size_t)64 << 10) /* of an error */
#define RETRY_MS 100u                 /* the first wait, at most */
#define RETRY_MOST_MS 10000u          /* the longest one */
#define WAIT_MS 200u                  /* of one wait, before the check for a stop */
#define SKEW_S 300                    /* between two clocks, that servers accept */

/* ---- one request -------------------------------------------------------------------------- */

static uint64_t
now_s(const struct lc__s3 *s3)
{
	struct timespec now;

	/* Not lc__clock_wall_ms(), which SOURCE_DATE_EPOCH fixes. */
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)((int64_t)now.tv_sec + s3->skew_s);
}

lc_status
lc__s3_name_it(const struct lc__s3 *s3, const struct lc__s3_call *call)
{
	return lc__error_prefix("%s%s%s: %s", s3->url, call->name != NULL ? "/" : "",
	    call->name != NULL ? call->name : "", call->method);
}

/* The path of a request, not encoded. */
static lc_status
path_of(const struct lc__s3 *s3, const struct lc__s3_call *call, struct lc__buf *out)
{
	lc__buf_printf(out, "%s", s3->base);
	if (call->name != NULL)
		lc__buf_printf(out, "%s%s", s3->prefix, call->name);
	else if (out->size > 1)
		out->size--; /* "/BUCKET", as the servers have it */
	lc__buf_append(out, "", 1);
	return out->failed ? lc__no_memory(s3->url) : LC_OK;
}

void
lc__s3_add_header(struct lc__s3_pair *headers, size_t *n, const char *name,
    const char *value)
{
	headers[(*n)++] = (struct lc__s3_pair){ name, value };
}

static lc_status
sign_and_send(struct lc__s3 *s3, struct lc__s3_call *call, const struct lc__s3_keys *keys,
    const char *path, struct lc__http_answer *answer)
{
	const struct lc__body *body = call->body;
	const bool is_long = body != NULL && body->size > LC__S3_LONG;
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
	lc__s3_add_header(headers, &n, "host", s3->host);
	lc__s3_add_header(headers, &n, "x-amz-date", date);
	lc__s3_add_header(headers, &n, "x-amz-content-sha256", signing.sha256);
	if (keys->token[0] != '\0')
		lc__s3_add_header(headers, &n, "x-amz-security-token", keys->token);
	for (size_t i = 0; i < call->n_headers; i++)
		headers[n++] = call->headers[i];
	signing.n_headers = n;
	status = lc__s3_sign(&signing, keys, &authorization);
	lc__buf_append(&authorization, "", 1);
	lc__s3_add_header(headers, &n, "Authorization", (char *)authorization.data);
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
			.waits = call->waits,
			.waits_ctx = call->waits_ctx,
			.text_limit = call->text_limit > 0 ? call->text_limit
							   : TEXT_LIMIT,
			.limit_ms = call->limit_ms,
			/* A server that refuses a body may close the connection before
			 * its answer is read. Asking takes a round trip. */
			.expect = is_long && (call->sent > 1 || !s3->accepts),
		    },
		    answer);
	if (is_long)
		s3->accepts = status == LC_OK && answer->status / 100 == 2;
	lc__buf_free(&url);
	lc__buf_free(&authorization);
	return status;
}

lc_status
lc__s3_send_once(struct lc__s3 *s3, struct lc__s3_call *call,
    struct lc__http_answer *answer)
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
		if (answer->status != 0)
			s3->answered = true;
		traffic->received += answer->received;
		traffic->sent += answer->sent;
	}
	lc__buf_free(&path);
	explicit_bzero(keys, sizeof(*keys));
	free(keys);
	return status;
}

/* ---- tries -------------------------------------------------------------------------------- */

bool
lc__s3_tries_on(const struct lc__s3 *s3, struct lc__s3_call *call,
    const struct lc__http_answer *answer, bool wrong)
{
	/* Not answered to the end, or by "503 Slow Down" and its like. */
	const bool gone = !wrong &&
	    (answer->status < 400 || answer->status == 429 || answer->status >= 500);
	const uint64_t now = lc__clock_ns();

	if (call->failing_ns == 0)
		call->failing_ns = now;
	/* If a server has never answered, the address may be wrong. */
	return call->tried < s3->tries ||
	    (gone && s3->answered && now - call->failing_ns < s3->retry_ns);
}

lc_status
lc__s3_wait(struct lc__s3 *s3, const struct lc__s3_call *call)
{
	const uint64_t failed = lc__clock_ns() - call->failing_ns;
	uint64_t most = RETRY_MS, random = 0;

	for (unsigned i = 1; i < call->tried && most < RETRY_MOST_MS; i++)
		most *= 2;
	if (most > RETRY_MOST_MS)
		most = RETRY_MOST_MS;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint64_t)time(NULL);
	random %= most;
	/* The last try is at the end of the time. */
	if (call->tried >= s3->tries && failed < s3->retry_ns &&
	    random > (s3->retry_ns - failed) / 1000000)
		random = (s3->retry_ns - failed) / 1000000 + 1;
	for (uint64_t ms; random > 0; random -= ms) {
		struct timespec left = { 0 };

		ms = random < WAIT_MS ? random : WAIT_MS;
		left.tv_nsec = (long)ms * 1000000;
		if ((s3->cancelled != NULL && s3->cancelled(s3->cancelled_ctx) != 0) ||
		    lc__thread_stopped())
			return lc__error(LC_CANCELLED, 0, "%s: was cancelled", s3->url);
		if (call->waits != NULL)
			return_if_error(call->waits(call->waits_ctx));
		while (nanosleep(&left, &left) == -1 && errno == EINTR)
			;
		s3->objects.traffic.waited_ns += ms * 1000000;
	}
	return LC_OK;
}

bool
lc__s3_may_pass(long status, const char *code)
{
	return status == 429 || status == 409 || status == 408 ||
	    (status >= 500 && status != 501 && status != 505 && status != 507) ||
	    strcmp(code, "SlowDown") == 0 || strcmp(code, "RequestTimeout") == 0 ||
	    strcmp(code, "BadDigest") == 0 ||
	    strcmp(code, "XAmzContentSHA256Mismatch") == 0 ||
	    strcmp(code, "IncompleteBody") == 0;
}

bool
lc__s3_take_clock(struct lc__s3 *s3, struct lc__s3_call *call,
    const struct lc__http_answer *answer)
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

bool
lc__s3_take_keys(struct lc__s3 *s3, struct lc__s3_call *call,
    const struct lc__http_answer *answer, const char *code)
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

lc_status
lc__s3_refused(const struct lc__s3 *s3, const struct lc__s3_call *call,
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
	return lc__s3_name_it(s3, call);
}

lc_status
lc__s3_failed(const struct lc__s3 *s3, const struct lc__s3_call *call)
{
	const lc_error *error = lc_last_error();
	char text[600];

	lc__s3_printable(error->text, text, sizeof(text));
	if (call->tried > 1)
		(void)lc__error(error->status, 0, "%s; it was tried %u times", text,
		    call->tried);
	else
		(void)lc__error(error->status, 0, "%s", text);
	return lc__s3_name_it(s3, call);
}

lc_status
lc__s3_perform(struct lc__s3 *s3, struct lc__s3_call *call,
    struct lc__http_answer *answer)
{
	struct lc__s3_error error;
	lc_status status;

	for (call->tried = 1;; call->tried++) {
		status = lc__s3_send_once(s3, call, answer);
		if (status != LC_OK) {
			if (answer->again && lc__s3_tries_on(s3, call, answer, false)) {
				return_if_error(lc__s3_wait(s3, call));
				continue;
			}
			return answer->stopped ? status : lc__s3_failed(s3, call);
		}
		if (answer->status >= 200 && answer->status < 300)
			return LC_OK;
		return_if_error(
		    lc__s3_error_parse(answer->text.data, answer->text.size, &error));
		if (lc__s3_take_clock(s3, call, answer) ||
		    lc__s3_take_keys(s3, call, answer, error.code))
			continue;
		if (!lc__s3_may_pass(answer->status, error.code) ||
		    !lc__s3_tries_on(s3, call, answer, false))
			return lc__s3_refused(s3, call, answer, &error);
		return_if_error(lc__s3_wait(s3, call));
	}
}

/* ---- names and heads ---------------------------------------------------------------------- */

static bool
is_hex(const char *text, size_t n)
{
	return text != NULL && strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

static void
copy_if(bool good, const char *from, char *to, size_t room)
{
	snprintf(to, room, "%s", good ? from : "");
}

void
lc__s3_read_head(const struct lc__http_answer *answer, struct lc__s3_head *out)
{
	const char *etag = lc__http_header(answer, "etag");
	const char *sha256 = lc__http_header(answer, LC__S3_META_SHA256);
	const char *nonce = lc__http_header(answer, LC__S3_META_PUT);
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
	copy_if(is_hex(nonce, LC__S3_NONCE - 1), nonce, out->nonce, sizeof(out->nonce));
}

lc_status
lc__s3_find(struct lc__s3 *s3, const char *name, struct lc__s3_head *out)
{
	struct lc__s3_call call = { .method = "HEAD",
		.name = name,
		.limit_ms = LC__S3_SMALL_MS };
	struct lc__http_answer answer = { .status = 0 };
	lc_status status = lc__s3_perform(s3, &call, &answer);

	if (status == LC_OK) {
		lc__s3_read_head(&answer, out);
		if (!lc__http_number(&answer, "content-length", &out->about.size)) {
			(void)lc__error(LC_IO, 0, "the answer has no size");
			status = lc__s3_name_it(s3, &call);
		}
	}
	lc__http_answer_free(&answer);
	return status;
}
