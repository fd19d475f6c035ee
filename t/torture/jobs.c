/* SPDX-License-Identifier: BSD-2-Clause */
#include "jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record_io.h"
#include "replay_log.h"
#include "sample.h"
#include "base/buf.h"
#include "base/fileio.h"
#include "torture.h"

#define WORDS_MAX 32

/* ---- programs ----------------------------------------------------------------------- */

/* Nothing of the user's, and the same in every run. */
static void
set_environment(const char *dir)
{
	static const char *const homes[] = { "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME" };
	extern char **environ;
	char home[PATH_MAX];

	for (size_t i = 0; environ[i] != NULL;) {
		char name[200];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(environ[i], "="),
		    environ[i]);
		if (strncmp(name, "CACHEX", 6) == 0 || strncmp(name, "WAREHOUSE_", 10) == 0)
			need(unsetenv(name) == 0);
		else
			i++;
	}
	snprintf(home, sizeof(home), "%s/home", dir);
	for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++)
		need(setenv(homes[i], home, 1) == 0);
	need(setenv("SOURCE_DATE_EPOCH", "1700000000", 1) == 0);
}

/* Output goes to the file `said` beside the working directory. */
static void
exec_words(const char *dir, const char *program, const char *command,
    const struct job_run *run)
{
	char *words[WORDS_MAX + 1] = { (char *)(uintptr_t)program };
	char text[2000], said[PATH_MAX], *rest = text, *word;
	size_t n = 1;
	int fd;

	snprintf(text, sizeof(text), "%s", command);
	while ((word = strsep(&rest, " ")) != NULL) {
		need(n < WORDS_MAX);
		words[n++] = word;
	}
	snprintf(said, sizeof(said), "%s/said", dir);
	fd = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	need(fd != -1 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2);
	fd = open("/dev/null", O_RDONLY);
	need(fd != -1 && dup2(fd, 0) == 0);
	if (run != NULL && run->begin != NULL)
		run->begin(run->ctx);
	execvp(program, words);
	_exit(127);
}

static void
print_said(const char *dir)
{
	char path[PATH_MAX], line[500];
	FILE *file;

	snprintf(path, sizeof(path), "%s/said", dir);
	file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		fprintf(stderr, "#   %s", line);
	if (file != NULL)
		fclose(file);
}

/* Run a program in the directory of the job that is being made. */
struct program {
	const char *name, *words;
};

static void
exec_program(void *ctx)
{
	const struct program *program = ctx;

	set_environment(".");
	exec_words(".", program->name, program->words, NULL);
}

static void
run_program(const char *name, const char *words)
{
	struct program program = { name, words };

	if (child_run(exec_program, &program) != 0) {
		fprintf(stderr, "# failed: %s %s\n", name, words);
		print_said(".");
		need(!"a program that makes a job");
	}
}

static void
cachex(const char *words)
{
	run_program(torture_built("cachex"), words);
}

void
job_copy(const char *from, const char *to)
{
	char words[2 * PATH_MAX];

	snprintf(words, sizeof(words), "-a %s %s", from, to);
	run_program("cp", words);
}

/* ---- what jobs start from ------------------------------------------------------------- */

/* Records of any shape, ids of any bytes. Later versions overwrite earlier ones. */
static void
make_samples(const char *root, const char *module, unsigned first, unsigned n,
    uint64_t version, uint64_t *random)
{
	const struct sample_range sizes = { 8, 5000 };
	lc_options options = sample_options();
	char id[SAMPLE_ID_ROOM];
	lc_cache *cache;

	options.flush_every = 8;
	cache = sample_open(root, module, &options);
	for (unsigned i = 0; i < n; i++) {
		const unsigned key = first + (unsigned)(run_random(random) % n);
		const size_t size = sample_id(id, key);

		need_ok(sample_put(cache, id, size, version, sizes));
	}
	need_ok(lc_close(cache));
}

/* Records r0 ... of one shape, which every format has. */
static void
make_tensors(const char *root, const char *module, unsigned first, unsigned n,
    uint64_t seed)
{
	const uint64_t shape[3] = { 3, 8, 8 };
	lc_options options = sample_options();
	float data[3 * 8 * 8];
	lc_cache *cache;
	lc_tensor tensor;

	options.flush_every = 9;
	cache = sample_open(root, module, &options);
	for (unsigned i = first; i < first + n; i++) {
		char id[20];

		snprintf(id, sizeof(id), "r%u", i);
		for (unsigned j = 0; j < 3 * 8 * 8; j++)
			data[j] = (float)(run_random(&seed) % 1000);
		need_ok(lc_tensor_init(&tensor, LC_F32, 3, shape, data));
		need_ok(lc_put(cache, id, strlen(id), &tensor));
	}
	need_ok(lc_close(cache));
}

static void
make_module(const char *dir, uint64_t seed)
{
	(void)dir;
	make_samples("state", "m", 0, 40, 1, &seed);
	make_samples("state", "m", 0, 40, 2, &seed);
}

static void
make_modules(const char *dir, uint64_t seed)
{
	(void)dir;
	make_samples("state", "a", 0, 40, 1, &seed);
	make_samples("state", "b", 20, 40, 2, &seed);
	make_samples("state", "c", 40, 40, 3, &seed);
}

/* One flipped bit in a record's bytes, one in another's. */
static void
make_damaged(const char *dir, uint64_t seed)
{
	char bytes[4096];
	off_t size;
	int fd;

	make_module(dir, seed);
	fd = open("state/m/data.mdb", O_RDWR);
	need(fd != -1);
	size = lseek(fd, 0, SEEK_END);
	/* Pages that are no pages of trees, but of values. */
	for (unsigned flips = 0; flips < 2;) {
		const off_t at = (off_t)(run_random(&seed) % (uint64_t)(size / 4096)) * 4096;
		const unsigned byte = (unsigned)(run_random(&seed) % 4096);

		need(pread(fd, bytes, sizeof(bytes), at) == (ssize_t)sizeof(bytes));
		if (at < 8192 || bytes[10] != 4)
			continue;
		flips++;
		bytes[100 + byte % 3900] ^= (char)(1 << byte % 8);
		need(pwrite(fd, bytes, sizeof(bytes), at) == (ssize_t)sizeof(bytes));
	}
	close(fd);
}

static void
make_plain(const char *dir, uint64_t seed)
{
	(void)dir;
	make_tensors("in", "m", 0, 40, seed);
}

/* The target has an older one, of fewer records. */
static void
make_npz(const char *dir, uint64_t seed)
{
	make_plain(dir, seed);
	make_tensors("in", "old", 0, 7, seed + 1);
	cachex("--root in export old state/out.npz");
}

static void
make_put(const char *dir, uint64_t seed)
{
	(void)dir;
	make_tensors("state", "m", 0, 20, seed);
	make_tensors("in", "other", 0, 5, seed + 1);
	cachex("--root in get other r3 -o in/r3.npy");
}

/* What is imported replaces some records. */
static void
make_import(uint64_t seed)
{
	make_tensors("in", "m", 0, 40, seed);
	make_tensors("state", "m", 30, 40, seed + 1);
}

static void
make_import_npy(const char *dir, uint64_t seed)
{
	(void)dir;
	make_import(seed);
	cachex("--root in export m in/files --format npy");
}

static void
make_import_npz(const char *dir, uint64_t seed)
{
	(void)dir;
	make_import(seed);
	cachex("--root in export m in/m.npz");
}

static void
make_import_webdataset(const char *dir, uint64_t seed)
{
	(void)dir;
	make_import(seed);
	cachex("--root in export m in/files --format webdataset --shard-records 9");
}

static void
make_import_mds(const char *dir, uint64_t seed)
{
	(void)dir;
	make_import(seed);
	cachex("--root in export m in/files --format mds --shard-records 9");
}

static void
make_load(const char *dir, uint64_t seed)
{
	(void)dir;
	make_import(seed);
	cachex("--root in dump m -o in/m.dump");
}

static void
make_records(const char *dir, uint64_t seed)
{
	char words[PATH_MAX + 100];

	(void)dir;
	need(setenv("plain", "1", 1) == 0);
	snprintf(words, sizeof(words), "60 %llu", (unsigned long long)seed);
	run_program(torture_built("t/support/mkrecords"), words);
	need(rename("said", "state/records.jsonl") == 0);
}

static void
write_lines(const char *path, unsigned first, unsigned n)
{
	FILE *file = fopen(path, "w");

	need(file != NULL);
	for (unsigned i = 0; i < n; i++)
		fprintf(file, "line%u\n", first + i);
	need(fclose(file) == 0);
}

static void
make_ids(const char *dir, uint64_t seed)
{
	(void)dir;
	write_lines("in/ids", (unsigned)(seed % 1000), 70);
}

static void
make_shards(const char *dir, uint64_t seed)
{
	(void)dir;
	write_lines("in/s0.txt", 0, 20 + (unsigned)(seed % 40));
	write_lines("in/s1.txt", 1000, 33);
	write_lines("in/s2.txt", 2000, 4);
}

static void
set_producer(void)
{
	char producer[PATH_MAX + 200];

	snprintf(producer, sizeof(producer), "%s good", torture_built("t/support/bad_producer"));
	need(setenv("PRODUCER", producer, 1) == 0);
}

/* A module that is final: what follows it ends. */
static void
make_final(const char *dir, uint64_t seed)
{
	make_shards(dir, seed);
	set_producer();
	cachex("--root in fill -q m --exec $PRODUCER --from in/s0.txt --from in/s1.txt "
	    "--from in/s2.txt --chunk 16 -b 5");
}

/* Parts of one list in modules of two roots. */
static void
make_parts(const char *dir, uint64_t seed)
{
	make_shards(dir, seed);
	set_producer();
	for (int i = 0; i < 2; i++) {
		char text[200];

		snprintf(text, sizeof(text), "--root in/p%d fill -q m --exec $PRODUCER --shard %d/2 "
		    "--from in/s0.txt --from in/s1.txt --from in/s2.txt --chunk 16 -b 5", i, i);
		cachex(text);
	}
}

static void
make_exported(const char *dir, uint64_t seed)
{
	make_plain(dir, seed);
	cachex("--root in export m in/out");
}

static void
make_dataset(const char *dir, uint64_t seed)
{
	(void)dir, (void)seed;
	run_program(torture_built("t/support/mkdataset"), "make in/set 6");
}

/* A warehouse of an older dataset. */
static void
make_dataset_changed(const char *dir, uint64_t seed)
{
	make_dataset(dir, seed);
	need(chdir("state") == 0);
	cachex("build ../in/set wh --size 48x32 --shard-size 16K -q");
	need(chdir("..") == 0);
	run_program(torture_built("t/support/mkdataset"), "frame in/set a 3 20 20 1 77");
	run_program(torture_built("t/support/mkdataset"), "settle in/set");
}

static void
make_versions(const char *dir, uint64_t seed)
{
	make_dataset_changed(dir, seed);
	need(chdir("state") == 0);
	cachex("build ../in/set wh --size 48x32 --shard-size 16K -q");
	need(chdir("..") == 0);
}

/* The link in/old names the version that is not current. */
static void
make_older(const char *dir, uint64_t seed)
{
	char target[200];
	ssize_t size;

	make_dataset_changed(dir, seed);
	size = readlink("state/wh/current", target, sizeof(target) - 1);
	need(size > 0);
	target[size] = '\0';
	need(symlink(target, "in/old") == 0);
	need(chdir("state") == 0);
	cachex("build ../in/set wh --size 48x32 --shard-size 16K -q");
	need(chdir("..") == 0);
}

const struct job jobs[] = {
	{ "backup", make_module, "backup m to", JOB_ONCE, NULL, NULL },
	{ "backup-compact", make_module, "backup -c m to", JOB_ONCE, NULL, NULL },
	{ "build", make_dataset, "build ../in/set wh --size 48x32 --shard-size 16K -j 2",
	    0, NULL, NULL },
	{ "build-again", make_dataset_changed,
	    "build ../in/set wh --size 48x32 --shard-size 16K -j 2", 0, NULL, NULL },
	{ "clear", make_module, "clear -f m", JOB_WHOLE, NULL, NULL },
	{ "compact", make_module, "compact --live-ratio 1 --chunk-bytes 64K m", 0, NULL, NULL },
	{ "copy", make_modules, "copy --conflict replace a b", 0, NULL, NULL },
	{ "create", make_plain, "set -c fresh codec=lz4", 0, NULL, NULL },
	{ "dump", make_plain, "--root ../in dump -f m -o m.dump", 0, NULL, NULL },
	{ "export", make_plain, "--root ../in export m out --shard-size 8K -j 2", 0, NULL, NULL },
	{ "export-mds", make_plain,
	    "--root ../in export -f m out --format mds --shard-records 9", 0, NULL, NULL },
	{ "export-npy", make_plain, "--root ../in export -f m out --format npy",
	    JOB_LATE, NULL, NULL },
	{ "export-npz", make_npz, "--root ../in export -f m out.npz", 0, NULL, NULL },
	{ "export-safetensors", make_plain, "--root ../in export -f m out.safetensors", 0,
	    NULL, NULL },
	{ "export-webdataset", make_plain,
	    "--root ../in export -f m out --format webdataset --shard-records 9", 0, NULL, NULL },
	{ "fill", make_ids, "fill m --exec $PRODUCER --ids ../in/ids -j 2 -b 5", 0, NULL, NULL },
	{ "fill-from", make_shards, "fill m --exec $PRODUCER --from ../in/s0.txt "
	    "--from ../in/s1.txt --from ../in/s2.txt --chunk 16 -j 2 -b 5", 0, NULL, NULL },
	{ "extract", make_exported, "shard extract ../in/out/shard-000000.twh1 --output out -f",
	    JOB_LATE, NULL, NULL },
	{ "follow", make_final, "--root ../in follow m --sum -b 4 --token-file token", 0, NULL,
	    "token" },
	{ "get", make_put, "get -f m r3 -o r3.npy", 0, NULL, NULL },
	{ "import-mds", make_import_mds, "import m ../in/files", 0, NULL, NULL },
	{ "import-npy", make_import_npy, "import m ../in/files", 0, NULL, NULL },
	{ "import-npz", make_import_npz, "import m ../in/m.npz", 0, NULL, NULL },
	{ "import-webdataset", make_import_webdataset, "import m ../in/files", 0, NULL, NULL },
	{ "load", make_load, "load m ../in/m.dump", 0, NULL, NULL },
	{ "merge", make_modules, "merge --conflict replace a b c d", 0, NULL, NULL },
	{ "merge-inputs", make_parts, "merge --inputs ../in/p0/m ../in/p1/m m", 0, NULL, NULL },
	{ "migrate", make_records, "migrate stage2 records.jsonl --out out --shape 4", 0,
	    NULL, NULL },
	{ "prune", make_versions, "warehouse prune -f wh --keep 1", 0, NULL, NULL },
	{ "put", make_put, "put m r3 ../in/r3.npy", 0, NULL, NULL },
	{ "read-follow", make_final,
	    "--root ../in read m --follow --npy out -f -b 4 -j 2 --token-file token", 0, NULL,
	    "token" },
	{ "recode", make_module, "compact --live-ratio 1 --recode lz4 m", 0, NULL, NULL },
	{ "recover", make_damaged, "recover m", 0, "m", NULL },
	{ "rm", make_put, "rm -f m r1 r2 r7", JOB_ONCE, NULL, NULL },
	{ "shrink", make_module, "compact --live-ratio 1 --shrink m", 0, NULL, NULL },
	{ "token", make_plain, "--root ../in read m --sum -b 4 --token-file token", 0, NULL,
	    "token" },
	{ "use", make_older, "warehouse use wh $OLD", 0, NULL, NULL },
	{ NULL, NULL, NULL, 0, NULL, NULL }
};

_Static_assert(sizeof(jobs) / sizeof(jobs[0]) <= JOBS_MAX, "room in the attacks");

const struct job *
job_find(const char *name)
{
	const struct job *job = jobs;

	while (job->name != NULL && strcmp(job->name, name) != 0)
		job++;
	need(job->name != NULL);
	return job;
}

/* ---- running ------------------------------------------------------------------------- */

static void
preload(const struct job_run *run, const char *log, uint64_t kill_at, bool halfway)
{
	const char *old = getenv("LD_PRELOAD"), *asan = getenv("ASAN_OPTIONS");
	char text[PATH_MAX * 2], state[PATH_MAX], number[30];

	snprintf(text, sizeof(text), "%s%s%s", old != NULL ? old : "",
	    old != NULL ? ":" : "", torture_built(".libs/record_io.so"));
	need(setenv("LD_PRELOAD", text, 1) == 0);
	snprintf(text, sizeof(text), "%s%sverify_asan_link_order=0",
	    asan != NULL ? asan : "", asan != NULL ? ":" : "");
	need(setenv("ASAN_OPTIONS", text, 1) == 0);
	snprintf(state, sizeof(state), "%s/state", run->dir);
	need(setenv("RECORD_IO_ROOT", state, 1) == 0);
	need(setenv("RECORD_IO_LOG", log, 1) == 0);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)kill_at);
	if (kill_at > 0)
		need(setenv("RECORD_IO_KILL", number, 1) == 0);
	if (halfway)
		need(setenv("RECORD_IO_HALFWAY", "1", 1) == 0);
}

/* $OLD is the version that the link `old` of `in` names. */
static void
name_old(char *words, size_t room)
{
	char *at = strstr(words, "$OLD"), target[200];
	ssize_t size;

	if (at == NULL)
		return;
	size = readlink("../in/old", target, sizeof(target));
	need(size > 0 && (size_t)size < sizeof(target) && at[4] == '\0');
	snprintf(at, room - (size_t)(at - words), "%.*s", (int)size, target);
}

static void
exec_command(const struct job_run *run, const char *log, uint64_t kill_at, bool halfway)
{
	char state[PATH_MAX], words[2000];

	set_environment(run->dir);
	set_producer();
	if (log != NULL)
		preload(run, log, kill_at, halfway);
	snprintf(state, sizeof(state), "%s/state", run->dir);
	snprintf(words, sizeof(words), "%s%s", strncmp(run->job->command, "--root", 6) == 0 ||
	    strncmp(run->job->command, "build", 5) == 0 ? "" : "--root . ",
	    run->job->command);
	need(chdir(state) == 0);
	name_old(words, sizeof(words));
	exec_words(run->dir, torture_built("cachex"), words, run);
}

void
job_exec(const struct job_run *run, uint64_t kill_at, bool halfway)
{
	exec_command(run, kill_at > 0 ? "/dev/null" : NULL, kill_at, halfway);
}

struct command {
	const struct job_run *run;
	const char *log;
	uint64_t kill_at;
	bool halfway;
};

static void
run_in_child(void *ctx)
{
	const struct command *command = ctx;

	exec_command(command->run, command->log, command->kill_at, command->halfway);
}

int
job_command(const struct job_run *run, uint64_t kill_at, bool halfway)
{
	struct command command = { run, kill_at > 0 ? "/dev/null" : NULL, kill_at, halfway };

	return child_run(run_in_child, &command);
}

/* The steps that the log has of the command, and its end, which is a promise. */
static uint64_t
end_log(const char *path)
{
	const struct record end = { .kind = RECORD_PROMISE };
	const int fd = open(path, O_WRONLY | O_APPEND);
	struct replay_log log;
	uint64_t n = 0;

	need(fd != -1 && write(fd, &end, sizeof(end)) == (ssize_t)sizeof(end));
	close(fd);
	replay_log_read(&log, path);
	for (size_t i = 0; i < log.count; i++)
		n = log.events[i].kind == RECORD_START ? 0 : n + 1;
	replay_log_free(&log);
	return n;
}

void
job_start(struct job_run *run, const struct job *job, const char *dir, uint64_t seed)
{
	char own[PATH_MAX];
	struct command command = { run, own, 0, false };

	memset(run, 0, sizeof(*run));
	run->job = job;
	run->dir = dir;
	need(chdir(dir) == 0);
	need(mkdir("in", 0755) == 0 && mkdir("state", 0755) == 0 && mkdir("home", 0755) == 0);
	job->make(dir, seed);
	need(chdir(dir) == 0);
	tree_read("state", job->damaged, &run->before);
	job_copy("state", "before");
	snprintf(own, sizeof(own), "%s/log", dir);
	run->status = child_run(run_in_child, &command);
	/* 3: what was damaged is lost. */
	if (run->status != 0 && !(run->status == 3 && job->damaged != NULL)) {
		print_said(dir);
		need(!"a status of success");
	}
	run->steps = end_log(own);
	job_copy("state", "look");
	tree_read("look", NULL, &run->after);
	torture_remove("look");
}

void
job_end(struct job_run *run)
{
	tree_free(&run->before);
	tree_free(&run->after);
}

void
job_reset(const struct job_run *run)
{
	need(chdir(run->dir) == 0);
	torture_remove("state");
	job_copy("before", "state");
}

/* ---- checking ------------------------------------------------------------------------- */

/* Files that are documented to be there while something is written. */
static bool
is_temporary(const char *path)
{
	static const char *const patterns[] = {
		"*.tmp*", "*/failures.jsonl", "*/.export-state.json", "*.part", "*.part.new", ".building-*", "*/.building-*", "*/.lock",
		"*/inputs.lock", "*/.current.*"
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (fnmatch(patterns[i], path, 0) == 0)
			return true;
	return false;
}

static void
wrong(const struct job_run *run, const char *state, const char *path, const char *what)
{
	fprintf(stderr, "# %s: %s/%s: %s\n", run->job->name, state, path, what);
	need(!"as the job allows");
}

/* What a kill may leave for good, and what tells of the process. */
static bool
is_left_over(const char *path)
{
	static const char *const patterns[] = {
		"*.tmp.??????", "*/backup.part*", "*/shrink.part*",
		"*/recover.part*",
		/* A replayed state has two files where there was one with two names. */
		"*/data.mdb.damaged-2",
		"*.lock", "*/.current.*",
		/* The time of records.jsonl, which tells it from another, is not replayed. */
		"*.stage1.backup.2"
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (fnmatch(patterns[i], path, 0) == 0)
			return true;
	return false;
}

/* What a command that fails removes; it keeps other files for the next run. */
static bool
is_rubbish(const char *path)
{
	static const char *const patterns[] = {
		"*.tmp.??????", "*.part", "*.part.new", "*/.current.*"
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (fnmatch(patterns[i], path, 0) == 0)
			return true;
	return false;
}

static uint64_t
value_of(const struct tree_entry *entry, uint64_t id)
{
	for (size_t i = 0; entry != NULL && entry->kind == TREE_MODULE && i < entry->n; i++)
		if (entry->records[i].id == id)
			return entry->records[i].value;
	return 0;
}

/* Some module has this under the id. */
static bool
was_stored(const struct tree *tree, uint64_t id, uint64_t value)
{
	for (size_t i = 0; i < tree->n; i++)
		if (value_of(&tree->entries[i], id) == value)
			return true;
	return false;
}

/* Each record is there as it was in some module, or will be; so is one that is absent. */
static bool
records_may_be(const struct job_run *run, const struct tree_entry *entry,
    const struct tree_entry *before, const struct tree_entry *after)
{
	const struct tree_entry *all[] = { entry, before, after };

	for (unsigned i = 0; i < 3; i++)
		for (size_t j = 0; all[i] != NULL && j < all[i]->n; j++) {
			const uint64_t id = all[i]->records[j].id;
			const uint64_t is = value_of(entry, id);

			if (is != value_of(before, id) && is != value_of(after, id) &&
			    (is == 0 || !was_stored(&run->before, id, is)))
				return false;
		}
	return true;
}

static void
check_entry(const struct job_run *run, const char *state, const struct tree_entry *entry)
{
	const struct tree_entry *before = tree_find(&run->before, entry->path);
	const struct tree_entry *after = tree_find(&run->after, entry->path);

	if (tree_same(entry, before) || tree_same(entry, after) ||
	    is_temporary(entry->path) || entry->kind == TREE_DIR ||
	    (run->job->changing != NULL && strcmp(entry->path, run->job->changing) == 0))
		return;
	if (entry->kind != TREE_MODULE)
		wrong(run, state, entry->path, "is neither the old nor the new one");
	if (before != NULL && before->kind != TREE_MODULE)
		before = NULL;
	if (run->job->flags & JOB_WHOLE)
		wrong(run, state, entry->path, "is neither the old nor the new module");
	if (!records_may_be(run, entry, before, after))
		wrong(run, state, entry->path, "has records of neither");
}

/* What a link like `current` points to is there, and whole. */
static void
check_link(const struct job_run *run, const char *state, const struct tree *now,
    const struct tree_entry *link)
{
	const struct tree *whole =
	    tree_same(link, tree_find(&run->after, link->path)) ? &run->after : &run->before;
	const char *name = strrchr(link->path, '/');
	char target[PATH_MAX];
	size_t size;

	size = (size_t)snprintf(target, sizeof(target), "%.*s%s",
	    name != NULL ? (int)(name + 1 - link->path) : 0, link->path, link->target);
	while (size > 0 && target[size - 1] == '/')
		target[--size] = '\0';
	for (size_t i = 0; i < whole->n; i++) {
		const char *path = whole->entries[i].path;

		if (strncmp(path, target, size) == 0 &&
		    (path[size] == '/' || path[size] == '\0') &&
		    !tree_same(tree_find(now, path), &whole->entries[i]))
			wrong(run, state, path, "is not whole, and a link points there");
	}
}

static bool
same_bytes(const char *path, const char *other)
{
	struct lc__buf a = { 0 }, b = { 0 };
	bool same;

	need_ok(lc__read_file(path, 1 << 30, &a));
	need_ok(lc__read_file(other, 1 << 30, &b));
	same = a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
	lc__buf_free(&a);
	lc__buf_free(&b);
	return same;
}

/* recover: the damaged file is the module's, or kept. */
static void
check_kept(const struct job_run *run, const char *state)
{
	char path[PATH_MAX], old[PATH_MAX];

	snprintf(old, sizeof(old), "before/%s/data.mdb", run->job->damaged);
	snprintf(path, sizeof(path), "%s/%s/data.mdb.damaged-1", state, run->job->damaged);
	if (access(path, F_OK) != 0)
		snprintf(path, sizeof(path), "%s/%s/data.mdb", state, run->job->damaged);
	if (!same_bytes(path, old))
		wrong(run, state, path, "is not the damaged file");
}

void
job_check(const struct job_run *run, const char *state, enum job_moment moment)
{
	const bool done = moment == JOB_DONE;
	struct tree now;

	if (run->job->damaged != NULL)
		check_kept(run, state);
	tree_read(state, done ? NULL : run->job->damaged, &now);
	for (size_t i = 0; i < now.n; i++)
		if (moment != JOB_CUT || !(run->job->flags & JOB_LATE))
			check_entry(run, state, &now.entries[i]);
	for (size_t i = 0; i < now.n && moment == JOB_FAILED; i++)
		if (is_rubbish(now.entries[i].path))
			wrong(run, state, now.entries[i].path, "is left");
	for (size_t i = 0; i < now.n; i++)
		if (now.entries[i].kind == TREE_LINK && !is_temporary(now.entries[i].path))
			check_link(run, state, &now, &now.entries[i]);
	for (size_t i = 0; i < run->after.n; i++) {
		const struct tree_entry *after = &run->after.entries[i];
		const struct tree_entry *is = tree_find(&now, after->path);

		if (done && !tree_same(is, after) && !is_left_over(after->path))
			wrong(run, state, after->path, "is not there, though all is done");
		if (is == NULL && tree_find(&run->before, after->path) != NULL)
			wrong(run, state, after->path, "is not there any more");
	}
	tree_free(&now);
}

static bool
is_after(const struct job_run *run, const struct tree *now, const char **path)
{
	for (size_t i = 0; i < now->n; i++)
		if (!tree_same(&now->entries[i], tree_find(&run->after,
		    *path = now->entries[i].path)) && !is_left_over(*path))
			return false;
	for (size_t i = 0; i < run->after.n; i++)
		if (tree_find(now, *path = run->after.entries[i].path) == NULL &&
		    !is_left_over(*path))
			return false;
	return true;
}

bool
job_has_message(const struct job_run *run)
{
	char path[PATH_MAX], line[500];
	bool has = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/said", run->dir);
	file = fopen(path, "r");
	need(file != NULL);
	while (!has && fgets(line, sizeof(line), file) != NULL)
		has = strncmp(line, "cachex: ", 8) == 0 && strchr(line, '\n') != NULL;
	fclose(file);
	return has;
}

void
job_finish(const struct job_run *run)
{
	const int status = job_command(run, 0, false);
	const char *path = "";
	struct tree now;

	tree_read("state", NULL, &now);
	if (!is_after(run, &now, &path)) {
		print_said(run->dir);
		wrong(run, "state", path, "is not as an undisturbed run leaves it");
	}
	if (status != 0 && status != run->status && !(run->job->flags & JOB_ONCE)) {
		print_said(run->dir);
		fprintf(stderr, "# %s: status %d of the second run\n", run->job->name, status);
		need(!"a status of success");
	}
	tree_free(&now);
}
