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
