/* SPDX-License-Identifier: BSD-2-Clause */
/* What ls and verify do with a store instead of a module. */
#ifndef CACHEX_CMD_STORES_H
#define CACHEX_CMD_STORES_H

#include <stdbool.h>

/** List generations and runs or, with the text of a number, the parts of that generation.
 *  An exit status. */
int store_ls(const char *url, const char *generation);

/** Look at all that generations and receipts name; with @p deep read it. An exit status. */
int store_verify(const char *url, bool deep);

#endif
