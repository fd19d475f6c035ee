/* SPDX-License-Identifier: BSD-2-Clause */
#include "migration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fileio.h"
#include "need.h"

/* Calls for each line. */
static void
each(const struct migration *m, void (*fn)(void *ctx, const struct records_line *line),
    void *ctx)
{
	struct records records = { .random = m->seed, .dims = m->dims, .plain = m->plain };
	struct records_line *line = calloc(1, sizeof(*line));

	need(line != NULL);
	for (uint64_t i = 0; i < m->lines; i++) {
		records_next(&records, line);
		fn(ctx, line);
	}
	if (m->cut) {
		records_cut(&records, line);
		fn(ctx, line);
	}
	records_line_free(line);
	records_free(&records);
	free(line);
}

static void
write_v1(void *ctx, const struct records_line *line)
{
	need(fwrite(line->v1.data, 1, line->v1.size, ctx) == line->v1.size);
}

void
migration_write(const struct migration *m)
{
	FILE *file = fopen(m->file, "w");

	need(file != NULL);
	each(m, write_v1, file);
	need(fclose(file) == 0);
}

static void
note_bad(void *ctx, uint64_t line, uint64_t column, const char *why)
{
	struct migration *m = ctx;

	m->bad++;
	snprintf(m->last_bad, sizeof(m->last_bad), "%llu:%llu: %s",
	    (unsigned long long)line, (unsigned long long)column, why);
}

static void
note_warning(void *ctx, const char *text)
{
	(void)text;
	((struct migration *)ctx)->warnings++;
}

void
migration_make(struct migration *m, const char *root, uint64_t lines, uint64_t seed,
    unsigned dims)
{
	memset(m, 0, sizeof(*m));
	snprintf(m->file, sizeof(m->file), "%s/records.jsonl", root);
	snprintf(m->dir, sizeof(m->dir), "%s/out", root);
	snprintf(m->backup, sizeof(m->backup), "%s.stage1.backup", m->file);
	m->lines = lines;
	m->seed = seed;
	m->dims = dims;
	m->shape[0] = dims;
	m->how = (struct lc__stage2){
		.file = m->file, .dir = m->dir, .field = "dinov3_embedding",
		.dtype = LC_F32, .ndim = 1,
		.module = { "dinov3", "vae_latents", "t5_hidden" },
		.pass = { [LC__PASS_DINOV3] = true, [LC__PASS_MIGRATE] = true },
		.batch = 4, .bad = note_bad, .warn = note_warning
	};
	m->how.expect[LC__PASS_DINOV3] = (struct lc__expect){
		.path = "", .dtype = LC_F32, .ndim = 1, .ellipsis = UINT32_MAX,
		.shape = { dims }
	};
	need_ok(lc__expect_parse("f16[16,*,*]", &m->how.expect[LC__PASS_VAE]));
	need_ok(lc__expect_parse("f16[77,1024]", &m->how.expect[LC__PASS_T5]));
	migration_write(m);
}

lc_status
migration_run(struct migration *m, struct lc__stage2_done *done)
{
	m->how.shape = m->shape;
	m->how.ctx = m;
	m->bad = m->warnings = 0;
	return lc__stage2_run(&m->how, done);
}

char *
migration_read(const char *path, size_t *size)
{
	struct lc__buf buf = { 0 };

	need_ok(lc__read_file(path, UINT32_MAX, &buf));
	*size = buf.size;
	lc__buf_append(&buf, "", 1);
	return (char *)buf.data;
}

/* ---- checking ---------------------------------------------------------------------- */

struct checking {
	const struct migration *m;
	lc_cache *cache;
	struct lc__buf v1, v2;
	struct lc__stage2_counts want;
	uint64_t tensors;
};

static void
check_tensor(struct checking *c, const struct records_line *line)
{
	lc_view view;

	need_ok(lc_get(c->cache, line->id, strlen(line->id), &view));
	need(view.kind == LC_TENSOR && view.tensor.dtype == LC_F32 &&
	    view.tensor.ndim == 1 && view.tensor.shape[0] == c->m->dims);
	need(memcmp(view.tensor.data, line->values, view.tensor.nbytes) == 0);
	lc_view_release(&view);
	c->tensors++;
}

static void
check_line(void *ctx, const struct records_line *line)
{
	struct checking *c = ctx;
	const bool good = line->kind == RECORDS_GOOD || line->kind == RECORDS_MISSING;
	const double ratio = good ? (double)line->width / line->height : 1;

	lc__buf_append(&c->v1, line->v1.data, line->v1.size);
	lc__buf_append(&c->v2, line->v2.data, line->v2.size);
	if (line->kind == RECORDS_GOOD)
		check_tensor(c, line);
	c->want.migrated += good;
	c->want.skipped += line->kind == RECORDS_V2;
	c->want.bad += line->kind == RECORDS_BAD;
	c->want.blank += line->kind == RECORDS_BLANK;
	c->want.shared += good && line->longer;
	c->want.extreme += good && (ratio < 0.4 || ratio > 2.5);
}

static void
check_file(const char *path, const struct lc__buf *want)
{
	size_t size;
	char *text = migration_read(path, &size);

	for (size_t i = 0; i < size && i < want->size; i++)
		if (text[i] != (char)want->data[i]) {
			fprintf(stderr, "# %s differs at %zu: %.200s\n# not %.200s\n", path, i,
			    text + (i > 60 ? i - 60 : 0),
			    want->data + (i > 60 ? i - 60 : 0));
			break;
		}
	need(size == want->size);
	need(memcmp(text, want->data, size) == 0);
	free(text);
}

static void
check(struct checking *c)
{
	uint64_t count;

	c->cache = NULL;
	need_ok(lc_open(c->m->dir, c->m->how.module[LC__PASS_DINOV3], NULL, &c->cache));
	each(c->m, check_line, c);
	need_ok(lc_count(c->cache, &count));
	need(count == c->tensors);
	need_ok(lc_close(c->cache));
}

void
migration_check_tensors(const struct migration *m)
{
	struct checking c = { .m = m };

	check(&c);
	lc__buf_free(&c.v1);
	lc__buf_free(&c.v2);
}

static void
check_files(const struct migration *m, struct checking *c)
{
	check(c);
	check_file(m->file, &c->v2);
	check_file(m->backup, &c->v1);
}

void
migration_check_again(const struct migration *m, const struct lc__stage2_done *done)
{
	struct checking c = { .m = m };

	check_files(m, &c);
	need(done->counts.skipped == c.want.migrated + c.want.skipped);
	need(done->counts.bad == c.want.bad && done->counts.blank == c.want.blank);
	lc__buf_free(&c.v1);
	lc__buf_free(&c.v2);
}

void
migration_check(const struct migration *m, const struct lc__stage2_done *done)
{
	struct checking c = { .m = m };

	check_files(m, &c);
	need(memcmp(&done->counts, &c.want, sizeof(c.want)) == 0);
	need(done->total == c.want.migrated + c.want.skipped);
	lc__buf_free(&c.v1);
	lc__buf_free(&c.v2);
}
