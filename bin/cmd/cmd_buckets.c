/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex buckets: images counted by aspect bucket, and buckets learned from them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cmd/buckets_sizes.h"
#include "lmdbcache.h"
#include "ui/columns.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

struct table_row {
	uint64_t images;
	double cut; /* sum over them */
};

struct table {
	const lc_bucket *buckets; /* borrowed */
	size_t n;
	struct table_row rows[LC_BUCKETS_MAX];
	uint64_t images, outside, bad, unreadable;
	double cut;
	bool learned;
};

/* Images of unusual ratios that are named; more are counted. */
#define MOST_WARNINGS 10

static int assign;
static uint64_t analyze = OPT_UNSET;
static const char *list_of_buckets;
static const char *area;
static uint64_t quantum = OPT_UNSET;
static const char *width_field = "width";
static const char *height_field = "height";
static const char *name_field = "image_path";
static int ignore_orientation;
static const char *files_from;
static int null;
static int keep_going;

static struct opt options[] = {
	{ "", "assign", OPT_FLAG, &assign,
	    .help = "print for each image its name, its size and its bucket" },
	{ "", "analyze", OPT_COUNT, &analyze, .value = "K", .least = 1,
	    .most = LC_BUCKETS_MAX, .help = "learn K buckets from the images" },
	{ "", "buckets", OPT_TEXT, &list_of_buckets, .value = "WxH,...",
	    .help = "use these buckets; default seven of about a megapixel" },
	{ "", "area", OPT_TEXT, &area, .value = "WxH|PIXELS",
	    .help = "size of learned buckets; default 1024x1024" },
	{ "", "quantum", OPT_COUNT, &quantum, .value = "PIXELS", .least = 1,
	    .most = 65535, .help = "their sides are multiples of this; default 64" },
	{ "", "width-field", OPT_TEXT, &width_field, .value = "NAME",
	    .help = "field of a JSON line with the width" },
	{ "", "height-field", OPT_TEXT, &height_field, .value = "NAME",
	    .help = "field with the height" },
	{ "", "name-field", OPT_TEXT, &name_field, .value = "NAME",
	    .help = "field with the image's name; without it FILE:LINE" },
	{ "", "ignore-orientation", OPT_FLAG, &ignore_orientation,
	    .help = "do not rotate images by their EXIF data" },
	{ "", "files-from", OPT_FILE, &files_from, .value = "FILE",
	    .help = "read more items from FILE, one per line; - is standard input" },
	{ "z0", "null", OPT_FLAG, &null, .help = "items in lists end with a NUL byte" },
	{ "k", "keep-going", OPT_FLAG, &keep_going,
	    .help = "continue after files that the system cannot or may not read" },
	{ .kind = OPT_END },
};

/* ---- the table: how many images each bucket has, and how well they fit ------------- */

/* The longest bar. */
#define BAR 28

/* Ratios outside of 0.4 to 2.5 are reported and counted. */
static bool
is_usual_ratio(uint32_t width, uint32_t height)
{
	const uint64_t w = width, h = height;

	return 5 * w >= 2 * h && 2 * w <= 5 * h;
}

static void
table_init(struct table *table, const lc_bucket *buckets, size_t n)
{
	memset(table, 0, sizeof(*table));
	table->buckets = buckets;
	table->n = n;
}

/* The share of an image that is cut off when it fills the bucket. The same share of the
 * bucket is padding when the whole image is kept. */
static double
cut_of(const lc_bucket *bucket, uint32_t width, uint32_t height)
{
	const double a = (double)width * bucket->height;
	const double b = (double)bucket->width * height;

	return 1 - (a < b ? a / b : b / a);
}

/* Count an image; its bucket. */
static const lc_bucket *
table_add(struct table *table, uint32_t width, uint32_t height)
{
	const size_t at = lc_bucket_nearest(table->buckets, table->n, width, height);
	const double cut = cut_of(&table->buckets[at], width, height);

	table->rows[at].images++;
	table->rows[at].cut += cut;
	table->images++;
	table->cut += cut;
	table->outside += !is_usual_ratio(width, height);
	return &table->buckets[at];
}

/* ---- text --------------------------------------------------------------------- */

static void
print_text_row(const struct table *table, size_t at, uint64_t most)
{
	const lc_bucket *bucket = &table->buckets[at];
	const struct table_row *row = &table->rows[at];
	/* A bucket with one image has a bar too. */
	const int bar = row->images == 0
	    ? 0
	    : (int)(1 + (double)(BAR - 1) * (double)row->images / (double)most);
	char name[24], cut[16] = "-";

	snprintf(name, sizeof(name), "%ux%u", bucket->width, bucket->height);
	if (row->images > 0)
		snprintf(cut, sizeof(cut), "%.1f %%",
		    100 * row->cut / (double)row->images);
	printf("%-11s %8.3f %10llu %6.1f %% %7s", name,
	    (double)bucket->width / bucket->height, (unsigned long long)row->images,
	    table->images > 0 ? 100 * (double)row->images / (double)table->images : 0,
	    cut);
	printf("%s%.*s\n", bar > 0 ? "  " : "", bar, "############################");
}

/* The learned buckets, in the form that --buckets reads. */
static void
print_learned(const struct table *table)
{
	printf("--buckets ");
	for (size_t i = 0; i < table->n; i++)
		printf("%s%ux%u", i > 0 ? "," : "", table->buckets[i].width,
		    table->buckets[i].height);
	putchar('\n');
}

static void
print_table_text(const struct table *table, const size_t *order)
{
	uint64_t most = 1;
	char images[SIZE_TEXT];

	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].images > most)
			most = table->rows[i].images;
	printf("%s%-11s %8s %10s %8s %7s%s\n", report_bold(stdout), "bucket", "ratio",
	    "images", "share", "cut", report_plain(stdout));
	for (size_t i = 0; i < table->n; i++)
		print_text_row(table, order[i], most);
	printf("%s", count_human(table->images, "image", images, sizeof(images)));
	if (table->images > 0)
		printf(", %.1f %% cut off or padding on average",
		    100 * table->cut / (double)table->images);
	if (table->outside > 0)
		printf("; %llu outside 0.4 to 2.5", (unsigned long long)table->outside);
	if (table->bad > 0)
		printf("; %llu bad", (unsigned long long)table->bad);
	if (table->unreadable > 0)
		printf("; %llu unreadable", (unsigned long long)table->unreadable);
	putchar('\n');
	if (table->learned)
		print_learned(table);
}

/* ---- JSON --------------------------------------------------------------------- */

static void
print_json_row(struct json *json, const struct table *table, size_t at)
{
	const lc_bucket *bucket = &table->buckets[at];
	const struct table_row *row = &table->rows[at];
	char name[24];

	snprintf(name, sizeof(name), "%ux%u", bucket->width, bucket->height);
	jw_open(json, NULL, '{');
	jw_text(json, "aspect_bucket", name);
	jw_count(json, "width", bucket->width);
	jw_count(json, "height", bucket->height);
	jw_real(json, "ratio", (double)bucket->width / bucket->height);
	jw_count(json, "images", row->images);
	if (row->images > 0) {
		jw_real(json, "share", (double)row->images / (double)table->images);
		jw_real(json, "cut", row->cut / (double)row->images);
	}
	jw_close(json, '}');
}

static void
print_table_json(const struct table *table, const size_t *order)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_count(&json, "images", table->images);
	jw_count(&json, "bad", table->bad);
	jw_count(&json, "unreadable", table->unreadable);
	jw_count(&json, "outside", table->outside);
	if (table->images > 0)
		jw_real(&json, "cut", table->cut / (double)table->images);
	jw_flag(&json, "learned", table->learned);
	jw_open(&json, "buckets", '[');
	for (size_t i = 0; i < table->n; i++)
		print_json_row(&json, table, order[i]);
	jw_close(&json, ']');
	jw_end_line(&json);
}

/* ---- both --------------------------------------------------------------------- */

static bool
ratio_less(const lc_bucket *a, const lc_bucket *b)
{
	return (uint64_t)a->width * b->height < (uint64_t)b->width * a->height;
}

/* All of it on standard output, in ascending order of width / height. */
static void
print_table(const struct table *table)
{
	size_t order[LC_BUCKETS_MAX];

	for (size_t i = 0; i < table->n; i++) {
		size_t at = i;
		for (; at > 0 &&
		     ratio_less(&table->buckets[i], &table->buckets[order[at - 1]]);
		     at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	if (settings.json)
		print_table_json(table, order);
	else
		print_table_text(table, order);
}

/* ---- the command ------------------------------------------------------------------- */

struct size {
	uint32_t width, height;
};

struct bucket_job {
	struct table table;
	lc_bucket buckets[LC_BUCKETS_MAX];
	uint64_t pixels; /* of what is learned */
	uint64_t warned;
	bool on_terminal;  /* what is printed shares it with the progress line */
	struct size *seen; /* to learn from */
	size_t n, room;
};

/* ---- options ------------------------------------------------------------------ */

/* "1024x1024" or "1048576". */
static int
read_area(uint64_t *pixels)
{
	char spelling[80];
	lc_bucket size;

	*pixels = 1024 * 1024;
	if (area == NULL || (count_parse(area, pixels) && *pixels > 0))
		return EXIT_DONE;
	if (strchr(area, 'x') == NULL || !picture_size(area, &size))
		return report_usage("%s: '%s' is neither a size nor a number of pixels",
		    opt_spelling(options, &area, cmd_buckets.name, spelling,
			sizeof(spelling)),
		    area);
	*pixels = (uint64_t)size.width * size.height;
	return EXIT_DONE;
}

static int
choose_buckets(struct bucket_job *job)
{
	char spelling[80];
	size_t n = 0;

	if (list_of_buckets == NULL || strcmp(list_of_buckets, "default") == 0) {
		const lc_bucket *all = lc_buckets_default(&n);
		memcpy(job->buckets, all, n * sizeof(*all));
	} else if (!picture_sizes(list_of_buckets, job->buckets, LC_BUCKETS_MAX, &n)) {
		return report_usage("%s: '%s' is not a list of sizes",
		    opt_spelling(options, &list_of_buckets, cmd_buckets.name, spelling,
			sizeof(spelling)),
		    list_of_buckets);
	}
	table_init(&job->table, job->buckets, n);
	return EXIT_DONE;
}

static int
check_options(int argc)
{
	const bool learns = analyze != OPT_UNSET;

	if (argc == 0 && files_from == NULL)
		return report_usage("name an image, a directory or a size");
	if (learns && assign)
		return report_usage(
		    "--assign and --analyze exclude each other; give the learned "
		    "buckets to --buckets");
	if (learns && list_of_buckets != NULL)
		return report_usage("--analyze and --buckets exclude each other");
	if (!learns && (area != NULL || quantum != OPT_UNSET))
		return report_usage("--area and --quantum need --analyze");
	return EXIT_DONE;
}

/* ---- one image ---------------------------------------------------------------- */

static void
warn_of_ratio(struct bucket_job *job, const char *name, uint32_t width, uint32_t height)
{
	if (is_usual_ratio(width, height))
		return;
	if (++job->warned > MOST_WARNINGS && !settings.verbose)
		return;
	progress_clear();
	report_note("%s: %ux%u: a ratio of %.3g is outside 0.4 to 2.5", name, width,
	    height, (double)width / height);
}

static void
print_image_text(const char *name, uint32_t width, uint32_t height,
    const lc_bucket *bucket)
{
	ident_print(stdout, lc_id_of(name));
	printf("\t%ux%u\t%ux%u\n", width, height, bucket->width, bucket->height);
}

static void
print_image_json(const char *name, uint32_t width, uint32_t height,
    const lc_bucket *bucket)
{
	struct json json = { stdout, false };
	char text[24];

	snprintf(text, sizeof(text), "%ux%u", bucket->width, bucket->height);
	jw_open(&json, NULL, '{');
	jw_text(&json, "name", name);
	jw_count(&json, "width", width);
	jw_count(&json, "height", height);
	jw_text(&json, "aspect_bucket", text);
	jw_flag(&json, "outside", !is_usual_ratio(width, height));
	jw_end_line(&json);
}

static int
count_image(void *ctx, const char *name, uint32_t width, uint32_t height)
{
	struct bucket_job *job = ctx;
	const lc_bucket *bucket = table_add(&job->table, width, height);

	warn_of_ratio(job, name, width, height);
	if (!assign)
		return EXIT_DONE;
	if (job->on_terminal)
		progress_clear();
	if (settings.json)
		print_image_json(name, width, height, bucket);
	else
		print_image_text(name, width, height, bucket);
	return report_output_failed() ? EXIT_SYSTEM : EXIT_DONE;
}

static int
keep_image(void *ctx, const char *name, uint32_t width, uint32_t height)
{
	struct bucket_job *job = ctx;

	warn_of_ratio(job, name, width, height);
	if (lc__array_reserve(&job->seen, &job->room, job->n + 1, NULL) != LC_OK)
		return report_no_memory();
	job->seen[job->n++] = (struct size){ width, height };
	return EXIT_DONE;
}

/* ---- all of them -------------------------------------------------------------- */

static int
read_images(struct image_sizes *sizes, int argc, char **argv)
{
	int status = EXIT_DONE;

	progress_begin("buckets");
	/* Nothing has to be undone, and a read may wait for input, so a signal may end
	 * the process. */
	interrupt_defer(false);
	for (int i = 0; i < argc && status == EXIT_DONE; i++)
		status = image_sizes_operand(sizes, argv[i]);
	if (status == EXIT_DONE && files_from != NULL)
		status = image_sizes_list(sizes, files_from);
	progress_end();
	return status;
}

static int
learn(struct bucket_job *job)
{
	double *ratios;
	lc_status status;
	size_t n = 0;

	if (job->n == 0)
		return report_error(EXIT_DATA, "no images to learn from");
	ratios = calloc(job->n, sizeof(*ratios));
	if (ratios == NULL)
		return report_no_memory();
	for (size_t i = 0; i < job->n; i++)
		ratios[i] = (double)job->seen[i].width / job->seen[i].height;
	status = lc_buckets_learn(ratios, job->n, (size_t)analyze, job->pixels,
	    quantum != OPT_UNSET ? (uint32_t)quantum : 64, job->buckets, &n);
	free(ratios);
	if (status != LC_OK)
		return report_status(status);
	if (n < analyze)
		report_note(
		    "learned %zu instead of %llu buckets: the others would be equal", n,
		    (unsigned long long)analyze);
	table_init(&job->table, job->buckets, n);
	job->table.learned = true;
	for (size_t i = 0; i < job->n; i++)
		table_add(&job->table, job->seen[i].width, job->seen[i].height);
	return EXIT_DONE;
}

static int
run_all(struct bucket_job *job, struct image_sizes *sizes, int argc, char **argv)
{
	int status = read_images(sizes, argc, argv);

	if (job->warned > MOST_WARNINGS && !settings.verbose)
		report_note("and %llu more outside 0.4 to 2.5",
		    (unsigned long long)(job->warned - MOST_WARNINGS));
	if (status == EXIT_DONE)
		status = report_ignored(&sizes->ignored, sizes->good == 0);
	if (status == EXIT_DONE && analyze != OPT_UNSET)
		status = learn(job);
	if (status != EXIT_DONE)
		return status;
	job->table.bad = sizes->bad;
	job->table.unreadable = sizes->unreadable;
	if (!assign)
		print_table(&job->table);
	if (sizes->unreadable > 0)
		return EXIT_SYSTEM;
	return sizes->bad > 0 ? EXIT_DATA : EXIT_DONE;
}

static int
run_buckets(int argc, char **argv)
{
	struct bucket_job job = { .on_terminal = isatty(STDOUT_FILENO) };
	struct image_sizes sizes = {
		.fields = { width_field, height_field, name_field },
		.ignore_orientation = ignore_orientation,
		.null = null,
		.keep_going = keep_going,
		.fn = analyze != OPT_UNSET ? keep_image : count_image,
		.ctx = &job,
	};
	int status = check_options(argc);

	if (status == EXIT_DONE)
		status = read_area(&job.pixels);
	if (status == EXIT_DONE)
		status = choose_buckets(&job);
	if (status == EXIT_DONE)
		status = run_all(&job, &sizes, argc, argv);
	image_sizes_free(&sizes);
	free(job.seen);
	return status;
}

const struct command cmd_buckets = {
	.name = "buckets",
	.operands = "[ITEM...]",
	.summary = "sort images into aspect buckets, or learn such buckets",
	.text =
	    "Finds for each image the bucket, a target size, with the nearest ratio of width "
	    "to height, and counts the images of each bucket. An ITEM is an image, of which "
	    "only the header is read, a directory of images, a size such as 1920x1080, a "
	    "file of JSON lines with widths and heights, or - for items, or JSON lines, on "
	    "standard input.\n"
	    "\"cut\" is the share of an image that is cut off if it fills its bucket; the same "
	    "share of the bucket is padding if the whole image is kept. Images with a ratio "
	    "outside 0.4 to 2.5 give a warning.\n"
	    "--analyze K learns K buckets from the images, each of about --area pixels, "
	    "and counts with them.\n"
	    "A bad file or line is reported and the others are counted; then the exit "
	    "status is 3. A file that the system cannot or may not read ends the command with "
	    "exit status 4; with --keep-going the others are counted.",
	.examples = "cachex buckets photos/\n"
		    "cachex buckets records.jsonl --assign --name-field image_id\n"
		    "cachex buckets photos/ --analyze 5 --area 512x512",
	.completes = "f",
	.resume = INTERRUPT_AGAIN,
	.least = 0,
	.most = -1,
	.options = options,
	.run = run_buckets,
};
