/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "publish/named.h"

#define NONE SIZE_MAX

/* A collection in progress. */
struct collecting {
	struct lc__objects *store;
	uint64_t before_ms; /* younger objects stay */
	bool dry;
	struct lc__generations generations;
	size_t *run_of;        /* for each: the index of its run, or NONE */
	bool *generation_goes; /* by place in generations */
	size_t first_kept;     /* number of those that may go: later ones stay */
	struct lc__run_list runs;
	size_t *last_of; /* for each: its last published generation, or NONE */
	bool *run_goes;  /* by place in runs */
	struct lc__stock parts, shards;
	struct lc__naming naming;
	struct lc__collected *out;
};

/*
 * Remove an object unless it was put again, or touched, since it was listed.
 * @param recipe if this object exists again, nothing is removed; or NULL
 * @param stays set if the object is still there
 */
static lc_status
remove_old(const struct collecting *c, const char *name, const char *recipe,
    uint64_t *count, bool *stays)
{
	struct lc__object about;
	lc_status status = lc__object_find(c->store, name, &about);

	*stays = false;
	if (status == LC_NO_FILE)
		return LC_OK;
	return_if_error(status);
	*stays = about.time_ms >= c->before_ms;
	if (!*stays && recipe != NULL && !c->dry) {
		status = lc__object_find(c->store, recipe, &(struct lc__object){ 0 });
		if (status != LC_OK && status != LC_NO_FILE)
			return status;
		*stays = status == LC_OK;
	}
	if (*stays)
		return LC_OK;
	if (!c->dry)
		return_if_error(c->store->remove(c->store, name));
	c->out->bytes += about.size;
	if (count != NULL)
		++*count;
	return LC_OK;
}

/* ---- choosing what to remove ----------------------------------------------------- */

static size_t
find_run(const struct collecting *c, uint64_t generation)
{
	struct lc__manifest manifest = { 0 };
	char run[LC__RUN_ID] = "";
	size_t i = 0;

	if (lc__generation_read(c->store, generation, NULL, &manifest) == LC_OK)
		lc__generation_run(&manifest, run);
	lc__manifest_free(&manifest);
	while (i < c->runs.n && strcmp(c->runs.all[i].id, run) != 0)
		i++;
	return i < c->runs.n ? i : NONE;
}

/* Find the run of each generation. Generations that are not among the newest may be
 * removed, but none after a young one. */
static lc_status
look_at_generations(struct collecting *c, uint64_t keep)
{
	const size_t n = c->generations.n;
	const size_t most = n > keep ? n - (size_t)keep : 0;

	while (c->first_kept < most &&
	    c->generations.all[c->first_kept].time_ms < c->before_ms)
		c->first_kept++;
	c->run_of = calloc(n + 1, sizeof(*c->run_of));
	c->generation_goes = calloc(n + 1, sizeof(*c->generation_goes));
	c->last_of = calloc(c->runs.n + 1, sizeof(*c->last_of));
	c->run_goes = calloc(c->runs.n + 1, sizeof(*c->run_goes));
	if (c->run_of == NULL || c->generation_goes == NULL || c->last_of == NULL ||
	    c->run_goes == NULL)
		return lc__no_memory("generations");
	for (size_t i = 0; i < c->runs.n; i++)
		c->last_of[i] = NONE;
	for (size_t i = 0; i < n; i++) {
		c->run_of[i] = find_run(c, c->generations.all[i].number);
		if (c->run_of[i] != NONE)
			c->last_of[c->run_of[i]] = i;
	}
	return LC_OK;
}

/*
 * A run is removed if it was published, and only by generations that may be removed, or
 * if it is left over from a removed one. A generation is removed only if its run is
 * removed, or was published again later: otherwise the run would appear never to have
 * been published, and stay for good.
 */
static void
choose(struct collecting *c)
{
	for (size_t i = 0; i < c->runs.n; i++) {
		const struct lc__run_listed *run = &c->runs.all[i];

		c->run_goes[i] = run->newest_ms < c->before_ms &&
		    (c->last_of[i] == NONE ? !run->recipe
					   : c->last_of[i] < c->first_kept);
	}
	for (size_t i = 0; i < c->first_kept; i++) {
		const size_t run = c->run_of[i];

		c->generation_goes[i] = run == NONE || c->run_goes[run] ||
		    c->last_of[run] >= c->first_kept;
	}
}

/* What stays keeps the objects that it names. */
static lc_status
name_what_stays(struct collecting *c)
{
	for (size_t i = 0; i < c->generations.n; i++)
		if (!c->generation_goes[i])
			return_if_error(lc__name_by_generation(&c->naming,
			    c->generations.all[i].number));
	for (size_t i = 0; i < c->runs.n; i++)
		if (!c->run_goes[i])
			return_if_error(lc__name_by_run(&c->naming, c->runs.all[i].id));
	return LC_OK;
}

/* A push or publication uses a run that was to be removed: what is left of it stays. */
static lc_status
keep_run(struct collecting *c, size_t run)
{
	c->run_goes[run] = false;
	for (size_t i = 0; i < c->first_kept; i++) {
		lc_status status;

		if (c->run_of[i] != run || !c->generation_goes[i])
			continue;
		c->generation_goes[i] = false;
		status = lc__name_by_generation(&c->naming, c->generations.all[i].number);
		/* It may have been removed already. */
		if (status != LC_OK && status != LC_NO_FILE)
			return status;
	}
	return lc__name_by_run(&c->naming, c->runs.all[run].id);
}

/* ---- removing -------------------------------------------------------------------------- */

static lc_status
remove_recipes(struct collecting *c)
{
	char name[LC__OBJECT_NAME];
	bool stays;

	for (size_t i = 0; i < c->runs.n; i++) {
		if (!c->run_goes[i])
			continue;
		lc__name_recipe(c->runs.all[i].id, name);
		return_if_error(remove_old(c, name, NULL, NULL, &stays));
		if (stays)
			return_if_error(keep_run(c, i));
	}
	return LC_OK;
}

static lc_status
remove_generations(struct collecting *c)
{
	char name[LC__OBJECT_NAME];
	bool stays;

	for (size_t i = 0; i < c->first_kept; i++) {
		if (!c->generation_goes[i])
			continue;
		lc__name_generation(c->generations.all[i].number, name);
		return_if_error(remove_old(c, name, NULL, &c->out->generations, &stays));
	}
	return LC_OK;
}

/* If the recipe exists again, a push has begun meanwhile. */
static lc_status
remove_receipts(struct collecting *c, size_t run)
{
	const char *id = c->runs.all[run].id;
	struct lc__receipt_list receipts = { .n = 0 };
	char name[LC__OBJECT_NAME], recipe[LC__OBJECT_NAME];
	bool stays = false;
	lc_status status = lc__receipts_list(c->store, id, &receipts);

	lc__name_recipe(id, recipe);
	for (size_t i = 0; i < receipts.n && status == LC_OK && !stays; i++) {
		lc__name_receipt(id, receipts.parts[i], name);
		status = remove_old(c, name, recipe, NULL, &stays);
	}
	free(receipts.parts);
	if (status == LC_OK && stays)
		return keep_run(c, run);
	c->out->runs += status == LC_OK;
	return status;
}

static lc_status
remove_stock(const struct collecting *c, const struct lc__stock *stock,
    void (*make_name)(const char *, char *), uint64_t *count)
{
	char name[LC__OBJECT_NAME];
	bool stays;

	for (size_t i = 0; i < stock->n; i++) {
		if (stock->all[i].wanted || stock->all[i].time_ms >= c->before_ms)
			continue;
		make_name(stock->all[i].sha256, name);
		return_if_error(remove_old(c, name, NULL, count, &stays));
	}
	return LC_OK;
}

static lc_status
remove_probe(void *ctx, const struct lc__object *object)
{
	const struct collecting *c = ctx;
	bool stays;

	return remove_old(c, object->name, NULL, &c->out->unfinished, &stays);
}

/* Objects left by incomplete puts, and probes of a store. */
static lc_status
remove_unfinished(struct collecting *c)
{
	uint64_t files, bytes;

	return_if_error(c->store->list(c->store, LC__PROBES, remove_probe, c));
	return_if_error(
	    c->store->sweep(c->store, "", c->before_ms, c->dry, &files, &bytes));
	c->out->unfinished += files;
	c->out->bytes += bytes;
	return LC_OK;
}

/*
 * The recipes first. A push and a publication begin with them: one that comes earlier
 * finds them, and its run stays; one that comes later puts them again, or fails.
 * Generations and receipts without a recipe are left over from a removed run, so that the
 * next collection continues where this one was killed.
 */
static lc_status
remove_all(struct collecting *c)
{
	return_if_error(remove_recipes(c));
	return_if_error(remove_generations(c));
	for (size_t i = 0; i < c->runs.n; i++)
		if (c->run_goes[i])
			return_if_error(remove_receipts(c, i));
	return_if_error(remove_stock(c, &c->parts, lc__name_part, &c->out->parts));
	return_if_error(remove_stock(c, &c->shards, lc__name_shard, &c->out->shards));
	return remove_unfinished(c);
}

lc_status
lc__collect(struct lc__objects *store, uint64_t keep, uint64_t older_ms, bool dry,
    struct lc__collected *out)
{
	struct collecting c = { .store = store, .dry = dry, .out = out };
	uint64_t now;
	lc_status status;

	memset(out, 0, sizeof(*out));
	return_if_error(lc__objects_now(store, &now));
	/* An object put in this millisecond counts as older than 0 ms. */
	c.before_ms = older_ms < now ? now - older_ms + (older_ms == 0) : 0;
	status = lc__generations_list(store, &c.generations);
	if (status == LC_OK)
		status = lc__runs_list(store, &c.runs);
	if (status == LC_OK)
		status = look_at_generations(&c, keep);
	if (status == LC_OK)
		choose(&c);
	/* List objects before reading what is named: later objects are in neither. */
	if (status == LC_OK)
		status = lc__stock_list(store, true, &c.parts);
	if (status == LC_OK)
		status = lc__stock_list(store, false, &c.shards);
	c.naming = (struct lc__naming){ .store = store,
		.parts = &c.parts,
		.shards = &c.shards };
	if (status == LC_OK)
		status = name_what_stays(&c);
	if (status == LC_CORRUPT)
		(void)lc__error_prefix("nothing was removed");
	if (status == LC_OK)
		status = remove_all(&c);
	free(c.generations.all);
	free(c.run_of);
	free(c.generation_goes);
	free(c.runs.all);
	free(c.last_of);
	free(c.run_goes);
	free(c.parts.all);
	free(c.shards.all);
	return status;
}
