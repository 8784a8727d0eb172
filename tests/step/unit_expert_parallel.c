/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expert and context parallelism: expert-parallel, megatron. Expected values by hand: bytes from counts of tokens, times from these
 * bytes and the bandwidth; DeepSeek's measured pair (deepseek-ai/profile-data 4496024).
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_expert_parallel, orr_policy_megatron, orr_policy_context_parallel;

/* 8 experts, 2 per token, hidden 64, 16 tokens per sample. */
#define SMALL "moe:hidden=64,layers=4,heads=4,seq=16,vocab=100,experts=8,top_k=2,width=32"

struct numbers {
	double seconds, sent, compute, memory;
};

static struct numbers run(const struct orr_policy *p, const char *cluster, const char *network, const char *model, double batch,
	const char *set, const char *options)
{
	struct fixture *f = fixture_new(cluster, network, model, batch);
	struct step_result r;
	struct orr_error err = { 0 };
	struct numbers n = { NAN, 0, 0, 0 };
	char *text = strdup(options), *save = NULL;
	for (char *o = strtok_r(text, " ", &save); o; o = strtok_r(NULL, " ", &save))
		fixture_set(f, o);
	free(text);
	if (fixture_run(f, p, set, &r, &err)) {
		printf("# %s\n", err.text);
	} else {
		n.seconds = r.iteration_s;
		for (size_t i = 0; i < r.n_devices; i++) {
			n.sent += r.device[i].sent_bytes;
			n.compute = fmax(n.compute, r.device[i].compute_s);
			n.memory = fmax(n.memory, r.device[i].peak_memory_bytes);
		}
		step_result_free(&r);
	}
	fixture_free(f);
	return n;
}

static void refused(const struct orr_policy *p, const char *cluster, const char *model, const char *set, const char *text)
{
	struct fixture *f = fixture_new(cluster, "star", model, 4);
	struct step_result r;
	struct orr_error err = { 0 };
	bool failed = fixture_run(f, p, set, &r, &err) != 0;
	if (!failed)
		step_result_free(&r);
	ok(failed && strstr(err.text, text), "refused: %s", err.text);
	fixture_free(f);
}

/* Four nodes of one GPU, 1 GB/s, per-expert: each GPU sends tokens x 2 x 3/4 messages of the given bytes. */
static void check_exchange(void)
{
	const char *net = "star:bw=1GBps,lat=0";
	double tokens = 4 * 16, share = 2 * 0.75;
	struct numbers n = run(&orr_policy_expert_parallel, "4x1:v100", net, SMALL, 4,
		"work=dispatch layers=3 ep_mode=per-expert dispatch_bytes=1e6 ep_alpha=0.25", "");
	near_to(n.seconds, 3 * (0.25 + tokens * share * 1e6 / 1e9), 1e-9, "a dispatch: bytes / bandwidth and the start-up");
	near_to(n.sent, 3 * 4 * tokens * share * 1e6, 1e-9, "its bytes");
	n = run(&orr_policy_expert_parallel, "4x1:v100", net, SMALL, 4, "work=combine ep_mode=per-expert combine_bytes=2e6 ep_alpha=0", "");
	near_to(n.seconds, tokens * share * 2e6 / 1e9, 1e-9, "a combine has its own bytes");
	/* A token visits a GPU, of two experts, with probability 1 - C(6,2)/C(8,2) = 13/28. */
	n = run(&orr_policy_expert_parallel, "4x1:v100", net, SMALL, 4, "work=dispatch ep_mode=per-rank dispatch_bytes=1e6 ep_alpha=0", "");
	near_to(n.seconds, tokens * 3 * 13 / 28. * 1e6 / 1e9, 1e-9, "once per GPU");
	n = run(&orr_policy_expert_parallel, "4x1:v100", net, SMALL, 4, "work=dispatch ep_mode=per-node dispatch_bytes=1e6 ep_alpha=0", "");
	near_to(n.seconds, tokens * 3 * 13 / 28. * 1e6 / 1e9, 1e-9, "once per node: the same with one GPU per node");
	/* Two nodes of two GPUs, a NIC per GPU: probability of a node 1 - C(4,2)/C(8,2) = 11/14. */
	n = run(&orr_policy_expert_parallel, "2x2:v100", "star:bw=1GBps,lat=0,nics=2,gpu_bw=1TBps,gpu_lat=0", SMALL, 4,
		"work=dispatch dispatch_bytes=1e6 ep_alpha=0", "nic_efficiency=1");
	near_to(n.seconds, tokens * 11 / 14. * 1e6 / 1e9, 1e-9, "two nodes of two GPUs: once per node over the NIC");
	/* FP8: 64 + 4 x 1 bytes; BF16: 128. */
	n = run(&orr_policy_expert_parallel, "4x1:v100", net, SMALL, 4, "work=dispatch ep_mode=per-expert", "");
	near_to(n.sent, 4 * tokens * share * 68, 1e-9, "a token in FP8 has a scale");
	n = run(&orr_policy_expert_parallel, "4x1:v100", net, SMALL, 4, "work=combine ep_mode=per-expert", "");
	near_to(n.sent, 4 * tokens * share * 128, 1e-9, "and 2 bytes per value in a combine");
}

/* Given kernels: attention 1, MLP 2 s; the busiest GPU has `imbalance` x the mean. Exchanges take no time. */
static void check_skew(void)
{
	static const double exponent[] = { 0, 0.3, 0.6 };
	const char *net = "star:bw=1000TBps,lat=0,gpu_bw=1000TBps,gpu_lat=0";
	for (size_t i = 0; i < sizeof exponent / sizeof *exponent; i++) {
		char set[200];
		double first = 0, all = 0;
		for (int e = 1; e <= 8; e++) {
			all += pow(e, -exponent[i]);
			first += e <= 2 ? pow(e, -exponent[i]) : 0;
		}
		snprintf(set, sizeof set, "kernel_s=1,2,0,0,0,0 ep_alpha=0 expert_skew=%g", exponent[i]);
		double plain = run(&orr_policy_expert_parallel, "1x4:v100", net, SMALL, 4, set, "").seconds;
		near_to(plain, 1 + 2 * 4 * first / all, 1e-6, "the busiest GPU sets the time of a layer");
		snprintf(set, sizeof set, "kernel_s=1,2,0,0,0,0 ep_alpha=0 expert_skew=%g expert_copies=4", exponent[i]);
		double copied = run(&orr_policy_expert_parallel, "1x4:v100", net, SMALL, 4, set, "").seconds;
		ok(i ? copied < plain : fabs(copied - plain) < 1e-6, "copies of hot experts: %g s instead of %g s", copied, plain);
	}
}

/* Attention 1 s, MLP 2 s, exchanges 3 s each: two halves of 0.5, 1, 1.5 s. The exchanges are the bottleneck: 0.5 s until the first one, and
 * four of 1.5 s; the last MLP ends in time. */
static void check_two_batches(void)
{
	const char *net = "star:bw=1TBps,lat=0";
	double one = run(&orr_policy_expert_parallel, "1x4:v100", net, SMALL, 4, "kernel_s=1,2,0,0,0,0,3,3,0,0", "").seconds;
	near_to(one, 1 + 3 + 2 + 3, 1e-9, "one batch: the sum");
	double two = run(&orr_policy_expert_parallel, "4x1:v100", "star:bw=1GBps,lat=0", SMALL, 4,
		"kernel_s=1,2,0,0,0,0 ep_overlap=two-batch ep_mode=per-expert dispatch_bytes=3.125e7 combine_bytes=3.125e7 ep_alpha=0", "")
			     .seconds;
	near_to(two, 0.5 + 4 * 1.5, 1e-9, "two batches: one computes while the other is sent");
}

/* Kernel times per layer, ms, of one H800 with EP 64. The measured pair took 129.0 ms; its bound is the sum of computing. */
static void check_pair(void)
{
	double pair = run(&orr_policy_expert_parallel, "1x8:v100", "star", SMALL, 4,
		"work=pair layers=4 kernel_s=4.37,4.60,9.2,5.31,2.39,5.06,6.69,8.68,7.49,5.77", "")
			      .seconds;
	double compute = 4 * (4.37 + 4.60 + 9.2 + 5.31 + 2.39 + 5.06), sent = 4 * (6.69 + 8.68 + 7.49 + 5.77), bound = fmax(compute, sent);
	printf("# pair %.2f, measured 129.0, bound %.2f\n", pair, bound);
	ok(fabs(pair / 129 - 1) < 0.05, "DeepSeek's pair within 5 %%: %.2f", pair);
	ok(fabs(pair - 129) < fabs(bound - 129), "and nearer than the bound %.2f", bound);
	/* By hand: one layer of 1 s each; AF and CB, then MB MW (DF beside), MF (DB beside), AB (CF beside), AW. */
	near_to(run(&orr_policy_expert_parallel, "1x8:v100", "star", SMALL, 4, "work=pair kernel_s=1,1,1,1,1,1,1,1,1,1", "").seconds, 6,
		1e-9, "a pair of one layer");
	/* Exchanges of 3 s: CB, DF, DB, CF one after the other; MB at 3, MF at 6; DB 6..9, CF 9..12. */
	near_to(run(&orr_policy_expert_parallel, "1x8:v100", "star", SMALL, 4, "work=pair kernel_s=1,1,1,1,1,1,3,3,3,3", "").seconds, 12,
		1e-9, "a pair that is bound by its exchanges");
}

/* megatron on 8 GPUs: bytes of exchanges, gradients, keys and values. */
static void check_megatron_bytes(void)
{
	const char *net = "star:bw=1GBps,lat=0,gpu_bw=1GBps,gpu_lat=0";
	double T = 16, share = 2 * 0.75; /* a micro-batch of one sample */
	struct numbers n = run(&orr_policy_megatron, "8x1:v100", net, SMALL, 1,
		"ep=4 micro_batches=3 global_batch=24 dp_bytes=0 ep_mode=per-expert dispatch_bytes=100 combine_bytes=200 ep_alpha=0", "");
	near_to(n.sent, 8 * 3 * 4 * 2 * T * share * 300, 1e-9, "four exchanges per layer and micro-batch");
	struct numbers d = run(&orr_policy_megatron, "8x1:v100", net, SMALL, 1,
		"ep=4 micro_batches=3 global_batch=24 dp_bytes=0 ep_mode=per-expert ep_alpha=0", "");
	near_to(d.sent, 8 * 3 * 4 * 2 * T * share * 2 * 64 * 4, 1e-9, "by default a token has the bytes of its activations, 64 in FP32");
	/* Parameters: 4 layers of 8 experts of 3 x 64 x 32. The others are summed over 8 GPUs, experts over 2. A ring sends 2 (n - 1) / n.
	 */
	double experts = 4 * 8 * 3. * 64 * 32, all = experts + 4 * (4. * 64 * 64 + 64 * 8 + 2 * 64) + 64 + 2. * 64 * 100;
	struct numbers g = run(&orr_policy_megatron, "8x1:v100", net, SMALL, 1,
		"ep=4 micro_batches=3 global_batch=24 ep_mode=per-expert dispatch_bytes=0 combine_bytes=0 ep_alpha=0", "");
	near_to(g.sent, 4 * (8 * 2 * 7 / 8. * (all - experts) + 8 * 2 * 1 / 2. * experts / 4), 1e-9,
		"gradients of experts are summed over fewer GPUs");
	/* K and V of 2 samples x 16 tokens x 2 x 64 values in FP32, gathered twice and scattered once over 4 GPUs for each of 4 layers. */
	struct numbers c = run(&orr_policy_megatron, "8x1:v100", net, "llama:hidden=64,layers=4,heads=4,seq=16,vocab=100", 1,
		"cp=4 micro_batches=3 global_batch=12 dp_bytes=0", "");
	near_to(c.sent, 8 * 3 * 4 * 3 * 0.75 * (2 * 16 * 2 * 64 * 4), 1e-9, "context parallelism: keys and values");
	/* Memory: 4 of 8 GPUs have a quarter of the experts each. */
	struct numbers one = run(&orr_policy_megatron, "8x1:v100", net, SMALL, 1, "ep=1 micro_batches=3 global_batch=24", "");
	struct numbers four = run(&orr_policy_megatron, "8x1:v100", net, SMALL, 1, "ep=4 micro_batches=3 global_batch=24", "");
	near_to(one.memory - four.memory, experts * 0.75 * 8, 1e-9, "a GPU holds its experts' weights and gradients");
}

/* Times: stage_times give forward and backward; each of four layers adds two exchanges to either. */
static void check_megatron_times(void)
{
	double x = 16 * 2 * 0.75 * 1e6 / 1e9;
	struct numbers n = run(&orr_policy_megatron, "4x1:v100", "star:bw=1GBps,lat=0", SMALL, 1,
		"ep=4 micro_batches=3 global_batch=12 dp_bytes=0 update_s=0 stage_times=1,2 ep_mode=per-expert dispatch_bytes=1e6 "
		"combine_bytes=1e6 "
		"ep_alpha=0.1",
		"");
	near_to(n.seconds, 3 * (1 + 2 + 4 * 4 * (x + 0.1)), 1e-9, "exchanges add to the given times of a stage");
}

/* All dimensions together; each lane or one for all. */
static void check_merge(void)
{
	const char *model = "moe:hidden=64,layers=4,heads=4,seq=64,vocab=100,experts=16,top_k=4,width=32,shared=1,first_dense=1,ffn=128";
	const char *latent = "moe:hidden=64,layers=4,heads=4,seq=64,vocab=100,experts=16,top_k=2,width=32,groups=4,top_groups=2,q_rank=32,"
			     "kv_rank=16,nope=16,"
			     "rope=8,v_dim=16";
	static const char *const sets[] = { "tp=2 cp=2 pp=2 ep=4 sequence_parallel=true micro_batches=4 global_batch=16 zero=true",
		"tp=1 cp=1 pp=2 ep=8 micro_batches=4 global_batch=64 ep_overlap=two-batch recompute=full",
		"tp=2 cp=1 pp=4 ep=2 sequence_parallel=true micro_batches=4 global_batch=16 ep_mode=per-rank recompute=selective" };
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
		for (int m = 0; m < 2; m++) {
			const char *net = "leaf-spine:leaves=4,spines=4,rails=true,bw=10GBps,nics=4";
			struct numbers on = run(&orr_policy_megatron, "8x4:a100", net, m ? latent : model, 1, sets[i], "merge=on pxn=true");
			struct numbers off =
				run(&orr_policy_megatron, "8x4:a100", net, m ? latent : model, 1, sets[i], "merge=off pxn=true");
			near_to(on.seconds, off.seconds, 1e-9, "merged lanes take the time of each lane");
			near_to(on.sent, off.sent, 1e-9, "and send its bytes");
		}
	struct numbers equal = run(&orr_policy_megatron, "8x4:a100", "star:bw=10GBps,nics=4", model, 1,
		"pp=2 ep=8 micro_batches=4 global_batch=64", "merge=auto");
	struct numbers skewed = run(&orr_policy_megatron, "8x4:a100", "star:bw=10GBps,nics=4", model, 1,
		"pp=2 ep=8 micro_batches=4 global_batch=64 expert_skew=0.5", "merge=auto");
	ok(skewed.seconds > equal.seconds, "unequal loads take longer: %g, %g s", skewed.seconds, equal.seconds);
}

static const char small_moe[] = "moe:hidden=1024,layers=4,heads=16,seq=512,vocab=1000,experts=8,top_k=2,width=1024";

/* Tests clusters whose GPUs are of two types: all take the times of the slower type. Groups of one GPU send no messages. */
static void check_types(const struct orr_policy *p)
{
	double v100 = run(p, "4x1:v100", "star", small_moe, 1, "ep=1", "").seconds;
	near_to(run(p, "2x1:v100,2x1:h100", "star", small_moe, 1, "ep=1", "").seconds, v100, 1e-9, "the slower type first: its time");
	near_to(run(p, "2x1:h100,2x1:v100", "star", small_moe, 1, "ep=1", "").seconds, v100, 1e-9, "the slower type last: its time");
}

/* Tests that given times replace those of the cost model, recomputation included: 0.03 s per micro-batch. */
static void check_given_times(const struct orr_policy *p)
{
	double none = run(p, "1x4:h100", "star", small_moe, 1, "ep=4 micro_batches=1 stage_times=0.01,0.02", "").compute;
	double full = run(p, "1x4:h100", "star", small_moe, 1, "ep=4 micro_batches=1 stage_times=0.01,0.02 recompute=full", "").compute;
	near_to(full, none, 1e-9, "stage_times includes recomputation");
}

int main(void)
{
	check_exchange();
	check_skew();
	check_two_batches();
	check_pair();
	check_megatron_bytes();
	check_megatron_times();
	check_merge();
	refused(&orr_policy_expert_parallel, "1x4:v100", "bert_base_s128", "", "routed experts");
	refused(&orr_policy_expert_parallel, "1x4:v100", SMALL, "ep=1 work=combine", "expected at least 2 GPUs");
	refused(&orr_policy_expert_parallel, "1x4:v100", SMALL, "ep=3", "ep=3: expected a divisor");
	refused(&orr_policy_expert_parallel, "1x4:v100", SMALL, "kernel_s=1,2", "kernel_s: expected 6 or 10");
	refused(&orr_policy_expert_parallel, "1x4:v100", SMALL, "work=pair ep_overlap=two-batch", "expected none with work=pair");
	refused(&orr_policy_expert_parallel, "1x4:v100", SMALL, "expert_copies=3", "expected a sum that the 4 GPUs divide");
	refused(&orr_policy_expert_parallel, "3x1:v100", SMALL, "expert_groups=3", "a number of groups that divides");
	refused(&orr_policy_megatron, "1x4:v100", "bert_base_s128", "ep=2", "routed experts");
	refused(&orr_policy_megatron, "1x4:v100", SMALL, "ep=3", "ep=3: expected a divisor");
	refused(&orr_policy_megatron, "1x4:v100", SMALL, "tp=2 ep=2", "expected sequence_parallel=true");
	refused(&orr_policy_megatron, "1x4:v100", SMALL, "cp=3", "cp=3: expected a divisor");
	refused(&orr_policy_megatron, "1x4:v100", SMALL, "cp=2 dp_stride=2", "dp_stride=2: expected 1");
	refused(&orr_policy_megatron, "3x2:v100", "moe:hidden=64,layers=4,heads=4,seq=16,vocab=100,experts=12,top_k=2,width=32", "ep=3",
		"different numbers of GPUs");
	check_types(&orr_policy_expert_parallel);
	check_given_times(&orr_policy_megatron);
	refused(&orr_policy_expert_parallel, "2x3:h100", small_moe, "ep=2", "ep=2: GPUs 2..3 are spread over nodes differently");
	refused(&orr_policy_megatron, "2x3:h100", small_moe, "ep=2", "ep=2: GPUs 2..3 are spread over nodes differently");
	return done();
}
