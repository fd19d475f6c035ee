/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/members.h"

#include <string.h>

#include "base/error.h"
#include "format/json_parse.h"

lc_status
lc__members_load(const char *text, const char *name, json_t **out)
{
	json_error_t error;
	json_t *json = lc__json_parse(text, strlen(text),
	    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);

	if (json == NULL && json_error_code(&error) == json_error_out_of_memory)
		return lc__no_memory(name);
	if (json == NULL)
		return lc__error(LC_CORRUPT, 0, "%s: line %d: %s", name, error.line,
		    error.text);
	if (!json_is_object(json) && !json_is_null(json)) {
		json_decref(json);
		return lc__error(LC_CORRUPT, 0, "%s: is not a JSON object", name);
	}
	*out = json_is_object(json) ? json : NULL;
	return LC_OK;
}

lc_status
lc__member_bad(const struct lc__members *members, const char *key,
    const char *what)
{
	if (members->place > 0)
		return lc__error(LC_CORRUPT, 0, "%s: %s[%zu]: %s %s", members->name,
		    members->of, members->place - 1, key, what);
	return lc__error(LC_CORRUPT, 0, "%s: %s%s%s %s", members->name, members->of,
	    *members->of ? ": " : "", key, what);
}

/* NULL if it is absent or null. */
static const json_t *
find(const struct lc__members *members, const char *key)
{
	const json_t *value = json_object_get(members->json, key);

	return json_is_null(value) ? NULL : value;
}

bool
lc__member_has(const struct lc__members *members, const char *key)
{
	return find(members, key) != NULL;
}

lc_status
lc__member_number(const struct lc__members *members, const char *key,
    uint64_t limit, uint64_t *out)
{
	const json_t *value = find(members, key);

	if (value == NULL)
		return LC_OK;
	if (!json_is_integer(value))
		return lc__member_bad(members, key, "is not an integer");
	if (json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > limit)
		return lc__member_bad(members, key, "is out of range");
	*out = (uint64_t)json_integer_value(value);
	return LC_OK;
}

lc_status
lc__member_share(const struct lc__members *members, const char *key, double *out)
{
	const json_t *value = find(members, key);
	double number;

	if (value == NULL)
		return LC_OK;
	if (!json_is_number(value))
		return lc__member_bad(members, key, "is not a number");
	number = json_number_value(value);
	if (!(number >= 0 && number <= 1))
		return lc__member_bad(members, key, "is not within 0 and 1");
	*out = number;
	return LC_OK;
}

lc_status
lc__member_text(const struct lc__members *members, const char *key, char **out)
{
	const json_t *value = find(members, key);
	char *text;

	if (value == NULL)
		return LC_OK;
	if (!json_is_string(value))
		return lc__member_bad(members, key, "is not a string");
	text = strdup(json_string_value(value));
	if (text == NULL)
		return lc__no_memory(members->name);
	*out = text;
	return LC_OK;
}

lc_status
lc__member_sha256(const struct lc__members *members, const char *key, char out[65])
{
	const json_t *value = find(members, key);
	const char *text = json_string_value(value);

	if (value == NULL)
		return LC_OK;
	if (text == NULL || strlen(text) != 64 ||
	    strspn(text, "0123456789abcdef") != 64)
		return lc__member_bad(members, key, "is not 64 hex digits");
	memcpy(out, text, 65);
	return LC_OK;
}

lc_status
lc__member_array(const struct lc__members *members, const char *key,
    const json_t **out)
{
	const json_t *value = find(members, key);

	if (value != NULL && !json_is_array(value))
		return lc__member_bad(members, key, "is not an array");
	if (value != NULL)
		*out = value;
	return LC_OK;
}

lc_status
lc__member_object(const struct lc__members *members, const char *key,
    const json_t **out)
{
	const json_t *value = find(members, key);

	if (value != NULL && !json_is_object(value))
		return lc__member_bad(members, key, "is not an object");
	if (value != NULL)
		*out = value;
	return LC_OK;
}
