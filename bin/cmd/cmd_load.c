/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/lines.h"
#include "ui/command.h"
#include "ui/input.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/jsonrecord.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static const char *id_field;
static int skip_existing;
static int codec;
static int level;
static int dry_run;

static struct opt options[] = {
	{ "", "id-field", OPT_TEXT, &id_field, .value = "NAME",
	    .help = "accept any JSON objects; this member is the cache_id" },
	{ "", "skip-existing", OPT_FLAG, &skip_existing,
	    .help = "skip cache_ids that are already stored" },
	{ "", "codec", OPT_CHOICE, &codec, .value = "default|" CODEC_WORDS,
	    .help = "how to store the tensors; default follows the module's settings" },
	{ "", "level", OPT_NUMBER, &level, .value = "N",
	    .help = "level of --codec: 1 to 12 better, -1 to -65537 faster, 0 default" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "read and check everything, store nothing" },
	MODULE_NO_CREATE,
	{ .kind = OPT_END },
};

/* A file of JSON lines on its way into a module. */
struct loading {
	struct lc__lines lines;
	const char *name; /* for messages */
	const char *module;
	uint64_t size;   /* of the file, 0 if unknown */
	lc_cache *cache; /* NULL while nothing has been stored */
	uint64_t stored, skipped;
};

static int
store(struct loading *loading, const struct jsonrecord *record)
{
	const lc_id id = record->id;
	lc_status status = LC_OK;
	int result;

	if (loading->cache == NULL) {
		result = module_create(loading->module, &loading->cache);
		if (result != EXIT_DONE)
			return result;
	}
	if (skip_existing)
		status = lc_contains(loading->cache, id.data, id.size);
	if (skip_existing && status == LC_OK) {
		loading->skipped++;
		return EXIT_DONE;
	}
	if (status == LC_OK || status == LC_NOT_FOUND)
		status = codec_put(loading->cache, id, record->value, codec, level);
	loading->stored += status == LC_OK;
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

static int
take_line(struct loading *loading, const struct lc__text_line *line, bool keep)
{
	struct jsonrecord record;
	lc_status status;
	int result = EXIT_DONE;

	if (line->size == 0)
		return EXIT_DONE;
	status = id_field != NULL
	    ? jsonrecord_read_any(line->text, line->size, id_field, &record)
	    : jsonrecord_read(line->text, line->size, &record);
	if (status != LC_OK)
		return report_error(status == LC_NO_MEMORY ? EXIT_SYSTEM : EXIT_DATA,
		    "%s:%llu: %s", loading->name,
		    (unsigned long long)loading->lines.number, lc_last_error()->text);
	if (keep)
		result = store(loading, &record);
	else
		loading->stored++;
	jsonrecord_free(&record);
	return result;
}

/* While it waits for a pipe, a signal may end the process at once. */
static lc_status
wait_readable(void *ctx)
{
	struct pollfd poller = {
		.fd = ((struct loading *)ctx)->lines.fd,
		.events = POLLIN,
	};

	interrupt_defer(false);
	if (!interrupt_pending())
		(void)poll(&poller, 1, -1);
	interrupt_defer(true);
	return interrupt_pending() ? lc__error(LC_CANCELLED, 0, "stopped") : LC_OK;
}

/* Read all lines; if @p keep is set, store their records. */
static int
pass(struct loading *loading, bool keep)
{
	lc_status ended = LC_OK;
	struct lc__text_line line;
	int status = EXIT_DONE;

	loading->stored = 0;
	while (status == EXIT_DONE && !interrupt_pending() &&
	    (ended = lc__lines_next(&loading->lines, &line)) == LC_OK) {
		status = take_line(loading, &line, keep);
		if (status == EXIT_DONE &&
		    progress_step(NULL, loading->lines.offset, loading->size) != 0)
			status = report_status(LC_CANCELLED);
	}
	if (status == EXIT_DONE && interrupt_pending())
		status = report_status(LC_CANCELLED);
	if (status == EXIT_DONE && ended != LC_END) {
		errno = lc_last_error()->sys != 0 ? lc_last_error()->sys : ENOMEM;
		status = report_errno(loading->name);
	}
	return status;
}

/* A file that can be read twice is checked before anything is stored. */
static int
load(struct loading *loading)
{
	struct stat st;
	char records[SIZE_TEXT];
	int status = EXIT_DONE;
	bool twice;

	if (fstat(loading->lines.fd, &st) == -1)
		return report_errno(loading->name);
	interrupt_resume(INTERRUPT_AGAIN);
	twice = S_ISREG(st.st_mode) && lseek(loading->lines.fd, 0, SEEK_CUR) == 0;
	if (twice) {
		loading->size = (uint64_t)st.st_size;
		progress_begin("load");
		progress_phase(NULL, "check");
		status = pass(loading, false);
		progress_end();
		if (status == EXIT_DONE && lc__lines_seek(&loading->lines, 0, 0) != LC_OK)
			status = report_library(EXIT_SYSTEM);
	}
	if (status != EXIT_DONE || (dry_run && twice))
		return status;
	if (!dry_run)
		interrupt_resume(skip_existing
			? "stored records stay; run the same command to continue"
			: cmd_load.resume);
	progress_begin("load");
	progress_phase(NULL, dry_run ? "check" : "store");
	status = pass(loading, !dry_run);
	status = module_close(loading->cache, status);
	progress_end();
	if (status != EXIT_DONE && !interrupt_pending() && loading->stored > 0 &&
	    !dry_run)
		report_note("%s: stored %s before that", loading->name,
		    count_human(loading->stored, "record", records, sizeof(records)));
	return status;
}

static int
run_load(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "-";
	const bool from_stdin = strcmp(path, "-") == 0;
	struct loading loading = { .module = argv[0], .name = input_name(path) };
	struct json json = { stdout, false };
	char records[SIZE_TEXT];
	int status = codec_check_level(level);

	if (status != EXIT_DONE)
		return status;
	if (from_stdin && isatty(STDIN_FILENO))
		return report_usage("standard input is a terminal; name a file "
				    "or use a pipe");
	loading.lines = (struct lc__lines){
		.path = loading.name,
		.wait = wait_readable,
		.ctx = &loading,
		.fd = from_stdin ? STDIN_FILENO : lc__open(path, O_RDONLY),
	};
	if (loading.lines.fd == -1)
		return report_errno(path);
	status = load(&loading);
	if (status == EXIT_DONE && settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "module", loading.module);
		jw_count(&json, "stored", loading.stored);
		jw_count(&json, "skipped", loading.skipped);
		jw_flag(&json, "dry_run", dry_run);
		jw_end_line(&json);
	} else if (status == EXIT_DONE && (dry_run || settings.verbose)) {
		report_note("%s %s, %llu skipped",
		    count_human(loading.stored, "record", records, sizeof(records)),
		    dry_run ? "good" : "stored", (unsigned long long)loading.skipped);
	}
	lc__lines_free(&loading.lines);
	if (!from_stdin)
		close(loading.lines.fd);
	return status;
}

const struct command cmd_load = {
	.name = "load",
	.operands = "MODULE [FILE]",
	.summary = "store the records of a dump",
	.text =
	    "Stores the records that cachex dump wrote, from FILE or standard input. A "
	    "bad line ends the command with exit status 3. A file is checked to its end "
	    "before anything is stored; from a pipe, the records before the bad "
	    "line are stored.\n"
	    "With --id-field the lines are any JSON objects: each becomes a map, "
	    "its lists of numbers become tensors (i64, or f64 with a fraction), and one "
	    "member is the cache_id.",
	.examples = "cachex load faces faces.jsonl\n"
		    "xzcat faces.jsonl.xz | cachex load faces --skip-existing\n"
		    "cachex load captions dataset.jsonl --id-field image_id",
	.completes = "mf",
	.resume =
	    "stored records stay; run the same command with --skip-existing to continue",
	.least = 1,
	.most = 2,
	.options = options,
	.run = run_load,
};
