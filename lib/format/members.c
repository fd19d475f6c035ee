/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/members.h"

#include <string.h>

#include "base/error.h"

lc_status
lc__members_load(const char *text, const char *name, struct lc__json_tree *tree,
    const struct lc__json **out)
{
	const lc_status status = lc__json_parse(text, strlen(text), NULL, tree);
	const struct lc__json *json = tree->values;

	if (status == LC_NO_MEMORY)
		return lc__no_memory(name);
	if (status != LC_OK)
		return lc__error(LC_CORRUPT, 0, "%s: line %zu: %s", name, tree->line,
		    tree->wrong);
	if (json->kind != LC__JSON_OBJECT && json->kind != LC__JSON_NULL)
		return lc__error(LC_CORRUPT, 0, "%s: is not a JSON object", name);
	*out = json->kind == LC__JSON_OBJECT ? json : NULL;
	return LC_OK;
}

lc_status
lc__member_bad(const struct lc__members *members, const char *key, const char *what)
{
	if (members->place > 0)
		return lc__error(LC_CORRUPT, 0, "%s: %s[%zu]: %s %s", members->name,
		    members->of, members->place - 1, key, what);
	return lc__error(LC_CORRUPT, 0, "%s: %s%s%s %s", members->name, members->of,
	    *members->of ? ": " : "", key, what);
}

/* NULL if it is absent or null. */
static const struct lc__json *
find(const struct lc__members *members, const char *key)
{
	const struct lc__json *value = lc__json_get(members->json, key);

	return lc__json_is(value, LC__JSON_NULL) ? NULL : value;
}

bool
lc__member_has(const struct lc__members *members, const char *key)
{
	return find(members, key) != NULL;
}

static lc_status
number_of(const struct lc__members *members, const char *key,
    const struct lc__json *value, uint64_t limit, uint64_t *out)
{
	uint64_t number;

	if (!lc__json_is_integer(value))
		return lc__member_bad(members, key, "is not an integer");
	if (!lc__json_uint64(value, &number) || number > limit)
		return lc__member_bad(members, key, "is out of range");
	*out = number;
	return LC_OK;
}

lc_status
lc__member_number(const struct lc__members *members, const char *key, uint64_t limit,
    uint64_t *out)
{
	const struct lc__json *value = find(members, key);

	return value == NULL ? LC_OK : number_of(members, key, value, limit, out);
}

lc_status
lc__member_number_of(const struct lc__members *members, const struct lc__json *member,
    uint64_t limit, uint64_t *out)
{
	return lc__json_is(member, LC__JSON_NULL)
	    ? LC_OK
	    : number_of(members, member->name, member, limit, out);
}

lc_status
lc__member_share(const struct lc__members *members, const char *key, double *out)
{
	const struct lc__json *value = find(members, key);
	double number;

	if (value == NULL)
		return LC_OK;
	if (!lc__json_double(value, &number))
		return lc__member_bad(members, key, "is not a number");
	if (!(number >= 0 && number <= 1))
		return lc__member_bad(members, key, "is not within 0 and 1");
	*out = number;
	return LC_OK;
}

lc_status
lc__member_text(const struct lc__members *members, const char *key, char **out)
{
	const struct lc__json *value = find(members, key);
	char *text;

	if (value == NULL)
		return LC_OK;
	if (!lc__json_is(value, LC__JSON_STRING))
		return lc__member_bad(members, key, "is not a string");
	text = strdup(value->string);
	if (text == NULL)
		return lc__no_memory(members->name);
	*out = text;
	return LC_OK;
}

lc_status
lc__member_sha256(const struct lc__members *members, const char *key, char out[65])
{
	const struct lc__json *value = find(members, key);
	const char *text = lc__json_text(value);

	if (value == NULL)
		return LC_OK;
	if (text == NULL || strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64)
		return lc__member_bad(members, key, "is not 64 hex digits");
	memcpy(out, text, 65);
	return LC_OK;
}

lc_status
lc__member_array(const struct lc__members *members, const char *key,
    const struct lc__json **out)
{
	const struct lc__json *value = find(members, key);

	if (value != NULL && !lc__json_is(value, LC__JSON_ARRAY))
		return lc__member_bad(members, key, "is not an array");
	if (value != NULL)
		*out = value;
	return LC_OK;
}

lc_status
lc__member_object(const struct lc__members *members, const char *key,
    const struct lc__json **out)
{
	const struct lc__json *value = find(members, key);

	if (value != NULL && !lc__json_is(value, LC__JSON_OBJECT))
		return lc__member_bad(members, key, "is not an object");
	if (value != NULL)
		*out = value;
	return LC_OK;
}
