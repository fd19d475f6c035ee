/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput();
 * libFuzzer or replay.c is its main program.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** Run one input. Always 0: every input is worth keeping. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** libFuzzer's own, which a custom mutator calls. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
/** A target may have one; see libFuzzer's documentation. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

/** Abort with the place and the condition if it does not hold, in every build. */
#define fuzz_require(condition) \
	((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))
void fuzz_fail(const char *file, int line, const char *condition)
    __attribute__((noreturn));

/** An input that is read from its start. */
struct fuzz_bytes {
	const uint8_t *at, *end;
};

/** The next number, little-endian; missing bytes are zero. */
uint8_t fuzz_u8(struct fuzz_bytes *in);
uint16_t fuzz_u16(struct fuzz_bytes *in);
uint32_t fuzz_u32(struct fuzz_bytes *in);
uint64_t fuzz_u64(struct fuzz_bytes *in);
/** Up to @p size bytes; *got says how many there were. */
const uint8_t *fuzz_take(struct fuzz_bytes *in, size_t size, size_t *got);
/** What is left. */
size_t fuzz_left(const struct fuzz_bytes *in);

/** A copy in memory of exactly this size, 64-byte aligned, so that a sanitizer sees
 *  each read behind its end. Free it. */
void *fuzz_copy(const void *data, size_t size);

/** Read every byte, so that a sanitizer sees those that are not there. */
void fuzz_touch(const void *data, size_t size);
/** Every byte of a value, and its description. */
void fuzz_touch_value(const lc_value *value);
void fuzz_touch_tensor(const lc_tensor *tensor);

/** A directory in memory where there is one, made once, removed at the end. */
const char *fuzz_dir(void);
/** Write a file below fuzz_dir(), over what it had; its path, the same for the same
 *  name. */
const char *fuzz_file(const char *name, const void *data, size_t size);
/** A stream to nowhere. */
FILE *fuzz_null(void);

#endif
