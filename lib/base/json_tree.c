/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/json_number.h"

/* From this number of members on, names are sorted before they are compared. */
#define MANY_NAMES 16
/* No value is open. */
#define NO_PARENT UINT32_MAX

struct parser {
	struct lc__json_scan scan;
	struct lc__json_nest nest;
	const struct lc__json_rules *rules;
	struct lc__json_tree *tree;
	char *strings;    /* where the next one goes */
	const char *name; /* of the value that comes next */
	uint32_t parent; /* the innermost value that is open; the span of an open value is
	                    the number of the one around it */
};

/* ---- what is wrong ------------------------------------------------------------- */

static lc_status
corrupt(struct parser *p, const char *at, const char *what)
{
	struct lc__json_tree *tree = p->tree;
	const char *line = p->scan.begin, *end;

	tree->line = 1;
	while ((end = memchr(line, '\n', (size_t)(at - line))) != NULL) {
		line = end + 1;
		tree->line++;
	}
	tree->column = (size_t)(at - line) + 1;
	tree->count = 0;
	if (what != tree->wrong)
		snprintf(tree->wrong, sizeof(tree->wrong), "%s", what);
	return lc__error(LC_CORRUPT, 0, "%s (line %zu, column %zu)", tree->wrong,
	    tree->line, tree->column);
}

/* ---- names that are there twice ------------------------------------------------ */

static lc_status
twice(struct parser *p, const struct lc__json *member)
{
	const char *at = member->source.text;

	snprintf(p->tree->wrong, sizeof(p->tree->wrong), "the name %s occurs twice",
	    lc__quote_id(member->name, strlen(member->name)));
	/* Back to the end of the name. */
	while (*--at != ':')
		continue;
	while (*--at != '"')
		continue;
	return corrupt(p, at, p->tree->wrong);
}

/* By name, and those of one name in their order. */
static int
by_name(const void *a, const void *b)
{
	const struct lc__json *left = *(const struct lc__json *const *)a;
	const struct lc__json *right = *(const struct lc__json *const *)b;
	const int order = strcmp(left->name, right->name);

	return order != 0 ? order : (left > right) - (left < right);
}

static lc_status
check_names(struct parser *p, const struct lc__json *object)
{
	const struct lc__json **members, *item, *other, *first = NULL;
	size_t n = 0;

	if (object->count <= MANY_NAMES) {
		lc__json_each(item, object)
		{
			for (other = object + 1; other != item; other += other->span)
				if (strcmp(item->name, other->name) == 0)
					return twice(p, item);
		}
		return LC_OK;
	}
	members = malloc(object->count * sizeof(*members));
	if (members == NULL)
		return lc__no_memory(NULL);
	lc__json_each(item, object) { members[n++] = item; }
	qsort(members, n, sizeof(*members), by_name);
	for (size_t i = 1; i < n; i++)
		if (strcmp(members[i - 1]->name, members[i]->name) == 0 &&
		    (first == NULL || members[i] < first))
			first = members[i];
	free(members);
	return first != NULL ? twice(p, first) : LC_OK;
}

/* ---- parsing ------------------------------------------------------------------- */

/*
 * The text of a string, followed by a NUL: never longer than the string with its quotes.
 */
static lc_status
take_string(struct parser *p, struct lc__json_slice source, bool nul, const char **out,
    size_t *size)
{
	const char *const half = lc__json_unescape_to(source, p->strings, size);

	if (half != NULL)
		return corrupt(p, half, "half of a surrogate pair");
	if (!nul && memchr(p->strings, '\0', *size) != NULL)
		return corrupt(p, source.text, "\\u0000 in a string");
	*out = p->strings;
	p->strings[*size] = '\0';
	p->strings += *size + 1;
	return LC_OK;
}

static lc_status
add_value(struct parser *p, bool begins, struct lc__json_slice text)
{
	struct lc__json_tree *tree = p->tree;
	struct lc__json *value;

	if (tree->count == NO_PARENT)
		return corrupt(p, text.text, "too many values");
	return_if_error(
	    lc__array_reserve(&tree->values, &tree->room, tree->count + 1, NULL));
	value = &tree->values[tree->count];
	*value = (struct lc__json){
		.kind = lc__json_kind_of(*text.text),
		.span = 1,
		.name = p->name,
	};
	if (begins && p->rules->only != NULL && p->nest.depth == 2 && p->name != NULL &&
	    strcmp(p->name, p->rules->only) != 0) {
		/* Not one of the members asked for: it stays empty. */
		p->scan.at = text.text;
		if (!lc__json_skip_unchecked(&p->scan))
			return corrupt(p, p->scan.at, p->scan.wrong);
		text.size = (size_t)(p->scan.at - text.text);
		p->nest.depth--;
		p->nest.next = LC__JSON_COMMA_NEXT;
		begins = false;
	}
	value->source = text;
	if (p->parent != NO_PARENT)
		tree->values[p->parent].count++;
	if (begins) {
		value->span = p->parent;
		p->parent = (uint32_t)tree->count;
	}
	tree->count++;
	p->name = NULL;
	return value->kind != LC__JSON_STRING
	    ? LC_OK
	    : take_string(p, text, p->rules->nul, &value->string, &value->string_size);
}

static lc_status
end_value(struct parser *p)
{
	struct lc__json *value = &p->tree->values[p->parent];

	p->parent = value->span;
	value->span = (uint32_t)(p->tree->count - (size_t)(value - p->tree->values));
	value->source.size = (size_t)(p->scan.at - value->source.text);
	return value->kind == LC__JSON_OBJECT ? check_names(p, value) : LC_OK;
}

static lc_status
parse(struct parser *p)
{
	struct lc__json_slice text;
	enum lc__json_token token;
	size_t size;

	do {
		if (!lc__json_next_token(&p->scan, &p->nest, &token, &text))
			return corrupt(p, p->scan.at, p->scan.wrong);
		if (token == LC__JSON_NAME)
			return_if_error(take_string(p, text, false, &p->name, &size));
		else if (token == LC__JSON_END)
			return_if_error(end_value(p));
		else
			return_if_error(add_value(p, token == LC__JSON_BEGIN, text));
	} while (p->nest.depth > 0);
	if (lc__json_peek(&p->scan) != -1)
		return corrupt(p, p->scan.at, "something follows the value");
	return LC_OK;
}

lc_status
lc__json_parse(const void *text, size_t size, const struct lc__json_rules *rules,
    struct lc__json_tree *tree)
{
	static const struct lc__json_rules none = { false, NULL };
	const size_t mark = lc__utf8_mark(text, size);
	const char *const begin = (const char *)text + mark;
	struct parser p = {
		.tree = tree,
		.rules = rules != NULL ? rules : &none,
		.scan = { .at = begin, .begin = begin, .end = (const char *)text + size },
		.parent = NO_PARENT,
	};
	lc_status status;

	tree->count = 0;
	status = lc__array_reserve(&tree->strings, &tree->strings_room, size + 1, NULL);
	if (status == LC_OK) {
		p.strings = tree->strings;
		status = parse(&p);
	}
	if (status != LC_OK) {
		tree->count = 0;
		return status;
	}
	/*
	 * A number that is the whole text is followed by nothing, so a NUL is put there.
	 */
	if (tree->values->kind == LC__JSON_NUMBER) {
		struct lc__json_slice *source = &tree->values->source;

		memcpy(tree->strings, source->text, source->size);
		tree->strings[source->size] = '\0';
		source->text = tree->strings;
	}
	return LC_OK;
}

void
lc__json_free(struct lc__json_tree *tree)
{
	free(tree->values);
	free(tree->strings);
	memset(tree, 0, sizeof(*tree));
}

/* ---- looking ------------------------------------------------------------------- */

const struct lc__json *
lc__json_get(const struct lc__json *object, const char *name)
{
	const struct lc__json *item;

	if (!lc__json_is(object, LC__JSON_OBJECT))
		return NULL;
	lc__json_each(item, object)
	{
		if (strcmp(item->name, name) == 0)
			return item;
	}
	return NULL;
}

const char *
lc__json_text(const struct lc__json *value)
{
	return value != NULL ? value->string : NULL;
}

static bool
number_of(const struct lc__json *value, struct lc__json_number *out)
{
	return lc__json_is(value, LC__JSON_NUMBER) &&
	    lc__json_number(value->source.text, value->source.text + value->source.size,
		out) != NULL;
}

bool
lc__json_is_integer(const struct lc__json *value)
{
	struct lc__json_number number;

	return number_of(value, &number) && number.integer;
}

bool
lc__json_int64(const struct lc__json *value, int64_t *out)
{
	struct lc__json_number number;
	uint64_t amount;

	if (!number_of(value, &number) || !number.integer ||
	    !lc__json_number_integer(&number, &amount) ||
	    amount > (uint64_t)INT64_MAX + number.negative)
		return false;
	*out = (int64_t)(number.negative ? 0 - amount : amount);
	return true;
}

bool
lc__json_uint64(const struct lc__json *value, uint64_t *out)
{
	struct lc__json_number number;
	uint64_t amount;

	if (!number_of(value, &number) || !number.integer ||
	    !lc__json_number_integer(&number, &amount) || (number.negative && amount > 0))
		return false;
	*out = amount;
	return true;
}

bool
lc__json_double(const struct lc__json *value, double *out)
{
	struct lc__json_number number;
	int64_t integer;

	if (!number_of(value, &number))
		return false;
	/* The integer -0 is 0. */
	*out = lc__json_int64(value, &integer) ? (double)integer
					       : lc__json_number_double(&number);
	return true;
}
