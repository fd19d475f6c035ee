/* SPDX-License-Identifier: BSD-2-Clause */
/* Restores lines of version 2 to their old form: with their arrays, without the added
 * members. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/json_number.h"
#include "base/json_write.h"
#include "base/newfile.h"
#include "migrate/claims.h"
#include "migrate/migration.h"
#include "value/dtype.h"

/* How much is written at once. */
#define PORTION ((size_t)4 << 20)

struct rolling {
	struct lc__migration *run;
	struct lc__stage2_rolled *out;
	struct lc__lines lines;
	struct lc__line_entry entry;
	struct lc__buf text;     /* new lines that are not written yet */
	struct lc__newfile file; /* the new one */
};

/* ---- an array as text -------------------------------------------------------- */

static const unsigned char *
put_array(struct lc__buf *out, const lc_tensor *tensor, uint32_t depth,
    const unsigned char *p, const char *comma)
{
	const lc_dtype dtype = tensor->dtype;
	char text[LC__SHORTEST];

	/* Numbers in their own form: floats with the fewest digits of a double. */
	if (depth == tensor->ndim) {
		if (dtype == LC_BOOL) {
			lc__buf_printf(out, "%s", *p ? "true" : "false");
		} else if (dtype == LC_U64) {
			lc__buf_printf(out, "%llu", (unsigned long long)lc__get64(p));
		} else if (dtype == LC_I64) {
			lc__buf_printf(out, "%lld", (long long)lc__get64(p));
		} else {
			lc__shortest(lc__element_real(dtype, p), text);
			lc__buf_printf(out, "%s", text);
		}
		return p + lc_dtype_size(dtype);
	}
	lc__buf_append(out, "[", 1);
	for (uint64_t i = 0; i < tensor->shape[depth]; i++) {
		if (i > 0)
			lc__buf_printf(out, ",%s", comma);
		p = put_array(out, tensor, depth + 1, p, comma);
	}
	lc__buf_append(out, "]", 1);
	return p;
}

/* ---- a line ------------------------------------------------------------------ */

/* An image_id that is not derived from the path was chosen elsewhere, and stays. */
static bool
goes(const struct lc__line_entry *entry, const struct lc__json_member *member)
{
	const char *const name = member->name.text;

	if (name == entry->members[LC__ENTRY_ID].name.text)
		return lc__claims_is_of((lc_id){ entry->path.data, entry->path.size },
		    (lc_id){ entry->id.data, entry->id.size });
	return name == entry->members[LC__ENTRY_BUCKET].name.text ||
	    name == entry->members[LC__ENTRY_VERSION].name.text ||
	    (name == entry->members[LC__ENTRY_ARRAY].name.text && !entry->array);
}

/* The members that stay, byte for byte, and then the array, if there is a tensor. One of
 * these members is image_path, so a comma precedes the array. */
static lc_status
put_line(struct rolling *r, const lc_tensor *tensor)
{
	const struct lc__line_entry *entry = &r->entry;
	const char *const end = entry->line.text + entry->line.size;
	const char *const colon = entry->first.value.text[-1] == ' ' ? " " : "";
	const char *const comma = entry->count > 1 && entry->second.name.text[-2] == ' '
	    ? " "
	    : "";
	struct lc__json_members all;
	struct lc__json_member member;
	bool begun = false;
	lc_status status;

	return_if_error(lc__json_object(entry->line.text, entry->line.size, &all));
	lc__buf_append(&r->text, entry->line.text,
	    (size_t)(entry->first.whole.text - entry->line.text));
	while ((status = lc__json_next(&all, &member)) == LC_OK) {
		const bool is_last = member.name.text == entry->last.name.text;
		const char *const to = is_last ? member.value.text + member.value.size
					       : member.whole.text + member.whole.size;
		if (goes(entry, &member))
			continue;
		lc__buf_printf(&r->text, "%s", begun ? "," : "");
		lc__buf_append(&r->text, member.whole.text,
		    (size_t)(to - member.whole.text));
		begun = true;
	}
	if (status != LC_END)
		return status;
	if (tensor != NULL) {
		lc__buf_printf(&r->text, ",%s\"", comma);
		lc__json_put_text(&r->text, r->run->how->field,
		    strlen(r->run->how->field), LC__JSON_ASCII);
		lc__buf_printf(&r->text, "\":%s", colon);
		put_array(&r->text, tensor, 0, tensor->data, comma);
	}
	lc__buf_append(&r->text, entry->last.value.text + entry->last.value.size,
	    (size_t)(end - entry->last.value.text) - entry->last.value.size);
	return r->text.failed ? lc__no_memory(NULL) : LC_OK;
}

static lc_status
keep_line(struct rolling *r, const struct lc__text_line *line, uint64_t *count)
{
	++*count;
	lc__buf_append(&r->text, line->text, line->size);
	return r->text.failed ? lc__no_memory(NULL) : LC_OK;
}

static void
found(struct rolling *r, const char *what)
{
	const struct lc__stage2 *how = r->run->how;
	char id[400];

	snprintf(id, sizeof(id), "%.*s",
	    (int)(r->entry.id.size < 399 ? r->entry.id.size : 399),
	    (const char *)r->entry.id.data);
	if (how->finding != NULL)
		how->finding(how->ctx, r->lines.number, id, what);
}

static lc_status
roll_entry(struct rolling *r, const struct lc__text_line *line)
{
	const struct lc__stage2 *how = r->run->how;
	lc_cache *const cache = r->run->modules[LC__PASS_DINOV3];
	lc_status status;
	lc_view view;
	char what[1200];

	if (r->entry.array) {
		r->out->back++;
		return put_line(r, NULL);
	}
	status = lc_get(cache, r->entry.id.data, r->entry.id.size, &view);
	if (status == LC_NOT_FOUND) {
		snprintf(what, sizeof(what), "%s: missing: the line has no array",
		    how->module[LC__PASS_DINOV3]);
		found(r, what);
		r->out->without++;
		return put_line(r, NULL);
	}
	if (status == LC_OK) {
		status = lc__migration_check_value(how, LC__PASS_DINOV3, &r->entry,
		    &view);
		if (status == LC_OK) {
			r->out->back++;
			status = put_line(r, &view.tensor);
			lc_view_release(&view);
			return status;
		}
		lc_view_release(&view);
	}
	if (status != LC_SCHEMA && status != LC_INVALID && status != LC_CORRUPT)
		return status;
	snprintf(what, sizeof(what), "%s: %s: the line does not change",
	    how->module[LC__PASS_DINOV3], lc_last_error()->text);
	found(r, what);
	return keep_line(r, line, &r->out->kept);
}

/* ---- the file ---------------------------------------------------------------- */

static lc_status
write_text(struct rolling *r)
{
	const lc_status status = r->run->how->dry_run
	    ? LC_OK
	    : lc__write_full(r->file.fd, r->text.data, r->text.size, r->file.temporary);

	r->text.size = 0;
	return status;
}

static lc_status
roll_lines(struct rolling *r)
{
	const struct lc__stage2 *how = r->run->how;
	const struct lc__stage2_counts none = { 0 };
	struct lc__text_line line;
	lc_status status;

	return_if_error(lc__lines_seek(&r->lines, 0, 0));
	while ((status = lc__lines_next(&r->lines, &line)) == LC_OK) {
		if (lc__text_line_is_blank(&line)) {
			status = keep_line(r, &line, &r->out->blank);
		} else {
			status = lc__entry_read(line.text, line.size, how->field,
			    &r->entry);
			if (status == LC_OK && r->entry.v2)
				status = roll_entry(r, &line);
			else if (status == LC_OK || status == LC_INVALID ||
			    status == LC_CORRUPT)
				status = keep_line(r, &line, &r->out->other);
		}
		return_if_error(status);
		lc__buf_append(&r->text, "\n", line.newline);
		if (r->text.size >= PORTION)
			return_if_error(write_text(r));
		if (how->step != NULL &&
		    how->step(how->ctx, &none, r->lines.offset, r->run->size) != 0)
			return lc__error(LC_CANCELLED, 0, "%s: stopped", how->file);
	}
	return_if_error(status == LC_END ? LC_OK : status);
	return write_text(r);
}

static lc_status
roll_back(struct rolling *r)
{
	struct lc__migration *run = r->run;
	char stamp[LC__STAMP_ROOM];

	return_if_error(lc__migration_same_file(run));
	return_if_error(lc__stage2_stamp(run->in, run->how->file, run->state.stamp));
	if (!run->how->dry_run) {
		lc__newfile_tidy(run->state.file);
		return_if_error(lc__newfile_open(run->state.file, 0600, &r->file));
	}
	r->lines = lc__migrate_lines(run->in, run->how->file);
	return_if_error(roll_lines(r));
	if (r->out->back + r->out->without == 0 || run->how->dry_run)
		return LC_OK;

	/* The present file gets a second name before the new one replaces it. */
	return_if_error(lc__migration_check_unchanged(run, stamp));
	return_if_error(lc__backup_choose(run->state.file, 2, run->how->backup,
	    r->out->backup, sizeof(r->out->backup)));
	return_if_error(lc__backup_make(run->state.file, r->out->backup));
	return_if_error(lc__migration_take_mode(run, r->file.fd, r->file.temporary));
	return_if_error(lc__newfile_replace(&r->file));
	r->out->rewritten = true;
	return LC_OK;
}

lc_status
lc__stage2_rollback(const struct lc__stage2 *how, struct lc__stage2_rolled *out)
{
	struct lc__migration run = { .how = how, .in = -1, .out = -1, .lock = -1 };
	struct rolling r = { .run = &run, .out = out, .file = LC__NEWFILE_NONE };
	lc_options options;
	lc_status status, closed;

	memset(out, 0, sizeof(*out));
	/* Without the module there are no arrays, but maybe another directory is
	 * meant. */
	lc_options_init(&options);
	options.flags = LC_RDONLY;
	status = lc_open(how->dir, how->module[LC__PASS_DINOV3], &options,
	    &run.modules[LC__PASS_DINOV3]);
	if (status == LC_OK)
		status = lc__migration_open(&run);
	if (status == LC_OK)
		status = roll_back(&r);
	if (status != LC_OK || !out->rewritten)
		*out->backup = '\0';
	lc__newfile_discard(&r.file);
	closed = lc__migration_close_modules(&run);
	status = lc__migration_close(&run, status == LC_OK ? closed : status);
	lc__lines_free(&r.lines);
	lc__entry_free(&r.entry);
	lc__buf_free(&r.text);
	return status;
}
