/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/jsonrecord.h"
#include "ui/module.h"
#include "ui/output.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/size.h"

static const char *output;
static int force;
static int dry_run;

static struct opt options[] = {
	{ "o", "output", OPT_FILE, &output, .value = "FILE",
	    .help = "write FILE, which appears when all is written; - is standard "
		    "output" },
	{ "f", "force", OPT_FLAG, &force, .help = "replace an existing file" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "read and check every record, write nothing" },
	{ .kind = OPT_END },
};

static lc_status
dump_record(lc_iter *iter, const lc_item *item, FILE *out)
{
	const lc_value *value;
	lc_status status;

	if (item->kind == LC_TENSOR) {
		jsonrecord_write_tensor(out, item->id, &item->tensor);
		return LC_OK;
	}
	status = lc_iter_value(iter, NULL, &value);
	return status == LC_OK ? jsonrecord_write_value(out, item->id, value) : status;
}

static int
dump_records(lc_iter *iter, struct output *out, uint64_t total)
{
	int status = EXIT_DONE;
	uint64_t done = 0, records = 0;
	char text[SIZE_TEXT];
	lc_item item;
	lc_status step;

	while ((step = lc_iter_next(iter, &item)) != LC_END) {
		if (step == LC_OK)
			step = dump_record(iter, &item, out->stream);
		if (step == LC_OK) {
			done += item.stored_size;
			records++;
		} else {
			status = report_worse(status, report_status(step));
		}
		if (output_failed(out) || (step != LC_OK && step != LC_CORRUPT))
			break;
		if (progress_step(NULL, done, total) != 0)
			return report_status(LC_CANCELLED);
	}
	if (dry_run && status == EXIT_DONE)
		report_note("would write %s to %s",
		    count_human(records, "record", text, sizeof(text)),
		    output_name(output));
	return status;
}

static int
dump_cache(lc_cache *cache, struct output *out)
{
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_iter *iter;
	lc_status opened = lc_stat(cache, &stats);
	int status;

	if (opened == LC_OK)
		opened = lc_iter_open(cache, LC_BY_KEY, NULL, 0, &iter);
	if (opened != LC_OK)
		return report_status(opened);
	progress_begin("dump");
	status = dump_records(iter, out, stats.live_bytes);
	progress_end();
	lc_iter_close(iter);
	return status;
}

static int
run_dump(int argc, char **argv)
{
	struct output out;
	lc_cache *cache;
	int status = module_open(argv[0], &cache);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	status = output_open(&out, dry_run ? "/dev/null" : output, force);
	if (status == EXIT_DONE)
		status = output_end(&out, dump_cache(cache, &out));
	return module_close(cache, status);
}

const struct command cmd_dump = {
	.name = "dump",
	.operands = "MODULE",
	.summary = "write a module as JSON lines",
	.text = "Writes every record, ordered by cache_id, as one JSON object per "
		"line: id (id_base64 if it is not UTF-8), dtype, shape, and data: "
		"the elements' bytes in row-major order, little-endian, in base64. "
		"A structured value has format, id and value instead, as cachex-put(1) "
		"explains it. Coded tensors are decoded. cachex load reads it.\n"
		"A damaged record is reported and left out; then the exit status is "
		"3 and FILE is not written.",
	.examples = "cachex dump faces -o faces.jsonl\n"
		    "cachex dump faces | ssh other cachex load faces",
	.completes = "m",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_dump,
};
