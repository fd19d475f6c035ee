/* SPDX-License-Identifier: BSD-2-Clause */
#include "publish/publish.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/team.h"
#include "publish/stored.h"

#define RACES 1000        /* how often to try for a number */
#define THREADS 8         /* threads that check objects: most of the time they wait */
#define BATCH_PARTS 1024  /* most objects checked at once */
#define BATCH_SHARDS 4096 /* after this many shards no further part is added */

/* ---- finding the run ------------------------------------------------------------- */

/* A listing may be out of date: a run with a known full name is read directly. */
static lc_status
find_unlisted(struct lc__objects *store, const char *digits, char run[LC__RUN_ID])
{
	char name[LC__OBJECT_NAME];
	struct lc__object about;
	lc_status status = LC_NO_FILE;

	if (digits != NULL && strlen(digits) == LC__RUN_ID - 1 &&
	    strspn(digits, "0123456789abcdef") == LC__RUN_ID - 1) {
		lc__name_recipe(digits, name);
		status = lc__object_find(store, name, &about);
	}
	if (status == LC_OK)
		strcpy(run, digits);
	return status;
}

lc_status
lc__run_find(struct lc__objects *store, const char *digits, char run[LC__RUN_ID])
{
	const size_t n = digits != NULL ? strlen(digits) : 0;
	struct lc__run_list runs = { .n = 0 };
	struct lc__buf names = { 0 };
	size_t found = 0;
	lc_status status = LC_OK;

	return_if_error(lc__runs_list(store, &runs));
	for (size_t i = 0; i < runs.n; i++) {
		if (!runs.all[i].recipe ||
		    strncmp(runs.all[i].id, digits ? digits : "", n) != 0)
			continue;
		if (found++ < LC__MISSING_NAMED)
			lc__buf_printf(&names, "%s%s", found > 1 ? ", " : "",
			    runs.all[i].id);
		strcpy(run, runs.all[i].id);
	}
	lc__buf_append(&names, "", 1);
	if (found == 0)
		status = find_unlisted(store, digits, run);
	if (names.failed)
		status = lc__no_memory("runs");
	else if (status == LC_NO_FILE && digits != NULL)
		status = lc__error(LC_NOT_FOUND, 0, "%s: has no run %s", store->url,
		    digits);
	else if (status == LC_NO_FILE)
		status = lc__error(LC_NOT_FOUND, 0, "%s: has no run", store->url);
	else if (found > 1)
		status = lc__error(LC_INVALID, 0,
		    "%s: has %zu runs, %s%s; choose one with --recipe", store->url, found,
		    (char *)names.data, found > LC__MISSING_NAMED ? "…" : "");
	lc__buf_free(&names);
	free(runs.all);
	return status;
}

/* ---- the manifest of the generation ---------------------------------------------------- */

/* A publication in progress. */
struct publishing {
	struct lc__objects *store;
	struct lc__parts_recipe recipe;
	bool hold;              /* objects checked are touched */
	struct lc__stock stock; /* of shards */
	struct lc__manifest manifest;
	size_t room; /* of manifest.parts */
	char *first; /* the part that defined the layout */
	struct lc__published *out;
};

/* A missing one is reported by the check that follows. */
static lc_status
hold(const struct publishing *p, const char *name)
{
	const lc_status status = p->hold ? p->store->touch(p->store, name) : LC_OK;

	return status == LC_NO_FILE ? LC_OK : status;
}

/* A shard that a part names. */
struct looked {
	const struct lc__receipt *receipt;
	const struct lc__manifest_shard *shard;
};

static lc_status
check_shard(const struct publishing *p, const struct looked *looked)
{
	const struct lc__manifest_shard *shard = looked->shard;
	const char *part = looked->receipt->part;
	const struct lc__stocked *stocked = lc__stock_find(&p->stock, shard->sha256);
	struct lc__object about = { .size = 0 };
	lc_status status = hold(p, shard->relative_path);

	/* A listing may be out of date. */
	if (status == LC_OK && stocked == NULL)
		status = lc__object_find(p->store, shard->relative_path, &about);
	else if (status == LC_OK)
		about.size = stocked->size;
	if (status == LC_NO_FILE)
		return lc__error(LC_CORRUPT, 0,
		    "%s/%s: part %s: the object is missing; push the part again with --check",
		    p->store->url, shard->relative_path, part);
	if (status != LC_OK)
		return lc__error_prefix("part %s", part);
	if (about.size != shard->bytes)
		return lc__error(LC_CORRUPT, 0,
		    "%s/%s: part %s: the object has %llu bytes, not %llu; push the part "
		    "again with --check",
		    p->store->url, shard->relative_path, part,
		    (unsigned long long)about.size, (unsigned long long)shard->bytes);
	return LC_OK;
}

/* All shards of a generation have one layout. */
static lc_status
check_layout(struct publishing *p, const char *part, const struct lc__manifest *m)
{
	struct lc__manifest_layout layout;
	const char *differs;

	return_if_error(lc__manifest_layout_of(m, part, &layout));
	if (p->first == NULL) {
		p->manifest.layout = layout;
		p->manifest.default_dtype = m->default_dtype;
		p->manifest.default_shard_version = m->default_shard_version;
		p->first = strdup(part);
		return p->first != NULL ? LC_OK : lc__no_memory(part);
	}
	differs = lc__manifest_layout_differs(&p->manifest.layout, &layout);
	if (differs == NULL)
		return LC_OK;
	return lc__error(LC_INVALID, 0,
	    "part %s: its shards have another %s than those of %s", part, differs,
	    p->first);
}

static lc_status
describe(struct publishing *p, const char *name, const char *sha256,
    const struct lc__manifest *m)
{
	struct lc__manifest *all = &p->manifest;
	struct lc__manifest_part *part;
	char object[LC__OBJECT_NAME], path[LC__OBJECT_NAME + 3] = "../";

	lc__name_part(sha256, object);
	return_if_error(lc__array_reserve(&all->parts, &p->room, all->n_parts + 1, name));
	part = &all->parts[all->n_parts];
	memset(part, 0, sizeof(*part));
	return_if_error(lc__manifest_describe_part(m, name, part));
	all->n_parts++;
	strcpy(part->sha256, sha256);
	part->relative_path = strdup(strcat(path, object));
	part->base = strdup("..");
	if (part->relative_path == NULL || part->base == NULL)
		return lc__no_memory(name);
	p->out->samples += part->samples;
	p->out->shards += part->shards;
	p->out->bytes += part->bytes;
	return LC_OK;
}

/* The receipts of a run, and the manifests that some of them name: several threads read
 * them, because the store may be far away. */
struct looking {
	struct publishing *p;
	struct lc__receipt *receipts; /* receipts of all parts; malloc'ed */
	bool *missing;                /* by part; malloc'ed */
	struct {
		const struct lc__receipt *receipt;
		const char *sha256;
		struct lc__manifest manifest;
	} * files;             /* malloc'ed */
	struct looked *shards; /* of all files; malloc'ed */
	size_t n_files, n_shards;
};

static lc_status
read_receipt(struct lc__team *team, unsigned thread, uint64_t i)
{
	struct looking *l = team->ctx;
	char name[LC__OBJECT_NAME];
	lc_status status;

	(void)thread;
	lc__name_receipt(l->p->recipe.id, i, name);
	status = hold(l->p, name);
	if (status == LC_OK)
		status = lc__receipt_read(l->p->store, &l->p->recipe, i, &l->receipts[i]);
	l->missing[i] = status == LC_NO_FILE;
	return l->missing[i] ? LC_OK : status;
}

static lc_status
read_file(struct lc__team *team, unsigned thread, uint64_t i)
{
	struct looking *l = team->ctx;
	char name[LC__OBJECT_NAME];

	(void)thread;
	lc__name_part(l->files[i].sha256, name);
	return_if_error(hold(l->p, name));
	return lc__part_read(l->p->store, l->files[i].sha256, NULL,
	    &l->files[i].manifest);
}

static lc_status
look_at_shard(struct lc__team *team, unsigned thread, uint64_t i)
{
	const struct looking *l = team->ctx;

	(void)thread;
	return check_shard(l->p, &l->shards[i]);
}

static lc_status
side_by_side(struct looking *l, uint64_t jobs,
    lc_status (*work)(struct lc__team *team, unsigned thread, uint64_t job))
{
	struct lc__team team = { .work = work,
		.ctx = l,
		.jobs = jobs,
		.threads = THREADS };

	return lc__team_run(&team);
}

/* The files of the parts from @p first to before @p end. */
static lc_status
look_at_files(struct looking *l, size_t first, size_t end)
{
	size_t n = 0;

	for (size_t i = first; i < end; i++)
		n += l->receipts[i].n;
	l->files = calloc(n + 1, sizeof(*l->files));
	if (l->files == NULL)
		return lc__no_memory("publish");
	for (size_t i = first; i < end; i++)
		for (size_t k = 0; k < l->receipts[i].n; k++, l->n_files++) {
			l->files[l->n_files].receipt = &l->receipts[i];
			l->files[l->n_files].sha256 = l->receipts[i].files[k].sha256;
		}
	return_if_error(side_by_side(l, l->n_files, read_file));
	for (size_t i = n = 0; i < l->n_files; i++)
		n += l->files[i].manifest.n;
	l->shards = calloc(n + 1, sizeof(*l->shards));
	if (l->shards == NULL)
		return lc__no_memory("publish");
	for (size_t i = 0; i < l->n_files; i++)
		for (size_t k = 0; k < l->files[i].manifest.n; k++)
			l->shards[l->n_shards++] = (struct looked){ l->files[i].receipt,
				&l->files[i].manifest.shards[k] };
	return side_by_side(l, l->n_shards, look_at_shard);
}

static void
forget_files(struct looking *l)
{
	for (size_t i = 0; i < l->n_files; i++)
		lc__manifest_free(&l->files[i].manifest);
	free(l->files);
	free(l->shards);
	l->files = NULL;
	l->shards = NULL;
	l->n_files = l->n_shards = 0;
}

/* The manifests must agree with the receipt. */
static lc_status
add_part(struct looking *l, const struct lc__receipt *receipt)
{
	uint64_t samples = 0, shards = 0;

	for (size_t i = 0; i < l->n_files; i++) {
		const struct lc__manifest *m = &l->files[i].manifest;

		if (l->files[i].receipt != receipt)
			continue;
		return_if_error(check_layout(l->p, receipt->part, m));
		return_if_error(describe(l->p, receipt->part, l->files[i].sha256, m));
		shards += m->n;
		for (size_t k = 0; k < m->n; k++)
			samples += m->shards[k].samples;
	}
	if (samples != receipt->samples || shards != receipt->shards)
		return lc__error(LC_CORRUPT, 0,
		    "part %s: its receipt counts %llu samples, and its manifests %llu",
		    receipt->part, (unsigned long long)receipt->samples,
		    (unsigned long long)samples);
	return LC_OK;
}

/* For each receipt: count it if it is missing, else add its shards to the manifest. */
static lc_status
gather_all(struct looking *l)
{
	struct publishing *p = l->p;
	struct lc__published *out = p->out;
	const size_t n = p->recipe.n;
	lc_status status;

	out->parts = n;
	return_if_error(side_by_side(l, n, read_receipt));
	for (size_t i = 0; i < n; i++) {
		if (l->missing[i] && out->missing < LC__MISSING_NAMED)
			out->names[out->missing] = strdup(p->recipe.parts[i]);
		out->missing += l->missing[i];
	}
	/* If one is missing, what the others name need not be checked. */
	if (out->missing > 0)
		return lc__error(LC_NOT_FOUND, 0, "%llu of %llu receipts are missing",
		    (unsigned long long)out->missing, (unsigned long long)out->parts);
	for (size_t first = 0, end; first < n; first = end) {
		uint64_t shards = 0;

		for (end = first;
		     end < n && end - first < BATCH_PARTS && shards < BATCH_SHARDS; end++)
			shards += l->receipts[end].shards;
		status = look_at_files(l, first, end);
		for (size_t i = first; i < end && status == LC_OK; i++)
			status = add_part(l, &l->receipts[i]);
		forget_files(l);
		return_if_error(status);
	}
	if (p->manifest.n_parts == 0)
		return lc__error(LC_INVALID, 0, "run %s: no part has a record",
		    p->recipe.id);
	return LC_OK;
}

static lc_status
gather(struct publishing *p)
{
	const size_t n = p->recipe.n;
	struct looking l = { .p = p,
		.receipts = calloc(n + 1, sizeof(*l.receipts)),
		.missing = calloc(n + 1, sizeof(*l.missing)) };
	lc_status status = l.receipts != NULL && l.missing != NULL
	    ? gather_all(&l)
	    : lc__no_memory("publish");

	for (size_t i = 0; l.receipts != NULL && i < n; i++)
		lc__receipt_free(&l.receipts[i]);
	free(l.receipts);
	free(l.missing);
	return status;
}

/* The result of a check. */
static void
forget(struct publishing *p)
{
	lc__manifest_free(&p->manifest);
	memset(&p->manifest, 0, sizeof(p->manifest));
	p->room = 0;
	free(p->first);
	p->first = NULL;
	free(p->stock.all);
	memset(&p->stock, 0, sizeof(p->stock));
}

/* Check everything that the run names. */
static lc_status
look(struct publishing *p, bool holds)
{
	struct lc__object about;
	char name[LC__OBJECT_NAME];

	forget(p);
	p->out->samples = p->out->shards = p->out->bytes = 0;
	p->hold = holds;
	lc__name_recipe(p->recipe.id, name);
	return_if_error(hold(p, name));
	return_if_error(lc__object_find(p->store, name, &about));
	return_if_error(lc__stock_list(p->store, false, &p->stock));
	return gather(p);
}

static lc_status
format(struct publishing *p, struct lc__buf *out)
{
	struct lc__manifest m = p->manifest;
	struct lc__buf recipe = { 0 };
	char root[4 + LC__RUN_ID] = "run/";
	lc_status status;

	lc__buf_printf(&recipe, "{\"recipe\":\"%s\",\"run\":\"%s\"}", p->recipe.sha256,
	    p->recipe.id);
	m.dataset_root = strcat(root, p->recipe.id);
	m.transform = (char *)"{}";
	m.manifest_version = LC__MANIFEST_OF_PARTS;
	status = lc__stored_format(&m, &recipe, p->out->samples, out);
	lc__buf_free(&recipe);
	return status;
}

/* Do not publish what cannot be read. */
static lc_status
check_text(const struct publishing *p, const struct lc__buf *text)
{
	struct lc__manifest again = { 0 };
	lc_status status;

	if (text->size > LC__STORED_MANIFEST)
		return lc__error(LC_INVALID, 0,
		    "run %s: its generation has %zu bytes, more than %llu", p->recipe.id,
		    text->size, (unsigned long long)LC__STORED_MANIFEST);
	status = lc__manifest_parse_any(text->data, text->size, "its generation", &again);
	lc__manifest_free(&again);
	if (status == LC_OK || status == LC_NO_MEMORY)
		return status;
	(void)lc__error_prefix("run %s: readers could not open it", p->recipe.id);
	return lc__error_as(LC_INVALID);
}

/* ---- its number ------------------------------------------------------------------------ */

/* Is this the content of the generation? */
static lc_status
is_generation(struct lc__objects *store, uint64_t number, const struct lc__buf *text,
    bool *out)
{
	char name[LC__OBJECT_NAME];
	struct lc__buf theirs = { 0 };
	lc_status status;

	lc__name_generation(number, name);
	status = lc__object_read(store, name, LC__STORED_MANIFEST, &theirs);
	*out = status == LC_OK && theirs.size == text->size &&
	    memcmp(theirs.data, text->data, text->size) == 0;
	lc__buf_free(&theirs);
	return status;
}

/* Put it under the next number. If another process is faster, look again. */
static lc_status
put_generation(struct lc__objects *store, const struct lc__buf *text,
    struct lc__published *out)
{
	lc_status status = LC_EXISTS;

	for (int i = 0; i < RACES && status == LC_EXISTS; i++) {
		struct lc__generations list = { .n = 0 };
		char name[LC__OBJECT_NAME];
		uint64_t newest;

		return_if_error(lc__generations_list(store, &list));
		newest = list.n > 0 ? list.all[list.n - 1].number : 0;
		free(list.all);
		if (newest > 0)
			return_if_error(is_generation(store, newest, text, &out->there));
		out->generation = out->there ? newest : newest + 1;
		if (out->there)
			return LC_OK;
		/* Two publications at once need a store with conditional puts. */
		if (i == 0)
			return_if_error(lc__objects_probe(store));
		lc__name_generation(out->generation, name);
		status = lc__object_add(store, name, text->data, text->size);
	}
	return status;
}

lc_status
lc__publish_run(struct lc__objects *store, const char *run, struct lc__published *out)
{
	struct publishing p = { .store = store, .out = out };
	struct lc__buf text = { 0 };
	lc_status status;

	memset(out, 0, sizeof(*out));
	strcpy(out->run, run);
	status = lc__parts_recipe_read(store, run, &p.recipe);
	/* A collection that removes older generations of this run leaves young objects;
	 * what it removed before is noticed when it is checked again. */
	if (status == LC_OK)
		status = look(&p, true);
	if (status == LC_OK)
		status = look(&p, false);
	if (status == LC_OK)
		status = format(&p, &text);
	if (status == LC_OK)
		status = check_text(&p, &text);
	if (status == LC_OK)
		status = put_generation(store, &text, out);
	lc__buf_free(&text);
	forget(&p);
	lc__parts_recipe_free(&p.recipe);
	return status;
}

void
lc__published_free(struct lc__published *published)
{
	for (size_t i = 0; i < LC__MISSING_NAMED; i++)
		free(published->names[i]);
}
