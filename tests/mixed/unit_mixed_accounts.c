/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_mixed_accounts.c - GPU-time of jobs, replicas and idle GPUs, its price, and the laws that --check verifies; by hand */
#include "mixed/account.h"

#include "cluster/placement.h"

#include "tests/tap.h"

static double metric(const struct run_result *r, const char *name)
{
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}

static void expect(const struct run_result *r, const char *name, double want)
{
	double got = metric(r, name);
	ok(isnan(want) ? isnan(got) : fabs(got - want) <= 1e-12 * fmax(1, fabs(want)), "%s is %.12g (%.12g)", name, want, got);
}

static struct pool_alloc take(struct pool *p, uint32_t gpus, uint32_t type)
{
	struct pool_request r = { gpus, 1000, 0, 0, UINT64_C(1) << type };
	struct pool_alloc a;
	ok(pool_take(p, &r, &a), "%u GPUs of type %u are taken", gpus, type);
	return a;
}

static int64_t seconds(int64_t s)
{
	return s * ORR_SECOND;
}

static struct run_result *put(struct accounts *a, const double *price)
{
	struct run_result *r = result_new();
	accounts_put(a, 2, price, r);
	return r;
}

static void other_gpu_hours(struct run_result *r, double v)
{
	result_metric(r, "gpu_hours", v, NAN, NAN);
}

int main(void)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load("1x4:a,1x2:b", &err);
	struct pool *p = pool_new(c, placement_find("consolidate"));
	struct holding h = { .pool = p };
	struct accounts a = { 0 };
	accounts_begin(&a);
	accounts_until(&a, seconds(10), &h);
	/* From 10 s on jobs hold two GPUs of type a. From 30 s on a replica holds one of type b. From 60 s on the last two GPUs of
	 * type a are fenced. */
	struct pool_alloc of_jobs = take(p, 2, 0);
	accounts_until(&a, seconds(30), &h);
	struct pool_alloc of_serve = take(p, 1, 1);
	h.serve[1] = 1;
	h.others_milli = 1000;
	accounts_until(&a, seconds(60), &h);
	accounts_until(&a, seconds(60), &h);
	struct pool_alloc fence = take(p, 2, 0);
	h.fenced[0] = 2;
	h.others_milli = 3000;
	accounts_until(&a, seconds(100), &h);
	accounts_end(&a);
	/* GPU-seconds: jobs 2 x 90 of a; replicas 70 of b; idle 2 x 100 + 2 x 10 of a and 2 x 30 + 70 of b. */
	static const double price[2] = { 3.6, 7.2 }, partly[2] = { 3.6, NAN };
	struct run_result *r = put(&a, price);
	expect(r, "jobs_gpu_hours", 180 / 3600.);
	expect(r, "serve_gpu_hours", 70 / 3600.);
	expect(r, "idle_gpu_hours", (220 + 130) / 3600.);
	expect(r, "gpu_hours", 600 / 3600.);
	expect(r, "jobs_usd", 0.18);
	expect(r, "serve_usd", 0.14);
	expect(r, "idle_usd", 0.22 + 0.26);
	expect(r, "usd", 0.8);
	ok(r->n_series == 3 && !strcmp(r->series[0].name, "gpus_jobs") && !strcmp(r->series[1].name, "gpus_serve") &&
			!strcmp(r->series[2].name, "gpus_idle"),
		"a series of each account");
	/* Over 100 s the jobs have 1.8 GPUs on average, the replicas 0.7; 3.5 are idle. */
	static const double mean[3] = { 1.8, 0.7, 3.5 };
	for (int k = 0; k < 3; k++) {
		double sum = 0;
		for (size_t i = 0; i < r->series[k].n; i++)
			sum += r->series[k].value[i];
		ok(fabs(sum / (double)r->series[k].n - mean[k]) < 0.02, "mean of %s: %g", r->series[k].name, sum / (double)r->series[k].n);
	}
	result_free(r);
	r = put(&a, partly);
	expect(r, "jobs_usd", 0.18);
	expect(r, "serve_usd", NAN);
	expect(r, "idle_usd", NAN);
	expect(r, "usd", NAN);
	result_free(r);
	r = put(&a, NULL);
	expect(r, "jobs_usd", NAN);
	expect(r, "usd", NAN);
	result_free(r);
	struct accounts none = { 0 };
	accounts_begin(&none);
	r = put(&none, NULL);
	expect(r, "usd", 0);
	result_free(r);

	/* ---- the laws ---- */
	struct run_result *jobs = result_new(), *serve = result_new(), *wrong = result_new(), *nearly = result_new();
	other_gpu_hours(jobs, 180 / 3600.);
	other_gpu_hours(serve, 70 / 3600.);
	other_gpu_hours(wrong, 181 / 3600.);
	other_gpu_hours(nearly, 180 / 3600. + 5e-10);
	ok(!accounts_check(&a, 2, jobs, serve) && !accounts_check(&a, 2, NULL, NULL), "the accounts agree with both worlds");
	ok(!accounts_check(&a, 2, nearly, serve), "floating-point seconds agree within 1e-9 h");
	static const char jobs_differ[] = "the account of jobs differs from the GPU-hours counted by the jobs world";
	static const char serve_differs[] = "the account of replicas differs from the GPU-hours counted by the serving world";
	same_text(accounts_check(&a, 2, wrong, serve), jobs_differ, "jobs that counted other GPU-hours");
	same_text(accounts_check(&a, 2, jobs, wrong), serve_differs, "replicas that counted other GPU-hours");
	struct run_result *silent = result_new();
	same_text(accounts_check(&a, 2, silent, serve), jobs_differ, "jobs that counted no GPU-hours");
	struct accounts broken = a;
	broken.gpu[1][IDLE].ns += 1;
	static const char sums_differ[] = "the sum of the accounts differs from the GPU-time of the nodes that were up";
	same_text(accounts_check(&broken, 2, jobs, serve), sums_differ, "a GPU that is counted for a nanosecond too long");
	broken = a;
	broken.gpu[0][BY_JOBS].ns -= 1;
	same_text(accounts_check(&broken, 2, NULL, NULL), sums_differ, "a GPU that is counted for a nanosecond too short");
	broken = a;
	broken.jobs_milli.ns += UINT64_C(1000) * 3600 * 1000000;
	same_text(accounts_check(&broken, 2, jobs, serve), jobs_differ, "jobs with 0.001 GPU-hours more");

	/* ---- a node that is down is excluded from all accounts ---- */
	pool_give(p, &fence);
	pool_give(p, &of_serve);
	pool_give(p, &of_jobs);
	h = (struct holding){ .pool = p };
	pool_node_down(p, 0);
	accounts_until(&a, seconds(150), &h);
	accounts_end(&a);
	r = put(&a, price);
	expect(r, "idle_gpu_hours", (350 + 100) / 3600.);
	expect(r, "gpu_hours", 700 / 3600.);
	ok(!accounts_check(&a, 2, jobs, serve), "the accounts agree");
	result_free(r);
	result_free(jobs);
	result_free(serve);
	result_free(wrong);
	result_free(nearly);
	result_free(silent);
	pool_free(p);
	cluster_free(c);
	return done();
}
