/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The integer program of sia (policies/jobs/sia_choose.h) at every stored round of Sia's published simulator (experiments GP5 and GP6).
 * From the goodputs S, the restart factor, the present configuration and whether the job is pinned, the objective must equal the stored one
 * within 1e-6, and the choice must be the stored one or have the same objective. Expected values: oracles/sia/newtrace15.rounds.csv,
 * made by that simulator with GLPK in place of CBC.
 */
#include "tests/tap.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "policies/jobs/sia_choose.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIGS = 19, TYPES = 3, MOST_JOBS = 64 };
static const char *const types[TYPES] = { "aws", "dgx-ext", "rtx" };
static const double gpus_of_type[TYPES] = { 24, 16, 24 };

struct round {
	double objective;
	struct sia_job job[MOST_JOBS];
	size_t stored[MOST_JOBS]; /* configuration that the simulator chose */
	size_t n;
};

static char *read_file(const char *name)
{
	const char *root = getenv("ORRERY_DATA_PATH");
	char path[1024];
	struct orr_error e;
	size_t n;
	snprintf(path, sizeof path, "%s/oracles/sia/%s", root ? root : "../shared", name);
	return bytes_read_file(path, 1 << 24, &n, NULL, &e);
}

static char *field(char **rest)
{
	char *at = *rest;
	size_t n = strcspn(at, ",");
	*rest = at + n + (at[n] == ',');
	at[n] = 0;
	return at;
}

/* config,gpu_type,nodes,gpus */
static size_t read_configs(char *text, struct sia_option *o)
{
	size_t n = 0;
	char *rest = text;
	strtok_r(rest, "\r\n", &rest);
	for (char *line; n < CONFIGS && (line = strtok_r(rest, "\r\n", &rest)); n++) {
		field(&line);
		const char *type = field(&line);
		for (uint32_t t = 0; t < TYPES; t++)
			if (!strcmp(type, types[t]))
				o[n].type = t;
		field(&line);
		o[n].gpus = (uint32_t)atoi(field(&line));
	}
	return n;
}

static size_t config_of(const char *text)
{
	return *text ? (size_t)atoi(text) : SIZE_MAX;
}

/* round,objective,job,realloc_factor,previous_config,pinned,chosen_config,s_0..s_18 */
static void add_job(struct round *r, char *line, const struct sia_option *config, struct sia_option *option)
{
	struct sia_job *job = &r->job[r->n];
	field(&line);
	r->objective = strtod(field(&line), NULL);
	field(&line);
	*job = (struct sia_job){ .option = option, .n = CONFIGS, .restart_factor = strtod(field(&line), NULL) };
	job->present = config_of(field(&line));
	job->is_pinned = atoi(field(&line)) > 0;
	r->stored[r->n++] = config_of(field(&line));
	for (size_t i = 0; i < CONFIGS; i++) {
		double s = strtod(field(&line), NULL);
		option[i] = config[i];
		option[i].s = s > 1e-3 ? s : 0;
	}
}

static double objective_of(const struct sia_problem *p, const size_t *chosen)
{
	double sum = 0;
	for (size_t j = 0; j < p->n_jobs; j++)
		sum += chosen[j] == SIZE_MAX ? p->lambda : p->job[j].option[chosen[j]].cost;
	return sum;
}

struct counts {
	size_t rounds, equal_objectives, equal_choices, ties, over;
	double worst;
};

static void compare(struct round *r, struct counts *n)
{
	struct sia_problem p = { .job = r->job,
		.n_jobs = r->n,
		.gpus_of_type = gpus_of_type,
		.n_types = TYPES,
		.power = -0.5,
		.lambda = 1.1,
		.is_rounded = true };
	struct orr_error err = { 0 };
	double objective = NAN, used[TYPES] = { 0 };
	bool is_same = true;
	for (size_t j = 0; j < r->n; j++)
		sia_costs(&p, &r->job[j]);
	if (sia_choose(&p, &objective, &err))
		printf("# %s\n", err.text);
	for (size_t j = 0; j < r->n; j++) {
		is_same &= r->job[j].chosen == r->stored[j];
		if (r->job[j].chosen != SIZE_MAX)
			used[r->job[j].option[r->job[j].chosen].type] += r->job[j].option[r->job[j].chosen].gpus;
	}
	for (size_t t = 0; t < TYPES; t++)
		n->over += used[t] > gpus_of_type[t];
	n->rounds++;
	n->worst = fmax(n->worst, fabs(objective - r->objective));
	n->equal_objectives += fabs(objective - r->objective) < 1e-6;
	n->equal_choices += is_same;
	n->ties += !is_same && fabs(objective_of(&p, r->stored) - objective) < 1e-6;
}

int main(void)
{
	static struct sia_option config[CONFIGS], option[MOST_JOBS][CONFIGS];
	static struct round r;
	struct counts n = { 0 };
	char *configs = read_file("configs.csv"), *rounds = read_file("newtrace15.rounds.csv");
	if (!configs || !rounds) {
		skip("oracles/sia is absent: set ORRERY_DATA_PATH");
		return done();
	}
	ok(read_configs(configs, config) == CONFIGS, "%d configurations", CONFIGS);
	char *rest = rounds;
	long at = -1;
	strtok_r(rest, "\r\n", &rest);
	for (char *line; (line = strtok_r(rest, "\r\n", &rest));) {
		if (at >= 0 && atol(line) != at) {
			compare(&r, &n);
			r.n = 0;
		}
		at = atol(line);
		if (r.n < MOST_JOBS)
			add_job(&r, line, config, option[r.n]);
	}
	compare(&r, &n);
	printf("# %zu rounds: %zu choices equal, %zu others with the same objective; largest difference of objectives %.2g\n", n.rounds,
		n.equal_choices, n.ties, n.worst);
	ok(n.rounds >= 50 && n.equal_objectives == n.rounds, "GP5: every objective is theirs within 1e-6 (%zu of %zu rounds)",
		n.equal_objectives, n.rounds);
	ok(n.equal_choices + n.ties == n.rounds, "GP6: every choice is theirs, or has the same objective");
	ok(n.over == 0, "no type has more GPUs in use than it has");
	mem_free(configs);
	mem_free(rounds);
	return done();
}
