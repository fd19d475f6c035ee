/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "objects/url.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "objects/directory.h"
#ifdef HAVE_S3
#include "objects/s3.h"
#endif

#define FILE_SCHEME "file:"
#define S3_SCHEME "s3:"

bool
lc__is_store_url(const char *text)
{
	return strncmp(text, FILE_SCHEME, strlen(FILE_SCHEME)) == 0 ||
	    strncmp(text, S3_SCHEME, strlen(S3_SCHEME)) == 0 ||
	    strstr(text, "://") != NULL;
}

static int
hex_digit(char c)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	return at == NULL      ? -1
	    : at - digits < 16 ? (int)(at - digits)
			       : (int)(at - digits) - 6;
}

/* Replace each %XX by its byte, in place. */
static lc_status
decode_percent(char *path, const char *url)
{
	char *to = path;

	for (const char *from = path; *from != '\0'; from++) {
		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		const int high = hex_digit(from[1]);
		const int low = high >= 0 ? hex_digit(from[2]) : -1;
		if (low < 0 || (high == 0 && low == 0))
			return lc__error(LC_INVALID, 0,
			    "%s: %% begins no byte in hex; %%25 is a percent sign", url);
		*to++ = (char)(high * 16 + low);
		from += 2;
	}
	*to = '\0';
	return LC_OK;
}

/* The directory that a URL names, malloc'ed. */
static lc_status
directory_of(const char *url, char **out)
{
	const char *path = url;
	lc_status status = LC_OK;
	const bool is_url = strncmp(url, FILE_SCHEME, strlen(FILE_SCHEME)) == 0;

	if (is_url) {
		path += strlen(FILE_SCHEME);
		if (strncmp(path, "//localhost/", 12) == 0)
			path += strlen("//localhost");
		else if (strncmp(path, "///", 3) == 0)
			path += 2;
		else if (strncmp(path, "//", 2) == 0)
			return lc__error(LC_INVALID, 0,
			    "%s: names a host; file:///DIR is a directory of this one",
			    url);
	} else if (strstr(url, "://") != NULL) {
		return lc__error(LC_INVALID, 0,
		    "%s: no such kind of store; s3://BUCKET/PREFIX and file:///DIR are",
		    url);
	}
	if (*path == '\0')
		return lc__error(LC_INVALID, 0, "%s: names no directory", url);
	*out = strdup(path);
	if (*out == NULL)
		return lc__no_memory(url);
	if (is_url)
		status = decode_percent(*out, url);
	if (status != LC_OK)
		free(*out);
	return status;
}

static lc_status
open_directory(const char *url, bool there, struct lc__objects **out)
{
	char *path;
	struct stat st;
	lc_status status;

	return_if_error(directory_of(url, &path));
	if (there && stat(path, &st) == -1)
		status = lc__error_sys(errno, "%s", url);
	else
		status = lc__directory_open(path, url, out);
	free(path);
	return status;
}

lc_status
lc__objects_open(const char *url, const lc_store_options *options, bool there,
    struct lc__objects **out)
{
	lc_store_options defaults;

	if (strncmp(url, S3_SCHEME, strlen(S3_SCHEME)) != 0)
		return open_directory(url, there, out);
	if (strncmp(url, "s3://", 5) != 0)
		return lc__error(LC_INVALID, 0, "%s: is not s3://BUCKET/PREFIX", url);
	if (options == NULL) {
		lc_store_options_init(&defaults);
		options = &defaults;
	}
#ifdef HAVE_S3
	return lc__s3_open(url, options, out);
#else
	return lc__error(LC_UNSUPPORTED, 0,
	    "%s: built without S3: configure --with-curl builds with it", url);
#endif
}
