/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex shell: command lines from a terminal or a file. */
#include <string.h>
#include <unistd.h>

#include "cmd/command_line.h"
#include "shell/shell.h"
#include "ui/command.h"
#include "ui/report.h"

static int bail, echo, history = 1;

static struct opt options[] = {
	{ "", "bail", OPT_FLAG, &bail, .single_dash = true,
	    .help = "end a file of lines at the first command that fails" },
	{ "", "echo", OPT_FLAG, &echo, .help = "print each line before it runs" },
	{ "", "history", OPT_FLAG, &history,
	    .help = "do not keep the lines that are typed" },
	{ .kind = OPT_END },
};

static int
run_shell(int argc, char **argv)
{
	const bool terminal = argc == 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	const struct shell_start start = {
		.run = command_line_run,
		.file = argc > 0 ? argv[0]
		    : terminal   ? NULL
				 : "-",
		.bail = bail != 0,
		.echo = echo != 0,
		.keep_history = history != 0,
	};

	return shell_run(&start);
}

const struct command cmd_shell = {
	.name = "shell",
	.operands = "[FILE]",
	.summary = "run command lines from a terminal or a file",
	.text =
	    "Runs the commands of cachex that are typed, without the word cachex before "
	    "them; so does cachex alone on a terminal. Tab completes commands, options, "
	    "modules, keys, fields and files. Ctrl-C ends a command, Ctrl-D the shell. "
	    "The lines are kept in $XDG_STATE_HOME/cachex/history or "
	    "~/.local/state/cachex/history.\n"
	    "With FILE, or where standard input is not a terminal, it runs the lines of "
	    "that file; # begins a comment. An error begins with the file and the line. "
	    "The exit status is the worst of all commands; with --bail that of the first "
	    "one that fails, which is the last one to run.\n"
	    "Words are separated by blanks and quoted by '', \"\" and backslashes. A "
	    "backslash at its end continues a line. @ is the module that .use names. "
	    "There are no variables, patterns, pipes or redirections. Commands that "
	    "begin with a dot are of the shell itself; .help lists them.",
	.examples = "cachex\n"
		    "cachex shell --bail nightly.cachex\n"
		    "echo 'stat photos' | cachex shell",
	.completes = "f",
	.least = 0,
	.most = 1,
	.options = options,
	.run = run_shell,
};
