/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ako's times, messages and memory. Expected values: the closed forms of docs/models/step-stanza-ds-sync-ako.md for AlexNet
 * (61,100,840 parameters in FP32) on 1 Gb/s with 10 s of compute. Cuts of layers are compared with all possible cuts.
 */
#include "learn/train.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_ako, orr_policy_parameter_server;

static const double G = 4 * 61100840., B = 1.25e8, compute_s = 10;
static const char network[] = "star:bw=1Gbps,lat=0";
static bool is_slow;
static struct orr_error error;

/* ---- runs ---- */

static struct fixture *open_over(const char *net, const char *cluster, const char *model, const char *options)
{
	struct fixture *f = fixture_new(cluster, net, model, 32);
	char *text = mem_strdup(options), *save = NULL;
	fixture_set(f, "compute_s=10");
	fixture_set(f, "update_cost=none");
	fixture_set(f, "ignore_memory=true");
	for (char *o = strtok_r(text, " ", &save); o; o = strtok_r(NULL, " ", &save))
		fixture_set(f, o);
	mem_free(text);
	return f;
}

static struct fixture *open_fixture(const char *cluster, const char *model, const char *options)
{
	return open_over(network, cluster, model, options);
}

struct outcome {
	double iteration_s, rate, sent, busy_s, peak;
	double p, largest; /* p: number of partitions; largest: share of the largest one, from the policy's description of its choice */
	int code;
};

static struct outcome run_over(
	const char *net, const char *cluster, const char *model, const char *options, const struct orr_policy *p, const char *settings)
{
	struct fixture *f = open_over(net, cluster, model, options);
	struct step_result r = { 0 };
	struct outcome o = { .code = fixture_run(f, p, settings, &r, &error) };
	if (!o.code) {
		const struct step_device *d = &r.device[0];
		const char *largest = strstr(r.choice, "largest_slice=");
		o.iteration_s = r.iteration_s;
		o.rate = r.samples_per_s / 32;
		o.sent = d->sent_bytes;
		o.busy_s = d->compute_s;
		o.peak = d->peak_memory_bytes;
		o.p = !strncmp(r.choice, "p=", 2) ? strtod(r.choice + 2, NULL) : NAN;
		o.largest = largest ? strtod(largest + 14, NULL) : NAN;
		step_result_free(&r);
	}
	fixture_free(f);
	return o;
}

static struct outcome run(const char *cluster, const char *model, const char *options, const struct orr_policy *p, const char *settings)
{
	return run_over(network, cluster, model, options, p, settings);
}

static struct outcome ako(uint32_t n, const char *options, const char *settings)
{
	char cluster[32];
	snprintf(cluster, sizeof cluster, "%ux1:v100", n);
	return run(cluster, "alexnet", options, &orr_policy_ako, settings);
}

/* ---- p limits the traffic (K1 and K2 of scenarios/ako/published.csv) ---- */

static void constant_bandwidth(void)
{
	static const struct {
		uint32_t n;
		double p, use; /* p: number of partitions; use: use of the bandwidth, from the table with G = 244 MB */
	} rows[] = { { 8, 2, 0.683 }, { 16, 3, 0.976 }, { 64, 13, 0.946 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct outcome o = ako(rows[i].n, "iterations=6", "");
		double use = o.sent / (o.iteration_s * B), exact = (rows[i].n - 1) * G / (rows[i].p * B * compute_s);
		ok(o.p == rows[i].p && fabs(use - rows[i].use) < 0.05 && fabs(use / exact - 1) < 1e-9 && use <= 1 && use > 1 - 1 / o.p,
			"n=%u: p = %g, NIC use %.4f", rows[i].n, o.p, use);
		ok(o.busy_s / o.iteration_s > 0.95, "worker 0 computes %.4f of the time", o.busy_s / o.iteration_s);
	}
	uint32_t wrong = 0;
	double most = 0;
	for (uint32_t n = 2; n <= 80; n += is_slow ? 13 : 3) {
		struct outcome o = ako(n, "iterations=4", "");
		double use = o.sent / (o.iteration_s * B), p = fmax(1, ceil((n - 1) * G / (B * compute_s)));
		wrong += o.p != p || use > 1 || (p > 1 && use <= 1 - 1 / p);
		most = fmax(most, o.iteration_s);
	}
	ok(!wrong && fabs(most - compute_s) < 1e-6, "n = 2 .. 80: p of the formula, use in (1 - 1/p, 1], no time lost");
}

/* Four workers of each of two nodes send a slice to the four workers of the other node: 16 G / p bytes over the NIC in 10 s, or 8 G / p
 * over each of two NICs. Each worker also sends slices to the three others of its node. The messages of a round arrive in the next one,
 * and a steady state counts them all the same. */
static void shared_nics(void)
{
	for (uint32_t nics = 1; nics <= 2; nics++) {
		char net[64];
		snprintf(net, sizeof net, "star:bw=1Gbps,lat=0,nics=%u", nics);
		struct outcome o = run_over(net, "2x4:v100", "alexnet", "iterations=20", &orr_policy_ako, "");
		double p = ceil(16 / nics * G / (B * compute_s));
		ok(o.p == p && fabs(o.iteration_s / compute_s - 1) < 1e-9, "%u NICs of a node: p = %g, %g s an iteration", nics, o.p,
			o.iteration_s);
		ok(fabs(o.sent / (7 * G / p) - 1) < 1e-9, "each worker sends a slice to its 7 peers in each iteration (%g of it)",
			o.sent / (7 * G / p));
	}
}

static void one_partition(void)
{
	const char *const options = is_slow ? "iterations=30" : "iterations=100";
	struct outcome full = ako(64, options, "partitions=1"), part = ako(64, "iterations=6", "");
	double want = 63 * G / (B * compute_s), got = full.iteration_s / part.iteration_s;
	ok(fabs(got / want - 1) < (is_slow ? 0.05 : 0.02), "p forced to 1 at n=64: iterations %.2f times as long, want %.2f", got, want);
	/* One round is still in flight when the last iteration ends. */
	ok(fabs(full.sent / (63 * G) - 1) < (is_slow ? 0.05 : 0.02), "each worker sends its whole gradient to all 63 peers");
}

/* Tests a load of exactly 3, which needs 3 partitions: 1 GB x 3 peers in 24 s at 125 MB/s. */
static void exact_load(void)
{
	char option[64];
	snprintf(option, sizeof option, "compute_s=%.17g", 3 * G / B / 3);
	ok(ako(4, option, "").p == 3, "a load of exactly 3 takes 3 partitions");
}

/* ---- comparison with all numbers of workers and servers (K3) ---- */

static const char servers[] = "mode=asp placement=dedicated lag=2 push_overlap=false servers=";

static void splits(void)
{
	double best = 0, off = 0;
	uint32_t argmax = 0;
	for (uint32_t s = 1; s < 64; s += is_slow && (s < 9 || s > 12) ? 4 : 1) {
		char settings[128];
		snprintf(settings, sizeof settings, "%s%u", servers, s);
		struct outcome o = run("64x1:v100", "alexnet", "iterations=10", &orr_policy_parameter_server, settings);
		double w = 64 - s, want = w / fmax(compute_s, fmax(w * G / (s * B), G / B));
		off = fmax(off, fabs(o.rate / want - 1));
		if (o.rate > best) {
			best = o.rate;
			argmax = s;
		}
	}
	double gain = ako(64, "iterations=6", "").rate / best;
	ok(off < 1e-6, "asynchronous servers, 64 nodes, all splits: w / max(t, w G / (s B), G / B) (off by %.2g)", off);
	ok(argmax == 11, "the best split of 64 nodes has 11 servers (%u)", argmax);
	ok(fabs(gain / (64. / 53) - 1) < 0.01, "Ako makes 64/53 as many mini-batches (%.4f)", gain);
}

/* ---- messages ---- */

enum { MOST = 8, ROUNDS = 24 };
struct watch {
	uint32_t n, p;
	bool is_per_peer;
	double scale;
	uint64_t begun[MOST], got[MOST][MOST]; /* begun: number of gradients started; got: rounds that have arrived, [from][to] */
	uint32_t messages, disorder, wrong;
	int64_t lead, ahead_of_slices; /* largest number of iterations by which a worker was ahead of another worker, and by which it was
					  ahead of the slices that it had received */
};

static void note_lead(struct watch *w, uint32_t i)
{
	for (uint32_t j = 0; j < w->n; j++) {
		int64_t lead = (int64_t)w->begun[i] - (int64_t)w->begun[j];
		w->lead = lead > w->lead ? lead : w->lead;
		for (uint32_t k = 0; k < w->n; k++) {
			int64_t lacks = (int64_t)w->begun[i] - 1 - (int64_t)w->got[j][k];
			if (j != k)
				w->ahead_of_slices = lacks > w->ahead_of_slices ? lacks : w->ahead_of_slices;
		}
	}
}

static void hear(void *ctx, double time_s, bool is_end, uint64_t op, const struct orr_update *u, uint32_t n_updates, const uint32_t *group,
	uint32_t n_group)
{
	struct watch *w = ctx;
	uint64_t k = (op >> 32) - 1;
	(void)time_s, (void)n_updates, (void)n_group;
	if (u->kind == ORR_GRADIENT && !is_end) {
		w->begun[group[0]] = k + 1;
		note_lead(w, group[0]);
	}
	if (u->kind != ORR_SEND_SLICE || !is_end)
		return;
	uint64_t *got = &w->got[group[0]][group[1]];
	w->messages++;
	w->disorder += *got != k;
	*got = k + 1;
	w->wrong += u->slice != (w->is_per_peer ? k + group[1] : k) % w->p || u->slices != w->p || u->scale != w->scale;
}

static struct watch watched(const char *options, const char *settings, uint32_t p, bool is_per_peer, double scale)
{
	struct watch w = { .n = MOST, .p = p, .is_per_peer = is_per_peer, .scale = scale };
	struct fixture *f = open_fixture("8x1:v100", "alexnet", options);
	struct step_result r = { 0 };
	fixture_set(f, "iterations=24");
	f->config.hook = hear;
	f->config.hook_ctx = &w;
	if (fixture_run(f, &orr_policy_ako, settings, &r, &error))
		w.wrong = UINT32_MAX;
	step_result_free(&r);
	fixture_free(f);
	return w;
}

static void messages(void)
{
	static const struct {
		const char *options, *settings;
		uint32_t p;
		bool is_per_peer;
		double scale;
	} rows[] = { { "", "partitions=5", 5, false, 1 }, { "stragglers=lognormal", "partitions=3", 3, false, 1 },
		{ "stragglers=exponential", "partitions=3 slice_choice=peer outstanding=4", 3, true, 1 },
		{ "speeds=2:0.3", "partitions=4 window_reduce=average", 4, false, 0.25 },
		{ "stragglers=lognormal", "partitions=2 staleness_bound=1", 2, false, 1 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct watch w = watched(rows[i].options, rows[i].settings, rows[i].p, rows[i].is_per_peer, rows[i].scale);
		ok(w.messages == ROUNDS * MOST * (MOST - 1) && !w.disorder && !w.wrong,
			"%s %s: every peer receives one slice per round, of the expected index, in order", rows[i].settings,
			rows[i].options);
	}
}

/* Tests the staleness bound. TF.AKO's clock counts the rounds of which a worker has all slices; the slowest worker is behind the
 * others by at most the bound. */
static void staleness_bound(void)
{
	static const char *const slow = "speeds=3:0.2";
	for (int s = 0; s <= 3; s++) {
		char settings[64];
		snprintf(settings, sizeof settings, "partitions=4 outstanding=9 staleness_bound=%d", s);
		struct watch w = watched(slow, settings, 4, false, 1);
		ok(w.ahead_of_slices == s && w.lead == s + 1 && w.messages == ROUNDS * MOST * (MOST - 1),
			"staleness_bound=%d: no worker begins a round while another lacks slices of %d before (%d)", s, s + 1,
			(int)w.ahead_of_slices);
	}
	struct watch w = watched(slow, "partitions=4 outstanding=9", 4, false, 1);
	ok(w.lead > 10, "without a bound no worker waits for one at a fifth of the speed (%d ahead)", (int)w.lead);
}

/* ---- partitions of whole layers ---- */

static void search(const double *size, uint32_t layers, uint32_t p, double largest, double *best)
{
	double sum = 0;
	if (p == 1) {
		for (uint32_t i = 0; i < layers; i++)
			sum += size[i];
		*best = fmin(*best, fmax(largest, sum));
		return;
	}
	for (uint32_t i = 0; i + p <= layers; i++) {
		sum += size[i];
		search(size + i + 1, layers - i - 1, p - 1, fmax(largest, sum), best);
	}
}

static void layers(void)
{
	static const char *const models[] = { "alexnet", "vgg16" };
	static const double whole[] = { 61100840, 138357544 };
	for (int m = 0; m < 2; m++) {
		struct fixture *f = open_fixture("2x1:v100", models[m], "");
		double size[64], off = 0, bytes = 0;
		uint32_t n = 0;
		for (uint32_t l = 0; l < f->dnn->n_layers && n < 64; l++)
			if (f->dnn->layer[l].params > 0)
				size[n++] = f->dnn->layer[l].params;
		fixture_free(f);
		for (uint32_t p = 1; p <= n; p++) {
			char settings[96], options[32];
			snprintf(settings, sizeof settings, "partition_method=layers partitions=%u", p);
			snprintf(options, sizeof options, "iterations=%u",
				p + 1); /* one more iteration, because the first one is excluded from the measurement */
			struct outcome o = run("2x1:v100", models[m], options, &orr_policy_ako, settings);
			double best = INFINITY;
			search(size, n, p, 0, &best);
			off = fmax(off, o.p != p ? 1 : fabs(o.largest - best / whole[m]));
			bytes = fmax(bytes, fabs(o.sent * p / (4 * whole[m]) - 1));
		}
		ok(off < 1e-4, "%s: the largest slice is the smallest possible, for every p up to %u", models[m], n);
		ok(bytes < 1e-9, "%s: p rounds send each layer of the gradient exactly once", models[m]);
	}
	/* In KungFu's table, the largest tensor of VGG-16 has 74 % of its parameters. */
	double least = run("2x1:v100", "vgg16", "", &orr_policy_ako, "partition_method=layers partitions=1000").largest;
	ok(fabs(least - 0.7427) < 1e-3, "VGG-16: no p makes the largest slice smaller than 74 %% (%.4f)", least);
}

/* ---- memory, age, errors ---- */

/* Tests memory: the weights, the gradient, p - 1 older gradients, their sum and the inbox. */
static void memory(void)
{
	double one = ako(4, "iterations=2", "partitions=1").peak, many = ako(4, "iterations=2", "partitions=13").peak;
	ok(fabs(many - one - 12 * G) < 1 && one > 4 * G && one < 6 * G, "twelve more partitions take twelve more gradients");
}

/* Returns the staleness. In lockstep, the parameters of a gradient are read r rounds before the gradient is used. On average r = (p -
 * 1) / 2 + 2: (p - 1) / 2 rounds until its slice leaves, one to compute, one to travel. In this time the other workers make r n - 1
 * updates (without the own one), which counts for n - 1 of n gradients. Servers with lag=2 apply three rounds of w updates, minus the
 * own update. */
static double staleness(const char *cluster, const struct orr_policy *p, const char *settings)
{
	struct fixture *f = open_fixture(cluster, "alexnet", "");
	struct orr_args *learn = args_new(learn_options, "learn", &error), *own = args_new(p->params, p->name, &error);
	static const char *const set[] = { "problem=none", "inputs=60", "batch=1", "seeds=1", "max_samples=8000" };
	char *text = mem_strdup(settings), *save = NULL;
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		args_set_pair(learn, set[i], &error);
	for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
		args_set_pair(own, s, &error);
	struct train_config c = { .step = &f->config, .options = learn };
	struct train_result t = { 0 };
	double got = train_run(&c, p, own, p->name, &t, &error) ? NAN : t.seed[0].staleness;
	train_result_free(&t);
	mem_free(text);
	args_free(own);
	args_free(learn);
	fixture_free(f);
	return got;
}

static void age(void)
{
	for (uint32_t p = 2; p <= 5; p++) {
		char settings[32];
		snprintf(settings, sizeof settings, "partitions=%u", p);
		double got = staleness("8x1:v100", &orr_policy_ako, settings), want = ((0.5 * (p - 1) + 2) * 8 - 1) * 7 / 8;
		ok(fabs(got / want - 1) < 0.01, "8 workers, p=%u: gradients are %.2f updates old when used, want %.2f", p, got, want);
	}
	double got =
		staleness("16x1:v100", &orr_policy_parameter_server, "mode=asp placement=dedicated lag=2 push_overlap=false servers=3");
	ok(fabs(got / (3 * 13 - 1) - 1) < 0.01, "13 workers, 3 servers: %.2f updates old, want 38", got);
}

static void refusals(void)
{
	ok(run("4x1:v100", "alexnet", "", &orr_policy_ako, "workers=5").code == ORR_EINPUT && strstr(error.text, "at most 4"),
		"more workers than GPUs are refused: %s", error.text);
	struct outcome o = ako(1, "iterations=3", "");
	ok(!o.code && o.p == 1 && o.sent == 0 && fabs(o.iteration_s - compute_s) < 1e-9, "one worker sends nothing");
}

int main(void)
{
	is_slow = getenv("ORR_SANITIZED") != NULL;
	constant_bandwidth();
	shared_nics();
	one_partition();
	exact_load();
	splits();
	messages();
	staleness_bound();
	layers();
	memory();
	age();
	refusals();
	return done();
}
