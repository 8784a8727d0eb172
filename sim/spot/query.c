/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of policies: the job, timers, random numbers, metrics and events. */
#include "spot/world.h"

#include "base/mem.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

int64_t orr_spot_now(const struct orr_spot *w)
{
	return w->now;
}

/* ---- the job ---- */

void orr_elastic_get(const struct orr_spot *w, struct orr_elastic_info *out)
{
	const struct elastic *j = w->config->job;
	*out = (struct orr_elastic_info){ .name = j->name,
		.samples_per_step = j->samples_per_step,
		.steps = w->job_steps,
		.deadline_ns = w->deadline,
		.depth = j->depth,
		.pipelines = j->pipelines,
		.state_bytes = j->state_bytes,
		.parameters = j->parameters,
		.on_demand_nodes = j->on_demand_nodes,
		.on_demand_step_ns = j->on_demand_step_ns };
}

static const struct elastic_point *find_point(const struct orr_spot *w, uint32_t pipelines, uint32_t depth)
{
	return pipelines > w->max_pipelines || depth > w->max_depth ? NULL : w->point[(size_t)pipelines * (w->max_depth + 1) + depth];
}

int64_t orr_step_time(const struct orr_spot *w, uint32_t pipelines, uint32_t depth, enum orr_step_kind kind)
{
	const struct elastic_point *p = (unsigned)kind < ELASTIC_KINDS ? find_point(w, pipelines, depth) : NULL;
	return p ? p->step_ns[kind] : 0;
}

double orr_step_redundant(const struct orr_spot *w, uint32_t pipelines, uint32_t depth)
{
	const struct elastic_point *p = find_point(w, pipelines, depth);
	return p ? p->redundant : 0;
}

int64_t orr_step_failover(const struct orr_spot *w, uint32_t pipelines, uint32_t depth)
{
	const struct elastic_point *p = find_point(w, pipelines, depth);
	return p ? p->failover_ns : 0;
}

bool orr_step_point(const struct orr_spot *w, size_t i, uint32_t *pipelines, uint32_t *depth)
{
	const struct elastic *j = w->config->job;
	if (i >= j->n_points)
		return false;
	*pipelines = j->point[i].pipelines;
	*depth = j->point[i].depth;
	return true;
}

double orr_figure(const struct orr_spot *w, const char *name)
{
	const struct elastic *j = w->config->job;
	for (uint32_t i = 0; i < j->n_figures; i++)
		if (!strcmp(j->figure[i].name, name))
			return j->figure[i].value;
	return NAN;
}

int orr_curve_find(const struct orr_spot *w, const char *name)
{
	const struct elastic *j = w->config->job;
	for (uint32_t i = 0; i < j->n_curves; i++)
		if (!strcmp(j->curve[i].name, name))
			return (int)i;
	return -1;
}

double orr_curve_at(const struct orr_spot *w, int curve, uint32_t nodes)
{
	const struct elastic *j = w->config->job;
	if (curve < 0 || (uint32_t)curve >= j->n_curves)
		return NAN;
	const struct elastic_curve *c = &j->curve[curve];
	uint32_t i = nodes < c->first ? 0 : nodes - c->first;
	return c->value[i < c->n ? i : c->n - 1];
}

void orr_curve_range(const struct orr_spot *w, int curve, uint32_t *first, uint32_t *last)
{
	const struct elastic *j = w->config->job;
	bool is_one = curve >= 0 && (uint32_t)curve < j->n_curves;
	*first = is_one ? j->curve[curve].first : 0;
	*last = is_one ? j->curve[curve].first + j->curve[curve].n - 1 : 0;
}

/* Records, for spot.storage_Bps and spot.node_Bps, whether the time would differ under the option's default. */
static void note_bottleneck(const struct orr_spot *w, double nodes)
{
	double now = fmin(w->node_Bps * nodes, w->storage_Bps);
	double by_storage = fmin(w->node_Bps * nodes, w->default_storage_Bps);
	double by_node = fmin(w->default_node_Bps * nodes, w->storage_Bps);
	*w->use |= SPOT_USED_CHECKPOINT;
	*w->use |= by_storage < now || by_storage > now ? SPOT_USED_STORAGE : SPOT_USED_STORAGE_NOT;
	*w->use |= by_node < now || by_node > now ? SPOT_USED_NODE_BPS : SPOT_USED_NODE_BPS_NOT;
}

int64_t orr_checkpoint_time(const struct orr_spot *w, uint32_t nodes)
{
	double Bps = w->node_Bps * (nodes ? nodes : 1);
	note_bottleneck(w, nodes ? nodes : 1);
	if (Bps > w->storage_Bps)
		Bps = w->storage_Bps;
	double s = w->config->job->state_bytes / Bps;
	return w->storage_latency + (s < 4e9 ? llrint(s * 1e9) : INT64_C(4000000000) * ORR_SECOND);
}

int64_t orr_startup_time(const struct orr_spot *w, bool is_on_demand)
{
	return w->startup[is_on_demand];
}

int64_t orr_notice_time(const struct orr_spot *w)
{
	*w->use |= SPOT_USED_NOTICE;
	return w->notice;
}

/* ---- timers, random numbers ---- */

uint64_t orr_spot_timer(struct orr_spot *w, int64_t at, uint32_t rank, uint64_t tag)
{
	if (!spot_may_act(w, "orr_spot_timer()"))
		return 0;
	if (rank >= RANKS) {
		spot_fail(w, ORR_EFAIL, NULL, "orr_spot_timer(): rank %u: expected 0 to %d", rank, RANKS - 1);
		return 0;
	}
	if (at < w->now) {
		spot_fail(w, ORR_EFAIL, NULL, "orr_spot_timer(): at %.9f s: expected a time from now on", (double)at / 1e9);
		return 0;
	}
	if (at == w->now && ++w->timers_now > spot_most_now(w)) {
		spot_fail(w, ORR_EFAIL, NULL,
			"orr_spot_timer(): timers are set endlessly for this instant: expected at most spot.max_calls_per_instant timers");
		return 0;
	}
	struct eng_event ev = eng_at(w->engine, at, rank, on_timer, w, tag, 0);
	if (at < w->timer_at)
		w->timer_at = at;
	return (uint64_t)ev.generation << 32 | ev.slot;
}

void orr_spot_cancel(struct orr_spot *w, uint64_t timer)
{
	if (timer && spot_may_act(w, "orr_spot_cancel()"))
		eng_cancel(w->engine, (struct eng_event){ .slot = (uint32_t)timer, .generation = (uint32_t)(timer >> 32) });
	plan_timers(w);
}

double orr_spot_uniform(struct orr_spot *w)
{
	return rng_uniform(&w->policy_rng);
}

/* ---- metrics and events ---- */

enum { MOST_NAME = 60 };

/* Returns whether the name consists of letters, digits and "._-" and is not added by the world or a study. */
static bool is_metric_name(const char *s)
{
	size_t n = s ? strlen(s) : 0;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("._-", s[i]))
			return false;
	return n && n <= MOST_NAME && strcmp(s, "paused_part") && strcmp(s, "replications") && strncmp(s, "ratio_", 6);
}

/* Returns the tally. If the name or the value is not allowed, fails the run and returns NULL. */
static struct tally *tally(struct orr_spot *w, const char *name, double value, const char *what)
{
	if (isinf(value)) {
		spot_fail(w, ORR_EFAIL, NULL, "%s: %s: expected a finite number, found %g", what, name ? name : "", value);
		return NULL;
	}
	for (size_t i = 0; name && i < w->n_tally; i++)
		if (!strcmp(w->tally[i].name, name))
			return &w->tally[i];
	if (!is_metric_name(name)) {
		spot_fail(w, ORR_EFAIL, NULL,
			"%s: \"%.60s\" cannot name a metric: expected 1 to %d letters, digits, \".\", \"_\" or \"-\", and not"
			" paused_part, replications, ratio_..",
			what, name ? name : "", MOST_NAME);
		return NULL;
	}
	MEM_GROW(w->tally, w->n_tally, w->cap_tally);
	w->tally[w->n_tally] = (struct tally){ mem_strdup(name), 0 };
	return &w->tally[w->n_tally++];
}

void orr_spot_count(struct orr_spot *w, const char *name, double amount)
{
	struct tally *t = tally(w, name, amount, "orr_spot_count()");
	if (t)
		t->value += amount;
}

void orr_spot_report(struct orr_spot *w, const char *name, double value)
{
	struct tally *t = tally(w, name, value, "orr_spot_report()");
	if (t)
		t->value = value;
}

void orr_spot_event(struct orr_spot *w, const char *kind, const char *format, ...)
{
	char text[256];
	va_list ap;
	if (!w->config->record_nodes || w->n_event >= w->config->max_rows)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	MEM_GROW(w->event, w->n_event, w->cap_event);
	struct event_row *row = &w->event[w->n_event++];
	*row = (struct event_row){ .time_ns = w->now,
		.kind = result_text(w->result, kind ? kind : ""),
		.subject = w->n_event,
		.detail = text[0] ? result_text(w->result, text) : NULL };
}

void orr_spot_give_up(struct orr_spot *w, const char *message)
{
	/* An error at time 0 means that the input is invalid. */
	bool is_refusal = !w->now && w->steps.first_began < 0;
	spot_fail(w, is_refusal ? ORR_EINPUT : ORR_EFAIL, NULL, "%s",
		message ? message : "the policy failed without a message: expected a message that gives the reason");
}

void orr_spot_end(struct orr_spot *w)
{
	if (spot_may_act(w, "orr_spot_end()"))
		w->is_over = true;
}

void tallies_free(struct orr_spot *w)
{
	for (size_t i = 0; i < w->n_tally; i++)
		mem_free(w->tally[i].name);
	mem_free(w->tally);
}
