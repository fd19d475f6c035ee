/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex view: samples, boxes, records, tensors and whole modules as pictures. */
#include "cmd/view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/newfile.h"
#include "cmd/samples.h"
#include "draw/picture.h"
#include "image/sheet.h"
#include "order/shuffle.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/output.h"
#include "ui/report.h"
#include "ui/settings.h"

#define DEFAULT_SIDE 960
#define LEAST_PAGE 360 /* pixels of a page of charts */
#define SHEET_MOST 10000

static const char *output;
static int format;
static uint64_t samples = OPT_UNSET;
static uint64_t from = OPT_UNSET;
static uint64_t seed = OPT_UNSET;
static struct opt_list ids;
static uint64_t columns = OPT_UNSET;
static uint64_t cell = OPT_UNSET;
static int histogram;
static int chunks;
static int embedding;
static int duplicates;
static int coverage;
static double near = -1;
static int list;
static const char *field;
static int heat;
static uint64_t side = OPT_UNSET;
static int force;
static int dry_run;

static struct opt options[] = {
	{ "o", "output", OPT_FILE, &output, .value = "FILE",
	    .help = "write FILE, which appears when complete; - is standard output" },
	{ "", "format", OPT_CHOICE, &format, .value = "auto|" LC__PICTURE_FORMATS,
	    .help = "format of the picture; auto follows FILE's suffix, or png" },
	{ "", "samples", OPT_COUNT, &samples, .value = "N", .least = 1, .most = 10000000,
	    .help = "a sheet of up to N samples or records, default 24; a map of up to N "
		    "vectors, default 20000; N pairs, default 12" },
	{ "", "from", OPT_COUNT, &from, .value = "I",
	    .help = "a sheet from this sample or record on, counted from 0" },
	{ "", "random", OPT_COUNT, &seed, .value = "SEED",
	    .help = "a sheet of samples or records chosen at random, the same ones for a "
		    "SEED; of too many vectors others" },
	{ "", "id", OPT_LIST, &ids, .value = "CACHE_ID",
	    .help = "a sheet with this sample or record; may be repeated" },
	{ "", "columns", OPT_COUNT, &columns, .value = "N", .least = 1, .most = 10000,
	    .help = "number of cells in a row of a sheet" },
	{ "", "cell", OPT_COUNT, &cell, .value = "PIXELS", .least = LC__SHEET_LEAST_CELL,
	    .most = LC__SHEET_MOST_CELL,
	    .help = "side of a cell of a sheet; default 192" },
	{ "", "histogram", OPT_FLAG, &histogram,
	    .help = "draw sizes, numbers, aspects and classes of boxes, not a sheet" },
	{ "", "chunks", OPT_FLAG, &chunks,
	    .help = "draw the chunks of a module: age, size, dead share, last read" },
	{ "", "embedding", OPT_FLAG, &embedding,
	    .help = "draw the vectors of a module in the plane of their two principal "
		    "components" },
	{ "", "duplicates", OPT_FLAG, &duplicates,
	    .help = "draw pairs of equal and nearly equal records of a module" },
	{ "", "coverage", OPT_FLAG, &coverage,
	    .help = "draw which keys two modules or warehouses have in common, and how "
		    "their records differ" },
	{ "", "near", OPT_RATIO, &near, .value = "DISTANCE",
	    .help =
		"the distance of near duplicates; 0 for equal ones only; default 0.05 "
		"of images, 0.01 of vectors" },
	{ "l", "list", OPT_FLAG, &list,
	    .help = "print the chunks, vectors, pairs or keys; draw only with -o" },
	{ "", "field", OPT_TEXT, &field, .value = "PATH",
	    .help = "one tensor of a structured value: names and positions separated by "
		    "dots" },
	{ "", "heat", OPT_FLAG, &heat,
	    .help = "draw a heat map even if the tensor looks like an image" },
	{ "", "side", OPT_COUNT, &side, .value = "PIXELS", .least = 64, .most = 8192,
	    .help =
		"maximum of the longer side of the picture of a tensor, or width of a "
		"page of charts; default 960" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "replace an existing file; write to a terminal" },
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
	return lc__mix(*state += LC__GOLDEN);
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
		/* Find the first sample for each name. */
		for (size_t k = 0; k < how->ids->count; k++)
			if (out->items[k] == SELECT_NONE &&
			    is_named(sample.id, how->ids->items[k]))
				out->items[k] = i;
		samples_release(set, &sample);
	}
	return EXIT_DONE;
}

int
select_numbers(const struct select *how, uint64_t count, const char *what,
    struct selected *out)
{
	memset(out, 0, sizeof(*out));
	if (count == 0)
		return report_error(EXIT_NO, "there are no %s", what);
	if (how->random != OPT_UNSET)
		return select_random(how, count, out);
	if (how->from >= count)
		return report_error(EXIT_NO,
		    "--from %llu: there are %llu %s, numbered from 0",
		    (unsigned long long)how->from, (unsigned long long)count, what);
	if (make_room(smaller(how->most, count - how->from), out) != EXIT_DONE)
		return EXIT_SYSTEM;
	for (; out->count < smaller(how->most, count - how->from); out->count++)
		out->items[out->count] = how->from + out->count;
	return EXIT_DONE;
}

int
select_samples(const struct select *how, const struct samples *set, struct selected *out)
{
	memset(out, 0, sizeof(*out));
	if (how->ids->count > 0)
		return select_ids(how, set, out);
	return select_numbers(how, set->count, "samples", out);
}

void
selected_free(struct selected *selected)
{
	free(selected->items);
	memset(selected, 0, sizeof(*selected));
}

/* ---- what there is to draw ------------------------------------------------------ */

enum subject {
	OF_RECORD,
	OF_MODULE,
	OF_NPY,
	OF_SAMPLES,
	OF_CHUNKS,
	OF_EMBEDDING,
	OF_DUPLICATES,
	OF_COVERAGE
};

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

/* A module has this file; a warehouse or a directory of shards does not. If the file
 * cannot be examined, assume a module: opening it reports the reason. */
static bool
is_module(const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if (strchr(name, '/') != NULL ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s/data.mdb", settings.root, name) >=
		sizeof(path))
		return false;
	if (stat(path, &st) == 0)
		return S_ISREG(st.st_mode);
	return errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG;
}

/* The pages about whole modules, and the options that apply to them. */
static const struct page_kind {
	const int *flag;
	const char *name, *operands, *applies;
	enum subject subject;
	int n;        /* operands */
	bool field;   /* --field applies */
	bool samples; /* --samples does */
	bool random;  /* --random does */
	bool sheet;   /* it is a sheet: --columns and --cell apply, --side does not */
} pages[] = {
	{ &chunks, "--chunks", "one operand, MODULE", "-l and --side", OF_CHUNKS, 1,
	    false, false, false, false },
	{ &embedding, "--embedding", "one operand, MODULE",
	    "-l, --side, --field, --samples and --random", OF_EMBEDDING, 1, true, true,
	    true, false },
	{ &duplicates, "--duplicates", "one operand, MODULE",
	    "-l, --near, --field, --samples, --columns and --cell", OF_DUPLICATES, 1,
	    true, true, false, true },
	{ &coverage, "--coverage", "two operands, both modules or both warehouses",
	    "-l, --side and --field", OF_COVERAGE, 2, true, false, false, false },
};

#define PAGES (sizeof(pages) / sizeof(pages[0]))

/* The page that an option names, or NULL. */
static const struct page_kind *
find_page(void)
{
	for (size_t i = 0; i < PAGES; i++)
		if (*pages[i].flag)
			return &pages[i];
	return NULL;
}

static int
check_page(const struct page_kind *page, int operands)
{
	for (size_t i = 0; i < PAGES; i++)
		if (*pages[i].flag && &pages[i] != page)
			return report_usage("%s and %s exclude each other", page->name,
			    pages[i].name);
	if (operands != page->n)
		return report_usage("%s needs %s", page->name, page->operands);
	if (histogram || heat || from != OPT_UNSET || ids.count > 0 ||
	    (field != NULL && !page->field) || (samples != OPT_UNSET && !page->samples) ||
	    (seed != OPT_UNSET && !page->random) ||
	    ((columns != OPT_UNSET || cell != OPT_UNSET) && !page->sheet) ||
	    (side != OPT_UNSET && page->sheet) ||
	    (near >= 0 && page->subject != OF_DUPLICATES))
		return report_usage("only %s apply to %s", page->applies, page->name);
	if (side < LEAST_PAGE)
		return report_usage(
		    "--side %llu: a page of charts needs at least %d pixels",
		    (unsigned long long)side, LEAST_PAGE);
	return EXIT_DONE;
}

/* Two operands are a module and a cache_id. One is a module if there is one of that name,
 * which has no slash, and else a path. */
static int
find_subject(int argc, char **argv, enum subject *out)
{
	const struct page_kind *page = find_page();
	struct stat st;

	if (page != NULL) {
		*out = page->subject;
		return check_page(page, argc);
	}
	if (list)
		return report_usage("-l needs --chunks, --embedding, --duplicates "
				    "or --coverage");
	if (near >= 0)
		return report_usage("--near needs --duplicates");
	if (argc == 2)
		*out = OF_RECORD;
	else if (is_module(argv[0]))
		*out = OF_MODULE;
	else if (strcmp(argv[0], "-") == 0 || begins_as_npy(argv[0]))
		*out = OF_NPY;
	else
		*out = OF_SAMPLES;
	if (*out == OF_SAMPLES && strchr(argv[0], '/') == NULL &&
	    lstat(argv[0], &st) != 0 && errno == ENOENT)
		return report_error(EXIT_NO,
		    "%s: neither a module in %s nor a file or directory here", argv[0],
		    settings.root);
	return EXIT_DONE;
}

static int
check_ways(void)
{
	if ((from != OPT_UNSET) + (seed != OPT_UNSET) + (ids.count > 0) > 1)
		return report_usage(
		    "only one of --from, --random and --id may select the "
		    "samples");
	if (samples != OPT_UNSET && ids.count > 0)
		return report_usage("--samples and --id exclude each other");
	return EXIT_DONE;
}

static int
check_options(enum subject subject)
{
	const bool sheet = samples != OPT_UNSET || from != OPT_UNSET ||
	    seed != OPT_UNSET || ids.count > 0 || columns != OPT_UNSET ||
	    cell != OPT_UNSET;

	if (subject != OF_EMBEDDING && samples != OPT_UNSET && samples > SHEET_MOST)
		return report_usage("--samples %llu: a sheet has at most %d",
		    (unsigned long long)samples, SHEET_MOST);
	if (subject < OF_SAMPLES && histogram)
		return report_usage("--histogram needs samples with boxes");
	if ((subject == OF_RECORD || subject == OF_NPY) && sheet)
		return report_usage(
		    "one tensor has no sheet; only --field, --heat and --side "
		    "apply to it");
	if (subject == OF_SAMPLES && (field != NULL || heat))
		return report_usage("--field and --heat need records of a module");
	if (subject == OF_NPY && field != NULL)
		return report_usage("--field needs records of a module");
	if (histogram && sheet)
		return report_usage("--histogram counts all samples and draws no sheet");
	if (list && output != NULL && strcmp(output, "-") == 0)
		return report_usage("the list and the picture would both go to standard "
				    "output; use -o FILE");
	if (settings.json && !dry_run && !list &&
	    (output == NULL || strcmp(output, "-") == 0))
		return report_usage("--json and the picture would both go to standard "
				    "output; use -o FILE");
	return check_ways();
}

/* Modules are compared with modules, warehouses with warehouses. */
static int
draw_coverage(char **argv, const char *part, const struct view_page *page)
{
	const char *const names[2] = { argv[0], argv[1] };
	const bool modules[2] = { is_module(argv[0]), is_module(argv[1]) };

	if (modules[0] != modules[1])
		return report_usage("--coverage: %s is a module, but %s is not",
		    argv[modules[0] ? 0 : 1], argv[modules[0] ? 1 : 0]);
	if (!modules[0] && part != NULL)
		return report_usage("--field needs records of a module");
	return view_coverage(names, modules[0], part, page);
}

static int
draw(enum subject subject, char **argv, struct lc__picture *picture, struct json *json)
{
	const uint32_t most = side == OPT_UNSET ? DEFAULT_SIDE : (uint32_t)side;
	const struct view_tensor how = { field, heat, most };
	const struct view_page page = { picture, json, most, list };
	const struct vectors_choice choice = {
		.field = field != NULL && *field != '\0' ? field : NULL,
		.most = samples == OPT_UNSET ? VIEW_VECTORS : samples,
		.seed = seed == OPT_UNSET ? 0 : seed,
	};
	const struct view_grid grid = { columns,
		cell == OPT_UNSET ? 192 : (uint32_t)cell };
	const struct view_near duplicate = {
		.field = choice.field,
		.exact = near == 0,
		.limit = near,
		.pairs = samples == OPT_UNSET ? 12 : (size_t)samples,
	};
	const struct select select = {
		.most = samples == OPT_UNSET ? 24 : samples,
		.from = from == OPT_UNSET ? 0 : from,
		.random = seed,
		.ids = &ids,
	};

	if (subject == OF_CHUNKS)
		return view_chunks(argv[0], &page);
	if (subject == OF_COVERAGE)
		return draw_coverage(argv, choice.field, &page);
	if (subject == OF_DUPLICATES)
		return view_duplicates(argv[0], &duplicate, &grid, &page);
	if (subject == OF_EMBEDDING)
		return view_embedding(argv[0], &choice, &page);
	if (subject == OF_RECORD)
		return view_record(argv[0], argv[1], &how, picture, json);
	if (subject == OF_MODULE)
		return view_module(argv[0], &select, &grid, &how, picture, json);
	if (subject == OF_NPY)
		return view_npy(argv[0], &how, picture, json);
	if (histogram)
		return view_histograms(argv[0], picture, json);
	return view_sheet(argv[0], &select, &grid, picture, json);
}

/* ---- where it goes -------------------------------------------------------------- */

static int
is_terminal(void)
{
	return report_usage("%s is a terminal; use -o FILE, a pipe, or -f",
	    output_name(output));
}

/* Check before anything is drawn. Devices are written to directly. */
static int
check_output(void)
{
	struct stat st;

	if (force || dry_run || (list && output == NULL))
		return EXIT_DONE;
	if (output == NULL || strcmp(output, "-") == 0)
		return isatty(STDOUT_FILENO) ? is_terminal() : EXIT_DONE;
	if (lstat(output, &st) == 0 && !lc__is_special(output))
		return report_usage("%s: exists; -f replaces it", output);
	return EXIT_DONE;
}

/* By --format, or else by the name of the file. */
static enum lc__picture_format
find_format(void)
{
	enum lc__picture_format found = LC__PICTURE_PNG;

	if (format > 0)
		return (enum lc__picture_format)(format - 1);
	if (output != NULL)
		(void)lc__picture_format_of(output, &found);
	return found;
}

static int
write_bytes(const struct lc__buf *bytes)
{
	struct output out;
	int status = output_open(&out, dry_run ? "/dev/null" : output, force);

	if (status != EXIT_DONE)
		return status;
	if (!force && output_is_terminal(&out)) {
		output_discard(&out);
		return is_terminal();
	}
	fwrite(bytes->data, 1, bytes->size, out.stream);
	output_failed(&out);
	return output_end(&out, EXIT_DONE);
}

static int
write_picture(struct lc__picture *picture)
{
	struct lc__buf bytes = { 0 };
	const lc_status finished = lc__picture_finish(picture, &bytes);
	const int status = finished == LC_OK ? write_bytes(&bytes)
					     : report_status(finished);

	lc__buf_free(&bytes);
	return status;
}

static int
say(const struct lc__picture *picture, struct json *json, FILE *text,
    const struct lc__buf *members)
{
	const double width = lc__picture_width(picture);
	const double height = lc__picture_height(picture);

	jw_count(json, "picture_width", (uint64_t)width);
	jw_count(json, "picture_height", (uint64_t)height);
	if (output != NULL)
		jw_text(json, "file", output);
	jw_flag(json, "dry_run", dry_run);
	jw_end_line(json);
	if (fflush(text) != 0 || members->failed)
		return report_no_memory();
	if (settings.json)
		fwrite(members->data, 1, members->size, stdout);
	else if (dry_run)
		report_note("would write %.0f x %.0f pixels to %s", width, height,
		    output_name(output));
	return EXIT_DONE;
}

static int
draw_and_write(enum subject subject, char **argv, FILE *text,
    const struct lc__buf *members)
{
	struct json json = { text, false };
	struct lc__picture *picture = NULL;
	lc_status made = LC_OK;
	int status;

	/* A list alone needs no picture. */
	if (!list || output != NULL)
		made = lc__picture_new(find_format(), &picture);
	if (made != LC_OK)
		return report_status(made);
	jw_open(&json, NULL, '{');
	status = draw(subject, argv, picture, &json);
	/* Draw a picture of the rest if something is missing or damaged. */
	if (picture != NULL && lc__picture_width(picture) > 0 &&
	    (status == EXIT_DONE || status == EXIT_NO || status == EXIT_DATA)) {
		int written = write_picture(picture);
		if (written == EXIT_DONE)
			written = say(picture, &json, text, members);
		status = report_worse(status, written);
	}
	lc__picture_free(picture);
	return status;
}

static int
run_view(int argc, char **argv)
{
	struct lc__buf members = { 0 };
	enum subject subject = OF_SAMPLES;
	FILE *text;
	int status = find_subject(argc, argv, &subject);

	if (status == EXIT_DONE)
		status = check_options(subject);
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
	.operands = "MODULE [CACHE_ID] | WAREHOUSE|SHARD|DIR|FILE.npy",
	.summary =
	    "draw records, samples, boxes, a tensor or a module as PNG, SVG or PDF",
	.text =
	    "MODULE alone draws a contact sheet of its records: images as images, other "
	    "tensors as small heat maps, text and numbers as text. MODULE CACHE_ID draws one "
	    "tensor: u8, f16, bf16 and f32 with 1, 3 or 4 channels are an image, channels "
	    "first (in u8 also last); any other tensor is a heat map.\n"
	    "A warehouse, a TWH1 shard or a directory with shards becomes a contact sheet of "
	    "samples with their boxes, each under the name of its class; with --histogram, "
	    "charts of its boxes. A .npy file, or - for one on standard input, becomes a "
	    "picture of its tensor.\n"
	    "--chunks draws how a module is stored: the age, size, dead share and last read "
	    "of its chunks. --embedding draws a map of its vectors: the density in the "
	    "plane of their two principal components, with an example of each dense "
	    "region. --duplicates draws equal and nearly equal records as pairs.\n"
	    "--coverage compares two modules or two warehouses: their keys, classes or "
	    "types, and distributions.\n"
	    "A name without a slash is a module if the root has it; ./NAME is always a path.\n"
	    "A sample or record that is missing or damaged is drawn as a crossed cell with "
	    "the reason, and the exit status is 1 or 3. The same input gives the same bytes.",
	.examples =
	    "cachex view photos -o sheet.png\n"
	    "cachex view warehouse -o sheet.pdf\n"
	    "cachex view warehouse --random 1 --samples 60 --columns 10 -o some.png\n"
	    "cachex view warehouse --histogram -o boxes.png\n"
	    "cachex view --chunks faces -o chunks.png\n"
	    "cachex view --embedding faces --field vector -o map.pdf\n"
	    "cachex view --duplicates photos -l | cut -f 4\n"
	    "cachex view --coverage train validation -o coverage.svg\n"
	    "cachex view shards/shard-000000.twh1 --from 100 -o - | display\n"
	    "cachex view faces img-000001 --field layers.2 -o layer.png",
	.completes = "si",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = 2,
	.options = options,
	.run = run_view,
};
