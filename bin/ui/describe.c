/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/describe.h"

#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

char *
describe_value(const lc_value *value)
{
	const int size = lc_value_describe(value, NULL, 0);
	char *text = size < 0 ? NULL : malloc((size_t)size + 1);

	if (text == NULL)
		return strdup("?");
	lc_value_describe(value, text, (size_t)size + 1);
	return text;
}

char *
describe_cut(char *text, size_t columns)
{
	size_t at = columns - 1;

	if (strlen(text) <= columns + sizeof(ELLIPSIS))
		return text;
	/* Not into the middle of a character. */
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	strcpy(text + at, ELLIPSIS);
	return text;
}

uint64_t
describe_bytes(const lc_value *value)
{
	lc_tensor tensor;
	uint64_t sum = 0;

	if (lc_value_kind(value) == LC_TENSOR)
		return lc_value_as_tensor(value, &tensor) == LC_OK ?
		    tensor.nbytes : 0;
	for (size_t i = 0; i < lc_value_count(value); i++)
		sum += describe_bytes(lc_value_at(value, i));
	return sum;
}
