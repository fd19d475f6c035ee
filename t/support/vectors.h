/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Worked examples in JSON: an object of sections, each with a list `cases`. What is
 * missing or of another type fails the test, with the path of what was looked for.
 */
#ifndef T_VECTORS_H
#define T_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_tree.h"

/** The file that the environment variable @p variable names, else the source
 *  directory's @p name. It stays until the program ends. */
const struct lc__json *vectors_load(const char *variable, const char *name);

/** Say which case is checked, for messages. */
void vectors_at(const char *section, size_t number);

/** A whole number, or one in digits as a string. */
uint64_t vectors_u64(const struct lc__json *value);

/** Members that must be there. */
const struct lc__json *vectors_get(const struct lc__json *object, const char *name);
uint64_t vectors_get_u64(const struct lc__json *object, const char *name);
/** A list; its size goes to *n. */
const struct lc__json *vectors_get_list(const struct lc__json *object, const char *name, size_t *n);
/** Go through a list, with the number of each element. */
#define vectors_each(list, i, item) \
	for ((i) = 0, (item) = lc__json_first(list); (item) != NULL; \
	    (item) = lc__json_after((list), (item)), (i)++)
/** An element; NULL after the last. */
const struct lc__json *vectors_at_index(const struct lc__json *list, size_t i);
/** How many elements a list has; 0 for none. */
size_t vectors_count(const struct lc__json *list);
/** A list of numbers; malloc'ed, never NULL. */
uint64_t *vectors_get_u64s(const struct lc__json *object, const char *name, size_t *n);

/** @p want must be the number @p got. */
void vectors_is(const struct lc__json *want, uint64_t got);

/** @p list must be numbers, the same as @p got[0..n-1]. */
void vectors_equal(const struct lc__json *list, const uint64_t *got, size_t n);

/** "fnv1a64_of_u64le": numbers as 8 bytes each, little-endian. */
uint64_t vectors_fnv1a(const uint64_t *values, size_t n);

#endif
