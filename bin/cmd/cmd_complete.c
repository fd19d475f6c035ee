/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the completions of shells call: `cachex __complete WORD...` with the words after
 * "cachex", the last one incomplete. The first line of output says what is expected:
 * words, files or dirs. Each further line is a word, a tab, and its meaning.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "cmd/module_settings.h"
#include "ui/command.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "value/path.h"

#define MOST_IDS 500
#define MOST_RECORDS 16 /* whose fields are offered */

static struct opt options[] = { { .kind = OPT_END } };

/* The complete part of a command line. */
struct written {
	const struct command *command; /* NULL before its name */
	bool unknown;                  /* there is a word that is not a command */
	int operands;                  /* how many are complete */
	const char *module;            /* the first of them, or a command */
	struct opt *pending;           /* the option whose value is incomplete */
	bool options;                  /* no "--" yet */
};

static bool
begins(const char *word, const char *typed)
{
	return strncmp(word, typed, strlen(typed)) == 0;
}

static void
offer(const char *word, const char *meaning, const char *typed)
{
	if (begins(word, typed))
		printf("%s\t%s\n", word, meaning);
}

/* The row of an option, and whether its value is the next word. */
static struct opt *
find_option(const struct written *written, const char *word, bool *waits)
{
	struct opt *tables[] = { global_options,
		written->command ? written->command->options : NULL };
	struct opt *opt = NULL;
	bool negated = false;

	for (size_t i = 0; i < 2 && tables[i] != NULL && opt == NULL; i++)
		opt = word[1] == '-'
		    ? opt_by_name(tables[i], word + 2, strcspn(word + 2, "="), &negated)
		    : opt_by_letter(tables[i], word[strlen(word) - 1]);
	*waits = opt != NULL && opt->kind != OPT_FLAG &&
	    (word[1] != '-' || strchr(word, '=') == NULL);
	return opt;
}

/* --root changes where modules are searched. */
static void
note_root(const struct opt *opt, const char *text)
{
	if (opt != NULL && opt->target == &settings.root && *text != '\0')
		settings.root = text;
}

/* The list of commands from which the next word chooses. */
static const struct command *const *
names(const struct written *written)
{
	return written->command ? written->command->subcommands : commands;
}

static void
read_word(struct written *written, const char *word)
{
	bool waits;

	if (written->pending != NULL) {
		note_root(written->pending, word);
		written->pending = NULL;
	} else if (written->options && strcmp(word, "--") == 0) {
		written->options = false;
	} else if (written->options && word[0] == '-' && word[1] != '\0') {
		struct opt *opt = find_option(written, word, &waits);
		written->pending = waits ? opt : NULL;
		if (!waits && strchr(word, '=') != NULL)
			note_root(opt, strchr(word, '=') + 1);
	} else if (!written->unknown && names(written) != NULL) {
		written->command = command_in(names(written), word);
		written->unknown = written->command == NULL;
	} else if (written->operands++ == 0) {
		written->module = word;
	}
}

static void
offer_options(const struct opt *table, const char *typed)
{
	char name[80];

	for (const struct opt *opt = table; opt->kind != OPT_END; opt++) {
		snprintf(name, sizeof(name), "--%s", opt->name);
		offer(name, opt->help, typed);
	}
}

/* The words between bars; with @p name "codec" they become codec=none and so on. */
static void
offer_choices(const char *name, const char *choices, const char *typed)
{
	char word[80];

	while (*choices != '\0') {
		const size_t n = strcspn(choices, "|");

		snprintf(word, sizeof(word), "%s%s%.*s", name, *name ? "=" : "", (int)n,
		    choices);
		offer(word, "", typed);
		choices += n + (choices[n] == '|');
	}
}

/* ---- fields of a module's values -------------------------------------------------- */

/* Paths that were offered. */
struct offered {
	char **paths;
	size_t n, room;
};

static void
offer_field(struct offered *offered, const char *path, const lc_value *value,
    const char *typed)
{
	char meaning[100], *copy;

	for (size_t i = 0; i < offered->n; i++)
		if (strcmp(offered->paths[i], path) == 0)
			return;
	copy = strdup(path);
	if (copy == NULL ||
	    lc__array_reserve(&offered->paths, &offered->room, offered->n + 1, NULL) !=
		LC_OK) {
		free(copy);
		return;
	}
	offered->paths[offered->n++] = copy;
	lc_value_describe(value, meaning, sizeof(meaning));
	offer(path, meaning, typed);
}

/* The fields of a map, and their fields. */
static void
offer_members(struct offered *offered, struct lc__buf *path, const lc_value *map,
    const char *typed)
{
	const size_t size = path->size;

	if (lc_value_kind(map) != LC_MAP)
		return;
	for (size_t i = 0; i < lc_value_count(map); i++) {
		const lc_value *member = lc_value_at(map, i);

		lc__path_name(path, lc_value_name(map, i));
		if (!path->failed)
			offer_field(offered, lc__path_text(path), member, typed);
		offer_members(offered, path, member, typed);
		lc__path_cut(path, size);
	}
}

static int
offer_fields(const char *module, const char *typed)
{
	struct offered offered = { 0 };
	struct lc__buf path = { 0 };
	lc_cache *cache;
	lc_iter *iter;
	lc_item item;
	int status;

	puts("words");
	status = module != NULL ? module_open(module, &cache) : EXIT_NO;
	if (status != EXIT_DONE)
		return status;
	if (lc_iter_open(cache, LC_ITER_LISTED, "", 0, &iter) != LC_OK)
		return module_close(cache, report_library(EXIT_DATA));
	for (int i = 0; i < MOST_RECORDS && lc_iter_next(iter, &item) == LC_OK; i++) {
		const lc_value *value;
		lc_view view;

		if (lc_get(cache, item.id.data, item.id.size, &view) != LC_OK)
			continue;
		if (lc_view_value(&view, NULL, &value) == LC_OK)
			offer_members(&offered, &path, value, typed);
		lc_view_release(&view);
	}
	lc_iter_close(iter);
	for (size_t i = 0; i < offered.n; i++)
		free(offered.paths[i]);
	free(offered.paths);
	lc__buf_free(&path);
	return module_close(cache, EXIT_DONE);
}

static int
offer_value(const struct written *written, const char *typed)
{
	const struct opt *opt = written->pending;
	const bool files = opt->kind == OPT_FILE || opt->kind == OPT_LIST;

	if (strcmp(opt->name, "field") == 0 && strcmp(opt->value, "PATH") == 0)
		return offer_fields(written->module, typed);
	puts(files ? "files" : opt->kind == OPT_DIR ? "dirs" : "words");
	if (opt->kind == OPT_CHOICE)
		offer_choices("", opt->value, typed);
	if (opt->kind == OPT_TEXT && strcmp(opt->name, "dtype") == 0)
		for (int i = 0; i < LC_DTYPE_COUNT; i++)
			offer(lc_dtype_name((lc_dtype)i), "", typed);
	return EXIT_DONE;
}

static int
offer_commands(const struct command *const *list, const char *typed)
{
	puts("words");
	for (; list != NULL && *list != NULL; list++)
		offer(command_word(*list), (*list)->summary, typed);
	return EXIT_DONE;
}

static int
offer_modules(const char *typed)
{
	struct list modules = { 0 };
	const int status = module_list(&modules, 0, NULL);

	puts("words");
	for (size_t i = 0; i < modules.count; i++)
		offer(modules.items[i].data, "", typed);
	list_free(&modules);
	return status;
}

/* The next module of a join, "a+b+". */
static int
offer_joined(const char *typed)
{
	struct list modules = { 0 };
	const int status = module_list(&modules, 0, NULL);
	const size_t before = (size_t)(strrchr(typed, '+') + 1 - typed);

	puts("words");
	for (size_t i = 0; i < modules.count; i++) {
		const char *name = (const char *)modules.items[i].data;
		char *word = malloc(before + strlen(name) + 1);

		if (word == NULL)
			break;
		memcpy(word, typed, before);
		strcpy(word + before, name);
		offer(word, "", typed);
		free(word);
	}
	list_free(&modules);
	return status;
}

/* A module, or a path: a word with a slash, or one that no module's name begins with. */
static int
offer_sources(const char *typed)
{
	struct list modules = { 0 };
	const int status = module_list(&modules, 0, NULL);
	bool found = *typed == '\0';

	if (strchr(typed, '+') != NULL && strchr(typed, '/') == NULL) {
		list_free(&modules);
		return offer_joined(typed);
	}
	for (size_t i = 0; i < modules.count; i++)
		found = found || begins(modules.items[i].data, typed);
	list_free(&modules);
	if (found)
		return offer_modules(typed);
	puts("files");
	return status;
}

/* Only ids that a shell can read: text without control characters. */
static void
offer_id(lc_id id)
{
	const unsigned char *text = id.data;

	if (!lc__utf8_valid(id.data, id.size))
		return;
	for (size_t i = 0; i < id.size; i++)
		if (text[i] < 0x20 || text[i] == 0x7f)
			return;
	printf("%.*s\t\n", (int)id.size, (const char *)id.data);
}

static int
offer_ids(const char *module, const char *typed)
{
	lc_cache *cache;
	lc_iter *iter;
	lc_item item;
	lc_status step;
	int status = module_open(module, &cache);

	puts("words");
	if (status != EXIT_DONE)
		return status;
	step = lc_iter_open(cache, LC_ITER_LISTED, typed, strlen(typed), &iter);
	if (step != LC_OK)
		return module_close(cache, report_status(step));
	for (int i = 0; i < MOST_IDS; i++) {
		if (lc_iter_next(iter, &item) != LC_OK)
			break;
		offer_id(item.id);
	}
	lc_iter_close(iter);
	return module_close(cache, EXIT_DONE);
}

static int
offer_settings(const char *typed)
{
	char word[80];

	puts("words");
	for (size_t i = 0; module_setting_name(i) != NULL; i++) {
		if (module_setting_words(i) != NULL) {
			offer_choices(module_setting_name(i), module_setting_words(i),
			    typed);
			continue;
		}
		snprintf(word, sizeof(word), "%s=", module_setting_name(i));
		offer(word, "", typed);
	}
	return EXIT_DONE;
}

static int
offer_operand(const struct written *written, const char *typed)
{
	const char *kinds = written->command->completes;
	const struct command *command;
	const size_t n = strlen(kinds);
	const size_t at = (size_t)written->operands;
	const bool over = written->command->most >= 0 &&
	    written->operands >= written->command->most;

	switch (n == 0 || over ? '\0' : kinds[at < n ? at : n - 1]) {
	case 'm': return offer_modules(typed);
	case 's': return offer_sources(typed);
	case 'i': return offer_ids(written->module, typed);
	case 'c': return offer_commands(commands, typed);
	case 'w':
		command = command_in(commands, written->module);
		return offer_commands(command ? command->subcommands : NULL, typed);
	case 'n': return offer_settings(typed);
	case 'f': puts("files"); return EXIT_DONE;
	case 'd': puts("dirs"); return EXIT_DONE;
	default: puts("words"); return EXIT_DONE;
	}
}

static int
run_complete(int argc, char **argv)
{
	struct written written = { .options = true };
	const char *typed = argv[argc - 1];

	for (int i = 0; i < argc - 1; i++)
		read_word(&written, argv[i]);
	if (written.pending != NULL)
		return offer_value(&written, typed);
	if (written.options && typed[0] == '-') {
		puts("words");
		if (written.command != NULL)
			offer_options(written.command->options, typed);
		offer_options(global_options, typed);
		return EXIT_DONE;
	}
	if (written.unknown)
		return offer_commands(NULL, typed);
	if (names(&written) != NULL)
		return offer_commands(names(&written), typed);
	return offer_operand(&written, typed);
}

const struct command cmd_complete = {
	.name = "__complete",
	.operands = "WORD...",
	.summary = "list words for completion",
	.text = "",
	.examples = "",
	.completes = "",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_complete,
};
