/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of other systems as `cachex import` reads them, record by record: bin/formats/ (
 * WebDataset, npz, safetensors). Input: which format and options, then a file. */
#include "fuzz.h"

#include "formats/formats.h"
#include "format/npy.h"

enum { RECORDS = 200 };

static const struct {
	const struct lc__incoming_format *format;
	const char *name;
} formats[] = {
	{ &lc__incoming_webdataset, "f.tar" },
	{ &lc__incoming_safetensors, "f.safetensors" },
	{ &lc__incoming_npz, "f.npz" },
};

static void
read_records(const struct lc__incoming_format *format, void *file, bool sparse)
{
	lc_status status;
	lc_id id;

	for (int n = 0; n < RECORDS &&
	    (status = format->next(file, &id)) != LC_END; n++) {
		struct lc__loaded loaded = { 0 };

		if (status != LC_OK)
			continue;
		fuzz_touch(id.data, id.size);
		if (sparse && n % 2 == 1)
			continue;
		if (format->load(file, &loaded) == LC_OK)
			fuzz_touch_value(loaded.value);
		lc__loaded_free(&loaded);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const uint8_t choice = fuzz_u8(&in);
	const size_t i = choice % (sizeof(formats) / sizeof(formats[0]));
	const struct lc__incoming_how how = {
		.images = { .max_pixels = 1 << 16 }, .raw = choice & 0x40,
		.raw_dtype = choice & 0x20 ? LC_BF16 : LC__NPY_ANY_DTYPE, .limit = 1 << 20
	};
	const char *path = fuzz_file(formats[i].name, in.at, fuzz_left(&in));
	const size_t first = fuzz_left(&in) < 4096 ? fuzz_left(&in) : 4096;
	void *file = NULL;
	bool is;

	fuzz_require(formats[i].format->is(path, in.at, first, &is) == LC_OK);
	if (formats[i].format->open(path, &how, &file) == LC_OK) {
		read_records(formats[i].format, file, choice & 0x80);
		formats[i].format->close(file);
	}
	return 0;
}
