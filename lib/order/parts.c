/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/parts.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

/* A share has up to nine digits before and after its decimal point. */
#define UNIT UINT64_C(1000000000)

static lc_status
wrong(const char *text, const char *why)
{
	return lc__error(LC_INVALID, 0, "split: '%.100s': %s", text, why);
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parse digits, and optionally a point and more digits, in billionths. */
static bool
read_share(const char **at, uint64_t *out)
{
	const char *p = *at;
	uint64_t whole = 0, scale = UNIT;
	int digits = 0;

	for (; is_digit(*p) && digits < 9; p++, digits++)
		whole = 10 * whole + (uint64_t)(*p - '0');
	*out = whole * UNIT;
	if (digits == 0)
		return false;
	if (*p == '.')
		for (p++; is_digit(*p) && scale > 1; p++) {
			scale /= 10;
			*out += scale * (uint64_t)(*p - '0');
		}
	*at = p;
	return *p == '\0' || *p == ',';
}

static lc_status
read_part(const char *text, const char **at, struct lc__split_parts *out, uint64_t *share)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789._-";
	const size_t size = strspn(*at, letters);
	char *name = out->names[out->n];

	if (size == 0 || size > LC__PART_NAME || (*at)[size] != '=')
		return wrong(text, "not NAME=SHARE,NAME=SHARE, as in train=0.9,val=0.1");
	memcpy(name, *at, size);
	name[size] = '\0';
	for (size_t i = 0; i < out->n; i++)
		if (strcmp(out->names[i], name) == 0)
			return wrong(text, "a part is named twice");
	*at += size + 1;
	if (!read_share(at, share))
		return wrong(text,
		    "a share is a number, with up to nine digits "
		    "before and after its point");
	if (*share == 0)
		return wrong(text, "a share is above 0");
	return LC_OK;
}

lc_status
lc__parts_parse(const char *text, struct lc__split_parts *out)
{
	const char *at = text;
	uint64_t divisor = 0;
	bool whole = true;

	memset(out, 0, sizeof(*out));
	do {
		uint64_t share = 0;

		if (out->n == LC__PARTS_MAX)
			return wrong(text, "at most 64 parts");
		at += out->n > 0;
		return_if_error(read_part(text, &at, out, &share));
		whole = whole && share % UNIT == 0;
		out->ends[out->n] = share + (out->n > 0 ? out->ends[out->n - 1] : 0);
		out->n++;
	} while (*at == ',');
	/* A mistake in one of the shares shows in their sum. */
	if (!whole && out->ends[out->n - 1] != UNIT)
		return wrong(text, "the shares sum to 1, or are whole numbers");
	for (size_t i = 0; i < out->n; i++)
		divisor = lc__gcd(divisor, out->ends[i]);
	for (size_t i = 0; i < out->n; i++)
		out->ends[i] /= divisor;
	return LC_OK;
}

lc_status
lc__parts_named(const struct lc__split_parts *parts, const char *name, size_t *out)
{
	char names[200] = "";

	for (size_t i = 0; i < parts->n; i++) {
		const size_t size = strlen(names);

		if (strcmp(parts->names[i], name) == 0) {
			*out = i;
			return LC_OK;
		}
		snprintf(names + size, sizeof(names) - size, "%s%s", i > 0 ? ", " : "",
		    parts->names[i]);
	}
	return lc__error(LC_INVALID, 0, "split: there is no part '%.100s', only %s", name,
	    names);
}

size_t
lc__parts_of(const struct lc__split_parts *parts, const void *key, size_t size)
{
	const uint64_t hash = lc__hash64_seed(key, size, parts->seed);
	const uint64_t place = (uint64_t)((unsigned __int128)hash *
		parts->ends[parts->n - 1] >>
	    64);
	size_t i = 0;

	while (place >= parts->ends[i])
		i++;
	return i;
}

lc_status
lc_split_part(const char *split, uint64_t seed, const void *key, size_t size, size_t *out)
{
	struct lc__split_parts parts;

	return_if_error(lc__parts_parse(split, &parts));
	parts.seed = seed;
	*out = lc__parts_of(&parts, key, size);
	return LC_OK;
}
