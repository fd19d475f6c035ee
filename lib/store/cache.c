/* SPDX-License-Identifier: BSD-2-Clause */
/* The handle: opening and closing it, behaviour at exit and fork, and the checks of its
 * calls. */
#include "store/cache.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "base/words.h"
#include "codec/codec.h"
#include "store/flush.h"
#include "store/inflight.h"
#include "store/inputs.h"
#include "store/lru.h"
#include "store/module.h"

/* Open handles, and closed ones whose LRU is in use. A normal exit flushes the open ones;
 * a fork resets all of them in the child. */
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lc_cache *handles;
static struct lc_cache *exiting; /* the one that exit is flushing, which stays open */
static pthread_cond_t exited = PTHREAD_COND_INITIALIZER; /* signals that exiting has
                                                          * changed */
static pthread_once_t process_once = PTHREAD_ONCE_INIT;

/* ---- the process ---------------------------------------------------------- */

/* Other threads may open and close handles meanwhile, and fork: a fork holds the locks
 * that a commit needs while it waits for handles_lock, so never wait for a commit while
 * holding that. */
static void
flush_at_exit(void)
{
	pthread_mutex_lock(&handles_lock);
	for (struct lc_cache *cache = handles; cache != NULL; cache = cache->next) {
		if (cache->closed || !lc__cache_commits(cache))
			continue;
		exiting = cache;
		pthread_mutex_unlock(&handles_lock);
		/* No thread can make another call. */
		lc_set_timeout(cache, UINT64_MAX);
		if (lc_flush(cache) != LC_OK)
			lc__cache_log(cache, "exit: %s", lc_last_error()->text);
		pthread_mutex_lock(&handles_lock);
		exiting = NULL;
		pthread_cond_broadcast(&exited);
	}
	pthread_mutex_unlock(&handles_lock);
}

/* Take the locks of all handles, so that the child finds the guarded data consistent. */
static void
before_fork(void)
{
	pthread_mutex_lock(&handles_lock);
	for (struct lc_cache *cache = handles; cache != NULL; cache = cache->next) {
		lc__lru_before_fork(cache->lru);
		if (!cache->writes)
			lc__inflight_before_fork(cache->inflight);
	}
}

static void
after_fork_parent(void)
{
	for (struct lc_cache *cache = handles; cache != NULL; cache = cache->next) {
		if (!cache->writes)
			lc__inflight_after_fork_parent(cache->inflight);
		lc__lru_after_fork_parent(cache->lru);
	}
	pthread_mutex_unlock(&handles_lock);
}

static void
after_fork_child(void)
{
	pthread_mutex_init(&handles_lock, NULL);
	pthread_cond_init(&exited, NULL);
	exiting = NULL;
	for (struct lc_cache *cache = handles; cache != NULL; cache = cache->next) {
		lc__lru_after_fork_child(cache->lru);
		if (!cache->writes)
			lc__inflight_after_fork_child(cache->inflight);
	}
}

static void
watch_process(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	atexit(flush_at_exit);
}

/* ---- options ------------------------------------------------------------- */

/* Launchers of parallel jobs put the number of each process into RANK. */
static int
rank_of_environment(void)
{
	const char *text = getenv("RANK");
	char *end;
	long rank;

	if (text == NULL || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	rank = strtol(text, &end, 10);
	return errno != 0 || *end != '\0' || rank > INT_MAX ? 0 : (int)rank;
}

static const char *const verify_modes[] = {
	[LC_VERIFY_NEVER] = "never",
	[LC_VERIFY_ALWAYS] = "always",
	[LC_VERIFY_ONCE] = "once",
	NULL,
};

const char *
lc_verify_mode_name(lc_verify_mode mode)
{
	return lc__word(verify_modes, (unsigned)mode);
}

lc_status
lc_verify_mode_parse(const char *name, lc_verify_mode *out)
{
	unsigned i;

	return_if_error(lc__word_parse("verify", verify_modes, name, &i));
	*out = (lc_verify_mode)i;
	return LC_OK;
}

void
lc_options_init(lc_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->flags = LC_CREATE;
	options->verify = LC_VERIFY_ALWAYS;
	options->durability = LC_DURABLE_FULL;
	options->flush_every = 2048;
	options->chunk_bytes = (uint64_t)4 << 20;
	options->flush_interval_ms = 1000;
	options->map_size = (uint64_t)1 << 40;
	options->timeout_ms = UINT64_MAX;
	options->pin_warn_ms = 60000;
	options->codec = LC_CODEC_DEFAULT;
	options->lru_bytes = (uint64_t)64 << 20;
	options->rank = rank_of_environment();
	options->writer_rank = LC_RANK_ANY;
}

static lc_status
option_error(const char *name, const char *what)
{
	return lc__error(LC_INVALID, 0, "open: option %s: %s", name, what);
}

static lc_status
check_options(const lc_options *o)
{
	const unsigned known = LC_RDONLY | LC_CREATE | LC_FORCE_FS;

	if (o->struct_size != sizeof(*o))
		return option_error("struct_size",
		    "not set by lc_options_init() of this version");
	if (o->flags & ~known)
		return option_error("flags", "unknown bit");
	if (lc_verify_mode_name(o->verify) == NULL)
		return option_error("verify", "unknown mode");
	if (o->durability != LC_DURABLE_FULL && o->durability != LC_DURABLE_RELAXED)
		return option_error("durability", "unknown level");
	if (o->flush_every == 0)
		return option_error("flush_every", "must be at least 1");
	if (o->chunk_bytes < ((uint64_t)64 << 10) ||
	    o->chunk_bytes > ((uint64_t)64 << 20))
		return option_error("chunk_bytes", "must be 64 KiB to 64 MiB");
	if (o->map_size < ((uint64_t)1 << 20) || o->map_size > ((uint64_t)1 << 46))
		return option_error("map_size", "must be 1 MiB to 64 TiB");
	if (o->rank < 0)
		return option_error("rank", "must not be negative");
	if (o->writer_rank < LC_RANK_ANY)
		return option_error("writer_rank", "must be a rank or LC_RANK_ANY");
	return lc__codec_check("open", o->codec, o->level);
}

/* ---- life cycle ----------------------------------------------------------- */

static void
free_cache(struct lc_cache *cache)
{
	if (!cache->writes)
		lc__inflight_free(cache->inflight);
	lc__lru_free(cache->lru);
	free(cache->module_id);
	free(cache);
}

static lc_status
new_cache(const char *module_id, const lc_options *options, struct lc_cache **out)
{
	struct lc_cache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL)
		return lc__no_memory("open");
	if (options != NULL)
		cache->options = *options;
	else
		lc_options_init(&cache->options);
	cache->module_id = strdup(module_id);
	cache->writes = cache->options.writer_rank == LC_RANK_ANY ||
	    cache->options.writer_rank == cache->options.rank;
	if (!cache->writes)
		cache->inflight = lc__inflight_new();
	if (cache->module_id == NULL || (!cache->writes && cache->inflight == NULL)) {
		free_cache(cache);
		return lc__no_memory("open");
	}
	atomic_init(&cache->refs, 1);
	atomic_init(&cache->timeout_ms, cache->options.timeout_ms);
	atomic_init(&cache->users, 1);
	cache->lru = lc__lru_new(cache->options.lru_bytes);
	*out = cache;
	return LC_OK;
}

lc_status
lc_open(const char *root, const char *module_id, const lc_options *options,
    lc_cache **out)
{
	struct lc_cache *cache = NULL;
	lc_status status;
	char *dir;

	if (root == NULL || *root == '\0' || module_id == NULL)
		return lc__error(LC_INVALID, 0, "open: no root or module");
	return_if_error(lc__check_module_id(module_id));
	if (options != NULL)
		return_if_error(check_options(options));
	pthread_once(&process_once, watch_process);
	return_if_error(new_cache(module_id, options, &cache));

	dir = lc__path_join(root, module_id);
	status = dir == NULL
	    ? lc__no_memory("open")
	    : lc__env_open(dir, &cache->options, lc__meta_first_rows, &cache->env);
	free(dir);
	if (status == LC_OK)
		status = lc__module_attach(cache->env);
	if (status != LC_OK) {
		lc__env_close(cache->env);
		free_cache(cache);
		return status;
	}
	if (cache->writes)
		cache->inflight = lc__module_of(cache->env)->inflight;
	lc__flush_enter(cache);

	pthread_mutex_lock(&handles_lock);
	cache->next = handles;
	handles = cache;
	pthread_mutex_unlock(&handles_lock);
	*out = cache;
	return LC_OK;
}

lc_status
lc_close(lc_cache *cache)
{
	lc_status status = LC_OK;

	if (cache == NULL)
		return LC_OK;
	if (lc__cache_commits(cache)) {
		status = lc__flush_all(cache);
		if (status == LC_OK)
			status = lc__flush_counters(cache);
	}
	/* The handle stays open, with its uncommitted writes. */
	if (status == LC_TIMEOUT)
		return status;
	lc_discard(cache);
	return status;
}

void
lc_discard(lc_cache *cache)
{
	if (cache == NULL)
		return;
	/* Do this first: exit must not wait for a flush thread that is being stopped. */
	pthread_mutex_lock(&handles_lock);
	while (exiting == cache)
		pthread_cond_wait(&exited, &handles_lock);
	cache->closed = true;
	pthread_mutex_unlock(&handles_lock);

	lc__flush_leave(cache);
	lc__lru_clear(cache->lru);
	lc__cache_let_close(cache);
}

bool
lc__cache_is_closed(const struct lc_cache *cache)
{
	bool closed;

	pthread_mutex_lock(&handles_lock);
	closed = cache->closed;
	pthread_mutex_unlock(&handles_lock);
	return closed;
}

void
lc__cache_keep_open(struct lc_cache *cache)
{
	atomic_fetch_add_explicit(&cache->users, 1, memory_order_relaxed);
}

void
lc__cache_let_close(struct lc_cache *cache)
{
	if (atomic_fetch_sub_explicit(&cache->users, 1, memory_order_acq_rel) > 1)
		return;
	lc__lru_clear(cache->lru);
	lc__env_close(cache->env);
	lc__cache_let_go(cache);
}

void
lc__cache_hold(struct lc_cache *cache)
{
	atomic_fetch_add_explicit(&cache->refs, 1, memory_order_relaxed);
}

void
lc__cache_let_go(struct lc_cache *cache)
{
	struct lc_cache **link = &handles;

	if (atomic_fetch_sub_explicit(&cache->refs, 1, memory_order_acq_rel) > 1)
		return;
	pthread_mutex_lock(&handles_lock);
	while (*link != cache)
		link = &(*link)->next;
	*link = cache->next;
	pthread_mutex_unlock(&handles_lock);
	free_cache(cache);
}

/* ---- checks --------------------------------------------------------------- */

lc_status
lc__check_module_id(const char *module_id)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789";
	const size_t size = strlen(module_id);

	if (size == 0 || size > 128 || strspn(module_id, letters) == 0)
		return lc__error(LC_INVALID, 0,
		    "module id %s: must be 1 to 128 "
		    "characters and start with a letter or digit",
		    lc__quote_id(module_id, size));
	for (size_t i = 0; i < size; i++)
		if (strchr(letters, module_id[i]) == NULL &&
		    strchr("._-", module_id[i]) == NULL)
			return lc__error(LC_INVALID, 0,
			    "module id %s: only "
			    "letters, digits, '.', '_' and '-' are allowed",
			    lc__quote_id(module_id, size));
	return LC_OK;
}

lc_status
lc__check_id(const char *operation, const void *id, size_t id_size)
{
	if (id == NULL || id_size == 0)
		return lc__error(LC_INVALID, 0, "%s: empty cache_id", operation);
	if (id_size > LC_MAX_ID)
		return lc__error(LC_INVALID, 0,
		    "%s: cache_id of %zu bytes is longer than %d", operation, id_size,
		    LC_MAX_ID);
	return LC_OK;
}

lc_status
lc__check_writable(const struct lc_cache *cache, const char *operation)
{
	if (cache->options.flags & LC_RDONLY)
		return lc__error(LC_READONLY, 0, "%s: module %s is open read-only",
		    operation, cache->module_id);
	if (!cache->writes)
		return lc__error(LC_READONLY, 0, "%s: module %s: rank %d does not write",
		    operation, cache->module_id, cache->options.rank);
	return LC_OK;
}

static lc_status
refuse(const struct lc__env *env, const char *operation)
{
	return lc__error(LC_INVALID, 0, "%s: %s is filled by its inputs", operation,
	    lc__env_dir(env));
}

lc_status
lc__check_plain(struct lc_cache *cache, const char *operation)
{
	const struct lc__module *module = lc__module_of(cache->env);
	struct lc__snapshot *snapshot;
	bool filled;

	if (!atomic_load_explicit(&module->filled, memory_order_relaxed))
		return LC_OK;
	/* The module may have been cleared since. */
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	filled = snapshot->filled;
	lc__snapshot_give(snapshot, 0);
	return filled ? refuse(cache->env, operation) : LC_OK;
}

lc_status
lc__check_plain_now(struct lc__snapshot *snapshot, const char *operation)
{
	bool filled;

	return_if_error(lc__has_inputs(snapshot, &filled));
	return filled ? refuse(snapshot->env, operation) : LC_OK;
}

void
lc__cache_log(const struct lc_cache *cache, const char *format, ...)
{
	char line[1200];
	va_list args;

	if (cache->options.log == NULL)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	cache->options.log(cache->options.log_ctx, line);
}

/* ---- listing modules ------------------------------------------------------ */

lc_status
lc_modules(const char *root, int (*fn)(void *ctx, const char *module_id), void *ctx)
{
	struct lc__dir_list list = { 0 };
	lc_status status = lc__listdir(root, true, &list);

	if (status != LC_OK && lc_last_error()->sys == ENOENT)
		status = LC_OK;
	for (size_t i = 0; i < list.n && status == LC_OK; i++) {
		const char *name = list.entries[i].name;
		struct stat st;
		char *path;
		bool found;

		if (lc__check_module_id(name) != LC_OK)
			continue;
		if (asprintf(&path, "%s/%s/data.mdb", root, name) < 0) {
			status = lc__no_memory(root);
			break;
		}
		/* A directory that cannot be read may be a module: opening it reports
		 * why. */
		if (stat(path, &st) == 0)
			found = S_ISREG(st.st_mode);
		else
			found = errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
		free(path);
		if (found && fn(ctx, name) != 0)
			status = lc__error(LC_CANCELLED, 0, "%s: cancelled", root);
	}
	lc__dir_list_free(&list);
	return status;
}
