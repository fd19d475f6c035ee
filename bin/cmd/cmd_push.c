/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex push: the parts of a module, or a directory of shards, into a store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "publish/place.h"
#include "publish/push.h"
#include "store/tool.h"
#include "ui/command.h"
#include "ui/input.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static const char *producer = "";
static uint64_t shard_size = 192ull << 20;
static int shard_version;
static int no_metadata;
static int check;
static int first_wins;
static const char *staging;
static uint64_t threads = 2;

static struct opt options[] = {
	{ "", "producer", OPT_TEXT, &producer, .value = "TEXT",
	    .help = "what makes the values: parts of another text are of another run; "
		    "@FILE is what the file holds" },
	{ "", "check", OPT_FLAG, &check,
	    .help =
		"make parts that are there too, compare them, and put what is damaged" },
	{ "", "first-wins", OPT_FLAG, &first_wins,
	    .help = "a part that was pushed with other contents stays as it is" },
	{ "", "shard-size", OPT_SIZE, &shard_size, .value = "SIZE", .least = 4ull << 10,
	    .most = 1ull << 40,
	    .help = "target size of a shard, 4K to 1T; default 192M" },
	{ "", "shard-version", OPT_CHOICE, &shard_version, .value = "auto|1|2",
	    .help = "auto: 1 for f16 and f32 without metadata, else 2" },
	{ "", "no-metadata", OPT_FLAG, &no_metadata,
	    .help = "leave out cache_ids and block checksums" },
	{ "", "staging", OPT_DIR, &staging, .value = "DIR",
	    .help = "where shards are made; default ROOT/.MODULE.push" },
	{ "j", "threads", OPT_COUNT, &threads, .value = "N", .least = 1, .most = 1024,
	    .help = "shards at once" },
	{ .kind = OPT_END },
};

/* ---- what is said ------------------------------------------------------------------- */

static const char *const outcomes[LC__PUSHED_KINDS] = {
	[LC__PUSHED_PUT] = "put",
	[LC__PUSHED_THERE] = "there",
	[LC__PUSHED_KEPT] = "kept",
	[LC__PUSHED_UNFINISHED] = "unfinished",
	[LC__PUSHED_BUSY] = "busy",
	[LC__PUSHED_CONFLICT] = "conflict",
};

static void
on_part(void *ctx, size_t part, enum lc__pushed what)
{
	const struct lc__push_source *source = ctx;
	struct json json = { stdout, false };

	progress_clear();
	if (what == LC__PUSHED_CONFLICT)
		report_library(EXIT_DATA);
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "part", source->parts[part].name);
		jw_text(&json, "outcome", outcomes[what]);
		jw_end_line(&json);
	} else if (settings.verbose) {
		printf("%-10s  %s\n", outcomes[what], source->parts[part].name);
	}
}

static void
show_result(const struct lc__push_result *result, uint64_t parts)
{
	struct json json = { stdout, false };
	char text[SIZE_TEXT], size[SIZE_TEXT];
	const char *separator = ": ";

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "run", result->run);
		jw_count(&json, "parts", parts);
		for (int i = 0; i < LC__PUSHED_KINDS; i++)
			jw_count(&json, outcomes[i], result->parts[i]);
		jw_count(&json, "shards", result->objects);
		jw_count(&json, "bytes", result->bytes);
		jw_end_line(&json);
		return;
	}
	if (settings.quiet)
		return;
	printf("run %s: %s", result->run, count_human(parts, "part", text, sizeof(text)));
	for (int i = 0; i < LC__PUSHED_KINDS; i++) {
		if (result->parts[i] == 0)
			continue;
		printf("%s%llu %s", separator, (unsigned long long)result->parts[i],
		    outcomes[i]);
		separator = ", ";
	}
	printf("; put %s, %s\n",
	    count_human(result->objects, "shard", text, sizeof(text)),
	    size_human((double)result->bytes, size, sizeof(size)));
}

/* ---- the push ----------------------------------------------------------------------- */

static int
push_source(struct lc__objects *store, const struct lc__push_source *source,
    const char *text)
{
	const lc_progress progress = { .step = progress_step };
	const struct lc__push push = {
		.store = store,
		.source = source,
		.producer = text,
		.check = check,
		.first_wins = first_wins,
		.threads = (unsigned)threads,
		.progress = &progress,
		.told = on_part,
		.ctx = (void *)(uintptr_t)source,
	};
	struct lc__push_result result;
	lc_status status;

	interrupt_resume("the same command goes on with the parts that are not there");
	progress_begin("push");
	status = lc__push_run(&push, &result);
	progress_end();
	if (status != LC_OK)
		return report_status(status);
	show_result(&result, source->n);
	return result.parts[LC__PUSHED_CONFLICT] > 0 ? EXIT_DATA : EXIT_DONE;
}

static int
push_module(struct lc__objects *store, const char *root, const char *module,
    const char *text)
{
	struct lc__push_source source;
	lc_export_options how;
	lc_cache *cache;
	char *dir = NULL;
	lc_status listed;
	int status = module_open_in(root, module, LC_RDONLY, &cache);

	if (status != EXIT_DONE)
		return status;
	lc_export_options_init(&how);
	how.shard_bytes = shard_size;
	how.shard_version = (uint32_t)shard_version;
	how.metadata = !no_metadata;
	how.threads = (unsigned)threads;
	how.progress.step = progress_step;
	how.progress.phase = progress_phase;
	if (staging == NULL && asprintf(&dir, "%s/.%s.push", root, module) < 0) {
		status = report_no_memory();
		dir = NULL;
	}
	if (status == EXIT_DONE) {
		listed = lc__push_module(cache, &how, staging != NULL ? staging : dir,
		    &source);
		if (listed != LC_OK) {
			status = report_argument(lc__error_prefix("%s", module));
		} else {
			status = push_source(store, &source, text);
			lc__push_source_close(&source);
		}
	}
	free(dir);
	return module_close(cache, status);
}

/* A path: of a module of any root, or of a directory of shards. */
static int
push_path(struct lc__objects *store, const char *operand, const char *text)
{
	struct lc__push_source source;
	char *path = strdup(operand), *data = lc__path_join(operand, "data.mdb"), *slash;
	int status;

	if (path == NULL || data == NULL) {
		status = report_no_memory();
	} else if (access(data, F_OK) == 0) {
		while (path[1] != '\0' && path[strlen(path) - 1] == '/')
			path[strlen(path) - 1] = '\0';
		slash = strrchr(path, '/');
		*slash = '\0';
		status = push_module(store, slash == path ? "/" : path, slash + 1, text);
	} else if (lc__push_shards(operand, &source) != LC_OK) {
		status = report_status(lc_last_error()->status);
	} else {
		status = push_source(store, &source, text);
		lc__push_source_close(&source);
	}
	free(path);
	free(data);
	return status;
}

static int
run_push(int argc, char **argv)
{
	struct lc__objects *store;
	struct lc__buf text = { 0 };
	int status = EXIT_DONE;

	(void)argc;
	if (producer[0] == '@')
		status = input_read(producer + 1, &text);
	else
		lc__buf_append(&text, producer, strlen(producer));
	lc__buf_append(&text, "", 1);
	if (status == EXIT_DONE && text.failed)
		status = report_no_memory();
	if (status == EXIT_DONE && lc__objects_open(argv[1], false, &store) != LC_OK)
		status = report_argument(lc_last_error()->status);
	else if (status == EXIT_DONE) {
		status = strchr(argv[0], '/') != NULL
		    ? push_path(store, argv[0], (char *)text.data)
		    : push_module(store, settings.root, argv[0], (char *)text.data);
		lc__objects_close(store);
	}
	lc__buf_free(&text);
	return status;
}

const struct command cmd_push = {
	.name = "push",
	.operands = "MODULE URL",
	.summary = "put the parts that are made into a store",
	.text =
	    "Makes shards of each input of MODULE that is finished, and puts them into the "
	    "store URL: file:///DIR, or the path of a directory. Any number of machines may "
	    "push parts of the same inputs at once. A part is put once: one that is there "
	    "is not made again. A part that is there with other contents is a conflict; "
	    "then the exit status is 3. Inputs that are not finished are passed over. When "
	    "all parts are there, cachex publish makes a generation of them.\n"
	    "With a slash in it MODULE is the path of a module, or of a directory of "
	    "shards, whose series are the parts.\n"
	    "Parts belong to a run: the same inputs, the same --producer and the same "
	    "options. cachex-store(5) describes the files.",
	.examples = "cachex push feats file:///mnt/store\n"
		    "cachex push feats /mnt/store --producer 'embed.py 1.4, model b'\n"
		    "cachex push ./shards /mnt/store",
	.completes = "sd",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = 2,
	.options = options,
	.run = run_push,
};
