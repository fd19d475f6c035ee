/* SPDX-License-Identifier: BSD-2-Clause */
/* Starting producers. */
#include "fill/child.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* The variables that are ours, NULL-terminated. */
static const char *const variables[] = {
	"CACHEX_PROTOCOL=", "CACHEX_MODULE=", "CACHEX_WORKER=", "CACHEX_FRAME_MAX=", NULL
};

static bool
is_ours(const char *entry)
{
	for (size_t i = 0; variables[i] != NULL; i++)
		if (strncmp(entry, variables[i], strlen(variables[i])) == 0)
			return true;
	return false;
}

/* Our variables as strings with a NUL behind each. */
static void
write_variables(const struct lc__child *child, struct lc__buf *out)
{
	lc__buf_printf(out, "%s%d%c", variables[0], LC__PROTOCOL, 0);
	if (child->how->module != NULL)
		lc__buf_printf(out, "%s%s%c", variables[1], child->how->module, 0);
	lc__buf_printf(out, "%s%u%c", variables[2], child->number, 0);
	lc__buf_printf(out, "%s%u%c", variables[3], lc__child_frame_max(child), 0);
}

/* Our environment with those variables; the array is to be freed. */
static char **
make_environment(const struct lc__buf *text)
{
	char **out, *entry = (char *)text->data;
	size_t n = 0;

	while (environ != NULL && environ[n] != NULL)
		n++;
	out = calloc(n + sizeof(variables) / sizeof(variables[0]), sizeof(*out));
	if (out == NULL || text->failed) {
		free(out);
		return NULL;
	}
	n = 0;
	for (char **at = environ; at != NULL && *at != NULL; at++)
		if (!is_ours(*at))
			out[n++] = *at;
	for (; entry < (char *)text->data + text->size; entry += strlen(entry) + 1)
		out[n++] = entry;
	return out;
}

/* The system kills the producer's first process with us, but mostly that is a shell
 * which waits for the one that computes. A process in their group that sees the end of a
 * pipe from us kills them all. */
static lc_status
set_guard(struct lc__child *child, char *const *environment)
{
	const struct lc__command guard = {
		.text = ": ends a producer when cachex is gone; read x; kill -KILL 0",
		.environment = environment, .group = child->process.pid
	};

	return_if_error(lc__spawn(&guard, &child->guard));
	close(child->guard.out);
	close(child->guard.err);
	return LC_OK;
}

static lc_status
start(struct lc__child *child, char *const *environment)
{
	const struct lc__command command = {
		.text = child->how->command, .environment = environment
	};

	return_if_error(lc__spawn(&command, &child->process));
	return set_guard(child, environment);
}

static void
begin(struct lc__child *child)
{
	child->status = -1;
	child->messages = (struct lc__messages){
		.line = child->how->line, .ctx = child->how->line_ctx,
		.child = child->number
	};
	child->requests.size = child->sent = 0;
	child->sys = 0;
	child->broken = child->answered = child->retiring = child->leaving = false;
	lc__child_next_frame(child);
}

lc_status
lc__child_start(struct lc__child *child)
{
	struct lc__buf text = { 0 };
	char **environment;
	lc_status status;

	begin(child);
	write_variables(child, &text);
	environment = make_environment(&text);
	if (environment == NULL)
		status = lc__no_memory(NULL);
	else
		status = start(child, environment);
	free(environment);
	lc__buf_free(&text);
	return status == LC_OK ? LC_OK : lc__error_prefix("producer %s",
	    lc__quote_id(child->how->command, strlen(child->how->command)));
}
