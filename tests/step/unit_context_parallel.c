/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Context parallelism against closed forms: bytes of ring and Ulysses, times of a layer, thresholds (docs/models/step-context-parallel.md
 * derives them). S: tokens; c: GPUs; nh, kv: heads of queries, of keys and values; d: size of a head; 2 bytes per element.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_context_parallel;

struct outcome {
	int rc;
	struct step_result r;
	struct orr_error e;
	double end_s; /* of the first iteration */
};

static const char *given_model; /* replaces the model of run() */

/* A model of heads of 128 elements. */
static struct outcome run(const char *cluster, const char *network, double S, uint32_t nh, uint32_t layers, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
static struct outcome run(const char *cluster, const char *network, double S, uint32_t nh, uint32_t layers, const char *format, ...)
{
	struct outcome o = { 0 };
	char text[512], model[128];
	va_list ap;
	snprintf(model, sizeof model, "gpt:hidden=%u,layers=%u,heads=%u,seq=%.0f,vocab=100", nh * 128, layers, nh, S);
	struct fixture *f = fixture_new(cluster, network, given_model ? given_model : model, 1);
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	fixture_set(f, "iterations=1");
	fixture_set(f, "ignore_memory=true");
	f->config.precision = PRECISION_BF16;
	f->config.check = true;
	o.rc = fixture_run(f, &orr_policy_context_parallel, text, &o.r, &o.e);
	if (o.rc)
		printf("# %s\n", o.e.text);
	else
		o.end_s = o.r.iteration[0].end_s;
	fixture_free(f);
	return o;
}

#define FAST "star:bw=50GBps,lat=0,gpu_lat=0"

static double seconds(struct outcome o)
{
	double s = o.rc ? NAN : o.end_s;
	step_result_free(&o.r);
	return s;
}

/* Bytes sent by each GPU; NAN unless equal. */
static double bytes(struct outcome o)
{
	double x = o.rc ? NAN : o.r.device[0].sent_bytes;
	for (size_t i = 0; i < o.r.n_devices; i++)
		x = o.r.device[i].sent_bytes == x ? x : NAN;
	step_result_free(&o.r);
	return x;
}

static void test_bytes(void)
{
	const double S = 4096, d = 128, B = 2;
	const uint32_t nh = 32;
	unsigned good = 0, all = 0;
	for (uint32_t c = 2; c <= 8; c *= 2)
		for (uint32_t per = 1; per <= 8; per *= per == 1 ? 4 : 2) {
			uint32_t kv = nh / per;
			char cluster[32];
			snprintf(cluster, sizeof cluster, "%ux1:a100", c);
			double ring = (c - 1) * (S / c) * 2 * kv * d * B;
			double heads = (c - 1.0) / c * (S / c) * (2.0 * nh + 2.0 * (kv > c ? kv : c)) * d * B;
			good += bytes(run(cluster, FAST, S, nh, 1, "work=attention-forward kv_heads=%u", kv)) == ring;
			good += bytes(run(cluster, FAST, S, nh, 1, "work=attention-forward kv_heads=%u balance=contiguous", kv)) == ring;
			good += bytes(run(cluster, FAST, S, nh, 1, "work=attention-forward kv_heads=%u kind=all-gather", kv)) == ring;
			good += bytes(run(cluster, FAST, S, nh, 1, "work=attention kv_heads=%u", kv)) == 3 * ring;
			good += bytes(run(cluster, FAST, S, nh, 1, "work=attention kv_heads=%u kind=all-gather", kv)) == 3 * ring;
			good += bytes(run(cluster, FAST, S, nh, 1, "work=attention kv_heads=%u gradient_bytes=4", kv)) == 4 * ring;
			good += bytes(run(cluster, FAST, S, nh, 1, "work=attention-forward kv_heads=%u ulysses=0", kv)) == heads;
			good += bytes(run(cluster, FAST, S, nh, 1, "work=attention kv_heads=%u ulysses=0", kv)) == 2 * heads;
			all += 8;
		}
	ok(good == all && all == 72,
		"CP1: forward (c-1)(S/c) 2 kv d B, backward twice that, 3 times with gradients in FP32; Ulysses (c-1)/c (S/c)(2 nh + 2 kv) "
		"d B "
		"each: %u of %u",
		good, all);
}

static void test_times(void)
{
	double long_s = seconds(run("8x1:a100", FAST, 131072, 32, 1, "work=attention-forward kv_heads=8 attention_flops=400e12"));
	double short_s = seconds(run("8x1:a100", FAST, 16384, 32, 1, "work=attention-forward kv_heads=8 attention_flops=400e12"));
	ok(fabs(long_s - 43.9804651e-3) < 1e-9, "CP2: 131,072 tokens on 8 GPUs: compute hides the ring, 43.9804651 ms (%.7f)",
		long_s * 1e3);
	ok(fabs(short_s - 1.2603045e-3) < 1e-9, "CP2: 16,384 tokens: the ring shows, 1.2603045 ms (%.7f)", short_s * 1e3);
	/* CP3: threshold S/c = 2 (kv/nh) P/W = 4000 tokens. */
	unsigned good = 0;
	for (int step = -3; step <= 3; step++) {
		double n = 4000 + 2 * step, X = 2 * n * n * 4096 / 400e12, Y = n * 2 * 8 * 128 * 2 / 50e9;
		double s = seconds(run("8x1:a100", FAST, 8 * n, 32, 1, "work=attention-forward kv_heads=8 attention_flops=400e12"));
		good += fabs(s / (7 * fmax(X, Y) + X) - 1) < 1e-9 && (s > 8 * X * (1 + 1e-9)) == (n < 4000);
	}
	ok(good == 7, "CP3: the knee is at 4000 tokens per GPU (steps of two tokens)");
	for (uint32_t c = 2; c <= 16; c *= 2) {
		char cluster[32];
		snprintf(cluster, sizeof cluster, "%ux1:a100", c);
		double zigzag = seconds(run(cluster, FAST, 131072, 32, 1, "work=attention-forward attention_flops=1e12"));
		double contiguous =
			seconds(run(cluster, FAST, 131072, 32, 1, "work=attention-forward attention_flops=1e12 balance=contiguous"));
		near_to(contiguous / zigzag, (2.0 * c - 1) / c, 1e-9, "CP4: contiguous / zigzag = (2c-1)/c");
	}
	/* Backward: the ring computes 2.5 times as long; the gradients' last hop follows the last step. */
	double X = 2 * 16384. * 16384 * 4096 / 400e12, Y = 16384. * 2 * 8 * 128 * 2 / 50e9;
	double both = seconds(run("8x1:a100", FAST, 131072, 32, 1, "work=attention kv_heads=8 attention_flops=400e12"));
	near_to(both / (8 * X + 20 * X + Y), 1, 1e-9, "backward: 8 steps of 2.5 X and the last hop of the gradients");
}

static void test_ulysses(void)
{
	static const struct {
		uint32_t c;
		int sign;
	} row[] = { { 3, -1 }, { 9, 0 }, { 18, 1 } };
	for (int i = 0; i < 3; i++) {
		char cluster[32];
		snprintf(cluster, sizeof cluster, "%ux1:a100", row[i].c);
		double ring = seconds(run(cluster, FAST, 36 * 1024, 72, 1, "work=attention-forward kv_heads=9 attention_flops=1e21"));
		double heads =
			seconds(run(cluster, FAST, 36 * 1024, 72, 1, "work=attention-forward kv_heads=9 ulysses=0 attention_flops=1e21"));
		double apart = ring / heads - 1;
		ok(row[i].sign ? apart * row[i].sign > 1e-3 : fabs(apart) < 1e-5,
			"CP5: 72 and 9 heads, %u GPUs: ring / Ulysses %.4f (equal at (nh+kv)/kv = 9)", row[i].c, ring / heads);
	}
}

static void test_two_nodes(void)
{
	static const char slow[] = "star:bw=1GBps,lat=0,gpu_lat=0";
	const double S = 65536, kv = 8, d = 128, B = 2, X = 2 * 4096. * 4096 * 4096 / 400e12, edge = 4096 * 2 * kv * d * B;
	double s = seconds(run("2x8:a100", slow, S, 32, 1, "work=attention-forward kv_heads=8 attention_flops=400e12"));
	near_to(s / (15 * edge / 1e9 + X), 1, 1e-9, "CP6: ring over two nodes: each step takes the transfer between the nodes");
	/* CP7: bytes of a GPU in the ring of g = 2, after the exchange among 8. */
	double inside = 7. / 8 * (S / 16) * (2 * 32 + 2 * kv) * d * B, between = (S / 2) * 2 * kv * d * B / 8;
	near_to(bytes(run("2x8:a100", slow, S, 32, 1, "work=attention-forward kv_heads=8 ulysses=8")), inside + between, 0,
		"CP7: 8 x 2: (g-1)(S/g) 2 kv d B / u between the nodes, and the exchange inside them");
	ok(8 * between < 15 * edge, "CP7: fewer bytes leave a node than by a ring of 16: %.0f and %.0f", 8 * between, 15 * edge);
}

static double peak(struct outcome o)
{
	double x = o.rc ? NAN : o.r.device[0].peak_memory_bytes;
	step_result_free(&o.r);
	return x;
}

static void test_memory(void)
{
	const double S = 16384, d = 128, B = 2, n = S / 8, kv = 8, h = 4096;
	/* A GPT layer outside attention, per token: norm h, Q K V h; out O h; norm h, up h, GELU 4h, down 4h. Fused attention adds
	 * Q h, K V 2 kv d, and 4 bytes for each head. */
	double layer = n * ((h + h + h + h + h + 4 * h + 4 * h) * B + (h + 2 * kv * d) * B + 4 * 32);
	double block = n * 2 * kv * d * B;
	double two = peak(run("8x1:a100", FAST, S, 32, 2, "kv_heads=8 dp_bytes=0")),
	       one = peak(run("8x1:a100", FAST, S, 32, 1, "kv_heads=8 dp_bytes=0"));
	double params = 12 * h * h + 13 * h;
	near_to(two - one, layer + 8 * params, 1e-12,
		"memory: a layer keeps its share of tokens, and 8 bytes per parameter (weight, gradient, master copy)");
	near_to(peak(run("8x1:a100", FAST, S, 32, 1, "kv_heads=8 dp_bytes=0 kind=all-gather")) - one, 6 * block, 0,
		"memory: a ring holds two blocks of keys and values, all-gather all eight");
	near_to(peak(run("8x1:a100", FAST, S, 32, 1, "kv_heads=8 dp_bytes=0 ulysses=0")) - one, n * (2 * h + 2 * kv * d) * B - 2 * block, 0,
		"memory: Ulysses holds Q, K, V and O of its heads, and no ring");
}

static void test_all(void)
{
	/* Two replicas of four GPUs; all sum the gradients of the weights. */
	struct outcome a = run("8x1:a100", FAST, 4096, 32, 2, "cp=4"), b = run("8x1:a100", FAST, 4096, 32, 2, "cp=4 ulysses=4");
	struct outcome one = run("1x1:a100", FAST, 4096, 32, 2, "cp=1");
	ok(!a.rc && !b.rc && !one.rc && a.r.n_devices == 8, "the whole model runs, in rings and by Ulysses");
	near_to(a.r.device[0].compute_s, b.r.device[0].compute_s, 1e-12, "both compute as long");
	ok(a.r.device[0].compute_s < one.r.device[0].compute_s / 2, "four GPUs per sequence compute less than half as long as one");
	step_result_free(&a.r);
	step_result_free(&b.r);
	step_result_free(&one.r);
}

/* Tests models whose heads of keys and values, or whose sizes of heads, are not those of a plain transformer. One layer, 8 GPUs, a ring
 * forward: 7/8 of the tokens x kv (d + d_v) elements of 2 bytes. */
static void test_heads(void)
{
	const double S = 4096;
	given_model = "llama:hidden=4096,layers=1,heads=32,kv_heads=4,ffn=4096,seq=4096,vocab=100";
	near_to(bytes(run("8x1:a100", FAST, S, 32, 1, "work=attention-forward")), 7. / 8 * S * 4 * 256 * 2, 0,
		"by default the heads of keys and values of the model");
	near_to(bytes(run("8x1:a100", FAST, S, 32, 1, "work=attention-forward ulysses=4")),
		3. / 4 * S / 8 * (2 * 32 + 2 * 4) * 128 * 2 + S / 2 * 256 * 2, 0, "Ulysses exchanges those heads");
	given_model = "llama:hidden=2048,layers=1,heads=32,head_dim=128,kv_heads=4,ffn=4096,seq=4096,vocab=100";
	near_to(bytes(run("8x1:a100", FAST, S, 32, 1, "work=attention-forward")), 7. / 8 * S * 4 * 256 * 2, 0,
		"heads of 128 elements although hidden / heads is 64");
	near_to(bytes(run("8x1:a100", FAST, S, 32, 1, "work=attention-forward ulysses=0 kv_heads=8")),
		7. / 8 * S / 8 * (2 * 32 + 2 * 8) * 128 * 2, 0, "Q and O have heads x 128 elements");
	given_model = NULL;
}

/* Tests that the order of GPUs of two types does not matter: all take the times of the slower type. */
static void test_types(void)
{
	double v100 = seconds(run("4x1:v100", FAST, 1024, 8, 2, "dp_bytes=0"));
	near_to(seconds(run("2x1:v100,2x1:a100", FAST, 1024, 8, 2, "dp_bytes=0")), v100, 1e-9, "the slower type first: its time");
	near_to(seconds(run("2x1:a100,2x1:v100", FAST, 1024, 8, 2, "dp_bytes=0")), v100, 1e-9, "the slower type last: its time");
}

static void refused(const char *set, double S, const char *says, const char *what)
{
	struct outcome o = run("8x1:a100", FAST, S, 32, 1, "%s", set);
	ok(o.rc == ORR_EINPUT && strstr(o.e.text, says), "%s", what);
	step_result_free(&o.r);
}

int main(void)
{
	test_bytes();
	test_times();
	test_ulysses();
	test_two_nodes();
	test_memory();
	test_all();
	refused("cp=3", 4096, "cp=3: expected a divisor of the 8 GPUs", "a group that does not divide the GPUs");
	refused("ulysses=3", 4096, "ulysses=3: expected a divisor", "a Ulysses group that does not divide the group");
	refused("kv_heads=5", 4096, "kv_heads=5: expected a divisor of the 32", "heads of keys that do not divide those of queries");
	test_heads();
	test_types();
	given_model = "transformer_base";
	refused("", 4096, "has 4 products of activations: expected 2", "a decoder with two attentions per block");
	given_model = NULL;
	refused("", 4100, "expected a multiple of 16", "a sequence that has no equal pieces");
	return done();
}
