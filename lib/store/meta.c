/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/meta.h"

#include <string.h>

#include "base/error.h"
#include "store/counters.h"
#include "store/settings.h"
#include "store/usage.h"

lc_status
lc__meta_first_rows(struct lc__txn *txn)
{
	return_if_error(lc__settings_reset(txn));
	return_if_error(lc__counters_reset(txn));
	return lc__usage_reset(txn);
}

bool
lc__meta_knows(const struct lc__slice *name)
{
	static const char *const names[] = {
		"module", "state", "settings", "counters", "usage", "fill"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (name->size == strlen(names[i]) &&
		    memcmp(name->data, names[i], name->size) == 0)
			return true;
	return false;
}
