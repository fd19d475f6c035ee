/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/named.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/team.h"
#include "publish/checked.h"

/* LC_CORRUPT is reported, if there is a callback. */
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

/* The shards of a part being checked. */
struct looking {
	struct lc__naming *naming;
	const struct lc__manifest *part;
};

/* Does it exist with the right size, and with @p deep the right SHA-256? */
static lc_status
look_at_shard(const struct looking *l, struct lc__team *team,
    const struct lc__manifest_shard *shard)
{
	const struct lc__naming *n = l->naming;
	const struct lc__stocked *stocked = lc__stock_find(n->shards, shard->sha256);
	const struct lc__stored_object wanted = { n->store, shard->relative_path,
		shard->bytes, shard->sha256, team };
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
	status = lc__get_checked(&wanted, NULL);
	return status == LC_NO_FILE
	    ? lc__error(LC_CORRUPT, 0, "%s: is missing", shard->relative_path)
	    : status;
}

static lc_status
look(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct looking *l = team->ctx;
	lc_status status = look_at_shard(l, team, &l->part->shards[i]);

	(void)thread;
	if (status == LC_OK)
		return status;
	pthread_mutex_lock(&team->lock);
	status = note(l->naming, lc__error_prefix("part %s", l->part->dataset_root));
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

/* A part is followed once, however often it is named. */
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
		status = lc__error(LC_CORRUPT, 0, "%s: the receipt is for another run",
		    name);
	for (size_t i = 0; i < receipt.n && status == LC_OK; i++)
		status = want_part(n, receipt.files[i].sha256);
	lc__receipt_free(&receipt);
	lc__buf_free(&text);
	/* Another process may have removed it. */
	return status == LC_NO_FILE ? LC_OK : note(n, status);
}

lc_status
lc__name_by_run(struct lc__naming *n, const char *run)
{
	struct lc__receipt_list receipts = { .n = 0 };
	struct lc__parts_recipe recipe = { .n = 0 };
	lc_status status = lc__parts_recipe_read(n->store, run, &recipe);

	lc__parts_recipe_free(&recipe);
	status = status == LC_NO_FILE ? LC_OK : note(n, status);
	if (status == LC_OK)
		status = lc__receipts_list(n->store, run, &receipts);
	for (size_t i = 0; i < receipts.n && status == LC_OK; i++)
		status = name_by_receipt(n, run, receipts.parts[i]);
	free(receipts.parts);
	return status;
}
