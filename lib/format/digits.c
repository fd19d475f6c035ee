/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/digits.h"

#include <stdio.h>
#include <stdlib.h>

#define LEAST 15
#define MOST 17

static unsigned
digits_of_real(double number)
{
	char text[40];

	for (unsigned digits = LEAST; digits < MOST; digits++) {
		snprintf(text, sizeof(text), "%.*g", (int)digits, number);
		if (strtod(text, NULL) == number)
			return digits;
	}
	return MOST;
}

static unsigned
larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/* jansson refuses values nested deeper than 2,048. */
static unsigned
digits_of(const json_t *value)
{
	unsigned most = LEAST;
	const json_t *item;
	const char *key;
	size_t i;

	if (json_is_real(value))
		return digits_of_real(json_real_value(value));
	json_array_foreach(value, i, item)
		most = larger(most, digits_of(item));
	json_object_foreach((json_t *)value, key, item)
		most = larger(most, digits_of(item));
	return most;
}

size_t
lc__json_digits(const json_t *value)
{
	return JSON_REAL_PRECISION(digits_of(value));
}
