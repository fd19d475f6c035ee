/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mpack.h"

#include <endian.h>
#include <string.h>

#include <msgpack.h>

/* ---- writing -------------------------------------------------------------- */

static int
write_to_buf(void *data, const char *bytes, size_t size)
{
	return lc__buf_append(data, bytes, size) == NULL ? -1 : 0;
}

static msgpack_packer
packer(struct lc__buf *out)
{
	msgpack_packer pk;

	msgpack_packer_init(&pk, out, write_to_buf);
	return pk;
}

void
lc__mpack_map(struct lc__buf *out, uint32_t pairs)
{
	msgpack_packer pk = packer(out);

	msgpack_pack_map(&pk, pairs);
}

void
lc__mpack_array(struct lc__buf *out, uint32_t members)
{
	msgpack_packer pk = packer(out);

	msgpack_pack_array(&pk, members);
}

void
lc__mpack_str(struct lc__buf *out, const char *text)
{
	lc__mpack_strn(out, text, strlen(text));
}

void
lc__mpack_strn(struct lc__buf *out, const void *text, size_t size)
{
	msgpack_packer pk = packer(out);

	msgpack_pack_str(&pk, size);
	msgpack_pack_str_body(&pk, text, size);
}

void
lc__mpack_bin(struct lc__buf *out, const void *data, size_t size)
{
	msgpack_packer pk = packer(out);

	msgpack_pack_bin(&pk, size);
	msgpack_pack_bin_body(&pk, data, size);
}

void
lc__mpack_uint(struct lc__buf *out, uint64_t number)
{
	msgpack_packer pk = packer(out);

	msgpack_pack_uint64(&pk, number);
}

void
lc__mpack_int(struct lc__buf *out, int64_t number)
{
	msgpack_packer pk = packer(out);

	msgpack_pack_int64(&pk, number);
}

void
lc__mpack_nil(struct lc__buf *out)
{
	msgpack_packer pk = packer(out);

	msgpack_pack_nil(&pk);
}

void
lc__mpack_boolean(struct lc__buf *out, bool truth)
{
	msgpack_packer pk = packer(out);

	if (truth)
		msgpack_pack_true(&pk);
	else
		msgpack_pack_false(&pk);
}

void
lc__mpack_float(struct lc__buf *out, double number)
{
	msgpack_packer pk = packer(out);

	msgpack_pack_double(&pk, number);
}

void
lc__mpack_ext_of(struct lc__buf *out, size_t start, int8_t type)
{
	msgpack_packer pk = packer(out);
	const size_t size = out->size - start;
	size_t header;

	/* The header is written after the bytes, once their size is known. */
	msgpack_pack_ext(&pk, size, type);
	if (out->failed)
		return;
	header = out->size - start - size;
	if (lc__buf_append(out, NULL, header) == NULL)
		return;
	out->size -= header;
	memcpy(out->data + out->size, out->data + start + size, header);
	memmove(out->data + start + header, out->data + start, size);
	memcpy(out->data + start, out->data + out->size, header);
}

/* ---- reading -------------------------------------------------------------- */

/* Consume a big-endian number of 1, 2, 4 or 8 bytes. */
static bool
take_number(struct lc__tokens *in, size_t width, uint64_t *out)
{
	uint64_t big = 0;

	if ((size_t)(in->end - in->at) < width)
		return false;
	memcpy((char *)&big + 8 - width, in->at, width);
	in->at += width;
	*out = be64toh(big);
	return true;
}

/* The same for a size or count; those below `least` have a shorter form. */
static bool
take_size(struct lc__tokens *in, size_t width, uint64_t least, bool shortest,
    uint32_t *out)
{
	uint64_t size;

	if (!take_number(in, width, &size) || (shortest && size < least))
		return false;
	*out = (uint32_t)size;
	return true;
}

static bool
take_bytes(struct lc__tokens *in, enum lc__token_kind kind, struct lc__mpack_token *out)
{
	if ((size_t)(in->end - in->at) < out->size)
		return false;
	out->kind = kind;
	out->bytes = in->at;
	in->at += out->size;
	return true;
}

/* Each member takes at least a byte, so a count above the bytes left is wrong. */
static bool
take_members(struct lc__tokens *in, enum lc__token_kind kind, struct lc__mpack_token *out)
{
	const size_t left = (size_t)(in->end - in->at);

	out->kind = kind;
	return out->size <= (kind == LC__TOKEN_MAP ? left / 2 : left);
}

static bool
take_ext(struct lc__tokens *in, struct lc__mpack_token *out)
{
	if (in->at == in->end)
		return false;
	out->ext = (int8_t)*in->at++;
	return take_bytes(in, LC__TOKEN_EXT, out);
}

/* 0xcc to 0xcf: numbers below these limits have a shorter form. */
static bool
take_uint(struct lc__tokens *in, unsigned power, bool shortest,
    struct lc__mpack_token *out)
{
	static const uint64_t least[] = { 0x80, 0x100, 0x10000, 0x100000000 };

	out->kind = LC__TOKEN_UINT;
	return take_number(in, (size_t)1 << power, &out->number) &&
	    (!shortest || out->number >= least[power]);
}

/* 0xd0 to 0xd3: numbers outside these limits have an unsigned form. */
static bool
take_int(struct lc__tokens *in, unsigned power, bool shortest,
    struct lc__mpack_token *out)
{
	static const int64_t most[] = { -33, -129, -32769, -2147483649 };
	const unsigned shift = 64 - (8u << power);
	int64_t number;

	if (!take_number(in, (size_t)1 << power, &out->number))
		return false;
	number = (int64_t)(out->number << shift) >> shift;
	out->kind = number < 0 ? LC__TOKEN_NEGATIVE : LC__TOKEN_UINT;
	out->number = (uint64_t)number;
	return !shortest || number <= most[power];
}

/* 0xca: widen a 32-bit float to 64 bits, keeping the bits of a NaN. */
static bool
take_float32(struct lc__tokens *in, struct lc__mpack_token *out)
{
	uint64_t bits;
	uint32_t narrow;
	float number;
	double wide;

	if (!take_number(in, 4, &bits))
		return false;
	narrow = (uint32_t)bits;
	memcpy(&number, &narrow, sizeof(number));
	wide = (double)number;
	memcpy(&out->number, &wide, sizeof(wide));
	/* A conversion would turn a signalling NaN into a quiet one. */
	if ((narrow & 0x7fffffff) > 0x7f800000)
		out->number = (bits & 0x80000000) << 32 | (uint64_t)0x7ff << 52 |
		    (bits & 0x7fffff) << 29;
	out->kind = LC__TOKEN_FLOAT;
	return true;
}

/* A size of 8, 16 or 32 bits, in the shortest form that holds it; "fix" is the largest
 * size that fits into the first byte. */
static bool
take_wide(struct lc__tokens *in, unsigned power, uint64_t fix, bool shortest,
    uint32_t *out)
{
	const uint64_t least[] = { fix + 1, 0x100, 0x10000 };

	return take_size(in, (size_t)1 << power, least[power], shortest, out);
}

/* 0xc0 to 0xdf */
static bool
take_tagged(struct lc__tokens *in, unsigned tag, bool shortest,
    struct lc__mpack_token *out)
{
	switch (tag) {
	case 0xc0: out->kind = LC__TOKEN_NIL; return true;
	case 0xc2:
	case 0xc3:
		out->kind = LC__TOKEN_BOOLEAN;
		out->number = tag & 1;
		return true;
	case 0xc4:
	case 0xc5:
	case 0xc6: /* no bytes at all take 8 bits, too */
		return take_wide(in, tag - 0xc4, UINT64_MAX, shortest, &out->size) &&
		    take_bytes(in, LC__TOKEN_BIN, out);
	case 0xc7:
	case 0xc8:
	case 0xc9:
		/* 1, 2, 4, 8 and 16 bytes have a form of their own. */
		return take_wide(in, tag - 0xc7, UINT64_MAX, shortest, &out->size) &&
		    !(shortest && out->size <= 16 && (out->size & (out->size - 1)) == 0 &&
			out->size > 0) &&
		    take_ext(in, out);
	case 0xca: return !shortest && take_float32(in, out);
	case 0xcb: out->kind = LC__TOKEN_FLOAT; return take_number(in, 8, &out->number);
	case 0xcc:
	case 0xcd:
	case 0xce:
	case 0xcf: return take_uint(in, tag - 0xcc, shortest, out);
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3: return take_int(in, tag - 0xd0, shortest, out);
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xd7:
	case 0xd8: out->size = 1u << (tag - 0xd4); return take_ext(in, out);
	case 0xd9:
	case 0xda:
	case 0xdb:
		return take_wide(in, tag - 0xd9, 31, shortest, &out->size) &&
		    take_bytes(in, LC__TOKEN_STR, out);
	case 0xdc:
	case 0xdd:
	case 0xde:
	case 0xdf: /* a count of 16 or 32 bits */
		return take_size(in, tag & 1 ? 4 : 2, tag & 1 ? 0x10000 : 16, shortest,
			   &out->size) &&
		    take_members(in, tag < 0xde ? LC__TOKEN_ARRAY : LC__TOKEN_MAP, out);
	default: /* 0xc1, never used */ return false;
	}
}

static bool
take_token(struct lc__tokens *in, bool shortest, struct lc__mpack_token *out)
{
	unsigned tag;

	if (in->at == in->end)
		return false;
	tag = *in->at++;
	if (tag < 0x80) {
		out->kind = LC__TOKEN_UINT;
		out->number = tag;
		return true;
	}
	if (tag < 0x90) {
		out->size = tag & 15;
		return take_members(in, LC__TOKEN_MAP, out);
	}
	if (tag < 0xa0) {
		out->size = tag & 15;
		return take_members(in, LC__TOKEN_ARRAY, out);
	}
	if (tag < 0xc0) {
		out->size = tag & 31;
		return take_bytes(in, LC__TOKEN_STR, out);
	}
	if (tag >= 0xe0) {
		out->kind = LC__TOKEN_NEGATIVE;
		out->number = (uint64_t)(int64_t)(int8_t)tag;
		return true;
	}
	return take_tagged(in, tag, shortest, out);
}

bool
lc__token_next(struct lc__tokens *in, struct lc__mpack_token *out)
{
	return take_token(in, true, out);
}

bool
lc__token_next_any(struct lc__tokens *in, struct lc__mpack_token *out)
{
	return take_token(in, false, out);
}

bool
lc__token_skip_any(struct lc__tokens *in)
{
	struct lc__mpack_token token;

	for (uint64_t left = 1; left > 0; left--) {
		if (!lc__token_next_any(in, &token))
			return false;
		if (token.kind == LC__TOKEN_ARRAY)
			left += token.size;
		else if (token.kind == LC__TOKEN_MAP)
			left += (uint64_t)token.size * 2;
	}
	return true;
}
