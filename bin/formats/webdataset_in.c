/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WebDataset's tar archives: adjacent members of one key are a record, the key is its
 * cache_id. One member is read ahead, as only the next one shows where a record ends.
 */
#include "formats/formats.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/archive.h"
#include "formats/shard_list.h"
#include "formats/webdataset_sample.h"

struct wds_in {
	struct lc__incoming_how how;
	struct lc__shard_list shards;
	size_t shard;                /* the one being read */
	struct lc__archive *archive; /* that one, open; NULL after the last */
	struct lc__buf name;         /* of the current member, ended by a NUL */
	size_t key_size;             /* how much of the name is the key */
	bool first;                  /* it is the first of its archive */
	struct lc__buf key;          /* of the record that next() went to */
	bool unread;                 /* its members may still follow */
	bool ended;                  /* there is no further member */
	lc_error broken; /* why this archive cannot be read on, until that is reported */
};

static const char *
path_of(const struct wds_in *in)
{
	return in->shards.paths[in->shard];
}

/* ---- members -------------------------------------------------------------------- */

/* Go to the next member of this archive that is part of a sample; LC_END after the last. */
static lc_status
next_member(struct wds_in *in)
{
	struct lc__archive_member member;

	do {
		return_if_error(lc__archive_next(in->archive, &member));
	} while (!member.regular || lc__wds_is_meta(member.name) ||
	    !lc__wds_split(member.name, &in->key_size));
	in->name.size = 0;
	if (lc__buf_append(&in->name, member.name, strlen(member.name) + 1) == NULL)
		return lc__no_memory(NULL);
	return LC_OK;
}

static void
close_shard(struct wds_in *in)
{
	lc__archive_close(in->archive);
	in->archive = NULL;
	in->shard++;
}

/* Go to the next member of this archive, or the first of those after it. */
static void
advance(struct wds_in *in)
{
	lc_status status = LC_OK;

	in->first = false;
	do {
		if (status == LC_END)
			close_shard(in);
		in->ended = in->shard == in->shards.count;
		if (in->ended)
			return;
		status = LC_OK;
		if (in->archive == NULL) {
			in->first = true;
			/* A directory's archives are regular files; one that was named may
			 * be a pipe. */
			status = in->shards.named
			    ? lc__archive_open_pipe(path_of(in), &in->archive)
			    : lc__archive_open_file(LC__ARCHIVE_TAR, path_of(in),
				  &in->archive);
		}
		if (status == LC_OK)
			status = next_member(in);
	} while (status == LC_END);
	if (status != LC_OK) {
		lc__error_prefix("%s", path_of(in));
		in->broken = *lc_last_error();
		in->ended = true;
	}
}

/* Does the member belong to the record that next() went to? */
static bool
same_key(const struct wds_in *in)
{
	return !in->ended && !in->first && in->key.size == in->key_size &&
	    memcmp(in->key.data, in->name.data, in->key_size) == 0;
}

/* ---- records -------------------------------------------------------------------- */

/* Report why an archive cannot be read on, and go to the one after it. */
static lc_status
report_broken(struct wds_in *in)
{
	const lc_error broken = in->broken;

	memset(&in->broken, 0, sizeof(in->broken));
	close_shard(in);
	advance(in);
	return lc__error_raise(&broken);
}

static lc_status
next(void *ctx, lc_id *id)
{
	struct wds_in *in = ctx;

	while (in->unread) {
		advance(in);
		in->unread = same_key(in);
	}
	if (in->broken.status != LC_OK)
		return report_broken(in);
	if (in->ended)
		return LC_END;
	in->key.size = 0;
	if (lc__buf_append(&in->key, in->name.data, in->key_size) == NULL)
		return lc__no_memory(path_of(in));
	in->unread = true;
	*id = (lc_id){ in->key.data, in->key.size };
	return LC_OK;
}

static lc_status
load_member(struct wds_in *in, uint64_t *left, struct lc__wds_sample *sample,
    struct lc__loaded *out)
{
	const char *extension = (const char *)in->name.data + in->key_size + 1;
	struct lc__incoming_how how = in->how;
	struct lc__buf bytes = { 0 };
	lc_value *value = NULL;
	lc_status status = lc__archive_read(in->archive, *left, &bytes);

	*left -= status == LC_OK ? bytes.size : 0;
	how.limit = *left;
	if (status == LC_OK)
		status = lc__wds_load(extension, &bytes, &how, out, &value);
	if (status == LC_OK)
		status = lc__wds_sample_add(sample, extension, value);
	lc__buf_free(&bytes);
	return status == LC_OK ? LC_OK
			       : lc__error_prefix("%s: %s", path_of(in),
				     lc__quote_id(in->name.data, in->name.size - 1));
}

/* If the archive ends unexpectedly after a record, the record may lack members. */
static bool
is_whole(const struct wds_in *in)
{
	return in->broken.status == LC_OK || in->first;
}

static lc_status
load(void *ctx, struct lc__loaded *out)
{
	struct wds_in *in = ctx;
	const char *path = path_of(in);
	struct lc__wds_sample sample = { 0 };
	uint64_t left = in->how.limit;
	lc_status status;

	do {
		status = load_member(in, &left, &sample, out);
		if (status != LC_OK)
			break;
		advance(in);
		in->unread = same_key(in);
	} while (in->unread);
	/* A failure of the system does not mean that the archive is damaged; it is
	 * reported once. */
	if (status == LC_OK && !is_whole(in) &&
	    (in->broken.status == LC_IO || in->broken.status == LC_NO_MEMORY)) {
		lc__wds_sample_free(&sample);
		return report_broken(in);
	}
	if (status == LC_OK) {
		status = is_whole(in)
		    ? lc__wds_sample_build(&sample, &out->value)
		    : lc__error(LC_CORRUPT, 0, "the archive ends unexpectedly after it");
		if (status != LC_OK)
			lc__error_prefix("%s: %s", path,
			    lc__quote_id(in->key.data, in->key.size));
	}
	lc__wds_sample_free(&sample);
	return status;
}

/* ---- opening -------------------------------------------------------------------- */

/* By the magic of its header; older archives and compressed ones by their names. */
static lc_status
is(const char *path, const void *first, size_t size, bool *is)
{
	const char *bytes = first;

	if (first == NULL)
		return lc__shard_list_is(path, is);
	*is = (size >= 512 && memcmp(bytes + 257, "ustar", 5) == 0) ||
	    (lc__is_tar_name(path) &&
		lc__payload_kind_of(first, size) == LC__PAYLOAD_OTHER);
	return LC_OK;
}

static void
close_all(void *ctx)
{
	struct wds_in *in = ctx;

	lc__archive_close(in->archive);
	lc__shard_list_free(&in->shards);
	lc__buf_free(&in->name);
	lc__buf_free(&in->key);
	free(in);
}

static lc_status
open_path(const char *path, const struct lc__incoming_how *how, void **out)
{
	struct wds_in *in = calloc(1, sizeof(*in));
	lc_status status;

	if (in == NULL)
		return lc__no_memory(path);
	in->how = *how;
	status = lc__shard_list_read(path, &in->shards);
	if (status == LC_OK && in->shards.count == 0)
		status = lc__error(LC_NOT_MODULE, 0, "%s: no tar archive in it", path);
	if (status == LC_OK) {
		advance(in);
		if (in->broken.status != LC_OK && in->shards.count == 1)
			status = lc__error_raise(&in->broken);
	}
	if (status == LC_OK)
		*out = in;
	else
		close_all(in);
	return status;
}

const struct lc__incoming_format lc__incoming_webdataset = {
	.name = "webdataset",
	.what = "tar archives of WebDataset",
	.is = is,
	.open = open_path,
	.next = next,
	.load = load,
	.close = close_all,
};
