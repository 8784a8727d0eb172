/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The number of replicas: autoscaling, failures and notices of nodes; docs/models/serve.md#the-service.
 */
#include "serve/fleet.h"
#include "serve/metrics.h"
#include "serve/requests.h"
#include "serve/tiers.h"

#include "base/mem.h"
#include "cluster/failures.h"

#include <math.h>
#include <string.h>

/* Maximum number of past ticks that scaling down considers. */
enum { ASKED_MAX = 100000 };

static bool is_over(const struct orr_serve *w)
{
	return !w->live && !w->has_next;
}

/* ---- starting and removing replicas ---- */

static bool counts(const struct orr_serve *w, uint32_t replica)
{
	uint8_t state = w->replica[replica].state;
	return state == REPLICA_UP || state == REPLICA_STARTING;
}

/* Returns the first replica of the deployment in the set; NONE: none. */
static uint32_t first_in(const struct bitset *set, const struct fleet_part *p)
{
	uint32_t i = bitset_next(set, p->first);
	return i != BITSET_END && i < p->first + p->slots ? i : NONE;
}

/* Adds a replica: reactivates a draining one, else starts one. */
static bool grow(struct orr_serve *w, struct fleet_part *p, int64_t delay_ns)
{
	uint32_t i = first_in(&w->fleet->revivable, p);
	if (i != NONE) {
		replica_undrain(w, i);
		return true;
	}
	i = first_in(&w->fleet->off, p);
	if (i == NONE || !replica_start(w, i, delay_ns))
		return false;
	w->fleet->at_once += !delay_ns;
	return true;
}

static void fill(struct orr_serve *w, struct fleet_part *p, int64_t delay_ns)
{
	while (p->present < p->wanted && !w->error.code && grow(w, p, delay_ns))
		w->used |= delay_ns ? SERVE_USED_START_UP : 0;
	if (p->present < p->wanted)
		w->fleet->wants_more = true; /* scale_fill() tries again when GPUs become free */
}

static void scale_fill(struct orr_serve *w)
{
	w->fleet->wants_more = false;
	for (uint32_t d = 0; d < w->config->n_deployments && !w->error.code; d++)
		fill(w, &w->fleet->part[d], w->fleet->start_up);
}

/* Removes the replica in a separate event, because callers of replica_leave_if_empty() still use the replica. */
static void on_leave(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	const struct replica *r = &w->replica[subject];
	w->fleet->more[subject].leave_is_due = false;
	serve_happen(w, serve_clock_s(w));
	if (r->state != REPLICA_DRAINING || r->routed || w->fleet->more[subject].is_busy || r->n_runs || r->sending.n || r->waiting.n ||
		r->later.n)
		return;
	replica_leave(w, (uint32_t)subject);
	replicas_place_thrown(w);
	scale_fill(w);
}

/* Returns the replica to remove: one that is still starting, else one with the fewest requests; the last of these. */
static uint32_t least_needed(const struct orr_serve *w, const struct fleet_part *p)
{
	uint32_t best = NONE;
	uint64_t least = UINT64_MAX;
	for (uint32_t i = p->first; i < p->first + p->slots; i++) {
		if (!counts(w, i))
			continue;
		uint64_t load = w->replica[i].state == REPLICA_STARTING ? 0 : 1 + (uint64_t)w->replica[i].routed;
		if (load <= least) {
			least = load;
			best = i;
		}
	}
	return best;
}

static void shrink(struct orr_serve *w, struct fleet_part *p)
{
	for (uint32_t n = p->present; n > p->wanted; n--) {
		replica_drain(w, least_needed(w, p), false);
		w->fleet->scale_downs++;
	}
}

/* ---- autoscaling ---- */

/* Returns the number of live requests for the model (NONE: any) that are on no replica. */
static double unrouted(const struct orr_serve *w, uint32_t model)
{
	return (double)(model == NONE ? w->live - w->fleet->routed : w->fleet->unrouted[model]);
}

static double load_of(const struct orr_serve *w, const struct fleet_part *p)
{
	if (w->fleet->autoscale == AUTOSCALE_RATE)
		return (double)p->came * 1e9 / (double)w->fleet->scale_interval;
	double n = unrouted(w, p->model);
	for (uint32_t i = p->first; i < p->first + p->slots; i++)
		n += w->replica[i].routed;
	return n;
}

static void ask_for(struct fleet_part *p, uint32_t now)
{
	p->asked[p->next_asked] = now;
	p->next_asked = (p->next_asked + 1) % p->cap_asked;
	p->n_asked += p->n_asked < p->cap_asked;
}

/* Returns the largest number required in the last ticks (Kubernetes' HorizontalPodAutoscaler, stabilizationWindowSeconds). */
static uint32_t most_asked(const struct fleet_part *p, uint32_t window)
{
	uint32_t most = 0;
	for (uint32_t i = 1; i <= p->n_asked && i <= window; i++) {
		uint32_t n = p->asked[(p->next_asked + p->cap_asked - i) % p->cap_asked];
		most = n > most ? n : most;
	}
	return most;
}

/* Returns whether the deployment decodes, and requests are on replicas that prefill for it. Without a replica to decode on, they stay
 * there. */
static bool has_prompts(const struct orr_serve *w, const struct fleet_part *p)
{
	if (w->config->deployment[p - w->fleet->part].role != ORR_ROLE_DECODE)
		return false;
	for (uint32_t i = 0; i < w->n_replicas; i++) {
		const struct replica *r = &w->replica[i];
		if (r->role == ORR_ROLE_PREFILL && r->routed && (r->model == p->model || r->model == NONE || p->model == NONE))
			return true;
	}
	return false;
}

/* Returns the number of replicas for a load, within the limits. */
static uint32_t required(const struct orr_serve *w, const struct fleet_part *p, double load, double target)
{
	double want = ceil(load / target - 1e-9);
	if (want < 1 && ((w->fleet->autoscale == AUTOSCALE_RATE && unrouted(w, p->model) > 0) || has_prompts(w, p)))
		want = 1; /* the load is low, but requests wait */
	return want > p->most ? p->most : want < p->least ? p->least : (uint32_t)want;
}

/* Returns whether the required number of replicas has changed. */
static bool decide(struct orr_serve *w, struct fleet_part *p)
{
	struct fleet *f = w->fleet;
	double load = load_of(w, p);
	uint32_t now = required(w, p, load, f->scale_target);
	w->used |= now != required(w, p, load, SERVE_SCALE_TARGET) ? SERVE_USED_SCALE_TARGET : 0;
	ask_for(p, now);
	uint32_t quiet = most_asked(p, p->window), plain = most_asked(p, p->plain_window);
	p->came = 0;
	w->used |= SERVE_USED_DECISION;
	if (now <= p->wanted && quiet != plain && (quiet < p->wanted || plain < p->wanted))
		w->used |= SERVE_USED_SCALE_QUIET;
	if (now > p->wanted) {
		f->scale_ups += now - p->wanted;
		p->wanted = now;
		return true;
	}
	if (quiet < p->wanted) {
		p->wanted = quiet;
		shrink(w, p);
		return true;
	}
	return false;
}

static void on_tick(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)subject, (void)arg;
	struct orr_serve *w = ctx;
	w->fleet->tick_pending = false;
	if (is_over(w) || w->error.code)
		return;
	serve_happen(w, serve_clock_s(w));
	bool changed = false;
	for (uint32_t d = 0; d < w->config->n_deployments; d++)
		if (w->fleet->part[d].is_scaled)
			changed |= decide(w, &w->fleet->part[d]);
	w->fleet->same_ticks = changed ? 0 : w->fleet->same_ticks + 1;
	scale_fill(w);
	w->fleet->tick_pending = true;
	eng_at(e, eng_now(e) + w->fleet->scale_interval, PRIO_REPLICA, on_tick, w, 0, 0);
}

static uint32_t ticks_in(const struct fleet *f, int64_t time)
{
	double n = ceil((double)time / (double)f->scale_interval) + 1;
	return n > ASKED_MAX ? ASKED_MAX : (uint32_t)n;
}

static void begin_ticks(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	bool any = false;
	for (uint32_t d = 0; d < w->config->n_deployments; d++) {
		struct fleet_part *p = &f->part[d];
		p->is_scaled &= f->autoscale != AUTOSCALE_NONE;
		any |= p->is_scaled;
		if (!p->is_scaled)
			continue;
		p->window = ticks_in(f, f->scale_quiet);
		p->plain_window = ticks_in(f, SERVE_SCALE_QUIET);
		p->cap_asked = p->window > p->plain_window ? p->window : p->plain_window;
		p->asked = mem_zalloc(p->cap_asked, sizeof *p->asked);
		ask_for(p, p->wanted); /* as Kubernetes does, so that the first checks keep the replicas of the start */
		f->longest_window = p->window > f->longest_window ? p->window : f->longest_window;
	}
	if (!any && f->autoscale != AUTOSCALE_NONE)
		orr_fail(&w->error, ORR_EINPUT, "serve.autoscale=%s: expected a deployment with a maximum number of replicas (\"most\")",
			orr_arg_text(w->config->options, "autoscale"));
	if (!any)
		return;
	f->tick_pending = true;
	eng_at(w->host.engine, eng_now(w->host.engine) + f->scale_interval, PRIO_REPLICA, on_tick, w, 0, 0);
}

/* ---- nodes ---- */

/* Handles a notice of a node: drains its replicas. */
static void doom(struct orr_serve *w, uint32_t node)
{
	w->fleet->nodes_down += !w->fleet->notices[node]++;
	bitset_add(&w->fleet->doomed, node);
	for (uint32_t i = 0; i < w->n_replicas; i++)
		if (replica_is_on(w, i, node))
			replica_drain(w, i, true);
	gpus_withhold(w, node);
}

/* Counts a failure: a request that takes longer than the time between failures restarts forever. */
static void count_failure(struct orr_serve *w)
{
	enum { IN_VAIN = 10000, IN_VAIN_PER_NODE = 1000 };
	struct fleet *f = w->fleet;
	uint64_t ended = w->metrics->arrived - w->live, most = IN_VAIN + (uint64_t)IN_VAIN_PER_NODE * w->config->cluster->n_nodes;
	if (ended != f->ended_before || !w->live)
		f->failures_in_vain = 0;
	f->ended_before = ended;
	f->failures_in_vain += w->live != 0;
	if (f->failures_in_vain > most)
		serve_fail(w, ORR_EFAIL, NULL,
			"nodes fail faster than requests are served: %llu failures since a request last ended, and %llu requests have not "
			"ended: expected a longer failures.mtbf, a shorter serve.start_up, or --until",
			(unsigned long long)f->failures_in_vain, (unsigned long long)w->live);
}

static void lose(struct orr_serve *w, uint32_t node)
{
	count_failure(w);
	tiers_node_lost(w, node);
	/* All affected replicas are closed first, so that none receives requests of another one. */
	for (uint32_t i = 0; i < w->n_replicas; i++)
		if (w->replica[i].state == REPLICA_UP && replica_is_on(w, i, node))
			replica_close(w, i);
	for (uint32_t i = 0; i < w->n_replicas && !w->error.code; i++) {
		if (!replica_is_on(w, i, node))
			continue;
		w->fleet->losses += w->replica[i].state != REPLICA_OFF;
		replica_stops(w, i, w->fleet->more[i].is_doomed ? STOP_NOTICE : STOP_FAILED);
		replica_leave(w, i);
	}
	replicas_place_thrown(w);
}

static void fail(struct orr_serve *w, uint32_t node)
{
	struct fleet *f = w->fleet;
	bool was_doomed = f->notices[node], goes_again = was_doomed && --f->notices[node];
	f->nodes_down -= was_doomed && !goes_again;
	lose(w, node);
	bitset_remove(&f->doomed, node);
	gpus_release(w);
	pool_node_down(w->host.pool, node);
	f->nodes_down++;
	if (goes_again) /* the notice of the next failure is due before this failure */
		bitset_add(&f->doomed, node);
}

enum node_event { NODE_REPAIR, NODE_FAIL, NODE_NOTICE };

static void node_happens(struct orr_serve *w, uint32_t node, enum node_event what)
{
	if (is_over(w) || w->error.code)
		return;
	serve_happen(w, serve_clock_s(w));
	if (what == NODE_NOTICE) {
		serve_metrics_node(w, "node-notice", node);
		doom(w, node);
	} else if (what == NODE_FAIL) {
		serve_metrics_node(w, "node-fail", node);
		fail(w, node);
	} else {
		serve_metrics_node(w, "node-repair", node);
		pool_node_up(w->host.pool, node);
		if (bitset_has(&w->fleet->doomed, node)) /* the node's next failure follows within serve.notice */
			gpus_withhold(w, node);
		w->fleet->nodes_down--;
	}
	scale_fill(w);
}

static void on_row(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	struct orr_serve *w = ctx;
	w->fleet->rows_ahead--;
	node_happens(w, (uint32_t)subject, (enum node_event)arg);
}

static void on_row_known(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

/* Reads the next row of the failures, which is known `notice` before it happens. */
static void next_row(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	int64_t t;
	uint32_t node;
	bool fails;
	f->failure_pending = failure_run_next(f->failures, &t, &node, &fails);
	if (!f->failure_pending)
		return;
	int64_t known = t - f->notice;
	f->row_ns = t;
	eng_at(w->host.engine, known > 0 ? known : 0, PRIO_REPLICA, on_row_known, w, node, fails ? NODE_FAIL : NODE_REPAIR);
}

static void on_row_known(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	struct orr_serve *w = ctx;
	if (is_over(w) || w->error.code)
		return;
	if (w->fleet->notice && arg == NODE_FAIL)
		node_happens(w, (uint32_t)subject, NODE_NOTICE);
	if (w->fleet->row_ns > eng_now(e)) {
		w->fleet->rows_ahead++;
		eng_at(e, w->fleet->row_ns, PRIO_REPLICA, on_row, w, subject, arg);
	} else {
		node_happens(w, (uint32_t)subject, (enum node_event)arg);
	}
	next_row(w);
}

/* ---- on a shared clock ---- */

void serve_capacity(struct orr_serve *w)
{
	serve_happen(w, serve_clock_s(w));
	eng_cancel(w->host.engine, w->fleet->refill);
	if (!w->error.code && !is_over(w))
		scale_fill(w);
}

static void on_refill(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)subject, (void)arg;
	serve_capacity(ctx);
}

void serve_node(struct orr_serve *w, uint32_t node, bool is_up)
{
	serve_happen(w, serve_clock_s(w));
	if (w->error.code)
		return;
	serve_metrics_node(w, is_up ? "node-repair" : "node-fail", node);
	if (!is_up)
		lose(w, node);
	/* Replacements start when the pool is up to date, later in this instant, unless the host calls serve_capacity() first. */
	w->fleet->refill = eng_at(w->host.engine, eng_now(w->host.engine), PRIO_REPLICA, on_refill, w, 0, 0);
}

void serve_notice(struct orr_serve *w, uint32_t node)
{
	serve_happen(w, serve_clock_s(w));
	if (w->error.code)
		return;
	serve_metrics_node(w, "node-notice", node);
	for (uint32_t i = 0; i < w->n_replicas; i++)
		if (replica_is_on(w, i, node))
			replica_drain(w, i, true);
}

/* ---- beginning and end ---- */

uint64_t serve_background(const struct orr_serve *w)
{
	const struct fleet *f = w->fleet;
	uint64_t n = f->nodes_down ? 0 : f->failure_pending + f->rows_ahead;
	return n + (f->tick_pending && f->same_ticks > f->longest_window) + roles_background(w);
}

static void read_options(struct orr_serve *w)
{
	const struct orr_args *o = w->config->options;
	struct fleet *f = w->fleet;
	const char *how = orr_arg_text(o, "autoscale");
	f->autoscale = !strcmp(how, "outstanding") ? AUTOSCALE_OUTSTANDING : !strcmp(how, "rate") ? AUTOSCALE_RATE : AUTOSCALE_NONE;
	f->scale_target = orr_arg_real(o, "scale_target");
	f->scale_interval = orr_arg_time_ns(o, "scale_interval");
	f->scale_quiet = orr_arg_time_ns(o, "scale_quiet");
	f->start_up = orr_arg_time_ns(o, "start_up");
	f->notice = orr_arg_time_ns(o, "notice");
}

void scale_begin(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	read_options(w);
	f->on_empty = on_leave;
	bitset_init(&f->doomed, w->config->cluster->n_nodes ? w->config->cluster->n_nodes : 1);
	f->notices = mem_zalloc((size_t)w->config->cluster->n_nodes + 1, sizeof *f->notices);
	for (uint32_t d = 0; d < w->config->n_deployments && !w->error.code; d++) {
		struct fleet_part *p = &f->part[d];
		fill(w, p, 0);
		if (!w->error.code && w->owns_host && p->present < p->wanted)
			orr_fail(&w->error, ORR_EINPUT,
				"deployment %u: the cluster has room for %u of its %u replicas of %u GPUs (tp x pp): expected a larger "
				"cluster",
				d, p->present, p->wanted, w->config->deployment[d].tp * w->config->deployment[d].pp);
	}
	if (w->error.code)
		return;
	f->at_once = 0;
	w->n_event = 0; /* the first replicas are visible in create() */
	begin_ticks(w);
	if (!w->owns_host || !w->config->failures)
		return;
	f->failures = failure_run_new(w->config->failures, w->config->cluster, w->config->seed, w->config->replication);
	next_row(w);
}

void scale_free(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n_limbo; i++)
		pool_give(w->host.pool, &f->limbo[i]);
	for (uint32_t d = 0; d < w->config->n_deployments; d++)
		mem_free(f->part[d].asked);
	mem_free(f->limbo);
	mem_free(f->notices);
	if (f->doomed.size)
		bitset_free(&f->doomed);
	failure_run_free(f->failures);
}
