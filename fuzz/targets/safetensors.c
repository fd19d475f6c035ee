/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers of safetensors: format/safetensors_decode.c. Input: a whole file. */
#include "fuzz.h"

#include <stdlib.h>

#include "formats/safetensors.h"

static void
check_table(const struct lc__safetensors *table, uint64_t data_size)
{
	uint64_t at = 0;

	for (size_t i = 0; i < table->count; i++) {
		const struct lc__safetensor t = lc__safetensors_at(table, i);
		size_t found;

		/* Without holes, in the order of their places. */
		fuzz_require(t.begin == at && t.type.nbytes <= data_size - at);
		at += t.type.nbytes;
		fuzz_touch(t.name.data, t.name.size);
		fuzz_require(lc__safetensors_find(table, t.name, &found) && found == i);
	}
	fuzz_require(at == data_size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lc__safetensors table = { 0 };
	unsigned char *file = fuzz_copy(data, size);
	size_t header;

	(void)lc__safetensors_is(file, size);
	if (size >= LC__SAFETENSORS_PREFIX &&
	    lc__safetensors_header_size(file, size, &header) == LC_OK) {
		const uint64_t left = size - LC__SAFETENSORS_PREFIX - header;

		fuzz_require(header <= size - LC__SAFETENSORS_PREFIX);
		if (lc__safetensors_decode(file + LC__SAFETENSORS_PREFIX, header, left,
		    &table) == LC_OK)
			check_table(&table, left);
	}
	lc__safetensors_free(&table);
	free(file);
	return 0;
}
