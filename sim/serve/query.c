/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Public functions without effects; timers; the policy's series. */
#include "serve/explain.h"
#include "serve/due.h"
#include "serve/fleet.h"
#include "serve/front.h"
#include "serve/lane.h"
#include "serve/memory.h"
#include "serve/quality.h"
#include "serve/runs.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

double orr_serve_now(const struct orr_serve *w)
{
	return w->now_s;
}

/* ---- requests ---- */

/* Returns the request, settled if it is decoding; NULL if the handle is stale. */
static struct req *settled(const struct orr_serve *w, orr_req r)
{
	struct req *q = req_asked(w, r);
	if (q && q->heap_at != NONE)
		lane_settle(w, q);
	return q;
}

bool orr_req_get(const struct orr_serve *w, orr_req r, struct orr_req_info *out)
{
	const struct req *q = settled(w, r);
	if (!q)
		return false;
	*out = (struct orr_req_info){ .number = q->number,
		.state = (enum orr_req_state)q->state,
		.arrival_s = q->arrival_s,
		.deadline_s = q->deadline_s,
		.model = q->model,
		.replica = q->replica,
		.samples = q->samples,
		.length = q->prompt_asked,
		.max_output = q->max_output,
		.priority = q->priority,
		.session = q->session,
		.preemptions = q->preemptions,
		.prompt_tokens = q->prompt,
		.done_tokens = q->done,
		.outputs = q->outputs,
		.first_token_s = q->first_token_s,
		.answers = q->answers };
	return true;
}

uint64_t orr_req_number(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_asked(w, r);
	return q ? q->number : 0;
}

double orr_req_arrival(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_asked(w, r);
	return q ? q->arrival_s : 0;
}

uint32_t orr_req_model(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_asked(w, r);
	return q ? q->model : 0;
}

uint32_t orr_req_samples(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_asked(w, r);
	return q ? q->samples : 0;
}

uint32_t orr_req_length(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_asked(w, r);
	return q ? q->prompt_asked : 0;
}

uint32_t orr_req_replica(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_asked(w, r);
	return q ? q->replica : ORR_NO_REPLICA;
}

uint32_t orr_req_prompt(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_asked(w, r);
	return q ? q->prompt : 0;
}

uint32_t orr_req_done(const struct orr_serve *w, orr_req r)
{
	const struct req *q = settled(w, r);
	return q ? q->done : 0;
}

bool orr_req_is_resident(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_asked(w, r);
	return q && q->state == ORR_REQ_RESIDENT;
}

uint32_t orr_req_true_output(struct orr_serve *w, orr_req r)
{
	const struct req *q = req_asked(w, r);
	if (!(w->policy->flags & (ORR_NEEDS_ORACLE | ORR_MAY_ORACLE))) {
		serve_fail(w, ORR_EFAIL, q, "orr_req_true_output(): expected a policy with ORR_NEEDS_ORACLE or ORR_MAY_ORACLE");
		return 0;
	}
	w->saw_truth = true;
	return q ? q->output_asked : 0;
}

uint64_t orr_req_mark(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_asked(w, r);
	return q ? q->mark : 0;
}

void orr_req_set_mark(struct orr_serve *w, orr_req r, uint64_t mark)
{
	struct req *q = req_of(w, r);
	if (q)
		q->mark = mark;
	else
		serve_fail(w, ORR_EFAIL, NULL,
			"orr_req_set_mark() of a request that has ended or never existed (handle %llx): expected a live request",
			(unsigned long long)r);
}

/* ---- models ---- */

uint32_t orr_models(const struct orr_serve *w)
{
	return w->config->n_models;
}

static const struct served *model_of(const struct orr_serve *w, uint32_t model)
{
	return model < w->config->n_models ? w->config->model[model] : NULL;
}

bool orr_model_get(const struct orr_serve *w, uint32_t model, struct orr_model_info *out)
{
	const struct served *m = model_of(w, model);
	if (!m)
		return false;
	*out = (struct orr_model_info){ .name = m->name,
		.kind = m->kind == SERVED_LLM ? ORR_MODEL_LLM : ORR_MODEL_TABLE,
		.layers = m->layers,
		.n_batches = m->n_batches,
		.batch = m->batch,
		.load_s = m->load_s,
		.weight_bytes = m->weight_bytes,
		.kv_bytes_per_token = m->kv_bytes,
		.slo_s = w->set->slo_s < INFINITY ? w->set->slo_s : m->slo_s,
		.longest = m->n_lengths ? m->length[m->n_lengths - 1] : m->longest,
		.input_bytes = m->input_bytes,
		.output_bytes = m->output_bytes };
	return true;
}

uint32_t orr_model_find(const struct orr_serve *w, const char *name)
{
	for (uint32_t m = 0; m < w->config->n_models; m++)
		if (!strcmp(w->config->model[m]->name, name))
			return m;
	return UINT32_MAX;
}

double orr_model_latency(const struct orr_serve *w, uint32_t replica, uint32_t model, uint32_t samples, uint32_t length)
{
	const struct served *m = model_of(w, model);
	if (!m || m->kind != SERVED_TABLE || !samples)
		return NAN;
	return served_latency(replica < w->n_replicas ? served_at(w, replica, model) : m, samples, length);
}

double orr_model_round_trip(const struct orr_serve *w, uint32_t replica, uint32_t model, uint32_t samples, uint32_t length)
{
	const struct served *m = model_of(w, model);
	double s = orr_model_latency(w, replica, model, samples, length);
	return isnan(s) ? s : s + front_alone_s(w, m->input_bytes * samples) + front_alone_s(w, m->output_bytes * samples);
}

bool orr_latencies_are_exact(const struct orr_serve *w)
{
	const struct serve_settings *set = w->set;
	bool has_exits = set->exit == EXIT_LAYER || (set->exit == EXIT_INTERVAL && set->exit_interval_s > 0);
	if (set->front != FRONT_NONE || set->interference != INTERFERENCE_NONE || set->loss > 0 || has_exits)
		return false;
	for (uint32_t m = 0; m < w->config->n_models; m++)
		if (w->config->model[m]->noise != SERVED_EXACT)
			return false;
	for (uint32_t d = 0; d < w->config->n_deployments; d++)
		if (w->config->deployment[d].pp > 1)
			return false;
	return true;
}

struct orr_front_info orr_front_get(const struct orr_serve *w)
{
	return (struct orr_front_info){ .kind = (enum orr_front_kind)w->set->front,
		.bandwidth_Bps = w->front ? w->set->front_Bps : INFINITY,
		.latency_s = w->set->front_latency_s };
}

uint32_t orr_model_largest(const struct orr_serve *w, uint32_t model)
{
	const struct served *m = model_of(w, model);
	return m && m->n_batches ? m->batch[m->n_batches - 1] : 0;
}

uint32_t orr_model_batch_for(const struct orr_serve *w, uint32_t model, uint32_t samples)
{
	const struct served *m = model_of(w, model);
	return m && m->kind == SERVED_TABLE ? served_batch_for(m, samples) : 0;
}

/* ---- replicas ---- */

uint32_t orr_replicas(const struct orr_serve *w)
{
	return w->n_replicas;
}

bool orr_replica_get(const struct orr_serve *w, uint32_t replica, struct orr_replica_info *out)
{
	if (replica >= w->n_replicas)
		return false;
	const struct replica *r = &w->replica[replica];
	bool up = replica_is_up(r);
	*out = (struct orr_replica_info){ .is_up = up,
		.is_draining = r->state == REPLICA_DRAINING,
		.role = r->role,
		.model = r->model,
		.gpus = up ? r->gpus : w->config->deployment[r->deployment].tp * w->config->deployment[r->deployment].pp,
		.node = r->node,
		.gpu_type = r->gpu_type,
		.runs = r->lane ? r->lane->is_flying : r->n_runs + r->n_reserved,
		.queued = r->sending.n + r->waiting.n,
		.routed = r->routed,
		.residents = r->lane ? orr_residents(w, replica) : 0,
		.memory_bytes = up ? r->memory : 0 };
	if (up)
		out->memory_free_bytes = fmax(0, r->memory - memory_in_use(w, replica));
	return true;
}

bool orr_replica_is_idle(const struct orr_serve *w, uint32_t replica)
{
	return replica < w->n_replicas && replica_is_up(&w->replica[replica]) && !w->fleet->more[replica].is_busy;
}

uint32_t orr_replica_idle_from(const struct orr_serve *w, uint32_t from)
{
	return bitset_next(w->idle, from); /* BITSET_END is ORR_NO_REPLICA */
}

uint32_t orr_replica_routed(const struct orr_serve *w, uint32_t replica)
{
	return replica < w->n_replicas ? w->replica[replica].routed : 0;
}

/* ---- runs ---- */

static const struct run *known_run(const struct orr_serve *w, orr_run run)
{
	const struct run *x = run_of(w, run);
	return x && x->state != RUN_FREE ? x : NULL;
}

bool orr_run_get(const struct orr_serve *w, orr_run run, struct orr_run_info *out)
{
	const struct run *x = known_run(w, run);
	if (!x)
		return false;
	*out = (struct orr_run_info){ .replica = x->replica,
		.model = x->model,
		.samples = x->samples,
		.length = x->length,
		.phase = x->state == RUN_SENDING                   ? ORR_PHASE_SENDING
			 : x->state == RUN_QUEUED                  ? ORR_PHASE_QUEUED
			 : run_is_here(x) || x->state == RUN_LATER ? ORR_PHASE_RUNNING
								   : ORR_PHASE_ANSWERING,
		.is_suspended = x->state == RUN_SUSPENDED,
		.is_leaving = x->leaving >= 0,
		.started_s = x->started_s,
		.ends_s = x->end_s + (x->state == RUN_RUNNING ? x->later_s : 0),
		.later_s = x->later_s,
		.part_done = x->alone_s > 0 ? 1 - run_left(w, x) / x->alone_s : 1,
		.n = x->n };
	for (uint32_t i = 0; i < x->n; i++) {
		const struct req *q = req_of(w, x->handle[i]);
		if (q && q->preemptions > out->preemptions)
			out->preemptions = q->preemptions;
	}
	return true;
}

orr_req orr_run_request(const struct orr_serve *w, orr_run run, size_t i)
{
	const struct run *x = known_run(w, run);
	return x && i < x->n ? x->handle[i] : 0;
}

orr_run orr_run_first(const struct orr_serve *w, uint32_t replica)
{
	uint32_t slot = replica < w->n_replicas ? w->replica[replica].runs.first : NONE;
	return slot == NONE ? 0 : run_handle(w, slot);
}

orr_run orr_run_next(const struct orr_serve *w, orr_run run)
{
	const struct run *x = known_run(w, run);
	return x && x->next != NONE ? run_handle(w, x->next) : 0;
}

/* ---- timers ---- */

static bool is_replica(struct orr_serve *w, uint32_t replica, const char *what)
{
	if (replica >= w->n_replicas)
		serve_fail(w, ORR_EFAIL, NULL, "%s for replica %u: expected a number below %u", what, replica, w->n_replicas);
	return replica < w->n_replicas;
}

static void wake(struct orr_serve *w, uint32_t replica)
{
	lane_wake(w, replica);
	replica_dirty(w, replica);
}

void orr_wake(struct orr_serve *w, uint32_t replica)
{
	if (!w->error.code && is_replica(w, replica, "orr_wake()"))
		wake(w, replica);
}

static void on_timer(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	struct orr_serve *w = ctx;
	double at_s;
	memcpy(&at_s, &arg, sizeof at_s);
	serve_happen(w, at_s);
	wake(w, (uint32_t)subject);
}

void orr_serve_timer(struct orr_serve *w, uint32_t replica, double at_s)
{
	if (w->error.code || !is_replica(w, replica, "orr_serve_timer()") || at_s == INFINITY)
		return;
	if (isnan(at_s)) {
		serve_fail(w, ORR_EFAIL, NULL, "orr_serve_timer(): expected a time, found NaN");
		return;
	}
	uint64_t arg;
	memcpy(&arg, &at_s, sizeof arg);
	eng_at(w->host.engine, serve_ns(at_s), PRIO_TIMER, on_timer, w, replica, arg);
}

double orr_serve_uniform(struct orr_serve *w)
{
	return rng_uniform(&w->policy_rng);
}

uint32_t orr_serve_quality_members(const struct orr_serve *w)
{
	return quality_members(w->config->quality);
}

double orr_serve_quality(const struct orr_serve *w, uint64_t received)
{
	return quality_of(w->config->quality, received);
}

/* ---- series and errors of the policy ---- */

/* Returns the series of that name with the value added; NULL: no name. */
static struct observed *observe(struct orr_serve *w, const char *what, const char *name, double value)
{
	uint32_t i = 0;
	if (!name || !*name) {
		serve_fail(w, ORR_EFAIL, NULL, "%s: expected the name of a series", what);
		return NULL;
	}
	while (i < w->n_observed && strcmp(w->observed[i].name, name))
		i++;
	if (i == w->n_observed) {
		MEM_GROW(w->observed, w->n_observed, w->cap_observed);
		w->observed[w->n_observed++] = (struct observed){ .name = mem_strdup(name) };
	}
	w->observed[i].sum += value;
	w->observed[i].n++;
	return &w->observed[i];
}

void orr_serve_observe(struct orr_serve *w, const char *name, double value)
{
	observe(w, "orr_serve_observe()", name, value);
}

void orr_serve_why(struct orr_serve *w, uint32_t replica, const char *why)
{
	if (w->explain && replica < w->n_replicas && why && *why)
		explain_limit(w, replica, why);
}

void orr_req_observe(struct orr_serve *w, orr_req r, const char *name, double value)
{
	const struct req *q = req_of(w, r);
	struct observed *o = q ? observe(w, "orr_req_observe()", name, value) : NULL;
	if (!q)
		serve_fail(w, ORR_EFAIL, NULL,
			"orr_req_observe() of a request that has ended or never existed (handle %llx): expected a live request",
			(unsigned long long)r);
	if (!o)
		return;
	if (!o->by_request) {
		o->by_request = mem_zalloc(1, sizeof *o->by_request);
		blocks_init(o->by_request);
	}
	blocks_add(o->by_request, q->number, value);
}

void orr_serve_give_up(struct orr_serve *w, orr_req r, const char *message)
{
	serve_fail(w, ORR_EFAIL, req_of(w, r), "%s", message ? message : "orr_serve_give_up() without a reason: expected a reason");
}
