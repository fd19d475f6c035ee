/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/boxes.h"

#include <math.h>

#include "base/bytes.h"
#include "base/error.h"

/* Of 0 to 1, where the smallest normal number is 2^-14: what lies between two
 * neighbours is rounded by the processor, to even. */
uint16_t
lc__half_of(double number)
{
	const unsigned sign = signbit(number) ? 0x8000 : 0;
	int exponent;

	(void)frexp(number, &exponent);
	if (number == 0 || exponent < -13)
		exponent = -13;
	/* Units of the last place: 10 bits behind the leading one. */
	const unsigned units = (unsigned)nearbyint(ldexp(fabs(number),
	    11 - exponent));
	/* The leading one, if there is, counts the exponent up by itself. */
	return (uint16_t)(sign + ((unsigned)(exponent + 13) << 10) + units);
}

static void
put(unsigned char *at, lc_dtype dtype, double number)
{
	const float single = (float)number;
	uint32_t bits;

	if (dtype == LC_F16) {
		lc__set16(at, lc__half_of(number));
		return;
	}
	memcpy(&bits, &single, sizeof(bits));
	lc__set32(at, bits);
}

static double
share(double pixels, uint32_t side)
{
	const double part = pixels / side;

	return part < 0 ? 0 : part > 1 ? 1 : part;
}

lc_status
lc__boxes_pad(const double *pixels, uint64_t n, const lc_shard_info *form,
    struct lc__buf *room, const void **boxes, const void **mask)
{
	const size_t step = lc_dtype_size(form->boxes_dtype);
	const size_t most = form->max_boxes;
	unsigned char *at;

	room->size = 0;
	at = lc__buf_append(room, NULL, most * 5 * step + 1);
	if (at == NULL)
		return lc__no_memory("build");
	memset(at, 0, most * 5 * step);
	for (size_t i = 0; i < most && i < n; i++) {
		for (size_t k = 0; k < 4; k++)
			put(at + (4 * i + k) * step, form->boxes_dtype,
			    share(pixels[4 * i + k],
			        k % 2 ? form->height : form->width));
		put(at + (4 * most + i) * step, form->boxes_dtype, 1);
	}
	*boxes = at;
	*mask = at + 4 * most * step;
	return LC_OK;
}
