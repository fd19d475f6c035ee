/* SPDX-License-Identifier: BSD-2-Clause */
/* Tar archives of WebDataset: one, or series of them. */
#include "formats/outgoing.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "formats/tar_series.h"
#include "formats/webdataset_layout.h"
#include "formats/archive.h"

#define BLOCK 512

struct wds_out {
	struct lc__outgoing_how how;
	struct lc__tar_series *series;
	struct lc__wds_files files; /* of the record that is written */
	struct lc__buf heads;       /* what comes before their data */
	struct content *contents;   /* of each file */
	size_t room;
};

/* The bytes of a file. */
struct content {
	size_t head, head_size; /* place in the heads */
	const void *data;       /* what follows */
	size_t size;
};

static void
release(struct wds_out *out)
{
	lc__wds_files_free(&out->files);
	lc__buf_free(&out->heads);
	free(out->contents);
	free(out);
}

static lc_status
begin(const char *path, const struct lc__outgoing_how *how, void **result)
{
	struct wds_out *out = calloc(1, sizeof(*out));
	lc_status status;

	if (out == NULL)
		return lc__no_memory(path);
	out->how = *how;
	status = lc__tar_series_begin(path, how, &out->series);
	if (status == LC_OK)
		*result = out;
	else
		release(out);
	return status;
}

/* All of a record is known before any of it is written. */
static lc_status
collect(struct wds_out *out, uint64_t *bytes)
{
	return_if_error(
	    lc__array_reserve(&out->contents, &out->room, out->files.count, NULL));
	out->heads.size = 0;
	*bytes = 0;
	if (lc__buf_append(&out->heads, NULL, 0) == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < out->files.count; i++) {
		struct content *content = &out->contents[i];

		content->head = out->heads.size;
		if (lc__wds_file_bytes(&out->files.files[i], out->how.bits, &out->heads,
			&content->data, &content->size) != LC_OK) {
			const char *name = lc__wds_file_name(&out->files, i);
			return lc__error_prefix("%s", lc__quote_id(name, strlen(name)));
		}
		content->head_size = out->heads.size - content->head;
		*bytes += BLOCK + lc__round_up(content->head_size + content->size, BLOCK);
	}
	return LC_OK;
}

static lc_status
write_file(struct wds_out *out, struct lc__archive_writer *archive, size_t i)
{
	const struct content *content = &out->contents[i];

	return_if_error(lc__archive_add(archive, lc__wds_file_name(&out->files, i),
	    content->head_size + content->size));
	return_if_error(lc__archive_append(archive, out->heads.data + content->head,
	    content->head_size));
	return lc__archive_append(archive, content->data, content->size);
}

static lc_status
put(void *ctx, lc_id id, const lc_value *value)
{
	struct wds_out *out = ctx;
	struct lc__archive_writer *archive = NULL;
	const char *group = "";
	uint64_t bytes = 0;

	return_if_error(lc__wds_layout(id, value, &out->files));
	return_if_error(collect(out, &bytes));
	if (out->how.group != NULL)
		return_if_error(out->how.group(out->how.group_ctx, id, value, &group));
	return_if_error(lc__tar_series_at(out->series, group, bytes, &archive));
	for (size_t i = 0; i < out->files.count; i++)
		return_if_error(write_file(out, archive, i));
	return LC_OK;
}

static lc_status
finish(void *ctx, uint64_t *bytes)
{
	struct wds_out *out = ctx;
	const lc_status status = lc__tar_series_finish(out->series, bytes);

	release(out);
	return status;
}

static void
discard(void *ctx)
{
	struct wds_out *out = ctx;

	lc__tar_series_discard(out->series);
	release(out);
}

const struct lc__outgoing_format lc__outgoing_webdataset = {
	.name = "webdataset",
	.suffix = ".tar",
	.what = "one tar archive of WebDataset, or a directory of them",
	.streams = true,
	.begin = begin,
	.put = put,
	.finish = finish,
	.discard = discard,
};
