/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/admission.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/sha256.h"
#include "format/summary.h"
#include "warehouse/digests.h"
#include "warehouse/place.h"
#include "warehouse/sources.h"

#define FEWEST_DIGITS 8 /* of a version's beginning */
#define DIGITS 64

/* The last error under another status, with the directory before it. */
static lc_status
turn_into(lc_status status, const struct lc_warehouse *w)
{
	(void)lc__error_as(status);
	return lc__error_prefix("%s", w->dir);
}

lc_status
lc__admit_version(const struct lc_warehouse *w, const char *version)
{
	const size_t n = strlen(version);

	if (n < FEWEST_DIGITS || n > DIGITS ||
	    strspn(version, "0123456789abcdefABCDEF") != n)
		return lc__error(LC_INVALID, 0,
		    "%s: not a version key of 8 to 64 hex digits",
		    lc__quote_id(version, n));
	if (strncasecmp(version, w->manifest.version, n) != 0)
		return lc__error(LC_VERSION, 0, "%s: is version %s, not %s", w->dir,
		    w->manifest.version, version);
	return LC_OK;
}

lc_status
lc__admit_recipe(const struct lc_warehouse *w)
{
	const char *recipe = w->manifest.version_recipe;
	char key[65];

	if (w->manifest.manifest_version == 0)
		return LC_OK;
	return_if_error(lc__sha256_of(recipe, strlen(recipe), key));
	if (strcmp(key, w->manifest.version) != 0)
		return lc__error(LC_CORRUPT, 0,
		    "%s: version is not the SHA-256 of version_recipe", w->manifest_path);
	return LC_OK;
}

lc_status
lc__admit_thresholds(const struct lc_warehouse *w)
{
	struct lc__thresholds limits;
	struct lc__summary summary;
	lc_status status;

	status = lc__thresholds_parse(w->manifest.thresholds, "thresholds", &limits);
	if (status == LC_OK && !limits.warn)
		status = lc__summary_parse(w->manifest.summary, "summary", &summary);
	if (status != LC_OK)
		return lc__error_prefix("%s", w->manifest_path);
	if (limits.warn)
		return LC_OK;
	status = lc__thresholds_check(&limits, &summary.totals);
	lc__summary_free(&summary);
	return status == LC_INVALID ? turn_into(LC_FAILED, w) : status;
}

/* A file beside the manifest, with its SHA-256. */
static lc_status
read_text(const struct lc_warehouse *w, const char *name, const char *sha256,
    struct lc__buf *out)
{
	char *path = lc__path_join(w->dir, name);
	lc_status status;

	if (path == NULL)
		return lc__no_memory(w->dir);
	status = lc__digest_text(path, sha256, out);
	free(path);
	return status;
}

static lc_status
read_sources(const struct lc_warehouse *w, struct lc__sources *out)
{
	struct lc__buf text = { 0 };

	return_if_error(read_text(w, LC__SOURCES_NAME, w->about.sources_sha256, &text));
	return lc__sources_parse(&text, LC__SOURCES_NAME, out);
}

static lc_status
compare(struct lc_warehouse *w, const struct lc__sources *sources,
    const lc_warehouse_options *options)
{
	const bool content = options->sources == LC_SOURCES_CONTENT;
	const char *root = options->dataset != NULL ? options->dataset
						    : w->about.sources_root;
	const lc_status status = lc__sources_compare(sources, root,
	    content ? LC__LOOK_CONTENT : LC__LOOK_STAT, &options->progress);

	w->info.sources_seen = status == LC_OK;
	if (status == LC_INVALID)
		return turn_into(LC_STALE, w);
	return status == LC_NO_FILE && !content ? LC_OK : status;
}

lc_status
lc__admit_sources(struct lc_warehouse *w, const lc_warehouse_options *options)
{
	struct lc__sources sources = { 0 };
	lc_status status;

	if (options->sources == LC_SOURCES_IGNORE)
		return LC_OK;
	if (!w->has_about && options->sources == LC_SOURCES_CONTENT)
		return lc__error(LC_NOT_FOUND, 0, "%s: has no list of its sources",
		    w->dir);
	if (!w->has_about)
		return LC_OK;
	status = read_sources(w, &sources);
	if (status == LC_OK)
		status = compare(w, &sources, options);
	lc__sources_free(&sources);
	return status;
}

lc_status
lc__admit_texts(const struct lc_warehouse *w, const lc_warehouse_options *options)
{
	if (!w->has_about)
		return LC_OK;
	if (options->sources == LC_SOURCES_IGNORE)
		return_if_error(
		    read_text(w, LC__SOURCES_NAME, w->about.sources_sha256, NULL));
	return read_text(w, LC__WAREHOUSE_REJECTED, w->about.rejected_sha256, NULL);
}
