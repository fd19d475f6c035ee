/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex copy, and what cachex merge shares with it. */
#include "cmd/copy.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

struct opt copy_options[] = {
	{ "", "from-root", OPT_DIR, &from_root, .value = "DIR",
	    .help = "SRC is a module there, not under --root" },
	{ "", "to-root", OPT_DIR, &to_root, .value = "DIR",
	    .help = "DST is a module there, not under --root" },
	{ "", "prefix", OPT_TEXT, &prefix, .value = "TEXT",
	    .help = "only records whose cache_id starts so" },
	{ "", "conflict", OPT_CHOICE, &conflict, /* as lc_conflict counts */
	    .value = "keep|replace|same|fail",
	    .help =
		"where DST has the cache_id: keep its record, replace it, stop unless "
		"both are the same, or fail" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "say what would be copied, write nothing" },
	MODULE_NO_CREATE,
	{ .kind = OPT_END },
};

struct copy_job
copy_job_of_options(const char *verb)
{
	return (struct copy_job){
		.verb = verb,
		.from_root = from_root ? from_root : settings.root,
		.to_root = to_root ? to_root : settings.root,
		.prefix = prefix,
		.conflict = (lc_conflict)conflict,
		.dry_run = dry_run,
	};
}

static void
show_damage(void *ctx, const char *line)
{
	(void)ctx;
	report_error(EXIT_DATA, "%s", line);
}

static void
add_result(lc_copy_result *total, const lc_copy_result *result)
{
	total->copied += result->copied;
	total->replaced += result->replaced;
	total->kept += result->kept;
	total->damaged += result->damaged;
	total->bytes += result->bytes;
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

static int
copy(struct copy_job *copy_job, lc_cache *from, lc_cache *to)
{
	lc_copy_options how;
	lc_copy_result result = { 0 };
	lc_status status;

	lc_copy_options_init(&how);
	how.conflict = copy_job->conflict;
	how.prefix = copy_job->prefix;
	how.prefix_size = copy_job->prefix ? strlen(copy_job->prefix) : 0;
	how.dry_run = copy_job->dry_run;
	how.progress.step = progress_step;
	how.progress.damage = show_damage;
	if (copy_job->dry_run)
		interrupt_resume(INTERRUPT_AGAIN);
	else if (copy_job->conflict == LC_KEEP || copy_job->conflict == LC_SAME)
		interrupt_resume("what it copied stays; the same command goes on");
	else if (copy_job->conflict == LC_REPLACE)
		interrupt_resume("what it copied stays; the same command begins again");
	progress_begin(copy_job->verb);
	status = to ? lc_copy(from, to, &how, &result) : count_all(from, &how, &result);
	progress_end();
	add_result(&copy_job->total, &result);
	/* Each damaged record has had its line. */
	if (status == LC_CORRUPT && result.damaged > 0)
		return EXIT_DATA;
	copy_job->stopped = status != LC_OK;
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

int
copy_job_add(struct copy_job *copy_job, const char *from, lc_cache *to)
{
	lc_cache *cache;
	const int status = module_open_in(copy_job->from_root, from, LC_RDONLY, &cache);

	copy_job->stopped = status != EXIT_DONE;
	return status == EXIT_DONE ? module_close(cache, copy(copy_job, cache, to))
				   : status;
}

int
copy_job_open_target(const struct copy_job *copy_job, const char *to, lc_cache **out)
{
	if (!copy_job->dry_run)
		return module_open_in(copy_job->to_root, to, module_makes ? LC_CREATE : 0,
		    out);
	return module_open_if_there(copy_job->to_root, to, false, out);
}

static void
show_json(const struct copy_job *copy_job, const char *to)
{
	const lc_copy_result *total = &copy_job->total;
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", to);
	jw_count(&json, "copied", total->copied);
	jw_count(&json, "replaced", total->replaced);
	jw_count(&json, "kept", total->kept);
	jw_count(&json, "damaged", total->damaged);
	jw_count(&json, "bytes", total->bytes);
	jw_end_line(&json);
}

/* "all: 3 records copied, 1 replaced, 0 kept; 2.00 KiB" */
void
copy_job_show(const struct copy_job *copy_job, const char *to)
{
	const lc_copy_result *total = &copy_job->total;
	char records[SIZE_TEXT], bytes[SIZE_TEXT];

	if (settings.json) {
		show_json(copy_job, to);
		return;
	}
	if (settings.quiet)
		return;
	printf("%s: %s %s, %llu replaced, %llu kept; %s", to,
	    count_human(total->copied, "record", records, sizeof(records)),
	    copy_job->dry_run ? "to be copied" : "copied",
	    (unsigned long long)total->replaced, (unsigned long long)total->kept,
	    size_human((double)total->bytes, bytes, sizeof(bytes)));
	if (total->damaged > 0)
		printf("; %llu damaged passed over", (unsigned long long)total->damaged);
	putchar('\n');
}

/* ---- the command ------------------------------------------------------------------- */

static int
run_copy(int argc, char **argv)
{
	struct copy_job copy_job = copy_job_of_options("copy");
	lc_cache *to;
	int status;

	(void)argc;
	if (strcmp(argv[0], argv[1]) == 0 &&
	    strcmp(copy_job.from_root, copy_job.to_root) == 0)
		return report_usage("%s is both source and target", argv[0]);
	status = module_must_exist(copy_job.from_root, argv[0]);
	if (status == EXIT_DONE)
		status = copy_job_open_target(&copy_job, argv[1], &to);
	if (status != EXIT_DONE)
		return status;
	status = module_close(to, copy_job_add(&copy_job, argv[0], to));
	if (status == EXIT_DONE || (status == EXIT_DATA && !copy_job.stopped))
		copy_job_show(&copy_job, argv[1]);
	return status;
}

const struct command cmd_copy = {
	.name = "copy",
	.operands = "SRC DST",
	.summary = "copy records into another module",
	.text = "Copies the records of module SRC into module DST, which is made if it "
		"does not exist. Tensors stay coded as they are. --conflict says what "
		"happens to cache_ids that DST has already; with fail, the default, and "
		"same a conflict stops the command before anything is written. Damaged "
		"records of SRC are named and left out; then the exit status is 3.",
	.examples = "cachex copy faces faces-2 --prefix img-0000\n"
		    "cachex copy faces faces --to-root /backup --conflict replace",
	.completes = "mm",
	.resume = "what it copied stays; with --conflict keep the same command goes on",
	.least = 2,
	.most = 2,
	.options = copy_options,
	.run = run_copy,
};
