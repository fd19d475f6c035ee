/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/date.h"

#include <stdio.h>
#include <time.h>

char *
date_text(uint64_t ms, char out[DATE_TEXT])
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(out, DATE_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(out, DATE_TEXT, "%llu ms", (unsigned long long)ms);
	return out;
}
