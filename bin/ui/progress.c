/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "ui/interrupt.h"
#include "ui/settings.h"
#include "ui/size.h"

#define SECOND 1000000000ull

static struct {
	const char *what;     /* NULL: no work in progress */
	const char *phase;    /* the part of it, or NULL */
	bool terminal;        /* redraw one line; else print whole lines */
	bool shown;           /* the terminal shows a line */
	uint64_t begun;       /* ns: when the whole work began */
	uint64_t start, next; /* ns: when the phase began, time of the next line */
	uint64_t done, total; /* bytes */
	uint64_t items, all;  /* items done and to do */
	const char *noun;     /* what else is counted, or NULL */
	uint64_t count;       /* how many so far */
	char reached[120];    /* where a signal stopped it, or empty */
} line;

static bool
wanted(void)
{
	if (settings.quiet || settings.progress == 0)
		return false;
	return settings.progress == 1 || line.terminal;
}

void
progress_begin(const char *what)
{
	line.what = what;
	line.phase = NULL;
	line.reached[0] = '\0';
	line.terminal = isatty(STDERR_FILENO);
	line.shown = false;
	line.begun = line.start = lc__clock_ns();
	line.next = line.start + SECOND;
	line.done = line.total = line.items = line.all = 0;
	line.noun = NULL;
	interrupt_defer(true);
}

static double
since(uint64_t start)
{
	return (double)(lc__clock_ns() - start) / (double)SECOND;
}

/* "import: files: 12 of 34, 3.40 MiB of 12.0 MiB, 1.20 MiB/s, 7 s left" */
static void
print_line(void)
{
	const double seconds = since(line.start);
	const double rate = seconds > 0 ? (double)line.done / seconds : 0;
	const bool by_items = line.total == 0 && line.all > 0;
	const double part = by_items ? (double)line.items / (double)line.all
	    : line.total             ? (double)line.done / (double)line.total
				     : 0;
	char text[SIZE_TEXT];

	line.shown = line.terminal;
	fprintf(stderr, "%s%s:", line.terminal ? "\r\033[K" : "", line.what);
	if (line.phase != NULL && line.done + line.all == 0 && line.noun == NULL) {
		fprintf(stderr, " %s%s", line.phase, line.terminal ? "" : "\n");
		return;
	}
	if (line.phase != NULL)
		fprintf(stderr, " %s:", line.phase);
	if (line.all > 0)
		fprintf(stderr, " %llu of %llu,", (unsigned long long)line.items,
		    (unsigned long long)line.all);
	fprintf(stderr, " %s", size_human((double)line.done, text, sizeof(text)));
	if (line.total > 0)
		fprintf(stderr, " of %s",
		    size_human((double)line.total, text, sizeof(text)));
	fprintf(stderr, ", %s/s", size_human(rate, text, sizeof(text)));
	if (line.noun != NULL && seconds > 0)
		fprintf(stderr, ", %.0f %s/s", (double)line.count / seconds, line.noun);
	if (part > 0 && part < 1)
		fprintf(stderr, ", %s left",
		    time_human(seconds * (1 - part) / part, text, sizeof(text)));
	if (!line.terminal)
		fputc('\n', stderr);
}

/* With --progress each phase is reported at least once. */
static void
end_phase(void)
{
	if (settings.progress == 1 && wanted() && !line.terminal)
		print_line();
}

void
progress_phase(void *ctx, const char *phase)
{
	(void)ctx;
	if (line.what == NULL)
		return;
	if (line.phase != NULL)
		end_phase();
	line.phase = phase;
	line.start = lc__clock_ns();
	line.done = line.total = line.items = line.all = 0;
	line.noun = NULL;
	/* It may have no steps. */
	if (line.start >= line.next && line.terminal && wanted())
		print_line();
}

/* " in files after 12 of 34" */
static void
note_reached(void)
{
	char *out = line.reached, done[SIZE_TEXT], total[SIZE_TEXT] = "";
	const size_t room = sizeof(line.reached);
	size_t n = 0;

	if (line.phase != NULL)
		n = (size_t)snprintf(out, room, " in %s", line.phase);
	if (n >= room)
		return;
	if (line.all > 0)
		snprintf(out + n, room - n, " after %llu of %llu",
		    (unsigned long long)line.items, (unsigned long long)line.all);
	else if (line.noun != NULL)
		snprintf(out + n, room - n, " after %llu %s",
		    (unsigned long long)line.count, line.noun);
	else if (line.done > 0)
		snprintf(out + n, room - n, " after %s%s%s",
		    size_human((double)line.done, done, sizeof(done)),
		    line.total ? " of " : "",
		    line.total ? size_human((double)line.total, total, sizeof(total))
			       : "");
}

const char *
progress_reached(void)
{
	return line.reached;
}

bool
progress_is_shown(void)
{
	return line.shown;
}

int
progress_step(void *ctx, uint64_t done, uint64_t total)
{
	const uint64_t now = lc__clock_ns();

	(void)ctx;
	line.done = done;
	line.total = total;
	if (line.what != NULL && now >= line.next && wanted()) {
		print_line();
		/* A log needs fewer lines than a terminal redraws. */
		line.next = now + (line.terminal ? SECOND / 8 : 5 * SECOND);
	}
	if (interrupt_pending() && line.reached[0] == '\0')
		note_reached();
	return interrupt_pending();
}

void
progress_items(uint64_t done, uint64_t total)
{
	line.items = done;
	line.all = total;
}

void
progress_rate(const char *noun, uint64_t done)
{
	line.noun = noun;
	line.count = done;
}

void
progress_clear(void)
{
	if (line.shown)
		fputs("\r\033[K", stderr);
	line.shown = false;
}

double
progress_end(void)
{
	const double seconds = since(line.begun);

	progress_clear();
	end_phase();
	line.what = NULL;
	interrupt_defer(false);
	return seconds;
}
