/* SPDX-License-Identifier: BSD-2-Clause */
/* Salvage: whatever becomes of the trees, every whole record is found again, in its
 * newest version, and no other. */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fileio.h"
#include "need.h"
#include "pages/page_layout.h"
#include "salvaging.h"
#include "sample.h"

/* Bytes of a page that LMDB believes this system to have, in place of the C library's
 * answer; 0: as they are. It gives them to a file that it makes. */
static long system_page;

extern long __sysconf(int name);

/* Where liblmdb finds it. */
__attribute__((visibility("default"))) long
sysconf(int name)
{
	return name == _SC_PAGESIZE && system_page != 0 ? system_page : __sysconf(name);
}

static const char *
make_root(enum salvaging_kind kind)
{
	uint64_t seed = run_seed();
	static char path[4200];

	snprintf(path, sizeof(path), "%s/r.XXXXXX", run_scratch());
	ck_assert_ptr_nonnull(mkdtemp(path));
	salvaging_make(path, kind, &seed);
	return path;
}

static char *
data_path(const char *root)
{
	char *path = malloc(strlen(root) + 20);

	sprintf(path, "%s/m/data.mdb", root);
	return path;
}

static void
write_data(const char *root, const void *bytes, size_t size)
{
	char *path = data_path(root);

	assert_ok(lc__write_file_atomic(path, bytes, size));
	free(path);
}

/* ---- flips ---------------------------------------------------------------- */

enum part { SKIP, STRUCTURE, VALUE };

/* What each byte of a page is. */
static void
mark_page(const struct salvaging *s, uint64_t page, unsigned char *part)
{
	const unsigned char *bytes = s->bytes + page * s->page_size;
	const unsigned flags = lc__native16(bytes + PAGE_FLAGS);
	const uint32_t lower = lc__native16(bytes + PAGE_LOWER);

	memset(part, SKIP, s->page_size);
	if (page < META_PAGES) {
		memset(part, STRUCTURE, META_END);
		return;
	}
	/* The pages of a large value, but for the first one, have no header. */
	if (lc__native64(bytes) != page)
		return;
	memset(part, STRUCTURE, PAGE_HEADER);
	if (flags == PAGE_OVERFLOW)
		return;
	memset(part, STRUCTURE, lower);
	for (uint32_t i = PAGE_HEADER; i < lower; i += 2) {
		const uint32_t at = lc__native16(bytes + i);
		const unsigned node = lc__native16(bytes + at + NODE_FLAGS);
		const uint32_t head = NODE_HEADER + lc__native16(bytes + at +
		    NODE_KEY_SIZE);

		memset(part + at, STRUCTURE, head);
		if (flags == PAGE_BRANCH)
			continue;
		if (node == 0)
			memset(part + at + head, VALUE, lc__native32(bytes + at));
		else
			memset(part + at + head, STRUCTURE,
			    node == NODE_OVERFLOW ? 8 : TREE_RECORD);
	}
}

/* Flip each bit of the pages that the newest commit uses. @p every takes one bit in so
 * many; the start is random. */
static void
flip_all(const struct salvaging *s, unsigned every, uint64_t *seed)
{
	unsigned char *bytes = malloc(s->size), *part = malloc(s->page_size);
	uint64_t flips = 0;

	memcpy(bytes, s->bytes, s->size);
	for (uint64_t page = 0; page < s->size / s->page_size; page++) {
		if (page >= META_PAGES && !lc__salvage_bit(s->reached, page))
			continue;
		mark_page(s, page, part);
		for (uint64_t bit = run_random(seed) % every;
		    bit < (uint64_t)s->page_size * 8; bit += every) {
			const uint64_t at = page * s->page_size + bit / 8;
			struct salvaging_result r;

			if (part[bit / 8] == SKIP)
				continue;
			bytes[at] ^= (unsigned char)(1u << bit % 8);
			r = salvaging_try(s, bytes, s->size);
			bytes[at] ^= (unsigned char)(1u << bit % 8);
			flips++;
			ck_assert_msg(r.status == LC_OK && r.missing == 0 &&
			    (r.extra == 0 || r.result.undecided >= r.extra) &&
			    (part[bit / 8] == VALUE || (r.extra == 0 &&
			    !r.result.uncertain && r.result.lost == 0)),
			    "page %llu byte %llu bit %llu (%s): status %d, %llu "
			    "missing, %llu extra, uncertain %d, lost %llu, "
			    "undecided %llu", (unsigned long long)page,
			    (unsigned long long)(bit / 8),
			    (unsigned long long)(bit % 8),
			    part[bit / 8] == VALUE ? "value" : "structure",
			    (int)r.status, (unsigned long long)r.missing,
			    (unsigned long long)r.extra, r.result.uncertain,
			    (unsigned long long)r.result.lost,
			    (unsigned long long)r.result.undecided);
		}
	}
	printf("# %llu flips\n", (unsigned long long)flips);
	free(bytes);
	free(part);
}

START_TEST(a_flip_in_the_trees_loses_nothing)
{
	const char *root;
	uint64_t seed = run_seed();
	struct salvaging s;

	root = make_root((enum salvaging_kind)_i);
	salvaging_load(root, &s);
	flip_all(&s, _i == SALVAGING_COMMITS ? sample_times(1) * 61 : 3, &seed);
	salvaging_free(&s);
}
END_TEST

/* Two flips: whatever is taken is whole, and nothing crashes. */
START_TEST(many_flips_lose_no_more_than_they_must)
{
	const char *root = make_root((enum salvaging_kind)_i);
	uint64_t seed = run_seed();
	unsigned char *bytes;
	struct salvaging s;

	salvaging_load(root, &s);
	bytes = malloc(s.size);
	for (unsigned i = 0; i < sample_times(300); i++) {
		memcpy(bytes, s.bytes, s.size);
		for (unsigned n = (unsigned)(run_random(&seed) % 40) + 2; n > 0; n--)
			bytes[run_random(&seed) % s.size] ^=
			    (unsigned char)(1u << run_random(&seed) % 8);
		ck_assert_int_eq(salvaging_try(&s, bytes, s.size).status, LC_OK);
	}
	free(bytes);
	salvaging_free(&s);
}
END_TEST

/* The node of a key on the pages that the newest commit uses, or on those that it does
 * not; from the page at @p page on, which becomes the node's. NULL if there is none. */
static unsigned char *
find_node(const struct salvaging *s, bool used, const char *key, uint64_t *page)
{
	for (; *page < s->size / s->page_size; ++*page) {
		unsigned char *bytes = s->bytes + *page * s->page_size;

		if (lc__salvage_bit(s->reached, *page) != used ||
		    lc__native64(bytes) != *page ||
		    lc__native16(bytes + PAGE_FLAGS) != PAGE_LEAF)
			continue;
		for (uint32_t i = PAGE_HEADER; i < lc__native16(bytes + PAGE_LOWER);
		    i += 2) {
			unsigned char *node = bytes + lc__native16(bytes + i);

			if (lc__native16(node + NODE_KEY_SIZE) == strlen(key) &&
			    memcmp(node + NODE_HEADER, key, strlen(key)) == 0)
				return node;
		}
	}
	return NULL;
}

/* The state row is damaged, and the root of another table leads to a free page that has
 * an older one: nothing says which runs of the index are the last ones. */
START_TEST(an_old_state_is_not_taken_for_the_newest)
{
	static const char *const tables[] = { "index", "ledger", "schema" };
	const char *root = make_root(SALVAGING_COMMITS);
	uint64_t page = META_PAGES, old = META_PAGES;
	struct salvaging_result r;
	struct salvaging s;
	unsigned char *state, *tree, kept[8];
	unsigned tried = 0;

	salvaging_load(root, &s);
	state = find_node(&s, true, "state", &page);
	ck_assert_ptr_nonnull(state);
	state[NODE_HEADER + 5 + 20] ^= 1;
	for (; find_node(&s, false, "state", &old) != NULL; old++)
		for (unsigned i = 0; i < 3; i++) {
			page = META_PAGES;
			tree = find_node(&s, true, tables[i], &page);
			ck_assert_ptr_nonnull(tree);
			tree += NODE_HEADER + strlen(tables[i]) + TREE_ROOT;
			memcpy(kept, tree, 8);
			memcpy(tree, s.bytes + old * s.page_size + PAGE_NUMBER, 8);
			r = salvaging_try(&s, s.bytes, s.size);
			memcpy(tree, kept, 8);
			ck_assert_int_eq(r.status, LC_OK);
			ck_assert_msg(r.missing == 0 && r.result.uncertain &&
			    r.extra <= r.result.undecided, "%s at page %llu: %llu "
			    "missing, %llu extra, %llu undecided, uncertain %d",
			    tables[i], (unsigned long long)old,
			    (unsigned long long)r.missing,
			    (unsigned long long)r.extra,
			    (unsigned long long)r.result.undecided,
			    r.result.uncertain);
			tried++;
		}
	ck_assert_uint_gt(tried, 0);
	salvaging_free(&s);
}
END_TEST

/* ---- larger damage -------------------------------------------------------- */

START_TEST(a_page_of_zeros_loses_what_was_on_it)
{
	const char *root = make_root((enum salvaging_kind)_i);
	unsigned char *bytes;
	struct salvaging s;

	salvaging_load(root, &s);
	bytes = malloc(s.size);
	for (uint64_t page = 0; page < s.size / s.page_size; page++) {
		const uint64_t at = page * s.page_size;
		struct salvaging_result r;

		memcpy(bytes, s.bytes, s.size);
		memset(bytes + at, 0, s.page_size);
		r = salvaging_try(&s, bytes, s.size);
		ck_assert_int_eq(r.status, LC_OK);
		/* With the only copy of its structure, a record is lost too; that is
		 * found when it is read. */
		ck_assert_msg(r.missing == 0, "page %llu: %llu missing",
		    (unsigned long long)page, (unsigned long long)r.missing);
		ck_assert_uint_le(r.extra, r.result.undecided);
	}
	free(bytes);
	salvaging_free(&s);
}
END_TEST

/* A large value that is said to begin on the leaf that names it, and is longer than it. */
START_TEST(a_large_value_is_not_on_its_own_leaf)
{
	const char *root = make_root(SALVAGING_VALUES);
	const uint32_t large = 64 << 20;
	unsigned changed = 0;
	unsigned char *bytes;
	struct salvaging s;

	salvaging_load(root, &s);
	bytes = calloc(1, s.size + large);
	ck_assert_ptr_nonnull(bytes);
	memcpy(bytes, s.bytes, s.size);
	for (uint64_t page = META_PAGES; page < s.size / s.page_size; page++) {
		unsigned char *leaf = bytes + page * s.page_size;

		if (lc__native64(leaf) != page || lc__native16(leaf + PAGE_FLAGS) != PAGE_LEAF)
			continue;
		for (uint32_t i = PAGE_HEADER; i < lc__native16(leaf + PAGE_LOWER); i += 2) {
			unsigned char *node = leaf + lc__native16(leaf + i);
			const uint16_t overflow = NODE_OVERFLOW;

			if (lc__native16(node + NODE_KEY_SIZE) != sizeof(uint32_t) ||
			    lc__native16(node + NODE_FLAGS) != 0)
				continue;
			memcpy(node + NODE_FLAGS, &overflow, sizeof(overflow));
			memcpy(node + NODE_SIZE, &large, sizeof(large));
			memcpy(node + NODE_HEADER + sizeof(uint32_t), &page, sizeof(page));
			changed++;
		}
	}
	ck_assert_uint_ge(changed, 3); /* structures */
	ck_assert_int_eq(salvaging_try(&s, bytes, s.size + large).status, LC_OK);
	free(bytes);
	salvaging_free(&s);
}
END_TEST

START_TEST(without_meta_pages_all_is_found)
{
	const char *root = make_root((enum salvaging_kind)_i);
	unsigned char *bytes;
	struct salvaging_result r;
	struct salvaging s;

	salvaging_load(root, &s);
	bytes = malloc(s.size);
	memcpy(bytes, s.bytes, s.size);
	memset(bytes, 0, 2 * (size_t)s.page_size);
	r = salvaging_try(&s, bytes, s.size);
	assert_ok(r.status);
	ck_assert_uint_eq(r.missing, 0);
	ck_assert_uint_eq(r.extra, 0);
	ck_assert_int_eq(r.result.uncertain, 0);
	free(bytes);
	salvaging_free(&s);
}
END_TEST

/* A module that was made on a system with larger pages, and came here as a file. */
START_TEST(pages_of_other_sizes)
{
	const enum salvaging_kind kind = (enum salvaging_kind)(_i % SALVAGING_KINDS);
	const uint32_t size = UINT32_C(8192) << _i / SALVAGING_KINDS;
	const char *root;
	unsigned char *bytes;
	struct salvaging s;

	system_page = (long)size;
	root = make_root(kind);
	system_page = 0;
	salvaging_load(root, &s);
	ck_assert_uint_eq(s.page_size, size);
	ck_assert_uint_gt(s.nlive, 0);
	bytes = malloc(s.size);
	/* Nothing is damaged, then no meta page names the size, then each page is lost. */
	for (uint64_t page = 0; page <= s.size / size; page++) {
		struct salvaging_result r;

		memcpy(bytes, s.bytes, s.size);
		if (page == 1)
			memset(bytes, 0, META_PAGES * (size_t)size);
		else if (page > 1)
			memset(bytes + (page - 1) * size, 0, size);
		r = salvaging_try(&s, bytes, s.size);
		assert_ok(r.status);
		ck_assert_msg(r.missing == 0, "page %llu: %llu missing",
		    (unsigned long long)page, (unsigned long long)r.missing);
		if (page < 2)
			ck_assert_uint_eq(r.extra + r.result.undecided, 0);
		else
			ck_assert_uint_le(r.extra, r.result.undecided);
	}
	free(bytes);
	salvaging_free(&s);
}
END_TEST

START_TEST(a_file_cut_short_has_what_is_left)
{
	const char *root = make_root((enum salvaging_kind)_i);
	struct salvaging s;

	salvaging_load(root, &s);
	for (uint64_t size = 0; size < s.size; size += s.page_size / 2) {
		/* A buffer of that size, so that a read behind it is noticed. */
		unsigned char *bytes = malloc(size + 1);
		struct salvaging_result r;

		memcpy(bytes, s.bytes, size);
		r = salvaging_try(&s, bytes, size);
		if (size >= META_END && size > 2 * (uint64_t)s.page_size) {
			assert_ok(r.status);
			ck_assert_msg(r.missing == 0, "%llu bytes: %llu missing",
			    (unsigned long long)size,
			    (unsigned long long)r.missing);
			ck_assert_uint_le(r.extra, r.result.undecided);
		} else if (r.status != LC_OK) {
			ck_assert_int_eq(r.status, LC_NOT_MODULE);
		}
		free(bytes);
	}
	salvaging_free(&s);
}
END_TEST

/* ---- the new module ------------------------------------------------------- */

/* The only flipped bit makes the module unreadable; the salvaged one is the same. */
START_TEST(the_new_module_has_the_same_values)
{
	const char *root = make_root((enum salvaging_kind)_i);
	lc_salvage_result result = { 0 };
	lc_settings old = { .struct_size = sizeof(old) }, new = old;
	unsigned char *bytes;
	struct salvaging s;
	lc_cache *cache;
	char from[4200];

	salvaging_load(root, &s);
	bytes = malloc(s.size);
	memcpy(bytes, s.bytes, s.size);
	for (uint64_t page = META_PAGES; page < s.size / s.page_size; page++)
		if (lc__salvage_bit(s.reached, page) && lc__native16(bytes +
		    page * s.page_size + PAGE_FLAGS) == PAGE_LEAF)
			bytes[page * s.page_size] ^= 1;
	snprintf(from, sizeof(from), "%s/m", root);
	write_data(root, bytes, s.size);
	assert_ok(lc_salvage(from, root, "n", NULL, &result));
	ck_assert_uint_eq(result.records, s.nlive);
	ck_assert_uint_eq(result.inputs, _i == SALVAGING_INPUTS ? 2 : 0);
	write_data(root, s.bytes, s.size);
	salvaging_compare(root, "m", "n");
	cache = sample_open(root, "m", NULL);
	assert_ok(lc_settings_get(cache, &old));
	assert_ok(lc_close(cache));
	cache = sample_open(root, "n", NULL);
	assert_ok(lc_settings_get(cache, &new));
	assert_ok(lc_close(cache));
	ck_assert_mem_eq(&old, &new, sizeof(old));
	free(bytes);
	salvaging_free(&s);
}
END_TEST

static bool
exists(const char *root, const char *name)
{
	char path[4200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return lstat(path, &st) == 0;
}

static int
stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
	(void)total;
	return done >= *(uint64_t *)ctx;
}

START_TEST(a_failure_leaves_no_module)
{
	const char *root = make_root(SALVAGING_PLAIN);
	lc_salvage_options options;
	char from[4200];
	uint64_t limit = 0;

	snprintf(from, sizeof(from), "%s/m", root);
	lc_salvage_options_init(&options);
	options.progress = (lc_progress){ .step = stop_at_once, .ctx = &limit };
	for (;; limit += 1000) {
		const lc_status status = lc_salvage(from, root, "n", &options, NULL);

		if (status == LC_OK)
			break;
		ck_assert_int_eq(status, LC_CANCELLED);
		ck_assert(!exists(root, "n"));
	}
	ck_assert_uint_gt(limit, 1000);
	assert_status(lc_salvage(from, root, "n", NULL, NULL), LC_EXISTS);
	ck_assert(exists(root, "n/data.mdb"));
	options = (lc_salvage_options){ .struct_size = sizeof(options),
		.dry_run = 1 };
	assert_ok(lc_salvage(from, root, "o", &options, NULL));
	ck_assert(!exists(root, "o"));
	options.struct_size--;
	assert_status(lc_salvage(from, root, "o", &options, NULL), LC_INVALID);
	assert_status(lc_salvage(from, root, "../o", NULL, NULL), LC_INVALID);
}
END_TEST

START_TEST(what_is_open_is_refused)
{
	const char *root = make_root(SALVAGING_PLAIN);
	lc_cache *cache = sample_open(root, "m", NULL);
	char from[4200];

	snprintf(from, sizeof(from), "%s/m", root);
	assert_status(lc_salvage(from, root, "n", NULL, NULL), LC_BUSY);
	assert_ok(lc_close(cache));
	assert_ok(lc_salvage(from, root, "n", NULL, NULL));
}
END_TEST

static void
salvage_in_child(void *root)
{
	char from[4200];

	snprintf(from, sizeof(from), "%s/m", (const char *)root);
	need_status(lc_salvage(from, root, "n", NULL, NULL), LC_BUSY);
}

START_TEST(what_another_process_has_open_is_refused)
{
	const char *root = make_root(SALVAGING_PLAIN);
	/* LMDB's lock table is what the child looks at. */
	lc_cache *cache = sample_open(root, "m", NULL);

	ck_assert_int_eq(child_run(salvage_in_child, (void *)(uintptr_t)root), 0);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(what_is_no_module_is_refused)
{
	const char *root = make_root(SALVAGING_PLAIN);
	char path[4200], other[4200];
	unsigned char garbage[20000];
	uint64_t seed = run_seed();

	snprintf(path, sizeof(path), "%s/file", root);
	assert_status(lc_salvage(path, root, "n", NULL, NULL), LC_NO_FILE);
	assert_ok(lc__write_file_atomic(path, "", 0));
	assert_status(lc_salvage(path, root, "n", NULL, NULL), LC_NOT_MODULE);
	for (unsigned i = 0; i < sizeof(garbage); i++)
		garbage[i] = (unsigned char)run_random(&seed);
	assert_ok(lc__write_file_atomic(path, garbage, sizeof(garbage)));
	assert_status(lc_salvage(path, root, "n", NULL, NULL), LC_NOT_MODULE);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	assert_status(lc_salvage(path, root, "n", NULL, NULL), LC_NOT_MODULE);
	ck_assert_int_eq(unlink(path), 0);
	snprintf(other, sizeof(other), "%s/m/data.mdb", root);
	ck_assert_int_eq(symlink(other, path), 0);
	assert_status(lc_salvage(path, root, "n", NULL, NULL), LC_NOT_MODULE);
	ck_assert(!exists(root, "n"));
	assert_ok(lc_salvage(other, root, "n", NULL, NULL));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("salvage");
	TCase *flips = tcase_create("flips");
	TCase *module = tcase_create("module");

	tcase_set_timeout(flips, 600);
	tcase_add_loop_test(flips, a_flip_in_the_trees_loses_nothing, 0,
	    SALVAGING_KINDS);
	tcase_add_loop_test(flips, many_flips_lose_no_more_than_they_must, 0,
	    SALVAGING_KINDS);
	tcase_add_loop_test(flips, a_page_of_zeros_loses_what_was_on_it, 0,
	    SALVAGING_KINDS);
	tcase_add_test(flips, an_old_state_is_not_taken_for_the_newest);
	tcase_add_test(flips, a_large_value_is_not_on_its_own_leaf);
	tcase_add_loop_test(flips, without_meta_pages_all_is_found, 0,
	    SALVAGING_KINDS);
	tcase_add_loop_test(flips, pages_of_other_sizes, 0, 3 * SALVAGING_KINDS);
	tcase_add_loop_test(flips, a_file_cut_short_has_what_is_left, 0,
	    SALVAGING_KINDS);
	tcase_add_loop_test(module, the_new_module_has_the_same_values, 0,
	    SALVAGING_KINDS);
	tcase_add_test(module, a_failure_leaves_no_module);
	tcase_add_test(module, what_is_open_is_refused);
	tcase_add_test(module, what_another_process_has_open_is_refused);
	tcase_add_test(module, what_is_no_module_is_refused);
	tcase_set_timeout(module, 60);
	suite_add_tcase(s, flips);
	suite_add_tcase(s, module);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
