/* SPDX-License-Identifier: BSD-2-Clause */
/* The words for what callers choose from. */
#include "base/error.h"
#include "base/words.h"

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

const char *
lc_conflict_name(lc_conflict conflict)
{
	return lc__word(conflicts, (unsigned)conflict);
}

lc_status
lc_conflict_parse(const char *name, lc_conflict *out)
{
	unsigned i;

	return_if_error(lc__word_parse("conflict", conflicts, name, &i));
	*out = (lc_conflict)i;
	return LC_OK;
}

const char *
lc_policy_name(lc_policy policy)
{
	return lc__word(policies, (unsigned)policy);
}

lc_status
lc_policy_parse(const char *name, lc_policy *out)
{
	unsigned i;

	return_if_error(lc__word_parse("policy", policies, name, &i));
	*out = (lc_policy)i;
	return LC_OK;
}

const char *
lc_evict_name(lc_evict evict)
{
	return lc__word(evictions, (unsigned)evict);
}

lc_status
lc_evict_parse(const char *name, lc_evict *out)
{
	unsigned i;

	return_if_error(lc__word_parse("order of eviction", evictions, name, &i));
	*out = (lc_evict)i;
	return LC_OK;
}
