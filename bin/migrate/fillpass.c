/* SPDX-License-Identifier: BSD-2-Clause */
/* The encoders' passes: records to producers as JSON text, tensors to modules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "migrate/claims.h"
#include "migrate/migration.h"

struct filling {
	struct lc__migration *run;
	enum lc__stage2_pass pass;
	struct lc__lines lines;
	struct lc__line_entry entry;   /* the line being read */
	struct lc__line_entry checked; /* the one whose result is checked */
	struct lc__buf id, text;
};

/* The id under which the record's tensors are stored; LC_NOT_FOUND for a bad line, which
 * was reported. */
static lc_status
find_id(struct filling *f)
{
	const struct lc__migration *run = f->run;
	const struct lc__line_entry *entry = &f->entry;
	const struct lc__claimant who = {
		.cache = run->state_cache,
		.generation = run->state.generation,
		.line = f->lines.number,
		.path = { entry->path.data, entry->path.size },
	};
	lc_status status;

	if (entry->newer)
		return LC_NOT_FOUND;
	if (!entry->v2)
		return lc__claims_find(&who, &f->id);
	status = lc__claims_check(&who, (lc_id){ entry->id.data, entry->id.size });
	if (status != LC_OK)
		return status == LC_INVALID ? LC_NOT_FOUND : status;
	f->id.size = 0;
	lc__buf_append(&f->id, entry->id.data, entry->id.size);
	return f->id.failed ? lc__no_memory(NULL) : LC_OK;
}

static lc_status
make_item(struct filling *f, struct lc__item *out)
{
	const struct lc__entry_news news = {
		.cut = f->entry.members[LC__ENTRY_ARRAY].name.text != NULL,
		.name = !f->entry.v2,
		.id = { f->id.data, f->id.size },
	};

	f->text.size = 0;
	return_if_error(lc__entry_write(&f->entry, &news, &f->text));
	memset(out, 0, sizeof(*out));
	out->id = news.id;
	out->key = "json";
	out->payload = (lc_id){ f->text.data, f->text.size };
	out->tag = f->lines.number;
	return LC_OK;
}

static lc_status
next(void *ctx, struct lc__item *out)
{
	struct filling *f = ctx;
	const char *field = f->run->how->field;
	struct lc__text_line line;
	lc_status status;

	for (;;) {
		return_if_error(lc__lines_next(&f->lines, &line));
		if (f->run->how->limit > 0 && f->lines.number > f->run->state.limit_line)
			return lc__error(LC_END, 0, "%s: the limit is reached",
			    f->run->how->file);
		if (!lc__migration_has_line(f->run->how, f->lines.number) ||
		    lc__text_line_is_blank(&line))
			continue;
		status = lc__entry_read(line.text, line.size, field, &f->entry);
		if (status == LC_OK)
			status = find_id(f);
		if (status == LC_OK)
			return make_item(f, out);
		if (status != LC_NOT_FOUND && status != LC_INVALID &&
		    status != LC_CORRUPT)
			return status;
	}
}

/* Latents depend on the record's size, if that is known. */
static lc_status
check(void *ctx, const struct lc__item *item, const lc_value *value)
{
	struct filling *f = ctx;
	lc_tensor tensor;

	if (f->pass != LC__PASS_VAE)
		return LC_OK;
	return_if_error(lc_value_as_tensor(value, &tensor));
	if (lc__entry_read(item->payload.data, item->payload.size, f->run->how->field,
		&f->checked) != LC_OK ||
	    lc__migration_sides(f->run->how, &f->checked) != LC_OK)
		return LC_OK;
	return lc__migration_check_latents(&tensor, f->checked.width, f->checked.height);
}

static lc_status
idle(void *ctx, const struct lc__filled *so_far)
{
	const struct filling *f = ctx;
	const struct lc__stage2 *how = f->run->how;

	if (how->filling != NULL && how->filling(how->ctx, f->pass, so_far) != 0)
		return lc__error(LC_CANCELLED, 0, "%s: stopped", how->file);
	return LC_OK;
}

static lc_status
run_encoder(struct filling *f, lc_cache *cache, struct lc__failures *failures)
{
	const struct lc__stage2 *how = f->run->how;
	struct lc__producers producers = how->producers;
	const struct lc__fill fill = {
		.cache = cache, .producers = &producers,
		.demands = { .expect = &how->expect[f->pass], .n_expect = 1,
		    .deep = how->repair, },
		.next = next, .check = check, .idle = idle, .ctx = f,
		.batch = how->batch, .batch_bytes = (uint64_t)4 << 20, .failures = failures,
	};

	producers.command = how->encoder[f->pass];
	producers.module = how->module[f->pass];
	return lc__fill_run(&fill, &f->run->done->filled[f->pass]);
}

static lc_status
fill_module(struct filling *f)
{
	const struct lc__stage2 *how = f->run->how;
	struct lc__failures *failures = NULL;
	lc_cache *cache;
	char *path;
	lc_status status, closed;

	return_if_error(lc_open(how->dir, how->module[f->pass], NULL, &cache));
	/* In the module's directory, like cachex fill. */
	if (asprintf(&path, "%s/%s/failures.jsonl", how->dir, how->module[f->pass]) < 0) {
		status = lc__no_memory(NULL);
	} else {
		status = lc__failures_open(path, false, &failures);
		free(path);
	}
	if (status == LC_OK)
		status = run_encoder(f, cache, failures);
	closed = lc__failures_close(failures);
	if (status == LC_OK)
		status = closed;
	closed = lc_close(cache);
	return status == LC_OK ? closed : status;
}

static lc_status
fill_pass(struct lc__migration *run, enum lc__stage2_pass pass)
{
	struct filling f = {
		.run = run,
		.pass = pass,
		.lines = lc__migrate_lines(run->in, run->how->file),
	};
	lc_status status = lc__lines_seek(&f.lines, 0, 0);

	if (status == LC_OK)
		status = fill_module(&f);
	lc__lines_free(&f.lines);
	lc__entry_free(&f.entry);
	lc__entry_free(&f.checked);
	lc__buf_free(&f.id);
	lc__buf_free(&f.text);
	return status;
}

lc_status
lc__migration_fill(struct lc__migration *run)
{
	for (int p = 0; p < LC__PASS_MODULES; p++)
		if (run->how->pass[p] && run->how->encoder[p] != NULL)
			return_if_error(fill_pass(run, (enum lc__stage2_pass)p));
	return LC_OK;
}
