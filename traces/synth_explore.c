/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * synth_explore.c - flows that explore: a source with its prefix, f branches of one or two stages, and a choose
 *
 * With f2, each branch explores f2 branches in turn and keeps the best of them. Scores rise with the branch (score=linear), are
 * largest at `best` (score=quadratic), or are drawn (score=random). After the microbenchmark of the prototype (traces/flow.h).
 */
#include "traces/flow.h"
#include "traces/generator.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("n", "1", 1, 1e6, "number of flows"),
	ORR_PARAM_TIME("every", "0", "time between two flows"), ORR_PARAM_INT("f", "10", 1, 1e6, "branches"),
	ORR_PARAM_INT("f2", "0", 0, 1e6, "branches within each branch; 0: none"),
	ORR_PARAM_REAL("prefix", "20", 0, 1e9, "work of source and prefix, seconds on `gpus` GPUs"),
	ORR_PARAM_REAL("branch", "1", 0, 1e9, "work of a branch before its inner branches (f2), seconds"),
	ORR_PARAM_REAL("branch2", "1", 0, 1e9, "work of a branch of f2, seconds"),
	ORR_PARAM_REAL("evaluate", "0", 0, 1e9, "work of the evaluator of a branch, seconds"),
	ORR_PARAM_INT("stages", "1", 1, 1000, "stages of a branch, of equal work"),
	ORR_PARAM_INT("gpus", "1", 1, 1e6, "GPUs of each stage"), ORR_PARAM_REAL("prefix_bytes", "0", 0, 9e18, "output of the prefix"),
	ORR_PARAM_REAL("branch_bytes", "0", 0, 9e18, "output of each stage of a branch"),
	ORR_PARAM_INT("keep", "1", 1, 1e6, "branches that a choose keeps"),
	ORR_PARAM_BOOL("incremental", true, "a choose drops a branch as soon as it has lost"),
	ORR_PARAM_CHOICE("order", "none", "none|monotone|convex", "order of the scores"),
	ORR_PARAM_CHOICE("stop", "never", "never|satisfied|improving", "when a choose prunes the other branches"),
	ORR_PARAM_CHOICE("score", "linear", "linear|quadratic|random", "law of the scores"),
	ORR_PARAM_REAL("best", "0.5", -1e6, 1e6, "quadratic: position of the best branch, 0 the first, 1 the last"),
	ORR_PARAM_REAL("noise", "0", 0, 1e300, "standard deviation added to scores"), ORR_PARAM_END };

static struct flow_values one(double v)
{
	struct flow_values x = { mem_alloc(sizeof v), 1 };
	x.v[0] = v;
	return x;
}

static uint32_t add_work(struct flow *f, const struct orr_args *a, const char *name, uint32_t input, double work_s, double bytes)
{
	struct flow_op *o = flow_add(f, name, FLOW_WORK);
	o->gpus = (uint32_t)orr_arg_int(a, "gpus");
	o->work_s = one(work_s);
	if (bytes > 0)
		o->bytes = one(bytes);
	if (input != FLOW_ROOT)
		flow_input(o, input);
	return f->n_ops - 1;
}

static uint32_t add_explore(struct flow *f, const char *name, uint32_t input, uint32_t n)
{
	struct flow_op *o = flow_add(f, name, FLOW_EXPLORE);
	flow_input(o, input);
	o->value = (struct flow_values){ mem_alloc(n * sizeof(double)), n };
	for (uint32_t i = 0; i < n; i++)
		o->value.v[i] = i;
	return f->n_ops - 1;
}

static void add_score(struct flow *f, const struct orr_args *a, uint32_t op)
{
	const char *law = orr_arg_text(a, "score");
	f->op[op].score = (struct flow_score){ .how = !strcmp(law, "linear")   ? FLOW_SCORE_LINEAR
						      : !strcmp(law, "random") ? FLOW_SCORE_RANDOM
									       : FLOW_SCORE_QUADRATIC,
		.best = orr_arg_real(a, "best"),
		.slope = 1,
		.noise = orr_arg_real(a, "noise") };
	f->op[op].work_s.v[0] += orr_arg_real(a, "evaluate");
}

static uint32_t add_choose(struct flow *f, const struct orr_args *a, const char *name, uint32_t input)
{
	const char *order = orr_arg_text(a, "order"), *stop = orr_arg_text(a, "stop");
	struct flow_op *o = flow_add(f, name, FLOW_CHOOSE);
	flow_input(o, input);
	o->keep = (uint32_t)orr_arg_int(a, "keep");
	o->is_incremental = orr_arg_bool(a, "incremental");
	o->order = !strcmp(order, "none") ? FLOW_UNORDERED : !strcmp(order, "monotone") ? FLOW_MONOTONE : FLOW_CONVEX;
	o->stop = !strcmp(stop, "never") ? FLOW_NEVER : !strcmp(stop, "satisfied") ? FLOW_SATISFIED : FLOW_IMPROVING;
	return f->n_ops - 1;
}

static struct flow *make_one(const struct orr_args *a, struct orr_error *err)
{
	struct flow *f = flow_new();
	uint32_t f2 = (uint32_t)orr_arg_int(a, "f2"), n = (uint32_t)orr_arg_int(a, "stages");
	double bytes = orr_arg_real(a, "branch_bytes");
	uint32_t prefix = add_work(f, a, "prefix", FLOW_ROOT, orr_arg_real(a, "prefix"), orr_arg_real(a, "prefix_bytes"));
	uint32_t at = add_explore(f, "explore", prefix, (uint32_t)orr_arg_int(a, "f"));
	for (uint32_t i = 0; i < n; i++) {
		char name[24] = "branch";
		if (i)
			snprintf(name, sizeof name, "branch-%u", i + 1);
		at = add_work(f, a, name, at, orr_arg_real(a, "branch") / n, bytes);
	}
	if (f2) {
		at = add_explore(f, "explore2", at, f2);
		at = add_work(f, a, "branch2", at, orr_arg_real(a, "branch2"), bytes);
		add_score(f, a, at);
		at = add_choose(f, a, "choose2", at);
	} else {
		add_score(f, a, at);
	}
	add_choose(f, a, "choose", at);
	if (!flow_finish(f, "generator explore", err))
		return f;
	flow_free(f);
	return NULL;
}

static struct flowset *make_flows(const struct orr_args *a, struct orr_error *err)
{
	struct flow *f = make_one(a, err);
	if (!f)
		return NULL;
	struct flowset *s = mem_zalloc(1, sizeof *s);
	flowset_add(s, f);
	return s;
}

static int check(const struct orr_args *a, struct orr_error *err)
{
	if (strcmp(orr_arg_text(a, "stop"), "improving") || strcmp(orr_arg_text(a, "order"), "none"))
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "generator explore: stop=improving: expected order=monotone or order=convex");
}

struct state {
	int64_t now_ns, every_ns;
	uint32_t gpus;
	int64_t duration_ns;
};

static void start(void *state, const void *args, uint64_t seed, uint64_t index)
{
	struct state *s = state;
	struct orr_error err = { 0 };
	struct flow *f = make_one(args, &err);
	(void)seed, (void)index;
	s->every_ns = orr_arg_time_ns(args, "every");
	s->gpus = (uint32_t)orr_arg_int(args, "gpus");
	double work = f ? flow_work_shared(f) / s->gpus : 0;
	s->duration_ns = work < 4e9 ? llrint(work * 1e9) : INT64_C(4000000000) * 1000000000;
	flow_free(f);
}

static bool next(void *state, struct job_rec *row)
{
	struct state *s = state;
	row->submit_ns = s->now_ns;
	row->gpus = s->gpus;
	row->duration_ns = s->duration_ns;
	row->flow = 1;
	s->now_ns += s->every_ns;
	return true;
}

const struct generator generator_explore = {
	.name = "explore",
	.doc = "flows: a prefix, branches that share it, and a choose (meta-dataflows)",
	.params = params,
	.state_size = sizeof(struct state),
	.check = check,
	.start = start,
	.next = next,
	.make_flows = make_flows,
};
