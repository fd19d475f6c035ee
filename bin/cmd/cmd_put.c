/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex put: a tensor or a structured value into a module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/setdir.h"
#include "format/npy.h"
#include "formats/loaded.h"
#include "formats/npz.h"
#include "formats/value_json.h"
#include "ui/columns.h"
#include "ui/command.h"
#include "ui/input.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/opt.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "value/tensor.h"

static const char *dtype_name;
static const char *shape_text;
static struct opt_list fields;
static int format;
static int codec;
static int level;
static int dry_run;

static struct opt options[] = {
	{ "", "field", OPT_LIST, &fields, .value = "NAME=FILE",
	    .help = "a part of a structured value: NAME=FILE.npy, NAME=@FILE.json or "
		    "NAME:=JSON; once for each part" },
	{ "", "dtype", OPT_TEXT, &dtype_name, .value = "NAME",
	    .help =
		"dtype of raw bytes: f32, u8, opaque16:pose and so on; for a .npy file, "
		"the dtype that it must have, or the dtype of its raw bits (V2, V1)" },
	{ "", "shape", OPT_TEXT, &shape_text, .value = "DIMS",
	    .help = "shape of raw bytes, as 3,640,640; an empty one is a single "
		    "element" },
	{ "", "format", OPT_CHOICE, &format, .value = VALUE_FORMATS,
	    .help = "format of FILE; auto detects it" },
	{ "", "codec", OPT_CHOICE, &codec, .value = "default|" CODEC_WORDS,
	    .help = "how to store tensors; default follows the module's settings" },
	{ "", "level", OPT_NUMBER, &level, .value = "N",
	    .help = "level of --codec: 1 to 12 better, -1 to -65537 faster, 0 default" },
	{ "n", "dry-run", OPT_FLAG, &dry_run, .help = "check the input, store nothing" },
	MODULE_NO_CREATE,
	{ .kind = OPT_END },
};

/* ---- --field: parts of a value on the command line --------------------------------- */

/* One field, split into its parts. */
struct field {
	char *path;       /* of the part */
	const char *rest; /* the text after the sign */
	enum { FROM_NPY, FROM_JSON_FILE, FROM_JSON } from;
};

/* NAME:=JSON, NAME=@FILE or NAME=FILE; the first = decides. */
static int
split_field(const char *text, struct field *out)
{
	const char *sign = strchr(text, '=');
	size_t size;

	if (sign == NULL)
		return report_usage("--field: '%s' is not one of NAME=FILE.npy, "
				    "NAME=@FILE.json, NAME:=JSON",
		    text);
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

static lc_status
read_json_field(const void *text, size_t size, struct lc__loaded *loaded, lc_value **out)
{
	struct lc__loaded part = { 0 };
	lc_status status = lc__value_json_read(text, size, NULL, NULL, &part);

	/* Its memory is added to that of all fields. */
	for (size_t i = 0; i < part.count && status == LC_OK; i++) {
		void *block = part.blocks[i];

		part.blocks[i] = NULL;
		status = lc__loaded_own(loaded, block);
	}
	if (status == LC_OK) {
		*out = part.value;
		part.value = NULL;
	}
	lc__loaded_free(&part);
	return status;
}

/* Errors name the file, or the field for JSON on the command line. */
static int
read_field(const struct field *field, int raw_dtype, struct lc__loaded *loaded,
    lc_value **out)
{
	struct lc__buf file = { 0 };
	const char *name = field->from == FROM_JSON ? field->path
						    : input_name(field->rest);
	lc_status status = LC_OK;
	lc_tensor tensor;
	int result = EXIT_DONE;

	if (field->from == FROM_JSON)
		status = read_json_field(field->rest, strlen(field->rest), loaded, out);
	else
		result = input_read(field->rest, &file);
	if (result == EXIT_DONE && field->from == FROM_JSON_FILE)
		status = read_json_field(file.data, file.size, loaded, out);
	else if (result == EXIT_DONE && field->from == FROM_NPY && !npy_is(&file))
		status = lc__error(LC_INVALID, 0,
		    "not a .npy file; for JSON use NAME=@FILE or NAME:=JSON");
	else if (result == EXIT_DONE && field->from == FROM_NPY) {
		status = lc__loaded_npy(loaded, &file, raw_dtype, &tensor);
		if (status == LC_OK)
			*out = lc_value_tensor(&tensor);
	}
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
	int status = split_field(text, &field);

	if (status == EXIT_DONE)
		status = read_field(&field, raw_dtype, loaded, &part);
	if (status == EXIT_DONE && lc__parts_add(parts, field.path, part) != LC_OK) {
		status = report_error(lc_last_error()->status == LC_NO_MEMORY
			? EXIT_SYSTEM
			: EXIT_USAGE,
		    "--field: %s: %s", field.path, lc_last_error()->text);
	}
	free(field.path);
	return status;
}

/*
 * Make the value of all --field: NAME=FILE.npy, NAME=@FILE.json and NAME:=JSON. The
 * caller frees *out, also on failure. @p raw_dtype is as for lc__loaded_npy().
 */
static int
read_fields(int raw_dtype, struct lc__loaded *out)
{
	struct lc__parts parts = { 0 };
	lc_status built = LC_OK;
	int status = EXIT_DONE;

	for (size_t i = 0; i < fields.count && status == EXIT_DONE; i++)
		status = add_field(fields.items[i], raw_dtype, &parts, out);
	if (status == EXIT_DONE)
		built = lc__parts_build(&parts, &out->value);
	lc__parts_free(&parts);
	return built == LC_OK ? status : report_status(built);
}

/* ---- the command ------------------------------------------------------------------- */

/* A larger file cannot become one record. */
#define LIMIT ((uint64_t)64 << 30)

/* The value to put: a tensor of one file, or a value of several. */
struct input {
	struct decoded file;
	struct lc__loaded loaded; /* the value, also that of a tensor */
};

/* Prefix the error with the option, variable or key that has the bad value. */
static int
bad_value(const void *target, const char *remedy)
{
	char spelling[80];

	return report_usage("%s: %s%s",
	    opt_spelling(options, target, cmd_put.name, spelling, sizeof(spelling)),
	    lc_last_error()->text, remedy);
}

static int
bad_dtype(void)
{
	char names[16 * LC_DTYPE_COUNT + 32];
	size_t used = 0;

	for (int i = 0; i < LC_DTYPE_COUNT; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
		    i == 0 ? "; known are " : ", ", lc_dtype_name((lc_dtype)i));
	snprintf(names + used, sizeof(names) - used, " and opaqueSIZE:NAME");
	return bad_value(&dtype_name, names);
}

static int
decode_raw(struct decoded *in, const char *name)
{
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim;
	lc_dtype dtype;
	char text[LC__TENSOR_TEXT], bytes[SIZE_TEXT];

	if (dtype_name == NULL || shape_text == NULL)
		return report_usage("%s: raw bytes need --dtype and --shape", name);
	if (lc_dtype_parse(dtype_name, &dtype) != LC_OK)
		return bad_dtype();
	if (shape_parse(shape_text, &ndim, shape) != LC_OK ||
	    lc_tensor_init(&in->tensor, dtype, ndim, shape, in->file.data) != LC_OK)
		return bad_value(&shape_text, "");
	if (in->tensor.nbytes != in->file.size)
		return report_error(EXIT_DATA, "%s: %s, but %s takes %zu", name,
		    count_human(in->file.size, "byte", bytes, sizeof(bytes)),
		    lc__tensor_describe(&in->tensor, text, sizeof(text)),
		    in->tensor.nbytes);
	return EXIT_DONE;
}

static int
decode_npy(struct decoded *in, const char *name)
{
	lc_dtype dtype;
	int wanted = -1;
	lc_status status;

	if (shape_text != NULL)
		return report_usage("%s: a .npy file has its own shape; --format "
				    "raw stores its bytes as they are",
		    name);
	if (dtype_name != NULL && lc_dtype_parse(dtype_name, &dtype) != LC_OK)
		return bad_dtype();
	if (dtype_name != NULL)
		wanted = (int)dtype;
	status = npy_decode(in, name, wanted);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

/* The dtype of raw bits in files of a set, LC__NPY_ANY_DTYPE without --dtype. */
static int
find_raw_dtype(int *out)
{
	lc_dtype dtype;

	*out = LC__NPY_ANY_DTYPE;
	if (shape_text != NULL)
		return report_usage("--shape describes raw bytes only");
	if (dtype_name == NULL)
		return EXIT_DONE;
	if (lc_dtype_parse(dtype_name, &dtype) != LC_OK)
		return bad_dtype();
	*out = (int)dtype;
	return EXIT_DONE;
}

static int
find_format(const struct lc__buf *file, const char *name)
{
	const size_t size = strlen(name);
	size_t at = 0;

	if (format != FORMAT_AUTO)
		return format;
	if (npy_is(file))
		return FORMAT_NPY;
	if (dtype_name != NULL || shape_text != NULL)
		return lc__npz_is(file->data, file->size) && shape_text == NULL
		    ? FORMAT_NPZ
		    : FORMAT_RAW;
	if (lc__npz_is(file->data, file->size))
		return FORMAT_NPZ;
	if (size > 5 && strcmp(name + size - 5, ".json") == 0)
		return FORMAT_JSON;
	while (at < file->size && file->data[at] != '\0' &&
	    strchr(" \t\r\n", file->data[at]) != NULL)
		at++;
	return at < file->size && (file->data[at] == '{' || file->data[at] == '[')
	    ? FORMAT_JSON
	    : FORMAT_AUTO;
}

static int
decode_value(struct input *in, const char *name, int holds)
{
	const struct lc__buf *file = &in->file.file;
	lc_status read;
	int raw_dtype;
	const int status = find_raw_dtype(&raw_dtype);

	if (status != EXIT_DONE)
		return status;
	read = holds == FORMAT_JSON
	    ? lc__value_json_read(file->data, file->size, NULL, NULL, &in->loaded)
	    : lc__npz_read(file->data, file->size, raw_dtype, LIMIT, &in->loaded);
	if (read == LC_OK)
		return EXIT_DONE;
	lc__error_prefix("%s", name);
	return report_status(read);
}

static int
decode_file(struct input *in, const char *path)
{
	const char *name = input_name(path);
	int holds, status = input_read(path, &in->file.file);

	if (status != EXIT_DONE)
		return status;
	holds = find_format(&in->file.file, name);
	switch (holds) {
	case FORMAT_NPY:
	case FORMAT_RAW:
		status = holds == FORMAT_RAW ? decode_raw(&in->file, name)
					     : decode_npy(&in->file, name);
		if (status == EXIT_DONE)
			in->loaded.value = lc_value_tensor(&in->file.tensor);
		return status;
	case FORMAT_JSON:
	case FORMAT_NPZ: return decode_value(in, name, holds);
	default:
		return report_error(EXIT_DATA,
		    "%s: not a .npy file; raw bytes need --dtype and "
		    "--shape, images cachex import",
		    name);
	}
}

static int
decode(struct input *in, const char *path)
{
	int raw_dtype, status;
	lc_status read;

	if (fields.count > 0 && path != NULL)
		return report_usage("%s: FILE and --field exclude each other", path);
	if (path == NULL)
		path = "-";
	if (fields.count == 0 && format != FORMAT_SET &&
	    !(format == FORMAT_AUTO && setdir_is(path)))
		return decode_file(in, path);
	status = find_raw_dtype(&raw_dtype);
	if (status != EXIT_DONE)
		return status;
	if (fields.count > 0)
		return read_fields(raw_dtype, &in->loaded);
	read = setdir_read(path, raw_dtype, &in->loaded);
	return read == LC_OK ? EXIT_DONE : report_status(read);
}

static int
store_value(const char *module, lc_id id, const lc_value *value)
{
	lc_cache *cache;
	lc_status stored;
	int status = dry_run ? module_open_if_there(settings.root, module, false, &cache)
			     : module_create(module, &cache);

	if (status != EXIT_DONE)
		return status;
	if (!dry_run) {
		if (codec_of_choice(codec) == LC_CODEC_DEFAULT)
			stored = lc_put_value_durable(cache, id.data, id.size, value);
		else
			stored = codec_put(cache, id, value, codec, level);
		if (stored == LC_OK)
			stored = lc_flush(cache);
		if (stored != LC_OK) {
			status = report_status(stored);
			lc_discard(cache);
			return status;
		}
	}
	return module_close(cache, status);
}

static void
show_json(const char *module, lc_id id, const lc_value *value)
{
	struct json json = { stdout, false };
	char *text = describe_value(value);
	lc_tensor tensor;

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_id(&json, id);
	if (lc_value_as_tensor(value, &tensor) == LC_OK) {
		jw_type(&json, &tensor);
	} else {
		jw_text(&json, "kind", lc_kind_name(lc_value_kind(value)));
		jw_text(&json, "structure", text ? text : "?");
	}
	jw_count(&json, "bytes", describe_bytes(value));
	jw_flag(&json, "dry_run", dry_run);
	jw_end_line(&json);
	free(text);
}

static int
run_put(int argc, char **argv)
{
	const lc_id id = lc_id_of(argv[1]);
	struct input in = { 0 };
	int status = list_check_id(id);

	if (status == EXIT_DONE)
		status = codec_check_level(level);
	if (status == EXIT_DONE)
		status = decode(&in, argc == 3 ? argv[2] : NULL);
	if (status == EXIT_DONE)
		status = store_value(argv[0], id, in.loaded.value);
	if (status == EXIT_DONE && settings.json)
		show_json(argv[0], id, in.loaded.value);
	if (status == EXIT_DONE && !settings.json && (dry_run || settings.verbose)) {
		char *text = describe_value(in.loaded.value);

		report_note("%s: %s %s as %s",
		    argc == 3              ? input_name(argv[2])
			: fields.count > 0 ? "fields"
					   : input_name("-"),
		    dry_run ? "would store" : "stored", text ? text : "?",
		    lc__quote_id(id.data, id.size));
		free(text);
	}
	lc__loaded_free(&in.loaded);
	decoded_free(&in.file);
	return status;
}

const struct command cmd_put = {
	.name = "put",
	.operands = "MODULE CACHE_ID [FILE]",
	.summary = "store a tensor, or a structured value",
	.text =
	    "Stores the value in FILE, or on standard input if FILE is - or "
	    "missing, under CACHE_ID and replaces the old value. The module "
	    "is created if it does not exist. With exit status 0 the record is on disk.\n"
	    "FILE is a .npy file, or raw bytes in row-major order, little-"
	    "endian, described by --dtype and --shape. A Fortran-ordered or "
	    "big-endian .npy file is stored in row-major order, little-endian.\n"
	    "A structured value is a .npz file, a directory of .npy files, JSON, or "
	    "given part by part with --field. Dots in a name separate the steps of a "
	    "path; the names 0, 1 and so on make a list.",
	.examples = "cachex put faces img-000001 feature.npy\n"
		    "cachex put faces img-000002 --dtype f32 --shape 512 <feature.raw\n"
		    "python3 make-feature.py | cachex put faces img-000003 -\n"
		    "cachex put faces img-000004 --field features=feature.npy --field "
		    "boxes.0=box.npy --field 'label:=\"cat\"'\n"
		    "cachex put faces img-000005 outputs.npz --codec auto",
	.completes = "mif",
	.least = 2,
	.most = 3,
	.options = options,
	.run = run_put,
};
