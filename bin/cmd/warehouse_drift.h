/* SPDX-License-Identifier: BSD-2-Clause */
/* `cachex warehouse report --drift`: what two warehouses differ in. */
#ifndef CACHEX_CMD_WAREHOUSE_DRIFT_H
#define CACHEX_CMD_WAREHOUSE_DRIFT_H

#include "ui/opt.h"

struct warehouse_drift {
	double threshold;       /* limit of every metric */
	struct opt_list limits; /* "NAME=LIMIT", for one each */
	const char *output;     /* a page to write, or NULL */
	bool force;             /* replace a page that exists */
};

/** Compare and show. Reports; EXIT_NO if there is drift. */
int warehouse_drift(const struct warehouse_drift *how, const char *old,
    const char *new);

#endif
