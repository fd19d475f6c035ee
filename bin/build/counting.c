/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/counting.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "labels/label.h"

enum lc__reject
lc__counting_fate(const struct lc__recipe *recipe, const struct lc__sample *sample)
{
	if (sample->reason == LC__REJECT_NONE && sample->n == 0 && recipe->skip_empty)
		return LC__REJECT_NO_LABELS;
	return sample->reason;
}

const char *
lc__counting_detail(const struct lc__sample *sample, struct lc__label *label)
{
	const char *file = sample->label.path != NULL ? sample->label.path
						      : sample->image.path;

	if (sample->reason != LC__REJECT_NONE || file == NULL)
		return sample->detail;
	*label = (struct lc__label){ .n = 0 };
	if (sample->boxes_total == 0)
		(void)lc__label_reject(label, LC__REJECT_NO_LABELS, file, "has no boxes");
	else if (sample->filtered == sample->boxes_total)
		(void)lc__label_reject(label, LC__REJECT_NO_LABELS, file,
		    "has no boxes of the classes that are kept, but %llu of others",
		    (unsigned long long)sample->filtered);
	else
		(void)lc__label_reject(label, LC__REJECT_NO_LABELS, file,
		    "of its boxes, %llu, none is left in the frame",
		    (unsigned long long)sample->boxes_total);
	return label->detail;
}

/* The counts of a run, which is the last one or new. */
static struct lc__counts *
counts_of(struct lc__summary *summary, const char *run)
{
	const size_t n = summary->n_runs;
	struct lc__run_summary *new;

	if (n > 0 && strcmp(summary->runs[n - 1].run_id, run) == 0)
		return &summary->runs[n - 1].counts;
	if (lc__array_reserve(&summary->runs, &summary->runs_room, n + 1, "build") !=
	    LC_OK)
		return NULL;
	new = &summary->runs[n];
	*new = (struct lc__run_summary){ .run_id = strdup(run) };
	if (new->run_id == NULL)
		return NULL;
	summary->n_runs++;
	return &new->counts;
}

static void
count(struct lc__counts *counts, const struct lc__sample *sample)
{
	counts->total++;
	if (sample->reason != LC__REJECT_NONE)
		++*lc__reject_counter(counts, sample->reason);
	else if (sample->n > 0)
		counts->non_empty++;
	else
		counts->empty++;
}

static uint64_t
count_clipped(const struct lc__sample *sample, uint64_t most)
{
	const uint8_t *cut = sample->clipped.data;
	uint64_t n = 0;

	for (uint64_t i = 0; i < sample->clipped.size && i < most; i++)
		n += cut[i];
	return n;
}

static void
count_boxes(struct lc__summary *summary, const struct lc__recipe *recipe,
    const struct lc__sample *sample)
{
	const uint64_t most = recipe->max_boxes;

	summary->written++;
	summary->boxes += sample->n < most ? sample->n : most;
	summary->clipped += count_clipped(sample, most);
	summary->dropped += sample->dropped;
	if (sample->n > most) {
		summary->overflow_boxes += sample->n - most;
		summary->overflow_samples++;
	}
}

lc_status
lc__counting_add(struct lc__counting *counting, const char *run,
    const struct lc__sample *sample)
{
	const enum lc__reject fate = lc__counting_fate(counting->recipe, sample);
	struct lc__counts *counts = counts_of(counting->summary, run);

	if (counts == NULL)
		return lc__no_memory("build");
	/* Also of frames that have no others, and are left out. */
	counting->summary->filtered += sample->filtered;
	count(&counting->summary->totals, sample);
	count(counts, sample);
	if (fate == LC__REJECT_NONE)
		count_boxes(counting->summary, counting->recipe, sample);
	else
		counting->reasons[fate]++;
	return LC_OK;
}

static int
by_name(const void *a, const void *b)
{
	const struct lc__tally *one = a, *other = b;

	return strcmp(one->name, other->name);
}

lc_status
lc__counting_end(struct lc__counting *counting)
{
	struct lc__summary *summary = counting->summary;

	summary->reasons = calloc(LC__REJECTS, sizeof(*summary->reasons));
	if (summary->reasons == NULL)
		return lc__no_memory("build");
	for (int i = LC__REJECT_NONE + 1; i < LC__REJECTS; i++) {
		struct lc__tally *tally = &summary->reasons[summary->n_reasons];
		if (counting->reasons[i] == 0)
			continue;
		tally->name = strdup(lc__reject_name((enum lc__reject)i));
		if (tally->name == NULL)
			return lc__no_memory("build");
		tally->count = counting->reasons[i];
		summary->n_reasons++;
	}
	qsort(summary->reasons, summary->n_reasons, sizeof(*summary->reasons), by_name);
	return LC_OK;
}
