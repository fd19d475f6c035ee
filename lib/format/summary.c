/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json_number.h"
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

lc_status
lc__summary_format(const struct lc__summary *summary, struct lc__buf *out)
{
	const struct lc__summary *s = summary;

	lc__buf_printf(out, "{\"totals\":{");
	put_counts(&s->totals, out);
	lc__buf_printf(out, "},\"runs\":[");
	for (size_t i = 0; i < s->n_runs; i++) {
		lc__buf_printf(out, "%s{\"run_id\":", i > 0 ? "," : "");
		return_if_error(lc__manifest_quote(s->runs[i].run_id, out));
		lc__buf_append(out, ",", 1);
		put_counts(&s->runs[i].counts, out);
		lc__buf_append(out, "}", 1);
	}
	lc__buf_printf(out,
	    "],\"written\":%llu,\"boxes\":%llu,\"clipped\":%llu,"
	    "\"dropped\":%llu,\"overflow_boxes\":%llu,\"overflow_samples\":%llu",
	    (unsigned long long)s->written, (unsigned long long)s->boxes,
	    (unsigned long long)s->clipped, (unsigned long long)s->dropped,
	    (unsigned long long)s->overflow_boxes,
	    (unsigned long long)s->overflow_samples);
	if (s->filtered > 0)
		lc__buf_printf(out, ",\"filtered\":%llu",
		    (unsigned long long)s->filtered);
	lc__buf_printf(out, ",\"reasons\":{");
	for (size_t i = 0; i < s->n_reasons; i++) {
		if (i > 0)
			lc__buf_append(out, ",", 1);
		return_if_error(lc__manifest_quote(s->reasons[i].name, out));
		lc__buf_printf(out, ":%llu", (unsigned long long)s->reasons[i].count);
	}
	lc__buf_printf(out, "}}");
	return out->failed ? lc__no_memory("summary") : LC_OK;
}

/* ---- reading --------------------------------------------------------------- */

/* Add up the frames of all outcomes into *sum; false if it overflows. */
static bool
add_counts(const struct lc__counts *c, uint64_t *sum)
{
	return lc__add64(c->non_empty, c->empty, sum) &&
	    lc__add64(*sum, c->missing_image, sum) &&
	    lc__add64(*sum, c->missing_file, sum) && lc__add64(*sum, c->invalid, sum);
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

/* Read a member that some programs write and others omit. */
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
		/* Counted before it is filled, so that a half-read entry is freed as
		 * well. */
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

/* The count of each reason. The object has many members and each is read once, so they
 * are not looked up by name. */
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

/* ---- consistency ----------------------------------------------------------------- */

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

/* A summary of our own gives the outcome of each frame exactly once. */
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

/* ---- limits ---------------------------------------------------------------------- */

/* The three limits: their names in JSON, and in messages. */
static const struct {
	const char *count_key, *ratio_key, *what;
} limit_rows[] = {
	{ "max_invalid", "max_invalid_ratio", "invalid" },
	{ "max_missing", "max_missing_ratio", "missing" },
	{ "max_empty", "max_empty_ratio", "empty" },
};

#define LIMITS 3

static const struct lc__limit *
limit_of(const struct lc__thresholds *limits, int i)
{
	const struct lc__limit *const all[LIMITS] = { &limits->invalid, &limits->missing,
		&limits->empty };

	return all[i];
}

lc_status
lc__thresholds_format(const struct lc__thresholds *limits, struct lc__buf *out)
{
	char ratio[LC__SHORTEST];

	lc__buf_append(out, "{", 1);
	for (int i = 0; i < LIMITS; i++) {
		const struct lc__limit *limit = limit_of(limits, i);
		if (limit->has_count)
			lc__buf_printf(out, "\"%s\":%llu,", limit_rows[i].count_key,
			    (unsigned long long)limit->count);
		if (!limit->has_ratio)
			continue;
		if (!(limit->ratio >= 0 && limit->ratio <= 1))
			return lc__error(LC_INVALID, 0, "%s is not within 0 and 1",
			    limit_rows[i].ratio_key);
		lc__shortest(limit->ratio, ratio);
		lc__buf_printf(out, "\"%s\":%s,", limit_rows[i].ratio_key, ratio);
	}
	lc__buf_printf(out, "\"mode\":\"%s\"}", limits->warn ? "warn" : "fail");
	return out->failed ? lc__no_memory("thresholds") : LC_OK;
}

static lc_status
get_thresholds(const struct lc__members *top, struct lc__thresholds *out)
{
	const char *mode = lc__json_text(lc__json_get(top->json, "mode"));

	for (int i = 0; i < LIMITS; i++) {
		struct lc__limit *limit = (struct lc__limit *)limit_of(out, i);
		const char *count = limit_rows[i].count_key;
		const char *ratio = limit_rows[i].ratio_key;

		limit->has_count = lc__member_has(top, count);
		limit->has_ratio = lc__member_has(top, ratio);
		return_if_error(lc__member_number(top, count, INT64_MAX, &limit->count));
		return_if_error(lc__member_share(top, ratio, &limit->ratio));
	}
	if (!lc__member_has(top, "mode"))
		return LC_OK;
	if (mode == NULL || (strcmp(mode, "fail") != 0 && strcmp(mode, "warn") != 0))
		return lc__member_bad(top, "mode", "is neither fail nor warn");
	out->warn = *mode == 'w';
	return LC_OK;
}

lc_status
lc__thresholds_parse(const char *text, const char *name, struct lc__thresholds *out)
{
	struct lc__members top = { name, "thresholds", 0, NULL };
	struct lc__thresholds limits = { 0 };
	struct lc__json_tree tree = { 0 };
	lc_status status = lc__members_load(text, name, &tree, &top.json);

	if (status == LC_OK)
		status = get_thresholds(&top, &limits);
	lc__json_free(&tree);
	if (status == LC_OK)
		*out = limits;
	return status;
}

/* Append to @p found the limits that a count exceeds. */
static void
compare(const struct lc__limit *limit, const char *what, uint64_t count, uint64_t total,
    struct lc__buf *found)
{
	if (limit->has_count && count > limit->count)
		lc__buf_printf(found, "%s%s %llu of %llu frames, limit %llu",
		    found->size > 0 ? "; " : "", what, (unsigned long long)count,
		    (unsigned long long)total, (unsigned long long)limit->count);
	/* A quotient of two integers is rounded to the nearest number, and so is the
	 * limit from its text: 5 of 100 do not exceed 0.05. */
	if (limit->has_ratio && total > 0 && (double)count / (double)total > limit->ratio)
		lc__buf_printf(found, "%s%s %llu of %llu frames (%.1f %%), limit %g %%",
		    found->size > 0 ? "; " : "", what, (unsigned long long)count,
		    (unsigned long long)total, 100.0 * (double)count / (double)total,
		    100.0 * limit->ratio);
}

lc_status
lc__thresholds_check(const struct lc__thresholds *limits, const struct lc__counts *counts)
{
	const uint64_t found[LIMITS] = { counts->invalid,
		counts->missing_image + counts->missing_file, counts->empty };
	struct lc__buf text = { 0 };
	lc_status status = LC_OK;

	for (int i = 0; i < LIMITS; i++)
		compare(limit_of(limits, i), limit_rows[i].what, found[i], counts->total,
		    &text);
	if (text.failed)
		status = lc__no_memory("thresholds");
	else if (text.size > 0)
		status = lc__error(LC_INVALID, 0, "%.*s", (int)text.size,
		    (const char *)text.data);
	lc__buf_free(&text);
	return status;
}
