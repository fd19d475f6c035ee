/* SPDX-License-Identifier: BSD-2-Clause */
/* Damaged files: every read gives the right bytes or LC_CORRUPT, never a crash, never
 * other bytes, and never "not found" for what is stored. */
#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define KEYS 90
#define PAGE 4096

static const struct sample_range sizes = { 0, 1500 };

struct module {
	const char *root;
	char *file;                  /* its data.mdb */
	unsigned char *bytes;        /* what stands in it undamaged */
	size_t size;
	char ids[KEYS][SAMPLE_ID_ROOM];
	size_t id_sizes[KEYS];
	uint64_t versions[KEYS];     /* 0: not stored */
	lc_tensor want[KEYS];        /* of the stored ones */
	uint64_t live;
	lc_options options;
};

/* ---- the undamaged module --------------------------------------------------- */

static void
write_commits(struct module *m, lc_cache *cache)
{
	uint64_t random = 4711, version = 0;

	for (int commit = 0; commit < 11; commit++) {
		for (int i = 0; i < 16; i++) {
			const uint64_t key = run_random(&random) % KEYS;
			const char *id = m->ids[key];
			const size_t size = m->id_sizes[key];

			if (m->versions[key] != 0 && i % 4 == 0) {
				need_ok(lc_delete(cache, id, size));
				m->versions[key] = 0;
				continue;
			}
			m->versions[key] = ++version;
			need_ok(sample_put(cache, id, size, version, sizes));
		}
		need_ok(lc_flush(cache));
	}
}

static void
remember(struct module *m)
{
	for (int i = 0; i < KEYS; i++) {
		if (m->versions[i] == 0)
			continue;
		m->live++;
		sample_make(&m->want[i], m->ids[i], m->id_sizes[i], m->versions[i],
		    sizes);
	}
}

static void
load(struct module *m)
{
	struct stat st;
	const int fd = open(m->file, O_RDONLY);

	need(fd >= 0 && fstat(fd, &st) == 0);
	m->size = (size_t)st.st_size;
	m->bytes = malloc(m->size);
	need(m->bytes != NULL);
	need(read(fd, m->bytes, m->size) == (ssize_t)m->size);
	close(fd);
}

static struct module *
make(void)
{
	struct module *m = calloc(1, sizeof(*m));
	lc_cache *cache;

	m->root = run_scratch();
	m->options = sample_options();
	m->options.map_size = 32 << 20;
	for (uint64_t i = 0; i < KEYS; i++)
		m->id_sizes[i] = sample_id(m->ids[i], i);
	cache = sample_open(m->root, "m", &m->options);
	write_commits(m, cache);
	remember(m);
	need_ok(lc_close(cache));
	need(asprintf(&m->file, "%s/m/data.mdb", m->root) > 0);
	load(m);
	return m;
}

static void
destroy(struct module *m)
{
	for (int i = 0; i < KEYS; i++)
		sample_free(&m->want[i]);
	free(m->bytes);
	free(m->file);
	free(m);
}

/* Put these bytes in the place of the whole file. */
static void
store(const struct module *m, const unsigned char *bytes, size_t size)
{
	const int fd = open(m->file, O_WRONLY);

	need(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	need(pwrite(fd, bytes, size, 0) == (ssize_t)size);
	close(fd);
}

/* ---- reading all of it -------------------------------------------------------- */

/* What one look at a damaged module found out. */
struct look {
	const struct module *module;
	lc_cache *cache;
	unsigned corrupt;  /* calls that returned LC_CORRUPT */
	char wrong[300];   /* the first thing that must not be, or empty */
};

static void wrong(struct look *look, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
wrong(struct look *look, const char *format, ...)
{
	va_list ap;

	if (look->wrong[0] != '\0')
		return;
	va_start(ap, format);
	vsnprintf(look->wrong, sizeof(look->wrong), format, ap);
	va_end(ap);
}

/* A result for key @p i: its present value, or damage. */
static void
judge(struct look *look, const char *how, uint64_t i, lc_status status,
    const lc_tensor *tensor)
{
	const uint64_t version = look->module->versions[i];

	if (status == LC_CORRUPT)
		look->corrupt++;
	else if (status == LC_NOT_FOUND && version != 0)
		wrong(look, "%s: key %d is silently missing", how, (int)i);
	else if (status == LC_OK && version == 0)
		wrong(look, "%s: key %d was deleted and is there", how, (int)i);
	else if (status == LC_OK && tensor != NULL &&
	    !sample_same(tensor, &look->module->want[i]))
		wrong(look, "%s: key %d has another value", how, (int)i);
	else if (status != LC_OK && status != LC_NOT_FOUND)
		wrong(look, "%s: key %d: %s", how, (int)i, lc_last_error()->text);
}

static void
look_at_keys(struct look *look)
{
	const struct module *m = look->module;
	lc_view view;
	lc_tensor copy;
	lc_status status;

	for (uint64_t i = 0; i < KEYS; i++) {
		const char *id = m->ids[i];
		const size_t size = m->id_sizes[i];

		status = lc_get(look->cache, id, size, &view);
		judge(look, "get", i, status, &view.tensor);
		if (status == LC_OK)
			lc_view_release(&view);
		status = lc_get_copy(look->cache, id, size, &copy);
		judge(look, "get_copy", i, status, &copy);
		if (status == LC_OK)
			lc_tensor_free(&copy);
		status = lc_contains(look->cache, id, size);
		judge(look, "contains", i, status, NULL);
	}
}

static void
look_at_batch(struct look *look)
{
	const struct module *m = look->module;
	lc_id ids[KEYS];
	lc_view views[KEYS];
	size_t missing[KEYS], n_missing = 0, not_found = 0;
	lc_status status;
	bool corrupt = false;

	for (uint64_t i = 0; i < KEYS; i++)
		ids[i] = (lc_id){ m->ids[i], m->id_sizes[i] };
	status = lc_get_batch(look->cache, KEYS, ids, views, missing, &n_missing);
	for (uint64_t i = 0; i < KEYS; i++) {
		judge(look, "get_batch", i, views[i].status, &views[i].tensor);
		corrupt |= views[i].status == LC_CORRUPT;
		not_found += views[i].status == LC_NOT_FOUND;
	}
	if (status != (corrupt ? LC_CORRUPT : LC_OK))
		wrong(look, "get_batch returned '%s'", lc_status_name(status));
	if (status == LC_OK && n_missing != not_found)
		wrong(look, "get_batch: %zu missing of %zu", n_missing, not_found);
	lc_views_release(views, KEYS);
}

/* The number of the key that an item stands on, or KEYS. */
static uint64_t
key_of(const struct module *m, const lc_id *id)
{
	for (uint64_t i = 0; i < KEYS; i++)
		if (m->id_sizes[i] == id->size &&
		    memcmp(m->ids[i], id->data, id->size) == 0)
			return i;
	return KEYS;
}

/* The key that write_to() adds is none of the module's. */
static bool
is_new(const lc_id *id)
{
	return id->size == 3 && memcmp(id->data, "new", 3) == 0;
}

/* A walk without any error has shown every key once; with errors, no key twice. */
static void
look_at_walk(struct look *look, unsigned flags)
{
	unsigned seen[KEYS] = { 0 }, corrupt = look->corrupt, n = 0;
	const char *how = flags & LC_BY_COMMIT ? "walk by commit" : "walk by key";
	const lc_tensor *tensor;
	lc_iter *iter = NULL;
	lc_item item;
	lc_status status;
	uint64_t key;

	status = lc_iter_open(look->cache, flags, NULL, 0, &iter);
	while (status == LC_OK || status == LC_CORRUPT) {
		look->corrupt += status == LC_CORRUPT;
		if (iter == NULL || n++ > 100 * KEYS)
			break;
		status = lc_iter_next(iter, &item);
		if (status != LC_OK)
			continue;
		key = key_of(look->module, &item.id);
		tensor = flags & LC_ITER_LISTED ? NULL : &item.tensor;
		if (key == KEYS && !(flags & LC_ITER_LISTED) && !is_new(&item.id)) {
			wrong(look, "%s: a key that never was", how);
		} else if (key < KEYS) {
			judge(look, how, key, status, tensor);
			if (seen[key]++ > 0)
				wrong(look, "%s: key %d twice", how, (int)key);
		}
	}
	if (iter != NULL && status != LC_END)
		wrong(look, "%s ended with '%s' after %u steps", how,
		    lc_status_name(status), n);
	for (key = 0; key < KEYS && look->corrupt == corrupt; key++)
		if (!(flags & LC_ITER_LISTED) && !seen[key] &&
		    look->module->versions[key] != 0)
			wrong(look, "%s: key %d passed over", how, (int)key);
	lc_iter_close(iter);
}

static void
look_at_counts(struct look *look)
{
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_verify_result result = { 0 };
	uint64_t count = 0;
	lc_status status = lc_count(look->cache, &count);

	count -= status == LC_OK && lc_contains(look->cache, "new", 3) == LC_OK;
	if (status == LC_CORRUPT)
		look->corrupt++;
	else if (status != LC_OK || count != look->module->live)
		wrong(look, "count: '%s', %d", lc_status_name(status), (int)count);
	status = lc_stat(look->cache, &stats);
	if (status == LC_CORRUPT)
		look->corrupt++;
	else if (status != LC_OK)
		wrong(look, "stat: %s", lc_last_error()->text);
	/* What a read stumbles over, verify finds too. */
	status = lc_verify(look->cache, NULL, &result);
	if (status != LC_OK && status != LC_CORRUPT)
		wrong(look, "verify: %s", lc_last_error()->text);
	else if (status == LC_OK && look->corrupt > 0)
		wrong(look, "verify finds nothing but reads did");
	else if (status == LC_CORRUPT && result.damaged == 0)
		wrong(look, "verify: damage, but counted none");
}

/* Open and read everything. True if nothing was damaged as far as reads can tell. */
static bool
look_at(struct look *look, unsigned flags)
{
	const struct module *m = look->module;
	lc_options options = m->options;
	lc_status status;

	options.flags = flags;
	status = lc_open(m->root, "m", &options, &look->cache);
	if (status != LC_OK) {
		if (status != LC_CORRUPT && status != LC_NOT_MODULE &&
		    status != LC_VERSION)
			wrong(look, "open: %s", lc_last_error()->text);
		return false;
	}
	look_at_keys(look);
	look_at_batch(look);
	look_at_walk(look, LC_BY_KEY);
	look_at_walk(look, LC_BY_COMMIT);
	look_at_walk(look, LC_BY_KEY | LC_ITER_LISTED);
	look_at_counts(look);
	lc_discard(look->cache);
	return look->corrupt == 0;
}

/* Commit to a damaged module: it works, or says that it is damaged. */
static void
write_to(struct look *look)
{
	lc_status status = lc_open(look->module->root, "m", &look->module->options,
	    &look->cache);

	for (uint64_t i = 0; i < 3 && status == LC_OK; i++) {
		status = sample_put(look->cache, "new", 3, i, sizes);
		if (status == LC_OK)
			status = lc_flush(look->cache);
	}
	if (status == LC_CORRUPT)
		look->corrupt++;
	else if (status != LC_OK && look->cache != NULL)
		wrong(look, "write: %s", lc_last_error()->text);
	lc_discard(look->cache);
	look->cache = NULL;
}

/* ---- many damages --------------------------------------------------------------- */

/* Shared between the process that looks and the one that survives it. */
struct progress {
	unsigned next;      /* trial to do or being done */
	unsigned failures;
	unsigned found;     /* trials in which the damage was noticed */
};

struct trials {
	const struct module *module;
	unsigned n;
	uint64_t seed;
	bool write; /* commit to the damaged module, then look at what came of it */
	/* Change the copy of the file for trial @p i and describe it. */
	void (*damage)(const struct trials *trials, unsigned i,
	    unsigned char *bytes, size_t *size, char text[100]);
	struct progress *progress;
};

static void
complain(const struct trials *trials, const char *damage, const char *what)
{
	if (trials->progress->failures++ < 20)
		fprintf(stderr, "# trial %u: %s: %s\n", trials->progress->next,
		    damage, what);
}

static void
damaged(const struct trials *trials, unsigned i, unsigned char *bytes, size_t *size,
    char text[100])
{
	memcpy(bytes, trials->module->bytes, trials->module->size);
	*size = trials->module->size;
	trials->damage(trials, i, bytes, size, text);
}

/* Do all the trials that are left. Each has a generous time before it counts as hung. */
static void
try_all(void *ctx)
{
	const struct trials *trials = ctx;
	struct progress *progress = trials->progress;
	unsigned char *bytes = malloc(trials->module->size);
	struct look look;
	char text[100];
	size_t size;

	for (; progress->next < trials->n; progress->next++) {
		alarm(100);
		damaged(trials, progress->next, bytes, &size, text);
		store(trials->module, bytes, size);
		look = (struct look){ .module = trials->module };
		if (trials->write)
			write_to(&look);
		progress->found += !look_at(&look, progress->next % 2 ? LC_RDONLY : 0);
		if (look.wrong[0] != '\0')
			complain(trials, text, look.wrong);
	}
	free(bytes);
}

/* A crash ends the child in one trial; another child goes on behind it. */
static void
run_trials(struct trials *trials)
{
	unsigned char *bytes = malloc(trials->module->size);
	char text[100], how[60];
	size_t size;
	int status;

	trials->progress = mmap(NULL, sizeof(*trials->progress),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(trials->progress != MAP_FAILED);
	while ((status = child_run(try_all, trials)) != 0) {
		damaged(trials, trials->progress->next, bytes, &size, text);
		snprintf(how, sizeof(how), "ended with status %d", status);
		complain(trials, text, how);
		trials->progress->next++;
	}
	free(bytes);
	printf("# %u trials, damage noticed in %u, wrong in %u\n", trials->n,
	    trials->progress->found, trials->progress->failures);
	ck_assert_uint_eq(trials->progress->failures, 0);
	ck_assert_uint_gt(trials->progress->found, 0);
}

static void
flip(unsigned char *bytes, size_t bit, char text[100])
{
	bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	snprintf(text, 100, "bit %zu (page %zu, byte %zu, bit %zu)", bit,
	    bit / 8 / PAGE, bit / 8 % PAGE, bit % 8);
}

static void
flip_anywhere(const struct trials *trials, unsigned i, unsigned char *bytes,
    size_t *size, char text[100])
{
	uint64_t random = trials->seed + i;

	flip(bytes, run_random(&random) % (*size * 8), text);
}

START_TEST(bit_flips)
{
	struct trials trials = { .module = make(), .n = sample_times(10000),
		.seed = run_seed(), .damage = flip_anywhere };

	run_trials(&trials);
	destroy((struct module *)(uintptr_t)trials.module);
}
END_TEST

/* The two pages that LMDB starts from: the bits that it uses, one after another. */
#define META_BITS (168 * 8)

static void
flip_meta(const struct trials *trials, unsigned i, unsigned char *bytes, size_t *size,
    char text[100])
{
	const unsigned step = 2 * META_BITS / trials->n;

	(void)size;
	i *= step > 0 ? step : 1;
	flip(bytes, (size_t)(i % 2) * PAGE * 8 + i / 2 % META_BITS, text);
}

START_TEST(bit_flips_in_the_first_pages)
{
	const unsigned all = 2 * META_BITS, some = sample_times(all);
	struct trials trials = { .module = make(), .n = some < all ? some : all,
		.damage = flip_meta };

	run_trials(&trials);
	destroy((struct module *)(uintptr_t)trials.module);
}
END_TEST

/* The head of a page: its number, flags and bounds, and the first of what it holds. */
static void
flip_heads(const struct trials *trials, unsigned i, unsigned char *bytes, size_t *size,
    char text[100])
{
	uint64_t random = trials->seed + i;
	const uint64_t page = run_random(&random) % (*size / PAGE);

	flip(bytes, page * PAGE * 8 + run_random(&random) % (64 * 8), text);
}

START_TEST(bit_flips_in_page_heads)
{
	struct trials trials = { .module = make(), .n = sample_times(5000),
		.seed = run_seed(), .damage = flip_heads };

	run_trials(&trials);
	destroy((struct module *)(uintptr_t)trials.module);
}
END_TEST

/* Damage does not spread: what a commit leaves is right or known to be damaged. */
START_TEST(writes_after_bit_flips)
{
	struct trials trials = { .module = make(), .n = sample_times(2000),
		.seed = run_seed() + 1, .write = true,
		.damage = _i == 0 ? flip_anywhere : flip_heads };

	run_trials(&trials);
	destroy((struct module *)(uintptr_t)trials.module);
}
END_TEST

/* Pages that were never written, or elsewhere, as after a failing disk. */
static void
spoil_page(const struct trials *trials, unsigned i, unsigned char *bytes, size_t *size,
    char text[100])
{
	static const char *const names[] = { "zeros", "ones", "noise" };
	unsigned char *page = bytes + (size_t)(i / 3) * PAGE;

	if (i % 3 == 2)
		sample_fill(page, PAGE, trials->seed + i);
	else
		memset(page, i % 3 == 0 ? 0 : 0xff, PAGE);
	(void)size;
	snprintf(text, 100, "page %u is %s", i / 3, names[i % 3]);
}

START_TEST(spoilt_pages)
{
	struct module *m = make();
	struct trials trials = { .module = m, .n = (unsigned)(m->size / PAGE) * 3,
		.seed = run_seed(), .damage = spoil_page };

	run_trials(&trials);
	destroy(m);
}
END_TEST

/* Cut at each page, just before it and just behind it. */
static void
cut(const struct trials *trials, unsigned i, unsigned char *bytes, size_t *size,
    char text[100])
{
	const size_t page = i / 3 + 1;
	const size_t at = page * PAGE - 1 + i % 3;

	(void)trials, (void)bytes;
	if (at < *size)
		*size = at;
	snprintf(text, 100, "cut at %zu bytes", *size);
}

START_TEST(truncations)
{
	struct module *m = make();
	struct trials trials = { .module = m, .n = (unsigned)(m->size / PAGE) * 3,
		.damage = cut };

	run_trials(&trials);
	destroy(m);
}
END_TEST

/* ---- one damage, looked at closely ------------------------------------------------ */

static void
flip_in_record(const struct module *m, uint64_t key)
{
	unsigned char *bytes = malloc(m->size), *at;
	char text[100];

	memcpy(bytes, m->bytes, m->size);
	at = memmem(bytes, m->size, m->want[key].data, m->want[key].nbytes);
	ck_assert_ptr_nonnull(at);
	flip(bytes, (size_t)(at - bytes) * 8 + 100, text);
	store(m, bytes, m->size);
	free(bytes);
}

struct lines {
	unsigned n;
	char last[1000];
};

static void
take_line(void *ctx, const char *line)
{
	struct lines *lines = ctx;

	lines->n++;
	snprintf(lines->last, sizeof(lines->last), "%s", line);
}

/* A stored key of text, which the error shows as it is, with some data. */
static uint64_t
some_text_key(const struct module *m)
{
	for (uint64_t key = 0; key < KEYS; key++)
		if (key % 8 > 2 && m->versions[key] != 0 && m->want[key].nbytes > 64)
			return key;
	ck_abort_msg("the module holds no such key");
	return 0;
}

START_TEST(one_damaged_record)
{
	struct module *m = make();
	const uint64_t key = some_text_key(m);
	struct lines lines = { 0 };
	const lc_progress progress = { .damage = take_line, .ctx = &lines };
	lc_verify_result result;
	const char *id = m->ids[key];
	const size_t size = m->id_sizes[key];
	struct look look = { .module = m };
	lc_view view;
	lc_cache *cache;

	flip_in_record(m, key);
	ck_assert(!look_at(&look, 0));
	ck_assert_str_eq(look.wrong, "");
	/* Get, copy, batch and two walks: this one record and no other. */
	ck_assert_uint_eq(look.corrupt, 5);
	cache = sample_open(m->root, "m", &m->options);
	assert_status(lc_get(cache, id, size, &view), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, id));
	ck_assert_int_eq(lc_last_error()->status, LC_CORRUPT);
	assert_status(lc_verify(cache, &progress, &result), LC_CORRUPT);
	ck_assert_uint_eq(result.damaged, lines.n);
	ck_assert_uint_eq(result.live, m->live);
	ck_assert_ptr_nonnull(strstr(lines.last, id));
	/* A new value takes the damaged one's place. */
	assert_ok(sample_put(cache, id, size, 999, sizes));
	assert_ok(lc_flush(cache));
	assert_ok(lc_get(cache, id, size, &view));
	ck_assert(sample_is(&view.tensor, id, size, 999, sizes));
	lc_view_release(&view);
	assert_ok(lc_close(cache));
	destroy(m);
}
END_TEST

/* Without verification the bytes come as they are. */
START_TEST(not_verified)
{
	struct module *m = make();
	const uint64_t key = some_text_key(m);
	lc_cache *cache;
	lc_view view;

	flip_in_record(m, key);
	m->options.verify = 0;
	cache = sample_open(m->root, "m", &m->options);
	assert_ok(lc_get(cache, m->ids[key], m->id_sizes[key], &view));
	ck_assert(!sample_same(&view.tensor, &m->want[key]));
	lc_view_release(&view);
	assert_ok(lc_close(cache));
	destroy(m);
}
END_TEST

/* The look itself finds nothing where nothing is. */
START_TEST(undamaged)
{
	struct module *m = make();
	struct look look;

	for (int flags = 0; flags < 2; flags++) {
		look = (struct look){ .module = m };
		ck_assert(look_at(&look, flags ? LC_RDONLY : 0));
		ck_assert_str_eq(look.wrong, "");
	}
	destroy(m);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("corrupt");
	TCase *tc = tcase_create("corrupt");

	run_seed();
	tcase_set_timeout(tc, 7200);
	tcase_add_test(tc, undamaged);
	tcase_add_test(tc, bit_flips);
	tcase_add_test(tc, bit_flips_in_the_first_pages);
	tcase_add_test(tc, bit_flips_in_page_heads);
	tcase_add_loop_test(tc, writes_after_bit_flips, 0, 2);
	tcase_add_test(tc, spoilt_pages);
	tcase_add_test(tc, truncations);
	tcase_add_test(tc, one_damaged_record);
	tcase_add_test(tc, not_verified);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
