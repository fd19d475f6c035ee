/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory of verified copies: limit, pins, faults of the store and of the disk. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"
#include "odd_store.h"
#include "outdir_files.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define NOT_HERE 77

static struct odd_store store;
static struct lc__copies *copies;
static char dir[4000];

static void
make_store(size_t n, uint64_t size, uint64_t most)
{
	char path[4000];

	snprintf(path, sizeof(path), "%s/store", run_scratch());
	snprintf(dir, sizeof(dir), "%s/copies", run_scratch());
	odd_store_make(&store, path, n, size, most, run_seed());
}

/* 16 objects of 64 KiB, and room for 4 of them. */
static void
setup(void)
{
	make_store(16, 64 * KIB, 64 * KIB);
	assert_ok(lc__copies_open(dir, 256 * KIB, false, &store.objects, &copies));
}

static void
setup_large(void)
{
	make_store(2, 20 * MIB, 20 * MIB);
	assert_ok(lc__copies_open(dir, 64 * MIB, false, &store.objects, &copies));
}

static void
teardown(void)
{
	lc__copies_close(copies);
	odd_store_free(&store);
}

static lc_status
take(size_t i, struct lc__copy *out)
{
	const struct lc__wanted wanted = odd_wanted(&store, i);

	return lc__copies_take(copies, &wanted, out);
}

/* Take it, look at it, give it back. */
static void
look_at(size_t i)
{
	struct lc__copy copy;

	need_ok(take(i, &copy));
	need(odd_same(&store, i, copy.path));
	lc__copies_give(copies, &copy);
}

static bool
is_there(size_t i)
{
	enum lc__row_state state;

	need_ok(lc__copies_look(copies, store.all[i].name, &state));
	return state == LC__ROW_THERE;
}

static uint64_t
stat_of(_Atomic uint64_t *counter)
{
	return atomic_load(counter);
}

#define STAT(name) stat_of(&lc__copies_stats(copies)->name)

static void
path_of(size_t i, char out[5000])
{
	snprintf(out, 5000, "%s/%s", dir, store.all[i].name);
}

/* ---- one user ------------------------------------------------------------------------ */

START_TEST(take_and_give)
{
	struct lc__copy copy, again;
	char path[5000];
	struct stat st;

	assert_ok(take(0, &copy));
	path_of(0, path);
	ck_assert_str_eq(copy.path, path);
	ck_assert(odd_same(&store, 0, path));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(stat(dir, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0700);
	assert_ok(take(0, &again));
	lc__copies_give(copies, &copy);
	lc__copies_give(copies, &again);
	ck_assert_uint_eq(STAT(hits), 1);
	ck_assert_uint_eq(STAT(fetched), 1);
	ck_assert_uint_eq(STAT(bytes), 64 * KIB);
	ck_assert_uint_eq(odd_disk(dir), 64 * KIB);
	/* Another process finds it. */
	lc__copies_close(copies);
	assert_ok(lc__copies_open(dir, 256 * KIB, false, &store.objects, &copies));
	look_at(0);
	ck_assert_uint_eq(STAT(hits), 1);
	ck_assert_uint_eq(STAT(fetched), 0);
}
END_TEST

START_TEST(names)
{
	struct lc__wanted wanted = odd_wanted(&store, 0);
	struct lc__copy copy;

	wanted.name[20] = 'x';
	assert_status(lc__copies_take(copies, &wanted, &copy), LC_CORRUPT);
	strcpy(wanted.name, "../../etc/passwd");
	assert_status(lc__copies_take(copies, &wanted, &copy), LC_CORRUPT);
	strcpy(wanted.name, "roster");
	assert_status(lc__copies_take(copies, &wanted, &copy), LC_CORRUPT);
}
END_TEST

START_TEST(oldest_goes)
{
	for (size_t i = 0; i < 4; i++)
		look_at(i);
	look_at(0);
	look_at(4);
	ck_assert(is_there(0) && !is_there(1) && is_there(2) && is_there(4));
	ck_assert_uint_eq(STAT(evicted), 1);
	ck_assert_uint_eq(odd_disk(dir), 256 * KIB);
	/* Less room is kept to at once. */
	lc__copies_close(copies);
	assert_ok(lc__copies_open(dir, 128 * KIB, false, &store.objects, &copies));
	ck_assert_uint_eq(odd_disk(dir), 128 * KIB);
	ck_assert(is_there(0) && is_there(4));
}
END_TEST

START_TEST(pinned_stays)
{
	struct lc__copy pinned[4], more;

	for (size_t i = 0; i < 4; i++)
		assert_ok(take(i, &pinned[i]));
	assert_status(take(5, &more), LC_NO_SPACE);
	ck_assert_uint_eq(STAT(evicted), 0);
	lc__copies_give(copies, &pinned[2]);
	assert_ok(take(5, &more));
	ck_assert(!is_there(2));
	for (size_t i = 0; i < 4; i++)
		if (i != 2) {
			ck_assert(odd_same(&store, i, pinned[i].path));
			lc__copies_give(copies, &pinned[i]);
		}
	lc__copies_give(copies, &more);
}
END_TEST

START_TEST(too_large)
{
	struct lc__copy copy;

	lc__copies_close(copies);
	assert_ok(lc__copies_open(dir, 63 * KIB, false, &store.objects, &copies));
	assert_status(take(0, &copy), LC_NO_SPACE);
	ck_assert_uint_eq(STAT(bytes), 0);
}
END_TEST

/* ---- faults of the store --------------------------------------------------------------- */

START_TEST(damaged_once)
{
	atomic_store(&store.shared->flip_at, 1);
	look_at(3);
	ck_assert_uint_eq(STAT(again), 1);
	ck_assert_uint_eq(STAT(bytes), 128 * KIB);
}
END_TEST

START_TEST(damaged_always)
{
	struct lc__copy copy;
	char want[400];

	atomic_store(&store.shared->flip_all, true);
	assert_status(take(3, &copy), LC_CORRUPT);
	snprintf(want, sizeof(want),
	    "file:store/%s, part inputs/7: its SHA-256 is ", store.all[3].name);
	ck_assert_msg(strncmp(lc_last_error()->text, want, strlen(want)) == 0, "%s",
	    lc_last_error()->text);
	ck_assert_uint_eq(STAT(again), 1);
	ck_assert_uint_eq(odd_disk(dir), 0);
	atomic_store(&store.shared->flip_all, false);
	look_at(3);
}
END_TEST

START_TEST(missing_or_another)
{
	struct lc__copy copy;
	struct lc__wanted wanted = odd_wanted(&store, 2);
	char want[400];

	wanted.size--;
	assert_status(lc__copies_take(copies, &wanted, &copy), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "has 65536 bytes, not 65535"));
	assert_ok(store.real->remove(store.real, store.all[2].name));
	assert_status(take(2, &copy), LC_CORRUPT);
	snprintf(want, sizeof(want), "file:store/%s, part inputs/7: is missing",
	    store.all[2].name);
	ck_assert_str_eq(lc_last_error()->text, want);
	/* Another good object in its place. */
	assert_ok(lc__object_add(store.real, store.all[2].name, store.all[1].bytes,
	    64 * KIB));
	assert_status(take(2, &copy), LC_CORRUPT);
	ck_assert_uint_eq(odd_disk(dir), 0);
}
END_TEST

START_TEST(goes_on)
{
	struct lc__copy copy;

	atomic_store(&store.shared->fail_at, 9);
	assert_status(take(0, &copy), LC_IO);
	ck_assert_uint_eq(STAT(bytes), 8 * MIB);
	/* Where the file system can reserve it, all of it. */
	ck_assert_uint_ge(odd_disk(dir), 8 * MIB);
	ck_assert_uint_le(odd_disk(dir), 20 * MIB);
	look_at(0);
	ck_assert_uint_eq(STAT(bytes), 20 * MIB);
	ck_assert_uint_eq(STAT(resumed), 1);
	ck_assert_uint_eq(odd_disk(dir), 20 * MIB);
}
END_TEST

START_TEST(damaged_beginning)
{
	struct lc__copy copy;
	char tmp[5000];

	atomic_store(&store.shared->fail_at, 9);
	assert_status(take(0, &copy), LC_IO);
	snprintf(tmp, sizeof(tmp), "%s/" LC__ROSTER_TMP, dir);
	outdir_flip(tmp, strrchr(store.all[0].name, '/') + 1, 100);
	look_at(0);
	ck_assert_uint_eq(STAT(again), 1);
	ck_assert_uint_eq(STAT(bytes), 8 * MIB + 12 * MIB + 20 * MIB);
}
END_TEST

/* ---- other processes ------------------------------------------------------------------ */

static void
fetch_and_die(void *ctx)
{
	struct lc__copy copy;

	(void)ctx;
	(void)take(0, &copy);
}

START_TEST(killed_fetcher)
{
	atomic_store(&store.shared->die_at, 17);
	ck_assert_int_eq(child_run(fetch_and_die, NULL), 128 + SIGKILL);
	look_at(0);
	ck_assert_uint_eq(STAT(resumed), 1);
	ck_assert_uint_eq(STAT(bytes), 4 * MIB);
	ck_assert_uint_eq(odd_disk(dir), 20 * MIB);
}
END_TEST

static void
pin_and_die(void *ctx)
{
	struct lc__copy copy;

	(void)ctx;
	for (size_t i = 0; i < 4; i++)
		need_ok(take(i, &copy));
	kill(getpid(), SIGKILL);
}

START_TEST(killed_reader)
{
	ck_assert_int_eq(child_run(pin_and_die, NULL), 128 + SIGKILL);
	for (size_t i = 0; i < 4; i++)
		ck_assert(is_there(i));
	for (size_t i = 4; i < 8; i++)
		look_at(i);
	ck_assert_uint_eq(STAT(evicted), 4);
}
END_TEST

static int held[2], let_go[2];

static void
pin_and_wait(void *ctx)
{
	struct lc__copy copy[4];
	char byte = 0;

	(void)ctx;
	for (size_t i = 0; i < 4; i++)
		need_ok(take(i, &copy[i]));
	need(write(held[1], &byte, 1) == 1);
	need(read(let_go[0], &byte, 1) == 1);
	for (size_t i = 0; i < 4; i++) {
		need(odd_same(&store, i, copy[i].path));
		lc__copies_give(copies, &copy[i]);
	}
}

START_TEST(pinned_by_another)
{
	struct lc__copy copy;
	char byte = 0;
	pid_t child;

	ck_assert_int_eq(pipe(held), 0);
	ck_assert_int_eq(pipe(let_go), 0);
	child = child_start(pin_and_wait, NULL);
	ck_assert_int_eq(read(held[0], &byte, 1), 1);
	assert_status(take(9, &copy), LC_NO_SPACE);
	ck_assert_int_eq(write(let_go[1], &byte, 1), 1);
	ck_assert_int_eq(child_wait(child), 0);
	look_at(9);
}
END_TEST

/* The child of a process that has copies pinned. */
static void
use_both(void *ctx)
{
	struct lc__copy *mine = ctx, other;

	need(odd_same(&store, 0, mine->path));
	need_ok(take(1, &other));
	lc__copies_give(copies, &other);
	/* What its parent has is not its own to give back. */
	lc__copies_give(copies, mine);
	for (size_t i = 2; i < 9; i++)
		look_at(i);
}

START_TEST(forked)
{
	struct lc__copy copy;

	assert_ok(take(0, &copy));
	ck_assert_int_eq(child_run(use_both, &copy), 0);
	ck_assert(is_there(0));
	ck_assert(odd_same(&store, 0, copy.path));
	lc__copies_give(copies, &copy);
}
END_TEST

static void
look_at_three(void *ctx)
{
	(void)ctx;
	for (size_t i = 0; i < 3; i++)
		look_at(i);
}

static void *
look_in_thread(void *ctx)
{
	look_at_three(ctx);
	return NULL;
}

START_TEST(fetched_once)
{
	pthread_t thread[4];
	pid_t child[3];

	atomic_store(&store.shared->slow_ns, 20000000);
	for (int i = 0; i < 3; i++)
		child[i] = child_start(look_at_three, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, look_in_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(child_wait(child[i]), 0);
	ck_assert_uint_eq(atomic_load(&store.shared->calls), 3);
}
END_TEST

/* ---- many at once --------------------------------------------------------------------- */

static _Atomic bool stop;
static _Atomic uint64_t most;

static void *
check_limit(void *ctx)
{
	const uint64_t limit = *(uint64_t *)ctx;

	while (!atomic_load(&stop)) {
		const uint64_t disk = odd_disk(dir);

		need(disk <= limit);
		if (disk > atomic_load(&most))
			atomic_store(&most, disk);
	}
	return NULL;
}

/* Take at random, up to three at once, and look at each. */
static void
take_at_random(uint64_t seed, int rounds)
{
	struct lc__copy copy[3];

	for (int i = 0; i < rounds; i++) {
		const size_t n = 1 + run_random(&seed) % 3;
		size_t got = 0;

		for (size_t k = 0; k < n; k++) {
			const size_t object = run_random(&seed) % store.n;
			const lc_status status = take(object, &copy[got]);

			need(status == LC_OK || status == LC_NO_SPACE);
			if (status == LC_OK)
				need(odd_same(&store, object, copy[got++].path));
		}
		while (got > 0)
			lc__copies_give(copies, &copy[--got]);
	}
}

static void *
random_thread(void *ctx)
{
	take_at_random((uint64_t)(uintptr_t)ctx, 60);
	return NULL;
}

static void
random_process(void *ctx)
{
	pthread_t thread;

	pthread_create(&thread, NULL, random_thread,
	    (void *)((uintptr_t)ctx + 1));
	take_at_random((uint64_t)(uintptr_t)ctx, 60);
	pthread_join(thread, NULL);
}

START_TEST(limit_holds)
{
	uint64_t seed = run_seed(), limit = 640 * KIB;
	pthread_t checker, thread[2];
	pid_t child[4];

	make_store(40, 20 * KIB, 100 * KIB);
	assert_ok(lc__copies_open(dir, limit, false, &store.objects, &copies));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 4; i++)
			child[i] = child_start(random_process,
			    (void *)(uintptr_t)run_random(&seed));
		/* After the children: they would have what it has taken of the heap. */
		atomic_store(&stop, false);
		pthread_create(&checker, NULL, check_limit, &limit);
		for (int i = 0; i < 2; i++)
			pthread_create(&thread[i], NULL, random_thread,
			    (void *)(uintptr_t)run_random(&seed));
		/* Somewhere in what they do. */
		usleep((useconds_t)(run_random(&seed) % 100000));
		kill(child[0], SIGKILL);
		kill(child[1], SIGKILL);
		for (int i = 0; i < 2; i++)
			pthread_join(thread[i], NULL);
		for (int i = 0; i < 4; i++) {
			const int status = child_wait(child[i]);

			ck_assert(status == 0 || (i < 2 && status == 128 + SIGKILL));
		}
		atomic_store(&stop, true);
		pthread_join(checker, NULL);
	}
	printf("# at most %llu of %llu bytes\n", (unsigned long long)most,
	    (unsigned long long)limit);
	/* Nothing is pinned, and nothing is left over. */
	for (size_t i = 0; i < store.n; i++)
		look_at(i);
	lc__copies_close(copies);
	assert_ok(lc__copies_open(dir, 0, false, &store.objects, &copies));
	ck_assert_uint_eq(odd_disk(dir), 0);
}
END_TEST

/* ---- what becomes of the directory ------------------------------------------------------ */

static void
remove_all(void)
{
	char command[5000];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(removed)
{
	struct lc__copy copy;
	char path[5000];

	assert_ok(take(0, &copy));
	remove_all();
	look_at(1);
	look_at(0);
	lc__copies_give(copies, &copy);
	/* One file. */
	path_of(1, path);
	ck_assert_int_eq(unlink(path), 0);
	look_at(1);
	/* One that is pinned: whoever has it may still map it, so it counts. */
	assert_ok(take(1, &copy));
	ck_assert_int_eq(unlink(path), 0);
	look_at(1);
	lc__copies_give(copies, &copy);
	for (size_t i = 0; i < 16; i++)
		look_at(i);
	/* The roster. */
	snprintf(path, sizeof(path), "%s/roster", dir);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(is_there(15));
	look_at(3);
	ck_assert_uint_eq(odd_disk(dir), 256 * KIB);
}
END_TEST

/* A name is found in the row that a scan of all rows finds, whichever handle adds, reuses and
 * frees rows. */
static int
scan(const struct lc__roster *roster, const char *name)
{
	for (uint32_t i = 0; i < roster->head->n; i++)
		if ((roster->rows[i].state == LC__ROW_COMING ||
			roster->rows[i].state == LC__ROW_THERE) &&
		    strcmp(roster->rows[i].name, name) == 0)
			return (int)i;
	return -1;
}

START_TEST(found_by_name)
{
	uint64_t seed = run_seed();
	struct lc__roster roster[2];

	for (int h = 0; h < 2; h++)
		assert_ok(lc__roster_open(dir, false, &roster[h]));
	for (int k = 0; k < 20000; k++) {
		struct lc__roster *r = &roster[run_random(&seed) % 2];
		char name[LC__ROSTER_NAME];
		int row;

		snprintf(name, sizeof(name), "obj/aa/%064llx.twh1",
		    (unsigned long long)(run_random(&seed) % 300));
		assert_ok(lc__roster_lock(r));
		row = lc__roster_find(r, name);
		ck_assert_int_eq(row, scan(r, name));
		if (row == -1 && run_random(&seed) % 2 == 0)
			ck_assert_int_ge(lc__roster_add(r, name, 1), 0);
		else if (row != -1 && run_random(&seed) % 3 == 0)
			r->rows[row].state = run_random(&seed) % 4 == 0 ? LC__ROW_GONE
									: LC__ROW_FREE;
		else if (row != -1)
			r->rows[row].state = LC__ROW_THERE;
		/* Those that are gone, in the end. */
		for (uint32_t i = 0; k % 50 == 0 && i < r->head->n; i++)
			if (r->rows[i].state == LC__ROW_GONE)
				r->rows[i].state = LC__ROW_FREE;
		lc__roster_unlock(r);
	}
	for (int h = 0; h < 2; h++)
		lc__roster_close(&roster[h]);
}
END_TEST

START_TEST(roster_damaged)
{
	uint64_t seed = run_seed();
	char path[5000];

	snprintf(path, sizeof(path), "%s/roster", dir);
	for (int i = 0; i < 60; i++) {
		unsigned char bytes[4096];
		int fd;

		look_at(0);
		lc__copies_close(copies);
		fd = open(path, O_WRONLY);
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (unsigned char)run_random(&seed);
		/* The head, the rows, its length. */
		if (i % 3 == 0)
			ck_assert_int_eq(pwrite(fd, bytes, 100, 0), 100);
		else if (i % 3 == 1)
			ck_assert_int_eq(pwrite(fd, bytes, sizeof(bytes), 4096),
			    sizeof(bytes));
		else
			ck_assert_int_eq(ftruncate(fd, (off_t)(run_random(&seed) % 9999)),
			    0);
		close(fd);
		assert_ok(
		    lc__copies_open(dir, 256 * KIB, false, &store.objects, &copies));
		look_at(1);
		/* Rows that are garbage may take the room of others, and go first. */
		for (size_t k = 0; k < 5; k++)
			look_at(k);
	}
}
END_TEST

START_TEST(not_ours)
{
	char path[5000], target[5000], byte;
	struct lc__copy copy;
	int fd;

	/* A link in the place of a copy, and of a file that is being fetched. */
	snprintf(target, sizeof(target), "%s/target", run_scratch());
	fd = open(target, O_RDWR | O_CREAT, 0666);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	look_at(0);
	path_of(0, path);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink(target, path), 0);
	look_at(0);
	ck_assert_int_eq(readlink(path, &byte, 1), -1);
	snprintf(path, sizeof(path), "%s/%s/%s", dir, LC__ROSTER_TMP,
	    strrchr(store.all[1].name, '/') + 1);
	ck_assert_int_eq(symlink(target, path), 0);
	assert_status(take(1, &copy), LC_IO);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(link(target, path), 0);
	assert_status(take(1, &copy), LC_INVALID);
	ck_assert_int_eq(unlink(path), 0);
	look_at(1);
	/* Files of others stay, also when the roster is made again. */
	snprintf(path, sizeof(path), "%s/obj/mine", dir);
	ck_assert_int_eq(link(target, path), 0);
	snprintf(path, sizeof(path), "%s/roster", dir);
	ck_assert_int_eq(unlink(path), 0);
	for (size_t i = 0; i < 16; i++)
		look_at(i);
	ck_assert_int_eq(pread(fd, &byte, 1, 0), 1);
	ck_assert_int_eq(byte, 'x');
	snprintf(path, sizeof(path), "%s/obj/mine", dir);
	ck_assert_int_eq(access(path, F_OK), 0);
	close(fd);
}
END_TEST

START_TEST(of_others)
{
	lc__copies_close(copies);
	copies = NULL;
	ck_assert_int_eq(chmod(dir, 0777), 0);
	assert_status(lc__copies_open(dir, 256 * KIB, false, &store.objects, &copies),
	    LC_PERMISSION);
	assert_ok(lc__copies_open(dir, 256 * KIB, true, &store.objects, &copies));
	look_at(0);
}
END_TEST

START_TEST(dropped_and_mended)
{
	struct lc__copy copy, again;
	char path[5000];

	assert_ok(take(0, &copy));
	path_of(0, path);
	outdir_flip(dir, store.all[0].name, 1000);
	ck_assert(!odd_same(&store, 0, path));
	assert_ok(lc__copies_mend(copies, &copy, 512, store.all[0].bytes + 512, 1024));
	ck_assert(odd_same(&store, 0, path));
	/* While it is pinned: the other one is another file. */
	outdir_flip(dir, store.all[0].name, 1000);
	assert_ok(lc__copies_drop(copies, store.all[0].name, NULL));
	assert_ok(take(0, &again));
	ck_assert(odd_same(&store, 0, again.path));
	/* Both count. */
	look_at(1);
	look_at(2);
	look_at(3);
	ck_assert(!is_there(1));
	lc__copies_give(copies, &copy);
	look_at(1);
	ck_assert(is_there(2) && is_there(3) && is_there(0));
	lc__copies_give(copies, &again);
	assert_ok(lc__copies_drop(copies, store.all[0].name, NULL));
	ck_assert(!is_there(0));
	ck_assert_uint_eq(odd_disk(dir), 192 * KIB);
}
END_TEST

START_TEST(ranges)
{
	const struct lc__wanted wanted = odd_wanted(&store, 5);
	unsigned char bytes[100];

	assert_ok(lc__copies_read(copies, &wanted, 65000, 100, bytes));
	ck_assert_int_eq(memcmp(bytes, store.all[5].bytes + 65000, 100), 0);
	assert_status(lc__copies_read(copies, &wanted, 65500, 100, bytes), LC_CORRUPT);
	ck_assert_uint_eq(STAT(ranges), 2);
}
END_TEST

/* ---- a full disk ------------------------------------------------------------------------- */

static void
fill_disk(void *ctx)
{
	struct lc__copy pinned[20];
	size_t n = 0;

	(void)ctx;
	need(mkdir(dir, 0700) == 0);
	if (!outdir_mount(dir, "size=600k,mode=0700"))
		_exit(NOT_HERE);
	need_ok(lc__copies_open(dir, 100 * MIB, false, &store.objects, &copies));
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < store.n; i++)
			look_at(i);
	need(STAT(full) > 0 && STAT(evicted) > 0 && STAT(failed) == 0);
	/* As many as fit are pinned; then their user is told. */
	while (n < 20 && take(n, &pinned[n]) == LC_OK)
		n++;
	need(n >= 6 && n < 10);
	need(lc_last_error()->status == LC_NO_SPACE);
	for (size_t i = 0; i < n; i++) {
		need(odd_same(&store, i, pinned[i].path));
		lc__copies_give(copies, &pinned[i]);
	}
	look_at(12);
	lc__copies_close(copies);
}

START_TEST(full_disk)
{
	int status;

	make_store(16, 64 * KIB, 64 * KIB);
	status = child_run(fill_disk, NULL);
	if (status == NOT_HERE)
		printf("# no file system can be mounted here\n");
	ck_assert(status == 0 || status == NOT_HERE);
	odd_store_free(&store);
}
END_TEST

/* ---- what the ranks need ----------------------------------------------------------------- */

struct table {
	uint64_t now;
	uint64_t when[16];
};

static uint64_t
now_of(void *ctx)
{
	return ((struct table *)ctx)->now;
}

static uint64_t
by_table(void *ctx, const char *name, uint64_t now)
{
	const uint64_t *when = ((struct table *)ctx)->when;

	for (size_t i = 0; i < store.n; i++)
		if (strcmp(name, store.all[i].name) == 0)
			return when[i] >= now ? when[i] : LC__NEVER;
	return LC__NEVER;
}

START_TEST(last_need_goes)
{
	struct table mine = { 10, { 30, 20, 50, LC__NEVER, 40 } };
	struct table others = { 100,
		{ LC__NEVER, LC__NEVER, 105, LC__NEVER, LC__NEVER } };
	struct lc__copies *other;
	struct lc__wanted wanted;
	struct lc__copy copy;

	for (size_t i = 0; i < 4; i++)
		look_at(i);
	assert_ok(lc__copies_open(dir, 256 * KIB, false, &store.objects, &other));
	lc__copies_rank(other, &(struct lc__copies_rank){ now_of, by_table, &others });
	lc__copies_rank(copies, &(struct lc__copies_rank){ now_of, by_table, &mine });
	assert_ok(lc__copies_tell(other));
	/* Nobody knows 3. */
	look_at(4);
	ck_assert(!is_there(3));
	/* In the eyes of both, 2 comes first, then 1, and 0 is last; 4 was needed now. */
	mine.now = 11;
	wanted = odd_wanted(&store, 5);
	wanted.when = 31;
	assert_ok(lc__copies_take(copies, &wanted, &copy));
	lc__copies_give(copies, &copy);
	ck_assert(!is_there(4) && is_there(0) && is_there(1) && is_there(2));
	/* Of 0 at 30, 1 at 20, 2 at 16 and 5 at 31 nothing goes for what is needed at 31. */
	wanted = odd_wanted(&store, 6);
	wanted.when = 31;
	assert_status(lc__copies_take(copies, &wanted, &copy), LC_NO_SPACE);
	wanted.when = 25;
	assert_ok(lc__copies_take(copies, &wanted, &copy));
	lc__copies_give(copies, &copy);
	ck_assert(!is_there(5));
	/* The other one's needs end with it. */
	lc__copies_close(other);
	wanted = odd_wanted(&store, 7);
	wanted.when = 22;
	assert_ok(lc__copies_take(copies, &wanted, &copy));
	lc__copies_give(copies, &copy);
	ck_assert(!is_there(2) && is_there(0) && is_there(1) && is_there(6));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("copies");
	TCase *one = tcase_create("one"), *large = tcase_create("large"),
	      *many = tcase_create("many");

	tcase_add_checked_fixture(one, setup, teardown);
	tcase_set_timeout(one, 60);
	tcase_add_test(one, take_and_give);
	tcase_add_test(one, names);
	tcase_add_test(one, oldest_goes);
	tcase_add_test(one, pinned_stays);
	tcase_add_test(one, too_large);
	tcase_add_test(one, damaged_once);
	tcase_add_test(one, damaged_always);
	tcase_add_test(one, missing_or_another);
	tcase_add_test(one, killed_reader);
	tcase_add_test(one, pinned_by_another);
	tcase_add_test(one, forked);
	tcase_add_test(one, fetched_once);
	tcase_add_test(one, removed);
	tcase_add_test(one, found_by_name);
	tcase_add_test(one, roster_damaged);
	tcase_add_test(one, not_ours);
	tcase_add_test(one, of_others);
	tcase_add_test(one, dropped_and_mended);
	tcase_add_test(one, ranges);
	tcase_add_test(one, last_need_goes);
	tcase_add_checked_fixture(large, setup_large, teardown);
	tcase_set_timeout(large, 60);
	tcase_add_test(large, goes_on);
	tcase_add_test(large, damaged_beginning);
	tcase_add_test(large, killed_fetcher);
	tcase_set_timeout(many, 120);
	if (!RUN_THREAD_SANITIZER)
		tcase_add_test(many, limit_holds);
	tcase_add_test(many, full_disk);
	suite_add_tcase(s, one);
	suite_add_tcase(s, large);
	suite_add_tcase(s, many);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
