/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers that requests of table models have received, and the public functions that read them. */
#include "serve/answers.h"

#include "base/mem.h"

#include <math.h>

/* ---- the lists ---- */

void answers_add(struct orr_serve *w, struct req *q, uint32_t replica, uint32_t model, double at_s)
{
	uint32_t slot = w->free_answer;
	if (slot != NONE) {
		w->free_answer = w->answer[slot].next;
	} else {
		MEM_GROW(w->answer, w->n_answer, w->cap_answer);
		slot = w->n_answer++;
	}
	w->answer[slot] = (struct answer){ { replica, model, at_s }, NONE };
	if (q->answers++)
		w->answer[q->last_answer].next = slot;
	else
		q->first_answer = slot;
	q->last_answer = slot;
}

void answers_forget(struct orr_serve *w, struct req *q)
{
	if (!q->answers)
		return;
	w->answer[q->last_answer].next = w->free_answer;
	w->free_answer = q->first_answer;
	q->first_answer = q->last_answer = NONE;
	q->answers = 0;
}

void answers_free(struct orr_serve *w)
{
	mem_free(w->answer);
}

/* ---- queries of policies ---- */

uint32_t orr_req_answers(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_of(w, r);
	return q ? q->answers : 0;
}

static uint32_t answer_of(const struct orr_serve *w, const struct req *q, uint32_t replica)
{
	uint32_t slot = q->first_answer;
	while (slot != NONE && w->answer[slot].value.replica != replica)
		slot = w->answer[slot].next;
	return slot;
}

static const struct orr_answer no_answer = { ORR_NO_REPLICA, UINT32_MAX, NAN };

static const struct req *known(struct orr_serve *w, orr_req r, const char *what)
{
	const struct req *q = req_of(w, r);
	if (!q)
		serve_fail(w, ORR_EFAIL, NULL, "%s of a request that has ended or never existed (handle %llx): expected a live request",
			what, (unsigned long long)r);
	return q;
}

struct orr_answer orr_req_answer(struct orr_serve *w, orr_req r, uint32_t i)
{
	const struct req *q = known(w, r, "orr_req_answer()");
	if (!q)
		return no_answer;
	if (i >= q->answers) {
		serve_fail(w, ORR_EFAIL, q,
			"orr_req_answer() of answer %u, which has not been received: expected a number below %u, the number of answers "
			"received so far",
			i, q->answers);
		return no_answer;
	}
	uint32_t slot = q->first_answer;
	while (i--)
		slot = w->answer[slot].next;
	return w->answer[slot].value;
}

struct orr_answer orr_req_answer_of(struct orr_serve *w, orr_req r, uint32_t replica)
{
	const struct req *q = known(w, r, "orr_req_answer_of()");
	if (!q)
		return no_answer;
	uint32_t slot = answer_of(w, q, replica);
	if (slot != NONE)
		return w->answer[slot].value;
	serve_fail(w, ORR_EFAIL, q,
		"orr_req_answer_of() of replica %u, whose answer has not been received: expected one of the %u replicas whose answers were "
		"received (orr_req_has_answer() checks this)",
		replica, q->answers);
	return no_answer;
}

bool orr_req_has_answer(const struct orr_serve *w, orr_req r, uint32_t replica)
{
	const struct req *q = req_of(w, r);
	return q && answer_of(w, q, replica) != NONE;
}
