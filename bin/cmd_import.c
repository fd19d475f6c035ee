/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "command.h"
#include "decode.h"
#include "interrupt.h"
#include "json.h"
#include "module.h"
#include "pattern.h"
#include "progress.h"
#include "report.h"
#include "settings.h"
#include "size.h"
#include "value/tensor.h"

static const char *id_pattern = "{stem}";
static int layout;
static int keep_alpha;
static uint64_t max_pixels = LC__IMAGE_MAX_PIXELS;
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
	{ "", "keep-alpha", OPT_FLAG, &keep_alpha,
	    .help = "keep an image's transparency as a channel" },
	{ "", "max-pixels", OPT_COUNT, &max_pixels, .value = "N", .least = 1,
	    .help = "refuse images of more pixels" },
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

/* What an import has done so far. */
struct tally {
	uint64_t stored, skipped, bad; /* files */
	uint64_t bytes;                /* of the tensors stored */
};

static bool
is_stored(void *ctx, const struct source *source)
{
	return lc_contains(ctx, source->id, source->id_size) == LC_OK;
}

static int
drop_existing(const char *module, struct sources *sources, struct tally *tally)
{
	lc_cache *cache;
	int status = module_open_if_there(module, &cache);

	if (status != EXIT_DONE || cache == NULL)
		return status;
	tally->skipped = sources_drop(sources, is_stored, cache);
	return module_close(cache, EXIT_DONE);
}

/* The module is made only when the first good tensor arrives. */
static int
store(const char *module, lc_cache **cache, const struct source *source,
    const lc_tensor *tensor)
{
	lc_status stored;
	int status = EXIT_DONE;

	if (dry_run)
		return EXIT_DONE;
	if (*cache == NULL)
		status = module_create(module, cache);
	if (status != EXIT_DONE)
		return status;
	stored = lc_put(*cache, source->id, source->id_size, tensor);
	return stored == LC_OK ? EXIT_DONE : report_status(stored);
}

static int
import_one(const char *module, lc_cache **cache, const struct source *source,
    const lc_tensor *tensor, struct tally *tally)
{
	char text[LC__TENSOR_TEXT];
	const int status = store(module, cache, source, tensor);

	if (status != EXIT_DONE)
		return status;
	tally->stored++;
	tally->bytes += tensor->nbytes;
	if (settings.verbose)
		report_note("%s: %s as %s", source->path, lc__tensor_describe(
		    tensor, text, sizeof(text)), lc__quote_id(source->id,
		    source->id_size));
	return EXIT_DONE;
}

/* EXIT_DATA is a bad file, after which the import may go on. */
static int
take_next(struct decode *decode, const char *module, lc_cache **cache,
    const struct source *source, struct tally *tally)
{
	struct decoded decoded;
	const lc_status status = decode_next(decode, &decoded);
	int result;

	if (status == LC_NO_MEMORY)
		return report_status(status);
	if (status != LC_OK) {
		report_status(status);
		tally->bad++;
		return EXIT_DATA;
	}
	result = import_one(module, cache, source, &decoded.tensor, tally);
	decoded_free(&decoded);
	return result;
}

static int
import_all(const char *module, const struct sources *sources,
    struct decode *decode, lc_cache **cache, struct tally *tally)
{
	int worst = EXIT_DONE;

	for (size_t i = 0; i < sources->count; i++) {
		const int status = take_next(decode, module, cache,
		    &sources->items[i], tally);
		worst = report_worse(worst, status);
		if (status > EXIT_DATA || (status != EXIT_DONE && strict))
			break;
		progress_items(i + 1, sources->count);
		if (progress_step(NULL, tally->bytes, 0) != 0)
			return interrupt_status();
	}
	return worst;
}

static unsigned
thread_count(void)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);

	if (threads > 0)
		return threads < 64 ? (unsigned)threads : 64;
	return online < 1 ? 1 : online > 8 ? 8 : (unsigned)online;
}

static void
show_tally(const struct tally *tally, double seconds)
{
	struct json json = { stdout, false };
	char bytes[SIZE_TEXT], rate[SIZE_TEXT];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_count(&json, "stored", tally->stored);
		jw_count(&json, "skipped", tally->skipped);
		jw_count(&json, "bad", tally->bad);
		jw_count(&json, "bytes", tally->bytes);
		jw_real(&json, "seconds", seconds);
		jw_flag(&json, "dry_run", dry_run);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("%llu %s, %llu skipped, %llu bad; %s, %s/s\n",
		    (unsigned long long)tally->stored,
		    dry_run ? "good" : "stored",
		    (unsigned long long)tally->skipped,
		    (unsigned long long)tally->bad,
		    size_human((double)tally->bytes, bytes, sizeof(bytes)),
		    size_human((double)tally->bytes / seconds, rate,
		    sizeof(rate)));
	}
}

static int
import_sources(const char *module, const struct sources *sources,
    struct tally *tally)
{
	const struct lc__image_options images = {
		.layout = layout ? LC__IMAGE_HWC : LC__IMAGE_CHW,
		.keep_alpha = keep_alpha, .max_pixels = max_pixels
	};
	struct decode *decode = NULL;
	lc_cache *cache = NULL;
	int status = EXIT_DONE;
	double seconds;

	progress_begin("import");
	if (sources->count > 0) {
		decode = decode_begin(sources, &images, thread_count());
		if (decode == NULL) {
			report_error("no thread can be started");
			status = EXIT_SYSTEM;
		}
	}
	if (decode != NULL)
		status = import_all(module, sources, decode, &cache, tally);
	decode_end(decode);
	/* Also when interrupted: what has been put is good, and stays. */
	status = module_close(cache, status);
	seconds = progress_end();
	show_tally(tally, seconds);
	return status;
}

static int
collect(struct sources *sources, struct list *lists, int argc, char **argv)
{
	int status = EXIT_DONE;

	for (int i = 0; i < argc && status == EXIT_DONE; i++)
		status = argv[i][0] == '@' ? list_read(lists, argv[i] + 1, null) :
		    list_add(lists, argv[i], strlen(argv[i]));
	if (status == EXIT_DONE && files_from != NULL)
		status = list_read(lists, files_from, null);
	for (size_t i = 0; i < lists->count && status == EXIT_DONE; i++)
		status = sources_add(sources, lists->items[i].data);
	return status == EXIT_DONE ? sources_name(sources, id_pattern) : status;
}

static int
run(int argc, char **argv)
{
	struct sources sources = { 0 };
	struct list lists = { 0 };
	struct tally tally = { 0 };
	char why[OPT_TEXT_ROOM], spelling[80];
	int status;

	if (argc == 1 && files_from == NULL)
		return report_usage("a file or a directory is missing");
	if (!pattern_check(id_pattern, why, sizeof(why)))
		return report_usage("%s: %s", opt_spelling(options, &id_pattern,
		    cmd_import.name, spelling, sizeof(spelling)), why);
	status = collect(&sources, &lists, argc - 1, argv + 1);
	list_free(&lists);
	if (status == EXIT_DONE && skip_existing)
		status = drop_existing(argv[0], &sources, &tally);
	if (status == EXIT_DONE)
		status = import_sources(argv[0], &sources, &tally);
	sources_free(&sources);
	return status;
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
