/* SPDX-License-Identifier: BSD-2-Clause */
/* What reading cost, on standard error. */
#ifndef CACHEX_CMD_STREAM_STATS_H
#define CACHEX_CMD_STREAM_STATS_H

#include "lmdbcache.h"

/** Say it, of @p ns nanoseconds; reports; an exit status. */
int stream_stats_show(const lc_reader *reader, uint64_t ns);

#endif
