/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a command line that says what to stream: sources, their order, output. */
#include "cmd/stream_sources.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "cmd/stores.h"
#include "cmd/warehouse.h"
#include "lmdbcache.h"
#include "objects/url.h"
#include "store/tool.h"
#include "ui/module.h"
#include "ui/opt.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

/* ---- the options of the order ------------------------------------------------------ */

/* Mixtures, and orders for idealised readers, have no epochs to count. */
static int
read_epochs(const struct stream_order *opts, uint64_t *out)
{
	const bool endless = opts->mix.count > 0 || opts->idealised > 0;

	if (opts->epochs == NULL) {
		*out = !endless;
		return EXIT_DONE;
	}
	*out = 0;
	if (strcmp(opts->epochs, "inf") == 0)
		return EXIT_DONE;
	if (!count_parse(opts->epochs, out) || *out == 0)
		return report_usage("--epochs: '%s' is neither a number from 1 nor inf",
		    opts->epochs);
	if (endless)
		return report_usage("--epochs: %s has no end; limit the number of "
				    "examples with --limit",
		    opts->mix.count > 0 ? "a mixture" : "an order of idealised readers");
	return EXIT_DONE;
}

int
stream_order_fill(const struct stream_order *opts, lc_stream_options *out)
{
	lc_stream_options_init(out);
	out->batch = opts->batch;
	out->window = opts->window;
	out->stride = opts->stride;
	out->drop_short = opts->drop_short;
	out->idealised = (uint32_t)opts->idealised;
	out->shuffle = (lc_shuffle)opts->shuffle;
	out->block = opts->block;
	out->spread = opts->spread;
	out->shares = (uint32_t)opts->shares;
	out->era_first = opts->era_first;
	out->era_max = opts->era_max;
	out->seed = opts->seed;
	out->limit = opts->limit;
	out->mixture_block = opts->mixture_block;
	return read_epochs(opts, &out->epochs);
}

/* ---- the options of reading and writing -------------------------------------------- */

int
read_options_form(const struct read_options *opts, enum read_form *out)
{
	const bool ids = opts->ids || opts->null;

	if (ids + opts->sum + opts->frames + (opts->npy != NULL) > 1)
		return report_usage("only one of --ids or --null, --sum, --frames and "
				    "--npy may be given");
	if (opts->bits && opts->npy == NULL)
		return report_usage("--bits needs --npy");
	if (opts->shared != OPT_UNSET && !opts->frames)
		return report_usage("--shared needs --frames");
	if (opts->restart && opts->token_file == NULL)
		return report_usage("--restart needs --token-file");
	if (opts->frames && !opts->force && isatty(STDOUT_FILENO))
		return report_usage("standard output is a terminal; --frames needs a "
				    "pipe, a file, or -f");
	*out = opts->npy != NULL    ? READ_NPY
	    : opts->frames          ? READ_FRAMES
	    : opts->sum             ? READ_SUM
	    : ids && !settings.json ? READ_IDS
				    : READ_LIST;
	return EXIT_DONE;
}

void
read_options_fill(const struct read_options *opts, enum read_form form,
    lc_reader_options *out)
{
	static const char *const none[] = { NULL };

	lc_reader_options_init(out);
	out->fields = opts->fields.items;
	out->n_fields = opts->fields.count;
	if (out->n_fields == 0 && (form == READ_LIST || form == READ_IDS))
		out->fields = none;
	out->documents = opts->documents;
	out->threads = (unsigned)opts->threads;
	out->ahead = (unsigned)opts->ahead;
	out->memory = opts->memory;
}

/* ---- one source ----------------------------------------------------------------- */

bool
stream_name_is_path(const char *name)
{
	return strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0;
}

/* Open what the name means: a module if it exists, else a path. Reports errors. */
static int
look_up(struct stream_source *s)
{
	int status;

	if (stream_name_is_path(s->name))
		return EXIT_DONE;
	if (lc__check_module_id(s->name) == LC_OK) {
		status = module_open_if_there(settings.root, s->name, false, &s->cache);
		if (status != EXIT_DONE || s->cache != NULL)
			return status;
	}
	if (access(s->name, F_OK) == 0)
		return EXIT_DONE;
	if (errno != ENOENT && errno != ENOTDIR)
		return report_errno(s->name);
	return report_error(EXIT_NO,
	    "no module %s in %s, and no file or directory of that name", s->name,
	    settings.root);
}

/* The warehouse was refused: tell the user how it can be read all the same. */
static int
open_shards(struct stream_source *s, const lc_source_options *how)
{
	const lc_error *error = lc_last_error();
	lc_status opened;

	progress_begin("sources");
	opened = lc_source_open_shards(s->name, how, &s->source);
	progress_end();
	if (opened == LC_OK)
		return EXIT_DONE;
	if (opened == LC_NOT_MODULE && store_is_directory(s->name))
		return report_error(EXIT_USAGE, "%s: is a store; name it file:%s",
		    s->name, s->name);
	if (opened == LC_STALE)
		(void)lc__error(opened, 0, "%s; --sources ignore reads it anyway",
		    strdupa(error->text));
	else if (opened == LC_FAILED)
		(void)lc__error(opened, 0, "%s; --ignore-thresholds reads it anyway",
		    strdupa(error->text));
	return report_status(opened);
}

/* ---- modules joined by cache_id ---------------------------------------------------- */

bool
stream_name_is_join(const char *name)
{
	return !lc__is_store_url(name) && !stream_name_is_path(name) &&
	    strchr(name, '+') != NULL && access(name, F_OK) != 0;
}

/* Open the modules of "a+b+c"; the first one is s->cache. */
static int
open_modules(struct stream_source *s, char *names, lc_join *modules, size_t n)
{
	char *rest = names;

	for (size_t i = 0; i < n; i++) {
		lc_cache **cache = i == 0 ? &s->cache : &s->partners[i - 1];
		int status;

		modules[i].name = strsep(&rest, "+");
		status = module_open(modules[i].name, cache);
		if (status != EXIT_DONE)
			return status;
		modules[i].cache = *cache;
		s->n_partners = i;
	}
	return EXIT_DONE;
}

/* Print once, before the first batch, how many records are left out. */
static int
tell_dropped(const struct stream_source *s, const lc_join *modules)
{
	lc_source_info info = { .struct_size = sizeof(info) };
	struct lc__buf text = { 0 };
	lc_status status = lc_source_info_get(s->source, &info);

	for (size_t i = 1; status == LC_OK && i <= s->n_partners; i++) {
		uint64_t missing = 0;

		status = lc_source_missing(s->source, i, &missing);
		if (status == LC_OK && missing > 0)
			lc__buf_printf(&text, "%s%llu missing in %s",
			    text.size > 0 ? ", " : "", (unsigned long long)missing,
			    modules[i].name);
	}
	if (status == LC_OK && info.dropped > 0)
		report_note("%s: %llu of %llu records are left out: %.*s", s->name,
		    (unsigned long long)info.dropped,
		    (unsigned long long)(info.dropped + info.records), (int)text.size,
		    text.size > 0 ? (const char *)text.data : "");
	lc__buf_free(&text);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

int
stream_source_open_join(struct stream_source *s, const lc_source_options *how,
    lc_missing missing)
{
	char *names = strdup(s->name);
	lc_join *modules;
	lc_status opened;
	size_t n = 1;
	int status;

	for (const char *at = s->name; *at != '\0'; at++)
		n += *at == '+';
	modules = calloc(n, sizeof(*modules));
	s->partners = calloc(n, sizeof(lc_cache *));
	if (names == NULL || modules == NULL || s->partners == NULL) {
		free(names);
		free(modules);
		return report_errno("memory");
	}
	status = open_modules(s, names, modules, n);
	if (status == EXIT_DONE) {
		opened = lc_source_open_join(modules, n, missing, how, &s->source);
		if (opened == LC_OK)
			status = tell_dropped(s, modules);
		else if (opened == LC_SCHEMA)
			status = report_error(EXIT_DATA,
			    "%s; use --missing drop to leave them out",
			    lc_last_error()->text);
		else
			status = report_argument(opened);
	}
	free(names);
	free(modules);
	return status;
}

/* ---- several sources as one -------------------------------------------------------- */

bool
stream_name_is_list(const char *name)
{
	return strchr(name, ',') != NULL && access(name, F_OK) != 0;
}

/* Make the source a list of sources with these names. */
static int
set_members(struct stream_source *s, char *const *names, size_t n)
{
	s->members = calloc(n, sizeof(*s->members));
	if (s->members == NULL)
		return report_errno("memory");
	for (; s->n_members < n; s->n_members++) {
		struct stream_source *member = &s->members[s->n_members];

		if (*names[s->n_members] == '\0')
			return report_usage("'%s': a source in the list has no name",
			    s->name);
		member->name = strdup(names[s->n_members]);
		if (member->name == NULL)
			return report_errno("memory");
	}
	return EXIT_DONE;
}

/* Split "a,b,c" into its names. */
static int
split_list(struct stream_source *s)
{
	char *copy = strdup(s->name), *rest = copy;
	size_t n = 1;
	char **names;
	int status;

	for (const char *at = s->name; *at != '\0'; at++)
		n += *at == ',';
	names = calloc(n, sizeof(char *));
	for (size_t i = 0; copy != NULL && names != NULL && i < n; i++)
		names[i] = strsep(&rest, ",");
	status = copy == NULL || names == NULL ? report_errno("memory")
					       : set_members(s, names, n);
	free(names);
	free(copy);
	return status;
}

/* ---- any source -------------------------------------------------------------------- */

static int
open_one(struct stream_source *s, const lc_source_options *how, lc_missing missing)
{
	lc_status opened;
	int status;

	if (lc__is_store_url(s->name))
		return store_source(s->name, how, &s->source);
	if (stream_name_is_join(s->name))
		return stream_source_open_join(s, how, missing);
	status = look_up(s);
	if (status != EXIT_DONE)
		return status;
	if (s->cache == NULL)
		return open_shards(s, how);
	opened = lc_source_open_module(s->cache, how, &s->source);
	return opened == LC_OK ? EXIT_DONE : report_argument(opened);
}

static int
open_list(struct stream_source *s, const lc_source_options *how, lc_missing missing)
{
	lc_source **handles = calloc(s->n_members, sizeof(lc_source *));
	int status = handles != NULL ? EXIT_DONE : report_errno("memory");
	lc_status opened;

	for (size_t i = 0; i < s->n_members && status == EXIT_DONE; i++) {
		status = open_one(&s->members[i], how, missing);
		handles[i] = s->members[i].source;
	}
	if (status == EXIT_DONE) {
		opened = lc_source_open_list(handles, s->n_members, &s->source);
		if (opened != LC_OK)
			status = report_argument(opened);
	}
	free(handles);
	return status;
}

static int
open_source(struct stream_source *s, const lc_source_options *how, lc_missing missing)
{
	int status = EXIT_DONE;

	if (s->members == NULL && stream_name_is_list(s->name))
		status = split_list(s);
	if (status != EXIT_DONE)
		return status;
	return s->members != NULL ? open_list(s, how, missing)
				  : open_one(s, how, missing);
}

/* ---- all of them ---------------------------------------------------------------- */

/* Take the weight off "faces=3": a number after the last "=". */
static int
read_mix(const char *text, struct stream_source *s, uint64_t *weight)
{
	const char *sign = strrchr(text, '=');

	*weight = 1;
	if (sign != NULL && !count_parse(sign + 1, weight))
		sign = NULL;
	if (*weight == 0 || sign == text || *text == '\0')
		return report_usage("--mix: '%s' is not SOURCE[=WEIGHT], a "
				    "with a weight of 1 or more",
		    text);
	s->name = sign != NULL ? strndup(text, (size_t)(sign - text)) : strdup(text);
	return s->name != NULL ? EXIT_DONE : report_errno(text);
}

/* Open the source that the operands name: one, or a list of several with the name that
 * --mix would use for it. */
static int
read_operands(struct stream_source *s, char *const *names, size_t n)
{
	struct lc__buf text = { 0 };

	for (size_t i = 0; i < n; i++)
		lc__buf_printf(&text, "%s%s", i > 0 ? "," : "", names[i]);
	lc__buf_append(&text, "", 1);
	if (text.failed) {
		lc__buf_free(&text);
		return report_errno("memory");
	}
	s->name = (char *)text.data;
	return n > 1 ? set_members(s, names, n) : EXIT_DONE;
}

static int
read_names(struct stream_sources *out, char *const *names, size_t n,
    const struct stream_order *opts)
{
	int status;

	out->n = opts->mix.count + 1;
	out->all = calloc(out->n, sizeof(*out->all));
	out->weights = calloc(out->n, sizeof(*out->weights));
	if (out->all == NULL || out->weights == NULL)
		return report_errno("memory");
	out->weights[0] = opts->weight;
	status = read_operands(&out->all[0], names, n);
	for (size_t i = 1; i < out->n && status == EXIT_DONE; i++)
		status = read_mix(opts->mix.items[i - 1], &out->all[i], &out->weights[i]);
	return status;
}

int
stream_sources_open(struct stream_sources *out, char *const *names, size_t n,
    const struct stream_order *opts, lc_verify_mode verify)
{
	lc_source_options how;
	int status;

	memset(out, 0, sizeof(*out));
	lc_source_options_init(&how);
	how.verify = verify;
	how.length_field = opts->length;
	how.sources = (lc_warehouse_sources)opts->sources;
	how.dataset = opts->dataset;
	how.ignore_thresholds = opts->ignore_thresholds;
	how.open_shards = (uint32_t)opts->open_shards;
	how.progress.step = progress_step;
	how.part = opts->part;
	how.split = opts->split;
	how.split_by_run = opts->split_by;
	how.split_seed = opts->split_seed;
	if (opts->split != NULL && opts->part == NULL)
		return report_usage("--split needs --part, the part to read; --share "
				    "is for how readers divide a batch");
	status = read_names(out, names, n, opts);
	for (size_t i = 0; i < out->n && status == EXIT_DONE; i++)
		status = open_source(&out->all[i], &how, (lc_missing)opts->missing);
	if (status != EXIT_DONE)
		return stream_sources_close(out, status);
	return EXIT_DONE;
}

lc_status
stream_sources_start(const struct stream_sources *sources, lc_stream_options *how,
    lc_stream **out)
{
	lc_source **handles = calloc(sources->n, sizeof(lc_source *));
	lc_status status;

	if (handles == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < sources->n; i++)
		handles[i] = sources->all[i].source;
	how->weights = sources->n > 1 ? sources->weights : NULL;
	status = lc_stream_open(handles, sources->n, how, out);
	free(handles);
	return status;
}

int
stream_source_close(struct stream_source *s, int status)
{
	lc_source_close(s->source);
	if (s->cache != NULL)
		status = module_close(s->cache, status);
	for (size_t k = 0; k < s->n_partners; k++)
		status = module_close(s->partners[k], status);
	for (size_t k = 0; k < s->n_members; k++)
		status = stream_source_close(&s->members[k], status);
	free(s->members);
	free(s->partners);
	free(s->name);
	return status;
}

int
stream_sources_close(struct stream_sources *sources, int status)
{
	for (size_t i = 0; sources->all != NULL && i < sources->n; i++)
		status = stream_source_close(&sources->all[i], status);
	free(sources->all);
	free(sources->weights);
	memset(sources, 0, sizeof(*sources));
	return status;
}
