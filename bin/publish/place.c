/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "objects/directory.h"

#define FILE_SCHEME "file:"

/* ---- URLs ------------------------------------------------------------------------- */

bool
lc__is_store_url(const char *text)
{
	return strncmp(text, FILE_SCHEME, strlen(FILE_SCHEME)) == 0 ||
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
		    "%s: no such kind of store; file:///DIR is a directory", url);
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

lc_status
lc__objects_open(const char *url, bool there, struct lc__objects **out)
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

/* ---- names ------------------------------------------------------------------------ */

void
lc__name_shard(const char *sha256, char out[LC__OBJECT_NAME])
{
	snprintf(out, LC__OBJECT_NAME, "obj/%.2s/%s.twh1", sha256, sha256);
}

void
lc__name_part(const char *sha256, char out[LC__OBJECT_NAME])
{
	snprintf(out, LC__OBJECT_NAME, "part/%.2s/%s.json", sha256, sha256);
}

void
lc__name_recipe(const char *run, char out[LC__OBJECT_NAME])
{
	snprintf(out, LC__OBJECT_NAME, "run/%s/recipe.json", run);
}

void
lc__name_receipt(const char *run, uint64_t part, char out[LC__OBJECT_NAME])
{
	snprintf(out, LC__OBJECT_NAME, "run/%s/%06llu.json", run,
	    (unsigned long long)part);
}

void
lc__name_generation(uint64_t generation, char out[LC__OBJECT_NAME])
{
	snprintf(out, LC__OBJECT_NAME, "manifest/%010llu.json",
	    (unsigned long long)generation);
}

bool
lc__is_hex(const char *text, size_t n)
{
	return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

/* Is the name what this function makes of the digits that stand at @p at? */
static bool
sha_of_name(const char *name, size_t at, void (*make)(const char *, char *),
    char sha256[65])
{
	char again[LC__OBJECT_NAME];

	if (strlen(name) < at + 64)
		return false;
	memcpy(sha256, name + at, 64);
	sha256[64] = '\0';
	if (!lc__is_hex(sha256, 64))
		return false;
	make(sha256, again);
	return strcmp(again, name) == 0;
}

bool
lc__shard_of_name(const char *name, char sha256[65])
{
	return sha_of_name(name, strlen("obj/aa/"), lc__name_shard, sha256);
}

bool
lc__part_of_name(const char *name, char sha256[65])
{
	return sha_of_name(name, strlen("part/aa/"), lc__name_part, sha256);
}

/* A decimal number that ends with ".json" there. */
static bool
number_at(const char *text, uint64_t *out)
{
	char *end;

	if (strspn(text, "0123456789") == 0)
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && strcmp(end, ".json") == 0;
}

bool
lc__run_of_name(const char *name, char run[LC__RUN_ID], bool *recipe, uint64_t *part)
{
	const size_t at = strlen("run/");
	char again[LC__OBJECT_NAME];

	if (strlen(name) < at + LC__RUN_ID)
		return false;
	memcpy(run, name + at, LC__RUN_ID - 1);
	run[LC__RUN_ID - 1] = '\0';
	if (!lc__is_hex(run, LC__RUN_ID - 1))
		return false;
	lc__name_recipe(run, again);
	*recipe = strcmp(again, name) == 0;
	if (*recipe)
		return true;
	if (!number_at(name + at + LC__RUN_ID, part))
		return false;
	lc__name_receipt(run, *part, again);
	return strcmp(again, name) == 0;
}

bool
lc__generation_of_name(const char *name, uint64_t *generation)
{
	const size_t at = strlen("manifest/");
	char again[LC__OBJECT_NAME];

	if (strlen(name) < at || !number_at(name + at, generation) || *generation == 0)
		return false;
	lc__name_generation(*generation, again);
	return strcmp(again, name) == 0;
}
