/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/metadata.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mpack.h"

lc_status
lc__label_parse(const void *bytes, size_t size, const struct lc__json_rules *rules,
    struct lc__json_tree *tree, const struct lc__json **out, char why[256])
{
	const lc_status status = lc__json_parse(bytes, size, rules, tree);

	*out = status == LC_OK ? tree->values : NULL;
	if (status == LC_CORRUPT)
		snprintf(why, 256, "not JSON: %s (line %zu, column %zu)", tree->wrong,
		    tree->line, tree->column);
	return status == LC_CORRUPT ? LC_OK : status;
}

bool
lc__label_numbers(const struct lc__json *json, double out[4])
{
	const struct lc__json *item;

	if (!lc__json_is(json, LC__JSON_ARRAY) || json->count != 4)
		return false;
	lc__json_each(item, json) if (!lc__json_double(item, out++)) return false;
	return true;
}

bool
lc__label_is_blank(const struct lc__json *json)
{
	const char *text = lc__json_text(json);

	return json == NULL || json->kind == LC__JSON_NULL ||
	    (text != NULL && text[strspn(text, " \t\r\n")] == '\0');
}

/* ---- MessagePack -------------------------------------------------------------- */

static void
pack_number(const struct lc__json *json, struct lc__buf *out)
{
	int64_t integer;
	uint64_t amount;
	double real = 0;

	if (lc__json_int64(json, &integer)) {
		lc__mpack_int(out, integer);
	} else if (lc__json_uint64(json, &amount)) {
		lc__mpack_uint(out, amount);
	} else {
		(void)lc__json_double(json, &real);
		lc__mpack_float(out, real);
	}
}

static bool
pack(const struct lc__json *json, unsigned depth, struct lc__buf *out)
{
	const struct lc__json *item;

	if (depth > LC__METADATA_DEPTH)
		return false;
	switch (json->kind) {
	case LC__JSON_OBJECT:
	case LC__JSON_ARRAY:
		if (json->kind == LC__JSON_OBJECT)
			lc__mpack_map(out, json->count);
		else
			lc__mpack_array(out, json->count);
		lc__json_each(item, json)
		{
			if (item->name != NULL)
				lc__mpack_str(out, item->name);
			if (!pack(item, depth + 1, out))
				return false;
		}
		break;
	case LC__JSON_STRING: lc__mpack_strn(out, json->string, json->string_size); break;
	case LC__JSON_NUMBER: pack_number(json, out); break;
	case LC__JSON_NULL: lc__mpack_nil(out); break;
	default: lc__mpack_boolean(out, json->kind == LC__JSON_TRUE);
	}
	return true;
}

bool
lc__metadata_pack_value(const struct lc__json *json, struct lc__buf *out)
{
	return pack(json, 1, out);
}

uint32_t
lc__metadata_count(const struct lc__json *object, lc__is_metadata is, const void *ctx)
{
	const struct lc__json *member;
	uint32_t n = 0;

	if (lc__json_is(object, LC__JSON_OBJECT))
		lc__json_each(member, object) n += is(ctx, member);
	return n;
}

bool
lc__metadata_pack(const struct lc__json *object, lc__is_metadata is, const void *ctx,
    struct lc__buf *out)
{
	const struct lc__json *member;

	if (!lc__json_is(object, LC__JSON_OBJECT))
		return true;
	lc__json_each(member, object)
	{
		if (!is(ctx, member))
			continue;
		lc__mpack_str(out, member->name);
		if (!pack(member, 1, out))
			return false;
	}
	return true;
}
