/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/page.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "formats/base64.h"

/* Characters of a name that are shown at its beginning and end. */
#define ID_WHOLE 56
#define ID_HEAD 36
#define ID_TAIL 16

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1d2430;--dim:#5c6675;--line:#d8dde4;"
    "--paper:#fff;--soft:#f3f5f8;--bar:#3a6fb0;--other:#c9781c;--good:#1c7a43;"
    "--bad:#b3261e;--warn:#8a5a00}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e3e7ee;--dim:#9aa5b5;"
    "--line:#343c49;--paper:#14181f;--soft:#1d232d;--bar:#6fa8e8;"
    "--other:#eba552;--good:#5cc98a;--bad:#ff8a80;--warn:#e5b454}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:1.5rem 1.25rem 3rem;max-width:76rem;"
    "background:var(--paper);color:var(--ink);"
    "font:15px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}\n"
    "h1{font-size:1.6rem;line-height:1.2;margin:0 0 .3rem;overflow-wrap:anywhere}\n"
    "h2{font-size:1.15rem;margin:2.2rem 0 .7rem;padding-bottom:.25rem;"
    "border-bottom:1px solid var(--line)}\n"
    "h3{font-size:1rem;margin:1.4rem 0 .5rem}\n"
    "p{margin:.4rem 0;max-width:60rem}\n"
    ".dim{color:var(--dim)}\n"
    "code,.id{font-family:ui-monospace,'DejaVu Sans Mono',monospace;"
    "font-size:.87em;overflow-wrap:anywhere}\n"
    ".strip{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.5rem,1fr));"
    "gap:.6rem;margin:1.2rem 0;padding:0;list-style:none}\n"
    ".strip li{background:var(--soft);border-radius:.4rem;padding:.55rem .75rem}\n"
    ".strip b{display:block;font-size:1.3rem;line-height:1.25;font-weight:600;"
    "font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    ".strip span{color:var(--dim);font-size:.85rem}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.9rem;margin:.3rem 0 .6rem}\n"
    "th,td{padding:.25rem .7rem;text-align:left;vertical-align:top;"
    "border-bottom:1px solid var(--line)}\n"
    "th:first-child,td:first-child{padding-left:.2rem}\n"
    "thead th{color:var(--dim);font-weight:600;white-space:nowrap}\n"
    "td{min-width:6.5rem;max-width:34rem;overflow-wrap:break-word}"
    "td.n{min-width:0}td code,td .id{overflow-wrap:break-word}\n"
    "th.n,td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "tr.sum td{font-weight:600;border-top:2px solid var(--line)}\n"
    ".good{color:var(--good)}.bad{color:var(--bad);font-weight:600}"
    ".warn{color:var(--warn);font-weight:600}\n"
    "td.good,td.bad,td.warn{white-space:nowrap}\n"
    ".share{display:flex;height:.9rem;border-radius:.25rem;overflow:hidden;"
    "margin:.5rem 0;background:var(--soft)}\n"
    ".share i{display:block;min-width:1px}\n"
    ".free{background:var(--soft);box-shadow:inset 0 0 0 1px var(--line)}\n"
    ".keys,.damage{margin:.3rem 0;padding-left:1.1rem}\n"
    "table.texts td{border:0;padding:.1rem .7rem .1rem 0}\n"
    ".c0{background:var(--bar)}.c1{background:#8aa0bd}.c2{background:#d9a441}"
    ".c3{background:#c9781c}.c4{background:var(--bad)}\n"
    ".key{display:inline-block;width:.7rem;height:.7rem;border-radius:.15rem;"
    "margin-right:.4rem}\n"
    ".meter{display:inline-block;width:9rem;height:.6rem;"
    "background:var(--soft);border-radius:.2rem;overflow:hidden}\n"
    ".meter i{display:block;height:100%;background:var(--bar)}\n"
    ".beside{display:flex;flex-wrap:wrap;gap:0 3rem}"
    ".beside>div{min-width:0;max-width:100%}\n"
    ".plots.wide{grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr))}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr));"
    "gap:1.1rem 1.4rem}\n"
    "figure{margin:0;break-inside:avoid}\n"
    "figcaption{font-size:.9rem;margin-bottom:.15rem}\n"
    "figcaption span{color:var(--dim);font-size:.82rem;display:block}\n"
    ".map{display:block;width:100%;height:auto;border-radius:.25rem}\n"
    "svg{display:block;width:100%;height:auto}\n"
    "svg text{fill:var(--dim);font-size:10px}\n"
    ".axis{stroke:var(--dim);stroke-width:1}.grid{stroke:var(--line);stroke-width:1}\n"
    ".bar{fill:var(--bar)}.old{fill:var(--bar);opacity:.45}"
    ".new{fill:none;stroke:var(--other);stroke-width:1.8}\n"
    ".line{fill:none;stroke-width:1.8}.line.s0{stroke:var(--bar)}"
    ".line.s1{stroke:var(--dim)}.line.s2{stroke:var(--good);stroke-dasharray:5 4}"
    ".point.s0{fill:var(--bar)}.point.s1{fill:var(--dim)}.point.s2{fill:var(--good)}"
    ".span.s1{fill:var(--bar);opacity:.45}.span.s2{fill:var(--other)}"
    ".mark{stroke:var(--other);stroke-width:1;stroke-dasharray:2 3}\n"
    ".spans .mark{stroke:var(--ink)}\n"
    "figcaption .label{display:inline-block;margin-right:1rem}"
    ".key.s0{background:var(--bar)}.key.s1{background:var(--dim)}"
    ".key.s2{background:var(--good)}.spans .key.s1{background:var(--bar);opacity:.45}"
    ".spans .key.s2{background:var(--other)}\n"
    ".k0{background:var(--bar);opacity:.45}.k1{background:var(--other)}\n"
    ".thumbs{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));"
    "gap:1rem}\n"
    ".thumbs img{display:block;max-width:100%;height:auto;"
    "background:var(--soft);border-radius:.25rem}\n"
    ".thumbs.cells img{width:100%;height:9.5rem;object-fit:contain}\n"
    ".cells .cell{margin:0;padding:.5rem .6rem;height:9.5rem;"
    "overflow:hidden;background:var(--soft);border-radius:.25rem;white-space:pre-wrap;"
    "overflow-wrap:anywhere;font:.8rem/1.35 ui-monospace,'DejaVu Sans Mono',monospace}\n"
    ".thumbs figcaption{margin-top:.25rem;overflow-wrap:anywhere}\n"
    ".wide svg text{font-size:13px}\n"
    "@media(max-width:600px){th,td{padding:.25rem .45rem}"
    ".curves svg text,.spans svg text{font-size:16px}}\n"
    "@media print{html{font-size:11px}body{max-width:none;padding:0;font-size:11px}"
    ":root{color-scheme:light;--ink:#000;--dim:#444;--line:#bbb;--paper:#fff;"
    "--soft:#eee;--bar:#3a6fb0;--other:#c9781c;--good:#1c7a43;--bad:#b3261e;"
    "--warn:#8a5a00}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "h2,h3{break-after:avoid}tr,li{break-inside:avoid}.scroll{overflow:visible}"
    "td,td code,td .id{overflow-wrap:anywhere}td{min-width:4rem}th,td{padding:.2rem .4rem}"
    ".plots.wide{grid-template-columns:1fr 1fr}}\n";

void
lc__page_begin(FILE *out, const char *title)
{
	fputs("<!DOCTYPE html>\n"
	      "<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width,"
	      "initial-scale=1\"/>\n<title>",
	    out);
	lc__page_str(out, title);
	fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
}

void
lc__page_end(FILE *out)
{
	fputs("</body>\n</html>\n", out);
}

/* Size in bytes of the character at the beginning of the text; 1 if there is none. */
static size_t
length_of(const unsigned char *text, size_t size)
{
	const size_t n = lc__utf8_length(text, size);

	return n ? n : 1;
}

/* Whether a character of @p size bytes is allowed in XML and is not a control. */
static bool
is_shown(const unsigned char *text, size_t size)
{
	if (size == 1)
		return (*text >= 0x20 && *text < 0x7f) || *text == '\t' || *text == '\n';
	if (size == 2)
		return text[0] != 0xc2 || text[1] >= 0xa0;
	return size != 3 || text[0] != 0xef || text[1] != 0xbf || text[2] <= 0xbd;
}

static void
put_character(FILE *out, const unsigned char *text, size_t size)
{
	if (!is_shown(text, size))
		fputs("\xef\xbf\xbd", out);
	else if (*text == '&')
		fputs("&amp;", out);
	else if (*text == '<')
		fputs("&lt;", out);
	else if (*text == '>')
		fputs("&gt;", out);
	else if (*text == '"')
		fputs("&quot;", out);
	else if (*text == '\'')
		fputs("&#39;", out);
	else
		fwrite(text, 1, size, out);
}

void
lc__page_text(FILE *out, const void *data, size_t size)
{
	const unsigned char *text = data;

	for (size_t at = 0; at < size;) {
		const size_t n = length_of(text + at, size - at);
		put_character(out, text + at, n);
		at += n;
	}
}

void
lc__page_str(FILE *out, const char *text)
{
	lc__page_text(out, text, strlen(text));
}

/* The offset of character @p n. */
static size_t
skip(const unsigned char *text, size_t size, size_t n)
{
	size_t at = 0;

	for (; at < size && n > 0; n--)
		at += length_of(text + at, size - at);
	return at;
}

static size_t
characters(const unsigned char *text, size_t size)
{
	size_t n = 0;

	for (size_t at = 0; at < size; n++)
		at += length_of(text + at, size - at);
	return n;
}

void
lc__page_id(FILE *out, const void *text, size_t size)
{
	const size_t n = characters(text, size);
	size_t tail;

	if (n <= ID_WHOLE) {
		fputs("<bdi class=\"id\">", out);
		lc__page_text(out, text, size);
		fputs("</bdi>", out);
		return;
	}
	tail = skip(text, size, n - ID_TAIL);
	fputs("<bdi class=\"id\" title=\"", out);
	lc__page_text(out, text, size);
	fputs("\">", out);
	lc__page_text(out, text, skip(text, size, ID_HEAD));
	fputs("\xe2\x80\xa6", out);
	lc__page_text(out, (const char *)text + tail, size - tail);
	fputs("</bdi>", out);
}

void
lc__page_count(FILE *out, uint64_t n)
{
	char text[32];
	const int digits = snprintf(text, sizeof(text), "%llu", (unsigned long long)n);

	for (int i = 0; i < digits; i++) {
		if (i > 0 && (digits - i) % 3 == 0)
			putc(',', out);
		putc(text[i], out);
	}
}

void
lc__page_share(FILE *out, uint64_t n, uint64_t all)
{
	const double percent = all ? 100 * (double)n / (double)all : 0;

	if (all == 0)
		return;
	if (n > 0 && percent < 0.01)
		fputs("&lt; 0.01 %", out);
	else
		fprintf(out, "%.*f %%", percent < 1 && n > 0 ? 2 : 1, percent);
}

void
lc__page_bytes(FILE *out, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double size = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		fprintf(out, "%u B", (unsigned)bytes);
		return;
	}
	for (size /= 1024; size >= 999.5 && unit < 5; unit++)
		size /= 1024;
	fprintf(out, "%.*f %s",
	    size < 9.995       ? 2
		: size < 99.95 ? 1
			       : 0,
	    size, units[unit]);
}

void
lc__page_time(FILE *out, uint64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char text[64];

	if (gmtime_r(&seconds, &tm) != NULL &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm) > 0)
		fputs(text, out);
	else
		fprintf(out, "%llu ms since 1970", (unsigned long long)ms);
}

void
lc__page_strip(FILE *out)
{
	fputs("<ul class=\"strip\">\n", out);
}

void
lc__page_strip_end(FILE *out)
{
	fputs("</ul>\n", out);
}

static void
end_tile(FILE *out, const char *what)
{
	fputs("</b><span>", out);
	lc__page_str(out, what);
	fputs("</span></li>\n", out);
}

void
lc__page_tile_count(FILE *out, uint64_t n, const char *what)
{
	fputs("<li><b>", out);
	lc__page_count(out, n);
	end_tile(out, what);
}

void
lc__page_tile_bytes(FILE *out, uint64_t bytes, const char *what)
{
	fputs("<li><b>", out);
	lc__page_bytes(out, bytes);
	end_tile(out, what);
}

void
lc__page_tile(FILE *out, const char *text, const char *what)
{
	fputs("<li><b>", out);
	lc__page_str(out, text);
	end_tile(out, what);
}

void
lc__page_png(FILE *out, const struct lc__buf *png, uint32_t width, uint32_t height,
    const char *alt)
{
	fprintf(out, "<img width=\"%u\" height=\"%u\" alt=\"", width, height);
	lc__page_str(out, alt);
	fputs("\" src=\"data:image/png;base64,", out);
	lc__base64_write(out, png->data, png->size);
	fputs("\"/>", out);
}

void
lc__page_svg(FILE *out, const struct lc__buf *wide, const struct lc__buf *narrow,
    const char *alt)
{
	static const char data[] = "data:image/svg+xml;base64,";

	fprintf(out, "<picture><source media=\"(max-width:700px)\" srcset=\"%s", data);
	lc__base64_write(out, narrow->data, narrow->size);
	fputs("\"/><img class=\"map\" alt=\"", out);
	lc__page_str(out, alt);
	fprintf(out, "\" src=\"%s", data);
	lc__base64_write(out, wide->data, wide->size);
	fputs("\"/></picture>\n", out);
}

void
lc__page_section(FILE *out, const char *title)
{
	fprintf(out, "<section>\n<h2>%s</h2>\n", title);
}

void
lc__page_section_end(FILE *out)
{
	fputs("</section>\n", out);
}

void
lc__page_table(FILE *out, const char *titles)
{
	fputs("<div class=\"scroll\">\n<table>\n<thead><tr>", out);
	while (*titles != '\0') {
		const size_t n = strcspn(titles, "|");
		const size_t mark = *titles == '#';
		fprintf(out, "<th scope=\"col\"%s>%.*s</th>", mark ? " class=\"n\"" : "",
		    (int)(n - mark), titles + mark);
		titles += n + (titles[n] == '|');
	}
	fputs("</tr></thead>\n<tbody>\n", out);
}

void
lc__page_table_end(FILE *out)
{
	fputs("</tbody>\n</table>\n</div>\n", out);
}

void
lc__page_cell_count(FILE *out, uint64_t n)
{
	fputs("<td class=\"n\">", out);
	lc__page_count(out, n);
	fputs("</td>", out);
}

void
lc__page_cell_share(FILE *out, uint64_t n, uint64_t all)
{
	fputs("<td class=\"n\">", out);
	lc__page_share(out, n, all);
	fputs("</td>", out);
}

void
lc__page_cell_str(FILE *out, const char *text)
{
	fputs("<td>", out);
	lc__page_str(out, text);
	fputs("</td>", out);
}

void
lc__page_cell_id(FILE *out, const char *text)
{
	fputs("<td>", out);
	lc__page_id(out, text, strlen(text));
	fputs("</td>", out);
}

void
lc__page_row(FILE *out, const char *name, const char *value)
{
	fputs("<tr><td>", out);
	lc__page_str(out, name);
	fputs("</td><td><code>", out);
	lc__page_str(out, value);
	fputs("</code></td></tr>\n", out);
}

void
lc__page_cell_meter(FILE *out, double share)
{
	fprintf(out,
	    "<td><span class=\"meter\"><i style=\"width:%.1f%%\"></i></span></td>",
	    100 * share);
}

void
lc__page_more(FILE *out, uint64_t shown, uint64_t all, const char *what)
{
	if (shown >= all)
		return;
	fputs("<p class=\"dim\">and ", out);
	lc__page_count(out, all - shown);
	fprintf(out, " more %s</p>\n", what);
}
