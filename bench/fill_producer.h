/* SPDX-License-Identifier: BSD-2-Clause */
/* Producers that do nothing, for what it costs to have one. */
#ifndef BENCH_FILL_PRODUCER_H
#define BENCH_FILL_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>

/** The tensor that each item comes to: f32, k / 255. @p size is a multiple of 4. */
void fill_producer_tensor(unsigned char *data, uint64_t size);

/** Bytes of a request and an answer for @p items items with ids of KEY_SIZE. */
uint64_t fill_producer_request(uint64_t items);
uint64_t fill_producer_answer(uint64_t items, uint64_t size);

/** Be a producer of such tensors on standard input and output; never returns. */
void fill_producer_run(uint64_t size) __attribute__((noreturn));

/** Answer requests on @p in with frames that are as large, and nothing else; never
 *  returns. */
void fill_producer_echo(int in, int out, uint64_t size) __attribute__((noreturn));

/** Read or write all of it; false at the end. */
bool fill_producer_read(int fd, void *data, uint64_t size);
bool fill_producer_write(int fd, const void *data, uint64_t size);

#endif
