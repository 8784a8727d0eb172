/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "late_plan.h"

#include <orrery/api.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_NODE UINT32_MAX
#define NO_COUNT SIZE_MAX
enum { FIRST_LOOK = 64 };

/* A used spot interval, and the state between the previously used interval and this one. */
struct node {
	uint32_t before, interval;
	bool is_on_demand_before;
};
struct label {
	int64_t lost_ns;
	double gain;
	uint32_t node;
};
/* A Pareto front in ascending order of lost_ns and gain. */
struct front {
	struct label *label;
	size_t n, cap;
};
/* Labels of plans by number of used intervals (one bucket for all if no count is kept). */
struct bucket {
	struct front idle, on_demand;
	struct front used; /* plans that use the current interval, from the previous bucket */
};
struct solver {
	const struct late_problem *p;
	struct late_interval *spot; /* intervals of at least one step, cut to whole steps */
	int64_t *gap_ns;            /* length of the gap after each interval; entry n: of the gap before the first */
	size_t n;
	int64_t slack_ns, rounding_ns;
	struct bucket *bucket;
	size_t buckets;
	bool counts;
	struct node *node;
	uint32_t n_nodes, cap_nodes;
	struct front spare;
	size_t most; /* largest number of labels in a set; SIZE_MAX: no limit, exact */
	/* Upper bounds on the gain of the remaining intervals: fractional knapsack, and the k best. */
	uint32_t *by_worth, *by_value, n_worth;
	int64_t *weight_ns;   /* prefix sums of weights, in order of worth */
	double *value, *best; /* prefix sums of the values, in order of worth and in order of value */
	double reached;       /* gain of the best plan found so far */
};

/* ---- upper bounds ---- */

/* Returns the time lost by a used interval: a change-over, and the smaller of the gap after it and an on-demand change-over. */
static int64_t weight_of(const struct solver *s, uint32_t j)
{
	int64_t gap = s->gap_ns[j], change = s->p->on_demand_changeover_ns;
	return s->p->spot_changeover_ns + (gap < change ? gap : change);
}

static double value_of(const struct solver *s, uint32_t j)
{
	const struct late_problem *p = s->p;
	return (p->on_demand_price - p->spot_price) * (double)(s->spot[j].to_ns - s->spot[j].from_ns) -
	       p->on_demand_price * (double)p->spot_changeover_ns;
}

struct worth {
	double key;
	uint32_t interval;
};

static int by_key(const void *a, const void *b)
{
	const struct worth *x = a, *y = b;
	return x->key != y->key ? (x->key < y->key) - (x->key > y->key) : (x->interval > y->interval) - (x->interval < y->interval);
}

static uint32_t *sorted(struct worth *w, size_t n)
{
	uint32_t *out = orr_alloc(n + 1, sizeof *out);
	qsort(w, n, sizeof *w, by_key);
	for (size_t j = 0; j < n; j++)
		out[j] = w[j].interval;
	return out;
}

static void rank(struct solver *s)
{
	struct worth *w = orr_alloc(s->n + 1, sizeof *w);
	for (uint32_t j = 0; j < s->n; j++)
		w[j] = (struct worth){ value_of(s, j) / ((double)weight_of(s, j) + 1e-3), j };
	s->by_worth = sorted(w, s->n);
	for (uint32_t j = 0; j < s->n; j++)
		w[j] = (struct worth){ value_of(s, j), j };
	s->by_value = sorted(w, s->n);
	orr_free(w);
	s->weight_ns = orr_alloc(s->n + 1, sizeof *s->weight_ns);
	s->value = orr_alloc(s->n + 1, sizeof *s->value);
	s->best = orr_alloc(s->n + 1, sizeof *s->best);
}

/* Computes prefix sums over the intervals from j on that have a gain. */
static void weigh(struct solver *s, uint32_t j)
{
	uint32_t n = 0, m = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t k = s->by_worth[i], v = s->by_value[i];
		if (k >= j && value_of(s, k) > 0) {
			s->weight_ns[n] = (n ? s->weight_ns[n - 1] : 0) + weight_of(s, k);
			s->value[n] = (n ? s->value[n - 1] : 0) + value_of(s, k);
			n++;
		}
		if (v >= j && value_of(s, v) > 0) {
			s->best[m + 1] = s->best[m] + value_of(s, v);
			m++;
		}
	}
	s->n_worth = n;
}

/* Returns an upper bound on the gain of plans that start with the label. *at: position for the previous label of the set; initially
 * n_worth. */
static double most_gain(const struct solver *s, const struct label *l, uint32_t *at)
{
	int64_t room = s->slack_ns - l->lost_ns;
	while (*at && s->weight_ns[*at - 1] > room)
		--*at;
	double most = l->gain + (*at ? s->value[*at - 1] : 0);
	if (*at == s->n_worth)
		return most;
	int64_t before = *at ? s->weight_ns[*at - 1] : 0;
	double value = s->value[*at] - (*at ? s->value[*at - 1] : 0);
	return most + value * (double)(room - before) / (double)(s->weight_ns[*at] - before);
}

/* Removes labels that cannot reach the best known plan with `intervals` more intervals, then thins the set out to s->most labels. */
static void prune(struct solver *s, struct front *f, size_t intervals)
{
	size_t n = 0;
	uint32_t at = s->n_worth;
	double most = s->best[intervals < s->n_worth ? intervals : s->n_worth];
	double least = isinf(s->reached) ? s->reached : s->reached - 1e-9 * fabs(s->reached);
	for (size_t i = 0; i < f->n; i++)
		if (f->label[i].gain + most >= least && most_gain(s, &f->label[i], &at) >= least)
			f->label[n++] = f->label[i];
	f->n = n;
	if (n <= s->most)
		return;
	for (size_t i = 0; i < s->most; i++)
		f->label[i] = f->label[i * (n - 1) / (s->most - 1)];
	f->n = s->most;
}

/* ---- sets of labels ---- */

/* Appends a label in order of lost_ns, unless it is dominated. */
static void keep(struct solver *s, struct front *f, struct label l)
{
	if (l.lost_ns > s->slack_ns || (f->n && l.gain <= f->label[f->n - 1].gain))
		return;
	if (f->n && f->label[f->n - 1].lost_ns == l.lost_ns)
		f->n--;
	ORR_GROW(f->label, f->n, f->cap);
	f->label[f->n++] = l;
}

/* Time lost and gain of a period, equal for all labels. */
struct shift {
	int64_t lost_ns;
	double gain;
};

static struct label shifted(struct label l, struct shift by)
{
	l.lost_ns += by.lost_ns;
	l.gain += by.gain;
	return l;
}

/* Merges two fronts into out. interval: the spot stint that ends these plans; NO_NODE: none. b: plans that were on demand. */
static void merge(struct solver *s, struct front *out, const struct front *a, struct shift by_a, const struct front *b, struct shift by_b,
	uint32_t interval)
{
	out->n = 0;
	for (size_t i = 0, k = 0; i < a->n || k < b->n;) {
		struct label x = i < a->n ? shifted(a->label[i], by_a) : (struct label){ INT64_MAX, 0, 0 };
		struct label y = k < b->n ? shifted(b->label[k], by_b) : (struct label){ INT64_MAX, 0, 0 };
		bool is_first = x.lost_ns < y.lost_ns || (x.lost_ns == y.lost_ns && x.gain >= y.gain);
		struct label l = is_first ? x : y;
		i += is_first;
		k += !is_first;
		if (interval != NO_NODE) {
			if (l.lost_ns > s->slack_ns || (out->n && l.gain <= out->label[out->n - 1].gain))
				continue;
			ORR_GROW(s->node, s->n_nodes, s->cap_nodes);
			s->node[s->n_nodes] = (struct node){ l.node, interval, !is_first };
			l.node = s->n_nodes++;
		}
		keep(s, out, l);
	}
}

/* Replaces f by the merged front in s->spare. */
static void replace(struct solver *s, struct front *f)
{
	struct front old = *f;
	*f = s->spare;
	s->spare = old;
}

static struct shift on_demand_begins(const struct solver *s)
{
	const struct late_problem *p = s->p;
	return (struct shift){ p->on_demand_changeover_ns + s->rounding_ns, -p->on_demand_price * (double)p->on_demand_changeover_ns };
}

/* Extends every plan by the interval, used or skipped. After it, the plan is idle or on demand until the next interval. */
static void pass_interval(struct solver *s, uint32_t j)
{
	const struct late_problem *p = s->p;
	int64_t length = s->spot[j].to_ns - s->spot[j].from_ns;
	struct shift use = { p->spot_changeover_ns, value_of(s, j) };
	struct shift leave = { length, 0 }, nothing = { 0, 0 }, begin = on_demand_begins(s);
	for (size_t c = 0; c < s->buckets; c++) {
		const struct bucket *from = s->counts ? c ? &s->bucket[c - 1] : NULL : &s->bucket[c];
		s->bucket[c].used.n = 0;
		if (from)
			merge(s, &s->bucket[c].used, &from->idle, use, &from->on_demand, use, j);
	}
	int64_t gap = s->gap_ns[j];
	leave.lost_ns += gap;
	weigh(s, j + 1);
	for (size_t c = 0; c < s->buckets; c++) {
		struct bucket *b = &s->bucket[c];
		size_t more = s->counts ? s->buckets - 1 - c : s->n;
		merge(s, &s->spare, &b->idle, leave, &b->used, (struct shift){ gap, 0 }, NO_NODE);
		replace(s, &b->idle);
		prune(s, &b->idle, more);
		merge(s, &s->spare, &b->on_demand, nothing, &b->used, begin, NO_NODE);
		replace(s, &b->on_demand);
		prune(s, &b->on_demand, more);
	}
}

/* Cuts the intervals to the time between from and deadline, and to whole steps. */
static void cut(struct solver *s)
{
	const struct late_problem *p = s->p;
	s->spot = orr_alloc(p->n + 1, sizeof *s->spot);
	s->gap_ns = orr_alloc(p->n + 1, sizeof *s->gap_ns);
	int64_t step = p->step_ns, at = p->from_ns, before = 0;
	bool is_even =
		p->spot_changeover_ns % step == 0 && p->on_demand_changeover_ns % step == 0 && (p->deadline_ns - p->from_ns) % step == 0;
	for (size_t i = 0; i < p->n; i++) {
		int64_t from = p->spot[i].from_ns > p->from_ns ? p->spot[i].from_ns : p->from_ns;
		int64_t to = p->spot[i].to_ns < p->deadline_ns ? p->spot[i].to_ns : p->deadline_ns;
		int64_t steps = (to - from - p->spot_changeover_ns) / step;
		is_even = is_even && (from - p->from_ns) % step == 0 && (to - p->from_ns) % step == 0;
		if (to <= from || steps < 1)
			continue;
		*(s->n ? &s->gap_ns[s->n - 1] : &before) = from - at;
		at = from + p->spot_changeover_ns + steps * step;
		s->spot[s->n++] = (struct late_interval){ from, at };
	}
	*(s->n ? &s->gap_ns[s->n - 1] : &before) = p->deadline_ns - at;
	s->gap_ns[p->n] = before;
	s->rounding_ns = is_even ? 0 : step;
}

static int64_t length_of(const struct late_interval *i)
{
	return i->to_ns - i->from_ns;
}

static int by_length(const void *a, const void *b)
{
	const struct late_interval *x = a, *y = b;
	int64_t lx = length_of(x), ly = length_of(y);
	return lx != ly ? (lx < ly) - (lx > ly) : (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct late_stint *x = a, *y = b;
	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Uses the longest intervals until the work is done. Returns their number; NO_COUNT if all of them together do not suffice. */
static size_t spot_alone(struct solver *s, struct late_plan *out)
{
	const struct late_problem *p = s->p;
	struct late_interval *longest = orr_alloc(s->n + 1, sizeof *longest);
	memcpy(longest, s->spot, s->n * sizeof *longest);
	qsort(longest, s->n, sizeof *longest, by_length);
	int64_t left = p->work_ns;
	for (size_t i = 0; i < s->n && left > 0; i++) {
		int64_t work = length_of(&longest[i]) - p->spot_changeover_ns;
		work = work < left ? work : left;
		out->stint[out->n++] = (struct late_stint){ longest[i].from_ns, longest[i].from_ns + p->spot_changeover_ns + work, true };
		left -= work;
	}
	orr_free(longest);
	qsort(out->stint, out->n, sizeof *out->stint, by_time);
	return left > 0 ? NO_COUNT : out->n;
}

static void add_up(const struct late_problem *p, struct late_plan *out)
{
	out->cost = 0;
	out->spot_ns = out->on_demand_ns = 0;
	for (size_t i = 0; i < out->n; i++) {
		const struct late_stint *t = &out->stint[i];
		int64_t length = t->to_ns - t->from_ns;
		out->cost += (double)length * (t->is_spot ? p->spot_price : p->on_demand_price);
		*(t->is_spot ? &out->spot_ns : &out->on_demand_ns) +=
			length - (t->is_spot ? p->spot_changeover_ns : p->on_demand_changeover_ns);
	}
}

/* Fills the gap with on-demand, as far as required. */
static int64_t fill(const struct late_problem *p, struct late_plan *out, int64_t from, int64_t to, int64_t left)
{
	int64_t work = (to - from - p->on_demand_changeover_ns) / p->step_ns * p->step_ns;
	work = work < left ? work : left;
	if (work <= 0)
		return left;
	out->stint[out->n++] = (struct late_stint){ from, from + p->on_demand_changeover_ns + work, false };
	return left - work;
}

/* Writes the stints of the plan that ends with this label. */
static void read_back(const struct solver *s, const struct label *best, bool is_on_demand, struct late_plan *out)
{
	const struct late_problem *p = s->p;
	size_t used = 0;
	int64_t left = p->work_ns, at = p->from_ns;
	for (uint32_t i = best->node; i != NO_NODE; i = s->node[i].before) {
		left -= length_of(&s->spot[s->node[i].interval]) - p->spot_changeover_ns;
		used++;
	}
	/* Collects stints from last to first, then writes them in order of time. */
	struct late_stint *back = out->stint + 2 * s->n + 2 - used;
	uint32_t i = best->node;
	for (size_t k = used; k-- > 0; i = s->node[i].before) {
		const struct node *n = &s->node[i];
		back[k] = (struct late_stint){ s->spot[n->interval].from_ns, s->spot[n->interval].to_ns, n->is_on_demand_before };
	}
	out->n = 0;
	for (size_t k = 0; k < used; k++) {
		struct late_stint t = back[k];
		if (t.is_spot)
			left = fill(p, out, at, t.from_ns, left);
		at = t.to_ns;
		t.is_spot = true;
		out->stint[out->n++] = t;
	}
	if (is_on_demand)
		fill(p, out, at, p->deadline_ns, left);
}

static const struct label *best_label(const struct solver *s, bool *is_on_demand)
{
	const struct label *best = NULL;
	for (size_t c = 0; c < s->buckets; c++)
		for (int k = 0; k < 2; k++) {
			const struct front *f = k ? &s->bucket[c].on_demand : &s->bucket[c].idle;
			const struct label *l = f->n ? &f->label[f->n - 1] : NULL;
			if (l && (!best || l->gain > best->gain)) {
				best = l;
				*is_on_demand = k;
			}
		}
	return best;
}

/* Returns the number of spot stints at and above which no plan is cheaper than n spot stints alone. */
static size_t worthwhile(const struct late_problem *p, size_t n)
{
	size_t most = 0;
	while (most < n && p->spot_price * (double)p->spot_changeover_ns * (double)(n - most) >
				   p->on_demand_price * (double)p->on_demand_changeover_ns)
		most++;
	return most;
}

/* Passes over all intervals with at most `most` labels in a set. Returns the label of the best plan, or NULL. */
static const struct label *pass(struct solver *s, size_t most, bool *is_on_demand)
{
	int64_t gap = s->gap_ns[s->p->n];
	struct label root = { 0, 0, NO_NODE };
	s->most = most;
	s->n_nodes = 0;
	for (size_t c = 0; c < s->buckets; c++)
		s->bucket[c].idle.n = s->bucket[c].on_demand.n = 0;
	keep(s, &s->bucket[0].idle, shifted(root, (struct shift){ gap, 0 }));
	keep(s, &s->bucket[0].on_demand, shifted(root, on_demand_begins(s)));
	for (uint32_t j = 0; j < s->n; j++)
		pass_interval(s, j);
	return best_label(s, is_on_demand);
}

static void stop(struct solver *s)
{
	for (size_t c = 0; c < s->buckets; c++) {
		orr_free(s->bucket[c].idle.label);
		orr_free(s->bucket[c].on_demand.label);
		orr_free(s->bucket[c].used.label);
	}
	orr_free(s->bucket);
	orr_free(s->spare.label);
	orr_free(s->by_worth);
	orr_free(s->by_value);
	orr_free(s->best);
	orr_free(s->weight_ns);
	orr_free(s->value);
	orr_free(s->node);
	orr_free(s->spot);
	orr_free(s->gap_ns);
}

static void on_demand_throughout(const struct late_problem *p, struct late_plan *out)
{
	int64_t end = p->from_ns + p->on_demand_changeover_ns + p->work_ns;
	out->stint[0] = (struct late_stint){ p->from_ns, end, false };
	out->n = 1;
	out->is_late = end > p->deadline_ns;
}

/* Replaces *out by a cheaper plan with on-demand, if one exists. */
static void try_on_demand(struct solver *s, struct late_plan *out, size_t alone)
{
	const struct late_problem *p = s->p;
	s->counts = alone != NO_COUNT;
	size_t buckets = s->counts ? worthwhile(p, alone) : 1;
	if (!buckets)
		return;
	s->bucket = orr_alloc(buckets, sizeof *s->bucket);
	s->buckets = buckets;
	rank(s);
	/* A first pass with few labels finds a plan that bounds the second pass. */
	double all = p->on_demand_price * (double)p->work_ns;
	s->reached = s->counts ? all - out->cost : -INFINITY;
	bool is_on_demand = false;
	const struct label *best = pass(s, FIRST_LOOK, &is_on_demand);
	if (best && best->gain > s->reached)
		s->reached = best->gain;
	best = pass(s, SIZE_MAX, &is_on_demand);
	if (best && (!s->counts || all - best->gain < out->cost))
		read_back(s, best, is_on_demand, out);
	else if (!s->counts)
		on_demand_throughout(p, out);
}

void late_plan_best(const struct late_problem *p, struct late_plan *out)
{
	struct solver s = { .p = p, .slack_ns = p->deadline_ns - p->from_ns - p->work_ns };
	*out = (struct late_plan){ 0 };
	cut(&s);
	out->stint = orr_alloc(2 * s.n + 2, sizeof *out->stint);
	if (p->spot_price < p->on_demand_price && s.slack_ns >= 0) {
		size_t alone = spot_alone(&s, out);
		add_up(p, out);
		try_on_demand(&s, out, alone);
	} else {
		on_demand_throughout(p, out);
	}
	add_up(p, out);
	stop(&s);
}

void late_plan_free(struct late_plan *plan)
{
	orr_free(plan->stint);
	*plan = (struct late_plan){ 0 };
}
