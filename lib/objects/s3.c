/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/utf8.h"
#include "objects/s3_call.h"

#define KEY_MOST 1024 /* bytes */

static void
close_s3(struct lc__objects *objects)
{
	struct lc__s3 *s3 = (struct lc__s3 *)objects;

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

/* Split "s3://BUCKET/PREFIX" into its two parts. */
static lc_status
split_url(struct lc__s3 *s3, const char *url)
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
check_endpoint(struct lc__s3 *s3)
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
 * otherwise; at Amazon it is part of the host name, if it can be. */
static lc_status
choose_host(struct lc__s3 *s3, const lc_store_options *options)
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
configure(struct lc__s3 *s3, const char *url, const lc_store_options *options)
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
		return lc__error(LC_INVALID, 0, "%s is not the name of a region",
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
	struct lc__s3 *s3 = calloc(1, sizeof(*s3));
	lc_status status;

	if (s3 == NULL)
		return lc__no_memory(url);
	s3->tries = options->tries;
	s3->single = LC__S3_SINGLE;
	s3->part = LC__S3_PART;
	s3->retry_ns = (uint64_t)options->retry_s * 1000000000;
	s3->alone = options->single_publisher != 0;
	status = configure(s3, url, options);
	s3->objects.url = s3->url;
	s3->objects.advice =
	    "choose another store, or say --single-publisher if one process "
	    "at a time pushes and publishes";
	s3->objects.get_range = lc__s3_get_range;
	s3->objects.get = lc__s3_get;
	s3->objects.put_new = lc__s3_put_new;
	s3->objects.touch = lc__s3_touch;
	s3->objects.put = lc__s3_put;
	s3->objects.list = lc__s3_list;
	s3->objects.remove = lc__s3_remove;
	s3->objects.sweep = lc__s3_sweep;
	s3->objects.close = close_s3;
	if (status == LC_OK)
		*out = &s3->objects;
	else
		close_s3(&s3->objects);
	return status;
}

void
lc__s3_limit(struct lc__objects *objects, uint64_t single, uint64_t part)
{
	struct lc__s3 *s3 = (struct lc__s3 *)objects;

	s3->single = single;
	s3->part = part;
}
