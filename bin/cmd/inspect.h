/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows what a shard holds. */
#ifndef CACHEX_CMD_INSPECT_H
#define CACHEX_CMD_INSPECT_H

#include <stdint.h>

/**
 * Print the header and sample number @p sample or, with OPT_UNSET, the first
 * @p most samples. Reports; an exit status.
 */
int inspect_shard(const char *path, uint64_t sample, uint64_t most);

#endif
