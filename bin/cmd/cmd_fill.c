/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "cmd/fill_ids.h"
#include "cmd/fill_report.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/module.h"
#include "ui/pattern.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/trace.h"

enum kind_choice { KIND_AUTO, KIND_JSONL, KIND_TEXT, KIND_FILES };

static const char *exec_command;
static const char *ids;
static struct opt_list from;
static int null;
static uint64_t children = OPT_UNSET;
static uint64_t ahead = 1;
static uint64_t batch = 64;
static uint64_t batch_bytes = (uint64_t)64 << 20;
static uint64_t chunk = 2048;
static struct opt_list expects;
static int nan_policy, inf_policy;
static int deep;
static uint64_t timeout = 600;
static uint64_t start_timeout = 600;
static uint64_t retries = 1;
static uint64_t give_up = 10;
static int isolate;
static uint64_t frame_max = (uint64_t)1 << 30;
static int kind;
static struct linename naming;
static int skip_failed;
static const char *failures_path;
static const char *trace_path;
static int dry_run;

static struct opt options[] = {
	{ "", "exec", OPT_TEXT, &exec_command, .value = "COMMAND",
	    .help = "the producer: a command for /bin/sh" },
	{ "", "ids", OPT_FILE, &ids, .value = "LIST",
	    .help = "make these cache_ids, one a line; - is standard input" },
	{ "", "from", OPT_LIST, &from, .value = "SHARD",
	    .help = "make an item of each line of this file, in order" },
	{ "z0", "null", OPT_FLAG, &null,
	    .help = "lists end their items with a NUL byte" },
	{ "j", "children", OPT_COUNT, &children, .value = "N", .least = 1, .most = 1024,
	    .help = "run N producers at once; default the number of processors" },
	{ "", "ahead", OPT_COUNT, &ahead, .value = "N", .most = 64,
	    .help = "batches a producer has beyond the one it works on; default 1" },
	{ "b", "batch", OPT_COUNT, &batch, .value = "N", .least = 1, .most = 1u << 20,
	    .help = "items a batch, at most; default 64" },
	{ "", "batch-bytes", OPT_SIZE, &batch_bytes, .value = "SIZE", .least = 1,
	    .help = "bytes of input a batch, at most; default 64M" },
	{ "", "chunk", OPT_COUNT, &chunk, .value = "N", .least = 1, .most = 1u << 24,
	    .help = "records a chunk, with --from; default 2048" },
	{ "", "expect", OPT_LIST, &expects, .value = "[PATH=]DTYPE[DIMS]",
	    .help = "demand this of each value, such as f16[16,*,*]" },
	{ "", "nan", OPT_CHOICE, &nan_policy, .value = "fail|keep",
	    .help = "what to do with values that have NaN in them; default fail" },
	{ "", "inf", OPT_CHOICE, &inf_policy, .value = "fail|keep",
	    .help = "the same for infinity" },
	{ "", "deep", OPT_FLAG, &deep,
	    .help = "read what is stored in full, with --ids: checksums, NaN, infinity" },
	{ "t", "timeout", OPT_COUNT, &timeout, .value = "SECONDS", .most = 1u << 24,
	    .help = "kill a producer that takes longer for a batch; 0 never, "
		    "default 600" },
	{ "", "start-timeout", OPT_COUNT, &start_timeout, .value = "SECONDS",
	    .most = 1u << 24, .help = "the same for a producer's first batch" },
	{ "", "retries", OPT_COUNT, &retries, .value = "N", .most = 1000,
	    .help = "give a batch that a producer died of to N more; default 1" },
	{ "", "give-up", OPT_COUNT, &give_up, .value = "N", .most = 1u << 30,
	    .help = "stop when N batches failed in a row; 0 never, default 10" },
	{ "", "isolate", OPT_FLAG, &isolate,
	    .help = "halve a batch that fails until the items that do it are known" },
	{ "", "frame-max", OPT_SIZE, &frame_max, .value = "SIZE", .least = 1024,
	    .most = UINT32_MAX, .help = "bytes of an answer, at most; default 1G" },
	{ "", "kind", OPT_CHOICE, &kind, .value = "auto|jsonl|text|files",
	    .help = "what a line of a shard is; auto: by the shard's name" },
	{ "", "id-field", OPT_TEXT, &naming.field, .value = "NAME",
	    .help = "cache_id of a JSONL line: this member of it" },
	{ "", "id", OPT_TEXT, &naming.pattern, .value = "PATTERN",
	    .help = "cache_id of a path: {path}, {dir}, {name}, {stem}, {ext}" },
	{ "", "skip-failed", OPT_FLAG, &skip_failed,
	    .help = "with --from, leave out what fails, for good" },
	{ "", "failures", OPT_FILE, &failures_path, .value = "FILE",
	    .help = "list failed items here; default failures.jsonl of the module" },
	{ "", "trace", OPT_FILE, &trace_path, .value = "FILE",
	    .help = "write what happens to FILE, a JSON object a line" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "count what is missing, run nothing" },
	MODULE_NO_CREATE,
	{ .kind = OPT_END },
};

/* ---- options for both --ids and --from ---------------------------------------------- */

static struct lc__producers
producers_of(const char *module)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);

	return (struct lc__producers){
		.command = exec_command,
		.module = module,
		.children = children != OPT_UNSET ? (unsigned)children
		    : online < 1                  ? 1
		    : online > 1024               ? 1024
						  : (unsigned)online,
		.ahead = (unsigned)ahead,
		.retries = (unsigned)retries,
		.give_up = (unsigned)give_up,
		.timeout_ms = timeout * 1000,
		.start_timeout_ms = start_timeout * 1000,
		.frame_max = frame_max,
		.isolate = isolate,
		.line = fill_report_line,
	};
}

static struct lc__demands
demands_of(const struct lc__expect *expect)
{
	return (struct lc__demands){
		.expect = expect,
		.n_expect = expects.count,
		.deep = deep,
		.finite = { .nan = nan_policy == 1, .inf = inf_policy == 1 },
	};
}

/* ---- a list of ids ----------------------------------------------------------------- */

static lc_status
next_id(void *ctx, struct lc__item *out)
{
	return idlist_next(ctx, &out->id);
}

static int
fill_ids(const char *module, lc_cache *cache, const struct lc__expect *expect,
    struct lc__failures *failures)
{
	const struct lc__producers producers = producers_of(module);
	struct lc__filled filled;
	struct idlist list;
	const struct lc__fill fill = {
		.cache = cache,
		.producers = &producers,
		.demands = demands_of(expect),
		.next = next_id,
		.back = fill_report_batch,
		.over = fill_report_item,
		.idle = fill_report_progress,
		.ctx = &list,
		.batch = batch,
		.batch_bytes = batch_bytes,
		.failures = failures,
		.dry_run = dry_run,
	};
	lc_status status;
	int code = idlist_open(&list, ids, null);

	if (code != EXIT_DONE)
		return code;
	if (dry_run)
		interrupt_resume(INTERRUPT_AGAIN);
	progress_begin("fill");
	fill_report_begin(module, failures_path, idlist_count(&list), options);
	status = lc__fill_run(&fill, &filled);
	code = fill_report_end(status, &filled, dry_run);
	idlist_close(&list);
	return code;
}

/* ---- input shards ------------------------------------------------------------------- */

static lc_status
name_line(void *ctx, const struct lc__inputs_shard *shard, const struct lc__line *line,
    struct lc__buf *out)
{
	(void)ctx;
	return linename_append(&naming, shard, line, out);
}

static int
fill_inputs(const char *module, lc_cache *cache, const struct lc__expect *expect,
    struct lc__failures *failures, const struct lc__inputs_shard *shards, size_t n)
{
	const struct lc__producers producers = producers_of(module);
	const bool named = naming.field != NULL || naming.pattern != NULL;
	const struct lc__inputs_fill fill = {
		.cache = cache,
		.producers = &producers,
		.demands = demands_of(expect),
		.shards = shards,
		.n = n,
		.batch = batch,
		.batch_bytes = batch_bytes,
		.chunk = chunk,
		.skip_failed = skip_failed,
		.dry_run = dry_run,
		.name = named ? name_line : NULL,
		.back = fill_report_batch,
		.failed = fill_report_failed,
		.stopped = fill_report_stopped,
		.idle = fill_report_inputs_progress,
		.failures = failures,
	};
	struct lc__inputs_filled filled;
	lc_status status;

	if (dry_run)
		interrupt_resume(INTERRUPT_AGAIN);
	progress_begin("fill");
	fill_report_begin(module, failures_path, 0, options);
	status = lc__inputs_run(&fill, &filled);
	return fill_report_inputs_end(status, &filled, dry_run);
}

static enum lc__shard_kind
kind_of(const char *path)
{
	static const enum lc__shard_kind kinds[] = {
		[KIND_JSONL] = LC__SHARD_JSONL,
		[KIND_TEXT] = LC__SHARD_TEXT,
		[KIND_FILES] = LC__SHARD_FILES,
	};

	return kind == KIND_AUTO ? lc__shard_kind_of(path) : kinds[kind];
}

static int
add_shard(struct list *list, const char *text)
{
	return text[0] == '@' ? list_read(list, text + 1, null)
			      : list_add(list, text, strlen(text));
}

/* The shards of the options, and the operands. */
static int
collect_shards(struct list *list, int argc, char **argv)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < from.count && status == EXIT_DONE; i++)
		status = add_shard(list, from.items[i]);
	for (int i = 0; i < argc && status == EXIT_DONE; i++)
		status = add_shard(list, argv[i]);
	if (status == EXIT_DONE && list->count == 0)
		return report_usage("--from: the list has no shard");
	for (size_t i = 0; i < list->count && status == EXIT_DONE; i++)
		if (access(list->items[i].data, R_OK) == -1)
			status = report_errno(list->items[i].data);
	return status;
}

/* ---- the module ---------------------------------------------------------------------- */

/* Plain puts and inputs do not mix; the library would say so of each record. */
static int
check_filled(const char *module, lc_cache *cache)
{
	lc_fill fill = { .struct_size = sizeof(fill) };
	const lc_status status = lc_fill_get(cache, &fill);

	if (status != LC_OK)
		return report_status(status);
	if (ids != NULL && fill.inputs > 0)
		return report_error(EXIT_DATA,
		    "%s is filled by its inputs: --from goes on with them, --ids cannot",
		    module);
	if (ids == NULL && fill.inputs == 0 && fill.records > 0)
		return report_error(EXIT_DATA,
		    "%s has records of plain puts, which do not mix with --from", module);
	return EXIT_DONE;
}

static int
open_failures(const char *module, struct lc__failures **out)
{
	static char path[4096];
	lc_status status;

	if (dry_run)
		return EXIT_DONE;
	if (failures_path == NULL) {
		snprintf(path, sizeof(path), "%s/%s/failures.jsonl", settings.root,
		    module);
		failures_path = path;
	}
	/* A later fill asks again for ids that failed, but not for lines that were left out. */
	status = lc__failures_open(failures_path, ids == NULL, out);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

static bool
is_missing(const char *module)
{
	char path[4096];

	return snprintf(path, sizeof(path), "%s/%s/data.mdb", settings.root, module) <
	    (int)sizeof(path) &&
	    access(path, F_OK) == -1 && errno == ENOENT;
}

/* No records and, beside them, no list of failures: nothing to keep. */
static bool
holds_nothing(lc_cache *cache)
{
	uint64_t records = 1;
	struct stat st;

	return lc_count(cache, &records) == LC_OK && records == 0 &&
	    (failures_path == NULL || stat(failures_path, &st) == -1 || st.st_size == 0);
}

static int
fill_module(const char *module, const struct lc__expect *expect,
    const struct lc__inputs_shard *shards, size_t n)
{
	struct lc__failures *failures = NULL;
	lc_cache *cache = NULL;
	lc_status closed;
	const bool made = is_missing(module);
	bool empty;
	int status = dry_run ? module_open_if_there(settings.root, module, false, &cache)
			     : module_create(module, &cache);

	if (status == EXIT_DONE && cache != NULL)
		status = check_filled(module, cache);
	if (status == EXIT_DONE)
		status = open_failures(module, &failures);
	if (status == EXIT_DONE)
		status = ids != NULL
		    ? fill_ids(module, cache, expect, failures)
		    : fill_inputs(module, cache, expect, failures, shards, n);
	closed = lc__failures_close(failures);
	if (closed != LC_OK)
		status = report_worse(status, report_status(closed));
	if (cache == NULL)
		return status;
	empty = holds_nothing(cache);
	status = module_close(cache, status);
	/* Nothing was made, as by a program that does not exist. */
	if (made && empty && status != EXIT_DONE && status < 128 &&
	    lc_drop(settings.root, module) != LC_OK && settings.verbose)
		report_note("%s", lc_last_error()->text);
	return status;
}

/* ---- the command ---------------------------------------------------------------------- */

static int
check_options(int argc)
{
	char why[OPT_TEXT_ROOM];

	/* The list may be called @FILE, as where other commands take operands or a list. */
	if (ids != NULL && ids[0] == '@')
		ids++;
	if (ids == NULL && from.count == 0)
		return report_usage("--ids or --from says what to make");
	if (ids != NULL && from.count > 0)
		return report_usage("--ids and --from are two things");
	if (exec_command == NULL && !dry_run)
		return report_usage("--exec names the producer");
	if (ids != NULL && argc > 1)
		return report_usage("shards belong to --from");
	if (ids != NULL &&
	    (naming.field != NULL || naming.pattern != NULL || kind != KIND_AUTO ||
		skip_failed))
		return report_usage("--id, --id-field, --kind and --skip-failed "
				    "belong to --from");
	if (ids == NULL && deep)
		return report_usage("--deep belongs to --ids");
	if (naming.field != NULL && naming.pattern != NULL)
		return report_usage("--id and --id-field are two things");
	if (ids != NULL && strcmp(ids, "-") != 0 && access(ids, R_OK) == -1)
		return report_errno(ids);
	if (naming.pattern != NULL && !pattern_check(naming.pattern, why, sizeof(why)))
		return report_usage("--id: %s", why);
	return EXIT_DONE;
}

static int
parse_expects(struct lc__expect *out)
{
	for (size_t i = 0; i < expects.count; i++)
		if (lc__expect_parse(expects.items[i], &out[i]) != LC_OK)
			return report_usage("--expect: %s", lc_last_error()->text);
	return EXIT_DONE;
}

static int
fill_list(const char *module, const struct lc__expect *expect, const struct list *list)
{
	struct lc__inputs_shard *shards = calloc(list->count + 1, sizeof(*shards));
	int status;

	if (shards == NULL)
		return report_no_memory();
	for (size_t i = 0; i < list->count; i++)
		shards[i] = (struct lc__inputs_shard){ list->items[i].data,
			kind_of(list->items[i].data) };
	status = linename_check(&naming, shards, list->count);
	if (status == EXIT_DONE)
		status = fill_module(module, expect, shards, list->count);
	free(shards);
	return status;
}

static int
run_fill(int argc, char **argv)
{
	struct lc__expect *expect = calloc(expects.count + 1, sizeof(*expect));
	struct list list = { 0 };
	int status = check_options(argc);

	if (expect == NULL) {
		status = report_no_memory();
	}
	if (status == EXIT_DONE)
		status = parse_expects(expect);
	if (status == EXIT_DONE && ids == NULL)
		status = collect_shards(&list, argc - 1, argv + 1);
	if (status == EXIT_DONE)
		status = trace_open(trace_path);
	if (status == EXIT_DONE) {
		status = fill_list(argv[0], expect, &list);
		status = report_worse(status, trace_close());
	}
	list_free(&list);
	free(expect);
	return status;
}

const struct command cmd_fill = {
	.name = "fill",
	.operands = "MODULE [SHARD...]",
	.summary = "make what a module lacks, by a program of yours",
	.text =
	    "Runs COMMAND, a producer, in several processes: batches of items go to its "
	    "standard input, and the values that it makes of them come back on its "
	    "standard output, as cachex-producer(5) has it. They are checked and "
	    "stored. A producer that dies, hangs or answers garbage is replaced.\n"
	    "With --ids it makes the cache_ids of LIST that are not stored, or not as "
	    "--expect and a strict module demand. Run again it makes what is still "
	    "missing.\n"
	    "With --from each SHARD is an input of the module: JSONL, text, or a list "
	    "of files, and @LIST a file with a shard's path a line. Each line is an "
	    "item and becomes a record, in the order of the lines, in chunks of "
	    "--chunk records; several processes may do so at once. Run again it goes on "
	    "behind the last chunk of each shard.\n"
	    "Failed items are listed in failures.jsonl of the module's directory; then "
	    "the exit status is 1.",
	.examples =
	    "cachex fill clip --exec 'python3 encode.py' --ids ids.txt --expect 'f32[768]'\n"
	    "cachex fill tokens -j 8 --exec ./tokenize --from shards/*.jsonl\n"
	    "cachex fill clip --ids ids.txt -n",
	.completes = "mf",
	.resume = "what it stored stays; the same command goes on",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_fill,
};
