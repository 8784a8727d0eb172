/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of an iteration of a language model. Formulas: docs/models/serve-llm.md, "Time of an iteration". */
#include "hwmodel/served_llm.h"
#include "hwmodel/served_network.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <math.h>

struct served_on {
	const struct served_llm *llm;
	const struct served *m;
	struct served_place p;
	struct served_layers *layers; /* form by layers; NULL: x has another form */
};

static int check_place(const struct served *m, const struct served_place *p, struct orr_error *err)
{
	if (m->kind != SERVED_LLM)
		return orr_fail(err, ORR_EINPUT, "model %.80s: expected a language model, found a table of batches", m->name);
	if (p->tp < 1 || p->pp < 1)
		return orr_fail(err, ORR_EINPUT, "model %.80s: expected tensor and pipeline parallelism of at least 1, found %u and %u",
			m->name, p->tp, p->pp);
	return ORR_OK;
}

struct served_on *served_on_new(const struct served *m, const struct served_place *p, struct orr_error *err)
{
	if (check_place(m, p, err))
		return NULL;
	struct served_on *x = mem_zalloc(1, sizeof *x);
	x->m = m;
	x->llm = m->llm;
	x->p = *p;
	if (m->llm->form == SERVED_LAYERS) {
		x->layers = served_layers_new(m, p, err);
		if (!x->layers) {
			served_on_free(x);
			return NULL;
		}
	}
	return x;
}

void served_on_free(struct served_on *x)
{
	if (!x)
		return;
	served_layers_free(x->layers);
	mem_free(x);
}

/* Uses the segment that ends at the first knot >= v; beyond the ends, the first or the last segment (like scipy's interp1d). */
double served_curve_at(const struct served_curve *c, double v)
{
	uint32_t lo = 1, hi = c->n - 1;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (c->x[mid] < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	double slope = (c->y[lo] - c->y[lo - 1]) / (c->x[lo] - c->x[lo - 1]);
	return slope * (v - c->x[lo - 1]) + c->y[lo - 1];
}

static double by_curves(const struct served_llm *f, const struct llm_load *w)
{
	if (w->prompts == 0)
		return served_curve_at(&f->decode, w->decodes);
	double s = served_curve_at(&f->prompt, w->prompt_tokens + w->decodes);
	return w->decodes ? s * f->mixed_factor : s;
}

static double closed(const struct served_llm *f, const struct llm_load *w)
{
	double ms = f->constant_ms + f->token_ms * (w->decodes + w->prompt_tokens) + f->context_ms * w->decode_context +
		    f->pair_ms * w->prompt_pairs;
	return ms * 1e-3;
}

double served_iteration_stage(struct served_on *x, const struct llm_load *load, double *stage_s)
{
	if (x->layers)
		return served_layers_iteration(x->layers, load, stage_s);
	double s = x->llm->form == SERVED_CLOSED ? closed(x->llm, load) : by_curves(x->llm, load);
	*stage_s = s / x->p.pp; /* forms without stages: assumes equal stages */
	return s;
}

double served_iteration(struct served_on *x, const struct llm_load *load)
{
	double stage_s;
	return x->llm->form == SERVED_CLOSED ? closed(x->llm, load) : served_iteration_stage(x, load, &stage_s);
}

bool served_iteration_parts(struct served_on *x, const struct llm_load *load, struct served_parts *out)
{
	if (x->layers)
		served_layers_parts(x->layers, load, out);
	return x->layers != NULL;
}

double served_network_bytes(struct served_on *x, const struct llm_load *load)
{
	return x->layers ? served_layers_network_bytes(x->layers, load) : 0;
}

const struct dnn *served_dnn(const struct served *m)
{
	if (m->network)
		return m->network->dnn;
	return m->kind == SERVED_LLM && m->llm->form == SERVED_LAYERS ? m->llm->dnn : NULL;
}

struct served_layers *served_layers_of(struct served_on *x)
{
	return x->layers;
}

const char *served_source(const struct served_on *x)
{
	return x->layers ? served_layers_source(x->layers) : x->llm->form == SERVED_CLOSED ? "closed form" : "curves";
}

/* tests/serve/serve_published.sh repeats the fits. */
const struct served_engine *served_engine(size_t i)
{
	static const struct served_engine engines[] = { { "ideal", NULL, 1 },
		{ "tensorrt-llm", "19 published throughputs of Llama-2 on A100 and H100, TensorRT-LLM 0.5 and 0.6.1", 6.2 },
		{ "lmdeploy", "36 published throughputs of Llama-2 on A100, lmdeploy 0.1.0", 1.9 } };
	return i < sizeof engines / sizeof *engines ? &engines[i] : NULL;
}

/* ---- precision ---- */

bool served_has_precision(const struct served *m)
{
	return m->network || (m->kind == SERVED_LLM && m->llm->form == SERVED_LAYERS);
}

static double kv_element_bytes(enum precision weights, int kv)
{
	return kv == SERVED_KV_AUTO ? fmax(2, precision_element_bytes(weights)) : precision_element_bytes((enum precision)kv);
}

void served_set_precision(struct served *m, enum precision weights, int kv)
{
	if (m->network)
		served_network_set_precision(m, weights);
	if (!m->llm || !served_has_precision(m))
		return;
	struct served_llm *f = m->llm;
	const struct dnn *d = f->dnn;
	if (!f->has_bytes && !f->has_weight_bytes)
		m->weight_bytes = d->params * precision_element_bytes(weights);
	if ((f->has_bytes || f->has_kv_bytes) && kv == SERVED_KV_AUTO)
		return;
	f->element_bytes = kv_element_bytes(weights, kv);
	m->kv_bytes = 2.0 * d->blocks * d->kv_heads * (d->hidden / d->heads) * f->element_bytes;
}

void served_describe_memory(const struct served *m, enum precision weights, int kv, struct sbuf *out)
{
	const struct served_llm *f = m->llm;
	bool is_given = !served_has_precision(m) || f->has_bytes || f->has_weight_bytes;
	sbuf_printf(out, "%.4g GB of weights (", m->weight_bytes / 1e9);
	if (is_given)
		sbuf_puts(out, "given by its file");
	else
		sbuf_printf(out, "%s, %g byte%s per parameter", precision_name(weights), precision_element_bytes(weights),
			weights == PRECISION_FP8 ? "" : "s");
	sbuf_printf(out, "), %.0f bytes of KV cache per token (", m->kv_bytes);
	if (!served_has_precision(m) || ((f->has_bytes || f->has_kv_bytes) && kv == SERVED_KV_AUTO))
		sbuf_puts(out, "given by its file");
	else if (kv != SERVED_KV_AUTO)
		sbuf_puts(out, precision_name((enum precision)kv));
	else
		sbuf_printf(out, "%s: kv_precision=auto", f->element_bytes > 2 ? "fp32" : "fp16");
	sbuf_puts(out, ")");
}

double served_kv_tokens(const struct served_on *x, double part)
{
	if (x->layers)
		return served_layers_kv_tokens(x->layers, part);
	if (!x->p.device)
		return NAN;
	double room = x->p.device->memory_bytes * x->p.tp * x->p.pp * part - x->m->weight_bytes;
	return room <= 0 ? 0 : x->m->kv_bytes > 0 ? floor(room / x->m->kv_bytes) : INFINITY;
}
