/* SPDX-License-Identifier: BSD-2-Clause */
/* What every test program shares: running its suite as TAP, scratch space, seeds. */
#ifndef T_RUN_H
#define T_RUN_H

#include <check.h>
#include <stdint.h>

/** Run a suite, TAP on standard output; the exit status for main(). */
int run_suite(Suite *suite);

/** A fresh empty directory, removed when the program ends. Never freed. */
const char *run_scratch(void);

/** The seed of this run: T_SEED or random; printed as a TAP comment once. */
uint64_t run_seed(void);

/** splitmix64, for reproducible random input. */
uint64_t run_random(uint64_t *state);

#endif
