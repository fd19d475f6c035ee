/* SPDX-License-Identifier: BSD-2-Clause */
#include "draw/colours.h"

#include <math.h>
#include <stdbool.h>

#define DEGREE (3.14159265358979323846 / 180)

static uint32_t
encode(double linear)
{
	const double value = linear <= 0.0031308 ? 12.92 * linear
						 : 1.055 * pow(linear, 1 / 2.4) - 0.055;

	return (uint32_t)lround(255 * fmin(fmax(value, 0), 1));
}

static double
cube(double x)
{
	return x * x * x;
}

/* The matrices of the definition of OKLab. */
uint32_t
lc__colour_of(struct lc__oklab c)
{
	const double l = cube(c.l + 0.3963377774 * c.a + 0.2158037573 * c.b);
	const double m = cube(c.l - 0.1055613458 * c.a - 0.0638541728 * c.b);
	const double s = cube(c.l - 0.0894841775 * c.a - 1.2914855480 * c.b);
	const uint32_t red = encode(
	    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
	const uint32_t green = encode(
	    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
	const uint32_t blue = encode(
	    -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);

	return red << 16 | green << 8 | blue;
}

static uint32_t
from_hue(double lightness, double chroma, double degrees)
{
	const struct lc__oklab colour = { lightness, chroma * cos(degrees * DEGREE),
		chroma * sin(degrees * DEGREE) };

	return lc__colour_of(colour);
}

/* The widest helix of this kind that sRGB can show, with a little to spare. */
static uint32_t
heat(double t)
{
	return from_hue(0.22 + 0.72 * t, 0.14, 265 + 205 * t);
}

/* From white to a dark blue and a dark red of the same lightness. */
static uint32_t
diverging(double t)
{
	const double far = fabs(2 * t - 1);

	return from_hue(0.98 - 0.56 * far, 0.17 * pow(far, 0.8), t < 0.5 ? 258 : 27);
}

/* The heat the other way, from white on. */
static uint32_t
density(double t)
{
	return from_hue(1 - 0.76 * t, 0.14 * fmin(4 * t, 1), 470 - 205 * t);
}

static uint32_t
colour_of_map(enum lc__colour_map map, double t)
{
	switch (map) {
	case LC__COLOURS_DIVERGING: return diverging(t);
	case LC__COLOURS_DENSITY: return density(t);
	default: return heat(t);
	}
}

const uint32_t *
lc__colours(enum lc__colour_map map)
{
	static uint32_t colours[3][LC__COLOUR_STEPS];
	static bool known[3];

	if (!known[map])
		for (int i = 0; i < LC__COLOUR_STEPS; i++)
			colours[map][i] = colour_of_map(map,
			    (double)i / (LC__COLOUR_STEPS - 1));
	known[map] = true;
	return colours[map];
}

uint32_t
lc__colour_at(enum lc__colour_map map, double share)
{
	return lc__colours(map)[lround(fmin(fmax(share, 0), 1) * (LC__COLOUR_STEPS - 1))];
}

/* Hues a golden angle apart, so that any few of them are spread over the circle. */
uint32_t
lc__colour_class(int64_t class_id)
{
	static const double lightness[] = { 0.74, 0.84, 0.66 };
	const uint64_t id = (uint64_t)class_id;

	if (class_id == -1)
		return 0xffffff;
	return from_hue(lightness[id % 3], 0.17,
	    fmod((double)(id % 1000) * 137.50776 + 140, 360));
}
