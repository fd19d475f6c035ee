/* SPDX-License-Identifier: BSD-2-Clause */
/* The words for how streams shuffle, how readers share, and what joins miss. */
#include "base/error.h"
#include "base/words.h"

static const char *const shuffles[] = {
	[LC_SHUFFLE_NONE] = "none", [LC_SHUFFLE_FULL] = "full",
	[LC_SHUFFLE_BLOCK] = "block", [LC_SHUFFLE_ERA] = "era", NULL
};
static const char *const splits[] = {
	[LC_SPLIT_STRIDED] = "strided", [LC_SPLIT_CONTIGUOUS] = "contiguous",
	NULL
};
static const char *const missings[] = {
	[LC_MISSING_REFUSE] = "refuse", [LC_MISSING_DROP] = "drop", NULL
};

const char *
lc_shuffle_name(lc_shuffle shuffle)
{
	return lc__word(shuffles, (unsigned)shuffle);
}

lc_status
lc_shuffle_parse(const char *name, lc_shuffle *out)
{
	unsigned i;

	return_if_error(lc__word_parse("shuffle", shuffles, name, &i));
	*out = (lc_shuffle)i;
	return LC_OK;
}

const char *
lc_split_name(lc_split split)
{
	return lc__word(splits, (unsigned)split);
}

lc_status
lc_split_parse(const char *name, lc_split *out)
{
	unsigned i;

	return_if_error(lc__word_parse("split", splits, name, &i));
	*out = (lc_split)i;
	return LC_OK;
}

const char *
lc_missing_name(lc_missing missing)
{
	return lc__word(missings, (unsigned)missing);
}

lc_status
lc_missing_parse(const char *name, lc_missing *out)
{
	unsigned i;

	return_if_error(lc__word_parse("way to treat missing partners", missings,
	    name, &i));
	*out = (lc_missing)i;
	return LC_OK;
}
