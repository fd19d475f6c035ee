/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/snapshot.h"
#include "store/stat.h"

static void
free_module(void *guest)
{
	struct lc__module *module = guest;

	if (module == NULL)
		return;
	lc__pool_free(module->pool);
	lc__schemas_free(module->schemas);
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
	lc__known_settings_init(&module->settings);
	lc__input_locks_init(&module->locks);
	if (module->pool != NULL && module->schemas != NULL)
		return module;
	free_module(module);
	return NULL;
}

static void
before_close(void *guest)
{
	lc__pool_empty_locked(((struct lc__module *)guest)->pool);
}

/* The parent saves its own counts. */
static void
after_fork(void *guest)
{
	struct lc__module *module = guest;

	lc__pool_abandon(module->pool);
	lc__schemas_after_fork(module->schemas);
	module->counts = module->saving = (struct lc__counters){ 0 };
	module->settings.txn = 0; /* the child may reopen another file */
	module->filled_txn = 0;
	module->reads.count = 0;
	lc__input_locks_after_fork(&module->locks);
}

void
lc__module_learn_filled_locked(struct lc__module *module, uint64_t txn, bool filled)
{
	if (txn < module->filled_txn)
		return;
	module->filled_txn = txn;
	atomic_store(&module->filled, filled);
}

void
lc__module_note_reads_locked(struct lc__module *module, const uint64_t *chunks,
    uint32_t n)
{
	struct lc__reads *reads = &module->reads;
	uint64_t *grown;

	if (reads->count + n > reads->room && reads->room < LC__READS_MAX) {
		grown = realloc(reads->chunks,
		    (reads->room * 2 + 64) * sizeof(*grown));
		if (grown != NULL) {
			reads->chunks = grown;
			reads->room = reads->room * 2 + 64;
		}
	}
	/* A read that does not fit is lost, which hardly matters: the next commit empties
	 * the list. */
	for (uint32_t i = 0; i < n && reads->count < reads->room; i++)
		reads->chunks[reads->count++] = chunks[i];
}

void
lc__module_forget_reads_locked(struct lc__module *module, uint32_t n)
{
	struct lc__reads *reads = &module->reads;

	if (n > reads->count)
		n = reads->count;
	if (n == 0)
		return;
	reads->count -= n;
	memmove(reads->chunks, reads->chunks + n,
	    reads->count * sizeof(*reads->chunks));
}

lc_status
lc__module_attach(struct lc__env *env)
{
	static const struct lc__env_guest kind = {
		make_module, free_module, before_close, after_fork
	};
	struct lc__snapshot *snapshot;

	return_if_error(lc__env_invite(env, &kind));
	/* Damage is reported by the call that meets it. */
	if (lc__snapshot_take(env, &snapshot) == LC_OK)
		lc__snapshot_give(snapshot, 0);
	return LC_OK;
}

void
lc__module_take_counts(struct lc__env *env, struct lc__counters *out)
{
	struct lc__module *module = lc__module_of(env);

	lc__env_lock(env);
	*out = module->counts;
	lc__counters_subtract(out, &module->saving);
	lc__counters_add(&module->saving, out);
	lc__env_unlock(env);
}

void
lc__module_settle_counts(struct lc__env *env, const struct lc__counters *taken,
    bool saved)
{
	struct lc__module *module = lc__module_of(env);

	lc__env_lock(env);
	lc__counters_subtract(&module->saving, taken);
	if (saved)
		lc__counters_subtract(&module->counts, taken);
	lc__env_unlock(env);
}

static lc_status
save(struct lc__env *env, const struct lc__counters *counts)
{
	struct lc__txn *txn;
	lc_status status;

	return_if_error(lc__txn_begin_write(env, LC_DURABLE_RELAXED, &txn));
	status = lc__counters_store(txn, counts);
	if (status == LC_OK)
		return lc__txn_commit(txn);
	lc__txn_abort(txn);
	return status;
}

lc_status
lc__module_save_counts(struct lc__env *env)
{
	static const struct lc__counters nothing;
	struct lc__counters counts;
	lc_status status;

	lc__module_take_counts(env, &counts);
	if (memcmp(&counts, &nothing, sizeof(counts)) == 0)
		return LC_OK;
	status = save(env, &counts);
	lc__module_settle_counts(env, &counts, status == LC_OK);
	return status;
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
	static const char *const names[] = {
		"module", "state", "settings", "counters", "usage", "fill"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (name->size == strlen(names[i]) &&
		    memcmp(name->data, names[i], name->size) == 0)
			return true;
	return false;
}
