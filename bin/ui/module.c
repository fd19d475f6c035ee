/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules under the configured root, and putting values into them. */
#include "ui/module.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "ui/input.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/suggest.h"

/* ---- --codec and --level ----------------------------------------------------------- */

#define FASTEST (-65537) /* as LZ4 has it */
#define DENSEST 12

static const lc_codec codecs[] = { LC_CODEC_DEFAULT, LC_CODEC_NONE, LC_CODEC_LZ4,
	LC_CODEC_SHUFFLE_LZ4, LC_CODEC_U8PACK, LC_CODEC_U8PACK_LZ4, LC_CODEC_AUTO };

lc_codec
codec_of_choice(int choice)
{
	return codecs[choice];
}

int
choice_of_codec(lc_codec codec)
{
	const int n = (int)(sizeof(codecs) / sizeof(codecs[0]));
	int choice = 1;

	while (choice < n - 1 && codecs[choice] != codec)
		choice++;
	return choice;
}

int
codec_check_level(int level)
{
	if (level >= FASTEST && level <= DENSEST)
		return EXIT_DONE;
	return report_usage("--level: %d is not %d to %d", level, FASTEST, DENSEST);
}

lc_status
codec_put(lc_cache *cache, lc_id id, const lc_value *value, int choice, int level)
{
	const lc_codec codec = codec_of_choice(choice);

	if (codec == LC_CODEC_DEFAULT)
		return lc_put_value(cache, id.data, id.size, value);
	return lc_put_coded(cache, id.data, id.size, value, codec, level);
}

/* ---- modules ----------------------------------------------------------------------- */

/* Warnings from the library, from any thread; -q silences them. */
static void
log_line(void *ctx, const char *line)
{
	(void)ctx;
	report_note("%s", line);
}

static lc_status
open_with(const char *root, const char *module_id, unsigned flags, lc_cache **out)
{
	char why[OPT_TEXT_ROOM];
	lc_options options;

	lc_options_init(&options);
	options.flags = flags | (settings.force_fs ? LC_FORCE_FS : 0);
	options.log = log_line;
	options.lru_bytes = settings.lru_bytes;
	if (settings.rank != OPT_UNSET)
		options.rank = (int)settings.rank;
	/* It has been checked before any command runs. */
	if (!settings_writer_rank(&options.writer_rank, why, sizeof(why)))
		options.writer_rank = LC_RANK_ANY;
	if (!(flags & LC_RDONLY) && options.writer_rank != LC_RANK_ANY &&
	    options.rank != options.writer_rank)
		report_note("rank %d does not write, rank %d does; nothing is "
			    "stored in %s",
		    options.rank, options.writer_rank, module_id);
	return lc_open(root, module_id, &options, out);
}

static int
offer_module(void *suggest, const char *module_id)
{
	suggest_word(suggest, module_id);
	return 0;
}

int
module_missing(const char *root, const char *module_id)
{
	struct suggest suggest;

	suggest_start(&suggest, module_id);
	if (lc_modules(root, offer_module, &suggest) == LC_OK &&
	    suggest_best(&suggest) != NULL)
		return report_error(EXIT_NO, "no module %s in %s; did you mean %s?",
		    module_id, root, suggest_best(&suggest));
	return report_error(EXIT_NO, "no module %s in %s", module_id, root);
}

int
module_open_in(const char *root, const char *module_id, unsigned flags, lc_cache **out)
{
	const lc_status status = open_with(root, module_id, flags, out);

	if (status == LC_NO_FILE && !(flags & LC_CREATE))
		return module_missing(root, module_id);
	return status == LC_OK ? EXIT_DONE : report_argument(status);
}

int
module_open(const char *module_id, lc_cache **out)
{
	return module_open_in(settings.root, module_id, LC_RDONLY, out);
}

int module_makes = 1;

int
module_create(const char *module_id, lc_cache **out)
{
	return module_open_in(settings.root, module_id, module_makes ? LC_CREATE : 0,
	    out);
}

int
module_change(const char *module_id, lc_cache **out)
{
	return module_open_in(settings.root, module_id, 0, out);
}

int
module_open_if_there(const char *root, const char *module_id, bool made_next,
    lc_cache **out)
{
	const lc_status status = open_with(root, module_id, LC_RDONLY, out);

	if (status == LC_OK)
		return EXIT_DONE;
	*out = NULL;
	if (status == LC_NO_FILE || (made_next && status == LC_NOT_MODULE))
		return EXIT_DONE;
	return report_argument(status);
}

int
module_must_exist(const char *root, const char *module_id)
{
	lc_cache *cache;
	const int status = module_open_in(root, module_id, LC_RDONLY, &cache);

	return status == EXIT_DONE ? module_close(cache, status) : status;
}

int
module_close(lc_cache *cache, int status)
{
	const lc_status closed = lc_close(cache);

	/* The first failure of the system is the one to know. */
	if (closed == LC_OK || status >= EXIT_SYSTEM)
		return status;
	return report_worse(status, report_status(closed));
}

static int
add_module(void *ctx, const char *module_id)
{
	return list_add_copy(ctx, module_id) != EXIT_DONE;
}

int
module_list(struct list *list, int argc, char **argv)
{
	int status = EXIT_DONE;
	lc_status found;

	for (int i = 0; i < argc && status == EXIT_DONE; i++)
		status = list_add(list, argv[i], strlen(argv[i]));
	if (argc > 0)
		return status;
	/* The default root is created with the first module. */
	if (access(settings.root, F_OK) == -1 && errno == ENOENT) {
		if (!settings_names_root())
			return EXIT_DONE;
		return report_error(EXIT_NO,
		    "%s: no such directory; --root names "
		    "the directory that holds the modules",
		    settings.root);
	}
	found = lc_modules(settings.root, add_module, list);
	/* Only add_module() stops it, which has reported why. */
	if (found == LC_CANCELLED)
		return EXIT_SYSTEM;
	return found == LC_OK ? EXIT_DONE : report_status(found);
}
