/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/number.h"

#include <stdlib.h>
#include <string.h>

bool
lc__number_parse(const char *text, double *out)
{
	char *end;

	/* strtod() reads hexadecimal and "nan(...)" too. */
	if (strpbrk(text, "xXpP(") != NULL)
		return false;
	*out = strtod(text, &end);
	return end != text && end[strspn(end, " \t\r\n")] == '\0';
}
