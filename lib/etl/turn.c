/* SPDX-License-Identifier: BSD-2-Clause */
#include "etl/turn.h"

const struct lc__turn lc__turns[9] = {
	[2] = { false, true, false },
	[3] = { false, true, true },
	[4] = { false, false, true },
	[5] = { true, false, false },
	[6] = { true, false, true },
	[7] = { true, true, true },
	[8] = { true, true, false },
};
