/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/warehouse.h"

static struct opt options[] = { { .kind = OPT_END } };

static const struct command *const subcommands[] = {
	&warehouse_inspect, &warehouse_verify, &warehouse_list, &warehouse_compare,
	&warehouse_use, &warehouse_prune, &warehouse_report, NULL
};

const struct command cmd_warehouse = {
	.name = "warehouse",
	.operands = "WORD WAREHOUSE...",
	.summary = "look into, verify and compare warehouses",
	.text =
	    "A warehouse holds versions of a labelled dataset as TWH1 shards; cachex "
	    "build makes them. WAREHOUSE is its directory, which stands for the "
	    "version that its `current` points to, or the directory of one version. "
	    "A directory that cachex export has written will do as well.",
	.examples =
	    "cachex warehouse inspect warehouse\n"
	    "cachex warehouse verify warehouse && echo good",
	.completes = "",
	.least = 1,
	.most = -1,
	.subcommands = subcommands,
	.options = options
};
