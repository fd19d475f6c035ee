/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits on what validation counted. */
#include <string.h>

#include "base/error.h"
#include "base/json_number.h"
#include "format/members.h"
#include "format/summary.h"

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
get_mode(const struct lc__members *top, bool *warn)
{
	const char *mode = lc__json_text(lc__json_get(top->json, "mode"));

	if (!lc__member_has(top, "mode"))
		return LC_OK;
	if (mode == NULL || (strcmp(mode, "fail") != 0 && strcmp(mode, "warn") != 0))
		return lc__member_bad(top, "mode", "is neither fail nor warn");
	*warn = *mode == 'w';
	return LC_OK;
}

static lc_status
get_thresholds(const struct lc__members *top, struct lc__thresholds *out)
{
	for (int i = 0; i < LIMITS; i++) {
		struct lc__limit *limit = (struct lc__limit *)limit_of(out, i);
		const char *count = limit_rows[i].count_key;
		const char *ratio = limit_rows[i].ratio_key;
		limit->has_count = lc__member_has(top, count);
		limit->has_ratio = lc__member_has(top, ratio);
		return_if_error(lc__member_number(top, count, INT64_MAX, &limit->count));
		return_if_error(lc__member_share(top, ratio, &limit->ratio));
	}
	return get_mode(top, &out->warn);
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

/* ---- comparing ------------------------------------------------------------- */

static void
note_count(struct lc__buf *found, const char *what, uint64_t count, uint64_t total,
    uint64_t limit)
{
	lc__buf_printf(found, "%s%s %llu of %llu frames, limit %llu",
	    found->size > 0 ? "; " : "", what, (unsigned long long)count,
	    (unsigned long long)total, (unsigned long long)limit);
}

static void
note_ratio(struct lc__buf *found, const char *what, uint64_t count, uint64_t total,
    double limit)
{
	lc__buf_printf(found, "%s%s %llu of %llu frames (%.1f %%), limit %g %%",
	    found->size > 0 ? "; " : "", what, (unsigned long long)count,
	    (unsigned long long)total, 100.0 * (double)count / (double)total,
	    100.0 * limit);
}

static void
compare(const struct lc__limit *limit, const char *what, uint64_t count, uint64_t total,
    struct lc__buf *found)
{
	if (limit->has_count && count > limit->count)
		note_count(found, what, count, total, limit->count);
	/* A quotient of two integers is the number nearest to it, as the limit is
	 * the number nearest to its text: 5 of 100 do not exceed 0.05. */
	if (limit->has_ratio && total > 0 && (double)count / (double)total > limit->ratio)
		note_ratio(found, what, count, total, limit->ratio);
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
