/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define LEAST 4 /* fewest elements of a new array */

lc_status
lc__array_grow(void *array, size_t size, size_t *room, size_t wanted, const char *what)
{
	const size_t most = SIZE_MAX / 2 / size; /* malloc() cannot allocate more bytes */
	size_t grown = *room < LEAST / 2 ? LEAST : *room * 2;
	void *items;

	if (wanted > most)
		return lc__no_memory(what);
	if (grown > most)
		grown = most;
	if (grown < wanted)
		grown = wanted;
	/*
	 * *array has the caller's pointer type, so it is copied instead of read as a void
	 * *.
	 */
	memcpy(&items, array, sizeof(items));
	items = realloc(items, grown * size);
	if (items == NULL)
		return lc__no_memory(what);
	memcpy(array, &items, sizeof(items));
	*room = grown;
	return LC_OK;
}
