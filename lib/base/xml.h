/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small XML document: elements and their text. Attributes and text beside
 * elements are ignored; entities of its own are refused.
 */
#ifndef LC_BASE_XML_H
#define LC_BASE_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

#define LC__XML_DEPTH 32      /* nesting depth */
#define LC__XML_NODES 1000000 /* elements in all */
#define LC__XML_MEMBERS 256   /* members of one element of metadata */
#define LC__XML_NONE SIZE_MAX

/** Element 0 is the outermost. */
struct lc__xml {
	struct lc__xml_node *nodes;
	size_t n, room;
	struct lc__buf text; /* names and texts, each with a NUL */
	char why[256];       /* what is malformed; "" if nothing is */
};

/** LC_OK, also for malformed text; LC_NO_MEMORY. Free it in any case. */
LC_CHECKED lc_status lc__xml_parse(struct lc__xml *xml, const void *bytes, size_t size);
void lc__xml_free(struct lc__xml *xml);

/* Look-ups: node may be LC__XML_NONE, which has no name, text or elements. */

const char *lc__xml_name(const struct lc__xml *xml, size_t node);
/** Its text, without blanks around it; "" where it has elements. */
const char *lc__xml_text(const struct lc__xml *xml, size_t node);
/** The first element of this name in @p node. */
size_t lc__xml_child(const struct lc__xml *xml, size_t node, const char *name);
/** The next element beside @p node that has its name. */
size_t lc__xml_next(const struct lc__xml *xml, size_t node);

/** Is an element of this name in one of that name to be packed? */
typedef bool (*lc__xml_filter)(const char *in, const char *name);

/** The number of members that lc__xml_pack() writes for an element; more than
 *  LC__XML_MEMBERS if it writes none. */
uint32_t lc__xml_members(const struct lc__xml *xml, size_t node, lc__xml_filter filter);
/**
 * Append the child elements as a MessagePack map, with room for @p more pairs that the
 * caller appends. An element with children becomes a map, one with text a string, or an
 * integer if it is written as one and not called "name"; elements of the same name become
 * a list. False if an element has more than LC__XML_MEMBERS.
 */
bool lc__xml_pack(const struct lc__xml *xml, size_t node, lc__xml_filter filter,
    uint32_t more, struct lc__buf *out);

#endif
