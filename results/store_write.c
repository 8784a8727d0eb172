/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/store.h"

#include "results/db.h"

#include "config.h"

#include <time.h>
#include <unistd.h>

static const char doing[] = "storing a run";

/* What the write_ functions share: one transaction into one store. */
struct writer {
	const struct store *s;
	const struct run_result *r;
	int64_t run;
	struct orr_error *err;
};

/* Sets *run to the run of r's hash and label, 0 if there is none. */
static int find_run(struct writer *w, int64_t *run)
{
	sqlite3_stmt *st;
	int code = db_prepare(w->s, "SELECT run FROM runs WHERE hash = ? AND label = ?", doing, &st, w->err);
	if (code)
		return code;
	db_bind_text(st, 1, w->r->hash ? w->r->hash : "");
	db_bind_text(st, 2, w->r->label ? w->r->label : "");
	*run = 0;
	int rc = db_step(w->s, st, doing, w->err);
	if (rc == SQLITE_ROW)
		*run = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

static int delete_run(struct writer *w, int64_t run)
{
	static const char *const table[] = { "metrics", "series", "series_points", "events", "iterations", "devices", "spans", "nodes",
		"accounts", "runs" };
	static const char *const keyed[] = { "jobs", "requests" };
	char sql[96];
	int code = ORR_OK;
	for (size_t i = 0; !code && i < sizeof keyed / sizeof *keyed; i++) {
		sqlite3_snprintf(sizeof sql, sql, "DELETE FROM %s WHERE key BETWEEN %lld AND %lld", keyed[i], (long long)db_row_key(run, 0),
			(long long)db_row_key(run, UINT32_MAX));
		code = db_exec(w->s, sql, "replacing a run", w->err);
	}
	for (size_t i = 0; !code && i < sizeof table / sizeof *table; i++) {
		sqlite3_snprintf(sizeof sql, sql, "DELETE FROM %s WHERE run = %lld", table[i], (long long)run);
		code = db_exec(w->s, sql, "replacing a run", w->err);
	}
	return code;
}

static int write_run(struct writer *w)
{
	const struct run_result *r = w->r;
	sqlite3_stmt *st;
	int code = db_prepare(w->s,
		"INSERT INTO runs(hash, label, policy, world, is_oracle, scenario, seed, version,"
		" rows_total, wall_s, cpu_s, host, created_at) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
		doing, &st, w->err);
	if (code)
		return code;
	char host[256] = "", created[32] = "";
	gethostname(host, sizeof host - 1);
	time_t now = time(NULL);
	struct tm utc;
	strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	const char *texts[] = { r->hash, r->label, r->policy, r->world, NULL, r->scenario, r->seed_text, PACKAGE_VERSION };
	for (int i = 0; i < 8; i++)
		if (i != 4)
			db_bind_text(st, i + 1, texts[i] ? texts[i] : "");
	sqlite3_bind_int(st, 5, r->is_oracle);
	sqlite3_bind_int64(st, 9, (int64_t)r->rows_total);
	sqlite3_bind_double(st, 10, r->wall_s);
	sqlite3_bind_double(st, 11, r->cpu_s);
	db_bind_text(st, 12, host);
	db_bind_text(st, 13, created);
	code = db_run(w->s, st, doing, w->err);
	sqlite3_finalize(st);
	w->run = sqlite3_last_insert_rowid(w->s->db);
	return code;
}

static void bind_job(sqlite3_stmt *st, int64_t run, const struct job_row *j)
{
	sqlite3_bind_int64(st, 1, db_row_key(run, j->number));
	db_bind_text(st, 2, j->job_id);
	db_bind_text(st, 3, j->user);
	db_bind_text(st, 4, j->queue);
	db_bind_text(st, 5, j->model);
	db_bind_time(st, 6, j->submit_ns);
	db_bind_time(st, 7, j->start_ns);
	db_bind_time(st, 8, j->end_ns);
	db_bind_time(st, 9, j->wait_ns);
	db_bind_time(st, 10, j->run_ns);
	db_bind_time(st, 11, j->duration_ns);
	db_bind_time(st, 12, j->recorded_wait_ns);
	sqlite3_bind_int64(st, 13, j->gpus);
	sqlite3_bind_int64(st, 14, j->gpu_milli);
	sqlite3_bind_int64(st, 15, j->preemptions);
	sqlite3_bind_int64(st, 16, j->migrations);
	sqlite3_bind_int64(st, 17, j->restarts);
	sqlite3_bind_int64(st, 18, j->status);
}

static int write_jobs(struct writer *w)
{
	sqlite3_stmt *st;
	int code = db_prepare(w->s,
		"INSERT INTO jobs(key, job_id, user, queue, model, submit_ns, start_ns, end_ns,"
		" wait_ns, run_ns, duration_ns, recorded_wait_ns, gpus, gpu_milli, preemptions,"
		" migrations, restarts, status) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		doing, &st, w->err);
	if (code)
		return code;
	for (size_t i = 0; !code && i < w->r->n_jobs; i++) {
		const struct job_row *j = &w->r->jobs[i];
		if (j->number > UINT32_MAX)
			code = orr_fail(w->err, ORR_EFAIL, "%s: job number %llu: a run has at most 2^32 jobs", w->s->path,
				(unsigned long long)j->number);
		bind_job(st, w->run, j);
		if (!code)
			code = db_run(w->s, st, doing, w->err);
	}
	sqlite3_finalize(st);
	return code;
}

static int write_metrics(struct writer *w)
{
	sqlite3_stmt *st;
	int code = db_prepare(w->s, "INSERT INTO metrics VALUES(?,?,?,?,?,?)", doing, &st, w->err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, w->run);
	for (size_t i = 0; !code && i < w->r->n_metrics; i++) {
		const struct metric *m = &w->r->metrics[i];
		sqlite3_bind_int64(st, 2, (int64_t)i);
		db_bind_text(st, 3, m->name);
		sqlite3_bind_double(st, 4, m->value); /* SQLite makes NaN NULL */
		sqlite3_bind_double(st, 5, m->ci_low);
		sqlite3_bind_double(st, 6, m->ci_high);
		code = db_run(w->s, st, doing, w->err);
	}
	sqlite3_finalize(st);
	return code;
}

static int write_points(struct writer *w, sqlite3_stmt *st, size_t number)
{
	const struct series *s = &w->r->series[number];
	int code = ORR_OK;
	sqlite3_bind_int64(st, 1, w->run);
	sqlite3_bind_int64(st, 2, (int64_t)number);
	for (size_t i = 0; !code && i < s->n; i++) {
		sqlite3_bind_int64(st, 3, (int64_t)i);
		sqlite3_bind_int64(st, 4, s->time_ns[i]);
		sqlite3_bind_double(st, 5, s->value[i]);
		code = db_run(w->s, st, doing, w->err);
	}
	return code;
}

static int write_series(struct writer *w)
{
	sqlite3_stmt *names, *points = NULL;
	int code = db_prepare(w->s, "INSERT INTO series VALUES(?,?,?)", doing, &names, w->err);
	if (!code)
		code = db_prepare(w->s, "INSERT INTO series_points VALUES(?,?,?,?,?)", doing, &points, w->err);
	for (size_t i = 0; !code && i < w->r->n_series; i++) {
		sqlite3_bind_int64(names, 1, w->run);
		sqlite3_bind_int64(names, 2, (int64_t)i);
		db_bind_text(names, 3, w->r->series[i].name);
		code = db_run(w->s, names, doing, w->err);
		if (!code)
			code = write_points(w, points, i);
	}
	sqlite3_finalize(names);
	sqlite3_finalize(points);
	return code;
}

static int write_events(struct writer *w)
{
	sqlite3_stmt *st;
	int code = db_prepare(w->s, "INSERT INTO events VALUES(?,?,?,?,?,?)", doing, &st, w->err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, w->run);
	for (size_t i = 0; !code && i < w->r->n_events; i++) {
		const struct event_row *e = &w->r->events[i];
		sqlite3_bind_int64(st, 2, (int64_t)i);
		sqlite3_bind_int64(st, 3, e->time_ns);
		db_bind_text(st, 4, e->kind);
		sqlite3_bind_int64(st, 5, (int64_t)e->subject);
		db_bind_text(st, 6, e->detail);
		code = db_run(w->s, st, doing, w->err);
	}
	sqlite3_finalize(st);
	return code;
}

static int write_iterations(struct writer *w)
{
	sqlite3_stmt *st;
	int code = db_prepare(w->s, "INSERT INTO iterations VALUES(?,?,?,?,?)", doing, &st, w->err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, w->run);
	for (size_t i = 0; !code && i < w->r->n_iterations; i++) {
		const struct iteration_row *x = &w->r->iterations[i];
		sqlite3_bind_int64(st, 2, (int64_t)x->number);
		sqlite3_bind_double(st, 3, x->start_s);
		sqlite3_bind_double(st, 4, x->end_s);
		sqlite3_bind_double(st, 5, x->samples);
		code = db_run(w->s, st, doing, w->err);
	}
	sqlite3_finalize(st);
	return code;
}

static int write_devices(struct writer *w)
{
	sqlite3_stmt *st;
	int code = db_prepare(w->s, "INSERT INTO devices VALUES(?,?,?,?,?,?,?,?,?,?,?)", doing, &st, w->err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, w->run);
	for (size_t i = 0; !code && i < w->r->n_devices; i++) {
		const struct device_row *d = &w->r->devices[i];
		const double values[] = { d->compute_s, d->optimizer_s, d->codec_s, d->exposed_s, d->bubble_s, d->idle_s,
			d->peak_memory_bytes, d->sent_bytes };
		sqlite3_bind_int64(st, 2, d->device);
		sqlite3_bind_int64(st, 3, d->node);
		for (int k = 0; k < 8; k++)
			sqlite3_bind_double(st, 4 + k, values[k]);
		code = db_run(w->s, st, doing, w->err);
	}
	sqlite3_finalize(st);
	return code;
}

static int write_spans(struct writer *w)
{
	sqlite3_stmt *st;
	int code = db_prepare(w->s, "INSERT INTO spans VALUES(?,?,?,?,?,?,?,?,?)", doing, &st, w->err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, w->run);
	for (size_t i = 0; !code && i < w->r->n_spans; i++) {
		const struct span_row *x = &w->r->spans[i];
		sqlite3_bind_int64(st, 2, (int64_t)i);
		sqlite3_bind_int64(st, 3, x->device);
		sqlite3_bind_int64(st, 4, x->stream);
		sqlite3_bind_int64(st, 5, (int64_t)x->iteration);
		sqlite3_bind_double(st, 6, x->start_s);
		sqlite3_bind_double(st, 7, x->end_s);
		db_bind_text(st, 8, x->kind);
		db_bind_text(st, 9, x->label);
		code = db_run(w->s, st, doing, w->err);
	}
	sqlite3_finalize(st);
	return code;
}

static void bind_request(sqlite3_stmt *st, int64_t run, const struct request_row *q)
{
	const double times[] = { q->arrival_s, q->first_token_s, q->completed_s, q->queue_s };
	sqlite3_bind_int64(st, 1, db_row_key(run, q->number));
	db_bind_text(st, 2, q->request_id);
	db_bind_text(st, 3, q->model);
	for (int k = 0; k < 4; k++)
		sqlite3_bind_double(st, 4 + k, times[k]);
	sqlite3_bind_int64(st, 8, q->prompt_tokens);
	sqlite3_bind_int64(st, 9, q->output_tokens);
	sqlite3_bind_int64(st, 10, q->preemptions);
	if (q->replica == UINT32_MAX)
		sqlite3_bind_null(st, 11);
	else
		sqlite3_bind_int64(st, 11, q->replica);
	sqlite3_bind_int64(st, 12, q->status);
}

static int write_requests(struct writer *w)
{
	sqlite3_stmt *st;
	int code = db_prepare(w->s, "INSERT INTO requests VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", doing, &st, w->err);
	for (size_t i = 0; !code && i < w->r->n_requests; i++) {
		bind_request(st, w->run, &w->r->requests[i]);
		code = db_run(w->s, st, doing, w->err);
	}
	sqlite3_finalize(st);
	return code;
}

static int write_nodes(struct writer *w)
{
	sqlite3_stmt *st;
	int code = db_prepare(w->s, "INSERT INTO nodes VALUES(?,?,?,?,?,?,?)", doing, &st, w->err);
	sqlite3_bind_int64(st, 1, w->run);
	for (size_t i = 0; !code && i < w->r->n_nodes; i++) {
		const struct node_row *x = &w->r->nodes[i];
		sqlite3_bind_int64(st, 2, (int64_t)i);
		sqlite3_bind_int64(st, 3, x->time_ns);
		sqlite3_bind_int64(st, 4, x->live);
		sqlite3_bind_int64(st, 5, x->ready);
		sqlite3_bind_int64(st, 6, x->in_use);
		sqlite3_bind_double(st, 7, x->usd);
		code = db_run(w->s, st, doing, w->err);
	}
	sqlite3_finalize(st);
	return code;
}

static int write_accounts(struct writer *w)
{
	sqlite3_stmt *st;
	int code = db_prepare(w->s, "INSERT INTO accounts VALUES(?,?,?,?,?)", doing, &st, w->err);
	sqlite3_bind_int64(st, 1, w->run);
	for (size_t i = 0; !code && i < w->r->n_accounts; i++) {
		const struct account_row *x = &w->r->accounts[i];
		sqlite3_bind_int64(st, 2, (int64_t)i);
		db_bind_text(st, 3, x->account);
		sqlite3_bind_double(st, 4, x->node_s);
		sqlite3_bind_double(st, 5, x->usd);
		code = db_run(w->s, st, doing, w->err);
	}
	sqlite3_finalize(st);
	return code;
}

/* Inside the transaction. */
static int write_all(struct writer *w)
{
	static int (*const part[])(struct writer *) = { write_run, write_jobs, write_metrics, write_series, write_events, write_iterations,
		write_devices, write_spans, write_requests, write_nodes, write_accounts };
	int64_t old;
	int code = find_run(w, &old);
	if (code || (old && !w->s->replaces))
		return code; /* same hash, same bytes: what is there will do */
	if (old)
		code = delete_run(w, old);
	for (size_t i = 0; !code && i < sizeof part / sizeof *part; i++)
		code = part[i](w);
	return code;
}

int store_write(struct store *s, const struct run_result *r, struct orr_error *err)
{
	struct writer w = { .s = s, .r = r, .err = err };
	if (s->is_readonly)
		return db_fail(s, SQLITE_READONLY, doing, err);
	int code = db_exec(s, "BEGIN IMMEDIATE", doing, err);
	if (code)
		return code;
	code = write_all(&w);
	if (!code)
		code = db_exec(s, "COMMIT", doing, err);
	if (code)
		db_rollback(s);
	return code;
}
