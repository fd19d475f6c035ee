/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"

lc_status
lc__strings_add(struct lc__strings *strings, const char *text)
{
	const size_t n = strings->n;

	return_if_error(lc__array_reserve(&strings->items, &strings->room, n + 1, NULL));
	strings->items[n] = text != NULL ? strdup(text) : NULL;
	if (text != NULL && strings->items[n] == NULL)
		return lc__no_memory(NULL);
	strings->n++;
	return LC_OK;
}

void
lc__strings_free(struct lc__strings *strings)
{
	for (size_t i = 0; i < strings->n; i++)
		free(strings->items[i]);
	free(strings->items);
	memset(strings, 0, sizeof(*strings));
}

static int
compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
lc__strings_sort(struct lc__strings *strings)
{
	size_t kept = 0;

	if (strings->n == 0)
		return;
	qsort(strings->items, strings->n, sizeof(*strings->items), compare_strings);
	for (size_t i = 1; i < strings->n; i++)
		if (strcmp(strings->items[kept], strings->items[i]) == 0)
			free(strings->items[i]);
		else
			strings->items[++kept] = strings->items[i];
	strings->n = kept + 1;
}

size_t
lc__printable(const char *text, char *out, size_t room)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = strlen(text), used = 0;

	while (left > 0) {
		const size_t size = lc__utf8_length(p, left);
		const size_t step = size > 0 ? size : 1;
		char shown[5];
		size_t n = size;
		if (size == 0 || *p < 0x20 || *p == 0x7f)
			n = (size_t)snprintf(shown, sizeof(shown), "\\x%02x", *p);
		else
			memcpy(shown, p, size);
		if (n >= room - used)
			break;
		memcpy(out + used, shown, n);
		used += n;
		p += step;
		left -= step;
	}
	out[used] = '\0';
	return used;
}

bool
lc__number_parse(const char *text, double *out)
{
	char *end;

	/* strtod() also reads hexadecimal numbers and "nan(...)". */
	if (strpbrk(text, "xXpP(") != NULL)
		return false;
	*out = strtod(text, &end);
	return end != text && end[strspn(end, " \t\r\n")] == '\0';
}
