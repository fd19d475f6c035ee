/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/linename.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_scan.h"
#include "ui/pattern.h"
#include "ui/report.h"

int
linename_check(const struct linename *how, const struct lc__inputs_shard *shards,
    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (how->field != NULL && shards[i].kind != LC__SHARD_JSONL)
			return report_usage("--id-field is of JSONL, and %s is not",
			    shards[i].path);
		if (how->pattern != NULL && shards[i].kind != LC__SHARD_FILES)
			return report_usage("--id is of lists of files, and %s is not "
			    "(--kind files)", shards[i].path);
	}
	return EXIT_DONE;
}

static lc_status
bad(const struct lc__inputs_shard *shard, const struct lc__line *line,
    const char *field, const char *what)
{
	return lc__error(LC_INVALID, 0, "%s: line %llu: %s '%s'", shard->path,
	    (unsigned long long)line->number + 1, what, field);
}

/* Digits, and perhaps a sign. */
static bool
is_integer(const struct lc__json_member *member)
{
	const struct lc__json_slice *text = &member->value;

	for (size_t i = 0; i < text->size; i++)
		if ((text->text[i] < '0' || text->text[i] > '9') &&
		    (i > 0 || text->text[i] != '-'))
			return false;
	return member->kind == LC__JSON_NUMBER;
}

/* Of two members with one name the last one counts, as with other readers. The line is
 * known to be an object. */
static lc_status
find_field(const char *field, const struct lc__line *line,
    struct lc__json_member *out)
{
	struct lc__json_members members;
	struct lc__json_member member;
	bool found = false;
	lc_status status = lc__json_object(line->data, line->size, &members);

	while (status == LC_OK) {
		status = lc__json_next(&members, &member);
		if (status == LC_OK && lc__json_name_is(member.name, field)) {
			*out = member;
			found = true;
		}
	}
	return status != LC_END ? status : found ? LC_OK : LC_NOT_FOUND;
}

static lc_status
append_field(const char *field, const struct lc__inputs_shard *shard,
    const struct lc__line *line, struct lc__buf *out)
{
	struct lc__json_member member = { .kind = LC__JSON_NULL };

	if (find_field(field, line, &member) != LC_OK)
		return bad(shard, line, field, "has no member");
	if (member.kind == LC__JSON_STRING)
		return lc__json_unescape(member.value, out) == LC_OK ? LC_OK :
		    bad(shard, line, field, "no text is");
	if (!is_integer(&member))
		return bad(shard, line, field, "neither a string nor an integer is");
	lc__buf_append(out, member.value.text, member.value.size);
	return LC_OK;
}

static lc_status
append_pattern(const char *pattern, const struct lc__line *line, struct lc__buf *out)
{
	char *path = strndup((const char *)line->data, line->size);
	char *id = path != NULL ? pattern_fill(pattern, path) : NULL;

	if (id != NULL)
		lc__buf_append(out, id, strlen(id));
	free(path);
	free(id);
	return id != NULL ? LC_OK : lc__no_memory(NULL);
}

lc_status
linename_append(const struct linename *how, const struct lc__inputs_shard *shard,
    const struct lc__line *line, struct lc__buf *out)
{
	return how->field != NULL ? append_field(how->field, shard, line, out) :
	    append_pattern(how->pattern, line, out);
}
