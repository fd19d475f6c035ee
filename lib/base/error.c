/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local lc_error last_error = { .item = SIZE_MAX };

const lc_error *
lc_last_error(void)
{
	return &last_error;
}

const char *
lc_status_name(lc_status status)
{
	static const char *const names[] = { "ok", "not found", "invalid", "corrupt",
		"not a module", "newer version", "read-only", "no space", "map full",
		"busy", "permission denied", "i/o error", "out of memory",
		"unsuitable file system", "cancelled", "unsupported", "other structure",
		"failed", "stale", "exists", "timed out", "abandoned", "another cache",
		"another order", "changed", "end", "no such file" };
	if ((unsigned)status >= sizeof(names) / sizeof(names[0]))
		return "unknown status";
	return names[status];
}

const char *
lc_version(void)
{
	return PACKAGE_VERSION;
}

/* Keep an error, followed by as much of the system's text for @p sys as fits. */
__attribute__((format(printf, 3, 0))) static lc_status
record(lc_status status, int sys, const char *format, va_list args)
{
	last_error.status = status;
	last_error.sys = sys;
	last_error.item = SIZE_MAX;
	vsnprintf(last_error.text, sizeof(last_error.text), format, args);
	if (sys > 0) {
		const size_t used = strlen(last_error.text);
		char buf[128];

		snprintf(last_error.text + used, sizeof(last_error.text) - used, ": %s",
		    strerror_r(sys, buf, sizeof(buf)));
	}
	return status;
}

lc_status
lc__error(lc_status status, int sys, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	record(status, sys, format, args);
	va_end(args);
	return status;
}

static lc_status
status_of_errno(int sys)
{
	switch (sys) {
	case ENOENT:
	case ENOTDIR: return LC_NO_FILE;
	case EACCES:
	case EPERM:
	case EROFS: return LC_PERMISSION;
	case ENOSPC:
	case EDQUOT:
	case EFBIG: return LC_NO_SPACE;
	case ENOMEM: return LC_NO_MEMORY;
	default: return LC_IO;
	}
}

lc_status
lc__error_sys(int sys, const char *format, ...)
{
	va_list args;
	lc_status status = status_of_errno(sys);

	va_start(args, format);
	record(status, sys, format, args);
	va_end(args);
	return status;
}

lc_status
lc__no_memory(const char *what)
{
	return what == NULL ? lc__error(LC_NO_MEMORY, 0, "out of memory")
			    : lc__error(LC_NO_MEMORY, 0, "%s: out of memory", what);
}

lc_status
lc__error_prefix(const char *format, ...)
{
	char what[sizeof(last_error.text) / 2];
	const size_t room = sizeof(last_error.text);
	va_list args;
	size_t n, old;

	va_start(args, format);
	vsnprintf(what, sizeof(what) - 2, format, args);
	va_end(args);
	strcat(what, ": ");
	n = strlen(what);
	old = strlen(last_error.text);
	if (old > room - 1 - n)
		old = room - 1 - n;
	memmove(last_error.text + n, last_error.text, old);
	memcpy(last_error.text, what, n);
	last_error.text[n + old] = '\0';
	return last_error.status;
}

lc_status
lc__error_item(size_t item)
{
	last_error.item = item;
	return lc__error_prefix("item %zu", item);
}

lc_status
lc__error_as(lc_status status)
{
	last_error.status = status;
	return status;
}

lc_status
lc__error_raise(const lc_error *error)
{
	last_error = *error;
	return error->status;
}

const char *
lc__quote_id(const void *id, size_t size)
{
	enum { shown = 80, buffers = 4 };
	static _Thread_local char text[buffers][shown * 4 + 8];
	static _Thread_local unsigned turn;
	char *const out = text[turn++ % buffers];
	const unsigned char *bytes = id;
	char *p = out;

	*p++ = '\'';
	for (size_t i = 0; i < size && i < shown; i++) {
		if (bytes[i] >= 0x20 && bytes[i] < 0x7f && bytes[i] != '\\')
			*p++ = (char)bytes[i];
		else
			p += sprintf(p, "\\x%02x", bytes[i]);
	}
	strcpy(p, size > shown ? "'…" : "'");
	return out;
}
