/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_spot - Bamboo on spot instances
 *
 * First, the synthetic preemptions of Bamboo's authors at three rates, one run per seed. Second, 30 days of 64 instances, each
 * removed 0.6 times an hour and replaced after 1 minute: about 55,000 events, under several policies and rules. (on-demand uses
 * no events: its time is the cost of reading rows.) A row is the CPU time of the runs alone, in this process, without loading
 * and start-up; the long runs take the minimum of ten. Events are read once from the generator and once from loaded rows.
 *
 * usage: bench_spot [--all | --days]; --all has 10,000 seeds of each rate instead of 1,000; --days runs only the 30 days.
 */
#include "tests/spot/spot_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const struct orr_policy orr_policy_spot_bamboo, orr_policy_spot_checkpoint, orr_policy_spot_on_demand, orr_policy_spot_oobleck,
	orr_policy_spot_parcae, orr_policy_spot_varuna;

#define MONTH "churn:slots=64,rate=0.6,delay=1m,length=30d"

static double cpu_s(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static void stop_with(const struct orr_error *err)
{
	fprintf(stderr, "bench_spot: %s\n", err->text);
	exit(1);
}

static double seeds(const char *rate, const char *rules, uint64_t n)
{
	struct spot_runs s;
	struct orr_error err;
	char capacity[80], settings[40];
	double fatal = 0;
	snprintf(capacity, sizeof capacity, "hazard:p=%s,slots=48,length=0", rate);
	snprintf(settings, sizeof settings, "rules=%s", rules);
	if (!spot_runs_open(&s, capacity, NULL, "bamboo-bert", &orr_policy_spot_bamboo, settings, "startup=45s price=0.91", &err))
		stop_with(&err);
	s.config.check = false;
	double began = cpu_s();
	for (uint64_t i = 0; i < n; i++) {
		struct run_result *r = spot_runs_run(&s, i, &err);
		if (!r)
			stop_with(&err);
		fatal += spot_runs_metric(r, "fatal");
		result_free(r);
	}
	double took = cpu_s() - began;
	printf("p=%-5s %-9s %7llu seeds %9.3f s %9.1f us each, fatal %.3f\n", rate, rules, (unsigned long long)n, took,
		1e6 * took / (double)n, fatal / (double)n);
	fflush(stdout);
	spot_runs_close(&s);
	return took;
}

/* Writes the generator's events in Bamboo's format. */
static char *rows_of(const char *capacity)
{
	struct orr_error err;
	struct availset *set = availset_load(capacity, NULL, NULL, 1, &err);
	if (!set)
		stop_with(&err);
	struct availcursor *c = availset_open(set, 0);
	struct avail_rec r;
	size_t n = 0, cap = 1 << 22;
	char *text = malloc(cap);
	while (text && availcursor_next(c, &r) && n + 64 < cap)
		n += (size_t)snprintf(text + n, cap - n, "%lld,%s,n%u\n", (long long)(r.t_ns / 1000000),
			r.kind == AVAIL_ADD ? "add" : "remove", r.instance);
	availcursor_close(c);
	availset_free(set);
	return text;
}

static void days(const struct orr_policy *policy, const char *rows, const char *settings)
{
	struct spot_runs s;
	struct orr_error err;
	double least = 1e9, events = 0;
	if (!spot_runs_open(&s, MONTH, rows, "bamboo-bert", policy, settings, "startup=45s price=0.91", &err))
		stop_with(&err);
	s.config.check = false;
	s.job->steps = 0;
	s.config.until_ns = 30 * 86400 * ORR_SECOND;
	for (int i = 0; i < 10; i++) {
		double began = cpu_s();
		struct run_result *r = spot_runs_run(&s, 0, &err);
		double took = cpu_s() - began;
		if (!r)
			stop_with(&err);
		least = took < least ? took : least;
		events = 64 + 2 * spot_runs_metric(r, "preemptions");
		result_free(r);
	}
	printf("30 days, %-9s %-24s %8.0f events %8.2f ms %8.0f ns each\n", rows ? "loaded" : "generated",
		settings[0] ? settings : policy->name, events, 1e3 * least, 1e9 * least / events);
	fflush(stdout);
	spot_runs_close(&s);
}

static void seeds_of_all(uint64_t n)
{
	static const char *const rates[] = { "0.01", "0.10", "0.50" }, *const rules[] = { "authors", "clean" };
	double sum = 0;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < 3; i++)
			sum += seeds(rates[i], rules[k], n);
	printf("together %.2f s\n", sum);
}

int main(int argc, char **argv)
{
	const char *option = argc > 1 ? argv[1] : "";
	static const char *const rules[] = { "rules=authors", "rules=clean", "rules=event" };
	if (strcmp(option, "--days"))
		seeds_of_all(!strcmp(option, "--all") ? 10000 : 1000);
	char *rows = rows_of(MONTH);
	for (size_t i = 0; i < 3; i++) {
		days(&orr_policy_spot_bamboo, NULL, rules[i]);
		days(&orr_policy_spot_bamboo, rows, rules[i]);
	}
	days(&orr_policy_spot_checkpoint, NULL, "");
	days(&orr_policy_spot_checkpoint, rows, "");
	days(&orr_policy_spot_on_demand, rows, "");
	days(&orr_policy_spot_varuna, rows, "");
	days(&orr_policy_spot_oobleck, rows, "");
	days(&orr_policy_spot_parcae, rows, "");
	free(rows);
	return 0;
}
