/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex push: the parts of a module, or a directory of shards, into a store. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "cmd/push_job.h"
#include "cmd/stores.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/report.h"
#include "ui/settings.h"

static const char *producer = "";
static uint64_t shard_size = PUSH_SHARD_SIZE;
static int shard_version;
static int no_metadata;
static int check;
static int first_wins;
static const char *staging;
static uint64_t threads = PUSH_THREADS;

static struct opt options[] = {
	{ "", "producer", OPT_TEXT, &producer, .value = "TEXT",
	    .help = "the program that computed the values; another text is another "
		    "run; @FILE is the content of the file" },
	{ "", "check", OPT_FLAG, &check,
	    .help = "also write the parts that the store has, compare them, and put "
		    "damaged ones again" },
	{ "", "first-wins", OPT_FLAG, &first_wins,
	    .help = "keep a part that was pushed with different contents" },
	{ "", "shard-size", OPT_SIZE, &shard_size, .value = "SIZE", .least = 4ull << 10,
	    .most = 1ull << 40,
	    .help = "target size of a shard, 4K to 1T; default 192M" },
	{ "", "shard-version", OPT_CHOICE, &shard_version, .value = "auto|1|2",
	    .help = "auto: 1 for f16 and f32 without metadata, else 2" },
	{ "", "no-metadata", OPT_FLAG, &no_metadata,
	    .help = "leave out cache_ids and block checksums" },
	{ "", "staging", OPT_DIR, &staging, .value = "DIR",
	    .help = "directory for new shards; default ROOT/.MODULE.push" },
	{ "j", "threads", OPT_COUNT, &threads, .value = "N", .least = 1, .most = 1024,
	    .help = "shards at a time" },
	STORE_OPTIONS,
	STORE_SINGLE_PUBLISHER,
	{ .kind = OPT_END },
};

/* A name without a slash is a module of the root. */
static int
push_name(const struct push_job *job, const char *name)
{
	char *path = lc__path_join(settings.root, name);
	struct stat st;
	int status;

	if (path == NULL)
		status = report_no_memory();
	else if (access(path, F_OK) == -1 && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		status = report_error(EXIT_NO,
		    "no module %s in %s; to push the directory, write ./%s", name,
		    settings.root, name);
	else
		status = push_job_module(job, settings.root, name);
	free(path);
	return status;
}

/* A path: of a module in any root, or of a directory of shards. */
static int
push_path(const struct push_job *job, const char *operand)
{
	char *data = lc__path_join(operand, "data.mdb"), *path = NULL, *slash;
	int status;

	if (data == NULL) {
		status = report_no_memory();
	} else if (access(data, F_OK) == 0) {
		/* "m/", "." and similar paths have a name too. */
		path = realpath(operand, NULL);
		if (path == NULL) {
			status = report_errno(operand);
		} else {
			slash = strrchr(path, '/');
			*slash = '\0';
			status = push_job_module(job, slash == path ? "/" : path,
			    slash + 1);
		}
	} else {
		status = push_job_shards(job, operand);
	}
	free(path);
	free(data);
	return status;
}

static int
run_push(int argc, char **argv)
{
	struct push_job job;
	int status = push_job_open(&job, argv[1], producer);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	job.how.shard_bytes = shard_size;
	job.how.shard_version = (uint32_t)shard_version;
	job.how.metadata = !no_metadata;
	job.how.threads = (unsigned)threads;
	job.staging = staging;
	job.check = check;
	job.first_wins = first_wins;
	status = strchr(argv[0], '/') != NULL ? push_path(&job, argv[0])
					      : push_name(&job, argv[0]);
	push_job_close(&job);
	return status;
}

const struct command cmd_push = {
	.name = "push",
	.operands = "MODULE URL",
	.summary = "put finished parts into a store",
	.text =
	    "Writes shards of each finished input of MODULE, and puts them into the "
	    "store URL: s3://BUCKET/PREFIX, file:///DIR, or the path of a directory. Any "
	    "number of machines may push parts of the same inputs at the same time. A part "
	    "that is in the store is skipped; with different contents it is a conflict, and "
	    "the exit status is 3. Unfinished inputs are counted. When all parts are in the "
	    "store, cachex publish makes them a generation.\n"
	    "If MODULE contains a slash, it is the path of a module, or of a directory of "
	    "shards with a part for each series.\n"
	    "Parts belong to a run: the same inputs, the same --producer and the same "
	    "options. cachex-store(5) describes the files.",
	.examples = "cachex push feats file:///mnt/store\n"
		    "cachex push feats /mnt/store --producer 'embed.py 1.4, model b'\n"
		    "cachex push ./shards /mnt/store",
	.completes = "sd",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = 2,
	.options = options,
	.run = run_push,
};
