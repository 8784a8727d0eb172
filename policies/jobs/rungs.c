/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rungs.h"

#include <string.h>

void *rungs_new(struct orr_jobs *w, size_t size, const struct orr_args *args)
{
	struct rungs *r = branches_new(w, size);
	r->workers = (uint32_t)orr_arg_int(args, "workers");
	r->eta = orr_arg_real(args, "eta");
	return r;
}

void rungs_free(void *self)
{
	struct rungs *r = self;
	orr_free(r->v);
	orr_free(r->score);
	branches_free(self);
}

static struct rung_branch *find(struct rungs *r, uint64_t branch)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].branch == branch)
			return &r->v[i];
	return NULL;
}

/* Returns whether the stage is in exactly one explore. Other stages run in the order of the walk. */
static bool is_in_branch(const struct orr_jobs *w, orr_job j, struct orr_stage *s)
{
	return orr_stage_get(w, j, s) && s->depth == 1;
}

void rungs_arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct rungs *r = self;
	struct orr_stage s;
	if (!is_in_branch(w, j, &s)) {
		branches_arrive(self, w, j);
		return;
	}
	struct rung_branch *b = find(r, s.branch);
	if (!b) {
		ORR_GROW(r->v, r->n, r->cap);
		b = &r->v[r->n++];
		*b = (struct rung_branch){ .branch = s.branch, .explore = s.explore };
	}
	b->at = j;
	b->rung = s.rung;
	b->order = s.order;
	b->is_worse_higher = s.is_lower_better;
}

double rungs_quality(const struct rung_branch *b)
{
	return b->is_worse_higher ? -b->score : b->score;
}

static void leave(struct rungs *r, struct rung_branch *b)
{
	memmove(b, b + 1, (size_t)(r->v + r->n - (b + 1)) * sizeof *b);
	r->n--;
}

void rungs_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct rungs *r = self;
	struct orr_stage s;
	if (!is_in_branch(w, j, &s)) {
		branches_finish(self, w, j, how);
		return;
	}
	struct rung_branch *b = find(r, s.branch);
	if (!b)
		return;
	r->base.running -= b->is_running && b->at == j;
	if (b->at == j) {
		b->is_running = false;
		b->at = 0;
	}
	if (how == ORR_END_COMPLETED && s.is_scored) {
		b->score = orr_stage_score(w, j);
		b->rung = s.rung + 1;
		ORR_GROW(r->score, r->n_scores, r->cap_scores);
		r->score[r->n_scores++] = (struct rung_score){ s.explore, s.rung + 1, rungs_quality(b) };
	}
	if (how != ORR_END_COMPLETED || s.is_last)
		leave(r, b);
}

void rungs_evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct rungs *r = self;
	struct orr_stage s;
	struct rung_branch *b = is_in_branch(w, j, &s) ? find(r, s.branch) : NULL;
	if (!b) {
		branches_evict(self, w, j);
		return;
	}
	r->base.running--;
	b->is_running = false;
}

bool rungs_start(struct rungs *r, struct orr_jobs *w, struct rung_branch *b)
{
	if (r->base.running >= r->workers || !branches_start(&r->base, w, b->at, r->workers))
		return false;
	b->is_running = true;
	return true;
}

void rungs_start_others(struct rungs *r, struct orr_jobs *w)
{
	orr_job j;
	while (r->base.running < r->workers && (j = orr_queue_first(r->base.waiting)) && branches_start(&r->base, w, j, r->workers))
		;
}
