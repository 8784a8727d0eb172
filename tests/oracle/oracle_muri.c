/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups of Muri's published simulator (oracles/muri in the data): period and matching weight of 60 groups of 2 to 4 jobs
 * (group_units.csv); no stored group slower than its members one after the other, none with unequal jobs (t60_groups.csv); and the
 * matching of policies/jobs/matching.h (tests/jobs/unit_matching.c): its weight at least that of the pairs of every stored decision. The
 * weights of stored groups of 3 and 4 are those of their best pairs.
 */
#include "tests/tap.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "jobs/interference.h"
#include "policies/jobs/matching.h"

#include <stdlib.h>

enum { MOST_JOBS = 64, MOST = 4 };
static struct {
	double alone_s, stage[ITERATION_STAGES];
	int gpus;
} job[MOST_JOBS];
static const double slowdown[] = { 1.015, 1.33, 1.5, 1.37 };

static double period_of(const int *of, uint32_t n)
{
	double s[MOST][ITERATION_STAGES];
	if (n == 1)
		return job[of[0]].alone_s;
	for (uint32_t i = 0; i < n; i++)
		memcpy(s[i], job[of[i]].stage, sizeof s[i]);
	return interleave_s((const double(*)[ITERATION_STAGES])s, n) * slowdown[n - 1] / slowdown[0];
}

static double weight_of(const int *of, uint32_t n)
{
	double sum = 0;
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < ITERATION_STAGES; k++)
			sum += job[of[i]].stage[k];
	return sum / 4 / period_of(of, n);
}

static char *text_of(const char *dir, const char *name)
{
	char path[4096];
	size_t n;
	struct orr_error err = { 0 };
	snprintf(path, sizeof path, "%s/oracles/muri/%s", dir, name);
	return bytes_read_file(path, 1 << 24, &n, NULL, &err);
}

static void read_jobs(char *text)
{
	char *save = NULL;
	strtok_r(text, "\n", &save);
	for (char *row; (row = strtok_r(NULL, "\n", &save));) {
		int id, gpus;
		double ms, s[3];
		if (sscanf(row, "%d,%d,%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lf,%lf,%lf,%lf", &id, &gpus, &ms, &s[0], &s[1], &s[2]) !=
				6 ||
			id >= MOST_JOBS)
			continue;
		job[id].gpus = gpus;
		job[id].alone_s = ms / 1000 * 1.015;
		for (int k = 0; k < 3; k++)
			job[id].stage[k] = s[k] / 1000;
	}
}

static uint32_t parse_group(const char *text, int *of)
{
	uint32_t n = 0;
	for (char *end = NULL; n < MOST; text = end + 1) {
		of[n++] = (int)strtol(text, &end, 10);
		if (*end != '+')
			break;
	}
	return n;
}

static void check_units(char *text)
{
	char *save = NULL, group[64];
	double worst = 0, period, weight;
	int n_groups = 0, of[MOST];
	strtok_r(text, "\n", &save);
	for (char *row; (row = strtok_r(NULL, "\n", &save)); n_groups++) {
		if (sscanf(row, "%63[^,],%lf,%lf", group, &period, &weight) != 3)
			continue;
		uint32_t n = parse_group(group, of);
		worst = fmax(worst, fmax(fabs(period_of(of, n) - period), fabs(weight_of(of, n) - weight)));
	}
	ok(n_groups == 60 && worst <= 1e-12, "period and weight of %d groups: largest difference %.3g", n_groups, worst);
}

/* ---- matchings ---- */

static int64_t whole(double weight)
{
	return llround(weight * (double)(INT64_C(1) << 40));
}

static int64_t best_pairs(const int *of, uint32_t n)
{
	int64_t best = 0;
	for (uint32_t i = 1; i < n; i++) {
		int pair[2] = { of[0], of[i] }, rest[MOST];
		uint32_t k = 0;
		for (uint32_t j = 1; j < n; j++)
			if (j != i)
				rest[k++] = of[j];
		int64_t w = whole(weight_of(pair, 2)) + best_pairs(rest, k);
		best = w > best ? w : best;
	}
	if (n == 3) { /* the first stays single */
		int64_t w = whole(weight_of(of + 1, 2));
		best = w > best ? w : best;
	}
	return best;
}

struct decision {
	int member[MOST_JOBS];
	uint32_t n;
	int64_t theirs;
};

/* Compares the greatest matching among the jobs of one size with the pairs of the stored groups. */
static bool is_at_least(const struct decision *d)
{
	int64_t *weight = mem_zalloc((size_t)d->n * d->n + 1, sizeof *weight);
	uint32_t mate[MOST_JOBS];
	for (uint32_t i = 0; i < d->n; i++)
		for (uint32_t k = 0; k < d->n; k++) {
			int pair[2] = { d->member[i], d->member[k] };
			weight[i * d->n + k] = i == k ? 0 : whole(weight_of(pair, 2));
		}
	int64_t ours = matching_solve(d->n, weight, mate);
	mem_free(weight);
	return ours >= d->theirs;
}

static void check_groups(char *text)
{
	char *save = NULL, group[64];
	int event, id, last = -1, of[MOST], rows = 0, slower = 0, unequal = 0, decisions = 0, below = 0;
	double stored, worst = 0;
	static struct decision by_size[4];
	strtok_r(text, "\n", &save);
	for (char *row;;) {
		row = strtok_r(NULL, "\n", &save);
		bool is_row = row && sscanf(row, "%d,%*[^,],%d,%63[^,],%lf", &event, &id, group, &stored) == 4;
		if (!is_row || event != last) {
			for (int s = 0; s < 4; s++) {
				decisions += by_size[s].n > 1;
				below += by_size[s].n > 1 && !is_at_least(&by_size[s]);
				by_size[s].n = 0;
				by_size[s].theirs = 0;
			}
			last = event;
		}
		if (!is_row)
			break;
		rows++;
		uint32_t n = parse_group(group, of);
		double alone = 0;
		for (uint32_t i = 0; i < n; i++) {
			alone += job[of[i]].alone_s;
			unequal += job[of[i]].gpus != job[of[0]].gpus;
		}
		worst = fmax(worst, fabs(period_of(of, n) - stored));
		slower += stored > alone + 1e-9;
		int s = 0;
		while (s < 3 && 1 << s < job[id].gpus)
			s++;
		by_size[s].member[by_size[s].n++] = id;
		if (of[0] == id)
			by_size[s].theirs += best_pairs(of, n);
	}
	ok(rows == 1668 && worst <= 1e-12, "the period of the group in each of %d rows: largest difference %.3g", rows, worst);
	ok(!slower, "no group is slower than its members one after the other");
	ok(!unequal, "members of a group have equal GPUs");
	ok(decisions > 50 && !below, "the weight of each of %d matchings is at least the reference's", decisions);
}

int main(void)
{
	const char *dir = getenv("ORRERY_DATA_PATH");
	char *jobs = dir ? text_of(dir, "t60.trace.csv") : NULL, *units = dir ? text_of(dir, "group_units.csv") : NULL,
	     *groups = dir ? text_of(dir, "t60_groups.csv") : NULL;
	if (jobs && units && groups) {
		read_jobs(jobs);
		check_units(units);
		check_groups(groups);
	} else {
		skip("no oracles/muri (ORRERY_DATA_PATH): groups and matchings were NOT compared");
	}
	mem_free(jobs);
	mem_free(units);
	mem_free(groups);
	return done();
}
