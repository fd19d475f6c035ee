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

/* Read the next token, which must be of @p kind. */
static bool
take(struct lc__tokens *in, enum lc__token_kind kind, struct lc__mpack_token *out)
{
	return lc__token_next_any(in, out) && out->kind == kind;
}

/* Read a number in one of the forms without a sign. */
static bool
take_uint(struct lc__tokens *in, uint64_t *out)
{
	const bool has_sign = in->at < in->end && *in->at >= 0xd0 && *in->at <= 0xd3;
	struct lc__mpack_token token;

	if (has_sign || !take(in, LC__TOKEN_UINT, &token))
		return false;
	*out = token.number;
	return true;
}

static bool
take_bytes(struct lc__tokens *in, enum lc__token_kind kind, lc_id *out)
{
	struct lc__mpack_token token;

	if (!take(in, kind, &token))
		return false;
	*out = (lc_id){ token.bytes, token.size };
	return true;
}

static bool
take_shape(struct lc__tokens *in, uint64_t *shape, uint32_t room, uint32_t *ndim)
{
	struct lc__mpack_token array;

	if (!take(in, LC__TOKEN_ARRAY, &array) || array.size > room)
		return false;
	for (uint32_t i = 0; i < array.size; i++)
		if (!take_uint(in, &shape[i]))
			return false;
	*ndim = array.size;
	return true;
}

static bool
same(lc_id key, const char *name)
{
	return key.size == strlen(name) && memcmp(key.data, name, key.size) == 0;
}

/* Reads the value of a member; false if it is damaged. */
typedef bool take_member(struct lc__tokens *in, lc_id key, void *out);

/* Read a row, which is one map with string keys. */
static bool
take_map(lc_id bytes, take_member *take_value, void *out)
{
	const unsigned char *start = bytes.data;
	struct lc__tokens in = { start, start + bytes.size };
	struct lc__mpack_token map;
	lc_id key;

	if (!take(&in, LC__TOKEN_MAP, &map))
		return false;
	for (uint32_t i = 0; i < map.size; i++)
		if (!take_bytes(&in, LC__TOKEN_STR, &key) || !take_value(&in, key, out))
			return false;
	return in.at == in.end;
}

static bool
take_identity(struct lc__tokens *in, lc_id key, void *out)
{
	struct lc__twh1_row *row = out;

	if (same(key, "cache_id"))
		return take_bytes(in, LC__TOKEN_BIN, &row->cache_id);
	if (same(key, "shape")) {
		row->has_shape = true;
		return take_shape(in, row->shape, LC_MAX_NDIM, &row->ndim);
	}
	return lc__token_skip_any(in);
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

/* Where the origin is stored. */
struct origin {
	lc_sample_origin said; /* so far */
	int64_t *class_ids;    /* the caller's */
	size_t room;           /* of class_ids */
	bool has_total;        /* boxes_total was present */
};

static bool
take_origin(struct lc__tokens *in, lc_id key, void *out)
{
	struct origin *origin = out;
	lc_sample_origin *said = &origin->said;
	const unsigned char *start = in->at;
	struct lc__tokens copy = *in;
	struct lc__mpack_token token;

	if (same(key, "run_id"))
		return take_bytes(in, LC__TOKEN_STR, &said->run_id);
	if (same(key, "frame_id")) {
		said->has_frame_id = 1;
		return take_uint(in, &said->frame_id);
	}
	if (same(key, "original_size")) {
		uint64_t size[2];
		uint32_t n;

		if (!take_shape(in, size, 2, &n) || n != 2 || size[0] > UINT32_MAX ||
		    size[1] > UINT32_MAX)
			return false;
		said->original_width = (uint32_t)size[0];
		said->original_height = (uint32_t)size[1];
		return true;
	}
	if (same(key, "class_ids")) {
		if (!take(in, LC__TOKEN_ARRAY, &token))
			return false;
		said->n_classes = token.size;
		for (uint32_t i = 0; i < said->n_classes; i++) {
			if (!lc__token_next_any(in, &token) ||
			    (token.kind != LC__TOKEN_NEGATIVE &&
				(token.kind != LC__TOKEN_UINT ||
				    token.number > INT64_MAX)))
				return false;
			if (i < origin->room)
				origin->class_ids[i] = (int64_t)token.number;
		}
		return true;
	}
	if (same(key, "boxes_total")) {
		origin->has_total = true;
		return take_uint(in, &said->boxes_total);
	}
	if (same(key, "labels")) {
		/* Keep the bytes of the map; the caller may parse them. */
		if (!take(&copy, LC__TOKEN_MAP, &token) || !lc__token_skip_any(in))
			return false;
		said->labels = (lc_id){ start, (size_t)(in->at - start) };
		return true;
	}
	return lc__token_skip_any(in);
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
