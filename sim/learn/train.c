/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "learn/train.h"

#include "base/mem.h"
#include "results/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* ---- the budget of samples ---- */

/*
 * Decides which gradients count, so that learn.max_samples is not exceeded, and which events reach the learner.
 *
 * A gradient is refused if it would exceed the limit. Its worker is then closed: its later updates have no effect, but updates
 * by counted gradients still apply. Synchronous training ends with the last iteration of all workers that fits.
 */
struct worker_budget {
	uint64_t closed_from;    /* first closed iteration, as in learn_begin(); 0: the worker is open */
	double counted, applied; /* number of counted gradients; number of gradients that an update has applied in all their slices */
	bool is_worker;          /* the device has begun a gradient */
};
struct budget {
	double max_samples, batch;
	double samples;               /* samples of counted gradients, including those still in flight */
	double first_iteration;       /* samples of the first iteration, including refused gradients */
	uint64_t last_iteration;      /* last iteration with a counted gradient */
	uint64_t ended;               /* number of iterations that have ended */
	bool is_asynchronous;         /* workers are asynchronous: updates of one apply independently of the others */
	struct worker_budget *worker; /* [device] */
	uint32_t n_workers;
};

/* Returns the budget of a device, which the caller has checked. */
static struct worker_budget *budget_of(struct budget *b, uint32_t device)
{
	if (device >= b->n_workers) {
		uint32_t n = 2 * device + 2;
		b->worker = mem_realloc(b->worker, n, sizeof *b->worker);
		memset(b->worker + b->n_workers, 0, (n - b->n_workers) * sizeof *b->worker);
		b->n_workers = n;
	}
	return &b->worker[device];
}

static bool is_of_server(const struct orr_update *u)
{
	return u->kind == ORR_PUSH || u->kind == ORR_PULL;
}

static bool is_closed(const struct budget *b, const struct orr_update *u, uint64_t iteration, const uint32_t *group, uint32_t n_group)
{
	uint32_t n = is_of_server(u) ? 1 : n_group;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t device = is_of_server(u) ? u->worker : group[i];
		uint64_t from = device < b->n_workers ? b->worker[device].closed_from : 0;
		if (from && iteration >= from)
			return true;
	}
	return false;
}

/* Counts the gradient, or closes its worker. */
static void ask(struct budget *b, uint32_t device, uint64_t iteration)
{
	struct worker_budget *w = budget_of(b, device);
	w->is_worker = true;
	b->first_iteration += iteration == 1 ? b->batch : 0;
	if (w->closed_from)
		return;
	if (b->samples + b->batch > b->max_samples) {
		w->closed_from = iteration;
		return;
	}
	b->samples += b->batch;
	b->last_iteration = iteration > b->last_iteration ? iteration : b->last_iteration;
	w->counted++;
}

static bool is_of_one_worker(const struct orr_update *u)
{
	return u->kind == ORR_PUSH || u->kind == ORR_APPLY_INBOX;
}

/* Records the kinds of updates, also of closed workers, so that a limit below one gradient is detected. */
static void note_kind(struct budget *b, const struct orr_update *u)
{
	b->is_asynchronous = b->is_asynchronous || (is_of_one_worker(u) && (u->kind != ORR_PUSH || u->window < 2));
}

static void note_applied(struct budget *b, const struct orr_update *u, const uint32_t *group)
{
	bool is_push = u->kind == ORR_PUSH;
	if (!is_of_one_worker(u))
		return;
	uint32_t device = is_push ? u->worker : group[0];
	if (device < b->n_workers)
		b->worker[device].applied += 1. / (u->slices ? u->slices : 1);
}

/* Returns whether all workers are closed and all counted gradients have been applied. */
static bool is_used_up(const struct budget *b)
{
	if (b->ended >= b->last_iteration)
		return true;
	for (uint32_t i = 0; i < b->n_workers; i++) {
		const struct worker_budget *w = &b->worker[i];
		if (w->is_worker && (!w->closed_from || w->applied < w->counted - 1e-6))
			return false;
	}
	return true;
}

/* Returns whether the budget is spent; called when an iteration has ended on all workers. */
static bool is_spent(struct budget *b)
{
	b->ended++;
	if (b->samples + b->batch > b->max_samples && is_used_up(b))
		return true;
	return !b->is_asynchronous && ((double)b->ended + 1) * b->first_iteration > b->max_samples;
}

/* ---- one seed ---- */

struct session {
	struct learn *learn;
	uint64_t epochs; /* LEARN_GCN: number of weight updates in a run; else 0 */
	struct budget budget;
	struct orr_update *open; /* updates of one op that reach the learner */
	uint32_t cap_open;
	struct orr_error error; /* error of the first failure */
};

static void hear_begin(struct session *s, double time_s, uint64_t op, const struct orr_update *u, uint32_t n_updates, const uint32_t *group,
	uint32_t n_group)
{
	enum { MOST_DEVICES = 1 << 24 };
	uint32_t n_open = 0;
	for (uint32_t i = 0; i < n_updates; i++) {
		if (u[i].kind == ORR_GRADIENT && n_group && group[0] < MOST_DEVICES)
			ask(&s->budget, group[0], op >> 32);
		if (is_closed(&s->budget, &u[i], op >> 32, group, n_group))
			continue;
		MEM_GROW(s->open, n_open, s->cap_open);
		s->open[n_open++] = u[i];
	}
	if (n_open)
		learn_begin(s->learn, time_s, op, s->open, n_open, group, n_group, &s->error);
}

/* Handles updates of tasks over a graph. None is left out, because learn.epochs limits the run, not a number of samples. */
static void hear_task(struct session *s, double time_s, bool is_end, uint64_t op, const struct orr_update *u, uint32_t n_updates,
	const uint32_t *group, uint32_t n_group)
{
	if (is_end)
		learn_end(s->learn, time_s, op, n_group ? group[0] : 0, &s->error);
	else
		learn_begin(s->learn, time_s, op, u, n_updates, group, n_group, &s->error);
}

static void hear(void *ctx, double time_s, bool is_end, uint64_t op, const struct orr_update *u, uint32_t n_updates, const uint32_t *group,
	uint32_t n_group)
{
	struct session *s = ctx;
	if (s->error.code)
		return;
	if (s->epochs) {
		hear_task(s, time_s, is_end, op, u, n_updates, group, n_group);
		return;
	}
	if (!is_end) {
		hear_begin(s, time_s, op, u, n_updates, group, n_group);
		return;
	}
	uint32_t first = n_group ? group[0] : 0, n_open = 0;
	for (uint32_t i = 0; i < n_updates; i++) {
		note_kind(&s->budget, &u[i]);
		if (is_closed(&s->budget, &u[i], op >> 32, group, n_group))
			continue;
		note_applied(&s->budget, &u[i], group);
		n_open++;
	}
	if (n_open || learn_is_in_flight(s->learn, op, first))
		learn_end(s->learn, time_s, op, first, &s->error);
}

static bool is_enough(void *ctx, double time_s)
{
	enum { PATIENCE = 100 };
	struct session *s = ctx;
	(void)time_s;
	bool is_over = is_spent(&s->budget);
	if (s->epochs) {
		is_over = learn_steps(s->learn) >= s->epochs;
		s->budget.samples = learn_samples(s->learn);
	}
	if (s->budget.ended == PATIENCE && s->budget.samples == 0 && !s->error.code)
		orr_fail(&s->error, ORR_EFAIL,
			"%d iterations without a gradient: expected a policy that reports updates of the parameters (orr_updates)",
			PATIENCE);
	return s->error.code || learn_reached(s->learn) || is_over;
}

/* Refuses a limit below one iteration (of one worker, if workers are asynchronous), and a history that is too short. */
static int check_session(const struct session *s, const struct learn_config *c, struct orr_error *err)
{
	const struct budget *b = &s->budget;
	if (s->epochs)
		return ORR_OK;
	double least = b->is_asynchronous ? b->batch : b->first_iteration;
	if (b->max_samples < least)
		return orr_fail(err, ORR_EINPUT,
			"learn.max_samples=%g: expected at least %g, the gradients of an iteration (%g) times learn.batch (%g)",
			b->max_samples, least, least / b->batch, b->batch);
	uint64_t needed = learn_history_needed(s->learn);
	if (needed)
		return orr_fail(err, ORR_EINPUT,
			"learn.history=%u: expected at least %llu, because a worker computes that many newer gradients before a message "
			"starts",
			c->history, (unsigned long long)needed);
	return ORR_OK;
}

/* Finds the first epoch and time at which the accuracy is at least `level`, linear between the points of the series; INFINITY:
 * never. */
static void reach(const struct train_seed *s, double level, double *epochs, double *time_s)
{
	*epochs = *time_s = INFINITY;
	for (size_t i = 0; i < s->n_points; i++) {
		const struct learn_point *p = &s->point[i];
		if (!(p->accuracy >= level))
			continue;
		double part = i ? (level - p[-1].accuracy) / (p->accuracy - p[-1].accuracy) : 1;
		*epochs = i ? (double)p[-1].updates + part * (double)(p->updates - p[-1].updates) : 0;
		*time_s = i ? p[-1].time_s + part * (p->time_s - p[-1].time_s) : p->time_s;
		return;
	}
}

/* Keeps the accuracies of a seed. With a target accuracy, the time to the target is the time to this accuracy. */
static void keep_accuracy(const struct learn *l, struct train_seed *out, const struct learn_point *last)
{
	const double within = 0.01;
	out->accuracy = last->accuracy;
	out->best_accuracy = NAN;
	out->ghost_staleness = learn_ghost_staleness(l);
	for (size_t i = 0; i < out->n_points; i++)
		out->best_accuracy = fmax(out->best_accuracy, out->point[i].accuracy);
	reach(out, out->best_accuracy - within, &out->epochs_within, &out->time_within_s);
	if (isnan(out->best_accuracy))
		out->epochs_within = out->time_within_s = NAN;
}

static void keep(const struct learn *l, const struct learn_config *c, struct train_seed *out)
{
	const struct learn_point *p = learn_series(l, &out->n_points), *last = &p[out->n_points - 1];
	out->point = mem_alloc(out->n_points * sizeof *p);
	memcpy(out->point, p, out->n_points * sizeof *p);
	out->time_to_target_s = learn_time_to(l, c->target);
	out->samples_to_target = learn_samples_to(l, c->target);
	keep_accuracy(l, out, last);
	if (!isnan(c->target_accuracy)) {
		reach(out, c->target_accuracy, &out->samples_to_target, &out->time_to_target_s);
		out->samples_to_target *= c->vertices;
	}
	out->time_s = last->time_s;
	out->samples = last->samples;
	out->updates = last->updates;
	out->final_loss = last->loss;
	out->worst = last->worst;
	out->dispersion = last->dispersion;
	out->staleness = learn_staleness(l);
	out->used = learn_used(l);
}

/* Returns the step options with the largest number of iterations. */
static struct orr_args *endless(const struct orr_args *from, struct orr_error *err)
{
	struct orr_args *a = args_new(step_options, "step", err);
	for (size_t i = 0; a && step_options[i].name; i++) {
		const char *value = strcmp(step_options[i].name, "iterations") ? args_value(from, i) : "10000000";
		if (args_set(a, step_options[i].name, value, err)) {
			args_free(a);
			return NULL;
		}
	}
	return a;
}

struct job {
	const struct train_config *config;
	const struct orr_args *step_options;
	const struct orr_policy *policy;
	const struct orr_args *policy_args;
	const char *label;
	struct learn_config learn;
};

static int run_seed(const struct job *j, uint32_t i, struct train_seed *out, double *floor, struct orr_error *err)
{
	struct step_config step = *j->config->step;
	struct learn_config c = j->learn;
	step.seed += i;
	c.seed = step.seed;
	struct session s = { .epochs = c.problem == LEARN_GCN ? c.epochs : 0,
		.budget = { .max_samples = orr_arg_real(j->config->options, "max_samples"), .batch = c.batch } };
	s.learn = learn_new(&c, err);
	if (!s.learn)
		return err->code;
	step.options = j->step_options;
	step.hook = hear;
	step.hook_ctx = &s;
	step.stop = is_enough;
	step.spans = 0;
	struct step_result r;
	int rc = step_run(&step, j->policy, j->policy_args, j->label, &r, err);
	if (!rc)
		step_result_free(&r);
	if (!rc && !s.error.code)
		check_session(&s, &c, &s.error);
	if (!rc && s.error.code)
		rc = orr_fail(err, s.error.code, "policy %s: %s", j->label, s.error.text);
	if (!rc) {
		learn_finish(s.learn);
		keep(s.learn, &c, out);
		if (floor)
			*floor = learn_floor(s.learn);
	}
	learn_free(s.learn);
	mem_free(s.budget.worker);
	mem_free(s.open);
	return rc;
}

/* ---- all seeds ---- */

enum field { TIME_TO_TARGET, SAMPLES_TO_TARGET, FINAL_LOSS, SAMPLES_PER_S, ACCURACY, BEST_ACCURACY, EPOCHS_WITHIN, TIME_WITHIN };

static double field_of(const struct train_seed *s, enum field f)
{
	switch (f) {
	case TIME_TO_TARGET:
		return s->time_to_target_s;
	case SAMPLES_TO_TARGET:
		return s->samples_to_target;
	case FINAL_LOSS:
		return s->final_loss;
	case ACCURACY:
		return s->accuracy;
	case BEST_ACCURACY:
		return s->best_accuracy;
	case EPOCHS_WITHIN:
		return s->epochs_within;
	case TIME_WITHIN:
		return s->time_within_s;
	default:
		return s->time_s > 0 ? s->samples / s->time_s : NAN;
	}
}

/* Returns the interval of a field over seeds; no value if a seed has none. */
static struct interval over_seeds(const struct train_result *t, enum field f, double level)
{
	double *v = mem_zalloc(t->n_seeds, sizeof *v);
	for (uint32_t i = 0; i < t->n_seeds; i++)
		v[i] = field_of(&t->seed[i], f);
	bool is_share = f == ACCURACY || f == BEST_ACCURACY;
	struct interval i = estimate_mean(v, t->n_seeds, is_share ? ESTIMATE_FRACTION : ESTIMATE_NON_NEGATIVE, level);
	mem_free(v);
	return isfinite(i.mean) ? i : (struct interval){ NAN, NAN, NAN };
}

/* Returns the standard deviation of the final loss over seeds; NAN for one seed, or if a seed has no loss. */
static double loss_deviation(const struct train_result *t)
{
	double sum = 0, squares = 0, n = t->n_seeds;
	for (uint32_t i = 0; i < t->n_seeds; i++)
		sum += t->seed[i].final_loss;
	for (uint32_t i = 0; i < t->n_seeds; i++)
		squares += pow(t->seed[i].final_loss - sum / n, 2);
	return n > 1 ? sqrt(squares / (n - 1)) : NAN;
}

static void summarise(struct train_result *t, double level)
{
	for (uint32_t i = 0; i < t->n_seeds; i++)
		t->reached += isfinite(t->seed[i].time_to_target_s);
	t->time_to_target_s = over_seeds(t, TIME_TO_TARGET, level);
	t->samples_to_target = over_seeds(t, SAMPLES_TO_TARGET, level);
	t->final_loss = over_seeds(t, FINAL_LOSS, level);
	t->final_loss_sd = loss_deviation(t);
	t->samples_per_s = over_seeds(t, SAMPLES_PER_S, level);
	t->accuracy = over_seeds(t, ACCURACY, level);
	t->best_accuracy = over_seeds(t, BEST_ACCURACY, level);
	t->epochs_within = over_seeds(t, EPOCHS_WITHIN, level);
	t->time_within_s = over_seeds(t, TIME_WITHIN, level);
}

static int run_all(struct job *j, struct train_result *out, struct orr_error *err)
{
	uint32_t n = out->n_seeds;
	struct orr_error *errors = mem_zalloc(n, sizeof *errors);
	int threads = 1;
#ifdef _OPENMP
	threads = j->config->threads > 0 ? j->config->threads : omp_get_max_threads();
	threads = threads < (int)n ? threads : (int)n;
#endif
	if (threads > 1)
		j->learn.threads = 1;
	else
		j->learn.threads = j->config->threads;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
	for (uint32_t i = 0; i < n; i++)
		run_seed(j, i, &out->seed[i], i ? NULL : &out->floor, &errors[i]);
	int rc = 0;
	for (uint32_t i = 0; i < n && !rc; i++) {
		rc = errors[i].code;
		if (rc && err)
			*err = errors[i];
	}
	mem_free(errors);
	return rc;
}

int train_run(const struct train_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct train_result *out, struct orr_error *err)
{
	*out = (struct train_result){ .floor = NAN };
	struct orr_args *options = endless(c->step->options, err);
	if (!options)
		return err ? err->code : ORR_EINPUT;
	struct job j = { .config = c, .step_options = options, .policy = policy, .policy_args = policy_args, .label = label };
	learn_config_read(&j.learn, c->options);
	if (!j.learn.shards)
		j.learn.shards = c->step->cluster->gpus;
	out->target = j.learn.target;
	out->n_seeds = (uint32_t)orr_arg_int(c->options, "seeds");
	out->seed = mem_zalloc(out->n_seeds, sizeof *out->seed);
	int rc = run_all(&j, out, err);
	args_free(options);
	if (rc)
		train_result_free(out);
	else
		summarise(out, orr_arg_real(c->options, "ci_level"));
	return rc;
}

void train_result_free(struct train_result *t)
{
	for (uint32_t i = 0; i < t->n_seeds; i++)
		mem_free(t->seed[i].point);
	mem_free(t->seed);
	*t = (struct train_result){ 0 };
}

/* ---- metrics and figures ---- */

/* Returns the loss or the accuracy; linear between points. */
static double value_at(const struct train_seed *s, size_t offset, double time_s)
{
	size_t i = 0;
	while (i + 1 < s->n_points && s->point[i + 1].time_s <= time_s)
		i++;
	const struct learn_point *p = &s->point[i];
	double value = *(const double *)((const char *)p + offset);
	if (i + 1 == s->n_points || p[1].time_s <= p->time_s)
		return value;
	return value + (time_s - p->time_s) / (p[1].time_s - p->time_s) * (*(const double *)((const char *)(p + 1) + offset) - value);
}

/* Returns the mean of the seeds at a time that all of them reached. */
static double mean_at(const struct train_result *t, size_t offset, double time_s)
{
	double sum = 0;
	for (uint32_t i = 0; i < t->n_seeds; i++)
		sum += value_at(&t->seed[i], offset, time_s);
	return sum / t->n_seeds;
}

static void put_series(const struct train_result *t, struct run_result *r, const char *name, size_t offset)
{
	enum { POINTS = 201 };
	double until = INFINITY;
	for (uint32_t i = 0; i < t->n_seeds; i++)
		until = fmin(until, t->seed[i].time_s);
	r->series = mem_realloc(r->series, r->n_series + 1, sizeof *r->series);
	struct series *s = &r->series[r->n_series++];
	*s = (struct series){ .name = name, .n = POINTS };
	s->time_ns = mem_alloc(POINTS * sizeof *s->time_ns);
	s->value = mem_alloc(POINTS * sizeof *s->value);
	for (int i = 0; i < POINTS; i++) {
		double at = until * i / (POINTS - 1);
		s->time_ns[i] = (int64_t)llround(at * 1e9);
		s->value[i] = mean_at(t, offset, at);
	}
}

/* Adds a metric; leaves out unknown values. */
static void put(struct run_result *r, const char *name, struct interval i)
{
	if (isfinite(i.mean))
		result_metric(r, name, i.mean, i.low, i.high);
}

static void put_value(struct run_result *r, const char *name, double value)
{
	put(r, name, (struct interval){ value, NAN, NAN });
}

static void put_mean(const struct train_result *t, struct run_result *r, const char *name, size_t offset)
{
	double sum = 0;
	for (uint32_t i = 0; i < t->n_seeds; i++)
		sum += *(const double *)((const char *)&t->seed[i] + offset);
	put_value(r, name, sum / t->n_seeds);
}

/* Without this remark, a table in which no policy reached the target would not mention it. */
static void note_target(const struct train_result *t, struct run_result *r)
{
	char text[200];
	if (isnan(t->target) || t->reached == t->n_seeds)
		return;
	snprintf(text, sizeof text,
		"%u of %u training runs reached the loss learn.target=%.6g, so there is no time to target: expected a higher target, or "
		"more training (learn.max_samples; gcn: learn.epochs)",
		t->reached, t->n_seeds, t->target);
	result_note(r, "remark", text);
}

void train_metrics(const struct train_result *t, struct run_result *r)
{
	note_target(t, r);
	put(r, "time_to_target_s", t->time_to_target_s);
	put(r, "samples_to_target", t->samples_to_target);
	put(r, "final_loss", t->final_loss);
	put_value(r, "final_loss_sd", t->final_loss_sd);
	put_mean(t, r, "learn_samples", offsetof(struct train_seed, samples));
	put(r, "learn_samples_per_s", t->samples_per_s);
	put_value(r, "target_loss", t->target);
	put_value(r, "least_loss", t->floor);
	put_value(r, "seeds", t->n_seeds);
	put_value(r, "seeds_reached", t->reached);
	put_mean(t, r, "worst_replica_loss", offsetof(struct train_seed, worst));
	put_mean(t, r, "dispersion", offsetof(struct train_seed, dispersion));
	put_mean(t, r, "staleness", offsetof(struct train_seed, staleness));
	put(r, "accuracy", t->accuracy);
	put(r, "best_accuracy", t->best_accuracy);
	put(r, "epochs_to_best", t->epochs_within);
	put(r, "time_to_best_s", t->time_within_s);
	put_mean(t, r, "ghost_staleness", offsetof(struct train_seed, ghost_staleness));
	if (!isnan(t->seed[0].final_loss))
		put_series(t, r, "loss", offsetof(struct learn_point, loss));
	if (!isnan(t->seed[0].accuracy))
		put_series(t, r, "accuracy", offsetof(struct learn_point, accuracy));
}
