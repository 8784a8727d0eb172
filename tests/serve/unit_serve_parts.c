/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of the serving world, each tested alone: the prefix cache against a plain list, accuracies by received answers, and the times of
 * messages within a replica on several nodes.
 */
#include "serve/group.h"
#include "serve/lane.h"
#include "serve/quality.h"

#include "base/rng.h"
#include "cluster/cluster.h"
#include "hwmodel/device.h"
#include "hwmodel/dnn.h"
#include "net/topology.h"

#include "tests/tap.h"

#include <stdlib.h>

/* ---- the prefix cache ---- */

/* The same cache as a list: entries in the order of addition, and the order in which they lost their last user. */
enum { HASHES = 300 };
struct listed {
	bool is_there[HASHES];
	uint32_t users[HASHES];
	uint64_t left_at[HASHES];
};

static uint32_t oldest_unused(const struct listed *l)
{
	uint32_t best = HASHES;
	for (uint32_t h = 0; h < HASHES; h++)
		if (l->is_there[h] && !l->users[h] && (best == HASHES || l->left_at[h] < l->left_at[best]))
			best = h;
	return best;
}

static bool agrees(const struct prefix *p, const struct listed *l)
{
	uint32_t used = 0, unused = 0, run = 0;
	uint64_t all[HASHES];
	for (uint32_t h = 0; h < HASHES; h++) {
		uint32_t entry = prefix_find(p, h);
		if ((entry != PREFIX_NONE) != l->is_there[h])
			return false;
		if (entry != PREFIX_NONE && prefix_is_used(p, entry) != (l->users[h] > 0))
			return false;
		used += l->is_there[h] && l->users[h];
		unused += l->is_there[h] && !l->users[h];
		all[h] = h;
	}
	while (run < HASHES && l->is_there[run])
		run++;
	return prefix_used(p) == used && prefix_unused(p) == unused && prefix_run(p, all, HASHES) == run &&
	       prefix_run(p, all, run / 2) == run / 2;
}

/* One step with the hash: adds it, or adds or removes a user of it. Returns whether the answer is that of the list. */
static bool step(struct prefix *p, struct listed *l, uint32_t h, bool leaves, uint64_t now)
{
	uint32_t entry = prefix_find(p, h);
	if (!l->is_there[h]) {
		prefix_add(p, h, h ? prefix_find(p, h - 1) : PREFIX_NONE);
		l->is_there[h] = true;
		l->users[h] = 1;
		return true;
	}
	if (!leaves || !l->users[h])
		return prefix_use(p, entry) == (l->users[h]++ == 0);
	if (--l->users[h] == 0)
		l->left_at[h] = now;
	return prefix_leave(p, entry) == (l->users[h] == 0);
}

static void check_prefix(void)
{
	struct prefix *p = prefix_new();
	struct listed l = { 0 };
	struct rng rng;
	bool same = agrees(p, &l), same_answers = true;
	uint32_t drops = 0, n = 0;
	rng_init(&rng, 7, "prefix", 0);
	for (uint32_t k = 0; k < 20000; k++) {
		same_answers &= step(p, &l, (uint32_t)rng_below(&rng, HASHES), rng_below(&rng, 3) > 0, k);
		uint32_t oldest = oldest_unused(&l);
		if (oldest < HASHES && rng_below(&rng, 4) == 0) {
			uint32_t entry;
			prefix_drop(p, &entry);
			l.is_there[oldest] = false;
			drops++;
		}
		if (k % 50 == 0)
			same &= agrees(p, &l);
	}
	for (uint32_t h = 0; h < HASHES; h++)
		n += l.is_there[h];
	ok(same_answers, "first and last users are the same as in a list");
	ok(same && agrees(p, &l), "20,000 steps: the cache holds what a list holds (%u of %d hashes, %u dropped)", n, HASHES, drops);
	prefix_free(p);
}

/* ---- accuracies ---- */

static double metric(const struct run_result *r, const char *name)
{
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}

/* Sets of three answers: none, 0, 1, 0+1, 2, 0+2, 1+2, all. */
static void check_quality(void)
{
	static const struct {
		const char *name;
		double value;
	} want[] = { { "accuracy_all", 0.93 }, { "accuracy_one_missing", (0.5 + 0.72 + 0.81) / 3 }, { "accuracy_one_missing_worst", 0.5 },
		{ "accuracy_first_1", 0.25 }, { "accuracy_first_2", 0.5 }, { "accuracy_first_3", 0.93 }, { "accuracy_alone_1", 0.25 },
		{ "accuracy_alone_2", 0.3125 }, { "accuracy_alone_3", 0.4375 }, { "accuracy_without_1", 0.81 },
		{ "accuracy_without_2", 0.72 }, { "accuracy_without_3", 0.5 }, { "accuracy_any_1", (0.25 + 0.3125 + 0.4375) / 3 },
		{ "accuracy_any_2", (0.5 + 0.72 + 0.81) / 3 }, { "accuracy_any_3", 0.93 } };
	static const double by_set[] = { 0.125, 0.25, 0.3125, 0.5, 0.4375, 0.72, 0.81, 0.93 };
	struct orr_error err = { 0 };
	struct run_result *r = result_new();
	struct quality *q = quality_new("0.125,0.25,0.3125,0.5,0.4375,0.72,0.81,0.93", &err);
	ok(q && quality_members(q) == 3, "eight accuracies are for three answers");
	quality_train(q);
	for (uint64_t set = 0; set < 8; set++)
		ok(quality_of(q, set) == by_set[set], "accuracy of set %d", (int)set);
	ok(isnan(quality_of(q, 8)) && isnan(quality_of(NULL, 0)), "no accuracy of a fourth answer, and none without a list");
	quality_metrics(q, 0.95, r);
	quality_metrics(NULL, 0.95, r);
	ok(r->n_metrics == sizeof want / sizeof *want, "%zu metrics", r->n_metrics);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		near_to(metric(r, want[i].name), want[i].value, 1e-15, want[i].name);
	quality_free(q);
	result_free(r);
	q = quality_new("0,1", &err);
	ok(q && quality_members(q) == 1 && quality_of(q, 0) == 0 && quality_of(q, 1) == 1, "accuracies of 0 and 1 are allowed");
	quality_free(q);
	static const char *const wrong[] = { "0.5", "0.1,0.2,0.3", "0.1,1.01", "-0.1,0.5", "0.1,x", "0.1,", ",0.1", "0.1,0.2,0.3,0.4,0.5" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		err = (struct orr_error){ 0 };
		q = quality_new(wrong[i], &err);
		ok(!q && strstr(err.text, "found \"") && strstr(err.text, wrong[i]), "\"%s\" is refused", wrong[i]);
	}
	err = (struct orr_error){ 0 };
	ok(!quality_new("", &err) && !err.code && !quality_members(NULL), "no text, no accuracies");
}

/* ---- messages within a replica ---- */

enum { TP = 2, PP = 3, BPS = 1250000000 };
static const double latency_s = 2 * 3e-6 + 0.5e-6; /* of a message: two links to the switch, and a link of the GPU at each end */

struct fixture {
	struct cluster *cluster;
	struct topo *topo;
	struct dnn *dnn;
	struct device *one;
	const struct device *device[CLUSTER_MAX_TYPES];
};

static struct group_net *group(const struct fixture *f, const uint32_t *node, const uint32_t *index)
{
	struct orr_error err = { 0 };
	struct group_place p = {
		.cluster = f->cluster, .topo = f->topo, .dnn = f->dnn, .device = f->device, .tp = TP, .pp = PP, .node = node, .index = index
	};
	struct group_net *g = group_net_at(&p, &err);
	if (err.code)
		printf("# %s\n", err.text);
	return g;
}

enum { REDUCE, GATHER, HOP };
static double ask(struct group_net *g, uint32_t stage, int kind, double bytes, double *sent)
{
	const struct served_net *n = group_net_served(g);
	return kind == HOP ? n->hop_s(n->ctx, stage, bytes, sent) : n->reduce_s(n->ctx, stage, kind == GATHER, bytes, sent);
}

/*
 * Stages 0 and 2 have one GPU on each of two nodes; stage 1 has both GPUs on node 2. On a star with one NIC per node, two GPUs exchange
 * bytes / 2 in each of two steps of an all-reduce, and of one step of an all-gather. A hop sends bytes / 2 per rank: those of stage 0
 * come from two nodes and enter node 2 through one link, so that all bytes cross that link.
 */
static void check_group(void)
{
	static const uint32_t node[TP * PP] = { 0, 1, 2, 2, 3, 0 }, index[TP * PP] = { 0, 0, 0, 1, 0, 1 };
	static const uint32_t together[TP * PP] = { 3, 3, 3, 3, 3, 3 }, numbers[TP * PP] = { 0, 1, 2, 3, 4, 5 };
	struct orr_error err = { 0 };
	struct fixture f = {
		.cluster = cluster_load("4x8", &err), .dnn = dnn_load("bert_base_s128", &err), .one = device_load("a100", &err)
	};
	f.device[0] = f.one;
	f.topo = f.cluster ? topo_load(f.cluster, "star:bw=10Gbps,lat=3us,gpu_lat=500ns", 1, &err) : NULL;
	if (!ok(f.topo && f.dnn && f.one, "a cluster, a network and a model: %s", err.code ? err.text : "made"))
		return;
	ok(!group(&f, together, numbers), "GPUs of one node need no network");
	struct group_net *g = group(&f, node, index);
	if (!ok(g != NULL, "GPUs on several nodes need a network"))
		return;
	double sent = 0;
	int asked = 0, wrong = 0;
	ok(ask(g, 1, REDUCE, 4096, &sent) == -1 && ask(g, 1, GATHER, 4096, &sent) == -1 && sent == 0, "stage 1 is on one node");
	for (int pass = 0; pass < 2; pass++) /* the second pass reads times that are known */
		for (uint32_t stage = 0; stage < PP; stage++)
			for (int kind = REDUCE; kind <= HOP; kind++) {
				bool crosses = kind == HOP ? stage < PP - 1 : stage != 1;
				if (!crosses)
					continue;
				for (double bytes = 1 << 16; bytes < 1e9; bytes *= 7) {
					struct group_net *fresh = group(&f, node, index);
					double s_sent = 0, fresh_sent = 0, s = ask(g, stage, kind, bytes, &s_sent);
					double again = ask(fresh, stage, kind, bytes, &fresh_sent);
					double steps = kind == REDUCE ? 2 : 1, part = kind == HOP ? 1 : 0.5;
					double want = steps * part * bytes / BPS + steps * latency_s;
					bool is_exact = s == again && s_sent == fresh_sent && fabs(s - want) <= 1e-9 * want &&
							fabs(s_sent - steps * bytes) <= 1e-9 * s_sent;
					if (!is_exact)
						printf("# stage %u, kind %d, %.0f bytes: %.9g s (%.9g), a fresh network %.9g s, %.9g bytes "
						       "sent\n",
							stage, kind, bytes, s, want, again, s_sent);
					wrong += !is_exact;
					asked++;
					group_net_free(fresh);
				}
			}
	ok(!wrong && asked == 2 * 6 * 5, "%d of %d messages have the time and the bytes computed by hand, and those of a fresh network",
		asked - wrong, asked);
	ok(!group_net_error(g)->code, "no message fails");
	group_net_free(g);
	topo_free(f.topo);
	device_free(f.one);
	dnn_free(f.dnn);
	cluster_free(f.cluster);
}

int main(void)
{
	check_prefix();
	check_quality();
	check_group();
	return done();
}
