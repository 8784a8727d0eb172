/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shapes.h - the shape (pipelines, depth) of a job for each number of instances
 *
 * Invariant: of[n] needs at most n instances; nodes = 0 if no shape fits, as in of[0].
 */
#ifndef ORR_POLICIES_SPOT_SHAPES_H
#define ORR_POLICIES_SPOT_SHAPES_H

#include <orrery/spot.h>

struct shape {
	uint32_t pipelines, depth, nodes;
	int64_t step_ns;
};

struct shapes {
	struct shape *of; /* [0..most] */
	uint32_t most;    /* number of instances of the largest shape */
};

struct shape_choice {
	uint32_t depth, pipelines; /* 0: any */
	bool takes_most;           /* prefers more instances, even if fewer are faster */
};

static inline bool shape_is_better(const struct shape *a, const struct shape *b, bool takes_most)
{
	if (!b->nodes)
		return true;
	if (takes_most && a->nodes != b->nodes)
		return a->nodes > b->nodes;
	return a->step_ns < b->step_ns || (a->step_ns == b->step_ns && a->nodes < b->nodes);
}

/* Sets point i of the job; nodes = 0 if the choice excludes it. Returns false past the last. */
static inline bool shape_point(const struct orr_spot *w, size_t i, const struct shape_choice *choice, struct shape *p)
{
	if (!orr_step_point(w, i, &p->pipelines, &p->depth))
		return false;
	p->step_ns = orr_step_time(w, p->pipelines, p->depth, ORR_STEP_PLAIN);
	bool fits = (!choice->depth || p->depth == choice->depth) && (!choice->pipelines || p->pipelines == choice->pipelines);
	p->nodes = fits && p->step_ns > 0 ? p->pipelines * p->depth : 0;
	return true;
}

/* Fills in the shapes; most = 0: the job has no such point. */
static inline void shapes_begin(struct shapes *s, const struct orr_spot *w, const struct shape_choice *choice)
{
	struct shape p;
	s->most = 0;
	for (size_t i = 0; shape_point(w, i, choice, &p); i++)
		s->most = p.nodes > s->most ? p.nodes : s->most;
	s->of = orr_alloc((size_t)s->most + 1, sizeof *s->of);
	for (size_t i = 0; shape_point(w, i, choice, &p); i++)
		if (p.nodes && shape_is_better(&p, &s->of[p.nodes], choice->takes_most))
			s->of[p.nodes] = p;
	for (uint32_t n = 1; n <= s->most; n++)
		if (s->of[n - 1].nodes && (!s->of[n].nodes || !shape_is_better(&s->of[n], &s->of[n - 1], choice->takes_most)))
			s->of[n] = s->of[n - 1];
}

static inline void shapes_end(struct shapes *s)
{
	orr_free(s->of);
}

static inline const struct shape *shape_for(const struct shapes *s, uint32_t nodes)
{
	return &s->of[nodes < s->most ? nodes : s->most];
}

#endif
