/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stanza and the parameter server with which its paper compares it. Expected values: byte counts and the closed form of
 * docs/models/step-stanza-ds-sync-ako.md; the published range is 1.34x to 13.9x (arXiv 1812.10624, abstract). Seconds per image
 * are published measurements: tensorflow r1 performance/benchmarks (P100; a V100 is taken as 1.6 times as fast) and
 * u39kun/deep-learning-benchmark (V100, batch 16). The FC share of the time is assumed.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct orr_policy orr_policy_stanza, orr_policy_parameter_server;

static const struct input {
	const char *model;
	double batch, image_s, fc_share;
	double conv_bytes, fc_bytes, border; /* bytes from the shapes of torchvision */
} inputs[] = {
	{ "alexnet", 128, 1 / (2987 * 1.6), 0.10, 4 * 2469696.0, 4 * 58631144.0, 9216 },
	{ "vgg16", 32, 0.0835 / 16, 0.03, 4 * 14714688.0, 4 * 123642856.0, 25088 },
	{ "resnet152", 32, 0.1365 / 16, 0.003, 4 * 58143808.0, 4 * 2049000.0, 2048 },
	{ "inception_v3", 32, 1 / (142 * 1.6), 0.005, 4 * 21785568.0, 4 * 2049000.0, 2048 },
	{ "resnet50", 32, 1 / (219 * 1.6), 0.005, 4 * 23508032.0, 4 * 2049000.0, 2048 },
};
enum { MODELS = sizeof inputs / sizeof *inputs };

enum sync { RING, SERVER };

struct setting {
	uint32_t nodes, servers; /* number of servers; 0: one on each node, beside the worker */
	enum sync sync;
	double Bps;
};

/* ---- the closed form, written from the definitions ---- */

static double ps_rate(const struct input *m, const struct setting *x)
{
	double w = x->nodes - x->servers, n = x->nodes, W = m->conv_bytes + m->fc_bytes;
	double push = x->servers ? fmax(W, w / x->servers * W) / x->Bps : W * (n - 1) / n / x->Bps;
	return w * m->batch / (m->batch * m->image_s + 2 * push);
}

static double stanza_s(const struct input *m, const struct setting *x, double f)
{
	double c = x->nodes - f, t = m->batch * m->image_s;
	double per = fmax(c / f, 1); /* batches of an FC worker: each comes from one CONV worker */
	double act = 2 * per * m->batch * m->border * 4 / x->Bps;
	double sync = x->sync == RING ? 2 * (c - 1) / c * m->conv_bytes / x->Bps : 2 * c * m->conv_bytes / x->Bps;
	return t * (1 - m->fc_share) + t * m->fc_share * per + act + fmax(sync, 2 * (f - 1) / f * m->fc_bytes / x->Bps);
}

static double stanza_rate(const struct input *m, const struct setting *x, double f)
{
	return (x->nodes - f) * m->batch / stanza_s(m, x, f);
}

/* ---- the simulation ---- */

static double simulate(
	const struct input *m, const struct setting *x, const struct orr_policy *p, const char *set, char *choice, double *sent)
{
	char cluster[64], network[64], pair[64];
	struct step_result r;
	struct orr_error e = { 0 };
	snprintf(cluster, sizeof cluster, "%ux1:v100", x->nodes);
	snprintf(network, sizeof network, "star:bw=%.0fbps,lat=0", x->Bps * 8);
	struct fixture *f = fixture_new(cluster, network, m->model, m->batch);
	snprintf(pair, sizeof pair, "compute_s=%.17g", m->batch * m->image_s);
	fixture_set(f, pair);
	snprintf(pair, sizeof pair, "fc_share=%.17g", m->fc_share);
	fixture_set(f, pair);
	fixture_set(f, "update_cost=none");
	fixture_set(f, "ignore_memory=true");
	fixture_set(f, "iterations=6");
	if (fixture_run(f, p, set, &r, &e)) {
		printf("# %s\n", e.text);
		fixture_free(f);
		return NAN;
	}
	double rate = r.samples_per_s;
	if (choice)
		snprintf(choice, 256, "%.255s", r.choice);
	if (sent)
		*sent = r.device[0].sent_bytes;
	step_result_free(&r);
	fixture_free(f);
	return rate;
}

static double simulate_ps(const struct input *m, const struct setting *x)
{
	char set[160];
	snprintf(set, sizeof set, "placement=%s servers=%u push_overlap=false pull=iteration message_bytes=1e12",
		x->servers ? "dedicated" : "gpu", x->servers);
	return simulate(m, x, &orr_policy_parameter_server, set, NULL, NULL);
}

static double simulate_stanza(const struct input *m, const struct setting *x, unsigned f, char *choice, double *sent)
{
	char set[96];
	snprintf(set, sizeof set, "conv_sync=%s fc_workers=%u", x->sync == RING ? "ring" : "server", f);
	return simulate(m, x, &orr_policy_stanza, set, choice, sent);
}

/* ---- properties ---- */

/* Checks bytes per worker and iteration at b = 32 with one FC worker; labels are ignored. */
static void test_bytes(void)
{
	static const double ps_MB[] = { 488.8, 1106.9, 481.5 }, stanza_MB[] = { 22.1, 124.1, 465.7 };
	for (int i = 0; i < 3; i++) {
		struct input m = inputs[i];
		m.batch = 32;
		double W = m.conv_bytes + m.fc_bytes, bytes = 2 * (m.conv_bytes + m.batch * m.border * 4), sent;
		ok(fabs(2 * W / 1e6 - ps_MB[i]) < 0.06, "%s: a parameter server's worker moves %.1f MB", m.model, ps_MB[i]);
		ok(fabs(bytes / 1e6 - stanza_MB[i]) < 0.06, "%s: a CONV worker moves %.1f MB", m.model, stanza_MB[i]);
		struct setting x = { 5, 1, SERVER, 1.25e9 };
		simulate_stanza(&m, &x, 1, NULL, &sent);
		near_to(sent, bytes / 2, 1e-12, "the simulated CONV worker sends exactly half of that volume");
	}
}

/* Compares simulated flows with the closed form. */
static void test_consistency(void)
{
	static const struct setting rows[] = { { 5, 1, SERVER, 1.25e9 }, { 10, 1, SERVER, 1.25e9 }, { 5, 1, RING, 1.25e9 },
		{ 10, 2, RING, 1.25e9 }, { 10, 0, RING, 1.25e9 } };
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
		for (size_t i = 0; i < MODELS; i++) {
			const struct input *m = &inputs[i];
			double a = simulate_stanza(m, &rows[r], 1, NULL, NULL), b = simulate_ps(m, &rows[r]);
			double want = stanza_rate(m, &rows[r], 1) / ps_rate(m, &rows[r]);
			ok(fabs(a / b / want - 1) < 0.01, "%s, %u nodes, %u servers, %s: %.2fx simulated, %.2fx in closed form", m->model,
				rows[r].nodes, rows[r].servers, rows[r].sync == RING ? "ring" : "server", a / b, want);
		}
}

/* Tests the upper end of the published speed-ups, 13.9x. */
static void test_top_end(void)
{
	struct setting x = { 10, 1, SERVER, 1.25e9 };
	double up = simulate_stanza(&inputs[0], &x, 1, NULL, NULL) / simulate_ps(&inputs[0], &x);
	ok(fabs(up / 13.9 - 1) < 0.10, "AlexNet on 10 nodes, one dedicated server: %.2fx, published up to 13.9x", up);
}

/* Returns the speed-up of a model in a setting. The closed form covers the whole range, the simulation a few points. */
static double gain(size_t model, uint32_t n, uint32_t servers, enum sync sync, double gbps)
{
	struct setting x = { n, servers, sync, gbps * 1.25e8 };
	return stanza_rate(&inputs[model], &x, 1) / ps_rate(&inputs[model], &x);
}

static double simulated_gain(size_t model, uint32_t n, uint32_t servers, enum sync sync, double gbps)
{
	struct setting x = { n, servers, sync, gbps * 1.25e8 };
	return simulate_stanza(&inputs[model], &x, 1, NULL, NULL) / simulate_ps(&inputs[model], &x);
}

static bool dense_above_others(uint32_t n, uint32_t servers, enum sync sync, double gbps, bool is_simulated)
{
	double (*g)(size_t, uint32_t, uint32_t, enum sync, double) = is_simulated ? simulated_gain : gain;
	double low = fmin(g(0, n, servers, sync, gbps), g(1, n, servers, sync, gbps));
	for (size_t i = 2; i < MODELS; i++)
		if (g(i, n, servers, sync, gbps) >= low)
			return false;
	return true;
}

static void test_orders(void)
{
	static const double speeds[] = { 1, 10, 25 };
	bool above = true, server_order = true, ring_order = true, reversed = true;
	for (uint32_t n = 3; n <= 20; n++)
		for (uint32_t s = 1; s <= 2; s++)
			for (int b = 0; b < 3; b++)
				for (int y = 0; y < 2; y++) {
					enum sync sync = (enum sync)y;
					bool first = gain(0, n, s, sync, speeds[b]) > gain(1, n, s, sync, speeds[b]);
					above &= dense_above_others(n, s, sync, speeds[b], false);
					if (sync == SERVER)
						server_order &= first;
					else if (b == 2 || (b == 1 && n <= 12))
						ring_order &= first;
					else if (b == 0 && n >= 6)
						reversed &= !first;
				}
	ok(above, "AlexNet and VGG-16 gain more than the CONV-heavy models everywhere");
	ok(server_order && ring_order,
		"AlexNet gains more than VGG-16 through one server, and with a ring at 25 Gb/s and 10 Gb/s up to 12 nodes");
	ok(reversed, "at 1 Gb/s with a ring the order reverses from 6 nodes on");
	ok(dense_above_others(6, 1, RING, 10, true), "simulated: AlexNet gains more than VGG-16 at 6 nodes");
	ok(simulated_gain(0, 6, 1, RING, 1) < simulated_gain(1, 6, 1, RING, 1), "simulated: the order is reversed at 1 Gb/s");
	bool rises = true, falls = true, fewer = true;
	static const double all[] = { 1, 10, 25, 100 };
	for (size_t i = 0; i < MODELS; i++)
		for (int y = 0; y < 2; y++) {
			for (int b = 0; b < 4; b++)
				for (uint32_t n = 4; n <= 20; n++)
					rises &= gain(i, n, 1, (enum sync)y, all[b]) > gain(i, n - 1, 1, (enum sync)y, all[b]);
			for (int b = 1; b < 4; b++)
				for (uint32_t n = 3; n <= 20; n++)
					falls &= gain(i, n, 1, (enum sync)y, all[b]) < gain(i, n, 1, (enum sync)y, all[b - 1]);
			fewer &= gain(i, 5, 2, (enum sync)y, 10) < gain(i, 5, 1, (enum sync)y, 10) &&
				 gain(i, 10, 2, (enum sync)y, 10) < gain(i, 10, 1, (enum sync)y, 10);
		}
	if (!rises || !falls) /* say where */
		for (size_t i = 0; i < MODELS; i++)
			for (int y = 0; y < 2; y++)
				for (int b = 0; b < 4; b++)
					printf("# %s %s %g Gb/s: %.4f %.4f .. %.4f %.4f\n", inputs[i].model, y ? "server" : "ring", all[b],
						gain(i, 3, 1, (enum sync)y, all[b]), gain(i, 4, 1, (enum sync)y, all[b]),
						gain(i, 19, 1, (enum sync)y, all[b]), gain(i, 20, 1, (enum sync)y, all[b]));
	ok(rises, "the speed-up rises with the number of nodes");
	ok(falls, "the speed-up falls as bandwidth rises");
	ok(fewer, "the speed-up falls from one server to two");
	ok(simulated_gain(0, 5, 1, SERVER, 10) < simulated_gain(0, 10, 1, SERVER, 10),
		"simulated: the speed-up rises with the number of nodes");
	ok(simulated_gain(0, 5, 1, SERVER, 10) > simulated_gain(0, 5, 1, SERVER, 25), "simulated: the speed-up falls as bandwidth rises");
	ok(simulated_gain(0, 5, 1, SERVER, 10) > simulated_gain(0, 5, 2, SERVER, 10),
		"simulated: the speed-up falls from one server to two");
}

/* Tests that the policy chooses the best F of the closed form. */
static void test_choice(void)
{
	static const uint32_t nodes[] = { 5, 10, 20, 40, 80 };
	bool one_when_small = true;
	unsigned last[MODELS] = { 0 };
	bool grows = true;
	for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++)
		for (size_t i = 0; i < MODELS; i++) {
			struct setting x = { nodes[k], 1, RING, 1.25e9 };
			unsigned best = 1, chosen = 0;
			for (unsigned f = 2; f < nodes[k]; f++)
				if (stanza_rate(&inputs[i], &x, f) > stanza_rate(&inputs[i], &x, best))
					best = f;
			char choice[256];
			simulate_stanza(&inputs[i], &x, 0, choice, NULL);
			const char *f = strstr(choice, "F=");
			chosen = f ? (unsigned)strtoul(f + 2, NULL, 10) : 0;
			ok(chosen == best, "%s on %u nodes: F=%u is chosen, the enumeration's best is %u", inputs[i].model, nodes[k],
				chosen, best);
			one_when_small &= nodes[k] > 20 || best == 1;
			grows &= best >= last[i];
			last[i] = best;
		}
	ok(one_when_small, "one FC worker is enough up to 20 nodes");
	ok(grows && last[0] > 1, "more FC workers are best on many nodes");
}

/* Tests that the policy does not choose FC workers that would have no batch: with fractions of batches, 36 of 37 workers would be best. */
static void test_no_idle(void)
{
	static const struct input m = { "vgg16_cifar", 128, 1e-4, 0.3, 4 * 14719808.0, 4 * 318308.0, 512 };
	static const struct setting x = { 37, 1, RING, 1.25e8 };
	char choice[256];
	double chosen = simulate_stanza(&m, &x, 0, choice, NULL), best = 0;
	for (unsigned f = 1; f < x.nodes; f++)
		best = fmax(best, simulate_stanza(&m, &x, f, NULL, NULL));
	const char *f = strstr(choice, "F=");
	ok(f && strtoul(f + 2, NULL, 10) <= 18, "FC workers have a batch each: %s", choice);
	ok(chosen > 0.9 * best, "the choice is within 10 %% of the best simulated number of FC workers (%.4g)", chosen / best);
}

/* Tests the closed form with two workers per node: only the ring of the two FC workers uses links inside a node. */
static void test_inside(void)
{
	struct fixture *f = fixture_new("4x2:v100", "star:bw=1GBps,lat=0,gpu_bw=20GBps,gpu_lat=0", "alexnet", 32);
	struct step_result r = { 0 };
	struct orr_error e = { 0 };
	const struct input *m = &inputs[0];
	fixture_set(f, "compute_s=1");
	fixture_set(f, "fc_share=0.25");
	fixture_set(f, "ignore_memory=true");
	double sync = fmax(2 * 5.0 / 6 * m->conv_bytes / 1e9, m->fc_bytes / 20e9);
	double want = 0.75 + 3 * 0.25 + 2 * 3 * 2 * 32 * m->border * 4 / 1e9 + sync, got = NAN;
	if (!fixture_run(f, &orr_policy_stanza, "fc_workers=2", &r, &e) && strstr(r.choice, "closed form "))
		got = strtod(strstr(r.choice, "closed form ") + 12, NULL);
	near_to(got, want, 1e-5, "two workers per node share a NIC for activations; a ring crosses it once");
	step_result_free(&r);
	fixture_free(f);
}

/* Tests that overlap shortens iterations, by at most the communication that can be hidden. */
static void test_overlap(void)
{
	static const struct setting x = { 10, 1, SERVER, 1.25e9 };
	bool faster = true, no_miracle = true;
	double up[MODELS];
	for (size_t i = 0; i < MODELS; i++) {
		const struct input *m = &inputs[i];
		double plain = simulate_stanza(m, &x, 1, NULL, NULL), c = x.nodes - 1;
		double overlapped = simulate(m, &x, &orr_policy_stanza, "conv_sync=server fc_workers=1 overlap_conv_sync=true", NULL, NULL);
		double by_worker = simulate(m, &x, &orr_policy_stanza, "conv_sync=server fc_workers=1 fc_batching=worker", NULL, NULL);
		double late = simulate(m, &x, &orr_policy_stanza, "conv_sync=server fc_workers=2", NULL, NULL);
		double early = simulate(m, &x, &orr_policy_stanza, "conv_sync=server fc_workers=2 fc_sync=early", NULL, NULL);
		double ps = simulate(m, &x, &orr_policy_parameter_server, "placement=dedicated servers=1 pull=message", NULL, NULL);
		faster &= overlapped > plain && by_worker > plain;
		if (i >= 2) /* the FC gradients of VGG-16 are so large that they delay the activations */
			faster &= early > late;
		/* The NIC of the server receives all gradients, however early they are sent. So the gain is limited. */
		no_miracle &= c * m->batch / overlapped >= c * m->conv_bytes / x.Bps + m->batch * m->image_s * (1 - m->fc_share) / 3;
		up[i] = overlapped / ps;
	}
	ok(faster, "overlapped gradients, one batch per worker, an early FC average: all are faster");
	ok(no_miracle, "every step takes at least a forward pass and the transfers of the server's NIC");
	double low = fmin(up[2], up[3]);
	ok(up[0] > 12 && up[0] < 15 && low > 1.2 && low < 1.5,
		"with full overlap on both sides AlexNet gains %.2fx, the lower of ResNet-152 and Inception-v3 %.2fx", up[0], low);
}

static void test_errors(void)
{
	struct setting x = { 4, 1, RING, 1.25e9 };
	struct input m = inputs[0];
	ok(isnan(simulate(&m, &x, &orr_policy_stanza, "fc_workers=4", NULL, NULL)), "an FC worker per node is refused");
	ok(isnan(simulate(&m, &x, &orr_policy_stanza, "workers=9", NULL, NULL)), "more workers than GPUs are refused");
	m.model = "bert_base_s128";
	m.fc_share = -1;
	ok(isnan(simulate(&m, &x, &orr_policy_stanza, "", NULL, NULL)), "a model without a classifier is refused");
}

int main(void)
{
	test_bytes();
	test_consistency();
	test_top_end();
	test_orders();
	test_choice();
	test_no_idle();
	test_inside();
	test_overlap();
	test_errors();
	return done();
}
