/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/class_bars.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int
by_boxes(const void *a, const void *b)
{
	const struct lc__class_count *x = a, *y = b;

	if (x->boxes != y->boxes)
		return x->boxes < y->boxes ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static void
add_bar(struct lc__class_bars *out, const char *name, uint64_t boxes, uint32_t colour)
{
	out->bars[out->n++] = (struct lc__named_bar){ lc_id_of(name), (double)boxes,
		colour, NULL };
	if ((double)boxes > out->most)
		out->most = (double)boxes;
}

lc_status
lc__class_bars_of(const struct lc__classes *classes, const struct lc__class_names *names,
    struct lc__class_bars *out)
{
	const bool more = classes->others.boxes > 0;
	const size_t shown = classes->n + more > LC__CLASS_BARS ? LC__CLASS_BARS - 1
								: classes->n;
	uint64_t others = classes->others.boxes;
	struct lc__class_count *rows;

	out->n = 0;
	out->most = 0;
	rows = malloc((classes->n + 1) * sizeof(*rows));
	if (rows == NULL)
		return lc__no_memory("chart");
	if (classes->n > 0)
		memcpy(rows, classes->rows, classes->n * sizeof(*rows));
	qsort(rows, classes->n, sizeof(*rows), by_boxes);
	for (size_t i = 0; i < shown; i++) {
		char *text = out->texts[i];
		const char *name = names->find != NULL
		    ? names->find(names->ctx, rows[i].id)
		    : NULL;
		if (rows[i].id == -1)
			snprintf(text, sizeof(out->texts[i]), "without a class");
		else
			snprintf(text, sizeof(out->texts[i]), "class %" PRId64,
			    rows[i].id);
		add_bar(out, name != NULL ? name : text, rows[i].boxes, LC__BAR);
	}
	for (size_t i = shown; i < classes->n; i++)
		others += rows[i].boxes;
	if (others > 0) {
		char *text = out->texts[out->n];
		snprintf(text, sizeof(out->texts[0]),
		    more ? "more than %zu others" : "%zu others", classes->n - shown);
		add_bar(out, text, others, LC__RULE);
	}
	free(rows);
	return LC_OK;
}
