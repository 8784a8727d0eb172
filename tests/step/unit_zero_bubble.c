/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pipelines with a split backward pass. Expected values: closed forms of the bubbles (Qi et al., arXiv 2401.10241, 2; DeepSeek-AI,
 * arXiv 2412.19437, table 2); bubble rates of the authors' scheduler on the 1.5B model's profile (oracles/zero-bubble's README names
 * the code); periods and makespans of equal stages; costs and bytes of one-f-one-b on the same model.
 * tests/oracle/oracle_zero_bubble.sh compares orders and times.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/rng.h"

extern const struct orr_policy orr_policy_zb_h1, orr_policy_zb_h2, orr_policy_zb, orr_policy_zb_v, orr_policy_v_half, orr_policy_v_min,
	orr_policy_dual_pipe, orr_policy_dual_pipe_v, orr_policy_one_f_one_b;

struct outcome {
	int rc;
	struct step_result r;
	struct orr_error e;
};

static struct outcome run(uint32_t gpus, const char *model, const struct orr_policy *p, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static struct outcome run(uint32_t gpus, const char *model, const struct orr_policy *p, const char *format, ...)
{
	struct outcome o = { 0 };
	char text[1024], cluster[32], own[80];
	va_list ap;
	snprintf(cluster, sizeof cluster, "%ux1:a100", gpus);
	snprintf(own, sizeof own, "gpt:hidden=64,layers=%u,heads=4,seq=16,vocab=100", 2 * gpus);
	struct fixture *f = fixture_new(cluster, "star:bw=1GBps,lat=0", model ? model : own, 8);
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	fixture_set(f, "iterations=8");
	f->config.spans = 1;
	f->config.check = true;
	o.rc = fixture_run(f, p, text, &o.r, &o.e);
	fixture_free(f);
	return o;
}

/* Updates and sums of gradients take no time; messages take hop_s. */
#define QUIET "update_s=0 dp_bytes=0"

/* ---- schedules by hand ---- */

static void test_by_hand(void)
{
	static const double times[][3] = { { 1, 1, 1 }, { 10, 11, 9 }, { 10, 12, 7 } };
	unsigned good = 0, all = 0;
	for (uint32_t p = 4; p <= 8; p += 4)
		for (uint32_t m = 2 * p; m <= 3 * p; m += p / 2)
			for (int k = 0; k < 3; k++)
				for (int h = 1; h <= 2; h++) {
					double F = times[k][0], B = times[k][1], W = times[k][2];
					struct outcome o = run(p, NULL, h == 1 ? &orr_policy_zb_h1 : &orr_policy_zb_h2,
						"stage_times=%g,%g,%g op_memory=1,0,-1 hop_s=0 micro_batches=%u " QUIET, F, B, W, m);
					const struct step_stages *x = &o.r.stages;
					double bubble = (p - 1) * (F + B - h * W), peak = h == 1 ? p : 2 * p - 1;
					bool is_equal = !o.rc && x->bubble_s == bubble && x->longest_s == m * (F + B + W) + bubble &&
							x->peak_bytes == peak;
					if (!is_equal)
						printf("# p %u, m %u, %g %g %g, ZB-H%d: bubble %g, peak %g\n", p, m, F, B, W, h,
							x->bubble_s, x->peak_bytes);
					good += is_equal;
					all++;
					step_result_free(&o.r);
				}
	ok(all == 36 && good == all, "ZB1: ZB-H1 (p-1)(F+B-W) and p activations, ZB-H2 (p-1)(F+B-2W) and 2p-1: %u of %u", good, all);
}

/* ---- the paper's profile ---- */

static void test_profile(void)
{
	/* 1.5B parameters, p = 8: F, B, W, hop in ms, and the rate of the authors' scheduler with the memory of 1F1B. */
	static const struct {
		uint32_t m;
		double f, b, w, hop, rate;
	} row[] = { { 24, 18.522, 18.086, 9.337, 0.601, 0.1585 }, { 32, 18.513, 18.086, 9.331, 0.626, 0.1242 },
		{ 64, 18.546, 18.097, 9.321, 0.762, 0.0674 } };
	for (int i = 0; i < 3; i++) {
		struct outcome o = run(8, NULL, &orr_policy_zb, "stage_times=%g,%g,%g op_memory=34,-2,-32 hop_s=%g micro_batches=%u " QUIET,
			row[i].f, row[i].b, row[i].w, row[i].hop, row[i].m);
		double rate = o.r.stages.bubble_s / (o.r.stages.bubble_s + o.r.stages.busy_s);
		ok(!o.rc && fabs(rate - row[i].rate) <= 0.0005, "ZB6: 1.5B, m = %u: bubble rate %.4f, the authors' %.4f", row[i].m, rate,
			row[i].rate);
		step_result_free(&o.r);
	}
}

/* ---- the two lengths ---- */

static void test_lengths(void)
{
	static const struct {
		const char *name;
		const struct orr_policy *p;
		const char *set;
		double longest, makespan;
	} row[] = { { "ZB-1p", &orr_policy_zb, "stage_times=100,100,100 depth=1", 7900, 7900 },
		{ "ZB-2p", &orr_policy_zb, "stage_times=100,100,100 depth=2", 7200, 7900 },
		{ "ZB-V", &orr_policy_zb_v, "stage_times=50,50,50", 7200, 7550 },
		{ "V-Half", &orr_policy_v_half, "stage_times=50,50,50", 8050, 8050 },
		{ "V-Min", &orr_policy_v_min, "stage_times=50,50,50", 8550, 8550 } };
	for (int i = 0; i < 5; i++)
		for (int wait = 0; wait < 2; wait++) {
			struct outcome o = run(8, NULL, row[i].p, "%s op_memory=2,-1,-1 hop_s=0 micro_batches=24 post_validation=%s " QUIET,
				row[i].set, wait ? "false" : "true");
			const struct step_stages *x = &o.r.stages;
			if (o.rc || x->longest_s != row[i].longest || x->makespan_s != row[i].makespan)
				printf("# %s, %g, %g\n", o.e.text, x->longest_s, x->makespan_s);
			ok(!o.rc && x->longest_s == row[i].longest && x->makespan_s == row[i].makespan &&
					fabs(o.r.iteration_s - (wait ? row[i].makespan : row[i].longest)) < 1e-6,
				"ZB7: %s: longest stage %g, makespan %g; an iteration %s takes the %s", row[i].name, row[i].longest,
				row[i].makespan, wait ? "with a barrier" : "with post-validation", wait ? "makespan" : "longest stage");
			step_result_free(&o.r);
		}
	struct outcome o = run(8, NULL, &orr_policy_one_f_one_b, "stage_times=100,200 p2p_bytes=0 micro_batches=24 " QUIET);
	ok(!o.rc && fabs(o.r.iteration_s - 9300) < 1e-6, "ZB7: 1F1B takes 9300");
	step_result_free(&o.r);
}

/* ---- DualPipe ---- */

static void test_dual(void)
{
	unsigned good = 0, all = 0;
	for (uint32_t r = 2; r <= 8; r += 2)
		for (uint32_t m = 2 * r; m <= 4 * r; m += 2)
			for (int v = 0; v < 2; v++)
				for (double pair = 200; pair <= 300; pair += 50) {
					struct outcome o = run(r, NULL, v ? &orr_policy_dual_pipe_v : &orr_policy_dual_pipe,
						"stage_times=100,100,100 op_memory=1,0,-1 hop_s=0 micro_batches=%u pair_s=%g " QUIET, m,
						pair);
					uint32_t parts = v ? 2 * r : r;
					const struct step_stages *x = &o.r.stages;
					double bubble = (parts / 2 - 1) * (pair + 200 - 3 * 100);
					bool is_equal = !o.rc && x->makespan_s - x->least_busy_s == bubble && x->peak_bytes == parts + 1;
					if (!is_equal)
						printf("# %u stages, m %u, v %d: %s bubble %g, not %g; peak %g\n", r, m, v, o.e.text,
							x->makespan_s - x->least_busy_s, bubble, x->peak_bytes);
					good += is_equal;
					all++;
					step_result_free(&o.r);
				}
	ok(all > 100 && good == all, "ZB5: largest bubble (PP/2-1)(pair + D - 3W), PP + 1 activations: %u of %u", good, all);
}

/* ---- models and networks ---- */

static double computed(const struct step_result *r)
{
	double sum = 0;
	for (size_t i = 0; i < r->n_devices; i++)
		sum += r->device[i].compute_s;
	return sum;
}

static double sent(const struct step_result *r)
{
	double sum = 0;
	for (size_t i = 0; i < r->n_devices; i++)
		sum += r->device[i].sent_bytes;
	return sum;
}

static void test_models(void)
{
	static const char model[] = "gpt:hidden=256,layers=16,heads=8,seq=64,vocab=1000";
	static const struct orr_policy *const p[] = { &orr_policy_zb_h1, &orr_policy_zb_h2, &orr_policy_zb, &orr_policy_zb_v,
		&orr_policy_v_half, &orr_policy_v_min, &orr_policy_dual_pipe_v, &orr_policy_dual_pipe };
	struct outcome a = run(4, model, &orr_policy_one_f_one_b, "cut=blocks micro_batches=8");
	/* By hand: hidden states of 4 samples cross a cut forward and backward, 8 times each. There and back there are 6 cuts instead of 3,
	 * and both ends of the model are on stage 0, so the shared table of 1000 x 256 needs no sum. DualPipe sums all parameters of
	 * the two copies: 12 h^2 + 13 h per block, table, positions, last norm. */
	double cut = 2 * 8 * 4 * 64 * 256 * 4.0, table = 1000 * 256 * 4.0;
	double params = 16 * (12 * 256 * 256 + 13 * 256.) + (1000 + 64) * 256 + 2 * 256;
	near_to(sent(&a.r), 3 * cut + 2 * table, 1e-9, "1F1B: three cuts and the shared table");
	for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
		struct outcome o = run(4, model, p[i], "cut=blocks micro_batches=8");
		double want = i < 3 ? 3 * cut + 2 * table : i < 7 ? 6 * cut : 3 * cut + 2 * 4 * params;
		ok(!o.rc && fabs(computed(&o.r) / computed(&a.r) - 1) < 1e-9, "%s: the passes of the model take as long as under 1F1B",
			p[i]->name);
		near_to(sent(&o.r), want, 1e-9, "messages between stages, and sums of gradients that two stages share");
		step_result_free(&o.r);
	}
	step_result_free(&a.r);
}

/* ---- random inputs ---- */

static void test_random(void)
{
	static const struct orr_policy *const p[] = { &orr_policy_zb, &orr_policy_zb_v, &orr_policy_v_half, &orr_policy_v_min };
	struct rng r;
	unsigned bad = 0, runs = 0;
	rng_init(&r, 7, "zero-bubble", 0);
	for (int i = 0; i < 240; i++) {
		uint32_t stages = 1 + (uint32_t)(7 * rng_uniform(&r)), m = 1 + (uint32_t)(16 * rng_uniform(&r)), k = (uint32_t)(i % 4);
		double F = 1 + floor(99 * rng_uniform(&r)), B = 1 + floor(99 * rng_uniform(&r)), W = 1 + floor(99 * rng_uniform(&r));
		double hop = floor(30 * rng_uniform(&r)), freed = floor(8 * rng_uniform(&r)), depth = 1 + rng_uniform(&r);
		char limit[40] = "";
		if (k < 2)
			snprintf(limit, sizeof limit, "depth=%g", depth);
		struct outcome o = run(stages, NULL, p[k], "stage_times=%g,%g,%g op_memory=8,%g,%g hop_s=%g micro_batches=%u %s " QUIET, F,
			B, W, -freed, freed - 8, hop, m, limit);
		double work = (k ? 2 : 1) * m * (F + B + W), most = (k ? 2 : 1) * 8 * depth * stages;
		const struct step_stages *x = &o.r.stages;
		bool is_good = !o.rc && x->busy_s == work && x->makespan_s >= work && x->makespan_s >= x->longest_s &&
			       (k >= 2 || x->peak_bytes <= most);
		if (!is_good)
			printf("# %s: p %u m %u: %g,%g,%g hop %g freed %g depth %g: %s; makespan %g, work %g, peak %g\n", p[k]->name,
				stages, m, F, B, W, hop, freed, depth, o.e.text, x->makespan_s, work, x->peak_bytes);
		bad += !is_good;
		runs++;
		step_result_free(&o.r);
	}
	ok(!bad, "random times and memory: all ops run once, under the limit (%u of %u runs fail)", bad, runs);
}

/* Writes three numbers for each part: a, then the shares of b and c; by time they are 1 to `spread` times 10. */
static void put_triples(char *out, size_t size, struct rng *r, uint32_t parts, double spread, bool is_memory)
{
	size_t n = 0;
	for (uint32_t i = 0; i < parts; i++) {
		double a = floor(10 + 10 * (spread - 1) * rng_uniform(r)), b = floor(a * rng_uniform(r));
		n += (size_t)snprintf(out + n, size - n, "%s%g,%g,%g", i ? "," : "", a, is_memory ? -b : 2 * a - b, is_memory ? b - a : b);
	}
}

/* With the default depth the heuristics find orders for parts of any sizes. */
static void test_unequal(void)
{
	struct rng r;
	unsigned bad = 0, runs = 0;
	rng_init(&r, 8, "zero-bubble", 0);
	for (int i = 0; i < 200; i++) {
		bool is_v = i % 2;
		uint32_t stages = 2 + (uint32_t)(6 * rng_uniform(&r)), m = stages + (uint32_t)(16 * rng_uniform(&r));
		char times[1000], memory[1000];
		put_triples(times, sizeof times, &r, stages * (is_v ? 2 : 1), i < 100 ? 1.5 : 10, false);
		put_triples(memory, sizeof memory, &r, stages * (is_v ? 2 : 1), i < 100 ? 1.5 : 10, true);
		struct outcome o = run(stages, NULL, is_v ? &orr_policy_zb_v : &orr_policy_zb,
			"stage_times=%s op_memory=%s micro_batches=%u " QUIET, times, memory, m);
		if (o.rc)
			printf("# p %u m %u times %s memory %s: %s\n", stages, m, times, memory, o.e.text);
		bad += o.rc != ORR_OK;
		runs++;
		step_result_free(&o.r);
	}
	ok(!bad, "parts of unequal sizes: %u of %u runs fail", bad, runs);
}

/* ---- errors ---- */

/* A small first stage: 1F1B keeps 4 x 1, 3 x 4, 2 x 4 and 4 bytes. The default limit is the largest of these, 12 bytes; 4 bytes would be
 * one micro-batch in stages 1 to 3. */
static void test_small_first(void)
{
	struct outcome o =
		run(4, NULL, &orr_policy_zb, "stage_times=1,1,1 op_memory=1,0,-1,4,0,-4,4,0,-4,4,0,-4 hop_s=0 micro_batches=12 " QUIET);
	near_to(o.r.stages.peak_bytes, 12, 1e-9, "the limit is the largest memory of 1F1B");
	ok(o.r.stages.makespan_s <= 3 * (12 + 3), "not longer than 1F1B, 45 s: %g s", o.r.stages.makespan_s);
	step_result_free(&o.r);
}

static void refused(const struct orr_policy *p, const char *set, const char *says, const char *what)
{
	struct outcome o = run(4, NULL, p, "%s", set);
	if (o.rc != ORR_EINPUT || !strstr(o.e.text, says))
		printf("# %d: %s\n", o.rc, o.e.text);
	ok(o.rc == ORR_EINPUT && strstr(o.e.text, says), "%s", what);
	step_result_free(&o.r);
}

static void test_errors(void)
{
	refused(&orr_policy_zb, "stage_times=1,2", "stage_times: expected 3 numbers", "two times per stage");
	refused(&orr_policy_zb, "stage_times=1,-2,1", "expected at least 0 seconds", "a negative time");
	refused(&orr_policy_zb, "op_memory=10,-4,-5", "F + B + W = 0", "memory that is never freed");
	refused(&orr_policy_zb, "op_memory=-10,4,6", "expected F at least 0", "a forward that frees");
	refused(&orr_policy_zb, "op_memory=10,-4,-6 max_memory=9", "max_memory=9: expected at least the 10 bytes", "room for no forward");
	refused(&orr_policy_zb_v, "op_memory=10,-4,-6 max_memory=15", "no setting of the heuristic fits", "room for one forward");
	struct outcome few = run(4, "gpt:hidden=64,layers=2,heads=4,seq=16,vocab=100", &orr_policy_zb_v, "%s", "");
	ok(few.rc == ORR_EINPUT && strstr(few.e.text, "a model cut into 8 parts, one or more per stage: expected at most 6"),
		"a model with fewer pieces than two for each of 4 stages: %s", few.e.text);
	refused(&orr_policy_zb, "stages=3", "4 GPUs: expected a multiple of the 3 stages", "stages that do not divide the GPUs");
	refused(&orr_policy_dual_pipe, "micro_batches=7", "expected an even number", "DualPipe with an odd number of micro-batches");
	refused(&orr_policy_dual_pipe, "micro_batches=6", "at least twice as many", "DualPipe with few micro-batches");
	refused(&orr_policy_dual_pipe_v, "micro_batches=7", "at least twice as many", "DualPipeV with few micro-batches");
}

int main(void)
{
	test_by_hand();
	test_profile();
	test_lengths();
	test_dual();
	test_models();
	test_random();
	test_unequal();
	test_small_first();
	test_errors();
	return done();
}
