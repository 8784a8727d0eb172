/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mean waits of M/M/1, M/M/4 and M/D/1 at load 0.5, two million streamed jobs each, with 99 % intervals of at most +-1 %.
 *
 * The intervals are of batch means with control variates (Lavenberg and Welch, Management Science 27(3), 1981; Law and Kelton 11.4).
 * The controls are the mean gap and the mean service time of each batch, and their squares. Their expectations are known, and they
 * explain much of the variance of the mean wait of a batch. The wait is regressed on the controls; the intercept is compared with
 * theory. / M/M/4 has one external control (same section): the waits of the same jobs at a single server that is four times as fast, by
 * Lindley's recursion. Their mean is that of M/M/1. Plain batch means (theory.sh) need many more jobs for 1 % in M/M/4.
 */
#include "base/param.h"
#include "jobs/jobs.h"
#include "tests/tap.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_multifit.h>
#include <stdlib.h>

extern const struct orr_policy orr_policy_fifo;

enum { BATCHES = 100, CONTROLS = 5 };

static struct jobs_blocks waits;
static struct blocks control[CONTROLS];

/* Adds the controls of each job, minus their expectations. */
static void add_controls(const struct jobset *s, double rate, bool is_exponential, int servers)
{
	struct job_rec r;
	int64_t last = 0;
	double wait = 0, before = 0;
	double fast_wait = rate / servers / (servers - rate); /* rho / (mu - lambda), mu = servers */
	struct jobcursor *c = jobset_open(s, 0);
	for (int k = 0; k < CONTROLS; k++)
		blocks_init(&control[k]);
	while (jobcursor_next(c, &r)) {
		double gap = (double)(r.submit_ns - last) / 1e9 * rate, service = (double)r.duration_ns / 1e9;
		last = r.submit_ns;
		blocks_add(&control[0], r.number, gap - 1);
		blocks_add(&control[1], r.number, gap * gap - 2);
		blocks_add(&control[2], r.number, service - 1);
		blocks_add(&control[3], r.number, service * service - (is_exponential ? 2 : 1));
		wait = fmax(0, wait + before / servers - gap / rate);
		before = service;
		blocks_add(&control[4], r.number, wait - fast_wait);
	}
	jobcursor_close(c);
}

/* Returns the mean per job of batch i, from the sums of blocks first, first + 1, ... */
static double batch_mean(const struct blocks *b, size_t i)
{
	size_t from = i * b->n / BATCHES, to = (i + 1) * b->n / BATCHES;
	double sum = 0, count = 0;
	for (size_t k = from; k < to; k++) {
		sum += blocks_sum(b, k);
		count += (double)b->count[k];
	}
	return sum / count;
}

/* Returns the intercept of the regression and the half-width of its interval. */
static double adjusted_mean(int controls, double *half)
{
	size_t p = (size_t)controls + 1;
	gsl_matrix *x = gsl_matrix_alloc(BATCHES, p), *cov = gsl_matrix_alloc(p, p);
	gsl_vector *y = gsl_vector_alloc(BATCHES), *beta = gsl_vector_alloc(p);
	gsl_multifit_linear_workspace *w = gsl_multifit_linear_alloc(BATCHES, p);
	double chisq;
	for (size_t i = 0; i < BATCHES; i++) {
		gsl_vector_set(y, i, batch_mean(&waits.wait, i));
		gsl_matrix_set(x, i, 0, 1);
		for (int k = 0; k < controls; k++)
			gsl_matrix_set(x, i, (size_t)k + 1, batch_mean(&control[k], i));
	}
	gsl_multifit_linear(x, y, beta, cov, &chisq, w);
	double mean = gsl_vector_get(beta, 0);
	*half = gsl_cdf_tdist_Pinv(0.995, BATCHES - (double)p) * sqrt(gsl_matrix_get(cov, 0, 0));
	gsl_multifit_linear_free(w);
	gsl_vector_free(beta);
	gsl_vector_free(y);
	gsl_matrix_free(cov);
	gsl_matrix_free(x);
	return mean;
}

static void queue(const char *name, int servers, double rate, const char *service, double want, long n, double precision)
{
	struct orr_error err = { 0 };
	char source[128], cluster[16];
	snprintf(cluster, sizeof cluster, "%dx1", servers);
	snprintf(source, sizeof source, "poisson:rate=%g,n=%ld,service=%s,mean=1", rate, n, service);
	bool is_exponential = !strcmp(service, "exp");
	struct jobset *jobs = jobset_load(source, NULL, NULL, 1, &err);
	struct cluster *c = cluster_load(cluster, &err);
	struct orr_args *options = args_new(jobs_options, "jobs", &err);
	struct orr_args *none = args_new(orr_policy_fifo.params, "policy fifo", &err);
	struct jobs_config config = { .jobs = jobs,
		.cluster = c,
		.placement = placement_find("count"),
		.options = options,
		.until_ns = ORR_NEVER,
		.policy_timeout_s = 600 };
	struct run_result *r = result_new();
	ok(jobs && c && !jobs_run(&config, &orr_policy_fifo, none, "fifo", r, &waits, &err), "%s: runs %s", name, err.text);
	add_controls(jobs, rate, is_exponential, servers);
	double half, mean = adjusted_mean(!is_exponential ? 2 : servers > 1 ? CONTROLS : CONTROLS - 1, &half);
	printf("# %s: %.6f +- %.6f (%.2f %%), theory %.6f\n", name, mean, half, 100 * half / mean, want);
	ok(fabs(mean - want) <= half, "%s: the theoretical mean wait is inside the 99 %% interval", name);
	ok(half / mean <= precision, "%s: the interval is at most +-%g %%", name, 100 * precision);
	result_free(r);
	args_free(none);
	args_free(options);
	cluster_free(c);
	jobset_free(jobs);
}

int main(void)
{
	bool is_small = getenv("ORR_SANITIZED") != NULL;
	long n = is_small ? 200000 : 2000000;
	double precision = is_small ? 0.03 : 0.01;
	/* Kleinrock, Queueing Systems I, 3.2, 3.5, 5.6; Erlang's C(4, 2) = 4/23. */
	queue("M/M/1", 1, 0.5, "exp", 1, n, precision);
	queue("M/M/4", 4, 2, "exp", 4.0 / 23 / 2, n, precision);
	queue("M/D/1", 1, 0.5, "det", 0.5, n, precision);
	return done();
}
