/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mpack.h"

#include <stdlib.h>
#include <string.h>

#include <msgpack.h>

#include "base/error.h"

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

struct lc__mpack_doc {
	msgpack_unpacked unpacked;
};

static void
describe(const msgpack_object *object, struct lc__mpack *out)
{
	memset(out, 0, sizeof(*out));
	out->kind = LC__MPACK_OTHER;
	out->inner = object;
	switch (object->type) {
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		out->kind = LC__MPACK_UINT;
		out->number = object->via.u64;
		break;
	case MSGPACK_OBJECT_STR:
		out->kind = LC__MPACK_STR;
		out->bytes = object->via.str.ptr;
		out->size = object->via.str.size;
		break;
	case MSGPACK_OBJECT_BIN:
		out->kind = LC__MPACK_BIN;
		out->bytes = object->via.bin.ptr;
		out->size = object->via.bin.size;
		break;
	case MSGPACK_OBJECT_ARRAY:
		out->kind = LC__MPACK_ARRAY;
		out->size = object->via.array.size;
		break;
	case MSGPACK_OBJECT_MAP:
		out->kind = LC__MPACK_MAP;
		out->size = object->via.map.size;
		break;
	default:
		break;
	}
}

lc_status
lc__mpack_open(const void *bytes, size_t size, struct lc__mpack_doc **out,
    struct lc__mpack *root)
{
	struct lc__mpack_doc *doc = malloc(sizeof(*doc));
	msgpack_unpack_return rc = MSGPACK_UNPACK_NOMEM_ERROR;
	size_t offset = 0;

	if (doc != NULL) {
		msgpack_unpacked_init(&doc->unpacked);
		rc = msgpack_unpack_next(&doc->unpacked, bytes, size, &offset);
	}
	if (rc == MSGPACK_UNPACK_SUCCESS && offset == size) {
		describe(&doc->unpacked.data, root);
		*out = doc;
		return LC_OK;
	}
	lc__mpack_close(doc);
	if (rc == MSGPACK_UNPACK_NOMEM_ERROR)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	return lc__error(LC_CORRUPT, 0, "not one MessagePack object");
}

void
lc__mpack_close(struct lc__mpack_doc *doc)
{
	if (doc == NULL)
		return;
	msgpack_unpacked_destroy(&doc->unpacked);
	free(doc);
}

bool
lc__mpack_find(const struct lc__mpack *map, const char *key,
    struct lc__mpack *out)
{
	const msgpack_object *object = map->inner;
	const size_t size = strlen(key);

	if (map->kind != LC__MPACK_MAP)
		return false;
	for (uint32_t i = 0; i < object->via.map.size; i++) {
		const msgpack_object_kv *pair = &object->via.map.ptr[i];
		if (pair->key.type == MSGPACK_OBJECT_STR &&
		    pair->key.via.str.size == size &&
		    memcmp(pair->key.via.str.ptr, key, size) == 0) {
			describe(&pair->val, out);
			return true;
		}
	}
	return false;
}
