/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/push_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "cmd/stores.h"
#include "publish/push.h"
#include "ui/command.h"
#include "ui/input.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

/* ---- the store ------------------------------------------------------------------------ */

int
push_job_open(struct push_job *job, const char *url, const char *producer)
{
	struct lc__buf text = { 0 };
	int status = EXIT_DONE;

	memset(job, 0, sizeof(*job));
	lc_export_options_init(&job->how);
	job->how.shard_bytes = PUSH_SHARD_SIZE;
	job->how.threads = PUSH_THREADS;
	if (producer[0] == '@')
		status = input_read(producer + 1, &text);
	else
		lc__buf_append(&text, producer, strlen(producer));
	lc__buf_append(&text, "", 1);
	if (status == EXIT_DONE && text.failed)
		status = report_no_memory();
	job->producer = (char *)text.data;
	if (status == EXIT_DONE && store_open(url, false, &job->store) != LC_OK)
		status = report_argument(lc_last_error()->status);
	if (status != EXIT_DONE)
		push_job_close(job);
	return status;
}

int
push_job_probe(const struct push_job *job)
{
	const lc_status status = lc__objects_probe(job->store);

	return status == LC_OK ? EXIT_DONE : report_status(status);
}

void
push_job_close(struct push_job *job)
{
	lc__objects_close(job->store);
	free(job->producer);
	memset(job, 0, sizeof(*job));
}

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

int
push_job_source(const struct push_job *job, const struct lc__push_source *source)
{
	const lc_progress progress = { .step = progress_step };
	const struct lc__push push = {
		.store = job->store,
		.source = source,
		.producer = job->producer,
		.check = job->check,
		.first_wins = job->first_wins,
		.threads = job->how.threads,
		.progress = &progress,
		.told = on_part,
		.ctx = (void *)(uintptr_t)source,
	};
	struct lc__push_result result;
	lc_status status;

	interrupt_resume("run the same command to push the remaining parts");
	progress_begin("push");
	status = lc__push_run(&push, &result);
	progress_end();
	if (status != LC_OK)
		return report_status(status);
	show_result(&result, source->n);
	return result.parts[LC__PUSHED_CONFLICT] > 0 ? EXIT_DATA : EXIT_DONE;
}

int
push_job_shards(const struct push_job *job, const char *dir)
{
	struct lc__push_source source;
	int status;

	if (lc__push_shards(dir, &source) != LC_OK)
		return report_status(lc_last_error()->status);
	status = push_job_source(job, &source);
	lc__push_source_close(&source);
	return status;
}

int
push_job_module(const struct push_job *job, const char *root, const char *module)
{
	const char *const staging = job->staging;
	lc_export_options how = job->how;
	struct lc__push_source source;
	lc_cache *cache;
	char *dir = NULL;
	lc_status listed;
	int status = module_open_in(root, module, LC_RDONLY, &cache);

	if (status != EXIT_DONE)
		return status;
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
			status = push_job_source(job, &source);
			lc__push_source_close(&source);
		}
	}
	free(dir);
	return module_close(cache, status);
}
