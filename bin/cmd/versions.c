/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/versions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "ui/report.h"
#include "shard/outdir.h"
#include "warehouse/place.h"
#include "warehouse/warehouse.h"

/* Add the file's size where the manifest does not say it. Reports; an exit status. */
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
	path = lc__path_join(w->dir, shard->relative_path);
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
	int status = EXIT_DONE;

	v->finished = true;
	snprintf(v->key, sizeof(v->key), "%s", w->manifest.version);
	v->created_at_ms = w->manifest.created_at_ms;
	v->shards = w->manifest.n;
	for (size_t i = 0; i < w->manifest.n; i++) {
		v->samples += w->manifest.shards[i].samples;
		status = report_worse(status, add_size(w, &w->manifest.shards[i],
		    &v->bytes));
	}
	return status;
}

static bool
has_manifest(const char *dir)
{
	char *path = lc__path_join(dir, LC__MANIFEST_NAME);
	/* What the system refuses to tell may be one: reading it says why. */
	const bool has = path == NULL || access(path, F_OK) == 0 ||
	    (errno != ENOENT && errno != ENOTDIR);

	free(path);
	return has;
}

static int
read_version(const char *warehouse, struct version *v)
{
	char *dir = lc__path_join(warehouse, v->name);
	lc_warehouse *w;
	int status = EXIT_DONE;

	if (dir == NULL)
		return report_no_memory();
	if (!has_manifest(dir)) {
		free(dir);
		return EXIT_DONE;
	}
	if (lc__warehouse_read(dir, &w) == LC_OK) {
		status = take_facts(w, v);
		lc_warehouse_close(w);
	} else {
		v->damaged = true;
		status = report_worse(EXIT_DATA, report_status(
		    lc_last_error()->status));
	}
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

	/* Without it prune would take the current version for an old one. */
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
versions_read(const char *warehouse, struct versions *out)
{
	char current[256], **names = NULL;
	const lc_status listed = lc__version_list(warehouse, &names, &out->n);
	int status = EXIT_DONE;

	out->all = NULL;
	if (listed != LC_OK) {
		out->n = 0;
		return report_status(listed);
	}
	status = read_current(warehouse, current, sizeof(current));
	if (status != EXIT_DONE) {
		lc__version_list_free(names, out->n);
		out->n = 0;
		return status;
	}
	out->all = calloc(out->n ? out->n : 1, sizeof(*out->all));
	if (out->all == NULL) {
		lc__version_list_free(names, out->n);
		out->n = 0;
		return report_no_memory();
	}
	for (size_t i = 0; i < out->n; i++) {
		out->all[i].name = names[i];
		out->all[i].current = strcmp(names[i], current) == 0;
		status = report_worse(status, read_version(warehouse,
		    &out->all[i]));
	}
	free(names);
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

	return n >= 4 && v->finished && (strncmp(v->key, text, n) == 0 ||
	    (dash != NULL && strncmp(dash + 1, text, n) == 0));
}

const struct version *
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
			report_error(EXIT_NO, "%s: is the beginning of several versions", name);
			return NULL;
		}
		found = &versions->all[i];
	}
	if (found == NULL)
		report_error(EXIT_NO, "%s: no such version", name);
	return found;
}
