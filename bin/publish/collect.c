/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "publish/named.h"

/* A collection under way. */
struct collecting {
	struct lc__objects *store;
	uint64_t before_ms; /* younger objects stay */
	bool dry;
	struct lc__generations generations;
	size_t first_kept; /* of them */
	struct lc__run_list runs;
	bool *run_goes; /* by place in runs */
	struct lc__stock parts, shards;
	struct lc__collected *out;
};

/* Remove an object unless somebody has put it, or come upon it, since it was listed. */
static lc_status
remove_old(const struct collecting *c, const char *name, uint64_t *count)
{
	struct lc__object about;
	const lc_status status = lc__object_find(c->store, name, &about);

	if (status == LC_NO_FILE || (status == LC_OK && about.time_ms >= c->before_ms))
		return LC_OK;
	return_if_error(status);
	if (!c->dry)
		return_if_error(c->store->remove(c->store, name));
	c->out->bytes += about.size;
	if (count != NULL)
		++*count;
	return LC_OK;
}

/* Old generations that are not among the newest; none after a young one. */
static void
choose_generations(struct collecting *c, uint64_t keep)
{
	const size_t n = c->generations.n;
	const size_t most = n > keep ? n - (size_t)keep : 0;

	while (c->first_kept < most &&
	    c->generations.all[c->first_kept].time_ms < c->before_ms)
		c->first_kept++;
}

static struct lc__run_listed *
find_run(const struct collecting *c, uint64_t generation)
{
	struct lc__manifest manifest = { 0 };
	struct lc__run_listed *found = NULL;
	char run[LC__RUN_ID] = "";

	if (lc__generation_read(c->store, generation, NULL, &manifest) == LC_OK)
		lc__generation_run(&manifest, run);
	for (size_t i = 0; i < c->runs.n && run[0] != '\0'; i++)
		if (strcmp(c->runs.all[i].id, run) == 0)
			found = &c->runs.all[i];
	lc__manifest_free(&manifest);
	return found;
}

/* Old runs that were published, and by generations alone that go; and what was left of runs
 * that went. */
static lc_status
choose_runs(struct collecting *c)
{
	c->run_goes = calloc(c->runs.n + 1, sizeof(*c->run_goes));
	if (c->run_goes == NULL)
		return lc__no_memory("runs");
	for (size_t i = 0; i < c->runs.n; i++)
		c->run_goes[i] = !c->runs.all[i].recipe;
	for (size_t i = 0; i < c->generations.n; i++) {
		const struct lc__run_listed *run = find_run(c,
		    c->generations.all[i].number);

		if (run != NULL)
			c->run_goes[run - c->runs.all] = i < c->first_kept;
	}
	for (size_t i = 0; i < c->runs.n; i++)
		c->run_goes[i] &= c->runs.all[i].newest_ms < c->before_ms;
	return LC_OK;
}

/* What stays is wanted. */
static lc_status
name_what_stays(struct collecting *c)
{
	struct lc__naming naming = { .store = c->store,
		.parts = &c->parts,
		.shards = &c->shards };

	for (size_t i = c->first_kept; i < c->generations.n; i++)
		return_if_error(
		    lc__name_by_generation(&naming, c->generations.all[i].number));
	for (size_t i = 0; i < c->runs.n; i++)
		if (!c->run_goes[i])
			return_if_error(lc__name_by_run(&naming, c->runs.all[i].id));
	return LC_OK;
}

/* The recipe first: receipts without one are left of a run that went. */
static lc_status
remove_run(const struct collecting *c, const char *run)
{
	struct lc__receipt_list receipts = { .n = 0 };
	char name[LC__OBJECT_NAME];
	lc_status status;

	lc__name_recipe(run, name);
	return_if_error(remove_old(c, name, NULL));
	status = lc__receipts_list(c->store, run, &receipts);
	for (size_t i = 0; i < receipts.n && status == LC_OK; i++) {
		lc__name_receipt(run, receipts.parts[i], name);
		status = remove_old(c, name, NULL);
	}
	free(receipts.parts);
	c->out->runs += status == LC_OK;
	return status;
}

static lc_status
remove_stock(const struct collecting *c, const struct lc__stock *stock,
    void (*make_name)(const char *, char *), uint64_t *count)
{
	char name[LC__OBJECT_NAME];

	for (size_t i = 0; i < stock->n; i++) {
		if (stock->all[i].wanted || stock->all[i].time_ms >= c->before_ms)
			continue;
		make_name(stock->all[i].sha256, name);
		return_if_error(remove_old(c, name, count));
	}
	return LC_OK;
}

static lc_status
remove_all(struct collecting *c)
{
	uint64_t bytes = 0;
	char name[LC__OBJECT_NAME];

	for (size_t i = 0; i < c->first_kept; i++) {
		lc__name_generation(c->generations.all[i].number, name);
		return_if_error(remove_old(c, name, &c->out->generations));
	}
	for (size_t i = 0; i < c->runs.n; i++)
		if (c->run_goes[i])
			return_if_error(remove_run(c, c->runs.all[i].id));
	return_if_error(remove_stock(c, &c->parts, lc__name_part, &c->out->parts));
	return_if_error(remove_stock(c, &c->shards, lc__name_shard, &c->out->shards));
	return_if_error(c->store->sweep(c->store, "", c->before_ms, c->dry,
	    &c->out->unfinished, &bytes));
	c->out->bytes += bytes;
	return LC_OK;
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
	/* What was put in this very millisecond is older than 0 ms, too. */
	c.before_ms = older_ms < now ? now - older_ms + (older_ms == 0) : 0;
	status = lc__generations_list(store, &c.generations);
	if (status == LC_OK)
		status = lc__runs_list(store, &c.runs);
	if (status == LC_OK) {
		choose_generations(&c, keep);
		status = choose_runs(&c);
	}
	/* Listed before it is asked what is named: what comes later is in neither. */
	if (status == LC_OK)
		status = lc__stock_list(store, true, &c.parts);
	if (status == LC_OK)
		status = lc__stock_list(store, false, &c.shards);
	if (status == LC_OK)
		status = name_what_stays(&c);
	if (status == LC_CORRUPT)
		(void)lc__error_prefix("nothing was removed");
	if (status == LC_OK)
		status = remove_all(&c);
	free(c.generations.all);
	free(c.runs.all);
	free(c.run_goes);
	free(c.parts.all);
	free(c.shards.all);
	return status;
}
