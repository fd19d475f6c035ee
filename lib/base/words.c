/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/words.h"

#include <string.h>

#include "base/error.h"

const char *
lc__word(const char *const *words, unsigned i)
{
	while (i > 0 && *words != NULL) {
		words++;
		i--;
	}
	return *words;
}

lc_status
lc__word_parse(const char *what, const char *const *words, const char *name,
    unsigned *out)
{
	for (*out = 0; name != NULL && words[*out] != NULL; (*out)++)
		if (strcmp(name, words[*out]) == 0)
			return LC_OK;
	return lc__error(LC_INVALID, 0, "unknown %s '%s'", what,
	    name != NULL ? name : "");
}
