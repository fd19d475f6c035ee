/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/tensor_image.h"

#include <math.h>

#include "base/error.h"
#include "draw/colours.h"
#include "value/dtype.h"

#define CHEQUER 8   /* pixels of a square */
#define LEAST_CHW 2 /* pixels of an image's side */
#define LEAST_HWC 8 /* the same in a case where it could also be a list of triples */

static bool
is_channels(uint64_t n)
{
	return n == 1 || n == 3 || n == 4;
}

bool
lc__image_form_of(const lc_tensor *tensor, struct lc__image_form *out)
{
	const uint64_t *shape = tensor->shape;
	const bool first = tensor->ndim == 3 && is_channels(shape[0]);
	const bool last = tensor->ndim == 3 && !first &&
	    (tensor->dtype == LC_U8 || tensor->dtype == LC_U16) && is_channels(shape[2]);
	const uint64_t height = shape[first ? 1 : 0], width = shape[first ? 2 : 1];
	const uint64_t least = first ? LEAST_CHW : LEAST_HWC;

	if (tensor->dtype != LC_U8 && tensor->dtype != LC_U16 &&
	    tensor->dtype != LC_F16 && tensor->dtype != LC_BF16 &&
	    tensor->dtype != LC_F32)
		return false;
	if (!(first || last) || height < least || width < least || height > UINT32_MAX ||
	    width > UINT32_MAX)
		return false;
	out->channels = (uint32_t)shape[first ? 0 : 2];
	out->height = (uint32_t)height;
	out->width = (uint32_t)width;
	out->channel_step = first ? height * width : 1;
	out->column_step = first ? 1 : out->channels;
	out->row_step = width * out->column_step;
	return true;
}

/* The values that are shown as black and as white. */
static struct lc__value_range
shown_range(const lc_tensor *tensor)
{
	struct lc__value_range range = { 0, 255, 0, 0 };

	if (tensor->dtype == LC_U16)
		range.high = 65535;
	if (tensor->dtype == LC_U8 || tensor->dtype == LC_U16)
		return range;
	range = lc__value_range_of(tensor);
	if (range.low >= 0 && range.high <= 1) {
		range.low = 0;
		range.high = 1;
	}
	return range;
}

struct image {
	const lc_tensor *tensor;
	const struct lc__image_form *form;
	const struct lc__value_range *range;
};

static double
element(const struct image *image, uint32_t channel, uint32_t x, uint32_t y)
{
	const struct lc__image_form *form = image->form;
	const uint64_t at = channel * form->channel_step + y * form->row_step +
	    x * form->column_step;

	return lc__element_real(image->tensor->dtype,
	    (const char *)image->tensor->data + at * lc_dtype_size(image->tensor->dtype));
}

/* The three channels of a pixel, 0 to 1; false if one is not finite. */
static bool
read_pixel(const struct image *image, uint32_t x, uint32_t y, double rgb[3])
{
	const double ground = (x / CHEQUER + y / CHEQUER) % 2 ? 0.8 : 0.6;
	double alpha = 1;

	if (image->form->channels == 4) {
		alpha = element(image, 3, x, y);
		if (!isfinite(alpha))
			return false;
		alpha = lc__value_range_share(image->range, alpha);
	}
	for (uint32_t c = 0; c < 3; c++) {
		const double value = element(image, image->form->channels == 1 ? 0 : c, x,
		    y);
		if (!isfinite(value))
			return false;
		rgb[c] = alpha * lc__value_range_share(image->range, value) +
		    (1 - alpha) * ground;
	}
	return true;
}

lc_status
lc__image_pixels(const lc_tensor *tensor, const struct lc__image_form *form,
    struct lc__pixels *out, struct lc__value_range *range)
{
	const struct lc__value_range shown = shown_range(tensor);
	const struct image image = { tensor, form, &shown };
	struct lc__pixels pixels;
	uint8_t *pixel;

	return_if_error(lc__pixels_new(form->width, form->height, 0, &pixels));
	pixel = pixels.data;
	for (uint32_t y = 0; y < form->height; y++)
		for (uint32_t x = 0; x < form->width; x++, pixel += 3) {
			double rgb[3];
			const bool finite = read_pixel(&image, x, y, rgb);
			for (int c = 0; c < 3; c++)
				pixel[c] = finite
				    ? (uint8_t)lround(rgb[c] * 255)
				    : (uint8_t)(LC__COLOUR_NOT_FINITE >> (16 - 8 * c));
		}
	*out = pixels;
	*range = shown;
	return LC_OK;
}
