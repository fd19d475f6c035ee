/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/parts.h"
#include "formats/value_json.h"
#include "ui/input.h"
#include "ui/npyfile.h"
#include "ui/report.h"

/* One field, taken apart. */
struct field {
	char *path;       /* of the part */
	const char *rest; /* what stands behind the sign */
	enum { FROM_NPY, FROM_JSON_FILE, FROM_JSON } from;
};

/* NAME:=JSON, NAME=@FILE or NAME=FILE; the first = decides. */
static int
split(const char *text, struct field *out)
{
	const char *sign = strchr(text, '=');
	size_t size;

	if (sign == NULL)
		return report_usage("--field: '%s' is none of NAME=FILE.npy, "
		    "NAME=@FILE.json, NAME:=JSON", text);
	size = (size_t)(sign - text);
	out->rest = sign + 1;
	if (size > 0 && sign[-1] == ':') {
		out->from = FROM_JSON;
		size--;
	} else if (*out->rest == '@') {
		out->from = FROM_JSON_FILE;
		out->rest++;
	} else {
		out->from = FROM_NPY;
	}
	out->path = strndup(text, size);
	if (out->path == NULL)
		return report_no_memory();
	return EXIT_DONE;
}

/* The memory of `from` goes to `to`, its value to *out. */
static lc_status
move(struct lc__loaded *to, struct lc__loaded *from, lc_value **out)
{
	lc_status status = LC_OK;

	for (size_t i = 0; i < from->count && status == LC_OK; i++) {
		void *block = from->blocks[i];
		from->blocks[i] = NULL;
		status = lc__loaded_own(to, block);
	}
	if (status != LC_OK)
		return status;
	*out = from->value;
	from->value = NULL;
	return LC_OK;
}

static lc_status
read_json(const void *text, size_t size, struct lc__loaded *loaded,
    lc_value **out)
{
	struct lc__loaded part = { 0 };
	lc_status status = lc__value_json_read(text, size, NULL, NULL, &part);

	if (status == LC_OK)
		status = move(loaded, &part, out);
	lc__loaded_free(&part);
	return status;
}

static lc_status
read_npy(struct lc__buf *file, int raw_dtype, struct lc__loaded *loaded,
    lc_value **out)
{
	lc_tensor tensor;

	if (!npy_is(file))
		return lc__error(LC_INVALID, 0, "not a .npy file; JSON is "
		    "NAME=@FILE or NAME:=JSON");
	return_if_error(lc__loaded_npy(loaded, file, raw_dtype, &tensor));
	*out = lc_value_tensor(&tensor);
	return LC_OK;
}

/* Errors name the file, or the field for JSON on the command line. */
static int
read_part(const struct field *field, int raw_dtype, struct lc__loaded *loaded,
    lc_value **out)
{
	struct lc__buf file = { 0 };
	const char *name = field->from == FROM_JSON ? field->path :
	    input_name(field->rest);
	lc_status status = LC_OK;
	int result = EXIT_DONE;

	if (field->from == FROM_JSON)
		status = read_json(field->rest, strlen(field->rest), loaded, out);
	else
		result = input_read(field->rest, &file);
	if (result == EXIT_DONE && field->from == FROM_JSON_FILE)
		status = read_json(file.data, file.size, loaded, out);
	else if (result == EXIT_DONE && field->from == FROM_NPY)
		status = read_npy(&file, raw_dtype, loaded, out);
	lc__buf_free(&file);
	if (status == LC_OK)
		return result;
	lc__error_prefix("%s", name);
	return report_status(status);
}

static int
add_field(const char *text, int raw_dtype, struct lc__parts *parts,
    struct lc__loaded *loaded)
{
	struct field field = { 0 };
	lc_value *part = NULL;
	int status = split(text, &field);

	if (status == EXIT_DONE)
		status = read_part(&field, raw_dtype, loaded, &part);
	if (status == EXIT_DONE &&
	    lc__parts_add(parts, field.path, part) != LC_OK) {
		status = report_error(lc_last_error()->status == LC_NO_MEMORY ?
		    EXIT_SYSTEM : EXIT_USAGE, "--field: %s: %s", field.path,
		    lc_last_error()->text);
	}
	free(field.path);
	return status;
}

int
fields_read(const struct opt_list *fields, int raw_dtype, struct lc__loaded *out)
{
	struct lc__parts parts = { 0 };
	lc_status built = LC_OK;
	int status = EXIT_DONE;

	for (size_t i = 0; i < fields->count && status == EXIT_DONE; i++)
		status = add_field(fields->items[i], raw_dtype, &parts, out);
	if (status == EXIT_DONE)
		built = lc__parts_build(&parts, &out->value);
	lc__parts_free(&parts);
	return built == LC_OK ? status : report_status(built);
}
