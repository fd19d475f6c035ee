/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/length.h"

#include <string.h>

#include "base/bytes.h"
#include "value/path.h"

bool
lc__is_length_field(const char *field)
{
	const char *rest = field;
	struct lc__step step;

	if (*field == '\0' || strcmp(field, ".") == 0)
		return true;
	while (rest != NULL)
		if (!lc__path_step(&rest, &step) || step.size == 0)
			return false;
	return true;
}

/* Look for the field in a structure. */
static void
find_axis(struct lc__measure *m, const struct lc__schema *schema)
{
	const struct lc__schema_node *node;
	uint32_t n = 0;

	m->schema = schema;
	m->dim = LC__NO_AXIS;
	m->fixed = 0;
	if (strcmp(m->field, ".") != 0 && !lc__schema_find(schema, m->field, &n))
		return;
	node = &schema->node[n];
	if (node->kind != LC_TENSOR)
		return;
	if (node->ndim == 0)
		m->fixed = 1;
	else
		m->dim = node->first_dim;
}

uint64_t
lc__measure(struct lc__measure *m, const struct lc__record *record,
    const struct lc__schema *schema)
{
	uint64_t length;

	if (!lc__measures(m))
		return 0;
	if (m->schema != schema)
		find_axis(m, schema);
	if (m->dim == LC__NO_AXIS)
		return m->fixed;
	if (m->dim >= record->ndims)
		return 0;
	length = lc__get64(record->dims + (size_t)m->dim * 8);
	return length > LC__RAW_MAX ? 0 : length;
}
