/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The elements of the lists in the outermost object of a JSON file of any size, one after
 * another, in the memory of one. Of an element only its brackets are checked: who gets it
 * parses it.
 */
#ifndef CACHEX_LABELS_JSON_STREAM_H
#define CACHEX_LABELS_JSON_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** An element may be no larger. */
#define LC__JSON_ELEMENT_MAX (64u << 20)

struct lc__json_element {
	size_t member;    /* of the names that were asked for */
	uint64_t offset;  /* where it is in the file */
	const char *text; /* borrowed */
	uint32_t size;
};

typedef lc_status (*lc__json_found)(void *ctx, const struct lc__json_element *element);

/** Members that can be asked for. */
#define LC__JSON_MEMBERS 8

/**
 * Scan a file from its start.
 * @param names  members to look into, up to NULL; each is a list
 * @param needed the first so many of them must be there
 * @return LC_OK; LC_CORRUPT with the byte where it is malformed, or where one of
 * the members is no list or is there again; what @p found returns; LC_IO,
 * LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__json_stream(int fd, const char *path, const char *const *names,
    size_t needed, lc__json_found found, void *ctx);

#endif
