/* SPDX-License-Identifier: BSD-2-Clause */
#include "records.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "run.h"

/* A line that is being put together. */
struct making {
	struct records *records;
	struct records_line *out;
	const char *comma, *colon; /* what is behind them */
	bool ascii;
	bool first_v1, first_v2;   /* no member yet */
	char path[300], path_v1[600]; /* as bytes, and as the line has it */
};

/* Pieces of names: raw, in JSON, in JSON of ASCII alone. */
static const struct {
	const char *raw, *json, *ascii;
} pieces[] = {
	{ "img", "img", "img" }, { "caf\xc3\xa9", "caf\xc3\xa9", "caf\\u00e9" },
	{ "\xe7\x8c\xab", "\xe7\x8c\xab", "\\u732b" },
	{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\\ud83d\\ude00" },
	{ "a\"b", "a\\\"b", "a\\\"b" }, { "a\\b", "a\\\\b", "a\\\\b" },
	{ "tab\t", "tab\\u0009", "tab\\u0009" }, { "two words", "two words", "two words" },
};

#define N_PIECES (sizeof(pieces) / sizeof(pieces[0]))

/* Members that are nobody's business: they come out as they went in. */
static const char *const others[] = {
	"\"n\":%1234567890123456789012345678901234567890", "\"x\":%1E400", "\"z\":%-0.0",
	"\"e\":%6.02214076e+23", "\"t\":%1e-7", "\"b\":%[true, false,null]",
	"\"o\":%{\"dinov3_embedding\": [1,2], \"k\":{\"\":[]}}", "\"s\":%\"\\u0000\\n\\/\"",
	"\"u\":%\"\\ud83d\\ude00 \\u00E9\"", "\"\\u0063aption2\":%\"A \\\"caption\\\"\"",
	"\"lone\":%\"\\ud800\"", "\"t5_attention_mask\":%[1, 1,1 ,0]", "\"f\":%0.1000000000000000055",
};

static uint64_t
pick(struct records *r, uint64_t n)
{
	return run_random(&r->random) % n;
}

/* ---- parts -------------------------------------------------------------------------- */

static void
put(struct lc__buf *out, const char *text)
{
	lc__buf_append(out, text, strlen(text));
}

static void
put_comma(struct making *m, struct lc__buf *out, bool *first)
{
	if (!*first)
		lc__buf_printf(out, ",%s", m->comma);
	*first = false;
}

/* A member whose text has % for what is behind its colon. */
static void
put_member(struct making *m, const char *text, bool v1, bool v2)
{
	const char *mark = strchr(text, '%');
	struct lc__buf *const outs[] = { &m->out->v1, &m->out->v2 };
	bool *const firsts[] = { &m->first_v1, &m->first_v2 };
	const bool wanted[] = { v1, v2 };

	for (int i = 0; i < 2; i++) {
		if (!wanted[i])
			continue;
		put_comma(m, outs[i], firsts[i]);
		lc__buf_append(outs[i], text, (size_t)(mark - text));
		put(outs[i], m->colon);
		put(outs[i], mark + 1);
	}
}

static void __attribute__((format(printf, 4, 5)))
member(struct making *m, bool v1, bool v2, const char *format, ...)
{
	struct lc__buf text = { 0 };
	char value[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	put(&text, value);
	lc__buf_append(&text, "", 1);
	put_member(m, (const char *)text.data, v1, v2);
	lc__buf_free(&text);
}

static void
put_number(struct records *r, struct lc__buf *out, float *value)
{
	const double number = (double)(int64_t)run_random(&r->random) * 0x1p-63;
	char text[64];

	switch (pick(r, 12)) {
	case 0: snprintf(text, sizeof(text), "%d", (int)(number * 1000)); break;
	case 1: snprintf(text, sizeof(text), "%.3E", number * 1e-12); break;
	case 2: snprintf(text, sizeof(text), "-0.0"); break;
	case 3: snprintf(text, sizeof(text), "%.30f", number); break;
	default: snprintf(text, sizeof(text), "%.17g", number); break;
	}
	*value = (float)strtod(text, NULL);
	put(out, text);
}

static void
put_array(struct making *m, unsigned dims)
{
	struct lc__buf *out = &m->out->v1;

	put_comma(m, out, &m->first_v1);
	lc__buf_printf(out, "\"%s\":%s[", pick(m->records, 8) == 0 ?
	    "dinov3_\\u0065mbedding" : "dinov3_embedding", m->colon);
	for (unsigned i = 0; i < dims; i++) {
		if (i > 0)
			lc__buf_printf(out, ",%s", m->comma);
		put_number(m->records, out, &m->out->values[i % RECORDS_DIMS_MAX]);
	}
	put(out, "]");
}

/* ---- ids ------------------------------------------------------------------------------ */

static int
by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool
is_free(struct records *r, const char *id)
{
	return tfind(id, &r->ids, by_text) == NULL;
}

/* The rule of cachex-migrate(1), for paths of these tests. */
static void
choose_id(struct making *m)
{
	char *id = m->out->id;
	const size_t room = sizeof(m->out->id);
	const char *name = strrchr(m->path, '/') + 1;

	snprintf(id, room, "%.*s", (int)(strrchr(name, '.') - name), name);
	m->out->longer = !is_free(m->records, id);
	if (!is_free(m->records, id))
		snprintf(id, room, "%s", name);
	if (!is_free(m->records, id))
		snprintf(id, room, "%s", m->path);
	for (unsigned i = 2; !is_free(m->records, id); i++)
		snprintf(id, room, "%s#%u", m->path, i);
	tsearch(strdup(id), &m->records->ids, by_text);
}

/* As a JSON string's inside: the pieces know how. */
static void
put_id(struct making *m, char *out, size_t room)
{
	const char *at = m->out->id;
	size_t n = 0;

	while (*at != '\0') {
		size_t i = 0;
		while (i < N_PIECES && strncmp(at, pieces[i].raw, strlen(pieces[i].raw)) != 0)
			i++;
		n += (size_t)snprintf(out + n, room - n, "%.*s", i < N_PIECES ? 99 : 1,
		    i == N_PIECES ? at : m->ascii ? pieces[i].ascii : pieces[i].json);
		at += i < N_PIECES ? strlen(pieces[i].raw) : 1;
	}
}

static void
make_path(struct making *m)
{
	static const char *const extensions[] = { "jpg", "png", "jpeg" };
	const size_t piece = m->records->plain ? 0 : pick(m->records, N_PIECES);
	uint64_t number = m->records->line;

	/* Now and then the name of one before, or all of its path. */
	if (!m->records->plain && number > 4 && pick(m->records, 8) == 0)
		number -= 1 + pick(m->records, 4);
	const unsigned dir = (unsigned)pick(m->records, 2), ext = (unsigned)pick(m->records, 3);
	snprintf(m->path, sizeof(m->path), "d%u/%s%llu.%s", dir, pieces[piece].raw,
	    (unsigned long long)number, extensions[ext]);
	snprintf(m->path_v1, sizeof(m->path_v1), "d%u%s%s%llu.%s", dir,
	    pick(m->records, 4) == 0 ? "\\/" : "/",
	    m->ascii ? pieces[piece].ascii : pieces[piece].json,
	    (unsigned long long)number, extensions[ext]);
}

/* ---- lines ------------------------------------------------------------------------------ */

static void
begin(struct making *m, struct records *r, struct records_line *out)
{
	static const char *const blanks[] = { "", " " };

	memset(m, 0, sizeof(*m));
	m->records = r;
	m->out = out;
	m->comma = blanks[pick(r, 2)];
	m->colon = blanks[pick(r, 2)];
	m->ascii = pick(r, 2);
	m->first_v1 = m->first_v2 = true;
	out->v1.size = out->v2.size = 0;
	put(&out->v1, "{");
	put(&out->v2, "{");
	r->line++;
}

static void
finish(struct making *m, const char *end)
{
	static const char *const ends[] = { "}\n", "}\n", "}\n", " }\n", "}\r\n", "}  \n" };

	if (end == NULL)
		end = ends[pick(m->records, 6)];
	put(&m->out->v1, end);
	put(&m->out->v2, end);
}

/* What a record of version 2 has, of which some may be there with other values. */
static void
put_news(struct making *m, unsigned there)
{
	size_t n;
	const lc_bucket *all = lc_buckets_default(&n);
	const lc_bucket *b = &all[lc_bucket_nearest(all, n, m->out->width, m->out->height)];
	char id[1000];

	put_id(m, id, sizeof(id));
	if (!(there & 1))
		member(m, false, true, "\"image_id\":%%\"%s\"", id);
	if (!(there & 2))
		member(m, false, true, "\"aspect_bucket\":%%\"%ux%u\"", b->width, b->height);
	if (!(there & 4))
		member(m, false, true, "\"format_version\":%%2");
}

/* Members with names of version 2 in a record that is not: they get new values. */
static void
put_old_news(struct making *m, unsigned there)
{
	char id[1000];

	put_id(m, id, sizeof(id));
	if (there & 1) {
		member(m, true, false, "\"image_id\":%%null");
		member(m, false, true, "\"image_id\":%%\"%s\"", id);
	}
	if (there & 4) {
		member(m, true, false, "\"format_version\":%%1");
		member(m, false, true, "\"format_version\":%%2");
	}
}

static void
put_others(struct making *m)
{
	const size_t n = sizeof(others) / sizeof(others[0]);
	const size_t count = pick(m->records, 4), first = pick(m->records, n);

	for (size_t i = 0; i < count; i++)
		put_member(m, others[(first + i) % n], true, true);
}

static void
put_sides(struct making *m)
{
	m->out->width = 64 + (unsigned)pick(m->records, 4000);
	m->out->height = 64 + (unsigned)pick(m->records, 4000);
	member(m, true, true, "\"height\":%%%u", m->out->height);
	member(m, true, true, "\"width\":%%%u%s", m->out->width,
	    pick(m->records, 8) == 0 ? ".0" : "");
}

/* The array stands first, last or somewhere between. */
static void
make_good(struct making *m, bool array)
{
	const uint64_t place = pick(m->records, 3);
	const unsigned there = m->records->plain ? 0 : (unsigned)pick(m->records, 12) & 5;

	choose_id(m);
	m->out->kind = array ? RECORDS_GOOD : RECORDS_MISSING;
	if (array && place == 0)
		put_array(m, m->records->dims);
	member(m, true, true, "\"image_path\":%%\"%s\"", m->path_v1);
	put_others(m);
	if (array && place == 1)
		put_array(m, m->records->dims);
	if (!array && place == 0)
		member(m, true, false, "\"dinov3_embedding\":%%null");
	put_old_news(m, there);
	put_sides(m);
	if (array && place == 2)
		put_array(m, m->records->dims);
	put_news(m, there);
	finish(m, NULL);
}

static void
make_v2(struct making *m)
{
	char id[1000];

	choose_id(m);
	m->out->longer = false;
	m->out->kind = RECORDS_V2;
	put_id(m, id, sizeof(id));
	member(m, true, true, "\"format_version\":%%2");
	member(m, true, true, "\"image_path\":%%\"%s\"", m->path_v1);
	put_others(m);
	put_sides(m);
	member(m, true, true, "\"aspect_bucket\":%%\"1024x1024\"");
	member(m, true, true, "\"image_id\":%%\"%s\"", id);
	finish(m, NULL);
}

/* Bad in one way; it stays as it is. */
static void
make_bad(struct making *m)
{
	struct records *r = m->records;
	const uint64_t way = pick(r, 9);

	m->out->kind = RECORDS_BAD;
	if (way != 0)
		member(m, true, false, "\"image_path\":%%\"%s\"", way == 1 ? "\\udc00.jpg" :
		    m->path_v1);
	if (way == 2)
		member(m, true, false, "\"dinov3_embedding\":%%[1e39]");
	else if (way == 3)
		member(m, true, false, "\"dinov3_embedding\":%%[\"1\"]");
	else if (way == 4)
		member(m, true, false, "\"dinov3_embedding\":%%[NaN]");
	else
		put_array(m, r->dims + (way == 5));
	if (way != 6)
		member(m, true, false, "\"height\":%%%s", way == 7 ? "\"512\"" : "512");
	member(m, true, false, "\"width\":%%512");
	finish(m, way == 8 ? "},\n" : "}\n");
	m->out->v2.size = 0;
	lc__buf_append(&m->out->v2, m->out->v1.data, m->out->v1.size);
}

static void
make_blank(struct making *m)
{
	static const char *const rows[] = { "\n", "  \n", "\r\n" };
	const char *text = rows[pick(m->records, 3)];

	m->out->kind = RECORDS_BLANK;
	m->out->v1.size = m->out->v2.size = 0;
	put(&m->out->v1, text);
	put(&m->out->v2, text);
}

void
records_next(struct records *r, struct records_line *out)
{
	const uint64_t kind = r->plain ? 99 : pick(r, 40);
	struct making m;

	begin(&m, r, out);
	make_path(&m);
	if (kind == 0)
		make_blank(&m);
	else if (kind == 1 || kind == 2)
		make_bad(&m);
	else if (kind == 3)
		make_v2(&m);
	else
		make_good(&m, kind > 5);
}

void
records_cut(struct records *r, struct records_line *out)
{
	struct making m;

	begin(&m, r, out);
	make_path(&m);
	out->kind = RECORDS_BAD;
	member(&m, true, false, "\"image_path\":%%\"%s\"", m.path_v1);
	put_array(&m, r->dims / 2 + 1);
	out->v1.size -= 1 + pick(r, 3);
	out->v2.size = 0;
	lc__buf_append(&out->v2, out->v1.data, out->v1.size);
}

void
records_line_free(struct records_line *line)
{
	lc__buf_free(&line->v1);
	lc__buf_free(&line->v2);
}

void
records_free(struct records *records)
{
	tdestroy(records->ids, free);
	records->ids = NULL;
}
