/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/html_parts.h"

#include <string.h>

#include "report/page.h"

const char *
lc__html_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void
field(FILE *out, const char *name, const char *value)
{
	fputs("<tr><td>", out);
	lc__page_str(out, name);
	fputs("</td><td><code>", out);
	lc__page_str(out, value ? value : "null");
	fputs("</code></td></tr>\n", out);
}

void
lc__html_recipe(FILE *out, const struct lc__facts *facts)
{
	lc__page_section(out, "Recipe");
	lc__page_table(out, "Field|Value");
	for (size_t i = 0; i < facts->recipe.n; i++)
		field(out, facts->recipe.rows[i].name,
		    facts->recipe.rows[i].value);
	lc__page_table_end(out);
	lc__page_table(out, "Identity|");
	field(out, "version key", facts->info->version);
	field(out, "fingerprint of the sources", facts->info->fingerprint);
	lc__page_table_end(out);
	lc__page_section_end(out);
}
