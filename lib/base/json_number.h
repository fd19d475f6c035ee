/* SPDX-License-Identifier: BSD-2-Clause */
/* A number in JSON, as its text has it. */
#ifndef CACHEX_FORMATS_JSON_NUMBER_H
#define CACHEX_FORMATS_JSON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/** (-1)^negative * digits * 10^exponent, if exact. */
struct lc__json_number {
	const char *text;  /* where it begins */
	uint64_t digits;
	int exponent;
	bool negative;
	bool exact;        /* 64 bits hold the digits */
	bool integer;      /* it has neither point nor exponent */
};

/** Where the number at @p at ends; NULL if none begins there. */
const char *lc__json_number(const char *at, const char *end,
    struct lc__json_number *out);

/** The nearest double, of two the even one, whatever the locale; infinite if it is too
 *  large. What stands behind the number's text must not be able to belong to one. */
double lc__json_number_double(const struct lc__json_number *number);

/** Its amount, if that is an integer below 2^64. */
bool lc__json_number_integer(const struct lc__json_number *number, uint64_t *out);

#endif
