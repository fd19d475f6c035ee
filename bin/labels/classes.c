/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "labels/classes.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/lazy.h"
#include "base/utf8.h"
#include "labels/label.h"

/* A larger file is not a plausible list of classes. */
#define MAX_BYTES ((uint64_t)16 << 20)

/* Read a name from each line. Empty lines count, except at the end. */
static lc_status
add_lines(const char *text, struct lc__strings *out)
{
	size_t size = strlen(text);

	while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
		size--;
	for (const char *line = text, *end = text + size, *next; line < end;
	     line = next + 1) {
		const char *stop;
		char *name;
		lc_status status;
		next = memchr(line, '\n', (size_t)(end - line));
		if (next == NULL)
			next = end;
		for (stop = next; stop > line && strchr(" \t\r", stop[-1]) != NULL;)
			stop--;
		while (line < stop && strchr(" \t", *line) != NULL)
			line++;
		name = strndup(line, (size_t)(stop - line));
		if (name == NULL)
			return lc__no_memory(NULL);
		status = lc__strings_add(out, name);
		free(name);
		return_if_error(status);
	}
	return LC_OK;
}

/* Files with names, in the order in which they are tried. */
static const struct {
	const char *name;
	lc_status (*add)(const char *text, struct lc__strings *out);
} lists[] = {
	{ "classes.txt", add_lines },
	{ "labels.txt", add_lines },
	{ "data.yaml", lc__yaml_names },
};

lc_status
lc__classes_read(struct lc__dataset *dataset)
{
	lc_status status = LC_NO_FILE;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && status == LC_NO_FILE;
	     i++) {
		char *path = lc__path_join(dataset->root, lists[i].name);
		struct lc__buf text = { 0 };
		if (path == NULL)
			return lc__no_memory(dataset->root);
		status = lc__read_regular(path, MAX_BYTES, &text);
		if (status == LC_OK &&
		    (!lc__utf8_valid(text.data, text.size) ||
			memchr(text.data, '\0', text.size) != NULL))
			status = lc__error(LC_CORRUPT, 0, "%s: not UTF-8", path);
		if (status == LC_OK && lc__buf_append(&text, "", 1) == NULL)
			status = lc__no_memory(path);
		if (status == LC_OK)
			status = lists[i].add((char *)text.data +
				lc__utf8_mark(text.data, text.size - 1),
			    &dataset->classes);
		if (status == LC_OK)
			status = lc__strings_add(&dataset->shared, lists[i].name);
		if (status == LC_NO_FILE && lc__no_lost_link(path) != LC_OK)
			status = LC_IO;
		lc__buf_free(&text);
		free(path);
	}
	return status == LC_NO_FILE ? LC_OK : status;
}

int64_t
lc__classes_find(const struct lc__dataset *dataset, const char *name)
{
	for (size_t i = 0; i < dataset->classes.n; i++)
		if (dataset->classes.items[i] != NULL &&
		    strcmp(dataset->classes.items[i], name) == 0)
			return (int64_t)i;
	return -1;
}

/* Loaded when the first of them is needed: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(yaml_document_delete) X(yaml_document_get_node) \
	X(yaml_document_get_root_node) X(yaml_parser_delete) X(yaml_parser_initialize) \
	X(yaml_parser_load) X(yaml_parser_set_input_string)
/* clang-format on */
LC__LAZY(lib, "libyaml", LIBYAML_FILE, CALLS)

/* ---- YAML --------------------------------------------------------------------- */

/* The text of a scalar; NULL for other nodes and for text with a NUL in it. */
static const char *
text_of(const yaml_node_t *node)
{
	const char *text;

	if (node == NULL || node->type != YAML_SCALAR_NODE)
		return NULL;
	text = (const char *)node->data.scalar.value;
	return strlen(text) == node->data.scalar.length ? text : NULL;
}

/* *good becomes whether the name is valid and its id has no name yet. */
static lc_status
set_name(struct lc__strings *out, size_t id, const char *name, bool *good)
{
	*good = name != NULL && id <= LC__YAML_CLASS_MAX;
	while (*good && out->n <= id)
		return_if_error(lc__strings_add(out, NULL));
	*good = *good && out->items[id] == NULL;
	if (!*good)
		return LC_OK;
	out->items[id] = strdup(name);
	return out->items[id] != NULL ? LC_OK : lc__no_memory(NULL);
}

/* Find the member `names` of the outermost map. */
static yaml_node_t *
find_names(yaml_document_t *document)
{
	yaml_node_t *root = lib.yaml_document_get_root_node(document);

	if (root == NULL || root->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = root->data.mapping.pairs.start;
	     pair < root->data.mapping.pairs.top; pair++) {
		const char *key = text_of(
		    lib.yaml_document_get_node(document, pair->key));

		if (key != NULL && strcmp(key, "names") == 0)
			return lib.yaml_document_get_node(document, pair->value);
	}
	return NULL;
}

/* Add a list of names, or a map from ids to names. *good becomes false for anything
 * else. */
static lc_status
read_names(yaml_document_t *document, struct lc__strings *out, bool *good)
{
	const yaml_node_t *names = find_names(document);
	size_t id = 0;

	*good = names != NULL && names->type != YAML_SCALAR_NODE;
	if (*good && names->type == YAML_SEQUENCE_NODE)
		for (const yaml_node_item_t *item = names->data.sequence.items.start;
		     *good && item < names->data.sequence.items.top; item++)
			return_if_error(set_name(out, id++,
			    text_of(lib.yaml_document_get_node(document, *item)), good));
	if (*good && names->type == YAML_MAPPING_NODE)
		for (const yaml_node_pair_t *pair = names->data.mapping.pairs.start;
		     *good && pair < names->data.mapping.pairs.top; pair++) {
			const char *key = text_of(
			    lib.yaml_document_get_node(document, pair->key));
			const char *name = text_of(
			    lib.yaml_document_get_node(document, pair->value));
			const size_t digits = key != NULL ? strspn(key, "0123456789") : 0;
			*good = digits > 0 && digits <= 6 && key[digits] == '\0';
			if (*good)
				return_if_error(
				    set_name(out, strtoul(key, NULL, 10), name, good));
		}
	return LC_OK;
}

lc_status
lc__yaml_names(const char *text, struct lc__strings *out)
{
	yaml_document_t document;
	yaml_parser_t parser;
	bool good = false;
	lc_status status = LC_OK;

	return_if_error(lib_load());
	if (!lib.yaml_parser_initialize(&parser))
		return lc__no_memory(NULL);
	lib.yaml_parser_set_input_string(&parser, (const unsigned char *)text,
	    strlen(text));
	if (lib.yaml_parser_load(&parser, &document)) {
		status = read_names(&document, out, &good);
		lib.yaml_document_delete(&document);
	} else if (parser.error == YAML_MEMORY_ERROR) {
		status = lc__no_memory(NULL);
	}
	lib.yaml_parser_delete(&parser);
	if (!good)
		lc__strings_free(out);
	return status;
}
