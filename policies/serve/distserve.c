/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DistServe: prefill and decode on separate instances (Zhong et al., "DistServe: Disaggregating Prefill and Decoding for
 * Goodput-optimized Large Language Model Serving", OSDI 2024), in the version of its simulator (LLMServe/DistServe 82831f1,
 * simdistserve).
 *
 * An instance is a ring of workers, one for each pipeline stage. A free worker first takes prompts, as a batch that stays
 * together through the stages. Without prompts it takes all decodes that have arrived, so batches of decodes merge and split.
 * Prompts go to the instance with the fewest prompts that wait for, or run on, its first worker. At the end of the prompt the
 * request goes to the decode instance with the fewest decodes that wait for its first worker or are being sent there. An
 * instance with the role `both` keeps its requests.
 */
#include "kinds.h"

struct worker {
	struct orr_fifo prompts, decodes;
};

struct instance {
	struct worker *worker; /* by stage */
	uint32_t stages;
	uint32_t running;       /* number of prompts that the first worker started last */
	struct orr_fifo landed; /* requests whose KV cache has arrived, and that have no blocks yet */
	struct orr_fifo refuge; /* evicted requests that wait for a prefill instance */
	uint64_t group;         /* number of the last batch of prompts */
};

struct distserve {
	struct instance *instance; /* by replica */
	uint32_t n;
	uint32_t prefill_tokens, decode_tokens; /* prefill_tokens 0: no limit */
};

static bool is_up(const struct orr_serve *w, uint32_t replica, uint32_t model, enum orr_replica_role other)
{
	struct orr_replica_info x;
	return orr_replica_get(w, replica, &x) && x.is_up && !x.is_draining && x.role != other &&
	       (x.model == UINT32_MAX || x.model == model);
}

/* Returns whether the replica is up, has not the other role, and can hold the request. */
static bool takes(const struct orr_serve *w, uint32_t replica, orr_req r, enum orr_replica_role other)
{
	return orr_kv_can_hold(w, replica, r) && is_up(w, replica, orr_req_model(w, r), other);
}

/* ---- routing ---- */

/* Returns the prefill instance with the fewest prompts, waiting or running on its first worker. */
static uint32_t pick_prefill(const struct distserve *d, const struct orr_serve *w, orr_req r)
{
	uint32_t best = ORR_NO_REPLICA;
	size_t least = SIZE_MAX;
	for (uint32_t i = 0; i < d->n; i++) {
		const struct instance *x = &d->instance[i];
		/* Also counts requests that were routed at this instant but have not arrived yet. */
		size_t n = orr_replica_waiting(w, i) - x->landed.n - x->refuge.n + (orr_stage_is_idle(w, i, 0) ? 0 : x->running);
		if (n >= least || !takes(w, i, r, ORR_ROLE_DECODE))
			continue;
		least = n;
		best = i;
	}
	return best;
}

/* Returns the decode instance with the fewest decodes, waiting for its first worker or in transit. */
static uint32_t pick_decode(const struct distserve *d, const struct orr_serve *w, orr_req r)
{
	uint32_t best = ORR_NO_REPLICA;
	size_t least = SIZE_MAX;
	for (uint32_t i = 0; i < d->n; i++) {
		const struct instance *x = &d->instance[i];
		size_t n = x->worker[0].decodes.n + x->landed.n + orr_replica_incoming(w, i);
		if (n >= least || !takes(w, i, r, ORR_ROLE_PREFILL))
			continue;
		least = n;
		best = i;
	}
	return best;
}

static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	uint32_t to = pick_prefill(self, w, r);
	return to == ORR_NO_REPLICA ? ORR_ANY_REPLICA : to; /* none holds it now: the world refuses it */
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct distserve *d = self;
	uint32_t replica = orr_req_replica(w, r);
	if (orr_req_done(w, r)) {
		orr_fifo_push(w, &d->instance[replica].landed, r);
		return;
	}
	if (!orr_kv_can_hold(w, replica, r)) {
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "larger than the KV cache of its replica");
		return;
	}
	if (d->prefill_tokens && orr_req_prompt(w, r) > d->prefill_tokens) {
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "prompt longer than prefill_tokens");
		return;
	}
	orr_fifo_push(w, &d->instance[replica].worker[0].prompts, r);
}

/* ---- between the stages ---- */

/* Sends a request whose prompt is complete to a decode instance. If none is up, it decodes where it is. */
static void send(struct distserve *d, struct orr_serve *w, uint32_t replica, orr_req r)
{
	uint32_t to = pick_decode(d, w, r);
	if (to == ORR_NO_REPLICA || to == replica)
		orr_fifo_push(w, &d->instance[replica].worker[0].decodes, r);
	else
		orr_move(w, r, to);
}

/* Queues the requests that left a stage, in order. */
static void sort_returned(struct distserve *d, struct orr_serve *w, uint32_t replica)
{
	struct orr_replica_info info;
	struct instance *x = &d->instance[replica];
	bool is_prefill = orr_replica_get(w, replica, &info) && info.role == ORR_ROLE_PREFILL;
	for (orr_req r; (r = orr_micro_returned(w, replica)) != 0;) {
		uint32_t stage = orr_req_stage(w, r);
		bool has_prompt = orr_req_done(w, r) < orr_req_prompt(w, r);
		if (has_prompt)
			orr_fifo_push(w, &x->worker[stage].prompts, r);
		else if (is_prefill && !stage)
			send(d, w, replica, r);
		else
			orr_fifo_push(w, &x->worker[stage].decodes, r);
	}
	while (x->landed.first && orr_admit(w, x->landed.first, orr_req_done(w, x->landed.first), 0))
		orr_fifo_pop(w, &x->landed); /* orr_micro_returned() hands it out */
	for (orr_req r; (r = orr_micro_returned(w, replica)) != 0;)
		orr_fifo_push(w, &x->worker[0].decodes, r);
}

/* ---- batches of a worker ---- */

/* Lists prompts for the first stage from the head of the queue; returns their number. */
static uint32_t take_prompts(struct distserve *d, struct orr_serve *w, uint32_t replica)
{
	struct instance *x = &d->instance[replica];
	struct orr_fifo *q = &x->worker[0].prompts;
	uint64_t left = d->prefill_tokens ? d->prefill_tokens : UINT64_MAX;
	uint32_t n = 0;
	for (; q->first && orr_req_prompt(w, q->first) <= left; n++) {
		orr_req r = q->first;
		uint32_t prompt = orr_req_prompt(w, r);
		if (!orr_admit(w, r, prompt, 0))
			break;
		orr_fifo_pop(w, q);
		left -= prompt;
		orr_req_set_mark(w, r, x->group + 1);
		orr_iter_prefill(w, r, prompt - orr_req_done(w, r));
	}
	x->group += n > 0;
	x->running = n;
	return n;
}

/* Lists the prompts of the batch at the head of a later stage. */
static uint32_t pass_prompts(struct orr_serve *w, struct orr_fifo *q)
{
	uint32_t n = 0;
	for (uint64_t group = q->first ? orr_req_mark(w, q->first) : 0; q->first && orr_req_mark(w, q->first) == group; n++)
		orr_stage_add(w, orr_fifo_pop(w, q));
	return n;
}

/* Frees blocks for the next token of r: the last decodes that wait restart on a prefill instance. Returns false if there are none. */
static bool make_room(struct distserve *d, struct orr_serve *w, uint32_t replica, orr_req r)
{
	struct instance *x = &d->instance[replica];
	if (orr_kv_free(w, replica))
		return true;
	bool needs = orr_req_done(w, r) > (uint64_t)orr_kv_held(w, r) * orr_kv_block_tokens(w, replica);
	while (needs && !orr_kv_free(w, replica)) {
		orr_req victim = x->worker[0].decodes.last;
		if (!victim || victim == r)
			return false;
		orr_fifo_remove(w, &x->worker[0].decodes, victim);
		orr_evict(w, victim, ORR_EVICT_RESTART);
		orr_fifo_push(w, &x->refuge, victim);
	}
	return true;
}

/* The first decode finds no block. If it needs more blocks than there are, it restarts elsewhere. */
static void give_up_first(struct distserve *d, struct orr_serve *w, uint32_t replica)
{
	struct instance *x = &d->instance[replica];
	orr_req r = x->worker[0].decodes.first;
	if (orr_req_done(w, r) <= (uint64_t)orr_kv_total(w, replica) * orr_kv_block_tokens(w, replica))
		return;
	orr_fifo_pop(w, &x->worker[0].decodes);
	orr_evict(w, r, ORR_EVICT_RESTART);
	orr_fifo_push(w, &x->refuge, r);
	orr_wake(w, replica); /* others may decode now */
}

/* Lists decodes for a stage, while their tokens stay within the limit; returns their number. */
static uint32_t take_decodes(struct distserve *d, struct orr_serve *w, uint32_t replica, uint32_t stage)
{
	struct orr_fifo *q = &d->instance[replica].worker[stage].decodes;
	uint64_t left = d->decode_tokens;
	uint32_t n = 0;
	for (; q->first && (orr_req_done(w, q->first) <= left || !n); n++) {
		orr_req r = q->first;
		left -= orr_req_done(w, r) < left ? orr_req_done(w, r) : left;
		if (!stage && !make_room(d, w, replica, r))
			break;
		orr_fifo_remove(w, q, r);
		if (stage)
			orr_stage_add(w, r);
		else
			orr_micro_decode(w, r);
	}
	if (!stage && !n && q->first)
		give_up_first(d, w, replica);
	return n;
}

static bool prefills_are_up(const struct distserve *d, const struct orr_serve *w, uint32_t model)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (is_up(w, i, model, ORR_ROLE_DECODE))
			return true;
	return false;
}

/* Requests that were evicted start again on a prefill instance. */
static void send_back(struct distserve *d, struct orr_serve *w, uint32_t replica)
{
	struct orr_fifo *q = &d->instance[replica].refuge;
	while (q->first) {
		orr_req r = q->first;
		uint32_t to = pick_prefill(d, w, r);
		if (to == ORR_NO_REPLICA && !prefills_are_up(d, w, orr_req_model(w, r)))
			return;
		orr_fifo_pop(w, q);
		if (to == ORR_NO_REPLICA && !orr_kv_can_hold(w, replica, r)) {
			orr_refuse_because(w, r, ORR_REQ_REFUSED, "larger than the KV cache of its replica");
			continue;
		}
		to = to == ORR_NO_REPLICA ? replica : to; /* its tokens no longer fit on any prefill replica */
		if (to != replica)
			orr_assign(w, r, to);
		orr_fifo_push(w, &d->instance[to].worker[0].prompts, r);
		orr_wake(w, to);
	}
}

/* Runs the same decodes again if the instance has no other work. Returns whether it did; usually it does. */
static bool go_on(const struct distserve *d, struct orr_serve *w, uint32_t replica)
{
	struct orr_replica_info info;
	const struct instance *x = &d->instance[replica];
	const struct worker *first = &x->worker[0];
	if (x->stages > 1 || first->prompts.first || first->decodes.first || x->landed.first || x->refuge.first)
		return false;
	/* An instance for prompts may have to send its decodes away. */
	return orr_replica_get(w, replica, &info) && info.role != ORR_ROLE_PREFILL && orr_stage_again(w, replica, d->decode_tokens);
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct distserve *d = self;
	struct instance *x = &d->instance[replica];
	if (go_on(d, w, replica))
		return;
	sort_returned(d, w, replica);
	for (uint32_t s = 0; s < x->stages; s++) {
		if (!orr_stage_is_idle(w, replica, s))
			continue;
		uint32_t n = s ? pass_prompts(w, &x->worker[s].prompts) : take_prompts(d, w, replica);
		if (n || take_decodes(d, w, replica, s))
			orr_stage_run(w, replica, s);
	}
	send_back(d, w, replica);
}

/* Evicted requests may wait for a prefill instance. */
static void on_replica(void *self, struct orr_serve *w, uint32_t replica, enum orr_replica_event event)
{
	struct distserve *d = self;
	(void)replica;
	for (uint32_t i = 0; event == ORR_REPLICA_UP && i < d->n; i++)
		if (d->instance[i].refuge.first)
			orr_wake(w, i);
}

/* ---- the policy ---- */

static void destroy(void *self)
{
	struct distserve *d = self;
	for (uint32_t i = 0; i < d->n; i++)
		orr_free(d->instance[i].worker);
	orr_free(d->instance);
	orr_free(d);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_LLM, err))
		return NULL;
	struct distserve *d = orr_alloc(1, sizeof *d);
	d->n = orr_replicas(w);
	d->instance = orr_alloc(d->n + 1, sizeof *d->instance);
	for (uint32_t i = 0; i < d->n; i++) {
		d->instance[i].stages = orr_micro_stages(w, i);
		d->instance[i].worker = orr_alloc(d->instance[i].stages, sizeof *d->instance[i].worker);
	}
	d->prefill_tokens = (uint32_t)orr_arg_int(args, "prefill_tokens");
	d->decode_tokens = (uint32_t)orr_arg_int(args, "decode_tokens");
	return d;
}

static const struct orr_param params[] = {
	ORR_PARAM_INT(
		"prefill_tokens", "0", 0, 1e9, "largest number of tokens of a batch of prompts; longer prompts are refused; 0: no limit"),
	ORR_PARAM_INT("decode_tokens", "50000", 1, 1e9, "largest sum of processed tokens over the decodes of a batch"), ORR_PARAM_END
};

static const struct orr_serve_ops ops = {
	.create = create, .destroy = destroy, .route = route, .arrive = arrive, .schedule = schedule, .replica = on_replica
};

ORR_POLICY_SERVE_FLAGS(distserve,
	"language models: prefill and decode on separate replicas; a free pipeline stage starts the waiting batch (DistServe)",
	ORR_SERVE_ROLES | ORR_SERVE_BY_STAGE, params, ops);
