/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static const char *dtype_name;
static const char *shape_text;
static int format;
static int dry_run;

static struct opt options[] = {
	{ "", "dtype", OPT_TEXT, &dtype_name, .value = "NAME",
	    .help = "raw bytes: their dtype (f32, u8, bf16 ...)" },
	{ "", "shape", OPT_TEXT, &shape_text, .value = "DIMS",
	    .help = "raw bytes: their shape, as 3,640,640; an empty one is a single "
	    "element" },
	{ "", "format", OPT_CHOICE, &format, .value = "auto|npy|raw",
	    .help = "what FILE holds; auto tells .npy by its first bytes" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "check the input, store nothing" },
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

const struct command cmd_put = {
	.name = "put",
	.operands = "MODULE CACHE_ID [FILE]",
	.summary = "store a tensor",
	.text =
	    "Stores the tensor in FILE, or on standard input if FILE is - or "
	    "missing, under CACHE_ID and replaces what stood there. The module "
	    "is made if it does not exist. On exit status 0 the record is on "
	    "disk.\n"
	    "FILE is a .npy file, or raw bytes in row-major order, little- "
	    "endian, described by --dtype and --shape. A Fortran-ordered or "
	    "big-endian .npy is stored in row-major order, little-endian.",
	.examples =
	    "cachex put faces img-000001 feature.npy\n"
	    "cachex put faces img-000002 --dtype f32 --shape 512 <feature.raw\n"
	    "python3 make-feature.py | cachex put faces img-000003 -",
	.completes = "mif",
	.least = 2,
	.most = 3,
	.options = options,
	.run = run
};
