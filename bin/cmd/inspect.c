/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/ident.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "value/tensor.h"

static void
show_header_json(struct json *json, const char *path, const lc_shard_info *info)
{
	jw_open(json, NULL, '{');
	jw_text(json, "file", path);
	jw_count(json, "version", info->version);
	jw_text(json, "dtype", lc_dtype_name(info->dtype));
	jw_text(json, "boxes_dtype", lc_dtype_name(info->boxes_dtype));
	jw_count(json, "channels", info->channels);
	jw_count(json, "height", info->height);
	jw_count(json, "width", info->width);
	jw_count(json, "max_boxes", info->max_boxes);
	jw_count(json, "samples", info->samples);
	jw_count(json, "image_offset", info->image_offset);
	jw_count(json, "boxes_offset", info->boxes_offset);
	jw_count(json, "mask_offset", info->mask_offset);
	jw_count(json, "meta_offset", info->meta_offset);
	jw_count(json, "checksum_offset", info->checksum_offset);
	jw_count(json, "file_size", info->file_size);
}

static void
show_header_text(const char *path, const lc_shard_info *info)
{
	const struct { const char *label; uint64_t value; } rows[] = {
		{ "samples", info->samples }, { "max_boxes", info->max_boxes },
		{ "image_offset", info->image_offset },
		{ "boxes_offset", info->boxes_offset },
		{ "mask_offset", info->mask_offset },
		{ "meta_offset", info->meta_offset },
		{ "checksum_offset", info->checksum_offset },
		{ "file_size", info->file_size },
	};

	printf("%s%s%s\n", report_bold(stdout), path, report_plain(stdout));
	printf("  %-16s %u\n", "version", info->version);
	printf("  %-16s %s[%u,%u,%u]\n", "image", lc_dtype_name(info->dtype),
	    info->channels, info->height, info->width);
	if (info->max_boxes > 0)
		printf("  %-16s %s[%u,4]\n", "boxes",
		    lc_dtype_name(info->boxes_dtype), info->max_boxes);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("  %-16s %llu\n", rows[i].label,
		    (unsigned long long)rows[i].value);
}

#define MOST_CLASSES 4096 /* of a sample that are shown */

static void
show_classes(struct json *json, const lc_sample_origin *origin,
    const int64_t *class_ids)
{
	jw_key(json, "class_ids");
	putc('[', json->out);
	for (uint32_t i = 0; i < origin->n_classes && i < MOST_CLASSES; i++)
		fprintf(json->out, "%s%lld", i ? "," : "",
		    (long long)class_ids[i]);
	putc(']', json->out);
}

/* What the row says; nothing of what it does not. */
static void
show_origin_json(struct json *json, const lc_sample_origin *origin,
    const int64_t *class_ids)
{
	char *run = strndup(origin->run_id.size ? origin->run_id.data : "",
	    origin->run_id.size);

	if (run != NULL && *run != '\0')
		jw_text(json, "run_id", run);
	free(run);
	if (origin->has_frame_id)
		jw_count(json, "frame_id", origin->frame_id);
	if (origin->original_width > 0) {
		jw_count(json, "original_width", origin->original_width);
		jw_count(json, "original_height", origin->original_height);
	}
	if (origin->boxes_total > 0)
		jw_count(json, "boxes_total", origin->boxes_total);
	if (origin->n_classes > 0)
		show_classes(json, origin, class_ids);
}

static void
show_origin_text(const lc_sample_origin *origin)
{
	if (origin->original_width > 0)
		printf("  of %ux%u", origin->original_width,
		    origin->original_height);
	if (origin->boxes_total > 0)
		printf("  boxes %llu", (unsigned long long)origin->boxes_total);
}

static void
show_sample(struct json *json, uint64_t i, const lc_sample *found,
    const lc_sample_origin *origin, const int64_t *class_ids)
{
	char text[LC__TENSOR_TEXT];

	if (settings.json) {
		jw_open(json, NULL, '{');
		jw_count(json, "sample", i);
		if (found->id.size > 0)
			jw_id(json, found->id);
		jw_type(json, &found->image);
		show_origin_json(json, origin, class_ids);
		jw_close(json, '}');
		return;
	}
	printf("  sample %-9llu %s  ", (unsigned long long)i,
	    lc__tensor_describe(&found->image, text, sizeof(text)));
	ident_print(stdout, found->id);
	show_origin_text(origin);
	putchar('\n');
}

static int
show_samples(const lc_shard *shard, uint64_t sample, uint64_t most,
    struct json *json)
{
	const uint64_t samples = lc_shard_info_of(shard)->samples;
	const uint64_t first = sample == OPT_UNSET ? 0 : sample;
	const uint64_t count = sample == OPT_UNSET ? most : 1;
	int64_t class_ids[MOST_CLASSES];
	lc_sample_origin origin;
	lc_sample found;

	for (uint64_t i = first; i - first < count; i++) {
		lc_status status;
		if (i >= samples && sample == OPT_UNSET)
			break;
		status = lc_shard_sample(shard, i, &found);
		if (status == LC_OK)
			status = lc_sample_read_origin(&found, &origin, class_ids,
			    MOST_CLASSES);
		if (status != LC_OK)
			return report_status(status);
		show_sample(json, i, &found, &origin, class_ids);
	}
	return EXIT_DONE;
}

int
inspect_shard(const char *path, uint64_t sample, uint64_t most)
{
	struct json json = { stdout, false };
	lc_shard *shard;
	const lc_status opened = lc_shard_open(path, &shard);
	int status;

	if (opened != LC_OK)
		return report_status(opened);
	if (settings.json) {
		show_header_json(&json, path, lc_shard_info_of(shard));
		jw_open(&json, "first", '[');
	} else {
		show_header_text(path, lc_shard_info_of(shard));
	}
	status = show_samples(shard, sample, most, &json);
	if (settings.json) {
		jw_close(&json, ']');
		jw_end_line(&json);
	}
	lc_shard_close(shard);
	return status;
}
