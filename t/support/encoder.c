/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A producer of tensors for records, for tests of migrations: encoder WHAT, where WHAT
 * is
 *
 *   dinov3   f32[DIMS] of the environment, 4 without it
 *   vae      f16[16,H/8,W/8] of the record
 *   t5       f16[77,1024]
 *
 * Each element is the number of bytes of the record's image_id. In the environment
 * FAIL=ID answers an error for this one, WRONG=ID another shape, DIE=ID ends, LOG=FILE
 * gets each image_id. A record that has an array still is an error.
 */
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json_scan.h"
#include "base/mpack.h"

struct item {
	const struct lc__mpack_token *id;
	char image_id[500];
	unsigned width, height;
	bool array;
};

static const char *what;

static bool
is(const char *variable, const struct item *item)
{
	const char *value = getenv(variable);

	return value != NULL && strcmp(value, item->image_id) == 0;
}

static void
read_record(const struct lc__mpack_token *json, struct item *item)
{
	struct lc__json_members all;
	struct lc__json_member m;

	if (lc__json_object(json->bytes, json->size, &all) != LC_OK)
		errx(1, "%s", lc_last_error()->text);
	while (lc__json_next(&all, &m) == LC_OK) {
		struct lc__buf text = { 0 };
		if (lc__json_name_is(m.name, "width"))
			item->width = (unsigned)strtoul(m.value.text, NULL, 10);
		if (lc__json_name_is(m.name, "height"))
			item->height = (unsigned)strtoul(m.value.text, NULL, 10);
		item->array |= lc__json_name_is(m.name, "dinov3_embedding");
		if (lc__json_name_is(m.name, "image_id") &&
		    lc__json_unescape(m.value, &text) == LC_OK)
			snprintf(item->image_id, sizeof(item->image_id), "%.*s",
			    (int)text.size, (const char *)text.data);
		lc__buf_free(&text);
	}
}

static void
log_item(const struct item *item)
{
	FILE *log = getenv("LOG") != NULL ? fopen(getenv("LOG"), "a") : NULL;

	if (log != NULL && (fprintf(log, "%s %s\n", what, item->image_id) < 0 ||
	    fclose(log) != 0))
		err(1, "log");
}

static void
put_data(struct lc__buf *out, const struct item *item, size_t count, bool half)
{
	struct lc__buf data = { 0 };
	const float value = (float)strlen(item->image_id);
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	/* Small integers: the upper bits of a single make a half. */
	for (size_t i = 0; i < count; i++) {
		unsigned char bytes[4];
		if (half)
			lc__set16(bytes, (uint16_t)(((bits >> 23) - 112) << 10 |
			    (bits >> 13 & 0x3ff)));
		else
			lc__set32(bytes, bits);
		lc__buf_append(&data, bytes, half ? 2 : 4);
	}
	lc__mpack_str(out, "data");
	lc__mpack_bin(out, data.data, data.size);
	lc__buf_free(&data);
}

static void
put_tensor(struct lc__buf *out, const struct item *item)
{
	const unsigned dims = getenv("DIMS") != NULL ? (unsigned)atoi(getenv("DIMS")) : 4;
	const unsigned more = is("WRONG", item);
	char type[64];
	size_t count;

	if (strcmp(what, "vae") == 0) {
		count = 16u * (item->height / 8 + more) * (item->width / 8);
		snprintf(type, sizeof(type), "f16[16,%u,%u]", item->height / 8 + more,
		    item->width / 8);
	} else if (strcmp(what, "t5") == 0) {
		count = (77u + more) * 1024;
		snprintf(type, sizeof(type), "f16[%u,1024]", 77 + more);
	} else {
		count = dims + more;
		snprintf(type, sizeof(type), "f32[%u]", dims + more);
	}
	lc__mpack_map(out, 2);
	lc__mpack_str(out, "$tensor");
	lc__mpack_str(out, type);
	put_data(out, item, count, strcmp(what, "dinov3") != 0);
}

static void
answer(struct lc__buf *out, const struct item *item)
{
	log_item(item);
	if (is("DIE", item))
		errx(1, "told to die of %s", item->image_id);
	lc__mpack_map(out, 2);
	lc__mpack_str(out, "id");
	if (item->id->kind == LC__TOKEN_STR)
		lc__mpack_strn(out, item->id->bytes, item->id->size);
	else
		lc__mpack_bin(out, item->id->bytes, item->id->size);
	if (item->array || is("FAIL", item)) {
		lc__mpack_str(out, "error");
		lc__mpack_str(out, item->array ? "the array is there" : "told to fail");
		return;
	}
	lc__mpack_str(out, "value");
	put_tensor(out, item);
}

static void
need(bool cond)
{
	if (!cond)
		errx(1, "not understood");
}

static bool
is_name(const struct lc__mpack_token *token, const char *name)
{
	return token->kind == LC__TOKEN_STR && token->size == strlen(name) &&
	    memcmp(token->bytes, name, token->size) == 0;
}

/* {"id": ..., "json": ...} */
static void
do_item(struct lc__tokens *in, struct lc__buf *out)
{
	struct lc__mpack_token map, key, value, id = { .kind = LC__TOKEN_NIL };
	struct item item = { .id = &id };

	need(lc__token_expect(in, LC__TOKEN_MAP, &map));
	for (uint32_t i = 0; i < map.size; i++) {
		need(lc__token_next(in, &key) && lc__token_next(in, &value));
		if (is_name(&key, "id"))
			id = value;
		if (is_name(&key, "json"))
			read_record(&value, &item);
	}
	answer(out, &item);
}

/* {"batch": ..., "items": [...]} */
static void
do_batch(struct lc__tokens *in, struct lc__buf *out)
{
	struct lc__mpack_token map, key, value;

	need(lc__token_expect(in, LC__TOKEN_MAP, &map) && map.size == 2);
	need(lc__token_next(in, &key) && is_name(&key, "batch"));
	need(lc__token_expect(in, LC__TOKEN_UINT, &value));
	lc__mpack_map(out, 2);
	lc__mpack_str(out, "batch");
	lc__mpack_uint(out, value.number);
	need(lc__token_next(in, &key) && is_name(&key, "items"));
	need(lc__token_expect(in, LC__TOKEN_ARRAY, &value));
	lc__mpack_str(out, "results");
	lc__mpack_array(out, value.size);
	for (uint32_t i = 0; i < value.size; i++)
		do_item(in, out);
}

int
main(int argc, char **argv)
{
	unsigned char length[4];

	if (argc != 2)
		errx(2, "usage: encoder dinov3|vae|t5");
	what = argv[1];
	while (fread(length, 1, 4, stdin) == 4) {
		const uint32_t size = lc__get32(length);
		unsigned char *bytes = malloc(size);
		struct lc__buf out = { 0 };
		struct lc__tokens in = { bytes, bytes + size };
		need(bytes != NULL && fread(bytes, 1, size, stdin) == size);
		do_batch(&in, &out);
		lc__set32(length, (uint32_t)out.size);
		need(fwrite(length, 1, 4, stdout) == 4 && !out.failed &&
		    fwrite(out.data, 1, out.size, stdout) == out.size &&
		    fflush(stdout) == 0);
		lc__buf_free(&out);
		free(bytes);
	}
	return 0;
}
