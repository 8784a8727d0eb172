/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The default algorithm of collectives: a ring over each NIC that the members of a node use. Expected: closed forms of NCCL's
 * channels (docs/models/net.md), and published all-reduces on two nodes.
 */
#include "tests/step/one_collective.h"

static bool near(double x, double want)
{
	bool is_near = fabs(x - want) <= 1e-9 * want;
	if (!is_near)
		printf("# %.12g, expected %.12g\n", x, want);
	return is_near;
}

static const char eight_nics[] = "star:bw=200Gbps,lat=2us,nics=8,gpu_bw=232GBps,gpu_lat=1us";

/* The default of all-reduces on three nodes or more: a ring in the time of a tree, where the tree is faster. */
static void as_trees(void)
{
	/* By hand: down and up, 7 hops inside a node and 2 levels over 4 nodes, 3 over 8. A gather has no tree. */
	double four = time_of("4x8:a100", eight_nics, "", ORR_ALL_REDUCE, 32, 1, 1),
	       eight = time_of("8x8:a100", eight_nics, "", ORR_ALL_REDUCE, 64, 1, 1);
	ok(fabs(four / (2 * (7 * 1e-6 + 2 * 5e-6)) - 1) < 1e-4, "4 nodes: the depth of a tree");
	ok(fabs(eight / (2 * (7 * 1e-6 + 3 * 5e-6)) - 1) < 1e-4, "8 nodes: one level more");
	ok(near(time_of("4x8:a100", eight_nics, "", ORR_ALL_GATHER, 32, 1, 1e-3), 4 * 5e-6 + 27 * 1e-6), "an all-gather: the ring");
	static const char *const networks[] = { eight_nics, "star:bw=100Gbps,lat=4us,nics=1,gpu_bw=232GBps,gpu_lat=1us" };
	for (int k = 0; k < 2; k++)
		for (double S = 1e4; S < 1e10; S *= 10) {
			double tree = time_of("8x8:a100", networks[k], "algorithm=multi-tree fidelity=analytic", ORR_ALL_REDUCE, 64, 1, S);
			double ring = time_of("8x8:a100", networks[k], "algorithm=multi-ring fidelity=analytic", ORR_ALL_REDUCE, 64, 1, S);
			double flows = time_of("8x8:a100", networks[k], "", ORR_ALL_REDUCE, 64, 1, S);
			double idle = time_of("8x8:a100", networks[k], "fidelity=analytic", ORR_ALL_REDUCE, 64, 1, S);
			ok(fabs(flows / idle - 1) < 0.05 && fabs(idle / fmin(tree, ring) - 1) < (tree < ring ? 1e-6 : 0.03),
				"%g bytes, %d: %.4g s: the shorter of the tree's %.4g and the ring's %.4g", S, k, flows, tree, ring);
		}
}

/* Tests closed forms. A NIC has 25 GB/s, a node 200 GB/s; a message between nodes has a latency of 2 x 2 + 1 us. */
static void closed_form(void)
{
	double S = 1e9, round = S / 16 / 8 / (0.96 * 25e9), late = 2 * 5e-6, all = 2 * (15 * round + late);
	ok(near(time_of("2x8:a100", eight_nics, "", ORR_ALL_REDUCE, 16, 1, S), all),
		"default on 2 nodes of 8 NICs: 2 (n - 1) rounds of 1 / (8 n) of the bytes at 0.96 of a NIC, 2 latencies per node");
	ok(near(time_of("2x8:a100", eight_nics, "", ORR_ALL_GATHER, 16, 1, S), all / 2), "an all-gather takes half of it");
	ok(near(time_of("2x8:a100", eight_nics, "fidelity=analytic", ORR_ALL_REDUCE, 16, 1, S), all), "fidelity=analytic: the same");
	ok(near(time_of("2x8:a100", eight_nics, "nic_efficiency=1", ORR_ALL_REDUCE, 16, 1, S), 2 * (15 * S / 16 / 8 / 25e9 + late)),
		"nic_efficiency=1: the whole NIC");
	/* Small messages: a piece crosses the network once per node, and the links inside the nodes in the other rounds. The latency of a
	 * message inside a node is 1 us. */
	ok(near(time_of("4x8:a100", eight_nics, "nic_efficiency=1 algorithm=multi-ring", ORR_ALL_REDUCE, 32, 1, 1e-3),
		   2 * (4 * 5e-6 + 27 * 1e-6)),
		"a message of almost no bytes: 2 N latencies of the network and 2 (n - 1 - N) of the links");
}

/* Rails: ring c enters and leaves every node by NIC c, so it never crosses a spine, and neither spines nor their bandwidth matter. */
static void rails(void)
{
	double want = time_of("8x4:a100", "star:nics=4,bw=100Gbps", "", ORR_ALL_REDUCE, 32, 1, 1e9);
	for (uint32_t spines = 2; spines <= 8; spines *= 2) {
		char network[96];
		snprintf(network, sizeof network, "leaf-spine:nics=4,rails=true,bw=100Gbps,spines=%u", spines);
		ok(near(time_of("8x4:a100", network, "", ORR_ALL_REDUCE, 32, 1, 1e9), want), "rails and %u spines: the time of one switch",
			spines);
		snprintf(network, sizeof network, "leaf-spine:nics=4,rails=true,bw=100Gbps,spines=%u,oversubscription=8", spines);
		ok(near(time_of("8x4:a100", network, "", ORR_ALL_REDUCE, 32, 1, 1e9), want), "oversubscribed, too");
		ok(near(time_of("8x4:a100", network, "fidelity=analytic", ORR_ALL_REDUCE, 32, 1, 1e9), want), "in closed form");
	}
}

static double nic_Bps[2]; /* least and most mean rate of all directions of all NICs */
static uint32_t nic_links;

/* A node with one NIC has the links host0.up and host0.down, with several NICs host0.nic1.up and so on. */
static void look_at_nics(const struct fixture *f, const struct step_result *r)
{
	nic_Bps[0] = INFINITY;
	nic_Bps[1] = nic_links = 0;
	for (uint32_t l = 0; l < f->topo->n_links; l++)
		if (!strncmp(f->topo->link[l].name, "host", 4)) {
			nic_Bps[0] = fmin(nic_Bps[0], r->link[l].bytes_per_s);
			nic_Bps[1] = fmax(nic_Bps[1], r->link[l].bytes_per_s);
			nic_links++;
		}
}

/* Tests that each of k NICs of a node sends and receives 2 (n - 1) / n x bytes / k. */
static void bytes_of_nics(void)
{
	static const char *const sets[] = { "iterations=4 nic_efficiency=1", "iterations=4 nic_efficiency=1 merge=off" };
	double S = 8e8;
	look = look_at_nics;
	for (uint32_t n = 16; n <= 32; n *= 2)
		for (uint32_t k = 1; k <= 8; k += k == 1 ? 3 : 4)
			for (int i = 0; i < 2; i++) {
				char network[64];
				snprintf(network, sizeof network, "star:bw=100Gbps,lat=2us,nics=%u,gpu_bw=232GBps", k);
				double s = time_of(n == 16 ? "2x8:a100" : "4x8:a100", network, sets[i], ORR_ALL_REDUCE, n, 1, S);
				double want = 2. * (n - 1) / n * S / k;
				ok(near(nic_Bps[0] * s, want) && near(nic_Bps[1] * s, want) && nic_links == 2 * k * n / 8,
					"CN1: %u GPUs, nodes of %u NICs, %s: each NIC sends and receives 2 (n - 1) / n x bytes / k", n, k,
					sets[i]);
			}
	/* Below 1, a link shows the time that it is occupied: bytes / nic_efficiency. */
	double s = time_of("2x8:a100", "star:bw=100Gbps,lat=2us,nics=8,gpu_bw=232GBps", "iterations=4", ORR_ALL_REDUCE, 16, 1, S);
	ok(near(nic_Bps[0] * s * 0.96, 2. * 15 / 16 * S / 8), "CN1: nic_efficiency=0.96: use of links counts bytes / 0.96");
	look = NULL;
}

/* Tests that the bus bandwidth without latency, in GB/s, is the smaller of a GPU's link and the node's NICs. */
static void caps(void)
{
	static const struct {
		const char *network;
		double GBps;
	} cases[] = { { "star:bw=100Gbps,lat=0us,nics=8,gpu_bw=232GBps,gpu_lat=0us", 100 },
		{ "star:bw=200Gbps,lat=0us,nics=8,gpu_bw=232GBps,gpu_lat=0us", 200 },
		{ "star:bw=200Gbps,lat=0us,nics=4,gpu_bw=232GBps,gpu_lat=0us", 100 },
		{ "star:bw=400Gbps,lat=0us,nics=8,gpu_bw=232GBps,gpu_lat=0us", 232 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (uint32_t n = 16; n <= 32; n *= 2) {
			double S = 8e9, s = time_of(n == 16 ? "2x8:a100" : "4x8:a100", cases[i].network, "nic_efficiency=1", ORR_ALL_REDUCE,
						n, 1, S);
			ok(near(2. * (n - 1) / n * S / s / 1e9, cases[i].GBps), "CN2: %u GPUs, %.30s: bus bandwidth %g GB/s", n,
				cases[i].network, cases[i].GBps);
		}
	double one = time_of(
		"4x8:a100", "star:bw=200Gbps,lat=0us,nics=8,gpu_bw=2320GBps,gpu_lat=0us", "algorithm=ring", ORR_ALL_REDUCE, 32, 1, 1e9);
	double all = time_of(
		"4x8:a100", "star:bw=200Gbps,lat=0us,nics=8,gpu_bw=2320GBps,gpu_lat=0us", "nic_efficiency=1", ORR_ALL_REDUCE, 32, 1, 1e9);
	ok(near(one / all, 8), "CN7: eight NICs carry 8 times what algorithm=ring gets from one");
}

/* Tests that auto equals the plain ring if the members of a node use one NIC. */
static void plain(void)
{
	static const struct {
		const char *network, *what;
		uint32_t n, stride;
	} cases[] = { { "star:bw=200Gbps,lat=2us,gpu_bw=232GBps", "one NIC per node", 16, 1 }, { eight_nics, "one node", 8, 1 },
		{ eight_nics, "one member per node", 2, 8 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double a = time_of("2x8:a100", cases[i].network, "", ORR_ALL_REDUCE, cases[i].n, cases[i].stride, 1e8);
		double b = time_of("2x8:a100", cases[i].network, "algorithm=ring", ORR_ALL_REDUCE, cases[i].n, cases[i].stride, 1e8);
		ok(a == b, "%s: the default is a plain ring", cases[i].what);
	}
	/* A single NIC is used in full; nic_efficiency applies to several NICs. */
	double S = 1e9, round = 5e-6 + S / 16 / 25e9;
	static const char one_nic[] = "star:bw=200Gbps,lat=2us,gpu_bw=232GBps,gpu_lat=1us";
	ok(near(time_of("2x8:a100", one_nic, "algorithm=multi-ring", ORR_ALL_REDUCE, 16, 1, S), 30 * round),
		"algorithm=multi-ring with one NIC per node: a ring at its full rate");
	ok(near(time_of("2x8:a100", one_nic, "algorithm=multi-ring fidelity=analytic", ORR_ALL_REDUCE, 16, 1, S), 30 * round),
		"fidelity=analytic gives the same time for multi-ring");
	double half = time_of("2x8:a100", eight_nics, "nic_efficiency=1", ORR_ALL_REDUCE, 8, 2, 8e8);
	ok(near(half, 14 * 8e8 / 8 / 4 / 25e9 + 4 * 5e-6), "every other GPU: a ring for each of 4 NICs");
}

/* Compares with OCI BM.GPU4.8, 2 x 8 A100 and 200 GB/s per node (A100 k8s tutorial): 11,774 us for 1 GiB and 111,812 us for 10 GiB.
 * No constant is fitted to these rows: nic_efficiency comes from SimAI, and the link inside the node from the device. */
static void published(void)
{
	static const double GiB[] = { 1, 10 }, us[] = { 11774, 111812 };
	for (int i = 0; i < 2; i++) {
		double s = time_of("2x8:a100", "star:bw=200Gbps,nics=8", "", ORR_ALL_REDUCE, 16, 1, GiB[i] * 0x1p30);
		printf("# %g GiB: %.0f us, measured %.0f us: %+.1f %%\n", GiB[i], s * 1e6, us[i], 100 * (s * 1e6 / us[i] - 1));
		ok(fabs(s * 1e6 / us[i] - 1) <= 0.13, "CN4: two nodes of 8 A100, %g GiB: within 13 %% of the measured time", GiB[i]);
	}
}

/* Compares with nccl-tests on 8 A100 behind an NVSwitch (superbenchmark 700d650), in microseconds, and with the law fitted to these
 * times. */
static void inside_a_node(void)
{
	static const double MiB[] = { 1, 64, 1024 }, us[] = { 74.78, 584.5, 8159.5 };
	struct orr_error err;
	struct profile *p = profile_load("a100-80g", &err);
	const struct law *l = profile_collective(p, "all-reduce", "nvswitch", 8, 1);
	profile = p;
	for (int i = 0; i < 3; i++) {
		double S = MiB[i] * 0x1p20, law = law_time(l, 0, 0, S, NULL);
		double s = time_of("1x8:a100-80g", "star:bw=200Gbps", "", ORR_ALL_REDUCE, 8, 1, S);
		ok(near(s, law), "8 A100 in a node, %g MiB: the time of the profile's law", MiB[i]);
		ok(near(time_of("1x8:a100-80g", "star:bw=200Gbps", "fidelity=analytic", ORR_ALL_REDUCE, 8, 1, S), law),
			"8 A100 in a node: fidelity=analytic gives the time of the profile's law");
		printf("# %.1f us, measured %.1f us: %+.1f %%\n", s * 1e6, us[i], 100 * (s * 1e6 / us[i] - 1));
	}
	ok(near(time_of("1x8:a100-80g", "star:bw=200Gbps", "", ORR_REDUCE_SCATTER, 8, 1, 0x1p26), law_time(l, 0, 0, 0x1p25, NULL)),
		"a reduce-scatter, of which there is no law: an all-reduce of half the bytes");
	double ring = 14 * (8e-6 + 0x1p26 / 8 / 300e9);
	ok(near(time_of("1x8:a100-80g", "star:bw=200Gbps", "algorithm=ring", ORR_ALL_REDUCE, 8, 1, 0x1p26), ring),
		"algorithm=ring: the links of the data sheet");
	ok(near(time_of("1x8:a100-80g", "star:bw=200Gbps,gpu_bw=250GBps", "", ORR_ALL_REDUCE, 8, 1, 0x1p26),
		   14 * (8e-6 + 0x1p26 / 8 / 250e9)),
		"a network that states the GPUs' links: those");
	ok(near(time_of("1x8:a100-80g", "star:bw=200Gbps", "", ORR_ALL_REDUCE, 3, 1, 0x1p26), 35e-6 + 4. / 3 * 0x1p26 / 230e9),
		"three GPUs, of which there is no law: the bus bandwidth and latency published for the device");
	ok(near(time_of("1x8:a100-80g", "star:bw=200Gbps", "", ORR_BROADCAST, 8, 1, 0x1p26),
		   law_time(profile_collective(p, "broadcast", "nvswitch", 8, 1), 0, 0, 0x1p26, NULL)),
		"a broadcast: its own law");
	profile = NULL;
	profile_free(p);
}

int main(void)
{
	closed_form();
	as_trees();
	rails();
	bytes_of_nics();
	caps();
	plain();
	published();
	inside_a_node();
	return done();
}
