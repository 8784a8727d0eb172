/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/study.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/utf8.h"
#include "study/compare.h"
#include "study/pace.h"
#include "study/progress.h"
#include "engine/watch.h"
#include "results/failed.h"
#include "results/store.h"
#include "world/isolate.h"
#include "world/precision.h"
#include "world/run.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct one_run {
	size_t part, policy; /* number of the scenario, and number of the policy in it */
	struct run_result *result;
	char hash[65];
	char *text;
	int64_t number;                            /* number of the run in the database of study_take(); 0: none */
	bool is_done, is_reused, is_lost, is_told; /* is_lost: the run ended, but could not be stored */
	struct orr_error err;
	struct trial *trial;
	uint32_t n_begun, n_done, n_wanted; /* replications */
	size_t first_task;                  /* first task of the current round, for the replications from n_begun on */
	double begun, ended, cpu_s;
};

/* One scenario. */
struct part {
	struct scenario *scenario;
	char *where;
	size_t first;               /* first run of the scenario */
	struct run_result **result; /* results of the runs without an error, in order of policies; owned by the runs */
	size_t n_results;
	struct report_comparisons *comparisons; /* comparisons of these runs */
};

struct study {
	const struct world_output *o;
	struct part *part;
	size_t n_parts, cap_parts;
	struct one_run *run;
	size_t n_runs, cap_runs;
	struct pace_run *order; /* runs of the current round, in the order of their tasks */
	size_t n_order;
	struct pace *pace, *own_pace; /* own_pace: NULL if the caller gave another */
	struct store *store, *other;  /* other: a second database, which is only read; NULL: none */
	struct store **kept;          /* the store stays open here for the caller's next study; NULL: none */
	const char *other_path;
	const struct failed_runs *failures; /* failures of runs that are not tried again; NULL: none */
	struct progress *progress;
	void (*ended)(void *ctx, bool has_failed); /* NULL: none */
	void *ended_ctx;
	size_t n_stored; /* number of the first run that is not yet stored */
	double stored_s; /* time of the last transaction */
	bool is_storing; /* one thread stores runs, while the others continue */
	int threads;
	bool has_results; /* all runs have ended, possibly with errors */
};

/* ---- the end on a timeout ---- */

static void end_on_timeout(const char *text)
{
	fprintf(stderr, "orrery: %s\n", utf8_shown(text));
	cleanup_now();
	_exit(ORR_EFAIL);
}

/* ---- one run ---- */

struct reporter {
	struct progress *progress;
	size_t part;
};

static void report(void *ctx, double done)
{
	const struct reporter *r = ctx;
	progress_report(r->progress, r->part, done);
}

static const struct scenario_policy *policy_of(const struct study *t, size_t i)
{
	return &t->part[t->run[i].part].scenario->policy[t->run[i].policy];
}

static void begin(struct study *t, size_t i)
{
	struct one_run *x = &t->run[i];
	struct scenario *s = t->part[x->part].scenario;
	x->result = scenario_result(s, x->policy, x->text, x->hash);
	x->trial = trial_new(s, x->policy, x->result);
	x->n_wanted = trial_next(s, NULL, 0);
}

static void end(struct one_run *x)
{
	trial_end(x->trial, &x->err);
	trial_free(x->trial);
	x->trial = NULL;
	x->result->wall_s = x->ended - x->begun;
	x->result->cpu_s = x->cpu_s;
}

/* Tells the caller of the study that a run is done, once. */
static void tell(struct study *t, struct one_run *x)
{
	if (t->ended && x->is_done && !x->is_told)
		t->ended(t->ended_ctx, x->err.code != 0);
	x->is_told = x->is_done;
}

static double size_of(const struct study *t, size_t i)
{
	const struct scenario *s = t->part[t->run[i].part].scenario;
	return s->world->size ? s->world->size(s) : 0;
}

/* Runs that are stored in one transaction: `first` to `end`, of which those in `result` have rows. */
struct batch {
	size_t first, end, n;
	const struct run_result *result[256];
};
static const double short_s = 0.1; /* shorter runs share a transaction, about MOST_WAITING at most */
enum { MOST_WAITING = 64 };

/* Returns whether the calling thread is to store finished runs. Called within the critical section. last: just finished; NULL: the end. */
static bool begin_storing(struct study *t, const struct one_run *last)
{
	size_t at = last ? (size_t)(last - t->run) : t->n_runs, few = (t->n_runs - at) / 4; /* at the end few wait: no thread idles long */
	bool is_short = last && last->ended - last->begun < short_s && last->ended - t->stored_s < short_s;
	if (t->is_storing || (is_short && at - t->n_stored < few && at - t->n_stored < MOST_WAITING))
		return false;
	t->stored_s = clock_read_s(CLOCK_MONOTONIC);
	return t->is_storing = true;
}

/* Takes the next runs to store, in order, as far as all previous runs are done. Called within the critical section. */
static bool take_batch(struct study *t, struct batch *b)
{
	bool is_short = true;
	b->first = t->n_stored;
	b->n = 0;
	for (; is_short && b->n < sizeof b->result / sizeof *b->result && t->n_stored < t->n_runs && t->run[t->n_stored].is_done;
		t->n_stored++) {
		const struct one_run *x = &t->run[t->n_stored];
		is_short = x->is_reused || x->ended - x->begun < short_s;
		if (t->store && !x->err.code && !x->is_reused)
			b->result[b->n++] = x->result;
	}
	b->end = t->n_stored;
	t->is_storing = b->end > b->first;
	return t->is_storing;
}

static void store_batch(struct study *t, const struct batch *b)
{
	struct orr_error err = { 0 };
	if (!b->n || !store_write_all(t->store, b->result, b->n, &err))
		return;
	/* Stores runs one by one, after a transaction with all of them has failed. */
	for (size_t i = b->first; i < b->end; i++) {
		struct one_run *x = &t->run[i];
		if (!x->err.code && !x->is_reused)
			x->is_lost = store_write(t->store, x->result, &x->err) != ORR_OK;
	}
}

/* Stores finished runs as soon as all previous runs are stored, so the order does not depend on -j. One thread does so at a time, outside
 * the critical section, so that the others go on. */
static void store_finished(struct study *t)
{
	struct batch b;
	bool has_more = true;
	while (has_more) {
#pragma omp critical(orr_store)
		has_more = take_batch(t, &b);
		store_batch(t, &b);
	}
}

/* Returns whether stored results do not suffice for this command. */
static bool is_run_anew(const struct world_output *o)
{
	return o->fresh || o->check || o->n_extras;
}

static int reuse(struct study *t, size_t i, struct orr_error *err)
{
	struct one_run *x = &t->run[i];
	struct scenario *s = t->part[x->part].scenario;
	if (!t->store || is_run_anew(t->o))
		return ORR_OK;
	int rc = store_read(t->store, x->hash, policy_of(t, i)->label, &x->result, err);
	if (!rc && !x->result && t->other)
		rc = store_read(t->other, x->hash, policy_of(t, i)->label, &x->result, err);
	const struct failed_run *failure =
		rc || x->result || !t->failures ? NULL : failed_runs_find(t->failures, x->hash, policy_of(t, i)->label);
	if (failure) {
		orr_fail(&x->err, ORR_EFAIL, "%s", failure->error);
		x->is_done = true;
	}
	if (rc || !x->result)
		return rc;
	x->is_done = x->is_reused = true;
	if (!(s->until_precision > 0))
		pace_learn(t->pace, policy_of(t, i)->label, size_of(t, i), x->result->cpu_s / s->replications);
	if (s->world->reused)
		s->world->reused(s, x->policy, x->result);
	return ORR_OK;
}

/* ---- all runs ---- */

/* Numbers the tasks of this round: the requested replications of all runs that have not begun. Returns their number. */
static size_t number_tasks(struct study *t)
{
	enum { PER_THREAD = 32 }; /* more tasks would delay the storing of finished runs, which are stored in order */
	size_t n = 0;
	t->order = mem_realloc(t->order, t->n_runs + 1, sizeof *t->order);
	t->n_order = 0;
	for (size_t i = 0; i < t->n_runs; i++)
		if (t->run[i].n_wanted > t->run[i].n_begun)
			t->order[t->n_order++] = (struct pace_run){ i, pace_expect(t->pace, policy_of(t, i)->label, size_of(t, i)) };
	pace_order(t->order, t->n_order, (size_t)t->threads * PER_THREAD);
	for (size_t k = 0; k < t->n_order; k++) {
		struct one_run *x = &t->run[t->order[k].run];
		x->first_task = n;
		n += x->n_wanted - x->n_begun;
	}
	return n;
}

/* Returns the run of a task: the last one that begins at or before it. */
static size_t run_of_task(const struct study *t, size_t task)
{
	size_t low = 0, high = t->n_order;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (t->run[t->order[middle].run].first_task <= task)
			low = middle;
		else
			high = middle;
	}
	return t->order[low].run;
}

/* Called within a critical section. */
static void note_time(struct study *t, struct one_run *x, double begun, double cpu_s)
{
	if (!x->n_done++ || begun < x->begun)
		x->begun = begun;
	x->ended = clock_read_s(CLOCK_MONOTONIC);
	x->cpu_s += cpu_s;
	progress_report(t->progress, (size_t)(x - t->run), (double)x->n_done / x->n_wanted);
}

/* Returns whether the number of replications is not known in advance. */
static bool is_adaptive(const struct study *t, const struct one_run *x)
{
	return t->part[x->part].scenario->until_precision > 0;
}

static void carry_out(struct study *t, size_t task)
{
	size_t i = run_of_task(t, task);
	struct one_run *x = &t->run[i];
	struct reporter reporter = { t->progress, i };
	bool has_own = t->progress && x->n_wanted == 1;
	double wall = clock_read_s(CLOCK_MONOTONIC), cpu = clock_read_s(CLOCK_THREAD_CPUTIME_ID);
	double other_s = trial_run(x->trial, x->n_begun + (uint32_t)(task - x->first_task), has_own ? report : NULL, &reporter);
	cpu = clock_read_s(CLOCK_THREAD_CPUTIME_ID) - cpu + other_s;
	bool is_last, stores;
#pragma omp critical(orr_store)
	{
		note_time(t, x, wall, cpu);
		is_last = x->n_done == x->n_wanted && !is_adaptive(t, x);
	}
	if (!is_last)
		return;
#pragma omp critical(orr_end)
	end(x);
#pragma omp critical(orr_store)
	{
		pace_learn(t->pace, policy_of(t, i)->label, size_of(t, i), x->cpu_s / x->n_done);
		x->is_done = true; /* other threads read it only within this section */
		tell(t, x);
		stores = begin_storing(t, x);
	}
	if (stores)
		store_finished(t);
}

static void run_round(struct study *t)
{
	long n = (long)number_tasks(t);
	/* A single run may use the threads itself. */
#pragma omp parallel for schedule(dynamic, 1) num_threads(limits_threads(t->threads, (size_t)n)) if (n > 1)
	for (long task = 0; task < n; task++)
		carry_out(t, (size_t)task);
	for (size_t i = 0; i < t->n_runs; i++)
		t->run[i].n_begun = t->run[i].n_wanted;
}

static void end_adaptive(const struct scenario *s, struct one_run *x)
{
	struct run_result **runs = mem_zalloc(s->n_policies + 1, sizeof *runs);
	size_t n = 0;
	bool is_new = false;
	for (size_t i = 0; i < s->n_policies; i++) {
		if (!x[i].is_done) {
			end(&x[i]);
			x[i].is_done = is_new = true;
		}
		if (!x[i].err.code)
			runs[n++] = x[i].result;
	}
	if (is_new)
		precision_remark(s, runs, n);
	mem_free(runs);
}

/* Requests further replications of a scenario's runs, or ends them. x: its first run. */
static void extend(const struct scenario *s, struct one_run *x)
{
	struct trial **trial = mem_zalloc(s->n_policies + 1, sizeof *trial);
	const struct run_result *stored = NULL;
	uint32_t n = 0;
	for (size_t i = 0; i < s->n_policies; i++) {
		trial[i] = x[i].trial;
		stored = x[i].is_reused ? x[i].result : stored;
		n = x[i].is_done ? n : x[i].n_done;
	}
	/* All runs had the same number of replications when one of them was stored. */
	const struct metric *known = stored ? result_find(stored, "replications") : NULL;
	uint32_t next = known ? (uint32_t)known->value : trial_next(s, trial, n);
	if (next <= n)
		end_adaptive(s, x);
	for (size_t i = 0; next > n && i < s->n_policies; i++)
		x[i].n_wanted = x[i].is_done ? 0 : next;
	mem_free(trial);
}

/* Returns whether any run continues. */
static bool extend_all(struct study *t)
{
	bool goes_on = false;
	for (size_t k = 0, i = 0; k < t->n_parts; i += t->part[k++].scenario->n_policies) {
		const struct scenario *s = t->part[k].scenario;
		bool is_done = true;
		for (size_t p = 0; p < s->n_policies; p++)
			is_done &= t->run[i + p].is_done;
		if (is_done || !(s->until_precision > 0))
			continue;
		extend(s, &t->run[i]);
		for (size_t p = 0; p < s->n_policies; p++) {
			tell(t, &t->run[i + p]);
			goes_on |= !t->run[i + p].is_done;
		}
	}
	return goes_on;
}

static void run_all(struct study *t)
{
	for (size_t i = 0; i < t->n_runs; i++)
		if (!t->run[i].is_done)
			begin(t, i);
	do
		run_round(t);
	while (extend_all(t));
	store_finished(t);
}

/* ---- the study ---- */

struct study *study_new(const struct world_output *o)
{
	struct study *t = mem_zalloc(1, sizeof *t);
	t->o = o;
	t->threads = world_threads(o);
	t->pace = t->own_pace = pace_new();
	return t;
}

static void add_opened(struct study *t, struct scenario *s, const char *where)
{
	struct part part = { .scenario = s, .where = where ? mem_strdup(where) : NULL, .first = t->n_runs };
	MEM_GROW(t->part, t->n_parts, t->cap_parts);
	for (size_t i = 0; i < s->n_policies; i++) {
		MEM_GROW(t->run, t->n_runs, t->cap_runs);
		t->run[t->n_runs++] = (struct one_run){ .part = t->n_parts, .policy = i };
	}
	t->part[t->n_parts++] = part;
}

/* Returns whether a run from this one on needs a separate process. */
static bool has_isolated(const struct study *t, size_t first)
{
	for (size_t i = first; i < t->n_runs; i++)
		if (!t->run[i].is_done && isolate_has(policy_of(t, i)))
			return true;
	return false;
}

/* Uses no threads if a plugin runs: its processes are copies of this one, where libgomp would wait for threads that were not copied. */
static void hash_runs(struct study *t, size_t first)
{
	size_t n = has_isolated(t, first) ? 1 : t->n_runs - first;
#pragma omp parallel for schedule(dynamic, 8) num_threads(limits_threads(t->threads, n)) if (n > 1)
	for (size_t i = first; i < t->n_runs; i++)
		t->run[i].text = scenario_text(t->part[t->run[i].part].scenario, t->run[i].policy, t->run[i].hash);
}

int study_add_all(struct study *t, const cJSON *const *scenario, const char *const *where, size_t n, size_t *failed, struct orr_error *err)
{
	struct scenario **s = mem_zalloc(n, sizeof *s);
	struct orr_error *error = mem_zalloc(n, sizeof *error);
	size_t first = t->n_runs;
	int rc = ORR_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(limits_threads(t->threads, n)) if (n > 1)
	for (size_t i = 0; i < n; i++)
		s[i] = scenario_open(scenario[i], t->o, &error[i]);
	for (size_t i = 0; i < n; i++) {
		if (!rc && !s[i]) {
			*failed = i;
			*err = error[i];
			rc = err->code;
		}
		if (!rc)
			add_opened(t, s[i], where[i]);
		else
			scenario_close(s[i]);
	}
	hash_runs(t, first);
	mem_free(error);
	mem_free(s);
	return rc;
}

int study_add(struct study *t, const cJSON *scenario, const char *where, struct orr_error *err)
{
	size_t failed;
	return study_add_all(t, &scenario, &where, 1, &failed, err);
}

void study_reuse_from(struct study *t, const char *db)
{
	t->other_path = db;
}

void study_learn(struct study *t, struct pace *pace)
{
	t->pace = pace;
}

void study_watch(struct study *t, void (*ended)(void *ctx, bool has_failed), void *ctx)
{
	t->ended = ended;
	t->ended_ctx = ctx;
}

void study_skip_failures(struct study *t, const struct failed_runs *f)
{
	t->failures = f;
}

void study_keep_store(struct study *t, struct store **kept)
{
	t->kept = kept;
}

static int open_store(struct study *t, struct orr_error *err)
{
	t->store = t->kept && *t->kept ? *t->kept : store_open(t->o->db, NULL, err);
	if (t->kept)
		*t->kept = t->store;
	if (!t->store)
		return err->code;
	store_replace_existing(t->store, is_run_anew(t->o));
	if (t->other_path && access(t->other_path, F_OK) == 0 && !(t->other = store_open_readonly(t->other_path, err)))
		return err->code;
	cleanup_message("\norrery: interrupted; the database has the completed runs up to the first run that had not ended\n");
	return ORR_OK;
}

static int first_error(const struct study *t, struct orr_error *err)
{
	for (size_t i = 0; i < t->n_runs; i++)
		if (t->run[i].err.code) {
			const struct orr_error *e = &t->run[i].err;
			const char *where = t->part[t->run[i].part].where;
			return orr_fail(err, e->code, "%.300s%s%s", where ? where : "", where ? ": " : "", e->text);
		}
	return ORR_OK;
}

static int run_or_reuse(struct study *t, const char *what, struct orr_error *err)
{
	for (size_t i = 0; i < t->n_runs; i++) {
		int rc = reuse(t, i, err);
		if (rc)
			return rc;
		tell(t, &t->run[i]);
	}
	if (has_isolated(t, 0) && isolate_start(err))
		return err->code;
	t->progress = progress_new(what, t->n_runs, t->o->quiet);
	watchdog_start(end_on_timeout);
	run_all(t);
	watchdog_stop();
	isolate_stop();
	progress_free(t->progress);
	return ORR_OK;
}

static void say_what_is_reused(const struct study *t)
{
	for (size_t i = 0; i < t->n_runs && !t->o->quiet && !t->o->is_series; i++)
		if (t->run[i].is_reused)
			fprintf(stderr, "orrery: %s: the run is taken from %s (--fresh repeats it)\n", utf8_shown(t->run[i].result->label),
				utf8_shown(t->o->db));
}

size_t study_reused(const struct study *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n_runs; i++)
		n += t->run[i].is_reused;
	return n;
}

size_t study_runs(const struct study *t)
{
	return t->n_runs;
}

static int finish_parts(struct study *t, struct orr_error *err)
{
	int rc = ORR_OK;
	size_t i = 0;
	for (size_t k = 0; k < t->n_parts && !rc; k++) {
		struct part *p = &t->part[k];
		size_t n = p->scenario->n_policies;
		p->result = mem_zalloc(n + 1, sizeof *p->result);
		for (size_t j = 0; j < n; j++, i++)
			if (!t->run[i].err.code)
				p->result[p->n_results++] = t->run[i].result;
		if (p->n_results)
			rc = scenario_finish(p->scenario, p->result, p->n_results, err);
		if (!rc)
			p->comparisons = compare_policies(p->scenario, p->result, p->n_results);
	}
	return rc;
}

int study_carry_out(struct study *t, const char *what, struct orr_error *err)
{
	int rc = ORR_OK;
	/* The folder is made before the runs, so that an invalid name is reported before hours of work. */
	if (t->o->out_dir)
		rc = outfile_make_dir(t->o->out_dir, err);
	if (!rc && t->o->db)
		rc = open_store(t, err);
	if (!rc)
		rc = run_or_reuse(t, what, err);
	store_close(t->other, NULL);
	t->other = NULL;
	if (t->store) {
		struct orr_error on_close = { 0 };
		int closed = t->kept ? ORR_OK : store_close(t->store, rc ? &on_close : err);
		t->store = NULL;
		cleanup_message(NULL);
		rc = rc ? rc : closed;
	}
	if (!rc)
		say_what_is_reused(t);
	if (!rc)
		rc = finish_parts(t, err);
	if (rc)
		return rc;
	t->has_results = true;
	return first_error(t, err);
}

int study_take(struct study *t, const struct study_source *from, size_t *missing, struct orr_error *err)
{
	int rc = ORR_OK;
	for (size_t i = *missing = 0; i < t->n_runs && !rc; i++) {
		struct one_run *x = &t->run[i];
		struct scenario *s = t->part[x->part].scenario;
		x->number = from->find(from->ctx, x->hash, x->text, policy_of(t, i)->label);
		*missing += !x->number;
		rc = x->number ? store_read_run(from->store, x->number, &x->result, err) : ORR_OK;
		x->is_done = x->is_reused = x->result != NULL;
		if (x->is_done && s->world->reused)
			s->world->reused(s, x->policy, x->result);
	}
	t->has_results = !rc && !*missing && !(rc = finish_parts(t, err));
	return rc;
}

int64_t study_number(const struct study *t, size_t k, size_t policy)
{
	return t->run[t->part[k].first + policy].number;
}

struct run_result *const *study_results(const struct study *t, size_t k, size_t *n)
{
	*n = t->has_results ? t->part[k].n_results : 0;
	return t->part[k].result;
}

const struct report_comparisons *study_comparisons(const struct study *t, size_t k)
{
	return t->part[k].comparisons;
}

bool study_has_ended(const struct study *t)
{
	return t->has_results;
}

size_t study_policies(const struct study *t, size_t k)
{
	return t->part[k].scenario->n_policies;
}

const struct orr_error *study_error(const struct study *t, size_t k, size_t policy, const char **label)
{
	size_t i = t->part[k].first + policy;
	*label = policy_of(t, i)->label;
	return t->run[i].err.code ? &t->run[i].err : NULL;
}

bool study_is_lost(const struct study *t, size_t k, size_t policy)
{
	return t->run[t->part[k].first + policy].is_lost;
}

const char *study_key(const struct study *t, size_t k, size_t policy, const char **label)
{
	size_t i = t->part[k].first + policy;
	*label = policy_of(t, i)->label;
	return t->run[i].hash;
}

int study_count(struct study *t, size_t *runs, size_t *known, double *wall_s, struct orr_error *err)
{
	int rc = ORR_OK;
	*runs = t->n_runs;
	*known = 0;
	*wall_s = 0;
	if (!t->o->db || access(t->o->db, F_OK) != 0)
		return rc;
	t->store = store_open_readonly(t->o->db, err);
	rc = t->store ? ORR_OK : err->code;
	for (size_t i = 0; i < t->n_runs && !rc; i++) {
		rc = reuse(t, i, err);
		*known += t->run[i].is_reused;
		*wall_s += t->run[i].is_reused ? t->run[i].result->wall_s : 0;
	}
	struct orr_error on_close = { 0 };
	if (t->store)
		store_close(t->store, &on_close);
	t->store = NULL;
	return rc;
}

void study_free(struct study *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_runs; i++) {
		result_free(t->run[i].result);
		mem_free(t->run[i].text);
	}
	for (size_t k = 0; k < t->n_parts; k++) {
		scenario_close(t->part[k].scenario);
		report_comparisons_free(t->part[k].comparisons);
		mem_free(t->part[k].result);
		mem_free(t->part[k].where);
	}
	pace_free(t->own_pace);
	mem_free(t->order);
	mem_free(t->run);
	mem_free(t->part);
	mem_free(t);
}
