/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/inputs.h"
#include "store/module.h"

/* Guarded by the lock of the environment. */
struct lc__pool {
	struct lc__snapshot *idle; /* not taken; those with pins are still active */
	struct lc__snapshot *kept; /* kept by walks */
};

/* Snapshots of parent processes. Their reader slots belong to the parent, and views may
 * still point at them, so they are never freed. */
static struct lc__snapshot *abandoned;

/* ---- the pool ------------------------------------------------------------- */

struct lc__pool *
lc__pool_new(void)
{
	return calloc(1, sizeof(struct lc__pool));
}

static void
free_known(struct lc__snapshot *s)
{
	for (uint32_t i = 0; i < s->nknown; i++)
		free(s->known[i].intact);
	free(s->known);
}

void
lc__snapshot_free_parts(struct lc__snapshot *snapshot)
{
	lc__state_free(&snapshot->state);
	free_known(snapshot);
	free(snapshot->runs);
	free(snapshot->schemas);
}

static void
free_snapshot(struct lc__snapshot *snapshot)
{
	lc__txn_abort(snapshot->txn);
	lc__snapshot_free_parts(snapshot);
	free(snapshot);
}

void
lc__pool_empty_locked(struct lc__pool *pool)
{
	struct lc__snapshot *next;

	for (struct lc__snapshot *s = pool->idle; s != NULL; s = next) {
		next = s->next;
		free_snapshot(s);
	}
	pool->idle = NULL;
}

void
lc__pool_free(struct lc__pool *pool)
{
	if (pool == NULL)
		return;
	lc__pool_empty_locked(pool);
	free(pool);
}

void
lc__pool_abandon(struct lc__pool *pool)
{
	struct lc__snapshot **end = &pool->idle;

	while (*end != NULL)
		end = &(*end)->next;
	*end = abandoned;
	abandoned = pool->idle;
	pool->idle = NULL;
	pool->kept = NULL; /* iterators still point at them */
}

/* Remove the first idle snapshot that can show the newest commit: one without pins, which
 * can be renewed, or one that is pinned at that commit. */
static struct lc__snapshot *
pop_usable_locked(struct lc__env *env)
{
	struct lc__pool *pool = lc__module_of(env)->pool;
	struct lc__snapshot **link, *s;
	uint64_t last = 0;

	for (link = &pool->idle; (s = *link) != NULL; link = &s->next) {
		if (s->pins == 0)
			break;
		if (last == 0)
			last = lc__env_last_txn(env);
		if (lc__txn_id(s->txn) == last)
			break;
	}
	if (s != NULL) {
		*link = s->next;
		s->in_use = true;
	}
	return s;
}

/* Enter the environment and take an idle snapshot, which is *active if it has pins: then
 * the environment was already entered for it. *out stays NULL if there is none; the
 * caller may then begin one. */
static lc_status
pop_entered(struct lc__env *env, struct lc__snapshot **out, bool *active)
{
	lc_status status;

	lc__env_lock(env);
	status = lc__env_enter_locked(env);
	if (status == LC_OK) {
		*out = pop_usable_locked(env);
		*active = *out != NULL && (*out)->pins > 0;
		if (*active)
			lc__env_leave_locked(env);
	}
	lc__env_unlock(env);
	return status;
}

static lc_status
new_snapshot(struct lc__env *env, struct lc__snapshot **out)
{
	struct lc__snapshot *s = calloc(1, sizeof(*s));
	lc_status status;

	if (s == NULL) {
		lc__env_lock(env);
		lc__env_leave_locked(env);
		lc__env_unlock(env);
		return lc__no_memory(NULL);
	}
	s->env = env;
	s->in_use = true;
	s->epoch = lc__env_epoch();
	status = lc__txn_begin_read(env, &s->txn);
	if (status != LC_OK)
		free(s);
	else
		*out = s;
	return status;
}

/* Update state and runs to the transaction's commit, and learn what the process needs to
 * know of it. */
static lc_status
refresh(struct lc__snapshot *s)
{
	const uint64_t wanted = lc__txn_id(s->txn) + 1;
	const uint32_t map_version = lc__env_map_version(s->env);
	struct lc__module *module = lc__module_of(s->env);
	lc_settings settings;
	bool has_settings;
	lc_status status;

	if (s->loaded == wanted && s->map_version == map_version)
		return LC_OK;
	s->loaded = 0;
	return_if_error(lc__snapshot_load(s));
	s->loaded = wanted;
	s->map_version = map_version;
	lc__schemas_count(module->schemas, s->state.next_schema);
	/* Damaged settings are reported by the calls that use them. */
	has_settings = lc__settings_load(s->env, s->txn, &settings) == LC_OK;
	status = lc__has_inputs(s, &s->filled);
	lc__env_lock(s->env);
	if (has_settings)
		lc__settings_learn_locked(&module->settings, wanted - 1, &settings);
	/* This snapshot may be behind: a later commit may be known. */
	if (status == LC_OK && wanted > module->filled_txn) {
		module->filled_txn = wanted - 1;
		atomic_store(&module->filled, s->filled);
	}
	lc__env_unlock(s->env);
	return status;
}

lc_status
lc__snapshot_take(struct lc__env *env, struct lc__snapshot **out)
{
	struct lc__snapshot *s = NULL;
	bool active = false;
	lc_status status = LC_OK;

	return_if_error(pop_entered(env, &s, &active));
	if (s == NULL)
		return_if_error(new_snapshot(env, &s));
	else if (!active)
		status = lc__txn_renew(s->txn);
	if (status != LC_OK) {
		/* The environment was left: only its lock keeps it open. */
		lc__env_lock(env);
		free_snapshot(s);
		lc__env_unlock(env);
		return status;
	}
	status = refresh(s);
	if (status != LC_OK) {
		lc__snapshot_give(s, 0);
		return status;
	}
	*out = s;
	return LC_OK;
}

static void
add_pins_locked(struct lc__snapshot *s, unsigned pins)
{
	if (s->pins == 0 && pins > 0) {
		s->pinned_ns = lc__clock_coarse_ns();
		lc__env_count_pins_locked(s->env, 1);
	}
	s->pins += pins;
}

static void
drop_pin_locked(struct lc__snapshot *s)
{
	if (--s->pins > 0)
		return;
	lc__env_count_pins_locked(s->env, -1);
	if (!s->in_use)
		lc__txn_reset_locked(s->txn);
}

static void
put_back_locked(struct lc__snapshot *s)
{
	struct lc__module *module = lc__module_of(s->env);
	struct lc__pool *pool = module->pool;

	module->counts.hits += s->hits;
	module->counts.misses += s->misses;
	s->hits = s->misses = 0;
	if (s->nreads > 0 && atomic_load(&module->settings.evict) == LC_EVICT_UNREAD)
		lc__reads_note_locked(&module->reads, s->reads, s->nreads);
	s->nreads = 0;
	s->in_use = false;
	if (s->pins == 0)
		lc__txn_reset_locked(s->txn);
	s->next = pool->idle;
	pool->idle = s;
}

void
lc__snapshot_give(struct lc__snapshot *s, unsigned pins)
{
	lc__env_lock(s->env);
	add_pins_locked(s, pins);
	put_back_locked(s);
	lc__env_unlock(s->env);
}

void
lc__snapshot_unpin(struct lc__snapshot *s)
{
	/* A view that crossed a fork belongs to the parent. */
	if (s->epoch != lc__env_epoch())
		return;
	lc__env_lock(s->env);
	drop_pin_locked(s);
	lc__env_unlock_let_go(s->env);
}

void
lc__snapshot_keep(struct lc__snapshot *s)
{
	struct lc__pool *pool = lc__module_of(s->env)->pool;

	lc__env_lock(s->env);
	add_pins_locked(s, 1);
	s->next = pool->kept;
	pool->kept = s;
	lc__env_unlock(s->env);
}

static void
unlink_kept_locked(struct lc__snapshot *s)
{
	struct lc__snapshot **link = &lc__module_of(s->env)->pool->kept;

	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
}

void
lc__snapshot_end_keep(struct lc__snapshot *s)
{
	if (s->epoch != lc__env_epoch())
		return;
	lc__env_lock(s->env);
	unlink_kept_locked(s);
	drop_pin_locked(s);
	put_back_locked(s);
	lc__env_unlock_let_go(s->env);
}

void
lc__snapshot_end_keep_pinned(struct lc__snapshot *s)
{
	if (s->epoch != lc__env_epoch())
		return;
	lc__env_lock(s->env);
	unlink_kept_locked(s);
	put_back_locked(s);
	lc__env_unlock(s->env);
}

static uint64_t
oldest_pin_locked(const struct lc__snapshot *list, uint64_t oldest)
{
	for (const struct lc__snapshot *s = list; s != NULL; s = s->next)
		if (s->pins > 0 && (oldest == 0 || s->pinned_ns < oldest))
			oldest = s->pinned_ns;
	return oldest;
}

uint64_t
lc__pool_oldest_pin_ns(struct lc__env *env)
{
	const struct lc__pool *pool = lc__module_of(env)->pool;
	uint64_t oldest;

	lc__env_lock(env);
	oldest = oldest_pin_locked(pool->kept, oldest_pin_locked(pool->idle, 0));
	lc__env_unlock(env);
	return oldest;
}

/* ---- loading -------------------------------------------------------------- */

lc_status
lc__snapshot_load_runs(struct lc__snapshot *s)
{
	s->lent = false;
	return_if_error(lc__array_reserve(&s->runs, &s->runs_room, s->state.nruns, NULL));
	for (uint32_t i = 0; i < s->state.nruns; i++) {
		const struct lc__run_row *row = &s->state.runs[i];
		struct lc__slice value;
		const lc_status status = lc__txn_get(s->txn, LC__INDEX, row->id, &value);

		if (status == LC_NOT_FOUND)
			return lc__error(LC_CORRUPT, 0, "%s: index run %llu is missing",
			    lc__env_dir(s->env), (unsigned long long)row->id);
		return_if_error(status);
		if (value.size != row->bytes ||
		    !lc__run_parse(value.data, value.size, row->id, &s->runs[i]) ||
		    s->runs[i].entries != row->entries)
			return lc__error(LC_CORRUPT, 0, "%s: index run %llu is damaged",
			    lc__env_dir(s->env), (unsigned long long)row->id);
	}
	return LC_OK;
}

lc_status
lc__snapshot_load(struct lc__snapshot *s)
{
	struct lc__slice row;
	lc_status status = lc__txn_get_meta(s->txn, "state", &row);

	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: the state row is missing",
		    lc__env_dir(s->env));
	return_if_error(status);
	if (lc__state_decode(row.data, row.size, &s->state) != LC_OK)
		return lc__error_prefix("%s: state row", lc__env_dir(s->env));
	if (s->remembers)
		memset(s->chunks, 0, sizeof(s->chunks));
	s->remembers = false;
	return lc__snapshot_load_runs(s);
}

/* ---- which parts of the index were verified -------------------------------------- */

/*
 * Look up what is known of a run. A run of a page or more has pages of its own, which
 * LMDB writes once, and its id is never reused. A smaller one shares a page: a commit
 * that changes the page writes it again, to another place or, two commits later, to the
 * same.
 */
static unsigned char *
take_known(struct lc__snapshot *s, uint32_t position)
{
	const struct lc__run *run = &s->runs[position];

	if (s->state.runs[position].bytes < lc__env_page_size(s->env))
		return NULL;
	for (uint32_t i = 0; i < s->nknown; i++) {
		struct lc__run_known *known = &s->known[i];
		unsigned char *const intact = known->intact;

		if (known->run == run->id && known->table == run->table) {
			known->intact = NULL;
			return intact;
		}
	}
	return NULL;
}

void
lc__snapshot_lend_anew(struct lc__snapshot *s)
{
	const uint32_t n = s->state.nruns;
	struct lc__run_known *known = calloc((size_t)n + 1, sizeof(*known));

	if (known == NULL)
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct lc__run *run = &s->runs[i];
		unsigned char *intact = take_known(s, i);

		if (intact == NULL)
			intact = calloc((size_t)run->buckets / 8 + 1, 1);
		known[i] = (struct lc__run_known){ run->id, run->table, intact };
		run->intact = intact;
	}
	free_known(s);
	s->known = known;
	s->nknown = n;
	s->lent = true;
}
