/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/names.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "value/path.h"

/* ---- what can be a name ----------------------------------------------------------- */

/* The fault of a name between two slashes, to which @p suffix bytes are appended. */
static const char *
component_fault(enum lc__name_rule rule, const char *at, size_t size, size_t suffix)
{
	if (size == 2 && memcmp(at, "..", 2) == 0)
		return "it leads up by ..";
	if (rule == LC__NAME_MEMBER)
		return NULL;
	if (size == 0)
		return "a part between its slashes is empty";
	if (size == 1 && *at == '.')
		return "a part between its slashes is .";
	if (size + suffix > LC__NAME_FILE_MAX)
		return "it is too long for a file's name";
	return NULL;
}

const char *
lc__name_fault(enum lc__name_rule rule, const void *name, size_t size, const char *suffix)
{
	const char *fault = NULL, *at = name, *end = at + size, *slash;

	if (memchr(name, '\0', size) != NULL)
		return "it has a NUL byte";
	if (rule != LC__NAME_FILE && !lc__utf8_valid(name, size))
		return "it is not UTF-8";
	if (rule == LC__NAME_TEXT)
		return NULL;
	if (size > 0 && *at == '/')
		return "it begins with a slash";
	while (fault == NULL && (slash = memchr(at, '/', (size_t)(end - at))) != NULL) {
		fault = component_fault(rule, at, (size_t)(slash - at), 0);
		at = slash + 1;
	}
	return fault != NULL
	    ? fault
	    : component_fault(rule, at, (size_t)(end - at), strlen(suffix));
}

/* ---- giving names ----------------------------------------------------------------- */

struct naming {
	struct lc__flat_names *names;
	lc_id id;
	struct lc__buf name; /* the cache_id and the path so far, ended by a NUL */
	lc__named_fn fn;
	void *ctx;
};

static lc_status
give_name(struct naming *naming, const lc_tensor *tensor)
{
	const char *name = lc__path_text(&naming->name), *fault;
	const size_t size = naming->name.size - 1;
	uint32_t other;
	lc_status status;
	bool added;

	fault = lc__name_fault(naming->names->rule, name, size, naming->names->suffix);
	if (fault != NULL)
		return lc__error(LC_UNSUPPORTED, 0, "%s cannot be a name there: %s",
		    lc__quote_id(name, size), fault);
	return_if_error(lc__idset_add(&naming->names->seen, (lc_id){ name, size },
	    (uint32_t)naming->id.size, &added, &other));
	/* The sizes of their cache_ids tell two tensors of one name apart. */
	if (!added)
		return lc__error(LC_UNSUPPORTED, 0,
		    "a tensor of %s and one of %s would both be named %s",
		    lc__quote_id(name, other), lc__quote_id(name, naming->id.size),
		    lc__quote_id(name, size));
	status = naming->fn(naming->ctx, name, tensor);
	return status == LC_OK ? LC_OK : lc__error_prefix("%s", lc__quote_id(name, size));
}

static lc_status
name_parts(struct naming *naming, const lc_value *value)
{
	const size_t size = naming->name.size;
	lc_tensor tensor;

	if (lc_value_kind(value) == LC_TENSOR) {
		return_if_error(lc_value_as_tensor(value, &tensor));
		return give_name(naming, &tensor);
	}
	if (lc_value_count(value) == 0) {
		const lc_kind kind = lc_value_kind(value);
		const char *name = lc__path_text(&naming->name);
		const bool part = size - 1 > naming->id.size;
		const bool group = kind == LC_MAP || kind == LC_LIST ||
		    kind == LC_TUPLE || kind == LC_PAIRS;

		return lc__error(LC_UNSUPPORTED, 0,
		    "%s%s%s%s %s: only tensors can be written",
		    lc__quote_id(name, naming->id.size), part ? ": " : "",
		    part ? name + naming->id.size + 1 : "",
		    group ? " is an empty" : " is a", lc_kind_name(kind));
	}
	for (size_t i = 0; i < lc_value_count(value); i++) {
		const char *name = lc_value_name(value, i);
		if (name != NULL)
			lc__path_name(&naming->name, name);
		else
			lc__path_index(&naming->name, i);
		if (naming->name.failed)
			return lc__no_memory(NULL);
		return_if_error(name_parts(naming, lc_value_at(value, i)));
		lc__path_cut(&naming->name, size);
	}
	return LC_OK;
}

lc_status
lc__names_each(struct lc__flat_names *names, lc_id id, const lc_value *value,
    lc__named_fn fn, void *ctx)
{
	struct naming naming = { .names = names, .id = id, .fn = fn, .ctx = ctx };
	lc_status status;

	if (memchr(id.data, '\0', id.size) != NULL)
		return lc__error(LC_UNSUPPORTED, 0, "%s cannot be a name there: %s",
		    lc__quote_id(id.data, id.size), "it has a NUL byte");
	lc__buf_append(&naming.name, id.data, id.size);
	lc__buf_append(&naming.name, "", 1);
	status = naming.name.failed ? lc__no_memory(NULL) : name_parts(&naming, value);
	lc__buf_free(&naming.name);
	return status;
}

void
lc__names_free(struct lc__flat_names *names)
{
	lc__idset_free(&names->seen);
}
