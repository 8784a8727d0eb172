/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DS-Sync's times. Expected values: a ring all-reduce takes 2(n-1) a + 2(n-1)/n M/B per group; rack uplinks are shared max-min fairly.
 * If all groups of successive rounds intersect, the mean iteration equals that of the slowest group. So the speed-up is rho(N)/rho(s)
 * with any contention.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct orr_policy orr_policy_ds_sync, orr_policy_allreduce;

static double rho(double n)
{
	return 2 * (n - 1) / n;
}

/* Returns the mean seconds of an iteration. options: of the step world, separated by blanks. */
static double iteration(const char *cluster, const char *network, const char *model, const char *options, const struct orr_policy *p,
	const char *set, double *model_bytes)
{
	struct step_result r;
	struct orr_error e = { 0 };
	struct fixture *f = fixture_new(cluster, network, model, 1);
	char *text = strdup(options), *save = NULL;
	for (char *o = strtok_r(text, " ", &save); o; o = strtok_r(NULL, " ", &save))
		fixture_set(f, o);
	free(text);
	fixture_set(f, "update_cost=none");
	fixture_set(f, "ignore_memory=true");
	f->config.check = false;
	if (model_bytes)
		*model_bytes = f->dnn->params * 4;
	double t = NAN;
	if (fixture_run(f, p, set, &r, &e))
		printf("# %s\n", e.text);
	else
		t = r.iteration_s;
	step_result_free(&r);
	fixture_free(f);
	return t;
}

static const char no_work[] = "compute_s=1e-15";
static const char bsp[] = "algorithm=ring overlap=false fusion=none";

/* Tests the speed-up over all-reduce if communication is limited only by bandwidth, and only by latency. */
static void test_uniform(void)
{
	static const struct {
		uint32_t n, s;
		const char *schedule;
		double bandwidth, latency;
	} rows[] = { { 4, 2, "pairs", 1.5, 3 }, { 16, 4, "grid", 1.25, 5 }, { 16, 2, "hypercube", 1.875, 15 },
		{ 32, 2, "hypercube", 1.9375, 31 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char cluster[32], set[64];
		snprintf(cluster, sizeof cluster, "%ux1:v100", rows[i].n);
		snprintf(set, sizeof set, "schedule=%s", rows[i].schedule);
		double a = iteration(cluster, "star:bw=10Gbps,lat=0", "lenet5", no_work, &orr_policy_allreduce, bsp, NULL);
		double b = iteration(cluster, "star:bw=10Gbps,lat=0", "lenet5", no_work, &orr_policy_ds_sync, set, NULL);
		ok(fabs(a / b / rows[i].bandwidth - 1) < 1e-3, "N=%u, s=%u, bandwidth alone: %.4fx, want %.4fx", rows[i].n, rows[i].s,
			a / b, rows[i].bandwidth);
		/* 240 kB at 10 PB/s take negligible time compared to 1 s of latency. */
		a = iteration(cluster, "star:bw=10000000GBps,lat=1s", "lenet5", no_work, &orr_policy_allreduce, bsp, NULL);
		b = iteration(cluster, "star:bw=10000000GBps,lat=1s", "lenet5", no_work, &orr_policy_ds_sync, set, NULL);
		ok(fabs(a / b / rows[i].latency - 1) < 1e-3, "N=%u, s=%u, latency alone: %.3fx, want %.0fx", rows[i].n, rows[i].s, a / b,
			rows[i].latency);
	}
}

/* Tests the speed-up of whole iterations. */
static void test_workloads(void)
{
	static const struct {
		const char *model;
		double compute_s, bsp_s, ds_s, gain;
	} rows[] = { { "bert_large_qa_s384", 0.57, 2.17, 1.64, 1.33 }, { "wrn_50_2", 0.22, 0.55, 0.44, 1.25 } };
	for (size_t i = 0; i < 2; i++) {
		char options[64];
		double M;
		snprintf(options, sizeof options, "compute_s=%g", rows[i].compute_s);
		double a = iteration("4x1:v100", "star:bw=10Gbps,lat=0", rows[i].model, options, &orr_policy_allreduce, bsp, &M);
		double b = iteration("4x1:v100", "star:bw=10Gbps,lat=0", rows[i].model, options, &orr_policy_ds_sync, "", NULL);
		near_to(a, rows[i].compute_s + rho(4) * M / 1.25e9, 1e-9, "BSP takes T_c + rho(4) M / B");
		near_to(b, rows[i].compute_s + rho(2) * M / 1.25e9, 1e-9, "pairs take T_c + rho(2) M / B");
		ok(fabs(a / rows[i].bsp_s - 1) < 0.03 && fabs(b / rows[i].ds_s - 1) < 0.03 && fabs(a / b / rows[i].gain - 1) < 0.03,
			"%s: %.3f s and %.3f s, %.2fx", rows[i].model, a, b, a / b);
	}
	double last = 1;
	bool rises = true;
	for (int gbps = 100; gbps >= 1; gbps /= 3) { /* the gain must grow as the bandwidth falls */
		char network[40];
		snprintf(network, sizeof network, "star:bw=%dGbps,lat=0", gbps);
		double gain = iteration("4x1:v100", network, "wrn_50_2", "compute_s=0.22", &orr_policy_allreduce, bsp, NULL) /
			      iteration("4x1:v100", network, "wrn_50_2", "compute_s=0.22", &orr_policy_ds_sync, "", NULL);
		rises &= gain > last && gain < rho(4) / rho(2);
		last = gain;
	}
	ok(rises, "the gain rises as bandwidth falls, towards rho(4)/rho(2)");
	/* As in the authors' code there is one message per tensor, so the latency term is multiplied by the number of tensors. */
	static const char *const models[] = { "wrn_50_2", "bert_large_qa_s384" };
	static const double tensors[] = { 161, 391 };
	for (int i = 0; i < 2; i++) {
		double with[2];
		for (int k = 0; k < 2; k++)
			with[k] = iteration("4x1:v100", k ? "star:bw=10Gbps,lat=5us" : "star:bw=10Gbps,lat=0", models[i], no_work,
				&orr_policy_ds_sync, "fusion=tensor", NULL);
		near_to((with[1] - with[0]) / (2 * 2 * 5e-6), tensors[i], 1e-6,
			i ? "BERT-Large has 391 tensors, each with 2(s-1) messages" : "WRN-50-2 has 161");
	}
}

/* Racks with oversubscription, one GPU per host; times in units of M/B. */
struct fabric {
	uint32_t racks, hosts;
	double oversubscription;
};

static double on_fabric(const struct fabric *x, const struct orr_policy *p, const char *set)
{
	char cluster[64], network[96];
	double M;
	snprintf(cluster, sizeof cluster, "%ux1:v100:racks=%u", x->racks * x->hosts, x->racks);
	snprintf(network, sizeof network, "racks:bw=10Gbps,lat=0,switch_lat=0,oversubscription=%g", x->oversubscription);
	double t = iteration(cluster, network, "lenet5", no_work, p, set, &M);
	return t / (M / 1.25e9);
}

static void fabric_is(const struct fabric *x, double got, double want, double tolerance, const char *what)
{
	char name[160];
	snprintf(name, sizeof name, "%ux%u, %g:1: %s: %.4g M/B", x->racks, x->hosts, x->oversubscription, what, want);
	near_to(got, want, tolerance, name);
}

/* Writes groups such as "0-1-2,3-4-5": `size` members that are `stride` apart; groups start `next` apart. */
static void write_groups(char *out, size_t room, uint32_t groups, uint32_t next, uint32_t size, uint32_t stride)
{
	size_t at = (size_t)snprintf(out, room, "schedule=explicit partitions=");
	for (uint32_t g = 0; g < groups; g++)
		for (uint32_t i = 0; i < size; i++)
			at += (size_t)snprintf(out + at, room - at, "%u%s", g * next + i * stride,
				i + 1 < size     ? "-"
				: g + 1 < groups ? ","
						 : "");
}

static void test_row(const struct fabric *x, const double *want)
{
	uint32_t R = x->racks, k = x->hosts, n = R * k;
	double up = k / x->oversubscription, share = fmin(1, up / k), one = fmin(1, up);
	char inside[256], across[256];
	const char *leader = "overlap=false fusion=none algorithm=hierarchical-leader islands=rack pipeline_chunks=1024";
	write_groups(inside, sizeof inside, R, k, k, 1);
	write_groups(across, sizeof across, k, 1, R, k);
	fabric_is(x, on_fabric(x, &orr_policy_allreduce, bsp), rho(n) / one, 1e-9, "a ring in rack order");
	fabric_is(x, on_fabric(x, &orr_policy_allreduce, "overlap=false fusion=none algorithm=ring ring_order=interleaved"), rho(n) / share,
		1e-9, "a ring that crosses racks at every hop");
	fabric_is(x, on_fabric(x, &orr_policy_allreduce, "overlap=false fusion=none algorithm=hierarchical islands=rack"),
		rho(k) + rho(R) / k / share, 1e-9, "hierarchical, all ranks of a rack communicate");
	/* A chain of k ranks in c chunks takes (c + k - 2) / c. The table has the limit of this time, 1. */
	double lead = on_fabric(x, &orr_policy_allreduce, leader);
	fabric_is(x, lead, 2 * (1024 + k - 2.0) / 1024 + rho(R) / one, 1e-9, "hierarchical, one leader per rack, 1024 chunks");
	fabric_is(x, lead, want[3], 1e-2, "hierarchical, one leader per rack, unlimited chunks");
	fabric_is(x, on_fabric(x, &orr_policy_ds_sync, inside), rho(k), 1e-9, "groups are racks");
	fabric_is(x, on_fabric(x, &orr_policy_ds_sync, across), rho(R) / share, 1e-9, "all groups across racks at the same time");
	double ds = on_fabric(x, &orr_policy_ds_sync, "schedule=rack");
	fabric_is(x, ds, want[6], 1e-9, "groups inside racks, then across, mean of the two rounds");
	if (k > 2) {
		double single = on_fabric(x, &orr_policy_ds_sync, "schedule=rack-one");
		ok(single <= ds * (1 + 1e-9), "%ux%u, %g:1: rack-one, with one group across at a time, is not slower (%.3f)", R, k,
			x->oversubscription, single);
	}
	const double by_formula[] = { rho(n) / one, rho(n) / share, rho(k) + rho(R) / k / share, 2 + rho(R) / one, rho(k), rho(R) / share,
		(rho(k) + rho(R) / share) / 2 };
	bool same = true;
	for (int i = 0; i < 7; i++)
		same &= fabs(by_formula[i] / want[i] - 1) < 1e-9;
	ok(same, "the formulas give the numbers computed by hand");
}

static void test_racks(void)
{
	static const struct fabric rows[] = { { 4, 4, 1 }, { 4, 4, 2 }, { 4, 4, 4 }, { 4, 4, 8 }, { 2, 8, 4 }, { 2, 2, 2 } };
	/* Columns: ring in rack order, interleaved ring, 2-D, leader; DS-Sync inside racks, across racks, mean. */
	static const double want[][7] = { { 1.875, 1.875, 1.875, 3.5, 1.5, 1.5, 1.5 }, { 1.875, 3.75, 2.25, 3.5, 1.5, 3, 2.25 },
		{ 1.875, 7.5, 3, 3.5, 1.5, 6, 3.75 }, { 3.75, 15, 4.5, 5, 1.5, 12, 6.75 }, { 1.875, 7.5, 2.25, 3, 1.75, 4, 2.875 },
		{ 1.5, 3, 2, 3, 1, 2, 1.5 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		test_row(&rows[i], want[i]);
	/* In closed form every rank of a rack has its own NIC, also a leader. */
	double M;
	for (int i = 0; i < 2; i++) {
		const char *set = i ? "overlap=false fusion=none algorithm=hierarchical-leader islands=rack pipeline_chunks=64"
				    : "overlap=false fusion=none algorithm=hierarchical islands=rack";
		double t = iteration("16x1:v100:racks=4", "racks:bw=10Gbps,lat=0,switch_lat=0,oversubscription=1", "lenet5",
			"compute_s=1e-15 fidelity=analytic", &orr_policy_allreduce, set, &M);
		near_to(t / (M / 1.25e9), i ? 2 * (64 + 2) / 64.0 + 1.5 : 1.875, 1e-9,
			i ? "one leader per rack, in closed form" : "islands are racks, in closed form");
	}
	double last[4] = { 0 };
	bool rises = true;
	for (double r = 1; r <= 16; r *= 2) {
		const struct fabric x = { 4, 4, r };
		const double now[] = { on_fabric(&x, &orr_policy_allreduce, bsp),
			on_fabric(&x, &orr_policy_allreduce, "overlap=false fusion=none algorithm=ring ring_order=interleaved"),
			on_fabric(&x, &orr_policy_allreduce, "overlap=false fusion=none algorithm=hierarchical islands=rack"),
			on_fabric(&x, &orr_policy_ds_sync, "schedule=rack") };
		for (int i = 0; i < 4; i++) {
			rises &= now[i] >= last[i] * (1 - 1e-9);
			last[i] = now[i];
		}
		ok(now[0] <= now[2] * (1 + 1e-9) && now[2] <= now[1] * (1 + 1e-9),
			"4x4, %g:1: a ring in rack order is the fastest, interleaved the slowest", r);
	}
	ok(rises, "no scheme is faster with more oversubscription");
}

/* Tests that transient contention leaves the speed-up unchanged if groups intersect. */
static void test_contention(void)
{
	static const double p[] = { 0, 0.1, 0.25 }, f[] = { 0.5, 0.25 };
	bool small = getenv("ORR_SANITIZED") != NULL;
	char options[160];
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 2; j++) {
			snprintf(options, sizeof options, "compute_s=1e-15 iterations=%d contention_p=%g contention_f=%g", small ? 50 : 400,
				p[i], f[j]);
			double a = iteration("4x1:v100", "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_allreduce, bsp, NULL);
			double b = iteration("4x1:v100", "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_ds_sync, "", NULL);
			ok(fabs(a / b / 1.5 - 1) < (p[i] > 0 ? 0.02 : 0.005), "pairs, p=%g, f=%g: %.4fx, want 1.5x", p[i], f[j], a / b);
			a = iteration("16x1:v100", "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_allreduce, bsp, NULL);
			b = iteration("16x1:v100", "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_ds_sync, "schedule=grid", NULL);
			ok(fabs(a / b / 1.25 - 1) < (p[i] > 0 ? 0.02 : 0.005), "grid, p=%g, f=%g: %.4fx, want 1.25x", p[i], f[j], a / b);
		}
	/* A host that is always slow delays only its own group. */
	double a = iteration(
		"4x1:v100", "star:bw=10Gbps,lat=0", "lenet5", "compute_s=1e-15 background=0>1:6.25e8", &orr_policy_allreduce, bsp, NULL);
	double b = iteration(
		"4x1:v100", "star:bw=10Gbps,lat=0", "lenet5", "compute_s=1e-15 background=0>1:6.25e8", &orr_policy_ds_sync, "", NULL);
	ok(fabs(a / b / 1.5 - 1) < 0.01, "a half-used NIC: 3.0 against 2.0 M/B (%.3fx)", a / b);
}

/* Tests that transient contention delays slow-mixing schedules less than fast-mixing ones. Expected values, within 2 %, come from a
 * max-plus recursion of 20,000 iterations, written independently of this program. */
static void test_slow_mixing(void)
{
	static const struct {
		uint32_t n, size;
		double p, f;
		const char *schedule;
		double want;
	} rows[] = { { 16, 2, 0, 1, "hypercube", 1.875 }, { 16, 2, 0, 1, "random", 1.875 }, { 16, 4, 0, 1, "random", 1.25 },
		{ 16, 4, 0, 1, "grid", 1.25 }, { 16, 2, 0.02, 0.25, "hypercube", 2.09 }, { 16, 2, 0.02, 0.25, "random", 2.13 },
		{ 16, 4, 0.02, 0.25, "random", 1.29 }, { 16, 4, 0.02, 0.25, "grid", 1.25 }, { 16, 2, 0.1, 0.25, "hypercube", 2.42 },
		{ 16, 2, 0.1, 0.25, "random", 2.47 }, { 16, 4, 0.1, 0.25, "random", 1.31 }, { 16, 4, 0.1, 0.25, "grid", 1.25 },
		{ 32, 2, 0, 1, "hypercube", 1.938 }, { 32, 2, 0, 1, "random", 1.938 }, { 32, 4, 0, 1, "random", 1.29 },
		{ 32, 2, 0.1, 0.25, "hypercube", 2.68 }, { 32, 2, 0.1, 0.25, "random", 2.74 }, { 32, 4, 0.1, 0.25, "random", 1.38 } };
	bool small = getenv("ORR_SANITIZED") != NULL;
	double got[sizeof rows / sizeof *rows], flat = NAN;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char cluster[32], options[160], set[64];
		bool is_new = !i || rows[i].n != rows[i - 1].n || rows[i].p != rows[i - 1].p;
		snprintf(cluster, sizeof cluster, "%ux1:v100", rows[i].n);
		snprintf(options, sizeof options, "compute_s=1e-15 iterations=%d contention_p=%g contention_f=%g", small ? 200 : 3000,
			rows[i].p, rows[i].f);
		snprintf(set, sizeof set, "schedule=%s group_size=%u", rows[i].schedule, rows[i].size);
		if (is_new)
			flat = iteration(cluster, "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_allreduce, bsp, NULL);
		got[i] = flat / iteration(cluster, "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_ds_sync, set, NULL);
		double allow = rows[i].p <= 0 ? 0.005 : small ? 0.12 : 0.03;
		ok(fabs(got[i] / rows[i].want - 1) < allow, "%u workers, p=%g, f=%g, %s in groups of %u: %.3fx, want %.3fx", rows[i].n,
			rows[i].p, rows[i].f, rows[i].schedule, rows[i].size, got[i], rows[i].want);
	}
	ok(got[4] < got[8] && got[5] < got[9] && got[6] < got[10], "the gain grows with contention");
	ok(got[9] > got[8] && got[9] > got[10], "fresh pairs gain more than the hypercube and than groups of four");
	ok(got[16] > got[9] && got[15] > got[8], "the gain of fresh pairs is larger among 32 workers than among 16");
}

static void test_errors(void)
{
	static const char *const wrong[] = { "schedule=explicit", "schedule=explicit partitions=0-1,2",
		"schedule=explicit partitions=0-1,1-2", "schedule=explicit partitions=0-1,2-9", "schedule=explicit partitions=0-1/2-3",
		"schedule=grid group_size=3", "schedule=random group_size=3", "schedule=rack", "group_size=4",
		"schedule=hypercube group_size=4", "schedule=explicit partitions=0-1,2-3 group_size=2" };
	static const char *const uneven[] = { "islands=rack ring_order=interleaved", "dense_inside=true ring_order=interleaved" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(isnan(iteration("4x1:v100", "star", "lenet5", no_work, &orr_policy_ds_sync, wrong[i], NULL)), "refused: %s", wrong[i]);
	for (size_t i = 0; i < sizeof uneven / sizeof *uneven; i++)
		ok(isnan(iteration("4x2:v100:racks=2", "star", "lenet5", no_work, &orr_policy_allreduce, uneven[i], NULL)), "refused: %s",
			uneven[i]);
}

int main(void)
{
	test_uniform();
	test_workloads();
	test_racks();
	test_contention();
	test_slow_mixing();
	test_errors();
	return done();
}
