/* SPDX-License-Identifier: BSD-2-Clause */
/* Records: store/record.c, codec/. Input: u16, so many bytes of a schema row without its
 * checksum, then a record, whose checksums are put right. */
#include "fuzz.h"

#include <stdlib.h>

#include "codec/codec.h"
#include "mend.h"
#include "store/record.h"
#include "value/value_record.h"

/* Tensors that a damaged shape makes larger are not decoded. */
#define MOST ((uint64_t)1 << 20)

/* The tensors of a record, decoded where they must be. False if one cannot be. */
static bool
decode(const struct lc__record *record, const struct lc__schema *schema,
    lc_tensor *tensors, struct lc__record_part *parts, void **memory)
{
	lc__record_tensors(record, schema, 0, tensors, parts);
	for (uint32_t i = 0; i < schema->tensors; i++) {
		if (record->has_parts && !lc__part_intact(&parts[i]))
			return false;
		if (parts[i].codec == LC_CODEC_NONE)
			continue;
		if (tensors[i].nbytes > MOST || posix_memalign(&memory[i], 64,
		    tensors[i].nbytes + 1) != 0)
			return false;
		if (!lc__codec_decode(parts[i].codec, parts[i].data, parts[i].size,
		    &tensors[i], memory[i]))
			return false;
		tensors[i].data = memory[i];
	}
	return true;
}

static void
read_value(const struct lc__record *record, const struct lc__schema *schema)
{
	const size_t n = schema->tensors + 1;
	lc_tensor *tensors = calloc(n, sizeof(*tensors));
	struct lc__record_part *parts = calloc(n, sizeof(*parts));
	void **memory = calloc(n, sizeof(*memory));
	lc_value *value = NULL;

	if (tensors == NULL || parts == NULL || memory == NULL)
		abort();
	if (decode(record, schema, tensors, parts, memory) &&
	    lc__value_restore(schema, 0, tensors, record->plain, record->plain_size,
	    &value) == LC_OK) {
		fuzz_touch_value(value);
		lc_value_free(value);
	}
	for (uint32_t i = 0; i < schema->tensors; i++)
		free(memory[i]);
	free(memory);
	free(parts);
	free(tensors);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const size_t told = fuzz_u16(&in);
	size_t got;
	const uint8_t *row = fuzz_take(&in, told, &got);
	const size_t left = fuzz_left(&in);
	unsigned char *structure = fuzz_copy(row, got), *bytes = fuzz_copy(in.at, left);
	struct lc__schema *schema = NULL;
	struct lc__record record;
	lc_tensor tensor;

	mend_record(bytes, left);
	if (lc__record_parse(bytes, left, &record)) {
		fuzz_require(record.size <= left && lc__record_head_intact(&record));
		(void)lc__record_intact(&record);
		fuzz_touch(record.id.data, record.id.size);
		fuzz_touch(record.plain, record.plain_size);
		(void)lc__record_first_codec(&record);
		if (lc__schema_decode(structure, got, &schema) == LC_OK &&
		    lc__record_fits(&record, schema)) {
			if (!record.has_parts && lc__schema_is_tensor(schema) &&
			    lc__record_alone(&record, schema, &tensor))
				fuzz_touch_tensor(&tensor);
			read_value(&record, schema);
		}
	}
	lc__schema_free(schema);
	free(structure);
	free(bytes);
	return 0;
}
