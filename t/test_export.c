/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "shard/build.h"
#include "value/tensor.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

/* ---- files ----------------------------------------------------------------- */

static char *
join(const char *dir, const char *name)
{
	char *path = lc__path_join(dir, name);

	ck_assert_ptr_nonnull(path);
	return path;
}

static bool
exists(const char *dir, const char *name)
{
	char *path = join(dir, name);
	const bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

static void
put_file(const char *dir, const char *name, const char *text)
{
	char *path = join(dir, name);

	ck_assert_int_eq(lc__write_file_atomic(path, text, strlen(text)), LC_OK);
	free(path);
}

static struct lc__buf
get_file(const char *dir, const char *name)
{
	char *path = join(dir, name);
	struct lc__buf buf = { 0 };

	ck_assert_int_eq(lc__read_file(path, 1 << 28, &buf), LC_OK);
	free(path);
	return buf;
}

static void
remove_file(const char *dir, const char *name)
{
	char *path = join(dir, name);

	ck_assert_int_eq(unlink(path), 0);
	free(path);
}

/* Entries of a directory whose name ends so; dot files count. */
static int
count_files(const char *dir, const char *end)
{
	DIR *stream = opendir(dir);
	const struct dirent *entry;
	int n = 0;

	ck_assert_ptr_nonnull(stream);
	while ((entry = readdir(stream)) != NULL) {
		const size_t have = strlen(entry->d_name), want = strlen(end);
		n += strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 && have >= want &&
		    strcmp(entry->d_name + have - want, end) == 0;
	}
	closedir(stream);
	return n;
}

/* The same names with the same bytes. */
static void
assert_same_dirs(const char *a, const char *b)
{
	DIR *stream = opendir(a);
	const struct dirent *entry;

	ck_assert_ptr_nonnull(stream);
	ck_assert_int_eq(count_files(a, ""), count_files(b, ""));
	while ((entry = readdir(stream)) != NULL) {
		struct lc__buf x, y;
		if (entry->d_name[0] == '.')
			continue;
		x = get_file(a, entry->d_name);
		y = get_file(b, entry->d_name);
		ck_assert_msg(x.size == y.size &&
		    memcmp(x.data, y.data, x.size) == 0, "%s differs",
		    entry->d_name);
		lc__buf_free(&x);
		lc__buf_free(&y);
	}
	closedir(stream);
}

static void
flip(const char *dir, const char *name, off_t at)
{
	char *path = join(dir, name);
	const int fd = open(path, O_RDWR);
	unsigned char byte;

	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
	free(path);
}

/* ---- builds from memory ---------------------------------------------------- */

#define IMAGE 3000u                      /* bytes a sample */
#define SHARD_BYTES ((uint64_t)64 << 10) /* 20 samples */

static lc_status
fake_row(void *ctx, uint64_t i, struct lc__twh1_row *out)
{
	static _Thread_local char id[32];

	(void)ctx;
	memset(out, 0, sizeof(*out));
	snprintf(id, sizeof(id), "sample-%llu", (unsigned long long)i * i);
	out->cache_id = lc_id_of(id);
	out->has_shape = true;
	out->ndim = 2;
	out->shape[0] = 1000;
	out->shape[1] = 3;
	return LC_OK;
}

/* ctx is NULL, or the number of a sample that is damaged. */
static lc_status
fake_image(void *ctx, uint64_t i, const void **out)
{
	static _Thread_local unsigned char image[IMAGE];
	const uint64_t *damaged = ctx;
	uint64_t seed = i;

	if (damaged != NULL && *damaged == i)
		return lc__error(LC_CORRUPT, 0, "key 'x': checksum mismatch");
	for (size_t k = 0; k < IMAGE; k++)
		image[k] = (unsigned char)run_random(&seed);
	*out = image;
	return LC_OK;
}

/* What may vary of a build; zeros are the defaults. */
struct variant {
	uint64_t samples;  /* default 100: five shards */
	unsigned threads;  /* default 1 */
	const char *state; /* default "same" */
	uint64_t *damaged; /* a sample that cannot be read */
	lc_progress progress;
	bool dry_run;
};

static lc_status
build(const char *dir, const struct variant *v, lc_export_result *out)
{
	const lc_shard_info form = { .version = 2, .dtype = LC_U8,
		.channels = 1, .height = 1000, .width = 3 };
	const struct lc__shard_source source = { v->damaged, fake_row, fake_image,
		NULL };
	const struct lc__manifest about = { .dataset_root = (char *)"fake",
		.transform = (char *)"null", .code_version = (char *)"test",
		.thresholds = (char *)"{}", .summary = (char *)"{}" };
	const struct lc__build b = { .dir = dir, .form = &form, .metadata = true,
		.source = &source, .samples = v->samples ? v->samples : 100,
		.shard_bytes = SHARD_BYTES, .threads = v->threads ? v->threads : 1,
		.dry_run = v->dry_run, .progress = &v->progress, .about = &about,
		.recipe = "{}", .state = v->state ? v->state : "same" };

	return lc__build_run(&b, out);
}

/* A finished build to compare with. */
static const char *
reference(uint64_t samples)
{
	const char *dir = run_scratch();
	const struct variant v = { .samples = samples };
	lc_export_result result;

	ck_assert_int_eq(build(dir, &v, &result), LC_OK);
	return dir;
}

static void
fix_time(void)
{
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
}

START_TEST(same_bytes_for_any_threads)
{
	const char *one = reference(0), *four = run_scratch();
	const struct variant v = { .threads = 4 };
	lc_export_result result;

	ck_assert_int_eq(build(four, &v, &result), LC_OK);
	ck_assert_uint_eq(result.shards, 5);
	ck_assert_uint_eq(result.reused, 0);
	ck_assert_uint_eq(result.samples, 100);
	ck_assert_int_eq(count_files(four, ""), 6);
	assert_same_dirs(one, four);
	ck_assert_int_eq(lc_manifest_verify(four, NULL), LC_OK);
}
END_TEST

START_TEST(shards_stay_below_their_size)
{
	const char *dir = reference(0);
	uint64_t samples = 0;
	lc_shard *shard;

	for (int i = 0; i < 5; i++) {
		char name[40], *path;
		snprintf(name, sizeof(name), "shard-%06d.twh1", i);
		path = join(dir, name);
		ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
		ck_assert_uint_le(lc_shard_info_of(shard)->file_size, SHARD_BYTES);
		ck_assert_int_eq(lc_shard_verify(shard, NULL), LC_OK);
		for (uint64_t k = 0; k < lc_shard_info_of(shard)->samples; k++) {
			struct lc__twh1_row row;
			const void *image;
			lc_sample sample;
			ck_assert_int_eq(lc_shard_sample(shard, k, &sample), LC_OK);
			ck_assert_int_eq(fake_row(NULL, samples, &row), LC_OK);
			ck_assert_int_eq(fake_image(NULL, samples++, &image), LC_OK);
			ck_assert_mem_eq(sample.image.data, image, IMAGE);
			ck_assert_uint_eq(sample.image.ndim, 2);
			ck_assert_uint_eq(sample.id.size, row.cache_id.size);
			ck_assert_mem_eq(sample.id.data, row.cache_id.data,
			    row.cache_id.size);
		}
		lc_shard_close(shard);
		free(path);
	}
	ck_assert_uint_eq(samples, 100);
}
END_TEST

/* ---- interruptions --------------------------------------------------------- */

static int
stop_at(void *ctx, uint64_t done, uint64_t total)
{
	int *steps = ctx;

	ck_assert_uint_le(done, total);
	return (*steps)-- == 0;
}

/* Stop before every step there is; each time a second run must finish it. */
START_TEST(cancelled_at_every_step)
{
	const char *whole = reference(0);
	lc_export_result result;
	lc_status status;
	int first_step = 0;

	do {
		const char *dir = run_scratch();
		int steps = first_step++, shards;
		const struct variant stop = { .progress = { stop_at, NULL, &steps },
			.threads = 1 + (unsigned)first_step % 2 };
		const struct variant again = { 0 };

		status = build(dir, &stop, &result);
		if (status == LC_OK)
			break;
		ck_assert_int_eq(status, LC_CANCELLED);
		ck_assert(!exists(dir, "manifest.json"));
		ck_assert_int_eq(count_files(dir, ".tmp"), 0);
		shards = count_files(dir, ".twh1");
		ck_assert_int_eq(build(dir, &again, &result), LC_OK);
		ck_assert_uint_eq(result.reused, shards);
		assert_same_dirs(whole, dir);
	} while (true);
	ck_assert_int_gt(first_step, 6);
}
END_TEST

static void
interrupt(const char *dir, uint64_t samples)
{
	int steps = 4;
	const struct variant v = { .samples = samples,
		.progress = { stop_at, NULL, &steps } };
	lc_export_result result;

	ck_assert_int_eq(build(dir, &v, &result), LC_CANCELLED);
	ck_assert_int_gt(count_files(dir, ".twh1"), 1);
	ck_assert(exists(dir, ".export-state.json"));
}

START_TEST(another_build_starts_afresh)
{
	const char *dir = run_scratch();
	const struct variant other = { .samples = 30, .state = "other" };
	lc_export_result result;

	interrupt(dir, 0);
	ck_assert_int_eq(build(dir, &other, &result), LC_OK);
	ck_assert_uint_eq(result.reused, 0);
	ck_assert_int_eq(count_files(dir, ""), 3);
	assert_same_dirs(reference(30), dir);
}
END_TEST

START_TEST(damage_between_runs_is_found)
{
	const char *dir = run_scratch();
	const struct variant v = { 0 };
	lc_export_result result;
	int shards;

	interrupt(dir, 0);
	shards = count_files(dir, ".twh1");
	flip(dir, "shard-000001.twh1", 5000);
	ck_assert_int_eq(build(dir, &v, &result), LC_OK);
	ck_assert_uint_eq(result.reused, shards - 1);
	assert_same_dirs(reference(0), dir);
}
END_TEST

START_TEST(damaged_state_starts_afresh)
{
	static const char *const states[] = { "", "{", "[]", "{\"shards\":[]}" };
	const char *dir = run_scratch();
	const struct variant v = { 0 };
	lc_export_result result;

	interrupt(dir, 0);
	put_file(dir, ".export-state.json", states[_i]);
	ck_assert_int_eq(build(dir, &v, &result), LC_OK);
	ck_assert_uint_eq(result.reused, 0);
	assert_same_dirs(reference(0), dir);
}
END_TEST

START_TEST(stale_shards_go)
{
	const char *dir = reference(0);
	const struct variant fewer = { .samples = 30, .state = "fewer" };
	lc_export_result result;

	put_file(dir, "shard-000009.twh1.tmp", "left by a killed run");
	put_file(dir, "manifest.json.tmp.abcdef", "left by a killed run");
	put_file(dir, "notes.txt", "not ours");
	ck_assert_int_eq(build(dir, &fewer, &result), LC_OK);
	ck_assert_int_eq(count_files(dir, ".twh1"), 2);
	ck_assert_int_eq(count_files(dir, ""), 4);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
}
END_TEST

static const struct {
	const char *name, *text, *error;
} stranger_rows[] = {
	{ "val.twh1", "x", "holds val.twh1, which no export here has written" },
	{ "manifest.json", "{\"name\": \"app\"}",
	    "will not replace what is no manifest of shards: manifest.json: "
	    "not a shard manifest" },
	{ "manifest.json", "hello", "will not replace what is no manifest" },
};

START_TEST(strangers_are_kept)
{
	const char *dir = run_scratch();
	const struct variant v = { 0 };
	lc_export_result result;
	struct lc__buf text;

	put_file(dir, stranger_rows[_i].name, stranger_rows[_i].text);
	ck_assert_int_eq(build(dir, &v, &result), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    stranger_rows[_i].error));
	ck_assert_int_eq(count_files(dir, ""), 1);
	text = get_file(dir, stranger_rows[_i].name);
	ck_assert_uint_eq(text.size, strlen(stranger_rows[_i].text));
	lc__buf_free(&text);
}
END_TEST

START_TEST(one_export_at_a_time)
{
	const char *dir = run_scratch();
	const int fd = open(dir, O_RDONLY | O_DIRECTORY);
	const struct variant v = { 0 };
	lc_export_result result;

	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(build(dir, &v, &result), LC_BUSY);
	ck_assert_int_eq(count_files(dir, ""), 0);
	close(fd);
}
END_TEST

START_TEST(damaged_sample_ends_it)
{
	const char *dir = run_scratch();
	uint64_t damaged = 50;
	const struct variant v = { .damaged = &damaged, .threads = 2 };
	lc_export_result result;

	ck_assert_int_eq(build(dir, &v, &result), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "key 'x': checksum mismatch");
	ck_assert(!exists(dir, "manifest.json"));
	ck_assert_int_eq(count_files(dir, ".tmp"), 0);
}
END_TEST

START_TEST(dry_run_writes_nothing)
{
	char *dir = join(run_scratch(), "new");
	const struct variant v = { .dry_run = true };
	lc_export_result result;

	ck_assert_int_eq(build(dir, &v, &result), LC_OK);
	ck_assert_uint_eq(result.shards, 5);
	ck_assert_uint_gt(result.bytes, 100 * IMAGE);
	ck_assert_int_eq(access(dir, F_OK), -1);
	free(dir);
}
END_TEST

/* A child rebuilds the directory over and over, now this, now that, and is
 * killed anywhere. Whenever a manifest stands there, it is right. */
START_TEST(killed_anywhere)
{
	const char *dir = run_scratch();
	uint64_t seed = run_seed();
	const struct variant v = { 0 };
	lc_export_result result;
	const uint64_t start = lc__clock_ns();
	uint64_t span; /* two builds: kills fall into every part of one */
	int finished = 0, status;

	reference(0);
	span = 2 * (lc__clock_ns() - start) / 1000 + 1;
	for (int round = 0; round < 100; round++) {
		const pid_t pid = fork();
		if (pid == 0) {
			for (uint64_t i = (uint64_t)round;; i++) {
				const struct variant mine = { .threads = 2,
					.samples = i / 2 % 2 ? 60 : 100,
					.state = i / 2 % 2 ? "sixty" : "same" };
				if (build(dir, &mine, &result) != LC_OK ||
				    lc_manifest_verify(dir, NULL) != LC_OK)
					_exit(1);
			}
		}
		ck_assert_int_gt(pid, 0);
		usleep((useconds_t)(run_random(&seed) % span));
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
		if (!exists(dir, "manifest.json"))
			continue;
		finished++;
		ck_assert_msg(lc_manifest_verify(dir, NULL) == LC_OK, "%s",
		    lc_last_error()->text);
	}
	printf("# %d of 100 kills left a manifest\n", finished);
	ck_assert_int_eq(build(dir, &v, &result), LC_OK);
	assert_same_dirs(reference(0), dir);
}
END_TEST

/* ---- full disks ------------------------------------------------------------ */

START_TEST(file_size_limit)
{
	const char *dir = run_scratch();
	const struct rlimit limit = { 40000, 40000 };
	const struct variant v = { 0 };
	lc_export_result result;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(build(dir, &v, &result), LC_NO_SPACE);
	ck_assert_int_eq(count_files(dir, ""), 0);
}
END_TEST

/* A small file system of our own, if we may have one. */
static bool
mount_small(const char *dir)
{
	return unshare(CLONE_NEWNS) == 0 &&
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("tmpfs", dir, "tmpfs", 0, "size=640k") == 0;
}

START_TEST(no_room_leaves_the_old_export)
{
	const char *dir = run_scratch();
	const struct variant small = { 0 }, large = { .samples = 400,
		.state = "large" };
	lc_export_result result;

	if (!mount_small(dir))
		return;
	ck_assert_int_eq(build(dir, &small, &result), LC_OK);
	ck_assert_int_eq(build(dir, &large, &result), LC_NO_SPACE);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "the shards need"));
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	/* What is replaced makes room for what replaces it. */
	ck_assert_int_eq(build(dir, &small, &result), LC_OK);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	umount(dir);
}
END_TEST

/* At the first step someone else takes the rest of the disk. */
static int
fill_disk(void *ctx, uint64_t done, uint64_t total)
{
	char *path = join(ctx, "filler");
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	static const char block[4096];

	(void)done;
	(void)total;
	while (write(fd, block, sizeof(block)) == sizeof(block))
		continue;
	close(fd);
	free(path);
	return 0;
}

START_TEST(disk_fills_on_the_way)
{
	const char *dir = run_scratch();
	const struct variant full = { .progress = { fill_disk, NULL,
		(void *)dir } }, again = { 0 };
	lc_export_result result;

	if (!mount_small(dir))
		return;
	ck_assert_int_eq(build(dir, &full, &result), LC_NO_SPACE);
	ck_assert(!exists(dir, "manifest.json"));
	ck_assert_int_eq(count_files(dir, ".tmp"), 0);
	remove_file(dir, "filler");
	ck_assert_int_eq(build(dir, &again, &result), LC_OK);
	assert_same_dirs(reference(0), dir);
	umount(dir);
}
END_TEST

/* ---- verifying ------------------------------------------------------------- */

/* Replace text in the manifest by text. */
static void
edit_manifest(const char *dir, const char *from, const char *to)
{
	struct lc__buf old = get_file(dir, "manifest.json");
	char *at, *new;

	lc__buf_append(&old, "", 1);
	at = strstr((char *)old.data, from);
	ck_assert_ptr_nonnull(at);
	*at = '\0';
	ck_assert_int_ge(asprintf(&new, "%s%s%s", (char *)old.data, to,
	    at + strlen(from)), 0);
	put_file(dir, "manifest.json", new);
	free(new);
	lc__buf_free(&old);
}

static const struct {
	const char *from, *to; /* in the manifest, or NULL */
	off_t flip;            /* in shard 1, or 0 */
	const char *remove;
	const char *add;
	int damages;
	const char *text;
} verify_rows[] = {
	{ NULL, NULL, 5000, NULL, NULL, 1,
	    "shard-000001.twh1: SHA-256 differs from the manifest" },
	{ NULL, NULL, 17, NULL, NULL, 1, "shard-000001.twh1: " },
	{ NULL, NULL, 0, "shard-000002.twh1", NULL, 1,
	    "shard-000002.twh1: open: No such file" },
	{ NULL, NULL, 0, NULL, "shard-000007.twh1", 1,
	    "shard-000007.twh1: a shard that the manifest does not name" },
	{ NULL, NULL, 0, NULL, "x.twh1", 1,
	    "x.twh1: a shard that the manifest does not name" },
	{ NULL, NULL, 0, NULL, "shard-000007.twh1.tmp", 0, NULL },
	{ "\"samples\": 20", "\"samples\": 19", 0, NULL, NULL, 1,
	    "samples is 20, the manifest says 19" },
	{ "\"width\": 3", "\"width\": 4", 0, NULL, NULL, 1,
	    "width is 3, the manifest says 4" },
	{ "\"dtype\": \"U8\"", "\"dtype\": \"I8\"", 0, NULL, NULL, 1,
	    "dtype is u8, the manifest says i8" },
	{ "\"endianness\": \"Little\"", "\"endianness\": \"Big\"", 0, NULL, NULL, 1,
	    "is little-endian, the manifest says Big" },
	{ "\"shard_version\": 2", "\"shard_version\": 1", 0, NULL, NULL, 1,
	    "shard_version is 2, the manifest says 1" },
	{ "\"bytes\": ", "\"bytes\": 1", 0, NULL, NULL, 1, "file size is " },
	{ "\"checksum_sha256\"", "\"checksum\"", 0, NULL, NULL, 1,
	    "the manifest has no checksum_sha256" },
	{ "\"version\": \"", "\"version\": \"0", 0, NULL, NULL, 1,
	    "version is not the SHA-256 of version_recipe" },
	{ "\"manifest_version\"", "\"other_version\"", 0, NULL, NULL, 0, NULL },
};

struct damages {
	int lines;       /* reported */
	char first[500]; /* the first of them */
};

static void
count_damage(void *ctx, const char *line)
{
	struct damages *d = ctx;

	if (d->lines++ == 0)
		snprintf(d->first, sizeof(d->first), "%s", line);
}

START_TEST(verify_finds)
{
	const char *dir = reference(0);
	struct damages damages = { 0 };
	const lc_progress progress = { NULL, count_damage, &damages };

	if (verify_rows[_i].from != NULL)
		edit_manifest(dir, verify_rows[_i].from, verify_rows[_i].to);
	if (verify_rows[_i].flip != 0)
		flip(dir, "shard-000001.twh1", verify_rows[_i].flip);
	if (verify_rows[_i].remove != NULL)
		remove_file(dir, verify_rows[_i].remove);
	if (verify_rows[_i].add != NULL)
		put_file(dir, verify_rows[_i].add, "x");
	ck_assert_int_eq(lc_manifest_verify(dir, &progress),
	    verify_rows[_i].damages ? LC_CORRUPT : LC_OK);
	ck_assert_int_eq(damages.lines, verify_rows[_i].damages);
	if (verify_rows[_i].text != NULL) {
		ck_assert_ptr_nonnull(strstr(damages.first, verify_rows[_i].text));
		ck_assert_str_eq(lc_last_error()->text, damages.first);
	}
}
END_TEST

START_TEST(verify_without_manifest)
{
	const char *dir = run_scratch();
	int steps = 2;
	const lc_progress stop = { stop_at, NULL, &steps };

	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_NOT_FOUND);
	put_file(dir, "manifest.json", "{}");
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_NOT_MODULE);
	put_file(dir, "manifest.json", "{\"shards\":[],\"manifest_version\":2}");
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_VERSION);
	ck_assert_int_eq(lc_manifest_verify(reference(0), &stop), LC_CANCELLED);
}
END_TEST

/* ---- exports of a module --------------------------------------------------- */

static lc_cache *
open_module(const char *root)
{
	lc_cache *cache = NULL;

	ck_assert_int_eq(lc_open(root, "m", NULL, &cache), LC_OK);
	return cache;
}

static void
put_one(lc_cache *cache, const char *id, lc_dtype dtype, uint32_t ndim,
    const uint64_t *shape, const void *data)
{
	lc_tensor tensor;

	ck_assert_int_eq(lc_tensor_init(&tensor, dtype, ndim, shape, data), LC_OK);
	ck_assert_int_eq(lc_put(cache, id, strlen(id), &tensor), LC_OK);
}

/* "id<i>" -> 16 x 16 elements of noise, i from n - 1 down to 0. */
static void
put_noise(lc_cache *cache, lc_dtype dtype, int n)
{
	const uint64_t shape[2] = { 16, 16 };
	unsigned char data[16 * 16 * 16];
	char id[32];

	for (int i = n - 1; i >= 0; i--) {
		uint64_t seed = (uint64_t)i;
		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (unsigned char)run_random(&seed);
		snprintf(id, sizeof(id), "id%03d", i);
		put_one(cache, id, dtype, 2, shape, data);
	}
}

/* Every sample of every shard is the record of its cache_id. */
static uint64_t
compare_with_module(const char *dir, lc_cache *cache, uint64_t shards)
{
	uint64_t samples = 0;

	for (uint64_t n = 0; n < shards; n++) {
		char name[40], *path;
		lc_shard *shard;
		snprintf(name, sizeof(name), "shard-%06d.twh1", (int)n);
		path = join(dir, name);
		ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
		for (uint64_t i = 0; i < lc_shard_info_of(shard)->samples; i++) {
			lc_sample sample;
			lc_view view;
			ck_assert_int_eq(lc_shard_sample(shard, i, &sample), LC_OK);
			ck_assert_int_eq(lc_get(cache, sample.id.data,
			    sample.id.size, &view), LC_OK);
			ck_assert(lc__tensor_same_type(&view.tensor, &sample.image));
			ck_assert(view.tensor.nbytes == 0 || memcmp(sample.image.data,
			    view.tensor.data, view.tensor.nbytes) == 0);
			lc_view_release(&view);
			samples++;
		}
		lc_shard_close(shard);
		free(path);
	}
	return samples;
}

START_TEST(module_of_any_dtype)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	lc_export_options options;
	lc_export_result result;

	put_noise(cache, (lc_dtype)_i, 50);
	lc_export_options_init(&options);
	options.shard_bytes = 16384;
	ck_assert_int_eq(lc_export(cache, dir, &options, &result), LC_OK);
	ck_assert_uint_eq(result.samples, 50);
	ck_assert_uint_eq(compare_with_module(dir, cache, result.shards), 50);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

static const struct {
	uint32_t ndim;
	uint64_t shape[6];
	uint32_t chw[3];
} shape_rows[] = {
	{ 0, { 0 }, { 1, 1, 1 } },
	{ 1, { 12 }, { 1, 1, 12 } },
	{ 3, { 3, 0, 4 }, { 3, 0, 4 } },
	{ 6, { 1, 2, 3, 1, 2, 2 }, { 6, 2, 2 } },
};

START_TEST(module_of_any_shape)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	const float data[32] = { 1, 2, 3 };
	lc_export_result result;
	char *path = join(dir, "shard-000000.twh1");
	lc_shard *shard;

	put_one(cache, "a", LC_F32, shape_rows[_i].ndim, shape_rows[_i].shape, data);
	put_one(cache, "b", LC_F32, shape_rows[_i].ndim, shape_rows[_i].shape,
	    data + 1);
	ck_assert_int_eq(lc_export(cache, dir, NULL, &result), LC_OK);
	ck_assert_uint_eq(compare_with_module(dir, cache, result.shards), 2);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	ck_assert_uint_eq(lc_shard_info_of(shard)->channels, shape_rows[_i].chw[0]);
	ck_assert_uint_eq(lc_shard_info_of(shard)->height, shape_rows[_i].chw[1]);
	ck_assert_uint_eq(lc_shard_info_of(shard)->width, shape_rows[_i].chw[2]);
	lc_shard_close(shard);
	free(path);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* The first sample's cache_id. */
static void
assert_first_id(const char *dir, const char *expected)
{
	char *path = join(dir, "shard-000000.twh1");
	lc_shard *shard;
	lc_sample sample;

	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	ck_assert_int_eq(lc_shard_sample(shard, 0, &sample), LC_OK);
	ck_assert_uint_eq(sample.id.size, strlen(expected));
	ck_assert_mem_eq(sample.id.data, expected, sample.id.size);
	lc_shard_close(shard);
	free(path);
}

START_TEST(orders)
{
	lc_cache *cache = open_module(run_scratch());
	const char *commit = run_scratch(), *key = run_scratch();
	lc_export_options options;

	put_noise(cache, LC_F16, 20);
	lc_export_options_init(&options);
	ck_assert_int_eq(lc_export(cache, commit, &options, NULL), LC_OK);
	assert_first_id(commit, "id019");
	options.order = LC_BY_KEY;
	ck_assert_int_eq(lc_export(cache, key, &options, NULL), LC_OK);
	assert_first_id(key, "id000");
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Another module, with another uuid and other commits, but the same records. */
START_TEST(same_records_same_bytes)
{
	lc_cache *a = open_module(run_scratch()), *b = open_module(run_scratch());
	const char *from_a = run_scratch(), *from_b = run_scratch();
	lc_export_options options;

	put_noise(a, LC_F32, 64);
	put_noise(b, LC_F32, 10);
	ck_assert_int_eq(lc_flush(b), LC_OK);
	put_noise(b, LC_F32, 64);
	lc_export_options_init(&options);
	options.order = LC_BY_KEY;
	options.shard_bytes = 20000;
	options.threads = 1;
	ck_assert_int_eq(lc_export(a, from_a, &options, NULL), LC_OK);
	options.threads = 4;
	ck_assert_int_eq(lc_export(b, from_b, &options, NULL), LC_OK);
	assert_same_dirs(from_a, from_b);
	ck_assert_int_eq(lc_close(a), LC_OK);
	ck_assert_int_eq(lc_close(b), LC_OK);
}
END_TEST

START_TEST(version_1_is_plain)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	char *path = join(dir, "shard-000000.twh1");
	lc_export_options options;
	lc_shard *shard;

	put_noise(cache, LC_F32, 3);
	lc_export_options_init(&options);
	options.metadata = _i;
	options.shard_version = (uint32_t)_i; /* chosen, and asked for */
	ck_assert_int_eq(lc_export(cache, dir, &options, NULL), LC_OK);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	ck_assert_uint_eq(lc_shard_info_of(shard)->version, 1);
	ck_assert_uint_eq(lc_shard_info_of(shard)->meta_offset, 0);
	ck_assert_uint_eq(lc_shard_info_of(shard)->checksum_offset, 0);
	ck_assert_uint_eq(lc_shard_info_of(shard)->file_size, 4096 + 3 * 1024);
	lc_shard_close(shard);
	ck_assert_int_eq(lc_close(cache), LC_OK);
	free(path);
}
END_TEST

START_TEST(interrupted_module_export_resumes)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	const uint64_t shape[2] = { 16, 16 };
	const float other[256] = { 5 };
	lc_export_options options;
	lc_export_result result;
	int steps;

	put_noise(cache, LC_F32, 64);
	lc_export_options_init(&options);
	options.shard_bytes = 20000;
	options.threads = 1;
	options.progress = (lc_progress){ stop_at, NULL, &steps };
	steps = 5;
	ck_assert_int_eq(lc_export(cache, dir, &options, &result), LC_CANCELLED);
	steps = -1;
	ck_assert_int_eq(lc_export(cache, dir, &options, &result), LC_OK);
	ck_assert_uint_gt(result.reused, 0);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	/* After a commit nothing of an interrupted export is good any more. */
	steps = 5;
	ck_assert_int_eq(lc_export(cache, dir, &options, &result), LC_CANCELLED);
	put_one(cache, "id063", LC_F32, 2, shape, other);
	steps = -1;
	ck_assert_int_eq(lc_export(cache, dir, &options, &result), LC_OK);
	ck_assert_uint_eq(result.reused, 0);
	ck_assert_uint_eq(compare_with_module(dir, cache, result.shards), 64);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

static const struct {
	uint64_t shard_bytes;
	uint32_t shard_version;
	unsigned order;
	const char *dataset_root;
	lc_status status;
	const char *text;
} option_rows[] = {
	{ 4095, 0, LC_BY_COMMIT, NULL, LC_INVALID,
	    "export: shard_bytes 4095 is not within 4 KiB to 1 TiB" },
	{ 4096, 3, LC_BY_COMMIT, NULL, LC_INVALID, "export: no shard_version 3" },
	{ 4096, 0, LC_ITER_LISTED, NULL, LC_INVALID, "export: unknown order 2" },
	{ 4096, 1, LC_BY_COMMIT, NULL, LC_UNSUPPORTED,
	    "shard_version 1 holds f32 and f16, not u8" },
	{ 4096, 0, LC_BY_COMMIT, "\xff", LC_INVALID, "'\\xff' is not UTF-8" },
};

START_TEST(bad_options)
{
	lc_cache *cache = open_module(run_scratch());
	char *dir = join(run_scratch(), "new");
	lc_export_options options;

	put_noise(cache, LC_U8, 3);
	lc_export_options_init(&options);
	options.shard_bytes = option_rows[_i].shard_bytes;
	options.shard_version = option_rows[_i].shard_version;
	options.order = option_rows[_i].order;
	options.dataset_root = option_rows[_i].dataset_root;
	ck_assert_int_eq(lc_export(cache, dir, &options, NULL),
	    option_rows[_i].status);
	ck_assert_str_eq(lc_last_error()->text, option_rows[_i].text);
	ck_assert_int_eq(access(dir, F_OK), -1);
	free(dir);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

START_TEST(what_cannot_be_exported)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	const uint64_t shape[1] = { 4 };
	const float data[4] = { 0 };

	ck_assert_int_eq(lc_export(cache, "", NULL, NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "export: no directory is named");
	ck_assert_int_eq(lc_export(cache, dir, NULL, NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "export: module m has no records");
	put_one(cache, "a", LC_F32, 1, shape, data);
	put_one(cache, "b", LC_F16, 1, shape, data);
	ck_assert_int_eq(lc_export(cache, dir, NULL, NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "export: 'a' is f32[4] but 'b' is f16[4]");
	ck_assert_int_eq(count_files(dir, ""), 0);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Find a record's bytes in the module's file and damage them. */
START_TEST(damaged_record)
{
	const char *root = run_scratch(), *dir = run_scratch();
	lc_cache *cache = open_module(root);
	char *module = join(root, "m");
	const uint64_t shape[1] = { 32 };
	const unsigned char *at;
	struct lc__buf bytes;

	put_one(cache, "good", LC_U8, 1, shape, "0123456789abcdef0123456789abcdef");
	put_one(cache, "bad", LC_U8, 1, shape, "0123456789ABCDEF0123456789ABCDEF");
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	bytes = get_file(module, "data.mdb");
	at = memmem(bytes.data, bytes.size, "0123456789ABCDEF", 16);
	ck_assert_ptr_nonnull(at);
	flip(module, "data.mdb", at - bytes.data);
	ck_assert_int_eq(lc_export(cache, dir, NULL, NULL), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "key 'bad': checksum mismatch");
	ck_assert(!exists(dir, "manifest.json"));
	ck_assert_int_eq(count_files(dir, ".tmp"), 0);
	lc__buf_free(&bytes);
	free(module);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("export");
	TCase *tc = tcase_create("export");

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, fix_time, NULL);
	tcase_add_test(tc, same_bytes_for_any_threads);
	tcase_add_test(tc, shards_stay_below_their_size);
	tcase_add_test(tc, cancelled_at_every_step);
	tcase_add_test(tc, another_build_starts_afresh);
	tcase_add_test(tc, damage_between_runs_is_found);
	tcase_add_loop_test(tc, damaged_state_starts_afresh, 0, 4);
	tcase_add_test(tc, stale_shards_go);
	tcase_add_loop_test(tc, strangers_are_kept, 0, COUNT(stranger_rows));
	tcase_add_test(tc, one_export_at_a_time);
	tcase_add_test(tc, damaged_sample_ends_it);
	tcase_add_test(tc, dry_run_writes_nothing);
	tcase_add_test(tc, killed_anywhere);
	tcase_add_test(tc, file_size_limit);
	tcase_add_test(tc, no_room_leaves_the_old_export);
	tcase_add_test(tc, disk_fills_on_the_way);
	tcase_add_loop_test(tc, verify_finds, 0, COUNT(verify_rows));
	tcase_add_test(tc, verify_without_manifest);
	tcase_add_loop_test(tc, module_of_any_dtype, 0, LC_DTYPE_COUNT);
	tcase_add_loop_test(tc, module_of_any_shape, 0, COUNT(shape_rows));
	tcase_add_test(tc, orders);
	tcase_add_test(tc, same_records_same_bytes);
	tcase_add_loop_test(tc, version_1_is_plain, 0, 2);
	tcase_add_test(tc, interrupted_module_export_resumes);
	tcase_add_loop_test(tc, bad_options, 0, COUNT(option_rows));
	tcase_add_test(tc, what_cannot_be_exported);
	tcase_add_test(tc, damaged_record);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
