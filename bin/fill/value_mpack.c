/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/value_mpack.h"

#include <string.h>

#include "base/error.h"
#include "value/tensor.h"

/* Each returns an owned value, NULL without memory, or reports a mistake. */
static lc_status read_part(struct lc__value_reader *r, lc_value **out);

static lc_status
cut_short(void)
{
	return lc__error(LC_INVALID, 0, "not MessagePack");
}

/* ---- maps with a name that begins with a dollar ------------------------------- */

/* The members of a map of one or two pairs; nil for missing ones. */
struct special {
	struct lc__mpack_token type;  /* of "$tensor" */
	struct lc__mpack_token data;  /* of "data" */
	struct lc__mpack_token tuple; /* of "$tuple" */
	struct lc__tokens inner;      /* members of the tuple */
	struct lc__tokens behind;     /* all of the map */
};

static bool
is_named(const struct lc__mpack_token *name, const char *text)
{
	return name->size == strlen(text) && memcmp(name->bytes, text, name->size) == 0;
}

static bool
look_at_pair(struct special *s)
{
	struct lc__mpack_token name, value = { 0 };

	if (!lc__token_next_any(&s->behind, &name))
		return false;
	if (name.kind != LC__TOKEN_STR)
		return lc__token_skip_any(&s->behind);
	s->inner = s->behind;
	if (!lc__token_next_any(&s->inner, &value))
		return false;
	if (is_named(&name, "$tensor"))
		s->type = value;
	else if (is_named(&name, "data"))
		s->data = value;
	else if (is_named(&name, "$tuple"))
		s->tuple = value;
	return lc__token_skip_any(&s->behind);
}

static lc_status
read_tensor(struct lc__value_reader *r, const struct special *s, lc_value **out)
{
	const struct lc__mpack_token *text = &s->type;
	lc_tensor tensor;

	/* Values usually have the type of the previous one. */
	if (r->type_text == NULL || r->type_size != text->size ||
	    memcmp(r->type_text, text->bytes, text->size) != 0) {
		return_if_error(lc__tensor_type_parse(text->bytes, text->size, &r->type));
		r->type_text = text->bytes;
		r->type_size = text->size;
	}
	tensor = r->type;
	if (s->data.size != tensor.nbytes)
		return lc__error(LC_INVALID, 0, "data has %u bytes, %.*s needs %zu",
		    s->data.size, (int)(s->type.size < 100 ? s->type.size : 100),
		    (const char *)s->type.bytes, tensor.nbytes);
	tensor.data = s->data.bytes;
	*out = lc_value_tensor(&tensor);
	r->in = s->behind;
	return LC_OK;
}

/* ---- structure ------------------------------------------------------------------ */

static lc_status
read_members(struct lc__value_reader *r, uint32_t count, lc_value *into)
{
	for (uint32_t i = 0; i < count; i++) {
		lc_value *part = NULL;
		if (read_part(r, &part) != LC_OK)
			return lc__error_prefix("%u", i);
		lc_value_append(into, part);
	}
	return LC_OK;
}

/* The name of a pair, kept after those of the enclosing maps. */
static lc_status
read_name(struct lc__value_reader *r)
{
	struct lc__mpack_token name;

	if (!lc__token_next_any(&r->in, &name))
		return cut_short();
	if (name.kind != LC__TOKEN_STR || name.size == 0 ||
	    memchr(name.bytes, '\0', name.size) != NULL)
		return lc__error(LC_INVALID, 0,
		    "a name that is not text, is empty or contains a NUL");
	if (*(const char *)name.bytes == '$')
		return lc__error(LC_INVALID, 0, "a map with %s is not allowed here",
		    lc__quote_id(name.bytes, name.size));
	lc__buf_append(&r->names, name.bytes, name.size);
	if (lc__buf_append(&r->names, "", 1) == NULL)
		return lc__no_memory(NULL);
	return LC_OK;
}

static lc_status
read_pair(struct lc__value_reader *r, lc_value *map)
{
	lc_value *part = NULL;
	const char *name;
	lc_status status;
	const size_t at = r->names.size;

	return_if_error(read_name(r));
	status = read_part(r, &part);
	name = (const char *)r->names.data + at;
	r->names.size = at;
	if (status != LC_OK)
		return lc__error_prefix("%s", name);
	lc_value_set(map, name, part);
	return LC_OK;
}

static lc_status
read_map(struct lc__value_reader *r, uint32_t pairs, lc_value **out)
{
	struct special s = { .behind = r->in };

	if (pairs <= 2) {
		for (uint32_t i = 0; i < pairs; i++)
			if (!look_at_pair(&s))
				return cut_short();
		if (s.type.kind == LC__TOKEN_STR && s.data.kind == LC__TOKEN_BIN)
			return read_tensor(r, &s, out);
		if (s.type.kind == LC__TOKEN_STR)
			return lc__error(LC_INVALID, 0,
			    "a tensor has $tensor, text, "
			    "and data, bytes, and nothing else");
		if (pairs == 1 && s.tuple.kind == LC__TOKEN_ARRAY) {
			*out = lc_value_tuple();
			r->in = s.inner;
			return read_members(r, s.tuple.size, *out);
		}
	}
	*out = lc_value_map();
	for (uint32_t i = 0; i < pairs; i++)
		return_if_error(read_pair(r, *out));
	return LC_OK;
}

static lc_status
read_kind(struct lc__value_reader *r, const struct lc__mpack_token *token, lc_value **out)
{
	double number;

	switch (token->kind) {
	case LC__TOKEN_NIL: *out = lc_value_nil(); return LC_OK;
	case LC__TOKEN_BOOLEAN: *out = lc_value_boolean(token->number != 0); return LC_OK;
	case LC__TOKEN_UINT: *out = lc_value_unsigned(token->number); return LC_OK;
	case LC__TOKEN_NEGATIVE:
		*out = lc_value_integer((int64_t)token->number);
		return LC_OK;
	case LC__TOKEN_FLOAT:
		memcpy(&number, &token->number, sizeof(number));
		*out = lc_value_float(number);
		return LC_OK;
	case LC__TOKEN_STR: *out = lc_value_strn(token->bytes, token->size); return LC_OK;
	case LC__TOKEN_BIN:
		*out = lc_value_bytes(token->bytes, token->size);
		return LC_OK;
	case LC__TOKEN_ARRAY:
		*out = lc_value_list();
		return read_members(r, token->size, *out);
	case LC__TOKEN_MAP: return read_map(r, token->size, out);
	case LC__TOKEN_EXT: break;
	}
	return lc__error(LC_INVALID, 0, "an extension, of type %d, is not allowed here",
	    token->ext);
}

static lc_status
read_part(struct lc__value_reader *r, lc_value **out)
{
	struct lc__mpack_token token;
	lc_value *value = NULL;
	lc_status status;

	if (!lc__token_next_any(&r->in, &token))
		return cut_short();
	if (r->depth == LC_MAX_DEPTH)
		return lc__error(LC_INVALID, 0, "nested deeper than %d", LC_MAX_DEPTH);
	r->depth++;
	status = read_kind(r, &token, &value);
	r->depth--;
	if (status == LC_OK)
		*out = value;
	else
		lc_value_free(value);
	return status;
}

lc_status
lc__value_mpack_read(struct lc__value_reader *r, const void *bytes, size_t size,
    lc_value **out)
{
	lc_value *value = NULL;
	lc_status status;

	r->in.at = bytes;
	r->in.end = r->in.at + size;
	r->depth = 0;
	r->names.size = 0;
	status = read_part(r, &value);
	if (status == LC_OK && r->in.at != r->in.end)
		status = cut_short();
	if (status == LC_OK)
		status = lc_value_check(value);
	if (status == LC_OK)
		*out = value;
	else
		lc_value_free(value);
	return status;
}

void
lc__value_reader_forget(struct lc__value_reader *reader)
{
	reader->type_text = NULL;
}

void
lc__value_reader_free(struct lc__value_reader *reader)
{
	lc__buf_free(&reader->names);
	memset(reader, 0, sizeof(*reader));
}
