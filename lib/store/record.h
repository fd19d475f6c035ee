/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of one record: prefix, dims, parts, blocks, cache_id, plain data, tensors.
 * lmdbcache(5) describes them. Knows no LMDB and does no I/O.
 *
 * A tensor alone, stored as it is in at most a block, has no table of parts, and one
 * checksum over everything. Any other record has a part for each tensor with a checksum
 * of its own; the record's then covers all before the tensors. So one tensor is read and
 * verified without touching the others. A part that is longer than a block has a
 * checksum for each block, so that rows of it are verified without the rest.
 */
#ifndef LC_STORE_RECORD_H
#define LC_STORE_RECORD_H

#include <stdbool.h>

#include "base/buf.h"
#include "env/rows.h"
#include "lmdbcache.h"
#include "value/schema.h"

/* Records start and end on this boundary, and so do tensors within them. */
#define LC__RECORD_ALIGN 64
/* Bytes before the dims. */
#define LC__RECORD_PREFIX 32
/* Stored bytes that have a checksum of their own, in longer parts. */
#define LC__RECORD_BLOCK ((size_t)65536)
/* LMDB (mdb_page_flush() of 0.9.24) writes the pages of a value by one pwrite(), and
 * Linux writes at most 2^31 - 4096 bytes by one: what is larger fails with EIO at the
 * commit. Leave room for the chunk's header. */
#define LC__RECORD_MAX (((uint64_t)1 << 31) - 8192)
/* Decoded, a tensor may be larger than its record; this bounds what a damaged
 * shape makes us allocate. */
#define LC__RAW_MAX ((uint64_t)1 << 34)

/** A tensor as it is to be stored, or as it is stored. */
struct lc__part {
	lc_codec codec;
	const void *data; /* coded bytes; for LC_CODEC_NONE the tensor's own */
	size_t size;      /* of data */
	uint64_t hash;    /* XXH3-64 of data and its padding, or of the blocks' checksums;
	                     when read from parts */
	const unsigned char *blocks; /* checksums of the blocks, u64 each; NULL: it is not
	                                longer than one */
};

/** Code a tensor into @p buf, which the part points into; what would not make the
 *  record smaller is left as it is. */
LC_CHECKED lc_status lc__part_code(struct lc__part *part, lc_codec codec,
    int level, const lc_tensor *tensor, struct lc__buf *buf);

/** A record to be written; everything is borrowed. */
struct lc__draft {
	lc_id id;                        /* cache_id */
	const struct lc__schema *schema; /* NULL for a delete, which has only an id */
	const lc_tensor *const *tensors; /* schema->tensors of them */
	const struct lc__part *parts;    /* as many, or NULL: none is coded */
	const void *plain;               /* plain data, MessagePack */
	size_t plain_size;               /* its bytes */
};

/** A decoded record; everything is borrowed from its bytes. */
struct lc__record {
	lc_id id;         /* cache_id */
	uint32_t schema;  /* schema id */
	uint32_t ndims;   /* dims stored in the record */
	uint32_t nparts;  /* entries in the table of parts */
	uint32_t nblocks; /* checksums of blocks of all parts */
	bool has_parts;   /* there is a table of parts, perhaps empty */
	const unsigned char *dims; /* ndims u64, little-endian */
	const unsigned char *parts; /* the table */
	const unsigned char *blocks; /* nblocks u64, of one part after another */
	const unsigned char *plain; /* plain data */
	size_t plain_size; /* its bytes */
	const unsigned char *payload; /* first byte of the tensors */
	size_t payload_size; /* bytes from payload to the record's end, padding included */
	size_t size;      /* bytes of the whole record */
};

/** Bytes that a record takes, or 0 if it is above LC__RECORD_MAX. */
size_t lc__record_size(const struct lc__draft *draft);

/**
 * Write a record of @p size = lc__record_size() bytes. The schema id and the
 * checksum are left to lc__record_seal().
 */
void lc__record_encode(unsigned char *out, size_t size,
    const struct lc__draft *draft);

/** Set the schema id, then the checksum, of a record that was encoded. */
void lc__record_seal(unsigned char *record, uint32_t schema);

/**
 * Take a record apart, trusting nothing but @p room readable bytes. Reads the
 * prefix only. False if the lengths contradict one another, or codec or flags are
 * of a later version.
 */
bool lc__record_parse(const unsigned char *bytes, uint64_t room,
    struct lc__record *out);

/** Do all checksums match the bytes? */
bool lc__record_intact(const struct lc__record *record);

/** Is the head as it was written? For a record without parts that is all of it. */
bool lc__record_head_intact(const struct lc__record *record);

/** Do the sizes agree with the schema and with one another? */
bool lc__record_fits(const struct lc__record *record,
    const struct lc__schema *schema);

/**
 * The tensor of a record without parts, in place. False if its sizes contradict
 * the schema or one another. The short way for what most records are.
 */
bool lc__record_alone(const struct lc__record *record,
    const struct lc__schema *schema, lc_tensor *out);

/**
 * dtype and shape of the tensors at and below node @p node of a record that fits.
 * A tensor's data is where its stored bytes are; those are its own if its part's
 * codec is LC_CODEC_NONE.
 * @param tensors, parts  room for lc__schema_tensors() of the node
 */
void lc__record_tensors(const struct lc__record *record,
    const struct lc__schema *schema, uint32_t node, lc_tensor *tensors,
    struct lc__part *parts);

/** How the first tensor is stored; LC_CODEC_NONE without one. */
lc_codec lc__record_first_codec(const struct lc__record *record);

/** Do the checksums of a part match? For records with parts. */
bool lc__part_intact(const struct lc__part *part);

/** A block of a part that has blocks. */
struct lc__part_block {
	const unsigned char *data;
	size_t size;
	uint64_t hash; /* XXH3-64 of data */
};

/** The block that has byte @p at of the part's padded bytes. */
struct lc__part_block lc__part_block(const struct lc__part *part, size_t at);
bool lc__part_block_intact(const struct lc__part_block *block);

/** The start of a record that lc__record_parse() took apart. */
const unsigned char *lc__record_start(const struct lc__record *record);

/** The stored checksum. */
uint64_t lc__record_checksum(const struct lc__record *record);

/* ---- the length of a record ---------------------------------------------- */

/** Can a field name a tensor? A path as for lc_value_find() without empty steps,
 *  "." for a record that is a tensor, or "" for none. */
bool lc__is_length_field(const char *field);

/** Measures many records of a few schemas. Zero-initialised but for the field. */
struct lc__measure {
	const char *field;              /* "" or NULL for none */
	const struct lc__schema *schema; /* of the record measured last */
	uint32_t dim;                   /* in it, the axis; or LC__NO_AXIS */
	uint64_t fixed;                 /* the length without an axis */
};
#define LC__NO_AXIS UINT32_MAX

static inline bool
lc__measures(const struct lc__measure *measure)
{
	return measure->field != NULL && *measure->field != '\0';
}

/** The length of a record by the field, 0 if it has no such tensor, 1 if that is a
 *  scalar. Reads the record's head only. An axis above the size of any tensor with
 *  elements counts as 0, so that sums do not overflow. Schemas that it was given live on
 *  meanwhile. */
uint64_t lc__measure(struct lc__measure *measure,
    const struct lc__record *record, const struct lc__schema *schema);

/* ---- the digest of a record ---------------------------------------------- */

/** XXH3-64; the tensors of @p draft are not coded. */
uint64_t lc__digest(const struct lc__draft *draft);

/** The digest of a chunk whose last record has digest @p record; 0 before the first. */
uint64_t lc__digest_add(uint64_t chunk, uint64_t record);

#endif
