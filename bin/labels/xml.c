/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "labels/xml.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/lazy.h"
#include "labels/xml_node.h"

/* Bytes that expat is given at once. */
#define PIECE ((size_t)1 << 20)

/* Loaded when the first of them is needed: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(XML_ErrorString) X(XML_GetCurrentColumnNumber) \
	X(XML_GetCurrentLineNumber) X(XML_GetErrorCode) X(XML_Parse) X(XML_ParserCreate) \
	X(XML_ParserFree) X(XML_SetCharacterDataHandler) X(XML_SetElementHandler) \
	X(XML_SetEntityDeclHandler) X(XML_SetSkippedEntityHandler) X(XML_SetUserData) \
	X(XML_StopParser)
/* clang-format on */
LC__LAZY(lib, "libexpat", LIBEXPAT_FILE, CALLS)

/* What the handlers work on. */
struct parsing {
	struct lc__xml *xml;
	XML_Parser parser;
	struct lc__buf text;        /* of the element that is open */
	size_t open[LC__XML_DEPTH]; /* elements that are */
	size_t last[LC__XML_DEPTH]; /* the last element in each */
	size_t depth;
	bool stopped; /* calls that follow are of no use */
	bool failed;  /* no memory */
};

static void
stop(struct parsing *p, const char *why)
{
	if (p->xml->why[0] == '\0')
		snprintf(p->xml->why, sizeof(p->xml->why), "%s (line %lu)", why,
		    (unsigned long)lib.XML_GetCurrentLineNumber(p->parser));
	p->stopped = true;
	lib.XML_StopParser(p->parser, XML_FALSE);
}

static void
out_of_memory(struct parsing *p)
{
	p->failed = p->stopped = true;
	lib.XML_StopParser(p->parser, XML_FALSE);
}

/* A string's offset in the document's text. */
static size_t
keep(struct lc__xml *xml, const char *text, size_t size)
{
	const size_t at = xml->text.size;

	lc__buf_append(&xml->text, text, size);
	lc__buf_append(&xml->text, "", 1);
	return at;
}

/* Behind the last element of the one that is open. */
static void
link_node(struct parsing *p, size_t node)
{
	struct lc__xml_node *nodes = p->xml->nodes;
	size_t *last;

	if (p->depth == 0)
		return;
	last = &p->last[p->depth - 1];
	if (*last == LC__XML_NONE)
		nodes[p->open[p->depth - 1]].child = node;
	else
		nodes[*last].next = node;
	*last = node;
}

static void XMLCALL
start_element(void *ctx, const XML_Char *name, const XML_Char **attributes)
{
	struct parsing *p = ctx;
	struct lc__xml *xml = p->xml;
	const size_t node = xml->n;

	(void)attributes;
	if (p->stopped)
		return;
	if (p->depth == LC__XML_DEPTH) {
		stop(p, "elements nested too deep");
		return;
	}
	if (node == LC__XML_NODES) {
		stop(p, "too many elements");
		return;
	}
	if (lc__array_reserve(&xml->nodes, &xml->room, xml->n + 1, NULL) != LC_OK) {
		out_of_memory(p);
		return;
	}
	xml->nodes[node] = (struct lc__xml_node){
		.name = keep(xml, name, strlen(name)),
		.child = LC__XML_NONE,
		.next = LC__XML_NONE,
	};
	xml->n++;
	link_node(p, node);
	p->last[p->depth] = LC__XML_NONE;
	p->open[p->depth++] = node;
	p->text.size = 0;
}

/* Without the blanks around it. */
static size_t
keep_text(struct parsing *p)
{
	const char *text = (char *)p->text.data;
	size_t size = p->text.size;

	while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
		size--;
	while (size > 0 && strchr(" \t\r\n", *text) != NULL)
		text++, size--;
	return keep(p->xml, text, size);
}

static void XMLCALL
end_element(void *ctx, const XML_Char *name)
{
	struct parsing *p = ctx;
	struct lc__xml_node *node;

	(void)name;
	if (p->stopped)
		return;
	node = &p->xml->nodes[p->open[--p->depth]];
	if (node->child != LC__XML_NONE)
		p->text.size = 0;
	node->text = keep_text(p);
	p->text.size = 0;
	if (p->xml->text.failed || p->text.failed)
		out_of_memory(p);
}

static void XMLCALL
character_data(void *ctx, const XML_Char *text, int size)
{
	struct parsing *p = ctx;

	lc__buf_append(&p->text, text, (size_t)size);
}

static void XMLCALL
entity_declared(void *ctx, const XML_Char *name, int is_parameter, const XML_Char *value,
    int length, const XML_Char *base, const XML_Char *system, const XML_Char *public,
    const XML_Char *notation)
{
	(void)name, (void)is_parameter, (void)value, (void)length;
	(void)base, (void)system, (void)public, (void)notation;
	stop(ctx, "declares an entity");
}

static void XMLCALL
entity_skipped(void *ctx, const XML_Char *name, int is_parameter)
{
	(void)name, (void)is_parameter;
	stop(ctx, "uses an entity that is not declared");
}

static void
feed(struct parsing *p, const char *bytes, size_t size)
{
	enum XML_Status status;

	do {
		const size_t n = size < PIECE ? size : PIECE;
		status = lib.XML_Parse(p->parser, bytes, (int)n, n == size);
		bytes += n;
		size -= n;
	} while (status == XML_STATUS_OK && size > 0);
	if (status == XML_STATUS_OK)
		return;
	if (lib.XML_GetErrorCode(p->parser) == XML_ERROR_NO_MEMORY)
		p->failed = true;
	else if (p->xml->why[0] == '\0')
		snprintf(p->xml->why, sizeof(p->xml->why),
		    "not XML: %s (line %lu, column %lu)",
		    lib.XML_ErrorString(lib.XML_GetErrorCode(p->parser)),
		    (unsigned long)lib.XML_GetCurrentLineNumber(p->parser),
		    (unsigned long)lib.XML_GetCurrentColumnNumber(p->parser) + 1);
}

lc_status
lc__xml_parse(struct lc__xml *xml, const void *bytes, size_t size)
{
	struct parsing p = { .xml = xml };

	return_if_error(lib_load());
	p.parser = lib.XML_ParserCreate(NULL);
	if (p.parser == NULL)
		return lc__no_memory(NULL);
	lib.XML_SetUserData(p.parser, &p);
	lib.XML_SetElementHandler(p.parser, start_element, end_element);
	lib.XML_SetCharacterDataHandler(p.parser, character_data);
	lib.XML_SetEntityDeclHandler(p.parser, entity_declared);
	lib.XML_SetSkippedEntityHandler(p.parser, entity_skipped);
	feed(&p, size > 0 ? bytes : "", size);
	lib.XML_ParserFree(p.parser);
	lc__buf_free(&p.text);
	if (p.failed || xml->text.failed)
		return lc__no_memory(NULL);
	return LC_OK;
}

void
lc__xml_free(struct lc__xml *xml)
{
	free(xml->nodes);
	lc__buf_free(&xml->text);
	memset(xml, 0, sizeof(*xml));
}
