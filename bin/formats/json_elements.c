/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays of numbers as tensors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json_number.h"
#include "formats/json_elements.h"

/* Numbers that are converted in one call. */
#define BLOCK 256

/* Which numbers a dtype can hold. */
struct form {
	enum { NONE, REAL, INTEGER, BOOLEAN } kind;
	bool minus;             /* INTEGER: has negative numbers */
	bool infinite;          /* REAL: has infinity */
	int exponent, fraction; /* REAL below 32 bits: how many bits it has for each */
	double large;           /* REAL: amounts from here on become infinite */
};

static const struct form forms[LC_DTYPE_COUNT] = {
	[LC_BOOL] = { .kind = BOOLEAN },
	[LC_U8] = { .kind = INTEGER },
	[LC_I8] = { .kind = INTEGER, .minus = true },
	[LC_U16] = { .kind = INTEGER },
	[LC_I16] = { .kind = INTEGER, .minus = true },
	[LC_U32] = { .kind = INTEGER },
	[LC_I32] = { .kind = INTEGER, .minus = true },
	[LC_U64] = { .kind = INTEGER },
	[LC_I64] = { .kind = INTEGER, .minus = true },
	[LC_F16] = { REAL, .infinite = true, .exponent = 5, .fraction = 10,
	    .large = 0x1.ffep15 },
	[LC_BF16] = { REAL, .infinite = true, .exponent = 8, .fraction = 7,
	    .large = 0x1.ffp127 },
	[LC_F32] = { REAL, .infinite = true, .large = 0x1.ffffffp127 },
	[LC_F64] = { REAL, .infinite = true, .large = (double)INFINITY },
	/* The largest number is even, so a tie between it and the next one rounds to
	 * infinity. */
	[LC_F8_E4M3] = { REAL, .exponent = 4, .fraction = 3,
	    .large = 0x1.d000000000001p8 },
	[LC_F8_E5M2] = { REAL, .infinite = true, .exponent = 5, .fraction = 2,
	    .large = 0x1.ep15 },
};

struct elements {
	const char *at, *end;
	lc_dtype dtype;
	const struct form *form;
	struct lc__buf *out;
	uint32_t ndim;               /* UINT32_MAX until it is known */
	uint64_t shape[LC_MAX_NDIM]; /* UINT64_MAX where it is not known */
	uint64_t count[LC_MAX_NDIM]; /* members of the arrays that are open */
	uint32_t depth;              /* how many are */
	double block[BLOCK];
	size_t blocked;
};

/* LC_INVALID with the position: "at [3,0]: what". */
static lc_status
bad(const struct elements *e, const char *what)
{
	char place[LC_MAX_NDIM * 21 + 1] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < e->depth; i++)
		n += (size_t)snprintf(place + n, sizeof(place) - n, "%s%llu",
		    i > 0 ? "," : "", (unsigned long long)e->count[i]);
	return lc__error(LC_INVALID, 0, "at [%s]: %s", place, what);
}

/* ---- one number's bytes ---------------------------------------------------------- */

/*
 * Drop the bits of the significand that the dtype has no room for, more of them the
 * nearer the number is to 0, and round; a carry goes into the exponent. Numbers that are
 * too large have been refused before.
 */
static unsigned
small_bits(const struct form *form, double number)
{
	const int bias = (1 << (form->exponent - 1)) - 1, least = 1 - bias;
	const unsigned top = ((1u << form->exponent) - 1) << form->fraction;
	uint64_t bits, sign, kept, rest;
	int exponent, lost;

	memcpy(&bits, &number, sizeof(bits));
	sign = bits >> 63 << (form->exponent + form->fraction);
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	bits &= (UINT64_C(1) << 52) - 1;
	if (exponent == 1024)
		return (unsigned)sign | top |
		    (bits == 0               ? 0
			    : form->infinite ? 1u << (form->fraction - 1)
					     : (1u << form->fraction) - 1);
	bits |= UINT64_C(1) << 52;
	lost = 52 - form->fraction + (exponent < least ? least - exponent : 0);
	if (lost > 54)
		return (unsigned)sign;
	kept = bits >> lost;
	rest = (bits & ((UINT64_C(1) << lost) - 1)) << 1;
	kept += rest > UINT64_C(1) << lost || (rest == UINT64_C(1) << lost && (kept & 1));
	if (exponent > least)
		kept += (uint64_t)(exponent - least) << form->fraction;
	return (unsigned)(sign | kept);
}

static void
store_f32(double number, unsigned char *out)
{
	const float single = (float)number;
	uint32_t bits;

	memcpy(&bits, &single, sizeof(bits));
	lc__set32(out, bits);
}

static void
store_f64(double number, unsigned char *out)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	lc__set64(out, bits);
}

static lc_status
end_block(struct elements *e)
{
	const size_t size = lc_dtype_size(e->dtype);
	unsigned char *out = lc__buf_append(e->out, NULL, e->blocked * size);

	if (out == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	for (size_t i = 0; i < e->blocked; i++, out += size)
		switch (size) {
		case 1: *out = (unsigned char)small_bits(e->form, e->block[i]); break;
		case 2: lc__set16(out, (uint16_t)small_bits(e->form, e->block[i])); break;
		case 4: store_f32(e->block[i], out); break;
		default: store_f64(e->block[i], out); break;
		}
	e->blocked = 0;
	return LC_OK;
}

static lc_status
put_real(struct elements *e, double number)
{
	e->block[e->blocked++] = number;
	return e->blocked == BLOCK ? end_block(e) : LC_OK;
}

static lc_status
put_integer(struct elements *e, uint64_t number)
{
	number = htole64(number);
	lc__buf_append(e->out, &number, lc_dtype_size(e->dtype));
	return e->out->failed ? lc__error(LC_NO_MEMORY, 0, "out of memory") : LC_OK;
}

/* ---- one number's text ----------------------------------------------------------- */

static bool
take_word(struct elements *e, const char *word)
{
	const size_t size = strlen(word);

	if ((size_t)(e->end - e->at) < size || memcmp(e->at, word, size) != 0)
		return false;
	e->at += size;
	return true;
}

/* Python writes these, which JSON lacks. */
static lc_status
special(struct elements *e)
{
	const struct form *const form = e->form;

	if (form->kind == BOOLEAN && take_word(e, "true"))
		return put_integer(e, 1);
	if (form->kind == BOOLEAN && take_word(e, "false"))
		return put_integer(e, 0);
	if (form->kind == REAL && take_word(e, "NaN"))
		return put_real(e, (double)NAN);
	if (form->kind == REAL && form->infinite && take_word(e, "Infinity"))
		return put_real(e, (double)INFINITY);
	if (form->kind == REAL && form->infinite && take_word(e, "-Infinity"))
		return put_real(e, -(double)INFINITY);
	return bad(e, "not a number of this dtype");
}

static lc_status
integer(struct elements *e, const struct lc__json_number *number)
{
	const unsigned bits = (unsigned)lc_dtype_size(e->dtype) * 8;
	const uint64_t most = e->form->kind == BOOLEAN
	    ? 1
	    : UINT64_MAX >> (64 - bits + e->form->minus);
	uint64_t amount;

	if (!lc__json_number_integer(number, &amount))
		return bad(e, "not an integer");
	if (number->negative ? amount > (e->form->minus ? most + 1 : 0) : amount > most)
		return bad(e, "outside the range of the dtype");
	return put_integer(e, number->negative ? 0 - amount : amount);
}

static lc_status
number(struct elements *e)
{
	struct lc__json_number number;
	const char *end = lc__json_number(e->at, e->end, &number);
	double real;

	if (end == NULL)
		return special(e);
	if (end == e->end)
		return bad(e, "the text ends too early");
	e->at = end;
	if (e->form->kind != REAL)
		return integer(e, &number);
	real = lc__json_number_double(&number);
	if (fabs(real) >= e->form->large)
		return bad(e, "too large for the dtype");
	return put_real(e, real);
}

/* ---- nesting ---------------------------------------------------------------------- */

static void
skip_blanks(struct elements *e)
{
	while (e->at < e->end &&
	    (*e->at == ' ' || *e->at == '\t' || *e->at == '\r' || *e->at == '\n'))
		e->at++;
}

static bool
take(struct elements *e, char c)
{
	if (e->at == e->end || *e->at != c)
		return false;
	e->at++;
	return true;
}

static lc_status
close_array(struct elements *e)
{
	const uint32_t top = e->depth - 1;
	const uint64_t count = e->count[top];

	/* The first array that contains no array determines the rank. */
	if (e->ndim == UINT32_MAX)
		e->ndim = e->depth;
	if (count == 0 && e->depth != e->ndim)
		return bad(e, "an array of another rank than those before it");
	if (e->shape[top] == UINT64_MAX)
		e->shape[top] = count;
	e->depth--;
	if (e->shape[top] != count)
		return bad(e, "an array of another length than those before it");
	return LC_OK;
}

/* A number, or the beginning of an array; *within if members follow. */
static lc_status
begin(struct elements *e, bool *within)
{
	*within = false;
	if (take(e, '[')) {
		if (e->depth == LC_MAX_NDIM ||
		    (e->ndim != UINT32_MAX && e->depth >= e->ndim))
			return bad(e, "nested deeper than the elements before it");
		e->count[e->depth++] = 0;
		skip_blanks(e);
		*within = !take(e, ']');
		return *within ? LC_OK : close_array(e);
	}
	if (e->depth == 0)
		return bad(e, "not an array");
	if (e->ndim == UINT32_MAX)
		e->ndim = e->depth;
	if (e->ndim != e->depth)
		return bad(e, "a number among arrays");
	return number(e);
}

/* After a member: a comma, or the end of one or more arrays. */
static lc_status
end(struct elements *e)
{
	while (e->depth > 0) {
		e->count[e->depth - 1]++;
		skip_blanks(e);
		if (take(e, ','))
			return LC_OK;
		if (!take(e, ']'))
			return bad(e, "a comma is missing");
		return_if_error(close_array(e));
	}
	return LC_OK;
}

static lc_status
elements(struct elements *e)
{
	bool within;

	do {
		skip_blanks(e);
		return_if_error(begin(e, &within));
		if (!within)
			return_if_error(end(e));
	} while (e->depth > 0);
	skip_blanks(e);
	if (e->at < e->end)
		return bad(e, "something follows the array");
	return e->blocked > 0 ? end_block(e) : LC_OK;
}

bool
lc__json_has_dtype(lc_dtype dtype)
{
	return (unsigned)dtype < LC_DTYPE_COUNT && forms[dtype].kind != NONE;
}

lc_status
lc__json_elements(struct lc__json_slice array, lc_dtype dtype, uint32_t *ndim,
    uint64_t shape[LC_MAX_NDIM], struct lc__buf *out)
{
	struct elements e;

	if (!lc__json_has_dtype(dtype))
		return lc__error(LC_INVALID, 0, "JSON has no numbers of this dtype");
	e.at = array.text;
	e.end = array.text + array.size;
	e.dtype = dtype;
	e.form = &forms[dtype];
	e.out = out;
	e.ndim = UINT32_MAX;
	e.depth = 0;
	e.blocked = 0;
	memset(e.shape, 0xff, sizeof(e.shape));
	return_if_error(elements(&e));
	*ndim = e.ndim;
	memcpy(shape, e.shape, e.ndim * sizeof(shape[0]));
	return LC_OK;
}
