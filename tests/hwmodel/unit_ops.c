/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests layers (from their shapes, by hand), dimensions of models and their limits, and the memory of served models by precision. */
#include "hwmodel/dnn_plan.h"
#include "hwmodel/served.h"

#include "tests/tap.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <stdlib.h>

static struct orr_error err;

/* ---- ops ---- */

static struct plan *p;

static const struct dnn_layer *last(void)
{
	return &p->layer[p->n - 1];
}

/* Compares FLOPs, elements read, written and kept, parameters and tensors of the layer added last. */
static void is_layer(const char *what, double flops, double in, double out, double saved, double params, double tensors)
{
	const struct dnn_layer *l = last();
	if (!ok(l->fwd_flops == flops && l->in_elems == in && l->out_elems == out && l->saved_elems == saved && l->params == params &&
			    l->tensors == tensors,
		    "%s", what))
		printf("# %g FLOPs, %g in, %g out, %g kept, %g parameters, %g tensors\n", l->fwd_flops, l->in_elems, l->out_elems,
			l->saved_elems, l->params, l->tensors);
}

static bool is_act(struct act a, double c, double h, double w)
{
	return a.c == c && a.h == h && a.w == w;
}

static void check_products(void)
{
	p = plan_new("m", "t", "i");
	struct act x = op_input(p, 3, 8, 6);
	ok(p->d->input_elems == 144 && act_elems(x) == 144, "an input of 3 x 8 x 6");
	/* The layer has 4 filters of 3 x 3 x 3 at 8 x 6 positions; its input is kept for backward. */
	struct act y = op_conv(p, "c", x, (struct conv){ .out = 4, .kh = 3, .kw = 3, .stride = 1, .ph = 1, .pw = 1, .bias = true });
	is_layer("a convolution", 2 * 48 * 4 * 27, 144, 192, 144, 112, 2);
	ok(is_act(y, 4, 8, 6) && last()->m == 48 && last()->n == 4 && last()->k == 27 && last()->count == 1 && last()->rows == 4 &&
			last()->columns == 27,
		"its product");
	op_conv(p, "again", x, (struct conv){ .out = 4, .kh = 1, .kw = 1, .stride = 1 });
	is_layer("a second reader of an activation keeps nothing more; no bias", 2 * 48 * 4 * 3, 144, 192, 0, 12, 1);
	/* With stride 2, filter 3 x 1 and padding 1 x 0, the output has floor(7/2) + 1 = 4 by floor(5/2) + 1 = 3 positions; 2 groups
	 * map 2 channels to 3 filters. */
	y = op_conv(p, "g", y, (struct conv){ .out = 6, .kh = 3, .kw = 1, .stride = 2, .ph = 1, .groups = 2 });
	is_layer("a grouped, strided convolution", 2 * 12 * 3 * 6 * 2, 192, 72, 192, 36, 1);
	ok(is_act(y, 6, 4, 3) && last()->m == 12 && last()->n == 3 && last()->k == 6 && last()->count == 2, "its products");
	x = act_new(p, 5, 7, 1);
	y = op_linear(p, "l", x, 9, true, 3);
	is_layer("a linear layer of three pieces over 7 tokens", 2 * 7 * 9 * 5, 35, 63, 35, 54, 6);
	ok(is_act(y, 9, 7, 1) && last()->m == 7 && last()->n == 9 && last()->k == 5 && last()->count == 1, "its product");
	op_linear(p, "l", x, 9, false, 1);
	is_layer("without a bias", 2 * 7 * 9 * 5, 35, 63, 0, 45, 1);
	plan_free(p);
}

static void check_pointwise(void)
{
	p = plan_new("m", "t", "i");
	static const struct {
		enum op_norm kind;
		double params, ops;
	} norms[] = { { OP_BATCHNORM, 10, 2 }, { OP_LAYERNORM, 10, 8 }, { OP_RMSNORM, 5, 4 }, { OP_LRN, 0, 1 } };
	for (int i = 0; i < 4; i++) {
		struct act y = op_norm(p, "n", act_new(p, 5, 7, 2), norms[i].kind);
		is_layer("a normalisation over 5 channels", 70 * norms[i].ops, 70, 70, 70, norms[i].params, norms[i].params / 5);
		ok(is_act(y, 5, 7, 2), "keeps the shape");
	}
	op_activation(p, "a", act_new(p, 5, 7, 2), OP_RELU);
	is_layer("ReLU", 70, 70, 70, 70, 0, 0);
	ok(last()->is_in_place, "which overwrites its input");
	op_activation(p, "a", act_new(p, 5, 7, 2), OP_GELU);
	is_layer("GELU", 560, 70, 70, 70, 0, 0);
	ok(!last()->is_in_place, "which does not");
	struct act x = act_new(p, 5, 7, 2), y = op_activation(p, "a", x, OP_TANH);
	act_keep(p, &p->layer[p->n - 1], y);
	is_layer("tanh keeps its output, once", 70, 70, 70, 70, 0, 0);
	act_keep(p, &p->layer[p->n - 1], x);
	ok(last()->saved_elems == 140, "not its input");
	y = op_softmax(p, "s", act_new(p, 5, 7, 2));
	is_layer("softmax", 350, 70, 70, 70, 0, 0);
	y = op_add(p, "add", y);
	is_layer("an addition", 70, 140, 70, 0, 0, 0);
	const struct act parts[] = { act_new(p, 2, 7, 2), act_new(p, 3, 7, 2) };
	y = op_concat(p, "cat", parts, 2);
	is_layer("a concatenation", 0, 70, 70, 0, 0, 0);
	ok(is_act(y, 5, 7, 2), "of 2 and 3 channels");
	/* An input of 7 x 9 with window 3, stride 2 and padding 1 gives (7 + 2 - 3) / 2 + 1 = 4 by (9 + 2 - 3) / 2 + 1 = 5 positions. */
	y = op_pool(p, "p", act_new(p, 2, 7, 9), OP_MAXPOOL, 3, 2, 1);
	is_layer("maximum over windows: keeps input and indices", 9 * 40, 126, 40, 166, 0, 0);
	ok(is_act(y, 2, 4, 5), "its shape");
	y = op_pool(p, "p", act_new(p, 2, 8, 8), OP_AVGPOOL, 3, 2, 0);
	is_layer("mean over windows: keeps nothing", 9 * 18, 128, 18, 0, 0, 0);
	ok(is_act(y, 2, 3, 3), "(8 - 3) / 2 rounded down");
	y = op_pool(p, "p", act_new(p, 2, 8, 8), OP_AVGPOOL_CEIL, 3, 2, 0);
	ok(is_act(y, 2, 4, 4) && last()->saved_elems == 0, "or up");
	y = op_pool(p, "p", act_new(p, 2, 8, 8), OP_MAXPOOL_CEIL, 3, 2, 0);
	ok(is_act(y, 2, 4, 4) && last()->saved_elems == 128 + 32, "also of the maximum");
	y = op_global_pool(p, "g", act_new(p, 2, 8, 8));
	is_layer("mean over all places", 128, 128, 2, 0, 0, 0);
	ok(is_act(y, 2, 1, 1), "one per channel");
	y = op_embedding(p, "e", 100, 5, 7, false);
	is_layer("7 rows of 100 x 5", 0, 35, 35, 7, 500, 1);
	ok(is_act(y, 5, 7, 1) && last()->rows == 100 && last()->columns == 5, "of a table");
	op_embedding(p, "e", 100, 5, 7, true);
	is_layer("added to the previous output", 35, 70, 35, 0, 500, 1);
	op_embedding(p, "e", 0, 5, 7, false);
	ok(last()->params == 0 && last()->tensors == 0 && last()->columns == 0, "a table that counts elsewhere");
	op_tables(p, "t", 50, 4, 3, false);
	is_layer("a row of each of three fields", 0, 12, 12, 3, 200, 1);
	op_tables(p, "t", 50, 4, 3, true);
	is_layer("or their sum", 12, 12, 4, 3, 200, 1);
	op_perceptron(p, "mlp", "relu", act_new(p, 4, 1, 1), (const int[]){ 3, 2, 0 }, OP_SIGMOID);
	is_layer("the last activation of a perceptron", 2, 2, 2, 2, 0, 0);
	ok(!strcmp(p->layer[p->n - 4].name, "mlp0") && p->layer[p->n - 4].params == 15 && p->layer[p->n - 3].is_in_place &&
			!last()->is_in_place && p->layer[p->n - 2].params == 8,
		"4 x 3 and 3 x 2 with biases, ReLU between them");
	plan_free(p);
}

/* ---- dimensions ---- */

static struct dnn *dnn_of(const char *spec)
{
	err = (struct orr_error){ 0 };
	return dnn_load(spec, &err);
}

/* Checks that a dimension accepts its least and its largest value, and refuses the numbers just outside. */
static void limits(const char *others, const char *key, double low, double high)
{
	char spec[300], says[80];
	bool refused = true;
	for (int i = 0; i < 2; i++) {
		double v = i ? high + 1 : low - 1;
		snprintf(spec, sizeof spec, "%s,%s=%.0f", others, key, v);
		struct dnn *d = dnn_of(spec);
		snprintf(says, sizeof says, "%s: expected a whole number from %.0f to %.0f", key, low, high);
		refused = refused && !d && strstr(err.text, says);
		dnn_free(d);
	}
	if (!ok(refused, "%s: %s is from %.0f to %.0f", others, key, low, high))
		printf("# said: %s\n", err.text);
	snprintf(spec, sizeof spec, "%s,%s=%.0f", others, key, low);
	struct dnn *d = dnn_of(spec);
	ok(d || !strstr(err.text, "expected a whole number from"), "%s=%.0f is in range", key, low);
	dnn_free(d);
}

static void check_dimensions(void)
{
#define GPT_REST "gpt:layers=1,heads=1,seq=1,vocab=1"
	limits(GPT_REST, "hidden", 1, 1000000);
	limits("gpt:hidden=8,heads=1,seq=1,vocab=1", "layers", 1, 4096);
	limits("gpt:hidden=8,layers=1,seq=1,vocab=1", "heads", 1, 100000);
	limits("gpt:hidden=8,layers=1,heads=1,vocab=1", "seq", 1, 10000000);
	limits("gpt:hidden=8,layers=1,heads=1,seq=1", "vocab", 1, 100000000);
#define GPT8 "gpt:hidden=8,layers=1,heads=1,seq=4,vocab=5"
	limits(GPT8, "kv_heads", 1, 100000);
	limits(GPT8, "ffn", 1, 10000000);
	limits(GPT8, "positions", 0, 100000000);
	limits(GPT8, "tied", 0, 1);
	limits(GPT8, "dropout", 0, 1);
#define BERT8 "bert:hidden=8,layers=1,heads=1,seq=4,vocab=5"
	limits(BERT8, "types", 0, 100000000);
	limits(BERT8, "predictions", 1, 10000000);
#define VIT8 "vit:hidden=8,layers=1,heads=1"
	limits(VIT8, "image", 1, 16384);
	limits(VIT8, "patch", 1, 16384);
	limits(VIT8, "classes", 1, 100000000);
	limits(VIT8, "distilled", 0, 1);
	limits("deepfm:fields=39", "ids", 1, 4294967294.0);
	limits("deepfm:ids=100", "hidden", 1, 1000000);
	limits("deepfm:ids=100", "layers", 1, 100);
	limits("deepfm:ids=100", "fields", 1, 100000);
	limits("deepfm:ids=100", "dim", 1, 100000);
	limits("deepfm:ids=100", "norm", 0, 1);
	static const char *const bad[][2] = { { GPT8 ",head=qa", "unknown dimension \"head\"" },
		{ BERT8 ",head=x", "head: expected none, pooler, pretrain or qa" }, { GPT8 ",hidden=9", "hidden: duplicate key" },
		{ "gpt:hidden=8", "layers: expected a whole number from 1 to 4096, found nothing" },
		{ "gpt:hidden=8,layers", "expected name=number, found \"layers\"" }, { GPT8 ",hiden=9", "did you mean \"hidden\"?" },
		{ GPT8 ",tied=x", "tied: expected a whole number" },
		{ "gpt:hidden=9,layers=1,heads=2,seq=4,vocab=5", "heads: expected a divisor of \"hidden\" (9)" },
		{ "gpt:hidden=12,layers=1,heads=3,seq=4,vocab=5,kv_heads=2", "kv_heads: expected a divisor of \"heads\" (3)" },
		{ VIT8 ",image=30,patch=16", "patch: expected a divisor of \"image\" (30)" },
		{ BERT8 ",predictions=5", "predictions: expected at most \"seq\" (4)" } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct dnn *d = dnn_of(bad[i][0]);
		if (!ok(!d && strstr(err.text, bad[i][1]), "%s", bad[i][1]))
			printf("# said: %s\n", err.text);
		dnn_free(d);
	}
}

static double params_of(const char *spec)
{
	struct dnn *d = dnn_of(spec);
	double n = d ? d->params : NAN;
	if (!d)
		printf("# %s\n", err.text);
	dnn_free(d);
	return n;
}

/* Tests the numbers of parameters, computed by hand, for dimensions with defaults. */
static void check_defaults(void)
{
	/* GPT with h = 8 has token and position tables and a last norm. A block has two norms, 4 h^2 + 4 h parameters of attention,
	 * and 8 h^2 + 5 h of the MLP. */
	double block = 2 * 16 + 4 * 64 + 32 + 8 * 64 + 40;
	near_to(params_of(GPT8), 5 * 8 + 4 * 8 + block + 16, 0, "GPT: MLP of 4 h, as many positions as tokens, a shared output table");
	near_to(params_of(GPT8 ",tied=0"), 2 * 5 * 8 + 4 * 8 + block + 16, 0, "an output table of its own");
	near_to(params_of(GPT8 ",positions=9,ffn=16"), 5 * 8 + 9 * 8 + block - 16 * (8 + 8 + 1) + 16, 0, "other positions and MLP");
	/* Llama has no biases and one parameter per channel in a norm. Its MLP has three products and a width of 8/3 h, rounded up to
	 * a multiple of 256. */
	near_to(params_of("llama:hidden=96,layers=2,heads=4,seq=4,vocab=5"), 2 * 5 * 96 + 2 * (4 * 96 * 96 + 3 * 96 * 256 + 2 * 96) + 96, 0,
		"Llama: an MLP of 256 for a width of 96, output not shared");
	near_to(params_of("llama:hidden=97,layers=1,heads=1,seq=4,vocab=5"), 2 * 5 * 97 + 4 * 97 * 97 + 3 * 97 * 512 + 2 * 97 + 97, 0,
		"of 512 for 97");
	near_to(params_of("llama:hidden=96,layers=1,heads=4,kv_heads=2,seq=4,vocab=5,ffn=10"),
		2 * 5 * 96 + 3 * 96 * 96 + 3 * 96 * 10 + 2 * 96 + 96, 0, "half as many heads of keys and values");
	/* DeepFM has one weight per id and a bias of first order, vectors of 10, and products of 390 x 400, 400 x 400 twice and 400 x
	 * 1. */
	double deep = 390 * 400 + 400 + 2 * (400 * 400 + 400) + 401;
	near_to(params_of("deepfm:ids=100"), 101 + 1000 + deep, 0, "DeepFM: 39 fields, vectors of 10, three layers of 400");
	near_to(params_of("deepfm:ids=100,norm=1"), 101 + 1000 + deep + 3 * 800, 0, "with batch norm");
	near_to(params_of("deepfm:ids=100,fields=2,dim=3,layers=1,hidden=5"), 101 + 300 + 6 * 5 + 5 + 6, 0, "another size");
	struct dnn *d = dnn_of("deepfm:ids=100,fields=2,dim=3,layers=1,hidden=5");
	ok(d && d->input_elems == 2 && d->layer[2].fwd_flops == 24 && d->layer[2].in_elems == 6 && d->layer[2].out_elems == 3,
		"pairs of fields: 4 FLOPs per field and dimension");
	dnn_free(d);
	/* ViT has patches of 16 x 16 x 3, one class token (two if distilled), positions, and 1000 classes per head. */
	double vit = 768 * 8 + 8 + 8 + 197 * 8 + block + 16 + 8 * 1000 + 1000;
	near_to(params_of(VIT8), vit, 0, "ViT: 224 pixels in patches of 16, 1000 classes");
	near_to(params_of(VIT8 ",image=32,classes=10"), vit - (197 - 5) * 8 - 990 * 9, 0, "another image and other classes");
	near_to(params_of(VIT8 ",distilled=1"), vit + 2 * 8 + 9 * 1000, 0, "distilled: one token and one head more");
}

/* ---- served models ---- */

static void says(const struct served *m, const struct quantisation *q, const char *want)
{
	struct sbuf b = { 0 };
	served_describe_memory(m, q, &b);
	if (!ok(strstr(sbuf_text(&b), want), "%s", want))
		printf("# said: %s\n", sbuf_text(&b));
	sbuf_free(&b);
}

static void check_precision(void)
{
	struct served *m = served_load("llama2-7b", &err);
	if (!ok(m && served_has_precision(m) && served_dnn(m), "Llama-2 7B is a model by layers"))
		return;
	/* The model has 6.738e9 parameters, 6.476e9 of them in linear layers of blocks. A token has keys and values of 32 layers x 32
	 * heads x 128 elements: 262144 numbers. */
	static const struct {
		enum precision precision;
		enum number_format weights, kv;
		double linear_bytes, other_bytes, kv_bytes;
		const char *says;
	} known[] = { { PRECISION_FP16, FORMAT_AUTO, FORMAT_AUTO, 2, 2, 2,
			      "(fp16, 2 bytes per parameter), 524288 bytes of KV cache per token (fp16: kv_precision=auto)" },
		{ PRECISION_FP8, FORMAT_AUTO, FORMAT_AUTO, 1, 2, 2,
			"(fp8, 1 byte per weight of the linear layers of blocks, 2 per other parameter), 524288 bytes of KV cache per "
			"token "
			"(fp16: kv_precision=auto)" },
		{ PRECISION_FP32, FORMAT_AUTO, FORMAT_AUTO, 4, 4, 4,
			"(fp32, 4 bytes per parameter), 1048576 bytes of KV cache per token (fp32: kv_precision=auto)" },
		{ PRECISION_BF16, FORMAT_AUTO, FORMAT_FP8, 2, 2, 1,
			"(bf16, 2 bytes per parameter), 262144 bytes of KV cache per token (fp8)" },
		{ PRECISION_FP16, FORMAT_INT8, FORMAT_INT4, 1, 2, 0.5,
			"(int8, 1 byte per weight of the linear layers of blocks, 2 per other parameter), computed with in fp16, 131072 "
			"bytes of "
			"KV cache per token (int4)" },
		{ PRECISION_BF16, FORMAT_INT4, FORMAT_INT8, 0.51953125, 2, 1,
			"(int4, 0.519531 byte per weight of the linear layers of blocks, 2 per other parameter), computed with in bf16, "
			"262144 "
			"bytes of KV cache per token (int8)" } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct quantisation q = quant_default;
		q.precision = known[i].precision;
		q.weights = known[i].weights;
		q.kv = known[i].kv;
		served_set_precision(m, &q);
		ok(m->weight_bytes == 6476005376 * known[i].linear_bytes + (6738415616 - 6476005376) * known[i].other_bytes &&
				m->kv_bytes == 262144 * known[i].kv_bytes,
			"%.0f bytes of weights, %.0f of cache per token", m->weight_bytes, m->kv_bytes);
		says(m, &q, known[i].says);
	}
	served_free(m);
	m = served_load("irina-a", &err);
	ok(m && !served_has_precision(m) && !served_dnn(m), "a table has no precision");
	double before = m ? m->weight_bytes : 0;
	struct quantisation wide = { .precision = PRECISION_FP32, .kv = FORMAT_FP32 };
	served_set_precision(m, &wide);
	ok(m && m->weight_bytes == before, "which changes nothing in it");
	const struct served_place place = { .tp = 1, .pp = 1 };
	ok(m && !served_on_new(m, &place, &err) && strstr(err.text, "expected a language model, found a table of batches"),
		"and is no language model");
	served_free(m);
	static const char *const names[] = { "ideal", "tensorrt-llm", "lmdeploy", "vllm-0.5.3", "vllm-0.6.0", "sglang-0.3", "sglang-0.4" };
	static const double reads[] = { 1, 6.2, 1.9, 1, 1, 1, 1 };
	for (size_t i = 0; i < 7; i++)
		ok(served_engine(i) && !strcmp(served_engine(i)->name, names[i]) && served_engine(i)->kv_reads == reads[i] &&
				!served_engine(i)->fitted_to == (i < 1 || i > 2) && !served_engine(i)->host_from == (i < 3),
			"engine %s", names[i]);
	ok(!served_engine(7), "no other engine");
}

/* ---- a replica over several nodes ---- */

struct fake_net {
	double reduce_s, gather_s, hop_s;
};

static double fake_reduce(void *ctx, uint32_t stage, bool is_gather, double bytes, double *network_bytes)
{
	const struct fake_net *n = ctx;
	(void)stage;
	*network_bytes += bytes;
	return is_gather ? n->gather_s : n->reduce_s;
}

static double fake_hop(void *ctx, uint32_t stage, double bytes, double *network_bytes)
{
	(void)stage;
	(void)bytes;
	*network_bytes += 1;
	return ((const struct fake_net *)ctx)->hop_s;
}

static struct served_on *on_net(const struct served *m, const struct device *d, const struct served_net *net, uint32_t tp, uint32_t pp)
{
	const struct served_place place = { .device = d, .tp = tp, .pp = pp, .precision = PRECISION_FP16, .net = net };
	return served_on_new(m, &place, &err);
}

/*
 * Llama-2 7B in fp16 has width 4096 and 32 blocks with two all-reduces each, and one all-reduce after the embedding. An all-gather
 * follows each hop. Another one gathers 32000 output scores per token that needs them.
 */
static void check_network(void)
{
	struct served *m = served_load("llama2-7b", &err);
	struct device *d = device_load("a100", &err);
	const struct llm_load load = { .decodes = 3, .prompts = 1, .prompt_tokens = 5, .decode_context = 100, .prompt_pairs = 25 };
	const double r = 3e-3, g = 5e-3, h = 7e-3, sent = 8 * 4096 * 2, scores = 4 * 32000 * 2;
	for (uint32_t pp = 1; pp <= 4; pp *= 2) {
		struct fake_net f = { 0, 0, 0 };
		const struct served_net net = { &f, fake_reduce, fake_hop };
		struct served_on *x = on_net(m, d, &net, 2, pp);
		double base = served_iteration(x, &load), hops = pp - 1;
		near_to(served_network_bytes(x, &load), 65 * sent + hops * (1 + sent) + scores, 1e-12, "bytes over the network");
		served_on_free(x);
		f = (struct fake_net){ r, g, h };
		x = on_net(m, d, &net, 2, pp);
		near_to((served_iteration(x, &load) - base) / (65 * r + hops * (h + g) + g), 1, 1e-9,
			"all-reduces, all-gathers and hops of an iteration");
		struct served_parts part = { 0 };
		ok(served_iteration_parts(x, &load, &part) &&
				fabs((part.linear + part.elementwise + part.collective + part.attention_prompt + part.attention_decode +
					     part.head + part.hops + part.overhead) /
						served_iteration(x, &load) -
					1) < 1e-12,
			"its parts add up to it");
		near_to(part.collective, 65 * r, 1e-9, "the part of all-reduces");
		near_to(part.hops, hops * (h + g), 1e-9, "the part of hops");
		served_on_free(x);
		/* A negative time states that the GPUs share a node, so the device's own link is used. */
		f = (struct fake_net){ -1, -1, -1 };
		struct served_on *own = on_net(m, d, NULL, 2, pp);
		x = on_net(m, d, &net, 2, pp);
		near_to(served_iteration(x, &load) / served_iteration(own, &load), 1, 1e-12, "within a node the network does not matter");
		ok(served_network_bytes(own, &load) == 0, "without a network no bytes");
		served_on_free(own);
		served_on_free(x);
		/* A stage on one GPU has neither all-reduce nor all-gather. */
		f = (struct fake_net){ r, g, h };
		x = on_net(m, d, &net, 1, pp);
		near_to(served_network_bytes(x, &load), hops, 1e-12, "one GPU per stage sends hops alone");
		served_on_free(x);
	}
	struct device lone = *d;
	lone.link_Bps = lone.pcie_Bps = 0;
	static const struct {
		uint32_t tp, pp;
	} sizes[] = { { 1, 1 }, { 2, 1 }, { 1, 2 } };
	for (int i = 0; i < 3; i++) {
		struct served_on *x = on_net(m, &lone, NULL, sizes[i].tp, sizes[i].pp);
		ok(i ? !x && strstr(err.text, "has no link: expected tensor and pipeline parallelism of 1") : x != NULL,
			"a GPU without links, %u x %u", sizes[i].tp, sizes[i].pp);
		served_on_free(x);
	}
	/* The KV cache gets 90 % of the memory of two GPUs, minus the weights. */
	struct served_on *two = on_net(m, d, NULL, 2, 1);
	double room = 0.9 * 2 * d->memory_bytes - m->weight_bytes;
	ok(two && fabs(served_kv_tokens(two, 0.9) - floor(room / m->kv_bytes)) <= 1 && served_kv_tokens(two, 0.01) == 0,
		"%.0f tokens of cache beside the weights", two ? served_kv_tokens(two, 0.9) : 0);
	served_on_free(two);
	device_free(d);
	served_free(m);
}

/* ResNet-50 has 53 convolutions and a fully connected layer, so two GPUs per stage gather 54 outputs per batch, and once more after a
 * hop. */
static void check_table_network(void)
{
	struct served *m = served_load("resnet50:largest=512", &err);
	struct device *d = device_load("a100", &err);
	ok(m && d && m->n_batches == 512 && served_batch_for(m, 512) == 512 && !served_batch_for(m, 513), "a table of 512 batches");
	static const char *const bad[] = { "resnet50:largest=513", "resnet50:largest=0", "resnet50:largest=", "resnet50:largest=1x" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(!served_load(bad[i], &err) && strstr(err.text, "with a whole number from 1 to 512 at the end"), "refused: %s", bad[i]);
	served_free(m);
	m = served_load("resnet50:largest=2", &err);
	const double g = 5e-3, h = 7e-3;
	for (uint32_t tp = 1; tp <= 2; tp++)
		for (uint32_t pp = 1; pp <= 2; pp++) {
			struct fake_net none = { 0, 0, 0 }, some = { 1, g, h }, inside = { -1, -1, -1 };
			const struct served_net nets[] = { { &none, fake_reduce, fake_hop }, { &some, fake_reduce, fake_hop },
				{ &inside, fake_reduce, fake_hop } };
			double s[4];
			for (int i = 0; i < 4; i++) {
				const struct served_place place = {
					.device = d, .tp = tp, .pp = pp, .precision = PRECISION_FP16, .net = i < 3 ? &nets[i] : NULL
				};
				struct served *x = served_placed(m, &place, &err);
				s[i] = x ? served_latency(x, 2, 0) : NAN;
				served_free(x);
			}
			double gathers = tp > 1 ? 54 + (pp - 1) : 0;
			near_to(s[1] - s[0], gathers * g + (pp - 1) * h, 1e-9, "all-gathers and hops of a batch");
			near_to(s[2] / s[3], 1, 1e-12, "within a node the network does not matter");
		}
	device_free(d);
	served_free(m);
}

int main(void)
{
	check_table_network();
	check_products();
	check_pointwise();
	check_dimensions();
	check_defaults();
	check_precision();
	check_network();
	return done();
}
