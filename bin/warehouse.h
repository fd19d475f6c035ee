/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of the subcommands of `cachex warehouse`, each in its bin/warehouse_WORD.c. */
#ifndef BIN_WAREHOUSE_H
#define BIN_WAREHOUSE_H

#include "command.h"

extern const struct command warehouse_report;

#endif
