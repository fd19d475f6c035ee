/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/jsonsize.h"

#include <string.h>

#include "base/error.h"
#include "base/json_number.h"
#include "base/json_scan.h"

/* No side is so short. */
#define NOT_SEEN 0

static lc_status
read_side(const struct lc__json_member *member, const char *field, uint32_t *out)
{
	const char *const end = member->value.text + member->value.size;
	struct lc__json_number number;
	uint64_t side;

	if (*out != NOT_SEEN)
		return lc__error(LC_CORRUPT, 0, "field %s comes twice", field);
	if (member->kind != LC__JSON_NUMBER ||
	    lc__json_number(member->value.text, end, &number) != end || number.negative ||
	    !lc__json_number_integer(&number, &side) || side == 0 || side > UINT32_MAX)
		return lc__error(LC_CORRUPT, 0, "field %s is no number of pixels: %.*s",
		    field, (int)(member->value.size < 40 ? member->value.size : 40),
		    member->value.text);
	*out = (uint32_t)side;
	return LC_OK;
}

static lc_status
read_name(const struct lc__json_member *member, const char *field, struct lc__buf *name,
    struct jsonsize *out)
{
	if (member->kind != LC__JSON_STRING)
		return LC_OK;
	name->size = 0;
	return_if_error(lc__json_unescape(member->value, name));
	if (name->size > 0 && memchr(name->data, '\0', name->size) != NULL)
		return lc__error(LC_CORRUPT, 0, "field %s has a NUL", field);
	if (lc__buf_append(name, "", 1) == NULL)
		return lc__no_memory(NULL);
	out->named = true;
	return LC_OK;
}

static lc_status
read_member(const struct jsonsize_fields *fields, const struct lc__json_member *member,
    struct lc__buf *name, struct jsonsize *out)
{
	if (lc__json_name_is(member->name, fields->width))
		return_if_error(read_side(member, fields->width, &out->width));
	if (lc__json_name_is(member->name, fields->height))
		return_if_error(read_side(member, fields->height, &out->height));
	if (lc__json_name_is(member->name, fields->name))
		return read_name(member, fields->name, name, out);
	return LC_OK;
}

lc_status
jsonsize_read(const struct jsonsize_fields *fields, const char *text, size_t size,
    struct lc__buf *name, struct jsonsize *out)
{
	struct jsonsize got = { .width = NOT_SEEN, .height = NOT_SEEN };
	struct lc__json_members members;
	struct lc__json_member member;
	lc_status status;

	return_if_error(lc__json_object(text, size, &members));
	while ((status = lc__json_next(&members, &member)) == LC_OK)
		return_if_error(read_member(fields, &member, name, &got));
	if (status != LC_END)
		return status;
	if (got.width == NOT_SEEN)
		return lc__error(LC_CORRUPT, 0, "no field %s", fields->width);
	if (got.height == NOT_SEEN)
		return lc__error(LC_CORRUPT, 0, "no field %s", fields->height);
	*out = got;
	return LC_OK;
}
