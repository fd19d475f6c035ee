/* SPDX-License-Identifier: BSD-2-Clause */
/* LMDB environments of other programs: lib/env/foreign.c, opened anew for each input.
 * Input: an image and its damage (image.h). */
#include "fuzz.h"

#include <string.h>

#include "env/foreign.h"
#include "image.h"

/* Every key once, in order: LMDB walks pages that were checked. */
static void
read_all(struct lc__foreign *foreign)
{
	const uint64_t count = lc__foreign_count(foreign);
	struct lc__foreign_entry entry;
	uint64_t n = 0;
	lc_status status;

	while ((status = lc__foreign_next(foreign, &entry)) == LC_OK) {
		fuzz_require(++n <= count);
		fuzz_touch(entry.key.data, entry.key.size);
		fuzz_touch(entry.value.data, entry.value.size);
		fuzz_require(lc__foreign_check(foreign) == LC_OK);
	}
	fuzz_require(status == LC_END && n == count);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	struct fuzz_image *image = fuzz_image_of_env(&in);
	struct lc__foreign *foreign = NULL;
	char path[400];
	bool is;

	snprintf(path, sizeof(path), "%s/m%s", image->root,
	    size > 1 && data[1] & 2 ? "/data.mdb" : "");
	fuzz_image_damage(image, &in);
	fuzz_require(lc__foreign_is_dir(path, &is) == LC_OK);
	if (lc__foreign_open(path, &foreign) == LC_OK)
		read_all(foreign);
	lc__foreign_close(foreign);
	fuzz_image_restore(image);
	return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	return fuzz_image_mutate_env(data, size, room, seed);
}
