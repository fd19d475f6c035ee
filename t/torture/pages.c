/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages of data.mdb that are not what was written: torn, lost, of an older commit, in
 * another's place. What is read was put under that key at some time, or it is an error;
 * nothing crashes.
 */
#include "torture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample.h"
#include "base/buf.h"
#include "base/fileio.h"

enum { FAULTS, FOUND, READ };

#define PAGE 4096u
#define SECTOR 512u
#define KEYS 60u
#define COMMITS 12u
#define FAULTS_A_ROUND 60u

static const struct sample_range sizes = { 8, 6000 };

/* The file after each commit, and the version that each put, 0 if it did not. */
struct history {
	struct lc__buf files[COMMITS];
	uint64_t puts[COMMITS + 1][KEYS]; /* the last: after the fault */
};

static void
make_history(struct history *h, const char *dir, uint64_t *random)
{
	lc_options options = sample_options();
	char id[SAMPLE_ID_ROOM], path[4200];
	lc_cache *cache;

	options.chunk_bytes = 64 << 10;
	snprintf(path, sizeof(path), "%s/m/data.mdb", dir);
	cache = sample_open(dir, "m", &options);
	for (unsigned c = 0; c < COMMITS; c++) {
		for (unsigned i = 0; i < 10; i++) {
			const unsigned key = (unsigned)(run_random(random) % KEYS);

			h->puts[c][key] = c * KEYS + i + 1;
			need_ok(sample_put(cache, id, sample_id(id, key),
			    h->puts[c][key], sizes));
		}
		need_ok(lc_flush(cache));
		need_ok(lc__read_file(path, 1 << 30, &h->files[c]));
	}
	need_ok(lc_close(cache));
}

/* ---- faults -------------------------------------------------------------------------- */

static unsigned char *
page_at(const struct lc__buf *file, size_t page)
{
	return file->data + page * PAGE;
}

/* A page that the last commit wrote, or any. */
static size_t
choose_page(const struct history *h, const struct lc__buf *file, uint64_t *random)
{
	const struct lc__buf *before = &h->files[COMMITS - 2];
	const size_t pages = file->size / PAGE;
	size_t page = run_random(random) % pages;

	if (run_random(random) % 3 == 0)
		return page;
	for (size_t i = 0; i < pages; i++, page = (page + 1) % pages)
		if (page >= before->size / PAGE || memcmp(page_at(file, page),
		    page_at(before, page), PAGE) != 0)
			break;
	return page;
}

/* What the page was after an earlier commit; zeros where it was not there yet. */
static void
read_old(const struct history *h, size_t page, unsigned commit, unsigned char out[PAGE])
{
	memset(out, 0, PAGE);
	if (page < h->files[commit].size / PAGE)
		memcpy(out, page_at(&h->files[commit], page), PAGE);
}

static void
do_fault(const struct history *h, struct lc__buf *file, uint64_t *random)
{
	const size_t page = choose_page(h, file, random);
	const size_t other = choose_page(h, file, random);
	unsigned char *at = page_at(file, page), old[PAGE];

	switch (run_random(random) % 5) {
	case 0: /* torn: each sector is old or new */
		read_old(h, page, COMMITS - 2, old);
		for (unsigned i = 0; i < PAGE; i += SECTOR)
			if (run_random(random) % 2 == 0)
				memcpy(at + i, old + i, SECTOR);
		break;
	case 1: /* lost */
		read_old(h, page, COMMITS - 2, old);
		memcpy(at, old, PAGE);
		break;
	case 2: /* of any commit before */
		read_old(h, page, (unsigned)(run_random(random) % (COMMITS - 1)), old);
		memcpy(at, old, PAGE);
		break;
	case 3: /* in another's place */
		memcpy(old, at, PAGE);
		memcpy(at, page_at(file, other), PAGE);
		memcpy(page_at(file, other), old, PAGE);
		break;
	default: /* written twice */
		memcpy(at, page_at(file, other), PAGE);
	}
}

/* ---- what is read ----------------------------------------------------------------------- */

static bool
was_put(const struct history *h, unsigned key, const lc_tensor *tensor)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, key);
	const uint64_t version = tensor->nbytes >= 8 ? sample_version(tensor) : 0;

	for (unsigned c = 0; c <= COMMITS; c++)
		if (version != 0 && h->puts[c][key] == version)
			return sample_is(tensor, id, size, version, sizes);
	return false;
}

static bool
item_was_put(const struct history *h, const lc_item *item)
{
	char id[SAMPLE_ID_ROOM];

	for (unsigned key = 0; key < KEYS; key++)
		if (sample_id(id, key) == item->id.size &&
		    memcmp(id, item->id.data, item->id.size) == 0)
			return was_put(h, key, &item->tensor);
	return false;
}

/* Read all in every way. True if anything was an error. */
static bool
read_all(const struct history *h, lc_cache *cache)
{
	bool found = false;
	lc_iter *iter;
	lc_item item;
	lc_status status;

	for (unsigned key = 0; key < KEYS; key++) {
		char id[SAMPLE_ID_ROOM];
		lc_view view;

		status = lc_get(cache, id, sample_id(id, key), &view);
		found |= status != LC_OK && status != LC_NOT_FOUND;
		if (status != LC_OK)
			continue;
		need(was_put(h, key, &view.tensor));
		lc_view_release(&view);
		torture_count(READ, 1);
	}
	for (unsigned order = 0; order < 2; order++) {
		if (lc_iter_open(cache, order == 0 ? LC_BY_KEY : LC_BY_COMMIT, NULL, 0,
		    &iter) != LC_OK) {
			found = true;
			continue;
		}
		for (unsigned n = 0; n < 10000; n++) {
			status = lc_iter_next(iter, &item);
			if (status == LC_END)
				break;
			found |= status != LC_OK;
			need(status != LC_OK || item_was_put(h, &item));
			need(n < 9999);
		}
		lc_iter_close(iter);
	}
	return found;
}

/* A write after the fault gives no wrong bytes either. */
static void
write_some(struct history *h, lc_cache *cache)
{
	lc_status status = LC_OK;
	lc_compact_result result;
	char id[SAMPLE_ID_ROOM];

	for (unsigned i = 0; i < 5 && status == LC_OK; i++)
		status = sample_put(cache, id, sample_id(id, i),
		    h->puts[COMMITS][i] = 100000 + i, sizes);
	if (status == LC_OK)
		status = lc_flush(cache);
	(void)read_all(h, cache);
	if (status == LC_OK)
		(void)!lc_compact(cache, NULL, &result);
	(void)read_all(h, cache);
}

static void
look(struct history *h, const char *dir, bool write)
{
	lc_options options = sample_options();
	lc_verify_result result;
	lc_cache *cache;
	bool found;

	options.flags = write ? 0 : LC_RDONLY;
	if (lc_open(dir, "m", &options, &cache) != LC_OK) {
		torture_count(FOUND, 1);
		return;
	}
	found = read_all(h, cache);
	found |= lc_verify(cache, NULL, &result) != LC_OK;
	torture_count(FOUND, found);
	if (write)
		write_some(h, cache);
	lc_discard(cache);
}

static void
faults_round(uint64_t seed, const char *dir)
{
	struct history *h = calloc(1, sizeof(*h)), *now = malloc(sizeof(*now));
	char sub[4200], path[4300];
	uint64_t random = seed;

	need(h != NULL && now != NULL);
	make_history(h, dir, &random);
	for (unsigned i = 0; i < FAULTS_A_ROUND; i++) {
		struct lc__buf file = { 0 };
		int fd;

		snprintf(sub, sizeof(sub), "%s/%u", dir, i);
		snprintf(path, sizeof(path), "%s/m", sub);
		need(mkdir(sub, 0700) == 0 && mkdir(path, 0700) == 0);
		need(lc__buf_append(&file, h->files[COMMITS - 1].data,
		    h->files[COMMITS - 1].size) != NULL);
		for (uint64_t n = 1 + run_random(&random) % 3; n > 0; n--)
			do_fault(h, &file, &random);
		snprintf(path, sizeof(path), "%s/m/data.mdb", sub);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		need(fd != -1 && write(fd, file.data, file.size) == (ssize_t)file.size);
		close(fd);
		torture_count(FAULTS, 1);
		*now = *h;
		look(now, sub, false);
		look(now, sub, true);
		torture_remove(sub);
		lc__buf_free(&file);
	}
	for (unsigned c = 0; c < COMMITS; c++)
		lc__buf_free(&h->files[c]);
	free(h);
	free(now);
}

int
main(void)
{
	static const struct torture_case cases[] = {
		{ "faults", faults_round, 4 },
		{ NULL, NULL, 0 }
	};
	static const struct torture attack = {
		.name = "pages", .cases = cases,
		.counts = { "faulty files", "found by somebody", "records read" }
	};

	return torture_run(&attack);
}
