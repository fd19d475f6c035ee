/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex warehouse: its subcommands, its versions, and list and use. */
#include "cmd/warehouse.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "format/manifest.h"
#include "objects/url.h"
#include "shard/outdir.h"
#include "ui/columns.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "warehouse/place.h"
#include "warehouse/tool.h"

lc_status
warehouse_open_to_look(const char *path, lc_verify_mode verify, lc_warehouse **out)
{
	lc_warehouse_options how;

	lc_warehouse_options_init(&how);
	how.verify = verify;
	how.sources = LC_SOURCES_IGNORE;
	how.ignore_thresholds = 1;
	return lc_warehouse_open(path, &how, out);
}

lc_status
warehouse_hint(const char *path, lc_status status)
{
	return status != LC_OK && store_is_directory(path)
	    ? lc__error(status, 0, "%s: is a store; name it file:%s", path, path)
	    : status;
}

lc_status
warehouse_look(const char *name, lc_verify_mode verify, struct warehouse_look *out)
{
	if (!lc__is_store_url(name))
		return warehouse_hint(name,
		    warehouse_open_to_look(name, verify, &out->warehouse));
	return_if_error(store_look(name, false, &out->store));
	out->warehouse = out->store.warehouse;
	return LC_OK;
}

void
warehouse_look_end(struct warehouse_look *look)
{
	if (look->store.source == NULL)
		lc_warehouse_close(look->warehouse);
	store_look_end(&look->store);
	look->warehouse = NULL;
}

/* ---- the versions of a warehouse --------------------------------------------------- */

/* Add the size of the file if the manifest lacks it. Reports; an exit status. */
static int
add_size(const struct lc_warehouse *w, const struct lc__manifest_shard *shard,
    uint64_t *bytes)
{
	struct stat st;
	char *path;
	int status = EXIT_DONE;

	if (shard->has_bytes) {
		*bytes += shard->bytes;
		return EXIT_DONE;
	}
	path = lc__path_join(lc__warehouse_dir(w), shard->relative_path);
	if (path == NULL)
		return report_no_memory();
	if (stat(path, &st) == 0) {
		*bytes += (uint64_t)st.st_size;
	} else if (errno == ENOENT) {
		status = report_error(EXIT_DATA, "%s: missing", path);
	} else {
		status = report_errno(path);
	}
	free(path);
	return status;
}

static int
take_facts(const struct lc_warehouse *w, struct version *v)
{
	const struct lc__manifest *manifest = lc__warehouse_manifest(w);
	int status = EXIT_DONE;

	v->finished = true;
	snprintf(v->key, sizeof(v->key), "%s", manifest->version);
	v->created_at_ms = manifest->created_at_ms;
	v->shards = manifest->n;
	for (size_t i = 0; i < manifest->n; i++) {
		v->samples += manifest->shards[i].samples;
		status = report_worse(status,
		    add_size(w, &manifest->shards[i], &v->bytes));
	}
	return status;
}

static int
read_version(const char *warehouse, struct version *v)
{
	char *dir = lc__path_join(warehouse, v->name);
	char *manifest = dir != NULL ? lc__path_join(dir, LC__MANIFEST_NAME) : NULL;
	lc_warehouse *w;
	int status = EXIT_DONE;

	/* If stat() fails, assume a version: reading it reports the reason. */
	if (manifest == NULL) {
		status = report_no_memory();
	} else if (access(manifest, F_OK) == -1 &&
	    (errno == ENOENT || errno == ENOTDIR)) {
		/* What a stopped removal has left. */
	} else if (lc__warehouse_read(dir, &w) == LC_OK) {
		status = take_facts(w, v);
		lc_warehouse_close(w);
	} else {
		v->damaged = true;
		status = report_worse(EXIT_DATA, report_status(lc_last_error()->status));
	}
	free(manifest);
	free(dir);
	return status;
}

/* The name that `current` has, "" if it has none; an exit status. */
static int
read_current(const char *warehouse, char *out, size_t room)
{
	char *link = lc__path_join(warehouse, LC__WAREHOUSE_CURRENT);
	const ssize_t n = link == NULL ? -1 : readlink(link, out, room - 1);
	int status = EXIT_DONE;

	/* Fail: without this name prune would remove the current version. */
	if (link == NULL)
		status = report_no_memory();
	else if (n == -1 && errno != ENOENT && errno != EINVAL && errno != ENOTDIR)
		status = report_errno(link);
	out[n > 0 ? n : 0] = '\0';
	free(link);
	return status;
}

static int
by_time(const void *a, const void *b)
{
	const struct version *x = a, *y = b;

	if (x->finished != y->finished)
		return x->finished ? -1 : 1;
	if (x->created_at_ms != y->created_at_ms)
		return x->created_at_ms < y->created_at_ms ? -1 : 1;
	return strcmp(x->name, y->name);
}

int
warehouse_refuse_url(const char *warehouse)
{
	return lc__is_store_url(warehouse)
	    ? report_usage("%s: this works on versions in a directory; use cachex gc for "
			   "the generations of a store",
		  warehouse)
	    : EXIT_DONE;
}

int
versions_read(const char *warehouse, struct versions *out)
{
	struct lc__dir_list list = { 0 };
	const lc_status listed = lc__version_list(warehouse, &list);
	char current[256];
	int status = EXIT_DONE;

	*out = (struct versions){ .all = NULL };
	if (listed != LC_OK)
		return report_status(listed);
	status = read_current(warehouse, current, sizeof(current));
	if (status == EXIT_DONE) {
		out->all = calloc(list.n + 1, sizeof(*out->all));
		if (out->all == NULL)
			status = report_no_memory();
	}
	if (out->all == NULL) {
		lc__dir_list_free(&list);
		return status;
	}
	for (; out->n < list.n; out->n++) {
		struct version *v = &out->all[out->n];

		/* The version now owns the name. */
		v->name = list.entries[out->n].name;
		list.entries[out->n].name = NULL;
		v->current = strcmp(v->name, current) == 0;
		status = report_worse(status, read_version(warehouse, v));
	}
	lc__dir_list_free(&list);
	qsort(out->all, out->n, sizeof(*out->all), by_time);
	return status;
}

void
versions_free(struct versions *versions)
{
	for (size_t i = 0; i < versions->n; i++)
		free(versions->all[i].name);
	free(versions->all);
}

/* "0123" of "v20261121-0123456789ab", or of the key. */
static bool
begins(const struct version *v, const char *text)
{
	const size_t n = strlen(text);
	const char *dash = strchr(v->name, '-');

	return n >= 4 && v->finished &&
	    (strncmp(v->key, text, n) == 0 ||
		(dash != NULL && strncmp(dash + 1, text, n) == 0));
}

/*
 * The version with this name, or the only finished one whose hash or key begins with it.
 * Reports and returns NULL if there is none.
 */
static const struct version *
versions_find(const struct versions *versions, const char *name)
{
	const struct version *found = NULL;

	for (size_t i = 0; i < versions->n; i++)
		if (strcmp(versions->all[i].name, name) == 0)
			return &versions->all[i];
	for (size_t i = 0; i < versions->n; i++) {
		if (!begins(&versions->all[i], name))
			continue;
		if (found != NULL) {
			report_error(EXIT_NO, "%s: several versions begin with this",
			    name);
			return NULL;
		}
		found = &versions->all[i];
	}
	if (found == NULL)
		report_error(EXIT_NO, "%s: no such version", name);
	return found;
}

/* ---- list -------------------------------------------------------------------------- */

static struct opt list_options[] = { STORE_OPTIONS, { .kind = OPT_END } };

static struct columns columns; /* large */

static void
list_json(const struct version *v)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "name", v->name);
	jw_flag(&json, "current", v->current);
	jw_flag(&json, "good", v->finished);
	if (v->finished) {
		jw_text(&json, "version", v->key);
		jw_count(&json, "samples", v->samples);
		jw_count(&json, "shards", v->shards);
		jw_count(&json, "bytes", v->bytes);
		jw_count(&json, "created_at_ms", v->created_at_ms);
	}
	jw_end_line(&json);
}

/* A row for a generation, as for a version. */
static lc_status
list_generation(void *ctx, const struct lc__generation *g, const struct lc__manifest *m,
    bool newest)
{
	char text[SIZE_TEXT], date[DATE_TEXT];
	struct version sum = { .created_at_ms = g->time_ms };
	struct json json = { stdout, false };

	(void)ctx;
	for (size_t i = 0; i < m->n_parts; i++) {
		sum.samples += m->parts[i].samples;
		sum.shards += m->parts[i].shards;
		sum.bytes += m->parts[i].bytes;
	}
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_count(&json, "generation", g->number);
		jw_flag(&json, "current", newest);
		jw_text(&json, "version", m->version);
		jw_count(&json, "samples", sum.samples);
		jw_count(&json, "shards", sum.shards);
		jw_count(&json, "bytes", sum.bytes);
		jw_count(&json, "created_at_ms", sum.created_at_ms);
		jw_end_line(&json);
		return LC_OK;
	}
	columns_text(&columns, newest ? "*" : " ");
	snprintf(text, sizeof(text), "generation %llu", (unsigned long long)g->number);
	columns_text(&columns, text);
	columns_text(&columns, count_human(sum.samples, "sample", text, sizeof(text)));
	columns_text(&columns, size_human((double)sum.bytes, text, sizeof(text)));
	columns_text(&columns, date_text(sum.created_at_ms, date));
	return LC_OK;
}

static int
list_store(const char *url)
{
	lc_status listed;

	columns_begin(&columns, "llrrl");
	listed = store_generations(url, list_generation, NULL);
	return report_worse(listed == LC_OK ? EXIT_DONE : report_argument(listed),
	    columns_end(&columns));
}

static int
run_warehouse_list(int argc, char **argv)
{
	struct versions versions;
	char text[SIZE_TEXT], date[DATE_TEXT];
	int status;

	(void)argc;
	if (lc__is_store_url(argv[0]))
		return list_store(argv[0]);
	status = versions_read(argv[0], &versions);
	columns_begin(&columns, "llrrl");
	for (size_t i = 0; i < versions.n; i++) {
		const struct version *v = &versions.all[i];

		if (settings.json) {
			list_json(v);
			continue;
		}
		columns_text(&columns, v->current ? "*" : " ");
		columns_text(&columns, v->name);
		columns_text(&columns,
		    v->damaged ? "damaged"
			: !v->finished
			? "no manifest"
			: count_human(v->samples, "sample", text, sizeof(text)));
		columns_text(&columns,
		    !v->finished ? "" : size_human((double)v->bytes, text, sizeof(text)));
		columns_text(&columns,
		    !v->finished ? "" : date_text(v->created_at_ms, date));
	}
	if (!settings.json)
		status = report_worse(status, columns_end(&columns));
	versions_free(&versions);
	return status;
}

const struct command warehouse_list = {
	.name = "warehouse list",
	.operands = "WAREHOUSE",
	.summary = "list the versions of a warehouse",
	.text = "Lists the versions, oldest first, with their samples, the size of their "
		"shards and their time of creation. A star marks the version that "
		"`current` points to. A version without a manifest is the rest of an "
		"interrupted prune. For the URL of a store it lists the generations; the "
		"star marks the newest.",
	.examples =
	    "cachex warehouse list warehouse\n"
	    "cachex warehouse list warehouse --json | jq -r 'select(.current).name'",
	.completes = "d",
	.least = 1,
	.most = 1,
	.options = list_options,
	.run = run_warehouse_list,
};

/* ---- use --------------------------------------------------------------------------- */

static int full;
static int force;

static struct opt use_options[] = {
	{ "", "full", OPT_FLAG, &full,
	    .help = "first compare the SHA-256 of every file" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "accept a version that exceeds its thresholds" },
	{ .kind = OPT_END },
};

static int
use_version(const char *warehouse, const struct version *version)
{
	char *dir = lc__path_join(warehouse, version->name);
	lc_warehouse_options how;
	lc_warehouse *w = NULL;
	lc_status status;

	if (dir == NULL)
		return report_no_memory();
	/* Would a reader open it? Changed sources do not matter: they often have changed
	 * since an older version. */
	lc_warehouse_options_init(&how);
	how.verify_files = full;
	how.sources = LC_SOURCES_IGNORE;
	how.ignore_thresholds = force;
	how.progress.step = progress_step;
	progress_begin("check");
	status = lc_warehouse_open(dir, &how, &w);
	progress_end();
	lc_warehouse_close(w);
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
run_warehouse_use(int argc, char **argv)
{
	struct versions versions;
	const struct version *version;
	int status = warehouse_refuse_url(argv[0]);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	status = versions_read(argv[0], &versions);
	/* Damage of another version does not matter. */
	if (status <= EXIT_DATA) {
		version = versions_find(&versions, argv[1]);
		status = version ? use_version(argv[0], version) : EXIT_NO;
	}
	versions_free(&versions);
	return status;
}

const struct command warehouse_use = {
	.name = "warehouse use",
	.operands = "WAREHOUSE VERSION",
	.summary = "point `current` to another version",
	.text = "Points `current` to VERSION, atomically, after checking that a reader "
		"would open it; its sources may have changed. VERSION is its name, or at "
		"least four digits of its hash or its version key. Readers that have "
		"another version open keep it.",
	.examples = "cachex warehouse use warehouse v20261101-0123456789ab\n"
		    "cachex warehouse use warehouse 0123 --full",
	.completes = "d",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = 2,
	.options = use_options,
	.run = run_warehouse_use,
};

/* ---- the command ------------------------------------------------------------------- */

static struct opt options[] = { { .kind = OPT_END } };

static const struct command *const subcommands[] = { &warehouse_inspect,
	&warehouse_verify, &warehouse_list, &warehouse_compare, &warehouse_use,
	&warehouse_prune, &warehouse_report, NULL };

const struct command cmd_warehouse = {
	.name = "warehouse",
	.operands = "WORD WAREHOUSE...",
	.summary = "inspect, verify and compare warehouses",
	.text =
	    "A warehouse holds versions of a labelled dataset as TWH1 shards; cachex "
	    "build builds them. WAREHOUSE is its directory, which means the version "
	    "that its `current` points to, or the directory of one version. It may also "
	    "be a directory that cachex export wrote and, for reading, the URL of a "
	    "store, for one of its generations.",
	.examples = "cachex warehouse inspect warehouse\n"
		    "cachex warehouse verify warehouse && echo good",
	.completes = "",
	.least = 1,
	.most = -1,
	.subcommands = subcommands,
	.options = options,
};
