/* SPDX-License-Identifier: BSD-2-Clause */
/* The inputs of a module as parts: each is exported into a directory of its own. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "build/disk.h"
#include "fill/shard.h"
#include "publish/push.h"
#include "shard/outdir.h"

#define SHARDS "shards" /* below the directory of a part */

struct module {
	lc_cache *cache;
	lc_export_options how;
	const char *staging;
	const struct lc__push_source *source;
	struct lc__outdir
	    part; /* of the present part, locked; fd is -1 if there is none */
};

static lc_status
set_fingerprint(struct lc__push_part *part, lc_id fingerprint)
{
	char *hex = malloc(2 * fingerprint.size + 1);

	if (hex == NULL)
		return lc__no_memory(part->name);
	hex[0] = '\0';
	for (size_t i = 0; i < fingerprint.size; i++)
		sprintf(hex + 2 * i, "%02x",
		    ((const unsigned char *)fingerprint.data)[i]);
	free(part->fingerprint);
	part->fingerprint = hex;
	return LC_OK;
}

struct noting {
	struct lc__push_source *source;
	lc_status status;
};

static int
note_input(void *ctx, const lc_input_info *info)
{
	struct noting *noting = ctx;
	struct lc__push_part *part;
	struct lc__line_place place;

	noting->status = lc__push_source_add(noting->source, info->name, &part);
	if (noting->status == LC_OK)
		noting->status = set_fingerprint(part, info->fingerprint);
	if (noting->status != LC_OK)
		return 1;
	part->finished = info->finished;
	part->records = info->records;
	/* Other programs than cachex fill write other cursors. */
	part->has_lines = info->cursor.size > 0 &&
	    lc__cursor_decode(info->cursor, &place) == LC_OK;
	if (part->has_lines)
		part->lines = place.line;
	return 0;
}

static void
unlock_part(struct module *module)
{
	if (module->part.fd != -1)
		lc__outdir_close(&module->part);
	module->part.fd = -1;
}

/* Lock the directory of a part, so that another push of the module does not remove it.
 * That push removes it when its own work is done, and the parent when that is empty. */
static lc_status
lock_part(struct module *module, const char *path)
{
	lc_status status = LC_NO_FILE;
	struct stat there, locked;

	unlock_part(module);
	for (int tries = 0; status == LC_NO_FILE && tries < 100; tries++) {
		status = lc__outdir_lock(path, &module->part);
		if (status != LC_OK) {
			module->part.fd = -1;
		} else if (fstat(module->part.fd, &locked) == -1 ||
		    stat(path, &there) == -1 || there.st_dev != locked.st_dev ||
		    there.st_ino != locked.st_ino) {
			status = lc__error(LC_NO_FILE, 0, "%s: was removed", path);
			unlock_part(module);
		}
	}
	return status;
}

/* The shards of a part are in PART/shards, where an earlier, killed push is continued. */
static lc_status
make(void *ctx, const char *run, size_t part, char **dir, struct lc__manifest *out)
{
	struct module *module = ctx;
	char *path, *shards = NULL;
	lc_status status;

	if (asprintf(&path, "%s/%s-%06zu", module->staging, run, part) < 0)
		return lc__no_memory(module->staging);
	status = lock_part(module, path);
	if (status == LC_OK && (shards = lc__path_join(path, SHARDS)) == NULL)
		status = lc__no_memory(path);
	module->how.input = module->source->parts[part].name;
	if (status == LC_OK)
		status = lc_export(module->cache, shards, &module->how, NULL);
	if (status == LC_OK)
		status = lc__push_read_manifest(shards, out);
	free(path);
	module->part.path = module->staging;
	if (status == LC_OK) {
		*dir = shards;
	} else {
		free(shards);
		unlock_part(module);
	}
	return status;
}

static void
done(void *ctx, const char *dir)
{
	struct module *module = ctx;
	const int parent = lc__open(module->staging, O_RDONLY | O_DIRECTORY);
	const size_t size = strlen(dir) - strlen("/" SHARDS) - strlen(module->staging) -
	    1;
	char *name = strndup(dir + strlen(module->staging) + 1, size);

	if (parent != -1 && name != NULL)
		(void)!lc__tree_remove(parent, name, module->staging);
	if (parent != -1)
		close(parent);
	free(name);
	unlock_part(module);
	(void)rmdir(module->staging);
}

static void
close_module(void *ctx)
{
	if (ctx != NULL)
		unlock_part(ctx);
	free(ctx);
}

char *
lc__push_options(const lc_export_options *how)
{
	char *text;

	if (asprintf(&text, "{\"metadata\":%s,\"shard_bytes\":%llu,\"shard_version\":%u}",
		how->metadata ? "true" : "false", (unsigned long long)how->shard_bytes,
		how->shard_version) < 0)
		return NULL;
	return text;
}

lc_status
lc__push_module(lc_cache *cache, const lc_export_options *how, const char *staging,
    struct lc__push_source *out)
{
	struct noting noting = { out, LC_OK };
	struct module *module = malloc(sizeof(*module));
	lc_status status;

	*out = (struct lc__push_source){ .ctx = module,
		.make = make,
		.done = done,
		.close = close_module };
	if (module == NULL)
		return lc__no_memory("push");
	*module = (struct module){ cache, *how, staging, out, { .fd = -1 } };
	module->how.by_input = 1;
	module->how.order = LC_BY_ORDER;
	out->options = lc__push_options(how);
	status = out->options != NULL ? lc_inputs(cache, note_input, &noting)
				      : lc__no_memory("push");
	if (status == LC_CANCELLED)
		status = noting.status;
	if (status == LC_OK && out->n == 0)
		status = lc__error(LC_INVALID, 0,
		    "the module has no inputs and so no parts; use cachex export "
		    "and push the shards");
	if (status != LC_OK)
		lc__push_source_close(out);
	return status;
}
