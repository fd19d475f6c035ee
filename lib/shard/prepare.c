/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that a build finds in its directory, and how it prepares the directory. The
 * old manifest becomes the state file, which is the manifest of an unfinished build: so
 * no manifest names files that will be removed, and after a kill the next build still
 * knows the subdirectories.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "base/fileio.h"
#include "shard/building.h"

/* ---- the state file ------------------------------------------------------------------ */

bool
lc__shard_done(const struct lc__building *b, size_t i)
{
	const struct lc__manifest_shard *shard = &b->manifest.shards[i];

	return (b->build->no_sha256 ? shard->xxh3 : shard->sha256)[0] != '\0';
}

/* What earlier runs have done; shards of this one are added to it. */
static lc_status
write_state(const struct lc__building *b)
{
	struct lc__manifest state = b->manifest;
	struct lc__buf text = { 0 };
	lc_status status;

	state.export_state = (char *)b->build->state;
	status = lc__manifest_format(&state, &text);
	if (status == LC_OK)
		status = lc__outdir_write(&b->dir, LC__STATE_NAME, &text);
	lc__buf_free(&text);
	return status;
}

lc_status
lc__state_add(const struct lc__building *b, uint64_t i)
{
	const struct lc__manifest_shard *shard = &b->manifest.shards[i];
	char line[100];
	const int size = snprintf(line, sizeof(line), "%" PRIu64 " %s\n", i,
	    b->build->no_sha256 ? shard->xxh3 : shard->sha256);

	return lc__outdir_append(&b->dir, LC__STATE_NAME, line, (size_t)size);
}

/* Read the lines after the manifest. A kill, or a full disk, may have cut the last one:
 * nothing after a bad line counts. A checksum that is wrong is found when the shard is
 * compared with it. */
static void
read_added(const char *text, const char *end, struct lc__manifest *state)
{
	const char *next;

	for (; (next = memchr(text, '\n', (size_t)(end - text))) != NULL;
	     text = next + 1) {
		struct lc__manifest_shard *shard;
		char *checksum;
		uint64_t i;
		size_t size;

		if (*text < '0' || *text > '9')
			return;
		i = strtoull(text, &checksum, 10);
		if (i >= state->n || *checksum++ != ' ')
			return;
		size = strspn(checksum, "0123456789abcdef");
		if (checksum + size != next || (size != 64 && size != 32))
			return;
		shard = &state->shards[i];
		sprintf(size == 64 ? shard->sha256 : shard->xxh3, "%.*s", (int)size,
		    checksum);
	}
}

/* ---- the directory ------------------------------------------------------------------- */

/* Files found besides the shards. */
struct found {
	struct lc__manifest manifest; /* the old one, or empty */
	bool has_manifest;            /* it is there */
	struct lc__manifest state;    /* of an unfinished build, or empty */
};

/* Read the manifest of the directory, if there is one. A manifest.json that is not ours
 * must not be replaced. */
static lc_status
read_old_manifest(const struct lc__building *b, struct found *found)
{
	struct lc__buf text = { 0 };
	lc_status status = lc__outdir_read(&b->dir, LC__MANIFEST_NAME, &text);

	found->has_manifest = status == LC_OK;
	if (status == LC_OK)
		status = lc__manifest_parse(text.data, text.size, LC__MANIFEST_NAME,
		    &found->manifest);
	else if (status == LC_NO_FILE)
		status = LC_OK;
	if (status == LC_CORRUPT || status == LC_NOT_MODULE || status == LC_VERSION)
		status = lc__error(LC_INVALID, 0,
		    "%s: will not replace a file that is not a manifest of shards: %s",
		    b->dir.path, strdupa(lc_last_error()->text));
	lc__buf_free(&text);
	return status;
}

/* A damaged state file is treated as missing. */
static void
read_state(const struct lc__building *b, struct found *found)
{
	static const char last[] =
	    "\n}\n"; /* of the manifest: other lines are indented */
	struct lc__buf text = { 0 };

	if (lc__outdir_read(&b->dir, LC__STATE_NAME, &text) == LC_OK) {
		const char *begin = (const char *)text.data, *end = begin + text.size;
		const char *added = memmem(begin, text.size, last, strlen(last));

		added = added != NULL ? added + strlen(last) : end;
		if (lc__manifest_parse(begin, (size_t)(added - begin), LC__STATE_NAME,
			&found->state) == LC_OK)
			read_added(added, end, &found->state);
	}
	lc__buf_free(&text);
}

/* Take over the record of an interrupted run of the same build. */
static void
resume(struct lc__building *b, const struct lc__manifest *state)
{
	if (state->export_state == NULL ||
	    strcmp(state->export_state, b->build->state) != 0)
		return;
	b->resumed = true;
	for (size_t i = 0, j = 0; i < state->n; i++) {
		/* Both are in the order of the shards. */
		while (j < b->manifest.n &&
		    strcmp(b->manifest.shards[j].id, state->shards[i].id) != 0)
			j++;
		if (j == b->manifest.n)
			return;
		strcpy(b->manifest.shards[j].sha256, state->shards[i].sha256);
		strcpy(b->manifest.shards[j].xxh3, state->shards[i].xxh3);
	}
}

static lc_status
know_all(struct lc__outdir *dir, const struct lc__manifest *manifest)
{
	for (size_t i = 0; i < manifest->n; i++)
		return_if_error(lc__outdir_know(dir, manifest->shards[i].relative_path));
	return LC_OK;
}

/* ---- the files ------------------------------------------------------------- */

static bool
names(const struct lc__manifest *manifest, const char *path)
{
	for (size_t i = 0; i < manifest->n; i++)
		if (strcmp(manifest->shards[i].relative_path, path) == 0)
			return true;
	return false;
}

/* A shard of unknown origin would spoil the directory, and may be valuable. */
static lc_status
check_strangers(const struct lc__building *b, const struct found *found)
{
	for (size_t i = 0; i < b->dir.n; i++) {
		const struct lc__outfile *file = &b->dir.files[i];
		if ((file->kind == LC__OUT_OTHER &&
			!names(&found->manifest, file->name) &&
			!names(&found->state, file->name)) ||
		    file->kind == LC__OUT_EXPORT)
			return lc__error(LC_INVALID, 0,
			    "%s: holds %s, which no export here has written", b->dir.path,
			    file->name);
	}
	return LC_OK;
}

/* Check the path of the directory of a series; a link would lead elsewhere. */
static lc_status
check_subs(const struct lc__building *b)
{
	for (size_t i = 0; i < b->build->n_series; i++) {
		const char *path = b->build->series[i].path;
		struct stat st;
		if (*path != '\0' &&
		    fstatat(b->dir.fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISDIR(st.st_mode))
			return lc__error(LC_INVALID, 0, "%s/%s: is not a directory",
			    b->dir.path, path);
	}
	return LC_OK;
}

/* The index in the plan of the shard with the name of a file; plan.n if there is none. */
static size_t
planned_as(const struct lc__building *b, const struct lc__outfile *file)
{
	if (file->kind != LC__OUT_SHARD)
		return b->plan.n;
	for (size_t i = 0; i < b->plan.n; i++)
		if (b->plan.shards[i].number == file->number &&
		    strcmp(b->manifest.shards[i].relative_path, file->name) == 0)
			return i;
	return b->plan.n;
}

/* Mark the shards that an earlier run of this build finished, and drop the others. */
static void
find_kept(struct lc__building *b)
{
	for (size_t f = 0; f < b->dir.n; f++) {
		const size_t i = planned_as(b, &b->dir.files[f]);
		if (i < b->plan.n && lc__shard_done(b, i) &&
		    b->dir.files[f].size == b->plan.shards[i].info.file_size)
			b->kept[i] = true;
	}
	for (size_t i = 0; i < b->plan.n; i++)
		if (!b->kept[i])
			b->manifest.shards[i].sha256[0] = b->manifest.shards[i].xxh3[0] =
			    '\0';
}

static bool
keeps(const struct lc__building *b, const struct lc__outfile *file)
{
	const size_t i = planned_as(b, file);

	return i < b->plan.n && b->kept[i];
}

/* Checked before anything is removed: an export that cannot fit keeps the old one. */
static lc_status
check_space(const struct lc__building *b)
{
	const bool links = lc__reuse_links(b->older.dir, b->dir.path);
	const bool packed_links = lc__reuse_links(b->packed.dir, b->dir.path);
	uint64_t needed = b->plan.bytes, room;
	struct statvfs fs;

	/* Shards that exist or will be linked take no further space. */
	for (size_t i = 0; i < b->plan.n; i++)
		if (b->kept[i] ||
		    (links &&
			lc__reuse_find(&b->older, &b->manifest.shards[i],
			    b->build->no_sha256) != NULL) ||
		    (packed_links &&
			lc__packed_find(&b->packed, b->plan.shards[i].samples_hash,
			    NULL) != NULL))
			needed -= b->plan.shards[i].info.file_size;
	if (fstatvfs(b->dir.fd, &fs) == -1)
		return lc__error_sys(errno, "%s: statvfs", b->dir.path);
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	for (size_t i = 0; i < b->dir.n; i++)
		if (!keeps(b, &b->dir.files[i]))
			room += b->dir.files[i].disk;
	if (needed <= room)
		return LC_OK;
	return lc__error(LC_NO_SPACE, 0, "%s: the shards need %llu bytes, %llu are free",
	    b->dir.path, (unsigned long long)needed, (unsigned long long)room);
}

/* ---- clearing -------------------------------------------------------------- */

/* The old manifest is removed first, so that none names files that will be removed. */
static lc_status
clear_way(const struct lc__building *b, const struct found *found)
{
	if (b->resumed || !found->has_manifest)
		return_if_error(lc__outdir_remove(&b->dir, LC__MANIFEST_NAME));
	else
		return_if_error(
		    lc__outdir_rename(&b->dir, LC__MANIFEST_NAME, LC__STATE_NAME));
	return_if_error(lc__sync_dir(b->dir.path));

	for (size_t i = 0; i < b->dir.n; i++)
		if (!keeps(b, &b->dir.files[i]))
			return_if_error(lc__outdir_remove(&b->dir, b->dir.files[i].name));
	for (size_t i = 0; i < b->dir.n_subs; i++)
		return_if_error(lc__outdir_remove_sub(&b->dir, b->dir.subs[i]));
	return LC_OK;
}

static lc_status
make_subs(const struct lc__building *b)
{
	for (size_t i = 0; i < b->build->n_series; i++) {
		char *path = lc__path_join(b->dir.path, b->build->series[i].path);
		lc_status status;
		if (path == NULL)
			return lc__no_memory(b->dir.path);
		status = lc__make_dirs(path);
		free(path);
		return_if_error(status);
	}
	return LC_OK;
}

static lc_status
prepare(struct lc__building *b, struct found *found)
{
	return_if_error(read_old_manifest(b, found));
	read_state(b, found);
	return_if_error(know_all(&b->dir, &found->manifest));
	return_if_error(know_all(&b->dir, &found->state));
	return_if_error(know_all(&b->dir, &b->manifest));
	return_if_error(lc__outdir_scan(&b->dir));
	return_if_error(check_strangers(b, found));
	return_if_error(check_subs(b));
	resume(b, &found->state);
	find_kept(b);
	return_if_error(check_space(b));
	return_if_error(clear_way(b, found));
	return_if_error(write_state(b));
	return make_subs(b);
}

lc_status
lc__build_prepare(struct lc__building *b)
{
	struct found found = { .has_manifest = false };
	const lc_status status = prepare(b, &found);

	lc__manifest_free(&found.manifest);
	lc__manifest_free(&found.state);
	return status;
}
