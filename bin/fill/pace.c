/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/pace.h"

#define SHARE 10

bool
lc__pace_is_due(const struct lc__pace *pace, uint64_t now_ns)
{
	return (now_ns - pace->ended_ns) / SHARE >= pace->took_ns;
}

void
lc__pace_note(struct lc__pace *pace, uint64_t began_ns, uint64_t ended_ns)
{
	pace->ended_ns = ended_ns;
	pace->took_ns = ended_ns - began_ns;
}
