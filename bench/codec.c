/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The codecs beside plain LZ4 on the same bytes: how much smaller tensors get and
 * how fast, on one thread.
 */
#include <err.h>
#include <lz4.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "codec/codec.h"
#include "choice.h"
#include "harness.h"
#include "samples.h"

#define PHOTOGRAPHS "/usr/share/backgrounds"
#define ROUNDS 7

/* LZ4_compress_default() of the whole tensor. */
#define PLAIN LC_CODEC_NONE

static const struct {
	const char *name;
	lc_codec codec;
} contenders[] = {
	{ "plain LZ4", PLAIN },
	{ "lz4", LC_CODEC_LZ4 },
	{ "shuffle-lz4", LC_CODEC_SHUFFLE_LZ4 },
	{ "u8pack", LC_CODEC_U8PACK },
	{ "u8pack-lz4", LC_CODEC_U8PACK_LZ4 },
	{ "auto", LC_CODEC_AUTO },
};
#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

/* The samples of a case, coded by one contender. */
struct coded {
	struct lc__buf bytes[SAMPLES_MAX];
	lc_codec used[SAMPLES_MAX]; /* PLAIN: by the contender of that name */
	bool stored[SAMPLES_MAX];   /* not smaller, kept as it is */
};

static void
encode_one(lc_codec codec, const lc_tensor *tensor, struct coded *coded, unsigned i)
{
	struct lc__buf *out = &coded->bytes[i];
	const int bound = LZ4_compressBound((int)tensor->nbytes);

	if (codec != PLAIN) {
		if (lc__codec_encode(codec, 0, tensor, out, &coded->used[i]) != LC_OK)
			errx(1, "%s", lc_last_error()->text);
		coded->stored[i] = coded->used[i] == LC_CODEC_NONE;
		return;
	}
	out->size = 0;
	if (lc__buf_append(out, NULL, (size_t)bound) == NULL)
		err(1, NULL);
	out->size = (size_t)LZ4_compress_default(tensor->data, (char *)out->data,
	    (int)tensor->nbytes, bound);
	coded->used[i] = PLAIN;
}

static void
decode_one(const lc_tensor *tensor, const struct coded *coded, unsigned i, void *out)
{
	const struct lc__buf *in = &coded->bytes[i];

	if (coded->stored[i])
		memcpy(out, tensor->data, tensor->nbytes);
	else if (coded->used[i] == PLAIN ?
	    LZ4_decompress_safe((const char *)in->data, out, (int)in->size,
	    (int)tensor->nbytes) != (int)tensor->nbytes :
	    !lc__codec_decode(coded->used[i], in->data, in->size, tensor, out))
		errx(1, "decoding failed");
}

/* Code all samples and decode them; compare in the first round. */
static void
measure(struct bench *bench, const char *name, unsigned c,
    const struct samples *samples, struct coded *coded, void *out, bool first)
{
	double raw = 0, small = 0, encode = 0, decode = 0, start;

	for (unsigned i = 0; i < samples->n; i++) {
		const lc_tensor *tensor = &samples->tensor[i];
		start = bench_seconds();
		encode_one(contenders[c].codec, tensor, coded, i);
		encode += bench_seconds() - start;
		raw += (double)tensor->nbytes;
		small += (double)(coded->stored[i] ? tensor->nbytes : coded->bytes[i].size);
		start = bench_seconds();
		decode_one(tensor, coded, i, out);
		decode += bench_seconds() - start;
		if (first && memcmp(out, tensor->data, tensor->nbytes) != 0)
			errx(1, "%s: %s returned other bytes", name, contenders[c].name);
	}
	if (first) /* memory was touched for the first time */
		return;
	bench_run(bench, name, contenders[c].name, "ratio", "", raw / small);
	bench_run(bench, name, contenders[c].name, "encode", "GB/s", raw / encode / 1e9);
	bench_run(bench, name, contenders[c].name, "decode", "GB/s", raw / decode / 1e9);
}

/* Is there anything in it for the contender? */
static bool
applies(lc_codec codec, lc_dtype dtype)
{
	if (codec == LC_CODEC_SHUFFLE_LZ4)
		return lc_dtype_size(dtype) > 1;
	if (codec == LC_CODEC_U8PACK || codec == LC_CODEC_U8PACK_LZ4)
		return dtype == LC_F32 || dtype == LC_F16;
	return true;
}

static void
measure_case(struct bench *bench, enum sample_kind kind, unsigned rounds)
{
	const char *name = samples_name(kind);
	struct coded coded[CONTENDERS] = { 0 };
	struct samples samples;
	void *out = malloc(SAMPLE_ELEMENTS * 8);

	samples_make(kind, &samples);
	if (out == NULL)
		err(1, NULL);
	for (unsigned round = 0; round <= rounds && samples.n > 0; round++)
		for (unsigned c = 0; c < CONTENDERS; c++)
			if (applies(contenders[c].codec, samples.tensor[0].dtype))
				measure(bench, name, c, &samples, &coded[c], out, round == 0);
	for (unsigned c = 0; c < CONTENDERS; c++)
		for (unsigned i = 0; i < SAMPLES_MAX; i++)
			lc__buf_free(&coded[c].bytes[i]);
	free(out);
	if (samples.n > 0)
		bench_print(bench, name);
	samples_free(&samples);
}

/* ---- ratios ------------------------------------------------------------------------ */

static void
state_u8pack(struct bench *bench)
{
	static const struct {
		const char *metric;
		double target;
	} wanted[] = { { "ratio", 3.995 }, { "encode", 4 }, { "decode", 8 } };
	const char *name = samples_name(PIXELS_F32);

	for (unsigned i = 0; i < 3; i++)
		bench_ratio(bench, bench_median(bench, name, "u8pack", wanted[i].metric),
		    ">=", wanted[i].target, "%s: u8pack, %s%s", name, wanted[i].metric,
		    i == 0 ? "" : ", GB/s");
}

/* Blocks cost nothing that matters beside LZ4 over the whole tensor. Normal numbers do
 * not shrink. */
static void
state_blocks(struct bench *bench)
{
	static const char *const metrics[] = { "ratio", "encode", "decode" };

	for (unsigned kind = 0; kind < NORMAL_F32; kind++)
		for (unsigned m = 0; m < 3; m++) {
			const char *name = samples_name(kind);
			bench_ratio(bench, bench_median(bench, name, "lz4", metrics[m]) /
			    bench_median(bench, name, "plain LZ4", metrics[m]), ">=", 0.9,
			    "%s: lz4 over plain LZ4, %s", name, metrics[m]);
		}
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("codec", choice.results);
	const char *dir = getenv("BENCH_PHOTOGRAPHS");
	unsigned n;

	if (dir == NULL || *dir == '\0')
		dir = PHOTOGRAPHS;
	n = samples_photographs(dir);
	if (n == 0)
		printf("photographs: left out, no large *.jpg in %s\n", dir);
	else
		printf("%u photographs of %s, 3 x %d x %d\n", n, dir, SAMPLE_SIDE,
		    SAMPLE_SIDE);
	for (unsigned kind = 0; kind < SAMPLE_KINDS; kind++)
		if (choice.cases == NULL || choice_has(&choice, samples_name(kind), true))
			measure_case(bench, kind, choice.quick ? 1 : choice.rounds);
	state_u8pack(bench);
	state_blocks(bench);
	bench_finish(bench);
	return 0;
}
