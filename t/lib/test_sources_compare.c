/* SPDX-License-Identifier: BSD-2-Clause */
/* Datasets that changed in every way, and what is told of them. */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fileio.h"
#include "need.h"
#include "outdir_files.h"
#include "warehouse/sources.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

/* Times are set, never waited for. The list is begun at SINCE; what is of OLD is
 * older than any clock is coarse. */
#define SECOND 1000000000
#define SINCE ((int64_t)1700000000 * SECOND)
#define OLD (SINCE - (int64_t)3600 * SECOND)

/* ---- a dataset ------------------------------------------------------------- */

struct dataset {
	const char *root;
	struct lc__sources list;
	struct lc__buf told; /* lines */
	uint64_t done, total;
	int steps, stop_at;  /* stops at this step, from 1 */
};

static void
set_time(const char *root, const char *name, int64_t ns)
{
	char *path = outdir_join(root, name);
	const struct timespec time = { ns / SECOND, ns % SECOND };
	const struct timespec times[2] = { time, time };

	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	free(path);
}

static void
write_text(const char *root, const char *name, const char *text)
{
	char *path = outdir_join(root, name);

	assert_ok(lc__write_file_atomic(path, text, strlen(text)));
	free(path);
}

/* Its line in the list, as a build would make it. */
static void
list_one(struct dataset *d, const char *name, bool directory)
{
	char *path = outdir_join(d->root, name);
	struct lc__source_file f = { .path = name, .directory = directory };
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	f.mtime_ns = lc__sources_mtime(&st);
	if (directory)
		assert_ok(lc__sources_hash_dir(path, f.hash));
	else
		assert_ok(lc__sources_hash_file(path, f.hash, &f.size));
	assert_ok(lc__sources_add(&d->list, &f));
	free(path);
}

static void
list_missing(struct dataset *d, const char *name)
{
	assert_ok(lc__sources_add(&d->list,
	    &(struct lc__source_file){ .path = name, .missing = true }));
}

static const char *const dirs[] = { "", "empty", "empty2", "run", "run/images",
	"run/labels", "run.2" };
static const char *const files[] = { "empty2/c.txt", "run/images/a.jpg",
	"run/images/b.jpg", "run/labels/a.json", "run/labels/b.json", "run.2/c.txt" };

/* All is listed but run/images/extra.jpg; three files were not there. */
static void
make_dataset(struct dataset *d)
{
	*d = (struct dataset){ .root = run_scratch(), .list.since_ns = SINCE };
	for (int i = 1; i < COUNT(dirs); i++) {
		char *path = outdir_join(d->root, dirs[i]);
		assert_ok(lc__make_dirs(path));
		free(path);
	}
	for (int i = 0; i < COUNT(files); i++)
		write_text(d->root, files[i], files[i]);
	write_text(d->root, "run/images/extra.jpg", "extra");
	for (int i = 0; i < COUNT(files); i++)
		set_time(d->root, files[i], OLD);
	for (int i = COUNT(dirs); i-- > 0;)
		set_time(d->root, dirs[i], OLD);
	for (int i = 0; i < COUNT(dirs); i++)
		list_one(d, dirs[i], true);
	for (int i = 0; i < COUNT(files); i++)
		list_one(d, files[i], false);
	list_missing(d, "run/images/m.jpg");
	list_missing(d, "run.2/n/m.jpg");
	list_missing(d, "run/labels/m.json");
	lc__sources_sort(&d->list);
}

static int
count_step(void *ctx, uint64_t done, uint64_t total)
{
	struct dataset *d = ctx;

	ck_assert_uint_ge(done, d->done);
	d->done = done;
	d->total = total;
	return ++d->steps == d->stop_at;
}

static void
note_damage(void *ctx, const char *line)
{
	lc__buf_printf(&((struct dataset *)ctx)->told, "%s\n", line);
}

static lc_status
compare(struct dataset *d, enum lc__sources_look look)
{
	const lc_progress progress = { .step = count_step, .damage = note_damage, .ctx = d };

	d->told.size = 0;
	d->done = 0;
	return lc__sources_compare(&d->list, d->root, look, &progress);
}

static void
assert_told(struct dataset *d, enum lc__sources_look look, const char *want)
{
	assert_status(compare(d, look), *want == '\0' ? LC_OK : LC_INVALID);
	lc__buf_append(&d->told, "", 1);
	ck_assert_str_eq((const char *)d->told.data, want);
	ck_assert_uint_eq(d->done, d->total);
}

static void
free_dataset(struct dataset *d)
{
	lc__sources_free(&d->list);
	lc__buf_free(&d->told);
}

/* ---- one change ------------------------------------------------------------ */

/* A change is a letter and a path: w writes it anew, p does so and its time is put
 * back, x writes as much of something else with its time put back, t touches,
 * r removes, d makes a directory, f a FIFO; more follow behind a blank. */
static void
put_back(const char *root, const char *name)
{
	set_time(root, name, OLD);
}

static void
write_other(const char *root, const char *name)
{
	char *other = strdup(name);

	other[0] = '!';
	write_text(root, name, other);
	put_back(root, name);
	free(other);
}

static void
remove_path(const char *root, const char *name)
{
	char *path = outdir_join(root, name), *command;

	ck_assert_int_ge(asprintf(&command, "rm -r '%s'", path), 0);
	ck_assert_int_eq(system(command), 0);
	free(command);
	free(path);
}

static void
change(const char *root, char how, const char *name)
{
	char *path = outdir_join(root, name);

	if (how == 'w' || how == 'p')
		write_text(root, name, "another text");
	if (how == 'p')
		put_back(root, name);
	if (how == 'x')
		write_other(root, name);
	if (how == 't')
		set_time(root, name, SINCE);
	if (how == 'r')
		remove_path(root, name);
	if (how == 'd')
		ck_assert_int_eq(mkdir(path, 0777), 0);
	if (how == 'f')
		ck_assert_int_eq(mkfifo(path, 0666), 0);
	free(path);
}

static void
change_all(const char *root, const char *changes)
{
	char *copy = strdup(changes), *rest = copy, *word;

	while ((word = strsep(&rest, " ")) != NULL)
		if (*word != '\0')
			change(root, *word, word + 1);
	free(copy);
}

/* What is told of it by times, and by content if that is something else. */
static const struct {
	const char *changes, *by_stat, *by_content;
} rows[] = {
	{ "", "", NULL },
	{ "trun/images/a.jpg trun.2 trun/images", "", NULL },
	{ "wrun/images/a.jpg", "run/images/a.jpg: changed\n", NULL },
	{ "prun/images/a.jpg", "run/images/a.jpg: changed\n", NULL },
	/* The same size and time: only reading tells. */
	{ "xrun/images/a.jpg", "", "run/images/a.jpg: changed\n" },
	{ "xrun/images/a.jpg trun/images/a.jpg", "run/images/a.jpg: changed\n", NULL },
	{ "rrun/labels/a.json", "run/labels/a.json: removed\n", NULL },
	{ "rrun/labels/a.json drun/labels/a.json",
	    "run/labels/a.json/: added\nrun/labels/a.json: changed\n", NULL },
	{ "rrun/labels/a.json frun/labels/a.json", "run/labels/a.json: changed\n",
	    NULL },
	/* New names where the list had all. */
	{ "wrun/labels/c.json", "run/labels/c.json: added\n", NULL },
	{ "wrun/labels/c.json wrun/labels/0.xml rrun/labels/b.json",
	    "run/labels/0.xml: added\nrun/labels/c.json: added\n"
	    "run/labels/b.json: removed\n", NULL },
	{ "wrun/labels/notes wrun/labels/.c.json wrun/labels/c.json.tmp", "", NULL },
	{ "drun.3", "run.3/: added\n", NULL },
	{ "wlabels.json", "labels.json: added\n", NULL },
	{ "dempty/x", "empty/x/: added\n", NULL },
	/* And where it had not. */
	{ "wrun/images/c.jpg", "run/images: changed\n", NULL },
	{ "rrun/images/extra.jpg", "run/images: changed\n", NULL },
	{ "rrun/images/a.jpg", "run/images/a.jpg: removed\n", NULL },
	{ "rrun/images/a.jpg rrun/images/b.jpg",
	    "run/images/a.jpg: removed\nrun/images/b.jpg: removed\n", NULL },
	/* What was looked for came, and is told of once. */
	{ "wrun/images/m.jpg", "run/images/m.jpg: added\n", NULL },
	{ "wrun/labels/m.json", "run/labels/m.json: added\n", NULL },
	{ "wrun/images/m.jpg rrun/images/a.jpg",
	    "run/images/a.jpg: removed\nrun/images/m.jpg: added\n", NULL },
	{ "drun.2/n", "run.2/n/: added\n", NULL },
	{ "drun.2/n wrun.2/n/m.jpg", "run.2/n/: added\nrun.2/n/m.jpg: added\n", NULL },
	/* Whole directories: their files say it, and they where there are none. */
	{ "rempty", "empty: removed\n", NULL },
	{ "rempty wempty", "empty: removed\n", NULL },
	{ "rrun.2", "run.2/c.txt: removed\n", NULL },
	{ "rrun.2 wrun.2", "run.2/c.txt: removed\n", NULL },
	{ "rrun", "run/images/a.jpg: removed\nrun/images/b.jpg: removed\n"
	    "run/labels/a.json: removed\nrun/labels/b.json: removed\n", NULL },
};

START_TEST(changes)
{
	const char *by_content = rows[_i].by_content;
	struct dataset d;

	make_dataset(&d);
	change_all(d.root, rows[_i].changes);
	assert_told(&d, LC__LOOK_STAT, rows[_i].by_stat);
	assert_told(&d, LC__LOOK_CONTENT, by_content ? by_content : rows[_i].by_stat);
	free_dataset(&d);
}
END_TEST

/* Where nobody listens, the error says the first, and how many. */
START_TEST(message)
{
	struct dataset d;

	make_dataset(&d);
	change_all(d.root, "wrun/images/b.jpg");
	assert_status(lc__sources_compare(&d.list, d.root, LC__LOOK_STAT, NULL),
	    LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "run/images/b.jpg: changed");
	change_all(d.root, "rrun/labels wlabels.json");
	assert_status(lc__sources_compare(&d.list, d.root, LC__LOOK_STAT, NULL),
	    LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "labels.json: added, and 3 more");
	free_dataset(&d);
}
END_TEST

/* ---- files changed while the list was made --------------------------------- */

/* A file of this time is changed to as many bytes, and keeps its time. */
static const struct {
	int64_t time;
	const char *told;
} tick_rows[] = {
	{ SINCE - 2 * (int64_t)SECOND - 1, "" },
	{ SINCE - 2 * (int64_t)SECOND, "run.2/c.txt: changed\n" },
	{ SINCE - 1, "run.2/c.txt: changed\n" },
	{ SINCE, "run.2/c.txt: changed\n" },
	{ SINCE + 100 * (int64_t)SECOND, "run.2/c.txt: changed\n" },
};

START_TEST(within_a_tick)
{
	const int64_t time = tick_rows[_i].time;
	struct dataset d = { .root = run_scratch(), .list.since_ns = SINCE };

	change_all(d.root, "drun.2 wrun.2/c.txt");
	set_time(d.root, "run.2/c.txt", time);
	list_one(&d, "run.2/c.txt", false);
	assert_told(&d, LC__LOOK_STAT, "");
	write_text(d.root, "run.2/c.txt", "ANOTHER TEXT");
	set_time(d.root, "run.2/c.txt", time);
	assert_told(&d, LC__LOOK_STAT, tick_rows[_i].told);
	assert_told(&d, LC__LOOK_CONTENT, "run.2/c.txt: changed\n");
	free_dataset(&d);
}
END_TEST

/* The same of a directory, and of a list that knows no time. */
START_TEST(directory_within_a_tick)
{
	struct dataset d = { .root = run_scratch(), .list.since_ns = SINCE };

	set_time(d.root, "", SINCE);
	list_one(&d, "", true);
	write_text(d.root, "a.jpg", "");
	set_time(d.root, "", SINCE);
	assert_told(&d, LC__LOOK_STAT, "a.jpg: added\n");
	d.list.since_ns = SINCE + 3 * (int64_t)SECOND;
	assert_told(&d, LC__LOOK_STAT, "");
	d.list.since_ns = 0;
	assert_told(&d, LC__LOOK_STAT, "a.jpg: added\n");
	free_dataset(&d);
}
END_TEST

/* ---- other places ---------------------------------------------------------- */

/* Any name is told of on one line; what is new and what was listed. */
START_TEST(odd_names)
{
	struct dataset d = { .root = run_scratch(), .list.since_ns = SINCE };

	write_text(d.root, "a\n: removed\\.jpg", "1");
	list_one(&d, "a\n: removed\\.jpg", false);
	list_one(&d, "", true);
	lc__sources_sort(&d.list);
	write_text(d.root, "a\n: removed\\.jpg", "12");
	write_text(d.root, "\x1b[1m.png", "");
	assert_told(&d, LC__LOOK_STAT,
	    "\\x1b[1m.png: added\na\\n: removed\\\\.jpg: changed\n");
	free_dataset(&d);
}
END_TEST

/* One file that stands elsewhere. */
START_TEST(outside)
{
	struct dataset d = { .root = run_scratch(), .list.since_ns = SINCE };
	const char *elsewhere = run_scratch();
	char *path = outdir_join(elsewhere, "labels.json"), *want;
	struct lc__source_file f = { .path = path };

	write_text(elsewhere, "labels.json", "1");
	assert_ok(lc__sources_hash_file(path, f.hash, &f.size));
	assert_ok(lc__sources_add(&d.list, &f));
	list_one(&d, "", true);
	lc__sources_sort(&d.list);
	assert_told(&d, LC__LOOK_STAT, "");
	write_text(elsewhere, "labels.json", "2");
	write_text(d.root, "a.jpg", "");
	ck_assert_int_ge(asprintf(&want, "a.jpg: added\n%s: changed\n", path), 0);
	assert_told(&d, LC__LOOK_STAT, want);
	free(want);
	free(path);
	free_dataset(&d);
}
END_TEST

/* The dataset moved with its times, or was copied without them. */
START_TEST(moved)
{
	struct dataset d;
	const char *elsewhere = run_scratch();
	char *command;

	make_dataset(&d);
	ck_assert_int_ge(asprintf(&command, "cp -r '%s' '%s/copy'", d.root, elsewhere),
	    0);
	ck_assert_int_eq(system(command), 0);
	free(command);
	d.root = outdir_join(elsewhere, "copy");
	assert_told(&d, LC__LOOK_STAT, "");
	free((char *)d.root);
	free_dataset(&d);
}
END_TEST

START_TEST(no_root)
{
	struct dataset d;
	const char *root;

	make_dataset(&d);
	root = d.root;
	d.root = outdir_join(root, "none");
	assert_status(compare(&d, LC__LOOK_STAT), LC_NO_FILE);
	free((char *)d.root);
	d.root = outdir_join(root, "run.2/c.txt");
	assert_status(compare(&d, LC__LOOK_STAT), LC_NO_FILE);
	free((char *)d.root);
	free_dataset(&d);
}
END_TEST

/* Not to be read is not to be gone. */
START_TEST(no_permission)
{
	struct dataset d;
	char *path;

	if (geteuid() == 0)
		return;
	make_dataset(&d);
	path = outdir_join(d.root, "run/images/a.jpg");
	ck_assert_int_eq(chmod(path, 0), 0);
	assert_status(compare(&d, LC__LOOK_CONTENT), LC_PERMISSION);
	free(path);
	free_dataset(&d);
}
END_TEST

/* Every step stops it, and each is one. */
START_TEST(cancelled)
{
	struct dataset d;
	int steps;

	make_dataset(&d);
	assert_told(&d, LC__LOOK_CONTENT, "");
	steps = d.steps;
	ck_assert_int_ge(steps, COUNT(files));
	for (int i = 1; i <= steps; i++) {
		d.steps = 0;
		d.stop_at = i;
		assert_status(compare(&d, LC__LOOK_CONTENT), LC_CANCELLED);
		ck_assert_int_eq(d.steps, i);
	}
	free_dataset(&d);
}
END_TEST

/* ---- many changes ---------------------------------------------------------- */

#define PLACES 12 /* files that may be, in three directories */

/* What a file was when it was listed, and is now. */
struct place {
	char path[16];
	bool was, is;
	char before, now; /* its content */
};

static void
put_place(struct dataset *d, struct place *p, uint64_t *seed)
{
	const char text[2] = { p->now, '\0' };
	char *path = outdir_join(d->root, p->path);

	if (p->is) {
		write_text(d->root, p->path, text);
		set_time(d->root, p->path, OLD + (int64_t)(run_random(seed) % 1000));
	} else {
		unlink(path);
	}
	free(path);
}

static void
add_line(struct lc__buf *lines, const char *path, const char *what)
{
	lc__buf_printf(lines, "%s: %s\n", path, what);
}

/* Directories tell what is new before their files tell the rest. */
static void
expect(const struct place *places, struct lc__buf *lines)
{
	for (int dir = 0; dir < 3; dir++) {
		for (int i = 4 * dir; i < 4 * dir + 4; i++)
			if (places[i].is && !places[i].was)
				add_line(lines, places[i].path, "added");
		for (int i = 4 * dir; i < 4 * dir + 4; i++)
			if (places[i].was && !places[i].is)
				add_line(lines, places[i].path, "removed");
			else if (places[i].was && places[i].now != places[i].before)
				add_line(lines, places[i].path, "changed");
	}
	lc__buf_append(lines, "", 1);
}

static void
play(uint64_t *seed)
{
	struct dataset d = { .root = run_scratch(), .list.since_ns = SINCE };
	struct place places[PLACES];
	struct lc__buf want = { 0 };

	change_all(d.root, "d0 d1 d2");
	for (int i = 0; i < PLACES; i++) {
		struct place *p = &places[i];
		snprintf(p->path, sizeof(p->path), "%d/%d.png", i / 4, i % 4);
		p->was = p->is = run_random(seed) % 2;
		p->before = p->now = 'a';
		put_place(&d, p, seed);
	}
	for (int i = 0; i < 3; i++)
		list_one(&d, (const char *const[]){ "0", "1", "2" }[i], true);
	for (int i = 0; i < PLACES; i++)
		if (places[i].was)
			list_one(&d, places[i].path, false);
	lc__sources_sort(&d.list);
	for (uint64_t n = run_random(seed) % 6; n > 0; n--) {
		struct place *p = &places[run_random(seed) % PLACES];
		p->is = run_random(seed) % 3 > 0;
		p->now = "ab"[run_random(seed) % 2];
		put_place(&d, p, seed);
	}
	expect(places, &want);
	assert_told(&d, LC__LOOK_CONTENT, (const char *)want.data);
	lc__buf_free(&want);
	free_dataset(&d);
}

START_TEST(random_changes)
{
	uint64_t seed = run_seed();

	for (int i = 0; i < 200; i++)
		play(&seed);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sources_compare");
	TCase *tc = tcase_create("compare");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, changes, 0, COUNT(rows));
	tcase_add_test(tc, message);
	tcase_add_loop_test(tc, within_a_tick, 0, COUNT(tick_rows));
	tcase_add_test(tc, directory_within_a_tick);
	tcase_add_test(tc, odd_names);
	tcase_add_test(tc, outside);
	tcase_add_test(tc, moved);
	tcase_add_test(tc, no_root);
	tcase_add_test(tc, no_permission);
	tcase_add_test(tc, cancelled);
	tcase_add_test(tc, random_changes);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
