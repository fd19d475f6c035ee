/* SPDX-License-Identifier: BSD-2-Clause */
/* v / 255 as halves, with the instruction that makes them. */
#ifndef LC_ETL_HALVES_X86_H
#define LC_ETL_HALVES_X86_H

#include <stddef.h>
#include <stdint.h>

/** Convert as many of the first samples as come in whole vectors; returns how
 *  many, 0 where the processor has no such instruction. */
size_t lc__halves_x86(const uint8_t *samples, size_t count, uint16_t *out);

#endif
