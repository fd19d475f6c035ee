/* SPDX-License-Identifier: BSD-2-Clause */
/* What every test program shares: running its suite as TAP, scratch space, seeds. */
#ifndef T_RUN_H
#define T_RUN_H

#include <check.h>
#include <stdint.h>

/* ThreadSanitizer cannot follow a forked child that starts threads as its parent had. */
#if defined(__SANITIZE_THREAD__)
#define RUN_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RUN_THREAD_SANITIZER 1
#endif
#endif
#ifndef RUN_THREAD_SANITIZER
#define RUN_THREAD_SANITIZER 0
#endif

/** Run a suite, TAP on standard output; the exit status for main(). */
int run_suite(Suite *suite);

/** A fresh empty directory, removed when the program ends. Never freed. */
const char *run_scratch(void);

/** The seed of this run: T_SEED or random; printed as a TAP comment once. */
uint64_t run_seed(void);

/** splitmix64, for reproducible random input. */
uint64_t run_random(uint64_t *state);

#endif
