/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of a module: backup copies its file; copy puts its live records into another
 * module, as they are stored. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "base/words.h"
#include "env/share.h"
#include "life/progress.h"
#include "store/flush.h"
#include "store/iterate.h"
#include "store/module.h"
#include "store/put.h"

/* ---- backup: the whole module ------------------------------------------------------ */

/* Other processes may read and write the module meanwhile. If another module appears in
 * the target directory before the copy is finished, that module stays. */
static lc_status
copy_module(struct lc_cache *cache, const char *dir, const char *data, bool compact)
{
	struct lc__newfile file;
	struct stat st;
	lc_status status = LC_EXISTS;

	if (lstat(data, &st) == -1) {
		return_if_error(lc__make_dirs(dir));
		return_if_error(lc__sync_parent(dir));
		lc__share_copy(lc__env_dir(cache->env), dir);
		lc__newfile_tidy(data);
		return_if_error(lc__newfile_open(data, 0666, &file));
		lc__share_new_path(data, file.fd);
		status = lc__env_copy(cache->env, file.fd, data, compact);
		if (status == LC_OK)
			status = lc__newfile_add(&file);
		lc__newfile_discard(&file);
	}
	if (status == LC_EXISTS)
		return lc__error(LC_INVALID, 0,
		    "%s: exists; backup does not replace files", data);
	return status;
}

lc_status
lc_backup(lc_cache *cache, const char *root, unsigned flags)
{
	char *dir, *data;
	lc_status status;

	if (root == NULL || *root == '\0')
		return lc__error(LC_INVALID, 0, "backup: no root");
	if (flags & ~LC_BACKUP_COMPACT)
		return lc__error(LC_INVALID, 0, "backup: unknown flag");
	return_if_error(lc__flush_all(cache));
	dir = lc__path_join(root, cache->module_id);
	data = dir != NULL ? lc__path_join(dir, "data.mdb") : NULL;
	if (data == NULL)
		status = lc__no_memory("backup");
	else
		status = copy_module(cache, dir, data, (flags & LC_BACKUP_COMPACT) != 0);
	free(data);
	free(dir);
	return status;
}

/* ---- copy: its live records ---------------------------------------------------------- */

/* The words for handling a key that the target has already. */
static const char *const conflicts[] = {
	[LC_KEEP] = "keep",
	[LC_REPLACE] = "replace",
	[LC_SAME] = "same",
	[LC_FAIL] = "fail",
	NULL,
};

const char *
lc_conflict_name(lc_conflict conflict)
{
	return lc__word(conflicts, (unsigned)conflict);
}

lc_status
lc_conflict_parse(const char *name, lc_conflict *out)
{
	unsigned i;

	return_if_error(lc__word_parse("conflict", conflicts, name, &i));
	*out = (lc_conflict)i;
	return LC_OK;
}

struct copying {
	struct lc_cache *from, *to;
	const lc_copy_options *options;
	lc_iter *iter;
	struct lc__known_by_id known; /* the source's structures in the target */
	uint64_t done, total;         /* size of the records copied, and of all */
	lc_copy_result result;
};

void
lc_copy_options_init(lc_copy_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->conflict = LC_FAIL;
}

static lc_status
conflict(const lc_id *id, const char *what)
{
	return lc__error(LC_INVALID, 0, "copy: key %s: %s",
	    lc__quote_id(id->data, id->size), what);
}

/* Does the target have the same value for the record? */
static lc_status
compare(struct copying *c, const lc_id *id)
{
	const lc_value *ours, *theirs;
	lc_view view;
	lc_status status = lc_get(c->to, id->data, id->size, &view);

	if (status == LC_NOT_FOUND)
		return LC_OK;
	return_if_error(status);
	status = lc_view_value(&view, NULL, &theirs);
	if (status == LC_OK)
		status = lc_iter_value(c->iter, NULL, &ours);
	if (status == LC_OK && !lc_value_equal(ours, theirs))
		status = conflict(id, "the target has another value");
	lc_view_release(&view);
	return status;
}

/* Is the record a conflict that ends the copy? */
static lc_status
check_record(struct copying *c, const struct lc__record *record)
{
	lc_status status;

	if (c->options->conflict == LC_SAME)
		return compare(c, &record->id);
	status = lc_contains(c->to, record->id.data, record->id.size);
	if (status == LC_OK)
		return conflict(&record->id, "the target has it already");
	return status == LC_NOT_FOUND ? LC_OK : status;
}

/* A commit of the target may take longer than its calls may wait: keep waiting, and let
 * the caller cancel in between. */
static lc_status
ask_again(const struct copying *c)
{
	return lc__progress_step(&c->options->progress, c->done, c->total, "copy");
}

static lc_status
put_record(struct copying *c, const struct lc__record *record, struct lc__known *known)
{
	lc_status status;

	while ((status = lc__flush_add_record(c->to, record, known)) == LC_TIMEOUT)
		return_if_error(ask_again(c));
	return status;
}

static lc_status
flush_target(struct copying *c)
{
	lc_status status;

	while ((status = lc__flush_all(c->to)) == LC_TIMEOUT)
		return_if_error(ask_again(c));
	return status;
}

static lc_status
copy_record(struct copying *c, const struct lc__record *record)
{
	const lc_status found = lc_contains(c->to, record->id.data, record->id.size);
	/* A damaged record counts as present: it is replaced or kept like any other. */
	const bool has = found != LC_NOT_FOUND;
	struct lc__known *known;

	if (found != LC_NOT_FOUND && found != LC_CORRUPT)
		return_if_error(found);
	if (has && c->options->conflict != LC_REPLACE) {
		c->result.kept++;
		return LC_OK;
	}
	return_if_error(lc__put_schema(c->to, record->schema, lc__iter_schema(c->iter),
	    &c->known, &known));
	if (!c->options->dry_run)
		return_if_error(put_record(c, record, known));
	c->result.copied += !has;
	c->result.replaced += has;
	c->result.bytes += record->size;
	return LC_OK;
}

/* Walk all records of the source in the order of their commits. */
static lc_status
walk(struct copying *c,
    lc_status (*each)(struct copying *c, const struct lc__record *record))
{
	const struct lc__record *record;
	uint64_t location;
	lc_status status;

	lc__iter_rewind(c->iter);
	c->result.damaged = 0;
	while ((status = lc__iter_step(c->iter, &record, &location)) != LC_END) {
		if (status == LC_CORRUPT) {
			c->result.damaged++;
			/* Damage is reported by the last walk, not by the one that looks
			 * for conflicts. */
			if (each == copy_record)
				lc__progress_damage(&c->options->progress, "%s",
				    lc_last_error()->text);
			continue;
		}
		return_if_error(status);
		return_if_error(each(c, record));
		c->done += record->size;
		if (c->done > c->total)
			c->total = c->done;
		return_if_error(
		    lc__progress_step(&c->options->progress, c->done, c->total, "copy"));
	}
	return LC_OK;
}

static lc_status
check_options(const struct copying *c)
{
	if (c->options->struct_size != sizeof(*c->options))
		return lc__error(LC_INVALID, 0,
		    "copy: option struct_size: not "
		    "set by lc_copy_options_init() of this version");
	if (lc_conflict_name(c->options->conflict) == NULL)
		return lc__error(LC_INVALID, 0, "copy: option conflict: unknown");
	if (c->from->env == c->to->env)
		return lc__error(LC_INVALID, 0,
		    "copy: module %s: source and target are the same",
		    c->from->module_id);
	return_if_error(lc__check_plain(c->to, "copy"));
	return c->options->dry_run ? LC_OK : lc__check_writable(c->to, "copy");
}

lc_status
lc_copy(lc_cache *from, lc_cache *to, const lc_copy_options *options, lc_copy_result *out)
{
	struct copying c = { .from = from, .to = to, .options = options };
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_copy_options defaults;
	bool checks;
	lc_status status;

	if (options == NULL) {
		lc_copy_options_init(&defaults);
		c.options = &defaults;
	}
	return_if_error(check_options(&c));
	return_if_error(lc__iter_open_checked(from, c.options->prefix,
	    c.options->prefix_size, &c.iter));
	checks = c.options->conflict == LC_SAME || c.options->conflict == LC_FAIL;
	status = lc_stat(c.from, &stats);
	c.total = stats.live_bytes * (checks ? 2 : 1);
	if (status == LC_OK && checks)
		status = walk(&c, check_record);
	if (status == LC_OK)
		status = walk(&c, copy_record);
	if (status == LC_OK && !c.options->dry_run)
		status = flush_target(&c);
	lc_iter_close(c.iter);
	free(c.known.all);
	return_if_error(status);
	if (out != NULL)
		*out = c.result;
	if (c.result.damaged > 0)
		return lc__error(LC_CORRUPT, 0, "copy: %s: skipped %llu damaged records",
		    from->module_id, (unsigned long long)c.result.damaged);
	return LC_OK;
}
