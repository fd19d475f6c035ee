/* SPDX-License-Identifier: BSD-2-Clause */
#include "s3/sign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checksum.h"
#include "base/error.h"

#define ALGORITHM "AWS4-HMAC-SHA256"

void
lc__s3_encode(struct lc__buf *out, const char *text, bool slash)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~";

	for (; *text != '\0'; text++)
		if (strchr(plain, *text) != NULL || (slash && *text == '/'))
			lc__buf_append(out, text, 1);
		else
			lc__buf_printf(out, "%%%02X", (unsigned char)*text);
}

/* ---- the canonical request ------------------------------------------------------------- */

/* Several pieces of text, each with a terminator, sorted by index. */
static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "name=value", where the byte after a name sorts before all that may be in one: so that
 * the order is that of the names, and of the values of equal ones. */
lc_status
lc__s3_query(struct lc__buf *out, const struct lc__s3_pair *query, size_t n)
{
	struct lc__buf text = { 0 };
	char **pairs = n > 0 ? calloc(n, sizeof(*pairs)) : NULL;
	size_t at = 0;
	char *equals;

	for (size_t i = 0; i < n; i++) {
		lc__s3_encode(&text, query[i].name, false);
		lc__buf_append(&text, "\1", 1);
		lc__s3_encode(&text, query[i].value, false);
		lc__buf_append(&text, "", 1);
	}
	if (n > 0 && (pairs == NULL || text.failed)) {
		free(pairs);
		lc__buf_free(&text);
		return lc__no_memory("query");
	}
	for (size_t i = 0; i < n; i++) {
		pairs[i] = (char *)text.data + at;
		at += strlen(pairs[i]) + 1;
	}
	if (n > 1)
		qsort(pairs, n, sizeof(*pairs), by_text);
	for (size_t i = 0; i < n; i++) {
		equals = strchr(pairs[i], '\1');
		*equals = '=';
		lc__buf_printf(out, "%s%s", i > 0 ? "&" : "", pairs[i]);
	}
	free(pairs);
	lc__buf_free(&text);
	return out->failed ? lc__no_memory("query") : LC_OK;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct lc__s3_pair *)a)->name,
	    ((const struct lc__s3_pair *)b)->name);
}

/* A value without blanks around it, and with single blanks inside. */
static void
append_value(struct lc__buf *out, const char *value)
{
	while (*value == ' ')
		value++;
	for (; *value != '\0'; value++)
		if (*value != ' ' || (value[1] != ' ' && value[1] != '\0'))
			lc__buf_append(out, value, 1);
}

/* The headers, sorted; malloc'ed. */
static struct lc__s3_pair *
sorted_headers(const struct lc__s3_signing *signing)
{
	const size_t n = signing->n_headers;
	struct lc__s3_pair *headers = calloc(n + 1, sizeof(*headers));

	if (headers != NULL && n > 0) {
		memcpy(headers, signing->headers, n * sizeof(*headers));
		qsort(headers, n, sizeof(*headers), by_name);
	}
	return headers;
}

static void
append_names(struct lc__buf *out, const struct lc__s3_pair *headers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		lc__buf_printf(out, "%s%s", i > 0 ? ";" : "", headers[i].name);
}

lc_status
lc__s3_canonical(const struct lc__s3_signing *signing, struct lc__buf *out)
{
	struct lc__s3_pair *headers = sorted_headers(signing);
	lc_status status;

	if (headers == NULL)
		return lc__no_memory("signature");
	lc__buf_printf(out, "%s\n", signing->method);
	lc__s3_encode(out, signing->path, true);
	lc__buf_append(out, "\n", 1);
	status = lc__s3_query(out, signing->query, signing->n_query);
	lc__buf_append(out, "\n", 1);
	for (size_t i = 0; i < signing->n_headers; i++) {
		lc__buf_printf(out, "%s:", headers[i].name);
		append_value(out, headers[i].value);
		lc__buf_append(out, "\n", 1);
	}
	lc__buf_append(out, "\n", 1);
	append_names(out, headers, signing->n_headers);
	lc__buf_printf(out, "\n%s", signing->sha256);
	free(headers);
	return status == LC_OK && out->failed ? lc__no_memory("signature") : status;
}

/* ---- the signature ---------------------------------------------------------------------- */

void
lc__s3_date(uint64_t seconds, char out[LC__S3_DATE])
{
	const time_t time = (time_t)seconds;
	struct tm tm = { 0 };

	/* Servers refuse a time that does not fit. */
	if (gmtime_r(&time, &tm) == NULL || tm.tm_year > 8099 || tm.tm_year < 0)
		memset(&tm, 0, sizeof(tm));
	snprintf(out, LC__S3_DATE, "%04u%02u%02uT%02u%02u%02uZ",
	    (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)(tm.tm_mon + 1) % 100,
	    (unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100,
	    (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
}

/* The key for one day, region and service. */
static lc_status
derive_key(const struct lc__s3_signing *signing, const struct lc__s3_keys *keys,
    unsigned char out[LC__SHA256_SIZE])
{
	char begin[4 + sizeof(keys->secret)];
	const int n = snprintf(begin, sizeof(begin), "AWS4%s", keys->secret);

	return_if_error(lc__hmac_sha256(begin, (size_t)n, signing->date, 8, out));
	return_if_error(lc__hmac_sha256(out, LC__SHA256_SIZE, signing->region,
	    strlen(signing->region), out));
	return_if_error(lc__hmac_sha256(out, LC__SHA256_SIZE, signing->service,
	    strlen(signing->service), out));
	return lc__hmac_sha256(out, LC__SHA256_SIZE, "aws4_request", 12, out);
}

/* The string to sign: the time, the scope of the key, and the request's SHA-256. */
static lc_status
append_statement(const struct lc__s3_signing *signing, const char *scope,
    struct lc__buf *out)
{
	struct lc__buf canonical = { 0 };
	char sha256[LC__SHA256_HEX];
	lc_status status = lc__s3_canonical(signing, &canonical);

	if (status == LC_OK)
		status = lc__sha256_of(canonical.data, canonical.size, sha256);
	lc__buf_free(&canonical);
	return_if_error(status);
	lc__buf_printf(out, "%s\n%s\n%s\n%s", ALGORITHM, signing->date, scope, sha256);
	return out->failed ? lc__no_memory("signature") : LC_OK;
}

lc_status
lc__s3_sign(const struct lc__s3_signing *signing, const struct lc__s3_keys *keys,
    struct lc__buf *out)
{
	unsigned char key[LC__SHA256_SIZE], signature[LC__SHA256_SIZE];
	struct lc__buf statement = { 0 }, scope = { 0 };
	struct lc__s3_pair *headers;
	lc_status status;

	lc__buf_printf(&scope, "%.8s/%s/%s/aws4_request", signing->date, signing->region,
	    signing->service);
	lc__buf_append(&scope, "", 1);
	headers = sorted_headers(signing);
	status = headers == NULL || scope.failed
	    ? lc__no_memory("signature")
	    : append_statement(signing, (char *)scope.data, &statement);
	if (status == LC_OK)
		status = derive_key(signing, keys, key);
	if (status == LC_OK)
		status = lc__hmac_sha256(key, sizeof(key), statement.data, statement.size,
		    signature);
	if (status == LC_OK) {
		lc__buf_printf(out,
		    ALGORITHM " Credential=%s/%s,SignedHeaders=", keys->id,
		    (char *)scope.data);
		append_names(out, headers, signing->n_headers);
		lc__buf_printf(out, ",Signature=");
		for (size_t i = 0; i < sizeof(signature); i++)
			lc__buf_printf(out, "%02x", signature[i]);
		status = out->failed ? lc__no_memory("signature") : LC_OK;
	}
	free(headers);
	lc__buf_free(&scope);
	lc__buf_free(&statement);
	return status;
}
