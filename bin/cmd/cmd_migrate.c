/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "cmd/migrate_report.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static const char *out_dir;
static const char *field = "dinov3_embedding";
static const char *dtype = "f32";
static const char *shape = "1024";
static struct opt_list modules;
static struct opt_list passes;
static struct opt_list encoders;
static struct opt_list expects;
static const char *images;
static const char *backup;
static uint64_t children = 1;
static uint64_t batch = 4;
static uint64_t timeout = 600;
static uint64_t start_timeout = 600;
static uint64_t limit;
static int verify;
static int repair;
static int rollback;
static int force;
static int dry_run;

static struct opt options[] = {
	{ "o", "out", OPT_DIR, &out_dir, .value = "DIR",
	    .help = "the root of the modules; needed" },
	{ "", "field", OPT_TEXT, &field, .value = "NAME",
	    .help = "the member whose array is extracted" },
	{ "", "dtype", OPT_TEXT, &dtype, .value = "DTYPE",
	    .help = "of its elements in the module" },
	{ "", "shape", OPT_TEXT, &shape, .value = "N,N,...",
	    .help = "that it must have" },
	{ "", "module", OPT_LIST, &modules, .value = "[PASS=]MODULE",
	    .help = "the module of a pass, without PASS= of dinov3; default dinov3, "
		    "vae_latents, t5_hidden" },
	{ "", "pass", OPT_LIST, &passes, .value = "PASS",
	    .help = "only this one: dinov3, vae, t5, migrate; may be given again" },
	{ "", "encoder", OPT_LIST, &encoders, .value = "PASS=COMMAND",
	    .help = "a producer that makes what the module of a pass lacks" },
	{ "", "expect", OPT_LIST, &expects, .value = "PASS=DTYPE[DIMS]",
	    .help = "what the tensors of a pass must be" },
	{ "", "images", OPT_DIR, &images, .value = "DIR",
	    .help = "look for images here where height and width are missing" },
	{ "", "backup", OPT_FILE, &backup, .value = "FILE",
	    .help = "keep the original here; default RECORDS.stage1.backup" },
	{ "j", "children", OPT_COUNT, &children, .value = "N", .least = 1, .most = 1024,
	    .help = "run so many producers at once" },
	{ "b", "batch", OPT_COUNT, &batch, .value = "N", .least = 1, .most = 1u << 20,
	    .help = "give a producer so many records at once" },
	{ "t", "timeout", OPT_COUNT, &timeout, .value = "SECONDS", .most = 1u << 24,
	    .help = "wait so long for a batch; 0 for ever" },
	{ "", "start-timeout", OPT_COUNT, &start_timeout, .value = "SECONDS",
	    .most = 1u << 24,
	    .help = "wait so long for a producer's first batch; 0 for ever" },
	{ "", "verify", OPT_FLAG, &verify,
	    .help = "change nothing: list what is missing, of another shape, not finite, "
		    "damaged or bad" },
	{ "", "repair", OPT_FLAG, &repair,
	    .help = "migrate, make anew what --verify finds, and verify" },
	{ "", "rollback", OPT_FLAG, &rollback,
	    .help = "put the arrays back into the lines" },
	{ "", "limit", OPT_COUNT, &limit, .value = "N", .least = 1, .most = UINT64_MAX,
	    .help = "migrate N records, and leave the others to later runs" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "replace tensors that differ, and image_ids of others; go on with "
		    "another file" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "count, and estimate what is needed; change nothing" },
	{ .kind = OPT_END },
};

static const char *const default_modules[LC__PASS_MODULES] = { "dinov3", "vae_latents",
	"t5_hidden" };
static const char *const default_expects[LC__PASS_MODULES] = { NULL, "f16[16,*,*]",
	"f16[77,1024]" };

/* ---- options --------------------------------------------------------------------------- */

/* "vae=TEXT": the pass and its text. False after a message. */
static bool
split(const char *option, const char *text, unsigned *pass, const char **rest)
{
	const char *equals = strchr(text, '=');
	char name[16] = "";

	if (equals != NULL && (size_t)(equals - text) < sizeof(name))
		memcpy(name, text, (size_t)(equals - text));
	if (*name == '\0' ||
	    lc__word_parse("pass", lc__stage2_passes, name, pass) != LC_OK ||
	    *pass >= LC__PASS_MODULES) {
		report_usage("--%s %s: not dinov3=, vae= or t5= and a value", option,
		    text);
		return false;
	}
	*rest = equals + 1;
	return true;
}

static bool
take_modules(struct lc__stage2 *how)
{
	for (int p = 0; p < LC__PASS_MODULES; p++)
		how->module[p] = default_modules[p];
	for (size_t i = 0; i < modules.count; i++) {
		const char *name = modules.items[i];
		unsigned pass = LC__PASS_DINOV3;
		if (strchr(name, '=') != NULL && !split("module", name, &pass, &name))
			return false;
		how->module[pass] = name;
	}
	for (int p = 0; p < LC__PASS_MODULES; p++)
		for (int q = 0; q < LC__PASS_MODULES; q++)
			if (strcmp(how->module[p], "stage2") == 0 ||
			    (p != q && strcmp(how->module[p], how->module[q]) == 0)) {
				report_usage("module %s has another use", how->module[p]);
				return false;
			}
	return true;
}

static bool
take_encoders(struct lc__stage2 *how)
{
	for (size_t i = 0; i < encoders.count; i++) {
		const char *command;
		unsigned pass;
		if (!split("encoder", encoders.items[i], &pass, &command))
			return false;
		how->encoder[pass] = command;
	}
	return true;
}

/* What is asked for, else all that can be done; a verification, which --repair ends with,
 * chooses itself. */
static bool
take_passes(struct lc__stage2 *how)
{
	for (size_t i = 0; i < passes.count; i++) {
		unsigned pass;
		if (lc__word_parse("pass", lc__stage2_passes, passes.items[i], &pass) !=
		    LC_OK) {
			report_usage("--pass %s: not dinov3, vae, t5 or migrate",
			    passes.items[i]);
			return false;
		}
		if ((pass == LC__PASS_VAE || pass == LC__PASS_T5) && !verify && !repair &&
		    how->encoder[pass] == NULL) {
			report_usage("--pass %s needs --encoder %s=COMMAND",
			    passes.items[i], passes.items[i]);
			return false;
		}
		how->pass[pass] = true;
	}
	how->named = passes.count > 0;
	for (int p = 0; p < LC__PASSES && passes.count == 0; p++)
		how->pass[p] = verify || p == LC__PASS_DINOV3 || p == LC__PASS_MIGRATE ||
		    how->encoder[p] != NULL;
	return true;
}

static bool
take_expect(struct lc__stage2 *how, unsigned pass, const char *text)
{
	if (lc__expect_parse(text, &how->expect[pass]) == LC_OK &&
	    how->expect[pass].path_size == 0)
		return true;
	report_usage("--expect %s=%s: no DTYPE[DIMS] of a tensor",
	    lc__stage2_passes[pass], text);
	return false;
}

static bool
take_expects(struct lc__stage2 *how)
{
	for (unsigned p = LC__PASS_VAE; p < LC__PASS_MODULES; p++)
		if (!take_expect(how, p, default_expects[p]))
			return false;
	for (size_t i = 0; i < expects.count; i++) {
		const char *text;
		unsigned pass;
		if (!split("expect", expects.items[i], &pass, &text))
			return false;
		if (!take_expect(how, pass, text))
			return false;
	}
	return true;
}

/* What the array is is what its module is expected to hold. */
static bool
take_array(struct lc__stage2 *how, uint64_t dims[LC_MAX_NDIM])
{
	struct lc__expect *expect = &how->expect[LC__PASS_DINOV3];
	lc_tensor tensor;

	if (lc_dtype_parse(dtype, &how->dtype) != LC_OK || how->dtype == LC_C64 ||
	    how->dtype == LC_C128) {
		report_usage("--dtype %s: no dtype of numbers", dtype);
		return false;
	}
	if (shape_parse(shape, &how->ndim, dims) != LC_OK || how->ndim == 0 ||
	    lc_tensor_init(&tensor, how->dtype, how->ndim, dims, NULL) != LC_OK) {
		report_usage("--shape %s: no shape of an array", shape);
		return false;
	}
	how->shape = dims;
	*expect = (struct lc__expect){
		.path = "",
		.dtype = how->dtype,
		.ndim = how->ndim,
		.ellipsis = UINT32_MAX,
	};
	memcpy(expect->shape, dims, sizeof(expect->shape));
	return true;
}

static void
producer_line(void *ctx, unsigned child, const char *text)
{
	char line[700];

	(void)ctx;
	if (!settings.verbose)
		return;
	snprintf(line, sizeof(line), "producer %u: %s", child, text);
	migrate_report_warning(NULL, line);
}

static struct lc__stage2
make_how(const char *file)
{
	return (struct lc__stage2){
		.file = file, .dir = out_dir, .field = field, .images = images,
		.backup = backup, .batch = batch, .force = force, .dry_run = dry_run,
		.repair = repair, .limit = limit,
		.producers = {
			.children = (unsigned)children, .ahead = 1, .retries = 1,
			.give_up = 10, .timeout_ms = timeout * 1000,
			.start_timeout_ms = start_timeout * 1000,
			.frame_max = (uint64_t)1 << 30, .isolate = true,
			.line = producer_line,
		},
		.bad = migrate_report_bad, .warn = migrate_report_warning,
		.finding = migrate_report_finding, .step = migrate_report_progress,
		.filling = migrate_report_filling,
	};
}

/* ---- running ----------------------------------------------------------------------------- */

static int
stopped(lc_status status)
{
	return status == LC_CANCELLED ? interrupt_status() : report_status(status);
}

static int
verify_stage2(const struct lc__stage2 *how)
{
	struct lc__stage2_verified verified;
	const lc_status status = lc__stage2_verify(how, &verified);

	migrate_report_end();
	if (status != LC_OK)
		return stopped(status);
	migrate_report_verified(&verified);
	return verified.findings > 0 ? EXIT_NO : EXIT_DONE;
}

static int
migrate_stage2_file(const struct lc__stage2 *how)
{
	struct lc__stage2_done done;
	lc_status status = lc__stage2_run(how, &done);
	int result = EXIT_DONE;

	migrate_report_end();
	if (status != LC_OK)
		result = stopped(status);
	if (status == LC_OK || status == LC_CANCELLED || status == LC_FAILED)
		migrate_report_done(&done);
	for (int p = 0; p < LC__PASS_MODULES; p++)
		if (done.filled[p].failed > 0)
			result = report_worse(result, EXIT_NO);
	if (done.counts.bad > 0 || done.counts.newer > 0 ||
	    (done.counts.foreign > 0 && !how->force))
		result = report_worse(result, EXIT_DATA);
	return result;
}

/* Repair, then verify: the verification lists what is still wrong. */
static int
repair_stage2(struct lc__stage2 *how)
{
	const int result = migrate_stage2_file(how);

	if (result != EXIT_DONE && result != EXIT_NO && result != EXIT_DATA)
		return result;
	for (int p = 0; p < LC__PASSES && !how->named; p++)
		how->pass[p] = true;
	interrupt_resume(INTERRUPT_AGAIN);
	migrate_report_begin(how, "verify");
	return report_worse(result, verify_stage2(how));
}

static int
rollback_stage2(const struct lc__stage2 *how)
{
	struct lc__stage2_rolled rolled;
	const lc_status status = lc__stage2_rollback(how, &rolled);

	migrate_report_end();
	if (status != LC_OK)
		return stopped(status);
	migrate_report_rolled(&rolled);
	return rolled.without > 0 || rolled.kept > 0 ? EXIT_NO : EXIT_DONE;
}

/* At most one of these, and --limit with none. */
static bool
take_modes(void)
{
	const int modes = verify + repair + rollback;

	if (modes > 1)
		report_usage("--verify, --repair and --rollback exclude one another");
	else if (modes > 0 && limit > 0)
		report_usage("--limit is for migrating alone");
	else if (repair && dry_run)
		report_usage("--repair has no --dry-run; --verify shows what is wrong");
	else
		return true;
	return false;
}

static int
run_migrate_stage2(int argc, char **argv)
{
	uint64_t dims[LC_MAX_NDIM];
	struct lc__stage2 how = make_how(argv[0]);

	(void)argc;
	if (out_dir == NULL)
		return report_usage("stage2 needs --out DIR");
	if (!take_modes() || !take_modules(&how) || !take_encoders(&how) ||
	    !take_passes(&how) || !take_array(&how, dims) || !take_expects(&how))
		return EXIT_USAGE;
	if (verify || rollback || dry_run)
		interrupt_resume(INTERRUPT_AGAIN);
	migrate_report_begin(&how, verify ? "verify" : rollback ? "rollback" : NULL);
	if (verify)
		return verify_stage2(&how);
	if (repair)
		return repair_stage2(&how);
	return rollback ? rollback_stage2(&how) : migrate_stage2_file(&how);
}

static const struct command migrate_stage2 = {
	.name = "migrate stage2",
	.operands = "RECORDS --out DIR",
	.summary = "take arrays out of a file of JSON lines",
	.text =
	    "RECORDS is a file with a JSON object a line. Its arrays, the member "
	    "dinov3_embedding unless --field says otherwise, go to the module dinov3 "
	    "below DIR, and each line gets image_id, aspect_bucket and format_version "
	    "2. Everything else in it stays as it is, byte for byte. The original is kept "
	    "as RECORDS.stage1.backup.\n"
	    "With --encoder, producers (cachex-producer(5)) make what the modules "
	    "vae_latents and t5_hidden, or dinov3, lack.\n"
	    "A run that was killed is gone on with by the next one. Lines that are bad stay "
	    "as they are; the exit status is 3 then, and 1 if encoders failed on records, "
	    "or --verify found something. --rollback puts the arrays back.",
	.examples =
	    "cachex migrate stage2 records.jsonl --out derived -n\n"
	    "cachex migrate stage2 records.jsonl --out derived\n"
	    "cachex migrate stage2 records.jsonl --out derived --verify --pass dinov3 "
	    "--pass migrate",
	.completes = "f",
	.resume = "the same command goes on from there",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_migrate_stage2,
};

static struct opt no_options[] = { { .kind = OPT_END } };

static const struct command *const subcommands[] = { &migrate_stage2, NULL };

const struct command cmd_migrate = {
	.name = "migrate",
	.operands = "stage2 RECORDS --out DIR",
	.summary = "move data sets of other layouts into modules",
	.text = "stage2 takes arrays out of a file of JSON lines.",
	.examples = "cachex migrate stage2 records.jsonl --out derived",
	.completes = "",
	.least = 1,
	.most = -1,
	.subcommands = subcommands,
	.options = no_options,
};
