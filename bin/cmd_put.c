/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "command.h"
#include "format/npy.h"
#include "input.h"
#include "module.h"
#include "report.h"
#include "settings.h"
#include "shape.h"
#include "value/tensor.h"

static const char *dtype_name;
static const char *shape_text;
static int format;
static int dry_run;

static struct opt options[] = {
	{ "", "dtype", OPT_TEXT, &dtype_name, .value = "NAME",
	    .help = "raw bytes: their dtype (f32, u8, bf16 ...)" },
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

static int
decode_raw(const struct lc__buf *buf, const char *name, lc_tensor *out)
{
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim;
	lc_dtype dtype;
	char text[LC__TENSOR_TEXT];

	if (dtype_name == NULL || shape_text == NULL)
		return report_usage("%s: raw bytes need --dtype and --shape", name);
	if (lc_dtype_parse(dtype_name, &dtype) != LC_OK ||
	    shape_parse(shape_text, &ndim, shape) != LC_OK ||
	    lc_tensor_init(out, dtype, ndim, shape, buf->data) != LC_OK)
		return report_argument(lc_last_error()->status);
	if (out->nbytes != buf->size) {
		report_error("%s: %zu bytes, but %s takes %zu", name, buf->size,
		    lc__tensor_describe(out, text, sizeof(text)), out->nbytes);
		return EXIT_DATA;
	}
	return EXIT_DONE;
}

static int
decode_npy(const struct lc__buf *buf, const char *name, lc_tensor *out)
{
	const lc_status status = lc__npy_decode(buf->data, buf->size, name, out);

	return status == LC_OK ? EXIT_DONE : report_status(status);
}

/* Fill *out from the file's bytes; *owned is what lc_tensor_free() frees. */
static int
decode(const struct lc__buf *buf, const char *name, lc_tensor *out, bool *owned)
{
	const bool npy = lc__npy_is(buf->data, buf->size);
	const bool described = dtype_name != NULL || shape_text != NULL;

	*owned = false;
	if (format == FORMAT_RAW || (format == FORMAT_AUTO && !npy && described))
		return decode_raw(buf, name, out);
	if (format == FORMAT_AUTO && !npy) {
		report_error("%s: not a .npy file; raw bytes need --dtype and "
		    "--shape, images cachex import", name);
		return EXIT_DATA;
	}
	if (described)
		return report_usage("%s: a .npy file has its own dtype and shape; "
		    "--format raw stores its bytes as they are", name);
	*owned = true;
	return decode_npy(buf, name, out);
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
put_buffer(const struct lc__buf *buf, const char *name, char **argv)
{
	const lc_id id = lc_id_of(argv[1]);
	char text[LC__TENSOR_TEXT];
	lc_tensor tensor;
	bool owned;
	int status = decode(buf, name, &tensor, &owned);

	if (status != EXIT_DONE)
		return status;
	status = store(argv[0], id, &tensor);
	if (status == EXIT_DONE && (dry_run || settings.verbose))
		report_note("%s: %s %s as %s", name, dry_run ? "would store" :
		    "stored", lc__tensor_describe(&tensor, text, sizeof(text)),
		    lc__quote_id(id.data, id.size));
	if (owned)
		lc_tensor_free(&tensor);
	return status;
}

static int
run(int argc, char **argv)
{
	const char *path = argc == 3 ? argv[2] : "-";
	struct lc__buf buf = { 0 };
	struct list ids = { 0 };
	bool none = false;
	int status = list_ids(&ids, 1, argv + 1, &none, false);

	list_free(&ids);
	if (status == EXIT_DONE)
		status = input_read(path, &buf);
	if (status == EXIT_DONE)
		status = put_buffer(&buf, input_name(path), argv);
	lc__buf_free(&buf);
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
	    "FILE is a .npy file, or raw bytes in row-major order, little- "
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
