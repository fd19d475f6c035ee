/* SPDX-License-Identifier: BSD-2-Clause */
/* The pass over the lines: decides on each record, its id, its tensor and its line; and
 * the steps that make this durable. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "migrate/claims.h"
#include "migrate/migration.h"

/* Ratios of width to height outside of these are unusual. */
#define RATIO_LEAST 0.4
#define RATIO_MOST 2.5

/* The pass over the lines; memory that is reused for every line. */
struct pass {
	struct lc__migration *run;
	struct lc__lines lines;
	struct lc__line_entry entry;
	struct lc__buf out;      /* the step's new lines */
	struct lc__buf id;       /* the record's */
	struct lc__buf elements; /* its array's */
	lc_tensor tensor;        /* the tensor; data is NULL for none */
	bool extract;            /* arrays are extracted */
	bool compared;           /* the tensor was compared with what is stored under its
	                          * id */
	bool same;               /* and is the same */
	bool changed;            /* a line of this step has changed */
	bool put;                /* a tensor or claim was put in this step */
};

/* ---- a record's tensor ------------------------------------------------------- */

/* *there if something undamaged is stored under the id that need not be repaired; *same
 * if it is the tensor. */
static lc_status
compare(struct pass *pass, lc_id id, bool *there, bool *same)
{
	lc_cache *const cache = pass->run->modules[LC__PASS_DINOV3];
	const lc_tensor *const tensor = &pass->tensor;
	lc_view view;
	const lc_status status = lc_get(cache, id.data, id.size, &view);
	const lc_tensor *old = &view.tensor;

	*there = status == LC_OK;
	*same = status == LC_OK && view.kind == LC_TENSOR &&
	    old->dtype == tensor->dtype && old->ndim == tensor->ndim &&
	    memcmp(old->shape, tensor->shape, tensor->ndim * sizeof(old->shape[0])) ==
		0 &&
	    memcmp(old->data, tensor->data, tensor->nbytes) == 0;
	if (*there && pass->run->how->repair)
		*there = lc__migration_check_value(pass->run->how, LC__PASS_DINOV3,
			     &pass->entry, &view) == LC_OK;
	lc_view_release(&view);
	return status == LC_NOT_FOUND || status == LC_CORRUPT ? LC_OK : status;
}

/* A tensor under an id is not overwritten by another tensor. Of the ids examined the last
 * one is the record's. */
static lc_status
may_have(void *ctx, lc_id id, bool *out)
{
	struct pass *pass = ctx;
	bool there;

	*out = true;
	if (pass->tensor.data == NULL || pass->run->how->force)
		return LC_OK;
	return_if_error(compare(pass, id, &there, &pass->same));
	pass->compared = true;
	*out = !there || pass->same;
	return LC_OK;
}

static lc_status
store(struct pass *pass, lc_id id)
{
	lc_cache *cache = pass->run->modules[LC__PASS_DINOV3];
	lc_status status;
	lc_error error;

	pass->put = true;
	status = lc_put(cache, id.data, id.size, &pass->tensor);
	if (status != LC_INVALID)
		return status;
	/* If the module refuses it, the line is not to blame. */
	error = *lc_last_error();
	error.status = LC_UNSUPPORTED;
	return lc__error_raise(&error);
}

/* ---- a record's id ----------------------------------------------------------- */

static void __attribute__((format(printf, 3, 4)))
warn(const struct pass *pass, uint64_t *count, const char *format, ...)
{
	const struct lc__stage2 *how = pass->run->how;
	char what[600], text[1000];
	va_list args;

	/* Its task reports the line. */
	if (!lc__migration_has_line(how, pass->lines.number))
		return;
	if (++*count > 10 || how->warn == NULL)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(text, sizeof(text), "%s:%" PRIu64 ": %s%s", how->file,
	    pass->lines.number, what,
	    *count == 10 ? "; further ones are only counted" : "");
	how->warn(how->ctx, text);
}

bool
lc__migration_is_foreign(const struct lc__line_entry *entry)
{
	return !entry->v2 && entry->named &&
	    (entry->id.size == 0 ||
		!lc__claims_is_of((lc_id){ entry->path.data, entry->path.size },
		    (lc_id){ entry->id.data, entry->id.size }));
}

const char *
lc__migration_id_text(const struct lc__line_entry *entry)
{
	const struct lc__json_slice value = entry->members[LC__ENTRY_ID].value;

	return entry->id.size > 0 ? lc__quote_id(entry->id.data, entry->id.size)
				  : lc__quote_id(value.text, value.size);
}

/* Does the record keep its image_id? */
static bool
keeps_id(const struct lc__line_entry *entry)
{
	return entry->v2 || (entry->named && !lc__migration_is_foreign(entry));
}

/* A line that is left alone: of a newer version, or with a foreign image_id. It is
 * reported and counted. */
static bool
is_left_alone(struct pass *pass)
{
	const struct lc__line_entry *entry = &pass->entry;
	const struct lc__json_slice version = entry->members[LC__ENTRY_VERSION].value;
	struct lc__stage2_counts *counts = &pass->run->state.counts;

	if (entry->newer) {
		warn(pass, &counts->newer,
		    "format_version %.*s is newer than 2; the line does not change",
		    (int)(version.size < 40 ? version.size : 40), version.text);
		return true;
	}
	if (pass->run->how->force || !lc__migration_is_foreign(entry))
		return false;
	warn(pass, &counts->foreign,
	    "image_id %s does not come from its image_path; the line "
	    "does not change; -f replaces the image_id",
	    lc__migration_id_text(entry));
	return true;
}

static lc_status
claim(struct pass *pass, struct lc__claimed *claimed)
{
	const struct lc__line_entry *entry = &pass->entry;
	const struct lc__claimant who = {
		.cache = pass->run->state_cache,
		.generation = pass->run->state.generation,
		.line = pass->lines.number,
		.path = { entry->path.data, entry->path.size },
		.may = may_have,
		.ctx = pass,
	};
	bool keeps = keeps_id(entry);
	lc_status status = LC_OK;

	if (keeps) {
		pass->id.size = 0;
		lc__buf_append(&pass->id, entry->id.data, entry->id.size);
		status = pass->id.failed
		    ? lc__no_memory(NULL)
		    : lc__claims_keep(&who, (lc_id){ entry->id.data, entry->id.size },
			  claimed);
		keeps = status != LC_EXISTS || entry->v2 || !pass->run->how->force;
	}
	if (!keeps)
		status = lc__claims_choose(&who, &pass->id, claimed);
	if (status == LC_INVALID || status == LC_EXISTS)
		return lc__entry_error(entry, entry->line.text, "%s",
		    lc_last_error()->text);
	if (status == LC_OK)
		pass->put |= !claimed->sure;
	return status;
}

/* ---- a line ------------------------------------------------------------------ */

/* Must an encoder process this record? */
static lc_status
lacks(struct pass *pass, lc_id id, bool *out)
{
	const struct lc__stage2 *how = pass->run->how;

	*out = false;
	if (!lc__migration_has_line(how, pass->lines.number))
		return LC_OK;
	for (int p = 0; p < LC__PASS_MODULES && !*out; p++) {
		lc_view view;
		lc_status status;
		if (!how->pass[p] || how->encoder[p] == NULL ||
		    (p == LC__PASS_DINOV3 && pass->entry.array))
			continue;
		if (pass->run->modules[p] == NULL) {
			*out = true;
			continue;
		}
		status = lc_get(pass->run->modules[p], id.data, id.size, &view);
		*out = status != LC_OK || view.kind != LC_TENSOR ||
		    lc__expect_tensor(&how->expect[p], &view.tensor) != LC_OK ||
		    (p == LC__PASS_VAE && pass->entry.width > 0 &&
			pass->entry.height > 0 &&
			lc__migration_check_latents(&view.tensor, pass->entry.width,
			    pass->entry.height) != LC_OK);
		lc_view_release(&view);
		if (status != LC_OK && status != LC_NOT_FOUND && status != LC_CORRUPT)
			return status;
	}
	return LC_OK;
}

static void
count(struct pass *pass, bool upgraded, bool extracted, bool lacking)
{
	struct lc__stage2_counts *counts = &pass->run->state.counts;

	if (!lc__migration_has_line(pass->run->how, pass->lines.number))
		return;
	if (upgraded)
		counts->migrated++;
	else if (lacking)
		counts->enriched++;
	else if (extracted)
		counts->extracted++;
	else
		counts->skipped++;
}

/* Append a line unchanged. */
static lc_status
keep_line(struct pass *pass, const char *text, size_t size)
{
	lc__buf_append(&pass->out, text, size);
	return pass->out.failed ? lc__no_memory(NULL) : LC_OK;
}

/* The new line. */
static lc_status
write_line(struct pass *pass, lc_id id, bool upgrade)
{
	const struct lc__line_entry *entry = &pass->entry;
	const bool there = entry->members[LC__ENTRY_ARRAY].name.text != NULL;
	struct lc__entry_news news = {
		.cut = pass->run->how->pass[LC__PASS_MIGRATE] && there &&
		    (entry->array || upgrade),
		.upgrade = upgrade,
		.id = id,
	};
	char bucket[32];

	if (upgrade) {
		size_t n;
		const lc_bucket *all = lc_buckets_default(&n);
		const lc_bucket *b =
		    &all[lc_bucket_nearest(all, n, entry->width, entry->height)];
		snprintf(bucket, sizeof(bucket), "%" PRIu32 "x%" PRIu32, b->width,
		    b->height);
		news.bucket = bucket;
	}
	pass->changed |= news.cut || news.upgrade;
	return lc__entry_write(entry, &news, &pass->out);
}

/* The id under which a record's tensors would be stored; LC_NOT_FOUND for none yet. */
static lc_status
find_id(struct pass *pass, lc_id *out)
{
	const struct lc__line_entry *entry = &pass->entry;
	const struct lc__claimant who = {
		.cache = pass->run->state_cache,
		.generation = pass->run->state.generation,
		.line = pass->lines.number,
		.path = { entry->path.data, entry->path.size },
	};

	if (entry->v2) {
		*out = (lc_id){ entry->id.data, entry->id.size };
		return LC_OK;
	}
	if (who.cache == NULL)
		return LC_NOT_FOUND;
	return_if_error(lc__claims_find(&who, &pass->id));
	*out = (lc_id){ pass->id.data, pass->id.size };
	return LC_OK;
}

/* What would be done with a record. */
static lc_status
count_entry(struct pass *pass, bool upgrade, bool extract)
{
	bool lacking = false, there, same = false;
	lc_id id = { NULL, 0 };
	const lc_status status = find_id(pass, &id);

	if (status == LC_NOT_FOUND) {
		for (int p = 0; p < LC__PASS_MODULES; p++)
			lacking |= pass->run->how->pass[p] &&
			    pass->run->how->encoder[p] != NULL &&
			    (p != LC__PASS_DINOV3 || !extract);
	} else {
		return_if_error(status);
		return_if_error(lacks(pass, id, &lacking));
		if (extract && pass->run->modules[LC__PASS_DINOV3] != NULL)
			return_if_error(compare(pass, id, &there, &same));
	}
	count(pass, upgrade, extract && (!same || pass->run->how->pass[LC__PASS_MIGRATE]),
	    lacking);
	return LC_OK;
}

/* Process a record; nothing of it is kept if it turns out to be bad: LC_INVALID. */
static lc_status
do_entry(struct pass *pass)
{
	const struct lc__stage2 *how = pass->run->how;
	const bool upgrade = how->pass[LC__PASS_MIGRATE] &&
	    (!pass->entry.v2 || (how->repair && !lc__entry_has_bucket(&pass->entry)));
	const bool extract = pass->extract && pass->entry.array;
	struct lc__line_entry *entry = &pass->entry;
	struct lc__stage2_counts *counts = &pass->run->state.counts;
	struct lc__claimed claimed;
	bool lacking, may, there;
	double ratio;
	lc_id id;

	if (is_left_alone(pass))
		return keep_line(pass, entry->line.text, entry->line.size);
	pass->tensor.data = NULL;
	pass->compared = false;
	pass->same = true;
	if (upgrade)
		return_if_error(lc__migration_sides(how, &pass->entry));
	if (extract)
		return_if_error(lc__migration_array(how, &pass->entry, &pass->elements,
		    &pass->tensor));
	if (how->dry_run)
		return count_entry(pass, upgrade, extract);
	/* What is stored under the record's own image_id must not be another record's
	 * tensor. */
	if (extract && keeps_id(entry)) {
		id = (lc_id){ entry->id.data, entry->id.size };
		return_if_error(may_have(pass, id, &may));
		if (!may)
			return lc__entry_error(entry,
			    entry->members[LC__ENTRY_ARRAY].value.text,
			    "%s has another tensor for %s", how->module[LC__PASS_DINOV3],
			    lc__quote_id(id.data, id.size));
	}
	return_if_error(claim(pass, &claimed));
	id = (lc_id){ pass->id.data, pass->id.size };
	if (claimed.sure)
		pass->compared = false;
	if (extract && !pass->compared)
		return_if_error(compare(pass, id, &there, &pass->same));
	if (extract && !pass->same)
		return_if_error(store(pass, id));
	return_if_error(lacks(pass, id, &lacking));

	if (claimed.second)
		warn(pass, &counts->shared,
		    "image_id %s: other records have the shorter ones",
		    lc__quote_id(id.data, id.size));
	ratio = upgrade ? (double)entry->width / (double)entry->height : 1;
	if (ratio < RATIO_LEAST || ratio > RATIO_MOST)
		warn(pass, &counts->extreme,
		    "%" PRIu32 "x%" PRIu32 ": the ratio %.3g is outside of %g to %g",
		    entry->width, entry->height, ratio, RATIO_LEAST, RATIO_MOST);
	/* An image_id that existed and is lost. */
	if (!entry->v2 && entry->named &&
	    (entry->id.size != id.size || memcmp(entry->id.data, id.data, id.size) != 0))
		warn(pass, &counts->foreign, "image_id %s is replaced by %s",
		    lc__migration_id_text(entry), lc__quote_id(id.data, id.size));
	count(pass, upgrade,
	    extract && (!pass->same || claimed.first || how->pass[LC__PASS_MIGRATE]),
	    lacking);
	return write_line(pass, id, upgrade);
}

static lc_status
take_line(struct pass *pass, const struct lc__text_line *line)
{
	const struct lc__stage2 *how = pass->run->how;
	struct lc__stage2_counts *counts = &pass->run->state.counts;
	const size_t before = pass->out.size;
	unsigned long long column = 1;
	int skip = 0;
	lc_status status;
	bool bad;

	if (lc__text_line_is_blank(line)) {
		counts->blank++;
		return keep_line(pass, line->text, line->size);
	}
	if (how->limit > 0 &&
	    counts->migrated + counts->enriched + counts->extracted >= how->limit) {
		counts->left++;
		return keep_line(pass, line->text, line->size);
	}
	pass->run->state.limit_line = pass->lines.number;
	status = lc__entry_read(line->text, line->size, how->field, &pass->entry);
	bad = status == LC_INVALID || status == LC_CORRUPT;
	if (status == LC_OK) {
		status = do_entry(pass);
		/* If a module is damaged, the line is not to blame. */
		bad = status == LC_INVALID;
	}
	if (!bad)
		return status;

	/* Report a bad line with the last error, and keep it. */
	pass->out.size = before;
	if (!lc__migration_has_line(how, pass->lines.number))
		return keep_line(pass, line->text, line->size);
	if (sscanf(lc_last_error()->text, "column %llu: %n", &column, &skip) != 1)
		skip = 0;
	counts->bad++;
	if (how->bad != NULL)
		how->bad(how->ctx, pass->lines.number, column,
		    lc_last_error()->text + skip);
	return keep_line(pass, line->text, line->size);
}

/* ---- steps ------------------------------------------------------------------- */

/* *end at the end of the file. */
static lc_status
read_step(struct pass *pass, bool *end)
{
	const uint64_t start = pass->lines.offset, first = pass->lines.number;
	const uint64_t asked = pass->run->how->step_lines;
	const uint64_t most = asked > 0 && asked < LC__STEP_LINES ? asked
								  : LC__STEP_LINES;
	struct lc__text_line line;

	pass->out.size = 0;
	pass->changed = pass->put = *end = false;
	pass->run->before = pass->run->state.counts;
	while (pass->lines.offset - start < LC__STEP_BYTES &&
	    pass->lines.number - first < most) {
		const lc_status status = lc__lines_next(&pass->lines, &line);
		*end = status == LC_END;
		if (*end)
			return LC_OK;
		return_if_error(status);
		return_if_error(take_line(pass, &line));
		if (line.newline)
			return_if_error(keep_line(pass, "\n", 1));
	}
	return LC_OK;
}

/* Made durable in this order: arrays, lines, then the state. */
static lc_status
end_step(struct pass *pass)
{
	struct lc__migration *run = pass->run;

	if (run->how->dry_run) {
		run->state.in = pass->lines.offset;
		return LC_OK;
	}
	if (pass->changed && !run->state.rewriting) {
		return_if_error(lc__migration_begin_file(run, run->state.in));
		run->state.out = run->state.in;
		run->state.rewriting = 1;
	}
	if (pass->put && run->modules[LC__PASS_DINOV3] != NULL)
		return_if_error(lc_flush(run->modules[LC__PASS_DINOV3]));
	if (run->state.rewriting) {
		if (lseek(run->out, (off_t)run->state.out, SEEK_SET) == -1)
			return lc__error_sys(errno, "%s: seek", run->temporary);
		return_if_error(lc__write_full(run->out, pass->out.data, pass->out.size,
		    run->temporary));
		if (fdatasync(run->out) == -1)
			return lc__error_sys(errno, "%s: sync", run->temporary);
	}
	run->state.in = pass->lines.offset;
	run->state.out += pass->out.size;
	run->state.line = pass->lines.number;
	run->changed |= pass->put;
	if (!pass->put && !run->state.rewriting)
		return LC_OK;
	run->changed = true;
	return lc__stage2_store(run->state_cache, &run->state);
}

static lc_status
tell(const struct pass *pass)
{
	const struct lc__migration *run = pass->run;
	const struct lc__stage2 *how = run->how;

	if (how->step != NULL &&
	    how->step(how->ctx, &run->state.counts, run->state.in, run->size) != 0)
		return lc__error(LC_CANCELLED, 0, "%s: stopped", how->file);
	return LC_OK;
}

lc_status
lc__migration_lines(struct lc__migration *run)
{
	const bool *asked = run->how->pass;
	struct pass pass = {
		.run = run,
		.lines = lc__migrate_lines(run->in, run->how->file),
		.extract = asked[LC__PASS_DINOV3] || asked[LC__PASS_MIGRATE],
	};
	bool end = false;
	lc_status status = lc__lines_seek(&pass.lines, run->state.in, run->state.line);

	while (status == LC_OK && !end) {
		status = tell(&pass);
		if (status == LC_OK)
			status = read_step(&pass, &end);
		if (status == LC_OK)
			status = end_step(&pass);
	}
	if (status == LC_OK)
		status = tell(&pass);
	lc__lines_free(&pass.lines);
	lc__entry_free(&pass.entry);
	lc__buf_free(&pass.out);
	lc__buf_free(&pass.id);
	lc__buf_free(&pass.elements);
	return status;
}
