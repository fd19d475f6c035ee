/* SPDX-License-Identifier: BSD-2-Clause */
/* Round numbers along an axis, and how numbers are written in pictures. */
#ifndef CACHEX_DRAW_TICKS_H
#define CACHEX_DRAW_TICKS_H

#include <stddef.h>
#include <stdint.h>

/** Round numbers: multiples of 1, 2 or 5 times a power of ten. */
struct lc__ticks {
	double step;    /* from one to the next */
	int64_t first;  /* the first one, in steps */
	uint32_t count; /* how many */
};

/**
 * The multiples of the smallest step that lie in [low, high], @p most at most; 0 is
 * one of them if it lies there. None if the range has no size.
 * @param least  the smallest step allowed: 1 on an axis of counts, else 0
 */
struct lc__ticks lc__ticks_of(double low, double high, uint32_t most, double least);
double lc__ticks_value(const struct lc__ticks *ticks, uint32_t i);

#define LC__TICKS_TEXT 40 /* room for the text of a number, its unit included */
/** "0.3", "12,000", "-2.5e+07"; returns @p out. */
char *lc__ticks_text(double value, char *out, size_t room);

/** What numbers along an axis are. */
enum lc__unit {
	LC__UNIT_NUMBER = 0, /* "0.25", "12,000" */
	LC__UNIT_COUNT,      /* whole: "7", "40k", "1.5M" */
	LC__UNIT_BYTES, /* "512 B", "64 KiB", "1.5 GiB"; ticks at powers of 2 times 1 to 5 */
	LC__UNIT_SECONDS, /* "20 ms", "15 s", "5 min", "2 h", "3 d" */
	LC__UNIT_SHARE,   /* 0 to 1: "25 %" */
	LC__UNIT_LOG2,    /* logarithms to base 2 of ratios: -1 is "1:2", 1 is "2:1" */
	LC__UNIT_POWER,   /* logarithms to base 10: 3 is "1,000" */
	LC__UNIT_POWER2,  /* logarithms to base 2: -2 is "1/4", 3 is "8" */
	LC__UNIT_BYTES2,  /* logarithms to base 2 of bytes: 12 is "4 KiB" */
};

/** lc__ticks_of() with steps that are round in the unit. */
struct lc__ticks lc__ticks_in(enum lc__unit unit, double low, double high, uint32_t most);
/** A number of the unit as text; returns @p out, of LC__TICKS_TEXT bytes. */
char *lc__unit_text(enum lc__unit unit, double value, char *out);

#endif
