/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans move the data that the operations require, and take the time of the closed forms on an idle network. */
#include "tests/net/coll_bytes.h"
#include "tests/net/flow_peek.h"
#include "tests/net/net_fill.h"
#include "tests/tap.h"

#include "base/mem.h"
#include "net/collective.h"

#include <stdlib.h>

static const enum orr_collective_op ops[] = { ORR_ALL_REDUCE, ORR_REDUCE_SCATTER, ORR_ALL_GATHER, ORR_BROADCAST, ORR_REDUCE,
	ORR_ALL_TO_ALL };
static const enum orr_collective_algorithm algorithms[] = { ORR_RING, ORR_HALVING_DOUBLING, ORR_DOUBLE_TREE, ORR_HIERARCHICAL, ORR_DIRECT };

static bool is_sanitized(void)
{
	const char *s = getenv("ORR_SANITIZED");
	return s && *s == '1';
}

/* ---- movement of data: a rank's copy of a piece is described by the ranks that have contributed to it ---- */

struct data {
	uint32_t n, pieces;
	uint64_t *has;  /* contributions by rank x piece, one bit each */
	uint64_t *next; /* state after the phase */
	bool is_twice;  /* a contribution was added twice, or a missing piece was sent */
};

static void data_start(struct data *d, const struct coll_shape *s, const struct coll_plan *plan)
{
	uint32_t pieces = plan->pieces;
	*d = (struct data){ .n = s->n, .pieces = pieces };
	d->has = mem_zalloc((size_t)s->n * pieces, sizeof *d->has);
	d->next = mem_zalloc((size_t)s->n * pieces, sizeof *d->next);
	for (uint32_t r = 0; r < s->n; r++)
		for (uint32_t p = 0; p < pieces; p++) {
			bool has = s->op == ORR_ALL_REDUCE || s->op == ORR_REDUCE_SCATTER || s->op == ORR_REDUCE;
			if (s->op == ORR_ALL_GATHER)
				has = coll_owner(s, plan, p) == r;
			if (s->op == ORR_BROADCAST)
				has = r == s->root;
			if (s->op == ORR_ALL_TO_ALL)
				has = p / s->n == r;
			d->has[(size_t)r * pieces + p] = has ? UINT64_C(1) << r : 0;
		}
}

static void data_send(struct data *d, const struct coll_plan *plan, const struct coll_send *s, uint32_t repetition)
{
	for (uint32_t i = 0; i < s->n_pieces; i++) {
		bool is_listed = s->n_pieces > 1 && !s->stride;
		uint64_t first = is_listed ? plan->list[s->piece + i] : s->piece + (uint64_t)i * s->stride;
		uint32_t p = (uint32_t)((first + (uint64_t)repetition * s->advance) % d->pieces);
		uint64_t what = d->has[(size_t)s->from * d->pieces + p], *to = &d->next[(size_t)s->to * d->pieces + p];
		d->is_twice |= !what || (s->adds && (what & *to));
		*to = s->adds ? *to | what : what;
	}
}

static void data_run(struct data *d, const struct coll_plan *plan)
{
	size_t size = (size_t)d->n * d->pieces * sizeof *d->has;
	for (uint32_t f = 0; f < plan->n_phases; f++)
		for (uint32_t r = 0; r < plan->phase[f].repeat; r++) {
			memcpy(d->next, d->has, size);
			for (uint32_t i = 0; i < plan->phase[f].count; i++)
				data_send(d, plan, &plan->send[plan->phase[f].first + i], r);
			memcpy(d->has, d->next, size);
		}
}

/* Returns the contributions that rank r must hold of piece p by the definition of the operation; 0: none required. */
static uint64_t wanted(const struct coll_shape *s, const struct coll_plan *plan, uint32_t r, uint32_t p)
{
	uint64_t all = s->n == 64 ? UINT64_MAX : (UINT64_C(1) << s->n) - 1;
	switch (s->op) {
	case ORR_ALL_REDUCE:
		return all;
	case ORR_REDUCE_SCATTER:
		return coll_owner(s, plan, p) == r ? all : 0;
	case ORR_ALL_GATHER:
		return UINT64_C(1) << coll_owner(s, plan, p);
	case ORR_BROADCAST:
		return UINT64_C(1) << s->root;
	case ORR_REDUCE:
		return r == s->root ? all : 0;
	default:
		return p % s->n == r ? UINT64_C(1) << p / s->n : 0;
	}
}

static bool moves_right(const struct coll_shape *s, const struct coll_plan *plan)
{
	struct data d;
	bool good = true;
	data_start(&d, s, plan);
	data_run(&d, plan);
	for (uint32_t r = 0; r < s->n; r++)
		for (uint32_t p = 0; p < plan->pieces; p++) {
			uint64_t want = wanted(s, plan, r, p);
			good &= !want || d.has[(size_t)r * plan->pieces + p] == want;
		}
	good &= !d.is_twice;
	mem_free(d.has);
	mem_free(d.next);
	return good;
}

/* Checks that the bytes of a send are those of its pieces. */
static bool bytes_add_up(const struct coll_shape *s, const struct coll_plan *plan)
{
	double piece = (s->op == ORR_ALL_TO_ALL ? s->n * s->bytes : s->bytes) / plan->pieces, *out = mem_zalloc(s->n, sizeof *out);
	double most = 0;
	bool good = true;
	for (uint32_t f = 0; f < plan->n_phases; f++)
		for (uint32_t i = 0; i < plan->phase[f].count; i++) {
			const struct coll_send *w = &plan->send[plan->phase[f].first + i];
			good &= w->from != w->to && w->from < s->n && w->to < s->n;
			good &= fabs(w->bytes - w->n_pieces * piece) <= 1e-9 * s->bytes;
			out[w->from] += w->bytes * plan->phase[f].repeat;
		}
	for (uint32_t r = 0; r < s->n; r++)
		most = fmax(most, out[r]);
	good &= fabs(most - coll_bytes_per_rank(s)) <= 1e-9 * s->bytes;
	mem_free(out);
	return good;
}

/* Returns the time of the plan, phase by phase, on a network of one-GPU nodes or islands, s. */
static double plan_s(const struct coll_plan *plan, const struct topo *t)
{
	struct fill f;
	double sum = 0;
	fill_from_topo(&f, t);
	for (uint32_t p = 0; p < plan->n_phases; p++) {
		for (uint32_t i = 0; i < plan->phase[p].count; i++) {
			const struct coll_send *w = &plan->send[plan->phase[p].first + i];
			uint32_t flow = fill_route(&f, t, w->from, w->to, 0, w->bytes);
			if (w->follows)
				f.flow[flow].latency = 0;
		}
		sum += plan->phase[p].repeat * fill_run(&f);
	}
	fill_free(&f);
	return sum;
}

/* Returns the time of the plan on the flow solver: a repetition starts when the last flow of the previous one has ended. */
static double plan_on_flownet_s(const struct coll_plan *plan, const struct topo *t)
{
	struct flownet *net = topo_flownet(t, FLOW_MAX_MIN);
	for (uint32_t p = 0; p < plan->n_phases; p++)
		for (uint32_t r = 0; r < plan->phase[p].repeat; r++) {
			for (uint32_t i = 0; i < plan->phase[p].count; i++) {
				const struct coll_send *w = &plan->send[plan->phase[p].first + i];
				struct flow_hop route[TOPO_MAX_HOPS];
				uint32_t hop[TOPO_MAX_HOPS], n = topo_route(t, w->from, w->to, 0, hop);
				for (uint32_t h = 0; h < n; h++)
					route[h] = (struct flow_hop){ hop[h], 1 };
				flownet_start(net, w->bytes, w->follows ? -topo_latency(t, w->from, w->to) : 0, route, n, i);
			}
			while (flownet_active(net) && !isinf(flownet_next(net))) {
				uint64_t tag;
				double finish;
				flownet_advance(net, flownet_next(net));
				while (flownet_pop(net, &tag, &finish))
					;
			}
		}
	double sum = flownet_now(net);
	flownet_free(net);
	return sum;
}

static struct topo *network(const char *cluster, const char *spec)
{
	struct orr_error err;
	struct cluster *c = cluster_load(cluster, &err);
	struct topo *t = c ? topo_load(c, spec, 1, &err) : NULL;
	if (!t)
		printf("# %s\n", err.text);
	cluster_free(c);
	return t;
}

struct tally {
	unsigned plans, bad_data, bad_bytes, bad_time;
};

static void try_shape(const struct coll_shape *s, const struct topo *t, double inner_lat, double inner_bw, struct tally *tally)
{
	struct coll_plan plan;
	struct orr_error err;
	if (coll_usable(s->op, s->algorithm, s->n) != s->algorithm || coll_plan(s, &plan, &err))
		return;
	tally->plans++;
	bool data = moves_right(s, &plan), bytes = bytes_add_up(s, &plan);
	double got = plan_s(&plan, t), want = coll_time_s(s, 10e-6, 1.25e9, inner_lat, inner_bw);
	bool time = fabs(got - want) <= 1e-9 * want;
	if (tally->plans % 7 == 0) {
		got = plan_on_flownet_s(&plan, t);
		time &= fabs(got - want) <= 1e-9 * want;
	}
	if (!data || !bytes || !time)
		printf("# %s %s n=%u inner=%u root=%u chunks=%u bytes=%g: data %d, bytes %d, %.12g s, closed form %.12g s\n",
			coll_op_name(s->op), coll_algorithm_name(s->algorithm), s->n, s->inner, s->root, s->chunks, s->bytes, data, bytes,
			got, want);
	tally->bad_data += !data;
	tally->bad_bytes += !bytes;
	tally->bad_time += !time;
	coll_plan_free(&plan);
}

static void report(const struct tally *t, const char *what)
{
	ok(t->plans && !t->bad_data, "%s: every rank ends with the required data, nothing is added twice (%u plans)", what, t->plans);
	ok(t->plans && !t->bad_bytes, "%s: messages are as large as their pieces, the busiest rank sends the expected bytes", what);
	ok(t->plans && !t->bad_time, "%s: the plan at flow level takes the time of the closed form, 1e-9", what);
}

/* Tests that plans on a star do what the operations require and take the time of the closed forms of docs/models/net.md. */
static void on_a_star(void)
{
	uint32_t most = is_sanitized() ? 9 : 20;
	for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
		struct tally tally = { 0 };
		if (algorithms[a] == ORR_HIERARCHICAL)
			continue;
		for (uint32_t n = 1; n <= most; n++) {
			char cluster[32];
			snprintf(cluster, sizeof cluster, "%ux1", n);
			struct topo *t = network(cluster, "star:bw=10Gbps,lat=5us");
			for (size_t o = 0; t && o < sizeof ops / sizeof *ops; o++)
				for (uint32_t chunks = 0; chunks<7; chunks += chunks> 2 ? 2 : 1) {
					struct coll_shape s = { .op = ops[o],
						.algorithm = algorithms[a],
						.n = n,
						.bytes = 1e6 * n + 7,
						.root = n / 3,
						.chunks = chunks };
					try_shape(&s, t, 0, 0, &tally);
				}
			topo_free(t);
		}
		report(&tally, coll_algorithm_name(algorithms[a]));
	}
}

/* Islands have 150 GB/s and 2 us inside, and a NIC of 1.25 GB/s per GPU. A message between islands has the bandwidth of the NICs and
 * a latency of 2 x 4 + 2 us. */
static void on_islands(void)
{
	static const uint32_t inner[] = { 1, 2, 3, 4, 8 };
	struct tally tally = { 0 }, leader = { 0 };
	for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
		for (uint32_t nodes = 1; nodes <= (is_sanitized() ? 3 : 6); nodes++) {
			char cluster[32], spec[96];
			snprintf(cluster, sizeof cluster, "%ux%u", nodes, inner[i]);
			snprintf(spec, sizeof spec, "star:bw=10Gbps,lat=4us,nics=%u,gpu_bw=150GBps,gpu_lat=2us", inner[i]);
			struct topo *t = network(cluster, spec);
			for (size_t o = 0; t && o < 3; o++) {
				struct coll_shape s = { .op = ops[o],
					.algorithm = ORR_HIERARCHICAL,
					.n = nodes * inner[i],
					.inner = inner[i],
					.bytes = 3e7 + (double)i };
				try_shape(&s, t, 2e-6, 150e9, &tally);
				s.leader = true;
				s.chunks = (uint32_t)i;
				if (!o)
					try_shape(&s, t, 2e-6, 150e9, &leader);
			}
			topo_free(t);
		}
	report(&tally, "hierarchical");
	report(&leader, "hierarchical, one leader per island");
}

/* Tests a ring for each NIC of a node, for all numbers of NICs that divide the GPUs, on the network above. */
static void on_several_nics(void)
{
	static const uint32_t inner[] = { 2, 3, 4, 6, 8 };
	struct tally tally = { 0 };
	for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
		for (uint32_t rings = 1; rings <= inner[i]; rings++)
			for (uint32_t nodes = 2; nodes <= (is_sanitized() ? 3 : 5); nodes++) {
				char cluster[32], spec[96];
				if (inner[i] % rings)
					continue;
				snprintf(cluster, sizeof cluster, "%ux%u", nodes, inner[i]);
				snprintf(spec, sizeof spec, "star:bw=10Gbps,lat=4us,nics=%u,gpu_bw=150GBps,gpu_lat=2us", rings);
				struct topo *t = network(cluster, spec);
				for (size_t o = 0; t && o < 3; o++) {
					struct coll_shape s = { .op = ops[o],
						.algorithm = ORR_MULTI_RING,
						.n = nodes * inner[i],
						.inner = inner[i],
						.rings = rings,
						.bytes = 3e7 + (double)i };
					try_shape(&s, t, 2e-6, 150e9, &tally);
				}
				topo_free(t);
			}
	report(&tally, "multi-ring");
}

/* Tests trees over nodes, one for each NIC: every rank ends with the sum. On two nodes whose inner links are free, each NIC sends and
 * receives its share of the bytes once, in the time of the closed form. */
static void trees_over_nodes(void)
{
	static const enum orr_collective_algorithm algorithm[] = { ORR_MULTI_TREE, ORR_NVLS_TREE };
	static const uint32_t inner[] = { 1, 2, 3, 4, 6, 8 };
	unsigned bad_data = 0, bad_bytes = 0, bad_time = 0, plans = 0;
	for (size_t a = 0; a < 2; a++)
		for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
			for (uint32_t rings = 1; rings <= inner[i]; rings++)
				for (uint32_t nodes = 1; nodes <= (is_sanitized() ? 3 : 6); nodes++) {
					struct coll_shape s = { .op = ORR_ALL_REDUCE,
						.algorithm = algorithm[a],
						.n = nodes * inner[i],
						.inner = inner[i],
						.rings = rings,
						.chunks = 1 + (rings + nodes) % 4,
						.bytes = 3e7 + (double)i };
					struct coll_plan plan;
					struct orr_error err;
					if (s.n < 2 || inner[i] % rings || coll_plan(&s, &plan, &err))
						continue;
					plans++;
					bad_data += !moves_right(&s, &plan);
					double sent = 0;
					for (uint32_t p = 0; p < plan.n_phases; p++)
						for (uint32_t j = 0; j < plan.phase[p].count; j++)
							sent += plan.send[plan.phase[p].first + j].bytes * plan.phase[p].repeat;
					bad_bytes += fabs(sent / (2. * (s.n - 1) * s.bytes) - 1) > 1e-12;
					bool is_nvls = algorithm[a] == ORR_NVLS_TREE;
					double bw = 25e9 * (is_nvls ? (double)rings / inner[i] : 1);
					double want = s.bytes / rings / 25e9, got = coll_time_s(&s, 0, bw, 0, 1e30);
					bad_time += nodes == 2 && fabs(got / want - 1) > 1e-12;
					coll_plan_free(&plan);
				}
	ok(plans && !bad_data, "trees over nodes: every rank ends with the required data, nothing is added twice (%u plans)", plans);
	ok(!bad_bytes, "trees over nodes: n - 1 edges of each tree carry its bytes up and down");
	ok(!bad_time, "trees over two nodes: closed form with free links inside");
}

/* Tests the bus bandwidth, 2 (n - 1) / n x bytes / time. Without latency it is the minimum of the bandwidth of a GPU's link and
 * the total NIC bandwidth of a node (closed form of NCCL's rings over all NICs, docs/models/net.md). */
static void bus_bandwidth(void)
{
	static const struct {
		double nic_Gbps, all_GBps, rings;
	} cases[] = { { 100, 12.5, 1 }, { 100, 50, 4 }, { 100, 100, 8 }, { 200, 200, 8 }, { 400, 232, 8 } };
	unsigned bad = 0, uneven = 0;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (uint32_t nodes = 2; nodes <= 4; nodes += 2) {
			char cluster[32], spec[96];
			uint32_t n = 8 * nodes, k = (uint32_t)cases[i].rings;
			snprintf(cluster, sizeof cluster, "%ux8", nodes);
			snprintf(spec, sizeof spec, "star:bw=%gGbps,lat=0us,nics=%u,gpu_bw=232GBps,gpu_lat=0us", cases[i].nic_Gbps, k);
			struct topo *t = network(cluster, spec);
			struct coll_shape s = {
				.op = ORR_ALL_REDUCE, .algorithm = ORR_MULTI_RING, .n = n, .inner = 8, .rings = k, .bytes = 8e9
			};
			struct coll_plan plan;
			struct orr_error err;
			double *out = mem_zalloc(t->n_links, sizeof *out);
			if (!coll_plan(&s, &plan, &err)) {
				double bus = 2. * (n - 1) / n * s.bytes / plan_s(&plan, t) / 1e9;
				bad += fabs(bus - cases[i].all_GBps) > 1e-9 * bus;
				for (uint32_t p = 0; p < plan.n_phases; p++)
					for (uint32_t j = 0; j < plan.phase[p].count; j++) {
						const struct coll_send *w = &plan.send[plan.phase[p].first + j];
						if (w->from / 8 != w->to / 8)
							out[topo_nic(t, w->from, true)] += w->bytes * plan.phase[p].repeat;
					}
				for (uint32_t e = 0; e < n; e++)
					uneven += fabs(out[topo_nic(t, e, true)] - 2. * (n - 1) / n * s.bytes / k) > 1e-6;
				coll_plan_free(&plan);
			}
			mem_free(out);
			topo_free(t);
		}
	ok(!bad, "rings over all NICs: bus bandwidth is the smaller of a GPU's link and the node's NICs, 1e-9");
	ok(!uneven, "rings over k NICs: each NIC sends 2 (n - 1) / n / k of the bytes");
}

/* Returns the number of chunks through the busiest NIC direction, summed over the rounds. */
static double count_loads(const struct coll_plan *plan, uint32_t n, double *rounds)
{
	uint32_t *in = mem_alloc(n * sizeof *in), *out = mem_alloc(n * sizeof *out);
	double loads = *rounds = 0;
	for (uint32_t f = 0; f < plan->n_phases; f++) {
		uint32_t most = 0;
		memset(in, 0, n * sizeof *in);
		memset(out, 0, n * sizeof *out);
		for (uint32_t i = 0; i < plan->phase[f].count; i++) {
			const struct coll_send *w = &plan->send[plan->phase[f].first + i];
			uint32_t a = ++out[w->from], b = ++in[w->to];
			most = a > most ? a : most;
			most = b > most ? b : most;
		}
		loads += (double)most * plan->phase[f].repeat;
		*rounds += plan->phase[f].repeat;
	}
	mem_free(in);
	mem_free(out);
	return loads;
}

/* Tests trees of all sizes by counts in the plan. With a = 1 and M / (2 k B) = 1, the closed form is rounds + loads. */
static void trees_of_all_sizes(void)
{
	unsigned bad = 0, plans = 0;
	for (uint32_t n = 2; n <= (is_sanitized() ? 40 : 150); n++)
		for (uint32_t chunks = 1; chunks<12; chunks += chunks> 3 ? 4 : 1)
			for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
				struct coll_shape s = { .op = ops[o],
					.algorithm = ORR_DOUBLE_TREE,
					.n = n,
					.bytes = 2.0 * chunks,
					.root = n / 2,
					.chunks = chunks };
				struct coll_plan plan;
				double rounds;
				if (coll_usable(ops[o], ORR_DOUBLE_TREE, n) != ORR_DOUBLE_TREE || coll_plan(&s, &plan, NULL))
					continue;
				double loads = count_loads(&plan, n, &rounds), got = coll_time_s(&s, 1, 1, 0, 0);
				bad += fabs(got - rounds - loads) > 1e-9;
				plans++;
				coll_plan_free(&plan);
			}
	ok(plans > 500 && !bad, "double trees of 2 to 150 ranks: rounds and loads match the plans (%u plans)", plans);
}

/* Tests a parameter server against Stanza's cost model and the flow solver. The cost is max(W, w / S W) / B for dedicated servers,
 * and W (N - 1) / N / B for co-located ones. */
/* A parameter server: each worker sends an equal share of its bytes to each server. */
struct ps_shape {
	uint32_t workers, servers;
	bool is_colocated; /* the servers run on the first workers; a worker keeps its share for its own server */
	double bytes;      /* all parameters */
};

/* Returns the time until all pushes have arrived on an idle network, s. */
static double ps_push_s(const struct ps_shape *p, double latency_s, double bandwidth_Bps)
{
	double w = p->workers, s = p->servers, share;
	if (p->is_colocated) /* the NIC of a server receives the shares of all other workers; a worker without a server sends at most as
				many bytes */
		share = (w - 1) / s;
	else
		share = fmax(1, w / s);
	if (!p->workers || share == 0)
		return 0;
	return latency_s + share * p->bytes / bandwidth_Bps;
}

static void parameter_servers(void)
{
	unsigned bad = 0;
	struct topo *t = network("12x1", "star:bw=10Gbps,lat=5us");
	for (uint32_t w = 1; t && w <= 8; w++)
		for (uint32_t servers = 1; servers <= 4; servers++)
			for (int colocated = 0; colocated < 2; colocated++) {
				struct ps_shape p = { .workers = w, .servers = servers, .is_colocated = colocated, .bytes = 5e8 };
				struct fill f;
				if (colocated && servers > w)
					continue;
				fill_from_topo(&f, t);
				for (uint32_t i = 0; i < w; i++)
					for (uint32_t j = 0; j < servers; j++)
						if (!colocated || i != j)
							fill_route(&f, t, i, colocated ? j : w + j, 0, p.bytes / servers);
				double want = fill_run(&f);
				bad += fabs(ps_push_s(&p, 1e-5, 1.25e9) - want) > 1e-9 * want;
				fill_free(&f);
			}
	ok(t && !bad, "parameter servers: pushes at flow level take the time of the closed form, 1e-9");
	struct ps_shape alone = { .workers = 8, .servers = 2, .bytes = 1.25e9 };
	near_to(ps_push_s(&alone, 0, 1.25e9), 4, 1e-12, "8 workers push 1.25 GB to 2 servers in 4 s at 10 Gbit/s");
	struct ps_shape all = { .workers = 8, .servers = 8, .is_colocated = true, .bytes = 1.25e9 };
	near_to(ps_push_s(&all, 0, 1.25e9), 7.0 / 8, 1e-12, "co-located on all 8: 7/8 s");
	topo_free(t);
}

/* Tests plans against values computed by hand. */
static void by_hand(void)
{
	struct coll_shape s = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .n = 4, .bytes = 4e9 };
	near_to(coll_time_s(&s, 0.25, 1e9, 0, 0), 7.5, 1e-12, "a ring of 4: 6 messages of 1 GB at 1 GB/s and 0.25 s each");
	s.algorithm = ORR_HALVING_DOUBLING;
	near_to(coll_time_s(&s, 0.25, 1e9, 0, 0), 7, 1e-12, "halving and doubling among 4: 2 x (2 latencies + 3 s)");
	s.n = 5;
	near_to(coll_time_s(&s, 0.25, 1e9, 0, 0), 7 + 8.5, 1e-12,
		"halving and doubling among 5: the fifth rank's buffer is sent and returned");
	s = (struct coll_shape){ .op = ORR_ALL_REDUCE, .algorithm = ORR_HIERARCHICAL, .n = 8, .inner = 4, .bytes = 8e9 };
	near_to(coll_time_s(&s, 0, 1e9, 0, 8e9), 2 * 0.75 + 2 * 1, 1e-12, "hierarchical, 2 islands of 4");
	s = (struct coll_shape){ .op = ORR_ALL_TO_ALL, .algorithm = ORR_DIRECT, .n = 5, .bytes = 5e9 };
	near_to(coll_time_s(&s, 0.25, 1e9, 0, 0), 4.25, 1e-12, "all-to-all among 5: 4/5 of the buffer leaves");
	s = (struct coll_shape){ .op = ORR_BROADCAST, .algorithm = ORR_RING, .n = 4, .bytes = 4e9, .chunks = 2 };
	near_to(coll_time_s(&s, 0, 1e9, 0, 0), 8, 1e-12, "a chain of 4 in 2 chunks: 4 rounds of 2 s");
	s.n = 1;
	near_to(coll_time_s(&s, 1, 1e9, 0, 0), 0, 0, "a single rank sends nothing");
}

static void refusals(void)
{
	struct {
		struct coll_shape s;
		const char *says;
	} bad[] = {
		{ { .op = ORR_REDUCE_SCATTER, .algorithm = ORR_HALVING_DOUBLING, .n = 6, .bytes = 1 }, "power of two" },
		{ { .op = ORR_ALL_REDUCE, .algorithm = ORR_HIERARCHICAL, .n = 6, .inner = 4, .bytes = 1 }, "divisor" },
		{ { .op = ORR_ALL_REDUCE, .algorithm = ORR_HIERARCHICAL, .n = 6, .bytes = 1 }, "divisor" },
		{ { .op = ORR_ALL_TO_ALL, .algorithm = ORR_DOUBLE_TREE, .n = 6, .bytes = 1 }, "double-tree" },
		{ { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .n = 0, .bytes = 1 }, "no ranks" },
		{ { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .n = 2, .bytes = -1 }, "bytes" },
		{ { .op = ORR_BROADCAST, .algorithm = ORR_RING, .n = 2, .root = 2, .bytes = 1 }, "root" },
		{ { .op = ORR_ALL_TO_ALL, .algorithm = ORR_DIRECT, .n = 10000, .bytes = 1 }, "messages" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct coll_plan plan;
		struct orr_error err = { 0 };
		int rc = coll_plan(&bad[i].s, &plan, &err);
		ok(rc == ORR_EINPUT && strstr(err.text, bad[i].says), "refused: %s", err.text);
		coll_plan_free(&plan);
	}
	enum orr_collective_algorithm a;
	struct coll_shape one = { .op = ORR_ALL_REDUCE, .algorithm = ORR_HIERARCHICAL, .n = 12, .inner = 3, .bytes = 1e6, .leader = true };
	struct coll_shape other = one;
	other.algorithm = ORR_HIERARCHICAL_LEADER;
	other.leader = false;
	struct coll_plan plans[2];
	bool same = coll_algorithm_named("hierarchical-leader", &a) && a == ORR_HIERARCHICAL_LEADER;
	same &= !coll_plan(&one, &plans[0], NULL) && !coll_plan(&other, &plans[1], NULL);
	same = same && plans[0].n_sends == plans[1].n_sends && plans[0].n_phases == plans[1].n_phases;
	same &= coll_time_s(&one, 1e-5, 1e9, 1e-6, 1e10) == coll_time_s(&other, 1e-5, 1e9, 1e-6, 1e10);
	ok(same && coll_bytes_per_rank(&one) == coll_bytes_per_rank(&other), "hierarchical-leader is hierarchical with a leader");
	coll_plan_free(&plans[0]);
	coll_plan_free(&plans[1]);
	ok(coll_algorithm_named("double-tree", &a) && a == ORR_DOUBLE_TREE && !coll_algorithm_named("tree", &a), "algorithms have names");
	ok(coll_usable(ORR_ALL_GATHER, ORR_DOUBLE_TREE, 8) == ORR_RING && coll_usable(ORR_ALL_TO_ALL, ORR_RING, 8) == ORR_RING &&
			coll_usable(ORR_ALL_TO_ALL, ORR_ALGORITHM_DEFAULT, 8) == ORR_DIRECT,
		"an unsupported algorithm has a replacement");
}

int main(void)
{
	by_hand();
	on_a_star();
	on_islands();
	on_several_nics();
	trees_over_nodes();
	bus_bandwidth();
	trees_of_all_sizes();
	parameter_servers();
	refusals();
	return done();
}
