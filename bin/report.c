/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "progress.h"
#include "settings.h"

static const char *command_name;
static int output_errno; /* of the first failed write to standard output */

void
report_command(const char *name)
{
	command_name = name;
}

static bool
has_color(FILE *stream)
{
	const char *none = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (settings.color != COLOR_AUTO)
		return settings.color == COLOR_ALWAYS;
	if ((none != NULL && *none != '\0') ||
	    (term != NULL && strcmp(term, "dumb") == 0))
		return false;
	return isatty(fileno(stream));
}

const char *
report_bold(FILE *stream)
{
	return has_color(stream) ? "\033[1m" : "";
}

const char *
report_plain(FILE *stream)
{
	return has_color(stream) ? "\033[0m" : "";
}

/* A message is one line whatever a file's name holds. */
static void __attribute__((format(printf, 2, 0)))
print_message(const char *color, const char *format, va_list args)
{
	char text[4096];
	const bool colored = has_color(stderr);

	vsnprintf(text, sizeof(text), format, args);
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	progress_clear();
	fflush(stdout);
	fprintf(stderr, "%scachex:%s ", colored ? color : "",
	    colored ? "\033[0m" : "");
	if (command_name != NULL)
		fprintf(stderr, "%s: ", command_name);
	fprintf(stderr, "%s\n", text);
}

void
report_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message("\033[1;31m", format, args);
	va_end(args);
}

int
report_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message("\033[1;31m", format, args);
	va_end(args);
	return EXIT_USAGE;
}

void
report_note(const char *format, ...)
{
	va_list args;

	if (settings.quiet)
		return;
	va_start(args, format);
	print_message("\033[1m", format, args);
	va_end(args);
}

int
report_ignored(const struct lc__images_ignored *ignored, bool nothing_else)
{
	struct lc__buf text = { 0 };

	if (ignored->n == 0)
		return EXIT_DONE;
	lc__images_ignored_text(ignored, &text);
	(nothing_else ? report_error : report_note)("%.*s", (int)text.size,
	    text.data != NULL ? (char *)text.data : "");
	lc__buf_free(&text);
	return nothing_else ? EXIT_DATA : EXIT_DONE;
}

static int
exit_of(lc_status status)
{
	switch (status) {
	case LC_OK:
		return EXIT_DONE;
	case LC_NOT_FOUND:
	case LC_STALE:
	case LC_FAILED:
	case LC_TIMEOUT:
	case LC_ABANDONED:
	case LC_CHANGED:
		return EXIT_NO;
	case LC_INVALID:
	case LC_CORRUPT:
	case LC_NOT_MODULE:
	case LC_VERSION:
	case LC_UNSUPPORTED:
	case LC_SCHEMA:
	case LC_EXISTS:
	case LC_OTHER_CACHE:
	case LC_OTHER_ORDER:
		return EXIT_DATA;
	default:
		return EXIT_SYSTEM;
	}
}

/*
 * The library's last error, for a message that begins with the command's name:
 * where the operation is called the same it is not said twice. A file may be
 * called so too; its name stays.
 */
static const char *
library_text(void)
{
	const char *text = lc_last_error()->text;
	const size_t n = command_name ? strlen(command_name) : 0;

	if (n > 0 && strncmp(text, command_name, n) == 0 &&
	    strncmp(text + n, ": ", 2) == 0 && access(command_name, F_OK) == -1)
		text += n + 2;
	return text;
}

int
report_status(lc_status status)
{
	if (status == LC_CANCELLED)
		return interrupt_status();
	report_error("%s", library_text());
	return exit_of(status);
}

int
report_argument(lc_status status)
{
	const int code = report_status(status);

	return status == LC_INVALID ? EXIT_USAGE : code;
}

int
report_file(lc_status status)
{
	const int code = report_status(status);

	return status == LC_NOT_FOUND ? EXIT_SYSTEM : code;
}

int
report_errno(const char *path)
{
	report_error("%s: %s", path, strerror(errno));
	return EXIT_SYSTEM;
}

int
report_worse(int a, int b)
{
	return a > b ? a : b;
}

bool
report_output_failed(void)
{
	if (ferror(stdout) && output_errno == 0)
		output_errno = errno;
	return ferror(stdout);
}

int
report_finish(int status)
{
	static bool reported;

	errno = output_errno;
	if (!report_output_failed() && fflush(stdout) == 0)
		return status;
	/* Why an earlier write failed may be forgotten: what is left fails for the same. */
	if (output_errno == 0 && (errno != 0 || fflush(stdout) != 0))
		output_errno = errno;
	if (output_errno == 0)
		output_errno = EIO;
	if (!reported)
		report_error("standard output: %s", strerror(output_errno));
	reported = true;
	return EXIT_SYSTEM;
}
