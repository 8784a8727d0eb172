/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks of switches: star, racks, leaf and spine, fat tree. Sources: topology.h. */
#include "net/topology_shape.h"

#include "base/mem.h"

int shape_star(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err)
{
	(void)c, (void)a, (void)where, (void)err;
	t->shape->n_switches = 1;
	for (uint32_t p = 0; p < t->shape->n_ports; p++)
		shape_nic(t, p, shape_switch(t, 0));
	return ORR_OK;
}

/* Makes a two-level tree: a rack's uplink has the bandwidth of its NICs divided by the oversubscription. */
int shape_racks(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err)
{
	(void)where, (void)err;
	struct topo_shape *s = t->shape;
	uint32_t hosts = (uint32_t)orr_arg_int(a, "hosts");
	uint32_t racks = hosts ? (c->n_nodes + hosts - 1) / hosts : c->n_racks;
	double over = orr_arg_real(a, "oversubscription");
	uint32_t *ports = mem_zalloc(racks, sizeof *ports);
	s->fabric.rack = mem_alloc(s->n_ports * sizeof *s->fabric.rack);
	s->n_switches = racks + 1; /* the last switch is the core */
	for (uint32_t p = 0; p < s->n_ports; p++) {
		uint32_t node = p / s->nics, rack = hosts ? node / hosts : c->node[node].rack;
		s->fabric.rack[p] = rack;
		ports[rack]++;
		shape_nic(t, p, shape_switch(t, rack));
	}
	s->fabric.first = t->n_links;
	for (uint32_t r = 0; r < racks; r++) {
		double capacity = ports[r] * s->bw / over;
		shape_link(t, capacity, s->switch_lat, shape_switch(t, r), shape_switch(t, racks), "rack%u.up", r);
		shape_link(t, capacity, s->switch_lat, shape_switch(t, racks), shape_switch(t, r), "rack%u.down", r);
	}
	mem_free(ports);
	return ORR_OK;
}

/* Returns the leaf of a NIC: with rails, NIC i of every node is at leaf i. */
static uint32_t leaf_of(const struct topo *t, uint32_t port)
{
	const struct topo_fabric *f = &t->shape->fabric;
	return f->has_rails ? port % t->shape->nics : port / f->per_leaf;
}

int shape_leaf_spine(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err)
{
	struct topo_shape *s = t->shape;
	struct topo_fabric *f = &s->fabric;
	f->leaves = (uint32_t)orr_arg_int(a, "leaves");
	f->spines = (uint32_t)orr_arg_int(a, "spines");
	f->per_leaf = (uint32_t)orr_arg_int(a, "ports");
	f->has_rails = orr_arg_bool(a, "rails");
	if (f->has_rails && ((f->leaves && f->leaves != s->nics) || f->per_leaf))
		return orr_fail(err, ORR_EINPUT,
			"%s: rails: expected neither the option \"leaves\" nor \"ports\", because rails have as many leaves as a node has "
			"NICs (%u)",
			where, s->nics);
	if (f->has_rails)
		f->leaves = s->nics;
	if (!f->leaves)
		f->leaves = f->per_leaf ? (s->n_ports + f->per_leaf - 1) / f->per_leaf : c->n_racks;
	if (!f->per_leaf)
		f->per_leaf = (s->n_ports + f->leaves - 1) / f->leaves;
	if ((uint64_t)f->leaves * f->per_leaf < s->n_ports)
		return orr_fail(err, ORR_EINPUT, "%s: leaves, ports: %u leaves of %u ports: expected room for %u NICs", where, f->leaves,
			f->per_leaf, s->n_ports);
	if ((uint64_t)f->leaves * f->spines > TOPO_MAX_LINKS / 4)
		return orr_fail(err, ORR_EINPUT, "%s: leaves, spines: %u x %u cables: expected at most %d", where, f->leaves, f->spines,
			TOPO_MAX_LINKS / 4);
	double capacity = f->per_leaf * s->bw / f->spines / orr_arg_real(a, "oversubscription");
	s->n_switches = f->leaves + f->spines;
	for (uint32_t p = 0; p < s->n_ports; p++)
		shape_nic(t, p, shape_switch(t, leaf_of(t, p)));
	f->first = t->n_links;
	for (uint32_t l = 0; l < f->leaves; l++)
		for (uint32_t i = 0; i < f->spines; i++) {
			uint32_t leaf = shape_switch(t, l), spine = shape_switch(t, f->leaves + i);
			shape_link(t, capacity, s->switch_lat, leaf, spine, "leaf%u-spine%u", l, i);
			shape_link(t, capacity, s->switch_lat, spine, leaf, "spine%u-leaf%u", i, l);
		}
	return ORR_OK;
}

/* Adds the switches: edges of all pods, then aggregations, then cores. Omits pods without hosts, because no route leads to them. */
static void fat_tree_links(struct topo *t, uint32_t pods)
{
	struct topo_shape *s = t->shape;
	struct topo_fabric *f = &s->fabric;
	uint32_t h = f->half;
	f->first = t->n_links;
	for (uint32_t e = 0; e < pods * h; e++)
		for (uint32_t a = 0; a < h; a++) {
			uint32_t agg = e / h * h + a, edge_v = shape_switch(t, e), agg_v = shape_switch(t, pods * h + agg);
			shape_link(t, s->bw, s->switch_lat, edge_v, agg_v, "edge%u-agg%u", e, agg);
			shape_link(t, s->bw, s->switch_lat, agg_v, edge_v, "agg%u-edge%u", agg, e);
		}
	f->second = t->n_links;
	for (uint32_t g = 0; g < pods * h; g++)
		for (uint32_t i = 0; i < h; i++) {
			uint32_t core = g % h * h + i, agg_v = shape_switch(t, pods * h + g);
			uint32_t core_v = shape_switch(t, 2 * pods * h + core);
			shape_link(t, s->bw, s->switch_lat, agg_v, core_v, "agg%u-core%u", g, core);
			shape_link(t, s->bw, s->switch_lat, core_v, agg_v, "core%u-agg%u", core, g);
		}
}

int shape_fat_tree(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err)
{
	(void)c;
	struct topo_shape *s = t->shape;
	uint32_t k = (uint32_t)orr_arg_int(a, "k"), h = k / 2;
	if (!k) /* the smallest k with enough ports for the hosts */
		for (k = 2, h = 1; (uint64_t)k * h * h < s->n_ports; h++, k += 2)
			;
	if (k % 2)
		return orr_fail(err, ORR_EINPUT, "%s: k: expected an even number of ports per switch, found %u", where, k);
	if ((uint64_t)k * h * h < s->n_ports)
		return orr_fail(err, ORR_EINPUT, "%s: k: a fat tree of k=%u has %llu ports: expected at least %u, the number of NICs",
			where, k, (unsigned long long)k * h * h, s->n_ports);
	uint32_t pods = (s->n_ports + h * h - 1) / (h * h);
	if ((uint64_t)pods * h * h * 4 > TOPO_MAX_LINKS)
		return orr_fail(err, ORR_EINPUT, "%s: k: %u pods of k=%u: expected at most %d links between switches", where, pods, k,
			TOPO_MAX_LINKS);
	s->fabric.half = h;
	s->n_switches = 2 * pods * h + h * h;
	for (uint32_t p = 0; p < s->n_ports; p++)
		shape_nic(t, p, shape_switch(t, p / h));
	fat_tree_links(t, pods);
	return ORR_OK;
}

uint32_t shape_up(const struct topo *t, uint32_t port, uint32_t out[2])
{
	const struct topo_shape *s = t->shape;
	const struct topo_fabric *f = &s->fabric;
	if (s->kind == KIND_RACKS) {
		out[0] = f->first + 2 * f->rack[port];
		return 1;
	}
	if (s->kind == KIND_LEAF_SPINE) {
		/* Without oversubscription the uplinks carry what the NICs send. Unequal numbers of NICs per spine are then left out,
		 * because they would split classes of equal flows (quotient.h). */
		if (f->per_leaf % f->spines && t->link[f->first].flow.capacity_Bps * f->spines >= f->per_leaf * s->bw * (1 - 1e-9))
			return 0;
		out[0] = f->first + 2 * (leaf_of(t, port) * f->spines + (f->has_rails ? port / s->nics : port) % f->spines);
		return 1;
	}
	if (s->kind != KIND_FAT_TREE)
		return 0;
	uint32_t h = f->half, edge = port / h, up = port % h;
	out[0] = f->first + 2 * (edge * h + up);
	out[1] = f->second + 2 * ((edge / h * h + up) * h + edge % h);
	return 2;
}

int shape_full_mesh(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err)
{
	(void)a;
	uint32_t n = c->n_nodes;
	if ((uint64_t)n * (n - 1) > TOPO_MAX_LINKS)
		return orr_fail(err, ORR_EINPUT, "%s: %u nodes: expected at most 2048, because each pair of nodes has a link", where, n);
	t->shape->fabric.first = t->n_links;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			if (i != j)
				shape_link(t, t->shape->bw, t->shape->lat, shape_port(t, i), shape_port(t, j), "host%u-host%u", i, j);
	return ORR_OK;
}

static uint32_t route_racks(const struct topo *t, uint32_t s, uint32_t d, uint32_t *out)
{
	const struct topo_fabric *f = &t->shape->fabric;
	if (f->rack[s] == f->rack[d])
		return 0;
	out[0] = f->first + 2 * f->rack[s];
	out[1] = f->first + 2 * f->rack[d] + 1;
	return 2;
}

static uint32_t route_leaf_spine(const struct topo *t, uint32_t s, uint32_t d, uint64_t h, uint32_t *out)
{
	const struct topo_fabric *f = &t->shape->fabric;
	uint32_t from = leaf_of(t, s), to = leaf_of(t, d);
	/* With rails, the numbers of a leaf's NICs differ by multiples of nics. */
	uint32_t place = f->has_rails ? d / t->shape->nics : d, spine = (uint32_t)((t->routing == TOPO_ECMP ? h : place) % f->spines);
	if (from == to)
		return 0;
	out[0] = f->first + 2 * (from * f->spines + spine);
	out[1] = f->first + 2 * (to * f->spines + spine) + 1;
	return 2;
}

/* Routes by D-mod-k (Zahavi 2010, with w = 1, k/2, k/2): upwards, the port at level l is d / (product of the ports below) mod the
 * number of ports of the level. */
static uint32_t route_fat_tree(const struct topo *t, uint32_t s, uint32_t d, uint64_t h, uint32_t *out)
{
	const struct topo_fabric *f = &t->shape->fabric;
	uint32_t half = f->half, n = 0;
	uint32_t edge_s = s / half, edge_d = d / half, pod_s = edge_s / half, pod_d = edge_d / half;
	uint64_t choice = t->routing == TOPO_ECMP ? h : d;
	uint32_t agg = (uint32_t)(choice % half), core = (uint32_t)(choice / half % half);
	if (edge_s == edge_d)
		return 0;
	out[n++] = f->first + 2 * (edge_s * half + agg);
	if (pod_s != pod_d) {
		out[n++] = f->second + 2 * ((pod_s * half + agg) * half + core);
		out[n++] = f->second + 2 * ((pod_d * half + agg) * half + core) + 1;
	}
	out[n++] = f->first + 2 * (edge_d * half + agg) + 1;
	return n;
}

uint32_t shape_route(const struct topo *t, uint32_t s, uint32_t d, uint64_t h, uint32_t *out)
{
	const struct topo_shape *sh = t->shape;
	uint32_t n = 0;
	if (sh->kind == KIND_JSON)
		return graph_route(t, s, d, h, out);
	if (sh->kind == KIND_TORUS || sh->kind == KIND_RING)
		return shape_route_torus(t, s, d, out);
	if (sh->kind == KIND_FULL_MESH) {
		out[0] = sh->fabric.first + s * (t->n_nodes - 1) + d - (d > s);
		return 1;
	}
	out[n++] = sh->up[s];
	if (sh->kind == KIND_RACKS)
		n += route_racks(t, s, d, out + n);
	else if (sh->kind == KIND_LEAF_SPINE)
		n += route_leaf_spine(t, s, d, h, out + n);
	else if (sh->kind == KIND_FAT_TREE)
		n += route_fat_tree(t, s, d, h, out + n);
	out[n++] = sh->down[d];
	return n;
}
