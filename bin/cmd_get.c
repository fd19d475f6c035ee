/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "command.h"
#include "elements.h"
#include "module.h"
#include "npyfile.h"
#include "output.h"
#include "report.h"
#include "settings.h"
#include "value/tensor.h"

static const char *output;
static int format;
static int bits;
static int force;
static int dry_run;

static struct opt options[] = {
	{ "o", "output", OPT_FILE, &output, .value = "FILE",
	    .help = "write here, replacing the file at once when all is written; - is "
	    "standard output" },
	{ "", "format", OPT_CHOICE, &format, .value = "npy|raw|json",
	    .help = "what to write" },
	{ "", "bits", OPT_FLAG, &bits,
	    .help = "write bf16 and f8, which .npy cannot name, as raw bits (V2, V1)" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "write binary data to a terminal" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "read and check the tensor, write nothing" },
	{ .kind = OPT_END }
};

enum { FORMAT_NPY, FORMAT_RAW, FORMAT_JSON };

static void
write_json(FILE *out, lc_id id, const lc_tensor *tensor)
{
	struct json json = { out, false };

	jw_open(&json, NULL, '{');
	jw_id(&json, id);
	jw_type(&json, tensor);
	elements_write(&json, "data", tensor);
	jw_end_line(&json);
}

static int
write_tensor(FILE *out, lc_id id, const lc_tensor *tensor)
{
	if (format == FORMAT_NPY)
		return npy_write(out, tensor, bits);
	if (format == FORMAT_RAW)
		fwrite(tensor->data, 1, tensor->nbytes, out);
	else
		write_json(out, id, tensor);
	return EXIT_DONE;
}

static int
write_view(lc_id id, const lc_view *view)
{
	struct output out;
	int status = output_open(&out, dry_run ? "/dev/null" : output);

	if (status != EXIT_DONE)
		return status;
	if (format != FORMAT_JSON && !force && output_is_terminal(&out)) {
		output_discard(&out);
		return report_usage("standard output is a terminal; use -o FILE, "
		    "a pipe, --format json, or -f");
	}
	status = write_tensor(out.stream, id, &view->tensor);
	output_failed(&out);
	return output_end(&out, status);
}

static int
run(int argc, char **argv)
{
	const lc_id id = lc_id_of(argv[1]);
	lc_cache *cache;
	lc_view view;
	char text[LC__TENSOR_TEXT];
	lc_status found;
	int status = list_check_id(id);

	(void)argc;
	if (status == EXIT_DONE)
		status = module_open(argv[0], &cache);
	if (status != EXIT_DONE)
		return status;
	if (settings.json)
		format = FORMAT_JSON;
	found = lc_get(cache, id.data, id.size, &view);
	if (found == LC_OK) {
		status = write_view(id, &view);
		if (status == EXIT_DONE && dry_run)
			report_note("would write %s to %s", lc__tensor_describe(
			    &view.tensor, text, sizeof(text)), output_name(output));
		lc_view_release(&view);
	} else if (found == LC_NOT_FOUND) {
		report_error("%s is not in %s", lc__quote_id(id.data, id.size),
		    argv[0]);
		status = EXIT_NO;
	} else {
		status = report_argument(found);
	}
	return module_close(cache, status);
}

const struct command cmd_get = {
	.name = "get",
	.operands = "MODULE CACHE_ID",
	.summary = "write a tensor",
	.text =
	    "Writes the tensor stored under CACHE_ID to standard output or to "
	    "FILE: as .npy, as raw bytes in row-major order, little-endian, or "
	    "as one JSON object with the cache_id, the dtype, the shape and the "
	    "elements. --json is short for --format json.\n"
	    "Exit status 1 says that there is no such cache_id or module, or "
	    "that the record is damaged; then nothing is written.",
	.examples =
	    "cachex get faces img-000001 -o feature.npy\n"
	    "cachex get faces img-000001 --json | jq .shape\n"
	    "cachex get faces img-000001 --format raw | xxd | head",
	.completes = "mi",
	.least = 2,
	.most = 2,
	.options = options,
	.run = run
};
