/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: setup, iterations until they repeat or the last ends, results. */
#include "step/checkpoint.h"
#include "step/exec.h"
#include "step/experts.h"
#include "step/functions.h"
#include "step/path.h"
#include "step/wire.h"

#include "base/limits.h"
#include "base/mem.h"

#include <string.h>

enum { MAX_AHEAD = 1024 }; /* number of iterations that are built before the first one starts, because merging needs their messages */

/* ---- setting up ---- */

static enum orr_collective_algorithm default_algorithm(const struct orr_args *o)
{
	enum orr_collective_algorithm a = ORR_ALGORITHM_DEFAULT; /* auto */
	coll_algorithm_named(orr_arg_text(o, "algorithm"), &a);
	return a;
}

static double optimizer_bytes(const struct orr_args *o, bool is_mixed)
{
	const char *name = orr_arg_text(o, "optimizer");
	double states = !strcmp(name, "adam") ? 2 : !strcmp(name, "momentum") ? 1 : 0;
	return 4 * states + (is_mixed ? 4 : 0);
}

static void set_facts(struct orr_step *s)
{
	const struct step_config *c = s->config;
	const struct dnn *d = c->dnn;
	bool is_mixed = c->precision != PRECISION_FP32 && c->precision != PRECISION_TF32;
	s->facts = (struct orr_step_facts){ .gpus = c->cluster->gpus,
		.nodes = c->cluster->n_nodes,
		.layers = d->n_layers,
		.fc_first = d->fc_first,
		.blocks = d->blocks,
		.params = d->params,
		.batch = c->batch,
		.gradient_bytes = is_mixed ? 2 : 4,
		.weight_bytes = is_mixed ? 2 : 4,
		.activation_bytes = is_mixed ? 2 : 4,
		.optimizer_bytes = optimizer_bytes(c->options, is_mixed),
		.hidden = d->hidden,
		.seq = d->seq,
		.heads = d->heads,
		.vocab = d->vocab };
	s->endpoints = s->first_function = topo_endpoints(c->topo);
	s->type_of = mem_alloc((s->facts.gpus + 1) * sizeof *s->type_of);
	s->node_of = mem_alloc((s->endpoints + 1) * sizeof *s->node_of);
	uint32_t gpu = 0;
	for (uint32_t n = 0; n < c->cluster->n_nodes; n++) {
		for (uint32_t g = 0; g < c->cluster->node[n].gpus; g++, gpu++) {
			s->type_of[gpu] = c->cluster->node[n].type;
			s->node_of[gpu] = n;
		}
		s->node_of[topo_host(c->topo, n)] = n;
	}
}

/* Checks the memory of all endpoints against --max-memory. */
static int claim_endpoints(struct orr_step *s)
{
	char what[80];
	double each = STEP_STREAMS * sizeof *s->stream + STEP_MAX_PERIOD * sizeof *s->recent + sizeof *s->device + sizeof *s->total;
	snprintf(what, sizeof what, "cluster: a training step on %u GPUs and CPUs", s->endpoints);
	return limits_claim(each * s->endpoints, what, &s->error);
}

static void prepare(struct orr_step *s)
{
	s->uses = &s->used;
	s->samples = s->config->batch * s->facts.gpus;
	s->graph_period = 1;
	s->is_reacting = s->ops && s->ops->ended;
	s->lanes = s->lanes_run = 1;
	s->algorithm = default_algorithm(s->config->options);
	s->has_pxn = orr_arg_bool(s->config->options, "pxn");
	s->nic_efficiency = orr_arg_real(s->config->options, "nic_efficiency");
	s->is_analytic = !strcmp(orr_arg_text(s->config->options, "fidelity"), "analytic");
	s->has_free_update = !strcmp(orr_arg_text(s->config->options, "update_cost"), "none");
	s->ignore_memory = orr_arg_bool(s->config->options, "ignore_memory");
	s->wanted = s->build_until = s->shared_net ? UINT64_MAX / 2 : (uint64_t)orr_arg_int(s->config->options, "iterations");
	s->stream = mem_zalloc((size_t)s->endpoints * STEP_STREAMS, sizeof *s->stream);
	s->device = mem_zalloc(s->endpoints, sizeof *s->device);
	s->recent = mem_zalloc((size_t)s->endpoints * STEP_MAX_PERIOD, sizeof *s->recent);
	s->total = mem_zalloc(s->endpoints, sizeof *s->total);
	for (uint32_t d = 0; d < s->endpoints; d++) {
		s->device[d].first_s = NAN;
		s->device[d].speed = 1;
	}
	rng_init(&s->policy_rng, s->config->seed, "step-policy", 0);
}

void world_free(struct orr_step *s)
{
	if (s->self)
		policy_destroy(s);
	watch_free(s->watch);
	for (uint64_t i = 0; i < s->n_live; i++)
		iteration_free(s->live[i]);
	while (s->free_iteration) {
		struct iteration *k = s->free_iteration;
		s->free_iteration = k->next;
		iteration_free(k);
	}
	path_free(s);
	for (uint32_t i = 0; i < s->n_plans; i++)
		coll_plan_free(&s->plan[i].phases);
	for (size_t i = 0; i < (size_t)s->endpoints * STEP_STREAMS && s->stream; i++)
		mem_free(s->stream[i].heap);
	for (uint32_t d = 0; d < s->endpoints && s->device; d++) {
		mem_free(s->device[d].what);
		mem_free(s->device[d].name);
	}
	for (size_t i = 0; i < s->n_spans; i++)
		mem_free((void *)(uintptr_t)s->span[i].label);
	wire_free(s->wire);
	checkpoint_free(s);
	corun_free(s);
	functions_free(s);
	step_experts_free(s);
	mem_free(s->live);
	mem_free(s->plan);
	mem_free(s->plan_slot);
	for (uint32_t i = 0; i < s->n_kinds; i++) {
		mem_free(s->kinds[i].kind);
		mem_free(s->kinds[i].first);
	}
	mem_free(s->kinds);
	mem_free(s->type_of);
	mem_free(s->node_of);
	mem_free(s->map);
	mem_free(s->timer);
	mem_free(s->stream);
	mem_free(s->opened);
	mem_free(s->dirty);
	mem_free(s->done);
	mem_free(s->device);
	mem_free(s->row);
	mem_free(s->recent);
	mem_free(s->total);
	mem_free(s->count);
	mem_free(s->span);
	mem_free(s->use);
	source_free(s);
}

/* ---- results ---- */

static void extrapolate(struct orr_step *s)
{
	size_t n = s->n_rows;
	if (!s->period)
		return;
	for (size_t k = n; k < s->wanted; k++) {
		MEM_GROW(s->row, s->n_rows, s->cap_rows);
		const struct step_iteration *like = &s->row[k - s->period];
		double shift = s->row[n - 1].end_s - s->row[n - 1 - s->period].end_s;
		s->row[s->n_rows++] = (struct step_iteration){ k, like->start_s + shift, like->end_s + shift, like->samples };
	}
}

/* Returns samples/s over the last period of a steady state. Both ends are moved by more than rounding, so that samples counted at the end
 * of an iteration are on one side of it. */
static double repeated_rate(const struct orr_step *s)
{
	double end = s->row[s->n_rows - 1].end_s, begin = s->row[s->n_rows - 1 - s->period].end_s, rounding = 1e-9 * (end - begin), sum = 0;
	for (size_t i = 0; i < s->n_counts; i++)
		if (s->count[i].time_s > begin + rounding && s->count[i].time_s <= end + rounding)
			sum += s->count[i].samples;
	return sum / (end - begin);
}

/* Returns the sum of the workers' rates until `end`, each from the worker's own end of iteration first - 1 to its last end; 0 if a worker
 * has none. Counts in one window for all would leave out up to one iteration of each worker. */
static double sum_of_rates(const struct orr_step *s, uint64_t first, double end)
{
	double sum = 0;
	uint32_t n = 0;
	for (size_t i = 0; i < s->n_counts; i++)
		n = s->count[i].worker >= n ? s->count[i].worker + 1 : n;
	struct rate {
		double begin_s, last_s, samples;
	} *worker = mem_zalloc(n + 1, sizeof *worker);
	for (size_t i = 0; i < s->n_counts; i++)
		if (first && s->count[i].iteration == first - 1)
			worker[s->count[i].worker].begin_s = s->count[i].time_s;
	for (size_t i = 0; i < s->n_counts; i++) {
		struct rate *w = &worker[s->count[i].worker];
		if (s->count[i].iteration < first || s->count[i].time_s > end)
			continue;
		w->samples += s->count[i].samples;
		w->last_s = fmax(w->last_s, s->count[i].time_s);
	}
	for (uint32_t i = 0; i < n && !isnan(sum); i++)
		sum += worker[i].last_s > worker[i].begin_s ? worker[i].samples / (worker[i].last_s - worker[i].begin_s) : NAN;
	mem_free(worker);
	return isnan(sum) ? 0 : sum;
}

/* Returns samples/s while every worker was active: from the end of the iterations before the measured ones to the first end of a last
 * iteration. */
static double counted_rate(const struct orr_step *s)
{
	double end = INFINITY;
	uint64_t last = s->is_continued ? s->built - 1 : s->n_rows ? s->n_rows - 1 : 0;
	if (s->period)
		return repeated_rate(s);
	if (s->is_continued)
		end = s->row[s->n_rows - 1].end_s;
	for (size_t i = 0; i < s->n_counts; i++)
		if (s->count[i].iteration == last)
			end = fmin(end, s->count[i].time_s);
	return sum_of_rates(s, run_first(s, s->n_rows), end);
}

/* The first iteration, which fills pipelines and caches, counts only if there is no other. If the policy repeats after a period, or
 * checkpoints are written, whole periods and intervals count; if no common multiple fits, whole intervals. */
static uint64_t lead_of(const struct orr_step *s)
{
	uint64_t n = s->wanted - 1, period = s->checkpoint ? checkpoint_period(s) : s->graph_period;
	if (s->checkpoint && period > n)
		period = s->checkpoint->every;
	bool is_whole = period > 1 && n >= period && !s->shared_net && !s->config->hook;
	return 1 + (is_whole ? n % period : 0);
}

/* Returns the time from the end of row first - 1 to the last end of the rows before n. Iterations may end out of order. */
static double time_from(const struct step_iteration *row, size_t first, size_t n)
{
	double end = 0;
	for (size_t k = 0; k < n; k++)
		end = fmax(end, row[k].end_s);
	return end - (first ? row[first - 1].end_s : 0);
}

static void summarise(struct orr_step *s, size_t simulated, struct step_result *out)
{
	size_t n = simulated, first = (size_t)run_first(s, n);
	double time, samples = 0;
	if (s->period) { /* exactly one period */
		first = n - s->period;
		time = s->row[n - 1].end_s - s->row[first - 1].end_s;
	} else {
		/* If all of them ended together with the first one, the first one counts too. */
		if (first && !(time_from(s->row, first, n) > 0))
			first = 0;
		time = time_from(s->row, first, n);
	}
	for (size_t k = first; k < n; k++)
		samples += s->row[k].samples;
	out->iteration_s = time / (double)(n - first);
	out->samples_per_s = s->n_counts ? counted_rate(s) : 0;
	if (out->samples_per_s <= 0) /* if the fastest worker ended before the slowest one began, whole iterations are counted instead */
		out->samples_per_s = time > 0 ? samples / time : 0;
}

static void give(struct orr_step *s, struct step_result *out)
{
	size_t simulated = s->period ? s->steady_rows : s->n_rows;
	if (s->is_continued) {
		account_cut(s);
		simulated = simulated < s->wanted ? simulated : (size_t)s->wanted;
	}
	while (simulated > 1 && isnan(s->row[simulated - 1].end_s)) /* the run stopped early, with later iterations in flight */
		simulated--;
	s->n_rows = simulated;
	for (uint64_t i = 0; i < s->n_live && s->live[i]->number < simulated; i++) {
		account_unended(s, s->live[i]);
		account_retire(s, s->live[i]);
	}
	if (s->checkpoint)
		checkpoint_rows(s);
	summarise(s, s->n_rows, out);
	extrapolate(s);
	out->simulated = simulated;
	out->period = s->period;
	out->first = run_first(s, s->n_rows);
	out->graph_period = s->graph_period;
	out->has_workers = s->has_workers;
	out->has_own_parameters = s->has_own_parameters;
	out->was_merged = s->is_merged;
	out->flows = s->flows;
	if (!(s->used & STEP_USED_MESSAGES))
		s->used &= ~(unsigned)STEP_USED_SLOWED_NIC;
	out->used = s->used | (s->period ? STEP_USED_STEADY_STATE : STEP_USED_EVERY_ITERATION);
	if (s->checkpoint)
		checkpoint_result(s, out);
	account_result(s, out);
	account_stages(s, &out->stages);
	use_result(s, out);
	policy_describe(s, out->choice, sizeof out->choice);
	source_result(s, out);
	double last_s = 0;
	for (size_t k = 0; k < s->n_rows; k++)
		last_s = fmax(last_s, s->row[k].end_s);
	money_result(s, last_s, &out->money);
	path_end(s, s->row, simulated, s->n_rows, &out->paths);
	out->iteration = s->row;
	out->n_iterations = s->n_rows;
	s->row = NULL;
	/* Keeps only the spans of the last simulated iterations. */
	uint64_t from = simulated > s->config->spans ? simulated - s->config->spans : 0;
	size_t m = 0;
	for (size_t i = 0; i < s->n_spans; i++) {
		if (s->span[i].iteration < from || (s->is_continued && s->span[i].iteration >= simulated))
			mem_free((void *)(uintptr_t)s->span[i].label);
		else
			s->span[m++] = s->span[i];
	}
	out->span = s->span;
	out->n_spans = m;
	s->span = NULL;
	s->n_spans = 0;
}

void step_result_free(struct step_result *r)
{
	for (size_t i = 0; i < r->n_spans; i++)
		mem_free((void *)(uintptr_t)r->span[i].label);
	for (uint32_t d = 0; d < r->n_names; d++)
		mem_free(r->name[d]);
	mem_free(r->name);
	mem_free(r->span);
	mem_free(r->iteration);
	mem_free(r->device);
	mem_free(r->link);
	path_log_free(r->paths);
	*r = (struct step_result){ 0 };
}

/* ---- the run ---- */

int world_begin(struct orr_step *s, bool may_merge, const struct orr_args *args)
{
	set_facts(s);
	if (claim_endpoints(s))
		return s->error.code;
	prepare(s);
	source_begin(s);
	if (account_options(s) || money_begin(s) || facts_scale(s) ||
		compression_parse(orr_arg_text(s->config->options, "compression"), &s->compression, &s->error))
		return s->error.code;
	wire_new(s);
	if (s->error.code)
		return s->error.code;
	policy_create(s, args);
	if (s->error.code || money_prices(s))
		return s->error.code;
	if (s->is_reacting && s->map) {
		step_fail(s, ORR_EFAIL, "orr_step_lanes: expected a policy without a function ended()");
		return s->error.code;
	}
	if (s->config->paths)
		path_new(s);
	s->is_merged = s->map && s->lanes > 1 && may_merge;
	s->lanes_run = s->is_merged ? 1 : s->lanes;
	if (checkpoint_new(s))
		return s->error.code;
	s->lead = lead_of(s);
	/* No iteration starts before one period of graphs (at least two graphs) is built, because merging needs their messages. */
	s->now_s = -1;
	uint32_t ahead = !s->is_merged ? 1 : s->graph_period < 2 ? 2 : s->graph_period > MAX_AHEAD ? MAX_AHEAD : s->graph_period;
	for (uint32_t i = 0; i < ahead && s->built < s->wanted && !s->error.code; i++)
		policy_build(s);
	if (!s->error.code && s->is_merged && (experts_differ(s) || wire_classes(s)))
		s->must_unmerge = true;
	if (s->error.code)
		return s->error.code;
	s->now_s = 0;
	use_begin(s);
	return s->error.code;
}

void world_start(struct orr_step *s)
{
	for (uint64_t i = 0; i < s->n_live && !s->error.code; i++)
		exec_begin(s, s->live[i]);
}

struct orr_step *step_facts_new(const struct step_config *c, struct orr_error *err)
{
	struct orr_step *s = mem_zalloc(1, sizeof *s);
	s->config = c;
	s->label = "costs";
	set_facts(s);
	prepare(s);
	source_begin(s);
	if (!facts_scale(s))
		return s;
	if (err)
		*err = s->error;
	step_facts_free(s);
	return NULL;
}

void step_facts_free(struct orr_step *s)
{
	if (!s)
		return;
	world_free(s);
	mem_free(s);
}

static int execute(struct orr_step *s, bool may_merge, const struct orr_args *args)
{
	if (world_begin(s, may_merge, args))
		return s->error.code;
	world_start(s);
	if (exec_run(s))
		return s->error.code;
	if (!s->is_stopped && !functions_returned(s) && s->config->check && !wire_balance(s))
		money_check(s);
	return s->error.code;
}

static int run_once(const struct step_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	bool is_without_checkpoints, struct step_result *out, struct orr_error *err)
{
	const char *merge = orr_arg_text(c->options, "merge");
	bool may_merge = strcmp(merge, "off") && !c->hook && !c->built;
	*out = (struct step_result){ 0 };
	if (!c->cluster->gpus)
		return orr_fail(err, ORR_EINPUT, "the cluster has no GPU: expected at least one");
	for (;;) {
		struct orr_step s = {
			.config = c, .label = label, .policy = policy, .ops = policy->ops, .is_without_checkpoints = is_without_checkpoints
		};
		int rc = execute(&s, may_merge, policy_args);
		bool again = rc && s.must_unmerge && strcmp(merge, "on");
		if (!rc)
			give(&s, out);
		else if (err && !again)
			*err = s.error;
		world_free(&s);
		if (!again)
			return rc;
		may_merge = false;
	}
}

static double mean_samples(const struct step_result *r, size_t first)
{
	double sum = 0;
	for (size_t k = first; k < r->n_iterations; k++)
		sum += r->iteration[k].samples;
	return sum / (double)(r->n_iterations - first);
}

/* Runs the same iterations without checkpoints and returns their mean time, over the iterations that `out` measures, in
 * out->checkpoints. A policy that reacts to times may choose other iterations; then the time is that of as many samples. */
static int run_without(const struct step_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct step_result *out, struct orr_error *err)
{
	struct step_config plain = *c;
	struct step_result result;
	plain.check = plain.link_use = plain.paths = false;
	plain.spans = 0;
	plain.stop = NULL;
	plain.built = NULL;
	int rc = run_once(&plain, policy, policy_args, label, true, &result, err);
	size_t first = out->first, n = rc ? 0 : result.n_iterations;
	double time = n > first && !out->period ? time_from(result.iteration, first, n) : 0;
	out->checkpoints.iteration_s = time > 0 ? time / (double)(n - first) : result.iteration_s;
	if (n > first && out->n_iterations > first)
		out->checkpoints.iteration_s *= mean_samples(out, first) / mean_samples(&result, first);
	step_result_free(&result);
	return rc;
}

int step_run(const struct step_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct step_result *out, struct orr_error *err)
{
	int rc = run_once(c, policy, policy_args, label, false, out, err);
	return rc || !out->checkpoints.n || c->hook ? rc : run_without(c, policy, policy_args, label, out, err);
}
