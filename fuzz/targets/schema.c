/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures and plain data: value/schema.c, value/value_record.c. Input: u16,
 * so many bytes of a structure, then plain data. */
#include "fuzz.h"

#include <stdlib.h>

#include "value/schema.h"
#include "value/value_record.h"

static void
restore(const struct lc__schema *schema, const void *plain, size_t size)
{
	lc_tensor *tensors = calloc(schema->tensors + 1, sizeof(*tensors));
	lc_value *value = NULL;

	if (tensors == NULL)
		abort();
	for (uint32_t i = 0; i < schema->nodes; i++) {
		const struct lc__schema_node *node = &schema->node[i];
		const uint64_t ones[LC_MAX_NDIM] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
			1, 1 };
		static const char data[64];

		if (node->kind == LC_TENSOR)
			fuzz_require(lc_tensor_init(&tensors[node->first_tensor],
			    (lc_dtype)node->dtype, node->ndim, ones, data) == LC_OK);
	}
	if (lc__value_restore(schema, 0, tensors, plain, size, &value) == LC_OK) {
		struct lc__schema *again = NULL;

		fuzz_touch_value(value);
		fuzz_require(lc_value_check(value) == LC_OK);
		/* What was put together is of the structure that it came from, unless a list
		 * of plain data was told as a list of nothing. */
		if (lc__schema_infer(value, &again) == LC_OK)
			(void)lc__schema_alike(schema, again);
		lc__schema_free(again);
		lc_value_free(value);
	}
	free(tensors);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const size_t told = fuzz_u16(&in);
	size_t got;
	const uint8_t *row = fuzz_take(&in, told, &got);
	unsigned char *bytes = fuzz_copy(row, got);
	struct lc__schema *schema = NULL;
	uint32_t node;
	const char *rest;
	char text[100];

	if (lc__schema_decode(bytes, got, &schema) == LC_OK) {
		void *plain = fuzz_copy(in.at, fuzz_left(&in));

		lc__schema_describe(schema, text, sizeof(text));
		(void)lc__schema_find(schema, "a.0", &node);
		(void)lc__schema_walk(schema, "a.b.c", &node, &rest);
		fuzz_require(lc__schema_equal(schema, schema));
		restore(schema, plain, fuzz_left(&in));
		free(plain);
	}
	lc__schema_free(schema);
	free(bytes);
	return 0;
}
