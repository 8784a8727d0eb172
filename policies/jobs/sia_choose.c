/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sia_choose.h"
#include "knapsack.h"
#include "lexlp.h"

#include <math.h>
#include <stdlib.h>

static const double NOT_ALLOWED = 1e-4, MOST_COST = 3000;
/* Ties are broken by a cost per GPU that is small compared with the steps of rounded costs (0.01). */
static const double TIE_SHARE = 0.004, OWN_TIE_SHARE = 1e-6;
/* Jobs x fillings of the GPU types above which the program is not solved exactly: 64 MiB. */
static const double MOST_CELLS = 1 << 25;
/* The values of the fillings take the memory of as many jobs. */
static const double OTHER_CELLS = 16;

void sia_normalise(const struct sia_problem *p, struct sia_job *job)
{
	double least = INFINITY;
	for (size_t i = 0; i < job->n; i++)
		if (job->option[i].s > 0)
			least = fmin(least, job->option[i].s);
	for (size_t i = 0; i < job->n; i++)
		job->option[i].s = p->is_rounded ? (double)((float)job->option[i].s / (float)least) : job->option[i].s / least;
}

/* The published code computes in 32 bits. */
static double rounded_cost(const struct sia_problem *p, double s, double factor)
{
	float scaled = (float)s * (float)factor;
	float a = rintf(powf(scaled, (float)p->power) * 100.0f) / 100.0f;
	return fmin((double)a, MOST_COST);
}

void sia_costs(const struct sia_problem *p, struct sia_job *job)
{
	for (size_t i = 0; i < job->n; i++) {
		struct sia_option *o = &job->option[i];
		double factor = i == job->present || job->present == SIZE_MAX ? 1 : job->restart_factor;
		double s = o->s > 0 ? o->s : p->is_rounded ? NOT_ALLOWED : 0;
		if (p->is_rounded)
			o->cost = rounded_cost(p, s, factor);
		else
			o->cost = s * factor > 0 ? fmin(pow(s * factor, p->power), MOST_COST) : INFINITY;
	}
}

/* An option that costs at least lambda is never better than none. */
static bool is_candidate(const struct sia_problem *p, const struct sia_job *job, size_t i)
{
	if (job->is_pinned)
		return i == job->present;
	return job->option[i].cost < p->lambda && job->option[i].gpus <= p->gpus_of_type[job->option[i].type];
}

static double all_gpus(const struct sia_problem *p)
{
	double sum = 0;
	for (size_t t = 0; t < p->n_types; t++)
		sum += p->gpus_of_type[t];
	return sum;
}

/* ---- classes of equal jobs ---- */

struct candidate {
	uint32_t type, gpus;
	double value; /* gain over no GPUs, less the cost that breaks ties */
	size_t option;
};

/* Waiting jobs whose candidates are equal. A job with GPUs is alone, because it has a present option. */
struct class
{
	const struct candidate *candidate;
	size_t n;
	size_t job;  /* the first one; the others: program.next[] */
	size_t jobs; /* as many as can have GPUs at once: the others have none in any solution */
};

struct program {
	struct sia_problem *p;
	struct candidate *candidate;
	struct class *class;
	size_t n_classes, n_candidates; /* candidates of all jobs */
	size_t *next;                   /* by job: the next one of its class */
};

static int compare_candidates(const struct class *a, const struct class *b)
{
	if (a->n != b->n)
		return a->n > b->n ? 1 : -1;
	for (size_t i = 0; i < a->n; i++) {
		const struct candidate *x = &a->candidate[i], *y = &b->candidate[i];
		if (x->type != y->type)
			return x->type > y->type ? 1 : -1;
		if (x->gpus != y->gpus)
			return x->gpus > y->gpus ? 1 : -1;
		if (x->value != y->value)
			return x->value > y->value ? 1 : -1;
	}
	return 0;
}

static int by_job(const void *x, const void *y)
{
	const struct class *a = x, *b = y;
	return (a->job > b->job) - (a->job < b->job);
}

static int by_candidates(const void *x, const void *y)
{
	int rc = compare_candidates(x, y);
	return rc ? rc : by_job(x, y);
}

/* Lists each job with candidates as a class of its own. */
static size_t list_jobs(struct program *l, struct class *all)
{
	const struct sia_problem *p = l->p;
	double tie = (p->is_rounded ? TIE_SHARE : OWN_TIE_SHARE) / (all_gpus(p) + 1);
	size_t n = 0, at = 0;
	for (size_t j = 0; j < p->n_jobs; j++) {
		const struct sia_job *job = &p->job[j];
		struct class *c = &all[n];
		*c = (struct class){ .candidate = l->candidate + at, .job = j, .jobs = 1 };
		for (size_t i = 0; i < job->n; i++) {
			const struct sia_option *o = &job->option[i];
			if (!is_candidate(p, job, i))
				continue;
			l->candidate[at++] = (struct candidate){ o->type, o->gpus, p->lambda - o->cost - tie * o->gpus, i };
			c->n++;
		}
		n += c->n > 0;
	}
	l->n_candidates = at;
	return n;
}

/* Returns how many jobs of a class can have GPUs at once. */
static double most_jobs(const struct sia_problem *p, const struct class *c)
{
	double sum = 0;
	for (size_t t = 0; t < p->n_types; t++) {
		uint32_t least = 0;
		for (size_t i = 0; i < c->n; i++)
			if (c->candidate[i].type == t && (!least || c->candidate[i].gpus < least))
				least = c->candidate[i].gpus;
		sum += least ? floor(p->gpus_of_type[t] / least) : 0;
	}
	return sum;
}

static void make_classes(struct program *l)
{
	struct class *all = orr_alloc(l->p->n_jobs + 1, sizeof *all);
	size_t n = list_jobs(l, all), n_waiting = 0;
	for (size_t i = 0; i < n; i++)
		if (l->p->job[all[i].job].present != SIZE_MAX)
			l->class[l->n_classes++] = all[i];
		else
			all[n_waiting++] = all[i];
	if (n_waiting)
		qsort(all, n_waiting, sizeof *all, by_candidates);
	for (size_t i = 0, next; i < n_waiting; i = next) {
		struct class *c = &l->class[l->n_classes++];
		double most = most_jobs(l->p, &all[i]);
		size_t last = all[i].job;
		*c = all[i];
		for (next = i + 1; next < n_waiting && !compare_candidates(&all[i], &all[next]); next++) {
			if ((double)c->jobs >= most)
				continue;
			c->jobs++;
			l->next[last] = all[next].job;
			last = all[next].job;
		}
	}
	if (l->n_classes)
		qsort(l->class, l->n_classes, sizeof *l->class, by_job);
	orr_free(all);
}

/* ---- solutions ---- */

/* Chooses the best candidate of each job. Returns false if the GPUs do not suffice. */
static bool choose_best(const struct program *l)
{
	double *left = orr_alloc(l->p->n_types + 1, sizeof *left);
	bool is_enough = true;
	for (size_t t = 0; t < l->p->n_types; t++)
		left[t] = l->p->gpus_of_type[t];
	for (size_t k = 0; k < l->n_classes && is_enough; k++) {
		const struct class *c = &l->class[k];
		const struct candidate *best = c->candidate;
		for (size_t i = 1; i < c->n; i++)
			if (c->candidate[i].value > best->value)
				best = &c->candidate[i];
		left[best->type] -= (double)best->gpus * (double)c->jobs;
		is_enough = left[best->type] >= 0;
		for (size_t i = 0, j = c->job; i < c->jobs; i++, j = l->next[j])
			l->p->job[j].chosen = best->value > 0 || l->p->job[j].is_pinned ? best->option : SIZE_MAX;
	}
	orr_free(left);
	return is_enough;
}

/* Values become whole numbers, so that equal sums are equal. Their sum is below 2^62. */
static double units_of_value(const struct sia_problem *p)
{
	return ldexp(1, 61 - (int)ceil(log2(fmax(p->lambda, MOST_COST) * (all_gpus(p) + 1))));
}

/* Writes the items of a class. */
static void fill_items(const struct program *l, const struct class *c, struct knapsack_item *item)
{
	size_t present = l->p->job[c->job].present;
	for (size_t i = 0; i < c->n; i++)
		item[i] = (struct knapsack_item){ .bin = c->candidate[i].type,
			.weight = c->candidate[i].gpus,
			.value = (int64_t)rint(c->candidate[i].value * units_of_value(l->p)),
			.bonus = c->candidate[i].option == present };
}

/* Solves the program exactly. Among optima of the fewest GPUs, jobs keep their present ones. */
static int choose_by_knapsack(const struct program *l, struct orr_error *err)
{
	struct sia_problem *p = l->p;
	struct knapsack_item *item = orr_alloc(l->n_candidates + 1, sizeof *item);
	struct knapsack_group *group = orr_alloc(p->n_jobs + 1, sizeof *group), *by_number = orr_alloc(p->n_jobs + 1, sizeof *by_number);
	size_t n_groups = 0;
	for (size_t k = 0; k < l->n_classes; k++) {
		const struct class *c = &l->class[k];
		size_t first = (size_t)(c->candidate - l->candidate);
		fill_items(l, c, item + first);
		for (size_t i = 0, j = c->job; i < c->jobs; i++, j = l->next[j])
			by_number[j] = (struct knapsack_group){ .first = first, .n = c->n, .is_packed = p->job[j].is_pinned };
	}
	for (size_t j = 0; j < p->n_jobs; j++)
		if (by_number[j].n)
			group[n_groups++] = by_number[j];
	bool is_feasible = knapsack(item, group, n_groups, p->gpus_of_type, p->n_types);
	for (size_t j = 0, g = 0; j < p->n_jobs && is_feasible; j++)
		if (by_number[j].n) {
			p->job[j].chosen = group[g].chosen == SIZE_MAX ? SIZE_MAX : l->candidate[group[g].chosen].option;
			g++;
		}
	orr_free(item);
	orr_free(group);
	orr_free(by_number);
	return is_feasible ? ORR_OK : orr_fail(err, ORR_EFAIL, "the jobs that keep their GPUs hold more than there are");
}

/* Column for each candidate of each class: its number of jobs with this candidate. */
static struct lexlp *linear_program(const struct program *l)
{
	const struct sia_problem *p = l->p;
	struct lexlp *lp = lexlp_new();
	int goal = lexlp_goal(lp);
	for (size_t t = 0; t < p->n_types; t++)
		lexlp_row(lp, -INFINITY, p->gpus_of_type[t]);
	lexlp_all_integers(lp, p->gap);
	for (size_t k = 0; k < l->n_classes; k++) {
		const struct class *c = &l->class[k];
		int row = lexlp_row(lp, p->job[c->job].is_pinned ? 1 : 0, (double)c->jobs);
		for (size_t i = 0; i < c->n; i++) {
			int col = lexlp_col(lp, 0, (double)c->jobs);
			lexlp_set(lp, row, col, 1);
			lexlp_set(lp, (int)c->candidate[i].type, col, c->candidate[i].gpus);
			lexlp_goal_set(lp, goal, col, c->candidate[i].value);
		}
	}
	return lp;
}

/* Distributes the candidates of a class to its jobs: the best ones to the first jobs. x: number of jobs by candidate. */
static void distribute(const struct program *l, const struct class *c, double *x)
{
	size_t j = c->job;
	for (size_t given = 0; given < c->jobs; given++, j = l->next[j]) {
		size_t best = SIZE_MAX;
		for (size_t i = 0; i < c->n; i++)
			if (x[i] > 0.5 && (best == SIZE_MAX || c->candidate[i].value > c->candidate[best].value))
				best = i;
		if (best == SIZE_MAX)
			return;
		x[best]--;
		l->p->job[j].chosen = c->candidate[best].option;
	}
}

static int choose_by_integers(const struct program *l, size_t n_items, struct orr_error *err)
{
	struct lexlp *lp = linear_program(l);
	double *x = orr_alloc(n_items + 1, sizeof *x), *at = x;
	int rc = lexlp_solve(lp, x, err);
	for (size_t k = 0; k < l->n_classes && !rc; at += l->class[k++].n)
		distribute(l, &l->class[k], at);
	lexlp_free(lp);
	orr_free(x);
	return rc;
}

static int choose(const struct program *l, struct orr_error *err)
{
	size_t n_items = 0, n_jobs = 0;
	for (size_t k = 0; k < l->n_classes; k++) {
		n_items += l->class[k].n;
		n_jobs += l->class[k].jobs;
	}
	for (size_t j = 0; j < l->p->n_jobs; j++)
		l->p->job[j].chosen = SIZE_MAX;
	if (!n_items || choose_best(l))
		return ORR_OK;
	if (((double)n_jobs + OTHER_CELLS) * knapsack_fillings(l->p->gpus_of_type, l->p->n_types) <= MOST_CELLS)
		return choose_by_knapsack(l, err);
	for (size_t j = 0; j < l->p->n_jobs; j++)
		l->p->job[j].chosen = SIZE_MAX;
	return choose_by_integers(l, n_items, err);
}

int sia_choose(struct sia_problem *p, double *objective, struct orr_error *err)
{
	struct program l = { .p = p };
	size_t n_options = 0;
	double sum = 0;
	for (size_t j = 0; j < p->n_jobs; j++)
		n_options += p->job[j].n;
	l.candidate = orr_alloc(n_options + 1, sizeof *l.candidate);
	l.class = orr_alloc(p->n_jobs + 1, sizeof *l.class);
	l.next = orr_alloc(p->n_jobs + 1, sizeof *l.next);
	make_classes(&l);
	int rc = choose(&l, err);
	for (size_t j = 0; j < p->n_jobs; j++)
		sum += p->job[j].chosen == SIZE_MAX ? p->lambda : p->job[j].option[p->job[j].chosen].cost;
	if (objective)
		*objective = sum;
	orr_free(l.candidate);
	orr_free(l.class);
	orr_free(l.next);
	return rc;
}
