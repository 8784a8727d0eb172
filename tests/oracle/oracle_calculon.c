/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executor with the policy megatron against Calculon, a closed-form model (Isaev et al., "Calculon: a Methodology and Tool for
 * High-Level Codesign of Systems and Large Language Models", SC 2023; github calculon-ai/calculon, caa4b11). The models are GPT-3 175B
 * on 1024 A100 (t8 p8 d16) and Megatron-1T on 3072 (t4 p64 d12), with full recomputation, sequence parallelism and ZeRO-1. Calculon's
 * reports are read from $ORRERY_DATA_PATH/oracles/calculon.
 *
 * Inputs are Calculon's times of a stage's passes (including tensor-parallel communication), the bytes of messages, and the bandwidth
 * and latency of its network. Outputs are bubble, pipeline and data-parallel communication, and the batch time.
 *
 * Calculon's network 1 charges bytes / B for a reduce-scatter or all-gather; a ring takes (n-1)/n of this time. So the links of the
 * ring get (n-1)/n of B, and messages get (n-1)/n of their bytes.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "net/collective.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

extern const struct orr_policy orr_policy_megatron;

/* From a100_80g.json: network 1 has 25 GB/s x 0.9 and 20 us; network 0 has 300 GB/s x 0.65 and 10 us, with the scalar 1.5 for both
 * halves of an all-reduce. */
static const double net1_Bps = 25e9 * 0.9, net1_s = 20e-6, net0_Bps = 300e9 * 0.65, net0_s = 10e-6, net0_scalar = 1.5;

struct report {
	double fw, bw, update, recompute, recomm, bubble, tp, pp, dp, total;
};

struct setting {
	const char *name, *file, *cluster, *dnn;
	uint32_t t, p, d, m, batch, blocks; /* batch: total samples; blocks per stage */
	double p2p_bytes;                   /* bytes of a message from one GPU to another */
	double dp_bytes;                    /* bytes of one GPU's stage */
};

static char *read_oracle(const char *name)
{
	const char *root = getenv("ORRERY_DATA_PATH");
	char path[1024];
	struct orr_error e;
	size_t n;
	snprintf(path, sizeof path, "%s/oracles/calculon/%s", root ? root : "../shared", name);
	return bytes_read_file(path, 1 << 24, &n, NULL, &e);
}

static double figure(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	return at ? strtod(at + strlen(name), NULL) : NAN;
}

static bool read_report(const char *file, struct report *r)
{
	char *text = read_oracle(file);
	if (!text)
		return false;
	*r = (struct report){ figure(text, "Batch FW time: "), figure(text, "Batch BW time: "), figure(text, "Batch optim time: "),
		figure(text, "Batch recompute overhead: "), figure(text, "Batch recomm overhead: "),
		figure(text, "Batch bubble overhead: "), figure(text, "Batch TP comm overhead: "), figure(text, "Batch PP comm overhead: "),
		figure(text, "Batch DP comm overhead: "), figure(text, "Batch total time: ") };
	mem_free(text);
	return true;
}

/* Tests Calculon's conventions against the values of its reports. */
static void test_identities(const struct setting *s, const struct report *r)
{
	double micro = (r->fw + r->bw + r->recompute + r->recomm + r->tp + r->pp) / s->m;
	near_to(r->bubble / ((s->p - 1) * micro), 1, 1e-4, "Calculon: the bubble is (p - 1) micro-batch times");
	near_to(r->pp / (2.0 * s->m * (s->p2p_bytes / net1_Bps + net1_s)), 1, 1e-3,
		"Calculon: a micro-batch pays for one message forward, one backward");
	near_to(r->dp / (2 * (s->dp_bytes / net1_Bps + s->blocks * net1_s)), 1, 1e-3,
		"Calculon: gradients are reduce-scattered and parameters gathered, block by block");
	near_to((r->fw + r->bw + r->update + r->recompute + r->recomm + r->bubble + r->tp + r->pp + r->dp) / r->total, 1, 1e-4,
		"Calculon: the parts add up to the total");
}

/* Returns the time, s, of the spans on a device in one iteration whose label has this prefix. */
static double spans(const struct step_result *r, const char *label, uint32_t device)
{
	double sum = 0;
	for (size_t i = 0; i < r->n_spans; i++) {
		const struct step_span *x = &r->span[i];
		if (x->iteration == r->span[0].iteration && x->device == device && x->label && !strncmp(x->label, label, strlen(label)))
			sum += x->end_s - x->start_s;
	}
	return sum;
}

static void compare(const char *what, double got, double want)
{
	printf("# %-28s %10.4f s, Calculon %10.4f s, %+.3f%%\n", what, got, want, 100 * (got / want - 1));
	ok(fabs(got / want - 1) <= 0.005, "%s within 0.5%%", what);
}

static void simulate(const struct setting *s, const struct report *r)
{
	char network[128], text[1024];
	struct step_result o;
	struct orr_error e = { 0 };
	double part = (s->d - 1.0) / s->d, forward = (r->fw + r->tp / 2) / s->m;
	double backward = (r->bw + r->tp / 2 + r->recompute + r->recomm) / s->m;
	snprintf(network, sizeof network, "star:bw=%.17gGBps,lat=%.17g,nics=8,gpu_bw=300GBps,gpu_lat=0", net1_Bps * part / 1e9, net1_s / 2);
	struct fixture *f = fixture_new(s->cluster, network, s->dnn, 1);
	fixture_set(f, "iterations=3");
	fixture_set(f, "algorithm=ring"); /* Calculon's algorithm: a ring per group, over one NIC of each member */
	fixture_set(f, "ignore_memory=true");
	f->config.spans = 1;
	f->config.check = false;
	snprintf(text, sizeof text,
		"tp=%u pp=%u micro_batches=%u global_batch=%u sequence_parallel=true zero=true dp_overlap=false overlap_p2p=false "
		"tp_bytes=0 "
		"stage_times=%.17g,%.17g p2p_bytes=%.17g dp_bytes=%.17g update_s=%.17g",
		s->t, s->p, s->m, s->batch, forward, backward, s->p2p_bytes * s->t * part, s->dp_bytes, r->update);
	int rc = fixture_run(f, &orr_policy_megatron, text, &o, &e);
	ok(!rc, "%s runs (%s)", s->name, rc ? e.text : o.choice);
	if (!rc) {
		/* GPU 0 belongs to the first stage, which sends forward and receives backward. */
		double pp = 2 * spans(&o, "activation", 0), dp = spans(&o, "gradients", 0) + spans(&o, "parameters", 0);
		double busy = s->m * (forward + backward) + r->update;
		compare("pipeline communication", pp, r->pp);
		compare("data-parallel communication", dp, r->dp);
		compare("bubble", o.iteration_s - busy - pp - dp, r->bubble);
		compare("batch time", o.iteration_s, r->total);
	}
	step_result_free(&o);
	fixture_free(f);
}

/* Tests Calculon's dump of the layers of GPT-3: bytes and seconds of one block. */
static void test_layers(const struct setting *s, const struct report *r)
{
	char *text = read_oracle("gpt3_1024_t8p8d16_a100_80g.layers.json");
	cJSON *j = text ? cJSON_Parse(text) : NULL;
	ok(j != NULL, "the dump of layers is read");
	if (j) {
		double n = s->m * (double)s->blocks, bytes = cJSON_GetObjectItem(j, "baseblock_recomm_size")->valuedouble / 4;
		double ring = coll_time_s(&(struct coll_shape){ .op = ORR_ALL_GATHER, .algorithm = ORR_RING, .n = s->t, .bytes = bytes }, 0,
			net0_Bps, 0, net0_Bps);
		near_to(cJSON_GetObjectItem(j, "baseblock_recomm_time")->valuedouble / (4 * (net0_scalar * ring + net0_s)), 1, 1e-9,
			"Calculon: four collectives a block, each 1.5 of our ring's closed form, (n-1)/n of the bytes, and a latency");
		near_to(n * cJSON_GetObjectItem(j, "block_fw_time")->valuedouble / r->fw, 1, 1e-4, "a stage is its blocks, forward");
		near_to(n *
				(cJSON_GetObjectItem(j, "block_agrad_time")->valuedouble +
					cJSON_GetObjectItem(j, "block_wgrad_time")->valuedouble) /
				r->bw,
			1, 1e-4, "the time of a block backward");
		near_to(cJSON_GetObjectItem(j, "block_fw_pp_size")->valuedouble, s->p2p_bytes, 0, "a message is the activations / t");
		near_to(s->blocks * cJSON_GetObjectItem(j, "block_dp_size")->valuedouble, s->dp_bytes, 0, "gradients are the weights / t");
	}
	cJSON_Delete(j);
	mem_free(text);
}

int main(void)
{
	/* Activations have micro-batch x sequence x hidden x 2 bytes / t. The weights of a stage of GPT-3 come from Calculon's dump;
	 * those of 1T are 7.325 GiB. */
	static const struct setting gpt3 = { "GPT-3 175B", "gpt3_1024_t8p8d16_a100_80g.txt", "128x8:a100-80g",
		"gpt:hidden=12288,layers=96,heads=96,seq=2048,vocab=51200", 8, 8, 16, 96, 1536, 12, 2048.0 * 12288 * 2 / 8,
		12 * 453083136.0 };
	static const struct setting megatron = { "Megatron-1T", "megatron1T_3072.txt", "384x8:a100-80g",
		"gpt:hidden=25600,layers=128,heads=160,seq=2048,vocab=51200", 4, 64, 12, 64, 3072, 2, 4 * 2048.0 * 25600 * 2 / 4,
		7.325 * 0x1p30 };
	const struct setting *all[] = { &gpt3, &megatron };
	for (int i = 0; i < 2; i++) {
		struct report r;
		if (!read_report(all[i]->file, &r)) {
			skip("Calculon's reports are not here (ORRERY_DATA_PATH)");
			continue;
		}
		test_identities(all[i], &r);
		if (!i)
			test_layers(&gpt3, &r);
		simulate(all[i], &r);
	}
	return done();
}
