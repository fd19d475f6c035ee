/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "s3/http.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/lazy.h"

#define SLOW ((long)1024)               /* bytes a second, of a transfer that stalls */
#define RECEIVE_BYTES ((long)512 << 10) /* most bytes that libcurl passes at once */
#define SEND_BYTES ((long)1 << 20)      /* most bytes that it requests at once */
#define URL_MOST ((size_t)16 << 10)

/* Loaded when the first of them is needed: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(curl_easy_cleanup) X(curl_easy_getinfo) X(curl_easy_init) \
	X(curl_easy_perform) X(curl_easy_reset) X(curl_easy_setopt) \
	X(curl_easy_strerror) X(curl_getdate) X(curl_global_init) X(curl_slist_append) \
	X(curl_slist_free_all)
/* clang-format on */
LC__LAZY(lib, "libcurl", LIBCURL_FILE, CALLS)

struct lc__http {
	pthread_mutex_t lock; /* guards the members below */
	CURL **idle;          /* handles with their connections; malloc'ed */
	size_t n, room;
	uint32_t connect_ms, stall_s;
	char *ca_file;               /* malloc'ed, or NULL */
	int (*cancelled)(void *ctx); /* or NULL */
	void *cancelled_ctx;
};

/* ---- libcurl ----------------------------------------------------------------------------- */

static pthread_mutex_t begin_lock = PTHREAD_MUTEX_INITIALIZER;
static bool begun;

static lc_status
begin(void)
{
	CURLcode code = CURLE_OK;

	return_if_error(lib_load());
	pthread_mutex_lock(&begin_lock);
	/* libcurl opens files by itself. */
	lc__fds_hold();
	if (!begun)
		code = lib.curl_global_init(CURL_GLOBAL_DEFAULT);
	lc__fds_release();
	begun = code == CURLE_OK;
	pthread_mutex_unlock(&begin_lock);
	if (code != CURLE_OK)
		return lc__error(LC_IO, 0, "libcurl: %s", lib.curl_easy_strerror(code));
	return LC_OK;
}

lc_status
lc__http_open(const struct lc__http_options *options, struct lc__http **out)
{
	struct lc__http *http;

	return_if_error(begin());
	http = calloc(1, sizeof(*http));
	if (http == NULL)
		return lc__no_memory("libcurl");
	if (options->ca_file != NULL) {
		http->ca_file = strdup(options->ca_file);
		if (http->ca_file == NULL) {
			free(http);
			return lc__no_memory("libcurl");
		}
	}
	pthread_mutex_init(&http->lock, NULL);
	http->connect_ms = options->connect_ms;
	http->stall_s = options->stall_s;
	http->cancelled = options->cancelled;
	http->cancelled_ctx = options->cancelled_ctx;
	*out = http;
	return LC_OK;
}

void
lc__http_close(struct lc__http *http)
{
	if (http == NULL)
		return;
	for (size_t i = 0; i < http->n; i++)
		lib.curl_easy_cleanup(http->idle[i]);
	free(http->idle);
	free(http->ca_file);
	pthread_mutex_destroy(&http->lock);
	free(http);
}

static CURL *
take_handle(struct lc__http *http)
{
	CURL *curl = NULL;

	pthread_mutex_lock(&http->lock);
	if (http->n > 0)
		curl = http->idle[--http->n];
	pthread_mutex_unlock(&http->lock);
	if (curl == NULL) {
		lc__fds_hold();
		curl = lib.curl_easy_init();
		lc__fds_release();
	}
	return curl;
}

static void
give_handle(struct lc__http *http, CURL *curl)
{
	const lc_error kept = *lc_last_error();
	bool given;

	lib.curl_easy_reset(curl);
	pthread_mutex_lock(&http->lock);
	given = lc__array_reserve(&http->idle, &http->room, http->n + 1, NULL) == LC_OK;
	if (given)
		http->idle[http->n++] = curl;
	pthread_mutex_unlock(&http->lock);
	if (!given) {
		lib.curl_easy_cleanup(curl);
		(void)lc__error_raise(&kept);
	}
}

/* ---- responses ------------------------------------------------------------------- */

void
lc__http_answer_free(struct lc__http_answer *answer)
{
	lc__buf_free(&answer->headers);
	lc__buf_free(&answer->text);
}

bool
lc__http_add_line(struct lc__http_answer *answer, const char *line, size_t size)
{
	struct lc__buf *headers = &answer->headers;
	const char *colon;
	size_t name;

	while (size > 0 && strchr("\r\n \t", line[size - 1]) != NULL)
		size--;
	colon = size > 0 ? memchr(line, ':', size) : NULL;
	/* Ignore a line that is not a header, or has bytes that are not valid in one. */
	if (colon == NULL || colon == line || memchr(line, '\0', size) != NULL)
		return true;
	if (headers->size + size + 2 > LC__HTTP_HEADERS)
		return false;
	name = (size_t)(colon - line);
	for (size_t i = 0; i < name; i++) {
		const char c = (char)tolower((unsigned char)line[i]);
		lc__buf_append(headers, &c, 1);
	}
	lc__buf_append(headers, ":", 1);
	for (name++; name < size && strchr(" \t", line[name]) != NULL;)
		name++;
	lc__buf_append(headers, line + name, size - name);
	lc__buf_append(headers, "", 1);
	return !headers->failed;
}

const char *
lc__http_header(const struct lc__http_answer *answer, const char *name)
{
	const char *at = (const char *)answer->headers.data;
	const size_t n = strlen(name);

	for (size_t left = answer->headers.size; left > 0;) {
		const size_t size = strlen(at) + 1;

		if (strncmp(at, name, n) == 0 && at[n] == ':')
			return at + n + 1;
		at += size;
		left -= size;
	}
	return NULL;
}

bool
lc__http_number(const struct lc__http_answer *answer, const char *name, uint64_t *out)
{
	const char *text = lc__http_header(answer, name);
	unsigned long long number;

	if (text == NULL || *text == '\0' || strspn(text, "0123456789") != strlen(text))
		return false;
	errno = 0;
	number = strtoull(text, NULL, 10);
	if (errno != 0)
		return false;
	*out = number;
	return true;
}

bool
lc__http_date(const struct lc__http_answer *answer, const char *name, uint64_t *out)
{
	const char *text = lc__http_header(answer, name);
	const time_t time = text != NULL ? lib.curl_getdate(text, NULL) : -1;

	if (time < 0)
		return false;
	*out = (uint64_t)time;
	return true;
}

/* ---- a request ---------------------------------------------------------------------------- */

/* A request in progress. */
struct transfer {
	const struct lc__http *http;
	const struct lc__http_request *request;
	struct lc__http_answer *answer;
	CURL *curl;
	uint64_t at;      /* in the body that is sent */
	bool good;        /* a response with status 2xx: its body goes to write() */
	bool too_long;    /* headers or text are */
	lc_status status; /* of a callback of the caller */
};

static size_t
on_read(char *out, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	const uint64_t left = t->request->size - t->at;
	const size_t room = size * n, most = left < room ? (size_t)left : room;

	if (most == 0)
		return 0;
	t->status = t->request->read(t->request->read_ctx, t->at, out, most);
	if (t->status != LC_OK)
		return CURL_READFUNC_ABORT;
	t->at += most;
	t->answer->sent += most;
	return most;
}

/* libcurl starts again if a connection that it kept was closed meanwhile. */
static int
on_seek(void *ctx, curl_off_t offset, int origin)
{
	struct transfer *t = ctx;

	if (origin != SEEK_SET || offset != 0)
		return CURL_SEEKFUNC_CANTSEEK;
	t->at = 0;
	return CURL_SEEKFUNC_OK;
}

/* "HTTP/1.1 200 OK": the headers of another answer than "100 Continue" may follow. */
static bool
is_status_line(const char *line, size_t size)
{
	return size >= 5 && memcmp(line, "HTTP/", 5) == 0;
}

static bool
is_end(const char *line, size_t size)
{
	return size == 0 || line[0] == '\r' || line[0] == '\n';
}

static size_t
on_header(char *line, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;

	if (is_status_line(line, n)) {
		t->answer->headers.size = 0;
		return n;
	}
	if (!is_end(line, n)) {
		t->too_long = !lc__http_add_line(t->answer, line, n);
		return t->too_long ? 0 : n;
	}
	(void)size;
	if (lib.curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &t->answer->status) !=
	    CURLE_OK)
		return 0;
	t->good = t->request->write != NULL && t->answer->status >= 200 &&
	    t->answer->status < 300;
	if (t->good && t->request->head != NULL)
		t->status = t->request->head(t->request->write_ctx, t->answer);
	return t->status == LC_OK ? n : 0;
}

static size_t
on_write(char *data, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;

	(void)size;
	t->answer->received += n;
	if (t->good) {
		t->status = t->request->write(t->request->write_ctx, data, n);
		return t->status == LC_OK ? n : 0;
	}
	t->too_long = n > t->request->text_limit ||
	    t->answer->text.size > t->request->text_limit - n;
	if (t->too_long)
		return 0;
	lc__buf_append(&t->answer->text, data, n);
	return t->answer->text.failed ? 0 : n;
}

/* Called about once a second, even if nothing happens. */
static int
on_progress(void *ctx, curl_off_t down, curl_off_t down_now, curl_off_t up,
    curl_off_t up_now)
{
	struct transfer *t = ctx;

	(void)down, (void)down_now, (void)up, (void)up_now;
	if (t->status == LC_OK &&
	    ((t->http->cancelled != NULL &&
		 t->http->cancelled(t->http->cancelled_ctx) != 0) ||
		lc__thread_stopped()))
		t->status = lc__error(LC_CANCELLED, 0, "was cancelled");
	if (t->status == LC_OK && t->request->waits != NULL)
		t->status = t->request->waits(t->request->waits_ctx);
	return t->status != LC_OK;
}

/* Programs that this process starts do not inherit the connection. */
static int
on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	(void)ctx, (void)purpose;
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == -1 ? CURL_SOCKOPT_ERROR
						    : CURL_SOCKOPT_OK;
}

static bool
add_header(struct curl_slist **list, const char *name, const char *value)
{
	struct lc__buf line = { 0 };
	struct curl_slist *longer = NULL;

	/* For libcurl "name;" is a header without a value, and "name:" removes a header. */
	lc__buf_printf(&line, value != NULL && *value == '\0' ? "%s;" : "%s:", name);
	if (value != NULL && *value != '\0')
		lc__buf_printf(&line, " %s", value);
	lc__buf_append(&line, "", 1);
	if (!line.failed)
		longer = lib.curl_slist_append(*list, (char *)line.data);
	lc__buf_free(&line);
	if (longer != NULL)
		*list = longer;
	return longer != NULL;
}

static bool
add_headers(const struct lc__http_request *request, struct curl_slist **list)
{
	for (size_t i = 0; i < request->n_headers; i++)
		if (!add_header(list, request->headers[i].name,
			request->headers[i].value))
			return false;
	/* Headers that libcurl would add by itself. */
	return add_header(list, "Accept", NULL) &&
	    (request->read == NULL ||
		add_header(list, "Content-Type", "application/octet-stream")) &&
	    add_header(list, "Expect", request->expect ? "100-continue" : NULL);
}

/* Only options that can fail for lack of memory are checked. */
static lc_status
set_up(const struct lc__http *http, struct transfer *t, struct curl_slist *headers)
{
	const struct lc__http_request *request = t->request;
	CURL *curl = t->curl;

	if (lib.curl_easy_setopt(curl, CURLOPT_URL, request->url) != CURLE_OK ||
	    lib.curl_easy_setopt(curl, CURLOPT_USERAGENT, "cachex/" PACKAGE_VERSION) !=
		CURLE_OK ||
	    (http->ca_file != NULL &&
		lib.curl_easy_setopt(curl, CURLOPT_CAINFO, http->ca_file) != CURLE_OK) ||
	    (request->direct &&
		lib.curl_easy_setopt(curl, CURLOPT_NOPROXY, "*") != CURLE_OK))
		return lc__no_memory("libcurl");
	lib.curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	lib.curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	lib.curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	lib.curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	lib.curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	lib.curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
	lib.curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	lib.curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
	lib.curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, SEND_BYTES);
	lib.curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)http->connect_ms);
	lib.curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)request->limit_ms);
	if (request->limit_ms == 0) {
		lib.curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, SLOW);
		lib.curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)http->stall_s);
	}
	lib.curl_easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, on_socket);
	lib.curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	lib.curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	lib.curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
	lib.curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_write);
	lib.curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
	if (strcmp(request->method, "HEAD") == 0) {
		lib.curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	} else if (request->read != NULL) {
		lib.curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		lib.curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE,
		    (curl_off_t)request->size);
		lib.curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
		lib.curl_easy_setopt(curl, CURLOPT_READDATA, t);
		lib.curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, on_seek);
		lib.curl_easy_setopt(curl, CURLOPT_SEEKDATA, t);
	}
	if (lib.curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method) !=
	    CURLE_OK)
		return lc__no_memory("libcurl");
	return LC_OK;
}

/* Failures that would be the same at the next try. */
static bool
is_final(CURLcode code)
{
	switch (code) {
	case CURLE_FAILED_INIT:
	case CURLE_URL_MALFORMAT:
	case CURLE_NOT_BUILT_IN:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_ENGINE_NOTFOUND:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_BAD_FUNCTION_ARGUMENT: return true;
	default: return false;
	}
}

static lc_status
failure(const struct transfer *t, CURLcode code, const char *detail)
{
	t->answer->stopped = t->status != LC_OK;
	if (t->answer->stopped)
		return t->status;
	if (code == CURLE_OUT_OF_MEMORY || t->answer->text.failed ||
	    t->answer->headers.failed)
		return lc__no_memory("libcurl");
	t->answer->again = !is_final(code);
	if (t->too_long)
		return lc__error(LC_IO, 0, "the answer is too long");
	return lc__error(LC_IO, 0, "%s%s%s", lib.curl_easy_strerror(code),
	    *detail != '\0' ? ": " : "", detail);
}

/* A peer that closes its end must not end this process. */
static CURLcode
perform(CURL *curl)
{
	const struct timespec now = { 0, 0 };
	sigset_t pipe, before, pending;
	bool was_pending;
	CURLcode code;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	lc__fds_hold();
	code = lib.curl_easy_perform(curl);
	lc__fds_release();
	while (!was_pending && sigtimedwait(&pipe, NULL, &now) == -1 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

lc_status
lc__http_send(struct lc__http *http, const struct lc__http_request *request,
    struct lc__http_answer *answer)
{
	struct transfer t = { .http = http, .request = request, .answer = answer };
	struct curl_slist *headers = NULL;
	char detail[CURL_ERROR_SIZE] = "";
	CURLcode code;
	lc_status status;

	answer->status = 0;
	answer->headers.size = answer->text.size = 0;
	answer->sent = answer->received = 0;
	answer->again = answer->stopped = false;
	if (strlen(request->url) > URL_MOST || request->size > INT64_MAX)
		return lc__error(LC_INVALID, 0, "the URL or the body is too long");
	t.curl = take_handle(http);
	if (t.curl == NULL)
		return lc__no_memory("libcurl");
	status = add_headers(request, &headers) ? set_up(http, &t, headers)
						: lc__no_memory("libcurl");
	if (status == LC_OK) {
		lib.curl_easy_setopt(t.curl, CURLOPT_ERRORBUFFER, detail);
		code = perform(t.curl);
		if (code == CURLE_OK && t.too_long)
			code = CURLE_WRITE_ERROR;
		if (code != CURLE_OK || t.status != LC_OK) {
			status = failure(&t, code, detail);
		} else if (answer->status < 200) {
			answer->again = true;
			status = lc__error(LC_IO, 0,
			    "the answer breaks off in its headers");
		}
	}
	give_handle(http, t.curl);
	lib.curl_slist_free_all(headers);
	return status;
}
