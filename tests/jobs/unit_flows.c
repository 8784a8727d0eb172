/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Identities of the cost model of meta-dataflows on random flows (docs/models/jobs-flows.md): nested fan-outs, pruning, evaluators and
 * unequal branches. Expected times are computed independently of the simulator, from the numbers of the flow and the stop rules.
 */
#include "base/rng.h"
#include "tests/jobs/flow_run.h"

enum { MOST = 12 };

struct model {
	uint32_t f1, f2, keep; /* f2 = 0: not nested */
	int stop;              /* rule for stopping: 0 never, 1 satisfied, 2 improving */
	bool is_lower;
	double pre[2], evaluate, b1[MOST], b2[MOST * MOST], score[MOST * MOST];
};

static struct rng rng;

static double draw(double most)
{
	return (double)(1 + rng_below(&rng, (uint64_t)(most * 250))) * 4e-3; /* multiples of 4 ms: exact on 1 and on 4 GPUs */
}

static struct model draw_model(void)
{
	struct model m = { .f1 = 1 + (uint32_t)rng_below(&rng, MOST), .keep = 1 + (uint32_t)rng_below(&rng, 3) };
	m.f2 = rng_below(&rng, 2) ? 1 + (uint32_t)rng_below(&rng, MOST) : 0;
	m.stop = (int)rng_below(&rng, 3);
	m.is_lower = rng_below(&rng, 2);
	m.evaluate = rng_below(&rng, 2) ? draw(2) : 0;
	m.pre[0] = draw(20);
	m.pre[1] = draw(20);
	for (int i = 0; i < MOST; i++)
		m.b1[i] = draw(5);
	for (int i = 0; i < MOST * MOST; i++) {
		m.b2[i] = draw(5);
		m.score[i] = (double)rng_below(&rng, 50);
	}
	return m;
}

static void put_list(struct sbuf *s, const char *key, const double *v, uint32_t n)
{
	sbuf_printf(s, ",\"%s\":[", key);
	for (uint32_t i = 0; i < n; i++)
		sbuf_printf(s, "%s%.17g", i ? "," : "", v[i]);
	sbuf_puts(s, "]");
}

static void put_choose(struct sbuf *s, const struct model *m, const char *name, const char *input)
{
	static const char *const stops[] = { "\"stop\":\"never\"", "\"stop\":\"satisfied\"",
		"\"stop\":\"improving\",\"order\":\"convex\"" };
	sbuf_printf(s, ",{\"name\":\"%s\",\"inputs\":[\"%s\"],\"choose\":{\"keep\":%u,\"better\":\"%s\",%s}}", name, input, m->keep,
		m->is_lower ? "lower" : "higher", stops[m->stop]);
}

static char *json_of(const struct model *m)
{
	struct sbuf s = { 0 };
	sbuf_printf(&s,
		"{\"operators\":[{\"name\":\"source\",\"work_s\":%.17g},{\"name\":\"pre\",\"inputs\":[\"source\"],\"work_s\":%.17g},"
		"{\"name\":\"e1\",\"inputs\":[\"pre\"],\"explore\":%u},{\"name\":\"b1\",\"inputs\":[\"e1\"]",
		m->pre[0], m->pre[1], m->f1);
	put_list(&s, "work_s", m->b1, m->f1);
	if (m->f2) {
		sbuf_printf(&s, "},{\"name\":\"e2\",\"inputs\":[\"b1\"],\"explore\":%u},{\"name\":\"b2\",\"inputs\":[\"e2\"]", m->f2);
		put_list(&s, "work_s", m->b2, m->f1 * m->f2);
	}
	sbuf_printf(&s, ",\"evaluate_s\":%.17g,\"score\":{", m->evaluate);
	struct sbuf list = { 0 };
	put_list(&list, "values", m->score, m->f1 * (m->f2 ? m->f2 : 1));
	sbuf_printf(&s, "%s}}", sbuf_text(&list) + 1);
	if (m->f2)
		put_choose(&s, m, "c2", "b2");
	put_choose(&s, m, "c1", m->f2 ? "c2" : "b1");
	sbuf_puts(&s, "]}");
	sbuf_free(&list);
	char *text = mem_strdup(sbuf_text(&s));
	sbuf_free(&s);
	return text;
}

/* Returns the number of branches, of n in order, that run; also the best score among them. */
static uint32_t branches_run(const struct model *m, const double *score, uint32_t n, double *best)
{
	double sign = m->is_lower ? -1 : 1;
	*best = sign * score[0];
	for (uint32_t i = 0; i < n; i++) {
		uint32_t better = 0; /* number of scores before i that are at least as good */
		for (uint32_t k = 0; k < i; k++)
			better += sign * score[k] >= sign * score[i];
		*best = fmax(*best, sign * score[i]);
		if ((m->stop == 1 && i + 1 >= (m->keep < n ? m->keep : n)) || (m->stop == 2 && better >= (m->keep < n ? m->keep : n))) {
			*best *= sign;
			return i + 1;
		}
	}
	*best *= sign;
	return n;
}

/* Returns the expected time: pre + the sum of b1 over the outer branches that run + the sum of (b2 + E) over the inner branches that
 * run. */
static double expected_time(const struct model *m)
{
	double best[MOST], sum[MOST], t = m->pre[0] + m->pre[1], unused;
	for (uint32_t i = 0; i < m->f1; i++) {
		sum[i] = m->b1[i];
		best[i] = m->score[i];
		if (!m->f2) {
			sum[i] += m->evaluate;
			continue;
		}
		uint32_t n = branches_run(m, m->score + i * m->f2, m->f2, &best[i]);
		for (uint32_t k = 0; k < n; k++)
			sum[i] += m->b2[i * m->f2 + k] + m->evaluate;
	}
	uint32_t n = branches_run(m, best, m->f1, &unused);
	for (uint32_t i = 0; i < n; i++)
		t += sum[i];
	return t;
}

/* Computes the time with a separate source and prefix for each combination. */
static double sequential_time(const struct model *m)
{
	double t = 0;
	for (uint32_t i = 0; i < m->f1; i++)
		for (uint32_t k = 0; k < (m->f2 ? m->f2 : 1); k++)
			t += m->pre[0] + m->pre[1] + m->b1[i] + (m->f2 ? m->b2[i * m->f2 + k] : 0) + m->evaluate;
	return t;
}

static bool is_near(double got, double want, const char *what, int i)
{
	bool good = fabs(got - want) <= 1e-9 * want;
	if (!good)
		printf("# flow %d: %s: got %.12g, want %.12g\n", i, what, got, want);
	return good;
}

static void identities(void)
{
	int good = 0, wide = 0, alone = 0, saved = 0, never = 0;
	rng_init(&rng, 1, "flows", 0);
	for (int i = 0; i < 500; i++) {
		struct model m = draw_model();
		char *json = json_of(&m);
		double t = expected_time(&m);
		struct run_result *r = flow_run(json, "1x1", &orr_policy_mdf, DATASETS_NONE, false, "");
		good += is_near(flow_metric(r, "flow_time_mean"), t, "one GPU", i);
		saved += is_near(1 - flow_metric(r, "work_saved"), t / sequential_time(&m), "share of the work", i);
		result_free(r);
		r = flow_run(json, "2x2", &orr_policy_mdf, DATASETS_NONE, false, "");
		wide += is_near(flow_metric(r, "flow_time_mean"), t / 4, "four GPUs", i);
		result_free(r);
		if (m.stop == 0) {
			never++;
			r = flow_run(json, "1x1", &orr_policy_mdf, DATASETS_NONE, true, "");
			alone += is_near(flow_metric(r, "flow_time_mean"), sequential_time(&m), "unshared", i);
			result_free(r);
		}
		mem_free(json);
	}
	ok(good == 500, "run time of 500 random flows is the cost model's, 1e-9 (%d)", good);
	ok(wide == 500, "on four GPUs it is a quarter (%d)", wide);
	ok(saved == 500, "work done / work of separate jobs is the cost model's (%d)", saved);
	ok(alone == never && never > 100, "jobs.unshared: the sequential baseline (%d of %d)", alone, never);
}

/* Tests the exhaustive choose with ample memory: the saving is 1 - (20 + 10) / (10 * 21). */
static void headline(void)
{
	struct run_result *r = NULL;
	double best = 0;
	char json[600];
	bool is_below = true;
	for (int ratio = 20; ratio <= 1000; ratio += ratio < 60 ? 4 : 47)
		for (int f = 2; f <= 10; f++) {
			snprintf(json, sizeof json,
				"{\"operators\":[{\"name\":\"p\",\"work_s\":%d},{\"name\":\"e\",\"inputs\":[\"p\"],\"explore\":%d},{"
				"\"name\":\"b\",\"inputs\":"
				"[\"e\"],\"work_s\":1,\"score\":{\"law\":\"linear\"}},{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{}}]}",
				ratio, f);
			r = flow_run(json, "1x1", &orr_policy_mdf, DATASETS_NONE, false, "");
			double alone = f * (ratio + 1.0), saving = 1 - flow_metric(r, "flow_time_mean") / alone;
			if (ratio == 20 && f == 10)
				near_to(saving, 1 - 30.0 / 210, 1e-9, "F1: 85.7 % less than sequential jobs");
			best = fmax(best, saving);
			is_below &= saving < 1 - 1.0 / f;
			result_free(r);
		}
	printf("# F2: largest saving %.4f\n", best);
	ok(best >= 0.88 && is_below, "F2: at least 88 %%, and below 1 - 1/f everywhere");
}

/* ---- chooses by hand ---- */

/* Runs f branches of 1 s after a prefix of 1 s. */
static struct run_result *choose_run(
	const char *scores, const char *choose, const struct orr_policy *p, const char *cluster, const char *options)
{
	char json[900];
	snprintf(json, sizeof json,
		"{\"operators\":[{\"name\":\"p\",\"work_s\":1},{\"name\":\"e\",\"inputs\":[\"p\"],\"explore\":6},{\"name\":\"b\","
		"\"inputs\":[\"e\"],"
		"\"work_s\":1,\"score\":{\"values\":[%s]}},{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{%s}},{\"name\":\"d\",\"inputs\":["
		"\"c\"],\"work_s\":1}]}",
		scores, choose);
	return flow_run(json, cluster, p, DATASETS_NONE, false, options);
}

static void chooses(void)
{
	static const struct {
		const char *scores, *choose;
		double run, kept, regret, branch;
	} cases[] = {
		{ "1,5,3,9,2,4", "\"keep\":1", 6, 9, 0, 3 },
		{ "1,5,3,9,2,4", "\"stop\":\"satisfied\"", 2, 5, 4, 1 },
		{ "1,5,3,9,2,4", "\"stop\":\"satisfied\",\"keep\":1,\"threshold\":5", 2, 5, 4, 1 },
		{ "1,5,3,9,2,4", "\"stop\":\"satisfied\",\"keep\":2,\"threshold\":5", 4, 9, 0, 3 },
		{ "1,5,3,9,2,4", "\"stop\":\"satisfied\",\"keep\":1,\"threshold\":99", 6, 9, 0, 3 },
		{ "1,5,3,9,2,4", "\"stop\":\"improving\",\"order\":\"convex\",\"keep\":1", 3, 5, 4, 1 },
		{ "1,5,3,9,2,4", "\"stop\":\"improving\",\"order\":\"monotone\",\"keep\":2", 5, 9, 0, 3 },
		{ "1,5,3,9,2,4", "\"stop\":\"improving\",\"order\":\"convex\",\"keep\":1,\"better\":\"lower\"", 2, 1, 0, 0 },
		{ "5,5,5,5,5,5", "\"stop\":\"improving\",\"order\":\"convex\",\"keep\":1", 2, 5, 0, 0 },
		{ "1,5,3,9,2,4", "\"keep\":6", 6, 9, 0, 3 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct run_result *r = choose_run(cases[i].scores, cases[i].choose, &orr_policy_mdf, "1x1", "");
		bool good = flow_metric(r, "branches_run") == cases[i].run && flow_metric(r, "score_kept") == cases[i].kept &&
			    fabs(flow_metric(r, "regret") - cases[i].regret) < 1e-12 && flow_metric(r, "branch_kept") == cases[i].branch &&
			    flow_metric(r, "flow_time_mean") == cases[i].run + 2;
		if (!good)
			printf("# ran %g, kept %g, regret %g\n", flow_metric(r, "branches_run"), flow_metric(r, "score_kept"),
				flow_metric(r, "regret"));
		ok(good, "choose {%s} of %s", cases[i].choose, cases[i].scores);
		result_free(r);
	}
	/* All branches would end at 2 s on 6 GPUs. The ends of the first two satisfy the choose, which prunes the other four. */
	struct run_result *r = choose_run("1,5,3,9,2,4", "\"stop\":\"satisfied\"", &orr_policy_fifo, "1x6", "");
	ok(flow_metric(r, "branches_run") == 2 && flow_metric(r, "flow_time_mean") == 3 && flow_metric(r, "jobs_killed") == 4,
		"branches that would end at the same instant are pruned by the first that satisfy the choose");
	result_free(r);
}

/* ---- readiness ---- */

static void waits(void)
{
	static const char *const json = "{\"operators\":[{\"name\":\"a\",\"work_s\":4},{\"name\":\"b\",\"work_s\":6},{\"name\":\"c\","
					"\"inputs\":[\"a\",\"b\"],\"work_s\":1},"
					"{\"name\":\"d\",\"inputs\":[\"a\"],\"work_s\":1}]}";
	struct run_result *r = flow_run(json, "1x1", &orr_policy_fifo, DATASETS_NONE, false, "");
	/* Times in s: a runs 0-4; b runs 4-10 (waits 4); d, ready at 4, runs 10-11 (waits 6); c, ready at 10, runs 11-12 (waits 1).
	 * The JCTs from 0 are 4, 10, 11 and 12. */
	near_to(flow_metric(r, "wait_mean"), (0 + 4 + 6 + 1) / 4.0, 1e-12, "waits count from readiness");
	near_to(flow_metric(r, "jct_mean"), (4 + 10 + 11 + 12) / 4.0, 1e-12, "JCT counts from the submission of the flow");
	near_to(flow_metric(r, "flow_time_mean"), 12, 1e-12, "time of the flow");
	result_free(r);
}

int main(void)
{
	identities();
	headline();
	chooses();
	waits();
	return done();
}
