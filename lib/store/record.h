/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of one record: prefix, dims, parts, blocks, cache_id, plain data, tensors.
 * lmdbcache(5) describes them. This file does not use LMDB and does no I/O.
 *
 * A single tensor that is stored uncoded in at most one block has no table of parts, and
 * one checksum over everything. Any other record has a table with a part for each tensor,
 * and each part has a checksum of its own; the record's checksum then covers everything
 * before the tensors. So a reader can verify one tensor without reading the others. A
 * part longer than a block has a checksum for each block, so that a reader can verify
 * some rows without the rest.
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
/* In longer parts, each block of this many stored bytes has its own checksum. */
#define LC__RECORD_BLOCK ((size_t)65536)
/* LMDB (mdb_page_flush() of 0.9.24) writes the pages of a value with one pwrite(), and
 * Linux writes at most 2^31 - 4096 bytes at once: a larger value fails with EIO at the
 * commit. Leave room for the chunk's header. */
#define LC__RECORD_MAX (((uint64_t)1 << 31) - 8192)
/* A decoded tensor may be larger than its record. This limits how much a damaged shape
 * can make us allocate. */
#define LC__RAW_MAX ((uint64_t)1 << 34)

/** A tensor to be stored, or as stored. */
struct lc__record_part {
	lc_codec codec;
	const void *data; /* coded bytes; with LC_CODEC_NONE the tensor's own */
	size_t size;      /* of data */
	uint64_t hash;    /* XXH3-64 of data and its padding, or of the checksums of its
			     blocks; set when read */
	const unsigned char
	    *blocks; /* checksums of the blocks, u64 each; NULL if it is at most one block
	              * long */
};

/** Code a tensor into @p buf, and point the part at it. If the record would not become
 *  smaller, the part's codec is LC_CODEC_NONE. */
LC_CHECKED lc_status lc__part_code(struct lc__record_part *part, lc_codec codec,
    int level, const lc_tensor *tensor, struct lc__buf *buf);

/** A record to be written; everything is borrowed. */
struct lc__draft {
	lc_id id; /* cache_id */
	const struct lc__schema
	    *schema; /* NULL for a delete, which has only a cache_id */
	const lc_tensor *const *tensors;     /* schema->tensors of them */
	const struct lc__record_part *parts; /* as many; NULL: no tensor is coded */
	const void *plain;                   /* plain data, MessagePack */
	size_t plain_size;                   /* bytes of plain */
};

/** A parsed record; everything is borrowed from its bytes. */
struct lc__record {
	lc_id id;                   /* cache_id */
	uint32_t schema;            /* schema id */
	uint32_t ndims;             /* dims stored in the record */
	uint32_t nparts;            /* entries in the table of parts */
	uint32_t nblocks;           /* checksums of blocks of all parts */
	bool has_parts;             /* it has a table of parts, which may be empty */
	const unsigned char *dims;  /* ndims u64, little-endian */
	const unsigned char *parts; /* the table of parts */
	const unsigned char
	    *blocks; /* nblocks u64, those of one part after those of another */
	const unsigned char *plain;   /* plain data */
	size_t plain_size;            /* bytes of plain */
	const unsigned char *payload; /* first byte of the tensors */
	size_t payload_size; /* from payload to the end of the record, padding included */
	size_t size;         /* of the whole record */
};

/** The size of a record; 0 if it is above LC__RECORD_MAX. */
size_t lc__record_size(const struct lc__draft *draft);

/** The size of a record before its first tensor. */
size_t lc__record_head(const struct lc__draft *draft);

/**
 * Write a record of @p size = lc__record_size() bytes. The data of a tensor may already
 * be in its place in @p out. lc__record_seal() sets its schema id and checksum.
 */
void lc__record_encode(unsigned char *out, size_t size, const struct lc__draft *draft);

/** Write only the head: everything but the tensors and their checksums, which are 0. The
 *  record can be parsed, but is not intact. */
void lc__record_encode_head(unsigned char *out, size_t size,
    const struct lc__draft *draft);

/** Set the schema id, then the checksum, of an encoded record. */
void lc__record_seal(unsigned char *record, uint32_t schema);

/**
 * Parse a record. Only @p room bytes are readable; they are untrusted, and only the
 * prefix is read. False if the lengths are inconsistent, or if codec or flags are of a
 * later version.
 */
bool lc__record_parse(const unsigned char *bytes, uint64_t room, struct lc__record *out);

/** Do all checksums match the bytes? */
bool lc__record_intact(const struct lc__record *record);

/** Is the head intact? For a record without parts the head is all of it. */
bool lc__record_head_intact(const struct lc__record *record);

/**
 * The bytes of a record that are verified last, and their checksum: those of its part,
 * after its head, or its head only. False if it has several parts, which are verified
 * after that.
 */
bool lc__record_last_sum(const struct lc__record *record, const void **data,
    uint64_t *checksum);

/** Are the sizes consistent with the schema and with one another? */
bool lc__record_fits(const struct lc__record *record, const struct lc__schema *schema);

/**
 * The tensor of a record without parts, in place: the fast path for most records. False
 * if its sizes are inconsistent with the schema or with one another.
 */
bool lc__record_alone(const struct lc__record *record, const struct lc__schema *schema,
    lc_tensor *out);

/**
 * dtype and shape of the tensors at and below node @p node of a record that fits its
 * schema. A tensor's data points at its stored bytes, which are its elements only if the
 * part's codec is LC_CODEC_NONE.
 * @param tensors, parts  room for lc__schema_tensors() of the node
 */
void lc__record_tensors(const struct lc__record *record, const struct lc__schema *schema,
    uint32_t node, lc_tensor *tensors, struct lc__record_part *parts);

/** The codec of the first tensor; LC_CODEC_NONE if there is none. */
lc_codec lc__record_first_codec(const struct lc__record *record);

/** Do the checksums of a part match? Only for records with parts. */
bool lc__part_intact(const struct lc__record_part *part);

/** The same, and its first @p size bytes are copied to @p out, as part of @p all bytes
 *  that are copied together. On false the content of @p out is undefined. */
bool lc__part_copy(const struct lc__record_part *part, void *out, size_t size,
    size_t all);

/** A block of a part. */
struct lc__part_block {
	const unsigned char *data;
	size_t size;
	uint64_t hash; /* XXH3-64 of data */
};

/** The block that contains byte @p at of the part's padded bytes. */
struct lc__part_block lc__part_block(const struct lc__record_part *part, size_t at);
bool lc__part_block_intact(const struct lc__part_block *block);

/** The first byte of a record that lc__record_parse() parsed. */
const unsigned char *lc__record_start(const struct lc__record *record);

/** The stored checksum. */
uint64_t lc__record_checksum(const struct lc__record *record);

/* ---- the length of a record ---------------------------------------------- */

/** Can this field name a tensor? It is a path as for lc_value_find() without empty steps,
 *  or "." for a record that is a tensor, or "" for none. */
bool lc__is_length_field(const char *field);

/** Measures records of a few schemas. Zero-initialised except for the field. */
struct lc__measure {
	const char *field;               /* the length field; "" or NULL for none */
	const struct lc__schema *schema; /* of the record measured last */
	uint32_t dim;   /* the dim of `schema` that is the length; or LC__NO_AXIS */
	uint64_t fixed; /* the length if there is no such dim */
};
#define LC__NO_AXIS UINT32_MAX

static inline bool
lc__measures(const struct lc__measure *measure)
{
	return measure->field != NULL && *measure->field != '\0';
}

/**
 * The length of a record: the first axis of the tensor that the field names; 1 if it is a
 * scalar, 0 if the record has no such tensor. Reads only the record's head. An axis
 * longer than any tensor's counts as 0, so that sums do not overflow. The schemas must
 * outlive the measure.
 */
uint64_t lc__measure(struct lc__measure *measure, const struct lc__record *record,
    const struct lc__schema *schema);

/* ---- the digest of a record ---------------------------------------------- */

/** XXH3-64 of a record's cache_id, structure and values; the tensors of @p draft are not
 *  coded. It does not depend on codecs or on schema ids. lmdbcache(5) has the formula. */
uint64_t lc__digest(const struct lc__draft *draft);

/** Add a record's digest to that of its chunk, which is 0 before the first. */
uint64_t lc__digest_add(uint64_t chunk, uint64_t record);

#endif
