/* SPDX-License-Identifier: BSD-2-Clause */
#include "migrate/stage2.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "build/disk.h"
#include "migrate/migration.h"

const char *const lc__stage2_passes[LC__PASSES + 1] = { "dinov3", "vae", "t5", "migrate",
	NULL };

/* ---- modules ----------------------------------------------------------------- */

lc_status
lc__migration_open_modules(struct lc__migration *run)
{
	const struct lc__stage2 *how = run->how;
	lc_options options;

	/* Arrays are put into the first. The others are only checked, without reading
	 * their data. */
	for (int p = 0; p < LC__PASS_MODULES; p++) {
		const bool writes = p == LC__PASS_DINOV3 && !how->dry_run;
		lc_status status;

		if (!how->pass[p] &&
		    !(p == LC__PASS_DINOV3 && how->pass[LC__PASS_MIGRATE]))
			continue;
		lc_options_init(&options);
		options.flags = writes ? LC_CREATE : LC_RDONLY;
		options.flush_interval_ms = 0;
		options.verify = p == LC__PASS_DINOV3;
		status = lc_open(how->dir, how->module[p], &options, &run->modules[p]);
		if (status != LC_NO_FILE || writes)
			return_if_error(status);
	}
	return LC_OK;
}

lc_status
lc__migration_close_modules(struct lc__migration *run)
{
	lc_status first = LC_OK;

	for (int p = 0; p < LC__PASS_MODULES; p++) {
		const lc_status status = lc_close(run->modules[p]);
		run->modules[p] = NULL;
		if (first == LC_OK)
			first = status;
	}
	return first;
}

/* ---- where to continue ----------------------------------------------------------- */

/* The options that determine how a line is changed and counted. */
static lc_status
make_recipe(const struct lc__stage2 *how, char *out, size_t room)
{
	struct lc__buf text = { 0 };
	lc_status status = LC_OK;

	lc__buf_printf(&text, "field %s %s[", how->field, lc_dtype_name(how->dtype));
	for (uint32_t i = 0; i < how->ndim; i++)
		lc__buf_printf(&text, "%s%" PRIu64, i ? "," : "", how->shape[i]);
	lc__buf_printf(&text, "]");
	for (int p = 0; p < LC__PASSES; p++)
		if (how->pass[p])
			lc__buf_printf(&text, " %s%s", lc__stage2_passes[p],
			    p < LC__PASS_MODULES && how->encoder[p] ? "+" : "");
	for (int p = 0; p < LC__PASS_MODULES; p++)
		lc__buf_printf(&text, " %s", how->module[p]);
	if (how->repair)
		lc__buf_printf(&text, " repair");
	if (how->tasks > 0)
		lc__buf_printf(&text, " task %u/%u", (unsigned)how->task,
		    (unsigned)how->tasks);
	if (how->limit > 0)
		lc__buf_printf(&text, " limit %" PRIu64, how->limit);
	lc__buf_append(&text, "", 1);
	if (text.failed)
		status = lc__no_memory(NULL);
	else if (text.size > room)
		status = lc__error(LC_INVALID, 0, "options of %zu bytes are too long",
		    text.size);
	else
		memcpy(out, text.data, text.size);
	lc__buf_free(&text);
	return status;
}

/* Start with the first line, and keep the existing claims. */
static void
begin_anew(struct lc__stage2_state *state)
{
	memset(&state->counts, 0, sizeof(state->counts));
	state->phase = LC__STAGE2_LINES;
	state->rewriting = 0;
	state->in = state->out = state->line = state->limit_line = 0;
	*state->backup = *state->renewed = '\0';
}

static void
say(const struct lc__migration *run, const char *what)
{
	char text[1000];

	if (run->how->warn == NULL)
		return;
	snprintf(text, sizeof(text), "%s: %s", run->how->file, what);
	run->how->warn(run->how->ctx, text);
}

lc_status
lc__migration_same_file(struct lc__migration *run)
{
	struct lc__stage2_state *state = &run->state;
	char *real = realpath(run->how->file, NULL), path[LC__STATE_TEXT];
	size_t size;
	lc_status status;

	if (real == NULL)
		return lc__error_sys(errno, "%s: open", run->how->file);
	size = strlen(real);
	snprintf(path, sizeof(path), "%s", real);
	free(real);
	if (size >= sizeof(path))
		return lc__error(LC_INVALID, 0, "%s: its path is too long",
		    run->how->file);
	if (run->state_cache != NULL) {
		status = lc__stage2_load(run->state_cache, state);
		if (status != LC_OK && status != LC_NOT_FOUND)
			return status;
	}
	if (*state->file != '\0' && strcmp(state->file, path) != 0 && !run->how->force)
		return lc__error(LC_INVALID, 0,
		    "%s/stage2 belongs to %s; -f continues with %s", run->how->dir,
		    state->file, run->how->file);
	snprintf(state->file, sizeof(state->file), "%s", path);
	return LC_OK;
}

/* The complete new file may still have its own name, or that of the records. */
static bool
new_file_is_whole(const struct lc__migration *run, const char *stamp)
{
	char found[LC__STAMP_ROOM] = "";
	int fd;

	if (strcmp(stamp, run->state.renewed) == 0)
		return true;
	fd = lc__open(run->temporary, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
	if (fd == -1)
		return false;
	if (lc__stage2_stamp(fd, run->temporary, found) != LC_OK)
		*found = '\0';
	close(fd);
	return strcmp(found, run->state.renewed) == 0;
}

/* Decide where to continue, from the stored state, or at the start. */
static lc_status
find_start(struct lc__migration *run, const char *stamp, const char *recipe)
{
	struct lc__stage2_state *state = &run->state;

	if (state->phase == LC__STAGE2_SWAP && strcmp(stamp, state->renewed) == 0)
		snprintf(state->stamp, sizeof(state->stamp), "%s", stamp);
	/* The file is not the one in the state: its claims have an older generation and
	 * its offsets are meaningless. */
	if (strcmp(state->stamp, stamp) != 0) {
		if (state->generation > 0 && state->phase < LC__STAGE2_FILL)
			say(run,
			    "the file has changed since the migration began; all lines are "
			    "processed again");
		state->generation++;
		begin_anew(state);
		snprintf(state->stamp, sizeof(state->stamp), "%s", stamp);
	}
	run->changed = state->generation > 0 && *state->recipe != '\0' &&
	    state->phase != LC__STAGE2_DONE;
	if (state->phase == LC__STAGE2_SWAP && !run->how->dry_run) {
		if (new_file_is_whole(run, stamp)) {
			return_if_error(lc__migration_swap(run));
		} else {
			say(run,
			    "the new file is missing or was changed; all lines are "
			    "processed again");
			begin_anew(state);
		}
	}
	if (strcmp(state->recipe, recipe) != 0 || state->phase == LC__STAGE2_DONE)
		begin_anew(state);
	else
		run->done->resumed = state->line > 0;
	snprintf(state->recipe, sizeof(state->recipe), "%s", recipe);
	return LC_OK;
}

static lc_status
load(struct lc__migration *run)
{
	char stamp[LC__STAMP_ROOM], recipe[LC__STATE_TEXT];

	return_if_error(make_recipe(run->how, recipe, sizeof(recipe)));
	return_if_error(lc__stage2_stamp(run->in, run->how->file, stamp));
	return_if_error(lc__migration_same_file(run));
	/* It must be replaced, which a task may not do. */
	if (run->how->tasks > 0 &&
	    (run->state.rewriting || run->state.phase == LC__STAGE2_SWAP))
		return lc__error(LC_INVALID, 0,
		    "%s: its migration was interrupted; finish it first, "
		    "without --shard",
		    run->how->file);
	for (int p = 0; p < LC__PASSES; p++)
		if (run->how->pass[p] &&
		    (p >= LC__PASS_MODULES || p == LC__PASS_DINOV3 ||
			run->how->encoder[p] != NULL))
			run->state.passes |= UINT64_C(1) << p;
	if (asprintf(&run->temporary, "%s.stage2.tmp", run->state.file) < 0)
		return lc__no_memory(run->how->file);
	return_if_error(
	    lc__backup_check(run->how->backup, run->state.file, run->temporary));
	return find_start(run, stamp, recipe);
}

/* ---- files ------------------------------------------------------------------- */

static lc_status
open_file(struct lc__migration *run)
{
	struct stat st;

	if (run->in != -1)
		close(run->in);
	/* It may be a pipe without a writer. */
	run->in = lc__open(run->how->file, O_RDONLY | O_NONBLOCK);
	if (run->in == -1)
		return lc__error_sys(errno, "%s: open", run->how->file);
	if (fstat(run->in, &st) == -1)
		return lc__error_sys(errno, "%s: stat", run->how->file);
	if (!S_ISREG(st.st_mode))
		return lc__error(LC_INVALID, 0,
		    "%s: not a regular file, so it cannot be replaced", run->how->file);
	run->size = (uint64_t)st.st_size;
	return LC_OK;
}

/* The new file of an interrupted run, as far as it is known to be valid. */
static lc_status
reopen_new(struct lc__migration *run)
{
	struct lc__stage2_state *state = &run->state;
	struct stat st;

	if (!state->rewriting) {
		/* It was begun, and then the file was changed; a task has none. */
		if (!run->how->dry_run && run->how->tasks == 0)
			(void)unlink(run->temporary);
		return LC_OK;
	}
	run->out = lc__open(run->temporary, O_RDWR | O_NONBLOCK | O_NOFOLLOW);
	if (run->out == -1 && errno != ENOENT)
		return lc__error_sys(errno, "%s: open", run->temporary);
	if (run->out != -1 && fstat(run->out, &st) == 0 &&
	    (uint64_t)st.st_size >= state->out) {
		if (ftruncate(run->out, (off_t)state->out) == -1)
			return lc__error_sys(errno, "%s: cut", run->temporary);
		return LC_OK;
	}
	say(run, "the unfinished new file is missing; all lines are processed again");
	begin_anew(state);
	return LC_OK;
}

/* One migration at a time in a directory: the lock ends with the process. It is a
 * separate file, since opening the module locks the module's directory. */
static lc_status
lock(const char *dir, int *fd)
{
	char *path = lc__path_join(dir, "stage2/migrate.lock");
	lc_status status = LC_OK;

	if (path == NULL)
		return lc__no_memory(NULL);
	*fd = lc__open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (*fd == -1)
		status = lc__error_sys(errno, "%s: open", path);
	else if (flock(*fd, LOCK_EX | LOCK_NB) == -1)
		status = errno == EWOULDBLOCK
		    ? lc__error(LC_BUSY, 0, "%s: another migration is running", dir)
		    : lc__error_sys(errno, "%s: lock", path);
	free(path);
	return status;
}

/* ---- required disk space --------------------------------------------------------- */

/* How much of the file is examined. */
#define SAMPLE ((uint64_t)8 << 20)

/* Of the sample. */
struct seen {
	uint64_t bytes; /* of all its lines */
	uint64_t records, arrays;
	uint64_t cut;     /* bytes of arrays */
	uint64_t latents; /* bytes */
};

/* The size of a record without its tensor: its head, its key, its index entry. */
static uint64_t
stored(uint64_t records, double tensor)
{
	return (uint64_t)((double)records * (tensor + 300));
}

static void
estimate(const struct lc__stage2 *how, const struct seen *seen, uint64_t size,
    struct lc__stage2_needs *out)
{
	const double scale = seen->bytes > 0 ? (double)size / (double)seen->bytes : 0;
	const double arrays = (double)seen->arrays * scale;
	double array = (double)lc_dtype_size(how->dtype);

	for (uint32_t i = 0; i < how->ndim; i++)
		array *= (double)how->shape[i];
	out->records = (uint64_t)((double)seen->records * scale);
	if (how->pass[LC__PASS_MIGRATE])
		out->lines = size - (uint64_t)((double)seen->cut * scale) +
		    out->records * 100;
	if (how->pass[LC__PASS_MIGRATE] || how->pass[LC__PASS_DINOV3])
		out->modules[LC__PASS_DINOV3] = stored((uint64_t)arrays, array);
	if (how->pass[LC__PASS_VAE] && how->encoder[LC__PASS_VAE] != NULL)
		out->modules[LC__PASS_VAE] = stored(out->records,
		    seen->records == 0 ? 0
				       : (double)seen->latents / (double)seen->records);
	if (how->pass[LC__PASS_T5] && how->encoder[LC__PASS_T5] != NULL)
		out->modules[LC__PASS_T5] = stored(out->records, 77 * 1024 * 2);
	for (int p = 0; p < LC__PASS_MODULES && how->tasks > 0; p++)
		out->modules[p] /= how->tasks;
}

static lc_status
estimate_needs(const struct lc__stage2 *how, int fd, uint64_t size,
    struct lc__stage2_needs *out)
{
	struct lc__lines lines = lc__migrate_lines(fd, how->file);
	struct lc__line_entry entry = { .count = 0 };
	struct lc__text_line line;
	struct seen seen = { 0 };
	lc_status status;

	memset(out, 0, sizeof(*out));
	status = lc__lines_seek(&lines, 0, 0);
	while (status == LC_OK && lines.offset < SAMPLE &&
	    (status = lc__lines_next(&lines, &line)) == LC_OK) {
		if (lc__text_line_is_blank(&line) ||
		    lc__entry_read(line.text, line.size, how->field, &entry) != LC_OK)
			continue;
		seen.records++;
		if (entry.array && how->pass[LC__PASS_MIGRATE])
			seen.cut += entry.members[LC__ENTRY_ARRAY].value.size;
		seen.arrays += entry.array || how->encoder[LC__PASS_DINOV3] != NULL;
		seen.latents += (uint64_t)16 * (entry.height / 8) * (entry.width / 8) * 2;
	}
	if (status == LC_END)
		status = LC_OK;
	seen.bytes = lines.offset;
	estimate(how, &seen, size, out);
	lc__lines_free(&lines);
	lc__entry_free(&entry);
	return status;
}

/* LC_NO_SPACE if there is less than what is still needed, not counting what the modules
 * and the new file have already. */
static lc_status
check_space(const struct lc__migration *run)
{
	const struct lc__stage2_needs *needs = &run->done->needs;
	const uint64_t done = run->state.rewriting ? run->state.out : 0;
	const uint64_t lines = run->state.phase > LC__STAGE2_LINES || needs->lines < done
	    ? 0
	    : needs->lines - done;
	uint64_t tensors = 0;
	struct stat file, dir;
	char what[100];

	for (int p = 0; p < LC__PASS_MODULES; p++) {
		lc_stats stats = { .struct_size = sizeof(stats), .live_bytes = 0 };

		if (run->modules[p] != NULL)
			return_if_error(lc_stat(run->modules[p], &stats));
		if (needs->modules[p] > stats.live_bytes)
			tensors += needs->modules[p] - stats.live_bytes;
	}
	if (stat(run->state.file, &file) == -1 || stat(run->how->dir, &dir) == -1)
		return lc__error_sys(errno, "%s: stat", run->how->dir);
	snprintf(what, sizeof(what), "about %" PRIu64 " records",
	    run->done->needs.records);
	if (file.st_dev == dir.st_dev)
		return lc__space_check(run->how->dir, lines + tensors, what);
	return_if_error(lc__space_check(run->how->dir, tensors, what));
	return lc__space_check(run->state.file, lines, "the new lines");
}

/* ---- the whole migration --------------------------------------------------------- */

/* The lines, with the modules open. */
static lc_status
do_lines(struct lc__migration *run)
{
	lc_status status = lc__migration_open_modules(run), closed;

	if (status == LC_OK && !run->how->dry_run)
		status = check_space(run);
	if (status == LC_OK)
		status = lc__migration_lines(run);
	closed = lc__migration_close_modules(run);
	return status != LC_OK ? status : closed;
}

static lc_status
migrate(struct lc__migration *run)
{
	struct lc__stage2_state *state = &run->state;

	if (run->how->dry_run)
		begin_anew(state);
	return_if_error(estimate_needs(run->how, run->in, run->size, &run->done->needs));
	if (run->how->dry_run)
		return do_lines(run);
	if (state->phase == LC__STAGE2_LINES) {
		return_if_error(reopen_new(run));
		return_if_error(do_lines(run));
		return_if_error(lc__migration_swap(run));
	}
	return_if_error(open_file(run));
	run->done->counts = state->counts;
	if (run->how->repair)
		return_if_error(lc__migration_restore(run));
	return_if_error(lc__migration_fill(run));
	state->phase = LC__STAGE2_DONE;
	return run->changed ? lc__stage2_store(run->state_cache, state) : LC_OK;
}

lc_status
lc__migration_open(struct lc__migration *run)
{
	const struct lc__stage2 *how = run->how;
	lc_options options;
	lc_status status;

	return_if_error(open_file(run));
	if (how->dry_run) {
		lc_options_init(&options);
		options.flags = LC_RDONLY;
		status = lc_open(how->dir, "stage2", &options, &run->state_cache);
		return status == LC_NO_FILE ? LC_OK : status;
	}
	/* Migrations into other directories write the same new file. The lock on the file
	 * that is read ends with the process; where files cannot be locked, the
	 * directory's lock must suffice. Tasks write no file, and share the lock. */
	if (flock(run->in, (how->tasks > 0 ? LOCK_SH : LOCK_EX) | LOCK_NB) == -1 &&
	    errno == EWOULDBLOCK)
		return lc__error(LC_BUSY, 0, "%s: another migration is running",
		    how->file);
	return_if_error(lc__stage2_module(how->dir, &run->state_cache));
	return lock(how->dir, &run->lock);
}

lc_status
lc__migration_close(struct lc__migration *run, lc_status status)
{
	/* Writes that are still pending must not be stored without their state. */
	if (status != LC_OK)
		lc_discard(run->state_cache);
	else
		status = lc_close(run->state_cache);
	if (run->lock != -1)
		close(run->lock);
	if (run->in != -1)
		close(run->in);
	if (run->out != -1)
		close(run->out);
	free(run->temporary);
	return status;
}

lc_status
lc__stage2_run(const struct lc__stage2 *how, struct lc__stage2_done *out)
{
	struct lc__migration run = {
		.how = how,
		.done = out,
		.in = -1,
		.out = -1,
		.lock = -1,
	};
	const struct lc__stage2_counts *counts = &run.state.counts;
	lc_status status;

	memset(out, 0, sizeof(*out));
	status = lc__migration_open(&run);
	if (status == LC_OK)
		status = load(&run);
	if (status == LC_OK)
		status = migrate(&run);
	status = lc__migration_close(&run, status);
	out->counts = *counts;
	out->total = counts->migrated + counts->enriched + counts->extracted +
	    counts->skipped;
	snprintf(out->backup, sizeof(out->backup), "%s", run.state.backup);
	return status;
}
