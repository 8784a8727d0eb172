/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The metrics, rows and notes of a run. */
#include "step/step.h"

#include "base/mem.h"
#include "base/num.h"
#include "results/batches.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns the mean time between ends of iterations, with an interval if one run allows it (results/batches.h). */
static struct interval mean_time(const struct step_result *s)
{
	struct blocks *times = mem_alloc(sizeof *times);
	blocks_init(times);
	size_t first = s->first > 1 ? s->first : 1;
	for (size_t k = first; k < s->n_iterations; k++)
		blocks_add(times, k - first, s->iteration[k].end_s - s->iteration[k - 1].end_s);
	struct interval i = batches_mean(times, 0, ESTIMATE_NON_NEGATIVE, 0.95);
	mem_free(times);
	return i;
}

static void put(struct run_result *r, const char *name, double value)
{
	result_metric(r, name, value, NAN, NAN);
}

/* Iterations that repeat have an interval of zero width. */
static void put_rates(const struct step_result *s, struct run_result *r)
{
	double x = s->samples_per_s, t = s->iteration_s;
	struct interval i = s->period ? (struct interval){ 1, 1, 1 } : mean_time(s);
	if (s->checkpoints.n && !s->period &&
		s->simulated < s->n_iterations) /* not random, but the mean depends on the number of iterations */
		i = (struct interval){ 1, NAN, NAN };
	result_metric(r, "samples_per_s", x, x * i.mean / i.high, x * i.mean / i.low);
	result_metric(r, "iteration_s", t, t * i.low / i.mean, t * i.high / i.mean);
}

/* Times are means over the devices that train; bytes are sums and maxima over all devices. */
static void put_devices(const struct step_result *s, struct run_result *r)
{
	struct step_device mean = { 0 };
	double n = 0, peak = 0, sent = 0, most = 0;
	for (size_t i = 0; i < s->n_devices; i++) {
		const struct step_device *d = &s->device[i];
		peak = fmax(peak, d->peak_memory_bytes);
		most = fmax(most, d->sent_bytes);
		sent += d->sent_bytes;
		if (!(d->compute_s > 0))
			continue;
		n++;
		mean.compute_s += d->compute_s;
		mean.optimizer_s += d->optimizer_s;
		mean.codec_s += d->codec_s;
		mean.exposed_s += d->exposed_s;
		mean.bubble_s += d->bubble_s;
		mean.idle_s += d->idle_s;
	}
	n = n > 0 ? n : 1;
	put(r, "compute_s", mean.compute_s / n);
	put(r, "exposed_s", mean.exposed_s / n);
	put(r, "bubble_s", mean.bubble_s / n);
	put(r, "optimizer_s", mean.optimizer_s / n);
	if (mean.codec_s > 0)
		put(r, "codec_s", mean.codec_s / n);
	put(r, "idle_s", mean.idle_s / n);
	put(r, "peak_memory_bytes", peak);
	put(r, "sent_bytes", sent);
	put(r, "sent_bytes_max", most);
}

/* Adds choice_F and choice_C for "F=1, C=9" in the policy's description. */
static void put_choice(const struct step_result *s, struct run_result *r)
{
	for (const char *at = s->choice; (at = strchr(at, '=')); at++) {
		const char *name = at;
		while (name > s->choice && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
			name--;
		size_t digits = strspn(at + 1, "0123456789.eE+-");
		char metric[80];
		double v;
		while (digits && !num_real(at + 1, digits, &v))
			digits--;
		if (!digits || name == at || isalnum((unsigned char)at[1 + digits]))
			continue;
		snprintf(metric, sizeof metric, "choice_%.*s", (int)(at - name), name);
		if (!result_find(r, metric))
			put(r, metric, v);
	}
}

static void put_steady_state(const struct step_result *s, struct run_result *r)
{
	char text[160];
	unsigned long long simulated = s->simulated, all = s->n_iterations;
	if (s->checkpoints.n && simulated < all)
		snprintf(text, sizeof text, "%llu of %llu iterations simulated, the others repeat%s", simulated, all,
			s->period ? "" : " between checkpoints");
	else if (s->period && !s->checkpoints.n)
		snprintf(text, sizeof text, "steady state after %llu of %llu iterations (period %u)", simulated, all, s->period);
	else if (s->graph_period > all - 1 && all > 1)
		snprintf(text, sizeof text,
			"all %llu iterations simulated, less than a period of %u after the first: expected more (step.iterations)", all,
			s->graph_period);
	else
		snprintf(text, sizeof text, "all %llu iterations simulated", all);
	result_note(r, "steady-state", text);
}

static void put_rows(const struct step_result *s, struct run_result *r)
{
	r->rows_total = s->n_iterations;
	r->n_iterations = s->n_iterations < STEP_MAX_ROWS ? s->n_iterations : STEP_MAX_ROWS;
	r->iterations = mem_zalloc(r->n_iterations + 1, sizeof *r->iterations);
	for (size_t i = 0; i < r->n_iterations; i++) {
		const struct step_iteration *x = &s->iteration[i];
		r->iterations[i] = (struct iteration_row){ x->number, x->start_s, x->end_s, x->samples };
	}
	r->n_devices = s->n_devices;
	r->devices = mem_zalloc(r->n_devices + 1, sizeof *r->devices);
	for (size_t i = 0; i < r->n_devices; i++) {
		const struct step_device *d = &s->device[i];
		r->devices[i] = (struct device_row){ d->device, d->node, d->compute_s, d->optimizer_s, d->codec_s, d->exposed_s,
			d->bubble_s, d->idle_s, d->peak_memory_bytes, d->sent_bytes };
	}
}

/* ---- spans for the figure ---- */

const char *step_work_name(unsigned work)
{
	static const char *const names[] = { "forward", "backward", "recompute", "optimizer", "codec", "work", "weight gradient", "send" };
	_Static_assert(sizeof names / sizeof *names == ORR_WORK_KINDS + 1, "each kind of work needs a name");
	return names[work <= ORR_WORK_KINDS ? work : ORR_OTHER_WORK];
}

static bool is_among(const uint32_t *device, size_t n, uint32_t which)
{
	for (size_t i = 0; i < n; i++)
		if (device[i] == which)
			return true;
	return false;
}

static const char *name_of(const struct step_result *s, uint32_t endpoint)
{
	return endpoint < s->n_names ? s->name[endpoint] : NULL;
}

/* Adds the names of endpoints; returns whether there are any. */
static bool put_names(const struct step_result *s, struct run_result *r)
{
	size_t cap = 0;
	for (uint32_t d = 0; d < s->n_names; d++) {
		if (!s->name[d])
			continue;
		MEM_GROW(r->endpoints, r->n_endpoints, cap);
		r->endpoints[r->n_endpoints++] = (struct endpoint_row){ d, result_text(r, s->name[d]) };
	}
	return r->n_endpoints;
}

static void put_spans(const struct step_result *s, struct run_result *r)
{
	uint32_t shown[STEP_FIGURE_DEVICES];
	size_t n_shown = 0, cap = 0;
	bool is_named = s->n_spans && put_names(s, r);
	for (size_t i = 0; i < s->n_devices && n_shown < STEP_FIGURE_DEVICES; i++)
		if (s->device[i].compute_s > 0 || s->device[i].sent_bytes > 0)
			shown[n_shown++] = s->device[i].device;
	for (size_t i = 0; i < s->n_spans && r->n_spans < STEP_FIGURE_SPANS; i++) {
		const struct step_span *x = &s->span[i];
		if (is_named ? !name_of(s, x->device) : !is_among(shown, n_shown, x->device))
			continue;
		MEM_GROW(r->spans, r->n_spans, cap);
		r->spans[r->n_spans++] = (struct span_row){ .start_s = x->start_s,
			.end_s = x->end_s,
			.iteration = x->iteration,
			.device = x->device,
			.stream = x->stream,
			.kind = step_work_name(x->work),
			.label = result_text(r, x->label) };
	}
}

static void put_stages(const struct step_stages *x, struct run_result *r)
{
	put(r, "makespan_s", x->makespan_s);
	put(r, "longest_stage_s", x->longest_s);
	put(r, "stage_bubble_s", x->bubble_s);
	put(r, "stage_bubble_rate", x->busy_s > 0 ? x->bubble_s / (x->busy_s + x->bubble_s) : 0);
	put(r, "makespan_bubble_max_s", x->makespan_s - x->least_busy_s);
	put(r, "makespan_bubble_min_s", x->makespan_s - x->most_busy_s);
	put(r, "peak_activation_bytes", x->peak_bytes);
}

/* Adds the value: 1 / (time x cost), per USD and second. */
static void put_money(const struct step_money *m, struct run_result *r)
{
	double usd = m->node_usd + m->function_usd;
	put(r, "time_s", m->time_s);
	put(r, "usd", usd);
	put(r, "node_usd", m->node_usd);
	put(r, "value", m->time_s > 0 && usd > 0 ? 1 / (m->time_s * usd) : NAN);
	if (!m->functions)
		return;
	put(r, "function_usd", m->function_usd);
	put(r, "function_GB_s", m->function_GB_s);
	put(r, "function_s", m->function_s);
	put(r, "invocations", (double)m->invocations);
	put(r, "functions", m->functions);
}

static void put_checkpoints(const struct step_result *s, struct run_result *r)
{
	const struct step_checkpoints *c = &s->checkpoints;
	char text[200];
	put(r, "checkpoints", (double)c->n);
	put(r, "checkpoint_bytes", c->bytes);
	put(r, "checkpoint_pause_s", c->pause_s / (double)c->n);
	put(r, "checkpoint_stall_s", c->pause_s);
	put(r, "checkpoint_write_s", c->write_s);
	put(r, "iteration_without_s", c->iteration_s);
	put(r, "checkpoint_share", 1 - c->iteration_s / s->iteration_s);
	if (c->n == 1)
		result_note(r, "remark",
			"one checkpoint in the run: means over whole intervals need step.iterations of at least two intervals");
	uint64_t n = s->n_iterations - s->first;
	if (s->period || c->n == 1 || n % c->period == 0)
		return;
	snprintf(text, sizeof text,
		"means over %llu iterations; checkpoints and the policy repeat together after %llu: expected step.iterations of at least "
		"%llu",
		(unsigned long long)n, (unsigned long long)c->period, (unsigned long long)c->period + 1);
	result_note(r, "remark", text);
}

/* Explains why samples/s is not the samples of an iteration over its time. */
static void put_workers(const struct step_result *s, struct run_result *r)
{
	if (s->has_workers && s->n_iterations && s->samples_per_s * s->iteration_s > 1.01 * s->iteration[s->n_iterations - 1].samples)
		result_note(r, "remark",
			"workers are not synchronised: the times of an iteration are those of the slowest worker, in which others do more "
			"than one; samples/s is the sum over the workers");
}

void step_metrics(const struct step_result *s, struct run_result *r)
{
	put_rates(s, r);
	put_devices(s, r);
	put(r, "iterations", (double)s->n_iterations);
	put(r, "iterations_simulated", (double)s->simulated);
	put(r, "period", s->period);
	put(r, "devices", (double)s->n_devices);
	put(r, "flows", (double)s->flows);
	if (s->stages.is_kept)
		put_stages(&s->stages, r);
	if (s->checkpoints.n)
		put_checkpoints(s, r);
	if (s->money.is_kept)
		put_money(&s->money, r);
	if (s->kernels_by_law) {
		put(r, "profile_error", s->profile_error);
		put(r, "kernels", (double)s->kernels);
		put(r, "kernels_by_law", (double)s->kernels_by_law);
		put(r, "kernels_outside", (double)s->kernels_outside);
	}
	put_choice(s, r);
	result_note(r, "choice", s->choice);
	put_steady_state(s, r);
	put_workers(s, r);
	result_note(r, "cost-source", s->cost_source);
	if (s->is_transformer_on_sgd)
		result_note(r, "assumption",
			"step.optimizer=sgd keeps no state; Adam, which usually trains transformers, keeps 8 bytes more per parameter and "
			"updates "
			"them (step.optimizer=adam)");
	if (s->has_large_scores)
		result_note(r, "assumption",
			"attention writes its scores to memory; without recomputation most of the kept activations are scores "
			"(cost.fused_attention=true: none, as with FlashAttention)");
	put_rows(s, r);
	put_spans(s, r);
}
