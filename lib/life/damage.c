/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/damage.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

void
lc__damage_vtell(const lc_progress *progress, const char *format, va_list args)
{
	char line[1024];

	if (progress == NULL || progress->damage == NULL)
		return;
	vsnprintf(line, sizeof(line), format, args);
	progress->damage(progress->ctx, line);
}

void
lc__damage_tell(const lc_progress *progress, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	lc__damage_vtell(progress, format, args);
	va_end(args);
}
