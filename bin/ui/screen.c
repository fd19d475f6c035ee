/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/screen.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "ui/interrupt.h"
#include "ui/report.h"

static struct {
	bool open, terminal, keys, whole;
	struct termios before; /* of the terminal that keys come from */
	sigset_t mask;         /* of signals, while waiting */
	int lines;             /* of the last picture */
	int columns, rows;
} screen;

static volatile sig_atomic_t resized;

static void
on_resize(int number)
{
	(void)number;
	resized = 1;
}

/* Keys come at once, also those that would be signals. */
static void
prepare_terminal(void)
{
	struct termios now = screen.before;

	if (screen.whole)
		fputs("\033[?1049h\033[H", stdout);
	fputs("\033[?25l", stdout);
	fflush(stdout);
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	now.c_cc[VMIN] = 1;
	now.c_cc[VTIME] = 0;
	if (screen.keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
}

static void
restore_terminal(void)
{
	if (screen.keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.before);
	fputs(screen.whole ? "\033[?25h\033[?1049l" : "\033[?25h", stdout);
	fflush(stdout);
}

void
screen_open(bool whole)
{
	const struct sigaction action = { .sa_handler = on_resize };
	const char *term = getenv("TERM");
	sigset_t blocked;

	memset(&screen, 0, sizeof(screen));
	screen.open = true;
	screen.whole = whole;
	screen.terminal = isatty(STDOUT_FILENO) && term != NULL &&
	    strcmp(term, "dumb") != 0;
	screen.keys = screen.terminal && isatty(STDIN_FILENO) &&
	    tcgetattr(STDIN_FILENO, &screen.before) == 0;
	interrupt_defer(true);
	/* Signals come only while screen_wait() waits, so that none is missed before. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigaddset(&blocked, SIGWINCH);
	sigprocmask(SIG_BLOCK, &blocked, &screen.mask);
	if (screen.terminal) {
		sigaction(SIGWINCH, &action, NULL);
		prepare_terminal();
	}
}

bool
screen_is_terminal(void)
{
	return screen.terminal;
}

void
screen_size(int *columns, int *rows)
{
	struct winsize size;
	const bool known = screen.terminal &&
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
	    size.ws_row > 0;

	*columns = known ? size.ws_col : 80;
	*rows = known ? size.ws_row : 24;
}

void
screen_begin(void)
{
	screen_size(&screen.columns, &screen.rows);
	if (screen.terminal && screen.whole)
		fputs("\033[H", stdout);
	else if (screen.terminal && screen.lines > 0)
		printf("\033[%dA\r", screen.lines);
	screen.lines = 0;
}

/* The last column stays empty: a character there may wrap. The first bytes of a text that fit: characters count as one column each. */
static int
fitting(const char *text, int columns)
{
	int bytes = 0;

	for (int n = 0; text[bytes] != '\0'; bytes++)
		if ((text[bytes] & 0xc0) != 0x80 && n++ == columns)
			break;
	return bytes;
}

void
screen_line(bool bold, const char *format, ...)
{
	char text[1000];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!screen.terminal) {
		printf("%s\n", text);
		return;
	}
	/* The last row stays empty: a newline there would scroll. */
	if (screen.lines + 1 >= screen.rows)
		return;
	printf("%s%.*s%s\033[K\n", bold ? report_bold(stdout) : "",
	    fitting(text, screen.columns - 1), text, bold ? report_plain(stdout) : "");
	screen.lines++;
}

void
screen_end(void)
{
	if (screen.terminal)
		fputs("\033[J", stdout);
	fflush(stdout);
}

int
screen_wait(uint64_t ns)
{
	const uint64_t until = lc__clock_ns() + ns;
	struct pollfd in = { .fd = screen.keys ? STDIN_FILENO : -1, .events = POLLIN };

	for (;;) {
		const uint64_t now = lc__clock_ns();
		const uint64_t left = now < until ? until - now : 0;
		const struct timespec timeout = { (time_t)(left / 1000000000),
			(long)(left % 1000000000) };
		const int ready = ppoll(&in, 1, &timeout, &screen.mask);
		unsigned char key;

		if (interrupt_pending())
			return SCREEN_STOPPED;
		if (resized) {
			resized = 0;
			return SCREEN_RESIZED;
		}
		if (ready == 0)
			return SCREEN_TIME;
		if (ready < 0)
			continue;
		/* A terminal that is gone. */
		if (read(STDIN_FILENO, &key, 1) != 1)
			return SCREEN_STOPPED;
		if (key == 3)
			return SCREEN_STOPPED;
		if (key != 26)
			return key;
		/* Ctrl-Z: as any program that is stopped, and then drawn again. */
		restore_terminal();
		raise(SIGTSTP);
		prepare_terminal();
		return SCREEN_RESIZED;
	}
}

void
screen_close(void)
{
	if (!screen.open)
		return;
	screen.open = false;
	if (screen.terminal) {
		restore_terminal();
		signal(SIGWINCH, SIG_DFL);
	}
	sigprocmask(SIG_SETMASK, &screen.mask, NULL);
	interrupt_defer(false);
}
