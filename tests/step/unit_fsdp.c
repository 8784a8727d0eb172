/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * FSDP: four equal layers by hand (the timelines below), volume and memory by ZeRO-3's closed forms (Rajbhandari et al., SC 2020,
 * sections 5 and 7), hybrid sharding by the volumes of its collectives.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct orr_policy orr_policy_fsdp, orr_policy_zero;

enum { N = 4 };
static const double U = 1e6; /* parameters of a layer */
static char model[64];

/* Writes a model of four layers whose passes take equal times. The input needs no gradient, so an empty layer comes first. */
static void write_model(void)
{
	snprintf(model, sizeof model, "fsdp_four.%d.json", (int)getpid());
	FILE *f = fopen(model, "w");
	if (!f)
		return;
	fprintf(f, "{\"name\": \"four\", \"input_elems\": 1000, \"layers\": [{\"name\": \"in\", \"kind\": \"elementwise\", \"flops\": 0, "
		   "\"in\": 0, \"out\": 0, "
		   "\"saved\": 0}");
	for (int i = 0; i < 4; i++)
		fprintf(f,
			", {\"name\": \"l%d\", \"kind\": \"linear\", \"params\": 1000000, \"tensors\": 1, \"matrix\": [1000, 1000], "
			"\"flops\": "
			"2000000, \"in\": 1000, \"out\": 1000, \"saved\": 1000, \"gemm\": [1, 1000, 1000, 1]}",
			i);
	fprintf(f, "]}\n");
	fclose(f);
}

struct outcome {
	int rc;
	double total_s, exposed_s, sent, sent_least, peak, params, forward_s, backward_s;
	uint32_t gathers;
	char choice[256], error[768];
};

/* One iteration; sets: options of the step world, separated by blanks. */
static struct outcome run_policy(
	const struct orr_policy *p, const char *cluster, const char *network, const char *name, const char *sets, const char *settings)
{
	struct fixture *f = fixture_new(cluster, network, name, 8);
	struct step_result r = { 0 };
	struct orr_error e = { 0 };
	char text[256], *save = NULL;
	static const char *const always[] = { "iterations=1", "update_cost=none", "ignore_memory=true", "merge=off" };
	for (int i = 0; i < 4; i++)
		fixture_set(f, always[i]);
	snprintf(text, sizeof text, "%s", sets);
	for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
		fixture_set(f, s);
	f->config.spans = 1;
	struct outcome o = { .params = f->dnn->params };
	o.rc = fixture_run(f, p, settings, &r, &e);
	snprintf(o.error, sizeof o.error, "%s", e.text);
	if (!o.rc) {
		o.total_s = r.iteration[0].end_s;
		o.sent_least = INFINITY;
		memcpy(o.choice, r.choice, sizeof o.choice);
		for (size_t i = 0; i < r.n_devices; i++) {
			o.sent = fmax(o.sent, r.device[i].sent_bytes);
			o.sent_least = fmin(o.sent_least, r.device[i].sent_bytes);
			o.exposed_s = fmax(o.exposed_s, r.device[i].exposed_s);
			if (r.device[i].device < f->topo->n_gpus)
				o.peak = fmax(o.peak, r.device[i].peak_memory_bytes);
		}
		for (size_t i = 0; i < r.n_spans; i++) {
			const struct step_span *x = &r.span[i];
			o.gathers += x->device == 0 && x->label && !strncmp(x->label, "gather", 6);
			o.forward_s += x->device == 0 && x->work == ORR_FORWARD ? x->end_s - x->start_s : 0;
			o.backward_s += x->device == 0 && x->work == ORR_BACKWARD ? x->end_s - x->start_s : 0;
		}
		step_result_free(&r);
	}
	fixture_free(f);
	return o;
}

static struct outcome run(const char *sets, const char *network, const char *settings)
{
	struct outcome o = run_policy(&orr_policy_fsdp, "4x1:v100", network, model, sets, settings);
	if (o.rc)
		printf("# %s\n", o.error);
	return o;
}

/*
 * F = 1, B = 2, G = R = 1.5 ms: G gathers a layer, R reduce-scatters its gradients, each 3/4 of 4 MB over the NIC. Times in ms:
 *
 * prefetch 1 forward   G0 0-1.5  G1 1.5-3  F0 1.5-2.5  G2 3-4.5  F1 3-4  G3 4.5-6  F2 4.5-5.5  F3 6-7
 *            backward  G3 7-8.5  G2 8.5-10  B3 8.5-10.5  R3 10.5-12  B2 10.5-12.5  G1 12-13.5  R2 13.5-15  B1 13.5-15.5
 *                      G0 15-16.5  R1 16.5-18  B0 16.5-18.5  R0 18.5-20
 * prefetch 2 forward   G0 0-1.5  G1 1.5-3  G2 3-4.5  G3 4.5-6, passes as above
 *            backward  G3 7-8.5  G2 8.5-10  G1 10-11.5  B3 8.5-10.5  R3 11.5-13  B2 10.5-12.5  G0 13-14.5  B1 12.5-14.5
 *                      R2 14.5-16  B0 14.5-16.5  R1 16-17.5  R0 17.5-19
 * prefetch 0           nothing overlaps: 4 (G + F) + 4 (G + B) + 4 R = 30
 * post, prefetch 1     forward as above; G3 7-8.5  B3 8.5-10.5  G2 10.5-12  R3 12-13.5  B2 12-14  G1 14-15.5  R2 15.5-17
 *                      B1 15.5-17.5  G0 17.5-19  R1 19-20.5  B0 19-21  R0 21-22.5
 */
static void test_by_hand(void)
{
	struct outcome o = run("compute_s=0.012", "star:bw=2GBps,lat=0", "");
	near_to(o.forward_s, 4e-3, 1e-9, "forward passes take 1 ms each");
	near_to(o.backward_s, 8e-3, 1e-9, "backward passes take 2 ms each");
	static const struct {
		const char *settings;
		double total, peak; /* peak: layers of parameters and gradients besides the shards */
	} row[] = { { "prefetch=0", 30e-3, 2 }, { "prefetch=1", 20e-3, 3 }, { "prefetch=2", 19e-3, 4 },
		{ "prefetch=1 backward_prefetch=post", 22.5e-3, 0 }, { "prefetch=1 backward_prefetch=none", 25e-3, 0 } };
	/* none: forward until 7; then G + B = 3.5 until 10.5; three times R + G + B = 5 until 25.5 - R overlaps nothing; R0: 27. */
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		double want = i == 4 ? 27e-3 : row[i].total;
		o = run("compute_s=0.012 optimizer=adam", "star:bw=2GBps,lat=0", row[i].settings);
		near_to(o.total_s, want, 1e-9, row[i].settings);
		near_to(o.exposed_s, want - 12e-3, 1e-9, "exposed communication is the rest");
		/* In a quarter: weights 4, gradients 4, moments 8 bytes; activations of 8 samples of 4 layers of 1000 elements. */
		double held = 16 * 4 * U / N + 8 * 4 * 1000 * 4.0;
		if (row[i].peak > 0)
			near_to(o.peak, held + row[i].peak * 4 * U, 1e-9, "peak: the shards, gathered layers and gradients in flight");
	}
	/* G = R = 0.5 ms: with prefetch only the first gathers of both passes and the last reduce-scatter are exposed. */
	o = run("compute_s=0.012", "star:bw=6GBps,lat=0", "prefetch=1");
	near_to(o.exposed_s, 1.5e-3, 1e-9, "fast network: 2 G + R are exposed");
	o = run("compute_s=0.012", "star:bw=6GBps,lat=0", "prefetch=0");
	near_to(o.exposed_s, 6e-3, 1e-9, "without prefetch: 8 G + 4 R");
	/* The last layer stays gathered: one gather less, and backward begins at once. */
	o = run("compute_s=0.012", "star:bw=6GBps,lat=0", "prefetch=1 reshard=not-last");
	near_to(o.exposed_s, 1e-3, 1e-9, "reshard=not-last: G + R are exposed");
	near_to(o.sent, 0.75 * 4 * U * (4 + 3 + 4), 1e-9, "reshard=not-last: three of four layers are gathered twice");
	o = run("compute_s=0.012", "star:bw=6GBps,lat=0", "prefetch=1 reshard=never");
	near_to(o.sent, 0.75 * 4 * U * (4 + 4), 1e-9, "reshard=never: 2 psi, as in ZeRO-2");
}

/* Volume 3 psi (n-1)/n; peak = 16 psi / n + activations + (prefetch + 1) gathered units + a unit's gradients, if messages take no time. */
static void test_closed_forms(void)
{
	static const char *const models[] = { "gpt:hidden=256,layers=6,heads=4,seq=64,vocab=512", "resnet50", "bert_base_s128" };
	for (int m = 0; m < 3; m++)
		for (int prefetch = 0; prefetch < 3; prefetch++)
			for (unsigned n = 2; n <= 8; n *= 2) {
				char cluster[32], set[64];
				snprintf(cluster, sizeof cluster, "%ux1:v100", n);
				snprintf(set, sizeof set, "prefetch=%d", prefetch);
				struct outcome o =
					run_policy(&orr_policy_fsdp, cluster, "star:bw=1GBps,lat=1us", models[m], "optimizer=adam", set);
				double volume = 3 * (n - 1.0) / n * o.params * 4;
				if (o.rc || fabs(o.sent / volume - 1) > 1e-9 || fabs(o.sent_least / volume - 1) > 1e-9)
					ok(0, "%s, %u GPUs: sent %.0f, expected 3 psi (n-1)/n = %.0f (%s)", models[m], n, o.sent, volume,
						o.error);
			}
	ok(1, "27 runs: each GPU sends 3 psi (n-1)/n");
	for (int prefetch = 0; prefetch < 4; prefetch++) {
		char set[64];
		snprintf(set, sizeof set, "prefetch=%d", prefetch);
		struct outcome o = run("optimizer=adam compute_s=0.012", "star:bw=1e9GBps,lat=0", set);
		near_to(o.peak, 16 * 4 * U / N + 8 * 4 * 1000 * 4.0 + fmin(prefetch + 1, 4) * 4 * U + 4 * U, 1e-9,
			"16 psi / n + (prefetch + 1) layers + the gradients of one");
	}
	struct outcome one = run_policy(&orr_policy_fsdp, "1x1:v100", "star", model, "optimizer=adam", "");
	near_to(one.peak, 16 * 4 * U + 8 * 4 * 1000 * 4.0, 1e-9, "one GPU holds everything and borrows nothing");
	near_to(one.gathers, 0, 0, "one GPU gathers nothing");
	/* A unit of at least 1.5 layers is two layers: 2 units, so 4 gathers. */
	near_to(run("", "star", "").gathers, 8, 0, "four units are gathered eight times");
	near_to(run("", "star", "unit_params=1.5e6").gathers, 4, 0, "units of two layers");
	near_to(run("", "star", "reduce_bytes=2").sent, 0.75 * 4 * U * (4 + 4 + 2), 1e-9, "gradients are reduced in 2 bytes");
}

/* Hybrid sharding: in groups of s of n GPUs, a GPU sends 3 psi (s-1)/s inside and 2 (g-1)/g psi/s between the g = n/s groups. */
static void test_hybrid(void)
{
	static const uint32_t shard[] = { 1, 2, 4, 8 };
	for (int i = 0; i < 4; i++) {
		char set[64];
		double s = shard[i], g = 8 / s;
		snprintf(set, sizeof set, "shard=%u", shard[i]);
		struct outcome o =
			run_policy(&orr_policy_fsdp, "2x4:v100", "star:bw=1GBps,nics=4", model, "optimizer=adam algorithm=ring", set);
		near_to(o.sent, 4 * 4 * U * (3 * (s - 1) / s + 2 * (g - 1) / g / s), 1e-9, set);
		ok(o.peak >= 16 * 4 * U / s, "memory of the shards: %.0f", o.peak);
	}
	/* Unequal GPUs are separate devices instead of lanes; the volume is the same. */
	struct outcome o = run_policy(&orr_policy_fsdp, "1x4:v100,1x4:a100", "star:bw=1GBps,nics=4", model, "algorithm=ring", "shard=4");
	near_to(o.sent, 4 * 4 * U * (3 * 0.75 + 0.25), 1e-9, "two types of GPU, a group each");
	o = run_policy(&orr_policy_fsdp, "4x1:v100", "star", model, "", "shard=3");
	ok(o.rc && strstr(o.error, "shard=3: expected a divisor of the number of GPUs, 4"), "a group size that does not fit: %s", o.error);
}

int main(void)
{
	write_model();
	test_by_hand();
	test_closed_forms();
	test_hybrid();
	unlink(model);
	return done();
}
