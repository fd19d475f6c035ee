/* SPDX-License-Identifier: BSD-2-Clause */
#include "shell/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/lines.h"
#include "base/newfile.h"
#include "shell/complete.h"
#include "shell/editor.h"
#include "shell/history.h"
#include "shell/words.h"
#include "ui/input.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

#define DEEPEST 16                 /* files that read each other */
#define LONGEST ((size_t)64 << 20) /* bytes of a line */

struct shell {
	const struct shell_start *start;
	struct completer completer;
	struct shell_history history;
	bool terminal; /* lines come from a terminal, */
	bool no_input; /* or from standard input, which commands must not read then */
	bool bail, echo;
	char *module; /* that @ means, or NULL */
	int output;   /* of the commands, -1: standard output */
	int depth;    /* files that are being read */
	bool quit;
	struct lc__buf place; /* "FILE:LINE: " of the line that runs, or empty */
};

/* ---- words of a line ------------------------------------------------------------------ */

static int
replace_start(struct word *word, const char *by, size_t size)
{
	char *text = NULL;

	if (asprintf(&text, "%s%s", by, word->text + size) < 0)
		return report_no_memory();
	free(word->text);
	word->text = text;
	return EXIT_DONE;
}

/* @ is the module in use, @+b a join that begins with it; ~ is the home directory. */
static int
expand(void *ctx, struct word *word)
{
	const struct shell *shell = ctx;
	const char *home = getenv("HOME");

	if (!word->bare)
		return EXIT_DONE;
	if (word->text[0] == '~' && (word->text[1] == '/' || word->text[1] == '\0') &&
	    home != NULL)
		return replace_start(word, home, 1);
	if (word->text[0] != '@' || (word->text[1] != '\0' && word->text[1] != '+'))
		return EXIT_DONE;
	if (shell->module == NULL)
		return report_usage("no module is in use; .use MODULE says what @ means");
	return replace_start(word, shell->module, 1);
}

/* ---- commands of the shell itself ----------------------------------------------------- */

static int run_stream(struct shell *shell, int fd, const char *name);

static int
run_command(struct shell *shell, int argc, char **argv)
{
	const struct shell_child child = {
		.run = shell->start->run,
		.argc = argc,
		.argv = argv,
		.place = shell->place.size > 0 ? (char *)shell->place.data : NULL,
		.input = shell->no_input ? lc__open("/dev/null", O_RDONLY) : -1,
		.output = shell->output,
		.errors = -1,
	};
	const int status = shell_child_run(&child);

	if (child.input != -1)
		close(child.input);
	/* After the ^C that the terminal shows. */
	if (status == 128 + SIGINT && shell->terminal)
		fputc('\n', stderr);
	return status;
}

static int
dot_bail(void *ctx, int argc, char **argv)
{
	struct shell *shell = ctx;

	(void)argc;
	if (strcmp(argv[0], "on") != 0 && strcmp(argv[0], "off") != 0)
		return report_usage("'%s' is neither on nor off", argv[0]);
	shell->bail = strcmp(argv[0], "on") == 0;
	return EXIT_DONE;
}

/* A relative root stays where it is. */
static int
dot_cd(void *ctx, int argc, char **argv)
{
	const char *to = argc > 0 ? argv[0] : getenv("HOME");
	char why[OPT_TEXT_ROOM], *root = NULL, *here;

	(void)ctx;
	if (to == NULL)
		return report_usage("HOME is not set");
	if (settings.root[0] != '/') {
		here = getcwd(NULL, 0);
		if (here == NULL || asprintf(&root, "%s/%s", here, settings.root) < 0)
			root = NULL;
		free(here);
		if (root == NULL)
			return report_errno(".");
	}
	if (chdir(to) == -1) {
		free(root);
		return report_errno(to);
	}
	/* It is text and not empty, which every directory option takes. */
	if (root != NULL &&
	    !opt_assign(&global_options[0], FROM_OPTION, root, why, sizeof(why)))
		return report_usage("%s: %s", root, why);
	return EXIT_DONE;
}

static int
dot_echo(void *ctx, int argc, char **argv)
{
	struct shell *shell = ctx;

	(void)argc;
	if (strcmp(argv[0], "on") != 0 && strcmp(argv[0], "off") != 0)
		return report_usage("'%s' is neither on nor off", argv[0]);
	shell->echo = strcmp(argv[0], "on") == 0;
	return EXIT_DONE;
}

static int dot_help(void *ctx, int argc, char **argv);

static int
dot_history(void *ctx, int argc, char **argv)
{
	const struct shell *shell = ctx;
	const struct shell_history *history = &shell->history;
	uint64_t count = UINT64_MAX;
	size_t first = 0;

	if (argc > 0 && !count_parse(argv[0], &count))
		return report_usage("'%s' is not a number", argv[0]);
	if (count < history->n)
		first = history->n - (size_t)count;
	for (size_t i = first; i < history->n; i++)
		printf("%5zu  %s\n", i + 1, history->lines[i]);
	return report_finish(EXIT_DONE);
}

static int
dot_output(void *ctx, int argc, char **argv)
{
	struct shell *shell = ctx;
	const bool force = argc == 2;
	int fd = -1;

	if (force && strcmp(argv[0], "-f") != 0)
		return report_usage("too many operands: %s", argv[1]);
	if (argc > 0) {
		const char *path = argv[argc - 1];

		fd = lc__open(path,
		    O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | (force ? O_TRUNC : O_EXCL),
		    0666);
		if (fd == -1 && errno == EEXIST && lc__is_special(path))
			fd = lc__open(path, O_WRONLY | O_NOCTTY);
		if (fd == -1 && errno == EEXIST)
			return report_usage("%s: exists; -f replaces it", path);
		if (fd == -1)
			return report_errno(path);
	}
	if (shell->output != -1)
		close(shell->output);
	shell->output = fd;
	return EXIT_DONE;
}

static int
dot_quit(void *ctx, int argc, char **argv)
{
	struct shell *shell = ctx;

	(void)argc;
	(void)argv;
	shell->quit = true;
	return EXIT_DONE;
}

static int
dot_read(void *ctx, int argc, char **argv)
{
	struct shell *shell = ctx;
	int fd, status;

	(void)argc;
	if (shell->depth == DEEPEST)
		return report_usage("%s: %d files read each other already", argv[0],
		    DEEPEST);
	fd = lc__open(argv[0], O_RDONLY | O_NOCTTY);
	if (fd == -1)
		return report_errno(argv[0]);
	status = run_stream(shell, fd, argv[0]);
	close(fd);
	return status;
}

static int
dot_root(void *ctx, int argc, char **argv)
{
	static char *root; /* of the last .root: settings.root */
	char why[OPT_TEXT_ROOM], *copy;
	struct stat st;

	(void)ctx;
	if (argc == 0) {
		printf("%s\n", settings.root);
		return report_finish(EXIT_DONE);
	}
	if (stat(argv[0], &st) == 0 && !S_ISDIR(st.st_mode))
		return report_usage("%s: %s", argv[0], strerror(ENOTDIR));
	if (access(argv[0], F_OK) == -1)
		report_note("%s: there is no such directory yet", argv[0]);
	copy = strdup(argv[0]);
	if (copy == NULL)
		return report_no_memory();
	/* As --root would, for all commands that follow; the text stays. */
	if (!opt_assign(&global_options[0], FROM_OPTION, copy, why, sizeof(why))) {
		free(copy);
		return report_usage("%s: %s", argv[0], why);
	}
	free(root);
	root = copy;
	return EXIT_DONE;
}

static int
dot_use(void *ctx, int argc, char **argv)
{
	struct shell *shell = ctx;
	char *module = argc > 0 ? strdup(argv[0]) : NULL;

	if (argc > 0 && module == NULL)
		return report_no_memory();
	free(shell->module);
	shell->module = module;
	return EXIT_DONE;
}

static const struct shell_dot dots[] = {
	{ ".bail", "on|off", "end a file at the first command that fails", 'o', 1, 1,
	    dot_bail },
	{ ".cd", "[DIR]", "go to a directory, or to the home directory", 'd', 0, 1,
	    dot_cd },
	{ ".echo", "on|off", "print each line before it runs", 'o', 1, 1, dot_echo },
	{ ".help", "[COMMAND]", "explain a command, or list these", 'c', 0, 2, dot_help },
	{ ".history", "[COUNT]", "list the lines that were typed", '\0', 0, 1,
	    dot_history },
	{ ".output", "[[-f] FILE]", "write results to a file; without one, here again",
	    'f', 0, 2, dot_output },
	{ ".quit", "", "end the shell; so does Ctrl-D", '\0', 0, 0, dot_quit },
	{ ".read", "FILE", "run the lines of a file", 'f', 1, 1, dot_read },
	{ ".root", "[DIR]", "use the modules of a directory, or print which it is", 'd',
	    0, 1, dot_root },
	{ ".use", "[MODULE]", "have @ mean a module in the commands that follow", 'm', 0,
	    1, dot_use },
	{ .name = NULL },
};

static int
dot_help(void *ctx, int argc, char **argv)
{
	struct shell *shell = ctx;
	char *words[] = { (char *)"cachex", (char *)"help", NULL, NULL, NULL };

	if (argc > 0 && argv[0][0] != '.') {
		words[2] = argv[0];
		words[3] = argc > 1 ? argv[1] : NULL;
		return run_command(shell, 2 + argc, words);
	}
	for (const struct shell_dot *dot = dots; dot->name != NULL; dot++)
		if (argc == 0 || strcmp(dot->name, argv[0]) == 0)
			printf("%-9s %-12s %s\n", dot->name, dot->operands, dot->summary);
	if (argc == 0)
		printf("\nThe commands of cachex come without that word: help lists "
		       "them, help COMMAND\nexplains one. Tab completes. cachex-shell(1) "
		       "has more.\n");
	return report_finish(EXIT_DONE);
}

static int
run_dot(struct shell *shell, int argc, char **argv)
{
	const struct shell_dot *dot = dots;

	while (dot->name != NULL && strcmp(dot->name, argv[0]) != 0)
		dot++;
	if (dot->name == NULL)
		return report_usage("unknown command %s; .help lists them", argv[0]);
	if (argc - 1 < dot->least)
		return report_usage("an operand is missing: %s %s", dot->name,
		    dot->operands);
	if (argc - 1 > dot->most)
		return report_usage("too many operands: %s", argv[1 + dot->most]);
	return dot->run(shell, argc - 1, argv + 1);
}

/* ---- a line --------------------------------------------------------------------------- */

/* The words as arguments of a program; argv[0] is free. */
static int
run_words(struct shell *shell, struct words *words)
{
	const size_t first = words->n > 1 && strcmp(words->items[0].text, "cachex") == 0;
	const int argc = (int)(words->n - first + 1);
	char **argv = calloc((size_t)argc + 1, sizeof(*argv));
	int status;

	if (argv == NULL)
		return report_no_memory();
	argv[0] = (char *)"cachex";
	for (int i = 1; i < argc; i++)
		argv[i] = words->items[first + (size_t)i - 1].text;
	if (argc == 2 && (strcmp(argv[1], "quit") == 0 || strcmp(argv[1], "exit") == 0))
		status = dot_quit(shell, 0, NULL);
	else if (argv[1][0] == '.')
		status = run_dot(shell, argc - 1, argv + 1);
	else
		status = run_command(shell, argc, argv);
	free(argv);
	return status;
}

static int
run_line(struct shell *shell, const char *line)
{
	struct words words = { 0 };
	int status = words_split(line, &words) ? EXIT_DONE : report_no_memory();

	if (status == EXIT_DONE && words.quote != '\0')
		status = report_usage("the line ends between quotes: %c is missing",
		    words.quote);
	else if (status == EXIT_DONE && words.unsupported != '\0')
		status = report_usage("%c has no meaning here; quote it in a name, or "
				      ".output writes to a file",
		    words.unsupported);
	for (size_t i = 0; i < words.n && status == EXIT_DONE; i++)
		status = expand(shell, &words.items[i]);
	if (status == EXIT_DONE && words.n > 0)
		status = run_words(shell, &words);
	words_free(&words);
	return status;
}

static void
echo_line(const struct shell *shell, const char *line)
{
	fflush(stdout);
	dprintf(shell->output != -1 ? shell->output : STDOUT_FILENO, "%s\n", line);
}

/* A line that ends with a backslash continues on the next one. */
static bool
continues(const char *line)
{
	struct words words = { 0 };
	const bool more = words_split(line, &words) && words.continues;

	words_free(&words);
	return more;
}

/* Append a line to those that it continues. False if another one follows. */
static bool
complete_line(struct lc__buf *whole, const char *line)
{
	if (whole->size > 0)
		whole->size--;
	lc__buf_append(whole, line, strlen(line) + 1);
	if (whole->failed || !continues((char *)whole->data))
		return true;
	/* Without the backslash. */
	whole->size--;
	whole->data[whole->size - 1] = '\0';
	return false;
}

/* ---- lines of a file ------------------------------------------------------------------ */

static void
set_place(struct shell *shell, const char *name, uint64_t number)
{
	shell->place.size = 0;
	lc__buf_printf(&shell->place, "%s:%llu: ", name, (unsigned long long)number);
	lc__buf_append(&shell->place, "", 1);
	report_place(shell->place.failed ? NULL : (char *)shell->place.data);
}

static int
run_stream(struct shell *shell, int fd, const char *name)
{
	struct lc__lines lines = { .fd = fd,
		.path = name,
		.limit = LONGEST,
		.skip_mark = true };
	struct lc__buf whole = { 0 }, outer = shell->place;
	struct lc__text_line line;
	lc_status read = LC_OK;
	int worst = EXIT_DONE, status = EXIT_DONE;
	uint64_t first = 0;

	memset(&shell->place, 0, sizeof(shell->place));
	shell->depth++;
	while (!shell->quit && !(shell->bail && status != EXIT_DONE) && status < 128 &&
	    (read = lc__lines_next(&lines, &line)) == LC_OK) {
		first = whole.size == 0 ? lines.number : first;
		set_place(shell, name, first);
		if (strlen(line.text) != line.size) {
			status = report_error(EXIT_DATA, "the line has a NUL byte");
		} else if (!complete_line(&whole, line.text)) {
			continue;
		} else if (whole.failed) {
			status = report_no_memory();
		} else {
			if (shell->echo)
				echo_line(shell, (char *)whole.data);
			status = run_line(shell, (char *)whole.data);
		}
		worst = report_worse(worst, status);
		whole.size = 0;
		if (shell_child_signal() != 0)
			worst = status = 128 + shell_child_signal();
	}
	if (read != LC_OK && read != LC_END) {
		report_place(NULL);
		worst = report_worse(worst, report_status(read));
	} else if (read == LC_END && whole.size > 0) {
		worst = report_worse(worst,
		    report_usage("the line continues, but the file ends"));
	}
	shell->depth--;
	lc__buf_free(&whole);
	lc__buf_free(&shell->place);
	lc__lines_free(&lines);
	shell->place = outer;
	report_place(outer.size > 0 ? (char *)outer.data : NULL);
	return worst;
}

static int
run_file(struct shell *shell, const char *file)
{
	int fd, status;

	if (strcmp(file, "-") == 0) {
		shell->no_input = true;
		return run_stream(shell, STDIN_FILENO, input_name(file));
	}
	fd = lc__open(file, O_RDONLY | O_NOCTTY);
	if (fd == -1)
		return report_errno(file);
	status = run_stream(shell, fd, file);
	close(fd);
	return status;
}

/* ---- a terminal ----------------------------------------------------------------------- */

static void
run_typed(struct shell *shell)
{
	struct lc__buf whole = { 0 };
	char prompt[100], *line;
	enum editor_result result;

	while (!shell->quit && shell_child_signal() == 0) {
		snprintf(prompt, sizeof(prompt), "%s%.80s> ",
		    whole.size > 0              ? "..."
			: shell->module != NULL ? "cachex:"
						: "cachex",
		    whole.size > 0 || shell->module == NULL ? "" : shell->module);
		result = editor_read(prompt, &line);
		if (result == EDITOR_END)
			break;
		if (result == EDITOR_INTERRUPTED) {
			whole.size = 0;
			continue;
		}
		if (!complete_line(&whole, line))
			continue;
		if (whole.failed) {
			report_no_memory();
			lc__buf_free(&whole);
			continue;
		}
		if (shell_history_add(&shell->history, (char *)whole.data))
			editor_add((char *)whole.data);
		if (shell->echo)
			echo_line(shell, (char *)whole.data);
		run_line(shell, (char *)whole.data);
		whole.size = 0;
	}
	lc__buf_free(&whole);
}

static int
run_terminal(struct shell *shell)
{
	shell->terminal = true;
	shell->completer = (struct completer){ shell->start->run, expand, shell, dots };
	shell_history_open(&shell->history, shell->start->keep_history);
	editor_open(&shell->history, &shell->completer);
	if (!settings.quiet)
		printf(
		    "cachex %s, modules in %s\n.help lists commands, .quit or Ctrl-D ends\n",
		    PACKAGE_VERSION, settings.root);
	run_typed(shell);
	editor_close();
	shell_history_close(&shell->history);
	return shell_child_signal() != 0 ? 128 + shell_child_signal() : EXIT_DONE;
}

int
shell_run(const struct shell_start *start)
{
	struct shell shell = { .start = start,
		.bail = start->bail,
		.echo = start->echo,
		.output = -1 };
	int status;

	report_command(NULL);
	status = start->file != NULL ? run_file(&shell, start->file)
				     : run_terminal(&shell);
	if (shell.output != -1)
		close(shell.output);
	free(shell.module);
	return status;
}
