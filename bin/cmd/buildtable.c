/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/buildtable.h"

#include <stdio.h>

#include "labels/reject.h"
#include "ui/report.h"
#include "ui/size.h"

/* "  frames      1234" */
static void
line(const char *name, uint64_t count)
{
	printf("  %-18s%12llu", name, (unsigned long long)count);
}

static void
count_line(const char *name, uint64_t count)
{
	line(name, count);
	putchar('\n');
}

/* A count that is only worth a line if there is any. */
static void
some_line(const char *name, uint64_t count)
{
	if (count > 0)
		count_line(name, count);
}

static void
print_frames(const struct lc__ingest_result *result)
{
	const struct lc__ingest_state *state = &result->state;
	char name[40];

	count_line("frames", state->frames);
	line("samples", state->samples);
	if (state->reused > 0)
		printf("  (%llu frames as they were stored before)",
		    (unsigned long long)state->reused);
	putchar('\n');
	some_line("  16 bits made 8", state->reduced);
	for (int i = LC__REJECT_NONE + 1; i < LC__REJECTS; i++) {
		snprintf(name, sizeof(name), "  %s",
		    lc__reject_name((enum lc__reject)i));
		some_line(name, state->rejected[i]);
	}
	some_line("gone since then", result->forgotten);
}

static void
print_boxes(const struct lc__summary *summary)
{
	count_line("boxes", summary->boxes);
	some_line("  cut at the edge", summary->clipped);
	some_line("  dropped", summary->dropped);
	some_line("  of other classes", summary->filtered);
	if (summary->overflow_boxes > 0) {
		line("  above the limit", summary->overflow_boxes);
		printf("  (in %llu samples)\n",
		    (unsigned long long)summary->overflow_samples);
	}
}

static void
print_shards(const struct lc__ingest_result *result)
{
	char size[SIZE_TEXT];

	line("shards", result->shards);
	printf("  %s", size_human((double)result->bytes, size, sizeof(size)));
	if (result->shards_reused > 0)
		printf(" (%llu as they were)",
		    (unsigned long long)result->shards_reused);
	putchar('\n');
}

/* What a phase's work is counted in, for its rate by a thread's second. */
static void
print_rate(const struct lc__ingest_state *state, enum lc__phase phase,
    double seconds)
{
	const uint64_t done[LC__PHASES] = {
		[LC__PHASE_READ] = state->bytes_read,
		[LC__PHASE_STORE] = state->bytes_stored,
		[LC__PHASE_EXPORT] = state->bytes_exported
	};
	char size[SIZE_TEXT];

	if (seconds <= 0)
		return;
	if (done[phase] > 0)
		printf("  %10s/s", size_human((double)done[phase] / seconds, size,
		    sizeof(size)));
	else if (phase == LC__PHASE_SCAN || phase == LC__PHASE_LABEL)
		printf("  %10.0f frames/s", (double)state->frames_done / seconds);
	else if (phase == LC__PHASE_DECODE || phase == LC__PHASE_RESIZE)
		printf("  %10.1f images/s",
		    (double)(state->samples + state->rejected[LC__REJECT_NO_LABELS] -
		        state->reused) / seconds);
}

static void
print_phases(const struct lc__ingest_state *state)
{
	const double wall = (double)state->wall_ns / 1e9;
	double all = 0;

	for (int i = 0; i < LC__PHASES; i++)
		all += (double)state->ns[i] / 1e9;
	printf("  %s%-10s %9s %7s%s\n", report_bold(stdout), "phase", "seconds",
	    "share", report_plain(stdout));
	for (int i = 0; i < LC__PHASES; i++) {
		const double seconds = (double)state->ns[i] / 1e9;
		printf("  %-10s %9.2f %6.1f%%",
		    lc__phase_name((enum lc__phase)i), seconds,
		    all > 0 ? 100 * seconds / all : 0);
		print_rate(state, (enum lc__phase)i, seconds);
		putchar('\n');
	}
	printf("  %-10s %9.2f %8s", "wall", wall, "");
	if (wall > 0)
		printf("  %10.1f frames/s", (double)state->frames_done / wall);
	putchar('\n');
}

void
buildtable_print(const struct lc__ingest_result *result, bool dry_run)
{
	if (result->version_dir != NULL)
		printf("%s%s%s\n", report_bold(stdout), result->version_dir,
		    report_plain(stdout));
	else if (dry_run)
		printf("nothing is written\n");
	print_frames(result);
	print_boxes(&result->summary);
	if (result->version_dir != NULL)
		print_shards(result);
	print_phases(&result->state);
}
