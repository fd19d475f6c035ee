/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/opt.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "ui/size.h"
#include "ui/suggest.h"

static struct opt *
find_exact(struct opt *table, const char *name, size_t size)
{
	for (struct opt *opt = table; opt->kind != OPT_END; opt++)
		if (strlen(opt->name) == size && memcmp(opt->name, name, size) == 0)
			return opt;
	return NULL;
}

struct opt *
opt_by_name(struct opt *table, const char *name, size_t size, bool *negated)
{
	struct opt *opt = find_exact(table, name, size);

	*negated = false;
	if (opt != NULL || size <= 3 || memcmp(name, "no-", 3) != 0)
		return opt;
	opt = find_exact(table, name + 3, size - 3);
	if (opt != NULL && opt->kind != OPT_FLAG)
		return NULL;
	*negated = true;
	return opt;
}

struct opt *
opt_by_letter(struct opt *table, char letter)
{
	for (struct opt *opt = table; opt->kind != OPT_END; opt++)
		if (letter != '\0' && strchr(opt->letters, letter) != NULL)
			return opt;
	return NULL;
}

/* Index of text in "a|b|c", -1 if it is not there. */
static int
choice_of(const char *choices, const char *text)
{
	const size_t size = strlen(text);
	int i = 0;

	for (const char *word = choices; word != NULL; i++) {
		const char *end = strchr(word, '|');
		const size_t n = end ? (size_t)(end - word) : strlen(word);
		if (n == size && memcmp(word, text, n) == 0)
			return i;
		word = end ? end + 1 : NULL;
	}
	return -1;
}

static bool
read_flag(const char *text, int *out)
{
	static const char words[] = "0|1|false|true|no|yes|off|on";
	const int at = choice_of(words, text);

	if (at >= 0)
		*out = at % 2;
	return at >= 0;
}

static bool
read_number(const struct opt *opt, const char *text, char *why, size_t room)
{
	uint64_t number;
	const bool size = opt->kind == OPT_SIZE;
	char limit[SIZE_TEXT];

	if (!(size ? size_parse(text, &number) : count_parse(text, &number)) ||
	    number == OPT_UNSET) {
		snprintf(why, room,
		    size ? "'%s' is not a size, such as 192M" : "'%s' is not a number",
		    text);
		return false;
	}
	if (number < opt->least || (opt->most > 0 && number > opt->most)) {
		size_exact(number < opt->least ? opt->least : opt->most, limit,
		    sizeof(limit));
		snprintf(why, room, "'%s' is %s %s", text,
		    number < opt->least ? "below" : "above", limit);
		return false;
	}
	*(uint64_t *)opt->target = number;
	return true;
}

static bool
read_signed(const char *text, int *out)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (*text == '\0' || isspace((unsigned char)*text) || *text == '+' ||
	    *end != '\0' || errno != 0 || number < INT_MIN || number > INT_MAX)
		return false;
	*out = (int)number;
	return true;
}

static bool
read_ratio(const char *text, double *out)
{
	char *end;
	const double ratio = strtod(text, &end);

	if (!isdigit((unsigned char)*text) || *end != '\0' || !(ratio >= 0 && ratio <= 1))
		return false;
	*out = ratio;
	return true;
}

static bool
add_text(struct opt_list *list, const char *text, char *why, size_t room)
{
	if (lc__array_reserve(&list->items, &list->room, list->count + 1, NULL) !=
	    LC_OK) {
		snprintf(why, room, "out of memory");
		return false;
	}
	list->items[list->count++] = text;
	return true;
}

static bool
read_value(const struct opt *opt, const char *text, char *why, size_t room)
{
	int choice;

	switch (opt->kind) {
	case OPT_FLAG:
		if (read_flag(text, opt->target))
			return true;
		snprintf(why, room, "'%s' is not a switch; use 1 or 0", text);
		return false;
	case OPT_CHOICE:
		choice = choice_of(opt->value, text);
		if (choice >= 0) {
			*(int *)opt->target = choice;
			return true;
		}
		snprintf(why, room, "'%s' is not one of %s", text, opt->value);
		return false;
	case OPT_COUNT:
	case OPT_SIZE: return read_number(opt, text, why, room);
	case OPT_NUMBER:
		if (read_signed(text, opt->target))
			return true;
		snprintf(why, room, "'%s' is not a number", text);
		return false;
	case OPT_RATIO:
		if (read_ratio(text, opt->target))
			return true;
		snprintf(why, room, "'%s' is not a ratio from 0 to 1", text);
		return false;
	case OPT_LIST: return add_text(opt->target, text, why, room);
	case OPT_FILE:
	case OPT_DIR:
		if (*text == '\0') {
			snprintf(why, room, "an empty name");
			return false;
		}
		if (opt->kind == OPT_DIR && strcmp(text, "-") == 0) {
			snprintf(why, room,
			    "- is not a directory; use ./- for one of that name");
			return false;
		}
		/* fallthrough */
	default: *(const char **)opt->target = text; return true;
	}
}

bool
opt_assign(struct opt *opt, enum opt_source source, const char *text, char *why,
    size_t room)
{
	union {
		int number;
		const char *text;
		uint64_t count;
		double ratio;
	} spare;
	struct opt trial = *opt;

	/* Texts from a stronger source replace the others; a text cannot be invalid. */
	if (opt->kind == OPT_LIST && source < opt->source)
		return true;
	if (opt->kind == OPT_LIST && source > opt->source)
		((struct opt_list *)opt->target)->count = 0;

	/* A weaker source's value is checked all the same. */
	if (source < opt->source)
		trial.target = &spare;
	if (!read_value(&trial, text, why, room))
		return false;
	if (source >= opt->source)
		opt->source = source;
	return true;
}

char *
opt_render(const struct opt *opt, char *out, size_t room)
{
	const struct opt_list *list;
	const char *text;
	size_t used = 0;

	switch (opt->kind) {
	case OPT_FLAG:
		snprintf(out, room, "%s",
		    *(int *)opt->target < 0   ? ""
			: *(int *)opt->target ? "1"
					      : "0");
		break;
	case OPT_CHOICE:
		text = opt->value;
		for (int i = *(int *)opt->target; i > 0; i--)
			text = strchr(text, '|') + 1;
		snprintf(out, room, "%.*s", (int)strcspn(text, "|"), text);
		break;
	case OPT_COUNT:
		out[0] = '\0';
		if (*(uint64_t *)opt->target != OPT_UNSET)
			snprintf(out, room, "%llu", *(unsigned long long *)opt->target);
		break;
	case OPT_SIZE: size_exact(*(uint64_t *)opt->target, out, room); break;
	case OPT_NUMBER: snprintf(out, room, "%d", *(int *)opt->target); break;
	case OPT_RATIO: snprintf(out, room, "%g", *(double *)opt->target); break;
	case OPT_LIST:
		list = opt->target;
		out[0] = '\0';
		for (size_t i = 0; i < list->count && used < room; i++)
			used += (size_t)snprintf(out + used, room - used, "%s%s",
			    i > 0 ? " " : "", list->items[i]);
		break;
	default:
		text = *(const char **)opt->target;
		snprintf(out, room, "%s", text ? text : "");
	}
	return out;
}

char *
opt_variable(const struct opt *opt, const char *command, char *out, size_t room)
{
	snprintf(out, room, "CACHEX_%s%s%s", command ? command : "", command ? "_" : "",
	    opt->name);
	for (char *p = out; *p != '\0'; p++)
		*p = *p == '-' || *p == ' ' ? '_' : (char)toupper((unsigned char)*p);
	return out;
}

char *
opt_key(const struct opt *opt, const char *command, char *out, size_t room)
{
	snprintf(out, room, "%s%s%s", command ? command : "", command ? "." : "",
	    opt->name);
	for (char *p = out; *p != '\0'; p++)
		*p = *p == ' ' ? '.' : *p;
	return out;
}

char *
opt_spelling(const struct opt *table, const void *target, const char *command, char *out,
    size_t room)
{
	while (table->target != target)
		table++;
	if (table->source == FROM_ENVIRONMENT)
		return opt_variable(table, command, out, room);
	if (table->source == FROM_CONFIG)
		return opt_key(table, command, out, room);
	snprintf(out, room, "--%s", table->name);
	return out;
}

bool
opt_environment(struct opt *table, const char *command, char *why, size_t room)
{
	char variable[80], reason[OPT_TEXT_ROOM];

	for (struct opt *opt = table; opt->kind != OPT_END; opt++) {
		const char *text = getenv(
		    opt_variable(opt, command, variable, sizeof(variable)));
		/* An empty variable counts as unset, as with NO_COLOR. */
		if (text == NULL || *text == '\0')
			continue;
		if (!opt_assign(opt, FROM_ENVIRONMENT, text, reason, sizeof(reason))) {
			snprintf(why, room, "%s: %s", variable, reason);
			return false;
		}
	}
	return true;
}

/* "unknown option --jsno; did you mean --json?" */
static void
explain_unknown(struct opt *const *tables, const char *name, size_t size, char *why,
    size_t room)
{
	struct suggest suggest;
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)size, name);
	suggest_start(&suggest, word);
	for (; *tables != NULL; tables++)
		for (struct opt *opt = *tables; opt->kind != OPT_END; opt++) {
			suggest_word(&suggest, opt->name);
			if (opt->kind == OPT_FLAG)
				suggest_negated(&suggest, opt->name);
		}
	if (suggest_best(&suggest) != NULL)
		snprintf(why, room, "unknown option --%.*s; did you mean --%s?",
		    (int)size, name, suggest_best(&suggest));
	else
		snprintf(why, room, "unknown option --%.*s", (int)size, name);
}

/* Give the value to the row; the message names the option as it was typed. */
static bool
assign_typed(struct opt *opt, const char *typed, const char *text, char *why, size_t room)
{
	char reason[OPT_TEXT_ROOM];

	if (opt_assign(opt, FROM_OPTION, text, reason, sizeof(reason)))
		return true;
	snprintf(why, room, "%s: %s", typed, reason);
	return false;
}

/* @p name is the part after the dashes of argv[*at]. */
static bool
parse_long(struct opt *const *tables, const char *name, int argc, char **argv, int *at,
    char *why, size_t room)
{
	const size_t size = strcspn(name, "=");
	const char *text = name[size] == '=' ? name + size + 1 : NULL;
	struct opt *opt = NULL;
	bool negated = false;
	char typed[80];

	for (struct opt *const *t = tables; opt == NULL && *t != NULL; t++)
		opt = opt_by_name(*t, name, size, &negated);
	if (opt == NULL) {
		explain_unknown(tables, name, size, why, room);
		return false;
	}
	snprintf(typed, sizeof(typed), "--%.*s", (int)size, name);
	*at += 1;
	if (negated && text != NULL) {
		snprintf(why, room, "%s takes no value", typed);
		return false;
	}
	if (text == NULL && opt->kind == OPT_FLAG)
		text = negated ? "0" : "1";
	if (text == NULL && *at == argc) {
		snprintf(why, room, "%s needs a value: %s", typed, opt->value);
		return false;
	}
	if (text == NULL)
		text = argv[(*at)++];
	return assign_typed(opt, typed, text, why, room);
}

static bool
parse_letters(struct opt *const *tables, int argc, char **argv, int *at, char *why,
    size_t room)
{
	const char *letter = argv[*at] + 1;

	for (*at += 1; *letter != '\0'; letter++) {
		struct opt *opt = NULL;
		char typed[3] = { '-', *letter, '\0' };
		const char *text = "1";

		for (struct opt *const *t = tables; opt == NULL && *t != NULL; t++)
			opt = opt_by_letter(*t, *letter);
		if (opt == NULL) {
			snprintf(why, room, "unknown option %s%s", typed,
			    letter[1] ? "" : " (put names that start with - after --)");
			return false;
		}
		if (opt->kind != OPT_FLAG && letter[1] == '\0' && *at == argc) {
			snprintf(why, room, "%s needs a value: %s", typed, opt->value);
			return false;
		}
		if (opt->kind != OPT_FLAG)
			text = letter[1] ? letter + 1 : argv[(*at)++];
		if (!assign_typed(opt, typed, text, why, room))
			return false;
		if (opt->kind != OPT_FLAG)
			break;
	}
	return true;
}

bool
opt_parse(struct opt *const *tables, int argc, char **argv, int *at, char *why,
    size_t room)
{
	if (argv[*at][1] == '-')
		return parse_long(tables, argv[*at] + 2, argc, argv, at, why, room);
	for (struct opt *const *t = tables; *t != NULL; t++) {
		const struct opt *opt = find_exact(*t, argv[*at] + 1,
		    strlen(argv[*at] + 1));

		if (opt != NULL && opt->single_dash)
			return parse_long(tables, opt->name, argc, argv, at, why, room);
	}
	return parse_letters(tables, argc, argv, at, why, room);
}
