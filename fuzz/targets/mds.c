/* SPDX-License-Identifier: BSD-2-Clause */
/* MDS: bin/formats/mds*.c. Input: a choice, u16, so many bytes of index.json,
 * then a shard's file; or, with the lowest bit of the choice, an encoding's text, a NUL,
 * and the bytes of one column. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "formats/formats.h"
#include "formats/mds.h"
#include "format/npy.h"

enum { RECORDS = 200 };

static void
read_column(struct fuzz_bytes in)
{
	const uint8_t *end = memchr(in.at, 0, fuzz_left(&in));
	struct lc__mds_encoding encoding;
	struct lc__loaded loaded = { 0 };
	struct lc__mds_pixels pixels;
	struct lc__mds_list list;
	lc_value *value = NULL;
	lc_tensor tensor;
	const void *image;
	size_t size, left;
	void *bytes;

	if (end == NULL || lc__mds_encoding_parse((const char *)in.at, &encoding) != LC_OK)
		return;
	left = (size_t)(in.end - end) - 1;
	bytes = fuzz_copy(end + 1, left);
	if (lc__mds_is_image(encoding.kind)) {
		if (lc__mds_list(encoding.kind, bytes, left, &list) == LC_OK)
			while (lc__mds_list_next(&list, &image, &size))
				fuzz_touch(image, size);
	} else if (encoding.kind != LC__MDS_PICKLE &&
	    lc__mds_decode(&encoding, bytes, left, &loaded, &value) == LC_OK) {
		fuzz_touch_value(value);
		lc_value_free(value);
	}
	lc__loaded_free(&loaded);
	if (encoding.kind == LC__MDS_ARRAY &&
	    lc__mds_array(&encoding, bytes, left, &tensor) == LC_OK)
		fuzz_touch_tensor(&tensor);
	if (lc__mds_pixels(bytes, left, &pixels) == LC_OK)
		fuzz_touch(pixels.data,
		    (size_t)pixels.width * pixels.height * pixels.channels);
	free(bytes);
}

static void
read_records(void *set)
{
	lc_id id;

	for (int n = 0; n < RECORDS && lc__incoming_mds.next(set, &id) == LC_OK; n++) {
		struct lc__loaded loaded = { 0 };

		fuzz_touch(id.data, id.size);
		if (lc__incoming_mds.load(set, &loaded) == LC_OK)
			fuzz_touch_value(loaded.value);
		lc__loaded_free(&loaded);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const uint8_t choice = fuzz_u8(&in);
	const struct lc__incoming_how how = {
		.images = { .max_pixels = 1 << 16 }, .raw = choice & 0x40,
		.raw_dtype = LC__NPY_ANY_DTYPE, .id = choice & 0x20 ? "id" : NULL,
		.limit = 1 << 20
	};
	struct lc__mds_index index = { 0 };
	const uint8_t *text;
	size_t told, got;
	void *set = NULL;

	if (choice & 1) {
		read_column(in);
		return 0;
	}
	told = fuzz_u16(&in);
	text = fuzz_take(&in, told, &got);
	(void)lc__mds_index_is(text, got);
	if (lc__mds_index_read(text, got, &index) == LC_OK) {
		fuzz_file(LC__MDS_INDEX, text, got);
		fuzz_file("shard.00000.mds", in.at, fuzz_left(&in));
		if (lc__incoming_mds.open(fuzz_dir(), &how, &set) == LC_OK) {
			read_records(set);
			lc__incoming_mds.close(set);
		}
	}
	lc__mds_index_free(&index);
	return 0;
}
