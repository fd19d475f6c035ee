/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/resultjson.h"

#include "labels/reject.h"

void
result_counts(struct json *json, const struct lc__ingest_state *state)
{
	jw_count(json, "frames", state->frames);
	jw_count(json, "frames_done", state->frames_done);
	jw_count(json, "samples", state->samples);
	jw_count(json, "reused", state->reused);
	jw_count(json, "reduced", state->reduced);
	jw_open(json, "rejected", '{');
	for (int i = LC__REJECT_NONE + 1; i < LC__REJECTS; i++)
		if (state->rejected[i] > 0)
			jw_count(json, lc__reject_name((enum lc__reject)i),
			    state->rejected[i]);
	jw_close(json, '}');
	jw_count(json, "bytes_read", state->bytes_read);
	jw_count(json, "bytes_stored", state->bytes_stored);
	jw_count(json, "bytes_exported", state->bytes_exported);
}

static void
put_seconds(struct json *json, const struct lc__ingest_state *state)
{
	jw_real(json, "wall_seconds", (double)state->wall_ns / 1e9);
	jw_open(json, "thread_seconds", '{');
	for (int i = 0; i < LC__PHASES; i++)
		jw_real(json, lc__phase_name((enum lc__phase)i),
		    (double)state->ns[i] / 1e9);
	jw_close(json, '}');
}

static void
put_summary(struct json *json, const struct lc__summary *summary)
{
	const struct lc__counts *totals = &summary->totals;

	jw_open(json, "totals", '{');
	jw_count(json, "total", totals->total);
	jw_count(json, "non_empty", totals->non_empty);
	jw_count(json, "empty", totals->empty);
	jw_count(json, "missing_image", totals->missing_image);
	jw_count(json, "missing_file", totals->missing_file);
	jw_count(json, "invalid", totals->invalid);
	jw_close(json, '}');
	jw_count(json, "boxes", summary->boxes);
	jw_count(json, "clipped", summary->clipped);
	jw_count(json, "dropped", summary->dropped);
	jw_count(json, "filtered", summary->filtered);
	jw_count(json, "overflow_boxes", summary->overflow_boxes);
	jw_count(json, "overflow_samples", summary->overflow_samples);
}

void
result_members(struct json *json, const struct lc__ingest_result *result)
{
	if (result->version_dir != NULL)
		jw_text(json, "version_dir", result->version_dir);
	jw_text(json, "version", result->version);
	jw_text(json, "fingerprint", result->fingerprint);
	jw_flag(json, "up_to_date", result->up_to_date);
	result_counts(json, &result->state);
	put_summary(json, &result->summary);
	jw_open(json, "ignored", '{');
	for (size_t i = 0; lc__images_ignored_ending(i) != NULL; i++)
		if (result->ignored.by_ending[i] > 0)
			jw_count(json, lc__images_ignored_ending(i) + 1,
			    result->ignored.by_ending[i]);
	jw_close(json, '}');
	jw_count(json, "forgotten", result->forgotten);
	jw_count(json, "shards", result->shards);
	jw_count(json, "shards_reused", result->shards_reused);
	jw_count(json, "bytes", result->bytes);
	put_seconds(json, &result->state);
}
