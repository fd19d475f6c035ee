/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "ui/command.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"

static struct opt options[] = { { .kind = OPT_END } };

static const char *const sources[] = {
	"default", "config", "environment", "option"
};

/* What exactly decided: a variable's name, a file's, or nothing. */
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
		if (!settings_is_action(opt))
			show(opt, command);
}

/* The other commands' variables have not been read: they do not concern it. */
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
	.text =
	    "Prints each setting with its value and its source: an option, an "
	    "environment variable, the configuration file, or the default. The "
	    "strongest comes first in this list.\n"
	    "The configuration file is $XDG_CONFIG_HOME/cachex/config, or "
	    "~/.config/cachex/config. Its lines are key = value; # begins a "
	    "comment. The keys are the names that this command prints.",
	.examples =
	    "cachex config\n"
	    "CACHEX_ROOT=/srv/cache cachex config --json | jq -r "
	    "'select(.name == \"root\").source'",
	.completes = "",
	.least = 0,
	.most = 0,
	.options = options,
	.run = run_config
};
