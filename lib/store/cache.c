/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/cache.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/listdir.h"
#include "store/inputs.h"

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

/* A directory that cannot be looked into may be a module: opening it then says why. */
static lc_status
has_data(const char *root, const char *name, bool *found)
{
	struct stat st;
	char *path;

	if (asprintf(&path, "%s/%s/data.mdb", root, name) < 0)
		return lc__no_memory(root);
	if (stat(path, &st) == 0)
		*found = S_ISREG(st.st_mode);
	else
		*found = errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
	free(path);
	return LC_OK;
}

lc_status
lc_modules(const char *root, int (*fn)(void *ctx, const char *module_id), void *ctx)
{
	struct lc__dir_list list = { 0 };
	lc_status status = lc__listdir(root, true, &list);

	if (status != LC_OK && lc_last_error()->sys == ENOENT)
		status = LC_OK;
	for (size_t i = 0; i < list.n && status == LC_OK; i++) {
		const char *name = list.entries[i].name;
		bool found = false;

		if (lc__check_module_id(name) != LC_OK)
			continue;
		status = has_data(root, name, &found);
		if (status == LC_OK && found && fn(ctx, name) != 0)
			status = lc__error(LC_CANCELLED, 0, "%s: cancelled", root);
	}
	lc__dir_list_free(&list);
	return status;
}
