/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/counters.h"
#include "store/flush.h"
#include "store/inflight.h"
#include "store/once.h"
#include "store/snapshot.h"

static void
free_module(void *guest)
{
	struct lc__module *module = guest;

	if (module == NULL)
		return;
	lc__inflight_free(module->inflight);
	lc__flusher_free(module->flusher);
	lc__pool_free(module->pool);
	lc__schemas_free(module->schemas);
	lc__once_free(module->once);
	lc__input_locks_free(&module->locks);
	free(module->reads.chunks);
	free(module);
}

static void *
make_module(struct lc__env *env)
{
	struct lc__module *module = calloc(1, sizeof(*module));

	if (module == NULL)
		return NULL;
	module->env = env;
	module->pool = lc__pool_new();
	module->schemas = lc__schemas_new();
	module->flusher = lc__flusher_new(env);
	module->inflight = lc__inflight_new();
	module->once = lc__once_new();
	lc__known_settings_init(&module->settings);
	lc__input_locks_init(&module->locks);
	if (module->pool != NULL && module->schemas != NULL && module->flusher != NULL &&
	    module->inflight != NULL && module->once != NULL)
		return module;
	free_module(module);
	return NULL;
}

static void
before_close(void *guest)
{
	struct lc__module *module = guest;

	lc__pool_empty_locked(module->pool);
	lc__once_forget(module->once);
}

static void
before_fork(void *guest)
{
	struct lc__module *module = guest;

	lc__flusher_before_fork(module->flusher);
	lc__inflight_before_fork(module->inflight);
}

static void
after_fork_parent(void *guest)
{
	struct lc__module *module = guest;

	lc__inflight_after_fork_parent(module->inflight);
	lc__flusher_after_fork_parent(module->flusher);
}

/* The parent commits the pending writes, and saves its own counts. */
static void
after_fork_child(void *guest)
{
	struct lc__module *module = guest;

	lc__flusher_after_fork_child(module->flusher);
	lc__inflight_after_fork_child(module->inflight);
	lc__pool_abandon(module->pool);
	lc__schemas_after_fork(module->schemas);
	lc__once_forget(module->once);
	module->counts = module->saving = (struct lc__counters){ 0 };
	module->settings.txn = 0; /* the child may reopen another file */
	module->filled_txn = 0;
	module->reads.count = 0;
	lc__input_locks_after_fork(&module->locks);
}

lc_status
lc__module_attach(struct lc__env *env)
{
	static const struct lc__env_guest kind = {
		.make = make_module,
		.free = free_module,
		.before_close = before_close,
		.before_fork = before_fork,
		.after_fork_parent = after_fork_parent,
		.after_fork_child = after_fork_child,
	};
	struct lc__snapshot *snapshot;

	return_if_error(lc__env_invite(env, &kind));
	/* Damage is reported by the call that meets it. */
	if (lc__snapshot_take(env, &snapshot) == LC_OK)
		lc__snapshot_give(snapshot, 0);
	return LC_OK;
}

/* ---- rows of the table meta ---------------------------------------------- */

lc_status
lc__meta_first_rows(struct lc__txn *txn)
{
	return_if_error(lc__settings_reset(txn));
	return_if_error(lc__counters_reset(txn));
	return lc__usage_reset(txn);
}

bool
lc__meta_knows(const struct lc__slice *name)
{
	static const char *const names[] = { "module", "state", "settings", "counters",
		"usage", "fill" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (name->size == strlen(names[i]) &&
		    memcmp(name->data, names[i], name->size) == 0)
			return true;
	return false;
}
