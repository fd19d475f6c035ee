/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "base/xml.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/lazy.h"
#include "base/mpack.h"

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

struct lc__xml_node {
	size_t name, text;  /* offsets in the document's text */
	size_t child, next; /* first child, next sibling */
};

/* ---- parsing -------------------------------------------------------------------- */

/* The state of the handlers. */
struct parsing {
	struct lc__xml *xml;
	XML_Parser parser;
	struct lc__buf text;        /* of the element that is open */
	size_t open[LC__XML_DEPTH]; /* elements that are */
	size_t last[LC__XML_DEPTH]; /* the last element in each */
	size_t depth;
	bool stopped; /* ignore the calls that follow */
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

	/* After the last element of the one that is open. */
	if (p->depth > 0) {
		size_t *last = &p->last[p->depth - 1];
		if (*last == LC__XML_NONE)
			xml->nodes[p->open[p->depth - 1]].child = node;
		else
			xml->nodes[*last].next = node;
		*last = node;
	}
	p->last[p->depth] = LC__XML_NONE;
	p->open[p->depth++] = node;
	p->text.size = 0;
}

static void XMLCALL
end_element(void *ctx, const XML_Char *name)
{
	struct parsing *p = ctx;
	struct lc__xml_node *node;
	const char *text;
	size_t size;

	(void)name;
	if (p->stopped)
		return;
	node = &p->xml->nodes[p->open[--p->depth]];
	/* The text without the blanks around it; none if there are child elements. */
	text = (char *)p->text.data;
	size = node->child == LC__XML_NONE ? p->text.size : 0;
	while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
		size--;
	while (size > 0 && strchr(" \t\r\n", *text) != NULL)
		text++, size--;
	node->text = keep(p->xml, text, size);
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

lc_status
lc__xml_parse(struct lc__xml *xml, const void *bytes, size_t size)
{
	struct parsing p = { .xml = xml };
	const char *at = size > 0 ? bytes : "";
	enum XML_Status status;

	return_if_error(lib_load());
	p.parser = lib.XML_ParserCreate(NULL);
	if (p.parser == NULL)
		return lc__no_memory(NULL);
	lib.XML_SetUserData(p.parser, &p);
	lib.XML_SetElementHandler(p.parser, start_element, end_element);
	lib.XML_SetCharacterDataHandler(p.parser, character_data);
	lib.XML_SetEntityDeclHandler(p.parser, entity_declared);
	lib.XML_SetSkippedEntityHandler(p.parser, entity_skipped);
	do {
		const size_t n = size < PIECE ? size : PIECE;
		status = lib.XML_Parse(p.parser, at, (int)n, n == size);
		at += n;
		size -= n;
	} while (status == XML_STATUS_OK && size > 0);
	if (status != XML_STATUS_OK) {
		if (lib.XML_GetErrorCode(p.parser) == XML_ERROR_NO_MEMORY)
			p.failed = true;
		else if (xml->why[0] == '\0')
			snprintf(xml->why, sizeof(xml->why),
			    "not XML: %s (line %lu, column %lu)",
			    lib.XML_ErrorString(lib.XML_GetErrorCode(p.parser)),
			    (unsigned long)lib.XML_GetCurrentLineNumber(p.parser),
			    (unsigned long)lib.XML_GetCurrentColumnNumber(p.parser) + 1);
	}
	lib.XML_ParserFree(p.parser);
	lc__buf_free(&p.text);
	return p.failed || xml->text.failed ? lc__no_memory(NULL) : LC_OK;
}

void
lc__xml_free(struct lc__xml *xml)
{
	free(xml->nodes);
	lc__buf_free(&xml->text);
	memset(xml, 0, sizeof(*xml));
}

/* ---- looking ------------------------------------------------------------------ */

const char *
lc__xml_name(const struct lc__xml *xml, size_t node)
{
	return node != LC__XML_NONE ? (char *)xml->text.data + xml->nodes[node].name : "";
}

const char *
lc__xml_text(const struct lc__xml *xml, size_t node)
{
	return node != LC__XML_NONE ? (char *)xml->text.data + xml->nodes[node].text : "";
}

/* The first element of this name from @p node on. */
static size_t
find(const struct lc__xml *xml, size_t node, const char *name)
{
	while (node != LC__XML_NONE && strcmp(lc__xml_name(xml, node), name) != 0)
		node = xml->nodes[node].next;
	return node;
}

size_t
lc__xml_child(const struct lc__xml *xml, size_t node, const char *name)
{
	return node != LC__XML_NONE ? find(xml, xml->nodes[node].child, name)
				    : LC__XML_NONE;
}

size_t
lc__xml_next(const struct lc__xml *xml, size_t node)
{
	return find(xml, xml->nodes[node].next, lc__xml_name(xml, node));
}

/* ---- MessagePack --------------------------------------------------------------- */

/* The child elements that the filter accepts. */
static size_t
count_elements(const struct lc__xml *xml, size_t node, lc__xml_filter filter)
{
	const char *name = lc__xml_name(xml, node);
	size_t n = 0;

	for (size_t i = xml->nodes[node].child; i != LC__XML_NONE; i = xml->nodes[i].next)
		n += filter(name, lc__xml_name(xml, i));
	return n;
}

/* Of several elements with one name the first is the member; an element of which nothing
 * is left is omitted. */
static bool
is_member(const struct lc__xml *xml, size_t in, size_t node, lc__xml_filter filter)
{
	const char *name = lc__xml_name(xml, node);

	return filter(lc__xml_name(xml, in), name) &&
	    lc__xml_child(xml, in, name) == node &&
	    (xml->nodes[node].child == LC__XML_NONE ||
		count_elements(xml, node, filter) > 0);
}

uint32_t
lc__xml_members(const struct lc__xml *xml, size_t node, lc__xml_filter filter)
{
	uint32_t n = 0;

	/*
	 * is_member() searches the elements before each one, so only a few are allowed.
	 */
	if (count_elements(xml, node, filter) > LC__XML_MEMBERS)
		return LC__XML_MEMBERS + 1;
	for (size_t i = xml->nodes[node].child; i != LC__XML_NONE; i = xml->nodes[i].next)
		n += is_member(xml, node, i, filter);
	return n;
}

/* Integers as people write them: "007" is text. */
static void
pack_text(const struct lc__xml *xml, size_t node, struct lc__buf *out)
{
	const char *text = lc__xml_text(xml, node);
	char again[32];
	long long number;

	errno = 0;
	number = strtoll(text, NULL, 10);
	snprintf(again, sizeof(again), "%lld", number);
	if (errno == 0 && strcmp(text, again) == 0 &&
	    strcmp(lc__xml_name(xml, node), "name") != 0)
		lc__mpack_int(out, number);
	else
		lc__mpack_str(out, text);
}

static bool
pack_member(const struct lc__xml *xml, size_t node, lc__xml_filter filter,
    struct lc__buf *out)
{
	uint32_t n = 0;
	bool good = true;

	for (size_t i = node; i != LC__XML_NONE; i = lc__xml_next(xml, i))
		n++;
	lc__mpack_str(out, lc__xml_name(xml, node));
	if (n > 1)
		lc__mpack_array(out, n);
	for (size_t i = node; i != LC__XML_NONE && good; i = lc__xml_next(xml, i))
		if (xml->nodes[i].child != LC__XML_NONE)
			good = lc__xml_pack(xml, i, filter, 0, out);
		else
			pack_text(xml, i, out);
	return good;
}

bool
lc__xml_pack(const struct lc__xml *xml, size_t node, lc__xml_filter filter, uint32_t more,
    struct lc__buf *out)
{
	const uint32_t n = lc__xml_members(xml, node, filter);

	if (n > LC__XML_MEMBERS)
		return false;
	lc__mpack_map(out, n + more);
	for (size_t i = xml->nodes[node].child; i != LC__XML_NONE; i = xml->nodes[i].next)
		if (is_member(xml, node, i, filter) && !pack_member(xml, i, filter, out))
			return false;
	return true;
}
