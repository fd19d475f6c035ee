/* SPDX-License-Identifier: BSD-2-Clause */
#include "s3/credentials.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/json_tree.h"
#include "s3/listing.h"

#define TEXT_LIMIT ((size_t)64 << 10) /* of a service or program that provides keys */
#define RENEW_S 300                   /* before they expire */
#define ASK_S 30         /* between two attempts to renew keys that still hold */
#define UNCERTAIN_S 60   /* younger keys are assumed not to have expired */
#define PROCESS_MS 60000 /* for credential_process */
#define SERVICE_MS 5000  /* for a service on this host or its network */
#define STS_MS 30000

struct lc__s3_credentials {
	struct lc__http *http;
	const struct lc__s3_profile *profile;
	bool named;
	const char *region;
	pthread_mutex_t lock; /* guards the members below; held while keys are requested
	                       * */
	struct lc__s3_keys keys;
	uint64_t number;    /* number of these keys, from 1; 0: no keys yet */
	uint64_t expires_s; /* since 1970; 0: never */
	uint64_t asked_s;   /* when they were requested */
	bool refused;
};

static uint64_t
now_s(void)
{
	struct timespec now;

	/* Not lc__clock_wall_ms(), which SOURCE_DATE_EPOCH fixes. */
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec;
}

/* Keys found by a provider. */
struct found {
	struct lc__s3_keys keys;
	uint64_t expires_s;
};

static lc_status
copy(const char *what, const char *value, char *out, size_t room)
{
	const size_t n = strlen(value);

	/* They are sent in headers. */
	for (size_t i = 0; i < n; i++)
		if (value[i] <= 0x20 || value[i] >= 0x7f)
			return lc__error(LC_INVALID, 0, "%s: has a byte that no key has",
			    what);
	if (n >= room)
		return lc__error(LC_INVALID, 0, "%s: is longer than %zu bytes", what,
		    room - 1);
	memcpy(out, value, n + 1);
	return LC_OK;
}

static lc_status
set_keys(struct found *found, const char *from, const char *id, const char *secret,
    const char *token)
{
	if (id == NULL || secret == NULL)
		return lc__error(LC_INVALID, 0, "%s: has one of two keys", from);
	return_if_error(copy(from, id, found->keys.id, sizeof(found->keys.id)));
	return_if_error(
	    copy(from, secret, found->keys.secret, sizeof(found->keys.secret)));
	return copy(from, token != NULL ? token : "", found->keys.token,
	    sizeof(found->keys.token));
}

/* What programs and services return: JSON with these members. */
static lc_status
parse_keys(const struct lc__buf *text, const char *from, const char *token,
    struct found *found)
{
	struct lc__json_tree tree = { 0 };
	lc_status status = lc__json_parse(text->data, text->size, NULL, &tree);
	const char *expires;

	if (status != LC_OK) {
		if (status == LC_CORRUPT)
			status = lc__error(LC_IO, 0, "%s: prints no JSON", from);
	} else {
		status = set_keys(found, from,
		    lc__json_text(lc__json_get(tree.values, "AccessKeyId")),
		    lc__json_text(lc__json_get(tree.values, "SecretAccessKey")),
		    lc__json_text(lc__json_get(tree.values, token)));
		expires = lc__json_text(lc__json_get(tree.values, "Expiration"));
		if (status == LC_OK && expires != NULL &&
		    !lc__s3_time_parse(expires, &found->expires_s))
			status = lc__error(LC_IO, 0,
			    "%s: Expiration is not an ISO 8601 time", from);
	}
	lc__json_free(&tree);
	return status;
}

/* ---- the environment and files ------------------------------------------------------------ */

static lc_status
from_environment(const struct lc__s3_credentials *c, struct found *found)
{
	const char *id = lc__s3_env("AWS_ACCESS_KEY_ID");

	if (id == NULL || c->named)
		return LC_NOT_FOUND;
	return set_keys(found, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", id,
	    lc__s3_env("AWS_SECRET_ACCESS_KEY"), lc__s3_env("AWS_SESSION_TOKEN"));
}

/* Read the output of a program, for at most a minute. */
static lc_status
read_output(int fd, struct lc__buf *out)
{
	const uint64_t deadline = lc__clock_deadline(PROCESS_MS);
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	for (;;) {
		const uint64_t now = lc__clock_ns();
		char piece[4096];
		ssize_t n;

		if (now >= deadline)
			return lc__error(LC_IO, 0, "did not end within %d s",
			    PROCESS_MS / 1000);
		if (poll(&ready, 1, (int)((deadline - now) / 1000000) + 1) <= 0)
			continue;
		n = read(fd, piece, sizeof(piece));
		if (n == 0)
			return out->failed ? lc__no_memory(NULL) : LC_OK;
		if (n == -1 && errno != EINTR)
			return lc__error_sys(errno, "read");
		if (n > 0)
			lc__buf_append(out, piece, (size_t)n);
		if (out->size > TEXT_LIMIT)
			return lc__error(LC_IO, 0, "prints more than %zu bytes",
			    TEXT_LIMIT);
	}
}

/* Start a command of the shell with default signals. */
static int
start(const char *command, int out, pid_t *pid)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)command,
		NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, pipe;
	int sys = posix_spawn_file_actions_init(&actions);

	if (sys != 0)
		return sys;
	sys = posix_spawnattr_init(&attributes);
	if (sys == 0) {
		sigemptyset(&none);
		sigemptyset(&pipe);
		sigaddset(&pipe, SIGPIPE);
		posix_spawnattr_setsigmask(&attributes, &none);
		posix_spawnattr_setsigdefault(&attributes, &pipe);
		posix_spawnattr_setflags(&attributes,
		    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
		sys = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
		if (sys == 0)
			sys = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO,
			    "/dev/null", 0, 0);
		if (sys == 0)
			sys = posix_spawn(pid, "/bin/sh", &actions, &attributes, argv,
			    environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return sys;
}

static lc_status
from_process(const char *command, struct found *found)
{
	struct lc__buf text = { 0 };
	int ends[2], ended = 0, sys;
	pid_t pid = -1, waited;
	lc_status status;

	if (lc__pipe(ends) == -1)
		return lc__error_sys(errno, "credential_process: pipe");
	sys = start(command, ends[1], &pid);
	close(ends[1]);
	status = sys != 0 ? lc__error_sys(sys, "start") : read_output(ends[0], &text);
	close(ends[0]);
	if (pid != -1 && status != LC_OK)
		(void)kill(pid, SIGKILL);
	do
		waited = pid != -1 ? waitpid(pid, &ended, 0) : 0;
	while (waited == -1 && errno == EINTR);
	if (status == LC_OK && waited == pid && ended != 0)
		status = lc__error(LC_PERMISSION, 0, "ended with status %d",
		    WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended));
	if (status != LC_OK)
		(void)lc__error_prefix("credential_process");
	else
		status = parse_keys(&text, "credential_process", "SessionToken", found);
	lc__buf_free(&text);
	return status;
}

static lc_status
from_profile(const struct lc__s3_credentials *c, struct found *found)
{
	const struct lc__s3_profile *profile = c->profile;
	const char *id = lc__s3_profile_get(profile, "aws_access_key_id");
	const char *command = lc__s3_profile_get(profile, "credential_process");
	lc_status status;

	if (id != NULL)
		status = set_keys(found, "keys", id,
		    lc__s3_profile_get(profile, "aws_secret_access_key"),
		    lc__s3_profile_get(profile, "aws_session_token"));
	else if (command != NULL && *command != '\0')
		status = from_process(command, found);
	else
		return LC_NOT_FOUND;
	return status == LC_OK ? LC_OK : lc__error_prefix("profile %s", profile->name);
}

/* ---- services ----------------------------------------------------------------------------- */

/* A small request without a signature. LC_IO unless the status is 200. */
static lc_status
ask(struct lc__http *http, const struct lc__http_request *request,
    struct lc__http_answer *answer)
{
	lc_status status = LC_OK;

	/* Try once more: the service may be overloaded. */
	for (int i = 0; i < 2; i++) {
		status = lc__http_send(http, request, answer);
		if (status == LC_OK && answer->status == 200)
			return LC_OK;
		if (status != LC_OK ? !answer->again : answer->status < 500)
			break;
	}
	if (status == LC_OK)
		status = lc__error(LC_IO, 0, "answers with status %ld", answer->status);
	return status;
}

static lc_status
read_token(const char *path, struct lc__buf *out)
{
	return_if_error(lc__read_file(path, TEXT_LIMIT, out));
	while (out->size > 0 && strchr(" \t\r\n", out->data[out->size - 1]) != NULL)
		out->size--;
	lc__buf_append(out, "", 1);
	if (out->failed)
		return lc__no_memory(path);
	for (size_t i = 0; i + 1 < out->size; i++)
		if (out->data[i] <= 0x20 || out->data[i] >= 0x7f)
			return lc__error(LC_INVALID, 0, "%s: not a token", path);
	return LC_OK;
}

static lc_status
read_text(void *ctx, uint64_t offset, void *out, size_t size)
{
	memcpy(out, (const char *)ctx + offset, size);
	return LC_OK;
}

static lc_status
ask_sts(const struct lc__s3_credentials *c, const char *role, const char *token,
    struct found *found)
{
	const char *session = lc__s3_env("AWS_ROLE_SESSION_NAME");
	const char *endpoint = lc__s3_env("AWS_ENDPOINT_URL_STS");
	const struct lc__s3_pair form[] = {
		{ "Action", "AssumeRoleWithWebIdentity" },
		{ "Version", "2011-06-15" },
		{ "RoleArn", role },
		{ "RoleSessionName", session != NULL ? session : "cachex" },
		{ "WebIdentityToken", token },
	};
	struct lc__buf body = { 0 }, url = { 0 };
	struct lc__http_answer answer = { .status = 0 };
	struct lc__http_request request = {
		.method = "POST",
		.headers = &(struct lc__s3_pair){ "Content-Type",
		    "application/x-www-form-urlencoded" },
		.n_headers = 1,
		.read = read_text,
		.text_limit = TEXT_LIMIT,
		.limit_ms = STS_MS,
	};
	lc_status status = lc__s3_query(&body, form, sizeof(form) / sizeof(*form));

	if (endpoint != NULL)
		lc__buf_printf(&url, "%s", endpoint);
	else
		lc__buf_printf(&url, "https://sts.%s.amazonaws.com/", c->region);
	lc__buf_append(&url, "", 1);
	if (status == LC_OK && url.failed)
		status = lc__no_memory("STS");
	request.url = (char *)url.data;
	request.read_ctx = body.data;
	request.size = body.size;
	if (status == LC_OK)
		status = ask(c->http, &request, &answer);
	if (status == LC_OK)
		status = lc__s3_role_parse(answer.text.data, answer.text.size,
		    &found->keys, &found->expires_s);
	lc__http_answer_free(&answer);
	lc__buf_free(&body);
	lc__buf_free(&url);
	return status;
}

static lc_status
from_web_identity(const struct lc__s3_credentials *c, struct found *found)
{
	const char *path = c->named ? NULL : lc__s3_env("AWS_WEB_IDENTITY_TOKEN_FILE");
	const char *role = c->named ? NULL : lc__s3_env("AWS_ROLE_ARN");
	struct lc__buf token = { 0 };
	lc_status status;

	if (path == NULL || role == NULL) {
		path = lc__s3_profile_get(c->profile, "web_identity_token_file");
		role = lc__s3_profile_get(c->profile, "role_arn");
	}
	if (path == NULL || role == NULL)
		return LC_NOT_FOUND;
	status = read_token(path, &token);
	if (status == LC_OK)
		status = ask_sts(c, role, (char *)token.data, found);
	if (status != LC_OK)
		(void)lc__error_prefix("AssumeRoleWithWebIdentity");
	lc__buf_free(&token);
	return status;
}

/* Without TLS only this host may be asked, and the addresses of container hosts. */
static bool
may_ask(const char *url)
{
	static const char *const hosts[] = { "127.0.0.1", "localhost", "[::1]",
		"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]" };

	if (strncmp(url, "https://", 8) == 0)
		return true;
	if (strncmp(url, "http://", 7) != 0)
		return false;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		const size_t n = strlen(hosts[i]);

		if (strncmp(url + 7, hosts[i], n) == 0 &&
		    (url[7 + n] == '/' || url[7 + n] == ':' || url[7 + n] == '\0'))
			return strchr(url, '@') == NULL;
	}
	return false;
}

static lc_status
from_container(const struct lc__s3_credentials *c, struct found *found)
{
	const char *relative = lc__s3_env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = lc__s3_env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	const char *file = lc__s3_env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *token = lc__s3_env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	struct lc__buf url = { 0 }, text = { 0 };
	struct lc__http_answer answer = { .status = 0 };
	struct lc__s3_pair header = { "Authorization", NULL };
	lc_status status = LC_OK;

	if (relative == NULL && full == NULL)
		return LC_NOT_FOUND;
	lc__buf_printf(&url, "%s%s", relative != NULL ? "http://169.254.170.2" : "",
	    relative != NULL ? relative : full);
	lc__buf_append(&url, "", 1);
	if (url.failed)
		status = lc__no_memory("container");
	else if (!may_ask((char *)url.data))
		status = lc__error(LC_INVALID, 0,
		    "is not https, nor of this host or of a container's");
	if (status == LC_OK && file != NULL)
		status = read_token(file, &text);
	header.value = file != NULL ? (char *)text.data : token;
	if (status == LC_OK)
		status = ask(c->http,
		    &(struct lc__http_request){
			.method = "GET",
			.url = (char *)url.data,
			.headers = &header,
			.n_headers = header.value != NULL,
			.text_limit = TEXT_LIMIT,
			.limit_ms = SERVICE_MS,
			.direct = true,
		    },
		    &answer);
	if (status == LC_OK)
		status = parse_keys(&answer.text, "its answer", "Token", found);
	if (status != LC_OK)
		(void)lc__error_prefix(relative != NULL
			? "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
			: "AWS_CONTAINER_CREDENTIALS_FULL_URI");
	lc__http_answer_free(&answer);
	lc__buf_free(&url);
	lc__buf_free(&text);
	return status;
}

/* One request to the instance's metadata service. */
static lc_status
ask_instance(struct lc__http *http, const char *method, const char *path,
    const struct lc__s3_pair *header, struct lc__http_answer *answer)
{
	const char *endpoint = lc__s3_env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	struct lc__buf url = { 0 };
	struct lc__http_request request = {
		.method = method,
		.headers = header,
		.n_headers = 1,
		.text_limit = TEXT_LIMIT,
		.limit_ms = 1000,
		.direct = true,
	};
	lc_status status;

	if (strcmp(method, "PUT") == 0) {
		request.read = read_text;
		request.read_ctx = (void *)(uintptr_t) "";
	}
	lc__buf_printf(&url, "%s/latest/%s",
	    endpoint != NULL ? endpoint : "http://169.254.169.254", path);
	lc__buf_append(&url, "", 1);
	request.url = (char *)url.data;
	status = url.failed ? lc__no_memory("instance") : ask(http, &request, answer);
	if (status == LC_OK) {
		lc__buf_append(&answer->text, "", 1);
		status = answer->text.failed ? lc__no_memory("instance") : LC_OK;
		answer->text.size -= status == LC_OK;
	}
	lc__buf_free(&url);
	return status;
}

static bool
is_word(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
				      "WXYZ0123456789-_.=+@,/";

	return *text != '\0' && strspn(text, letters) == strlen(text);
}

/* Other machines do not have this service: that is not an error. */
static lc_status
from_instance(const struct lc__s3_credentials *c, struct found *found)
{
	static const char list[] = "meta-data/iam/security-credentials/";
	const char *disabled = lc__s3_env("AWS_EC2_METADATA_DISABLED");
	const struct lc__s3_pair life = { "X-aws-ec2-metadata-token-ttl-seconds",
		"21600" };
	struct lc__http_answer token = { .status = 0 }, role = { .status = 0 },
			       answer = { .status = 0 };
	struct lc__s3_pair header = { "X-aws-ec2-metadata-token", NULL };
	char path[sizeof(list) + 200];
	lc_status status;

	if (disabled != NULL && strcasecmp(disabled, "true") == 0)
		return LC_NOT_FOUND;
	status = ask_instance(c->http, "PUT", "api/token", &life, &token);
	header.value = (char *)token.text.data;
	if (status == LC_OK && !is_word(header.value))
		status = LC_NOT_FOUND;
	if (status == LC_OK)
		status = ask_instance(c->http, "GET", list, &header, &role);
	if (status == LC_OK) {
		char *name = (char *)role.text.data;

		name[strcspn(name, "\r\n")] = '\0';
		if (!is_word(name) || strlen(name) > 200)
			status = LC_NOT_FOUND;
		else
			snprintf(path, sizeof(path), "%s%s", list, name);
	}
	if (status == LC_OK)
		status = ask_instance(c->http, "GET", path, &header, &answer);
	if (status == LC_IO)
		status = LC_NOT_FOUND;
	if (status == LC_OK)
		status = parse_keys(&answer.text, "the instance's metadata", "Token",
		    found);
	lc__http_answer_free(&token);
	lc__http_answer_free(&role);
	lc__http_answer_free(&answer);
	return status;
}

/* ---- the chain ---------------------------------------------------------------------------- */

static lc_status
find(const struct lc__s3_credentials *c, struct found *found)
{
	static lc_status (*const chain[])(const struct lc__s3_credentials *,
	    struct found *) = { from_environment, from_web_identity, from_profile,
		from_container, from_instance };

	for (size_t i = 0; i < sizeof(chain) / sizeof(*chain); i++) {
		const lc_status status = chain[i](c, found);

		if (status != LC_NOT_FOUND)
			return status;
	}
	if (c->profile->found)
		return lc__error(LC_PERMISSION, 0,
		    "no keys: neither the environment (AWS_ACCESS_KEY_ID) nor profile "
		    "%s nor a service of this machine has any",
		    c->profile->name);
	return lc__error(LC_PERMISSION, 0,
	    "no keys: neither the environment (AWS_ACCESS_KEY_ID) nor a service of this "
	    "machine has any, and there is no profile %s",
	    c->profile->name);
}

lc_status
lc__s3_credentials_new(struct lc__http *http, const struct lc__s3_profile *profile,
    bool named, const char *region, struct lc__s3_credentials **out)
{
	struct lc__s3_credentials *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return lc__no_memory("keys");
	pthread_mutex_init(&c->lock, NULL);
	c->http = http;
	c->profile = profile;
	c->named = named;
	c->region = region;
	*out = c;
	return LC_OK;
}

/* Keys that are still valid are better than none, if no provider returns others now. */
static lc_status
renew(struct lc__s3_credentials *c)
{
	struct found *found = calloc(1, sizeof(*found));
	lc_status status = found != NULL ? find(c, found) : lc__no_memory("keys");

	c->asked_s = now_s();
	if (status == LC_OK) {
		c->keys = found->keys;
		c->expires_s = found->expires_s;
		c->number++;
		c->refused = false;
	} else if (c->number > 0 && !c->refused && c->expires_s > now_s()) {
		status = LC_OK;
	}
	if (found != NULL)
		explicit_bzero(found, sizeof(*found));
	free(found);
	return status;
}

/* Do they expire, and is it time to renew them? */
static bool
is_old(const struct lc__s3_credentials *c)
{
	const uint64_t now = now_s();

	return c->expires_s > 0 && now + RENEW_S >= c->expires_s &&
	    (now >= c->expires_s || now >= c->asked_s + ASK_S || now < c->asked_s);
}

lc_status
lc__s3_credentials_get(struct lc__s3_credentials *c, struct lc__s3_keys *out,
    uint64_t *number)
{
	lc_status status = LC_OK;

	pthread_mutex_lock(&c->lock);
	if (c->number == 0 || c->refused || is_old(c))
		status = renew(c);
	if (status == LC_OK) {
		*out = c->keys;
		*number = c->number;
	}
	pthread_mutex_unlock(&c->lock);
	return status;
}

bool
lc__s3_credentials_refused(struct lc__s3_credentials *c, uint64_t number, bool certain)
{
	bool again;

	pthread_mutex_lock(&c->lock);
	again = certain || c->number != number ||
	    (c->keys.token[0] != '\0' && now_s() >= c->asked_s + UNCERTAIN_S);
	if (again && c->number == number)
		c->refused = true;
	pthread_mutex_unlock(&c->lock);
	return again;
}

void
lc__s3_credentials_free(struct lc__s3_credentials *c)
{
	if (c == NULL)
		return;
	pthread_mutex_destroy(&c->lock);
	explicit_bzero(&c->keys, sizeof(c->keys));
	free(c);
}
