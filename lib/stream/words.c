/* SPDX-License-Identifier: BSD-2-Clause */
/* The words for how streams shuffle and how readers share. */
#include <string.h>

#include "base/error.h"

static const char *const shuffles[] = {
	[LC_SHUFFLE_NONE] = "none", [LC_SHUFFLE_FULL] = "full",
	[LC_SHUFFLE_BLOCK] = "block", [LC_SHUFFLE_ERA] = "era"
};
static const char *const splits[] = {
	[LC_SPLIT_STRIDED] = "strided", [LC_SPLIT_CONTIGUOUS] = "contiguous"
};

#define COUNT(words) (sizeof(words) / sizeof((words)[0]))

static lc_status
parse(const char *what, const char *const *words, size_t n, const char *name,
    unsigned *out)
{
	for (unsigned i = 0; name != NULL && i < n; i++) {
		if (strcmp(name, words[i]) == 0) {
			*out = i;
			return LC_OK;
		}
	}
	return lc__error(LC_INVALID, 0, "unknown %s '%s'", what,
	    name != NULL ? name : "");
}

const char *
lc_shuffle_name(lc_shuffle shuffle)
{
	return (unsigned)shuffle < COUNT(shuffles) ? shuffles[shuffle] : NULL;
}

lc_status
lc_shuffle_parse(const char *name, lc_shuffle *out)
{
	unsigned i;

	return_if_error(parse("shuffle", shuffles, COUNT(shuffles), name, &i));
	*out = (lc_shuffle)i;
	return LC_OK;
}

const char *
lc_split_name(lc_split split)
{
	return (unsigned)split < COUNT(splits) ? splits[split] : NULL;
}

lc_status
lc_split_parse(const char *name, lc_split *out)
{
	unsigned i;

	return_if_error(parse("split", splits, COUNT(splits), name, &i));
	*out = (lc_split)i;
	return LC_OK;
}
