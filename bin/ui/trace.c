/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/trace.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/newfile.h"
#include "lmdbcache.h"
#include "ui/json.h"
#include "ui/report.h"

#define SECOND UINT64_C(1000000000)

static struct {
	FILE *out; /* NULL: no trace */
	const char *path;
	uint64_t start; /* ns */
	uint64_t next;  /* ns, coarse: when progress is due; 0: at once */
	int sys;        /* errno of the first failed write */
} trace;

int
trace_open(const char *path)
{
	int fd;

	trace.path = path;
	trace.start = lc__clock_ns();
	if (path == NULL)
		return EXIT_DONE;
	if (strcmp(path, "-") == 0) {
		trace.out = stdout;
		return EXIT_DONE;
	}
	fd = lc__open_to_write(path, false);
	trace.out = fd != -1 ? fdopen(fd, "w") : NULL;
	return trace.out != NULL ? EXIT_DONE : report_errno(path);
}

bool
trace_is_on(void)
{
	return trace.out != NULL;
}

bool
trace_is_due(void)
{
	if (trace.out == NULL || lc__clock_coarse_ns() < trace.next)
		return false;
	trace.next = lc__clock_coarse_ns() + SECOND;
	return true;
}

/* {"event":"begin","seconds":0.0 */
struct json
trace_event(const char *event)
{
	struct json json = { trace.out, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "event", event);
	jw_real(&json, "seconds", (double)(lc__clock_ns() - trace.start) / SECOND);
	return json;
}

/* Flush, for programs that read the trace while it is written. */
void
trace_event_end(struct json *json)
{
	jw_end_line(json);
	if (fflush(trace.out) != 0 && trace.sys == 0)
		trace.sys = errno;
}

void
trace_options(struct json *json, const struct opt *options)
{
	char text[OPT_TEXT_ROOM];

	jw_open(json, "options", '{');
	for (; options->kind != OPT_END; options++)
		jw_text(json, options->name, opt_render(options, text, sizeof(text)));
	jw_close(json, '}');
}

int
trace_close(void)
{
	FILE *out = trace.out;

	trace.out = NULL;
	if (out == NULL)
		return EXIT_DONE;
	if ((out == stdout ? fflush(out) : fclose(out)) != 0 && trace.sys == 0)
		trace.sys = errno;
	if (trace.sys == 0)
		return EXIT_DONE;
	errno = trace.sys;
	return report_errno(trace.path);
}
