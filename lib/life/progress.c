/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/progress.h"

#include <stdio.h>

#include "base/error.h"

lc_status
lc__progress_step(const lc_progress *progress, uint64_t done, uint64_t total,
    const char *operation)
{
	if (progress != NULL && progress->step != NULL &&
	    progress->step(progress->ctx, done, total) != 0)
		return lc__error(LC_CANCELLED, 0, "%s: cancelled", operation);
	return LC_OK;
}

void
lc__progress_phase(const lc_progress *progress, const char *name)
{
	if (progress != NULL && progress->phase != NULL)
		progress->phase(progress->ctx, name);
}

void
lc__progress_vdamage(const lc_progress *progress, const char *format, va_list args)
{
	char line[1024];

	if (progress == NULL || progress->damage == NULL)
		return;
	vsnprintf(line, sizeof(line), format, args);
	progress->damage(progress->ctx, line);
}

void
lc__progress_damage(const lc_progress *progress, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	lc__progress_vdamage(progress, format, args);
	va_end(args);
}
