/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/webdataset_sample.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/utf8.h"
#include "formats/formats.h"
#include "formats/loaded.h"
#include "formats/npz.h"
#include "formats/value_json.h"
#include "value/path.h"

/* ---- names ------------------------------------------------------------------- */

static const struct {
	const char *extension;
	enum lc__wds_type type;
} types[] = {
	{ "npy", LC__WDS_NPY },
	{ "npz", LC__WDS_NPZ },
	{ "jpg", LC__WDS_IMAGE },
	{ "jpeg", LC__WDS_IMAGE },
	{ "png", LC__WDS_IMAGE },
	{ "webp", LC__WDS_IMAGE },
	{ "tif", LC__WDS_IMAGE },
	{ "tiff", LC__WDS_IMAGE },
	{ "txt", LC__WDS_TEXT },
	{ "text", LC__WDS_TEXT },
	{ "transcript", LC__WDS_TEXT },
	{ "json", LC__WDS_JSON },
	{ "jsn", LC__WDS_JSON },
	{ "cls", LC__WDS_INTEGER },
	{ "cls2", LC__WDS_INTEGER },
	{ "class", LC__WDS_INTEGER },
	{ "count", LC__WDS_INTEGER },
	{ "index", LC__WDS_INTEGER },
	{ "inx", LC__WDS_INTEGER },
	{ "id", LC__WDS_INTEGER },
	{ "bin", LC__WDS_BYTES },
	{ "pyd", LC__WDS_PICKLE },
	{ "pickle", LC__WDS_PICKLE },
	{ "pkl", LC__WDS_PICKLE },
	{ "pth", LC__WDS_PICKLE },
};

enum lc__wds_type
lc__wds_type_of(const char *extension)
{
	const char *dot = strrchr(extension, '.');
	const char *last = dot != NULL ? dot + 1 : extension;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strcasecmp(last, types[i].extension) == 0)
			return types[i].type;
	return LC__WDS_OTHER;
}

bool
lc__wds_split(const char *name, size_t *key_size)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash != NULL ? slash + 1 : name;
	const char *dot = strchr(base, '.');

	if (dot == NULL || dot == base)
		return false;
	*key_size = (size_t)(dot - name);
	return true;
}

/* WebDataset skips a name whose first component begins and ends with two underscores. */
bool
lc__wds_is_meta(const char *name)
{
	const size_t first = strcspn(name, "/");

	return first >= 4 && strncmp(name, "__", 2) == 0 &&
	    strncmp(name + first - 2, "__", 2) == 0;
}

/* ---- one file ---------------------------------------------------------------- */

/* A value with memory of its own, as JSON or .npz; the memory goes to @p out. */
static lc_status
load_whole(enum lc__wds_type type, const struct lc__buf *bytes,
    const struct lc__incoming_how *how, struct lc__loaded *out, lc_value **part)
{
	struct lc__loaded loaded = { 0 };
	lc_status status = type == LC__WDS_JSON
	    ? lc__value_json_read(bytes->data, bytes->size, NULL, NULL, &loaded)
	    : lc__npz_read(bytes->data, bytes->size, how->raw_dtype, how->limit, &loaded);

	for (size_t i = 0; i < loaded.count && status == LC_OK; i++) {
		status = lc__loaded_own(out, loaded.blocks[i]);
		loaded.blocks[i] = NULL;
	}
	if (status == LC_OK) {
		*part = loaded.value;
		loaded.value = NULL;
	}
	lc__loaded_free(&loaded);
	return status;
}

static bool
is_space(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Digits of a number up to @p most; false if there is anything else. */
static bool
read_digits(const unsigned char *at, const unsigned char *end, uint64_t most,
    uint64_t *out)
{
	uint64_t number = 0;

	if (at == end)
		return false;
	for (; at < end; at++) {
		const unsigned digit = *at - (unsigned)'0';

		if (digit > 9 || number > (most - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*out = number;
	return true;
}

/* An integer as Python's int() reads it, except that underscores are refused. */
static lc_status
load_integer(const struct lc__buf *bytes, lc_value **part)
{
	const unsigned char *at = bytes->data, *end = at + bytes->size;
	bool negative = false;
	uint64_t number;

	while (at < end && is_space(*at))
		at++;
	while (end > at && is_space(end[-1]))
		end--;
	if (at < end && (*at == '-' || *at == '+'))
		negative = *at++ == '-';
	if (!read_digits(at, end, negative ? (uint64_t)1 << 63 : UINT64_MAX, &number))
		return lc__error(LC_CORRUPT, 0, "not an integer from -2^63 to 2^64-1");
	*part = negative ? lc_value_integer((int64_t)(0 - number))
			 : lc_value_unsigned(number);
	return LC_OK;
}

lc_status
lc__wds_load(const char *extension, struct lc__buf *bytes,
    const struct lc__incoming_how *how, struct lc__loaded *out, lc_value **part)
{
	const enum lc__wds_type type = lc__wds_type_of(extension);
	const void *data = bytes->size > 0 ? (const void *)bytes->data : "";
	lc_status status = LC_OK;

	*part = NULL;
	switch (type) {
	case LC__WDS_TEXT:
		if (lc__utf8_valid(bytes->data, bytes->size))
			*part = lc_value_strn(data, bytes->size);
		else
			status = lc__error(LC_CORRUPT, 0, "text that is not UTF-8");
		break;
	case LC__WDS_JSON:
	case LC__WDS_NPZ: status = load_whole(type, bytes, how, out, part); break;
	case LC__WDS_INTEGER: status = load_integer(bytes, part); break;
	case LC__WDS_BYTES: *part = lc_value_bytes(data, bytes->size); break;
	case LC__WDS_PICKLE:
		if (how->raw)
			*part = lc_value_bytes(data, bytes->size);
		else
			status = lc__error(LC_UNSUPPORTED, 0,
			    "pickled data, which runs as a program, is never loaded");
		break;
	default: return lc__payload_load(bytes, how, out, part);
	}
	lc__buf_free(bytes);
	memset(bytes, 0, sizeof(*bytes));
	if (status == LC_OK && *part == NULL)
		return lc__no_memory(NULL);
	return status;
}

/* ---- one sample -------------------------------------------------------------- */

struct lc__wds_member {
	char *extension; /* its last part in small letters */
	size_t name;     /* how much of it is the member's name */
	lc_value *value;
};

lc_status
lc__wds_sample_add(struct lc__wds_sample *sample, const char *extension, lc_value *value)
{
	char *copy = NULL, *dot;
	enum lc__wds_type type;
	bool whole;

	if (sample->count == LC__WDS_MEMBERS) {
		lc_value_free(value);
		return lc__error(LC_INVALID, 0, "more than %d members of one sample",
		    LC__WDS_MEMBERS);
	}
	if (lc__array_reserve(&sample->members, &sample->room, sample->count + 1, NULL) ==
	    LC_OK)
		copy = strdup(extension);
	if (copy == NULL) {
		lc_value_free(value);
		return lc__no_memory(NULL);
	}
	type = lc__wds_type_of(copy);
	dot = strrchr(copy, '.');
	if (type != LC__WDS_OTHER)
		for (char *p = dot != NULL ? dot : copy; *p != '\0'; p++)
			if (*p >= 'A' && *p <= 'Z')
				*p += 'a' - 'A';
	/* The name ends where the type begins, if there is anything before the type. A
	 * member that is kept as bytes keeps its type too, other than "bin". */
	whole = dot == NULL || type == LC__WDS_OTHER ||
	    (type != LC__WDS_BYTES && lc_value_kind(value) == LC_BYTES);
	sample->members[sample->count++] = (struct lc__wds_member){
		.extension = copy,
		.name = whole ? strlen(copy) : (size_t)(dot - copy),
		.value = value,
	};
	return LC_OK;
}

/* ---- names that exclude each other ---------------------------------------------- */

static int
by_extension(const void *a, const void *b)
{
	const struct lc__wds_member *const *x = a, *const *y = b;

	return strcasecmp((*x)->extension, (*y)->extension);
}

/* A dot sorts before all others, so that "a.b" follows "a" at once. */
static unsigned
weight(char c)
{
	return c == '.' ? 0 : 1 + (unsigned)(unsigned char)c;
}

static int
by_name(const void *a, const void *b)
{
	const struct lc__wds_member *const *x = a, *const *y = b;
	const size_t n = (*x)->name < (*y)->name ? (*x)->name : (*y)->name;

	for (size_t i = 0; i < n; i++) {
		const unsigned u = weight((*x)->extension[i]);
		const unsigned v = weight((*y)->extension[i]);

		if (u != v)
			return u < v ? -1 : 1;
	}
	return ((*x)->name > (*y)->name) - ((*x)->name < (*y)->name);
}

/* Does every member have a path of its own, through no other member? */
static bool
have_paths(const struct lc__wds_sample *sample, const struct lc__wds_member **sorted)
{
	bool have = true;

	qsort(sorted, sample->count, sizeof(*sorted), by_name);
	for (size_t i = 0; i < sample->count && have; i++) {
		const struct lc__wds_member *before = i > 0 ? sorted[i - 1] : NULL;
		const char *name = sorted[i]->extension;
		const size_t n = sorted[i]->name;
		const bool leads = before != NULL && before->name <= n &&
		    memcmp(before->extension, name, before->name) == 0 &&
		    (before->name == n || name[before->name] == '.');

		have = !leads && n > 0 && name[0] != '.' && name[n - 1] != '.' &&
		    memmem(name, n, "..", 2) == NULL;
	}
	return have;
}

/* *paths: can the names be paths? */
static lc_status
check_names(const struct lc__wds_sample *sample, bool *paths)
{
	const struct lc__wds_member **sorted = calloc(sample->count + 1,
	    sizeof(const struct lc__wds_member *));
	lc_status status = LC_OK;

	if (sorted == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < sample->count; i++)
		sorted[i] = &sample->members[i];
	qsort(sorted, sample->count, sizeof(*sorted), by_extension);
	for (size_t i = 1; i < sample->count && status == LC_OK; i++)
		if (strcasecmp(sorted[i - 1]->extension, sorted[i]->extension) == 0)
			status = lc__error(LC_INVALID, 0, "%s occurs twice",
			    lc__quote_id(sorted[i]->extension,
				strlen(sorted[i]->extension)));
	if (status == LC_OK)
		*paths = have_paths(sample, sorted);
	free(sorted);
	return status;
}

/* ---- building --------------------------------------------------------------------- */

/* "a.b" as a path, with characters that are special in paths escaped. */
static lc_status
add_part(struct lc__parts *parts, struct lc__wds_member *member)
{
	lc_value *value = member->value;
	struct lc__buf path = { 0 };
	char *step = member->extension, *next = step;
	lc_status status;

	member->value = NULL;
	step[member->name] = '\0';
	while ((step = strsep(&next, ".")) != NULL)
		lc__path_name(&path, step);
	if (path.failed) {
		lc_value_free(value);
		status = lc__no_memory(NULL);
	} else {
		status = lc__parts_add(parts, lc__path_text(&path), value);
	}
	lc__buf_free(&path);
	return status;
}

static lc_status
build_flat(struct lc__wds_sample *sample, lc_value **out)
{
	lc_value *map = lc_value_map();
	lc_status status;

	for (size_t i = 0; i < sample->count; i++) {
		lc_value_set(map, sample->members[i].extension, sample->members[i].value);
		sample->members[i].value = NULL;
	}
	status = lc_value_check(map);
	if (status == LC_OK)
		*out = map;
	else
		lc_value_free(map);
	return status;
}

lc_status
lc__wds_sample_build(struct lc__wds_sample *sample, lc_value **out)
{
	struct lc__parts parts = { 0 };
	lc_status status = LC_OK;
	bool paths = true;

	if (sample->count == 1 && strchr(sample->members[0].extension, '.') == NULL) {
		*out = sample->members[0].value;
		sample->members[0].value = NULL;
	} else {
		status = check_names(sample, &paths);
		if (status == LC_OK && !paths) {
			status = build_flat(sample, out);
		} else if (status == LC_OK) {
			for (size_t i = 0; i < sample->count && status == LC_OK; i++)
				status = add_part(&parts, &sample->members[i]);
			if (status == LC_OK)
				status = lc__parts_build(&parts, out);
			lc__parts_free(&parts);
		}
	}
	lc__wds_sample_free(sample);
	return status;
}

void
lc__wds_sample_free(struct lc__wds_sample *sample)
{
	for (size_t i = 0; i < sample->count; i++) {
		lc_value_free(sample->members[i].value);
		free(sample->members[i].extension);
	}
	free(sample->members);
	memset(sample, 0, sizeof(*sample));
}
