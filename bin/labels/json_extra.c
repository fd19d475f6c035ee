/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/json_extra.h"

#include "base/mpack.h"
#include "labels/json_load.h"

uint32_t
lc__json_count_extra(const json_t *object, lc__json_is_extra is_extra)
{
	const char *name;
	json_t *member;
	uint32_t n = 0;

	json_object_foreach((json_t *)object, name, member)
		n += is_extra(object, name, member);
	return n;
}

bool
lc__json_pack_extra(const json_t *object, lc__json_is_extra is_extra,
    struct lc__buf *out)
{
	const char *name;
	json_t *member;

	json_object_foreach((json_t *)object, name, member) {
		if (!is_extra(object, name, member))
			continue;
		lc__mpack_str(out, name);
		if (!lc__json_pack(member, out))
			return false;
	}
	return true;
}
