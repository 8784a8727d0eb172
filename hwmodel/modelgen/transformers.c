/* SPDX-License-Identifier: GPL-3.0-or-later */
/* BERT, GPT-2 and GPT-3, Llama 2, ViT and DeiT by their published dimensions. */
#include "hwmodel/modelgen/modelgen.h"

static struct plan *make(const struct recipe *r, struct plan *(*family)(const struct transformer *t))
{
	struct transformer t = *(const struct transformer *)r->how;
	t.name = r->name;
	t.title = r->title;
	t.kv_heads = t.kv_heads ? t.kv_heads : t.heads;
	t.moe_every = 1;
	t.ffn = t.ffn ? t.ffn : 4 * t.hidden;
	return family(&t);
}

static struct plan *bert(const struct recipe *r)
{
	return make(r, transformer_bert);
}
static struct plan *gpt(const struct recipe *r)
{
	return make(r, transformer_gpt);
}
static struct plan *llama(const struct recipe *r)
{
	return make(r, transformer_llama);
}
static struct plan *vit(const struct recipe *r)
{
	return make(r, transformer_vit);
}

#define BERT(h, l, a, s, what, n)                                                                                           \
	&(const struct transformer)                                                                                         \
	{                                                                                                                   \
		.hidden = h, .layers = l, .heads = a, .seq = s, .vocab = 30522, .positions = 512, .types = 2, .head = what, \
		.predictions = n                                                                                            \
	}
#define GPT(h, l, a, s)                                                                                         \
	&(const struct transformer)                                                                             \
	{                                                                                                       \
		.hidden = h, .layers = l, .heads = a, .seq = s, .vocab = 50257, .positions = s, .is_tied = true \
	}
#define LLAMA(h, l, a, kv, f)                                                                               \
	&(const struct transformer)                                                                         \
	{                                                                                                   \
		.hidden = h, .layers = l, .heads = a, .kv_heads = kv, .ffn = f, .seq = 4096, .vocab = 32000 \
	}
/* Released configurations; s: tokens of a sample, at most those of the context. */
#define LLAMA3(h, l, a, kv, f, s, v, tied)                                                                            \
	&(const struct transformer)                                                                                   \
	{                                                                                                             \
		.hidden = h, .layers = l, .heads = a, .kv_heads = kv, .ffn = f, .seq = s, .vocab = v, .is_tied = tied \
	}
/* Grouped-query attention with norms of queries and keys; e experts, k per token, of width w. Sample: 4096 tokens. */
#define QWEN3(h, l, a, kv, e, k, w)                                                                                           \
	&(const struct transformer)                                                                                           \
	{                                                                                                                     \
		.hidden = h, .layers = l, .heads = a, .kv_heads = kv, .head_dim = 128, .qk_norm = QK_NORM_HEADS, .seq = 4096, \
		.vocab = 151936,                                                                                              \
		.moe = {.experts = e,                                                                                         \
			.top_k = k,                                                                                           \
			.width = w,                                                                                           \
			.groups = 1,                                                                                          \
			.top_groups = 1 }                                                                                     \
	}
#define MIXTRAL(h, l, a, w, v)                                                                \
	&(const struct transformer)                                                           \
	{                                                                                     \
		.hidden = h, .layers = l, .heads = a, .kv_heads = 8, .seq = 4096, .vocab = v, \
		.moe = {.experts = 8,                                                         \
			.top_k = 2,                                                           \
			.width = w,                                                           \
			.groups = 1,                                                          \
			.top_groups = 1 }                                                     \
	}
/* Latent attention, one shared expert; a heads, d dense layers, e experts in g groups of which t are used. */
#define DEEPSEEK(a, d, v, e, g, t)                                                                                               \
	&(const struct transformer)                                                                                              \
	{                                                                                                                        \
		.hidden = 7168, .layers = 61, .heads = a, .ffn = 18432, .seq = 4096, .vocab = v, .q_rank = 1536, .kv_rank = 512, \
		.nope = 128, .rope = 64, .v_dim = 128, .first_dense = d, .has_router_bias = true,                                \
		.moe = {.experts = e,                                                                                            \
			.top_k = 8,                                                                                              \
			.shared = 1,                                                                                             \
			.width = 2048,                                                                                           \
			.groups = g,                                                                                             \
			.top_groups = t }                                                                                        \
	}
#define VIT(h, l, a, s, two)                                                                                                    \
	&(const struct transformer)                                                                                             \
	{                                                                                                                       \
		.hidden = h, .layers = l, .heads = a, .seq = s, .image = 224, .patch = 16, .classes = 1000, .is_distilled = two \
	}

static const char devlin[] = "Devlin et al., NAACL 2019; vocabulary of bert-*-uncased";
static const char brown[] = "Brown et al., NeurIPS 2020, table 2.1; vocabulary of GPT-2";
static const char touvron[] = "Touvron et al., arXiv:2307.09288; released configurations";
static const char meta[] = "Grattafiori et al., arXiv:2407.21783; released configurations (config.json)";
static const char mistral[] = "Jiang et al., arXiv:2310.06825; released configuration of v0.3 (config.json)";
static const char abdin[] = "Abdin et al., arXiv:2412.08905; released configuration (config.json)";
static const char deepseek[] = "DeepSeek-AI, arXiv:2412.19437; released configuration (config.json)";
static const char kimi[] = "Moonshot AI, arXiv:2507.20534; released configuration (config.json)";
static const char jiang[] = "Jiang et al., arXiv:2401.04088; released configuration (config.json)";
static const char yang[] = "Yang et al., arXiv:2505.09388; released configuration (config.json)";
static const char abouelenin[] = "Microsoft, arXiv:2503.01743; released configuration (config.json)";

const struct recipe transformers[] = {
	{ "bert_base_s128", "BERT-base with pooler, 128 tokens", devlin, bert, BERT(768, 12, 12, 128, HEAD_POOLER, 0) },
	{ "bert_base_s512", "BERT-base with pooler, 512 tokens", devlin, bert, BERT(768, 12, 12, 512, HEAD_POOLER, 0) },
	{ "bert_large_s128", "BERT-large with pooler, 128 tokens", devlin, bert, BERT(1024, 24, 16, 128, HEAD_POOLER, 0) },
	{ "bert_large_s512", "BERT-large with pooler, 512 tokens", devlin, bert, BERT(1024, 24, 16, 512, HEAD_POOLER, 0) },
	{ "bert_large_pretrain_s128", "BERT-large, pre-training, 128 tokens, 20 predictions", devlin, bert,
		BERT(1024, 24, 16, 128, HEAD_PRETRAIN, 20) },
	{ "bert_large_pretrain_s512", "BERT-large, pre-training, 512 tokens, 80 predictions", devlin, bert,
		BERT(1024, 24, 16, 512, HEAD_PRETRAIN, 80) },
	{ "bert_large_qa_s384", "BERT-large, question answering (SQuAD), 384 tokens, no pooler", devlin, bert,
		BERT(1024, 24, 16, 384, HEAD_QA, 0) },
	{ "gpt2_117m", "GPT-2 small (called 117M, has 124.4M)", "Radford et al. 2019; released configuration", gpt,
		GPT(768, 12, 12, 1024) },
	{ "gpt2_345m", "GPT-2 medium (called 345M, has 354.8M)", "Radford et al. 2019; released configuration", gpt,
		GPT(1024, 24, 16, 1024) },
	{ "gpt2_1p5b", "GPT-2 XL 1.5B", "Radford et al. 2019; released configuration", gpt, GPT(1600, 48, 25, 1024) },
	{ "gpt3_6p7b", "GPT-3 6.7B", brown, gpt, GPT(4096, 32, 32, 2048) },
	{ "gpt3_13b", "GPT-3 13B (hidden 5120; the paper prints 5140, which 40 heads do not divide)", brown, gpt, GPT(5120, 40, 40, 2048) },
	{ "gpt3_175b", "GPT-3 175B", brown, gpt, GPT(12288, 96, 96, 2048) },
	{ "llama2_7b", "Llama 2 7B", touvron, llama, LLAMA(4096, 32, 32, 32, 11008) },
	{ "llama2_13b", "Llama 2 13B", touvron, llama, LLAMA(5120, 40, 40, 40, 13824) },
	{ "llama2_70b", "Llama 2 70B (8 heads of keys and values)", touvron, llama, LLAMA(8192, 80, 64, 8, 28672) },
	{ "llama3_8b", "Llama 3 8B, also 3.1", meta, llama, LLAMA3(4096, 32, 32, 8, 14336, 8192, 128256, false) },
	{ "llama3_70b", "Llama 3 70B, also 3.1 and 3.3", meta, llama, LLAMA3(8192, 80, 64, 8, 28672, 8192, 128256, false) },
	{ "llama3p1_405b", "Llama 3.1 405B", meta, llama, LLAMA3(16384, 126, 128, 8, 53248, 8192, 128256, false) },
	{ "llama3p2_1b", "Llama 3.2 1B", meta, llama, LLAMA3(2048, 16, 32, 8, 8192, 8192, 128256, true) },
	{ "llama3p2_3b", "Llama 3.2 3B", meta, llama, LLAMA3(3072, 28, 24, 8, 8192, 8192, 128256, true) },
	{ "mistral_7b", "Mistral 7B v0.3", mistral, llama, LLAMA3(4096, 32, 32, 8, 14336, 8192, 32768, false) },
	{ "phi4", "Phi-4", abdin, llama, LLAMA3(5120, 40, 40, 10, 17920, 8192, 100352, false) },
	{ "phi4_mini", "Phi-4 mini", abouelenin, llama, LLAMA3(3072, 32, 24, 8, 8192, 8192, 200064, true) },
	{ "deepseek_v3", "DeepSeek-V3 and R1, without the module that predicts a second token", deepseek, llama,
		DEEPSEEK(128, 3, 129280, 256, 8, 4) },
	{ "kimi_k2", "Kimi K2", kimi, llama, DEEPSEEK(64, 1, 163840, 384, 1, 1) },
	{ "mixtral_8x7b", "Mixtral 8x7B", jiang, llama, MIXTRAL(4096, 32, 32, 14336, 32000) },
	{ "mixtral_8x22b", "Mixtral 8x22B, vocabulary of v0.3", jiang, llama, MIXTRAL(6144, 56, 48, 16384, 32768) },
	{ "qwen3_30b_a3b", "Qwen3 30B-A3B", yang, llama, QWEN3(2048, 48, 32, 4, 128, 8, 768) },
	{ "qwen3_235b_a22b", "Qwen3 235B-A22B", yang, llama, QWEN3(4096, 94, 64, 4, 128, 8, 1536) },
	{ "qwen3_coder_480b", "Qwen3-Coder 480B-A35B", yang, llama, QWEN3(6144, 62, 96, 8, 160, 8, 2560) },
	{ "vit_b16", "ViT-B/16", "torchvision; Dosovitskiy et al., ICLR 2021", vit, VIT(768, 12, 12, 197, false) },
	{ "deit_s16", "DeiT-S/16", "Touvron et al., ICML 2021", vit, VIT(384, 12, 6, 197, false) },
	{ "deit_b16_distilled", "DeiT-B/16 distilled", "Touvron et al., ICML 2021", vit, VIT(768, 12, 12, 198, true) },
	{ NULL, NULL, NULL, NULL, NULL },
};
