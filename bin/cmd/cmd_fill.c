/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex fill: missing records, computed by producers from a list of ids or from shards. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/json_scan.h"
#include "base/lines.h"
#include "cmd/fill_tell.h"
#include "cmd/push_job.h"
#include "cmd/stores.h"
#include "fill/inputs.h"
#include "publish/push.h"
#include "publish/receipt.h"
#include "ui/command.h"
#include "ui/input.h"
#include "ui/interrupt.h"
#include "ui/module.h"
#include "ui/task.h"
#include "ui/pattern.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
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
static const char *id_field, *id_pattern;
static int skip_failed;
static const char *failures_path;
static const char *trace_path;
static int dry_run;
static const char *push_url;
static const char *producer = "";
static struct job_task task;
static struct push_job job; /* with --push */
static uint64_t pushed;     /* our parts that the store had already */

static struct opt options[] = {
	{ "", "exec", OPT_TEXT, &exec_command, .value = "COMMAND",
	    .help = "the producer: a command for /bin/sh" },
	{ "", "ids", OPT_FILE, &ids, .value = "LIST",
	    .help = "compute these cache_ids, one per line; - is standard input" },
	{ "", "from", OPT_LIST, &from, .value = "SHARD",
	    .help = "compute one record per line of this file, in order" },
	{ "z0", "null", OPT_FLAG, &null, .help = "items in lists end with a NUL byte" },
	{ "j", "children", OPT_COUNT, &children, .value = "N", .least = 1, .most = 1024,
	    .help = "run N producers at a time; default the number of processors" },
	{ "", "ahead", OPT_COUNT, &ahead, .value = "N", .most = 64,
	    .help = "batches a producer is given beyond the current one; default 1" },
	{ "b", "batch", OPT_COUNT, &batch, .value = "N", .least = 1, .most = 1u << 20,
	    .help = "maximum items per batch; default 64" },
	{ "", "batch-bytes", OPT_SIZE, &batch_bytes, .value = "SIZE", .least = 1,
	    .help = "maximum bytes of lines per batch; default 64M" },
	{ "", "chunk", OPT_COUNT, &chunk, .value = "N", .least = 1, .most = 1u << 24,
	    .help = "records per chunk, with --from; default 2048" },
	{ "", "expect", OPT_LIST, &expects, .value = "[PATH=]DTYPE[DIMS]",
	    .help = "demand this dtype and shape of each value, such as f16[16,*,*]" },
	{ "", "nan", OPT_CHOICE, &nan_policy, .value = "fail|keep",
	    .help = "what to do with a new value that has a NaN; default fail" },
	{ "", "inf", OPT_CHOICE, &inf_policy, .value = "fail|keep",
	    .help = "the same for infinity" },
	{ "", "deep", OPT_FLAG, &deep,
	    .help = "with --ids, read stored values in full: checksums, NaN, infinity" },
	{ "t", "timeout", OPT_COUNT, &timeout, .value = "SECONDS", .most = 1u << 24,
	    .help = "kill a producer that takes longer for a batch; 0 for never, "
		    "default 600" },
	{ "", "start-timeout", OPT_COUNT, &start_timeout, .value = "SECONDS",
	    .most = 1u << 24, .help = "the same for a producer's first batch" },
	{ "", "retries", OPT_COUNT, &retries, .value = "N", .most = 1000,
	    .help = "give a batch that a producer died of to N new ones; default 1" },
	{ "", "give-up", OPT_COUNT, &give_up, .value = "N", .most = 1u << 30,
	    .help =
		"stop when N batches in a row gave no value; 0 for never, default 10" },
	{ "", "isolate", OPT_FLAG, &isolate,
	    .help = "halve a failed batch until the items that cause it are known" },
	{ "", "frame-max", OPT_SIZE, &frame_max, .value = "SIZE", .least = 1024,
	    .most = UINT32_MAX, .help = "maximum bytes of an answer; default 1G" },
	{ "", "kind", OPT_CHOICE, &kind, .value = "auto|jsonl|text|files",
	    .help = "kind of a line of a shard; auto: by the shard's name" },
	{ "", "id-field", OPT_TEXT, &id_field, .value = "NAME",
	    .help = "member of a JSONL line to use as its cache_id" },
	{ "", "id", OPT_TEXT, &id_pattern, .value = "PATTERN",
	    .help = "cache_id of a path: {path}, {dir}, {name}, {stem}, {ext}" },
	TASK_OPTION,
	{ "", "push", OPT_TEXT, &push_url, .value = "URL",
	    .help = "put finished inputs into this store, as cachex push does, and do "
		    "not fill inputs that it has" },
	{ "", "producer", OPT_TEXT, &producer, .value = "TEXT",
	    .help = "with --push: a text that identifies the producer, as for push" },
	{ "", "skip-failed", OPT_FLAG, &skip_failed,
	    .help = "with --from, leave out failed items and bad lines for good" },
	{ "", "failures", OPT_FILE, &failures_path, .value = "FILE",
	    .help = "list failed items in FILE; default failures.jsonl of the module" },
	{ "", "trace", OPT_FILE, &trace_path, .value = "FILE",
	    .help = "write events to FILE, one JSON object per line" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "count missing records; run no producer, store nothing" },
	MODULE_NO_CREATE,
	STORE_OPTIONS,
	STORE_SINGLE_PUBLISHER,
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
		.line = fill_tell_line,
		.reported = fill_tell_reported,
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

#define PATIENCE 5 /* ms, after which the list counts as having nothing to read for now */

/* Wait a little before each read. Errors are left to read(2). */
static lc_status
wait_readable(void *ctx)
{
	const struct lc__lines *lines = ctx;
	struct pollfd poller = { .fd = lines->fd, .events = POLLIN };
	int ready;

	if (interrupt_pending() != 0)
		return lc__error(LC_CANCELLED, 0, "stopped");
	ready = poll(&poller, 1, PATIENCE);
	return ready == 0 || (ready == -1 && errno == EINTR) ? LC_BUSY : LC_OK;
}

/* The next id of the list; empty ones are skipped. LC_BUSY if none can be read now. */
static lc_status
next_id(void *ctx, struct lc__item *out)
{
	struct lc__lines *lines = ctx;
	struct lc__text_line line;
	lc_status status;

	do
		status = lc__lines_next(lines, &line);
	while (status == LC_OK && line.size == 0);
	if (status == LC_INVALID)
		return lc__error(LC_INVALID, 0, "%s: item %llu has more than %d bytes",
		    lines->path, (unsigned long long)lines->number, LC_MAX_ID);
	if (status == LC_OK)
		out->id = (lc_id){ line.text, line.size };
	return status;
}

/* How many ids a file has; 0 for a file that cannot be read twice. Goes back to its
 * beginning. */
static lc_status
count_ids(struct lc__lines *lines, uint64_t *out)
{
	struct lc__text_line line;
	struct stat st;
	lc_status status;

	*out = 0;
	if (fstat(lines->fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    lseek(lines->fd, 0, SEEK_CUR) != 0)
		return LC_OK;
	/* A bad id is reported when the ids are made. */
	while ((status = lc__lines_next(lines, &line)) == LC_OK || status == LC_INVALID)
		*out += status == LC_INVALID || line.size > 0;
	return lc__lines_seek(lines, 0, 0);
}

static int
fill_ids(const char *module, lc_cache *cache, const struct lc__expect *expect,
    struct lc__failures *failures)
{
	const struct lc__producers producers = producers_of(module);
	struct lc__filled filled = { 0 };
	struct lc__lines list = {
		.path = input_name(ids),
		.limit = LC_MAX_ID,
		.null = null,
		.wait = wait_readable,
		.ctx = &list,
	};
	const struct lc__fill fill = {
		.cache = cache,
		.producers = &producers,
		.demands = demands_of(expect),
		.next = next_id,
		.back = fill_tell_batch,
		.over = fill_tell_item,
		.idle = fill_tell_progress,
		.ctx = &list,
		.batch = batch,
		.batch_bytes = batch_bytes,
		.failures = failures,
		.dry_run = dry_run,
	};
	uint64_t total = 0;
	lc_status status;
	int code;

	list.fd = strcmp(ids, "-") == 0 ? STDIN_FILENO : lc__open(ids, O_RDONLY);
	if (list.fd == -1)
		return report_errno(ids);
	fill_tell_begin(module);
	status = count_ids(&list, &total);
	fill_tell_total(total);
	if (status == LC_OK)
		status = lc__fill_run(&fill, &filled);
	code = fill_tell_end(status, &filled);
	lc__lines_free(&list);
	if (list.fd != STDIN_FILENO)
		close(list.fd);
	return code;
}

/* ---- the ids of lines --------------------------------------------------------------- */

/* Do --id-field and --id fit the shards? Reports; an exit status. */
static int
check_names(const struct lc__inputs_shard *shards, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (id_field != NULL && shards[i].kind != LC__SHARD_JSONL)
			return report_usage("--id-field needs JSONL, and %s is not JSONL",
			    shards[i].path);
		if (id_pattern != NULL && shards[i].kind != LC__SHARD_FILES)
			return report_usage(
			    "--id needs lists of files, and %s is not one "
			    "(--kind files)",
			    shards[i].path);
	}
	return EXIT_DONE;
}

static lc_status
bad(const struct lc__inputs_shard *shard, const struct lc__line *line, const char *what)
{
	return lc__error(LC_INVALID, 0, "%s: line %llu: %s '%s'", shard->path,
	    (unsigned long long)line->number + 1, what, id_field);
}

/* Digits, and perhaps a sign. */
static bool
is_integer(const struct lc__json_member *member)
{
	const struct lc__json_slice *text = &member->value;

	for (size_t i = 0; i < text->size; i++)
		if ((text->text[i] < '0' || text->text[i] > '9') &&
		    (i > 0 || text->text[i] != '-'))
			return false;
	return member->kind == LC__JSON_NUMBER;
}

/* Of two members with one name the last one counts, as in other readers. The line has
 * been checked to be an object. */
static lc_status
find_field(const struct lc__line *line, struct lc__json_member *out)
{
	struct lc__json_members members;
	struct lc__json_member member;
	bool found = false;
	lc_status status = lc__json_object(line->data, line->size, &members);

	while (status == LC_OK) {
		status = lc__json_next(&members, &member);
		if (status == LC_OK && lc__json_name_is(member.name, id_field)) {
			*out = member;
			found = true;
		}
	}
	return status != LC_END ? status : found ? LC_OK : LC_NOT_FOUND;
}

/* The cache_id of a line: a member of its JSON, or what the pattern makes of a path. */
static lc_status
name_line(void *ctx, const struct lc__inputs_shard *shard, const struct lc__line *line,
    struct lc__buf *out)
{
	struct lc__json_member member = { .kind = LC__JSON_NULL };
	char *path, *id;

	(void)ctx;
	if (id_field == NULL) {
		path = strndup((const char *)line->data, line->size);
		id = path != NULL ? pattern_fill(id_pattern, path) : NULL;
		if (id != NULL)
			lc__buf_append(out, id, strlen(id));
		free(path);
		free(id);
		return id != NULL ? LC_OK : lc__no_memory(NULL);
	}
	if (find_field(line, &member) != LC_OK)
		return bad(shard, line, "has no member");
	if (member.kind == LC__JSON_STRING)
		return lc__json_unescape(member.value, out) == LC_OK
		    ? LC_OK
		    : bad(shard, line, "not text:");
	if (!is_integer(&member))
		return bad(shard, line, "neither a string nor an integer:");
	lc__buf_append(out, member.value.text, member.value.size);
	return LC_OK;
}

/* ---- input shards ------------------------------------------------------------------- */

static int
fill_inputs(const char *module, lc_cache *cache, const struct lc__expect *expect,
    struct lc__failures *failures, const struct lc__inputs_shard *shards, size_t n)
{
	const struct lc__producers producers = producers_of(module);
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
		.name = id_field != NULL || id_pattern != NULL ? name_line : NULL,
		.back = fill_tell_batch,
		.failed = fill_tell_failed,
		.stopped = fill_tell_stopped,
		.idle = fill_tell_inputs_progress,
		.failures = failures,
	};
	struct lc__inputs_filled filled;

	fill_tell_begin(module);
	return fill_tell_inputs_end(lc__inputs_run(&fill, &filled), &filled);
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
		if (task_has(&task, i) && access(list->items[i].data, R_OK) == -1)
			status = report_errno(list->items[i].data);
	return status;
}

/* ---- the module ---------------------------------------------------------------------- */

/* Plain puts and inputs do not mix. Check once: the library would report it for each
 * record. */
static int
check_filled(const char *module, lc_cache *cache)
{
	lc_fill fill = { .struct_size = sizeof(fill) };
	const lc_status status = lc_fill_get(cache, &fill);

	if (status != LC_OK)
		return report_status(status);
	if (ids != NULL && fill.inputs > 0)
		return report_error(EXIT_DATA,
		    "%s is filled by inputs; continue with --from instead of --ids",
		    module);
	if (ids == NULL && fill.inputs == 0 && fill.records > 0)
		return report_error(EXIT_DATA,
		    "%s has records of plain puts; --from needs a module without them",
		    module);
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
	/* A later fill requests failed ids again, but not lines that were skipped. */
	status = lc__failures_open(failures_path, ids == NULL, out);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

static int
fill_module(const char *module, const struct lc__expect *expect,
    const struct lc__inputs_shard *shards, size_t n)
{
	struct lc__failures *failures = NULL;
	lc_cache *cache = NULL;
	lc_status closed;
	char path[4096];
	/* If the path is too long, assume that the file existed before. */
	const bool made = snprintf(path, sizeof(path), "%s/%s/data.mdb", settings.root,
			      module) < (int)sizeof(path) &&
	    access(path, F_OK) == -1 && errno == ENOENT;
	uint64_t records = 1;
	struct stat st;
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
	/* Without records and a list of failures the module need not be kept. */
	empty = lc_count(cache, &records) == LC_OK && records == 0 &&
	    (failures_path == NULL || stat(failures_path, &st) == -1 || st.st_size == 0);
	status = module_close(cache, status);
	/* Nothing was computed, for example because the program does not exist. */
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

	/* The list may be written as @FILE, as other commands write theirs. */
	if (ids != NULL && ids[0] == '@')
		ids++;
	if (ids == NULL && from.count == 0)
		return report_usage("give the items with --ids or --from");
	if (ids != NULL && from.count > 0)
		return report_usage("--ids and --from exclude each other");
	if (exec_command == NULL && !dry_run)
		return report_usage("name the producer with --exec");
	if (ids != NULL && argc > 1)
		return report_usage("shards need --from");
	if (ids != NULL &&
	    (id_field != NULL || id_pattern != NULL || kind != KIND_AUTO || skip_failed))
		return report_usage("--id, --id-field, --kind and --skip-failed "
				    "need --from");
	if (ids != NULL && task_option != NULL)
		return report_usage("--shard needs --from");
	if (ids != NULL && push_url != NULL)
		return report_usage("--push needs --from");
	if (ids == NULL && deep)
		return report_usage("--deep needs --ids");
	if (id_field != NULL && id_pattern != NULL)
		return report_usage("--id and --id-field exclude each other");
	if (ids != NULL && strcmp(ids, "-") != 0 && access(ids, R_OK) == -1)
		return report_errno(ids);
	if (id_pattern != NULL && !pattern_check(id_pattern, why, sizeof(why)))
		return report_usage("--id: %s", why);
	return EXIT_DONE;
}

/* Skip our parts that the store has. */
static lc_status
skip_pushed(struct lc__inputs_shard *shards, size_t n)
{
	struct lc__parts_recipe recipe = {
		.producer = strdup(job.producer),
		.options = lc__push_options(&job.how),
	};
	struct lc__buf text = { 0 };
	lc_status status = LC_OK;
	bool made;

	if (recipe.producer == NULL || recipe.options == NULL)
		status = lc__no_memory("fill");
	for (size_t i = 0; i < n && status == LC_OK; i++)
		status = lc__parts_recipe_add(&recipe, shards[i].path);
	if (status == LC_OK)
		status = lc__parts_recipe_format(&recipe, &text);
	for (size_t i = 0; i < n && status == LC_OK; i++) {
		if (shards[i].elsewhere)
			continue;
		status = lc__push_is_made(job.store, &recipe, i, &made);
		if (status != LC_OK || !made)
			continue;
		shards[i].elsewhere = true;
		pushed++;
	}
	lc__buf_free(&text);
	lc__parts_recipe_free(&recipe);
	return status;
}

static int
fill_and_push(const char *module, const struct lc__expect *expect,
    struct lc__inputs_shard *shards, size_t n)
{
	int status;

	if (push_url == NULL)
		return fill_module(module, expect, shards, n);
	if (skip_pushed(shards, n) != LC_OK)
		return report_status(lc_last_error()->status);
	status = dry_run ? EXIT_DONE : push_job_probe(&job);
	if (status != EXIT_DONE)
		return status;
	status = fill_module(module, expect, shards, n);
	/* Push the finished inputs, also if others failed. */
	if (dry_run || status >= 128)
		return status;
	return report_worse(status, push_job_module(&job, settings.root, module));
}

static int
fill_list(const char *module, const struct lc__expect *expect, const struct list *list)
{
	static const enum lc__shard_kind kinds[] = {
		[KIND_JSONL] = LC__SHARD_JSONL,
		[KIND_TEXT] = LC__SHARD_TEXT,
		[KIND_FILES] = LC__SHARD_FILES,
	};
	struct lc__inputs_shard *shards = calloc(list->count + 1, sizeof(*shards));
	int status;

	if (shards == NULL)
		return report_no_memory();
	for (size_t i = 0; i < list->count; i++) {
		shards[i].path = list->items[i].data;
		shards[i].kind = kind == KIND_AUTO ? lc__shard_kind_of(shards[i].path)
						   : kinds[kind];
		shards[i].elsewhere = !task_has(&task, i);
	}
	status = check_names(shards, list->count);
	if (status == EXIT_DONE)
		status = fill_and_push(module, expect, shards, list->count);
	free(shards);
	return status;
}

static int
run_fill(int argc, char **argv)
{
	struct lc__expect *expect = calloc(expects.count + 1, sizeof(*expect));
	struct list list = { 0 };
	const struct fill_telling telling = {
		.dry_run = dry_run,
		.failures = &failures_path,
		.task = &task,
		.pushes = push_url != NULL,
		.pushed = &pushed,
		.options = options,
	};
	int status = check_options(argc);

	fill_tell_how(&telling);
	if (status == EXIT_DONE)
		status = task_take(options, cmd_fill.name, &task);
	if (status == EXIT_DONE && expect == NULL)
		status = report_no_memory();
	for (size_t i = 0; i < expects.count && status == EXIT_DONE; i++)
		if (lc__expect_parse(expects.items[i], &expect[i]) != LC_OK)
			status = report_usage("--expect: %s", lc_last_error()->text);
	if (status == EXIT_DONE && ids == NULL)
		status = collect_shards(&list, argc - 1, argv + 1);
	if (status == EXIT_DONE && push_url != NULL)
		status = push_job_open(&job, push_url, producer);
	if (status == EXIT_DONE)
		status = trace_open(trace_path);
	if (status == EXIT_DONE) {
		status = fill_list(argv[0], expect, &list);
		status = report_worse(status, trace_close());
	}
	push_job_close(&job);
	list_free(&list);
	free(expect);
	return status;
}

const struct command cmd_fill = {
	.name = "fill",
	.operands = "MODULE [SHARD...]",
	.summary = "compute missing records with a program of yours",
	.text =
	    "Runs COMMAND, a producer, in several processes: it writes batches of items to "
	    "its standard input and reads the values that it computes from its standard "
	    "output, see cachex-producer(5). It checks and stores the values. A producer "
	    "that dies, hangs or sends an invalid answer is replaced.\n"
	    "With --ids it computes the cache_ids of LIST that are not stored, or not as "
	    "--expect and a strict module demand. Run it again to compute what is still "
	    "missing.\n"
	    "With --from each SHARD is an input of the module: JSONL, text, or a list "
	    "of files; @LIST is a file with one shard's path per line. Each line is an "
	    "item and becomes a record, in the order of the lines, in chunks of "
	    "--chunk records; several processes may fill a module at once. Run it again to "
	    "continue after the last chunk of each shard. With --shard I/N it fills only the "
	    "shards of task I of N; all machines get the same list. auto takes I and N from "
	    "a task of Slurm, Kubernetes or MPI. With --push it puts finished inputs into a "
	    "store, and does not fill inputs that the store has.\n"
	    "Failed items are listed in failures.jsonl of the module's directory; then "
	    "the exit status is 1.",
	.examples =
	    "cachex fill clip --exec 'python3 encode.py' --ids ids.txt --expect 'f32[768]'\n"
	    "cachex fill tokens -j 8 --exec ./tokenize --from shards/*.jsonl\n"
	    "cachex fill tokens --exec ./tokenize --shard auto --from @shards.txt\n"
	    "cachex fill tokens --exec ./tokenize --shard auto --from @shards.txt \\\n"
	    "    --push file:///mnt/store\n"
	    "cachex fill clip --ids ids.txt -n",
	.completes = "mf",
	.resume = "stored records stay; run the same command to continue",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_fill,
};
