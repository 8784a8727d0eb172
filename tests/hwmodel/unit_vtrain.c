/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measured iterations of Megatron-DeepSpeed on A100s, and measured all-reduces: vTrain's data (Bang et al., MICRO 2024; github
 * VIA-Research/vTrain f8dda84, data/ground_truth_multi.csv and trace/).
 *
 * Each row is predicted in two ways: with the A100's efficiency of hwmodel/devices, which comes from other measurements; and with one
 * efficiency per model size, calibrated on one row. This row is the first one of its size, or the one with the largest share of compute
 * in the uncalibrated model, because calibration changes compute.
 */
#include "tests/hwmodel/llm_step.h"

#include "tests/tap.h"

#include <gsl/gsl_multifit.h>
#include <stdlib.h>

/* ---- files ---- */

static FILE *open_data(const char *name)
{
	const char *folder = getenv("ORRERY_DATA_PATH");
	char path[4096];
	snprintf(path, sizeof path, "%s/papers/data/%s", folder ? folder : ".", name);
	FILE *f = folder ? fopen(path, "r") : NULL;
	if (!f)
		printf("# ORRERY_DATA_PATH has no papers/data/%s\n", name);
	return f;
}

struct row {
	double billions, gpus, batch, micro, hidden, heads, layers, seq, tp, dp, pp, measured_s;
	double predicted_s;
};

struct message {
	char gpu[16];
	double n, bytes, seconds;
};

enum { MAX_ROWS = 200 };
static struct row rows[MAX_ROWS];
static struct message messages[MAX_ROWS];

static int read_rows(FILE *f)
{
	char line[512];
	int n = 0;
	while (n < MAX_ROWS && fgets(line, sizeof line, f)) {
		struct row *r = &rows[n];
		if (sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &r->billions, &r->gpus, &r->batch, &r->micro,
			    &r->hidden, &r->heads, &r->layers, &r->seq, &r->tp, &r->dp, &r->pp, &r->measured_s) == 12) {
			r->measured_s /= 1e3;
			n++;
		}
	}
	return n;
}

static int read_messages(FILE *f)
{
	char line[512];
	int n = 0;
	while (n < MAX_ROWS && fgets(line, sizeof line, f)) {
		struct message *m = &messages[n];
		if (sscanf(line, "%15[^,],%lf,%lf,%lf", m->gpu, &m->n, &m->bytes, &m->seconds) == 4) {
			m->seconds *= 1e-6;
			n++;
		}
	}
	return n;
}

/* ---- an all-reduce takes latency + 2(n-1)/n bytes / bandwidth ---- */

/* Fits an all-reduce to the rows of `gpu` and `n` by least squares of relative errors. If there is one row, the latency is given. */
static struct llm_link fit(const char *gpu, double n, int count, double latency_s)
{
	struct llm_link link = { latency_s, 0, 0 };
	const struct message *of[MAX_ROWS];
	size_t k = 0;
	for (int i = 0; i < count; i++)
		if (!strcmp(messages[i].gpu, gpu) && messages[i].n == n)
			of[k++] = &messages[i];
	double share = 2 * (n - 1) / n;
	if (k == 1)
		link.Bps = share * of[0]->bytes / (of[0]->seconds - latency_s);
	if (k < 2)
		return link;
	gsl_matrix *x = gsl_matrix_alloc(k, 2), *cov = gsl_matrix_alloc(2, 2);
	gsl_vector *y = gsl_vector_alloc(k), *w = gsl_vector_alloc(k), *c = gsl_vector_alloc(2);
	double chisq;
	for (size_t i = 0; i < k; i++) {
		gsl_matrix_set(x, i, 0, 1);
		gsl_matrix_set(x, i, 1, share * of[i]->bytes);
		gsl_vector_set(y, i, of[i]->seconds);
		gsl_vector_set(w, i, 1 / (of[i]->seconds * of[i]->seconds));
	}
	gsl_multifit_linear_workspace *space = gsl_multifit_linear_alloc(k, 2);
	gsl_multifit_wlinear(x, w, y, c, cov, &chisq, space);
	link.latency_s = gsl_vector_get(c, 0);
	link.Bps = 1 / gsl_vector_get(c, 1);
	gsl_multifit_linear_free(space);
	gsl_matrix_free(x);
	gsl_matrix_free(cov);
	gsl_vector_free(y);
	gsl_vector_free(w);
	gsl_vector_free(c);
	return link;
}

/* The expected values come from an independent reading of the same table. For messages of at least 16 MB, the tolerance is 10 %. */
static void check_all_reduce(int count)
{
	const struct {
		const char *gpu;
		double latency_us, GBps;
	} want[] = { { "V100", 75, 134 }, { "A100", 90, 229 } };
	for (int k = 0; k < 2; k++) {
		struct llm_link l = fit(want[k].gpu, 8, count, 0);
		double worst = 0;
		for (int i = 0; i < count; i++)
			if (!strcmp(messages[i].gpu, want[k].gpu) && messages[i].n == 8) {
				double error = llm_all_reduce_s(&l, 8, messages[i].bytes) / messages[i].seconds - 1;
				printf("# %s x8 %11.0f bytes %9.0f us, fit %+5.1f %%\n", want[k].gpu, messages[i].bytes,
					messages[i].seconds * 1e6, 100 * error);
				if (messages[i].bytes >= 16e6 && fabs(error) > worst)
					worst = fabs(error);
			}
		printf("# %s x8: latency %.1f us, %.1f GB/s\n", want[k].gpu, l.latency_s * 1e6, l.Bps / 1e9);
		/* The latency depends on one small message and its weight in the fit, hence the tolerance of 15 %. */
		ok(fabs(l.latency_s * 1e6 / want[k].latency_us - 1) <= 0.15, "8 %s: a latency of about %.0f us", want[k].gpu,
			want[k].latency_us);
		ok(fabs(l.Bps / 1e9 / want[k].GBps - 1) <= 0.1, "8 %s: about %.0f GB/s of bus bandwidth", want[k].gpu, want[k].GBps);
		ok(worst <= 0.1, "8 %s, messages of at least 16 MB: times within 10 %% of the law", want[k].gpu);
	}
}

/* ---- iterations ---- */

static struct llm_link inside[9]; /* links inside a node, by the number of GPUs of the group */

/*
 * Returns the link of a group of n GPUs, with `near` of them in each node. Nodes have 800 Gb/s (vTrain's example configuration) in
 * eight ports, and 60 us of latency. The ports reach 85.5 % (OCI, two A100 nodes: 171 of 200 GB/s at 1 GiB).
 */
static struct llm_link link_of(uint32_t n, uint32_t near)
{
	const double port_Bps = 12.5e9 * 0.855;
	struct llm_link l = { 60e-6, near * port_Bps, 0 };
	if (n > near)
		return l;
	return inside[n > 4 ? 8 : n > 2 ? 4 : 2];
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static double predict(const struct row *r, const struct dnn *d, const struct device *dev, double efficiency, struct llm_times *t)
{
	struct orr_error err = { 0 };
	struct cost_options o = { .precision = PRECISION_FP16, .efficiency = efficiency, .dropout = true };
	struct cost *c = cost_new(d, dev, &o, &err);
	uint32_t tp = (uint32_t)r->tp, dp = (uint32_t)r->dp, per_node = tp < 8 ? 8 / tp : 1;
	struct llm_step s = { .tp = tp,
		.pp = (uint32_t)r->pp,
		.dp = dp,
		.interleave = 1,
		.micro_batch = r->micro,
		.global_batch = r->batch,
		.recompute = LLM_RECOMPUTE_FULL,
		.activation_bytes = 2,
		.gradient_bytes = 2,
		.state_bytes = 12,
		.tp_link = link_of(tp, least(tp, 8)),
		.pp_link = link_of(2, 1),
		.dp_link = link_of(dp, least(dp, per_node)) };
	if (!c || llm_step_times(d, c, &s, t, &err)) {
		printf("# %s\n", err.text);
		t->total_s = NAN;
	}
	cost_free(c);
	return t->total_s;
}

/* Finds by bisection the efficiency that reproduces the row. */
static double calibrate(const struct row *r, const struct dnn *d, const struct device *dev)
{
	struct llm_times t;
	double low = 0.05, high = 1;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;
		if (predict(r, d, dev, middle, &t) > r->measured_s)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static double rank_of(const double *v, int n, int i)
{
	double rank = 1;
	for (int k = 0; k < n; k++)
		rank += v[k] < v[i] ? 1 : k != i && v[k] == v[i] ? 0.5 : 0;
	return rank;
}

/* Returns Spearman's rank correlation; ties get the mean rank. */
static double spearman(const double *a, const double *b, int n)
{
	double sum_ab = 0, sum_aa = 0, sum_bb = 0, mean = (n + 1) / 2.0;
	for (int i = 0; i < n; i++) {
		double x = rank_of(a, n, i) - mean, y = rank_of(b, n, i) - mean;
		sum_ab += x * y;
		sum_aa += x * x;
		sum_bb += y * y;
	}
	return sum_ab / sqrt(sum_aa * sum_bb);
}

enum rule { AS_IT_IS, FIRST_ROW, MOST_COMPUTE, RULES };
static const char *const rule_names[RULES] = { "not calibrated", "calibrated on the first row", "calibrated on the row with most compute" };

struct tally {
	double sum;
	int rows;
	double least_rho, worst_rank, worst_regret;
};

/* Calibrates by the rule on a row of first..first+n-1 and sets *efficiency (0: the device's). Returns the row; -1: none. */
static int calibrate_by(enum rule rule, int first, int n, const struct dnn *d, const struct device *dev, double *efficiency)
{
	int best = rule == FIRST_ROW ? 0 : -1;
	double most = 0;
	struct llm_times t;
	for (int i = 0; rule == MOST_COMPUTE && i < n; i++) {
		double total = predict(&rows[first + i], d, dev, 0, &t);
		double share = (t.forward_s + t.backward_s + t.recompute_s) / total;
		if (share > most) {
			most = share;
			best = i;
		}
	}
	*efficiency = best < 0 ? 0 : calibrate(&rows[first + best], d, dev);
	return best;
}

/* Checks the rows first..first+n-1 of one model size. */
static void check_size(enum rule rule, int first, int n, const struct device *dev, struct tally *all)
{
	const struct row *head = &rows[first];
	struct orr_error err = { 0 };
	char spec[160];
	snprintf(spec, sizeof spec, "gpt:hidden=%.0f,layers=%.0f,heads=%.0f,seq=%.0f,vocab=51200", head->hidden, head->layers, head->heads,
		head->seq);
	struct dnn *d = dnn_load(spec, &err);
	if (!d) {
		ok(false, "%gB: %s", head->billions, err.text);
		return;
	}
	double efficiency, own = 0, measured[MAX_ROWS], predicted[MAX_ROWS];
	int used = calibrate_by(rule, first, n, d, dev, &efficiency), best = 0, chosen = 0;
	for (int i = 0; i < n; i++) {
		struct row *r = &rows[first + i];
		struct llm_times t;
		measured[i] = r->measured_s;
		predicted[i] = r->predicted_s = predict(r, d, dev, efficiency, &t);
		best = measured[i] < measured[best] ? i : best;
		chosen = predicted[i] < predicted[chosen] ? i : chosen;
		own += i == used ? 0 : fabs(predicted[i] / measured[i] - 1);
		if (rule != MOST_COMPUTE)
			printf("# %5gB TP %-2.0f DP %-2.0f PP %-2.0f micro-batch %-2.0f %8.1f ms measured %8.1f predicted %+6.1f %%%s\n",
				r->billions, r->tp, r->dp, r->pp, r->micro, 1e3 * measured[i], 1e3 * predicted[i],
				100 * (predicted[i] / measured[i] - 1), i == used ? " (calibrated)" : "");
	}
	double rho = spearman(measured, predicted, n), rank = rank_of(predicted, n, best), regret = measured[chosen] / measured[best] - 1;
	int rest = n - (used >= 0);
	printf("# %gB, %s (%.3f): mean absolute error of %d rows %.2f %%, Spearman %.3f, best plan at predicted rank %.1f, "
	       "predicted best plan %.1f %% slower than the best\n",
		head->billions, rule_names[rule], efficiency, rest, 100 * own / rest, rho, rank, 100 * regret);
	all->sum += own;
	all->rows += rest;
	if (rule == FIRST_ROW && head->billions < 30) {
		ok(rho >= 0.8, "%gB: Spearman correlation of predicted and measured times of at least 0.8", head->billions);
		ok(rank <= 3, "%gB: the fastest plan is among the three that are predicted to be the fastest", head->billions);
	}
	all->least_rho = fmin(all->least_rho, rho);
	all->worst_rank = fmax(all->worst_rank, rank);
	all->worst_regret = fmax(all->worst_regret, regret);
	dnn_free(d);
}

/* Tests tensor parallelism across nodes: the ratio of the fastest row with 16 shards and the fastest one with 8, measured as 10,719.3
 * / 4,972.3 ms. */
static void check_leaving_the_node(int n)
{
	double best[2][2] = { { INFINITY, INFINITY }, { INFINITY, INFINITY } };
	for (int i = 0; i < n; i++)
		if (rows[i].billions == 3.6 && (rows[i].tp == 8 || rows[i].tp == 16)) {
			double *b = best[rows[i].tp == 16];
			b[0] = fmin(b[0], rows[i].measured_s);
			b[1] = fmin(b[1], rows[i].predicted_s);
		}
	double measured = best[1][0] / best[0][0], predicted = best[1][1] / best[0][1];
	printf("# 3.6B, TP 16 against TP 8: measured %.2f, predicted %.2f\n", measured, predicted);
	ok(predicted >= 1.6, "tensor parallelism across nodes takes about twice as long (at least 1.6 times)");
	ok(fabs(predicted / measured - 1) <= 0.2, "the predicted ratio is within 20 %% of the measured one");
}

static void check_rule(enum rule rule, int n, const struct device *dev, double most)
{
	struct tally all = { .least_rho = 1 };
	for (int first = 0, end; first < n; first = end) {
		for (end = first; end < n && rows[end].billions == rows[first].billions; end++)
			;
		check_size(rule, first, end - first, dev, &all);
	}
	double error = all.sum / all.rows;
	printf("# %s: mean absolute error of %d rows %.2f %% (vTrain: 14.73 %%); least Spearman %.3f, worst rank of a best plan %.1f, "
	       "worst regret %.1f %%\n",
		rule_names[rule], all.rows, 100 * error, all.least_rho, all.worst_rank, 100 * all.worst_regret);
	ok(error <= most, "%s: mean absolute error of at most %.4g %%", rule_names[rule], 100 * most);
	/*
	 * The correlation of 0.8 and the rank of three are required only below 30B parameters. At 39.1B and 175B the best plans differ
	 * by at most 3 %, less than the error of the model. Two plans of 39.1B took 1.5 times as long as similar plans. The bounds for
	 * all sizes follow.
	 */
	if (rule == FIRST_ROW) {
		ok(all.least_rho >= 0.75, "every size: Spearman correlation of at least 0.75");
		ok(all.worst_regret <= 0.05, "every size: the plan predicted to be the fastest takes at most 5 %% longer than the fastest");
	}
	check_leaving_the_node(n);
}

static void check_iterations(int n)
{
	struct orr_error err = { 0 };
	struct device *dev = device_load("a100-80g", &err);
	if (!ok(dev != NULL, "the A100 is in the catalogue %s", err.text))
		return;
	/* Bounds: 14.73 % is vTrain's own error; 20 % is the goal with one calibrated row per size. 25 % applies to calibration on
	 * the first row, because the first row of 39.1B (TP 2, PP 8, micro-batch 2) is an outlier. It is slower than the same plan
	 * with micro-batch 3, whose bubble is larger. */
	check_rule(AS_IT_IS, n, dev, 0.1473);
	check_rule(FIRST_ROW, n, dev, 0.25);
	check_rule(MOST_COMPUTE, n, dev, 0.20);
	device_free(dev);
}

int main(void)
{
	FILE *f = open_data("vtrain_iteration_times.csv"), *g = open_data("allreduce_vtrain.csv");
	if (!f || !g) {
		skip("the measured iteration times are missing");
		return done();
	}
	int n = read_rows(f), count = read_messages(g);
	ok(n == 56 && count == 17, "the tables have 56 and 17 rows (found %d and %d)", n, count);
	check_all_reduce(count);
	inside[8] = fit("A100", 8, count, 0);
	inside[2] = fit("A100", 2, count, 0);
	inside[4] = fit("A100", 4, count, inside[8].latency_s);
	check_iterations(n);
	fclose(f);
	fclose(g);
	return done();
}
