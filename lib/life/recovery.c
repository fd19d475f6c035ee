/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/recovery.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

lc_status
lc__recovery_reserve(void **array, uint64_t count, uint64_t *room, size_t size)
{
	const uint64_t wanted = *room ? *room * 2 : 256;
	void *grown;

	if (count < *room)
		return LC_OK;
	grown = wanted > SIZE_MAX / size ? NULL :
	    realloc(*array, (size_t)wanted * size);
	if (grown == NULL)
		return lc__error(LC_NO_MEMORY, 0, "recover: out of memory");
	*array = grown;
	*room = wanted;
	return LC_OK;
}

void
lc__recovery_tell(struct lc__recovery *r, const char *format, ...)
{
	const lc_progress *progress = r->progress;
	char line[1024];
	va_list args;

	if (progress == NULL || progress->damage == NULL)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	progress->damage(progress->ctx, line);
}
