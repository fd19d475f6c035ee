/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of a JSON number to a double, rounded once, and back. */
#include "base/json_number.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* 64 bits may be too few for more digits. */
#define DIGITS_MAX 19
/* 5^27 is the last power of five below 2^63. */
#define POWER_MAX 27
/* Beyond it a number is 0 or infinite, whatever its digits. */
#define EXPONENT_MAX 100000000

/* ---- the grammar ------------------------------------------------------------------ */

static bool
is_digit(const char *at, const char *end)
{
	return at < end && *at >= '0' && *at <= '9';
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Are these eight digits? A digit has 3 in its upper half, also with 6 added. */
static bool
eight_digits(uint64_t text)
{
	const uint64_t upper = UINT64_C(0xf0f0f0f0f0f0f0f0);

	return ((text & upper) | ((text + UINT64_C(0x0606060606060606)) & upper) >> 4) ==
	    UINT64_C(0x3333333333333333);
}

/* Their value: neighbours are combined into pairs, pairs into fours, fours into one. */
static uint64_t
eight_value(uint64_t text)
{
	text -= UINT64_C(0x3030303030303030);
	text = (text * 10 + (text >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	text = (text * 100 + (text >> 16)) & UINT64_C(0x0000ffff0000ffff);
	return (text * 10000 + (text >> 32)) & UINT64_C(0xffffffff);
}
#endif

/* Scan the digits at `at` and return their end. They are appended to the digits of
 * *value, which wraps around, unless it is NULL. */
static inline const char *
take_digits(const char *at, const char *end, uint64_t *value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	for (; end - at >= 8; at += 8) {
		uint64_t text;
		memcpy(&text, at, sizeof(text));
		if (!eight_digits(text))
			break;
		if (value != NULL)
			*value = *value * 100000000 + eight_value(text);
	}
#endif
	for (; is_digit(at, end); at++)
		if (value != NULL)
			*value = *value * 10 + (uint64_t)(*at - '0');
	return at;
}

/* The digits of an exponent. */
static const char *
take_exponent(const char *at, const char *end, bool negative, int *out)
{
	int exponent = 0;

	for (; is_digit(at, end); at++)
		if (exponent < EXPONENT_MAX)
			exponent = exponent * 10 + (*at - '0');
	*out = negative ? -exponent : exponent;
	return at;
}

/*
 * The grammar: the end of a number, or NULL with the position of the mistake in *wrong
 * and its description in *what. Compiled twice: as lc__json_number(), and with a NULL
 * number as lc__json_number_end(), which is faster because it ignores the value of the
 * digits.
 */
static inline __attribute__((always_inline)) const char *
scan_number(const char *at, const char *end, struct lc__json_number *number,
    const char **wrong, const char **what)
{
	uint64_t *const digits = number != NULL ? &number->digits : NULL;
	const bool negative = at < end && *at == '-';
	const char *point, *stop;
	ptrdiff_t fraction = 0;
	bool integer = true;
	int exponent = 0;

	at += negative;
	*wrong = at;
	*what = "a digit is missing";
	if (!is_digit(at, end))
		return NULL;
	if (*at == '0' && is_digit(at + 1, end)) {
		*wrong = at + 1;
		*what = "a number begins with 0";
		return NULL;
	}
	at = point = stop = take_digits(at, end, digits);
	if (at < end && *at == '.') {
		at = stop = take_digits(point + 1, end, digits);
		fraction = at - point - 1;
		*wrong = at;
		*what = "no digit after the point";
		if (fraction == 0)
			return NULL;
		integer = false;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		const char sign = at + 1 < end ? at[1] : '\0';

		at += sign == '+' || sign == '-' ? 2 : 1;
		*wrong = at;
		*what = "no digit in the exponent";
		if (!is_digit(at, end))
			return NULL;
		at = take_exponent(at, end, sign == '-', &exponent);
		integer = false;
	}
	if (number != NULL) {
		number->stop = stop;
		number->negative = negative;
		number->integer = integer;
		number->exponent = exponent -
		    (int)(fraction < EXPONENT_MAX ? fraction : EXPONENT_MAX);
	}
	return at;
}

const char *
lc__json_number(const char *at, const char *end, struct lc__json_number *out)
{
	const char *wrong, *what;

	out->text = at;
	out->digits = 0;
	return scan_number(at, end, out, &wrong, &what);
}

const char *
lc__json_number_end(const char *at, const char *end, const char **wrong,
    const char **what)
{
	return scan_number(at, end, NULL, wrong, what);
}

/* ---- its value -------------------------------------------------------------------- */

/* Do the digits fit into 64 bits? Leading zeros do not count. */
static bool
is_exact(const struct lc__json_number *number)
{
	const char *at = number->text + number->negative, *const end = number->stop;
	size_t n = 0;

	if (end - at <= DIGITS_MAX)
		return true;
	if (end - at > EXPONENT_MAX)
		return false;
	for (; at < end && (*at == '0' || *at == '.'); at++)
		continue;
	for (; at < end; at++)
		n += *at != '.';
	return n <= DIGITS_MAX;
}

#ifdef __SIZEOF_INT128__
static const uint64_t fives[POWER_MAX + 1] = { UINT64_C(1), UINT64_C(5), UINT64_C(25),
	UINT64_C(125), UINT64_C(625), UINT64_C(3125), UINT64_C(15625), UINT64_C(78125),
	UINT64_C(390625), UINT64_C(1953125), UINT64_C(9765625), UINT64_C(48828125),
	UINT64_C(244140625), UINT64_C(1220703125), UINT64_C(6103515625),
	UINT64_C(30517578125), UINT64_C(152587890625), UINT64_C(762939453125),
	UINT64_C(3814697265625), UINT64_C(19073486328125), UINT64_C(95367431640625),
	UINT64_C(476837158203125), UINT64_C(2384185791015625),
	UINT64_C(11920928955078125), UINT64_C(59604644775390625),
	UINT64_C(298023223876953125), UINT64_C(1490116119384765625),
	UINT64_C(7450580596923828125) };

/* 2^power, for powers that a double represents exactly. */
static double
two_to(int power)
{
	const uint64_t bits = (uint64_t)(1023 + power) << 52;
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

/*
 * digits * 5^power, or digits / 5^-power: the upper 63 or 64 bits, with the last bit set
 * if anything below them is not 0. The conversion rounds these to the 53 bits of a
 * double. The power of two that remains is exact.
 */
static double
scale_up(uint64_t digits, int power)
{
	const unsigned __int128 product = (unsigned __int128)digits * fives[power];
	const uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
	int shift;

	if (high == 0)
		return (double)low * two_to(power);
	shift = 64 - __builtin_clzll(high);
	return (double)((uint64_t)(product >> shift) |
		   ((product & (((unsigned __int128)1 << shift) - 1)) != 0)) *
	    two_to(shift + power);
}

static double
scale_down(uint64_t digits, int power)
{
	const int up = __builtin_clzll(digits), by = __builtin_clzll(fives[power]);
	const unsigned __int128 dividend = (unsigned __int128)(digits << up) << 63;
	const uint64_t divisor = fives[power] << by;
	const uint64_t quotient = (uint64_t)(dividend / divisor);

	return (double)(quotient | (dividend % divisor != 0)) *
	    two_to(by - up - 63 - power);
}

static bool
scale(const struct lc__json_number *number, double *out)
{
	if (number->exponent < -POWER_MAX || number->exponent > POWER_MAX ||
	    !is_exact(number))
		return false;
	if (number->digits == 0)
		*out = 0;
	else if (number->exponent >= 0)
		*out = scale_up(number->digits, number->exponent);
	else
		*out = scale_down(number->digits, -number->exponent);
	return true;
}
#else
static bool
scale(const struct lc__json_number *number, double *out)
{
	(void)number;
	(void)out;
	return false;
}
#endif

static locale_t c_locale;

static void
make_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

double
lc__json_number_double(const struct lc__json_number *number)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	double real;

	if (scale(number, &real))
		return number->negative ? -real : real;
	pthread_once(&once, make_locale);
	return strtod_l(number->text, NULL, c_locale);
}

/* Twenty digits may fit 64 bits too. */
static bool
long_integer(const char *at, uint64_t *out)
{
	*out = 0;
	for (at += *at == '-'; *at >= '0' && *at <= '9'; at++)
		if (!lc__mul64(*out, 10, out) ||
		    !lc__add64(*out, (uint64_t)(*at - '0'), out))
			return false;
	return true;
}

bool
lc__json_number_integer(const struct lc__json_number *number, uint64_t *out)
{
	int exponent = number->exponent;

	if (!is_exact(number))
		return number->integer && long_integer(number->text, out);
	*out = number->digits;
	for (; *out != 0 && exponent < 0; exponent++) {
		if (*out % 10 != 0)
			return false;
		*out /= 10;
	}
	for (; *out != 0 && exponent > 0; exponent--)
		if (!lc__mul64(*out, 10, out))
			return false;
	return true;
}

/* ---- back to text ------------------------------------------------------------------ */

void
lc__shortest(double number, char out[LC__SHORTEST])
{
	const char *point = localeconv()->decimal_point;
	char *at;

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(out, LC__SHORTEST, "%.*g", digits, number);
		if (strtod(out, NULL) == number)
			break;
	}
	/* The locale's decimal point, which may be several bytes, becomes a full stop. */
	at = strcmp(point, ".") == 0 ? NULL : strstr(out, point);
	if (at != NULL) {
		*at = '.';
		memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
	}
}
