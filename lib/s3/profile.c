/* SPDX-License-Identifier: BSD-2-Clause */
#include "s3/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fileio.h"

#define FILE_LIMIT ((uint64_t)1 << 20)

const char *
lc__s3_env(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : NULL;
}

/* The text without blanks around it, in place. */
static char *
trim(char *text)
{
	size_t n;

	while (*text == ' ' || *text == '\t')
		text++;
	for (n = strlen(text); n > 0 && strchr(" \t\r", text[n - 1]) != NULL; n--)
		;
	text[n] = '\0';
	return text;
}

/* "[default]", "[profile x]" and, in the file of credentials, "[x]". */
static bool
is_section(char *line, const char *name, bool config)
{
	char *end = strchr(line, ']');

	if (end == NULL)
		return false;
	*end = '\0';
	line = trim(line + 1);
	if (config && strncmp(line, "profile", 7) == 0 &&
	    (line[7] == ' ' || line[7] == '\t'))
		line = trim(line + 8);
	else if (config && strcmp(name, "default") != 0)
		return false;
	return strcmp(line, name) == 0;
}

static lc_status
add(struct lc__s3_profile *profile, const char *key, const char *value)
{
	struct lc__s3_setting *setting;

	return_if_error(lc__array_reserve(&profile->settings, &profile->room,
	    profile->n + 1, "profile"));
	setting = &profile->settings[profile->n++];
	setting->key = strdup(key);
	setting->value = strdup(value);
	return setting->key != NULL && setting->value != NULL ? LC_OK
							      : lc__no_memory("profile");
}

static lc_status
read_text(struct lc__s3_profile *profile, char *text, bool config)
{
	bool inside = false;
	char *next, *equals;

	for (char *line = text; line != NULL; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (*line == '[') {
			inside = is_section(line, profile->name, config);
			profile->found |= inside;
			continue;
		}
		/* Indented lines belong to a setting that is not used here. */
		equals = strchr(line, '=');
		if (!inside || strchr("#; \t", *line) != NULL || equals == NULL)
			continue;
		*equals = '\0';
		return_if_error(add(profile, trim(line), trim(equals + 1)));
	}
	return LC_OK;
}

/* @p variable names the file, or it is ~/.aws/NAME. */
static lc_status
read_one(struct lc__s3_profile *profile, const char *variable, const char *name,
    bool config)
{
	const char *named = lc__s3_env(variable), *home = lc__s3_env("HOME");
	struct lc__buf text = { 0 };
	char *path = NULL;
	lc_status status;

	if (named == NULL && home == NULL)
		return LC_OK;
	if (asprintf(&path, named != NULL ? "%s" : "%s/.aws/%s",
		named != NULL ? named : home, name) < 0)
		return lc__no_memory("profile");
	status = lc__read_file(path, FILE_LIMIT, &text);
	lc__buf_append(&text, "", 1);
	if (status == LC_NO_FILE)
		status = LC_OK;
	else if (status == LC_OK)
		status = text.failed ? lc__no_memory(path)
				     : read_text(profile, (char *)text.data, config);
	lc__buf_free(&text);
	free(path);
	return status;
}

lc_status
lc__s3_profile_read(const char *name, struct lc__s3_profile *out)
{
	struct lc__s3_profile profile = { .n = 0 };
	lc_status status;

	if (name == NULL)
		name = lc__s3_env("AWS_PROFILE");
	profile.name = strdup(name != NULL ? name : "default");
	if (profile.name == NULL)
		return lc__no_memory("profile");
	status = read_one(&profile, "AWS_SHARED_CREDENTIALS_FILE", "credentials", false);
	if (status == LC_OK)
		status = read_one(&profile, "AWS_CONFIG_FILE", "config", true);
	if (status == LC_OK)
		*out = profile;
	else
		lc__s3_profile_free(&profile);
	return status;
}

const char *
lc__s3_profile_get(const struct lc__s3_profile *profile, const char *key)
{
	for (size_t i = 0; i < profile->n; i++)
		if (strcmp(profile->settings[i].key, key) == 0)
			return profile->settings[i].value;
	return NULL;
}

void
lc__s3_profile_free(struct lc__s3_profile *profile)
{
	for (size_t i = 0; i < profile->n; i++) {
		free(profile->settings[i].key);
		free(profile->settings[i].value);
	}
	free(profile->settings);
	free(profile->name);
	memset(profile, 0, sizeof(*profile));
}
