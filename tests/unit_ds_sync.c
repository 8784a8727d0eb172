/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DS-Sync's times. Expected values: ring all-reduce 2(n-1) a + 2(n-1)/n M/B per group; max-min
 * shares of rack uplinks; where groups of successive rounds all intersect, the mean iteration
 * is that of the slowest group, so the speed-up is rho(N)/rho(s) whatever the contention.
 */
#include "step_fixture.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct orr_policy orr_policy_ds_sync, orr_policy_allreduce;

static double rho(double n)
{
	return 2 * (n - 1) / n;
}

/* Mean seconds of an iteration. options: of the step world, separated by spaces. */
static double iteration(const char *cluster, const char *network, const char *model, const char *options,
	const struct orr_policy *p, const char *set, double *model_bytes)
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

/* D4, D5: bandwidth alone; D6: latency alone. */
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
		ok(fabs(a / b / rows[i].bandwidth - 1) < 1e-3, "N=%u, s=%u, bandwidth alone: %.4fx, want %.4fx", rows[i].n, rows[i].s, a / b,
			rows[i].bandwidth);
		/* 240 kB at 10 PB/s take nothing beside 1 s of latency. */
		a = iteration(cluster, "star:bw=10000000GBps,lat=1s", "lenet5", no_work, &orr_policy_allreduce, bsp, NULL);
		b = iteration(cluster, "star:bw=10000000GBps,lat=1s", "lenet5", no_work, &orr_policy_ds_sync, set, NULL);
		ok(fabs(a / b / rows[i].latency - 1) < 1e-3, "N=%u, s=%u, latency alone: %.3fx, want %.0fx", rows[i].n, rows[i].s, a / b,
			rows[i].latency);
	}
}

/* D7, D8: whole iterations. */
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
	/* Tensor by tensor, as in the authors' code: the latency term is multiplied by the number of tensors. */
	double M, tensors[2];
	for (int k = 0; k < 2; k++)
		tensors[k] = iteration("4x1:v100", k ? "star:bw=10Gbps,lat=5us" : "star:bw=10Gbps,lat=0", "wrn_50_2", no_work,
			&orr_policy_ds_sync, "fusion=tensor", &M);
	near_to((tensors[1] - tensors[0]) / (2 * 2 * 5e-6), 161, 1e-6, "WRN-50-2 has 161 tensors, each with 2(s-1) messages");
}

/* D9: racks with oversubscription; times in units of M/B. */
static void test_racks(void)
{
	static const struct {
		uint32_t racks, hosts;
		double r;
	} rows[] = { { 4, 4, 1 }, { 4, 4, 2 }, { 4, 4, 4 }, { 4, 4, 8 }, { 2, 8, 4 }, { 2, 2, 2 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint32_t R = rows[i].racks, k = rows[i].hosts, n = R * k;
		double up = k / rows[i].r, M;
		char cluster[64], network[96];
		snprintf(cluster, sizeof cluster, "%ux1:v100:racks=%u", n, R);
		snprintf(network, sizeof network, "racks:bw=10Gbps,lat=0,switch_lat=0,oversubscription=%g", rows[i].r);
		double flat = iteration(cluster, network, "lenet5", no_work, &orr_policy_allreduce, bsp, &M), unit = M / 1.25e9;
		double ds = iteration(cluster, network, "lenet5", no_work, &orr_policy_ds_sync, "schedule=rack", NULL);
		double want = (rho(k) + rho(R) / fmin(1, up / k)) / 2;
		char name[160];
		snprintf(name, sizeof name, "%ux%u, %g:1: a ring in rack order", R, k, rows[i].r);
		near_to(flat / unit, rho(n) / fmin(1, up), 1e-2, name);
		snprintf(name, sizeof name, "%ux%u, %g:1: racks, then across, on average", R, k, rows[i].r);
		near_to(ds / unit, want, 1e-2, name);
		if (k < 3)
			continue;
		double one = iteration(cluster, network, "lenet5", no_work, &orr_policy_ds_sync, "schedule=rack-one", NULL);
		ok(one <= ds * (1 + 1e-9), "%ux%u, %g:1: one group across at a time is no slower (%.3f)", R, k, rows[i].r, one / unit);
	}
	double flat = iteration("16x1:v100:racks=4", "racks:bw=10Gbps,lat=0,switch_lat=0,oversubscription=4", "lenet5", no_work, &orr_policy_ds_sync,
		"schedule=explicit partitions=0-4-8-12-1-5-9-13-2-6-10-14-3-7-11-15", NULL);
	double M;
	double ds = iteration("16x1:v100:racks=4", "racks:bw=10Gbps,lat=0,switch_lat=0,oversubscription=4", "lenet5", no_work, &orr_policy_ds_sync,
		"schedule=rack", &M);
	near_to(flat / (M / 1.25e9), 7.5, 1e-2, "a ring that crosses racks at every hop takes 7.5 M/B");
	near_to(flat / ds, 2.0, 1e-2, "which racks-then-across beats by 2.0x");
}

/* D10: transient contention changes nothing where groups intersect; D11: it does where they mix slowly. */
static void test_contention(void)
{
	static const double p[] = { 0, 0.1, 0.25 }, f[] = { 0.5, 0.25 };
	bool small = getenv("ORR_SANITIZED") != NULL;
	char options[160];
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 2; j++) {
			snprintf(options, sizeof options, "compute_s=1e-15 iterations=%d contention_p=%g contention_f=%g", small ? 50 : 400, p[i],
				f[j]);
			double a = iteration("4x1:v100", "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_allreduce, bsp, NULL);
			double b = iteration("4x1:v100", "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_ds_sync, "", NULL);
			ok(fabs(a / b / 1.5 - 1) < (p[i] > 0 ? 0.02 : 0.005), "pairs, p=%g, f=%g: %.4fx, want 1.5x", p[i], f[j], a / b);
			a = iteration("16x1:v100", "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_allreduce, bsp, NULL);
			b = iteration("16x1:v100", "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_ds_sync, "schedule=grid", NULL);
			ok(fabs(a / b / 1.25 - 1) < (p[i] > 0 ? 0.02 : 0.005), "grid, p=%g, f=%g: %.4fx, want 1.25x", p[i], f[j], a / b);
		}
	snprintf(options, sizeof options, "compute_s=1e-15 iterations=%d contention_p=0.1 contention_f=0.25", small ? 200 : 3000);
	double a = iteration("16x1:v100", "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_allreduce, bsp, NULL);
	double b = iteration("16x1:v100", "star:bw=10Gbps,lat=0", "lenet5", options, &orr_policy_ds_sync,
		"schedule=random group_size=2", NULL);
	ok(fabs(a / b / 2.47 - 1) < (small ? 0.08 : 0.03), "random pairs absorb contention: %.3fx, want 2.47x", a / b);
	/* A host that is always slow drags down its own group alone. */
	a = iteration("4x1:v100", "star:bw=10Gbps,lat=0", "lenet5", "compute_s=1e-15 background=0>1:6.25e8", &orr_policy_allreduce, bsp,
		NULL);
	b = iteration("4x1:v100", "star:bw=10Gbps,lat=0", "lenet5", "compute_s=1e-15 background=0>1:6.25e8", &orr_policy_ds_sync, "",
		NULL);
	ok(fabs(a / b / 1.5 - 1) < 0.01, "a half-used NIC: 3.0 against 2.0 M/B (%.3fx)", a / b);
}

static void test_errors(void)
{
	static const char *const wrong[] = { "schedule=explicit", "schedule=explicit partitions=0-1,2", "schedule=explicit partitions=0-1,1-2",
		"schedule=explicit partitions=0-1,2-9", "schedule=explicit partitions=0-1/2-3", "schedule=grid group_size=3",
		"schedule=random group_size=3", "schedule=rack" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(isnan(iteration("4x1:v100", "star", "lenet5", no_work, &orr_policy_ds_sync, wrong[i], NULL)), "refused: %s", wrong[i]);
}

int main(void)
{
	test_uniform();
	test_workloads();
	test_racks();
	test_contention();
	test_errors();
	return done();
}
