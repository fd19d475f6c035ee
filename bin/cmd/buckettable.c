/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/buckettable.h"

#include <stdio.h>
#include <string.h>

#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

/* The longest bar. */
#define BAR 28

bool
buckettable_usual(uint32_t width, uint32_t height)
{
	const uint64_t w = width, h = height;

	return 5 * w >= 2 * h && 2 * w <= 5 * h;
}

void
buckettable_init(struct buckettable *table, const lc_bucket *buckets, size_t n)
{
	memset(table, 0, sizeof(*table));
	table->buckets = buckets;
	table->n = n;
}

/* The share of an image that is cut off when it fills the bucket; as much of the
 * bucket is padding when all of the image is kept. */
static double
cut_of(const lc_bucket *bucket, uint32_t width, uint32_t height)
{
	const double a = (double)width * bucket->height;
	const double b = (double)bucket->width * height;

	return 1 - (a < b ? a / b : b / a);
}

const lc_bucket *
buckettable_add(struct buckettable *table, uint32_t width, uint32_t height)
{
	const size_t at = lc_bucket_nearest(table->buckets, table->n, width, height);
	const double cut = cut_of(&table->buckets[at], width, height);

	table->rows[at].images++;
	table->rows[at].cut += cut;
	table->images++;
	table->cut += cut;
	table->outside += !buckettable_usual(width, height);
	return &table->buckets[at];
}

/* ---- text --------------------------------------------------------------------- */

static void
print_row(const struct buckettable *table, size_t at, uint64_t most)
{
	const lc_bucket *bucket = &table->buckets[at];
	const struct buckettable_row *row = &table->rows[at];
	/* Whatever is there can be seen. */
	const int bar = row->images == 0 ? 0 : (int)(1 + (double)(BAR - 1) *
	    (double)row->images / (double)most);
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

/* Those that were learned, as they are given again. */
static void
print_option(const struct buckettable *table)
{
	printf("--buckets ");
	for (size_t i = 0; i < table->n; i++)
		printf("%s%ux%u", i > 0 ? "," : "", table->buckets[i].width,
		    table->buckets[i].height);
	putchar('\n');
}

static void
print_text(const struct buckettable *table, const size_t *order)
{
	uint64_t most = 1;
	char images[SIZE_TEXT];

	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].images > most)
			most = table->rows[i].images;
	printf("%s%-11s %8s %10s %8s %7s%s\n", report_bold(stdout), "bucket", "ratio",
	    "images", "share", "cut", report_plain(stdout));
	for (size_t i = 0; i < table->n; i++)
		print_row(table, order[i], most);
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
		print_option(table);
}

/* ---- JSON --------------------------------------------------------------------- */

static void
print_json_row(struct json *json, const struct buckettable *table, size_t at)
{
	const lc_bucket *bucket = &table->buckets[at];
	const struct buckettable_row *row = &table->rows[at];
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
print_json(const struct buckettable *table, const size_t *order)
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

void
buckettable_print(const struct buckettable *table)
{
	size_t order[LC_BUCKETS_MAX];

	for (size_t i = 0; i < table->n; i++) {
		size_t at = i;
		for (; at > 0 && ratio_less(&table->buckets[i],
		    &table->buckets[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	if (settings.json)
		print_json(table, order);
	else
		print_text(table, order);
}
