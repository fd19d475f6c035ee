/* SPDX-License-Identifier: BSD-2-Clause */
/* What an open warehouse says of itself. */
#ifndef LC_WAREHOUSE_SERIES_H
#define LC_WAREHOUSE_SERIES_H

#include "warehouse/warehouse.h"

/** Find the series in the shards, which must be as the manifest's member `warehouse`
 *  says, and fill info. LC_CORRUPT if they are not. */
LC_CHECKED lc_status lc__warehouse_describe(struct lc_warehouse *warehouse);

#endif
