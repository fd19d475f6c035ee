/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in JSON: from their text, and to it. */
#ifndef LC_BASE_JSON_NUMBER_H
#define LC_BASE_JSON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/** (-1)^negative * digits * 10^exponent, if 64 bits hold the digits. */
struct lc__json_number {
	const char *text; /* where it begins */
	const char *stop; /* where its digits end */
	uint64_t digits;  /* wraps around */
	int exponent;
	bool negative;
	bool integer; /* without point and exponent */
};

/** The end of the number at @p at, NULL if there is none. */
const char *lc__json_number(const char *at, const char *end, struct lc__json_number *out);
/** The same without the number itself: if there is none, *wrong points at the first byte
 *  that does not fit and *what describes the mistake. */
const char *lc__json_number_end(const char *at, const char *end, const char **wrong,
    const char **what);

/** The nearest double (ties to even), independent of the locale; infinite if it is too
 *  large. The byte after the number's text must exist and not be part of a number. */
double lc__json_number_double(const struct lc__json_number *number);

/** The absolute value, if it is an integer below 2^64. A byte must follow as above. */
bool lc__json_number_integer(const struct lc__json_number *number, uint64_t *out);

/** Room for any double's text and its end. */
#define LC__SHORTEST 32

/** Write a finite number with the fewest digits that read back as the same double, with a
 *  decimal point in every locale: 1, 0.1, 1e+100. */
void lc__shortest(double number, char out[LC__SHORTEST]);

#endif
