/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of networks: the catalogue, transformers by dimension, the backward rule, saved activations, files. */
#include "base/mem.h"
#include "hwmodel/dnn.h"
#include "tests/tap.h"

#include <stdlib.h>

static struct dnn *load(const char *spec)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load(spec, &err);
	if (!d) {
		printf("# %s\n", err.text);
		ok(false, "%s loads", spec);
		exit(1);
	}
	return d;
}

static const struct dnn_layer *layer(const struct dnn *d, const char *name)
{
	for (uint32_t i = 0; i < d->n_layers; i++)
		if (!strcmp(d->layer[i].name, name))
			return &d->layer[i];
	printf("# no layer %s in %s\n", name, d->name);
	exit(1);
}

static double products(const struct dnn *d, enum dnn_pass pass)
{
	double sum = 0;
	for (uint32_t i = 0; i < d->n_layers; i++)
		sum += d->layer[i].m > 0 ? dnn_flops(d, i, pass) : 0;
	return sum;
}

/*
 * Tests parameters and numbers of tensors against torchvision's model tables and state dicts (CNNs, ViT), Hugging Face's released
 * configurations (BERT, GPT-2, Llama) and Caffe's model zoo (alexnet_bvlc). Multiply-adds come from the same tables, with their three
 * or four digits.
 */
static void known_totals(void)
{
	static const struct {
		const char *name;
		double params, tensors, gmacs; /* 0: not published */
	} known[] = { { "alexnet", 61100840, 16, 0.714 }, { "alexnet_bvlc", 60965224, 16, 0.724 }, { "vgg16", 138357544, 32, 15.47 },
		{ "vgg19", 143667240, 38, 19.632 }, { "resnet18", 11689512, 62, 1.814 }, { "resnet34", 21797672, 110, 3.664 },
		{ "resnet50", 25557032, 161, 4.089 }, { "resnet101", 44549160, 314, 7.801 }, { "resnet152", 60192808, 467, 11.514 },
		{ "wrn_50_2", 68883240, 161, 11.398 }, { "inception_v3_aux", 27161264, 292, 0 }, { "inception_v3", 23834568, 0, 5.713 },
		{ "googlenet", 6624904, 173, 1.498 }, { "bert_base_s512", 109482240, 199, 0 }, { "bert_large_s512", 335141888, 391, 0 },
		{ "bert_large_pretrain_s512", 336226108, 0, 0 }, { "gpt2_117m", 124439808, 148, 0 }, { "gpt2_345m", 354823168, 292, 0 },
		{ "gpt2_1p5b", 1557611200, 580, 0 }, { "llama2_7b", 6738415616, 291, 0 }, { "llama2_13b", 13015864320, 363, 0 },
		{ "llama2_70b", 68976648192, 723, 0 },
		/* as released: the sums of their tensors */
		{ "llama3_8b", 8030261248, 291, 0 }, { "llama3_70b", 70553706496, 723, 0 }, { "llama3p1_405b", 405853388800, 1137, 0 },
		{ "llama3p2_1b", 1235814400, 146, 0 }, { "llama3p2_3b", 3212749824, 254, 0 }, { "mistral_7b", 7248023552, 291, 0 },
		{ "phi4", 14659507200, 363, 0 }, { "phi4_mini", 3836021760, 290, 0 }, { "vit_b16", 86567656, 152, 17.56 },
		{ "deit_s16", 22050664, 152, 4.6 } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct dnn *d = load(known[i].name);
		double gmacs = products(d, DNN_FORWARD) / 2e9;
		bool good = d->params == known[i].params && (known[i].tensors == 0 || d->tensors == known[i].tensors) &&
			    (known[i].gmacs == 0 || fabs(gmacs / known[i].gmacs - 1) < 1e-3);
		if (!good)
			printf("# %.0f %.0f %.5f\n", d->params, d->tensors, gmacs);
		ok(good, "%s: published parameters, tensors and MACs", known[i].name);
		dnn_free(d);
	}
	/* Computed by hand: 96 blocks of 12 x 12288^2 parameters are nearly all of the 175B parameters. The name of the model is a
	 * rounded value. */
	struct dnn *d = load("gpt3-175b");
	ok(fabs(d->params / 175e9 - 1) < 3e-3 && d->blocks == 96 && d->heads == 96, "gpt3_175b has 175B within 0.3 %%, 96 blocks");
	dnn_free(d);
}

static void catalogue_is_sound(void)
{
	size_t n = 0, wrong = 0;
	for (; dnn_catalogue(n); n++) {
		struct dnn *d = load(dnn_catalogue(n));
		double params = 0, tensors = 0;
		uint32_t blocks = 0;
		for (uint32_t i = 0; i < d->n_layers; i++) {
			const struct dnn_layer *l = &d->layer[i];
			params += l->params;
			tensors += l->tensors;
			if (l->block != DNN_NO_BLOCK && (i == 0 || d->layer[i - 1].block != l->block))
				blocks++;
			bool is_table = l->rows > 0;
			bool good = l->rows * l->columns <= l->params &&
				    (!is_table || l->params - l->rows * l->columns <= 8 * l->rows || l->kind == ORR_LAYER_EMBEDDING) &&
				    l->in_elems > 0 && l->out_elems > 0 && (l->block == DNN_NO_BLOCK || l->block < d->blocks) &&
				    !strchr(l->name, '#');
			if (!good)
				printf("# %s: %s\n", d->name, l->name);
			wrong += !good;
		}
		wrong += params != d->params || tensors != d->tensors || blocks != d->blocks || strcmp(d->name, dnn_catalogue(n)) ||
			 strlen(d->hash) != 64 || !(d->input_elems > 0);
		dnn_free(d);
	}
	ok(n >= 46 && !wrong, "all %zu models of the catalogue: sums, blocks, matrices, sizes", n);
}

/* Tests the classifier that Stanza separates. The parameters of the fully connected layers are computed by hand from the shapes in
 * torchvision's definitions. */
static void classifiers(void)
{
	static const struct {
		const char *name, *first;
		double params;
	} known[] = { { "alexnet", "fc6", 58631144 }, { "vgg16", "fc6", 123642856 }, { "resnet50", "fc", 2049000 },
		{ "googlenet", "fc", 1025000 } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct dnn *d = load(known[i].name);
		double sum = 0;
		for (uint32_t l = d->fc_first; l < d->n_layers; l++)
			sum += d->layer[l].params;
		ok(d->fc_first < d->n_layers && !strcmp(d->layer[d->fc_first].name, known[i].first) && sum == known[i].params,
			"%s: the classifier begins at %s and has %.0f parameters", known[i].name, known[i].first, known[i].params);
		dnn_free(d);
	}
	struct dnn *d = load("gpt2");
	ok(d->fc_first == d->n_layers, "a transformer has no such classifier");
	dnn_free(d);
}

static void backward_rule(void)
{
	struct dnn *d = load("gpt3");
	double forward = products(d, DNN_FORWARD), data = products(d, DNN_BACKWARD_DATA), weight = products(d, DNN_BACKWARD_WEIGHT);
	/* FLOPs are 6 per parameter and token, plus attention. Without recomputation, Narayanan et al., SC 2021, eq. 2 is 72 B s l
	 * h^2 (1 + s / 6h + V / 12lh). */
	double s = 2048, l = 96, h = 12288, v = 50257;
	near_to(forward + data + weight, 72 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h)), 1e-12,
		"GPT-3: forward and backward are Narayanan et al.'s formula");
	near_to((data + weight) / forward, 2, 1e-12, "backward is twice forward, tied output layer included");
	ok(dnn_flops(d, 0, DNN_BACKWARD_DATA) == 0 && dnn_flops(d, 1, DNN_BACKWARD_DATA) == 0, "tables have no data gradient");
	dnn_free(d);
	d = load("resnet50");
	ok(dnn_flops(d, 0, DNN_BACKWARD_DATA) == 0 && dnn_flops(d, 0, DNN_BACKWARD_WEIGHT) == d->layer[0].fwd_flops &&
			dnn_flops(d, 1, DNN_BACKWARD_DATA) == d->layer[1].fwd_flops,
		"a first convolution has a gradient of weights alone");
	ok(dnn_flops(d, 2, DNN_BACKWARD_WEIGHT) == 0, "a ReLU has no gradient of weights");
	dnn_free(d);
}

static double block_saved(const struct dnn *d, uint32_t block)
{
	double sum = 0;
	for (uint32_t i = 0; i < d->n_layers; i++)
		sum += d->layer[i].block == block ? d->layer[i].saved_elems : 0;
	return sum;
}

/*
 * Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, eq. 2: a layer keeps s b h (34 + 5 a s /
 * h) bytes at two bytes per element. These bytes include dropout: two masks of s b h and, in attention, a mask of a s^2 b and an output
 * of 2 a s^2 b.
 */
static void activations_of_transformers(void)
{
	double s = 2048, h = 12288, a = 96, sbh = s * h;
	struct dnn *d = load("gpt3_175b");
	double dropout = 2 * sbh + 3 * a * s * s;
	near_to(2 * block_saved(d, 40), sbh * (34 + 5 * a * s / h) - dropout, 1e-15,
		"a layer of GPT-3 keeps s b h (34 + 5 a s / h) bytes, less what dropout keeps");
	double scores = 0;
	for (uint32_t i = 0; i < d->n_layers; i++)
		scores += d->layer[i].block == 40 && d->layer[i].kind == ORR_LAYER_SOFTMAX ? d->layer[i].saved_elems : 0;
	near_to(2 * scores, 2 * a * s * s, 1e-15, "of these bytes 2 a s^2 b belong to the softmax, which FlashAttention does not keep");
	dnn_free(d);
	d = load("gpt:hidden=12288,layers=2,heads=96,seq=2048,vocab=51200,dropout=1");
	near_to(2 * block_saved(d, 1), sbh * (34 + 5 * a * s / h), 1e-15, "with dropout=1 a layer keeps s b h (34 + 5 a s / h) bytes");
	dnn_free(d);
	d = load("bert:hidden=1024,layers=2,heads=16,seq=512,vocab=30522,dropout=1");
	near_to(2 * block_saved(d, 1), 512. * 1024 * (34 + 5. * 16 * 512 / 1024), 1e-15, "a block of BERT keeps as much as one of GPT");
	dnn_free(d);
}

static double kept(const struct dnn *d, const char *prefix)
{
	double sum = 0;
	for (uint32_t i = 0; i < d->n_layers; i++)
		sum += !strncmp(d->layer[i].name, prefix, strlen(prefix)) ? d->layer[i].saved_elems : 0;
	return sum;
}

/* Tests the activations that are kept for backward, counted by hand: each one that backward reads counts once. */
static void activations_of_cnns(void)
{
	struct dnn *d = load("alexnet");
	/* Kept are the input, the outputs of the ReLUs, the outputs of the pools with the indices of the maxima, and the last softmax. */
	double want = 3 * 224 * 224 + (64 * 55 * 55 + 192 * 27 * 27 + 384 * 13 * 13 + 256 * 13 * 13 * 2) +
		      2 * (64 * 27 * 27 + 192 * 13 * 13 + 256 * 6 * 6) + 4096 * 2 + 1000;
	near_to(kept(d, ""), want, 0, "AlexNet keeps each activation once; ReLU works in place");
	ok(layer(d, "relu1")->is_in_place && layer(d, "conv2")->saved_elems == 64 * 27 * 27, "conv2 keeps the output of pool1");
	dnn_free(d);
	d = load("resnet50");
	/* Each convolution keeps its output (the input of the norm) and the output of the ReLU. */
	near_to(kept(d, "layer1.1."), 56 * 56 * (4 * 64 + 2 * 256), 0, "a bottleneck block keeps two maps a convolution");
	/* The first block also keeps the output of the pool and the input of the shortcut's norm. The output of the pool counts once,
	 * although two convolutions read it. */
	near_to(kept(d, "layer1.0."), 56 * 56 * (64 + 4 * 64 + 3 * 256), 0, "an input of two convolutions is kept once");
	dnn_free(d);
}

static void products_of_layers(void)
{
	struct dnn *d = load("alexnet_bvlc");
	const struct dnn_layer *l = layer(d, "conv2"); /* from 96x27x27 to 256 channels, 5x5, two groups */
	ok(l->m == 27 * 27 && l->n == 128 && l->k == 48 * 25 && l->count == 2 && l->rows == 256 && l->columns == 1200,
		"a grouped convolution is a product per group");
	dnn_free(d);
	d = load("llama2_70b");
	l = layer(d, "layer7.attn_scores");
	ok(l->m == 4096 && l->n == 4096 && l->k == 128 && l->count == 64 && l->block == 7, "attention is a product per head");
	l = layer(d, "layer7.qkv"); /* 64 heads of queries, 8 of keys, 8 of values, width 128 */
	ok(l->n == 80 * 128 && l->k == 8192 && l->tensors == 3, "grouped heads narrow keys and values");
	dnn_free(d);
}

static bool same_layers(const char *a, const char *b)
{
	struct dnn *x = load(a), *y = load(b);
	bool same = x->n_layers == y->n_layers && x->params == y->params && x->blocks == y->blocks && x->ffn == y->ffn;
	for (uint32_t i = 0; same && i < x->n_layers; i++) {
		const struct dnn_layer *p = &x->layer[i], *q = &y->layer[i];
		same = !strcmp(p->name, q->name) && p->kind == q->kind && p->params == q->params && p->fwd_flops == q->fwd_flops &&
		       p->out_elems == q->out_elems && p->saved_elems == q->saved_elems && p->m == q->m && p->count == q->count;
	}
	dnn_free(x);
	dnn_free(y);
	return same;
}

static void by_dimension(void)
{
	ok(same_layers("gpt3_175b", "gpt:hidden=12288,layers=96,heads=96,seq=2048,vocab=50257"), "gpt: makes GPT-3");
	/* The default width of the MLP is Llama's rule: two thirds of 4 h, rounded up to a multiple of 256. */
	ok(same_layers("llama2_7b", "llama:hidden=4096,layers=32,heads=32,seq=4096,vocab=32000"), "llama: makes Llama 2 7B");
	ok(same_layers("llama2_70b", "llama:hidden=8192,layers=80,heads=64,kv_heads=8,ffn=28672,seq=4096,vocab=32000"),
		"llama: makes Llama 2 70B");
	ok(same_layers("bert_large_qa_s384", "bert:hidden=1024,layers=24,heads=16,seq=384,vocab=30522,head=qa"), "bert: makes BERT-large");
	ok(same_layers("bert_large_pretrain_s512", "bert:hidden=1024,layers=24,heads=16,seq=512,vocab=30522,head=pretrain"),
		"bert: makes it with its heads of pre-training");
	ok(same_layers("vit_b16", "vit:hidden=768,layers=12,heads=12"), "vit: makes ViT-B/16");
	ok(same_layers("vit_b16", "vit:width=768"), "vit: a width alone has 12 layers and heads of 64");
	ok(same_layers("deit_b16_distilled", "vit:hidden=768,layers=12,heads=12,distilled=1"), "vit: makes the distilled DeiT");
	/* Megatron-1T has 1008.0 billion parameters with a vocabulary of 51,200 (Narayanan et al., SC 2021, table 1). */
	struct dnn *d = load("gpt:hidden=25600,layers=128,heads=160,seq=2048,vocab=51200");
	near_to(d->params / 1e9, 1008.0, 5e-5, "gpt: makes Megatron's 1008.0 billion");
	dnn_free(d);
}

/* Tests recommenders by hand: a weight and a vector of 10 per id, a bias, and an MLP 390-400-400-400-1 with norms. Tensors are
 * counted as in PyTorch. */
static void recommenders(void)
{
	struct dnn *d = load("deepfm:ids=1000000,norm=1");
	ok(d->params == 11e6 + 1 + (391 * 400 + 2 * 401 * 400 + 401) + 3 * 800 && d->tensors == 2 + 1 + 3 * 4 + 2,
		"deepfm: has tables, three normed layers, 17 tensors");
	dnn_free(d);
	struct orr_error err = { 0 };
	ok(!dnn_load("deepfm:dim=4", &err) && strstr(err.text, "ids: expected a whole number"), "deepfm: the number of ids is required");
}

static void names(void)
{
	ok(same_layers("resnet50", "ResNet-50") && same_layers("inception_v3", "Inception V3") && same_layers("vgg16", "VGG-16") &&
			same_layers("wrn_50_2", "wide-resnet-50-2") && same_layers("gpt3_6p7b", "gpt3-6p7b"),
		"hyphens, blanks and capitals in a name do not matter");
	static const struct {
		const char *spec, *says;
	} wrong[] = { { "resnet51", "did you mean \"resnet50\"?" }, { "alexnett", "did you mean \"alexnet\"?" },
		{ "", "orrery model list" }, { "zzzzzzzz", "orrery model list" }, { "./nowhere.json", "nowhere.json" },
		{ "gtp:hidden=1", "expected gpt, bert, llama, moe, vit, deepfm" }, { "gpt:hidden=1024", "layers: expected a whole number" },
		{ "gpt:hiden=1024", "did you mean \"hidden\"?" },
		{ "gpt:hidden=0", "hidden: expected a whole number from 1 to 1000000, found \"0\"" }, { "gpt:hidden=1e9", "found \"1e9\"" },
		{ "gpt:hidden", "expected name=number" }, { "gpt:hidden=2,hidden=2", "hidden: duplicate key" },
		{ "gpt:hidden=1000,layers=1,heads=3,seq=8,vocab=8", "heads: expected a divisor of \"hidden\" (1000), found 3" },
		{ "llama:hidden=64,layers=1,heads=8,kv_heads=3,seq=8,vocab=8", "kv_heads: expected a divisor of \"heads\" (8), found 3" },
		{ "bert:hidden=64,layers=1,heads=8,seq=8,vocab=8,head=tail", "head: expected none, pooler, pretrain or qa" },
		{ "bert:hidden=64,layers=1,heads=8,seq=8,vocab=8,predictions=9", "predictions: expected at most \"seq\" (8), found 9" },
		{ "vit:width=64,hidden=64", "hidden: duplicate key: expected it once" },
		{ "vit:hidden=64,layers=1,heads=8,patch=15", "patch: expected a divisor of \"image\" (224), found 15" },
		{ "vit:hidden=64,layers=1,heads=8,seq=3", "unknown dimension \"seq\"" } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct orr_error err = { 0 };
		struct dnn *d = dnn_load(wrong[i].spec, &err);
		bool good = !d && err.code == ORR_EINPUT && strstr(err.text, wrong[i].says);
		if (!good)
			printf("# %s\n", err.text);
		ok(good, "\"%s\" is refused: %s", wrong[i].spec, wrong[i].says);
		dnn_free(d);
	}
}

#define HEAD "{\"name\":\"m\",\"input_elems\":4,\"layers\":["
#define FC "{\"name\":\"fc\",\"kind\":\"linear\",\"params\":20,\"tensors\":2,\"flops\":32,\"out\":4,\"gemm\":[1,4,4,1]}"

static struct dnn *parse(const char *text, struct orr_error *err)
{
	memset(err, 0, sizeof *err);
	return dnn_parse("m.json", text, strlen(text), err);
}

static void files(void)
{
	struct orr_error err;
	struct dnn *d = parse(HEAD FC ",{\"repeat\":3,\"from\":5,\"is_block\":true,\"layers\":["
				      "{\"name\":\"b#.act\",\"kind\":\"activation\",\"flops\":4,\"out\":4}]}],\"classifier\":\"fc\"}",
		&err);
	ok(d && d->n_layers == 4 && d->blocks == 3 && d->params == 20 && d->tensors == 2 && d->fc_first == 0 &&
			!strcmp(d->layer[1].name, "b5.act") && !strcmp(d->layer[3].name, "b7.act") && d->layer[3].block == 2,
		"a file with a repeated block %s", err.text);
	ok(d && d->layer[0].in_elems == 4 && d->layer[0].saved_elems == 4 && d->layer[1].saved_elems == 4 && !strcmp(d->title, "m"),
		"defaults of a file: a layer's input is the previous output, and a product keeps its input");
	dnn_free(d);
	d = parse(HEAD FC "]}", &err);
	char hash[65];
	memcpy(hash, d ? d->hash : "", d ? sizeof hash : 1);
	struct dnn *e = parse(HEAD FC "] }", &err);
	ok(d && e && strcmp(hash, e->hash), "another text, another hash");
	dnn_free(d);
	dnn_free(e);
}

/* Every error names its position in the file. */
static void faults(void)
{
	static const struct {
		const char *text, *says;
	} wrong[] = { { "", "m.json:1:1" }, { "{\"name\":\"m\",\n  oops}", "m.json:2:" }, { "[]", "$: expected an object" },
		{ HEAD FC "]} x", "invalid JSON: expected an object" },
		{ "{\"input_elems\":4,\"layers\":[" FC "]}", "$.name: expected a string" },
		{ "{\"name\":\"m\",\"layers\":[" FC "]}", "$.input_elems: expected a number" },
		{ "{\"name\":\"m\",\"input_elems\":4}", "$.layers: expected a list of layers" },
		{ "{\"name\":\"m\",\"input_elems\":4,\"layers\":[]}", "$.layers: expected a list of layers" },
		{ "{\"name\":\"m\",\"input_elems\":4,\"layers\":7}", "$.layers: expected a list of layers" },
		{ "{\"name\":\"m\\n\",\"input_elems\":4,\"layers\":[" FC "]}", "$.name: expected a string" },
		{ "{\"name\":\"m\",\"params\":4,\"sha256\":\"0\"}", "expected a file, as \"orrery model show NAME --file\" prints it" },
		{ "{\"name\":\"m\",\"input_elems\":4,\"layer\":[]}", "did you mean \"layers\"?" },
		{ "{\"name\":\"m\",\"name\":\"m\",\"input_elems\":4,\"layers\":[]}", "duplicate key" },
		{ HEAD "3]}", "$.layers[0]: expected an object" },
		{ HEAD FC ",{\"kind\":\"pool\",\"flops\":1,\"out\":1}]}", "$.layers[1].name: expected a string" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"liner\",\"flops\":1,\"out\":1}]}",
			"$.layers[0].kind: unknown kind \"liner\": did you mean \"linear\"?" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"transmogrify\",\"flops\":1,\"out\":1}]}", "expected conv, linear" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"norm\",\"params\":-1,\"flops\":1,\"out\":1}]}",
			"$.layers[0].params: expected a number from 0" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"norm\",\"params\":1.5,\"flops\":1,\"out\":1}]}",
			"$.layers[0].params: expected a whole number" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"norm\",\"params\":1e99,\"flops\":1,\"out\":1}]}",
			"$.layers[0].params: expected a number from 0" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"norm\",\"params\":4,\"tensors\":0,\"flops\":1,\"out\":1}]}", "$.layers[0].tensors" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"pool\",\"flops\":1e999,\"out\":1}]}", "$.layers[0].flops: expected a number" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"pool\",\"flops\":1}]}", "$.layers[0].out: expected a number" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"pool\",\"flops\":\"1\",\"out\":1}]}", "$.layers[0].flops: expected a number" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"pool\",\"flops\":1,\"out\":1,\"paramz\":1}]}",
			"$.layers[0]: unknown key \"paramz\": did you mean \"params\"?" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"linear\",\"flops\":1,\"out\":1}]}", "$.layers[0].gemm: expected [m, n, k, count]" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"linear\",\"flops\":1,\"out\":1,\"gemm\":[1,1,1]}]}",
			"$.layers[0].gemm: expected a list of 4 numbers" },
		{ HEAD "{\"name\":\"a\",\"kind\":\"linear\",\"flops\":1,\"out\":1,\"gemm\":[1,2,1,1]}]}",
			"$.layers[0].flops: expected 2 x m x n x k x count of \"gemm\", 4, found 1" },
		{ HEAD "{\"repeat\":0,\"layers\":[" FC "]}]}", "$.layers[0].repeat: expected a whole number from 1" },
		{ HEAD "{\"repeat\":2,\"layers\":[]}]}", "$.layers[0].layers: expected a list of layers" },
		{ HEAD "{\"repeat\":2,\"layers\":[{\"repeat\":2,\"layers\":[" FC "]}]}]}",
			"$.layers[0].layers[0].repeat: this layer is inside another \"repeat\": expected a layer without \"repeat\"" },
		{ HEAD "{\"repeat\":2,\"layers\":[" FC ",{\"name\":\"x\",\"kind\":1}]}]}",
			"$.layers[0].layers[1].kind: expected a string" },
		{ HEAD "{\"repeat\":100000,\"layers\":[" FC "," FC "," FC "]}]}", "$.layers: expected at most 200000 layers" },
		{ HEAD FC "],\"classifier\":\"fd\"}", "$.classifier: expected the name of a layer, found \"fd\"" },
		{ HEAD FC "],\"transformer\":{\"hidden\":8}}", "$.transformer.heads: expected a number" },
		{ HEAD FC "],\"transformer\":{\"hidden\":0,\"heads\":1,\"ffn\":1,\"seq\":1}}",
			"$.transformer.hidden: expected a whole number from 1" } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct orr_error err;
		struct dnn *d = parse(wrong[i].text, &err);
		bool good = !d && err.code == ORR_EINPUT && strstr(err.text, wrong[i].says) && !strncmp(err.text, "m.json", 6);
		if (!good)
			printf("# %s\n", err.text);
		ok(good, "refused: %s", wrong[i].says);
		dnn_free(d);
	}
	/* JSON that is nested deeper than cJSON allows */
	char *deep = mem_alloc(200001);
	memset(deep, '[', 200000);
	deep[200000] = '\0';
	struct orr_error err;
	ok(!parse(deep, &err) && strstr(err.text, "invalid JSON: expected an object"), "deep nesting is refused");
	mem_free(deep);
}

int main(void)
{
	known_totals();
	catalogue_is_sound();
	classifiers();
	backward_rule();
	activations_of_transformers();
	activations_of_cnns();
	products_of_layers();
	by_dimension();
	recommenders();
	names();
	files();
	faults();
	return done();
}
