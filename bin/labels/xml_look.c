/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking at a document, and its elements as MessagePack. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mpack.h"
#include "labels/xml.h"
#include "labels/xml_node.h"

static const char *
string(const struct lc__xml *xml, size_t offset)
{
	return (const char *)xml->text.data + offset;
}

const char *
lc__xml_name(const struct lc__xml *xml, size_t node)
{
	return node != LC__XML_NONE ? string(xml, xml->nodes[node].name) : "";
}

const char *
lc__xml_text(const struct lc__xml *xml, size_t node)
{
	return node != LC__XML_NONE ? string(xml, xml->nodes[node].text) : "";
}

/* The first of this name from @p node on. */
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

/* Is anything in it to be packed? */
static bool
has_any(const struct lc__xml *xml, size_t node, lc__xml_filter filter)
{
	size_t i = xml->nodes[node].child;

	while (
	    i != LC__XML_NONE && !filter(lc__xml_name(xml, node), lc__xml_name(xml, i)))
		i = xml->nodes[i].next;
	return i != LC__XML_NONE;
}

/* Of several elements with one name, the first stands for all; one of which
 * nothing is left is left out. */
static bool
is_member(const struct lc__xml *xml, size_t in, size_t node, lc__xml_filter filter)
{
	const char *name = lc__xml_name(xml, node);

	return filter(lc__xml_name(xml, in), name) &&
	    lc__xml_child(xml, in, name) == node &&
	    (xml->nodes[node].child == LC__XML_NONE || has_any(xml, node, filter));
}

/* Every element is looked for among those before it: few are allowed. */
static bool
is_small(const struct lc__xml *xml, size_t node, lc__xml_filter filter)
{
	size_t n = 0;

	for (size_t i = xml->nodes[node].child; i != LC__XML_NONE; i = xml->nodes[i].next)
		n += filter(lc__xml_name(xml, node), lc__xml_name(xml, i));
	return n <= LC__XML_MEMBERS;
}

uint32_t
lc__xml_members(const struct lc__xml *xml, size_t node, lc__xml_filter filter)
{
	uint32_t n = 0;

	if (!is_small(xml, node, filter))
		return LC__XML_MEMBERS + 1;
	for (size_t i = xml->nodes[node].child; i != LC__XML_NONE; i = xml->nodes[i].next)
		n += is_member(xml, node, i, filter);
	return n;
}

/* Integers as people write them: what is written "007" is text. */
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
pack_one(const struct lc__xml *xml, size_t node, lc__xml_filter filter,
    struct lc__buf *out)
{
	if (xml->nodes[node].child != LC__XML_NONE)
		return lc__xml_pack(xml, node, filter, 0, out);
	pack_text(xml, node, out);
	return true;
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
	if (n == 1)
		return pack_one(xml, node, filter, out);
	lc__mpack_array(out, n);
	for (size_t i = node; i != LC__XML_NONE; i = lc__xml_next(xml, i))
		good = good && pack_one(xml, i, filter, out);
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
