/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "base/fileio.h"
#include "json.h"
#include "report.h"
#include "settings.h"
#include "shard/outdir.h"
#include "size.h"
#include "versions.h"
#include "warehouse.h"

#define OPEN_DIRS 16 /* of a walk through a version */

static uint64_t keep = OPT_UNSET;
static int force;
static int dry_run;

static struct opt options[] = {
	{ "", "keep", OPT_COUNT, &keep, .value = "N", .least = 1,
	    .help = "so many of the newest versions stay" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "do not ask" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "say what would be removed, change nothing" },
	{ .kind = OPT_END }
};

/* ---- removing ----------------------------------------------------------------- */

static int
remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)at;
	return kind == FTW_DP ? rmdir(path) : unlink(path);
}

/* The manifest first: what is left of a removal that was stopped is no version. */
static int
remove_tree(const char *dir)
{
	char *manifest = lc__path_join(dir, LC__MANIFEST_NAME);
	int status = EXIT_DONE;

	if (manifest == NULL) {
		report_error("out of memory");
		return EXIT_SYSTEM;
	}
	if ((unlink(manifest) == -1 && errno != ENOENT) ||
	    nftw(dir, remove_entry, OPEN_DIRS, FTW_DEPTH | FTW_PHYS) == -1)
		status = report_errno(dir);
	free(manifest);
	return status;
}

static void
show(const char *warehouse, const struct version *v)
{
	struct json json = { stdout, false };
	char samples[SIZE_TEXT], size[SIZE_TEXT];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "warehouse", warehouse);
		jw_text(&json, "removed", v->name);
		jw_count(&json, "samples", v->samples);
		jw_count(&json, "bytes", v->bytes);
		jw_flag(&json, "dry_run", dry_run);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("%s%s  %s  %s\n", dry_run ? "would remove " : "removed ",
		    v->name, count_human(v->samples, "sample", samples,
		    sizeof(samples)), size_human((double)v->bytes, size,
		    sizeof(size)));
	}
}

/* A version that a build is at work in is busy, and stays. */
static int
remove_version(const char *warehouse, const struct version *v)
{
	char *dir = lc__path_join(warehouse, v->name);
	struct lc__outdir lock = { .fd = -1 };
	lc_status locked;
	int status = EXIT_DONE;

	if (dir == NULL) {
		report_error("out of memory");
		return EXIT_SYSTEM;
	}
	locked = dry_run ? LC_OK : lc__outdir_lock(dir, &lock);
	if (locked != LC_OK)
		status = report_status(locked);
	else if (!dry_run)
		status = remove_tree(dir);
	lc__outdir_close(&lock);
	if (status == EXIT_DONE)
		show(warehouse, v);
	free(dir);
	return status;
}

/* ---- choosing ----------------------------------------------------------------- */

/* Of the finished ones all but the newest, and never the current one. */
static size_t
choose(const struct versions *versions, const struct version **out)
{
	uint64_t finished = 0;
	size_t n = 0, seen = 0;

	for (size_t i = 0; i < versions->n; i++)
		finished += versions->all[i].finished;
	for (size_t i = 0; i < versions->n; i++) {
		const struct version *v = &versions->all[i];

		if (v->finished && finished - seen++ > keep && !v->current)
			out[n++] = v;
	}
	return n;
}

static int
remove_all(const char *warehouse, const struct version **chosen, size_t n)
{
	int status = EXIT_DONE;
	char text[SIZE_TEXT];

	if (n > 0 && !force && !dry_run)
		status = ask("remove %s of %s?", count_human(n, "version", text,
		    sizeof(text)), warehouse);
	if (status != EXIT_DONE)
		return status;
	for (size_t i = 0; i < n; i++)
		status = report_worse(status, remove_version(warehouse, chosen[i]));
	return status;
}

static int
run(int argc, char **argv)
{
	struct versions versions;
	const struct version **chosen;
	int status;

	(void)argc;
	if (keep == OPT_UNSET)
		return report_usage("how many stay? --keep N");
	status = versions_read(argv[0], &versions);
	chosen = calloc(versions.n ? versions.n : 1, sizeof(const void *));
	if (chosen == NULL) {
		report_error("out of memory");
		status = EXIT_SYSTEM;
	} else if (status <= EXIT_NO) {
		status = report_worse(status, remove_all(argv[0], chosen,
		    choose(&versions, chosen)));
	}
	free(chosen);
	versions_free(&versions);
	return status;
}

const struct command warehouse_prune = {
	.name = "warehouse prune",
	.operands = "WAREHOUSE --keep N",
	.summary = "remove old versions",
	.text =
	    "Removes all but the N newest versions, and never the one that `current` "
	    "points to, nor one that is damaged, not finished or being built. On a "
	    "terminal it asks first; elsewhere it needs -f. Readers that have a "
	    "removed version mapped or in memory go on; streams cannot.",
	.examples =
	    "cachex warehouse prune warehouse --keep 3 -n\n"
	    "cachex warehouse prune warehouse --keep 3 -f",
	.completes = "d",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run
};
