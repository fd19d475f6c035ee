/* SPDX-License-Identifier: BSD-2-Clause */
/* Suggests the known word that a mistyped one probably meant. */
#ifndef CACHEX_UI_SUGGEST_H
#define CACHEX_UI_SUGGEST_H

struct suggest {
	const char *typed; /* the mistyped word */
	char best[64];     /* nearest known word so far */
	unsigned distance; /* its edit distance */
};

void suggest_start(struct suggest *suggest, const char *typed);
/** Offer a known word. */
void suggest_word(struct suggest *suggest, const char *word);
/** Offer "no-WORD". */
void suggest_negated(struct suggest *suggest, const char *word);
/** The nearest word, NULL if none is near enough. */
const char *suggest_best(const struct suggest *suggest);

#endif
