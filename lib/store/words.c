/* SPDX-License-Identifier: BSD-2-Clause */
/* The words for what callers choose from. */
#include <string.h>

#include "base/error.h"

static const char *const conflicts[] = {
	[LC_KEEP] = "keep", [LC_REPLACE] = "replace", [LC_SAME] = "same",
	[LC_FAIL] = "fail", NULL
};
static const char *const policies[] = {
	[LC_EVOLVE] = "evolve", [LC_STRICT] = "strict", NULL
};
static const char *const evictions[] = {
	[LC_EVICT_OLDEST] = "oldest", [LC_EVICT_UNREAD] = "unread", NULL
};

/* The words end with NULL, which stands for what is behind them. */
static const char *
word(const char *const *words, unsigned i)
{
	while (i > 0 && *words != NULL) {
		words++;
		i--;
	}
	return *words;
}

static lc_status
parse(const char *what, const char *const *words, const char *name,
    unsigned *out)
{
	for (*out = 0; name != NULL && words[*out] != NULL; (*out)++)
		if (strcmp(name, words[*out]) == 0)
			return LC_OK;
	return lc__error(LC_INVALID, 0, "unknown %s '%s'", what,
	    name != NULL ? name : "");
}

const char *
lc_conflict_name(lc_conflict conflict)
{
	return word(conflicts, (unsigned)conflict);
}

lc_status
lc_conflict_parse(const char *name, lc_conflict *out)
{
	unsigned i;

	return_if_error(parse("conflict", conflicts, name, &i));
	*out = (lc_conflict)i;
	return LC_OK;
}

const char *
lc_policy_name(lc_policy policy)
{
	return word(policies, (unsigned)policy);
}

lc_status
lc_policy_parse(const char *name, lc_policy *out)
{
	unsigned i;

	return_if_error(parse("policy", policies, name, &i));
	*out = (lc_policy)i;
	return LC_OK;
}

const char *
lc_evict_name(lc_evict evict)
{
	return word(evictions, (unsigned)evict);
}

lc_status
lc_evict_parse(const char *name, lc_evict *out)
{
	unsigned i;

	return_if_error(parse("order of eviction", evictions, name, &i));
	*out = (lc_evict)i;
	return LC_OK;
}
