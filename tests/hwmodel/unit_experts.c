/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameters of mixtures of experts. Expected values: published configurations and counts derived from them, independently of
 * orrery ($ORRERY_DATA_PATH/models/llm_configs.csv); five of them are repeated here. By hand: a small model.
 */
#include "hwmodel/dnn.h"
#include "hwmodel/dnn_plan.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>

static void check_model(const char *name, double total, double active, double cached)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load(name, &err);
	if (!d) {
		ok(false, "%s: %s", name, err.text);
		return;
	}
	ok(d->params == total, "%s: %.0f parameters, expected %.0f", name, d->params, total);
	ok(dnn_active_params(d) == active, "%s: %.0f active, expected %.0f", name, dnn_active_params(d), active);
	ok(d->attention.cached * d->blocks == cached, "%s: %.0f cached values per token, expected %.0f", name,
		d->attention.cached * d->blocks, cached);
	dnn_free(d);
}

static double params_of(const struct dnn *d, const char *name)
{
	for (uint32_t i = 0; i < d->n_layers; i++)
		if (!strcmp(d->layer[i].name, name))
			return d->layer[i].params;
	return NAN;
}

/* DeepSeek-V3: attention 187 107 328 per layer, an expert 44 040 192, the MoE block 11 320 164 608 (the derived table). */
static void check_parts(void)
{
	static const char *const attention[] = { "q_down", "q_norm", "q_up", "kv_down", "kv_norm", "kv_up", "attn_out" };
	static const char *const mixture[] = { "router", "shared_gate_up", "shared_down", "expert_gate_up", "expert_down" };
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load("deepseek-v3", &err);
	double a = 0, m = 0;
	char name[64];
	for (size_t i = 0; i < sizeof attention / sizeof *attention; i++) {
		snprintf(name, sizeof name, "layer7.%s", attention[i]);
		a += params_of(d, name);
	}
	for (size_t i = 0; i < sizeof mixture / sizeof *mixture; i++) {
		snprintf(name, sizeof name, "layer7.%s", mixture[i]);
		m += params_of(d, name);
	}
	ok(a == 187107328, "attention of a layer: %.0f", a);
	ok(m == 11320164608, "mixture of a layer: %.0f", m);
	ok(params_of(d, "layer7.expert_gate_up") + params_of(d, "layer7.expert_down") == 256 * 44040192., "256 experts");
	dnn_free(d);
}

/* hidden 8, 2 layers (the first dense, ffn 12), 2 heads of 4, 6 experts of width 10 (2 per token), 1 shared, vocabulary 50, 4 tokens.
 * Attention 4 x 8 x 8; norms 2 x 8 per layer and 8; MLP 3 x 8 x 12; router 6 x 8; experts 7 x 3 x 8 x 10; tables 2 x 50 x 8. */
static void check_by_hand(void)
{
	struct orr_error err = { 0 };
	struct dnn *d =
		dnn_load("moe:hidden=8,layers=2,heads=2,seq=4,vocab=50,ffn=12,experts=6,top_k=2,width=10,shared=1,first_dense=1", &err);
	ok(d != NULL, "a small model: %s", err.text);
	if (!d)
		return;
	double dense = 256 + 16 + 288, mixed = 256 + 16 + 48 + 7 * 240;
	ok(d->params == dense + mixed + 8 + 800, "its parameters: %.0f", d->params);
	ok(dnn_active_params(d) == dense + mixed - 4 * 240 + 8 + 800, "its active parameters: %.0f", dnn_active_params(d));
	for (uint32_t i = 0; i < d->n_layers; i++)
		if (!strcmp(d->layer[i].name, "layer1.expert_down")) {
			const struct dnn_layer *l = &d->layer[i];
			ok(l->fwd_flops == 2. * 4 * 2 * 10 * 8, "FLOPs of 8 pairs: %.0f", l->fwd_flops);
			ok(fabs(l->m * l->count - 8) < 1e-12 && l->count == 6, "6 products with 8 rows in all");
			ok(l->in_elems == 80 && l->out_elems == 64, "elements of 8 pairs");
		}
	dnn_free(d);
}

static void check_errors(void)
{
	static const char *const wrong[][2] = { { "moe:hidden=8,layers=2,heads=2,seq=4,vocab=50,experts=6,top_k=2", "width: expected" },
		{ "moe:hidden=8,layers=2,heads=2,seq=4,vocab=50,experts=6,top_k=7,width=1", "top_k: expected at most 6" },
		{ "moe:hidden=8,layers=2,heads=2,seq=4,vocab=50,experts=6,top_k=2,width=1,groups=4", "groups: expected a divisor" },
		{ "moe:hidden=8,layers=2,heads=2,seq=4,vocab=50,experts=6,top_k=4,width=1,groups=2,top_groups=1",
			"top_k: expected at most 3" },
		{ "moe:hidden=8,layers=2,heads=2,seq=4,vocab=50,experts=6,top_k=2,width=1,first_dense=2", "first_dense: expected less" },
		{ "llama:hidden=8,layers=2,heads=2,seq=4,vocab=50,kv_rank=4", "kv_rank: expected also" },
		{ "llama:hidden=8,layers=2,heads=2,seq=4,vocab=50,rope=4", "expected them only together with \"kv_rank\"" },
		{ "llama:hidden=8,layers=2,heads=2,seq=4,vocab=50,experts=4", "unknown dimension \"experts\"" } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct orr_error err = { 0 };
		struct dnn *d = dnn_load(wrong[i][0], &err);
		ok(!d && strstr(err.text, wrong[i][1]), "refused: %s", err.text);
		dnn_free(d);
	}
}

/* ---- the table of configurations ---- */

enum { LINE = 4000, FIELDS = 40 };

static int split(char *line, char *field[FIELDS])
{
	int n = 0;
	bool quoted = false;
	field[n++] = line;
	for (char *s = line; *s && *s != '\n' && n < FIELDS; s++) {
		quoted ^= *s == '"';
		if (*s == ',' && !quoted) {
			*s = '\0';
			field[n++] = s + 1;
		}
	}
	return n;
}

/* What the columns of the table do not state, from its notes and the models' configurations. */
static const char *more_of(const char *name)
{
	static const char *const of[][2] = { { "DeepSeek-V3", ",router_bias=1,groups=8,top_groups=4" },
		{ "DeepSeek-R1", ",router_bias=1,groups=8,top_groups=4" }, { "Kimi-K2", ",router_bias=1" },
		{ "MiniMax-M2.5", ",router_bias=1,qk_norm=2" }, { "Llama-4-Maverick-17B-128E", ",moe_every=2" },
		{ "Llama-4-Scout-17B-16E", ",moe_every=1" } };
	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		if (!strcmp(of[i][0], name))
			return of[i][1];
	return "";
}

/* Returns whether the row has parts that moe: and llama: lack: biases of experts, sinks, an indexer, four norms. */
static bool is_other(const char *name, char *const *f)
{
	return !strncmp(name, "gpt-oss", 7) || !strncmp(name, "GLM", 3) || !strcmp(name, "DeepSeek-V3.2") || strcmp(f[25], "2") != 0 ||
	       !*f[29];
}

static void put(char *spec, size_t size, const char *key, const char *value)
{
	size_t n = strlen(spec);
	if (*value && strcmp(value, "0") != 0)
		snprintf(spec + n, size - n, "%s%s=%s", spec[n - 1] == ':' ? "" : ",", key, value);
}

static int check_row(char **f, const char *const *column, int n)
{
	static const char *const keys[][2] = { { "layers", "layers" }, { "hidden", "hidden" }, { "heads", "heads" },
		{ "kv_heads", "kv_heads" }, { "ffn_hidden", "ffn" }, { "vocab", "vocab" }, { "tied_embeddings", "tied" },
		{ "experts", "experts" }, { "top_k", "top_k" }, { "shared_experts", "shared" }, { "expert_hidden", "width" },
		{ "first_dense_layers", "first_dense" }, { "mla_q_lora", "q_rank" }, { "mla_kv_lora", "kv_rank" },
		{ "mla_qk_nope", "nope" }, { "mla_qk_rope", "rope" }, { "mla_v_head", "v_dim" }, { "qkv_bias", "qkv_bias" } };
	char spec[1000];
	struct orr_error err = { 0 };
	bool is_moe = strcmp(f[11], "0") != 0, is_latent = *f[17] != '\0';
	if (is_other(f[0], f))
		return 0;
	snprintf(spec, sizeof spec, "%s:seq=128", is_moe ? "moe" : "llama");
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
		for (int i = 0; i < n; i++)
			if (!strcmp(column[i], keys[k][0]) &&
				(is_moe || (strcmp(keys[k][1], "first_dense") && strcmp(keys[k][1], "width"))))
				put(spec, sizeof spec, keys[k][1], f[i]);
	if (!is_latent)
		put(spec, sizeof spec, "head_dim", f[6]);
	if (!strstr(more_of(f[0]), "qk_norm"))
		put(spec, sizeof spec, "qk_norm", strncmp(f[0], "Llama-4", 7) ? f[24] : "0");
	size_t end = strlen(spec);
	snprintf(spec + end, sizeof spec - end, "%s", more_of(f[0]));
	struct dnn *d = dnn_load(spec, &err);
	if (!d) {
		ok(false, "%s: %s", f[0], err.text);
		return 1;
	}
	ok(d->params == strtod(f[29], NULL) && dnn_active_params(d) == strtod(f[30], NULL), "%s: %.0f, %.0f active; expected %s, %s", f[0],
		d->params, dnn_active_params(d), f[29], f[30]);
	ok(d->attention.cached * d->blocks == strtod(f[32], NULL), "%s: %.0f cached values", f[0], d->attention.cached * d->blocks);
	dnn_free(d);
	return 1;
}

static void check_table(void)
{
	char path[600], line[LINE], head[LINE];
	char *f[FIELDS], *names[FIELDS];
	const char *folder = getenv("ORRERY_DATA_PATH");
	int rows = 0;
	snprintf(path, sizeof path, "%s/models/llm_configs.csv", folder ? folder : "");
	FILE *in = folder ? fopen(path, "r") : NULL;
	if (!in) {
		skip("no llm_configs.csv");
		return;
	}
	if (!fgets(head, sizeof head, in))
		head[0] = '\0';
	int n = split(head, names);
	while (fgets(line, sizeof line, in))
		if (split(line, f) > 32)
			rows += check_row(f, (const char *const *)names, n);
	fclose(in);
	ok(rows >= 20, "%d rows of the table", rows);
}

int main(void)
{
	check_by_hand();
	check_parts();
	check_model("deepseek_v3", 671026419200, 37552297472, 35136);
	check_model("kimi_k2", 1026408232448, 32861500928, 35136);
	check_model("mixtral_8x7b", 46702792704, 12879925248, 65536);
	check_model("mixtral_8x22b", 140630071296, 39161468928, 114688);
	check_model("qwen3_235b_a22b", 235093634560, 22190763520, 96256);
	check_model("qwen3_30b_a3b", 30532122624, 3353032704, 49152);
	check_model("qwen3_coder_480b", 480154875392, 35474765312, 126976);
	check_errors();
	check_table();
	return done();
}
