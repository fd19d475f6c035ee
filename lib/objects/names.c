/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Is the name the one that this function builds from the digits at @p at? */
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
