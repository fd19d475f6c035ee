/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mpack.h"

#include <stdlib.h>
#include <string.h>

#include <msgpack.h>

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

	/* The header is written behind the bytes, to see how long it is. */
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
