/* SPDX-License-Identifier: BSD-2-Clause */
/* What orders cost, as text or JSON. */
#ifndef CACHEX_CMD_PLAN_TABLE_H
#define CACHEX_CMD_PLAN_TABLE_H

#include "cmd/plan.h"

/** A disk, for predictions. */
struct plan_disk {
	double mbps;  /* 10^6 bytes a second; 0: none was given */
	double seek;  /* seconds for each place gone to */
};

/** An order and its cost. */
struct plan_order {
	const char *name;     /* "block" */
	uint64_t idealised;   /* of "R*", else 0 */
	const struct plan_cost *cost;
};

/** All of one order. */
void plan_table_one(const struct plan *plan, const struct plan_order *order,
    const struct plan_disk *disk);
/** A line of several; the first with the heading. */
void plan_table_row(const struct plan *plan, const struct plan_order *order,
    const struct plan_disk *disk, bool first);

#endif
