/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Classes of equivalent flows: rates on the quotient equal those on the whole network, and flows that are not equivalent stay separate.
 */
#include "tests/net/flow_peek.h"
#include "tests/net/net_fill.h"
#include "tests/tap.h"

#include "base/mem.h"
#include "base/rng.h"
#include "net/quotient.h"

#include <stdlib.h>
#include <time.h>

struct pair {
	uint32_t src, dst, colour;
	uint64_t key;
};

enum { MAX_FLOWS = 4096 };

struct instance {
	struct topo *t;
	struct pair flow[MAX_FLOWS];
	uint32_t n;
	struct quotient *q;
};

static struct topo *network(const char *cluster, const char *spec)
{
	struct orr_error err;
	struct cluster *c = cluster_load(cluster, &err);
	struct topo *t = c ? topo_load(c, spec, 3, &err) : NULL;
	if (!t)
		printf("# %s, %s: %s\n", cluster, spec, err.text);
	cluster_free(c);
	return t;
}

static struct instance *start(const char *cluster, const char *spec)
{
	struct instance *in = mem_zalloc(1, sizeof *in);
	in->t = network(cluster, spec);
	return in;
}

static void add(struct instance *in, uint32_t src, uint32_t dst, uint32_t colour, uint64_t key)
{
	in->flow[in->n++] = (struct pair){ src, dst, colour, key };
}

static void refine(struct instance *in)
{
	in->q = quotient_new(in->t);
	for (uint32_t i = 0; i < in->n; i++)
		quotient_flow(in->q, in->flow[i].src, in->flow[i].dst, in->flow[i].key, in->flow[i].colour);
	quotient_refine(in->q);
}

static void finish(struct instance *in)
{
	quotient_free(in->q);
	topo_free(in->t);
	mem_free(in);
}

/* Returns the number of classes of the first n flows. */
static uint32_t classes_of(const struct quotient *q, uint32_t n)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < n; i++)
		most = quotient_class(q, i) > most ? quotient_class(q, i) : most;
	return n ? most + 1 : 0;
}

/* Returns the colour of the flows of a class. */
static uint32_t colour_of(const struct instance *in, uint32_t flow_class)
{
	uint32_t i = 0;
	while (quotient_class(in->q, i) != flow_class)
		i++;
	return in->flow[i].colour;
}

/* Builds the quotient: one flow per class, one link per class, hops with their loads. */
static void fill_classes(struct fill *f, const struct instance *in)
{
	const struct quotient *q = in->q;
	*f = (struct fill){ .n_links = quotient_links(q) };
	f->capacity = mem_alloc((f->n_links + 1) * sizeof *f->capacity);
	for (uint32_t l = 0; l < f->n_links; l++) {
		struct flow_link link;
		quotient_link(q, l, &link, NULL);
		f->capacity[l] = link.capacity_Bps;
	}
	for (uint32_t c = 0; c < classes_of(q, in->n); c++) {
		struct flow_hop hop[TOPO_MAX_HOPS];
		MEM_GROW(f->flow, f->n_flows, f->cap_flows);
		struct fill_flow *w = &f->flow[f->n_flows++];
		*w = (struct fill_flow){ .left = 1, .n = quotient_route(q, c, hop) };
		for (uint32_t i = 0; i < w->n; i++) {
			w->hop[i] = hop[i].link;
			w->load[i] = hop[i].load;
		}
	}
}

/* Checks that each flow has the rate of its class. Only flows with colours in `mask` are active. */
static bool same_rates(const struct instance *in, uint32_t mask)
{
	struct fill whole, classes;
	bool good = true;
	fill_from_topo(&whole, in->t);
	for (uint32_t i = 0; i < in->n; i++) {
		fill_route(&whole, in->t, in->flow[i].src, in->flow[i].dst, in->flow[i].key, 1);
		whole.flow[i].latency = 0;
		whole.flow[i].is_over = !(mask >> in->flow[i].colour & 1);
	}
	fill_classes(&classes, in);
	for (uint32_t c = 0; c < classes.n_flows; c++)
		classes.flow[c].is_over = !(mask >> colour_of(in, c) & 1);
	fill_rates(&whole);
	fill_rates(&classes);
	for (uint32_t i = 0; i < in->n; i++) {
		double a = whole.flow[i].rate, b = classes.flow[quotient_class(in->q, i)].rate;
		good &= whole.flow[i].is_over || (isinf(a) && isinf(b)) || fabs(a - b) <= 1e-9 * a;
	}
	fill_free(&whole);
	fill_free(&classes);
	return good;
}

/* Checks that the latency of a class is that of its flows. */
static bool same_latency(const struct instance *in)
{
	bool good = true;
	for (uint32_t i = 0; i < in->n; i++) {
		struct flow_hop hop[TOPO_MAX_HOPS];
		uint32_t c = quotient_class(in->q, i), n = quotient_route(in->q, c, hop);
		double sum = quotient_more_latency(in->q, c);
		for (uint32_t k = 0; k < n; k++) {
			struct flow_link link;
			quotient_link(in->q, hop[k].link, &link, NULL);
			sum += link.latency_s;
		}
		good &= fabs(sum - topo_latency(in->t, in->flow[i].src, in->flow[i].dst)) < 1e-12 || in->t->routing == TOPO_ECMP;
	}
	return good;
}

/* ---- on the flow solver ---- */

static void run_out(struct flownet *net, double *finish_s)
{
	uint64_t tag;
	double at;
	while (flownet_active(net) && !isinf(flownet_next(net))) {
		flownet_advance(net, flownet_next(net));
		while (flownet_pop(net, &tag, &at))
			finish_s[tag] = at;
	}
	flownet_free(net);
}

/* Checks that each class ends when its flows end, latencies included. The bytes of a flow depend on its colour. */
static bool same_finish(const struct instance *in)
{
	const struct quotient *q = in->q;
	uint32_t classes = classes_of(q, in->n), links = quotient_links(q);
	double *whole = mem_zalloc(in->n, sizeof *whole), *merged = mem_zalloc(classes, sizeof *merged);
	struct flow_link *link = mem_zalloc(links + 1, sizeof *link);
	struct flow_hop route[TOPO_MAX_HOPS];
	struct flownet *net = topo_flownet(in->t, FLOW_MAX_MIN);
	for (uint32_t i = 0; i < in->n; i++) {
		uint32_t hop[TOPO_MAX_HOPS], n = topo_route(in->t, in->flow[i].src, in->flow[i].dst, in->flow[i].key, hop);
		for (uint32_t h = 0; h < n; h++)
			route[h] = (struct flow_hop){ hop[h], 1 };
		flownet_start(net, 1e6 * (1 + in->flow[i].colour), 0, route, n, i);
	}
	run_out(net, whole);
	for (uint32_t l = 0; l < links; l++)
		quotient_link(q, l, &link[l], NULL);
	net = flownet_new(link, links, FLOW_MAX_MIN);
	for (uint32_t c = 0; c < classes; c++) {
		uint32_t n = quotient_route(q, c, route);
		flownet_start(net, 1e6 * (1 + colour_of(in, c)), quotient_more_latency(q, c), route, n, c);
	}
	run_out(net, merged);
	bool good = true;
	for (uint32_t i = 0; i < in->n; i++)
		good &= fabs(whole[i] - merged[quotient_class(q, i)]) <= 1e-9 * whole[i];
	mem_free(whole);
	mem_free(merged);
	mem_free(link);
	return good;
}

/* ---- the coarsest partition by definition: compares all pairs until nothing changes ---- */

struct naive {
	uint32_t n_flows, n_links;
	uint32_t hop[MAX_FLOWS][TOPO_MAX_HOPS], hops[MAX_FLOWS];
	uint32_t *flow_colour, *link_colour, *fresh;
};

static uint32_t uses(const struct naive *v, uint32_t link, uint32_t colour)
{
	uint32_t n = 0;
	for (uint32_t f = 0; f < v->n_flows; f++)
		for (uint32_t h = 0; v->flow_colour[f] == colour && h < v->hops[f]; h++)
			n += v->hop[f][h] == link;
	return n;
}

static bool links_alike(const struct naive *v, uint32_t a, uint32_t b)
{
	bool good = v->link_colour[a] == v->link_colour[b];
	for (uint32_t c = 0; good && c < v->n_flows; c++)
		good = uses(v, a, c) == uses(v, b, c);
	return good;
}

static bool flows_alike(const struct naive *v, uint32_t a, uint32_t b)
{
	bool good = v->flow_colour[a] == v->flow_colour[b] && v->hops[a] == v->hops[b];
	for (uint32_t h = 0; good && h < v->hops[a]; h++)
		good = v->link_colour[v->hop[a][h]] == v->link_colour[v->hop[b][h]];
	return good;
}

/* Assigns the new colour: the index of the first equivalent element. */
static bool recolour(struct naive *v, uint32_t *colour, uint32_t n, bool (*alike)(const struct naive *, uint32_t, uint32_t))
{
	bool changed = false;
	for (uint32_t i = 0; i < n; i++) {
		v->fresh[i] = i;
		for (uint32_t k = 0; k < i; k++)
			if (v->fresh[k] == k && alike(v, i, k)) {
				v->fresh[i] = k;
				break;
			}
	}
	for (uint32_t i = 0; i < n; i++) {
		changed |= colour[i] != v->fresh[i];
		colour[i] = v->fresh[i];
	}
	return changed;
}

static void naive_start(struct naive *v, const struct instance *in)
{
	const struct topo *t = in->t;
	v->n_flows = in->n;
	v->n_links = t->n_links;
	v->flow_colour = mem_zalloc(in->n, sizeof *v->flow_colour);
	v->link_colour = mem_zalloc(t->n_links, sizeof *v->link_colour);
	v->fresh = mem_zalloc(in->n + t->n_links, sizeof *v->fresh);
	for (uint32_t i = 0; i < in->n; i++) {
		v->hops[i] = topo_route(t, in->flow[i].src, in->flow[i].dst, in->flow[i].key, v->hop[i]);
		for (v->flow_colour[i] = 0; in->flow[v->flow_colour[i]].colour != in->flow[i].colour;)
			v->flow_colour[i]++;
	}
	for (uint32_t l = 0; l < t->n_links; l++)
		while (t->link[v->link_colour[l]].flow.capacity_Bps != t->link[l].flow.capacity_Bps ||
			t->link[v->link_colour[l]].flow.latency_s != t->link[l].flow.latency_s)
			v->link_colour[l]++;
}

/* Checks that the classes are exactly those of the definition. */
static bool is_coarsest(const struct instance *in)
{
	struct naive *v = mem_zalloc(1, sizeof *v);
	bool good = true;
	naive_start(v, in);
	for (bool changed = true; changed;) {
		changed = recolour(v, v->link_colour, v->n_links, links_alike);
		changed |= recolour(v, v->flow_colour, v->n_flows, flows_alike);
	}
	for (uint32_t i = 0; i < in->n; i++)
		for (uint32_t k = 0; k < i; k++)
			good &= (v->flow_colour[i] == v->flow_colour[k]) == (quotient_class(in->q, i) == quotient_class(in->q, k));
	mem_free(v->flow_colour);
	mem_free(v->link_colour);
	mem_free(v->fresh);
	mem_free(v);
	return good;
}

/* Checks the number of classes: one for each way to place a flow of the pattern, counted by hand; 0: number unchecked. */
static void check(struct instance *in, uint32_t classes, bool is_small, const char *what)
{
	refine(in);
	uint32_t n = classes_of(in->q, in->n);
	ok(same_rates(in, UINT32_MAX), "%s: %u flows in %u classes have the rates of the whole network, 1e-9", what, in->n, n);
	ok(same_latency(in), "%s: classes have the latencies of their flows", what);
	ok(same_finish(in), "%s: classes end when their flows end on the flow solver, 1e-9", what);
	if (classes)
		ok(n == classes, "%s: %u classes, expected %u", what, n, classes);
	if (is_small)
		ok(is_coarsest(in), "%s: the classes are exactly those of the definition", what);
}

static void symmetric(void)
{
	struct instance *in = start("128x1", "fat-tree:k=8");
	for (uint32_t i = 0; i < 128; i++)
		add(in, i, (i + 32) % 128, 0, 0);
	check(in, 1, false, "fat tree, shift by two pods");
	finish(in);
	in = start("128x1", "fat-tree:k=8");
	for (uint32_t i = 0; i < 128; i++)
		add(in, i, (i + 1) % 128, 0, 0);
	check(in, 3, false, "fat tree, shift by one: within a switch, a pod, between pods");
	finish(in);
	in = start("24x1", "ring");
	for (uint32_t i = 0; i < 24; i++)
		add(in, i, (i + 3) % 24, 0, 0);
	check(in, 1, true, "ring, three links each");
	finish(in);
	in = start("12x1", "star");
	for (uint32_t i = 0; i < 12; i++)
		for (uint32_t k = 0; k < 12; k++)
			if (i != k)
				add(in, i, k, 0, 0);
	check(in, 1, false, "all-to-all on a star");
	finish(in);
	in = start("4x4", "leaf-spine:leaves=2,spines=2,nics=2");
	for (uint32_t i = 0; i < 16; i++)
		add(in, i, i / 4 * 4 + (i + 1) % 4, 0, 0);
	for (uint32_t i = 0; i < 16; i++)
		add(in, i, (i + 8) % 16, 1, 0);
	check(in, 0, true, "rings in the nodes and pairs of nodes at once");
	ok(same_rates(in, 1) && same_rates(in, 2), "whole colours can be active on their own");
	finish(in);
}

/* Tests random shifts. Under D-mod-k no link carries two flows of a shift, so the length of the route determines the class: at most
 * three classes. */
static void random_shifts(void)
{
	unsigned bad = 0, many = 0;
	struct rng r;
	rng_init(&r, 9, "shifts", 0);
	for (uint32_t round = 0; round < 12; round++) {
		struct instance *in = start("128x1", "fat-tree:k=8");
		uint32_t shift = 1 + (uint32_t)rng_below(&r, 127);
		for (uint32_t i = 0; i < 128; i++)
			add(in, i, (i + shift) % 128, 0, 0);
		refine(in);
		bad += !same_rates(in, 1) || !same_finish(in);
		many += classes_of(in->q, in->n) > 3;
		finish(in);
	}
	ok(!bad && !many, "random shifts on a fat tree of k=8: at most three classes, and the rates of the whole network");
}

/* Tests that an element that breaks the symmetry splits classes. */
static void asymmetric(void)
{
	struct instance *in = start("24x1", "ring");
	for (uint32_t i = 0; i < 24; i++)
		add(in, i, (i + 2) % 24, i == 5, 0);
	check(in, 24, true, "a ring with one flow of another colour: no two are equivalent");
	finish(in);
	in = start("16x1", "star");
	for (uint32_t i = 0; i < 16; i++)
		add(in, i, (i + 1) % 16, 0, 0);
	add(in, 3, 9, 0, 0);
	check(in, 0, true, "a ring on a star, and one more flow");
	finish(in);
	in = start("10x1,1x0", "racks:hosts=4,oversubscription=3");
	for (uint32_t i = 0; i < 10; i++)
		add(in, i, (i + 4) % 10, 0, 0);
	check(in, 0, true, "racks of 4, 4 and 2");
	finish(in);
}

static void at_random(void)
{
	static const char *const spec[] = { "star", "leaf-spine:leaves=4,spines=2,oversubscription=2", "fat-tree:k=4,routing=ecmp",
		"torus:dims=4x4", "star:nics=1,gpu_bw=5GBps", "fat-tree:k=4" };
	unsigned bad = 0, latency = 0, finer = 0, merged = 0, n = 0;
	struct rng r;
	rng_init(&r, 5, "quotient", 0);
	for (uint32_t round = 0; round < 60; round++) {
		struct instance *in = start(round % 6 == 4 ? "8x2" : "16x1", spec[round % 6]);
		uint32_t flows = 4 + (uint32_t)rng_below(&r, 40), shift = 1 + (uint32_t)rng_below(&r, 15);
		for (uint32_t i = 0; i < flows; i++) {
			bool is_odd = rng_below(&r, 12) == 0;
			uint32_t src = i % 16, dst = is_odd ? (uint32_t)rng_below(&r, 16) : (src + shift) % 16;
			add(in, src, dst, is_odd && rng_below(&r, 2), i);
		}
		refine(in);
		bad += !same_rates(in, 3) || !same_rates(in, 1);
		latency += !same_latency(in) || !same_finish(in);
		finer += !is_coarsest(in);
		merged += classes_of(in->q, in->n) < in->n;
		n++;
		finish(in);
	}
	ok(!bad && !latency, "%u random instances: rates, latencies and ends of the whole network, 1e-9", n);
	ok(!finer, "classes are those of the definition");
	ok(merged > 20, "%u of the random instances had merged flows", merged);
}

/* Tests 10,240 GPUs in a ring on a fat tree: the classes must take a negligible part of a run. */
static void large(void)
{
	struct topo *t = network("1280x8", "fat-tree:k=48,nics=8");
	clock_t begin = clock();
	struct quotient *q = quotient_new(t);
	for (uint32_t i = 0; i < 10240; i++)
		quotient_flow(q, i, (i + 8) % 10240, 0, 0);
	quotient_refine(q);
	double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	ok(classes_of(q, 10240) < 200, "10,240 flows of a ring on a fat tree: %u classes", classes_of(q, 10240));
	const char *sanitized = getenv("ORR_SANITIZED");
	if (sanitized && *sanitized == '1')
		skip("a sanitized build takes another time");
	else
		ok(seconds < 0.5, "in %.3f s", seconds);
	quotient_free(q);
	topo_free(t);
}

int main(void)
{
	symmetric();
	random_shifts();
	asymmetric();
	at_random();
	large();
	return done();
}
