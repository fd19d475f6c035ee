/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches as .npy files, each in place at once: DIR/batch-00000000.npy of one field,
 * DIR/batch-00000000/FIELD.npy of several. Other data of the rows is next to
 * them: DIR/batch-00000000.mask.npy.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "cmd/read.h"
#include "format/npy.h"
#include "ui/input.h"
#include "ui/json.h"
#include "ui/output.h"
#include "ui/report.h"
#include "ui/settings.h"

#define LONGEST 240 /* most bytes of a file name; a temporary file's is longer */

/* ---- names -------------------------------------------------------------------------- */

/* Write a field's path as a file name: characters with a meaning there become %XX. */
static void
name_field(const char *path, size_t number, struct lc__buf *out)
{
	const size_t start = out->size;

	for (const char *p = path; *p != '\0'; p++)
		lc__buf_name_byte(out, *p, p == path);
	if (out->size - start > LONGEST) {
		out->size = start;
		lc__buf_printf(out, "%%f%zu", number);
	}
}

static const char *
end_name(struct lc__buf *name)
{
	lc__buf_append(name, "", 1);
	return name->failed ? NULL : (const char *)name->data;
}

/* ---- one file ------------------------------------------------------------------------ */

static int
write_tensor(const struct read_output *out, const char *path, const lc_tensor *tensor)
{
	struct output file;
	int status;

	if (path == NULL)
		return report_errno(out->opts->npy);
	status = output_add(&file, path, out->opts->force || out->resumed);
	if (status != EXIT_DONE)
		return status;
	status = npy_write(file.stream, tensor, out->opts->bits);
	output_failed(&file);
	return output_end(&file, status);
}

static int
write_array(const struct read_output *out, struct lc__buf *name, lc_dtype dtype,
    uint32_t ndim, const uint64_t *shape, const void *data)
{
	lc_tensor tensor;
	const lc_status made = lc_tensor_init(&tensor, dtype, ndim, shape, data);
	int status;

	status = made == LC_OK ? write_tensor(out, end_name(name), &tensor)
			       : report_status(made);
	lc__buf_free(name);
	return status;
}

/* ---- a batch ------------------------------------------------------------------------- */

/* Write a file such as DIR/batch-00000000.mask.npy. */
static int
write_beside(const struct read_output *out, const lc_batch *batch, const char *what,
    lc_dtype dtype, uint32_t ndim, const uint64_t *shape, const void *data)
{
	struct lc__buf name = { 0 };

	lc__buf_printf(&name, "%s/batch-%08llu.%s.npy", out->opts->npy,
	    (unsigned long long)batch->number, what);
	return write_array(out, &name, dtype, ndim, shape, data);
}

/* Write the mask if there is padding and, for windows, the arrays that training
 * needs. */
static int
write_rows(const struct read_output *out, const lc_batch *batch)
{
	const uint64_t shape[2] = { batch->rows, out->window };
	int status = EXIT_DONE;

	if (batch->filled < batch->rows)
		status = write_beside(out, batch, "mask", LC_U8, 1, shape, batch->mask);
	if (status == EXIT_DONE && out->windows)
		status = write_beside(out, batch, "lengths", LC_U64, 1, shape,
		    batch->lengths);
	if (status == EXIT_DONE && batch->documents != NULL)
		status = write_beside(out, batch, "documents", LC_U32, 2, shape,
		    batch->documents);
	if (status == EXIT_DONE && batch->positions != NULL)
		status = write_beside(out, batch, "positions", LC_U32, 2, shape,
		    batch->positions);
	return status;
}

static int
write_field(const struct read_output *out, const lc_batch *batch, size_t i)
{
	const lc_batch_field *field = &batch->fields[i];
	const uint64_t places = batch->rows + 1;
	const unsigned long long number = batch->number;
	struct lc__buf name = { 0 };
	int status;

	lc__buf_printf(&name, "%s/batch-%08llu", out->opts->npy, number);
	if (batch->n_fields > 1) {
		lc__buf_printf(&name, "/");
		name_field(field->name, i, &name);
	}
	lc__buf_printf(&name, ".npy");
	status = write_array(out, &name, field->dtype, field->ndim, field->shape,
	    field->data);
	if (status != EXIT_DONE || field->offsets == NULL)
		return status;
	lc__buf_printf(&name, "%s/batch-%08llu.", out->opts->npy, number);
	if (batch->n_fields > 1) {
		name_field(field->name, i, &name);
		lc__buf_printf(&name, ".");
	}
	lc__buf_printf(&name, "offsets.npy");
	return write_array(out, &name, LC_U64, 1, &places, field->offsets);
}

static int
make_dir(const struct read_output *out, const lc_batch *batch)
{
	struct lc__buf name = { 0 };
	lc_status made;

	lc__buf_printf(&name, "%s/batch-%08llu", out->opts->npy,
	    (unsigned long long)batch->number);
	made = end_name(&name) == NULL ? lc__no_memory(NULL)
				       : lc__make_dirs((const char *)name.data);
	lc__buf_free(&name);
	return made == LC_OK ? EXIT_DONE : report_status(made);
}

static int
show(const struct read_output *out, const lc_batch *batch)
{
	struct json json = { stdout, false };
	struct lc__buf name = { 0 };
	const char *path;

	lc__buf_printf(&name, "%s/batch-%08llu%s", out->opts->npy,
	    (unsigned long long)batch->number, batch->n_fields > 1 ? "" : ".npy");
	path = end_name(&name);
	if (path == NULL) {
		lc__buf_free(&name);
		return report_no_memory();
	}
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_count(&json, "batch", batch->number);
		jw_text(&json, "file", path);
		jw_count(&json, "rows", batch->rows);
		jw_count(&json, "examples", batch->filled);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("%s\n", path);
	}
	lc__buf_free(&name);
	return EXIT_DONE;
}

/* Check this before anything is written. */
static int
check_dtypes(const struct read_output *out, const lc_batch *batch)
{
	struct lc__buf header = { 0 };
	const uint64_t one = 1;
	int status = EXIT_DONE;
	lc_tensor tensor;

	for (size_t i = 0; i < batch->n_fields && status == EXIT_DONE; i++) {
		const lc_dtype dtype = batch->fields[i].dtype;
		lc_status made = lc_tensor_init(&tensor, dtype, 1, &one, "");
		if (made == LC_OK)
			made = lc__npy_encode_header(&tensor, out->opts->bits, &header);
		if (made == LC_UNSUPPORTED) {
			status = report_error(EXIT_DATA, ".npy has no %s; use --bits",
			    lc_dtype_name(dtype));
		} else if (made != LC_OK) {
			status = report_status(made);
		}
	}
	lc__buf_free(&header);
	return status;
}

/* Write the fields last: if they exist, so does the rest. */
int
read_npy_files(struct read_output *out, const lc_batch *batch)
{
	int status = check_dtypes(out, batch);

	if (status == EXIT_DONE && batch->n_fields > 1)
		status = make_dir(out, batch);
	if (status == EXIT_DONE)
		status = write_rows(out, batch);
	for (size_t i = 0; i < batch->n_fields && status == EXIT_DONE; i++)
		status = write_field(out, batch, i);
	return status == EXIT_DONE ? show(out, batch) : status;
}
