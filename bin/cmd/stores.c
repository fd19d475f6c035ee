/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
#include "objects/url.h"
#include "publish/checked.h"
#include "publish/named.h"
#include "stream/source.h"
#include "ui/columns.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

lc_store_options store_options = {
	.struct_size = sizeof(lc_store_options),
	.tries = 5,
	.retry_s = 60,
	.connect_ms = 10000,
	.stall_s = 30,
};
int store_path_style, store_single_publisher;
uint64_t store_retry_s = 60;
struct store_fetch store_fetch;

#define CACHE_SIZE ((uint64_t)16 << 30) /* unless --cache-size says otherwise */

static int
is_interrupted(void *ctx)
{
	(void)ctx;
	return interrupt_pending() != 0;
}

/* The options of the library, once those of the command line are read. */
static const lc_store_options *
options_now(void)
{
	store_options.path_style = (lc_path_style)store_path_style;
	store_options.single_publisher = store_single_publisher;
	store_options.retry_s = (uint32_t)store_retry_s;
	store_options.cancelled = is_interrupted;
	return &store_options;
}

char *
store_generation_of(const char *text, uint64_t *generation)
{
	const char *at = strrchr(text, '@');
	uint64_t number;

	if (at == NULL || at[1] < '1' || at[1] > '9' || !count_parse(at + 1, &number))
		return strdup(text);
	*generation = number;
	return strndup(text, (size_t)(at - text));
}

static bool
has_directory(const char *path, const char *name)
{
	char *joined = lc__path_join(path, name);
	struct stat st;
	const bool is = joined != NULL && stat(joined, &st) == 0 && S_ISDIR(st.st_mode);

	free(joined);
	return is;
}

bool
store_is_directory(const char *path)
{
	const lc_error before = *lc_last_error();
	const bool is = has_directory(path, "manifest") && has_directory(path, "obj");

	if (before.status != LC_OK)
		(void)lc__error_raise(&before);
	return is;
}

static lc_status
open_source(const char *text, bool ranges, const lc_source_options *how, lc_source **out)
{
	uint64_t generation = store_fetch.generation;
	char *own = NULL, *url = store_generation_of(text, &generation);
	lc_fetch_options fetch;
	lc_store *store;
	lc_status status;

	lc_fetch_options_init(&fetch);
	if (url == NULL ||
	    (store_fetch.cache == NULL &&
		asprintf(&own, "%s/.copies", settings.root) < 0)) {
		free(url);
		return lc__no_memory(text);
	}
	fetch.cache = own != NULL ? own : store_fetch.cache;
	fetch.cache_bytes = store_fetch.cache_size > 0 ? store_fetch.cache_size
						       : CACHE_SIZE;
	fetch.generation = generation;
	fetch.ranges = ranges;
	if (store_fetch.ahead > 0)
		fetch.ahead = (uint32_t)store_fetch.ahead;
	status = lc_store_open(url, options_now(), &store);
	if (status == LC_OK) {
		status = lc_source_open_store(store, &fetch, how, out);
		if (status != LC_OK)
			lc_store_close(store);
	}
	free(url);
	free(own);
	return status;
}

int
store_source(const char *url, const lc_source_options *how, lc_source **out)
{
	const lc_status status = open_source(url, false, how, out);

	return status == LC_OK ? EXIT_DONE : report_argument(status);
}

#define LOOK_OPEN 16u /* shards; those that are open keep their room in the cache */

lc_status
store_look(const char *url, bool ranges, struct store_look *out)
{
	lc_source_options how;

	lc_source_options_init(&how);
	how.open_shards = LOOK_OPEN;
	return_if_error(open_source(url, ranges, &how, &out->source));
	out->warehouse = lc__source_warehouse(out->source);
	return LC_OK;
}

void
store_look_end(struct store_look *look)
{
	lc_source_close(look->source);
	*look = (struct store_look){ NULL, NULL };
}

lc_status
store_open(const char *url, bool there, struct lc__objects **out)
{
	return lc__objects_open(url, options_now(), there, out);
}

static int
open_store(const char *url, struct lc__objects **out)
{
	const lc_status status = store_open(url, true, out);

	if (status == LC_NO_FILE)
		return report_library(EXIT_NO);
	return status == LC_OK ? EXIT_DONE : report_argument(status);
}

/* ---- ls ------------------------------------------------------------------------------- */

static struct columns columns;

static void
count_cell(uint64_t n, const char *noun)
{
	char text[SIZE_TEXT];

	columns_text(&columns, count_human(n, noun, text, sizeof(text)));
}

static void
size_cell(uint64_t bytes)
{
	char text[SIZE_TEXT];

	columns_text(&columns, size_human((double)bytes, text, sizeof(text)));
}

static int
show_generation(struct lc__objects *store, const struct lc__generation *g)
{
	struct json json = { stdout, false };
	struct lc__manifest m = { 0 };
	uint64_t samples = 0, shards = 0, bytes = 0;
	char run[LC__RUN_ID], text[40];
	const lc_status status = lc__generation_read(store, g->number, NULL, &m);

	if (status != LC_OK)
		return report_status(status);
	lc__generation_run(&m, run);
	for (size_t i = 0; i < m.n_parts; i++) {
		samples += m.parts[i].samples;
		shards += m.parts[i].shards;
		bytes += m.parts[i].bytes;
	}
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_count(&json, "generation", g->number);
		jw_text(&json, "run", run);
		jw_count(&json, "parts", m.n_parts);
		jw_count(&json, "samples", samples);
		jw_count(&json, "shards", shards);
		jw_count(&json, "bytes", bytes);
		jw_count(&json, "published_at_ms", g->time_ms);
		jw_end_line(&json);
	} else {
		snprintf(text, sizeof(text), "generation %llu",
		    (unsigned long long)g->number);
		columns_text(&columns, text);
		columns_text(&columns, run);
		count_cell(m.n_parts, "part");
		count_cell(samples, "sample");
		count_cell(shards, "shard");
		size_cell(bytes);
	}
	lc__manifest_free(&m);
	return EXIT_DONE;
}

static int
show_run(struct lc__objects *store, const struct lc__run_listed *run)
{
	struct json json = { stdout, false };
	struct lc__parts_recipe recipe = { .n = 0 };
	char text[60];
	const lc_status status = lc__parts_recipe_read(store, run->id, &recipe);

	if (status != LC_OK)
		return report_status(status);
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "run", run->id);
		jw_count(&json, "parts", recipe.n);
		jw_count(&json, "receipts", run->receipts);
		jw_text(&json, "producer", recipe.producer);
		jw_end_line(&json);
	} else {
		snprintf(text, sizeof(text), "%llu of %zu parts",
		    (unsigned long long)run->receipts, recipe.n);
		columns_text(&columns, "run");
		columns_text(&columns, run->id);
		columns_text(&columns, text);
		columns_id(&columns, lc_id_of(recipe.producer));
	}
	lc__parts_recipe_free(&recipe);
	return EXIT_DONE;
}

static int
list_all(struct lc__objects *store)
{
	struct lc__generations generations = { .n = 0 };
	struct lc__run_list runs = { .n = 0 };
	int status = EXIT_DONE;

	if (lc__generations_list(store, &generations) != LC_OK ||
	    lc__runs_list(store, &runs) != LC_OK)
		status = report_status(lc_last_error()->status);
	columns_begin(&columns, "llrrrr");
	for (size_t i = 0; i < generations.n && status < EXIT_SYSTEM; i++)
		status = report_worse(status,
		    show_generation(store, &generations.all[i]));
	status = report_worse(status, columns_end(&columns));
	columns_begin(&columns, "llrl");
	for (size_t i = 0; i < runs.n && status < EXIT_SYSTEM; i++)
		if (runs.all[i].recipe)
			status = report_worse(status, show_run(store, &runs.all[i]));
	if (generations.n == 0 && runs.n == 0 && status == EXIT_DONE && !settings.quiet)
		report_note("%s: nothing was pushed there", store->url);
	free(generations.all);
	free(runs.all);
	return report_worse(status, columns_end(&columns));
}

static int
list_parts(struct lc__objects *store, uint64_t generation)
{
	struct json json = { stdout, false };
	struct lc__manifest m = { 0 };
	lc_status status = lc__generation_read(store, generation, NULL, &m);

	if (status == LC_NO_FILE)
		return report_error(EXIT_NO, "%s: has no generation %llu", store->url,
		    (unsigned long long)generation);
	columns_begin(&columns, "llrrr");
	for (size_t i = 0; i < m.n_parts && status == LC_OK; i++) {
		const struct lc__manifest_part *part = &m.parts[i];
		struct lc__manifest shards = { 0 };

		status = lc__part_read(store, part->sha256, NULL, &shards);
		if (status != LC_OK)
			break;
		if (settings.json) {
			jw_open(&json, NULL, '{');
			jw_text(&json, "part", shards.dataset_root);
			jw_text(&json, "sha256", part->sha256);
			jw_count(&json, "samples", part->samples);
			jw_count(&json, "shards", part->shards);
			jw_count(&json, "bytes", part->bytes);
			jw_end_line(&json);
		} else {
			columns_id(&columns, lc_id_of(shards.dataset_root));
			columns_text(&columns, part->sha256);
			count_cell(part->samples, "sample");
			count_cell(part->shards, "shard");
			size_cell(part->bytes);
		}
		lc__manifest_free(&shards);
	}
	lc__manifest_free(&m);
	return report_worse(status == LC_OK ? EXIT_DONE : report_status(status),
	    columns_end(&columns));
}

int
store_ls(const char *text, const char *generation)
{
	struct lc__objects *store;
	uint64_t number = 0;
	char *url;
	int status;

	if (generation != NULL && (!count_parse(generation, &number) || number == 0))
		return report_usage("%s: is not the number of a generation", generation);
	url = store_generation_of(text, &number);
	if (url == NULL)
		return report_no_memory();
	status = open_store(url, &store);
	free(url);
	if (status != EXIT_DONE)
		return status;
	status = number > 0 ? list_parts(store, number) : list_all(store);
	lc__objects_close(store);
	return status;
}

/* ---- generations ------------------------------------------------------------------------ */

lc_status
store_generations(const char *url,
    lc_status (*fn)(void *ctx, const struct lc__generation *generation,
	const struct lc__manifest *manifest, bool newest),
    void *ctx)
{
	struct lc__generations list = { .n = 0 };
	struct lc__objects *store;
	lc_status status;

	return_if_error(store_open(url, true, &store));
	status = lc__generations_list(store, &list);
	for (size_t i = 0; i < list.n && status == LC_OK; i++) {
		struct lc__manifest m = { 0 };

		status = lc__generation_read(store, list.all[i].number, NULL, &m);
		if (status == LC_OK)
			status = fn(ctx, &list.all[i], &m, i + 1 == list.n);
		lc__manifest_free(&m);
	}
	free(list.all);
	lc__objects_close(store);
	return status;
}

/* ---- verify --------------------------------------------------------------------------- */

#define THREADS 2 /* SHA-256 is what takes the time */

static void
on_damage(void *ctx)
{
	finding_show(ctx, "damage", lc_last_error()->text);
}

static uint64_t
count_wanted(const struct lc__stock *stock, uint64_t *bytes)
{
	uint64_t n = 0;

	for (size_t i = 0; i < stock->n; i++) {
		if (!stock->all[i].wanted)
			continue;
		n++;
		*bytes += stock->all[i].size;
	}
	return n;
}

static void
show_verified(const char *url, const struct lc__naming *naming, size_t generations)
{
	struct json json = { stdout, false };
	char g[SIZE_TEXT], s[SIZE_TEXT], size[SIZE_TEXT];
	uint64_t bytes = 0, part_bytes = 0;
	const uint64_t shards = count_wanted(naming->shards, &bytes);
	const uint64_t parts = count_wanted(naming->parts, &part_bytes);

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "store", url);
		jw_flag(&json, "ok", naming->damaged == 0);
		jw_flag(&json, "deep", naming->deep);
		jw_count(&json, "generations", generations);
		jw_count(&json, "manifests", parts);
		jw_count(&json, "shards", shards);
		jw_count(&json, "bytes", bytes);
		jw_count(&json, "damaged", naming->damaged);
		jw_end_line(&json);
		return;
	}
	printf("%s: ", url);
	if (naming->damaged == 0)
		printf("good");
	else
		printf("%llu damaged", (unsigned long long)naming->damaged);
	printf("; %s, %s, %s%s\n", count_human(generations, "generation", g, sizeof(g)),
	    count_human(shards, "shard", s, sizeof(s)),
	    size_human((double)bytes, size, sizeof(size)), naming->deep ? " read" : "");
}

static lc_status
follow(struct lc__naming *naming, const struct lc__generations *generations,
    const struct lc__run_list *runs)
{
	for (size_t i = 0; i < generations->n; i++)
		return_if_error(
		    lc__name_by_generation(naming, generations->all[i].number));
	for (size_t i = 0; i < runs->n; i++)
		if (runs->all[i].recipe)
			return_if_error(lc__name_by_run(naming, runs->all[i].id));
	return LC_OK;
}

int
store_verify(const char *url, bool deep)
{
	const lc_progress progress = { .step = progress_step };
	struct lc__stock parts = { .n = 0 }, shards = { .n = 0 };
	struct lc__generations generations = { .n = 0 };
	struct lc__run_list runs = { .n = 0 };
	struct lc__naming naming = {
		.parts = &parts,
		.shards = &shards,
		.deep = deep,
		.threads = THREADS,
		.progress = &progress,
		.damage = on_damage,
		.ctx = (void *)(uintptr_t)url,
	};
	lc_status status;
	int opened = open_store(url, &naming.store);
	bool empty;

	if (opened != EXIT_DONE)
		return opened;
	progress_begin("verify");
	status = lc__generations_list(naming.store, &generations);
	if (status == LC_OK)
		status = lc__runs_list(naming.store, &runs);
	if (status == LC_OK)
		status = lc__stock_list(naming.store, true, &parts);
	if (status == LC_OK)
		status = lc__stock_list(naming.store, false, &shards);
	if (status == LC_OK)
		status = follow(&naming, &generations, &runs);
	progress_end();
	empty = generations.n == 0 && runs.n == 0;
	if (status == LC_OK && !empty)
		show_verified(url, &naming, generations.n);
	lc__objects_close(naming.store);
	free(generations.all);
	free(runs.all);
	free(parts.all);
	free(shards.all);
	if (status != LC_OK)
		return report_status(status);
	if (empty)
		return report_error(EXIT_NO, "%s: nothing was pushed there", url);
	return naming.damaged > 0 ? EXIT_DATA : EXIT_DONE;
}

/* The newest, unless there is a number. */
static lc_status
choose_generation(struct lc__objects *store, uint64_t *number)
{
	struct lc__generations list = { .n = 0 };
	bool found = false;

	return_if_error(lc__generations_list(store, &list));
	for (size_t i = 0; i < list.n && !found; i++)
		found = list.all[i].number == *number;
	if (*number == 0 && list.n > 0) {
		*number = list.all[list.n - 1].number;
		found = true;
	}
	free(list.all);
	if (!found && *number == 0)
		return lc__error(LC_NO_FILE, 0, "%s: has no generation yet", store->url);
	if (!found)
		return lc__error(LC_NO_FILE, 0, "%s: has no generation %llu", store->url,
		    (unsigned long long)*number);
	return LC_OK;
}

lc_status
store_verify_generation(const char *text, void (*damage)(void *ctx), void *ctx)
{
	uint64_t generation = store_fetch.generation;
	char *url = store_generation_of(text, &generation);
	const lc_progress progress = { .step = progress_step };
	struct lc__stock parts = { .n = 0 }, shards = { .n = 0 };
	struct lc__naming naming = {
		.parts = &parts,
		.shards = &shards,
		.deep = true,
		.threads = THREADS,
		.progress = &progress,
		.damage = damage,
		.ctx = ctx,
	};
	lc_status status;

	status = url != NULL ? store_open(url, true, &naming.store) : lc__no_memory(text);
	free(url);
	return_if_error(status);
	status = choose_generation(naming.store, &generation);
	if (status == LC_OK)
		status = lc__stock_list(naming.store, true, &parts);
	if (status == LC_OK)
		status = lc__stock_list(naming.store, false, &shards);
	if (status == LC_OK)
		status = lc__name_by_generation(&naming, generation);
	lc__objects_close(naming.store);
	free(parts.all);
	free(shards.all);
	return status;
}

lc_status
store_verify_shard(const char *url, const char *object, const char *sha256)
{
	struct lc__stored_object wanted = { .name = object, .sha256 = sha256 };
	struct lc__object about;
	lc_status status;

	return_if_error(store_open(url, true, &wanted.store));
	status = lc__object_find(wanted.store, object, &about);
	wanted.size = about.size;
	if (status == LC_OK)
		status = lc__get_checked(&wanted, NULL);
	lc__objects_close(wanted.store);
	return status;
}
