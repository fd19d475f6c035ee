/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/webdataset_sample.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "formats/webdataset_name.h"
#include "formats/parts.h"
#include "value/path.h"

struct lc__wds_member {
	char *extension; /* its last part in small letters */
	size_t name;     /* how much of it is the member's name */
	lc_value *value;
};

/* The name ends where the type begins, if there is anything before the type. What is
 * kept as bytes has to tell what they are, but for "bin". */
static size_t
name_size(const char *extension, const lc_value *value)
{
	const enum lc__wds_type type = lc__wds_type_of(extension);
	const char *dot = strrchr(extension, '.');

	if (dot == NULL || type == LC__WDS_OTHER ||
	    (type != LC__WDS_BYTES && lc_value_kind(value) == LC_BYTES))
		return strlen(extension);
	return (size_t)(dot - extension);
}

static void
lower_type(char *extension)
{
	char *dot = strrchr(extension, '.');

	if (lc__wds_type_of(extension) == LC__WDS_OTHER)
		return;
	for (char *p = dot != NULL ? dot : extension; *p != '\0'; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p += 'a' - 'A';
}

lc_status
lc__wds_sample_add(struct lc__wds_sample *sample, const char *extension,
    lc_value *value)
{
	char *copy = NULL;

	if (sample->count == LC__WDS_MEMBERS) {
		lc_value_free(value);
		return lc__error(LC_INVALID, 0, "more than %d members of one sample",
		    LC__WDS_MEMBERS);
	}
	if (lc__array_reserve(&sample->members, &sample->room, sample->count + 1, NULL) == LC_OK)
		copy = strdup(extension);
	if (copy == NULL) {
		lc_value_free(value);
		return lc__no_memory(NULL);
	}
	lower_type(copy);
	sample->members[sample->count++] = (struct lc__wds_member) {
		.extension = copy, .name = name_size(copy, value), .value = value
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

/* A dot comes before all others, so that what is part of a name follows it. */
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

static bool
leads_to(const struct lc__wds_member *a, const struct lc__wds_member *b)
{
	return a->name <= b->name && memcmp(a->extension, b->extension, a->name) == 0 &&
	    (a->name == b->name || b->extension[a->name] == '.');
}

/* Does every member have a path of its own, through no other member? */
static bool
have_paths(const struct lc__wds_sample *sample, const struct lc__wds_member **sorted)
{
	bool have = true;

	qsort(sorted, sample->count, sizeof(*sorted), by_name);
	for (size_t i = 0; i < sample->count && have; i++) {
		const char *name = sorted[i]->extension;
		const size_t n = sorted[i]->name;

		have = n > 0 && name[0] != '.' && name[n - 1] != '.' &&
		    memmem(name, n, "..", 2) == NULL &&
		    (i == 0 || !leads_to(sorted[i - 1], sorted[i]));
	}
	return have;
}

static lc_status
check_twice(const struct lc__wds_sample *sample, const struct lc__wds_member **sorted)
{
	qsort(sorted, sample->count, sizeof(*sorted), by_extension);
	for (size_t i = 1; i < sample->count; i++)
		if (strcasecmp(sorted[i - 1]->extension, sorted[i]->extension) == 0)
			return lc__error(LC_INVALID, 0, "%s is there twice",
			    lc__quote_id(sorted[i]->extension,
			    strlen(sorted[i]->extension)));
	return LC_OK;
}

/* *paths: can the names be paths? */
static lc_status
check_names(const struct lc__wds_sample *sample, bool *paths)
{
	const struct lc__wds_member **sorted = calloc(sample->count + 1,
	    sizeof(const struct lc__wds_member *));
	lc_status status;

	if (sorted == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < sample->count; i++)
		sorted[i] = &sample->members[i];
	status = check_twice(sample, sorted);
	if (status == LC_OK)
		*paths = have_paths(sample, sorted);
	free(sorted);
	return status;
}

/* ---- building --------------------------------------------------------------------- */

/* "a.b" as a path, with what is special in one written out. */
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
build_parts(struct lc__wds_sample *sample, lc_value **out)
{
	struct lc__parts parts = { 0 };
	lc_status status = LC_OK;

	for (size_t i = 0; i < sample->count && status == LC_OK; i++)
		status = add_part(&parts, &sample->members[i]);
	if (status == LC_OK)
		return lc__parts_build(&parts, out);
	lc__parts_free(&parts);
	return status;
}

static lc_status
build_flat(struct lc__wds_sample *sample, lc_value **out)
{
	lc_value *map = lc_value_map();
	lc_status status;

	for (size_t i = 0; i < sample->count; i++) {
		lc_value_set(map, sample->members[i].extension,
		    sample->members[i].value);
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
	lc_status status = LC_OK;
	bool paths = true;

	if (sample->count == 1 && strchr(sample->members[0].extension, '.') == NULL) {
		*out = sample->members[0].value;
		sample->members[0].value = NULL;
	} else {
		status = check_names(sample, &paths);
		if (status == LC_OK)
			status = paths ? build_parts(sample, out) :
			    build_flat(sample, out);
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
