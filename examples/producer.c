/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A producer for cachex fill, as cachex-producer(5) describes them, with msgpack-c: makes
 * byte-level tokens of texts, u16[n] with an end token, standing for a tokenizer.
 *
 *     cachex fill corpus --from texts.txt --exec ./producer
 */
#include <endian.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack.h>

#define END_OF_TEXT 256

/* The member of a map that has a name; nil if there is none. */
static msgpack_object
member(msgpack_object map, const char *name)
{
	const msgpack_object nil = { .type = MSGPACK_OBJECT_NIL };

	if (map.type != MSGPACK_OBJECT_MAP)
		return nil;
	for (uint32_t i = 0; i < map.via.map.size; i++) {
		const msgpack_object key = map.via.map.ptr[i].key;
		if (key.type == MSGPACK_OBJECT_STR && key.via.str.size == strlen(name) &&
		    memcmp(key.via.str.ptr, name, key.via.str.size) == 0)
			return map.via.map.ptr[i].val;
	}
	return nil;
}

static void
pack_text(msgpack_packer *pk, const char *text)
{
	msgpack_pack_str(pk, strlen(text));
	msgpack_pack_str_body(pk, text, strlen(text));
}

/* "value": {"$tensor": "u16[n]", "data": the tokens, little-endian} */
static void
pack_tokens(msgpack_packer *pk, const char *text, uint32_t size)
{
	const size_t bytes = ((size_t)size + 1) * sizeof(uint16_t);
	char type[32];

	snprintf(type, sizeof(type), "u16[%zu]", (size_t)size + 1);
	pack_text(pk, "value");
	msgpack_pack_map(pk, 2);
	pack_text(pk, "$tensor");
	pack_text(pk, type);
	pack_text(pk, "data");
	msgpack_pack_bin(pk, bytes);
	for (uint32_t i = 0; i <= size; i++) {
		const uint16_t token = htole16(
		    i < size ? (unsigned char)text[i] : END_OF_TEXT);
		msgpack_pack_bin_body(pk, &token, sizeof(token));
	}
}

/* An item may fail: the others of its batch go on. */
static void
pack_result(msgpack_packer *pk, msgpack_object item)
{
	const msgpack_object text = member(item, "text");

	msgpack_pack_map(pk, 2);
	pack_text(pk, "id");
	msgpack_pack_object(pk, member(item, "id"));
	if (text.type == MSGPACK_OBJECT_STR || text.type == MSGPACK_OBJECT_BIN) {
		pack_tokens(pk, text.via.str.ptr, text.via.str.size);
	} else {
		pack_text(pk, "error");
		pack_text(pk, "the item has no text");
	}
}

static void
pack_answer(msgpack_packer *pk, msgpack_object request)
{
	const msgpack_object items = member(request, "items");

	if (items.type != MSGPACK_OBJECT_ARRAY)
		errx(1, "a request without items");
	msgpack_pack_map(pk, 2);
	pack_text(pk, "batch");
	msgpack_pack_object(pk, member(request, "batch"));
	pack_text(pk, "results");
	msgpack_pack_array(pk, items.via.array.size);
	for (uint32_t i = 0; i < items.via.array.size; i++)
		pack_result(pk, items.via.array.ptr[i]);
}

/* The next frame, to be freed; NULL at the end. */
static char *
read_frame(uint32_t *size)
{
	char *bytes;

	if (fread(size, sizeof(*size), 1, stdin) != 1)
		return NULL;
	*size = le32toh(*size);
	bytes = malloc(*size);
	if (bytes == NULL || fread(bytes, 1, *size, stdin) != *size)
		errx(1, "a request of %u bytes that is not there", *size);
	return bytes;
}

static void
write_frame(const msgpack_sbuffer *answer)
{
	const uint32_t size = htole32((uint32_t)answer->size);

	if (fwrite(&size, sizeof(size), 1, stdout) != 1 ||
	    fwrite(answer->data, 1, answer->size, stdout) != answer->size ||
	    fflush(stdout) != 0)
		err(1, "standard output");
}

int
main(void)
{
	msgpack_sbuffer answer;
	msgpack_unpacked request;
	uint32_t size;
	char *frame;

	msgpack_sbuffer_init(&answer);
	msgpack_unpacked_init(&request);
	while ((frame = read_frame(&size)) != NULL) {
		msgpack_packer pk;
		size_t offset = 0;
		if (msgpack_unpack_next(&request, frame, size, &offset) !=
		    MSGPACK_UNPACK_SUCCESS)
			errx(1, "a request that is not MessagePack");
		msgpack_sbuffer_clear(&answer);
		msgpack_packer_init(&pk, &answer, msgpack_sbuffer_write);
		pack_answer(&pk, request.data);
		write_frame(&answer);
		free(frame);
	}
	msgpack_unpacked_destroy(&request);
	msgpack_sbuffer_destroy(&answer);
	return 0;
}
