/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills a module by inputs, as its arguments say, for tests of the tool:
 *
 *   fill_inputs ROOT MODULE STEP...
 *     length:PATH     the module's length field
 *     declare:A,B     its inputs
 *     A:N             a chunk of N records of input A; its cursor is the number of
 *                     records so far
 *     A:N:LENGTH      the same, record I of u16 as long as LENGTH + I
 *     A=CURSOR        only the cursor
 *     A!              finish input A
 *     A.              let go of input A
 *     end             finish all of them
 *     hold            say "holding" and wait until standard input ends
 *
 * Values are the numbers of the elements in their input, so that nothing read from
 * elsewhere looks the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"

#define MOST 64     /* inputs */
#define LONGEST 4096 /* elements of a record */

static lc_cache *cache;
static struct input {
	char name[64];
	lc_writer *writer;
	uint64_t records;  /* so far */
	uint16_t next;     /* value of the next element */
} inputs[MOST];

static void
need(lc_status status)
{
	if (status == LC_OK)
		return;
	fprintf(stderr, "fill_inputs: %s\n", lc_last_error()->text);
	exit(1);
}

/* The input of a name of @p size bytes, open for writing. */
static struct input *
input_of(const char *name, size_t size)
{
	struct input *input = inputs;

	while (input->name[0] != '\0' && (strncmp(input->name, name, size) != 0 ||
	    input->name[size] != '\0'))
		input++;
	if (input->writer == NULL) {
		const lc_input_info *info;
		snprintf(input->name, sizeof(input->name), "%.*s", (int)size, name);
		need(lc_writer_open(cache, input->name, &input->writer));
		info = lc_writer_info(input->writer);
		input->records = info->records;
		input->next = (uint16_t)info->length;
	}
	return input;
}

static void
declare(const char *names)
{
	lc_input list[MOST] = { { 0 } };
	char *copy = strdup(names), *rest = copy, *name;
	size_t n = 0;

	while (n < MOST && (name = strsep(&rest, ",")) != NULL) {
		list[n].name = name;
		list[n].fingerprint = lc_id_of("same");
		n++;
	}
	need(lc_inputs_declare(cache, n, list));
	free(copy);
}

static void
set_length(const char *path)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	need(lc_settings_get(cache, &settings));
	snprintf(settings.length_field, sizeof(settings.length_field), "%s", path);
	need(lc_settings_set(cache, &settings));
}

static void
put(struct input *input, uint64_t length)
{
	uint16_t data[LONGEST];
	lc_tensor tensor;
	char id[96];

	for (uint64_t i = 0; i < length && i < LONGEST; i++)
		data[i] = input->next++;
	need(lc_tensor_init(&tensor, LC_U16, 1, &length, data));
	snprintf(id, sizeof(id), "%s-%" PRIu64, input->name, input->records++);
	need(lc_writer_put(input->writer, id, strlen(id), &tensor));
}

static void
commit(struct input *input, const char *what)
{
	const uint64_t n = strtoull(what, NULL, 10);
	const char *colon = strchr(what, ':');
	const uint64_t length = colon != NULL ? strtoull(colon + 1, NULL, 10) : 2;
	char cursor[24];

	for (uint64_t i = 0; i < n; i++)
		put(input, colon != NULL ? length + i : length);
	snprintf(cursor, sizeof(cursor), "%" PRIu64, input->records);
	need(lc_writer_commit(input->writer, cursor, strlen(cursor)));
}

static void
let_go(struct input *input)
{
	lc_writer_close(input->writer);
	input->writer = NULL;
}

static void
hold(void)
{
	puts("holding");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

static void
step(const char *text)
{
	const size_t name = strcspn(text, ":=!.");

	if (strncmp(text, "declare:", 8) == 0)
		declare(text + 8);
	else if (strncmp(text, "length:", 7) == 0)
		set_length(text + 7);
	else if (strcmp(text, "end") == 0)
		need(lc_inputs_finish(cache));
	else if (strcmp(text, "hold") == 0)
		hold();
	else if (text[name] == ':')
		commit(input_of(text, name), text + name + 1);
	else if (text[name] == '=')
		need(lc_writer_commit(input_of(text, name)->writer, text + name + 1,
		    strlen(text + name + 1)));
	else if (text[name] == '!')
		need(lc_writer_finish(input_of(text, name)->writer, "end", 3));
	else
		let_go(input_of(text, name));
}

int
main(int argc, char **argv)
{
	lc_options options;

	if (argc < 4) {
		fprintf(stderr, "usage: fill_inputs ROOT MODULE STEP...\n");
		return 2;
	}
	lc_options_init(&options);
	options.flags = LC_CREATE;
	need(lc_open(argv[1], argv[2], &options, &cache));
	for (int i = 3; i < argc; i++)
		step(argv[i]);
	for (size_t i = 0; i < MOST; i++)
		lc_writer_close(inputs[i].writer);
	need(lc_close(cache));
	return 0;
}
