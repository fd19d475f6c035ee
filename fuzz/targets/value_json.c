/* SPDX-License-Identifier: BSD-2-Clause */
/* Values as JSON: format/value_json.c, base64.c, and the lines of `cachex load`:
 * bin/ui/jsonrecord.c. Input: a line. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "ui/jsonrecord.h"
#include "formats/value_json.h"

static void
read_value(const char *line, size_t size)
{
	const struct lc__json_tensors tensors = { .data = LC__JSON_DATA };
	struct lc__loaded loaded = { 0 }, again = { 0 };
	char *text = NULL;
	size_t written = 0;
	FILE *out;

	if (lc__value_json_read(line, size, NULL, NULL, &loaded) != LC_OK) {
		lc__loaded_free(&loaded);
		return;
	}
	fuzz_touch_value(loaded.value);
	out = open_memstream(&text, &written);
	if (out == NULL)
		abort();
	fuzz_require(lc__value_json_write(out, loaded.value, &tensors) == LC_OK);
	fclose(out);
	/* A type without data reads as no value, one with data as the same. */
	if (lc__value_json_read(text, written, NULL, NULL, &again) == LC_OK)
		fuzz_require(lc_value_equal(loaded.value, again.value));
	lc__loaded_free(&again);
	lc__loaded_free(&loaded);
	free(text);
}

static void
read_record(const char *line, size_t size)
{
	struct jsonrecord record;
	lc_tensor tensor;

	if (jsonrecord_read(line, size, &record) != LC_OK)
		return;
	fuzz_touch(record.id.data, record.id.size);
	fuzz_touch_value(record.value);
	if (lc_value_as_tensor(record.value, &tensor) == LC_OK)
		jsonrecord_write_tensor(fuzz_null(), record.id, &tensor);
	else
		fuzz_require(jsonrecord_write_value(fuzz_null(), record.id,
		    record.value) == LC_OK);
	jsonrecord_free(&record);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = fuzz_copy(data, size);

	read_value(line, size);
	read_record(line, size);
	free(line);
	return 0;
}
