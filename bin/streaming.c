/* SPDX-License-Identifier: BSD-2-Clause */
#include "streaming.h"

#include <errno.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "module.h"
#include "report.h"
#include "settings.h"
#include "size.h"
#include "store/cache.h"

/* ---- one source ----------------------------------------------------------------- */

bool
streaming_is_path(const char *name)
{
	return strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0;
}

/* What the name means: a module that is there, or else a path; reports. */
static int
look_up(struct streaming_source *s)
{
	int status;

	if (streaming_is_path(s->name))
		return EXIT_DONE;
	if (lc__check_module_id(s->name) == LC_OK) {
		status = module_open_if_there(s->name, &s->cache);
		if (status != EXIT_DONE || s->cache != NULL)
			return status;
	}
	if (access(s->name, F_OK) == 0)
		return EXIT_DONE;
	if (errno != ENOENT && errno != ENOTDIR)
		return report_errno(s->name);
	report_error("there is no module %s in %s, and no file or directory of that "
	    "name", s->name, settings.root);
	return EXIT_NO;
}

static int
open_source(struct streaming_source *s, const lc_source_options *how)
{
	lc_status opened;
	const int status = look_up(s);

	if (status != EXIT_DONE)
		return status;
	if (s->cache == NULL) {
		opened = lc_source_open_shards(s->name, how, &s->source);
		return opened == LC_OK ? EXIT_DONE : report_file(opened);
	}
	opened = lc_source_open_module(s->cache, how, &s->source);
	return opened == LC_OK ? EXIT_DONE : report_argument(opened);
}

/* ---- all of them ---------------------------------------------------------------- */

/* "faces=3": what stands behind the last = is a weight if it is a number. */
static int
read_mix(const char *text, struct streaming_source *s, uint64_t *weight)
{
	const char *sign = strrchr(text, '=');

	*weight = 1;
	if (sign != NULL && !count_parse(sign + 1, weight))
		sign = NULL;
	if (*weight == 0 || sign == text || *text == '\0')
		return report_usage("--mix: '%s' is not SOURCE[=WEIGHT], a weight being "
		    "1 or more", text);
	s->name = sign != NULL ? strndup(text, (size_t)(sign - text)) : strdup(text);
	return s->name != NULL ? EXIT_DONE : report_errno(text);
}

static int
read_names(struct streaming *out, const char *first, const struct streamopts *opts)
{
	int status = EXIT_DONE;

	out->n = opts->mix.count + 1;
	out->sources = calloc(out->n, sizeof(*out->sources));
	out->weights = calloc(out->n, sizeof(*out->weights));
	if (out->sources == NULL || out->weights == NULL)
		return report_errno("memory");
	out->weights[0] = opts->weight;
	out->sources[0].name = strdup(first);
	if (out->sources[0].name == NULL)
		return report_errno("memory");
	for (size_t i = 1; i < out->n && status == EXIT_DONE; i++)
		status = read_mix(opts->mix.items[i - 1], &out->sources[i],
		    &out->weights[i]);
	return status;
}

int
streaming_open(struct streaming *out, const char *first,
    const struct streamopts *opts, bool verify)
{
	lc_source_options how;
	int status;

	memset(out, 0, sizeof(*out));
	lc_source_options_init(&how);
	how.verify = verify;
	how.length_field = opts->length;
	status = read_names(out, first, opts);
	for (size_t i = 0; i < out->n && status == EXIT_DONE; i++)
		status = open_source(&out->sources[i], &how);
	if (status != EXIT_DONE)
		return streaming_close(out, status);
	return EXIT_DONE;
}

lc_status
streaming_start(const struct streaming *streaming, lc_stream_options *how,
    lc_stream **out)
{
	lc_source **sources = calloc(streaming->n, sizeof(lc_source *));
	lc_status status;

	if (sources == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	for (size_t i = 0; i < streaming->n; i++)
		sources[i] = streaming->sources[i].source;
	how->weights = streaming->n > 1 ? streaming->weights : NULL;
	status = lc_stream_open(sources, streaming->n, how, out);
	free(sources);
	return status;
}

int
streaming_close(struct streaming *streaming, int status)
{
	for (size_t i = 0; streaming->sources != NULL && i < streaming->n; i++) {
		struct streaming_source *s = &streaming->sources[i];
		lc_source_close(s->source);
		if (s->cache != NULL)
			status = module_close(s->cache, status);
		free(s->name);
	}
	free(streaming->sources);
	free(streaming->weights);
	memset(streaming, 0, sizeof(*streaming));
	return status;
}
