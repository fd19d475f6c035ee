/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of lc_conflict. */
#include <string.h>

#include "base/error.h"

static const char *const names[] = {
	[LC_KEEP] = "keep", [LC_REPLACE] = "replace", [LC_SAME] = "same",
	[LC_FAIL] = "fail",
};

#define COUNT (sizeof(names) / sizeof(names[0]))

const char *
lc_conflict_name(lc_conflict conflict)
{
	return (unsigned)conflict < COUNT ? names[conflict] : NULL;
}

lc_status
lc_conflict_parse(const char *name, lc_conflict *out)
{
	for (unsigned i = 0; name != NULL && i < COUNT; i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (lc_conflict)i;
			return LC_OK;
		}
	return lc__error(LC_INVALID, 0, "conflict '%s': not keep, replace, same "
	    "or fail", name != NULL ? name : "");
}
