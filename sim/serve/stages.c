/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of pipeline stages with several micro-batches in flight. */
#include "serve/stages.h"

#include "base/mem.h"

void stages_open(struct lane *l, uint32_t n, bool is_by_stage)
{
	struct stages *s = l->stages = mem_zalloc(1, sizeof *s);
	s->n = n;
	s->is_by_stage = is_by_stage;
	s->stage = mem_zalloc(n, sizeof *s->stage);
	s->micro = mem_zalloc(n, sizeof *s->micro);
	for (uint32_t i = 0; i < n; i++) {
		s->stage[i].first = s->stage[i].last = s->stage[i].running = NONE;
		s->micro[i].next = i + 1 < n ? i + 1 : NONE;
	}
	l->is_cut = true; /* iterations of this lane are not repeated */
	l->flags = ORR_ITER_THROUGH;
}

void stages_free(struct stages *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		mem_free(s->micro[i].member);
	mem_free(s->micro);
	mem_free(s->stage);
	mem_free(s->back);
	mem_free(s);
}

void stages_return_again(struct orr_serve *w, struct stages *s)
{
	uint32_t n = s->n_again;
	s->n_again = 0;
	for (uint32_t i = 0; i < n; i++)
		stages_return(w, s, &w->req[s->micro[0].member[i]]);
}

void stages_join(struct orr_serve *w, struct lane *l, const struct req *q)
{
	if (l->stages->n_again)
		stages_return_again(w, l->stages);
	l->stages->decodes++;
	stages_return(w, l->stages, q);
}

bool stages_is_decoding(const struct orr_serve *w, const struct req *q)
{
	const struct lane *l = q->state == ORR_REQ_RESIDENT ? w->replica[q->replica].lane : NULL;
	return l && l->stages && q->done > q->prompt;
}

const char *stages_check(const struct orr_serve *w, const struct lane *l)
{
	const struct stages *s = l->stages;
	uint32_t running = 0, queued = 0, decodes = 0, unused = 0;
	for (uint32_t i = s->free; i != NONE && unused <= s->n; i = s->micro[i].next)
		unused++;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct stage *x = &s->stage[i];
		running += x->running != NONE;
		for (uint32_t m = x->first; m != NONE && queued <= s->n; m = s->micro[m].next)
			queued++;
		if (x->first != NONE && x->running == NONE)
			return "a pipeline stage idles while a micro-batch waits for it";
	}
	if (running + queued != s->in_flight || (!s->is_by_stage && unused + s->in_flight != s->n))
		return "the count of micro-batches is incorrect";
	if (l->is_flying != (s->in_flight > 0))
		return "a replica with micro-batches in flight counts as idle, or one without as busy";
	for (uint32_t slot = l->first; slot != NONE; slot = w->req[slot].res_next) {
		const struct req *q = &w->req[slot];
		decodes += q->done > q->prompt;
		if (q->done > kv_holds(l, q) * l->block_tokens + 1)
			return "a request has more tokens than its blocks hold";
	}
	return decodes == s->decodes ? NULL : "the count of decodes is incorrect";
}
