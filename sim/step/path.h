/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * path.h - the critical path of each iteration (--record explain)
 *
 * Each instance has a trail: the instance whose end let it start. This is the last dependency to end or, if the instance then waited
 * for a stream, the last instance to hold one. When an iteration ends, path_iteration() walks back from its last op to its start, in
 * time proportional to the length of the path. Ops of other iterations are on the path while they delay this one.
 *
 * Invariant: an iteration that has retired stays in memory (`kept`) while the path of a later one may lead to it.
 *
 * Inlined: called once per op or flow.
 */
#ifndef ORR_STEP_PATH_H
#define ORR_STEP_PATH_H

#include "step/world.h"

struct trail {
	struct iteration *of; /* NULL: the instance waited for nothing but the build of its iteration */
	uint32_t instance;
	uint32_t stream;           /* index in orr_step.stream[], for which the instance waited; NONE: the trail is a dependency */
	uint32_t link, flows;      /* messages: bottleneck, and number of flows on it; link NONE: unknown */
	double phase_s, longest_s; /* start of the phase of a collective; duration of the longest phase, whose link is stated */
	double free_s;             /* time at which the stream became free */
};

/* The last instance on a stream. */
struct holder {
	struct iteration *of;
	uint32_t instance;
	double end_s;
};

/* A flow starts or ends on a link. */
struct flow_change {
	uint32_t link;
	bool starts;
};

struct path_log;

struct path {
	struct holder *holder; /* by stream */
	struct iteration *builder;
	uint32_t builder_instance; /* the instance whose start led to the build of the next iteration */
	uint32_t link, flows;      /* bottleneck of the last flow or leap that ended, and number of flows on it */
	struct iteration *kept, **kept_end;
	/* By link. */
	double *load;       /* bytes / capacity; 0 between calls (leap.c) */
	uint32_t *flows_on; /* flows before this instant */
	uint32_t n_links;
	struct flow_change *change; /* changes of flows at this instant */
	uint32_t n_changes, cap_changes;
	double changed_s;
	struct path_log *log;
};

/* Makes room for load[link] and flows_on[link]. */
void path_reserve(struct orr_step *s, uint32_t link);
/* Counts a flow over these links that starts or ends. If it ends, sets `link` to its bottleneck: the link with the smallest capacity per
 * flow before this instant. */
void path_flow(struct orr_step *s, const double *capacity, const uint32_t *link, uint32_t n, bool starts);
void path_new(struct orr_step *s);
void path_free(struct orr_step *s);

/* Makes the trails of instances from `first` on. */
void path_built(struct orr_step *s, struct iteration *k, uint32_t first);
/* Records the path of an iteration that ends now with instance i. */
void path_iteration(struct orr_step *s, struct iteration *k, uint32_t i);
/* Adds the parts of `count` iterations that are skipped before row n, and repeat the last `period` ones. */
void path_skip(struct orr_step *s, uint64_t n, uint32_t period, uint64_t count);
/* Keeps an iteration that retires, and frees those that no path needs. */
void path_retire(struct orr_step *s, struct iteration *k);
/* Moves the log to *out, with parts of the extrapolated iterations. row: iterations in order of their numbers. */
void path_end(struct orr_step *s, const struct step_iteration *row, size_t simulated, size_t n, struct path_log **out);

/* The end of instance i of `by` lets instance j of k become ready. */
static inline void path_leads(struct iteration *k, uint32_t j, struct iteration *by, uint32_t i)
{
	if (!k->trail)
		return;
	k->trail[j].of = by;
	k->trail[j].instance = i;
}

/* The start of instance i leads to the build of the next iteration. */
static inline void path_builds(struct orr_step *s, struct iteration *k, uint32_t i)
{
	if (!s->path)
		return;
	s->path->builder = k;
	s->path->builder_instance = i;
}

static inline void path_stream_free(struct orr_step *s, uint32_t stream, struct iteration *k, uint32_t i)
{
	if (s->path)
		s->path->holder[stream] = (struct holder){ k, i, s->now_s };
}

/* Called for each stream of an instance that starts after it waited for streams. */
static inline void path_waited(struct orr_step *s, uint32_t stream, struct iteration *k, uint32_t i)
{
	if (!s->path)
		return;
	const struct holder *h = &s->path->holder[stream];
	struct trail *t = &k->trail[i];
	if (h->of && h->end_s > k->instance[i].ready_s && h->end_s > t->free_s) {
		t->of = h->of;
		t->instance = h->instance;
		t->stream = stream;
		t->free_s = h->end_s;
	}
}

static inline void path_phase_begins(const struct orr_step *s, struct iteration *k, uint32_t i)
{
	if (s->path)
		k->trail[i].phase_s = s->now_s;
}

/* Ends a message or a phase of a collective, whose last flow or leap has just ended. */
static inline void path_phase_ends(const struct orr_step *s, struct iteration *k, uint32_t i)
{
	if (!s->path)
		return;
	struct trail *t = &k->trail[i];
	double time = s->now_s - t->phase_s;
	if (time < t->longest_s)
		return;
	t->longest_s = time;
	t->link = s->path->link;
	t->flows = s->path->flows;
}

#endif
