/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/twh1_row.h"

#include <string.h>

#include "base/mpack.h"

/* ---- writing --------------------------------------------------------------- */

static void
put_shape(struct lc__buf *out, uint32_t ndim, const uint64_t *shape)
{
	lc__mpack_array(out, ndim);
	for (uint32_t i = 0; i < ndim; i++)
		lc__mpack_uint(out, shape[i]);
}

void
lc__twh1_row_encode(const struct lc__twh1_row *row, struct lc__buf *out)
{
	const bool has_size = row->original_width || row->original_height;

	lc__mpack_map(out,
	    (row->cache_id.size > 0) + row->has_shape + row->has_frame_id +
		(row->run_id != NULL) + has_size + (row->transform.size > 0) +
		row->has_classes + (row->boxes_total > 0) + (row->labels.size > 0));
	if (row->cache_id.size > 0) {
		lc__mpack_str(out, "cache_id");
		lc__mpack_bin(out, row->cache_id.data, row->cache_id.size);
	}
	if (row->has_shape) {
		lc__mpack_str(out, "shape");
		put_shape(out, row->ndim, row->shape);
	}
	if (row->has_frame_id) {
		lc__mpack_str(out, "frame_id");
		lc__mpack_uint(out, row->frame_id);
	}
	if (row->run_id != NULL) {
		lc__mpack_str(out, "run_id");
		lc__mpack_str(out, row->run_id);
	}
	if (has_size) {
		lc__mpack_str(out, "original_size");
		put_shape(out, 2,
		    (const uint64_t[]){ row->original_width, row->original_height });
	}
	if (row->transform.size > 0) {
		lc__mpack_str(out, "transform");
		lc__buf_append(out, row->transform.data, row->transform.size);
	}
	if (row->has_classes) {
		lc__mpack_str(out, "class_ids");
		lc__mpack_array(out, row->n_classes);
		for (uint32_t i = 0; i < row->n_classes; i++)
			lc__mpack_int(out, row->class_ids[i]);
	}
	if (row->boxes_total > 0) {
		lc__mpack_str(out, "boxes_total");
		lc__mpack_uint(out, row->boxes_total);
	}
	if (row->labels.size > 0) {
		lc__mpack_str(out, "labels");
		lc__buf_append(out, row->labels.data, row->labels.size);
	}
}

/* ---- reading --------------------------------------------------------------- */

/* Where reading stands. Once failed, everything reads as nothing. */
struct cursor {
	const unsigned char *at;  /* the next byte */
	const unsigned char *end; /* behind the last */
	bool failed;              /* the bytes are not what was asked for */
};

static const unsigned char *
take(struct cursor *c, uint64_t size)
{
	const unsigned char *p = c->at;

	if (c->failed || size > (uint64_t)(c->end - p)) {
		c->failed = true;
		return NULL;
	}
	c->at += size;
	return p;
}

static uint64_t
take_big(struct cursor *c, unsigned bytes)
{
	const unsigned char *p = take(c, bytes);
	uint64_t v = 0;

	for (unsigned i = 0; p != NULL && i < bytes; i++)
		v = v << 8 | p[i];
	return v;
}

/* The type byte, or 0xc1, which MessagePack never uses. */
static unsigned
take_type(struct cursor *c)
{
	const unsigned char *p = take(c, 1);

	return p != NULL ? *p : 0xc1;
}

/* A count: of a fixed type in the byte's low bits, else in the bytes behind. */
static uint64_t
take_count(struct cursor *c, unsigned type, unsigned fixed, unsigned fixed_end,
    unsigned first, unsigned first_bytes)
{
	if (type >= fixed && type < fixed_end)
		return type - fixed;
	if (type >= first && type - first < (first_bytes == 1 ? 3u : 2u))
		return take_big(c, first_bytes << (type - first));
	c->failed = true;
	return 0;
}

static uint64_t
take_uint(struct cursor *c)
{
	const unsigned type = take_type(c);

	if (type < 0x80)
		return type;
	if (type >= 0xcc && type <= 0xcf)
		return take_big(c, 1u << (type - 0xcc));
	c->failed = true;
	return 0;
}

/* The low bytes of an integer, with the sign that the highest of them has. */
static int64_t
extend_sign(uint64_t v, unsigned bytes)
{
	const unsigned shift = 64 - 8 * bytes;

	return (int64_t)(v << shift) >> shift;
}

static int64_t
take_int(struct cursor *c)
{
	const unsigned type = take_type(c);
	uint64_t v = type;

	if (type < 0x80)
		return (int64_t)v;
	if (type >= 0xe0)
		return extend_sign(v, 1);
	if (type >= 0xd0 && type <= 0xd3)
		return extend_sign(take_big(c, 1u << (type - 0xd0)), 1u << (type - 0xd0));
	if (type >= 0xcc && type <= 0xcf)
		v = take_big(c, 1u << (type - 0xcc));
	else
		c->failed = true;
	if (v > INT64_MAX)
		c->failed = true;
	return c->failed ? 0 : (int64_t)v;
}

static lc_id
take_bytes(struct cursor *c, uint64_t size)
{
	lc_id bytes = { take(c, size), (size_t)size };

	if (c->failed)
		bytes = (lc_id){ NULL, 0 };
	return bytes;
}

static lc_id
take_str(struct cursor *c)
{
	return take_bytes(c, take_count(c, take_type(c), 0xa0, 0xc0, 0xd9, 1));
}

static lc_id
take_bin(struct cursor *c)
{
	return take_bytes(c, take_count(c, take_type(c), 0, 0, 0xc4, 1));
}

static uint32_t
take_shape(struct cursor *c, uint64_t *shape, uint32_t room)
{
	const uint64_t n = take_count(c, take_type(c), 0x90, 0xa0, 0xdc, 2);

	if (n > room)
		c->failed = true;
	for (uint64_t i = 0; !c->failed && i < n; i++)
		shape[i] = take_uint(c);
	return c->failed ? 0 : (uint32_t)n;
}

/* Bytes behind the type byte of a scalar from 0xc0 on; for bin, ext and str,
 * those of the length come first. */
static void
skip_scalar(struct cursor *c, unsigned type)
{
	static const unsigned char plain[] = {
		[0xca - 0xca] = 4,
		[0xcb - 0xca] = 8,
		[0xcc - 0xca] = 1,
		[0xcd - 0xca] = 2,
		[0xce - 0xca] = 4,
		[0xcf - 0xca] = 8,
		[0xd0 - 0xca] = 1,
		[0xd1 - 0xca] = 2,
		[0xd2 - 0xca] = 4,
		[0xd3 - 0xca] = 8,
		[0xd4 - 0xca] = 2,
		[0xd5 - 0xca] = 3,
		[0xd6 - 0xca] = 5,
		[0xd7 - 0xca] = 9,
		[0xd8 - 0xca] = 17,
	};

	if (type == 0xc1)
		c->failed = true;
	else if (type >= 0xca && type <= 0xd8)
		take(c, plain[type - 0xca]);
	else if (type >= 0xc4 && type <= 0xc6)
		take(c, take_big(c, 1u << (type - 0xc4)));
	else if (type >= 0xc7 && type <= 0xc9)
		take(c, take_big(c, 1u << (type - 0xc7)) + 1);
	else if (type >= 0xd9)
		take(c, take_big(c, 1u << (type - 0xd9)));
}

/* One value of any type. Counts what is still to come instead of recursing, so
 * that no nesting is too deep; every value takes a byte, which bounds the count. */
static void
skip_any(struct cursor *c)
{
	uint64_t left = 1;

	while (left > 0 && !c->failed) {
		const unsigned type = take_type(c);
		left--;
		if (type >= 0x80 && type < 0x90)
			left += 2 * (type - 0x80);
		else if (type >= 0x90 && type < 0xa0)
			left += type - 0x90;
		else if (type >= 0xa0 && type < 0xc0)
			take(c, type - 0xa0);
		else if (type == 0xdc || type == 0xdd)
			left += take_big(c, 2u << (type - 0xdc));
		else if (type == 0xde || type == 0xdf)
			left += 2 * take_big(c, 2u << (type - 0xde));
		else if (type >= 0xc0 && type < 0xdc)
			skip_scalar(c, type);
		if (left > (uint64_t)(c->end - c->at))
			c->failed = true;
	}
}

static bool
same(lc_id key, const char *name)
{
	return key.size == strlen(name) && memcmp(key.data, name, key.size) == 0;
}

/* What is made of a member; its value has to be taken whole. */
typedef void take_member(struct cursor *c, lc_id key, void *out);

/* The whole row is one map with string keys. */
static bool
take_map(lc_id bytes, take_member *take_value, void *out)
{
	struct cursor c = { bytes.data, (const unsigned char *)bytes.data + bytes.size,
		false };
	const uint64_t n = take_count(&c, take_type(&c), 0x80, 0x90, 0xde, 2);

	for (uint64_t i = 0; i < n && !c.failed; i++) {
		const lc_id key = take_str(&c);
		if (!c.failed)
			take_value(&c, key, out);
	}
	return !c.failed && c.at == c.end;
}

static void
take_identity(struct cursor *c, lc_id key, void *out)
{
	struct lc__twh1_row *row = out;

	if (same(key, "cache_id")) {
		row->cache_id = take_bin(c);
	} else if (same(key, "shape")) {
		row->has_shape = true;
		row->ndim = take_shape(c, row->shape, LC_MAX_NDIM);
	} else {
		skip_any(c);
	}
}

bool
lc__twh1_row_decode(lc_id bytes, struct lc__twh1_row *out)
{
	struct lc__twh1_row row;

	memset(&row, 0, sizeof(row));
	if (!take_map(bytes, take_identity, &row))
		return false;
	*out = row;
	return true;
}

/* Where an origin goes. */
struct origin {
	lc_sample_origin said; /* so far */
	int64_t *class_ids;    /* the caller's */
	size_t room;           /* of class_ids */
	bool has_total;        /* boxes_total was there */
};

static void
take_size(struct cursor *c, lc_sample_origin *said)
{
	uint64_t size[2] = { 0, 0 };

	if (take_shape(c, size, 2) != 2 || size[0] > UINT32_MAX || size[1] > UINT32_MAX)
		c->failed = true;
	said->original_width = (uint32_t)size[0];
	said->original_height = (uint32_t)size[1];
}

static void
take_classes(struct cursor *c, struct origin *origin)
{
	const uint64_t n = take_count(c, take_type(c), 0x90, 0xa0, 0xdc, 2);

	for (uint64_t i = 0; i < n && !c->failed; i++) {
		const int64_t id = take_int(c);
		if (i < origin->room)
			origin->class_ids[i] = id;
	}
	origin->said.n_classes = (uint32_t)n;
}

/* The bytes of a map, which is looked into by whoever wants them. */
static lc_id
take_any_map(struct cursor *c)
{
	const unsigned char *start = c->at;
	const unsigned type = start < c->end ? *start : 0xc1;

	if ((type < 0x80 || type >= 0x90) && type != 0xde && type != 0xdf)
		c->failed = true;
	skip_any(c);
	if (c->failed)
		return (lc_id){ NULL, 0 };
	return (lc_id){ start, (size_t)(c->at - start) };
}

static void
take_origin(struct cursor *c, lc_id key, void *out)
{
	struct origin *origin = out;
	lc_sample_origin *said = &origin->said;

	if (same(key, "run_id")) {
		said->run_id = take_str(c);
	} else if (same(key, "frame_id")) {
		said->has_frame_id = 1;
		said->frame_id = take_uint(c);
	} else if (same(key, "original_size")) {
		take_size(c, said);
	} else if (same(key, "class_ids")) {
		take_classes(c, origin);
	} else if (same(key, "boxes_total")) {
		origin->has_total = true;
		said->boxes_total = take_uint(c);
	} else if (same(key, "labels")) {
		said->labels = take_any_map(c);
	} else {
		skip_any(c);
	}
}

bool
lc__twh1_row_origin(lc_id bytes, lc_sample_origin *out, bool *has_total,
    int64_t *class_ids, size_t room)
{
	struct origin origin = { .class_ids = class_ids, .room = room };

	if (!take_map(bytes, take_origin, &origin))
		return false;
	*out = origin.said;
	*has_total = origin.has_total;
	return true;
}
