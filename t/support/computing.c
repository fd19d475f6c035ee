/* SPDX-License-Identifier: BSD-2-Clause */
#include "computing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "need.h"
#include "run.h"
#include "sample.h"

static char names[KEYS][16];

lc_id
key_of(unsigned i)
{
	return lc_id_of(names[i]);
}

void
make_names(void)
{
	for (unsigned i = 0; i < KEYS; i++)
		snprintf(names[i], sizeof(names[i]), "key-%u", i);
}

unsigned
key_number(const lc_id *id)
{
	for (unsigned i = 0; i < KEYS; i++)
		if (id->size == strlen(names[i]) &&
		    memcmp(id->data, names[i], id->size) == 0)
			return i;
	need(!"a key of the test");
	return 0;
}

bool
is_sample(const lc_view *view, unsigned key)
{
	const lc_id id = key_of(key);

	return view->status == LC_OK && view->kind == LC_TENSOR &&
	    (uintptr_t)view->tensor.data % 64 == 0 &&
	    sample_is(&view->tensor, id.data, id.size, 1, SAMPLE_SMALL);
}

void
set_sample(lc_results *results, size_t j, const lc_id *id)
{
	lc_tensor tensor;

	sample_make(&tensor, id->data, id->size, 1, SAMPLE_SMALL);
	need_ok(lc_result_tensor(results, j, &tensor));
	/* What was given may change now. */
	memset((void *)(uintptr_t)tensor.data, 0xee, tensor.nbytes);
	sample_free(&tensor);
}

void
note(struct job *job, const size_t *missing, size_t n)
{
	job->calls++;
	job->n = n;
	need(n > 0 && n <= KEYS);
	memcpy(job->missing, missing, n * sizeof(*missing));
}

lc_status
compute_samples(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct job *job = ctx;

	note(job, missing, n);
	for (size_t j = 0; j < n; j++)
		set_sample(results, j, &keys[missing[j]]);
	return job->result;
}

static lc_status
compute_when_told(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct slow *slow = ctx;
	char byte;

	need(write(slow->asked[1], "x", 1) == 1);
	need(read(slow->told[0], &byte, 1) == 1);
	for (size_t j = 0; j < n; j++)
		set_sample(results, j, &keys[missing[j]]);
	return LC_OK;
}

static void *
ask_slowly(void *ctx)
{
	struct slow *slow = ctx;
	const lc_id id = key_of(0);
	lc_view view;

	need_ok(lc_get_or_compute(slow->cache, &id, 1, compute_when_told, slow, &view));
	lc_view_release(&view);
	return NULL;
}

void
slow_start(struct slow *slow)
{
	char byte;

	need(pipe(slow->asked) == 0 && pipe(slow->told) == 0);
	need(pthread_create(&slow->thread, NULL, ask_slowly, slow) == 0);
	need(read(slow->asked[0], &byte, 1) == 1);
}

void
slow_finish(struct slow *slow)
{
	need(write(slow->told[1], "x", 1) == 1);
	need(pthread_join(slow->thread, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		close(slow->asked[i]);
		close(slow->told[i]);
	}
}

lc_counters
counters_of(lc_cache *cache)
{
	lc_counters counters = { .struct_size = sizeof(counters) };

	need_ok(lc_counters_get(cache, &counters));
	return counters;
}

void
list_keys(lc_id *ids, const unsigned *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ids[i] = key_of(keys[i]);
}

void
expect_samples(lc_cache *cache, const unsigned *keys, size_t n, struct job *job)
{
	lc_id ids[KEYS] = { { NULL, 0 } };
	lc_view views[KEYS];

	list_keys(ids, keys, n);
	job->calls = 0;
	need_ok(lc_get_or_compute(cache, ids, n, compute_samples, job, views));
	for (size_t i = 0; i < n; i++)
		need(is_sample(&views[i], keys[i]));
	lc_views_release(views, n);
}

void
expect_asked(const struct job *job, const size_t *missing, size_t n)
{
	ck_assert_uint_eq(job->calls, 1);
	ck_assert_uint_eq(job->n, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(job->missing[i], missing[i]);
}

/* Change a byte of the tensor of a key, wherever data.mdb holds it. */
static void
damage(const char *root, unsigned key)
{
	const lc_id id = key_of(key);
	lc_tensor tensor;
	struct stat st;
	char *path, *bytes, *found;
	int fd;

	sample_make(&tensor, id.data, id.size, 1, SAMPLE_SMALL);
	need(tensor.nbytes >= 32);
	need(asprintf(&path, "%s/m/data.mdb", root) > 0);
	fd = open(path, O_RDWR);
	need(fd >= 0 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size);
	need(bytes != NULL && read(fd, bytes, (size_t)st.st_size) == st.st_size);
	found = memmem(bytes, (size_t)st.st_size, tensor.data, tensor.nbytes);
	need(found != NULL);
	found[20] ^= 1;
	need(pwrite(fd, found + 20, 1, found + 20 - bytes) == 1);
	close(fd);
	free(bytes);
	free(path);
	sample_free(&tensor);
}

const char *
make_damaged(const lc_options *options)
{
	static const unsigned keys[] = { 0, 1, 2, 3 };
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", options);
	struct job job = { .calls = 0 };

	expect_samples(cache, keys, 4, &job);
	assert_ok(lc_close(cache));
	damage(root, 2);
	return root;
}
