/* SPDX-License-Identifier: BSD-2-Clause */
/* recover: index, ledger and counters anew from what the chunks hold. */
#include <stdlib.h>

#include "base/error.h"
#include "base/fileio.h"
#include "store/cache.h"
#include "store/module.h"
#include "life/recovery.h"
#include "life/recover_inputs.h"
#include "life/recover_rows.h"
#include "life/recover_write.h"

/* One recovery and what it is asked for. */
struct job {
	const lc_progress *progress;
	bool dry_run;
	lc_recover_result result;
};

static void
free_parts(struct lc__recovery *r)
{
	free(r->runs);
	free(r->claims);
	free(r->gaps);
	free(r->sounds);
	free(r->spans);
	free(r->chunks);
	free(r->live);
	free(r->placed);
}

static bool
any_damage(const struct lc__recovery *r)
{
	bool rewrites = false;

	for (uint64_t i = 0; i < r->nchunks && !rewrites; i++)
		rewrites = r->chunks[i].rewrite;
	return rewrites || r->index_damaged || r->state_lost ||
	    r->result.rescued > 0 || r->result.lost > 0 || r->result.rows > 0;
}

/* Read, decide, and write what follows from it. */
static lc_status
recover(struct lc__recovery *r, bool dry_run)
{
	return_if_error(lc__recovery_read_state(r));
	return_if_error(lc__recovery_mend_settings(r));
	return_if_error(lc__recovery_mend_schemas(r));
	return_if_error(lc__recovery_read_places(r));
	return_if_error(lc__recovery_read_chunks(r));
	return_if_error(lc__recovery_read_runs(r));
	return_if_error(lc__recovery_decide(r));
	return_if_error(lc__recovery_check_counts(r));
	return_if_error(lc__recovery_check_inputs(r));
	if (dry_run || !any_damage(r))
		return LC_NOT_FOUND;
	return_if_error(lc__recovery_write(r));
	return lc__recovery_write_inputs(r);
}

/* LC_NOT_FOUND: nothing was to be written. */
static lc_status
recover_within(struct lc__change *change, void *ctx)
{
	struct job *job = ctx;
	struct lc__recovery r = { .change = change, .progress = job->progress };
	const lc_status status = recover(&r, job->dry_run);

	job->result = r.result;
	free_parts(&r);
	return status;
}

static lc_status
open_env(const char *root, const char *module_id, struct lc__env **out)
{
	char *dir = lc__path_join(root, module_id);
	lc_options options;
	lc_status status;

	if (dir == NULL)
		return lc__error(LC_NO_MEMORY, 0, "recover: out of memory");
	lc_options_init(&options);
	options.flags = 0;
	status = lc__env_open(dir, &options, out);
	free(dir);
	if (status == LC_CORRUPT)
		return lc__error_prefix("recover: the file itself is damaged, "
		    "which only a backup helps against");
	return status == LC_OK ? lc__module_attach(*out) : status;
}

lc_status
lc_recover(const char *root, const char *module_id, int dry_run,
    const lc_progress *progress, lc_recover_result *out)
{
	struct job job = { .progress = progress, .dry_run = dry_run != 0 };
	struct lc__env *env = NULL;
	lc_status status;

	if (root == NULL || *root == '\0' || module_id == NULL)
		return lc__error(LC_INVALID, 0, "recover: no root or module");
	return_if_error(lc__check_module_id(module_id));
	status = open_env(root, module_id, &env);
	if (status == LC_OK)
		status = lc__change_run_unread(env, recover_within, &job);
	lc__env_close(env);
	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;
	if (status == LC_NOT_FOUND && env == NULL)
		return status;
	if (out != NULL)
		*out = job.result;
	return LC_OK;
}
