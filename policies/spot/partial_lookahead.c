/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Partial look-ahead (Wu et al., "Can't Be Late", NSDI 2024): the time is divided into n slices. At the start of a slice the
 * future is known up to the end of the slice. The policy then makes the cheapest plan that completes i C(0) / n by the end of
 * slice i.
 *
 * The paper minimises the average cost of a slice's progress. Interpretation here: progress beyond the share pays off only on
 * spot. So the job stays on spot until it is preempted, even across slices, and this lowers the work of later slices; on-demand
 * does at most the share. The safety net applies in addition to the plans.
 */
#include "late_course.h"

static const struct orr_param params[] = { LATE_PARAMS,
	ORR_PARAM_INT("slices", "8", 1, 1e6, "number of slices of the time to the deadline"), ORR_PARAM_END };

struct partial_lookahead {
	struct late late;
	uint32_t n;
	int64_t next_ns; /* start of the next slice */
	uint32_t slice;  /* number of the slice after the current one */
	struct late_course course;
};

static void free_course(struct late *l)
{
	late_forget(&((struct partial_lookahead *)l)->course);
}

/* Returns the time at which the gang ends. */
static int64_t true_end(const struct late *l, struct orr_spot *w)
{
	int64_t end = ORR_NEVER;
	for (uint32_t i = 0; i < l->members; i++) {
		int64_t t = orr_inst_true_end(w, l->member[i]);
		end = t < end ? t : end;
	}
	return end;
}

/* Plans the slice that starts now. */
static void look(struct partial_lookahead *s, struct orr_spot *w)
{
	struct late *l = &s->late;
	int64_t from = orr_spot_now(w);
	s->slice++;
	s->next_ns = s->slice < s->n ? (int64_t)((double)l->deadline_ns / s->n * s->slice) : l->deadline_ns;
	int64_t work = late_whole_steps(l, (double)l->work_ns / s->n * s->slice) - late_done(l, w);
	if (l->state == LATE_SPOT) {
		/* The remaining time of a change-over is unknown here, so a whole change-over is counted. */
		int64_t end = true_end(l, w), rest = end - from - (l->start_timer ? l->spot_changeover_ns : 0);
		end = end < s->next_ns ? end : s->next_ns;
		rest = end < s->next_ns ? rest : s->next_ns - from;
		work -= rest > 0 ? rest / l->step_ns * l->step_ns : 0;
		from = end;
	}
	late_forget(&s->course);
	if (work > 0 && from < s->next_ns)
		late_chart(l, w, from, s->next_ns, work, &s->course);
	if (s->slice < s->n)
		late_wake(w, s->next_ns);
}

static enum late_state rule(struct late *l, struct orr_spot *w)
{
	struct partial_lookahead *s = (struct partial_lookahead *)l;
	int64_t now = orr_spot_now(w), net = l->deadline_ns - late_left(l, w) - l->reserve_ns;
	if (s->slice < s->n && now >= s->next_ns)
		look(s, w);
	if (l->state == LATE_SPOT)
		return LATE_SPOT;
	if (now >= net)
		return LATE_ON_DEMAND;
	late_wake(w, net);
	const struct late_stint *stint = late_follow(w, &s->course);
	if (!stint || now < stint->from_ns)
		return LATE_IDLE;
	return stint->is_spot ? LATE_SPOT : LATE_ON_DEMAND;
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct partial_lookahead *s = orr_alloc(1, sizeof *s);
	s->late.rule = rule;
	s->late.free = free_course;
	s->late.is_planned = true;
	s->n = (uint32_t)orr_arg_int(args, "slices");
	if (late_begin(&s->late, w, args, err))
		return s;
	late_destroy(s);
	return NULL;
}

static const struct orr_spot_ops ops = LATE_OPS(create);

ORR_POLICY_SPOT_FLAGS(partial_lookahead,
	"one job with a deadline: the cheapest plan slice by slice, with each slice's future known (Can't Be Late)", ORR_NEEDS_ORACLE,
	params, ops);
