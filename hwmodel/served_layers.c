/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Iterations of language models, layer by layer: docs/models/serve-llm.md, "Time of an iteration".
 *
 * Two tables cache times on first use: one by number of tokens (products, norms, collectives), one by number of output words
 * (the output layer). Attention is evaluated per call: two products and a sum.
 */
#include "hwmodel/served_llm.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "hwmodel/cost.h"
#include "hwmodel/profile.h"

#include <math.h>
#include <string.h>

enum { TABLE_TOKENS = 16384, TABLE_WORDS = 4096 };

struct link {
	double latency_s, Bps;
};

/* Times for one number of tokens; all_s is 0 until they are computed (times are positive). */
struct by_tokens {
	double all_s;           /* time through all stages, with hops */
	double first_s, last_s; /* busy time of the first and the last stage, without the output layer */
	double network_bytes;
};

/* Times for one number of output words; s is 0 until it is computed. */
struct by_words {
	double s, network_bytes;
};

struct served_layers {
	const struct served *m;
	const struct served_llm *f;
	const struct dnn *d;
	struct served_place p;
	struct cost *cost, *rest; /* layers in the format of the weights; all others, the same if there are none */
	struct quantisation quant;
	double convert_s;          /* time to convert a weight */
	bool has_host;             /* the time of the host is not just a constant per iteration */
	uint32_t block, per_block; /* block: first layer of the first block; per_block: layers per block */
	uint32_t after, words;     /* after: first layer after the blocks; words: first layer that processes selected tokens only */
	uint32_t scores, context;  /* first and last layer of attention, as offsets within a block */
	double kv_heads;           /* per GPU */
	double element_bytes;      /* bytes per element of activations */
	bool lacks_memory;         /* the law of products was fitted to large batches, without a term for memory */
	double kv_reads;           /* number of reads per key or value in decode attention */
	double Bps;                /* achieved memory bandwidth */
	const struct law *reduce;  /* law of an all-reduce of tp GPUs; NULL: use the link */
	const struct law *rope;    /* rotation of queries and keys; NULL: timed like other element-wise work */
	struct link tp_link, pp_link;
	/* Times of attention over all blocks. */
	double pair_s, context_s;              /* seconds per pair of tokens, and per token of context */
	double context_read_s, context_flop_s; /* the larger of these two is context_s */
	double prompt_kernel_s, decode_kernel_s;
	struct by_tokens *table; /* [0 .. TABLE_TOKENS] */
	struct by_words *word;   /* [0 .. TABLE_WORDS] */
	struct by_tokens beyond; /* cached attention times of the last request whose context exceeds the table: beyond_tokens tokens */
	double beyond_tokens;
	char *source;
};

/* ---- parts of the network ---- */

static void find_parts(struct served_layers *x)
{
	const struct dnn *d = x->d;
	uint32_t i = 0;
	while (i < d->n_layers && d->layer[i].block != 0)
		i++;
	x->block = i;
	x->scores = UINT32_MAX;
	for (; i < d->n_layers && d->layer[i].block == 0; i++)
		if (d->layer[i].kind == ORR_LAYER_MATMUL) {
			x->context = i - x->block;
			x->scores = x->scores == UINT32_MAX ? x->context : x->scores;
		}
	x->per_block = i - x->block;
	x->after = x->block + x->per_block * d->blocks;
	for (i = x->after; i < d->n_layers && d->layer[i].kind != ORR_LAYER_LINEAR;)
		i++;
	x->words = i;
}

/* Returns the time to read the weights of a product at the memory's peak, if the law of products has no term for memory. */
static double least_read_s(const struct served_layers *x, const struct dnn_layer *v)
{
	if (!x->lacks_memory)
		return 0;
	double bytes = quant_has_layer(&x->quant, v) ? quant_weight_bytes(&x->quant) : quant_plain_bytes(&x->quant);
	return v->kind == ORR_LAYER_LINEAR ? v->n * v->k / x->p.tp * bytes / x->p.device->memory_Bps : 0;
}

double served_layers_layer_s(const struct served_layers *x, uint32_t l, double tokens)
{
	const struct dnn_layer *v = &x->d->layer[l];
	const char *dot = strrchr(v->name, '.');
	double batch = tokens / x->d->seq;
	if (x->rope && v->kind == ORR_LAYER_ELEMENTWISE && dot && !strcmp(dot, ".rope")) {
		double bytes = batch / x->p.tp * (v->in_elems + v->out_elems) * x->element_bytes;
		return law_time(x->rope, 0, bytes, bytes, NULL);
	}
	if (!quant_has_layer(&x->quant, v))
		return fmax(cost_layer_s(x->rest, l, DNN_FORWARD, batch, x->p.tp, false), least_read_s(x, v));
	double s = fmax(cost_layer_s(x->cost, l, DNN_FORWARD, batch, x->p.tp, false), least_read_s(x, v));
	return s + v->n * v->k / x->p.tp * x->convert_s;
}

/* Returns the time, s, of an all-gather by recursive doubling over the link, whose latency is that of all its messages. */
static double link_gather_s(const struct link *l, uint32_t n, double bytes)
{
	return bytes <= 0 ? 0 : l->latency_s + (n - 1.0) / n * bytes / l->Bps;
}

/* Returns the time, s, of an all-reduce over the link: the shorter of recursive doubling, which sends all bytes in each of log2(n)
 * messages, and recursive halving and doubling, with log2(n) messages in each of two phases (Thakur, Rabenseifner, Gropp 2005). */
static double link_reduce_s(const struct link *l, uint32_t n, double bytes)
{
	return bytes <= 0 ? 0 : fmin(l->latency_s + ceil(log2(n)) * bytes / l->Bps, 2 * link_gather_s(l, n, bytes));
}

/* Returns the time, s, over the network; negative: the stage is on one node. */
static double net_reduce_s(const struct served_layers *x, uint32_t stage, bool is_gather, double bytes, double *network_bytes)
{
	const struct served_net *n = x->p.net;
	return n && bytes > 0 ? n->reduce_s(n->ctx, stage, is_gather, bytes, network_bytes) : -1;
}

static double reduce_s(const struct served_layers *x, uint32_t stage, double bytes, double *network_bytes)
{
	if (x->p.tp < 2)
		return 0;
	double s = net_reduce_s(x, stage, false, bytes, network_bytes);
	if (s >= 0)
		return s;
	return x->reduce ? law_time(x->reduce, 0, 0, bytes, NULL) : link_reduce_s(&x->tp_link, x->p.tp, bytes);
}

/* Returns the time, s, of an all-gather. */
static double gather_s(const struct served_layers *x, uint32_t stage, double bytes, double *network_bytes)
{
	if (x->p.tp < 2)
		return 0;
	double s = net_reduce_s(x, stage, true, bytes, network_bytes);
	return s >= 0 ? s : link_gather_s(&x->tp_link, x->p.tp, bytes);
}

static double sent_bytes(const struct served_layers *x, double tokens)
{
	return tokens * x->d->hidden * x->element_bytes;
}

/* Computes the parts of one block, without attention and collectives. */
static void block_parts(const struct served_layers *x, double tokens, struct served_parts *out)
{
	for (uint32_t k = 0; k < x->per_block; k++) {
		if (k >= x->scores && k <= x->context)
			continue;
		double s = served_layers_layer_s(x, x->block + k, tokens);
		if (x->d->layer[x->block + k].kind == ORR_LAYER_LINEAR)
			out->linear += s;
		else
			out->elementwise += s;
	}
	/* One kernel reads keys and values from the product's output and writes them to the cache. */
	double kv = 2 * x->kv_heads * (x->d->hidden / x->d->heads) * tokens;
	out->elementwise += kv * (x->element_bytes + x->f->element_bytes) / x->Bps + x->p.device->launch_s;
}

/* Time of all blocks if every stage had the all-reduces of the first stage, of the last stage, or the mean over the stages. */
struct blocks {
	double first_s, last_s, mean_s;
};

static struct blocks blocks_s(const struct served_layers *x, double tokens, double *network_bytes)
{
	struct served_parts block = { 0 };
	block_parts(x, tokens, &block);
	double n = x->d->blocks, kernels = block.linear + block.elementwise, sum = 0, bytes = 0, sent = sent_bytes(x, tokens);
	double first = 2 * reduce_s(x, 0, sent, &bytes), last = first;
	for (uint32_t stage = 1; x->p.net && stage < x->p.pp; stage++) {
		last = 2 * reduce_s(x, stage, sent, &bytes);
		sum += last;
	}
	*network_bytes += 2 * n / x->p.pp * bytes;
	return (struct blocks){ n * (kernels + first), n * (kernels + last), n * (kernels + (x->p.net ? (first + sum) / x->p.pp : first)) };
}

static double range_s(const struct served_layers *x, uint32_t first, uint32_t end, double tokens)
{
	double sum = 0;
	for (uint32_t l = first; l < end; l++)
		sum += served_layers_layer_s(x, l, tokens);
	return sum;
}

/* Returns the time, s, of the hop after a stage: every GPU sends its share of the hidden state, and the next stage gathers it. */
static double hop_s(const struct served_layers *x, uint32_t stage, double tokens, double *network_bytes)
{
	const struct served_net *n = x->p.net;
	double bytes = sent_bytes(x, tokens), s = n && bytes > 0 ? n->hop_s(n->ctx, stage, bytes, network_bytes) : -1;
	if (s < 0)
		s = x->pp_link.latency_s + bytes / x->p.tp / x->pp_link.Bps;
	return s + gather_s(x, stage + 1, bytes, network_bytes);
}

/* The token table is split over the GPUs (Shoeybi et al. 2019): embeddings are all-reduced, output scores gathered. */
static double embed_s(const struct served_layers *x, double tokens, double *network_bytes)
{
	return range_s(x, 0, x->block, tokens) + reduce_s(x, 0, sent_bytes(x, tokens), network_bytes);
}

static struct by_words of_words(const struct served_layers *x, double words)
{
	struct by_words out = { 0 };
	double scores = words * x->d->vocab * x->element_bytes;
	out.s = range_s(x, x->words, x->d->n_layers, words) + gather_s(x, x->p.pp - 1, scores, &out.network_bytes);
	return out;
}

static double hops_s(const struct served_layers *x, double tokens, double *network_bytes)
{
	double sum = 0;
	if (!x->p.net)
		return x->p.pp > 1 ? (x->p.pp - 1) * hop_s(x, 0, tokens, network_bytes) : 0;
	for (uint32_t stage = 0; stage + 1 < x->p.pp; stage++)
		sum += hop_s(x, stage, tokens, network_bytes);
	return sum;
}

static struct by_tokens of_tokens(const struct served_layers *x, double tokens)
{
	double bytes = 0, none = 0, pp = x->p.pp;
	struct blocks blocks = blocks_s(x, tokens, &bytes);
	double embed = embed_s(x, tokens, &bytes), norm = range_s(x, x->after, x->words, tokens);
	double first_hop = x->p.pp > 1 ? hop_s(x, 0, tokens, &none) : 0;
	return (struct by_tokens){ .all_s = blocks.mean_s + embed + norm + hops_s(x, tokens, &bytes),
		.first_s = blocks.first_s / pp + embed + first_hop,
		.last_s = blocks.last_s / pp + norm,
		.network_bytes = bytes };
}

/* ---- time of an iteration ---- */

static const struct by_tokens *at_tokens(struct served_layers *x, double tokens)
{
	if (tokens <= TABLE_TOKENS) {
		uint32_t i = (uint32_t)tokens;
		struct by_tokens *v = &x->table[i];
		if (i == tokens) {
			if (v->all_s == 0)
				*v = of_tokens(x, tokens);
			return v;
		}
	}
	if (x->beyond_tokens != tokens) {
		x->beyond = of_tokens(x, tokens);
		x->beyond_tokens = tokens;
	}
	return &x->beyond;
}

static struct by_words at_words(struct served_layers *x, uint32_t words)
{
	if (words > TABLE_WORDS)
		return of_words(x, words);
	if (x->word[words].s == 0)
		x->word[words] = of_words(x, words);
	return x->word[words];
}

/* Returns the number of tokens whose logits are computed: one per decode and prompt, and each draft that is checked. */
static inline uint32_t words_of(const struct llm_load *w)
{
	return w->decodes + w->prompts + (uint32_t)w->checked;
}

/* Returns the seconds per token of context of the decodes. A pass that checks drafts reads the cache once and computes for each token. */
static inline double context_token_s(const struct served_layers *x, const struct llm_load *w)
{
	return w->checked > 0 ? fmax(x->context_read_s, x->context_flop_s * (1 + w->checked / w->decodes)) : x->context_s;
}

double served_layers_network_bytes(struct served_layers *x, const struct llm_load *w)
{
	double tokens = w->decodes + w->prompt_tokens + w->checked;
	return x->p.net ? at_tokens(x, tokens > 0 ? tokens : 0)->network_bytes + at_words(x, words_of(w)).network_bytes : 0;
}

/*
 * Returns prompt_pairs without the pairs that a causal kernel skips. prompt_pairs counts n (done + n) for a prompt with n
 * tokens in this iteration, and n^2 / 2 of these pairs are skipped. Exact for one prompt or equal prompts; for unequal prompts
 * the result is too large.
 */
static double causal_pairs(const struct llm_load *w)
{
	double square = w->prompts ? w->prompt_tokens * w->prompt_tokens / w->prompts : 0;
	return w->prompt_pairs - 0.5 * (square < w->prompt_pairs ? square : w->prompt_pairs);
}

static inline double attention_s(const struct served_layers *x, const struct llm_load *w)
{
	double attention = 0;
	if (w->decodes)
		attention += x->decode_kernel_s + context_token_s(x, w) * (w->decode_context + w->decodes);
	if (w->prompts)
		attention += x->prompt_kernel_s + x->pair_s * causal_pairs(w);
	return attention;
}

/* Returns the number of kernels of an iteration. */
static double kernels_of(const struct served_layers *x, const struct llm_load *w)
{
	double block = x->per_block - (x->context - x->scores + 1) + 1; /* attention is one kernel; one writes the cache */
	block += (w->decodes > 0) + (w->prompts > 0) + (x->p.tp > 1 ? 2 : 0);
	return x->d->blocks * block + (x->d->n_layers - x->per_block * x->d->blocks) + (x->p.tp > 1 ? 2 : 0);
}

/* Returns the time, s, that the host adds to the time of the GPU. */
static inline double host_s(const struct served_layers *x, const struct llm_load *w, double gpu_s)
{
	if (!x->has_host)
		return x->f->overhead_s;
	double gpu = host_gpu_s(&x->p.host, gpu_s, kernels_of(x, w), w->prompts > 0);
	return host_iteration_s(&x->p.host, x->f->overhead_s, gpu, (double)w->decodes + w->prompts, w->prompts > 0) - gpu_s;
}

double served_layers_iteration(struct served_layers *x, const struct llm_load *w, double *stage_s)
{
	double tokens = w->decodes + w->prompt_tokens + w->checked;
	const struct by_tokens *t = at_tokens(x, tokens > 0 ? tokens : 0);
	double words = at_words(x, words_of(w)).s, attention = attention_s(x, w), gpu = t->all_s + words + attention;
	double host = host_s(x, w, gpu), s = host + t->all_s + words + attention;
	*stage_s = s;
	if (x->p.pp > 1) {
		double first = t->first_s, last = t->last_s + words;
		*stage_s = host + attention / x->p.pp + (first > last ? first : last);
	}
	return s;
}

bool served_layers_decodes(struct served_layers *x, uint32_t n, struct served_decodes *out)
{
	if (x->has_host)
		return false;
	*out = (struct served_decodes){ .base_s = x->f->overhead_s + at_tokens(x, n)->all_s + at_words(x, n).s,
		.kernel_s = x->decode_kernel_s,
		.context_s = x->context_s,
		.n = n };
	return true;
}

/* Attention and blocks are split evenly over the stages. Stages between the first and the last take the mean of their all-reduces and
 * hops. */
double served_layers_stage(struct served_layers *x, const struct llm_load *w, uint32_t stage)
{
	double tokens = w->decodes + w->prompt_tokens + w->checked, pp = x->p.pp, attention = attention_s(x, w) / pp;
	const struct by_tokens *t = at_tokens(x, tokens > 0 ? tokens : 0);
	double words = at_words(x, words_of(w)).s;
	double s = stage ? attention : host_s(x, w, t->all_s + words + pp * attention) + attention;
	if (x->p.pp == 1)
		return s + t->all_s + words;
	if (stage == 0)
		return s + t->first_s;
	return stage + 1 == x->p.pp ? s + t->last_s + words : s + (t->all_s - t->first_s - t->last_s) / (pp - 2);
}

void served_layers_parts(struct served_layers *x, const struct llm_load *w, struct served_parts *out)
{
	double tokens = w->decodes + w->prompt_tokens + w->checked, bytes = 0;
	struct served_parts block = { 0 };
	block_parts(x, tokens, &block);
	*out = (struct served_parts){ .linear = x->d->blocks * block.linear,
		.elementwise = x->d->blocks * block.elementwise + range_s(x, 0, x->block, tokens) + range_s(x, x->after, x->words, tokens),
		.collective = blocks_s(x, tokens, &bytes).mean_s - x->d->blocks * (block.linear + block.elementwise) +
			      reduce_s(x, 0, sent_bytes(x, tokens), &bytes),
		.head = of_words(x, words_of(w)).s,
		.hops = hops_s(x, tokens, &bytes) };
	if (w->decodes)
		out->attention_decode = x->decode_kernel_s + context_token_s(x, w) * (w->decode_context + w->decodes);
	if (w->prompts)
		out->attention_prompt = x->prompt_kernel_s + x->pair_s * causal_pairs(w);
	out->overhead = host_s(x, w,
		out->linear + out->elementwise + out->collective + out->head + out->hops + out->attention_decode + out->attention_prompt);
}

/* ---- construction ---- */

/* Sets the links. A bandwidth of zero means that the device's link is used. */
static int find_links(struct served_layers *x, struct orr_error *err)
{
	const struct device *dev = x->p.device;
	double Bps = dev->link_Bps > 0 ? dev->link_Bps : dev->pcie_Bps;
	bool is_own = x->p.tp_Bps <= 0;
	double alpha = is_own ? dev->link_latency_s : x->p.tp_latency_s;
	x->tp_link = (struct link){ ceil(log2(x->p.tp)) * alpha, is_own ? Bps : x->p.tp_Bps };
	x->pp_link = x->p.pp_Bps > 0 ? (struct link){ x->p.pp_latency_s, x->p.pp_Bps } : (struct link){ dev->link_latency_s, Bps };
	if ((x->p.tp > 1 && !(x->tp_link.Bps > 0)) || (x->p.pp > 1 && !(x->pp_link.Bps > 0)))
		return orr_fail(err, ORR_EINPUT, "model %.80s: device %.80s has no link: expected tensor and pipeline parallelism of 1",
			x->m->name, dev->name);
	/* The law was measured inside a node. It does not apply to links with less than half of the node's bandwidth. */
	bool is_inside = is_own || x->p.tp_Bps >= dev->link_Bps / 2;
	if (x->p.profile && is_inside)
		x->reduce = profile_collective(x->p.profile, "all-reduce", dev->fabric, x->p.tp, 1);
	return ORR_OK;
}

static int check(const struct served *m, const struct served_place *p, struct orr_error *err)
{
	const struct dnn *d = m->llm->dnn;
	if (!p->device)
		return orr_fail(err, ORR_EINPUT, "model %.80s: the times of this model are computed by layers: expected a device", m->name);
	if (d->heads % p->tp || (p->tp > d->kv_heads ? p->tp % d->kv_heads : d->kv_heads % p->tp))
		return orr_fail(err, ORR_EINPUT,
			"model %.80s: %u heads (%u of keys and values) cannot be split over %u GPUs: expected a common divisor", m->name,
			d->heads, d->kv_heads, p->tp);
	if (d->blocks % p->pp)
		return orr_fail(err, ORR_EINPUT, "model %.80s: %u layers: expected a multiple of the %u stages", m->name, d->blocks, p->pp);
	return ORR_OK;
}

static void find_attention(struct served_layers *x)
{
	const struct device *dev = x->p.device;
	const struct dnn *d = x->d;
	/* With weights and activations in fp8, attention is in 16 bits (vLLM, TensorRT-LLM). */
	enum precision p = x->p.precision == PRECISION_FP8 ? PRECISION_FP16 : x->p.precision;
	double share = x->f->attention_efficiency > 0 ? x->f->attention_efficiency : dev->gemm_efficiency[p];
	double rate = dev->peak_flops[p] * share, size = d->hidden / d->heads;
	double flops = 4 * size * d->heads / x->p.tp, bytes = 2 * x->kv_heads * size * x->f->element_bytes;
	double group = d->heads / x->p.tp / x->kv_heads; /* number of queries that share a key and a value */
	x->kv_reads = fmin(group, fmax(1, x->p.kv_reads));
	x->pair_s = d->blocks * flops / rate;
	x->context_s = d->blocks * fmax(x->kv_reads * bytes / x->Bps, flops / rate);
	x->context_read_s = d->blocks * x->kv_reads * bytes / x->Bps;
	x->context_flop_s = d->blocks * flops / rate;
	x->prompt_kernel_s = d->blocks * (dev->launch_s + device_ramp_s(dev));
	x->decode_kernel_s = d->blocks * dev->launch_s;
}

static char *describe(const struct served_layers *x)
{
	struct sbuf s = { 0 };
	static const char update[] = "; the data sheet's roofline for update"; /* removed from the source, because serving has no updates */
	const char *source = cost_source(x->cost, 1);
	size_t n = strlen(source), cut = sizeof update - 1;
	if (n > cut && !strcmp(source + n - cut, update))
		n -= cut;
	sbuf_printf(&s, "layers of %s by %.*s; attention by roofline on %s", x->d->name, (int)n, source, x->p.device->name);
	if (x->convert_s > 0)
		sbuf_printf(&s, "; weights converted at %.4g per second", 1 / x->convert_s);
	if (x->kv_reads > 1)
		sbuf_printf(&s, ", keys and values of grouped queries read %.4g times", x->kv_reads);
	if (x->p.is_spread)
		sbuf_printf(&s, "; collectives of %u over the network", x->p.tp);
	else if (x->p.tp > 1 && x->reduce)
		sbuf_printf(&s, "; all-reduce of %u by the profile (%s)", x->p.tp, x->reduce->variant);
	else if (x->p.tp > 1)
		sbuf_printf(&s, "; all-reduce of %u by its link, %.4g GB/s", x->p.tp, x->tp_link.Bps / 1e9);
	return sbuf_steal(&s);
}

/* Makes the cost models. In fp8, the layers that stay in 16 bits are computed in fp16. */
static int find_costs(struct served_layers *x, struct orr_error *err)
{
	double plain = quant_plain_bytes(&x->quant), weight = quant_weight_bytes(&x->quant);
	struct cost_options o = { .precision = x->p.precision, .fused_attention = true, .profile = x->p.profile };
	struct cost_options quantised = o;
	quantised.operand_bytes = x->p.precision == PRECISION_FP8 ? 1 : 0;
	quantised.weight_bytes = weight == plain ? 0 : weight;
	o.precision = x->p.precision == PRECISION_FP8 ? PRECISION_FP16 : o.precision;
	x->convert_s = quant_convert_s(&x->quant, x->p.device);
	x->cost = cost_new(x->d, x->p.device, &quantised, err);
	x->rest = x->cost && weight != plain ? cost_new(x->d, x->p.device, &o, err) : x->cost;
	return x->rest ? ORR_OK : ORR_EINPUT;
}

struct served_layers *served_layers_new(const struct served *m, const struct served_place *p, struct orr_error *err)
{
	if (check(m, p, err))
		return NULL;
	struct served_layers *x = mem_zalloc(1, sizeof *x);
	x->m = m;
	x->f = m->llm;
	x->d = m->llm->dnn;
	x->p = *p;
	x->quant = x->f->quant;
	x->quant.precision = p->precision;
	x->has_host = p->host.fixed_s > 0 || p->host.request_s > 0 || p->host.gpu_share > 0 || p->host.steps > 1 || p->host.is_overlapped ||
		      p->host.graphs != GRAPHS_ALL;
	if (find_costs(x, err) || find_links(x, err)) {
		served_layers_free(x);
		return NULL;
	}
	x->kv_heads = p->tp > x->d->kv_heads ? 1 : x->d->kv_heads / p->tp; /* fewer heads than GPUs: each GPU holds a copy of a head */
	x->element_bytes = p->precision == PRECISION_FP32 || p->precision == PRECISION_TF32 ? 4 : 2;
	x->Bps = p->device->memory_Bps * p->device->memory_efficiency;
	if (p->profile)
		x->rope = profile_law(p->profile, "memory", "rope", "", "", 0, 0);
	const struct law *gemm = p->profile ? profile_law(p->profile, "gemm", "", precision_name(p->precision), "", 0, 0) : NULL;
	x->lacks_memory = gemm && gemm->form == FORM_ROOFLINE && !(gemm->param[2] < INFINITY);
	find_parts(x);
	find_attention(x);
	x->table = mem_zalloc(TABLE_TOKENS + 1, sizeof *x->table);
	x->word = mem_zalloc(TABLE_WORDS + 1, sizeof *x->word);
	x->beyond_tokens = -1;
	x->source = describe(x);
	return x;
}

void served_layers_free(struct served_layers *x)
{
	if (!x)
		return;
	if (x->rest != x->cost)
		cost_free(x->rest);
	cost_free(x->cost);
	mem_free(x->table);
	mem_free(x->word);
	mem_free(x->source);
	mem_free(x);
}

const char *served_layers_source(const struct served_layers *x)
{
	return x->source;
}

/* ---- memory ---- */

/* Returns the bytes of the weights of layers first to end - 1. If the file gives the bytes of the model, they are split by parameters. */
static double weights_of(const struct served_layers *x, uint32_t first, uint32_t end)
{
	double params = 0, bytes = 0, all = quant_bytes(&x->quant, x->d);
	for (uint32_t l = first; l < end; l++) {
		params += x->d->layer[l].params;
		bytes += quant_layer_bytes(&x->quant, &x->d->layer[l]);
	}
	return x->m->weight_bytes == all ? bytes : params * (x->m->weight_bytes / x->d->params);
}

double served_layers_kv_tokens(const struct served_layers *x, double part)
{
	const struct dnn *d = x->d;
	double pp = x->p.pp, memory = x->p.device->memory_bytes * x->p.tp * part, least = INFINITY;
	double copies = x->kv_heads * x->p.tp / d->kv_heads;
	for (uint32_t stage = 0; stage < x->p.pp; stage++) {
		double weights = weights_of(x, x->block, x->after) / pp;
		if (stage == 0)
			weights += weights_of(x, 0, x->block);
		if (stage == x->p.pp - 1)
			weights += weights_of(x, x->after, d->n_layers);
		double room = floor((memory - weights) / (copies * x->m->kv_bytes / pp));
		least = room < least ? room : least;
	}
	return least > 0 ? least : 0;
}
