/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random graphs on random networks, each run in two ways that must agree: merged and separate lanes; leaps and single steps;
 * extrapolation and simulation. Expected values come from the slower way.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>

enum { MOST_OPS = 40, MOST_PLACES = 16, ITERATIONS = 12, TAIL = 4 };

struct plan {
	uint64_t seed;
	uint32_t lanes, positions, ops; /* lanes: 0 means ops without lanes */
	bool is_collective_heavy;
};

static struct plan plan;
static orr_op op[MOST_OPS], before[MOST_OPS];

static uint32_t below(struct rng *r, uint32_t n)
{
	return (uint32_t)(rng_uniform(r) * n);
}

static void shuffle(struct rng *r, uint32_t *v, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = below(r, i), x = v[i - 1];
		v[i - 1] = v[j];
		v[j] = x;
	}
}

/* Creates the ops by lane, by position, or in random order. */
static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	struct rng r;
	uint32_t map[256], n = plan.lanes * plan.positions, how;
	(void)a, (void)err;
	rng_init(&r, plan.seed, "map", 0);
	how = below(&r, 5);
	for (uint32_t i = 0; i < n; i++)
		map[i] = how == 1 ? i % plan.positions * plan.lanes + i / plan.positions : i;
	if (how == 2)
		shuffle(&r, map, n);
	if (plan.lanes)
		orr_step_lanes(s, plan.lanes, plan.positions, map);
	memset(before, 0, sizeof before);
	return mem_zalloc(1, 1);
}

static orr_op collective(struct orr_step *s, struct rng *r, uint32_t places)
{
	static const enum orr_collective_algorithm algorithms[] = { ORR_RING, ORR_MULTI_RING, ORR_DOUBLE_TREE, ORR_DIRECT,
		ORR_HIERARCHICAL };
	static const enum orr_collective_op ops[] = { ORR_ALL_REDUCE, ORR_ALL_GATHER, ORR_REDUCE_SCATTER };
	struct orr_collective c = { .bytes = 1e5 * (1 + below(r, 50)), .repeat = below(r, 4), .chunks = 3 };
	c.op = ops[below(r, 3)];
	c.algorithm = algorithms[below(r, c.op == ORR_ALL_REDUCE ? 5 : 2)];
	if (plan.lanes && below(r, 3)) {
		uint32_t size[16], n = 0;
		for (uint32_t d = 2; d <= plan.lanes; d++)
			if (plan.lanes % d == 0)
				size[n++] = d;
		uint32_t x = size[below(r, n)], stride = 1;
		while (plan.lanes % (2 * stride * x) == 0 && below(r, 2))
			stride *= 2;
		return orr_collective_lanes(s, below(r, plan.positions), x, stride, &c);
	}
	uint32_t device[MOST_PLACES];
	for (uint32_t i = 0; i < places; i++)
		device[i] = i;
	if (below(r, 2))
		shuffle(r, device, places);
	return orr_collective(s, &(struct orr_group){ device, 1 + below(r, places) }, &c);
}

static orr_op any_op(struct orr_step *s, struct rng *r, uint32_t places)
{
	uint32_t kind = below(r, plan.is_collective_heavy ? 16 : 10);
	if (kind < 4)
		return orr_compute(s, below(r, places), (enum orr_work)below(r, ORR_WORK_KINDS), 1e-4 * (1 + 20 * rng_uniform(r)));
	if (kind < 7)
		return orr_transfer(s, below(r, places), below(r, places), 1e5 * (1 + below(r, 30)));
	return kind == 7 ? orr_delay(s, 1e-3 * rng_uniform(r)) : collective(s, r, places);
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	struct rng r;
	uint32_t places = plan.lanes ? plan.positions : MOST_PLACES / 2;
	(void)self, (void)err;
	rng_init(&r, plan.seed, "graph", 0); /* the graph is equal in every iteration */
	for (uint32_t i = 0; i < plan.ops; i++) {
		bool is_work, is_sent;
		struct rng look = r;
		uint32_t kind = below(&look, plan.is_collective_heavy ? 16 : 10);
		is_work = kind < 4;
		is_sent = !is_work && kind != 7;
		op[i] = any_op(s, &r, places);
		for (uint32_t d = below(&r, 3); i && d--;)
			orr_after(s, op[i], op[below(&r, i)]);
		/* Each op waits for the same op of the previous iteration, so devices of different speed drift apart. Sometimes it
		 * waits for the whole previous iteration. */
		orr_after(s, op[i], before[i]);
		if (below(&r, 4))
			orr_after(s, op[i], before[plan.ops - 1]);
		uint32_t stream = 1 + below(&r, 3);
		if (is_sent && below(&r, 3))
			orr_on_stream(s, op[i], stream);
		orr_priority(s, op[i], (int32_t)below(&r, 5) - 2);
		double held = 1e6 * (1 + below(&r, 5));
		if (is_work) {
			uint32_t device = below(&r, places);
			orr_takes(s, op[i], device, held);
			orr_gives(s, op[i], device, held);
		}
	}
	memcpy(before, op, sizeof before);
	(void)k;
	return ORR_OK;
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_step_ops ops = { .create = create, .destroy = mem_free, .build = build };
static const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "random", "", "step", 0, no_params, &ops, sizeof ops };

static const char *const networks[] = { "star:bw=10Gbps,lat=5us", "racks:bw=10Gbps,lat=1us,oversubscription=2",
	"leaf-spine:leaves=4,spines=2,bw=10Gbps,lat=2us", "star:bw=10Gbps,lat=5us,nics=2,gpu_bw=15GBps", "fat-tree:k=4,bw=10Gbps,lat=1us",
	"star:bw=10Gbps,lat=0" };

static struct fixture *network_of(uint64_t seed)
{
	const char *cluster = seed % 3 == 2 ? "8x2:v100" : "16x1:v100";
	struct fixture *f = fixture_new(cluster, networks[seed % (sizeof networks / sizeof *networks)], "lenet5", 1);
	fixture_set(f, "iterations=12");
	return f;
}

static bool run(struct fixture *f, const char *set, struct step_result *r)
{
	struct orr_error e = { 0 };
	fixture_set(f, set);
	if (!fixture_run(f, &policy, "", r, &e))
		return true;
	printf("# seed %llu, %s: %s\n", (unsigned long long)plan.seed, set, e.text);
	return false;
}

/* Checks that the first n iterations end at the same times. */
static bool same_ends(const struct step_result *a, const struct step_result *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(fabs(a->iteration[i].end_s - b->iteration[i].end_s) <= 1e-9 * b->iteration[i].end_s)) {
			printf("# seed %llu: iteration %zu ends at %.17g, %.17g\n", (unsigned long long)plan.seed, i, a->iteration[i].end_s,
				b->iteration[i].end_s);
			return false;
		}
	return true;
}

static bool same_accounts(const struct step_result *a, const struct step_result *b)
{
	double t = 1e-9 * b->iteration_s;
	for (size_t i = 0; i < b->n_devices; i++) {
		const struct step_device *x = &a->device[i], *y = &b->device[i];
		if (x->device != y->device || fabs(x->compute_s - y->compute_s) > t || fabs(x->exposed_s - y->exposed_s) > t ||
			fabs(x->bubble_s - y->bubble_s) > t || fabs(x->idle_s - y->idle_s) > t ||
			fabs(x->sent_bytes - y->sent_bytes) > 1e-9 * y->sent_bytes || x->peak_memory_bytes != y->peak_memory_bytes) {
			printf("# seed %llu: device %u: exposed %.17g, %.17g; sent %.17g, %.17g\n", (unsigned long long)plan.seed,
				y->device, x->exposed_s, y->exposed_s, x->sent_bytes, y->sent_bytes);
			return false;
		}
	}
	return a->n_devices == b->n_devices;
}

static void test_lanes(unsigned cases, const char *fidelity)
{
	static const uint32_t shapes[][2] = { { 16, 1 }, { 8, 2 }, { 4, 4 }, { 2, 8 }, { 12, 1 }, { 6, 2 } };
	unsigned wrong = 0, merged = 0;
	for (unsigned i = 0; i < cases; i++) {
		const uint32_t *shape = shapes[i % 6];
		plan = (struct plan){ i, shape[0], shape[1], 4 + i % 20, i % 2 };
		struct fixture *f = network_of(i / 6);
		struct step_result a, b;
		fixture_set(f, fidelity);
		fixture_set(f, "exact=true");
		if (!run(f, "merge=auto", &a) || !run(f, "merge=off", &b)) {
			wrong++;
		} else {
			merged += a.was_merged;
			wrong += !same_ends(&a, &b, ITERATIONS) || !same_accounts(&a, &b);
			step_result_free(&a);
			step_result_free(&b);
		}
		fixture_free(f);
	}
	ok(!wrong, "%s: merged lanes agree with separate lanes (%u graphs, %u wrong)", fidelity, cases, wrong);
	ok(merged * 5 > cases && merged < cases, "%u of the graphs could be merged, but not all", merged);
}

static void test_leaps(unsigned cases)
{
	unsigned wrong = 0;
	for (unsigned i = 0; i < cases; i++) {
		plan = (struct plan){ 10000 + i, 0, 0, 3 + i % 12, i % 2 };
		struct fixture *f = network_of(i);
		struct step_result a, b;
		fixture_set(f, "exact=true");
		f->config.link_use = false;
		bool is_good = run(f, "merge=off", &a);
		f->config.link_use = true; /* link use is measured, so every step is simulated */
		if (!is_good || !run(f, "merge=off", &b)) {
			wrong++;
		} else {
			wrong += !same_ends(&a, &b, ITERATIONS) || a.flows != b.flows;
			step_result_free(&a);
			step_result_free(&b);
		}
		fixture_free(f);
	}
	ok(!wrong, "leaps end when single steps do (%u graphs, %u wrong)", cases, wrong);
}

static void test_steady(unsigned cases)
{
	unsigned wrong = 0, steady = 0;
	for (unsigned i = 0; i < cases; i++) {
		plan = (struct plan){ 20000 + i, 0, 0, 2 + i % 10, i % 2 };
		struct fixture *f = network_of(i);
		struct step_result a, b;
		fixture_set(f, "iterations=40");
		if (!run(f, "exact=false", &a) || !run(f, "exact=true", &b)) {
			wrong++;
		} else {
			steady += a.period != 0;
			wrong += !same_ends(&a, &b, 40 - TAIL);
			step_result_free(&a);
			step_result_free(&b);
		}
		fixture_free(f);
	}
	ok(!wrong, "extrapolation agrees with simulation (%u graphs, %u wrong)", cases, wrong);
	ok(steady * 4 > cases, "%u of the graphs reached a steady state", steady);
}

int main(void)
{
	unsigned cases = getenv("ORR_SANITIZED") ? 24 : 180;
	test_lanes(cases, "fidelity=flow");
	test_lanes(cases, "fidelity=analytic");
	test_leaps(cases);
	test_steady(cases);
	return done();
}
