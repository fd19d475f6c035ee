/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex help, and what -h, --help and --version print. */
#include "ui/command.h"

#include <stdio.h>
#include <string.h>

#include "image/image.h"
#include "lmdbcache.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"

#define WIDTH 79

/* Increased when a field of the JSON output changes its meaning or is removed. */
#define JSON_VERSION 1

/* Fill lines between the margins; `column` is the position in the line. */
static void
wrap(const char *text, int margin, int column)
{
	while (*text != '\0') {
		const int n = (int)strcspn(text, " ");
		if (column > margin && column + 1 + n > WIDTH) {
			printf("\n%*s", margin, "");
			column = margin;
		} else if (column > margin) {
			putchar(' ');
			column++;
		}
		printf("%.*s", n, text);
		column += n;
		text += n;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void
heading(const char *text)
{
	printf("\n%s%s%s\n", report_bold(stdout), text, report_plain(stdout));
}

/* "  -j, --threads N" */
static int
print_names(const struct opt *opt)
{
	int column = printf("  ");
	const char *no = "";

	for (const char *letter = opt->letters; *letter != '\0'; letter++)
		column += printf("-%c, ", *letter);
	if (opt->kind == OPT_FLAG && opt->source == FROM_DEFAULT &&
	    *(int *)opt->target != 0)
		no = *(int *)opt->target < 0 ? "[no-]" : "no-";
	column += printf("--%s%s", no, opt->name);
	if (opt->value != NULL)
		column += printf(" %s", opt->value);
	return column;
}

static void
print_options(const struct opt *table)
{
	enum { margin = 30 };

	for (const struct opt *opt = table; opt->kind != OPT_END; opt++) {
		int column = print_names(opt);

		if (column > margin - 2) {
			putchar('\n');
			column = 0;
		}
		printf("%*s", margin - column, "");
		wrap(opt->help, margin, margin);
	}
}

static void
synopsis(const struct command *command)
{
	printf("usage: cachex %s%s%s%s\n", command->name,
	    command->options[0].kind == OPT_END ? "" : " [OPTION]...",
	    *command->operands ? " " : "", command->operands);
}

static void
print_list(const struct command *const *list)
{
	for (; *list != NULL; list++)
		printf("  %-9s %s\n", command_word(*list), (*list)->summary);
}

/* ---- the same as JSON ------------------------------------------------------------- */

static const char *const kinds[] = {
	[OPT_FLAG] = "flag",
	[OPT_TEXT] = "text",
	[OPT_FILE] = "file",
	[OPT_DIR] = "directory",
	[OPT_COUNT] = "count",
	[OPT_SIZE] = "size",
	[OPT_NUMBER] = "number",
	[OPT_RATIO] = "ratio",
	[OPT_LIST] = "list",
	[OPT_CHOICE] = "choice",
};

static void
json_option(struct json *json, const struct opt *opt, const char *command)
{
	char text[80];

	jw_open(json, NULL, '{');
	jw_text(json, "name", opt->name);
	jw_text(json, "letters", opt->letters);
	jw_text(json, "kind", kinds[opt->kind]);
	if (opt->value != NULL)
		jw_text(json, "value", opt->value);
	jw_text(json, "help", opt->help);
	if (!settings_is_action(opt)) {
		jw_text(json, "variable", opt_variable(opt, command, text, sizeof(text)));
		jw_text(json, "key", opt_key(opt, command, text, sizeof(text)));
	}
	jw_close(json, '}');
}

static void
json_options(struct json *json, const struct opt *table, const char *command)
{
	jw_open(json, "options", '[');
	for (const struct opt *opt = table; opt->kind != OPT_END; opt++)
		json_option(json, opt, command);
	jw_close(json, ']');
}

static void
json_list(struct json *json, const char *key, const struct command *const *list)
{
	jw_open(json, key, '[');
	for (; list != NULL && *list != NULL; list++) {
		jw_open(json, NULL, '{');
		jw_text(json, "name", command_word(*list));
		jw_text(json, "summary", (*list)->summary);
		jw_close(json, '}');
	}
	jw_close(json, ']');
}

static int
json_command(const struct command *command)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "name", command->name);
	jw_text(&json, "operands", command->operands);
	jw_text(&json, "summary", command->summary);
	jw_text(&json, "text", command->text);
	jw_text(&json, "examples", command->examples);
	json_list(&json, "subcommands", command->subcommands);
	json_options(&json, command->options, command->name);
	jw_end_line(&json);
	return EXIT_DONE;
}

/* ---- texts --------------------------------------------------------------------------- */

int
usage_overview(void)
{
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		json_list(&json, "commands", commands);
		json_options(&json, global_options, NULL);
		jw_end_line(&json);
		return EXIT_DONE;
	}
	printf("usage: cachex [OPTION]... COMMAND [OPERAND]...\n\n");
	printf("Keeps tensors in modules, on LMDB; writes and reads TWH1 shards.\n");
	heading("Commands");
	print_list(commands);
	heading("Options of every command");
	print_options(global_options);
	heading("Exit status");
	printf(
	    "  0 done, or yes; 1 not found, or no; 2 wrong usage; 3 bad input data, or "
	    "damage\n  found; 4 the system refused; 128 and the signal's number when "
	    "interrupted\n");
	printf("\ncachex help COMMAND explains a command; so does cachex(1).\n");
	return EXIT_DONE;
}

int
usage_short(const struct command *command)
{
	if (settings.json)
		return json_command(command);
	synopsis(command);
	printf("%s\n", command->summary);
	if (command->subcommands != NULL)
		print_list(command->subcommands);
	if (command->options[0].kind != OPT_END)
		print_options(command->options);
	printf("cachex help %s says more; cachex -h lists the options of every command\n",
	    command->name);
	return EXIT_DONE;
}

int
usage_full(const struct command *command)
{
	char variable[80], key[80], line[2000];

	if (settings.json)
		return json_command(command);
	synopsis(command);
	printf("%s\n", command->summary);
	/* Each line is a paragraph. */
	for (const char *text = command->text; *text != '\0';) {
		const size_t n = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		putchar('\n');
		wrap(line, 0, 0);
		text += n + (text[n] == '\n');
	}
	if (command->subcommands != NULL) {
		heading("Subcommands");
		print_list(command->subcommands);
	}
	if (command->options[0].kind != OPT_END) {
		heading("Options");
		print_options(command->options);
	}
	heading("Options of every command");
	print_options(global_options);
	if (command->options[0].kind != OPT_END)
		heading("Environment and configuration");
	for (const struct opt *opt = command->options; opt->kind != OPT_END; opt++)
		printf("  %-30s  %s\n",
		    opt_variable(opt, command->name, variable, sizeof(variable)),
		    opt_key(opt, command->name, key, sizeof(key)));
	heading("Examples");
	for (const char *text = command->examples; *text != '\0';) {
		const size_t n = strcspn(text, "\n");

		printf("  %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
	if (command->subcommands != NULL)
		printf("\ncachex help %s WORD explains a subcommand.\n", command->name);
	printf("\nSee also cachex-%.*s(1).\n", (int)strcspn(command->name, " "),
	    command->name);
	return EXIT_DONE;
}

int
usage_version(void)
{
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "version", lc_version());
		jw_count(&json, "json", JSON_VERSION);
		jw_open(&json, "images", '[');
	} else {
		printf("cachex %s\nimages:", lc_version());
	}
	for (int i = LC__IMAGE_NONE + 1; i < LC__IMAGE_TYPES; i++) {
		if (lc__image_formats[i].built && settings.json)
			jw_text(&json, NULL, lc__image_formats[i].name);
		else if (lc__image_formats[i].built)
			printf(" %s", lc__image_formats[i].name);
	}
	if (settings.json) {
		jw_close(&json, ']');
		jw_end_line(&json);
	} else {
		putchar('\n');
	}
	return EXIT_DONE;
}

/* ---- the command ------------------------------------------------------------------- */

static struct opt options[] = { { .kind = OPT_END } };

static int
run_help(int argc, char **argv)
{
	const struct command *command, *found;

	if (argc == 0)
		return usage_overview();
	command = command_in(commands, argv[0]);
	if (command == NULL)
		return command_unknown(argv[0]);
	if (argc == 1)
		return usage_full(command);
	if (command->subcommands == NULL)
		return report_usage("too many operands: %s", argv[1]);
	found = command_in(command->subcommands, argv[1]);
	return found != NULL ? usage_full(found) : command_unknown_word(command, argv[1]);
}

const struct command cmd_help = {
	.name = "help",
	.operands = "[COMMAND [WORD]]",
	.summary = "explain a command",
	.text = "Explains COMMAND, or its subcommand WORD; without them it lists the "
		"commands.",
	.examples = "cachex help put\n"
		    "cachex help shard extract",
	.completes = "cw",
	.least = 0,
	.most = 2,
	.options = options,
	.run = run_help,
};
