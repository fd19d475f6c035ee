/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growable arrays. An array is a pointer and the number of elements that it has room for;
 * the caller keeps both, and counts the elements that it uses:
 *
 *	struct row *rows = NULL;
 *	size_t n = 0, room = 0;
 *
 *	return_if_error(lc__array_reserve(&rows, &room, n + 1, NULL));
 *	rows[n++] = row;
 *	...
 *	free(rows);
 *
 * Bytes and text go into a struct lc__buf (base/buf.h).
 */
#ifndef LC_BASE_ARRAY_H
#define LC_BASE_ARRAY_H

#include <stddef.h>

#include "lmdbcache.h"

/**
 * Make room for at least @p wanted elements in *@p array, a pointer that starts as NULL
 * with *@p room 0 and is freed by free(3). An array that is too small grows to at least
 * twice its room, so that appending n elements one by one copies less than 2 n of them.
 * The elements stay; new ones are not initialised.
 * @return LC_OK, or LC_NO_MEMORY with the message of lc__no_memory(@p what), also if the
 * size in bytes overflows a size_t: then the array and its room are unchanged.
 */
#define lc__array_reserve(array, room, wanted, what) \
	lc__array_room((array), sizeof(**(array)), (room), (wanted), (what))

/** The slow path: the array is too small. */
LC_CHECKED lc_status lc__array_grow(void *array, size_t size, size_t *room, size_t wanted,
    const char *what);

/** The same for elements of @p size bytes and @p array a pointer to a pointer to them. */
LC_CHECKED static inline lc_status
lc__array_room(void *array, size_t size, size_t *room, size_t wanted, const char *what)
{
	return wanted <= *room ? LC_OK : lc__array_grow(array, size, room, wanted, what);
}

#endif
