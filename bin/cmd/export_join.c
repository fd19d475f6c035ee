/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "stream/join_records.h"
#include "ui/report.h"

struct export_join {
	const struct stream_source *opened;
	struct lc__join_records *records; /* of the partners */
	bool drop;                        /* leave out records that lack a partner */
	char *text;                       /* the names, cut apart */
	const char **names;               /* of the modules */
};

int
export_join_new(const struct stream_source *source, lc_missing missing,
    struct export_join **out)
{
	const size_t n = source->n_partners;
	struct export_join *join = calloc(1, sizeof(*join));
	char *rest;

	if (join != NULL) {
		join->opened = source;
		join->drop = missing == LC_MISSING_DROP;
		join->text = rest = strdup(source->name);
		join->names = calloc(n + 1, sizeof(*join->names));
	}
	if (join == NULL || join->text == NULL || join->names == NULL ||
	    lc__join_records_new(source->source, source->partners, n, &join->records) !=
		LC_OK) {
		export_join_free(join);
		return report_no_memory();
	}
	for (size_t i = 0; i <= n; i++)
		join->names[i] = strsep(&rest, "+");
	*out = join;
	return EXIT_DONE;
}

void
export_join_free(struct export_join *join)
{
	if (join == NULL)
		return;
	lc__join_records_free(join->records);
	free(join->names);
	free(join->text);
	free(join);
}

/* Stands in for the data of listed tensors, which is never read: a value needs some. */
static unsigned char untouched[64];

lc_value *
export_join_tensor(const lc_tensor *given)
{
	lc_tensor tensor = *given;

	if (tensor.data == NULL)
		tensor.data = untouched;
	return lc_value_tensor(&tensor);
}

/* A copy of the nodes, as a node has one parent; tensors are not copied. NULL without
 * memory; lc_value_check() reports failures further down. */
static lc_value *
reference(const lc_value *value)
{
	lc_value *out = NULL;
	const void *data;
	const char *text;
	lc_tensor tensor;
	uint64_t number;
	int64_t integer;
	double real;
	size_t size;
	int truth;

	switch (lc_value_kind(value)) {
	case LC_TENSOR:
		return lc_value_as_tensor(value, &tensor) == LC_OK
		    ? export_join_tensor(&tensor)
		    : NULL;
	case LC_NIL: return lc_value_nil();
	case LC_BOOLEAN:
		return lc_value_as_boolean(value, &truth) == LC_OK
		    ? lc_value_boolean(truth)
		    : NULL;
	case LC_INTEGER:
		if (lc_value_as_integer(value, &integer) == LC_OK)
			return lc_value_integer(integer);
		return lc_value_as_unsigned(value, &number) == LC_OK
		    ? lc_value_unsigned(number)
		    : NULL;
	case LC_FLOAT:
		return lc_value_as_float(value, &real) == LC_OK ? lc_value_float(real)
								: NULL;
	case LC_STRING:
		return lc_value_as_str(value, &text, &size) == LC_OK
		    ? lc_value_strn(text, size)
		    : NULL;
	case LC_BYTES:
		return lc_value_as_bytes(value, &data, &size) == LC_OK
		    ? lc_value_bytes(data, size)
		    : NULL;
	case LC_MAP: out = lc_value_map(); break;
	case LC_LIST: out = lc_value_list(); break;
	case LC_TUPLE: out = lc_value_tuple(); break;
	}
	for (size_t i = 0; out != NULL && i < lc_value_count(value); i++) {
		lc_value *child = reference(lc_value_at(value, i));

		if (lc_value_kind(value) == LC_MAP)
			lc_value_set(out, lc_value_name(value, i), child);
		else
			lc_value_append(out, child);
	}
	return out;
}

static lc_status
add_partners(struct export_join *join, lc_id id, bool listed, lc_value *map)
{
	for (size_t i = 0; i < join->opened->n_partners; i++) {
		const lc_value *value;

		return_if_error(
		    lc__join_records_read(join->records, i, id, listed, &value));
		lc_value_set(map, join->names[i + 1], reference(value));
	}
	return lc_value_check(map);
}

lc_status
export_join_record(struct export_join *join, lc_id id, const lc_value *first, bool listed,
    lc_value **out)
{
	lc_value *map = lc_value_map();
	lc_status status;

	lc__join_records_end(join->records);
	lc_value_set(map, join->names[0], reference(first));
	status = add_partners(join, id, listed, map);
	if (status == LC_OK) {
		*out = map;
		return LC_OK;
	}
	lc_value_free(map);
	if (status != LC_NOT_FOUND)
		return status;
	*out = NULL;
	return join->drop
	    ? LC_OK
	    : lc__error(LC_CHANGED, 0, "%s: %s was added while the modules were joined",
		  join->opened->name, lc__quote_id(id.data, id.size));
}
