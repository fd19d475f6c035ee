/* SPDX-License-Identifier: BSD-2-Clause */
/* Mean, deviation and extremes of the values in a module or a warehouse. */
#ifndef CACHEX_CMD_STAT_VALUES_H
#define CACHEX_CMD_STAT_VALUES_H

#include <stdbool.h>
#include <stdint.h>

struct stat_values {
	const char *field; /* a part of the records, or image or boxes of samples; NULL */
	bool whole;        /* one channel for all elements */
	bool has_axis;     /* the dimension of the channels; else the first of three */
	int64_t axis;      /* from the end if below 0 */
	unsigned threads;
};

/** Read all of what @p operand names, a module or a path, and print. Reports; an exit
 *  status. */
int stat_values(const char *operand, const struct stat_values *how);

#endif
