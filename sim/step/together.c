/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several runs over one network, until all rates are steady.
 *
 * A checkpoint is reached when the slowest member has ended 4, 8, 16, .. iterations. Each member's rate is measured over the
 * second half of the time since 0, between ends of iterations, so a member that repeats exactly gets its exact rate.
 */
#include "step/exec.h"
#include "step/wire.h"

#include "base/mem.h"

enum { FIRST_CHECKPOINT = 4, MOST_ROWS = 200000 };

struct together {
	const struct step_member *m;
	struct orr_step *world;
	uint32_t n;
	struct flownet *net;
	bool *is_started;
	double *rate, *before; /* rates at this checkpoint and at the previous one */
};

static int begin(struct together *t, struct orr_error *err)
{
	t->net = topo_flownet(t->m[0].config->topo, FLOW_MAX_MIN);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct step_member *m = &t->m[i];
		struct orr_step *s = &t->world[i];
		*s = (struct orr_step){ .config = m->config,
			.label = m->label,
			.policy = m->policy,
			.ops = m->policy->ops,
			.shared_net = t->net,
			.member = i };
		if (world_begin(s, false, m->args)) {
			*err = s->error;
			return err->code;
		}
	}
	return ORR_OK;
}

static void start_those_due(struct together *t, double now)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->is_started[i] || t->m[i].start_s > now)
			continue;
		t->is_started[i] = true;
		world_start(&t->world[i]);
	}
}

static uint64_t ended(const struct orr_step *s)
{
	uint64_t n = s->n_rows;
	while (n && isnan(s->row[n - 1].end_s))
		n--;
	return n;
}

static double counted(const struct orr_step *s, double from, double to)
{
	double sum = 0;
	for (size_t i = 0; i < s->n_counts; i++)
		if (s->count[i].time_s > from && s->count[i].time_s <= to)
			sum += s->count[i].samples;
	return sum / (to - from);
}

/* Returns samples/s between the first and the last end of an iteration in the second half; 0 if it has fewer than two ends. */
static double rate_of(const struct orr_step *s, double now)
{
	double samples = 0, first = NAN, last = NAN;
	if (s->n_counts)
		return counted(s, now / 2, now);
	for (size_t k = 0; k < s->n_rows; k++) {
		const struct step_iteration *r = &s->row[k];
		if (isnan(r->end_s) || r->end_s < now / 2)
			continue;
		if (!isnan(first))
			samples += r->samples;
		else
			first = r->end_s;
		last = fmax(r->end_s, isnan(last) ? r->end_s : last);
	}
	return last > first ? samples / (last - first) : 0;
}

static bool is_checkpoint(const struct together *t, uint64_t wanted)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (ended(&t->world[i]) < wanted)
			return false;
	return true;
}

static bool has_settled(struct together *t, double now, double tolerance)
{
	bool is_good = true;
	for (uint32_t i = 0; i < t->n; i++) {
		t->before[i] = t->rate[i];
		t->rate[i] = rate_of(&t->world[i], now);
		is_good = is_good && t->rate[i] > 0 && fabs(t->rate[i] - t->before[i]) <= tolerance * t->rate[i];
	}
	return is_good;
}

static uint64_t rows(const struct together *t)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < t->n; i++)
		n += t->world[i].n_rows;
	return n;
}

/* Advances to the next event of all members. Returns false if no event is left, or on an error. */
static bool advance(struct together *t, struct orr_error *err)
{
	double next = flownet_next(t->net);
	uint64_t tag;
	for (uint32_t i = 0; i < t->n; i++) {
		struct orr_step *s = &t->world[i];
		next = s->n_timers ? fmin(next, s->timer[0].time_s) : next;
		next = t->is_started[i] ? next : fmin(next, t->m[i].start_s);
	}
	if (isinf(next))
		return false;
	flownet_advance(t->net, next);
	for (uint32_t i = 0; i < t->n; i++)
		t->world[i].now_s = next;
	double when;
	while (flownet_pop(t->net, &tag, &when))
		wire_deliver(&t->world[tag >> 32], tag);
	for (uint32_t i = 0; i < t->n; i++)
		exec_timers(&t->world[i]);
	start_those_due(t, next);
	return !t->m[0].config->check || flownet_verify(t->net, err);
}

static bool settle_all(struct together *t, struct orr_error *err)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct orr_step *s = &t->world[i];
		if (!t->is_started[i] || exec_settle(s))
			continue;
		exec_stuck(s);
		if (!s->error.code)
			step_fail(s, ORR_EFAIL, "all iterations have run: expected no further call");
		*err = s->error;
		return false;
	}
	return true;
}

static uint64_t flows(const struct together *t)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < t->n; i++)
		n += t->world[i].flows;
	return n;
}

static int run(struct together *t, struct step_together *out, struct orr_error *err)
{
	uint64_t wanted = FIRST_CHECKPOINT;
	start_those_due(t, 0);
	while (settle_all(t, err)) {
		if (is_checkpoint(t, wanted)) {
			double now = t->world[0].now_s;
			out->has_settled = has_settled(t, now, out->tolerance);
			wanted *= 2;
			bool is_enough = wanted > out->most || rows(t) > MOST_ROWS;
			for (uint32_t i = 0; i < t->n; i++)
				is_enough = is_enough && t->rate[i] > 0;
			if (out->has_settled || is_enough)
				break;
		}
		if (flows(t) > out->most_flows) {
			has_settled(t, t->world[0].now_s, out->tolerance);
			break;
		}
		if (!advance(t, err)) {
			if (!err->code)
				orr_fail(err, ORR_EFAIL,
					"%s and others: no event is pending: expected one, because iterations are in flight",
					t->m[0].label);
			break;
		}
	}
	return err->code;
}

int step_run_together(const struct step_member *m, uint32_t n, struct step_together *out, struct orr_error *err)
{
	struct orr_error e = { 0 };
	struct together t = { .m = m, .n = n };
	t.world = mem_zalloc(n, sizeof *t.world);
	t.is_started = mem_zalloc(n, sizeof *t.is_started);
	t.rate = mem_zalloc(n, sizeof *t.rate);
	t.before = mem_zalloc(n, sizeof *t.before);
	if (!begin(&t, &e))
		run(&t, out, &e);
	out->iterations = rows(&t);
	out->used = STEP_USED_EVERY_ITERATION;
	for (uint32_t i = 0; i < n; i++) {
		out->samples_per_s[i] = t.rate[i];
		out->used |= t.world[i].used;
		if (t.world[i].config)
			world_free(&t.world[i]);
	}
	flownet_free(t.net);
	mem_free(t.world);
	mem_free(t.is_started);
	mem_free(t.rate);
	mem_free(t.before);
	if (e.code && err)
		*err = e;
	return e.code;
}
