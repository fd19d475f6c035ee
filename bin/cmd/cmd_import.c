/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/import.h"
#include "format/npy.h"
#include "ui/command.h"
#include "ui/input.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/task.h"
#include "ui/pattern.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static int format;
static const char *id_pattern = "{stem}";
static const char *id_field;
static int raw;
static const char *bits;
static uint64_t max_record = 2ull << 30;
static int layout;
static int keep_alpha;
static int elements;
static uint64_t max_pixels = LC__IMAGE_MAX_PIXELS;
static const char *files_from;
static int null;
static int skip_existing;
static struct opt_list skip_keys;
static int strict;
static int keep_going;
static uint64_t threads = 0;
static int dry_run;
static struct job_task task;

/* Images of 16 bits that became u8; the threads that decode count them. */
static _Atomic uint64_t reduced;

static const char *const formats[] = { NULL, "lmdb", "mds", "npy", "npz", "safetensors",
	"webdataset" };

static struct opt options[] = {
	{ "", "format", OPT_CHOICE, &format,
	    .value = "auto|lmdb|mds|npy|npz|safetensors|webdataset",
	    .help = "format of every PATH; auto recognises it by its content. npy means "
		    ".npy files and images, and directories of them" },
	{ "", "id", OPT_TEXT, &id_pattern, .value = "PATTERN",
	    .help = "cache_id of a .npy file or image; default {stem}" },
	{ "", "id-field", OPT_TEXT, &id_field, .value = "NAME",
	    .help = "the MDS column with the cache_id" },
	{ "", "raw", OPT_FLAG, &raw,
	    .help = "store images, and members of unknown kind, as bytes" },
	{ "", "bits", OPT_TEXT, &bits, .value = "DTYPE",
	    .help = "dtype of raw bits (V2, V1) in .npy files: bf16, f8_e4m3 and so on" },
	{ "", "max-record", OPT_SIZE, &max_record, .value = "SIZE", .least = 1,
	    .most = 2ull << 30,
	    .help = "refuse records that inflate to more; default and maximum 2G" },
	{ "", "layout", OPT_CHOICE, &layout, .value = "chw|hwc",
	    .help = "shape of an image: channels first (as export needs) or last" },
	{ "", "keep-alpha", OPT_FLAG, &keep_alpha,
	    .help = "keep an image's transparency as a channel" },
	{ "", "dtype", OPT_CHOICE, &elements, .value = "u8|u16|f32",
	    .help =
		"elements of an image: u8 keeps the upper 8 of 16 bits; u16 keeps all, "
		"and has v * 257 for 8 bits; f32 is from 0 to 1" },
	{ "", "max-pixels", OPT_COUNT, &max_pixels, .value = "N", .least = 1,
	    .help = "refuse images with more pixels" },
	{ "", "files-from", OPT_FILE, &files_from, .value = "FILE",
	    .help = "read more paths from FILE, one per line; - is standard input" },
	{ "z0", "null", OPT_FLAG, &null, .help = "paths in lists end with a NUL byte" },
	{ "", "skip-key", OPT_LIST, &skip_keys, .value = "KEY",
	    .help = "skip this record of a container, such as the count in an LMDB "
		    "environment" },
	TASK_OPTION,
	{ "", "skip-existing", OPT_FLAG, &skip_existing,
	    .help = "skip cache_ids that are already stored" },
	{ "", "strict", OPT_FLAG, &strict, .help = "stop at the first bad file" },
	{ "k", "keep-going", OPT_FLAG, &keep_going,
	    .help = "continue after files that the system cannot or may not read" },
	{ "j", "threads", OPT_COUNT, &threads, .value = "N",
	    .help =
		"decode with N threads; default the number of processors, 8 at most" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "read and check everything, store nothing" },
	MODULE_NO_CREATE,
	{ .kind = OPT_END },
};

static void
show_tally(const struct import *import, double seconds)
{
	struct json json = { stdout, false };
	char bytes[SIZE_TEXT], rate[SIZE_TEXT], unreadable[40], ignored[40];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_count(&json, "stored", import->stored);
		jw_count(&json, "skipped", import->skipped);
		jw_count(&json, "bad", import->bad);
		jw_count(&json, "unreadable", import->unreadable);
		jw_count(&json, "reduced", reduced);
		jw_count(&json, "ignored", import->ignored);
		if (task.of > 1) {
			jw_count(&json, "found", import->found);
			jw_count(&json, "taken", import->taken);
		}
		jw_count(&json, "bytes", import->bytes);
		jw_real(&json, "seconds", seconds);
		jw_flag(&json, "dry_run", dry_run);
		if (import->metadata.size > 0 && !import->metadata.failed) {
			jw_key(&json, "metadata");
			printf("{%.*s}", (int)import->metadata.size,
			    (const char *)import->metadata.data);
		}
		jw_end_line(&json);
	} else if (!settings.quiet) {
		snprintf(unreadable, sizeof(unreadable), ", %llu unreadable",
		    (unsigned long long)import->unreadable);
		snprintf(ignored, sizeof(ignored), ", %llu ignored",
		    (unsigned long long)import->ignored);
		printf("%llu %s, %llu skipped, %llu bad%s%s; %s, %s/s\n",
		    (unsigned long long)import->stored, dry_run ? "good" : "stored",
		    (unsigned long long)import->skipped, (unsigned long long)import->bad,
		    import->unreadable > 0 ? unreadable : "",
		    import->ignored > 0 ? ignored : "",
		    size_human((double)import->bytes, bytes, sizeof(bytes)),
		    size_human((double)import->bytes / seconds, rate, sizeof(rate)));
		if (task.of > 1)
			printf("task %u/%u, %llu of %llu files and containers\n",
			    (unsigned)task.number, (unsigned)task.of,
			    (unsigned long long)import->taken,
			    (unsigned long long)import->found);
	}
}

/* What the operands and lists name. */
struct operands {
	struct list lists;
	struct sources sources;
	struct containers containers;
};

static int
add_container(struct operands *operands, const char *path,
    const struct lc__incoming_format *found)
{
	return sources_count(&operands->sources)
	    ? containers_add(&operands->containers, path, found)
	    : EXIT_DONE;
}

/* A missing path, and with --keep-going a directory that cannot be read, is reported when
 * it is opened as a file. */
static int
add_operand(struct operands *operands, const char *path)
{
	const struct lc__incoming_format *found = NULL;
	struct stat st;
	lc_status status = LC_OK;

	if (strcmp(path, "-") == 0) {
		/* A tar archive is the only format that is read in one pass. */
		found = lc__incoming_named("webdataset");
		if (format != 0 && strcmp(formats[format], found->name) == 0)
			return add_container(operands, "/dev/stdin", found);
		return report_usage(
		    "-: standard input is read only as a tar archive, "
		    "with --format webdataset; use cachex put for one value");
	}
	/* Files for other tasks are not opened. */
	if (!task_has(&task, operands->sources.found) && stat(path, &st) == 0 &&
	    !S_ISDIR(st.st_mode)) {
		(void)sources_count(&operands->sources);
		return EXIT_DONE;
	}
	if (formats[format] != NULL)
		found = access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR)
		    ? lc__incoming_named(formats[format])
		    : NULL;
	else
		status = lc__incoming_of(path, &found);
	if (status != LC_OK && status != LC_NO_FILE && !keep_going)
		return report_status(status);
	if (status != LC_OK)
		found = NULL;
	return found != NULL ? add_container(operands, path, found)
			     : sources_add(&operands->sources, path);
}

static int
collect(struct operands *operands, int argc, char **argv)
{
	struct list *lists = &operands->lists;
	int status = EXIT_DONE;

	for (int i = 0; i < argc && status == EXIT_DONE; i++)
		status = argv[i][0] == '@' ? list_read(lists, argv[i] + 1, null)
					   : list_add(lists, argv[i], strlen(argv[i]));
	if (status == EXIT_DONE && files_from != NULL)
		status = list_read(lists, files_from, null);
	for (size_t i = 0; i < lists->count && status == EXIT_DONE; i++)
		status = add_operand(operands, lists->items[i].data);
	return status == EXIT_DONE ? sources_name(&operands->sources, id_pattern)
				   : status;
}

/* A column that no file has is a mistake. */
static int
check_id_field(const struct containers *containers)
{
	char spelling[80];

	for (size_t i = 0; i < containers->count; i++)
		if (strcmp(containers->items[i].format->name, "mds") == 0)
			return EXIT_DONE;
	/* The column may be in a file for another task. */
	return id_field == NULL || task.of > 1
	    ? EXIT_DONE
	    : report_usage("%s applies to mds only",
		  opt_spelling(options, &id_field, cmd_import.name, spelling,
		      sizeof(spelling)));
}

static int
import_all(struct import *import, const struct operands *operands)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);
	char images[40], spelling[80];
	double seconds;
	int status;

	if (skip_existing || dry_run)
		interrupt_resume(dry_run
			? INTERRUPT_AGAIN
			: "stored records stay; run the same command to continue");
	progress_begin("import");
	progress_phase(NULL, "files");
	import->all = operands->containers.count == 0 ? operands->sources.count : 0;
	if (threads == 0)
		threads = online < 1 ? 1 : online > 8 ? 8 : (uint64_t)online;
	status = import_files(import, &operands->sources,
	    threads < 64 ? (unsigned)threads : 64);
	if (import_goes_on(import, status) && operands->containers.count > 0)
		progress_phase(NULL, "records");
	if (import_goes_on(import, status))
		status = report_worse(status,
		    import_containers(import, &operands->containers, &operands->sources));
	if (import->unreadable > 0)
		status = report_worse(status, EXIT_SYSTEM);
	status = report_worse(status,
	    report_ignored(&operands->sources.ignored,
		import->stored + import->skipped + import->bad == 0 &&
		    (task.of == 1 || import->found == 0)));
	/* Commit after an interrupt too: the records put so far are valid. */
	progress_phase(NULL, "commit");
	status = module_close(import->cache, status);
	seconds = progress_end();
	if (reduced > 0)
		report_note("%s of 16 bits became u8; %s u16 keeps all bits",
		    count_human(reduced, "image", images, sizeof(images)),
		    opt_spelling(options, &elements, cmd_import.name, spelling,
			sizeof(spelling)));
	show_tally(import, seconds);
	return status;
}

static int
fill_how(struct lc__incoming_how *how)
{
	char spelling[80];
	lc_dtype dtype;

	*how = (struct lc__incoming_how) {
		.images = { .layout = layout ? LC__IMAGE_HWC : LC__IMAGE_CHW,
		    .keep_alpha = keep_alpha, .max_pixels = max_pixels,
		    .elements = (enum lc__image_elements)elements, .reduced = &reduced, },
		.raw = raw, .raw_dtype = LC__NPY_ANY_DTYPE, .id = id_field,
		.limit = max_record
	};
	if (bits == NULL)
		return EXIT_DONE;
	if (lc_dtype_parse(bits, &dtype) != LC_OK)
		return report_usage("%s: %s",
		    opt_spelling(options, &bits, cmd_import.name, spelling,
			sizeof(spelling)),
		    lc_last_error()->text);
	how->raw_dtype = (int)dtype;
	return EXIT_DONE;
}

static int
check_options(int operands)
{
	char why[OPT_TEXT_ROOM], spelling[80];

	if (operands == 0 && files_from == NULL)
		return report_usage("name a file or a directory");
	if (!pattern_check(id_pattern, why, sizeof(why)))
		return report_usage("%s: %s",
		    opt_spelling(options, &id_pattern, cmd_import.name, spelling,
			sizeof(spelling)),
		    why);
	return EXIT_DONE;
}

static int
run_import(int argc, char **argv)
{
	struct import import = {
		.module = argv[0],
		.strict = strict,
		.keep_going = keep_going,
		.dry_run = dry_run,
		.skip_keys = &skip_keys,
	};
	struct operands operands = { 0 };
	int status = check_options(argc - 1);

	if (status == EXIT_DONE)
		status = task_take(options, cmd_import.name, &task);
	if (status == EXIT_DONE)
		status = fill_how(&import.how);
	operands.sources.keep_going = keep_going;
	operands.sources.task = &task;
	if (status == EXIT_DONE)
		status = collect(&operands, argc - 1, argv + 1);
	if (status == EXIT_DONE)
		status = check_id_field(&operands.containers);
	if (status == EXIT_DONE && skip_existing)
		status = module_open_if_there(settings.root, argv[0], !dry_run,
		    &import.there);
	import.unreadable = operands.sources.unreadable;
	import.ignored = operands.sources.ignored.n;
	import.found = operands.sources.found;
	import.taken = operands.sources.count + operands.containers.count;
	if (status == EXIT_DONE) {
		import_drop_files(&import, &operands.sources);
		status = import_all(&import, &operands);
	}
	status = module_close(import.there, status);
	lc__buf_free(&import.metadata);
	list_free(&operands.lists);
	sources_free(&operands.sources);
	containers_free(&operands.containers);
	return status;
}

const struct command cmd_import = {
	.name = "import",
	.operands = "MODULE PATH...",
	.summary = "store .npy files, images and files of other systems",
	.text =
	    "Stores every PATH: a .npy file, or a JPEG, PNG, WebP or TIFF image, which "
	    "becomes a tensor of --dtype; the first bytes give the format. In a directory "
	    "it stores all files named .npy, .jpg, .jpeg, .png, .webp, .tif or .tiff, at "
	    "any depth, in byte order; names that begin with a dot are skipped. @LIST is "
	    "a file with one path per line.\n"
	    "A PATH may also be a file or a directory of many records: .npz, "
	    "safetensors, a WebDataset shard, a directory of MDS, an LMDB "
	    "environment of arrays or images; cachex-import(1) has the rules. Their "
	    "records keep their own cache_ids.\n"
	    "PATTERN gives the cache_id of a .npy file or an image: {path} is the "
	    "path below the given directory (the whole path of a file that was given "
	    "itself), {dir} its directory (. if it has none), {name} its last part, "
	    "{stem} that part without its last extension, {ext} the extension; {{ and }} "
	    "are braces. Two files with the same cache_id are an error before anything "
	    "is stored; a second record with the same cache_id is bad.\n"
	    "A bad file or record is reported and the others are stored; then the "
	    "exit status is 3. A file that the system cannot or may not read (an I/O "
	    "error, a missing permission) ends the import with exit status 4; with "
	    "--keep-going the others are stored. To finish an interrupted import, use "
	    "--skip-existing.\n"
	    "With --shard I/N it stores file or container P of all, counted from 0 in the "
	    "order in which they are named and found, if P modulo N is I; auto takes "
	    "I and N from a task of Slurm, Kubernetes or MPI.",
	.examples =
	    "cachex import photos ~/Pictures --id '{path}'\n"
	    "cachex import faces features/ --skip-existing\n"
	    "cachex import weights model.safetensors arrays.npz\n"
	    "find . -name '*.npy' -print0 | cachex import faces --files-from - -0",
	.completes = "mf",
	.resume =
	    "stored records stay; run the same command with --skip-existing to continue",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_import,
};
