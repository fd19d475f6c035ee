/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/failures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/json_write.h"
#include "base/newfile.h"
#include "base/utf8.h"
#include "formats/base64.h"

struct lc__failures {
	char *path;
	int fd;
	uint64_t count; /* written by us */
};

lc_status
lc__failures_open(const char *path, bool keep, struct lc__failures **out)
{
	struct lc__failures *f = calloc(1, sizeof(*f));
	int sys;

	if (f == NULL || (f->path = strdup(path)) == NULL) {
		free(f);
		return lc__no_memory(path);
	}
	/* Opened to append, so that lines of several processes stay whole. */
	if (!keep && !lc__is_special(path))
		(void)unlink(path);
	f->fd = lc__open_to_write(path, true);
	if (f->fd != -1) {
		*out = f;
		return LC_OK;
	}
	sys = errno;
	free(f->path);
	free(f);
	return lc__error_sys(sys, "%s: create", path);
}

static void
put_text(FILE *out, const char *name, const void *text, size_t size)
{
	fprintf(out, ",\"%s\":", name);
	lc__json_string(out, text, size);
}

static lc_status
make_line(const struct lc__items *batch, const struct lc__item *item,
    struct lc__buf *text)
{
	const char *why = item->why != NULL ? item->why : "";
	const time_t now = (time_t)(lc__clock_wall_ms() / 1000);
	char time[32];
	struct tm tm;
	FILE *out = lc__buf_stream(text);

	if (out == NULL)
		return lc__no_memory(NULL);
	if (lc__utf8_valid(item->id.data, item->id.size)) {
		fputs("{\"id\":", out);
		lc__json_string(out, item->id.data, item->id.size);
	} else {
		fputs("{\"id_base64\":\"", out);
		lc__base64_write(out, item->id.data, item->id.size);
		putc('"', out);
	}
	put_text(out, "why", why, strlen(why));
	fprintf(out, ",\"attempts\":%u", item->attempts);
	if (batch != NULL && batch->standard_error.size > 0)
		put_text(out, "stderr", batch->standard_error.data,
		    batch->standard_error.size);
	gmtime_r(&now, &tm);
	strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &tm);
	put_text(out, "at", time, strlen(time));
	fputs("}\n", out);
	return lc__buf_stream_end(out, text) ? LC_OK : lc__no_memory(NULL);
}

lc_status
lc__failures_add(struct lc__failures *failures, const struct lc__items *batch,
    const struct lc__item *item)
{
	struct lc__buf text = { 0 };
	lc_status status = make_line(batch, item, &text);

	if (status == LC_OK)
		status = lc__write_full(failures->fd, text.data, text.size,
		    failures->path);
	if (status == LC_OK)
		failures->count++;
	lc__buf_free(&text);
	return status;
}

uint64_t
lc__failures_count(const struct lc__failures *failures)
{
	return failures->count;
}

lc_status
lc__failures_close(struct lc__failures *failures)
{
	lc_status status = LC_OK;
	struct stat st;

	if (failures == NULL)
		return LC_OK;
	/* A device, or a file that another process has put there meanwhile, stays. */
	if (fstat(failures->fd, &st) == -1)
		status = lc__error_sys(errno, "%s: stat", failures->path);
	else if (S_ISREG(st.st_mode) && st.st_size == 0 && unlink(failures->path) == -1 &&
	    errno != ENOENT)
		status = lc__error_sys(errno, "%s: remove", failures->path);
	if (close(failures->fd) == -1 && status == LC_OK)
		status = lc__error_sys(errno, "%s: close", failures->path);
	free(failures->path);
	free(failures);
	return status;
}
