/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/finding.h"

#include <stdbool.h>
#include <stdio.h>

#include "ui/json.h"
#include "ui/progress.h"
#include "ui/settings.h"

void
finding_show(const char *module, const char *what, const char *line)
{
	struct json json = { stdout, false };

	progress_clear();
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "module", module);
		jw_text(&json, what, line);
		jw_end_line(&json);
	} else {
		printf("%s: %s\n", module, line);
	}
}
