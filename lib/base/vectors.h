/* SPDX-License-Identifier: BSD-2-Clause */
/* What other libraries leave in the vector registers. */
#ifndef LC_BASE_VECTORS_H
#define LC_BASE_VECTORS_H

/**
 * After a call of a library that computes with the widest vectors of an x86-64 and does
 * not clear them: until somebody does, each instruction on 128 bits waits for the last one
 * that wrote the same register, and nothing that follows runs beside what was computed.
 */
void lc__vectors_clear(void);

#endif
