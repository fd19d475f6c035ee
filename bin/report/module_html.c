/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/module_html.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw/ticks.h"
#include "report/page.h"
#include "report/plot.h"
#include "report/rates.h"
#include "value/dtype.h"

#define TEXTS 12    /* most texts shown of a field or of a list of reasons */
#define PREFIXES 20 /* most prefixes of keys shown */
#define SCHEMAS 100
#define TYPE_TEXT 600
#define NUMBER_TEXT 40

/* ---- head -------------------------------------------------------------------------------- */

static void
write_head(FILE *out, const struct lc__module_facts *facts)
{
	const lc_stats *stats = &facts->stats;

	lc__page_begin(out, facts->module);
	fputs("<header>\n<p class=\"dim\">Module</p>\n<h1>", out);
	lc__page_str(out, facts->module);
	fputs("</h1>\n<p>Created ", out);
	lc__page_time(out, stats->created_ms);
	fputs("; ", out);
	lc__page_count(out, stats->generation);
	fprintf(out, " commit%s since. ", stats->generation == 1 ? "" : "s");
	if (facts->fields.records < facts->listed) {
		fputs("Keys and sizes are of all records, values and pictures of ", out);
		lc__page_count(out, facts->fields.records);
		fputs(" records, spread evenly", out);
	} else {
		fputs("All records were read", out);
	}
	fputs(".</p>\n</header>\n", out);
}

static void
write_strip(FILE *out, const struct lc__module_facts *facts)
{
	const lc_stats *stats = &facts->stats;
	uint64_t raw = 0, stored = 0;
	char text[NUMBER_TEXT];

	for (size_t i = 0; i < facts->n_schemas; i++) {
		raw += facts->schemas[i].stats.raw_bytes;
		stored += facts->schemas[i].stats.stored_bytes;
	}
	lc__page_strip(out);
	lc__page_tile_count(out, stats->records, "records");
	lc__page_tile_bytes(out, stats->live_bytes, "of records");
	lc__page_tile_bytes(out, stats->file_bytes, "on disk");
	if (stats->records > 0)
		lc__page_tile_bytes(out, stats->live_bytes / stats->records,
		    "a record, on average");
	if (stored > 0 && raw != stored) {
		snprintf(text, sizeof(text), "%.2f\xc3\x97",
		    (double)raw / (double)stored);
		lc__page_tile(out, text, "as large without codecs");
	}
	lc__page_tile_count(out, stats->schemas,
	    stats->schemas == 1 ? "structure" : "structures");
	lc__page_tile_count(out, stats->chunks, stats->chunks == 1 ? "chunk" : "chunks");
	if (facts->fill.inputs > 0) {
		snprintf(text, sizeof(text), "%" PRIu32 " of %" PRIu32,
		    facts->fill.finished, facts->fill.inputs);
		lc__page_tile(out, text, "inputs finished");
	}
	lc__page_strip_end(out);
}

/* ---- the state --------------------------------------------------------------------------- */

static void
write_damage(FILE *out, const struct lc__module_facts *facts)
{
	if (facts->n_damage == 0)
		return;
	fputs("<ul class=\"damage\">\n", out);
	for (size_t i = 0; i < facts->n_damage; i++) {
		fputs("<li><code>", out);
		lc__page_str(out, facts->damage[i]);
		fputs("</code></li>\n", out);
	}
	fputs("</ul>\n", out);
}

/* The verdict: "Good: all 12 chunks ...", or what is damaged. */
static void
write_verdict(FILE *out, const struct lc__module_facts *facts)
{
	const uint64_t damaged = facts->damaged + facts->unlisted;

	if (facts->verified) {
		fprintf(out, "<p><b class=\"%s\">",
		    facts->verify.damaged == 0 ? "good" : "bad");
		if (facts->verify.damaged > 0) {
			lc__page_count(out, facts->verify.damaged);
			fputs(" damaged places", out);
		} else {
			fputs("Verified", out);
		}
		fputs("</b>: ", out);
		lc__page_count(out, facts->verify.records);
		fputs(" records in ", out);
		lc__page_count(out, facts->verify.chunks);
		fputs(" chunks, ", out);
		lc__page_bytes(out, facts->verify.bytes);
		fputs(", were compared with their checksums.</p>\n", out);
	} else if (damaged > 0) {
		fputs("<p><b class=\"bad\">", out);
		lc__page_count(out, damaged);
		fprintf(out,
		    " damaged</b>: found while records were read for this page. "
		    "<code>cachex verify</code> reads everything.</p>\n");
	} else {
		fputs("<p><b class=\"good\">No damage</b> in the ", out);
		lc__page_count(out, facts->fields.records);
		fputs(
		    " records that were read for this page, with their checksums; not all "
		    "was verified (<code>--verify</code>).</p>\n",
		    out);
	}
	write_damage(out, facts);
}

static void
write_times(FILE *out, const struct lc__module_facts *facts)
{
	uint64_t oldest = UINT64_MAX, newest = 0;

	for (size_t i = 0; i < facts->n_chunks; i++) {
		const struct lc__chunk_facts *chunk = &facts->chunks[i];
		if (chunk->damaged || chunk->records == 0)
			continue;
		oldest = chunk->time_ms < oldest ? chunk->time_ms : oldest;
		newest = chunk->time_ms > newest ? chunk->time_ms : newest;
	}
	if (newest == 0)
		return;
	fputs("<p>Oldest chunk: ", out);
	lc__page_time(out, oldest);
	fputs("; newest: ", out);
	lc__page_time(out, newest);
	fputs(".</p>\n", out);
}

static void
write_state(FILE *out, const struct lc__module_facts *facts)
{
	const lc_stats *stats = &facts->stats;
	const uint64_t known = stats->live_bytes + stats->dead_bytes +
	    stats->index_bytes + stats->free_bytes;
	const struct {
		const char *what, *class;
		uint64_t bytes;
	} parts[] = {
		{ "live records", "c0", stats->live_bytes },
		{ "dead records, replaced or deleted", "c3", stats->dead_bytes },
		{ "index", "c2", stats->index_bytes },
		{ "other tables and unused space in pages", "c1",
		    stats->file_bytes > known ? stats->file_bytes - known : 0 },
		{ "free, for the next commits", "free", stats->free_bytes },
	};

	lc__page_section(out, "State");
	write_verdict(out, facts);
	write_times(out, facts);
	fputs("<div class=\"share\">", out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].bytes > 0)
			fprintf(out, "<i class=\"%s\" style=\"flex:%llu\"></i>",
			    parts[i].class, (unsigned long long)parts[i].bytes);
	fputs("</div>\n", out);
	lc__page_table(out, "The file|#Bytes|#Share|#Records");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		fprintf(out, "<tr><td><i class=\"key %s\"></i>%s</td><td class=\"n\">",
		    parts[i].class, parts[i].what);
		lc__page_bytes(out, parts[i].bytes);
		fputs("</td>", out);
		lc__page_cell_share(out, parts[i].bytes, stats->file_bytes);
		if (i < 2)
			lc__page_cell_count(out,
			    i == 0 ? stats->records : stats->dead_records);
		else
			fputs("<td></td>", out);
		fputs("</tr>\n", out);
	}
	fputs("<tr class=\"sum\"><td>data.mdb</td><td class=\"n\">", out);
	lc__page_bytes(out, stats->file_bytes);
	fputs("</td><td></td><td></td></tr>\n", out);
	lc__page_table_end(out);
	lc__page_section_end(out);
}

/* ---- examples ---------------------------------------------------------------------------- */

static void
write_example(FILE *out, const struct lc__module_example *example)
{
	fputs("<figure>", out);
	if (example->png.size > 0) {
		lc__page_png(out, &example->png, example->width, example->height,
		    example->note);
	} else {
		fprintf(out, "<pre class=\"cell%s\">", example->bad ? " bad" : "");
		lc__page_text(out, example->text.data, example->text.size);
		fputs("</pre>", out);
	}
	fputs("<figcaption>", out);
	lc__page_id(out, example->id.data, example->id.size);
	fputs("<span>", out);
	if (example->note != NULL)
		lc__page_id(out, example->note, strlen(example->note));
	fputs(example->note != NULL ? ", " : "", out);
	lc__page_bytes(out, example->stored);
	fputs("</span></figcaption></figure>\n", out);
}

static void
write_examples(FILE *out, const struct lc__module_facts *facts)
{
	if (facts->n_examples == 0)
		return;
	lc__page_section(out, "Examples");
	fputs("<div class=\"thumbs cells\">\n", out);
	for (size_t i = 0; i < facts->n_examples; i++)
		write_example(out, &facts->examples[i]);
	fputs("</div>\n", out);
	lc__page_more(out, facts->n_examples, facts->listed,
	    "records; these are spread evenly, in the order of commits");
	lc__page_section_end(out);
}

/* ---- fields ------------------------------------------------------------------------------ */

/* The path of a field; it is empty if the records are not maps. */
static void
put_path(FILE *out, const struct lc__record_field *field)
{
	if (*field->path == '\0')
		fputs("<span class=\"dim\">the record</span>", out);
	else
		lc__page_id(out, field->path, strlen(field->path));
}

/* A number in 5 digits; an integer in up to 15, so that most are written in full. */
static void
cell_number(FILE *out, double x, bool integer)
{
	if (isnan(x))
		fputs("<td class=\"n dim\">NaN</td>", out);
	else if (isinf(x))
		fprintf(out, "<td class=\"n\">%sinf</td>", x < 0 ? "-" : "");
	else
		fprintf(out, "<td class=\"n\">%.*g</td>", integer ? 15 : 5,
		    x == 0 ? 0 : x);
}

static void
cell_bad_count(FILE *out, uint64_t n)
{
	fprintf(out, "<td class=\"n%s\">", n > 0 ? " warn" : "");
	lc__page_count(out, n);
	fputs("</td>", out);
}

static void
write_field(FILE *out, const struct lc__record_fields *fields, size_t i)
{
	const struct lc__record_field *field = &fields->all[i];
	const struct lc__moments *m = &field->numbers;
	const bool sized = field->kind == LC_STRING || field->kind == LC_BYTES ||
	    field->kind == LC_LIST || field->kind == LC_TUPLE || field->kind == LC_PAIRS;
	char type[TYPE_TEXT];

	lc__record_field_type(field, type, sizeof(type));
	fputs("<tr><td>", out);
	put_path(out, field);
	fputs("</td><td>", out);
	lc__page_id(out, type, strlen(type));
	if (sized && field->most[0] > 0) {
		fputs(" <span class=\"dim\">", out);
		lc__page_count(out, field->least[0]);
		if (field->most[0] > field->least[0]) {
			fputs(" to ", out);
			lc__page_count(out, field->most[0]);
		}
		fprintf(out, " %s</span>",
		    field->kind == LC_STRING || field->kind == LC_BYTES ? "bytes"
									: "values");
	}
	fputs("</td>", out);
	lc__page_cell_count(out, field->records);
	lc__page_cell_count(out, lc__record_fields_missing(fields, i));
	if (m->count + m->nan > 0) {
		cell_number(out, m->count > 0 ? m->min.high : (double)NAN,
		    field->integers);
		cell_number(out, m->count > 0 ? m->max.high : (double)NAN,
		    field->integers);
		cell_number(out, lc__moments_mean(m), false);
		cell_number(out, lc__moments_deviation(m), false);
		cell_bad_count(out, m->nan);
		cell_bad_count(out, m->plus + m->minus);
	} else {
		fputs("<td></td><td></td><td></td><td></td><td></td><td></td>", out);
	}
	fputs("</tr>\n", out);
}

/* A list of the most frequent texts, with bars. */
static void
write_texts(FILE *out, const struct lc__texts *texts, size_t most)
{
	const size_t shown = texts->n < most ? texts->n : most;
	uint64_t rest = texts->others;

	fputs("<table class=\"texts\">\n<tbody>\n", out);
	for (size_t i = 0; i < shown; i++) {
		const struct lc__texts_row *row = &texts->rows[i];
		fputs("<tr><td>", out);
		if (row->text.size > 0)
			lc__page_id(out, row->text.data, row->text.size);
		else
			fputs("<span class=\"dim\">empty</span>", out);
		fputs("</td>", out);
		lc__page_cell_count(out, row->n);
		lc__page_cell_meter(out, (double)row->n / (double)texts->rows[0].n);
		fputs("</tr>\n", out);
	}
	for (size_t i = shown; i < texts->n; i++)
		rest += texts->rows[i].n;
	if (rest > 0) {
		fputs("<tr><td class=\"dim\">all others</td>", out);
		lc__page_cell_count(out, rest);
		fputs("<td></td></tr>\n", out);
	}
	fputs("</tbody>\n</table>\n", out);
}

/* Texts get a figure only if some of them occur more than once. */
static void
plot_texts(FILE *out, const struct lc__record_field *field)
{
	const struct lc__texts *texts = &field->texts;

	if (texts->n == 0 || texts->rows[0].n < 2)
		return;
	fputs("<figure>\n<figcaption><b>", out);
	lc__page_str(out, *field->path != '\0' ? field->path : "the record");
	fputs("</b><span>", out);
	lc__page_count(out, texts->all);
	fputs(" strings, ", out);
	if (texts->others > 0)
		fputs("more than ", out);
	lc__page_count(out, texts->n);
	fputs(" different</span></figcaption>\n", out);
	write_texts(out, texts, TEXTS);
	fputs("</figure>\n", out);
}

static void
plot_numbers(FILE *out, const struct lc__record_field *field)
{
	struct lc__plotted what = { .axis = "value", .of = "numbers" };
	struct lc__histogram histogram;
	char title[TYPE_TEXT], type[TYPE_TEXT];

	if (!lc__record_field_histogram(field, &histogram))
		return;
	lc__record_field_type(field, type, sizeof(type));
	if (*field->path != '\0')
		snprintf(title, sizeof(title), "%.200s", field->path);
	else
		snprintf(title, sizeof(title), "%.200s", type);
	what.title = title;
	if (field->kind == LC_TENSOR && lc__dtype_is_complex(field->dtype))
		what.axis = "absolute value";
	lc__plot(out, &what, &histogram);
}

static void
write_fields(FILE *out, const struct lc__module_facts *facts)
{
	const struct lc__record_fields *fields = &facts->fields;
	bool some = false;

	if (fields->n == 0)
		return;
	lc__page_section(out, "Fields");
	lc__page_table(out,
	    "Field|Type|#Records|#Missing|#Min|#Max|#Mean|#Deviation|#NaN|#Infinite");
	for (size_t i = 0; i < fields->n; i++) {
		write_field(out, fields, i);
		some |= fields->all[i].some;
	}
	lc__page_table_end(out);
	fputs("<p class=\"dim\">Of ", out);
	lc__page_count(out, fields->records);
	fputs(" records", out);
	if (some) {
		fputs("; of a large tensor about ", out);
		lc__page_count(out, LC__FIELD_ELEMENTS);
		fputs(" elements, spread evenly", out);
	}
	fputs(". Histograms are of ", out);
	lc__page_count(out, LC__FIELD_NUMBERS);
	fputs(" numbers at most.", out);
	if (fields->others > 0)
		fprintf(out, " There are more than %d fields; further ones are left out.",
		    LC__RECORD_FIELDS);
	fputs("</p>\n<div class=\"plots\">\n", out);
	for (size_t i = 0; i < fields->n; i++) {
		plot_texts(out, &fields->all[i]);
		plot_numbers(out, &fields->all[i]);
	}
	fputs("</div>\n", out);
	lc__page_section_end(out);
}

static void
write_vectors(FILE *out, const struct lc__module_facts *facts)
{
	if (facts->vectors.size == 0 || facts->narrow_vectors.size == 0)
		return;
	lc__page_section(out, "Vectors");
	lc__page_svg(out, &facts->vectors, &facts->narrow_vectors,
	    "a map of vectors by their principal components");
	lc__page_section_end(out);
}

/* ---- structures --------------------------------------------------------------------------- */

static void
write_codecs(FILE *out, const lc_schema_stats *stats)
{
	bool first = true;

	fputs("<td>", out);
	for (int i = 0; i < LC_CODEC_COUNT; i++) {
		if (stats->tensors[i] == 0)
			continue;
		fprintf(out, "%s%s ", first ? "" : ", ", lc_codec_name((lc_codec)i));
		lc__page_count(out, stats->tensors[i]);
		first = false;
	}
	fputs("</td>", out);
}

static void
write_schemas(FILE *out, const struct lc__module_facts *facts)
{
	const size_t shown = facts->n_schemas < SCHEMAS ? facts->n_schemas : SCHEMAS;

	if (facts->n_schemas == 0)
		return;
	lc__page_section(out, "Structures");
	lc__page_table(out,
	    "Structure|#Records|#Tensors, raw|#As stored|#Ratio|Codecs, tensors");
	for (size_t i = 0; i < shown; i++) {
		const lc_schema_stats *stats = &facts->schemas[i].stats;
		fputs("<tr><td><code>", out);
		lc__page_str(out, stats->structure);
		fputs("</code></td>", out);
		lc__page_cell_count(out, stats->records);
		fputs("<td class=\"n\">", out);
		lc__page_bytes(out, stats->raw_bytes);
		fputs("</td><td class=\"n\">", out);
		lc__page_bytes(out, stats->stored_bytes);
		fprintf(out, "</td><td class=\"n\">%.2f</td>",
		    stats->stored_bytes > 0
			? (double)stats->raw_bytes / (double)stats->stored_bytes
			: 1.0);
		write_codecs(out, stats);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	lc__page_more(out, shown, facts->n_schemas, "structures");
	fputs(
	    "<p class=\"dim\">Dead records count until a compaction removes them.</p>\n",
	    out);
	lc__page_section_end(out);
}

/* ---- records and keys --------------------------------------------------------------------- */

static void
write_prefixes(FILE *out, const struct lc__module_facts *facts)
{
	const struct lc__texts *prefixes = &facts->prefixes;
	const size_t shown = prefixes->n < PREFIXES ? prefixes->n : PREFIXES;

	fputs("<div>\n<h3>Prefixes</h3>\n", out);
	lc__page_table(out, "Prefix|#Records|#Share|#Bytes|");
	for (size_t i = 0; i < shown; i++) {
		const struct lc__texts_row *row = &prefixes->rows[i];
		fputs("<tr><td>", out);
		if (row->text.size > 0)
			lc__page_id(out, row->text.data, row->text.size);
		else
			fputs("<span class=\"dim\">none</span>", out);
		fputs("</td>", out);
		lc__page_cell_count(out, row->n);
		lc__page_cell_share(out, row->n, prefixes->all);
		fputs("<td class=\"n\">", out);
		lc__page_bytes(out, row->bytes);
		fputs("</td>", out);
		lc__page_cell_meter(out, (double)row->n / (double)prefixes->rows[0].n);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	lc__page_more(out, shown, prefixes->n, "prefixes");
	lc__page_more(out, prefixes->all - prefixes->others, prefixes->all,
	    "keys with still other prefixes");
	fputs(
	    "<p class=\"dim\">A prefix ends at the first slash or colon, or else before the "
	    "first digit.</p>\n</div>\n",
	    out);
}

static void
write_keys(FILE *out, const struct lc__module_facts *facts)
{
	fputs("<div>\n<h3>Some keys</h3>\n<ul class=\"keys\">\n", out);
	for (size_t i = 0; i < facts->n_keys; i++) {
		fputs("<li>", out);
		lc__page_id(out, facts->keys[i].data, facts->keys[i].size);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n</div>\n", out);
}

static void
write_records(FILE *out, const struct lc__module_facts *facts)
{
	const struct lc__plotted sizes = { .title = "Size of a record",
		.axis = "as stored",
		.of = "records",
		.log2 = true,
		.bytes = true };
	const struct lc__plotted keys = { .title = "Length of a key",
		.axis = "bytes",
		.of = "keys" };

	if (facts->listed == 0)
		return;
	lc__page_section(out, "Records and keys");
	if (facts->least_bytes == facts->most_bytes) {
		fputs("<p>Every record has ", out);
		lc__page_bytes(out, facts->least_bytes);
		fputs(" as stored.</p>\n", out);
	}
	if (facts->least_key == facts->most_key)
		fprintf(out, "<p>Every key has %" PRIu64 " byte%s.</p>\n",
		    facts->least_key, facts->least_key == 1 ? "" : "s");
	fputs("<div class=\"plots\">\n", out);
	if (facts->least_bytes != facts->most_bytes)
		lc__plot(out, &sizes, &facts->sizes);
	if (facts->least_key != facts->most_key)
		lc__plot(out, &keys, &facts->key_sizes);
	fputs("</div>\n<div class=\"beside\">\n", out);
	write_prefixes(out, facts);
	write_keys(out, facts);
	fputs("</div>\n", out);
	lc__page_section_end(out);
}

static void
write_map(FILE *out, const struct lc__module_facts *facts)
{
	if (facts->map.size == 0 || facts->narrow_map.size == 0)
		return;
	lc__page_section(out, "Chunks");
	lc__page_svg(out, &facts->map, &facts->narrow_map, "the chunks of the module");
	lc__page_section_end(out);
}

/* ---- inputs and failures -------------------------------------------------------------------- */

static void
write_inputs(FILE *out, const struct lc__module_facts *facts)
{
	const lc_fill *fill = &facts->fill;

	if (fill->inputs == 0)
		return;
	lc__page_section(out, "Inputs");
	fputs("<p>", out);
	lc__page_count(out, fill->finished);
	fputs(" of ", out);
	lc__page_count(out, fill->inputs);
	fputs(" inputs are finished, ", out);
	lc__page_count(out, fill->held);
	fputs(" are being filled now. The order for readers has ", out);
	lc__page_count(out, fill->records);
	fputs(" records in ", out);
	lc__page_count(out, fill->published);
	fprintf(out, " chunks, and is %s.</p>\n",
	    fill->final ? "final" : "still growing");
	lc__page_table(out, "Input|#Chunks|#Records|#Length|State");
	for (size_t i = 0; i < facts->n_inputs; i++) {
		const lc_input_info *info = &facts->inputs[i].info;
		fputs("<tr>", out);
		lc__page_cell_id(out, facts->inputs[i].name);
		lc__page_cell_count(out, info->chunks);
		lc__page_cell_count(out, info->records);
		lc__page_cell_count(out, info->length);
		if (info->finished)
			fputs("<td class=\"good\">finished</td></tr>\n", out);
		else if (info->held)
			fputs("<td class=\"warn\">being filled</td></tr>\n", out);
		else
			fprintf(out, "<td class=\"dim\">%s</td></tr>\n",
			    info->chunks > 0 ? "begun" : "to do");
	}
	lc__page_table_end(out);
	lc__page_more(out, facts->n_inputs, fill->inputs, "inputs");
	lc__page_section_end(out);
}

static void
write_failures(FILE *out, const struct lc__module_facts *facts)
{
	const uint64_t n = facts->failures < LC__MODULE_FAILURES ? facts->failures
								 : LC__MODULE_FAILURES;

	if (facts->failures == 0)
		return;
	lc__page_section(out, "Failures");
	fputs("<p>", out);
	lc__page_count(out, facts->failures);
	fprintf(out, " item%s of a fill failed, by <code>failures.jsonl</code>.</p>\n",
	    facts->failures == 1 ? "" : "s");
	write_texts(out, &facts->reasons, TEXTS);
	fputs("<h3>The last of them</h3>\n", out);
	lc__page_table(out, "Item|Why|#Attempts|At");
	for (uint64_t i = facts->failures - n; i < facts->failures; i++) {
		const struct lc__fields *row = &facts->failed[i % LC__MODULE_FAILURES];
		const char *const cells[] = { lc__fields_find(row, "id"),
			lc__fields_find(row, "why"), lc__fields_find(row, "attempts"),
			lc__fields_find(row, "at") };
		const char *base64 = lc__fields_find(row, "id_base64");
		fputs("<tr>", out);
		lc__page_cell_id(out,
		    cells[0] != NULL     ? cells[0]
			: base64 != NULL ? base64
					 : "");
		for (int k = 1; k < 4; k++)
			lc__page_cell_str(out, cells[k] != NULL ? cells[k] : "");
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	lc__page_section_end(out);
}

/* ---- over time ------------------------------------------------------------------------------ */

static void
draw_rates(FILE *out, const struct lc__rates *rates, const char *title, const char *note,
    enum lc__unit unit, const char *const names[], size_t n)
{
	struct lc__curves curves = {
		.title = title,
		.note = note,
		.x_title = "time",
		.x_unit = LC__UNIT_SECONDS,
		.y_unit = unit,
		.x = rates->x,
		.n = rates->n,
		.n_curves = n,
	};

	for (size_t k = 0; k < n; k++)
		curves.curves[k] = (struct lc__curve){ names[k], rates->y[k] };
	lc__curves_draw(out, &curves);
}

static int
by_time(const void *a, const void *b)
{
	const struct lc__chunk_facts *x = a, *y = b;

	return (x->time_ms > y->time_ms) - (x->time_ms < y->time_ms);
}

/* When the chunks of the module were committed. */
static void
write_commits(FILE *out, const struct lc__module_facts *facts)
{
	static const char *const names[] = { "records a second", "bytes a second" };
	const size_t n = facts->n_chunks;
	struct lc__chunk_facts *chunks = malloc((n + 1) * sizeof(*chunks));
	struct lc__rates *rates = malloc(2 * sizeof(*rates));
	double end;
	uint64_t before;

	if (chunks == NULL || rates == NULL || n == 0)
		goto out;
	memcpy(chunks, facts->chunks, n * sizeof(*chunks));
	qsort(chunks, n, sizeof(*chunks), by_time);
	end = (double)(chunks[n - 1].time_ms - chunks[0].time_ms) / 1000;
	if (n < 3 || end < 3)
		goto out;
	lc__rates_init(&rates[0], end);
	lc__rates_init(&rates[1], end);
	before = chunks[0].time_ms;
	for (size_t i = 0; i < n; i++) {
		const double from = (double)(before - chunks[0].time_ms) / 1000;
		const double to = (double)(chunks[i].time_ms - chunks[0].time_ms) / 1000;
		lc__rates_add(&rates[0], 0, from, to, (double)chunks[i].records);
		lc__rates_add(&rates[1], 0, from, to, (double)chunks[i].bytes);
		before = chunks[i].time_ms;
	}
	lc__rates_end(&rates[0]);
	lc__rates_end(&rates[1]);
	lc__page_section(out, "Commits over time");
	fputs("<div class=\"plots wide\">\n", out);
	draw_rates(out, &rates[0], "Records a second",
	    "from the first commit to the last, of the chunks that the module has",
	    LC__UNIT_COUNT, names, 1);
	draw_rates(out, &rates[1], "Bytes a second", "of the same chunks, as stored",
	    LC__UNIT_BYTES, names + 1, 1);
	fputs("</div>\n", out);
	lc__page_section_end(out);
out:
	free(chunks);
	free(rates);
}

/* ---- the trace of a fill -------------------------------------------------------------------- */

/* The rate of a count that grows: its increase between two points is spread evenly over
 * the time between them. */
static void
add_count(struct lc__rates *rates, size_t k, const struct lc__fill_trace *trace,
    size_t at)
{
	double before = 0, time = 0;

	for (size_t i = 0; i < trace->n; i++) {
		const double value = *(
		    const double *)((const char *)&trace->points[i] + at);
		/* If a count decreases, another run has begun in the same file. */
		if (value > before)
			lc__rates_add(rates, k, time, trace->points[i].seconds,
			    value - before);
		before = value;
		time = trace->points[i].seconds;
	}
}

/* The mean of a number that keeps its value until the next point. */
static void
add_level(struct lc__rates *rates, size_t k, const struct lc__fill_trace *trace,
    size_t at)
{
	for (size_t i = 0; i + 1 < trace->n; i++) {
		const double value = *(
		    const double *)((const char *)&trace->points[i] + at);
		const double from = trace->points[i].seconds;
		const double to = trace->points[i + 1].seconds;
		lc__rates_add(rates, k, from, to, value * (to - from));
	}
}

/* The mean of the points in each span; a span without points takes the mean of the one
 * before. */
static void
add_means(struct lc__rates *rates, const struct lc__fill_metric *metric)
{
	double value = metric->points[0].value;
	size_t n[LC__RATES_SPANS] = { 0 };

	for (size_t i = 0; i < metric->n; i++) {
		const double at = metric->points[i].seconds / rates->end *
		    (double)rates->n;
		const size_t span = (size_t)fmin(fmax(at, 0), (double)(rates->n - 1));
		rates->y[0][span] += metric->points[i].value;
		n[span]++;
	}
	for (size_t i = 0; i < rates->n; i++) {
		if (n[i] > 0)
			value = rates->y[0][i] / (double)n[i];
		rates->y[0][i] = value;
	}
}

static void
draw_metric(FILE *out, const struct lc__fill_metric *metric, struct lc__rates *rates,
    double end)
{
	const char *const names[] = { metric->name };
	char note[120];

	if (metric->n == 0)
		return;
	snprintf(note, sizeof(note),
	    "%zu numbers that producers reported, the last %.4g%s", metric->n,
	    metric->points[metric->n - 1].value,
	    metric->others > 0 ? "; some were not finite" : "");
	lc__rates_init(rates, end);
	add_means(rates, metric);
	draw_rates(out, rates, metric->name, note, LC__UNIT_NUMBER, names, 1);
}

#define AT(member) offsetof(struct lc__fill_point, member)

static void
draw_trace(FILE *out, const struct lc__fill_trace *trace, struct lc__rates *rates)
{
	static const char *const stored[] = { "stored" };
	static const char *const bytes[] = { "of tensors" };
	static const char *const lost[] = { "failed items", "batches tried again",
		"producers lost" };
	static const char *const producers[] = { "running", "busy" };
	const double end = trace->points[trace->n - 1].seconds;

	fputs("<div class=\"plots wide\">\n", out);
	lc__rates_init(rates, end);
	add_count(rates, 0, trace, AT(stored));
	lc__rates_end(rates);
	draw_rates(out, rates, "Records a second", "that were stored", LC__UNIT_COUNT,
	    stored, 1);
	lc__rates_init(rates, end);
	add_count(rates, 0, trace, AT(bytes));
	lc__rates_end(rates);
	draw_rates(out, rates, "Bytes a second", "of the tensors of these records",
	    LC__UNIT_BYTES, bytes, 1);
	lc__rates_init(rates, end);
	add_count(rates, 0, trace, AT(failed));
	add_count(rates, 1, trace, AT(retried));
	add_count(rates, 2, trace, AT(lost));
	lc__rates_end(rates);
	draw_rates(out, rates, "Losses a second",
	    "items without a value, batches that another producer got, and producers that died, "
	    "were too slow or gave an invalid answer",
	    LC__UNIT_NUMBER, lost, 3);
	if (trace->producers) {
		lc__rates_init(rates, end);
		add_level(rates, 0, trace, AT(running));
		add_level(rates, 1, trace, AT(busy));
		lc__rates_end(rates);
		draw_rates(out, rates, "Producers", "that run, and that compute a batch",
		    LC__UNIT_COUNT, producers, 2);
	}
	for (size_t i = 0; i < trace->n_metrics; i++)
		draw_metric(out, &trace->metrics[i], rates, end);
	fputs("</div>\n", out);
}

static void
write_trace(FILE *out, const struct lc__fill_trace *trace, struct lc__rates *rates)
{
	const struct lc__fill_point *last = trace->n > 0 ? &trace->points[trace->n - 1]
							 : NULL;
	char text[LC__TICKS_TEXT];

	fputs("<h3>", out);
	lc__page_str(out, trace->path);
	fputs("</h3>\n<p>", out);
	if (trace->began_ms > 0) {
		fputs("Begun ", out);
		lc__page_time(out, trace->began_ms);
		fputs("; ", out);
	}
	if (last == NULL) {
		fputs("nothing was stored yet.</p>\n", out);
		return;
	}
	lc__page_count(out, (uint64_t)last->stored);
	fprintf(out, " records in %s, ",
	    lc__unit_text(LC__UNIT_SECONDS, round(last->seconds), text));
	fprintf(out, "%.0f a second; ",
	    last->seconds > 0 ? last->stored / last->seconds : last->stored);
	lc__page_count(out, (uint64_t)last->failed);
	fputs(" failed, ", out);
	lc__page_count(out, (uint64_t)last->retried);
	fputs(" batches tried again, ", out);
	lc__page_count(out, (uint64_t)last->lost);
	fputs(" producers lost", out);
	if (trace->status == NULL)
		fputs("; it has not ended.", out);
	else if (strcmp(trace->status, "ok") != 0) {
		fputs("; it ended with <b class=\"bad\">", out);
		lc__page_str(out, trace->status);
		fputs("</b>.", out);
	} else {
		fputs("; it has ended.", out);
	}
	fputs("</p>\n", out);
	if (last->seconds > 0)
		draw_trace(out, trace, rates);
}

static void
write_traces(FILE *out, const struct lc__module_extras *extras)
{
	struct lc__rates *rates = malloc(sizeof(*rates));

	if (extras->n_traces > 0 && rates != NULL) {
		lc__page_section(out, "Fill over time");
		for (size_t i = 0; i < extras->n_traces; i++)
			write_trace(out, &extras->traces[i], rates);
		lc__page_section_end(out);
	}
	free(rates);
}

/* ---- the module itself ------------------------------------------------------------------------ */

static void
write_counters(FILE *out, const lc_counters *c)
{
	const struct {
		const char *what;
		uint64_t n;
	} rows[] = {
		{ "records found by programs that write", c->hits },
		{ "records not found by them", c->misses },
		{ "puts", c->puts },
		{ "deletes", c->deletes },
		{ "commits of puts and deletes", c->commits },
		{ "records evicted", c->evicted_records },
	};
	static const char *const parts[] = { "half of all commits took at most",
		"nine of ten", "99 of 100", "the longest took" };

	fputs("<div>\n<h3>Counters</h3>\n", out);
	lc__page_table(out, "Since the module was created|#");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fprintf(out, "<tr><td>%s</td>", rows[i].what);
		lc__page_cell_count(out, rows[i].n);
		fputs("</tr>\n", out);
	}
	for (int i = 0; i < 4; i++)
		fprintf(out, "<tr><td>%s</td><td class=\"n\">%.3g ms</td></tr>\n",
		    parts[i], (double)c->flush_us[i] / 1000);
	lc__page_table_end(out);
	fputs("</div>\n", out);
}

static void
write_settings(FILE *out, const struct lc__module_facts *facts,
    const struct lc__module_extras *extras)
{
	char uuid[37], text[NUMBER_TEXT];

	for (int i = 0, at = 0; i < 16; i++)
		at += sprintf(uuid + at, "%s%02x",
		    i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
		    facts->stats.uuid[i]);
	lc__page_section(out, "Settings and counters");
	fputs("<div class=\"beside\">\n<div>\n<h3>Settings</h3>\n", out);
	lc__page_table(out, "Setting|Value");
	for (size_t i = 0; i < extras->n_settings; i++)
		lc__page_row(out, extras->settings[i].name, extras->settings[i].value);
	lc__page_row(out, "uuid", uuid);
	snprintf(text, sizeof(text), "%" PRIu32, facts->stats.format);
	lc__page_row(out, "format", text);
	lc__page_table_end(out);
	fputs("</div>\n", out);
	write_counters(out, &facts->counters);
	fputs("</div>\n", out);
	lc__page_section_end(out);
}

void
lc__module_html_write(FILE *out, const struct lc__module_facts *facts,
    const struct lc__module_extras *extras)
{
	write_head(out, facts);
	write_strip(out, facts);
	write_state(out, facts);
	write_examples(out, facts);
	write_fields(out, facts);
	write_vectors(out, facts);
	write_schemas(out, facts);
	write_records(out, facts);
	write_map(out, facts);
	write_inputs(out, facts);
	write_failures(out, facts);
	write_traces(out, extras);
	write_commits(out, facts);
	write_settings(out, facts, extras);
	lc__page_end(out);
}
