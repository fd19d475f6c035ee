/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "ui/entries.h"
#include "format/npy.h"
#include "formats/value_json.h"
#include "ui/interrupt.h"
#include "ui/report.h"
#include "cmd/setdir.h"

#define LONGEST 240 /* of a file's name, with ".npy" */

/* A directory that is being written under another name. */
struct writing {
	const char *dir; /* the temporary one */
	size_t files;    /* tensors written */
};

/*
 * A path as a file's name: %XX for what has a meaning there, and for dots that do
 * not part steps. Where that gets too long, a name that no path has.
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

/* value.json says what raw bits are. */
static lc_status
write_npy(const char *path, const lc_tensor *tensor)
{
	struct lc__buf header = { 0 };
	lc_status status = lc__npy_encode_header(tensor, true, &header);
	FILE *out = status == LC_OK ? fopen(path, "wxe") : NULL;

	if (status == LC_OK && out == NULL)
		status = lc__error_sys(errno, "%s", path);
	if (out != NULL) {
		fwrite(header.data, 1, header.size, out);
		fwrite(tensor->data, 1, tensor->nbytes, out);
		status = close_synced(out, path);
	}
	lc__buf_free(&header);
	return status;
}

static lc_status
write_tensor(void *ctx, const char *path, const lc_tensor *tensor,
    struct lc__buf *name)
{
	struct writing *writing = ctx;
	struct lc__buf file = { 0 };
	lc_status status;

	if (interrupt_pending())
		return lc__error(LC_CANCELLED, 0, "interrupted");
	name_file(path, writing->files++, name);
	lc__buf_printf(&file, "%s/%.*s", writing->dir, (int)name->size,
	    (const char *)name->data);
	lc__buf_append(&file, "", 1);
	status = file.failed || name->failed ? lc__no_memory(NULL) :
	    write_npy((const char *)file.data, tensor);
	lc__buf_free(&file);
	return status;
}

static lc_status
write_all(const char *dir, const lc_value *value)
{
	struct writing writing = { dir, 0 };
	const struct lc__json_tensors files = { LC__JSON_FILE, write_tensor,
		&writing };
	char *path = lc__path_join(dir, "value.json");
	FILE *out = path ? fopen(path, "wxe") : NULL;
	lc_status status, closed;

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
	closed = status == LC_OK ? lc__sync_dir(dir) : LC_OK;
	return status == LC_OK ? closed : status;
}

/* What has been written goes again. */
static void
remove_all(const char *dir)
{
	struct dirent **entries;
	const int n = entries_read(dir, &entries);

	for (int i = 0; i < n; i++) {
		char *path = lc__path_join(dir, entries[i]->d_name);
		if (path != NULL)
			unlink(path);
		free(path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	rmdir(dir);
}

static bool
is_set(const char *dir)
{
	char *path = lc__path_join(dir, "value.json");
	const bool is = path != NULL && access(path, F_OK) == 0;

	free(path);
	return is;
}

/* An empty directory is replaced, and with @p force one of an earlier get, which the
 * temporary name then has. */
static lc_status
put_in_place(char *temporary, const char *plain, const char *dir, bool force)
{
	if (rename(temporary, plain) == 0)
		return lc__sync_parent(plain);
	if (errno != EEXIST && errno != ENOTEMPTY)
		return lc__error_sys(errno, "%s", dir);
	if (!is_set(plain))
		return lc__error(LC_EXISTS, 0, "%s: exists, and was not written by get",
		    dir);
	if (!force)
		return lc__error(LC_EXISTS, 0, "%s: exists; -f replaces it", dir);
	if (renameat2(AT_FDCWD, temporary, AT_FDCWD, plain, RENAME_EXCHANGE) == -1)
		return lc__error_sys(errno, "%s", dir);
	remove_all(temporary);
	return lc__sync_parent(plain);
}

/* The path without slashes at its end, and a name beside it. */
static char *
temporary_name(const char *dir, char **plain)
{
	size_t size = strlen(dir);
	char *name;

	while (size > 1 && dir[size - 1] == '/')
		size--;
	*plain = strndup(dir, size);
	if (*plain == NULL || asprintf(&name, "%s.tmp.XXXXXX", *plain) < 0)
		return NULL;
	return name;
}

static bool
make_dir(char *path)
{
	int made = -1;

	for (int i = 0; i < 100 && made == -1 && (i == 0 || errno == EEXIST); i++) {
		lc__random_name(path);
		made = mkdir(path, 0777);
	}
	return made == 0;
}

int
setdir_write(const char *dir, const lc_value *value, bool force)
{
	char *plain = NULL;
	char *temporary = temporary_name(dir, &plain);
	lc_status status;

	interrupt_defer(true);
	if (temporary == NULL || !make_dir(temporary)) {
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
