/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that every command has, and the configuration file. */
#include "ui/settings.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "lmdbcache.h"
#include "ui/command.h"
#include "ui/opt.h"
#include "ui/size.h"
#include "ui/suggest.h"

/* ---- the configuration file -------------------------------------------------------- */

#define MOST (1 << 20) /* bytes of a configuration file */

const char *
config_path(void)
{
	static char path[4096];
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	int n = 0;

	if (config != NULL && *config == '/')
		n = snprintf(path, sizeof(path), "%s/cachex/config", config);
	else if (home != NULL && *home != '\0')
		n = snprintf(path, sizeof(path), "%s/.config/cachex/config", home);
	return n > 0 && (size_t)n < sizeof(path) ? path : NULL;
}

static char *
trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r");
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

/* The command that "put" or "shard.verify" names. */
static const struct command *
find_command(const char *key, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)size, key);
	for (char *p = name; *p != '\0'; p++)
		*p = *p == '.' ? ' ' : *p;
	return command_by_name(name);
}

/* The row that "root", "put.dtype" or "shard.inspect.ids" names. */
static struct opt *
find_row(const char *key)
{
	const char *dot = strrchr(key, '.');
	const struct command *command;
	struct opt *opt;
	bool negated;

	if (dot == NULL) {
		opt = opt_by_name(global_options, key, strlen(key), &negated);
		return opt && !negated && !settings_is_action(opt) ? opt : NULL;
	}
	command = find_command(key, (size_t)(dot - key));
	if (command == NULL)
		return NULL;
	opt = opt_by_name(command->options, dot + 1, strlen(dot + 1), &negated);
	return negated ? NULL : opt;
}

static void
explain_unknown(const char *key, char *why, size_t room)
{
	const struct command *command;
	struct suggest suggest;
	char known[80];

	suggest_start(&suggest, key);
	for (struct opt *opt = global_options; opt->kind != OPT_END; opt++)
		if (!settings_is_action(opt))
			suggest_word(&suggest, opt->name);
	for (size_t i = 0; (command = command_at(i)) != NULL; i++)
		for (struct opt *opt = command->options; opt->kind != OPT_END; opt++)
			suggest_word(&suggest, opt_key(opt, command->name, known,
			    sizeof(known)));
	if (suggest_best(&suggest) != NULL)
		snprintf(why, room, "unknown key %s; did you mean %s?", key,
		    suggest_best(&suggest));
	else
		snprintf(why, room, "unknown key %s", key);
}

/* A copy that stays until the process ends: rows keep pointers to their values. */
static const char *
keep(const char *text)
{
	static struct kept {
		struct kept *next;
		char text[];
	} *all;
	struct kept *kept = malloc(sizeof(*kept) + strlen(text) + 1);

	if (kept == NULL)
		return NULL;
	strcpy(kept->text, text);
	kept->next = all;
	all = kept;
	return kept->text;
}

static bool
apply(char *line, char *why, size_t room)
{
	char reason[OPT_TEXT_ROOM - 200];
	char *key = trim(line), *value;
	const char *text;
	struct opt *opt;

	if (*key == '\0' || *key == '#')
		return true;
	value = strchr(key, '=');
	if (value == NULL) {
		snprintf(why, room, "no '=' in the line");
		return false;
	}
	*value++ = '\0';
	key = trim(key);
	opt = find_row(key);
	if (opt == NULL) {
		explain_unknown(key, why, room);
		return false;
	}
	text = keep(trim(value));
	if (text != NULL && opt_assign(opt, FROM_CONFIG, text, reason,
	    sizeof(reason)))
		return true;
	snprintf(why, room, "%s: %s", key, text ? reason : "out of memory");
	return false;
}

static bool
apply_lines(FILE *file, const char *path, char *why, size_t room)
{
	char reason[OPT_TEXT_ROOM];
	char *line = NULL;
	size_t line_room = 0;
	bool good = true;
	int sys = 0;

	for (unsigned number = 1; good; number++) {
		errno = 0;
		if (getline(&line, &line_room, file) == -1) {
			sys = ferror(file) || errno == ENOMEM ? errno : 0;
			break;
		}
		good = apply(line + (number == 1 ? lc__utf8_mark(line, strlen(line)) :
		    0), reason, sizeof(reason));
		if (!good)
			snprintf(why, room, "%s:%u: %s", path, number, reason);
	}
	free(line);
	if (good && sys != 0) {
		snprintf(why, room, "%s: %s", path, strerror(sys));
		good = false;
	}
	return good;
}

/* A home directory may be another user's, whose settings are not for us. */
static bool
is_hidden(const char *path)
{
	return access(path, F_OK) == -1 &&
	    (errno == ENOENT || errno == ENOTDIR || errno == EACCES);
}

/* A FIFO is not waited for, and no device is read. */
static FILE *
open_bounded(const char *path, char *why, size_t room)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = NULL;
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1)
		snprintf(why, room, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		snprintf(why, room, "%s: %s", path, S_ISDIR(st.st_mode) ?
		    strerror(EISDIR) : "not a regular file");
	else if (st.st_size > MOST)
		snprintf(why, room, "%s: larger than 1 MiB", path);
	else if ((file = fdopen(fd, "r")) == NULL)
		snprintf(why, room, "%s: %s", path, strerror(errno));
	if (file == NULL && fd != -1)
		close(fd);
	return file;
}

bool
config_read(char *why, size_t room)
{
	const char *path = config_path();
	FILE *file;
	bool good;

	if (path == NULL || is_hidden(path))
		return true;
	file = open_bounded(path, why, room);
	if (file == NULL)
		return false;
	good = apply_lines(file, path, why, room);
	fclose(file);
	return good;
}

/* ---- the options ------------------------------------------------------------------- */

struct settings settings = {
	.progress = -1,
	.rank = OPT_UNSET,
	.lru_bytes = UINT64_C(64) << 20
};

struct opt global_options[] = {
	{ "", "root", OPT_DIR, &settings.root, .value = "DIR",
	    .help = "the directory that holds the modules" },
	{ "q", "quiet", OPT_FLAG, &settings.quiet,
	    .help = "print errors and results only" },
	{ "v", "verbose", OPT_FLAG, &settings.verbose,
	    .help = "say more about what is done" },
	{ "", "json", OPT_FLAG, &settings.json,
	    .help = "write JSON, one value a line" },
	{ "", "color", OPT_CHOICE, &settings.color, .value = "auto|always|never",
	    .help = "colour: on a terminal unless NO_COLOR is set, always, never" },
	{ "", "progress", OPT_FLAG, &settings.progress,
	    .help = "show progress also where standard error is no terminal, or never" },
	{ "", "force-fs", OPT_FLAG, &settings.force_fs,
	    .help = "open modules on network and FUSE file systems" },
	{ "", "rank", OPT_COUNT, &settings.rank, .value = "N", .most = INT_MAX,
	    .help = "the rank of this process; by default RANK of the environment, or 0" },
	{ "", "writer-rank", OPT_TEXT, &settings.writer_rank, .value = "N|any",
	    .help = "the rank that writes; others store nothing; any is the default" },
	{ "", "lru-bytes", OPT_SIZE, &settings.lru_bytes, .value = "SIZE",
	    .help = "memory for decoded tensors; 0 for none" },
	{ "h", "short-help", OPT_FLAG, &settings.short_help,
	    .help = "list the options" },
	{ "", "help", OPT_FLAG, &settings.help,
	    .help = "explain the command" },
	{ "", "version", OPT_FLAG, &settings.version,
	    .help = "print the version" },
	{ .kind = OPT_END }
};

bool
settings_is_action(const struct opt *opt)
{
	return opt->target == &settings.short_help ||
	    opt->target == &settings.help || opt->target == &settings.version;
}

bool
settings_check_epoch(char *why, size_t room)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds;

	if (epoch == NULL || *epoch == '\0' || (count_parse(epoch, &seconds) &&
	    seconds < UINT64_MAX / 1000))
		return true;
	snprintf(why, room, "SOURCE_DATE_EPOCH: not a number of seconds: '%s'",
	    epoch);
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
		    opt_spelling(global_options, &settings.writer_rank, NULL,
		    spelling, sizeof(spelling)), text);
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
	/* By the XDG specification a relative path there does not count. */
	if (cache != NULL && *cache == '/')
		n = snprintf(root, sizeof(root), "%s/cachex", cache);
	else if (home != NULL && *home != '\0')
		n = snprintf(root, sizeof(root), "%s/.cache/cachex", home);
	if (n <= 0 || (size_t)n >= sizeof(root)) {
		snprintf(why, room, n <= 0 ? "neither --root nor HOME is set" :
		    "XDG_CACHE_HOME or HOME is too long");
		return false;
	}
	settings.root = root;
	return true;
}
