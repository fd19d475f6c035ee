/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/window.h"

uint64_t
lc__windows_full(const struct lc__windows *windows, uint64_t length)
{
	if (length < windows->size)
		return 0;
	return (length - windows->size) / windows->stride + 1;
}

uint64_t
lc__windows_padded(const struct lc__windows *windows, uint64_t length)
{
	const uint64_t full = lc__windows_full(windows, length);
	uint64_t rest; /* units from the start of the last full window on */

	if (full == 0)
		return length > 0;
	rest = length - (full - 1) * windows->stride;
	/* The next window begins behind the stride; units of the last one are not new. */
	return full + (rest > windows->stride && rest > windows->size);
}
