/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "build/disk.h"
#include "cmd/warehouse.h"
#include "shard/outdir.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static uint64_t keep = OPT_UNSET;
static int force;
static int dry_run;

static struct opt options[] = {
	{ "", "keep", OPT_COUNT, &keep, .value = "N", .least = 1,
	    .help = "number of newest versions to keep" },
	{ "f", "force", OPT_FLAG, &force, .help = "do not ask" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "print what would be removed, change nothing" },
	{ .kind = OPT_END },
};

/* ---- removing ----------------------------------------------------------------- */

/* Remove the manifest first: if the removal is stopped, the rest is then not a
 * version. */
static lc_status
remove_manifest(const char *warehouse, const char *name)
{
	char *path = lc__path_join(warehouse, name);
	int parent;
	lc_status status;

	if (path == NULL)
		return lc__no_memory(NULL);
	parent = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	status = parent == -1 ? lc__error_sys(errno, "%s", path)
			      : lc__tree_remove(parent, LC__MANIFEST_NAME, path);
	if (parent != -1)
		close(parent);
	free(path);
	return status;
}

static lc_status
remove_rest(const char *warehouse, const char *name)
{
	const int parent = open(warehouse, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	lc_status status;

	if (parent == -1)
		return lc__error_sys(errno, "%s", warehouse);
	status = lc__tree_remove(parent, name, warehouse);
	close(parent);
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
		printf("%s%s  %s  %s\n", dry_run ? "would remove " : "removed ", v->name,
		    count_human(v->samples, "sample", samples, sizeof(samples)),
		    size_human((double)v->bytes, size, sizeof(size)));
	}
}

static int
remove_version(const char *warehouse, const struct version *v)
{
	lc_status status = LC_OK;

	if (!dry_run)
		status = remove_manifest(warehouse, v->name);
	if (status == LC_OK && !dry_run)
		status = remove_rest(warehouse, v->name);
	if (status != LC_OK)
		return report_status(status);
	show(warehouse, v);
	return EXIT_DONE;
}

/* ---- choosing ----------------------------------------------------------------- */

/* All but the newest, never the current one, and the rests of stopped removals. Damaged
 * versions stay, so that they can be examined. */
static size_t
choose(const struct versions *versions, const struct version **out)
{
	uint64_t finished = 0;
	size_t n = 0, seen = 0;

	for (size_t i = 0; i < versions->n; i++)
		finished += versions->all[i].finished;
	for (size_t i = 0; i < versions->n; i++) {
		const struct version *v = &versions->all[i];
		const bool old = v->finished && finished - seen++ > keep;

		if ((old || (!v->finished && !v->damaged)) && !v->current)
			out[n++] = v;
	}
	return n;
}

/* A build may be about to reuse shards of an old version; it holds the lock then. */
static int
remove_locked(const char *warehouse, const struct version **chosen, size_t n)
{
	lc_status locked = LC_OK;
	int status = EXIT_DONE, fd = -1;

	if (!dry_run)
		locked = lc__lock_take(warehouse, &fd);
	if (locked != LC_OK)
		return report_status(locked);
	for (size_t i = 0; i < n; i++)
		status = report_worse(status, remove_version(warehouse, chosen[i]));
	if (fd != -1)
		close(fd);
	return status;
}

static int
remove_chosen(const char *warehouse, const struct version **chosen, size_t n)
{
	int status = EXIT_DONE;
	char text[SIZE_TEXT];

	if (n == 0)
		return EXIT_DONE;
	if (!force && !dry_run)
		status = ask("remove %s of %s?",
		    count_human(n, "version", text, sizeof(text)), warehouse);
	return status == EXIT_DONE ? remove_locked(warehouse, chosen, n) : status;
}

static int
run_warehouse_prune(int argc, char **argv)
{
	struct versions versions;
	const struct version **chosen;
	int status;

	(void)argc;
	if (keep == OPT_UNSET)
		return report_usage("give the number of versions to keep: --keep N");
	status = warehouse_refuse_url(argv[0]);
	if (status != EXIT_DONE)
		return status;
	status = versions_read(argv[0], &versions);
	chosen = calloc(versions.n ? versions.n : 1, sizeof(const void *));
	if (chosen == NULL) {
		status = report_no_memory();
	} else if (status <= EXIT_DATA) {
		status = report_worse(status,
		    remove_chosen(argv[0], chosen, choose(&versions, chosen)));
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
	    "Removes all but the N newest versions, and the rest of interrupted "
	    "removals; never the version that `current` points to, nor a damaged one. "
	    "During a build it removes nothing, and does not wait. On a terminal it "
	    "asks first; elsewhere it needs -f. Readers that have a removed version "
	    "mapped or in memory can still use it; streams cannot.",
	.examples = "cachex warehouse prune warehouse --keep 3 -n\n"
		    "cachex warehouse prune warehouse --keep 3 -f",
	.completes = "d",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_warehouse_prune,
};
