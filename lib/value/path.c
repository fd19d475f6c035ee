/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/path.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"

/* ---- steps ------------------------------------------------------------------ */

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

/* ---- the path of a part -------------------------------------------------------- */

/* Replace the NUL at the end of the text by a dot. */
static void
begin_step(struct lc__buf *path)
{
	if (path->size == 0)
		return;
	path->data[path->size - 1] = '.';
}

void
lc__path_name(struct lc__buf *path, const char *name)
{
	if (path->failed)
		return;
	begin_step(path);
	for (; *name != '\0'; name++) {
		if (*name == '.' || *name == '\\')
			lc__buf_append(path, "\\", 1);
		lc__buf_append(path, name, 1);
	}
	lc__buf_append(path, "", 1);
}

void
lc__path_index(struct lc__buf *path, size_t i)
{
	if (path->failed)
		return;
	begin_step(path);
	lc__buf_printf(path, "%zu", i);
	lc__buf_append(path, "", 1);
}

const char *
lc__path_text(const struct lc__buf *path)
{
	if (path->failed)
		return "?";
	return path->size > 0 ? (const char *)path->data : "";
}

void
lc__path_cut(struct lc__buf *path, size_t size)
{
	if (path->failed)
		return;
	path->size = size;
	if (size > 0)
		path->data[size - 1] = '\0';
}

lc_status
lc__path_take(const char **text, struct lc__buf *name)
{
	struct lc__step step;

	name->size = 0;
	if (*text == NULL)
		return LC_END;
	if (!lc__path_step(text, &step))
		return lc__error(LC_INVALID, 0,
		    "a backslash may only precede a dot or a backslash");
	if (step.size == 0)
		return lc__error(LC_INVALID, 0, "a name is empty");
	for (size_t i = 0; i < step.size; i++) {
		i += step.at[i] == '\\';
		lc__buf_append(name, step.at + i, 1);
	}
	if (lc__buf_append(name, "", 1) == NULL)
		return lc__no_memory(NULL);
	return LC_OK;
}

bool
lc__path_position(const char *name, size_t *out)
{
	const struct lc__step step = { .at = name, .size = strlen(name) };

	return lc__step_position(&step, out);
}
