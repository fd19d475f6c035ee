/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/fileio.h"
#include "ui/interrupt.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "cmd/versions.h"
#include "cmd/warehouse.h"
#include "warehouse/place.h"

static int full;
static int force;

static struct opt options[] = {
	{ "", "full", OPT_FLAG, &full,
	    .help = "compare the SHA-256 of every file before" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "also if it exceeds its thresholds" },
	{ .kind = OPT_END }
};

/* Whether a reader would open it. Its sources may have changed: they often have
 * where one goes back. */
static lc_status
check(const char *dir)
{
	lc_warehouse_options how;
	lc_warehouse *w = NULL;
	lc_status status;

	lc_warehouse_options_init(&how);
	how.verify = full ? LC_VERIFY_FULL : LC_VERIFY_LAZY;
	how.sources = LC_SOURCES_IGNORE;
	how.ignore_thresholds = force;
	how.progress.step = progress_step;
	progress_begin("check");
	status = lc_warehouse_open(dir, &how, &w);
	progress_end();
	lc_warehouse_close(w);
	return status;
}

static int
use(const char *warehouse, const struct version *version)
{
	char *dir = lc__path_join(warehouse, version->name);
	lc_status status;

	if (dir == NULL)
		return report_no_memory();
	status = check(dir);
	if (status == LC_OK && !version->current)
		status = lc__version_switch(warehouse, version->name);
	free(dir);
	if (status != LC_OK)
		return report_status(status);
	if (settings.verbose)
		report_note("%s: current is %s", warehouse, version->name);
	return EXIT_DONE;
}

static int
run(int argc, char **argv)
{
	struct versions versions;
	const struct version *version;
	int status = versions_read(argv[0], &versions);

	(void)argc;
	/* Another one that is damaged does not matter. */
	if (status <= EXIT_DATA) {
		version = versions_find(&versions, argv[1]);
		status = version ? use(argv[0], version) : EXIT_NO;
	}
	versions_free(&versions);
	return status;
}

const struct command warehouse_use = {
	.name = "warehouse use",
	.operands = "WAREHOUSE VERSION",
	.summary = "point `current` to another version",
	.text =
	    "Points `current` to VERSION, atomically, after checking that a reader "
	    "would open it; its sources may have changed. VERSION is its name, or "
	    "four digits at least of its hash or its version key. Readers that have "
	    "another version open go on with that.",
	.examples =
	    "cachex warehouse use warehouse v20261101-0123456789ab\n"
	    "cachex warehouse use warehouse 0123 --full",
	.completes = "d",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = 2,
	.options = options,
	.run = run
};
