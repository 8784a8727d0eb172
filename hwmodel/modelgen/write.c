/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a plan as JSON (docs/model.schema.json), one layer per line. */
#include "hwmodel/modelgen/modelgen.h"

#include "base/sbuf.h"

#include <math.h>

/* Writes whole numbers in full and halves (from masks) with one decimal. */
static void put_number(struct sbuf *out, double v)
{
	sbuf_printf(out, v < floor(v) || v > floor(v) ? "%.1f" : "%.0f", v);
}

static void put_key(struct sbuf *out, const char *key, double v)
{
	if (!(v > 0))
		return;
	sbuf_printf(out, ", \"%s\": ", key);
	put_number(out, v);
}

static void put_layer(struct sbuf *out, const struct dnn_layer *l)
{
	static const char *const splits[] = { "auto", "none", "columns", "rows" };
	sbuf_printf(out, "{ \"name\": \"%s\", \"kind\": \"%s\"", l->name, dnn_kind_name(l->kind));
	put_key(out, "params", l->params);
	put_key(out, "tensors", l->tensors);
	if (l->rows > 0)
		sbuf_printf(out, ", \"matrix\": [%.0f, %.0f]", l->rows, l->columns);
	sbuf_printf(out, ", \"flops\": ");
	put_number(out, l->fwd_flops);
	sbuf_printf(out, ", \"in\": ");
	put_number(out, l->in_elems);
	sbuf_printf(out, ", \"out\": ");
	put_number(out, l->out_elems);
	sbuf_printf(out, ", \"saved\": ");
	put_number(out, l->saved_elems);
	if (l->m > 0)
		sbuf_printf(out, ", \"gemm\": [%.17g, %.0f, %.0f, %.0f]", l->m, l->n, l->k, l->count);
	put_key(out, "experts", l->experts);
	if (l->split)
		sbuf_printf(out, ", \"split\": \"%s\"", splits[l->split]);
	sbuf_puts(out, l->is_in_place ? ", \"in_place\": true }" : " }");
}

static void put_graph(struct sbuf *out, const struct dnn *d)
{
	const struct graph_shape *g = &d->graph;
	sbuf_printf(out, "\"graph\": { \"vertices\": %.0f, \"edges\": %.0f, \"degrees\": \"%s\"", g->vertices, g->edges,
		degree_law_name(g->law));
	if (g->law == DEGREE_POWER)
		sbuf_printf(out, ", \"exponent\": %g", g->exponent);
	sbuf_puts(out, d->has_attention ? ", \"attention\": true },\n" : " },\n");
}

/* Writes dimensions of heads and of the cache only if they are not the defaults. */
static void put_transformer(struct sbuf *out, const struct dnn *d)
{
	const struct dnn_attention *a = &d->attention;
	sbuf_printf(out, "\"transformer\": { \"hidden\": %u, \"heads\": %u, \"kv_heads\": %u, \"ffn\": %u, \"seq\": %u, \"vocab\": %u",
		d->hidden, d->heads, d->kv_heads, d->ffn, d->seq, d->vocab);
	if (a->head_dim && a->head_dim != d->hidden / d->heads)
		sbuf_printf(out, ", \"head_dim\": %u", a->head_dim);
	if (a->v_dim != a->head_dim)
		sbuf_printf(out, ", \"v_dim\": %u", a->v_dim);
	if (a->cached < 2. * d->kv_heads * a->head_dim)
		sbuf_printf(out, ", \"cached\": %.0f", a->cached);
	sbuf_puts(out, " },\n");
}

static void put_head(struct sbuf *out, const struct plan *p, const struct recipe *r)
{
	const struct dnn *d = p->d;
	sbuf_printf(out, "{\n\"name\": \"%s\",\n\"title\": \"%s\",\n\"source\": \"%s\",\n\"input\": \"%s\",\n\"input_elems\": %.0f,\n",
		d->name, d->title, r->source, d->input, d->input_elems);
	if (p->classifier)
		sbuf_printf(out, "\"classifier\": \"%s\",\n", p->classifier);
	if (d->hidden)
		put_transformer(out, d);
	if (d->moe.experts)
		sbuf_printf(out,
			"\"experts\": { \"experts\": %u, \"top_k\": %u, \"shared\": %u, \"width\": %u, \"groups\": %u, \"top_groups\": %u "
			"},\n",
			d->moe.experts, d->moe.top_k, d->moe.shared, d->moe.width, d->moe.groups, d->moe.top_groups);
	if (d->graph.vertices > 0)
		put_graph(out, d);
}

void write_model(const struct plan *p, const struct recipe *r, struct sbuf *out)
{
	put_head(out, p, r);
	sbuf_puts(out, "\"layers\": [\n");
	size_t next = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_repeat *rep = next < p->n_repeats ? &p->repeat[next] : NULL;
		if (rep && i == rep->first)
			sbuf_printf(out, "{ \"repeat\": %u, \"from\": %u, \"is_block\": %s, \"layers\": [\n", rep->count, rep->from,
				rep->is_block ? "true" : "false");
		put_layer(out, &p->layer[i]);
		if (rep && i + 1 == rep->first + rep->n_layers) {
			sbuf_puts(out, "\n] }");
			next++;
		}
		sbuf_puts(out, i + 1 < p->n ? ",\n" : "\n");
	}
	sbuf_puts(out, "]\n}\n");
}
