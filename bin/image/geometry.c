/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/geometry.h"

#include "image/orientation.h"

const char *
lc__fit_recipe_name(enum lc__fit fit)
{
	static const char *const names[] = {
		[LC__FIT_LETTERBOX] = "Letterbox",
		[LC__FIT_STRETCH] = "Stretch",
		[LC__FIT_COVER] = "Cover",
	};

	return names[fit];
}

/* a * b / c rounded to nearest, halves up, between 1 and most. */
static uint32_t
scaled(uint32_t a, uint32_t b, uint32_t c, uint32_t most)
{
	const uint64_t product = (uint64_t)a * b, left = product % c;
	const uint64_t nearest = product / c + (left >= c - left);

	return nearest < 1 ? 1 : nearest > most ? most : (uint32_t)nearest;
}

void
lc__geometry_plan(enum lc__fit fit, uint32_t source_width, uint32_t source_height,
    uint32_t target_width, uint32_t target_height, struct lc__geometry *out)
{
	const bool wider = (uint64_t)source_width * target_height >=
	    (uint64_t)source_height * target_width;

	*out = (struct lc__geometry){
		.source_width = source_width,
		.source_height = source_height,
		.target_width = target_width,
		.target_height = target_height,
		.from_width = source_width,
		.from_height = source_height,
		.to_width = target_width,
		.to_height = target_height,
	};
	if (fit == LC__FIT_LETTERBOX) {
		if (wider)
			out->to_height = scaled(source_height, target_width, source_width,
			    target_height);
		else
			out->to_width = scaled(source_width, target_height, source_height,
			    target_width);
		out->to_x = (target_width - out->to_width) / 2;
		out->to_y = (target_height - out->to_height) / 2;
	} else if (fit == LC__FIT_COVER) {
		if (wider)
			out->from_width = (double)((uint64_t)source_height *
					      target_width) /
			    target_height;
		else
			out->from_height = (double)((uint64_t)source_width *
					       target_height) /
			    target_width;
		out->from_x = (source_width - out->from_width) / 2;
		out->from_y = (source_height - out->from_height) / 2;
	}
}

static double
clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

enum lc__box_fate
lc__geometry_box(const struct lc__geometry *g, const double box[4], double least,
    double out[4])
{
	const double low[2] = { g->to_x, g->to_y };
	const double size[2] = { g->to_width, g->to_height };
	const double from[2] = { g->from_x, g->from_y };
	const double from_size[2] = { g->from_width, g->from_height };
	double whole[4], area, left;
	bool clipped = false;

	for (int i = 0; i < 4; i++) {
		const int axis = i % 2;
		whole[i] = low[axis] +
		    (box[i] - from[axis]) * size[axis] / from_size[axis];
		out[i] = clamp(whole[i], low[axis], low[axis] + size[axis]);
		clipped |= out[i] != whole[i];
	}
	area = (whole[2] - whole[0]) * (whole[3] - whole[1]);
	left = (out[2] - out[0]) * (out[3] - out[1]);
	/* The comparison also drops a box whose area is NaN. */
	if (!(left > 0) || left < least * area)
		return LC__BOX_DROPPED;
	return clipped ? LC__BOX_CLIPPED : LC__BOX_WHOLE;
}

void
lc__geometry_turn(unsigned orientation, uint32_t width, uint32_t height, double box[4])
{
	const struct lc__orientation *turn = &lc__orientations[orientation];
	double x0 = box[0], y0 = box[1], x1 = box[2], y1 = box[3];

	if (turn->back_x) {
		x0 = width - box[2];
		x1 = width - box[0];
	}
	if (turn->back_y) {
		y0 = height - box[3];
		y1 = height - box[1];
	}
	box[0] = turn->turned ? y0 : x0;
	box[1] = turn->turned ? x0 : y0;
	box[2] = turn->turned ? y1 : x1;
	box[3] = turn->turned ? x1 : y1;
}
