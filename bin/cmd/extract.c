/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/extract.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "ui/json.h"
#include "ui/npyfile.h"
#include "ui/opt.h"
#include "ui/output.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"

#define NAME_ROOM 256 /* what a file system takes, with a NUL */
#define SUFFIX_ROOM 24 /* ".boxes.npy" and the temporary file's ending */

/* The id with %XX for what has a meaning in file names; false if too long. */
static bool
name_of_id(lc_id id, char out[NAME_ROOM])
{
	const unsigned char *bytes = id.data;
	size_t used = 0;

	for (size_t i = 0; i < id.size; i++) {
		const bool plain = isalnum(bytes[i]) ||
		    bytes[i] == '-' || bytes[i] == '_' ||
		    (bytes[i] == '.' && i > 0);
		if (used + 3 + SUFFIX_ROOM >= NAME_ROOM)
			return false;
		used += (size_t)snprintf(out + used, NAME_ROOM - used,
		    plain ? "%c" : "%%%02X", bytes[i]);
	}
	return used > 0;
}

/* "photos-00000-000012" for sample 12 of photos-00000.twh1. */
static void
name_of_number(const char *path, uint64_t i, char out[NAME_ROOM])
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');
	const size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);

	snprintf(out, NAME_ROOM, "%.*s-%06llu", (int)(n < 200 ? n : 200), base,
	    (unsigned long long)i);
}

static void
show_file(const char *path, const lc_sample *sample, uint64_t i)
{
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "file", path);
		jw_count(&json, "sample", i);
		if (sample->id.size > 0)
			jw_id(&json, sample->id);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("%s\n", path);
	}
}

static int
write_file(const char *path, const lc_tensor *tensor, const struct extract *how)
{
	struct output out;
	int status = output_add(&out, path, how->force);

	if (status != EXIT_DONE)
		return status;
	if (how->raw)
		fwrite(tensor->data, 1, tensor->nbytes, out.stream);
	else
		status = npy_write(out.stream, tensor, how->bits);
	output_failed(&out);
	return output_end(&out, status);
}

/* One tensor of a sample into DIR/NAME PART SUFFIX. */
static int
extract_tensor(const char *name, const char *part, const lc_tensor *tensor,
    const struct extract *how, const lc_sample *sample, uint64_t i)
{
	char file[NAME_ROOM + SUFFIX_ROOM];
	char *path;
	int status = EXIT_DONE;

	snprintf(file, sizeof(file), "%s%s%s", name, part,
	    how->raw ? ".raw" : ".npy");
	path = lc__path_join(how->dir, file);
	if (path == NULL)
		return report_errno(file);
	if (!how->dry_run)
		status = write_file(path, tensor, how);
	if (status == EXIT_DONE)
		show_file(path, sample, i);
	free(path);
	return status;
}

/* *damaged is set if it is the sample itself that is wrong. */
static int
extract_sample(const char *path, const lc_shard *shard, uint64_t i,
    const struct extract *how, bool *damaged)
{
	char name[NAME_ROOM];
	lc_sample sample;
	lc_status found = lc_shard_sample(shard, i, &sample);
	int status;

	if (found == LC_OK) {
		found = lc_shard_verify_sample(shard, i);
		if (found == LC_UNSUPPORTED)
			found = LC_OK;
	}
	*damaged = found == LC_CORRUPT;
	if (found != LC_OK)
		return report_status(found);
	if (!name_of_id(sample.id, name))
		name_of_number(path, i, name);
	status = extract_tensor(name, "", &sample.image, how, &sample, i);
	if (lc_shard_info_of(shard)->max_boxes == 0 || status != EXIT_DONE)
		return status;
	status = extract_tensor(name, ".boxes", &sample.boxes, how, &sample, i);
	if (status == EXIT_DONE)
		status = extract_tensor(name, ".mask", &sample.mask, how, &sample,
		    i);
	return status;
}

/* Damaged samples are reported and left out; other failures end it. */
static int
extract_samples(const char *path, const lc_shard *shard,
    const struct extract *how)
{
	const lc_shard_info *info = lc_shard_info_of(shard);
	int status = EXIT_DONE, one;
	bool damaged;

	if (how->sample != OPT_UNSET)
		return extract_sample(path, shard, how->sample, how, &damaged);
	for (uint64_t i = 0; i < info->samples; i++) {
		one = extract_sample(path, shard, i, how, &damaged);
		status = report_worse(status, one);
		if (one != EXIT_DONE && !damaged)
			break;
		progress_items(i + 1, info->samples);
		if (progress_step(NULL, (i + 1) * info->file_size / info->samples,
		    info->file_size) != 0)
			return report_status(LC_CANCELLED);
	}
	return status;
}

int
extract_shard(const char *path, const struct extract *how)
{
	lc_shard *shard;
	lc_status opened = lc_shard_open(path, &shard);
	int status;

	if (opened != LC_OK)
		return report_status(opened);
	if (!how->dry_run)
		opened = lc__make_dirs(how->dir);
	if (opened == LC_OK) {
		progress_begin("extract");
		status = extract_samples(path, shard, how);
		progress_end();
	} else {
		status = report_status(opened);
	}
	lc_shard_close(shard);
	return status;
}
