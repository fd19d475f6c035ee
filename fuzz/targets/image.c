/* SPDX-License-Identifier: BSD-2-Clause */
/* Image files: bin/image/{image*,orientation,transform}.c, which are our use of libjpeg,
 * libpng, libwebp and libtiff. Input: options, then a file. */
#include "fuzz.h"

#include <stdlib.h>

#include "image/image.h"
#include "image/orientation.h"
#include "image/transform.h"

enum { SIDE = 16, MAX_PIXELS = 1 << 16 };

static void
transform(uint8_t choice, const void *file, size_t size)
{
	static struct lc__workspace *workspace;
	static uint8_t planes[3 * SIDE * SIDE];
	struct lc__transform how = {
		.width = SIDE, .height = SIDE, .fit = (enum lc__fit)(choice >> 4 & 1),
		.alpha = (enum lc__alpha)(choice >> 5 & 1), .dct_scale = choice >> 6 & 1,
		.ignore_orientation = choice & 4, .max_pixels = MAX_PIXELS
	};
	struct lc__transformed done;

	if (workspace == NULL)
		workspace = lc__workspace_new();
	if (lc__transform_image(&how, file, size, "f", workspace, planes, &done) == LC_OK)
		fuzz_touch(planes, sizeof(planes));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const uint8_t choice = fuzz_u8(&in);
	const size_t left = fuzz_left(&in);
	void *file = fuzz_copy(in.at, left);
	const struct lc__image_options options = {
		.layout = choice & 1 ? LC__IMAGE_CHW : LC__IMAGE_HWC,
		.keep_alpha = choice & 2, .ignore_orientation = choice & 4,
		.max_pixels = MAX_PIXELS,
		.elements = (enum lc__image_elements)((choice >> 4) % 3)
	};
	struct lc__transformed probed;
	lc_tensor tensor;

	(void)lc__image_sniff(file, left);
	(void)!lc__image_probe(file, left, "f", &probed);
	(void)lc__exif_orientation(file, left);
	if (lc__image_decode(file, left, "f", &options, &tensor) == LC_OK) {
		fuzz_require(tensor.nbytes <= (uint64_t)MAX_PIXELS * 4 * 4);
		fuzz_touch_tensor(&tensor);
		lc_tensor_free(&tensor);
	} else {
		/* A file that is taken for a lack of memory would end a whole build. */
		fuzz_require(lc_last_error()->status != LC_NO_MEMORY);
	}
	if (choice & 8)
		transform(choice, file, left);
	free(file);
	return 0;
}
