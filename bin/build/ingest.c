/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/ingest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "build/ingesting.h"
#include "build/disk.h"
#include "build/export.h"

#define MAX_THREADS 256

const char *
lc__phase_name(enum lc__phase phase)
{
	static const char *const names[LC__PHASES] = { "scan", "read", "label", "decode",
		"resize", "store", "export" };

	return phase < LC__PHASES ? names[phase] : NULL;
}

lc_status
lc__ingesting_step(struct lc__ingesting *b)
{
	const struct lc__ingest_watch *watch = b->ingest->watch;

	b->state->wall_ns = lc__clock_ns() - b->start;
	if (watch == NULL || watch->step == NULL ||
	    watch->step(watch->ctx, b->state) == 0)
		return LC_OK;
	return lc__error(LC_CANCELLED, 0, "%s: build cancelled", b->ingest->warehouse);
}

void
lc__ingesting_spent(struct lc__ingesting *b, enum lc__phase phase, uint64_t *start)
{
	const uint64_t now = lc__clock_ns();

	b->state->ns[phase] += now - *start;
	*start = now;
}

/* ---- the warehouse ---------------------------------------------------------------- */

/* The existing part of a path, without links. */
static char *
real_beginning(const char *path)
{
	char *copy = strdup(path), *real = NULL, *slash;

	while (copy != NULL && (real = realpath(copy, NULL)) == NULL && errno == ENOENT &&
	    strcmp(copy, ".") != 0 && strcmp(copy, "/") != 0) {
		slash = strrchr(copy, '/');
		if (slash == NULL)
			strcpy(copy, ".");
		else if (slash == copy)
			copy[1] = '\0';
		else
			*slash = '\0';
	}
	free(copy);
	return real;
}

/* Inside its dataset, a warehouse would itself be a change that makes it stale. */
static lc_status
check_place(const struct lc__ingest *ingest)
{
	char *dataset = realpath(ingest->dataset, NULL);
	char *warehouse;
	size_t n;
	lc_status status = LC_OK;

	if (dataset == NULL)
		return lc__error_sys(errno, "%s", ingest->dataset);
	n = strlen(dataset);
	warehouse = real_beginning(ingest->warehouse);
	if (warehouse != NULL && strncmp(warehouse, dataset, n) == 0 &&
	    (warehouse[n] == '/' || warehouse[n] == '\0' || dataset[n - 1] == '/'))
		status = lc__error(LC_INVALID, 0,
		    "%s: is in the dataset %s; a warehouse must be elsewhere",
		    ingest->warehouse, ingest->dataset);
	free(dataset);
	free(warehouse);
	return status;
}

static lc_status
forget_store(struct lc__ingesting *b, const char key[65])
{
	const struct lc__ingest *ingest = b->ingest;
	char *path;
	lc_status status;

	return_if_error(lc__rebuild_note(ingest->warehouse, true));
	return_if_error(lc__packed_forget(ingest->warehouse));
	status = lc__store_open(&b->store, ingest, key);
	if (status == LC_OK)
		status = lc_clear(b->store.cache);
	if (status != LC_CORRUPT && status != LC_NOT_MODULE && status != LC_VERSION)
		return status;
	/* A module that is too damaged to be opened is created anew. */
	path = lc__path_join(ingest->warehouse, LC__WAREHOUSE_MODULE);
	if (path == NULL)
		return lc__no_memory("build");
	(void)lc__store_close(&b->store);
	status = lc__tree_remove(AT_FDCWD, path, "");
	free(path);
	return_if_error(status);
	return lc__store_open(&b->store, ingest, key);
}

/* ---- the run ------------------------------------------------------------------------ */

static lc_status
check_limits(struct lc__ingesting *b)
{
	const struct lc__ingest_watch *watch = b->ingest->watch;
	const struct lc__thresholds *limits = &b->ingest->thresholds;
	const lc_status status = lc__thresholds_check(limits, &b->out->summary.totals);
	char text[sizeof(lc_last_error()->text)];

	if (status != LC_INVALID)
		return status;
	strcpy(text, lc_last_error()->text);
	if (!limits->warn)
		return lc__error(LC_FAILED, 0, "%s: %s", b->ingest->dataset, text);
	if (watch != NULL && watch->warn != NULL)
		watch->warn(watch->ctx, text);
	return LC_OK;
}

/* Without a version the list of rejected frames is left in the warehouse itself, until a
 * build creates a version. The error of the build takes precedence. */
static void
leave_rejected(struct lc__ingesting *b, lc_status status)
{
	const lc_error error = *lc_last_error();
	char *path = lc__path_join(b->ingest->warehouse, LC__WAREHOUSE_REJECTED);
	char sha256[65];

	if (status == LC_OK && path != NULL)
		(void)unlink(path);
	if (status == LC_FAILED && path != NULL &&
	    lc__rejected_write(&b->samples, path, sha256) == LC_OK) {
		b->out->rejected_list = path;
		path = NULL;
	}
	free(path);
	if (status != LC_OK)
		(void)lc__error_raise(&error);
}

static lc_status
run_build(struct lc__ingesting *b)
{
	const struct lc__ingest *ingest = b->ingest;
	const bool writes = !ingest->dry_run && ingest->packs == 0;
	char key[65];
	lc_status status;

	return_if_error(check_place(ingest));
	if (writes) {
		return_if_error(lc__make_dirs(ingest->warehouse));
		return_if_error(lc__lock_take(ingest->warehouse, &b->lock));
	}
	return_if_error(lc__ingesting_scan(b));
	return_if_error(lc__store_open_others(&b->store, ingest));
	if (writes) {
		return_if_error(lc__recipe_sample_key(b->recipe, key));
		status = ingest->clear ? forget_store(b, key)
				       : lc__store_open(&b->store, ingest, key);
		return_if_error(status);
	}
	b->rebuild = lc__rebuild_noted(ingest->warehouse);
	return_if_error(lc__ingesting_frames(b));
	/* The steps below need all frames. */
	if (ingest->tasks > 0)
		return b->store.cache != NULL ? lc__store_tidy(&b->store) : LC_OK;
	status = check_limits(b);
	/* Not earlier: if half of a dataset is not mounted, a limit is exceeded, but its
	 * samples are still valid. */
	if (status == LC_OK)
		status = lc__ingesting_forget(b);
	if (status == LC_OK)
		status = lc__ingesting_export(b);
	if (b->store.cache == NULL)
		return status;
	leave_rejected(b, status);
	return status == LC_OK ? lc__store_tidy(&b->store) : status;
}

/* What is stored so far is valid, however the build ended. */
static lc_status
end(struct lc__ingesting *b, lc_status status)
{
	const lc_error error = *lc_last_error();
	uint64_t start = lc__clock_ns();
	lc_status closed;

	lc__samples_free(&b->samples);
	closed = lc__store_close(&b->store);
	lc__ingesting_spent(b, LC__PHASE_STORE, &start);
	lc__sources_free(&b->sources);
	b->recipe->classes = NULL; /* the dataset's */
	b->recipe->n_classes = 0;
	lc__dataset_close(b->dataset);
	free(b->root_path);
	if (b->root != -1)
		close(b->root);
	if (b->lock != -1)
		close(b->lock);
	b->state->wall_ns = lc__clock_ns() - b->start;
	return status == LC_OK ? closed : lc__error_raise(&error);
}

lc_status
lc__ingest_run(const struct lc__ingest *ingest, struct lc__ingest_result *out)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct lc__ingesting b = {
		.ingest = ingest,
		.recipe = ingest->recipe,
		.out = out,
		.state = &out->state,
		.start = lc__clock_ns(),
		.threads = ingest->threads,
		.root = -1,
		.lock = -1,
	};

	if (b.threads == 0)
		b.threads = processors > 0 ? (unsigned)processors : 1;
	if (b.threads > MAX_THREADS)
		b.threads = MAX_THREADS;
	*out = (struct lc__ingest_result){ .up_to_date = false };
	b.counting = (struct lc__counting){
		.recipe = ingest->recipe,
		.summary = &out->summary,
	};
	b.samples = (struct lc__samples){
		.recipe = ingest->recipe,
		.store = &b.store,
	};
	return end(&b, run_build(&b));
}

void
lc__ingest_result_free(struct lc__ingest_result *result)
{
	free(result->version_dir);
	free(result->rejected_list);
	lc__summary_free(&result->summary);
	*result = (struct lc__ingest_result){ .up_to_date = false };
}
