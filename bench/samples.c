/* SPDX-License-Identifier: BSD-2-Clause */
#include "samples.h"

#include <err.h>
#include <glob.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "image/image.h"

static const struct {
	const char *name;
	lc_dtype dtype;
	bool photographs;
} kinds[SAMPLE_KINDS] = {
	[PIXELS_U8] = { "u8 photographs", LC_U8, true },
	[PIXELS_F32] = { "f32 photographs, k/255", LC_F32, true },
	[NORMALISED_F32] = { "f32 photographs, normalised", LC_F32, true },
	[PIXELS_F16] = { "f16 photographs, k/255", LC_F16, true },
	[RESIZED_F32] = { "f32 photographs, bilinear", LC_F32, true },
	[RESIZED_F16] = { "f16 photographs, bilinear", LC_F16, true },
	[PIXELS_I64] = { "i64 photographs", LC_I64, true },
	[TOKENS_I64] = { "i64 token ids", LC_I64, false },
	[NORMAL_F32] = { "f32 random normal", LC_F32, false },
	[NORMAL_F16] = { "f16 random normal", LC_F16, false },
};

static lc_tensor photograph[SAMPLES_MAX]; /* u8 CHW, as decoded */
static unsigned photographs;

const char *
samples_name(enum sample_kind kind)
{
	return kinds[kind].name;
}

/* ---- photographs ------------------------------------------------------------------ */

static void *
read_whole(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	long end;
	void *bytes;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0)
		err(1, "%s", path);
	rewind(file);
	*size = (size_t)end;
	bytes = malloc(*size + 1);
	if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
		err(1, "%s", path);
	fclose(file);
	return bytes;
}

/* One RGB photograph that is large enough to be cut. */
static void
load(const char *path)
{
	const struct lc__image_options options = { .layout = LC__IMAGE_CHW };
	lc_tensor *out = &photograph[photographs];
	size_t size;
	void *bytes = read_whole(path, &size);

	if (lc__image_decode(bytes, size, path, &options, out) != LC_OK)
		errx(1, "%s", lc_last_error()->text);
	free(bytes);
	if (out->shape[0] == 3 && out->shape[1] > SAMPLE_SIDE &&
	    out->shape[2] > SAMPLE_SIDE)
		photographs++;
	else
		lc_tensor_free(out);
}

unsigned
samples_photographs(const char *dir)
{
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*.jpg", dir);
	if (glob(pattern, 0, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; i < found.gl_pathc && photographs < SAMPLES_MAX; i++)
		load(found.gl_pathv[i]);
	globfree(&found);
	return photographs;
}

/* One row of a channel. */
static const unsigned char *
row_of(const lc_tensor *image, size_t channel, size_t y)
{
	return (const unsigned char *)image->data +
	    (channel * image->shape[1] + y) * image->shape[2];
}

/* A pixel of the middle. */
static unsigned
middle(const lc_tensor *image, size_t channel, size_t y, size_t x)
{
	return row_of(image, channel, y + (image->shape[1] - SAMPLE_SIDE) / 2)
	    [x + (image->shape[2] - SAMPLE_SIDE) / 2];
}

/* A pixel of the whole, bilinear between four, 0 to 1. */
static float
between(const lc_tensor *image, size_t channel, size_t y, size_t x)
{
	const float at_y = (float)(y * (image->shape[1] - 1)) / SAMPLE_SIDE;
	const float at_x = (float)(x * (image->shape[2] - 1)) / SAMPLE_SIDE;
	const size_t top = (size_t)at_y, left = (size_t)at_x;
	const unsigned char *a = row_of(image, channel, top) + left;
	const unsigned char *b = row_of(image, channel, top + 1) + left;
	const float v = at_y - (float)top, u = at_x - (float)left;

	return ((a[0] * (1 - u) + a[1] * u) * (1 - v) + (b[0] * (1 - u) + b[1] * u) * v) /
	    255.0f;
}

/* ---- elements ---------------------------------------------------------------------- */

static uint64_t
next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Above 0, up to 1. */
static double
uniform(uint64_t *state)
{
	return ((double)(next_random(state) >> 11) + 1) * 0x1p-53;
}

static double
normal(uint64_t *state)
{
	const double radius = sqrt(-2 * log(uniform(state)));

	return radius * cos(6.283185307179586 * uniform(state));
}

/* The nearest binary16, ties to even, of what is below 65,504. */
static uint16_t
half_of(float value)
{
	const float size = fabsf(value);
	const uint16_t sign = value < 0 ? 0x8000 : 0;
	uint32_t bits;

	if (size < 0x1p-14f)
		return (uint16_t)(sign | (uint16_t)lrintf(size * 0x1p24f));
	memcpy(&bits, &size, sizeof(bits));
	bits += 0xfff + (bits >> 13 & 1);
	return (uint16_t)(sign | ((bits >> 13) - (112 << 10)));
}

static void
set_float(unsigned char *data, size_t i, lc_dtype dtype, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (dtype == LC_F16)
		lc__set16(data + 2 * i, half_of(value));
	else
		lc__set32(data + 4 * i, bits);
}

/* Element i of a kind that photographs are needed for. */
static void
set_pixel(enum sample_kind kind, const lc_tensor *image, size_t i,
    unsigned char *data)
{
	static const float mean[] = { 0.485f, 0.456f, 0.406f };
	static const float deviation[] = { 0.229f, 0.224f, 0.225f };
	const size_t channel = i / SAMPLE_SIDE / SAMPLE_SIDE;
	const size_t y = i / SAMPLE_SIDE % SAMPLE_SIDE, x = i % SAMPLE_SIDE;
	const unsigned k = middle(image, channel, y, x);
	const float unit = (float)k / 255.0f;

	if (kind == PIXELS_U8)
		data[i] = (unsigned char)k;
	else if (kind == PIXELS_I64)
		lc__set64(data + 8 * i, k);
	else if (kind == RESIZED_F32 || kind == RESIZED_F16)
		set_float(data, i, kinds[kind].dtype, between(image, channel, y, x));
	else if (kind == NORMALISED_F32)
		set_float(data, i, LC_F32, (unit - mean[channel]) / deviation[channel]);
	else
		set_float(data, i, kinds[kind].dtype, unit);
}

void
samples_make(enum sample_kind kind, struct samples *samples)
{
	const uint64_t shape[] = { 3, SAMPLE_SIDE, SAMPLE_SIDE };
	uint64_t state = 1;

	samples->n = kinds[kind].photographs ? photographs : SAMPLES_MAX;
	for (unsigned s = 0; s < samples->n; s++) {
		unsigned char *data = malloc(SAMPLE_ELEMENTS * 8);
		if (data == NULL)
			err(1, NULL);
		for (size_t i = 0; i < SAMPLE_ELEMENTS; i++)
			if (kinds[kind].photographs)
				set_pixel(kind, &photograph[s], i, data);
			else if (kind == TOKENS_I64)
				lc__set64(data + 8 * i, (uint64_t)pow(50000, uniform(&state)));
			else
				set_float(data, i, kinds[kind].dtype, (float)normal(&state));
		if (lc_tensor_init(&samples->tensor[s], kinds[kind].dtype, 3, shape,
		    data) != LC_OK)
			errx(1, "%s", lc_last_error()->text);
	}
}

void
samples_free(struct samples *samples)
{
	for (unsigned s = 0; s < samples->n; s++)
		free((void *)(uintptr_t)samples->tensor[s].data);
	samples->n = 0;
}
