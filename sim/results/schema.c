/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/db.h"

/*
 * docs/schema.md describes each column. Tables that belong to a run are clustered
 * by (run, position), so reading one run touches nothing of the others. For jobs,
 * the many rows, both are packed into one integer key: appending to a table with an
 * integer key costs SQLite a quarter less than to one with a compound key.
 */
const char db_schema[] =
	"CREATE TABLE runs(run INTEGER PRIMARY KEY, hash TEXT NOT NULL, label TEXT NOT NULL,"
	" policy TEXT NOT NULL, world TEXT NOT NULL, is_oracle INTEGER NOT NULL, scenario TEXT NOT NULL,"
	" seed TEXT NOT NULL, version TEXT NOT NULL, rows_total INTEGER NOT NULL, wall_s REAL, cpu_s REAL,"
	" host TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(hash, label));\n"

	"CREATE TABLE jobs(key INTEGER PRIMARY KEY, run INTEGER AS (key >> 32), number INTEGER AS (key & 4294967295),"
	" job_id TEXT, user TEXT, queue TEXT, model TEXT, submit_ns INTEGER, start_ns INTEGER, end_ns INTEGER,"
	" wait_ns INTEGER, run_ns INTEGER, duration_ns INTEGER, recorded_wait_ns INTEGER,"
	" gpus INTEGER NOT NULL, gpu_milli INTEGER NOT NULL, preemptions INTEGER NOT NULL,"
	" migrations INTEGER NOT NULL, restarts INTEGER NOT NULL, status INTEGER NOT NULL);\n"

	"CREATE TABLE metrics(run INTEGER NOT NULL REFERENCES runs(run), position INTEGER NOT NULL,"
	" name TEXT NOT NULL, value REAL, ci_low REAL, ci_high REAL, PRIMARY KEY(run, position)) WITHOUT ROWID;\n"

	"CREATE TABLE series(run INTEGER NOT NULL REFERENCES runs(run), series INTEGER NOT NULL,"
	" name TEXT NOT NULL, PRIMARY KEY(run, series)) WITHOUT ROWID;\n"

	"CREATE TABLE series_points(run INTEGER NOT NULL REFERENCES runs(run), series INTEGER NOT NULL,"
	" point INTEGER NOT NULL, time_ns INTEGER NOT NULL, value REAL,"
	" PRIMARY KEY(run, series, point)) WITHOUT ROWID;\n"

	"CREATE TABLE events(run INTEGER NOT NULL REFERENCES runs(run), position INTEGER NOT NULL,"
	" time_ns INTEGER NOT NULL, kind TEXT NOT NULL, subject INTEGER NOT NULL, detail TEXT,"
	" PRIMARY KEY(run, position)) WITHOUT ROWID;\n"

	"CREATE VIEW jobs_s AS SELECT j.run, r.label, r.policy, j.number,"
	" coalesce(j.job_id, CAST(j.number AS TEXT)) AS job_id, j.user, j.queue, j.model, j.gpus, j.gpu_milli,"
	" j.submit_ns / 1e9 AS submit_s, j.start_ns / 1e9 AS start_s, j.end_ns / 1e9 AS end_s,"
	" (j.end_ns - j.submit_ns) / 1e9 AS jct_s, j.wait_ns / 1e9 AS wait_s, j.run_ns / 1e9 AS run_s,"
	" j.duration_ns / 1e9 AS duration_s, j.recorded_wait_ns / 1e9 AS recorded_wait_s,"
	" CASE WHEN j.duration_ns > 0 THEN (j.end_ns - j.submit_ns) * 1.0 / j.duration_ns END AS slowdown,"
	" j.preemptions, j.migrations, j.restarts,"
	" CASE j.status WHEN 0 THEN 'completed' WHEN 1 THEN 'killed' WHEN 2 THEN 'failed'"
	" WHEN 3 THEN 'unfinished' END AS status"
	" FROM runs r JOIN jobs j ON j.key BETWEEN r.run << 32 AND (r.run << 32) + 4294967295;\n"

	"CREATE VIEW summary AS SELECT r.run, r.label, r.policy, r.is_oracle, r.seed, m.name AS metric,"
	" m.value, m.ci_low, m.ci_high FROM metrics m JOIN runs r USING(run) ORDER BY r.run, m.position;\n"

	"CREATE VIEW job_pairs AS SELECT ra.run AS run_a, rb.run AS run_b, ra.label AS label_a,"
	" rb.label AS label_b, a.number, a.job_id, a.gpus,"
	" (a.end_ns - a.submit_ns) / 1e9 AS jct_a_s, (b.end_ns - b.submit_ns) / 1e9 AS jct_b_s,"
	" ((b.end_ns - b.submit_ns) - (a.end_ns - a.submit_ns)) / 1e9 AS jct_diff_s,"
	" (b.wait_ns - a.wait_ns) / 1e9 AS wait_diff_s"
	" FROM runs ra JOIN runs rb ON rb.run <> ra.run"
	" JOIN jobs a ON a.key BETWEEN ra.run << 32 AND (ra.run << 32) + 4294967295"
	" JOIN jobs b ON b.key = (rb.run << 32) + a.number"
	" AND b.submit_ns IS a.submit_ns AND b.job_id IS a.job_id;\n"

	"CREATE VIEW series_s AS SELECT p.run, r.label, s.name, p.point, p.time_ns / 1e9 AS time_s, p.value"
	" FROM series_points p JOIN series s USING(run, series) JOIN runs r USING(run);\n"

	"CREATE VIEW events_s AS SELECT e.run, r.label, e.position, e.time_ns / 1e9 AS time_s, e.kind,"
	" e.subject, e.detail FROM events e JOIN runs r USING(run);\n";
