/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "order/shuffle.h"
#include "report/preview.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "value/dtype.h"
#include "value/tensor.h"

/* ---- the part that is a vector ---------------------------------------------------- */

bool
vectors_real(lc_dtype dtype)
{
	return lc__dtype_is_number(dtype) && !lc__dtype_is_complex(dtype);
}

static size_t
elements(const lc_tensor *tensor)
{
	return tensor->nbytes / lc_dtype_size(tensor->dtype);
}

/* Find the path of the first tensor that has one dimension and at least two
 * elements. */
static bool
find_vector(const lc_value *value, struct lc__buf *path)
{
	const size_t size = path->size;
	lc_tensor tensor;

	if (lc_value_as_tensor(value, &tensor) == LC_OK)
		return tensor.ndim == 1 && vectors_real(tensor.dtype) &&
		    elements(&tensor) > 1;
	for (size_t i = 0; i < lc_value_count(value); i++) {
		lc__preview_path_add(path, value, i);
		if (find_vector(lc_value_at(value, i), path))
			return true;
		path->size = size;
	}
	return false;
}

/* ---- the walk -------------------------------------------------------------------- */

struct walk {
	lc_cache *cache;
	const struct vectors_choice *choice;
	struct vectors *out;
	size_t ids_room; /* elements allocated for out->ids */
	lc_id first;     /* key of the record that gave out->type; a copy */
	uint64_t state;  /* state of the random choice */
};

/* Set out->field from the first record. */
static int
choose_field(struct walk *walk, lc_iter *iter, const lc_item *item)
{
	struct lc__buf path = { 0 };
	const lc_value *value;
	lc_status status;

	if (walk->choice->field != NULL) {
		walk->out->field = strdup(walk->choice->field);
		return walk->out->field != NULL ? EXIT_DONE : report_no_memory();
	}
	status = lc_iter_value(iter, NULL, &value);
	if (status != LC_OK)
		return report_status(status);
	if (item->kind != LC_TENSOR && !find_vector(value, &path)) {
		lc__buf_free(&path);
		return report_error(EXIT_DATA,
		    "%s has no vector of real numbers; choose a part with --field",
		    lc__quote_id(item->id.data, item->id.size));
	}
	lc__buf_append(&path, "", 1);
	walk->out->field = (char *)path.data;
	return path.failed ? report_no_memory() : EXIT_DONE;
}

static const char *
quoted_field(const struct vectors *out)
{
	return *out->field != '\0' ? out->field : "the record";
}

/* Whether this part is a vector like the others. */
static int
check_type(struct walk *walk, lc_id id, const lc_value *value)
{
	struct vectors *out = walk->out;
	char type[LC__TENSOR_TEXT];
	lc_tensor tensor;
	void *copy;

	if (lc_value_as_tensor(value, &tensor) != LC_OK)
		return report_error(EXIT_DATA, "%s: %s is not a tensor but a %s",
		    lc__quote_id(id.data, id.size), quoted_field(out),
		    lc_kind_name(lc_value_kind(value)));
	lc__tensor_describe(&tensor, type, sizeof(type));
	if (!vectors_real(tensor.dtype))
		return report_error(EXIT_DATA,
		    "%s: %s is %s; the elements of a vector must be real numbers",
		    lc__quote_id(id.data, id.size), quoted_field(out), type);
	if (out->found == 0) {
		if (elements(&tensor) < 2)
			return report_error(EXIT_DATA,
			    "%s: %s is %s; a vector needs at least 2 elements",
			    lc__quote_id(id.data, id.size), quoted_field(out), type);
		copy = malloc(id.size);
		if (copy == NULL)
			return report_no_memory();
		memcpy(copy, id.data, id.size);
		walk->first = (lc_id){ copy, id.size };
		out->d = elements(&tensor);
		snprintf(out->type, sizeof(out->type), "%.60s", type);
	} else if (elements(&tensor) != out->d) {
		return report_error(EXIT_DATA,
		    "%s: %s is %s, but that of %s is %s; vectors need one length",
		    lc__quote_id(id.data, id.size), quoted_field(out), type,
		    lc__quote_id(walk->first.data, walk->first.size), out->type);
	}
	return EXIT_DONE;
}

/* ---- reservoir ------------------------------------------------------------------- */

/* The slot for the next record that has the part. The first records take one each;
 * later ones replace a random slot with probability most / found (Vitter's algorithm
 * R). SIZE_MAX: none. */
static size_t
next_place(struct walk *walk, uint64_t most)
{
	const struct vectors *out = walk->out;
	uint64_t place;

	if (out->found < most)
		return (size_t)out->found;
	place = lc__mix(walk->state += LC__GOLDEN) % (out->found + 1);
	return place < most ? (size_t)place : SIZE_MAX;
}

/* Store the key in its slot; the vector is read after the walk. */
static lc_status
keep_id(struct walk *walk, lc_id id, size_t place)
{
	struct vectors *out = walk->out;
	void *copy;

	return_if_error(lc__array_reserve(&out->ids, &walk->ids_room, place + 1, "view"));
	copy = malloc(id.size);
	if (copy == NULL)
		return lc__no_memory("view");
	memcpy(copy, id.data, id.size);
	if (place < out->n)
		free((void *)out->ids[place].data);
	else
		out->n = place + 1;
	out->ids[place] = (lc_id){ copy, id.size };
	return LC_OK;
}

static int
take_record(struct walk *walk, lc_iter *iter, const lc_item *item)
{
	struct vectors *out = walk->out;
	uint64_t most = walk->choice->most;
	const lc_value *value;
	lc_status status;
	size_t place;
	int result;

	if (out->field == NULL) {
		result = choose_field(walk, iter, item);
		if (result != EXIT_DONE)
			return result;
	}
	status = lc_iter_value(iter, *out->field != '\0' ? out->field : NULL, &value);
	if (status == LC_NOT_FOUND) {
		out->lacking++;
		return EXIT_DONE;
	}
	if (status != LC_OK)
		return report_argument(status);
	result = check_type(walk, item->id, value);
	if (result != EXIT_DONE)
		return result;
	if (most > VECTORS_ELEMENTS / out->d)
		most = VECTORS_ELEMENTS / out->d;
	place = next_place(walk, most > 0 ? most : 1);
	out->found++;
	status = place != SIZE_MAX ? keep_id(walk, item->id, place) : LC_OK;
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

static int
choose_records(struct walk *walk)
{
	lc_iter *iter;
	lc_item item;
	lc_status status = lc_iter_open(walk->cache, LC_BY_KEY | LC_ITER_LISTED, NULL, 0,
	    &iter);
	int result = EXIT_DONE;

	if (status != LC_OK)
		return report_status(status);
	while (result == EXIT_DONE && (status = lc_iter_next(iter, &item)) != LC_END) {
		if (status == LC_CORRUPT)
			walk->out->infinite++;
		else if (status == LC_OK)
			result = take_record(walk, iter, &item);
		else
			result = report_status(status);
		progress_items(walk->out->found, 0);
		if (progress_step(NULL, 0, 0) != 0)
			result = report_status(LC_CANCELLED);
	}
	lc_iter_close(iter);
	return result;
}

/* ---- the data -------------------------------------------------------------------- */

bool
vectors_copy(const lc_tensor *tensor, float *out)
{
	const size_t size = lc_dtype_size(tensor->dtype), n = elements(tensor);
	const char *p = tensor->data;

	if (tensor->dtype == LC_F32)
		memcpy(out, p, tensor->nbytes);
	else
		for (size_t i = 0; i < n; i++)
			out[i] = (float)lc__element_real(tensor->dtype, p + i * size);
	for (size_t i = 0; i < n; i++)
		if (!isfinite(out[i]))
			return false;
	return true;
}

static lc_status
read_vector(struct walk *walk, lc_id id, float *out, bool *finite)
{
	const char *field = walk->out->field;
	const lc_value *value;
	lc_tensor tensor;
	lc_view view;
	lc_status status;

	*finite = false;
	return_if_error(lc_get(walk->cache, id.data, id.size, &view));
	status = lc_view_value(&view, *field != '\0' ? field : NULL, &value);
	if (status == LC_OK)
		status = lc_value_as_tensor(value, &tensor);
	/* Another process may have replaced the record. */
	if (status == LC_OK && vectors_real(tensor.dtype) &&
	    elements(&tensor) == walk->out->d)
		*finite = vectors_copy(&tensor, out);
	lc_view_release(&view);
	return status;
}

static int
by_id(const void *a, const void *b)
{
	const lc_id *x = a, *y = b;
	const size_t n = x->size < y->size ? x->size : y->size;
	const int order = memcmp(x->data, y->data, n);

	return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static int
read_records(struct walk *walk)
{
	struct vectors *out = walk->out;
	size_t kept = 0;
	lc_status status;

	qsort(out->ids, out->n, sizeof(*out->ids), by_id);
	out->rows = malloc(out->n * out->d * sizeof(*out->rows));
	if (out->rows == NULL)
		return report_no_memory();
	for (size_t i = 0; i < out->n; i++) {
		bool finite;
		status = read_vector(walk, out->ids[i], out->rows + kept * out->d,
		    &finite);
		if (status != LC_OK && status != LC_NOT_FOUND && status != LC_CORRUPT)
			return report_status(status);
		out->infinite += !finite;
		if (finite) {
			const lc_id swap = out->ids[kept];
			out->ids[kept++] = out->ids[i];
			out->ids[i] = swap;
		}
		progress_items(i + 1, out->n);
		if (progress_step(NULL, 0, 0) != 0)
			return report_status(LC_CANCELLED);
	}
	for (size_t i = kept; i < out->n; i++)
		free((void *)out->ids[i].data);
	out->n = kept;
	return EXIT_DONE;
}

int
vectors_read(lc_cache *cache, const struct vectors_choice *choice, struct vectors *out)
{
	struct walk walk = { .cache = cache,
		.choice = choice,
		.out = out,
		.state = choice->seed };
	int result;

	memset(out, 0, sizeof(*out));
	result = choose_records(&walk);
	if (result == EXIT_DONE && out->found == 0)
		result = out->lacking == 0
		    ? report_error(EXIT_NO, "there are no records")
		    : report_error(EXIT_NO, "no record has the part %s", out->field);
	if (result == EXIT_DONE)
		result = read_records(&walk);
	free((void *)walk.first.data);
	return result;
}

void
vectors_free(struct vectors *vectors)
{
	for (size_t i = 0; i < vectors->n; i++)
		free((void *)vectors->ids[i].data);
	free(vectors->ids);
	free(vectors->rows);
	free(vectors->field);
	memset(vectors, 0, sizeof(*vectors));
}
