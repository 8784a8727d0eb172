/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * speculate.h - speculative decoding of a lane (serve.draft_tokens; speculate.c)
 *
 * An iteration with decodes drafts l->drafts tokens for each of them and checks them in one pass. All decodes advance by one token
 * (decodes_advance()), then each by its accepted drafts (decodes_jump()). Before the pass, blocks for all drafts are reserved; if too few
 * are free, the iteration does not speculate. Every iteration of a speculating lane has an event.
 */
#ifndef ORR_SERVE_SPECULATE_H
#define ORR_SERVE_SPECULATE_H

#include "hwmodel/speculation.h"
#include "serve/lane.h"

struct speculation {
	uint32_t most;         /* draft tokens; 0: no speculation */
	uint32_t check;        /* tokens that the target checks per decode; 0: drafts + 1 */
	uint32_t most_decodes; /* iterations with more decodes do not speculate; 0: no limit */
	double cost;           /* time of a draft pass / of a plain pass */
	bool adapts;
	struct acceptance acceptance;
	char *pattern; /* results of tests, '0' and '1', repeated; NULL: drawn */
	size_t n_pattern;
};

/* Reads the options; NULL, with *err filled in, if one is invalid. */
struct speculation *speculation_new(const struct serve_config *c, struct orr_error *err);
void speculation_free(struct speculation *s);

/* Chooses l->drafts for an iteration of this plain load, reserves the blocks, and returns its time. need: blocks that the decodes take
 * anyway. */
double speculate_s(struct orr_serve *w, struct lane *l, const struct llm_load *x, uint32_t need);
/* Handles the end of the iteration: frees the reserved blocks and adds the accepted tokens. `decodes`: number of decodes in it. */
void speculate_land(struct orr_serve *w, struct lane *l, uint32_t decodes);
/* Frees the reserved blocks of an iteration without result. */
void speculate_drop(struct orr_serve *w, struct lane *l);

#endif
