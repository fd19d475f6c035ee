/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers, sizes, shapes, dates and colours as people write and read them. */
#include "ui/size.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "lmdbcache.h"

/** The longest side of a target. */
#define PICTURE_MOST 16384

static const char units[] = "KMGTPE";

bool
count_parse(const char *text, uint64_t *out)
{
	uint64_t n = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (!isdigit((unsigned char)*text) || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return false;
	}
	*out = n;
	return true;
}

char *
count_human(uint64_t n, const char *noun, char *out, size_t room)
{
	snprintf(out, room, "%llu %s%s", (unsigned long long)n, noun, n == 1 ? "" : "s");
	return out;
}

/* "", "B", "K", "KB" and "KiB" are suffixes; all letters count 1,024. */
static bool
suffix_shift(const char *suffix, unsigned *shift)
{
	const char *unit;

	*shift = 0;
	if (*suffix != '\0' &&
	    (unit = strchr(units, toupper((unsigned char)*suffix))) != NULL) {
		*shift = 10 * (unsigned)(unit - units + 1);
		suffix++;
		if (strcasecmp(suffix, "ib") == 0)
			return true;
	}
	return *suffix == '\0' || strcasecmp(suffix, "b") == 0;
}

bool
size_parse(const char *text, uint64_t *out)
{
	const size_t digits = strspn(text, "0123456789");
	const size_t number = digits +
	    (text[digits] == '.' ? 1 + strspn(text + digits + 1, "0123456789") : 0);
	char copy[32];
	unsigned shift;
	uint64_t whole;

	if (digits == 0 || number >= sizeof(copy) || !suffix_shift(text + number, &shift))
		return false;
	memcpy(copy, text, number);
	copy[number] = '\0';
	if (number > digits) {
		const double value = strtod(copy, NULL) * (double)(1ull << shift);
		if (value >= 9e18)
			return false;
		*out = (uint64_t)value;
		return true;
	}
	if (!count_parse(copy, &whole) || whole > UINT64_MAX >> shift)
		return false;
	*out = whole << shift;
	return true;
}

char *
size_exact(uint64_t bytes, char *out, size_t room)
{
	int unit = -1;

	while (bytes != 0 && bytes % 1024 == 0 && units[unit + 1] != '\0') {
		bytes /= 1024;
		unit++;
	}
	snprintf(out, room, "%llu%.*s", (unsigned long long)bytes, unit >= 0,
	    unit < 0 ? "" : units + unit);
	return out;
}

char *
size_human(double bytes, char *out, size_t room)
{
	int unit = -1;

	while (bytes >= 1023.5 && units[unit + 1] != '\0') {
		bytes /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(out, room, "%d B", (int)(bytes + 0.5));
	else
		snprintf(out, room, "%.*f %ciB",
		    bytes < 9.995       ? 2
			: bytes < 99.95 ? 1
					: 0,
		    bytes, units[unit]);
	return out;
}

char *
time_human(double seconds, char *out, size_t room)
{
	const unsigned long s = seconds < 1e9 ? (unsigned long)(seconds + 0.5)
					      : 1000000000;

	if (s >= 3600)
		snprintf(out, room, "%lu h %02lu min", s / 3600, s / 60 % 60);
	else if (s >= 60)
		snprintf(out, room, "%lu min %02lu s", s / 60, s % 60);
	else
		snprintf(out, room, "%lu s", s);
	return out;
}

/* ---- shapes ------------------------------------------------------------------------ */

lc_status
shape_parse(const char *text, uint32_t *ndim, uint64_t shape[LC_MAX_NDIM])
{
	const char *p = text;
	uint32_t n = 0;

	while (*p != '\0' || n > 0) {
		const size_t size = strcspn(p, ",");
		char word[24] = "";
		if (n == LC_MAX_NDIM)
			return lc__error(LC_INVALID, 0, "more than %d dimensions",
			    LC_MAX_NDIM);
		if (size < sizeof(word))
			memcpy(word, p, size);
		if (!count_parse(word, &shape[n++]))
			return lc__error(LC_INVALID, 0,
			    "'%s' is not a shape, such as 3,640,640", text);
		p += size;
		if (*p++ == '\0')
			break;
	}
	*ndim = n;
	return LC_OK;
}

/* ---- dates ------------------------------------------------------------------------- */

char *
date_text(uint64_t ms, char out[DATE_TEXT])
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(out, DATE_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(out, DATE_TEXT, "%llu ms", (unsigned long long)ms);
	return out;
}

/* ---- sizes and colours of pictures ------------------------------------------------- */

/* Read a side at *at and move past it. */
static bool
take_side(const char **at, uint32_t *out)
{
	char *end;
	unsigned long side;

	if (!isdigit((unsigned char)**at))
		return false;
	side = strtoul(*at, &end, 10);
	*at = end;
	*out = (uint32_t)side;
	return side >= 1 && side <= PICTURE_MOST;
}

static bool
take_size(const char **at, lc_bucket *out)
{
	if (!take_side(at, &out->width))
		return false;
	out->height = out->width;
	if (**at != 'x')
		return true;
	++*at;
	return take_side(at, &out->height);
}

bool
picture_size(const char *text, lc_bucket *out)
{
	return take_size(&text, out) && *text == '\0';
}

bool
picture_sizes(const char *text, lc_bucket *out, size_t room, size_t *n)
{
	for (*n = 0; *n < room; text++) {
		if (!take_size(&text, &out[(*n)++]))
			return false;
		if (*text != ',')
			return *text == '\0';
	}
	return false;
}

bool
picture_colour(const char *text, uint8_t out[3])
{
	unsigned long colour;

	if (strlen(text) != 6 || strspn(text, "0123456789abcdefABCDEF") != 6)
		return false;
	colour = strtoul(text, NULL, 16);
	for (int i = 0; i < 3; i++)
		out[i] = (uint8_t)(colour >> (16 - 8 * i));
	return true;
}
