/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading; setdir_write.c writes. */
#include "cmd/setdir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
#include "ui/entries.h"
#include "format/npy.h"
#include "formats/parts.h"
#include "formats/value_json.h"
#include "value/tensor.h"

#define INDEX "value.json"
#define LIMIT ((uint64_t)64 << 30) /* bytes of a file: nothing larger is a record */

bool
setdir_is(const char *path)
{
	const size_t size = strlen(path);
	struct stat st;

	return (size > 0 && path[size - 1] == '/') ||
	    (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* A directory that is being read. */
struct setdir {
	const char *path;
	struct dirent **entries; /* in byte order */
	size_t count;
	bool *used;              /* of each entry: it belongs to the value */
};

static lc_status
read_entry(const struct setdir *set, const char *name, struct lc__buf *out)
{
	char *path = lc__path_join(set->path, name);
	lc_status status;

	if (path == NULL)
		return lc__no_memory(NULL);
	status = lc__read_regular(path, LIMIT, out);
	free(path);
	return status;
}

static lc_status
load_npy(const struct setdir *set, const char *name, int raw_dtype,
    struct lc__loaded *loaded, lc_tensor *out)
{
	struct lc__buf file = { 0 };
	lc_status status = read_entry(set, name, &file);

	if (status != LC_OK) {
		lc__buf_free(&file);
		return status;
	}
	status = lc__loaded_npy(loaded, &file, raw_dtype, out);
	return status == LC_OK ? LC_OK : lc__error_prefix("%s/%s", set->path, name);
}

static int
compare_entry(const void *name, const void *entry)
{
	return strcmp(name, (*(struct dirent *const *)entry)->d_name);
}

/* Place of an entry by its name, which so cannot lead out of the directory. */
static bool
find_entry(const struct setdir *set, const char *name, size_t *out)
{
	struct dirent **found = NULL;

	if (set->count > 0)
		found = bsearch(name, set->entries, set->count,
		    sizeof(*set->entries), compare_entry);
	if (found != NULL)
		*out = (size_t)(found - set->entries);
	return found != NULL;
}

/* The file that value.json names for a tensor. */
static lc_status
open_file(void *ctx, const char *file, lc_tensor *tensor,
    struct lc__loaded *loaded)
{
	struct setdir *set = ctx;
	char is[LC__TENSOR_TEXT], says[LC__TENSOR_TEXT];
	lc_tensor found;
	size_t at;

	if (!find_entry(set, file, &at))
		return lc__error(LC_INVALID, 0, "there is no file '%.80s' beside it",
		    file);
	set->used[at] = true;
	return_if_error(load_npy(set, file, (int)tensor->dtype, loaded, &found));
	if (!lc__tensor_same_type(&found, tensor))
		return lc__error(LC_INVALID, 0, "%s is %s, not %s", file,
		    lc__tensor_describe(&found, is, sizeof(is)),
		    lc__tensor_describe(tensor, says, sizeof(says)));
	tensor->data = found.data;
	return LC_OK;
}

static lc_status
read_index(struct setdir *set, struct lc__loaded *out)
{
	struct lc__buf text = { 0 };
	lc_status status = read_entry(set, INDEX, &text);

	if (status == LC_OK) {
		status = lc__value_json_read(text.data, text.size, open_file, set,
		    out);
		if (status != LC_OK)
			lc__error_prefix("%s/%s", set->path, INDEX);
	}
	lc__buf_free(&text);
	for (size_t i = 0; i < set->count && status == LC_OK; i++)
		if (!set->used[i])
			return lc__error(LC_INVALID, 0, "%s/%s: %s does not name it",
			    set->path, set->entries[i]->d_name, INDEX);
	return status;
}

/* One file as the part that its name says. */
static lc_status
read_part(const struct setdir *set, const char *name, int raw_dtype,
    struct lc__parts *parts, struct lc__loaded *out)
{
	const size_t size = strlen(name);
	lc_tensor tensor;
	lc_status status;
	char *path;

	if (size <= 4 || strcmp(name + size - 4, ".npy") != 0)
		return lc__error(LC_INVALID, 0, "%s/%s: neither a .npy file nor %s",
		    set->path, name, INDEX);
	return_if_error(load_npy(set, name, raw_dtype, out, &tensor));
	path = strndup(name, size - 4);
	if (path == NULL)
		return lc__no_memory(NULL);
	status = lc__parts_add(parts, path, lc_value_tensor(&tensor));
	free(path);
	return status == LC_OK ? LC_OK : lc__error_prefix("%s/%s", set->path, name);
}

static lc_status
read_parts(const struct setdir *set, int raw_dtype, struct lc__loaded *out)
{
	struct lc__parts parts = { 0 };
	lc_status status = LC_OK;

	if (set->count == 0)
		return lc__error(LC_INVALID, 0, "%s: an empty directory", set->path);
	for (size_t i = 0; i < set->count && status == LC_OK; i++)
		status = read_part(set, set->entries[i]->d_name, raw_dtype, &parts,
		    out);
	if (status == LC_OK)
		status = lc__parts_build(&parts, &out->value);
	lc__parts_free(&parts);
	return status;
}

lc_status
setdir_read(const char *dir, int raw_dtype, struct lc__loaded *out)
{
	struct setdir set = { .path = dir };
	const int n = entries_read(dir, &set.entries);
	size_t at;
	lc_status status;

	if (n < 0)
		return lc__error_sys(errno, "%s", dir);
	set.count = (size_t)n;
	set.used = calloc(set.count + 1, sizeof(*set.used));
	if (set.used == NULL) {
		status = lc__no_memory(NULL);
	} else if (find_entry(&set, INDEX, &at)) {
		set.used[at] = true;
		status = read_index(&set, out);
	} else {
		status = read_parts(&set, raw_dtype, out);
	}
	for (size_t i = 0; i < set.count; i++)
		free(set.entries[i]);
	free(set.entries);
	free(set.used);
	return status;
}
