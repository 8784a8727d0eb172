/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * answers.h - answers that requests of table models have received (answers.c)
 *
 * Invariant: the answers of a live request are a list in order of receipt; the other answers are in the free list.
 */
#ifndef ORR_SERVE_ANSWERS_H
#define ORR_SERVE_ANSWERS_H

#include "serve/requests.h"

struct answer {
	struct orr_answer value;
	uint32_t next;
};

/* Adds an answer of a run of that replica and model. */
void answers_add(struct orr_serve *w, struct req *q, uint32_t replica, uint32_t model, double at_s);
/* Frees the answers of a request. */
void answers_forget(struct orr_serve *w, struct req *q);
void answers_free(struct orr_serve *w);

#endif
