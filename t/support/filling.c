/* SPDX-License-Identifier: BSD-2-Clause */
#include "filling.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "run.h"
#include "sample.h"

#define SIZES ((struct sample_range){ 8, 120 })

lc_status
filling_declare(lc_cache *cache, unsigned n)
{
	lc_input *inputs = calloc(n, sizeof(*inputs));
	char (*names)[16] = calloc(n, sizeof(*names));
	char (*prints)[16] = calloc(n, sizeof(*prints));
	lc_status status;

	need(inputs != NULL && names != NULL && prints != NULL);
	for (unsigned i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "in%u", i);
		snprintf(prints[i], sizeof(prints[i]), "fp%u", i);
		inputs[i] = (lc_input){ names[i], { prints[i], strlen(prints[i]) } };
	}
	status = lc_inputs_declare(cache, n, inputs);
	free(inputs);
	free(names);
	free(prints);
	return status;
}

lc_status
filling_open(lc_cache *cache, unsigned input, lc_writer **out)
{
	char name[16];

	snprintf(name, sizeof(name), "in%u", input);
	return lc_writer_open(cache, name, out);
}

unsigned
filling_records(unsigned input, uint64_t ordinal)
{
	uint64_t state = input * 1000003u + ordinal;

	return (unsigned)(1 + run_random(&state) % 5);
}

static size_t
name_record(char out[64], unsigned input, uint64_t ordinal, unsigned i)
{
	return (size_t)snprintf(out, 64, "in%u:%" PRIu64 ":%u", input, ordinal, i);
}

void
filling_put(lc_writer *writer)
{
	const lc_input_info *info = lc_writer_info(writer);
	const unsigned n = filling_records(info->index, info->chunks);

	for (unsigned i = 0; i < n; i++) {
		char id[64];
		const size_t size = name_record(id, info->index, info->chunks, i);
		lc_tensor tensor;

		sample_make(&tensor, id, size, 1, SIZES);
		need_ok(lc_writer_put(writer, NULL, 0, &tensor));
		sample_free(&tensor);
	}
}

lc_status
filling_commit(lc_writer *writer, int finish)
{
	char cursor[32];
	size_t size;

	filling_put(writer);
	size = (size_t)snprintf(cursor, sizeof(cursor), "%" PRIu64,
	    lc_writer_info(writer)->chunks + 1);
	return finish ? lc_writer_finish(writer, cursor, size) :
	    lc_writer_commit(writer, cursor, size);
}

lc_fill
filling_state(lc_cache *cache)
{
	lc_fill fill = { .struct_size = sizeof(fill) };

	need_ok(lc_fill_get(cache, &fill));
	return fill;
}

lc_fill
filling_state_of(const char *root)
{
	lc_cache *cache = sample_open(root, "m", NULL);
	const lc_fill fill = filling_state(cache);

	need_ok(lc_close(cache));
	return fill;
}

void
filling_check_chunk(lc_cache *cache, unsigned input, uint64_t ordinal)
{
	const unsigned n = filling_records(input, ordinal);

	for (unsigned i = 0; i < n; i++) {
		char id[64];
		const size_t size = name_record(id, input, ordinal, i);
		lc_view view;

		need_ok(lc_get(cache, id, size, &view));
		need(sample_is(&view.tensor, id, size, 1, SIZES));
		lc_view_release(&view);
	}
}
