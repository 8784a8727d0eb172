/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trees over two nodes, reductions in the switch, and all-to-all on rails. Expected values: closed forms of NCCL's trees and of
 * NVLink SHARP (docs/models/net.md), and published all-reduces on nodes with several NICs. No constant of the model is fitted
 * to these measurements.
 */
#include "tests/step/one_collective.h"

static bool near_by(double x, double want, double by)
{
	bool is_near = fabs(x - want) <= by * want;
	if (!is_near)
		printf("# %.12g, expected %.12g\n", x, want);
	return is_near;
}

/* Returns the bus bandwidth in GB/s: 2 (n - 1) / n x bytes / time. */
static double bus_GBps(uint32_t n, double bytes, double s)
{
	return 2. * (n - 1) / n * bytes / s / 1e9;
}

/* ---- trees ---- */

/* Tests that, if the links inside the nodes are fast enough, each of k NICs of rate b sends and receives bytes / k: the bus bandwidth
 * is (2 - 2/n) k b. */
static void no_limit_inside(void)
{
	for (uint32_t k = 1; k <= 8; k *= 2)
		for (double S = 1e6; S <= 8e9; S *= 20) {
			char network[96];
			snprintf(network, sizeof network, "star:bw=200Gbps,lat=0us,nics=%u,gpu_bw=1e15GBps,gpu_lat=0us", k);
			double want = (2 - 2. / 16) * k * 25;
			double s = time_of("2x8:h100", network, "algorithm=multi-tree nic_efficiency=1", ORR_ALL_REDUCE, 16, 1, S);
			ok(near_by(bus_GBps(16, S, s), want, 1e-9),
				"CN3: tree on two nodes of %u NICs, %g bytes: bus bandwidth (2 - 2/n) k b", k, S);
			s = time_of(
				"2x8:h100", network, "algorithm=multi-tree nic_efficiency=1 fidelity=analytic", ORR_ALL_REDUCE, 16, 1, S);
			ok(near_by(bus_GBps(16, S, s), want, 1e-9), "fidelity=analytic gives the same bandwidth for multi-tree");
			s = time_of("2x8:h100", network, "algorithm=nvls-tree nic_efficiency=1", ORR_ALL_REDUCE, 16, 1, S);
			ok(near_by(bus_GBps(16, S, s), want, 1e-9), "nvls-tree has the bandwidth of multi-tree");
		}
}

static const struct coll_case {
	const char *cluster, *network, *what;
	uint32_t n;
	double bytes, us, by; /* bytes; measured time in us; largest accepted error, 0: the error is only printed */
} published[] = {
	{ "2x8:a100", "star:bw=200Gbps,nics=8", "OCI, 2 x 8 A100, 1 GiB", 16, 0x1p30, 11774, 0.13 },
	{ "2x8:a100", "star:bw=200Gbps,nics=8", "OCI, 2 x 8 A100, 10 GiB", 16, 10 * 0x1p30, 111812, 0.13 },
	{ "2x8:a100", "star:bw=200Gbps,nics=8", "DGX A100, 8 x 200 Gb/s (nodes not given: 2), 8 GB", 16, 8e9, 15 / 8. * 8e9 / 192e3, 0.13 },
	{ "3x8:a100", "star:bw=200Gbps,nics=4", "3 x 8 A100, 4 x 200 Gb/s, 96 GB/s of bus bandwidth, 8 GB", 24, 8e9, 23 / 12. * 8e9 / 96e3,
		0.13 },
	{ "3x8:a100", "star:bw=200Gbps,nics=4", "the same, 128 MB (reported)", 24, 128e6, 23 / 12. * 128e6 / 96e3, 0.13 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 8 bytes", 16, 8, 135.8, 0 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 64 KiB", 16, 0x1p16, 159.4, 0 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 1 MiB", 16, 0x1p20, 203.2, 0 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 16 MiB", 16, 0x1p24, 977.6, 0 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 64 MiB", 16, 0x1p26, 1261.6, 0 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 256 MiB", 16, 0x1p28, 2360.9, 0 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 512 MiB", 16, 0x1p29, 3817.5, 0 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 1 GiB", 16, 0x1p30, 6759, 0.13 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 2 GiB", 16, 2 * 0x1p30, 12646, 0.13 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 4 GiB", 16, 4 * 0x1p30, 24361, 0.13 },
	{ "2x8:h100", "star:bw=200Gbps,nics=8", "GCP, 2 x 8 H100, 8 GiB", 16, 8 * 0x1p30, 47535, 0.1 },
};

static void published_rows(void)
{
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		const struct coll_case *c = &published[i];
		double s = time_of(c->cluster, c->network, "", ORR_ALL_REDUCE, c->n, 1, c->bytes), error = s * 1e6 / c->us - 1;
		printf("# %s: %.0f us, measured %.0f us: %+.1f %%\n", c->what, s * 1e6, c->us, 100 * error);
		if (c->by > 0)
			ok(fabs(error) <= c->by, "%s: %s: within %g %% of the measured time by default",
				strstr(c->cluster, "h100") ? "CN5" : "CN4", c->what, 100 * c->by);
		double ring = time_of(c->cluster, c->network, "algorithm=multi-ring", ORR_ALL_REDUCE, c->n, 1, c->bytes);
		if (strstr(c->cluster, "a100"))
			ok(s == ring, "A100, whose switch cannot reduce: the default is rings");
		else
			ok(s < ring, "H100, whose switch can reduce: the default is the tree, which is faster than rings");
	}
}

/* Tests fast NICs: the links inside the nodes limit the tree more than the rings, because the tree passes up and down a chain. */
static void fast_nics(void)
{
	static const char network[] = "star:bw=400Gbps,nics=8";
	double S = 8 * 0x1p30, s = time_of("2x8:h100", network, "", ORR_ALL_REDUCE, 16, 1, S);
	double ring = time_of("2x8:h100", network, "algorithm=multi-ring", ORR_ALL_REDUCE, 16, 1, S);
	printf("# 2 x 8 H100, 8 x 400 Gb/s: %.1f GB/s of bus bandwidth\n", bus_GBps(16, S, s));
	ok(s == ring, "2 x 8 H100 with 8 x 400 Gb/s: rings");
	ok(near_by(bus_GBps(16, S, s), 370, 0.05), "about the bus bandwidth of rings inside a node");
	double tree = time_of("4x8:h100", network, "algorithm=nvls-tree", ORR_ALL_REDUCE, 32, 1, S);
	printf("# 4 x 8 H100, nvls-tree: %.1f GB/s\n", bus_GBps(32, S, tree));
	ok(near_by(bus_GBps(32, S, tree), 375, 0.05),
		"nvls-tree on 4 nodes: within 5 %% of the 370 to 380 GB/s of bus bandwidth that are reported");
}

/* ---- reductions in the switch ---- */

/* Compares with values that a user reported for 2, 4, 5, 6, 7 and 8 H100; 480 is also NVIDIA's published value. */
static void in_the_switch(void)
{
	static const double GBps[] = { 370, 420, 440, 460, 480 };
	for (uint32_t n = 4; n <= 8; n++) {
		double S = 64 * 0x1p30, s = time_of("1x8:h100", "star:bw=400Gbps", "algorithm=nvls-tree", ORR_ALL_REDUCE, n, 1, S);
		printf("# %u H100: %.1f GB/s, quoted %g\n", n, bus_GBps(n, S, s), GBps[n - 4]);
		ok(near_by(bus_GBps(n, S, s), GBps[n - 4], n == 8 ? 0.01 : 0.03), "%u H100 with NVLS: the bus bandwidth quoted", n);
	}
	struct orr_error err;
	struct profile *p = profile_load("h100", &err);
	profile = p;
	double R = 0x1p26, S = 8 * 0x1p30, small = time_of("1x8:h100", "star:bw=400Gbps", "", ORR_ALL_REDUCE, 8, 1, R);
	const struct law *l = profile_collective(p, "all-reduce", "nvswitch", 8, 1);
	ok(near_by(small, law_time(l, 0, 0, R, NULL), 1e-9), "8 H100 at the longest message that was measured: the profile's law");
	double s = time_of("1x8:h100", "star:bw=400Gbps", "", ORR_ALL_REDUCE, 8, 1, S);
	ok(near_by(s, small + (S - R) * 9 / 8 / (480e9 * 9 / 14), 1e-9), "longer messages: the rest at the rate of the switch");
	printf("# 8 H100, 8 GiB: %.1f GB/s\n", bus_GBps(8, S, s));
	profile = NULL;
	profile_free(p);
}

/* ---- all-to-all on rails ---- */

static double spine_Bps, nic_Bps[2];

static void look_at_spine(const struct fixture *f, const struct step_result *r)
{
	spine_Bps = nic_Bps[1] = 0;
	nic_Bps[0] = INFINITY;
	for (uint32_t l = 0; l < f->topo->n_links; l++) {
		const char *name = f->topo->link[l].name;
		spine_Bps += strstr(name, "spine") ? r->link[l].bytes_per_s : 0;
		if (strstr(name, ".nic")) {
			nic_Bps[0] = fmin(nic_Bps[0], r->link[l].bytes_per_s);
			nic_Bps[1] = fmax(nic_Bps[1], r->link[l].bytes_per_s);
		}
	}
}

static void on_rails(void)
{
	static const char rails[] = "leaf-spine:bw=200Gbps,lat=0us,nics=8,rails=true,gpu_bw=300GBps,gpu_lat=0us";
	static const char *const merge[] = { "merge=off iterations=4", "iterations=4" };
	double S = 1e9, s;
	look = look_at_spine;
	for (int i = 0; i < 2; i++) {
		char set[64];
		s = time_of("4x8:a100", rails, merge[i], ORR_ALL_TO_ALL, 32, 1, S);
		ok(spine_Bps == 0, "CN6: all-to-all on rails with PXN: no flow crosses the spine (%s)", merge[i]);
		ok(near_by(nic_Bps[0], nic_Bps[1], 1e-9), "all NICs carry the same");
		ok(near_by(s, S / 32 * 24 / (0.96 * 25e9), 1e-9), "(n - G) / n of the bytes at 0.96 of a NIC for each GPU");
		snprintf(set, sizeof set, "%s pxn=false", merge[i]);
		time_of("4x8:a100", rails, set, ORR_ALL_TO_ALL, 32, 1, S);
		ok(spine_Bps > 0, "CN6: without PXN flows cross the spine");
	}
	look = NULL;
	ok(near_by(time_of("4x8:a100", rails, "fidelity=analytic", ORR_ALL_TO_ALL, 32, 1, S), s, 1e-9),
		"fidelity=analytic gives the same time of an all-to-all");
	double half = time_of("4x8:a100", "star:bw=200Gbps,lat=0us,nics=4,gpu_bw=300GBps,gpu_lat=0us", "", ORR_ALL_TO_ALL, 32, 1, S);
	ok(near_by(half, 2 * s, 1e-9), "half as many NICs: twice as long");
}

int main(void)
{
	no_limit_inside();
	published_rows();
	fast_nics();
	in_the_switch();
	on_rails();
	return done();
}
