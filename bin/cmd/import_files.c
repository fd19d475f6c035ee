/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of an import that are files of one tensor each. */
#include "cmd/import.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/team.h"
#include "formats/formats.h"
#include "ui/report.h"

#define MAX_THREADS 64
#define MAX_FILE ((uint64_t)64 << 30)

/* Files that threads read and decode ahead. */
struct ahead {
	const struct sources *sources;
	const struct lc__incoming_how *how;
	struct lc__loaded *slots; /* as many as the team's window */
	struct lc__team team;
};

static bool
is_stored(void *ctx, const struct source *source)
{
	return import_passes(ctx, (lc_id){ source->id, source->id_size });
}

void
import_drop_files(struct import *import, struct sources *sources)
{
	if (import->there != NULL)
		import->skipped += sources_drop(sources, is_stored, import);
}

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
take_next(struct import *import, struct ahead *ahead)
{
	uint64_t job;
	const lc_status status = lc__team_next(&ahead->team, &job);
	const struct source *source = &ahead->sources->items[job];
	struct lc__loaded *loaded = &ahead->slots[job % ahead->team.window];
	int result;

	if (status != LC_OK)
		return import_bad(import, status);
	result = import_store(import, source->path,
	    (lc_id){ source->id, source->id_size }, loaded->value);
	lc__loaded_free(loaded);
	return result;
}

static int
take_all(struct import *import, struct ahead *ahead)
{
	int worst = EXIT_DONE;

	for (size_t i = 0; i < ahead->sources->count; i++) {
		int status = take_next(import, ahead);
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
