/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Straight pipelines: one GPU per stage, no replicas (Fan et al., "DAPPLE", PPoPP 2021, 4: "straight"). Tries every number of
 * stages from min_stages to max_stages on the first GPUs of the cluster; each cut makes the longest stage as short as possible
 * on its GPU.
 */
#include "chain.h"

static const struct orr_param params[] = { ORR_PARAM_INT("min_stages", "1", 1, 1e6, "minimum number of stages"),
	ORR_PARAM_INT("max_stages", "0", 0, 1e6, "maximum number of stages; 0: the number of GPUs of the cluster"), ORR_PARAM_END };

struct straight {
	struct orr_plan *p;
	struct orr_plan_facts f;
	struct orr_plan_stage *stage;
	uint32_t *gpu, *first;
	const double **at;
	double *scale;
};

static double *total(const struct chain *c)
{
	double *sum = orr_alloc(c->n + 1, sizeof *sum);
	for (uint32_t i = 0; i <= c->n; i++)
		sum[i] = chain_time_s(c, 0, i);
	return sum;
}

static void try_stages(struct straight *s, uint32_t n, double micro)
{
	struct orr_plan_value v;
	chain_cut(s->f.pieces, n, s->at, s->scale, s->first);
	for (uint32_t i = 0; i < n; i++)
		s->stage[i] = (struct orr_plan_stage){
			.first = s->first[i], .count = s->first[i + 1] - s->first[i], .gpu = &s->gpu[i], .n_gpus = 1
		};
	orr_plan_evaluate(s->p, &(struct orr_plan_draft){ .stages = n, .stage = s->stage, .micro_batch = micro }, &v);
}

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct straight s = { .p = p };
	double *micro;
	(void)err;
	orr_plan_facts(p, &s.f);
	uint32_t low = (uint32_t)orr_arg_int(args, "min_stages"), high = (uint32_t)orr_arg_int(args, "max_stages");
	high = !high || high > s.f.gpus ? s.f.gpus : high;
	high = high > s.f.pieces ? s.f.pieces : high;
	uint32_t n_micro = chain_micro_batches(&s.f, &micro);
	s.stage = orr_alloc(high, sizeof *s.stage);
	s.gpu = orr_alloc(high, sizeof *s.gpu);
	s.first = orr_alloc(high + 1, sizeof *s.first);
	s.at = orr_alloc(high, sizeof *s.at);
	s.scale = orr_alloc(high, sizeof *s.scale);
	double **sum = orr_alloc(s.f.types, sizeof *sum);
	for (uint32_t m = 0; m < n_micro; m++) {
		for (uint32_t t = 0; t < s.f.types; t++) {
			struct chain c;
			chain_load(&c, p, t, micro[m]);
			sum[t] = total(&c);
			chain_free(&c);
		}
		for (uint32_t i = 0; i < high; i++) {
			struct orr_plan_gpu g;
			orr_plan_gpu(p, i, &g);
			s.gpu[i] = i;
			s.at[i] = sum[g.type];
			s.scale[i] = 1;
		}
		for (uint32_t n = low; n <= high && orr_plan_goes_on(p); n++)
			try_stages(&s, n, micro[m]);
		for (uint32_t t = 0; t < s.f.types; t++)
			orr_free(sum[t]);
		orr_plan_progress(p, (m + 1.) / n_micro);
	}
	orr_free(sum);
	orr_free(micro);
	orr_free(s.stage);
	orr_free(s.gpu);
	orr_free(s.first);
	orr_free(s.at);
	orr_free(s.scale);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN(straight, "pipelines of one GPU per stage", params, ops);
