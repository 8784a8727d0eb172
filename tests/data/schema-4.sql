-- A database as schema 4 had it: three runs (jobs, step, serve), shortened. Its digest: 88ddd96b08710f34a07c0176824c39a63f39e7f9e400003de8b971df60596c34
PRAGMA application_id=1869771385; PRAGMA user_version=4;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE runs(
  run INTEGER PRIMARY KEY,
  hash TEXT NOT NULL,
  label TEXT NOT NULL,
  policy TEXT NOT NULL,
  world TEXT NOT NULL,
  is_oracle INTEGER NOT NULL,
  scenario TEXT NOT NULL,
  seed TEXT NOT NULL,
  version TEXT NOT NULL,
  rows_total INTEGER NOT NULL,
  wall_s REAL,
  cpu_s REAL,
  host TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE(hash, label));
INSERT INTO runs VALUES(1,'cf3a8ea6298ea59ef0cd8007fd53286264af3ad6ec497265b29b08c8f3be6373','fifo','fifo','jobs',0,'{}','7','0.1.0',4,1.0,1.0,'host','2026-11-01T00:00:00Z');
INSERT INTO runs VALUES(2,'8c14f18fec0b4d099000655b0d23821c929b0d291d118fcb5e01ea9e94a9ddea','allreduce','allreduce','step',0,'{}','1','0.1.0',3,1.0,1.0,'host','2026-11-01T00:00:00Z');
INSERT INTO runs VALUES(3,'8dd8c14e5cc8fd90f518e85241e153be9e9faa3a9ec36581fdc730d7e60696d7','vllm','vllm','serve',0,'{}','1','0.1.0',3,1.0,1.0,'host','2026-11-01T00:00:00Z');
CREATE TABLE jobs(
  key INTEGER PRIMARY KEY,
  run INTEGER AS (key >> 32),
  number INTEGER AS (key & 4294967295),
  job_id TEXT, user TEXT, queue TEXT, model TEXT,
  submit_ns INTEGER, start_ns INTEGER, end_ns INTEGER,
  wait_ns INTEGER, run_ns INTEGER, duration_ns INTEGER, recorded_wait_ns INTEGER,
  gpus INTEGER NOT NULL, gpu_milli INTEGER NOT NULL,
  preemptions INTEGER NOT NULL, migrations INTEGER NOT NULL, restarts INTEGER NOT NULL,
  status INTEGER NOT NULL);
INSERT INTO jobs VALUES(4294967296,NULL,NULL,NULL,NULL,13140812432,13140812432,166927361264,0,153786548832,153786548832,NULL,2,1000,0,0,0,0);
INSERT INTO jobs VALUES(4294967297,NULL,NULL,NULL,NULL,116600924014,116600924014,988749058545,0,872148134531,872148134531,NULL,2,1000,0,0,0,0);
INSERT INTO jobs VALUES(4294967298,NULL,NULL,NULL,NULL,119817485079,166927361264,255616841281,47109876185,88689480017,88689480017,NULL,2,1000,0,0,0,0);
INSERT INTO jobs VALUES(4294967299,NULL,NULL,NULL,NULL,129606998928,255616841281,710431171887,126009842353,454814330606,454814330606,NULL,2,1000,0,0,0,0);
CREATE TABLE metrics(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  value REAL, ci_low REAL, ci_high REAL,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
INSERT INTO metrics VALUES(1,0,'jct_mean',435.63955313100018429,NULL,NULL);
INSERT INTO metrics VALUES(1,1,'jct_p50',367.30536089549997314,136.33945784366179054,863.4005465589880259);
INSERT INTO metrics VALUES(1,2,'jct_p95',828.44954029519988127,641.78476924353196862,NULL);
INSERT INTO metrics VALUES(1,3,'jct_p99',863.40841568383984846,778.19005914358581319,NULL);
INSERT INTO metrics VALUES(1,4,'jct_max',872.1481345309999824,NULL,NULL);
INSERT INTO metrics VALUES(1,5,'wait_mean',43.27992963449992203,NULL,NULL);
INSERT INTO metrics VALUES(1,6,'wait_p50',23.554938092499998702,0.0,123.64071215403151882);
INSERT INTO metrics VALUES(1,7,'wait_p99',123.64284336795998342,100.56295178733950023,NULL);
INSERT INTO metrics VALUES(1,8,'slowdown_mean',1.2020588726156802295,NULL,NULL);
INSERT INTO metrics VALUES(1,9,'slowdown_p99',1.5235541257701978867,1.4492187188283820464,NULL);
INSERT INTO metrics VALUES(1,10,'makespan',975.60824611299995015,NULL,NULL);
INSERT INTO metrics VALUES(1,11,'utilisation',0.80433847306996808512,0.71428089871639754981,0.89439604742353862043);
INSERT INTO metrics VALUES(1,12,'gpu_hours',0.87191027443666668794,NULL,NULL);
INSERT INTO metrics VALUES(1,13,'queue_length_mean',0.17744798614376244838,0.01475498474118336345,0.34014098754634153332);
INSERT INTO metrics VALUES(1,14,'queue_length_max',2.0,NULL,NULL);
INSERT INTO metrics VALUES(1,15,'stranded_gpus',0.0,0.0,0.0);
INSERT INTO metrics VALUES(1,16,'fragmentation',0.19566152693003197038,0.10560395257646143507,0.2857191012836025612);
INSERT INTO metrics VALUES(1,17,'jain_slowdown',0.97107326565617813063,NULL,NULL);
INSERT INTO metrics VALUES(1,18,'ftf_mean',1.0136891393159133123,NULL,NULL);
INSERT INTO metrics VALUES(1,19,'ftf_max',1.1196347599443876585,NULL,NULL);
INSERT INTO metrics VALUES(1,20,'jobs',4.0,NULL,NULL);
INSERT INTO metrics VALUES(1,21,'jobs_completed',4.0,NULL,NULL);
INSERT INTO metrics VALUES(1,22,'jobs_killed',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,23,'jobs_failed',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,24,'jobs_unfinished',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,25,'jobs_refused',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,26,'preemptions',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,27,'migrations',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,28,'restarts',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,29,'events',8.0,NULL,NULL);
INSERT INTO metrics VALUES(2,0,'samples_per_s',109452.04560331843094,NULL,NULL);
INSERT INTO metrics VALUES(2,1,'iteration_s',0.0005847309627446525479,NULL,NULL);
INSERT INTO metrics VALUES(2,2,'compute_s',0.00036126841315115644547,NULL,NULL);
INSERT INTO metrics VALUES(2,3,'exposed_s',0.00021745920000000020996,NULL,NULL);
INSERT INTO metrics VALUES(2,4,'bubble_s',0.0,NULL,NULL);
INSERT INTO metrics VALUES(2,5,'optimizer_s',6.0033495934959466705e-06,NULL,NULL);
INSERT INTO metrics VALUES(2,6,'idle_s',0.0,NULL,NULL);
INSERT INTO metrics VALUES(2,7,'peak_memory_bytes',1660752.0,NULL,NULL);
INSERT INTO metrics VALUES(2,8,'sent_bytes',493648.0,NULL,NULL);
INSERT INTO metrics VALUES(2,9,'sent_bytes_max',246824.0,NULL,NULL);
INSERT INTO metrics VALUES(2,10,'iterations',3.0,NULL,NULL);
INSERT INTO metrics VALUES(2,11,'iterations_simulated',3.0,NULL,NULL);
INSERT INTO metrics VALUES(2,12,'period',0.0,NULL,NULL);
INSERT INTO metrics VALUES(2,13,'devices',2.0,NULL,NULL);
INSERT INTO metrics VALUES(2,14,'flows',6.0,NULL,NULL);
INSERT INTO metrics VALUES(2,15,'profile_error',0.053900769230769238204,NULL,NULL);
INSERT INTO metrics VALUES(2,16,'kernels',28.0,NULL,NULL);
INSERT INTO metrics VALUES(2,17,'kernels_by_law',13.0,NULL,NULL);
INSERT INTO metrics VALUES(2,18,'kernels_outside',13.0,NULL,NULL);
INSERT INTO metrics VALUES(3,0,'completion_mean',0.85705559788129903608,NULL,NULL);
INSERT INTO metrics VALUES(3,1,'completion_p50',0.80907827985800961911,NULL,NULL);
INSERT INTO metrics VALUES(3,2,'completion_p90',1.4395909076323385455,0.90448158657410615557,NULL);
INSERT INTO metrics VALUES(3,3,'completion_p99',1.581456248881562665,1.4039805649043644031,NULL);
INSERT INTO metrics VALUES(3,4,'completion_max',1.5972190645759207772,NULL,NULL);
INSERT INTO metrics VALUES(3,5,'sample_completion_mean',0.8570555978811627007,NULL,NULL);
INSERT INTO metrics VALUES(3,6,'queue_mean',0.0021344716275658961492,NULL,NULL);
INSERT INTO metrics VALUES(3,7,'queue_p50',0.00053422834258376461491,NULL,NULL);
INSERT INTO metrics VALUES(3,8,'queue_p99',0.0057624873760782381604,0.0045611469893859024962,NULL);
INSERT INTO metrics VALUES(3,9,'ttft_mean',0.033804752394644310697,NULL,NULL);
INSERT INTO metrics VALUES(3,10,'ttft_p50',0.026376191324959163964,NULL,NULL);
INSERT INTO metrics VALUES(3,11,'ttft_p90',0.045049727634008315813,0.029201697164953247659,NULL);
INSERT INTO metrics VALUES(3,12,'ttft_p99',0.049251273303544382264,0.043995076230346805146,NULL);
INSERT INTO metrics VALUES(3,13,'tpot_mean',0.012946468107656983193,NULL,NULL);
INSERT INTO metrics VALUES(3,14,'tpot_p50',0.012982172506206294052,NULL,NULL);
INSERT INTO metrics VALUES(3,15,'tpot_p90',0.013046545510713934354,0.012991912830543584853,NULL);
INSERT INTO metrics VALUES(3,16,'tpot_p99',0.013061029436728151947,0.013042909826586499,NULL);
INSERT INTO metrics VALUES(3,17,'token_gap_mean',0.012998697560314208254,NULL,NULL);
INSERT INTO metrics VALUES(3,18,'token_gap_p50',0.012665153581661647841,0.012574426164313605783,0.012670191645009376557);
INSERT INTO metrics VALUES(3,19,'token_gap_p99',0.015625516801025890467,0.012796918315371996754,NULL);
INSERT INTO metrics VALUES(3,20,'token_gap_max',0.056640417879933346867,NULL,NULL);
INSERT INTO metrics VALUES(3,21,'duration',1.860093731575920728,NULL,NULL);
INSERT INTO metrics VALUES(3,22,'throughput',1.6128219503531795453,NULL,NULL);
INSERT INTO metrics VALUES(3,23,'goodput',1.6128219503531795453,NULL,NULL);
INSERT INTO metrics VALUES(3,24,'output_tokens',193.0,NULL,NULL);
INSERT INTO metrics VALUES(3,25,'tokens_per_second',103.75821213938787934,NULL,NULL);
INSERT INTO metrics VALUES(3,26,'iterations',143.0,NULL,NULL);
INSERT INTO metrics VALUES(3,27,'prompt_tokens_processed',1172.0,NULL,NULL);
INSERT INTO metrics VALUES(3,28,'requests',3.0,NULL,NULL);
INSERT INTO metrics VALUES(3,29,'requests_completed',3.0,NULL,NULL);
INSERT INTO metrics VALUES(3,30,'requests_refused',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,31,'requests_shed',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,32,'requests_unfinished',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,33,'preemptions',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,34,'restarts',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,35,'events',16.0,NULL,NULL);
INSERT INTO metrics VALUES(3,36,'utilisation',0.63195736298370108752,NULL,NULL);
INSERT INTO metrics VALUES(3,37,'in_system_mean',1.3822780808123276141,NULL,NULL);
INSERT INTO metrics VALUES(3,38,'in_system_max',2.0,NULL,NULL);
INSERT INTO metrics VALUES(3,39,'replica_hours',0.00081760690432664461999,NULL,NULL);
INSERT INTO metrics VALUES(3,40,'gpu_hours',0.00081760690432664461999,NULL,NULL);
INSERT INTO metrics VALUES(3,41,'kv_use_mean',0.0055773777085966211655,NULL,NULL);
INSERT INTO metrics VALUES(3,42,'lost_work',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,43,'usd',0.0033491222818480183981,NULL,NULL);
INSERT INTO metrics VALUES(3,44,'usd_per_million_tokens',17.352965190922372329,NULL,NULL);
CREATE TABLE series(
  run INTEGER NOT NULL REFERENCES runs(run),
  series INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY(run, series)) WITHOUT ROWID;
INSERT INTO series VALUES(1,0,'utilisation');
INSERT INTO series VALUES(1,1,'queue_length');
INSERT INTO series VALUES(1,2,'stranded_gpus');
INSERT INTO series VALUES(3,0,'in_system');
INSERT INTO series VALUES(3,1,'busy_gpus');
INSERT INTO series VALUES(3,2,'up_gpus');
CREATE TABLE series_points(
  run INTEGER NOT NULL REFERENCES runs(run),
  series INTEGER NOT NULL,
  point INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  value REAL,
  PRIMARY KEY(run, series, point)) WITHOUT ROWID;
INSERT INTO series_points VALUES(1,0,0,13140812432,0.5);
INSERT INTO series_points VALUES(1,0,1,14140812432,0.5);
INSERT INTO series_points VALUES(1,1,0,13140812432,0.0);
INSERT INTO series_points VALUES(1,1,1,14140812432,0.0);
INSERT INTO series_points VALUES(1,2,0,13140812432,0.0);
INSERT INTO series_points VALUES(1,2,1,14140812432,0.0);
INSERT INTO series_points VALUES(3,0,0,1083291124,1.6551581779999999799);
INSERT INTO series_points VALUES(3,0,1,2083291124,1.0650102214673504708);
INSERT INTO series_points VALUES(3,1,0,1083291124,1.0);
INSERT INTO series_points VALUES(3,1,1,2083291124,1.0);
INSERT INTO series_points VALUES(3,2,0,1083291124,1.0);
INSERT INTO series_points VALUES(3,2,1,2083291124,1.0);
CREATE TABLE events(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  kind TEXT NOT NULL,
  subject INTEGER NOT NULL,
  detail TEXT,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
INSERT INTO events VALUES(1,0,13140812432,'start',0,'n0:2');
INSERT INTO events VALUES(1,1,116600924014,'start',1,'n0:2');
INSERT INTO events VALUES(1,2,166927361264,'finish',0,NULL);
INSERT INTO events VALUES(1,3,166927361264,'start',2,'n0:2');
INSERT INTO events VALUES(1,4,255616841281,'finish',2,NULL);
INSERT INTO events VALUES(1,5,255616841281,'start',3,'n0:2');
INSERT INTO events VALUES(1,6,710431171887,'finish',3,NULL);
INSERT INTO events VALUES(1,7,988749058545,'finish',1,NULL);
INSERT INTO events VALUES(2,0,0,'choice',0,'2 replicas, 1 all-reduces (ddp), overlapped');
INSERT INTO events VALUES(2,1,0,'steady-state',0,'all 3 iterations simulated');
INSERT INTO events VALUES(2,2,0,'cost-source',0,'profile v100 (DeepBench, results of Baidu, 2019; median error 14 %) for gemm, conv (its laws here: 5.4 %); the data sheet''s roofline for conv, memory, update; outside the range that its laws were fitted on: 13 of 13 kernels (gemm 9, conv 4)');
INSERT INTO events VALUES(3,0,0,'cost-source',0,'llama2-7b on a100: layers of llama2_7b by profile a100 (not measured, scaled from microsoft/vidur 7d47513, 2024) for gemm, memory, gather (its laws here: error not known); attention by roofline on a100');
INSERT INTO events VALUES(3,1,0,'prices',0,'a100: 4.096 USD per GPU hour (AWS p4d.24xlarge on demand, 32.77 USD/h for 8 GPUs; usage.ai, AWS GPU instances)');
CREATE TABLE iterations(
  run INTEGER NOT NULL REFERENCES runs(run),
  number INTEGER NOT NULL,
  start_s REAL, end_s REAL, samples REAL,
  PRIMARY KEY(run, number)) WITHOUT ROWID;
INSERT INTO iterations VALUES(2,0,0.0,0.00058473096274465243948,64.0);
INSERT INTO iterations VALUES(2,1,0.00058473096274465243948,0.0011694619254893050958,64.0);
INSERT INTO iterations VALUES(2,2,0.0011694619254893050958,0.0017541928882339576437,64.0);
CREATE TABLE devices(
  run INTEGER NOT NULL REFERENCES runs(run),
  device INTEGER NOT NULL,
  node INTEGER NOT NULL,
  compute_s REAL, optimizer_s REAL, codec_s REAL, exposed_s REAL, bubble_s REAL, idle_s REAL,
  peak_memory_bytes REAL, sent_bytes REAL,
  PRIMARY KEY(run, device)) WITHOUT ROWID;
INSERT INTO devices VALUES(2,0,0,0.00036126841315115644547,6.0033495934959466705e-06,0.0,0.00021745920000000020996,0.0,0.0,1660752.0,246824.0);
INSERT INTO devices VALUES(2,1,1,0.00036126841315115644547,6.0033495934959466705e-06,0.0,0.00021745920000000020996,0.0,0.0,1660752.0,246824.0);
CREATE TABLE spans(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  device INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  start_s REAL, end_s REAL,
  kind TEXT NOT NULL,
  label TEXT,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
INSERT INTO spans VALUES(2,0,0,0,1,0.00058473096274465243948,0.00072351238664046350901,'forward',NULL);
INSERT INTO spans VALUES(2,1,0,0,1,0.00072351238664046350901,0.00094599937589580893916,'backward',NULL);
INSERT INTO spans VALUES(2,2,0,1,1,0.00094599937589580893916,0.0011634585758958091491,'send','all-reduce layers 0..11');
INSERT INTO spans VALUES(2,3,0,0,1,0.0011634585758958091491,0.0011694619254893050958,'optimizer',NULL);
CREATE TABLE requests(
  key INTEGER PRIMARY KEY,
  run INTEGER AS (key >> 32),
  number INTEGER AS (key & 4294967295),
  request_id TEXT, model TEXT,
  arrival_s REAL, first_token_s REAL, completed_s REAL, queue_s REAL,
  prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  preemptions INTEGER NOT NULL, replica INTEGER,
  status INTEGER NOT NULL);
INSERT INTO requests VALUES(12884901888,NULL,'llama2-7b',1.0832911240000000496,1.1086110781475591036,1.8923694038580096687,0.0,287,61,0,0,0);
INSERT INTO requests VALUES(12884901889,NULL,'llama2-7b',1.3461657910000000004,1.3725419823249591644,2.9433848555759207776,0.00053422834258376461491,296,122,0,0,0);
INSERT INTO requests VALUES(12884901890,NULL,'llama2-7b',1.9743365589999999354,2.0240546707112705426,2.1392060082095576412,0.0058691865400271048258,589,10,0,0,0);
CREATE TABLE nodes(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  live INTEGER NOT NULL, ready INTEGER NOT NULL, in_use INTEGER NOT NULL,
  usd REAL,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
CREATE TABLE accounts(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  account TEXT NOT NULL,
  node_s REAL, usd REAL,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
CREATE VIEW jobs_s AS
  SELECT j.run, r.label, r.policy, j.number,
    coalesce(j.job_id, CAST(j.number AS TEXT)) AS job_id,
    j.user, j.queue, j.model, j.gpus, j.gpu_milli,
    j.submit_ns / 1e9 AS submit_s, j.start_ns / 1e9 AS start_s, j.end_ns / 1e9 AS end_s,
    (j.end_ns - j.submit_ns) / 1e9 AS jct_s,
    j.wait_ns / 1e9 AS wait_s, j.run_ns / 1e9 AS run_s, j.duration_ns / 1e9 AS duration_s,
    j.recorded_wait_ns / 1e9 AS recorded_wait_s,
    CASE WHEN j.duration_ns > 0 THEN (j.end_ns - j.submit_ns) * 1.0 / j.duration_ns END AS slowdown,
    j.preemptions, j.migrations, j.restarts,
    CASE j.status WHEN 0 THEN 'completed' WHEN 1 THEN 'killed' WHEN 2 THEN 'failed'
      WHEN 3 THEN 'unfinished' END AS status
  FROM runs r
  JOIN jobs j ON j.key BETWEEN r.run << 32 AND (r.run << 32) + 4294967295;
CREATE VIEW summary AS
  SELECT r.run, r.label, r.policy, r.is_oracle, r.seed,
    m.name AS metric, m.value, m.ci_low, m.ci_high
  FROM metrics m JOIN runs r USING(run)
  ORDER BY r.run, m.position;
CREATE VIEW job_pairs AS
  SELECT ra.run AS run_a, rb.run AS run_b, ra.label AS label_a, rb.label AS label_b,
    a.number, coalesce(a.job_id, CAST(a.number AS TEXT)) AS job_id, a.gpus,
    (a.end_ns - a.submit_ns) / 1e9 AS jct_a_s,
    (b.end_ns - b.submit_ns) / 1e9 AS jct_b_s,
    ((b.end_ns - b.submit_ns) - (a.end_ns - a.submit_ns)) / 1e9 AS jct_diff_s,
    (b.wait_ns - a.wait_ns) / 1e9 AS wait_diff_s
  FROM runs ra
  JOIN runs rb ON rb.run <> ra.run
  JOIN jobs a ON a.key BETWEEN ra.run << 32 AND (ra.run << 32) + 4294967295
  JOIN jobs b ON b.key = (rb.run << 32) + a.number
    AND b.submit_ns IS a.submit_ns AND b.job_id IS a.job_id;
CREATE VIEW series_s AS
  SELECT p.run, r.label, s.name, p.point, p.time_ns / 1e9 AS time_s, p.value
  FROM series_points p JOIN series s USING(run, series) JOIN runs r USING(run);
CREATE VIEW events_s AS
  SELECT e.run, r.label, e.position, e.time_ns / 1e9 AS time_s, e.kind, e.subject, e.detail
  FROM events e JOIN runs r USING(run);
CREATE VIEW requests_s AS
  SELECT q.run, r.label, r.policy, q.number,
    coalesce(q.request_id, CAST(q.number AS TEXT)) AS request_id, q.model,
    q.prompt_tokens, q.output_tokens,
    q.arrival_s, q.first_token_s, q.completed_s, q.queue_s,
    q.completed_s - q.arrival_s AS e2e_s,
    q.first_token_s - q.arrival_s AS ttft_s,
    CASE WHEN q.output_tokens > 1 THEN (q.completed_s - q.first_token_s) / (q.output_tokens - 1) END AS tpot_s,
    q.preemptions, q.replica,
    CASE q.status WHEN 0 THEN 'completed' WHEN 1 THEN 'refused' WHEN 2 THEN 'shed'
      WHEN 3 THEN 'unfinished' END AS status
  FROM runs r
  JOIN requests q ON q.key BETWEEN r.run << 32 AND (r.run << 32) + 4294967295;
CREATE VIEW request_pairs AS
  SELECT ra.run AS run_a, rb.run AS run_b, ra.label AS label_a, rb.label AS label_b,
    a.number, coalesce(a.request_id, CAST(a.number AS TEXT)) AS request_id, a.model,
    a.prompt_tokens, a.output_tokens,
    a.completed_s - a.arrival_s AS e2e_a_s, b.completed_s - b.arrival_s AS e2e_b_s,
    b.completed_s - a.completed_s AS e2e_diff_s
  FROM runs ra
  JOIN runs rb ON rb.run <> ra.run
  JOIN requests a ON a.key BETWEEN ra.run << 32 AND (ra.run << 32) + 4294967295
  JOIN requests b ON b.key = (rb.run << 32) + a.number
    AND b.arrival_s IS a.arrival_s AND b.request_id IS a.request_id;
CREATE VIEW nodes_s AS
  SELECT n.run, r.label, n.position, n.time_ns / 1e9 AS time_s, n.live, n.ready, n.in_use, n.usd
  FROM nodes n JOIN runs r USING(run);
CREATE VIEW accounts_h AS
  SELECT a.run, r.label, r.policy, a.account, a.node_s / 3600 AS node_h, a.usd
  FROM accounts a JOIN runs r USING(run)
  ORDER BY a.run, a.position;
COMMIT;
