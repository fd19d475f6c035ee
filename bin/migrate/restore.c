/* SPDX-License-Identifier: BSD-2-Clause */
/* Restores tensors that are missing or damaged, from the arrays in originals that were
 * kept. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "migrate/claims.h"
#include "migrate/migration.h"

struct restoring {
	struct lc__migration *run;
	struct lc__lines lines;
	struct lc__line_entry entry;
	struct lc__buf id, elements;
	bool exact;    /* the original has the lines of the file, one by one */
	uint64_t size; /* of the original */
};

/* LC_NOT_FOUND if it is unknown which record the line was. */
static lc_status
find_id(struct restoring *r)
{
	const struct lc__line_entry *entry = &r->entry;
	const struct lc__claimant who = {
		.cache = r->run->state_cache,
		.generation = r->run->state.generation,
		.line = r->lines.number,
		.path = { entry->path.data, entry->path.size },
	};
	lc_status status;

	r->id.size = 0;
	if (!entry->v2)
		return lc__claims_match(&who, r->exact, &r->id);
	lc__buf_append(&r->id, entry->id.data, entry->id.size);
	if (r->id.failed)
		return lc__no_memory(NULL);
	status = lc__claims_check(&who, (lc_id){ entry->id.data, entry->id.size });
	return status == LC_INVALID ? LC_NOT_FOUND : status;
}

/* A line that could not be migrated is not a record: LC_INVALID, LC_CORRUPT. */
static lc_status
restore_line(struct restoring *r, const struct lc__text_line *line)
{
	const struct lc__stage2 *how = r->run->how;
	lc_tensor tensor;
	lc_view view;
	lc_status status;

	return_if_error(lc__entry_read(line->text, line->size, how->field, &r->entry));
	if (r->entry.newer || !r->entry.array)
		return LC_OK;
	if (!r->entry.v2)
		return_if_error(lc__migration_sides(how, &r->entry));
	return_if_error(find_id(r));
	/* Is what is stored under the record's id right? */
	status = lc_get(r->run->modules[LC__PASS_DINOV3], r->id.data, r->id.size, &view);
	if (status == LC_OK) {
		const bool good = lc__migration_check_value(how, LC__PASS_DINOV3,
				      &r->entry, &view) == LC_OK;

		lc_view_release(&view);
		if (good)
			return LC_OK;
	} else if (status != LC_NOT_FOUND && status != LC_CORRUPT) {
		return status;
	}
	return_if_error(lc__migration_array(how, &r->entry, &r->elements, &tensor));
	return_if_error(
	    lc_put(r->run->modules[LC__PASS_DINOV3], r->id.data, r->id.size, &tensor));
	r->run->done->restored++;
	return LC_OK;
}

static lc_status
restore_lines(struct restoring *r)
{
	const struct lc__stage2 *how = r->run->how;
	struct lc__text_line line;
	lc_status status;

	return_if_error(lc__lines_seek(&r->lines, 0, 0));
	while ((status = lc__lines_next(&r->lines, &line)) == LC_OK) {
		if (lc__text_line_is_blank(&line))
			continue;
		status = restore_line(r, &line);
		if (status != LC_OK && status != LC_NOT_FOUND && status != LC_INVALID &&
		    status != LC_CORRUPT)
			return status;
		if (how->step != NULL &&
		    how->step(how->ctx, &r->run->state.counts, r->lines.offset,
			r->size) != 0)
			return lc__error(LC_CANCELLED, 0, "%s: stopped", how->file);
	}
	return status == LC_END ? LC_OK : status;
}

/* *there unless the name does not exist. */
static lc_status
restore_from(struct restoring *r, const char *path, bool exact, bool *there)
{
	struct stat st;
	lc_status status;

	*there = false;
	r->exact = exact;
	r->lines = lc__migrate_lines(-1, path);
	r->lines.fd = lc__open(path, O_RDONLY | O_NONBLOCK);
	if (r->lines.fd == -1)
		return errno == ENOENT ? LC_OK : lc__error_sys(errno, "%s: open", path);
	*there = true;
	if (fstat(r->lines.fd, &st) == -1)
		status = lc__error_sys(errno, "%s: stat", path);
	else if (!S_ISREG(st.st_mode))
		status = lc__error(LC_INVALID, 0, "%s: not a regular file", path);
	else {
		r->size = (uint64_t)st.st_size;
		status = restore_lines(r);
	}
	close(r->lines.fd);
	lc__lines_free(&r->lines);
	return status;
}

/* The last original is known to have the lines of the claims, unless the file was changed
 * since. */
static lc_status
restore_all(struct restoring *r)
{
	const struct lc__stage2_state *state = &r->run->state;
	char path[LC__STATE_TEXT];
	bool there = true;

	if (*state->original != '\0')
		return_if_error(restore_from(r, state->original,
		    state->original_generation == state->generation, &there));
	there = true;
	for (unsigned n = 1; there; n++) {
		if (!lc__backup_name(state->file, 1, n, path, sizeof(path)))
			return LC_OK;
		if (strcmp(path, state->original) != 0)
			return_if_error(restore_from(r, path, false, &there));
	}
	return LC_OK;
}

lc_status
lc__migration_restore(struct lc__migration *run)
{
	struct restoring r = { .run = run };
	lc_status status, closed;

	if (!run->how->pass[LC__PASS_DINOV3])
		return LC_OK;
	status = lc__migration_open_modules(run);
	if (status == LC_OK)
		status = restore_all(&r);
	closed = lc__migration_close_modules(run);
	lc__entry_free(&r.entry);
	lc__buf_free(&r.id);
	lc__buf_free(&r.elements);
	return status == LC_OK ? closed : status;
}
