/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/image_name.h"

bool
lc__name_has(const char *name, const char *extension)
{
	const size_t size = strlen(name), tail = strlen(extension);

	return size > tail && strcasecmp(name + size - tail, extension) == 0;
}

bool
lc__name_is_image(const char *name)
{
	return lc__is_image_name(name, strlen(name));
}

const char *
lc__name_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

char *
lc__name_stem(const char *path)
{
	const char *base = lc__name_base(path);
	const char *dot = strrchr(base, '.');

	return strndup(base,
	    dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base));
}

char *
lc__name_label(const char *dir, const char *name, const char *extension)
{
	char *stem = lc__name_stem(name), *path = NULL;

	if (stem != NULL &&
	    asprintf(&path, "%s%s%s%s", dir, *dir ? "/" : "", stem, extension) < 0)
		path = NULL;
	free(stem);
	return path;
}

char *
lc__name_join(const char *dir, const char *name)
{
	char *path;

	if (*dir == '\0')
		return strdup(name);
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

char *
lc__name_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, slash != NULL ? (size_t)(slash - path) : 0);
}

/* Append a part to a path of *size bytes, or take one off for "..". */
static bool
step(char *path, size_t *size, const char *part, size_t n)
{
	if (n == 0 || (n == 1 && part[0] == '.'))
		return true;
	if (n == 2 && memcmp(part, "..", 2) == 0) {
		if (*size == 0)
			return false;
		while (*size > 0 && path[--*size] != '/')
			continue;
		return true;
	}
	if (*size > 0)
		path[(*size)++] = '/';
	memcpy(path + *size, part, n);
	*size += n;
	return true;
}

static bool
walk(char *path, size_t *size, const char *from)
{
	while (*from != '\0') {
		const size_t n = strcspn(from, "/");
		if (!step(path, size, from, n))
			return false;
		from += n + (from[n] == '/');
	}
	return true;
}

char *
lc__path_below(const char *dir, const char *path, bool *inside)
{
	char *out = malloc(strlen(dir) + strlen(path) + 2);
	size_t size = 0;

	if (out == NULL)
		return NULL;
	*inside = path[0] != '/' && walk(out, &size, dir) && walk(out, &size, path) &&
	    size > 0;
	out[size] = '\0';
	return out;
}
