/* SPDX-License-Identifier: BSD-2-Clause */
/* The vectors of a module in the plane of their two principal components. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cmd/vectors.h"
#include "cmd/view.h"
#include "report/embedding_map.h"
#include "draw/ticks.h"
#include "report/pca.h"
#include "report/preview.h"
#include "ui/columns.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"

#define LEAST 3   /* vectors of a map */
#define IMAGE 112 /* pixels of an example's image */
#define NOTE_ROOM 400

struct mapping {
	lc_cache *cache;
	const char *module;
	struct vectors vectors;
	struct lc__pca pca;
	double *points; /* x and y of each vector; malloc'ed */
	struct lc__regions regions;
};

/* ---- what is drawn ------------------------------------------------------------------ */

static int
check_vectors(const struct vectors *vectors)
{
	if (vectors->n >= LEAST)
		return EXIT_DONE;
	if (vectors->infinite > 0)
		return report_error(EXIT_DATA,
		    "%zu vector%s without NaN and infinities; a map needs at least %d",
		    vectors->n, vectors->n == 1 ? "" : "s", LEAST);
	return report_error(EXIT_DATA, "%zu vector%s; a map needs at least %d",
	    vectors->n, vectors->n == 1 ? "" : "s", LEAST);
}

static int
find_points(struct mapping *m)
{
	const lc_progress progress = { .step = progress_step };
	const struct vectors *v = &m->vectors;
	lc_status status;

	progress_phase(NULL, "components");
	status = lc__pca_find(v->rows, v->n, v->d, 2, 0, &progress, &m->pca);
	if (status != LC_OK)
		return report_status(status);
	if (!(m->pca.total > 0))
		return report_error(EXIT_DATA, "the vectors are all equal");
	m->points = malloc(v->n * 2 * sizeof(*m->points));
	if (m->points == NULL)
		return report_no_memory();
	for (size_t i = 0; i < v->n; i++)
		lc__pca_project(&m->pca, v->rows + i * v->d, m->points + 2 * i);
	status = lc__regions_find(m->points, v->n, &m->regions);
	for (size_t k = 0; k < m->regions.n && status == LC_OK; k++) {
		struct lc__region *region = &m->regions.all[k];
		region->id = v->ids[region->example];
		status = lc__preview_image(m->cache, region->id, IMAGE, &region->image);
		/* Gone or damaged: its name is enough. */
		if (status == LC_NOT_FOUND || status == LC_CORRUPT)
			status = LC_OK;
	}
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

static double
share(const struct mapping *m, size_t k)
{
	return m->pca.variance[k] / m->pca.total;
}

/* ---- how it is told ------------------------------------------------------------------ */

/* X Y CACHE_ID, separated by tabs. */
static void
print_list(const struct mapping *m)
{
	struct json json;

	for (size_t i = 0; i < m->vectors.n; i++) {
		if (!settings.json) {
			printf("%.6g\t%.6g\t", m->points[2 * i], m->points[2 * i + 1]);
			ident_print(stdout, m->vectors.ids[i]);
			putchar('\n');
			continue;
		}
		json = (struct json){ stdout, false };
		jw_open(&json, NULL, '{');
		jw_id(&json, m->vectors.ids[i]);
		jw_real(&json, "x", m->points[2 * i]);
		jw_real(&json, "y", m->points[2 * i + 1]);
		jw_end_line(&json);
	}
}

static void
write_json(const struct mapping *m, struct json *json)
{
	const struct vectors *v = &m->vectors;

	jw_text(json, "kind", "embedding");
	jw_text(json, "module", m->module);
	if (*v->field != '\0')
		jw_text(json, "field", v->field);
	jw_text(json, "type", v->type);
	jw_count(json, "vectors", v->n);
	jw_count(json, "found", v->found);
	jw_count(json, "lacking", v->lacking);
	jw_count(json, "not_finite", v->infinite);
	jw_open(json, "variance", '[');
	for (size_t k = 0; k < m->pca.k; k++)
		jw_real(json, NULL, share(m, k));
	jw_close(json, ']');
	jw_open(json, "regions", '[');
	for (size_t k = 0; k < m->regions.n; k++) {
		const struct lc__region *region = &m->regions.all[k];
		jw_open(json, NULL, '{');
		jw_id(json, region->id);
		jw_count(json, "vectors", region->points);
		jw_real(json, "x", region->x);
		jw_real(json, "y", region->y);
		jw_close(json, '}');
	}
	jw_close(json, ']');
}

static lc_status
draw(const struct mapping *m, const struct view_page *page)
{
	const struct vectors *v = &m->vectors;
	char note[NOTE_ROOM], axes[2][80], n[LC__TICKS_TEXT], found[LC__TICKS_TEXT];
	int used = snprintf(note, sizeof(note), "%s%s%s vectors %s%s%.100s",
	    v->n < v->found ? lc__ticks_text((double)v->n, n, sizeof(n)) : "",
	    v->n < v->found ? " of " : "",
	    lc__ticks_text((double)v->found, found, sizeof(found)), v->type,
	    *v->field != '\0' ? " of field " : "", v->field);
	const struct lc__embedding_map map = {
		.title = m->module,
		.note = note,
		.axes = { axes[0], axes[1] },
		.points = m->points,
		.n = v->n,
		.regions = &m->regions,
	};

	if (v->infinite > 0 && used > 0 && used < NOTE_ROOM)
		snprintf(note + used, sizeof(note) - (size_t)used,
		    "; %" PRIu64 " with NaN, infinities or damage left out", v->infinite);
	for (int k = 0; k < 2; k++)
		snprintf(axes[k], sizeof(axes[k]),
		    "%s component, %.3g %% of the variance", k == 0 ? "first" : "second",
		    100 * share(m, (size_t)k));
	return lc__embedding_map_draw(page->picture, &map, page->width);
}

static int
map_vectors(struct mapping *m, const struct vectors_choice *choice,
    const struct view_page *page)
{
	lc_status drawn = LC_OK;
	int status;

	progress_begin("view");
	status = vectors_read(m->cache, choice, &m->vectors);
	if (status == EXIT_DONE)
		status = check_vectors(&m->vectors);
	if (status == EXIT_DONE)
		status = find_points(m);
	progress_end();
	if (status != EXIT_DONE)
		return status;
	if (page->list)
		print_list(m);
	if (page->picture != NULL)
		drawn = draw(m, page);
	write_json(m, page->json);
	return drawn == LC_OK ? EXIT_DONE : report_argument(drawn);
}

int
view_embedding(const char *module, const struct vectors_choice *choice,
    const struct view_page *page)
{
	struct mapping m = { .module = module };
	int status = module_open(module, &m.cache);

	if (status != EXIT_DONE)
		return status;
	status = map_vectors(&m, choice, page);
	for (size_t k = 0; k < m.regions.n; k++)
		lc__pixels_free(&m.regions.all[k].image);
	lc__pca_free(&m.pca);
	free(m.points);
	vectors_free(&m.vectors);
	return module_close(m.cache, status);
}
