/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that all lines, claims and tensors are as a migration leaves them. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "migrate/claims.h"
#include "migrate/migration.h"

struct verifying {
	const struct lc__stage2 *how;
	lc_cache *state_cache;
	lc_cache *modules[LC__PASS_MODULES]; /* NULL: it does not exist */
	struct lc__stage2_state state;
	struct lc__lines lines;
	struct lc__line_entry entry;
	struct lc__buf id, elements;
	struct lc__stage2_verified *out;
};

static void __attribute__((format(printf, 2, 3)))
found(struct verifying *v, const char *format, ...)
{
	const struct lc__stage2 *how = v->how;
	char text[1200], id[400] = "";
	va_list args;

	v->out->findings++;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(id, sizeof(id), "%.*s", (int)(v->id.size < 399 ? v->id.size : 399),
	    v->id.size > 0 ? (const char *)v->id.data : "");
	if (how->finding != NULL)
		how->finding(how->ctx, v->lines.number, id, text);
}

static lc_status
check_tensor(struct verifying *v, enum lc__stage2_pass p)
{
	const char *module = v->how->module[p];
	lc_view view;
	lc_status status = LC_NOT_FOUND;

	if (v->modules[p] != NULL)
		status = lc_get(v->modules[p], v->id.data, v->id.size, &view);
	if (status == LC_OK) {
		status = lc__migration_check_value(v->how, p, &v->entry, &view);
		lc_view_release(&view);
	}
	if (status == LC_OK)
		v->out->tensors[p]++;
	else if (status == LC_NOT_FOUND)
		found(v, "%s: missing", module);
	else if (status == LC_SCHEMA || status == LC_INVALID || status == LC_CORRUPT)
		found(v, "%s: %s", module, lc_last_error()->text);
	else
		return status;
	return LC_OK;
}

/* ---- a line ------------------------------------------------------------------ */

/* LC_NOT_FOUND if it has none, LC_INVALID if it cannot have one. */
static lc_status
find_id(struct verifying *v)
{
	const struct lc__line_entry *entry = &v->entry;
	const struct lc__claimant who = {
		.cache = v->state_cache,
		.generation = v->state.generation,
		.line = v->lines.number,
		.path = { entry->path.data, entry->path.size },
	};
	lc_status status;

	if (!entry->v2)
		return lc__claims_find(&who, &v->id);
	lc__buf_append(&v->id, entry->id.data, entry->id.size);
	if (v->id.failed)
		return lc__no_memory(NULL);
	status = lc__claims_check(&who, (lc_id){ entry->id.data, entry->id.size });
	if (status == LC_INVALID)
		found(v, "%s", lc_last_error()->text);
	return status == LC_INVALID ? LC_OK : status;
}

/* A line that a migration leaves alone gives a single finding. */
static bool
is_left_alone(struct verifying *v)
{
	const struct lc__json_slice version = v->entry.members[LC__ENTRY_VERSION].value;

	if (v->entry.newer)
		found(v, "format_version %.*s is newer than 2",
		    (int)(version.size < 40 ? version.size : 40), version.text);
	else if (lc__migration_is_foreign(&v->entry))
		found(v, "image_id %s does not come from its image_path",
		    lc__migration_id_text(&v->entry));
	else
		return false;
	v->out->records++;
	return true;
}

static lc_status
check_entry(struct verifying *v)
{
	lc_status status;

	if (is_left_alone(v))
		return LC_OK;
	status = find_id(v);
	if (status == LC_NOT_FOUND || status == LC_INVALID)
		v->id.size = 0;
	if (status == LC_INVALID)
		return status;
	v->out->records++;
	if (v->how->pass[LC__PASS_MIGRATE]) {
		if (!v->entry.v2)
			found(v, "the record does not have version 2");
		else if (!lc__entry_has_bucket(&v->entry))
			found(v, "aspect_bucket is not WIDTHxHEIGHT");
		if (v->entry.v2 && v->entry.array)
			found(v, "%s is still in the line", v->how->field);
	}
	if (status == LC_NOT_FOUND) {
		found(v, "it has no image_id in stage2");
		return LC_OK;
	}
	for (int p = 0; p < LC__PASS_MODULES && status == LC_OK; p++)
		if (v->out->asked[p])
			status = check_tensor(v, (enum lc__stage2_pass)p);
	return status;
}

static lc_status
check_line(struct verifying *v, const struct lc__text_line *line)
{
	struct lc__line_entry *entry = &v->entry;
	lc_tensor tensor;
	lc_status status;

	v->id.size = 0;
	if (lc__text_line_is_blank(line))
		return LC_OK;
	status = lc__entry_read(line->text, line->size, v->how->field, &v->entry);
	/* A record that cannot be migrated is a bad line. */
	if (status == LC_OK && v->how->pass[LC__PASS_MIGRATE] && !entry->v2 &&
	    !entry->newer) {
		status = lc__migration_sides(v->how, entry);
		if (status == LC_OK && entry->array)
			status = lc__migration_array(v->how, entry, &v->elements,
			    &tensor);
	}
	if (status == LC_OK)
		status = check_entry(v);
	if (status != LC_CORRUPT && status != LC_INVALID)
		return status;
	v->out->bad++;
	found(v, "%s", lc_last_error()->text);
	return LC_OK;
}

static lc_status
check_lines(struct verifying *v, uint64_t size)
{
	const struct lc__stage2 *how = v->how;
	const struct lc__stage2_counts none = { 0 };
	struct lc__text_line line;
	lc_status status;

	return_if_error(lc__lines_seek(&v->lines, 0, 0));
	while ((status = lc__lines_next(&v->lines, &line)) == LC_OK) {
		return_if_error(check_line(v, &line));
		if (how->step != NULL &&
		    how->step(how->ctx, &none, v->lines.offset, size) != 0)
			return lc__error(LC_CANCELLED, 0, "%s: stopped", how->file);
	}
	return status == LC_END ? LC_OK : status;
}

/* ---- the whole verification ------------------------------------------------------ */

static lc_status
verify(struct verifying *v)
{
	const struct lc__stage2 *how = v->how;
	lc_options options;
	struct stat st;
	lc_status status;

	if (fstat(v->lines.fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", v->how->file);
	if (!S_ISREG(st.st_mode))
		return lc__error(LC_INVALID, 0, "%s: not a regular file", v->how->file);

	lc_options_init(&options);
	options.flags = LC_RDONLY;
	for (int p = 0; p < LC__PASS_MODULES; p++) {
		if (!how->pass[p])
			continue;
		status = lc_open(how->dir, how->module[p], &options, &v->modules[p]);
		if (status != LC_OK && status != LC_NO_FILE)
			return status;
	}
	status = lc_open(how->dir, "stage2", &options, &v->state_cache);
	/* Nothing was migrated into this directory. */
	if (status != LC_OK)
		return status == LC_NO_FILE ? lc__error_as(LC_NOT_FOUND) : status;
	status = lc__stage2_load(v->state_cache, &v->state);
	if (status == LC_OK && v->state.phase != LC__STAGE2_DONE)
		found(v, "its migration is unfinished");
	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;

	/* The named ones; else the existing modules, and those that a run or an encoder
	 * was to fill. */
	for (int p = 0; p < LC__PASS_MODULES; p++)
		v->out->asked[p] = how->pass[p] &&
		    (how->named || p == LC__PASS_DINOV3 || how->encoder[p] != NULL ||
			v->modules[p] != NULL || (v->state.passes >> p & 1));
	return check_lines(v, (uint64_t)st.st_size);
}

lc_status
lc__stage2_verify(const struct lc__stage2 *how, struct lc__stage2_verified *out)
{
	struct verifying v = {
		.how = how,
		.out = out,
		.lines = lc__migrate_lines(-1, how->file),
	};
	lc_status status;

	memset(out, 0, sizeof(*out));
	v.lines.fd = lc__open(how->file, O_RDONLY | O_NONBLOCK);
	status = v.lines.fd == -1 ? lc__error_sys(errno, "%s: open", how->file)
				  : verify(&v);
	for (int p = 0; p < LC__PASS_MODULES; p++)
		lc_discard(v.modules[p]);
	lc_discard(v.state_cache);
	if (v.lines.fd != -1)
		close(v.lines.fd);
	lc__lines_free(&v.lines);
	lc__entry_free(&v.entry);
	lc__buf_free(&v.id);
	lc__buf_free(&v.elements);
	return status;
}
