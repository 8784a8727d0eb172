/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/sweep.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "results/failed.h"
#include "results/merge.h"
#include "results/store.h"
#include "study/board.h"
#include "study/figures.h"
#include "study/pace.h"
#include "study/sweep_report.h"
#include "study/sweep_tasks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 256 }; /* points that are open at once, so that memory does not grow with the study */

struct sweep {
	const struct sweep_request *request;
	struct world_output output; /* options of this process; the database is its shard */
	struct share share;
	struct book *book;
	struct tasks tasks;
	size_t n_runs, n_reused;
	struct sweep_rows rows;
	struct pace *pace;
	struct store *store;         /* database or shard of this process; NULL: not open */
	struct failed_runs known;    /* failures of earlier studies, from the database and the shard */
	bool is_retry;               /* these runs are repeated */
	struct failed_runs failed;   /* failures of this block */
	struct failed_runs outdated; /* known failures at points of this study with another hash than the run */
	struct failed_runs lasting;  /* known failures of runs of this study */
	struct orr_error unstored;   /* why failures of a block could not be stored: reported after the table */
	struct board *board;         /* progress of this part; NULL: none */
	double ended, ended_badly;   /* number of runs of the part that ended, and of those that failed */
};

/* ---- tasks ---- */

static void keep_policy(cJSON *scenario, int policy)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(scenario, "policies");
	for (int i = cJSON_GetArraySize(list); i-- > 0;)
		if (i != policy)
			cJSON_DeleteItemFromArray(list, i);
}

/* Binds the axes for a task; a search gets its next value. */
static void bind(struct sweep *w, const struct task *t)
{
	book_bind(w->book, t->run, t->point);
	if (!t->s)
		return;
	const struct book_search *s = &t->run->search;
	double v = NAN;
	search_next(t->s, &v);
	book_set_value(&w->book->axis[s->axis], s->value, v);
}

/* Makes the scenario of a task, at the next value of its search. The caller frees it. */
static int make_scenario(struct sweep *w, const struct task *t, struct book_point *out, struct orr_error *err)
{
	bind(w, t);
	book_describe_point(w->book, t->run, out->where, sizeof out->where);
	int rc = book_scenario(w->book, t->run, out->where, &out->scenario, err);
	if (!rc && !out->scenario)
		return book_fail(
			w->book, out->where, err, "\"where\": expected 1 at every value of the axis that \"find\" or \"refine\" searches");
	if (!rc && t->policy >= 0)
		keep_policy(out->scenario, t->policy);
	return rc;
}

static int add_scenarios(struct sweep *w, struct study *study, const struct task *task, size_t n, struct orr_error *err)
{
	struct book_point *point = mem_zalloc(n, sizeof *point);
	int rc = ORR_OK;
	for (size_t i = 0; i < n && !rc; i++)
		rc = make_scenario(w, &task[i], &point[i], err);
	if (!rc)
		rc = book_add_scenarios(w->book, study, point, n, err);
	for (size_t i = 0; i < n; i++)
		cJSON_Delete(point[i].scenario);
	mem_free(point);
	return rc;
}

/* ---- failed runs ---- */

/* Returns whether failures of earlier studies are repeated. */
static bool is_repeating(const struct sweep *w)
{
	return w->is_retry || w->output.fresh || w->output.check;
}

static int read_failures(struct sweep *w, const char *db, struct orr_error *err)
{
	enum { HEADER_BYTES = 4096 }; /* a database with tables has more */
	struct stat st;
	if (!db || stat(db, &st) || st.st_size <= HEADER_BYTES)
		return ORR_OK;
	struct store *s = store_open_readonly(db, err);
	int rc = s ? failed_runs_read(s, &w->known, err) : err->code;
	store_close(s, NULL);
	return rc;
}

/* Reads the failures of the database, and of the shard that this process writes. */
static int read_all_failures(struct sweep *w, struct orr_error *err)
{
	failed_runs_free(&w->known);
	int rc = read_failures(w, w->request->output.db, err);
	return rc || !w->share.count ? rc : read_failures(w, w->output.db, err);
}

/* Notes known failures of the run at this point that have another hash: its plugin, inputs or scenario have changed since. */
static void note_outdated(struct sweep *w, const struct task *t, const char *hash, const char *label)
{
	char where[160];
	book_describe_point(w->book, t->run, where, sizeof where);
	for (size_t i = 0; i < w->known.n; i++) {
		const struct failed_run *f = &w->known.list[i];
		if (!strcmp(f->label, label) && !strcmp(f->point, where + sizeof "$.runs." - 1) && strcmp(f->hash, hash) != 0)
			failed_runs_put(&w->outdated, f);
	}
}

/* Deletes outdated failures. Descriptions of points are cut, so one of another run of the study may be among them. */
static int delete_outdated(struct sweep *w, struct orr_error *err)
{
	int rc = ORR_OK;
	for (size_t i = 0; i < w->outdated.n && w->store && !rc; i++) {
		const struct failed_run *f = &w->outdated.list[i];
		if (!failed_runs_find(&w->lasting, f->hash, f->label))
			rc = store_delete_failure(w->store, f, err);
	}
	return rc;
}

/* Keeps the row of a failed run; is_tried: the failure is stored later, unless an earlier study stored it. */
static void take_failure(struct sweep *w, const struct task *t, const char *hash, const char *label, const char *error, bool is_tried)
{
	char where[160], *copy[3] = { mem_strdup(hash), mem_strdup(label), mem_strdup(error) };
	const struct failed_run *old = failed_runs_find(&w->known, hash, label);
	int64_t tries = old ? old->tries : 0;
	if (old)
		failed_runs_put(&w->lasting, old);
	book_describe_point(w->book, t->run, where, sizeof where);
	if (is_tried && (!old || is_repeating(w)))
		failed_runs_put(&w->failed, &(struct failed_run){ copy[0], copy[1], where + sizeof "$.runs." - 1, copy[2], ++tries });
	sweep_add_failure(&w->rows, w->book, t->run, t->number, label, error, tries);
	for (size_t i = 0; i < 3; i++)
		mem_free(copy[i]);
}

/* Stores the failures of a block, and forgets those whose run was stored since. */
static int store_failures(struct sweep *w, struct orr_error *err)
{
	bool is_resolving = w->known.n && is_repeating(w);
	if (!w->store || !(w->failed.n || is_resolving))
		return ORR_OK;
	int rc = store_write_failures(w->store, w->failed.list, w->failed.n, err);
	if (!rc && is_resolving)
		rc = store_forget_failures(w->store, err);
	failed_runs_free(&w->failed);
	return rc;
}

/* ---- progress of a part ---- */

/* Returns the number of runs of a search: those tried, or an estimate while it is not done. */
static double runs_of(struct search *s)
{
	enum { CHECKS = 8 };
	double v, tried = (double)search_answer(s).tried;
	return search_next(s, &v) ? fmax(tried + 1, 2 + CHECKS + ceil(log2((double)search_grid(s)))) : tried;
}

static double expected_runs(const struct sweep *w)
{
	double n = 0;
	struct task_cursor c = { 0 };
	for (struct task t; tasks_next(&w->tasks, &c, &t);)
		if (share_has(&w->share, t.number))
			n += t.s ? runs_of(t.s) : (double)t.policies;
	return n;
}

static void run_ended(void *ctx, bool has_failed)
{
	struct sweep *w = ctx;
	w->ended_badly += has_failed;
	board_runs(w->board, ++w->ended);
	if (has_failed)
		board_failed(w->board, w->ended_badly);
}

/* ---- rounds ---- */

/* Gives a search the result of its run; r NULL: it failed. */
static void put_result(struct search *s, const struct run_result *r, const char *name)
{
	const struct metric *m = r ? result_find(r, name) : NULL;
	search_put_interval(s, m ? m->value : NAN, m ? m->ci_low : NAN, m ? m->ci_high : NAN);
}

/* Keeps the rows of part k of the study, and gives the search its result. */
static int take_part(struct sweep *w, struct study *study, size_t k, const struct task *t, struct orr_error *err)
{
	size_t n;
	struct run_result *const *result = study_results(study, k, &n);
	const char *label;
	bind(w, t);
	for (size_t i = 0; i < n; i++)
		sweep_add_row(&w->rows, w->book, t->run, t->number, result[i]);
	for (size_t p = 0; p < study_policies(study, k); p++) {
		const struct orr_error *e = study_error(study, k, p, &label);
		const char *hash = study_key(study, k, p, &label);
		note_outdated(w, t, hash, label);
		if (e && e->code == CLEANUP_INTERRUPTED) {
			*err = *e;
			return e->code; /* a missing metric is not a failure of the run */
		}
		if (e)
			take_failure(w, t, hash, label, e->text, !study_is_lost(study, k, p));
	}
	if (!t->s)
		return ORR_OK;
	if (n && !sweep_knows(&w->rows, t->run->search.metric)) /* else it is missing at this point: the result is NAN */
		return book_fail(w->book, "$.runs", err, "%.40s: metric \"%.60s\": expected a metric that the runs have", t->run->name,
			t->run->search.metric);
	put_result(t->s, n ? result[0] : NULL, t->run->search.metric);
	return ORR_OK;
}

/* Returns whether this process has the task in a round: searches in all rounds, other points in the first. */
static bool is_next(const struct sweep *w, const struct task *t, size_t round)
{
	double v;
	if (!share_has(&w->share, t->number))
		return false;
	return t->s ? search_next(t->s, &v) : !round;
}

/* Runs the next tasks of a round, at most BLOCK of them. *n: how many of them ran. */
static int run_block(struct sweep *w, size_t round, struct task_cursor *at, size_t *n, struct orr_error *err)
{
	struct task task[BLOCK];
	struct study *study = study_new(&w->output);
	if (w->share.count)
		study_reuse_from(study, w->request->output.db);
	study_learn(study, w->pace);
	study_keep_store(study, &w->store);
	if (w->board)
		study_watch(study, run_ended, w);
	if (!is_repeating(w))
		study_skip_failures(study, &w->known);
	for (*n = 0; *n < BLOCK && tasks_next(&w->tasks, at, &task[*n]);)
		*n += is_next(w, &task[*n], round);
	int rc = *n ? add_scenarios(w, study, task, *n, err) : ORR_OK;
	struct orr_error failed = { 0 };
	if (!rc && *n && study_carry_out(study, "runs", &failed) && !study_has_ended(study)) {
		*err = failed;
		rc = failed.code;
	}
	for (size_t k = 0; k < *n && !rc; k++)
		rc = take_part(w, study, k, &task[k], err);
	if (!rc && w->rows.err.code)
		rc = orr_fail(err, w->rows.err.code, "%s", w->rows.err.text);
	if (!rc && !w->unstored.code)
		store_failures(w, &w->unstored);
	if (w->board)
		board_total(w->board, expected_runs(w));
	w->n_runs += study_runs(study);
	w->n_reused += study_reused(study);
	study_free(study);
	return rc;
}

/* Runs a round; *n: number of tasks that ran, 0 if all searches are done. */
static int run_round(struct sweep *w, size_t round, size_t *n, struct orr_error *err)
{
	size_t ran;
	int rc = ORR_OK;
	struct task_cursor at = { 0 };
	*n = 0;
	for (; at.number < w->tasks.n && !rc; *n += ran)
		rc = run_block(w, round, &at, &ran, err);
	return rc;
}

/* Adds the next listed or drawn points to a study, at most BLOCK of them. *n: their number. */
static int open_listed(struct sweep *w, struct study *study, struct task_cursor *at, size_t *n, struct orr_error *err)
{
	struct task task[BLOCK];
	for (*n = 0; *n < BLOCK && tasks_next(&w->tasks, at, &task[*n]);)
		*n += !task[*n].s;
	return *n ? add_scenarios(w, study, task, *n, err) : ORR_OK;
}

/* ---- --dry-run ---- */

/* Returns the mean size of a run in the database; 0: unknown. */
static double mean_bytes(const char *db)
{
	struct orr_error ignored = { 0 };
	struct stored_run *list = NULL;
	struct stat file;
	size_t n = 0;
	struct store *s = db && !stat(db, &file) ? store_open_readonly(db, &ignored) : NULL;
	if (!s)
		return 0;
	store_list(s, &list, &n, &ignored);
	store_list_free(list, n);
	store_close(s, &ignored);
	return n ? (double)file.st_size / (double)n : 0;
}

/* Counts for --dry-run. */
struct dry_count {
	size_t points, runs, known, failed, searches;
	double wall_s; /* sums over the known runs */
};

static void say_dry(const struct sweep *w, const struct dry_count *c)
{
	const char *db = w->output.db;
	double bytes = mean_bytes(db);
	printf("%zu points, %zu runs", c->points, c->runs);
	if (c->searches)
		printf("; %zu searches", c->searches);
	printf("\n");
	if (db)
		printf("%zu of the runs are stored in %s already\n", c->known, db);
	if (c->failed)
		printf("%zu of the runs failed earlier and are not tried again (--retry repeats them)\n", c->failed);
	size_t left = c->runs - c->known - c->failed;
	if (c->known)
		printf("expected for the other %zu runs: %.3g s on %d threads, %.3g MB (from means of the stored runs)\n", left,
			c->wall_s / (double)c->known * (double)left / world_threads(&w->output), world_threads(&w->output),
			bytes * (double)left / 1e6);
	else
		printf("expected time and bytes: unknown, because no run is stored yet\n");
}

static int count_block(struct sweep *w, struct task_cursor *at, struct dry_count *c, struct orr_error *err)
{
	struct study *study = study_new(&w->output);
	const char *label;
	size_t n, runs = 0, known = 0;
	double wall_s = 0;
	if (!is_repeating(w))
		study_skip_failures(study, &w->known);
	int rc = open_listed(w, study, at, &n, err);
	if (!rc)
		rc = study_count(study, &runs, &known, &wall_s, err);
	for (size_t k = 0; k < n && !rc; k++)
		for (size_t p = 0; p < study_policies(study, k); p++)
			c->failed += study_error(study, k, p, &label) != NULL;
	c->points += n;
	c->runs += runs;
	c->known += known;
	c->wall_s += wall_s;
	study_free(study);
	return rc;
}

static int dry_run(struct sweep *w, struct orr_error *err)
{
	struct dry_count c = { 0 };
	int rc = read_all_failures(w, err);
	struct task_cursor at = { 0 };
	c.searches = tasks_searches(&w->tasks);
	while (at.number < w->tasks.n && !rc)
		rc = count_block(w, &at, &c, err);
	if (!rc)
		say_dry(w, &c);
	return rc;
}

/* ---- answers ---- */

static void add_answers(struct sweep *w)
{
	struct task_cursor c = { 0 };
	for (struct task t; tasks_next(&w->tasks, &c, &t);)
		if (t.s && t.run->search.kind == BOOK_FIND)
			sweep_add_answer(&w->rows, t.number, t.run, search_answer(t.s), search_grid(t.s));
}

static int run_rounds(struct sweep *w, struct orr_error *err)
{
	size_t n = 1;
	int rc = read_all_failures(w, err);
	for (size_t round = 0; n && !rc; round++)
		rc = run_round(w, round, &n, err);
	if (!rc)
		rc = delete_outdated(w, err);
	struct orr_error on_close = { 0 };
	int closed = store_close(w->store, rc ? &on_close : err);
	w->store = NULL;
	return rc ? rc : closed;
}

static int failures(const struct sweep *w, struct orr_error *err)
{
	if (w->unstored.code)
		return orr_fail(err, w->unstored.code, "%s", w->unstored.text);
	return w->rows.n_failed ? orr_fail(err, ORR_EFAIL, "%zu of %zu runs failed", w->rows.n_failed, w->rows.n) : ORR_OK;
}

static int run_whole(struct sweep *w, struct orr_error *err)
{
	w->rows.keeps_all = w->output.json || w->output.out_dir;
	w->rows.keeps_none = !w->rows.keeps_all && w->output.quiet && w->output.table != GRID_JSON;
	int rc = run_rounds(w, err);
	if (rc)
		return rc;
	study_say_reused(&w->output, w->n_reused, w->n_runs);
	add_answers(w);
	rc = sweep_end(&w->rows, w->output.db, err);
	if (!rc)
		rc = sweep_print(&w->rows, w->book, &w->output, err);
	return rc ? rc : failures(w, err);
}

/* ---- several processes ---- */

/* Runs the tasks of a share into its shard, except runs that the database of the study has. */
static int run_share(struct sweep *w, const struct share *share, struct orr_error *err)
{
	char *db = share_db(w->request->output.db, share);
	w->share = *share;
	w->output.db = db;
	w->output.out_dir = NULL;
	w->output.quiet = true;
	w->rows.keeps_none = true;
	w->board = board_new(db, share, expected_runs(w));
	int rc = run_rounds(w, err);
	board_end(w->board, !rc);
	w->board = NULL;
	w->ended = w->ended_badly = 0;
	if (!rc)
		rc = failures(w, err);
	if (!w->request->output.quiet)
		fprintf(stderr, "orrery: shard %u of %u: %zu runs, %zu of them failed, in %s\n", share->number, share->count, w->rows.n,
			w->rows.n_failed, db);
	mem_free(db);
	sweep_free_rows(&w->rows);
	w->rows = (struct sweep_rows){ 0 };
	w->n_runs = w->n_reused = 0;
	w->share = (struct share){ 0, 0 };
	w->output = w->request->output;
	tasks_restart(&w->tasks);
	return rc;
}

/* The listed and drawn points in the order of the study, of which a block is open. */
struct point_order {
	struct sweep *w;
	struct study *study;
	struct task_cursor at;
	size_t n, part, policy;
};

static int next_run(void *ctx, struct run_key *out, struct orr_error *err)
{
	struct point_order *o = ctx;
	int rc = ORR_OK;
	while (o->part < o->n && o->policy == study_policies(o->study, o->part)) {
		o->part++;
		o->policy = 0;
	}
	if (o->part == o->n) {
		study_free(o->study);
		o->study = study_new(&o->w->output);
		o->part = o->policy = 0;
		rc = open_listed(o->w, o->study, &o->at, &o->n, err);
	}
	*out = (struct run_key){ NULL, NULL };
	if (!rc && o->part < o->n)
		out->hash = study_key(o->study, o->part, o->policy++, &out->label);
	return rc;
}

/* Merges shards in the order of the study's points; runs of searches come last. */
static int merge_list(struct sweep *w, char *const *list, size_t n, struct orr_error *err)
{
	struct point_order order = { .w = w };
	struct merge_count count = { 0 };
	int rc =
		store_merge_ordered(w->output.db, NULL, (const char *const *)list, n, &(struct run_order){ next_run, &order }, &count, err);
	if (!rc && !w->output.quiet)
		fprintf(stderr, "orrery: %zu shards merged into %s: %zu runs added\n", n, w->output.db, count.added);
	study_free(order.study);
	return rc;
}

static int merge_shards(struct sweep *w, struct orr_error *err)
{
	size_t n;
	char **list = share_list(w->output.db, &n);
	int rc = ORR_OK;
	for (size_t i = 0; i < n && !rc; i++)
		rc = share_recover(list[i], err);
	if (n && !rc)
		rc = merge_list(w, list, n, err);
	for (size_t i = 0; i < n && !rc; i++)
		share_remove(list[i]);
	if (!rc)
		board_remove(w->output.db);
	share_free_list(list, n);
	return rc;
}

static int show_status(const char *db, struct orr_error *err)
{
	struct sbuf text = { 0 };
	size_t n;
	struct board_state *list = board_read(db, &n);
	if (!n) {
		mem_free(list);
		return orr_fail(err, ORR_EINPUT,
			"%s: no part of a study is known: expected parts that --shard, --slurm or mpirun started and that are not merged "
			"yet",
			db);
	}
	board_put_parts(&text, list, n, board_now());
	board_put_sum(&text, list, n, board_now());
	puts(sbuf_text(&text));
	sbuf_free(&text);
	mem_free(list);
	return outfile_flush_stdout(err);
}

/* Runs the study in this process, or its share of it. */
static int run_study(struct sweep *w, struct orr_error *err)
{
	const struct share rank = share_of_rank();
	int rc = ORR_OK;
	if (w->request->share.count)
		return run_share(w, &w->request->share, err);
	if (rank.count) {
		/* Shards of a study that ended early may be of another number of ranks. */
		rc = share_worst(rank.number == 1 ? merge_shards(w, err) : ORR_OK);
		if (rc)
			return rank.number == 1 ? rc : ORR_OK;
		struct board_watch *watch = rank.number == 1 && !w->request->output.quiet ? board_watch_start(w->request->output.db) : NULL;
		rc = share_worst(run_share(w, &rank, err));
		board_watch_stop(watch);
		if (rc == ORR_EINPUT || rank.number > 1)
			return rc == ORR_EINPUT ? err->code : ORR_OK;
		*err = (struct orr_error){ 0 };        /* failures are listed below */
		w->output.fresh = w->is_retry = false; /* the ranks have repeated the runs */
	}
	rc = rank.count || w->request->is_merge ? merge_shards(w, err) : ORR_OK;
	return rc ? rc : run_whole(w, err);
}

int study_sweep(const struct sweep_request *request, struct orr_error *err)
{
	bool needs_db = request->share.count || request->is_merge || request->is_status || share_of_rank().count;
	if (needs_db && !request->output.db)
		return orr_fail(err, ORR_EINPUT, "sweep: expected --db FILE together with --shard, --merge, --status and mpirun");
	if (request->is_status)
		return show_status(request->output.db, err);
	struct sweep w = {
		.request = request, .output = request->output, .is_retry = request->is_retry, .book = book_open_study(request->path, err)
	};
	int rc = w.book ? ORR_OK : err->code;
	w.pace = pace_new();
	if (!rc)
		rc = tasks_make(&w.tasks, w.book, err);
	if (!rc)
		rc = request->is_dry ? dry_run(&w, err) : run_study(&w, err);
	tasks_free(&w.tasks);
	sweep_free_rows(&w.rows);
	failed_runs_free(&w.known);
	failed_runs_free(&w.failed);
	failed_runs_free(&w.outdated);
	failed_runs_free(&w.lasting);
	pace_free(w.pace);
	book_free(w.book);
	return rc;
}
