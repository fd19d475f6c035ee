/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static struct opt options[] = { { .kind = OPT_END } };

/*BODY*/
static int
run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return EXIT_USAGE;
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
	    "CACHEX_ROOT=/srv/cache cachex config --json | jq -r 'select(.name == \"root\").source'",
	.completes = "",
	.least = 0,
	.most = 0,
	.options = options,
	.run = run
};
