/* SPDX-License-Identifier: BSD-2-Clause */
/* The inputs of a module and how far it is filled, as text or JSON. */
#ifndef CACHEX_CMD_STREAM_INPUTS_H
#define CACHEX_CMD_STREAM_INPUTS_H

#include <stddef.h>

#include "lmdbcache.h"

/** Room for stream_inputs_line(). */
#define STREAM_INPUTS_LINE 200

/** "12 of 14 chunks published, 345 records; 1 of 2 inputs finished"; returns @p out. */
char *stream_inputs_line(const lc_fill *fill, char *out, size_t room);

/** Print the table; an exit status: EXIT_NO if the module is not final. */
int stream_inputs_show(lc_cache *cache, const char *module);

#endif
