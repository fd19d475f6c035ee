/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/ask.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "ui/report.h"

int
ask_nobody(void)
{
	return report_usage("nobody can be asked here; use -f");
}

int
ask(const char *format, ...)
{
	int answer, c;
	va_list args;

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return ask_nobody();
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" [y/N] ", stderr);
	answer = c = getchar();
	while (c != '\n' && c != EOF)
		c = getchar();
	if (answer == 'y' || answer == 'Y')
		return EXIT_DONE;
	report_note("nothing is changed");
	return EXIT_NO;
}
