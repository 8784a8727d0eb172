/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queries of a step policy: the model, the cluster, costs and routes. Expected values come from the model's description, the
 * cost model and the options of the scenario, as orrery/step.h and docs/models/step.md define them. Further tests: the
 * stragglers' factors, the sources of compute times, the use of links, and the number of iterations before a steady state.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <float.h>
#include <stdlib.h>

static void (*build_now)(struct orr_step *s, uint64_t k);
static const struct fixture *fixture; /* fixture of the running test */
static orr_op last;
static uint32_t period_now; /* period of the graphs, in iterations */

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	(void)a, (void)err;
	last = 0;
	if (period_now)
		orr_step_period(s, period_now);
	return mem_zalloc(1, 1);
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)self, (void)err;
	build_now(s, k);
	return ORR_OK;
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_step_ops ops = { .create = create, .destroy = mem_free, .build = build };
static const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "test", "", "step", 0, no_params, &ops, sizeof ops };

static struct step_result run(struct fixture *f, void (*b)(struct orr_step *, uint64_t))
{
	struct step_result r = { 0 };
	struct orr_error e = { 0 };
	build_now = b;
	fixture = f;
	if (fixture_run(f, &policy, "", &r, &e)) {
		printf("Bail out! %s\n", e.text);
		exit(1);
	}
	return r;
}

static void work(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_after(s, a, last);
	last = a;
}

/* ---- the model and the cluster ---- */

static bool same_layer(const struct orr_layer_info *i, const struct dnn_layer *l)
{
	return !strcmp(i->name, l->name) && i->kind == l->kind && i->params == l->params && i->fwd_flops == l->fwd_flops &&
	       i->out_elems == l->out_elems && i->saved_elems == l->saved_elems && i->rows == l->rows && i->columns == l->columns &&
	       i->block == l->block && i->tensors == l->tensors;
}

/* Tests sizes. An element has 4 bytes, in mixed precision 2. As optimizer state Adam has two moments of 4 bytes and momentum has one;
 * mixed precision adds a master copy of 4 bytes. */
static void test_facts(void)
{
	static const struct {
		const char *optimizer;
		enum precision precision;
		double state, gradient;
	} known[] = { { "optimizer=sgd", PRECISION_FP32, 0, 4 }, { "optimizer=momentum", PRECISION_FP32, 4, 4 },
		{ "optimizer=adam", PRECISION_TF32, 8, 4 }, { "optimizer=sgd", PRECISION_FP16, 4, 2 },
		{ "optimizer=adam", PRECISION_BF16, 12, 2 } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct fixture *f = fixture_new("4x2:v100:racks=2", "star:bw=1GBps,lat=0", "bert-large", 16);
		struct orr_error e = { 0 };
		struct orr_step_facts x;
		fixture_set(f, known[i].optimizer);
		f->config.precision = known[i].precision;
		struct orr_step *s = step_facts_new(&f->config, &e);
		orr_step_facts(s, &x);
		ok(x.optimizer_bytes == known[i].state && x.gradient_bytes == known[i].gradient && x.weight_bytes == known[i].gradient &&
				x.activation_bytes == known[i].gradient,
			"%s, %s: bytes per parameter and element", known[i].optimizer, precision_name(known[i].precision));
		ok(x.gpus == 8 && x.nodes == 4 && x.batch == 16 && x.layers == f->dnn->n_layers && x.fc_first == f->dnn->fc_first,
			"GPUs, nodes, batch and layers");
		ok(x.blocks == 24 && x.hidden == 1024 && x.heads == 16 && x.seq == f->dnn->seq && x.vocab == f->dnn->vocab &&
				x.params == f->dnn->params,
			"dimensions of BERT-large: 24 layers of 1024 with 16 heads");
		step_facts_free(s);
		fixture_free(f);
	}
}

static void test_model(void)
{
	struct fixture *f = fixture_new("4x2:v100:racks=2", "star:bw=1GBps,lat=0", "bert-large", 16);
	struct orr_error e = { 0 };
	struct orr_layer_info i;
	struct orr_step *s = step_facts_new(&f->config, &e);
	uint32_t n = f->dnn->n_layers;
	bool same = true;
	double sum = 0, tail = 0;
	for (uint32_t l = 0; l < n; l++) {
		orr_step_layer(s, l, &i);
		same = same && same_layer(&i, &f->dnn->layer[l]);
		sum += f->dnn->layer[l].params;
		tail += l >= 3 ? f->dnn->layer[l].params : 0;
	}
	ok(same, "every layer is described as in the model");
	orr_step_layer(s, n, &i);
	ok(!*i.name && i.block == UINT32_MAX && i.params == 0, "a layer past the last has no name and no block");
	near_to(orr_step_params(s, 0, n), sum, 0, "parameters of all layers");
	near_to(orr_step_params(s, 3, UINT32_MAX), tail, 0, "parameters from layer 3 on");
	near_to(orr_step_params(s, 2, 1), f->dnn->layer[2].params, 0, "parameters of one layer");
	near_to(orr_step_params(s, 2, 0) + orr_step_params(s, n, 1), 0, 0, "no layers have none");
	/* Endpoints are GPUs 0..7, two per node, then hosts 8..11. Rack 0 has nodes 0 and 1, rack 1 nodes 2 and 3. */
	static const uint32_t node[12] = { 0, 0, 1, 1, 2, 2, 3, 3, 0, 1, 2, 3 };
	same = true;
	for (uint32_t d = 0; d < 12; d++) {
		same = same && orr_node_of(s, d) == node[d] && orr_rack_of(s, d) == f->cluster->node[node[d]].rack;
		same = same && orr_device_memory(s, d) == (d < 8 ? f->device[0]->memory_bytes : INFINITY);
	}
	ok(same, "node, rack and memory of each endpoint");
	ok(orr_rack_of(s, 3) != orr_rack_of(s, 4) && orr_rack_of(s, 8) == orr_rack_of(s, 9), "four nodes are in two racks");
	ok(orr_node_of(s, 12) == UINT32_MAX && orr_rack_of(s, 12) == UINT32_MAX, "an unknown device has no node and no rack");
	step_facts_free(s);
	fixture_free(f);
}

/* ---- costs ---- */

static void test_costs(void)
{
	struct fixture *f = fixture_new("2x1:v100", "star:bw=1GBps,lat=0", "bert-large", 16);
	struct orr_error e = { 0 };
	fixture_set(f, "optimizer=adam");
	struct orr_step *s = step_facts_new(&f->config, &e);
	const struct cost *c = f->cost[0];
	uint32_t n = f->dnn->n_layers;
	near_to(orr_cost(s, 1, ORR_PASS_FORWARD, 2, 5, 8, 1) / cost_range_s(c, 2, 5, DNN_FORWARD, 8, 1, false), 1, 1e-12,
		"forward pass by the cost model");
	near_to(orr_cost(s, 1, ORR_PASS_BACKWARD_DATA, 2, 5, 8, 1) / cost_range_s(c, 2, 5, DNN_BACKWARD_DATA, 8, 1, false), 1, 1e-12,
		"gradients of data by the cost model");
	near_to(orr_cost(s, 1, ORR_PASS_BACKWARD_WEIGHT, 2, 5, 8, 1) / cost_range_s(c, 2, 5, DNN_BACKWARD_WEIGHT, 8, 1, false), 1, 1e-12,
		"gradients of weights by the cost model");
	near_to(orr_cost(s, 0, ORR_PASS_FORWARD, 0, n, 16, 4) / cost_range_s(c, 0, n, DNN_FORWARD, 16, 4, false), 1, 1e-12,
		"products split over 4 devices");
	near_to(orr_cost_sequence_parallel(s, 0, ORR_PASS_FORWARD, 0, n, 16, 4) / cost_range_s(c, 0, n, DNN_FORWARD, 16, 4, true), 1, 1e-12,
		"sequence parallelism splits element-wise layers too");
	ok(orr_cost_sequence_parallel(s, 0, ORR_PASS_FORWARD, 0, n, 16, 4) < orr_cost(s, 0, ORR_PASS_FORWARD, 0, n, 16, 4),
		"which takes less time");
	near_to(orr_cost(s, 0, ORR_PASS_FORWARD, n - 2, 9, 16, 0) / cost_range_s(c, n - 2, 2, DNN_FORWARD, 16, 1, false), 1, 1e-12,
		"layers past the last are left out, and 0 shards are 1");
	ok(orr_cost(s, 2, ORR_PASS_FORWARD, 0, n, 16, 1) == 0 && orr_cost(s, 0, ORR_PASS_FORWARD, n, 1, 16, 1) == 0 &&
			orr_cost(s, 0, ORR_PASS_FORWARD, 0, n, 0, 1) == 0 && orr_cost(s, 0, (enum orr_pass)3, 0, n, 16, 1) == 0,
		"a host, a layer past the last, no samples and an unknown pass cost nothing");
	near_to(orr_update_cost(s, 0, 1e9) / cost_update_s(c, 1e9, 8), 1, 1e-12, "an update with Adam's 8 bytes of state");
	ok(orr_update_cost(s, 2, 1e9) == 0, "the cost of an update on a host is unknown");
	step_facts_free(s);
	fixture_set(f, "update_cost=none");
	s = step_facts_new(&f->config, &e);
	ok(orr_update_cost(s, 0, 1e9) == 0, "update_cost=none");
	step_facts_free(s);
	fixture_free(f);
}

static double passes(const struct orr_step *s, uint32_t device, uint32_t first, uint32_t n, double batch, uint32_t shards)
{
	double sum = 0;
	for (int p = ORR_PASS_FORWARD; p <= ORR_PASS_BACKWARD_WEIGHT; p++)
		sum += orr_cost(s, device, (enum orr_pass)p, first, n, batch, shards);
	return sum;
}

static double model_passes(const struct cost *c, uint32_t first, uint32_t n, double batch)
{
	return cost_range_s(c, first, n, DNN_FORWARD, batch, 1, false) + cost_range_s(c, first, n, DNN_BACKWARD_DATA, batch, 1, false) +
	       cost_range_s(c, first, n, DNN_BACKWARD_WEIGHT, batch, 1, false);
}

/* Tests that step.compute_s is the time of all passes for the batch and step.fc_share the classifier's share of this time. */
static void test_measured_compute(void)
{
	struct fixture *f = fixture_new("1x1:v100,1x1:a100", "star:bw=1GBps,lat=0", "alexnet", 16);
	struct orr_error e = { 0 };
	uint32_t n = f->dnn->n_layers, cut = f->dnn->fc_first;
	double conv = model_passes(f->cost[0], 0, cut, 16), fc = model_passes(f->cost[0], cut, n - cut, 16);
	fixture_set(f, "compute_s=2");
	struct orr_step *s = step_facts_new(&f->config, &e);
	near_to(passes(s, 0, 0, n, 16, 1), 2, 1e-12, "all passes over all layers take compute_s");
	near_to(passes(s, 0, 0, n, 4, 1), 0.5, 1e-12, "a quarter of the batch takes a quarter");
	near_to(passes(s, 0, 0, n, 16, 4), 0.5, 1e-12, "four devices take a quarter each");
	near_to(passes(s, 0, 0, cut, 16, 1), 2 * conv / (conv + fc), 1e-12, "the cost model divides the time between the layers");
	near_to(passes(s, 0, cut - 1, 2, 16, 1), 2 * model_passes(f->cost[0], cut - 1, 2, 16) / (conv + fc), 1e-12,
		"a range with layers on both sides of the classifier's first");
	near_to(passes(s, 1, 0, n, 16, 1), 2 * model_passes(f->cost[1], 0, n, 16) / (conv + fc), 1e-12,
		"another type keeps its speed relative to the first");
	step_facts_free(s);
	fixture_set(f, "fc_share=0.25");
	s = step_facts_new(&f->config, &e);
	near_to(passes(s, 0, cut, n - cut, 16, 1), 0.5, 1e-12, "fc_share=0.25: the classifier takes a quarter of 2 s");
	near_to(passes(s, 0, 0, cut, 16, 1), 1.5, 1e-12, "fc_share=0.25: the layers before the classifier take the rest of 2 s");
	step_facts_free(s);
	fixture_set(f, "fc_share=0");
	s = step_facts_new(&f->config, &e);
	near_to(passes(s, 0, cut, n - cut, 16, 1), 0, 0, "fc_share=0: the classifier takes no time");
	step_facts_free(s);
	fixture_set(f, "compute_s=0");
	ok(!step_facts_new(&f->config, &e) && e.code == ORR_EINPUT &&
			strstr(e.text, "step.fc_share: this option divides \"step.compute_s\""),
		"%s", e.text);
	fixture_free(f);
	f = fixture_new("1x1:v100", "star", "gpt:hidden=64,layers=2,heads=2,seq=16,vocab=100", 1);
	e = (struct orr_error){ 0 };
	ok(f->dnn->fc_first == f->dnn->n_layers, "the transformer has no classifier");
	fixture_set(f, "compute_s=1");
	fixture_set(f, "fc_share=0.5");
	ok(!step_facts_new(&f->config, &e) && strstr(e.text, "expected a model with a fully connected classifier"), "%s", e.text);
	fixture_set(f, "fc_share=0");
	s = step_facts_new(&f->config, &e);
	near_to(s ? passes(s, 0, 0, f->dnn->n_layers, 1, 1) : NAN, 1, 1e-12, "a share of 0 is right for it");
	step_facts_free(s);
	fixture_free(f);
}

/* ---- routes ---- */

static double seen[12];

static void asks_routes(struct orr_step *s, uint64_t k)
{
	work(s, k);
	seen[0] = orr_bandwidth(s, 0, 1);
	seen[1] = orr_bandwidth_now(s, 0, 1);
	seen[2] = orr_bandwidth_now(s, 2, 3);
	seen[3] = orr_latency(s, 0, 1);
	seen[4] = orr_latency(s, 2, 2) + orr_latency(s, 2, 8) + orr_latency(s, 8, 2);
	seen[5] = fmin(orr_bandwidth(s, 2, 2), fmin(orr_bandwidth(s, 8, 2), orr_bandwidth(s, 2, 8)));
	seen[6] = fmin(orr_bandwidth_now(s, 2, 2), fmin(orr_bandwidth_now(s, 8, 2), orr_bandwidth_now(s, 2, 8)));
	seen[7] = orr_bandwidth(s, 7, 0);
}

static void test_routes(void)
{
	struct fixture *f = fixture_new("4x1:v100", "star:bw=1GBps,lat=3us,switch_lat=0", "lenet5", 8);
	fixture_set(f, "background=0>1:2.5e8,0>2:1e8");
	fixture_set(f, "iterations=1");
	struct step_result r = run(f, asks_routes);
	near_to(seen[0], 1e9, 1e-12, "the nominal bandwidth does not include background flows");
	near_to(seen[1], 6.5e8, 1e-12, "the bandwidth now does: two flows leave device 0");
	near_to(seen[2], 1e9, 1e-12, "other routes are free");
	near_to(seen[3], topo_latency(f->topo, 0, 1), 0, "latency of a route");
	ok(seen[3] > 2.9e-6 && seen[3] < 6.1e-6, "of one or two links of 3 us (%g)", seen[3]);
	ok(seen[4] == 0 && isinf(seen[5]) && isinf(seen[6]), "no latency and no limit to the device itself or to an unknown one");
	near_to(seen[7], 1e9, 1e-12, "a host has the bandwidth of its node");
	step_result_free(&r);
	fixture_free(f);
}

/* ---- stragglers: one device, 1 s of work ---- */

struct sample {
	double least, most, mean, mean_log, sd_log;
	bool is_settled;
};

static struct sample stragglers(const char *kind, const char *spread)
{
	struct fixture *f = fixture_new("1x1:v100", "star", "lenet5", 8);
	enum { N = 4000 };
	struct sample x = { .least = INFINITY };
	double squares = 0;
	fixture_set(f, "iterations=4000");
	fixture_set(f, kind);
	fixture_set(f, spread);
	fixture_set(f, "speeds=0:2");
	struct step_result r = run(f, work);
	for (int k = 0; k < N; k++) {
		double t = 2 * (r.iteration[k].end_s - r.iteration[k].start_s); /* doubled, because the device runs at twice the speed */
		x.least = fmin(x.least, t);
		x.most = fmax(x.most, t);
		x.mean += t / N;
		x.mean_log += log(t) / N;
		squares += log(t) * log(t) / N;
	}
	x.sd_log = sqrt(squares - x.mean_log * x.mean_log);
	x.is_settled = r.period != 0;
	step_result_free(&r);
	fixture_free(f);
	return x;
}

/* Tests stragglers. Bounds are four standard errors of 4,000 draws; the standard deviation is 0.289 for uniform(1, 2) and 0.5 for
 * exponential(0.5). */
static void test_stragglers(void)
{
	struct sample x = stragglers("stragglers=uniform", "straggler_spread=0.5");
	ok(x.least >= 1 - 1e-9 && x.least < 1.01 && x.most > 1.99 && x.most <= 2 + 1e-9 && fabs(x.mean - 1.5) < 0.019,
		"uniform: from 1 to 1 + 2x, mean 1 + x (%g to %g, mean %g)", x.least, x.most, x.mean);
	x = stragglers("stragglers=exponential", "straggler_spread=0.5");
	ok(x.least >= 1 - 1e-9 && x.least < 1.01 && x.most > 3.5 && fabs(x.mean - 1.5) < 0.032, "exponential: 1 + Exp(x), mean 1 + x (%g)",
		x.mean);
	x = stragglers("stragglers=lognormal", "straggler_spread=0.5");
	ok(fabs(x.mean_log) < 0.032 && fabs(x.sd_log - 0.5) < 0.023, "lognormal: the logarithm has mean 0 and deviation x (%g, %g)",
		x.mean_log, x.sd_log);
	ok(!x.is_settled, "iterations with stragglers never repeat");
	x = stragglers("stragglers=none", "straggler_spread=0.5");
	ok(fabs(x.mean - 1) < 1e-9 && x.is_settled, "without stragglers the spread has no effect");
}

static void refused(const char *pair, const char *message)
{
	struct fixture *f = fixture_new("2x1:v100", "star:bw=1GBps,lat=0", "lenet5", 8);
	struct step_result r = { 0 };
	struct orr_error e = { 0 };
	fixture_set(f, pair);
	build_now = work;
	ok(fixture_run(f, &policy, "", &r, &e) == ORR_EINPUT && strstr(e.text, message), "%s: %s", pair, e.text);
	step_result_free(&r);
	fixture_free(f);
}

static void accepted(const char *pair, double seconds, const char *what)
{
	struct fixture *f = fixture_new("2x1:v100", "star:bw=1GBps,lat=0", "lenet5", 8);
	fixture_set(f, pair);
	fixture_set(f, "iterations=1");
	struct step_result r = run(f, work);
	near_to(r.iteration[0].end_s, seconds, 1e-12, what);
	step_result_free(&r);
	fixture_free(f);
}

static void test_options(void)
{
	static const char speeds[] = "step.speeds: expected DEVICE:SPEED,.. with devices 0..3";
	static const char flows[] = "step.background: expected FROM>TO:BYTES_PER_SECOND,.. with endpoints 0..3";
	static const char *const bad_speeds[] = { "speeds=4:1", "speeds=-1:1", "speeds=0:0", "speeds=0:-1", "speeds=0:1000001", "speeds=0",
		"speeds=x:1", "speeds=0:x", "speeds=0:1,4:1" };
	static const char *const bad_flows[] = { "background=0>4:1", "background=4>0:1", "background=-1>0:1", "background=0>-1:1",
		"background=0>1:-1", "background=0>1", "background=0:1>1", "background=x>1:1", "background=0>x:1", "background=0>1:x",
		"background=0>1:1,0>9:1" };
	for (size_t i = 0; i < sizeof bad_speeds / sizeof *bad_speeds; i++)
		refused(bad_speeds[i], speeds);
	for (size_t i = 0; i < sizeof bad_flows / sizeof *bad_flows; i++)
		refused(bad_flows[i], flows);
	refused("background=0>1:1e15", "expected at most its capacity");
	accepted("speeds=3:2,0:0.5", 2, "half the speed takes twice as long, and hosts may have one");
	accepted("speeds=0:1000000", 1e-6, "the largest speed");
	accepted("background=0>3:0,3>0:0", 1, "background flows of 0 bytes/s from and to the last host");
}

/* ---- link use: iterations of one message of 1 s and 1 s of work; the first iteration is excluded ---- */

static void message_then_work(struct orr_step *s, uint64_t k)
{
	(void)k;
	orr_op m = orr_transfer(s, 0, 1, 1e9), w = orr_compute(s, 1, ORR_FORWARD, 1);
	orr_after(s, m, last);
	orr_after(s, w, m);
	last = w;
}

static void link_use(const char *exact)
{
	struct fixture *f = fixture_new("4x1:v100", "star:bw=2GBps,lat=0", "lenet5", 8);
	fixture_set(f, "iterations=9");
	fixture_set(f, exact);
	f->config.link_use = true;
	struct step_result r = run(f, message_then_work);
	uint32_t out = topo_nic(f->topo, 0, true), in = topo_nic(f->topo, 1, false), other = topo_nic(f->topo, 2, true);
	ok(r.n_links == f->topo->n_links, "%s: every link is reported", exact);
	near_to(r.iteration_s, 1.5, 1e-12, "1e9 bytes at 2e9 bytes/s, then 1 s of work");
	near_to(r.link[out].bytes_per_s, 1e9 / 1.5, 1e-9, "bytes over the measured time");
	near_to(r.link[out].busy, 1 / 3.0, 1e-9, "a third of the time");
	near_to(r.link[out].peak_Bps, 2e9, 1e-9, "at the full rate");
	near_to(r.link[in].bytes_per_s, 1e9 / 1.5, 1e-9, "the receiver's link carries the same");
	ok(r.link[other].bytes_per_s == 0 && r.link[other].busy == 0 && r.link[other].peak_Bps == 0,
		"links that are not used carry nothing");
	step_result_free(&r);
	f->config.link_use = false;
	r = run(f, message_then_work);
	ok(!r.link && !r.n_links, "link use is reported on request only");
	step_result_free(&r);
	fixture_free(f);
}

/* Tests that iterations in flight after the steady state was found, for which --check waits, are excluded. */
static void test_link_use(void)
{
	link_use("exact=true");
	link_use("exact=false");
}

/* ---- steady states ---- */

static void varied(struct orr_step *s, uint64_t k)
{
	orr_op a = orr_compute(s, 0, ORR_FORWARD, k % period_now ? 1 : 2);
	orr_after(s, a, last);
	last = a;
}

/* Tests the steady state: three equal periods after the first iteration. The first duration needs the end of another iteration, so 3
 * p + 2 iterations are simulated. */
static void test_steady(void)
{
	static const uint32_t periods[] = { 1, 2, 5, 32, 33 };
	for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
		struct fixture *f = fixture_new("1x1:v100", "star", "lenet5", 8);
		fixture_set(f, "iterations=200");
		period_now = periods[i];
		struct step_result r = run(f, varied);
		uint32_t p = period_now;
		double total = p > 1 ? 200 + (199 / p + 1) : 400;
		if (p <= 32)
			ok(r.period == p && r.simulated == 3 * p + 2, "period %u is found after %u iterations", p, (unsigned)r.simulated);
		else
			ok(!r.period && r.simulated == 200, "a period above 32 is not looked for");
		near_to(r.iteration[199].end_s, total, 1e-9, "the last iteration ends when all work is done");
		step_result_free(&r);
		fixture_free(f);
	}
	struct fixture *f = fixture_new("1x1:v100", "star", "lenet5", 8);
	period_now = 1;
	fixture_set(f, "iterations=60");
	fixture_set(f, "compression=dgc:warmup_iterations=3");
	struct step_result r = run(f, varied);
	ok(r.period == 1 && r.simulated == 3 + 2 + 4 * 3, "a warm-up of four densities for 3 iterations each comes first (%u)",
		(unsigned)r.simulated);
	ok(r.used & STEP_USED_STEADY_STATE && !(r.used & STEP_USED_EVERY_ITERATION), "the result says so");
	step_result_free(&r);
	fixture_set(f, "exact=true");
	r = run(f, varied);
	ok(!r.period && r.simulated == 60 && r.used & STEP_USED_EVERY_ITERATION && r.used & STEP_USED_STEADY_STATE,
		"exact=true simulates every iteration and reports that they repeat");
	near_to(r.iteration_s, 2, 1e-12, "with the same time");
	step_result_free(&r);
	fixture_free(f);
}

/* ---- the source of compute times ---- */

static void asks_cost(struct orr_step *s, uint64_t k)
{
	for (uint32_t d = 0; d < 2; d++) {
		orr_op a = orr_compute(s, d, ORR_FORWARD, orr_cost(s, d, ORR_PASS_FORWARD, 0, 100, 8, 1));
		(void)a;
	}
	(void)k;
}

static void test_source(void)
{
	struct fixture *f = fixture_new("1x1:v100,1x1:a100", "star", "lenet5", 8);
	struct step_result r = run(f, asks_cost);
	ok(strstr(r.cost_source, "v100: ") == r.cost_source && strstr(r.cost_source, "; a100: "), "each type has its source: %s",
		r.cost_source);
	ok(!r.kernels_by_law && !r.kernels_outside && isnan(r.profile_error), "no profile, no laws");
	step_result_free(&r);
	fixture_set(f, "compute_s=0.125");
	r = run(f, asks_cost);
	ok(strstr(r.cost_source, "0.125 s for the batch (step.compute_s), shares of layers by the cost model; v100: ") == r.cost_source,
		"step.compute_s comes first: %s", r.cost_source);
	step_result_free(&r);
	fixture_free(f);
}

int main(void)
{
	test_facts();
	test_model();
	test_costs();
	test_measured_compute();
	test_routes();
	test_stragglers();
	test_options();
	test_link_use();
	test_steady();
	test_source();
	return done();
}
