/* SPDX-License-Identifier: BSD-2-Clause */
/* An element, for those who make documents and look at them. */
#ifndef CACHEX_LABELS_XML_NODE_H
#define CACHEX_LABELS_XML_NODE_H

#include <stddef.h>

struct lc__xml_node {
	size_t name, text;  /* offsets in the document's text */
	size_t child, next; /* the first element in it, the next beside it */
};

#endif
