/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/shares.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "order/shuffle.h"

struct lc__shares {
	struct lc__shares_rule rule;
	uint64_t chunks; /* N */
	uint64_t n;      /* examples */
	uint64_t each;   /* of a share; the first ones have one more */
	uint64_t longer; /* number of shares that have one more */
	uint64_t rounds; /* numbers of a share in an epoch */
	struct lc__permutation deal;
	uint64_t line[]; /* examples up to the end of each piece of the line */
};

/* ---- the deal ------------------------------------------------------------------------ */

static uint64_t
share_size(const struct lc__shares *s, uint32_t share)
{
	return s->each + (share < s->longer);
}

/* The position in the line where a share begins. */
static uint64_t
share_first(const struct lc__shares *s, uint32_t share)
{
	return share * s->each + (share < s->longer ? share : s->longer);
}

/* The position in the line where a chunk begins. */
static uint64_t
line_first(const struct lc__shares *s, uint64_t piece)
{
	return piece == 0 ? 0 : s->line[piece - 1];
}

/* The first of @p n ascending ends that is above @p place; there must be one. */
static uint64_t
above(const uint64_t *ends, uint64_t n, uint64_t place)
{
	uint64_t low = 0, high = n - 1;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (ends[middle] > place)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

lc_status
lc__shares_new(const struct lc__shares_rule *rule, const uint64_t *ends, uint64_t chunks,
    struct lc__shares **out)
{
	const uint64_t words[] = { rule->seed, 0, LC__TAG_DEAL };
	const uint64_t n = chunks > 0 ? ends[chunks - 1] : 0;
	struct lc__shares *s;
	uint64_t bytes, end = 0;

	if (n < rule->shares)
		return lc__error(LC_INVALID, 0,
		    "%llu examples are too few for %lu shares", (unsigned long long)n,
		    (unsigned long)rule->shares);
	s = lc__mul64(chunks, sizeof(s->line[0]), &bytes) &&
		bytes <= SIZE_MAX - sizeof(*s)
	    ? malloc(sizeof(*s) + bytes)
	    : NULL;
	if (s == NULL)
		return lc__no_memory("shares");
	*s = (struct lc__shares){
		.rule = *rule,
		.chunks = chunks,
		.n = n,
		.each = n / rule->shares,
		.longer = n % rule->shares,
		.rounds = n / rule->shares + (n % rule->shares > 0),
	};
	lc__permutation_init(&s->deal, chunks, lc__key(words, 3));
	for (uint64_t i = 0; i < chunks; i++) {
		const uint64_t chunk = lc__permute(&s->deal, i);

		end += ends[chunk] - (chunk == 0 ? 0 : ends[chunk - 1]);
		s->line[i] = end;
	}
	*out = s;
	return LC_OK;
}

void
lc__shares_free(struct lc__shares *s)
{
	free(s);
}

uint64_t
lc__shares_examples(const struct lc__shares *s)
{
	return s->n;
}

uint64_t
lc__shares_rounds(const struct lc__shares *s)
{
	return s->rounds;
}

uint64_t
lc__shares_numbers(const struct lc__shares *s)
{
	return s->rounds * s->rule.shares;
}

/* The first piece of a share, counted over the whole line, and the number of its
 * pieces. */
static void
pieces_of(const struct lc__shares *s, uint32_t share, uint64_t *first, uint64_t *n)
{
	const uint64_t begin = share_first(s, share);
	const uint64_t last = begin + share_size(s, share) - 1;

	*first = above(s->line, s->chunks, begin);
	*n = above(s->line, s->chunks, last) - *first + 1;
}

static int
compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

lc_status
lc__shares_chunks(const struct lc__shares *s, uint32_t reader, uint32_t readers,
    uint64_t **out, uint64_t *n)
{
	uint64_t first, pieces, all = 0, *list;

	for (uint32_t c = reader; c < s->rule.shares; c += readers) {
		pieces_of(s, c, &first, &pieces);
		all += pieces;
	}
	list = malloc((all + 1) * sizeof(*list));
	if (list == NULL)
		return lc__no_memory("shares");
	all = 0;
	for (uint32_t c = reader; c < s->rule.shares; c += readers) {
		pieces_of(s, c, &first, &pieces);
		for (uint64_t i = first; i < first + pieces; i++)
			if (s->line[i] > line_first(s, i)) /* not of an empty chunk */
				list[all++] = lc__permute(&s->deal, i);
	}
	/* Two shares may have pieces of one chunk. */
	qsort(list, all, sizeof(*list), compare);
	*n = 0;
	for (uint64_t i = 0; i < all; i++)
		if (*n == 0 || list[*n - 1] != list[i])
			list[(*n)++] = list[i];
	*out = list;
	return LC_OK;
}

/* A share's part of a piece of the line: its first position in the line, and its size. */
static uint64_t
piece_size(const struct lc__shares *s, uint32_t share, uint64_t piece, uint64_t *first)
{
	const uint64_t begin = share_first(s, share);
	const uint64_t end = begin + share_size(s, share);

	*first = line_first(s, piece);
	if (*first < begin)
		*first = begin;
	return (s->line[piece] < end ? s->line[piece] : end) - *first;
}

/* The order of the pieces of a share in an epoch. */
static void
order_pieces(const struct lc__shares *s, uint32_t share, uint64_t epoch, uint64_t pieces,
    struct lc__permutation *out)
{
	const uint64_t words[] = { s->rule.seed, epoch, LC__TAG_SHARE, share };

	lc__permutation_init(out, pieces, lc__key(words, 4));
}

/* ---- visits -------------------------------------------------------------------------- */

lc_status
lc__shares_visits(const struct lc__shares *s, uint32_t share, uint64_t epoch,
    struct lc__shares_visit **out, uint64_t *n)
{
	uint64_t first_piece, pieces, begin = 0, end = 0, window = 0, at = 0;
	struct lc__permutation order;
	struct lc__shares_visit *visit;

	pieces_of(s, share, &first_piece, &pieces);
	visit = calloc(pieces, sizeof(*visit));
	if (visit == NULL)
		return lc__no_memory("shares");
	order_pieces(s, share, epoch, pieces, &order);
	for (uint64_t i = 0; i < pieces; i++) {
		const uint64_t piece = first_piece + lc__permute(&order, i);
		uint64_t place;
		const uint64_t size = piece_size(s, share, piece, &place);

		end += size;
		if (size > 0) /* not of an empty chunk */
			visit[at++] = (struct lc__shares_visit){
				.chunk = lc__permute(&s->deal, piece),
				.first = begin
			};
		if ((i + 1) % s->rule.spread != 0 && i + 1 < pieces)
			continue;
		/* A share with one example less than others repeats its last one. */
		while (window < at)
			visit[window++].end = end < share_size(s, share) ? end
									 : s->rounds;
		begin = end;
	}
	*out = visit;
	*n = at;
	return LC_OK;
}

/* ---- cursors ------------------------------------------------------------------------- */

/* A piece of the current window. */
struct piece {
	uint64_t end;    /* examples of the window up to its end */
	uint64_t chunk;  /* position in the order of chunks */
	uint64_t offset; /* in the chunk, where the piece begins */
};

/* A share in one epoch, and one of its windows. */
struct lc__share_sums {
	uint32_t share;
	uint64_t first_piece, pieces; /* of the line */
	uint64_t windows;
	uint64_t epoch;               /* of what follows */
	struct lc__permutation order; /* of the pieces */
	uint64_t first, end; /* examples of the share before the window, and up to
	                                  its end; none if equal */
	uint64_t in_window;  /* pieces */
	struct lc__permutation inside; /* of the window's examples */
	struct piece *piece;           /* of the window; after the ends */
	uint64_t ends[]; /* examples of the share up to the end of each window */
};

/* Sum the windows of an epoch. */
static void
begin_epoch(const struct lc__shares *s, struct lc__share_sums *sums, uint64_t epoch)
{
	uint64_t end = 0, first, left = 0, window = 0;

	sums->epoch = epoch;
	sums->first = sums->end = 0;
	order_pieces(s, sums->share, epoch, sums->pieces, &sums->order);
	for (uint64_t i = 0; i < sums->pieces; i++) {
		if (left == 0) {
			left = s->rule.spread;
			window++;
		}
		end += piece_size(s, sums->share,
		    sums->first_piece + lc__permute(&sums->order, i), &first);
		sums->ends[window - 1] = end;
		left--;
	}
}

static void
begin_window(const struct lc__shares *s, struct lc__share_sums *sums, uint64_t i)
{
	const uint64_t window = above(sums->ends, sums->windows, i);
	const uint64_t words[] = { s->rule.seed, sums->epoch, LC__TAG_NEAR, sums->share,
		window };
	const uint64_t before = window * s->rule.spread; /* pieces */
	uint64_t end = 0, first;

	sums->first = window == 0 ? 0 : sums->ends[window - 1];
	sums->end = sums->ends[window];
	lc__permutation_init(&sums->inside, sums->end - sums->first, lc__key(words, 5));
	sums->in_window = sums->pieces - before < s->rule.spread ? sums->pieces - before
								 : s->rule.spread;
	for (uint64_t k = 0; k < sums->in_window; k++) {
		const uint64_t at = sums->first_piece +
		    lc__permute(&sums->order, before + k);

		end += piece_size(s, sums->share, at, &first);
		sums->piece[k] = (struct piece){ end, lc__permute(&s->deal, at),
			first - line_first(s, at) };
	}
}

static lc_status
begin_share(struct lc__shares_cursor *cursor, uint32_t share, uint64_t epoch)
{
	const struct lc__shares *s = cursor->shares;
	const uint64_t spread = s->rule.spread;
	struct lc__share_sums *sums;
	uint64_t first, pieces, windows, most;

	if (cursor->of == NULL)
		cursor->of = calloc(s->rule.shares, sizeof(struct lc__share_sums *));
	if (cursor->of == NULL)
		return lc__no_memory("shares");
	pieces_of(s, share, &first, &pieces);
	windows = (pieces - 1) / spread + 1;
	most = pieces < spread ? pieces : spread;
	/* At most a few times the memory of the line. */
	sums = malloc(sizeof(*sums) + windows * sizeof(sums->ends[0]) +
	    most * sizeof(struct piece));
	if (sums == NULL)
		return lc__no_memory("shares");
	*sums = (struct lc__share_sums){
		.share = share,
		.first_piece = first,
		.pieces = pieces,
		.windows = windows,
	};
	sums->piece = (struct piece *)(sums->ends + windows);
	begin_epoch(s, sums, epoch);
	cursor->of[share] = sums;
	return LC_OK;
}

/* The piece with example @p i of the window. */
static const struct piece *
piece_of(const struct lc__share_sums *sums, uint64_t i)
{
	uint64_t low = 0, high = sums->in_window - 1;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (sums->piece[middle].end > i)
			high = middle;
		else
			low = middle + 1;
	}
	return &sums->piece[low];
}

lc_status
lc__shares_at(struct lc__shares_cursor *cursor, uint64_t x, struct lc__shares_place *out)
{
	const struct lc__shares *s = cursor->shares;
	const uint32_t share = (uint32_t)(x % s->rule.shares);
	const uint64_t round = x / s->rule.shares, epoch = round / s->rounds;
	uint64_t i = round % s->rounds;
	const struct piece *piece;
	struct lc__share_sums *sums;

	if (cursor->of == NULL || cursor->of[share] == NULL)
		return_if_error(begin_share(cursor, share, epoch));
	sums = cursor->of[share];
	if (sums->epoch != epoch)
		begin_epoch(s, sums, epoch);
	if (i == share_size(s, share)) /* one less than others */
		i--;
	if (i < sums->first || i >= sums->end)
		begin_window(s, sums, i);

	i = lc__permute(&sums->inside, i - sums->first);
	piece = piece_of(sums, i);
	out->epoch = epoch;
	out->chunk = piece->chunk;
	out->offset = piece->offset + i - (piece == sums->piece ? 0 : piece[-1].end);
	return LC_OK;
}

void
lc__shares_cursor_end(struct lc__shares_cursor *cursor)
{
	for (uint32_t c = 0; cursor->of != NULL && c < cursor->shares->rule.shares; c++)
		free(cursor->of[c]);
	free(cursor->of);
	cursor->of = NULL;
}
