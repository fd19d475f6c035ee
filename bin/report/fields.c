/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/fields.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/value_json.h"

static char *
text_of(const lc_value *value)
{
	const char *string;

	if (lc_value_kind(value) == LC_STRING &&
	    lc_value_as_str(value, &string, NULL) == LC_OK)
		return strdup(string);
	return lc__value_json_text(value);
}

static lc_status
take_members(const lc_value *map, struct lc__fields *out)
{
	const size_t n = lc_value_count(map);

	out->rows = calloc(n + 1, sizeof(*out->rows));
	if (out->rows == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < n; i++) {
		struct lc__field *row = &out->rows[out->n++];
		const lc_value *value = lc_value_at(map, i);
		const bool null = lc_value_kind(value) == LC_NIL;
		row->name = strdup(lc_value_name(map, i));
		row->value = null ? NULL : text_of(value);
		if (row->name == NULL || (row->value == NULL && !null))
			return lc__no_memory(NULL);
	}
	return LC_OK;
}

static lc_status
take_whole(const char *text, struct lc__fields *out)
{
	out->rows = calloc(1, sizeof(*out->rows));
	if (out->rows == NULL)
		return lc__no_memory(NULL);
	out->n = 1;
	out->rows[0].name = strdup("");
	out->rows[0].value = strdup(text);
	return out->rows[0].name && out->rows[0].value ? LC_OK : lc__no_memory(NULL);
}

lc_status
lc__fields_read(const char *text, struct lc__fields *out)
{
	struct lc__loaded loaded = { 0 };
	lc_status status;

	memset(out, 0, sizeof(*out));
	status = lc__value_json_read(text, strlen(text), NULL, NULL, &loaded);
	if (status == LC_OK && lc_value_kind(loaded.value) == LC_MAP)
		status = take_members(loaded.value, out);
	else if (status != LC_NO_MEMORY)
		status = take_whole(text, out);
	lc__loaded_free(&loaded);
	if (status != LC_OK)
		lc__fields_free(out);
	return status;
}

const char *
lc__fields_find(const struct lc__fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->n; i++)
		if (strcmp(fields->rows[i].name, name) == 0)
			return fields->rows[i].value;
	return NULL;
}

void
lc__fields_free(struct lc__fields *fields)
{
	for (size_t i = 0; i < fields->n; i++) {
		free(fields->rows[i].name);
		free(fields->rows[i].value);
	}
	free(fields->rows);
	memset(fields, 0, sizeof(*fields));
}
