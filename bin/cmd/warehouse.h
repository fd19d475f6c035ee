/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of the subcommands of `cachex warehouse`, each in its bin/warehouse_WORD.c. */
#ifndef CACHEX_CMD_WAREHOUSE_H
#define CACHEX_CMD_WAREHOUSE_H

#include "ui/command.h"

extern const struct command warehouse_inspect, warehouse_verify, warehouse_list,
    warehouse_compare, warehouse_use, warehouse_prune, warehouse_report;

#endif
