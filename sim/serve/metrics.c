/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts during a run. */
#include "serve/metrics.h"

#include "serve/fleet.h"
#include "serve/runs.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Every token of every request adds a gap. Sorting more gaps would take longer than the run. */
enum { EVENTS_MAX = 1000000, GAPS_EXACT = 10000 };

static void tally_begin(struct tally *t)
{
	t->hist = hist_new();
	blocks_init(&t->blocks);
}

static inline void tally(struct tally *t, uint64_t number, double value)
{
	hist_add_at(t->hist, number, value);
	blocks_add(&t->blocks, number, value);
}

void serve_metrics_begin(struct orr_serve *w)
{
	struct serve_metrics *m = w->metrics = mem_zalloc(1, sizeof *m);
	const struct serve_config *c = w->config;
	for (uint32_t i = 0; i < c->n_models; i++)
		m->has_llm |= c->model[i]->kind == SERVED_LLM;
	m->has_slo = w->set->slo_ttft_s < INFINITY || w->set->slo_tpot_s < INFINITY;
	tally_begin(&m->completion);
	tally_begin(&m->queue);
	blocks_init(&m->met);
	if (m->has_llm) {
		tally_begin(&m->ttft);
		tally_begin(&m->tpot);
	}
	m->model = mem_zalloc((size_t)c->n_models + 1, sizeof *m->model);
	m->row_stride = 1;
	if (c->device)
		m->memory_since_s = mem_zalloc((size_t)w->n_replicas + 1, sizeof *m->memory_since_s);
	for (uint32_t i = 0; i < w->n_replicas; i++)
		if (w->replica[i].state == REPLICA_UP)
			m->up_gpus += w->replica[i].gpus;
}

/* Time averages start at the first request. */
static void begin_time(struct orr_serve *w)
{
	struct serve_metrics *m = w->metrics;
	int64_t now = eng_now(w->host.engine);
	m->has_begun = true;
	m->begun_s = m->last_end_s = w->now_s;
	for (uint32_t i = 0; i < w->n_replicas && w->front; i++)
		m->up_before_s += replica_up_s(w, &w->replica[i]);
	timeline_begin(&m->live, now);
	timeline_begin(&m->busy, now);
	timeline_begin(&m->up, now);
	timeline_set(&m->busy, now, m->busy_gpus);
	timeline_set(&m->up, now, m->up_gpus);
}

void serve_metrics_arrival(struct orr_serve *w)
{
	struct serve_metrics *m = w->metrics;
	if (!m->has_begun)
		begin_time(w);
	m->arrived++;
	m->last_arrival_s = w->now_s;
	if (w->now_s - m->begun_s < (double)w->config->warm_up.time_ns / 1e9)
		m->warm_requests = m->arrived;
	timeline_set(&m->live, eng_now(w->host.engine), w->live);
}

void serve_metrics_fleet(struct orr_serve *w, int64_t busy_gpus, int64_t up_gpus)
{
	struct serve_metrics *m = w->metrics;
	if (!m)
		return; /* serve_metrics_begin() counts the first replicas */
	int64_t now = eng_now(w->host.engine);
	m->busy_gpus += (uint64_t)busy_gpus;
	m->up_gpus += (uint64_t)up_gpus;
	if (m->has_begun && busy_gpus)
		timeline_set(&m->busy, now, m->busy_gpus);
	if (m->has_begun && up_gpus)
		timeline_set(&m->up, now, m->up_gpus);
}

void serve_metrics_node(struct orr_serve *w, const char *kind, uint32_t node)
{
	struct run_result *r = w->result;
	if (r->n_events >= EVENTS_MAX)
		return;
	result_event(r, (struct event_row){ .time_ns = eng_now(w->host.engine),
				.kind = kind,
				.subject = node,
				.detail = result_text(r, w->config->cluster->node[node].name) });
}

/* ---- rows ---- */

static void begin_replica(struct orr_serve *w, uint32_t replica)
{
	enum { MOST = 1000000 };
	struct run_result *out = w->result;
	const struct replica *r = &w->replica[replica];
	const struct pool_piece *x = pool_pieces(&r->alloc);
	struct sbuf places = { 0 };
	w->fleet->more[replica].row = 0;
	if (out->n_replicas >= MOST)
		return;
	for (uint32_t i = 0; i < r->alloc.n; i++)
		sbuf_printf(&places, "%s%s:%u", i ? "," : "", w->config->cluster->node[x[i].node].name, x[i].gpus);
	MEM_GROW(out->replicas, out->n_replicas, w->fleet->cap_rows);
	out->replicas[out->n_replicas++] = (struct replica_row){ .replica = replica,
		.deployment = r->deployment,
		.model = r->model == NONE ? NULL : result_text(out, w->config->model[r->model]->name),
		.gpus = r->gpus,
		.places = result_text(out, sbuf_text(&places)),
		.start_ns = eng_now(w->host.engine),
		.ready_ns = -1,
		.stop_ns = -1 };
	w->fleet->more[replica].row = out->n_replicas;
	sbuf_free(&places);
}

void serve_metrics_replica(struct orr_serve *w, uint32_t replica, enum replica_state state)
{
	static const char *const reason[] = {
		[STOP_SCALED] = "scale-down", [STOP_NOTICE] = "notice", [STOP_FAILED] = "node-failed", [STOP_OVER] = "over"
	};
	if (state == REPLICA_STARTING)
		begin_replica(w, replica);
	const struct fleet_replica *f = &w->fleet->more[replica];
	if (!f->row)
		return;
	struct replica_row *row = &w->result->replicas[f->row - 1];
	if (state == REPLICA_UP) {
		row->ready_ns = eng_now(w->host.engine);
	} else if (state == REPLICA_OFF) {
		row->stop_ns = eng_now(w->host.engine);
		row->reason = reason[f->why];
	}
}

const char *serve_reason_name(enum req_reason why)
{
	static const char *const name[REASONS] = { [REASON_CONTEXT] = "context",
		[REASON_KV] = "kv-cache",
		[REASON_BATCH] = "batch-size",
		[REASON_MEMORY] = "memory",
		[REASON_NO_REPLICA] = "no-replica",
		[REASON_QUEUE_LIMIT] = "queue-limit",
		[REASON_DEADLINE] = "deadline",
		[REASON_POLICY] = "policy" };
	return why < REASONS ? name[why] : NULL;
}

/* Returns whether a request has a row: every one up to max_rows; then every second, fourth, ... by number (as in
 * sim/jobs/metrics.c). */
static bool has_row(struct orr_serve *w, uint64_t number)
{
	struct run_result *r = w->result;
	struct serve_metrics *m = w->metrics;
	if (!w->config->record_requests || number % m->row_stride)
		return false;
	if (r->n_requests < w->config->max_rows)
		return true;
	size_t kept = 0;
	m->row_stride *= 2;
	for (size_t i = 0; i < r->n_requests; i++)
		if (!(r->requests[i].number % m->row_stride))
			r->requests[kept++] = r->requests[i];
	r->n_requests = kept;
	return !(number % m->row_stride);
}

static void record(struct orr_serve *w, const struct req *q, double at_s)
{
	struct run_result *r = w->result;
	if (!has_row(w, q->number))
		return;
	const struct served *model = w->config->model[q->model];
	bool is_table = model->kind == SERVED_TABLE, has_ended = q->how == ORR_REQ_COMPLETED;
	MEM_GROW(r->requests, r->n_requests, w->metrics->cap_rows);
	/* The set of requests and the models outlive the result and own the names. */
	r->requests[r->n_requests++] = (struct request_row){ .number = q->number,
		.request_id = q->id ? strtab_text(reqset_strings(w->config->requests), q->id) : NULL,
		.model = model->name,
		.arrival_s = q->arrival_s,
		.first_token_s = q->first_token_s,
		.completed_s = has_ended ? at_s : NAN,
		.queue_s = q->first_start_s - q->arrival_s,
		.prompt_tokens = is_table ? q->samples : q->prompt_asked,
		.output_tokens = q->output_asked,
		.preemptions = q->preemptions,
		.replica = has_ended ? q->replica : UINT32_MAX,
		.status = (uint8_t)(q->how == ORR_REQ_COMPLETED ? REQUEST_COMPLETED
				    : q->how == ORR_REQ_REFUSED ? REQUEST_REFUSED
				    : q->how == ORR_REQ_SHED    ? REQUEST_SHED
								: REQUEST_UNFINISHED) };
}

/* ---- requests ---- */

/* Returns the time per output token after the first; NAN if there is only one. */
static double tpot_of(const struct orr_serve *w, const struct req *q, double at_s)
{
	bool is_splitwise = w->set->tbt == TBT_SPLITWISE;
	uint32_t n = q->output_asked - !is_splitwise;
	return n ? (at_s - q->first_token_s) / n : NAN;
}

/* Returns whether the request completed within all its limits. A limit that is not set counts as met. */
static bool meets(const struct orr_serve *w, const struct req *q, double at_s, double ttft, double tpot)
{
	return q->how == ORR_REQ_COMPLETED && !serve_misses(at_s, q->deadline_s) && !serve_misses(ttft, w->set->slo_ttft_s) &&
	       !serve_misses(tpot, w->set->slo_tpot_s);
}

static void count_slo(struct orr_serve *w, const struct req *q, bool is_good)
{
	struct serve_metrics *m = w->metrics;
	m->good += is_good;
	if (!m->has_slo && !(q->deadline_s < INFINITY))
		return;
	m->asked_slo++;
	m->met_slo += is_good;
	blocks_add(&m->met, q->number, is_good);
	m->model[q->model].asked_slo++;
	m->model[q->model].met_slo += is_good;
	struct class_sums *c = &m->class[q->priority < SLO_CLASSES ? q->priority : SLO_CLASSES - 1];
	c->asked_slo++;
	c->met_slo += is_good;
}

static void count_completed(struct orr_serve *w, const struct req *q, double at_s)
{
	struct serve_metrics *m = w->metrics;
	double completion = at_s - q->arrival_s;
	m->completed++;
	m->samples += q->samples;
	m->sample_s += completion * q->samples;
	m->output_tokens += q->output_asked;
	m->model[q->model].completed++;
	m->model[q->model].completion_s += completion;
	m->last_end_s = at_s > m->last_end_s ? at_s : m->last_end_s;
	tally(&m->completion, q->number, completion);
	tally(&m->queue, q->number, q->first_start_s - q->arrival_s);
}

void serve_metrics_request(struct orr_serve *w, const struct req *q, double at_s)
{
	struct serve_metrics *m = w->metrics;
	double ttft = NAN, tpot = NAN;
	bool is_llm = m->has_llm && w->config->model[q->model]->kind == SERVED_LLM;
	timeline_set(&m->live, eng_now(w->host.engine), w->live);
	m->refused += q->how == ORR_REQ_REFUSED;
	m->shed += q->how == ORR_REQ_SHED;
	m->refused_by[q->why] += q->how == ORR_REQ_REFUSED;
	m->shed_by[q->why] += q->how == ORR_REQ_SHED;
	m->unfinished += q->how == ORR_REQ_UNFINISHED;
	m->preemptions += q->preemptions;
	m->restarts += q->restarts;
	if (is_llm && q->how == ORR_REQ_COMPLETED) {
		ttft = q->first_token_s - q->arrival_s;
		tpot = tpot_of(w, q, at_s);
		tally(&m->ttft, q->number, ttft);
		if (!isnan(tpot))
			tally(&m->tpot, q->number, tpot);
	}
	if (q->how == ORR_REQ_COMPLETED)
		count_completed(w, q, at_s);
	if (q->how != ORR_REQ_UNFINISHED)
		count_slo(w, q, meets(w, q, at_s, ttft, tpot));
	m->sojourn_s += at_s - q->arrival_s;
	if (w->config->record_requests)
		record(w, q, at_s);
}

void serve_metrics_policy_reason(struct orr_serve *w, enum orr_req_end how, const char *why)
{
	enum { TEXTS = 8, LONGEST = 200 };
	struct serve_metrics *m = w->metrics;
	uint32_t i = 0;
	while (i < m->n_policy_reason && (m->policy_reason[i].how != how || strncmp(m->policy_reason[i].text, why ? why : "", LONGEST)))
		i++;
	if (i == TEXTS || !why || !*why)
		return;
	if (i == m->n_policy_reason) {
		MEM_GROW(m->policy_reason, m->n_policy_reason, m->cap_policy_reason);
		m->policy_reason[m->n_policy_reason++] = (struct policy_reason){ mem_strndup(why, strnlen(why, LONGEST)), how };
	}
}

/* ---- work ---- */

void serve_metrics_tokens(struct orr_serve *w, double iterations, double prompt_tokens)
{
	struct serve_metrics *m = w->metrics;
	m->iterations += iterations;
	m->prompt_processed += prompt_tokens;
}

void serve_metrics_gap(struct orr_serve *w, double gap_s, uint64_t count)
{
	struct serve_metrics *m = w->metrics;
	if (!m->gap)
		m->gap = hist_new_exact_to(GAPS_EXACT);
	hist_add_n(m->gap, gap_s, count);
}

/* Returns the time within the last dt in which the run was at its peak. */
static double at_peak_s(const struct orr_serve *w, const struct run *x, double dt)
{
	double past = x->alone_s - run_left(w, x) - x->memory.peak_from_s; /* the time of the peak is measured in the run's own progress */
	if (past < 0 || (past == 0 && x->memory.peak_from_s > 0))
		return 0;
	return x->state == RUN_RUNNING ? fmin(dt, past / x->rate) : dt;
}

/* Counts memory in use. Runs and their speeds are constant between two calls, so the largest use is at the end. */
void serve_metrics_memory(struct orr_serve *w, uint32_t replica)
{
	struct serve_metrics *m = w->metrics;
	const struct replica *r = &w->replica[replica];
	if (!m || !m->memory_since_s || !replica_is_up(r) || r->lane || !(r->memory < INFINITY))
		return;
	double dt = w->now_s - fmax(m->memory_since_s[replica], r->up_since_s), in_use = r->weights;
	m->memory_since_s[replica] = w->now_s;
	if (!(dt > 0))
		return;
	m->memory_used += r->weights * dt;
	m->memory_there += r->memory * dt;
	for (uint32_t i = r->runs.first; i != NONE; i = w->run[i].next) {
		const struct run *x = &w->run[i];
		double peak_s = at_peak_s(w, x, dt);
		m->memory_used += x->memory.before * (dt - peak_s) + x->memory.peak * peak_s;
		in_use += peak_s > 0 ? x->memory.peak : x->memory.before;
	}
	m->memory_most = fmax(m->memory_most, in_use / r->memory);
}

void serve_metrics_padding(struct orr_serve *w, double real, double padded)
{
	w->metrics->real += real;
	w->metrics->padded += padded;
}

void serve_metrics_looked_up(struct orr_serve *w, uint32_t tokens, uint32_t cached)
{
	w->metrics->looked_up += tokens;
	w->metrics->cached += cached;
}

void serve_metrics_lost(struct orr_serve *w, double s)
{
	if (w->metrics)
		w->metrics->lost_s += s;
}

void serve_metrics_free(struct orr_serve *w)
{
	struct serve_metrics *m = w->metrics;
	if (!m)
		return;
	struct tally *all[] = { &m->completion, &m->queue, &m->ttft, &m->tpot };
	for (int i = 0; i < 4; i++)
		hist_free(all[i]->hist);
	hist_free(m->gap);
	for (uint32_t i = 0; i < m->n_policy_reason; i++)
		mem_free(m->policy_reason[i].text);
	mem_free(m->policy_reason);
	mem_free(m->model);
	mem_free(m->memory_since_s);
	mem_free(m);
	w->metrics = NULL;
}
