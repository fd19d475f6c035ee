/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cachex config, and the configuration file: lines `key = value`, where the key is an
 * option's name ("root") or a command's and an option's ("put.dtype"); # begins a comment.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/lines.h"
#include "ui/command.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/suggest.h"

/* ---- the file ---------------------------------------------------------------------- */

#define MOST (1 << 20) /* bytes of a configuration file */

/* $XDG_CONFIG_HOME/cachex/config or ~/.config/cachex/config; NULL without either. */
static const char *
config_path(void)
{
	static char path[4096];
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	int n = 0;

	if (config != NULL && *config == '/')
		n = snprintf(path, sizeof(path), "%s/cachex/config", config);
	else if (home != NULL && *home != '\0')
		n = snprintf(path, sizeof(path), "%s/.config/cachex/config", home);
	return n > 0 && (size_t)n < sizeof(path) ? path : NULL;
}

static char *
trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r");
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

/* The command that "put" or "shard.verify" names. */
static const struct command *
find_command(const char *key, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)size, key);
	for (char *p = name; *p != '\0'; p++)
		*p = *p == '.' ? ' ' : *p;
	return command_by_name(name);
}

/* The row that "root", "put.dtype" or "shard.inspect.ids" names, and its command or NULL. */
static struct opt *
find_row(const char *key, const struct command **owner)
{
	const char *dot = strrchr(key, '.');
	const struct command *command;
	struct opt *opt;
	bool negated;

	*owner = NULL;
	if (dot == NULL) {
		opt = opt_by_name(global_options, key, strlen(key), &negated);
		return opt && !negated && !settings_is_action(opt) ? opt : NULL;
	}
	*owner = command = find_command(key, (size_t)(dot - key));
	if (command == NULL)
		return NULL;
	opt = opt_by_name(command->options, dot + 1, strlen(dot + 1), &negated);
	return negated ? NULL : opt;
}

static void
explain_unknown(const char *key, char *why, size_t room)
{
	const struct command *command;
	struct suggest suggest;
	char known[80];

	suggest_start(&suggest, key);
	for (struct opt *opt = global_options; opt->kind != OPT_END; opt++)
		if (!settings_is_action(opt))
			suggest_word(&suggest, opt->name);
	for (size_t i = 0; (command = command_at(i)) != NULL; i++)
		for (struct opt *opt = command->options; opt->kind != OPT_END; opt++)
			suggest_word(&suggest,
			    opt_key(opt, command->name, known, sizeof(known)));
	if (suggest_best(&suggest) != NULL)
		snprintf(why, room, "unknown key %s; did you mean %s?", key,
		    suggest_best(&suggest));
	else
		snprintf(why, room, "unknown key %s", key);
}

/* A copy that lives until the process ends: rows keep pointers to their values. */
static const char *
keep(const char *text)
{
	static struct kept {
		struct kept *next;
		char text[];
	} * all;
	struct kept *kept = malloc(sizeof(*kept) + strlen(text) + 1);

	if (kept == NULL)
		return NULL;
	strcpy(kept->text, text);
	kept->next = all;
	all = kept;
	return kept->text;
}

static bool
apply(char *line, const struct command *only, char *why, size_t room)
{
	const struct command *owner;
	struct opt checked;
	char reason[OPT_TEXT_ROOM - 200];
	char *key = trim(line), *value;
	const char *text;
	struct opt *opt;

	if (*key == '\0' || *key == '#')
		return true;
	value = strchr(key, '=');
	if (value == NULL) {
		snprintf(why, room, "the line has no '='");
		return false;
	}
	*value++ = '\0';
	key = trim(key);
	opt = find_row(key, &owner);
	if (opt == NULL) {
		explain_unknown(key, why, room);
		return false;
	}
	text = keep(trim(value));
	/* A source with higher priority has set the option: only check the value. */
	if (only != NULL && owner != NULL && owner != only) {
		checked = *opt;
		checked.source = FROM_OPTION;
		opt = &checked;
	}
	if (text != NULL && opt_assign(opt, FROM_CONFIG, text, reason, sizeof(reason)))
		return true;
	snprintf(why, room, "%s: %s", key, text ? reason : "out of memory");
	return false;
}

static bool
apply_lines(int fd, const char *path, const struct command *only, char *why, size_t room)
{
	struct lc__lines lines = { .fd = fd, .path = path, .skip_mark = true };
	char reason[OPT_TEXT_ROOM];
	struct lc__text_line line;
	lc_status status;

	while ((status = lc__lines_next(&lines, &line)) == LC_OK)
		if (!apply(line.text, only, reason, sizeof(reason))) {
			snprintf(why, room, "%s:%llu: %s", path,
			    (unsigned long long)lines.number, reason);
			break;
		}
	if (status != LC_OK && status != LC_END)
		snprintf(why, room, "%s", lc_last_error()->text);
	lc__lines_free(&lines);
	return status == LC_END;
}

/* Ignore the settings if the home directory belongs to another user. */
static bool
is_hidden(const char *path)
{
	return access(path, F_OK) == -1 &&
	    (errno == ENOENT || errno == ENOTDIR || errno == EACCES);
}

/* Open without waiting for a FIFO or reading a device. -1 and why. */
static int
open_bounded(const char *path, char *why, size_t room)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1)
		snprintf(why, room, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		snprintf(why, room, "%s: %s", path,
		    S_ISDIR(st.st_mode) ? strerror(EISDIR) : "not a regular file");
	else if (st.st_size > MOST)
		snprintf(why, room, "%s: larger than 1 MiB", path);
	else
		return fd;
	if (fd != -1)
		close(fd);
	return -1;
}

bool
config_read(const struct command *only, char *why, size_t room)
{
	const char *path = config_path();
	bool good;
	int fd;

	if (path == NULL || is_hidden(path))
		return true;
	fd = open_bounded(path, why, room);
	if (fd == -1)
		return false;
	good = apply_lines(fd, path, only, why, room);
	close(fd);
	return good;
}

/* ---- the command ------------------------------------------------------------------- */

static struct opt options[] = { { .kind = OPT_END } };

static const char *const sources[] = { "default", "config", "environment", "option" };

/* The name of the variable or file that set it; "" if another source did. */
static const char *
origin(const struct opt *opt, const char *command, char *variable, size_t room)
{
	if (opt->source == FROM_ENVIRONMENT)
		return opt_variable(opt, command, variable, room);
	return opt->source == FROM_CONFIG ? config_path() : "";
}

static void
show(const struct opt *opt, const char *command)
{
	struct json json = { stdout, false };
	char key[80], value[OPT_TEXT_ROOM], variable[80];
	const char *from = origin(opt, command, variable, sizeof(variable));

	opt_key(opt, command, key, sizeof(key));
	opt_render(opt, value, sizeof(value));
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "name", key);
		jw_text(&json, "value", value);
		jw_text(&json, "source", sources[opt->source]);
		if (*from != '\0')
			jw_text(&json, "from", from);
		jw_end_line(&json);
		return;
	}
	printf("%-24s = %-24s # %s%s%s\n", key, value, sources[opt->source],
	    *from ? " " : "", from);
}

static void
show_table(const struct opt *table, const char *command)
{
	for (const struct opt *opt = table; opt->kind != OPT_END; opt++)
		if (!settings_is_action(opt) && !report_output_failed())
			show(opt, command);
	/* The errno of a failed write is kept here. */
	report_output_failed();
}

/* Variables of other commands have not been read, because they do not concern this
 * one. */
static int
run_config(int argc, char **argv)
{
	const struct command *c;
	char why[OPT_TEXT_ROOM];

	(void)argc;
	(void)argv;
	for (size_t i = 0; (c = command_at(i)) != NULL; i++)
		if (!opt_environment(c->options, c->name, why, sizeof(why)))
			return report_usage("%s", why);
	show_table(global_options, NULL);
	for (size_t i = 0; (c = command_at(i)) != NULL; i++)
		show_table(c->options, c->name);
	return EXIT_DONE;
}

const struct command cmd_config = {
	.name = "config",
	.operands = "",
	.summary = "show every setting and where it comes from",
	.text = "Prints each setting with its value and its source: an option, an "
		"environment variable, the configuration file, or the default. The "
		"strongest comes first in this list.\n"
		"The configuration file is $XDG_CONFIG_HOME/cachex/config, or "
		"~/.config/cachex/config. Its lines are key = value; # begins a "
		"comment. The keys are the names that this command prints.",
	.examples = "cachex config\n"
		    "CACHEX_ROOT=/srv/cache cachex config --json | jq -r "
		    "'select(.name == \"root\").source'",
	.completes = "",
	.least = 0,
	.most = 0,
	.options = options,
	.run = run_config,
};
