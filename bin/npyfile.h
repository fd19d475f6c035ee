/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BIN_NPYFILE_H
#define BIN_NPYFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "lmdbcache.h"

/**
 * Write a tensor as .npy; reports a dtype that it lacks; an exit status. With
 * @p bits bf16 becomes u16, and f8 u8, bit for bit.
 */
int npy_write(FILE *out, lc_tensor tensor, bool bits);

#endif
