/* SPDX-License-Identifier: BSD-2-Clause */
#include "vectors.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static char where[80]; /* the section and case being checked */

void
vectors_at(const char *section, size_t number)
{
	snprintf(where, sizeof(where), "%s case %zu", section, number);
}

json_t *
vectors_load(const char *variable, const char *name)
{
	const char *path = getenv(variable), *srcdir = getenv("srcdir");
	char source[4096];
	json_error_t error;
	json_t *root;

	snprintf(source, sizeof(source), "%s/%s", srcdir ? srcdir : ".", name);
	if (path == NULL || *path == '\0')
		path = source;
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	ck_assert_msg(root != NULL, "%s:%d: %s", path, error.line, error.text);
	ck_assert_msg(json_is_object(root), "%s: not an object", path);
	return root;
}

uint64_t
vectors_u64(const json_t *value)
{
	unsigned long long out;
	char *end;

	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return (uint64_t)json_integer_value(value);
	ck_assert_msg(json_is_string(value), "%s: not a number", where);
	errno = 0;
	out = strtoull(json_string_value(value), &end, 10);
	ck_assert_msg(errno == 0 && *end == '\0' && json_string_length(value) > 0 &&
	    json_string_value(value)[0] != '-', "%s: not a number: '%s'", where,
	    json_string_value(value));
	return out;
}

json_t *
vectors_get(const json_t *object, const char *name)
{
	json_t *member = json_object_get(object, name);

	ck_assert_msg(member != NULL, "%s: no '%s'", where, name);
	return member;
}

uint64_t
vectors_get_u64(const json_t *object, const char *name)
{
	return vectors_u64(vectors_get(object, name));
}

json_t *
vectors_get_list(const json_t *object, const char *name, size_t *n)
{
	json_t *list = vectors_get(object, name);

	ck_assert_msg(json_is_array(list), "%s: '%s' is no list", where, name);
	*n = json_array_size(list);
	return list;
}

uint64_t *
vectors_get_u64s(const json_t *object, const char *name, size_t *n)
{
	const json_t *list = vectors_get_list(object, name, n);
	uint64_t *out = calloc(*n + 1, sizeof(*out));

	ck_assert_ptr_nonnull(out);
	for (size_t i = 0; i < *n; i++)
		out[i] = vectors_u64(json_array_get(list, i));
	return out;
}

void
vectors_is(const json_t *want, uint64_t got)
{
	ck_assert_msg(vectors_u64(want) == got, "%s: %llu instead of %llu", where,
	    (unsigned long long)got, (unsigned long long)vectors_u64(want));
}

void
vectors_equal(const json_t *list, const uint64_t *got, size_t n)
{
	ck_assert_msg(json_is_array(list) && json_array_size(list) == n,
	    "%s: not a list of %zu", where, n);
	for (size_t i = 0; i < n; i++) {
		const uint64_t want = vectors_u64(json_array_get(list, i));

		ck_assert_msg(got[i] == want, "%s: number %zu is %llu instead of %llu",
		    where, i, (unsigned long long)got[i], (unsigned long long)want);
	}
}

uint64_t
vectors_fnv1a(const uint64_t *values, size_t n)
{
	uint64_t hash = UINT64_C(0xCBF29CE484222325);

	for (size_t i = 0; i < n; i++)
		for (unsigned shift = 0; shift < 64; shift += 8) {
			hash ^= values[i] >> shift & 0xFF;
			hash *= UINT64_C(0x100000001B3);
		}
	return hash;
}
