/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checksums put right, so that the code after their check is reached: what a fuzzer
 * changed becomes what a program that is wrong, or an attacker, would have written. Each
 * trusts its bytes no more than the code under test does.
 */
#ifndef FUZZ_MEND_H
#define FUZZ_MEND_H

#include <stddef.h>
#include <stdint.h>

/** A row that ends with a checksum, seeded with its key: all rows of meta (the seed of a
 *  name is its hash), schema, ledger, input and order. */
void mend_row(unsigned char *row, size_t size, uint64_t seed);
/** Reallocate malloc'ed bytes for 8 more, their checksum. */
unsigned char *mend_appended(unsigned char *bytes, size_t size, uint64_t seed);
/** A record: its parts, then itself. The bytes that it takes, 0 if it is none. */
size_t mend_record(unsigned char *record, uint64_t room);
/** A chunk: its records, its directory, its header. */
void mend_chunk(unsigned char *value, uint64_t size);
/** An index run: its blocks, its buckets, its header. */
void mend_run(unsigned char *value, uint64_t size);

#endif
