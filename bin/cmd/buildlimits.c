/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/buildlimits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/size.h"

/* A decimal number with an end that is not its own. */
static bool
read_number(const char *text, const char *end, double *out)
{
	char *stop;

	if (!isdigit((unsigned char)*text))
		return false;
	*out = strtod(text, &stop);
	return stop == end;
}

/* One of the two kinds, text[0] to text[size - 1]. */
static bool
read_part(const char *text, size_t size, struct lc__limit *out)
{
	char digits[32];
	double percent;

	if (size > 0 && text[size - 1] == '%') {
		if (out->has_ratio ||
		    !read_number(text, text + size - 1, &percent) ||
		    !(percent <= 100))
			return false;
		out->has_ratio = true;
		out->ratio = percent / 100;
		return true;
	}
	if (out->has_count || size >= sizeof(digits))
		return false;
	memcpy(digits, text, size);
	digits[size] = '\0';
	out->has_count = true;
	return count_parse(digits, &out->count);
}

bool
limit_parse(const char *text, struct lc__limit *out, char *why, size_t room)
{
	struct lc__limit limit = { .has_count = false };
	const char *at = text;

	for (;;) {
		const size_t n = strcspn(at, ",");
		if (!read_part(at, n, &limit)) {
			snprintf(why, room, "no limit: '%s' (as in 12, 5%% or 12,5%%)",
			    text);
			return false;
		}
		if (at[n] == '\0')
			break;
		at += n + 1;
	}
	*out = limit;
	return true;
}

/* A variable that is set to more than nothing. */
static const char *
variable(const char *name, const char *end, char *out, size_t room)
{
	const char *text;

	snprintf(out, room, "WAREHOUSE_MAX_%s%s", name, end);
	text = getenv(out);
	return text != NULL && *text != '\0' ? text : NULL;
}

bool
limit_environment(const char *name, struct lc__limit *out, char *why,
    size_t room)
{
	struct lc__limit limit = { .has_count = false };
	char what[64];
	const char *text = variable(name, "", what, sizeof(what));

	if (text != NULL) {
		limit.has_count = true;
		if (!count_parse(text, &limit.count)) {
			snprintf(why, room, "%s: not a number: '%s'", what, text);
			return false;
		}
	}
	text = variable(name, "_RATIO", what, sizeof(what));
	if (text != NULL) {
		limit.has_ratio = true;
		if (!read_number(text, text + strlen(text), &limit.ratio) ||
		    !(limit.ratio <= 1)) {
			snprintf(why, room, "%s: not a ratio: '%s' (0 to 1)", what,
			    text);
			return false;
		}
	}
	if (limit.has_count || limit.has_ratio)
		*out = limit;
	return true;
}
