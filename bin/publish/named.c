/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/named.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/team.h"
#include "publish/checked.h"

/* LC_CORRUPT is noted, if somebody notes it. */
static lc_status
note(struct lc__naming *n, lc_status status)
{
	if (status != LC_CORRUPT || n->damage == NULL)
		return status;
	n->damaged++;
	n->damage(n->ctx);
	return LC_OK;
}

/* ---- shards of a part ------------------------------------------------------------------ */

/* The shards of a part that are looked at. */
struct looking {
	struct lc__naming *naming;
	const struct lc__manifest *part;
};

/* Is it there, whole, and with @p deep what it is called? */
static lc_status
look_at_shard(const struct looking *l, struct lc__team *team,
    const struct lc__manifest_shard *shard)
{
	const struct lc__naming *n = l->naming;
	const struct lc__stocked *stocked = lc__stock_find(n->shards, shard->sha256);
	const struct lc__stored_object stored = { n->store, shard->relative_path };
	const struct lc__source source = {
		.body = lc__body_of_object(&stored, shard->bytes),
		.sha256 = shard->sha256,
		.what = shard->relative_path,
		.team = team,
	};
	struct lc__object about = { .size = stocked != NULL ? stocked->size : 0 };
	lc_status status = LC_OK;

	if (stocked == NULL)
		status = lc__object_find(n->store, shard->relative_path, &about);
	if (status == LC_NO_FILE)
		return lc__error(LC_CORRUPT, 0, "%s: is missing", shard->relative_path);
	return_if_error(status);
	if (about.size != shard->bytes)
		return lc__error(LC_CORRUPT, 0, "%s: has %llu bytes, not %llu",
		    shard->relative_path, (unsigned long long)about.size,
		    (unsigned long long)shard->bytes);
	if (!n->deep || (stocked != NULL && stocked->wanted))
		return LC_OK;
	return lc__compare(&source);
}

static lc_status
look(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct looking *l = team->ctx;
	lc_status status = look_at_shard(l, team, &l->part->shards[i]);

	(void)thread;
	if (status != LC_CORRUPT)
		return status;
	pthread_mutex_lock(&team->lock);
	(void)lc__error_prefix("part %s", l->part->dataset_root);
	status = note(l->naming, LC_CORRUPT);
	pthread_mutex_unlock(&team->lock);
	return status;
}

static lc_status
want_shards(struct lc__naming *n, const struct lc__manifest *part)
{
	struct looking looking = { n, part };
	struct lc__team team = {
		.work = look,
		.ctx = &looking,
		.jobs = part->n,
		.threads = n->deep ? n->threads : 1,
		.progress = n->progress,
	};

	for (size_t i = 0; i < part->n; i++)
		team.total += n->deep ? part->shards[i].bytes : 0;
	return_if_error(lc__team_run(&team));
	for (size_t i = 0; i < part->n; i++) {
		struct lc__stocked *stocked = lc__stock_find(n->shards,
		    part->shards[i].sha256);

		if (stocked != NULL)
			stocked->wanted = true;
	}
	return LC_OK;
}

/* A part is followed once, whoever names it. */
static lc_status
want_part(struct lc__naming *n, const char *sha256)
{
	struct lc__stocked *stocked = lc__stock_find(n->parts, sha256);
	struct lc__manifest part = { 0 };
	lc_status status;

	if (stocked != NULL && stocked->wanted)
		return LC_OK;
	status = lc__part_read(n->store, sha256, NULL, &part);
	if (status == LC_OK)
		status = want_shards(n, &part);
	if (stocked != NULL)
		stocked->wanted = true;
	lc__manifest_free(&part);
	return note(n, status);
}

/* ---- generations and runs -------------------------------------------------------------- */

lc_status
lc__name_by_generation(struct lc__naming *n, uint64_t number)
{
	struct lc__manifest manifest = { 0 };
	lc_status status = lc__generation_read(n->store, number, NULL, &manifest);

	for (size_t i = 0; i < manifest.n_parts && status == LC_OK; i++)
		status = want_part(n, manifest.parts[i].sha256);
	lc__manifest_free(&manifest);
	return note(n, status);
}

/* The receipts of a run, whether it has a recipe or not. */
struct receipts {
	uint64_t *parts; /* malloc'ed */
	size_t n, room;
};

static lc_status
note_receipt(void *ctx, const struct lc__object *object)
{
	struct receipts *receipts = ctx;
	char run[LC__RUN_ID];
	bool recipe;
	uint64_t part;

	if (!lc__run_of_name(object->name, run, &recipe, &part) || recipe)
		return LC_OK;
	return_if_error(lc__array_reserve(&receipts->parts, &receipts->room,
	    receipts->n + 1, "receipts"));
	receipts->parts[receipts->n++] = part;
	return LC_OK;
}

static lc_status
list_receipts(struct lc__objects *store, const char *run, struct receipts *out)
{
	char prefix[LC__OBJECT_NAME];

	lc__name_recipe(run, prefix);
	strrchr(prefix, '/')[1] = '\0';
	return store->list(store, prefix, note_receipt, out);
}

static lc_status
name_by_receipt(struct lc__naming *n, const char *run, uint64_t part)
{
	char name[LC__OBJECT_NAME];
	struct lc__buf text = { 0 };
	struct lc__receipt receipt = { .n = 0 };
	lc_status status;

	lc__name_receipt(run, part, name);
	status = lc__object_read(n->store, name, LC__RECEIPT_LIMIT, &text);
	if (status == LC_OK)
		status = lc__receipt_parse(text.data, text.size, name, &receipt);
	if (status == LC_OK && strncmp(receipt.run, run, LC__RUN_ID - 1) != 0)
		status = lc__error(LC_CORRUPT, 0, "%s: the receipt of another run", name);
	for (size_t i = 0; i < receipt.n && status == LC_OK; i++)
		status = want_part(n, receipt.files[i].sha256);
	lc__receipt_free(&receipt);
	lc__buf_free(&text);
	/* Somebody else may have removed it. */
	return status == LC_NO_FILE ? LC_OK : note(n, status);
}

lc_status
lc__name_by_run(struct lc__naming *n, const char *run)
{
	struct receipts receipts = { .n = 0 };
	struct lc__parts_recipe recipe = { .n = 0 };
	lc_status status = lc__parts_recipe_read(n->store, run, &recipe);

	lc__parts_recipe_free(&recipe);
	status = status == LC_NO_FILE ? LC_OK : note(n, status);
	if (status == LC_OK)
		status = list_receipts(n->store, run, &receipts);
	for (size_t i = 0; i < receipts.n && status == LC_OK; i++)
		status = name_by_receipt(n, run, receipts.parts[i]);
	free(receipts.parts);
	return status;
}

/* ---- collecting ------------------------------------------------------------------------ */

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
	struct receipts receipts = { .n = 0 };
	char name[LC__OBJECT_NAME];
	lc_status status;

	lc__name_recipe(run, name);
	return_if_error(remove_old(c, name, NULL));
	status = list_receipts(c->store, run, &receipts);
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
