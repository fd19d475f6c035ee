/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/jsonfields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_write.h"
#include "formats/value_json.h"
#include "ui/report.h"

struct leaf {
	char *path;
	char *value; /* JSON */
};

struct leaves {
	struct leaf *all;
	size_t n, room;
	int failed; /* no memory */
};

static void
leaves_free(struct leaves *leaves)
{
	for (size_t i = 0; i < leaves->n; i++) {
		free(leaves->all[i].path);
		free(leaves->all[i].value);
	}
	free(leaves->all);
}

/* Take path and value over. */
static void
add(struct leaves *leaves, char *path, char *value)
{
	if (path == NULL || value == NULL ||
	    lc__array_reserve(&leaves->all, &leaves->room, leaves->n + 1, NULL) !=
		LC_OK) {
		leaves->failed = 1;
		free(path);
		free(value);
		return;
	}
	leaves->all[leaves->n++] = (struct leaf){ path, value };
}

static char *
join(const char *path, const char *name, size_t i)
{
	const char *dot = *path != '\0' ? "." : "";
	char *out;
	const int n = name != NULL ? asprintf(&out, "%s%s%s", path, dot, name)
				   : asprintf(&out, "%s%s%zu", path, dot, i);

	return n < 0 ? NULL : out;
}

/* Objects and lists by their members; the empty ones are values. */
static void
walk(struct leaves *leaves, const char *path, const lc_value *value)
{
	const size_t n = lc_value_count(value);

	if (n == 0) {
		add(leaves, strdup(path), lc__value_json_text(value));
		return;
	}
	for (size_t i = 0; i < n && !leaves->failed; i++) {
		char *inner = join(path, lc_value_name(value, i), i);

		if (inner == NULL)
			leaves->failed = 1;
		else
			walk(leaves, inner, lc_value_at(value, i));
		free(inner);
	}
}

static char *
quoted(const char *text)
{
	struct lc__buf out = { 0 };
	FILE *stream = lc__buf_stream(&out);

	if (stream == NULL)
		return NULL;
	lc__json_string(stream, text, strlen(text));
	if (lc__buf_stream_end(stream, &out))
		return (char *)out.data;
	lc__buf_free(&out);
	return NULL;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct leaf *)a)->path, ((const struct leaf *)b)->path);
}

static void
read_leaves(const char *text, struct leaves *out)
{
	struct lc__loaded loaded = { 0 };

	const lc_status status = lc__value_json_read(text, strlen(text), NULL, NULL,
	    &loaded);

	if (status == LC_OK)
		walk(out, "", loaded.value);
	else if (status == LC_NO_MEMORY)
		out->failed = 1;
	else
		add(out, strdup(""), quoted(text));
	lc__loaded_free(&loaded);
	if (out->n > 0)
		qsort(out->all, out->n, sizeof(*out->all), by_path);
}

static void
merge(const struct leaves *old, const struct leaves *new,
    void (*differs)(void *, const char *, const char *, const char *), void *ctx)
{
	size_t i = 0, j = 0;

	while (i < old->n || j < new->n) {
		const struct leaf *a = i < old->n ? &old->all[i] : NULL;
		const struct leaf *b = j < new->n ? &new->all[j] : NULL;
		const int order = a == NULL ? 1
		    : b == NULL             ? -1
					    : strcmp(a->path, b->path);

		i += order <= 0;
		j += order >= 0;
		if (order < 0)
			differs(ctx, a->path, a->value, NULL);
		else if (order > 0)
			differs(ctx, b->path, NULL, b->value);
		else if (strcmp(a->value, b->value) != 0)
			differs(ctx, a->path, a->value, b->value);
	}
}

int
jsonfields_compare(const char *old_text, const char *new_text,
    void (*differs)(void *ctx, const char *path, const char *old, const char *new),
    void *ctx)
{
	struct leaves old = { 0 }, new = { 0 };
	int status = EXIT_DONE;

	read_leaves(old_text, &old);
	read_leaves(new_text, &new);
	if (old.failed || new.failed) {
		status = report_no_memory();
	} else {
		merge(&old, &new, differs, ctx);
	}
	leaves_free(&old);
	leaves_free(&new);
	return status;
}
