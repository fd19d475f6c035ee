/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "shell/editor.h"

#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lines.h"
#include "ui/report.h"

/* ---- lines as the terminal hands them over ------------------------------------------ */

static volatile sig_atomic_t interrupted;

static void
on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* Called before each read. */
static lc_status
wait_for_line(void *ctx)
{
	struct pollfd poll_in = { .fd = STDIN_FILENO, .events = POLLIN };
	const sigset_t *mask = ctx;

	while (!interrupted && ppoll(&poll_in, 1, NULL, mask) == -1)
		;
	return interrupted ? LC_CANCELLED : LC_OK;
}

static enum editor_result
read_plain(const char *prompt, char **out)
{
	static struct lc__lines lines = { .fd = STDIN_FILENO, .path = "terminal" };
	struct sigaction action = { .sa_handler = on_interrupt }, before;
	struct lc__text_line line;
	sigset_t interrupt, mask;
	lc_status status;

	sigemptyset(&action.sa_mask);
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	interrupted = 0;
	printf("%s", prompt);
	fflush(stdout);
	/* Blocked except in ppoll(), so that none comes between a look and the wait. */
	sigprocmask(SIG_BLOCK, &interrupt, &mask);
	sigaction(SIGINT, &action, &before);
	lines.wait = wait_for_line;
	lines.ctx = &mask;
	status = lc__lines_next(&lines, &line);
	sigaction(SIGINT, &before, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (interrupted) {
		putchar('\n');
		return EDITOR_INTERRUPTED;
	}
	if (status != LC_OK) {
		putchar('\n');
		return EDITOR_END;
	}
	*out = line.text;
	return EDITOR_LINE;
}

#ifdef HAVE_LIBEDIT

#include <histedit.h>

#include "base/lazy.h"

/* Loaded when the first of them is needed: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) \
	X(el_init) X(el_end) X(el_set) X(el_gets) X(el_line) X(el_insertstr) \
	X(el_deletestr) X(el_source) X(history_init) X(history_end) X(history)
/* clang-format on */
LC__LAZY(lib, "libedit", LIBEDIT_FILE, CALLS)

static struct {
	EditLine *el; /* NULL: the terminal's own lines */
	History *history;
	const struct completer *completer;
	const char *prompt;
	char *line;   /* the last one that was read */
	bool stopped; /* by Ctrl-C */
} editor;

static char *
prompt_of(EditLine *el)
{
	(void)el;
	return (char *)editor.prompt;
}

/* ---- Tab ------------------------------------------------------------------------------ */

static size_t
terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_col < 20)
		return 80;
	return size.ws_col;
}

static size_t
terminal_rows(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_row < 6)
		return 24;
	return size.ws_row;
}

/* Characters, which is near enough to columns. */
static size_t
width_of(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

/* The first n bytes of it that are whole characters and fit. */
static int
cut_to(const char *text, size_t columns)
{
	size_t n = 0, bytes = 0;

	for (; text[bytes] != '\0'; bytes++) {
		if ((text[bytes] & 0xc0) != 0x80 && n++ == columns)
			break;
	}
	return (int)bytes;
}

/* Of a path only what comes after its last slash. */
static const char *
shown_part(const struct completion *completion, size_t i)
{
	const char *word = completion->items[i].word;
	const size_t n = strlen(word);

	for (size_t at = completion->common < n ? completion->common : n; at > 0; at--)
		if (word[at - 1] == '/')
			return word + at;
	return word;
}

/* In columns, or a line each with what they mean; at most a screen of them. */
static void
list_candidates(const struct completion *completion)
{
	const size_t columns = terminal_columns(), rows = terminal_rows() - 2;
	size_t widest = 0, across, shown;
	bool meanings = false;

	for (size_t i = 0; i < completion->n; i++) {
		const size_t width = width_of(shown_part(completion, i));

		widest = width > widest ? width : widest;
		meanings = meanings || completion->items[i].meaning[0] != '\0';
	}
	/* Names of all help more than what some of them mean. */
	meanings = meanings && completion->n <= rows;
	if (widest + 2 > columns)
		widest = columns - 2;
	across = meanings ? 1 : columns / (widest + 2);
	shown = completion->n <= across * rows ? completion->n : across * (rows - 1);
	putchar('\n');
	for (size_t i = 0; i < shown; i++) {
		const char *word = shown_part(completion, i);
		const int bytes = cut_to(word, widest);
		const bool ends = (i + 1) % across == 0 || i + 1 == shown;

		printf("%.*s", bytes, word);
		if (meanings || !ends)
			printf("%*s", (int)(widest + 2 - width_of(word)), "");
		if (meanings)
			printf("%.*s",
			    cut_to(completion->items[i].meaning, columns - widest - 3),
			    completion->items[i].meaning);
		if (ends)
			putchar('\n');
	}
	if (shown < completion->n)
		printf("and %zu more\n", completion->n - shown);
	fflush(stdout);
}

static unsigned char
on_tab(EditLine *el, int ch)
{
	const LineInfo *info = lib.el_line(el);
	const size_t size = (size_t)(info->cursor - info->buffer);
	struct completion completion;
	char *typed = strndup(info->buffer, size), *text;
	unsigned char result = CC_REFRESH_BEEP;
	bool changed = false;

	(void)ch;
	if (typed == NULL)
		return CC_ERROR;
	shell_complete(editor.completer, typed, &completion);
	text = completion.n > 0 ? shell_completion_text(&completion) : NULL;
	if (text != NULL && completion.common > 0 &&
	    strcmp(text, typed + completion.start) != 0) {
		/* Characters, not bytes. */
		lib.el_deletestr(el, (int)width_of(typed + completion.start));
		changed = lib.el_insertstr(el, text) == 0;
	}
	if (changed)
		result = CC_REFRESH;
	else if (completion.n > 1) {
		list_candidates(&completion);
		result = CC_REDISPLAY;
	}
	free(text);
	free(typed);
	shell_completion_free(&completion);
	return result;
}

/* ---- the editor ----------------------------------------------------------------------- */

static unsigned char
on_ctrl_c(EditLine *el, int ch)
{
	(void)el;
	(void)ch;
	editor.stopped = true;
	return CC_EOF;
}

/* libedit's handler of the signal restores the terminal, and reads on when it continues. */
static unsigned char
on_ctrl_z(EditLine *el, int ch)
{
	(void)el;
	(void)ch;
	raise(SIGTSTP);
	return CC_REDISPLAY;
}

/* Keys are characters of UTF-8, also where the environment names no language. */
static void
set_locale(void)
{
	if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* Keys that any line editor has; ~/.editrc may change them. */
static const char *const keys[][2] = {
	{ "^R", "em-inc-search-prev" },
	{ "\\e[3~", "ed-delete-next-char" },
	{ "\\e[1~", "ed-move-to-beg" },
	{ "\\e[H", "ed-move-to-beg" },
	{ "\\eOH", "ed-move-to-beg" },
	{ "\\e[4~", "ed-move-to-end" },
	{ "\\e[F", "ed-move-to-end" },
	{ "\\eOF", "ed-move-to-end" },
	{ "\\e[1;5C", "em-next-word" },
	{ "\\e[1;5D", "ed-prev-word" },
};

/* Keys of the shell itself, in both modes of vi. */
static const struct {
	const char *key, *name, *help;
	unsigned char (*run)(EditLine *el, int ch);
} own_keys[] = {
	{ "\t", "cachex-complete", "complete the word", on_tab },
	{ "^C", "cachex-interrupt", "forget the line", on_ctrl_c },
	{ "^Z", "cachex-suspend", "stop the shell", on_ctrl_z },
};

static void
bind_keys(EditLine *el)
{
	for (size_t i = 0; i < sizeof(own_keys) / sizeof(own_keys[0]); i++)
		lib.el_set(el, EL_ADDFN, own_keys[i].name, own_keys[i].help,
		    own_keys[i].run);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		lib.el_set(el, EL_BIND, keys[i][0], keys[i][1], NULL);
	lib.el_source(el, NULL);
	for (size_t i = 0; i < sizeof(own_keys) / sizeof(own_keys[0]); i++) {
		lib.el_set(el, EL_BIND, own_keys[i].key, own_keys[i].name, NULL);
		lib.el_set(el, EL_BIND, "-a", own_keys[i].key, own_keys[i].name, NULL);
	}
}

void
editor_open(const struct shell_history *history, const struct completer *completer)
{
	HistEvent event;

	signal(SIGINT, on_interrupt);
	if (lib_load() != LC_OK) {
		report_note("%s; lines are not edited", lc_last_error()->text);
		return;
	}
	set_locale();
	editor.completer = completer;
	editor.prompt = "";
	editor.history = lib.history_init();
	editor.el = lib.el_init("cachex", stdin, stdout, stderr);
	if (editor.el == NULL || editor.history == NULL) {
		editor_close();
		return;
	}
	lib.history(editor.history, &event, H_SETSIZE, SHELL_HISTORY_MOST);
	for (size_t i = 0; i < history->n; i++)
		lib.history(editor.history, &event, H_ENTER, history->lines[i]);
	lib.el_set(editor.el, EL_PROMPT, prompt_of);
	lib.el_set(editor.el, EL_EDITOR, "emacs");
	lib.el_set(editor.el, EL_HIST, lib.history, editor.history);
	/* It restores the terminal at Ctrl-Z and other signals, and follows its size. */
	lib.el_set(editor.el, EL_SIGNAL, 1);
	bind_keys(editor.el);
	/* While a line is typed Ctrl-C and Ctrl-Z are keys like others. */
	lib.el_set(editor.el, EL_SETTY, "-d", "-isig", NULL);
}

enum editor_result
editor_read(const char *prompt, char **out)
{
	const char *line;
	int size = 0;

	if (editor.el == NULL)
		return read_plain(prompt, out);
	editor.prompt = prompt;
	editor.stopped = false;
	/* Before the prompt is shown: a key typed then is the editor's. */
	lib.el_set(editor.el, EL_PREP_TERM, 1);
	line = lib.el_gets(editor.el, &size);
	if (editor.stopped) {
		printf("^C\n");
		return EDITOR_INTERRUPTED;
	}
	if (line == NULL || size <= 0) {
		putchar('\n');
		return EDITOR_END;
	}
	free(editor.line);
	editor.line = strndup(line, strcspn(line, "\r\n"));
	*out = editor.line;
	return editor.line != NULL ? EDITOR_LINE : EDITOR_END;
}

void
editor_add(const char *line)
{
	HistEvent event;

	if (editor.el != NULL)
		lib.history(editor.history, &event, H_ENTER, line);
}

void
editor_close(void)
{
	if (editor.el != NULL)
		lib.el_end(editor.el);
	if (editor.history != NULL)
		lib.history_end(editor.history);
	free(editor.line);
	memset(&editor, 0, sizeof(editor));
}

#else

void
editor_open(const struct shell_history *history, const struct completer *completer)
{
	(void)history;
	(void)completer;
	signal(SIGINT, on_interrupt);
}

enum editor_result
editor_read(const char *prompt, char **out)
{
	return read_plain(prompt, out);
}

void
editor_add(const char *line)
{
	(void)line;
}

void
editor_close(void)
{
}

#endif
