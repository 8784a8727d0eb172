/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gradient compression: volumes and crossovers by the definitions of the methods (Lin et al. 2018, Seide et al. 2014,
 * Vogels et al. 2019), and their effect on a training step.
 */
#include "tests/net/coll_bytes.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"
#include "net/collective.h"
#include "step/compress.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_allreduce, orr_policy_bytescheduler, orr_policy_parameter_server;

static struct compression parse(const char *text)
{
	struct compression c = { 0 };
	struct orr_error e = { 0 };
	if (compression_parse(text, &c, &e))
		printf("Bail out! %s\n", e.text), exit(1);
	return c;
}

/* Returns the bytes that a rank sends (and receives) in a ring, for a model with these layers. */
static double volume(const char *method, const struct dnn *d, uint32_t n, uint64_t iteration)
{
	struct compression c = parse(method);
	struct compressed_shape z;
	double sum = 0;
	compression_shape(&c, d, 0, d->n_layers, n, iteration, 4, d->params * 4, &z);
	for (uint32_t i = 0; i < z.n_rounds; i++)
		sum += coll_bytes_per_rank(
			&(struct coll_shape){ .op = z.round[i].op, .algorithm = ORR_RING, .n = n, .bytes = z.round[i].bytes });
	return sum;
}

static double dense(const struct dnn *d, uint32_t n)
{
	return 2 * (n - 1.0) / n * 4 * d->params;
}

/* Tests top-k by the table of volumes: top-k sends (n-1) k (4+4) bytes, a dense ring 2 (n-1)/n 4 d. They are equal at n = d/k. */
static void top_k(void)
{
	struct orr_error e = { 0 };
	struct dnn *d = dnn_load("resnet50", &e);
	bool all = true;
	for (uint32_t n = 8; n <= 2048; n *= 2)
		all = all && fabs(volume("topk:density=0.001", d, n, 0) / ((n - 1.0) * 0.001 * d->params * 8) - 1) < 1e-12;
	ok(all, "top-k receives (n-1) k (4+4) bytes, n = 8 .. 2048");
	near_to(volume("topk:density=0.001", d, 1000, 0) / dense(d, 1000), 1, 1e-12,
		"top-k and the dense ring send equal volumes at n = d/k = 1000");
	ok(volume("topk:density=0.001", d, 999, 0) < dense(d, 999) && volume("topk:density=0.001", d, 1001, 0) > dense(d, 1001),
		"top-k sends less below n = d/k and more above");
	static const struct {
		const char *method;
		int n;
	} warmup[] = { { "topk:density=0.25", 4 }, { "topk:density=0.063", 16 }, { "topk:density=0.015", 67 },
		{ "topk:density=0.004", 250 } };
	for (size_t i = 0; i < 4; i++) {
		uint32_t n = 2;
		while (n < 3000 && volume(warmup[i].method, d, n, 0) < dense(d, n) * (1 - 1e-12))
			n++;
		ok((int)n == warmup[i].n, "%s: crossover at n = %d (%u)", warmup[i].method, warmup[i].n, n);
		near_to(volume("dgc:warmup_iterations=100", d, 8, 100 * i + 99), volume(warmup[i].method, d, 8, 0), 1e-12,
			"dgc has this density in its warm-up");
	}
	near_to(volume("dgc:warmup_iterations=100", d, 8, 400), volume("topk:density=0.001", d, 8, 0), 1e-12,
		"dgc uses density 0.001 after the warm-up");
	struct compression c = parse("dgc:warmup_iterations=100");
	ok(compression_settles(&c) == 400, "dgc: the density is constant from iteration 400 on");
	dnn_free(d);
}

static void matrices(void)
{
	/* For one matrix without a bias, PowerSGD sends r (a + b) elements instead of a b (Vogels et al., section 3). */
	struct dnn_layer layer = { .kind = ORR_LAYER_LINEAR, .params = 1024 * 768, .k = 768, .n = 1024, .count = 1 };
	struct dnn d = { .layer = &layer, .n_layers = 1, .params = layer.params };
	static const uint32_t workers[] = { 2, 8, 16, 256 };
	for (int r = 1; r <= 4; r *= 2)
		for (int i = 0; i < 4; i++) {
			char text[32];
			snprintf(text, sizeof text, "powersgd:rank=%d", r);
			double ratio = dense(&d, workers[i]) / volume(text, &d, workers[i], 0);
			ok(fabs(ratio / (layer.params / (r * (768.0 + 1024))) - 1) < 1e-12,
				"powersgd rank %d, n = %u: a b / (r (a + b)) (%.2f)", r, workers[i], ratio);
		}
	ok(volume("powersgd:rank=400", &d, 8, 0) < dense(&d, 8) && volume("powersgd:rank=768", &d, 8, 0) == dense(&d, 8),
		"matrices that would not shrink are sent uncompressed");
	/* 1-bit SGD sends one bit per element and a scale of 4 bytes per column, from each of the n-1 other ranks. */
	near_to(volume("onebit", &d, 8, 0), 7 * (layer.params / 8 + 4 * 1024), 1e-12, "1-bit: (n-1) (d/8 + 4 columns)");
	struct dnn_layer two[] = { layer, { .kind = ORR_LAYER_NORM, .params = 2048 } };
	struct dnn pair = { .layer = two, .n_layers = 2, .params = layer.params + 2048 };
	near_to(volume("topk:density=0.01,min_elems=10000", &pair, 8, 0), 7 * 0.01 * layer.params * 8 + 2 * 7.0 / 8 * 2048 * 4, 1e-12,
		"small layers are sent uncompressed");
	struct compression c = parse("powersgd:rank=2,compress_Bps=1e9");
	struct compressed_shape whole, half;
	compression_shape(&c, &d, 0, 1, 8, 0, 4, layer.params * 4, &whole);
	compression_shape(&c, &d, 0, 1, 8, 0, 4, layer.params * 2, &half);
	ok(half.sent_bytes * 2 == whole.sent_bytes && half.encode_s * 2 == whole.encode_s && half.decode_s * 2 == whole.decode_s,
		"encoding half of a tensor takes half the time");
	near_to(whole.encode_s, 2 * layer.params * 4 / 1e9, 1e-12, "PowerSGD reads the gradient twice to encode it");
}

static double step_s(const char *cluster, const char *network, const char *compression, const struct orr_policy *p, const char *settings)
{
	bool is_shared = p == &orr_policy_parameter_server; /* the closed form of one message assumes that the link is not shared */
	struct orr_error e = { 0 };
	struct step_result r = { 0 };
	struct fixture *f = fixture_new(cluster, network, "resnet50", 32);
	char text[96];
	snprintf(text, sizeof text, "compression=%s", compression);
	fixture_set(f, text);
	fixture_set(f, "compute_s=0.25");
	fixture_set(f, "update_cost=none");
	fixture_set(f, "ignore_memory=true");
	fixture_set(f, "merge=off");
	fixture_set(f, is_shared ? "fidelity=flow" : "fidelity=analytic");
	if (fixture_run(f, p, settings, &r, &e))
		printf("# %s\n", e.text);
	double t = r.iteration_s;
	step_result_free(&r);
	fixture_free(f);
	return t;
}

static const char no_overlap[] = "overlap=false fusion=none";

static void steps(void)
{
	static const char *const nets[] = { "star:bw=1Gbps,lat=0", "star:bw=10Gbps,lat=0", "star:bw=25Gbps,lat=0" };
	double d = 25557032, k = 0.001 * d, B = 1.25e9;
	near_to(step_s("8x1:v100", nets[1], "topk:density=0.001", &orr_policy_allreduce, no_overlap), 0.25 + 7 * k * 8 / B, 1e-9,
		"a step with top-k: compute + (n-1) k 8 / B");
	near_to(step_s("8x1:v100", nets[1], "topk:density=0.001,compress_Bps=1e9", &orr_policy_allreduce, no_overlap),
		0.25 + 7 * k * 8 / B + (4 * d + 8 * k * 8) / 1e9, 1e-9,
		"coding time: one pass over the gradient and over the received bytes");
	near_to(step_s("5x1:v100", nets[1], "topk:density=0.001", &orr_policy_parameter_server,
			"placement=dedicated servers=1 push_overlap=false"),
		0.25 + 4 * k * 8 / B + 4 * 4 * d / B, 1e-9, "parameter server: pushes are compressed, pulls are dense");
	/*
	 * Compression is faster throughout. The gain in communication, (d/k) / n, shrinks as n grows. The gain in step time shrinks
	 * only from n = 32 on: below that the volume of the dense ring grows as well, from 1.75 to 1.94 times the gradient.
	 */
	static const char *const clusters[] = { "8x1:v100", "32x1:v100", "128x1:v100", "256x1:v100" };
	double gain[3][4], sent[3][4];
	bool faster = true, with_n = true, step_with_n = true, with_link = true;
	for (int b = 0; b < 3; b++)
		for (int n = 0; n < 4; n++) {
			double plain = step_s(clusters[n], nets[b], "none", &orr_policy_allreduce, no_overlap);
			double less = step_s(clusters[n], nets[b], "topk:density=0.001", &orr_policy_allreduce, no_overlap);
			gain[b][n] = plain / less;
			sent[b][n] = (plain - 0.25) / (less - 0.25);
			faster = faster && gain[b][n] > 1;
			with_n = with_n && (!n || sent[b][n] < sent[b][n - 1]);
			step_with_n = step_with_n && (n < 2 || gain[b][n] < gain[b][n - 1]);
			with_link = with_link && (!b || gain[b][n] < gain[b - 1][n]);
		}
	for (int b = 0; b < 3; b++)
		printf("# %s: a step gains %.3f %.3f %.3f %.3f at n = 8, 32, 128, 256\n", nets[b], gain[b][0], gain[b][1], gain[b][2],
			gain[b][3]);
	ok(faster, "top-k at 0.001 is faster at n = 8 .. 256 on 1, 10 and 25 Gb/s");
	ok(with_n && step_with_n, "the gain of communication shrinks with n from 8 on, the gain of the step from n = 32 on");
	near_to(sent[1][3], 1000.0 / 256, 1e-6, "the gain of communication is (d/k) / n");
	ok(with_link, "the gain of the step shrinks as bandwidth rises");
	for (int i = 0; i < 3; i++) {
		static const char *const methods[] = { "topk:density=0.001", "onebit", "powersgd:rank=4" };
		ok(step_s("8x1:v100", nets[0], methods[i], &orr_policy_allreduce, "") <
				step_s("8x1:v100", nets[0], "none", &orr_policy_allreduce, ""),
			"%s helps DDP on 1 Gb/s", methods[i]);
		ok(step_s("8x1:v100", nets[0], methods[i], &orr_policy_bytescheduler, "") <
				step_s("8x1:v100", nets[0], "none", &orr_policy_bytescheduler, ""),
			"%s helps bytescheduler on 1 Gb/s", methods[i]);
	}
}

/* Tests that encoding does not wait for the backward pass. Without overlap all messages follow it; with overlap only those of the first
 * layers do, and a server receives from all workers during the pass. */
static void overlaps(void)
{
	static const char *const codes[] = { "onebit", "topk:density=0.01", "powersgd:rank=2", "onebit:compress_Bps=1e12" };
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		double after = step_s("4x1:v100", "star:bw=10Gbps,lat=0", codes[i], &orr_policy_allreduce, no_overlap),
		       during = step_s("4x1:v100", "star:bw=10Gbps,lat=0", codes[i], &orr_policy_allreduce, ""),
		       alone = step_s("1x1:v100", "star:bw=10Gbps,lat=0", "none", &orr_policy_allreduce, "");
		printf("# %s: %.4f s alone, %.4f overlapped, %.4f after the pass\n", codes[i], alone, during, after);
		ok(during - alone < 0.5 * (after - alone), "%s: half of the communication or more overlaps the backward pass", codes[i]);
	}
}

/*
 * Tests ResNet-50 on 256 P100 with t_c = 0.25 s for 32 images each and 102 MB of gradient (Goyal et al., "Accurate, Large Minibatch
 * SGD", 2017): about 90 % efficiency from 8 to 256 GPUs. 8 GPUs are one server, which loses nothing here. The bandwidth, the only free
 * constant, is calibrated so that 64 GPUs lose a tenth.
 */
static void large_batch(void)
{
	double bytes = 25557032 * 4.0, lost = 0.25 / 0.9 - 0.25, Bps = 2 * 63 / 64.0 * bytes / lost;
	char net[64];
	snprintf(net, sizeof net, "star:bw=%.17gBps,lat=0", Bps);
	double e64 = 0.25 / step_s("64x1:p100", net, "none", &orr_policy_allreduce, no_overlap);
	double e256 = 0.25 / step_s("256x1:p100", net, "none", &orr_policy_allreduce, no_overlap);
	printf("# calibrated: %.3g B/s gives 64 GPUs %.3f; 256 GPUs %.4f, published about 0.90\n", Bps, e64, e256);
	ok(fabs(e64 - 0.9) < 1e-6 && fabs(e256 - 0.9) < 0.03, "efficiency of 256 GPUs within 0.03 of 0.90, one bandwidth calibrated");
}

static void errors(void)
{
	static const char *const bad[][2] = { { "zip", "expected none, topk, dgc, onebit or powersgd" },
		{ "topk:density=2", "density: expected a number" }, { "topk:rank=2", "unknown key \"rank=2\"" },
		{ "powersgd:rank=0", "rank: expected a whole number" }, { "onebit:compress_Bps=fast", "compress_Bps: expected a number" },
		{ "topk:", "unknown key \"\"" }, { "dgc:warmup_iterations=x", "warmup_iterations" },
		{ "topk:density", "unknown key \"density\"" }, { "powersgd:density=0.1", "unknown key \"density=0.1\"" },
		{ "", "expected none" } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct compression c;
		struct orr_error e = { 0 };
		int rc = compression_parse(bad[i][0], &c, &e);
		ok(rc == ORR_EINPUT && strstr(e.text, bad[i][1]) && strstr(e.text, "step.compression"), "\"%s\": %s", bad[i][0], e.text);
	}
	struct compression c = parse("none");
	ok(c.method == COMPRESSION_NONE, "compression none parses to no compression");
}

int main(void)
{
	top_k();
	matrices();
	steps();
	overlaps();
	large_batch();
	errors();
	return done();
}
