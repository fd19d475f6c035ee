/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recover: a copy of data.mdb gets a new index, ledger and counters, computed from its
 * chunks. If the full verify then passes on the copy, it replaces the old file, which is
 * kept under another name.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/fileio.h"
#include "env/mend.h"
#include "store/cache.h"
#include "store/module.h"
#include "life/recover.h"

/* One recovery and its options. */
struct job {
	const lc_progress *progress;
	bool dry_run;
	enum lc__mended module; /* what happened to the module row */
	bool sound;             /* dry run */
	lc_recover_result result;
};

/* ---- in the copy ---------------------------------------------------------- */

/* Read and decide. */
static lc_status
examine(struct lc__recovery *r, enum lc__mended module)
{
	/* The module row was repaired when the copy was opened. */
	if (module != LC__MENDED_NONE) {
		r->result.rows++;
		r->result.reset += module == LC__MENDED_LOST;
		/* The hashes of the index depend on the identity. */
		r->index_damaged |= module == LC__MENDED_LOST;
		lc__progress_damage(r->progress,
		    module == LC__MENDED
			? "module row: damaged, and repaired"
			: "module row: lost; the module has a new identity");
	}
	return_if_error(lc__recovery_put_back_meta(r));
	return_if_error(lc__recovery_read_state(r));
	return_if_error(lc__recovery_put_back_tables(r));
	return_if_error(lc__recovery_put_back_values(r));
	return_if_error(lc__recovery_rebuild_state(r));
	return_if_error(lc__recovery_put_back_rows(r));
	return_if_error(lc__recovery_mend_settings(r));
	return_if_error(lc__recovery_mend_counters(r));
	return_if_error(lc__recovery_mend_schemas(r));
	return_if_error(lc__recovery_read_origins(r));
	return_if_error(lc__recovery_read_chunks(r));
	return_if_error(lc__recovery_read_runs(r));
	return_if_error(lc__recovery_decide(r));
	return_if_error(lc__recovery_check_counts(r));
	return lc__recovery_check_inputs(r);
}

/* For a sound module this fails with LC_CANCELLED, so that the change is not
 * committed. */
static lc_status
recover_within(struct lc__change *change, void *ctx)
{
	struct job *job = ctx;
	struct lc__recovery r = { .change = change, .progress = job->progress };
	lc_status status = examine(&r, job->module);
	bool damaged = r.index_damaged || r.state_lost || r.result.rescued > 0 ||
	    r.result.lost > 0 || r.result.rows > 0;

	for (uint64_t i = 0; i < r.nchunks && !damaged; i++)
		damaged = r.chunks[i].rewrite;
	job->sound = status == LC_OK && !damaged;
	if (job->sound)
		status = LC_CANCELLED;
	if (status == LC_OK)
		status = lc__recovery_write(&r);
	if (status == LC_OK)
		status = lc__recovery_write_inputs(&r);
	job->result = r.result;
	free(r.runs);
	free(r.claims);
	free(r.gaps);
	free(r.records);
	free(r.spans);
	free(r.chunks);
	free(r.live);
	free(r.origins);
	return status;
}

static lc_status
recover_copy(struct job *job, const char *dir)
{
	struct lc__env *env = NULL;
	lc_options options;
	lc_status status;

	lc_options_init(&options);
	options.flags = 0;
	status = lc__env_open_to_mend(dir, &options, &job->module, &env);
	if (status == LC_CORRUPT)
		return lc__error_prefix(
		    "recover: LMDB's pages are damaged: restore a "
		    "backup, or extract the records with recover --salvage");
	return_if_error(status);
	status = lc__module_attach(env);
	if (status == LC_OK)
		status = lc__recovery_unfold(env);
	if (status == LC_OK)
		status = lc__change_run_unread(env, recover_within, job);
	lc__env_close(env);
	return job->sound ? LC_OK : status;
}

/* ---- verifying ------------------------------------------------------------ */

struct first_damage {
	const lc_progress *progress;
	char line[1024]; /* empty without one */
};

static void
note_damage(void *ctx, const char *line)
{
	struct first_damage *first = ctx;

	if (first->line[0] == '\0')
		snprintf(first->line, sizeof(first->line), "%s", line);
}

static int
pass_step(void *ctx, uint64_t done, uint64_t total)
{
	const struct first_damage *first = ctx;

	return first->progress == NULL || first->progress->step == NULL
	    ? 0
	    : first->progress->step(first->progress->ctx, done, total);
}

/* Is a module sound? LC_CORRUPT, with one of its damages, if not. */
static lc_status
verify(const char *root, const char *module_id, const struct job *job, uint64_t *live)
{
	struct first_damage first = { .progress = job->progress };
	const lc_progress progress = {
		.step = pass_step,
		.damage = note_damage,
		.ctx = &first,
	};
	lc_verify_result result;
	lc_cache *cache = NULL;
	lc_options options;
	lc_status status;

	lc_options_init(&options);
	options.flags = LC_RDONLY;
	return_if_error(lc_open(root, module_id, &options, &cache));
	status = lc_verify(cache, &progress, &result);
	lc_discard(cache);
	if (status == LC_OK)
		*live = result.live;
	return status != LC_CORRUPT || first.line[0] == '\0'
	    ? status
	    : lc__error(LC_CORRUPT, 0, "%s", first.line);
}

/* ---- the whole recovery ---------------------------------------------------------- */

static lc_status
recover_beside(struct job *job, struct lc__mend *mend, const char *dir)
{
	uint64_t live = 0;
	lc_status status;

	lc__progress_phase(job->progress, "rebuild");
	return_if_error(recover_copy(job, lc__mend_dir(mend)));
	lc__progress_phase(job->progress, "verify the copy");
	status = verify(dir, LC__MEND_NAME, job, &live);
	if (status == LC_CORRUPT)
		return lc__error_prefix("recover: too damaged to be rebuilt, and left "
					"unchanged; still wrong");
	return_if_error(status);
	job->result.records = live;
	return job->dry_run ? LC_OK : lc__mend_replace(mend, &job->result.kept);
}

static lc_status
recover_module(struct job *job, const char *root, const char *module_id)
{
	char *dir = lc__path_join(root, module_id);
	struct lc__mend *mend = NULL;
	lc_status status;

	if (dir == NULL)
		return lc__no_memory("recover");
	lc__progress_phase(job->progress, "copy");
	status = lc__mend_begin(dir, job->progress, &mend);
	if (status == LC_OK)
		status = recover_beside(job, mend, dir);
	lc__mend_end(mend);
	free(dir);
	return status;
}

lc_status
lc_recover(const char *root, const char *module_id, int dry_run,
    const lc_progress *progress, lc_recover_result *out)
{
	struct job job = { .progress = progress, .dry_run = dry_run != 0 };
	lc_status status;

	if (root == NULL || *root == '\0' || module_id == NULL)
		return lc__error(LC_INVALID, 0, "recover: no root or module");
	return_if_error(lc__check_module_id(module_id));
	lc__progress_phase(job.progress, "verify");
	status = verify(root, module_id, &job, &job.result.records);
	if (status == LC_CORRUPT)
		status = recover_module(&job, root, module_id);
	if (status == LC_OK && out != NULL)
		*out = job.result;
	return status;
}
