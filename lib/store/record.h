/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of one record: prefix, dims, cache_id, plain data, tensor.
 * lmdbcache(5) describes them. Knows no LMDB and does no I/O.
 */
#ifndef LC_STORE_RECORD_H
#define LC_STORE_RECORD_H

#include <stdbool.h>

#include "lmdbcache.h"
#include "value/schema.h"

/* Records start and end on this boundary, and so do tensors within them. */
#define LC__RECORD_ALIGN 64
/* Bytes before the dims. */
#define LC__RECORD_PREFIX 32
/* LMDB cannot store values of 2 GiB; leave room for the chunk's header. */
#define LC__RECORD_MAX (((uint64_t)1 << 31) - 8192)

/** A decoded record; everything is borrowed from its bytes. */
struct lc__record {
	lc_id id;         /* cache_id */
	uint32_t schema;  /* schema id */
	uint32_t ndims;   /* dims stored in the record */
	const unsigned char *dims; /* ndims u64, little-endian */
	const unsigned char *payload; /* first byte of the tensor's data */
	size_t payload_size; /* bytes from payload to the record's end, padding included */
	size_t size;      /* bytes of the whole record */
};

/** Bytes that a record of this tensor takes, or 0 if it is above LC__RECORD_MAX. */
size_t lc__record_size(size_t id_size, const lc_tensor *tensor);

/**
 * Write a record of @p size = lc__record_size() bytes. The schema id and the
 * checksum are left to lc__record_seal().
 */
void lc__record_encode(unsigned char *out, size_t size, const void *id,
    size_t id_size, const lc_tensor *tensor);

/** Set the schema id, then the checksum over everything else. */
void lc__record_seal(unsigned char *record, size_t size, uint32_t schema);

/**
 * Take a record apart, trusting nothing but @p room readable bytes. Reads the
 * prefix only, not the payload. False if the lengths contradict one another.
 */
bool lc__record_parse(const unsigned char *bytes, uint64_t room,
    struct lc__record *out);

/** Does the checksum match the bytes? */
bool lc__record_intact(const struct lc__record *record);

/**
 * The record's tensor, in place. False if dims and payload contradict the
 * schema or one another.
 */
bool lc__record_tensor(const struct lc__record *record,
    const struct lc__schema *schema, lc_tensor *out);

/** The start of a record that lc__record_parse() took apart. */
const unsigned char *lc__record_start(const struct lc__record *record);

/** The stored checksum. */
uint64_t lc__record_checksum(const struct lc__record *record);

#endif
