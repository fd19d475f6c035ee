/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static const char *id_pattern = "{stem}";
static int layout;
static const char *files_from;
static int null;
static int skip_existing;
static int strict;
static uint64_t threads = 0;
static int dry_run;

static struct opt options[] = {
	{ "", "id", OPT_TEXT, &id_pattern, .value = "PATTERN",
	    .help = "cache_id of a file; default {stem}" },
	{ "", "layout", OPT_CHOICE, &layout, .value = "chw|hwc",
	    .help = "shape of an image: channels first (what export wants) or last" },
	{ "", "files-from", OPT_FILE, &files_from, .value = "FILE",
	    .help = "read paths from FILE too, one a line; - is standard input" },
	{ "z0", "null", OPT_FLAG, &null,
	    .help = "lists of paths end their items with a NUL byte" },
	{ "", "skip-existing", OPT_FLAG, &skip_existing,
	    .help = "pass over cache_ids that are stored already" },
	{ "", "strict", OPT_FLAG, &strict,
	    .help = "stop at the first bad file" },
	{ "j", "threads", OPT_COUNT, &threads, .value = "N",
	    .help = "decode with N threads; default the number of processors, 8 at most" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "read and check everything, store nothing" },
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

const struct command cmd_import = {
	.name = "import",
	.operands = "MODULE PATH...",
	.summary = "store .npy files and images",
	.text =
	    "Stores every PATH: a .npy file, a JPEG or a PNG image, which "
	    "becomes a tensor of u8; what a file is, its first bytes tell. In a "
	    "directory it takes all files named .npy, .jpg, .jpeg or .png, and "
	    "those of the directories in it, in byte order; names that begin "
	    "with a dot are passed over. @LIST is a file with a path a line.\n"
	    "PATTERN makes the cache_id: {path} is the path below the given "
	    "directory (of a file given itself, as given), {dir} its directory "
	    "(. if there is none), {name} its last part, {stem} that without "
	    "its last extension, {ext} the extension; {{ and }} are braces. Two "
	    "files with one cache_id are an error, before anything is stored.\n"
	    "A bad file is reported and the others are stored; then the exit "
	    "status is 3.",
	.examples =
	    "cachex import photos ~/Pictures --id '{path}'\n"
	    "cachex import faces features/ --skip-existing\n"
	    "find . -name '*.npy' -print0 | cachex import faces --files-from - -0",
	.completes = "mf",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run
};
