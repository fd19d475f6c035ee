/* SPDX-License-Identifier: BSD-2-Clause */
#include "shell/complete.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/lines.h"
#include "base/listdir.h"
#include "ui/report.h"

static bool
begins(const char *word, const char *typed)
{
	return strncmp(word, typed, strlen(typed)) == 0;
}

static void
offer(struct completion *out, const char *word, const char *meaning)
{
	struct candidate candidate = { strdup(word), strdup(meaning) };

	if (candidate.word != NULL && candidate.meaning != NULL &&
	    lc__array_reserve(&out->items, &out->room, out->n + 1, NULL) == LC_OK) {
		out->items[out->n++] = candidate;
		return;
	}
	free(candidate.word);
	free(candidate.meaning);
}

/* Names of the directory that the typed path names; a candidate has its beginning, too. */
static void
offer_files(struct completion *out, const char *typed, bool only_directories)
{
	const char *slash = strrchr(typed, '/');
	const size_t before = slash != NULL ? (size_t)(slash + 1 - typed) : 0;
	const char *home = out->home ? getenv("HOME") : NULL;
	struct lc__dir dir;
	struct lc__dir_list list = { 0 };
	const struct dirent *entry;
	char *path = NULL, *word;

	if (asprintf(&path, "%s%.*s",
		home != NULL     ? home
		    : before > 0 ? ""
				 : ".",
		home != NULL ? (int)before - 1 : (int)before,
		home != NULL ? typed + 1 : typed) < 0)
		return;
	if (lc__dir_open(path, &dir) == LC_OK) {
		while (lc__dir_next(&dir, &entry) == LC_OK && entry != NULL)
			if (begins(entry->d_name, typed + before) &&
			    (entry->d_name[0] != '.' || typed[before] == '.') &&
			    lc__dir_list_add(&list, entry) != LC_OK)
				break;
		lc__dir_list_sort(&list);
		for (size_t i = 0; i < list.n; i++) {
			struct stat st;
			const bool directory = fstatat(dir.fd, list.entries[i].name, &st,
						   0) == 0 &&
			    S_ISDIR(st.st_mode);

			if ((directory || !only_directories) &&
			    asprintf(&word, "%.*s%s%s", (int)before, typed,
				list.entries[i].name, directory ? "/" : "") >= 0) {
				offer(out, word, "");
				free(word);
			}
		}
		lc__dir_list_free(&list);
		lc__dir_close(&dir);
	}
	free(path);
}

/* The answer of __complete: "words", "files" or "dirs", then "WORD\tMEANING". */
static void
read_answer(struct completion *out, int fd, const char *typed)
{
	struct lc__lines lines = { .fd = fd, .path = "completion" };
	struct lc__text_line line;

	while (lc__lines_next(&lines, &line) == LC_OK) {
		char *tab = strchr(line.text, '\t');

		if (lines.number == 1 && strcmp(line.text, "words") != 0)
			offer_files(out, typed, strcmp(line.text, "dirs") == 0);
		if (lines.number == 1 || tab == NULL)
			continue;
		*tab = '\0';
		offer(out, line.text, tab + 1);
	}
	lc__lines_free(&lines);
}

/* Ask a child with these words, of which the last is unfinished. */
static void
ask_command(const struct completer *completer, struct completion *out, size_t n,
    const struct word *words)
{
	struct shell_child child = { .run = completer->run, .input = -1 };
	char **argv = calloc(n + 3, sizeof(*argv));

	child.argv = argv;
	child.output = memfd_create("completion", MFD_CLOEXEC);
	child.errors = lc__open("/dev/null", O_WRONLY);
	if (argv != NULL && child.output != -1 && child.errors != -1) {
		argv[0] = (char *)"cachex";
		argv[1] = (char *)"__complete";
		for (size_t i = 0; i < n; i++)
			argv[2 + i] = words[i].text;
		child.argc = (int)n + 2;
		shell_child_run(&child);
		if (lseek(child.output, 0, SEEK_SET) == 0)
			read_answer(out, child.output, words[n - 1].text);
	}
	if (child.output != -1)
		close(child.output);
	if (child.errors != -1)
		close(child.errors);
	free(argv);
}

static void
offer_word(struct completion *out, const char *word, const char *meaning,
    const char *typed)
{
	if (begins(word, typed))
		offer(out, word, meaning);
}

/* The first operand of a command of the shell itself. */
static void
complete_dot(const struct completer *completer, struct completion *out,
    const struct words *words)
{
	const struct shell_dot *dot = completer->dots;
	struct word asked[2] = { { .text = (char *)"help" }, words->items[words->n - 1] };
	const char *typed = asked[1].text;

	if (words->n == 1) {
		for (; dot->name != NULL; dot++)
			offer_word(out, dot->name, dot->summary, typed);
		return;
	}
	while (dot->name != NULL && strcmp(dot->name, words->items[0].text) != 0)
		dot++;
	if (dot->name == NULL || words->n > 2)
		return;
	switch (dot->argument) {
	case 'm': asked[0].text = (char *)"ls"; /* fallthrough */
	case 'c': ask_command(completer, out, 2, asked); break;
	case 'f': offer_files(out, typed, false); break;
	case 'd': offer_files(out, typed, true); break;
	case 'o':
		offer_word(out, "on", "", typed);
		offer_word(out, "off", "", typed);
		break;
	default: break;
	}
}

static void
find_common(struct completion *out)
{
	out->common = out->n > 0 ? strlen(out->items[0].word) : 0;
	for (size_t i = 1; i < out->n; i++) {
		size_t same = 0;

		while (same < out->common &&
		    out->items[i].word[same] == out->items[0].word[same])
			same++;
		out->common = same;
	}
	/* Not in the middle of a character of UTF-8. */
	while (out->common > 0 && (out->items[0].word[out->common] & 0xc0) == 0x80)
		out->common--;
}

void
shell_complete(const struct completer *completer, const char *line,
    struct completion *out)
{
	struct words words = { 0 };
	struct word *last;
	size_t first;

	memset(out, 0, sizeof(*out));
	if (!words_split(line, &words))
		goto end;
	if (words.comment)
		goto end;
	if (!words.open) {
		if (lc__array_reserve(&words.items, &words.room, words.n + 1, NULL) !=
		    LC_OK)
			goto end;
		words.items[words.n++] = (struct word){ strdup(""), strlen(line), false };
	}
	last = &words.items[words.n - 1];
	if (last->text == NULL)
		goto end;
	out->start = last->start;
	out->quote = words.quote;
	out->home = last->bare && begins(last->text, "~/");
	for (size_t i = 0; i < words.n; i++)
		if (completer->expand != NULL &&
		    !(out->home && &words.items[i] == last) &&
		    completer->expand(completer->ctx, &words.items[i]) != EXIT_DONE)
			goto end;
	first = words.n > 1 && strcmp(words.items[0].text, "cachex") == 0 ? 1 : 0;
	if (words.items[0].text[0] == '.')
		complete_dot(completer, out, &words);
	else
		ask_command(completer, out, words.n - first, words.items + first);
	find_common(out);
end:
	words_free(&words);
}

char *
shell_completion_text(const struct completion *completion)
{
	const char quote[] = { completion->quote, '\0' };
	const char *word = completion->items[0].word;
	const char last = completion->common > 0 ? word[completion->common - 1] : '\0';
	const bool whole = completion->n == 1 && last != '/' && last != '=';
	char *common = strndup(word, completion->common), *quoted = NULL, *text = NULL;

	/* A tilde that is quoted does not mean the home directory. */
	if (common != NULL)
		quoted = words_quote(common + (completion->home ? 1 : 0),
		    completion->quote);
	if (quoted != NULL &&
	    asprintf(&text, "%s%s%s%s%s", completion->home ? "~" : "", quote, quoted,
		whole ? quote : "", whole ? " " : "") < 0)
		text = NULL;
	free(common);
	free(quoted);
	return text;
}

void
shell_completion_free(struct completion *completion)
{
	for (size_t i = 0; i < completion->n; i++) {
		free(completion->items[i].word);
		free(completion->items[i].meaning);
	}
	free(completion->items);
	memset(completion, 0, sizeof(*completion));
}
