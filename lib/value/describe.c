/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures described in one line of text. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "value/node.h"
#include "value/schema.h"
#include "value/tensor.h"

/* Text that is cut to fit. */
struct text {
	char *out;
	size_t room;
	size_t size; /* length of the whole text */
};

static void
add(struct text *text, const char *more)
{
	const size_t size = strlen(more);
	const size_t left = text->size < text->room ? text->room - text->size : 0;

	if (left > 0) {
		const size_t fits = size < left ? size : left - 1;
		memcpy(text->out + text->size, more, fits);
		text->out[text->size + fits] = '\0';
	}
	text->size += size;
}

/* A name is quoted unless its end is obvious. */
static void
add_name(struct text *text, const char *name)
{
	const char *p = name;

	while (isalnum((unsigned char)*p) || (*p != '\0' && strchr("_-+./", *p) != NULL))
		p++;
	add(text, *p == '\0' ? name : lc__quote_id(name, strlen(name)));
	add(text, ": ");
}

static void
add_bracket(struct text *text, unsigned kind, bool opening)
{
	static const char *const brackets[][2] = {
		[LC_MAP] = { "}", "{" },
		[LC_LIST] = { "]", "[" },
		[LC_TUPLE] = { ")", "(" },
		[LC_TAGGED] = { ")", "(" },
		[LC_PAIRS] = { ">", "<" },
	};

	add(text, brackets[kind][opening]);
}

/* The text before child @p i. */
static void
add_separator(struct text *text, unsigned kind, size_t i)
{
	if (i > 0)
		add(text, kind == LC_PAIRS && i % 2 == 1 ? ": " : ", ");
}

static void
describe_value(const lc_value *value, struct text *text)
{
	char tensor[LC__TENSOR_TEXT];

	if (value->kind == LC_TENSOR) {
		add(text,
		    lc__tensor_describe(lc__tensor_of(value), tensor, sizeof(tensor)));
		return;
	}
	if (lc__is_plain(value)) {
		add(text, lc_kind_name((lc_kind)value->kind));
		return;
	}
	add_bracket(text, value->kind, true);
	for (size_t i = 0; i < lc_value_count(value); i++) {
		add_separator(text, value->kind, i);
		if (lc__has_names(value->kind))
			add_name(text, lc_value_name(value, i));
		describe_value(lc_value_at(value, i), text);
	}
	add_bracket(text, value->kind, false);
}

int
lc_value_describe(const lc_value *value, char *out, size_t room)
{
	struct text text = { out, room, 0 };

	if (value != NULL)
		describe_value(value, &text);
	else
		add(&text, lc_kind_name(LC_NIL));
	return text.size < INT_MAX ? (int)text.size : INT_MAX;
}

static void
describe_tensor(const struct lc__schema_node *node, struct text *text)
{
	add(text, lc_dtype_name((lc_dtype)node->dtype));
	add(text, "[");
	for (unsigned i = 0; i < node->ndim; i++)
		add(text, i > 0 ? ",*" : "*");
	add(text, "]");
}

/* Stop at the first child that does not fit. */
static void
describe_node(const struct lc__schema *schema, uint32_t at, struct text *text)
{
	const struct lc__schema_node *node = &schema->node[at];
	size_t n = 0;

	if (node->kind == LC_TENSOR) {
		describe_tensor(node, text);
		return;
	}
	if (node->kind == LC__PLAIN) {
		add(text, "plain");
		return;
	}
	add_bracket(text, node->kind, true);
	for (uint32_t i = at + 1; i < node->end && text->size < text->room;
	     i = schema->node[i].end) {
		add_separator(text, node->kind, n++);
		if (lc__has_names(node->kind))
			add_name(text, schema->node[i].name);
		describe_node(schema, i, text);
	}
	add_bracket(text, node->kind, false);
}

void
lc__schema_describe(const struct lc__schema *schema, char *out, size_t room)
{
	struct text text = { out, room, 0 };

	describe_node(schema, 0, &text);
	if (text.size >= room && room >= sizeof("..."))
		strcpy(out + room - sizeof("..."), "...");
}
