/* SPDX-License-Identifier: BSD-2-Clause */
/* Walking values and reading their content. */
#include <string.h>

#include "base/error.h"
#include "value/node.h"
#include "value/path.h"
#include "value/tensor.h"

lc_kind
lc_value_kind(const lc_value *value)
{
	return value != NULL ? (lc_kind)value->kind : LC_NIL;
}

size_t
lc_value_count(const lc_value *value)
{
	return value != NULL && lc__is_group(value) ? lc__const_group_of(value)->count
						    : 0;
}

const lc_value *
lc_value_at(const lc_value *value, size_t i)
{
	return i < lc_value_count(value) ? lc__const_group_of(value)->child[i] : NULL;
}

const char *
lc_value_name(const lc_value *map, size_t i)
{
	const lc_value *child = lc_value_at(map, i);

	return child != NULL ? child->name : NULL;
}

const lc_value *
lc_value_find(const lc_value *value, const char *path)
{
	struct lc__step step;
	size_t i;

	if (path != NULL && *path == '\0')
		path = NULL;
	while (value != NULL && path != NULL) {
		if (!lc__path_step(&path, &step))
			return NULL;
		if (!lc__has_names(value->kind)) {
			value = lc__step_position(&step, &i) ? lc_value_at(value, i)
							     : NULL;
		} else if (!step.escaped) {
			value = lc__group_find(lc__const_group_of(value), step.at,
			    step.size);
		} else {
			for (i = 0; i < lc_value_count(value); i++)
				if (lc__step_is(&step, lc_value_name(value, i)))
					break;
			value = lc_value_at(value, i);
		}
	}
	return value;
}

/* LC_OK if the value is of that kind. */
static lc_status
want(const lc_value *value, lc_kind kind)
{
	static const char *const articles[] = { "a tensor", "a map", "a list", "a tuple",
		"nil", "a boolean", "an integer", "a float", "a string", "bytes",
		"a tagged value", "pairs" };

	if (value != NULL && value->kind == kind)
		return LC_OK;
	return lc__error(LC_SCHEMA, 0, "value: %s, not %s",
	    value != NULL ? articles[value->kind] : "no such part", articles[kind]);
}

lc_status
lc_value_as_tensor(const lc_value *value, lc_tensor *out)
{
	return_if_error(want(value, LC_TENSOR));
	*out = *lc__tensor_of(value);
	return LC_OK;
}

lc_status
lc_value_as_boolean(const lc_value *value, int *out)
{
	return_if_error(want(value, LC_BOOLEAN));
	*out = value->of.bits != 0;
	return LC_OK;
}

lc_status
lc_value_as_integer(const lc_value *value, int64_t *out)
{
	return_if_error(want(value, LC_INTEGER));
	if ((value->flags & LC__NEGATIVE) == 0 && value->of.bits > INT64_MAX)
		return lc__error(LC_INVALID, 0, "value: %llu is above int64_t",
		    (unsigned long long)value->of.bits);
	*out = (int64_t)value->of.bits;
	return LC_OK;
}

lc_status
lc_value_as_unsigned(const lc_value *value, uint64_t *out)
{
	return_if_error(want(value, LC_INTEGER));
	if (value->flags & LC__NEGATIVE)
		return lc__error(LC_INVALID, 0, "value: %lld is below 0",
		    (long long)value->of.bits);
	*out = value->of.bits;
	return LC_OK;
}

lc_status
lc_value_as_float(const lc_value *value, double *out)
{
	return_if_error(want(value, LC_FLOAT));
	*out = value->of.number;
	return LC_OK;
}

lc_status
lc_value_as_str(const lc_value *value, const char **out, size_t *size)
{
	return_if_error(want(value, LC_STRING));
	*out = value->of.text.bytes;
	if (size != NULL)
		*size = value->of.text.size;
	return LC_OK;
}

lc_status
lc_value_as_bytes(const lc_value *value, const void **out, size_t *size)
{
	return_if_error(want(value, LC_BYTES));
	*out = value->of.text.bytes;
	if (size != NULL)
		*size = value->of.text.size;
	return LC_OK;
}

/* ---- all parts ------------------------------------------------------------------ */

struct parts {
	lc_part *out;
	size_t room, n;
};

/* The slot for the next part, or NULL. */
static lc_part *
next_part(struct parts *parts)
{
	const size_t at = parts->n++;

	return at < parts->room ? &parts->out[at] : NULL;
}

static void
add_name(struct parts *parts, const char *name)
{
	lc_part *part = next_part(parts);

	if (part != NULL)
		*part = (lc_part){ LC_STRING, 0, strlen(name), { .bytes = name } };
}

/* The nesting of a tree is limited, and with it this recursion. */
static void
add_parts(struct parts *parts, const lc_value *value)
{
	lc_part *part = next_part(parts);
	const size_t count = lc_value_count(value);

	if (part != NULL) {
		*part = (lc_part){
			.kind = (lc_kind)value->kind,
			.negative = (value->flags & LC__NEGATIVE) != 0,
			.size = count,
			.of.natural = value->of.bits,
		};
		if (value->kind == LC_TENSOR) {
			part->of.tensor = lc__tensor_of(value);
		} else if (value->kind == LC_STRING || value->kind == LC_BYTES) {
			part->size = value->of.text.size;
			part->of.bytes = value->of.text.bytes;
		} else if (value->kind == LC_FLOAT) {
			part->of.number = value->of.number;
		}
	}
	for (size_t i = 0; i < count; i++) {
		const lc_value *child = lc__const_group_of(value)->child[i];

		if (lc__has_names(value->kind))
			add_name(parts, child->name);
		add_parts(parts, child);
	}
}

size_t
lc_value_parts(const lc_value *value, lc_part *out, size_t room)
{
	struct parts parts = { out, room, 0 };

	if (value != NULL)
		add_parts(&parts, value);
	return parts.n;
}

/* ---- comparing ------------------------------------------------------------------ */

static int
same_tensor(const lc_tensor *a, const lc_tensor *b)
{
	return lc__tensor_same_type(a, b) && a->nbytes == b->nbytes &&
	    (a->nbytes == 0 || memcmp(a->data, b->data, a->nbytes) == 0);
}

static int
same_children(const lc_value *a, const lc_value *b)
{
	const size_t count = lc_value_count(a);

	if (lc_value_count(b) != count)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const lc_value *x = lc_value_at(a, i), *y = lc_value_at(b, i);
		if (lc__has_names(a->kind) && strcmp(x->name, y->name) != 0)
			return 0;
		if (!lc_value_equal(x, y))
			return 0;
	}
	return 1;
}

int
lc_value_equal(const lc_value *a, const lc_value *b)
{
	if (a == NULL || b == NULL || a->kind != b->kind)
		return a == b;
	switch ((lc_kind)a->kind) {
	case LC_TENSOR: return same_tensor(lc__tensor_of(a), lc__tensor_of(b));
	case LC_MAP:
	case LC_LIST:
	case LC_TUPLE:
	case LC_TAGGED:
	case LC_PAIRS: return same_children(a, b);
	case LC_STRING:
	case LC_BYTES:
		return a->of.text.size == b->of.text.size &&
		    memcmp(a->of.text.bytes, b->of.text.bytes, a->of.text.size) == 0;
	case LC_FLOAT: return memcmp(&a->of.number, &b->of.number, sizeof(double)) == 0;
	default:
		return a->of.bits == b->of.bits &&
		    ((a->flags ^ b->flags) & LC__NEGATIVE) == 0;
	}
}
