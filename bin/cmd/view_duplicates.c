/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of a module that are equal or nearly equal. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "cmd/vectors.h"
#include "cmd/view.h"
#include "draw/ticks.h"
#include "report/near.h"
#include "report/preview.h"
#include "ui/columns.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"

#define NEAR_IMAGES 0.05 /* the default limits */
#define NEAR_VECTORS 0.01
#define NOTE_ROOM 80
#define LINE_ROOM 300

/* A record. */
struct item {
	lc_id id; /* a copy */
	uint64_t hash[2];
	bool copy; /* equal to an earlier one */
};

struct search {
	lc_cache *cache;
	const struct view_near *how;
	struct item *items; /* in the order of keys */
	size_t n, room;
	struct lc__print *prints; /* of images */
	size_t n_prints, prints_room;
	float *rows; /* vectors */
	size_t *rows_of;
	size_t n_rows, rows_room, rows_of_room, d;
	uint64_t lacking, damaged; /* records without the part; that cannot be read */
	uint64_t uncompared;       /* vectors beyond the memory, or of another length */
	struct lc__pairs equal, near;
};

static void
search_free(struct search *s)
{
	for (size_t i = 0; i < s->n; i++)
		free((void *)s->items[i].id.data);
	free(s->items);
	free(s->prints);
	free(s->rows);
	free(s->rows_of);
	lc__pairs_free(&s->equal);
	lc__pairs_free(&s->near);
}

/* ---- the walk -------------------------------------------------------------------- */

static lc_status
add_print(struct search *s, const struct lc__preview *preview)
{
	struct lc__value_range range;
	struct lc__pixels image;
	lc_status status;

	return_if_error(
	    lc__array_reserve(&s->prints, &s->prints_room, s->n_prints + 1, "view"));
	return_if_error(
	    lc__image_pixels(&preview->tensor, &preview->form, &image, &range));
	status = lc__print_of(&image, &s->prints[s->n_prints]);
	lc__pixels_free(&image);
	return_if_error(status);
	s->prints[s->n_prints++].item = s->n - 1;
	return LC_OK;
}

static lc_status
add_row(struct search *s, const lc_tensor *tensor)
{
	const size_t d = tensor->nbytes / lc_dtype_size(tensor->dtype);

	if (d < 2)
		return LC_OK;
	if (s->n_rows == 0)
		s->d = d;
	if (d != s->d || (s->n_rows + 1) * d > VECTORS_ELEMENTS) {
		s->uncompared++;
		return LC_OK;
	}
	return_if_error(
	    lc__array_reserve(&s->rows, &s->rows_room, (s->n_rows + 1) * d, "view"));
	return_if_error(
	    lc__array_reserve(&s->rows_of, &s->rows_of_room, s->n_rows + 1, "view"));
	if (vectors_copy(tensor, s->rows + s->n_rows * d))
		s->rows_of[s->n_rows++] = s->n - 1;
	else
		s->uncompared++;
	return LC_OK;
}

static lc_status
add_item(struct search *s, lc_id id, const lc_value *value)
{
	char key[LC_KEY_SIZE];
	struct lc__preview preview;
	struct item *item;
	lc_status status;
	void *copy;

	return_if_error(lc_value_key(value, key));
	return_if_error(lc__array_reserve(&s->items, &s->room, s->n + 1, "view"));
	copy = malloc(id.size);
	if (copy == NULL)
		return lc__no_memory("view");
	memcpy(copy, id.data, id.size);
	item = &s->items[s->n++];
	*item = (struct item){ .id = { copy, id.size } };
	lc__hash128(key, strlen(key), item->hash);
	if (s->how->exact)
		return LC_OK;
	/* What a sheet shows of it. */
	status = lc__preview_of_value(value, false, &preview);
	if (status == LC_OK && preview.of_tensor) {
		if (preview.kind == LC__PREVIEW_IMAGE)
			status = add_print(s, &preview);
		else if (vectors_real(preview.tensor.dtype))
			status = add_row(s, &preview.tensor);
	}
	lc__preview_free(&preview);
	return status;
}

static lc_status
walk(struct search *s)
{
	const lc_value *value;
	lc_iter *iter;
	lc_item item;
	uint64_t all, done = 0;
	lc_status status;

	return_if_error(lc_count(s->cache, &all));
	return_if_error(lc_iter_open(s->cache, LC_BY_KEY, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) != LC_END) {
		if (status == LC_OK)
			status = lc_iter_value(iter, s->how->field, &value);
		if (status == LC_OK)
			status = add_item(s, item.id, value);
		if (status == LC_NOT_FOUND) {
			s->lacking++;
		} else if (status == LC_CORRUPT) {
			report_library(EXIT_DATA);
			s->damaged++;
		} else if (status != LC_OK) {
			break;
		}
		progress_items(++done, all);
		if (progress_step(NULL, 0, 0) != 0) {
			status = lc__error(LC_CANCELLED, 0, "cancelled");
			break;
		}
	}
	lc_iter_close(iter);
	return status == LC_END ? LC_OK : status;
}

/* ---- pairs ---------------------------------------------------------------------- */

/* An item by its hash. */
struct hashed {
	uint64_t hash[2];
	size_t item;
};

static int
by_hash(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;
	const int order = memcmp(x->hash, y->hash, sizeof(x->hash));

	return order != 0 ? order : (x->item > y->item) - (x->item < y->item);
}

/* Add each copy, paired with the first record of its group. */
static lc_status
find_equal(struct search *s)
{
	struct hashed *all = malloc((s->n + 1) * sizeof(*all));
	lc_status status = LC_OK;

	if (all == NULL)
		return lc__no_memory("view");
	for (size_t i = 0; i < s->n; i++)
		all[i] = (struct hashed){ { s->items[i].hash[0], s->items[i].hash[1] },
			i };
	if (s->n > 0)
		qsort(all, s->n, sizeof(*all), by_hash);
	for (size_t i = 0, first = 0; i < s->n && status == LC_OK; i++) {
		if (memcmp(all[i].hash, all[first].hash, sizeof(all[i].hash)) != 0)
			first = i;
		if (i == first)
			continue;
		s->items[all[i].item].copy = true;
		status = lc__pairs_add(&s->equal, all[first].item, all[i].item, 0);
	}
	free(all);
	return status == LC_OK ? lc__pairs_end(&s->equal) : status;
}

/* Copies are left out: they were compared already. */
static void
drop_copies(struct search *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n_prints; i++)
		if (!s->items[s->prints[i].item].copy)
			s->prints[kept++] = s->prints[i];
	s->n_prints = kept;
	kept = 0;
	for (size_t i = 0; i < s->n_rows; i++)
		if (!s->items[s->rows_of[i]].copy) {
			memmove(s->rows + kept * s->d, s->rows + i * s->d,
			    s->d * sizeof(*s->rows));
			s->rows_of[kept++] = s->rows_of[i];
		}
	s->n_rows = kept;
}

static lc_status
find_near(struct search *s)
{
	const lc_progress progress = { .step = progress_step };
	const double limit = s->how->limit;

	progress_phase(NULL, "compare");
	drop_copies(s);
	return_if_error(lc__near_prints(s->prints, s->n_prints,
	    limit >= 0 ? limit : NEAR_IMAGES, &progress, &s->near));
	return_if_error(lc__near_vectors(s->rows, s->rows_of, s->n_rows, s->d,
	    limit >= 0 ? limit : NEAR_VECTORS, &progress, &s->near));
	return lc__pairs_end(&s->near);
}

/* ---- the list and the picture ------------------------------------------------------- */

/* "identical 0 A B" or "near 0.031 A B", separated by tabs. */
static void
print_pair(const struct search *s, const struct lc__pair *pair, bool equal)
{
	const lc_id a = s->items[pair->a].id, b = s->items[pair->b].id;
	struct json json = { stdout, false };

	if (!settings.json) {
		printf("%s\t%.4g\t", equal ? "identical" : "near", pair->distance);
		ident_print(stdout, a);
		putchar('\t');
		ident_print(stdout, b);
		putchar('\n');
		return;
	}
	jw_open(&json, NULL, '{');
	jw_text(&json, "kind", equal ? "identical" : "near");
	jw_real(&json, "distance", pair->distance);
	jw_open(&json, "first", '{');
	jw_id(&json, a);
	jw_close(&json, '}');
	jw_open(&json, "second", '{');
	jw_id(&json, b);
	jw_close(&json, '}');
	jw_end_line(&json);
}

static int
draw_pairs(const struct search *s, const char *module, size_t most,
    const struct view_grid *grid, const struct view_tensor *how,
    const struct view_page *page)
{
	const size_t all = s->equal.n + s->near.n, n = all < most ? all : most;
	lc_id *ids = calloc(2 * n, sizeof(*ids));
	char(*notes)[NOTE_ROOM] = calloc(2 * n, sizeof(*notes));
	char line[LINE_ROOM];
	struct view_cells cells = { .ids = ids,
		.notes = notes[0],
		.note_room = NOTE_ROOM,
		.n = 2 * n,
		.line = line,
		.pairs = true };
	int status = EXIT_DONE, used;

	if (ids == NULL || notes == NULL) {
		free(ids);
		free(notes);
		return report_no_memory();
	}
	for (size_t i = 0; i < n; i++) {
		const bool equal = i < s->equal.n;
		const struct lc__pair *pair = equal ? &s->equal.all[i]
						    : &s->near.all[i - s->equal.n];
		ids[2 * i] = s->items[pair->a].id;
		ids[2 * i + 1] = s->items[pair->b].id;
		if (equal)
			snprintf(notes[2 * i], NOTE_ROOM, "identical");
		else
			snprintf(notes[2 * i], NOTE_ROOM, "near  distance %.2g",
			    pair->distance);
	}
	used = snprintf(line, sizeof(line), "%zu identical and %zu near of %zu records",
	    s->equal.n, s->near.n, s->n);
	if (n < all && used > 0)
		snprintf(line + used, sizeof(line) - (size_t)used,
		    "; the first %zu pairs", n);
	status = view_cells(s->cache, module, &cells, grid, how, page->picture,
	    page->json);
	free(ids);
	free(notes);
	return status;
}

static void
write_json(const struct search *s, const char *module, struct json *json)
{
	jw_text(json, "kind", "duplicates");
	jw_text(json, "module", module);
	if (s->how->field != NULL)
		jw_text(json, "field", s->how->field);
	jw_count(json, "records", s->n);
	jw_count(json, "identical", s->equal.n);
	jw_count(json, "near", s->near.n);
	jw_count(json, "lacking", s->lacking);
	jw_count(json, "damaged", s->damaged);
	jw_count(json, "not_compared", s->uncompared);
}

static int
find(struct search *s)
{
	lc_status status;

	progress_begin("view");
	status = walk(s);
	s->equal.items = s->near.items = s->n;
	if (status == LC_OK)
		status = find_equal(s);
	if (status == LC_OK && !s->how->exact)
		status = find_near(s);
	progress_end();
	return status == LC_OK ? EXIT_DONE : report_argument(status);
}

static int
show(const struct search *s, const char *module, const struct view_grid *grid,
    const struct view_page *page)
{
	const struct view_tensor how = { s->how->field, false, 0 };
	int status = s->damaged > 0 ? EXIT_DATA : EXIT_DONE;

	if (s->n == 0 && s->lacking > 0)
		return report_worse(status,
		    report_error(EXIT_NO, "no record has the part %s", s->how->field));
	if (s->uncompared > 0)
		report_note("%" PRIu64 " vectors were compared for equality only",
		    s->uncompared);
	if (s->equal.n + s->near.n == 0)
		return report_worse(status,
		    report_error(EXIT_NO, "there are no duplicates in %s", module));
	for (size_t i = 0; page->list && i < s->equal.n; i++)
		print_pair(s, &s->equal.all[i], true);
	for (size_t i = 0; page->list && i < s->near.n; i++)
		print_pair(s, &s->near.all[i], false);
	write_json(s, module, page->json);
	if (page->picture != NULL)
		status = report_worse(status,
		    draw_pairs(s, module, s->how->pairs, grid, &how, page));
	return status;
}

int
view_duplicates(const char *module, const struct view_near *how,
    const struct view_grid *grid, const struct view_page *page)
{
	struct search search = { .how = how };
	int status = module_open(module, &search.cache);

	if (status != EXIT_DONE)
		return status;
	status = find(&search);
	if (status == EXIT_DONE)
		status = show(&search, module, grid, page);
	search_free(&search);
	return module_close(search.cache, status);
}
