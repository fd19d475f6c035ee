/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static const char *output;
static int format;
static int bits;
static int force;

static struct opt options[] = {
	{ "o", "output", OPT_FILE, &output, .value = "FILE",
	    .help = "write here, replacing the file at once when all is written; - is "
	    "standard output" },
	{ "", "format", OPT_CHOICE, &format, .value = "npy|raw|json",
	    .help = "what to write" },
	{ "", "bits", OPT_FLAG, &bits,
	    .help = "write bf16 as u16 and f8 as u8, bit for bit: .npy has no such "
	    "types" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "write binary data to a terminal" },
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

const struct command cmd_get = {
	.name = "get",
	.operands = "MODULE CACHE_ID",
	.summary = "write a tensor",
	.text =
	    "Writes the tensor stored under CACHE_ID to standard output or to "
	    "FILE: as .npy, as raw bytes in row-major order, little-endian, or "
	    "as one JSON object with the cache_id, the dtype, the shape and the "
	    "elements. --json is short for --format json.\n"
	    "Exit status 1 says that there is no such cache_id or module, or "
	    "that the record is damaged; then nothing is written.",
	.examples =
	    "cachex get faces img-000001 -o feature.npy\n"
	    "cachex get faces img-000001 | python3 -c 'import numpy, sys, io; print(numpy.load(io.BytesIO(sys.stdin.buffer.read())).shape)'\n"
	    "cachex get faces img-000001 --format raw | xxd | head",
	.completes = "mi",
	.least = 2,
	.most = 2,
	.options = options,
	.run = run
};
