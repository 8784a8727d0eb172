/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The linear programs of gavel (policies/jobs/gavel_lp.h) at every state at which Gavel's published simulator computed X. The value of
 * the goal must equal the optimum in oracles/gavel-more/NAME.obj.csv within 1e-6 of itself, or 1e-5 for finish-time fairness, which the
 * simulator bisects.
 *
 * The states follow from the simulator's X (NAME.x.csv) by its rounds. This test restates the rounds without the policy's code. Every
 * JCT of the restatement equals NAME.jobs.csv within 1e-6 s.
 */
#include "tests/tap.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "policies/jobs/gavel_lp.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

enum { TYPES = 3, MAX_JOBS = 128, ROUND_S = 360, HALF_S = 180, RECOMPUTE_S = 1920 };
static const char *const type_name[TYPES] = { "v100", "p100", "k80" };

struct job {
	double arrival_s, gpus, left, rate[TYPES];
	bool is_active, has_x, is_running;
	double x[TYPES], got_s[TYPES], deficit_s[TYPES];
	int type;
	double steps, finish_s, jct_s;
	double isolated_s, isolated_rate, left_then; /* finish-time fairness */
};

struct sim {
	struct job job[MAX_JOBS];
	int n;
	double gpus_of_type[TYPES], worker_s[TYPES];
	double now_s, reset_s;
	bool is_dirty;
	const char *x_row, *goal_row; /* the next rows of the two files */
	int recompute, compared;
	enum gavel_goal goal;
	double worst; /* relative difference of the goal's value from the optimum */
};

/* ---- input ---- */

static char *read_file(const char *folder, const char *name, const char *ending)
{
	const char *root = getenv("ORRERY_DATA_PATH");
	char path[1024];
	struct orr_error e;
	size_t n;
	snprintf(path, sizeof path, "%s/oracles/%s/%s%s", root ? root : "../shared", folder, name, ending);
	return bytes_read_file(path, 1 << 24, &n, NULL, &e);
}

/* Reads rows of ten fields, separated by tabs. */
static void read_trace(struct sim *s, char *text, const cJSON *table)
{
	char *rest = text;
	for (char *line; (line = strtok_r(rest, "\n", &rest)) && s->n < MAX_JOBS;) {
		char *field[10], *at = line, key[128];
		for (int i = 0; i < 10; i++) {
			field[i] = at;
			at += strcspn(at, "\t");
			if (*at)
				*at++ = 0;
		}
		struct job *j = &s->job[s->n++];
		*j = (struct job){ .arrival_s = strtod(field[9], NULL), .gpus = strtod(field[6], NULL), .left = strtod(field[5], NULL) };
		snprintf(key, sizeof key, "('%s', %s)", field[0], field[6]);
		for (int t = 0; t < TYPES; t++)
			j->rate[t] = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(
				cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(table, type_name[t]), key), "null"));
	}
}

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at ? at + 1 : at;
}

/* ---- one computation of X ---- */

/* Reads recompute,time_s,job,k80,p100,v100; a cluster that has only V100 lacks the two other types. */
static void take_x(struct sim *s)
{
	int types = s->gpus_of_type[1] > 0 ? TYPES : 1;
	for (; *s->x_row && atoi(s->x_row) == s->recompute; s->x_row = next_line(s->x_row)) {
		double value[6];
		char *at = (char *)(uintptr_t)s->x_row;
		for (int i = 0; i < 3 + types; i++, at++)
			value[i] = strtod(at, &at);
		struct job *j = &s->job[(int)value[2]];
		j->has_x = true;
		for (int t = 0; t < types; t++)
			j->x[t] = value[2 + types - t];
	}
}

/* Returns the rate on an equal share of time. The share is N/m/GPUs, divided by max(1, sum of shares), as in the simulator's policy
 * "isolated". */
static double rate_on_equal_share(const struct sim *s, const struct job *j, int n)
{
	double sum = 0, rate = 0;
	for (int t = 0; t < TYPES; t++) {
		sum += s->gpus_of_type[t] / n / j->gpus;
		rate += s->gpus_of_type[t] / n / j->gpus * j->rate[t];
	}
	return rate / fmax(1, sum);
}

/* recompute,time_s,jobs,objective_of_reference,objective_optimal,x_freedom */
static void compare_goal(struct sim *s)
{
	struct gavel_job list[MAX_JOBS];
	double x[MAX_JOBS * TYPES], value = NAN, row[5];
	struct orr_error err = { 0 };
	size_t n = 0;
	int active = 0;
	for (int i = 0; i < s->n; i++)
		active += s->job[i].is_active;
	for (int i = 0; i < s->n; i++) {
		struct job *j = &s->job[i];
		if (!j->is_active)
			continue;
		if (j->isolated_rate > 0)
			j->isolated_s += (j->left_then - j->left) / j->isolated_rate;
		j->left_then = j->left;
		j->isolated_rate = rate_on_equal_share(s, j, active);
		list[n++] = (struct gavel_job){ j->gpus, 1, j->rate, s->now_s - j->arrival_s, j->isolated_s, j->left };
	}
	char *at = (char *)(uintptr_t)s->goal_row;
	if (!n || !*at || atoi(at) != s->recompute)
		return;
	for (int i = 0; i < 5; i++, at++)
		row[i] = strtod(at, &at);
	s->goal_row = next_line(s->goal_row);
	struct gavel_problem p = { list, n, s->gpus_of_type, TYPES };
	if (gavel_lp_solve(s->goal, &p, x, &value, &err) || fabs(row[1] - s->now_s) > 1e-6 || (int)row[2] != active) {
		printf("# recomputation %d at %.3f s, %d jobs: %s\n", s->recompute, s->now_s, active, err.text);
		s->worst = INFINITY;
		return;
	}
	s->worst = fmax(s->worst, fabs(value / row[4] - 1));
	s->compared++;
}

static void recompute(struct sim *s)
{
	if (!s->is_dirty || !(s->reset_s == 0 || s->now_s - s->reset_s >= RECOMPUTE_S))
		return;
	for (int t = 0; t < TYPES; t++)
		s->worker_s[t] = 0;
	for (int i = 0; i < s->n; i++)
		for (int t = 0; s->job[i].is_active && t < TYPES; t++) {
			struct job *j = &s->job[i];
			j->deficit_s[t] += (j->has_x ? j->x[t] : 0) * (s->now_s - s->reset_s) - (j->got_s[t] - HALF_S);
			j->got_s[t] = HALF_S;
			s->worker_s[t] += HALF_S;
		}
	s->reset_s = s->now_s;
	s->is_dirty = false;
	compare_goal(s);
	take_x(s);
	s->recompute++;
}

/* ---- rounds ---- */

static double priority(const struct sim *s, const struct job *j, int t)
{
	return j->has_x && j->x[t] > 0 ? j->x[t] / (j->got_s[t] / s->worker_s[t]) : 0;
}

static bool is_before(const struct sim *s, const struct job *a, const struct job *b, int t)
{
	double x = priority(s, a, t), y = priority(s, b, t);
	if (x != y)
		return x > y;
	if (a->deficit_s[t] != b->deficit_s[t])
		return a->deficit_s[t] > b->deficit_s[t];
	return (a->has_x ? a->x[t] : 0) > (b->has_x ? b->x[t] : 0);
}

/* Starts a round. Returns the number of jobs that run in it. */
static int start_round(struct sim *s)
{
	bool is_taken[MAX_JOBS] = { false };
	int running = 0;
	for (int t = 0; t < TYPES; t++) {
		int order[MAX_JOBS], n = 0;
		double left = s->gpus_of_type[t];
		for (int i = 0; i < s->n; i++) { /* stable insertion */
			int k = n;
			if (!s->job[i].is_active)
				continue;
			for (n++; k && is_before(s, &s->job[i], &s->job[order[k - 1]], t); k--)
				order[k] = order[k - 1];
			order[k] = i;
		}
		for (int k = 0; k < n; k++) {
			struct job *j = &s->job[order[k]];
			if (is_taken[order[k]] || !(j->rate[t] > 0) || j->gpus > left)
				continue;
			left -= j->gpus;
			is_taken[order[k]] = true;
			if (!j->has_x)
				continue;
			j->type = t;
			j->is_running = true;
			j->steps = fmin(floor(j->rate[t] * ROUND_S), j->left);
			j->finish_s = s->now_s + j->steps / j->rate[t];
			running++;
		}
	}
	return running;
}

/* Records the results, the latest finish first, and advances the clock. */
static void end_round(struct sim *s)
{
	double start_s = s->now_s;
	for (;;) {
		struct job *last = NULL;
		for (int i = 0; i < s->n; i++)
			if (s->job[i].is_running && (!last || s->job[i].finish_s > last->finish_s))
				last = &s->job[i];
		if (!last)
			return;
		last->is_running = false;
		s->now_s = fmax(s->now_s, last->finish_s);
		last->got_s[last->type] += last->finish_s - start_s;
		s->worker_s[last->type] += last->finish_s - start_s;
		last->left -= last->steps;
		if (last->left > 0)
			continue;
		last->is_active = last->has_x = false;
		last->jct_s = last->finish_s - last->arrival_s;
		s->is_dirty = true;
	}
}

/* Advances the clock to the next arrival. Returns false if no arrival is left and no job is active. */
static bool skip_to_arrival(struct sim *s, int arrived)
{
	bool any = false;
	for (int i = 0; i < s->n; i++)
		any |= s->job[i].is_active;
	if (arrived < s->n)
		s->now_s = fmax(s->now_s, s->job[arrived].arrival_s);
	else
		s->reset_s = 0;
	return any || arrived < s->n;
}

static void simulate(struct sim *s)
{
	int arrived = 0, rounds = 0, running = 0;
	while (rounds++ < 100000) {
		if (running)
			end_round(s);
		else if (!skip_to_arrival(s, arrived))
			return;
		for (; arrived < s->n && s->job[arrived].arrival_s <= s->now_s; arrived++) {
			struct job *j = &s->job[arrived];
			j->is_active = s->is_dirty = true;
			for (int t = 0; t < TYPES; t++) {
				j->got_s[t] = HALF_S;
				s->worker_s[t] += HALF_S;
			}
		}
		recompute(s);
		running = start_round(s);
	}
}

/* ---- comparison ---- */

static int equal_jcts(const struct sim *s, const char *jobs)
{
	int equal = 0;
	for (const char *row = next_line(jobs); *row; row = next_line(row)) {
		char *at;
		long id = strtol(row, &at, 10);
		equal += id < s->n && fabs(s->job[id].jct_s - strtod(at + 1, NULL)) <= 1e-6;
	}
	return equal;
}

static void check(const char *folder, const char *trace, const char *policy, const char *cluster, enum gavel_goal goal, double v100,
	double others, double tolerance)
{
	char name[128];
	snprintf(name, sizeof name, "%s__%s__%s", trace, policy, cluster);
	char *rows = read_file(folder, trace, ".trace"), *rates = read_file("gavel", "simulation_throughputs", ".json");
	char *x = read_file("gavel-more", name, ".x.csv"), *goals = read_file("gavel-more", name, ".obj.csv");
	char *jobs = read_file("gavel-more", name, ".jobs.csv");
	if (rows && rates && x && goals && jobs) {
		cJSON *table = cJSON_Parse(rates);
		struct sim *s = mem_zalloc(1, sizeof *s);
		*s = (struct sim){
			.goal = goal, .x_row = next_line(x), .goal_row = next_line(goals), .gpus_of_type = { v100, others, others }
		};
		read_trace(s, rows, table);
		simulate(s);
		int equal = equal_jcts(s, jobs);
		ok(equal == s->n, "%s: %d of %d JCTs of the restated rounds", name, equal, s->n);
		ok(s->compared > 20 && !*s->goal_row && s->worst <= tolerance, "%s: the optimum at %d states, largest distance %.1e", name,
			s->compared, s->worst);
		cJSON_Delete(table);
		mem_free(s);
	} else {
		skip("no oracles/gavel-more (set ORRERY_DATA_PATH)");
	}
	mem_free(rows);
	mem_free(rates);
	mem_free(x);
	mem_free(goals);
	mem_free(jobs);
}

int main(void)
{
	check("gavel", "single120", "max_min_fairness_perf", "444", GAVEL_MAX_MIN, 4, 4, 1e-6);
	check("gavel", "single120", "max_min_fairness_perf", "1200", GAVEL_MAX_MIN, 12, 0, 1e-6);
	check("gavel-more", "multi96", "max_min_fairness_perf", "888", GAVEL_MAX_MIN, 8, 8, 1e-6);
	check("gavel", "single120", "max_sum_throughput_perf", "444", GAVEL_MAX_SUM, 4, 4, 1e-6);
	check("gavel", "single120", "max_sum_throughput_perf", "1200", GAVEL_MAX_SUM, 12, 0, 1e-6);
	check("gavel", "single120", "finish_time_fairness_perf", "444", GAVEL_FINISH_TIME, 4, 4, 1e-5);
	check("gavel", "single120", "finish_time_fairness_perf", "1200", GAVEL_FINISH_TIME, 12, 0, 1e-5);
	check("gavel-more", "multi96", "finish_time_fairness_perf", "888", GAVEL_FINISH_TIME, 8, 8, 1e-5);
	return done();
}
