/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of classes in a dataset's YAML: labels/classes.c. Input: a file. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "labels/strings.h"
#include "labels/classes.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lc__strings names = { 0 };
	char *text = malloc(size + 1);

	if (text == NULL)
		abort();
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	fuzz_require(lc__yaml_names(text, &names) == LC_OK);
	for (size_t i = 0; i < names.n; i++)
		if (names.items[i] != NULL)
			fuzz_touch(names.items[i], strlen(names.items[i]));
	lc__strings_free(&names);
	free(text);
	return 0;
}
