/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread works with, and the files that it reads. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "build/made.h"

/* A buffer that one large file has grown is given back behind it. */
#define KEPT_ROOM ((size_t)32 << 20)

lc_status
lc__maker_init(struct lc__maker *maker, const struct lc__making *making)
{
	*maker = (struct lc__maker){ .making = making };
	maker->workspace = lc__workspace_new();
	return maker->workspace != NULL ? LC_OK : lc__no_memory("build");
}

void
lc__maker_free(struct lc__maker *maker)
{
	lc__workspace_free(maker->workspace);
	lc__buf_free(&maker->file);
}

void
lc__maker_let_go(struct lc__maker *maker)
{
	if (maker->file.room > KEPT_ROOM)
		lc__buf_free(&maker->file);
	maker->file.size = 0;
	if (maker->held > 0)
		lc__team_release(maker->making->team, maker->held);
	maker->held = 0;
}

/* A team that stops grants no memory: what stopped it is reported, not this. */
static lc_status
hold(struct lc__maker *maker, const struct lc__made *made, uint64_t bytes)
{
	if (bytes > 0 &&
	    !lc__team_hold(maker->making->team, made->number, bytes))
		return lc__error(LC_CANCELLED, 0, "build: cancelled");
	maker->held += bytes;
	return LC_OK;
}

lc_status
lc__maker_read(struct lc__maker *maker, struct lc__made *made, const char *path,
    uint64_t limit, struct lc__source_note *note, enum lc__infile_fate *fate)
{
	const uint64_t start = lc__clock_ns();
	struct lc__infile file;
	lc_status status = LC_OK;

	*fate = lc__infile_open(&file, maker->making->root, path, limit);
	if (*fate == LC__INFILE_GOOD)
		status = hold(maker, made, (uint64_t)file.st.st_size);
	if (*fate == LC__INFILE_GOOD && status == LC_OK)
		*fate = lc__infile_read(&file, &maker->file, note);
	lc__infile_close(&file);
	made->bytes_read += maker->file.size;
	made->ns[LC__PHASE_READ] += lc__clock_ns() - start;
	if (*fate == LC__INFILE_FATAL ||
	    (*fate == LC__INFILE_REFUSED && !maker->making->keep_going))
		return lc_last_error()->status;
	if (*fate != LC__INFILE_GOOD)
		snprintf(made->detail, sizeof(made->detail), "%s", file.detail);
	return status;
}
