/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/metrics.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"

#define SECOND UINT64_C(1000000000)
#define INTERVAL (10 * SECOND)

bool
metrics_due(struct metrics *m)
{
	if (m->path == NULL || lc__clock_coarse_ns() < m->next)
		return false;
	m->next = lc__clock_coarse_ns() + INTERVAL;
	return true;
}

lc_status
metrics_begin(struct metrics *m)
{
	m->text = (struct lc__buf){ 0 };
	m->out = lc__buf_stream(&m->text);
	return m->out != NULL ? LC_OK : lc__no_memory(m->path);
}

void
metrics_head(struct metrics *m, const char *name, const char *type, const char *help)
{
	fprintf(m->out, "# HELP cachex_%s_%s %s\n# TYPE cachex_%s_%s %s\n", m->command,
	    name, help, m->command, name, type);
}

/* name{warehouse="w",label="value"} */
static void
put_name(struct metrics *m, const char *name, const char *label, const char *value)
{
	fprintf(m->out, "cachex_%s_%s{%s=\"", m->command, name, m->label);
	/* Three characters are special in a label's value. */
	for (const char *text = m->subject; *text != '\0'; text++) {
		if (*text == '\\' || *text == '"' || *text == '\n')
			putc('\\', m->out);
		putc(*text == '\n' ? 'n' : *text, m->out);
	}
	if (label != NULL)
		fprintf(m->out, "\",%s=\"%s", label, value);
	fputs("\"} ", m->out);
}

void
metrics_count(struct metrics *m, const char *name, const char *label, const char *value,
    uint64_t count)
{
	put_name(m, name, label, value);
	fprintf(m->out, "%llu\n", (unsigned long long)count);
}

void
metrics_seconds(struct metrics *m, const char *name, const char *label, const char *value,
    uint64_t ns)
{
	put_name(m, name, label, value);
	/* A double would round seconds since 1970 in these digits. */
	fprintf(m->out, "%llu.%09llu\n", (unsigned long long)(ns / SECOND),
	    (unsigned long long)(ns % SECOND));
}

void
metrics_outcome(struct metrics *m, bool success)
{
	metrics_head(m, "success", "gauge", "Whether the command succeeded.");
	metrics_count(m, "success", NULL, NULL, success);
	metrics_head(m, "end_timestamp_seconds", "gauge", "Time of its end, since 1970.");
	metrics_seconds(m, "end_timestamp_seconds", NULL, NULL,
	    lc__clock_wall_ms() * 1000000);
}

lc_status
metrics_end(struct metrics *m)
{
	const lc_status status = lc__buf_stream_end(m->out, &m->text)
	    ? lc__write_file_atomic(m->path, m->text.data, m->text.size)
	    : lc__no_memory(m->path);

	lc__buf_free(&m->text);
	return status;
}
