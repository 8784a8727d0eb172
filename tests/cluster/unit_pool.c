/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Placement: examples of each rule computed by hand, and the pool's invariants under
 * random requests, releases, failures and repairs. The rules are those of placement.h and
 * docs/models/cluster.md#placement-rules; consolidate's are HeliosArtifact's, from its README in the oracles.
 */
#include "base/mem.h"
#include "base/sbuf.h"
#include "cluster/placement.h"
#include "base/rng.h"
#include "tests/tap.h"

#include <stdlib.h>

static const uint64_t any = UINT64_MAX;

/* Prints "node:gpus", and ".slot=milli" for a shared GPU, in order of pieces. */
static void print_alloc(const struct pool_alloc *a, struct sbuf *b)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct pool_piece *x = &pool_pieces(a)[i];
		sbuf_printf(b, "%s%u:%u", i ? "," : "", x->node, x->gpus);
		if (x->slot != POOL_WHOLE)
			sbuf_printf(b, ".%u=%u", x->slot, x->milli);
	}
}

/*
 * A script of steps, separated by blanks: "G" allocates G GPUs, "G/M" M thousandths of one, "G@t" GPUs of the types in mask t,
 * "G+C" GPUs with C milli-cores, "G%M" GPUs with M MiB of memory. "-K" releases the K-th allocation (from 0); "vN" and "^N"
 * take node N down and up. The result is the place of each allocation, "no" if there was no room.
 */
struct example {
	const char *placement, *cluster, *script, *want, *why;
};

static void run_example(const struct example *e)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load(e->cluster, &err);
	struct pool *p = pool_new(c, placement_find(e->placement));
	struct pool_alloc taken[32];
	const struct pool_alloc *held[32];
	struct sbuf got = { 0 };
	size_t n = 0;
	for (const char *s = e->script; *s;) {
		char *end;
		if (*s == 'v' || *s == '^') {
			(*s == 'v' ? pool_node_down : pool_node_up)(p, (uint32_t)strtoul(s + 1, &end, 10));
		} else if (*s == '-') {
			pool_give(p, &taken[strtoul(s + 1, &end, 10)]);
		} else {
			struct pool_request r = { .gpus = (uint32_t)strtoul(s, &end, 10), .gpu_milli = 1000, .types = any };
			if (*end == '/')
				r.gpu_milli = (uint32_t)strtoul(end + 1, &end, 10);
			if (*end == '@')
				r.types = strtoul(end + 1, &end, 10);
			if (*end == '+')
				r.cpu_milli = strtol(end + 1, &end, 10);
			if (*end == '%')
				r.mem_mib = strtol(end + 1, &end, 10);
			sbuf_puts(&got, got.len ? " " : "");
			taken[n] = (struct pool_alloc){ 0 };
			if (pool_take(p, &r, &taken[n]))
				print_alloc(&taken[n], &got);
			else
				sbuf_puts(&got, "no");
			n++;
		}
		s = end + (*end == ' ');
	}
	size_t k = 0;
	for (size_t i = 0; i < n; i++)
		if (taken[i].n)
			held[k++] = &taken[i];
	const char *wrong = pool_check(p, held, k);
	if (wrong)
		printf("# %s\n", wrong);
	if (strcmp(sbuf_text(&got), e->want))
		printf("# got  %s\n# want %s\n", sbuf_text(&got), e->want);
	ok(!wrong && !strcmp(sbuf_text(&got), e->want), "%s: %s", e->placement, e->why);
	for (size_t i = 0; i < n; i++)
		pool_give(p, &taken[i]);
	sbuf_free(&got);
	pool_free(p);
	cluster_free(c);
}

static const struct example examples[] = {
	{ "count", "3x4", "3 6 4", "0:3 0:1,1:4,2:1 no", "count: fills nodes in order, and jobs span nodes" },
	{ "count", "3x4", "3 6 -0 4", "0:3 0:1,1:4,2:1 0:3,2:1", "count: takes the lowest free nodes" },
	{ "count", "2x2:cpus=4", "1+6000 1+3000 1+2000", "0:1 no 0:1", "CPUs are counted for the whole cluster" },
	{ "count", "1x2:a,1x4:b", "3 1@2 2", "1:3 1:1 0:2", "count: the first type with enough GPUs" },
	{ "count", "1x2:a,1x2:b", "3 2@2 1@2", "no 1:2 no", "count: a job never spans types" },
	{ "count", "2x1", "1/300 1/800 1/600 1/100", "0:1.0=300 1:1.0=800 0:1.0=600 0:1.0=100",
		"shared GPUs: the first node that has one with room" },
	{ "count", "2x1", "1/500 1 1/600 -1 1/600", "0:1.0=500 1:1 no 1:1.0=600", "a shared GPU is no whole one" },
	{ "count", "2x2", "v0 3 2 ^0 2", "no 1:2 0:2", "nodes that are down are not used" },

	/* Helios: a job of at most 8 GPUs stays on one node, the one with the fewest free GPUs that fits (lowest id on ties). A job
	 * of a larger multiple of 8 takes whole empty nodes, lowest ids first. */
	{ "consolidate", "3x8", "5 4 3 4", "0:5 1:4 0:3 1:4", "the fewest free GPUs that still fit" },
	{ "consolidate", "3x8", "2 7 1", "0:2 1:7 1:1", "the fullest node, not the first" },
	{ "consolidate", "3x8", "1 7 1 7", "0:1 0:7 1:1 1:7", "fits exactly" },
	{ "consolidate", "2x8", "5 5 5", "0:5 1:5 no", "a job of at most one node is never split" },
	{ "consolidate", "4x8", "1 16", "0:1 1:8,2:8", "16: whole empty nodes, lowest first" },
	{ "consolidate", "3x8", "1 1 -0 8 8 16", "0:1 0:1 1:8 2:8 no", "16 wait where no two nodes are empty" },
	{ "consolidate", "4x8", "1 1 -0 12", "0:1 0:1 1:8,0:4", "12: a whole node, and the rest on the fullest with room" },
	{ "consolidate", "2x4:cpus=8", "1+7000 2+4000 1+1000", "0:1 1:2 1:1", "not on the fuller node, whose CPUs are taken" },
	{ "consolidate", "2x4:cpus=8", "4+16000 8+16000", "no 0:4,1:4", "CPUs go with the GPUs" },
	{ "consolidate", "2x4:mem=2", "1%1024 1%1024 1%1 1%2048", "0:1 0:1 1:1 no", "memory can be taken to the last MiB" },
	{ "consolidate", "2x1:mem=1", "0%512 0%512 0%1", "0:0 0:0 1:0", "memory of a job without GPUs" },
	{ "consolidate", "1x2:cpus=8,1x0:cpus=8", "0+1000 0+7000 0+1", "1:0 1:0 0:0", "jobs without GPUs: nodes without GPUs first" },
	{ "consolidate", "2x0:cpus=8", "0+2000 0+7000 0+3000 0+1000", "0:0 1:0 0:0 1:0",
		"jobs without GPUs: the node with the least CPU left" },
	{ "consolidate", "2x4:cpus=2", "1+1000 1+1000 1+1 1+2000", "0:1 0:1 1:1 no", "CPUs can be taken to the last thousandth" },
	{ "consolidate", "2x2", "1/600 1 1/300 1/300", "0:1.0=600 0:1 0:1.0=300 1:1.0=300", "the shared GPU with room, else a new one" },
	{ "consolidate", "1x3", "1/200 1/700 1/400 1/300 1/100", "0:1.0=200 0:1.0=700 0:1.1=400 0:1.1=300 0:1.0=100",
		"the shared GPU with the least room that suffices" },
	{ "consolidate", "2x4:a,2x2:b", "3 3 2@2", "0:3 1:3 2:2", "types in the order of the cluster" },

	{ "spread", "3x2", "3", "0:1,1:1,2:1", "spread: one GPU on each node" },
	{ "spread", "3x2", "4", "0:2,1:1,2:1", "spread: the fourth GPU on the lowest node" },
	{ "spread", "2x4", "1 1 1 5", "0:1 1:1 0:1 0:2,1:3", "spread: the node with the most free GPUs" },
	/* nodes 0 and 1 have 1 and 2 free GPUs; after one GPU of node 1 both have 1, and node 0 wins the tie */
	{ "spread", "2x2", "1 2", "0:1 0:1,1:1", "ties go to the lowest number, not to the node that was freest before" },
	{ "spread", "3x3", "1 1 3 4", "0:1 1:1 0:1,1:1,2:1 0:1,1:1,2:2", "spread: level by level" },
	{ "spread", "2x2:cpus=2", "2+4000", "0:1,1:1", "spread: each GPU takes its share of the CPUs" },
	{ "spread", "2x2", "1/500 1/500 2 1/500", "0:1.0=500 1:1.0=500 0:1,1:1 0:1.0=500", "a shared GPU is opened where most are free" },

	{ "best-fit", "2x4", "3 2 1 2", "0:3 1:2 0:1 1:2", "best-fit: the node with the least left over" },
	/* A job of 1 of 4 GPUs and 1 of 8 cores would leave 2/4 + 1/8 on node 0 and 3/4 + 7/8 on node 1. */
	{ "best-fit", "2x4:cpus=8", "1+6000 1+1000 1+2000", "0:1 0:1 1:1", "best-fit: GPUs and CPUs are summed" },
	/* The rule compares shares, not amounts: after 1 GPU, node 0 has 0/2 of its GPUs left and node 1 has 3/4. */
	{ "best-fit", "1x4:a,1x2:a", "1 1", "1:1 1:1", "best-fit: leftovers are shares of the node" },
	{ "best-fit", "3x4", "1 8", "0:1 1:4,2:4", "jobs wider than a node are placed as by consolidate" },
	{ "best-fit", "2x2", "1/500 1/500 1/600", "0:1.0=500 0:1.0=500 0:1.1=600", "shares" },

	{ "topology", "4x4:racks=2", "3 8 4", "0:3 2:4,3:4 1:4", "a job that fits in one rack is not spread over two" },
	{ "topology", "4x4:racks=2", "2 2 4 4", "0:2 0:2 1:4 2:4", "in the rack that it fills best" },
	{ "topology", "4x4:racks=2", "3 6", "0:3 2:4,3:2", "the rack where it can be consolidated" },
	/* No rack has 9 free GPUs. The job gets all 8 of the freest rack (number 1), then 1 of the freest node of the other rack. */
	{ "topology", "4x4:racks=2", "1 9", "0:1 2:4,3:4,1:1", "as few racks as possible, from the freest on" },
	{ "topology", "2x4:a:racks=2,2x4:b:racks=2", "3@2 5@2", "2:3 3:4,2:1", "from the freest rack of the type on" },
	{ "topology", "2x4:racks=2", "2 2 3 3", "0:2 0:2 1:3 no", "too many" },
	{ "topology", "2x4:racks=1", "3 3 2", "0:3 1:3 0:1,1:1", "split where no node has room" },

	{ "fgd", "2x4", "4 2 2", "0:4 1:2 1:2", "fgd without a mix: the first node with room" },
	{ "fgd", "3x4", "1 8", "0:1 1:4,2:4", "jobs wider than a node are placed as by consolidate" },
};

/*
 * Fragmentation gradient descent, by the definition (ATC 2023, section 3.2), in 1/1000 GPU. There are 2 nodes of 2 GPUs. The mix has
 * shape A (half a GPU) with share 0.6 and shape B (two GPUs) with share 0.4. The fragmentation F of a node is the mean, weighted by the
 * shares, of the free parts that each shape cannot use.
 *
 * Fragmentation of a node by its free parts: (1000, 1000) both shapes fit, F = 0. (500, 1000): A can use all, B none of 1500, F = 0.4 x
 * 1500 = 600. (0, 1000): F = 0.4 x 1000 = 400. (500, 500): F = 0.4 x 1000 = 400. (0, 500): F = 0.4 x 500 = 200.
 *
 * The first A grows F by 600 on either node; the tie goes to node 0, with a new GPU. The second A has three choices: the same GPU of
 * node 0 (400 - 600 = -200), its other GPU (-200), node 1 (+600). The first best choice tried is the shared GPU. B finds no room on
 * node 0, which has one whole GPU; on node 1, F stays 0. The third A goes to node 0, from (0, 1000) to (0, 500): 200 - 400 = -200.
 *
 * If A needs 0.7 of a GPU: with (300, 1000) A cannot use 300 and B cannot use 1300, F = 0.6 x 300 + 0.4 x 1300 = 700. A second A on
 * node 0 leaves (300, 300), which neither shape can use: F = 600, a growth of -100. On node 1 the growth is 700. So A takes the other
 * GPU of node 0.
 *
 * The last case has nodes of 4 and 2 GPUs. The mix has half a GPU (0.3), two GPUs (0.3) and four GPUs (0.4). Node 1 cannot hold four
 * GPUs: F = 0.4 x 2000 = 800; node 0 has F = 0. Two GPUs on node 0 would leave 2000 that cannot hold four, a growth of 800; on node 1
 * the growth is -800. Then half a GPU goes to node 0.
 */
static void fgd_by_hand(const char *cluster, const struct pool_mix *mix, const int *steps, const char *want)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load(cluster, &err);
	struct pool *p = pool_new(c, placement_find("fgd"));
	struct pool_alloc taken[8] = { { 0 } };
	struct sbuf got = { 0 };
	pool_set_mix(p, mix);
	for (int i = 0; steps[i] >= 0; i++) {
		sbuf_puts(&got, i ? " " : "");
		if (pool_take(p, &mix->shape[steps[i]], &taken[i]))
			print_alloc(&taken[i], &got);
		else
			sbuf_puts(&got, "no");
	}
	same_text(sbuf_text(&got), want, "fgd: by the definition");
	for (int i = 0; i < 8; i++)
		pool_give(p, &taken[i]);
	sbuf_free(&got);
	pool_free(p);
	cluster_free(c);
}

static void fgd_examples(void)
{
	struct pool_request shape[] = { { .gpus = 1, .gpu_milli = 500, .types = 1 }, { .gpus = 2, .gpu_milli = 1000, .types = 1 },
		{ .gpus = 4, .gpu_milli = 1000, .types = 1 } };
	double two[] = { 0.6, 0.4 }, three[] = { 0.3, 0.3, 0.4 };
	struct pool_mix mix = { shape, two, 2 }, wide = { shape, three, 3 };
	fgd_by_hand("2x2", &mix, (const int[]){ 0, 0, 1, 0, -1 }, "0:1.0=500 0:1.0=500 1:2 0:1.1=500");
	fgd_by_hand("1x4,1x2", &wide, (const int[]){ 1, 0, -1 }, "1:2 0:1.0=500");
	fgd_by_hand("1x4,1x2", &wide, (const int[]){ 0, 2, -1 }, "1:1.0=500 0:4");
	shape[0].gpu_milli = 700;
	fgd_by_hand("2x2", &mix, (const int[]){ 0, 0, 1, 0, -1 }, "0:1.0=700 0:1.1=700 1:2 no");
}

/* ---- pool_take_at ---- */

static void chosen_places(void)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load("2x2:a:cpus=4,1x2:b,1x0:cpus=4", &err);
	struct pool *p = pool_new(c, placement_find("consolidate"));
	static const uint32_t node[] = { 0, 1 }, across[] = { 1, 2 }, one[] = { 1, 1 }, twice[] = { 1, 1 }, none[] = { 0, 0 };
	static const uint32_t cpus[] = { 3, 0 };
	struct pool_request r = { .gpus = 2, .gpu_milli = 1000, .cpu_milli = 6000, .types = any }, part = r, bare = r;
	struct pool_alloc a = { 0 }, b = { 0 };
	part.gpus = 1;
	part.gpu_milli = 500;
	bare.gpus = 0;
	bare.cpu_milli = 1000;
	ok(!pool_take_at(p, &r, node, one, 2, &a), "two nodes, one GPU of each");
	ok(p->node[0].cpu_free == 1000 && p->node[1].cpu_free == 1000 && p->node[0].free_gpus == 1,
		"pool_take_at: each node gives half of the CPUs");
	same_text(pool_take_at(p, &r, node, one, 2, &b),
		"over-allocation: the CPUs or memory that the job needs are in use: expected free ones", "pool_take_at: no CPUs are left");
	r.cpu_milli = 0;
	same_text(pool_take_at(p, &r, across, one, 2, &b), "a job cannot span types of GPU: expected GPUs of one type", "two types");
	same_text(pool_take_at(p, &r, twice, one, 2, &b), "a node is named twice: expected each node once",
		"pool_take_at: a node named twice is refused");
	same_text(pool_take_at(p, &r, node, none, 2, &b), "zero GPUs of a node were requested: expected at least 1",
		"pool_take_at: zero GPUs of a node are refused");
	same_text(pool_take_at(p, &r, node, one, 1, &b), "the sum of the given GPUs differs from the job's request: expected equal numbers",
		"too few");
	same_text(pool_take_at(p, &r, node, one, 0, &b), "the sum of the given GPUs differs from the job's request: expected equal numbers",
		"no node");
	r.types = 2;
	same_text(pool_take_at(p, &r, node, one, 2, &b), "the job may not run on that type of GPU: expected a type that the job allows",
		"pool_take_at: a type that the job excludes is refused");
	ok(pool_take_at(p, &part, node, one, 1, &b) != NULL, "a part of a GPU is not placed by hand");
	ok(pool_take_at(p, &bare, cpus, none, 2, &b) != NULL, "a job without GPUs runs on one node");
	ok(!pool_take_at(p, &bare, cpus, none, 1, &b) && p->node[3].cpu_free == 3000, "a job without GPUs is placed on the given node");
	pool_give(p, &a);
	pool_give(p, &b);
	ok(!pool_check(p, NULL, 0) && p->node[3].cpu_free == 4000 && p->free_gpus == 6, "all resources are released");
	pool_free(p);
	cluster_free(c);
}

/* ---- random operations ---- */

enum { HELD = 60 };

static struct rng rng;

static int64_t below(uint64_t n)
{
	return (int64_t)rng_below(&rng, n);
}

static struct pool_request draw_request(void)
{
	struct pool_request r = { .gpus = (uint32_t)below(7), .gpu_milli = 1000, .types = any };
	if (!below(8))
		r.gpus = 12;
	if (r.gpus == 1 && below(3))
		r.gpu_milli = 1 + (uint32_t)below(999);
	if (!below(2))
		r.types = 1 + rng_below(&rng, 7);
	if (!below(2))
		r.cpu_milli = below(6000);
	if (!below(2))
		r.mem_mib = below(20000);
	return r;
}

static const char *check(const struct pool *p, struct pool_alloc *a)
{
	const struct pool_alloc *held[HELD];
	size_t n = 0;
	for (int i = 0; i < HELD; i++)
		if (a[i].n)
			held[n++] = &a[i];
	return pool_check(p, held, n);
}

/* Returns whether the allocation matches the request, on allowed types. */
static const char *check_given(const struct pool *p, const struct pool_request *r, const struct pool_alloc *a)
{
	uint32_t gpus = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct pool_piece *x = &pool_pieces(a)[i];
		gpus += x->gpus;
		if (x->gpus && (p->cluster->node[x->node].type != a->type || !(r->types >> a->type & 1)))
			return "GPUs of a type that was not asked for";
		if (!p->node[x->node].is_up)
			return "a node that is down";
		for (uint32_t k = 0; k < i; k++)
			if (pool_pieces(a)[k].node == x->node)
				return "two pieces on one node";
	}
	return gpus == r->gpus ? NULL : "more or fewer GPUs than asked for";
}

/* Ends the jobs on a failing node. */
static void fail(struct pool *p, struct pool_alloc *a, uint32_t node)
{
	for (int i = 0; i < HELD; i++)
		for (uint32_t k = 0; k < a[i].n; k++)
			if (pool_pieces(&a[i])[k].node == node) {
				pool_give(p, &a[i]);
				break;
			}
	pool_node_down(p, node);
}

static const char *one_step(struct pool *p, struct pool_alloc *a)
{
	int i = (int)below(HELD);
	uint32_t node = (uint32_t)below(p->cluster->n_nodes);
	if (!below(20)) {
		if (p->node[node].is_up)
			fail(p, a, node);
		else
			pool_node_up(p, node);
		return NULL;
	}
	if (a[i].n) {
		pool_give(p, &a[i]);
		return NULL;
	}
	struct pool_request r = draw_request();
	bool fits = pool_fits(p, &r);
	int64_t used = p->used_milli;
	if (pool_take(p, &r, &a[i]) != fits)
		return "pool_fits() and pool_take() differ";
	if (!fits)
		return used == p->used_milli ? NULL : "a refused request changed the pool";
	if (p->used_milli != used + (int64_t)r.gpus * r.gpu_milli)
		return "took more or less than was asked for";
	return check_given(p, &r, &a[i]);
}

/* Releases all allocations, and checks that the empty, repaired cluster is as free as at the start. */
static const char *give_all(struct pool *p, struct pool_alloc *a)
{
	for (int i = 0; i < HELD; i++)
		pool_give(p, &a[i]);
	for (uint32_t n = 0; n < p->cluster->n_nodes; n++)
		pool_node_up(p, n);
	for (uint32_t n = 0; n < p->cluster->n_nodes; n++)
		if (p->node[n].free_gpus != p->cluster->node[n].gpus || p->node[n].open)
			return "not all GPUs are free at the end";
	return p->free_gpus == p->cluster->gpus && !p->used_milli ? check(p, a) : "the totals differ from those at the start";
}

static void at_random(const struct placement *pl, const char *spec, int steps)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load(spec, &err);
	struct pool *p = pool_new(c, pl);
	struct pool_alloc a[HELD] = { { 0 } };
	const char *wrong = NULL;
	int done_steps = 0;
	rng_init(&rng, 1, pl->name, strlen(spec));
	struct pool_request shape[6];
	double share[6] = { 0.3, 0.2, 0.2, 0.1, 0.1, 0.1 };
	for (int i = 0; i < 6; i++)
		shape[i] = draw_request();
	pool_set_mix(p, &(struct pool_mix){ shape, share, 6 });
	while (done_steps < steps && !wrong) {
		wrong = one_step(p, a);
		if (!wrong)
			wrong = check(p, a);
		done_steps++;
	}
	if (!wrong)
		wrong = give_all(p, a);
	ok(!wrong, "%s on %s: %d steps%s%s", pl->name, spec, done_steps, wrong ? ": " : "", wrong ? wrong : "");
	for (int i = 0; i < HELD; i++)
		pool_give(p, &a[i]);
	pool_free(p);
	cluster_free(c);
}

int main(void)
{
	int steps = getenv("ORR_SANITIZED") ? 5000 : 30000;
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
		run_example(&examples[i]);
	fgd_examples();
	chosen_places();
	for (size_t k = 0; placements[k]; k++) {
		at_random(placements[k], "6x4:racks=3", steps);
		at_random(placements[k], "3x4:a:cpus=16:mem=32,2x6:b:cpus=9,1x1:c,2x0:cpus=8:mem=8", steps);
	}
	return done();
}
