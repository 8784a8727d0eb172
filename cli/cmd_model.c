/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery model list|show|experts */
#include "cli/cli.h"
#include "cli/data_file.h"
#include "cli/model_elastic.h"
#include "cli/model_experts.h"
#include "cli/model_served.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"
#include "hwmodel/dnn.h"

#include <cjson/cJSON.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] = "usage: orrery model list [--served|--elastic] [--json]\n"
			   "       orrery model show MODEL [--batch N] [--all] [--json]\n"
			   "       orrery model show MODEL --served [--device D] [--tp N] [--pp N] [--json]\n"
			   "       orrery model show JOB --elastic [--json]\n"
			   "       orrery model experts MODEL [--ep N] [--skew S] [--copies N] [--json]\n\n"
			   "Models of deep neural networks, layer by layer: parameters, FLOPs (2 x MACs) and\n"
			   "activations of one sample (an image, a sequence, a record), and the memory of a batch.\n"
			   "MODEL is a name from the list (resnet50, ResNet-50 and resnet_50 are the same), a file\n"
			   "FILE.json, or a model by its dimensions, FAMILY:name=number,..:\n\n"
			   "  gpt:    hidden, layers, heads, seq, vocab [, ffn, kv_heads, positions, tied, dropout]\n"
			   "  llama:  hidden, layers, heads, seq, vocab [, ffn, kv_heads, tied, head_dim, qk_norm=0|1|2,\n"
			   "          qkv_bias; latent attention: kv_rank, nope, rope, v_dim, q_rank]\n"
			   "  moe:    the same, and experts, top_k, width [, shared, groups, top_groups,\n"
			   "          first_dense, moe_every, router_bias]\n"
			   "  bert:   hidden, layers, heads, seq, vocab [, ffn, positions, types, dropout,\n"
			   "          predictions, head=none|pooler|pretrain|qa]\n"
			   "  vit:    hidden, layers, heads [, ffn, image, patch, classes, distilled]\n"
			   "  deepfm: ids [, fields, dim, hidden, layers, norm]\n"
			   "  gcn, gat: vertices, edges, widths (602-128-41) [, degrees, exponent]\n\n"
			   "Options:\n"
			   "  --batch N         samples per device, for the memory (default 1)\n"
			   "  --all             every layer; by default equal blocks are shown once\n"
			   "  --json            everything as JSON\n"
			   "  --file            the JSON file of the model, to edit and to use in its place\n\n"
			   "Models as they are served (latencies of batches, or iterations of a language model):\n"
			   "  --served          list or show served models; MODEL is a name from list --served, or a file\n"
			   "  --device D        a language model's iterations on this device (default h100)\n"
			   "  --profile P       fitted laws of its kernels: a name or a file (default: those that ship for it), or none\n"
			   "  --tp N            GPUs of a tensor-parallel group (default 1)\n"
			   "  --pp N            pipeline stages (default 1)\n"
			   "  --precision P     fp16, bf16, fp8, tf32 or fp32 (default fp16)\n"
			   "  --weights F       format of the weights of linear layers: auto (that of the precision), fp8, int8, int4\n"
			   "  --weight-group N  int4: weights that share a scale and a zero point (default 128)\n"
			   "  --weight-group-bits N  int4: bits of a scale and a zero point (default 20)\n"
			   "  --quantised-head  the output layer has the format of the weights too\n"
			   "  --kv-precision P  format of the KV cache: auto (16 bits), fp32, fp16, bf16, fp8, int8, int4\n"
			   "  --context N       tokens of context at each decode (default 2048)\n\n"
			   "Training jobs that can run on changing numbers of nodes (orrery spot):\n"
			   "  --elastic         list or show elastic jobs; JOB is a name from list --elastic, or a file\n\n"
			   "Mixtures of experts (orrery model experts): where tokens go, and the bytes of the all-to-all:\n"
			   "  --ep N            GPUs that share the experts (default 8)\n"
			   "  --gpus-per-node N GPUs of a node (default 8)\n"
			   "  --tokens N        tokens per GPU (default 4096)\n"
			   "  --skew S          Zipf exponent of the experts' loads (default 0: equal)\n"
			   "  --loads FILE      relative loads of the experts, in order\n"
			   "  --copies N        redundant copies of hot experts (default 0)\n"
			   "  --placement P     auto, contiguous or balanced (default auto: balanced with copies)\n"
			   "  --groups N        groups of experts (default: the model's)\n"
			   "  --top-groups N    groups that a token may use (default: the model's)\n"
			   "  --capacity C      limit on the pairs of an expert, relative to the mean; pairs above it are dropped\n"
			   "                    (default 0: no limit)\n"
			   "  --draws N         also draw the experts of N tokens\n"
			   "  --seed N          seed of the draws (default 1)\n\n"
			   "Example: does a GPT of 1.3 billion parameters fit a GPU of 40 GB?\n"
			   "  orrery model show gpt:hidden=2048,layers=24,heads=16,seq=2048,vocab=50257 --batch 4\n";

/* ---- sums ---- */

struct totals {
	double forward, data, weight; /* FLOPs */
	double macs;                  /* FLOPs of products alone */
	double out, saved;
};

static bool is_product(const struct dnn_layer *l)
{
	return l->m > 0;
}

static struct totals sum(const struct dnn *d)
{
	struct totals t = { 0 };
	for (uint32_t i = 0; i < d->n_layers; i++) {
		const struct dnn_layer *l = &d->layer[i];
		t.forward += l->fwd_flops;
		t.data += dnn_flops(d, i, DNN_BACKWARD_DATA);
		t.weight += dnn_flops(d, i, DNN_BACKWARD_WEIGHT);
		t.macs += is_product(l) ? l->fwd_flops / 2 : 0;
		t.out += l->is_in_place ? 0 : l->out_elems;
		t.saved += l->saved_elems;
	}
	return t;
}

/* Bytes per parameter and per saved element; mixed precision as in Micikevicius et al., ICLR 2018. */
static const struct precision {
	const char *name;
	double weight, gradient, sgd, adam, activation; /* sgd: SGD with momentum */
} precisions[] = {
	{ "fp32", 4, 4, 4, 8, 4 }, { "mixed", 2, 2, 4 + 4, 4 + 8, 2 }, /* the fp32 copy of the weights counts as optimizer state */
};
enum { N_PRECISIONS = sizeof precisions / sizeof *precisions };

/* ---- as text ---- */

/* Formats three digits and a prefix: "25.6M". */
static const char *short_number(double v, char out[16])
{
	static const char prefix[] = " kMGTPE";
	size_t i = 0;
	while (v >= 999.5 && prefix[i + 1]) {
		v /= 1000;
		i++;
	}
	if (i == 0)
		snprintf(out, 16, "%.0f", v);
	else
		snprintf(out, 16, v < 9.995 ? "%.2f%c" : v < 99.95 ? "%.1f%c" : "%.0f%c", v, prefix[i]);
	return out;
}

static void put_memory(const struct dnn *d, const struct totals *t, double batch)
{
	static const char *const rows[] = { "weights", "gradients", "optimizer, SGD with momentum", "optimizer, Adam", "activations kept",
		"in total, SGD with momentum", "in total, Adam" };
	printf("\n%-32s", "memory, MiB");
	for (int p = 0; p < N_PRECISIONS; p++)
		printf("%14s", precisions[p].name);
	putchar('\n');
	for (int r = 0; r < 7; r++) {
		printf("  %-30s", rows[r]);
		for (int p = 0; p < N_PRECISIONS; p++) {
			const struct precision *q = &precisions[p];
			double acts = t->saved * batch * q->activation, held = d->params * (q->weight + q->gradient) + acts;
			double bytes[] = { d->params * q->weight, d->params * q->gradient, d->params * q->sgd, d->params * q->adam, acts,
				held + d->params * q->sgd, held + d->params * q->adam };
			printf("%14.1f", bytes[r] / (1024 * 1024));
		}
		putchar('\n');
	}
}

static void put_layer(const struct dnn *d, uint32_t i)
{
	const struct dnn_layer *l = &d->layer[i];
	char forward[16], data[16], weight[16], out[16], saved[16], gemm[128] = "";
	if (is_product(l))
		snprintf(gemm, sizeof gemm, "  %.0f x %.0f x %.0f", l->m, l->n, l->k);
	if (l->count > 1)
		snprintf(gemm + strlen(gemm), sizeof gemm - strlen(gemm), " x %.0f", l->count);
	printf("%-28s %-11s %12.0f %8s %8s %8s %8s %8s%s\n", l->name, dnn_kind_name(l->kind), l->params,
		short_number(l->fwd_flops, forward), short_number(dnn_flops(d, i, DNN_BACKWARD_DATA), data),
		short_number(dnn_flops(d, i, DNN_BACKWARD_WEIGHT), weight), short_number(l->out_elems, out),
		short_number(l->saved_elems, saved), gemm);
}

/* Returns the number of layers of a block from i on; 0 outside blocks. */
static uint32_t block_size(const struct dnn *d, uint32_t i)
{
	uint32_t n = 0, block = i < d->n_layers ? d->layer[i].block : DNN_NO_BLOCK;
	while (block != DNN_NO_BLOCK && i + n < d->n_layers && d->layer[i + n].block == block)
		n++;
	return n;
}

static bool is_alike(const struct dnn *d, uint32_t a, uint32_t b, uint32_t n)
{
	if (block_size(d, b) != n)
		return false;
	for (uint32_t k = 0; k < n; k++) {
		const struct dnn_layer *x = &d->layer[a + k], *y = &d->layer[b + k];
		if (x->kind != y->kind || x->params != y->params || x->fwd_flops != y->fwd_flops || x->saved_elems != y->saved_elems)
			return false;
	}
	return true;
}

static void put_layers(const struct dnn *d, bool all)
{
	printf("\n%-28s %-11s %12s %8s %8s %8s %8s %8s  %s\n", "layer", "kind", "parameters", "forward", "data", "weight", "out", "kept",
		"products m x n x k");
	for (uint32_t i = 0; i < d->n_layers;) {
		uint32_t n = all ? 0 : block_size(d, i), same = 0;
		for (uint32_t k = 0; k < (n ? n : 1); k++)
			put_layer(d, i + k);
		while (n && is_alike(d, i, i + n * (same + 1), n))
			same++;
		if (same)
			printf("  .. %u more blocks like this one, to %s\n", same, d->layer[i + n * (same + 1) - 1].name);
		i += n ? n * (same + 1) : 1;
	}
}

static void show_text(const struct dnn *d, double batch, bool all)
{
	struct totals t = sum(d);
	char a[16], b[16], c[16];
	printf("%s: %s\n", d->name, d->title);
	printf("input       %s, %.0f elements\n", d->input, d->input_elems);
	printf("parameters  %.0f in %.0f tensors\n", d->params, d->tensors);
	if (d->moe.experts)
		printf("active      %.0f parameters per token; %u of %u experts of width %u, %u shared, in %u of %u groups\n",
			dnn_active_params(d), d->moe.top_k, d->moe.experts, d->moe.width, d->moe.shared, d->moe.top_groups, d->moe.groups);
	printf("forward     %s FLOPs per sample (%s MACs in products)\n", short_number(t.forward, a), short_number(t.macs, b));
	printf("backward    %s FLOPs: %s data gradients, %s weight gradients\n", short_number(t.data + t.weight, a),
		short_number(t.data, b), short_number(t.weight, c));
	printf("activations %s elements written, %s kept for backward\n", short_number(t.out, a), short_number(t.saved, b));
	if (d->hidden)
		printf("transformer %u blocks, hidden %u, %u heads (%u of keys and values), ffn %u, sequence %u, vocabulary %u\n",
			d->blocks, d->hidden, d->heads, d->kv_heads, d->ffn, d->seq, d->vocab);
	if (d->hidden)
		printf("cache       %.0f values per token of a decoder\n", d->attention.cached * d->blocks);
	if (d->fc_first < d->n_layers)
		printf("classifier  from %s on\n", d->layer[d->fc_first].name);
	printf("batch       %.0f\n", batch);
	put_memory(d, &t, batch);
	put_layers(d, all);
}

/* ---- as JSON ---- */

static void add_sums(cJSON *o, const struct dnn *d)
{
	struct totals t = sum(d);
	cJSON_AddStringToObject(o, "name", d->name);
	cJSON_AddStringToObject(o, "title", d->title);
	cJSON_AddStringToObject(o, "input", d->input);
	cJSON_AddNumberToObject(o, "input_elems", d->input_elems);
	cJSON_AddNumberToObject(o, "params", d->params);
	if (d->moe.experts)
		cJSON_AddNumberToObject(o, "active_params", dnn_active_params(d));
	cJSON_AddNumberToObject(o, "tensors", d->tensors);
	cJSON_AddNumberToObject(o, "forward_flops", t.forward);
	cJSON_AddNumberToObject(o, "backward_data_flops", t.data);
	cJSON_AddNumberToObject(o, "backward_weight_flops", t.weight);
	cJSON_AddNumberToObject(o, "product_macs", t.macs);
	cJSON_AddNumberToObject(o, "written_elems", t.out);
	cJSON_AddNumberToObject(o, "saved_elems", t.saved);
	cJSON_AddStringToObject(o, "sha256", d->hash);
	if (!d->hidden)
		return;
	cJSON *dims = cJSON_AddObjectToObject(o, "transformer");
	cJSON_AddNumberToObject(dims, "blocks", d->blocks);
	cJSON_AddNumberToObject(dims, "hidden", d->hidden);
	cJSON_AddNumberToObject(dims, "heads", d->heads);
	cJSON_AddNumberToObject(dims, "kv_heads", d->kv_heads);
	cJSON_AddNumberToObject(dims, "ffn", d->ffn);
	cJSON_AddNumberToObject(dims, "seq", d->seq);
	cJSON_AddNumberToObject(dims, "vocab", d->vocab);
	cJSON_AddNumberToObject(dims, "head_dim", d->attention.head_dim);
	cJSON_AddNumberToObject(dims, "v_dim", d->attention.v_dim);
	cJSON_AddNumberToObject(dims, "cached_values", d->attention.cached * d->blocks);
	if (!d->moe.experts)
		return;
	cJSON *moe = cJSON_AddObjectToObject(o, "experts");
	cJSON_AddNumberToObject(moe, "experts", d->moe.experts);
	cJSON_AddNumberToObject(moe, "top_k", d->moe.top_k);
	cJSON_AddNumberToObject(moe, "shared", d->moe.shared);
	cJSON_AddNumberToObject(moe, "width", d->moe.width);
	cJSON_AddNumberToObject(moe, "groups", d->moe.groups);
	cJSON_AddNumberToObject(moe, "top_groups", d->moe.top_groups);
}

static void add_memory(cJSON *o, const struct dnn *d, double batch)
{
	double saved = sum(d).saved;
	cJSON_AddNumberToObject(o, "batch", batch);
	cJSON *memory = cJSON_AddObjectToObject(o, "memory_bytes");
	for (int p = 0; p < N_PRECISIONS; p++) {
		const struct precision *q = &precisions[p];
		cJSON *m = cJSON_AddObjectToObject(memory, q->name);
		cJSON_AddNumberToObject(m, "weights", d->params * q->weight);
		cJSON_AddNumberToObject(m, "gradients", d->params * q->gradient);
		cJSON_AddNumberToObject(m, "sgd", d->params * q->sgd);
		cJSON_AddNumberToObject(m, "adam", d->params * q->adam);
		cJSON_AddNumberToObject(m, "activations", saved * batch * q->activation);
	}
}

static void add_layers(cJSON *o, const struct dnn *d)
{
	if (d->fc_first < d->n_layers)
		cJSON_AddStringToObject(o, "classifier", d->layer[d->fc_first].name);
	cJSON *list = cJSON_AddArrayToObject(o, "layers");
	for (uint32_t i = 0; i < d->n_layers; i++) {
		const struct dnn_layer *l = &d->layer[i];
		cJSON *v = cJSON_CreateObject();
		cJSON_AddStringToObject(v, "name", l->name);
		cJSON_AddStringToObject(v, "kind", dnn_kind_name(l->kind));
		cJSON_AddNumberToObject(v, "params", l->params);
		cJSON_AddNumberToObject(v, "tensors", l->tensors);
		if (l->rows > 0)
			cJSON_AddItemToObject(v, "matrix", cJSON_CreateDoubleArray((double[]){ l->rows, l->columns }, 2));
		cJSON_AddNumberToObject(v, "flops", l->fwd_flops);
		cJSON_AddNumberToObject(v, "backward_data_flops", dnn_flops(d, i, DNN_BACKWARD_DATA));
		cJSON_AddNumberToObject(v, "backward_weight_flops", dnn_flops(d, i, DNN_BACKWARD_WEIGHT));
		cJSON_AddNumberToObject(v, "in", l->in_elems);
		cJSON_AddNumberToObject(v, "out", l->out_elems);
		cJSON_AddNumberToObject(v, "saved", l->saved_elems);
		if (is_product(l))
			cJSON_AddItemToObject(v, "gemm", cJSON_CreateDoubleArray((double[]){ l->m, l->n, l->k, l->count }, 4));
		if (l->is_in_place)
			cJSON_AddTrueToObject(v, "in_place");
		if (l->block != DNN_NO_BLOCK)
			cJSON_AddNumberToObject(v, "block", l->block);
		cJSON_AddItemToArray(list, v);
	}
}

static int print_json(cJSON *o)
{
	char *text = cJSON_Print(o);
	puts(text ? text : "");
	cJSON_free(text);
	cJSON_Delete(o);
	return ORR_OK;
}

/* ---- verbs ---- */

static int list(bool as_json, struct orr_error *err)
{
	cJSON *all = cJSON_CreateArray();
	int rc = ORR_OK;
	if (!as_json)
		printf("%-26s %14s %8s %10s %10s  %s\n", "model", "parameters", "tensors", "GMACs", "kept", "description");
	for (size_t i = 0; !rc && dnn_catalogue(i); i++) {
		struct dnn *d = dnn_load(dnn_catalogue(i), err);
		if (!d) {
			rc = err->code;
		} else if (as_json) {
			cJSON *o = cJSON_CreateObject();
			add_sums(o, d);
			cJSON_AddItemToArray(all, o);
		} else {
			struct totals t = sum(d);
			char kept[16];
			printf("%-26s %14.0f %8.0f %10.4g %10s  %s\n", d->name, d->params, d->tensors, t.macs / 1e9,
				short_number(t.saved, kept), d->title);
		}
		dnn_free(d);
	}
	if (!rc && as_json)
		return print_json(all);
	cJSON_Delete(all);
	return rc;
}

static int show(const char *spec, double batch, bool all, bool as_json, struct orr_error *err)
{
	struct dnn *d = dnn_load(spec, err);
	if (!d)
		return err->code;
	if (as_json) {
		cJSON *o = cJSON_CreateObject();
		add_sums(o, d);
		add_memory(o, d, batch);
		add_layers(o, d);
		print_json(o);
	} else {
		show_text(d, batch, all);
	}
	dnn_free(d);
	return ORR_OK;
}

/* Prints the file of a model. */
static int show_file(const char *name, bool is_served, bool is_elastic, struct orr_error *err)
{
	if (is_served)
		return data_file_put(embedded_served, "served model", "orrery model list --served", name, err);
	if (is_elastic)
		return data_file_put(embedded_elastic, "elastic job", "orrery model list --elastic", name, err);
	if (strchr(name, ':'))
		return orr_fail(err, ORR_EINPUT, "--file: %.80s has no file: expected a name from 'orrery model list', or a file", name);
	const char *known = dnn_catalogue_name(name);
	return data_file_put(embedded_models, "model", "orrery model list", known ? known : name, err);
}

static int run(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "batch", required_argument, NULL, 'b' }, { "all", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' }, { "file", no_argument, NULL, 'f' }, { "elastic", no_argument, NULL, 'e' },
		{ "served", no_argument, NULL, 's' }, { "device", required_argument, NULL, 'd' },
		{ "profile", required_argument, NULL, 'p' }, { "tp", required_argument, NULL, 'T' }, { "pp", required_argument, NULL, 'P' },
		{ "precision", required_argument, NULL, 'r' }, { "weights", required_argument, NULL, 'w' },
		{ "kv-precision", required_argument, NULL, 'k' }, { "weight-group", required_argument, NULL, 'g' },
		{ "weight-group-bits", required_argument, NULL, 'G' }, { "quantised-head", no_argument, NULL, 'h' },
		{ "context", required_argument, NULL, 'c' }, { "ep", required_argument, NULL, 'E' },
		{ "gpus-per-node", required_argument, NULL, 'N' }, { "tokens", required_argument, NULL, 't' },
		{ "skew", required_argument, NULL, 'z' }, { "loads", required_argument, NULL, 'L' },
		{ "copies", required_argument, NULL, 'C' }, { "placement", required_argument, NULL, 'l' },
		{ "groups", required_argument, NULL, 'Q' }, { "top-groups", required_argument, NULL, 'q' },
		{ "capacity", required_argument, NULL, 'y' }, { "draws", required_argument, NULL, 'D' },
		{ "seed", required_argument, NULL, 'S' }, { NULL, 0, NULL, 0 } };
	int opt;
	int64_t batch = 1;
	bool all = false, as_json = false, as_file = false, elastic = false;
	struct model_served served = { .device = "h100", .tp = 1, .pp = 1, .context = 2048 };
	struct model_experts experts;
	bool has_experts = false;
	model_experts_begin(&experts);
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt == 'a')
			all = true;
		else if (opt == 'j')
			as_json = true;
		else if (opt == 'f')
			as_file = true;
		else if (opt == 'e')
			elastic = true;
		else if (opt && strchr("sdpTPrcwkgGh", opt)) {
			if (model_served_option(&served, opt, optarg, err))
				return ORR_EINPUT;
		} else if (opt && strchr("ENtzLClQqyDS", opt)) {
			has_experts = true;
			if (model_experts_option(&experts, opt, optarg, err))
				return ORR_EINPUT;
		} else if (opt != 'b')
			return cli_bad_option(argc, argv, opt, longs, err);
		else if (!num_int(optarg, strlen(optarg), &batch) || batch < 1 || batch > 1000000000)
			return orr_fail(err, ORR_EINPUT, "--batch: expected a whole number from 1 to 1000000000, found \"%.40s\"", optarg);
	}
	int n = argc - optind;
	const char *verb = n > 0 ? argv[optind] : "";
	served.as_json = as_json;
	if (!served.is_wanted && served.needs_wanted)
		return orr_fail(err, ORR_EINPUT, "--%s: expected this option only together with --served", served.needs_wanted);
	if (served.is_wanted && elastic)
		return orr_fail(err, ORR_EINPUT, "model: --served and --elastic exclude each other: expected only one of them");
	if (as_file && (n != 2 || strcmp(verb, "show") != 0))
		return orr_fail(err, ORR_EINPUT, "--file: expected this option only in 'orrery model show NAME'");
	if (as_file)
		return show_file(argv[optind + 1], served.is_wanted, elastic, err);
	experts.as_json = as_json;
	if (!strcmp(verb, "experts") && n == 2)
		return model_experts_show(argv[optind + 1], &experts, err);
	if (has_experts)
		return orr_fail(err, ORR_EINPUT, "options of experts: expected only in 'orrery model experts MODEL'");
	if (elastic && !strcmp(verb, "list") && n == 1)
		return model_elastic_list(as_json, err);
	if (elastic && !strcmp(verb, "show") && n == 2)
		return model_elastic_show(argv[optind + 1], as_json, err);
	if (served.is_wanted && !strcmp(verb, "list") && n == 1)
		return model_served_list(&served, err);
	if (served.is_wanted && !strcmp(verb, "show") && n == 2)
		return model_served_show(argv[optind + 1], &served, err);
	if (!strcmp(verb, "list") && n == 1)
		return list(as_json, err);
	if (!strcmp(verb, "show") && n == 2)
		return show(argv[optind + 1], (double)batch, all, as_json, err);
	return orr_fail(
		err, ORR_EINPUT, "model: expected \"list\", \"show MODEL\" or \"experts MODEL\"; 'orrery model --help' shows the forms");
}

const struct cli_command cmd_model = { "model", "models of networks: layers, parameters, FLOPs, memory", help, run, NULL };
