/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex report: a page about a module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/module_settings.h"
#include "report/module_facts.h"
#include "report/module_html.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/output.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"

#define SETTINGS 32 /* of a module at most */

static const char *page;
static int force;
static uint64_t samples = 1024;
static uint64_t thumbnails = LC__FACTS_THUMBNAILS;
static struct opt_list traces;
static int verify;

static struct opt options[] = {
	{ "o", "output", OPT_FILE, &page, .value = "FILE",
	    .help = "write the HTML page to FILE; - is standard output" },
	{ "", "samples", OPT_COUNT, &samples, .value = "N",
	    .help = "read the values of N records, spread evenly; 0 for all, default "
		    "1024" },
	{ "", "thumbnails", OPT_COUNT, &thumbnails, .value = "N",
	    .most = LC__MODULE_EXAMPLES, .help = "show N of these records; default 24" },
	{ "", "trace", OPT_LIST, &traces, .value = "FILE",
	    .help = "draw the course of a fill from its --trace FILE" },
	{ "", "verify", OPT_FLAG, &verify,
	    .help = "verify the module, which reads all of it" },
	{ "f", "force", OPT_FLAG, &force, .help = "replace an existing file" },
	{ .kind = OPT_END },
};

static int
step(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	progress_items(done, total);
	return progress_step(NULL, 0, 0);
}

static int
read_facts(const char *module, lc_cache *cache, struct lc__module_facts *facts)
{
	const struct lc__module_look look = {
		.samples = samples,
		.examples = thumbnails,
		.verify = verify,
		.records = { .step = step, .phase = progress_phase },
		.bytes = { .step = progress_step, .phase = progress_phase },
	};
	lc_status status;

	progress_begin("report");
	status = lc__module_facts_read(cache, module, &look, facts);
	progress_end();
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

/* Names and values of settings; @p rows has room for SETTINGS, @p texts for their values. */
static int
read_settings(const char *module, lc_cache *cache, struct lc__field *rows,
    char (*texts)[MODULE_SETTING_TEXT], size_t *n)
{
	struct module_settings set;
	const int status = module_settings_read(module, cache, &set);

	for (*n = 0;
	     status == EXIT_DONE && *n < SETTINGS && module_setting_name(*n) != NULL;
	     ++*n) {
		rows[*n].name = (char *)module_setting_name(*n);
		rows[*n].value = module_setting_value(&set, *n, texts[*n],
		    MODULE_SETTING_TEXT);
	}
	return status;
}

static int
read_traces(struct lc__fill_trace *out)
{
	for (size_t i = 0; i < traces.count; i++) {
		const lc_status status = lc__fill_trace_read(traces.items[i], &out[i]);
		if (status != LC_OK)
			return report_status(status);
	}
	return EXIT_DONE;
}

static int
write_page(const struct lc__module_facts *facts, const struct lc__module_extras *extras)
{
	struct output output;
	const int status = output_open(&output, page, force);

	if (status != EXIT_DONE)
		return status;
	lc__module_html_write(output.stream, facts, extras);
	output_failed(&output);
	return output_end(&output, EXIT_DONE);
}

static void
show_json(const struct lc__module_facts *facts)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", facts->module);
	jw_count(&json, "records", facts->stats.records);
	jw_count(&json, "samples", facts->fields.records);
	jw_count(&json, "damaged",
	    facts->verified ? facts->verify.damaged : facts->damaged + facts->unlisted);
	jw_flag(&json, "verified", facts->verified);
	jw_text(&json, "page", page);
	jw_end_line(&json);
}

static int
report_module(const char *module, lc_cache *cache, struct lc__fill_trace *read)
{
	static struct lc__module_facts facts; /* large */
	static char texts[SETTINGS][MODULE_SETTING_TEXT];
	struct lc__field rows[SETTINGS];
	struct lc__module_extras extras = { rows, 0, read, traces.count };
	int status = read_settings(module, cache, rows, texts, &extras.n_settings);

	if (status == EXIT_DONE)
		status = read_facts(module, cache, &facts);
	if (status == EXIT_DONE)
		status = write_page(&facts, &extras);
	if (status == EXIT_DONE && settings.json)
		show_json(&facts);
	if (status == EXIT_DONE &&
	    (facts.damaged + facts.unlisted > 0 || facts.verify.damaged > 0))
		status = report_error(EXIT_DATA, "%s: %s", module,
		    facts.n_damage > 0 ? facts.damage[0] : "damaged");
	lc__module_facts_free(&facts);
	return status;
}

static int
run_report(int argc, char **argv)
{
	struct lc__fill_trace *read;
	lc_cache *cache = NULL;
	int status;

	(void)argc;
	if (page == NULL)
		return report_usage("name the page with -o FILE");
	if (settings.json && strcmp(page, "-") == 0)
		return report_usage("--json and the report would both go to standard "
				    "output; name a file");
	read = calloc(traces.count + 1, sizeof(*read));
	if (read == NULL)
		return report_no_memory();
	status = read_traces(read);
	if (status == EXIT_DONE)
		status = module_open(argv[0], &cache);
	if (status == EXIT_DONE) {
		status = report_module(argv[0], cache, read);
		status = module_close(cache, status);
	}
	for (size_t i = 0; i < traces.count; i++)
		lc__fill_trace_free(&read[i]);
	free(read);
	return status;
}

const struct command cmd_report = {
	.name = "report",
	.operands = "MODULE",
	.summary = "write a page about a module",
	.text =
	    "-o writes one HTML page that needs nothing else: sizes and the parts of the "
	    "file, pictures of records, type, range, mean and histogram of every field, "
	    "structures and codecs, keys, inputs, failed items of a fill, commits over time "
	    "and settings. cachex warehouse report does this for a warehouse.\n"
	    "Keys and sizes are of all records; the values are those of --samples records, "
	    "which are spread evenly over the commits, so that the same module gives the "
	    "same page. --verify reads everything; damage that is found is on the page, and "
	    "the exit status is 3.\n"
	    "--trace draws what a fill stored and lost over time, how many producers were "
	    "busy, and the numbers that they reported, such as a loss.",
	.examples = "cachex report faces -o faces.html\n"
		    "cachex report faces -o faces.html -f --verify --samples 0\n"
		    "cachex report vae_latents -o fill.html --trace fill.jsonl",
	.completes = "m",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_report,
};
