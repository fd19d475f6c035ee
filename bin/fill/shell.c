/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/shell.h"

#include <stdbool.h>
#include <string.h>

/* Words that the shell itself knows, and no program is called by. */
static const char *const own_words[] = {
	"!", ".", ":", "[[", "alias", "bg", "break", "builtin", "case", "cd", "command",
	"continue", "do", "done", "elif", "else", "esac", "eval", "exec", "exit", "export",
	"fg", "fi", "for", "function", "getopts", "hash", "if", "in", "jobs", "local",
	"read", "readonly", "return", "select", "set", "shift", "source", "then", "time",
	"times", "trap", "type", "ulimit", "umask", "unalias", "unset", "until", "wait",
	"while", "{", "}", NULL
};

static bool
is_own(const char *word, size_t size)
{
	for (size_t i = 0; own_words[i] != NULL; i++)
		if (strlen(own_words[i]) == size && memcmp(own_words[i], word, size) == 0)
			return true;
	return false;
}

static bool
is_name(char c, bool first)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (!first && c >= '0' && c <= '9');
}

static bool
is_assignment(const char *word)
{
	size_t n = 0;

	while (is_name(word[n], n == 0))
		n++;
	return n > 0 && word[n] == '=';
}

/* The character behind what a quote or backslash begins; NULL if that does not end. */
static const char *
skip_quoted(const char *at)
{
	const char quote = *at++;

	if (quote == '\\')
		return *at != '\0' ? at + 1 : NULL;
	while (*at != '\0' && *at != quote)
		at += quote == '"' && *at == '\\' && at[1] != '\0' ? 2 : 1;
	return *at == quote ? at + 1 : NULL;
}

/* Does it end a command, or is it more than words and files are told with? */
static bool
is_operator(const char *command, const char *at)
{
	if (*at == '&')
		return at == command || (at[-1] != '>' && at[-1] != '<');
	return strchr(";|()`\n", *at) != NULL;
}

/* The end of the word; NULL if the command is not a single one. */
static const char *
end_of_word(const char *command, const char *at)
{
	while (at != NULL && *at != '\0' && *at != ' ' && *at != '\t') {
		if (is_operator(command, at))
			return NULL;
		at = strchr("'\"\\", *at) != NULL ? skip_quoted(at) : at + 1;
	}
	return at;
}

/* Where the program of a single command stands, behind what is assigned for it; NULL if
 * it is none. */
static const char *
find_program(const char *command)
{
	const char *program = NULL, *at = command, *end;

	for (; *at != '\0'; at = end + strspn(end, " \t")) {
		end = end_of_word(command, at);
		if (end == NULL)
			return NULL;
		if (program != NULL || end == at || is_assignment(at))
			continue;
		if (is_own(at, (size_t)(end - at)) || strchr("-<>#", *at) != NULL)
			return NULL;
		program = at;
	}
	return program;
}

void
lc__shell_script(const char *command, struct lc__buf *out)
{
	const char *program = find_program(command);

	if (program != NULL) {
		lc__buf_append(out, command, (size_t)(program - command));
		lc__buf_append(out, "exec ", 5);
		command = program;
	}
	lc__buf_append(out, command, strlen(command) + 1);
}
