/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a program that attacks every command; `engine` is defined before it. */

/* Faults of a round: all commands get some in a slice. */
#define POINTS 2

static const struct faulted_command *attacked;

static void
round_of(uint64_t seed, const char *dir)
{
	const char *name = strrchr(dir, '/') + 1;
	const size_t n = (size_t)(strrchr(name, '-') - name);

	for (attacked = faulted_commands; attacked->name != NULL; attacked++)
		if (strlen(attacked->name) == n && strncmp(attacked->name, name, n) == 0)
			break;
	need(attacked->name != NULL);
	faulted_round(&engine, attacked, seed, dir, POINTS);
}

int
main(void)
{
	static struct torture_case cases[200];
	struct torture attack = { .name = engine.name, .cases = cases,
		.counts = { "runs", "faults" }, .seconds = getenv("FAULTS") != NULL ? 36000 : 0 };
	size_t n = 0;
	char *here = getenv("builddir"), path[4200];

	here = realpath(here != NULL ? here : ".", NULL);
	need(here != NULL);
	snprintf(path, sizeof(path), "%s/t/support", here);
	setenv("T", path, 1);
	/* A slice is always the same one: there are some 100,000 faults, and `make check`
	 * must say what a change does, not what nobody has met before. */
	if (getenv("TORTURE_SECONDS") == NULL)
		setenv("T_SEED", "1", 0);
	snprintf(path, sizeof(path), "%s/cachex", here);
	setenv("CACHEX", path, 0);
	snprintf(path, sizeof(path), "%s/.libs/failing.so", here);
	setenv("FAILING", path, 1);
	for (; faulted_commands[n].name != NULL; n++)
		cases[n] = (struct torture_case) { faulted_commands[n].name, round_of, 1 };
	return torture_run(&attack);
}
