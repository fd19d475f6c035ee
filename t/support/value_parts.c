/* SPDX-License-Identifier: BSD-2-Clause */
#include "value_parts.h"

#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "value/value_record.h"

void
value_parts_take(const lc_value *value, struct value_parts *out)
{
	memset(out, 0, sizeof(*out));
	assert_ok(lc__schema_infer(value, &out->schema));
	out->tensor = calloc(out->schema->tensors + 1, sizeof(*out->tensor));
	out->copies = calloc(out->schema->tensors + 1, sizeof(*out->copies));
	assert_ok(lc__value_leaves(value, out->tensor, &out->plain));
	for (uint32_t i = 0; i < out->schema->tensors; i++)
		out->copies[i] = *out->tensor[i];
}

void
value_parts_free(struct value_parts *parts)
{
	lc__schema_free(parts->schema);
	free(parts->tensor);
	free(parts->copies);
	lc__buf_free(&parts->plain);
}

lc_status
value_parts_restore(const struct value_parts *parts, uint32_t node, lc_value **out)
{
	return lc__value_restore(parts->schema, node,
	    parts->copies + parts->schema->node[node].first_tensor,
	    parts->plain.data, parts->plain.size, out);
}

lc_value *
value_of_tensor(lc_dtype dtype, uint32_t ndim)
{
	static const unsigned char bytes[16] = { 0 };
	uint64_t ones[LC_MAX_NDIM];
	lc_tensor tensor;

	for (int i = 0; i < LC_MAX_NDIM; i++)
		ones[i] = 1;
	need_ok(lc_tensor_init(&tensor, dtype, ndim, ones, bytes));
	return lc_value_tensor(&tensor);
}

static lc_value *
parse(const char **at)
{
	const char kind = *(*at)++;
	lc_value *group;
	char name[2] = "";

	switch (kind) {
	case 'f':
		return value_of_tensor(LC_F32, 1);
	case 'u':
		return value_of_tensor(LC_U8, 0);
	case 'n':
		return lc_value_nil();
	case 's':
		return lc_value_str("s");
	case '{':
		group = lc_value_map();
		break;
	case '[':
		group = lc_value_list();
		break;
	case '(':
		group = lc_value_tuple();
		break;
	case '<':
		group = lc_value_pairs();
		break;
	case '@':
		name[0] = *(*at)++;
		return lc_value_tagged(name, parse(at));
	default:
		need(kind >= '0' && kind <= '9');
		return lc_value_integer(kind - '0');
	}
	while (strchr("}])>", **at) == NULL) {
		if (kind == '{') {
			name[0] = **at;
			*at += 1;
			lc_value_set(group, name, parse(at));
		} else if (kind == '<') {
			lc_value *key = parse(at);

			lc_value_pair(group, key, parse(at));
		} else {
			lc_value_append(group, parse(at));
		}
	}
	(*at)++;
	return group;
}

lc_value *
value_of(const char *text)
{
	lc_value *value = parse(&text);

	need(*text == '\0');
	need_ok(lc_value_check(value));
	return value;
}

