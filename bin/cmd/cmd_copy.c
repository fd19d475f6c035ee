/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex copy and cachex merge, which copies from several modules. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "lmdbcache.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/opt.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static const char *from_root;
static const char *to_root;
static const char *prefix;
static int conflict = LC_FAIL;
static int dry_run;
static int inputs;

/* clang-format off */
#define OPTIONS_OF_BOTH \
	{ "", "from-root", OPT_DIR, &from_root, .value = "DIR", \
	    .help = "root of SRC, if not --root" }, \
	{ "", "to-root", OPT_DIR, &to_root, .value = "DIR", \
	    .help = "root of DST, if not --root" }, \
	{ "", "prefix", OPT_TEXT, &prefix, .value = "TEXT", \
	    .help = "copy only records with a cache_id that starts with TEXT" }, \
	{ "", "conflict", OPT_CHOICE, &conflict, /* as lc_conflict counts */ \
	    .value = "keep|replace|same|fail", \
	    .help = \
		"if DST has the cache_id: keep its record, replace it, fail unless " \
		"both are the same, or fail" }, \
	{ "n", "dry-run", OPT_FLAG, &dry_run, \
	    .help = "print what would be copied, write nothing" }, \
	MODULE_NO_CREATE
/* clang-format on */

static struct opt copy_options[] = {
	OPTIONS_OF_BOTH,
	{ .kind = OPT_END },
};

static struct opt merge_options[] = {
	{ "", "inputs", OPT_FLAG, &inputs,
	    .help = "join parts of one list of inputs into the module that one machine "
		    "would have filled" },
	OPTIONS_OF_BOTH,
	{ .kind = OPT_END },
};

/* A copy or a merge, and what it did so far. */
struct copy_job {
	const char *verb; /* "copy", for progress */
	lc_copy_result total;
	bool stopped; /* stopped by a failure other than damaged records, which are
	               * skipped */
};

/* Where the sources and the target are. */
static const char *
source_root(void)
{
	return from_root ? from_root : settings.root;
}

static const char *
target_root(void)
{
	return to_root ? to_root : settings.root;
}

static void
show_damage(void *ctx, const char *line)
{
	(void)ctx;
	report_error(EXIT_DATA, "%s", line);
}

/* An input that is finished in none of the modules. */
static void
show_unfinished(void *ctx, const char *line)
{
	(void)ctx;
	report_note("%s", line);
}

/* The result of a copy into a module that does not exist yet. */
static lc_status
count_all(lc_cache *from, const lc_copy_options *how, lc_copy_result *result)
{
	lc_iter *iter;
	lc_item item;
	lc_status status;

	status = lc_iter_open(from, LC_BY_COMMIT | LC_ITER_LISTED, how->prefix,
	    how->prefix_size, &iter);
	if (status != LC_OK)
		return status;
	while ((status = lc_iter_next(iter, &item)) == LC_OK || status == LC_CORRUPT) {
		result->copied += status == LC_OK;
		result->damaged += status != LC_OK;
		result->bytes += status == LC_OK ? item.stored_size : 0;
	}
	lc_iter_close(iter);
	return status == LC_END ? LC_OK : status;
}

/* Copy one module into an open one, NULL if a dry run has no target; reports. */
static int
copy_one(struct copy_job *job, const char *from, lc_cache *to)
{
	lc_copy_result result = { 0 };
	lc_copy_options how;
	lc_cache *cache;
	lc_status copied;
	int status = module_open_in(source_root(), from, LC_RDONLY, &cache);

	job->stopped = status != EXIT_DONE;
	if (status != EXIT_DONE)
		return status;
	lc_copy_options_init(&how);
	how.conflict = (lc_conflict)conflict;
	how.prefix = prefix;
	how.prefix_size = prefix ? strlen(prefix) : 0;
	how.dry_run = dry_run;
	how.progress.step = progress_step;
	how.progress.damage = show_damage;
	if (dry_run)
		interrupt_resume(INTERRUPT_AGAIN);
	else if (conflict == LC_KEEP || conflict == LC_SAME)
		interrupt_resume("copied records stay; run the same command to continue");
	else if (conflict == LC_REPLACE)
		interrupt_resume(
		    "copied records stay; run the same command to start again");

	progress_begin(job->verb);
	copied = to ? lc_copy(cache, to, &how, &result) : count_all(cache, &how, &result);
	progress_end();
	job->total.copied += result.copied;
	job->total.replaced += result.replaced;
	job->total.kept += result.kept;
	job->total.damaged += result.damaged;
	job->total.bytes += result.bytes;
	/* A line was printed for each damaged record. */
	if (copied == LC_CORRUPT && result.damaged > 0) {
		status = EXIT_DATA;
	} else if (copied != LC_OK) {
		job->stopped = true;
		status = report_status(copied);
	}
	return module_close(cache, status);
}

/* "all: 3 records copied, 1 replaced, 0 kept; 2.00 KiB" */
static void
show(const lc_copy_result *total, const char *to)
{
	struct json json = { stdout, false };
	char records[SIZE_TEXT], bytes[SIZE_TEXT];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "module", to);
		jw_count(&json, "copied", total->copied);
		jw_count(&json, "replaced", total->replaced);
		jw_count(&json, "kept", total->kept);
		jw_count(&json, "damaged", total->damaged);
		jw_count(&json, "bytes", total->bytes);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("%s: %s %s, %llu replaced, %llu kept; %s", to,
		    count_human(total->copied, "record", records, sizeof(records)),
		    dry_run ? "to be copied" : "copied",
		    (unsigned long long)total->replaced, (unsigned long long)total->kept,
		    size_human((double)total->bytes, bytes, sizeof(bytes)));
		if (total->damaged > 0)
			printf("; %llu damaged skipped",
			    (unsigned long long)total->damaged);
		putchar('\n');
	}
}

/* Copy the sources one after the other; damage in one does not stop the others. */
static int
copy_all(const char *verb, int n, char **sources, const char *target)
{
	struct copy_job job = { .verb = verb };
	lc_cache *to;
	int status = EXIT_DONE;

	for (int i = 0; i < n && status == EXIT_DONE; i++) {
		if (strcmp(sources[i], target) == 0 &&
		    strcmp(source_root(), target_root()) == 0)
			return report_usage("%s is both source and target", target);
		status = module_must_exist(source_root(), sources[i]);
	}
	if (status == EXIT_DONE)
		status = dry_run ? module_open_if_there(target_root(), target, false, &to)
				 : module_open_in(target_root(), target,
				       module_makes ? LC_CREATE : 0, &to);
	if (status != EXIT_DONE)
		return status;

	for (int i = 0;
	     i < n && (status == EXIT_DONE || (status == EXIT_DATA && !job.stopped)); i++)
		status = report_worse(status,
		    interrupt_pending() ? interrupt_status()
					: copy_one(&job, sources[i], to));
	status = module_close(to, status);
	if (status == EXIT_DONE || (status == EXIT_DATA && !job.stopped))
		show(&job.total, target);
	return status;
}

/* ---- inputs ------------------------------------------------------------------------ */

/* "all: 2 inputs merged, 14 there; 12 chunks, 705 records, 2.00 MiB" */
static void
show_merged(const lc_merge_result *result, const char *to)
{
	char taken[SIZE_TEXT], chunks[SIZE_TEXT], records[SIZE_TEXT], bytes[SIZE_TEXT];
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "module", to);
		jw_count(&json, "inputs", result->inputs);
		jw_count(&json, "there", result->there);
		jw_count(&json, "chunks", result->chunks);
		jw_count(&json, "records", result->records);
		jw_count(&json, "bytes", result->bytes);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("%s: %s %s, %llu there; %s, %s, %s\n", to,
		    count_human(result->inputs, "input", taken, sizeof(taken)),
		    dry_run ? "to be merged" : "merged",
		    (unsigned long long)result->there,
		    count_human(result->chunks, "chunk", chunks, sizeof(chunks)),
		    count_human(result->records, "record", records, sizeof(records)),
		    size_human((double)result->bytes, bytes, sizeof(bytes)));
	}
}

/* Where a module is. */
struct place {
	char *path; /* ROOT/MODULE */
	char *root; /* malloc'ed, as path */
	const char *module;
};

/* A name with a slash is a path. */
static int
find_place(const char *name, const char *root, struct place *out)
{
	size_t n = strlen(name), slash;

	while (n > 1 && name[n - 1] == '/')
		n--;
	for (slash = n; slash > 0 && name[slash - 1] != '/'; slash--)
		;
	out->path = slash > 0 ? strndup(name, n) : lc__path_join(root, name);
	out->root = slash > 1 ? strndup(name, slash - 1)
			      : strdup(slash == 1 ? "/" : root);
	if (out->path == NULL || out->root == NULL)
		return report_no_memory();
	out->module = strrchr(out->path, '/') + 1;
	return EXIT_DONE;
}

static void
free_place(struct place *place)
{
	free(place->path);
	free(place->root);
}

/* Merge the modules @p from into an open one, NULL if a dry run has none; reports. */
static int
merge_into(lc_cache *to, int n, const char *const *from, const char *target)
{
	lc_merge_result result = { 0 };
	lc_merge_options how;
	lc_status merged;

	lc_merge_options_init(&how);
	how.dry_run = dry_run;
	how.flags = settings.force_fs ? LC_FORCE_FS : 0;
	how.progress.step = progress_step;
	how.progress.damage = show_unfinished;
	interrupt_resume(dry_run
		? INTERRUPT_AGAIN
		: "stored records stay; run the same command to continue");
	progress_begin("merge");
	merged = lc_inputs_merge(to, (size_t)n, from, &how, &result);
	progress_end();
	if (merged == LC_STALE)
		return report_library(EXIT_DATA);
	if (merged != LC_OK)
		return report_status(merged);
	show_merged(&result, target);
	return EXIT_DONE;
}

/* If this command created a module and left it empty, remove it, unless another process has
 * it open. */
static void
drop_empty(lc_cache *cache, const struct place *place)
{
	lc_fill fill = { .struct_size = sizeof(fill) };
	lc_status status = lc_fill_get(cache, &fill);
	const bool empty = status == LC_OK && fill.inputs == 0 && fill.records == 0;

	status = lc_close(cache);
	if (status == LC_OK && empty)
		status = lc_drop(place->root, place->module);
	(void)status;
}

static int
merge_to(int n, const char *const *from, const struct place *place, const char *target)
{
	lc_cache *to;
	bool made;
	int status = module_open_if_there(place->root, place->module, true, &to);

	if (status != EXIT_DONE)
		return status;
	made = to == NULL;
	if (!dry_run) {
		status = module_close(to, status);
		if (status == EXIT_DONE)
			status = module_open_in(place->root, place->module,
			    module_makes ? LC_CREATE : 0, &to);
		if (status != EXIT_DONE)
			return status;
	}
	status = merge_into(to, n, from, target);
	if (status == EXIT_DONE || !made || dry_run)
		return module_close(to, status);
	drop_empty(to, place);
	return status;
}

/* Do not open an existing module here: lc_inputs_merge() opens it, and there may be
 * thousands. */
static int
place_must_exist(const struct place *place)
{
	char *data = lc__path_join(place->path, "data.mdb");
	const bool there = data != NULL && access(data, F_OK) == 0;

	free(data);
	return there ? EXIT_DONE : module_must_exist(place->root, place->module);
}

static int
merge_inputs(int n, char **names)
{
	struct place *places = calloc((size_t)n, sizeof(*places));
	const char **from = calloc((size_t)n, sizeof(*from));
	const int last = n - 1;
	int status = EXIT_DONE;

	if (places == NULL || from == NULL)
		status = report_no_memory();
	for (int i = 0; i < n && status == EXIT_DONE; i++) {
		status = find_place(names[i], i == last ? target_root() : source_root(),
		    &places[i]);
		if (status == EXIT_DONE && i < last)
			status = place_must_exist(&places[i]);
		from[i] = places[i].path;
	}
	if (status == EXIT_DONE)
		status = merge_to(last, from, &places[last], names[last]);
	for (int i = 0; i < n && places != NULL; i++)
		free_place(&places[i]);
	free(places);
	free(from);
	return status;
}

/* ---- the commands ------------------------------------------------------------------ */

static int
run_copy(int argc, char **argv)
{
	(void)argc;
	return copy_all("copy", 1, argv, argv[1]);
}

const struct command cmd_copy = {
	.name = "copy",
	.operands = "SRC DST",
	.summary = "copy records into another module",
	.text =
	    "Copies the records of module SRC into module DST, which is created if it "
	    "does not exist. Tensors keep their codecs. --conflict decides about "
	    "cache_ids that DST already has; with fail, the default, and same a "
	    "conflict stops the command before anything is written. Damaged records "
	    "of SRC are reported and left out; then the exit status is 3.",
	.examples = "cachex copy faces faces-2 --prefix img-0000\n"
		    "cachex copy faces faces --to-root /backup --conflict replace",
	.completes = "mm",
	.resume =
	    "copied records stay; run the same command with --conflict keep to continue",
	.least = 2,
	.most = 2,
	.options = copy_options,
	.run = run_copy,
};

static int
run_merge(int argc, char **argv)
{
	if (!inputs)
		return copy_all("merge", argc - 1, argv, argv[argc - 1]);
	if (prefix != NULL || conflict != LC_FAIL)
		return report_usage("--inputs merges whole inputs; use it without --%s",
		    prefix != NULL ? "prefix" : "conflict");
	return merge_inputs(argc, argv);
}

const struct command cmd_merge = {
	.name = "merge",
	.operands = "SRC... DST",
	.summary = "copy the records of modules into one",
	.text =
	    "Copies the records of every SRC into module DST, one after the other; "
	    "DST is created if it does not exist. --conflict decides about cache_ids "
	    "that already exist, from DST or from an earlier SRC. A conflict stops "
	    "the command; the sources before it are then merged.\n\n"
	    "With --inputs the sources hold parts of one list of inputs, as cachex "
	    "fill --shard fills them, and DST becomes the module that one machine would "
	    "have filled: the same chunks in the same order with the same hash. A module "
	    "with a slash in its name is a path, ROOT/MODULE. It is refused before "
	    "anything is written if an input is finished nowhere, or if the modules "
	    "contradict one another.",
	.examples = "cachex merge part-0 part-1 part-2 all\n"
		    "cachex merge new all --conflict replace -n\n"
		    "cachex merge --inputs node0/feats node1/feats feats",
	.completes = "m",
	.resume =
	    "copied records stay; run the same command with --conflict keep to continue",
	.least = 2,
	.most = -1,
	.options = merge_options,
	.run = run_merge,
};
