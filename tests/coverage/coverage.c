/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * coverage.c - number of intervals that contain the expected value
 *
 * Reads the lines "WORKLOAD,SEED,POLICY,METRIC,VALUE,LOW,HIGH" of coverage.sh from standard input. For each workload, policy
 * and metric it prints the coverage: the share of intervals that contain the mean over all seeds. Columns: the intervals of
 * single runs; the intervals over groups of N = 10, 20, 40 and 80 seeds, drawn at random with replacement; the intervals over
 * as many seeds as --until-precision takes (10, 20, 40, 80 or 160). "-": no interval. "*": the coverage is below 90 % by more
 * than its error. Metrics "POLICY-FIRST METRIC" and "FIRST/POLICY METRIC" are differences and ratios of two policies, paired by
 * seed.
 *
 * usage: coverage [--summary | --least | --check] <values
 * --summary: one line for each workload and method: the least, median and largest coverage of its metrics. --least: one line for each
 * metric, over workloads and policies: the smallest N from which on the coverage is at least 90 %. --check: for tests with few seeds: exit
 * 1 if an interval of a quantity that is never negative has a negative end, or if the coverage of a method is below 90 % or above 99.5 %.
 */
#include "results/estimate.h"
#include "base/hash.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A coverage is judged if at least JUDGED intervals exist and at least one of RARE tries gave an interval. */
enum { LINE = 512, NAME = 64, GROUPS = 500, JUDGED = 20, RARE = 20, FIXED = 4, METHODS = FIXED + 3, MOST = 160 };
static const size_t sizes[FIXED] = { 10, 20, 40, 80 };
static const double goals[] = { 0.25, 0.1 };
static const char *const methods[METHODS] = { "one run", "N = 10", "N = 20", "N = 40", "N = 80", "until 25 %", "until 10 %" };

/* The quantity that a cell estimates. */
enum what { VALUE, DIFFERENCE, RATIO };

/* of: number of intervals tried; given: intervals that exist; hits: those that contain the mean; runs: replications of all existing
 * intervals. */
struct share {
	size_t of, given, hits, runs;
};

/* A metric of a policy under a workload. */
struct cell {
	char workload[NAME], policy[NAME], metric[NAME];
	enum what what;
	size_t n, cap;
	double (*run)[4]; /* value, low end, high end and seed of a run; for a pair: the value of the first policy, the value of the other
			     one, unused, seed */
	struct share share[METHODS];
	size_t negative; /* number of intervals with a negative lower end although the quantity is never negative */
};

static struct cell *cells;
static size_t n_cells, cap_cells;

static void *grown(void *p, size_t n, size_t size)
{
	p = realloc(p, n * size);
	if (!p) {
		fputs("coverage: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static struct cell *add_cell(const char *workload, const char *policy, const char *metric)
{
	if (n_cells == cap_cells)
		cells = grown(cells, cap_cells = 2 * cap_cells + 64, sizeof *cells);
	struct cell *c = &cells[n_cells++];
	*c = (struct cell){ .n = 0 };
	snprintf(c->workload, NAME, "%s", workload);
	snprintf(c->policy, NAME, "%s", policy);
	snprintf(c->metric, NAME, "%s", metric);
	return c;
}

/* Returns the cell of a line. The lines of one cell are close to one another, because the runs of all seeds have the same order of
 * lines. */
static struct cell *cell_of(const char *workload, const char *policy, const char *metric)
{
	static size_t at;
	for (size_t k = 0; k < n_cells; k++) {
		struct cell *c = &cells[(at + k) % n_cells];
		if (!strcmp(c->metric, metric) && !strcmp(c->policy, policy) && !strcmp(c->workload, workload)) {
			at = (size_t)(c - cells) + 1;
			return c;
		}
	}
	struct cell *c = add_cell(workload, policy, metric);
	at = n_cells;
	return c;
}

static double number(const char *s)
{
	return *s ? strtod(s, NULL) : NAN;
}

static void add_run(struct cell *c, double value, double low, double high, double seed)
{
	if (c->n == c->cap)
		c->run = grown(c->run, c->cap = 2 * c->cap + 16, sizeof *c->run);
	double *run = c->run[c->n++];
	run[0] = value;
	run[1] = low;
	run[2] = high;
	run[3] = seed;
}

static void read_all(void)
{
	char line[LINE];
	while (fgets(line, sizeof line, stdin)) {
		char *field[7], *at = line;
		line[strcspn(line, "\n")] = '\0';
		for (int i = 0; i < 7; i++) {
			field[i] = at ? at : line + strlen(line);
			at = at ? strchr(at, ',') : NULL;
			if (at)
				*at++ = '\0';
		}
		double value = number(field[4]);
		bool is_of_two = !strncmp(field[3], "diff_", 5) || !strncmp(field[3], "ratio_", 6);
		if (isfinite(value) && !is_of_two) /* pairs() computes the metrics of two policies */
			add_run(cell_of(field[0], field[2], field[3]), value, number(field[5]), number(field[6]), number(field[1]));
	}
}

/* ---- pairs ---- */

static void pair(const struct cell *first, const struct cell *other, enum what what)
{
	char name[2 * NAME];
	struct cell a = *first, b = *other; /* copies, because add_cell() may move the cells */
	snprintf(name, sizeof name, what == RATIO ? "%s/%s" : "%s-%s", what == RATIO ? a.policy : b.policy,
		what == RATIO ? b.policy : a.policy);
	name[NAME - 1] = '\0';
	struct cell *c = add_cell(a.workload, name, a.metric);
	c->what = what;
	for (size_t i = 0, k = 0; i < a.n && k < b.n;) {
		if (a.run[i][3] < b.run[k][3])
			i++;
		else if (b.run[k][3] < a.run[i][3])
			k++;
		else {
			add_run(c, a.run[i][0], b.run[k][0], NAN, a.run[i][3]);
			i++;
			k++;
		}
	}
}

/* Adds differences and ratios of the metrics that tables compare. */
static void pairs(void)
{
	static const char *const metrics[] = { "jct_mean", "wait_mean", "makespan", "completion_mean", "ttft_mean", "throughput",
		"samples_per_s", "usd_per_hour", "value" };
	size_t n = n_cells;
	for (size_t i = 0; i < n; i++)
		for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
			for (size_t k = 0; k < i && !strcmp(cells[i].metric, metrics[m]); k++)
				if (!strcmp(cells[k].workload, cells[i].workload) && !strcmp(cells[k].metric, metrics[m])) {
					pair(&cells[k], &cells[i], DIFFERENCE);
					pair(&cells[k], &cells[i], RATIO);
					break;
				}
}

/* ---- intervals ---- */

static bool holds(double low, double high, double mean)
{
	return low <= mean && mean <= high;
}

/* Returns the estimate from n runs. */
static struct interval estimate(const struct cell *c, double (*const *run)[4], size_t n)
{
	static double a[4096], b[4096];
	for (size_t k = 0; k < n; k++) {
		a[k] = (*run[k])[0];
		b[k] = (*run[k])[1];
	}
	if (n < (c->what == RATIO ? estimate_least_of_ratio(c->metric) : c->what == VALUE ? estimate_least_of(c->metric) : 0))
		return (struct interval){ NAN, NAN, NAN };
	if (c->what == RATIO)
		return estimate_ratio(a, b, n, 0.95);
	return c->what == DIFFERENCE ? estimate_difference(b, a, n, 0.95) : estimate_mean(a, n, estimate_range_of(c->metric), 0.95);
}

static double truth(const struct cell *c)
{
	double a = 0, b = 0, n = (double)c->n;
	for (size_t k = 0; k < c->n; k++) {
		a += c->run[k][0];
		b += c->run[k][1];
	}
	return c->what == RATIO ? a / b : c->what == DIFFERENCE ? b / n - a / n : a / n;
}

static void single_runs(struct cell *c, double mean)
{
	struct share *s = &c->share[0];
	for (size_t k = 0; k < c->n && c->what == VALUE; k++) {
		s->of++;
		s->given += isfinite(c->run[k][1]);
		s->hits += holds(c->run[k][1], c->run[k][2], mean);
		c->negative += c->run[k][1] < 0 && estimate_range_of(c->metric) != ESTIMATE_REAL;
	}
}

/* Draws n of the runs with replacement. The sample is independent, and the mean of its distribution is known exactly. */
static void draw(double (*all)[4], size_t of, double (**run)[4], size_t n, uint64_t *state)
{
	for (size_t k = 0; k < n; k++)
		run[k] = all + (size_t)(hash_next(state) >> 11) % of;
}

static void count(struct cell *c, struct share *s, struct interval i, double mean, size_t n)
{
	s->of++;
	if (isnan(i.low))
		return;
	s->given++;
	s->runs += n;
	s->hits += holds(i.low, i.high, mean);
	c->negative += i.low < 0 && c->what == VALUE && estimate_range_of(c->metric) != ESTIMATE_REAL;
}

/* Applies the rule of sim/world/precision.c, up to MOST replications or a fifth of the seeds. */
static void until(struct cell *c, struct share *s, double (**run)[4], double mean, double goal)
{
	bool was_precise = false;
	for (size_t n = sizes[0]; n <= MOST && n <= c->n / 5; n *= 2) {
		struct interval i = estimate(c, run, n);
		bool is_precise = !isnan(i.low) && (i.high - i.low) / 2 <= goal * fabs(i.mean);
		if (is_precise && was_precise) {
			count(c, s, i, mean, n);
			return;
		}
		was_precise = is_precise;
	}
	s->of++;
}

/* Counts the groups of n seeds that contain the mean, if there are at least `least` x n seeds. */
static void replications(struct cell *c, double mean, size_t least)
{
	uint64_t state = 1;
	double(**run)[4] = grown(NULL, c->n + 1, sizeof *run);
	for (int g = 0; g < GROUPS; g++) {
		size_t n = c->n < MOST ? c->n : MOST;
		draw(c->run, c->n, run, n, &state);
		for (int k = 0; k < FIXED; k++)
			if (c->n >= least * sizes[k])
				count(c, &c->share[1 + k], estimate(c, run, sizes[k]), mean, sizes[k]);
		for (int k = 0; k < 2 && c->n >= least * sizes[0]; k++)
			until(c, &c->share[1 + FIXED + k], run, mean, goals[k]);
	}
	free(run);
}

static void measure(size_t least)
{
	for (size_t i = 0; i < n_cells; i++) {
		struct cell *c = &cells[i];
		double mean = truth(c);
		if (estimate_range_of(c->metric) == ESTIMATE_NO_MEAN)
			continue;
		single_runs(c, mean);
		replications(c, mean, least);
	}
}

static double hold_share(const struct share *s)
{
	return (double)s->hits / (double)s->given;
}

static bool is_judged(const struct share *s)
{
	return s->given >= JUDGED && s->given * RARE >= s->of;
}

/* Returns whether the coverage is below 90 % by more than two standard errors. */
static bool is_low(const struct share *s)
{
	return is_judged(s) && hold_share(s) < 0.9 - 2 * sqrt(0.09 / (double)s->given);
}

/* ---- all cells ---- */

static void print_share(const struct share *s)
{
	if (!s->given)
		printf("       -       ");
	else
		printf("  %4.0f %% %3.0f %%%c", 100 * hold_share(s), 100. * (double)s->given / (double)s->of, is_low(s) ? '*' : ' ');
}

static void print_cells(void)
{
	printf("%-17s %-24s %-22s %5s", "workload", "policy", "metric", "seeds");
	for (int k = 0; k < METHODS; k++)
		printf("  %-13s", methods[k]);
	putchar('\n');
	for (size_t i = 0; i < n_cells; i++) {
		const struct cell *c = &cells[i];
		printf("%-17s %-24s %-22s %5zu", c->workload, c->policy, c->metric, c->n);
		for (int k = 0; k < METHODS; k++)
			print_share(&c->share[k]);
		putchar('\n');
	}
}

/* ---- summary ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Prints the coverage of the judged metrics of a workload; NULL: of all workloads. */
static struct share print_method(const char *workload, int method)
{
	double *share = grown(NULL, n_cells + 1, sizeof *share);
	size_t judged = 0, low = 0;
	struct share all = { 0, 0, 0, 0 };
	for (size_t i = 0; i < n_cells; i++) {
		const struct share *s = &cells[i].share[method];
		if (workload && strcmp(cells[i].workload, workload) != 0)
			continue;
		all.of += s->of;
		all.given += s->given;
		all.hits += s->hits;
		all.runs += s->runs;
		low += is_low(s);
		if (is_judged(s))
			share[judged++] = hold_share(s);
	}
	qsort(share, judged, sizeof *share, by_value);
	printf("| %s | %s | %.0f %% | ", workload ? workload : "all", methods[method],
		all.of ? 100. * (double)all.given / (double)all.of : 0);
	if (judged)
		printf("%.1f %% | %.0f, %.0f, %.0f %% | %zu of %zu |\n", 100 * hold_share(&all), 100 * share[0], 100 * share[judged / 2],
			100 * share[judged - 1], low, judged);
	else
		printf("- | - | - |\n");
	free(share);
	return all;
}

static void print_heading(void)
{
	puts("| workload | interval of | given | coverage | least, median, largest metric | metrics below 90 % |");
	puts("| --- | --- | --: | --: | --: | --: |");
}

static bool is_first_of(size_t i, size_t offset)
{
	const char *name = (const char *)&cells[i] + offset;
	for (size_t k = 0; k < i; k++)
		if (!strcmp((const char *)&cells[k] + offset, name))
			return false;
	return true;
}

static void print_summary(void)
{
	print_heading();
	for (size_t i = 0; i < n_cells; i++)
		for (int k = 0; k < METHODS && is_first_of(i, offsetof(struct cell, workload)); k++)
			print_method(cells[i].workload, k);
	for (int k = 0; k < METHODS; k++)
		print_method(NULL, k);
}

/* ---- by metric ---- */

/* Returns the smallest coverage over the cells of the metric by one method; 2 if no cell is judged. */
static double least_share(const char *metric, int method, bool *is_below)
{
	double least = 2;
	for (size_t i = 0; i < n_cells; i++) {
		const struct share *s = &cells[i].share[method];
		if (strcmp(cells[i].metric, metric) != 0 || !is_judged(s))
			continue;
		least = fmin(least, hold_share(s));
		*is_below = *is_below || is_low(s);
	}
	return least;
}

static void print_least(void)
{
	puts("| metric | least coverage at N = 10 | 20 | 40 | 80 | at least 90 % from |");
	puts("| --- | --: | --: | --: | --: | --: |");
	for (size_t i = 0; i < n_cells; i++) {
		const char *metric = cells[i].metric;
		size_t from = 0;
		bool is_any = false;
		if (!is_first_of(i, offsetof(struct cell, metric)))
			continue;
		for (int k = FIXED; k > 0; k--) {
			bool is_below = false, is_judged_at = least_share(metric, k, &is_below) < 2;
			is_any = is_any || is_judged_at;
			if (is_below)
				break;
			from = sizes[k - 1];
		}
		if (!is_any)
			continue;
		printf("| `%s` |", metric);
		for (int k = 1; k <= FIXED; k++) {
			bool is_below = false;
			double share = least_share(metric, k, &is_below);
			if (share < 2)
				printf(" %.0f %% |", 100 * share);
			else
				printf(" - |");
		}
		if (from)
			printf(" %zu |\n", from);
		else
			printf(" more than %zu |\n", sizes[FIXED - 1]);
	}
}

/* ---- check ---- */

static int check(void)
{
	int rc = 0;
	for (size_t i = 0; i < n_cells; i++)
		if (cells[i].negative) {
			printf("%s %s %s: %zu intervals have a negative end\n", cells[i].workload, cells[i].policy, cells[i].metric,
				cells[i].negative);
			rc = 1;
		}
	print_heading();
	for (int k = 0; k < 2; k++) { /* only single runs and N = 10: few seeds form too few larger groups */
		struct share all = print_method(NULL, k);
		rc |= all.given < JUDGED || hold_share(&all) < 0.9 || hold_share(&all) > 0.995;
	}
	return rc;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int rc = 0;
	read_all();
	pairs();
	measure(strcmp(mode, "--check") != 0 ? 5 : 2);
	if (!strcmp(mode, "--summary"))
		print_summary();
	else if (!strcmp(mode, "--least"))
		print_least();
	else if (!strcmp(mode, "--check"))
		rc = check();
	else
		print_cells();
	for (size_t i = 0; i < n_cells; i++)
		free(cells[i].run);
	free(cells);
	return rc;
}
