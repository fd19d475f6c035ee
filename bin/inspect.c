/* SPDX-License-Identifier: BSD-2-Clause */
#include "inspect.h"

#include <stdio.h>

#include "ident.h"
#include "json.h"
#include "opt.h"
#include "report.h"
#include "settings.h"
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

static void
show_sample(struct json *json, uint64_t i, const lc_sample *found)
{
	char text[LC__TENSOR_TEXT];

	if (settings.json) {
		jw_open(json, NULL, '{');
		jw_count(json, "sample", i);
		if (found->id.size > 0)
			jw_id(json, found->id);
		jw_type(json, &found->image);
		jw_close(json, '}');
		return;
	}
	printf("  sample %-9llu %s  ", (unsigned long long)i,
	    lc__tensor_describe(&found->image, text, sizeof(text)));
	ident_print(stdout, found->id);
	putchar('\n');
}

static int
show_samples(const lc_shard *shard, uint64_t sample, uint64_t most,
    struct json *json)
{
	const uint64_t samples = lc_shard_info_of(shard)->samples;
	const uint64_t first = sample == OPT_UNSET ? 0 : sample;
	const uint64_t count = sample == OPT_UNSET ? most : 1;
	lc_sample found;

	for (uint64_t i = first; i - first < count; i++) {
		lc_status status;
		if (i >= samples && sample == OPT_UNSET)
			break;
		status = lc_shard_sample(shard, i, &found);
		if (status != LC_OK)
			return report_status(status);
		show_sample(json, i, &found);
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
		return report_file(opened);
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
