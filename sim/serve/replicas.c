/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of a replica: GPUs taken, starting, up, draining, gone. */
#include "serve/fleet.h"
#include "serve/options.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void news(struct orr_serve *w, uint32_t replica, enum orr_replica_event event)
{
	struct fleet *f = w->fleet;
	MEM_GROW(f->news, f->n_news, f->cap_news);
	f->news[f->n_news++] = (struct fleet_news){ replica, event };
}

void replicas_tell(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	while (f->news_told < f->n_news && !w->error.code) {
		struct fleet_news x = f->news[f->news_told++];
		if (!w->ops->replica)
			continue;
		w->is_acting = true;
		watch_enter(w->watch, "replica", eng_now(w->host.engine), UINT64_MAX);
		w->ops->replica(w->self, w, x.replica, x.event);
		watch_leave(w->watch);
		w->is_acting = false;
	}
	f->n_news = f->news_told = 0;
}

/* The engine's clock as seconds; what is exact in this instant may be a little later. */
static double now_s(const struct orr_serve *w)
{
	return (double)eng_now(w->host.engine) / 1e9;
}

/* ---- GPUs ---- */

static bool take_gpus(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	const struct serve_deployment *d = &w->config->deployment[r->deployment];
	uint32_t n_types = w->config->cluster->n_types;
	uint64_t all = n_types < 64 ? (UINT64_C(1) << n_types) - 1 : UINT64_MAX;
	struct pool_request q = { d->tp * d->pp, 1000, 0, 0, d->gpu_types ? d->gpu_types & all : all };
	bool has = w->host.take ? w->host.take(w->host.ctx, &q, &r->alloc) : pool_take(w->host.pool, &q, &r->alloc);
	if (!has)
		return false;
	r->has_alloc = true;
	r->gpus = q.gpus;
	r->node = pool_pieces(&r->alloc)[0].node;
	r->gpu_type = r->alloc.type;
	w->fleet->more[replica].taken_s = now_s(w);
	return true;
}

/* What the replica held its GPUs for is paid for. */
static void give_gpus(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	double gpu_s = (now_s(w) - w->fleet->more[replica].taken_s) * r->gpus;
	r->gpu_s += gpu_s;
	if (w->config->usd_per_gpu_hour && r->gpu_type < w->config->cluster->n_types)
		r->usd += gpu_s / 3600 * w->config->usd_per_gpu_hour[r->gpu_type];
	scale_give(w, &r->alloc);
	r->has_alloc = false;
}

bool replica_is_on(const struct orr_serve *w, uint32_t replica, uint32_t node)
{
	const struct replica *r = &w->replica[replica];
	const struct pool_piece *x = pool_pieces(&r->alloc);
	for (uint32_t i = 0; r->has_alloc && i < r->alloc.n; i++)
		if (x[i].node == node)
			return true;
	return false;
}

/* ---- coming ---- */

static void settle_size(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	const struct device *device =
		w->config->device && r->gpu_type < w->config->cluster->n_types ? w->config->device[r->gpu_type] : NULL;
	r->memory = device ? device->memory_bytes * r->gpus : INFINITY;
}

/* The lane of a language model, with what its cache holds. */
static bool make_lane(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	if (r->model == NONE || w->config->model[r->model]->kind != SERVED_LLM)
		return true;
	struct orr_error err = { 0 };
	r->lane = lane_new(w, replica, &err);
	if (!r->lane) {
		serve_fail(w, err.code ? err.code : ORR_EINPUT, NULL, "replica %u: %s", replica, err.text[0] ? err.text : "cannot be made");
		return false;
	}
	struct fleet_part *p = &w->fleet->part[r->deployment];
	double tokens = (double)lane_blocks(r->lane) * orr_kv_block_tokens(w, replica);
	p->kv_tokens = isnan(p->kv_tokens) || tokens > p->kv_tokens ? tokens : p->kv_tokens;
	return true;
}

static void open_to_requests(struct orr_serve *w, uint32_t replica)
{
	group_add(w, replica);
	news(w, replica, ORR_REPLICA_UP);
	replica_dirty(w, replica);
	fleet_release_held(w);
}

static void join(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	r->state = REPLICA_UP;
	r->up_since_s = now_s(w);
	serve_metrics_fleet(w, 0, (int64_t)r->gpus);
	settle_size(w, replica);
	if (!make_lane(w, replica))
		return;
	loading_begin(w, replica);
	bitset_add(w->idle, replica);
	open_to_requests(w, replica);
}

static void on_ready(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	if (w->replica[subject].state == REPLICA_STARTING)
		join(w, (uint32_t)subject);
}

bool replica_start(struct orr_serve *w, uint32_t replica, int64_t delay_ns)
{
	struct replica *r = &w->replica[replica];
	if (!take_gpus(w, replica))
		return false;
	r->state = REPLICA_STARTING;
	w->fleet->more[replica].is_doomed = false;
	if (delay_ns)
		r->ready = eng_at(w->host.engine, eng_now(w->host.engine) + delay_ns, PRIO_REPLICA, on_ready, w, replica, 0);
	else
		join(w, replica);
	return true;
}

/* ---- going ---- */

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Live requests that are on the replica or in its runs, as pairs (number, slot) in order of arrival. */
static uint64_t *those_on(const struct orr_serve *w, uint32_t replica, uint32_t *n)
{
	uint64_t *found = NULL;
	uint32_t cap = 0, kept = 0;
	*n = 0;
	for (uint32_t i = 0; i < w->n_req; i++) {
		if (w->req[i].replica != replica || w->req[i].state == ORR_REQ_ENDED)
			continue;
		MEM_GROW(found, 2 * *n + 1, cap);
		found[2 * *n] = w->req[i].number;
		found[2 * (*n)++ + 1] = i;
	}
	for (uint32_t x = w->replica[replica].first_run; x != NONE; x = w->run[x].next) {
		for (uint32_t i = 0; i < w->run[x].n; i++) {
			const struct req *q = req_of(w, w->run[x].handle[i]);
			if (!q || q->state == ORR_REQ_ENDED)
				continue;
			MEM_GROW(found, 2 * *n + 1, cap);
			found[2 * *n] = q->number;
			found[2 * (*n)++ + 1] = req_slot(w, q);
		}
	}
	if (*n)
		qsort(found, *n, 2 * sizeof *found, by_number);
	for (uint32_t i = 0; i < *n; i++)
		if (!i || found[2 * i + 1] != found[2 * kept - 1])
			memmove(&found[2 * kept++], &found[2 * i], 2 * sizeof *found);
	*n = kept;
	return found;
}

void replica_leave(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	uint8_t was = r->state;
	if (was == REPLICA_OFF)
		return;
	serve_metrics_memory(w, replica);
	group_remove(w, replica);
	replica_set_busy(w, replica, false);
	bitset_remove(w->idle, replica);
	r->state = REPLICA_OFF;
	eng_cancel(w->host.engine, r->ready);
	uint32_t n;
	uint64_t *thrown = those_on(w, replica, &n);
	for (uint32_t i = 0; i < n; i++)
		req_throw_off(w, &w->req[thrown[2 * i + 1]]);
	if (was != REPLICA_STARTING) {
		r->up_s += now_s(w) - r->up_since_s;
		serve_metrics_fleet(w, 0, -(int64_t)r->gpus);
		batches_lost(w, replica);
		if (r->lane)
			lane_lost(w, replica);
		lane_free(r->lane);
		r->lane = NULL;
		news(w, replica, ORR_REPLICA_DOWN);
	}
	give_gpus(w, replica);
	for (uint32_t i = 0; i < n; i++)
		fleet_thrown(w, &w->req[thrown[2 * i + 1]]);
	mem_free(thrown);
}

void fleet_thrown(struct orr_serve *w, struct req *q)
{
	struct fleet *f = w->fleet;
	req_set_replica(w, q, NONE);
	MEM_GROW(f->thrown, f->n_thrown, f->cap_thrown);
	f->thrown[f->n_thrown++] = req_handle(w, req_slot(w, q));
}

void fleet_place_thrown(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	for (uint32_t i = 0; i < f->n_thrown && !w->error.code; i++) {
		struct req *q = req_of(w, f->thrown[i]);
		if (q && q->state == ORR_REQ_WAITING && q->replica == NONE)
			replica_place(w, q);
	}
	f->n_thrown = 0;
}

/* Leaves in an event of its own: whoever found it empty is not done yet. */
static void on_leave(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)arg;
	struct orr_serve *w = ctx;
	const struct replica *r = &w->replica[subject];
	w->fleet->more[subject].leave_is_due = false;
	serve_happen(w, (double)eng_now(e) / 1e9);
	if (r->state != REPLICA_DRAINING || r->routed || w->fleet->more[subject].is_busy || r->n_runs)
		return;
	replica_leave(w, (uint32_t)subject);
	fleet_place_thrown(w);
	scale_fill(w);
}

static void leave_if_empty(struct orr_serve *w, uint32_t replica)
{
	struct fleet_replica *m = &w->fleet->more[replica];
	if (w->replica[replica].state != REPLICA_DRAINING || w->replica[replica].routed || m->is_busy || m->leave_is_due)
		return;
	m->leave_is_due = true;
	eng_at(w->host.engine, eng_now(w->host.engine), PRIO_REPLICA, on_leave, w, replica, 0);
}

void replica_close(struct orr_serve *w, uint32_t replica)
{
	group_remove(w, replica);
	bitset_remove(w->idle, replica);
	w->replica[replica].state = REPLICA_DRAINING;
}

void replica_drain(struct orr_serve *w, uint32_t replica, bool is_doomed)
{
	struct replica *r = &w->replica[replica];
	w->fleet->more[replica].is_doomed |= is_doomed;
	if (r->state == REPLICA_STARTING) {
		replica_leave(w, replica);
	} else if (r->state == REPLICA_UP) {
		replica_close(w, replica);
		news(w, replica, ORR_REPLICA_DRAINING);
		replica_dirty(w, replica);
	}
	leave_if_empty(w, replica);
}

void replica_undrain(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	r->state = REPLICA_UP;
	if (!w->fleet->more[replica].is_busy)
		bitset_add(w->idle, replica);
	open_to_requests(w, replica);
}

/* ---- busy and idle ---- */

void replica_set_busy(struct orr_serve *w, uint32_t replica, bool is_busy)
{
	struct replica *r = &w->replica[replica];
	bool *was_busy = &w->fleet->more[replica].is_busy;
	if (is_busy == *was_busy)
		return;
	*was_busy = is_busy;
	if (is_busy) {
		r->busy_since_s = w->now_s;
		bitset_remove(w->idle, replica);
	} else {
		r->busy_s += w->now_s - r->busy_since_s;
		if (r->state == REPLICA_UP)
			bitset_add(w->idle, replica);
		leave_if_empty(w, replica);
	}
	serve_metrics_fleet(w, is_busy ? (int64_t)r->gpus : -(int64_t)r->gpus, 0);
}

/* ---- what policies ask ---- */

uint32_t orr_replicas(const struct orr_serve *w)
{
	return w->n_replicas;
}

static bool is_up(const struct replica *r)
{
	return r->state == REPLICA_UP || r->state == REPLICA_DRAINING;
}

bool orr_replica_get(const struct orr_serve *w, uint32_t replica, struct orr_replica_info *out)
{
	if (replica >= w->n_replicas)
		return false;
	const struct replica *r = &w->replica[replica];
	bool up = is_up(r);
	*out = (struct orr_replica_info){ .is_up = up,
		.is_draining = r->state == REPLICA_DRAINING,
		.role = r->role,
		.model = r->model,
		.gpus = up ? r->gpus : w->config->deployment[r->deployment].tp * w->config->deployment[r->deployment].pp,
		.node = r->node,
		.gpu_type = r->gpu_type,
		.runs = r->lane ? lane_is_busy(r->lane) : r->n_runs,
		.routed = r->routed,
		.residents = r->lane ? orr_residents(w, replica) : 0,
		.memory_bytes = up ? r->memory : 0 };
	if (up)
		out->memory_free_bytes = fmax(0, r->memory - memory_in_use(w, replica));
	return true;
}

bool orr_replica_is_idle(const struct orr_serve *w, uint32_t replica)
{
	return replica < w->n_replicas && is_up(&w->replica[replica]) && !w->fleet->more[replica].is_busy;
}

uint32_t orr_replica_idle_from(const struct orr_serve *w, uint32_t from)
{
	return bitset_next(w->idle, from); /* BITSET_END is ORR_NO_REPLICA */
}

uint32_t orr_replica_routed(const struct orr_serve *w, uint32_t replica)
{
	return replica < w->n_replicas ? w->replica[replica].routed : 0;
}

/* ---- could it ever be served? ---- */

/* Memory of a deployment's replicas on the largest of the GPUs that they may have. */
static double largest_memory(const struct orr_serve *w, const struct serve_deployment *d)
{
	const struct serve_config *c = w->config;
	double most = 0;
	for (uint32_t t = 0; t < c->cluster->n_types; t++) {
		if (d->gpu_types && t < 64 && !(d->gpu_types >> t & 1))
			continue;
		if (!c->device || !c->device[t])
			return INFINITY;
		most = fmax(most, c->device[t]->memory_bytes * d->tp * d->pp);
	}
	return most > 0 ? most : INFINITY;
}

/* Alone on a replica, with the weights of its model. */
static bool table_could(const struct orr_serve *w, const struct req *q, const struct served *m)
{
	static const double rounding = 1e-9; /* as memory.c */
	uint32_t size = served_batch_for(m, q->samples);
	if (!size || isnan(served_latency(m, size, q->prompt_asked)) || m->utilisation > w->set->utilisation_limit * (1 + rounding))
		return false;
	struct served_memory x = served_memory_of(m, size);
	for (uint32_t d = 0; d < w->config->n_deployments; d++) {
		uint32_t model = w->fleet->part[d].model;
		if ((model == NONE || model == q->model) &&
			m->weight_bytes + fmax(x.before, x.peak) <= largest_memory(w, &w->config->deployment[d]) * (1 + rounding))
			return true;
	}
	return false;
}

/* A request needs room for all its tokens but the last, which nobody reads. */
static bool llm_could(const struct orr_serve *w, const struct req *q, const struct served *m)
{
	double prompt = q->prompt_asked, whole = prompt + q->output_asked;
	bool prompt_fits = false, whole_fits = false;
	if (m->longest && whole > m->longest)
		return false;
	for (uint32_t d = 0; d < w->config->n_deployments; d++) {
		const struct fleet_part *p = &w->fleet->part[d];
		enum orr_replica_role role = w->config->deployment[d].role;
		if (p->model != q->model && p->model != NONE)
			continue;
		bool is_known = !isnan(p->kv_tokens);
		prompt_fits |= role != ORR_ROLE_DECODE && (!is_known || prompt <= p->kv_tokens);
		whole_fits |= role != ORR_ROLE_PREFILL && (!is_known || whole - 1 <= p->kv_tokens);
	}
	return prompt_fits && whole_fits;
}

bool model_has_replicas(const struct orr_serve *w, uint32_t model)
{
	for (uint32_t d = 0; d < w->config->n_deployments; d++)
		if (w->fleet->part[d].model == model || w->fleet->part[d].model == NONE)
			return true;
	return false;
}

bool replica_could_ever_serve(const struct orr_serve *w, const struct req *q)
{
	const struct served *m = w->config->model[q->model];
	return model_has_replicas(w, q->model) && (m->kind == SERVED_TABLE ? table_could(w, q, m) : llm_could(w, q, m));
}

/* ---- beginning and end ---- */

static int settle_part(struct orr_serve *w, uint32_t d)
{
	const struct serve_deployment *x = &w->config->deployment[d];
	struct fleet_part *p = &w->fleet->part[d];
	p->model = x->model == NONE && w->config->n_models == 1 ? 0 : x->model;
	p->is_scaled = x->most != 0;
	p->least = p->is_scaled ? x->least : x->replicas;
	p->most = p->is_scaled ? x->most : x->replicas;
	p->wanted = x->replicas < p->least ? p->least : x->replicas > p->most ? p->most : x->replicas;
	/* One that goes and the one that takes its place are there together while the notice lasts. */
	p->slots = orr_arg_time_ns(w->config->options, "notice") ? 2 * p->most : p->most;
	p->first = d ? p[-1].first + p[-1].slots : 0;
	p->kv_tokens = NAN;
	if (!x->tp || !x->pp || p->least > p->most)
		return orr_fail(&w->error, ORR_EINPUT, "deployment %u: %s", d,
			p->least > p->most ? "least is more than most" : "tp and pp are 1 or more");
	if (p->model != NONE && p->model >= w->config->n_models)
		return orr_fail(&w->error, ORR_EINPUT, "deployment %u: model %u; there are %u", d, p->model, w->config->n_models);
	for (uint32_t m = 0; p->model == NONE && m < w->config->n_models; m++)
		if (w->config->model[m]->kind == SERVED_LLM)
			return orr_fail(&w->error, ORR_EINPUT,
				"deployment %u serves any model, but %s is a language model and needs replicas of its own (\"model\")", d,
				w->config->model[m]->name);
	return 0;
}

static void settle_slots(struct orr_serve *w)
{
	const struct fleet_part *last = &w->fleet->part[w->config->n_deployments - 1];
	w->n_replicas = w->cap_replicas = last->first + last->slots;
	w->replica = mem_zalloc((size_t)w->n_replicas + 1, sizeof *w->replica);
	w->fleet->more = mem_zalloc((size_t)w->n_replicas + 1, sizeof *w->fleet->more);
	w->idle = mem_zalloc(1, sizeof *w->idle);
	bitset_init(w->idle, w->n_replicas ? w->n_replicas : 1);
	for (uint32_t d = 0; d < w->config->n_deployments; d++) {
		const struct fleet_part *p = &w->fleet->part[d];
		for (uint32_t i = p->first; i < p->first + p->slots; i++) {
			struct replica *r = &w->replica[i];
			r->deployment = d;
			r->model = p->model;
			r->role = w->config->deployment[d].role;
			r->first_run = r->last_run = NONE;
		}
	}
}

void replicas_begin(struct orr_serve *w)
{
	struct fleet *f = w->fleet = mem_zalloc(1, sizeof *f);
	f->part = mem_zalloc((size_t)w->config->n_deployments + 1, sizeof *f->part);
	for (uint32_t d = 0; d < w->config->n_deployments && !w->error.code; d++)
		settle_part(w, d);
	if (w->error.code)
		return;
	if (w->config->n_deployments)
		settle_slots(w);
	if (!w->n_replicas) {
		orr_fail(&w->error, ORR_EINPUT, "nothing serves: no deployment has a replica");
		return;
	}
	routes_begin(w);
	scale_begin(w);
	f->n_news = 0; /* create() sees those that are there */
}

void replicas_free(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	if (!f)
		return;
	for (uint32_t i = 0; w->replica && i < w->n_replicas; i++) {
		struct replica *r = &w->replica[i];
		lane_free(r->lane);
		if (r->has_alloc) /* not by the host's give(): it may be half gone */
			pool_give(w->host.pool, &r->alloc);
	}
	routes_free(w);
	scale_free(w);
	if (w->idle)
		bitset_free(w->idle);
	mem_free(w->idle);
	mem_free(w->replica);
	mem_free(f->more);
	mem_free(f->part);
	mem_free(f->news);
	mem_free(f->thrown);
	mem_free(f);
	w->idle = NULL;
	w->replica = NULL;
	w->fleet = NULL;
}
