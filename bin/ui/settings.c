/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "ui/size.h"

struct settings settings = {
	.progress = -1,
	.rank = OPT_UNSET,
	.lru_bytes = UINT64_C(64) << 20,
};

struct opt global_options[] = {
	{ "", "root", OPT_DIR, &settings.root, .value = "DIR",
	    .help = "the directory that holds the modules" },
	{ "q", "quiet", OPT_FLAG, &settings.quiet,
	    .help = "print errors and results only" },
	{ "v", "verbose", OPT_FLAG, &settings.verbose, .help = "print more messages" },
	{ "", "json", OPT_FLAG, &settings.json, .help = "write JSON, one value a line" },
	{ "", "color", OPT_CHOICE, &settings.color, .value = "auto|always|never",
	    .help = "colour: on a terminal unless NO_COLOR is set, always, never" },
	{ "", "progress", OPT_FLAG, &settings.progress,
	    .help = "show progress even if standard error is not a terminal, or never" },
	{ "", "force-fs", OPT_FLAG, &settings.force_fs,
	    .help = "write modules on network and FUSE file systems" },
	{ "", "rank", OPT_COUNT, &settings.rank, .value = "N", .most = INT_MAX,
	    .help =
		"the rank of this process; by default RANK of the environment, or 0" },
	{ "", "writer-rank", OPT_TEXT, &settings.writer_rank, .value = "N|any",
	    .help =
		"the rank that writes, the others store nothing; any is the default" },
	{ "", "lru-bytes", OPT_SIZE, &settings.lru_bytes, .value = "SIZE",
	    .help = "memory for decoded tensors; 0 for none" },
	{ "h", "short-help", OPT_FLAG, &settings.short_help, .help = "list the options" },
	{ "", "help", OPT_FLAG, &settings.help, .help = "explain the command" },
	{ "", "version", OPT_FLAG, &settings.version, .help = "print the version" },
	{ .kind = OPT_END },
};

bool
settings_is_action(const struct opt *opt)
{
	return opt->target == &settings.short_help || opt->target == &settings.help ||
	    opt->target == &settings.version;
}

bool
settings_check_epoch(char *why, size_t room)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds;

	if (epoch == NULL || *epoch == '\0' ||
	    (count_parse(epoch, &seconds) && seconds < UINT64_MAX / 1000))
		return true;
	snprintf(why, room, "SOURCE_DATE_EPOCH: '%s' is not a number of seconds", epoch);
	return false;
}

bool
settings_writer_rank(int *out, char *why, size_t room)
{
	const char *text = settings.writer_rank;
	char spelling[80];
	uint64_t rank;

	*out = LC_RANK_ANY;
	if (text == NULL || *text == '\0' || strcmp(text, "any") == 0)
		return true;
	if (!count_parse(text, &rank) || rank > INT_MAX) {
		snprintf(why, room, "%s: neither a rank nor any: '%s'",
		    opt_spelling(global_options, &settings.writer_rank, NULL, spelling,
			sizeof(spelling)),
		    text);
		return false;
	}
	*out = (int)rank;
	return true;
}

bool
settings_names_root(void)
{
	return global_options[0].source != FROM_DEFAULT;
}

bool
settings_default_root(char *why, size_t room)
{
	static char root[4096];
	const char *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	int n = 0;

	if (settings.root != NULL)
		return true;
	/* By the XDG specification a relative path there is ignored. */
	if (cache != NULL && *cache == '/')
		n = snprintf(root, sizeof(root), "%s/cachex", cache);
	else if (home != NULL && *home != '\0')
		n = snprintf(root, sizeof(root), "%s/.cache/cachex", home);
	if (n <= 0 || (size_t)n >= sizeof(root)) {
		snprintf(why, room,
		    n <= 0 ? "neither --root nor HOME is set"
			   : "XDG_CACHE_HOME or HOME is too long");
		return false;
	}
	settings.root = root;
	return true;
}
