/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/error.h"
#include "command.h"
#include "input.h"
#include "module.h"
#include "npyfile.h"
#include "report.h"
#include "settings.h"
#include "shape.h"
#include "size.h"
#include "value/tensor.h"

static const char *dtype_name;
static const char *shape_text;
static int format;
static int dry_run;

static struct opt options[] = {
	{ "", "dtype", OPT_TEXT, &dtype_name, .value = "NAME",
	    .help = "dtype of raw bytes: f32, u8, bf16 and so on; for a .npy file, "
	    "the dtype that it must have, or that its raw bits (V2, V1) are" },
	{ "", "shape", OPT_TEXT, &shape_text, .value = "DIMS",
	    .help = "raw bytes: their shape, as 3,640,640; an empty one is a single "
	    "element" },
	{ "", "format", OPT_CHOICE, &format, .value = "auto|npy|raw",
	    .help = "what FILE holds; auto tells .npy by its first bytes" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "check the input, store nothing" },
	{ .kind = OPT_END }
};

enum { FORMAT_AUTO, FORMAT_NPY, FORMAT_RAW };

/* Whoever decided on a bad value is named: option, variable or key. */
static int
bad_value(const void *target, const char *remedy)
{
	char spelling[80];

	return report_usage("%s: %s%s", opt_spelling(options, target, cmd_put.name,
	    spelling, sizeof(spelling)), lc_last_error()->text, remedy);
}

static int
bad_dtype(void)
{
	char names[16 * LC_DTYPE_COUNT];
	size_t used = 0;

	for (int i = 0; i < LC_DTYPE_COUNT; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
		    i == 0 ? "; there are " : ", ", lc_dtype_name((lc_dtype)i));
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
	if (in->tensor.nbytes != in->file.size) {
		report_error("%s: %s, but %s takes %zu", name, count_human(
		    in->file.size, "byte", bytes, sizeof(bytes)),
		    lc__tensor_describe(&in->tensor, text, sizeof(text)),
		    in->tensor.nbytes);
		return EXIT_DATA;
	}
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
		    "raw stores its bytes as they are", name);
	if (dtype_name != NULL && lc_dtype_parse(dtype_name, &dtype) != LC_OK)
		return bad_dtype();
	if (dtype_name != NULL)
		wanted = (int)dtype;
	status = npy_decode(in, name, wanted);
	return status == LC_OK ? EXIT_DONE : report_input(status);
}

static int
decode(struct decoded *in, const char *name)
{
	const bool npy = npy_is(&in->file);
	const bool described = dtype_name != NULL || shape_text != NULL;

	if (format == FORMAT_RAW || (format == FORMAT_AUTO && !npy && described))
		return decode_raw(in, name);
	if (format == FORMAT_NPY || npy)
		return decode_npy(in, name);
	report_error("%s: not a .npy file; raw bytes need --dtype and --shape, "
	    "images cachex import", name);
	return EXIT_DATA;
}

static int
store(const char *module, lc_id id, const lc_tensor *tensor)
{
	lc_cache *cache;
	lc_status stored;
	int status = dry_run ? module_open_if_there(module, &cache) :
	    module_create(module, &cache);

	if (status != EXIT_DONE)
		return status;
	if (!dry_run) {
		stored = lc_put(cache, id.data, id.size, tensor);
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

static int
put_decoded(struct decoded *in, const char *name, char **argv)
{
	const lc_id id = lc_id_of(argv[1]);
	char text[LC__TENSOR_TEXT];
	int status = decode(in, name);

	if (status == EXIT_DONE)
		status = store(argv[0], id, &in->tensor);
	if (status == EXIT_DONE && (dry_run || settings.verbose))
		report_note("%s: %s %s as %s", name, dry_run ? "would store" :
		    "stored", lc__tensor_describe(&in->tensor, text,
		    sizeof(text)), lc__quote_id(id.data, id.size));
	return status;
}

static int
run(int argc, char **argv)
{
	const char *path = argc == 3 ? argv[2] : "-";
	struct decoded in = { 0 };
	int status = list_check_id(lc_id_of(argv[1]));

	if (status == EXIT_DONE)
		status = input_read(path, &in.file);
	if (status == EXIT_DONE)
		status = put_decoded(&in, input_name(path), argv);
	decoded_free(&in);
	return status;
}

const struct command cmd_put = {
	.name = "put",
	.operands = "MODULE CACHE_ID [FILE]",
	.summary = "store a tensor",
	.text =
	    "Stores the tensor in FILE, or on standard input if FILE is - or "
	    "missing, under CACHE_ID and replaces what stood there. The module "
	    "is made if it does not exist. On exit status 0 the record is on "
	    "disk.\n"
	    "FILE is a .npy file, or raw bytes in row-major order, little-"
	    "endian, described by --dtype and --shape. A Fortran-ordered or "
	    "big-endian .npy is stored in row-major order, little-endian.",
	.examples =
	    "cachex put faces img-000001 feature.npy\n"
	    "cachex put faces img-000002 --dtype f32 --shape 512 <feature.raw\n"
	    "python3 make-feature.py | cachex put faces img-000003 -",
	.completes = "mif",
	.least = 2,
	.most = 3,
	.options = options,
	.run = run
};
