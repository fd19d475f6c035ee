/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/label.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "labels/names.h"
#include "labels/printable.h"

void
lc__label_free_boxes(struct lc__label *label)
{
	free(label->boxes);
	label->boxes = NULL;
	label->n = label->room = 0;
	lc__buf_free(&label->extra);
}

/* "FILE: " at the start of detail; its size. */
static size_t
begin_detail(struct lc__label *label, const char *file)
{
	enum { shown = 300 };
	const size_t size = strlen(file);
	char *const out = label->detail;
	size_t n = 0;

	if (size > shown) {
		file += size - shown;
		n = (size_t)sprintf(out, "…");
		/* Not from the middle of a character. */
		while (((unsigned char)*file & 0xc0) == 0x80)
			file++;
	}
	n += lc__printable(file, out + n, shown + 8);
	return n + (size_t)sprintf(out + n, ": ");
}

lc_status
lc__label_reject(struct lc__label *label, enum lc__reject reason, const char *file,
    const char *format, ...)
{
	const size_t n = begin_detail(label, file);
	char text[sizeof(label->detail)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	lc__printable(text, label->detail + n, sizeof(label->detail) - n);
	label->reason = reason;
	lc__label_free_boxes(label);
	return LC_OK;
}

struct lc__label_box *
lc__label_add(struct lc__label *label)
{
	const size_t n = label->n;

	if (lc__array_reserve(&label->boxes, &label->room, n + 1, NULL) != LC_OK)
		return NULL;
	memset(&label->boxes[n], 0, sizeof(label->boxes[n]));
	label->boxes[n].class_id = -1;
	label->n++;
	return &label->boxes[n];
}

lc_status
lc__label_image(struct lc__label *label, const char *file, const char *dir,
    const char *path)
{
	bool inside;

	free(label->image_path);
	label->image_path = lc__path_below(dir, path, &inside);
	if (label->image_path == NULL)
		return lc__no_memory(file);
	if (inside)
		return LC_OK;
	free(label->image_path);
	label->image_path = NULL;
	return lc__label_reject(label, LC__REJECT_UNPARSABLE, file,
	    "image '%.200s' is outside of the dataset", path);
}

void
lc__label_free(struct lc__label *label)
{
	free(label->image_path);
	free(label->boxes);
	lc__buf_free(&label->extra);
	memset(label, 0, sizeof(*label));
}
