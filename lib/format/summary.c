/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "format/manifest.h"
#include "format/members.h"

/* ---- writing --------------------------------------------------------------- */

static void
put_counts(const struct lc__counts *c, struct lc__buf *out)
{
	lc__buf_printf(out,
	    "\"total\":%llu,\"non_empty\":%llu,\"empty\":%llu,"
	    "\"missing_image\":%llu,\"missing_file\":%llu,\"invalid\":%llu",
	    (unsigned long long)c->total, (unsigned long long)c->non_empty,
	    (unsigned long long)c->empty, (unsigned long long)c->missing_image,
	    (unsigned long long)c->missing_file, (unsigned long long)c->invalid);
}

static lc_status
put_runs(const struct lc__summary *s, struct lc__buf *out)
{
	for (size_t i = 0; i < s->n_runs; i++) {
		lc__buf_printf(out, "%s{\"run_id\":", i > 0 ? "," : "");
		return_if_error(lc__manifest_quote(s->runs[i].run_id, out));
		lc__buf_append(out, ",", 1);
		put_counts(&s->runs[i].counts, out);
		lc__buf_append(out, "}", 1);
	}
	return LC_OK;
}

static void
put_written(const struct lc__summary *s, struct lc__buf *out)
{
	lc__buf_printf(out,
	    "\"written\":%llu,\"boxes\":%llu,\"clipped\":%llu,"
	    "\"dropped\":%llu,\"overflow_boxes\":%llu,\"overflow_samples\":%llu",
	    (unsigned long long)s->written, (unsigned long long)s->boxes,
	    (unsigned long long)s->clipped, (unsigned long long)s->dropped,
	    (unsigned long long)s->overflow_boxes,
	    (unsigned long long)s->overflow_samples);
	if (s->filtered > 0)
		lc__buf_printf(out, ",\"filtered\":%llu",
		    (unsigned long long)s->filtered);
}

static lc_status
put_reasons(const struct lc__summary *s, struct lc__buf *out)
{
	for (size_t i = 0; i < s->n_reasons; i++) {
		if (i > 0)
			lc__buf_append(out, ",", 1);
		return_if_error(lc__manifest_quote(s->reasons[i].name, out));
		lc__buf_printf(out, ":%llu", (unsigned long long)s->reasons[i].count);
	}
	return LC_OK;
}

lc_status
lc__summary_format(const struct lc__summary *summary, struct lc__buf *out)
{
	lc__buf_printf(out, "{\"totals\":{");
	put_counts(&summary->totals, out);
	lc__buf_printf(out, "},\"runs\":[");
	return_if_error(put_runs(summary, out));
	lc__buf_printf(out, "],");
	put_written(summary, out);
	lc__buf_printf(out, ",\"reasons\":{");
	return_if_error(put_reasons(summary, out));
	lc__buf_printf(out, "}}");
	return out->failed ? lc__no_memory("summary") : LC_OK;
}

/* ---- reading --------------------------------------------------------------- */

/* The sum of n numbers into *sum, false if it overflows. */
static bool
add_up(const uint64_t *numbers, size_t n, uint64_t *sum)
{
	*sum = 0;
	for (size_t i = 0; i < n; i++)
		if (!lc__add64(*sum, numbers[i], sum))
			return false;
	return true;
}

static bool
add_counts(const struct lc__counts *c, uint64_t *sum)
{
	const uint64_t all[] = { c->non_empty, c->empty, c->missing_image,
		c->missing_file, c->invalid };

	return add_up(all, sizeof(all) / sizeof(all[0]), sum);
}

static lc_status
get_counts(const struct lc__members *from, struct lc__counts *c)
{
	const struct {
		const char *key;
		uint64_t *place;
	} rows[] = {
		{ "missing", &c->missing_file }, /* another program's name */
		{ "non_empty", &c->non_empty },
		{ "empty", &c->empty },
		{ "missing_image", &c->missing_image },
		{ "missing_file", &c->missing_file },
		{ "invalid", &c->invalid },
	};
	const size_t first = lc__member_has(from, "missing_image") ||
	    lc__member_has(from, "missing_file");

	for (size_t i = first; i < sizeof(rows) / sizeof(rows[0]); i++)
		return_if_error(
		    lc__member_number(from, rows[i].key, INT64_MAX, rows[i].place));
	if (!add_counts(c, &c->total))
		return lc__member_bad(from, "total", "is out of range");
	return lc__member_number(from, "total", INT64_MAX, &c->total);
}

/* Take what one program writes and another may leave out. */
static lc_status
get_written(const struct lc__members *from, struct lc__summary *s)
{
	const struct {
		const char *key;
		uint64_t *place;
	} rows[] = {
		{ "written", &s->written },
		{ "boxes", &s->boxes },
		{ "clipped", &s->clipped },
		{ "dropped", &s->dropped },
		{ "filtered", &s->filtered },
		{ "overflow_boxes", &s->overflow_boxes },
		{ "overflow_samples", &s->overflow_samples },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		return_if_error(
		    lc__member_number(from, rows[i].key, INT64_MAX, rows[i].place));
	return LC_OK;
}

static lc_status
get_runs(const struct lc__members *from, struct lc__summary *s)
{
	const struct lc__json *list = NULL, *item;

	return_if_error(lc__member_array(from, "runs", &list));
	s->runs = calloc(list != NULL && list->count > 0 ? list->count : 1,
	    sizeof(*s->runs));
	if (s->runs == NULL)
		return lc__no_memory(from->name);
	lc__json_each(item, list)
	{
		/* Counted first, so that a half-read entry is freed as well. */
		struct lc__run_summary *place = &s->runs[s->n_runs++];
		const struct lc__members run = { from->name, "runs", s->n_runs, item };
		if (!lc__json_is(item, LC__JSON_OBJECT))
			return lc__member_bad(&run, "entry", "is not an object");
		return_if_error(lc__member_text(&run, "run_id", &place->run_id));
		if (place->run_id == NULL)
			return lc__member_bad(&run, "run_id", "is missing");
		return_if_error(get_counts(&run, &place->counts));
	}
	return LC_OK;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct lc__tally *)a)->name,
	    ((const struct lc__tally *)b)->name);
}

/* How often each reason is there: its object's members are many and each is looked at once,
 * so that they are not looked for by name. */
static lc_status
get_reasons(const struct lc__members *from, struct lc__summary *s)
{
	struct lc__members reasons = { from->name, "reasons", 0, NULL };
	const struct lc__json *item;

	return_if_error(lc__member_object(from, "reasons", &reasons.json));
	s->reasons = calloc(reasons.json != NULL && reasons.json->count > 0
		? reasons.json->count
		: 1,
	    sizeof(*s->reasons));
	if (s->reasons == NULL)
		return lc__no_memory(from->name);
	lc__json_each(item, reasons.json)
	{
		struct lc__tally *place = &s->reasons[s->n_reasons];
		place->name = strdup(item->name);
		if (place->name == NULL)
			return lc__no_memory(from->name);
		s->n_reasons++;
		return_if_error(
		    lc__member_number_of(&reasons, item, INT64_MAX, &place->count));
	}
	qsort(s->reasons, s->n_reasons, sizeof(*s->reasons), by_name);
	return LC_OK;
}

/* ---- whether it adds up ---------------------------------------------------- */

/* The sum of the runs' counters. */
static bool
add_runs(const struct lc__summary *s, struct lc__counts *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct lc__counts *c = &s->runs[i].counts;
		if (!lc__add64(sum->total, c->total, &sum->total) ||
		    !lc__add64(sum->non_empty, c->non_empty, &sum->non_empty) ||
		    !lc__add64(sum->empty, c->empty, &sum->empty) ||
		    !lc__add64(sum->missing_image, c->missing_image,
			&sum->missing_image) ||
		    !lc__add64(sum->missing_file, c->missing_file, &sum->missing_file) ||
		    !lc__add64(sum->invalid, c->invalid, &sum->invalid))
			return false;
	}
	return true;
}

/* A summary of our own says what became of each frame, and says it once. */
static lc_status
check_sums(const struct lc__members *top, const struct lc__summary *s)
{
	const struct lc__counts *t = &s->totals;
	struct lc__members run = { top->name, "runs", 0, NULL };
	struct lc__counts runs;
	uint64_t sum, left = s->written;

	for (size_t i = 0; i < s->n_runs; i++) {
		run.place = i + 1;
		if (!add_counts(&s->runs[i].counts, &sum) ||
		    sum != s->runs[i].counts.total)
			return lc__member_bad(&run, "total",
			    "is not the sum of its counts");
	}
	if (!add_counts(t, &sum) || sum != t->total)
		return lc__member_bad(top, "totals", "do not add up to total");
	if (!add_runs(s, &runs) || memcmp(&runs, t, sizeof(runs)) != 0)
		return lc__member_bad(top, "totals", "are not the sum of the runs");
	if (s->written != t->non_empty && s->written != t->non_empty + t->empty)
		return lc__member_bad(top, "written",
		    "is neither non_empty nor that and empty");
	for (size_t i = 0; i < s->n_reasons; i++)
		if (!lc__add64(left, s->reasons[i].count, &left))
			return lc__member_bad(top, "reasons", "are out of range");
	if (left != t->total)
		return lc__member_bad(top, "written", "and reasons are not total");
	return LC_OK;
}

static lc_status
get_summary(const struct lc__members *top, struct lc__summary *s)
{
	struct lc__members totals = { top->name, "totals", 0, NULL };

	return_if_error(get_runs(top, s));
	return_if_error(lc__member_object(top, "totals", &totals.json));
	if (totals.json != NULL)
		return_if_error(get_counts(&totals, &s->totals));
	else if (!add_runs(s, &s->totals))
		return lc__member_bad(top, "runs", "are out of range");
	return_if_error(get_written(top, s));
	return_if_error(get_reasons(top, s));
	return lc__member_has(top, "written") ? check_sums(top, s) : LC_OK;
}

lc_status
lc__summary_parse(const char *text, const char *name, struct lc__summary *out)
{
	struct lc__members top = { name, "summary", 0, NULL };
	struct lc__summary s = { 0 };
	struct lc__json_tree tree = { 0 };
	lc_status status = lc__members_load(text, name, &tree, &top.json);

	if (status == LC_OK)
		status = get_summary(&top, &s);
	lc__json_free(&tree);
	if (status == LC_OK)
		*out = s;
	else
		lc__summary_free(&s);
	return status;
}

void
lc__summary_free(struct lc__summary *summary)
{
	for (size_t i = 0; i < summary->n_reasons; i++)
		free(summary->reasons[i].name);
	for (size_t i = 0; i < summary->n_runs; i++)
		free(summary->runs[i].run_id);
	free(summary->reasons);
	free(summary->runs);
	memset(summary, 0, sizeof(*summary));
}
