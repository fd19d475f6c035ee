/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex get: a tensor or a structured value out of a module. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "cmd/setdir.h"
#include "formats/npz.h"
#include "formats/value_json.h"
#include "ui/columns.h"
#include "ui/command.h"
#include "ui/input.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/output.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "value/dtype.h"
#include "value/tensor.h"

static const char *output;
static const char *field;
static int format;
static int data;
static int bits;
static int force;
static int dry_run;

static struct opt options[] = {
	{ "", "field", OPT_TEXT, &field, .value = "PATH",
	    .help = "one part of a structured value: names and positions separated by "
		    "dots" },
	{ "o", "output", OPT_FILE, &output, .value = "FILE",
	    .help = "write to this file, which appears when all is written; DIR/ "
		    "or FILE.npz hold all tensors; - is standard output" },
	{ "", "format", OPT_CHOICE, &format, .value = VALUE_FORMATS,
	    .help = "output format; auto follows the name after -o, else .npy for a "
		    "tensor, JSON for other values" },
	{ "", "data", OPT_FLAG, &data,
	    .help = "in JSON of a structured value write the bytes of its tensors too, "
		    "for put" },
	{ "", "bits", OPT_FLAG, &bits,
	    .help =
		"write dtypes that .npy cannot name, such as bf16, as raw bits (V2)" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "replace what exists; write binary data to a terminal" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "read and check the value, write nothing" },
	{ .kind = OPT_END },
};

/* ---- a tensor's elements as JSON --------------------------------------------------- */

/* The fewest digits from which the same float, or else double, is read back. */
static void
put_real(FILE *out, double value, bool single)
{
	const int most = single ? 9 : 17;
	char text[40];

	if (isnan(value) || isinf(value)) {
		fputs(isnan(value)  ? "\"NaN\""
			: value < 0 ? "\"-Infinity\""
				    : "\"Infinity\"",
		    out);
		return;
	}
	for (int digits = 1; digits <= most; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (single ? (double)strtof(text, NULL) == value
			   : strtod(text, NULL) == value)
			break;
	}
	fputs(text, out);
}

static void
put_two(FILE *out, double first, double second, bool single)
{
	putc('[', out);
	put_real(out, first, single);
	putc(',', out);
	put_real(out, second, single);
	putc(']', out);
}

static void
put_element(FILE *out, lc_dtype dtype, const unsigned char *p)
{
	switch (dtype) {
	case LC_F16:
	case LC_BF16:
	case LC_F8_E5M2:
	case LC_F8_E4M3:
	case LC_F8_E8M0:
	case LC_F8_E4M3FNUZ:
	case LC_F8_E5M2FNUZ:
	case LC_F32: put_real(out, lc__element_real(dtype, p), true); break;
	case LC_F64: put_real(out, lc__element_real(dtype, p), false); break;
	case LC_F4_E2M1_X2:
		put_two(out, lc__element_e2m1(p, 0), lc__element_e2m1(p, 1), true);
		break;
	case LC_C32:
		put_two(out, lc__element_real(LC_F16, p), lc__element_real(LC_F16, p + 2),
		    true);
		break;
	case LC_C64:
		put_two(out, lc__element_real(LC_F32, p), lc__element_real(LC_F32, p + 4),
		    true);
		break;
	case LC_C128:
		put_two(out, lc__element_real(LC_F64, p), lc__element_real(LC_F64, p + 8),
		    false);
		break;
	case LC_BOOL: fputs(*p ? "true" : "false", out); break;
	case LC_U8: fprintf(out, "%u", *p); break;
	case LC_I8: fprintf(out, "%d", (int8_t)*p); break;
	case LC_U16: fprintf(out, "%u", lc__get16(p)); break;
	case LC_I16: fprintf(out, "%d", (int16_t)lc__get16(p)); break;
	case LC_U32: fprintf(out, "%u", lc__get32(p)); break;
	case LC_I32: fprintf(out, "%d", (int32_t)lc__get32(p)); break;
	case LC_U64: fprintf(out, "%llu", (unsigned long long)lc__get64(p)); break;
	case LC_I64:
	default: fprintf(out, "%lld", (long long)lc__get64(p));
	}
}

/* The part of a tensor below one index in each dimension before `depth`. */
static const unsigned char *
put_nested(struct json *json, const lc_tensor *tensor, uint32_t depth,
    const unsigned char *p)
{
	if (depth == tensor->ndim) {
		jw_key(json, NULL);
		put_element(json->out, tensor->dtype, p);
		return p + lc_dtype_size(tensor->dtype);
	}
	jw_open(json, NULL, '[');
	for (uint64_t i = 0; i < tensor->shape[depth]; i++)
		p = put_nested(json, tensor, depth + 1, p);
	jw_close(json, ']');
	return p;
}

/*
 * The elements as nested JSON arrays: integers in full, floats with the fewest digits
 * that read back the same, complex numbers as [real, imaginary], the pairs of f4_e2m1_x2
 * as two numbers. "NaN", "Infinity" and "-Infinity" are strings, because JSON has no
 * numbers for them. An empty tensor is [] whatever its shape.
 */
static void
write_elements(struct json *json, const char *key, const lc_tensor *tensor)
{
	jw_key(json, key);
	json->comma = false;
	/* The other dimensions of an empty tensor may be huge. */
	if (tensor->nbytes == 0)
		fputs("[]", json->out);
	else
		put_nested(json, tensor, 0, tensor->data);
	json->comma = true;
}

/* ---- the command ------------------------------------------------------------------- */

/* A record, or a part of one, that is to be written. */
struct found {
	lc_id id;
	lc_kind kind;
	const lc_value *value; /* NULL for a record that is a tensor */
	lc_tensor tensor;      /* if that is what it is */
};

/* The format to write. FORMAT_AUTO is the value as JSON; FORMAT_JSON, which the user must
 * name, puts an object around it. */
static int
find_format(const struct found *found)
{
	const size_t size = output != NULL ? strlen(output) : 0;

	if (format != FORMAT_AUTO)
		return format;
	if (output != NULL && setdir_is(output))
		return FORMAT_SET;
	if (size > 4 && strcmp(output + size - 4, ".npz") == 0)
		return FORMAT_NPZ;
	return found->kind == LC_TENSOR ? FORMAT_NPY : FORMAT_AUTO;
}

/* ---- one format each: an exit status ------------------------------------------ */

static int
write_value_json(FILE *out, const struct found *found)
{
	const struct lc__json_tensors tensors = {
		.data = data ? LC__JSON_DATA : LC__JSON_SUMMARY,
	};
	const lc_status written = lc__value_json_write(out, found->value, &tensors);

	return written == LC_OK ? EXIT_DONE : report_status(written);
}

static int
write_json(FILE *out, const struct found *found)
{
	struct json json = { out, false };
	int status = EXIT_DONE;

	if (found->kind == LC_TENSOR && lc__dtype_is_opaque(found->tensor.dtype))
		return report_error(EXIT_DATA,
		    "JSON cannot hold numbers of %s; use --format raw, or dump",
		    lc_dtype_name(found->tensor.dtype));
	jw_open(&json, NULL, '{');
	jw_id(&json, found->id);
	if (field != NULL)
		jw_text(&json, "field", field);
	if (found->kind == LC_TENSOR) {
		jw_type(&json, &found->tensor);
		write_elements(&json, "data", &found->tensor);
	} else {
		jw_key(&json, "value");
		status = write_value_json(out, found);
	}
	jw_end_line(&json);
	return status;
}

static int
no_tensor(const struct found *found)
{
	return report_error(EXIT_DATA,
	    "%s%s%s is not a tensor but a %s; use -o DIR/ for all of it, --field for a part",
	    lc__quote_id(found->id.data, found->id.size), field ? ": " : "",
	    field ? field : "", lc_kind_name(found->kind));
}

/* The bytes of a tensor, a string or bytes. */
static int
write_raw(FILE *out, const struct found *found)
{
	const char *text;
	const void *bytes;
	size_t size;

	if (found->kind == LC_TENSOR)
		fwrite(found->tensor.data, 1, found->tensor.nbytes, out);
	else if (lc_value_as_str(found->value, &text, &size) == LC_OK)
		fwrite(text, 1, size, out);
	else if (lc_value_as_bytes(found->value, &bytes, &size) == LC_OK)
		fwrite(bytes, 1, size, out);
	else
		return no_tensor(found);
	return EXIT_DONE;
}

/* Check everything first, so that no part is left out and no file is half written. */
static int
write_npz(FILE *out, const struct found *found)
{
	lc_status status = lc__npz_check(found->value, bits);

	if (status == LC_UNSUPPORTED)
		return report_error(EXIT_DATA, "%s: %s; -o DIR/ holds everything",
		    lc__quote_id(found->id.data, found->id.size), lc_last_error()->text);
	if (status == LC_OK)
		status = lc__npz_write(out, found->value, bits);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

/* ---- where it goes --------------------------------------------------------------- */

static int
write_found(const struct found *found)
{
	const int chosen = find_format(found);
	const bool text = chosen == FORMAT_JSON || chosen == FORMAT_AUTO;
	struct output out;
	int status;

	if (chosen == FORMAT_SET && (output == NULL || strcmp(output, "-") == 0))
		return report_usage("a directory is needed: -o DIR/");
	if (chosen == FORMAT_SET)
		return dry_run ? EXIT_DONE : setdir_write(output, found->value, force);
	status = output_open(&out, dry_run ? "/dev/null" : output, force);
	if (status != EXIT_DONE)
		return status;
	if (!text && !force && output_is_terminal(&out)) {
		output_discard(&out);
		return report_usage("standard output is a terminal; use -o FILE, "
				    "a pipe, --format json, or -f");
	}
	switch (chosen) {
	case FORMAT_NPY:
		status = found->kind == LC_TENSOR
		    ? npy_write(out.stream, &found->tensor, bits)
		    : no_tensor(found);
		break;
	case FORMAT_RAW: status = write_raw(out.stream, found); break;
	case FORMAT_JSON: status = write_json(out.stream, found); break;
	case FORMAT_NPZ: status = write_npz(out.stream, found); break;
	default: status = write_value_json(out.stream, found); putc('\n', out.stream);
	}
	output_failed(&out);
	return output_end(&out, status);
}

/* A record that is a tensor, and is written as one, needs no lc_value. */
static int
find_part(lc_view *view, struct found *found)
{
	const bool whole = field == NULL || *field == '\0';
	const bool tree = !whole || view->kind != LC_TENSOR ||
	    find_format(found) == FORMAT_SET || find_format(found) == FORMAT_NPZ;
	lc_status status = LC_OK;

	found->kind = view->kind;
	found->tensor = view->tensor;
	if (!tree)
		return EXIT_DONE;
	status = lc_view_value(view, field, &found->value);
	if (status == LC_NOT_FOUND)
		return report_error(EXIT_NO, "%s has no part %s",
		    lc__quote_id(found->id.data, found->id.size), field);
	if (status == LC_OK) {
		found->kind = lc_value_kind(found->value);
		if (found->kind == LC_TENSOR)
			status = lc_value_as_tensor(found->value, &found->tensor);
	}
	return status == LC_OK ? EXIT_DONE : report_argument(status);
}

static int
write_view(lc_id id, lc_view *view)
{
	struct found found = { .id = id, .kind = view->kind };
	char type[LC__TENSOR_TEXT];
	char *text = NULL;
	int status = find_part(view, &found);

	if (status == EXIT_DONE)
		status = write_found(&found);
	if (status != EXIT_DONE || !dry_run)
		return status;
	if (found.kind != LC_TENSOR)
		text = describe_value(found.value);
	report_note("would write %s to %s",
	    text ? text : lc__tensor_describe(&found.tensor, type, sizeof(type)),
	    output_name(output));
	free(text);
	return status;
}

static int
run_get(int argc, char **argv)
{
	const lc_id id = lc_id_of(argv[1]);
	lc_cache *cache;
	lc_view view;
	lc_status got;
	int status = list_check_id(id);

	(void)argc;
	if (status == EXIT_DONE)
		status = module_open(argv[0], &cache);
	if (status != EXIT_DONE)
		return status;
	if (settings.json)
		format = FORMAT_JSON;
	got = lc_get(cache, id.data, id.size, &view);
	if (got == LC_OK) {
		status = write_view(id, &view);
		lc_view_release(&view);
	} else if (got == LC_NOT_FOUND) {
		status = report_error(EXIT_NO, "%s is not in %s",
		    lc__quote_id(id.data, id.size), argv[0]);
	} else {
		status = report_argument(got);
	}
	return module_close(cache, status);
}

const struct command cmd_get = {
	.name = "get",
	.operands = "MODULE CACHE_ID",
	.summary = "write a tensor, or a structured value",
	.text = "Writes the value stored under CACHE_ID to standard output or to "
		"FILE. A tensor is written as .npy, as raw bytes in row-major order, "
		"little-endian, or as one JSON object with the cache_id, the dtype, the "
		"shape and the elements. --json is short for --format json.\n"
		"A structured value is written as JSON, with the type of a tensor in its "
		"place; -o DIR/ writes a directory with a .npy file for each tensor and "
		"value.json, -o FILE.npz an archive. --field writes one part of it.\n"
		"Exit status 1 means that the cache_id, part or module does not exist, 3 "
		"that the record is damaged; then nothing is written. An existing file "
		"is replaced only with -f.",
	.examples = "cachex get faces img-000001 -o feature.npy\n"
		    "cachex get faces img-000001 --json | jq .shape\n"
		    "cachex get faces img-000004 --field boxes.0 -o box.npy\n"
		    "cachex get faces img-000004 -o img-000004/\n"
		    "cachex get faces img-000001 --format raw | xxd | head",
	.completes = "mi",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = 2,
	.options = options,
	.run = run_get,
};
