/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of an import that have one tensor each: found, named, read and stored. */
#include "cmd/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/image_name.h"
#include "base/listdir.h"
#include "base/team.h"
#include "ui/pattern.h"
#include "ui/report.h"

bool
sources_count(struct sources *sources)
{
	return task_has(sources->task, sources->found++);
}

/* Takes ownership of @p path, also after a failure and if another task has the file. */
static int
append(struct sources *sources, char *path, size_t below, bool named)
{
	if (!sources_count(sources)) {
		free(path);
		return EXIT_DONE;
	}
	if (path == NULL ||
	    lc__array_reserve(&sources->items, &sources->room, sources->count + 1,
		NULL) != LC_OK) {
		free(path);
		return report_no_memory();
	}
	sources->items[sources->count] = (struct source){
		.path = path,
		.below = below,
		.named = named,
		.order = sources->count,
	};
	sources->count++;
	return EXIT_DONE;
}

static bool
is_known(const char *name)
{
	const char *dot = strrchr(name, '.');

	return lc__is_image_name(name, strlen(name)) ||
	    (dot != NULL && strcasecmp(dot, ".npy") == 0);
}

static int add_directory(struct sources *sources, const char *dir, size_t below);

/* By errno. */
static int
unreadable(struct sources *sources, const char *path)
{
	const bool all = errno == ENOMEM || errno == EMFILE || errno == ENFILE;
	const int status = report_errno(path);

	sources->unreadable += !all;
	return sources->keep_going && !all ? EXIT_DONE : status;
}

/*
 * Directories that a symbolic link leads to are not entered, as that may never end. Every
 * entry with one of the names is read, and refused then unless it is a regular file.
 */
static int
add_entry(struct sources *sources, const char *dir, const struct lc__dir_entry *entry,
    size_t below)
{
	const char *name = entry->name;
	char *path = lc__path_join(dir, name);
	struct stat st;
	int status = EXIT_DONE;

	if (path == NULL)
		return report_no_memory();
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		status = add_directory(sources, path, below);
	else if (is_known(name) && (stat(path, &st) == -1 || !S_ISDIR(st.st_mode)))
		return append(sources, path, below, false);
	else if (!is_known(name) && lstat(path, &st) == -1 &&
	    (errno != ENOENT || entry->type == S_IFDIR))
		status = unreadable(sources, path);
	else
		(void)lc__images_ignored_add(&sources->ignored, name);
	free(path);
	return status;
}

static int
add_directory(struct sources *sources, const char *dir, size_t below)
{
	struct lc__dir_list entries = { 0 };
	int status = EXIT_DONE;

	if (lc__listdir(dir, false, &entries) == LC_OK) {
		for (size_t i = 0; i < entries.n && status == EXIT_DONE; i++)
			status = add_entry(sources, dir, &entries.entries[i], below);
	} else {
		errno = lc_last_error()->sys != 0 ? lc_last_error()->sys : ENOMEM;
		status = unreadable(sources, dir);
	}
	lc__dir_list_free(&entries);
	return status;
}

int
sources_add(struct sources *sources, const char *path)
{
	const size_t size = strlen(path);
	struct stat st;

	if (stat(path, &st) == -1)
		return report_errno(path);
	if (!S_ISDIR(st.st_mode))
		return append(sources, strdup(path), 0, true);
	return add_directory(sources, path, size + (path[size - 1] != '/'));
}

#define MOST_SAME 10 /* files with the cache_id of another that are named */

static int
by_id(const void *a, const void *b)
{
	const struct source *const *x = a, *const *y = b;
	const int order = strcmp((*x)->id, (*y)->id);

	if (order != 0)
		return order;
	return ((*x)->order > (*y)->order) - ((*x)->order < (*y)->order);
}

static int
check_duplicates(const struct sources *sources)
{
	const struct source **sorted = calloc(sources->count + 1,
	    sizeof(const struct source *));
	size_t same = 0;

	if (sorted == NULL)
		return report_no_memory();
	for (size_t i = 0; i < sources->count; i++)
		sorted[i] = &sources->items[i];
	qsort(sorted, sources->count, sizeof(const struct source *), by_id);
	for (size_t i = 1; i < sources->count; i++) {
		if (strcmp(sorted[i]->id, sorted[i - 1]->id) != 0)
			continue;
		if (++same > MOST_SAME)
			continue;
		report_error(EXIT_DATA, "%s: same cache_id %s as %s", sorted[i]->path,
		    lc__quote_id(sorted[i]->id, sorted[i]->id_size), sorted[i - 1]->path);
	}
	free(sorted);
	if (same > 0)
		report_error(EXIT_DATA,
		    "%zu %s the cache_id of another%s; --id "
		    "'{path}' uses the whole path",
		    same, same == 1 ? "file has" : "files have",
		    same > MOST_SAME ? ", ten of them shown" : "");
	return same > 0 ? EXIT_DATA : EXIT_DONE;
}

int
sources_name(struct sources *sources, const char *pattern)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < sources->count && status != EXIT_SYSTEM; i++) {
		struct source *source = &sources->items[i];

		source->id = pattern_fill(pattern, source->path + source->below);
		if (source->id == NULL)
			return report_worse(status, report_no_memory());
		source->id_size = strlen(source->id);
		if (source->id_size == 0 || source->id_size > LC_MAX_ID)
			status = report_worse(status,
			    report_error(EXIT_DATA, "%s: its cache_id is %s",
				source->path, source->id_size ? "too long" : "empty"));
	}
	return status == EXIT_DONE ? check_duplicates(sources) : status;
}

static void
free_source(struct source *source)
{
	free(source->path);
	free(source->id);
}

void
import_drop_files(struct import *import, struct sources *sources)
{
	const size_t before = sources->count;
	size_t kept = 0;

	if (import->there == NULL)
		return;
	for (size_t i = 0; i < before; i++) {
		struct source *source = &sources->items[i];

		if (import_passes(import, (lc_id){ source->id, source->id_size }))
			free_source(source);
		else
			sources->items[kept++] = *source;
	}
	sources->count = kept;
	import->skipped += before - kept;
}

void
sources_free(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++)
		free_source(&sources->items[i]);
	free(sources->items);
	memset(sources, 0, sizeof(*sources));
}

/* ---- reading and storing them ------------------------------------------------------- */

#define MAX_THREADS 64
#define MAX_FILE ((uint64_t)64 << 30)

/* Files that threads read and decode ahead of their turn. */
struct ahead {
	const struct sources *sources;
	const struct lc__incoming_how *how;
	struct lc__loaded *slots; /* as many as the team's window */
	struct lc__team team;
};

/* Read and decode a file: the job of a thread. */
static lc_status
decode_file(struct lc__team *team, unsigned thread, uint64_t job)
{
	const struct ahead *ahead = team->ctx;
	const struct source *source = &ahead->sources->items[job];
	struct lc__loaded *out = &ahead->slots[job % team->window];
	struct lc__buf file = { 0 };
	lc_status status = source->named
	    ? lc__read_file(source->path, MAX_FILE, &file)
	    : lc__read_regular(source->path, MAX_FILE, &file);

	(void)thread;
	if (status != LC_OK) {
		lc__buf_free(&file);
		return status;
	}
	if (lc__payload_load(&file, ahead->how, out, &out->value) == LC_OK)
		return LC_OK;
	lc__loaded_free(out);
	return lc__error_prefix("%s", source->path);
}

static int
take_all(struct import *import, struct ahead *ahead)
{
	int worst = EXIT_DONE;

	for (size_t i = 0; i < ahead->sources->count; i++) {
		uint64_t job;
		const lc_status decoded = lc__team_next(&ahead->team, &job);
		const struct source *source = &ahead->sources->items[job];
		struct lc__loaded *loaded = &ahead->slots[job % ahead->team.window];
		int status;

		if (decoded == LC_OK) {
			status = import_store(import, source->path,
			    (lc_id){ source->id, source->id_size }, loaded->value);
			lc__loaded_free(loaded);
		} else {
			status = import_bad(import, decoded);
		}
		worst = report_worse(worst, status);
		if (!import_goes_on(import, status))
			break;
		status = import_step(import);
		if (status != EXIT_DONE)
			return status;
	}
	return worst;
}

int
import_files(struct import *import, const struct sources *sources, unsigned threads)
{
	struct ahead ahead = { .sources = sources, .how = &import->how,
		.team = { .work = decode_file, .jobs = sources->count,
		    .threads = threads < MAX_THREADS ? threads : MAX_THREADS, }, };
	int status;

	if (sources->count == 0)
		return EXIT_DONE;
	ahead.team.ctx = &ahead;
	/* The one that is being stored, and two for each thread. */
	ahead.team.window = 1 + 2 * (size_t)ahead.team.threads;
	ahead.slots = calloc(ahead.team.window, sizeof(*ahead.slots));
	if (ahead.slots == NULL)
		return report_no_memory();
	status = lc__team_start(&ahead.team) == LC_OK ? take_all(import, &ahead)
						      : report_library(EXIT_SYSTEM);
	lc__team_end(&ahead.team);
	for (size_t i = 0; i < ahead.team.window; i++)
		lc__loaded_free(&ahead.slots[i]);
	free(ahead.slots);
	return status;
}
