/* SPDX-License-Identifier: BSD-2-Clause */
#include "migrate/entry.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_number.h"
#include "base/json_write.h"

static const char *const names[LC__ENTRY_MEMBERS] = {
	[LC__ENTRY_PATH] = "image_path",
	[LC__ENTRY_HEIGHT] = "height",
	[LC__ENTRY_WIDTH] = "width",
	[LC__ENTRY_ID] = "image_id",
	[LC__ENTRY_BUCKET] = "aspect_bucket",
	[LC__ENTRY_VERSION] = "format_version",
};

lc_status
lc__entry_error(const struct lc__line_entry *entry, const char *at, const char *format,
    ...)
{
	char text[700];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return lc__error(LC_INVALID, 0, "column %zu: %s",
	    (size_t)(at - entry->line.text) + 1, text);
}

void
lc__entry_free(struct lc__line_entry *entry)
{
	lc__buf_free(&entry->path);
	lc__buf_free(&entry->id);
}

/* Which of the members has this name; LC__ENTRY_MEMBERS for none. */
static enum lc__entry_member
which(struct lc__json_slice name, const char *array)
{
	for (int i = 0; i < LC__ENTRY_MEMBERS; i++)
		if (lc__json_name_is(name, i == LC__ENTRY_ARRAY ? array : names[i]))
			return (enum lc__entry_member)i;
	return LC__ENTRY_MEMBERS;
}

static lc_status
note(struct lc__line_entry *out, const struct lc__json_member *member, const char *array)
{
	const enum lc__entry_member i = which(member->name, array);

	if (out->count == 0)
		out->first = *member;
	if (out->count == 1)
		out->second = *member;
	out->last = *member;
	out->count++;
	if (i == LC__ENTRY_MEMBERS)
		return LC_OK;
	if (out->members[i].name.text != NULL)
		return lc__entry_error(out, member->name.text, "%s occurs twice",
		    i == LC__ENTRY_ARRAY ? array : names[i]);
	out->members[i] = *member;
	return LC_OK;
}

/* Parse the whole line, even after a repeated member. */
static lc_status
read_members(struct lc__line_entry *out, const char *array)
{
	struct lc__json_members all;
	struct lc__json_member member;
	lc_status status, noted = LC_OK;
	lc_error error = { .status = LC_OK };

	return_if_error(lc__json_object(out->line.text, out->line.size, &all));
	while ((status = lc__json_next(&all, &member)) == LC_OK) {
		if (noted != LC_OK)
			continue;
		noted = note(out, &member, array);
		if (noted != LC_OK)
			error = *lc_last_error();
	}
	if (status != LC_END)
		return status;
	return noted == LC_OK ? LC_OK : lc__error_raise(&error);
}

static lc_status
read_path(struct lc__line_entry *out)
{
	const struct lc__json_member *member = &out->members[LC__ENTRY_PATH];
	lc_status status;

	out->path.size = 0;
	if (member->name.text == NULL || member->kind == LC__JSON_NULL)
		return lc__entry_error(out, out->line.text, "no image_path");
	if (member->kind != LC__JSON_STRING)
		return lc__entry_error(out, member->value.text,
		    "image_path is not a string");
	status = lc__json_unescape(member->value, &out->path);
	if (status == LC_CORRUPT)
		return lc__entry_error(out, member->value.text,
		    "image_path has half of a surrogate pair");
	if (status == LC_OK && out->path.size == 0)
		return lc__entry_error(out, member->value.text, "image_path is empty");
	return status;
}

/* An image_id that is not a string is kept, but has no id. */
static lc_status
read_id(struct lc__line_entry *out)
{
	const struct lc__json_member *member = &out->members[LC__ENTRY_ID];
	lc_status status;

	out->id.size = 0;
	out->named = member->name.text != NULL && member->kind != LC__JSON_NULL &&
	    !(member->kind == LC__JSON_STRING && member->value.size == strlen("\"\""));
	if (!out->named || member->kind != LC__JSON_STRING)
		return LC_OK;
	status = lc__json_unescape(member->value, &out->id);
	if (status == LC_CORRUPT)
		out->id.size = 0;
	return status == LC_CORRUPT ? LC_OK : status;
}

static bool
integer_of(const struct lc__json_member *member, uint64_t *out)
{
	struct lc__json_number number;

	return member->kind == LC__JSON_NUMBER &&
	    lc__json_number(member->value.text, member->value.text + member->value.size,
		&number) != NULL &&
	    !number.negative && lc__json_number_integer(&number, out);
}

/* 0 if it is missing or null. */
static lc_status
read_side(const struct lc__line_entry *entry, enum lc__entry_member i, uint32_t *out)
{
	const struct lc__json_member *member = &entry->members[i];
	uint64_t number;

	*out = 0;
	if (member->name.text == NULL || member->kind == LC__JSON_NULL)
		return LC_OK;
	if (!integer_of(member, &number) || number == 0 || number > UINT32_MAX)
		return lc__entry_error(entry, member->value.text,
		    "%s is not a number of pixels", names[i]);
	*out = (uint32_t)number;
	return LC_OK;
}

/* A number above 2 is an unknown version, whatever the number. */
static lc_status
read_version(struct lc__line_entry *out)
{
	const struct lc__json_member *member = &out->members[LC__ENTRY_VERSION];
	struct lc__json_number number;

	out->newer = false;
	if (member->name.text == NULL || member->kind == LC__JSON_NULL)
		return LC_OK;
	if (member->kind != LC__JSON_NUMBER ||
	    lc__json_number(member->value.text, member->value.text + member->value.size,
		&number) == NULL)
		return lc__entry_error(out, member->value.text,
		    "format_version is not a number");
	out->newer = lc__json_number_double(&number) > 2;
	return LC_OK;
}

bool
lc__entry_has_bucket(const struct lc__line_entry *entry)
{
	const struct lc__json_member *member = &entry->members[LC__ENTRY_BUCKET];
	const struct lc__json_slice text = member->value;
	unsigned width, height;
	int size = 0;
	char copy[32];

	if (member->name.text == NULL || member->kind != LC__JSON_STRING ||
	    text.size < 2 || text.size >= sizeof(copy))
		return false;
	memcpy(copy, text.text + 1, text.size - 2);
	copy[text.size - 2] = '\0';
	return sscanf(copy, "%5ux%5u%n", &width, &height, &size) == 2 &&
	    (size_t)size == text.size - 2 && width > 0 && height > 0;
}

lc_status
lc__entry_read(const char *line, size_t size, const char *array,
    struct lc__line_entry *out)
{
	const struct lc__json_member *member = &out->members[LC__ENTRY_ARRAY];
	uint64_t version;

	memset(out->members, 0, sizeof(out->members));
	out->line = (struct lc__json_slice){ line, size };
	out->count = 0;
	out->v2 = out->array = out->named = false;
	return_if_error(read_members(out, array));
	return_if_error(read_version(out));
	if (out->newer)
		return LC_OK;
	return_if_error(read_path(out));
	return_if_error(read_id(out));
	return_if_error(read_side(out, LC__ENTRY_HEIGHT, &out->height));
	return_if_error(read_side(out, LC__ENTRY_WIDTH, &out->width));
	if (member->name.text != NULL && member->kind != LC__JSON_NULL) {
		if (member->kind != LC__JSON_ARRAY)
			return lc__entry_error(out, member->value.text,
			    "%s is not an array", array);
		out->array = true;
	}
	out->v2 = out->members[LC__ENTRY_VERSION].name.text != NULL &&
	    integer_of(&out->members[LC__ENTRY_VERSION], &version) && version == 2 &&
	    out->id.size > 0 && out->members[LC__ENTRY_BUCKET].name.text != NULL &&
	    out->members[LC__ENTRY_BUCKET].kind == LC__JSON_STRING;
	return LC_OK;
}

/* ---- the new line ------------------------------------------------------------ */

/* The separators after a comma and a colon in this line: one blank or none. */
struct style {
	const char *comma, *colon;
	bool ascii;
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool
is_ascii(const char *at, const char *end)
{
	for (; at < end; at++)
		if ((unsigned char)*at >= 0x80)
			return false;
	return true;
}

static const char *
end_of(struct lc__json_slice slice)
{
	return slice.text + slice.size;
}

static void
put(struct lc__buf *out, const char *text)
{
	lc__buf_append(out, text, strlen(text));
}

static void
put_value(struct lc__buf *out, enum lc__entry_member i, const struct lc__entry_news *news,
    bool ascii)
{
	if (i == LC__ENTRY_VERSION) {
		put(out, "2");
		return;
	}
	put(out, "\"");
	if (i == LC__ENTRY_ID)
		lc__json_put_text(out, news->id.data, news->id.size,
		    ascii ? LC__JSON_ASCII : 0);
	else
		put(out, news->bucket);
	put(out, "\"");
}

/* The position up to which a line was copied, while parts of it are omitted or
 * replaced. */
struct copying {
	const struct lc__line_entry *entry;
	struct lc__buf *out;
	const char *at;
};

static void
copy_to(struct copying *copying, const char *to)
{
	lc__buf_append(copying->out, copying->at, (size_t)(to - copying->at));
	copying->at = to;
}

/* The array with one comma: the one before it, or for the first member the one after
 * it. */
static void
cut(struct copying *copying)
{
	const struct lc__json_member *array = &copying->entry->members[LC__ENTRY_ARRAY];

	if (array->name.text == copying->entry->first.name.text) {
		copy_to(copying, array->name.text - 1);
		copying->at = copying->entry->count > 1
		    ? copying->entry->second.name.text - 1
		    : end_of(array->value);
	} else {
		copy_to(copying, array->whole.text - 1);
		copying->at = end_of(array->value);
	}
}

static bool
is_new(const struct lc__entry_news *news, int i)
{
	return (news->upgrade && i >= LC__ENTRY_ID) || (news->name && i == LC__ENTRY_ID);
}

/* Add new members that are missing. */
static void
add_members(struct copying *copying, const struct lc__entry_news *news,
    const struct style *style)
{
	copy_to(copying, end_of(copying->entry->last.value));
	for (int i = LC__ENTRY_ID; i <= LC__ENTRY_VERSION; i++) {
		if (copying->entry->members[i].name.text != NULL || !is_new(news, i))
			continue;
		put(copying->out, ",");
		put(copying->out, style->comma);
		put(copying->out, "\"");
		put(copying->out, names[i]);
		put(copying->out, "\":");
		put(copying->out, style->colon);
		put_value(copying->out, (enum lc__entry_member)i, news, style->ascii);
	}
}

/* The next member to change, after `at`; LC__ENTRY_MEMBERS if there is none. */
static enum lc__entry_member
next_change(const struct lc__line_entry *entry, const struct lc__entry_news *news,
    const char *at)
{
	enum lc__entry_member found = LC__ENTRY_MEMBERS;
	const char *least = NULL;

	for (int i = 0; i < LC__ENTRY_MEMBERS; i++) {
		const char *name = entry->members[i].name.text;
		const bool changed = i == LC__ENTRY_ARRAY ? news->cut : is_new(news, i);
		if (!changed || name == NULL || name <= at ||
		    (least != NULL && name > least))
			continue;
		least = name;
		found = (enum lc__entry_member)i;
	}
	return found;
}

lc_status
lc__entry_write(const struct lc__line_entry *entry, const struct lc__entry_news *news,
    struct lc__buf *out)
{
	const struct lc__json_slice array = entry->members[LC__ENTRY_ARRAY].value;
	const char *const end = end_of(entry->line);
	const bool colon = is_blank(entry->first.value.text[-1]);
	const bool comma = entry->count > 1 ? is_blank(entry->second.name.text[-2])
					    : colon;
	struct copying copying = { entry, out, entry->line.text };
	struct style style = { comma ? " " : "", colon ? " " : "", true };
	const char *done = entry->line.text;
	enum lc__entry_member i;

	/* The array, which is nearly all of the line, is ASCII if it can be extracted. */
	if (array.text == NULL)
		style.ascii = is_ascii(entry->line.text, end);
	else
		style.ascii = is_ascii(entry->line.text, array.text) &&
		    is_ascii(end_of(array), end);
	while ((i = next_change(entry, news, done)) != LC__ENTRY_MEMBERS) {
		const struct lc__json_member *member = &entry->members[i];
		done = member->name.text;
		if (i == LC__ENTRY_ARRAY) {
			cut(&copying);
			continue;
		}
		copy_to(&copying, member->value.text);
		put_value(out, i, news, style.ascii);
		copying.at = end_of(member->value);
	}
	add_members(&copying, news, &style);
	copy_to(&copying, end_of(entry->line));
	return out->failed ? lc__no_memory(NULL) : LC_OK;
}
