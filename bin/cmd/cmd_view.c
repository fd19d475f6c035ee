/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex view: samples, boxes and tensors as PNG pictures. */
#include "cmd/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/newfile.h"
#include "cmd/samples.h"
#include "image/canvas.h"
#include "image/sheet.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/output.h"
#include "ui/report.h"
#include "ui/settings.h"

static const char *output;
static uint64_t samples = OPT_UNSET;
static uint64_t from = OPT_UNSET;
static uint64_t seed = OPT_UNSET;
static struct opt_list ids;
static uint64_t columns = OPT_UNSET;
static uint64_t cell = OPT_UNSET;
static int histogram;
static const char *field;
static int heat;
static uint64_t side = 960;
static int force;
static int dry_run;

static struct opt options[] = {
	{ "o", "output", OPT_FILE, &output, .value = "FILE",
	    .help = "write the PNG here, at once when it is done; - is standard output" },
	{ "", "samples", OPT_COUNT, &samples, .value = "N", .least = 1, .most = 10000,
	    .help = "a sheet of this many samples; 24 unless said otherwise" },
	{ "", "from", OPT_COUNT, &from, .value = "I",
	    .help = "a sheet from this sample on, counted from 0" },
	{ "", "random", OPT_COUNT, &seed, .value = "SEED",
	    .help = "a sheet of samples chosen at random; the same ones for a SEED" },
	{ "", "id", OPT_LIST, &ids, .value = "CACHE_ID",
	    .help = "a sheet with this sample; given again, with more" },
	{ "", "columns", OPT_COUNT, &columns, .value = "N", .least = 1, .most = 10000,
	    .help = "samples beside each other on a sheet" },
	{ "", "cell", OPT_COUNT, &cell, .value = "PIXELS", .least = LC__SHEET_LEAST_CELL,
	    .most = LC__SHEET_MOST_CELL,
	    .help = "the longer side of a sample on a sheet; 192 unless said otherwise" },
	{ "", "histogram", OPT_FLAG, &histogram,
	    .help = "the sizes, numbers, aspects and classes of boxes, not a sheet" },
	{ "", "field", OPT_TEXT, &field, .value = "PATH",
	    .help = "one tensor of a structured value: names and positions separated by "
		    "dots" },
	{ "", "heat", OPT_FLAG, &heat,
	    .help = "a heat map also of a tensor that looks like an image" },
	{ "", "side", OPT_COUNT, &side, .value = "PIXELS", .least = 64, .most = 8192,
	    .help = "the longer side of the picture of a tensor, at most" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "replace a file that exists; write to a terminal" },
	{ "n", "dry-run", OPT_FLAG, &dry_run, .help = "draw, write nothing" },
	{ .kind = OPT_END },
};

/* ---- which samples are looked at --------------------------------------------------- */

static int
make_room(size_t n, struct selected *out)
{
	out->items = calloc(n ? n : 1, sizeof(*out->items));
	if (out->items != NULL)
		return EXIT_DONE;
	return report_no_memory();
}

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- at random ------------------------------------------------------------------ */

/* splitmix64: the same choice for a seed on every machine. */
static uint64_t
next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static bool
is_selected(const struct selected *selected, uint64_t item)
{
	for (size_t i = 0; i < selected->count; i++)
		if (selected->items[i] == item)
			return true;
	return false;
}

static int
by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Floyd's way: every set of that size is as likely, and n numbers are drawn. */
static int
select_random(const struct select *how, uint64_t count, struct selected *out)
{
	const uint64_t n = smaller(how->most, count);
	uint64_t state = how->random;

	if (make_room(n, out) != EXIT_DONE)
		return EXIT_SYSTEM;
	for (uint64_t last = count - n; last < count; last++) {
		const uint64_t item = next_random(&state) % (last + 1);
		const bool again = is_selected(out, item);
		out->items[out->count++] = again ? last : item;
	}
	qsort(out->items, out->count, sizeof(*out->items), by_number);
	return EXIT_DONE;
}

/* ---- by name -------------------------------------------------------------------- */

/* "run-1/frame" names "0123456789ab/run-1/frame", too. */
static bool
is_named(lc_id id, const char *name)
{
	const size_t n = strlen(name);
	const char *text = id.data;

	if (n == 0 || n > id.size || memcmp(text + id.size - n, name, n) != 0)
		return false;
	return n == id.size || text[id.size - n - 1] == '/';
}

static int
select_ids(const struct select *how, const struct samples *set, struct selected *out)
{
	lc_sample sample;

	if (make_room(how->ids->count, out) != EXIT_DONE)
		return EXIT_SYSTEM;
	while (out->count < how->ids->count)
		out->items[out->count++] = SELECT_NONE;
	for (uint64_t i = 0; i < set->count; i++) {
		if (samples_get(set, i, &sample) != LC_OK)
			continue;
		/* Each name gets the first sample that it names. */
		for (size_t k = 0; k < how->ids->count; k++)
			if (out->items[k] == SELECT_NONE &&
			    is_named(sample.id, how->ids->items[k]))
				out->items[k] = i;
		samples_release(set, &sample);
	}
	return EXIT_DONE;
}

int
select_samples(const struct select *how, const struct samples *set, struct selected *out)
{
	memset(out, 0, sizeof(*out));
	if (how->ids->count > 0)
		return select_ids(how, set, out);
	if (set->count == 0)
		return report_error(EXIT_NO, "there are no samples");
	if (how->random != OPT_UNSET)
		return select_random(how, set->count, out);
	if (how->from >= set->count)
		return report_error(EXIT_NO, "there is no sample %llu: there are %llu",
		    (unsigned long long)how->from, (unsigned long long)set->count);
	if (make_room(smaller(how->most, set->count - how->from), out) != EXIT_DONE)
		return EXIT_SYSTEM;
	for (; out->count < smaller(how->most, set->count - how->from); out->count++)
		out->items[out->count] = how->from + out->count;
	return EXIT_DONE;
}

void
selected_free(struct selected *selected)
{
	free(selected->items);
	memset(selected, 0, sizeof(*selected));
}

/* ---- what there is to draw ------------------------------------------------------ */

enum subject { OF_RECORD, OF_NPY, OF_SAMPLES };

static bool
begins_as_npy(const char *path)
{
	static const char magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };
	char bytes[sizeof(magic)];
	FILE *file = fopen(path, "re");
	bool found;

	if (file == NULL)
		return false;
	found = fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes) &&
	    memcmp(bytes, magic, sizeof(magic)) == 0;
	fclose(file);
	return found;
}

/* Two operands are a module and a cache_id, one is a path: no name is both. */
static enum subject
find_subject(int argc, char **argv)
{
	if (argc == 2)
		return OF_RECORD;
	if (strcmp(argv[0], "-") == 0 || begins_as_npy(argv[0]))
		return OF_NPY;
	return OF_SAMPLES;
}

static int
check_ways(void)
{
	if ((from != OPT_UNSET) + (seed != OPT_UNSET) + (ids.count > 0) > 1)
		return report_usage("only one of --from, --random and --id chooses the "
				    "samples");
	if (samples != OPT_UNSET && ids.count > 0)
		return report_usage("--samples counts what --id names already");
	return EXIT_DONE;
}

static int
check_options(enum subject subject)
{
	const bool sheet = samples != OPT_UNSET || from != OPT_UNSET ||
	    seed != OPT_UNSET || ids.count > 0 || columns != OPT_UNSET ||
	    cell != OPT_UNSET;

	if (subject != OF_SAMPLES && (sheet || histogram))
		return report_usage("a tensor is neither a sheet nor a histogram: only "
				    "--field, --heat and --side are for it");
	if (subject == OF_SAMPLES && (field != NULL || heat))
		return report_usage("--field and --heat are for a tensor of a module");
	if (subject == OF_NPY && field != NULL)
		return report_usage("--field is for a tensor of a module");
	if (histogram && sheet)
		return report_usage("--histogram counts all samples and is no sheet");
	if (settings.json && !dry_run && (output == NULL || strcmp(output, "-") == 0))
		return report_usage("--json and the picture would both go to standard "
				    "output; use -o FILE");
	return check_ways();
}

static int
draw(enum subject subject, char **argv, struct lc__canvas *canvas, struct json *json)
{
	const struct view_tensor how = { field, heat, (uint32_t)side };
	const struct select select = {
		.most = samples == OPT_UNSET ? 24 : samples,
		.from = from == OPT_UNSET ? 0 : from,
		.random = seed,
		.ids = &ids,
	};

	if (subject == OF_RECORD)
		return view_record(argv[0], argv[1], &how, canvas, json);
	if (subject == OF_NPY)
		return view_npy(argv[0], &how, canvas, json);
	if (histogram)
		return view_histograms(argv[0], canvas, json);
	return view_sheet(argv[0], &select, columns,
	    cell == OPT_UNSET ? 192 : (uint32_t)cell, canvas, json);
}

/* ---- where it goes -------------------------------------------------------------- */

static int
is_terminal(void)
{
	return report_usage("%s is a terminal; use -o FILE, a pipe, or -f",
	    output_name(output));
}

/* Before anything is drawn. Devices are written to as they are. */
static int
check_output(void)
{
	struct stat st;

	if (force || dry_run)
		return EXIT_DONE;
	if (output == NULL || strcmp(output, "-") == 0)
		return isatty(STDOUT_FILENO) ? is_terminal() : EXIT_DONE;
	if (lstat(output, &st) == 0 && !lc__is_special(output))
		return report_usage("%s: exists; -f replaces it", output);
	return EXIT_DONE;
}

static int
write_bytes(const struct lc__buf *png)
{
	struct output out;
	int status = output_open(&out, dry_run ? "/dev/null" : output, force);

	if (status != EXIT_DONE)
		return status;
	if (!force && output_is_terminal(&out)) {
		output_discard(&out);
		return is_terminal();
	}
	fwrite(png->data, 1, png->size, out.stream);
	output_failed(&out);
	return output_end(&out, EXIT_DONE);
}

static int
write_png(const struct lc__canvas *canvas)
{
	struct lc__buf png = { 0 };
	const lc_status encoded = lc__canvas_png(canvas, &png);
	const int status = encoded == LC_OK ? write_bytes(&png) : report_status(encoded);

	lc__buf_free(&png);
	return status;
}

static int
say(const struct lc__canvas *canvas, struct json *json, FILE *text,
    const struct lc__buf *members)
{
	jw_count(json, "picture_width", canvas->width);
	jw_count(json, "picture_height", canvas->height);
	if (output != NULL)
		jw_text(json, "file", output);
	jw_flag(json, "dry_run", dry_run);
	jw_end_line(json);
	if (fflush(text) != 0 || members->failed)
		return report_no_memory();
	if (settings.json)
		fwrite(members->data, 1, members->size, stdout);
	else if (dry_run)
		report_note("would write %u x %u pixels to %s", canvas->width,
		    canvas->height, output_name(output));
	return EXIT_DONE;
}

static int
draw_and_write(enum subject subject, char **argv, FILE *text,
    const struct lc__buf *members)
{
	struct json json = { text, false };
	struct lc__canvas canvas = { 0 };
	int status;

	jw_open(&json, NULL, '{');
	status = draw(subject, argv, &canvas, &json);
	if (canvas.pixels != NULL) {
		int written = write_png(&canvas);
		if (written == EXIT_DONE)
			written = say(&canvas, &json, text, members);
		status = report_worse(status, written);
	}
	lc__canvas_free(&canvas);
	return status;
}

static int
run_view(int argc, char **argv)
{
	const enum subject subject = find_subject(argc, argv);
	struct lc__buf members = { 0 };
	FILE *text;
	int status = check_options(subject);

	if (status == EXIT_DONE)
		status = check_output();
	if (status != EXIT_DONE)
		return status;
	text = lc__buf_stream(&members);
	if (text == NULL)
		return report_no_memory();
	status = draw_and_write(subject, argv, text, &members);
	fclose(text);
	lc__buf_free(&members);
	return status;
}

const struct command cmd_view = {
	.name = "view",
	.operands = "WAREHOUSE|SHARD|DIR|FILE.npy|MODULE [CACHE_ID]",
	.summary = "draw samples, boxes or a tensor as a PNG picture",
	.text =
	    "Of one operand, a path: a warehouse, a TWH1 shard, or a directory with "
	    "shards becomes a contact sheet of samples with their boxes, the class id "
	    "above each; with --histogram, bar charts of its boxes. A .npy file, or - "
	    "for one on standard input, becomes a picture of its tensor.\n"
	    "Of two operands, a module and a cache_id: a picture of that tensor. u8, "
	    "f16, bf16 and f32 with 1, 3 or 4 channels are an image, channels first "
	    "(in u8 also last); any other tensor is a heat map, whose slices stand "
	    "beside each other.\n"
	    "A sample that is missing or damaged is drawn as a crossed cell with the "
	    "reason, and the exit status is 3. The same input gives the same bytes.",
	.examples =
	    "cachex view warehouse -o sheet.png\n"
	    "cachex view warehouse --random 1 --samples 60 --columns 10 -o some.png\n"
	    "cachex view warehouse --histogram -o boxes.png\n"
	    "cachex view shards/shard-000000.twh1 --from 100 -o - | display\n"
	    "cachex view faces img-000001 --field layers.2 -o layer.png",
	.completes = "fi",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = 2,
	.options = options,
	.run = run_view,
};
