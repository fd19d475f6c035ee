/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of an import that are files of one tensor each. */
#include "cmd/import.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "formats/incoming.h"
#include "formats/payload.h"
#include "ui/report.h"

static void decode_end(struct decode *decode);

/* ---- threads that read and decode files ahead, handed over in the files' order ----- */

#define MAX_THREADS 64
#define MAX_FILE ((uint64_t)64 << 30)

/* Decoded tensors wait in a ring, so that the threads run ahead only so far. */
struct slot {
	bool done;        /* decoded and not yet handed over */
	lc_status status; /* of decoding */
	struct lc__loaded loaded; /* if LC_OK */
	lc_error error;   /* if not */
};

struct decode {
	const struct sources *sources;
	struct lc__incoming_how how;
	pthread_mutex_t mutex;  /* guards all below */
	pthread_cond_t changed; /* a slot was filled or emptied, or stop was set */
	size_t taken;           /* sources that threads have begun */
	size_t given;           /* sources handed over */
	bool stop;
	size_t window;          /* slots */
	struct slot *slots;     /* source i uses slot i % window */
	unsigned n_threads;
	pthread_t threads[MAX_THREADS];
};

static lc_status
decode_file(const struct source *source, const struct lc__incoming_how *how,
    struct lc__loaded *out)
{
	const char *path = source->path;
	struct lc__loaded loaded = { 0 };
	struct lc__buf file = { 0 };
	lc_status status = source->named ? lc__read_file(path, MAX_FILE, &file) :
	    lc__read_regular(path, MAX_FILE, &file);

	if (status != LC_OK) {
		lc__buf_free(&file);
		return status;
	}
	status = lc__payload_load(&file, how, &loaded, &loaded.value);
	if (status == LC_OK) {
		*out = loaded;
		return LC_OK;
	}
	lc__loaded_free(&loaded);
	return lc__error_prefix("%s", path);
}

/* Wait for a source to decode; false when there is none any more. */
static bool
take(struct decode *decode, size_t *out)
{
	bool more;

	pthread_mutex_lock(&decode->mutex);
	while (!decode->stop && decode->taken < decode->sources->count &&
	    decode->taken >= decode->given + decode->window)
		pthread_cond_wait(&decode->changed, &decode->mutex);
	more = !decode->stop && decode->taken < decode->sources->count;
	if (more)
		*out = decode->taken++;
	pthread_mutex_unlock(&decode->mutex);
	return more;
}

static void *
work(void *arg)
{
	struct decode *decode = arg;
	size_t i;

	while (take(decode, &i)) {
		struct slot *slot = &decode->slots[i % decode->window];
		slot->status = decode_file(&decode->sources->items[i],
		    &decode->how, &slot->loaded);
		if (slot->status != LC_OK)
			slot->error = *lc_last_error();
		pthread_mutex_lock(&decode->mutex);
		slot->done = true;
		pthread_cond_broadcast(&decode->changed);
		pthread_mutex_unlock(&decode->mutex);
	}
	return NULL;
}

static void
start_threads(struct decode *decode, unsigned threads)
{
	while (decode->n_threads < threads) {
		const int sys = pthread_create(&decode->threads[decode->n_threads],
		    NULL, work, decode);
		if (sys != 0) {
			errno = sys;
			break;
		}
		decode->n_threads++;
	}
}

/* Begin with @p threads threads; NULL without memory or threads. */
static struct decode *
decode_begin(const struct sources *sources,
    const struct lc__incoming_how *how, unsigned threads)
{
	struct decode *decode = calloc(1, sizeof(*decode));
	int sys;

	if (decode == NULL)
		return NULL;
	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	decode->sources = sources;
	decode->how = *how;
	decode->window = 2 * threads;
	decode->slots = calloc(decode->window, sizeof(*decode->slots));
	pthread_mutex_init(&decode->mutex, NULL);
	pthread_cond_init(&decode->changed, NULL);
	if (decode->slots != NULL)
		start_threads(decode, threads);
	if (decode->n_threads > 0)
		return decode;
	sys = errno;
	decode_end(decode);
	errno = sys;
	return NULL;
}

/*
 * The next source, for lc__loaded_free(); the error stands in lc_last_error() of
 * the calling thread.
 */
static lc_status
decode_next(struct decode *decode, struct lc__loaded *out)
{
	struct slot *slot = &decode->slots[decode->given % decode->window];
	lc_status status;

	pthread_mutex_lock(&decode->mutex);
	while (!slot->done)
		pthread_cond_wait(&decode->changed, &decode->mutex);
	status = slot->status;
	if (status == LC_OK)
		*out = slot->loaded;
	else
		status = lc__error_raise(&slot->error);
	slot->done = false;
	decode->given++;
	pthread_cond_broadcast(&decode->changed);
	pthread_mutex_unlock(&decode->mutex);
	return status;
}

/* Stop, also before the last one. NULL is harmless. */
static void
decode_end(struct decode *decode)
{
	if (decode == NULL)
		return;
	pthread_mutex_lock(&decode->mutex);
	decode->stop = true;
	pthread_cond_broadcast(&decode->changed);
	pthread_mutex_unlock(&decode->mutex);
	for (unsigned i = 0; i < decode->n_threads; i++)
		pthread_join(decode->threads[i], NULL);
	for (size_t i = 0; decode->slots != NULL && i < decode->window; i++)
		if (decode->slots[i].done && decode->slots[i].status == LC_OK)
			lc__loaded_free(&decode->slots[i].loaded);
	free(decode->slots);
	pthread_mutex_destroy(&decode->mutex);
	pthread_cond_destroy(&decode->changed);
	free(decode);
}

/* ---- the import -------------------------------------------------------------------- */

static bool
is_stored(void *ctx, const struct source *source)
{
	return import_passes(ctx, (lc_id) { source->id, source->id_size });
}

void
import_drop_files(struct import *import, struct sources *sources)
{
	if (import->there != NULL)
		import->skipped += sources_drop(sources, is_stored, import);
}

static int
take_next(struct import *import, struct decode *decode,
    const struct source *source)
{
	struct lc__loaded loaded;
	const lc_status status = decode_next(decode, &loaded);
	int result;

	if (status != LC_OK)
		return import_bad(import, status);
	result = import_store(import, source->path,
	    (lc_id) { source->id, source->id_size }, loaded.value);
	lc__loaded_free(&loaded);
	return result;
}

static int
take_all(struct import *import, const struct sources *sources,
    struct decode *decode)
{
	int worst = EXIT_DONE;

	for (size_t i = 0; i < sources->count; i++) {
		int status = take_next(import, decode, &sources->items[i]);
		worst = report_worse(worst, status);
		if (!import_goes_on(import, status))
			break;
		status = import_step(import);
		if (status != EXIT_DONE)
			return status;
	}
	return worst;
}

int
import_files(struct import *import, const struct sources *sources,
    unsigned threads)
{
	struct decode *decode;
	int status;

	if (sources->count == 0)
		return EXIT_DONE;
	decode = decode_begin(sources, &import->how, threads);
	if (decode == NULL)
		return report_error(EXIT_SYSTEM, "no thread can be started: %s", strerror(errno));
	status = take_all(import, sources, decode);
	decode_end(decode);
	return status;
}
