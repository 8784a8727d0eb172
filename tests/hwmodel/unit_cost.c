/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices as data, and the roofline. Expected values are computed here from the formulas of docs/models/devices.md. */
#include "hwmodel/cost.h"
#include "hwmodel/steptimes.h"

#include "tests/tap.h"

/* A device of round numbers: 100 TFLOP/s at 50 %, 1000 GB/s at 80 %, 2 us per launch. The ramp of a product is 1e9 FLOPs / 50e12
 * FLOP/s = 20 us. */
static const char round_device[] =
	"{\"name\": \"round\", \"peak_tflops\": {\"fp32\": 10, \"fp16\": 100}, \"vector_tflops\": 10, \"memory_GiB\": 16,"
	" \"memory_GBps\": 1000, \"launch_us\": 2, \"gemm_efficiency\": {\"fp32\": 0.8, \"fp16\": 0.5},"
	" \"conv_efficiency\": {\"fp16\": {\"1x1\": [0.2, 0.1, 0.1], \"3x3\": [0.4, 0.3, 0.25], \"other\": 0.05}},"
	" \"gemm_half_gflop\": 1, \"memory_efficiency\": 0.8, \"sources\": {\"all\": \"made up\"}}";

static struct device *round_one(void)
{
	struct orr_error err = { 0 };
	struct device *d = device_parse("round.json", round_device, sizeof round_device - 1, &err);
	ok(d != NULL, "a device is read %s", err.text);
	return d;
}

static void refuse_device(const char *from, const char *to, const char *message)
{
	char text[2048];
	struct orr_error err = { 0 };
	const char *at = strstr(round_device, from);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - round_device), round_device, to, at + strlen(from));
	struct device *d = device_parse("d.json", text, strlen(text), &err);
	ok(!d && err.code == ORR_EINPUT && strstr(err.text, message), "refused: %s", message);
	if (!d && !strstr(err.text, message))
		printf("# said: %s\n", err.text);
	device_free(d);
}

static void check_devices(void)
{
	struct orr_error err = { 0 };
	const char *name;
	int n = 0;
	bool are_good = true;
	for (; (name = device_catalogue((size_t)n)); n++) {
		struct device *d = device_load(name, &err);
		are_good &= d && !strcmp(d->name, name) && d->source && strlen(d->hash) == 64 && !d->is_measured;
		for (int p = 0; d && p < PRECISION_COUNT; p++)
			are_good &= d->gemm_efficiency[p] <= 1 && (d->peak_flops[p] > 0) == (d->gemm_efficiency[p] > 0);
		device_free(d);
	}
	ok(are_good && n >= 18, "all %d devices load under their names, with sources %s", n, err.text);
	struct device *a = device_load("A100-80GB", &err);
	ok(a && !strcmp(a->name, "a100-80g"), "aliases work in any case");
	/* NVIDIA's data sheet of the A100 80 GB SXM. */
	near_to(a ? a->peak_flops[PRECISION_BF16] : 0, 312e12, 1e-12, "A100: 312 TFLOP/s in BF16, dense");
	near_to(a ? a->memory_Bps : 0, 2039e9, 1e-12, "A100 80 GB: 2039 GB/s");
	device_free(a);
	ok(!device_load("v10", &err) && strstr(err.text, "did you mean"), "an unknown device: the nearest is named");
	ok(!device_load("no/such.json", &err), "a missing file is refused");
	enum precision p;
	ok(precision_named("BF16", &p) && p == PRECISION_BF16 && !precision_named("int8", &p), "precisions by name");
	refuse_device("\"memory_GBps\"", "\"memory_GBs\"", "d.json: $: unknown key \"memory_GBs\": did you mean \"memory_GBps\"?");
	refuse_device("1000", "-1", "$.memory_GBps: expected a number from 0 to 1e+09, found -1");
	refuse_device("1000", "0", "$.memory_GBps: expected a number above 0");
	refuse_device("1000", "\"1000\"", "$.memory_GBps: expected a number");
	refuse_device("\"fp32\": 0.8,", "", "$.gemm_efficiency.fp32");
	refuse_device("[0.2, 0.1, 0.1]", "[0.2, 0.1]", "$.conv_efficiency.fp16");
	refuse_device("{\"all\": \"made up\"}", "{}", "$.sources");
	refuse_device("{\"name\"", "{\"name\": \"x\", \"name\"", "duplicate key");
	refuse_device("}}", "", "d.json:1:");
}

/* ---- the roofline ---- */

static const struct dnn_layer *find(const struct dnn *d, const char *name, uint32_t *i)
{
	for (*i = 0; *i < d->n_layers; ++*i)
		if (!strcmp(d->layer[*i].name, name))
			return &d->layer[*i];
	*i = 0;
	return &d->layer[0];
}

static double max(double a, double b)
{
	return a > b ? a : b;
}

static const double peak = 50e12, Bps = 800e9, launch = 2e-6, ramp = 20e-6;

static void check_layers(const struct device *dev, const struct dnn *d)
{
	struct orr_error err = { 0 };
	struct cost_options o = { .precision = PRECISION_FP16 };
	struct cost *c = cost_new(d, dev, &o, &err);
	uint32_t i;
	const double h = 1024, s = 512, b = 4, t = b * s; /* tokens */
	find(d, "h1.mlp_up", &i);
	double flops = 2 * t * h * 4 * h, bytes = 2 * (t * h + 4 * t * h + 4 * h * h);
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, b, 1, false), 1e6 * (max(flops / peak + ramp, bytes / Bps) + launch), 1e-4,
		"a linear layer: FLOPs over rate, ramp, launch");
	bytes = 2 * (t * h + 4 * t * h / 4 + 4 * h * h / 4);
	near_to(1e6 * cost_layer_s(c, i, DNN_BACKWARD_WEIGHT, b, 4, false), 1e6 * (max(flops / 4 / peak + ramp, bytes / Bps) + launch),
		1e-4, "a quarter of the columns: a quarter of the FLOPs");
	find(d, "h1.ln1", &i);
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, b, 4, false), 1e6 * (2 * 2 * t * h / Bps + launch), 1e-6,
		"a layer norm reads and writes, on every device");
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, b, 4, true), 1e6 * (2 * 2 * t * h / 4 / Bps + launch), 1e-6,
		"with sequence parallelism each device computes a part of the norm");
	near_to(1e6 * cost_layer_s(c, i, DNN_BACKWARD_DATA, b, 1, false), 1e6 * (2 * 3 * t * h / Bps + launch), 1e-6,
		"the backward pass of a norm reads two tensors and writes one");
	find(d, "h1.attn_softmax", &i);
	const double scores = 16 * s * s * b;
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, b, 2, false), 1e6 * (2 * 2 * scores / 2 / Bps + launch), 1e-6,
		"the softmax is split with the heads");
	find(d, "h1.attn_scores", &i);
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, b, 1, false),
		1e6 * (max(2 * scores * 64 / peak + ramp, 2 * (2 * t * h + scores) / Bps) + launch), 1e-6,
		"attention scores are written to memory");
	near_to(cost_layer_s(c, 0, DNN_BACKWARD_DATA, b, 1, false), 0, 0, "the gradient of the input is not computed");
	double sum = 0;
	for (i = 3; i < 20; i++)
		sum += cost_layer_s(c, i, DNN_FORWARD, b, 2, true);
	near_to(1e6 * cost_range_s(c, 3, 17, DNN_FORWARD, b, 2, true), 1e6 * sum, 1e-12, "the time of a range is the sum over its layers");
	/* The update reads a gradient of 2 bytes and reads and writes a weight of 2 bytes. It also reads and writes 12 bytes of
	 * optimizer state. */
	near_to(1e3 * cost_update_s(c, 1e9, 12), 1e3 * (1e9 * (24 + 6) / Bps + launch), 1e-9, "an update moves 30 bytes a parameter");
	ok(strstr(cost_source(c, b), "roofline of round"), "the source says roofline");
	cost_free(c);
	o.efficiency = 0.25;
	c = cost_new(d, dev, &o, &err);
	find(d, "h1.mlp_up", &i);
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, b, 1, false), 1e6 * (flops / 25e12 + ramp + launch), 1e-4,
		"a given efficiency replaces the device's");
	cost_free(c);
	o.precision = PRECISION_TF32;
	ok(!cost_new(d, dev, &o, &err) && strstr(err.text, "device round has no tf32: expected fp32, fp16"),
		"a precision that the device lacks: the message lists its precisions");
}

static void check_fusion(const struct device *dev, const struct dnn *d)
{
	struct orr_error err = { 0 };
	struct cost_options o = { .precision = PRECISION_FP16, .fused_attention = true, .fused_elementwise = true };
	struct cost *c = cost_new(d, dev, &o, &err);
	uint32_t i;
	const double h = 1024, s = 512, b = 4, t = b * s, flops = 2 * 16 * s * s * b * 64;
	find(d, "h1.attn_softmax", &i);
	near_to(cost_layer_s(c, i, DNN_FORWARD, b, 1, false), 0, 0, "fused attention: no separate softmax");
	find(d, "h1.attn_scores", &i);
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, b, 1, false), 1e6 * (max(flops / peak + ramp, 2 * 2 * t * h / Bps) + launch), 1e-6,
		"fused attention: scores are not written");
	/* Attention has two products forward and five backward, because backward recomputes the scores (Dao 2023). */
	near_to(1e6 * cost_layer_s(c, i, DNN_BACKWARD_DATA, b, 1, false), 1e6 * (3 * flops / peak + 2 * ramp + 2 * launch), 1e-6,
		"fused attention: scores are computed again for backward");
	find(d, "h1.attn_context", &i);
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, b, 1, false), 1e6 * (max(flops / peak + ramp, 2 * 2 * t * h / Bps) + launch), 1e-6,
		"fused attention: scores are not read");
	find(d, "h1.mlp_act", &i);
	near_to(cost_layer_s(c, i, DNN_FORWARD, b, 1, false), 0, 0, "a fused activation costs nothing");
	find(d, "h1.residual1", &i);
	near_to(cost_layer_s(c, i, DNN_BACKWARD_DATA, b, 1, false), 0, 0, "a fused addition costs nothing");
	find(d, "h1.ln1", &i);
	ok(cost_layer_s(c, i, DNN_FORWARD, b, 1, false) > 0, "a norm is not fused and takes time");
	near_to(cost_scores_share(c), 0, 0, "fused attention keeps no scores");
	cost_free(c);
	o.fused_attention = false;
	c = cost_new(d, dev, &o, &err);
	double kept = 0;
	for (uint32_t l = 0; l < d->n_layers; l++)
		kept += d->layer[l].saved_elems;
	near_to(cost_scores_share(c), 2 * 16 * s * s / kept, 1e-12, "the softmax of each of two blocks keeps 16 x 512 x 512 scores");
	cost_free(c);
}

static void check_dropout(const struct device *dev)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load("gpt:hidden=1024,layers=2,heads=16,seq=512,vocab=1000", &err);
	struct cost_options o = { .precision = PRECISION_FP16, .dropout = true };
	struct cost *c = d ? cost_new(d, dev, &o, &err) : NULL;
	uint32_t i;
	if (!ok(c != NULL, "a model with dropout %s", err.text))
		return;
	find(d, "h1.attn_softmax", &i);
	double elems = 16.0 * 512 * 512 * 4;
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, 4, 2, false), 1e6 * (elems / 2 * (2 + 2 + 2 + 2 + 1) / Bps + 2 * launch), 1e-6,
		"dropout after the softmax: one more kernel, that reads, writes, and makes a mask of one byte");
	find(d, "h1.residual1", &i);
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, 4, 2, false), 1e6 * (1024.0 * 512 * 4 * (3 * 2 + 1) / Bps + launch), 1e-6,
		"dropout in an addition is part of its kernel: the mask alone");
	cost_free(c);
	dnn_free(d);
}

/* A product of routed experts: 64 pairs, k = 1024 inputs and n = 2 x 4096 outputs each, on a device that reads the weights of three of
 * eight experts. */
static void check_experts(const struct device *dev)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load("moe:hidden=1024,layers=1,heads=8,seq=512,vocab=100,experts=8,top_k=2,width=4096", &err);
	struct cost_options o = { .precision = PRECISION_FP16 };
	struct cost *c = d ? cost_new(d, dev, &o, &err) : NULL;
	uint32_t i;
	if (!ok(c != NULL, "a model with experts %s", err.text))
		return;
	const double n = 8192, k = 1024;
	find(d, "layer0.expert_gate_up", &i);
	near_to(1e6 * cost_experts_s(c, i, DNN_FORWARD, 64, 3, 1), 1e6 * (2 * (64 * k + 64 * n + 3 * n * k) / Bps + launch), 1e-6,
		"few pairs: the time to read the weights of three experts");
	near_to(1e6 * cost_experts_s(c, i, DNN_FORWARD, 6400, 3, 1), 1e6 * (2 * 6400 * n * k / peak + ramp + launch), 1e-6,
		"many pairs: the time of their FLOPs");
	near_to(1e6 * cost_experts_s(c, i, DNN_FORWARD, 64, 3, 2), 1e6 * (2 * (64 * k + 64 * n / 2 + 3 * n * k / 2) / Bps + launch), 1e-6,
		"two devices divide the columns");
	near_to(cost_experts_s(c, i, DNN_FORWARD, 0, 3, 1), 0, 0, "no pairs take no time");
	find(d, "layer0.attn_out", &i);
	near_to(cost_experts_s(c, i, DNN_FORWARD, 64, 3, 1), 0, 0, "a layer without experts takes none");
	cost_free(c);
	dnn_free(d);
}

/* An LSTM of 1,024 cells, 2,048 inputs and 32 time steps. Every step needs the step before it, so each reads the weights again. */
static void check_recurrent(const struct device *dev)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load("gnmt_v2", &err);
	struct cost_options o = { .precision = PRECISION_FP16 };
	struct cost *c = d ? cost_new(d, dev, &o, &err) : NULL;
	if (!ok(c != NULL, "GNMT %s", err.text))
		return;
	uint32_t i;
	const double b = 2, cells = 1024, x = 2048 + cells, steps = 32, weights = 4 * cells * x + 8 * cells;
	find(d, "enc1.matmul", &i);
	double flops = 2 * b * x * 4 * cells, bytes = 2 * (b * (x + 4 * cells) + weights);
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, b, 1, false), 1e6 * steps * (max(flops / peak + ramp, bytes / Bps) + launch), 1e-6,
		"a recurrent layer reads its weights in each time step");
	near_to(1e6 * cost_layer_s(c, i, DNN_BACKWARD_DATA, b, 1, false), 1e6 * steps * (max(flops / peak + ramp, bytes / Bps) + launch),
		1e-6, "so does its data gradient");
	flops *= steps;
	bytes = 2 * (steps * b * (x + 4 * cells) + weights);
	near_to(1e6 * cost_layer_s(c, i, DNN_BACKWARD_WEIGHT, b, 1, false), 1e6 * (max(flops / peak + ramp, bytes / Bps) + launch), 1e-6,
		"its weight gradient is one product");
	find(d, "enc1.gates", &i);
	bytes = 2 * b * steps * (5 + 1) * cells; /* four gates and the old cells in, new states out */
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, b, 1, false), 1e6 * (bytes / Bps + steps * launch), 1e-6,
		"its gates have a kernel in each time step");
	cost_free(c);
	dnn_free(d);
}

static void check_convolutions(const struct device *dev)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load("resnet50", &err);
	struct cost_options o = { .precision = PRECISION_FP16 };
	struct cost *c = d ? cost_new(d, dev, &o, &err) : NULL;
	if (!ok(c != NULL, "resnet50 on a round device %s", err.text))
		return;
	int seen[3] = { 0 };
	bool is_right = true;
	for (uint32_t i = 1; i < d->n_layers; i++) {
		const struct dnn_layer *l = &d->layer[i];
		if (l->kind != ORR_LAYER_CONV)
			continue;
		double bytes = 2 * (8 * (l->in_elems + l->out_elems) + l->params);
		double got = cost_layer_s(c, i, DNN_BACKWARD_DATA, 8, 1, false) - launch;
		const double share[] = { 0.1, 0.3, 0.05 };
		int fits = -1;
		for (int k = 0; k < 3; k++)
			if (fabs(got / max(8 * l->fwd_flops / 100e12 / share[k], bytes / Bps) - 1) < 1e-9)
				fits = k;
		bool is_pointwise = l->k == 64 || l->k == 128 || l->k == 256 || l->k == 512 || l->k == 1024 || l->k == 2048;
		bool is_strided = l->in_elems / (l->k / 9) > l->m * 1.5;
		seen[is_pointwise ? 0 : is_strided ? 2 : 1]++;
		is_right &= fits == (is_pointwise ? 0 : is_strided ? 2 : 1);
	}
	/* ResNet-50 v1.5 has 16 blocks of two 1x1 and one 3x3 convolutions, and four projections (1x1). Three of the 3x3 convolutions
	 * have stride 2. */
	ok(seen[0] == 36 && seen[1] == 13 && seen[2] == 3, "52 convolutions after the first: %d 1x1, %d 3x3, %d strided", seen[0], seen[1],
		seen[2]);
	ok(is_right, "each convolution has the efficiency of its shape");
	cost_free(c);
	dnn_free(d);
}

/* ---- measured steps ---- */

static double step_s(const struct dnn *d, const struct cost *c, double batch)
{
	double sum = 0;
	for (int pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++)
		sum += cost_range_s(c, 0, d->n_layers, (enum dnn_pass)pass, batch, 1, false);
	return sum;
}

static void check_measured(void)
{
	struct orr_error err = { 0 };
	struct device *dev = device_load("p100", &err);
	struct dnn *d = dnn_load("resnet50_v1", &err);
	struct cost_options o = { .precision = PRECISION_FP32, .use_measured = true }, plain = { .precision = PRECISION_FP32 };
	struct cost *c = dev && d ? cost_new(d, dev, &o, &err) : NULL, *r = c ? cost_new(d, dev, &plain, &err) : NULL;
	if (!ok(c && r, "ResNet-50 on a P100 has measured steps %s", err.text))
		return;
	/* TensorFlow 2017, one P100 of a DGX-1: 219 images/s at batch 64 and 195 at batch 32. */
	double update = cost_update_s(c, d->params, 0);
	near_to(step_s(d, c, 64) + update, 64 / 219.0, 1e-9, "layers and update add up to the measured step (batch 64)");
	near_to(step_s(d, c, 32) + update, 32 / 195.0, 1e-9, "(batch 32)");
	double f32 = (32 / 195.0 - update) / step_s(d, r, 32), f64 = (64 / 219.0 - update) / step_s(d, r, 64);
	near_to(step_s(d, c, 48), (f32 + f64) / 2 * step_s(d, r, 48), 1e-9, "between two batches the factors are interpolated");
	near_to(step_s(d, c, 128), f64 * step_s(d, r, 128), 1e-9, "beyond the largest batch the last factor holds");
	near_to(step_s(d, c, 8), f32 * step_s(d, r, 8), 1e-9, "below the smallest batch the first factor holds");
	near_to(cost_layer_s(c, 5, DNN_FORWARD, 64, 1, false) / cost_layer_s(r, 5, DNN_FORWARD, 64, 1, false), f64, 1e-9,
		"every layer has the same factor");
	ok(strstr(cost_source(c, 64), "measured (TensorFlow 1.1, DGX-1), at batch 64; update of the parameters included and subtracted"),
		"exact: said");
	ok(strstr(cost_source(c, 48), "interpolated between batches 32 and 64"), "interpolated: said");
	ok(strstr(cost_source(c, 128), "outside the measured batches"), "beyond: said");
	printf("# %s\n", cost_source(c, 128));
	cost_free(c);
	cost_free(r);
	o.setup = "no such";
	c = cost_new(d, dev, &o, &err);
	ok(c && strstr(cost_source(c, 64), "roofline"),
		"without a measured step in that setup the roofline applies, and cost_source() says so");
	cost_free(c);
	dnn_free(d);
	device_free(dev);
	static const char broken[] = "{\"steps\": [{\"device\": \"x\", \"model\": \"y\", \"setup\": \"z\", \"precision\": \"fp32\","
				     "\"update\": \"maybe\", \"unit\": \"ms\", \"points\": [[1, 2]], \"source\": \"s\"}]}";
	ok(!steptimes_parse("t.json", broken, sizeof broken - 1, &err) && strstr(err.text, "t.json: $.steps[0]: expected \"update\""),
		"an invalid table: the message names the place");
}

int main(void)
{
	struct orr_error err = { 0 };
	check_devices();
	struct device *dev = round_one();
	struct dnn *d = dnn_load("gpt:hidden=1024,layers=2,heads=16,seq=512,vocab=1000", &err);
	if (!dev || !ok(d != NULL, "a small transformer %s", err.text))
		return done();
	check_layers(dev, d);
	check_fusion(dev, d);
	check_dropout(dev);
	check_experts(dev);
	check_recurrent(dev);
	check_convolutions(dev);
	check_measured();
	dnn_free(d);
	device_free(dev);
	return done();
}
