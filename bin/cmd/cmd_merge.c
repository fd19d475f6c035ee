/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cmd/copying.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/module.h"
#include "ui/report.h"

static int
check_sources(const struct copying *copying, int n, char **sources,
    const char *to)
{
	int status = EXIT_DONE;

	for (int i = 0; i < n && status == EXIT_DONE; i++) {
		if (strcmp(sources[i], to) == 0 &&
		    strcmp(copying->from_root, copying->to_root) == 0)
			return report_usage("%s is both source and target", to);
		status = module_must_exist(copying->from_root, sources[i]);
	}
	return status;
}

/* One after the other; damage in one does not keep the others out. */
static int
add_sources(struct copying *copying, int n, char **sources, lc_cache *to)
{
	int status = EXIT_DONE;

	for (int i = 0; i < n && (status == EXIT_DONE ||
	    (status == EXIT_DATA && !copying->stopped)); i++)
		status = report_worse(status, interrupt_pending() ? interrupt_status() :
		    copying_add(copying, sources[i], to));
	return status;
}

static int
run(int argc, char **argv)
{
	struct copying copying = copying_asked("merge");
	const char *target = argv[argc - 1];
	lc_cache *to;
	int status = check_sources(&copying, argc - 1, argv, target);

	if (status == EXIT_DONE)
		status = copying_open(&copying, target, &to);
	if (status != EXIT_DONE)
		return status;
	status = module_close(to, add_sources(&copying, argc - 1, argv, to));
	if (status == EXIT_DONE || (status == EXIT_DATA && !copying.stopped))
		copying_show(&copying, target);
	return status;
}

const struct command cmd_merge = {
	.name = "merge",
	.operands = "SRC... DST",
	.summary = "copy the records of modules into one",
	.text =
	    "Copies the records of every SRC into module DST, one after the other; "
	    "DST is made if it does not exist. --conflict says what happens to "
	    "cache_ids that are there already, from DST or from an earlier SRC. A "
	    "conflict stops it with the sources before that one merged.",
	.examples =
	    "cachex merge part-0 part-1 part-2 all\n"
	    "cachex merge new all --conflict replace -n",
	.completes = "m",
	.resume = "what it copied stays; with --conflict keep the same command goes on",
	.least = 2,
	.most = -1,
	.options = copying_options,
	.run = run
};
