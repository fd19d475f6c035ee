/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often to commit: whenever ten times as long has passed as the last commit took.
 * Where work is slow that is at once, and where it is fast the commits take a tenth of
 * the time.
 */
#ifndef CACHEX_FILL_PACE_H
#define CACHEX_FILL_PACE_H

#include <stdbool.h>
#include <stdint.h>

/** All zero is new, and due. */
struct lc__pace {
	uint64_t ended_ns; /* when the last commit did */
	uint64_t took_ns;
};

/** Is it time for the next one? */
bool lc__pace_is_due(const struct lc__pace *pace, uint64_t now_ns);
/** There was one. */
void lc__pace_note(struct lc__pace *pace, uint64_t began_ns, uint64_t ended_ns);

#endif
