/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/compare.h"

#include <string.h>

#include "base/error.h"

static lc_status
differs(const char *path, const char *what, uint64_t has, uint64_t said)
{
	return lc__error(LC_CORRUPT, 0, "%s: %s is %llu, the manifest says %llu",
	    path, what, (unsigned long long)has, (unsigned long long)said);
}

static lc_status
dtype_differs(const char *path, const char *what, lc_dtype has, lc_dtype said)
{
	return lc__error(LC_CORRUPT, 0, "%s: %s is %s, the manifest says %s", path,
	    what, lc_dtype_name(has), lc_dtype_name(said));
}

lc_status
lc__shard_compare(const char *path, const struct lc__twh1 *shard,
    const struct lc__manifest_shard *said)
{
	const lc_shard_info *has = &shard->info;
	char section[17];
	const struct {
		const char *what;
		uint64_t has, said;
	} rows[] = {
		{ "file size", has->file_size,
		    said->has_bytes ? said->bytes : has->file_size },
		{ "shard_version", has->version, said->shard_version },
		{ "samples", has->samples, said->samples },
		{ "width", has->width, said->width },
		{ "height", has->height, said->height },
		{ "channels", has->channels, said->channels },
		{ "max_boxes", has->max_boxes, said->max_boxes },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].has != rows[i].said)
			return differs(path, rows[i].what, rows[i].has,
			    rows[i].said);
	if (has->dtype != said->dtype)
		return dtype_differs(path, "dtype", has->dtype, said->dtype);
	if (has->boxes_dtype != said->boxes_dtype && has->max_boxes > 0)
		return dtype_differs(path, "boxes_dtype", has->boxes_dtype,
		    said->boxes_dtype);
	lc__twh1_section_xxh3(shard, section);
	if (said->section_xxh3[0] && strcmp(section, said->section_xxh3) != 0)
		return lc__error(LC_CORRUPT, 0, "%s: its checksum section ends in %s, "
		    "the manifest says %s", path, section[0] ? section : "nothing",
		    said->section_xxh3);
	if (said->big_endian)
		return lc__error(LC_CORRUPT, 0,
		    "%s: is little-endian, the manifest says Big", path);
	return LC_OK;
}
