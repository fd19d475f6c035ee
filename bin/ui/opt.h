/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options. Each command has one table, which defines the command line, the environment,
 * the configuration file, the usage text, completion and `cachex config`.
 */
#ifndef CACHEX_UI_OPT_H
#define CACHEX_UI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The value of an option, and the type of `target`. */
enum opt_kind {
	OPT_END,    /* ends a table */
	OPT_FLAG,   /* int: 1, or 0 by --no-NAME; -1 if not given */
	OPT_TEXT,   /* const char *: any text */
	OPT_FILE,   /* const char *: a file's name */
	OPT_DIR,    /* const char *: a directory's name */
	OPT_COUNT,  /* uint64_t: decimal, at least `least` */
	OPT_SIZE,   /* uint64_t: bytes, with K, M, G or T for powers of 1,024 */
	OPT_NUMBER, /* int: decimal, may be negative */
	OPT_RATIO,  /* double: 0 to 1 */
	OPT_LIST,   /* struct opt_list: texts; given again it adds one */
	OPT_CHOICE  /* int: index of the word in `value`, "npy|raw|json" */
};

/** Texts in the order given; borrowed. */
struct opt_list {
	const char **items;
	size_t count, room;
};

/** The source of an option's value; later ones take precedence. */
enum opt_source { FROM_DEFAULT, FROM_CONFIG, FROM_ENVIRONMENT, FROM_OPTION };

/** An OPT_COUNT that is not given. */
#define OPT_UNSET UINT64_MAX

struct opt {
	const char *letters;    /* short names, "" for none */
	const char *name;       /* long name */
	enum opt_kind kind;     /* type of its value */
	void *target;           /* where its value goes */
	const char *value;      /* "FILE", "npy|raw"; NULL for a flag */
	const char *help;       /* one phrase */
	uint64_t least;         /* OPT_COUNT, OPT_SIZE: the smallest allowed */
	uint64_t most;          /* and the largest, 0 if all are */
	bool single_dash;       /* also accepted as -NAME, as in other programs */
	enum opt_source source; /* source of the value; set while reading */
};

/** A row by its long name; @p negated is set for --no-NAME of a flag. */
struct opt *opt_by_name(struct opt *table, const char *name, size_t size, bool *negated);
/** A row by a short name. */
struct opt *opt_by_letter(struct opt *table, char letter);

/**
 * Parse a value into its target, unless a stronger source gave one. Returns false with an
 * explanation in @p why (one phrase) if it is invalid; then nothing changes.
 */
bool opt_assign(struct opt *opt, enum opt_source source, const char *text, char *why,
    size_t room);

/** The value as text, as opt_assign() would read it; returns @p out. */
char *opt_render(const struct opt *opt, char *out, size_t room);

/** CACHEX_ROOT for a global option, CACHEX_PUT_DTYPE for one of a command,
 *  CACHEX_SHARD_INSPECT_IDS for one of a subcommand. */
char *opt_variable(const struct opt *opt, const char *command, char *out, size_t room);
/** "root", "put.dtype" or "shard.inspect.ids", the name in the configuration
 *  file. */
char *opt_key(const struct opt *opt, const char *command, char *out, size_t room);

/**
 * The option with this target, as its source spells it: "--dtype", "CACHEX_PUT_DTYPE" or
 * "put.dtype".
 */
char *opt_spelling(const struct opt *table, const void *target, const char *command,
    char *out, size_t room);

/**
 * Read the options at argv[*at], which starts with '-' and is not "-" or "--",
 * and move *at past the words that were used. Looks in @p tables, a NULL-ended list.
 * Returns false and explains in @p why.
 */
bool opt_parse(struct opt *const *tables, int argc, char **argv, int *at, char *why,
    size_t room);

/** Apply the environment. False names the variable in @p why. */
bool opt_environment(struct opt *table, const char *command, char *why, size_t room);

#define OPT_TEXT_ROOM 1200

#endif
