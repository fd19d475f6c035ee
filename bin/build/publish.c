/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "build/disk.h"
#include "shard/outdir.h"

#define HIDDEN ".building-"
#define TEMPORARY ".tmp." /* the suffix of lc__write_file_atomic() */
#define MANIFEST_LIMIT ((uint64_t)1 << 30)
#define HASH_DIGITS 12

/* ---- existing versions ----------------------------------------------------------- */

static lc_status
parse(struct lc__built_version *built)
{
	char *path = lc__path_join(built->dir, LC__MANIFEST_NAME);
	struct lc__buf text = { 0 };
	lc_status status;

	if (path == NULL)
		return lc__no_memory("build");
	status = lc__read_regular(path, MANIFEST_LIMIT, &text);
	if (status == LC_OK)
		status = lc__manifest_parse(text.data, text.size, path, &built->manifest);
	if (status == LC_OK)
		status = lc__warehouse_about_parse(built->manifest.warehouse, path,
		    &built->about);
	lc__buf_free(&text);
	free(path);
	return status;
}

/* A list of the version, if it is the one in the manifest. */
static bool
read_list(const struct lc__built_version *built, const char *name, const char *sha256,
    struct lc__buf *out)
{
	char *path = lc__path_join(built->dir, name);
	char got[65];
	const bool same = path != NULL &&
	    lc__read_regular(path, UINT64_MAX, out) == LC_OK &&
	    lc__sha256_of(out->data, out->size, got) == LC_OK && strcmp(got, sha256) == 0;

	free(path);
	return same;
}

static bool
has_lists(const struct lc__built_version *built, const struct lc__edition *edition)
{
	struct lc__buf text = { 0 };
	struct lc__sources sources = { 0 };
	bool same = read_list(built, LC__WAREHOUSE_REJECTED, edition->rejected_sha256,
	    &text);

	lc__buf_free(&text);
	same = same &&
	    read_list(built, LC__SOURCES_NAME, built->about.sources_sha256, &text) &&
	    lc__sources_parse(&text, LC__SOURCES_NAME, &sources) == LC_OK &&
	    lc__sources_equal(&sources, edition->sources);
	lc__buf_free(&text);
	lc__sources_free(&sources);
	return same;
}

/* Compared as text: equal summaries have equal texts. */
static bool
has_summary(const struct lc__built_version *built, const struct lc__edition *edition)
{
	struct lc__summary summary = { .n_runs = 0 };
	struct lc__buf there = { 0 }, now = { 0 };
	const bool same = lc__summary_parse(built->manifest.summary, LC__MANIFEST_NAME,
			      &summary) == LC_OK &&
	    lc__summary_format(&summary, &there) == LC_OK &&
	    lc__summary_format(edition->summary, &now) == LC_OK &&
	    there.size == now.size && memcmp(there.data, now.data, now.size) == 0;

	lc__summary_free(&summary);
	lc__buf_free(&there);
	lc__buf_free(&now);
	return same;
}

static bool
is_edition(const struct lc__built_version *built, const struct lc__edition *edition)
{
	const struct lc__manifest *m = &built->manifest;
	bool there = strcmp(m->version, edition->version) == 0 &&
	    strcmp(built->about.fingerprint, edition->fingerprint) == 0 &&
	    strcmp(built->about.rejected_sha256, edition->rejected_sha256) == 0;

	for (size_t i = 0; there && i < m->n; i++) {
		char *path = lc__path_join(built->dir, m->shards[i].relative_path);
		struct stat st;

		there = path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		    (!m->shards[i].has_bytes ||
			(uint64_t)st.st_size == m->shards[i].bytes);
		free(path);
	}
	return there && has_summary(built, edition) && has_lists(built, edition);
}

/* The version in a directory, if it is this edition and all its files exist with the
 * right sizes; else LC_NOT_FOUND. Its lists must equal the present ones, apart from
 * times: the fingerprint does not show that, since names in directories are not part of
 * it. */
static lc_status
read_built(const char *dir, const struct lc__edition *edition,
    struct lc__built_version *out)
{
	struct lc__built_version built = { .dir = strdup(dir) };
	const lc_status status = built.dir != NULL ? parse(&built)
						   : lc__no_memory("build");

	if (status == LC_OK && is_edition(&built, edition)) {
		*out = built;
		return LC_OK;
	}
	lc__built_version_free(&built);
	return status == LC_NO_MEMORY
	    ? status
	    : lc__error(LC_NOT_FOUND, 0, "%s: another version, or none", dir);
}

lc_status
lc__built_version_current(const char *warehouse, struct lc__built_version *out)
{
	struct lc__built_version built = { .dir = NULL };
	lc_status status = lc__version_find(warehouse, &built.dir);

	if (status == LC_OK)
		status = parse(&built);
	if (status == LC_OK)
		*out = built;
	else
		lc__built_version_free(&built);
	return status == LC_OK || status == LC_NO_MEMORY ? status : LC_NOT_FOUND;
}

uint64_t
lc__built_version_bytes(const struct lc__built_version *built)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < built->manifest.n; i++)
		bytes += built->manifest.shards[i].bytes;
	return bytes;
}

void
lc__built_version_free(struct lc__built_version *built)
{
	free(built->dir);
	lc__manifest_free(&built->manifest);
	lc__warehouse_about_free(&built->about);
	*built = (struct lc__built_version){ .dir = NULL };
}

/* The digits at the end of a name: they identify the edition, not the date. */
static const char *
digits(const char *name)
{
	const size_t n = strlen(name);

	return n > HASH_DIGITS ? name + n - HASH_DIGITS : name;
}

static lc_status
find_named(const char *warehouse, const struct lc__edition *edition,
    struct lc__built_version *out)
{
	struct lc__dir_list list = { 0 };
	lc_status status, found = LC_NOT_FOUND;

	status = lc__version_list(warehouse, &list);
	if (status != LC_OK)
		return status == LC_NO_FILE ? LC_NOT_FOUND : status;
	for (size_t i = 0; i < list.n; i++) {
		const char *name = list.entries[i].name;
		char *dir = NULL;
		if (found == LC_NOT_FOUND &&
		    strcmp(digits(name), digits(edition->name)) == 0) {
			dir = lc__path_join(warehouse, name);
			found = dir != NULL ? read_built(dir, edition, out)
					    : lc__no_memory("build");
		}
		free(dir);
	}
	lc__dir_list_free(&list);
	return found;
}

lc_status
lc__built_version_find(const char *warehouse, const struct lc__edition *edition,
    struct lc__built_version *out, bool *is_current)
{
	char *dir = NULL;
	lc_status status = lc__version_find(warehouse, &dir);

	if (status == LC_OK && strcmp(digits(dir), digits(edition->name)) != 0)
		status = LC_NOT_FOUND;
	if (status == LC_OK)
		status = read_built(dir, edition, out);
	free(dir);
	*is_current = status == LC_OK;
	if (status == LC_OK || status == LC_NO_MEMORY)
		return status;
	status = find_named(warehouse, edition, out);
	if (status != LC_NOT_FOUND)
		return status;
	dir = lc__publish_place(warehouse, edition);
	status = dir != NULL ? read_built(dir, edition, out) : lc__no_memory("build");
	free(dir);
	return status;
}

/* ---- a new version --------------------------------------------------------------- */

static void
hidden_name(const struct lc__edition *edition, char out[sizeof(HIDDEN) + HASH_DIGITS])
{
	snprintf(out, sizeof(HIDDEN) + HASH_DIGITS, HIDDEN "%.*s", HASH_DIGITS,
	    digits(edition->name));
}

char *
lc__publish_place(const char *warehouse, const struct lc__edition *edition)
{
	char name[sizeof(HIDDEN) + HASH_DIGITS];

	hidden_name(edition, name);
	return lc__path_join(warehouse, name);
}

lc_status
lc__publish_clean(const char *warehouse, const struct lc__edition *edition)
{
	char keep[sizeof(HIDDEN) + HASH_DIGITS] = "";
	const struct dirent *entry;
	struct lc__dir dir;
	lc_status status;

	return_if_error(lc__dir_open(warehouse, &dir));
	if (edition != NULL)
		hidden_name(edition, keep);
	while ((status = lc__dir_next(&dir, &entry)) == LC_OK && entry != NULL)
		if (strncmp(entry->d_name, HIDDEN, strlen(HIDDEN)) == 0 &&
		    strcmp(entry->d_name, keep) != 0) {
			status = lc__tree_remove(dir.fd, entry->d_name, warehouse);
			if (status != LC_OK)
				break;
		}
	lc__dir_close(&dir);
	return status;
}

lc_status
lc__publish_tidy(const char *place)
{
	static const char *const names[] = { LC__MANIFEST_NAME, LC__SOURCES_NAME,
		LC__WAREHOUSE_REJECTED };
	const struct dirent *entry;
	struct lc__dir dir;
	lc_status status;

	return_if_error(lc__dir_open(place, &dir));
	while ((status = lc__dir_next(&dir, &entry)) == LC_OK && entry != NULL) {
		/* manifest.json.tmp.a1B2c3; the state of an export that has a
		 * manifest. */
		bool leftover = strcmp(entry->d_name, LC__STATE_NAME) == 0;

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			const size_t n = strlen(names[i]);

			leftover |= strncmp(entry->d_name, names[i], n) == 0 &&
			    strncmp(entry->d_name + n, TEMPORARY, strlen(TEMPORARY)) == 0;
		}
		if (leftover && unlinkat(dir.fd, entry->d_name, 0) == -1) {
			status = lc__error_sys(errno, "%s/%s: remove", place,
			    entry->d_name);
			break;
		}
	}
	lc__dir_close(&dir);
	return status;
}

/* Replace one directory by another where the file system cannot exchange them: for a
 * moment there is none. The old one is put back if the new one cannot be renamed. */
static lc_status
exchange_by_steps(const char *place, const char *final, const char *aside)
{
	lc_status status;

	if (rename(final, aside) == -1)
		return lc__error_sys(errno, "%s: rename", final);
	if (rename(place, final) == -1) {
		status = lc__error_sys(errno, "%s: rename", final);
		(void)rename(aside, final);
		return status;
	}
	if (rename(aside, place) == -1)
		return lc__error_sys(errno, "%s: rename", place);
	return LC_OK;
}

lc_status
lc__publish(const char *warehouse, const char *place, const struct lc__edition *edition)
{
	char *final = lc__path_join(warehouse, edition->name), *aside = NULL;
	bool old = false;
	lc_status status;

	if (final == NULL || asprintf(&aside, "%s.old", place) < 0) {
		free(final);
		return lc__no_memory("build");
	}
	status = lc__publish_tidy(place);
	if (status == LC_OK && rename(place, final) == -1) {
		old = errno == ENOTEMPTY || errno == EEXIST;
		if (!old)
			status = lc__error_sys(errno, "%s: rename", final);
		else if (renameat2(AT_FDCWD, place, AT_FDCWD, final, RENAME_EXCHANGE) ==
		    -1)
			status = errno == EINVAL || errno == ENOSYS
			    ? exchange_by_steps(place, final, aside)
			    : lc__error_sys(errno, "%s: exchange", final);
	}
	free(final);
	free(aside);
	return_if_error(status);
	return_if_error(lc__sync_dir(warehouse));
	if (old)
		return_if_error(lc__tree_remove(AT_FDCWD, place, ""));
	return lc__version_switch(warehouse, edition->name);
}
