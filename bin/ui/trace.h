/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace of a long run: a JSON object on a line for each event, written as it
 * happens. */
#ifndef CACHEX_UI_TRACE_H
#define CACHEX_UI_TRACE_H

#include <stdbool.h>

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

#endif
