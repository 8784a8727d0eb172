/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The data-parallel step policies against closed forms. With given compute, no optimizer cost and one bandwidth B for all
 * NICs, an iteration without overlap is compute plus the formula of its communication (docs/models/step-data-parallel.md).
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_allreduce, orr_policy_bytescheduler, orr_policy_parameter_server, orr_policy_local_sgd,
	orr_policy_zero;

static const double compute_s = 0.25, B = 1e9;

struct run {
	double iteration_s, exposed_s, samples_per_s, sent_bytes, peak_bytes, params;
	double least_compute_s; /* of a GPU */
	uint64_t simulated;
	char choice[256], error[768];
	int code;
};

/* sets: options of the step world, separated by blanks */
static struct run run_on(
	const char *cluster, const char *network, const char *model, const char *sets, const struct orr_policy *p, const char *settings)
{
	struct fixture *f = fixture_new(cluster, network, model, 32);
	struct orr_error e = { 0 };
	struct step_result r = { 0 };
	fixture_set(f, "update_cost=none");
	fixture_set(f, "compute_s=0.25");
	fixture_set(f, "ignore_memory=true");
	fixture_set(f, "merge=off");
	char *text = mem_strdup(sets), *save = NULL;
	for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
		fixture_set(f, s);
	mem_free(text);
	struct run out = { .params = f->dnn->params, .least_compute_s = INFINITY };
	out.code = fixture_run(f, p, settings, &r, &e);
	if (out.code) {
		snprintf(out.error, sizeof out.error, "%s", e.text);
	} else {
		out.iteration_s = r.iteration_s;
		for (size_t i = 0; i < r.n_devices; i++)
			out.exposed_s += r.device[i].exposed_s / (double)r.n_devices;
		out.samples_per_s = r.samples_per_s;
		out.simulated = r.simulated;
		for (size_t i = 0; i < r.n_devices; i++) {
			out.sent_bytes = fmax(out.sent_bytes, r.device[i].sent_bytes);
			if (r.device[i].device >= f->topo->n_gpus)
				continue;
			out.least_compute_s = fmin(out.least_compute_s, r.device[i].compute_s);
			out.peak_bytes = fmax(out.peak_bytes, r.device[i].peak_memory_bytes);
		}
		memcpy(out.choice, r.choice, sizeof out.choice);
		step_result_free(&r);
	}
	fixture_free(f);
	return out;
}

static struct run run(const char *cluster, const char *model, const struct orr_policy *p, const char *settings)
{
	struct run r = run_on(cluster, "star:bw=1GBps,lat=0", model, "", p, settings);
	if (r.code)
		printf("# %s\n", r.error);
	return r;
}

static void all_reduce(void)
{
	/* A ring takes 2 (n-1) / n x M / B (Patarasu and Yuan 2009). */
	struct run r = run("4x1:v100", "resnet50", &orr_policy_allreduce, "fusion=none overlap=false");
	double ring = 1.5 * r.params * 4 / B;
	near_to(r.iteration_s, compute_s + ring, 1e-9, "allreduce without overlap: compute + 2 (n-1)/n M/B");
	near_to(r.sent_bytes, 1.5 * r.params * 4, 1e-9, "each GPU sends 2 (n-1)/n M");
	r = run_on("4x1:v100", "star:bw=1GBps,lat=10us", "resnet50", "", &orr_policy_allreduce, "fusion=tensor overlap=false");
	struct run one = run_on("4x1:v100", "star:bw=1GBps,lat=10us", "resnet50", "", &orr_policy_allreduce, "fusion=none overlap=false");
	double step_s = (one.iteration_s - compute_s - ring) / 6;
	/* ResNet-50 has 161 parameter tensors (torchvision); each tensor takes 2 (n-1) latencies. */
	ok(step_s > 9e-6 && !strncmp(r.choice, "4 replicas, 161 all-reduces", 27), "tensor by tensor: 161 all-reduces (%s)", r.choice);
	near_to(r.iteration_s, compute_s + ring + 161 * 6 * step_s, 1e-9, "each of the 161 all-reduces pays the latency of its ring");
	r = run("4x1:v100", "resnet50", &orr_policy_allreduce, "");
	/* The sizes of the buckets, computed from torchvision's parameters() in reverse, are 8.2, 31.5, 26.3, 26.6 and 9.7 MB. */
	ok(!strncmp(r.choice, "4 replicas, 5 all-reduces (ddp)", 31), "DDP's rule makes 5 buckets of ResNet-50 (%s)", r.choice);
	ok(r.iteration_s < compute_s + ring && r.iteration_s > fmax(compute_s, ring), "overlap hides part of the communication");
	struct run fast = run_on("4x1:v100", "star:bw=1e6GBps,lat=0", "resnet50", "", &orr_policy_allreduce, "");
	near_to(fast.iteration_s, compute_s, 1e-4, "on an infinitely fast network the iteration takes the compute time");
	struct run alone = run("1x1:v100", "resnet50", &orr_policy_allreduce, "");
	near_to(alone.iteration_s, compute_s, 1e-12, "a single GPU sends nothing");
}

static void horovod(void)
{
	struct run one = run("4x1:v100", "resnet50", &orr_policy_allreduce, "fusion=horovod cycle=1000s fusion_bytes=1e12");
	/* The thread first wakes 1000 s after the start of the backward pass, when all gradients are ready. */
	ok(one.iteration_s > 1000 && strstr(one.choice, " 1 all-reduces"), "horovod: one long cycle sends one message (%s)", one.choice);
	struct run many = run("4x1:v100", "resnet50", &orr_policy_allreduce, "fusion=horovod cycle=1us");
	struct run each = run("4x1:v100", "resnet50", &orr_policy_allreduce, "fusion=horovod cycle=1ms fusion_bytes=1");
	ok(many.iteration_s < one.iteration_s, "horovod: short cycles start sending earlier");
	/* ResNet-50 has 54 filters and matrices and 53 normalisations, so 107 layers with parameters. */
	ok(strstr(each.choice, " 107 all-reduces") != NULL, "horovod: a fusion buffer of 1 byte sends each layer on its own (%s)",
		each.choice);
}

static void different_speeds(void)
{
	/* With a barrier the slowest GPU determines the time: at speed 0.5 its compute takes twice as long. */
	struct run r =
		run_on("2x1:v100", "star:bw=1GBps,lat=0", "alexnet", "speeds=1:0.5", &orr_policy_allreduce, "fusion=none overlap=false");
	near_to(r.iteration_s, 2 * compute_s + r.params * 4 / B, 1e-9, "allreduce waits for the slowest");
	r = run("1x1:v100,1x1:a100", "alexnet", &orr_policy_allreduce, "fusion=none overlap=false");
	ok(!r.code && r.iteration_s > compute_s + r.params * 4 / B - 1e-9, "GPUs of two types train together");
}

static void priorities(void)
{
	for (int fast = 0; fast < 3; fast++) {
		static const char *const nets[] = { "star:bw=0.25GBps,lat=0", "star:bw=1GBps,lat=0", "star:bw=4GBps,lat=0" };
		static const double bw[] = { 0.25e9, 1e9, 4e9 };
		struct run plain = run_on("4x1:v100", nets[fast], "vgg16", "", &orr_policy_allreduce, "fusion=tensor");
		struct run bs = run_on("4x1:v100", nets[fast], "vgg16", "", &orr_policy_bytescheduler, "credit=1");
		double ring = 1.5 * bs.params * 4 / bw[fast];
		ok(bs.iteration_s <= plain.iteration_s * (1 + 1e-9), "bytescheduler is not slower than sending in order (%.4f, %.4f s)",
			bs.iteration_s, plain.iteration_s);
		ok(bs.iteration_s >= fmax(compute_s, ring) * (1 - 1e-9),
			"bytescheduler takes at least the greater of compute and network time");
		struct run fifo = run_on("4x1:v100", nets[fast], "vgg16", "", &orr_policy_bytescheduler, "credit=1 priority=false");
		ok(bs.iteration_s <= fifo.iteration_s * (1 + 1e-9), "bytescheduler with priorities is not slower than without (%.4f s)",
			fifo.iteration_s);
	}
}

/* Tests two nodes of four GPUs: 3/4 of M are moved inside a node, then M/4 per GPU between the nodes, then 3/4 of M inside the nodes
 * again. */
static void dense_inside(void)
{
	static const char net[] = "star:bw=1GBps,lat=0,nics=4,gpu_bw=10GBps,gpu_lat=0";
	struct run r = run_on("2x4:v100", net, "resnet50", "", &orr_policy_allreduce, "fusion=none overlap=false dense_inside=true");
	double M = r.params * 4, inside = 2 * 3.0 / 4 * M / 10e9;
	near_to(r.iteration_s, compute_s + inside + M / 4 / B, 1e-9, "dense_inside: scatter inside, all-reduce of parts, gather inside");
	r = run_on("2x4:v100", net, "resnet50", "compression=topk:density=0.01", &orr_policy_allreduce,
		"fusion=none overlap=false dense_inside=true");
	near_to(r.iteration_s, compute_s + inside + 0.01 * r.params / 4 * 8 / B, 1e-9,
		"dense_inside: only the traffic between nodes is compressed");
	r = run_on("1x4:v100,1x4:a100", net, "resnet50", "compute_s=0 update_cost=roofline", &orr_policy_allreduce, "dense_inside=true");
	struct run flat = run_on("1x4:v100,1x4:a100", net, "resnet50", "compute_s=0 update_cost=roofline", &orr_policy_allreduce, "");
	ok(!r.code && r.iteration_s > 0 && r.iteration_s <= flat.iteration_s,
		"dense_inside on GPUs of two types is not slower than a flat ring (%.4f, flat ring %.4f s)", r.iteration_s,
		flat.iteration_s);
}

static void servers(void)
{
	/* One dedicated server receives w M, then sends w M (stanza's T_push = (w/S) W / B). */
	struct run r = run("5x1:v100", "alexnet", &orr_policy_parameter_server, "placement=dedicated servers=1 push_overlap=false");
	double M = r.params * 4;
	near_to(r.iteration_s, compute_s + 2 * 4 * M / B, 1e-9, "BSP, one dedicated server, 4 workers: compute + 2 w M / B");
	near_to(r.samples_per_s * r.iteration_s, 4 * 32, 1e-9, "four workers train, the fifth node serves");
	r = run("5x1:v100", "alexnet", &orr_policy_parameter_server, "placement=dedicated servers=2 push_overlap=false");
	near_to(r.iteration_s, compute_s + 2 * 3 * M / 2 / B, 1e-9, "BSP, two dedicated servers: half of the bytes through each");
	r = run("4x1:v100", "alexnet", &orr_policy_parameter_server, "push_overlap=false");
	near_to(r.iteration_s, compute_s + 2 * M * 3 / 4 / B, 1e-6, "co-located: a worker's own share stays inside (PCIe hides in it)");
	/* With priority each worker sends a third of these bytes to each server, one after the other. */
	r = run("4x1:v100", "alexnet", &orr_policy_parameter_server, "push_overlap=false priority=true");
	near_to(r.iteration_s, compute_s + 2 * M * 3 / 4 / B, 1e-9, "co-located with priority: no two workers send to one server");
	r = run("2x1:v100,4x0:v100", "alexnet", &orr_policy_parameter_server, "placement=cpu-nodes push_overlap=false");
	near_to(r.iteration_s, compute_s + 2 * M / B, 1e-9, "four servers without GPUs: the workers' own NICs decide");
	struct run o = run("5x1:v100", "alexnet", &orr_policy_parameter_server, "placement=dedicated servers=1");
	ok(o.iteration_s < compute_s + 2 * 4 * M / B && o.iteration_s > 4 * M / B, "pushing during the backward pass helps");
	struct run fair = run("5x1:v100", "vgg16", &orr_policy_parameter_server, "placement=dedicated servers=1 pull_overlap=true");
	struct run prio =
		run("5x1:v100", "vgg16", &orr_policy_parameter_server, "placement=dedicated servers=1 pull_overlap=true priority=true");
	ok(prio.iteration_s <= fair.iteration_s * (1 + 1e-9),
		"parameter-server: priority to early layers is not slower than fair sharing (%.4f, %.4f s)", prio.iteration_s,
		fair.iteration_s);
	r = run("5x1:v100", "alexnet", &orr_policy_parameter_server, "placement=dedicated servers=2 push_overlap=false shard=tensor");
	/* One server holds AlexNet's largest tensor, fc6, with 37.7 M of 61.1 M weights. */
	ok(r.iteration_s > compute_s + 2 * 3 * 0.6 * M / B, "by tensor: the server with the largest tensor decides (%s)", r.choice);
	r = run("5x1:v100", "alexnet", &orr_policy_parameter_server, "placement=dedicated servers=1 push_overlap=false server_Bps=1e9");
	near_to(r.iteration_s, compute_s + 3 * 4 * M / B, 1e-9,
		"summing at 1 GB/s in the server takes as long as the transfer of the pushes");
}

static void asynchronous(void)
{
	static const char *const settings[] = { "mode=asp placement=dedicated servers=1 push_overlap=false lag=2",
		"mode=asp placement=dedicated servers=4 push_overlap=false lag=3" };
	static const char *const clusters[] = { "5x1:v100", "6x1:v100" };
	/* With lag, push, pull and compute overlap. So in the steady state an iteration takes max(t_c, w G / (s B), G / B). */
	struct run r = run_on(clusters[0], "star:bw=1GBps,lat=0", "alexnet", "iterations=60", &orr_policy_parameter_server, settings[0]);
	double G = r.params * 4, want = 4 * 32 / fmax(compute_s, 4 * G / B);
	ok(fabs(r.samples_per_s / want - 1) < 0.02, "ASP bound by the server's NIC: w G / B an iteration (%.3f of it)",
		r.samples_per_s / want);
	/* A NIC sends pushes and, for its server, pulls: 2 (n-1)/n G. The last iterations, after which none follow, do not shorten the
	 * mean. */
	r = run_on("4x1:v100", "star:bw=1GBps,lat=0", "vgg16", "iterations=20", &orr_policy_parameter_server, "mode=asp lag=2");
	near_to(r.iteration_s, 1.5 * r.params * 4 / B, 1e-9, "ASP with 20 iterations: the mean is that of the steady state");
	near_to(r.samples_per_s, 4 * 32 / r.iteration_s, 1e-9, "and so is the throughput");
	r = run_on(clusters[1], "star:bw=100GBps,lat=0", "alexnet", "iterations=60", &orr_policy_parameter_server, settings[1]);
	want = 2 * 32 / compute_s;
	ok(fabs(r.samples_per_s / want - 1) < 0.02, "ASP on a fast network: bound by compute (%.3f of it)", r.samples_per_s / want);
	r = run_on("4x1:v100", "star:bw=100GBps,lat=0", "alexnet", "iterations=60 speeds=0:0.5", &orr_policy_parameter_server, "mode=asp");
	struct run bsp =
		run_on("4x1:v100", "star:bw=100GBps,lat=0", "alexnet", "iterations=60 speeds=0:0.5", &orr_policy_parameter_server, "");
	ok(fabs(r.samples_per_s / bsp.samples_per_s - 1.75) < 0.05,
		"one worker of four at half speed: ASP 3.5 workers' worth, BSP 2 (ratio %.3f)", r.samples_per_s / bsp.samples_per_s);
	r = run_on("4x1:v100", "star:bw=100000GBps,lat=0", "alexnet", "iterations=20 speeds=0:0.5,1:0.7,2:0.3",
		&orr_policy_parameter_server, "mode=asp");
	near_to(r.samples_per_s / (32 * (0.5 + 0.7 + 0.3 + 1) / compute_s), 1, 1e-4, "ASP: the sum of the rates of unequal workers");
	/* The network takes no time: in the 1 / 0.3 of the slowest worker's iteration each worker computes all the time. */
	near_to(r.iteration_s, compute_s / 0.3, 1e-4, "ASP: an iteration ends with the slowest worker");
	near_to(r.least_compute_s / r.iteration_s, 1, 1e-4, "ASP: the others go on, and no mean includes time after their end");
	/* The slow worker sends during all of the others' iterations, also the last ones: so few iterations have the means of many. */
	struct run few =
		run_on("4x1:v100", "star:bw=1GBps,lat=0", "alexnet", "iterations=6 speeds=3:0.1", &orr_policy_parameter_server, "mode=asp");
	struct run many = run_on(
		"4x1:v100", "star:bw=1GBps,lat=0", "alexnet", "iterations=60 speeds=3:0.1", &orr_policy_parameter_server, "mode=asp");
	ok(fabs(few.samples_per_s / many.samples_per_s - 1) < 0.02 && fabs(few.iteration_s / many.iteration_s - 1) < 0.02 &&
			fabs(few.exposed_s / many.exposed_s - 1) < 0.02,
		"ASP: means of 6 iterations are those of 60 (%.3f, %.3f, %.3f of them)", few.samples_per_s / many.samples_per_s,
		few.iteration_s / many.iteration_s, few.exposed_s / many.exposed_s);
	struct run ssp =
		run_on("4x1:v100", "star:bw=1GBps,lat=0", "alexnet", "iterations=30", &orr_policy_parameter_server, "mode=ssp staleness=0");
	/* exposed_s above is a mean over GPUs and hosts, which have no waits; half of the devices are GPUs. */
	struct run all = run_on("4x1:v100", "star:bw=1GBps,lat=0", "alexnet", "iterations=5 exact=true", &orr_policy_parameter_server, "");
	near_to(2 * all.exposed_s, all.iteration_s - compute_s, 1e-9,
		"BSP, all iterations simulated: the wait that ends the last one counts");
	struct run same = run_on("4x1:v100", "star:bw=1GBps,lat=0", "alexnet", "iterations=30", &orr_policy_parameter_server, "");
	ok(fabs(ssp.samples_per_s / same.samples_per_s - 1) < 0.02, "SSP with staleness 0 is BSP (%.4f)",
		ssp.samples_per_s / same.samples_per_s);
	ssp = run_on("4x1:v100", "star:bw=100GBps,lat=0", "alexnet", "iterations=60 speeds=0:0.5", &orr_policy_parameter_server,
		"mode=ssp staleness=3");
	ok(fabs(ssp.samples_per_s / bsp.samples_per_s - 1) < 0.06,
		"SSP runs at the pace of the slowest worker in the long run (%.3f of BSP)", ssp.samples_per_s / bsp.samples_per_s);
}

static void local(void)
{
	struct run r = run_on("4x1:v100", "star:bw=1GBps,lat=0", "resnet50", "iterations=41", &orr_policy_local_sgd, "local_steps=8");
	double ring = 1.5 * r.params * 4 / B;
	/* The 40 iterations after the first one include five averages. */
	near_to(r.iteration_s, compute_s + ring / 8, 1e-9, "local SGD: one average in H steps");
	/* 19 iterations follow the first one: the last 16, or none, are whole periods. */
	r = run_on("4x1:v100", "star:bw=1GBps,lat=0", "resnet50", "iterations=20", &orr_policy_local_sgd, "local_steps=8");
	near_to(r.iteration_s, compute_s + ring / 8, 1e-9, "20 iterations: the mean is over whole periods");
	near_to(r.exposed_s, ring / 8, 1e-9, "and so are the accounts");
	r = run_on("4x1:v100", "star:bw=1GBps,lat=0", "resnet50", "iterations=19", &orr_policy_local_sgd, "local_steps=18");
	near_to(r.iteration_s, compute_s + ring / 18, 1e-9, "one period");
	r = run("4x1:v100", "resnet50", &orr_policy_local_sgd, "local_steps=1");
	near_to(r.iteration_s, compute_s + ring, 1e-9, "H = 1 costs what all-reduce costs");
	r = run_on("2x2:v100", "star:bw=1GBps,lat=0", "resnet50", "iterations=9", &orr_policy_local_sgd, "local_steps=1 node_averages=4");
	struct run all = run_on("2x2:v100", "star:bw=1GBps,lat=0", "resnet50", "iterations=9", &orr_policy_local_sgd, "local_steps=4");
	ok(r.iteration_s >= all.iteration_s && r.iteration_s < all.iteration_s + 0.01,
		"averages inside nodes between global ones add little time (%.4f, %.4f s)", r.iteration_s, all.iteration_s);
}

static void zero(void)
{
	/* ZeRO, section 7: the stages move 2 psi, 2 psi and 3 psi parameters, of which each GPU sends (n-1)/n. */
	static const double factor[] = { 0, 2, 2, 3 };
	double peak[4];
	for (int stage = 1; stage <= 3; stage++) {
		char set[64];
		snprintf(set, sizeof set, "stage=%d", stage);
		struct run r = run("4x1:v100", "resnet50", &orr_policy_zero, set);
		char what[80];
		snprintf(what, sizeof what, "ZeRO stage %d moves %g psi per GPU", stage, factor[stage]);
		near_to(r.sent_bytes, factor[stage] * 3 / 4 * r.params * 4, 1e-9, what);
		ok(r.iteration_s >= compute_s, "ZeRO stage %d takes the time of its volume (%.4f s)", stage, r.iteration_s);
		/* With small buckets, data that are gathered but still unscattered count as well. */
		strcat(set, " bucket_bytes=1e6");
		peak[stage] = run_on("4x1:v100", "star:bw=1000GBps,lat=0", "resnet50", "optimizer=adam", &orr_policy_zero, set).peak_bytes;
	}
	struct run ddp = run_on("4x1:v100", "star:bw=1000GBps,lat=0", "resnet50", "optimizer=adam", &orr_policy_allreduce, "");
	near_to(ddp.peak_bytes - peak[1], 8 * 3.0 / 4 * ddp.params, 1e-9, "stage 1 keeps a quarter of Adam's 8 bytes a parameter");
	ok(ddp.peak_bytes - peak[3] < (8 + 4 + 4) * 3.0 / 4 * ddp.params, "stage 3 saves at most three quarters of all state");
	ok(peak[1] > peak[2] && peak[2] > peak[3], "each stage needs less memory (%g, %g, %g MB)", peak[1] / 1e6, peak[2] / 1e6,
		peak[3] / 1e6);
	struct run wait = run("4x1:v100", "resnet50", &orr_policy_zero, "stage=1 overlap=false");
	near_to(wait.iteration_s, compute_s + 1.5 * wait.params * 4 / B, 1e-9, "stage 1 without overlap costs an all-reduce");
	struct run none = run("4x1:v100", "resnet50", &orr_policy_zero, "prefetch=0"),
		   two = run("4x1:v100", "resnet50", &orr_policy_zero, "prefetch=2");
	ok(two.iteration_s < none.iteration_s && two.peak_bytes >= none.peak_bytes, "prefetching trades memory for time (%.4f, %.4f s)",
		two.iteration_s, none.iteration_s);
	/* Mixed-precision Adam has 2 + 2 + 12 = 16 bytes per parameter. In stage 3 all of them are sharded except the gathered
	 * parameters. */
}

/* Tests that more bandwidth, more servers or fewer workers never lengthen an iteration. */
static void sweeps(void)
{
	static const struct {
		const struct orr_policy *policy;
		const char *settings;
	} cases[] = { { &orr_policy_allreduce, "" }, { &orr_policy_allreduce, "fusion=tensor overlap=false" },
		{ &orr_policy_bytescheduler, "" }, { &orr_policy_parameter_server, "" },
		{ &orr_policy_parameter_server, "placement=dedicated pull_overlap=true" }, { &orr_policy_zero, "" },
		{ &orr_policy_local_sgd, "local_steps=2" } };
	static const char *const nets[] = { "star:bw=1Gbps", "star:bw=5Gbps", "star:bw=25Gbps", "star:bw=100Gbps" };
	static const char *const clusters[] = { "2x1:v100", "3x1:v100", "4x1:v100", "8x1:v100" };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double last = INFINITY;
		bool falls = true, rises = true;
		for (int b = 0; b < 4; b++) {
			double t = run_on("4x1:v100", nets[b], "alexnet", "", cases[i].policy, cases[i].settings).iteration_s;
			falls = falls && t > 0 && t <= last * (1 + 1e-9);
			last = t;
		}
		ok(falls, "%s %s: time falls as bandwidth rises", cases[i].policy->name, cases[i].settings);
		last = 0;
		for (int n = 0; n < 4; n++) {
			double t = run_on(clusters[n], nets[1], "alexnet", "", cases[i].policy, cases[i].settings).iteration_s;
			rises = rises && t >= last * (1 - 1e-9);
			last = t;
		}
		ok(rises, "%s %s: time rises with the number of workers", cases[i].policy->name, cases[i].settings);
	}
	double last = INFINITY;
	bool falls = true;
	for (int n = 1; n <= 6; n++) {
		char set[80];
		snprintf(set, sizeof set, "placement=cpu-nodes servers=%d", n);
		double t = run("4x1:v100,6x0:v100", "alexnet", &orr_policy_parameter_server, set).iteration_s;
		falls = falls && t > 0 && t <= last * (1 + 1e-9);
		last = t;
	}
	ok(falls, "parameter-server: time falls as servers are added beside the workers");
}

/* Tests that merged lanes and separate lanes take the same time and send the same bytes. */
static void lanes(void)
{
	static const struct {
		const struct orr_policy *policy;
		const char *settings;
	} cases[] = { { &orr_policy_allreduce, "" }, { &orr_policy_allreduce, "algorithm=hierarchical" },
		{ &orr_policy_allreduce, "dense_inside=true" }, { &orr_policy_bytescheduler, "" }, { &orr_policy_zero, "stage=3" },
		{ &orr_policy_zero, "stage=1" }, { &orr_policy_local_sgd, "local_steps=2 node_averages=2" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int topk = 0; topk < (cases[i].policy == &orr_policy_zero ? 1 : 2); topk++) {
			const char *on = topk ? "merge=on compression=topk:density=0.01,compress_Bps=1e9" : "merge=on";
			const char *off = topk ? "compression=topk:density=0.01,compress_Bps=1e9" : "merge=off";
			struct run one = run_on("4x4:v100", "star:bw=1GBps", "alexnet", on, cases[i].policy, cases[i].settings);
			struct run all = run_on("4x4:v100", "star:bw=1GBps", "alexnet", off, cases[i].policy, cases[i].settings);
			if (one.code || all.code)
				printf("# %s %s\n", one.error, all.error);
			bool same = fabs(one.iteration_s / all.iteration_s - 1) < 1e-9 && fabs(one.peak_bytes / all.peak_bytes - 1) < 1e-9;
			if (!same)
				printf("# %.12g, %.12g s; %.12g, %.12g bytes\n", one.iteration_s, all.iteration_s, one.peak_bytes,
					all.peak_bytes);
			ok(same, "%s %s%s: merged lanes agree with separate lanes (%.4f s)", cases[i].policy->name, cases[i].settings,
				topk ? ", compressed" : "", one.iteration_s);
		}
}

static void refused(void)
{
	struct run r = run_on("2x1:v100", "star", "alexnet", "", &orr_policy_parameter_server, "placement=cpu-nodes");
	ok(r.code == ORR_EINPUT && strstr(r.error, "expected a cluster with nodes without GPUs"),
		"servers on node types that the cluster lacks are refused (%s)", r.error);
	r = run_on("2x1:v100", "star", "alexnet", "", &orr_policy_parameter_server, "placement=dedicated servers=2");
	ok(r.code == ORR_EINPUT && strstr(r.error, "servers=2"), "as many servers as nodes are refused (%s)", r.error);
	r = run_on("1x1:v100,1x2:v100", "star", "alexnet", "", &orr_policy_local_sgd, "node_averages=2");
	ok(r.code == ORR_EINPUT && strstr(r.error, "node_averages"), "node_averages on nodes with unequal GPU counts are refused (%s)",
		r.error);
	r = run_on("2x1:v100", "star", "alexnet", "compression=onebit", &orr_policy_zero, "");
	ok(r.code == ORR_EINPUT && strstr(r.error, "step.compression"), "compression without an all-reduce is refused (%s)", r.error);
}

int main(void)
{
	all_reduce();
	horovod();
	different_speeds();
	priorities();
	dense_inside();
	servers();
	asynchronous();
	local();
	zero();
	sweeps();
	lanes();
	refused();
	return done();
}
