/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/image_name.h"

#include <string.h>
#include <strings.h>

bool
lc__is_image_name(const char *name, size_t size)
{
	static const char *const endings[] = { ".jpg", ".jpeg", ".png", ".webp", ".tif",
		".tiff" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const size_t n = strlen(endings[i]);
		if (size > n && strncasecmp(name + size - n, endings[i], n) == 0)
			return true;
	}
	return false;
}

/* Other kinds of images, in alphabetical order. */
static const char *const ignored[] = { ".arw", ".avif", ".bmp", ".cr2", ".cr3", ".dng",
	".exr", ".gif", ".heic", ".heif", ".jfif", ".jp2", ".jpe", ".jxl", ".nef", ".pgm",
	".pnm", ".ppm", ".psd", ".tga" };

enum { N_IGNORED = sizeof(ignored) / sizeof(ignored[0]) };

_Static_assert(N_IGNORED <= LC__IMAGE_ENDINGS, "each ending has its count");

/* The ending of a name; N_IGNORED if it has none of them. */
static size_t
find_ending(const char *name)
{
	const size_t size = strlen(name);
	size_t i = 0;

	for (; i < N_IGNORED; i++) {
		const size_t tail = strlen(ignored[i]);
		if (size > tail && strcasecmp(name + size - tail, ignored[i]) == 0)
			break;
	}
	return i;
}

bool
lc__is_any_image_name(const char *name)
{
	return lc__is_image_name(name, strlen(name)) || find_ending(name) < N_IGNORED;
}

bool
lc__images_ignored_add(struct lc__images_ignored *counts, const char *name)
{
	const size_t i = find_ending(name);

	if (i == N_IGNORED)
		return false;
	counts->by_ending[i]++;
	counts->n++;
	return true;
}

void
lc__images_ignored_text(const struct lc__images_ignored *counts, struct lc__buf *out)
{
	const char *before = "";

	lc__buf_printf(out, "ignored %llu image%s of kinds that are not read: ",
	    (unsigned long long)counts->n, counts->n == 1 ? "" : "s");
	for (size_t i = 0; i < N_IGNORED; i++) {
		if (counts->by_ending[i] == 0)
			continue;
		lc__buf_printf(out, "%s%llu %s", before,
		    (unsigned long long)counts->by_ending[i], ignored[i]);
		before = ", ";
	}
}

const char *
lc__images_ignored_ending(size_t i)
{
	return i < N_IGNORED ? ignored[i] : NULL;
}
