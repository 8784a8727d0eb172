/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of an iteration of a language model. Formulas: docs/models/serve-llm.md, "Time of an iteration". */
#include "hwmodel/served_llm.h"
#include "hwmodel/served_moe.h"
#include "hwmodel/served_network.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <math.h>

struct served_on {
	const struct served_llm *llm;
	const struct served *m;
	struct served_place p;
	struct served_layers *layers; /* form by layers; NULL: x has another form */
	const struct served_fit *fit; /* form `fits`: the fit for p.tp */
	double constant_ms, token_ms; /* form `closed`: per iteration and per token, over all stages */
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
	x->constant_ms = m->llm->constant_ms + p->pp * m->llm->stage_ms + (p->pp - 1) * m->llm->hop_ms;
	x->token_ms = m->llm->token_ms + (p->pp - 1) * m->llm->hop_token_ms;
	for (uint32_t i = 0; i < m->llm->n_fits; i++)
		x->fit = m->llm->fit[i].tp == p->tp ? &m->llm->fit[i] : x->fit;
	if (m->llm->form == SERVED_FITS && !x->fit) {
		orr_fail(err, ORR_EINPUT, "model %.80s: its file has no fit for tensor parallelism of %u: expected one of $.fits.by_tp",
			m->name, p->tp);
		served_on_free(x);
		return NULL;
	}
	if (m->llm->form == SERVED_MOE && served_moe_check(m, p, err)) {
		served_on_free(x);
		return NULL;
	}
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
		return served_curve_at(&f->decode, w->decodes + w->checked);
	double s = served_curve_at(&f->prompt, w->prompt_tokens + w->decodes + w->checked);
	return w->decodes ? s * f->mixed_factor : s;
}

static double closed(const struct served_on *x, const struct llm_load *w)
{
	const struct served_llm *f = x->llm;
	double tokens = w->decodes + w->prompt_tokens;
	if (w->checked > 0) /* added separately, so that plain iterations have one addition less */
		tokens += w->checked;
	double ms = x->constant_ms + x->token_ms * tokens + f->context_ms * w->decode_context + f->pair_ms * w->prompt_pairs;
	return ms * 1e-3;
}

/* Returns the time, s, of one stage: an equal share of the iteration, the constant per stage and, except for the last, a hop. */
static double closed_stage(const struct served_on *x, const struct llm_load *w, uint32_t stage)
{
	const struct served_llm *f = x->llm;
	double tokens = w->decodes + w->prompt_tokens + w->checked;
	double share = f->constant_ms + f->token_ms * tokens + f->context_ms * w->decode_context + f->pair_ms * w->prompt_pairs;
	double ms = f->stage_ms + share / x->p.pp;
	if (stage + 1 < x->p.pp)
		ms += f->hop_ms + f->hop_token_ms * tokens;
	return ms * 1e-3;
}

static double fit_ms(const double *ms, double tokens, double more)
{
	return ms[0] + ms[1] * tokens + ms[2] * more;
}

/* Returns the time, s, of one stage: an equal share of the prompts and of the decodes, and constants. */
static double fits_stage(const struct served_on *x, const struct llm_load *w, uint32_t stage)
{
	const struct served_llm *f = x->llm;
	const double *decode = w->decodes < x->fit->large_from ? x->fit->decode_ms : x->fit->large_ms;
	double ms = 0;
	if (w->prompts)
		ms += fit_ms(x->fit->prefill_ms, w->prompt_tokens, w->prompt_pairs) / x->p.pp + f->prompt_pp_ms * x->p.pp;
	if (w->decodes)
		ms += fit_ms(decode, w->decode_context, w->decodes + w->checked) / x->p.pp;
	if (!stage)
		ms += f->first_ms + f->first_token_ms * (w->prompt_tokens + w->decode_context - w->decodes);
	return ms * 1e-3;
}

/* Returns the time, s, through all stages. */
static double by_fits(const struct served_on *x, const struct llm_load *w)
{
	return fits_stage(x, w, 0) + (x->p.pp > 1 ? (x->p.pp - 1) * fits_stage(x, w, 1) : 0);
}

double served_stage_s(struct served_on *x, const struct llm_load *load, uint32_t stage)
{
	if (x->layers)
		return served_layers_stage(x->layers, load, stage);
	if (x->fit)
		return fits_stage(x, load, stage);
	if (x->llm->moe)
		return served_moe_iteration(x->llm->moe, &x->p, load) / x->p.pp;
	return x->llm->form == SERVED_CLOSED ? closed_stage(x, load, stage) : by_curves(x->llm, load) / x->p.pp;
}

double served_iteration_stage(struct served_on *x, const struct llm_load *load, double *stage_s)
{
	if (x->layers)
		return served_layers_iteration(x->layers, load, stage_s);
	if (x->llm->form == SERVED_CLOSED) {
		*stage_s = closed_stage(x, load, 0);
		return closed(x, load);
	}
	if (x->fit) {
		*stage_s = fits_stage(x, load, 0);
		return by_fits(x, load);
	}
	double s = x->llm->moe ? served_moe_iteration(x->llm->moe, &x->p, load) : by_curves(x->llm, load);
	*stage_s = s / x->p.pp; /* assumes equal stages */
	return s;
}

double served_iteration(struct served_on *x, const struct llm_load *load)
{
	double stage_s;
	return x->llm->form == SERVED_CLOSED ? closed(x, load) : served_iteration_stage(x, load, &stage_s);
}

bool served_decodes(struct served_on *x, uint32_t n, struct served_decodes *out)
{
	return x->layers && served_layers_decodes(x->layers, n, out);
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
	return x->layers                       ? served_layers_source(x->layers)
	       : x->llm->form == SERVED_CLOSED ? "closed form"
	       : x->llm->moe                   ? "rooflines of a mixture of experts, data sheet only, not compared with measured iterations"
	       : x->fit                        ? "fits by tensor parallelism"
					       : "curves";
}

/* ---- precision ---- */

bool served_has_precision(const struct served *m)
{
	return m->network || (m->kind == SERVED_LLM && m->llm->form == SERVED_LAYERS);
}

bool served_shares_keys(const struct served *m)
{
	return m->kind == SERVED_LLM && m->llm->form == SERVED_LAYERS && m->llm->dnn->heads > m->llm->dnn->kv_heads;
}

/* Returns whether the bytes of weights come from the file: it gives them, and the option is auto. */
static bool has_given_weights(const struct served_llm *f, const struct quantisation *q)
{
	return (f->has_bytes || f->has_weight_bytes) && q->weights == FORMAT_AUTO;
}

static bool has_given_kv(const struct served_llm *f, const struct quantisation *q)
{
	return (f->has_bytes || f->has_kv_bytes) && q->kv == FORMAT_AUTO;
}

void served_set_precision(struct served *m, const struct quantisation *q)
{
	if (m->network)
		served_network_set_precision(m, q->precision);
	if (!m->llm || !served_has_precision(m))
		return;
	struct served_llm *f = m->llm;
	const struct dnn *d = f->dnn;
	f->quant = *q;
	if (!has_given_weights(f, q))
		m->weight_bytes = quant_bytes(q, d);
	if (has_given_kv(f, q))
		return;
	f->element_bytes = quant_kv_bytes(q);
	m->kv_bytes = 2.0 * d->blocks * d->kv_heads * (d->hidden / d->heads) * f->element_bytes;
}

static void describe_weights(const struct served *m, const struct quantisation *q, struct sbuf *out)
{
	bool is_auto = q->weights == FORMAT_AUTO, is_plain = quant_weight_bytes(q) == quant_plain_bytes(q);
	double bytes = quant_weight_bytes(q);
	sbuf_printf(out, "%.4g GB of weights (", m->weight_bytes / 1e9);
	if (!served_has_precision(m) || has_given_weights(m->llm, q)) {
		sbuf_puts(out, "given by its file)");
		return;
	}
	sbuf_printf(
		out, "%s, %.6g byte%s per ", is_auto ? precision_name(q->precision) : format_name(q->weights), bytes, bytes > 1 ? "s" : "");
	if (is_plain)
		sbuf_puts(out, "parameter)");
	else
		sbuf_printf(out, "weight of the linear layers of blocks%s, %g per other parameter)",
			q->has_head ? " and of the output layer" : "", quant_plain_bytes(q));
	if (quant_convert_s(q, &(struct device){ .vector_flops = 1 }) > 0)
		sbuf_printf(out, ", computed with in %s", precision_name(q->precision));
}

void served_describe_memory(const struct served *m, const struct quantisation *q, struct sbuf *out)
{
	const struct served_llm *f = m->llm;
	describe_weights(m, q, out);
	sbuf_printf(out, ", %.0f bytes of KV cache per token (", m->kv_bytes);
	if (!served_has_precision(m) || has_given_kv(f, q))
		sbuf_puts(out, "given by its file");
	else if (q->kv != FORMAT_AUTO)
		sbuf_puts(out, format_name(q->kv));
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
	if (x->llm->moe)
		return served_moe_kv_tokens(x->m, &x->p, part);
	double room = x->p.device->memory_bytes * x->p.tp * x->p.pp * part - x->m->weight_bytes;
	return room <= 0 ? 0 : x->m->kv_bytes > 0 ? floor(room / x->m->kv_bytes) : INFINITY;
}
