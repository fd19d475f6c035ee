/* SPDX-License-Identifier: BSD-2-Clause */
/* The report on a module as one HTML page: no script, nothing from elsewhere. */
#ifndef CACHEX_REPORT_MODULE_HTML_H
#define CACHEX_REPORT_MODULE_HTML_H

#include <stdio.h>

#include "report/fill_trace.h"
#include "report/module_facts.h"

/** What the page shows besides the facts of the module. */
struct lc__module_extras {
	const struct lc__field *settings; /* settings of the module: names and values */
	size_t n_settings;
	const struct lc__fill_trace *traces;
	size_t n_traces;
};

/**
 * Write the page of a module. The same module gives the same bytes. The caller checks
 * ferror(@p out) for failed writes.
 */
void lc__module_html_write(FILE *out, const struct lc__module_facts *facts,
    const struct lc__module_extras *extras);

#endif
