/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Graph neural networks: GCN (Kipf, Welling, ICLR 2017) and GAT (Velickovic et al., ICLR 2018), one head.
 *
 * A sample is a vertex. Aggregation reads a row, an index and a weight per edge; it is a layer of kind pool. A layer of a GCN is gather,
 * then apply. A layer of a GAT is apply, then edge scores, then gather.
 */
#include "hwmodel/dnn_plan.h"

#include "base/num.h"
#include "base/param.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void gather(struct plan *p, uint32_t l, double degree, double width)
{
	char name[24];
	snprintf(name, sizeof name, "gather%u", l);
	struct dnn_layer *g = plan_add(p, ORR_LAYER_POOL, name);
	g->fwd_flops = 2 * degree * width;
	g->in_elems = degree * (width + 2);
	g->out_elems = width;
}

static void edge_scores(struct plan *p, uint32_t l, double degree)
{
	char name[24];
	snprintf(name, sizeof name, "edge%u", l);
	struct dnn_layer *e = plan_add(p, ORR_LAYER_POOL, name);
	e->fwd_flops = 6 * degree; /* add, leaky ReLU, exponential, and the division of the softmax */
	e->in_elems = 2 * degree;
	e->out_elems = degree;
}

struct plan *graph_network(const char *name, const char *title, const struct graph_network *z)
{
	struct plan *p = plan_new(name, title, "1 vertex");
	double degree = z->shape.edges / z->shape.vertices;
	struct act x = op_input(p, z->width[0], 1, 1);
	p->d->graph = z->shape;
	p->d->has_attention = z->has_attention;
	for (uint32_t l = 0; l < z->layers; l++) {
		char part[24];
		snprintf(part, sizeof part, "apply%u", l);
		if (!z->has_attention)
			gather(p, l, degree, z->width[l]);
		x = op_linear(p, part, x, z->width[l + 1], false, 1);
		if (!z->has_attention)
			continue;
		struct dnn_layer *a = &p->layer[p->n - 1];
		a->params += 2. * z->width[l + 1]; /* the vectors that give the edge scores */
		a->tensors = 2;
		edge_scores(p, l, degree);
		gather(p, l, degree, z->width[l + 1]);
	}
	return p;
}

/* ---- "gcn:vertices=..,edges=..,widths=602-128-41" ---- */

static int get_widths(const char *spec, const char *text, struct graph_network *z, struct orr_error *err)
{
	z->layers = 0;
	for (uint32_t n = 0; n <= GRAPH_MAX_LAYERS; n++) {
		size_t len = strcspn(text, "-");
		int64_t v;
		if (!num_int(text, len, &v) || v < 1 || v > 1000000)
			break;
		z->width[n] = (uint32_t)v;
		z->layers = n;
		text += len;
		if (!*text && n)
			return ORR_OK;
		text += *text == '-';
	}
	return orr_fail(err, ORR_EINPUT, "%.120s: widths: expected 2 to %d whole numbers from 1 to 1000000, as in 602-128-41", spec,
		GRAPH_MAX_LAYERS + 1);
}

static int get_size(const char *spec, const char *key, const char *text, double least, double most, double *out, struct orr_error *err)
{
	if (num_real(text, strlen(text), out) && *out >= least && *out <= most)
		return ORR_OK;
	return orr_fail(
		err, ORR_EINPUT, "%.120s: %s: expected a number from %.15g to %.15g, found \"%.40s\"", spec, key, least, most, text);
}

static int get_law(const char *spec, const char *text, enum degree_law *out, struct orr_error *err)
{
	for (size_t i = 0; degree_law_name(i); i++)
		if (!strcmp(degree_law_name(i), text)) {
			*out = (enum degree_law)i;
			return ORR_OK;
		}
	return orr_fail(err, ORR_EINPUT, "%.120s: degrees: expected regular, poisson or power, found \"%.40s\"", spec, text);
}

static int get_pair(const char *spec, const char *key, const char *value, struct graph_network *z, struct orr_error *err)
{
	static const char *const keys[] = { "vertices", "edges", "widths", "degrees", "exponent", NULL };
	struct graph_shape *g = &z->shape;
	if (!strcmp(key, "vertices"))
		return get_size(spec, key, value, 2, GRAPH_MAX_VERTICES, &g->vertices, err);
	if (!strcmp(key, "edges"))
		return get_size(spec, key, value, 1, GRAPH_MAX_EDGES, &g->edges, err);
	if (!strcmp(key, "exponent"))
		return get_size(spec, key, value, 2.01, 10, &g->exponent, err);
	if (!strcmp(key, "widths"))
		return get_widths(spec, value, z, err);
	if (!strcmp(key, "degrees"))
		return get_law(spec, value, &g->law, err);
	const char *near = nearest_name(key, keys);
	return orr_fail(err, ORR_EINPUT, "%.120s: unknown dimension \"%.40s\": %s%s%s", spec, key, near ? "did you mean \"" : "expected ",
		near ? near : "vertices, edges, widths, degrees or exponent", near ? "\"?" : "");
}

int graph_shape_check(const char *where, const struct graph_shape *g, struct orr_error *err)
{
	if (g->vertices < 2 || g->vertices != floor(g->vertices))
		return orr_fail(
			err, ORR_EINPUT, "%.200s: vertices: expected a whole number of at least 2, found %.15g", where, g->vertices);
	if (!(g->edges >= 1) || g->edges > g->vertices * (g->vertices - 1))
		return orr_fail(err, ORR_EINPUT,
			"%.200s: edges: expected a number from 1 to \"vertices\" x (\"vertices\" - 1) = %.15g (an undirected edge counts "
			"twice), "
			"found "
			"%.15g",
			where, g->vertices * (g->vertices - 1), g->edges);
	return ORR_OK;
}

struct plan *graph_network_from_spec(const char *spec, struct orr_error *err)
{
	struct graph_network z = { .has_attention = spec[1] == 'a', .shape = { .law = DEGREE_POISSON, .exponent = 2.5 } };
	char title[160];
	for (const char *text = spec + 4; *text;) {
		char pair[128];
		size_t n = strcspn(text, ",");
		const char *equals = memchr(text, '=', n);
		if (!equals || n >= sizeof pair) {
			orr_fail(err, ORR_EINPUT, "%.120s: expected name=number, found \"%.*s\"", spec, (int)(n < 40 ? n : 40), text);
			return NULL;
		}
		memcpy(pair, text, n);
		pair[n] = '\0';
		pair[equals - text] = '\0';
		if (get_pair(spec, pair, pair + (equals - text) + 1, &z, err))
			return NULL;
		text += n + (text[n] == ',');
	}
	if (!z.layers) {
		orr_fail(err, ORR_EINPUT,
			"%.120s: widths: expected the widths of the input, of each hidden layer and of the output, as in 602-128-41, found "
			"nothing",
			spec);
		return NULL;
	}
	if (graph_shape_check(spec, &z.shape, err))
		return NULL;
	snprintf(title, sizeof title, "%s of %u layers, %.15g vertices, %.15g edges", z.has_attention ? "GAT" : "GCN", z.layers,
		z.shape.vertices, z.shape.edges);
	return graph_network(spec, title, &z);
}
