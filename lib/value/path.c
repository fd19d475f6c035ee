/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/path.h"

#include <stdint.h>
#include <string.h>

bool
lc__path_step(const char **path, struct lc__step *out)
{
	const char *p = *path;

	out->at = p;
	out->escaped = false;
	for (; *p != '\0' && *p != '.'; p++) {
		if (*p != '\\')
			continue;
		p++;
		if (*p != '.' && *p != '\\')
			return false;
		out->escaped = true;
	}
	out->size = (size_t)(p - out->at);
	*path = *p == '.' ? p + 1 : NULL;
	return true;
}

bool
lc__step_is(const struct lc__step *step, const char *name)
{
	const char *const end = step->at + step->size;

	if (!step->escaped)
		return strncmp(name, step->at, step->size) == 0 &&
		    name[step->size] == '\0';
	for (const char *p = step->at; p < end; p++, name++) {
		if (*p == '\\')
			p++;
		if (*name != *p)
			return false;
	}
	return *name == '\0';
}

bool
lc__step_position(const struct lc__step *step, size_t *out)
{
	size_t position = 0;

	if (step->size == 0 || (step->at[0] == '0' && step->size > 1))
		return false;
	for (size_t i = 0; i < step->size; i++) {
		const unsigned digit = (unsigned)(step->at[i] - '0');
		if (digit > 9 || position > (UINT32_MAX - digit) / 10)
			return false;
		position = position * 10 + digit;
	}
	*out = position;
	return true;
}
