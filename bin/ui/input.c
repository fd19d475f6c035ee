/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/input.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "ui/report.h"

/* Nothing larger can become one record; it also ends a read of /dev/zero. */
#define LIMIT ((uint64_t)64 << 30)
#define STEP ((size_t)1 << 20)

const char *
input_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

static lc_status
read_stdin(struct lc__buf *out)
{
	const size_t start = out->size;
	size_t got;

	do {
		void *place = lc__buf_append(out, NULL, STEP);
		if (place == NULL)
			return lc__no_memory("standard input");
		return_if_error(lc__read_full(STDIN_FILENO, place, STEP, &got,
		    "standard input"));
		out->size -= STEP - got;
		if (out->size - start > LIMIT)
			return lc__error(LC_INVALID, 0,
			    "standard input: larger than 64 GiB");
	} while (got == STEP);
	return LC_OK;
}

int
input_read(const char *path, struct lc__buf *out)
{
	lc_status status;

	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		return report_usage("standard input is a terminal; name a file "
		    "or use a pipe");
	if (strcmp(path, "-") == 0)
		status = read_stdin(out);
	else
		status = lc__read_file(path, LIMIT, out);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}
