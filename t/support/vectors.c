/* SPDX-License-Identifier: BSD-2-Clause */
#include "vectors.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fileio.h"

static char where[80]; /* the section and case being checked */

void
vectors_at(const char *section, size_t number)
{
	snprintf(where, sizeof(where), "%s case %zu", section, number);
}

const struct lc__json *
vectors_load(const char *variable, const char *name)
{
	static struct lc__json_tree tree;
	static struct lc__buf text;
	const char *path = getenv(variable), *srcdir = getenv("srcdir");
	char source[4096];

	snprintf(source, sizeof(source), "%s/%s", srcdir ? srcdir : ".", name);
	if (path == NULL || *path == '\0')
		path = source;
	text.size = 0;
	ck_assert_msg(lc__read_file(path, SIZE_MAX, &text) == LC_OK &&
	    lc__json_parse(text.data, text.size, NULL, &tree) == LC_OK, "%s: %s", path,
	    lc_last_error()->text);
	ck_assert_msg(lc__json_is(tree.values, LC__JSON_OBJECT), "%s: not an object", path);
	return tree.values;
}

uint64_t
vectors_u64(const struct lc__json *value)
{
	unsigned long long out;
	uint64_t number;
	char *end;

	if (lc__json_uint64(value, &number))
		return number;
	ck_assert_msg(lc__json_is(value, LC__JSON_STRING), "%s: not a number", where);
	errno = 0;
	out = strtoull(value->string, &end, 10);
	ck_assert_msg(errno == 0 && *end == '\0' && value->string_size > 0 &&
	    value->string[0] != '-', "%s: not a number: '%s'", where, value->string);
	return out;
}

const struct lc__json *
vectors_get(const struct lc__json *object, const char *name)
{
	const struct lc__json *member = lc__json_get(object, name);

	ck_assert_msg(member != NULL, "%s: no '%s'", where, name);
	return member;
}

uint64_t
vectors_get_u64(const struct lc__json *object, const char *name)
{
	return vectors_u64(vectors_get(object, name));
}

const struct lc__json *
vectors_get_list(const struct lc__json *object, const char *name, size_t *n)
{
	const struct lc__json *list = vectors_get(object, name);

	ck_assert_msg(lc__json_is(list, LC__JSON_ARRAY), "%s: '%s' is no list", where, name);
	*n = list->count;
	return list;
}

size_t
vectors_count(const struct lc__json *list)
{
	return list != NULL ? list->count : 0;
}

const struct lc__json *
vectors_at_index(const struct lc__json *list, size_t i)
{
	const struct lc__json *item = lc__json_first(list);

	while (item != NULL && i-- > 0)
		item = lc__json_after(list, item);
	return item;
}

uint64_t *
vectors_get_u64s(const struct lc__json *object, const char *name, size_t *n)
{
	const struct lc__json *list = vectors_get_list(object, name, n), *item;
	uint64_t *out = calloc(*n + 1, sizeof(*out));

	ck_assert_ptr_nonnull(out);
	*n = 0;
	lc__json_each(item, list)
		out[(*n)++] = vectors_u64(item);
	return out;
}

void
vectors_is(const struct lc__json *want, uint64_t got)
{
	ck_assert_msg(vectors_u64(want) == got, "%s: %llu instead of %llu", where,
	    (unsigned long long)got, (unsigned long long)vectors_u64(want));
}

void
vectors_equal(const struct lc__json *list, const uint64_t *got, size_t n)
{
	const struct lc__json *item;
	size_t i = 0;

	ck_assert_msg(lc__json_is(list, LC__JSON_ARRAY) && list->count == n,
	    "%s: not a list of %zu", where, n);
	lc__json_each(item, list) {
		const uint64_t want = vectors_u64(item);

		ck_assert_msg(got[i] == want, "%s: number %zu is %llu instead of %llu",
		    where, i, (unsigned long long)got[i], (unsigned long long)want);
		i++;
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
