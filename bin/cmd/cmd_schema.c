/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/command.h"
#include "ui/module.h"
#include "ui/report.h"
#include "cmd/schemas.h"
#include "ui/settings.h"

static struct opt options[] = { { .kind = OPT_END } };

static int
run(int argc, char **argv)
{
	lc_cache *cache;
	lc_status shown;
	int status = module_open(argv[0], &cache);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	shown = settings.json ? schemas_lines(cache, argv[0]) :
	    schemas_text(cache, "");
	if (shown != LC_OK)
		status = report_status(shown);
	return module_close(cache, status);
}

const struct command cmd_schema = {
	.name = "schema",
	.operands = "MODULE",
	.summary = "list the structures of a module's values",
	.text =
	    "Lists every structure that the module's values have: names, dtypes and "
	    "ranks, where f32[*,*] has two dimensions of any size and plain stands "
	    "for data that is no tensor. Behind it, how many records have it, the "
	    "bytes of their tensors as they are and as they are stored, how many "
	    "times smaller that is, and the codecs. Dead records count until "
	    "compact takes them away.",
	.examples =
	    "cachex schema faces\n"
	    "cachex schema faces --json | jq '[.structure, .ratio]'",
	.completes = "m",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run
};
