/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Costs of pieces, times of messages and sums, the closed form, memory and the metrics of a run, computed by hand.
 *
 * A chain of four measured layers. Per sample, forward passes take 1/4, 1/2, 3/4 and 1 ms, and backward passes twice as long.
 * Outputs have 1, 2, 3 and 4 MB and are kept for the backward pass; layers have 1, 2, 3 and 4 million parameters of 4 bytes.
 * The cluster has four V100 on two nodes, with links of 1 GB/s between nodes and 10 GB/s inside, without latency. Updates take
 * no time. An iteration has 16 samples.
 */
#include "tests/plan/search_run.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/orrery-hand-XXXXXX.csv";

ORR_POLICY_PLAN(hand, "plans of the test", params, ops);

/* Runs the search; the result and the error are in `result` and `said`. more: additional keys, such as ",\"plan\":{}". */
static void run(const char *model, void (*s)(struct orr_plan *), const char *more)
{
	struct sbuf text = { 0 };
	sbuf_printf(&text,
		"{\"world\":\"plan\",\"model\":\"%s\",\"cluster\":\"2x2:v100\",\"network\":\"star:bw=1GBps,lat=0,gpu_bw=10GBps,gpu_lat=0\","
		"\"global_batch\":16,\"policies\":[\"straight\"]%s}",
		model, more);
	run_search(&text, &orr_policy_plan_hand, s);
}

static char chain[64];
static const char closed[] = ",\"plan\":{\"checked\":0},\"step\":{\"update_cost\":\"none\"}";

/* ---- pieces, GPUs, costs ---- */

static void asks(struct orr_plan *p)
{
	struct orr_plan_facts f;
	struct orr_plan_piece piece;
	struct orr_plan_gpu gpu;
	orr_plan_facts(p, &f);
	ok(f.problem == ORR_PLAN_TRAINING && f.gpus == 4 && f.nodes == 2 && f.types == 1 && f.pieces == 4 && !f.blocks,
		"four GPUs of one type on two nodes, four pieces");
	ok(f.global_batch == 16 && f.micro_batch == 0 && f.params == 10e6 && f.gradient_bytes == 4 && f.budget == 1000000,
		"batch, parameters and budget");
	orr_plan_piece(p, 2, &piece);
	ok(!strcmp(piece.name, "c") && piece.params == 3e6 && piece.out_bytes == 3e6 && !piece.is_block, "the third piece");
	orr_plan_piece(p, 4, &piece);
	ok(!*piece.name && piece.params == 0, "a piece past the last");
	orr_plan_gpu(p, 1, &gpu);
	ok(gpu.node == 0 && gpu.type == 0 && gpu.memory_bytes > 15e9, "GPU 1 is on node 0");
	orr_plan_gpu(p, 2, &gpu);
	ok(gpu.node == 1, "GPU 2 is on node 1");
	orr_plan_gpu(p, 4, &gpu);
	ok(gpu.memory_bytes == 0, "a GPU past the last has no memory");

	struct orr_plan_cost c;
	struct orr_plan_terms t = { .samples = 2 };
	orr_plan_cost(p, 0, 1, 2, &t, &c);
	near_to(c.forward_s, 2.5e-3, 1e-15, "forward of pieces 1 and 2: (1/2 + 3/4) ms x 2");
	near_to(c.backward_s, 5e-3, 1e-15, "backward takes twice that");
	ok(c.recompute_s == 0 && c.params == 5e6 && c.stored_bytes == 10e6 && c.working_bytes == 0, "parameters and kept outputs");
	ok(c.forward_sums == 0 && c.backward_sums == 0 && c.recompute_sums == 0, "no sums without shards");
	t.recompute = ORR_PLAN_RECOMPUTE_FULL;
	orr_plan_cost(p, 0, 1, 2, &t, &c);
	near_to(c.recompute_s, 2.5e-3, 1e-15, "recomputation repeats the forward pass");
	ok(c.stored_bytes == 2e6 && c.working_bytes == 10e6, "and keeps the input of the stage, 1 MB of each sample");
	orr_plan_cost(p, 0, 0, 2, &t, &c);
	ok(c.stored_bytes == 0 && c.working_bytes == 6e6, "the first stage has no input to keep");
	t.recompute = ORR_PLAN_KEEP;
	orr_plan_cost(p, 0, 3, 9, &t, &c);
	near_to(c.forward_s, 2e-3, 1e-15, "pieces past the last are left out");
	t.shards = 2;
	orr_plan_cost(p, 0, 3, 1, &t, &c);
	near_to(c.forward_s, 1e-3, 1e-15, "a shard of two takes half the time");
	orr_plan_cost(p, 1, 0, 4, &t, &c);
	ok(c.forward_s == 0, "an unknown type costs nothing");
	orr_plan_cost(p, 0, 4, 1, &t, &c);
	ok(c.forward_s == 0, "nor does a piece past the last");
	t.samples = 0;
	orr_plan_cost(p, 0, 0, 4, &t, &c);
	ok(c.forward_s == 0 && c.params == 0, "nor do no samples");
	ok(orr_plan_update_s(p, 0, 1e9) == 0 && orr_plan_update_s(p, 1, 1e9) == 0, "updates take no time");
	near_to(orr_plan_state_bytes(p, 1), 8, 0, "a weight and a gradient of 4 bytes each");
	for (int i = 0; i < 100; i++) { /* more queries than the table's initial size */
		t.samples = 1 + i;
		orr_plan_cost(p, 0, 0, 4, &t, &c);
		t.samples = 1 + i / 2;
		orr_plan_cost(p, 0, 0, 4, &t, &c);
	}
	near_to(c.forward_s, 50 * 1.25e-3, 1e-12, "answers do not mix");
	double u = orr_plan_uniform(p), w = orr_plan_uniform(p);
	ok(u >= 0 && u < 1 && w >= 0 && w < 1 && u != w, "draws from 0 to 1");
}

static void asks_adam(struct orr_plan *p)
{
	near_to(orr_plan_state_bytes(p, 1), 16, 0, "Adam: two moments of 4 bytes more");
	near_to(orr_plan_state_bytes(p, 4), 10, 0, "each of four shards holds a quarter");
	near_to(orr_plan_state_bytes(p, 0.5), 16, 0, "fewer than one holder is one");
	ok(orr_plan_update_s(p, 0, 1e9) > 0 && orr_plan_update_s(p, 1, 1e9) == 0, "updates by the roofline take time");
}

static void sends(struct orr_plan *p)
{
	static const uint32_t across[] = { 0, 2 }, inside[] = { 0, 1 }, all[] = { 0, 1, 2, 3 }, unknown[] = { 0, 4 };
	near_to(orr_plan_transfer_s(p, 0, 2, 1e9), 1, 1e-12, "a message to the other node");
	near_to(orr_plan_transfer_s(p, 0, 1, 1e9), 0.1, 1e-12, "a message inside a node");
	ok(orr_plan_transfer_s(p, 1, 1, 1e9) == 0 && orr_plan_transfer_s(p, 4, 0, 1e9) == 0 && orr_plan_transfer_s(p, 0, 4, 1e9) == 0,
		"none to itself or an unknown GPU");
	near_to(orr_plan_all_reduce_s(p, across, 2, 1e9, 1), 1, 1e-12, "all-reduce of two nodes: 2 x 1/2 of the bytes");
	near_to(orr_plan_all_reduce_s(p, across, 2, 1e9, 2), 2, 1e-12, "two at a time share the NICs");
	near_to(orr_plan_all_reduce_s(p, inside, 2, 1e9, 2), 0.1, 1e-12, "inside a node they share none");
	near_to(orr_plan_all_reduce_s(p, all, 4, 1e9, 1), 1.5, 1e-12, "of all four: 2 x 3/4");
	ok(orr_plan_all_reduce_s(p, all, 1, 1e9, 1) == 0 && orr_plan_all_reduce_s(p, all, 4, 0, 1) == 0, "of one GPU, or of no bytes");
	ok(isinf(orr_plan_all_reduce_s(p, unknown, 2, 1e9, 1)), "of an unknown GPU");
}

/* ---- the closed form and the executor ---- */

#define GPUS(...) .gpu = (const uint32_t[]){ __VA_ARGS__ }, .n_gpus = sizeof((uint32_t[]){ __VA_ARGS__ }) / 4
#define DRAFT(micro, ...)                                                                                                      \
	(&(struct orr_plan_draft){ .stages = sizeof((struct orr_plan_stage[]){ __VA_ARGS__ }) / sizeof(struct orr_plan_stage), \
		.stage = (const struct orr_plan_stage[]){ __VA_ARGS__ },                                                       \
		.micro_batch = micro })
#define ALL .first = 0, .count = 4

static double memory;

static void takes(struct orr_plan *p, const struct orr_plan_draft *d, double ms, double held_MB, const char *what)
{
	struct orr_plan_value v, x;
	char text[160];
	orr_plan_evaluate(p, d, &v);
	snprintf(text, sizeof text, "%s: %g ms", what, ms);
	near_to(v.iteration_s * 1e3, ms, 1e-9, text);
	near_to(v.memory_share * memory / 1e6, held_MB, 1e-9, "memory");
	orr_plan_execute(p, d, &x);
	near_to(x.iteration_s / v.iteration_s, 1, 1e-9, "the executor takes as long");
}

static void evaluates(struct orr_plan *p)
{
	struct orr_plan_gpu g;
	orr_plan_gpu(p, 0, &g);
	memory = g.memory_bytes;
	takes(p, DRAFT(4, { ALL, GPUS(0) }), 120, 80 + 40, "one GPU: four micro-batches of 10 + 20 ms");
	takes(p, DRAFT(16, { ALL, GPUS(3) }), 120, 80 + 160, "one micro-batch keeps four times as much");
	takes(p, DRAFT(4, { ALL, GPUS(0, 2) }), 60 + 40, 80 + 20, "two replicas on two nodes: half the work, a sum of 40 MB");
	takes(p, DRAFT(4, { ALL, GPUS(0, 1) }), 60 + 4, 80 + 20, "on one node the sum is ten times as fast");
	takes(p, DRAFT(4, { ALL, GPUS(0, 1, 2, 3) }), 30 + 60, 80 + 10, "four replicas: a ring of 2 x 3/4 of 40 MB");
	static const double share[] = { 0.75, 0.25 };
	takes(p, DRAFT(4, { ALL, GPUS(0, 1), .share = share }), 90 + 4, 80 + 30, "shares of 3/4 and 1/4: the larger one takes 90 ms");
	/* Stages take 3 + 6 and 7 + 14 ms, messages 8 ms. Stage 1 starts forward passes at 11, 32, 57 and 78 ms and backward passes
	 * at 18, 39, 64 and 85 ms. The last message arrives at stage 0 at 107 ms, and its last backward pass takes 6 ms. */
	takes(p, DRAFT(4, { .count = 2, GPUS(0) }, { .first = 2, .count = 2, GPUS(2) }), 113, 56 + 28, "a pipeline of two stages");
	/* One micro-batch takes 6 + 32 + 28 + 56 + 32 + 12 ms; then the all-reduce of 12 MB inside the node of stage 0 takes 1.2 ms. */
	takes(p, DRAFT(16, { .count = 2, GPUS(0, 1) }, { .first = 2, .count = 2, GPUS(2) }), 167.2, 56 + 112,
		"stage 0 on two GPUs of a node");
	/* One micro-batch takes 12 + 3.2 + 28 + 56 + 3.2 + 24 ms; a message inside a node takes a tenth of the time. */
	takes(p, DRAFT(16, { .count = 2, GPUS(0) }, { .first = 2, .count = 2, GPUS(1) }), 12 + 3.2 + 28 + 56 + 3.2 + 24, 56 + 112,
		"both stages on one node");
	/* Node 1 has two GPUs. Both receive half of 32 MB through one NIC. */
	takes(p, DRAFT(16, { .count = 2, GPUS(0) }, { .first = 2, .count = 2, GPUS(2, 3) }), 12 + 32 + 14 + 28 + 32 + 24, 56 + 56,
		"stage 1 on two GPUs of the other node");
	/* Stages 0 and 2 are on node 0, stage 1 on node 1. Node 0 sends activations of 2 MB and gradients of 3 MB to node 1, which sends
	 * 3 MB ahead and 2 MB back; compute takes at most 3 ms. A separate program that divides each NIC equally among its messages, each
	 * kind of which is sent in order, ends at 130.75 ms; with NICs for each kind alone, at 105 ms. */
	takes(p, DRAFT(1, { .count = 2, GPUS(0) }, { .first = 2, .count = 1, GPUS(2) }, { .first = 3, .count = 1, GPUS(1) }), 130.75, 36,
		"messages of two cuts share NICs");
	takes(p, DRAFT(0.1, { .count = 2, GPUS(0) }, { .first = 2, .count = 2, GPUS(1) }), 160 * 0.525 + 0.075 + 0.02 + 0.02 + 0.15,
		56 + 0.7, "160 micro-batches: the slower stage never waits");
	struct orr_plan_draft d = *DRAFT(4, { ALL, GPUS(0) });
	d.recompute = ORR_PLAN_RECOMPUTE_FULL;
	takes(p, &d, 160, 80 + 40, "recomputation adds the forward pass");
}

/* ---- results of a run ---- */

static void improves(struct orr_plan *p)
{
	struct orr_plan_value v;
	orr_plan_evaluate(p, DRAFT(4, { ALL, GPUS(0) }), &v);
	orr_plan_evaluate(p, DRAFT(16, { ALL, GPUS(3) }), &v); /* an equally fast plan: the first plan is kept */
	orr_plan_evaluate(p, DRAFT(4, { ALL, GPUS(0, 2) }), &v);
	orr_plan_evaluate(p, DRAFT(4, { ALL, GPUS(0, 1) }), &v);
	orr_plan_evaluate(p, DRAFT(4, { ALL, GPUS(0, 1) }), &v); /* again */
	orr_plan_evaluate(p, DRAFT(4, { ALL, GPUS(0, 1, 2, 3) }), &v);
	orr_plan_put(p, "my_metric_2", 7);
	orr_plan_put(p, "my_metric_2", 8); /* a second value with the same name is ignored */
	orr_plan_progress(p, 0.25);
	orr_plan_progress(p, 0.125);
	orr_plan_progress(p, 3);
}

static void chooses(struct orr_plan *p)
{
	improves(p);
	orr_plan_choose(p, DRAFT(16, { .count = 2, GPUS(0, 1) }, { .first = 2, .count = 2, GPUS(2) }), 0.24);
}

static const char *note(const char *kind)
{
	return result_find_note(result, kind);
}

static bool file_has(const char *part)
{
	const char *text = note("plan-file");
	bool has = text && strstr(text, part);
	if (!has)
		printf("# no %s in %s\n", part, text ? text : "(none)");
	return has;
}

static void reports(void)
{
	run(chain, improves, closed);
	near_to(metric("iteration_s"), 0.064, 1e-12, "the best plan is reported");
	near_to(metric("samples_per_s"), 16 / 0.064, 1e-9, "the throughput of the best plan");
	near_to(metric("closed_form_s"), 0.064, 1e-12, "the closed form of the best plan");
	near_to(metric("speedup"), 120. / 64, 1e-9, "the speed-up over one GPU, which takes 120 ms");
	ok(metric("plan_stages") == 1 && metric("plan_gpus") == 2 && metric("evaluations") == 6 && metric("evaluations_unfit") == 0,
		"stages, GPUs and evaluations");
	near_to(metric("my_metric_2"), 7, 0, "a metric of the policy: the first value of its name");
	near_to(metric("memory_share") * memory / 1e6, 100, 1e-9, "the share of a GPU's memory");
	ok(isnan(metric("own_s")) && isnan(metric("plans_executed")) && isnan(metric("closed_form_error")),
		"no own cost, and nothing was executed");
	same_text(note("choice"), "1 stage: layers x GPUs 4x2; micro-batches of 4; 6 evaluations", "the choice");
	const struct series *s = result->series;
	ok(result->n_series == 3 && s->n == 3 && s->time_ns[0] == 1000000000 && s->time_ns[1] == 3000000000 && s->time_ns[2] == 4000000000,
		"the best time fell at evaluations 1, 3 and 4");
	ok(fabs(s->value[0] - 0.12) < 1e-12 && fabs(s->value[1] - 0.1) < 1e-12 && fabs(s->value[2] - 0.064) < 1e-12,
		"to 120, 100 and 64 ms");
	ok(s[1].n == 2 && s[1].time_ns[0] == 0 && s[1].time_ns[1] == 2000000000 && s[1].value[0] == 0 && s[1].value[1] == 0 &&
			s[2].value[0] == 3 && s[2].value[1] == 3,
		"one stage: GPUs 0 to 2, layers 0 to 3");
	ok(n_told == 3 && told[0] == 0.25 && told[1] == 0.25 && told[2] == 1, "progress never falls, and ends at 1");

	run(chain, chooses, closed);
	near_to(metric("iteration_s"), 0.1672, 1e-12, "a chosen plan is the result, although others are faster");
	near_to(metric("own_s"), 0.24, 0, "the policy's own cost is a metric");
	near_to(metric("own_speedup"), 0.5, 1e-12, "the speed-up by the policy's own cost is a metric");
	ok(metric("plan_stages") == 2 && metric("plan_gpus") == 3 && metric("evaluations") == 6, "choosing uses no evaluation");
	same_text(note("choice"), "2 stages: layers x GPUs in model order 2x2 2x1; micro-batches of 16; 6 evaluations", "its choice");
	ok(file_has("\"policy\":\"dapple\"") && file_has("\"stage_devices\":\"2,1\"") && file_has("\"stage_shards\":\"1,1\"") &&
			file_has("\"devices\":\"0,1,2\"") && file_has("\"stage_layers\":\"2,2\"") && file_has("\"micro_batches\":\"1\"") &&
			file_has("\"global_batch\":\"16\"") && file_has("\"recompute\":\"none\""),
		"the plan file has the parameters of the step policy");
	ok(file_has("\"first_layer\":\"a\",\"last_layer\":\"b\",\"layers\":2,\"gpus\":\"0-1\",\"shards\":1") &&
			file_has("\"first_layer\":\"c\",\"last_layer\":\"d\",\"layers\":2,\"gpus\":\"2\",\"shards\":1"),
		"the plan file describes the stages");
	ok(file_has("\"world\":\"step\"") && file_has(chain) && file_has("\"cluster\":\"2x2:v100\"") && file_has("\"batch\":\"4\"") &&
			file_has("\"network\":\"star:bw=1GBps,lat=0,gpu_bw=10GBps,gpu_lat=0\"") &&
			file_has("\"step\":{\"update_cost\":\"none\"}") && !strstr(note("plan-file"), "\"cost\""),
		"the plan file begins with the problem as given");

	run(chain, improves, ",\"plan\":{\"checked\":3},\"step\":{\"update_cost\":\"none\"}");
	near_to(metric("plans_executed"), 3, 0, "the three best plans are executed");
	ok(fabs(metric("closed_form_error")) < 1e-9 && fabs(metric("closed_form_worst_error")) < 1e-9 && metric("iteration_s") > 0.063,
		"executed plans take the time of the closed form");
	run(chain, improves, ",\"plan\":{\"checked\":9},\"step\":{\"update_cost\":\"none\"}");
	near_to(metric("plans_executed"), 5, 0, "all five different plans are executed");
	run(chain, improves, ",\"plan\":{\"checked\":0,\"budget\":3},\"step\":{\"update_cost\":\"none\"}");
	near_to(metric("evaluations"), 6, 0, "a policy that does not ask goes past its budget");
}

static void counts_budget(struct orr_plan *p)
{
	struct orr_plan_value v;
	int n = 0;
	for (; n < 10 && orr_plan_goes_on(p); n++)
		orr_plan_evaluate(p, DRAFT(4, { ALL, GPUS(0) }), &v);
	near_to(n, 3, 0, "a budget of three ends the search after three evaluations");
}

/* ---- refusals ---- */

static const struct orr_plan_draft *draft_now;

static void tries(struct orr_plan *p)
{
	struct orr_plan_value v = { .fits = true };
	orr_plan_evaluate(p, draft_now, &v);
	ok(!v.fits && isinf(v.iteration_s) && !orr_plan_goes_on(p), "after an error no plan fits");
}

static void refused(const struct orr_plan_draft *d, const char *message)
{
	char wanted[240];
	draft_now = d;
	run(chain, tries, closed);
	snprintf(wanted, sizeof wanted, "policy straight: %s", message);
	if (!ok(said.code == ORR_EFAIL && !strcmp(said.text, wanted), "refused: %s", message))
		printf("# got \"%s\"\n", said.text);
}

static struct orr_plan_draft with_interleave(struct orr_plan_draft d, uint32_t v)
{
	d.interleave = v;
	return d;
}

static void refusals(void)
{
	static const double zero[] = { 1, 0 }, most[] = { 0.5, 0.4 };
	refused(NULL, "orr_plan_evaluate: a pointer is NULL: expected an object");
	refused(DRAFT(0, { ALL, GPUS(0) }), "micro-batch: expected a divisor of the 16 samples of an iteration, found 0");
	refused(DRAFT(3, { ALL, GPUS(0) }), "micro-batch: expected a divisor of the 16 samples of an iteration, found 3");
	refused(DRAFT(32, { ALL, GPUS(0) }), "micro-batch: expected a divisor of the 16 samples of an iteration, found 32");
	refused(DRAFT(4, { .first = 1, .count = 3, GPUS(0) }),
		"stage 0: piece 0 of the model is missing: expected it as the first piece, found 1");
	refused(DRAFT(4, { .count = 3, GPUS(0) }), "the last stage: piece 3 of the model is missing: expected all 4 pieces");
	refused(DRAFT(4, { .count = 2, GPUS(0) }, { .first = 1, .count = 3, GPUS(1) }),
		"stage 1: expected at least one piece from piece 2 on, found 3 pieces from piece 1 on");
	refused(DRAFT(4, { .count = 4, GPUS(0) }, { .first = 4, .count = 0, GPUS(1) }),
		"stage 1: expected at least one piece from piece 4 on, found 0 pieces from piece 4 on");
	refused(DRAFT(4, { .count = 5, GPUS(0) }), "stage 0: expected at most 4 pieces from piece 0 on, found 5");
	refused(DRAFT(4, { ALL, GPUS(4) }), "stage 0: GPU 4: expected a number from 0 to 3");
	refused(DRAFT(4, { ALL, GPUS(1, 1) }), "stage 0: GPU 1 is already in stage 0: expected each GPU once");
	refused(DRAFT(4, { .count = 2, GPUS(1) }, { .first = 2, .count = 2, GPUS(2, 1) }),
		"stage 1: GPU 1 is already in stage 0: expected each GPU once");
	refused(DRAFT(4, { ALL, .gpu = (const uint32_t[]){ 0 }, .n_gpus = 0 }),
		"stage 0: expected a number of GPUs that is a multiple of the 1 shards of the stage, found 0");
	refused(DRAFT(4, { ALL, GPUS(0, 1, 2), .shards = 2 }),
		"stage 0: expected a number of GPUs that is a multiple of the 2 shards of the stage, found 3");
	refused(DRAFT(4, { ALL, GPUS(0, 1), .shards = 2 }),
		"stage 0: 2 shards: expected 1, or a divisor of the attention heads of a transformer without experts, found 0");
	refused(DRAFT(4, { ALL, GPUS(0, 1), .share = zero }), "stage 0: share of group 1: expected a number above 0, found 0");
	refused(DRAFT(4, { ALL, GPUS(0, 1), .share = most }), "stage 0: shares: expected the sum 1, found 0.9");
	struct orr_plan_draft d = with_interleave(*DRAFT(4, { ALL, GPUS(0) }), 2);
	refused(&d, "expected a number of stages that is a multiple of interleave, 2, found 1");
	d = with_interleave(*DRAFT(4, { .count = 1, GPUS(0) }, { .first = 1, .count = 1, GPUS(1) }, { .first = 2, .count = 1, GPUS(0) },
				    { .first = 3, .count = 1, GPUS(2) }),
		2);
	refused(&d, "stage 3: the GPUs differ from those of stage 1: expected the same GPUs (interleave 2)");
	d = (struct orr_plan_draft){ .micro_batch = 4 };
	refused(&d, "expected a number of stages that is a multiple of interleave, 1, found 0");
}

static void names_badly(struct orr_plan *p)
{
	struct orr_plan_value v;
	orr_plan_evaluate(p, DRAFT(4, { ALL, GPUS(0) }), &v);
	orr_plan_put(p, "0123456789012345678901234567890123456789012345678901234567890", 1);
}

static void names_well(struct orr_plan *p)
{
	struct orr_plan_value v;
	orr_plan_evaluate(p, DRAFT(4, { ALL, GPUS(0) }), &v);
	orr_plan_put(p, "012345678901234567890123456789012345678901234567890123456789", 1);
}

static void names_nothing(struct orr_plan *p)
{
	orr_plan_put(p, "", 1);
}

static void names_capital(struct orr_plan *p)
{
	orr_plan_put(p, "Cut", 1);
}

static void does_nothing(struct orr_plan *p)
{
	(void)p;
}

static void failures(void)
{
	static const char names[] =
		"policy straight: orr_plan_put: expected a name of 1 to 60 lower-case letters, digits and '_', found \"";
	run(chain, names_badly, closed);
	ok(said.code && !strncmp(said.text, names, strlen(names)), "a name of 61 characters: %s", said.text);
	run(chain, names_nothing, closed);
	ok(said.code && !strncmp(said.text, names, strlen(names)), "an empty name");
	run(chain, names_capital, closed);
	ok(said.code && strstr(said.text, "found \"Cut\""), "a capital letter");
	run(chain, names_well, closed);
	ok(!said.code, "a name of 60 characters");
	run(chain, does_nothing, closed);
	same_text(said.text,
		"policy straight: the search evaluated no plan: expected a model, a cluster and batches for which its rules allow one",
		"a search without plans");
	returned = 3;
	run(chain, names_well, closed);
	same_text(said.text, "policy straight: search() failed without a message: expected a message in *err",
		"a search that returns a code");
	returned = 0;
}

/* ---- a transformer: pieces are its blocks; first and last stage share the embedding table ---- */

static void asks_blocks(struct orr_plan *p)
{
	struct orr_plan_facts f;
	struct orr_plan_piece piece;
	struct orr_plan_cost one, two, all;
	struct orr_plan_terms t = { .samples = 2, .shards = 2 };
	orr_plan_facts(p, &f);
	uint32_t blocks = 0;
	double sum = 0;
	for (uint32_t i = 0; i < f.pieces; i++) {
		orr_plan_piece(p, i, &piece);
		blocks += piece.is_block;
		sum += piece.params;
	}
	ok(f.blocks == 4 && f.heads == 4 && blocks == 4 && f.pieces == 8,
		"four blocks are four pieces of eight: the softmax belongs to the output layer");
	near_to(sum / f.params, 1, 1e-12, "pieces have all parameters");
	uint32_t first = 0;
	do
		orr_plan_piece(p, first++, &piece);
	while (!piece.is_block);
	first--;
	near_to(piece.out_bytes, 16 * 64 * 4, 0, "a block's output: seq x hidden values of 4 bytes");
	orr_plan_cost(p, 0, first, 1, &t, &one);
	orr_plan_cost(p, 0, first, 2, &t, &two);
	ok(one.forward_sums == 2 && two.forward_sums == 4 && one.backward_sums == 2 && one.recompute_sums == 0,
		"two all-reduces per block in forward and in backward (Megatron)");
	near_to(one.sum_bytes, 2 * 16 * 64 * 4, 0, "of the samples' hidden values");
	near_to(two.forward_s / one.forward_s, 2, 1e-12, "blocks cost the same");
	t.recompute = ORR_PLAN_RECOMPUTE_FULL;
	orr_plan_cost(p, 0, first, 2, &t, &all);
	near_to(all.recompute_s / two.forward_s, 1, 1e-9, "full recomputation repeats the forward pass");
	ok(all.recompute_sums == 4 && all.stored_bytes < two.stored_bytes && all.working_bytes > 0,
		"with its sums, keeps less, and needs room for one block");
	t.recompute = ORR_PLAN_RECOMPUTE_SELECTIVE;
	orr_plan_cost(p, 0, first, 2, &t, &all);
	ok(all.recompute_s > 0 && all.recompute_s < two.forward_s && all.stored_bytes < two.stored_bytes, "selective lies between");
}

static const char gpt[] = "gpt:hidden=64,layers=4,heads=4,seq=16,vocab=100";

/* Returns the bytes that a stage holds with one micro-batch in flight: 8 per parameter of a shard (weight and gradient, without
 * optimizer state) plus the kept activations. */
static double held(const struct orr_plan *p, uint32_t first, uint32_t count, const struct orr_plan_terms *t)
{
	struct orr_plan_cost c;
	orr_plan_cost(p, 0, first, count, t, &c);
	return c.params / (t->shards ? t->shards : 1) * 8 + c.stored_bytes + c.working_bytes;
}

static void executes(struct orr_plan *p, const struct orr_plan_draft *d, double most, const char *what)
{
	struct orr_plan_value v, x;
	orr_plan_evaluate(p, d, &v);
	orr_plan_execute(p, d, &x);
	ok(v.fits && x.fits && fabs(v.iteration_s / x.iteration_s - 1) <= most, "%s: the executor takes as long (%.3g of %.3g s)", what,
		v.iteration_s, x.iteration_s);
}

static void evaluates_blocks(struct orr_plan *p)
{
	struct orr_plan_facts f;
	struct orr_plan_gpu g;
	struct orr_plan_value v;
	struct orr_plan_cost c;
	orr_plan_facts(p, &f);
	orr_plan_gpu(p, 0, &g);
	uint32_t n = f.pieces, half = n / 2;
	/* The output layer uses the embedding table, vocab x hidden. If there are several stages, the last one holds a copy. */
	struct orr_plan_terms t = { .samples = 16 };
	double one = held(p, 0, n, &t), front = held(p, 0, half, &t), back = held(p, half, n - half, &t), alone = 0;
	for (uint32_t i = half; i < n; i++) {
		struct orr_plan_piece x;
		orr_plan_piece(p, i, &x);
		alone += x.params;
	}
	orr_plan_cost(p, 0, half, n - half, &t, &c);
	near_to(c.params - alone, 100 * 64, 1e-9, "the costs of the last of several stages have the table's parameters");
	orr_plan_evaluate(p, DRAFT(16, { .count = n, GPUS(0) }), &v);
	near_to(v.memory_share * g.memory_bytes / one, 1, 1e-9, "one stage holds the table once");
	const struct orr_plan_draft *two = DRAFT(16, { .count = half, GPUS(0) }, { .first = half, .count = n - half, GPUS(2) });
	orr_plan_evaluate(p, two, &v);
	near_to(v.memory_share * g.memory_bytes / fmax(front, back), 1, 1e-9, "the last of two stages holds it too");
	ok(back > front, "which has the larger memory here");
	/* One micro-batch passes through both stages and back. Then the gradient of the table, 25.6 kB, is summed over both end
	 * stages. */
	struct orr_plan_piece last;
	double both = 0;
	orr_plan_piece(p, half - 1, &last);
	orr_plan_cost(p, 0, 0, n, &t, &c);
	both = c.forward_s + c.backward_s + 2 * 16 * last.out_bytes / 1e9 + 100 * 64 * 4 / 1e9;
	near_to(v.iteration_s / both, 1, 1e-9, "time of one micro-batch, and the sum of the table's gradients");
	executes(p, two, 1e-6, "two stages of a transformer");
	/* With two replicas, their messages share a NIC, and so do the two all-reduces over both end stages. Gradients are summed
	 * inside the nodes. */
	struct orr_plan_cost ends[2];
	t.samples = 8;
	orr_plan_cost(p, 0, 0, half, &t, &ends[0]);
	orr_plan_cost(p, 0, half, n - half, &t, &ends[1]);
	two = DRAFT(16, { .count = half, GPUS(0, 1) }, { .first = half, .count = n - half, GPUS(2, 3) });
	orr_plan_evaluate(p, two, &v);
	double there = ends[0].forward_s + 16 * last.out_bytes / 1e9 + ends[1].forward_s + ends[1].backward_s;
	double back_s = there + 16 * last.out_bytes / 1e9 + ends[0].backward_s;
	both = fmax(back_s + ends[0].params * 4 / 10e9, there + (ends[1].params + 6400) * 4 / 10e9) + 2 * 6400 * 4 / 1e9;
	near_to(v.iteration_s / both, 1, 1e-9, "a grid of two stages and two replicas");
	executes(p, two, 0.02, "the grid");

	/* Two groups of two shards, one on each node: n_f + n_b all-reduces inside the node, then an all-reduce of each shard over
	 * both groups through one NIC. */
	t = (struct orr_plan_terms){ .samples = 4, .shards = 2 };
	struct orr_plan_draft d = *DRAFT(8, { .count = n, GPUS(0, 1, 2, 3), .shards = 2 });
	orr_plan_cost(p, 0, 0, n, &t, &c);
	orr_plan_evaluate(p, &d, &v);
	near_to(v.memory_share * g.memory_bytes / held(p, 0, n, &t), 1, 1e-9, "a shard holds half of the parameters");
	double pass = c.forward_s + c.backward_s + (c.forward_sums + c.backward_sums) * c.sum_bytes / 10e9;
	near_to(v.iteration_s / (2 * pass + c.params * 4 / 1e9), 1, 1e-9, "two micro-batches with sums of the shards, then of the groups");
	executes(p, &d, 0.02, "shards");
	d.recompute = ORR_PLAN_RECOMPUTE_FULL;
	t.recompute = ORR_PLAN_RECOMPUTE_FULL;
	orr_plan_cost(p, 0, 0, n, &t, &c);
	orr_plan_evaluate(p, &d, &v);
	pass = c.forward_s + c.backward_s + c.recompute_s + (c.forward_sums + c.backward_sums + c.recompute_sums) * c.sum_bytes / 10e9;
	near_to(v.iteration_s / (2 * pass + c.params * 4 / 1e9), 1, 1e-9, "recomputation repeats its sums");
	/* The shards are on different nodes. Of four rings of two, two cross the NIC of a node in each direction. */
	d = *DRAFT(8, { .count = n, GPUS(0, 2, 1, 3), .shards = 2 });
	t.recompute = ORR_PLAN_KEEP;
	orr_plan_cost(p, 0, 0, n, &t, &c);
	orr_plan_evaluate(p, &d, &v);
	pass = c.forward_s + c.backward_s + (c.forward_sums + c.backward_sums) * 2 * c.sum_bytes / 1e9;
	near_to(v.iteration_s / (2 * pass + c.params / 2 * 4 / 10e9), 1, 1e-9, "shards across nodes share the NICs, groups sum inside");
}

static void evaluates_twice(struct orr_plan *p)
{
	struct orr_plan_value v;
	struct orr_plan_facts f;
	orr_plan_facts(p, &f);
	uint32_t n = f.pieces;
	for (int i = 0; i < 2; i++) {
		orr_plan_evaluate(p, DRAFT(8, { .count = n, GPUS(0, 1) }), &v);
		orr_plan_evaluate(p, DRAFT(8, { .count = n, GPUS(0, 1), .shards = 2 }), &v);
		orr_plan_evaluate(p, DRAFT(8, { .count = n, GPUS(0, 1), .shards = 1 }), &v); /* one shard is equivalent to no shards */
		orr_plan_evaluate(p, DRAFT(4, { .count = n, GPUS(0, 1) }), &v);
		orr_plan_evaluate(p, DRAFT(8, { .count = n, GPUS(2, 3) }), &v);
		struct orr_plan_draft d = *DRAFT(8, { .count = n, GPUS(0, 1) });
		d.recompute = ORR_PLAN_RECOMPUTE_FULL;
		orr_plan_evaluate(p, &d, &v);
		static const double share[] = { 0.5, 0.5 }, other[] = { 0.25, 0.75 }, third[] = { 0.75, 0.25 };
		orr_plan_evaluate(p, DRAFT(8, { .count = n, GPUS(0, 1), .share = share }), &v);
		orr_plan_evaluate(p, DRAFT(8, { .count = n, GPUS(0, 1), .share = other }), &v);
		orr_plan_evaluate(p, DRAFT(8, { .count = n, GPUS(0, 1), .share = third }), &v);
	}
}

/* ---- grids: equal stages of all GPUs ---- */

static struct orr_plan_draft grid_now;

static void chooses_grid(struct orr_plan *p)
{
	struct orr_plan_value v;
	orr_plan_evaluate(p, &grid_now, &v);
	orr_plan_choose(p, &grid_now, NAN);
}

static bool grid(struct orr_plan_draft d)
{
	grid_now = d;
	run(gpt, chooses_grid, closed);
	return !said.code;
}

enum { PIECES = 8 }; /* four blocks, and the layers before and after them */

static void grids(void)
{
	static const uint32_t inner[] = { 0, 1, 2, 3 }, outer[] = { 0, 2, 1, 3 };
	for (int i = 0; i < 2; i++) {
		const uint32_t *gpu = i ? outer : inner;
		ok(grid(*DRAFT(4, { .count = PIECES / 2, .gpu = gpu, .n_gpus = 2 },
			   { .first = PIECES / 2, .count = PIECES - PIECES / 2, .gpu = gpu + 2, .n_gpus = 2 })) &&
				file_has("\"policy\":\"megatron\"") && file_has("\"tp\":\"1\"") && file_has("\"pp\":\"2\"") &&
				file_has("\"interleave\":\"1\"") && file_has("\"sequence_parallel\":\"false\"") &&
				file_has("\"zero\":\"false\"") && file_has("\"micro_batches\":\"4\"") &&
				file_has(i ? "\"order\":\"tp-pp-dp\"" : "\"order\":\"tp-dp-pp\"") &&
				file_has(i ? "\"gpus\":\"0,2\"" : "\"gpus\":\"2-3\""),
			"two stages of two replicas, %s", i ? "stage by stage" : "replicas first");
	}
	struct orr_plan_draft d = *DRAFT(4, { .count = PIECES, .gpu = inner, .n_gpus = 4, .shards = 2 });
	d.sequence_parallel = d.zero = true;
	d.recompute = ORR_PLAN_RECOMPUTE_SELECTIVE;
	ok(grid(d) && file_has("\"tp\":\"2\"") && file_has("\"pp\":\"1\"") && file_has("\"sequence_parallel\":\"true\"") &&
			file_has("\"zero\":\"true\"") && file_has("\"recompute\":\"selective\"") && file_has("\"shards\":2"),
		"shards with sequence parallelism and sharded state");
	same_text(note("choice"),
		"1 stage: layers x GPUs 53x4/2; micro-batches of 4; recompute selective; optimizer state sharded; 1 evaluations",
		"its choice");
	d = *DRAFT(4, { .count = 2, .gpu = inner, .n_gpus = 2 }, { .first = 2, .count = 1, .gpu = inner + 2, .n_gpus = 2 },
		{ .first = 3, .count = 1, .gpu = inner, .n_gpus = 2 }, { .first = 4, .count = PIECES - 4, .gpu = inner + 2, .n_gpus = 2 });
	d.interleave = 2;
	ok(grid(d) && file_has("\"interleave\":\"2\"") && file_has("\"pp\":\"2\"") &&
			strstr(note("choice"), "; interleave 2 (a pipeline of 2 sets of GPUs with 2 stages each); ") &&
			metric("plan_gpus") == 4 && metric("plan_stages") == 4,
		"two sets of GPUs with two stages each");
	d.micro_batch = 16. / 3;
	d.interleave = 2;
	ok(!grid(d), "three micro-batches of two sets with two stages each do not fit");
	/* These plans are not grids: one omits a GPU, one has shares, one has unequal stages. Policy dapple runs them without further
	 * options. */
	static const double share[] = { 0.75, 0.25 };
	const struct orr_plan_draft other[] = { *DRAFT(4, { .count = PIECES, .gpu = inner, .n_gpus = 2 }),
		*DRAFT(4, { .count = 3, .gpu = inner, .n_gpus = 2, .share = share },
			{ .first = 3, .count = PIECES - 3, .gpu = inner + 2, .n_gpus = 2, .share = share }),
		*DRAFT(4, { .count = 3, .gpu = inner, .n_gpus = 3 }, { .first = 3, .count = PIECES - 3, .gpu = inner + 3, .n_gpus = 1 }) };
	for (int i = 0; i < 3; i++) {
		d = other[i];
		ok(grid(d) && file_has("\"policy\":\"dapple\"") && (i != 1 || file_has("\"device_shares\":\"0.75,0.25,0.75,0.25\"")),
			"stages that are no grid");
		d.zero = true;
		ok(!grid(d) && strstr(said.text, "interleaving, sequence parallelism and sharded optimizer state: expected equal stages"),
			"cannot shard the optimizer's state: %s", said.text);
	}
	d = *DRAFT(16, { .count = 3, .gpu = inner, .n_gpus = 2 }, { .first = 3, .count = PIECES - 3, .gpu = inner + 2, .n_gpus = 2 });
	ok(grid(d), "one micro-batch");
}

int main(void)
{
	int fd = mkstemps(path, 4);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!ok(f != NULL, "a temporary file"))
		return done();
	fprintf(f, "idx,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes\n");
	for (int i = 1; i <= 4; i++)
		fprintf(f, "%d,%c,%d,%d,%d,%d\n", i - 1, 'a' + i - 1, i, 2 * i, i * 4000000, i * 4000000);
	fclose(f);
	snprintf(chain, sizeof chain, "%s:batch=4", path);
	run(chain, asks, closed);
	run(chain, asks_adam, ",\"plan\":{\"checked\":0},\"step\":{\"optimizer\":\"adam\"}");
	run(chain, sends, closed);
	run(chain, evaluates, closed);
	reports();
	run(chain, counts_budget, ",\"plan\":{\"checked\":0,\"budget\":3},\"step\":{\"update_cost\":\"none\"}");
	refusals();
	failures();
	run(gpt, asks_blocks, closed);
	run(gpt, evaluates_blocks, closed);
	run(gpt, evaluates_twice, ",\"plan\":{\"checked\":20},\"step\":{\"update_cost\":\"none\"}");
	near_to(metric("plans_executed"), 8, 0, "plans that differ in one respect are different, equal ones are not");
	grids();
	result_free(result);
	unlink(path);
	return done();
}
