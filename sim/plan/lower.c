/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts a plan to a scenario of the step world.
 *
 * A grid (equal stages of neighbouring GPUs, equal shares) becomes policy megatron, every other plan policy dapple. The
 * scenario's object "plan" is the plan, for readers and for the predicted time.
 */
#include "plan/world.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- lists ---- */

static void put_real(struct sbuf *b, double v)
{
	char text[NUM_REAL_MAX];
	num_put_real(text, v);
	sbuf_printf(b, "%s%s", b->len ? "," : "", text);
}

static void set_list(cJSON *o, const char *key, struct sbuf *b)
{
	cJSON_AddStringToObject(o, key, sbuf_text(b));
	sbuf_free(b);
}

static void set_real(cJSON *o, const char *key, double v)
{
	struct sbuf b = { 0 };
	put_real(&b, v);
	set_list(o, key, &b);
}

static uint32_t layers_of(const struct orr_plan *p, const struct orr_plan_stage *x)
{
	return p->first_layer[x->first + x->count] - p->first_layer[x->first];
}

static const char *recompute_name(enum orr_plan_recompute r)
{
	return r == ORR_PLAN_RECOMPUTE_FULL ? "full" : r == ORR_PLAN_RECOMPUTE_SELECTIVE ? "selective" : "none";
}

/* ---- parameters of the step policies ---- */

static void add_layers(const struct orr_plan *p, const struct orr_plan_draft *d, cJSON *set)
{
	struct sbuf b = { 0 };
	for (uint32_t i = 0; i < d->stages; i++)
		put_real(&b, layers_of(p, &d->stage[i]));
	set_list(set, "stage_layers", &b);
}

static void add_grid(const struct orr_plan *p, const struct orr_plan_draft *d, enum draft_order order, cJSON *set)
{
	uint32_t v = draft_interleave(d), tp = stage_shards(&d->stage[0]), dp = d->stage[0].n_gpus / tp;
	set_real(set, "tp", tp);
	set_real(set, "pp", d->stages / v);
	set_real(set, "interleave", v);
	cJSON_AddStringToObject(set, "sequence_parallel", d->sequence_parallel ? "true" : "false");
	cJSON_AddStringToObject(set, "zero", d->zero ? "true" : "false");
	cJSON_AddStringToObject(set, "order", order == ORDER_TP_DP_PP ? "tp-dp-pp" : "tp-pp-dp");
	set_real(set, "micro_batches", round(p->facts.global_batch / d->micro_batch));
	(void)dp;
}

static void add_stages(const struct orr_plan *p, const struct orr_plan_draft *d, cJSON *set)
{
	struct sbuf gpus = { 0 }, shards = { 0 }, devices = { 0 }, shares = { 0 };
	bool has_shares = false;
	for (uint32_t i = 0; i < d->stages; i++) {
		const struct orr_plan_stage *x = &d->stage[i];
		put_real(&gpus, x->n_gpus);
		put_real(&shards, stage_shards(x));
		has_shares |= x->share != NULL;
		for (uint32_t k = 0; k < x->n_gpus; k++) {
			put_real(&devices, x->gpu[k]);
			put_real(&shares, stage_share(x, k / stage_shards(x)));
		}
	}
	set_list(set, "stage_devices", &gpus);
	set_list(set, "stage_shards", &shards);
	set_list(set, "devices", &devices);
	if (has_shares)
		cJSON_AddStringToObject(set, "device_shares", sbuf_text(&shares));
	sbuf_free(&shares);
	set_real(set, "micro_batches", round(p->facts.global_batch / d->micro_batch));
}

static cJSON *settings(const struct orr_plan *p, const struct orr_plan_draft *d, enum draft_order order)
{
	cJSON *set = cJSON_CreateObject();
	if (order != ORDER_NONE)
		add_grid(p, d, order, set);
	else
		add_stages(p, d, set);
	add_layers(p, d, set);
	set_real(set, "global_batch", p->facts.global_batch);
	cJSON_AddStringToObject(set, "recompute", recompute_name(d->recompute));
	return set;
}

/* ---- the file ---- */

/* Writes groups of neighbouring GPUs, as "0-7,16". */
static void put_gpus(struct sbuf *b, const struct orr_plan_stage *x)
{
	for (uint32_t k = 0; k < x->n_gpus;) {
		uint32_t n = 1;
		while (k + n < x->n_gpus && x->gpu[k + n] == x->gpu[k] + n)
			n++;
		sbuf_printf(b, "%s%u", b->len ? "," : "", x->gpu[k]);
		if (n > 1)
			sbuf_printf(b, "-%u", x->gpu[k + n - 1]);
		k += n;
	}
}

static cJSON *describe(const struct orr_plan *p, const struct orr_plan_draft *d, const struct orr_plan_value *value)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "policy", p->label);
	cJSON_AddNumberToObject(o, "predicted_iteration_s", value->iteration_s);
	cJSON_AddNumberToObject(o, "predicted_memory_share", value->memory_share);
	cJSON_AddNumberToObject(o, "micro_batch", d->micro_batch);
	cJSON *list = cJSON_AddArrayToObject(o, "stages");
	for (uint32_t i = 0; i < d->stages; i++) {
		const struct orr_plan_stage *x = &d->stage[i];
		struct sbuf gpus = { 0 };
		struct orr_layer_info first, last;
		cJSON *s = cJSON_CreateObject();
		orr_step_layer(p->step, p->first_layer[x->first], &first);
		orr_step_layer(p->step, p->first_layer[x->first + x->count] - 1, &last);
		put_gpus(&gpus, x);
		cJSON_AddStringToObject(s, "first_layer", first.name);
		cJSON_AddStringToObject(s, "last_layer", last.name);
		cJSON_AddNumberToObject(s, "layers", layers_of(p, x));
		cJSON_AddStringToObject(s, "gpus", sbuf_text(&gpus));
		cJSON_AddNumberToObject(s, "shards", stage_shards(x));
		cJSON_AddItemToArray(list, s);
		sbuf_free(&gpus);
	}
	return o;
}

static int choose(const struct orr_plan *p, const struct orr_plan_draft *d, enum draft_order *out, struct orr_error *err)
{
	*out = draft_order(p, d);
	if (*out == ORDER_NONE && (draft_interleave(d) > 1 || d->zero || d->sequence_parallel))
		return orr_fail(err, ORR_EFAIL,
			"interleaving, sequence parallelism and sharded optimizer state: expected equal stages of neighbouring GPUs that "
			"together use all GPUs of the cluster");
	return ORR_OK;
}

cJSON *lower(const struct orr_plan *p, const struct orr_plan_draft *d, const struct orr_plan_value *value, struct orr_error *err)
{
	enum draft_order order;
	if (choose(p, d, &order, err))
		return NULL;
	cJSON *o = cJSON_Duplicate(p->of->header, 1), *policies, *entry;
	policies = cJSON_AddArrayToObject(o, "policies");
	cJSON_AddItemToArray(policies, entry = cJSON_CreateObject());
	cJSON_AddStringToObject(entry, "policy", order == ORDER_NONE ? "dapple" : "megatron");
	cJSON_AddItemToObject(entry, "set", settings(p, d, order));
	cJSON_AddItemToObject(o, "plan", describe(p, d, value));
	return o;
}

int lower_run(const struct orr_plan *p, const struct orr_plan_draft *d, struct step_result *out, struct orr_error *err)
{
	enum draft_order order;
	int rc = choose(p, d, &order, err);
	if (rc)
		return rc;
	const struct orr_policy *policy = order == ORDER_NONE ? p->of->dapple : p->of->megatron;
	struct orr_args *a = args_new(policy->params, "the plan", err);
	cJSON *set = settings(p, d, order);
	for (const cJSON *m = set->child; m && !rc; m = m->next)
		rc = args_set(a, m->string, m->valuestring, err);
	if (!rc)
		rc = step_run(&p->of->config, policy, a, p->label, out, err);
	*p->uses |= out->used | PLAN_USED_EXECUTOR;
	cJSON_Delete(set);
	args_free(a);
	return rc;
}
