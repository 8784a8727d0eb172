/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: setup, search, execution of the best plans, results. */
#include "plan/world.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "policies/step/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- set-up ---- */

/* Divides the model into pieces. The gates of a recurrent layer belong to it, because its next time step needs their output. */
static void find_pieces(struct orr_plan *p, uint32_t layers)
{
	p->first_layer = mem_alloc((layers + 1) * sizeof *p->first_layer);
	uint32_t n = stage_places(p->step, layers, p->first_layer), kept = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct orr_layer_info before = { .kind = ORR_LAYER_KINDS }, first;
		orr_step_layer(p->step, p->first_layer[i], &first);
		if (p->first_layer[i])
			orr_step_layer(p->step, p->first_layer[i] - 1, &before);
		if (first.kind != ORR_LAYER_ELEMENTWISE || before.kind != ORR_LAYER_RNN)
			p->first_layer[kept++] = p->first_layer[i];
	}
	p->first_layer[kept] = layers;
	p->facts.pieces = kept;
}

static int begin(struct orr_plan *p, uint32_t k, struct orr_error *err)
{
	const struct plan_problem *of = p->of;
	struct orr_step_facts f;
	struct orr_step_experts experts;
	rng_init(&p->rng, of->seed, "plan-policy", k);
	if (of->policy_timeout_s > 0)
		p->watch = watch_new(p->label, of->policy_timeout_s);
	if (of->table) {
		p->facts = (struct orr_plan_facts){ .problem = ORR_PLAN_EMBEDDINGS,
			.budget = of->budget,
			.fields = embed_fields(of->table),
			.dim = embed_dim(of->table),
			.features = embed_features(of->table) };
		return ORR_OK;
	}
	if (!(p->step = step_facts_new(&of->config, err)))
		return ORR_EINPUT;
	orr_step_facts(p->step, &f);
	p->facts = (struct orr_plan_facts){ .problem = ORR_PLAN_TRAINING,
		.budget = of->budget,
		.gpus = f.gpus,
		.nodes = f.nodes,
		.types = of->config.cluster->n_types,
		.blocks = f.blocks,
		/* The closed form has no tokens that shards send to experts. */
		.heads = orr_step_experts(p->step, &experts) ? 1 : (uint32_t)f.heads,
		.global_batch = of->global_batch,
		.micro_batch = of->micro_batch,
		.params = f.params,
		.gradient_bytes = f.gradient_bytes };
	find_pieces(p, f.layers);
	p->type_of = mem_alloc((f.gpus + 1) * sizeof *p->type_of);
	for (uint32_t n = 0, g = 0; n < of->config.cluster->n_nodes; n++)
		for (uint32_t i = 0; i < of->config.cluster->node[n].gpus; i++)
			p->type_of[g++] = of->config.cluster->node[n].type;
	p->tied_params = stage_tied_params(p->step);
	costs_new(p);
	p->cap_best = of->checked ? of->checked : 1;
	p->best = mem_zalloc(p->cap_best + 1, sizeof *p->best);
	p->own_s = NAN;
	return ORR_OK;
}

static void end(struct orr_plan *p)
{
	for (uint32_t i = 0; i < p->n_best; i++)
		plan_copy_free(&p->best[i]);
	plan_copy_free(&p->chosen);
	watch_free(p->watch);
	embed_code_free(p->code);
	costs_free(p);
	step_facts_free(p->step);
	mem_free(p->best);
	mem_free(p->first_layer);
	mem_free(p->type_of);
	mem_free(p->load);
	mem_free(p->users);
	mem_free(p->touched);
	mem_free(p->improved_s);
	mem_free(p->improved_at);
}

/* ---- results ---- */

/* Returns the forward and backward time of the whole model for the global batch on one GPU of the first type, regardless of its
 * memory. */
static double one_gpu_s(const struct orr_plan *p)
{
	struct orr_plan_terms t = { .samples = p->facts.global_batch / p->facts.gpus, .shards = 1 };
	struct orr_plan_cost c;
	orr_plan_cost(p, 0, 0, p->facts.pieces, &t, &c);
	return (c.forward_s + c.backward_s) * p->facts.gpus;
}

static struct series *new_series(struct run_result *r, const char *name, size_t n)
{
	struct series *s = &r->series[r->n_series++];
	*s = (struct series){ .name = name, .n = n };
	s->time_ns = mem_alloc(n * sizeof *s->time_ns);
	s->value = mem_alloc(n * sizeof *s->value);
	return s;
}

/* Adds the best time over evaluations, and the range of layers over GPUs in the order of stages: two points per stage. */
static void add_series(const struct orr_plan *p, const struct orr_plan_draft *d, struct run_result *r)
{
	r->series = mem_zalloc(3, sizeof *r->series);
	struct series *s = p->n_improved ? new_series(r, "best_iteration_s", p->n_improved) : NULL;
	for (size_t i = 0; i < p->n_improved; i++) {
		s->time_ns[i] = (int64_t)p->improved_at[i] * ORR_SECOND;
		s->value[i] = p->improved_s[i];
	}
	struct series *first = new_series(r, "stage_first_layer", 2 * (size_t)d->stages);
	struct series *last = new_series(r, "stage_last_layer", 2 * (size_t)d->stages);
	int64_t gpus = 0;
	for (uint32_t i = 0; i < 2 * d->stages; i++) {
		const struct orr_plan_stage *x = &d->stage[i / 2];
		first->time_ns[i] = last->time_ns[i] = gpus * ORR_SECOND;
		first->value[i] = p->first_layer[x->first];
		last->value[i] = p->first_layer[x->first + x->count] - 1.;
		gpus += i % 2 ? 0 : x->n_gpus;
	}
}

static uint32_t used_gpus(const struct orr_plan_draft *d)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < d->stages / draft_interleave(d); i++)
		n += d->stage[i].n_gpus;
	return n;
}

/* Adds the note "2 stages: 19 layers on 15 GPUs, 7 layers on 1 GPU; micro-batches of 32". */
static void note_choice(const struct orr_plan *p, const struct plan_copy *c, struct run_result *r)
{
	struct sbuf b = { 0 };
	const struct orr_plan_draft *d = &c->d;
	sbuf_printf(&b, "%u stage%s: layers x GPUs%s", d->stages, d->stages == 1 ? "" : "s", d->stages > 1 ? " in model order" : "");
	for (uint32_t i = 0; i < d->stages && i < 16; i++) {
		const struct orr_plan_stage *x = &d->stage[i];
		sbuf_printf(&b, " %ux%u", p->first_layer[x->first + x->count] - p->first_layer[x->first], x->n_gpus);
		if (stage_shards(x) > 1)
			sbuf_printf(&b, "/%u", stage_shards(x));
	}
	sbuf_printf(&b, "%s; micro-batches of %g", d->stages > 16 ? " .." : "", d->micro_batch);
	if (draft_interleave(d) > 1)
		sbuf_printf(&b, "; interleave %u (a pipeline of %u sets of GPUs with %u stages each)", d->interleave,
			d->stages / d->interleave, d->interleave);
	if (d->recompute != ORR_PLAN_KEEP)
		sbuf_printf(&b, "; recompute %s", d->recompute == ORR_PLAN_RECOMPUTE_FULL ? "full" : "selective");
	if (d->zero)
		sbuf_puts(&b, "; optimizer state sharded");
	struct orr_step_experts experts;
	if (orr_step_experts(p->step, &experts))
		sbuf_puts(&b, "; stages with experts have one shard, since shards of experts are not modelled");
	sbuf_printf(&b, "; %llu evaluations", (unsigned long long)p->used);
	result_note(r, "choice", b.text);
	sbuf_free(&b);
}

/* Adds an assumption if a GPU computes less than one sample of a micro-batch. */
static void note_parts(const struct orr_plan_draft *d, struct run_result *r)
{
	double least = 1;
	uint32_t most = 0;
	for (uint32_t i = 0; i < d->stages; i++) {
		const struct orr_plan_stage *x = &d->stage[i];
		uint32_t n = stage_groups(x);
		most = n > most ? n : most;
		for (uint32_t g = 0; g < n; g++) {
			double samples = d->micro_batch * (x->share ? x->share[g] : 1. / n);
			least = samples > 0 && samples < least ? samples : least;
		}
	}
	if (least > 1 - 1e-9)
		return;
	struct sbuf b = { 0 };
	sbuf_printf(&b,
		"micro-batches of %g are divided among up to %u replicas of a stage, so a GPU computes %.3g samples of each; most training "
		"cannot divide a sample (--micro-batch)",
		d->micro_batch, most, least);
	result_note(r, "assumption", b.text);
	sbuf_free(&b);
}

static int add_file(const struct orr_plan *p, const struct plan_copy *c, struct run_result *r, struct orr_error *err)
{
	cJSON *o = lower(p, &c->d, &c->value, err);
	if (!o)
		return err->code;
	char *text = cJSON_PrintUnformatted(o);
	result_note(r, "plan-file", text);
	cJSON_free(text);
	cJSON_Delete(o);
	return ORR_OK;
}

/* Adds metrics. executed: the executor's result for the plan; NULL: it did not run the plan. */
static void add_metrics(const struct orr_plan *p, const struct plan_copy *c, const struct step_result *executed, struct run_result *r)
{
	double iteration_s = executed ? executed->iteration_s : c->value.iteration_s, alone_s = one_gpu_s(p);
	if (executed) {
		step_metrics(executed, r);
		result_metric(r, "closed_form_error", c->value.iteration_s / iteration_s - 1, NAN, NAN);
	} else {
		result_metric(r, "samples_per_s", p->facts.global_batch / iteration_s, NAN, NAN);
		result_metric(r, "iteration_s", iteration_s, NAN, NAN);
	}
	result_metric(r, "closed_form_s", c->value.iteration_s, NAN, NAN);
	result_metric(r, "speedup", alone_s / iteration_s, NAN, NAN);
	if (!isnan(p->own_s)) {
		result_metric(r, "own_s", p->own_s, NAN, NAN);
		result_metric(r, "own_speedup", alone_s / p->own_s, NAN, NAN);
	}
	result_metric(r, "memory_share", c->value.memory_share, NAN, NAN);
	result_metric(r, "plan_stages", c->d.stages, NAN, NAN);
	result_metric(r, "plan_gpus", used_gpus(&c->d), NAN, NAN);
	result_metric(r, "evaluations", (double)p->used, NAN, NAN);
	result_metric(r, "evaluations_unfit", (double)p->unfit, NAN, NAN);
}

/* ---- the executor on the best plans ---- */

/* Executes plan i; keeps it in *best if it is the fastest so far. */
static void execute_one(struct orr_plan *p, const struct plan_copy *c, struct step_result *best, const struct plan_copy **which,
	double *worst_error, struct orr_error *why)
{
	struct step_result r = { 0 };
	if (!lower_run(p, &c->d, &r, why)) {
		*worst_error = fmax(*worst_error, fabs(c->value.iteration_s / r.iteration_s - 1));
		if (!*which || r.iteration_s < best->iteration_s) {
			struct step_result swap = *best;
			*best = r;
			r = swap;
			*which = c;
		}
	}
	step_result_free(&r);
}

static int report(struct orr_plan *p, struct run_result *r, struct orr_error *err)
{
	const struct plan_copy *list = p->has_chosen ? &p->chosen : p->best, *which = NULL;
	uint32_t n = p->has_chosen ? 1 : p->n_best, failed = 0;
	struct step_result best = { 0 };
	struct orr_error why = { 0 };
	double worst = 0;
	if (!n && !p->used)
		return orr_fail(err, ORR_EFAIL,
			"policy %.100s: the search evaluated no plan: expected a model, a cluster and batches for which its rules allow "
			"one",
			p->label);
	if (!n)
		return orr_fail(err, ORR_EFAIL,
			"policy %.100s: no plan fits in memory (%llu of %llu evaluated plans exceed a GPU's memory): expected more GPUs, "
			"or GPUs with more memory%s",
			p->label, (unsigned long long)p->unfit, (unsigned long long)p->used,
			p->of->micro_batch > 0 ? ", or a smaller micro-batch" : "");
	for (uint32_t i = 0; i < n && p->of->checked; i++) {
		struct orr_error e = { 0 };
		execute_one(p, &list[i], &best, &which, &worst, &e);
		if (e.code) {
			failed++;
			why = e;
		}
	}
	if (p->of->checked && !which)
		return orr_fail(err, why.code, "policy %.100s: the plan cannot be executed: %.500s", p->label, why.text);
	const struct plan_copy *c = which ? which : &list[0];
	*p->uses |= n > 1 || !p->of->checked ? PLAN_USED_CHECKED : 0;
	note_choice(p, c, r);
	note_parts(&c->d, r);
	add_metrics(p, c, which ? &best : NULL, r);
	if (p->of->checked) {
		result_metric(r, "plans_executed", n - failed, NAN, NAN);
		result_metric(r, "closed_form_worst_error", worst, NAN, NAN);
	}
	step_result_free(&best);
	add_series(p, &c->d, r);
	if (failed)
		result_note(r, "remark", "the executor refused some plans that fit into memory according to the closed form");
	return add_file(p, c, r, err);
}

/* ---- the run ---- */

static int search(struct orr_plan *p, const struct orr_plan_ops *ops, const struct orr_args *args, struct orr_error *err)
{
	struct orr_error e = { 0 };
	interrupt_begin();
	uint64_t call = p->watch ? watch_enter(p->watch, "search", 0, UINT64_MAX) : 0;
	int rc = ops->search(p, args, &e);
	if (p->watch)
		watch_leave(p->watch, call);
	interrupt_end();
	if (!p->error.code && (rc || e.code))
		search_fail(p, e.code ? e.code : ORR_EFAIL, "%s",
			e.code ? e.text : "search() failed without a message: expected a message in *err");
	p->is_ended = true;
	if (p->error.code && err)
		*err = p->error;
	return p->error.code;
}

int plan_run(const struct plan_problem *of, const struct orr_policy *policy, const struct orr_args *args, const char *label, uint32_t k,
	struct run_result *r, unsigned *used, void (*progress)(void *, double), void *ctx, struct orr_error *err)
{
	struct orr_plan p = { .of = of, .label = label, .result = r, .uses = used, .progress = progress, .progress_ctx = ctx };
	int rc = begin(&p, k, err);
	if (!rc)
		rc = search(&p, policy->ops, args, err);
	if (!rc)
		rc = of->table ? embeddings_report(&p, r, err) : report(&p, r, err);
	end(&p);
	return rc;
}
