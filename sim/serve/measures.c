/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics at the end of a run. */
#include "serve/metrics.h"

#include "serve/fleet.h"
#include "serve/front.h"
#include "serve/lane.h"
#include "serve/quality.h"
#include "serve/speculate.h"

#include "base/sbuf.h"
#include "results/batches.h"
#include "results/summary.h"

#include <math.h>
#include <stdlib.h>

/* With more than MODELS_MAX models, results have no values by model. */
enum { MODELS_MAX = 64 };

static void put(struct orr_serve *w, const char *name, double value)
{
	summary_put(w->result, name, value);
}

void serve_metrics_mean(struct orr_serve *w, const char *name, const struct blocks *b)
{
	summary_mean(w->result, name, b, w->set->warmup, w->metrics->level);
	if (w->set->warmup > 0 && summary_depends_on_warmup(name, b, w->set->warmup, w->metrics->level))
		w->used |= SERVE_USED_WARMUP;
}

/* Writes a mean and its interval; names are literals. */
static void put_mean(struct orr_serve *w, const char *name, const struct tally *t)
{
	serve_metrics_mean(w, name, &t->blocks);
}

/* Writes a mean that was estimated without warm-up. */
static void put_known_mean(struct orr_serve *w, const char *name, const struct tally *t, struct interval mean)
{
	if (w->set->warmup > 0)
		put_mean(w, name, t);
	else
		summary_interval(w->result, name, mean, w->metrics->level);
}

static void put_quantile(struct orr_serve *w, const char *name, struct hist *h, double p)
{
	summary_quantile(w->result, name, h, p, w->metrics->level);
}

static void put_times(struct orr_serve *w)
{
	struct serve_metrics *m = w->metrics;
	struct interval completion, queue;
	m->level = batches_level(&m->completion.blocks, w->set->ci_level, &completion);
	m->level = batches_level(&m->queue.blocks, m->level, &queue);
	put_known_mean(w, "completion_mean", &m->completion, completion);
	put_quantile(w, "completion_p50", m->completion.hist, 0.50);
	put_quantile(w, "completion_p90", m->completion.hist, 0.90);
	put_quantile(w, "completion_p99", m->completion.hist, 0.99);
	put(w, "completion_max", hist_max(m->completion.hist));
	put(w, "sample_completion_mean", m->samples > 0 ? m->sample_s / m->samples : NAN);
	put_known_mean(w, "queue_mean", &m->queue, queue);
	put_quantile(w, "queue_p50", m->queue.hist, 0.50);
	put_quantile(w, "queue_p99", m->queue.hist, 0.99);
}

static void put_token_times(struct orr_serve *w)
{
	struct serve_metrics *m = w->metrics;
	if (!m->has_llm)
		return;
	put_mean(w, "ttft_mean", &m->ttft);
	put_quantile(w, "ttft_p50", m->ttft.hist, 0.50);
	put_quantile(w, "ttft_p90", m->ttft.hist, 0.90);
	put_quantile(w, "ttft_p99", m->ttft.hist, 0.99);
	put_mean(w, "tpot_mean", &m->tpot);
	put_quantile(w, "tpot_p50", m->tpot.hist, 0.50);
	put_quantile(w, "tpot_p90", m->tpot.hist, 0.90);
	put_quantile(w, "tpot_p99", m->tpot.hist, 0.99);
	if (!m->gap)
		return;
	put(w, "token_gap_mean", hist_mean(m->gap));
	put_quantile(w, "token_gap_p50", m->gap, 0.50);
	put_quantile(w, "token_gap_p99", m->gap, 0.99);
	put(w, "token_gap_max", hist_max(m->gap));
}

static void put_counts(struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	put(w, "requests", (double)m->arrived);
	put(w, "requests_completed", (double)m->completed);
	put(w, "requests_refused", (double)m->refused);
	put(w, "requests_shed", (double)m->shed);
	put(w, "requests_unfinished", (double)m->unfinished);
	put(w, "refused_context", (double)m->refused_by[REASON_CONTEXT]);
	put(w, "refused_kv_cache", (double)m->refused_by[REASON_KV]);
	put(w, "refused_batch_size", (double)m->refused_by[REASON_BATCH]);
	put(w, "refused_memory", (double)m->refused_by[REASON_MEMORY]);
	put(w, "refused_no_replica", (double)m->refused_by[REASON_NO_REPLICA]);
	put(w, "refused_policy", (double)m->refused_by[REASON_POLICY]);
	put(w, "shed_queue_limit", (double)m->shed_by[REASON_QUEUE_LIMIT]);
	put(w, "shed_deadline", (double)m->shed_by[REASON_DEADLINE]);
	put(w, "shed_policy", (double)m->shed_by[REASON_POLICY]);
	put(w, "preemptions", (double)m->preemptions);
	put(w, "restarts", (double)m->restarts);
	put(w, "stacked_runs", (double)m->stacked_runs);
	if (w->set->loss > 0)
		put(w, "answers_lost", (double)m->answers_lost);
	if (w->set->loss > 0 || m->completed_partial)
		put(w, "completed_partial", (double)m->completed_partial);
	if (m->has_llm) {
		put(w, "swaps", (double)m->swaps);
		put(w, "kv_transfers", (double)m->kv_transfers);
		if (m->prefix_copies) {
			put(w, "prefix_copies", (double)m->prefix_copies);
			put(w, "prefix_tokens_copied", (double)m->prefix_tokens_copied);
		}
	}
	if (w->set->kv_link == KV_LINK_FIFO && m->kv_transfers)
		put(w, "kv_transfer_mean", m->kv_wait_s / (double)m->kv_transfers);
	if (w->set->speculation->most) {
		put(w, "draft_tokens", (double)m->speculated.drafted);
		put(w, "draft_tokens_accepted", (double)m->speculated.accepted);
		put(w, "draft_tokens_rejected", (double)m->speculated.rejected);
		put(w, "draft_tokens_dropped", (double)m->speculated.dropped);
		put(w, "draft_iterations", (double)m->speculated.iterations);
		if (m->speculated.passes)
			put(w, "tokens_per_pass", 1 + (double)m->speculated.accepted / (double)m->speculated.passes);
	}
	if (m->has_groups)
		put(w, "group_network_bytes", m->group_bytes);
	put(w, "events", (double)eng_happened(w->host.engine));
}

/* Returns the time from the first arrival to the last completion, or to the end of the run if requests are unfinished. */
static double span_s(const struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	double end = m->unfinished ? w->now_s : m->last_end_s;
	return m->has_begun ? end - m->begun_s : 0;
}

/* Goodput has no interval within one run: it also varies with the duration in which a given number of requests arrive. */
static void put_goodput(struct orr_serve *w, double span)
{
	struct serve_metrics *m = w->metrics;
	put(w, "goodput", span > 0 ? (double)m->good / span : NAN);
	if (m->asked_slo)
		summary_mean(w->result, "attainment", &m->met, 0, w->metrics->level);
}

static void put_tiers(struct orr_serve *w)
{
	static const char *const name[][3] = { { "kv_dram_tokens", "kv_dram_read_bytes", "kv_dram_written_bytes" },
		{ "kv_ssd_tokens", "kv_ssd_read_bytes", "kv_ssd_written_bytes" },
		{ "kv_pool_tokens", "kv_pool_read_bytes", "kv_pool_written_bytes" } };
	const struct serve_metrics *m = w->metrics;
	if (w->set->roles_adapt)
		put(w, "role_changes", (double)m->role_changes);
	if (!w->tiers)
		return;
	for (int i = 0; i < 3; i++) {
		if (!(m->tier[i].written > 0))
			continue;
		put(w, name[i][0], m->tier[i].tokens);
		put(w, name[i][1], m->tier[i].read);
		put(w, name[i][2], m->tier[i].written);
	}
	put(w, "kv_tier_drops", (double)(m->tier[0].dropped + m->tier[1].dropped + m->tier[2].dropped));
	put(w, "kv_loads", (double)m->tier_loads);
	if (m->tier_loads)
		put(w, "kv_load_mean", m->tier_load_s / (double)m->tier_loads);
}

static void put_rates(struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	double span = span_s(w);
	bool is_past = w->used & SERVE_USED_DECISION || w->metrics->last_end_s * 1e9 >= (double)SERVE_SCALE_INTERVAL;
	w->used |= is_past ? SERVE_USED_SCALE_INTERVAL : 0;
	put(w, "duration", span);
	put(w, "throughput", span > 0 ? (double)m->completed / span : NAN);
	put_goodput(w, span);
	if (!m->has_llm)
		return;
	if (w->set->prefix_cache && m->looked_up > 0)
		put(w, "prefix_hit_share", m->cached / m->looked_up);
	put_tiers(w);
	put(w, "output_tokens", m->output_tokens);
	put(w, "tokens_per_second", span > 0 ? m->output_tokens / span : NAN);
	put(w, "iterations", m->iterations);
	put(w, "prompt_tokens_processed", m->prompt_processed);
}

/* Shares within the SLO by priority, if the run has several. */
static void put_classes(struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	uint32_t n = 0;
	for (uint32_t i = 0; i < SLO_CLASSES; i++)
		n += m->class[i].asked_slo > 0;
	for (uint32_t i = 0; n > 1 && i < SLO_CLASSES; i++) {
		struct sbuf name = { 0 };
		if (!m->class[i].asked_slo)
			continue;
		sbuf_printf(&name, "attainment.priority-%u", i);
		put(w, result_text(w->result, name.text), (double)m->class[i].met_slo / (double)m->class[i].asked_slo);
		sbuf_free(&name);
	}
}

static void put_models(struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	uint32_t n = w->config->n_models;
	for (uint32_t i = 0; n > 1 && n <= MODELS_MAX && i < n; i++) {
		const struct model_sums *s = &m->model[i];
		struct sbuf name = { 0 };
		sbuf_printf(&name, "completion_mean.%s", w->config->model[i]->name);
		put(w, result_text(w->result, name.text), s->completed ? s->completion_s / (double)s->completed : NAN);
		sbuf_free(&name);
		if (!s->asked_slo)
			continue;
		sbuf_printf(&name, "attainment.%s", w->config->model[i]->name);
		put(w, result_text(w->result, name.text), (double)s->met_slo / (double)s->asked_slo);
		sbuf_free(&name);
	}
}

/* ---- devices and cost ---- */

struct fleet_sums {
	double gpu_s, up_gpu_s, busy_gpu_s, up_s, usd, kv, kv_s;
};

static bool has_cache(const struct orr_serve *w, const struct replica *r)
{
	return r->model != NONE && w->config->model[r->model]->kind == SERVED_LLM;
}

/* Returns sums over replicas; those that are still up count until now. */
static struct fleet_sums sum_up(const struct orr_serve *w)
{
	struct fleet_sums s = { 0 };
	for (uint32_t i = 0; i < w->n_replicas; i++) {
		const struct replica *r = &w->replica[i];
		const struct fleet_replica *f = &w->fleet->more[i];
		double up = replica_up_s(w, r);
		double busy = r->busy_s + (f->is_busy ? w->now_s - r->busy_since_s : 0);
		double held = r->has_alloc ? (w->now_s - f->taken_s) * r->gpus : 0;
		s.up_s += up;
		s.up_gpu_s += up * r->gpus;
		s.busy_gpu_s += busy * r->gpus;
		s.gpu_s += r->gpu_s + held;
		s.usd += r->usd;
		if (w->config->usd_per_gpu_hour && r->has_alloc && r->gpu_type < w->config->cluster->n_types)
			s.usd += held / 3600 * w->config->usd_per_gpu_hour[r->gpu_type];
		s.kv += r->kv_use_s + (r->lane ? kv_use_s(r->lane, w->now_s) : 0);
		s.kv_s += has_cache(w, r) ? up : 0;
	}
	return s;
}

static void put_fleet(struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	const struct fleet *f = w->fleet;
	struct fleet_sums s = sum_up(w);
	put(w, "utilisation", s.up_gpu_s > 0 ? s.busy_gpu_s / s.up_gpu_s : NAN);
	summary_timeline(w->result, "in_system_mean", &m->live, 1, w->metrics->level);
	put(w, "in_system_max", (double)m->live.largest);
	put(w, "replica_hours", s.up_s / 3600);
	put(w, "gpu_hours", s.gpu_s / 3600);
	if (s.gpu_s > 0 && m->asked_slo)
		put(w, "goodput_per_gpu", (double)m->good / s.gpu_s);
	if (m->memory_there > 0) {
		put(w, "memory_use_mean", m->memory_used / m->memory_there);
		put(w, "memory_use_max", m->memory_most);
	}
	if (s.kv_s > 0)
		put(w, "kv_use_mean", s.kv / s.kv_s);
	if (m->padded > 0)
		put(w, "padding_share", 1 - m->real / m->padded);
	put(w, "lost_work", m->lost_s);
	if (f->autoscale != AUTOSCALE_NONE) {
		put(w, "scale_ups", (double)f->scale_ups);
		put(w, "scale_downs", (double)f->scale_downs);
	}
	if (w->config->failures || f->losses)
		put(w, "replicas_lost", (double)f->losses);
	if (!w->config->usd_per_gpu_hour)
		return;
	put(w, "usd", s.usd);
	if (s.usd > 0 && m->asked_slo)
		put(w, "good_requests_per_usd", (double)m->good / s.usd);
	if (m->has_llm)
		put(w, "usd_per_million_tokens", m->output_tokens > 0 ? s.usd / m->output_tokens * 1e6 : NAN);
	else
		put(w, "usd_per_million_samples", m->samples > 0 ? s.usd / m->samples * 1e6 : NAN);
}

static int by_number(const void *a, const void *b)
{
	const struct request_row *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

static void cut_tally(const struct warmup_cut *cut, struct tally *t)
{
	if (t->hist)
		warmup_apply(cut, &t->hist, &t->blocks);
}

/* Times to completion determine the cut of all metrics. */
static void remove_warm_up(struct orr_serve *w)
{
	struct serve_metrics *m = w->metrics;
	const struct warmup *how = &w->config->warm_up;
	struct warmup_cut cut = warmup_find(how, m->completion.hist, m->warm_requests);
	cut_tally(&cut, &m->completion);
	cut_tally(&cut, &m->queue);
	cut_tally(&cut, &m->ttft);
	cut_tally(&cut, &m->tpot);
	warmup_put(how, &cut, w->result);
}

void serve_metrics_end(struct orr_serve *w)
{
	struct serve_metrics *m = w->metrics;
	int64_t now = eng_now(w->host.engine);
	for (uint32_t i = 0; i < w->n_replicas; i++)
		serve_metrics_memory(w, i);
	if (m->has_begun) {
		timeline_set(&m->live, now, 0);
		timeline_set(&m->busy, now, 0);
		timeline_set(&m->up, now, 0);
	}
	if (w->result->n_requests)
		qsort(w->result->requests, w->result->n_requests, sizeof *w->result->requests, by_number);
	w->result->rows_total = m->arrived;
	remove_warm_up(w);
	put_times(w);
	put_token_times(w);
	put_rates(w);
	put_counts(w);
	put_fleet(w);
	put_models(w);
	put_classes(w);
	front_measure(w);
	quality_metrics(w->config->quality, w->set->ci_level, w->result);
	if (!m->has_begun)
		return;
	summary_series(w->result, "in_system", &m->live, 1);
	summary_series(w->result, "busy_gpus", &m->busy, 1);
	summary_series(w->result, "up_gpus", &m->up, 1);
}
