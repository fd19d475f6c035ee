/* SPDX-License-Identifier: BSD-2-Clause */
#include "tree.h"

#include <fnmatch.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "need.h"
#include "sample.h"
#include "base/buf.h"
#include "base/fileio.h"
#include "base/hash.h"

/* ---- records ------------------------------------------------------------------------ */

static uint64_t
hash_number(uint64_t number, uint64_t seed)
{
	return lc__hash64_seed(&number, sizeof(number), seed);
}

static uint64_t
hash_tensor(const lc_tensor *tensor, uint64_t seed)
{
	seed = hash_number((uint64_t)tensor->dtype, seed);
	for (unsigned i = 0; i < tensor->ndim; i++)
		seed = hash_number(tensor->shape[i], seed);
	return lc__hash64_seed(tensor->data, tensor->nbytes, seed);
}

static uint64_t
hash_value(const lc_value *value, uint64_t seed)
{
	char text[4096];
	lc_tensor tensor;

	seed = hash_number(lc_value_kind(value), seed);
	switch (lc_value_kind(value)) {
	case LC_TENSOR:
		need_ok(lc_value_as_tensor(value, &tensor));
		return hash_tensor(&tensor, seed);
	case LC_MAP:
	case LC_LIST:
	case LC_TUPLE:
		for (size_t i = 0; i < lc_value_count(value); i++) {
			const char *name = lc_value_kind(value) == LC_MAP ?
			    lc_value_name(value, i) : "";

			seed = lc__hash64_seed(name, strlen(name), seed);
			seed = hash_value(lc_value_at(value, i), seed);
		}
		return seed;
	default:
		lc_value_describe(value, text, sizeof(text));
		return lc__hash64_seed(text, strlen(text), seed);
	}
}

static int
compare_records(const void *a, const void *b)
{
	const struct tree_record *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void
read_records(lc_cache *cache, struct tree_entry *entry)
{
	lc_iter *iter;
	lc_item item;
	lc_status status;
	uint64_t count;

	need_ok(lc_count(cache, &count));
	entry->records = calloc((size_t)count + 1, sizeof(*entry->records));
	need(entry->records != NULL);
	need_ok(lc_iter_open(cache, LC_BY_KEY, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		struct tree_record *record = &entry->records[entry->n++];
		const lc_value *value;

		need(entry->n <= count);
		record->id = lc__hash64(item.id.data, item.id.size);
		if (item.kind == LC_TENSOR) {
			record->value = hash_tensor(&item.tensor, 0);
		} else {
			need_ok(lc_iter_value(iter, NULL, &value));
			record->value = hash_value(value, 0);
		}
	}
	need_status(status, LC_END);
	need(entry->n == count);
	lc_iter_close(iter);
	qsort(entry->records, entry->n, sizeof(*entry->records), compare_records);
	entry->hash = lc__hash64(entry->records, entry->n * sizeof(*entry->records));
}

static void
print_damage(void *ctx, const char *line)
{
	fprintf(stderr, "# %s: %s\n", (const char *)ctx, line);
}

/* The copy that recover works on: it may be in any state. */
static bool
is_recovered(const char *path)
{
	return fnmatch("*/recover.part", path, 0) == 0;
}

/* False if the making of the module was cut off. */
static bool
read_module(const char *path, bool damaged, struct tree_entry *entry)
{
	const lc_progress progress = { .damage = print_damage,
		.ctx = (void *)(uintptr_t)path };
	lc_options options = sample_options();
	lc_verify_result result;
	char root[PATH_MAX];
	char *slash;
	lc_cache *cache;
	lc_status status;

	snprintf(root, sizeof(root), "%s", path);
	slash = strrchr(root, '/');
	*slash = '\0';
	options.flags = 0;
	status = lc_open(root, slash + 1, &options, &cache);
	if (status == LC_NO_FILE || status == LC_NOT_MODULE ||
	    (damaged && status != LC_OK))
		return false;
	need_ok(status);
	status = lc_verify(cache, damaged ? NULL : &progress, &result);
	if (status == LC_OK)
		read_records(cache, entry);
	else
		need(damaged);
	lc_discard(cache);
	return status == LC_OK;
}

/* ---- files -------------------------------------------------------------------------- */

/* Of the walk: nftw() has no context. */
static struct tree *walk;
static const char *walk_damaged;
static size_t walk_start; /* where paths below the directory begin */

static void
read_entry(const char *path, int type, struct tree_entry *entry)
{
	char target[PATH_MAX], data[PATH_MAX];
	struct lc__buf bytes = { 0 };
	ssize_t n;

	snprintf(data, sizeof(data), "%s/data.mdb", path);
	if (type == FTW_D || type == FTW_DP) {
		entry->kind = TREE_DIR;
		if (!is_recovered(path) && access(data, F_OK) == 0 && read_module(path, walk_damaged != NULL &&
		    strcmp(walk_damaged, entry->path) == 0, entry))
			entry->kind = TREE_MODULE;
	} else if (type == FTW_SL) {
		entry->kind = TREE_LINK;
		n = readlink(path, target, sizeof(target));
		need(n >= 0);
		entry->target = strndup(target, (size_t)n);
		need(entry->target != NULL);
		entry->hash = lc__hash64(target, (size_t)n);
	} else {
		entry->kind = TREE_FILE;
		need_ok(lc__read_file(path, (uint64_t)1 << 30, &bytes));
		entry->hash = lc__hash64(bytes.data, bytes.size);
		lc__buf_free(&bytes);
	}
}

static int
take_path(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct tree_entry *entry;

	(void)st;
	if (ftw->level == 0 || strcmp(path + ftw->base, "data.mdb") == 0 ||
	    strcmp(path + ftw->base, "lock.mdb") == 0)
		return 0;
	walk->entries = realloc(walk->entries, (walk->n + 1) * sizeof(*walk->entries));
	need(walk->entries != NULL);
	entry = &walk->entries[walk->n++];
	memset(entry, 0, sizeof(*entry));
	entry->path = strdup(path + walk_start);
	need(entry->path != NULL);
	read_entry(path, type, entry);
	return 0;
}

static int
compare_entries(const void *a, const void *b)
{
	const struct tree_entry *x = a, *y = b;

	return strcmp(x->path, y->path);
}

void
tree_read(const char *dir, const char *damaged, struct tree *out)
{
	memset(out, 0, sizeof(*out));
	walk = out;
	walk_damaged = damaged;
	walk_start = strlen(dir) + 1;
	need(nftw(dir, take_path, 16, FTW_PHYS) == 0);
	if (out->n > 0)
		qsort(out->entries, out->n, sizeof(*out->entries), compare_entries);
}

void
tree_free(struct tree *tree)
{
	for (size_t i = 0; i < tree->n; i++) {
		free(tree->entries[i].path);
		free(tree->entries[i].target);
		free(tree->entries[i].records);
	}
	free(tree->entries);
}

const struct tree_entry *
tree_find(const struct tree *tree, const char *path)
{
	struct tree_entry key = { .path = (char *)(uintptr_t)path };

	return tree->n == 0 ? NULL : bsearch(&key, tree->entries, tree->n,
	    sizeof(*tree->entries), compare_entries);
}

bool
tree_same(const struct tree_entry *a, const struct tree_entry *b)
{
	return a != NULL && b != NULL && a->kind == b->kind && a->hash == b->hash;
}
