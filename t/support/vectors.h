/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Worked examples in JSON: an object of sections, each with a list `cases`. What is
 * missing or of another type fails the test, with the path of what was looked for.
 */
#ifndef T_VECTORS_H
#define T_VECTORS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The file that the environment variable @p variable names, else the source
 *  directory's @p name. Freed with json_decref(). */
json_t *vectors_load(const char *variable, const char *name);

/** Say which case is checked, for messages. */
void vectors_at(const char *section, size_t number);

/** A whole number, or one in digits as a string. */
uint64_t vectors_u64(const json_t *value);

/** Members that must be there. */
json_t *vectors_get(const json_t *object, const char *name);
uint64_t vectors_get_u64(const json_t *object, const char *name);
/** A list; its size goes to *n. */
json_t *vectors_get_list(const json_t *object, const char *name, size_t *n);
/** A list of numbers; malloc'ed, never NULL. */
uint64_t *vectors_get_u64s(const json_t *object, const char *name, size_t *n);

/** @p want must be the number @p got. */
void vectors_is(const json_t *want, uint64_t got);

/** @p list must be numbers, the same as @p got[0..n-1]. */
void vectors_equal(const json_t *list, const uint64_t *got, size_t n);

/** "fnv1a64_of_u64le": numbers as 8 bytes each, little-endian. */
uint64_t vectors_fnv1a(const uint64_t *values, size_t n);

#endif
