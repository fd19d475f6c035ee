/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/module_settings.h"

#include <stdio.h>
#include <string.h>

#include "ui/module.h"
#include "ui/opt.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "ui/suggest.h"

/* The row of a setting is an option whose target is this copy. */
static struct {
	int codec; /* position in CODEC_WORDS */
	int level;
	int policy; /* enum lc_policy */
	int evict;  /* enum lc_evict */
	uint64_t max_bytes;
	int auto_compact;   /* 0 or 1 */
	const char *length; /* a path, or NO_LENGTH */
	int share;          /* enum lc_share */
} current;

#define NO_LENGTH "none"

static struct opt rows[] = {
	{ "", "codec", OPT_CHOICE, &current.codec, .value = CODEC_WORDS },
	{ "", "level", OPT_NUMBER, &current.level, .value = NULL },
	{ "", "policy", OPT_CHOICE, &current.policy, .value = "evolve|strict" },
	{ "", "max-bytes", OPT_SIZE, &current.max_bytes, .value = NULL },
	{ "", "evict", OPT_CHOICE, &current.evict, .value = "oldest|unread" },
	{ "", "auto-compact", OPT_CHOICE, &current.auto_compact, .value = "off|on" },
	{ "", "length", OPT_TEXT, &current.length, .value = NULL },
	{ "", "share", OPT_CHOICE, &current.share, .value = "owner|group|all" },
	{ .kind = OPT_END },
};

static void
to_rows(const struct module_settings *set)
{
	const lc_settings *is = &set->is;

	current.share = (int)set->share;
	current.codec = choice_of_codec(is->codec) - 1;
	current.level = is->level;
	current.policy = (int)is->policy;
	current.evict = (int)is->evict;
	current.max_bytes = is->max_bytes;
	current.auto_compact = is->auto_compact;
	current.length = is->length_field[0] == '\0' ? NO_LENGTH : is->length_field;
}

static void
from_rows(struct module_settings *set)
{
	lc_settings *is = &set->is;
	char field[sizeof(is->length_field)] = "";

	/* The setting may already have the new value. */
	if (strcmp(current.length, NO_LENGTH) != 0)
		snprintf(field, sizeof(field), "%s", current.length);
	is->codec = codec_of_choice(current.codec + 1);
	is->level = current.level;
	is->policy = (lc_policy)current.policy;
	is->evict = (lc_evict)current.evict;
	is->max_bytes = current.max_bytes;
	is->auto_compact = current.auto_compact;
	memcpy(is->length_field, field, sizeof(field));
	set->share = (lc_share)current.share;
}

int
module_settings_read(const char *module, lc_cache *cache, struct module_settings *out)
{
	lc_status status;

	*out = (struct module_settings){ .is.struct_size = sizeof(out->is) };
	status = lc_settings_get(cache, &out->is);
	if (status == LC_OK)
		status = lc_share_get(settings.root, module, &out->share);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

const char *
module_setting_name(size_t i)
{
	return rows[i].name;
}

const char *
module_setting_words(size_t i)
{
	return rows[i].value;
}

char *
module_setting_value(const struct module_settings *set, size_t i, char *out, size_t room)
{
	to_rows(set);
	return opt_render(&rows[i], out, room);
}

static void
explain_unknown(const char *name, char *why, size_t room)
{
	struct suggest suggest;
	char all[200] = "";
	size_t size = 0;

	suggest_start(&suggest, name);
	for (const struct opt *row = rows; row->kind != OPT_END; row++) {
		suggest_word(&suggest, row->name);
		if (size < sizeof(all))
			size += (size_t)snprintf(all + size, sizeof(all) - size, "%s%s",
			    row == rows ? "" : ", ", row->name);
	}
	if (suggest_best(&suggest) != NULL)
		snprintf(why, room, "unknown setting %s; did you mean %s?", name,
		    suggest_best(&suggest));
	else
		snprintf(why, room, "unknown setting %s; known are %s", name, all);
}

bool
module_setting_assign(struct module_settings *set, const char *text, char *why,
    size_t room)
{
	const size_t size = strcspn(text, "=");
	char name[32], reason[OPT_TEXT_ROOM];
	bool negated;
	struct opt *row;

	snprintf(name, sizeof(name), "%.*s", (int)(size < 31 ? size : 31), text);
	if (text[size] != '=') {
		snprintf(why, room, "'%s' is not NAME=VALUE", text);
		return false;
	}
	row = opt_by_name(rows, text, size, &negated);
	if (row == NULL) {
		explain_unknown(name, why, room);
		return false;
	}
	to_rows(set);
	if (!opt_assign(row, FROM_OPTION, text + size + 1, reason, sizeof(reason))) {
		snprintf(why, room, "%s: %s", name, reason);
		return false;
	}
	if (strlen(current.length) > LC_LENGTH_FIELD_MAX) {
		snprintf(why, room, "%s: a path of more than %d bytes", name,
		    LC_LENGTH_FIELD_MAX);
		return false;
	}
	from_rows(set);
	set->share_named |= row->target == &current.share;
	return true;
}

void
module_settings_json(const struct module_settings *set, struct json *json)
{
	const lc_settings *is = &set->is;
	char text[MODULE_SETTING_TEXT];

	jw_text(json, "codec", module_setting_value(set, 0, text, sizeof(text)));
	jw_key(json, "level");
	fprintf(json->out, "%d", is->level);
	jw_text(json, "policy", module_setting_value(set, 2, text, sizeof(text)));
	jw_count(json, "max_bytes", is->max_bytes);
	jw_text(json, "evict", module_setting_value(set, 4, text, sizeof(text)));
	jw_flag(json, "auto_compact", is->auto_compact != 0);
	if (is->length_field[0] != '\0')
		jw_text(json, "length", is->length_field);
	jw_text(json, "share", module_setting_value(set, 7, text, sizeof(text)));
}
