/* SPDX-License-Identifier: BSD-2-Clause */
/* Records into directories of MDS: one, or one for each group below it. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "formats/mds_set.h"

struct mds_out {
	struct lc__out_tree tree;
	struct lc__mds_set *sets;
	size_t count, room;
};

static void
free_out(struct mds_out *out)
{
	for (size_t i = 0; i < out->count; i++)
		lc__mds_set_free(&out->sets[i]);
	free(out->sets);
	free(out);
}

static lc_status
begin(const char *path, const struct lc__outgoing_how *how, void **file)
{
	struct mds_out *out = calloc(1, sizeof(*out));
	lc_status status;

	if (out == NULL)
		return lc__no_memory(path);
	status = lc__out_tree_begin(path, how, &out->tree);
	if (status == LC_OK)
		*file = out;
	else
		free_out(out);
	return status;
}

static void
discard(void *file)
{
	struct mds_out *out = file;

	lc__out_tree_discard(&out->tree);
	free_out(out);
}

static lc_status
add_set(struct mds_out *out, const char *name, struct lc__mds_set **set)
{
	return_if_error(lc__array_reserve(&out->sets, &out->room, out->count + 1, NULL));
	*set = &out->sets[out->count];
	return_if_error(lc__mds_set_begin(&out->tree, name, *set));
	out->count++;
	return LC_OK;
}

/* Groups are few. */
static lc_status
find_set(struct mds_out *out, lc_id id, const lc_value *value, struct lc__mds_set **set)
{
	const struct lc__outgoing_how *how = &out->tree.how;
	const char *name = "";

	if (how->group != NULL)
		return_if_error(how->group(how->group_ctx, id, value, &name));
	for (size_t i = 0; i < out->count; i++)
		if (strcmp(out->sets[i].name, name) == 0) {
			*set = &out->sets[i];
			return LC_OK;
		}
	return add_set(out, name, set);
}

static lc_status
plan(void *file, lc_id id, const lc_value *value)
{
	struct lc__mds_set *set;

	return_if_error(find_set(file, id, value, &set));
	return lc__mds_plan_add(&set->plan, id, value);
}

static lc_status
put(void *file, lc_id id, const lc_value *value)
{
	struct lc__mds_set *set;

	return_if_error(find_set(file, id, value, &set));
	return lc__mds_set_put(set, id, value);
}

/* No records are a data set without shards. */
static lc_status
finish_sets(struct mds_out *out, uint64_t *bytes)
{
	struct lc__mds_set *set;

	if (out->count == 0 && out->tree.how.group == NULL)
		return_if_error(add_set(out, "", &set));
	*bytes = 0;
	for (size_t i = 0; i < out->count; i++) {
		return_if_error(lc__mds_set_finish(&out->sets[i]));
		*bytes += out->sets[i].bytes;
	}
	return LC_OK;
}

static lc_status
finish(void *file, uint64_t *bytes)
{
	struct mds_out *out = file;
	uint64_t size, of_tree;
	lc_status status = finish_sets(out, &size);

	if (status != LC_OK) {
		discard(out);
		return status;
	}
	status = lc__out_tree_finish(&out->tree, &of_tree);
	free_out(out);
	if (status == LC_OK)
		*bytes = size;
	return status;
}

const struct lc__outgoing_format lc__outgoing_mds = {
	.name = "mds",
	.what = "a directory of MDS (MosaicML streaming)",
	.begin = begin,
	.plan = plan,
	.put = put,
	.finish = finish,
	.discard = discard
};
