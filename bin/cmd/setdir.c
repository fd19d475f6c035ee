/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/setdir.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "base/newfile.h"
#include "format/npy.h"
#include "formats/loaded.h"
#include "formats/value_json.h"
#include "lmdbcache.h"
#include "ui/interrupt.h"
#include "ui/report.h"
#include "value/tensor.h"

/* ---- reading ----------------------------------------------------------------------- */

#define INDEX "value.json"
#define MAX_FILE ((uint64_t)64 << 30) /* a larger file is not a record */

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
	struct lc__dir_list list;
	size_t count;
	bool *used; /* for each entry: it belongs to the value */
};

static lc_status
read_entry(const struct setdir *set, const char *name, struct lc__buf *out)
{
	char *path = lc__path_join(set->path, name);
	lc_status status;

	if (path == NULL)
		return lc__no_memory(NULL);
	status = lc__read_regular(path, MAX_FILE, out);
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

/* Find an entry by its name. As names are only compared, none can lead out of the
 * directory. */
static bool
find_entry(const struct setdir *set, const char *name, size_t *out)
{
	const struct lc__dir_entry *found = lc__dir_list_find(&set->list, name);

	if (found != NULL)
		*out = (size_t)(found - set->list.entries);
	return found != NULL;
}

/* The file that value.json names for a tensor. */
static lc_status
open_file(void *ctx, const char *file, lc_tensor *tensor, struct lc__loaded *loaded)
{
	struct setdir *set = ctx;
	char is[LC__TENSOR_TEXT], says[LC__TENSOR_TEXT];
	lc_tensor found;
	size_t at;

	if (!find_entry(set, file, &at))
		return lc__error(LC_INVALID, 0, "no file '%.80s' in its directory", file);
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
		status = lc__value_json_read(text.data, text.size, open_file, set, out);
		if (status != LC_OK)
			lc__error_prefix("%s/%s", set->path, INDEX);
	}
	lc__buf_free(&text);
	for (size_t i = 0; i < set->list.n && status == LC_OK; i++)
		if (!set->used[i])
			return lc__error(LC_INVALID, 0, "%s/%s: %s does not list it",
			    set->path, set->list.entries[i].name, INDEX);
	return status;
}

/* Read a file as the part that its name says. */
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

	if (set->list.n == 0)
		return lc__error(LC_INVALID, 0, "%s: an empty directory", set->path);
	for (size_t i = 0; i < set->list.n && status == LC_OK; i++)
		status = read_part(set, set->list.entries[i].name, raw_dtype, &parts,
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
	lc_status status = lc__listdir(dir, false, &set.list);
	size_t at;

	if (status == LC_OK) {
		set.used = calloc(set.list.n + 1, sizeof(*set.used));
		status = set.used != NULL ? LC_OK : lc__no_memory(NULL);
	}
	if (status != LC_OK) {
		lc__dir_list_free(&set.list);
		return status;
	}
	if (find_entry(&set, INDEX, &at)) {
		set.used[at] = true;
		status = read_index(&set, out);
	} else {
		status = read_parts(&set, raw_dtype, out);
	}
	lc__dir_list_free(&set.list);
	free(set.used);
	return status;
}

/* ---- writing ----------------------------------------------------------------------- */

#define LONGEST 240 /* most bytes of a file name, with ".npy" */

/* A directory that is being written under a temporary name. */
struct writing {
	const char *dir; /* path with the temporary name */
	size_t files;    /* number of tensors written */
};

/*
 * Write a path as a file name. Characters with a meaning there become %XX, and so do
 * dots that do not separate steps. If that is too long, the name is one that no path
 * gives.
 */
static void
name_file(const char *path, size_t number, struct lc__buf *name)
{
	if (*path == '\0')
		lc__buf_printf(name, "value");
	for (const char *p = path; *p != '\0'; p++) {
		const bool escaped = *p == '\\';
		if (escaped)
			p++;
		if (!escaped && (isalnum((unsigned char)*p) || strchr("-_.", *p)))
			lc__buf_append(name, p, 1);
		else
			lc__buf_printf(name, "%%%02X", (unsigned char)*p);
	}
	if (name->size + 4 > LONGEST) {
		name->size = 0;
		lc__buf_printf(name, "%%t%zu", number);
	}
	lc__buf_printf(name, ".npy");
}

static lc_status
close_synced(FILE *out, const char *path)
{
	const bool bad = ferror(out) || fflush(out) != 0 || fsync(fileno(out)) != 0;
	const int sys = errno;

	if (fclose(out) != 0 && !bad)
		return lc__error_sys(errno, "%s", path);
	return bad ? lc__error_sys(sys ? sys : EIO, "%s", path) : LC_OK;
}

/* Write a tensor to a file of its own. value.json tells the dtype of raw bits. */
static lc_status
write_tensor(void *ctx, const char *path, const lc_tensor *tensor, struct lc__buf *name)
{
	struct writing *writing = ctx;
	struct lc__buf header = { 0 };
	lc_status status;
	char *file;
	FILE *out;

	if (interrupt_pending())
		return lc__error(LC_CANCELLED, 0, "interrupted");
	name_file(path, writing->files++, name);
	if (name->failed ||
	    asprintf(&file, "%s/%.*s", writing->dir, (int)name->size,
		(const char *)name->data) < 0)
		return lc__no_memory(NULL);
	status = lc__npy_encode_header(tensor, true, &header);
	out = status == LC_OK ? fopen(file, "wxe") : NULL;
	if (status == LC_OK && out == NULL)
		status = lc__error_sys(errno, "%s", file);
	if (out != NULL) {
		fwrite(header.data, 1, header.size, out);
		fwrite(tensor->data, 1, tensor->nbytes, out);
		status = close_synced(out, file);
	}
	lc__buf_free(&header);
	free(file);
	return status;
}

static lc_status
write_all(const char *dir, const lc_value *value)
{
	struct writing writing = { dir, 0 };
	const struct lc__json_tensors files = { LC__JSON_FILE, write_tensor, &writing };
	char *path = lc__path_join(dir, INDEX);
	FILE *out = path ? fopen(path, "wxe") : NULL;
	lc_status status;

	if (out == NULL) {
		status = lc__error_sys(path ? errno : ENOMEM, "%s", dir);
		free(path);
		return status;
	}
	status = lc__value_json_write(out, value, &files);
	putc('\n', out);
	if (status == LC_OK)
		status = close_synced(out, path);
	else
		fclose(out);
	free(path);
	return status == LC_OK ? lc__sync_dir(dir) : status;
}

/* Remove what has been written. */
static void
remove_all(const char *dir)
{
	const lc_error kept = *lc_last_error();
	const struct dirent *entry;
	struct lc__dir entries;

	if (lc__dir_open(dir, &entries) == LC_OK) {
		while (lc__dir_next(&entries, &entry) == LC_OK && entry != NULL)
			if (entry->d_name[0] != '.')
				(void)unlinkat(entries.fd, entry->d_name, 0);
		lc__dir_close(&entries);
	}
	(void)lc__error_raise(&kept);
	rmdir(dir);
}

/* Move the directory to its name. An empty directory is replaced and, with @p force,
 * one that get has written, which then gets the temporary name. */
static lc_status
put_in_place(char *temporary, const char *plain, const char *dir, bool force)
{
	char *index;
	bool is_set;

	if (rename(temporary, plain) == 0)
		return lc__sync_parent(plain);
	if (errno != EEXIST && errno != ENOTEMPTY)
		return lc__error_sys(errno, "%s", dir);
	index = lc__path_join(plain, INDEX);
	is_set = index != NULL && access(index, F_OK) == 0;
	free(index);
	if (!is_set)
		return lc__error(LC_EXISTS, 0, "%s: exists, and was not written by get",
		    dir);
	if (!force)
		return lc__error(LC_EXISTS, 0, "%s: exists; -f replaces it", dir);
	if (renameat2(AT_FDCWD, temporary, AT_FDCWD, plain, RENAME_EXCHANGE) == -1)
		return lc__error_sys(errno, "%s", dir);
	remove_all(temporary);
	return lc__sync_parent(plain);
}

int
setdir_write(const char *dir, const lc_value *value, bool force)
{
	size_t size = strlen(dir);
	char *plain, *temporary = NULL;
	int made = -1;
	lc_status status;

	while (size > 1 && dir[size - 1] == '/')
		size--;
	plain = strndup(dir, size);
	if (plain != NULL && asprintf(&temporary, "%s" LC__NEWFILE_END, plain) < 0)
		temporary = NULL;

	interrupt_defer(true);
	/* struct lc__newfile writes a file; for a directory the same names are reserved
	 * here. */
	for (int i = 0; temporary != NULL && i < 100 && made == -1; i++) {
		lc__random_name(temporary);
		made = mkdir(temporary, 0777);
		if (made == -1 && errno != EEXIST)
			break;
	}
	if (made == -1) {
		status = lc__error_sys(temporary ? errno : ENOMEM, "%s", dir);
	} else {
		status = write_all(temporary, value);
		if (status == LC_OK)
			status = put_in_place(temporary, plain, dir, force);
		if (status != LC_OK)
			remove_all(temporary);
	}
	free(temporary);
	free(plain);
	interrupt_defer(false);
	if (status == LC_EXISTS)
		return report_usage("%s", lc_last_error()->text);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}
