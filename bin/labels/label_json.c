/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/json_scan.h"
#include "base/mpack.h"
#include "labels/label_json.h"

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

/* How much is read at once. */
#define WINDOW ((size_t)1 << 16)

struct stream {
	struct lc__json_scan scan; /* first: read_more() gets it */
	int fd;
	const char *path;
	char *window;
	size_t room;
	bool too_large;   /* an element is */
	lc_status status; /* of reading */
	const char *const *names;
	bool seen[LC__JSON_MEMBERS];
	lc__json_found found;
	void *ctx;
};

static lc_status
malformed(struct stream *s, const char *what)
{
	if (s->status != LC_OK)
		return s->status;
	return lc__error(LC_CORRUPT, 0, "%s: byte %llu: %s", s->path,
	    (unsigned long long)lc__json_offset(&s->scan), what);
}

/* What the scanner found wrong. */
static lc_status
malformed_value(struct stream *s)
{
	if (s->too_large)
		return malformed(s, "a value is too large");
	return malformed(s,
	    lc__json_peek(&s->scan) == -1 ? "the file ends within a value"
					  : s->scan.wrong);
}

/* lc__json_scan.more: read the next part of the file. */
static bool
read_more(struct lc__json_scan *scan)
{
	struct stream *s = (struct stream *)scan;
	const char *const keep = scan->keep != NULL ? scan->keep : scan->at;
	const size_t kept = (size_t)(scan->end - keep),
		     dropped = (size_t)(keep - scan->begin);
	const size_t at = (size_t)(scan->at - keep);
	size_t got;

	if (kept > LC__JSON_ELEMENT_MAX)
		s->too_large = true;
	if (s->too_large || s->status != LC_OK)
		return false;
	if (kept > 0)
		memmove(s->window, keep, kept);
	s->status = lc__array_reserve(&s->window, &s->room, kept + WINDOW, s->path);
	got = 0;
	if (s->status == LC_OK)
		s->status = lc__read_full(s->fd, s->window + kept, WINDOW, &got, s->path);
	if (s->status != LC_OK)
		got = 0;
	scan->before += dropped;
	scan->begin = s->window;
	scan->at = s->window + at;
	scan->end = s->window + kept + got;
	if (scan->keep != NULL)
		scan->keep = s->window;
	return got > 0;
}

/* ---- the outermost object ------------------------------------------------------ */

static lc_status
take_list(struct stream *s, size_t member)
{
	struct lc__json_scan *const scan = &s->scan;
	char what[64];

	snprintf(what, sizeof(what), "%.40s is not a list", s->names[member]);
	if (!lc__json_accept(scan, '['))
		return malformed(s, what);
	if (lc__json_accept(scan, ']'))
		return LC_OK;
	do {
		struct lc__json_element element = { .member = member };
		size_t size;
		(void)lc__json_peek(scan);
		element.offset = lc__json_offset(scan);
		scan->keep = scan->at;
		if (!lc__json_skip_unchecked(scan))
			return malformed_value(s);
		element.text = scan->keep;
		size = (size_t)(scan->at - scan->keep);
		scan->keep = NULL;
		if (size > LC__JSON_ELEMENT_MAX)
			return malformed(s, "a value is too large");
		element.size = (uint32_t)size;
		return_if_error(s->status);
		return_if_error(s->found(s->ctx, &element));
	} while (lc__json_accept(scan, ','));
	return lc__json_accept(scan, ']') ? LC_OK : malformed(s, "neither , nor ]");
}

static lc_status
take_member(struct stream *s)
{
	struct lc__json_scan *const scan = &s->scan;
	size_t member = LC__JSON_MEMBERS;
	struct lc__json_slice name;
	bool good;

	if (lc__json_peek(scan) != '"')
		return malformed(s, "no name of a member");
	scan->keep = scan->at;
	good = lc__json_skip_string(scan);
	name = (struct lc__json_slice){ scan->keep + 1,
		(size_t)(scan->at - scan->keep) - 2 };
	scan->keep = NULL;
	if (!good)
		return malformed_value(s);
	for (size_t i = 0; s->names[i] != NULL; i++)
		if (lc__json_name_is(name, s->names[i]))
			member = i;
	if (!lc__json_accept(scan, ':'))
		return malformed(s, "no : after a name");

	if (member == LC__JSON_MEMBERS)
		return lc__json_skip_unchecked(scan) ? LC_OK : malformed_value(s);
	if (s->seen[member])
		return malformed(s, "a member is there again");
	s->seen[member] = true;
	return take_list(s, member);
}

static lc_status
take_object(struct stream *s)
{
	struct lc__json_scan *const scan = &s->scan;

	/* The whole of the mark is in the first window, for a file that has more. */
	if (read_more(scan))
		scan->at += lc__utf8_mark(scan->at, (size_t)(scan->end - scan->at));
	if (!lc__json_accept(scan, '{'))
		return malformed(s, "not an object");
	if (!lc__json_accept(scan, '}')) {
		do
			return_if_error(take_member(s));
		while (lc__json_accept(scan, ','));
		if (!lc__json_accept(scan, '}'))
			return malformed(s, "neither , nor }");
	}
	return lc__json_peek(scan) == -1 && s->status == LC_OK
	    ? LC_OK
	    : malformed(s, "something follows the object");
}

lc_status
lc__json_stream(int fd, const char *path, const char *const *names, size_t needed,
    lc__json_found found, void *ctx)
{
	struct stream s = {
		.scan = { .more = read_more },
		.fd = fd,
		.path = path,
		.names = names,
		.found = found,
		.ctx = ctx,
	};
	lc_status status = take_object(&s);

	for (size_t i = 0; i < needed && status == LC_OK; i++)
		if (!s.seen[i])
			status = lc__error(LC_CORRUPT, 0, "%s: no member %s", path,
			    names[i]);
	free(s.window);
	return status;
}
