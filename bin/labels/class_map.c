/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/class_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/utf8.h"
#include "format/manifest.h"
#include "labels/label.h"

/* A longer file is not a plausible list of classes. */
#define MAX_BYTES ((uint64_t)16 << 20)

/* A class map that is being read. */
struct reader {
	struct lc__class_map *map;
	size_t line;          /* number of the line, from 1 */
	const char *at, *end; /* the rest of the line */
};

static lc_status
bad(const struct reader *r, const char *what)
{
	return lc__error(LC_INVALID, 0, "%s: line %zu: %s", r->map->path, r->line, what);
}

/* ---- words ------------------------------------------------------------------- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void
skip_blanks(struct reader *r)
{
	while (r->at < r->end && is_blank(*r->at))
		r->at++;
}

static lc_status
read_quoted(struct reader *r, struct lc__buf *word)
{
	for (r->at++; r->at < r->end; r->at++) {
		if (*r->at != '"')
			lc__buf_append(word, r->at, 1);
		else if (r->at + 1 < r->end && r->at[1] == '"')
			lc__buf_append(word, r->at++, 1);
		else
			break;
	}
	if (r->at == r->end)
		return bad(r, "a quote has no end");
	r->at++;
	skip_blanks(r);
	return LC_OK;
}

/* The word before one of @p stops or the end of the line, malloc'ed. */
static lc_status
read_word(struct reader *r, const char *stops, char **out, bool *quoted)
{
	struct lc__buf word = { 0 };
	lc_status status = LC_OK;

	skip_blanks(r);
	*quoted = r->at < r->end && *r->at == '"';
	if (*quoted) {
		status = read_quoted(r, &word);
	} else {
		const char *start = r->at, *last;
		while (r->at < r->end && strchr(stops, *r->at) == NULL)
			r->at++;
		for (last = r->at; last > start && is_blank(last[-1]);)
			last--;
		lc__buf_append(&word, start, (size_t)(last - start));
	}
	lc__buf_append(&word, "", 1);
	if (status == LC_OK && word.failed)
		status = lc__no_memory(r->map->path);
	if (status == LC_OK && r->at < r->end && strchr(stops, *r->at) == NULL)
		status = bad(r, "there is more after a quoted name");
	if (status == LC_OK && *word.data == '\0')
		status = bad(r, "a name is empty");
	if (status == LC_OK)
		*out = (char *)word.data;
	else
		lc__buf_free(&word);
	return status;
}

/* ---- lines ------------------------------------------------------------------- */

static lc_status
twice(const struct reader *r, const char *name, size_t line)
{
	return lc__error(LC_INVALID, 0, "%s: line %zu: '%.100s' is in line %zu already",
	    r->map->path, r->line, name, line);
}

/* Note that the line takes all other classes; only one line may. */
static lc_status
take_rest(struct reader *r)
{
	if (r->map->rest != 0)
		return twice(r, "*", r->map->rest);
	r->map->rest = r->line;
	return LC_OK;
}

/* Add a class of the dataset that this line maps to its new class. */
static lc_status
add_old(struct reader *r, struct lc__class_line *line, const char *name, bool quoted)
{
	if (!quoted && strcmp(name, "*") == 0) {
		return_if_error(take_rest(r));
		line->rest = true;
		return LC_OK;
	}
	for (size_t i = 0; i < r->map->n; i++)
		for (size_t k = 0; k < r->map->lines[i].from.n; k++)
			if (strcmp(r->map->lines[i].from.items[k], name) == 0)
				return twice(r, name, r->map->lines[i].line);
	return lc__strings_add(&line->from, name);
}

/* Add a new class and, after a colon, the classes mapped to it. Takes ownership of
 * @p name. */
static lc_status
add_line(struct reader *r, char *name)
{
	struct lc__class_map *map = r->map;
	struct lc__class_line *line;
	lc_status status = lc__array_reserve(&map->lines, &map->room, map->n + 1,
	    map->path);

	if (status != LC_OK) {
		free(name);
		return status;
	}
	line = &map->lines[map->n++];
	*line = (struct lc__class_line){ .name = name, .line = r->line };
	if (r->at == r->end)
		return add_old(r, line, name, true);
	do {
		char *old = NULL;
		bool quoted;
		r->at++;
		status = read_word(r, ",", &old, &quoted);
		if (status == LC_OK)
			status = add_old(r, line, old, quoted);
		free(old);
	} while (status == LC_OK && r->at < r->end);
	return status;
}

static lc_status
read_line(struct reader *r)
{
	const struct lc__class_map *map = r->map;
	char *name = NULL;
	bool quoted;
	lc_status status = LC_OK;

	skip_blanks(r);
	if (r->at == r->end || *r->at == '#')
		return LC_OK;
	return_if_error(read_word(r, ":", &name, &quoted));
	if (!quoted && strcmp(name, "*") == 0) {
		status = r->at < r->end ? bad(r, "* keeps names: nothing follows it")
					: take_rest(r);
		r->map->keep_rest = status == LC_OK;
		free(name);
		return status;
	}
	for (size_t i = 0; i < map->n && status == LC_OK; i++)
		if (strcmp(map->lines[i].name, name) == 0)
			status = lc__error(LC_INVALID, 0,
			    "%s: line %zu: line %zu makes "
			    "'%.100s' already; one line has all that become it",
			    map->path, r->line, map->lines[i].line, name);
	if (status == LC_OK)
		return add_line(r, name);
	free(name);
	return status;
}

lc_status
lc__class_map_read(const char *path, struct lc__class_map *out)
{
	struct reader r = { .map = out };
	struct lc__buf text = { 0 };
	const char *next = NULL, *end = NULL;
	lc_status status;

	*out = (struct lc__class_map){ .path = strdup(path) };
	if (out->path == NULL)
		return lc__no_memory(path);
	status = lc__read_regular(path, MAX_BYTES, &text);
	if (status == LC_OK &&
	    (!lc__utf8_valid(text.data, text.size) ||
		(text.size > 0 && memchr(text.data, '\0', text.size) != NULL)))
		status = lc__error(LC_INVALID, 0, "%s: not UTF-8", path);
	if (status == LC_OK && text.size > 0) {
		next = (const char *)text.data + lc__utf8_mark(text.data, text.size);
		end = (const char *)text.data + text.size;
	}
	while (status == LC_OK && next != end) {
		r.line++;
		r.at = next;
		r.end = memchr(next, '\n', (size_t)(end - next));
		if (r.end == NULL)
			r.end = end;
		next = r.end < end ? r.end + 1 : end;
		status = read_line(&r);
	}
	if (status == LC_OK && out->n == 0 && !out->keep_rest)
		status = lc__error(LC_INVALID, 0, "%s: has no classes", path);
	lc__buf_free(&text);
	return status;
}

void
lc__class_map_free(struct lc__class_map *map)
{
	for (size_t i = 0; i < map->n; i++) {
		free(map->lines[i].name);
		lc__strings_free(&map->lines[i].from);
	}
	free(map->lines);
	free(map->path);
	*map = (struct lc__class_map){ .n = 0 };
}

lc_status
lc__class_map_format(const struct lc__class_map *map, struct lc__buf *out)
{
	lc__buf_printf(out, "[");
	for (size_t i = 0; i < map->n; i++) {
		const struct lc__class_line *line = &map->lines[i];
		lc__buf_printf(out, "%s[", i > 0 ? "," : "");
		return_if_error(lc__manifest_quote(line->name, out));
		for (size_t k = 0; k < line->from.n; k++) {
			lc__buf_printf(out, ",");
			return_if_error(lc__manifest_quote(line->from.items[k], out));
		}
		lc__buf_printf(out, line->rest ? ",null]" : "]");
	}
	if (map->keep_rest)
		lc__buf_printf(out, map->n > 0 ? ",[null]" : "[null]");
	lc__buf_printf(out, "]");
	return out->failed ? lc__no_memory("classes") : LC_OK;
}

/* ---- for one dataset ----------------------------------------------------------- */

/* The dataset to which a map is applied. */
struct applying {
	const struct lc__class_map *map;
	char *const *names;
	size_t n;
	bool (*has)(const void *ctx, int64_t id);
	const void *ctx;
	struct lc__mapping *out;
};

static lc_status
add_pair(struct applying *a, int64_t from, int64_t to)
{
	struct lc__mapping *out = a->out;

	return_if_error(
	    lc__array_reserve(&out->pairs, &out->room, out->n + 1, a->map->path));
	out->pairs[out->n++] = (struct lc__class_pair){ from, to };
	return LC_OK;
}

static bool
parse_id(const char *text, int64_t *out)
{
	int64_t id = 0;

	for (const char *at = text; *at != '\0'; at++) {
		if (*at < '0' || *at > '9' || id > (INT64_MAX - 9) / 10)
			return false;
		id = 10 * id + (*at - '0');
	}
	*out = id;
	return *text != '\0';
}

/* Find classes by a name, which several ids may share, or by an id. */
static lc_status
take_old(struct applying *a, const struct lc__class_line *line, const char *text,
    int64_t to)
{
	bool found = false;
	int64_t id;

	for (size_t i = 0; i < a->n; i++) {
		if (a->names[i] == NULL || strcmp(a->names[i], text) != 0)
			continue;
		return_if_error(add_pair(a, (int64_t)i, to));
		found = true;
	}
	if (found)
		return LC_OK;
	if (parse_id(text, &id) &&
	    (a->n == 0 || (a->has != NULL && a->has(a->ctx, id)) ||
		((uint64_t)id < a->n && a->names[id] != NULL && *a->names[id] != '\0')))
		return add_pair(a, id, to);
	if (a->n == 0)
		return lc__error(LC_INVALID, 0,
		    "%s: line %zu: '%.100s' is not a class id, and "
		    "the dataset has no names of classes",
		    a->map->path, line->line, text);
	return lc__error(LC_INVALID, 0,
	    "%s: line %zu: '%.100s' is not among the %zu classes of the dataset",
	    a->map->path, line->line, text, a->n);
}

static int
compare_pairs(const void *a, const void *b)
{
	const struct lc__class_pair *x = a, *y = b;

	return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
				  : (x->to > y->to) - (x->to < y->to);
}

/* Remove duplicates: "7" and the name of class 7 mean the same class. */
static lc_status
sort_pairs(struct applying *a)
{
	struct lc__mapping *out = a->out;
	size_t kept = 0;

	if (out->n == 0)
		return LC_OK;
	qsort(out->pairs, out->n, sizeof(*out->pairs), compare_pairs);
	for (size_t i = 1; i < out->n; i++) {
		const struct lc__class_pair *one = &out->pairs[kept],
					    *next = &out->pairs[i];
		if (one->from == next->from && one->to != next->to)
			return lc__error(LC_INVALID, 0,
			    "%s: line %zu: class %lld is in line %zu already",
			    a->map->path, a->map->lines[next->to].line,
			    (long long)one->from, a->map->lines[one->to].line);
		if (one->from != next->from)
			out->pairs[++kept] = *next;
	}
	out->n = kept + 1;
	return LC_OK;
}

/* For `*`, each of the other classes keeps its name, in the order of the dataset. */
static lc_status
keep_others(struct applying *a)
{
	struct lc__mapping *out = a->out;
	const size_t mapped = out->n;

	if (a->n == 0)
		return lc__error(LC_INVALID, 0,
		    "%s: line %zu: the dataset has no names of classes that * could keep",
		    a->map->path, a->map->rest);
	for (size_t id = 0; id < a->n; id++) {
		const struct lc__class_pair key = { .from = (int64_t)id };
		const char *name = a->names[id];
		size_t low = 0, high = mapped;
		if (name == NULL || *name == '\0')
			continue;
		while (low < high) {
			const size_t middle = low + (high - low) / 2;
			if (out->pairs[middle].from < key.from)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < mapped && out->pairs[low].from == key.from)
			continue;
		for (size_t i = 0; i < a->map->n; i++)
			if (strcmp(a->map->lines[i].name, name) == 0)
				return lc__error(LC_INVALID, 0,
				    "%s: line %zu: * keeps '%.100s' "
				    "too, which line %zu makes of others",
				    a->map->path, a->map->rest, name,
				    a->map->lines[i].line);
		return_if_error(add_pair(a, key.from, (int64_t)out->names.n));
		return_if_error(lc__strings_add(&out->names, name));
	}
	if (out->n > 0)
		qsort(out->pairs, out->n, sizeof(*out->pairs), compare_pairs);
	return LC_OK;
}

lc_status
lc__mapping_make(const struct lc__class_map *map, char *const *names, size_t n,
    bool (*has)(const void *ctx, int64_t id), const void *ctx, struct lc__mapping *out)
{
	struct applying a = { map, names, n, has, ctx, out };

	*out = (struct lc__mapping){ .on = true, .rest = map->rest != 0, .rest_to = -1 };
	for (size_t i = 0; i < map->n; i++) {
		const struct lc__class_line *line = &map->lines[i];
		return_if_error(lc__strings_add(&out->names, line->name));
		for (size_t k = 0; k < line->from.n; k++)
			return_if_error(
			    take_old(&a, line, line->from.items[k], (int64_t)i));
		if (line->rest)
			out->rest_to = (int64_t)i;
	}
	return_if_error(sort_pairs(&a));
	return map->keep_rest ? keep_others(&a) : LC_OK;
}

static int
compare_from(const void *a, const void *b)
{
	const struct lc__class_pair *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

bool
lc__mapping_find(const struct lc__mapping *mapping, int64_t id, int64_t *out)
{
	const struct lc__class_pair key = { .from = id };
	const struct lc__class_pair *pair = NULL;

	*out = -1;
	if (id < 0)
		return mapping->rest;
	if (mapping->n > 0)
		pair = bsearch(&key, mapping->pairs, mapping->n, sizeof(key),
		    compare_from);
	*out = pair != NULL ? pair->to : mapping->rest_to;
	return *out != -1;
}

void
lc__mapping_free(struct lc__mapping *mapping)
{
	free(mapping->pairs);
	lc__strings_free(&mapping->names);
	*mapping = (struct lc__mapping){ .on = false };
}
