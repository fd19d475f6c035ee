/* SPDX-License-Identifier: BSD-2-Clause */
/* Verifying a module whose chunks several threads read: what is reported, and in which
 * order, does not depend on them. */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define COMMITS 14 /* of one chunk each, together far more than one thread takes at once */
#define EACH 8     /* records of a commit */
#define RECORDS (COMMITS * EACH)
#define SIZE ((size_t)128 << 10)
#define TAG 24 /* bytes that each value begins with */

static void
make_tag(char tag[TAG], unsigned i)
{
	snprintf(tag, TAG, "the value of %05u xxxx", i);
}

static void
make_module(const char *root)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	unsigned char *bytes = calloc(1, SIZE);
	const lc_tensor value = { .dtype = LC_U8, .ndim = 1, .shape = { SIZE },
		.data = bytes, .nbytes = SIZE };
	char key[16];

	need(bytes != NULL);
	for (unsigned i = 0; i < RECORDS; i++) {
		make_tag((char *)bytes, i);
		snprintf(key, sizeof(key), "k%05u", i);
		need_ok(lc_put(cache, key, 6, &value));
		if (i % EACH == EACH - 1)
			need_ok(lc_flush(cache));
	}
	need_ok(lc_close(cache));
	free(bytes);
}

/* The module's file in memory, where changes reach it. */
struct file {
	char *bytes;
	size_t size;
};

static struct file
map_file(const char *root)
{
	struct file file;
	struct stat st;
	char *path;
	int fd;

	need(asprintf(&path, "%s/m/data.mdb", root) > 0);
	fd = open(path, O_RDWR);
	need(fd != -1 && fstat(fd, &st) == 0);
	file.size = (size_t)st.st_size;
	file.bytes = mmap(NULL, file.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(file.bytes != MAP_FAILED);
	close(fd);
	free(path);
	return file;
}

static char *
find_value(const struct file *file, unsigned i)
{
	char tag[TAG], *at;

	make_tag(tag, i);
	at = memmem(file->bytes, file->size, tag, TAG);
	need(at != NULL);
	return at;
}

/* ---- what verify says ------------------------------------------------------------- */

struct report {
	char lines[32][200];
	unsigned n;          /* of lines */
	unsigned steps;      /* in all */
	unsigned cancel;     /* at this step of the last phase; 0: never */
	const char *phase;
};

static void
note_damage(void *ctx, const char *line)
{
	struct report *report = ctx;

	need(report->n < 32);
	snprintf(report->lines[report->n++], 200, "%s", line);
}

static void
note_phase(void *ctx, const char *name)
{
	struct report *report = ctx;

	report->phase = name;
	report->steps = 0;
}

static int
note_step(void *ctx, uint64_t done, uint64_t total)
{
	struct report *report = ctx;

	need(done <= total);
	report->steps++;
	return strcmp(report->phase, "chunks") == 0 && report->steps == report->cancel;
}

static lc_status
verify(const char *root, struct report *report, lc_verify_result *out)
{
	const lc_progress progress = { .step = note_step, .damage = note_damage,
		.phase = note_phase, .ctx = report };
	lc_options options = sample_options();
	lc_cache *cache;
	lc_status status;

	options.flags = LC_RDONLY;
	cache = sample_open(root, "m", &options);
	status = lc_verify(cache, &progress, out);
	need_ok(lc_close(cache));
	return status;
}

START_TEST(whole)
{
	const char *root = run_scratch();
	struct report report = { .n = 0 };
	lc_verify_result result = { 0 };

	make_module(root);
	assert_ok(verify(root, &report, &result));
	ck_assert_uint_eq(report.n, 0);
	ck_assert_uint_eq(report.steps, 1 + COMMITS);
	ck_assert_uint_eq(result.chunks, COMMITS);
	ck_assert_uint_eq(result.records, RECORDS);
	ck_assert_uint_eq(result.live, RECORDS);
	ck_assert_uint_eq(result.damaged, 0);
}
END_TEST

START_TEST(damages_in_order)
{
	static const unsigned damaged[] = { 0, 3, 38, 39, 40, 65, 88, 110, 111 };
	const unsigned n = sizeof(damaged) / sizeof(damaged[0]);
	const char *root = run_scratch();
	lc_verify_result result = { 0 };
	struct file file;
	char lines[16][200];

	make_module(root);
	file = map_file(root);
	for (unsigned i = 0; i < n; i++) {
		const unsigned first = damaged[i] / EACH * EACH;

		snprintf(lines[i], 200, "chunk %u, byte %llu, key 'k%05u': checksum mismatch",
		    damaged[i] / EACH + 1,
		    (unsigned long long)(48 + find_value(&file, damaged[i]) -
			find_value(&file, first)),
		    damaged[i]);
	}
	for (unsigned i = 0; i < n; i++)
		find_value(&file, damaged[i])[SIZE / 2] ^= 1;
	munmap(file.bytes, file.size);
	for (int again = 0; again < 5; again++) {
		struct report report = { .n = 0 };

		assert_status(verify(root, &report, &result), LC_CORRUPT);
		ck_assert_str_eq(lc_last_error()->text, "m: 9 damages found");
		ck_assert_uint_eq(result.damaged, n);
		ck_assert_uint_eq(result.records, RECORDS);
		ck_assert_uint_eq(report.n, n);
		for (unsigned i = 0; i < n; i++)
			ck_assert_str_eq(report.lines[i], lines[i]);
	}
}
END_TEST

/* Also while its threads read on. */
START_TEST(cancelled)
{
	const char *root = run_scratch();
	lc_verify_result result = { 0 };

	make_module(root);
	for (unsigned step = 1; step <= COMMITS; step += 3) {
		struct report report = { .cancel = step };

		assert_status(verify(root, &report, &result), LC_CANCELLED);
		ck_assert_str_eq(lc_last_error()->text, "verify: cancelled");
		ck_assert_uint_eq(report.steps, step);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("verify");
	TCase *tc = tcase_create("verify");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, whole);
	tcase_add_test(tc, damages_in_order);
	tcase_add_test(tc, cancelled);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
