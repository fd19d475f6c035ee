/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects_seen.h"

#include "base/buf.h"
#include "need.h"

const char *
text_of(struct lc__objects *store, const char *name)
{
	static struct lc__buf text;

	text.size = 0;
	assert_ok(lc__object_read(store, name, 1000, &text));
	lc__buf_append(&text, "", 1);
	return (const char *)text.data;
}

lc_status
append_name(void *text, const struct lc__object *object)
{
	lc__buf_printf(text, "%s%s %llu", ((struct lc__buf *)text)->size > 0 ? ", " : "",
	    object->name, (unsigned long long)object->size);
	return LC_OK;
}

const char *
listed(struct lc__objects *store, const char *prefix)
{
	static struct lc__buf text;

	text.size = 0;
	assert_ok(store->list(store, prefix, append_name, &text));
	lc__buf_append(&text, "", 1);
	return (const char *)text.data;
}
