/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/db.h"

/*
 * docs/schema.md describes each column. Tables that belong to a run are clustered
 * by (run, position), so reading one run touches nothing of the others. For jobs,
 * the many rows, both are packed into one integer key: appending to a table with an
 * integer key costs SQLite a quarter less than to one with a compound key.
 */
static const char version_1[] =
	"CREATE TABLE runs(\n"
	"  run INTEGER PRIMARY KEY,\n"
	"  hash TEXT NOT NULL,\n"
	"  label TEXT NOT NULL,\n"
	"  policy TEXT NOT NULL,\n"
	"  world TEXT NOT NULL,\n"
	"  is_oracle INTEGER NOT NULL,\n"
	"  scenario TEXT NOT NULL,\n"
	"  seed TEXT NOT NULL,\n"
	"  version TEXT NOT NULL,\n"
	"  rows_total INTEGER NOT NULL,\n"
	"  wall_s REAL,\n"
	"  cpu_s REAL,\n"
	"  host TEXT NOT NULL,\n"
	"  created_at TEXT NOT NULL,\n"
	"  UNIQUE(hash, label));\n"

	"CREATE TABLE jobs(\n"
	"  key INTEGER PRIMARY KEY,\n"
	"  run INTEGER AS (key >> 32),\n"
	"  number INTEGER AS (key & 4294967295),\n"
	"  job_id TEXT, user TEXT, queue TEXT, model TEXT,\n"
	"  submit_ns INTEGER, start_ns INTEGER, end_ns INTEGER,\n"
	"  wait_ns INTEGER, run_ns INTEGER, duration_ns INTEGER, recorded_wait_ns INTEGER,\n"
	"  gpus INTEGER NOT NULL, gpu_milli INTEGER NOT NULL,\n"
	"  preemptions INTEGER NOT NULL, migrations INTEGER NOT NULL, restarts INTEGER NOT NULL,\n"
	"  status INTEGER NOT NULL);\n"

	"CREATE TABLE metrics(\n"
	"  run INTEGER NOT NULL REFERENCES runs(run),\n"
	"  position INTEGER NOT NULL,\n"
	"  name TEXT NOT NULL,\n"
	"  value REAL, ci_low REAL, ci_high REAL,\n"
	"  PRIMARY KEY(run, position)) WITHOUT ROWID;\n"

	"CREATE TABLE series(\n"
	"  run INTEGER NOT NULL REFERENCES runs(run),\n"
	"  series INTEGER NOT NULL,\n"
	"  name TEXT NOT NULL,\n"
	"  PRIMARY KEY(run, series)) WITHOUT ROWID;\n"

	"CREATE TABLE series_points(\n"
	"  run INTEGER NOT NULL REFERENCES runs(run),\n"
	"  series INTEGER NOT NULL,\n"
	"  point INTEGER NOT NULL,\n"
	"  time_ns INTEGER NOT NULL,\n"
	"  value REAL,\n"
	"  PRIMARY KEY(run, series, point)) WITHOUT ROWID;\n"

	"CREATE TABLE events(\n"
	"  run INTEGER NOT NULL REFERENCES runs(run),\n"
	"  position INTEGER NOT NULL,\n"
	"  time_ns INTEGER NOT NULL,\n"
	"  kind TEXT NOT NULL,\n"
	"  subject INTEGER NOT NULL,\n"
	"  detail TEXT,\n"
	"  PRIMARY KEY(run, position)) WITHOUT ROWID;\n"

	"CREATE VIEW jobs_s AS\n"
	"  SELECT j.run, r.label, r.policy, j.number,\n"
	"    coalesce(j.job_id, CAST(j.number AS TEXT)) AS job_id,\n"
	"    j.user, j.queue, j.model, j.gpus, j.gpu_milli,\n"
	"    j.submit_ns / 1e9 AS submit_s, j.start_ns / 1e9 AS start_s, j.end_ns / 1e9 AS end_s,\n"
	"    (j.end_ns - j.submit_ns) / 1e9 AS jct_s,\n"
	"    j.wait_ns / 1e9 AS wait_s, j.run_ns / 1e9 AS run_s, j.duration_ns / 1e9 AS duration_s,\n"
	"    j.recorded_wait_ns / 1e9 AS recorded_wait_s,\n"
	"    CASE WHEN j.duration_ns > 0 THEN (j.end_ns - j.submit_ns) * 1.0 / j.duration_ns END AS "
	"slowdown,\n"
	"    j.preemptions, j.migrations, j.restarts,\n"
	"    CASE j.status WHEN 0 THEN 'completed' WHEN 1 THEN 'killed' WHEN 2 THEN 'failed'\n"
	"      WHEN 3 THEN 'unfinished' END AS status\n"
	"  FROM runs r\n"
	"  JOIN jobs j ON j.key BETWEEN r.run << 32 AND (r.run << 32) + 4294967295;\n"

	"CREATE VIEW summary AS\n"
	"  SELECT r.run, r.label, r.policy, r.is_oracle, r.seed,\n"
	"    m.name AS metric, m.value, m.ci_low, m.ci_high\n"
	"  FROM metrics m JOIN runs r USING(run)\n"
	"  ORDER BY r.run, m.position;\n"

	"CREATE VIEW job_pairs AS\n"
	"  SELECT ra.run AS run_a, rb.run AS run_b, ra.label AS label_a, rb.label AS label_b,\n"
	"    a.number, coalesce(a.job_id, CAST(a.number AS TEXT)) AS job_id, a.gpus,\n"
	"    (a.end_ns - a.submit_ns) / 1e9 AS jct_a_s,\n"
	"    (b.end_ns - b.submit_ns) / 1e9 AS jct_b_s,\n"
	"    ((b.end_ns - b.submit_ns) - (a.end_ns - a.submit_ns)) / 1e9 AS jct_diff_s,\n"
	"    (b.wait_ns - a.wait_ns) / 1e9 AS wait_diff_s\n"
	"  FROM runs ra\n"
	"  JOIN runs rb ON rb.run <> ra.run\n"
	"  JOIN jobs a ON a.key BETWEEN ra.run << 32 AND (ra.run << 32) + 4294967295\n"
	"  JOIN jobs b ON b.key = (rb.run << 32) + a.number\n"
	"    AND b.submit_ns IS a.submit_ns AND b.job_id IS a.job_id;\n"

	"CREATE VIEW series_s AS\n"
	"  SELECT p.run, r.label, s.name, p.point, p.time_ns / 1e9 AS time_s, p.value\n"
	"  FROM series_points p JOIN series s USING(run, series) JOIN runs r USING(run);\n"

	"CREATE VIEW events_s AS\n"
	"  SELECT e.run, r.label, e.position, e.time_ns / 1e9 AS time_s, e.kind, e.subject, e.detail\n"
	"  FROM events e JOIN runs r USING(run);\n";

/* The step world's. */
static const char version_2[] =
	"CREATE TABLE iterations(\n"
	"  run INTEGER NOT NULL REFERENCES runs(run),\n"
	"  number INTEGER NOT NULL,\n"
	"  start_s REAL, end_s REAL, samples REAL,\n"
	"  PRIMARY KEY(run, number)) WITHOUT ROWID;\n"

	"CREATE TABLE devices(\n"
	"  run INTEGER NOT NULL REFERENCES runs(run),\n"
	"  device INTEGER NOT NULL,\n"
	"  node INTEGER NOT NULL,\n"
	"  compute_s REAL, optimizer_s REAL, codec_s REAL, exposed_s REAL, bubble_s REAL, idle_s REAL,\n"
	"  peak_memory_bytes REAL, sent_bytes REAL,\n"
	"  PRIMARY KEY(run, device)) WITHOUT ROWID;\n"

	"CREATE TABLE spans(\n"
	"  run INTEGER NOT NULL REFERENCES runs(run),\n"
	"  position INTEGER NOT NULL,\n"
	"  device INTEGER NOT NULL,\n"
	"  stream INTEGER NOT NULL,\n"
	"  iteration INTEGER NOT NULL,\n"
	"  start_s REAL, end_s REAL,\n"
	"  kind TEXT NOT NULL,\n"
	"  label TEXT,\n"
	"  PRIMARY KEY(run, position)) WITHOUT ROWID;\n";

/* The serving world's; keys as of jobs. */
static const char version_3[] =
	"CREATE TABLE requests(\n"
	"  key INTEGER PRIMARY KEY,\n"
	"  run INTEGER AS (key >> 32),\n"
	"  number INTEGER AS (key & 4294967295),\n"
	"  request_id TEXT, model TEXT,\n"
	"  arrival_s REAL, first_token_s REAL, completed_s REAL, queue_s REAL,\n"
	"  prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,\n"
	"  preemptions INTEGER NOT NULL, replica INTEGER,\n"
	"  status INTEGER NOT NULL);\n"

	"CREATE VIEW requests_s AS\n"
	"  SELECT q.run, r.label, r.policy, q.number,\n"
	"    coalesce(q.request_id, CAST(q.number AS TEXT)) AS request_id, q.model,\n"
	"    q.prompt_tokens, q.output_tokens,\n"
	"    q.arrival_s, q.first_token_s, q.completed_s, q.queue_s,\n"
	"    q.completed_s - q.arrival_s AS e2e_s,\n"
	"    q.first_token_s - q.arrival_s AS ttft_s,\n"
	"    CASE WHEN q.output_tokens > 1 THEN (q.completed_s - q.first_token_s) / (q.output_tokens - 1) END AS tpot_s,\n"
	"    q.preemptions, q.replica,\n"
	"    CASE q.status WHEN 0 THEN 'completed' WHEN 1 THEN 'refused' WHEN 2 THEN 'shed'\n"
	"      WHEN 3 THEN 'unfinished' END AS status\n"
	"  FROM runs r\n"
	"  JOIN requests q ON q.key BETWEEN r.run << 32 AND (r.run << 32) + 4294967295;\n"

	"CREATE VIEW request_pairs AS\n"
	"  SELECT ra.run AS run_a, rb.run AS run_b, ra.label AS label_a, rb.label AS label_b,\n"
	"    a.number, coalesce(a.request_id, CAST(a.number AS TEXT)) AS request_id, a.model,\n"
	"    a.prompt_tokens, a.output_tokens,\n"
	"    a.completed_s - a.arrival_s AS e2e_a_s, b.completed_s - b.arrival_s AS e2e_b_s,\n"
	"    b.completed_s - a.completed_s AS e2e_diff_s\n"
	"  FROM runs ra\n"
	"  JOIN runs rb ON rb.run <> ra.run\n"
	"  JOIN requests a ON a.key BETWEEN ra.run << 32 AND (ra.run << 32) + 4294967295\n"
	"  JOIN requests b ON b.key = (rb.run << 32) + a.number\n"
	"    AND b.arrival_s IS a.arrival_s AND b.request_id IS a.request_id;\n";

/* The spot world's. */
static const char version_4[] =
	"CREATE TABLE nodes(\n"
	"  run INTEGER NOT NULL REFERENCES runs(run),\n"
	"  position INTEGER NOT NULL,\n"
	"  time_ns INTEGER NOT NULL,\n"
	"  live INTEGER NOT NULL, ready INTEGER NOT NULL, in_use INTEGER NOT NULL,\n"
	"  usd REAL,\n"
	"  PRIMARY KEY(run, position)) WITHOUT ROWID;\n"

	"CREATE TABLE accounts(\n"
	"  run INTEGER NOT NULL REFERENCES runs(run),\n"
	"  position INTEGER NOT NULL,\n"
	"  account TEXT NOT NULL,\n"
	"  node_s REAL, usd REAL,\n"
	"  PRIMARY KEY(run, position)) WITHOUT ROWID;\n"

	"CREATE VIEW nodes_s AS\n"
	"  SELECT n.run, r.label, n.position, n.time_ns / 1e9 AS time_s, n.live, n.ready, n.in_use, n.usd\n"
	"  FROM nodes n JOIN runs r USING(run);\n"

	"CREATE VIEW accounts_h AS\n"
	"  SELECT a.run, r.label, r.policy, a.account, a.node_s / 3600 AS node_h, a.usd\n"
	"  FROM accounts a JOIN runs r USING(run)\n"
	"  ORDER BY a.run, a.position;\n";

const char *const db_schema[DB_SCHEMA_VERSION] = { version_1, version_2, version_3, version_4 };
