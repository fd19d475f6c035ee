/* SPDX-License-Identifier: BSD-2-Clause */
/* The pass over the lines, step by step. */
#include "migrate/pass.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"

/* *end at the end of the file. */
static lc_status
read_step(struct lc__pass *pass, bool *end)
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
		return_if_error(lc__pass_line(pass, &line));
		if (line.newline)
			return_if_error(lc__pass_keep(pass, "\n", 1));
	}
	return LC_OK;
}

static lc_status
write_step(struct lc__pass *pass)
{
	struct lc__migration *run = pass->run;

	if (lseek(run->out, (off_t)run->state.out, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", run->temporary);
	return_if_error(
	    lc__write_full(run->out, pass->out.data, pass->out.size, run->temporary));
	if (fdatasync(run->out) == -1)
		return lc__error_sys(errno, "%s: sync", run->temporary);
	return LC_OK;
}

/* Durable in this order: arrays, lines, then how far it is. */
static lc_status
end_step(struct lc__pass *pass)
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
	if (run->state.rewriting)
		return_if_error(write_step(pass));
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
tell(const struct lc__pass *pass)
{
	const struct lc__migration *run = pass->run;
	const struct lc__stage2 *how = run->how;

	if (how->step != NULL &&
	    how->step(how->ctx, &run->state.counts, run->state.in, run->size) != 0)
		return lc__error(LC_CANCELLED, 0, "%s: stopped", how->file);
	return LC_OK;
}

static lc_status
steps(struct lc__pass *pass)
{
	bool end = false;

	return_if_error(
	    lc__lines_seek(&pass->lines, pass->run->state.in, pass->run->state.line));
	while (!end) {
		return_if_error(tell(pass));
		return_if_error(read_step(pass, &end));
		return_if_error(end_step(pass));
	}
	return tell(pass);
}

lc_status
lc__migration_lines(struct lc__migration *run)
{
	const bool *asked = run->how->pass;
	struct lc__pass pass = {
		.run = run,
		.lines = lc__migrate_lines(run->in, run->how->file),
		.extract = asked[LC__PASS_DINOV3] || asked[LC__PASS_MIGRATE],
	};
	const lc_status status = steps(&pass);

	lc__lines_free(&pass.lines);
	lc__entry_free(&pass.entry);
	lc__buf_free(&pass.out);
	lc__buf_free(&pass.id);
	lc__buf_free(&pass.elements);
	return status;
}
