/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static const char *output;

static struct opt options[] = {
	{ "o", "output", OPT_FILE, &output, .value = "FILE",
	    .help = "write here, replacing the file at once when all is written; - is "
	    "standard output" },
	{ .kind = OPT_END }
};

/*BODY*/
static int
run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return EXIT_USAGE;
}

const struct command cmd_dump = {
	.name = "dump",
	.operands = "MODULE",
	.summary = "write a module as JSON lines",
	.text =
	    "Writes every record, ordered by cache_id, as one JSON object a "
	    "line: id (id_base64 if it is not UTF-8), dtype, shape, and data: "
	    "the elements' bytes in row-major order, little-endian, in base64. "
	    "cachex load reads it.\n"
	    "A damaged record is reported and left out; then the exit status is "
	    "1 and FILE is not written.",
	.examples =
	    "cachex dump faces -o faces.jsonl\n"
	    "cachex dump faces | ssh other cachex load faces",
	.completes = "m",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run
};
