/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening, writing and recovering damaged modules: lc_open(), puts and a commit, lc_recover().
 * Input: an image and its damage (image.h). The file is made anew for each input: slow. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "image.h"

static lc_cache *
open_module(const struct fuzz_image *image)
{
	lc_options options;
	lc_cache *cache = NULL;

	lc_options_init(&options);
	options.flags = 0;
	options.flush_interval_ms = 0;
	options.map_size = 16 << 20;
	return lc_open(image->root, "m", &options, &cache) == LC_OK ? cache : NULL;
}

static void
write_some(lc_cache *cache)
{
	const uint64_t shape[] = { 5 };
	lc_tensor tensor;

	fuzz_require(lc_tensor_init(&tensor, LC_U8, 1, shape, "12345") == LC_OK);
	(void)!lc_put(cache, "new", 3, &tensor);
	(void)!lc_delete(cache, "a", 1);
	(void)!lc_flush(cache);
}

/* What recovery calls good is good. */
static void
require_good(const struct fuzz_image *image)
{
	lc_cache *cache = open_module(image);
	lc_verify_result verified;

	fuzz_require(cache != NULL);
	fuzz_require(lc_verify(cache, NULL, &verified) == LC_OK);
	lc_discard(cache);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	struct fuzz_image *image = fuzz_image_of(&in);
	const uint8_t choice = size > 1 ? data[1] >> 1 : 0;
	lc_recover_result result;
	lc_cache *cache;

	fuzz_image_damage(image, &in);
	if (choice & 1) {
		if (lc_recover(image->root, "m", 0, NULL, &result) == LC_OK)
			require_good(image);
	} else if ((cache = open_module(image)) != NULL) {
		write_some(cache);
		lc_discard(cache);
	}
	fuzz_image_rewrite(image);
	return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	return fuzz_image_mutate(data, size, room, seed);
}
