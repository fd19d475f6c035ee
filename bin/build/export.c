/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that a build writes: shards, and the list of frames that were left out. */
#include "build/export.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "build/ingesting.h"
#include "build/samples.h"
#include "lmdbcache.h"
#include "shard/outdir.h"
#include "shard/packed.h"

/* ---- the list of rejected frames --------------------------------------------------- */

/* The list being written, line by line. */
struct reject_list {
	FILE *out; /* NULL: not written */
	struct lc__checksum *sha;
	struct lc__buf key;
};

static void
put_member(FILE *out, const char *name, const char *text)
{
	fprintf(out, "%s\"%s\":", strcmp(name, "run") == 0 ? "{" : ",", name);
	if (text != NULL)
		lc__json_string(out, text, strlen(text));
	else
		fputs("null", out);
}

static lc_status
make_line(const struct lc__frame *frame, const struct lc__sample *s,
    enum lc__reject reason, struct lc__buf *text)
{
	FILE *out = lc__buf_stream(text);
	struct lc__label label;

	if (out == NULL)
		return lc__no_memory("build");
	put_member(out, "run", frame->run);
	put_member(out, "name", frame->name);
	put_member(out, "label", frame->label_path);
	put_member(out, "image",
	    s->image.path != NULL   ? s->image.path
		: s->wanted != NULL ? s->wanted
				    : frame->image_path);
	put_member(out, "reason", lc__reject_name(reason));
	put_member(out, "detail", lc__counting_detail(s, &label));
	fputs("}\n", out);
	if (!lc__buf_stream_end(out, text))
		return lc__no_memory("build");
	return LC_OK;
}

static lc_status
put_frame(struct reject_list *list, const struct lc__samples *samples, uint64_t i)
{
	struct lc__buf text = { 0 };
	lc_value *about = NULL;
	lc_cache *from;
	struct lc__sample s;
	struct lc__frame frame;
	lc_status status;

	lc__dataset_frame(samples->dataset, i, &frame);
	if (!lc__store_key(samples->store, frame.run, frame.name, &list->key))
		return lc__no_memory("build");
	return_if_error(
	    lc__store_get(samples->store, (const char *)list->key.data, &from, &about));
	if (about != NULL && lc__sample_read(about, &s))
		status = make_line(&frame, &s, lc__counting_fate(samples->recipe, &s),
		    &text);
	else
		status = lc__error(LC_CORRUPT, 0, "key %s: was stored and is not there",
		    lc__quote_id(list->key.data, list->key.size - 1));
	if (status == LC_OK)
		status = lc__checksum_update(list->sha, text.data, text.size);
	/* Write errors are checked at the end. */
	if (status == LC_OK && list->out != NULL)
		fwrite(text.data, 1, text.size, list->out);
	lc__buf_free(&text);
	lc_value_free(about);
	return status;
}

lc_status
lc__rejected_write(const struct lc__samples *samples, const char *path, char sha256[65])
{
	const uint64_t frames = lc__dataset_frames(samples->dataset);
	struct reject_list list = { .out = NULL };
	uint64_t row = 0;
	lc_status status = lc__checksum_new("sha256", &list.sha);

	if (status != LC_OK)
		status = lc__error_prefix("build");
	if (status == LC_OK && path != NULL &&
	    ((unlink(path) == -1 && errno != ENOENT) ||
		(list.out = lc__fopen(path, "wxe")) == NULL))
		status = lc__error_sys(errno, "%s: create", path);
	/* Both are in the order of the frames. */
	for (uint64_t i = 0; status == LC_OK && i < frames; i++) {
		if (row < samples->n && samples->rows[row].frame == i)
			row++;
		else
			status = put_frame(&list, samples, i);
	}
	if (status == LC_OK)
		status = lc__checksum_hex(list.sha, sha256);
	if (status == LC_OK && list.out != NULL &&
	    (ferror(list.out) || fflush(list.out) != 0 || fsync(fileno(list.out)) != 0))
		status = lc__error_sys(errno != 0 ? errno : EIO, "%s: write", path);
	if (list.out != NULL)
		fclose(list.out);
	lc__checksum_free(list.sha);
	lc__buf_free(&list.key);
	return status;
}

/* ---- members of the manifest ----------------------------------------------------- */

/* Texts of the manifest, each ended by a NUL. */
struct texts {
	struct lc__buf recipe, transform, thresholds, summary, warehouse, sources;
	struct lc__warehouse_about about;
	struct lc__manifest manifest; /* borrows them */
};

static lc_status
end_text(struct lc__buf *text)
{
	lc__buf_append(text, "", 1);
	return text->failed ? lc__no_memory("build") : LC_OK;
}

/* Classes without a name are NULL. */
static lc_status
copy_classes(const struct lc__dataset *dataset, struct lc__warehouse_about *about)
{
	const char *const *names;
	const size_t n = lc__dataset_classes(dataset, &names);

	about->classes = calloc(n + 1, sizeof(*about->classes));
	if (about->classes == NULL)
		return lc__no_memory("build");
	for (; about->n_classes < n; about->n_classes++) {
		const char *name = names[about->n_classes];
		/* A line for each line of the list; an empty one has no name. */
		if (name == NULL || *name == '\0')
			continue;
		about->classes[about->n_classes] = strdup(name);
		if (about->classes[about->n_classes] == NULL)
			return lc__no_memory("build");
	}
	return LC_OK;
}

static lc_status
make_about(struct lc__ingesting *b, struct texts *t)
{
	struct lc__warehouse_about *about = &t->about;
	const struct lc__samples *samples = &b->samples;

	about->layout = strdup(lc__layout_name(b->recipe->layout));
	about->sources_root = strdup(b->root_path);
	about->series = calloc(samples->n_series + 1, sizeof(*about->series));
	if (about->layout == NULL || about->sources_root == NULL || about->series == NULL)
		return lc__no_memory("build");
	return_if_error(copy_classes(b->dataset, about));
	memcpy(about->fingerprint, b->edition.fingerprint, 65);
	memcpy(about->rejected_sha256, b->edition.rejected_sha256, 65);
	for (; about->n_series < samples->n_series; about->n_series++) {
		const struct lc__shard_series *series = &samples->series[about->n_series];
		about->series[about->n_series] = (struct lc__series_about){
			.path = strdup(series->path),
			.width = series->form->width,
			.height = series->form->height,
			.samples = series->samples,
		};
		if (about->series[about->n_series].path == NULL)
			return lc__no_memory("build");
	}
	return LC_OK;
}

static lc_status
make_texts(struct lc__ingesting *b, struct texts *t)
{
	return_if_error(lc__recipe_format(b->recipe, &t->recipe));
	return_if_error(end_text(&t->recipe));
	return_if_error(lc__recipe_transform(b->recipe, &t->transform));
	return_if_error(end_text(&t->transform));
	return_if_error(lc__thresholds_format(&b->ingest->thresholds, &t->thresholds));
	return_if_error(end_text(&t->thresholds));
	return_if_error(lc__summary_format(&b->out->summary, &t->summary));
	return_if_error(end_text(&t->summary));
	return_if_error(lc__sources_format(&b->sources, &t->sources));
	if (t->sources.failed)
		return lc__no_memory("build");
	return_if_error(make_about(b, t));
	return_if_error(
	    lc__sha256_of(t->sources.data, t->sources.size, t->about.sources_sha256));
	return_if_error(lc__warehouse_about_format(&t->about, &t->warehouse));
	return_if_error(end_text(&t->warehouse));
	t->manifest = (struct lc__manifest){
		.dataset_root = (char *)b->recipe->dataset_root,
		.transform = (char *)t->transform.data,
		.version = b->edition.version,
		.version_recipe = (char *)t->recipe.data,
		.code_version = (char *)b->recipe->code_version,
		.thresholds = (char *)t->thresholds.data,
		.summary = (char *)t->summary.data,
		.warehouse = (char *)t->warehouse.data,
	};
	return LC_OK;
}

/* ---- a version that exists already ----------------------------------------------- */

/* Limits, the location of the sources and the known names of classes may differ: they do
 * not change samples. */
static lc_status
refresh_manifest(struct lc__ingesting *b, struct lc__built_version *built,
    const struct texts *t, bool *changed)
{
	struct lc__manifest manifest = built->manifest;
	struct lc__buf old = { 0 }, text = { 0 };
	char *path = lc__path_join(built->dir, LC__MANIFEST_NAME);
	const struct lc__warehouse_about kept = built->about;
	struct lc__buf about = { 0 };
	lc_status status = path != NULL ? LC_OK : lc__no_memory("build");

	manifest.thresholds = t->manifest.thresholds;
	built->about.sources_root = b->root_path;
	built->about.classes = t->about.classes;
	built->about.n_classes = t->about.n_classes;
	if (status == LC_OK)
		status = lc__warehouse_about_format(&built->about, &about);
	built->about = kept;
	if (status == LC_OK)
		status = end_text(&about);
	manifest.warehouse = (char *)about.data;
	if (status == LC_OK)
		status = lc__manifest_format(&manifest, &text);
	if (status == LC_OK)
		status = lc__manifest_format(&built->manifest, &old);
	*changed = status == LC_OK &&
	    (old.size != text.size || memcmp(old.data, text.data, text.size) != 0);
	if (*changed)
		status = lc__publish_tidy(built->dir);
	if (*changed && status == LC_OK)
		status = lc__write_file_atomic(path, text.data, text.size);
	lc__buf_free(&about);
	lc__buf_free(&old);
	lc__buf_free(&text);
	free(path);
	return status;
}

/* A version that was built before, and is `current` or becomes it. */
static lc_status
take_built(struct lc__ingesting *b, struct lc__built_version *built, bool is_current,
    const struct texts *t)
{
	const char *warehouse = b->ingest->warehouse;
	const char *slash = strrchr(built->dir, '/');
	const char *name = slash != NULL ? slash + 1 : built->dir;
	const bool hidden = *name == '.';
	bool changed = false;
	char *dir;

	if (hidden)
		name = b->edition.name;

	return_if_error(refresh_manifest(b, built, t, &changed));
	b->out->up_to_date = is_current && !changed;
	b->out->limits_changed = is_current && changed;
	if (!is_current && hidden)
		return_if_error(lc__publish(warehouse, built->dir, &b->edition));
	else if (!is_current)
		return_if_error(lc__version_switch(warehouse, name));
	dir = lc__path_join(warehouse, name);
	if (dir == NULL)
		return lc__no_memory("build");
	free(built->dir);
	built->dir = dir;
	b->out->shards_reused = built->manifest.n;
	b->out->shards = built->manifest.n;
	b->out->bytes = lc__built_version_bytes(built);
	b->out->version_dir = strdup(dir);
	if (b->out->version_dir == NULL)
		return lc__no_memory("build");
	return_if_error(lc__packed_forget(warehouse));
	return lc__publish_clean(warehouse, NULL);
}

/* ---- a new version -------------------------------------------------------------------- */

/* Progress of the shards; reported by their threads, one at a time. */
static int
step(void *ctx, uint64_t done, uint64_t total)
{
	struct lc__ingesting *b = ctx;

	b->state->bytes_exported = done;
	b->state->bytes_to_export = total;
	return lc__ingesting_step(b) != LC_OK;
}

/* The lists are written before the manifest, which contains their SHA-256. */
static lc_status
write_lists(struct lc__ingesting *b, const char *place, const struct texts *t)
{
	char *sources = lc__path_join(place, LC__SOURCES_NAME);
	char *rejected = lc__path_join(place, LC__WAREHOUSE_REJECTED);
	char sha256[65];
	lc_status status = sources != NULL && rejected != NULL ? LC_OK
							       : lc__no_memory("build");

	if (status == LC_OK)
		status = lc__write_file_atomic(sources, t->sources.data, t->sources.size);
	if (status == LC_OK)
		status = lc__rejected_write(&b->samples, rejected, sha256);
	free(sources);
	free(rejected);
	return status;
}

/* Equal only for exactly the same samples. */
static lc_status
make_state(const struct lc__ingesting *b, struct lc__buf *out)
{
	const struct lc__samples *samples = &b->samples;
	uint64_t hash[2] = { 0, 0 }, mixed[4];

	for (uint64_t i = 0; i < samples->n; i++) {
		memcpy(mixed, hash, sizeof(hash));
		memcpy(mixed + 2, samples->rows[i].content, sizeof(hash));
		lc__hash128(mixed, sizeof(mixed), hash);
	}
	lc__buf_printf(out, "%s:%s:%016llx%016llx", b->edition.version,
	    b->edition.fingerprint, (unsigned long long)hash[1],
	    (unsigned long long)hash[0]);
	return end_text(out);
}

/* @p place is where the version is built; with NULL only pack. */
static lc_status
build_shards(struct lc__ingesting *b, const char *place, const struct texts *t)
{
	const struct lc__ingest *ingest = b->ingest;
	const lc_progress progress = { .step = step, .ctx = b };
	struct lc__build build = {
		.dir = place,
		.series = b->samples.series,
		.n_series = b->samples.n_series,
		.metadata = b->recipe->metadata && b->recipe->shard_version > 1,
		.shard_bytes = b->recipe->shard_bytes,
		.threads = b->threads,
		.progress = &progress,
		.about = &t->manifest,
		.recipe = (const char *)t->recipe.data,
		.reread = ingest->rehash,
	};
	lc_export_result result = { .shards = 0 };
	struct lc__buf state = { 0 };
	char *reuse = NULL,
	     *packed = lc__path_join(ingest->warehouse, LC__WAREHOUSE_PACKED);
	lc_status status = packed != NULL ? make_state(b, &state)
					  : lc__no_memory("build");

	build.state = (const char *)state.data;
	build.packed = packed;
	if (status == LC_OK && !b->rebuild &&
	    lc__version_find(ingest->warehouse, &reuse) == LC_OK)
		build.reuse = reuse;
	if (status == LC_OK)
		status = place != NULL
		    ? lc__build_run(&build, &result)
		    : lc__build_pack(&build, ingest->pack, ingest->packs, &result);
	free(packed);
	free(reuse);
	lc__buf_free(&state);
	b->out->shards = result.shards;
	b->out->shards_reused = result.reused;
	b->out->bytes = result.bytes;
	return status;
}

static lc_status
build_new(struct lc__ingesting *b, const struct texts *t)
{
	const char *warehouse = b->ingest->warehouse;
	char *place = lc__publish_place(warehouse, &b->edition);
	lc_status status = place != NULL ? LC_OK : lc__no_memory("build");

	if (status == LC_OK)
		status = lc__publish_clean(warehouse, &b->edition);
	if (status == LC_OK)
		status = lc__make_dirs(place);
	if (status == LC_OK)
		status = write_lists(b, place, t);
	if (status == LC_OK)
		status = build_shards(b, place, t);
	if (status == LC_OK)
		status = lc__publish(warehouse, place, &b->edition);
	free(place);
	if (status == LC_OK)
		status = lc__packed_forget(warehouse);
	if (status == LC_OK && b->rebuild)
		status = lc__rebuild_note(warehouse, false);
	if (status == LC_OK)
		b->out->version_dir = lc__path_join(warehouse, b->edition.name);
	return status == LC_OK && b->out->version_dir == NULL ? lc__no_memory("build")
							      : status;
}

/* ---- shards of a future version -------------------------------------------------- */

/* An existing version needs no more of them. */
static lc_status
note_built(struct lc__ingesting *b, const struct lc__built_version *built)
{
	b->out->up_to_date = true;
	b->out->shards_reused = built->manifest.n;
	b->out->shards = built->manifest.n;
	b->out->bytes = lc__built_version_bytes(built);
	b->out->version_dir = strdup(built->dir);
	return b->out->version_dir != NULL ? LC_OK : lc__no_memory("build");
}

lc_status
lc__packed_forget(const char *warehouse)
{
	char *dir = lc__path_join(warehouse, LC__WAREHOUSE_PACKED);
	const lc_status status = dir != NULL ? lc__packed_remove(dir)
					     : lc__no_memory("build");

	free(dir);
	return status;
}

/* ---- export or pack -------------------------------------------------------------- */

static lc_status
take_or_build(struct lc__ingesting *b, const struct texts *t)
{
	struct lc__built_version built = { .dir = NULL };
	bool is_current = false;
	lc_status status = b->rebuild ? LC_NOT_FOUND
				      : lc__built_version_find(b->ingest->warehouse,
					    &b->edition, &built, &is_current);

	if (status == LC_OK && b->ingest->packs > 0)
		status = note_built(b, &built);
	else if (status == LC_OK)
		status = take_built(b, &built, is_current, t);
	else if (status == LC_NOT_FOUND)
		status = b->ingest->packs > 0 ? build_shards(b, NULL, t)
					      : build_new(b, t);
	lc__built_version_free(&built);
	return status;
}

static lc_status
export_edition(struct lc__ingesting *b)
{
	struct texts texts = { .about = { .layout = NULL } };
	struct lc__edition *edition = &b->edition;
	lc_status status;

	lc__sources_sort(&b->sources);
	edition->sources = &b->sources;
	edition->summary = &b->out->summary;
	return_if_error(lc__sources_fingerprint(&b->sources, edition->fingerprint));
	memcpy(b->out->fingerprint, edition->fingerprint, 65);
	status = lc__version_name(edition->version, edition->fingerprint,
	    lc__clock_wall_ms(), edition->name);
	if (status == LC_OK && !b->ingest->dry_run)
		status = lc__rejected_write(&b->samples, NULL, edition->rejected_sha256);
	if (status == LC_OK && b->samples.n == 0)
		status = lc__error(LC_FAILED, 0,
		    "%s: no frame is good: there is nothing to write",
		    b->ingest->dataset);
	if (status == LC_OK)
		status = lc__samples_group(&b->samples);
	if (status == LC_OK && !b->ingest->dry_run) {
		status = make_texts(b, &texts);
		if (status == LC_OK)
			status = take_or_build(b, &texts);
	}
	lc__buf_free(&texts.recipe);
	lc__buf_free(&texts.transform);
	lc__buf_free(&texts.thresholds);
	lc__buf_free(&texts.summary);
	lc__buf_free(&texts.warehouse);
	lc__buf_free(&texts.sources);
	lc__warehouse_about_free(&texts.about);
	return status;
}

lc_status
lc__ingesting_export(struct lc__ingesting *b)
{
	uint64_t start = lc__clock_ns();
	lc_status status;

	b->state->phase = LC__PHASE_EXPORT;
	status = export_edition(b);
	lc__ingesting_spent(b, LC__PHASE_EXPORT, &start);
	return status;
}

/* ---- a rebuild --------------------------------------------------------------------- */

#define REBUILD_NAME ".rebuild"

lc_status
lc__rebuild_note(const char *warehouse, bool wanted)
{
	char *path = lc__path_join(warehouse, REBUILD_NAME);
	lc_status status = LC_OK;

	if (path == NULL)
		return lc__no_memory("build");
	if (wanted)
		status = lc__write_file_atomic(path, "", 0);
	else if (unlink(path) == -1 && errno != ENOENT)
		status = lc__error_sys(errno, "%s: remove", path);
	free(path);
	return status;
}

bool
lc__rebuild_noted(const char *warehouse)
{
	char *path = lc__path_join(warehouse, REBUILD_NAME);
	const bool noted = path != NULL && access(path, F_OK) == 0;

	free(path);
	return noted;
}
