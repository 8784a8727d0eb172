/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/store.h"

#include "base/mem.h"
#include "results/db.h"

#include <stdlib.h>
#include <string.h>

static const char doing[] = "reading a run";

/* One run on its way out of the store. */
struct reader {
	const struct store *s;
	struct run_result *r;
	int64_t run;
	size_t cap; /* of the array that is being filled */
	struct orr_error *err;
};

static const char *text_at(sqlite3_stmt *st, int column)
{
	return (const char *)sqlite3_column_text(st, column);
}

static char *copy_at(sqlite3_stmt *st, int column)
{
	const char *s = text_at(st, column);
	return mem_strdup(s ? s : "");
}

static void take_run(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	r->hash = copy_at(st, 0);
	r->label = copy_at(st, 1);
	r->policy = copy_at(st, 2);
	r->world = copy_at(st, 3);
	r->is_oracle = sqlite3_column_int(st, 4) != 0;
	r->scenario = copy_at(st, 5);
	r->seed_text = copy_at(st, 6);
	r->rows_total = (uint64_t)sqlite3_column_int64(st, 7);
	r->wall_s = sqlite3_column_double(st, 8);
	r->cpu_s = sqlite3_column_double(st, 9);
}

static void take_job(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	MEM_GROW(r->jobs, r->n_jobs, d->cap);
	r->jobs[r->n_jobs++] = (struct job_row){
		.number = (uint64_t)sqlite3_column_int64(st, 0),
		.job_id = result_text(r, text_at(st, 1)),
		.user = result_text(r, text_at(st, 2)),
		.queue = result_text(r, text_at(st, 3)),
		.model = result_text(r, text_at(st, 4)),
		.submit_ns = db_column_time(st, 5),
		.start_ns = db_column_time(st, 6),
		.end_ns = db_column_time(st, 7),
		.wait_ns = db_column_time(st, 8),
		.run_ns = db_column_time(st, 9),
		.duration_ns = db_column_time(st, 10),
		.recorded_wait_ns = db_column_time(st, 11),
		.gpus = (uint32_t)sqlite3_column_int64(st, 12),
		.gpu_milli = (uint32_t)sqlite3_column_int64(st, 13),
		.preemptions = (uint32_t)sqlite3_column_int64(st, 14),
		.migrations = (uint32_t)sqlite3_column_int64(st, 15),
		.restarts = (uint32_t)sqlite3_column_int64(st, 16),
		.status = (uint8_t)sqlite3_column_int(st, 17),
	};
}

static void take_metric(struct reader *d, sqlite3_stmt *st)
{
	result_metric(d->r, text_at(st, 0), db_column_real(st, 1), db_column_real(st, 2), db_column_real(st, 3));
}

static void take_series(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	MEM_GROW(r->series, r->n_series, d->cap);
	r->series[r->n_series++] = (struct series){ .name = result_text(r, text_at(st, 0)) };
}

static void take_point(struct reader *d, sqlite3_stmt *st)
{
	int64_t number = sqlite3_column_int64(st, 0);
	if (number < 0 || (size_t)number >= d->r->n_series)
		return; /* somebody edited the database: a point of no series */
	struct series *s = &d->r->series[number];
	if (s->n == 0)
		d->cap = 0;
	if (s->n >= d->cap) {
		d->cap = d->cap ? d->cap * 2 : 64;
		s->time_ns = mem_realloc(s->time_ns, d->cap, sizeof *s->time_ns);
		s->value = mem_realloc(s->value, d->cap, sizeof *s->value);
	}
	s->time_ns[s->n] = sqlite3_column_int64(st, 1);
	s->value[s->n++] = db_column_real(st, 2);
}

static void take_event(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	MEM_GROW(r->events, r->n_events, d->cap);
	r->events[r->n_events++] = (struct event_row){ .time_ns = sqlite3_column_int64(st, 0),
		.kind = result_text(r, text_at(st, 1)),
		.subject = (uint64_t)sqlite3_column_int64(st, 2),
		.detail = result_text(r, text_at(st, 3)) };
}

static void take_iteration(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	MEM_GROW(r->iterations, r->n_iterations, d->cap);
	r->iterations[r->n_iterations++] = (struct iteration_row){ .number = (uint64_t)sqlite3_column_int64(st, 0),
		.start_s = db_column_real(st, 1),
		.end_s = db_column_real(st, 2),
		.samples = db_column_real(st, 3) };
}

static void take_device(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	MEM_GROW(r->devices, r->n_devices, d->cap);
	r->devices[r->n_devices++] = (struct device_row){ .device = (uint32_t)sqlite3_column_int64(st, 0),
		.node = (uint32_t)sqlite3_column_int64(st, 1),
		.compute_s = db_column_real(st, 2),
		.optimizer_s = db_column_real(st, 3),
		.codec_s = db_column_real(st, 4),
		.exposed_s = db_column_real(st, 5),
		.bubble_s = db_column_real(st, 6),
		.idle_s = db_column_real(st, 7),
		.peak_memory_bytes = db_column_real(st, 8),
		.sent_bytes = db_column_real(st, 9) };
}

static void take_span(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	MEM_GROW(r->spans, r->n_spans, d->cap);
	r->spans[r->n_spans++] = (struct span_row){ .device = (uint32_t)sqlite3_column_int64(st, 0),
		.stream = (uint32_t)sqlite3_column_int64(st, 1),
		.iteration = (uint64_t)sqlite3_column_int64(st, 2),
		.start_s = db_column_real(st, 3),
		.end_s = db_column_real(st, 4),
		.kind = result_text(r, text_at(st, 5)),
		.label = result_text(r, text_at(st, 6)) };
}

static void take_request(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	MEM_GROW(r->requests, r->n_requests, d->cap);
	r->requests[r->n_requests++] = (struct request_row){ .number = (uint64_t)sqlite3_column_int64(st, 0),
		.request_id = result_text(r, text_at(st, 1)),
		.model = result_text(r, text_at(st, 2)),
		.arrival_s = db_column_real(st, 3),
		.first_token_s = db_column_real(st, 4),
		.completed_s = db_column_real(st, 5),
		.queue_s = db_column_real(st, 6),
		.prompt_tokens = (uint32_t)sqlite3_column_int64(st, 7),
		.output_tokens = (uint32_t)sqlite3_column_int64(st, 8),
		.preemptions = (uint32_t)sqlite3_column_int64(st, 9),
		.replica = sqlite3_column_type(st, 10) == SQLITE_NULL ? UINT32_MAX : (uint32_t)sqlite3_column_int64(st, 10),
		.status = (uint8_t)sqlite3_column_int(st, 11) };
}

static void take_node(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	MEM_GROW(r->nodes, r->n_nodes, d->cap);
	r->nodes[r->n_nodes++] = (struct node_row){ .time_ns = sqlite3_column_int64(st, 0),
		.live = (uint32_t)sqlite3_column_int64(st, 1),
		.ready = (uint32_t)sqlite3_column_int64(st, 2),
		.in_use = (uint32_t)sqlite3_column_int64(st, 3),
		.usd = db_column_real(st, 4) };
}

static void take_account(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	MEM_GROW(r->accounts, r->n_accounts, d->cap);
	r->accounts[r->n_accounts++] = (struct account_row){
		.account = result_text(r, text_at(st, 0)), .node_s = db_column_real(st, 1), .usd = db_column_real(st, 2)
	};
}

static const struct part {
	const char *sql; /* its one parameter is the run */
	void (*take)(struct reader *, sqlite3_stmt *);
	int since; /* this version of the schema */
} parts[] = {
	{ "SELECT hash, label, policy, world, is_oracle, scenario, seed, rows_total, wall_s, cpu_s"
	  " FROM runs WHERE run = ?",
		take_run },
	{ "SELECT number, job_id, user, queue, model, submit_ns, start_ns, end_ns, wait_ns, run_ns,"
	  " duration_ns, recorded_wait_ns, gpus, gpu_milli, preemptions, migrations, restarts, status"
	  " FROM jobs WHERE key BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295 ORDER BY key",
		take_job },
	{ "SELECT name, value, ci_low, ci_high FROM metrics WHERE run = ? ORDER BY position", take_metric },
	{ "SELECT name FROM series WHERE run = ? ORDER BY series", take_series },
	{ "SELECT series, time_ns, value FROM series_points WHERE run = ? ORDER BY series, point", take_point },
	{ "SELECT time_ns, kind, subject, detail FROM events WHERE run = ? ORDER BY position", take_event },
	{ "SELECT number, start_s, end_s, samples FROM iterations WHERE run = ? ORDER BY number", take_iteration, 2 },
	{ "SELECT device, node, compute_s, optimizer_s, codec_s, exposed_s, bubble_s, idle_s, peak_memory_bytes,"
	  " sent_bytes FROM devices WHERE run = ? ORDER BY device",
		take_device, 2 },
	{ "SELECT device, stream, iteration, start_s, end_s, kind, label FROM spans WHERE run = ? ORDER BY position", take_span, 2 },
	{ "SELECT number, request_id, model, arrival_s, first_token_s, completed_s, queue_s, prompt_tokens, output_tokens,"
	  " preemptions, replica, status FROM requests WHERE key BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295 ORDER BY key",
		take_request, 3 },
	{ "SELECT time_ns, live, ready, in_use, usd FROM nodes WHERE run = ? ORDER BY position", take_node, 4 },
	{ "SELECT account, node_s, usd FROM accounts WHERE run = ? ORDER BY position", take_account, 4 },
};

static int read_part(struct reader *d, const struct part *p)
{
	sqlite3_stmt *st;
	int code = db_prepare(d->s, p->sql, doing, &st, d->err);
	if (code)
		return code;
	d->cap = 0;
	sqlite3_bind_int64(st, 1, d->run);
	int rc;
	while ((rc = db_step(d->s, st, doing, d->err)) == SQLITE_ROW)
		p->take(d, st);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

/* Inside a transaction. */
static int read_run(struct store *s, int64_t run, struct run_result **out, struct orr_error *err)
{
	struct reader d = { .s = s, .r = result_new(), .run = run, .err = err };
	int code = ORR_OK;
	for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; i++)
		code = parts[i].since > s->version ? ORR_OK : read_part(&d, &parts[i]);
	if (!code && d.r->hash) {
		*out = d.r;
		return ORR_OK;
	}
	result_free(d.r);
	return code;
}

static int find_and_read(struct store *s, const char *hash, const char *label, struct run_result **out, struct orr_error *err)
{
	sqlite3_stmt *st;
	int code = db_prepare(s, "SELECT run FROM runs WHERE hash = ? AND label = ?", doing, &st, err);
	if (code)
		return code;
	db_bind_text(st, 1, hash);
	db_bind_text(st, 2, label);
	int rc = db_step(s, st, doing, err);
	int64_t run = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	sqlite3_finalize(st);
	if (rc == SQLITE_ROW)
		return read_run(s, run, out, err);
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

int store_read(struct store *s, const char *hash, const char *label, struct run_result **out, struct orr_error *err)
{
	*out = NULL;
	int code = db_exec(s, "BEGIN", doing, err);
	if (code)
		return code;
	code = find_and_read(s, hash, label, out, err);
	db_rollback(s); /* nothing was changed */
	return code;
}

int store_read_run(struct store *s, int64_t run, struct run_result **out, struct orr_error *err)
{
	*out = NULL;
	int code = db_exec(s, "BEGIN", doing, err);
	if (code)
		return code;
	code = read_run(s, run, out, err);
	db_rollback(s);
	return code;
}

int store_list(struct store *s, struct stored_run **out, size_t *n, struct orr_error *err)
{
	*out = NULL;
	*n = 0;
	sqlite3_stmt *st;
	int code = db_prepare(s,
		"SELECT run, hash, label, policy, world, is_oracle, seed, version, rows_total,"
		" created_at FROM runs ORDER BY run",
		"listing the runs", &st, err);
	if (code)
		return code;
	size_t cap = 0;
	int rc;
	while ((rc = db_step(s, st, "listing the runs", err)) == SQLITE_ROW) {
		MEM_GROW(*out, *n, cap);
		(*out)[(*n)++] = (struct stored_run){ .run = sqlite3_column_int64(st, 0),
			.hash = copy_at(st, 1),
			.label = copy_at(st, 2),
			.policy = copy_at(st, 3),
			.world = copy_at(st, 4),
			.is_oracle = sqlite3_column_int(st, 5) != 0,
			.seed_text = copy_at(st, 6),
			.version = copy_at(st, 7),
			.rows_total = (uint64_t)sqlite3_column_int64(st, 8),
			.created_at = copy_at(st, 9) };
	}
	sqlite3_finalize(st);
	if (rc == SQLITE_DONE)
		return ORR_OK;
	store_list_free(*out, *n);
	*out = NULL;
	*n = 0;
	return ORR_EFAIL;
}

void store_list_free(struct stored_run *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		mem_free(list[i].hash);
		mem_free(list[i].label);
		mem_free(list[i].policy);
		mem_free(list[i].world);
		mem_free(list[i].seed_text);
		mem_free(list[i].version);
		mem_free(list[i].created_at);
	}
	mem_free(list);
}
