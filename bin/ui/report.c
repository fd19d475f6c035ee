/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages, questions, exit statuses and the two standard streams. */
#include "ui/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/image_name.h"
#include "lmdbcache.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/settings.h"

static const char *command_name;
static const char *before; /* "FILE:LINE: " or NULL */
static bool as_json;       /* also without --json */
static int output_errno;   /* of the first failed write to standard output */

void
report_command(const char *name)
{
	command_name = name;
}

void
report_place(const char *place)
{
	before = place;
}

void
report_as_json(bool json)
{
	as_json = json;
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

/* The names of lc_status in lmdbcache.h, which programs compare with. */
static const char *
constant_name(lc_status status)
{
	static const char *const names[] = { "LC_OK", "LC_NOT_FOUND", "LC_INVALID",
		"LC_CORRUPT", "LC_NOT_MODULE", "LC_VERSION", "LC_READONLY", "LC_NO_SPACE",
		"LC_MAP_FULL", "LC_BUSY", "LC_PERMISSION", "LC_IO", "LC_NO_MEMORY",
		"LC_FILESYSTEM", "LC_CANCELLED", "LC_UNSUPPORTED", "LC_SCHEMA",
		"LC_FAILED", "LC_STALE", "LC_EXISTS", "LC_TIMEOUT", "LC_ABANDONED",
		"LC_OTHER_CACHE", "LC_OTHER_ORDER", "LC_CHANGED", "LC_END",
		"LC_NO_FILE" };

	_Static_assert(sizeof(names) / sizeof(names[0]) == LC_NO_FILE + 1,
	    "every lc_status has its name");
	return (unsigned)status < sizeof(names) / sizeof(names[0]) ? names[status] : NULL;
}

/* The content of a line on standard error. */
struct message {
	const char *kind;  /* "error" or "note" */
	const char *color; /* position of the word cachex: */
	lc_status status;  /* status of the library, LC_OK if the message is not the
	                    * library's */
	int exit;          /* status of an error */
};

static void
print_json(const struct message *message, const char *text)
{
	struct json json = { stderr, false };

	jw_open(&json, NULL, '{');
	jw_open(&json, message->kind, '{');
	if (before != NULL) {
		char place[4096];

		snprintf(place, sizeof(place), "%.*s", (int)strlen(before) - 2, before);
		jw_text(&json, "place", place);
	}
	if (command_name != NULL)
		jw_text(&json, "command", command_name);
	if (message->status != LC_OK && constant_name(message->status) != NULL)
		jw_text(&json, "status", constant_name(message->status));
	if (message->exit != EXIT_DONE)
		jw_count(&json, "exit", (uint64_t)message->exit);
	jw_text(&json, "message", text);
	jw_close(&json, '}');
	jw_end_line(&json);
}

static void
print_text(const struct message *message, const char *text)
{
	const bool colored = has_color(stderr);

	fprintf(stderr, "%s%scachex:%s ", before != NULL ? before : "",
	    colored ? message->color : "", colored ? "\033[0m" : "");
	if (command_name != NULL)
		fprintf(stderr, "%s: ", command_name);
	fprintf(stderr, "%s\n", text);
}

/* A message is one line, even with control characters in a file's name. */
static void __attribute__((format(printf, 2, 0)))
print_message(const struct message *message, const char *format, va_list args)
{
	char text[4096];

	vsnprintf(text, sizeof(text), format, args);
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	progress_clear();
	fflush(stdout);
	flockfile(stderr);
	if (settings.json || as_json)
		print_json(message, text);
	else
		print_text(message, text);
	funlockfile(stderr);
}

static int __attribute__((format(printf, 3, 0)))
print_error(int exit, lc_status status, const char *format, va_list args)
{
	const struct message message = { "error", "\033[1;31m", status, exit };

	print_message(&message, format, args);
	return exit;
}

/* An error of the library's, with its status. */
static int __attribute__((format(printf, 3, 4)))
print_status(int exit, lc_status status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_error(exit, status, format, args);
	va_end(args);
	return exit;
}

int
report_error(int exit, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_error(exit, LC_OK, format, args);
	va_end(args);
	return exit;
}

int
report_no_memory(void)
{
	return report_error(EXIT_SYSTEM, "out of memory");
}

/* Append as much as fits. */
static void
append(char *line, size_t room, const char *text)
{
	size_t used = strlen(line);

	while (*text != '\0' && used + 1 < room)
		line[used++] = *text++;
	line[used] = '\0';
}

/* Nothing here takes locks or memory. Statuses of signals have three digits. */
void
report_stopped(int exit, const char *where, const char *how)
{
	const char digits[] = { (char)('0' + exit / 100 % 10),
		(char)('0' + exit / 10 % 10), (char)('0' + exit % 10), '\0' };
	const bool json = settings.json || as_json;
	const char *const name = command_name != NULL ? command_name : "";
	char line[600] = "";

	if (progress_is_shown())
		append(line, sizeof(line), "\r\033[K");
	append(line, sizeof(line), json ? "{\"error\":{\"command\":\"" : "cachex: ");
	append(line, sizeof(line), name);
	append(line, sizeof(line), json ? "\",\"exit\":" : ": ");
	append(line, sizeof(line), json ? digits : "");
	append(line, sizeof(line), json ? ",\"message\":\"" : "");
	append(line, sizeof(line), "stopped");
	append(line, sizeof(line), where);
	append(line, sizeof(line), "; ");
	append(line, sizeof(line), how);
	append(line, sizeof(line), json ? "\"}}\n" : "\n");
	if (write(STDERR_FILENO, line, strlen(line)) == -1)
		return;
}

void
report_note(const char *format, ...)
{
	const struct message message = { "note", "\033[1m", LC_OK, EXIT_DONE };
	va_list args;

	if (settings.quiet)
		return;
	va_start(args, format);
	print_message(&message, format, args);
	va_end(args);
}

int
report_ignored(const struct lc__images_ignored *ignored, bool nothing_else)
{
	struct lc__buf text = { 0 };

	if (ignored->n == 0)
		return EXIT_DONE;
	lc__images_ignored_text(ignored, &text);
	if (nothing_else)
		report_error(EXIT_DATA, "%.*s", (int)text.size,
		    text.data != NULL ? (char *)text.data : "");
	else
		report_note("%.*s", (int)text.size,
		    text.data != NULL ? (char *)text.data : "");
	lc__buf_free(&text);
	return nothing_else ? EXIT_DATA : EXIT_DONE;
}

static int
exit_of(lc_status status)
{
	switch (status) {
	case LC_OK: return EXIT_DONE;
	case LC_NOT_FOUND:
	case LC_END:
	case LC_STALE:
	case LC_FAILED:
	case LC_TIMEOUT:
	case LC_ABANDONED:
	case LC_CHANGED: return EXIT_NO;
	case LC_INVALID:
	case LC_CORRUPT:
	case LC_NOT_MODULE:
	case LC_VERSION:
	case LC_UNSUPPORTED:
	case LC_SCHEMA:
	case LC_EXISTS:
	case LC_OTHER_CACHE:
	case LC_OTHER_ORDER: return EXIT_DATA;
	default: return EXIT_SYSTEM;
	}
}

/*
 * The library's last error, for a message that begins with the command's name: if the
 * operation has the same name it is not repeated. A file may have that name too; it is
 * kept.
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
report_library(int exit)
{
	return print_status(exit, lc_last_error()->status, "%s", library_text());
}

/* The library's last error, which came with @p status. */
static int
report_as(lc_status status, int exit)
{
	if (status == LC_CANCELLED)
		return interrupt_status();
	return print_status(exit, status, "%s", library_text());
}

int
report_status(lc_status status)
{
	return report_as(status, exit_of(status));
}

int
report_argument(lc_status status)
{
	return report_as(status, status == LC_INVALID ? EXIT_USAGE : exit_of(status));
}

int
report_errno(const char *path)
{
	return report_error(EXIT_SYSTEM, "%s: %s", path, strerror(errno));
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
	/* The errno of an earlier failed write may be lost; the rest fails for the same. */
	if (output_errno == 0 && (errno != 0 || fflush(stdout) != 0))
		output_errno = errno;
	if (output_errno == 0)
		output_errno = EIO;
	if (!reported)
		report_error(EXIT_SYSTEM, "standard output: %s", strerror(output_errno));
	reported = true;
	return EXIT_SYSTEM;
}

/* ---- questions --------------------------------------------------------------------- */

int
ask_impossible(void)
{
	return report_usage("not a terminal, cannot ask for confirmation; use -f");
}

int
ask(const char *format, ...)
{
	int answer, c;
	va_list args;

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return ask_impossible();
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" [y/N] ", stderr);
	answer = c = getchar();
	while (c != '\n' && c != EOF)
		c = getchar();
	if (answer == 'y' || answer == 'Y')
		return EXIT_DONE;
	report_note("nothing was changed");
	return EXIT_NO;
}

/* ---- findings ---------------------------------------------------------------------- */

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
