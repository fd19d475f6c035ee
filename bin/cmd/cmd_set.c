/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "cmd/module_settings.h"
#include "ui/command.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"

static int create;
static int dry_run;

static struct opt options[] = {
	{ "c", "create", OPT_FLAG, &create,
	    .help = "create the module if it does not exist" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "print the resulting settings, change nothing" },
	{ .kind = OPT_END },
};

static void
show(const char *module, const struct module_settings *is)
{
	struct json json = { stdout, false };
	char text[MODULE_SETTING_TEXT];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "module", module);
		module_settings_json(is, &json);
		jw_end_line(&json);
		return;
	}
	for (size_t i = 0; module_setting_name(i) != NULL; i++)
		printf("%s=%s\n", module_setting_name(i),
		    module_setting_value(is, i, text, sizeof(text)));
}

/* Parse all of them before any is changed. */
static int
change(const char *module, lc_cache *cache, struct module_settings *is, int argc,
    char **argv)
{
	char why[OPT_TEXT_ROOM];
	lc_status status;

	for (int i = 0; i < argc; i++)
		if (!module_setting_assign(is, argv[i], why, sizeof(why)))
			return report_usage("%s", why);
	if (dry_run || argc == 0)
		return EXIT_DONE;
	status = lc_settings_set(cache, &is->is);
	if (status == LC_OK && is->share_named)
		status = lc_share_set(settings.root, module, is->share);
	return status == LC_OK ? EXIT_DONE : report_argument(status);
}

static int
set(lc_cache *cache, int argc, char **argv)
{
	struct module_settings is;
	int status = module_settings_read(argv[0], cache, &is);

	if (status == EXIT_DONE)
		status = change(argv[0], cache, &is, argc - 1, argv + 1);
	if (status == EXIT_DONE && (argc == 1 || dry_run || settings.json))
		show(argv[0], &is);
	return status;
}

/* Do not create a module if a word is invalid. */
static int
check_words(int argc, char **argv)
{
	struct module_settings none = { .is.struct_size = sizeof(none.is) };
	char why[OPT_TEXT_ROOM];

	for (int i = 1; i < argc; i++)
		if (!module_setting_assign(&none, argv[i], why, sizeof(why)))
			return report_usage("%s", why);
	return EXIT_DONE;
}

static int
run_set(int argc, char **argv)
{
	lc_cache *cache;
	int status = check_words(argc, argv);

	if (status != EXIT_DONE)
		return status;
	if (argc == 1 || dry_run)
		status = module_open(argv[0], &cache);
	else
		status = create ? module_create(argv[0], &cache)
				: module_change(argv[0], &cache);
	return status == EXIT_DONE ? module_close(cache, set(cache, argc, argv)) : status;
}

const struct command cmd_set = {
	.name = "set",
	.operands = "MODULE [NAME=VALUE]...",
	.summary = "show or change the settings of a module",
	.text =
	    "The settings of a module apply to all its users from the next commit; stored "
	    "records do not change. Without NAME=VALUE it prints them.\n"
	    "codec and level: how to store the tensors of puts that give no codec. "
	    "policy: evolve accepts values of any structure, strict only that of the "
	    "first value. max-bytes: a budget for all data, 0 for none; a commit that "
	    "exceeds it evicts chunks, the oldest or the longest unread, as evict says. "
	    "auto-compact: whether commits free the space of replaced and deleted records. "
	    "length: path of the tensor with the length of a record as its first dimension, "
	    ". for a record that is a tensor, none for no lengths; only in a module without "
	    "records. share: the users of the module, by the modes of its files: its owner; "
	    "also its group; or the group and, to read, all others.",
	.examples = "cachex set faces\n"
		    "cachex set faces codec=auto max-bytes=20G evict=unread\n"
		    "cachex set -c outputs policy=strict\n"
		    "cachex set -c corpus length=tokens\n"
		    "cachex set faces share=group",
	.completes = "mn",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_set,
};
