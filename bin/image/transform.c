/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decoding and resampling work on the picture as it is stored. The geometry of the
 * upright picture is turned back for them, and their small result is turned.
 */
#include "image/transform.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "image/orientation.h"
#include "image/resize.h"
#include "image/sink.h"

/* ---- alpha ------------------------------------------------------------------- */

/* Rounded to nearest: 255 is odd, so no value lies halfway between two. */
static uint8_t
blended(unsigned value, unsigned alpha, unsigned colour)
{
	return (uint8_t)((value * alpha + colour * (255 - alpha) + 127) / 255);
}

void
lc__blend(const uint8_t *pixels, size_t count, unsigned channels, const uint8_t colour[3],
    uint8_t *out)
{
	const unsigned step = channels == 4 ? 1 : 0;

	for (size_t i = 0; i < count; i++, pixels += channels)
		for (unsigned c = 0; c < 3; c++)
			out[3 * i + c] = blended(pixels[c * step], pixels[channels - 1],
			    colour[c]);
}

void
lc__blend16(const uint16_t *pixels, size_t count, unsigned channels,
    const uint8_t colour[3], uint16_t *out)
{
	const unsigned step = channels == 4 ? 1 : 0;

	for (size_t i = 0; i < count; i++, pixels += channels) {
		const uint64_t alpha = pixels[channels - 1];
		for (unsigned c = 0; c < 3; c++)
			out[3 * i + c] =
			    (uint16_t)((pixels[c * step] * alpha +
					   colour[c] * 257ull * (65535 - alpha) + 32767) /
				65535);
	}
}

struct lc__workspace {
	struct lc__scratch band;    /* rows as the decoder makes them */
	struct lc__scratch blended; /* rows of the band without alpha */
	struct lc__scratch resize;
	struct lc__scratch turned; /* the result, to be turned */
};

/* One image being transformed. */
struct stream {
	struct lc__sink sink; /* first: for the decoder */
	const struct lc__transform *transform;
	struct lc__workspace *workspace;
	uint8_t *planes;
	struct lc__transformed done;
	unsigned channels;            /* of the decoder's rows */
	uint32_t width;               /* of the decoder's rows */
	uint32_t to_width, to_height; /* of the result as it is stored */
	bool deep;                    /* the decoder's rows have 16 bits a sample */
	uint8_t *blended;             /* rows without alpha; NULL if there is none */
	uint8_t *turned;              /* three planes to be turned; NULL if upright */
	struct lc__resize resize;
	struct lc__resize16 resize16; /* instead of it, if transform->wide */
};

struct lc__workspace *
lc__workspace_new(void)
{
	return calloc(1, sizeof(struct lc__workspace));
}

void
lc__workspace_free(struct lc__workspace *workspace)
{
	if (workspace == NULL)
		return;
	lc__scratch_free(&workspace->band);
	lc__scratch_free(&workspace->blended);
	lc__scratch_free(&workspace->resize);
	lc__scratch_free(&workspace->turned);
	free(workspace);
}

size_t
lc__workspace_size(const struct lc__workspace *workspace)
{
	return workspace->band.room + workspace->blended.room + workspace->resize.room +
	    workspace->turned.room;
}

/* ---- the result ------------------------------------------------------------------- */

static size_t
plane_size(const struct stream *s)
{
	return (size_t)s->transform->width * s->transform->height;
}

/* Bytes of a sample of the result. */
static size_t
element(const struct stream *s)
{
	return s->transform->wide ? sizeof(uint16_t) : 1;
}

/* Where the picture begins in plane c. */
static uint8_t *
place_of(const struct stream *s, int c)
{
	const struct lc__geometry *g = &s->done.geometry;

	return s->planes +
	    element(s) *
	    ((size_t)c * plane_size(s) + (size_t)g->to_y * g->target_width + g->to_x);
}

/* Samples [at, at + n) of plane c. */
static void
fill(const struct stream *s, int c, size_t at, size_t n)
{
	uint8_t *const from = s->planes + element(s) * ((size_t)c * plane_size(s) + at);

	/* Both bytes of v * 257 are v, so memset() can fill 16 bits too. */
	memset(from, s->transform->pad[c], element(s) * n);
}

/* Fill what the picture leaves free: rows above and below, columns beside it. */
static void
fill_padding(const struct stream *s)
{
	const struct lc__geometry *g = &s->done.geometry;
	const size_t width = g->target_width;
	const size_t right = g->to_x + g->to_width, bottom = g->to_y + g->to_height;

	for (int c = 0; c < 3; c++) {
		fill(s, c, 0, g->to_y * width);
		fill(s, c, bottom * width, (g->target_height - bottom) * width);
		for (size_t y = g->to_y; y < bottom && g->to_width < width; y++) {
			fill(s, c, y * width, g->to_x);
			fill(s, c, y * width + right, width - right);
		}
	}
}

static void
turn_result(const struct stream *s)
{
	const size_t size = (size_t)s->to_width * s->to_height;

	for (int c = 0; c < 3 && s->transform->wide; c++)
		lc__turn_plane16(s->done.orientation,
		    (const uint16_t *)(const void *)s->turned + (size_t)c * size,
		    s->to_width, s->to_height, (uint16_t *)(void *)place_of(s, c),
		    s->transform->width);
	for (int c = 0; c < 3 && !s->transform->wide; c++)
		lc__turn_plane(s->done.orientation, s->turned + (size_t)c * size,
		    s->to_width, s->to_height, place_of(s, c), s->transform->width);
}

/* ---- the decoder's sink ----------------------------------------------------------- */

static void
plan_geometry(struct stream *s, const struct lc__image_header *picture)
{
	const struct lc__transform *t = s->transform;
	bool turned;

	s->done.stored_width = picture->stored_width;
	s->done.stored_height = picture->stored_height;
	s->done.deep = picture->deep && !t->wide;
	s->done.orientation = t->ignore_orientation ? 1 : picture->orientation;
	turned = lc__orientations[s->done.orientation].turned;
	lc__geometry_plan(t->fit, turned ? picture->stored_height : picture->stored_width,
	    turned ? picture->stored_width : picture->stored_height, t->width, t->height,
	    &s->done.geometry);
}

/* The largest factor that leaves twice the target along both axes. */
static unsigned
choose_shrink(struct lc__sink *sink, const struct lc__image_header *picture)
{
	struct stream *s = (struct stream *)sink;
	const struct lc__geometry *g = &s->done.geometry;
	unsigned shrink = 8;

	plan_geometry(s, picture);
	while (shrink > 1 &&
	    (g->from_width < 2.0 * shrink * g->to_width ||
		g->from_height < 2.0 * shrink * g->to_height))
		shrink /= 2;
	return shrink;
}

/* Plan along the axes of the stored picture. The part that is taken is centred, so an
 * axis that runs backwards in the upright picture begins at the same place. */
static lc_status
plan_axes(struct stream *s, const struct lc__image_header *picture,
    struct lc__resize_plan *plan)
{
	const bool turned = lc__orientations[s->done.orientation].turned;
	const struct lc__geometry *g = &s->done.geometry;
	const double from_x = turned ? g->from_y : g->from_x;
	const double from_y = turned ? g->from_x : g->from_y;
	const double width = turned ? g->from_height : g->from_width;
	const double height = turned ? g->from_width : g->from_height;
	const unsigned shrink = picture->shrink;

	s->to_width = turned ? g->to_height : g->to_width;
	s->to_height = turned ? g->to_width : g->to_height;
	return_if_error(lc__filter_plan(from_x / shrink, width / shrink, picture->width,
	    s->to_width, &plan->x));
	return lc__filter_plan(from_y / shrink, height / shrink, picture->height,
	    s->to_height, &plan->y);
}

/* Write the result to its place, or to memory from which it is turned afterwards. */
static lc_status
plan_result(struct stream *s, struct lc__resize_plan *plan)
{
	const size_t size = (size_t)s->to_width * s->to_height;

	s->turned = NULL;
	plan->stride = s->done.geometry.target_width;
	if (s->done.orientation != 1) {
		s->turned = lc__scratch_get(&s->workspace->turned, 3, size * element(s));
		if (s->turned == NULL)
			return lc__error(LC_NO_MEMORY, 0, "out of memory for %zu bytes",
			    3 * size * element(s));
		plan->stride = s->to_width;
	}
	for (int c = 0; c < 3; c++)
		plan->planes[c] = s->turned != NULL
		    ? s->turned + (size_t)c * size * element(s)
		    : place_of(s, c);
	return LC_OK;
}

static lc_status
plan_blending(struct stream *s)
{
	s->blended = NULL;
	if (s->channels % 2 != 0)
		return LC_OK;
	s->blended = lc__scratch_get(&s->workspace->blended, LC__BAND,
	    (uint64_t)3 * s->width * (s->deep ? 2 : 1));
	return s->blended != NULL ? LC_OK
				  : lc__error(LC_NO_MEMORY, 0, "out of memory for rows");
}

static lc_status
begin(struct lc__sink *sink, const struct lc__image_header *picture)
{
	struct stream *s = (struct stream *)sink;
	struct lc__resize_plan plan = { .sums = lc__sums_best() };

	plan_geometry(s, picture);
	s->channels = picture->channels;
	s->width = picture->width;
	s->deep = picture->deep && s->sink.keep_deep;
	plan.channels = picture->channels == 1 ? 1 : 3;
	return_if_error(plan_axes(s, picture, &plan));
	return_if_error(plan_result(s, &plan));
	return_if_error(plan_blending(s));
	fill_padding(s);
	if (s->transform->wide) {
		s->resize16 = (struct lc__resize16){
			.x = plan.x,
			.y = plan.y,
			.channels = plan.channels,
			.deep = s->deep,
			.stride = plan.stride,
		};
		for (int c = 0; c < 3; c++)
			s->resize16.planes[c] = (uint16_t *)(void *)plan.planes[c];
		return lc__resize16_begin(&s->resize16, &s->workspace->resize);
	}
	return lc__resize_begin(&s->resize, &plan, &s->workspace->resize);
}

static void
rows(struct lc__sink *sink, uint32_t y, uint32_t count, const uint8_t *pixels,
    size_t stride)
{
	struct stream *s = (struct stream *)sink;
	const uint64_t start = lc__clock_ns();
	const size_t blended = (size_t)3 * s->width * (s->deep ? 2 : 1);

	for (uint32_t i = 0; i < count && s->blended != NULL; i++)
		if (s->deep)
			lc__blend16((const uint16_t *)(const void *)(pixels + i * stride),
			    s->width, s->channels, s->transform->pad,
			    (uint16_t *)(void *)(s->blended + i * blended));
		else
			lc__blend(pixels + i * stride, s->width, s->channels,
			    s->transform->pad, s->blended + i * blended);
	if (s->blended != NULL) {
		pixels = s->blended;
		stride = blended;
	}
	if (s->transform->wide)
		lc__resize16_rows(&s->resize16, y, count, pixels, stride);
	else
		lc__resize_rows(&s->resize, y, count, pixels, stride);
	s->done.resize_ns += lc__clock_ns() - start;
}

/* ---- one image --------------------------------------------------------------------- */

static lc_status
run_stream(struct stream *s, const void *bytes, size_t size)
{
	const uint64_t start = lc__clock_ns();
	uint64_t turning;

	if (s->transform->width == 0 || s->transform->height == 0)
		return lc__error(LC_INVALID, 0, "a target of %u x %u pixels",
		    s->transform->width, s->transform->height);
	return_if_error(lc__image_read(bytes, size, &s->sink));
	turning = lc__clock_ns();
	s->done.decode_ns = turning - start - s->done.resize_ns;
	if (s->turned != NULL)
		turn_result(s);
	s->done.resize_ns += lc__clock_ns() - turning;
	return LC_OK;
}

lc_status
lc__transform_image(const struct lc__transform *transform, const void *bytes, size_t size,
    const char *name, struct lc__workspace *workspace, void *planes,
    struct lc__transformed *out)
{
	struct stream stream = {
		.sink = {
			.max_pixels = transform->max_pixels,
			.keep_deep = transform->wide,
			.keep_alpha = transform->alpha == LC__ALPHA_OVER,
			.band = &workspace->band,
			.shrink = transform->dct_scale ? choose_shrink : NULL,
			.begin = begin,
			.rows = rows,
		},
		.transform = transform,
		.workspace = workspace,
		.planes = planes,
	};

	if (run_stream(&stream, bytes, size) != LC_OK)
		return lc__error_prefix("%s", name);
	*out = stream.done;
	return LC_OK;
}

/* ---- the header alone -------------------------------------------------------- */

struct probe {
	struct lc__sink sink; /* first */
	struct lc__image_header picture;
};

static lc_status
probe_begin(struct lc__sink *sink, const struct lc__image_header *picture)
{
	((struct probe *)sink)->picture = *picture;
	return LC_OK;
}

lc_status
lc__image_probe(const void *bytes, size_t size, const char *name,
    struct lc__transformed *out)
{
	/* Any size is accepted, because no memory depends on it. */
	struct probe probe = {
		.sink = { .max_pixels = UINT64_MAX,
		    .header_only = true,
		    .begin = probe_begin, },
	};

	if (lc__image_read(bytes, size, &probe.sink) != LC_OK)
		return lc__error_prefix("%s", name);
	memset(out, 0, sizeof(*out));
	out->stored_width = probe.picture.stored_width;
	out->stored_height = probe.picture.stored_height;
	out->orientation = probe.picture.orientation;
	out->deep = probe.picture.deep;
	return LC_OK;
}

/* ---- samples as elements of a dtype ------------------------------------------ */

/* The compiler vectorises loops of this length. */
#define BLOCK 64

static inline __attribute__((always_inline)) float
float_of(uint8_t sample)
{
	return (float)sample / 255.0f;
}

/*
 * An IEEE 754 half has 13 bits of fraction less than a float, and an exponent whose
 * bias is 112 less; 1/255 is normal in both. Adding half of the last bit that stays
 * rounds to nearest. There are no ties to be made even: 255 times a tie, a number of
 * 12 bits, is never whole, so v / 255 keeps 2^-20 of its value away from it. The
 * product is off by less than 2^-22, so it falls on the same side.
 */
static inline __attribute__((always_inline)) uint16_t
half_of(uint8_t sample)
{
	const float value = (float)sample * (1.0f / 255.0f);
	int32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits = ((bits + 0x1000) >> 13) - (112 << 10);
	return (uint16_t)(bits < 0 ? 0 : bits);
}

static inline __attribute__((always_inline)) void
write_floats(const uint8_t *restrict samples, size_t count, float *restrict out)
{
	size_t done = 0;

	for (; done + BLOCK <= count; done += BLOCK)
		for (size_t i = done; i < done + BLOCK; i++)
			out[i] = float_of(samples[i]);
	for (; done < count; done++)
		out[done] = float_of(samples[done]);
}

static inline __attribute__((always_inline)) void
write_halves(const uint8_t *restrict samples, size_t count, uint16_t *restrict out)
{
	size_t done = 0;

	for (; done + BLOCK <= count; done += BLOCK)
		for (size_t i = done; i < done + BLOCK; i++)
			out[i] = half_of(samples[i]);
	for (; done < count; done++)
		out[done] = half_of(samples[done]);
}

/* The same for processors with wider vectors. */
#ifdef __x86_64__

#include <immintrin.h>

__attribute__((target("avx2"))) static void
to_f32_avx2(const uint8_t *samples, size_t count, float *out)
{
	write_floats(samples, count, out);
}

__attribute__((target("avx2"))) static void
to_f16_avx2(const uint8_t *samples, size_t count, uint16_t *out)
{
	write_halves(samples, count, out);
}

/* The processor rounds the product as half_of() does. */
__attribute__((target("avx512f"))) static void
to_f16_avx512(const uint8_t *samples, size_t count, uint16_t *out)
{
	const __m512 share = _mm512_set1_ps(1.0f / 255.0f);
	size_t done = 0;

	for (; done + 16 <= count; done += 16) {
		const __m128i bytes = _mm_loadu_si128((const void *)(samples + done));
		const __m512 values = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));

		_mm256_storeu_si256((void *)(out + done),
		    _mm512_cvtps_ph(_mm512_mul_ps(values, share),
			_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
	}
	write_halves(samples + done, count - done, out + done);
}

#define WIDE __builtin_cpu_supports("avx2")
#define WIDEST __builtin_cpu_supports("avx512f")

#else

#define WIDE 0
#define WIDEST 0
#define to_f32_avx2 write_floats
#define to_f16_avx2 write_halves
#define to_f16_avx512 write_halves

#endif

lc_status
lc__planes_convert(const uint8_t *planes, size_t count, lc_dtype dtype, void *out)
{
	switch (dtype) {
	case LC_U8: memcpy(out, planes, count); return LC_OK;
	case LC_F32:
		if (WIDE)
			to_f32_avx2(planes, count, out);
		else
			write_floats(planes, count, out);
		return LC_OK;
	case LC_F16:
		if (WIDEST)
			to_f16_avx512(planes, count, out);
		else if (WIDE)
			to_f16_avx2(planes, count, out);
		else
			write_halves(planes, count, out);
		return LC_OK;
	default:
		return lc__error(LC_UNSUPPORTED, 0, "no pixels as %s",
		    lc_dtype_name(dtype));
	}
}
