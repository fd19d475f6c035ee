/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/export_target.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "formats/outfile.h"
#include "ui/report.h"
#include "ui/suggest.h"

/* Endings that look like a file of a format which no ending chooses here. */
static const struct {
	const char *ending;
	const char *what;
} foreign[] = {
	{ "npy", "a .npy file" },
	{ "twh1", "a TWH1 shard" },
	{ "mds", "MDS" },
	{ "parquet", "Parquet" },
	{ "arrow", "Arrow" },
	{ "feather", "Arrow" },
	{ "h5", "HDF5" },
	{ "hdf5", "HDF5" },
	{ "zarr", "Zarr" },
	{ "tfrecord", "a TFRecord" },
	{ "tfrecords", "a TFRecord" },
	{ "onnx", "ONNX" },
	{ "pt", "a file of PyTorch" },
	{ "pth", "a file of PyTorch" },
	{ "pkl", "a pickle" },
	{ "pickle", "a pickle" },
	{ "json", "JSON" },
	{ "jsonl", "JSON" },
	{ "ndjson", "JSON" },
	{ "csv", "CSV" },
	{ "tsv", "CSV" },
	{ "txt", "text" },
	{ "msgpack", "MessagePack" },
	{ "sqlite", "SQLite" },
	{ "db", "a database" },
	{ "zip", "a zip archive" },
	{ "gz", "a compressed file" },
	{ "tgz", "a compressed file" },
	{ "bz2", "a compressed file" },
	{ "xz", "a compressed file" },
	{ "txz", "a compressed file" },
	{ "zst", "a compressed file" },
	{ "lz4", "a compressed file" },
	{ "7z", "a compressed file" }
};

/* What follows the last dot of the last part, NULL if there is no name before it. */
static const char *
ending_of(const char *target)
{
	const char *slash = strrchr(target, '/');
	const char *name = slash ? slash + 1 : target;
	const char *dot = strrchr(name, '.');

	return dot == NULL || dot == name || dot[1] == '\0' ? NULL : dot + 1;
}

static int
refuse_foreign(const char *target, const char *what)
{
	return report_usage("%s: looks like %s; cachex writes lmdb, mds, npy, npz, "
	    "safetensors, twh1 and webdataset; --format says which", target, what);
}

/* "out.safetensors" for "out.safetensor". */
static int
refuse_slip(const char *target, const char *ending, const char *meant)
{
	return report_usage("%s: no format has this ending; did you mean %.*s%s? "
	    "With --format twh1 it is a directory of shards", target,
	    (int)(ending - target), target, meant);
}

static int
check_ending(const char *target)
{
	const char *ending = ending_of(target);
	struct suggest suggest;
	char low[64];
	size_t size;

	if (ending == NULL || strlen(ending) >= sizeof(low))
		return EXIT_DONE;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (strcasecmp(ending, foreign[i].ending) == 0)
			return refuse_foreign(target, foreign[i].what);
	for (size = 0; ending[size] != '\0'; size++)
		low[size] = (char)tolower((unsigned char)ending[size]);
	low[size] = '\0';
	suggest_start(&suggest, low);
	for (size_t i = 0; lc__outgoing_formats[i] != NULL; i++)
		if (lc__outgoing_formats[i]->suffix != NULL)
			suggest_word(&suggest, lc__outgoing_formats[i]->suffix + 1);
	return suggest_best(&suggest) == NULL ? EXIT_DONE :
	    refuse_slip(target, ending, suggest_best(&suggest));
}

int
export_target_format(const char *target, const struct lc__outgoing_format **out)
{
	*out = NULL;
	if (lc__out_is_stdout(target))
		return report_usage("-: standard output needs --format npz or "
		    "webdataset");
	*out = lc__outgoing_of(target);
	return *out != NULL ? EXIT_DONE : check_ending(target);
}

int
export_target_check(const char *target, const struct lc__outgoing_format *format)
{
	if (!lc__out_is_stdout(target))
		return EXIT_DONE;
	if (format == NULL || !format->streams)
		return report_usage("-: %s cannot be written to standard output; npz "
		    "and webdataset can", format ? format->name : "twh1");
	if (isatty(STDOUT_FILENO))
		return report_usage("standard output is a terminal; use a pipe, or "
		    "name a file");
	return EXIT_DONE;
}
