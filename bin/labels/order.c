/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/order.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Pass over a number; its digits without zeros before them. */
static size_t
take_number(const char **p, const char **digits)
{
	while (**p == '0')
		++*p;
	*digits = *p;
	while (is_digit(**p))
		++*p;
	return (size_t)(*p - *digits);
}

static int
compare_numbers(const char **a, const char **b)
{
	const char *x, *y;
	const size_t nx = take_number(a, &x), ny = take_number(b, &y);

	if (nx != ny)
		return nx < ny ? -1 : 1;
	return memcmp(x, y, nx);
}

int
lc__order_names(const char *a, const char *b)
{
	const char *p = a, *q = b;

	while (*p != '\0' && *q != '\0') {
		int order = 0;
		if (is_digit(*p) && is_digit(*q))
			order = compare_numbers(&p, &q);
		else
			order = (unsigned char)*p++ - (unsigned char)*q++;
		if (order != 0)
			return order;
	}
	if (*p != *q)
		return *p == '\0' ? -1 : 1;
	return strcmp(a, b);
}
