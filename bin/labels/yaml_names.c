/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "labels/yaml_names.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/error.h"
#include "base/lazy.h"

/* Loaded when the first of them is needed: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(yaml_document_delete) X(yaml_document_get_node) \
	X(yaml_document_get_root_node) X(yaml_parser_delete) X(yaml_parser_initialize) \
	X(yaml_parser_load) X(yaml_parser_set_input_string)
/* clang-format on */
LC__LAZY(lib, "libyaml", LIBYAML_FILE, CALLS)

/* The text of a scalar, NULL of anything else and of text with a NUL in it. */
static const char *
text_of(const yaml_node_t *node)
{
	const char *text;

	if (node == NULL || node->type != YAML_SCALAR_NODE)
		return NULL;
	text = (const char *)node->data.scalar.value;
	return strlen(text) == node->data.scalar.length ? text : NULL;
}

/* An id as a name in a map has it. */
static bool
id_of(const char *text, size_t *id)
{
	const size_t digits = text != NULL ? strspn(text, "0123456789") : 0;

	if (digits == 0 || digits > 6 || text[digits] != '\0')
		return false;
	*id = strtoul(text, NULL, 10);
	return true;
}

/* *good: the name is one, and the first with this id. */
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

/* The member `names` of the outermost map. */
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

/* A list of names, or a map from ids to names; *good if all of it is that. */
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
			*good = id_of(text_of(lib.yaml_document_get_node(document,
					  pair->key)),
			    &id);
			if (*good)
				return_if_error(set_name(out, id,
				    text_of(lib.yaml_document_get_node(document,
					pair->value)),
				    good));
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
