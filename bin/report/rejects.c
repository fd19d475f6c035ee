/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/rejects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "warehouse/place.h"

lc_status
lc__rejects_open(const char *version_dir, struct lc__rejects *out)
{
	lc_status status;
	int fd;

	memset(out, 0, sizeof(*out));
	out->path = lc__path_join(version_dir, LC__WAREHOUSE_REJECTED);
	out->text = malloc(LC__REJECT_LINE);
	if (out->path == NULL || out->text == NULL) {
		lc__rejects_close(out);
		return lc__no_memory(NULL);
	}
	status = lc__open_regular(out->path, &fd);
	if (status == LC_OK && (out->file = fdopen(fd, "r")) == NULL) {
		status = lc__error_sys(errno, "%s", out->path);
		close(fd);
	}
	if (status != LC_OK)
		lc__rejects_close(out);
	return status;
}

lc_status
lc__rejects_next(struct lc__rejects *rejects, struct lc__fields *out)
{
	size_t size;

	errno = 0;
	if (fgets(rejects->text, LC__REJECT_LINE, rejects->file) == NULL)
		return ferror(rejects->file) ?
		    lc__error_sys(errno, "%s", rejects->path) : LC_END;
	rejects->line++;
	size = strlen(rejects->text);
	if (size == 0 || rejects->text[size - 1] != '\n')
		return lc__error(LC_CORRUPT, 0, "%s: line %llu is %s",
		    rejects->path, rejects->line, size == LC__REJECT_LINE - 1 ?
		    "too long" : "cut short");
	rejects->text[size - 1] = '\0';
	return_if_error(lc__fields_read(rejects->text, out));
	if (out->n > 0 && *out->rows[0].name != '\0')
		return LC_OK;
	lc__fields_free(out);
	return lc__error(LC_CORRUPT, 0, "%s: line %llu is no JSON object",
	    rejects->path, rejects->line);
}

void
lc__rejects_close(struct lc__rejects *rejects)
{
	if (rejects->file != NULL)
		fclose(rejects->file);
	free(rejects->path);
	free(rejects->text);
	memset(rejects, 0, sizeof(*rejects));
}
