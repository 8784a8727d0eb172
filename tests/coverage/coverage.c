/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * coverage.c - number of intervals that contain the expected value
 *
 * Reads what coverage.sh has stored, lines "WORKLOAD,SEED,POLICY,METRIC,VALUE,LOW,HIGH" on standard input, and prints by workload,
 * policy and metric: the runs whose interval holds the mean over all seeds, of those that have one; and for N = 5, 10, 20 and 40
 * the groups of N seeds, drawn at random, whose interval over replications holds it. "-": no interval is given.
 *
 * usage: coverage [--summary] <values
 * --summary: one line for each workload and method, over its metrics: the least, the median and the largest share.
 */
#include "results/estimate.h"
#include "base/hash.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shares of fewer intervals are not judged: their error is above 5 points. */
enum { LINE = 512, NAME = 64, GROUPS = 500, JUDGED = 20, SIZES = 4 };
static const size_t sizes[SIZES] = { 5, 10, 20, 40 };

/* A metric of a policy under a workload. */
struct cell {
	char workload[NAME], policy[NAME], metric[NAME];
	size_t n, cap;
	double (*run)[3]; /* value, low, high by seed */
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

/* Lines of one cell are never far apart: those of a run have the same order for each seed. */
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
	if (n_cells == cap_cells)
		cells = grown(cells, cap_cells = 2 * cap_cells + 64, sizeof *cells);
	struct cell *c = &cells[n_cells++];
	*c = (struct cell){ .n = 0 };
	snprintf(c->workload, NAME, "%s", workload);
	snprintf(c->policy, NAME, "%s", policy);
	snprintf(c->metric, NAME, "%s", metric);
	at = n_cells;
	return c;
}

static double number(const char *s)
{
	return *s ? strtod(s, NULL) : NAN;
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
		if (!isfinite(value))
			continue;
		struct cell *c = cell_of(field[0], field[2], field[3]);
		if (c->n == c->cap)
			c->run = grown(c->run, c->cap = 2 * c->cap + 16, sizeof *c->run);
		c->run[c->n][0] = value;
		c->run[c->n][1] = number(field[5]);
		c->run[c->n++][2] = number(field[6]);
	}
}

/* Of `of` metrics: intervals given, and intervals that contain the mean. */
struct share {
	size_t of, given, hits;
};

static bool holds(double low, double high, double mean)
{
	return low <= mean && mean <= high;
}

static struct share single_runs(const struct cell *c, double mean)
{
	struct share s = { c->n, 0, 0 };
	for (size_t k = 0; k < c->n; k++) {
		s.given += isfinite(c->run[k][1]);
		s.hits += holds(c->run[k][1], c->run[k][2], mean);
	}
	return s;
}

/* Groups of n different seeds, by a partial shuffle. */
static struct share replications(const struct cell *c, double mean, size_t n)
{
	struct share s = { 0, 0, 0 };
	uint64_t state = 1;
	double *v = grown(NULL, c->n + 1, sizeof *v);
	for (size_t k = 0; k < c->n; k++)
		v[k] = c->run[k][0];
	for (int g = 0; g < GROUPS && c->n >= 5 * n; g++) {
		for (size_t k = 0; k < n; k++) {
			size_t other = k + (size_t)(hash_next(&state) >> 11) % (c->n - k);
			double was = v[k];
			v[k] = v[other];
			v[other] = was;
		}
		struct interval i = estimate_mean(v, n, estimate_range_of(c->metric), 0.95);
		s.of++;
		s.given += isfinite(i.low);
		s.hits += holds(i.low, i.high, mean);
	}
	free(v);
	return s;
}

static void print_share(struct share s)
{
	if (s.given)
		printf("  %4.0f %% %4.0f %%%c", 100. * (double)s.hits / (double)s.given, 100. * (double)s.given / (double)s.of,
			s.given >= JUDGED && (double)s.hits < 0.9 * (double)s.given ? '*' : ' ');
	else
		printf("       -        ");
}

static double mean_of(const struct cell *c)
{
	double sum = 0;
	for (size_t k = 0; k < c->n; k++)
		sum += c->run[k][0];
	return sum / (double)c->n;
}

static void print_cells(void)
{
	printf("%-22s %-14s %-22s %6s  %-16s%-16s%-16s%-16s%-16s\n", "workload", "policy", "metric", "seeds", "one run", "N = 5", "N = 10",
		"N = 20", "N = 40");
	for (size_t i = 0; i < n_cells; i++) {
		const struct cell *c = &cells[i];
		double mean = mean_of(c);
		printf("%-22s %-14s %-22s %6zu", c->workload, c->policy, c->metric, c->n);
		print_share(single_runs(c, mean));
		for (int k = 0; k < SIZES; k++)
			print_share(replications(c, mean, sizes[k]));
		putchar('\n');
	}
}

/* ---- summary ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Over the metrics of a workload: the shares of those with enough intervals. */
static void print_method(const char *workload, const char *method, size_t n)
{
	double *share = grown(NULL, n_cells + 1, sizeof *share);
	size_t judged = 0, inside = 0;
	struct share all = { 0, 0, 0 };
	for (size_t i = 0; i < n_cells; i++) {
		const struct cell *c = &cells[i];
		if (strcmp(c->workload, workload) != 0)
			continue;
		double mean = mean_of(c);
		struct share s = n ? replications(c, mean, n) : single_runs(c, mean);
		all.of += s.of;
		all.given += s.given;
		all.hits += s.hits;
		if (s.given < JUDGED)
			continue;
		share[judged] = (double)s.hits / (double)s.given;
		inside += share[judged] >= 0.9;
		judged++;
	}
	qsort(share, judged, sizeof *share, by_value);
	printf("| %s | %s | %.0f %% | ", workload, method, all.of ? 100. * (double)all.given / (double)all.of : 0);
	if (judged)
		printf("%.0f %% | %.0f, %.0f, %.0f %% | %zu of %zu |\n", 100. * (double)all.hits / (double)all.given, 100 * share[0],
			100 * share[judged / 2], 100 * share[judged - 1], inside, judged);
	else
		printf("- | - | - |\n");
	free(share);
}

static void print_summary(void)
{
	puts("| workload | interval of | given | hold | least, median, largest metric | metrics of at least 90 % |");
	puts("| --- | --- | --: | --: | --: | --: |");
	for (size_t i = 0; i < n_cells; i++) {
		bool is_first = true;
		for (size_t k = 0; k < i; k++)
			is_first = is_first && strcmp(cells[k].workload, cells[i].workload) != 0;
		if (!is_first)
			continue;
		print_method(cells[i].workload, "one run", 0);
		for (int k = 0; k < SIZES; k++) {
			char method[32];
			snprintf(method, sizeof method, "%zu replications", sizes[k]);
			print_method(cells[i].workload, method, sizes[k]);
		}
	}
}

int main(int argc, char **argv)
{
	read_all();
	if (argc > 1 && !strcmp(argv[1], "--summary"))
		print_summary();
	else
		print_cells();
	for (size_t i = 0; i < n_cells; i++)
		free(cells[i].run);
	free(cells);
	return 0;
}
