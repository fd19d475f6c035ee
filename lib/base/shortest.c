/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/shortest.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The locale's decimal point, which may be some bytes long, becomes a full stop. */
static void
put_point(char *text)
{
	const char *point = localeconv()->decimal_point;
	char *at = strcmp(point, ".") == 0 ? NULL : strstr(text, point);

	if (at == NULL)
		return;
	*at = '.';
	memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
}

void
lc__shortest(double number, char out[LC__SHORTEST])
{
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(out, LC__SHORTEST, "%.*g", digits, number);
		if (strtod(out, NULL) == number)
			break;
	}
	put_point(out);
}
