/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cmd/copy.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/module.h"
#include "ui/report.h"

static int
check_sources(const struct copy_job *copy_job, int n, char **sources, const char *to)
{
	int status = EXIT_DONE;

	for (int i = 0; i < n && status == EXIT_DONE; i++) {
		if (strcmp(sources[i], to) == 0 &&
		    strcmp(copy_job->from_root, copy_job->to_root) == 0)
			return report_usage("%s is both source and target", to);
		status = module_must_exist(copy_job->from_root, sources[i]);
	}
	return status;
}

/* Add the sources one after the other; damage in one does not stop the others. */
static int
add_sources(struct copy_job *copy_job, int n, char **sources, lc_cache *to)
{
	int status = EXIT_DONE;

	for (int i = 0; i < n &&
	     (status == EXIT_DONE || (status == EXIT_DATA && !copy_job->stopped));
	     i++)
		status = report_worse(status,
		    interrupt_pending() ? interrupt_status()
					: copy_job_add(copy_job, sources[i], to));
	return status;
}

static int
run_merge(int argc, char **argv)
{
	struct copy_job copy_job = copy_job_of_options("merge");
	const char *target = argv[argc - 1];
	lc_cache *to;
	int status = check_sources(&copy_job, argc - 1, argv, target);

	if (status == EXIT_DONE)
		status = copy_job_open_target(&copy_job, target, &to);
	if (status != EXIT_DONE)
		return status;
	status = module_close(to, add_sources(&copy_job, argc - 1, argv, to));
	if (status == EXIT_DONE || (status == EXIT_DATA && !copy_job.stopped))
		copy_job_show(&copy_job, target);
	return status;
}

const struct command cmd_merge = {
	.name = "merge",
	.operands = "SRC... DST",
	.summary = "copy the records of modules into one",
	.text = "Copies the records of every SRC into module DST, one after the other; "
		"DST is made if it does not exist. --conflict says what happens to "
		"cache_ids that are there already, from DST or from an earlier SRC. A "
		"conflict stops it with the sources before that one merged.",
	.examples = "cachex merge part-0 part-1 part-2 all\n"
		    "cachex merge new all --conflict replace -n",
	.completes = "m",
	.resume = "what it copied stays; with --conflict keep the same command goes on",
	.least = 2,
	.most = -1,
	.options = copy_options,
	.run = run_merge,
};
