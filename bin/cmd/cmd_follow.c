/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "ui/command.h"
#include "cmd/reading.h"
#include "ui/report.h"
#include "cmd/stream_inputs.h"

static struct streamopts order = STREAMOPTS_DEFAULT(1);
/* Handing over single examples would cost threads more than reading them. */
static struct readopts opts = READOPTS_DEFAULT(0);
static int status_only;

static struct opt options[] = {
	{ "", "status", OPT_FLAG, &status_only,
	    .help = "say how far the inputs are, and end" },
	STREAMOPTS_ORDER(order),
	READOPTS_FORM(opts),
	READOPTS_READER(opts),
	{ .kind = OPT_END }
};

/* What was told last of how far the module is. */
static struct {
	const char *module;
	char line[STREAM_INPUTS_LINE];
} told;

static void
tell(lc_cache *cache)
{
	lc_fill fill = { .struct_size = sizeof(fill) };
	char line[STREAM_INPUTS_LINE];

	if (lc_fill_get(cache, &fill) != LC_OK)
		return;
	stream_inputs_line(&fill, line, sizeof(line));
	if (strcmp(line, told.line) == 0)
		return;
	report_note("%s: %s", told.module, line);
	strcpy(told.line, line);
}

static void
idle(struct streaming *streaming)
{
	tell(streaming->sources[0].cache);
}

static int
no_module(void)
{
	return report_usage("%s is no module: only modules grow", told.module);
}

static int
follow(struct streaming *streaming)
{
	const struct reading reading = {
		.source = told.module, .opts = &opts, .order = &order,
		.readers = 1, .follow = true, .first = UINT64_MAX,
		.last = UINT64_MAX, .count = UINT64_MAX, .idle = idle
	};
	int status;

	if (streaming->sources[0].cache == NULL)
		return no_module();
	if (status_only)
		return stream_inputs_show(streaming->sources[0].cache, told.module);
	status = reading_run(&reading, streaming);
	if (status <= EXIT_NO)
		tell(streaming->sources[0].cache);
	return status;
}

static int
run(int argc, char **argv)
{
	struct streaming streaming;
	int status;

	(void)argc;
	told.module = argv[0];
	if (streaming_is_path(argv[0]) || streaming_is_join(argv[0]))
		return no_module();
	status = streaming_open(&streaming, argv[0], &order, opts.verify);
	if (status != EXIT_DONE)
		return status;
	return streaming_close(&streaming, follow(&streaming));
}

const struct command cmd_follow = {
	.name = "follow",
	.operands = "MODULE",
	.summary = "print records as they are published",
	.text =
	    "Reads MODULE from its beginning in its final order, and goes on while it "
	    "is written, until it is final. Whenever nothing is left to read, a line "
	    "on standard error says how far it is. The exit status is 1 if nobody "
	    "writes the inputs that are not finished, unless --wait, and when "
	    "--timeout seconds brought nothing new. A module of plain puts is never "
	    "final.\n"
	    "It prints what cachex read does, in batches of one example unless said "
	    "otherwise. --status prints a line an input instead, with the cursor that "
	    "its writer committed last, and ends with status 0 if the module is final.",
	.examples =
	    "cachex follow tokens\n"
	    "cachex follow tokens --status\n"
	    "cachex follow tokens --json --timeout 60 --token-file seen.token",
	.completes = "m",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run
};
