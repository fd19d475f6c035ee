/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/names.h"

#include <stdbool.h>
#include <stddef.h>
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

/* Append the components of @p from to a path of *size bytes. "." is skipped, ".."
 * removes a component. False if there is none to remove. */
static bool
walk(char *path, size_t *size, const char *from)
{
	for (size_t n; *from != '\0'; from += n + (from[n] == '/')) {
		n = strcspn(from, "/");
		if (n == 0 || (n == 1 && from[0] == '.'))
			continue;
		if (n == 2 && memcmp(from, "..", 2) == 0) {
			if (*size == 0)
				return false;
			while (*size > 0 && path[--*size] != '/')
				continue;
			continue;
		}
		if (*size > 0)
			path[(*size)++] = '/';
		memcpy(path + *size, from, n);
		*size += n;
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

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Skip a number. Returns its digits without leading zeros. */
static size_t
take_number(const char **p, const char **digits)
{
	while (**p == '0')
		++*p;
	*digits = *p;
	while (is_digit(**p))
		++*p;
	return (size_t)(*p - *digits);
}

int
lc__order_names(const char *a, const char *b)
{
	const char *p = a, *q = b;

	while (*p != '\0' && *q != '\0') {
		int order;
		if (is_digit(*p) && is_digit(*q)) {
			const char *x, *y;
			const size_t nx = take_number(&p, &x), ny = take_number(&q, &y);
			if (nx != ny)
				return nx < ny ? -1 : 1;
			order = memcmp(x, y, nx);
		} else {
			order = (unsigned char)*p++ - (unsigned char)*q++;
		}
		if (order != 0)
			return order;
	}
	if (*p != *q)
		return *p == '\0' ? -1 : 1;
	return strcmp(a, b);
}
