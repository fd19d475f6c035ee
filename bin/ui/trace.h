/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens in a long run, a JSON object a line, as it happens. */
#ifndef CACHEX_UI_TRACE_H
#define CACHEX_UI_TRACE_H

#include "build/ingest.h"
#include "ui/json.h"
#include "ui/opt.h"

/** Open the file, replacing it; reports; an exit status. @p path NULL: no trace. */
int trace_open(const char *path);
/** Close; reports what could not be written; an exit status. */
int trace_close(void);

/** Is there a trace? */
bool trace_is_on(void);
/** Is progress due? True once a second at most, and never without a trace. */
bool trace_is_due(void);
/** Begin a line while the trace is on: event and seconds. */
struct json trace_event(const char *event);
void trace_event_end(struct json *json);
/** The member "options": the value of each. */
void trace_options(struct json *json, const struct opt *options);

/* Of a build: */

/** "begin": what is built, with the value of every option. */
void trace_begin(const char *dataset, const char *warehouse,
    const struct opt *options);
/** "rejected". */
void trace_rejected(const struct lc__frame *frame, const char *reason,
    const char *detail);
/** "progress", once a second at most. */
void trace_progress(const struct lc__ingest_state *state);
/** "warning". */
void trace_warning(const char *line);
/** "phase" for each, then "end". @p error is NULL if there was none. */
void trace_end(const struct lc__ingest_result *result, const char *status,
    const char *error);

#endif
